/* Dark and bluish shadows in films (separation/shared/shadow_colour.h), on every backend: they are
 * learned where the ground has texture, and found on plain ground too; dark objects stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "separation/shared/ops.h"
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

/* Ground whose left part has texture, and objects on it, whose trousers are as dark as a shadow.
 * times: of all lengths. */
static void draw(uint8_t *picture, int times, int number, int objects, struct light light)
{
    static const uint8_t red[3] = { 210, 60, 50 };
    for (int y = 0; y < height * times; y++)
        for (int x = 0; x < width * times; x++) {
            uint8_t *pixel = picture + 3 * ((size_t)y * width * (size_t)times + (size_t)x);
            const uint32_t place = (uint32_t)(y / times * width + x / times);
            const int plain =
                120 + (x > width * times * 2 / 5 ? 0 : 3 * (int)(hash(place) % 16) - 24);
            const enum kind kind = kind_at(x / times, y / times, number, objects);
            for (int c = 0; c < 3; c++) {
                const uint32_t i = (uint32_t)((y * width * times + x) * 3 + c);
                const int noise = (int)(hash(i * 7919u + (uint32_t)number * 131u) % 5) - 2;
                const int there = plain - 6 * c;
                const int value[] = { there, red[c], 50, there * light.of[c] / 100 };
                pixel[c] = (uint8_t)(value[kind] + noise);
            }
        }
}

/* Frames all of which is in half of the light. */
static bool is_whole(int times, int frame)
{
    return times > 1 && frame % 2;
}

/* The backend and the CPU agree on the masks and shadows of frames, of which one in eight is
 * evidence; with more than one time, each is, and all of it is halved on the way. */
static void check_agreement(const char *name, int times, int frames, struct light light)
{
    const int w = width * times, h = height * times, pixels = w * h;
    const struct bd_separation_shape shape = { w, h, 3, 2, 1, 15, 1 };
    uint8_t *f = malloc(3 * (size_t)pixels), *l = malloc(3 * (size_t)pixels);
    struct bd_backend *backends[2];
    void *states[2];
    int all = 0, set = 0; /* pixels of shadows in the second half, and of the mask there */
    assert_true(f && l);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bd_backend_open(&backends[i], i ? "cpu" : name, 2), BD_OK);
        const struct bd_separation_ops *ops = backends[i]->ops->separation;
        assert_int_equal(ops->create(backends[i], &shape, &states[i]), BD_OK);
        assert_int_equal(ops->reset(states[i]), BD_OK);
    }
    draw(l, times, 1000, 0, light);
    for (int frame = 0; frame < frames; frame++) {
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
                                                 .look = times > 1 ? 0 : (unsigned)frame };
        struct bd_separation out[2];
        draw(f, times, frame, 2, light);
        if (is_whole(times, frame))
            for (int i = 0; i < 3 * pixels; i++)
                f[i] = (uint8_t)(l[i] / 2);
        for (int i = 0; i < 2; i++) {
            const struct bd_separation_ops *ops = backends[i]->ops->separation;
            assert_int_equal(ops->load(states[i], f, (int64_t)w * 3), BD_OK);
            assert_int_equal(ops->load_background(states[i], l), BD_OK);
            assert_int_equal(ops->detect(states[i], &params, 1), BD_OK);
            assert_int_equal(ops->finish(states[i]), BD_OK);
            assert_int_equal(ops->collect(states[i], &out[i]), BD_OK);
        }
        assert_memory_equal(out[0].mask, out[1].mask, (size_t)pixels);
        assert_memory_equal(out[0].shadow, out[1].shadow, (size_t)pixels);
        for (int p = 0; p < pixels && frame >= frames / 2; p++) {
            const int x = p % w / times, y = p / w / times;
            const bool there = !is_whole(times, frame) && kind_at(x, y, frame, 2) == shadow;
            all += there;
            set += there && out[0].mask[p];
        }
    }
    print_message("%s, %d x %d: %d of %d pixels of shadows in the mask\n", name, w, h, set, all);
    assert_true(test_quick() || 4 * set < all);
    for (int i = 0; i < 2; i++) {
        backends[i]->ops->separation->destroy(states[i]);
        bd_backend_close(&backends[i]);
    }
    free(f);
    free(l);
}

static void test_agreement(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        check_agreement(name, 1, test_quick() ? 40 : 400, sunny);
        check_agreement(name, 4, test_quick() ? 4 : 64, sunny);
    }
}

/* Shares of what is in the masks of the second half of a film. */
struct shares {
    double shadows, shirts, trousers;
};

static struct shares separate(const char *name, bool ahead, struct light light)
{
    static uint8_t picture[3 * width * height];
    const struct bd_separator_options options = {
        .width = width, .height = height, .channels = 3, .frame_rate = 25
    };
    const int frames = 400;
    int all[4] = { 0 }, set[4] = { 0 };
    struct bd_backend *backend;
    struct bd_separator *separator;
    struct bd_separation out;
    assert_int_equal(bd_backend_open(&backend, name, 2), BD_OK);
    assert_int_equal(bd_separator_create(&separator, backend, &options), BD_OK);
    for (int i = 0; i < 30 && ahead; i++) {
        draw(picture, 1, 13 * i, 2, light);
        assert_int_equal(bd_separator_look_ahead(separator, picture, 3L * width), BD_OK);
    }
    if (ahead)
        assert_int_equal(bd_separator_initialise(separator), BD_OK);
    for (int frame = 0; frame < frames; frame++) {
        draw(picture, 1, frame, 2, light);
        assert_int_equal(bd_separator_push(separator, picture, 3L * width, frame / 25.0, &out),
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
    print_message("%s: in the mask %.3f of the shadows, %.3f of shirts, %.3f of trousers\n", name,
                  shares.shadows, shares.shirts, shares.trousers);
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
            const struct shares shares = separate(name, ahead, lights[i]);
            assert_true(shares.shadows < 0.2);
            assert_true(shares.shirts > 0.95 && shares.trousers > 0.8);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agreement),
        cmocka_unit_test(test_film),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
