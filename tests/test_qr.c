/* CAQR (linalg/qr.h) on every backend: residual, orthogonality, R, applied Q, on all shapes and on
 * difficult matrices, measured in float64. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "linalg/backend.h"
#include "linalg/matrix.h"
#include "linalg/qr.h"

enum kind {
    RANDOM,
    ZERO,
    CONSTANT,
    DUPLICATES,  /* every third column repeated */
    RANK_ONE,    /* small integers: eliminated to exact zeros */
    ZERO_COLUMN, /* columns 0 and n / 2 */
    GRADED,      /* columns from 1e-30 to 1e30 */
    TINY,        /* all about 1e-30 */
    HUGE_VALUES, /* all about 1e30 */
    TRIANGULAR,  /* nothing to eliminate */
    VIDEO        /* grey levels: nearly equal columns */
};

struct problem {
    int64_t m, n;
    enum kind kind;
    struct bd_qr_options options;
    int threads;
    int64_t extra_rows; /* ld is larger than m by at least that */
};

static uint64_t seed;

static double uniform(void) /* -1 .. 1 */
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / (double)(1ull << 52) - 1;
}

static float element(const struct problem *p, int64_t i, int64_t j)
{
    double x = uniform();
    switch (p->kind) {
    case ZERO:
        return 0;
    case CONSTANT:
        return 7;
    case RANK_ONE:
        return (float)((i % 5 + 1) * (j % 3 + 1));
    case ZERO_COLUMN:
        return j == 0 || j == p->n / 2 ? 0 : (float)x;
    case GRADED:
        return (float)(x * pow(10, -30 + 60 * (double)(j * 7 % p->n) / (double)p->n));
    case TINY:
        return (float)(x * 1e-30);
    case HUGE_VALUES:
        return (float)(x * 1e30);
    case TRIANGULAR:
        return i <= j ? (float)x : 0;
    case VIDEO:
        return (float)(128 + (double)(i % 100) + (x > 0.9 ? 40 : x));
    default:
        return (float)x;
    }
}

static float *new_matrix(const struct problem *p)
{
    float *a = malloc((size_t)(p->m * p->n) * sizeof *a);
    assert_non_null(a);
    seed = 42;
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i < p->m; i++)
            a[i + j * p->m] = element(p, i, j);
    if (p->kind == DUPLICATES)
        for (int64_t j = 2; j < p->n; j += 3)
            memcpy(a + j * p->m, a + (j - 1) * p->m, (size_t)p->m * sizeof *a);
    return a;
}

/* x . y, in partial sums that compilers vectorise. */
static double dot(const float *x, const float *y, int64_t m)
{
    double sum[8] = { 0 }, total = 0;
    int64_t i = 0;
    for (; i + 8 <= m; i += 8)
        for (int k = 0; k < 8; k++)
            sum[k] += (double)x[i + k] * y[i + k];
    for (; i < m; i++)
        total += (double)x[i] * y[i];
    for (int k = 0; k < 8; k++)
        total += sum[k];
    return total;
}

static double norm(const float *a, int64_t count)
{
    return sqrt(dot(a, a, count));
}

/* ||a - b||_F over columns of m rows: the largest by column, relative to that column of a. */
static double column_error(const float *a, const float *b, int64_t m, int64_t n)
{
    double worst = 0;
    for (int64_t j = 0; j < n; j++) {
        double sum = 0, size = norm(a + j * m, m);
        for (int64_t i = 0; i < m; i++) {
            double d = (double)a[i + j * m] - b[i + j * m];
            sum += d * d;
        }
        double error = sum == 0 ? 0 : sqrt(sum) / size;
        if (!(error <= worst))
            worst = isnan(error) ? INFINITY : error;
    }
    return worst;
}

