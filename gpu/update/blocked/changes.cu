/* Blocked QR updating: columns that come and rows that go, by a blocked Givens sweep; columns that
 * go and rows that come, by a banded Householder QR. */
#include "gpu/update/blocked/blocked.h"

namespace
{

const int64_t none = INT64_MAX / 4; /* a diagonal below everything */

void sweep(struct bd_cuda_blocked *work, cudaStream_t stream, const struct givens_lines &lines)
{
    if (lines.x && work->status == BD_OK)
        work->status = givens_apply(work->cuda, stream, &work->sweep, &lines);
}

/* What a sweep is applied to, from the top row of its windows on. */
struct followers {
    struct givens_lines later; /* the columns of the spike on the right of this sweep's */
    struct givens_lines r, d, q;
};

/* A sweep that eliminates the spike at d, with its triangle at `overlap`: chain, transformations,
 * and passes. Streams beside make the passes over R and Q, so that the next chain, which one thread
 * block makes, need not wait for them. There is room for the transformations of two sweeps: those
 * of the next but one wait for the passes. */
void make_sweep(struct bd_cuda_blocked *work, int64_t rows, int width, const float *d, int64_t ldd,
                const float *overlap, const struct followers *f)
{
    const cudaStream_t stream = work->cuda->stream;
    const int slot = work->slot ^= 1;
    work->sweep.rows = rows;
    work->sweep.width = width;
    work->sweep.g = work->g[slot];
    if (work->status == BD_OK)
        work->status = givens_chain(stream, &work->sweep, d, ldd, overlap);
    /* This needs R of the sweep before this one, and the memory of G of the sweep before that. */
    cudaStreamWaitEvent(stream, work->swept_r[slot ^ 1], 0);
    cudaStreamWaitEvent(stream, work->swept_q[slot], 0);
    if (work->status == BD_OK)
        work->status = givens_form(stream, &work->sweep, f->r.x, f->r.ldx);
    cudaEventRecord(work->formed, stream);
    cudaStreamWaitEvent(work->side_r, work->formed, 0);
    cudaStreamWaitEvent(work->side_q, work->formed, 0);
    sweep(work, stream, f->later);
    sweep(work, stream, f->d);
    sweep(work, work->side_r, f->r);
    sweep(work, work->side_q, f->q);
    cudaEventRecord(work->swept_r[slot], work->side_r);
    cudaEventRecord(work->swept_q[slot], work->side_q);
}

/* What is enqueued next waits for the passes over R and Q. */
void join_sides(struct bd_cuda_blocked *work)
{
    cudaStreamWaitEvent(work->cuda->stream, work->swept_r[work->slot], 0);
    cudaStreamWaitEvent(work->cuda->stream, work->swept_q[work->slot], 0);
}

/* Reduces the rows of the spike (work->d, p columns) from n on to a triangle, by reflectors on the
 * columns of the full Q from n on; d follows. */
void reduce_below(struct bd_cuda_blocked *work, const struct bd_qr_parts *f, int64_t p)
{
    const int64_t n = f->n, below = f->m - n, ld = work->ldd;
    const struct blocked_right q = { f->q + n * f->ldq, f->ldq, f->m, NULL, 0, 0 };
    float *const d = work->d + n, *const rhs = d + p * ld;
    blocked_copy(work, rhs, ld, f->d ? f->d + n : NULL, f->ldd, below, f->rhs);
    blocked_factor(work, d, ld, below, p, p + f->rhs, below, &q);
    blocked_copy(work, f->d ? f->d + n : NULL, f->ldd, rhs, ld, below, f->rhs);
}

/* work->d := the spike of columns U: Q^T U, and below row n a triangle. Columns n .. n+p-1 of Q :=
 * the directions of that triangle; for a full Q only if `reduce`. */
void make_column_spike(struct bd_cuda_blocked *work, const struct bd_qr_parts *f, int64_t p,
                       const float *u, int64_t ldu, bool reduce)
{
    const int64_t m = f->m, n = f->n, ld = work->ldd;
    float *const d = work->d, *const x = f->q + n * f->ldq;
    blocked_multiply(work, f->q_cols, p, m, f->q, f->ldq, 1, u, ldu, 0, 1, 0, d, ld);
    if (f->q_cols > n && reduce)
        reduce_below(work, f, p);
    if (f->q_cols > n || n == m) /* with n = m nothing can come in */
        return;
    blocked_copy(work, x, f->ldq, u, ldu, m, p);
    blocked_multiply(work, m, p, n, f->q, f->ldq, 0, d, ld, 0, -1, 1, x, f->ldq);
    blocked_orthonormalise(work, f->q, f->ldq, m, n, x, f->ldq, p, u, ldu, 0, d, ld, d + n, ld);
}

/* Inserts the p columns of the spike into R at k, and p rows below. */
void place_columns(struct bd_cuda_blocked *work, const struct bd_qr_parts *f, int64_t k, int64_t p)
{
    const int64_t n = f->n, ldr = f->ldr, ld = work->ldd;
    float *const r = f->r, *const at = r + k * ldr;
    blocked_copy(work, work->h, work->ldh, at, ldr, n, n - k);
    blocked_copy(work, at + p * ldr, ldr, work->h, work->ldh, n, n - k);
    blocked_copy(work, at, ldr, work->d, ld, n, p);
    blocked_clear(work, r + n, ldr, p, n + p);
    blocked_copy_upper(work, at + n, ldr, work->d + n, ld, p, p, 0);
}

/* The sweep of columns c .. c + width - 1 of the p that are inserted at k. Its windows begin in row
 * k + c. */
void sweep_columns(struct bd_cuda_blocked *work, const struct bd_qr_parts *f, int64_t k, int64_t p,
                   int64_t c)
{
    const int width = (int)smaller(givens_most, p - c);
    const int64_t rows = f->n - k, top = k + c, ldr = f->ldr, ldq = f->ldq;
    float *const at = f->r + top, *const column = at + top * ldr;
    float *const later = column + width * ldr, *const q = f->q + top * ldq;
    float *const d = f->d && f->q_cols > f->n ? f->d + top : NULL;
    struct followers all = {};
    all.later = { later, ldr, p - c - width, 1, later + rows, ldr, later, width, none };
    all.r = { at + (k + p) * ldr, ldr, rows, 1, NULL, 0, at + (k + p) * ldr, width, 0 };
    if (d)
        all.d = { d, f->ldd, f->rhs, 1, d + rows, f->ldd, d, width, none };
    all.q = { q, ldq, f->m, 0, q + rows * ldq, ldq, q, width, none };
    make_sweep(work, rows, width, column, ldr, column + rows, &all);
    blocked_clear(work, column, ldr, rows + width, width);
    blocked_copy_upper(work, column, ldr, work->sweep.triangle, givens_most, width, width, 0);
}

/* Whether so few columns follow those inserted that it is faster to factor all of them as a dense
 * matrix. On an H100 a sweep of 64 columns takes 0.3 ms however short it is, and reflectors are
 * applied to Q at 20 TFLOP/s. */
bool is_dense(const struct bd_qr_parts *f, int64_t k, int64_t p)
{
    const double below = (double)((f->q_cols > f->n ? f->m : f->n + p) - k);
    const double sweeps = (double)((p + givens_most - 1) / givens_most);
    const int64_t rows = f->n - k;
    return rows <= blocked_dense &&
           4 * (double)f->m * below * (double)rows / 20e12 < 0.3e-3 * sweeps;
}

/* Inserts p columns at k: they and the columns on their right are factored from row k on. */
void insert_dense(struct bd_cuda_blocked *work, const struct bd_qr_parts *f, int64_t k, int64_t p,
                  const float *u, int64_t ldu)
{
    const int64_t m = f->m, n = f->n, ld = work->ldd, right = n - k, ldr = f->ldr;
    const bool full = f->q_cols > n;
    const int64_t rows = (full ? m : n + p) - k, rhs = full ? f->rhs : 0;
    float *const d = work->d + k, *const old = d + p * ld, *const b = old + right * ld;
    const struct blocked_right q = { f->q + k * f->ldq, f->ldq, m, NULL, 0, 0 };
    make_column_spike(work, f, p, u, ldu, false);
    blocked_clear(work, old + right, ld, rows - right, right);
    blocked_copy(work, old, ld, f->r + k + k * ldr, ldr, right, right);
    if (rhs)
        blocked_copy(work, b, ld, f->d + k, f->ldd, rows, rhs);
    blocked_factor(work, d, ld, rows, p + right, p + right + rhs, rows, &q);
    if (rhs)
        blocked_copy(work, f->d + k, f->ldd, b, ld, rows, rhs);
    /* Above row k the columns only move. */
    blocked_copy(work, work->d + p * ld, ld, f->r + k * ldr, ldr, k, right);
    blocked_clear(work, f->r + n, ldr, p, k);
    blocked_copy_upper(work, f->r + k * ldr, ldr, work->d, ld, n + p, p + right, k);
}

void insert_group(struct bd_cuda_blocked *work, const struct bd_qr_parts *f, int64_t k, int64_t p,
                  const float *u, int64_t ldu)
{
    if (k < f->n && is_dense(f, k, p)) {
        insert_dense(work, f, k, p, u, ldu);
        return;
    }
    make_column_spike(work, f, p, u, ldu, true);
    place_columns(work, f, k, p);
    for (int64_t c = 0; c < p && k < f->n; c += givens_most)
        sweep_columns(work, f, k, p, c);
    join_sides(work);
}

/* work->d := the spike of rows k .. k+p-1, which are to go: these rows of Q, transposed, and below
 * row n a triangle. *x: the p columns of that triangle, orthonormal to those of Q, so that the unit
 * vectors of these rows are in the span of all together. */
void make_row_spike(struct bd_cuda_blocked *work, const struct bd_qr_parts *f, int64_t k, int64_t p,
                    float **x, int64_t *ldx)
{
    const int64_t m = f->m, n = f->n, ld = work->ldd;
    float *const d = work->d;
    blocked_transpose(work, d, ld, f->q + k, f->ldq, p, f->q_cols);
    if (f->q_cols > n) {
        *x = f->q + n * f->ldq;
        *ldx = f->ldq;
        reduce_below(work, f, p);
        return;
    }
    *x = work->extra;
    *ldx = work->ld;
    blocked_clear(work, *x, *ldx, m, p);
    blocked_ones(work, *x, *ldx, k, p);
    blocked_multiply(work, m, p, n, f->q, f->ldq, 0, d, ld, 0, -1, 1, *x, *ldx);
    blocked_orthonormalise(work, f->q, f->ldq, m, n, *x, *ldx, p, NULL, 0, k, d, ld, d + n, ld);
}

/* The sweep of columns c .. of the spike of rows; x: as make_row_spike left it. Its last overlap is
 * the rows that go (of R), and unit vectors (of Q). */
void sweep_rows_out(struct bd_cuda_blocked *work, const struct bd_qr_parts *f, int64_t p, int64_t c,
                    const float *x, int64_t ldx)
{
    const int width = (int)smaller(givens_most, p - c);
    const int64_t n = f->n, ld = work->ldd;
    float *const spike = work->d + c * ld, *const later = spike + width * ld;
    struct followers all = {};
    all.later = { later, ld, p - c - width, 1, later + n + c, ld, NULL, 0, none };
    all.r = { f->r, f->ldr, n, 1, NULL, 0, NULL, 0, 0 };
    if (f->d && f->q_cols > n)
        all.d = { f->d, f->ldd, f->rhs, 1, f->d + n + c, f->ldd, NULL, 0, none };
    all.q = { f->q, f->ldq, f->m, 0, x + c * ldx, ldx, NULL, 0, none };
    make_sweep(work, n, width, spike, ld, spike + n + c, &all);
}

void remove_rows_group(struct bd_cuda_blocked *work, const struct bd_qr_parts *f, int64_t k,
                       int64_t p)
{
    const int64_t m = f->m, n = f->n;
    float *x;
    int64_t ldx;
    make_row_spike(work, f, k, p, &x, &ldx);
    for (int64_t c = 0; c < p; c += givens_most)
        sweep_rows_out(work, f, p, c, x, ldx);
    join_sides(work);
    blocked_move_rows(work, f->q, f->ldq, k + p, m - k - p, f->q_cols, -p);
    if (f->q_cols > n)
        blocked_move_columns(work, f->q, f->ldq, m - p, n + p, m - n - p, -p);
    if (f->d && f->q_cols > n)
        blocked_move_rows(work, f->d, f->ldd, n + p, m - n - p, f->rhs, -p);
}

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

enum bd_status bd_cuda_blocked_insert(struct bd_cuda_blocked *work, const struct bd_qr_parts *f,
                                      int64_t k, int64_t p, const float *u, int64_t ldu)
{
    struct bd_qr_parts now = *f;
    for (int64_t done = 0; done < p && work->status == BD_OK; done += work->group) {
        const int64_t count = smaller(work->group, p - done);
        insert_group(work, &now, k + done, count, u + done * ldu, ldu);
        now.n += count;
        if (!work->shape.full_q)
            now.q_cols += count;
    }
    return work->status;
}

enum bd_status bd_cuda_blocked_remove_rows(struct bd_cuda_blocked *work,
                                           const struct bd_qr_parts *f, int64_t k, int64_t p)
{
    struct bd_qr_parts now = *f;
    for (int64_t done = 0; done < p && work->status == BD_OK; done += work->group) {
        const int64_t count = smaller(work->group, p - done);
        remove_rows_group(work, &now, k, count);
        now.m -= count;
        if (work->shape.full_q)
            now.q_cols -= count;
    }
    return work->status;
}

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
