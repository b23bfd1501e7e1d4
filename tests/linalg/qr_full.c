/* All m x m elements of Q (bd_qr_form_full_q) by every kind of reflectors on every backend: the
 * error criteria of Kerr, Campbell, Richards: QR Decomposition on GPUs (2009), section 5, on the
 * matrices that they take and on difficult ones, in float64. The paper does not say which norm of
 * Q^T Q - I it means: here it is the 2-norm; the suite wy of the bench has Frobenius'. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/qr_problem.h"
#include "tests/support/quick.h"

static const enum bd_qr_method methods[] = { BD_QR_HOUSEHOLDER, BD_QR_CAQR, BD_QR_AUTO };
enum { method_count = sizeof methods / sizeof *methods };

/* A problem with room for the full Q. */
struct full {
    struct fixture f;
    struct bd_matrix q, whole;
    float *host; /* m x m */
};

static bool open_full(struct full *full, const struct problem *p, const char *backend)
{
    if (!setup(&full->f, p, backend))
        return false;
    struct bd_backend *b = full->f.backend;
    const int64_t room = p->m + p->extra_rows;
    assert_int_equal(bd_matrix_create(b, &full->whole, room, p->m, BD_F32), BD_OK);
    full->host = malloc((size_t)(room * p->m) * sizeof(float));
    assert_non_null(full->host);
    /* what is there first must not count */
    memset(full->host, 0xff, (size_t)(room * p->m) * sizeof(float));
    assert_int_equal(bd_matrix_upload(b, &full->whole, full->host, room), BD_OK);
    full->q = full->whole;
    full->q.rows = p->m;
    return true;
}

static void close_full(struct full *full)
{
    bd_matrix_destroy(full->f.backend, &full->whole);
    free(full->host);
    teardown(&full->f);
}

/* The matrices of the paper: random below the diagonal, ones on it, zeros above, and then plane
 * rotations of random pairs of rows. */
static void take_paper_matrix(struct fixture *f)
{
    const int64_t m = f->p->m, n = f->p->n;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            f->host_a[i + j * m] = i > j ? (float)signed_uniform(&seed) : i == j;
    for (int64_t k = 0; m > 1 && k < 4 * m; k++) {
        const double angle = 3.14159265358979 * signed_uniform(&seed);
        const float c = (float)cos(angle), s = (float)sin(angle);
        const int64_t x = (int64_t)(fabs(signed_uniform(&seed)) * (double)m) % m,
                      y = (x + 1 + k % (m - 1)) % m;
        for (int64_t j = 0; j < n; j++) {
            float *a = f->host_a + j * m, old = a[x];
            a[x] = c * old + s * a[y];
            a[y] = c * a[y] - s * old;
        }
    }
    assert_int_equal(bd_matrix_upload(f->backend, &f->a, f->host_a, m), BD_OK);
}

/* Of the norm of a column of A: the paper's m 2^-23 for the method that it is about, for others
 * what qr.c wants of them. Elements below the normal numbers lose what is below 2^-136,
 * where the tensor cores' numbers end. */
static double limit_of(const struct problem *p, double size)
{
    const double tiny = 4 * sqrt((double)p->m) * 0x1p-136;
    const double paper = (double)(p->m < 8 ? 8 : p->m) * 0x1p-23;
    return (p->options.method == BD_QR_HOUSEHOLDER ? paper : fmax(paper, limit(p))) +
           (size > 0 ? tiny / size : 0);
}

/* ||Q R - A||_F / ||A||_F, and of Q^T A what is below the diagonal, ||L||_F / ||A||_F, by column,
 * so that columns with small norms count as others do; and relative to their limits. */
static void measure(const struct full *full, double *residual, double *below)
{
    const struct fixture *f = &full->f;
    const int64_t m = f->p->m, n = f->p->n;
    float *qr = product(full->host, f->host_r, m, n);
    *residual = *below = 0;
    for (int64_t j = 0; j < n; j++) {
        const float *a = f->host_a + j * m;
        const double size = norm(a, m), most = limit_of(f->p, size);
        const double error = column_error(a, qr + j * m, m, 1);
        double sum = 0;
        for (int64_t i = j + 1; i < m; i++) {
            const double x = dot(full->host + i * m, a, m);
            sum += x * x;
        }
        sum = size > 0 ? sqrt(sum) / size : 0;
        *residual = error / most <= *residual ? *residual : error / most;
        *below = sum / most <= *below ? *below : sum / most;
    }
    free(qr);
}

