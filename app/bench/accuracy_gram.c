/* The errors of QR by the Gram matrix beside figures 2 and 12 to 18 of Yamazaki, Tomov, Dongarra:
 * Stability and performance of various singular value QR implementations on multicore CPU with a
 * GPU (2016). An iteration is a pass; Gram matrices and residuals are summed in long double. */
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench/bench.h"
#include <backdrop/gram_qr.h>

/* How a column of a figure factors. */
struct method {
    const char *name;
    enum bd_gram_qr_method method;
    enum bd_triangular_solve solve;
    bool mixed;
};

enum matrix { DEPENDENT, KRYLOV, HILBERT, SYNTHETIC };

/* Of Q after an iteration: ||I - Q^T Q||_2, the condition number (0: not published), and the marks
 * f (Cholesky failed), t (singular values truncated), + (the paper's dagger: solved in float32). */
struct published {
    double orthogonality, condition;
    const char *marks;
};

enum { most_columns = 5, most_iterations = 8 };
struct figure {
    int number;
    enum matrix matrix;
    const struct method *columns;
    int column_count, first, last;
    struct published iteration[most_iterations][most_columns]; /* [i][k]: of column k, after
                                                                  iteration i + first */
    double backward[most_columns]; /* ||V - Q R||_2 after the last one, from figure 18; 0: none */
};

static const struct method two[] = {
    { "CholQR", BD_GRAM_QR_CHOLESKY, BD_TRIANGULAR_SUBSTITUTION, false },
    { "SVQR", BD_GRAM_QR_SVD, BD_TRIANGULAR_SUBSTITUTION, false },
};

static const struct method three[] = {
    { "d-CholQR", BD_GRAM_QR_CHOLESKY, BD_TRIANGULAR_SUBSTITUTION, false },
    { "d-SVQR", BD_GRAM_QR_SVD, BD_TRIANGULAR_SUBSTITUTION, false },
    { "ds-SVQR", BD_GRAM_QR_SVD, BD_TRIANGULAR_SUBSTITUTION, true },
};

static const struct method five[] = {
    { "d-substitution", BD_GRAM_QR_SVD, BD_TRIANGULAR_SUBSTITUTION, false },
    { "d-inversion", BD_GRAM_QR_SVD, BD_TRIANGULAR_INVERSION, false },
    { "ds-substitution", BD_GRAM_QR_SVD, BD_TRIANGULAR_SUBSTITUTION, true },
    { "ds-inversion", BD_GRAM_QR_SVD, BD_TRIANGULAR_INVERSION, true },
    { "ds-adaptive", BD_GRAM_QR_SVD, BD_TRIANGULAR_ADAPTIVE, true },
};

