/* The two sweeps of a batch Robust PCA iteration. Both bring a block of rows of M and T into cache,
 * form X there and go on with it at once: the first folds it into R (TSQR), the second multiplies
 * it by W and writes T. X and L are never stored. What goes to and from memory is M twice and T
 * twice read and once written, 14 bytes an element from bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/cpu/cpu.h"
#include "linalg/cpu/kernels/kernels.h"
#include "linalg/cpu/tsqr.h"

enum {
    /* Rows of a block of T, a multiple of the 48 rows of a gemm tile; X, L and T of 100 columns
     * then take 290 KiB. With blocks of twice as many rows the second sweep takes 14 or 23 ms at
     * 110592 x 100, by how the pages fall into the 1 MiB of L2 cache. */
    block_rows = 240,
    /* Floats of a cache line. */
    line = 16,
    /* At least so many pieces of rows in the first sweep. The pieces do not depend on the number of
     * threads (as long as it divides 12), and so neither does any bit of the result. */
    least_slabs = 12
};

struct rpca {
    struct bd_pool *pool;
    const struct bd_block_kernels *kernels;
    const struct bd_column_kernels *columns;
    struct bd_tsqr *tsqr;
    int64_t m, n, items, slabs, slab_rows;
    float *t;        /* T, block by block of rows: block_rows x n each, column-major */
    float *scratch;  /* threads x 3 x (block_rows + line) x n: X, L and X F */
    double *partial; /* items x 2 */
    /* M */
    const void *x;
    int64_t ldx;
    enum bd_type type;
};

/* A loop over the rows. */
struct sweep {
    const struct rpca *plan;
    const struct bd_rpca_step *step;
    const struct bd_rpca_weights *weights;
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

enum bd_status bd_cpu_rpca_create(struct bd_backend *backend, int64_t m, int64_t n, void **out)
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
    plan->slabs = (least_slabs + threads - 1) / threads * threads;
    if (m < 4 * n * plan->slabs)
        plan->slabs = (m + 4 * n - 1) / (4 * n);
    enum bd_status status = bd_tsqr_create(&plan->tsqr, n, tsqr_rows(n), (int)plan->slabs);
    if (status != BD_OK) {
        free(plan);
        return status;
    }
    int64_t unit = bd_tsqr_block_rows(plan->tsqr);
    plan->slab_rows = (m + plan->slabs * unit - 1) / (plan->slabs * unit) * unit;
    plan->t = bd_cpu_alloc((size_t)(plan->items * block_rows * n) * sizeof(float));
    plan->scratch =
        bd_cpu_alloc((size_t)threads * 3 * (size_t)((block_rows + line) * n) * sizeof(float));
    plan->partial = bd_cpu_alloc((size_t)plan->items * 2 * sizeof(double));
    if (!plan->t || !plan->scratch || !plan->partial) {
        bd_cpu_rpca_destroy(plan);
        return bd_fail(BD_ERROR_MEMORY, "no memory for Robust PCA of %lld x %lld", (long long)m,
                       (long long)n);
    }
    *out = plan;
    return BD_OK;
}

void bd_cpu_rpca_destroy(void *arg)
{
    struct rpca *plan = arg;
    if (!plan)
        return;
    bd_tsqr_destroy(&plan->tsqr);
    free(plan->t);
    free(plan->scratch);
    free(plan->partial);
    free(plan);
}

/* Rows `row` on of column j of M. */
static const void *column_of_m(const struct rpca *plan, int64_t row, int64_t j)
{
    return (const char *)plan->x + (row + j * plan->ldx) * bd_type_size(plan->type);
}

/* Column j of the block of T that begins with row `row`. */
static float *column_of_t(const struct rpca *plan, int64_t row, int64_t j)
{
    return plan->t + row * plan->n + j * block_rows;
}

/* X (rows x n, ld) := rows row .. row + rows - 1 of M - S + Y/mu; they lie in one block of T, which
 * begins with row `row`. */
static void form_block(const struct rpca *plan, const struct bd_rpca_step *step, int64_t row,
                       int64_t rows, float *x, int64_t ld)
{
    const struct bd_column_kernels *columns = plan->columns;
    for (int64_t j = 0; j < plan->n; j++) {
        const float *t = column_of_t(plan, row, j);
        const void *m = column_of_m(plan, row, j);
        if (plan->type == BD_U8)
            columns->form_u8(rows, m, t, step->clip_read, step->dual_scale, x + j * ld);
        else
            columns->form(rows, m, t, step->clip_read, step->dual_scale, x + j * ld);
    }
}

static int64_t rows_from(const struct rpca *plan, int64_t row, int64_t most)
{
    return plan->m - row < most ? plan->m - row : most;
}

static void start_item(void *arg, int64_t item, int thread)
{
    (void)thread;
    const struct rpca *plan = ((const struct sweep *)arg)->plan;
    int64_t row = item * block_rows, rows = rows_from(plan, row, block_rows);
    double square = 0, most = 0;
    for (int64_t j = 0; j < plan->n; j++) {
        float *t = column_of_t(plan, row, j);
        const void *m = column_of_m(plan, row, j);
        if (plan->type == BD_U8)
            for (int64_t i = 0; i < rows; i++)
                t[i] = (float)((const uint8_t *)m)[i];
        else
            memcpy(t, m, (size_t)rows * sizeof *t);
        square += plan->columns->square(rows, t);
        for (int64_t i = 0; i < rows; i++)
            most = fabs((double)t[i]) > most ? fabs((double)t[i]) : most;
    }
    plan->partial[2 * item] = square;
    plan->partial[2 * item + 1] = most;
}

