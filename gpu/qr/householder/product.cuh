/* Private to q.cu: products of large matrices in float32 accuracy on the tensor cores,
 * a thread block a tile of 128 x 128.
 *
 * Error-compensated TF32 as in gpu/qr/caqr/block.cuh: three products of the parts of each element.
 * The tensor cores truncate when they add, so what they have added of 32 elements goes to the sums
 * of the ordinary units. Eight warps have 64 x 32 each; pieces of 32 elements of the contraction
 * arrive by asynchronous copies, two ahead where shared memory allows. */
#ifndef BD_GPU_QR_HOUSEHOLDER_PRODUCT_CUH
#define BD_GPU_QR_HOUSEHOLDER_PRODUCT_CUH

#include "gpu/core/dependent_launch.cuh"
#include "gpu/qr/caqr/block.cuh"

enum {
    product_tile = 128,
    product_depth = 32, /* of a piece */
    product_threads = 256,
    product_warps = product_threads / 32,
    product_ld = product_tile + 8,  /* of an operand by rows: columns are 8 banks apart */
    product_lk = product_depth + 4, /* of one along the contraction: 4 banks apart */
    product_out = product_tile + 4, /* of the result on its way out */
    product_piece = 2 * product_tile * product_lk, /* floats of a piece of both operands */
    product_slices = 8 /* the old C arrives in so many parts while the product is under way */
};

enum house_job {
    PRODUCT_PARTS, /* C of split z := A^T B over its share of k */
    PRODUCT_TURN,  /* C := A B, and its first `identity` rows transposed to c_turned */
    PRODUCT_Q      /* C := what was there (see below) - A B */
};

struct product_args {
    const float *a; /* PARTS: k x m, else m x k and lower trapezoidal, 0 above the diagonal; from
                       16-byte boundaries on, and so are its columns */
    const float *b; /* k x n */
    float *c;       /* m x n */
    float *c_turned;
    int64_t lda, ldb, ldc, ld_turned;
    int64_t m, n, k;
    int64_t share,
        stride; /* PARTS: of k a split, a multiple of 32; from one split's C to the next */
    int upper;  /* PARTS: A = B is lower trapezoidal, and C wanted above its diagonal; TURN: B is
                   upper triangular, not lower */
    /* PRODUCT_Q: columns up to `identity` were those of an identity, of the others the first `zero`
     * rows 0 (a multiple of 4); neither is read. */
    int64_t identity, zero;
    int b_fours, c_fours; /* columns of b, c start at multiples of 16 bytes */
    int pieces;           /* in shared memory: 2 or 3 */
};

static inline size_t product_bytes(int pieces, bool old_c)
{
    return sizeof(float) *
           (size_t)(pieces * product_piece + (old_c ? product_tile * product_out : 0));
}

/* How many of four elements from `at` on there are before `end`. */
static __device__ __forceinline__ int product_room(int64_t at, int64_t end)
{
    return end - at >= 4 ? 4 : end > at ? (int)(end - at) : 0;
}

/* Copies four adjacent elements of a column, of which `room` exist; the others become 0. fours =
 * 0: one by one and past L1, which might hold old data where kernels overlap. */
