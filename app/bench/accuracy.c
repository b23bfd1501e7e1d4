/* The errors of updated factorisations: Andrew and Dingle's tables 12 to 15. */
#include <inttypes.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "app/bench/cells.h"
#include "app/bench/change.h"

enum { full_rows = 4000, full_cols = 2000, full_most_p = 900, quick_scale = 10 };

/* The problem after the change, the update's solution and those it is compared with; host memory.
 */
struct results {
    float *a, *b, *x, *x_full; /* m x n, m, n, n: tight */
    double *wide, *solution;   /* m x n, m: the same problem in float64, and its x */
};

static enum bd_status allocate(struct results *v, struct bd_bench *bench, int64_t m, int64_t n)
{
    v->a = bd_bench_memory(bench, m * n, sizeof *v->a);
    v->b = bd_bench_memory(bench, m, sizeof *v->b);
    v->x = bd_bench_memory(bench, n, sizeof *v->x);
    v->x_full = bd_bench_memory(bench, n, sizeof *v->x_full);
    v->wide = bd_bench_memory(bench, m * n, sizeof *v->wide);
    v->solution = bd_bench_memory(bench, m, sizeof *v->solution);
    return v->a && v->b && v->x && v->x_full && v->wide && v->solution ? BD_OK
                                                                       : bd_bench_out_of_memory();
}

/* ||x - wanted||_2 / ||wanted||_2. */
static double forward_error(const float *x, const double *wanted, int64_t n)
{
    double error = 0, norm = 0;
    for (int64_t i = 0; i < n; i++) {
        double difference = (double)x[i] - wanted[i];
        error += difference * difference;
        norm += wanted[i] * wanted[i];
    }
    return sqrt(error / norm);
}

/* The solution in float64 of the float32 problem. */
static enum bd_status solve_wide(struct results *v, int64_t m, int64_t n)
{
    lapack_int rows = (lapack_int)m, cols = (lapack_int)n;
    for (int64_t i = 0; i < m * n; i++)
        v->wide[i] = (double)v->a[i];
    for (int64_t i = 0; i < m; i++)
        v->solution[i] = (double)v->b[i];
    if (LAPACKE_dgels(LAPACK_COL_MAJOR, 'N', rows, cols, 1, v->wide, rows, v->solution, rows))
        return bd_fail(BD_ERROR_NUMERIC, "dgels failed");
    return BD_OK;
}

/* x of the whole problem factored again in float32, then the update's x. */
static enum bd_status run(struct bd_bench_change *c, struct results *v, bool peer)
{
    struct bd_backend *backend = c->bench->backend;
    enum bd_status status = bd_bench_change_load(c);
    BD_TRY((peer ? bd_bench_change_solver : bd_bench_change_own)(c));
    BD_TRY(bd_matrix_download(backend, v->x_full, c->n, &c->x));
    BD_TRY(bd_bench_change_restore(c));
    BD_TRY(bd_bench_change_update(c));
    BD_TRY(bd_matrix_download(backend, v->x, c->n, &c->x));
    BD_TRY(bd_matrix_download(backend, v->a, c->m, &c->after));
    BD_TRY(bd_matrix_download(backend, v->b, c->m, &c->after_b));
    return status;
}

static const char *const names[] = {
    [BD_QR_INSERT_COLUMNS] = "add columns",
    [BD_QR_REMOVE_COLUMNS] = "remove columns",
    [BD_QR_INSERT_ROWS] = "add rows",
    [BD_QR_REMOVE_ROWS] = "remove rows",
};

static void add_published(struct bd_bench_row *row, const char *const *keys, const double *values)
{
    for (int i = 0; i < 2; i++)
        if (values[i] > 0)
            bd_bench_extra(row, keys[i], values[i]);
}