/* clang-format off */
static const struct figure figures[] = {
    { 2, DEPENDENT, two, 2, 0, 6,
      { { { 3.9e3, 4.8e16, "" }, { 3.9e3, 4.8e16, "" } },
        { { 5.8e2, 1.4e16, "f" }, { 1.0e0, 6.8e8, "t" } },
        { { 2.8e2, 7.1e15, "f" }, { 6.7e-13, 1.0e0, "" } },
        { { 1.9e2, 6.6e15, "f" }, { 5.9e-15, 1.0e0, "" } },
        { { 1.5e2, 5.4e15, "" }, { 3.0e-15, 1.0e0, "" } },
        { { 1.0e0, 2.3e7, "" }, { 2.8e-15, 1.0e0, "" } },
        { { 4.7e-16, 1.0e0, "" }, { 2.1e-15, 1.0e0, "" } } }, { 0 } },
    { 12, KRYLOV, three, 3, 0, 5,
      { { { 1.4e12, 1.0e19, "" }, { 1.4e12, 1.0e19, "" }, { 1.4e12, 1.0e19, "" } },
        { { 2.8e8, 7.3e17, "f" }, { 1.0e0, 2.1e9, "t" }, { 2.5e0, 2.0e1, "t+" } },
        { { 1.4e2, 3.8e13, "f" }, { 1.0e0, 2.9e1, "t" }, { 1.4e-13, 1.0e0, "" } },
        { { 1.0e0, 1.1e7, "f" }, { 3.0e-13, 1.0e0, "" }, { 2.3e-14, 1.0e0, "" } },
        { { 2.1e-12, 1.0e0, "" }, { 2.2e-14, 1.0e0, "" }, { 2.5e-14, 1.0e0, "" } },
        { { 2.0e-14, 1.0e0, "" }, { 3.3e-14, 1.0e0, "" }, { 1.8e-14, 1.0e0, "" } } }, { 0 } },
    { 13, HILBERT, three, 3, 0, 7,
      { { { 3.8e0, 3.3e19, "" }, { 3.8e0, 3.3e19, "" }, { 3.8e0, 3.3e19, "" } },
        { { 1.0e0, 4.0e18, "f" }, { 1.0e0, 2.1e12, "t" }, { 1.4e0, 1.2e3, "t+" } },
        { { 1.0e0, 1.4e18, "f" }, { 1.0e0, 4.5e4, "t" }, { 8.3e-11, 1.0e0, "" } },
        { { 1.5e0, 1.1e18, "f" }, { 1.6e-7, 1.0e0, "" }, { 1.4e-14, 1.0e0, "" } },
        { { 3.8e0, 1.6e18, "f" }, { 1.2e-14, 1.0e0, "" }, { 1.0e-14, 1.0e0, "" } },
        { { 4.5e-4, 1.0e0, "" }, { 8.2e-15, 1.0e0, "" }, { 9.5e-15, 1.0e0, "" } },
        { { 1.4e-15, 1.0e0, "" }, { 8.6e-15, 1.0e0, "" }, { 9.6e-15, 1.0e0, "" } },
        { { 1.0e-15, 1.0e0, "" }, { 9.2e-15, 1.0e0, "" }, { 9.6e-15, 1.0e0, "" } } }, { 0 } },
    { 14, SYNTHETIC, three, 3, 0, 5,
      { { { 9.9e1, 2.9e18, "" }, { 9.9e1, 2.9e18, "" }, { 9.9e1, 2.9e18, "" } },
        { { 1.0e0, 2.9e17, "f" }, { 1.0e0, 4.4e10, "t" }, { 1.0e0, 4.4e10, "t+" } },
        { { 6.5e-15, 1.0e0, "" }, { 2.8e-8, 1.0e0, "" }, { 1.0e-13, 1.0e0, "" } },
        { { 5.4e-16, 1.0e0, "" }, { 1.6e-14, 1.0e0, "" }, { 1.1e-14, 1.0e0, "" } },
        { { 4.4e-16, 1.0e0, "" }, { 9.8e-15, 1.0e0, "" }, { 8.9e-15, 1.0e0, "" } },
        { { 4.4e-16, 1.0e0, "" }, { 9.3e-15, 1.0e0, "" }, { 8.4e-15, 1.0e0, "" } } }, { 0 } },
    { 15, KRYLOV, five, 5, 1, 5,
      { { { 1.0e0, 0, "t" }, { 1.0e0, 0, "t" }, { 2.5e2, 0, "t+" },
          { 2.4e0, 0, "t+" }, { 1.8e0, 0, "t+" } },
        { { 1.0e0, 0, "t" }, { 1.0e0, 0, "t" }, { 1.4e-13, 0, "" },
          { 5.6e-12, 0, "" }, { 3.3e-13, 0, "" } },
        { { 3.0e-13, 0, "" }, { 1.4e-12, 0, "" }, { 2.3e-14, 0, "" },
          { 2.1e-14, 0, "" }, { 1.9e-14, 0, "" } },
        { { 2.2e-14, 0, "" }, { 2.1e-14, 0, "" }, { 2.1e-14, 0, "" },
          { 2.1e-14, 0, "" }, { 2.1e-14, 0, "" } },
        { { 3.3e-14, 0, "" }, { 3.3e-14, 0, "" }, { 1.8e-14, 0, "" },
          { 1.9e-14, 0, "" }, { 1.6e-14, 0, "" } } },
      { 2.5e-10, 3.4e-3, 7.2e-2, 1.5e4, 6.5e-2 } },
    { 16, HILBERT, five, 5, 1, 5,
      { { { 1.0e0, 0, "t" }, { 1.0e0, 0, "t" }, { 1.4e0, 0, "t+" },
          { 2.9e0, 0, "t+" }, { 2.9e0, 0, "t+" } },
        { { 1.0e0, 0, "t" }, { 1.4e0, 0, "t" }, { 8.3e-11, 0, "" },
          { 1.2e-10, 0, "+" }, { 7.5e-10, 0, "" } },
        { { 1.6e-6, 0, "" }, { 2.7e-7, 0, "" }, { 1.4e-14, 0, "" },
          { 1.3e-14, 0, "" }, { 1.5e-14, 0, "" } },
        { { 1.2e-14, 0, "" }, { 2.1e-14, 0, "" }, { 1.0e-14, 0, "" },
          { 9.0e-15, 0, "" }, { 1.1e-14, 0, "" } },
        { { 8.2e-15, 0, "" }, { 9.9e-15, 0, "" }, { 9.5e-15, 0, "" },
          { 9.3e-15, 0, "" }, { 9.8e-15, 0, "" } } },
      { 1.2e-16, 2.4e-11, 9.1e-8, 2.6e-3, 1.5e-7 } },
    { 17, SYNTHETIC, five, 5, 1, 4,
      { { { 1.0e0, 0, "t" }, { 1.0e0, 0, "t" }, { 1.0e0, 0, "t+" },
          { 6.3e2, 0, "t+" }, { 1.0e0, 0, "t+" } },
        { { 2.8e-8, 0, "" }, { 2.8e-8, 0, "" }, { 1.0e-13, 0, "" },
          { 4.2e1, 0, "t+" }, { 1.5e-13, 0, "" } },
        { { 1.6e-14, 0, "" }, { 1.5e-14, 0, "" }, { 1.8e-6, 0, "" },
          { 1.8e-6, 0, "" }, { 9.0e-15, 0, "" } },
        { { 9.8e-15, 0, "" }, { 9.5e-15, 0, "" }, { 8.9e-15, 0, "" },
          { 2.3e-14, 0, "" }, { 9.2e-15, 0, "" } } },
      { 3.2e-15, 3.5e-15, 1.2e-13, 3.7e-6, 1.2e-13 } },
};
/* clang-format on */
enum { figure_count = sizeof figures / sizeof *figures };

