/* QR updating on the CPU: the workspace, and the functions for columns and for R alone.
 *
 * There are two ways. Few columns of a tall thin Q come and go by rotations, which are made in
 * float64 and applied to Q in a pass at the speed of memory (r.c, q.c, append.c). More columns, all
 * rows, and the full Q are done by blocked Givens sweeps at the speed of matrix products
 * (givens_sweep.c, directions.c, blocks.c, rows.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/cpu/update/update.h"
#include "linalg/shared/kernels.h"
#include "linalg/shared/update_cost.h"
#include <backdrop/qr_update.h>

void bd_update_set_rows(struct bd_cpu_update *work, int64_t m)
{
    work->m = m;
    work->items = (m + work->item_rows - 1) / work->item_rows;
}

/* Memory for updates by rotations. */
static void make_passes(struct bd_cpu_update *work, int64_t max_block)
{
    struct bd_cpu_memory *memory = &work->memory;
    int64_t n = work->max_cols, group = bd_update_group;
    int64_t p = bd_least(max_block, group), sums = (n + 1) * group;
    work->transform.cs = bd_cpu_floats(memory, 2 * n * p);
    work->column = bd_cpu_doubles(memory, n + bd_givens_most);
    work->w = bd_cpu_doubles(memory, n * p);
    work->sums = bd_cpu_doubles(memory, sums);
    work->small = bd_cpu_floats(memory, n * group);
    work->partials = bd_cpu_doubles(memory, work->items * sums);
    work->pack = bd_cpu_floats(memory, bd_pool_threads(work->pool) * work->pack_size);
}

/* Memory for blocked updates. */
static void make_blocks(struct bd_cpu_update *work, const struct bd_qr_update_shape *shape)
{
    struct bd_cpu_memory *memory = &work->memory;
    int64_t p = bd_least(shape->max_block, bd_givens_most), n = work->max_cols;
    work->block_size = p;
    work->lower_ld = shape->max_rows;
    work->again = bd_cpu_floats(memory, n * p);
    work->spike = bd_cpu_floats(memory, bd_most(shape->max_rows, n) * p);
    work->fresh = bd_cpu_floats(memory, shape->max_rows * p);
    work->rows = bd_cpu_floats(memory, bd_givens_most * n);
    work->rows_rhs = bd_cpu_floats(memory, bd_givens_most * shape->max_rhs);
    work->triangle = bd_cpu_floats(memory, bd_givens_ld * bd_givens_ld);
    work->spike_triangle = bd_cpu_floats(memory, bd_givens_ld * bd_givens_ld);
    work->tau = bd_cpu_floats(memory, p);
    for (int kind = 0; kind < bd_direction_kinds; kind++)
        if (kind == 0 || bd_direction_width(kind - 1) < p)
            memory->missing |= bd_tsqr_create(&work->tsqr[kind], bd_direction_width(kind), 0,
                                              bd_direction_parts) != BD_OK;
    if (shape->full_q) {
        work->lapack_size = 64 * (bd_most(shape->max_rows, shape->max_rhs) + 80);
        work->lapack = bd_cpu_floats(memory, work->lapack_size);
    }
    bd_givens_create(&work->givens, memory, work->pool, n, p);
}

static void update_destroy(void *plan)
{
    struct bd_cpu_update *work = plan;
    if (!work)
        return;
    for (int kind = 0; kind < bd_direction_kinds; kind++)
        bd_tsqr_destroy(&work->tsqr[kind]);
    bd_cpu_free_memory(&work->memory);
    free(work);
}

static enum bd_status update_create(struct bd_backend *backend,
                                    const struct bd_qr_update_shape *shape, void **out)
{
    enum { most_items = 128, least_rows = 2048, unit = 512 };
    int64_t m = shape->max_rows;
    if (m > INT32_MAX)
        return bd_fail(BD_ERROR_UNSUPPORTED, "cpu: QR updating of %lld rows: BLAS takes at most %d",
                       (long long)m, INT32_MAX);
    struct bd_cpu_update *work = calloc(1, sizeof *work);
    if (!work)
        return bd_fail(BD_ERROR_MEMORY, "no memory for QR updating");
    work->full_q = shape->full_q;
    work->pool = bd_cpu_pool(backend);
    work->kernels = bd_kernels()->column;
    /* rows that go bring in as many directions, whatever n is */
    work->max_cols = bd_most(shape->max_cols, bd_least(shape->max_block, bd_givens_most));
    work->item_rows = (m / most_items + unit) / unit * unit;
    if (work->item_rows < least_rows)
        work->item_rows = least_rows;
    bd_update_set_rows(work, m);
    work->pack_size = (unit + 16) * work->max_cols;
    make_passes(work, shape->max_block);
    make_blocks(work, shape);
    if (work->memory.missing) {
        update_destroy(work);
        return bd_fail(BD_ERROR_MEMORY, "no memory for QR updating of %lld x %lld", (long long)m,
                       (long long)shape->max_cols);
    }
    *out = work;
    return BD_OK;
}

/* Rotations go through Q at the speed of memory, but through R one scalar after another: they are
 * faster for few columns, and where R is small against Q. Measured on one thread. */
static bool rotations_are_faster(int64_t m, int64_t n, int64_t p)
{
    return p <= bd_update_group && (n < 160 || (double)n * (2.3 + 0.9 * (double)p) <= (double)m);
}

