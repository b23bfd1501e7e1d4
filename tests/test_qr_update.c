/* QR updating: after every change Q R is the matrix that it should be, Q is orthonormal, R is
 * triangular; on every backend, against float64. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "linalg/qr_update.h"

/* A window on the host and its factorisation on a backend. */
struct window {
    struct bd_backend *backend;
    struct bd_qr_update *update;
    int64_t m, n, room;
    float *a; /* m x room */
    float *q, *r;
    struct bd_matrix mq, mr, mu; /* mu: m x room, for new columns */
    uint64_t seed;
};

static double noise(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 40) / 8388608.0 - 1;
}

static void open_window(struct window *w, const char *backend, int threads, int64_t m, int64_t room,
                        int64_t pad)
{
    memset(w, 0, sizeof *w);
    w->m = m;
    w->room = room;
    w->seed = 12345 + (uint64_t)(m * 1000 + room);
    assert_int_equal(bd_backend_open(&w->backend, backend, threads), BD_OK);
    assert_int_equal(bd_qr_update_create(&w->update, w->backend, m, room, room), BD_OK);
    w->a = calloc((size_t)(m * room), sizeof *w->a);
    w->q = calloc((size_t)(m * room), sizeof *w->q);
    w->r = calloc((size_t)(room * room), sizeof *w->r);
    assert_true(w->a && w->q && w->r);
    /* ld > rows by making taller arrays and taking a view of them */
    assert_int_equal(bd_matrix_create(w->backend, &w->mq, m + pad, room, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(w->backend, &w->mu, m + pad, room, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(w->backend, &w->mr, room + pad, room, BD_F32), BD_OK);
    w->mq.rows = w->mu.rows = m;
    w->mq.cols = w->mr.rows = w->mr.cols = 0;
}

static void close_window(struct window *w)
{
    bd_matrix_destroy(w->backend, &w->mq);
    bd_matrix_destroy(w->backend, &w->mu);
    bd_matrix_destroy(w->backend, &w->mr);
    bd_qr_update_destroy(&w->update);
    assert_null(w->update);
    bd_backend_close(&w->backend);
    free(w->a);
    free(w->q);
    free(w->r);
}

/* p new columns in front of column k of A, and in mu: pictures of a kind, noise around a common
 * part; then as the test likes to change them. */
static float *make_room(struct window *w, int64_t k, int64_t p)
{
    float *u = w->a + k * w->m;
    memmove(u + p * w->m, u, (size_t)((w->n - k) * w->m) * sizeof *u);
    for (int64_t j = 0; j < p; j++)
        for (int64_t i = 0; i < w->m; i++)
            u[i + j * w->m] = (float)(100 + 50 * sin((double)i) + 20 * noise(&w->seed));
    w->n += p;
    return u;
}

static void send(struct window *w, const float *u, int64_t p)
{
    w->mu.cols = p;
    assert_int_equal(bd_matrix_upload(w->backend, &w->mu, u, w->m), BD_OK);
}

static void insert(struct window *w, int64_t k, int64_t p)
{
    send(w, make_room(w, k, p), p);
    assert_int_equal(bd_qr_insert_columns(w->update, &w->mq, &w->mr, k, &w->mu), BD_OK);
}

static void drop(struct window *w, int64_t k, int64_t p)
{
    float *u = w->a + k * w->m;
    w->n -= p;
    memmove(u, u + p * w->m, (size_t)((w->n - k) * w->m) * sizeof *u);
}

static void discard(struct window *w, int64_t k, int64_t p)
{
    drop(w, k, p);
    assert_int_equal(bd_qr_remove_columns(w->update, &w->mq, &w->mr, k, p), BD_OK);
}

static void slide(struct window *w, int64_t p)
{
    drop(w, 0, p);
    send(w, make_room(w, w->n, p), p);
    assert_int_equal(bd_qr_slide(w->update, &w->mq, &w->mr, &w->mu), BD_OK);
}

static void fetch(struct window *w)
{
    assert_int_equal(w->mq.cols, w->n);
    assert_int_equal(w->mr.rows, w->n);
    assert_int_equal(w->mr.cols, w->n);
    assert_int_equal(bd_matrix_download(w->backend, w->q, w->m, &w->mq), BD_OK);
    assert_int_equal(bd_matrix_download(w->backend, w->r, w->room, &w->mr), BD_OK);
}

/* ||A - Q R||_F / ||A||_F and ||Q^T Q - I||_F, both in units of n eps. */
static void measure(struct window *w, double *residual, double *orthogonality)
{
    fetch(w);
    int64_t m = w->m, n = w->n;
    double error = 0, square = 0, skew = 0;
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = j + 1; i < n; i++)
            assert_true(w->r[i + j * w->room] == 0);
        for (int64_t i = 0; i < m; i++) {
            double value = w->a[i + j * m];
            square += value * value;
            for (int64_t l = 0; l <= j; l++)
                value -= (double)w->q[i + l * m] * w->r[l + j * w->room];
            error += value * value;
        }
        for (int64_t l = 0; l <= j; l++) {
            double inner = l == j ? -1 : 0;
            for (int64_t i = 0; i < m; i++)
                inner += (double)w->q[i + l * m] * w->q[i + j * m];
            skew += inner * inner * (l == j ? 1 : 2);
        }
    }
    double unit = (double)(n ? n : 1) * FLT_EPSILON;
    *residual = square > 0 ? sqrt(error / square) / unit : sqrt(error) / unit;
    *orthogonality = sqrt(skew) / unit;
}

