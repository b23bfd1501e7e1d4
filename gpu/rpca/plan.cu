/* Batch Robust PCA on the GPU (backdrop/rpca.h): the plan and the table. The plain version is
 * linalg/cpu/rpca. An iteration is enqueued whole: the Gram matrix of X, which is formed on the fly
 * (first sweep; reads 5 bytes an element where M is bytes), its eigenvectors (the SVD of R, without
 * R), W, and the second sweep (iteration.h), which writes the outcome to page-locked memory.
 * Iterations that were enqueued but are not needed return at once when `stop` is set on the device.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "gpu/core/gram.cuh"
#include "gpu/qr/cholesky.h"
#include "gpu/rpca/iteration.h"
#include "gpu/rpca/state.cuh"
#include "gpu/svd/small_svd.h"
#include "linalg/shared/rpca_ops.h"
#include "linalg/shared/svd_ops.h"

namespace
{

/* Of M. */
struct start_sums {
    unsigned long long observed; /* entries that are not missing */
    float most;                  /* max |M| of these */
};

/* What the GPU writes to page-locked memory. */
struct report {
    bd_rpca_outcome outcomes[bd_rpca_ahead];
    start_sums start;
    float sigma[bd_rpca_most]; /* of M */
};

/* Device memory that controls the kernels. */
struct control {
    unsigned blocks; /* of a sweep that are done */
    int stop;
    int ranks[2];
    start_sums start;
};

struct rpca {
    bd_cuda *cuda;
    /* What the second sweep takes: M, T and the rest of the memory that is shared. A copy gets the
     * step and where the outcome goes. */
    bd_rpca_sweep sweep;
    int64_t tiles;
    float *copy;   /* M of a relaxed problem, NaN where it is missing: 16 tiles x n */
    double *g;     /* n x n: Gram matrix of X */
    float *r;      /* n x n: R of X; NULL where its SVD is found from g */
    uint8_t *gram; /* workspace of the Gram matrix */
    control *device;
    report *host;
    void *svd;
    cudaEvent_t events[bd_rpca_ahead];
    int64_t enqueued, polled; /* iterations since the start */
    int weighed;              /* W is that of `get` */
};

/* T := M, and *most, 0 before, := max |M|. Floats that are not negative are in the order of their
 * bits, and NaN is beyond all of them. RELAXED: T := 0 where M is missing, `copy` (columns
 * 16 tiles apart) := M, NaN where it is missing, and *observed += how many entries are not. */
template <class Element, bool RELAXED>
__global__ __launch_bounds__(256) void start(float *t, float *copy, start_sums *sums,
                                             const __grid_constant__ bd_rpca_frames<Element> frames,
                                             const __grid_constant__ bd_rpca_frames<uint8_t> mask,
                                             int64_t tiles, int n)
{
    const int64_t quads = tiles * n * (bd_rpca_rows / 4);
    unsigned top = 0, count = 0;
    /* Quad i of T is rows 4 (i % 4) .. 4 (i % 4) + 3 of column i / 4 % n of tile i / 4 / n. */
    for (int64_t i = blockIdx.x * 256LL + threadIdx.x; i < quads; i += gridDim.x * 256LL) {
        const int64_t row = i / 4 / n * bd_rpca_rows + i % 4 * 4;
        const int column = (int)(i / 4 % n);
        float x[4];
        frames.load4(row, column, x);
        if (RELAXED) {
            float seen[4] = { 1, 1, 1, 1 }, y[4];
            if (mask.m)
                mask.load4(row, column, seen);
            for (int k = 0; k < 4; k++) {
                y[k] = seen[k] != 0 ? x[k] : NAN;
                x[k] = seen[k] != 0 ? x[k] : 0;
                count += seen[k] != 0 && row + k < frames.rows;
            }
            *reinterpret_cast<float4 *>(copy + row + column * tiles * bd_rpca_rows) =
                make_float4(y[0], y[1], y[2], y[3]);
        }
        reinterpret_cast<float4 *>(t)[i] = make_float4(x[0], x[1], x[2], x[3]);
        for (int k = 0; k < 4; k++)
            top = max(top, __float_as_uint(fabsf(x[k])));
    }
    top = __reduce_max_sync(~0U, top);
    count = __reduce_add_sync(~0U, count);
    if (threadIdx.x % 32 == 0) {
        atomicMax(reinterpret_cast<unsigned *>(&sums->most), top);
        if (RELAXED)
            atomicAdd(&sums->observed, (unsigned long long)count);
    }
}

