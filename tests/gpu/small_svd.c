/* The SVD of the small R on the GPU as GPUs of other kinds do it, without clusters of thread blocks
 * and with less shared memory, and from the Gram matrix instead of R; in float64 on the host. Skips
 * without a GPU. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

#include "gpu/cuda.h"
#include "gpu/svd/small_svd.h"
#include "linalg/shared/svd_ops.h"
#include "tests/gpu/group.h"
#include "tests/support/quick.h"
#include "tests/support/random.h"
#include <backdrop/matrix.h>

static uint64_t seed;

static void *zeros(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count, size);
    if (!memory)
        abort();
    return memory;
}

/* g := R^T R, whole, n x n. */
static void square(const float *r, double *g, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            g[i + j * n] = 0;
            for (int64_t k = 0; k <= i && k <= j; k++)
                g[i + j * n] += (double)r[k + i * n] * (double)r[k + j * n];
        }
}

/* r: upper triangle, rows that shrink over four decades; g := R^T R, whole. Both n x n. */
static void fill(float *r, double *g, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            r[i + j * n] =
                i > j ? 0 : (float)(noise(&seed) * pow(10, -4.0 * (double)i / (double)n));
    square(r, g, n);
}

/* V^T V = I and V^T G V = diag(sigma^2), sigma descending, to float32 rounding of sigma[0]. */
static void check(const double *g, const float *sigma, const float *v, int64_t n)
{
    double first = (double)sigma[0], *gv = zeros(n, sizeof *gv);
    for (int64_t j = 0; j < n; j++) {
        assert_true(sigma[j] >= 0 && (!j || sigma[j] <= sigma[j - 1]));
        for (int64_t i = 0; i < n; i++) {
            gv[i] = 0;
            for (int64_t k = 0; k < n; k++)
                gv[i] += g[i + k * n] * (double)v[k + j * n];
        }
        for (int64_t i = 0; i <= j; i++) {
            double skew = -(double)(i == j), product = 0;
            for (int64_t k = 0; k < n; k++) {
                skew += (double)v[k + i * n] * (double)v[k + j * n];
                product += (double)v[k + i * n] * gv[k];
            }
            assert_true(fabs(skew) <= 8 * (double)FLT_EPSILON);
            if (i == j)
                assert_true(fabs(sqrt(fmax(product, 0)) - (double)sigma[j]) <=
                            8 * (double)FLT_EPSILON * first);
            else
                assert_true(fabs(product) <=
                            8 * (double)FLT_EPSILON * first *
                                    ((double)sigma[i] + (double)sigma[j]) +
                                64 * (double)FLT_EPSILON * (double)FLT_EPSILON * first * first);
        }
    }
    free(gv);
}

/* A cold compute and warm ones of an R that changes, from R and from G in turn. */
static void check_size(int64_t n)
{
    float *r = zeros(n * n, sizeof *r), *sigma = zeros(n, sizeof *sigma);
    float *v = zeros(n * n, sizeof *v);
    double *g = zeros(n * n, sizeof *g);
    size_t column = (size_t)n * sizeof(float);
    struct bd_cuda *cuda = bd_cuda_of(backend);
    struct bd_matrix mr, mv;
    void *work, *gram;
    assert_int_equal(bd_matrix_create(backend, &mr, n, n, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(backend, &mv, n, n, BD_F32), BD_OK);
    assert_int_equal(bd_cuda_alloc(cuda, &gram, (size_t)(n * n) * sizeof(double), "a test"), BD_OK);
    assert_int_equal(bd_cuda_svd_ops.create(backend, n, &work), BD_OK);
    seed = 7 + (uint64_t)n;
    fill(r, g, n);
    for (int step = 0; step < 4; step++) {
        if (step % 2) {
            assert_int_equal(cudaMemcpyAsync(gram, g, (size_t)(n * n) * sizeof *g,
                                             cudaMemcpyHostToDevice, cuda->stream),
                             cudaSuccess);
            assert_int_equal(bd_cuda_svd_enqueue_gram(work, gram, NULL), BD_OK);
        } else {
            assert_int_equal(bd_matrix_upload(backend, &mr, r, n), BD_OK);
            assert_int_equal(bd_cuda_svd_enqueue(work, mr.data, mr.ld, NULL), BD_OK);
        }
        int64_t ld;
        const float *resident = bd_cuda_svd_ops.v(work, &ld);
        assert_int_equal(
            cudaMemcpyAsync(v, resident, column * (size_t)n, cudaMemcpyDeviceToHost, cuda->stream),
            cudaSuccess);
        assert_int_equal(cudaMemcpyAsync(sigma, bd_cuda_svd_ops.sigma(work), column,
                                         cudaMemcpyDeviceToHost, cuda->stream),
                         cudaSuccess);
        assert_int_equal(cudaStreamSynchronize(cuda->stream), cudaSuccess);
        check(g, sigma, v, n);
        if (step == 0) /* the next starts from its V */
            for (int64_t i = 0; i < n * n; i++)
                g[i] *= 1.5;
        if (step == 1) /* and then there is another matrix, twice */
            fill(r, g, n);
    }
    bd_cuda_svd_ops.destroy(work);
    bd_cuda_free(gram);
    bd_matrix_destroy(backend, &mr);
    bd_matrix_destroy(backend, &mv);
    free(r);
    free(sigma);
    free(v);
    free(g);
}

static void check_sizes(void)
{
    static const int64_t sizes[] = { 1, 2, 9, 16, 31, 100, 101, 112, 113, 160, 256 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] <= 40 || sizes[i] == 113 || !test_quick())
            check_size(sizes[i]);
}