struct problem {
    const char *name;
    int64_t m, n;
    double *v; /* m x n */
};

/* What is measured of a factorisation, and where. */
struct state {
    struct bd_bench *bench;
    struct problem problem;
    struct bd_matrix v, r; /* of the backend */
    double *q, *scratch;   /* m x n */
    double *r_host, *gram; /* n x n */
    double *sigma, *work;  /* n, and for LAPACK */
};

/* Between 0 and 1, both excluded. */
static double uniform(uint64_t *seed)
{
    return ((double)(bd_bench_random(seed) >> 12) + 0.5) * 0x1p-52;
}

/* Every third column, a random one times epsilon, and the two before it. Their mean, not their sum
 * as the text of figure 2 has it: that has the published ||V||_2. */
static void fill_dependent(double *v, int64_t m, int64_t n)
{
    uint64_t seed = 1;
    for (int64_t i = 0; i < m * n; i++)
        v[i] = uniform(&seed);
    for (int64_t j = 2; j < n; j += 3)
        for (int64_t i = 0; i < m; i++)
            v[i + j * m] =
                v[i + j * m] * DBL_EPSILON + (v[i + (j - 1) * m] + v[i + (j - 2) * m]) / 2;
}

/* 1, A 1, A^2 1 ... for the five-point Laplacian of a 33 x 33 grid, scaled to a diagonal of 1: so
 * it has the published ||V||_2. */
static void fill_krylov(double *v, int64_t m, int64_t n)
{
    const int64_t side = 33;
    for (int64_t i = 0; i < m; i++)
        v[i] = 1;
    for (int64_t k = m; k < m * n; k++) {
        int64_t x = k % side, y = k % m / side;
        const double *before = v + k - m;
        double sum = (x ? before[-1] : 0) + (x + 1 < side ? before[1] : 0) +
                     (y ? before[-side] : 0) + (y + 1 < side ? before[side] : 0);
        v[k] = before[0] - sum / 4;
    }
}

static void fill_hilbert(double *v, int64_t m, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            v[i + j * m] = 1.0 / (double)(i + j + 1);
}

/* A row of ones above a diagonal of random numbers times epsilon; the condition number published
 * for the first Q does not allow for epsilon^3, which figure 11 has. */
static void fill_synthetic(double *v, int64_t m, int64_t n)
{
    uint64_t seed = 4;
    for (int64_t j = 0; j < n; j++) {
        v[j * m] = 1;
        v[j + 1 + j * m] = uniform(&seed) * DBL_EPSILON;
    }
}

static const struct {
    struct problem problem;
    void (*fill)(double *v, int64_t m, int64_t n);
} problems[] = {
    [DEPENDENT] = { { "dependent", 1000, 15, NULL }, fill_dependent },
    [KRYLOV] = { { "K30(A,1)", 1089, 30, NULL }, fill_krylov },
    [HILBERT] = { { "Hilbert", 100, 100, NULL }, fill_hilbert },
    [SYNTHETIC] = { { "synthetic", 101, 100, NULL }, fill_synthetic },
};

enum { svd_work = 64 }; /* doubles of dgesvd's work array for a row or column */

