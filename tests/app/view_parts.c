/* The parts of the live window that need no display: pacing, the separator thread, conversion to
 * textures, keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/view/convert.h"
#include "app/view/keys.h"
#include "app/view/pacer.h"
#include "app/view/player.h"
#include "app/view/shrink.h"
#include "app/view/worker.h"
#include "base/clock.h"
#include "video/yuv.h"

/* ---- pacing ---- */

static void shows_in_real_time(void **state)
{
    (void)state;
    struct bd_view_pacer pacer = { 0 };
    bd_view_pacer_show(&pacer, 3.0, true, 100.0);
    assert_true(bd_view_pacer_due(&pacer, 3.04, false) <= 100.0); /* not running: at once */
    bd_view_pacer_start(&pacer, 100.5);
    for (int i = 1; i <= 50; i++) {
        double due = bd_view_pacer_due(&pacer, 3.0 + 0.04 * i, false);
        assert_true(fabs(due - (100.5 + 0.04 * i)) < 1e-9);
        bd_view_pacer_show(&pacer, 3.0 + 0.04 * i, false, due + 0.01 * (i % 3));
    }
    assert_true(fabs(bd_view_pacer_rate(&pacer) - 25) < 1);
    assert_true(fabs(bd_view_pacer_speed(&pacer) - 1) < 0.05);
}

/* A frame that comes late moves the clock; those after it keep their distance. */
static void late_frames_slow_the_film(void **state)
{
    (void)state;
    struct bd_view_pacer pacer = { 0 };
    bd_view_pacer_show(&pacer, 0, true, 10.0);
    bd_view_pacer_start(&pacer, 10.0);
    for (int i = 1; i <= 30; i++)
        bd_view_pacer_show(&pacer, 0.1 * i, false, 10.0 + 0.4 * i);
    assert_true(fabs(bd_view_pacer_due(&pacer, 3.1, false) - (10.0 + 0.4 * 30 + 0.1)) < 1e-9);
    assert_true(fabs(bd_view_pacer_rate(&pacer) - 2.5) < 0.1);
    assert_true(fabs(bd_view_pacer_speed(&pacer) - 0.25) < 0.01);
}

static void loops_without_a_gap(void **state)
{
    (void)state;
    struct bd_view_pacer pacer = { 0 };
    bd_view_pacer_show(&pacer, 0, true, 10.0);
    bd_view_pacer_start(&pacer, 10.0);
    bd_view_pacer_show(&pacer, 0.1, false, 10.1);
    assert_true(fabs(bd_view_pacer_due(&pacer, 0, true) - 10.2) < 1e-9);
    bd_view_pacer_show(&pacer, 0, true, 10.2);
    assert_true(fabs(bd_view_pacer_due(&pacer, 0.1, false) - 10.3) < 1e-9);
    /* nor is an hour waited for, by which a sender's clock jumped */
    bd_view_pacer_show(&pacer, 0.1, false, 10.3);
    assert_true(fabs(bd_view_pacer_due(&pacer, 3600, false) - 10.4) < 1e-9);
    bd_view_pacer_show(&pacer, 3600, false, 10.4);
    bd_view_pacer_show(&pacer, 3600.1, false, 10.5);
    assert_true(fabs(bd_view_pacer_due(&pacer, 3600.2, false) - 10.6) < 1e-9);
}

/* ---- the separator thread ---- */

static void ignore(void *user)
{
    (void)user;
}

static struct bd_view_worker *open_worker(struct bd_options *options, char **arguments, int count)
{
    struct bd_view_worker *worker;
    assert_int_equal(bd_options_parse(options, count, arguments), BD_OK);
    struct bd_view_worker_options wishes = { .options = options, .notify = ignore };
    assert_int_equal(bd_view_worker_create(&worker, &wishes), BD_OK);
    return worker;
}

/* The next result; NULL at the end or after a minute. */
static struct bd_view_result *next(struct bd_view_worker *worker)
{
    for (double end = bd_clock_seconds() + 60; bd_clock_seconds() < end; usleep(1000)) {
        bool over = bd_view_worker_progress(worker).state >= BD_VIEW_ENDED;
        struct bd_view_result *result = bd_view_worker_take(worker, false);
        if (result || over)
            return result;
    }
    return NULL;
}

