/* Large matrices (large_problem.h) on the device, and what is checked of their factors.
 * Include <cmocka.h> and what it needs first. */
#ifndef BD_TESTS_GPU_LARGE_CHECKS_H
#define BD_TESTS_GPU_LARGE_CHECKS_H

#include "tests/gpu/large_problem.h"

static const double gib = 0x1p30; /* bytes */

/* A matrix on the device of which columns begin `offset` elements into its memory, ld apart. */
struct placed {
    struct bd_matrix whole, x;
};

static inline struct placed place(int64_t m, int64_t n, int64_t ld, int64_t offset,
                                  enum bd_type type)
{
    struct placed p;
    assert_int_equal(bd_matrix_create(large.backend, &p.whole, offset + ld * n, 1, type), BD_OK);
    p.x = (struct bd_matrix){ .rows = m, .cols = n, .ld = ld, .type = type };
    p.x.data = (char *)p.whole.data + offset * bd_type_size(type);
    return p;
}

static inline void copy(const struct bd_matrix *to, const struct bd_matrix *from)
{
    const size_t size = (size_t)bd_type_size(to->type);
    assert_int_equal(large.backend->ops->device->copy(
                         large.backend, to->data, (size_t)to->ld * size, from->data,
                         (size_t)from->ld * size, (size_t)from->rows * size, (size_t)from->cols),
                     BD_OK);
}

/* What comes of the n x n R on the device, in float64. */
static inline double *get_r(const struct bd_matrix *r)
{
    const int64_t n = r->cols;
    double *out = calloc((size_t)(n * n), sizeof *out);
    void *host = calloc((size_t)(n * n), sizeof *out);
    assert_true(out && host);
    assert_int_equal(bd_matrix_download(large.backend, host, n, r), BD_OK);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            const double x = r->type == BD_F64 ? ((const double *)host)[i + j * n]
                                               : (double)((const float *)host)[i + j * n];
            assert_true(isfinite(x) && (i <= j || x == 0));
            out[i + j * n] = x;
        }
    free(host);
    return out;
}

/* A = Q R, and Q orthonormal. */
static inline void check_qr(const struct large_matrix *a, const struct bd_matrix *q,
                            const struct bd_matrix *r, const char *what)
{
    struct large_pass pass = { .a = a, .r = get_r(r), .times_r = true, .gram = true };
    const struct large_errors e = large_compare(&pass, q);
    large_told(what, a, &e);
    large_assert(&e, 30 * (double)a->n * FLT_EPSILON);
    free((void *)pass.r);
}

/* X is A, to `limit`. */
static inline void check_same(const struct large_matrix *a, const struct bd_matrix *x, double limit,
                              const char *what)
{
    struct large_pass pass = { .a = a };
    const struct large_errors e = large_compare(&pass, x);
    large_told(what, a, &e);
    large_assert(&e, limit);
}

#endif
