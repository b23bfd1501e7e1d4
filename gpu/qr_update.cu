/* QR updating on the GPU: the slots, and for a thin Q of few columns, of which few come or go, what
 * joins the small matrices and the passes over Q. Everything else is gpu/qr_wide.h's.
 *
 * New columns go through classical Gram-Schmidt with reorthogonalisation, in groups: W = Q^T U (one
 * pass), V = U - Q W and Q^T V (one pass), V -= Q (Q^T V) (one pass, left out when Q^T V turns out
 * to be rounding already). A slide rotates Q in the second of these. R is made triangular by a
 * stream beside, while the first pass runs. The host waits for the new columns to be found finite,
 * which is the first thing done, and for nothing else.
 *
 * Andrew, Dingle: Implementing QR factorization updating algorithms on GPUs (2014); Giraud, Langou,
 * Rozloznik, van den Eshof: Rounding error analysis of the classical Gram-Schmidt orthogonalization
 * process (2005). */
#include "gpu/qr_update.h"

#include <climits>
#include <cstdlib>

#include "gpu/qr_wide.h"
#include "gpu/slots.h"

namespace
{

enum {
    unguarded = -1,               /* the number of an update that has no new columns */
    narrow_most = bd_update_group /* columns at a time */
};

struct update {
    bd_cuda *cuda;
    struct bd_cuda_wide *wide;
    bool full_q;
    int64_t m;    /* rows of the call at work */
    int max_cols; /* of a narrow R */
    bd_update_launch launch;
    cudaStream_t side;
    cudaEvent_t fork, join, checked;
    int call;
    int *host_bad; /* page-locked: the number of the last update that was refused */
    bd_update_state *state;
    float2 *cs;
    double *w, *sums, *partials, *gathered;
    float *small;
};

bd_status make_streams(update *work)
{
    int least = 0, greatest = 0;
    cudaError_t error = cudaDeviceGetStreamPriorityRange(&least, &greatest);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithPriority(&work->side, cudaStreamNonBlocking, greatest);
    cudaEvent_t *const events[] = { &work->fork, &work->join, &work->checked };
    for (cudaEvent_t *event : events)
        if (error == cudaSuccess)
            error = cudaEventCreateWithFlags(event, cudaEventDisableTiming);
    return bd_cuda_check(error, "preparing QR updating");
}

/* Room for kernels, by the largest number of columns, of which max_block come or go together. */
bd_status make_room(update *work, int64_t max_block)
{
    static const char what[] = "QR updating";
    size_t n = (size_t)work->max_cols, group = max_block == 1 ? 1 : bd_update_group;
    /* 4 lots of rows a multiprocessor, of 1024 to 16384 rows */
    int64_t lots = 4 * (int64_t)work->launch.sms, rows = (work->m + lots - 1) / lots;
    rows = (rows + 1023) / 1024 * 1024;
    work->launch.item_rows = rows < 16384 ? rows : 16384;
    size_t items = (size_t)((work->m + work->launch.item_rows - 1) / work->launch.item_rows);
    if (items < (size_t)work->launch.sms)
        items = (size_t)work->launch.sms;
    struct {
        void **data;
        size_t bytes;
    } const rooms[] = {
        { (void **)&work->state, sizeof *work->state },
        { (void **)&work->cs, n * group * sizeof *work->cs },
        { (void **)&work->w, n * group * sizeof *work->w },
        { (void **)&work->sums, (n + 1) * group * sizeof *work->sums },
        { (void **)&work->partials, (items + 1) * (n + 1) * group * sizeof *work->partials },
        { (void **)&work->gathered, 2 * (size_t)work->launch.sms *
                                        (size_t)bd_update_gathered(work->max_cols) *
                                        sizeof *work->gathered },
        { (void **)&work->small, n * group * sizeof *work->small },
    };
    bd_status status = BD_OK;
    for (const auto &room : rooms)
        if (status == BD_OK)
            status = bd_cuda_alloc(work->cuda, room.data, room.bytes, what);
    if (status == BD_OK)
        status = bd_cuda_alloc_host((void **)&work->host_bad, sizeof *work->host_bad, what);
    return status;
}

/* An update of n columns by b. */
bd_update_job make_job(update *work, float *q, int64_t ldq, float *r, int64_t ldr, int64_t n_in,
                       int64_t n, int64_t k, int64_t b, int call)
{
    bd_update_job job = {};
    job.state = work->state;
    job.call = call;
    job.m = work->m;
    job.q = q;
    job.ldq = ldq;
    job.r = r;
    job.ldr = ldr;
    job.n_in = (int)n_in;
    job.n = (int)n;
    job.k = (int)k;
    job.b = (int)b;
    job.width = b == 1 ? 1 : bd_update_group;
    job.cs = work->cs;
    job.w = work->w;
    job.ldw = work->max_cols;
    job.small = work->small;
    job.sums = work->sums;
    job.partials = work->partials;
    job.gathered = work->gathered;
    return job;
}

bool aligned(const float *data, int64_t ld)
{
    return (uintptr_t)data % 16 == 0 && ld % 4 == 0;
}

int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Removes p columns at k, a group at a time. q may be NULL. */
void remove_columns(update *work, float *q, int64_t ldq, float *r, int64_t ldr, int64_t n,
                    int64_t k, int64_t p, int call)
{
    while (p > 0) {
        int64_t b = smaller(p, bd_update_group);
        bd_update_job job = make_job(work, q, ldq, r, ldr, n, n - b, k, b, call);
        bd_update_r_remove(&work->launch, &job);
        n -= b;
        p -= b;
        if (!q || k == n)
            continue;
        bd_update_chain chain = { q + k * ldq, ldq, (int)(n + b - k), (int)(n - k), (int)b, 0 };
        bd_update_rotate(&work->launch, &job, &chain, { 0, work->m, aligned(q, ldq) }, 0);
    }
}

/* Rotates (a slide) and projects, with inner products of what is left; returns the number of their
 * partials. */
int second_pass(update *work, const bd_update_job *job, bool vector)
{
    const bd_update_launch *launch = &work->launch;
    int64_t middle = vector ? work->m / 4 * 4 : 0;
    bd_update_rows rest = { 0, work->m, vector };
    int items = 0;
    if (middle && job->width == 1)
        items = bd_update_slide_pass(launch, job, { 0, middle, 1 });
    if (items) {
        if (middle == work->m)
            return items;
        rest = { middle, work->m, 0 };
    }
    bd_update_chain chain = { job->q, job->ldq, job->n_in, job->n, job->b, 0 };
    if (job->n_in > job->n)
        bd_update_rotate(launch, job, &chain, rest, 1);
    else
        bd_update_subtract(launch, job, job->u, rest, -1, 0);
    bd_update_dots(launch, job, job->n, nullptr, rest, items);
    return items + bd_update_items(launch, rest);
}

/* Appends a group of columns U to Q, which goes from n_in columns to n in passing. rotations: an
 * event after which they are known, or NULL. The columns of R are in job->w then. */
bd_status append_group(update *work, const bd_update_job *job, cudaEvent_t rotations)
{
    const bd_update_launch *launch = &work->launch;
    bool vector = aligned(job->q, job->ldq) && aligned(job->u, job->ldu);
    bd_update_rows all = { 0, work->m, vector };
    bd_update_dots(launch, job, job->n_in, job->u, all, 0);
    bd_update_reduce(launch, job, bd_update_items(launch, all), (job->n_in + 1) * job->width);
    if (rotations)
        cudaStreamWaitEvent(launch->stream, rotations, 0);
    bd_update_first(launch, job);
    int items = second_pass(work, job, vector);
    bd_update_reduce(launch, job, items, (job->n + 1) * job->width);
    bd_update_second(launch, job);
    all.vector = aligned(job->q, job->ldq);
    bd_update_subtract(launch, job, nullptr, all, 0, 1);
    return bd_update_finish(launch, job, bd_update_items(launch, all));
}

/* Inserts the p columns of U before column k, a group at a time. */
bd_status insert_columns(update *work, float *q, int64_t ldq, float *r, int64_t ldr, int64_t n,
                         int64_t k, int64_t p, const float *u, int64_t ldu, int call)
{
    bd_status status = BD_OK;
    while (p > 0 && status == BD_OK) {
        int64_t b = smaller(p, bd_update_group);
        bd_update_job job = make_job(work, q, ldq, r, ldr, n, n, k, b, call);
        job.u = u;
        job.ldu = ldu;
        status = append_group(work, &job, nullptr);
        bd_update_r_insert(&work->launch, &job);
        bd_update_chain chain = { q + (n + b - 1) * ldq, -ldq,   (int)(n + b - k),
                                  (int)(n - k),          (int)b, 1 };
        if (k < n)
            bd_update_rotate(&work->launch, &job, &chain, { 0, work->m, aligned(q, ldq) }, 0);
        n += b;
        k += b;
        p -= b;
        u += b * ldu;
    }
    return status;
}

/* Slides by a group: R loses its columns while Q is read for the first time. */
bd_status slide_group(update *work, const bd_update_job *job)
{
    bd_update_launch beside = work->launch;
    beside.stream = work->side;
    cudaEventRecord(work->fork, work->launch.stream);
    cudaStreamWaitEvent(work->side, work->fork, 0);
    bd_update_r_remove(&beside, job);
    cudaEventRecord(work->join, work->side);
    bd_status status = append_group(work, job, work->join);
    bd_update_job append = *job;
    append.k = job->n;
    bd_update_r_insert(&work->launch, &append);
    return status;
}

/* Starts the check of X (rows x cols); returns the number of this update. */
int start_check(update *work, const float *x, int64_t ldx, int64_t rows, int64_t cols)
{
    work->call = work->call == INT_MAX ? 1 : work->call + 1;
    bd_update_job job = {};
    job.state = work->state;
    job.call = work->call;
    job.m = rows;
    job.u = x;
    job.ldu = ldx;
    bd_update_check(&work->launch, &job, cols, work->host_bad);
    cudaEventRecord(work->checked, work->launch.stream);
    return work->call;
}

int start(update *work, const float *u, int64_t ldu, int64_t p)
{
    return start_check(work, u, ldu, work->m, p);
}

/* Waits for that check, when everything has been asked for. */
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
    if (rows > 0 && cols > 0)
        start_check(work, x, ldx, rows, cols);
    else
        return BD_OK;
    return finish(work, BD_OK);
}

