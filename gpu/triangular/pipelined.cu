/* V := V T (gpu/gram_qr/plan.h) of up to 128 columns, where T has room in shared memory beside
 * tiles of rows of V: on the FP64 tensor cores, by a pipeline of asynchronous copies, so that only
 * memory bounds it.
 *
 * T is in blocks of 16 x 16 in the order of the fragments (gram_packed). A block of columns that
 * consists of whole blocks of 16, usually all columns, is a product: a warp has 16 rows of the
 * tile and its share of the blocks of 16, so that all shares are about as much work. It
 * multiplies T^T by V^T, so that a lane gets two adjacent rows of a column of Q. Columns to the
 * right find Q in the tile in place of V. Where a block of columns begins within 16, a thread
 * solves for one row of these 16. If the product is in float32, all factors and Q are rounded to
 * float32; the sums are float64, which costs nothing here. wide.cu is the plain version. */
#include "gpu/core/dependent_launch.cuh"
#include "gpu/core/gram_multiply.cuh"
#include "gpu/core/pipeline.cuh"
#include "gpu/triangular/store.cuh"
#include "gpu/triangular/triangular.h"

enum {
    warps = 16,
    threads = 32 * warps,
    most_columns = 128,
    few_columns = 64, /* up to here tiles have twice as many rows */
    few_rows = 64,
    many_rows = 2 * few_rows,
    block_size = 256,   /* doubles of a block of T */
    static_shared = 256 /* bytes of shared memory that are not dynamic, or more */
};

static __host__ __device__ int blocks_of(int n)
{
    return (n + 15) / 16;
}

/* The lane's part of 16 rows and columns of V, or of Q, scaled. */
template <int STRIDE, bool SINGLE, class Element>
static __device__ __forceinline__ void load_rows(double x[2][4], const Element *rows,
                                                 const double *scale)
{
#pragma unroll
    for (int s = 0; s < 4; s++) {
        const double by = scale[4 * s];
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const double y = (double)rows[4 * s * STRIDE + 8 * h] * by;
            x[h][s] = SINGLE ? (double)(float)y : y;
        }
    }
}

/* A tile of rows to be multiplied: it holds Q up to block `first` of 16 columns, and V from
 * there on. */
template <class Element> struct tile_rows {
    const Element *rows;        /* at the lane's own in the first column that it has */
    const double *scale, *ones; /* what V, and Q, are multiplied by, likewise */
    const double2 *packed;      /* T, at the lane's place in the first block */
    int first;
};

/* sum := block c of 16 columns of the product, of `depth` blocks of rows of T; AHEAD: how far
 * the loop is unrolled. */
template <int STRIDE, int AHEAD, bool SINGLE, class Element>
static __device__ __forceinline__ void
multiply_as(double sum[2][4], const struct tile_rows<Element> &tile, int c, int depth)
{
    const double2 *left = tile.packed + c * (c + 1) / 2 * (block_size / 2);
#pragma unroll
    for (int e = 0; e < 8; e++)
        sum[e / 4][e % 4] = 0;
#pragma unroll AHEAD
    for (int k = 0; k < depth; k++) {
        double x[2][4], y[2][4];
#pragma unroll
        for (int s = 0; s < 4; s++) {
            const double2 both = left[32 * s];
            y[0][s] = both.x, y[1][s] = both.y;
        }
        load_rows<STRIDE, SINGLE>(x, tile.rows + 16 * k * STRIDE,
                                  k < tile.first ? tile.ones : tile.scale + 16 * k);
        bd_gram_multiply(sum[0], y[0], y[1], x[0]);
        bd_gram_multiply(sum[1], y[0], y[1], x[1]);
        left += block_size / 2;
    }
#pragma unroll
    for (int e = 0; e < 8 && SINGLE; e++)
        sum[e / 4][e % 4] = (double)(float)sum[e / 4][e % 4];
}

template <int STRIDE, int AHEAD, class Element>
static __device__ __forceinline__ void
multiply(double sum[2][4], const struct tile_rows<Element> &tile, int c, int depth, bool single)
{
    if (single)
        multiply_as<STRIDE, AHEAD, true>(sum, tile, c, depth);
    else
        multiply_as<STRIDE, AHEAD, false>(sum, tile, c, depth);
}

