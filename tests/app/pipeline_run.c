/* Pictures that are made beside the separation, and objects that are found beside those
 * (bd_pipeline_run). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/pipeline/pipeline.h"
#include "tests/support/quick.h"
#include "video/output/writer.h"
#include "video/synth/synth.h"

enum { frames = 50 };

/* Sums over the pictures of frames and over their masks and objects, both in the order of frames.
 */
struct sums {
    uint64_t of[frames], of_objects[frames];
    int count, objects_count;
    int objects;                      /* boxes of all frames */
    int64_t fail_at, objects_fail_at; /* a sink fails at this frame */
    atomic_int seen;                  /* frames */
};

static uint64_t add_picture(uint64_t sum, const struct bd_frame *picture)
{
    for (int y = 0; y < picture->height; y++)
        for (int x = 0; x < picture->width * (int)picture->format; x++)
            sum = sum * 31 + picture->data[y * picture->stride + x];
    return sum;
}

static enum bd_status add_frame(void *user, const struct bd_result *result)
{
    struct sums *sums = user;
    if (result->input->index == sums->fail_at)
        return bd_fail(BD_ERROR_IO, "frame %d is not wanted", (int)sums->fail_at);
    /* An assertion would leave another thread than the test's. */
    if (result->input->index != sums->count || sums->count >= frames)
        return bd_fail(BD_ERROR_ARGUMENT, "frame %d came as number %d", (int)result->input->index,
                       sums->count);
    uint64_t sum = add_picture((uint64_t)bd_mask_pixels(result->mask), result->mask);
    sums->of[sums->count++] = add_picture(add_picture(sum, result->background), result->overlay);
    return BD_OK;
}

static enum bd_status add_objects(void *user, const struct bd_result *result)
{
    struct sums *sums = user;
    if (result->mask->index == sums->objects_fail_at)
        return bd_fail(BD_ERROR_IO, "objects of frame %d are not wanted",
                       (int)sums->objects_fail_at);
    if (result->mask->index != sums->objects_count || sums->objects_count >= frames)
        return bd_fail(BD_ERROR_ARGUMENT, "frame %d came as number %d", (int)result->mask->index,
                       sums->objects_count);
    uint64_t sum = add_picture((uint64_t)result->past_count, result->mask);
    for (int i = 0; i < result->object_count; i++)
        sum = sum * 31 + (uint64_t)(result->objects[i].id * 1000 + result->objects[i].x);
    sums->objects += result->object_count;
    sums->of_objects[sums->objects_count++] = sum;
    atomic_fetch_add(&sums->seen, 1);
    return BD_OK;
}

static bool after_ten(void *user)
{
    return atomic_load(&((struct sums *)user)->seen) >= 10;
}

static const struct sums none = { .fail_at = -1, .objects_fail_at = -1 };

/* All frames of the options, by bd_pipeline_run. */
static enum bd_status run_all(const struct bd_options *options, unsigned wants, int64_t limit,
                              struct sums *sums, bool (*interrupted)(void *))
{
    struct bd_pipeline *pipeline = NULL;
    assert_int_equal(bd_pipeline_open(&pipeline, options, false, wants, interrupted, sums), BD_OK);
    enum bd_status status =
        bd_pipeline_run(pipeline, limit, &(struct bd_sinks){ add_frame, add_objects, sums });
    bd_pipeline_close(&pipeline);
    return status;
}

