/* R and T from a large G (large.h): what comes before and after the rows of R^. */
#include <math.h>

#include "gpu/core/dependent_launch.cuh"
#include "gpu/gram_qr/clamp.cuh"
#include "gpu/gram_qr/large/estimate.cuh"
#include "gpu/gram_qr/large/large.h"
#include "gpu/gram_qr/parts.cuh"
#include "gpu/qr/cholesky_rows.cuh"

enum { threads = 512, parts = gram_most / threads, measure_threads = 128 };

/* D, 1 / D, and for each column of the upper triangle the sum of squares of G - I, twice what is
 * above the diagonal, to d.scratch, behind that of the scaled G: NaN where G cannot be worked with.
 * A warp a column. */
__global__
__launch_bounds__(measure_threads) void measure(const __grid_constant__ struct gram_data d)
{
    const int lane = threadIdx.x % 32, n = d.n;
    const int j = (int)blockIdx.x * (measure_threads / 32) + (int)threadIdx.x / 32;
    bd_cuda_await();
    bd_cuda_let_follow();
    if (j >= n)
        return;
    const double *column = d.g + (int64_t)j * n;
    const double square = column[j], inverse = gram_inverse_root(square);
    double sum = 0, scaled = 0;
#pragma unroll 4
    for (int i = lane; i < j; i += 32) {
        const double x = column[i], y = x * inverse * gram_inverse_root(d.g[i + (int64_t)i * n]);
        sum = fma(2 * x, x, sum);
        scaled = fma(2 * y, y, scaled);
    }
    sum = gram_sum_warp(sum);
    scaled = gram_sum_warp(scaled);
    if (lane > 0)
        return;
    d.norms[j] = square * inverse;
    d.inverse[j] = inverse;
    d.scratch[j] = gram_is_bad(square) ? NAN : fma(square - 1, square - 1, sum);
    d.scratch[n + j] = scaled;
}

/* The sum over a thread block, for all of its threads; sums: one for each warp, in shared memory.
 */
static __device__ __forceinline__ double sum_of_block(double x, double *sums)
{
    const int lane = threadIdx.x % 32;
    x = gram_sum_warp(x);
    if (lane == 0)
        sums[threadIdx.x / 32] = x;
    __syncthreads();
    return gram_sum_warp(lane < threads / 32 ? sums[lane] : 0.0);
}

/* Finds whether there is anything to do; if not, finishes the pass. One thread block. */
__global__ __launch_bounds__(threads) void begin(const __grid_constant__ struct gram_data d,
                                                 const __grid_constant__ struct gram_factor_step s,
                                                 struct gram_record *out)
{
    __shared__ double sums[threads / 32], others[threads / 32];
    const int n = d.n;
    double sum = 0, apart = 0;
    bd_cuda_await();
    bd_cuda_let_follow();
    for (int j = threadIdx.x; j < n; j += threads) {
        sum += d.scratch[j];
        apart += d.scratch[n + j];
    }
    sum = sum_of_block(sum, sums);
    apart = sum_of_block(apart, others);
    struct gram_record record = {};
    record.bad = isnan(sum);
    record.orthogonality = record.bad ? NAN : gram_root(sum);
    record.skipped = record.orthogonality < s.enough;
    record.condition = 1 + record.orthogonality; /* to first order */
    const bool idle = record.bad || record.skipped;
    if (idle)
        gram_keep_total(d, s.pass, !record.bad);
    if (threadIdx.x > 0)
        return;
    d.decision->identity = idle;
    d.decision->end = n;
    d.decision->orthogonality = record.orthogonality;
    d.decision->apart = apart;
    if (idle)
        gram_write(out, record, s.number);
}

/* The square of the condition number of R^, estimated, after the rows of the last launch are
 * taken too; HUGE_VAL if it is above 1e60. */
static __device__ __forceinline__ double finish_estimate(const struct gram_data &d)
{
    struct gram_estimate<threads, parts> e;
    const int n = d.n, from = (n - 1) / rows_side * rows_side;
    if (gram_is_near(d.decision->apart))
        return gram_near_condition(d.decision->apart);
    if (from > 0)
        gram_move_estimate<false>(&e, d);
    if (gram_take_columns(&e, d.r, n, n, from, n, from == 0, gram_most_squared) < n)
        return HUGE_VAL;
    return e.greatest / e.least;
}

