/* The cpu backend's CAQR: the orthogonal factor applied to other columns and formed. */
#include <string.h>

#include "linalg/cpu/qr/caqr.h"

struct apply_job {
    const struct caqr *plan;
    const struct caqr_panel *panel;
    int transposed;
    float *c;
    int64_t ldc, k;
    int64_t ranges; /* items a leaf or node: CAQR_RANGE columns each */
    int64_t step;   /* of the tree's level */
    int compact;    /* the tree: c is plan->tops, which has the tops only */
    int zero;       /* the leaves: tops come from plan->tops, all else is 0 on entry */
};

/* The row of C where a leaf's top is. */
static int64_t top_row(const struct apply_job *job, int64_t leaf)
{
    return job->compact ? leaf * job->plan->ldr : caqr_leaf_row(job->plan, job->panel, leaf);
}

/* apply_qt_tree: the tops of a node's children for a chunk of k columns at c. */
static void apply_node(const struct apply_job *job, const struct caqr_node *node,
                       const struct caqr_scratch *s, float *c, int64_t k)
{
    const struct caqr *plan = job->plan;
    int64_t n = job->panel->cols, rows = node->folded * n;
    float *first = c + top_row(job, node->first);
    caqr_load(s->d, plan->ldr, first, job->ldc, n, k);
    for (int64_t i = 0; i < node->folded; i++) /* in rising order: each pads into the next */
        caqr_load(s->c + i * n, plan->ldc, c + top_row(job, node->first + (i + 1) * node->step),
                  job->ldc, n, k);
    for (int64_t j = 0; j < k; j++)
        memset(s->c + j * plan->ldc + rows, 0, (size_t)(node->ldv - rows) * sizeof *c);
    plan->kernels->tpmqrt(job->transposed, rows, n, k, node->v, node->ldv, node->t, s->d, plan->ldr,
                          s->c, plan->ldc, s->work);
    bd_cpu_copy(first, job->ldc, s->d, plan->ldr, n, k);
    for (int64_t i = 0; i < node->folded; i++)
        bd_cpu_copy(c + top_row(job, node->first + (i + 1) * node->step), job->ldc, s->c + i * n,
                    plan->ldc, n, k);
}

static void apply_tree(void *arg, int64_t item, int thread)
{
    const struct apply_job *job = arg;
    struct caqr_node node = caqr_node(job->plan, job->panel, job->step, item / job->ranges);
    int64_t start = item % job->ranges * CAQR_RANGE, end = bd_least(start + CAQR_RANGE, job->k);
    if (!node.folded)
        return;
    for (int64_t j = start; j < end; j += CAQR_CHUNK)
        apply_node(job, &node, &job->plan->scratch[thread], job->c + j * job->ldc,
                   bd_least(CAQR_CHUNK, end - j));
}

/* The tree's levels, upwards for Q^T and downwards for Q. */
static void run_tree(struct apply_job *job)
{
    const struct caqr *plan = job->plan;
    int64_t top = 1, leaves = job->panel->leaves;
    if (leaves == 1)
        return;
    while (top * plan->arity < leaves)
        top *= plan->arity;
    for (job->step = job->transposed ? 1 : top; job->step >= 1 && job->step <= top;
         job->step = job->transposed ? job->step * plan->arity : job->step / plan->arity)
        bd_pool_run(plan->pool, apply_tree, job,
                    caqr_nodes(plan, job->panel, job->step) * job->ranges);
}

/* One sub-block (its reflectors in s->v) and its rows of C, for k columns whose top is d. */
static void apply_sub(const struct apply_job *job, const struct caqr_scratch *s, int64_t rows,
                      int first, const float *t, float *d, float *c, int64_t k)
{
    const struct caqr *plan = job->plan;
    const struct bd_block_kernels *kernels = plan->kernels;
    int64_t n = job->panel->cols;
    if (job->zero)
        memset(s->c, 0, (size_t)(plan->ldc * k) * sizeof *s->c);
    else
        caqr_load(s->c, plan->ldc, c, job->ldc, rows, k);
    if (!first) {
        kernels->tpmqrt(job->transposed, rows, n, k, s->v, plan->ldb, t, d, plan->ldr, s->c,
                        plan->ldc, s->work);
    } else {
        if (!job->transposed)
            bd_cpu_copy(s->c, plan->ldc, d, plan->ldr, n, k);
        kernels->gemqrt(job->transposed, rows, n, k, s->v, plan->ldb, t, s->c, plan->ldc, s->work);
        if (job->transposed)
            caqr_load(d, plan->ldr, s->c, plan->ldc, n, k);
    }
    bd_cpu_copy(c, job->ldc, s->c, plan->ldc, rows, k);
}

/* apply_qt_h: all sub-blocks of a leaf, downwards for Q^T and upwards for Q; columns start .. end -
 * 1 of C. Their top is kept in s->d meanwhile. */
