/* The program on the GPU: the same masks and backgrounds as on the CPU, on real clips, through the
 * whole pipeline; and an export in which the GPU fails: what was written is finalised, exit 3. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/pipeline/pipeline.h"
#include "gpu/cuda.h"
#include "tests/support/scratch.h"
#include "video/output/writer.h"
#include "video/synth/synth.h"

enum { most_frames = 200 };

static struct bd_options options_for(const char *input, const char *backend)
{
    return (struct bd_options){
        .arguments = { input }, .argument_count = 1, .backend = backend, .clip_mode = -1
    };
}

static void need_gpu(void)
{
    struct bd_backend *backend = NULL;
    if (bd_backend_open(&backend, "cuda", 1) != BD_OK) {
        print_message("skipped: %s\n", bd_error_detail());
        skip();
    }
    bd_backend_close(&backend);
}

/* A clip of the data folder, "" where it is absent; assets/ are always there. */
static void find_clip(char path[PATH_MAX], const char *name)
{
    const char *data = getenv("BACKDROP_DATA");
    snprintf(path, PATH_MAX, "%s%s%s", *name == '/' && data ? data : "",
             *name == '/' && !data ? "." : "", name);
    if (access(path, R_OK) != 0) {
        print_message("%s is not there: left out\n", path);
        *path = 0;
    }
}

static int64_t differing(const struct bd_frame *a, const struct bd_frame *b, int most)
{
    int64_t count = 0;
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->height, b->height);
    for (int y = 0; y < a->height; y++)
        for (int x = 0; x < a->width * (int)a->format; x++)
            count += abs(a->data[y * a->stride + x] - b->data[y * b->stride + x]) > most;
    return count;
}

/* Masks are the same and backgrounds are, to the bit; where that is not wanted at least 99.9 % of
 * both, backgrounds within a grey level. */
static void compare(const struct bd_options *cpu, const struct bd_options *gpu, bool same, int most)
{
    struct bd_pipeline *a = NULL, *b = NULL;
    struct bd_result on_cpu, on_gpu;
    int64_t pixels = 0, values = 0, masks = 0, backgrounds = 0;
    assert_int_equal(bd_pipeline_open(&a, cpu, false, BD_WANT_BACKGROUND, NULL, NULL), BD_OK);
    assert_int_equal(bd_pipeline_open(&b, gpu, false, BD_WANT_BACKGROUND, NULL, NULL), BD_OK);
    for (int i = 0; i < most; i++) {
        enum bd_status status = bd_pipeline_next(a, &on_cpu);
        assert_int_equal(bd_pipeline_next(b, &on_gpu), status);
        if (status == BD_END)
            break;
        assert_int_equal(status, BD_OK);
        assert_int_equal(on_cpu.mask->index, on_gpu.mask->index);
        assert_int_equal(on_cpu.columns, on_gpu.columns);
        assert_int_equal(on_cpu.learned, on_gpu.learned);
        pixels += (int64_t)on_cpu.mask->width * on_cpu.mask->height;
        values += (int64_t)on_cpu.mask->width * on_cpu.mask->height * on_cpu.background->format;
        masks += differing(on_cpu.mask, on_gpu.mask, 0);
        backgrounds += differing(on_cpu.background, on_gpu.background, same ? 0 : 1);
    }
    print_message("%s, %s: masks differ in %.5f %%, backgrounds in %.5f %%\n", cpu->arguments[0],
                  cpu->gray ? "gray" : "rgb", 100 * (double)masks / (double)pixels,
                  100 * (double)backgrounds / (double)values);
    double share = same ? 0 : 1e-3;
    assert_true((double)masks <= share * (double)pixels);
    assert_true((double)backgrounds <= share * (double)values);
    bd_pipeline_close(&a);
    bd_pipeline_close(&b);
}