/* Q R, rounded to float (far below what is tested). */
static float *product(const float *q, const float *r, int64_t m, int64_t n)
{
    float *out = malloc((size_t)(m * n) * sizeof *out);
    double *column = malloc((size_t)m * sizeof *column);
    assert_non_null(out);
    assert_non_null(column);
    for (int64_t j = 0; j < n; j++) {
        memset(column, 0, (size_t)m * sizeof *column);
        for (int64_t k = 0; k <= j; k++)
            for (int64_t i = 0; i < m; i++)
                column[i] += (double)q[i + k * m] * r[k + j * n];
        for (int64_t i = 0; i < m; i++)
            out[i + j * m] = (float)column[i];
    }
    free(column);
    return out;
}

/* ||Q^T Q - I||_F */
static double departure(const float *q, int64_t m, int64_t n)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++) {
            double d = dot(q + i * m, q + j * m, m) - (i == j);
            sum += (i == j ? 1 : 2) * d * d;
        }
    return sqrt(sum);
}

/* The largest |R^T R - A^T A| relative to the norms of the two columns. */
static double gram_error(const float *a, const float *r, int64_t m, int64_t n)
{
    double worst = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++) {
            double error = fabs(dot(a + i * m, a + j * m, m) - dot(r + i * n, r + j * n, i + 1));
            double size = norm(a + i * m, m) * norm(a + j * m, m);
            if (!(error <= worst * size))
                worst = isnan(error) ? INFINITY : error / size;
        }
    return worst;
}

static void assert_upper(const float *r, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j + 1; i < n; i++)
            assert_true(r[i + j * n] == 0);
}

/* What is on the device, in the shape of the problem, and the same on the host, tight. */
struct fixture {
    const struct problem *p;
    struct bd_backend *backend;
    struct bd_qr *qr;
    struct bd_matrix a, q, r, whole_a, whole_q;
    float *host_a, *host_q, *host_r;
};