/* A run ends where it is to end, after all frames before. */
static void check_ends(const struct bd_options *options, unsigned wants, const struct sums *one)
{
    struct sums run = none;
    assert_int_equal(run_all(options, wants, 17, &run, NULL), BD_OK);
    assert_int_equal(run.count, 17);
    assert_int_equal(run.objects_count, 17);
    run = none;
    run.fail_at = 23;
    assert_int_equal(run_all(options, wants, 0, &run, NULL), BD_ERROR_IO);
    assert_string_equal(bd_error_detail(), "frame 23 is not wanted");
    assert_int_equal(run.count, 23);
    assert_int_equal(run.objects_count, 23);
    /* The first frame that failed is told, whose objects come after its pictures. */
    run = none;
    run.fail_at = run.objects_fail_at = frames - 1;
    assert_int_equal(run_all(options, wants, 0, &run, NULL), BD_ERROR_IO);
    assert_string_equal(bd_error_detail(), "frame 49 is not wanted");
    run = none;
    run.objects_fail_at = 23;
    assert_int_equal(run_all(options, wants, 0, &run, NULL), BD_ERROR_IO);
    assert_string_equal(bd_error_detail(), "objects of frame 23 are not wanted");
    assert_int_equal(run.objects_count, 23);
    assert_in_range(run.count, 24, wants & BD_WANT_LATER ? frames : 24);
    run = none;
    run.objects_fail_at = frames - 1; /* when all frames are handed over */
    assert_int_equal(run_all(options, wants, 0, &run, NULL), BD_ERROR_IO);
    assert_string_equal(bd_error_detail(), "objects of frame 49 are not wanted");
    run = none;
    enum bd_status status = run_all(options, wants, 0, &run, after_ten);
    assert_true(status == BD_OK || status == BD_ERROR_INTERRUPTED);
    assert_in_range(run.count, 10, frames - 1);
    assert_int_equal(run.objects_count, run.count);
    assert_memory_equal(one->of, run.of, (size_t)run.count * sizeof *run.of);
}

enum call { NEXT, RUN };

/* Separates `limit` frames, or all that are left (0). */
static void separate_by(struct bd_pipeline *pipeline, enum call call, int limit, struct sums *sums)
{
    const struct bd_sinks sinks = { add_frame, add_objects, sums };
    struct bd_result result;
    if (call == RUN)
        assert_int_equal(bd_pipeline_run(pipeline, limit, &sinks), limit ? BD_OK : BD_END);
    for (int count = 0; call == NEXT && (!limit || count < limit); count++) {
        if (bd_pipeline_next(pipeline, &result))
            break;
        assert_int_equal(add_frame(sums, &result), BD_OK);
        assert_int_equal(add_objects(sums, &result), BD_OK);
    }
}

/* Pictures that are made beside the separation, and objects that are found with them or later, are
 * those of bd_pipeline_next, with both solvers and at both sizes; with four threads frames are
 * registered ahead of it. */
static void a_run_makes_the_same(void **state)
{
    (void)state;
    /* Kinds 1 to 3 have both solvers, sizes, times for objects and numbers of threads. */
    for (int kind = test_quick() ? 1 : 0; kind < (test_quick() ? 4 : 6); kind++) {
        struct bd_options options = { .arguments = { kind % 2
                                                         ? "synth:shake?size=160x120&frames=50"
                                                         : "synth:easy?size=160x120&frames=50" },
                                      .argument_count = 1,
                                      .threads = kind % 2 ? 4 : 2 };
        struct bd_pipeline *pipeline = NULL;
        struct sums one = none, run = none;
        const unsigned wants = BD_WANT_BACKGROUND | BD_WANT_OVERLAY | BD_WANT_OBJECTS |
                               (kind < 3 ? BD_WANT_BOXES : BD_WANT_LATER);
        options.solver = kind % 3 == 2 ? BD_SOLVER_BATCH : BD_SOLVER_LIVE;
        if (kind % 3 == 1) {
            options.scale_width = 80;
            options.scale_height = 60;
        }
        assert_int_equal(bd_pipeline_open(&pipeline, &options, false, wants, NULL, NULL), BD_OK);
        separate_by(pipeline, NEXT, 0, &one);
        bd_pipeline_close(&pipeline);
        assert_int_equal(run_all(&options, wants, 0, &run, NULL), BD_END);
        assert_int_equal(one.count, frames);
        assert_int_equal(run.count, frames);
        assert_int_equal(run.objects_count, frames);
        assert_true(one.objects > 0);
        assert_memory_equal(one.of, run.of, sizeof one.of);
        assert_memory_equal(one.of_objects, run.of_objects, sizeof one.of_objects);
        if (kind % 3 != 2)
            check_ends(&options, wants, &one);
    }
}