/* Waits until the input is open, at most a minute. */
static void wait_for_source(struct bd_view_worker *worker)
{
    const double end = bd_clock_seconds() + 60;
    while (!bd_view_worker_source(worker) && bd_clock_seconds() < end)
        usleep(1000);
    assert_non_null(bd_view_worker_source(worker));
}

static bool is_full(struct bd_view_worker *worker)
{
    const struct bd_view_progress progress = bd_view_worker_progress(worker);
    return progress.ready >= progress.capacity;
}

/* Waits until no further result has room, at most a minute. */
static void wait_until_full(struct bd_view_worker *worker)
{
    const double end = bd_clock_seconds() + 60;
    while (!is_full(worker) && bd_clock_seconds() < end)
        usleep(1000);
    assert_true(is_full(worker));
}

/* Checks the position of the next result, and gives it back. */
static void expect(struct bd_view_worker *worker, double position, bool jump)
{
    struct bd_view_result *result = next(worker);
    assert_non_null(result);
    assert_true(fabs(result->position - position) < 1e-6);
    assert_int_equal(result->jump, jump);
    assert_int_equal(result->input.width, 320);
    assert_int_equal(result->mask.width, 320);
    assert_int_equal(result->background.width, 320);
    bd_view_worker_release(worker, &result);
}

static void delivers_every_frame_then_ends(void **state)
{
    (void)state;
    struct bd_options options;
    char *arguments[] = { "backdrop", "view", "synth:easy?frames=20" };
    struct bd_view_worker *worker = open_worker(&options, arguments, 3);
    for (int i = 0; i < 20; i++)
        expect(worker, i / 25.0, i == 0);
    assert_null(next(worker));
    assert_int_equal(bd_view_worker_progress(worker).state, BD_VIEW_ENDED);
    const struct bd_view_source *source = bd_view_worker_source(worker);
    assert_true(source->adjustable && source->threshold > 0 && source->lambda > 0);
    bd_view_worker_seek(worker, 0.4 - 0.0005, true); /* after the end there is a way back */
    expect(worker, 0.4, true);
    expect(worker, 0.44, false);
    bd_view_worker_destroy(&worker);
    assert_null(worker);
    bd_options_release(&options);
}

static void loop_starts_again(void **state)
{
    (void)state;
    struct bd_options options;
    char *arguments[] = { "backdrop", "view", "synth:easy?frames=5", "--loop" };
    struct bd_view_worker *worker = open_worker(&options, arguments, 4);
    for (int i = 0; i < 23; i++)
        expect(worker, i % 5 / 25.0, i % 5 == 0);
    bd_view_worker_destroy(&worker);
    bd_options_release(&options);
}

/* Of results that are all due the last one is shown, and the others are counted. */
static void what_is_missed_is_counted(void **state)
{
    (void)state;
    struct bd_options options;
    char *arguments[] = { "backdrop", "view", "synth:easy?frames=20" };
    struct bd_view_worker *worker = open_worker(&options, arguments, 3);
    struct bd_view_player player;
    double wait;
    wait_for_source(worker);
    bd_view_player_init(&player, worker);
    wait_until_full(worker);
    assert_true(bd_view_player_advance(&player, 0, &wait)); /* the first one is shown */
    wait_until_full(worker);
    const int waiting = bd_view_worker_progress(worker).ready;
    assert_true(waiting > 2);
    assert_false(bd_view_player_advance(&player, 0, &wait)); /* the clock runs from here */
    assert_true(bd_view_player_advance(&player, (waiting + 0.5) / 25, &wait));
    assert_int_equal(player.missed, waiting - 1);
    assert_int_equal(player.shown, 2);
    assert_true(fabs(player.current->position - (double)waiting / 25) < 1e-6);
    bd_view_player_close(&player);
    bd_view_worker_destroy(&worker);
    bd_options_release(&options);
}

