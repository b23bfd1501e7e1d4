/* The Gram matrix and its Cholesky factorisation on the GPU (gpu/core/gram.cuh, gpu/qr/cholesky.h)
 * against the host, in float64: every class of columns, alignments, rows that fill no tile, a
 * matrix formed on the fly, NaN, loops that the GPU has ended. Skipped without a GPU. */
#include <cmath>
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" {
#include <cmocka.h>
}

#include "gpu/core/gram.cuh"
#include "gpu/qr/cholesky.h"
#include "tests/gpu/group.h"
#include "tests/support/quick.h"
#include "tests/support/random.h"
#include <backdrop/backend.h>

static uint64_t seed = 42;

/* X(i, j) = bytes(i, j) - 100: a matrix that is nowhere in memory. */
struct shifted_bytes {
    const uint8_t *bytes;
    int64_t ld, m;

    __device__ void load4(int64_t i, int j, float x[4]) const
    {
        for (int k = 0; k < 4; k++)
            x[k] = i + k < m ? (float)bytes[i + k + j * ld] - 100.0f : 0.0f;
    }
};

/* Device copies of host memory, and the workspace. */
struct fixture {
    struct bd_cuda *cuda;
    void *x, *workspace;
    double *g, *host_g;
    float *r, *host_r;
    int n;
};

static void *device_copy(struct bd_cuda *cuda, const void *host, size_t bytes)
{
    void *data;
    assert_int_equal(bd_cuda_alloc(cuda, &data, bytes, "a test"), BD_OK);
    if (host)
        assert_int_equal(cudaMemcpyAsync(data, host, bytes, cudaMemcpyHostToDevice, cuda->stream),
                         cudaSuccess);
    return data;
}

static struct fixture setup(const void *x, size_t bytes, int64_t m, int n)
{
    struct fixture f;
    const size_t count = (size_t)n * n;
    f.n = n;
    f.cuda = bd_cuda_of(backend);
    f.x = device_copy(f.cuda, x, bytes);
    f.workspace = device_copy(f.cuda, NULL, bd_gram_workspace(f.cuda, m, n));
    f.host_g = static_cast<double *>(malloc(count * sizeof(double)));
    f.host_r = static_cast<float *>(malloc(count * sizeof(float)));
    assert_true(f.host_g && f.host_r);
    for (size_t i = 0; i < count; i++) /* all must be written */
        f.host_g[i] = f.host_r[i] = NAN;
    f.g =
        static_cast<double *>(device_copy(f.cuda, NULL, bd_cuda_cholesky_size(n) * sizeof(double)));
    assert_int_equal(cudaMemcpyAsync(f.g, f.host_g, count * sizeof(double), cudaMemcpyHostToDevice,
                                     f.cuda->stream),
                     cudaSuccess);
    f.r = static_cast<float *>(device_copy(f.cuda, f.host_r, count * sizeof(float)));
    return f;
}

static void teardown(struct fixture *f)
{
    bd_cuda_free(f->x);
    bd_cuda_free(f->workspace);
    bd_cuda_free(f->g);
    bd_cuda_free(f->r);
    free(f->host_g);
    free(f->host_r);
}

static void download(struct fixture *f, void *host, const void *data, size_t size)
{
    size_t bytes = (size_t)f->n * f->n * size;
    assert_int_equal(cudaMemcpyAsync(host, data, bytes, cudaMemcpyDeviceToHost, f->cuda->stream),
                     cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(f->cuda->stream), cudaSuccess);
}

static double dot(const float *x, const float *y, int64_t m)
{
    double sum = 0;
    for (int64_t i = 0; i < m; i++)
        sum += (double)x[i] * y[i];
    return sum;
}

/* G of the host matrix x (m x n, ld) in f->g is right to 2^-40, symmetric; R^T R is G in float32.
 */
