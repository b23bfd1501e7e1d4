/* The SVD of the small R (small_svd.cuh): its kernel, and the slots of the group. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cuda.h"
#include "gpu/slots.h"
#include "gpu/small_svd_refine.cuh"
#include "gpu/small_svd_sweep.cuh"

/* The refinement is applied while its largest element is below refine_below: 0.1 and 0.2 took the
 * same time on Robust PCA of two clips (n = 100). Below square_last, the square of its Frobenius
 * norm, it is the last one, since the error after it is about that square. Warm starts take 0 to 5
 * sweeps, cold ones 6 to 25. */
static const float refine_below = 0.2f, square_most = 4, square_last = 1e-7f;
enum { sweeps_most = 60, refinements_most = 40 };

/* The power of two that scales R to a largest element in [0.5, 1); 0 if R is not finite. A warp a
 * column. */
__device__ static int scale_of(const struct svd_data &d, float *reduce, int *exponent)
{
    struct svd_refinement most = { 0, 0 };
    int lane = threadIdx.x % 32;
    for (int j = svd_warp(); j < d.n; j += svd_warps())
#pragma unroll 4
        for (int i = lane; i <= j; i += 32) {
            float x = fabsf(d.r[i + j * d.ldr]);
            most.largest = x <= FLT_MAX ? fmaxf(most.largest, x) : INFINITY;
        }
    most = svd_reduce(d, most, reduce);
    *exponent = 0;
    if (most.largest > 0 && most.largest <= FLT_MAX)
        frexpf(most.largest, exponent);
    return most.largest <= FLT_MAX;
}

/* V of the compute before. */
__device__ static void take_v(const struct svd_data &d, int cold)
{
    int lane = threadIdx.x % 32;
    for (int j = svd_warp(); j < d.n; j += svd_warps())
#pragma unroll 4
        for (int i = lane; i < d.n; i += 32)
            d.v[i + j * d.ld] = cold ? (float)(i == j) : d.v_out[i + j * d.n];
}

/* R^T, scaled. */
__device__ static void take_r(const struct svd_data &d, int exponent)
{
    int lane = threadIdx.x % 32;
    for (int j = svd_warp(); j < d.n; j += svd_warps())
#pragma unroll 4
        for (int i = lane; i <= j; i += 32)
            d.rt[j + i * d.ld] = scalbnf(d.r[i + j * d.ldr], -exponent);
}

/* sigma and V become NaN; the next compute starts cold. */
__device__ static void give_nan(const struct svd_data &d)
{
    for (int i = blockIdx.x * svd_threads + threadIdx.x; i < d.n * d.n;
         i += gridDim.x * svd_threads) {
        d.v_out[i] = NAN;
        if (i < d.n)
            d.sigma[i] = NAN;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *d.info = { svd_not_finite, 0, 0 };
        *d.cold = 1;
    }
}

/* The last refinement, with singular values and columns of V in descending order: place[j] is how
 * many lambda come before that of column j, counted by `parts` threads each. `lambda` (n) and
 * `place` (n) are shared memory. */
__device__ static void finish(const struct svd_data &d, int exponent, const struct svd_info *info,
                              double *lambda, int *place)
{
    const int parts = svd_threads / bd_cuda_svd_most;
    for (int j = threadIdx.x; j < d.n; j += svd_threads)
        lambda[j] = d.lambda[j];
    __syncthreads();
    int j = threadIdx.x / parts, part = threadIdx.x % parts, before = 0;
    double own = lambda[min(j, d.n - 1)];
#pragma unroll 8
    for (int i = part; i < d.n; i += parts)
        before += lambda[i] > own || (lambda[i] == own && i < j);
    for (int offset = parts / 2; offset; offset /= 2)
        before += __shfl_xor_sync(~0u, before, offset);
    if (j < d.n && part == 0) {
        place[j] = before;
        if (blockIdx.x == 0)
            d.sigma[before] = (float)scalbn(sqrt(fmax(own, 0.0)), exponent);
    }
    __syncthreads();
    svd_apply_e(d, d.v_out, d.n, place, info->status == 0);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *d.info = *info;
        *d.cold = 0;
    }
}

