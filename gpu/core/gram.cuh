/* Private to the CUDA backend: G := X^T X in float64 of a tall float32 matrix, on the FP64 tensor
 * cores. Products of two floats are exact in double, so that R from a Cholesky factorisation of G
 * (gpu/qr/cholesky.h) is as good in float32 as one from Householder reflectors.
 *
 * X comes from a Loader, which may form it on the fly:
 *
 *     struct Loader { __device__ void load4(int64_t i, int j, float x[4]) const; };
 *
 * load4 gives rows i .. i + 3 (i a multiple of 4; rows >= m as 0) of column j, 0 <= j < n. The
 * Loader is passed to the kernels by value. NaN and Inf in X make the elements of G they belong to
 * NaN or Inf.
 *
 * The rows are cut into tiles, which are shared out to as many thread blocks as the device
 * holds. A second kernel adds the sums of the blocks in a fixed order, so that the same X gives
 * the same bits. The plain version is a float64 syrk on the host (tests/gpu/gram.cu). */
#ifndef BD_GPU_CORE_GRAM_CUH
#define BD_GPU_CORE_GRAM_CUH

#include "gpu/core/dependent_launch.cuh"
#include "gpu/core/gram_narrow.cuh"
#include "gpu/core/gram_producer.cuh"
#include "gpu/core/gram_tiles.cuh"
#include "gpu/cuda.h"

/* A column-major matrix in device memory, m rows, any lda >= m, any alignment. */
struct bd_gram_matrix {
    const float *a;
    int64_t lda, m;

    using strip = const float *;
    __device__ __forceinline__ bool whole(int64_t i) const
    {
        return i + 4 <= m &&
               ((reinterpret_cast<uintptr_t>(a) | (uintptr_t)lda * sizeof *a) & 15) == 0;
    }
    __device__ __forceinline__ strip at(int64_t i, int j) const
    {
        return a + i + j * lda;
    }
    __device__ __forceinline__ float4 take(strip s) const
    {
        return *reinterpret_cast<const float4 *>(s);
    }
    __device__ __forceinline__ void move(strip &s, int columns) const
    {
        s += columns * lda;
    }
    __device__ __forceinline__ void load4(int64_t i, int j, float x[4]) const
    {
        const float *p = a + i + j * lda;
        if (i + 4 <= m && (reinterpret_cast<uintptr_t>(p) & 15) == 0) {
            float4 v = *reinterpret_cast<const float4 *>(p);
            x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
        } else {
            for (int k = 0; k < 4; k++)
                x[k] = i + k < m ? p[k] : 0.0f;
        }
    }
};

/* G (n x n) := sums over the thread blocks; part is units x blocks x Slots::count. Warp w adds
 * blocks w, w + 32, .. for 32 slots. Then lane l of warp w has what warp l added for slot w, and
 * in the end lane l of warp 0 has the whole sum for slot l. */
