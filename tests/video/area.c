/* Averages of areas against float64, and decoded pictures against their pixels one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "video/input/reader.h"
#include "video/scale.h"
#include "video/yuv.h"

static int released;

static void count_release(struct bd_yuv *yuv)
{
    released++;
    free((uint8_t *)yuv->data[0]);
}

/* BT.709 and BT.601, video and full range. */
static const struct bd_yuv_matrix matrices[] = { { 16, 19077, 14686, 1747, 4366, 17305 },
                                                 { 0, 16384, 11485, 2819, 5850, 14516 } };

/* The kinds of chroma: 4:2:0, 4:2:2, 4:4:4, 4:4:0, NV12, 4:1:1. */
static const struct {
    int shift_x, shift_y, step;
} kinds[] = { { 1, 1, 1 }, { 1, 0, 1 }, { 0, 0, 1 }, { 0, 1, 1 }, { 1, 1, 2 }, { 2, 0, 1 } };

enum { KINDS = sizeof kinds / sizeof *kinds };

static void make_yuv(struct bd_yuv *yuv, int width, int height, int kind)
{
    const int shift_x = kinds[kind].shift_x, shift_y = kinds[kind].shift_y;
    const int64_t across = (width + (1 << shift_x) - 1) >> shift_x;
    const int64_t down = (height + (1 << shift_y) - 1) >> shift_y;
    const int64_t luma = (int64_t)width * height, bytes = luma + 2 * across * down;
    uint8_t *data = malloc((size_t)bytes);
    assert_non_null(data);
    for (int64_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(rand() >> 7);
    const bool mixed = kinds[kind].step == 2;
    *yuv = (struct bd_yuv){
        .width = width,
        .height = height,
        .shift_x = shift_x,
        .shift_y = shift_y,
        .step = kinds[kind].step,
        .data = { data, data + luma, data + luma + (mixed ? 1 : across * down) },
        .stride = { width, mixed ? 2 * across : across, mixed ? 2 * across : across },
        .matrix = matrices[kind % 2],
        .references = 1,
        .release = count_release,
    };
}

/* Sample (x, y) of the picture: of Y, U and V at full size, or of its pixels. */
static double sample(const struct bd_frame *src, int x, int y, int channel)
{
    const struct bd_yuv *yuv = src->yuv;
    if (!yuv)
        return src->data[y * src->stride + (int64_t)x * src->format + channel];
    if (channel == 0)
        return yuv->data[0][y * yuv->stride[0] + x];
    return yuv->data[channel][(y >> yuv->shift_y) * yuv->stride[channel] +
                              (int64_t)(x >> yuv->shift_x) * yuv->step];
}

/* The average of the area that pixel (x, y) of a small picture covers. */
static double average(const struct bd_frame *src, const struct bd_frame *small, int x, int y,
                      int channel)
{
    const double wide = (double)src->width / small->width;
    const double high = (double)src->height / small->height;
    double sum = 0;
    for (int j = (int)(y * high); j < src->height && j < (y + 1) * high; j++)
        for (int i = (int)(x * wide); i < src->width && i < (x + 1) * wide; i++)
            sum += fmax(0, fmin(j + 1, (y + 1) * high) - fmax(j, y * high)) *
                   fmax(0, fmin(i + 1, (x + 1) * wide) - fmax(i, x * wide)) *
                   sample(src, i, j, channel);
    return sum / (wide * high);
}

static double clip(double level)
{
    return level < 0 ? 0 : level > 255 ? 255 : level;
}

/* What pixel (x, y) of `small` ought to be. */
static void expect(double *want, const struct bd_frame *src, const struct bd_frame *small, int x,
                   int y)
{
    double a[3] = { 0 };
    for (int c = 0; c < (src->yuv ? 3 : (int)src->format); c++)
        a[c] = average(src, small, x, y, c);
    memcpy(want, a, sizeof a);
    if (src->yuv) {
        const struct bd_yuv_matrix *m = &src->yuv->matrix;
        const double luma = (a[0] - m->black) * m->luma * 0x1p-14, unit = 0x1p-13;
        const double u = (a[1] - 128) * unit, v = (a[2] - 128) * unit;
        const bool gray = small->format == BD_GRAY8;
        want[0] = clip(gray ? luma : luma + v * m->red_v);
        want[1] = clip(luma - u * m->green_u - v * m->green_v);
        want[2] = clip(luma + u * m->blue_u);
    } else if (src->format != small->format) {
        want[0] = (77 * a[0] + 150 * a[1] + 29 * a[2]) / 256;
    }
}

/* Scales, and compares with float64. Random pictures are the worst: neighbours have nothing in
 * common. */
static void compare(const struct bd_frame *src, int width, int height, enum bd_pixel_format format)
{
    struct bd_frame dst;
    struct bd_scaler *scaler = NULL;
    double squares = 0, worst = 0;
    assert_int_equal(bd_frame_create(&dst, width, height, format), BD_OK);
    assert_int_equal(bd_scale(&scaler, &dst, src, BD_SCALE_AREA), BD_OK);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            double want[3];
            expect(want, src, &dst, x, y);
            for (int c = 0; c < (int)format; c++) {
                double error = dst.data[y * dst.stride + x * (int)format + c] - want[c];
                squares += error * error;
                worst = fmax(worst, fabs(error));
            }
        }
    double rms = sqrt(squares / ((double)width * height * (double)format));
    bool many = width * height >= 100;
    if (worst > 1.5 || (many && rms > 0.4))
        fail_msg("%dx%d to %dx%d of %d: worst %.3f, RMS %.3f", src->width, src->height, width,
                 height, (int)format, worst, rms);
    bd_scaler_destroy(&scaler);
    bd_frame_destroy(&dst);
}

