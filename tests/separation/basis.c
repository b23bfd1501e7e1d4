/* How the basis follows the window, by the functions of each backend. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "linalg/shared/svd_ops.h"
#include "separation/shared/ops.h"
#include "tests/support/each_backend.h"
#include "tests/support/random.h"
#include <backdrop/matrix.h>

/* Everything in the window has changed, so that the basis in use has nothing in common with it: the
 * next basis comes from R, and the background reaches the new picture. */
static void test_far_basis(void **state)
{
    (void)state;
    enum { side = 24, pixels = side * side, columns = 6 };
    static const int order[columns] = { 0, 1, 2, 3, 4, 5 };
    static const struct bd_detect_params detect = {
        .threshold = 20, .most = 60, .plain = -1, .median = 1
    };
    const struct bd_separation_shape shape = {
        side, side, 1, columns, 1, BD_SEPARATOR_BACKGROUND, 1
    };
    uint8_t pictures[2][pixels];
    for (int i = 0; i < pixels; i++) {
        pictures[0][i] = i % side < side / 2 ? 200 : 0;
        pictures[1][i] = i % side < side / 2 ? 0 : 200;
    }
    FOR_EACH_BACKEND(name)
    {
        struct bd_backend *backend;
        struct bd_matrix r;
        struct bd_separation out = { 0 };
        void *separation, *svd;
        int64_t ldv;
        assert_int_equal(bd_backend_open(&backend, name, 0), BD_OK);
        const struct bd_separation_ops *ops = backend->ops->separation;
        const struct bd_svd_ops *svds = backend->ops->svd;
        assert_int_equal(bd_matrix_create(backend, &r, columns, columns, BD_F32), BD_OK);
        assert_int_equal(svds->create(backend, columns, &svd), BD_OK);
        assert_int_equal(ops->create(backend, &shape, &separation), BD_OK);
        assert_int_equal(ops->reset(separation), BD_OK);
        assert_int_equal(ops->load(separation, pictures[0], side), BD_OK);
        for (int slot = 0; slot < columns; slot++)
            assert_int_equal(ops->insert(separation, slot, 0), BD_OK);
        assert_int_equal(ops->stable(separation, order, columns, 10, 0), BD_OK);
        for (int time = 0; time < 40; time++) {
            assert_int_equal(ops->load(separation, pictures[1], side), BD_OK);
            assert_int_equal(ops->project(separation, 40, 10), BD_OK);
            assert_int_equal(ops->detect(separation, &detect, 0), BD_OK);
            assert_int_equal(ops->finish(separation), BD_OK);
            assert_int_equal(ops->collect(separation, &out), BD_OK);
            for (int slot = 0; slot < columns; slot++)
                assert_int_equal(ops->insert(separation, slot, 0), BD_OK);
            bool learned = false;
            if (time == 0 && ops->basis_only)
                assert_int_equal(
                    ops->basis_only(separation, order, columns, 10, 10 * side, &learned), BD_OK);
            assert_false(learned);
            assert_int_equal(ops->reduce(separation, order, columns, 10, r.data, r.ld), BD_OK);
            assert_int_equal(svds->compute(svd, r.data, r.ld, NULL, NULL, 0), BD_OK);
            const float *v = svds->v(svd, &ldv);
            assert_int_equal(
                ops->basis(separation, order, columns, 10, 10 * side, svds->sigma(svd), v, ldv),
                BD_OK);
        }
        for (int i = 0; i < pixels; i++)
            assert_in_range(out.background[i] + 1, pictures[1][i], pictures[1][i] + 2);
        ops->destroy(separation);
        svds->destroy(svd);
        bd_matrix_destroy(backend, &r);
        bd_backend_close(&backend);
    }
}

/* What is asked for before the basis is made. */
enum ahead { NOTHING, SAME, OTHER_V, OTHER_LAMBDA, OTHER_TAU, WITHOUT_R };

enum { part_side = 250, part_pixels = part_side * part_side, part_columns = 5 };

static void make_part_frame(uint8_t *frame, int number)
{
    for (int i = 0; i < part_pixels; i++) {
        int light = i % part_side < part_side / 2 ? 40 * (number % 3) : 0; /* a second direction */
        frame[i] =
            (uint8_t)(60 + i % 89 + light + (int)(hash((uint32_t)(number * part_pixels + i)) % 7));
    }
}

/* The background of a frame after a new basis, part of which may have been made ahead, or, of rank
 * 1, all without R. */