static void check(struct window *w, const char *what)
{
    double residual, orthogonality;
    measure(w, &residual, &orthogonality);
    if (!(residual <= 30) || !(orthogonality <= 30))
        fail_msg("%s, %lld x %lld: residual %g, orthogonality %g (n eps)", what, (long long)w->m,
                 (long long)w->n, residual, orthogonality);
}

#define FOR_EACH_BACKEND(name) \
    for (const char *const *list = bd_backend_names(), *name; (name = *list) != NULL; list++)

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
                if (p > n)
                    continue;
                struct window w;
                open_window(&w, name, 2, m, n, shapes[s][2]);
                insert(&w, 0, n - p); /* from nothing */
                check(&w, "first columns");
                const int64_t places[] = { 0, (n - p) / 3, n - p };
                for (size_t k = 0; k < 3; k++) {
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
        assert_int_equal(w.mq.cols, 0);
        insert(&w, 0, 7);
        check(&w, "from nothing again");
        discard(&w, 2, 0);
        slide(&w, 0);
        check(&w, "no columns at all");
        close_window(&w);
    }
}

/* Zero, constant and repeated columns, and ones that depend on others. */
static void test_dependent_columns(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        for (int wide = 0; wide < 2; wide++) {
            struct window w;
            int64_t m = wide ? 24 : 3000;
            open_window(&w, name, 2, m, 24, 2);
            float *u = make_room(&w, 0, 6);
            memset(u + m, 0, (size_t)m * sizeof *u);
            memcpy(u + 2 * m, u, (size_t)m * sizeof *u);
            for (int64_t i = 0; i < m; i++)
                u[i + 4 * m] = 128;
            send(&w, u, 6);
            assert_int_equal(bd_qr_insert_columns(w.update, &w.mq, &w.mr, 0, &w.mu), BD_OK);
            check(&w, "zero and repeated columns");
            assert_true(w.r[1 + 1 * w.room] == 0);
            assert_true(w.r[2 + 2 * w.room] == 0);
            assert_true(fabsf(w.r[3 + 3 * w.room]) > 1);
            /* the sum of two old ones, alone and in front */
            for (int64_t k = w.n; k >= 0; k -= w.n) {
                u = make_room(&w, k, 1);
                const float *other = w.a + (k ? 3 : 4) * m;
                for (int64_t i = 0; i < m; i++)
                    u[i] = other[i] + other[i + m];
                send(&w, u, 1);
                assert_int_equal(bd_qr_insert_columns(w.update, &w.mq, &w.mr, k, &w.mu), BD_OK);
                check(&w, "a sum of columns");
            }
            /* the same picture for longer than the window, zeros, then noise again */
            for (int round = 0; round < 12; round++) {
                drop(&w, 0, 2);
                u = make_room(&w, w.n, 2);
                for (int64_t i = 0; i < 2 * m; i++)
                    u[i] = round < 5 ? (float)(i % m % 256) : round < 7 ? 0 : u[i];
                send(&w, u, 2);
                assert_int_equal(bd_qr_slide(w.update, &w.mq, &w.mr, &w.mu), BD_OK);
                check(&w, "a still scene");
            }
            while (w.n)
                discard(&w, w.n / 2, 1);
            close_window(&w);
        }
    }
}

