/* The thin Q from R (cholqr.h).
 *
 * W = R^-1 is kept in blocks of 16 x 16 in the order in which the tensor cores read it: block
 * (k, j), k <= j, is number j (j + 1) / 2 + k. In a block, lane 4 g + t reads two double2 of column
 * g of the columns 8 h .. 8 h + 7: rows t, 4 + t and 8 + t, 12 + t (gpu/core/gram_multiply.cuh). */
#include "gpu/qr/cholqr.h"

#include "gpu/core/gram.cuh"
#include "gpu/core/pipeline.cuh"
#include "gpu/core/triangle.cuh"

enum {
    block_doubles = 256,
    narrow_cols = 192, /* up to here W fits in shared memory */
    narrow_warps = 12, /* of a thread block of multiply */
    narrow_threads = 32 * narrow_warps,
    unit_rows = 32, /* rows of Q that a warp computes at a time, 16 columns of it */
    warps = 8,      /* of a thread block of multiply_wide */
    stride = 40     /* floats between columns in shared memory: no bank conflicts */
};

static __host__ __device__ __forceinline__ int block_columns(int n)
{
    return (n + 15) / 16;
}

/* The index of element (i, j), i / 16 <= j / 16, in a packed matrix. */
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

/* A warp computes column j of W by back substitution, R w = e_j, from row j upwards. Lane l has
 * elements l, 32 + l, .. of w; w(i) is known when the columns of R right of i have been taken from
 * it. Columns from n on of the last block of 16 become zero. With SHARED, each thread block first
 * copies R to shared memory, column i at i (i + 1) / 2, because each step waits for an element of
 * R. gram_invert_column (gpu/gram_qr/solver.cuh) is the same for the R^ of gram_qr, in blocks of
 * columns and by rows. */
