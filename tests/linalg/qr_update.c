/* QR updating: after every change Q R is the matrix that it should be, Q is orthonormal, R is
 * triangular; on every backend, against float64. */
#include "linalg/shared/append_gram.h"
#include "linalg/shared/update_ops.h"
#include "linalg/update/private.h"
#include "tests/support/qr_window.h"
#include "tests/support/quick.h"

static void test_shapes(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = { /* m, n, pad */
                                         { 1, 1, 0 },      { 5, 4, 3 },     { 17, 17, 0 },
                                         { 64, 9, 1 },     { 100, 33, 7 },  { 511, 12, 0 },
                                         { 2049, 40, 13 }, { 4096, 25, 0 }, { 5000, 64, 1 }
    };
    static const int64_t blocks[] = { 1, 2, 3, 4, 5, 9, 20 };
    FOR_EACH_BACKEND(name)
    {
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            int64_t m = shapes[s][0], n = shapes[s][1];
            for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
                int64_t p = blocks[b];
                if (p > n || (test_quick() && (m != 100 || p != 4)))
                    continue;
                struct window w;
                open_window(&w, name, 2, m, n, shapes[s][2]);
                insert(&w, 0, n - p); /* from nothing */
                check(&w, "first columns");
                const int64_t places[] = { 0, (n - p) / 3, n - p };
                for (size_t k = 0; k < 3; k += test_quick() ? 3 : 1) {
                    insert(&w, places[k], p);
                    check(&w, "insert");
                    slide(&w, p);
                    check(&w, "slide");
                    discard(&w, places[k], p);
                    check(&w, "remove");
                }
                close_window(&w);
            }
        }
    }
}

/* Views that begin in the middle of a column's first 16 bytes: Q, new columns, or both. */
static void test_views(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        for (int which = test_quick() ? 3 : 1; which < 4; which++) {
            struct window w;
            open_window(&w, name, 2, 1234, 20, 5);
            void *q = w.f.q.data, *u = w.mu.data;
            w.f.q.data = (float *)q + (which & 1);
            w.mu.data = (float *)u + (which & 2);
            insert(&w, 0, 12);
            insert(&w, 5, 1);
            check(&w, "insert");
            slide(&w, 1);
            slide(&w, 3);
            check(&w, "slide");
            discard(&w, 2, 1);
            discard(&w, 3, 4);
            check(&w, "remove");
            w.f.q.data = q;
            w.mu.data = u;
            close_window(&w);
        }
    }
}

/* More columns than the shared memory of a GPU holds rows of, and than a panel of R has. */
static void test_many_columns(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        struct window w;
        open_window(&w, name, 2, 610, 300, 0);
        insert(&w, 0, 290);
        if (!test_quick()) {
            insert(&w, 100, 7);
            insert(&w, 3, 1);
            check(&w, "insert");
            slide(&w, 1);
        }
        slide(&w, 6);
        check(&w, "slide");
        if (!test_quick())
            discard(&w, 1, 1);
        discard(&w, 150, 30);
        check(&w, "remove");
        close_window(&w);
    }
}

/* A workspace for single columns. */
static void test_single(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        struct window w;
        open_window(&w, name, 1, 3001, 9, 0);
        bd_qr_update_destroy(&w.update);
        const struct bd_qr_update_shape shape = { .max_rows = w.m, .max_cols = 9, .max_block = 1 };
        assert_int_equal(bd_qr_update_create(&w.update, w.backend, &shape), BD_OK);
        for (int64_t n = 0; n < (test_quick() ? 5 : 9); n++)
            insert(&w, n / 2, 1);
        check(&w, "insert");
        for (int i = 0; i < (test_quick() ? 1 : 12); i++)
            slide(&w, 1);
        check(&w, "slide");
        for (int64_t n = w.n; n > 4; n--)
            discard(&w, n / 2, 1);
        check(&w, "remove");
        close_window(&w);
    }
}

static void test_everything_leaves(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        struct window w;
        open_window(&w, name, 1, 300, 20, 0);
        insert(&w, 0, 20);
        slide(&w, 20);
        check(&w, "slide by the whole window");
        discard(&w, 0, 20);
        assert_int_equal(w.f.q.cols, 0);
        insert(&w, 0, 7);
        check(&w, "from nothing again");
        discard(&w, 2, 0);
        slide(&w, 0);
        check(&w, "no columns at all");
        close_window(&w);
    }
}

/* About the norm of the window's columns. */
static double norm_of_columns(const struct window *w)
{
    return 115 * sqrt((double)w->m);
}

/* `other` (leading dimension 30) is the window's R but for the signs of its rows and `most` eps. */
static void assert_same_r(const struct window *w, const float *other, double most)
{
    for (int64_t j = 0; j < w->n; j++)
        for (int64_t i = 0; i < w->n; i++) {
            double difference = fabs(fabs(other[i + 30 * j]) - fabs(w->r[i + w->room * j]));
            assert_true(difference <= most * FLT_EPSILON * norm_of_columns(w));
            assert_true(i <= j || other[i + 30 * j] == 0);
        }
}