/* Results from before a seek never come after it, however many were waiting. */
static void seek_drops_what_waits(void **state)
{
    (void)state;
    struct bd_options options;
    char *arguments[] = { "backdrop", "view", "synth:easy" };
    struct bd_view_worker *worker = open_worker(&options, arguments, 3);
    expect(worker, 0, true);
    for (int i = 0; i < 10; i++) {
        double target = (i * 37 % 100) / 25.0;
        if (i % 2)
            wait_until_full(worker);
        bd_view_worker_seek(worker, target, false);
        expect(worker, target, true);
        expect(worker, target + 0.04, false);
    }
    bd_view_worker_destroy(&worker);
    bd_options_release(&options);
}

static void settings_reach_the_separator(void **state)
{
    (void)state;
    struct bd_options options;
    char *arguments[] = { "backdrop", "view", "synth:easy" };
    struct bd_view_worker *worker = open_worker(&options, arguments, 3);
    struct bd_view_result *result = next(worker);
    assert_non_null(result);
    double before = result->foreground;
    assert_true(before > 0.002);
    bd_view_worker_release(worker, &result);
    bd_view_worker_set_threshold(worker, 254);
    bd_view_worker_seek(worker, 0, true);
    result = next(worker);
    assert_non_null(result);
    assert_true(fabs(result->position) < 1e-9);
    assert_true(result->foreground < 0.2 * before);
    bd_view_worker_release(worker, &result);
    char notice[200];
    bd_view_worker_set_threshold(worker, -5); /* refused, and said so */
    bd_view_worker_seek(worker, 1, false);
    expect(worker, 1, true);
    assert_true(bd_view_worker_notice(worker, notice, sizeof notice));
    assert_non_null(strstr(notice, "threshold"));
    assert_false(bd_view_worker_notice(worker, notice, sizeof notice));
    bd_view_worker_destroy(&worker);
    bd_options_release(&options);
}

/* The first picture does not wait for the look-ahead. */
static void the_first_frame_comes_before_the_results(void **state)
{
    (void)state;
    struct bd_options options;
    char *arguments[] = { "backdrop", "view", "synth:easy?frames=200" };
    struct bd_view_worker *worker = open_worker(&options, arguments, 3);
    wait_for_source(worker);
    const struct bd_view_result *first = bd_view_worker_first_frame(worker);
    assert_non_null(first);
    assert_int_equal(first->input.index, 0);
    struct bd_view_result *result = next(worker);
    assert_non_null(result);
    assert_true(bd_view_worker_progress(worker).learned == 1);
    assert_int_equal(result->input.index, 0); /* it is separated too */
    for (int y = 0; y < result->input.height; y++)
        assert_memory_equal(first->input.data + y * first->input.stride,
                            result->input.data + y * result->input.stride,
                            (size_t)result->input.width * 3);
    bd_view_worker_release(worker, &result);
    bd_view_worker_destroy(&worker);
    bd_options_release(&options);
}

static void failure_to_open_is_told(void **state)
{
    (void)state;
    struct bd_options options;
    const char *detail;
    char *arguments[] = { "backdrop", "view", "/no/such/file.mp4" };
    struct bd_view_worker *worker = open_worker(&options, arguments, 3);
    assert_null(next(worker));
    assert_int_equal(bd_view_worker_progress(worker).state, BD_VIEW_OPEN_FAILED);
    assert_int_equal(bd_view_worker_progress(worker).status, BD_ERROR_IO);
    detail = bd_view_worker_progress(worker).detail;
    assert_non_null(strstr(detail, "/no/such/file.mp4"));
    assert_null(bd_view_worker_source(worker));
    bd_view_worker_destroy(&worker);
    bd_options_release(&options);
}

/* ---- textures ---- */

