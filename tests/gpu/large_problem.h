/* Matrices of more than 2^31 elements, for tests on a GPU: every element is a function of the
 * numbers of its row and column, so that no copy is kept on the host. They go up, and results come
 * down, in slabs of rows; a slab is made or checked by all cores, in float64.
 *
 * What the checks see: *every* element of a matrix that comes down takes part in each sum, and
 * errors are also taken element by element (`worst`), so that a single one out of place is told
 * wherever it is: elements of A differ from their neighbours by about 1.
 *
 * Include <cmocka.h> and what it needs first. */
#ifndef BD_TESTS_GPU_LARGE_PROBLEM_H
#define BD_TESTS_GPU_LARGE_PROBLEM_H

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "gpu/cuda.h"
#include "linalg/shared/ops.h"
#include "tests/gpu/large_matrix.h"
#include "tests/gpu/open_gpu.h"
#include "tests/support/quick.h"
#include <backdrop/matrix.h>

/* OpenBLAS's, if that is what there is: the pool's threads call BLAS. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));

enum { large_strip = 512 };

static const int64_t large_staging = 512 << 20; /* bytes */

/* Of an element, where sums are right to rounding: rounding is of columns, whose norms are 1e4, and
 * may gather in few rows (5e-3 on an H100); a wrong element is off by about 1. */
static const double large_worst = 5e-2;

static struct {
    struct bd_backend *backend; /* NULL: the tests are skipped */
    struct bd_pool *pool;
    void *staging; /* page-locked: a slab */
    double *scratch;
} large;

/* What a slab is compared with. */
enum large_expected {
    LARGE_A,         /* A */
    LARGE_A_TIMES_R, /* A R */
    LARGE_R          /* R above zeros */
};

/* A pass over slabs. All but the staged rows are the caller's. */
struct large_pass {
    const struct large_matrix *a;
    enum bd_type type;
    int64_t n, row, rows; /* of the slab */
    const double *r;      /* n x n, upper */
    enum large_expected expected;
    bool times_r, gram;               /* what comes down: times R first; its Gram matrix */
    double *grams, *errors, *squares; /* threads x n x n, threads x n, threads x n */
    double worst[256];                /* threads */
};

static inline void large_make_strip(void *arg, int64_t item, int thread)
{
    const struct large_pass *p = arg;
    const int64_t first = item * large_strip, rows = large_min(large_strip, p->rows - first);
    float x[large_strip] = { 0 };
    (void)thread;
    for (int64_t j = 0; j < p->n; j++) {
        float *out = (float *)large.staging + first + j * p->rows;
        double *wide = (double *)large.staging + first + j * p->rows;
        large_fill(p->type == BD_F64 ? x : out, p->a, p->row + first, rows, j);
        for (int64_t i = 0; i < rows && p->type == BD_F64; i++)
            wide[i] = (double)x[i];
    }
}

/* y (large_strip x n) := the strip's rows of what came down, or of A. */
static inline void large_take_strip(double *y, const struct large_pass *p, int64_t first,
                                    int64_t rows, bool of_a)
{
    float made[large_strip] = { 0 };
    for (int64_t j = 0; j < p->n; j++, y += large_strip) {
        const int64_t at = first + j * p->rows;
        const float *x = of_a ? made : (const float *)large.staging + at;
        if (of_a)
            large_fill(made, p->a, p->row + first, rows, j);
        if (!of_a && p->type == BD_F64)
            memcpy(y, (const double *)large.staging + at, (size_t)rows * sizeof *y);
        else
            for (int64_t i = 0; i < rows; i++)
                y[i] = (double)x[i];
    }
}

/* y := y R. BLAS takes as long for one column as for many. */
static inline void large_times_r(const struct large_pass *p, double *y, int64_t rows)
{
    const int64_t n = p->n;
    if (n > 4) {
        cblas_dtrmm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, (int)rows,
                    (int)n, 1, p->r, (int)n, y, large_strip);
        return;
    }
    for (int64_t j = n - 1; j >= 0; j--)
        for (int64_t k = j; k >= 0; k--) {
            double *to = y + j * large_strip, r = p->r[k + j * n];
            const double *from = y + k * large_strip;
            for (int64_t i = 0; i < rows; i++)
                to[i] = k == j ? r * from[i] : to[i] + r * from[i];
        }
}