static void check(struct fixture *f, const float *x, int64_t ld, int64_t m)
{
    const int n = f->n;
    double *norms = static_cast<double *>(malloc((size_t)n * sizeof *norms));
    assert_non_null(norms);
    download(f, f->host_g, f->g, sizeof(double));
    assert_int_equal(bd_cuda_cholesky(f->cuda, f->r, n, f->g, n, NULL), BD_OK);
    download(f, f->host_r, f->r, sizeof(float));
    for (int j = 0; j < n; j++) {
        norms[j] = sqrt(dot(x + j * ld, x + j * ld, m));
        for (int i = 0; i <= j; i++) {
            const double want = dot(x + i * ld, x + j * ld, m), size = norms[i] * norms[j];
            const float *ri = f->host_r + (size_t)i * n, *rj = f->host_r + (size_t)j * n;
            assert_true(fabs(f->host_g[i + (size_t)j * n] - want) <= 0x1p-40 * size);
            assert_true(f->host_g[i + (size_t)j * n] == f->host_g[j + (size_t)i * n]);
            assert_true(fabs(dot(ri, rj, i + 1) - want) <= 8 * 0x1p-24 * size);
            assert_true(i == j || f->host_r[j + (size_t)i * n] == 0);
        }
    }
    free(norms);
}

