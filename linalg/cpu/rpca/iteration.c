/* A batch Robust PCA iteration: two sweeps with an SVD in between. Both sweeps bring a block of
 * rows of M and T into cache and form X there. The first factors X into R (TSQR); the second
 * multiplies X by W and writes T. X and L are never stored. An iteration reads M and T twice and
 * writes T once: 14 bytes an element where M is bytes, 20 of a relaxed problem. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/shared/cpu.h"
#include "linalg/shared/kernels.h"
#include "linalg/shared/rpca_ops.h"
#include "linalg/shared/svd_ops.h"
#include "linalg/shared/tsqr.h"

enum {
    /* Rows of a block of T, a multiple of the 48 rows of a gemm tile; X, L and T of 100 columns
     * then take 290 KiB. With blocks of twice as many rows the second sweep takes 14 or 23 ms at
     * 110592 x 100, by how the pages fall into the 1 MiB of L2 cache. */
    block_rows = 240,
    /* Floats of a cache line. */
    line = 16,
    /* At least so many pieces of rows in the first sweep. The pieces do not depend on the number of
     * threads (as long as it divides 12), and so neither does any bit of the result. */
    least_slabs = 12,
    /* Numbers that a block of rows adds to a result, at most. */
    most_partial = 3
};

/* What X is multiplied by: W (n x n) whole, or F (n x rank) and F^T with W = F F^T, which is less
 * work while the rank is below n / 2. */
struct weights {
    float *w, *f, *ft; /* each with room for n x n, tight */
    int64_t rank;
    int whole;
};

struct rpca {
    struct bd_pool *pool;
    struct bd_cpu_memory memory;
    const struct bd_block_kernels *kernels;
    const struct bd_column_kernels *columns;
    struct bd_tsqr *tsqr;
    int64_t m, n, items, slab_rows;
    float *t;           /* T, block by block of rows: block_rows x n each, column-major */
    float *scratch;     /* threads x 3 x (block_rows + line) x n: X, L and X F */
    double *partial;    /* items x most_partial */
    struct bd_matrix x; /* M, or of a relaxed problem `copy` */
    float *copy;        /* m x n, tight: M, NaN where it is missing; NULL: not relaxed */
    /* The SVD of X. */
    void *svd;
    float *r, *sigma; /* n x n, n */
    struct weights weights;
    /* iterate is synchronous: outcomes wait here for poll. */
    struct bd_rpca_outcome outcomes[bd_rpca_ahead];
    int64_t done, polled; /* iterations since the start; those whose outcome was polled */
    int ended;
};

/* A loop over the rows. */
struct sweep {
    const struct rpca *plan;
    const struct bd_rpca_step *step;
    /* The start: M, and what of it is there, as the caller has them. */
    const struct bd_matrix *m, *observed;
    int get; /* L and S are wanted, else the new T */
    float *l, *s;
    int64_t ldl, lds;
};

/* Rows of a block of TSQR: its own choice for n columns, rounded to whole blocks of T. */
static int64_t tsqr_rows(int64_t n)
{
    int64_t blocks = bd_kernel_block_rows(n) / block_rows;
    return (blocks ? blocks : 1) * block_rows;
}

static void rpca_destroy(void *arg)
{
    struct rpca *plan = arg;
    if (!plan)
        return;
    bd_tsqr_destroy(&plan->tsqr);
    bd_cpu_svd_ops.destroy(plan->svd);
    bd_cpu_free_memory(&plan->memory);
    free(plan);
}