/* g (n x n, upper) += y^T y */
static inline void large_add_gram(double *g, const double *y, int64_t n, int64_t rows)
{
    if (n > 4) {
        cblas_dsyrk(CblasColMajor, CblasUpper, CblasTrans, (int)n, (int)rows, 1, y, large_strip, 1,
                    g, (int)n);
        return;
    }
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = 0; k <= j; k++) {
            const double *a = y + j * large_strip, *b = y + k * large_strip;
            double sum[4] = { 0 };
            for (int64_t i = 0; i < rows; i++)
                sum[i % 4] += a[i] * b[i];
            g[k + j * n] += sum[0] + sum[1] + sum[2] + sum[3];
        }
}

/* Of the elements of a column: x, and what it should be. NaN makes the sum of errors NaN. */
static inline void large_add_errors(struct large_pass *p, int thread, int64_t j, const double *x,
                                    const double *want, int64_t rows)
{
    double error[4] = { 0 }, square[4] = { 0 }, worst[4] = { 0 };
    for (int64_t i = 0; i < rows; i += 4) /* x and want are 0 from `rows` on */
        for (int k = 0; k < 4; k++) {
            const double d = fabs(x[i + k] - want[i + k]);
            error[k] += d * d;
            square[k] += want[i + k] * want[i + k];
            worst[k] = d > worst[k] ? d : worst[k];
        }
    for (int k = 0; k < 4; k++) {
        p->errors[thread * p->n + j] += isnan(error[k]) ? INFINITY : error[k];
        p->squares[thread * p->n + j] += square[k];
        p->worst[thread] = fmax(p->worst[thread], worst[k]);
    }
}

static inline void large_check_strip(void *arg, int64_t item, int thread)
{
    struct large_pass *p = arg;
    const int64_t n = p->n, first = item * large_strip,
                  rows = large_min(large_strip, p->rows - first);
    double *y = large.scratch + (int64_t)thread * 2 * large_strip * large_most_cols;
    double *want = y + large_strip * large_most_cols;
    if (rows % 4)
        memset(y, 0, (size_t)(2 * large_strip * large_most_cols) * sizeof *y);
    large_take_strip(y, p, first, rows, false);
    if (p->gram)
        large_add_gram(p->grams + thread * n * n, y, n, rows);
    if (p->times_r)
        large_times_r(p, y, rows);
    if (p->expected != LARGE_R)
        large_take_strip(want, p, first, rows, true);
    else
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < rows; i++)
                want[i + j * large_strip] =
                    p->row + first + i <= j ? p->r[p->row + first + i + j * n] : 0;
    if (p->expected == LARGE_A_TIMES_R)
        large_times_r(p, want, rows);
    for (int64_t j = 0; j < n; j++)
        large_add_errors(p, thread, j, y + j * large_strip, want + j * large_strip, rows);
}

static inline int64_t large_strips(const struct large_pass *p)
{
    return (p->rows + large_strip - 1) / large_strip;
}

/* Calls f for slabs of all rows of x, whose view of each is `slab`. */
#define FOR_EACH_SLAB(p, x, slab)                                       \
    for (struct bd_matrix slab = large_first_slab(p, x); slab.rows > 0; \
         slab = large_next_slab(p, x))

static inline struct bd_matrix large_slab(const struct large_pass *p, const struct bd_matrix *x)
{
    struct bd_matrix slab = *x;
    slab.rows = p->rows;
    slab.data = (char *)x->data + p->row * bd_type_size(x->type);
    return slab;
}

static inline struct bd_matrix large_first_slab(struct large_pass *p, const struct bd_matrix *x)
{
    const int64_t most = large_staging / bd_type_size(x->type) / x->cols / large_strip;
    p->type = x->type;
    p->n = x->cols;
    p->row = 0;
    p->rows = large_min(x->rows, most * large_strip);
    return large_slab(p, x);
}

static inline struct bd_matrix large_next_slab(struct large_pass *p, const struct bd_matrix *x)
{
    p->row += p->rows;
    p->rows = large_min(p->rows, x->rows - p->row);
    return large_slab(p, x);
}

