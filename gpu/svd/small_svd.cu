/* The SVD of the small R (small_svd.cuh): its kernel, and the table. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/cuda.h"
#include "gpu/svd/load.cuh"
#include "gpu/svd/orthogonal_step.cuh"
#include "gpu/svd/turn.cuh"
#include "linalg/shared/svd_ops.h"

/* The bound on the sum of the tangents of a column: at first, its range, and how it changes where
 * the squares of I - V^T V add up to less than skew_small, or more than skew_large. A turn after
 * which it is above skew_most is taken back. Of the values tried in a simulation these needed the
 * fewest turns, by a tenth. */
static const float bound_first = 2, bound_least = 0.5f, bound_most = 50;
static const float bound_grows = 1.2f, bound_shrinks = 0.7f, bound_back = 0.3f;
static const float skew_small = 0.2f, skew_large = 1, skew_most = 4;
/* A turn whose squares add up to less is the last one: the error after it is about that. */
static const float square_last = 1e-7f;
enum { turns_most = 400 };

/* Where the squares of the tangents of the first turn add up to more than this share of n, a step
 * of orthogonal iteration takes its place. It costs as much as five to seven turns. With fewer
 * tangents nine turns or less are enough (changes by 1e-5). */
static const float open_most = 0.25f;

/* What memory is allocated for. */
static const char what[] = "an SVD";

/* Up to this n, G and V are in shared memory. An upper bound of the bytes of the kernel's static
 * shared memory. */
enum { in_shared_most = 112, static_shared = 8192 };

/* sigma and V become NaN; the next compute starts cold. */
__device__ static void give_nan(const struct svd_data &d)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < d.n * d.n;
         i += gridDim.x * blockDim.x) {
        d.v_out[i] = NAN;
        if (i < d.n)
            d.sigma[i] = NAN;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *d.info = { svd_not_finite, 0 };
        *d.cold = 1;
    }
}

/* Singular values of the block's columns, in descending order of all: place[j] is how many come
 * before that of column j of the block. A warp a column. */
__device__ static void sort(const struct svd_data &d, const struct svd_block &b, int columns,
                            int *place)
{
    const int lane = threadIdx.x % 32;
    const double *lambda = b.exchange->refined;
    for (int own = threadIdx.x / 32; own < columns; own += svd_warps()) {
        const int j = b.first + own;
        int before = 0;
        if (j >= d.n)
            break;
        for (int i = lane; i < d.n; i += 32)
            before += lambda[i] > lambda[j] || (lambda[i] == lambda[j] && i < j);
        before = __reduce_add_sync(~0u, before);
        if (lane == 0) {
            place[own] = before;
            d.sigma[before] = (float)sqrt(fmax(lambda[j], 0.0));
        }
    }
    __syncthreads();
}