template <int PARTS, bool SHARED>
__global__ __launch_bounds__(SHARED ? 512 : 128) void invert(double *w, double *condition,
                                                             const double *g, const double *norms,
                                                             int n)
{
    extern __shared__ double2 memory[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int j = blockIdx.x * warps + warp;
    double *packed = reinterpret_cast<double *>(memory);
    if (SHARED) {
        bd_cuda_load_triangle<4>(g, n, [&](int i, int row, double x, bool wanted) {
            if (wanted)
                packed[i * (i + 1) / 2 + row] = x;
        });
        __syncthreads();
    }
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
    for (int top = PARTS - 1; top >= 0; top--) {
        if (32 * top > j)
            continue;
#pragma unroll 4
        for (int s = 31; s >= 0; s--) {
            const int i = 32 * top + s;
            const double *column = SHARED ? packed + i * (i + 1) / 2 : g + (int64_t)i * n;
            double known = __shfl_sync(0xffffffffu, x[top] * inverse[top], s);
#pragma unroll
            for (int part = 0; part <= top; part++) {
                int row = 32 * part + lane;
                double r = row < i && i < n ? column[row] : 0.0;
                x[part] = row == i ? known : x[part] - r * known;
            }
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
    const int columns = 16 * block_columns(n);
    const size_t bytes = (size_t)n * (n + 1) / 2 * sizeof(double);
    if (n > narrow_cols || bytes > (size_t)cuda->shared_most) {
        invert<32, false>
            <<<(unsigned)columns / 4, 128, 0, cuda->stream>>>(w, condition, g, norms, n);
        return bd_cuda_launched("inverting R");
    }
    enum bd_status status =
        bd_cuda_check(cudaFuncSetAttribute(invert<6, true>,
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
                      "the shared memory for inverting R");
    if (status != BD_OK)
        return status;
    invert<6, true>
        <<<(unsigned)columns / 16, 512, bytes, cuda->stream>>>(w, condition, g, norms, n);
    return bd_cuda_launched("inverting R");
}

/* Adds to `sum` the 32 x 16 elements of Q in column block `block`. The lane reads rows of A in
 * shared memory from `left` on, and W from `right` on. */
static __device__ __forceinline__ void multiply_block(double sum[2][2][4], const float *left,
                                                      const double2 *right, int block)
{
#pragma unroll 2
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
                f[e / 2][e % 2][s] = left[4 * s * stride + 8 * e];
#pragma unroll
        for (int e = 0; e < 4; e++)
            bd_gram_multiply(sum[e / 2][e % 2], f[e / 2][0], f[e / 2][1], b[e % 2]);
        right += block_doubles / 2;
        left += 16 * stride;
    }
}

/* Stores the sums of multiply_block in Q, where i < m and j < n. i: the lane's first row; j: its
 * first column. */
static __device__ __forceinline__ void write_block(float *q, int64_t ldq, double sum[2][2][4],
                                                   int64_t i, int64_t m, int j, int n)
{
#pragma unroll
    for (int e = 0; e < 4; e++) { /* of the 8 columns number h, column c of the lane's two */
        const int h = e / 2, c = e % 2, column = j + 8 * h + c;
        float *to = q + i + column * ldq;
        if (column < n)
#pragma unroll
            for (int part = 0; part < 4; part++) /* every eighth row */
                if (i + 8 * part < m)
                    to[8 * part] = (float)sum[part / 2][h][part % 2 * 2 + c];
    }
}

/* A barrier for the warps of one set. */
static __device__ __forceinline__ void wait_for_set(int set, int threads)
{
    asm volatile("bar.sync %0, %1;" : : "r"(1 + set), "r"(threads) : "memory");
}

/* Q = A W up to 192 columns, W in shared memory. Column block j of Q takes j + 1 blocks of W. A
 * warp computes blocks `blocks` - 1 - p and p, p < `pairs`, of 32 rows, so that all warps have the
 * same work. `pairs` warps form a set, which has its own tiles of rows. All columns of a tile are
 * in shared memory before any column of Q is written, so q may be a. Meanwhile the next tile is
 * loaded into registers, eight quads a thread. There are as many sets as fit into 12 warps, 3 on
 * each of a multiprocessor's four tensor cores, and sets do not wait for each other. The kernels of
 * gpu/triangular do the same for the T of gram_qr. */
__global__ __launch_bounds__(narrow_threads, 1) void multiply(float *q, int64_t ldq,
                                                              struct bd_gram_matrix a,
                                                              const double *w, int n)
{
    extern __shared__ double2 memory[];
    const int blocks = block_columns(n), pairs = (blocks + 1) / 2, threads = 32 * pairs;
    const int set = threadIdx.x / threads, sets = narrow_warps / pairs;
    const int lane = threadIdx.x % 32, pair = threadIdx.x / 32 % pairs, group = lane / 4;
    const int count = blocks * (blocks + 1) / 2 * block_doubles / 2;
    const int quad = threadIdx.x % 8, column = threadIdx.x % threads / 8, step = threads / 8;
    const int64_t m = a.m, tiles = (m + unit_rows - 1) / unit_rows;
    const int64_t tile_stride = (int64_t)gridDim.x * sets;
    for (int e = threadIdx.x; e < count; e += narrow_threads)
        memory[e] = reinterpret_cast<const double2 *>(w)[e];
    __syncthreads();
    if (set >= sets)
        return;

    float *stage = reinterpret_cast<float *>(memory + count) + set * stride * 16 * blocks;
    float next[8][4];
    auto load = [&](int64_t tile) {
#pragma unroll
        for (int u = 0; u < 8; u++) {
            const int j = column + u * step;
            next[u][0] = next[u][1] = next[u][2] = next[u][3] = 0;
            if (j < n)
                a.load4(tile * unit_rows + 4 * quad, j, next[u]);
        }
    };
    int64_t tile = (int64_t)blockIdx.x * sets + set;
    if (tile < tiles)
        load(tile);
    for (; tile < tiles; tile += tile_stride) {
        wait_for_set(set, threads);
#pragma unroll
        for (int u = 0; u < 8; u++)
            if (column + u * step < 16 * blocks)
                *reinterpret_cast<float4 *>(stage + (column + u * step) * stride + 4 * quad) =
                    make_float4(next[u][0], next[u][1], next[u][2], next[u][3]);
        wait_for_set(set, threads);
        if (tile + tile_stride < tiles)
            load(tile + tile_stride);
#pragma unroll 1
        for (int turn = 0; turn < 2; turn++) {
            const int block = turn ? pair : blocks - 1 - pair;
            if (turn && 2 * pair + 1 == blocks)
                break;
            double sum[2][2][4] = {};
            multiply_block(sum, stage + lane % 4 * stride + group,
                           memory + block * (block + 1) / 2 * (block_doubles / 2) + lane, block);
            write_block(q, ldq, sum, tile * unit_rows + group, m, 16 * block + 2 * (lane % 4), n);
        }
    }
}

/* Q = A W of more columns. W is read from the caches. The warps take the column blocks from the one
 * with the most work down, forth and back. Shared memory holds two tiles of 32 rows if they fit. */
__global__ __launch_bounds__(32 * warps, 1) void multiply_wide(float *q, int64_t ldq,
                                                               const float *a, int64_t lda,
                                                               const double *w, int64_t m, int n,
                                                               int stages)
{
    extern __shared__ double2 memory[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, t = lane % 4;
    const int blocks = block_columns(n), tile_floats = stride * 16 * blocks;
    const int64_t tiles = (m + unit_rows - 1) / unit_rows;
    const double2 *packed = reinterpret_cast<const double2 *>(w);
    float *both = reinterpret_cast<float *>(memory);
    const bool aligned = pipeline_aligned(a, lda);
    auto stage_tile = [&](int stage, int64_t tile) {
        pipeline_fetch<unit_rows, stride, 32 * warps>(both + stage * tile_floats, a, lda,
                                                      tile * unit_rows, m, n, aligned);
        pipeline_commit();
    };
    /* Columns from n on are multiplied by rows of W that are 0; they must not be NaN. */
    for (int stage = 0; stage < stages; stage++)
        for (int e = stride * n + threadIdx.x; e < tile_floats; e += 32 * warps)
            both[stage * tile_floats + e] = 0;

    int64_t tile = blockIdx.x;
    stage_tile(0, tile);
    for (int now = 0; tile < tiles; tile += gridDim.x) {
        const int64_t next = tile + gridDim.x;
        const float *stage = both + now * tile_floats;
        if (stages == 2) {
            now ^= 1;
            if (next < tiles)
                stage_tile(now, next);
            else
                pipeline_commit();
            pipeline_wait<1>();
        } else {
            pipeline_wait<0>();
        }
        __syncthreads();
        for (int round = 0; round * warps < blocks; round++) {
            const int block = blocks - 1 - (round * warps + (round % 2 ? warps - 1 - warp : warp));
            if (block < 0)
                continue;
            double sum[2][2][4] = {};
            multiply_block(sum, stage + t * stride + group,
                           packed + block * (block + 1) / 2 * (block_doubles / 2) + lane, block);
            write_block(q, ldq, sum, tile * unit_rows + group, m, 16 * block + 2 * t, n);
        }
        __syncthreads();
        if (stages == 1 && next < tiles)
            stage_tile(0, next);
    }
}

enum bd_status bd_cuda_cholqr_multiply(struct bd_cuda *cuda, float *q, int64_t ldq, const float *a,
                                       int64_t lda, const double *w, int64_t m, int n)
{
    const int blocks = block_columns(n), pairs = (blocks + 1) / 2;
    const size_t row = 16 * (size_t)blocks * sizeof(float), most = (size_t)cuda->shared_most;
    int sets = narrow_warps / pairs, stages = 1;
    size_t bytes = (size_t)sets * stride * row + bd_cuda_cholqr_packed(n) * sizeof(double);
    const bool wide = n > narrow_cols || bytes > most;
    if (wide) {
        sets = 1;
        stages = 2 * stride * row <= most ? 2 : 1;
        bytes = stages * stride * row;
    }
    const void *kernel = wide ? (const void *)multiply_wide : (const void *)multiply;
    enum bd_status status = bd_cuda_check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
        "the shared memory of A R^-1");
    if (status != BD_OK)
        return status;
    int64_t tiles = (m + sets * unit_rows - 1) / (sets * unit_rows);
    unsigned grid = (unsigned)(tiles < cuda->sms ? tiles : cuda->sms);
    const struct bd_gram_matrix x = { a, lda, m };
    if (wide)
        multiply_wide<<<grid, 32 * warps, bytes, cuda->stream>>>(q, ldq, a, lda, w, m, n, stages);
    else
        multiply<<<grid, narrow_threads, bytes, cuda->stream>>>(q, ldq, x, w, n);
    return bd_cuda_launched("A R^-1");
}

/* A thread computes one element of R. */
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