static const int sizes[][4] = { { 64, 48, 40, 30 },   { 77, 53, 77, 53 }, { 33, 21, 32, 20 },
                                { 200, 120, 50, 30 }, { 97, 101, 9, 7 },  { 641, 37, 17, 16 },
                                { 5, 3, 1, 1 },       { 1, 1, 1, 1 },     { 600, 400, 16, 16 } };

enum { SIZES = sizeof sizes / sizeof *sizes };

static void test_decoded(void **state)
{
    (void)state;
    srand(3);
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < SIZES; i++) {
            struct bd_yuv yuv;
            make_yuv(&yuv, sizes[i][0], sizes[i][1], kind);
            struct bd_frame src = {
                .width = yuv.width, .height = yuv.height, .format = BD_RGB24, .yuv = &yuv
            };
            compare(&src, sizes[i][2], sizes[i][3], BD_RGB24);
            compare(&src, sizes[i][2], sizes[i][3], BD_GRAY8);
            bd_frame_destroy(&src);
        }
    assert_int_equal(released, KINDS * SIZES);
}

static void test_pixels(void **state)
{
    (void)state;
    srand(4);
    for (int i = 0; i < SIZES; i++)
        for (int pair = 0; pair < 3; pair++) {
            struct bd_frame src;
            enum bd_pixel_format from = pair ? BD_RGB24 : BD_GRAY8;
            assert_int_equal(bd_frame_create(&src, sizes[i][0], sizes[i][1], from), BD_OK);
            for (int64_t k = 0; k < src.stride * src.height; k++)
                src.data[k] = (uint8_t)(rand() >> 7);
            /* Of the same size and format it is a copy; of the same size alone libswscale's. */
            compare(&src, sizes[i][2], sizes[i][3], pair == 2 ? BD_GRAY8 : from);
            bd_frame_destroy(&src);
        }
}

/* A picture that keeps its size has the bytes of its pixels one by one. */
static void test_one_by_one(void **state)
{
    (void)state;
    /* Some are whole blocks of the conversion (video/yuv_convert.c), or a pixel more. */
    static const int same[][2] = { { 75, 41 }, { 512, 3 }, { 513, 4 }, { 544, 5 }, { 1031, 2 } };
    srand(5);
    for (int i = 0; i < 5 * KINDS; i++)
        for (int channels = 1; channels <= 3; channels += 2) {
            const int width = same[i / KINDS][0], height = same[i / KINDS][1];
            struct bd_yuv yuv;
            struct bd_frame dst;
            struct bd_scaler *scaler = NULL;
            make_yuv(&yuv, width, height, i % KINDS);
            struct bd_frame src = {
                .width = width, .height = height, .format = BD_RGB24, .yuv = &yuv
            };
            assert_int_equal(bd_frame_create(&dst, width, height, (enum bd_pixel_format)channels),
                             BD_OK);
            assert_int_equal(bd_scale(&scaler, &dst, &src, BD_SCALE_AREA), BD_OK);
            for (int y = 0; y < height; y++)
                for (int x = 0; x < width; x++) {
                    uint8_t pixel[3];
                    bd_yuv_pixel(&yuv, x, y, channels, pixel);
                    assert_memory_equal(pixel, dst.data + y * dst.stride + x * channels, channels);
                }
            bd_scaler_destroy(&scaler);
            bd_frame_destroy(&dst);
            bd_frame_destroy(&src);
        }
}