/* ||a||_F^2, symmetric; the same in all threads. */
static __device__ __forceinline__ double sum_of_squares(const double *a, int n)
{
    __shared__ double sums[threads / 32];
    double sum = 0;
    for (int e = threadIdx.x; e < n * n; e += threads)
        sum = fma(a[e], a[e], sum);
    return sum_of_block(sum, sums);
}

/* Writes R^ of the SVD to d.r; false: no convergence. */
static __device__ __forceinline__ bool
clamp(const struct gram_data &d, const struct gram_memory_of_r &f, struct gram_record *record)
{
    __shared__ struct gram_progress progress;
    const int n = d.n;
    double bound;
    gram_take_again(d, f);
    const double squares = sum_of_squares(f.a, n);
    if (!gram_clamp(f.b, f.a, f.a, f.ld, n, squares, f.x, &bound, record))
        return false;
    gram_cholesky_blocked(f.a, f.ld, n, bound / 2, 0, f.x, &progress);
    for (int e = threadIdx.x; e < n * n; e += threads)
        if (e / n <= e % n)
            d.r[e] = f.a[e];
    __syncthreads();
    return true;
}

/* Decides what follows from the rows of R^ that were made. One thread block. */
__global__ __launch_bounds__(threads,
                             1) void decide(const __grid_constant__ struct gram_data d,
                                            const __grid_constant__ struct gram_factor_step s,
                                            struct gram_record *out)
{
    __shared__ __align__(16) double x[2 * gram_most_svd + 4];
    __shared__ unsigned starts[gram_most / 32];
    const int n = d.n;
    bd_cuda_await();
    bd_cuda_let_follow();
    if (d.decision->identity)
        return;
    const struct gram_memory_of_r f = { d.norms,   d.inverse, x, d.scratch + (int64_t)n * n,
                                        d.scratch, NULL,      n };
    const int end = d.decision->end;
    struct gram_record record = {};
    record.orthogonality = d.decision->orthogonality;
    record.failed = !s.svd && end < n;
    record.condition = end == n ? finish_estimate(d) : HUGE_VAL;
    if (s.svd && gram_needs_clamp(record.condition, n)) {
        record.bad = !clamp(d, f, &record);
    } else if (end < n) {
        struct gram_memory_of_r r = f;
        r.b = d.r;
        gram_break_off(r, n, end);
    }
    if (record.bad) {
        gram_keep_total(d, s.pass, false);
    } else {
        record.single = gram_is_single(record.condition, s.mixed);
        gram_cut<threads, parts>(starts, d.r, n, n, s.solve, gram_kappa(record.condition, n),
                                 gram_tau(record.single));
        for (int j = threadIdx.x; j < n; j += threads)
            d.norms[j] *= gram_undone(d.exponents[j]);
        for (int w = threadIdx.x; w < gram_most / 32; w += threads)
            d.decision->starts[w] = starts[w];
    }
    if (threadIdx.x == 0) {
        d.decision->identity = record.bad;
        d.decision->single = record.single;
        gram_write(out, record, s.number);
    }
}

enum bd_status bd_cuda_gram_large_enqueue(const struct gram_plan *plan,
                                          const struct gram_factor_step *step,
                                          struct gram_record *record)
{
    const struct bd_cuda *cuda = plan->cuda;
    const int n = plan->data.n, warps = measure_threads / 32;
    bd_cuda_follow(cuda, measure, dim3((unsigned)((n + warps - 1) / warps)), dim3(measure_threads),
                   0, plan->data);
    bd_cuda_follow(cuda, begin, dim3(1), dim3(threads), 0, plan->data, *step, record);
    enum bd_status status = bd_cuda_gram_cholesky_enqueue(plan, step->shift);
    bd_cuda_follow(cuda, decide, dim3(1), dim3(threads), 0, plan->data, *step, record);
    if (status == BD_OK)
        status = bd_cuda_gram_inverse_enqueue(plan, NULL);
    return status ? status : bd_cuda_gram_join_enqueue(plan, step->pass);
}
