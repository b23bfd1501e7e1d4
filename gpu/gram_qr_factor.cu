/* R and T from G (gram_qr_plan.h), in one thread block; what is n^3 of that over the device where n
 * is large. */
#include <math.h>

#include "gpu/dependent_launch.cuh"
#include "gpu/gram_qr_blocked_solver.cuh"
#include "gpu/gram_qr_factor.h"
#include "gpu/gram_qr_raise.cuh"

enum {
    small_threads = 512,
    large_threads = 768,
    /* Of the matrices in shared memory: what is left of it. */
    static_shared = 1024
};

enum { part_all, part_before, part_after };

/* In dynamic shared memory: the small arrays, and the matrices where they fit: b, which becomes R^,
 * and, unless they are apart, in global memory, those that gram_raise needs beside it. */
struct factor_memory {
    double *norm, *inverse, *x; /* n, n, 3 n */
    double *a, *b, *c;          /* n x n; ld apart */
    int ld;
};

/* Neither rows nor columns share banks, and diagonals, of which Jacobi's rotations are, few. */
static __host__ __device__ __forceinline__ int small_ld(int n)
{
    int ld = n | 1;
    while (ld % 8 == 1 || ld % 8 == 7)
        ld += 2;
    return ld;
}

/* With so many matrices. */
static size_t factor_bytes(int n, size_t matrices)
{
    return (5 * (size_t)n + 2 + matrices * (size_t)n * (size_t)small_ld(n)) * sizeof(double);
}

static bool fits_shared(const struct bd_cuda *cuda, int n, size_t matrices)
{
    return n <= 128 && factor_bytes(n, matrices) + static_shared <= (size_t)cuda->shared_most;
}

template <bool STAGED>
static __device__ __forceinline__ struct factor_memory
take_memory(double *shared, const struct gram_data &d, bool apart)
{
    struct factor_memory f;
    const int n = d.n;
    f.norm = shared;
    f.inverse = shared + n;
    f.x = shared + 2 * n;
    f.ld = STAGED ? small_ld(n) : n;
    f.b = STAGED ? shared + 5 * n + 2 : d.scratch;
    f.a = STAGED && apart ? d.scratch : f.b + n * f.ld;
    f.c = gram_matrices(n, 1) == 3 ? f.a + n * f.ld : f.a;
    return f;
}

/* Norms of columns; whether G cannot be worked with. */
static __device__ __forceinline__ int take_norms(const struct gram_data &d,
                                                 const struct factor_memory &f)
{
    int bad = 0;
    for (int j = threadIdx.x; j < d.n; j += blockDim.x) {
        const double square = d.g[j + (int64_t)j * d.n], inverse = gram_inverse_root(square);
        bad |= !(square >= 0x1p-900 && square <= 0x1p1000);
        f.norm[j] = square * inverse;
        f.inverse[j] = inverse;
    }
    return __syncthreads_or(bad);
}

/* G scaled to unit diagonal, with both triangles, to f.a. */
static __device__ __forceinline__ void take_again(const struct gram_data &d,
                                                  const struct factor_memory &f)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
#pragma unroll 1
    for (int j = warp; j < d.n; j += warps)
#pragma unroll 4
        for (int i = lane; i <= j; i += 32) {
            const double scaled = d.g[i + (int64_t)j * d.n] * f.inverse[i] * f.inverse[j];
            f.a[i * f.ld + j] = f.a[j * f.ld + i] = i == j ? 1 : scaled;
        }
    __syncthreads();
}

/* ||G - I||_F^2, and G scaled to unit diagonal, with both triangles, to f.b, its diagonal times
 * 1 + shift. sums: 64, of which the upper half become the sums of squares of the scaled G by warp.
 */
static __device__ __forceinline__ double
take_scaled(const struct gram_data &d, const struct factor_memory &f, double shift, double *sums)
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

/* R_total of a pass with R = I. What gram_repair did is undone, but by a bad pass. */
static __device__ __forceinline__ void keep_total(const struct gram_data &d, int pass, bool undo)
{
    const int n = d.n, lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (int j = warp; j < n; j += warps)
        for (int i = lane; i < n; i += 32) {
            const int64_t e = i + (int64_t)j * n;
            const double old = pass == 0 ? (i == j ? 1.0 : 0.0) : i <= j ? d.total[e] : 0.0;
            d.other[e] = undo ? old * gram_undone(d.exponents[i]) : old;
        }
    __syncthreads();
    if (undo)
        for (int j = threadIdx.x; j < n; j += blockDim.x)
            d.exponents[j] = 0;
}

/* R is I from row `end` on: with norms that are powers of 2, so that 1 it is. */
static __device__ __forceinline__ void break_off(const struct factor_memory &f, int n, int end)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (int j = end + warp; j < n; j += warps) {
        const double power = gram_power(f.norm[j]), inverse = gram_power_inverse(f.norm[j]);
        const double by = f.norm[j] * inverse;
        for (int i = lane; i <= j; i += 32)
            f.b[i * f.ld + j] = i < end ? f.b[i * f.ld + j] * by : i == j ? inverse : 0.0;
        __syncwarp();
        if (lane == 0) {
            f.norm[j] = power;
            f.inverse[j] = inverse;
        }
    }
    __syncthreads();
}