static void background_after(const char *name, int rank, enum ahead ahead, uint8_t *background)
{
    static const int order[part_columns] = { 3, 0, 4, 1, 2 };
    static const struct bd_detect_params detect = {
        .threshold = 20, .most = 60, .plain = -1, .median = 1
    };
    static uint8_t frame[part_pixels];
    const struct bd_separation_shape shape = {
        part_side, part_side, 1, part_columns, rank, BD_SEPARATOR_BACKGROUND, 1
    };
    const double tau = 2 * part_side;
    struct bd_backend *backend;
    struct bd_matrix r;
    struct bd_separation out = { 0 };
    void *separation, *svd, *products;
    int64_t ldv;
    bool whole = false, learned = false;
    assert_int_equal(bd_backend_open(&backend, name, 0), BD_OK);
    const struct bd_separation_ops *ops = backend->ops->separation;
    const struct bd_svd_ops *svds = backend->ops->svd;
    assert_int_equal(backend->ops->device->alloc(backend, part_columns * sizeof(double), &products),
                     BD_OK);
    assert_int_equal(bd_matrix_create(backend, &r, part_columns, part_columns, BD_F32), BD_OK);
    assert_int_equal(svds->create(backend, part_columns, &svd), BD_OK);
    assert_int_equal(ops->create(backend, &shape, &separation), BD_OK);
    assert_int_equal(ops->reset(separation), BD_OK);
    for (int j = 0; j < part_columns; j++) {
        make_part_frame(frame, j);
        assert_int_equal(ops->load(separation, frame, part_side), BD_OK);
        assert_int_equal(ops->insert(separation, order[j], 0), BD_OK);
    }
    assert_int_equal(ops->stable(separation, order, part_columns, 10, 0), BD_OK);
    for (int part = 0; part < bd_sep_gram_parts; part++)
        assert_int_equal(ops->gram(separation, order, part_columns, 10, part, products, &whole),
                         BD_OK);
    assert_int_equal(ops->reduce(separation, order, part_columns, 10, r.data, r.ld), BD_OK);
    assert_int_equal(svds->compute(svd, r.data, r.ld, NULL, NULL, 0), BD_OK);
    const float *v = svds->v(svd, &ldv), *sigma = svds->sigma(svd);
    if (ahead != NOTHING && ahead != WITHOUT_R && ops->basis_ahead)
        assert_int_equal(
            ops->basis_ahead(separation, order, part_columns, ahead == OTHER_LAMBDA ? 20 : 10,
                             ahead == OTHER_TAU ? 20 * tau : tau, sigma,
                             ahead == OTHER_V ? v + ldv : v, ahead == OTHER_V ? -ldv : ldv),
            BD_OK);
    for (int times = 0; times < 2; times++) { /* w changes in between, as by frames */
        make_part_frame(frame, 7 + times);
        assert_int_equal(ops->load(separation, frame, part_side), BD_OK);
        assert_int_equal(ops->project(separation, 3, 10), BD_OK);
        if (times == 0 && ahead == WITHOUT_R && ops->basis_only) {
            assert_int_equal(ops->basis_only(separation, order, part_columns, 10, tau, &learned),
                             BD_OK);
            assert_int_equal(learned, rank == 1);
        }
        if (times == 0 && !learned)
            assert_int_equal(ops->basis(separation, order, part_columns, 10, tau, sigma, v, ldv),
                             BD_OK);
    }
    assert_int_equal(ops->detect(separation, &detect, 0), BD_OK);
    assert_int_equal(ops->finish(separation), BD_OK);
    assert_int_equal(ops->collect(separation, &out), BD_OK);
    assert_int_equal(out.rank, rank);
    memcpy(background, out.background, part_pixels);
    ops->destroy(separation);
    svds->destroy(svd);
    bd_matrix_destroy(backend, &r);
    backend->ops->device->free(backend, products);
    bd_backend_close(&backend);
}

/* Whatever was made ahead, and with whatever numbers, the basis is the same. */
static void test_basis_ahead(void **state)
{
    (void)state;
    static uint8_t plain[part_pixels], other[part_pixels];
    FOR_EACH_BACKEND(name)
    {
        background_after(name, 2, NOTHING, plain);
        for (enum ahead ahead = SAME; ahead <= WITHOUT_R; ahead++) {
            background_after(name, 2, ahead, other);
            assert_memory_equal(plain, other, sizeof plain);
        }
    }
}

/* A basis of rank 1 that was made without R is the same. */
static void test_basis_only(void **state)
{
    (void)state;
    static uint8_t plain[part_pixels], other[part_pixels];
    FOR_EACH_BACKEND(name)
    {
        background_after(name, 1, NOTHING, plain);
        background_after(name, 1, WITHOUT_R, other);
        assert_memory_equal(plain, other, sizeof plain);
    }
}

/* The inner products of a window's columns with its newest, for few columns and for as many as
 * there can be: frames so alike that none of them has a sparse part. */
