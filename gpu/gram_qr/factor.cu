/* R and T from G (plan.h) in one thread block, where R^ has room in its shared memory. The plain
 * version is linalg/cpu/gram_qr/factor.c. */
#include <math.h>

#include "gpu/core/dependent_launch.cuh"
#include "gpu/gram_qr/blocked_solver.cuh"
#include "gpu/gram_qr/clamp.cuh"
#include "gpu/gram_qr/estimate.cuh"
#include "gpu/gram_qr/large/large.h"
#include "gpu/gram_qr/parts.cuh"

enum {
    threads = 512,
    static_shared = 2048 /* bytes of shared memory that are not dynamic, or more */
};

/* Elements between rows, so that elements of a row, of a column, and mostly those of a diagonal,
 * which Jacobi's rotations read, are in different banks. */
static __host__ __device__ __forceinline__ int small_ld(int n)
{
    int ld = n | 1;
    while (ld % 8 == 1 || ld % 8 == 7)
        ld += 2;
    return ld;
}

/* Bytes of shared memory with so many matrices. */
static size_t factor_bytes(int n, size_t matrices)
{
    return (5 * (size_t)n + 2 + matrices * (size_t)n * (size_t)small_ld(n)) * sizeof(double);
}

static bool fits_shared(const struct bd_cuda *cuda, int n, size_t matrices)
{
    return n <= 128 && factor_bytes(n, matrices) + static_shared <= (size_t)cuda->shared_most;
}

/* The small arrays and b are in dynamic shared memory; so are the other matrices, unless they
 * are `apart`, in global memory. */
static __device__ __forceinline__ struct gram_memory_of_r
take_memory(double *shared, const struct gram_data &d, bool apart)
{
    struct gram_memory_of_r f;
    const int n = d.n;
    f.norm = shared;
    f.inverse = shared + n;
    f.x = shared + 2 * n;
    f.ld = small_ld(n);
    f.b = shared + 5 * n + 2;
    f.a = apart ? d.scratch : f.b + n * f.ld;
    f.c = gram_matrices(n, 1) == 3 ? f.a + n * f.ld : f.a;
    return f;
}

/* Computes the norms of columns; returns whether G is unusable. */
static __device__ __forceinline__ int take_norms(const struct gram_data &d,
                                                 const struct gram_memory_of_r &f)
{
    int bad = 0;
    for (int j = threadIdx.x; j < d.n; j += blockDim.x) {
        const double square = d.g[j + (int64_t)j * d.n], inverse = gram_inverse_root(square);
        bad |= gram_is_bad(square);
        f.norm[j] = square * inverse;
        f.inverse[j] = inverse;
    }
    return __syncthreads_or(bad);
}

/* ||G - I||_F^2, and G scaled to unit diagonal, with both triangles, to f.b, its diagonal times
 * 1 + shift. sums: 64, of which the upper half become the sums of squares of the scaled G by warp.
 */
static __device__ __forceinline__ double
take_scaled(const struct gram_data &d, const struct gram_memory_of_r &f, double shift, double *sums)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int n = d.n;
    double sum = 0, whole = 0;
#pragma unroll 1
    for (int j0 = warp; j0 < n; j0 += gram_columns_once * warps)
#pragma unroll 1
        for (int i0 = 0; i0 <= j0 + (gram_columns_once - 1) * warps; i0 += 128) {
            double x[gram_columns_once][4];
            gram_load_columns(x, d.g, n, j0, warps, i0);
#pragma unroll
            for (int e = 0; e < 4 * gram_columns_once; e++) {
                const int i = i0 + lane + e % 4 * 32, j = j0 + e / 4 * warps;
                if (i > j || j >= n)
                    continue;
                const double own = x[e / 4][e % 4], rest = own - (i == j);
                const double scaled = own * f.inverse[i] * f.inverse[j];
                sum += (i == j ? 1 : 2) * rest * rest;
                whole += (i == j ? 1 : 2) * scaled * scaled;
                f.b[i * f.ld + j] = f.b[j * f.ld + i] = i == j ? 1 + shift : scaled;
            }
        }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(~0u, sum, step);
        whole += __shfl_xor_sync(~0u, whole, step);
    }
    if (lane == 0) {
        sums[warp] = sum;
        sums[32 + warp] = whole;
    }
    __syncthreads();
    return gram_sum_warp(lane < warps ? sums[lane] : 0.0);
}

/* Copies what gram_clamp left in global memory to f.b. */
static __device__ __forceinline__ void bring_back(const struct gram_memory_of_r &f, int n)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    __syncthreads();
#pragma unroll 1
    for (int i = warp; i < n; i += warps)
#pragma unroll 4
        for (int j = i + lane; j < n; j += 32)
            f.b[i * f.ld + j] = f.c[i * f.ld + j];
    __syncthreads();
}

