/* What the tests of QR factorisations share: matrices on which they may fail, measured in float64,
 * and a plan on a backend with its matrices. Include <cmocka.h> and what it needs first. */
#ifndef BD_TESTS_SUPPORT_QR_PROBLEM_H
#define BD_TESTS_SUPPORT_QR_PROBLEM_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/qr_errors.h"
#include "tests/support/random.h"
#include <backdrop/backend.h>
#include <backdrop/matrix.h>
#include <backdrop/qr.h>

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
    VIDEO,       /* grey levels: nearly equal columns */
    COLLINEAR    /* a column and small differences from it: see `condition` */
};

struct problem {
    int64_t m, n;
    enum kind kind;
    struct bd_qr_options options;
    int threads;
    int64_t extra_rows; /* ld is larger than m by at least that */
    double condition;   /* COLLINEAR: about that */
};

static uint64_t seed;

static inline float element(const struct problem *p, int64_t i, int64_t j)
{
    double x = signed_uniform(&seed);
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
    case COLLINEAR:
        return (float)(cos((double)i) + x / p->condition);
    case VIDEO:
        return (float)(128 + (double)(i % 100) + (x > 0.9 ? 40 : x));
    default:
        return (float)x;
    }
}

static inline float *new_matrix(const struct problem *p)
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

/* What is on the device, in the shape of the problem, and the same on the host, tight. */
struct fixture {
    const struct problem *p;
    struct bd_backend *backend;
    struct bd_qr *qr;
    struct bd_matrix a, q, r, whole_a, whole_q;
    float *host_a, *host_q, *host_r;
};

/* False where the backend cannot be opened or has no such method: nothing to test. */
static inline bool setup(struct fixture *f, const struct problem *p, const char *name)
{
    memset(f, 0, sizeof *f);
    f->p = p;
    enum bd_status status = bd_backend_open(&f->backend, name, p->threads);
    if (status == BD_ERROR_UNSUPPORTED) {
        static bool told;
        if (!told)
            print_message("%s\n", bd_error_detail());
        told = true;
        return false;
    }
    assert_int_equal(status, BD_OK);
    status = bd_qr_create(&f->qr, f->backend, p->m, p->n, &p->options);
    if (status == BD_ERROR_UNSUPPORTED) {
        bd_backend_close(&f->backend);
        return false;
    }
    assert_int_equal(status, BD_OK);
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
    assert_int_equal(bd_matrix_upload(f->backend, &f->a, f->host_a, p->m), BD_OK);
    return true;
}

static inline void teardown(struct fixture *f)
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

static inline void get_r(struct fixture *f)
{
    int64_t n = f->p->n;
    assert_int_equal(bd_matrix_download(f->backend, f->host_r, n, &f->r), BD_OK);
    assert_upper(f->host_r, n);
}

static inline double limit(const struct problem *p)
{
    return 30 * (double)p->n * FLT_EPSILON;
}

#endif