static void apply_leaf(const struct apply_job *job, int64_t leaf, int64_t start, int64_t end,
                       const struct caqr_scratch *s)
{
    const struct caqr *plan = job->plan;
    const struct caqr_panel *panel = job->panel;
    int64_t leaf_rows = caqr_leaf_rows(plan, panel, leaf), n = panel->cols;
    int64_t subs = (leaf_rows + plan->sub_rows - 1) / plan->sub_rows;
    const float *v = plan->a + caqr_leaf_row(plan, panel, leaf) + panel->j0 * plan->lda;
    float *c = job->c + caqr_leaf_row(plan, panel, leaf) + start * job->ldc;
    if (job->zero)
        caqr_load(s->d, plan->ldr, plan->tops + leaf * plan->ldr + start * plan->ld_tops,
                  plan->ld_tops, n, end - start);
    else if (!job->transposed)
        caqr_load(s->d, plan->ldr, c, job->ldc, n, end - start);
    for (int64_t i = 0; i < subs; i++) {
        int64_t sub = job->transposed ? i : subs - 1 - i, row = sub * plan->sub_rows;
        int64_t rows = caqr_sub_rows(plan, leaf_rows, row);
        caqr_load(s->v, plan->ldb, v + row, plan->lda, rows, n);
        for (int64_t j = 0; j < end - start; j += CAQR_CHUNK)
            apply_sub(job, s, rows, sub == 0, caqr_leaf_t(plan, panel, leaf, sub),
                      s->d + j * plan->ldr, c + row + j * job->ldc,
                      bd_least(CAQR_CHUNK, end - start - j));
    }
    if (job->transposed)
        bd_cpu_copy(c, job->ldc, s->d, plan->ldr, n, end - start);
}

static void apply_leaves(void *arg, int64_t item, int thread)
{
    const struct apply_job *job = arg;
    int64_t start = item % job->ranges * CAQR_RANGE;
    apply_leaf(job, item / job->ranges, start, bd_least(start + CAQR_RANGE, job->k),
               &job->plan->scratch[thread]);
}

void caqr_apply_panel(struct caqr *plan, const struct caqr_panel *panel, int transposed, float *c,
                      int64_t ldc, int64_t k)
{
    struct apply_job job = { .plan = plan,
                             .panel = panel,
                             .transposed = transposed,
                             .c = c,
                             .ldc = ldc,
                             .k = k,
                             .ranges = (k + CAQR_RANGE - 1) / CAQR_RANGE };
    if (k == 0)
        return;
    if (!transposed)
        run_tree(&job);
    bd_pool_run(plan->pool, apply_leaves, &job, panel->leaves * job.ranges);
    if (transposed)
        run_tree(&job);
}

/* A leaf's rows of the panel's columns of Q. All columns in one item, because in place the result
 * replaces the reflectors, a sub-block at a time. */
static void form_leaf(void *arg, int64_t leaf, int thread)
{
    const struct apply_job *job = arg;
    apply_leaf(job, leaf, 0, job->k, &job->plan->scratch[thread]);
}

void caqr_form_panel(struct caqr *plan, const struct caqr_panel *panel, float *q, int64_t ldq)
{
    struct apply_job job = { .plan = plan,
                             .panel = panel,
                             .c = plan->tops,
                             .ldc = plan->ld_tops,
                             .k = panel->cols,
                             .ranges = (panel->cols + CAQR_RANGE - 1) / CAQR_RANGE,
                             .compact = 1 };
    for (int64_t j = 0; j < panel->cols; j++) {
        memset(plan->tops + j * plan->ld_tops, 0, (size_t)plan->ld_tops * sizeof(float));
        plan->tops[j + j * plan->ld_tops] = 1;
        memset(q + (panel->j0 + j) * ldq, 0, (size_t)panel->j0 * sizeof(float));
    }
    run_tree(&job);
    job.compact = 0;
    job.zero = 1;
    job.c = q + panel->j0 * ldq;
    job.ldc = ldq;
    bd_pool_run(plan->pool, form_leaf, &job, panel->leaves);
}

enum bd_status bd_cpu_qr_form_q(void *data, float *q, int64_t ldq)
{
    struct caqr *plan = data;
    if (plan->householder)
        return bd_householder_form_q(plan->householder, q, ldq, plan->n);
    /* From the last panel to the first: the columns formed so far are the later panels'. */
    for (int64_t i = plan->panels - 1; i >= 0; i--) {
        const struct caqr_panel *panel = &plan->panel[i];
        int64_t next = panel->j0 + panel->cols;
        caqr_apply_panel(plan, panel, 0, q + next * ldq, ldq, plan->n - next);
        caqr_form_panel(plan, panel, q, ldq);
    }
    return BD_OK;
}

enum bd_status bd_cpu_qr_form_full_q(void *data, float *q, int64_t ldq)
{
    struct caqr *plan = data;
    if (plan->householder)
        return bd_householder_form_q(plan->householder, q, ldq, plan->m);
    for (int64_t j = 0; j < plan->m; j++) {
        memset(q + j * ldq, 0, (size_t)plan->m * sizeof *q);
        q[j + j * ldq] = 1;
    }
    /* From the last panel to the first: the columns before a panel's are still the identity's. */
    for (int64_t i = plan->panels - 1; i >= 0; i--) {
        const struct caqr_panel *panel = &plan->panel[i];
        caqr_apply_panel(plan, panel, 0, q + panel->j0 * ldq, ldq, plan->m - panel->j0);
    }
    return BD_OK;
}

enum bd_status bd_cpu_qr_apply(void *data, enum bd_qr_op op, float *c, int64_t ldc, int64_t k)
{
    struct caqr *plan = data;
    int transposed = op == BD_QR_Q_TRANSPOSED;
    if (plan->householder)
        return bd_householder_apply(plan->householder, op, c, ldc, k);
    for (int64_t i = 0; i < plan->panels; i++)
        caqr_apply_panel(plan, &plan->panel[transposed ? i : plan->panels - 1 - i], transposed, c,
                         ldc, k);
    return BD_OK;
}