static void test_this_gpu(void **state)
{
    (void)state;
    need_gpu();
    check_sizes();
}

static void test_without_clusters(void **state)
{
    (void)state;
    need_gpu();
    struct bd_cuda *cuda = bd_cuda_of(backend);
    int capability = cuda->capability;
    cuda->capability = 80;
    check_sizes();
    cuda->capability = capability;
}

/* What a GPU of compute capability 8.6 lends a block; too little for 100 columns. */
static void test_less_shared_memory(void **state)
{
    (void)state;
    need_gpu();
    struct bd_cuda *cuda = bd_cuda_of(backend);
    int most = cuda->shared_most;
    cuda->shared_most = 99 * 1024;
    check_sizes();
    cuda->shared_most = most;
}

/* An SVD of n columns, where it is found, and what it is checked with. */
struct problem {
    int64_t n;
    void *work;
    struct bd_matrix there; /* R */
    float *r, *sigma, *v;
    double *g;
};

static void open_problem(struct problem *p, int64_t n)
{
    *p = (struct problem){ .n = n };
    p->r = zeros(n * n, sizeof *p->r);
    p->v = zeros(n * n, sizeof *p->v);
    p->g = zeros(n * n, sizeof *p->g);
    p->sigma = zeros(n + 2, sizeof *p->sigma);
    assert_int_equal(bd_matrix_create(backend, &p->there, n, n, BD_F32), BD_OK);
    assert_int_equal(bd_cuda_svd_ops.create(backend, n, &p->work), BD_OK);
    seed = 5;
    fill(p->r, p->g, n);
}

static void close_problem(struct problem *p)
{
    bd_cuda_svd_ops.destroy(p->work);
    bd_matrix_destroy(backend, &p->there);
    free(p->r);
    free(p->v);
    free(p->g);
    free(p->sigma);
}

/* Checks the SVD of R, which starts from the last; returns its turns, which lie behind sigma and a
 * status (struct svd_info). */
static int count_turns(struct problem *p)
{
    const int64_t n = p->n;
    struct bd_cuda *cuda = bd_cuda_of(backend);
    int64_t ld;
    int info[2];
    square(p->r, p->g, n);
    assert_int_equal(bd_matrix_upload(backend, &p->there, p->r, n), BD_OK);
    assert_int_equal(bd_cuda_svd_enqueue(p->work, p->there.data, p->there.ld, NULL), BD_OK);
    assert_int_equal(cudaStreamSynchronize(cuda->stream), cudaSuccess);
    assert_int_equal(cudaMemcpy(p->sigma, bd_cuda_svd_ops.sigma(p->work),
                                (size_t)(n + 2) * sizeof *p->sigma, cudaMemcpyDeviceToHost),
                     cudaSuccess);
    assert_int_equal(cudaMemcpy(p->v, bd_cuda_svd_ops.v(p->work, &ld),
                                (size_t)(n * n) * sizeof *p->v, cudaMemcpyDeviceToHost),
                     cudaSuccess);
    memcpy(info, p->sigma + n, sizeof info);
    assert_int_equal(info[0], 0);
    check(p->g, p->sigma, p->v, n);
    return info[1];
}

/* A step of orthogonal iteration takes the place of most turns where singular values span decades.
 * Without it 256 columns take more than 100 turns from nothing, and 25 after a change by a
 * thousandth. */
static void test_orthogonal_step(void **state)
{
    (void)state;
    need_gpu();
    struct problem p;
    open_problem(&p, test_quick() ? 128 : 256);
    assert_in_range(count_turns(&p), 1, test_quick() ? 45 : 60);
    for (int64_t i = 0; i < p.n * p.n; i++)
        p.r[i] *= (float)(1 + 1e-3 * noise(&seed));
    assert_in_range(count_turns(&p), 1, 10);
    close_problem(&p);
}

/* The last rows and columns are zero, as those of a window that is not full: so are the last
 * singular values, and what the others have of these columns. */
static void test_zero_columns(void **state)
{
    (void)state;
    need_gpu();
    const int64_t zero = 40;
    struct problem p;
    open_problem(&p, 128);
    for (int64_t j = p.n - zero; j < p.n; j++)
        memset(p.r + j * p.n, 0, (size_t)p.n * sizeof *p.r);
    count_turns(&p);
    for (int64_t j = 0; j < p.n; j++) {
        assert_true(j < p.n - zero || p.sigma[j] == 0);
        for (int64_t i = p.n - zero; i < p.n && j < p.n - zero; i++)
            assert_true(p.v[i + j * p.n] == 0);
    }
    close_problem(&p);
}

/* Columns that are nearly the same, as the frames of a film: singular values but the first are near
 * the rounding of float32. */
static void test_nearly_equal_columns(void **state)
{
    (void)state;
    need_gpu();
    struct problem p;
    open_problem(&p, 128);
    for (int64_t j = 0; j < p.n; j++)
        for (int64_t i = 0; i <= j; i++)
            p.r[i + j * p.n] = i ? (float)(1e-6 * noise(&seed)) : 1;
    assert_in_range(count_turns(&p), 1, 60);
    close_problem(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_this_gpu),           cmocka_unit_test(test_without_clusters),
        cmocka_unit_test(test_less_shared_memory), cmocka_unit_test(test_orthogonal_step),
        cmocka_unit_test(test_zero_columns),       cmocka_unit_test(test_nearly_equal_columns),
    };
    return cmocka_run_group_tests(tests, open_group, close_group);
}
