/* Scaling: constants stay, areas are averaged, formats convert, plans are remade, times go along.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "video/scale.h"

static struct bd_frame make(int width, int height, enum bd_pixel_format format)
{
    struct bd_frame frame;
    assert_int_equal(bd_frame_create(&frame, width, height, format), BD_OK);
    memset(frame.data, 0xA5, (size_t)(frame.stride * height));
    return frame;
}

static void fill(struct bd_frame *frame, const uint8_t *colour)
{
    for (int y = 0; y < frame->height; y++)
        for (int x = 0; x < frame->width * (int)frame->format; x++)
            frame->data[y * frame->stride + x] = colour[x % frame->format];
}

static const enum bd_pixel_format formats[] = { BD_GRAY8, BD_RGB24, BD_RGBA32 };

static const int sizes[][2] = { { 64, 48 }, { 33, 21 }, { 320, 240 }, { 1, 1 }, { 127, 5 } };

enum { SIZES = sizeof sizes / sizeof *sizes };

/* Any size to any size by any filter: a picture of one value keeps it. */
static void test_constant(void **state)
{
    (void)state;
    static const uint8_t colour[] = { 200, 40, 90, 255 };
    struct bd_scaler *scaler = NULL;
    for (int f = 0; f < 3; f++)
        for (int from = 0; from < SIZES; from++)
            for (int to = 0; to < SIZES; to++)
                for (int filter = BD_SCALE_AREA; filter <= BD_SCALE_NEAREST; filter++) {
                    struct bd_frame src = make(sizes[from][0], sizes[from][1], formats[f]);
                    struct bd_frame dst = make(sizes[to][0], sizes[to][1], formats[f]);
                    fill(&src, colour);
                    if (bd_scale(&scaler, &dst, &src, filter) != BD_OK)
                        fail_msg("%s", bd_error_detail());
                    for (int y = 0; y < dst.height; y++)
                        for (int x = 0; x < dst.width * (int)dst.format; x++) {
                            int value = dst.data[y * dst.stride + x];
                            if (abs(value - colour[x % dst.format]) > 2)
                                fail_msg("%dx%d to %dx%d, format %d, filter %d: %d at %d, %d",
                                         src.width, src.height, dst.width, dst.height,
                                         (int)formats[f], filter, value, x, y);
                        }
                    bd_frame_destroy(&src);
                    bd_frame_destroy(&dst);
                }
    bd_scaler_destroy(&scaler);
    assert_null(scaler);
    bd_scaler_destroy(&scaler);
}

/* Half size by area is the mean of each 2 x 2, channel by channel. */
static void test_area(void **state)
{
    (void)state;
    struct bd_scaler *scaler = NULL;
    for (int f = 0; f < 2; f++) {
        int bytes = formats[f];
        struct bd_frame src = make(64, 48, formats[f]), dst = make(32, 24, formats[f]);
        for (int y = 0; y < 48; y++)
            for (int x = 0; x < 64; x++)
                for (int k = 0; k < bytes; k++)
                    src.data[y * src.stride + x * bytes + k] =
                        (uint8_t)(30 + (x * 3 + y * 2 + k * 20 + (x * y) % 7));
        assert_int_equal(bd_scale(&scaler, &dst, &src, BD_SCALE_AREA), BD_OK);
        for (int y = 0; y < 24; y++)
            for (int x = 0; x < 32 * bytes; x++) {
                const uint8_t *p =
                    src.data + 2 * y * src.stride + x / bytes * 2 * bytes + x % bytes;
                double mean = (p[0] + p[bytes] + p[src.stride] + p[src.stride + bytes]) / 4.0;
                if (abs((int)(dst.data[y * dst.stride + x] - mean)) > 2)
                    fail_msg("format %d: %d at %d, %d, mean %g", bytes,
                             dst.data[y * dst.stride + x], x, y, mean);
            }
        bd_frame_destroy(&src);
        bd_frame_destroy(&dst);
    }
    bd_scaler_destroy(&scaler);
}

/* Nearest: a mask of two values stays one, and each pixel doubles exactly. */
static void test_nearest(void **state)
{
    (void)state;
    struct bd_scaler *scaler = NULL;
    for (int f = 0; f < 3; f++) {
        int bytes = formats[f];
        struct bd_frame src = make(31, 17, formats[f]), dst = make(62, 34, formats[f]);
        srand(5);
        for (int i = 0; i < src.stride * src.height; i++)
            src.data[i] = (uint8_t)(rand() >> 7);
        assert_int_equal(bd_scale(&scaler, &dst, &src, BD_SCALE_NEAREST), BD_OK);
        for (int y = 0; y < 34; y++)
            for (int x = 0; x < 62; x++)
                assert_memory_equal(dst.data + y * dst.stride + x * bytes,
                                    src.data + y / 2 * src.stride + x / 2 * bytes, bytes);
        bd_frame_destroy(&src);
        bd_frame_destroy(&dst);
    }
    bd_scaler_destroy(&scaler);
}