/* X (on the device) := A. */
static inline void large_upload(const struct large_matrix *a, const struct bd_matrix *x)
{
    struct large_pass p = { .a = a };
    assert_true(x->rows == a->m && x->cols == a->n);
    FOR_EACH_SLAB(&p, x, slab)
    {
        bd_pool_run(large.pool, large_make_strip, &p, large_strips(&p));
        assert_int_equal(bd_matrix_upload(large.backend, &slab, large.staging, p.rows), BD_OK);
    }
}

/* Of a pass over X. */
struct large_errors {
    double residual;  /* ||x_j - expected||_2 relative to that, the largest of all columns */
    double worst;     /* the largest of an element */
    double departure; /* ||X^T X - I||_F; 0 where not asked for */
};

static inline struct large_errors large_compare(struct large_pass *p, const struct bd_matrix *x)
{
    const int threads = bd_pool_threads(large.pool);
    const int64_t n = x->cols;
    struct large_errors e = { 0 };
    assert_true(threads <= 256 && n <= large_most_cols);
    double *sums = calloc((size_t)(threads * (n * n + 2 * n)), sizeof *sums);
    assert_non_null(sums);
    p->grams = sums;
    p->errors = sums + threads * n * n;
    p->squares = p->errors + threads * n;
    FOR_EACH_SLAB(p, x, slab)
    {
        assert_int_equal(bd_matrix_download(large.backend, large.staging, p->rows, &slab), BD_OK);
        bd_pool_run(large.pool, large_check_strip, p, large_strips(p));
    }
    for (int t = 0; t < threads; t++) {
        e.worst = fmax(e.worst, p->worst[t]);
        for (int64_t i = 0; i < n * n && t; i++)
            p->grams[i] += p->grams[t * n * n + i];
        for (int64_t j = 0; j < n && t; j++) {
            p->errors[j] += p->errors[t * n + j];
            p->squares[j] += p->squares[t * n + j];
        }
    }
    for (int64_t j = 0; j < n; j++) {
        e.residual = fmax(e.residual, sqrt(p->errors[j] / p->squares[j]));
        for (int64_t i = 0; i <= j && p->gram; i++) {
            const double d = p->grams[i + j * n] - (i == j);
            e.departure += (i == j ? 1 : 2) * d * d;
        }
    }
    e.departure = sqrt(e.departure);
    free(sums);
    return e;
}

/* What was measured, for the log. */
static inline void large_told(const char *what, const struct large_matrix *a,
                              const struct large_errors *e)
{
    print_message("%s, %lld x %lld: residual %.1e, largest %.1e, departure %.1e\n", what,
                  (long long)a->m, (long long)a->n, e->residual, e->worst, e->departure);
}

/* `limit`: of the sums; 0: nothing may be off. */
static inline void large_assert(const struct large_errors *e, double limit)
{
    assert_true(e->residual <= limit && e->departure <= limit);
    assert_true(e->worst <= (limit == 0 ? 0 : large_worst));
}

/* Opens the GPU, if it has `bytes` free; the test is skipped otherwise, with a message. */
static inline void large_open(double bytes)
{
    if (test_quick()) {
        print_message("skipped: BD_TEST_QUICK\n");
        skip();
    }
    large.backend = open_gpu();
    size_t left = 0, total = 0;
    cudaMemGetInfo(&left, &total);
    if ((double)left < bytes) {
        print_message("skipped: %.0f GiB of GPU memory are wanted, %.1f are free\n", bytes / 0x1p30,
                      (double)left / 0x1p30);
        bd_backend_close(&large.backend);
        skip();
    }
    if (openblas_set_num_threads)
        openblas_set_num_threads(1);
    assert_int_equal(bd_pool_create(&large.pool, 0), BD_OK);
    assert_int_equal(bd_cuda_alloc_host(&large.staging, (size_t)large_staging, "a test"), BD_OK);
    const int64_t strip = 2 * large_strip * large_most_cols;
    large.scratch = calloc((size_t)(bd_pool_threads(large.pool) * strip), sizeof *large.scratch);
    assert_non_null(large.scratch);
}

static inline void large_close(void)
{
    free(large.scratch);
    bd_cuda_free_host(large.staging);
    bd_pool_destroy(&large.pool);
    bd_backend_close(&large.backend);
}

#endif