static void masks_are_those_of_the_cpu(void **state)
{
    (void)state;
    static const struct {
        const char *clip;
        int width, height;
        bool gray;
        int rank;
    } cases[] = {
        { "assets/street.mp4", 320, 180, false, 0 },
        { "assets/street.mp4", 320, 180, true, 2 },
        { "/videos/car-detection.mp4", 768, 432, true, 0 },
        { "/videos/vtest.avi", 384, 288, false, 0 },
        { "/videos/issue53_brightness_change.avi", 240, 270, false, 0 },
        { "/sequences/CAVIAR2/input/in%06d.jpg", 384, 256, false, 0 },
    };
    need_gpu();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char path[PATH_MAX];
        if (strchr(cases[i].clip, '%'))
            snprintf(path, sizeof path, "%s%s",
                     getenv("BACKDROP_DATA") ? getenv("BACKDROP_DATA") : ".", cases[i].clip);
        else
            find_clip(path, cases[i].clip);
        struct bd_options cpu = options_for(path, "cpu"), gpu;
        cpu.scale_width = cases[i].width;
        cpu.scale_height = cases[i].height;
        cpu.gray = cases[i].gray;
        cpu.separator.rank = cases[i].rank;
        gpu = cpu;
        gpu.backend = "cuda";
        struct bd_reader *reader = NULL;
        struct bd_reader_options plain = { .format = BD_GRAY8 };
        if (!*path || bd_reader_open(&reader, path, &plain) != BD_OK)
            continue;
        bd_reader_close(&reader);
        compare(&cpu, &gpu, cases[i].rank < 2, most_frames);
    }
}

/* Whether FFmpeg decodes the film on the GPU. */
static bool decodes_there(const char *path)
{
    struct bd_reader *reader = NULL;
    struct bd_reader_options hardware = { .format = BD_RGB24, .hwaccel = "cuda" };
    bool does = *path && bd_reader_open(&reader, path, &hardware) == BD_OK;
    if (*path && !does)
        print_message("left out: %s\n", bd_error_detail());
    bd_reader_close(&reader);
    return does;
}

/* Films that the GPU decodes too: it decodes the same pictures, which threads of the program fetch.
 */
static void films_decoded_by_the_gpu_give_the_same(void **state)
{
    (void)state;
    static const char *const clips[] = { "assets/street.mp4", "/videos/car-detection.mp4" };
    need_gpu();
    for (size_t i = 0; i < sizeof clips / sizeof *clips; i++) {
        char path[PATH_MAX];
        find_clip(path, clips[i]);
        struct bd_options cpu = options_for(path, "cpu"), gpu = options_for(path, "cuda");
        gpu.hwaccel = "cuda";
        if (decodes_there(path))
            compare(&cpu, &gpu, true, most_frames);
    }
}

/* Counts the messages that decoders of the GPU have joined. */
static void count_helpers(void *user, enum bd_log_level level, const char *message)
{
    (void)level;
    if (strstr(message, "the GPU decodes"))
        ++*(atomic_int *)user;
}

/* A film of 1920x1080 and `frames` frames as H.264, whose key frames are 250 frames apart: a few
 * rendered ones, forth and back. */
static void make_film(const char *path, int frames)
{
    enum { width = 1920, height = 1080, rendered = 40 };
    const struct bd_synth_scene *scene = bd_synth_find("street");
    struct bd_writer *writer;
    struct bd_frame pictures[rendered] = { { 0 } };
    struct bd_writer_options options = { .width = width,
                                         .height = height,
                                         .format = BD_RGB24,
                                         .time_base = { 1, 25 },
                                         .frame_rate = { 25, 1 },
                                         .pixel_aspect = { 1, 1 },
                                         .overwrite = true,
                                         .codec = "libx264" };
    assert_non_null(scene);
    assert_int_equal(bd_writer_open(&writer, path, &options), BD_OK);
    for (int i = 0; i < rendered; i++)
        assert_int_equal(bd_synth_render(scene, width, height, 1, 4 * i, &pictures[i], NULL),
                         BD_OK);
    for (int i = 0; i < frames; i++) {
        struct bd_frame *picture =
            &pictures[i / rendered % 2 ? rendered - 1 - i % rendered : i % rendered];
        picture->pts = picture->index = i;
        assert_int_equal(bd_writer_write(writer, picture), BD_OK);
    }
    for (int i = 0; i < rendered; i++)
        bd_frame_destroy(&pictures[i]);
    assert_int_equal(bd_writer_close(&writer), BD_OK);
}

/* Without an option the film's first frames are decoded by threads, and several sections of the
 * rest by the GPU, in whose memory they stay. With --hwaccel cuda all are. */
