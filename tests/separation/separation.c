/* The live separator on the rendered scenes, scored against their exact truth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/each_backend.h"
#include "tests/support/quick.h"
#include "video/synth/synth.h"
#include <backdrop/separator.h>

struct score {
    double precision, recall, f;
};

/* Pixels counted as CDnet does: 255 is positive; shadow (50) and 0 are negative. */
static void add(double tally[3], const uint8_t *mask, const struct bd_frame *truth)
{
    for (int y = 0; y < truth->height; y++)
        for (int x = 0; x < truth->width; x++) {
            int positive = truth->data[y * truth->stride + x] == 255;
            int found = mask[(int64_t)y * truth->width + x] != 0;
            tally[0] += positive && found;
            tally[1] += !positive && found;
            tally[2] += positive && !found;
        }
}

static void render(const struct bd_synth_scene *scene, int64_t index, struct bd_frame *picture,
                   struct bd_frame *truth)
{
    assert_int_equal(bd_synth_render(scene, 0, 0, 1, index, picture, truth), BD_OK);
}

/* Separates `frames` frames of a scene with default options and scores those from `first` on;
 * `ahead` frames spread over the scene are shown before. */
static struct score separate(const char *backend_name, const char *name, int frames, int first,
                             int ahead)
{
    const struct bd_synth_scene *scene = bd_synth_find(name);
    assert_non_null(scene);
    struct bd_frame picture = { 0 }, truth = { 0 };
    struct bd_backend *backend;
    struct bd_separator *separator;
    render(scene, 0, &picture, NULL);
    struct bd_separator_options options = {
        .width = picture.width, .height = picture.height, .channels = 3, .frame_rate = scene->fps
    };
    assert_int_equal(bd_backend_open(&backend, backend_name, 0), BD_OK);
    assert_int_equal(bd_separator_create(&separator, backend, &options), BD_OK);
    for (int i = 0; i < ahead; i++) {
        render(scene, (int64_t)i * frames / ahead, &picture, NULL);
        assert_int_equal(bd_separator_look_ahead(separator, picture.data, picture.stride), BD_OK);
    }
    if (ahead)
        assert_int_equal(bd_separator_initialise(separator), BD_OK);
    double tally[3] = { 0 };
    for (int i = 0; i < frames; i++) {
        struct bd_separation out;
        render(scene, i, &picture, &truth);
        assert_int_equal(bd_separator_push(separator, picture.data, picture.stride,
                                           (double)i / scene->fps, &out),
                         BD_OK);
        if (i >= first)
            add(tally, out.mask, &truth);
    }
    bd_separator_destroy(&separator);
    bd_backend_close(&backend);
    bd_frame_destroy(&picture);
    bd_frame_destroy(&truth);
    struct score score = { .precision = tally[0] / (tally[0] + tally[1]),
                           .recall = tally[0] / (tally[0] + tally[2]) };
    score.f = 2 * score.precision * score.recall / (score.precision + score.recall);
    print_message("%s %s%s: precision %.4f recall %.4f F %.4f\n", backend_name, name,
                  ahead ? " with look-ahead" : "", score.precision, score.recall, score.f);
    return score;
}

static void test_easy(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        assert_true(separate(name, "easy", 300, 75, 0).f >= 0.975);
        if (!test_quick())
            assert_true(separate(name, "easy", 300, 0, 50).f >= 0.975);
    }
}

static void test_hard(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        assert_true(separate(name, "street", 200, 0, 50).f >= 0.97);
        if (test_quick())
            continue;
        assert_true(separate(name, "sway", 200, 0, 50).f >= 0.97);
        assert_true(separate(name, "drift", 300, 0, 50).f >= 0.97);
        assert_true(separate(name, "noise", 200, 0, 50).f >= 0.97);
        assert_true(separate(name, "shadows", 200, 0, 50).f >= 0.97);
    }
}

/* The object that stops is found all the while. (A look-ahead in which it stands for most of the
 * time would take it for background.) */
static void test_stop(void **state)
{
    (void)state;
    const struct bd_synth_scene *scene = bd_synth_find("stop");
    if (test_quick())
        skip();
    assert_true(scene->stop_to > scene->stop_from);
    FOR_EACH_BACKEND(name)
    assert_true(separate(name, "stop", scene->stop_to, scene->stop_from, 0).recall >= 0.95);
}

/* Soon after a sudden change of light the masks are as before it. */
static void test_switch(void **state)
{
    (void)state;
    const struct bd_synth_scene *scene = bd_synth_find("switch");
    assert_true(scene->light_switch > 0);
    FOR_EACH_BACKEND(name)
    assert_true(
        separate(name, "switch", scene->light_switch + 100, scene->light_switch + 25, 50).f >= 0.9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_easy),
        cmocka_unit_test(test_hard),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_switch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
