/* The cpu backend's CAQR: the plan and the factorisation. */
#include "linalg/cpu/qr/caqr.h"

#include <stdlib.h>
#include <string.h>

#include "linalg/shared/kernels.h"

enum {
    WIDEST_PANEL = 192, /* up to here one panel takes all columns */
    WIDE_PANEL_COLS = 64,
    LEAVES_PER_THREAD = 4,
    SUBS_PER_LEAF = 8 /* sub-blocks in a leaf, at most */
};

void caqr_load(float *to, int64_t ldt, const float *from, int64_t ldf, int64_t rows, int64_t cols)
{
    int64_t padding = bd_round_up(rows, bd_kernel_rows) - rows;
    for (int64_t j = 0; j < cols; j++) {
        memcpy(to + j * ldt, from + j * ldf, (size_t)rows * sizeof *to);
        memset(to + j * ldt + rows, 0, (size_t)padding * sizeof *to);
    }
}

int64_t caqr_leaf_row(const struct caqr *plan, const struct caqr_panel *panel, int64_t leaf)
{
    return panel->j0 + leaf * plan->block_rows;
}

/* The last leaf also has the rows that are too few for a leaf of their own. */
int64_t caqr_leaf_rows(const struct caqr *plan, const struct caqr_panel *panel, int64_t leaf)
{
    int64_t row = caqr_leaf_row(plan, panel, leaf);
    return leaf + 1 < panel->leaves ? plan->block_rows : plan->m - row;
}

int64_t caqr_sub_rows(const struct caqr *plan, int64_t leaf_rows, int64_t row)
{
    return bd_least(plan->sub_rows, leaf_rows - row);
}

float *caqr_leaf_t(const struct caqr *plan, const struct caqr_panel *panel, int64_t leaf,
                   int64_t sub)
{
    int64_t size = bd_kernel_inner * bd_round_up(panel->cols, bd_kernel_inner);
    return panel->t + (leaf * plan->max_subs + sub) * size;
}

int64_t caqr_nodes(const struct caqr *plan, const struct caqr_panel *panel, int64_t step)
{
    int64_t entries = (panel->leaves + step - 1) / step;
    return (entries + plan->arity - 1) / plan->arity;
}

struct caqr_node caqr_node(const struct caqr *plan, const struct caqr_panel *panel, int64_t step,
                           int64_t index)
{
    int64_t entries = (panel->leaves + step - 1) / step;
    /* Every leaf but the first is folded once: `before` of them before this node's. */
    int64_t before = panel->leaves - entries + index * (plan->arity - 1);
    struct caqr_node node = {
        .first = index * plan->arity * step,
        .step = step,
        .folded = bd_least(plan->arity, entries - index * plan->arity) - 1,
        .v = panel->tree + before * plan->ldr * panel->cols,
        .t = panel->tree_t + before * bd_kernel_inner * bd_round_up(panel->cols, bd_kernel_inner),
    };
    node.ldv = bd_round_up(node.folded * panel->cols, bd_kernel_rows);
    return node;
}

/* Leaves of a panel from row j0 down: too few rows for a leaf belong to the last one. */
static int64_t count_leaves(const struct caqr *plan, int64_t j0, int64_t cols)
{
    int64_t rows = plan->m - j0, leaves = rows / plan->block_rows;
    if (rows - leaves * plan->block_rows >= cols)
        leaves++;
    return bd_most(leaves, 1);
}