static void a_long_film_stays_on_the_gpu(void **state)
{
    (void)state;
    enum { frames = 1000, compared = 600 };
    need_gpu();
    make_film(in_scratch("long.mp4"), frames);
    for (int i = 0; i < 2; i++) {
        atomic_int helpers = 0;
        struct bd_options cpu = options_for(in_scratch("long.mp4"), "cpu");
        struct bd_options gpu = options_for(cpu.arguments[0], "cuda");
        cpu.scale_width = gpu.scale_width = 320;
        cpu.scale_height = gpu.scale_height = 180;
        gpu.hwaccel = i ? "cuda" : NULL;
        bd_log_set(count_helpers, &helpers);
        compare(&cpu, &gpu, true, compared);
        bd_log_set(NULL, NULL);
        print_message("%s: decoders of the GPU joined %d times\n", i ? "cuda" : "default", helpers);
        assert_true(helpers > 0 || !decodes_there(cpu.arguments[0]));
    }
    /* masks at full size are made on the host from the separator's */
    struct bd_options cpu = options_for(in_scratch("long.mp4"), "cpu");
    struct bd_options gpu = options_for(cpu.arguments[0], "cuda");
    cpu.gray = gpu.gray = true;
    cpu.scale_width = gpu.scale_width = 1920;
    cpu.scale_height = gpu.scale_height = 1080;
    compare(&cpu, &gpu, true, 100);
}

static void a_batch_is_that_of_the_cpu(void **state)
{
    (void)state;
    need_gpu();
    struct bd_options cpu = options_for("assets/street.mp4", "cpu"), gpu;
    cpu.scale_width = 160;
    cpu.scale_height = 90;
    cpu.duration = 4;
    cpu.solver = BD_SOLVER_BATCH;
    gpu = cpu;
    gpu.backend = "cuda";
    compare(&cpu, &gpu, false, most_frames);
}

/* Frames in a film. */
static int count_frames(const char *path)
{
    struct bd_reader *reader = NULL;
    struct bd_reader_options plain = { .format = BD_GRAY8 };
    struct bd_frame frame = { 0 };
    int count = 0;
    assert_int_equal(bd_reader_open(&reader, path, &plain), BD_OK);
    while (bd_reader_read(reader, &frame) == BD_OK)
        count++;
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
    return count;
}

/* At three quarters of the calls to the GPU that the whole export takes, one fails:
 * the old film stays, and what was written plays beside it. */
static void an_export_with_a_fault_is_finalised(void **state)
{
    (void)state;
    need_gpu();
    struct bd_options options = options_for("assets/street.mp4", "cuda");
    options.mask = in_scratch("mask.mkv");
    options.overwrite = BD_OVERWRITE_YES;
    options.progress = BD_PROGRESS_NONE;
    options.quiet = true;
    bd_cuda_inject(cudaErrorLaunchFailure, INT_MAX);
    assert_int_equal(bd_export_run(&options), 0);
    int calls = INT_MAX - bd_cuda_inject(cudaSuccess, 0), whole = count_frames(options.mask);
    assert_int_equal(whole, 300);
    bd_cuda_inject(cudaErrorLaunchFailure, calls / 4 * 3);
    assert_int_equal(bd_export_run(&options), 3);
    bd_cuda_inject(cudaSuccess, 0);
    int written = count_frames(in_scratch("mask.mkv.part"));
    assert_int_equal(count_frames(options.mask), whole);
    print_message("%d of %d frames were written before the fault\n", written, whole);
    assert_in_range(written, 1, whole - 1);
    /* the GPU itself is in order: the next export is whole */
    assert_int_equal(bd_export_run(&options), 0);
    assert_int_equal(count_frames(options.mask), whole);
}

/* No memory on the GPU: nothing has been started, and the line says what would need less. */
static void without_memory_nothing_starts(void **state)
{
    (void)state;
    need_gpu();
    struct bd_options options = options_for("assets/street.mp4", "cuda");
    options.mask = in_scratch("none.mkv");
    options.progress = BD_PROGRESS_NONE;
    bd_cuda_inject(cudaErrorMemoryAllocation, 2);
    assert_int_equal(bd_export_run(&options), 1);
    bd_cuda_inject(cudaSuccess, 0);
    assert_non_null(strstr(bd_error_detail(), "--scale"));
    assert_int_not_equal(access(options.mask, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_are_those_of_the_cpu),
        cmocka_unit_test(films_decoded_by_the_gpu_give_the_same),
        cmocka_unit_test(a_long_film_stays_on_the_gpu),
        cmocka_unit_test(a_batch_is_that_of_the_cpu),
        cmocka_unit_test(an_export_with_a_fault_is_finalised),
        cmocka_unit_test(without_memory_nothing_starts),
    };
    return cmocka_run_group_tests(tests, create_scratch, remove_scratch);
}
