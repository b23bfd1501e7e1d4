/* A camera that shakes or is relocated: what the separator sees, where its masks go, and what comes
 * out of the whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "app/pipeline/pipeline.h"
#include "app/pipeline/stabilise.h"
#include "tests/app/cli_fixture.h"
#include "tests/support/quick.h"
#include "video/output/writer.h"
#include "video/synth/paint.h"
#include "video/synth/synth.h"

static struct bd_separator_options settings_for(int width, int height, int outputs)
{
    struct bd_separator_options options = { .width = width,
                                            .height = height,
                                            .channels = 1,
                                            .frame_rate = 10,
                                            .memory = 20,
                                            .outputs = outputs };
    return bd_separator_defaults(&options);
}

/* Still texture below a sky under a motion of the camera, with a little noise. */
static void draw_moved(struct bd_frame *frame, struct bd_similarity motion, uint32_t noise)
{
    struct bd_similarity back = bd_similarity_inverse(motion);
    double middle_x = (frame->width - 1) / 2.0, middle_y = (frame->height - 1) / 2.0;
    for (int j = 0; j < frame->height; j++)
        for (int i = 0; i < frame->width; i++) {
            struct bd_point at =
                bd_similarity_apply(back, (struct bd_point){ i - middle_x, j - middle_y });
            int64_t u = llround((at.x + middle_x) * 256), v = llround((at.y + middle_y) * 256);
            double value = bd_synth_noise(u, v, 12, 3) * 0.2 + bd_synth_noise(u, v, 10, 4) * 0.2;
            if (3 * (at.y + middle_y) < frame->height)
                value = 220;
            value += bd_synth_hash((uint32_t)i, (uint32_t)j, noise) % 5 - 2.0;
            frame->data[j * frame->stride + i] = (uint8_t)fmax(0, fmin(255, round(value)));
        }
}

static void draw(struct bd_frame *frame, double x, double y, uint32_t noise)
{
    draw_moved(frame, (struct bd_similarity){ .x = x, .y = y }, noise);
}

/* Mean absolute difference away from the borders. */
static double differ(const struct bd_frame *a, const struct bd_frame *b, int border)
{
    double sum = 0;
    int64_t count = 0;
    for (int y = border; y < a->height - border; y++)
        for (int x = border; x < a->width - border; x++, count++)
            sum += abs(a->data[y * a->stride + x] - b->data[y * b->stride + x]);
    return sum / (double)count;
}

static void off_and_still_go_through(void **state)
{
    (void)state;
    struct bd_separator_options settings = settings_for(160, 120, BD_SEPARATOR_MASK);
    struct bd_stabiliser *stabiliser;
    struct bd_frame frame = { 0 };
    const struct bd_frame *shown;
    struct bd_similarity shift;
    struct bd_separation separation = { .foreground = 7 };
    assert_int_equal(bd_frame_create(&frame, 160, 120, BD_GRAY8), BD_OK);
    for (int mode = BD_STABILISE_AUTO; mode <= BD_STABILISE_OFF; mode++) {
        assert_int_equal(
            bd_stabiliser_create(&stabiliser, (enum bd_stabilise_mode)mode, &settings, BD_GRAY8, 1),
            BD_OK);
        assert_int_equal(stabiliser == NULL, mode == BD_STABILISE_OFF);
        for (int t = -10; t < 30; t++) {
            draw(&frame, 0, 0, (uint32_t)(t + 100));
            bd_stabiliser_register(stabiliser, &frame, t < 0 ? bd_stabiliser_ahead : t * 0.1,
                                   &shown, &shift);
            assert_ptr_equal(shown, &frame);
            assert_true(shift.x == 0 && shift.y == 0);
            bd_stabiliser_restore(stabiliser, shift, &separation);
            assert_false(bd_stabiliser_moved(stabiliser));
        }
        assert_int_equal(separation.foreground, 7);
        bd_stabiliser_seek(stabiliser);
        bd_stabiliser_freeze(stabiliser, true);
        bd_stabiliser_destroy(&stabiliser);
        assert_null(stabiliser);
    }
    settings.width = 0;
    assert_int_equal(bd_stabiliser_create(&stabiliser, BD_STABILISE_ON, &settings, BD_GRAY8, 1),
                     BD_ERROR_ARGUMENT);
    assert_null(stabiliser);
    settings = settings_for(16, 16, BD_SEPARATOR_MASK);
    assert_int_equal(bd_stabiliser_create(&stabiliser, BD_STABILISE_ON, &settings, BD_RGBA32, 1),
                     BD_ERROR_ARGUMENT);
    bd_frame_destroy(&frame);
}