static enum bd_status open_state(struct state *s, struct bd_bench *bench, enum matrix matrix)
{
    *s = (struct state){ .bench = bench, .problem = problems[matrix].problem };
    struct problem *p = &s->problem;
    p->v = bd_bench_memory(bench, p->m * p->n, sizeof *p->v);
    s->q = bd_bench_memory(bench, p->m * p->n, sizeof *s->q);
    s->scratch = bd_bench_memory(bench, p->m * p->n, sizeof *s->scratch);
    s->r_host = bd_bench_memory(bench, p->n * p->n, sizeof *s->r_host);
    s->gram = bd_bench_memory(bench, p->n * p->n, sizeof *s->gram);
    s->sigma = bd_bench_memory(bench, p->n, sizeof *s->sigma);
    s->work = bd_bench_memory(bench, (p->m + p->n) * svd_work, sizeof *s->work);
    if (!p->v || !s->q || !s->scratch || !s->r_host || !s->gram || !s->sigma || !s->work)
        return bd_bench_out_of_memory();
    problems[matrix].fill(p->v, p->m, p->n);
    enum bd_status status = bd_bench_matrix(bench, &s->v, p->m, p->n, BD_F64);
    BD_TRY(bd_bench_matrix(bench, &s->r, p->n, p->n, BD_F64));
    return status;
}

/* ||X^T X - I||_2 (identity) or ||X||_2^2 of X (m x n): the largest modulus of an eigenvalue of a
 * matrix that is summed in long double; negative if there is no convergence. */
static double gram_norm(struct state *s, const double *x, bool identity)
{
    int64_t m = s->problem.m, n = s->problem.n;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++) {
            long double sum = identity && i == j ? -1 : 0;
            for (int64_t k = 0; k < m; k++)
                sum += (long double)x[k + i * m] * x[k + j * m];
            s->gram[i + j * n] = (double)sum;
        }
    lapack_int size = (lapack_int)n;
    if (LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'N', 'U', size, s->gram, size, s->sigma, s->work,
                           svd_work * size))
        return -1;
    return fmax(fabs(s->sigma[0]), fabs(s->sigma[n - 1]));
}

/* By LAPACK's SVD in float64, as published; HUGE_VAL where the least singular value comes out as 0.
 */
static double condition_number(struct state *s, const double *x)
{
    lapack_int m = (lapack_int)s->problem.m, n = (lapack_int)s->problem.n;
    memcpy(s->scratch, x, (size_t)(s->problem.m * s->problem.n) * sizeof *x);
    if (LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'N', 'N', m, n, s->scratch, m, s->sigma, NULL, 1,
                            NULL, 1, s->work, svd_work * (m + n)))
        return -1;
    return s->sigma[n - 1] > 0 ? s->sigma[0] / s->sigma[n - 1] : HUGE_VAL;
}

/* ||V - Q R||_2 of what is in q and r_host. */
static double backward_error(struct state *s)
{
    int64_t m = s->problem.m, n = s->problem.n;
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = 0; k < m; k++) {
            long double error = s->problem.v[k + j * m];
            for (int64_t i = 0; i <= j; i++)
                error -= (long double)s->q[k + i * m] * s->r_host[i + j * n];
            s->scratch[k + j * m] = (double)error;
        }
    /* Its squares may leave the range of double. */
    double largest = 0;
    for (int64_t k = 0; k < m * n; k++)
        largest = fmax(largest, fabs(s->scratch[k]));
    for (int64_t k = 0; k < m * n && largest > 0; k++)
        s->scratch[k] /= largest;
    return largest * sqrt(gram_norm(s, s->scratch, false));
}

/* Passes of a method over what is in the backend's V; Q and R to the host. `report` is of these
 * passes alone. */
static enum bd_status run(struct state *s, const struct method *method, int passes,
                          struct bd_gram_qr_report *report)
{
    struct bd_backend *backend = s->bench->backend;
    const struct bd_gram_qr_options options = { .method = method->method,
                                                .solve = method->solve,
                                                .mixed = method->mixed,
                                                .max_passes = passes };
    struct bd_gram_qr *qr = NULL;
    enum bd_status status = bd_bench_check_interrupt();
    BD_TRY(bd_gram_qr_create(&qr, &backend, &s->problem.m, 1, s->problem.n, BD_F64, &options));
    BD_TRY(bd_gram_qr_run(qr, &s->v, &s->r, report));
    BD_TRY(bd_matrix_download(backend, s->q, s->problem.m, &s->v));
    BD_TRY(bd_matrix_download(backend, s->r_host, s->problem.n, &s->r));
    bd_gram_qr_destroy(&qr);
    return status;
}

