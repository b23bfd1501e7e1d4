/* A sign that blinks in films (separation/shared/flash.h), on every backend: it becomes background,
 * and what walks elsewhere and in front of it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/separation/detect_pair.h"
#include "tests/support/each_backend.h"
#include "tests/support/random.h"
#include <backdrop/separator.h>

enum { width = 160, height = 120, pixels = width * height };

struct box {
    int x, y, across, down;
};

static const struct box sign = { 59, 21, 45, 30 };

static bool is_in(const struct box *box, int x, int y)
{
    return x >= box->x && x < box->x + box->across && y >= box->y && y < box->y + box->down;
}

/* A wall with noise, the sign while it is on, and a walker; NULL: there is none. */
static void draw(uint8_t *picture, int channels, int number, bool on, const struct box *walker)
{
    static const uint8_t colours[3][3] = { { 120, 110, 100 }, { 240, 60, 30 }, { 30, 60, 200 } };
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            const bool walks = walker && is_in(walker, x, y);
            const int kind = walks ? 2 : on && is_in(&sign, x, y);
            for (int c = 0; c < channels; c++) {
                const uint32_t i = (uint32_t)((y * width + x) * channels + c);
                const int noise = (int)(hash(i * 7919u + (uint32_t)number) % 9) - 4;
                picture[i] = (uint8_t)(colours[kind][c] + noise);
            }
        }
}

/* The share of a box, inside the picture, that is in the mask. */
static double share(const uint8_t *mask, const struct box *box)
{
    int set = 0, all = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            if (is_in(box, x, y)) {
                set += mask[y * width + x] != 0;
                all++;
            }
    return all ? (double)set / all : 0;
}

/* The sign is on in every other ten frames. It is in the mask at first, and out of it in the very
 * frame in which it goes on after two flashes have counted. The backend and the CPU agree. */
static void check_sign(const char *name, int channels, int min_area, int lasting, int max_hole)
{
    static uint8_t f[pixels * 3], l[pixels * 3];
    const struct bd_separation_shape shape = { width, height, channels, 2, 1, 15, 1 };
    const struct bd_detect_params params = { .threshold = 20,
                                             .noise_gain = 3,
                                             .most = 60,
                                             .plain = 0.3F,
                                             .shadows = max_hole > 0 || lasting > 0,
                                             .illumination = 1,
                                             .median = 5,
                                             .min_area = min_area,
                                             .lasting = lasting,
                                             .max_hole = max_hole,
                                             .flash_quiet = 4,
                                             .guard = 5,
                                             .noise_rate = 0.02F,
                                             .seconds = 0.04F,
                                             .memory = 60 };
    struct detect_pair pair;
    detect_pair_open(&pair, name, &shape);
    draw(l, channels, 1000, false, NULL);
    for (int frame = 0; frame < 60; frame++) {
        const bool on = frame / 10 % 2;
        struct bd_separation out[2];
        draw(f, channels, frame, on, NULL);
        detect_pair_push(&pair, f, l, &params, out);
        if (on && frame < 20)
            assert_true(share(out[0].mask, &sign) > 0.95);
        else
            assert_int_equal(out[0].foreground, 0);
    }
    detect_pair_close(&pair);
}

static void test_sign(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    for (int channels = 1; channels <= 3; channels += 2) {
        check_sign(name, channels, 6, 4, 100);
        check_sign(name, channels, 6, 0, 0);
        check_sign(name, channels, 6, 4, 0);
        check_sign(name, channels, 0, 0, 100);
        check_sign(name, channels, 1, 4, 100);
    }
}

/* What the masks of a film show: mean shares, and the largest. */
struct shares {
    double sign;            /* the largest, late, while the sign blinks and nobody is there */
    double end, seek;       /* the sign in the last frame, and in that frame after a seek */
    double lower, in_front; /* of the walkers, in all their frames */
};

/* Who walks goes `speed` pixels a second to the right, from time `from` on; false: outside. */
static bool walk(struct box *box, int y, double speed, double time, double from)
{
    *box = (struct box){ (int)((time - from) * speed), y, 28, 28 };
    return time >= from && box->x < width - box->across;
}

/* Nine seconds: the sign blinks each half second. From the fourth on somebody walks below it, and
 * from `from` on in front of it, at so many pixels a second: fast enough to change the cells that
 * he enters. Each picture is shown `times` times. */
static struct shares separate(const char *name, double rate, int times, double from, double speed)
{
    static uint8_t picture[pixels * 3];
    const struct bd_separator_options options = {
        .width = width, .height = height, .channels = 3, .frame_rate = rate
    };
    struct shares shares = { 0 };
    struct bd_backend *backend;
    struct bd_separator *separator;
    struct bd_separation out;
    int below = 0, in_front = 0;
    assert_int_equal(bd_backend_open(&backend, name, 2), BD_OK);
    assert_int_equal(bd_separator_create(&separator, backend, &options), BD_OK);
    for (int i = 0; i < 20; i++) {
        draw(picture, 3, 1000 + i, false, NULL);
        assert_int_equal(bd_separator_look_ahead(separator, picture, (int64_t)width * 3), BD_OK);
    }
    assert_int_equal(bd_separator_initialise(separator), BD_OK);
    for (int frame = 0; frame < 9 * rate; frame++) {
        const int number = frame / times * times; /* of the picture's first showing */
        const double time = number / rate;
        struct box walker;
        const bool is_below = walk(&walker, 80, 60, time, 4);
        const bool is_in_front = !is_below && walk(&walker, 22, speed, time, from);
        draw(picture, 3, number, (int)(2 * time) % 2, is_below || is_in_front ? &walker : NULL);
        assert_int_equal(
            bd_separator_push(separator, picture, (int64_t)width * 3, frame / rate, &out), BD_OK);
        if (time >= 3 && time < 6.7 && share(out.mask, &sign) > shares.sign)
            shares.sign = share(out.mask, &sign);
        if (time >= 8.7)
            shares.end = share(out.mask, &sign);
        if (is_below) {
            below++;
            shares.lower += share(out.mask, &walker);
        } else if (is_in_front) {
            in_front++;
            shares.in_front += share(out.mask, &walker);
        }
    }
    /* After a seek there is no frame before: the sign, which is on, has not flashed. */
    assert_int_equal(bd_separator_push(separator, picture, (int64_t)width * 3, 100, &out), BD_OK);
    shares.seek = share(out.mask, &sign);
    bd_separator_destroy(&separator);
    bd_backend_close(&backend);
    shares.lower /= below;
    shares.in_front /= in_front;
    print_message("%s, %g frames/s, each %d times: sign %.3f, walker below %.3f, in front %.3f\n",
                  name, rate, times, shares.sign, shares.lower, shares.in_front);
    return shares;
}

static void test_film(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        const struct shares film = separate(name, 25, 1, 6.7, 100);
        assert_true(film.sign == 0 && film.lower > 0.9 && film.in_front > 0.9);
        assert_true(film.end == 0 && film.seek > 0.9);
        /* He comes while the sign is on, too, and is one component with it. */
        for (int tenth = 64; tenth <= 72; tenth += 2)
            assert_true(separate(name, 25, 1, tenth / 10.0, 80).in_front > 0.85);
        const struct shares rare = separate(name, 5, 1, 6.7, 100);
        assert_true(rare.sign > 0.9 && rare.lower > 0.9 && rare.in_front > 0.9);
        const struct shares repeated = separate(name, 25, 5, 6.7, 100);
        assert_true(repeated.lower > 0.9 && repeated.in_front > 0.9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sign),
        cmocka_unit_test(test_film),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
