/* Columns that come and go, in blocks of up to bd_givens_most. */
#include <string.h>

#include "linalg/cpu/update/update.h"

/* Sweeps Q and d. Their overlap comes from column `from` of Q (row `from` of d) and is stored from
 * column `to` on, if there are as many of the `places` columns. */
static void follow(const struct bd_cpu_update *work, const struct bd_qr_parts *f, int64_t from,
                   int64_t to, int64_t places)
{
    const struct bd_givens *givens = &work->givens;
    int kept = to + givens->p <= places;
    if (f->q) {
        struct bd_givens_overlap overlap = { .from = f->q + from * f->ldq,
                                             .ld_from = f->ldq,
                                             .to = kept ? f->q + to * f->ldq : NULL,
                                             .ld_to = f->ldq };
        bd_givens_columns(givens, f->m, f->q, f->ldq, &overlap);
    }
    if (f->rhs) {
        struct bd_givens_overlap overlap = {
            .from = f->d + from, .ld_from = f->ldd, .to = kept ? f->d + to : NULL, .ld_to = f->ldd
        };
        bd_givens_rows(givens, f->rhs, f->d, f->ldd, &overlap, 0);
    }
}

/* Moves the columns of R from k + p on to the left by p. */
static void close_gap(const struct bd_qr_parts *f, int64_t k, int64_t p)
{
    for (int64_t j = k; j < f->n - p; j++)
        memcpy(f->r + j * f->ldr, f->r + (j + p) * f->ldr, (size_t)f->n * sizeof *f->r);
}

void bd_update_remove_blocks(struct bd_cpu_update *work, const struct bd_qr_parts *f, int64_t k,
                             int64_t p)
{
    struct bd_qr_parts left = *f;
    int full = work->full_q && f->q;
    while (p >
           0) { /* from the right, so that no block's sweep goes through columns that are to go */
        int64_t b = p < work->block_size ? p : work->block_size, from = k + p - b;
        int64_t stay = left.n - from - b;
        if (stay > 0) {
            close_gap(&left, from, b);
            bd_givens_begin(&work->givens, b, from + b, stay, -b, 0);
            bd_givens_lower(&work->givens, left.r, left.ldr, left.n - b);
            follow(work, &left, from, left.n - b, full ? left.q_cols : left.n - b);
        }
        left.n -= b;
        left.q_cols -= full ? 0 : b;
        p -= b;
    }
}

/* Moves the columns of R from k on to the right by p; the columns in between, and p rows below all
 * columns, become zero. */
static void open_gap(const struct bd_qr_parts *f, int64_t k, int64_t p)
{
    for (int64_t j = f->n - 1; j >= k; j--)
        memmove(f->r + (j + p) * f->ldr, f->r + j * f->ldr, (size_t)f->n * sizeof *f->r);
    for (int64_t j = k; j < k + p; j++)
        memset(f->r + j * f->ldr, 0, (size_t)f->n * sizeof *f->r);
    for (int64_t j = 0; j < f->n + p; j++)
        memset(f->r + f->n + j * f->ldr, 0, (size_t)p * sizeof *f->r);
}

/* Writes the new columns of R: rows 0 .. k-1 from the spike, rows k .. k+p-1 from its triangle. */
static void place_columns(const struct bd_cpu_update *work, const struct bd_qr_parts *f, int64_t k,
                          int64_t p)
{
    for (int64_t j = 0; j < p; j++) {
        float *column = f->r + (k + j) * f->ldr;
        memcpy(column, work->spike + j * work->lower_ld, (size_t)k * sizeof *column);
        memcpy(column + k, work->spike_triangle + j * bd_givens_ld,
               (size_t)(j + 1) * sizeof *column);
    }
}

/* Inserts a block of U before column k. */
static enum bd_status insert_block(struct bd_cpu_update *work, const struct bd_qr_parts *f,
                                   int64_t k, int64_t p, const float *u, int64_t ldu)
{
    int64_t n = f->n;
    struct bd_directions d = { .q = f->q,
                               .ldq = f->ldq,
                               .m = f->m,
                               .q_cols = f->q_cols,
                               .p = p,
                               .u = u,
                               .ldu = ldu,
                               .d = work->spike,
                               .ldd = work->lower_ld,
                               .s = work->spike_triangle };
    enum bd_status status;
    if (work->full_q) {
        status = bd_update_full_directions(work, f, &d);
    } else {
        d.v = f->q + n * f->ldq;
        d.ldv = f->ldq;
        status = bd_update_directions(work, &d);
    }
    if (status != BD_OK)
        return status;
    bd_givens_begin(&work->givens, p, k, n - k, p, 1);
    bd_givens_eliminate(&work->givens, work->spike + k, work->lower_ld, work->spike_triangle, f->r,
                        f->ldr);
    open_gap(f, k, p);
    const struct bd_givens_overlap overlap = { .unit = -1,
                                               .to = f->r + k + (k + p) * f->ldr,
                                               .ld_to = f->ldr };
    if (n > k)
        bd_givens_rows(&work->givens, n - k, f->r + (k + p) * f->ldr, f->ldr, &overlap, 1);
    place_columns(work, f, k, p);
    if (n > k) {
        struct bd_qr_parts tall = *f;
        tall.rhs = work->full_q ? f->rhs : 0; /* with a thin Q, the caller forms d again */
        follow(work, &tall, n, k, n + p);
    }
    return BD_OK;
}

enum bd_status bd_update_insert_blocks(struct bd_cpu_update *work, const struct bd_qr_parts *f,
                                       int64_t k, int64_t p, const float *u, int64_t ldu)
{
    enum bd_status status = bd_update_check_ld(f, ldu);
    if (status == BD_OK)
        status = bd_cpu_update_check(work, u, ldu, f->m, p);
    struct bd_qr_parts now = *f;
    int full = work->full_q && f->q;
    while (p > 0 && status == BD_OK) {
        int64_t b = p < work->block_size ? p : work->block_size;
        status = insert_block(work, &now, k, b, u, ldu);
        now.n += b;
        now.q_cols += full ? 0 : b;
        k += b;
        p -= b;
        u += b * ldu;
    }
    return status;
}