static void test_r_alone(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        for (int64_t p = test_quick() ? 8 : 1; p <= 8; p++) {
            struct window w;
            open_window(&w, name, 1, 400, 30, 0);
            insert(&w, 0, 30);
            struct bd_qr_factors alone_f = { 0 };
            struct bd_matrix *copy = &alone_f.r;
            assert_int_equal(bd_matrix_create(w.backend, copy, 30, 30, BD_F32), BD_OK);
            fetch(&w);
            assert_int_equal(bd_matrix_upload(w.backend, copy, w.r, w.room), BD_OK);
            discard(&w, 11, p);
            fetch(&w);
            assert_int_equal(bd_qr_remove_columns(w.update, &alone_f, 11, p, NULL), BD_OK);
            assert_int_equal(copy->cols, 30 - p);
            float alone[30 * 30];
            assert_int_equal(bd_matrix_download(w.backend, alone, 30, copy), BD_OK);
            assert_same_r(&w, alone, 30);
            bd_matrix_destroy(w.backend, copy);
            close_window(&w);
        }
    }
}

static void test_threads_agree(void **state)
{
    (void)state;
    float *first = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        struct window w;
        open_window(&w, "cpu", threads, 20000, 24, 0);
        insert(&w, 0, 20);
        insert(&w, 7, 4);
        slide(&w, 2);
        slide(&w, 6);
        discard(&w, 5, 1);
        fetch(&w);
        size_t bytes = (size_t)(w.m * w.n) * sizeof(float);
        if (!first) {
            first = malloc(bytes);
            assert_non_null(first);
            memcpy(first, w.q, bytes);
        } else {
            assert_memory_equal(first, w.q, bytes);
        }
        close_window(&w);
    }
    free(first);
}

static void test_append_gram(void **state)
{
    (void)state;
    if (test_quick()) /* test_append_gram_device has the same kernels */
        skip();
    FOR_EACH_BACKEND(name)
    {
        struct window w;
        open_window(&w, name, 1, 900, 30, 5);
        struct bd_matrix r;
        float alone[30 * 30];
        assert_int_equal(bd_matrix_create(w.backend, &r, 30, 30, BD_F32), BD_OK);
        r.rows = r.cols = 0;
        for (int64_t n = 0; n < 30; n++) {
            insert(&w, n, 1);
            fetch(&w);
            double g[30] = { 0 };
            const float *u = w.a + n * w.m;
            for (int64_t j = 0; j <= n; j++)
                for (int64_t i = 0; i < w.m; i++)
                    g[j] += (double)w.a[i + j * w.m] * u[i];
            assert_int_equal(bd_qr_append_gram(w.update, &r, g, g[n]), BD_OK);
            assert_int_equal(r.cols, n + 1);
            assert_int_equal(r.rows, n + 1);
        }
        assert_int_equal(bd_matrix_download(w.backend, alone, 30, &r), BD_OK);
        /* by the Gram matrix, so the smallest elements of R lose by their condition: 10 */
        assert_same_r(&w, alone, 300);
        /* a repeated column: nothing is left for the diagonal, and nothing is NaN */
        struct bd_qr_factors f = { .r = r };
        struct bd_matrix *small = &f.r;
        assert_int_equal(bd_qr_remove_columns(w.update, &f, 20, 10, NULL), BD_OK);
        double g[30] = { 0 };
        for (int64_t j = 0; j < 20; j++)
            for (int64_t i = 0; i < w.m; i++)
                g[j] += (double)w.a[i + j * w.m] * w.a[i + 3 * w.m];
        assert_int_equal(bd_qr_append_gram(w.update, small, g, g[3]), BD_OK);
        assert_int_equal(bd_matrix_download(w.backend, alone, 30, small), BD_OK);
        assert_true(fabsf(alone[20 + 30 * 20]) <= 1e-3 * norm_of_columns(&w));
        /* again: the diagonal is nearly zero now, and the column of R keeps its norm */
        double again[21], norm = 0;
        memcpy(again, g, sizeof again);
        again[20] = g[3];
        assert_int_equal(bd_qr_append_gram(w.update, small, again, g[3]), BD_OK);
        assert_int_equal(bd_matrix_download(w.backend, alone, 30, small), BD_OK);
        for (int64_t i = 0; i <= 21; i++)
            norm += (double)alone[i + 30 * 21] * alone[i + 30 * 21];
        assert_true(fabs(norm / g[3] - 1) < 1e-5);
        bd_matrix_destroy(w.backend, &r);
        close_window(&w);
    }
}