template <class Element, bool RELAXED>
void run_start(const rpca *plan, const bd_matrix *m, const bd_matrix *observed)
{
    const int64_t rows = plan->sweep.rows;
    const bd_rpca_frames<Element> frames(m->data, m->ld, rows);
    const bd_rpca_frames<uint8_t> mask(observed ? observed->data : nullptr,
                                       observed ? observed->ld : 0, rows);
    start<Element, RELAXED><<<4 * plan->cuda->sms, 256, 0, plan->cuda->stream>>>(
        plan->sweep.t, plan->copy, &plan->device->start, frames, mask, plan->tiles, plan->sweep.n);
}

template <class Element, bool RELAXED>
bd_status run_gram(const rpca *plan, const bd_rpca_step *step)
{
    const bd_rpca_loader<Element, RELAXED> loader(
        bd_rpca_frames<Element>(plan->sweep.m, plan->sweep.ldm, plan->sweep.rows), plan->sweep.t,
        plan->sweep.n, *step);
    return bd_gram(plan->cuda, plan->g, loader, plan->sweep.rows, plan->sweep.n, plan->gram,
                   &plan->device->stop);
}

bd_status form_gram(const rpca *plan, const bd_rpca_step *step)
{
    if (plan->copy)
        return run_gram<float, true>(plan, step);
    return plan->sweep.type == BD_U8 ? run_gram<uint8_t, false>(plan, step)
                                     : run_gram<float, false>(plan, step);
}

/* The SVD of the X of this step. */
bd_status decompose(rpca *plan, const bd_rpca_step *step)
{
    const int *stop = &plan->device->stop;
    bd_status status = form_gram(plan, step);
    if (status == BD_OK && !plan->r)
        return bd_cuda_svd_enqueue_gram(plan->svd, plan->g, stop);
    if (status == BD_OK)
        status = bd_cuda_cholesky(plan->cuda, plan->r, plan->sweep.n, plan->g, plan->sweep.n, stop);
    if (status == BD_OK)
        status = bd_cuda_svd_enqueue(plan->svd, plan->r, plan->sweep.n, stop);
    return status;
}

bd_status weigh(rpca *plan, double tau)
{
    return bd_cuda_svd_weights_enqueue(plan->svd, plan->sweep.w, plan->sweep.ldw, tau,
                                       plan->device->ranks, &plan->device->stop);
}

/* Clears `stop`, and all else beside it. */
bd_status release(rpca *plan)
{
    return bd_cuda_check(cudaMemsetAsync(plan->device, 0, sizeof *plan->device, plan->cuda->stream),
                         "starting Robust PCA");
}