/* Stores the lane's part of a product in the tile. */
template <int STRIDE, class Element>
static __device__ __forceinline__ void keep(Element *strip, const double sum[2][4])
{
    const int group = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            strip[(8 * (e / 2) + group) * STRIDE + 8 * h + 2 * t + e % 2] = (Element)sum[h][e];
}

/* Loads the lane's part of 16 columns of the tile. */
template <int STRIDE, class Element>
static __device__ __forceinline__ void fetch_back(double sum[2][4], const Element *strip)
{
    const int group = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            sum[h][e] = (double)strip[(8 * (e / 2) + group) * STRIDE + 8 * h + 2 * t + e % 2];
}

/* Replaces 16 columns of V by Q where more than one block of columns begins among them, by one
 * warp: a lane has a row and eight of its columns. strip: these columns of 16 rows of the tile;
 * sum: the products with the columns before them; t: the block of T on its diagonal, 0 below;
 * cuts: bit j: a block begins with column j. It is not inlined, because its registers are needed
 * elsewhere. */
template <int STRIDE, class Element>
static __device__ __noinline__ void solve(Element *strip, const double sum[2][4],
                                          const double *scale, const double *t, unsigned cuts,
                                          bool single)
{
    const int row = threadIdx.x % 16, half = threadIdx.x / 16 % 2;
    Element *own = strip + 8 * half * STRIDE + row;
    double w[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const double x = (double)own[k * STRIDE] * scale[8 * half + k];
        w[k] = single ? (double)(float)x : x;
    }
    __syncwarp();
    keep<STRIDE>(strip, sum);
    __syncwarp();
    t += 128 * half;
#pragma unroll 1
    for (int begin = 0, end; begin < 16; begin = end) {
        const unsigned rest = cuts >> begin >> 1;
        end = rest ? begin + __ffs((int)rest) : 16;
        /* From the last column on, which no other column needs. */
#pragma unroll 1
        for (int j = end - 1; j >= begin; j--) {
            const double *column = t + 8 * (j % 8) + j / 8;
            double x[4] = { half ? 0.0 : (double)strip[j * STRIDE + row] };
#pragma unroll
            for (int k = 0; k < 8; k++) /* gram_packed(8 half + k, j) of a diagonal block */
                x[k % 4] = fma(w[k], column[k / 4 * 64 + k % 4 * 2], x[k % 4]);
            x[0] = x[0] + x[1] + (x[2] + x[3]);
            x[0] += __shfl_xor_sync(~0u, x[0], 16);
            if (single)
                x[0] = (double)(float)x[0];
#pragma unroll
            for (int k = 0; k < 8; k++)
                w[k] = 8 * half + k == j ? x[0] : w[k];
        }
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < 8; k++)
        own[k * STRIDE] = (Element)w[k];
    __syncwarp();
}

/* Stores the lane's part of 16 columns of Q, of which `columns` exist; returns whether an
 * element is not finite. */
template <class Element>
static __device__ __forceinline__ int put_block(Element *to, int64_t ldv, const double sum[2][4],
                                                int64_t rows, int columns, bool aligned)
{
    int bad = 0;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        put_columns(to + 8 * h, ldv, sum[h], rows - 8 * h, columns, aligned);
        bad |= isnan(probe<Element>(sum[h]));
    }
    return bad;
}

/* What a kernel has to do: V, and where T and the tiles are in shared memory. */
template <class Element> struct work {
    Element *v;
    int64_t ldv, m;
    int n;
    bool single, aligned;
    const unsigned *starts; /* of blocks of columns: gram_decision */
    const double *packed, *scale, *ones;
    Element *stages;
};

/* All tiles of a thread block. CUT: T has more than one block of columns. Returns whether an
 * element is not finite. */