/* Inner products in the backend's memory give the same column as those of the host. */
static void test_append_gram_device(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        struct window w;
        open_window(&w, name, 1, 400, 21, 3);
        insert(&w, 0, 20);
        double g[21] = { 0 };
        for (int64_t i = 0; i < w.m; i++) {
            double value = noise(&w.seed) + w.a[i + 7 * w.m];
            for (int64_t j = 0; j < 20; j++)
                g[j] += (double)w.a[i + j * w.m] * value;
            g[20] += value * value;
        }
        struct bd_matrix r = w.f.r;
        void *device;
        assert_int_equal(w.backend->ops->device->alloc(w.backend, sizeof g, &device), BD_OK);
        assert_int_equal(
            w.backend->ops->device->upload(w.backend, device, sizeof g, g, sizeof g, sizeof g, 1),
            BD_OK);
        assert_int_equal(bd_qr_append_gram_device(w.update, &r, device), BD_OK);
        assert_int_equal(r.cols, 21);
        assert_int_equal(r.rows, 21);
        float first[21 * 21], second[21 * 21];
        assert_int_equal(bd_matrix_download(w.backend, first, 21, &r), BD_OK);
        assert_int_equal(bd_qr_append_gram(w.update, &w.f.r, g, g[20]), BD_OK);
        assert_int_equal(bd_matrix_download(w.backend, second, 21, &w.f.r), BD_OK);
        assert_memory_equal(first, second, sizeof first);
        assert_int_equal(bd_qr_append_gram_device(w.update, &r, device), BD_ERROR_ARGUMENT);
        w.backend->ops->device->free(w.backend, device);
        close_window(&w);
    }
}

/* Arguments out of range are refused and named. */
#define REFUSED(call) assert_int_equal(call, BD_ERROR_ARGUMENT)

static void test_bad_shapes(void **state)
{
    (void)state;
    static const struct bd_qr_update_shape shapes[] = {
        { 5, 6, 1, 0, false }, { 5, 0, 1, 0, false }, { 5, 4, 6, 0, false },  { 5, 4, 0, 0, false },
        { 5, 4, 1, -1, true }, { 5, -1, 1, 0, true }, { -1, -1, 1, 0, false }
    };
    struct bd_backend *backend;
    struct bd_qr_update *update;
    assert_int_equal(bd_backend_open(&backend, "cpu", 1), BD_OK);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        REFUSED(bd_qr_update_create(&update, backend, &shapes[i]));
        assert_null(update);
    }
    REFUSED(bd_qr_update_create(&update, backend, NULL));
    /* sizes of which products leave 64 bits */
    static const struct bd_qr_update_shape large[] = { { INT64_MAX, 1, 1, 0, false },
                                                       { INT64_MAX, INT64_MAX, 512, 0, false },
                                                       { (int64_t)1 << 30, 4, 4, 0, true },
                                                       { 5, 4, 1, INT64_MAX, false } };
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        assert_int_equal(bd_qr_update_create(&update, backend, &large[i]), BD_ERROR_MEMORY);
        assert_null(update);
        assert_null(strchr(bd_error_detail(), '\n'));
    }
    bd_backend_close(&backend);
}

/* Places and counts near the end of 64 bits are refused like any others, and told as they are. */
static void assert_says(const char *part)
{
    if (!strstr(bd_error_detail(), part))
        fail_msg("\"%s\" does not say \"%s\"", bd_error_detail(), part);
}

static void test_ends_of_64_bits(void **state)
{
    (void)state;
    struct window w;
    open_window(&w, "cpu", 1, 50, 6, 0);
    insert(&w, 0, 5);
    struct bd_qr_factors *f = &w.f;
    struct bd_matrix u = w.mu;
    REFUSED(bd_qr_remove_columns(w.update, f, INT64_MAX, 2, NULL));
    assert_says("remove 2 columns from column 9223372036854775807 on: there are 5");
    REFUSED(bd_qr_remove_columns(w.update, f, INT64_MIN, 2, NULL));
    REFUSED(bd_qr_remove_columns(w.update, f, 0, INT64_MAX, NULL));
    REFUSED(bd_qr_remove_rows(w.update, f, INT64_MAX, 2, NULL));
    assert_says("remove 2 rows from row 9223372036854775807 on: there are 50");
    REFUSED(bd_qr_remove_rows(w.update, f, INT64_MAX - 1, INT64_MAX, NULL));
    u.cols = 1;
    REFUSED(bd_qr_insert_columns(w.update, f, INT64_MAX, &u, NULL));
    assert_says("9223372036854775807");
    u.cols = INT64_MAX; /* never looked into */
    REFUSED(bd_qr_insert_columns(w.update, f, 0, &u, NULL));
    REFUSED(bd_qr_slide(w.update, f, &u, NULL));
    const struct bd_qr_change changes[] = {
        { BD_QR_REMOVE_COLUMNS, 50, 5, INT64_MAX, 2, true },
        { BD_QR_REMOVE_ROWS, 50, 5, 2, INT64_MAX, true },
        { BD_QR_INSERT_COLUMNS, 50, 5, 0, INT64_MAX, true },
        { BD_QR_INSERT_ROWS, 50, 5, 0, INT64_MAX, true },
    };
    struct bd_qr_cost cost;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        REFUSED(bd_qr_update_cost(w.update, &changes[i], &cost));
    close_window(&w);
}

