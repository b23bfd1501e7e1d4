/* From INPUT to separated frames: times, sizes, masks that follow edges, seeking, batch, faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/pipeline/initialise.h"
#include "app/pipeline/pipeline.h"
#include "base/clock.h"
#include "tests/support/quick.h"
#include "video/output/writer.h"
#include "video/synth/synth.h"
#include "video/upscale.h"

static struct bd_options options_for(const char *input)
{
    return (struct bd_options){ .arguments = { input }, .argument_count = 1 };
}

/* Pooled F of the frames from `skip` on against the scene's truth at the size of the input. */
struct score {
    int64_t tp, fp, fn, frames;
};

static double f_measure(const struct score *score)
{
    return 2.0 * (double)score->tp / (double)(2 * score->tp + score->fp + score->fn);
}

static void add_score(struct score *score, const char *scene, const struct bd_frame *mask,
                      struct bd_frame *truth)
{
    assert_int_equal(bd_synth_render(bd_synth_find(scene), mask->width, mask->height, 1,
                                     mask->index, NULL, truth),
                     BD_OK);
    for (int y = 0; y < mask->height; y++)
        for (int x = 0; x < mask->width; x++) {
            bool moving = truth->data[y * truth->stride + x] == 255;
            uint8_t found = mask->data[y * mask->stride + x];
            assert_true(found == 0 || found == 255);
            score->tp += moving && found;
            score->fn += moving && !found;
            score->fp += !moving && found;
        }
    score->frames++;
}

static struct score run_scene(const struct bd_options *options, const char *scene, unsigned wants)
{
    struct bd_pipeline *pipeline = NULL;
    struct bd_result result;
    struct score score = { 0 };
    struct bd_frame truth = { 0 };
    int64_t index = 0;
    enum bd_status status = bd_pipeline_open(&pipeline, options, false, wants, NULL, NULL);
    assert_int_equal(status, BD_OK);
    while ((status = bd_pipeline_next(pipeline, &result)) == BD_OK) {
        assert_int_equal(result.input->index, index);
        assert_int_equal(result.mask->index, index);
        assert_int_equal(result.mask->pts, result.input->pts);
        assert_int_equal(result.mask->width, result.input->width);
        assert_true(result.seconds >= 0);
        if (index++ >= 5)
            add_score(&score, scene, result.mask, &truth);
    }
    assert_int_equal(status, BD_END);
    assert_int_equal(bd_pipeline_next(pipeline, &result), BD_END);
    assert_int_equal(index, bd_pipeline_frame_count(pipeline));
    bd_frame_destroy(&truth);
    bd_pipeline_close(&pipeline);
    assert_null(pipeline);
    return score;
}

static void a_scene_is_separated(void **state)
{
    (void)state;
    struct bd_options options = options_for("synth:easy?frames=150");
    struct score score = run_scene(&options, "easy", 0);
    assert_int_equal(score.frames, 145);
    assert_true(f_measure(&score) >= 0.9);
    options.gray = true;
    score = run_scene(&options, "easy", 0);
    assert_true(f_measure(&score) >= 0.75);
}

/* Without look-ahead the first frames are held back: all come, in order, and their masks are nearly
 * those after a look-ahead. The film may be shorter than the delay, or longer. Who may drop frames
 * gets the first one at once, as before. */
static void a_held_start_is_nearly_a_look_ahead(void **state)
{
    (void)state;
    struct bd_options options = options_for("synth:easy?size=160x120&frames=150");
    struct score score = run_scene(&options, "easy", 0);
    const double ahead = f_measure(&score);
    options.live = true;
    const double step = test_quick() ? 24 : 8;
    for (options.start_delay = 2; options.start_delay < 60; options.start_delay += step) {
        score = run_scene(&options, "easy", 0);
        print_message("F %.4f after %g s, %.4f with a look-ahead\n", f_measure(&score),
                      options.start_delay, ahead);
        assert_true(f_measure(&score) >= ahead - 0.01);
    }
    options.start_delay = BD_NONE;
    score = run_scene(&options, "easy", 0);
    assert_true(f_measure(&score) < ahead - 0.02);
}