/* One size, another format; and the padding behind the rows is nobody's. */
static void test_formats(void **state)
{
    (void)state;
    static const uint8_t colour[] = { 10, 250, 60, 255 }, grey[] = { 77, 77, 77, 255 };
    struct bd_scaler *scaler = NULL;
    for (int from = 0; from < 3; from++)
        for (int to = 0; to < 3; to++) {
            struct bd_frame src = make(37, 23, formats[from]), dst = make(37, 23, formats[to]);
            const uint8_t *paint = from == 0 || to == 0 ? grey : colour;
            fill(&src, paint);
            assert_int_equal(bd_scale(&scaler, &dst, &src, BD_SCALE_BILINEAR), BD_OK);
            for (int x = 0; x < 37 * (int)formats[to]; x++)
                if (abs(dst.data[22 * dst.stride + x] - paint[x % formats[to]]) > 2)
                    fail_msg("format %d to %d: %d at %d", (int)formats[from], (int)formats[to],
                             dst.data[22 * dst.stride + x], x);
            bd_frame_destroy(&src);
            bd_frame_destroy(&dst);
        }
    /* the weights of the primaries */
    static const uint8_t green[] = { 0, 255, 0 };
    struct bd_frame src = make(16, 16, BD_RGB24), dst = make(16, 16, BD_GRAY8);
    fill(&src, green);
    assert_int_equal(bd_scale(&scaler, &dst, &src, BD_SCALE_AREA), BD_OK);
    assert_in_range(dst.data[0], 148, 152); /* 0.587 * 255 */
    bd_frame_destroy(&src);
    bd_frame_destroy(&dst);
    bd_scaler_destroy(&scaler);
}

static void test_copy_and_times(void **state)
{
    (void)state;
    struct bd_scaler *scaler = NULL;
    struct bd_frame src = make(40, 30, BD_RGB24), same = make(40, 30, BD_RGB24);
    struct bd_frame small = make(20, 15, BD_GRAY8), nearest = make(20, 15, BD_RGB24);
    srand(6);
    for (int i = 0; i < src.stride * src.height; i++)
        src.data[i] = (uint8_t)(rand() >> 7);
    src.index = 41;
    src.pts = -7000000000;
    src.duration = 512;
    assert_int_equal(bd_scale(&scaler, &same, &src, BD_SCALE_AREA), BD_OK);
    assert_null(scaler); /* a plain copy needs no plan */
    for (int y = 0; y < 30; y++)
        assert_memory_equal(same.data + y * same.stride, src.data + y * src.stride, 120);
    assert_int_equal(bd_scale(&scaler, &small, &src, BD_SCALE_AREA), BD_OK);
    assert_int_equal(bd_scale(&scaler, &nearest, &src, BD_SCALE_NEAREST), BD_OK);
    const struct bd_frame *all[] = { &same, &small, &nearest };
    for (int i = 0; i < 3; i++) {
        assert_int_equal(all[i]->index, 41);
        assert_true(all[i]->pts == -7000000000);
        assert_int_equal(all[i]->duration, 512);
    }
    bd_frame_destroy(&src);
    bd_frame_destroy(&same);
    bd_frame_destroy(&small);
    bd_frame_destroy(&nearest);
    bd_scaler_destroy(&scaler);
}

/* Large pictures are scaled in slices, whose borders must not show. */
static void test_threads(void **state)
{
    static const int threads[] = { 0, 1, 2, 5 };
    static const enum bd_pixel_format formats[] = { BD_GRAY8, BD_RGB24 };
    (void)state;
    srand(7);
    for (int f = 0; f < 2; f++) {
        struct bd_frame src = make(1280, 720, formats[f]), first = make(739, 415, formats[f]);
        struct bd_frame dst = make(739, 415, formats[f]);
        for (int64_t i = 0; i < src.stride * src.height; i++)
            src.data[i] = (uint8_t)(rand() >> 7);
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            struct bd_scaler *scaler = NULL;
            assert_int_equal(bd_scaler_create(&scaler, threads[t]), BD_OK);
            assert_int_equal(bd_scale(&scaler, t ? &dst : &first, &src, BD_SCALE_AREA), BD_OK);
            for (int y = 0; y < 415 && t; y++)
                assert_memory_equal(dst.data + y * dst.stride, first.data + y * first.stride,
                                    739 * (int)formats[f]);
            bd_scaler_destroy(&scaler);
        }
        bd_frame_destroy(&src);
        bd_frame_destroy(&first);
        bd_frame_destroy(&dst);
    }
}

static void test_bad_arguments(void **state)
{
    (void)state;
    struct bd_scaler *scaler = NULL;
    assert_int_equal(bd_scaler_create(&scaler, -1), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_scaler_create(&scaler, 1025), BD_ERROR_ARGUMENT);
    assert_null(scaler);
    struct bd_frame src = make(8, 8, BD_RGB24), none = { 0 };
    assert_int_equal(bd_scale(&scaler, &none, &src, BD_SCALE_AREA), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_scale(&scaler, &src, &none, BD_SCALE_AREA), BD_ERROR_ARGUMENT);
    struct bd_frame dst = make(4, 4, BD_RGB24);
    assert_int_equal(bd_scale(&scaler, &dst, &src, (enum bd_scale_filter)9), BD_ERROR_ARGUMENT);
    assert_null(scaler);
    bd_frame_destroy(&src);
    bd_frame_destroy(&dst);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant),       cmocka_unit_test(test_area),
        cmocka_unit_test(test_nearest),        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_copy_and_times), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