/* What the start found, to plan->host. */
bd_status read_start(rpca *plan)
{
    cudaStream_t stream = plan->cuda->stream;
    cudaError_t error = cudaMemcpyAsync(&plan->host->start, &plan->device->start,
                                        sizeof(start_sums), cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(plan->host->sigma, bd_cuda_svd_ops.sigma(plan->svd),
                                plan->sweep.n * sizeof(float), cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    return bd_cuda_check(error, "the start of Robust PCA");
}

bd_status allocate(rpca *plan, bool relaxed)
{
    static const char what[] = "Robust PCA";
    bd_cuda *cuda = plan->cuda;
    const size_t n = plan->sweep.n, w = plan->sweep.ldw;
    bd_status status = BD_OK;
    bd_cuda_take(&status, cuda, &plan->sweep.t, plan->tiles * bd_rpca_rows * n, what);
    if (relaxed)
        bd_cuda_take(&status, cuda, &plan->copy, plan->tiles * bd_rpca_rows * n, what);
    bd_cuda_take(&status, cuda, &plan->gram,
                 bd_gram_workspace(cuda, plan->sweep.rows, plan->sweep.n), what);
    bd_cuda_take(&status, cuda, &plan->g, bd_cuda_cholesky_size(plan->sweep.n), what);
    if (n > bd_cuda_svd_most)
        bd_cuda_take(&status, cuda, &plan->r, n * n, what);
    bd_cuda_take(&status, cuda, &plan->sweep.w, w * w, what);
    bd_cuda_take(&status, cuda, &plan->sweep.packed, bd_rpca_packed(plan->sweep.n), what);
    bd_cuda_take(&status, cuda, &plan->sweep.partial, 2 * plan->tiles, what);
    bd_cuda_take(&status, cuda, &plan->device, 1, what);
    bd_cuda_take_host(&status, &plan->host, 1, what);
    if (status == BD_OK) {
        plan->sweep.blocks = &plan->device->blocks;
        plan->sweep.stop = &plan->device->stop;
        plan->sweep.ranks = plan->device->ranks;
    }
    return status;
}

} // namespace

static void rpca_destroy(void *arg)
{
    rpca *plan = (rpca *)arg;
    if (!plan)
        return;
    cudaStreamSynchronize(plan->cuda->stream); /* before the memory that it writes to is freed */
    for (int i = 0; i < bd_rpca_ahead; i++)
        if (plan->events[i])
            cudaEventDestroy(plan->events[i]);
    bd_cuda_svd_ops.destroy(plan->svd);
    bd_cuda_free(plan->sweep.t);
    bd_cuda_free(plan->copy);
    bd_cuda_free(plan->g);
    bd_cuda_free(plan->r);
    bd_cuda_free(plan->sweep.w);
    bd_cuda_free(plan->sweep.packed);
    bd_cuda_free(plan->gram);
    bd_cuda_free(plan->sweep.partial);
    bd_cuda_free(plan->device);
    bd_cuda_free_host(plan->host);
    free(plan);
}

static enum bd_status rpca_create(struct bd_backend *backend, int64_t m, int64_t n, bool relaxed,
                                  void **out)
{
    bd_cuda *cuda = bd_cuda_of(backend);
    if (n > bd_rpca_sweep_most(cuda))
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "cuda: Robust PCA of %lld columns: at most %d are possible on this GPU; "
                       "the cpu backend has more",
                       (long long)n, bd_rpca_sweep_most(cuda));
    rpca *plan = (rpca *)calloc(1, sizeof *plan);
    if (!plan)
        return bd_fail(BD_ERROR_MEMORY, "no memory for Robust PCA");
    plan->cuda = cuda;
    plan->sweep.rows = m;
    plan->sweep.n = (int)n;
    plan->sweep.ldw = (n + 7) / 8 * 8;
    plan->tiles = (m + bd_rpca_rows - 1) / bd_rpca_rows;
    bd_status status = bd_rpca_sweep_prepare(cuda);
    if (status == BD_OK)
        status = allocate(plan, relaxed);
    if (status == BD_OK)
        status = bd_cuda_svd_ops.create(backend, n, &plan->svd);
    if (status == BD_OK)
        plan->sweep.sigma = bd_cuda_svd_ops.sigma(plan->svd);
    for (int i = 0; status == BD_OK && i < bd_rpca_ahead; i++)
        status = bd_cuda_check(cudaEventCreateWithFlags(&plan->events[i], cudaEventDisableTiming),
                               "making an event");
    if (status != BD_OK) {
        rpca_destroy(plan);
        return status;
    }
    *out = plan;
    return BD_OK;
}