/* What gram_raise has left apart, to f.b. */
static __device__ __forceinline__ void bring_back(const struct factor_memory &f, int n)
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

/* Rows of R^ in the place of the scaled G, and how many; of all of them the condition number. */
template <bool STAGED>
static __device__ __forceinline__ int
make_rows(const struct gram_data &d, const struct factor_memory &f,
          const struct gram_factor_step &s, struct gram_progress *progress)
{
    const int n = d.n;
    if constexpr (STAGED) {
        const double by = gram_inverse_root(1 + s.shift);
        return gram_cholesky_blocked(f.b, f.ld, n, 0, by, f.x, progress);
    } else {
        const int end = s.part == part_after ? d.decision->end : gram_cholesky(f.b, f.ld, n, 0);
        if (threadIdx.x < 32 && end == n) {
            const double squared = gram_estimate(f.b, f.ld, n, f.x);
            if (threadIdx.x == 0)
                progress->squared = squared;
        }
        __syncthreads();
        return end;
    }
}

/* R^ to b, T and R_total where the matrices are in shared memory; else R^ to d.r for the kernels
 * behind. */
template <bool STAGED>
__global__ __launch_bounds__(STAGED ? small_threads : large_threads,
                             1) void factor(const __grid_constant__ struct gram_data d,
                                            const __grid_constant__ struct gram_factor_step s,
                                            struct gram_record *out)
{
    extern __shared__ __align__(16) double shared[];
    __shared__ double sums[64];
    __shared__ struct gram_progress progress;
    __shared__ unsigned starts[gram_most / 32];
    struct factor_memory f = take_memory<STAGED>(shared, d, s.apart);
    if (!STAGED && s.part == part_after)
        f.b = d.r;
    const int n = d.n, lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    struct gram_record record = {};
    bd_cuda_await();
    record.bad = take_norms(d, f);
    record.orthogonality = record.bad ? NAN : 0;
    bool idle = record.bad, whole = false; /* whether Cholesky has made all rows of R^ */
    if (!idle && s.part != part_after) {
        record.orthogonality = gram_root(take_scaled(d, f, s.shift, sums));
        record.skipped = record.orthogonality < s.enough;
        idle = record.skipped;
        record.condition = 1 + record.orthogonality; /* of a skipped one: to first order */
    }
    if (s.part == part_after) {
        if (d.decision->identity)
            return;
        idle = record.skipped = false;
        record.orthogonality = d.decision->orthogonality;
    }
    if (s.part == part_before && !idle) {
        if (threadIdx.x == 0) {
            d.decision->identity = 0;
            d.decision->end = n;
            d.decision->orthogonality = record.orthogonality;
        }
        return;
    }
    if (!idle) {
        /* Where no eigenvalue is raised R of the SVD is that of Cholesky. The estimate is seldom a
         * tenth of the condition number of R^, so its square not a hundredth. */
        record.bad = record.skipped = 0; /* as they are, but no registers keep it */
        const int end = make_rows<STAGED>(d, f, s, &progress);
        whole = end == n;
        record.failed = !s.svd && !whole;
        record.condition = whole ? progress.squared : HUGE_VAL;
        if (s.svd && !(record.condition * 1e4 * n * DBL_EPSILON < 1)) {
            const double squares = gram_sum_warp(lane < warps ? sums[32 + lane] : 0.0);
            double bound;
            take_again(d, f);
            record.bad = idle = !gram_raise(f.b, f.a, f.c, f.ld, n, squares, f.x, &bound, &record);
            if (STAGED && s.apart)
                bring_back(f, n);
            else
                f.b = f.c;
            if (!idle)
                whole = (STAGED ? gram_cholesky_blocked(f.b, f.ld, n, bound / 2, 0, f.x, &progress)
                                : gram_cholesky(f.b, f.ld, n, bound / 2)) == n;
        } else if (!whole) {
            break_off(f, n, end);
        }
    }
    if (idle) {
        keep_total(d, s.pass, !record.bad);
        if (threadIdx.x == 0) {
            d.decision->identity = 1;
            gram_write(out, record, s.number);
        }
        return;
    }
    record.single = s.mixed && record.condition >= 1 / DBL_EPSILON;
    if (warp == 0) {
        /* what was raised, or broken off, has this at most */
        const double squared = fmin(record.condition, gram_inverse(n) / DBL_EPSILON);
        gram_cut(starts, d, f.b, f.ld, s.solve, gram_root(squared),
                 record.single ? 0x1.6a09e667f3bcdp-12 : 0x1p-26, f.x);
    } else {
        for (int j = threadIdx.x - 32; j < n; j += blockDim.x - 32)
            d.inverse[j] = f.inverse[j];
    }
    __syncthreads();
    for (int j = threadIdx.x; j < gram_most / 32; j += blockDim.x)
        d.decision->starts[j] = starts[j];
    if (threadIdx.x == 0) {
        d.decision->identity = 0;
        d.decision->single = record.single;
    }
    if constexpr (STAGED) {
        for (int j = threadIdx.x; j < n; j += blockDim.x) {
            f.x[j] = gram_inverse(f.b[j * f.ld + j]);
            f.norm[j] *= gram_undone(d.exponents[j]);
        }
        __syncthreads();
        for (int j = threadIdx.x; j < n; j += blockDim.x)
            d.exponents[j] = 0;
        if (threadIdx.x == 0) /* across the bus; the first warp has the least of T */
            gram_write(out, record, s.number);
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
    } else {
        if (threadIdx.x == 0)
            gram_write(out, record, s.number);
        for (int i = warp; i < n; i += warps) {
            if (lane == 0)
                d.norms[i] = f.norm[i] * gram_undone(d.exponents[i]);
            for (int j = i + lane; j < n; j += 32)
                d.r[(int64_t)i * n + j] = f.b[i * f.ld + j];
        }
    }
}