/* What the separator sees is static; a while after the last shake frames go through
 * again. */
static void shake_is_registered(void **state)
{
    (void)state;
    struct bd_separator_options settings = settings_for(320, 240, BD_SEPARATOR_MASK);
    struct bd_stabiliser *stabiliser;
    struct bd_frame first = { 0 }, frame = { 0 };
    const struct bd_frame *shown;
    struct bd_similarity shift;
    assert_int_equal(bd_stabiliser_create(&stabiliser, BD_STABILISE_AUTO, &settings, BD_GRAY8, 1),
                     BD_OK);
    assert_int_equal(bd_frame_create(&frame, 320, 240, BD_GRAY8), BD_OK);
    assert_int_equal(bd_frame_create(&first, 320, 240, BD_GRAY8), BD_OK);
    draw(&first, 0, 0, 1);
    int through = 0, t = 0;
    for (; t < 60; t++) {
        double x = t ? 5 * sin(t * 0.7) : 0, y = t ? 4.5 * cos(t * 0.9) : 0;
        draw(&frame, x, y, (uint32_t)t);
        double before = differ(&frame, &first, 16);
        bd_stabiliser_register(stabiliser, &frame, t * 0.1, &shown, &shift);
        through += shown == &frame;
        if (shown == &frame)
            continue;
        assert_true(fabs(shift.x - x) <= 0.15 && fabs(shift.y - y) <= 0.15);
        assert_true(differ(shown, &first, 16) <= 2.6); /* 1.6 is the noise of both */
        assert_true(before > 3.5 || fabs(x) + fabs(y) < 2);
    }
    print_message("%d of 60 frames were not registered\n", through);
    assert_true(through <= 3);
    for (; t < 180; t++) {
        draw(&frame, 0, 0, (uint32_t)t);
        bd_stabiliser_register(stabiliser, &frame, t * 0.1, &shown, &shift);
    }
    assert_ptr_equal(shown, &frame);
    bd_stabiliser_destroy(&stabiliser);
    bd_frame_destroy(&frame);
    bd_frame_destroy(&first);
}

/* A hand-held camera, up to six pixels and one degree from one frame to the next: noticed at once,
 * with a look-ahead and without, and what is shown is static. */
static void rotation_is_registered(void **state)
{
    (void)state;
    struct bd_separator_options settings = settings_for(320, 240, BD_SEPARATOR_MASK);
    struct bd_frame first = { 0 }, frame = { 0 };
    assert_int_equal(bd_frame_create(&frame, 320, 240, BD_GRAY8), BD_OK);
    assert_int_equal(bd_frame_create(&first, 320, 240, BD_GRAY8), BD_OK);
    draw(&first, 0, 0, 1);
    for (int ahead = 0; ahead <= 8; ahead += 8) {
        struct bd_stabiliser *stabiliser;
        int through = 0;
        double worst = 0;
        assert_int_equal(
            bd_stabiliser_create(&stabiliser, BD_STABILISE_AUTO, &settings, BD_GRAY8, 1), BD_OK);
        for (int t = -ahead; t < 30; t++) {
            const struct bd_frame *shown;
            struct bd_similarity motion, found;
            double when = t < 0 ? -7.0 * t : t, turn = 0.017 * sin(when * 0.7);
            motion = (struct bd_similarity){ 4 * sin(when * 1.3), 3 * sin(when * 1.1), turn,
                                             0.01 * sin(when * 0.4) - turn * turn / 2 };
            draw_moved(&frame, motion, (uint32_t)(t + 100));
            bd_stabiliser_register(stabiliser, &frame, t < 0 ? bd_stabiliser_ahead : t * 0.04,
                                   &shown, &found);
            if (t >= 0 && shown == &frame)
                through++;
            if (ahead == 0 && t >= 3)
                worst = fmax(worst, differ(shown, &first, 16));
        }
        print_message("%d of the look-ahead: %d of 30 frames went through, worst off by %.2f\n",
                      ahead, through, worst);
        assert_true(through <= (ahead ? 1 : 2));
        assert_true(worst <= 2.7); /* 1.6 is the noise of both */
        bd_stabiliser_destroy(&stabiliser);
    }
    bd_frame_destroy(&frame);
    bd_frame_destroy(&first);
}

