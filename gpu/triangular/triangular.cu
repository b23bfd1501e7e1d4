/* The functions triangular_* of bd_cuda_gram_qr_ops: T of an R of the caller. */
#include "gpu/core/dependent_launch.cuh"
#include "gpu/gram_qr/estimate.cuh"
#include "gpu/gram_qr/large/large.h"
#include "gpu/gram_qr/plan.h"
#include "gpu/gram_qr/solver.cuh"
#include "gpu/triangular/triangular.h"

/* What is wrong with an R. */
enum { r_good, r_not_finite, r_singular };

static __device__ __forceinline__ double element(const void *r, int64_t ldr, enum bd_type type,
                                                 int i, int j)
{
    return type == BD_F64 ? static_cast<const double *>(r)[i + j * ldr]
                          : (double)static_cast<const float *>(r)[i + j * ldr];
}

enum { prepare_threads = 512, parts = gram_most / prepare_threads };

/* Puts R^ into d.r, with columns scaled by powers of two to about 1, and decides where blocks
 * begin. With COPY: T := R. status[0]: what is wrong with R; if anything is, V stays as it is.
 * One thread block. */
template <bool COPY>
__global__
__launch_bounds__(prepare_threads) void prepare(const __grid_constant__ struct gram_data d,
                                                const void *r, int64_t ldr, enum bd_type type,
                                                int solve, int mixed, int *status)
{
    __shared__ unsigned starts[gram_most / 32];
    __shared__ int wrong;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32, n = d.n;
    if (threadIdx.x == 0)
        wrong = r_good;
    __syncthreads();
    for (int j = warp; j < n; j += warps) {
        double largest = 0;
        int fault = r_good;
        for (int i = lane; i <= j; i += 32) {
            const double value = element(r, ldr, type, i, j);
            if (!isfinite(value) || (COPY && mixed && !isfinite((float)value)))
                fault = r_not_finite;
            else if (!COPY && i == j && value == 0)
                fault = r_singular;
            largest = fmax(largest, fabs(value));
        }
        for (int step = 16; step > 0; step /= 2)
            largest = fmax(largest, __shfl_xor_sync(~0u, largest, step));
        if (fault != r_good)
            atomicCAS(&wrong, (int)r_good, fault);
        if (__any_sync(~0u, fault != r_good))
            continue;
        const double by = COPY ? 1.0 : scalbn(1.0, -max(-1000, min(ilogb(largest), 1000)));
        for (int i = lane; i <= j; i += 32) {
            const double value = element(r, ldr, type, i, j) * by;
            if (COPY)
                gram_put_t(d, i, j, value, mixed);
            else
                d.r[(int64_t)i * n + j] = value;
        }
        if (lane == 0)
            d.inverse[j] = by;
    }
    __syncthreads();
    struct gram_decision *c = d.decision;
    if (threadIdx.x == 0) {
        c->identity = wrong != r_good;
        c->single = mixed;
        status[0] = wrong;
        status[1] = status[2] = 0;
    }
    if (wrong != r_good)
        return;
    double kappa =
        0; /* R is made of one block of columns or of none unless it is solved for adaptively */
    if (!COPY && solve == BD_TRIANGULAR_ADAPTIVE) {
        struct gram_estimate<prepare_threads, parts> e;
        const int end = gram_take_columns(&e, d.r, n, n, 0, n, true, gram_most_squared);
        kappa = end == n ? sqrt(e.greatest / e.least) : HUGE_VAL;
    }
    gram_cut<prepare_threads, parts>(starts, d.r, n, n, COPY ? (int)BD_TRIANGULAR_INVERSION : solve,
                                     kappa, sqrt(mixed ? FLT_EPSILON : DBL_EPSILON));
    for (int w = threadIdx.x; w < gram_most / 32; w += prepare_threads)
        c->starts[w] = starts[w];
}

/* V := V T; waits for it and reports what went wrong. */
static enum bd_status finish(const struct gram_plan *plan, void *v, int64_t ldv, int mixed,
                             const char *product)
{
    enum bd_status status = bd_cuda_launched("R");
    if (status == BD_OK && plan->m > 0)
        status = bd_cuda_triangular_product(plan, v, ldv, plan->status + 2);
    if (status == BD_OK)
        status = bd_cuda_check(cudaStreamSynchronize(plan->cuda->stream), product);
    if (status != BD_OK)
        return status;
    if (plan->status[0] == r_singular)
        return bd_fail(BD_ERROR_NUMERIC, "R is singular: there is a 0 on its diagonal");
    if (plan->status[0] != r_good)
        return bd_fail(BD_ERROR_NUMERIC, "R holds NaN or Inf%s",
                       mixed ? ", or numbers beyond float32" : "");
    if (plan->status[1])
        return bd_fail(BD_ERROR_NUMERIC, "the inverse of R overflows");
    if (plan->status[2])
        return bd_fail(BD_ERROR_NUMERIC, "%s holds NaN or Inf", product);
    return BD_OK;
}

enum bd_status bd_cuda_triangular_solve(void *work, const void *r, int64_t ldr, void *v,
                                        int64_t ldv, enum bd_triangular_solve solve, int mixed)
{
    const struct gram_plan *plan = static_cast<const struct gram_plan *>(work);
    prepare<false><<<1, prepare_threads, 0, plan->cuda->stream>>>(plan->data, r, ldr, plan->type,
                                                                  (int)solve, mixed, plan->status);
    const enum bd_status status = bd_cuda_gram_inverse_enqueue(plan, plan->status + 1);
    return status ? status : finish(plan, v, ldv, mixed, "V R^-1");
}

enum bd_status bd_cuda_triangular_multiply(void *work, const void *r, int64_t ldr, void *v,
                                           int64_t ldv, int mixed)
{
    const struct gram_plan *plan = static_cast<const struct gram_plan *>(work);
    prepare<true><<<1, prepare_threads, 0, plan->cuda->stream>>>(plan->data, r, ldr, plan->type, 0,
                                                                 mixed, plan->status);
    return finish(plan, v, ldv, mixed, "V R");
}