template <class Slots>
__global__ __launch_bounds__(1024) void bd_gram_sum(double *g, const double *part, int n,
                                                    int blocks, const int *stop)
{
    __shared__ double sums[32][33], totals[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, slot0 = blockIdx.x * 32;
    const double *p = part + (int64_t)blockIdx.y * blocks * Slots::count + slot0 + lane;
    double sum = 0;
    bd_cuda_await(); /* also if stopped: the next launch waits for this kernel alone */
    if (stop && *stop)
        return;
    for (int block = warp; block < blocks; block += 5 * 32) {
        double x[5];
#pragma unroll
        for (int k = 0; k < 5; k++) /* the five loads are independent */
            x[k] = block + 32 * k < blocks ? p[(int64_t)(block + 32 * k) * Slots::count] : 0.0;
#pragma unroll
        for (int k = 0; k < 5; k++)
            sum += x[k];
    }
    sums[warp][lane] = sum;
    __syncthreads();
    sum = sums[lane][warp];
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (lane == 0)
        totals[warp] = sum;
    __syncthreads();
    int row, col;
    if (warp == 0 && Slots::place(slot0 + lane, blockIdx.y, n, &row, &col)) {
        g[row + (int64_t)col * n] = totals[lane];
        g[col + (int64_t)row * n] = totals[lane];
    }
}

enum {
    bd_gram_most = 1024,
    bd_gram_wide = 192 /* columns of a triangle of the widest class; wider matrices take several */
};

static inline int bd_gram_triangles(int n)
{
    return (n + bd_gram_wide - 1) / bd_gram_wide;
}

/* Thread blocks for each of `units`, so that all together fill the device `times` times. */
static inline int bd_gram_blocks(const struct bd_cuda *cuda, int times, int units, int64_t tiles)
{
    int64_t blocks = (times * cuda->sms + units - 1) / units;
    return (int)(blocks < tiles ? blocks : tiles);
}

/* The classes of n, up to the widest triangle. */
using bd_gram_to_64 = bd_gram_cut<8, 8>;
using bd_gram_to_104 = bd_gram_cut<13, 8>;
using bd_gram_to_128 = bd_gram_cut<16, 4>;
using bd_gram_to_192 = bd_gram_cyclic<12>;

/* Bytes of workspace for the Gram matrix of an m x n matrix, n <= 1024. */
static inline size_t bd_gram_workspace(const struct bd_cuda *cuda, int64_t m, int n)
{
    int triangles = bd_gram_triangles(n), pairs = 2 * triangles * (triangles - 1);
    int64_t tiles = (m + 31) / 32;
    size_t slots = bd_gram_slots<bd_gram_to_192>::count;
    if (n <= 32)
        return (size_t)bd_gram_blocks(cuda, 2, 1, tiles) * 6 * 128 * sizeof(double);
    if (n <= 64)
        slots = bd_gram_slots<bd_gram_to_64>::count;
    else if (n <= 104)
        slots = bd_gram_slots<bd_gram_to_104>::count;
    else if (n <= 128)
        slots = bd_gram_slots<bd_gram_to_128>::count;
    size_t bytes = triangles * bd_gram_blocks(cuda, 1, triangles, tiles) * slots * sizeof(double);
    if (pairs == 0)
        return bytes;
    size_t more = pairs * bd_gram_blocks(cuda, 1, pairs, tiles) *
                  (size_t)bd_gram_slots<bd_gram_pair>::count * sizeof(double);
    return bytes > more ? bytes : more;
}

/* Launches the kernel that adds the sums of the thread blocks; it may begin while they are still
 * being formed. */
template <class Slots>
static void bd_gram_add_up(struct bd_cuda *cuda, double *g, const double *part, int n, int blocks,
                           int units, const int *stop)
{
    bd_cuda_follow(cuda, bd_gram_sum<Slots>, dim3(Slots::count / 32, (unsigned)units), dim3(1024),
                   0, g, part, n, blocks, stop);
}

/* Launches a kernel that forms sums, with `bytes` of dynamic shared memory. */
template <class Kernel, class... Values>
static enum bd_status bd_gram_launch(struct bd_cuda *cuda, Kernel *kernel, dim3 grid, int threads,
                                     int bytes, const Values &...values)
{
    enum bd_status status = bd_cuda_check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "the shared memory of the Gram matrix");
    if (status == BD_OK)
        kernel<<<grid, (unsigned)threads, bytes, cuda->stream>>>(values...);
    return status;
}

template <class Loader, class Part>
static enum bd_status bd_gram_run(struct bd_cuda *cuda, double *g, const Loader &loader, int64_t m,
                                  int n, double *part, int units, const int *stop)
{
    const int blocks = bd_gram_blocks(cuda, 1, units, (m + 31) / 32);
    enum bd_status status = bd_gram_launch(
        cuda, bd_gram_tiles<Loader, Part>, dim3((unsigned)blocks, (unsigned)units),
        32 * Part::warps, 2 * Part::columns * 8 * (int)sizeof(float4), part, loader, m, n, stop);
    if (status == BD_OK)
        bd_gram_add_up<bd_gram_slots<Part>>(cuda, g, part, n, blocks, units, stop);
    return status;
}