static enum bd_status rpca_start(void *arg, const struct bd_matrix *m,
                                 const struct bd_matrix *observed, struct bd_rpca_norms *norms)
{
    rpca *plan = (rpca *)arg;
    bd_rpca_step of_m = {};
    of_m.clip_read = FLT_MAX;
    of_m.scale_read = 1;
    plan->sweep.m = plan->copy ? plan->copy : m->data;
    plan->sweep.ldm = plan->copy ? plan->tiles * bd_rpca_rows : m->ld;
    plan->sweep.type = plan->copy ? BD_F32 : m->type;
    plan->sweep.relaxed = plan->copy;
    plan->enqueued = plan->polled = plan->weighed = 0;
    bd_status status = release(plan);
    if (status != BD_OK)
        return status;
    if (m->type == BD_U8 && plan->copy)
        run_start<uint8_t, true>(plan, m, observed);
    else if (m->type == BD_U8)
        run_start<uint8_t, false>(plan, m, nullptr);
    else if (plan->copy)
        run_start<float, true>(plan, m, observed);
    else
        run_start<float, false>(plan, m, nullptr);
    status = bd_cuda_launched("the start of Robust PCA");
    bd_cuda_svd_forget(plan->svd);
    if (status == BD_OK)
        status = decompose(plan, &of_m);
    if (status == BD_OK)
        status = read_start(plan);
    if (status != BD_OK)
        return status;
    if (!isfinite(plan->host->start.most))
        return bd_fail(BD_ERROR_NUMERIC, "Robust PCA: the matrix holds NaN or Inf");
    double square = 0;
    for (int i = 0; i < plan->sweep.n; i++)
        square += (double)plan->host->sigma[i] * (double)plan->host->sigma[i];
    norms->frobenius = sqrt(square);
    norms->spectral = (double)plan->host->sigma[0];
    norms->max = (double)plan->host->start.most;
    norms->observed =
        plan->copy ? (int64_t)plan->host->start.observed : plan->sweep.rows * plan->sweep.n;
    int exponent;
    frexp(norms->max, &exponent);
    plan->sweep.unit = ldexpf(1, exponent > 128 ? -120 : exponent < -102 ? 110 : 8 - exponent);
    return BD_OK;
}

static enum bd_status rpca_iterate(void *arg, const struct bd_rpca_step *step,
                                   const struct bd_rpca_stop *stop)
{
    rpca *plan = (rpca *)arg;
    const int turn = (int)(plan->enqueued % bd_rpca_ahead);
    bd_rpca_sweep sweep = plan->sweep;
    sweep.step = *step;
    sweep.stop_at = *stop;
    sweep.outcome = &plan->host->outcomes[turn];
    plan->weighed = 0;
    bd_status status = step->keep_svd ? BD_OK : decompose(plan, step);
    if (status == BD_OK)
        status = weigh(plan, step->tau);
    if (status == BD_OK)
        status = bd_rpca_sweep_run(plan->cuda, &sweep);
    if (status == BD_OK)
        status = bd_cuda_check(cudaEventRecord(plan->events[turn], plan->cuda->stream),
                               "a Robust PCA iteration");
    if (status == BD_OK)
        plan->enqueued++;
    return status;
}

static enum bd_status rpca_poll(void *arg, int wait, struct bd_rpca_outcome *outcome, int *ready)
{
    rpca *plan = (rpca *)arg;
    const int turn = (int)(plan->polled % bd_rpca_ahead);
    *ready = 0;
    if (plan->polled == plan->enqueued)
        return BD_OK;
    cudaError_t error =
        wait ? cudaEventSynchronize(plan->events[turn]) : cudaEventQuery(plan->events[turn]);
    if (error == cudaErrorNotReady) {
        cudaGetLastError(); /* not a failure: later checks must not see it */
        return BD_OK;
    }
    bd_status status = bd_cuda_check(error, "a Robust PCA iteration");
    if (status != BD_OK)
        return status;
    *outcome = plan->host->outcomes[turn];
    *ready = 1;
    plan->polled++;
    return BD_OK;
}

static enum bd_status rpca_get(void *arg, const struct bd_rpca_step *step, float *l, int64_t ldl,
                               float *s, int64_t lds)
{
    rpca *plan = (rpca *)arg;
    bd_rpca_sweep sweep = plan->sweep;
    sweep.step = *step;
    sweep.l = l;
    sweep.ldl = ldl;
    sweep.s = s;
    sweep.lds = lds;
    bd_status status = release(plan);
    if (status == BD_OK && !plan->weighed && !step->keep_svd)
        status = decompose(plan, step);
    if (status == BD_OK && !plan->weighed)
        status = weigh(plan, step->tau);
    if (status == BD_OK) {
        plan->weighed = 1;
        status = bd_rpca_sweep_run(plan->cuda, &sweep);
    }
    return status;
}

const struct bd_rpca_ops bd_cuda_rpca_ops = {
    .create = rpca_create,
    .destroy = rpca_destroy,
    .start = rpca_start,
    .iterate = rpca_iterate,
    .poll = rpca_poll,
    .get = rpca_get,
};