/* The pictures of all panes, of an input of three pixels whose middle is background, mostly. */
static void each_pane_is_made_from_the_parts(void **state)
{
    (void)state;
    uint8_t rgb[] = { 200, 100, 50, 10, 20, 30, 7, 8, 9 };
    uint8_t shares[] = { 255, 100, 200 };
    uint8_t gray[] = { 40, 50 };
    struct bd_frame input = {
        .width = 3, .height = 1, .format = BD_RGB24, .stride = 9, .data = rgb
    };
    struct bd_frame mask = {
        .width = 3, .height = 1, .format = BD_GRAY8, .stride = 3, .data = shares
    };
    struct bd_frame background = {
        .width = 2, .height = 1, .format = BD_GRAY8, .stride = 2, .data = gray
    };
    const struct bd_view_parts parts = { &input, &mask, &background };
    uint32_t out[3];
    bd_view_convert(NULL, out, 12, &parts, BD_PANE_INPUT);
    assert_int_equal(out[0], 0xffc86432u);
    assert_int_equal(out[2], 0xff070809u);
    bd_view_convert(NULL, out, 12, &parts, BD_PANE_BACKGROUND);
    assert_int_equal(out[1], 0xff323232u);
    bd_view_convert(NULL, out, 12, &parts, BD_PANE_FOREGROUND);
    assert_int_equal(out[0], 0xffc86432u);
    assert_int_equal(out[1], 0);
    assert_int_equal(out[2], 0x91070809u); /* 2 * 200 - 255 */
    bd_view_convert(NULL, out, 12, &parts, BD_PANE_MASK);
    assert_int_equal(out[0], 0xffffffffu);
    assert_int_equal(out[1], 0xff000000u);
    assert_int_equal(out[2], 0xffffffffu);
    bd_view_convert(NULL, out, 12, &parts, BD_PANE_OVERLAY);
    assert_int_not_equal(out[0], 0xffc86432u);
    assert_int_equal(out[1], 0xff0a141eu);
    assert_int_not_equal(out[2], 0xff070809u);
}

/* A decoded picture gives the same pixels in a row as one by one. */
static void decoded_pictures_are_converted(void **state)
{
    (void)state;
    enum { WIDTH = 1037, HEIGHT = 1019 }; /* so large that threads share it */
    static uint8_t luma[WIDTH * HEIGHT], chroma[2][2 * WIDTH * HEIGHT];
    static uint32_t out[WIDTH * HEIGHT];
    struct bd_pool *pool;
    assert_int_equal(bd_pool_create(&pool, 2), BD_OK);
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        luma[i] = (uint8_t)(i * 37);
    for (int i = 0; i < 2 * WIDTH * HEIGHT; i++) {
        chroma[0][i] = (uint8_t)(i * 59);
        chroma[1][i] = (uint8_t)(255 - i * 83);
    }
    for (int form = 0; form < 8; form++) {
        struct bd_yuv yuv = { .width = WIDTH,
                              .height = HEIGHT,
                              .shift_x = form & 1,
                              .shift_y = form >> 1 & 1,
                              .step = 1 + (form >> 2),
                              .data = { luma, chroma[0], chroma[1] },
                              .stride = { WIDTH, 2 * WIDTH, 2 * WIDTH },
                              .matrix = { 16, 19077, 14744, 1752, 4383, 17373 } };
        struct bd_frame input = {
            .width = WIDTH, .height = HEIGHT, .format = BD_RGB24, .yuv = &yuv
        };
        const struct bd_view_parts parts = { .input = &input };
        bd_view_convert(pool, out, WIDTH * 4, &parts, BD_PANE_INPUT);
        for (int i = 0; i < WIDTH * HEIGHT; i++) {
            uint8_t p[3];
            bd_yuv_pixel(&yuv, i % WIDTH, i / WIDTH, 3, p);
            assert_int_equal(out[i], 0xff000000u | (uint32_t)(p[0] << 16 | p[1] << 8 | p[2]));
        }
    }
    bd_pool_destroy(&pool);
}

