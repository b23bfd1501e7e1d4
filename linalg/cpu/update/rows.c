/* Rows that come and go, in blocks of up to bd_givens_most.
 *
 * Rows U that come are reduced to zero by R: [R; U] = T [R'; 0]. For rows that go, the spike is
 * their rows of Q, and of p directions beyond Q that have their unit vectors in the span,
 * transposed. Its elimination leaves zeros in these rows of Q but for p columns, which go too
 * (Daniel, Gragg, Kaufman, Stewart 1976; Hammarling, Lucas 2008, section 3.2). */
#include <string.h>

#include "linalg/cpu/update/update.h"

/* Moves `rows` rows of Q from row `from` to row `to`; rows that it leaves above become zero. */
struct move {
    float *q;
    int64_t ldq, from, to, rows;
};

static void move_column(void *arg, int64_t j, int thread)
{
    (void)thread;
    const struct move *move = arg;
    float *column = move->q + j * move->ldq;
    memmove(column + move->to, column + move->from, (size_t)move->rows * sizeof *column);
    if (move->to > move->from)
        memset(column + move->from, 0, (size_t)(move->to - move->from) * sizeof *column);
}

static void insert_block(struct bd_cpu_update *work, const struct bd_qr_parts *f, int64_t k,
                         int64_t p)
{
    struct bd_givens *givens = &work->givens;
    int64_t m = f->m;
    bd_givens_begin(givens, p, 0, f->n, 0, 0);
    bd_givens_absorb(givens, f->r, f->ldr, work->rows, f->n);
    if (f->q) {
        struct move move = { .q = f->q, .ldq = f->ldq, .from = k, .to = k + p, .rows = m - k };
        bd_pool_run(work->pool, move_column, &move, f->q_cols);
        const struct bd_givens_overlap overlap = { .unit = k,
                                                   .to = work->full_q ? f->q + m * f->ldq : NULL,
                                                   .ld_to = f->ldq };
        bd_givens_columns(givens, m + p, f->q, f->ldq, &overlap);
    }
    if (f->rhs) {
        const struct bd_givens_overlap overlap = { .from = work->rows_rhs,
                                                   .ld_from = bd_givens_most,
                                                   .to = f->q && work->full_q ? f->d + m : NULL,
                                                   .ld_to = f->ldd };
        bd_givens_rows(givens, f->rhs, f->d, f->ldd, &overlap, 0);
    }
}

enum bd_status bd_cpu_update_insert_rows(void *plan, const struct bd_qr_parts *f, int64_t k,
                                         int64_t p, const float *u, int64_t ldu, const float *e,
                                         int64_t lde)
{
    struct bd_cpu_update *work = plan;
    struct bd_qr_parts now = *f;
    enum bd_status status = bd_cpu_update_check(work, u, ldu, p, f->n);
    if (status == BD_OK && f->rhs)
        status = bd_cpu_update_check(work, e, lde, p, f->rhs);
    if (status != BD_OK)
        return status;
    for (int64_t row = 0; row < p; row += work->block_size) {
        int64_t b = p - row < work->block_size ? p - row : work->block_size;
        if (f->n) /* u may be NULL where it is empty */
            bd_cpu_copy(work->rows, bd_givens_most, u + row, ldu, b, f->n);
        if (f->rhs)
            bd_cpu_copy(work->rows_rhs, bd_givens_most, e + row, lde, b, f->rhs);
        insert_block(work, &now, k + row, b);
        now.m += f->q ? b : 0;
        now.q_cols += f->q && work->full_q ? b : 0;
    }
    return BD_OK;
}

/* Moves the columns of a full Q from n + p on, and the rows of d, to n. */
static void close_gap(const struct bd_qr_parts *f, int64_t p)
{
    int64_t left = f->q_cols - f->n - p;
    for (int64_t j = f->n; j < f->n + left; j++)
        memcpy(f->q + j * f->ldq, f->q + (j + p) * f->ldq, (size_t)f->m * sizeof *f->q);
    for (int64_t j = 0; j < f->rhs; j++) {
        float *d = f->d + f->n + j * f->ldd;
        memmove(d, d + p, (size_t)left * sizeof *d);
    }
}

static enum bd_status remove_block(struct bd_cpu_update *work, const struct bd_qr_parts *f,
                                   int64_t k, int64_t p)
{
    struct bd_givens *givens = &work->givens;
    const struct bd_directions d = { .q = f->q,
                                     .ldq = f->ldq,
                                     .m = f->m,
                                     .q_cols = f->q_cols,
                                     .p = p,
                                     .unit = k,
                                     .v = work->fresh,
                                     .ldv = work->lower_ld,
                                     .d = work->spike,
                                     .ldd = work->lower_ld,
                                     .s = work->spike_triangle };
    int full = work->full_q;
    enum bd_status status =
        full ? bd_update_full_directions(work, f, &d) : bd_update_directions(work, &d);
    if (status != BD_OK)
        return status;
    bd_givens_begin(givens, p, 0, f->n, 0, 1);
    bd_givens_eliminate(givens, work->spike, work->lower_ld, work->spike_triangle, f->r, f->ldr);
    const struct bd_givens_overlap nothing = { .unit = -1 };
    bd_givens_rows(givens, f->n, f->r, f->ldr, &nothing, 1);
    const struct bd_givens_overlap overlap = { .from = full ? f->q + f->n * f->ldq : work->fresh,
                                               .ld_from = full ? f->ldq : work->lower_ld };
    bd_givens_columns(givens, f->m, f->q, f->ldq, &overlap);
    if (full && f->rhs) {
        const struct bd_givens_overlap rhs = { .from = f->d + f->n, .ld_from = f->ldd };
        bd_givens_rows(givens, f->rhs, f->d, f->ldd, &rhs, 0);
    }
    if (full)
        close_gap(f, p);
    struct move move = { .q = f->q, .ldq = f->ldq, .from = k + p, .to = k, .rows = f->m - k - p };
    bd_pool_run(work->pool, move_column, &move, full ? f->q_cols - p : f->n);
    return BD_OK;
}

enum bd_status bd_cpu_update_remove_rows(void *plan, const struct bd_qr_parts *f, int64_t k,
                                         int64_t p)
{
    struct bd_cpu_update *work = plan;
    struct bd_qr_parts now = *f;
    enum bd_status status = bd_update_check_ld(f, 0);
    if (f->q_cols == 0)
        return BD_OK; /* there are no columns yet, and with them no rows */
    while (p > 0 && status == BD_OK) {
        int64_t b = p < work->block_size ? p : work->block_size;
        status = remove_block(work, &now, k, b);
        now.m -= b;
        now.q_cols -= work->full_q ? b : 0;
        p -= b;
    }
    return status;
}
