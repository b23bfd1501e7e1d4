/* Blocked QR updating: columns that go and rows that come, by a banded Householder QR. */
#include "gpu/update/blocked/blocked.h"

namespace
{

int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* After the reflectors, which took the p columns at `front` as columns 0 .. p-1 and those of Q
 * after them: Q := all of them in this order, as far as there is room. */
enum bd_status order_columns(struct bd_cuda_blocked *work, const struct bd_qr_parts *f, int64_t p,
                             const float *front)
{
    const bool full = work->shape.full_q;
    const int64_t rows = f->m + p, stay = full ? f->q_cols : f->n - p;
    enum bd_status status = blocked_shift_right(work, f->q, f->ldq, rows, stay, p);
    if (status == BD_OK)
        status =
            blocked_copy(work, f->q, f->ldq, front, work->ld, rows, full ? p : smaller(p, f->n));
    return status;
}

/* work->h := [U; R] with the right-hand sides [E; d] on its right; p + n rows. */
enum bd_status stack_rows(struct bd_cuda_blocked *work, const struct bd_qr_parts *f, int64_t p,
                          const float *u, int64_t ldu, const float *e, int64_t lde)
{
    const int64_t n = f->n, ldh = work->ldh;
    float *const h = work->h;
    enum bd_status status = blocked_copy(work, h, ldh, u, ldu, p, n);
    if (status == BD_OK)
        status = blocked_copy(work, h + p, ldh, f->r, f->ldr, n, n);
    if (status == BD_OK)
        status = blocked_copy(work, h + n * ldh, ldh, e, lde, p, f->rhs);
    if (status == BD_OK)
        status = blocked_copy(work, h + p + n * ldh, ldh, f->d, f->ldd, n, f->rhs);
    return status;
}

enum bd_status insert_rows_group(struct bd_cuda_blocked *work, const struct bd_qr_parts *f,
                                 int64_t k, int64_t p, const float *u, int64_t ldu, const float *e,
                                 int64_t lde)
{
    const int64_t n = f->n, m = f->m, ldh = work->ldh;
    const bool full = f->q && work->shape.full_q;
    const struct blocked_right q = { f->q, f->ldq, m + p, work->extra, work->ld, p };
    enum bd_status status = stack_rows(work, f, p, u, ldu, e, lde);
    if (status == BD_OK && f->q) {
        status = blocked_open_rows(work, f->q, f->ldq, m, f->q_cols, k, p);
        if (status == BD_OK)
            status = blocked_clear(work, work->extra, work->ld, m + p, p);
        if (status == BD_OK)
            status = blocked_ones(work, work->extra, work->ld, k, p);
    }
    if (status == BD_OK)
        status = blocked_factor(work, work->h, ldh, p + n, n, n + f->rhs, p, f->q ? &q : NULL);
    if (status == BD_OK)
        status = blocked_copy_upper(work, f->r, f->ldr, work->h, ldh, n, n, 0);
    if (status == BD_OK && full && f->d)
        status = blocked_open_rows(work, f->d, f->ldd, m, f->rhs, n, p);
    if (status == BD_OK)
        status = blocked_copy(work, f->d, f->ldd, work->h + n * ldh, ldh, full ? n + p : n, f->rhs);
    if (status == BD_OK && f->q)
        status = order_columns(work, f, p, work->extra);
    return status;
}

} // namespace

extern "C" {

enum bd_status bd_cuda_blocked_insert_rows(struct bd_cuda_blocked *work,
                                           const struct bd_qr_parts *f, int64_t k, int64_t p,
                                           const float *u, int64_t ldu, const float *e, int64_t lde)
{
    const int64_t most = f->q ? work->group : work->row_group;
    struct bd_qr_parts now = *f;
    enum bd_status status = BD_OK;
    for (int64_t done = 0; done < p && status == BD_OK; done += most) {
        const int64_t count = smaller(most, p - done);
        status =
            insert_rows_group(work, &now, k + done, count, u + done, ldu, e ? e + done : NULL, lde);
        now.m += count;
        if (now.q && work->shape.full_q)
            now.q_cols += count;
    }
    return status;
}

enum bd_status bd_cuda_blocked_remove(struct bd_cuda_blocked *work, const struct bd_qr_parts *f,
                                      int64_t k, int64_t p)
{
    const int64_t n = f->n, cols = n - k - p, ldh = work->ldh, rhs = f->d ? f->rhs : 0;
    /* Row k of the columns on the right is aligned to 128 bytes. */
    float *const h = work->h + (32 - k % 32) % 32, *const d = h + k + cols * ldh;
    const struct blocked_right q = { f->q + k * f->ldq, f->ldq, f->m, NULL, 0, 0 };
    if (cols == 0)
        return BD_OK;
    enum bd_status status = blocked_copy(work, h, ldh, f->r + (k + p) * f->ldr, f->ldr, n, cols);
    if (status == BD_OK)
        status = blocked_copy(work, d, ldh, f->d + k, f->ldd, n - k, rhs);
    if (status == BD_OK)
        status = blocked_factor(work, h + k, ldh, n - k, cols, cols + rhs, p, f->q ? &q : NULL);
    if (status == BD_OK)
        status = blocked_copy_upper(work, f->r + k * f->ldr, f->ldr, h, ldh, n - p, cols, k);
    if (status == BD_OK)
        status = blocked_copy(work, f->d + k, f->ldd, d, ldh, n - k, rhs);
    return status;
}

} // extern "C"