/* R^ to b, T and R_total. */
__global__ __launch_bounds__(threads,
                             1) void factor(const __grid_constant__ struct gram_data d,
                                            const __grid_constant__ struct gram_factor_step s,
                                            struct gram_record *out)
{
    extern __shared__ __align__(16) double shared[];
    __shared__ double sums[64];
    __shared__ struct gram_progress progress;
    __shared__ unsigned starts[gram_most / 32];
    struct gram_memory_of_r f = take_memory(shared, d, s.apart);
    const int n = d.n, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warps = threads / 32;
    struct gram_record record = {};
    bd_cuda_await();
    record.bad = take_norms(d, f);
    record.orthogonality = record.bad ? NAN : 0;
    bool idle = record.bad, whole = false; /* whether Cholesky has made all rows of R^ */
    if (!idle) {
        record.orthogonality = gram_root(take_scaled(d, f, s.shift, sums));
        record.skipped = record.orthogonality < s.enough;
        idle = record.skipped;
        record.condition = 1 + record.orthogonality; /* of a skipped pass: to first order */
    }
    if (!idle) {
        record.bad = record.skipped = 0; /* as they are already; so no registers hold them */
        const double by = gram_inverse_root(1 + s.shift);
        const int end = gram_cholesky_blocked(f.b, f.ld, n, 0, by, f.x, &progress);
        whole = end == n;
        record.failed = !s.svd && !whole;
        record.condition = whole ? progress.squared : HUGE_VAL;
        if (s.svd && gram_needs_clamp(record.condition, n)) {
            const double squares = gram_sum_warp(lane < warps ? sums[32 + lane] : 0.0);
            double bound;
            gram_take_again(d, f);
            record.bad = idle = !gram_clamp(f.b, f.a, f.c, f.ld, n, squares, f.x, &bound, &record);
            if (s.apart)
                bring_back(f, n);
            else
                f.b = f.c;
            if (!idle)
                whole = gram_cholesky_blocked(f.b, f.ld, n, bound / 2, 0, f.x, &progress) == n;
        } else if (!whole) {
            gram_break_off(f, n, end);
        }
    }
    if (idle) {
        gram_keep_total(d, s.pass, !record.bad);
        if (threadIdx.x == 0) {
            d.decision->identity = 1;
            gram_write(out, record, s.number);
        }
        return;
    }
    record.single = gram_is_single(record.condition, s.mixed);
    gram_cut<threads, 1>(starts, f.b, f.ld, n, s.solve, gram_kappa(record.condition, n),
                         gram_tau(record.single));
    __syncthreads();
    for (int j = threadIdx.x; j < gram_most / 32; j += threads)
        d.decision->starts[j] = starts[j];
    for (int j = threadIdx.x; j < n; j += threads) {
        d.inverse[j] = f.inverse[j];
        f.x[j] = gram_inverse(f.b[j * f.ld + j]);
        f.norm[j] *= gram_undone(d.exponents[j]);
    }
    __syncthreads();
    for (int j = threadIdx.x; j < n; j += threads)
        d.exponents[j] = 0;
    if (threadIdx.x == 0) { /* slow, across the bus; the first warp has the least of T to do */
        d.decision->identity = 0;
        d.decision->single = record.single;
        gram_write(out, record, s.number);
    }
    const struct gram_pair pair = { f.b, f.ld, n, f.x };
    gram_invert_blocked(d, pair, starts, whole, record.single);
    if (s.pass > 0) {
        __syncthreads();
        gram_join_blocked(d, pair, f.x, f.norm);
    } else {
        for (int j = warp; j < n; j += warps)
            for (int i = lane; i < n; i += 32)
                d.other[i + j * n] = i <= j ? f.b[i * f.ld + j] * f.norm[j] : 0.0;
    }
}

enum bd_status bd_cuda_gram_factor_enqueue(const struct gram_plan *plan,
                                           const struct bd_gram_step *step,
                                           struct gram_record *record)
{
    struct bd_cuda *cuda = plan->cuda;
    const int n = plan->data.n;
    const bool svd = step->method == BD_GRAM_QR_SVD;
    const bool apart = !fits_shared(cuda, n, gram_matrices(n, svd));
    const struct gram_factor_step s = { svd,          (int)step->solve, step->mixed,  step->pass,
                                        plan->number, step->shift,      step->enough, apart };
    if (!fits_shared(cuda, n, 1))
        return bd_cuda_gram_large_enqueue(plan, &s, record);
    const enum bd_status status =
        bd_cuda_allow_shared(cuda, (const void *)factor, "shared memory for R");
    if (status == BD_OK)
        bd_cuda_follow(cuda, factor, dim3(1), dim3(threads),
                       factor_bytes(n, apart ? 1 : gram_matrices(n, svd)), plan->data, s, record);
    return status ? status : bd_cuda_launched("R of the Gram matrix");
}
