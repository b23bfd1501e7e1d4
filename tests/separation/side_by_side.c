/* Plans of different sizes that live at the same time leave each other alone, on every backend:
 * what a large one does is the same before and after a small one of its kind is made. (On a GPU,
 * limits that are set for a kernel hold for all plans that launch it.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/quick.h"
#include <backdrop/qr_update.h>
#include <backdrop/separator.h>
#include <backdrop/small_svd.h>

typedef void test_on(struct bd_backend *backend);

static void on_each_backend(test_on *test)
{
    for (const char *const *name = bd_backend_names(); *name; name++) {
        struct bd_backend *backend;
        enum bd_status status = bd_backend_open(&backend, *name, 1);
        if (status == BD_ERROR_UNSUPPORTED) {
            print_message("%s is left out: %s\n", *name, bd_error_detail());
            continue;
        }
        assert_int_equal(status, BD_OK);
        test(backend);
        bd_backend_close(&backend);
    }
}

static void *array(size_t bytes)
{
    void *data = calloc(bytes, 1);
    assert_non_null(data);
    return data;
}

/* An upper triangle of n columns, uploaded. */
static struct bd_matrix triangle(struct bd_backend *backend, int n)
{
    struct bd_matrix r;
    float *host = array((size_t)n * (size_t)n * sizeof *host);
    for (int j = 0; j < n; j++)
        for (int i = 0; i <= j; i++)
            host[i + j * n] =
                i == j ? 2 + (float)(j % 7) : 0.1F * (float)((3 * i + 5 * j) % 11 - 5);
    assert_int_equal(bd_matrix_create(backend, &r, n, n, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_upload(backend, &r, host, n), BD_OK);
    free(host);
    return r;
}

static void svds(struct bd_backend *backend)
{
    /* in each pair the GPU has one kernel for both */
    static const int sizes[][2] = { { 64, 2 }, { 128, 70 }, { 256, 193 } };
    for (size_t i = 0; i < (test_quick() ? 1 : sizeof sizes / sizeof *sizes); i++) {
        int n = sizes[i][0];
        struct bd_small_svd *large, *small;
        struct bd_matrix r = triangle(backend, n);
        float *before = array((size_t)n * sizeof *before),
              *after = array((size_t)n * sizeof *after);
        assert_int_equal(bd_small_svd_create(&large, backend, n), BD_OK);
        assert_int_equal(bd_small_svd_compute(large, before, NULL, &r), BD_OK);
        assert_int_equal(bd_small_svd_create(&small, backend, sizes[i][1]), BD_OK);
        assert_int_equal(bd_small_svd_compute(large, after, NULL, &r), BD_OK);
        for (int j = 0; j < n; j++)
            assert_float_equal(after[j], before[j], 1e-5F * before[0]);
        bd_small_svd_destroy(&small);
        bd_small_svd_destroy(&large);
        bd_matrix_destroy(backend, &r);
        free(before);
        free(after);
    }
}

/* Q R of `columns` columns, the first of which have been removed, is what is left of A: here A is R
 * with zeros below, and Q the first columns of I. */
static void updates(struct bd_backend *backend)
{
    enum { m = 64, n = 40, removed = 8, left = n - removed };
    struct bd_qr_update *large, *small;
    struct bd_qr_factors f = { .r = triangle(backend, n) };
    const struct bd_qr_update_shape large_shape = { m, n, removed, 0, false };
    const struct bd_qr_update_shape small_shape = { m, 2, 2, 0, false };
    float *a = array(n * n * sizeof *a), *host_q = array(m * n * sizeof *host_q),
          *host_r = array(n * n * sizeof *host_r);
    for (int j = 0; j < n; j++)
        host_q[j + j * m] = 1;
    assert_int_equal(bd_matrix_download(backend, a, n, &f.r), BD_OK);
    assert_int_equal(bd_matrix_create(backend, &f.q, m, n, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_upload(backend, &f.q, host_q, m), BD_OK);
    assert_int_equal(bd_qr_update_create(&large, backend, &large_shape), BD_OK);
    assert_int_equal(bd_qr_update_create(&small, backend, &small_shape), BD_OK);
    assert_int_equal(bd_qr_remove_columns(large, &f, 0, removed, NULL), BD_OK);
    assert_int_equal(bd_matrix_download(backend, host_q, m, &f.q), BD_OK);
    assert_int_equal(bd_matrix_download(backend, host_r, n, &f.r), BD_OK);
    for (int j = 0; j < left; j++)
        for (int i = 0; i < m; i++) {
            double sum = 0;
            for (int k = 0; k <= j; k++)
                sum += (double)host_q[i + k * m] * (double)host_r[k + j * n];
            float wanted = i < n ? a[i + (j + removed) * n] : 0;
            assert_float_equal((float)sum, wanted, 1e-4F);
        }
    bd_qr_update_destroy(&small);
    bd_qr_update_destroy(&large);
    bd_matrix_destroy(backend, &f.q);
    bd_matrix_destroy(backend, &f.r);
    free(a);
    free(host_q);
    free(host_r);
}

enum { height = 32, frames = 4 };

static struct bd_separator *separator_of(struct bd_backend *backend, int width)
{
    struct bd_separator *separator;
    struct bd_separator_options options = {
        .width = width, .height = height, .channels = 1, .window = 4
    };
    assert_int_equal(bd_separator_create(&separator, backend, &options), BD_OK);
    return separator;
}

/* Frame number `index` of a gradient with a bright square that moves; its mask to `mask`. */
static void push(struct bd_separator *separator, int width, int index, uint8_t *mask)
{
    struct bd_separation found;
    uint8_t *picture = array((size_t)width * height);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            bool square = y >= 8 && y < 24 && x / 16 == 2 + 2 * index;
            picture[y * width + x] = (uint8_t)(square ? 240 : 40 + x % 64);
        }
    assert_int_equal(bd_separator_push(separator, picture, width, 0.04 * index, &found), BD_OK);
    memcpy(mask, found.mask, (size_t)width * height);
    free(picture);
}

static void separators(struct bd_backend *backend)
{
    enum { wide = 1920, narrow = 768 };
    static uint8_t alone[frames][wide * height], together[wide * height], other[narrow * height];
    struct bd_separator *large = separator_of(backend, wide);
    for (int i = 0; i < frames; i++)
        push(large, wide, i, alone[i]);
    bd_separator_destroy(&large);
    large = separator_of(backend, wide);
    struct bd_separator *small = separator_of(backend, narrow);
    for (int i = 0; i < frames; i++) {
        push(large, wide, i, together);
        push(small, narrow, i, other);
        assert_memory_equal(together, alone[i], sizeof together);
    }
    assert_non_null(memchr(together, 255, sizeof together));
    bd_separator_destroy(&small);
    bd_separator_destroy(&large);
}

static void test_svds(void **state)
{
    (void)state;
    on_each_backend(svds);
}

static void test_updates(void **state)
{
    (void)state;
    on_each_backend(updates);
}

static void test_separators(void **state)
{
    (void)state;
    on_each_backend(separators);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_svds), cmocka_unit_test(test_updates),
                                        cmocka_unit_test(test_separators) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
