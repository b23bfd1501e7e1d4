/* From frame and background to mask, shadows and guard, on every backend against the cpu's: all of
 * it is done in integers, or in floating point that is rounded alike, so that every byte is the
 * same. Backgrounds are given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "separation/shared/ops.h"
#include "tests/support/quick.h"
#include "tests/support/random.h"

/* A state of each of two backends, which are given the same. */
struct pair {
    struct bd_backend *backend[2];
    void *state[2];
    struct bd_separation_shape shape;
    int64_t pixels, m, stride;
    uint8_t *f, *l;
};

/* False where there is no such backend here. */
static bool open_pair(struct pair *p, const char *name, int width, int height, int channels)
{
    *p = (struct pair){ .shape = { width, height, channels, 2, 1, 15, 1 } };
    p->stride = (int64_t)width * channels;
    p->pixels = (int64_t)width * height;
    p->m = p->pixels * channels;
    for (int i = 0; i < 2; i++) {
        enum bd_status status = bd_backend_open(&p->backend[i], i ? name : "cpu", 0);
        if (status == BD_ERROR_UNSUPPORTED) {
            print_message("skipped: %s\n", bd_error_detail());
            bd_backend_close(&p->backend[0]);
            return false;
        }
        assert_int_equal(status, BD_OK);
        assert_int_equal(
            p->backend[i]->ops->separation->create(p->backend[i], &p->shape, &p->state[i]), BD_OK);
        assert_int_equal(p->backend[i]->ops->separation->reset(p->state[i]), BD_OK);
    }
    p->f = test_malloc((size_t)p->m);
    p->l = test_malloc((size_t)p->m);
    return true;
}

static void close_pair(struct pair *p)
{
    test_free(p->f);
    test_free(p->l);
    for (int i = 0; i < 2; i++) {
        p->backend[i]->ops->separation->destroy(p->state[i]);
        bd_backend_close(&p->backend[i]);
    }
}