static void choose_shape(struct caqr *plan, const struct bd_qr_options *options)
{
    int64_t threads = bd_pool_threads(plan->pool);
    int64_t cols = plan->n <= WIDEST_PANEL ? plan->n : WIDE_PANEL_COLS;
    if (options && options->panel_cols)
        cols = bd_least(options->panel_cols, plan->n);
    else if (options && options->block_rows)
        cols = bd_least(cols, options->block_rows / 2);
    /* Joining a leaf costs as much as panel_cols more rows of it; a long leaf is a long sequence of
     * folds, each of which adds its rounding; and the threads should get equally many leaves. */
    int64_t share = LEAVES_PER_THREAD * threads;
    int64_t leaves = bd_round_up(plan->m / (SUBS_PER_LEAF * bd_kernel_block_rows(cols)) + 1, share);
    int64_t rows = bd_most(bd_round_up(plan->m / leaves + 1, bd_kernel_rows), 16 * cols);
    if (options && options->block_rows)
        rows = options->block_rows;
    rows = bd_least(rows, plan->m);
    plan->block_rows = rows;
    plan->panel_cols = cols;
    plan->arity = bd_most(rows / cols, 2);
    plan->panels = (plan->n + cols - 1) / cols;
    /* The first sub-block of a leaf must hold an R. */
    plan->sub_rows = bd_most(bd_kernel_block_rows(cols), bd_round_up(cols, bd_kernel_rows));
    int64_t longest = bd_least(rows + cols, plan->m);
    plan->max_subs = (longest + plan->sub_rows - 1) / plan->sub_rows;
    plan->ldr = bd_round_up(cols, bd_kernel_rows);
    plan->ldb = bd_round_up(bd_least(longest, plan->sub_rows), 32) + 16;
    int64_t folded = bd_least(plan->arity, count_leaves(plan, 0, cols)) - 1;
    plan->ldc = bd_most(plan->ldb, bd_round_up(folded * cols, 32) + 16);
}

/* Gives the panels their parts of `memory`; returns the floats needed. With NULL only counts. */
static int64_t place_panels(struct caqr *plan, float *memory)
{
    int64_t used = 0;
    for (int64_t i = 0; i < plan->panels; i++) {
        struct caqr_panel *panel = &plan->panel[i];
        panel->j0 = i * plan->panel_cols;
        panel->cols = bd_least(plan->panel_cols, plan->n - panel->j0);
        panel->leaves = count_leaves(plan, panel->j0, panel->cols);
        int64_t t = bd_kernel_inner * bd_round_up(panel->cols, bd_kernel_inner);
        int64_t r = plan->ldr * panel->cols;
        float **parts[] = { &panel->t, &panel->r, &panel->tree, &panel->tree_t };
        int64_t sizes[] = { panel->leaves * plan->max_subs * t, panel->leaves * r,
                            panel->leaves * r, panel->leaves * t };
        for (int k = 0; k < 4; k++) {
            *parts[k] = memory ? memory + used : NULL;
            used += bd_round_up(sizes[k], bd_kernel_rows);
        }
    }
    return used;
}

static bool alloc_plan(struct caqr *plan)
{
    struct bd_cpu_memory *memory = &plan->memory;
    int threads = bd_pool_threads(plan->pool);
    plan->panel = bd_cpu_take(memory, (size_t)plan->panels * sizeof *plan->panel);
    plan->scratch = bd_cpu_take(memory, (size_t)threads * sizeof *plan->scratch);
    if (memory->missing)
        return false;
    place_panels(plan, bd_cpu_floats(memory, place_panels(plan, NULL)));
    plan->ld_tops = plan->panel[0].leaves * plan->ldr;
    plan->tops = bd_cpu_floats(memory, plan->ld_tops * plan->panel_cols);
    plan->r = bd_cpu_floats(memory, plan->n * plan->n);
    for (int i = 0; i < threads; i++) {
        struct caqr_scratch *s = &plan->scratch[i];
        int64_t work = bd_kernel_work(plan->ldc, bd_most(plan->panel_cols, CAQR_CHUNK));
        s->v = bd_cpu_floats(memory, plan->ldb * plan->panel_cols);
        s->c = bd_cpu_floats(memory, plan->ldc * CAQR_CHUNK);
        s->d = bd_cpu_floats(memory, plan->ldr * bd_most(CAQR_RANGE, plan->panel_cols));
        s->work = bd_cpu_floats(memory, work);
    }
    return !memory->missing;
}

static void qr_destroy(void *data)
{
    struct caqr *plan = data;
    if (!plan)
        return;
    bd_tsqr_destroy(&plan->tsqr);
    bd_householder_destroy(&plan->householder);
    qr_destroy(plan->inner);
    bd_cpu_free_memory(&plan->memory);
    free(plan);
}