/* What has left the picture is shown as it was last. */
static void the_border_stays(void **state)
{
    (void)state;
    struct bd_separator_options settings = settings_for(160, 120, BD_SEPARATOR_MASK);
    struct bd_stabiliser *stabiliser;
    struct bd_frame first = { 0 }, frame = { 0 };
    const struct bd_frame *shown;
    struct bd_similarity shift;
    assert_int_equal(bd_stabiliser_create(&stabiliser, BD_STABILISE_ON, &settings, BD_GRAY8, 1),
                     BD_OK);
    assert_int_equal(bd_frame_create(&frame, 160, 120, BD_GRAY8), BD_OK);
    assert_int_equal(bd_frame_create(&first, 160, 120, BD_GRAY8), BD_OK);
    draw(&first, 0, 0, 1);
    bd_stabiliser_register(stabiliser, &first, 0, &shown, &shift);
    draw(&frame, 6, -5, 2);
    bd_stabiliser_register(stabiliser, &frame, 0.1, &shown, &shift);
    assert_ptr_not_equal(shown, &frame);
    for (int y = 0; y < 120; y++)
        for (int x = 0; x < 160; x++)
            if (x >= 155 || y < 4)
                assert_int_equal(shown->data[y * shown->stride + x],
                                 first.data[y * first.stride + x]);
    assert_true(differ(shown, &first, 0) <= 2.6);
    bd_stabiliser_destroy(&stabiliser);
    bd_frame_destroy(&frame);
    bd_frame_destroy(&first);
}

/* All pictures of a separation go to where the frame was; a shadow is none where the mask is. */
static void results_go_back(void **state)
{
    (void)state;
    enum { width = 50, height = 40 };
    static uint8_t background[width * height], difference[width * height];
    static uint8_t mask[width * height], shadow[width * height];
    struct bd_separator_options settings =
        settings_for(width, height,
                     BD_SEPARATOR_MASK | BD_SEPARATOR_BACKGROUND | BD_SEPARATOR_DIFFERENCE |
                         BD_SEPARATOR_SHADOW);
    struct bd_stabiliser *stabiliser;
    assert_int_equal(bd_stabiliser_create(&stabiliser, BD_STABILISE_ON, &settings, BD_GRAY8, 1),
                     BD_OK);
    for (int i = 0; i < width * height; i++) {
        background[i] = (uint8_t)(5 * (i % width));
        difference[i] = (uint8_t)(6 * (i / width));
        mask[i] = i % width >= 10 && i % width < 20 && i / width >= 10 && i / width < 15 ? 255 : 0;
        shadow[i] =
            i % width >= 20 && i % width < 25 && i / width >= 10 && i / width < 15 ? 255 : 0;
    }
    struct bd_separation out = { .background = background,
                                 .difference = difference,
                                 .mask = mask,
                                 .shadow = shadow,
                                 .foreground = 50 };
    bd_stabiliser_restore(stabiliser, (struct bd_similarity){ .x = 4, .y = -3 }, &out);
    assert_int_equal(out.foreground, 50);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int u = x - 4 < 0 ? 0 : x - 4, v = y + 3 >= height ? height - 1 : y + 3;
            int i = y * width + x;
            assert_int_equal(out.mask[i], mask[v * width + u]);
            assert_int_equal(out.shadow[i], shadow[v * width + u]);
            assert_int_equal(out.background[i], background[v * width + u]);
            assert_int_equal(out.difference[i], difference[v * width + u]);
        }
    out = (struct bd_separation){ .mask = mask, .shadow = shadow };
    bd_stabiliser_restore(stabiliser, (struct bd_similarity){ .x = 0.5, .y = 0.5 }, &out);
    int64_t count = 0;
    for (int i = 0; i < width * height; i++) {
        count += out.mask[i] != 0;
        assert_false(out.mask[i] && out.shadow[i]);
    }
    assert_int_equal(out.foreground, count);
    assert_null(out.background);
    bd_stabiliser_destroy(&stabiliser);
}

/* A camera, its stabiliser and its separator, frame by frame. */
struct session {
    struct bd_backend *backend;
    struct bd_separator *separator;
    struct bd_stabiliser *stabiliser;
    struct bd_frame frame;
    int t;
    double foreground; /* share of the last frame */
    double turn;       /* of the camera */
    struct bd_similarity shift;
};