/* Whether p columns that come or go are for the kernels here; takes the rows of this call then.
 * They do not keep the full Q, and where d has to follow (`follow`) not d. */
bool is_narrow(update *work, const bd_qr_parts *f, int64_t n, int64_t p, bool follow)
{
    if (n > work->max_cols || p > (int64_t)narrow_most || work->full_q || (follow && f->rhs))
        return false;
    if (f->q)
        work->m = f->m;
    return true;
}

/* The GPU has what is needed beyond the narrow. */
bd_status need_wide(const update *work)
{
    if (!work->wide)
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "cuda: this GPU has too little shared memory for this QR update; the cpu "
                       "backend does it");
    return BD_OK;
}

} // namespace

extern "C" {

enum bd_status bd_cuda_update_create(struct bd_backend *backend,
                                     const struct bd_qr_update_shape *shape, void **out)
{
    int64_t max_cols = shape->max_cols;
    update *work = (update *)calloc(1, sizeof *work);
    if (!work)
        return bd_fail(BD_ERROR_MEMORY, "no memory for QR updating");
    work->cuda = bd_cuda_of(backend);
    work->m = shape->max_rows;
    work->full_q = shape->full_q;
    work->max_cols = max_cols < bd_update_most_cols ? (int)max_cols : (int)bd_update_most_cols;
    work->launch.stream = work->cuda->stream;
    work->launch.sms = work->cuda->sms;
    work->launch.shared_most = work->cuda->shared_most;
    bd_status status = make_streams(work);
    if (status == BD_OK)
        status = make_room(work, shape->max_block);
    if (status == BD_OK)
        status = bd_update_r_prepare();
    if (status == BD_OK)
        status = bd_update_q_prepare();
    if (status == BD_OK)
        status = bd_update_slide_prepare(&work->launch);
    if (status == BD_OK)
        status = bd_cuda_wide_create(work->cuda, shape, &work->wide);
    if (status == BD_ERROR_UNSUPPORTED) /* what is narrow is possible all the same */
        status = BD_OK;
    if (status != BD_OK) {
        bd_cuda_update_destroy(work);
        return status;
    }
    *out = work;
    return BD_OK;
}

void bd_cuda_update_destroy(void *plan)
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
    bd_cuda_wide_destroy(work->wide);
    bd_cuda_free(work->state);
    bd_cuda_free(work->cs);
    bd_cuda_free(work->w);
    bd_cuda_free(work->sums);
    bd_cuda_free(work->partials);
    bd_cuda_free(work->gathered);
    bd_cuda_free(work->small);
    bd_cuda_free_host(work->host_bad);
    free(work);
}