template <int ROWS> __global__ void __launch_bounds__(svd_threads, 1) svd_kernel(struct svd_data d)
{
    extern __shared__ float4 shared4[];
    float *shared = (float *)shared4;
    __shared__ double lambda[bd_cuda_svd_most];
    __shared__ float reduce[2 * svd_threads / 32];
    __shared__ int place[bd_cuda_svd_most];
    if (d.stop && *d.stop)
        return;
    struct svd_info info = { 0, 0, 0 };
    int exponent, cold = *d.cold;
    take_v(d, cold);
    if (!scale_of(d, reduce, &exponent)) {
        give_nan(d);
        return;
    }
    take_r(d, exponent);
    svd_barrier(d);
    svd_form_y(d);
    svd_barrier(d);
    for (;;) {
        double most;
        svd_form_gram(d);
        svd_barrier(d);
        struct svd_refinement e = svd_form_e(d, lambda, reduce, &most);
        if (e.largest < refine_below && e.square < square_most) {
            info.refinements++;
            if (e.square < square_last)
                break;
            if (info.refinements < refinements_most) {
                svd_apply_e(d, d.other, d.ld, NULL, 1);
                float *v = d.v;
                d.v = d.other;
                d.other = v;
                svd_barrier(d);
                svd_form_y(d);
                svd_barrier(d);
                continue;
            }
        }
        if (info.sweeps >= sweeps_most || info.refinements >= refinements_most) {
            info.status = svd_not_converged;
            break;
        }
        int large;
        do {
            float limit = SVD_TOLERANCE * SVD_TOLERANCE * (float)most;
            large = svd_sweep<ROWS>(d, shared, limit);
            info.sweeps++;
        } while (large && info.sweeps < sweeps_most);
        /* rounding piles up in Y: R V is what counts */
        svd_form_y(d);
        svd_barrier(d);
    }
    finish(d, exponent, &info, lambda, place);
}

static const void *kernel_of(int ld)
{
    switch (ld) {
    case 64:
        return (const void *)svd_kernel<4>;
    case 128:
        return (const void *)svd_kernel<8>;
    case 192:
        return (const void *)svd_kernel<12>;
    default:
        return (const void *)svd_kernel<16>;
    }
}

static size_t slot_floats(const struct svd_data *d, int columns)
{
    return 2 * (size_t)columns * d->ld + svd_pairs;
}

static size_t shared_size(const struct svd_data *d)
{
    int slots = d->cluster ? svd_slots : svd_slots / 2;
    return sizeof(float) * slots * slot_floats(d, d->block_columns);
}

