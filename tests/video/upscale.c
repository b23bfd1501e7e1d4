/* Enlarging masks (video/upscale.h) against its definition, pixel by pixel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/support/random.h"
#include "video/upscale.h"

/* A linear congruential generator: the same numbers everywhere. */
static uint32_t seed;

static int clamp(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

/* Where full-size row or column i of `count` lies between small ones: their distance from the first
 * in 1/256. */
static void place(int i, int count, int small, int *first, int *second, int *fraction)
{
    int64_t twice = (int64_t)(2 * i + 1) * small - count;
    int64_t limit = (int64_t)(small - 1) * 2 * count;
    twice = twice < 0 ? 0 : twice > limit ? limit : twice;
    *first = (int)(twice / (2 * count));
    *fraction = (int)(twice % (2 * count) * 256 / (2 * count));
    *second = *first + 1 < small ? *first + 1 : small - 1;
}

struct point {
    int x0, x1, fx, y0, y1, fy;
};

static int bilinear(const uint8_t *picture, int width, const struct point *p, int channels, int c)
{
    const uint8_t *a = picture + (size_t)p->y0 * (size_t)width * (size_t)channels;
    const uint8_t *b = picture + (size_t)p->y1 * (size_t)width * (size_t)channels;
    int i = p->x0 * channels + c, j = p->x1 * channels + c;
    int top = a[i] * (256 - p->fx) + a[j] * p->fx, bottom = b[i] * (256 - p->fx) + b[j] * p->fx;
    return (top * (256 - p->fy) + bottom * p->fy + (1 << 15)) >> 16;
}

/* What bd_upscale_mask says of pixel (x, y), as its comment has it. */
static uint8_t expected(const struct bd_small_result *s, const struct bd_frame *in, int x, int y)
{
    int cx = (int)((int64_t)x * s->width / in->width);
    int cy = (int)((int64_t)y * s->height / in->height);
    uint8_t here = s->mask[(size_t)cy * (size_t)s->width + (size_t)cx];
    bool border = false;
    int most = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            size_t at = (size_t)clamp(cy + dy, 0, s->height - 1) * (size_t)s->width +
                        (size_t)clamp(cx + dx, 0, s->width - 1);
            border = border || s->mask[at] != here;
            most = s->difference[at] > most ? s->difference[at] : most;
        }
    if (!border)
        return here;
    int least = clamp((int)s->threshold, 1, 255);
    int threshold = most / 2 > least ? most / 2 : least;
    struct point p;
    place(x, in->width, s->width, &p.x0, &p.x1, &p.fx);
    place(y, in->height, s->height, &p.y0, &p.y1, &p.fy);
    int smooth = bilinear(s->mask, s->width, &p, 1, 0);
    if (smooth == 0 || smooth == 255)
        return (uint8_t)smooth;
    int samples = (int)in->format, difference = 0;
    const uint8_t *pixel = in->data + y * in->stride + (int64_t)x * samples;
    for (int c = 0; c < s->channels; c++) {
        int value = pixel[c];
        if (samples > s->channels)
            value = (pixel[0] * 77 + pixel[1] * 150 + pixel[2] * 29) >> 8;
        int d = abs(value - bilinear(s->background, s->width, &p, s->channels, c));
        difference = d > difference ? d : difference;
    }
    return difference * smooth >= threshold * (255 - smooth) ? 255 : 0;
}

/* A mask of nothing, of everything, of noise, or of rectangles. */
static void draw_mask(uint8_t *mask, int width, int height, int kind)
{
    for (int i = 0; i < width * height; i++)
        mask[i] = kind == 1 || (kind == 2 && random_bits(&seed) % 2) ? 255 : 0;
    for (int k = 0; k < 3 && kind == 3; k++) {
        int x0 = (int)random_bits(&seed) % width, y0 = (int)random_bits(&seed) % height;
        int x1 = x0 + 1 + (int)random_bits(&seed) % (width / 3 + 1);
        int y1 = y0 + 1 + (int)random_bits(&seed) % (height / 3 + 1);
        for (int y = y0; y < y1 && y < height; y++)
            for (int x = x0; x < x1 && x < width; x++)
                mask[y * width + x] = 255;
    }
}

static int64_t differing(int width, int height, int small_width, int small_height,
                         enum bd_pixel_format format, int channels, int kind)
{
    struct bd_frame in = { 0 }, out = { 0 };
    struct bd_pool *pool = NULL;
    struct bd_upscaler *upscaler = NULL;
    size_t cells = (size_t)small_width * (size_t)small_height;
    uint8_t *small = malloc(cells * 5);
    int64_t wrong = 0;
    assert_non_null(small);
    assert_int_equal(bd_frame_create(&in, width, height, format), BD_OK);
    assert_int_equal(bd_frame_create(&out, width, height, BD_GRAY8), BD_OK);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width * (int)format; x++)
            in.data[y * in.stride + x] = (uint8_t)random_bits(&seed);
    for (size_t i = 0; i < cells * 5; i++)
        small[i] = (uint8_t)random_bits(&seed);
    draw_mask(small + cells * 4, small_width, small_height, kind);
    struct bd_small_result result = { small_width,       small_height,      channels, small,
                                      small + cells * 3, small + cells * 4, 0 };
    result.threshold = (double)(random_bits(&seed) % 300) - 20;
    assert_int_equal(bd_pool_create(&pool, 1 + (int)random_bits(&seed) % 4), BD_OK);
    assert_int_equal(bd_upscaler_create(&upscaler, pool, width, height, small_width, small_height),
                     BD_OK);
    assert_int_equal(bd_upscale_mask(upscaler, &out, &in, &result), BD_OK);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            wrong += out.data[y * out.stride + x] != expected(&result, &in, x, y);
    bd_upscaler_destroy(&upscaler);
    assert_null(upscaler);
    bd_pool_destroy(&pool);
    bd_frame_destroy(&in);
    bd_frame_destroy(&out);
    free(small);
    return wrong;
}

static void all_sizes_follow_the_definition(void **state)
{
    (void)state;
    seed = 1;
    for (int round = 0; round < 200; round++) {
        int small_width = 1 + (int)random_bits(&seed) % 60,
            small_height = 1 + (int)random_bits(&seed) % 40;
        int width = small_width + (int)random_bits(&seed) % 150,
            height = small_height + (int)random_bits(&seed) % 100;
        enum bd_pixel_format format = random_bits(&seed) % 2 ? BD_RGB24 : BD_GRAY8;
        int channels = format == BD_RGB24 && random_bits(&seed) % 2 ? 3 : 1;
        assert_int_equal(
            differing(width, height, small_width, small_height, format, channels, round % 4), 0);
    }
}

/* As large pictures are processed by default: 1920x1080 at 739x416. */
static void a_large_picture_follows_the_definition(void **state)
{
    (void)state;
    seed = 2;
    assert_int_equal(differing(1920, 1080, 739, 416, BD_RGB24, 3, 3), 0);
    assert_int_equal(differing(1920, 1080, 739, 416, BD_GRAY8, 1, 3), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_sizes_follow_the_definition),
        cmocka_unit_test(a_large_picture_follows_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