/* Without Q rows come in anywhere, and the place says nothing. */
static void test_rows_anywhere(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        struct window w;
        open_window(&w, name, 1, 50, 6, 0);
        insert(&w, 0, 5);
        struct bd_qr_factors alone[2] = { { .r = w.f.r }, { .r = w.f.r } };
        struct bd_matrix row = w.mu;
        row.rows = 1;
        row.cols = 5;
        float r[3][25];
        assert_int_equal(bd_matrix_download(w.backend, r[0], 5, &w.f.r), BD_OK);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(bd_matrix_upload(w.backend, &w.f.r, r[0], 5), BD_OK);
            assert_int_equal(
                bd_qr_insert_rows(w.update, &alone[i], i ? INT64_MAX : 0, &row, NULL, NULL), BD_OK);
            assert_int_equal(bd_matrix_download(w.backend, r[1 + i], 5, &w.f.r), BD_OK);
        }
        assert_memory_equal(r[1], r[2], sizeof r[1]);
        close_window(&w);
    }
}

static void test_bad_arguments(void **state)
{
    (void)state;
    struct window w;
    open_window(&w, "cpu", 1, 50, 6, 0);
    insert(&w, 0, 5);
    struct bd_qr_factors *f = &w.f, bad_f;
    struct bd_matrix u = w.mu, bad;
    u.cols = 1;
    REFUSED(bd_qr_remove_columns(w.update, NULL, 0, 1, NULL));
    REFUSED(bd_qr_remove_columns(w.update, f, -1, 1, NULL));
    REFUSED(bd_qr_remove_columns(w.update, f, 5, 1, NULL));
    REFUSED(bd_qr_remove_columns(w.update, f, 0, 6, NULL));
    REFUSED(bd_qr_remove_columns(w.update, f, 0, -1, NULL));
    REFUSED(bd_qr_insert_columns(w.update, f, 6, &u, NULL));
    REFUSED(bd_qr_insert_columns(w.update, f, -1, &u, NULL));
    REFUSED(bd_qr_insert_columns(w.update, f, 0, NULL, NULL));
    bad_f = *f;
    bad_f.q = (struct bd_matrix){ 0 }; /* without Q no new columns */
    REFUSED(bd_qr_insert_columns(w.update, &bad_f, 0, &u, NULL));
    REFUSED(bd_qr_slide(w.update, &bad_f, &u, NULL));
    bad = u;
    bad.cols = 2; /* 7 columns */
    REFUSED(bd_qr_insert_columns(w.update, f, 0, &bad, NULL));
    bad = u;
    bad.rows = 49;
    REFUSED(bd_qr_insert_columns(w.update, f, 0, &bad, NULL));
    REFUSED(bd_qr_slide(w.update, f, &bad, NULL));
    bad = u;
    bad.type = BD_U8;
    REFUSED(bd_qr_slide(w.update, f, &bad, NULL));
    bad = u;
    bad.cols = 6;
    REFUSED(bd_qr_slide(w.update, f, &bad, NULL));
    bad_f = *f;
    bad_f.q.cols = 4;
    REFUSED(bd_qr_remove_columns(w.update, &bad_f, 0, 1, NULL));
    bad_f = *f;
    bad_f.r.ld = 5;
    REFUSED(bd_qr_insert_columns(w.update, &bad_f, 0, &u, NULL));
    double g[6] = { 1, 1, 1, 1, NAN, 1 };
    REFUSED(bd_qr_append_gram(w.update, &bad_f.r, g, 1));
    assert_int_equal(bd_qr_append_gram(w.update, &f->r, g, 1), BD_ERROR_NUMERIC);
    assert_int_equal(bd_qr_append_gram(w.update, &f->r, g, INFINITY), BD_ERROR_NUMERIC);
    REFUSED(bd_qr_append_gram(w.update, &f->r, NULL, 1));
    close_window(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_many_columns),
        cmocka_unit_test(test_single),
        cmocka_unit_test(test_everything_leaves),
        cmocka_unit_test(test_r_alone),
        cmocka_unit_test(test_threads_agree),
        cmocka_unit_test(test_append_gram),
        cmocka_unit_test(test_append_gram_device),
        cmocka_unit_test(test_bad_shapes),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_ends_of_64_bits),
        cmocka_unit_test(test_rows_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