/* Dense traffic is in the mask from the first frame on: the look-ahead has seen which way it goes.
 * Without the frames after its pictures, most cars were missing for eight seconds: .032 in place of
 * .039. */
static void traffic_is_there_from_the_start(void **state)
{
    (void)state;
    enum { frames = 30 };
    const char *data = getenv("BACKDROP_DATA");
    char path[512];
    snprintf(path, sizeof path, "%s/videos/traffic_camera_vfr.mp4", data ? data : "");
    if (!data || access(path, R_OK)) {
        print_message("no traffic_camera_vfr.mp4 in BACKDROP_DATA\n");
        return;
    }
    struct bd_options options = options_for(path);
    struct bd_pipeline *pipeline = NULL;
    struct bd_result result;
    int64_t set = 0, pixels = 0;
    assert_int_equal(bd_pipeline_open(&pipeline, &options, false, 0, NULL, NULL), BD_OK);
    for (int i = 0; i < frames; i++) {
        assert_int_equal(bd_pipeline_next(pipeline, &result), BD_OK);
        const struct bd_frame *mask = result.mask;
        for (int y = 0; y < mask->height; y++)
            for (int x = 0; x < mask->width; x++)
                set += mask->data[y * mask->stride + x] != 0;
        pixels += (int64_t)mask->width * mask->height;
    }
    bd_pipeline_close(&pipeline);
    print_message("%.4f of the pixels are foreground\n", (double)set / (double)pixels);
    assert_true((double)set / (double)pixels > 0.037);
}

/* A window shows the first frame before it is separated, where that takes a look-ahead. It makes
 * the background's picture itself. */
static void a_window_gets_the_first_frame_and_small_backgrounds(void **state)
{
    (void)state;
    struct bd_options options = options_for("synth:easy?size=1280x720&frames=30");
    const struct bd_frame *frame;
    double share = 0;
    struct bd_pipeline *pipeline = NULL;
    struct bd_result result;
    const unsigned wants = BD_WANT_DECODED | BD_WANT_BACKGROUND | BD_WANT_SMALL;
    assert_int_equal(bd_pipeline_open(&pipeline, &options, true, wants, NULL, NULL), BD_OK);
    assert_int_equal(bd_pipeline_first_frame(pipeline, &frame), BD_OK);
    assert_int_equal(frame->index, 0);
    for (int i = 0; i < 10; i++) /* the rest is left to bd_pipeline_next */
        assert_int_equal(bd_pipeline_look_ahead(pipeline, &share), BD_OK);
    assert_true(share > 0.1 && share < 0.9);
    assert_int_equal(bd_pipeline_next(pipeline, &result), BD_OK);
    assert_int_equal(bd_pipeline_look_ahead(pipeline, &share), BD_END);
    assert_int_equal(result.input->index, 0);
    assert_int_equal(result.mask->width, 1280);
    assert_int_equal(result.background->width, bd_pipeline_settings(pipeline).width);
    assert_true(result.background->width < 1280);
    assert_null(result.overlay);
    assert_int_equal(bd_pipeline_first_frame(pipeline, &frame), BD_END);
    bd_pipeline_close(&pipeline);
    options.live = true;
    assert_int_equal(bd_pipeline_open(&pipeline, &options, true, wants, NULL, NULL), BD_OK);
    assert_int_equal(bd_pipeline_first_frame(pipeline, &frame), BD_END);
    bd_pipeline_close(&pipeline);
}

/* The background that the first frame is separated with, and whether others are held back then. */
static bool first_background(const struct bd_options *options, bool drop,
                             struct bd_frame *background)
{
    struct bd_pipeline *pipeline = NULL;
    struct bd_result result;
    assert_int_equal(bd_pipeline_open(&pipeline, options, drop, BD_WANT_BACKGROUND, NULL, NULL),
                     BD_OK);
    assert_int_equal(bd_pipeline_next(pipeline, &result), BD_OK);
    assert_int_equal(result.input->index, 0);
    assert_int_equal(bd_frame_copy(background, result.background), BD_OK);
    const int64_t row = (int64_t)background->width * background->format;
    for (int y = 0; y < background->height; y++) /* what lies between rows is no picture */
        memset(background->data + y * background->stride + row, 0,
               (size_t)(background->stride - row));
    bool starting = bd_pipeline_starting(pipeline);
    bd_pipeline_close(&pipeline);
    return starting;
}