enum bd_status bd_cuda_update_remove(void *plan, const struct bd_qr_parts *f, int64_t k, int64_t p)
{
    update *work = (update *)plan;
    if (!is_narrow(work, f, f->n, p, true)) {
        bd_status status = need_wide(work);
        return status == BD_OK ? bd_cuda_wide_remove(work->wide, f, k, p) : status;
    }
    remove_columns(work, f->q, f->ldq, f->r, f->ldr, f->n, k, p, unguarded);
    return bd_cuda_launched("QR update: removing columns");
}

enum bd_status bd_cuda_update_insert(void *plan, const struct bd_qr_parts *f, int64_t k, int64_t p,
                                     const float *u, int64_t ldu)
{
    update *work = (update *)plan;
    if (!is_narrow(work, f, f->n + p, p, false)) {
        bd_status status = need_wide(work);
        if (status == BD_OK)
            status = check(work, u, ldu, f->m, p);
        return status == BD_OK ? bd_cuda_wide_insert(work->wide, f, k, p, u, ldu) : status;
    }
    int call = start(work, u, ldu, p);
    return finish(work, insert_columns(work, f->q, f->ldq, f->r, f->ldr, f->n, k, p, u, ldu, call));
}

enum bd_status bd_cuda_update_slide(void *plan, const struct bd_qr_parts *f, int64_t p,
                                    const float *u, int64_t ldu)
{
    update *work = (update *)plan;
    int64_t n = f->n;
    if (!is_narrow(work, f, n, p, false)) {
        struct bd_qr_parts left = *f;
        bd_status status = need_wide(work);
        if (status == BD_OK)
            status = check(work, u, ldu, f->m, p);
        if (status == BD_OK)
            status = bd_cuda_wide_remove(work->wide, f, 0, p);
        left.n -= p;
        left.q_cols -= work->full_q ? 0 : p;
        return status == BD_OK ? bd_cuda_wide_insert(work->wide, &left, n - p, p, u, ldu) : status;
    }
    int call = start(work, u, ldu, p);
    if (p < n && p <= bd_update_group) {
        bd_update_job job = make_job(work, f->q, f->ldq, f->r, f->ldr, n, n - p, 0, p, call);
        job.u = u;
        job.ldu = ldu;
        return finish(work, slide_group(work, &job));
    }
    remove_columns(work, f->q, f->ldq, f->r, f->ldr, n, 0, p, call);
    return finish(work,
                  insert_columns(work, f->q, f->ldq, f->r, f->ldr, n - p, n - p, p, u, ldu, call));
}