/* Parts are averaged where the pane is smaller than they are, and only those that it shows. */
static void parts_are_as_small_as_the_pane(void **state)
{
    (void)state;
    uint8_t rgb[] = { 10, 0, 0, 20, 0, 0, /**/ 30, 0, 0, 40, 0, 0 };
    uint8_t mask[] = { 255, 0, 255, 0 };
    struct bd_view_result result = {
        .input = { .width = 2, .height = 2, .format = BD_RGB24, .stride = 6, .data = rgb },
        .mask = { .width = 2, .height = 2, .format = BD_GRAY8, .stride = 2, .data = mask }
    };
    struct bd_view_shrinker shrinker = { 0 };
    struct bd_view_parts parts;
    assert_int_equal(bd_view_shrink(&shrinker, &parts, &result, 1, BD_PANE_OVERLAY, 1, 1), BD_OK);
    assert_int_equal(parts.input->data[0], 25);
    assert_true(abs(parts.mask->data[0] - 128) <= 1);
    assert_null(parts.background);
    const struct bd_frame *input = parts.input;
    rgb[0] = 50; /* the same result, for another pane of this size: no second average */
    assert_int_equal(bd_view_shrink(&shrinker, &parts, &result, 1, BD_PANE_INPUT, 1, 1), BD_OK);
    assert_ptr_equal(parts.input, input);
    assert_int_equal(parts.input->data[0], 25);
    assert_null(parts.mask);
    assert_int_equal(bd_view_shrink(&shrinker, &parts, &result, 2, BD_PANE_INPUT, 1, 1), BD_OK);
    assert_int_equal(parts.input->data[0], 35);
    assert_int_equal(bd_view_shrink(&shrinker, &parts, &result, 2, BD_PANE_INPUT, 9, 9), BD_OK);
    assert_ptr_equal(parts.input, &result.input);
    bd_view_shrinker_destroy(&shrinker);
}

/* ---- keys ---- */

static enum bd_view_action press(SDL_Keycode key, Uint16 modifiers, bool repeat, int *value)
{
    SDL_Event event = { .type = SDL_KEYDOWN };
    event.key.keysym.sym = key;
    event.key.keysym.mod = modifiers;
    event.key.repeat = repeat;
    return bd_view_key_action(&event, value);
}

static enum bd_view_action type(const char *text, int *value)
{
    SDL_Event event = { .type = SDL_TEXTINPUT };
    snprintf(event.text.text, sizeof event.text.text, "%s", text);
    return bd_view_key_action(&event, value);
}

static void keys_mean_what_the_help_says(void **state)
{
    (void)state;
    int value = 0;
    assert_int_equal(press(SDLK_SPACE, 0, false, &value), BD_VIEW_PAUSE);
    assert_int_equal(press(SDLK_p, 0, false, &value), BD_VIEW_PAUSE);
    assert_int_equal(press(SDLK_p, 0, true, &value), BD_VIEW_NOTHING); /* held down */
    assert_int_equal(press(SDLK_q, KMOD_LCTRL, false, &value), BD_VIEW_NOTHING);
    assert_int_equal(press(SDLK_x, 0, false, &value), BD_VIEW_BOXES);
    assert_int_equal(press(SDLK_z, 0, false, &value), BD_VIEW_NOTHING);
    assert_int_equal(press(SDLK_RIGHT, 0, true, &value), BD_VIEW_SEEK);
    assert_int_equal(value, 5);
    assert_int_equal(press(SDLK_DOWN, 0, false, &value), BD_VIEW_SEEK);
    assert_int_equal(value, -30);
    assert_int_equal(type("4", &value), BD_VIEW_PANE);
    assert_int_equal(value, BD_PANE_MASK);
    assert_int_equal(type("]", &value), BD_VIEW_THRESHOLD);
    assert_int_equal(value, 1);
    assert_int_equal(type("-", &value), BD_VIEW_LAMBDA);
    assert_int_equal(value, -1);
    assert_int_equal(type(".", &value), BD_VIEW_STEP);
    assert_int_equal(type("7", &value), BD_VIEW_NOTHING);
    assert_int_equal(type("12", &value), BD_VIEW_NOTHING);
    assert_int_equal(type("p", &value), BD_VIEW_NOTHING); /* counted by its key already */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_in_real_time),
        cmocka_unit_test(late_frames_slow_the_film),
        cmocka_unit_test(loops_without_a_gap),
        cmocka_unit_test(delivers_every_frame_then_ends),
        cmocka_unit_test(loop_starts_again),
        cmocka_unit_test(seek_drops_what_waits),
        cmocka_unit_test(what_is_missed_is_counted),
        cmocka_unit_test(settings_reach_the_separator),
        cmocka_unit_test(the_first_frame_comes_before_the_results),
        cmocka_unit_test(failure_to_open_is_told),
        cmocka_unit_test(each_pane_is_made_from_the_parts),
        cmocka_unit_test(decoded_pictures_are_converted),
        cmocka_unit_test(parts_are_as_small_as_the_pane),
        cmocka_unit_test(keys_mean_what_the_help_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