/* How long frames are held back: not for a window, nor with a look-ahead or by the batch solver,
 * and at most for the memory time. A delay of a few frames teaches nothing. */
static void what_is_held_back(void **state)
{
    (void)state;
    struct bd_options options = options_for("synth:easy?size=160x120&frames=150");
    struct bd_frame first = { 0 }, other = { 0 };
    options.live = true;
    options.start_delay = BD_NONE;
    assert_false(first_background(&options, false, &first));
    const size_t bytes = (size_t)first.height * (size_t)first.stride;
    options.start_delay = 4;
    assert_false(first_background(&options, true, &other));
    assert_memory_equal(first.data, other.data, bytes);
    assert_true(first_background(&options, false, &other));
    assert_memory_not_equal(first.data, other.data, bytes);
    options.separator.memory = 0.15; /* four frames */
    (void)first_background(&options, false, &other);
    assert_memory_equal(first.data, other.data, bytes);
    options.separator.memory = 0;
    options.live = false;
    assert_false(first_background(&options, false, &other));
    options.live = true;
    options.solver = BD_SOLVER_BATCH;
    options.separator.window = 20;
    assert_false(first_background(&options, false, &other));
    bd_frame_destroy(&first);
    bd_frame_destroy(&other);
}

/* Processed at a quarter of the pixels, the mask must still be better than its own enlargement. */
static void enlarged_masks_follow_the_edges(void **state)
{
    (void)state;
    struct bd_options options = options_for("synth:easy?size=640x480&frames=80");
    options.scale_width = 160;
    options.scale_height = 120;
    struct score score = run_scene(&options, "easy", BD_WANT_BACKGROUND);
    assert_true(f_measure(&score) >= 0.85);
}

/* A disc at full size, its small mask, difference and background made by averaging. */
static void the_band_finds_a_known_edge(void **state)
{
    (void)state;
    enum { small = 40, factor = 6, full = small * factor };
    static uint8_t background[small * small], difference[small * small], mask[small * small];
    struct bd_upscaler *upscaler = NULL;
    struct bd_pool *pool = NULL;
    struct bd_frame input = { 0 }, out = { 0 };
    assert_int_equal(bd_frame_create(&input, full, full, BD_GRAY8), BD_OK);
    assert_int_equal(bd_frame_create(&out, full, full, BD_GRAY8), BD_OK);
    for (int y = 0; y < full; y++)
        for (int x = 0; x < full; x++) {
            int dx = 2 * x - full, dy = 2 * y - full;
            bool inside = dx * dx + dy * dy < full * full / 4;
            input.data[y * input.stride + x] = inside ? 180 : 90;
        }
    for (int i = 0; i < small * small; i++) {
        int sum = 0;
        for (int j = 0; j < factor * factor; j++)
            sum += input.data[(i / small * factor + j / factor) * input.stride +
                              i % small * factor + j % factor];
        background[i] = 90;
        difference[i] = (uint8_t)(sum / (factor * factor) - 90);
        mask[i] = difference[i] > 20 ? 255 : 0;
    }
    struct bd_small_result result = { small, small, 1, background, difference, mask, 20 };
    assert_int_equal(bd_pool_create(&pool, 3), BD_OK);
    assert_int_equal(bd_upscaler_create(&upscaler, pool, full, full, small, small), BD_OK);
    assert_int_equal(bd_upscale_mask(upscaler, &out, &input, &result), BD_OK);
    int wrong = 0, wrong_copy = 0;
    for (int y = 0; y < full; y++)
        for (int x = 0; x < full; x++) {
            uint8_t want = input.data[y * input.stride + x] == 180 ? 255 : 0;
            wrong += out.data[y * out.stride + x] != want;
            wrong_copy += mask[y / factor * small + x / factor] != want;
        }
    assert_true(wrong_copy > 500);
    assert_true(wrong < wrong_copy / 10);
    bd_upscaler_destroy(&upscaler);
    bd_pool_destroy(&pool);
    assert_null(upscaler);
    bd_frame_destroy(&input);
    bd_frame_destroy(&out);
}