static void setup(struct fixture *f, const struct problem *p, const char *name)
{
    memset(f, 0, sizeof *f);
    f->p = p;
    assert_int_equal(bd_backend_open(&f->backend, name, p->threads), BD_OK);
    int64_t rows = p->m + p->extra_rows;
    assert_int_equal(bd_matrix_create(f->backend, &f->whole_a, rows, p->n, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(f->backend, &f->whole_q, rows, p->n, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(f->backend, &f->r, p->n, p->n, BD_F32), BD_OK);
    f->a = f->whole_a;
    f->q = f->whole_q;
    f->a.rows = f->q.rows = p->m;
    f->host_a = new_matrix(p);
    f->host_q = calloc((size_t)(p->m * p->n), sizeof(float));
    f->host_r = calloc((size_t)(p->n * p->n), sizeof(float));
    assert_true(f->host_q && f->host_r);
    assert_int_equal(bd_qr_create(&f->qr, f->backend, p->m, p->n, &p->options), BD_OK);
    assert_int_equal(bd_matrix_upload(f->backend, &f->a, f->host_a, p->m), BD_OK);
}

static void teardown(struct fixture *f)
{
    bd_qr_destroy(&f->qr);
    assert_null(f->qr);
    bd_matrix_destroy(f->backend, &f->whole_a);
    bd_matrix_destroy(f->backend, &f->whole_q);
    bd_matrix_destroy(f->backend, &f->r);
    bd_backend_close(&f->backend);
    free(f->host_a);
    free(f->host_q);
    free(f->host_r);
}

static void get_r(struct fixture *f)
{
    int64_t n = f->p->n;
    assert_int_equal(bd_matrix_download(f->backend, f->host_r, n, &f->r), BD_OK);
    assert_upper(f->host_r, n);
}

static double limit(const struct problem *p)
{
    return 30 * (double)p->n * FLT_EPSILON;
}

/* R without Q; A stays as it is. */
static void check_reduce(struct fixture *f)
{
    const struct problem *p = f->p;
    assert_int_equal(bd_qr_reduce(f->qr, &f->a, &f->r), BD_OK);
    get_r(f);
    assert_true(gram_error(f->host_a, f->host_r, p->m, p->n) < limit(p));
    assert_int_equal(bd_matrix_download(f->backend, f->host_q, p->m, &f->a), BD_OK);
    assert_memory_equal(f->host_q, f->host_a, (size_t)(p->m * p->n) * sizeof(float));
}

/* Q^T A = [R; 0], and Q (Q^T A) = A. */
static void check_apply(struct fixture *f)
{
    const struct problem *p = f->p;
    int64_t m = p->m, n = p->n;
    float *want = calloc((size_t)(m * n), sizeof *want);
    assert_non_null(want);
    for (int64_t j = 0; j < n; j++)
        memcpy(want + j * m, f->host_r + j * n, (size_t)n * sizeof *want);
    assert_int_equal(bd_matrix_upload(f->backend, &f->q, f->host_a, m), BD_OK);
    assert_int_equal(bd_qr_apply(f->qr, BD_QR_Q_TRANSPOSED, &f->q), BD_OK);
    assert_int_equal(bd_matrix_download(f->backend, f->host_q, m, &f->q), BD_OK);
    assert_true(column_error(want, f->host_q, m, n) < limit(p));
    assert_int_equal(bd_qr_apply(f->qr, BD_QR_Q, &f->q), BD_OK);
    assert_int_equal(bd_matrix_download(f->backend, f->host_q, m, &f->q), BD_OK);
    assert_true(column_error(f->host_a, f->host_q, m, n) < limit(p));
    free(want);
}

static void check_q(struct fixture *f, struct bd_matrix *q)
{
    int64_t m = f->p->m, n = f->p->n;
    assert_int_equal(bd_qr_form_q(f->qr, q), BD_OK);
    assert_int_equal(bd_matrix_download(f->backend, f->host_q, m, q), BD_OK);
    float *qr = product(f->host_q, f->host_r, m, n);
    assert_true(column_error(f->host_a, qr, m, n) < limit(f->p));
    assert_true(departure(f->host_q, m, n) < limit(f->p));
    free(qr);
}

static void check(const struct problem *p)
{
    for (const char *const *name = bd_backend_names(); *name; name++) {
        struct fixture f;
        setup(&f, p, *name);
        check_reduce(&f);
        assert_int_equal(bd_qr_factor(f.qr, &f.a), BD_OK);
        assert_int_equal(bd_qr_get_r(f.qr, &f.r), BD_OK);
        get_r(&f);
        assert_true(gram_error(f.host_a, f.host_r, p->m, p->n) < limit(p));
        check_apply(&f);
        check_q(&f, &f.q);
        check_q(&f, &f.a);
        assert_int_equal(bd_qr_get_r(f.qr, &f.r), BD_OK); /* outlives the reflectors */
        assert_int_equal(bd_qr_apply(f.qr, BD_QR_Q, &f.q), BD_ERROR_ARGUMENT);
        teardown(&f);
    }
}

static void test_shapes(void **state)
{
    static const int64_t shapes[][2] = {
        { 1, 1 },     { 2, 1 },       { 5000, 1 },   { 3, 3 },     { 17, 16 },    { 16, 16 },
        { 101, 100 }, { 100, 100 },   { 513, 8 },    { 511, 9 },   { 1000, 20 },  { 20000, 20 },
        { 9001, 50 }, { 12345, 100 }, { 4096, 192 }, { 700, 193 }, { 1031, 300 }, { 700, 700 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check(&(struct problem){ .m = shapes[i][0], .n = shapes[i][1], .extra_rows = i % 2 * 37 });
}

static void test_difficult_matrices(void **state)
{
    (void)state;
    for (enum kind kind = ZERO; kind <= VIDEO; kind++) {
        check(&(struct problem){ .m = 3000, .n = 40, .kind = kind });
        check(&(struct problem){
            .m = 300, .n = 37, .kind = kind, .options = { .block_rows = 40, .panel_cols = 10 } });
        check(&(struct problem){ .m = 60, .n = 60, .kind = kind });
    }
}

/* From the paper's 64 x 16 to one row a column: trees of many levels, panels that do not divide n,
 * blocks that do not divide m. */
static void test_block_shapes(void **state)
{
    static const int64_t shapes[][2] = {
        { 64, 16 }, { 32, 16 }, { 40, 5 },  { 2, 1 },       { 3, 1 },    { 100, 50 },
        { 48, 20 }, { 0, 7 },   { 130, 0 }, { 1000000, 9 }, { 128, 64 }, { 700, 33 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct bd_qr_options options = { .block_rows = shapes[i][0],
                                         .panel_cols = (int)shapes[i][1] };
        check(&(struct problem){ .m = 1017, .n = 50, .options = options });
        check(&(struct problem){ .m = 53, .n = 50, .options = options, .kind = VIDEO });
    }
}

static void test_threads(void **state)
{
    static const int threads[] = { 1, 2, 3, 7 };
    (void)state;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        check(&(struct problem){ .m = 10007, .n = 30, .threads = threads[i] });
        check(&(struct problem){ .m = 800, .n = 260, .threads = threads[i] });
        check(&(struct problem){ .m = 2000,
                                 .n = 40,
                                 .threads = threads[i],
                                 .options = { .block_rows = 64, .panel_cols = 16 } });
    }
}

/* The same matrix gives the same bits, however the threads share the work. */
static void test_repeatable(void **state)
{
    struct problem p = { .m = 30000, .n = 24, .threads = 3 };
    (void)state;
    for (const char *const *name = bd_backend_names(); *name; name++) {
        struct fixture f;
        float first[24 * 24];
        setup(&f, &p, *name);
        for (int i = 0; i < 5; i++) {
            assert_int_equal(bd_qr_reduce(f.qr, &f.a, &f.r), BD_OK);
            get_r(&f);
            if (i == 0)
                memcpy(first, f.host_r, sizeof first);
            assert_memory_equal(first, f.host_r, sizeof first);
        }
        teardown(&f);
    }
}

/* NaN and Inf come through as NaN: no hang, no fault, and the plan is fit for the next matrix. */
static void test_not_finite(void **state)
{
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    struct problem p = { .m = 2500, .n = 30, .options = { .block_rows = 600, .panel_cols = 20 } };
    (void)state;
    for (const char *const *name = bd_backend_names(); *name; name++)
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            struct fixture f;
            setup(&f, &p, *name);
            float keep = f.host_a[7 + 3 * p.m];
            f.host_a[7 + 3 * p.m] = bad[i];
            assert_int_equal(bd_matrix_upload(f.backend, &f.a, f.host_a, p.m), BD_OK);
            assert_int_equal(bd_qr_reduce(f.qr, &f.a, &f.r), BD_OK);
            assert_int_equal(bd_qr_factor(f.qr, &f.a), BD_OK);
            assert_int_equal(bd_qr_get_r(f.qr, &f.r), BD_OK);
            get_r(&f);
            assert_false(isfinite(f.host_r[3 + 3 * p.n]));
            assert_int_equal(bd_qr_form_q(f.qr, &f.q), BD_OK);
            f.host_a[7 + 3 * p.m] = keep;
            assert_int_equal(bd_matrix_upload(f.backend, &f.a, f.host_a, p.m), BD_OK);
            check_reduce(&f);
            assert_int_equal(bd_qr_factor(f.qr, &f.a), BD_OK);
            assert_int_equal(bd_qr_get_r(f.qr, &f.r), BD_OK);
            get_r(&f);
            check_q(&f, &f.q);
            teardown(&f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),       cmocka_unit_test(test_difficult_matrices),
        cmocka_unit_test(test_block_shapes), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_repeatable),   cmocka_unit_test(test_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