static void test_scales(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        for (int e = -30; e <= 30; e += 15) {
            struct window w;
            open_window(&w, name, 1, 700, 12, 0);
            for (int round = 0; round < 8; round++) {
                int64_t p = round ? 3 : 12;
                drop(&w, 0, round ? p : 0);
                float *u = make_room(&w, w.n, p);
                for (int64_t i = 0; i < p * w.m; i++)
                    u[i] *= (float)pow(10, e);
                send(&w, u, p);
                if (round)
                    assert_int_equal(bd_qr_slide(w.update, &w.mq, &w.mr, &w.mu), BD_OK);
                else
                    assert_int_equal(bd_qr_insert_columns(w.update, &w.mq, &w.mr, 0, &w.mu), BD_OK);
                check(&w, "scaled");
            }
            close_window(&w);
        }
    }
}

static void test_r_alone(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        for (int64_t p = 1; p <= 8; p++) {
            struct window w;
            open_window(&w, name, 1, 400, 30, 0);
            insert(&w, 0, 30);
            struct bd_matrix copy;
            assert_int_equal(bd_matrix_create(w.backend, &copy, 30, 30, BD_F32), BD_OK);
            fetch(&w);
            assert_int_equal(bd_matrix_upload(w.backend, &copy, w.r, w.room), BD_OK);
            discard(&w, 11, p);
            fetch(&w);
            assert_int_equal(bd_qr_remove_columns(w.update, NULL, &copy, 11, p), BD_OK);
            assert_int_equal(copy.cols, 30 - p);
            float alone[30 * 30];
            assert_int_equal(bd_matrix_download(w.backend, alone, 30, &copy), BD_OK);
            for (int64_t j = 0; j < w.n; j++)
                for (int64_t i = 0; i < w.n; i++)
                    assert_true(alone[i + 30 * j] == w.r[i + w.room * j]);
            bd_matrix_destroy(w.backend, &copy);
            close_window(&w);
        }
    }
}

/* The drift over a thousand slides: bounded and told. */
static void test_thousand_slides(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        for (int64_t p = 1; p <= 5; p += 4) {
            struct window w;
            open_window(&w, name, 2, 1500, 40, 0);
            insert(&w, 0, 40);
            double most_residual = 0, most_skew = 0, residual, skew;
            for (int step = 1; step <= 1000; step++) {
                slide(&w, p);
                if (step % 50 && step != 1)
                    continue;
                measure(&w, &residual, &skew);
                most_residual = fmax(most_residual, residual);
                most_skew = fmax(most_skew, skew);
                if (step == 1 || step % 250 == 0)
                    print_message("%s, p = %lld, slide %d: residual %.2f, orthogonality %.2f "
                                  "(n eps)\n",
                                  name, (long long)p, step, residual, skew);
            }
            if (!(most_residual <= 30) || !(most_skew <= 30))
                fail_msg("residual %g, orthogonality %g (n eps)", most_residual, most_skew);
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
        double scale = sqrt(900.0) * 115;
        for (int64_t j = 0; j < 30; j++)
            for (int64_t i = 0; i < 30; i++) {
                /* by the Gram matrix, so the smallest elements of R lose by their condition: 10 */
                double difference = fabs(fabs(alone[i + 30 * j]) - fabs(w.r[i + w.room * j]));
                assert_true(difference <= 300 * FLT_EPSILON * scale);
                assert_true(i <= j || alone[i + 30 * j] == 0);
            }
        /* a repeated column: nothing is left for the diagonal, and nothing is NaN */
        struct bd_matrix small = r;
        assert_int_equal(bd_qr_remove_columns(w.update, NULL, &small, 20, 10), BD_OK);
        double g[30] = { 0 };
        for (int64_t j = 0; j < 20; j++)
            for (int64_t i = 0; i < w.m; i++)
                g[j] += (double)w.a[i + j * w.m] * w.a[i + 3 * w.m];
        assert_int_equal(bd_qr_append_gram(w.update, &small, g, g[3]), BD_OK);
        assert_int_equal(bd_matrix_download(w.backend, alone, 30, &small), BD_OK);
        assert_true(fabsf(alone[20 + 30 * 20]) <= 1e-3 * scale);
        /* again: the diagonal is nearly zero now, and the column of R keeps its norm */
        double again[21], norm = 0;
        memcpy(again, g, sizeof again);
        again[20] = g[3];
        assert_int_equal(bd_qr_append_gram(w.update, &small, again, g[3]), BD_OK);
        assert_int_equal(bd_matrix_download(w.backend, alone, 30, &small), BD_OK);
        for (int64_t i = 0; i <= 21; i++)
            norm += (double)alone[i + 30 * 21] * alone[i + 30 * 21];
        assert_true(fabs(norm / g[3] - 1) < 1e-5);
        bd_matrix_destroy(w.backend, &r);
        close_window(&w);
    }
}

