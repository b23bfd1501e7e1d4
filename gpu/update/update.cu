/* QR updating on the GPU: the functions of the backend. Few columns of a thin Q come and go by
 * rotations (rotations.cu), all else by blocks (blocked/blocked.h). The host waits for two things:
 * for the check that what comes in is finite, which runs first, and for the diagonal of an R that
 * is solved with. */
#include "gpu/update/update.h"

#include <climits>
#include <cstdlib>

#include "linalg/shared/update_cost.h"

namespace
{

enum {
    unguarded = -1 /* `call` of an update that has no new columns */
};

using update = bd_update_work;

bd_status make_streams(update *work)
{
    cudaError_t error = bd_cuda_make_stream(&work->side, bd_cuda_soon);
    cudaEvent_t *const events[] = { &work->fork, &work->join, &work->checked };
    for (cudaEvent_t *event : events)
        if (error == cudaSuccess)
            error = cudaEventCreateWithFlags(event, cudaEventDisableTiming);
    return bd_cuda_check(error, "preparing QR updating");
}

/* Allocates what the kernels of rotations and append_gram need. */
bd_status make_room(update *work, const struct bd_qr_update_shape *shape)
{
    static const char what[] = "QR updating";
    const int64_t sms = work->launch.sms;
    const size_t group = shape->max_block == 1 ? 1 : bd_update_group;
    bd_update_job *const job = &work->job;
    job->ldw = smaller(shape->max_cols, bd_update_most_cols);
    /* pieces of 1024 to 16384 rows, 4 a multiprocessor where there are enough */
    int64_t rows = (shape->max_rows + 4 * sms - 1) / (4 * sms);
    rows = smaller((rows + 1023) / 1024 * 1024, 16384);
    work->launch.item_rows = rows;
    int64_t items = (shape->max_rows + rows - 1) / rows;
    items = items < sms ? sms : items;
    const size_t n = (size_t)job->ldw, sums = (size_t)(2 * sms * bd_update_gathered(job->ldw));
    bd_status status = BD_OK;
    bd_cuda_take(&status, work->cuda, &job->state, 1, what);
    bd_cuda_take(&status, work->cuda, &job->cs, n * group, what);
    bd_cuda_take(&status, work->cuda, &job->w, n * group, what);
    bd_cuda_take(&status, work->cuda, &job->sums, (n + 1) * group, what);
    bd_cuda_take(&status, work->cuda, &job->partials, (size_t)(items + 1) * (n + 1) * group, what);
    bd_cuda_take(&status, work->cuda, &job->gathered, sums, what);
    bd_cuda_take(&status, work->cuda, &job->small, n * group, what);
    bd_cuda_take(&status, work->cuda, &work->append_z, (size_t)shape->max_cols, what);
    bd_cuda_take_host(&status, &work->host_bad, 1, what);
    return status;
}

/* Starts the check of X (rows x cols); returns the number of this update. */
int start_check(update *work, const float *x, int64_t ldx, int64_t rows, int64_t cols)
{
    work->call = work->call == INT_MAX ? 1 : work->call + 1;
    bd_update_check(&work->launch, x, ldx, rows, cols, work->call, &work->job.state->bad,
                    work->host_bad);
    cudaEventRecord(work->checked, work->launch.stream);
    return work->call;
}

/* Waits for that check, when all of the update is enqueued. */
bd_status finish(update *work, bd_status status)
{
    if (status == BD_OK)
        status = bd_cuda_launched("QR update");
    if (status == BD_OK)
        status = bd_cuda_check(cudaEventSynchronize(work->checked), "QR update");
    if (status == BD_OK && *(volatile int *)work->host_bad == work->call)
        return bd_fail(BD_ERROR_NUMERIC, "QR update: what comes in holds NaN or Inf");
    return status;
}

bd_status check(update *work, const float *x, int64_t ldx, int64_t rows, int64_t cols)
{
    if (rows <= 0 || cols <= 0)
        return BD_OK;
    start_check(work, x, ldx, rows, cols);
    return finish(work, BD_OK);
}

/* Whether p columns come, or go at k, by rotations: in groups of columns, one rotation of a group
 * after another. These kernels keep no full Q nor, where columns go, d. Blocked updates are faster
 * where many columns come or go, and for fewer where Q has few rows or is not kept. By a model of
 * 13 terms, fitted to times of both on an H100 for 852 changes, the choice of these bounds is more
 * than a tenth slower than the other in 29 cases, 0.7 % in the mean and 41 % at most; that of
 * p <= 16 alone is 6 % slower in the mean. joined: rotations are faster than the bounds say. */
bool is_by_rotations(const update *work, const bd_qr_parts *f, bool remove, int64_t k, int64_t p,
                     bool joined)
{
    const int64_t m = f->m, n = f->n;
    if (work->full_q || n + (remove ? 0 : p) > (int64_t)bd_update_most_cols || (remove && f->rhs))
        return false;
    const bool faster = remove ? (n - k - p) * p <= 4000 && p <= (f->q ? 16 + m / 16000 : 8)
                               : n * p <= 2500 + m / 20;
    return !work->blocked || faster || joined;
}

/* Before a blocked update. */
bd_status need_blocked(const update *work)
{
    if (!work->blocked)
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "cuda: this GPU has too little shared memory for this QR update; the cpu "
                       "backend does it");
    return bd_cuda_blocked_begin(work->blocked);
}

} // namespace