static void pictures_agree_with_the_mask(void **state)
{
    (void)state;
    struct bd_options options = options_for("synth:easy?frames=40");
    struct bd_pipeline *pipeline = NULL;
    struct bd_result r;
    options.gray = true; /* the outputs keep the input's colours all the same */
    assert_int_equal(bd_pipeline_open(&pipeline, &options, false,
                                      BD_WANT_BACKGROUND | BD_WANT_FOREGROUND | BD_WANT_OVERLAY,
                                      NULL, NULL),
                     BD_OK);
    while (bd_pipeline_next(pipeline, &r) == BD_OK) {
        int64_t count = 0;
        assert_int_equal(r.input->format, BD_RGB24);
        assert_int_equal(r.background->format, BD_GRAY8);
        assert_int_equal(r.foreground->format, BD_RGBA32);
        assert_int_equal(r.overlay->format, BD_RGB24);
        for (int y = 0; y < r.mask->height; y++)
            for (int x = 0; x < r.mask->width; x++) {
                const uint8_t *in = r.input->data + y * r.input->stride + 3 * x;
                const uint8_t *fore = r.foreground->data + y * r.foreground->stride + 4 * x;
                const uint8_t *over = r.overlay->data + y * r.overlay->stride + 3 * x;
                uint8_t mask = r.mask->data[y * r.mask->stride + x];
                count += mask != 0;
                assert_int_equal(fore[3], mask);
                for (int c = 0; c < 3; c++) {
                    assert_int_equal(fore[c], mask ? in[c] : 0);
                    if (!mask)
                        assert_int_equal(over[c], in[c]);
                }
            }
        assert_int_equal(count, bd_mask_pixels(r.mask));
        assert_int_equal(r.overlay->pts, r.input->pts);
    }
    bd_pipeline_close(&pipeline);
}

static void the_region_of_interest_blanks_the_mask(void **state)
{
    (void)state;
    char path[] = "/tmp/bd-roi-XXXXXX.png";
    struct bd_frame roi = { 0 };
    struct bd_options options = options_for("synth:easy?frames=60");
    struct bd_pipeline *pipeline = NULL;
    struct bd_result r;
    int64_t inside = 0;
    int file = mkstemps(path, 4);
    assert_true(file >= 0);
    close(file);
    /* of another size than the input: the right half counts */
    assert_int_equal(bd_frame_create(&roi, 64, 48, BD_GRAY8), BD_OK);
    for (int i = 0; i < 64 * 48; i++)
        roi.data[i / 64 * roi.stride + i % 64] = i % 64 < 32 ? 0 : 255;
    assert_int_equal(bd_picture_write(path, &roi), BD_OK);
    options.roi = path;
    assert_int_equal(bd_pipeline_open(&pipeline, &options, false, 0, NULL, NULL), BD_OK);
    while (bd_pipeline_next(pipeline, &r) == BD_OK)
        for (int y = 0; y < r.mask->height; y++)
            for (int x = 0; x < r.mask->width; x++) {
                bool set = r.mask->data[y * r.mask->stride + x];
                assert_false(set && x < r.mask->width / 2);
                inside += set;
            }
    assert_true(inside > 0);
    bd_pipeline_close(&pipeline);
    bd_frame_destroy(&roi);
    unlink(path);
    assert_int_equal(bd_pipeline_open(&pipeline, &options, false, 0, NULL, NULL),
                     BD_ERROR_ARGUMENT);
    assert_int_equal(bd_open_exit_status(BD_ERROR_ARGUMENT), 1);
    assert_null(pipeline);
}