template <int WARPS, int NT, bool IN_SHARED>
__global__ void __launch_bounds__(32 * WARPS, 1) svd_kernel(struct svd_data d)
{
    constexpr int columns = NT * svd_columns;
    static_assert(IN_SHARED || columns == svd_panel, "a block has a panel");
    extern __shared__ double2 shared[];
    __shared__ struct svd_exchange exchange;
    __shared__ float2 left[WARPS];
    __shared__ int place[columns];
    if (d.stop && *d.stop)
        return;
    const int padded = svd_padded(d.n), square = IN_SHARED ? padded * d.ld : 0;
    const int strip = columns * d.ld, sums = columns * WARPS, first = blockIdx.x * columns;
    const int room = IN_SHARED ? 0 : svd_panel_values(WARPS);
    const int form = !IN_SHARED || !d.gram, idle = first >= d.n;
    double *g = (double *)shared;
    float *v = (float *)(g + square + strip + sums + room);
    struct svd_block b = {};
    b.n = d.n;
    b.ld = d.ld;
    b.padded = padded;
    b.first = first;
    b.used = (d.n + columns - 1) / columns;
    b.g = IN_SHARED ? g : d.g;
    b.z = g + square;
    b.shift = b.z + strip;
    double *const panels = b.shift + sums; /* of a step of orthogonal iteration */
    b.own = v + square;
    b.e = b.own + strip;
    b.turn = (float2 *)(b.e + strip);
    b.left = left;
    b.exchange = &exchange;

    unsigned round = svd_first_round(d);
    svd_open_posts(d, b);
    svd_begin<NT>(d, first, form, b.own);
    for (int i = threadIdx.x; i < strip; i += (int)blockDim.x)
        b.e[i] = 0; /* rows from n on stay so, as do rows of G, and columns of G and V */
    for (int j = threadIdx.x / 32; IN_SHARED && j < padded; j += WARPS)
        for (int i = (j < d.n ? d.n : 0) + (int)threadIdx.x % 32; i < d.ld; i += 32) {
            g[i + j * d.ld] = 0;
            v[i + j * d.ld] = 0;
        }
    svd_arrive(d);
    svd_wait(d, &round);
    if (IN_SHARED)
        svd_take_g(d, b, form ? d.g : d.gram, form ? d.ld : d.n, g);
    const int finite = svd_is_finite(b);
    svd_arrive(d);
    if (!finite) {
        svd_wait(d, &round); /* all blocks have read what is overwritten now */
        give_nan(d);
        return;
    }
    struct svd_info info = { 0, 0 };
    float bound = bound_first, a[NT][4], p[NT][4];
    double top = 0, scale = 0;
    struct svd_part<NT> s, q;
    for (;; b.pass++) {
        if (!idle)
            svd_form_z<NT>(b);
        svd_wait(d, &round);
        if (IN_SHARED)
            svd_take_v(d, b, v, strip);
        else
            __syncthreads();
        b.v = IN_SHARED ? v : d.v;
        if (!idle) {
            svd_form<NT>(b, s, q);
            svd_send_lambda<NT>(d, b, s, q);
        }
        svd_meet(d, b, svd_post_lambda, d.n, &round);
        svd_receive(d, b, exchange.lambda, d.n);
        if (b.pass == 0)
            top = svd_top(b, &scale);
        if (!idle)
            svd_tangents<WARPS, NT>(d, b, top, scale, s, q, a, p);
        const double old_top = top, old_scale = scale;
        top = svd_top(b, &scale); /* for the next turn, while other blocks arrive */
        svd_meet(d, b, svd_post_turn, d.n + b.used, &round);
        svd_receive(d, b, exchange.turn, d.n);
        svd_receive(d, b, exchange.left, b.used);
        const float2 sums = svd_sum_blocks(b);
        const float off = sums.y;
        if (sums.x + off < square_last)
            break;
        if (b.pass == turns_most) {
            info.status = svd_not_converged;
            break;
        }
        const bool back = b.pass > 0 && !(off < skew_most);
        if (back)
            bound = fmaxf(bound_least, bound_back * bound);
        else if (b.pass > 0 && off > skew_large)
            bound = fmaxf(bound_least, bound_shrinks * bound);
        else if (b.pass > 0 && off < skew_small)
            bound = fminf(bound_most, bound_grows * bound);
        float *other = d.other;
        d.other = d.v;
        d.v = other;
        const auto keep = [&](int i, int j, float x) {
            other[i + j * d.ld] = b.own[i + (j - first) * d.ld] = x;
        };
        const bool step = !IN_SHARED && b.pass == 0 && sums.x > open_most * (float)d.n;
        if constexpr (!IN_SHARED)
            if (step)
                svd_orthogonal_step(d, b, panels, svd_step_mu * top, &round, keep);
        if (back) { /* to V before the last turn */
            top = old_top;
            scale = old_scale;
            if (!idle)
                svd_take_strip(b.own, (const float *)d.v + first * d.ld, strip);
        } else if (!idle && !step) {
            svd_turn<NT>(b, a, p, bound, keep);
        }
        svd_arrive(d);
    }
    if (!idle)
        svd_refine<WARPS, NT>(d, b, s, q, a, p);
    svd_arrive(d);
    svd_wait(d, &round);
    svd_receive(d, b, exchange.refined, d.n);
    if (!idle) {
        sort(d, b, columns, place);
        svd_turn<NT>(b, a, p, bound_most,
                     [&](int i, int j, float x) { d.v_out[i + place[j - first] * d.n] = x; });
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        info.iterations = (int)b.pass + 1;
        *d.info = info;
        *d.cold = info.status != 0;
    }
}

/* How an SVD of n columns is done. */
struct shape {
    const void *kernel;
    int warps, columns; /* of a block */
    bool in_shared;     /* G and V are */
    size_t shared; /* bytes: G and V where they are in shared memory, then the block's columns of Z,
                    * V and E, and its sums; else what a step of orthogonal iteration needs */
};