/* ||Q^T Q - I||_2 by the power method. */
static double spectral_departure(const float *q, int64_t m)
{
    double *e = malloc((size_t)(m * m + 2 * m) * sizeof *e), size = 0;
    assert_non_null(e);
    double *x = e + m * m, *y = x + m;
    for (int64_t j = 0; j < m; j++) {
        x[j] = signed_uniform(&seed);
        for (int64_t i = 0; i <= j; i++)
            e[i + j * m] = e[j + i * m] = dot(q + i * m, q + j * m, m) - (i == j);
    }
    for (int round = 0; round < 20; round++) {
        double sum = 0;
        memset(y, 0, (size_t)m * sizeof *y);
        for (int64_t j = 0; j < m; j++)
            sum += x[j] * x[j];
        for (int64_t j = 0; j < m; j++)
            for (int64_t i = 0; i < m; i++)
                y[i] += e[i + j * m] * x[j] / sqrt(sum);
        sum = 0;
        for (int64_t j = 0; j < m; j++)
            sum += y[j] * y[j];
        size = sqrt(sum);
        memcpy(x, y, (size_t)m * sizeof *x);
        if (!(size > 0)) /* exactly orthonormal, or NaN */
            break;
    }
    free(e);
    return size;
}

/* Factors A and checks Q: the criteria; it is the Q of bd_qr_apply; the reflectors are still there,
 * and the thin Q is its beginning. */
static void check_q(struct full *full)
{
    struct fixture *f = &full->f;
    const int64_t m = f->p->m, n = f->p->n;
    const double most = limit_of(f->p, 0);
    double residual, below;
    assert_int_equal(bd_qr_factor(f->qr, &f->a), BD_OK);
    assert_int_equal(bd_qr_get_r(f->qr, &f->r), BD_OK);
    get_r(f);
    assert_int_equal(bd_qr_form_full_q(f->qr, &full->q), BD_OK);
    assert_int_equal(bd_matrix_download(f->backend, full->host, m, &full->q), BD_OK);
    measure(full, &residual, &below);
    const double orthogonal = spectral_departure(full->host, m) / most;
    if (!(residual <= 1 && below <= 1 && orthogonal <= 1))
        fail_msg("%lld x %lld, kind %d, method %d: residual %g, below the diagonal %g, orthogonal "
                 "to %g of what is wanted",
                 (long long)m, (long long)n, f->p->kind, f->p->options.method, residual, below,
                 orthogonal);
    assert_int_equal(bd_qr_form_q(f->qr, &f->q), BD_OK);
    assert_int_equal(bd_matrix_download(f->backend, f->host_q, m, &f->q), BD_OK);
    assert_true(column_error(f->host_q, full->host, m, n) <= fmax(most, limit(f->p)));
    /* Q^T Q = I by the reflectors */
    assert_int_equal(bd_qr_apply(f->qr, BD_QR_Q_TRANSPOSED, &full->q), BD_OK);
    assert_int_equal(bd_matrix_download(f->backend, full->host, m, &full->q), BD_OK);
    for (int64_t i = 0; i < m; i++)
        full->host[i + i * m] -= 1;
    assert_true(norm(full->host, m * m) <= 2 * fmax(most, limit(f->p)));
}

static void check(struct problem p, bool paper, int64_t offset, float scale)
{
    for (const char *const *name = bd_backend_names(); *name; name++)
        for (int i = 0; i < (p.m > 600 ? 1 : method_count); i++) {
            struct full full;
            p.options.method = methods[i];
            if (!open_full(&full, &p, *name))
                continue;
            full.q.data = (float *)full.q.data + offset;
            if (paper)
                take_paper_matrix(&full.f);
            for (int64_t e = 0; scale != 1 && e < p.m * p.n; e++)
                full.f.host_a[e] *= scale;
            assert_int_equal(bd_matrix_upload(full.f.backend, &full.f.a, full.f.host_a, p.m),
                             BD_OK);
            check_q(&full);
            close_full(&full);
        }
}

static void test_paper_matrices(void **state)
{
    static const int64_t shapes[][2] = { { 1, 1 },     { 2, 1 },     { 200, 1 },   { 16, 16 },
                                         { 17, 16 },   { 129, 63 },  { 100, 100 }, { 101, 100 },
                                         { 300, 65 },  { 256, 128 }, { 321, 320 }, { 512, 256 },
                                         { 400, 190 }, { 640, 560 } };
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (!test_quick() || (i % 4 == 2 && i < 12))
            check((struct problem){ .m = shapes[i][0], .n = shapes[i][1] }, true, 0, 1);
}

/* More reflectors than are taken at once. */
static void test_many(void **state)
{
    (void)state;
    if (test_quick())
        skip();
    check((struct problem){ .m = 1000, .n = 700 }, true, 0, 1);
    check((struct problem){ .m = 1101, .n = 1100, .kind = VIDEO }, false, 0, 1);
}