static void open_session(struct session *session)
{
    struct bd_separator_options settings = settings_for(200, 150, BD_SEPARATOR_MASK);
    *session = (struct session){ 0 };
    assert_int_equal(bd_backend_open(&session->backend, "cpu", 1), BD_OK);
    assert_int_equal(bd_separator_create(&session->separator, session->backend, &settings), BD_OK);
    assert_int_equal(
        bd_stabiliser_create(&session->stabiliser, BD_STABILISE_AUTO, &settings, BD_GRAY8, 1),
        BD_OK);
    assert_int_equal(bd_frame_create(&session->frame, 200, 150, BD_GRAY8), BD_OK);
}

static void close_session(struct session *session)
{
    bd_stabiliser_destroy(&session->stabiliser);
    bd_separator_destroy(&session->separator);
    bd_backend_close(&session->backend);
    bd_frame_destroy(&session->frame);
}

/* Frames of a camera at (x, y), ten a second. Returns after `seconds`, or once the camera counts as
 * moved. */
static void watch(struct session *session, double x, double y, double seconds)
{
    int end = session->t + (int)lround(10 * seconds);
    while (session->t < end && !bd_stabiliser_moved(session->stabiliser)) {
        const struct bd_frame *shown;
        struct bd_separation out;
        double time = session->t++ / 10.0;
        draw_moved(&session->frame, (struct bd_similarity){ .x = x, .y = y, .turn = session->turn },
                   (uint32_t)session->t);
        bd_stabiliser_register(session->stabiliser, &session->frame, time, &shown, &session->shift);
        assert_int_equal(
            bd_separator_push(session->separator, shown->data, shown->stride, time, &out), BD_OK);
        bd_stabiliser_restore(session->stabiliser, session->shift, &out);
        session->foreground = (double)out.foreground / (200.0 * 150.0);
    }
}

/* Too far to be registered: the new scene is learned after some seconds. */
static void a_camera_that_is_turned_learns_anew(void **state)
{
    (void)state;
    struct session session;
    open_session(&session);
    watch(&session, 0, 0, 4);
    assert_true(session.foreground < 0.002);
    watch(&session, 70.4, -5, 2);
    print_message("%.3f of the picture is foreground\n", session.foreground);
    assert_true(session.foreground > 0.05);
    assert_false(bd_stabiliser_moved(session.stabiliser));
    watch(&session, 70.4, -5, 10);
    assert_true(bd_stabiliser_moved(session.stabiliser));
    assert_in_range(session.t, 40 + 50, 40 + 80);
    bd_stabiliser_freeze(session.stabiliser, true);
    assert_false(bd_stabiliser_moved(session.stabiliser)); /* what is frozen learns nothing */
    bd_stabiliser_freeze(session.stabiliser, false);
    assert_int_equal(bd_stabiliser_learn(session.stabiliser, session.separator), BD_OK);
    assert_false(bd_stabiliser_moved(session.stabiliser));
    watch(&session, 70.4, -5, 0.1);
    assert_true(session.foreground < 0.002);
    assert_true(session.shift.x == 0 && session.shift.y == 0);
    /* from there on it is registered as before */
    watch(&session, 74.4, -8, 1);
    assert_true(session.foreground < 0.002);
    assert_true(fabs(session.shift.x - 4) < 0.1 && fabs(session.shift.y + 3) < 0.1);
    close_session(&session);
}

/* A nudge within reach: registered at once, and the new scene is learned when a whole memory time
 * has shown it. */
static void a_camera_that_is_nudged_goes_on(void **state)
{
    (void)state;
    struct session session;
    open_session(&session);
    watch(&session, 0, 0, 4);
    for (int i = 0; i < 10; i++) {
        watch(&session, 5.5, -4.25, 1);
        assert_true(session.foreground < 0.002);
        assert_false(bd_stabiliser_moved(session.stabiliser));
    }
    assert_true(fabs(session.shift.x - 5.5) < 0.3 && fabs(session.shift.y + 4.25) < 0.3);
    watch(&session, 5.5, -4.25, 15);
    assert_true(bd_stabiliser_moved(session.stabiliser));
    assert_in_range(session.t, 40 + 195, 40 + 215);
    assert_int_equal(bd_stabiliser_learn(session.stabiliser, session.separator), BD_OK);
    watch(&session, 5.5, -4.25, 0.1);
    assert_true(session.foreground < 0.002);
    assert_true(fabs(session.shift.x) < 0.1 && fabs(session.shift.y) < 0.1);
    /* the same with a rotation */
    session.turn = 0.025;
    watch(&session, 5.5, -4.25, 5);
    assert_true(session.foreground < 0.003);
    assert_true(fabs(session.shift.turn - 0.025) < 0.002);
    assert_false(bd_stabiliser_moved(session.stabiliser));
    watch(&session, 5.5, -4.25, 20);
    assert_true(bd_stabiliser_moved(session.stabiliser));
    assert_int_equal(bd_stabiliser_learn(session.stabiliser, session.separator), BD_OK);
    watch(&session, 5.5, -4.25, 0.1);
    assert_true(session.foreground < 0.002 && bd_similarity_is_none(session.shift));
    close_session(&session);
}