enum bd_status bd_cuda_update_insert_rows(void *plan, const struct bd_qr_parts *f, int64_t k,
                                          int64_t p, const float *u, int64_t ldu, const float *e,
                                          int64_t lde)
{
    update *work = (update *)plan;
    bd_status status = need_wide(work);
    if (status == BD_OK)
        status = check(work, u, ldu, p, f->n);
    if (status == BD_OK && e)
        status = check(work, e, lde, p, f->rhs);
    if (status != BD_OK)
        return status;
    return bd_cuda_wide_insert_rows(work->wide, f, k, p, u, ldu, e, lde);
}

enum bd_status bd_cuda_update_remove_rows(void *plan, const struct bd_qr_parts *f, int64_t k,
                                          int64_t p)
{
    update *work = (update *)plan;
    bd_status status = need_wide(work);
    return status == BD_OK ? bd_cuda_wide_remove_rows(work->wide, f, k, p) : status;
}

enum bd_status bd_cuda_update_check(void *plan, const float *x, int64_t ldx, int64_t rows,
                                    int64_t cols)
{
    return check((update *)plan, x, ldx, rows, cols);
}

enum bd_status bd_cuda_update_project(void *plan, const struct bd_qr_parts *f, const float *b,
                                      int64_t ldb)
{
    update *work = (update *)plan;
    bd_status status = need_wide(work);
    return status == BD_OK ? bd_cuda_wide_project(work->wide, f, b, ldb) : status;
}

enum bd_status bd_cuda_update_solve(void *plan, const float *r, int64_t ldr, int64_t n,
                                    const float *d, int64_t ldd, int64_t rhs, float *x, int64_t ldx)
{
    update *work = (update *)plan;
    bd_status status = need_wide(work);
    if (status == BD_OK)
        status =
            bd_cuda_wide_solve(work->wide, r, ldr, n, d, ldd, rhs, x, ldx, &work->state->singular);
    if (status == BD_OK)
        status = bd_cuda_check(cudaMemcpyAsync(work->host_bad, &work->state->singular, sizeof(int),
                                               cudaMemcpyDeviceToHost, work->launch.stream),
                               "QR update: solving");
    if (status == BD_OK)
        status = bd_cuda_check(cudaStreamSynchronize(work->launch.stream), "QR update: solving");
    const int singular = *(volatile int *)work->host_bad;
    *work->host_bad = 0;
    if (status == BD_OK && singular)
        return bd_fail(BD_ERROR_NUMERIC, "least squares: R has a zero on its diagonal");
    return status;
}

enum bd_status bd_cuda_update_append_gram(void *plan, float *r, int64_t ldr, int64_t n,
                                          const double *g)
{
    bd_update_append(&((update *)plan)->launch, r, ldr, (int)n, g);
    return bd_cuda_launched("QR update: appending a column");
}
}