template <bool CUT, int STAGES, int ROWS, class Element>
static __device__ __forceinline__ int multiply_tiles(const struct work<Element> &w)
{
    constexpr int STRIDE = pipeline_stride<ROWS, Element>(), STRIPS = ROWS / 16,
                  SHARES = warps / STRIPS;
    constexpr int OWN = (ROWS == many_rows ? few_columns : most_columns) / 16 / SHARES;
    constexpr int AHEAD = CUT ? 1 : 2;
    const int n = w.n, blocks = blocks_of(n), size = 16 * blocks * STRIDE;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, t = lane % 4;
    const int strip = warp % STRIPS, share = warp / STRIPS;
    const int tiles = (int)((w.m + ROWS - 1) / ROWS);
    int bad = 0;
    auto cuts = [&](int c) { return gram_cuts(w.starts, c); };
    auto fetch = [&](int tile, int stage) {
        pipeline_fetch<ROWS, STRIDE, threads>(w.stages + stage * size, w.v, w.ldv,
                                              (int64_t)tile * ROWS, w.m, n, w.aligned);
    };
    auto take = [&](int tile, int stage) {
        Element *rows = w.stages + stage * size + 16 * strip;
        struct tile_rows<Element> now;
        now.rows = rows + group + t * STRIDE;
        now.scale = w.scale + t;
        now.ones = w.ones + t;
        now.packed = reinterpret_cast<const double2 *>(w.packed) + lane;
        now.first = 0;
        const int64_t row = (int64_t)tile * ROWS + 16 * strip + 2 * t;
        auto put = [&](int c, const double sum[2][4]) {
            bad |=
                put_block(w.v + row + 16 * c * w.ldv, w.ldv, sum, w.m - row, n - 16 * c, w.aligned);
        };
        for (int end; now.first < blocks; now.first = end) {
            const int first = now.first;
            end = CUT ? first + 1 : blocks;
            if (CUT && (cuts(first) & 0xfffeu)) {
                if (share == 0) {
                    Element *place = rows + 16 * first * STRIDE;
                    double sum[2][4];
                    multiply<STRIDE, AHEAD>(sum, now, first, first, w.single);
                    solve<STRIDE>(place, sum, w.scale + 16 * first,
                                  w.packed + (first * (first + 1) / 2 + first) * block_size,
                                  cuts(first), w.single);
                    fetch_back<STRIDE>(sum, place);
                    put(first, sum);
                }
            } else {
                while (CUT && end < blocks && cuts(end) == 0)
                    end++;
                /* Shares go forth and back from the last 16 columns on, which are the most work.
                 * V is replaced by Q after all warps have read it. */
                auto own = [&](int turn) {
                    return end - 1 - turn * SHARES - (turn % 2 ? SHARES - 1 - share : share);
                };
                double sum[OWN][2][4];
#pragma unroll
                for (int turn = 0; turn < OWN; turn++)
                    if (own(turn) >= first) {
                        multiply<STRIDE, AHEAD>(sum[turn], now, own(turn), own(turn) + 1, w.single);
                        put(own(turn), sum[turn]);
                    }
                if (CUT && end < blocks)
                    __syncthreads();
#pragma unroll
                for (int turn = 0; turn < OWN; turn++)
                    if (CUT && own(turn) >= first && end < blocks)
                        keep<STRIDE>(rows + 16 * own(turn) * STRIDE, sum[turn]);
            }
            if (CUT && end < blocks)
                __syncthreads();
        }
    };
    pipeline_tiles<STAGES>((int)blockIdx.x, (int)gridDim.x, tiles, fetch, take);
    return bad;
}

