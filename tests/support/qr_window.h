/* For tests of QR updating: a window of columns on the host beside its factorisation on a backend,
 * changed in step and compared in float64. */
#ifndef BD_TESTS_SUPPORT_QR_WINDOW_H
#define BD_TESTS_SUPPORT_QR_WINDOW_H

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

#include <backdrop/qr_update.h>

#include "tests/support/random.h"

/* A window on the host and its factorisation on a backend. */
struct window {
    struct bd_backend *backend;
    struct bd_qr_update *update;
    int64_t m, n, room;
    float *a; /* m x room */
    float *q, *r;
    struct bd_qr_factors f;
    struct bd_matrix mu; /* m x room, for new columns */
    uint64_t seed;
};

static inline void open_window(struct window *w, const char *backend, int threads, int64_t m,
                               int64_t room, int64_t pad)
{
    memset(w, 0, sizeof *w);
    w->m = m;
    w->room = room;
    w->seed = 12345 + (uint64_t)(m * 1000 + room);
    assert_int_equal(bd_backend_open(&w->backend, backend, threads), BD_OK);
    const struct bd_qr_update_shape shape = { .max_rows = m, .max_cols = room, .max_block = room };
    assert_int_equal(bd_qr_update_create(&w->update, w->backend, &shape), BD_OK);
    w->a = calloc((size_t)(m * room), sizeof *w->a);
    w->q = calloc((size_t)(m * room), sizeof *w->q);
    w->r = calloc((size_t)(room * room), sizeof *w->r);
    assert_true(w->a && w->q && w->r);
    /* ld > rows by making taller arrays and taking a view of them */
    assert_int_equal(bd_matrix_create(w->backend, &w->f.q, m + pad, room, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(w->backend, &w->mu, m + pad, room, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(w->backend, &w->f.r, room + pad, room, BD_F32), BD_OK);
    w->f.q.rows = w->mu.rows = m;
    w->f.q.cols = w->f.r.rows = w->f.r.cols = 0;
}

static inline void close_window(struct window *w)
{
    bd_matrix_destroy(w->backend, &w->f.q);
    bd_matrix_destroy(w->backend, &w->mu);
    bd_matrix_destroy(w->backend, &w->f.r);
    bd_qr_update_destroy(&w->update);
    assert_null(w->update);
    bd_backend_close(&w->backend);
    free(w->a);
    free(w->q);
    free(w->r);
}

/* p new columns in front of column k of A, and in mu: pictures of a kind, noise around a common
 * part; then as the test likes to change them. */
static inline float *make_room(struct window *w, int64_t k, int64_t p)
{
    float *u = w->a + k * w->m;
    memmove(u + p * w->m, u, (size_t)((w->n - k) * w->m) * sizeof *u);
    for (int64_t j = 0; j < p; j++)
        for (int64_t i = 0; i < w->m; i++)
            u[i + j * w->m] = (float)(100 + 50 * sin((double)i) + 20 * noise(&w->seed));
    w->n += p;
    return u;
}

static inline void send(struct window *w, const float *u, int64_t p)
{
    w->mu.cols = p;
    assert_int_equal(bd_matrix_upload(w->backend, &w->mu, u, w->m), BD_OK);
}

static inline void insert(struct window *w, int64_t k, int64_t p)
{
    send(w, make_room(w, k, p), p);
    assert_int_equal(bd_qr_insert_columns(w->update, &w->f, k, &w->mu, NULL), BD_OK);
}

static inline void drop(struct window *w, int64_t k, int64_t p)
{
    float *u = w->a + k * w->m;
    w->n -= p;
    memmove(u, u + p * w->m, (size_t)((w->n - k) * w->m) * sizeof *u);
}

static inline void discard(struct window *w, int64_t k, int64_t p)
{
    drop(w, k, p);
    assert_int_equal(bd_qr_remove_columns(w->update, &w->f, k, p, NULL), BD_OK);
}

static inline void slide(struct window *w, int64_t p)
{
    drop(w, 0, p);
    send(w, make_room(w, w->n, p), p);
    assert_int_equal(bd_qr_slide(w->update, &w->f, &w->mu, NULL), BD_OK);
}

static inline void fetch(struct window *w)
{
    assert_int_equal(w->f.q.cols, w->n);
    assert_int_equal(w->f.r.rows, w->n);
    assert_int_equal(w->f.r.cols, w->n);
    assert_int_equal(bd_matrix_download(w->backend, w->q, w->m, &w->f.q), BD_OK);
    assert_int_equal(bd_matrix_download(w->backend, w->r, w->room, &w->f.r), BD_OK);
}

/* ||A - Q R||_F / ||A||_F and ||Q^T Q - I||_F, both in units of n eps. */
static inline void measure(struct window *w, double *residual, double *orthogonality)
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

static inline void check(struct window *w, const char *what)
{
    double residual, orthogonality;
    measure(w, &residual, &orthogonality);
    if (!(residual <= 30) || !(orthogonality <= 30))
        fail_msg("%s, %lld x %lld: residual %g, orthogonality %g (n eps)", what, (long long)w->m,
                 (long long)w->n, residual, orthogonality);
}

/* Whether the backend can run here; one that cannot is named. */
static inline int present(const char *name)
{
    struct bd_backend *backend;
    enum bd_status status = bd_backend_open(&backend, name, 1);
    if (status == BD_ERROR_UNSUPPORTED) {
        print_message("skipped: %s\n", bd_error_detail());
        return 0;
    }
    assert_int_equal(status, BD_OK);
    bd_backend_close(&backend);
    return 1;
}

#define FOR_EACH_BACKEND(name)                                                                \
    for (const char *const *list = bd_backend_names(), *name; (name = *list) != NULL; list++) \
        if (present(name))

#endif