static void test_gram(void **state)
{
    (void)state;
    enum { side = 40, pixels = side * side, most = bd_max_window };
    static const int counts[] = { 1, 7, 50, most };
    static uint8_t frames[most][pixels];
    static int order[most];
    static double g[most];
    for (int j = 0; j < most; j++) {
        order[j] = most - 1 - j;
        for (int i = 0; i < pixels; i++)
            frames[j][i] = (uint8_t)(50 + i % 97 + (int)(hash((uint32_t)(j * pixels + i)) % 5));
    }
    FOR_EACH_BACKEND(name)
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        const int count = counts[k];
        const struct bd_separation_shape shape = { side, side, 1, most, 1, BD_SEPARATOR_MASK, 1 };
        struct bd_backend *backend;
        void *separation, *products;
        assert_int_equal(bd_backend_open(&backend, name, 0), BD_OK);
        const struct bd_separation_ops *ops = backend->ops->separation;
        const struct bd_device_ops *device = backend->ops->device;
        assert_int_equal(device->alloc(backend, sizeof g, &products), BD_OK);
        assert_int_equal(ops->create(backend, &shape, &separation), BD_OK);
        assert_int_equal(ops->reset(separation), BD_OK);
        for (int j = 0; j < count; j++) {
            assert_int_equal(ops->load(separation, frames[order[j]], side), BD_OK);
            assert_int_equal(ops->insert(separation, order[j], 0), BD_OK);
        }
        assert_int_equal(ops->stable(separation, order, count, 10, 0), BD_OK);
        bool whole = false;
        for (int part = 0; part < bd_sep_gram_parts; part++)
            assert_int_equal(ops->gram(separation, order, count, 10, part, products, &whole),
                             BD_OK);
        assert_int_equal(device->download(backend, g, sizeof g, products, sizeof g, sizeof g, 1),
                         BD_OK);
        for (int j = 0; j < count; j++) {
            double sum = 0;
            for (int i = 0; i < pixels; i++)
                sum += (double)frames[order[j]][i] * frames[order[count - 1]][i];
            assert_true(fabs(g[j] - sum) <= 1e-6 * sum);
        }
        ops->destroy(separation);
        device->free(backend, products);
        bd_backend_close(&backend);
    }
}

/* How many pixels of two columns differ: of one channel, and of three, where the one that differs
 * most counts. Differences are around the reach, and of both signs. */
static void test_compare(void **state)
{
    (void)state;
    enum { width = 103, height = 41, pixels = width * height, reach = 20 };
    static uint8_t frames[2][3 * pixels];
    FOR_EACH_BACKEND(name)
    for (int channels = 1; channels <= 3; channels += 2) {
        const struct bd_separation_shape shape = { width, height, channels, 4, 1, BD_SEPARATOR_MASK,
                                                   1 };
        struct bd_backend *backend;
        void *separation;
        int64_t expected = 0, count = -1;
        for (int i = 0; i < channels * pixels; i++) {
            frames[0][i] = (uint8_t)(30 + hash((uint32_t)i) % 190);
            frames[1][i] = (uint8_t)(frames[0][i] - 23 + (int)(hash((uint32_t)~i) % 46));
        }
        for (int p = 0; p < pixels; p++) {
            int most = 0;
            for (int i = channels * p; i < channels * (p + 1); i++)
                most = abs(frames[0][i] - frames[1][i]) > most ? abs(frames[0][i] - frames[1][i])
                                                               : most;
            expected += most > reach;
        }
        assert_int_equal(bd_backend_open(&backend, name, 0), BD_OK);
        const struct bd_separation_ops *ops = backend->ops->separation;
        assert_int_equal(ops->create(backend, &shape, &separation), BD_OK);
        assert_int_equal(ops->reset(separation), BD_OK);
        for (int j = 0; j < 2; j++) {
            assert_int_equal(ops->load(separation, frames[j], (int64_t)width * channels), BD_OK);
            assert_int_equal(ops->insert(separation, 3 - j, 0), BD_OK);
        }
        for (int i = 0; i < 2; i++) { /* each call counts from 0 */
            assert_int_equal(ops->compare(separation, 3 - i, 2 + i, reach, &count), BD_OK);
            assert_int_equal(count, expected);
        }
        assert_int_equal(ops->compare(separation, 3, 3, 0, &count), BD_OK);
        assert_int_equal(count, 0);
        ops->destroy(separation);
        bd_backend_close(&backend);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_far_basis),  cmocka_unit_test(test_basis_ahead),
        cmocka_unit_test(test_basis_only), cmocka_unit_test(test_gram),
        cmocka_unit_test(test_compare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
