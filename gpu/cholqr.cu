/* The thin Q from R (gpu/cholqr.h).
 *
 * W = R^-1 is kept in blocks of 16 x 16 in the order in which the tensor cores want it: block
 * (k, j), k <= j, is number j (j + 1) / 2 + k; in it, columns 8 h .. 8 h + 7 come as two double2 a
 * lane, rows t, 4 + t and 8 + t, 12 + t of column g for lane 4 g + t (gpu/gram.cuh). */
#include "gpu/cholqr.h"

#include <cuda_pipeline.h>

#include "gpu/gram.cuh"

enum {
    block_doubles = 256,
    warps = 8,     /* of a thread block of multiply */
    unit_rows = 32 /* rows of Q that a warp computes at a time, 16 columns of it */
};

static __host__ __device__ __forceinline__ int block_columns(int n)
{
    return (n + 15) / 16;
}

/* Where element (i, j), i / 16 <= j / 16, of a packed matrix is. */
static __device__ __forceinline__ int packed_index(int i, int j)
{
    int block = (j / 16) * (j / 16 + 1) / 2 + i / 16, k = i % 16, half = j % 16 / 8;
    int lane = 4 * (j % 8) + k % 4;
    return block * block_doubles + ((half * 2 + k / 8) * 32 + lane) * 2 + k / 4 % 2;
}

size_t bd_cuda_cholqr_packed(int n)
{
    size_t blocks = (size_t)block_columns(n);
    return blocks * (blocks + 1) / 2 * block_doubles;
}

/* A warp a column j of W: back substitution, R w = e_j, from row j upwards. Lane l has elements l,
 * 32 + l, .. of w; w(i) is known when the columns of R right of i have been taken from it.
 * Columns n and above of the last blocks become zero. */
template <int PARTS>
__global__ __launch_bounds__(128) void invert(double *w, double *condition, const double *g,
                                              const double *norms, int n)
{
    const int lane = threadIdx.x % 32, j = blockIdx.x * 4 + threadIdx.x / 32;
    if (j >= 16 * block_columns(n))
        return;
    double x[PARTS], inverse[PARTS];
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        int i = 32 * part + lane;
        x[part] = i == j && j < n ? 1 : 0;
        inverse[part] = i <= j && j < n ? 1 / g[i + (int64_t)i * n] : 0;
    }
#pragma unroll
    for (int top = PARTS - 1; top >= 0; top--)
#pragma unroll 4
        for (int s = 31; s >= 0; s--) {
            const int i = 32 * top + s;
            if (i > j || j >= n)
                continue;
            const double *column = g + (int64_t)i * n;
            double known = __shfl_sync(0xffffffffu, x[top] * inverse[top], s);
#pragma unroll
            for (int part = 0; part <= top; part++) {
                int row = 32 * part + lane;
                double r = row < i ? column[row] : 0.0;
                x[part] = row == i ? known : x[part] - r * known;
            }
        }
    double sum = 0;
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        int i = 32 * part + lane;
        if (i / 16 <= j / 16)
            w[packed_index(i, j)] = x[part];
        double scaled = i <= j && j < n ? norms[i] * x[part] : 0.0;
        sum += scaled * scaled;
    }
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (lane == 0 && j < n)
        condition[j] = sum;
}

enum bd_status bd_cuda_cholqr_invert(struct bd_cuda *cuda, double *w, double *condition,
                                     const double *g, const double *norms, int n)
{
    unsigned blocks = (unsigned)(4 * block_columns(n));
    if (n <= 128)
        invert<4><<<blocks, 128, 0, cuda->stream>>>(w, condition, g, norms, n);
    else if (n <= 192)
        invert<6><<<blocks, 128, 0, cuda->stream>>>(w, condition, g, norms, n);
    else
        invert<32><<<blocks, 128, 0, cuda->stream>>>(w, condition, g, norms, n);
    return bd_cuda_launched("inverting R");
}

