/* Least squares in one call, and by the factors of a problem that changes: against LAPACK's sgels
 * and against normal equations in float64. On every backend. */
#include <lapacke.h>

#include "tests/support/quick.h"
#include "tests/support/update_problem.h"
#include <backdrop/least_squares.h>

/* ||A^T (b - A x)|| / (||A||_F ||b - A x|| + ||A||_F ||A||_F ||x|| eps): of the exact solution of a
 * nearby problem it is a small multiple of eps. */
static double normal_residual(int64_t m, int64_t n, const float *a, int64_t lda, const float *b,
                              const float *x)
{
    double *left = calloc((size_t)m, sizeof *left), square = 0, a_square = 0, x_square = 0, sum = 0;
    assert_non_null(left);
    for (int64_t i = 0; i < m; i++)
        left[i] = b[i];
    for (int64_t j = 0; j < n; j++) {
        x_square += (double)x[j] * x[j];
        for (int64_t i = 0; i < m; i++) {
            left[i] -= (double)a[i + j * lda] * x[j];
            a_square += (double)a[i + j * lda] * a[i + j * lda];
        }
    }
    for (int64_t i = 0; i < m; i++)
        square += left[i] * left[i];
    for (int64_t j = 0; j < n; j++) {
        double inner = 0;
        for (int64_t i = 0; i < m; i++)
            inner += left[i] * a[i + j * lda];
        sum += inner * inner;
    }
    free(left);
    double scale = sqrt(a_square) * (sqrt(square) + sqrt(a_square * x_square));
    return scale > 0 ? sqrt(sum) / scale : sqrt(sum);
}

struct problem_data {
    int64_t m, n, rhs;
    float *a, *b, *x;
    struct bd_matrix ma, mb, mx;
};