/* The last masks and labels, which are kept, and where pixels were. */
enum { most_kept = 8, most_places = 100 };

struct keeper {
    struct bd_frame kept[most_kept]; /* frame i at i % most_kept */
    uint64_t sums[most_kept];
    const uint8_t *places[most_places];
    int place_count, count, changed, objects_count;
};

static void note_place(struct keeper *keeper, const uint8_t *data)
{
    int place = 0;
    while (place < keeper->place_count && keeper->places[place] != data)
        place++;
    if (place == keeper->place_count && place < most_places)
        keeper->places[keeper->place_count++] = data;
}

static enum bd_status keep_picture(void *user, const struct bd_result *result)
{
    struct keeper *keeper = user;
    const int at = keeper->count % most_kept;
    struct bd_frame *kept = &keeper->kept[at];
    note_place(keeper, result->mask->data);
    note_place(keeper, result->labels->data);
    if (kept->data)
        keeper->changed += add_picture(0, kept) != keeper->sums[at];
    /* One of both, so that the other one's memory is used again. */
    const struct bd_frame *picture = keeper->count++ % 2 ? result->mask : result->labels;
    keeper->sums[at] = add_picture(0, picture);
    return bd_frame_share(kept, picture);
}

static enum bd_status count_objects(void *user, const struct bd_result *result)
{
    struct keeper *keeper = user;
    (void)result;
    if (keeper->objects_count++ % 10 == 0)
        usleep(20000); /* frames wait */
    return BD_OK;
}

/* A mask that is kept does not change while others are made; memory is that of what is kept, of
 * the masks that wait for the follower, and of the last frame. */
static void masks_can_be_kept(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct bd_options options = { .arguments = { "synth:easy?size=160x120&frames=50" },
                                      .argument_count = 1,
                                      .threads = 2 };
        const bool later = kind % 2;
        const unsigned wants =
            BD_WANT_SHADOWS | BD_WANT_OBJECTS | (later ? (unsigned)BD_WANT_LATER : 0);
        struct bd_pipeline *pipeline = NULL;
        struct keeper keeper = { .count = 0 };
        if (kind > 1) {
            options.scale_width = 80;
            options.scale_height = 60;
        }
        assert_int_equal(bd_pipeline_open(&pipeline, &options, false, wants, NULL, NULL), BD_OK);
        assert_int_equal(
            bd_pipeline_run(pipeline, 0,
                            &(struct bd_sinks){ keep_picture, count_objects, &keeper }),
            BD_END);
        assert_int_equal(keeper.count, frames);
        assert_int_equal(keeper.objects_count, frames);
        assert_int_equal(keeper.changed, 0);
        assert_in_range(keeper.place_count, most_kept, most_kept + 2 + (later ? 64 : 0));
        for (int i = 0; i < most_kept; i++)
            bd_frame_destroy(&keeper.kept[i]);
        bd_pipeline_close(&pipeline);
    }
}

static void mirror(uint8_t *row, int width)
{
    for (int x = 0; x < width / 2; x++)
        for (int c = 0; c < 3; c++) {
            uint8_t *left = &row[3 * x + c], *right = &row[3 * (width - 1 - x) + c], kept = *left;
            *left = *right;
            *right = kept;
        }
}