/* A random matrix, ld = m + extra, that starts `offset` floats into its memory. */
static void check_matrix(int64_t m, int n, int64_t extra, int64_t offset)
{
    const int64_t ld = m + extra;
    const size_t count = (size_t)(offset + ld * n);
    float *x = static_cast<float *>(malloc(count * sizeof *x));
    assert_non_null(x);
    for (size_t i = 0; i < count; i++)
        x[i] = NAN; /* between the columns */
    for (int j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            x[offset + i + j * ld] = (float)(signed_uniform(&seed) * (j % 7 == 3 ? 1e-20 : 1));
    struct fixture f = setup(x, count * sizeof *x, m, n);
    const struct bd_gram_matrix loader = { static_cast<float *>(f.x) + offset, ld, m };
    assert_int_equal(bd_gram(f.cuda, f.g, loader, m, n, f.workspace, NULL), BD_OK);
    check(&f, x + offset, ld, m);
    teardown(&f);
    free(x);
}

static void test_columns(void **)
{
    need_gpu();
    static const int cols[] = { 1,   2,   7,   8,   20,  24,  25,  32,  33,  64,  65,
                                100, 104, 105, 128, 129, 192, 193, 208, 225, 385, 500 };
    for (size_t i = 0; i < sizeof cols / sizeof *cols; i++)
        check_matrix((test_quick() ? 301 : 1501) + 3 * (int64_t)i, cols[i], (int64_t)(i % 5),
                     (int64_t)(i % 3));
}

static void test_rows(void **)
{
    need_gpu();
    static const int64_t rows[] = { 1, 3, 16, 31, 32, 33, 64, 100, 4097, 4096 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows - test_quick(); i++) {
        check_matrix(rows[i], 20, 0, 0);
        check_matrix(rows[i], 100, 0, 0);
        check_matrix(rows[i], 150, 1, 0);
    }
    /* fewer rows than columns */
    check_matrix(100, 260, 0, 0);
    check_matrix(33, 300, 1, 0);
    /* several steps of a thread block; the last quad of an aligned column is not whole */
    check_matrix(20003, 70, 1, 0);
    check_matrix(20003, 128, 1, 0);
    check_matrix(20003, 130, 1, 0);
    if (!test_quick()) {
        check_matrix(300000, 20, 0, 0);
        check_matrix(100000, 40, 0, 0);
    }
}

static void test_formed_on_the_fly(void **)
{
    need_gpu();
    const int64_t m = 3003, ld = 3010;
    const int n = 100;
    uint8_t *bytes = static_cast<uint8_t *>(malloc((size_t)(ld * n)));
    float *x = static_cast<float *>(malloc((size_t)(ld * n) * sizeof *x));
    assert_true(bytes && x);
    for (int64_t i = 0; i < ld * n; i++) {
        bytes[i] = (uint8_t)(255 * uniform(&seed));
        x[i] = (float)bytes[i] - 100;
    }
    struct fixture f = setup(bytes, (size_t)(ld * n), m, n);
    const struct shifted_bytes loader = { static_cast<uint8_t *>(f.x), ld, m };
    assert_int_equal(bd_gram(f.cuda, f.g, loader, m, n, f.workspace, NULL), BD_OK);
    check(&f, x, ld, m);
    teardown(&f);
    free(bytes);
    free(x);
}

/* Elements that a NaN or Inf belongs to are not finite, all others are. */
static void test_not_finite(void **)
{
    need_gpu();
    static const int cols[] = { 20, 32, 60, 100, 120, 190, 210, 300 };
    static const float bad[] = { NAN, INFINITY };
    const int64_t m = 700;
    for (size_t c = 0; c < sizeof cols / sizeof *cols; c++)
        for (int b = 0; b < 2; b++) {
            const int n = cols[c], at = n / 2;
            float *x = static_cast<float *>(malloc((size_t)(m * n) * sizeof *x));
            assert_non_null(x);
            for (int64_t i = 0; i < m * n; i++)
                x[i] = (float)signed_uniform(&seed);
            x[333 + at * m] = bad[b];
            struct fixture f = setup(x, (size_t)(m * n) * sizeof *x, m, n);
            const struct bd_gram_matrix loader = { static_cast<float *>(f.x), m, m };
            assert_int_equal(bd_gram(f.cuda, f.g, loader, m, n, f.workspace, NULL), BD_OK);
            download(&f, f.host_g, f.g, sizeof(double));
            for (int j = 0; j < n; j++)
                for (int i = 0; i < n; i++)
                    assert_true(std::isfinite(f.host_g[i + (size_t)j * n]) == (i != at && j != at));
            assert_int_equal(bd_cuda_cholesky(f.cuda, f.r, n, f.g, n, NULL), BD_OK);
            download(&f, f.host_r, f.r, sizeof(float));
            assert_false(std::isfinite(f.host_r[at + (size_t)at * n]));
            teardown(&f);
            free(x);
        }
}

/* With *stop != 0 nothing is written; with 0 all is. */
static void test_stop(void **)
{
    need_gpu();
    static const int cols[] = { 20, 100, 230 };
    const int64_t m = 500;
    for (size_t c = 0; c < sizeof cols / sizeof *cols; c++) {
        const int n = cols[c], off = 0, on = 1;
        float *x = static_cast<float *>(malloc((size_t)(m * n) * sizeof *x));
        assert_non_null(x);
        for (int64_t i = 0; i < m * n; i++)
            x[i] = (float)signed_uniform(&seed);
        struct fixture f = setup(x, (size_t)(m * n) * sizeof *x, m, n);
        const struct bd_gram_matrix loader = { static_cast<float *>(f.x), m, m };
        int *stop = static_cast<int *>(device_copy(f.cuda, &on, sizeof on));
        assert_int_equal(bd_gram(f.cuda, f.g, loader, m, n, f.workspace, stop), BD_OK);
        assert_int_equal(bd_cuda_cholesky(f.cuda, f.r, n, f.g, n, stop), BD_OK);
        download(&f, f.host_g, f.g, sizeof(double));
        download(&f, f.host_r, f.r, sizeof(float));
        for (int i = 0; i < n * n; i++)
            assert_true(std::isnan(f.host_g[i]) && std::isnan(f.host_r[i]));
        assert_int_equal(cudaMemcpy(stop, &off, sizeof off, cudaMemcpyHostToDevice), cudaSuccess);
        assert_int_equal(bd_gram(f.cuda, f.g, loader, m, n, f.workspace, stop), BD_OK);
        check(&f, x, m, m);
        bd_cuda_free(stop);
        teardown(&f);
        free(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_formed_on_the_fly),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_stop),
    };
    return cmocka_run_group_tests(tests, open_group, close_group);
}