/* `call` on the `state` of both backends, by `ops`; `both` is 0 for the reference. */
#define BOTH(p, call)                                               \
    for (int both = 0; both < 2; both++) {                          \
        const struct bd_backend_ops *ops = (p)->backend[both]->ops; \
        void *state = (p)->state[both];                             \
        if ((call) != BD_OK)                                        \
            fail_msg("%s: %s", #call, bd_error_detail());           \
    }

static int64_t count_set(const struct pair *p, const uint8_t *picture)
{
    int64_t count = 0;
    for (int64_t i = 0; i < p->pixels; i++)
        count += picture[i] == 255;
    return count;
}

static uint8_t clipped(int v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* What a picture is made of. */
enum kind { all_kinds, all_shadow, all_lit, nothing, only_noise, kinds };

/* A background of any colours; blocks of it in shadow or in more light, the same with noise,
 * unchanged, a little changed, covered by one colour, and by any. */
static void draw(struct pair *p, enum kind kind, int block, uint32_t number)
{
    int channels = p->shape.channels;
    uint32_t seed = number;
    for (int64_t i = 0; i < p->pixels; i++) {
        uint32_t x = (uint32_t)(i % p->shape.width), y = (uint32_t)(i / p->shape.width);
        uint32_t at = (y / (uint32_t)block * 977 + x / (uint32_t)block) * 131 + number * 7919;
        uint32_t what = random_bits(&at) % 8, percent = 40 + random_bits(&at) % 90;
        uint32_t colour = random_bits(&at);
        if (kind == all_shadow)
            what = 0, percent = 70;
        else if (kind == all_lit)
            what = 0, percent = 130;
        else if (kind == nothing)
            what = 3;
        else if (kind == only_noise)
            what = random_bits(&seed) % 50 ? 3 : 6;
        for (int c = 0; c < channels; c++) {
            int there = (int)(random_bits(&seed) % 160);
            there = kind == all_lit ? 90 + there / 2 : there + (kind == all_shadow ? 90 : 30);
            int here = there * (int)percent / 100;
            if (what == 1 || what == 2)
                here += (int)(random_bits(&seed) % (what == 1 ? 9 : 35)) - 8;
            else if (what == 3 || what == 4)
                here = there + (int)(random_bits(&seed) % (what == 3 ? 1 : 30));
            else if (what == 5)
                here = (int)(colour >> 8 * c & 255);
            else if (what > 5)
                here = (int)(random_bits(&seed) % 256);
            p->l[i * channels + c] = (uint8_t)there;
            p->f[i * channels + c] = clipped(here);
        }
    }
}

static void assert_same(const struct pair *p, const uint8_t *want, const uint8_t *got, int channels,
                        const char *what)
{
    assert_non_null(want);
    assert_non_null(got);
    int width = p->shape.width * channels;
    for (int64_t i = 0; i < p->pixels * channels; i++)
        if (want[i] != got[i])
            fail_msg("%d x %d x %d, %s: (%d, %d) is %d and should be %d", p->shape.width,
                     p->shape.height, p->shape.channels, what, (int)(i % width), (int)(i / width),
                     got[i], want[i]);
}

/* The results of the reference, with which the other's agree. */
static struct bd_separation detect(struct pair *p, const struct bd_detect_params *params, int learn,
                                   const char *what)
{
    struct bd_separation out[2] = { { 0 } };
    BOTH(p, ops->separation->load_background(state, p->l));
    BOTH(p, ops->separation->detect(state, params, learn));
    BOTH(p, ops->separation->finish(state));
    BOTH(p, ops->separation->collect(state, &out[both]));
    assert_same(p, out[0].background, out[1].background, p->shape.channels, what);
    assert_same(p, out[0].difference, out[1].difference, 1, what);
    assert_same(p, out[0].mask, out[1].mask, 1, what);
    assert_same(p, out[0].shadow, out[1].shadow, 1, what);
    assert_int_equal(out[0].foreground, out[1].foreground);
    assert_int_equal(out[0].changed, out[1].changed);
    return out[0];
}

/* Pixels, of all that was looked at, of the mask, and of shadows and other light. */
struct tally {
    int64_t all, kept, shadows;
};

/* Frame k of a pair, with settings that all turn up; learning, so that noise levels and ages take
 * part in the frames after it. Then the guard: what enters the window is seen against black. */
static void check_frame(struct pair *p, int k, struct tally *tally)
{
    static const int guards[] = { 0, 1, 3, 17, 40 };
    const struct bd_detect_params params = { .threshold = 12 + (float)(k % 4 * 6),
                                             .noise_gain = 3,
                                             .most = 60,
                                             .plain = k % 3 ? 0.3F : -1,
                                             .shadows = k % 5 != 2,
                                             .illumination = k % 7 != 3,
                                             .median = 1 + 2 * (k % 4),
                                             .min_area = k % 3 * 4,
                                             .max_hole = k % 4 * 5,
                                             .guard = guards[k % 5],
                                             .noise_rate = 0.02F + 0.01F * (float)(k % 3),
                                             .seconds = 0.04F + 0.01F * (float)(k % 2),
                                             .memory = 0.1F };
    BOTH(p, ops->separation->load(state, p->f, p->stride));
    struct bd_separation out = detect(p, &params, k % 6 != 5, "a frame");
    tally->all += p->pixels;
    tally->kept += out.foreground;
    tally->shadows += count_set(p, out.shadow);
    BOTH(p, ops->separation->insert(state, k % 2, 1));
    BOTH(p, ops->separation->recall(state, k % 2));
    memset(p->l, 0, (size_t)p->m);
    detect(p, &params, 0, "what entered the window");
}

#define FOR_EACH_OTHER(name)                                                                \
    for (const char *const *each = bd_backend_names(), *name = *each; name; name = *++each) \
        if (strcmp(name, "cpu") != 0)

/* Sizes about those of tiles, and the smallest. */
static void test_random(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1, 1 },     { 1, 70 },   { 70, 1 },   { 2, 3 },
                                    { 55, 31 },   { 56, 32 },  { 57, 33 },  { 64, 40 },
                                    { 60, 36 },   { 113, 65 }, { 256, 64 }, { 259, 131 },
                                    { 320, 200 }, { 5, 300 },  { 512, 34 }, { 47, 23 },
                                    { 48, 24 },   { 49, 25 },  { 97, 49 } };
    static const int blocks[] = { 6, 25, 3, 60, 1, 11 };
    FOR_EACH_OTHER(name)
    {
        struct tally tally = { 0 };
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s += test_quick() ? 3 : 1)
            for (int channels = 1; channels <= 3; channels += 2) {
                struct pair p;
                if (!open_pair(&p, name, sizes[s][0], sizes[s][1], channels))
                    return;
                for (int k = 0; k < (test_quick() ? 6 : 24); k++) {
                    draw(&p, all_kinds, blocks[k % 6], (uint32_t)k + 100 * (uint32_t)s);
                    check_frame(&p, k, &tally);
                }
                close_pair(&p);
            }
        print_message("%s: of %lld pixels, %lld are foreground and %lld shadow\n", name,
                      (long long)tally.all, (long long)tally.kept, (long long)tally.shadows);
        /* both kinds occur */
        assert_in_range(tally.kept, tally.all / 10, tally.all * 9 / 10);
        assert_in_range(tally.shadows, tally.all / 100, tally.all / 2);
    }
}

/* Shadow everywhere, other light everywhere, nothing at all, and specks. Without colour a shadow is
 * other light. */
static void check_extremes(struct pair *p)
{
    /* No filter: all shadows are in the result. */
    const struct bd_detect_params params = { .threshold = 20,
                                             .most = 60,
                                             .plain = -1,
                                             .shadows = 1,
                                             .illumination = 1,
                                             .median = 1,
                                             .guard = 2 };
    for (enum kind kind = all_shadow; kind < kinds; kind++) {
        struct tally tally = { 0 };
        draw(p, kind, 9, 5);
        BOTH(p, ops->separation->load(state, p->f, p->stride));
        struct bd_separation out = detect(p, &params, 0, "an extreme");
        assert_int_equal(count_set(p, out.shadow),
                         kind == all_shadow || kind == all_lit ? p->pixels : 0);
        if (kind != only_noise)
            assert_int_equal(out.foreground, 0);
        for (int k = 0; k < 6; k++) {
            draw(p, kind, 9, (uint32_t)k);
            check_frame(p, k, &tally);
        }
    }
}

static void test_extremes(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 150, 90 }, { 112, 64 }, { 33, 200 } };
    FOR_EACH_OTHER(name)
    for (size_t s = 0; s < (test_quick() ? 1 : sizeof sizes / sizeof *sizes); s++)
        for (int channels = 1; channels <= 3; channels += 2) {
            struct pair p;
            if (!open_pair(&p, name, sizes[s][0], sizes[s][1], channels))
                return;
            check_extremes(&p);
            close_pair(&p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
