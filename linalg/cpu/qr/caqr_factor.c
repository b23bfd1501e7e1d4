/* The cpu backend's CAQR: factorisation and R. */
#include <string.h>

#include "linalg/cpu/qr/caqr.h"

struct factor_job {
    struct caqr *plan;
    const struct caqr_panel *panel;
    float *a;
    int64_t lda, step;
};

/* factor: a leaf's sub-blocks, one after the other, into the leaf's R. */
static void factor(void *arg, int64_t leaf, int thread)
{
    const struct factor_job *job = arg;
    const struct caqr *plan = job->plan;
    const struct caqr_panel *panel = job->panel;
    const struct caqr_scratch *s = &plan->scratch[thread];
    int64_t n = panel->cols, leaf_rows = caqr_leaf_rows(plan, panel, leaf);
    float *a = job->a + caqr_leaf_row(plan, panel, leaf) + panel->j0 * job->lda;
    float *r = panel->r + leaf * plan->ldr * n;
    for (int64_t row = 0, sub = 0; row < leaf_rows; row += plan->sub_rows, sub++) {
        int64_t rows = caqr_sub_rows(plan, leaf_rows, row);
        float *t = caqr_leaf_t(plan, panel, leaf, sub);
        caqr_load(s->v, plan->ldb, a + row, job->lda, rows, n);
        if (sub == 0) {
            plan->kernels->geqrt(rows, n, s->v, plan->ldb, t, s->work);
            memset(r, 0, (size_t)(plan->ldr * n) * sizeof *r);
            for (int64_t j = 0; j < n; j++)
                memcpy(r + j * plan->ldr, s->v + j * plan->ldb, (size_t)(j + 1) * sizeof *r);
        } else {
            plan->kernels->tpqrt(rows, n, r, plan->ldr, s->v, plan->ldb, t, s->work);
        }
        bd_cpu_copy(a + row, job->lda, s->v, plan->ldb, rows, n);
    }
}

/* factor_tree: the Rs of a node's children into that of the first. */
static void factor_tree(void *arg, int64_t index, int thread)
{
    const struct factor_job *job = arg;
    const struct caqr *plan = job->plan;
    const struct caqr_panel *panel = job->panel;
    struct caqr_node node = caqr_node(plan, panel, job->step, index);
    int64_t n = panel->cols, size = plan->ldr * n;
    if (!node.folded)
        return;
    memset(node.v, 0, (size_t)(node.ldv * n) * sizeof *node.v);
    for (int64_t i = 0; i < node.folded; i++)
        bd_cpu_copy(node.v + i * n, node.ldv, panel->r + (node.first + (i + 1) * node.step) * size,
                    plan->ldr, n, n);
    plan->kernels->tpqrt(node.folded * n, n, panel->r + node.first * size, plan->ldr, node.v,
                         node.ldv, node.t, plan->scratch[thread].work);
}

static void factor_panel(struct caqr *plan, const struct caqr_panel *panel, float *a, int64_t lda)
{
    struct factor_job job = { .plan = plan, .panel = panel, .a = a, .lda = lda };
    bd_pool_run(plan->pool, factor, &job, panel->leaves);
    for (job.step = 1; job.step < panel->leaves; job.step *= plan->arity)
        bd_pool_run(plan->pool, factor_tree, &job, caqr_nodes(plan, panel, job.step));
}

/* The panel's columns of R: above its diagonal block they are A's. */
static void keep_r(struct caqr *plan, const struct caqr_panel *panel, const float *a, int64_t lda)
{
    for (int64_t j = 0; j < panel->cols; j++) {
        int64_t column = panel->j0 + j;
        float *r = plan->r + column * plan->n;
        memset(r, 0, (size_t)plan->n * sizeof *r);
        memcpy(r, a + column * lda, (size_t)panel->j0 * sizeof *r);
        memcpy(r + panel->j0, panel->r + j * plan->ldr, (size_t)(j + 1) * sizeof *r);
    }
}

enum bd_status bd_cpu_qr_factor(void *data, float *a, int64_t lda)
{
    struct caqr *plan = data;
    if (plan->householder)
        return bd_householder_factor(plan->householder, a, lda);
    plan->a = a;
    plan->lda = lda;
    for (int64_t i = 0; i < plan->panels; i++) {
        const struct caqr_panel *panel = &plan->panel[i];
        int64_t next = panel->j0 + panel->cols;
        factor_panel(plan, panel, a, lda);
        caqr_apply_panel(plan, panel, 1, a + next * lda, lda, plan->n - next);
        keep_r(plan, panel, a, lda);
    }
    return BD_OK;
}

enum bd_status bd_cpu_qr_get_r(void *data, float *r, int64_t ldr)
{
    const struct caqr *plan = data;
    if (plan->householder) {
        bd_householder_get_r(plan->householder, r, ldr);
        return BD_OK;
    }
    bd_cpu_copy(r, ldr, plan->r, plan->n, plan->n, plan->n);
    return BD_OK;
}

struct copy_job {
    struct caqr *plan;
    const float *a;
    int64_t lda;
};

static void copy_column(void *arg, int64_t column, int thread)
{
    const struct copy_job *job = arg;
    (void)thread;
    memcpy(job->plan->copy + column * job->plan->m, job->a + column * job->lda,
           (size_t)job->plan->m * sizeof(float));
}

enum bd_status bd_cpu_qr_reduce(void *data, const float *a, int64_t lda, float *r, int64_t ldr)
{
    struct caqr *plan = data;
    struct copy_job job = { .plan = plan, .a = a, .lda = lda };
    if (plan->householder)
        return bd_householder_reduce(plan->householder, a, lda, r, ldr);
    if (plan->tsqr) {
        bd_tsqr_run_matrix(plan->tsqr, plan->pool, plan->m, a, lda, r, ldr);
        return BD_OK;
    }
    bd_pool_run(plan->pool, copy_column, &job, plan->n);
    bd_cpu_qr_factor(plan->inner, plan->copy, plan->m);
    return bd_cpu_qr_get_r(plan->inner, r, ldr);
}