/* always: so many columns are done by rotations in any case. */
static bool is_by_rotations(const struct bd_qr_parts *f, int64_t p, int64_t always)
{
    return p <= always || rotations_are_faster(f->m, f->n, p);
}

/* d follows the transformation of a removal. */
static void transform_rhs(struct bd_cpu_update *work, const struct bd_qr_parts *f)
{
    int64_t n = f->n;
    for (int64_t j = 0; j < f->rhs; j++) {
        float *d = f->d + j * f->ldd;
        for (int64_t i = 0; i < n; i++)
            work->column[i] = (double)d[i];
        bd_update_transform_rows(&work->transform, work->column, n, 1);
        for (int64_t i = 0; i < n; i++)
            d[i] = (float)work->column[i];
    }
}

static enum bd_status update_remove(void *plan, const struct bd_qr_parts *f, int64_t k, int64_t p)
{
    struct bd_cpu_update *work = plan;
    if (!is_by_rotations(f, p, 0)) {
        bd_update_remove_blocks(work, f, k, p);
        return BD_OK;
    }
    bd_update_r_remove(work, f->r, f->ldr, f->n, k, p);
    if (work->transform.steps == 0)
        return BD_OK;
    transform_rhs(work, f);
    if (!f->q)
        return BD_OK;
    struct bd_update_pass pass = {
        .q = f->q, .ldq = f->ldq, .n_in = f->n, .n = f->n - p, .transform = &work->transform
    };
    bd_update_set_rows(work, f->m);
    bd_update_run(work, &pass);
    return BD_OK;
}

static enum bd_status update_insert(void *plan, const struct bd_qr_parts *f, int64_t k, int64_t p,
                                    const float *u, int64_t ldu)
{
    struct bd_cpu_update *work = plan;
    int64_t n = f->n;
    if (!is_by_rotations(f, p, 2) || work->full_q)
        return bd_update_insert_blocks(work, f, k, p, u, ldu);
    bd_update_set_rows(work, f->m);
    enum bd_status status = bd_update_append(work, f->q, f->ldq, n, n, u, ldu, p, NULL);
    if (status != BD_OK)
        return status;
    bd_update_r_insert(work, f->r, f->ldr, n, k, p);
    struct bd_update_pass pass = {
        .q = f->q, .ldq = f->ldq, .n_in = n + p, .n = n + p, .transform = &work->transform
    };
    if (work->transform.steps > 0)
        bd_update_run(work, &pass);
    return BD_OK;
}

/* The factors when p columns have gone. */
static struct bd_qr_parts without(const struct bd_qr_parts *f, int64_t p, int full)
{
    struct bd_qr_parts left = *f;
    left.n -= p;
    left.q_cols -= full ? 0 : p;
    return left;
}

static enum bd_status update_slide(void *plan, const struct bd_qr_parts *f, int64_t p,
                                   const float *u, int64_t ldu)
{
    struct bd_cpu_update *work = plan;
    int64_t n = f->n;
    bd_update_set_rows(work, f->m);
    enum bd_status status = bd_cpu_update_check(work, u, ldu, f->m, p);
    if (status != BD_OK)
        return status;
    if (!is_by_rotations(f, p, 2) || work->full_q) {
        struct bd_qr_parts left = without(f, p, work->full_q);
        status = update_remove(work, f, 0, p);
        return status ? status : update_insert(work, &left, left.n, p, u, ldu);
    }
    bd_update_r_remove(work, f->r, f->ldr, n, 0, p);
    const struct bd_transform *transform = work->transform.steps > 0 ? &work->transform : NULL;
    status =
        bd_update_append(work, f->q, f->ldq, transform ? n : n - p, n - p, u, ldu, p, transform);
    if (status != BD_OK)
        return status;
    bd_update_r_insert(work, f->r, f->ldr, n - p, n - p, p);
    return BD_OK;
}

static enum bd_status update_append_gram(void *plan, float *r, int64_t ldr, int64_t n,
                                         const double *g)
{
    struct bd_cpu_update *work = plan;
    double *z = work->column, left = g[n] > 0 ? g[n] : 0;
    for (int64_t j = 0; j < n; j++) {
        const float *column = r + j * ldr;
        double rest = g[j], pivot = (double)column[j];
        for (int64_t i = 0; i < j; i++)
            rest -= (double)column[i] * z[i];
        /* ||z|| <= ||u||: only rounding, divided by a small pivot, can exceed that. */
        double most = sqrt(left);
        z[j] = pivot != 0 ? rest / pivot : 0;
        if (fabs(z[j]) > most)
            z[j] = copysign(most, z[j]);
        left -= z[j] * z[j];
        left = left > 0 ? left : 0;
    }
    z[n] = sqrt(left);
    for (int64_t j = 0; j <= n; j++)
        r[j + n * ldr] = (float)z[j];
    for (int64_t j = 0; j < n; j++)
        r[n + j * ldr] = 0;
    return BD_OK;
}

const struct bd_update_ops bd_cpu_update_ops = {
    .create = update_create,
    .destroy = update_destroy,
    .remove = update_remove,
    .insert = update_insert,
    .slide = update_slide,
    .insert_rows = bd_cpu_update_insert_rows,
    .remove_rows = bd_cpu_update_remove_rows,
    .check = bd_cpu_update_check,
    .project = bd_cpu_update_project,
    .solve = bd_cpu_update_solve,
    .costs = &bd_cpu_update_costs,
    .append_gram = update_append_gram,
};
