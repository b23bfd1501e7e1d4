/* Blocked QR updating: columns that go and rows that come, by a banded Householder QR. */
#include "gpu/update/blocked/blocked.h"

namespace
{

/* After the reflectors, which took the p columns at `front` as columns 0 .. p-1 and those of Q
 * after them: Q := all of them in this order, as far as there is room. */
void order_columns(struct bd_cuda_blocked *work, const struct bd_qr_parts *f, int64_t p,
                   const float *front)
{
    const bool full = work->shape.full_q;
    const int64_t rows = f->m + p, stay = full ? f->q_cols : f->n - p;
    blocked_move_columns(work, f->q, f->ldq, rows, 0, stay, p);
    blocked_copy(work, f->q, f->ldq, front, work->ld, rows, full ? p : smaller(p, f->n));
}

/* work->h := [U; R] with the right-hand sides [E; d] on its right; p + n rows. */
void stack_rows(struct bd_cuda_blocked *work, const struct bd_qr_parts *f, int64_t p,
                const float *u, int64_t ldu, const float *e, int64_t lde)
{
    const int64_t n = f->n, ldh = work->ldh;
    float *const h = work->h;
    blocked_copy(work, h, ldh, u, ldu, p, n);
    blocked_copy(work, h + p, ldh, f->r, f->ldr, n, n);
    blocked_copy(work, h + n * ldh, ldh, e, lde, p, f->rhs);
    blocked_copy(work, h + p + n * ldh, ldh, f->d, f->ldd, n, f->rhs);
}

/* Rows k .. rows - 1 of x (cols columns) move down by p, and rows k .. k + p - 1 become 0. */
void open_rows(struct bd_cuda_blocked *work, float *x, int64_t ld, int64_t rows, int64_t cols,
               int64_t k, int64_t p)
{
    blocked_move_rows(work, x, ld, k, rows - k, cols, p);
    blocked_clear(work, x + k, ld, p, cols);
}

void insert_rows_group(struct bd_cuda_blocked *work, const struct bd_qr_parts *f, int64_t k,
                       int64_t p, const float *u, int64_t ldu, const float *e, int64_t lde)
{
    const int64_t n = f->n, m = f->m, ldh = work->ldh;
    const bool full = f->q && work->shape.full_q;
    const struct blocked_right q = { f->q, f->ldq, m + p, work->extra, work->ld, p };
    stack_rows(work, f, p, u, ldu, e, lde);
    if (f->q) {
        open_rows(work, f->q, f->ldq, m, f->q_cols, k, p);
        blocked_clear(work, work->extra, work->ld, m + p, p);
        blocked_ones(work, work->extra, work->ld, k, p);
    }
    blocked_factor(work, work->h, ldh, p + n, n, n + f->rhs, p, f->q ? &q : NULL);
    blocked_copy_upper(work, f->r, f->ldr, work->h, ldh, n, n, 0);
    if (full && f->d)
        open_rows(work, f->d, f->ldd, m, f->rhs, n, p);
    blocked_copy(work, f->d, f->ldd, work->h + n * ldh, ldh, full ? n + p : n, f->rhs);
    if (f->q)
        order_columns(work, f, p, work->extra);
}

} // namespace

enum bd_status bd_cuda_blocked_insert_rows(struct bd_cuda_blocked *work,
                                           const struct bd_qr_parts *f, int64_t k, int64_t p,
                                           const float *u, int64_t ldu, const float *e, int64_t lde)
{
    const int64_t most = f->q ? work->group : work->row_group;
    struct bd_qr_parts now = *f;
    for (int64_t done = 0; done < p && work->status == BD_OK; done += most) {
        const int64_t count = smaller(most, p - done);
        insert_rows_group(work, &now, k + done, count, u + done, ldu, e ? e + done : NULL, lde);
        now.m += count;
        if (now.q && work->shape.full_q)
            now.q_cols += count;
    }
    return work->status;
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
    blocked_copy(work, h, ldh, f->r + (k + p) * f->ldr, f->ldr, n, cols);
    blocked_copy(work, d, ldh, f->d + k, f->ldd, n - k, rhs);
    blocked_factor(work, h + k, ldh, n - k, cols, cols + rhs, p, f->q ? &q : NULL);
    blocked_copy_upper(work, f->r + k * f->ldr, f->ldr, h, ldh, n - p, cols, k);
    blocked_copy(work, f->d + k, f->ldd, d, ldh, n - k, rhs);
    return work->status;
}