static struct shape shape_with(const struct svd_data *d, bool in_shared)
{
    struct shape shape = { (const void *)svd_kernel<8, 1, true>, 8, svd_columns, true, 0 };
    if (!in_shared)
        shape = { (const void *)svd_kernel<16, 2, false>, 16, svd_panel, false, 0 };
    const size_t square = in_shared ? (size_t)svd_padded(d->n) * d->ld : 0;
    const size_t strip = (size_t)shape.columns * d->ld, sums = (size_t)shape.columns * shape.warps;
    const size_t panels = in_shared ? 0 : (size_t)svd_panel_values(shape.warps);
    shape.shared = (square + strip + sums + panels) * sizeof(double) +
                   (square + 2 * strip + 2 * sums) * sizeof(float);
    return shape;
}

/* G and V are in shared memory up to in_shared_most columns, on GPUs that have so much of it. */
static struct shape shape_of(const struct svd_plan *plan)
{
    const struct shape shape = shape_with(&plan->data, true);
    if (plan->n <= in_shared_most &&
        shape.shared + static_shared <= (size_t)plan->cuda->shared_most)
        return shape;
    return shape_with(&plan->data, false);
}

/* A launch of as many blocks as the plan has. */
static cudaLaunchConfig_t configure(const struct svd_plan *plan, const struct shape *shape,
                                    cudaLaunchAttribute *together)
{
    cudaLaunchConfig_t config = {};
    *together = {};
    if (plan->data.cluster) {
        together->id = cudaLaunchAttributeClusterDimension;
        together->val.clusterDim.x = plan->blocks;
        together->val.clusterDim.y = together->val.clusterDim.z = 1;
    } else {
        together->id = cudaLaunchAttributeCooperative;
        together->val.cooperative = 1;
    }
    config.gridDim = dim3(plan->blocks);
    config.blockDim = dim3(32 * shape->warps);
    config.dynamicSmemBytes = shape->shared;
    config.stream = plan->cuda->stream;
    config.attrs = together;
    config.numAttrs = 1;
    return config;
}

/* Whether this GPU can run the blocks as one cluster; more than eight are not possible on all. */
static int clusters_fit(struct svd_plan *plan, const struct shape *shape)
{
    cudaLaunchAttribute together;
    int clusters = 0;
    plan->data.cluster = 1;
    cudaLaunchConfig_t config = configure(plan, shape, &together);
    if (plan->cuda->capability < 90 ||
        cudaFuncSetAttribute(shape->kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) !=
            cudaSuccess ||
        cudaOccupancyMaxActiveClusters(&clusters, shape->kernel, &config) != cudaSuccess)
        clusters = 0;
    cudaGetLastError(); /* not a failure: later checks must not see it */
    return clusters > 0;
}

/* The workspace of the GPU's own SVD. */
static enum bd_status make_workspace(struct svd_plan *plan)
{
    struct svd_data *d = &plan->data;
    struct bd_cuda *cuda = plan->cuda;
    d->ld = svd_padded(d->n) + 8;
    const struct shape shape = shape_of(plan);
    plan->blocks = 2; /* a cluster of one block is none */
    while (shape.columns * plan->blocks < d->n)
        plan->blocks *= 2;
    size_t square = (size_t)d->ld * (size_t)svd_padded(d->n); /* whole tiles, 0 from n on */
    enum bd_status status = BD_OK;
    bd_cuda_take(&status, cuda, &d->g, square, what);
    bd_cuda_take(&status, cuda, &d->v, square, what);
    bd_cuda_take(&status, cuda, &d->other, square, what);
    if (!shape.in_shared)
        bd_cuda_take(&status, cuda, &d->panels, square, what);
    bd_cuda_take(&status, cuda, &d->exchange, 1, what);
    bd_cuda_take(&status, cuda, &d->tickets, 1, what);
    bd_cuda_take(&status, cuda, &d->cold, 1, what);
    if (status != BD_OK)
        return status;
    bd_cuda_svd_forget(plan);
    status = bd_cuda_allow_shared(cuda, shape.kernel, "shared memory for the SVD");
    if (status == BD_OK)
        d->cluster = clusters_fit(plan, &shape);
    return status;
}

