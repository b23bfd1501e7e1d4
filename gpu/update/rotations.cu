/* QR updating on the GPU by rotations: calls the kernels for the small matrices and the passes over
 * Q. The CPU's version is linalg/cpu/update/{r,q,append}.c.
 *
 * New columns go through classical Gram-Schmidt with reorthogonalisation, in groups: W = Q^T U (one
 * pass), V = U - Q W and Q^T V (one pass), V -= Q (Q^T V) (one pass, left out where Q^T V is only
 * rounding). A slide rotates Q in the second of these. R is made triangular in a stream beside,
 * while the first pass runs. First of all the new columns are checked: the host waits for that, and
 * for nothing else.
 *
 * Andrew, Dingle: Implementing QR factorization updating algorithms on GPUs (2014); Giraud, Langou,
 * Rozloznik, van den Eshof: Rounding error analysis of the classical Gram-Schmidt orthogonalization
 * process (2005). */
#include "gpu/update/update.h"

namespace
{

using update = bd_update_work;

/* The job of an update that takes f->n columns to n; b of them come or go at k. */
bd_update_job make_job(update *work, const bd_qr_parts *f, int64_t n, int64_t k, int64_t b,
                       int call)
{
    bd_update_job job = work->job;
    job.call = call;
    job.m = f->m;
    job.q = f->q;
    job.ldq = f->ldq;
    job.r = f->r;
    job.ldr = f->ldr;
    job.n_in = (int)f->n;
    job.n = (int)n;
    job.k = (int)k;
    job.b = (int)b;
    job.width = b == 1 ? 1 : bd_update_group;
    return job;
}

bool aligned(const float *data, int64_t ld)
{
    return (uintptr_t)data % 16 == 0 && ld % 4 == 0;
}

/* Rotates (a slide) and projects, with inner products of what is left; returns the number of their
 * partials. */
int second_pass(update *work, const bd_update_job *job, bool vector)
{
    const bd_update_launch *launch = &work->launch;
    int64_t middle = vector ? job->m / 4 * 4 : 0;
    bd_update_rows rest = { 0, job->m, vector };
    int items = 0;
    if (middle && job->width == 1)
        items = bd_update_slide_pass(launch, job, { 0, middle, 1 });
    if (items) {
        if (middle == job->m)
            return items;
        rest = { middle, job->m, 0 };
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
    bd_update_rows all = { 0, job->m, vector };
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

} // namespace

/* A group at a time from the last to the first, so that no group's rotations go through columns
 * that are to go. */
void bd_update_rotations_remove(struct bd_update_work *work, const struct bd_qr_parts *f, int64_t k,
                                int64_t p, int call)
{
    struct bd_qr_parts now = *f;
    while (p > 0) {
        const int64_t b = smaller(p, bd_update_group), at = k + p - b, n = now.n - b;
        bd_update_job job = make_job(work, &now, n, at, b, call);
        bd_update_r_remove(&work->launch, &job);
        now.n = n;
        p -= b;
        if (!f->q || at == n)
            continue;
        bd_update_chain chain = { f->q + at * f->ldq, f->ldq, (int)(n + b - at),
                                  (int)(n - at),      (int)b, 0 };
        bd_update_rotate(&work->launch, &job, &chain, { 0, f->m, aligned(f->q, f->ldq) }, 0);
    }
}

enum bd_status bd_update_rotations_insert(struct bd_update_work *work, const struct bd_qr_parts *f,
                                          int64_t k, int64_t p, const float *u, int64_t ldu,
                                          int call)
{
    struct bd_qr_parts now = *f;
    bd_status status = BD_OK;
    while (p > 0 && status == BD_OK) {
        const int64_t b = smaller(p, bd_update_group), n = now.n, ldq = f->ldq;
        bd_update_job job = make_job(work, &now, n, k, b, call);
        job.u = u;
        job.ldu = ldu;
        status = append_group(work, &job, nullptr);
        bd_update_r_insert(&work->launch, &job);
        bd_update_chain chain = {
            f->q + (n + b - 1) * ldq, -ldq, (int)(n + b - k), (int)(n - k), (int)b, 1
        };
        if (k < n)
            bd_update_rotate(&work->launch, &job, &chain, { 0, f->m, aligned(f->q, ldq) }, 0);
        now.n += b;
        k += b;
        p -= b;
        u += b * ldu;
    }
    return status;
}

/* A group at once: R loses its columns while Q is read for the first time. */
static enum bd_status slide_group(update *work, const struct bd_qr_parts *f, int64_t p,
                                  const float *u, int64_t ldu, int call)
{
    bd_update_job job = make_job(work, f, f->n - p, 0, p, call);
    job.u = u;
    job.ldu = ldu;
    bd_update_launch beside = work->launch;
    beside.stream = work->side;
    cudaEventRecord(work->fork, work->launch.stream);
    cudaStreamWaitEvent(work->side, work->fork, 0);
    bd_update_r_remove(&beside, &job);
    cudaEventRecord(work->join, work->side);
    bd_status status = append_group(work, &job, work->join);
    job.k = job.n;
    bd_update_r_insert(&work->launch, &job);
    return status;
}

enum bd_status bd_update_rotations_slide(struct bd_update_work *work, const struct bd_qr_parts *f,
                                         int64_t p, const float *u, int64_t ldu, int call)
{
    if (p < f->n && p <= bd_update_group)
        return slide_group(work, f, p, u, ldu, call);
    bd_update_rotations_remove(work, f, 0, p, call);
    struct bd_qr_parts left = *f;
    left.n -= p;
    return bd_update_rotations_insert(work, &left, left.n, p, u, ldu, call);
}