static enum bd_status rpca_create(struct bd_backend *backend, int64_t m, int64_t n, bool relaxed,
                                  void **out)
{
    struct rpca *plan = calloc(1, sizeof *plan);
    if (!plan)
        return bd_fail(BD_ERROR_MEMORY, "no memory for Robust PCA");
    plan->pool = bd_cpu_pool(backend);
    plan->kernels = bd_kernels()->block;
    plan->columns = bd_kernels()->column;
    plan->m = m;
    plan->n = n;
    plan->items = (m + block_rows - 1) / block_rows;
    int threads = bd_pool_threads(plan->pool);
    int64_t slabs = bd_round_up(least_slabs, threads);
    if (m < 4 * n * slabs)
        slabs = (m + 4 * n - 1) / (4 * n);
    enum bd_status status = bd_tsqr_create(&plan->tsqr, n, tsqr_rows(n), (int)slabs);
    if (status != BD_OK) {
        free(plan);
        return status;
    }
    int64_t unit = bd_tsqr_block_rows(plan->tsqr);
    plan->slab_rows = (m + slabs * unit - 1) / (slabs * unit) * unit;
    struct bd_cpu_memory *memory = &plan->memory;
    plan->t = bd_cpu_floats(memory, plan->items * block_rows * n);
    plan->scratch = bd_cpu_floats(memory, threads * 3 * (block_rows + line) * n);
    plan->partial = bd_cpu_doubles(memory, plan->items * most_partial);
    if (relaxed)
        plan->copy = bd_cpu_floats(memory, m * n);
    plan->r = bd_cpu_floats(memory, n * n);
    plan->weights.w = bd_cpu_floats(memory, n * n);
    plan->weights.f = bd_cpu_floats(memory, n * n);
    plan->weights.ft = bd_cpu_floats(memory, n * n);
    plan->sigma = bd_cpu_floats(memory, n);
    status = bd_cpu_svd_ops.create(backend, n, &plan->svd);
    if (status == BD_OK && memory->missing)
        status = bd_fail(BD_ERROR_MEMORY, "no memory for Robust PCA of %lld x %lld", (long long)m,
                         (long long)n);
    if (status != BD_OK) {
        rpca_destroy(plan);
        return status;
    }
    *out = plan;
    return BD_OK;
}

/* Rows `row` on of column j of a matrix. */
static const void *rows_of(const struct bd_matrix *x, int64_t row, int64_t j)
{
    return (const char *)x->data + (row + j * x->ld) * bd_type_size(x->type);
}

/* Column j of the block of T that begins with row `row`. */
static float *column_of_t(const struct rpca *plan, int64_t row, int64_t j)
{
    return plan->t + row * plan->n + j * block_rows;
}

static struct bd_column_clip clip_read(const struct bd_rpca_step *step)
{
    return (struct bd_column_clip){ step->scale_read, step->clip_read };
}

/* X (rows x n, ld) := rows row .. row + rows - 1 of M - E + Y/mu; they lie in one block of T, which
 * begins with row `row`. */
static void form_block(const struct rpca *plan, const struct bd_rpca_step *step, int64_t row,
                       int64_t rows, float *x, int64_t ld)
{
    const struct bd_column_kernels *columns = plan->columns;
    for (int64_t j = 0; j < plan->n; j++) {
        const float *t = column_of_t(plan, row, j);
        const void *m = rows_of(&plan->x, row, j);
        float *to = x + j * ld;
        if (plan->copy)
            columns->form_relaxed(rows, m, t, clip_read(step), step->dual_scale, to);
        else if (plan->x.type == BD_U8)
            columns->form_u8(rows, m, t, step->clip_read, step->dual_scale, to);
        else
            columns->form(rows, m, t, step->clip_read, step->dual_scale, to);
    }
}

/* T := 0 and the copy := NaN where M is missing, the copy := M elsewhere. Returns how many entries
 * are not missing. */
static int64_t copy_observed(int64_t rows, const uint8_t *observed, float *t, float *copy)
{
    int64_t count = 0;
    for (int64_t i = 0; i < rows; i++) {
        int seen = !observed || observed[i];
        copy[i] = seen ? t[i] : NAN;
        t[i] = seen ? t[i] : 0;
        count += seen;
    }
    return count;
}

static void start_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const struct sweep *sweep = arg;
    const struct rpca *plan = sweep->plan;
    int64_t row = item * block_rows, rows = bd_least(plan->m - row, block_rows);
    int64_t observed = 0;
    double square = 0, most = 0;
    for (int64_t j = 0; j < plan->n; j++) {
        float *t = column_of_t(plan, row, j);
        const void *m = rows_of(sweep->m, row, j);
        if (sweep->m->type == BD_U8)
            for (int64_t i = 0; i < rows; i++)
                t[i] = (float)((const uint8_t *)m)[i];
        else
            memcpy(t, m, (size_t)rows * sizeof *t);
        observed +=
            plan->copy
                ? copy_observed(rows, sweep->observed ? rows_of(sweep->observed, row, j) : NULL, t,
                                plan->copy + row + j * plan->m)
                : rows;
        square += plan->columns->square(rows, t);
        for (int64_t i = 0; i < rows; i++)
            most = fabs((double)t[i]) > most ? fabs((double)t[i]) : most;
    }
    double *partial = plan->partial + most_partial * item;
    partial[0] = square;
    partial[1] = most;
    partial[2] = (double)observed;
}