extern "C" {

static void update_destroy(void *plan)
{
    update *work = (update *)plan;
    if (!work)
        return;
    cudaStreamSynchronize(work->launch.stream);
    for (cudaEvent_t event : { work->fork, work->join, work->checked })
        if (event)
            cudaEventDestroy(event);
    if (work->side)
        cudaStreamDestroy(work->side);
    bd_cuda_blocked_destroy(work->blocked);
    bd_cuda_free(work->job.state);
    bd_cuda_free(work->job.cs);
    bd_cuda_free(work->job.w);
    bd_cuda_free(work->job.sums);
    bd_cuda_free(work->job.partials);
    bd_cuda_free(work->job.gathered);
    bd_cuda_free(work->job.small);
    bd_cuda_free(work->append_z);
    bd_cuda_free_host(work->host_bad);
    free(work);
}

static enum bd_status update_create(struct bd_backend *backend,
                                    const struct bd_qr_update_shape *shape, void **out)
{
    update *work = (update *)calloc(1, sizeof *work);
    if (!work)
        return bd_fail(BD_ERROR_MEMORY, "no memory for QR updating");
    work->cuda = bd_cuda_of(backend);
    work->full_q = shape->full_q;
    work->launch.stream = work->cuda->stream;
    work->launch.sms = work->cuda->sms;
    work->launch.shared_most = work->cuda->shared_most;
    bd_status status = make_streams(work);
    if (status == BD_OK)
        status = make_room(work, shape);
    if (status == BD_OK)
        status = bd_update_r_prepare(work->cuda);
    if (status == BD_OK)
        status = bd_update_q_prepare(work->cuda);
    if (status == BD_OK)
        status = bd_update_slide_prepare(work->cuda);
    if (status == BD_OK)
        status = bd_cuda_blocked_create(work->cuda, shape, &work->blocked);
    if (status == BD_ERROR_UNSUPPORTED) /* updates by rotations are possible all the same */
        status = BD_OK;
    if (status != BD_OK) {
        update_destroy(work);
        return status;
    }
    *out = work;
    return BD_OK;
}

static enum bd_status update_remove(void *plan, const struct bd_qr_parts *f, int64_t k, int64_t p)
{
    update *work = (update *)plan;
    if (!is_by_rotations(work, f, true, k, p, false)) {
        bd_status status = need_blocked(work);
        return status == BD_OK ? bd_cuda_blocked_remove(work->blocked, f, k, p) : status;
    }
    bd_update_rotations_remove(work, f, k, p, unguarded);
    return bd_cuda_launched("QR update: removing columns");
}

static enum bd_status update_insert(void *plan, const struct bd_qr_parts *f, int64_t k, int64_t p,
                                    const float *u, int64_t ldu)
{
    update *work = (update *)plan;
    if (!is_by_rotations(work, f, false, k, p, false)) {
        bd_status status = need_blocked(work);
        if (status == BD_OK)
            status = check(work, u, ldu, f->m, p);
        return status == BD_OK ? bd_cuda_blocked_insert(work->blocked, f, k, p, u, ldu) : status;
    }
    int call = start_check(work, u, ldu, f->m, p);
    return finish(work, bd_update_rotations_insert(work, f, k, p, u, ldu, call));
}

static enum bd_status update_slide(void *plan, const struct bd_qr_parts *f, int64_t p,
                                   const float *u, int64_t ldu)
{
    update *work = (update *)plan;
    struct bd_qr_parts left = *f;
    left.n -= p;
    left.q_cols -= work->full_q ? 0 : p;
    /* a slide by one group of columns has joined passes */
    if (!is_by_rotations(work, &left, false, left.n, p, p <= (int64_t)bd_update_group)) {
        bd_status status = need_blocked(work);
        if (status == BD_OK)
            status = check(work, u, ldu, f->m, p);
        if (status == BD_OK)
            status = bd_cuda_blocked_remove(work->blocked, f, 0, p);
        return status == BD_OK ? bd_cuda_blocked_insert(work->blocked, &left, left.n, p, u, ldu)
                               : status;
    }
    int call = start_check(work, u, ldu, f->m, p);
    return finish(work, bd_update_rotations_slide(work, f, p, u, ldu, call));
}

static enum bd_status update_insert_rows(void *plan, const struct bd_qr_parts *f, int64_t k,
                                         int64_t p, const float *u, int64_t ldu, const float *e,
                                         int64_t lde)
{
    update *work = (update *)plan;
    bd_status status = need_blocked(work);
    if (status == BD_OK)
        status = check(work, u, ldu, p, f->n);
    if (status == BD_OK && e)
        status = check(work, e, lde, p, f->rhs);
    if (status != BD_OK)
        return status;
    return bd_cuda_blocked_insert_rows(work->blocked, f, k, p, u, ldu, e, lde);
}

static enum bd_status update_remove_rows(void *plan, const struct bd_qr_parts *f, int64_t k,
                                         int64_t p)
{
    update *work = (update *)plan;
    bd_status status = need_blocked(work);
    return status == BD_OK ? bd_cuda_blocked_remove_rows(work->blocked, f, k, p) : status;
}

static enum bd_status update_check(void *plan, const float *x, int64_t ldx, int64_t rows,
                                   int64_t cols)
{
    return check((update *)plan, x, ldx, rows, cols);
}

static enum bd_status update_project(void *plan, const struct bd_qr_parts *f, const float *b,
                                     int64_t ldb)
{
    update *work = (update *)plan;
    bd_status status = need_blocked(work);
    if (status != BD_OK)
        return status;
    blocked_multiply(work->blocked, f->q_cols, f->rhs, f->m, f->q, f->ldq, 1, b, ldb, 0, 1, 0, f->d,
                     f->ldd);
    return work->blocked->status;
}

static enum bd_status update_solve(void *plan, const float *r, int64_t ldr, int64_t n,
                                   const float *d, int64_t ldd, int64_t rhs, float *x, int64_t ldx)
{
    update *work = (update *)plan;
    bd_status status = need_blocked(work);
    if (status == BD_OK)
        status =
            bd_cuda_blocked_check_diagonal(work->blocked, r, ldr, n, &work->job.state->singular);
    if (status == BD_OK)
        status =
            bd_cuda_check(cudaMemcpyAsync(work->host_bad, &work->job.state->singular, sizeof(int),
                                          cudaMemcpyDeviceToHost, work->launch.stream),
                          "QR update: solving");
    /* X, which may be d, is not written before the diagonal is known to have no zero. */
    if (status == BD_OK)
        status = bd_cuda_check(cudaStreamSynchronize(work->launch.stream), "QR update: solving");
    const int singular = *(volatile int *)work->host_bad;
    *work->host_bad = 0;
    if (status != BD_OK)
        return status;
    if (singular)
        return bd_fail(BD_ERROR_NUMERIC, "least squares: R has a zero on its diagonal");
    return bd_cuda_blocked_solve(work->blocked, r, ldr, n, d, ldd, rhs, x, ldx);
}

static enum bd_status update_append_gram(void *plan, float *r, int64_t ldr, int64_t n,
                                         const double *g)
{
    const update *work = (const update *)plan;
    bd_update_launch launch = work->launch;
    launch.stream = work->cuda->stream; /* a separator may have changed it */
    bd_update_append(&launch, r, ldr, n, g, work->append_z);
    return bd_cuda_launched("QR update: appending a column");
}
}

const struct bd_update_ops bd_cuda_update_ops = {
    .create = update_create,
    .destroy = update_destroy,
    .remove = update_remove,
    .insert = update_insert,
    .slide = update_slide,
    .insert_rows = update_insert_rows,
    .remove_rows = update_remove_rows,
    .check = update_check,
    .project = update_project,
    .solve = update_solve,
    .costs = &bd_cuda_update_costs,
    .append_gram = update_append_gram,
};
