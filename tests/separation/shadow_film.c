/* Dark and bluish shadows in films (separation/shared/shadow_colour.h), on every backend: they are
 * learned where the ground has texture, and found on plain ground too; dark objects stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/separation/detect_pair.h"
#include "tests/support/each_backend.h"
#include "tests/support/quick.h"
#include "tests/support/random.h"
#include <backdrop/separator.h>

enum { width = 160, height = 120, high = 30, wide = 12 };

/* What is left of the light in the shadow, hundredths. */
struct light {
    int of[3];
};

static const struct light sunny = { { 38, 42, 48 } };

enum kind { ground, shirt, trousers, shadow };

/* What is at (x, y): objects go to the right, each with a shadow at its foot, as wide as it is
 * high. */
static enum kind kind_at(int x, int y, int number, int objects)
{
    enum kind kind = ground;
    for (int k = 0; k < objects; k++) {
        const int at = (3 * number + 90 * k) % (width + 2 * high) - high;
        const int u = x - at, v = 50 + 40 * k - y;
        if (u >= 0 && u < wide && v > 0 && v <= high)
            kind = v > high / 2 ? shirt : trousers;
        else if (u >= wide && u < wide + high && v > 0 && v <= 9 && kind == ground)
            kind = shadow;
    }
    return kind;
}

struct size {
    int width, height, times; /* times: a pixel is so many wide and high */
};

static int across(struct size size)
{
    return size.width * size.times;
}

static int down(struct size size)
{
    return size.height * size.times;
}

/* Ground, of 1 or 3 channels, of which one part has much texture, one none, and the lower half
 * little; and objects on it, whose trousers are as dark as a shadow of the sun, or as a grey one.
 */
static void draw(uint8_t *picture, struct size size, int channels, int number, int objects,
                 struct light light)
{
    static const uint8_t red[3] = { 210, 60, 50 };
    for (int row = 0; row < down(size); row++)
        for (int column = 0; column < across(size); column++) {
            const int x = column / size.times, y = row / size.times;
            const int64_t p = (int64_t)row * across(size) + column;
            const uint32_t texture = hash((uint32_t)(y * size.width + x));
            const int much = x <= size.width * 2 / 5 ? 3 * (int)(texture % 16) - 24 : 0;
            const int plain = 120 + (y < 55 ? much : (int)(texture % 9) - 4);
            const enum kind kind = kind_at(x, y, number, objects);
            for (int c = 0; c < channels; c++) {
                const uint32_t i = (uint32_t)(3 * p + c);
                const int noise = (int)(hash(i * 7919u + (uint32_t)number * 131u) % 5) - 2;
                const int there = plain - 6 * c;
                const int value[] = { there, red[c], y < 55 ? 50 : 75, there * light.of[c] / 100 };
                picture[channels * p + c] = (uint8_t)(value[kind] + noise);
            }
        }
}

/* Frames all of which is in half of the light. */
static bool is_whole(int times, int frame)
{
    return times > 1 && frame % 2;
}

/* A frame with two states: they find the same mask and the same shadows. */
static const uint8_t *detect(struct detect_pair *pair, const uint8_t *f, const uint8_t *l,
                             unsigned look)
{
    const struct bd_detect_params params = { .threshold = 20,
                                             .noise_gain = 3,
                                             .most = 60,
                                             .plain = 0.3F,
                                             .shadows = 1,
                                             .illumination = 1,
                                             .median = 5,
                                             .min_area = 6,
                                             .max_hole = 20,
                                             .guard = 5,
                                             .noise_rate = 0.02F,
                                             .seconds = 0.04F,
                                             .memory = 60,
                                             .look = look };
    struct bd_separation out[2];
    detect_pair_push(pair, f, l, &params, out);
    assert_memory_equal(out[0].shadow, out[1].shadow,
                        (size_t)pair->shape.width * (size_t)pair->shape.height);
    return out[0].mask;
}

/* The backend and the CPU agree, before and after they have forgotten all. One frame in eight is
 * evidence; where pixels are large, every frame is, and so much of it that it is halved. */