/* The shape of multiply for n columns. */
struct multiply_shape {
    int rows;   /* of a tile: a multiple of unit_rows */
    int stride; /* floats between staged columns: 8 more than the rows, against bank conflicts */
    int stages; /* tiles in shared memory: the next one is on its way while one is multiplied */
    int w_in_shared;
    int columns; /* n rounded up to blocks */
    int bytes;   /* shared memory */
};

static struct multiply_shape multiply_shape(const struct bd_cuda *cuda, int n)
{
    struct multiply_shape s = { n <= 128 ? 64 : 32, 0, 2, 1, 16 * block_columns(n), 0 };
    size_t w = bd_cuda_cholqr_packed(n) * sizeof(double), most = (size_t)cuda->shared_most;
    s.stride = s.rows + 8;
    size_t tile = (size_t)s.stride * s.columns * sizeof(float);
    s.w_in_shared = w + 2 * tile <= most;
    if (!s.w_in_shared && 2 * tile > most)
        s.stages = 1;
    s.bytes = (int)(s.stages * tile + (s.w_in_shared ? w : 0));
    return s;
}

/* Columns 0 .. n - 1, rows i0 .. i0 + rows - 1 of A on their way to a stage; rows >= m are 0. */
static __device__ __forceinline__ void stage_tile(float *stage, const struct multiply_shape &shape,
                                                  const float *a, int64_t lda, int64_t i0,
                                                  int64_t m, int n)
{
    const int quads = shape.rows / 4;
    for (int e = threadIdx.x; e < quads * n; e += 32 * warps) {
        const int row = e % quads * 4, j = e / quads;
        const float *from = a + i0 + row + j * lda;
        float *to = stage + j * shape.stride + row;
        if (i0 + row + 4 <= m && (reinterpret_cast<uintptr_t>(from) & 15) == 0)
            __pipeline_memcpy_async(to, from, 16);
        else
            for (int k = 0; k < 4; k++)
                if (i0 + row + k < m)
                    __pipeline_memcpy_async(to + k, from + k, 4);
                else
                    to[k] = 0;
    }
    __pipeline_commit();
}

/* A persistent grid over row tiles. All columns of a tile are in shared memory before any column of
 * Q is written, so q may be a. Work in a tile is cut into units of 32 rows x 16 columns; column
 * block j takes j + 1 blocks of W, so units go to the warps from the dearest down, there and back.
 */