static void seeking_goes_anywhere(void **state)
{
    (void)state;
    struct bd_options options = options_for("synth:easy?frames=200");
    struct bd_pipeline *pipeline = NULL;
    struct bd_result r;
    assert_int_equal(bd_pipeline_open(&pipeline, &options, false, 0, NULL, NULL), BD_OK);
    assert_int_equal(bd_pipeline_next(pipeline, &r), BD_OK);
    static const int targets[] = { 150, 30, 199, 0 };
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        assert_int_equal(bd_pipeline_seek(pipeline, targets[i] / 25.0), BD_OK);
        assert_int_equal(bd_pipeline_next(pipeline, &r), BD_OK);
        assert_int_equal(r.input->index, targets[i]);
    }
    /* past the end it ends, and comes back */
    assert_int_equal(bd_pipeline_seek(pipeline, 1000), BD_OK);
    assert_int_equal(bd_pipeline_next(pipeline, &r), BD_END);
    assert_int_equal(bd_pipeline_seek(pipeline, 1), BD_OK);
    assert_int_equal(bd_pipeline_next(pipeline, &r), BD_OK);
    assert_int_equal(r.input->index, 25);
    bd_pipeline_close(&pipeline);
}

static void start_and_duration_cut(void **state)
{
    (void)state;
    struct bd_options options = options_for("synth:easy?frames=200");
    struct bd_pipeline *pipeline = NULL;
    struct bd_result r;
    int64_t count = 0, first = -1;
    options.start = 2;
    options.duration = 1;
    assert_int_equal(bd_pipeline_open(&pipeline, &options, false, 0, NULL, NULL), BD_OK);
    assert_int_equal(bd_pipeline_frame_count(pipeline), 25);
    while (bd_pipeline_next(pipeline, &r) == BD_OK) {
        if (first < 0)
            first = r.input->index;
        count++;
    }
    assert_int_equal(first, 50);
    assert_int_equal(count, 25);
    bd_pipeline_close(&pipeline);
}

/* 50 frames in windows of 20: the last window begins with frames of the one before. */
static void batch_covers_every_frame(void **state)
{
    (void)state;
    struct bd_options options = options_for("synth:easy?size=160x120&frames=50");
    options.solver = BD_SOLVER_BATCH;
    options.separator.window = 20;
    struct score score = run_scene(&options, "easy", BD_WANT_BACKGROUND);
    assert_int_equal(score.frames, 45);
    assert_true(f_measure(&score) >= 0.5);
    /* fewer frames than a window holds */
    options = options_for("synth:easy?size=160x120&frames=8");
    options.solver = BD_SOLVER_BATCH;
    score = run_scene(&options, "easy", 0);
    assert_int_equal(score.frames, 3);
}

static bool after_fifty(void *user)
{
    return atomic_fetch_add((atomic_int *)user, 1) >= 50;
}

/* Who interrupts while a window fills does not wait for its solution. */
static void batch_is_interrupted_while_it_reads(void **state)
{
    (void)state;
    atomic_int asked = 0;
    struct bd_options options = options_for("synth:easy?size=160x120&frames=2000");
    struct bd_pipeline *pipeline = NULL;
    struct bd_result result;
    options.solver = BD_SOLVER_BATCH;
    options.separator.window = 1000;
    assert_int_equal(bd_pipeline_open(&pipeline, &options, false, 0, after_fifty, &asked), BD_OK);
    assert_int_equal(bd_pipeline_next(pipeline, &result), BD_ERROR_INTERRUPTED);
    bd_pipeline_close(&pipeline);
}

static bool always(void *user)
{
    (void)user;
    return true;
}