static enum bd_status add_row(struct bd_bench_change *c, const struct bd_published_accuracy *u,
                              struct results *v, const char *peer)
{
    static const char *const forward[] = { "paper_forward", "paper_forward_serial" };
    static const char *const orthogonality[] = { "paper_orthogonality",
                                                 "paper_orthogonality_serial" };
    static const char *const backward[] = { "paper_backward", "paper_backward_serial" };
    struct bd_bench *bench = c->bench;
    struct bd_bench_row row = bd_bench_row_begin("accuracy", c->shape.m, c->shape.n, "update",
                                                 peer ? peer : "bd_qr, Q^T b, x");
    snprintf(row.name, sizeof row.name, "%s: %s, p=%" PRId64,
             c->shape.with_q ? "tables 13-15" : "table 12", names[u->kind], c->p);
    for (int64_t i = 0; i < c->n; i++)
        v->solution[i] = (double)v->x_full[i];
    bd_bench_extra(&row, "forward", forward_error(v->x, v->solution, c->n));
    enum bd_status status = solve_wide(v, c->m, c->n);
    BD_TRY(bd_bench_change_check(c, &row));
    if (status)
        return status;
    bd_bench_extra(&row, "forward_float64", forward_error(v->x, v->solution, c->n));
    add_published(&row, forward, u->forward);
    add_published(&row, orthogonality, u->orthogonality);
    add_published(&row, backward, u->backward);
    return bd_bench_add(bench, &row);
}

static enum bd_status measure(struct bd_bench_change *c, const struct bd_published_accuracy *u,
                              int64_t scale)
{
    struct results v = { 0 };
    const char *peer = bd_bench_solver_name(c->bench, false);
    enum bd_status status = bd_bench_check_interrupt();
    BD_TRY(bd_bench_change_set(c, 0, u->p / scale));
    struct bd_bench_held *held = c->bench->held;
    BD_TRY(allocate(&v, c->bench, c->m, c->n));
    BD_TRY(run(c, &v, peer != NULL));
    BD_TRY(add_row(c, u, &v, peer));
    bd_bench_release(c->bench, held);
    return status;
}

/* All rows of one kind. */
static enum bd_status measure_kind(struct bd_bench *bench, enum bd_qr_change_kind kind,
                                   int64_t scale)
{
    const struct bd_bench_change_shape shape = { kind, full_rows / scale, full_cols / scale,
                                                 full_most_p / scale,
                                                 kind == BD_QR_INSERT_COLUMNS ||
                                                     kind == BD_QR_REMOVE_ROWS };
    struct bd_bench_change c;
    enum bd_status status = bd_bench_change_open(&c, bench, &shape);
    for (int i = 0; i < bd_published_accuracy_count && !status; i++)
        if (bd_published_accuracies[i].kind == kind)
            status =
                c.update ? measure(&c, &bd_published_accuracies[i], scale) : BD_ERROR_UNSUPPORTED;
    bd_bench_change_close(&c);
    if (status != BD_ERROR_UNSUPPORTED)
        return status;
    if (!bench->options->quiet)
        printf("# accuracy: %s: the backend has none\n", names[kind]);
    return BD_OK;
}

static enum bd_status run_updates(struct bd_bench *bench)
{
    static const enum bd_qr_change_kind kinds[] = { BD_QR_INSERT_ROWS, BD_QR_REMOVE_COLUMNS,
                                                    BD_QR_REMOVE_ROWS, BD_QR_INSERT_COLUMNS };
    enum bd_status status = BD_OK;
    if (!bench->options->quiet)
        puts("# accuracy: Andrew and Dingle's tables 12 to 15. forward: ||x - x'||/||x'||, x' that "
             "of the peer, float32;\n# forward_float64: x' that of LAPACK in float64; with Q: "
             "residual ||QR - A||_2/||A||_2, orthogonality ||Q^TQ - I||_2,\n# without: residual "
             "||R^TR - A^TA||_F/||A||_F^2");
    for (int i = 0; i < 4 && !status; i++)
        status = measure_kind(bench, kinds[i], bench->options->quick ? quick_scale : 1);
    return status;
}

enum bd_status bd_bench_accuracy(struct bd_bench *bench)
{
    static const struct {
        const char *name;
        enum bd_status (*run)(struct bd_bench *bench);
    } parts[] = { { "updates", run_updates }, { "gram", bd_bench_accuracy_gram } };
    enum bd_status status = BD_OK;
    bool found = false;
    for (int i = 0; i < 2 && !status; i++)
        if (!bench->part || strcmp(bench->part, parts[i].name) == 0) {
            found = true;
            status = parts[i].run(bench);
        }
    return found
               ? status
               : bd_fail(BD_ERROR_ARGUMENT, "accuracy:%s: there are updates and gram", bench->part);
}