/* Adds the row of an iteration: measured, and beside it what the paper has. */
static enum bd_status add_iteration(struct state *s, const struct figure *figure, int i, int k,
                                    const struct bd_gram_qr_pass *pass)
{
    const struct published *paper = &figure->iteration[i - figure->first][k];
    struct bd_bench_row row =
        bd_bench_row_begin("accuracy", s->problem.m, s->problem.n, figure->columns[k].name, NULL);
    const double condition = condition_number(s, s->q);
    row.orthogonality = gram_norm(s, s->q, true);
    if (row.orthogonality < 0 || condition < 0)
        return bd_fail(BD_ERROR_NUMERIC, "LAPACK: no convergence");
    snprintf(row.name, sizeof row.name, "figure %d: %s, iteration %d", figure->number,
             s->problem.name, i);
    bd_bench_extra(&row, "condition", condition);
    bd_bench_extra(&row, "failed", pass->failed);
    bd_bench_extra(&row, "truncated", pass->truncated > 0);
    bd_bench_extra(&row, "float32", pass->single);
    bd_bench_extra(&row, "paper_orthogonality", paper->orthogonality);
    bd_bench_extra(&row, "paper_failed", strchr(paper->marks, 'f') != NULL);
    bd_bench_extra(&row, "paper_truncated", strchr(paper->marks, 't') != NULL);
    bd_bench_extra(&row, "paper_float32", strchr(paper->marks, '+') != NULL);
    if (paper->condition > 0)
        bd_bench_extra(&row, "paper_condition", paper->condition);
    return bd_bench_add(s->bench, &row);
}

static enum bd_status measure_figure(struct bd_bench *bench, const struct figure *figure)
{
    struct state s;
    enum bd_status status = open_state(&s, bench, figure->matrix);
    for (int k = 0; k < figure->column_count && !status; k++) {
        status = bd_matrix_upload(bench->backend, &s.v, s.problem.v, s.problem.m);
        memcpy(s.q, s.problem.v, (size_t)(s.problem.m * s.problem.n) * sizeof *s.q);
        for (int i = figure->first ? 1 : 0; i <= figure->last && !status; i++) {
            struct bd_gram_qr_report report = { 0 };
            if (i)
                status = run(&s, &figure->columns[k], 1, &report);
            BD_TRY(add_iteration(&s, figure, i, k, &report.pass[0]));
        }
    }
    bd_bench_release(bench, NULL);
    return status;
}

/* Of all passes together: figure 18. */
static enum bd_status measure_backward(struct bd_bench *bench, const struct figure *figure)
{
    struct state s;
    enum bd_status status = open_state(&s, bench, figure->matrix);
    for (int k = 0; k < figure->column_count && !status; k++) {
        struct bd_gram_qr_report report;
        struct bd_bench_row row =
            bd_bench_row_begin("accuracy", s.problem.m, s.problem.n, figure->columns[k].name, NULL);
        status = bd_matrix_upload(bench->backend, &s.v, s.problem.v, s.problem.m);
        BD_TRY(run(&s, &figure->columns[k], figure->last, &report));
        if (status)
            break;
        const double error = backward_error(&s);
        snprintf(row.name, sizeof row.name, "figure 18: %s", s.problem.name);
        row.residual = error / sqrt(gram_norm(&s, s.problem.v, false));
        row.orthogonality = gram_norm(&s, s.q, true);
        bd_bench_extra(&row, "backward", error);
        bd_bench_extra(&row, "paper_backward", figure->backward[k]);
        status = bd_bench_add(bench, &row);
    }
    bd_bench_release(bench, NULL);
    return status;
}

enum bd_status bd_bench_accuracy_gram(struct bd_bench *bench)
{
    const bool quiet = bench->options->quiet;
    enum bd_status status = BD_OK;
    if (!quiet)
        puts("# accuracy: Yamazaki, Tomov and Dongarra's figures 2 and 12 to 18: orthogonality "
             "||I - Q^T Q||_2 and condition of Q after\n# an iteration; failed: Cholesky; "
             "truncated: "
             "singular values; float32: the solve; figure 18: backward ||V - Q R||_2");
    for (int i = 0; i < figure_count && !status; i++)
        status = measure_figure(bench, &figures[i]);
    for (int i = 0; i < figure_count && !status; i++)
        if (figures[i].backward[0] > 0)
            status = measure_backward(bench, &figures[i]);
    if (status != BD_ERROR_UNSUPPORTED)
        return status;
    if (!quiet)
        printf("# accuracy: %s\n", bd_error_detail());
    return BD_OK;
}