static void faults_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *input;
        enum bd_status status;
        int exit_status;
    } rows[] = {
        { "/nonexistent.mp4", BD_ERROR_IO, 2 },
        { "/tmp", BD_ERROR_IO, 2 },
        { "synth:nosuch", BD_ERROR_IO, 2 },
        { "tests/app/pipeline.c", BD_ERROR_FORMAT, 2 },
    };
    struct bd_pipeline *pipeline = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bd_options options = options_for(rows[i].input);
        enum bd_status status = bd_pipeline_open(&pipeline, &options, false, 0, NULL, NULL);
        assert_int_equal(status, rows[i].status);
        assert_int_equal(bd_open_exit_status(status), rows[i].exit_status);
        assert_true(strlen(bd_error_detail()) > 0);
        assert_null(pipeline);
    }
    struct bd_options options = options_for("synth:easy");
    options.scale_width = options.scale_height = 2000;
    assert_int_equal(bd_pipeline_open(&pipeline, &options, false, 0, NULL, NULL),
                     BD_ERROR_ARGUMENT);
    assert_string_equal(bd_error_detail(),
                        "--scale 2000x2000: larger than the input, which is 320x240");
    options = options_for("synth:easy");
    options.backend = "abacus";
    assert_int_not_equal(bd_pipeline_open(&pipeline, &options, false, 0, NULL, NULL), BD_OK);
    options = options_for("synth:easy");
    enum bd_status status = bd_pipeline_open(&pipeline, &options, false, 0, always, NULL);
    struct bd_result r;
    if (!status)
        status = bd_pipeline_next(pipeline, &r);
    assert_int_equal(status, BD_ERROR_INTERRUPTED);
    assert_int_equal(bd_open_exit_status(status), 4);
    bd_pipeline_close(&pipeline);
}

/* What bd_initialiser_finish wants of a separator, small. */
static const struct bd_separator_options little = {
    .width = 64, .height = 48, .channels = 3, .window = 50
};

static enum bd_status start_little(struct bd_initialiser **initialiser, const char *input,
                                   bool (*interrupted)(void *), void *user)
{
    struct bd_reader_options reader = { .format = BD_RGB24,
                                        .interrupted = interrupted,
                                        .user = user };
    struct bd_separator_options settings = bd_separator_defaults(&little);
    return bd_initialiser_start(initialiser, input, &reader, &settings, BD_RGB24, 1);
}

/* Starts the look-ahead of `input` and finishes it with a separator. */
static enum bd_status prime_little(const char *input, bool (*interrupted)(void *), void *user)
{
    struct bd_backend *backend = NULL;
    struct bd_separator *separator = NULL;
    struct bd_initialiser *initialiser = NULL;
    assert_int_equal(bd_backend_open(&backend, "cpu", 1), BD_OK);
    assert_int_equal(bd_separator_create(&separator, backend, &little), BD_OK);
    assert_int_equal(start_little(&initialiser, input, interrupted, user), BD_OK);
    enum bd_status status = bd_initialiser_finish(&initialiser, separator, NULL);
    assert_null(initialiser);
    bd_separator_destroy(&separator);
    bd_backend_close(&backend);
    return status;
}

static void the_look_ahead_tells_its_faults(void **state)
{
    (void)state;
    atomic_int asked = 0;
    assert_int_equal(prime_little("synth:easy?size=160x120&frames=200", NULL, NULL), BD_OK);
    assert_int_equal(prime_little("synth:easy?size=160x120&frames=2", NULL, NULL), BD_OK);
    assert_int_equal(prime_little("/nonexistent.mp4", NULL, NULL), BD_ERROR_IO);
    assert_non_null(strstr(bd_error_detail(), "/nonexistent.mp4"));
    assert_int_equal(prime_little("synth:easy", always, NULL), BD_ERROR_INTERRUPTED);
    assert_int_equal(prime_little("synth:easy?size=160x120&frames=2000", after_fifty, &asked),
                     BD_ERROR_INTERRUPTED);
}

/* A film of 20 s, H.264, with more than one key frame. */
static void write_film(const char *path)
{
    struct bd_writer_options options = { .width = 64,
                                         .height = 48,
                                         .format = BD_RGB24,
                                         .time_base = { 1, 25 },
                                         .frame_rate = { 25, 1 },
                                         .pixel_aspect = { 1, 1 },
                                         .overwrite = true };
    struct bd_frame frame = { 0 };
    struct bd_writer *writer = NULL;
    assert_int_equal(bd_frame_create(&frame, 64, 48, BD_RGB24), BD_OK);
    assert_int_equal(bd_writer_open(&writer, path, &options), BD_OK);
    for (frame.pts = 0; frame.pts < 500; frame.pts++) {
        assert_int_equal(bd_synth_render(bd_synth_find("easy"), 64, 48, 1, frame.pts, &frame, NULL),
                         BD_OK);
        assert_int_equal(bd_writer_write(writer, &frame), BD_OK);
    }
    assert_int_equal(bd_writer_close(&writer), BD_OK);
    bd_frame_destroy(&frame);
}