/* A seek tells nothing about the camera. */
static void a_seek_is_no_move(void **state)
{
    (void)state;
    struct session session;
    open_session(&session);
    watch(&session, 0, 0, 2);
    watch(&session, 70.4, -5, 3);
    bd_stabiliser_seek(session.stabiliser);
    session.t = 1000;
    watch(&session, 70.4, -5, 4);
    assert_false(bd_stabiliser_moved(session.stabiliser));
    watch(&session, 0, 0, 1);
    assert_true(session.foreground < 0.01);
    close_session(&session);
}

struct tally {
    double tp, fp, fn, away; /* away: |background - input| where nothing moves, mean over frames */
    int frames;
};

static double f_of(struct tally tally)
{
    return 2 * tally.tp / (2 * tally.tp + tally.fp + tally.fn);
}

/* Separates a scene and compares with its truth. */
static struct tally run_solver(int solver, const char *input, const char *scene, int mode,
                               int scale_width, int scale_height, double seek)
{
    struct bd_options options = { .arguments = { input },
                                  .argument_count = 1,
                                  .solver = solver,
                                  .stabilise = mode,
                                  .scale_width = scale_width,
                                  .scale_height = scale_height,
                                  .backend = "cpu" };
    struct bd_pipeline *pipeline = NULL;
    struct bd_result result;
    struct bd_frame truth = { 0 };
    struct tally tally = { 0 };
    assert_int_equal(bd_pipeline_open(&pipeline, &options, false, BD_WANT_BACKGROUND, NULL, NULL),
                     BD_OK);
    if (seek > 0) {
        assert_int_equal(bd_pipeline_next(pipeline, &result), BD_OK);
        assert_int_equal(bd_pipeline_seek(pipeline, seek), BD_OK);
    }
    while (bd_pipeline_next(pipeline, &result) == BD_OK) {
        const struct bd_frame *mask = result.mask, *input_frame = result.input;
        double away = 0;
        assert_int_equal(bd_synth_render(bd_synth_find(scene), mask->width, mask->height, 1,
                                         mask->index, NULL, &truth),
                         BD_OK);
        int64_t still = 0;
        for (int y = 0; y < mask->height; y++)
            for (int x = 0; x < mask->width; x++) {
                bool moving = truth.data[y * truth.stride + x] == 255;
                bool found = mask->data[y * mask->stride + x] != 0;
                tally.tp += moving && found;
                tally.fp += !moving && found;
                tally.fn += moving && !found;
                if (moving || found || x < 8 || y < 8 || x >= mask->width - 8 ||
                    y >= mask->height - 8)
                    continue;
                still++;
                away += abs(result.background->data[y * result.background->stride + 3 * x + 1] -
                            input_frame->data[y * input_frame->stride + 3 * x + 1]);
            }
        tally.away += away / (double)still;
        tally.frames++;
    }
    tally.away /= tally.frames;
    bd_frame_destroy(&truth);
    bd_pipeline_close(&pipeline);
    return tally;
}

static struct tally run(const char *input, const char *scene, int mode, int scale_width,
                        int scale_height, double seek)
{
    return run_solver(BD_SOLVER_LIVE, input, scene, mode, scale_width, scale_height, seek);
}

/* Windows of 50 consecutive frames: what stands in them for long is background there. */
static void the_batch_solver_registers_too(void **state)
{
    (void)state;
    const char *input = "synth:shake?size=160x120&frames=70";
    double f[2];
    for (int mode = BD_STABILISE_AUTO; mode <= BD_STABILISE_OFF; mode += 2)
        f[mode / 2] = f_of(run_solver(BD_SOLVER_BATCH, input, "shake", mode, 0, 0, 0));
    print_message("F %.3f, as it is %.3f\n", f[0], f[1]);
    assert_true(f[0] >= f[1] + 0.02);
}