/* T of the R^ in d.r: a warp a column. */
__global__ __launch_bounds__(128) void invert(const __grid_constant__ struct gram_data d,
                                              int *overflow)
{
    const int j = blockIdx.x * 4 + threadIdx.x / 32;
    bd_cuda_await();
    if (d.decision->identity || j >= d.n)
        return;
    const bool fits = gram_invert_column<32>(d, d.decision->starts, d.r, d.n, j, d.decision->single,
                                             [&](int i) { return 1 / d.r[i + (int64_t)i * d.n]; });
    if (overflow && !fits) {
        d.decision->identity = 1;
        *overflow = 1;
    }
}

/* R_total of the R^ in d.r: a thread an element. */
__global__ __launch_bounds__(256) void join(const __grid_constant__ struct gram_data d, int pass)
{
    const int i = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y, n = d.n;
    bd_cuda_await();
    if (d.decision->identity || i >= n || j >= n)
        return;
    double sum = 0;
    if (pass == 0 && i <= j)
        sum = d.r[(int64_t)i * n + j] * d.norms[j];
    for (int k = i; pass && k <= j; k++)
        sum = fma(d.r[(int64_t)i * n + k] * d.norms[k], d.total[k + (int64_t)j * n], sum);
    d.other[i + (int64_t)j * n] = sum;
    if (j == 0)
        d.exponents[i] = 0;
}

extern "C" {

size_t bd_cuda_gram_packed_size(int n)
{
    return n <= gram_narrow_most ? 0 : gram_packed_size(n);
}

enum bd_status bd_cuda_gram_solver_enqueue(const struct gram_plan *plan, int *overflow)
{
    const int n = plan->data.n;
    invert<<<(unsigned)(n + 3) / 4, 128, 0, plan->cuda->stream>>>(plan->data, overflow);
    return bd_cuda_launched("inverting R");
}

enum bd_status bd_cuda_gram_factor_enqueue(const struct gram_plan *plan,
                                           const struct bd_gram_step *step,
                                           struct gram_record *record)
{
    struct bd_cuda *cuda = plan->cuda;
    const int n = plan->data.n;
    const bool svd = step->method == BD_GRAM_QR_SVD, in_shared = fits_shared(cuda, n, 1);
    const bool apart = !fits_shared(cuda, n, gram_matrices(n, svd));
    struct gram_factor_step s = {
        svd,         (int)step->solve, step->mixed,
        step->pass,  plan->number,     plan->copy && plan->formed,
        step->shift, step->enough,     svd || in_shared ? part_all : part_before,
        apart
    };
    if (n <= gram_narrow_most)
        return bd_cuda_gram_narrow_enqueue(plan, &s, record);
    const size_t bytes = factor_bytes(n, !in_shared ? 0 : apart ? 1 : gram_matrices(n, svd));
    const auto kernel = in_shared ? factor<true> : factor<false>;
    enum bd_status status = bd_cuda_allow_shared(cuda, (const void *)kernel, "shared memory for R");
    if (status != BD_OK)
        return status;
    cudaLaunchAttribute early = {};
    cudaLaunchConfig_t launch = {};
    launch.gridDim = dim3(1);
    launch.blockDim = dim3(in_shared ? small_threads : large_threads);
    launch.dynamicSmemBytes = bytes;
    launch.stream = cuda->stream;
    launch.attrs = &early;
    bd_cuda_overlap(cuda, &launch);
    cudaLaunchKernelEx(&launch, kernel, plan->data, s, record);
    if (in_shared)
        return bd_cuda_launched("R of the Gram matrix");
    if (s.part == part_before) {
        bd_cuda_gram_cholesky_enqueue(plan);
        s.part = part_after;
        cudaLaunchKernelEx(&launch, kernel, plan->data, s, record);
    }
    status = bd_cuda_gram_solver_enqueue(plan, NULL);
    join<<<dim3((unsigned)(n + 31) / 32, (unsigned)(n + 7) / 8), dim3(32, 8), 0, cuda->stream>>>(
        plan->data, step->pass);
    return status ? status : bd_cuda_launched("R of the Gram matrix");
}

} /* extern "C" */
