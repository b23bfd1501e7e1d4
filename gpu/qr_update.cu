/* QR updating on the GPU: the slots. A thin Q of few columns, of which few come or go, is
 * gpu/qr_update_narrow.cu's, everything else gpu/qr_wide.h's. The host waits for what comes in to
 * be found finite, which is the first thing done, for the diagonal of an R to be solved with, and
 * for nothing else. */
#include "gpu/qr_update.h"

#include <climits>
#include <cstdlib>

#include "gpu/qr_update_work.h"
#include "gpu/slots.h"

namespace
{

enum {
    unguarded = -1,               /* the number of an update that has no new columns */
    narrow_most = bd_update_group /* columns at a time */
};

using update = bd_update_work;

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

/* Whether the narrow kernels, which take the columns from k on one after the other, are the faster
 * ones for p columns of n, with a Q of m rows. Columns in and out on an H100, ms:
 *                       p = 1    4    8    wide, p = 9
 *       8192 x 512       0.77  2.8  4.9    1.8
 *     110592 x 100       0.27  0.88 1.8    1.8
 *     400000 x 160       1.1   3.2  7.3    6.1 */
bool narrow_pays(int64_t m, int64_t n, int64_t k, int64_t p)
{
    const double right = (double)(n - k), rows = (double)m * 1e-6;
    return (double)p * right * (0.00102 + 0.0107 * rows) <= 1.4 + 0.033 * rows * (double)n;
}

/* Whether p columns that come or go at k are for the narrow kernels; n: columns at the most. Takes
 * the rows of this call then. These kernels do not keep the full Q, nor a d that has to follow. */
bool is_narrow(update *work, const bd_qr_parts *f, int64_t n, int64_t k, int64_t p, bool follow)
{
    if (n > work->max_cols || p > (int64_t)narrow_most || work->full_q || (follow && f->rhs))
        return false;
    if (work->wide && !narrow_pays(f->q ? f->m : 0, f->n, k, p))
        return false;
    if (f->q)
        work->m = f->m;
    return true;
}

/* What is needed beyond the narrow. */
bd_status need_wide(const update *work)
{
    if (!work->wide)
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "cuda: this GPU has too little shared memory for this QR update; the cpu "
                       "backend does it");
    return bd_cuda_wide_ready(work->wide);
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
    if (status == BD_OK && max_cols > (int64_t)bd_update_most_cols)
        status = bd_cuda_alloc(work->cuda, (void **)&work->append_z,
                               (size_t)max_cols * sizeof *work->append_z, "QR updating");
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
    bd_cuda_free(work->append_z);
    bd_cuda_free_host(work->host_bad);
    free(work);
}

bool bd_cuda_update_few(const struct bd_qr_change *c, enum bd_cost_form form)
{
    const bool remove = c->kind == BD_QR_REMOVE_COLUMNS;
    const int64_t most_cols = c->n + (remove ? 0 : c->p);
    if (c->p > (int64_t)narrow_most)
        return false;
    if (form == bd_cost_full || !(remove || c->kind == BD_QR_INSERT_COLUMNS))
        return true;
    return most_cols <= (int64_t)bd_update_most_cols &&
           narrow_pays(form == bd_cost_thin ? c->m : 0, c->n, c->k + (remove ? c->p : 0), c->p);
}

enum bd_status bd_cuda_update_remove(void *plan, const struct bd_qr_parts *f, int64_t k, int64_t p)
{
    update *work = (update *)plan;
    if (!is_narrow(work, f, f->n, k + p, p, true)) {
        bd_status status = need_wide(work);
        return status == BD_OK ? bd_cuda_wide_remove(work->wide, f, k, p) : status;
    }
    bd_update_narrow_remove(work, f, k, p, unguarded);
    return bd_cuda_launched("QR update: removing columns");
}

enum bd_status bd_cuda_update_insert(void *plan, const struct bd_qr_parts *f, int64_t k, int64_t p,
                                     const float *u, int64_t ldu)
{
    update *work = (update *)plan;
    if (!is_narrow(work, f, f->n + p, k, p, false)) {
        bd_status status = need_wide(work);
        if (status == BD_OK)
            status = check(work, u, ldu, f->m, p);
        return status == BD_OK ? bd_cuda_wide_insert(work->wide, f, k, p, u, ldu) : status;
    }
    int call = start(work, u, ldu, p);
    return finish(work, bd_update_narrow_insert(work, f, k, p, u, ldu, call));
}

enum bd_status bd_cuda_update_slide(void *plan, const struct bd_qr_parts *f, int64_t p,
                                    const float *u, int64_t ldu)
{
    update *work = (update *)plan;
    const int64_t n = f->n;
    if (!is_narrow(work, f, n, n, p, false)) { /* a slide's passes over Q are joined */
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
    return finish(work, bd_update_narrow_slide(work, f, p, u, ldu, call));
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
        status = bd_cuda_wide_see_diagonal(work->wide, r, ldr, n, &work->state->singular);
    if (status == BD_OK)
        status = bd_cuda_check(cudaMemcpyAsync(work->host_bad, &work->state->singular, sizeof(int),
                                               cudaMemcpyDeviceToHost, work->launch.stream),
                               "QR update: solving");
    /* X, which may be d, is written only when the diagonal is known. */
    if (status == BD_OK)
        status = bd_cuda_check(cudaStreamSynchronize(work->launch.stream), "QR update: solving");
    const int singular = *(volatile int *)work->host_bad;
    *work->host_bad = 0;
    if (status != BD_OK)
        return status;
    if (singular)
        return bd_fail(BD_ERROR_NUMERIC, "least squares: R has a zero on its diagonal");
    return bd_cuda_wide_solve(work->wide, r, ldr, n, d, ldd, rhs, x, ldx);
}

enum bd_status bd_cuda_update_append_gram(void *plan, float *r, int64_t ldr, int64_t n,
                                          const double *g)
{
    const update *work = (const update *)plan;
    if (n <= (int64_t)bd_update_most_cols)
        bd_update_append(&work->launch, r, ldr, (int)n, g);
    else
        bd_update_append_long(&work->launch, r, ldr, n, g, work->append_z);
    return bd_cuda_launched("QR update: appending a column");
}
}