/* Under a sanitizer. */
static const char small_scene[] = "synth:shake?size=160x120&frames=50";

static void the_scene_is_separated(void **state)
{
    (void)state;
    const char *input = test_quick() ? small_scene : "synth:shake?frames=50";
    struct tally registered = run(input, "shake", BD_STABILISE_AUTO, 0, 0, 0);
    print_message("F %.3f, background off by %.2f\n", f_of(registered), registered.away);
    assert_true(f_of(registered) >= (test_quick() ? 0.92 : 0.96));
    assert_true(registered.away <= 3.5);
    struct tally as_it_is =
        run("synth:shake?size=160x120&frames=30", "shake", BD_STABILISE_OFF, 0, 0, 0);
    print_message("as it is: F %.3f, background off by %.2f\n", f_of(as_it_is), as_it_is.away);
    assert_true(f_of(as_it_is) <= 0.85);
    struct tally small = run("synth:shake?frames=30", "shake", BD_STABILISE_AUTO, 240, 180, 0);
    print_message("smaller: F %.3f, background off by %.2f\n", f_of(small), small.away);
    assert_true(f_of(small) >= 0.93);
    struct tally later =
        run("synth:shake?size=160x120&frames=60", "shake", BD_STABILISE_AUTO, 0, 0, 1.6);
    print_message("after a seek: F %.3f\n", f_of(later));
    assert_int_equal(later.frames, 20);
    assert_true(f_of(later) >= 0.92);
}

/* To the bit what is written without registration, if the camera stands still. */
static void still_scenes_stay_as_they_are(void **state)
{
    const char *folder = *state;
    char text[2][4096];
    for (int i = 0; i < 2; i++) {
        char command[256];
        snprintf(command, sizeof command,
                 "$B export 'synth:street?frames=30' --mask m%%03d.png --background b%%03d.png "
                 "--stabilise %s --backend cpu --progress none && cat m*.png b*.png | cksum",
                 i ? "off" : "auto");
        assert_int_equal(cli_run(folder, command), 0);
        cli_slurp(folder, "out", text[i], sizeof text[i]);
        assert_int_equal(cli_run(folder, "rm *.png"), 0);
    }
    assert_true(strlen(text[0]) > 8);
    assert_string_equal(text[0], text[1]);
}

static void the_option_is_checked(void **state)
{
    const char *folder = *state;
    char text[8192];
    assert_int_equal(cli_run(folder, "$B export synth:easy --mask m.mkv --stabilise maybe"), 1);
    cli_slurp(folder, "err", text, sizeof text);
    assert_non_null(strstr(text, "--stabilise"));
    assert_int_equal(cli_run(folder, "$B eval --help"), 0);
    cli_slurp(folder, "out", text, sizeof text);
    assert_non_null(strstr(text, "--stabilise"));
}

/* The score that eval gives, and events with places in the frame as it came. */
static void eval_scores_the_scene(void **state)
{
    const char *folder = *state;
    char text[8192];
    double p = 0, r = 0, f = 0;
    assert_int_equal(
        cli_run(folder,
                test_quick()
                    ? "$B eval 'synth:shake?size=160x120&frames=50' --backend cpu --progress none"
                    : "$B eval 'synth:shake?frames=50' --backend cpu --progress none"),
        0);
    cli_slurp(folder, "out", text, sizeof text);
    const char *line = strstr(text, "\nsynth:shake");
    assert_non_null(line);
    assert_int_equal(sscanf(line, " %*s %lf %lf %lf", &p, &r, &f), 3);
    print_message("F %.4f\n", f);
    assert_true(f >= (test_quick() ? 0.92 : 0.965));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(off_and_still_go_through),
        cmocka_unit_test(shake_is_registered),
        cmocka_unit_test(rotation_is_registered),
        cmocka_unit_test(the_border_stays),
        cmocka_unit_test(results_go_back),
        cmocka_unit_test(a_camera_that_is_turned_learns_anew),
        cmocka_unit_test(a_camera_that_is_nudged_goes_on),
        cmocka_unit_test(a_seek_is_no_move),
        cmocka_unit_test(the_scene_is_separated),
        cmocka_unit_test(the_batch_solver_registers_too),
        CLI_TEST(still_scenes_stay_as_they_are),
        CLI_TEST(the_option_is_checked),
        CLI_TEST(eval_scores_the_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