static void check_agreement(const char *name, struct size size, int channels, int frames)
{
    const int pixels = across(size) * down(size);
    const struct bd_separation_shape shape = { across(size), down(size), channels, 2, 1, 15, 1 };
    uint8_t *f = malloc((size_t)channels * (size_t)pixels),
            *l = malloc((size_t)channels * (size_t)pixels);
    struct detect_pair pair;
    assert_true(f && l);
    detect_pair_open(&pair, name, &shape);
    draw(l, size, channels, 1000, 0, sunny);
    for (int round = 0; round < 2; round++) {
        int all = 0, set = 0; /* pixels of shadows in the second half, and of the mask there */
        const int count = round ? 10 : frames;
        detect_pair_reset(&pair);
        for (int frame = 0; frame < count; frame++) {
            const unsigned look = size.times > 1 ? 0 : (unsigned)frame;
            draw(f, size, channels, frame, 2, sunny);
            if (is_whole(size.times, frame))
                for (int i = 0; i < channels * pixels; i++)
                    f[i] = (uint8_t)(l[i] / 2);
            const uint8_t *mask = detect(&pair, f, l, look);
            for (int p = 0; p < pixels && frame >= count / 2; p++) {
                const int x = p % across(size) / size.times, y = p / across(size) / size.times;
                const bool there =
                    !is_whole(size.times, frame) && kind_at(x, y, frame, 2) == shadow;
                all += there;
                set += there && mask[p];
            }
        }
        print_message("%s, %d x %d x %d, %d frames: %d of %d pixels of shadows in the mask\n", name,
                      across(size), down(size), channels, count, set, all);
        assert_true(test_quick() || round || channels == 1 || 3 * set < all);
    }
    detect_pair_close(&pair);
    free(f);
    free(l);
}

static void test_agreement(void **state)
{
    (void)state;
    /* One column and one row of the odd picture are in tiles of their own on a GPU. */
    const struct size usual = { width, height, 1 }, odd = { 337, 97, 1 },
                      large = { width, height, 4 };
    FOR_EACH_BACKEND(name)
    for (int channels = 1; channels <= 3; channels += 2) {
        check_agreement(name, usual, channels, test_quick() ? 40 : 400);
        check_agreement(name, odd, channels, test_quick() ? 20 : 200);
        check_agreement(name, large, channels, test_quick() ? 4 : 64);
    }
}

/* Shares of what is in the masks of the second half of a film. */
struct shares {
    double shadows, shirts, trousers;
};

static struct shares separate(const char *name, int channels, bool ahead, struct light light)
{
    static uint8_t picture[3 * width * height];
    const struct bd_separator_options options = {
        .width = width, .height = height, .channels = channels, .frame_rate = 25
    };
    const struct size size = { width, height, 1 };
    const int frames = 400;
    int all[4] = { 0 }, set[4] = { 0 };
    struct bd_backend *backend;
    struct bd_separator *separator;
    struct bd_separation out;
    assert_int_equal(bd_backend_open(&backend, name, 2), BD_OK);
    assert_int_equal(bd_separator_create(&separator, backend, &options), BD_OK);
    for (int i = 0; i < 30 && ahead; i++) {
        draw(picture, size, channels, 13 * i, 2, light);
        assert_int_equal(bd_separator_look_ahead(separator, picture, (int64_t)channels * width),
                         BD_OK);
    }
    if (ahead)
        assert_int_equal(bd_separator_initialise(separator), BD_OK);
    for (int frame = 0; frame < frames; frame++) {
        draw(picture, size, channels, frame, 2, light);
        assert_int_equal(
            bd_separator_push(separator, picture, (int64_t)channels * width, frame / 25.0, &out),
            BD_OK);
        for (int p = 0; p < width * height && frame >= frames / 2; p++) {
            const enum kind kind = kind_at(p % width, p / width, frame, 2);
            all[kind]++;
            set[kind] += out.mask[p] != 0;
        }
    }
    bd_separator_destroy(&separator);
    bd_backend_close(&backend);
    const struct shares shares = { (double)set[shadow] / all[shadow],
                                   (double)set[shirt] / all[shirt],
                                   (double)set[trousers] / all[trousers] };
    print_message(
        "%s, %d channels: in the mask %.3f of the shadows, %.3f of shirts, %.3f of trousers\n",
        name, channels, shares.shadows, shares.shirts, shares.trousers);
    return shares;
}

static void test_film(void **state)
{
    (void)state;
    static const struct light grey = { { 45, 45, 45 } }, black = { { 30, 33, 38 } };
    const struct light lights[] = { sunny, grey, black };
    FOR_EACH_BACKEND(name)
    for (int i = 0; i < 3; i++)
        for (int ahead = 0; ahead < 2; ahead++) {
            const struct shares shares = separate(name, 3, ahead, lights[i]);
            assert_true(shares.shadows < 0.2);
            assert_true(shares.shirts > 0.95 && shares.trousers > 0.8);
        }
}

/* Without colour the shadow of a lamp is told by its light alone. */
static void test_gray(void **state)
{
    (void)state;
    static const struct light lamp = { { 55, 55, 55 } };
    FOR_EACH_BACKEND(name)
    for (int ahead = 0; ahead < 2; ahead++) {
        const struct shares shares = separate(name, 1, ahead, lamp);
        assert_true(shares.shadows < 0.2 && shares.shirts > 0.95 && shares.trousers > 0.8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agreement),
        cmocka_unit_test(test_film),
        cmocka_unit_test(test_gray),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