static void test_bad_arguments(void **state)
{
    (void)state;
    struct bd_backend *backend;
    struct bd_qr_update *update;
    assert_int_equal(bd_backend_open(&backend, "cpu", 1), BD_OK);
    assert_int_equal(bd_qr_update_create(&update, backend, 5, 6, 1), BD_ERROR_ARGUMENT);
    assert_null(update);
    assert_int_equal(bd_qr_update_create(&update, backend, 5, 0, 1), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_qr_update_create(&update, backend, 5, 4, 5), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_qr_update_create(&update, backend, 5, 4, 0), BD_ERROR_ARGUMENT);
    bd_backend_close(&backend);

    struct window w;
    open_window(&w, "cpu", 1, 50, 6, 0);
    insert(&w, 0, 5);
    struct bd_matrix *q = &w.mq, *r = &w.mr, u = w.mu, bad;
    u.cols = 1;
    assert_int_equal(bd_qr_remove_columns(w.update, q, r, -1, 1), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_qr_remove_columns(w.update, q, r, 5, 1), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_qr_remove_columns(w.update, q, r, 0, 6), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_qr_remove_columns(w.update, q, r, 0, -1), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_qr_remove_columns(w.update, q, NULL, 0, 1), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_qr_insert_columns(w.update, q, r, 6, &u), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_qr_insert_columns(w.update, q, r, -1, &u), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_qr_insert_columns(w.update, NULL, r, 0, &u), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_qr_insert_columns(w.update, q, r, 0, NULL), BD_ERROR_ARGUMENT);
    bad = u;
    bad.cols = 2; /* 7 columns */
    assert_int_equal(bd_qr_insert_columns(w.update, q, r, 0, &bad), BD_ERROR_ARGUMENT);
    bad = u;
    bad.rows = 49;
    assert_int_equal(bd_qr_insert_columns(w.update, q, r, 0, &bad), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_qr_slide(w.update, q, r, &bad), BD_ERROR_ARGUMENT);
    bad = u;
    bad.type = BD_U8;
    assert_int_equal(bd_qr_slide(w.update, q, r, &bad), BD_ERROR_ARGUMENT);
    bad = u;
    bad.cols = 6;
    assert_int_equal(bd_qr_slide(w.update, q, r, &bad), BD_ERROR_ARGUMENT);
    bad = *q;
    bad.cols = 4;
    assert_int_equal(bd_qr_remove_columns(w.update, &bad, r, 0, 1), BD_ERROR_ARGUMENT);
    bad = *r;
    bad.ld = 5;
    assert_int_equal(bd_qr_insert_columns(w.update, q, &bad, 0, &u), BD_ERROR_ARGUMENT);
    double g[6] = { 1, 1, 1, 1, NAN, 1 };
    assert_int_equal(bd_qr_append_gram(w.update, &bad, g, 1), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_qr_append_gram(w.update, r, g, 1), BD_ERROR_NUMERIC);
    assert_int_equal(bd_qr_append_gram(w.update, r, g, INFINITY), BD_ERROR_NUMERIC);
    assert_int_equal(bd_qr_append_gram(w.update, r, NULL, 1), BD_ERROR_ARGUMENT);
    close_window(&w);
}

/* NaN and Inf are refused and leave the factorisation as it was. */
static void test_not_finite(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        static const float values[] = { NAN, INFINITY, -INFINITY };
        for (int i = 0; i < 6; i++) {
            struct window w;
            open_window(&w, name, 2, 5000, 30, 0);
            insert(&w, 0, 18);
            int64_t p = i < 3 ? 2 : 12;
            float *u = malloc((size_t)(5000 * p) * sizeof *u);
            assert_non_null(u);
            for (int64_t j = 0; j < 5000 * p; j++)
                u[j] = (float)noise(&w.seed);
            u[5000 * p - 3] = values[i % 3];
            send(&w, u, p);
            assert_int_equal(bd_qr_insert_columns(w.update, &w.mq, &w.mr, 4, &w.mu),
                             BD_ERROR_NUMERIC);
            check(&w, "after a refused insert");
            assert_int_equal(bd_qr_slide(w.update, &w.mq, &w.mr, &w.mu), BD_ERROR_NUMERIC);
            check(&w, "after a refused slide");
            free(u);
            close_window(&w);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_everything_leaves),
        cmocka_unit_test(test_dependent_columns),
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_r_alone),
        cmocka_unit_test(test_thousand_slides),
        cmocka_unit_test(test_threads_agree),
        cmocka_unit_test(test_append_gram),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