static void form_rows(const void *arg, int64_t row, int64_t rows, float *x, int64_t ld)
{
    const struct sweep *sweep = arg;
    for (int64_t i = 0; i < rows; i += block_rows)
        form_block(sweep->plan, sweep->step, row + i, bd_least(rows - i, block_rows), x + i, ld);
}

/* The SVD of X of this step. */
static enum bd_status decompose(struct rpca *plan, const struct bd_rpca_step *step)
{
    struct sweep sweep = { .plan = plan, .step = step };
    bd_tsqr_run(plan->tsqr, plan->pool, plan->m, plan->slab_rows, form_rows, &sweep, plan->r,
                plan->n);
    return bd_cpu_svd_ops.compute(plan->svd, plan->r, plan->n, plan->sigma, NULL, 0);
}

static enum bd_status rpca_start(void *arg, const struct bd_matrix *m,
                                 const struct bd_matrix *observed, struct bd_rpca_norms *norms)
{
    struct rpca *plan = arg;
    plan->x = plan->copy ? bd_matrix_host_view(plan->copy, plan->m, plan->n, plan->m) : *m;
    plan->done = plan->polled = plan->ended = 0;
    struct sweep sweep = { .plan = plan, .m = m, .observed = observed };
    bd_pool_run(plan->pool, start_item, &sweep, plan->items);
    double square = 0, most = 0, count = 0;
    for (int64_t i = 0; i < plan->items; i++) {
        const double *partial = plan->partial + most_partial * i;
        square += partial[0];
        most = fmax(most, partial[1]);
        count += partial[2];
    }
    if (!isfinite(square))
        return bd_fail(BD_ERROR_NUMERIC, "Robust PCA: the matrix holds NaN or Inf");
    const struct bd_rpca_step of_m = { .clip_read = FLT_MAX, .scale_read = 1 };
    enum bd_status status = decompose(plan, &of_m);
    *norms = (struct bd_rpca_norms){ sqrt(square), (double)plan->sigma[0], most, (int64_t)count };
    return status;
}

/* The weights of the last SVD: L = X W. */
static enum bd_status weigh(struct rpca *plan, double tau)
{
    struct weights *w = &plan->weights;
    enum bd_status status =
        bd_cpu_svd_ops.factor(plan->svd, w->f, plan->n, w->ft, plan->n, &w->rank, tau);
    w->whole = 2 * w->rank >= plan->n;
    if (status == BD_OK && w->whole)
        status = bd_cpu_svd_ops.weights(plan->svd, w->w, plan->n, &w->rank, tau);
    return status;
}

/* The rank of L: singular values that are more than float32 rounding of the largest. */
static int64_t rank_of_l(const struct rpca *plan, double tau)
{
    double least = tau + FLT_EPSILON * (double)plan->sigma[0];
    int64_t rank = 0;
    while (rank < plan->n && (double)plan->sigma[rank] > least)
        rank++;
    return rank;
}

/* L := X W, by the factors F and F^T where that is less work. X, L, part: rows x n, ld. */
static void multiply(const struct rpca *plan, int64_t rows, int64_t ld, const float *x, float *part,
                     float *l)
{
    const struct weights *w = &plan->weights;
    int64_t n = plan->n;
    if (w->whole) {
        plan->kernels->gemm(rows, n, n, x, ld, w->w, n, l, ld);
        return;
    }
    plan->kernels->gemm(rows, w->rank, n, x, ld, w->f, n, part, ld);
    plan->kernels->gemm(rows, n, w->rank, part, ld, w->ft, n, l, ld);
}

/* A column of a block: the new T and its part of the sums, or L and S. x, l: the column of X, L. */
static void update_column(const struct sweep *sweep, int64_t row, int64_t rows, int64_t j,
                          const float *x, const float *l, double *sums)
{
    const struct rpca *plan = sweep->plan;
    const struct bd_rpca_step *step = sweep->step;
    const struct bd_column_kernels *columns = plan->columns;
    const struct bd_column_clip read = clip_read(step),
                                write = { step->scale_write, step->clip_write };
    const float *m = plan->copy ? rows_of(&plan->x, row, j) : NULL;
    float *t = column_of_t(plan, row, j);
    float *s = sweep->s ? sweep->s + row + j * sweep->lds : NULL;
    if (!sweep->get && m)
        columns->renew_relaxed(rows, m, x, l, read, step->dual_scale, write, t, sums);
    else if (!sweep->get)
        columns->renew(rows, x, l, read.bound, step->dual_scale, write.bound, t, sums);
    if (sweep->l)
        memcpy(sweep->l + row + j * sweep->ldl, l, (size_t)rows * sizeof *l);
    if (s && m)
        columns->sparse_relaxed(rows, m, x, l, t, read, step->clip_sparse, s);
    else if (s)
        columns->sparse(rows, x, l, t, read.bound, step->clip_sparse, s);
}