static void make_data(struct problem_data *d, struct bd_backend *backend, int64_t m, int64_t n,
                      int64_t rhs)
{
    uint64_t seed = (uint64_t)(m + 3 * n);
    *d = (struct problem_data){ .m = m, .n = n, .rhs = rhs };
    d->a = floats(m * n);
    d->b = floats(m * rhs);
    d->x = floats(m * rhs);
    for (int64_t i = 0; i < m * n; i++)
        d->a[i] = (float)noise(&seed);
    for (int64_t i = 0; i < m * rhs; i++)
        d->b[i] = (float)noise(&seed);
    assert_int_equal(bd_matrix_create(backend, &d->ma, m + 5, n, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(backend, &d->mb, m + 3, rhs, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(backend, &d->mx, n + 1, rhs, BD_F32), BD_OK);
    d->ma.rows = d->mb.rows = m;
    d->mx.rows = n;
}

static void send_data(struct problem_data *d, struct bd_backend *backend)
{
    assert_int_equal(bd_matrix_upload(backend, &d->ma, d->a, d->m), BD_OK);
    assert_int_equal(bd_matrix_upload(backend, &d->mb, d->b, d->m), BD_OK);
}

static void free_data(struct problem_data *d, struct bd_backend *backend)
{
    bd_matrix_destroy(backend, &d->ma);
    bd_matrix_destroy(backend, &d->mb);
    bd_matrix_destroy(backend, &d->mx);
    free(d->a);
    free(d->b);
    free(d->x);
}

/* 0 where the backend cannot yet. */
static int solved(enum bd_status status)
{
    if (status == BD_ERROR_UNSUPPORTED) {
        print_message("skipped: %s\n", bd_error_detail());
        return 0;
    }
    if (status != BD_OK)
        fail_msg("%s", bd_error_detail());
    return 1;
}

static void test_one_call(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = { { 1, 1, 1 },    { 5, 5, 2 },     { 40, 39, 1 },
                                         { 700, 30, 9 }, { 900, 300, 3 }, { 20000, 12, 1 } };
    FOR_EACH_BACKEND(name)
    {
        struct bd_backend *backend;
        assert_int_equal(bd_backend_open(&backend, name, 2), BD_OK);
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            int64_t m = shapes[s][0], n = shapes[s][1], rhs = shapes[s][2];
            if (test_quick() && m > 100)
                continue;
            struct problem_data d;
            make_data(&d, backend, m, n, rhs);
            send_data(&d, backend);
            if (!solved(bd_least_squares(backend, &d.ma, &d.mb, &d.mx))) {
                free_data(&d, backend);
                break;
            }
            assert_int_equal(bd_matrix_download(backend, d.x, m, &d.mx), BD_OK);
            double worst = 0, lapack = 0;
            for (int64_t j = 0; j < rhs; j++)
                worst = fmax(worst, normal_residual(m, n, d.a, m, d.b + j * m, d.x + j * m));
            float *a = floats(m * n), *b = floats(m * rhs);
            memcpy(a, d.a, (size_t)(m * n) * sizeof *a);
            memcpy(b, d.b, (size_t)(m * rhs) * sizeof *b);
            assert_int_equal(LAPACKE_sgels(LAPACK_COL_MAJOR, 'N', (lapack_int)m, (lapack_int)n,
                                           (lapack_int)rhs, a, (lapack_int)m, b, (lapack_int)m),
                             0);
            for (int64_t j = 0; j < rhs; j++)
                lapack = fmax(lapack, normal_residual(m, n, d.a, m, d.b + j * m, b + j * m));
            print_message("%s, %lld x %lld: %.2g, sgels %.2g\n", name, (long long)m, (long long)n,
                          worst, lapack);
            assert_true(worst <= 4 * lapack + 10 * FLT_EPSILON);
            /* A and b are as they were */
            assert_int_equal(bd_matrix_download(backend, a, m, &d.ma), BD_OK);
            assert_memory_equal(a, d.a, (size_t)(m * n) * sizeof *a);
            assert_int_equal(bd_matrix_download(backend, b, m, &d.mb), BD_OK);
            assert_memory_equal(b, d.b, (size_t)(m * rhs) * sizeof *b);
            free(a);
            free(b);
            free_data(&d, backend);
        }
        bd_backend_close(&backend);
    }
}

static void test_bad_numbers(void **state)
{
    (void)state;
    static const float values[] = { NAN, INFINITY, -INFINITY };
    FOR_EACH_BACKEND(name)
    {
        struct bd_backend *backend;
        assert_int_equal(bd_backend_open(&backend, name, 1), BD_OK);
        for (int i = 0; i < 8; i++) {
            struct problem_data d;
            make_data(&d, backend, 300, 20, 2);
            if (i < 3)
                d.a[300 * 20 - 1] = values[i];
            else if (i < 6)
                d.b[7] = values[i - 3];
            else if (i == 6)
                memset(d.a + 300 * 4, 0, 300 * sizeof *d.a); /* a column of zeros */
            else
                memset(d.a, 0, 300 * 20 * sizeof *d.a);
            send_data(&d, backend);
            enum bd_status status = bd_least_squares(backend, &d.ma, &d.mb, &d.mx);
            if (status != BD_ERROR_UNSUPPORTED)
                assert_int_equal(status, BD_ERROR_NUMERIC);
            free_data(&d, backend);
        }
        bd_backend_close(&backend);
    }
}

#define REFUSED(call) assert_int_equal(call, BD_ERROR_ARGUMENT)

static void test_bad_arguments(void **state)
{
    (void)state;
    struct bd_backend *backend;
    assert_int_equal(bd_backend_open(&backend, "cpu", 1), BD_OK);
    struct problem_data d;
    make_data(&d, backend, 30, 5, 2);
    struct bd_matrix bad;
    REFUSED(bd_least_squares(backend, NULL, &d.mb, &d.mx));
    REFUSED(bd_least_squares(backend, &d.ma, NULL, &d.mx));
    REFUSED(bd_least_squares(backend, &d.ma, &d.mb, NULL));
    bad = d.ma;
    bad.rows = 4; /* fewer than columns */
    REFUSED(bd_least_squares(backend, &bad, &d.mb, &d.mx));
    bad = d.ma;
    bad.cols = 0;
    REFUSED(bd_least_squares(backend, &bad, &d.mb, &d.mx));
    bad = d.mb;
    bad.rows = 29;
    REFUSED(bd_least_squares(backend, &d.ma, &bad, &d.mx));
    bad = d.mx;
    bad.rows = 6;
    REFUSED(bd_least_squares(backend, &d.ma, &d.mb, &bad));
    bad = d.mx;
    bad.cols = 1;
    REFUSED(bd_least_squares(backend, &d.ma, &d.mb, &bad));
    bad = d.mx;
    bad.type = BD_U8;
    REFUSED(bd_least_squares(backend, &d.ma, &d.mb, &bad));
    free_data(&d, backend);

    struct problem p;
    open_problem(&p, "cpu", THIN, 40, 8, 8, 2);
    assert_int_equal(begin_problem(&p, 30, 6), BD_OK);
    struct bd_matrix x;
    make_matrix(&p, &x, 6, 2);
    struct bd_qr_factors f = p.f;
    REFUSED(bd_qr_solve(p.update, NULL, &x));
    REFUSED(bd_qr_solve(p.update, &p.f, NULL));
    f.d = (struct bd_matrix){ 0 };
    REFUSED(bd_qr_solve(p.update, &f, &x));
    f = p.f;
    f.d.rows = 5;
    REFUSED(bd_qr_solve(p.update, &f, &x));
    bad = x;
    bad.rows = 5;
    REFUSED(bd_qr_solve(p.update, &p.f, &bad));
    bad = x;
    bad.cols = 1;
    REFUSED(bd_qr_solve(p.update, &p.f, &bad));
    bd_matrix_destroy(p.backend, &x);
    close_problem(&p);
    bd_backend_close(&backend);
}

/* The solution of a problem whose columns and rows come and go. */
static void test_changing_problem(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        for (int form = 0; form < 2; form++) {
            struct problem p;
            open_problem(&p, name, form, 260, 50, 40, 3);
            int on = solved(begin_problem(&p, 200, 30));
            for (int step = 0; step < 6 && on; step++) {
                int64_t block = step % 2 ? 3 : 20;
                fill_columns(&p, 0, block);
                on = solved(columns_in(&p, p.n / 2, block));
                fill_rows(&p, block);
                on = on && solved(rows_in(&p, p.m / 3, block));
                on = on && solved(rows_out(&p, p.m / 2, block));
                on = on && solved(columns_out(&p, 0, block));
                struct bd_matrix x;
                make_matrix(&p, &x, p.n, p.rhs);
                on = on && solved(bd_qr_solve(p.update, &p.f, &x));
                if (on) {
                    int64_t ld = p.shape.max_rows;
                    assert_int_equal(bd_matrix_download(p.backend, p.d, ld, &x), BD_OK);
                    for (int64_t j = 0; j < p.rhs; j++)
                        assert_true(normal_residual(p.m, p.n, p.a, ld, p.b + j * ld,
                                                    p.d + j * ld) <= 50 * FLT_EPSILON);
                }
                bd_matrix_destroy(p.backend, &x);
            }
            /* a column of zeros: R has a zero on its diagonal, and x stays */
            memset(p.u, 0, (size_t)p.shape.max_rows * sizeof *p.u);
            if (on && solved(columns_in(&p, 0, 1))) {
                struct bd_matrix x;
                make_matrix(&p, &x, p.n, p.rhs);
                assert_int_equal(bd_qr_solve(p.update, &p.f, &x), BD_ERROR_NUMERIC);
                bd_matrix_destroy(p.backend, &x);
            }
            close_problem(&p);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_call),
        cmocka_unit_test(test_bad_numbers),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_changing_problem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