__global__ __launch_bounds__(32 * warps, 1) void multiply(float *q, int64_t ldq, const float *a,
                                                          int64_t lda, const double *w, int64_t m,
                                                          int n, struct multiply_shape shape)
{
    extern __shared__ double2 memory[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, t = lane % 4;
    const int tile_floats = shape.stride * shape.columns;
    const int blocks = shape.columns / 16, bands = shape.rows / unit_rows, units = blocks * bands;
    const int64_t tiles = (m + shape.rows - 1) / shape.rows;
    const double2 *packed = reinterpret_cast<const double2 *>(w);
    float *stages = reinterpret_cast<float *>(memory);
    if (shape.w_in_shared) {
        const int count = blocks * (blocks + 1) / 2 * block_doubles / 2;
        for (int e = threadIdx.x; e < count; e += 32 * warps)
            memory[e] = packed[e];
        packed = memory;
        stages = reinterpret_cast<float *>(memory + count);
    }
    /* Columns from n on are multiplied by rows of W that are 0; they must not be NaN. */
    for (int stage = 0; stage < shape.stages; stage++)
        for (int e = shape.stride * n + threadIdx.x; e < tile_floats; e += 32 * warps)
            stages[stage * tile_floats + e] = 0;

    int64_t tile = blockIdx.x;
    stage_tile(stages, shape, a, lda, tile * shape.rows, m, n);
    for (int now = 0; tile < tiles; tile += gridDim.x) {
        const int64_t next = tile + gridDim.x;
        const float *stage = stages + now * tile_floats;
        if (shape.stages == 2) {
            now ^= 1;
            if (next < tiles)
                stage_tile(stages + now * tile_floats, shape, a, lda, next * shape.rows, m, n);
            else
                __pipeline_commit();
            __pipeline_wait_prior(1);
        } else {
            __pipeline_wait_prior(0);
        }
        __syncthreads();
        for (int round = 0; round * warps < units; round++) {
            const int unit = round * warps + (round % 2 ? warps - 1 - warp : warp);
            if (unit >= units)
                continue;
            const int block = blocks - 1 - unit / bands, row0 = unit % bands * unit_rows;
            const double2 *right = packed + block * (block + 1) / 2 * (block_doubles / 2) + lane;
            const float *left = stage + t * shape.stride + row0 + group;
            double sum[2][2][4] = {}; /* 16 rows, 8 columns each */
            for (int k = 0; k <= block; k++) {
                double f[2][2][4], b[2][4];
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    double2 low = right[h * 64], high = right[h * 64 + 32];
                    b[h][0] = low.x, b[h][1] = low.y, b[h][2] = high.x, b[h][3] = high.y;
                }
#pragma unroll
                for (int e = 0; e < 4; e++)
#pragma unroll
                    for (int s = 0; s < 4; s++)
                        f[e / 2][e % 2][s] = left[4 * s * shape.stride + 8 * e];
#pragma unroll
                for (int e = 0; e < 4; e++)
                    bd_gram_multiply(sum[e / 2][e % 2], f[e / 2][0], f[e / 2][1], b[e % 2]);
                right += block_doubles / 2;
                left += 16 * shape.stride;
            }
            const int64_t i0 = tile * shape.rows + row0 + group;
#pragma unroll
            for (int e = 0; e < 16; e++) {
                const int64_t i = i0 + 16 * (e / 8) + 8 * (e / 2 % 2);
                const int j = 16 * block + 8 * (e / 4 % 2) + 2 * t + e % 2;
                if (i < m && j < n)
                    q[i + j * ldq] = (float)sum[e / 8][e / 4 % 2][e % 4];
            }
        }
        __syncthreads();
        if (shape.stages == 1 && next < tiles)
            stage_tile(stages, shape, a, lda, next * shape.rows, m, n);
    }
}

enum bd_status bd_cuda_cholqr_multiply(struct bd_cuda *cuda, float *q, int64_t ldq, const float *a,
                                       int64_t lda, const double *w, int64_t m, int n)
{
    struct multiply_shape shape = multiply_shape(cuda, n);
    int64_t tiles = (m + shape.rows - 1) / shape.rows;
    enum bd_status status = bd_cuda_check(
        cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, shape.bytes),
        "the shared memory of A R^-1");
    if (status != BD_OK)
        return status;
    unsigned blocks = (unsigned)(tiles < cuda->sms ? tiles : cuda->sms);
    multiply<<<blocks, 32 * warps, shape.bytes, cuda->stream>>>(q, ldq, a, lda, w, m, n, shape);
    return bd_cuda_launched("A R^-1");
}

/* A thread an element. */
__global__ void join(float *r, int64_t ldr, const double *r2, const double *r1, int n)
{
    const int i = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y;
    if (i >= n || j >= n)
        return;
    double sum = 0;
    for (int k = i; k <= j; k++)
        sum += r2[i + (int64_t)k * n] * r1[k + (int64_t)j * n];
    r[i + j * ldr] = (float)sum;
}

enum bd_status bd_cuda_cholqr_join(struct bd_cuda *cuda, float *r, int64_t ldr, const double *r2,
                                   const double *r1, int n)
{
    dim3 grid((unsigned)(n + 31) / 32, (unsigned)(n + 7) / 8);
    join<<<grid, dim3(32, 8), 0, cuda->stream>>>(r, ldr, r2, r1, n);
    return bd_cuda_launched("R2 R1");
}