extern "C" {

void bd_cuda_svd_destroy(void *work)
{
    struct svd_plan *plan = (struct svd_plan *)work;
    if (!plan)
        return;
    bd_cuda_free(plan->data.rt);
    bd_cuda_free(plan->data.s);
    bd_cuda_free(plan->data.sigma);
    bd_cuda_free(plan->data.v_out);
    bd_cuda_free(plan->device_ranks);
    bd_cuda_free_host(plan->host_sigma);
    bd_cuda_free_host(plan->host_ranks);
    bd_cuda_svd_lapack_close(plan);
    free(plan);
}

/* The workspace of the GPU's own SVD. */
static enum bd_status make_workspace(struct svd_plan *plan)
{
    struct svd_data *d = &plan->data;
    struct bd_cuda *cuda = plan->cuda;
    d->ld = (d->n + 63) / 64 * 64;
    plan->blocks = 1;
    while (svd_pairs * plan->blocks < d->n && plan->blocks < svd_blocks_most)
        plan->blocks *= 2;
    d->block_columns = (d->n + 2 * plan->blocks - 1) / (2 * plan->blocks);
    /* With clusters all slots are in shared memory, which some GPUs have too little of. */
    d->cluster = 1;
    d->cluster =
        cuda->capability >= 90 && shared_size(d) <= (size_t)cuda->shared_most - svd_static_shared;
    size_t square = (size_t)d->ld * d->ld;
    void *memory;
    size_t mail = svd_blocks_most * svd_slots * slot_floats(d, d->block_columns);
    enum bd_status status =
        bd_cuda_alloc(cuda, &memory, (5 * square + mail) * sizeof(float), "an SVD");
    if (status != BD_OK)
        return status;
    d->rt = (float *)memory;
    d->v = d->rt + square;
    d->other = d->v + square;
    d->y = d->other + square;
    d->e = d->y + square;
    d->mail = d->e + square;
    size_t extra = svd_blocks_most * sizeof(struct svd_partial) + 2 * sizeof(int);
    status = bd_cuda_alloc(cuda, &memory, (2 * square + d->ld) * sizeof(double) + extra, "an SVD");
    if (status != BD_OK)
        return status;
    d->s = (double *)memory;
    d->q = d->s + square;
    d->lambda = d->q + square;
    d->partial = (struct svd_partial *)(d->lambda + d->ld);
    d->tickets = (unsigned *)(d->partial + svd_blocks_most);
    d->cold = (int *)(d->tickets + 1);
    bd_cuda_svd_forget(plan);
    return bd_cuda_allow_shared(cuda, kernel_of(d->ld), "shared memory for the SVD");
}

enum bd_status bd_cuda_svd_create(struct bd_backend *backend, int64_t n, void **work)
{
    struct svd_plan *plan = (struct svd_plan *)calloc(1, sizeof *plan);
    if (!plan)
        return bd_fail(BD_ERROR_MEMORY, "no memory for an SVD");
    plan->cuda = bd_cuda_of(backend);
    plan->n = plan->data.n = (int)n;
    size_t results = (size_t)n * sizeof(float) + sizeof(struct svd_info);
    void *memory;
    enum bd_status status = bd_cuda_alloc(plan->cuda, &memory, results, "an SVD");
    plan->data.sigma = (float *)memory;
    plan->data.info = (struct svd_info *)(plan->data.sigma + n);
    if (status == BD_OK) {
        status = bd_cuda_alloc(plan->cuda, &memory, (size_t)(n * n) * sizeof(float), "an SVD");
        plan->data.v_out = (float *)memory;
    }
    if (status == BD_OK) {
        status = bd_cuda_alloc(plan->cuda, &memory, 2 * sizeof(int), "an SVD");
        plan->device_ranks = (int *)memory;
    }
    if (status == BD_OK) {
        status = bd_cuda_alloc_host(&memory, results, "an SVD");
        plan->host_sigma = (float *)memory;
    }
    if (status == BD_OK) {
        status = bd_cuda_alloc_host(&memory, 2 * sizeof(int), "an SVD");
        plan->host_ranks = (int *)memory;
    }
    if (status == BD_OK)
        status = n > bd_cuda_svd_most ? bd_cuda_svd_lapack_open(plan) : make_workspace(plan);
    if (status != BD_OK) {
        bd_cuda_svd_destroy(plan);
        return status;
    }
    *work = plan;
    return BD_OK;
}

void bd_cuda_svd_forget(void *work)
{
    struct svd_plan *plan = (struct svd_plan *)work;
    if (plan->data.cold)
        cudaMemsetAsync(plan->data.cold, 1, sizeof *plan->data.cold, plan->cuda->stream);
}

enum bd_status bd_cuda_svd_enqueue(void *work, const float *r, int64_t ldr, const int *stop)
{
    struct svd_plan *plan = (struct svd_plan *)work;
    struct svd_data *d = &plan->data;
    if (plan->lapack)
        return bd_cuda_svd_lapack(plan, r, ldr, stop);
    d->r = r;
    d->ldr = ldr;
    d->stop = stop;
    cudaLaunchAttribute together = {};
    if (d->cluster) {
        together.id = cudaLaunchAttributeClusterDimension;
        together.val.clusterDim.x = plan->blocks;
        together.val.clusterDim.y = together.val.clusterDim.z = 1;
    } else {
        together.id = cudaLaunchAttributeCooperative;
        together.val.cooperative = 1;
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(plan->blocks);
    config.blockDim = dim3(svd_threads);
    config.dynamicSmemBytes = shared_size(d);
    config.stream = plan->cuda->stream;
    config.attrs = &together;
    config.numAttrs = 1;
    void *arguments[] = { d };
    return bd_cuda_check(cudaLaunchKernelExC(&config, kernel_of(d->ld), arguments), "the SVD of R");
}

enum bd_status bd_cuda_svd_compute(void *work, const float *r, int64_t ldr, float *sigma, float *v,
                                   int64_t ldv)
{
    struct svd_plan *plan = (struct svd_plan *)work;
    size_t n = (size_t)plan->n, column = n * sizeof(float);
    cudaStream_t stream = plan->cuda->stream;
    enum bd_status status = bd_cuda_svd_enqueue(work, r, ldr, NULL);
    if (status == BD_OK && v)
        status =
            bd_cuda_check(cudaMemcpy2DAsync(v, (size_t)ldv * sizeof(float), plan->data.v_out,
                                            column, column, n, cudaMemcpyDeviceToDevice, stream),
                          "copying V");
    if (status != BD_OK || !sigma)
        return status;
    cudaError_t error =
        cudaMemcpyAsync(plan->host_sigma, plan->data.sigma, column + sizeof(struct svd_info),
                        cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    status = bd_cuda_check(error, "the SVD of R");
    if (status != BD_OK)
        return status;
    const struct svd_info *info = (const struct svd_info *)(plan->host_sigma + n);
    if (info->status == svd_not_finite)
        return bd_fail(BD_ERROR_NUMERIC, "SVD: the matrix holds NaN or Inf");
    if (info->status == svd_not_converged)
        return bd_fail(BD_ERROR_NUMERIC, "SVD of %d x %d: no convergence in %d sweeps", (int)n,
                       (int)n, info->sweeps);
    memcpy(sigma, plan->host_sigma, column);
    return BD_OK;
}

const float *bd_cuda_svd_sigma(void *work)
{
    return ((struct svd_plan *)work)->data.sigma;
}

const float *bd_cuda_svd_v(void *work, int64_t *ldv)
{
    const struct svd_plan *plan = (const struct svd_plan *)work;
    *ldv = plan->n;
    return plan->data.v_out;
}

} /* extern "C" */