template <int STAGES, int ROWS, class Element>
__global__ __launch_bounds__(threads, 1) void pipelined(const __grid_constant__ struct gram_data d,
                                                        Element *v, int64_t ldv, int64_t m,
                                                        int *overflow)
{
    extern __shared__ __align__(16) double shared[];
    __shared__ double ones[16];
    __shared__ unsigned starts[most_columns / 32];
    constexpr int STRIDE = pipeline_stride<ROWS, Element>();
    const int n = d.n, blocks = blocks_of(n), size = 16 * blocks * STRIDE;
    const int packed_size = blocks * (blocks + 1) / 2 * block_size;
    double *packed = shared, *scale = packed + packed_size;
    Element *stages = reinterpret_cast<Element *>(scale + 16 * blocks);
    bd_cuda_await();
    if (d.decision->identity)
        return;
    for (int e = threadIdx.x; e < packed_size; e += threads)
        packed[e] = d.packed[e];
    for (int j = threadIdx.x; j < 16 * blocks; j += threads)
        scale[j] = j < n ? d.inverse[j] : 0.0;
    if (threadIdx.x < 16)
        ones[threadIdx.x] = 1;
    if (threadIdx.x < most_columns / 32)
        starts[threadIdx.x] = d.decision->starts[threadIdx.x];
    for (int e = n * STRIDE + threadIdx.x; e < size; e += threads)
        for (int stage = 0; stage < STAGES; stage++)
            stages[stage * size + e] = 0; /* columns from n on are 0 and stay so */
    struct work<Element> w;
    w.v = v;
    w.ldv = ldv;
    w.m = m;
    w.n = n;
    w.single = d.decision->single != 0;
    w.aligned = pipeline_aligned(v, ldv);
    w.starts = starts;
    w.packed = packed;
    w.scale = scale;
    w.ones = ones;
    w.stages = stages;
    const int bad = bd_cuda_triangular_is_whole(d) ? multiply_tiles<false, STAGES, ROWS>(w)
                                                   : multiply_tiles<true, STAGES, ROWS>(w);
    if (overflow && bad)
        *overflow = 1;
}

/* Bytes of shared memory with so many stages. */
template <int ROWS, class Element> static size_t pipelined_bytes(int n, int stages)
{
    const size_t blocks = (size_t)blocks_of(n), stride = (size_t)pipeline_stride<ROWS, Element>();
    return (blocks * (blocks + 1) / 2 * block_size + 16 * blocks) * sizeof(double) +
           (size_t)stages * 16 * blocks * stride * sizeof(Element);
}

template <int STAGES, int ROWS, class Element>
static enum bd_status launch(const struct gram_plan *plan, Element *v, int64_t ldv, int *overflow)
{
    struct bd_cuda *cuda = plan->cuda;
    const int64_t tiles = (plan->m + ROWS - 1) / ROWS;
    const auto kernel = pipelined<STAGES, ROWS, Element>;
    enum bd_status status =
        bd_cuda_allow_shared(cuda, (const void *)kernel, "shared memory for rows of V");
    if (status != BD_OK)
        return status;
    bd_cuda_follow(cuda, kernel, dim3((unsigned)(tiles < cuda->sms ? tiles : cuda->sms)),
                   dim3(threads), pipelined_bytes<ROWS, Element>(plan->data.n, STAGES), plan->data,
                   v, ldv, plan->m, overflow);
    return bd_cuda_launched("the product with a triangle");
}

template <int ROWS, class Element> static bool fits(const struct gram_plan *plan, int stages)
{
    return pipelined_bytes<ROWS, Element>(plan->data.n, stages) + static_shared <=
           (size_t)plan->cuda->shared_most;
}

/* As many rows, and as many stages of them, as shared memory has room for. */
template <class Element>
static enum bd_status choose(const struct gram_plan *plan, Element *v, int64_t ldv, int *overflow)
{
    const bool few = plan->data.n <= few_columns && plan->m > many_rows;
    if (few && fits<many_rows, Element>(plan, 2))
        return fits<many_rows, Element>(plan, 3) ? launch<3, many_rows>(plan, v, ldv, overflow)
                                                 : launch<2, many_rows>(plan, v, ldv, overflow);
    return fits<few_rows, Element>(plan, 3) ? launch<3, few_rows>(plan, v, ldv, overflow)
                                            : launch<2, few_rows>(plan, v, ldv, overflow);
}

int bd_cuda_triangular_is_pipelined(const struct gram_plan *plan)
{
    return plan->data.n <= most_columns && (plan->type == BD_F32 ? fits<few_rows, float>(plan, 2)
                                                                 : fits<few_rows, double>(plan, 2));
}

enum bd_status bd_cuda_triangular_pipelined(const struct gram_plan *plan, void *v, int64_t ldv,
                                            int *overflow)
{
    return plan->type == BD_F32 ? choose(plan, static_cast<float *>(v), ldv, overflow)
                                : choose(plan, static_cast<double *>(v), ldv, overflow);
}