extern "C" {

static void svd_destroy(void *work)
{
    struct svd_plan *plan = (struct svd_plan *)work;
    if (!plan)
        return;
    bd_cuda_free(plan->data.g);
    bd_cuda_free(plan->data.v);
    bd_cuda_free(plan->data.other);
    bd_cuda_free(plan->data.panels);
    bd_cuda_free(plan->data.exchange);
    bd_cuda_free(plan->data.tickets);
    bd_cuda_free(plan->data.cold);
    bd_cuda_free(plan->data.sigma);
    bd_cuda_free(plan->data.v_out);
    bd_cuda_free(plan->device_ranks);
    bd_cuda_free_host(plan->host_sigma);
    bd_cuda_free_host(plan->host_ranks);
    bd_cuda_svd_lapack_close(plan);
    free(plan);
}

static enum bd_status svd_create(struct bd_backend *backend, int64_t n, void **work)
{
    struct svd_plan *plan = (struct svd_plan *)calloc(1, sizeof *plan);
    if (!plan)
        return bd_fail(BD_ERROR_MEMORY, "no memory for an SVD");
    plan->cuda = bd_cuda_of(backend);
    plan->n = plan->data.n = (int)n;
    const size_t results = (size_t)n + sizeof(struct svd_info) / sizeof(float);
    enum bd_status status = BD_OK;
    bd_cuda_take(&status, plan->cuda, &plan->data.sigma, results, what);
    bd_cuda_take(&status, plan->cuda, &plan->data.v_out, (size_t)(n * n), what);
    bd_cuda_take(&status, plan->cuda, &plan->device_ranks, 2, what);
    bd_cuda_take_host(&status, &plan->host_sigma, results, what);
    bd_cuda_take_host(&status, &plan->host_ranks, 2, what);
    plan->data.info = (struct svd_info *)(plan->data.sigma + n);
    if (status == BD_OK)
        status = n > bd_cuda_svd_most ? bd_cuda_svd_lapack_open(plan) : make_workspace(plan);
    if (status != BD_OK) {
        svd_destroy(plan);
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

static enum bd_status launch(const struct svd_plan *plan)
{
    struct svd_data data = plan->data;
    const struct shape shape = shape_of(plan);
    cudaLaunchAttribute together;
    cudaLaunchConfig_t config = configure(plan, &shape, &together);
    void *arguments[] = { &data };
    return bd_cuda_check(cudaLaunchKernelExC(&config, shape.kernel, arguments), "the SVD of R");
}

enum bd_status bd_cuda_svd_enqueue(void *work, const float *r, int64_t ldr, const int *stop)
{
    struct svd_plan *plan = (struct svd_plan *)work;
    struct svd_data *d = &plan->data;
    if (plan->lapack)
        return bd_cuda_svd_lapack(plan, r, ldr, stop);
    d->r = r;
    d->ldr = ldr;
    d->gram = NULL;
    d->stop = stop;
    return launch(plan);
}

enum bd_status bd_cuda_svd_enqueue_gram(void *work, const double *gram, const int *stop)
{
    struct svd_plan *plan = (struct svd_plan *)work;
    plan->data.gram = gram;
    plan->data.stop = stop;
    return launch(plan);
}

static enum bd_status svd_compute(void *work, const float *r, int64_t ldr, float *sigma, float *v,
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
        return bd_fail(BD_ERROR_NUMERIC, "SVD of %d x %d: no convergence in %d iterations", (int)n,
                       (int)n, info->iterations);
    memcpy(sigma, plan->host_sigma, column);
    return BD_OK;
}

static const float *svd_sigma(void *work)
{
    return ((struct svd_plan *)work)->data.sigma;
}

static const float *svd_v(void *work, int64_t *ldv)
{
    const struct svd_plan *plan = (const struct svd_plan *)work;
    *ldv = plan->n;
    return plan->data.v_out;
}

} /* extern "C" */

const struct bd_svd_ops bd_cuda_svd_ops = {
    .create = svd_create,
    .destroy = svd_destroy,
    .compute = svd_compute,
    .sigma = svd_sigma,
    .v = svd_v,
    .forget = bd_cuda_svd_forget,
    .weights = bd_cuda_svd_weights,
    .factor = bd_cuda_svd_factor,
};