/* The background that a look-ahead in so many parts gives, by decoders of so many threads. */
static void background_of(const char *input, double start, int parts, int threads,
                          uint8_t *background)
{
    struct bd_reader_options reader = { .format = BD_RGB24, .start = start, .threads = threads };
    struct bd_frame frame = { 0 };
    struct bd_separator_options settings = little;
    struct bd_backend *backend = NULL;
    struct bd_separator *separator = NULL;
    struct bd_separation separation;
    struct bd_initialiser *initialiser = NULL;
    settings.outputs = BD_SEPARATOR_BACKGROUND;
    assert_int_equal(bd_backend_open(&backend, "cpu", 1), BD_OK);
    assert_int_equal(bd_separator_create(&separator, backend, &settings), BD_OK);
    settings = bd_separator_defaults(&settings);
    assert_int_equal(bd_initialiser_start(&initialiser, input, &reader, &settings, BD_RGB24, parts),
                     BD_OK);
    assert_int_equal(bd_initialiser_finish(&initialiser, separator, NULL), BD_OK);
    assert_int_equal(bd_synth_render(bd_synth_find("easy"), 64, 48, 1, 250, &frame, NULL), BD_OK);
    assert_int_equal(bd_separator_push(separator, frame.data, frame.stride, 0, &separation), BD_OK);
    memcpy(background, separation.background, 64 * 48 * 3);
    bd_frame_destroy(&frame);
    bd_separator_destroy(&separator);
    bd_backend_close(&backend);
}

static void check_parts(const char *path)
{
    static uint8_t whole[64 * 48 * 3], parts[64 * 48 * 3];
    static const int threads[bd_initialiser_most_parts + 1] = { 16, 3, 5, 7, 9 };
    for (int round = 0; round < 2; round++) {
        double start = 3.37 * round;
        background_of(path, start, 1, 1, whole);
        assert_in_range(whole[64 * 24 * 3], 1, 254); /* there is one */
        for (int i = 0; i <= bd_initialiser_most_parts; i++) {
            background_of(path, start, i ? i : 1, threads[i], parts);
            assert_memory_equal(whole, parts, sizeof whole);
        }
    }
}

/* Key frames, which are taken in place of other frames, far apart and close together; in a short
 * film many threads have all of its end before it is looked for. */
static void parts_of_a_look_ahead_see_the_same(void **state)
{
    static const char *const keys[] = { "-g 7", "-g 5 -frames:v 200" };
    char path[] = "/tmp/bd-pipeline-XXXXXX.mp4", coded[64], command[256];
    (void)state;
    int file = mkstemps(path, 4);
    assert_true(file >= 0);
    close(file);
    write_film(path);
    check_parts(path);
    snprintf(coded, sizeof coded, "%s.keys.mp4", path);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        snprintf(command, sizeof command,
                 "ffmpeg -nostdin -v error -y -i %s -c:v libx264 -bf 2 %s %s 2>/dev/null", path,
                 keys[i], coded);
        if (system(command) == 0)
            check_parts(coded);
        else
            print_message("skipped: no ffmpeg with libx264\n");
    }
    unlink(coded);
    unlink(path);
}

/* Closing does not wait for the end of the look-ahead: while it reads, while its pictures wait for
 * room, and in a pipeline that was never asked for a frame. */