static struct caqr *create_plan(struct bd_pool *pool, int64_t m, int64_t n,
                                const struct bd_qr_options *options)
{
    struct caqr *plan = calloc(1, sizeof *plan);
    if (!plan)
        return NULL;
    *plan = (struct caqr){ .kernels = bd_kernels()->block, .pool = pool, .m = m, .n = n };
    choose_shape(plan, options);
    if (!alloc_plan(plan)) {
        qr_destroy(plan);
        return NULL;
    }
    return plan;
}

/* A plan for LAPACK's Householder QR, which every function of the table then calls. */
static enum bd_status create_householder(int64_t m, int64_t n, void **out)
{
    struct caqr *plan = calloc(1, sizeof *plan);
    if (!plan)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a QR plan");
    *plan = (struct caqr){ .m = m, .n = n };
    enum bd_status status = bd_householder_create(&plan->householder, m, n);
    if (status != BD_OK)
        free(plan);
    else
        *out = plan;
    return status;
}

static enum bd_status qr_create(struct bd_backend *backend, int64_t m, int64_t n,
                                const struct bd_qr_options *options, void **out)
{
    *out = NULL;
    if (options && options->method == BD_QR_CHOLESKY)
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "the cpu backend has no Cholesky QR: use BD_QR_AUTO, BD_QR_CAQR or "
                       "BD_QR_HOUSEHOLDER");
    if (options && options->method == BD_QR_HOUSEHOLDER)
        return create_householder(m, n, out);
    struct bd_pool *pool = bd_cpu_pool(backend);
    struct caqr *plan = create_plan(pool, m, n, options);
    if (!plan)
        goto error;
    /* Each stream of rows has its own R and costs as much as n more rows; more streams than threads
     * even out the other load of the machine. Wide matrices have too few rows for that. */
    int64_t streams = LEAVES_PER_THREAD * bd_pool_threads(pool);
    int64_t possible = bd_least(streams, bd_most(1, m / (8 * n)));
    if (n <= WIDEST_PANEL || possible == streams) {
        if (bd_tsqr_create(&plan->tsqr, n, 0, (int)possible) != BD_OK)
            goto error;
    } else {
        plan->inner = create_plan(pool, m, n, NULL);
        plan->copy = bd_cpu_floats(&plan->memory, m * n);
        if (!plan->inner || !plan->copy)
            goto error;
    }
    *out = plan;
    return BD_OK;

error:
    qr_destroy(plan);
    return bd_fail(BD_ERROR_MEMORY, "no memory for the QR of a %lld x %lld matrix", (long long)m,
                   (long long)n);
}

/* NaN and Inf in A are in R's column too. */
static enum bd_status check_finite(const float *r, int64_t ldr, int64_t n)
{
    float sum = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++)
            sum += 0 * r[i + j * ldr];
    return sum == 0 ? BD_OK : bd_fail(BD_ERROR_NUMERIC, "QR: the matrix is not finite");
}

static enum bd_status qr_thin(void *data, const float *a, int64_t lda, float *q, int64_t ldq,
                              float *r, int64_t ldr)
{
    struct caqr *plan = data;
    if (q != a)
        bd_cpu_copy(q, ldq, a, lda, plan->m, plan->n);
    enum bd_status status = bd_cpu_qr_factor(plan, q, ldq);
    if (status == BD_OK)
        status = bd_cpu_qr_get_r(plan, r, ldr);
    if (status == BD_OK)
        status = bd_cpu_qr_form_q(plan, q, ldq);
    return status == BD_OK ? check_finite(r, ldr, plan->n) : status;
}

const struct bd_qr_ops bd_cpu_qr_ops = {
    .create = qr_create,
    .destroy = qr_destroy,
    .factor = bd_cpu_qr_factor,
    .get_r = bd_cpu_qr_get_r,
    .form_q = bd_cpu_qr_form_q,
    .form_full_q = bd_cpu_qr_form_full_q,
    .apply = bd_cpu_qr_apply,
    .reduce = bd_cpu_qr_reduce,
    .thin = qr_thin,
};