static __device__ __forceinline__ void product_fetch4(float *to, const float *from,
                                                      const float *somewhere, int room, int fours)
{
    if (fours) {
        pipeline_copy<16>(to, room > 0 ? from : somewhere, 4 * room);
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        to[i] = i < room ? __ldcg(from + i) : 0;
}

/* An operand stored along the contraction: columns x0 .. of x (k x count), rows k .. k + 31 up to
 * `end`; column i at to + i * product_lk. */
static __device__ __forceinline__ void product_fetch_along(float *to, const float *x, int64_t ldx,
                                                           int64_t x0, int64_t count, int64_t k,
                                                           int64_t end, int fours)
{
#pragma unroll
    for (int i = 0; i < product_tile * product_depth / 4 / product_threads; i++) {
        const int e = (int)threadIdx.x + product_threads * i, column = e / 8, row = e % 8 * 4;
        const int room = x0 + column < count ? product_room(k + row, end) : 0;
        product_fetch4(to + column * product_lk + row, x + (x0 + column) * ldx + k + row, x, room,
                       fours);
    }
}

/* An operand stored by rows: rows x0 .. of x (count x k), columns k .. k + 31 up to `end`; column i
 * at to + i * product_ld. */
static __device__ __forceinline__ void product_fetch_rows(float *to, const float *x, int64_t ldx,
                                                          int64_t x0, int64_t count, int64_t k,
                                                          int64_t end)
{
#pragma unroll
    for (int i = 0; i < product_tile * product_depth / 4 / product_threads; i++) {
        const int e = (int)threadIdx.x + product_threads * i, column = e / 32, row = e % 32 * 4;
        const int room = k + column < end ? product_room(x0 + row, count) : 0;
        product_fetch4(to + column * product_ld + row, x + (k + column) * ldx + x0 + row, x, room,
                       1);
    }
}

/* The same columns 16 slice .. of the old C, to `old`. */
static __device__ __forceinline__ void product_fetch_old(const struct product_args &p, float *old,
                                                         int64_t m0, int64_t n0, int slice)
{
    enum { columns = product_tile / product_slices };
#pragma unroll
    for (int i = 0; i < columns * product_tile / 4 / product_threads; i++) {
        const int e = (int)threadIdx.x + product_threads * i;
        const int column = columns * slice + e / 32, row = e % 32 * 4;
        const bool wanted = n0 + column < p.n && n0 + column >= p.identity && m0 + row >= p.zero;
        product_fetch4(old + column * product_out + row, p.c + (n0 + column) * p.ldc + m0 + row,
                       p.a, wanted ? product_room(m0 + row, p.m) : 0, p.c_fours);
    }
}

/* sum += A B of a piece, for the 64 x 32 of a warp from row m, column n of the tile on. The tensor
 * cores truncate when they add: every step of 8 begins from 0 and is added by the ordinary units,
 * which round. */
template <bool ALONG>
static __device__ __forceinline__ void product_piece_sum(float (&sum)[4][4][4], const float *a,
                                                         const float *b, int m, int n, int lane)
{
    const int g = lane >> 2, t = lane & 3;
#pragma unroll 2
    for (int k = 0; k < product_depth; k += 8) {
        float part[4][4][4] = {};
        caqr_tf32 x[4][4], y[4][2];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float *from = ALONG ? a + (m + 16 * i + g) * product_lk + k + t
                                      : a + (k + t) * product_ld + m + 16 * i + g;
            constexpr int down = ALONG ? 8 * product_lk : 8, right = ALONG ? 4 : 4 * product_ld;
            x[i][0] = caqr_split(from[0]);
            x[i][1] = caqr_split(from[down]);
            x[i][2] = caqr_split(from[right]);
            x[i][3] = caqr_split(from[down + right]);
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const float *from = b + (n + 8 * j + g) * product_lk + k + t;
            y[j][0] = caqr_split(from[0]);
            y[j][1] = caqr_split(from[4]);
        }
#pragma unroll
        for (int which = 0; which < 3; which++) /* small products first */
#pragma unroll
            for (int i = 0; i < 4; i++) {
                uint32_t rows[4];
#pragma unroll
                for (int e = 0; e < 4; e++)
                    rows[e] = which == 0 ? x[i][e].lo : x[i][e].hi;
#pragma unroll
                for (int j = 0; j < 4; j++)
                    caqr_mma(part[i][j], rows, which == 1 ? y[j][0].lo : y[j][0].hi,
                             which == 1 ? y[j][1].lo : y[j][1].hi);
            }
#pragma unroll
        for (int e = 0; e < 64; e++)
            sum[e / 16][e / 4 % 4][e % 4] += part[e / 16][e / 4 % 4][e % 4];
    }
}

/* Element e of sum[i][j] in the tile, for warp (m, n): where it is in `out`. */
static __device__ __forceinline__ int product_at(int m, int n, int i, int j, int e, int lane)
{
    const int row = m + 16 * i + (lane >> 2) + e / 2 * 8;
    const int column = n + 8 * j + 2 * (lane & 3) + e % 2;
    return column * product_out + row;
}

/* The tile in `out` to c, a column a warp. */
static __device__ __forceinline__ void product_store(const struct product_args &p, float *c,
                                                     const float *out, int64_t m0, int64_t n0)
{
    const int lane = (int)threadIdx.x % 32;
    const int room = product_room(m0 + 4 * lane, p.m);
    for (int j = (int)threadIdx.x / 32; j < product_tile && n0 + j < p.n; j += product_warps) {
        float *to = c + (n0 + j) * p.ldc + m0 + 4 * lane;
        const float4 x = *(const float4 *)(out + j * product_out + 4 * lane);
        if (room == 4 && p.c_fours) {
            *(float4 *)to = x;
            continue;
        }
        if (room > 0)
            to[0] = x.x;
        if (room > 1)
            to[1] = x.y;
        if (room > 2)
            to[2] = x.z;
        if (room > 3)
            to[3] = x.w;
    }
}