static void a_look_ahead_nobody_waits_for_ends(void **state)
{
    (void)state;
    struct bd_reader_options reader = { .format = BD_RGB24 };
    struct bd_options options = options_for("synth:easy?size=1920x1080&frames=2000");
    struct bd_separator_options settings = bd_separator_defaults(&little);
    struct bd_pipeline *pipeline = NULL;
    struct bd_initialiser *initialiser = NULL;
    assert_int_equal(start_little(&initialiser, options.arguments[0], NULL, NULL), BD_OK);
    bd_initialiser_close(&initialiser);
    assert_null(initialiser);
    bd_initialiser_close(&initialiser);
    settings.width = settings.height = 4096; /* room for two of them */
    assert_int_equal(bd_initialiser_start(&initialiser, "synth:easy?size=32x24&frames=200", &reader,
                                          &settings, BD_RGB24, 1),
                     BD_OK);
    double begin = bd_clock_seconds();
    sleep(1);
    bd_initialiser_close(&initialiser);
    assert_int_equal(bd_pipeline_open(&pipeline, &options, false, 0, NULL, NULL), BD_OK);
    bd_pipeline_close(&pipeline);
    assert_true(bd_clock_seconds() - begin < 10);
    options.backend = "abacus";
    assert_int_equal(bd_pipeline_open(&pipeline, &options, false, 0, NULL, NULL),
                     BD_ERROR_ARGUMENT);
    assert_non_null(strstr(bd_error_detail(), "abacus"));
    options.arguments[0] = "/nonexistent.mp4"; /* the backend's failure is reported first */
    assert_int_equal(bd_pipeline_open(&pipeline, &options, false, 0, NULL, NULL),
                     BD_ERROR_ARGUMENT);
    assert_non_null(strstr(bd_error_detail(), "abacus"));
}

/* A sequence of 20 pictures of which the 15th is a folder: the look-ahead ends there, and
 * frames come until the reader itself is there. */
static void a_reader_that_breaks_ahead_breaks_later(void **state)
{
    (void)state;
    enum { frames = 20, broken = 14 };
    char folder[] = "/tmp/bd-broken-XXXXXX", path[64], pattern[64];
    struct bd_frame picture = { 0 };
    struct bd_pipeline *pipeline = NULL;
    struct bd_result result;
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < frames; i++) {
        snprintf(path, sizeof path, "%s/%02d.png", folder, i);
        assert_int_equal(bd_synth_render(bd_synth_find("easy"), 160, 120, 1, i, &picture, NULL),
                         BD_OK);
        if (i == broken)
            assert_int_equal(mkdir(path, 0700), 0);
        else
            assert_int_equal(bd_picture_write(path, &picture), BD_OK);
    }
    snprintf(pattern, sizeof pattern, "%s/%%02d.png", folder);
    struct bd_options options = options_for(pattern);
    enum bd_status status = bd_pipeline_open(&pipeline, &options, false, 0, NULL, NULL);
    assert_int_equal(status, BD_OK);
    int count = 0;
    while ((status = bd_pipeline_next(pipeline, &result)) == BD_OK)
        count++;
    assert_int_equal(status, BD_ERROR_IO);
    assert_int_equal(count, broken);
    bd_pipeline_close(&pipeline);
    assert_int_equal(prime_little(pattern, NULL, NULL), BD_OK);
    bd_frame_destroy(&picture);
    for (int i = 0; i < frames; i++) {
        snprintf(path, sizeof path, "%s/%02d.png", folder, i);
        assert_int_equal(remove(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scene_is_separated),
        cmocka_unit_test(a_held_start_is_nearly_a_look_ahead),
        cmocka_unit_test(traffic_is_there_from_the_start),
        cmocka_unit_test(a_window_gets_the_first_frame_and_small_backgrounds),
        cmocka_unit_test(what_is_held_back),
        cmocka_unit_test(enlarged_masks_follow_the_edges),
        cmocka_unit_test(the_band_finds_a_known_edge),
        cmocka_unit_test(pictures_agree_with_the_mask),
        cmocka_unit_test(the_region_of_interest_blanks_the_mask),
        cmocka_unit_test(seeking_goes_anywhere),
        cmocka_unit_test(start_and_duration_cut),
        cmocka_unit_test(batch_covers_every_frame),
        cmocka_unit_test(batch_is_interrupted_while_it_reads),
        cmocka_unit_test(faults_are_told_apart),
        cmocka_unit_test(the_look_ahead_tells_its_faults),
        cmocka_unit_test(parts_of_a_look_ahead_see_the_same),
        cmocka_unit_test(a_look_ahead_nobody_waits_for_ends),
        cmocka_unit_test(a_reader_that_breaks_ahead_breaks_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