/* One value stays, also white at sizes far apart; black and white of video range are 0 and 255. */
static void test_constant(void **state)
{
    (void)state;
    for (int i = 0; i < SIZES; i++)
        for (int white = 0; white < 2; white++) {
            struct bd_yuv yuv;
            struct bd_frame dst;
            struct bd_scaler *scaler = NULL;
            make_yuv(&yuv, sizes[i][0], sizes[i][1], 0);
            memset((uint8_t *)yuv.data[0], white ? 235 : 16,
                   (size_t)yuv.width * (size_t)yuv.height);
            for (int y = 0; y < (yuv.height + 1) / 2; y++) {
                memset((uint8_t *)yuv.data[1] + y * yuv.stride[1], 128, (size_t)yuv.stride[1]);
                memset((uint8_t *)yuv.data[2] + y * yuv.stride[2], 128, (size_t)yuv.stride[2]);
            }
            struct bd_frame src = {
                .width = yuv.width, .height = yuv.height, .format = BD_RGB24, .yuv = &yuv
            };
            assert_int_equal(bd_frame_create(&dst, sizes[i][2], sizes[i][3], BD_RGB24), BD_OK);
            assert_int_equal(bd_scale(&scaler, &dst, &src, BD_SCALE_AREA), BD_OK);
            for (int y = 0; y < dst.height; y++)
                for (int x = 0; x < 3 * dst.width; x++)
                    assert_int_equal(dst.data[y * dst.stride + x], white ? 255 : 0);
            bd_scaler_destroy(&scaler);
            bd_frame_destroy(&dst);
            bd_frame_destroy(&src);
        }
}

/* A decoded picture is only made smaller, and only by area. */
static void test_refused(void **state)
{
    (void)state;
    struct bd_yuv yuv;
    struct bd_frame dst;
    struct bd_scaler *scaler = NULL;
    make_yuv(&yuv, 32, 24, 0);
    struct bd_frame src = { .width = 32, .height = 24, .format = BD_RGB24, .yuv = &yuv };
    assert_int_equal(bd_frame_create(&dst, 64, 48, BD_RGB24), BD_OK);
    assert_int_equal(bd_scale(&scaler, &dst, &src, BD_SCALE_AREA), BD_ERROR_UNSUPPORTED);
    assert_int_equal(bd_scale(&scaler, &dst, &src, BD_SCALE_BILINEAR), BD_ERROR_ARGUMENT);
    bd_scaler_destroy(&scaler);
    bd_frame_destroy(&dst);
    bd_frame_destroy(&src);
}

/* A film that is read both ways: the decoded picture is the one that was converted, copies share
 * it, and it outlives its reader. */
static void test_reader(void **state)
{
    (void)state;
    const char *data = getenv("BACKDROP_DATA");
    char path[1024];
    snprintf(path, sizeof path, "%s/videos/vtest.avi", data ? data : "");
    struct bd_reader_options options = { .format = BD_RGB24, .pictures = BD_PICTURES_BOTH };
    struct bd_reader *reader = NULL;
    struct bd_frame frame = { 0 }, copy = { 0 }, own;
    struct bd_scaler *scaler = NULL;
    if (!data || bd_reader_open(&reader, path, &options) != BD_OK)
        skip();
    assert_int_equal(bd_reader_read(reader, &frame), BD_OK);
    assert_true(frame.data && frame.yuv);
    assert_int_equal(bd_frame_copy(&copy, &frame), BD_OK);
    assert_ptr_equal(copy.yuv, frame.yuv);
    assert_int_equal(bd_reader_read(reader, &frame), BD_OK);
    bd_reader_close(&reader);
    assert_int_equal(bd_frame_create(&own, copy.width, copy.height, BD_RGB24), BD_OK);
    assert_int_equal(bd_scale(&scaler, &own, &copy, BD_SCALE_AREA), BD_OK);
    for (int y = 0; y < own.height; y++)
        for (int x = 0; x < 3 * own.width; x++)
            assert_true(abs(own.data[y * own.stride + x] - copy.data[y * copy.stride + x]) <= 3);
    bd_scaler_destroy(&scaler);
    bd_frame_destroy(&own);
    bd_frame_destroy(&copy);
    bd_frame_destroy(&frame);

    options.pictures = BD_PICTURES_DECODED;
    assert_int_equal(bd_reader_open(&reader, path, &options), BD_OK);
    assert_int_equal(bd_reader_read(reader, &frame), BD_OK);
    assert_true(!frame.data && frame.yuv && frame.width == 768 && frame.height == 576);
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decoded),    cmocka_unit_test(test_pixels),
        cmocka_unit_test(test_one_by_one), cmocka_unit_test(test_constant),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