enum bd_status bd_cpu_rpca_start(void *arg, const void *x, int64_t ldx, enum bd_type type,
                                 double *norm_f, double *norm_max)
{
    struct rpca *plan = arg;
    plan->x = x;
    plan->ldx = ldx;
    plan->type = type;
    struct sweep sweep = { .plan = plan };
    bd_pool_run(plan->pool, start_item, &sweep, plan->items);
    double square = 0, most = 0;
    for (int64_t i = 0; i < plan->items; i++) {
        square += plan->partial[2 * i];
        most = fmax(most, plan->partial[2 * i + 1]);
    }
    if (!isfinite(square))
        return bd_fail(BD_ERROR_NUMERIC, "Robust PCA: the matrix holds NaN or Inf");
    *norm_f = sqrt(square);
    *norm_max = most;
    return BD_OK;
}

static void reduce_slab(void *arg, int64_t slab, int thread)
{
    (void)thread;
    const struct sweep *sweep = arg;
    const struct rpca *plan = sweep->plan;
    int64_t unit = bd_tsqr_block_rows(plan->tsqr), first = slab * plan->slab_rows, ld;
    int64_t end = first + plan->slab_rows < plan->m ? first + plan->slab_rows : plan->m;
    for (int64_t row = first; row < end; row += unit) {
        int64_t rows = end - row < unit ? end - row : unit;
        float *block = bd_tsqr_block(plan->tsqr, (int)slab, &ld);
        for (int64_t i = 0; i < rows; i += block_rows)
            form_block(plan, sweep->step, row + i, rows - i < block_rows ? rows - i : block_rows,
                       block + i, ld);
        bd_tsqr_push(plan->tsqr, (int)slab, rows);
    }
}

enum bd_status bd_cpu_rpca_reduce(void *arg, const struct bd_rpca_step *step, float *r, int64_t ldr)
{
    struct rpca *plan = arg;
    struct sweep sweep = { .plan = plan, .step = step };
    bd_tsqr_reset(plan->tsqr);
    bd_pool_run(plan->pool, reduce_slab, &sweep, plan->slabs);
    bd_tsqr_finish(plan->tsqr, r, ldr);
    return BD_OK;
}

/* L := X W, by the factors of W where it has them. X, L, part: rows x n, ld. */
static void multiply(const struct rpca *plan, const struct bd_rpca_weights *weights, int64_t rows,
                     int64_t ld, const float *x, float *part, float *l)
{
    int64_t n = plan->n;
    if (weights->w) {
        plan->kernels->gemm(rows, n, n, x, ld, weights->w, weights->ldw, l, ld);
        return;
    }
    plan->kernels->gemm(rows, weights->rank, n, x, ld, weights->f, weights->ldf, part, ld);
    plan->kernels->gemm(rows, n, weights->rank, part, ld, weights->ft, weights->ldft, l, ld);
}

static void update_item(void *arg, int64_t item, int thread)
{
    const struct sweep *sweep = arg;
    const struct rpca *plan = sweep->plan;
    const struct bd_column_kernels *columns = plan->columns;
    float bound = sweep->step->clip_read, next = sweep->step->clip_write;
    int64_t row = item * block_rows, rows = rows_from(plan, row, block_rows);
    int64_t ld = block_rows + line, n = plan->n;
    float *x = plan->scratch + thread * 3 * ld * n, *l = x + ld * n, *part = l + ld * n;
    form_block(plan, sweep->step, row, rows, x, ld);
    multiply(plan, sweep->weights, rows, ld, x, part, l);
    double square = 0;
    for (int64_t j = 0; j < n; j++) {
        float *t = column_of_t(plan, row, j);
        if (!sweep->get)
            square += columns->renew(rows, x + j * ld, l + j * ld, bound, sweep->step->dual_scale,
                                     next, t);
        if (sweep->l)
            memcpy(sweep->l + row + j * sweep->ldl, l + j * ld, (size_t)rows * sizeof *l);
        if (sweep->s)
            columns->sparse(rows, x + j * ld, l + j * ld, t, bound, next,
                            sweep->s + row + j * sweep->lds);
    }
    plan->partial[item] = square;
}

enum bd_status bd_cpu_rpca_update(void *arg, const struct bd_rpca_step *step,
                                  const struct bd_rpca_weights *weights, double *residual)
{
    struct rpca *plan = arg;
    struct sweep sweep = { .plan = plan, .step = step, .weights = weights };
    bd_pool_run(plan->pool, update_item, &sweep, plan->items);
    double square = 0;
    for (int64_t i = 0; i < plan->items; i++)
        square += plan->partial[i];
    *residual = sqrt(square);
    return BD_OK;
}

enum bd_status bd_cpu_rpca_get(void *arg, const struct bd_rpca_step *step,
                               const struct bd_rpca_weights *weights, float *l, int64_t ldl,
                               float *s, int64_t lds)
{
    struct rpca *plan = arg;
    struct sweep sweep = { plan, step, weights, 1, l, s, ldl, lds };
    bd_pool_run(plan->pool, update_item, &sweep, plan->items);
    return BD_OK;
}