template <class Loader, class Part>
static enum bd_status bd_gram_run_specialised(struct bd_cuda *cuda, double *g, const Loader &loader,
                                              int64_t m, int n, double *part, const int *stop)
{
    const int64_t row_blocks = (m + 15) / 16, most = bd_gram_blocks(cuda, 1, 1, (m + 31) / 32);
    const int share = (int)((row_blocks + most - 1) / most);
    const int blocks = (int)((row_blocks + share - 1) / share); /* none without rows */
    using stages = bd_gram_stages<Part>;
    enum bd_status status =
        bd_gram_launch(cuda, bd_gram_specialised<Loader, Part>, dim3((unsigned)blocks),
                       stages::threads, stages::bytes, part, loader, m, n, share, stop);
    if (status == BD_OK)
        bd_gram_add_up<bd_gram_slots<Part>>(cuda, g, part, n, blocks, 1, stop);
    return status;
}

/* The same of up to 32 columns, whose rows come from `rows` (gram_narrow.cuh). */
template <class Rows, int GROUPS>
static void bd_gram_run_narrow(struct bd_cuda *cuda, double *g, const Rows &rows, int64_t m, int n,
                               double *part, const int *stop)
{
    const int share = 128 * Rows::blocks; /* rows that a thread block takes at a time */
    const int blocks = bd_gram_blocks(cuda, GROUPS == 3 ? 2 : 1, 1, (m + share - 1) / share);
    bd_cuda_follow(cuda, bd_gram_narrow<Rows, GROUPS>, dim3((unsigned)blocks), dim3(256), 0, part,
                   rows, m, n, stop);
    bd_gram_add_up<bd_gram_narrow_slots<GROUPS>>(cuda, g, part, n, blocks, 1, stop);
}

template <class Rows>
static void bd_gram_of_rows(struct bd_cuda *cuda, double *g, const Rows &rows, int64_t m, int n,
                            double *part, const int *stop)
{
    if (n <= 24)
        bd_gram_run_narrow<Rows, 3>(cuda, g, rows, m, n, part, stop);
    else
        bd_gram_run_narrow<Rows, 4>(cuda, g, rows, m, n, part, stop);
}

/* G := X^T X, n x n, float64, column-major, ld = n, both triangles. X is m x n, m >= 1,
 * 1 <= n <= 1024. `workspace` holds bd_gram_workspace(cuda, m, n) bytes, 16-byte aligned. `stop`:
 * if not NULL and *stop != 0 on the device, the kernels return at once and G stays as it is. */
template <class Loader>
enum bd_status bd_gram(struct bd_cuda *cuda, double *g, const Loader &loader, int64_t m, int n,
                       void *workspace, const int *stop)
{
    double *part = static_cast<double *>(workspace);
    int triangles = bd_gram_triangles(n), pairs = 2 * triangles * (triangles - 1);
    enum bd_status status = BD_OK;
    if (n <= 32)
        bd_gram_of_rows(cuda, g, bd_gram_loaded_rows<Loader>{ loader }, m, n, part, stop);
    else if (n <= 64)
        status = bd_gram_run_specialised<Loader, bd_gram_to_64>(cuda, g, loader, m, n, part, stop);
    else if (n <= 104)
        status = bd_gram_run_specialised<Loader, bd_gram_to_104>(cuda, g, loader, m, n, part, stop);
    else if (n <= 128)
        status = bd_gram_run_specialised<Loader, bd_gram_to_128>(cuda, g, loader, m, n, part, stop);
    else
        status = bd_gram_run<Loader, bd_gram_to_192>(cuda, g, loader, m, n, part, triangles, stop);
    if (status == BD_OK && pairs > 0)
        status = bd_gram_run<Loader, bd_gram_pair>(cuda, g, loader, m, n, part, pairs, stop);
    if (status != BD_OK)
        return status;
    return bd_cuda_launched("the Gram matrix");
}

#endif