/* Parts of larger matrices: columns that do not start at multiples of 16 bytes. */
static void test_offsets(void **state)
{
    (void)state;
    check((struct problem){ .m = 150, .n = 70, .extra_rows = 7 }, true, 3, 1);
    if (!test_quick())
        check((struct problem){ .m = 700, .n = 620, .extra_rows = 8 }, true, 5, 1);
}

static void test_difficult_matrices(void **state)
{
    (void)state;
    for (enum kind kind = ZERO; kind <= COLLINEAR; kind++) {
        struct problem p = { .m = 300, .n = 130, .kind = kind, .condition = 1e6 };
        if (test_quick() && kind != DUPLICATES)
            continue;
        check(p, false, 0, 1);
        p.m = p.n = 60;
        check(p, false, 0, 1);
    }
}

/* Elements below the normal numbers. */
static void test_denormals(void **state)
{
    (void)state;
    check((struct problem){ .m = 200, .n = 70 }, false, 0, 0x1p-126F);
    check((struct problem){ .m = 200, .n = 70 }, false, 0, 0x1p-130F);
}

/* NaN and Inf end nothing, hang nothing, and are gone with the matrix that had them. */
static void test_not_finite(void **state)
{
    static const float bad[] = { NAN, INFINITY };
    const struct problem p = { .m = 200, .n = 90 };
    (void)state;
    for (const char *const *name = bd_backend_names(); *name; name++)
        for (int i = 0; i < 2 * method_count; i++) {
            struct full full;
            struct problem mine = p;
            mine.options.method = methods[i / 2];
            if (!open_full(&full, &mine, *name))
                continue;
            struct fixture *f = &full.f;
            const float keep = f->host_a[5 + 20 * p.m];
            f->host_a[5 + 20 * p.m] = bad[i % 2];
            assert_int_equal(bd_matrix_upload(f->backend, &f->a, f->host_a, p.m), BD_OK);
            assert_int_equal(bd_qr_factor(f->qr, &f->a), BD_OK);
            assert_int_equal(bd_qr_form_full_q(f->qr, &full.q), BD_OK);
            assert_int_equal(bd_matrix_download(f->backend, full.host, p.m, &full.q), BD_OK);
            bool shown = false;
            for (int64_t e = 0; e < p.m * p.m; e++)
                shown = shown || !isfinite(full.host[e]);
            assert_true(shown);
            f->host_a[5 + 20 * p.m] = keep;
            assert_int_equal(bd_matrix_upload(f->backend, &f->a, f->host_a, p.m), BD_OK);
            check_q(&full);
            close_full(&full);
        }
}

static void test_bad_arguments(void **state)
{
    const struct problem p = { .m = 30, .n = 20 };
    (void)state;
    for (const char *const *name = bd_backend_names(); *name; name++) {
        struct full full;
        if (!open_full(&full, &p, *name))
            continue;
        struct fixture *f = &full.f;
        struct bd_matrix bad = full.q;
        assert_int_equal(bd_qr_form_full_q(f->qr, &full.q), BD_ERROR_ARGUMENT); /* no Q yet */
        assert_int_equal(bd_qr_factor(f->qr, &f->a), BD_OK);
        assert_int_equal(bd_qr_form_full_q(f->qr, &f->q), BD_ERROR_ARGUMENT); /* m x n */
        bad.rows = 29;
        assert_int_equal(bd_qr_form_full_q(f->qr, &bad), BD_ERROR_ARGUMENT);
        bad = full.q;
        bad.type = BD_U8;
        assert_int_equal(bd_qr_form_full_q(f->qr, &bad), BD_ERROR_ARGUMENT);
        bad = full.q;
        bad.ld = 29;
        assert_int_equal(bd_qr_form_full_q(f->qr, &bad), BD_ERROR_ARGUMENT);
        bad = full.q; /* its last column is A's first */
        bad.data = (float *)f->a.data - 29 * bad.ld;
        assert_int_equal(bd_qr_form_full_q(f->qr, &bad), BD_ERROR_ARGUMENT);
        bad.data = f->a.data;
        assert_int_equal(bd_qr_form_full_q(f->qr, &bad), BD_ERROR_ARGUMENT);
        assert_int_equal(bd_qr_form_full_q(f->qr, &full.q), BD_OK);
        assert_int_equal(bd_qr_form_q(f->qr, &f->a), BD_OK); /* the reflectors are gone */
        assert_int_equal(bd_qr_form_full_q(f->qr, &full.q), BD_ERROR_ARGUMENT);
        close_full(&full);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paper_matrices), cmocka_unit_test(test_many),
        cmocka_unit_test(test_offsets),        cmocka_unit_test(test_difficult_matrices),
        cmocka_unit_test(test_denormals),      cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