/* A camera that shows one place for 2.4 seconds, then another one for good. */
static void write_two_scenes(const char *path)
{
    enum { width = 160, height = 120, first = 12 };
    struct bd_writer_options options = { .width = width,
                                         .height = height,
                                         .format = BD_RGB24,
                                         .time_base = { 1, 5 },
                                         .frame_rate = { 5, 1 },
                                         .pixel_aspect = { 1, 1 },
                                         .lossless = true,
                                         .overwrite = true };
    struct bd_frame frame = { 0 };
    struct bd_writer *writer = NULL;
    assert_int_equal(bd_frame_create(&frame, width, height, BD_RGB24), BD_OK);
    assert_int_equal(bd_writer_open(&writer, path, &options), BD_OK);
    for (frame.pts = 0; frame.pts < frames; frame.pts++) {
        assert_int_equal(
            bd_synth_render(bd_synth_find("easy"), width, height, 1, frame.pts, &frame, NULL),
            BD_OK);
        for (int y = 0; y < height && frame.pts >= first; y++)
            mirror(frame.data + y * frame.stride, width);
        assert_int_equal(bd_writer_write(writer, &frame), BD_OK);
    }
    assert_int_equal(bd_writer_close(&writer), BD_OK);
    bd_frame_destroy(&frame);
}

/* How often a new scene was learned, and after how many frames the last time. */
struct relocations {
    const struct sums *sums;
    int count, after;
};

static void note_relocation(void *user, enum bd_log_level level, const char *message)
{
    struct relocations *noted = user;
    (void)level;
    if (!strstr(message, "has been moved"))
        return;
    noted->count++;
    noted->after = noted->sums->count;
}

static void open_scenes(struct bd_pipeline **pipeline, const struct bd_options *options)
{
    const unsigned wants = BD_WANT_BACKGROUND | BD_WANT_OVERLAY;
    assert_int_equal(bd_pipeline_open(pipeline, options, false, wants, NULL, NULL), BD_OK);
}

/* The first `limit` frames by one call, the others by another. */
static void separate_in_two(const struct bd_options *options, int limit, enum call first,
                            enum call second, struct sums *sums)
{
    struct bd_pipeline *pipeline = NULL;
    *sums = none;
    open_scenes(&pipeline, options);
    if (limit)
        separate_by(pipeline, first, limit, sums);
    separate_by(pipeline, second, 0, sums);
    assert_int_equal(sums->count, frames);
    bd_pipeline_close(&pipeline);
}

/* A new scene is learned from the same frame on, whether frames are registered ahead or not, and
 * wherever a run ends. Closing does not wait for a thread that waits for the new scene. */
static void a_relocation_is_learned_ahead_too(void **state)
{
    (void)state;
    char path[] = "/tmp/bd-scenes-XXXXXX.mkv";
    struct bd_options options = { .arguments = { path }, .argument_count = 1, .threads = 4 };
    struct sums one, run;
    struct relocations noted = { .sums = &one };
    int file = mkstemps(path, 4);
    assert_true(file >= 0);
    close(file);
    write_two_scenes(path);
    bd_log_set(note_relocation, &noted);
    separate_in_two(&options, 0, NEXT, NEXT, &one);
    bd_log_set(NULL, NULL);
    assert_int_equal(noted.count, 1);
    const int after = noted.after, limits[] = { 0, after - 1, after };
    assert_in_range(after, 30, frames - 2);
    for (int i = test_quick() ? 3 : 0; i < 9; i += test_quick() ? 2 : 1) {
        separate_in_two(&options, limits[i / 3], i % 3 == 0 ? NEXT : RUN, i % 3 == 1 ? NEXT : RUN,
                        &run);
        assert_memory_equal(one.of, run.of, sizeof one.of);
    }
    for (int limit = after - 1; limit <= after; limit++) {
        struct bd_pipeline *pipeline = NULL;
        run = none;
        open_scenes(&pipeline, &options);
        separate_by(pipeline, RUN, limit, &run);
        if (limit % 2) { /* what was seen before does not count any more */
            run = none;
            assert_int_equal(bd_pipeline_seek(pipeline, 0), BD_OK);
            separate_by(pipeline, RUN, 5, &run);
        }
        bd_pipeline_close(&pipeline);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_makes_the_same),
        cmocka_unit_test(masks_can_be_kept),
        cmocka_unit_test(a_relocation_is_learned_ahead_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