/* Its rows up to `identity` to c_turned, a row a warp. */
static __device__ __forceinline__ void
product_store_turned(const struct product_args &p, const float *out, int64_t m0, int64_t n0)
{
    const int lane = (int)threadIdx.x % 32;
    for (int i = (int)threadIdx.x / 32; i < product_tile; i += product_warps) {
        if (m0 + i >= p.identity || m0 + i >= p.m)
            return;
        float *to = p.c_turned + (m0 + i) * p.ld_turned + n0;
        for (int j = lane; j < product_tile && n0 + j < p.n; j += 32)
            to[j] = out[j * product_out + i];
    }
}

/* Block (x, y, z): rows 128 x .., columns 128 y .., split z. */
template <bool ALONG, enum house_job JOB>
__global__ void __launch_bounds__(product_threads, 1)
    multiply(const __grid_constant__ struct product_args p)
{
    extern __shared__ float4 shared[];
    float *pieces = reinterpret_cast<float *>(shared);
    float *out = JOB == PRODUCT_Q ? pieces + p.pieces * product_piece : pieces;
    const int w = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int m = w % 2 * 64, n = w / 2 * 32;
    const int64_t m0 = (int64_t)blockIdx.x * product_tile, n0 = (int64_t)blockIdx.y * product_tile;
    int64_t k = 0, end = p.k;
    if (JOB == PRODUCT_PARTS) {
        if (p.upper && m0 > n0)
            return; /* the kernel that follows waits for all others */
        k = (int64_t)blockIdx.z * p.share;
        end = end < k + p.share ? end : k + p.share;
        k = p.upper && k < n0 ? n0 : k; /* 0 above */
    } else {
        end = end < m0 + product_tile ? end : m0 + product_tile; /* 0 on the right */
        if (JOB == PRODUCT_TURN && !p.upper)
            k = n0; /* B is lower triangular */
        else if (JOB == PRODUCT_TURN)
            end = end < n0 + product_tile ? end : n0 + product_tile;
        else if (n0 + product_tile <= p.identity && end > n0 + product_tile)
            end = n0 + product_tile; /* here it is what TURN turned: upper trapezoidal */
    }
    const int count = k < end ? (int)((end - k + product_depth - 1) / product_depth) : 0;
    float sum[4][4][4] = {};
    auto fetch = [&](int piece) {
        if (piece < count) {
            float *a = pieces + piece % p.pieces * product_piece;
            const int64_t at = k + (int64_t)piece * product_depth;
            if (ALONG)
                product_fetch_along(a, p.a, p.lda, m0, p.m, at, end, 1);
            else
                product_fetch_rows(a, p.a, p.lda, m0, p.m, at, end);
            product_fetch_along(a + product_tile * product_lk, p.b, p.ldb, n0, p.n, at, end,
                                p.b_fours);
        }
        pipeline_commit();
    };
    int slice = 0;
    bd_cuda_await();
    bd_cuda_let_follow();
    for (int i = 0; i + 1 < p.pieces; i++)
        fetch(i);
#pragma unroll 1
    for (int i = 0; i < count; i++) {
        if (p.pieces > 2)
            pipeline_wait<1>();
        else
            pipeline_wait<0>();
        __syncthreads(); /* piece i has arrived, and no thread reads piece i - 1 any more */
        if (JOB == PRODUCT_Q && slice < product_slices)
            product_fetch_old(p, out, m0, n0, slice++);
        fetch(i + p.pieces - 1);
        const float *a = pieces + i % p.pieces * product_piece;
        product_piece_sum<ALONG>(sum, a, a + product_tile * product_lk, m, n, lane);
    }
    if (JOB == PRODUCT_Q)
        for (; slice < product_slices; slice++)
            product_fetch_old(p, out, m0, n0, slice);
    caqr_copies_done();
    __syncthreads();
#pragma unroll
    for (int e = 0; e < 64; e++) {
        const int at = product_at(m, n, e / 16, e / 4 % 4, e % 4, lane);
        const float x = sum[e / 16][e / 4 % 4][e % 4];
        if (JOB == PRODUCT_Q) {
            const int64_t row = m0 + at % product_out, column = n0 + at / product_out;
            out[at] = (column < p.identity && row == column ? 1 : out[at]) - x;
        } else {
            out[at] = x;
        }
    }
    __syncthreads();
    product_store(p, p.c + (JOB == PRODUCT_PARTS ? (int64_t)blockIdx.z * p.stride : 0), out, m0,
                  n0);
    if (JOB == PRODUCT_TURN)
        product_store_turned(p, out, m0, n0);
}

#endif