static void update_item(void *arg, int64_t item, int thread)
{
    const struct sweep *sweep = arg;
    const struct rpca *plan = sweep->plan;
    int64_t row = item * block_rows, rows = bd_least(plan->m - row, block_rows);
    int64_t ld = block_rows + line, n = plan->n;
    float *x = plan->scratch + thread * 3 * ld * n, *l = x + ld * n, *part = l + ld * n;
    double *sums = plan->partial + most_partial * item;
    form_block(plan, sweep->step, row, rows, x, ld);
    multiply(plan, rows, ld, x, part, l);
    sums[0] = sums[1] = 0;
    for (int64_t j = 0; j < n; j++)
        update_column(sweep, row, rows, j, x + j * ld, l + j * ld, sums);
}

/* ||X - L||_F from the singular values: what the thresholding takes from each. */
static double norm_taken(const struct rpca *plan, const struct bd_rpca_step *step)
{
    double square = 0, unit = step->keep_svd ? 1 + (double)step->dual_scale : 1;
    for (int64_t i = 0; i < plan->n; i++) {
        double taken = fmin((double)plan->sigma[i], step->tau) * unit;
        square += taken * taken;
    }
    return sqrt(square);
}

static enum bd_status rpca_iterate(void *arg, const struct bd_rpca_step *step,
                                   const struct bd_rpca_stop *stop)
{
    struct rpca *plan = arg;
    struct sweep sweep = { .plan = plan, .step = step };
    if (plan->ended)
        return BD_OK;
    enum bd_status status = step->keep_svd ? BD_OK : decompose(plan, step);
    if (status == BD_OK)
        status = weigh(plan, step->tau);
    if (status != BD_OK)
        return status;
    bd_pool_run(plan->pool, update_item, &sweep, plan->items);
    double residual = 0, change = 0;
    for (int64_t i = 0; i < plan->items; i++) {
        residual += plan->partial[most_partial * i];
        change += plan->partial[most_partial * i + 1];
    }
    struct bd_rpca_outcome *outcome = &plan->outcomes[plan->done++ % bd_rpca_ahead];
    *outcome = (struct bd_rpca_outcome){ .residual = sqrt(residual),
                                         .change = sqrt(change),
                                         .dual = norm_taken(plan, step),
                                         .rank = rank_of_l(plan, step->tau) };
    plan->ended = outcome->stopped = !(outcome->residual >= stop->residual) &&
                                     !(outcome->change >= stop->change * outcome->dual);
    return BD_OK;
}

static enum bd_status rpca_poll(void *arg, int wait, struct bd_rpca_outcome *outcome, int *ready)
{
    (void)wait;
    struct rpca *plan = arg;
    *ready = plan->polled < plan->done;
    if (*ready)
        *outcome = plan->outcomes[plan->polled++ % bd_rpca_ahead];
    return BD_OK;
}

static enum bd_status rpca_get(void *arg, const struct bd_rpca_step *step, float *l, int64_t ldl,
                               float *s, int64_t lds)
{
    struct rpca *plan = arg;
    struct sweep sweep = {
        .plan = plan, .step = step, .get = 1, .l = l, .s = s, .ldl = ldl, .lds = lds
    };
    enum bd_status status = step->keep_svd ? BD_OK : decompose(plan, step);
    if (status == BD_OK)
        status = weigh(plan, step->tau);
    if (status == BD_OK)
        bd_pool_run(plan->pool, update_item, &sweep, plan->items);
    return status;
}

const struct bd_rpca_ops bd_cpu_rpca_ops = {
    .create = rpca_create,
    .destroy = rpca_destroy,
    .start = rpca_start,
    .iterate = rpca_iterate,
    .poll = rpca_poll,
    .get = rpca_get,
};
