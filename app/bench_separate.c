/* The live separator on frames that are in memory already, and its memory over a long run. */
#include <stdlib.h>
#include <string.h>

#include "app/bench.h"
#include "app/bench_scene.h"
#include "app/interrupt.h"
#include "linalg/separator.h"

enum { scene_frames = 150, block = 50, fps = 25 };

struct separate_case {
    int width, height, channels;
    uint8_t *pictures;
    struct bd_separator *separator;
    int64_t pushed;
};

/* The scene forwards and backwards, so that nothing jumps. */
static const uint8_t *picture_at(const struct separate_case *c, int64_t index)
{
    int64_t at = index % (2 * scene_frames - 2);
    if (at >= scene_frames)
        at = 2 * scene_frames - 2 - at;
    return c->pictures + (size_t)at * (size_t)(c->width * c->height * c->channels);
}

static enum bd_status run_block(void *user)
{
    struct separate_case *c = user;
    struct bd_separation out;
    enum bd_status status = BD_OK;
    for (int i = 0; i < block && !status; i++, c->pushed++)
        status = bd_separator_push(c->separator, picture_at(c, c->pushed), c->width * c->channels,
                                   (double)c->pushed / fps, &out);
    return status;
}

static enum bd_status open_case(struct separate_case *c, struct bd_backend *backend, int width,
                                int height, int channels)
{
    struct bd_separator_options options = { .width = width,
                                            .height = height,
                                            .channels = channels,
                                            .frame_rate = fps,
                                            .window = 50,
                                            .noise_gain = -1,
                                            .refine = -1,
                                            .min_area = -1,
                                            .max_hole = -1 };
    *c = (struct separate_case){ .width = width, .height = height, .channels = channels };
    enum bd_status status = bd_bench_render(&c->pictures, width, height, channels, scene_frames);
    if (!status)
        status = bd_separator_create(&c->separator, backend, &options);
    for (int i = 0; i < 50 && !status; i++)
        status = bd_separator_preview(c->separator, picture_at(c, 3 * i), width * channels);
    if (!status)
        status = bd_separator_prime(c->separator);
    return status;
}

static void close_case(struct separate_case *c)
{
    bd_separator_destroy(&c->separator);
    free(c->pictures);
}

/* A frame is read, its background formed from the basis (rank columns of floats) and written, the
 * difference and the mask written. */
static double floor_of(const struct bd_bench *bench, const struct separate_case *c)
{
    double pixels = (double)c->width * c->height, m = pixels * c->channels;
    int rank = bd_separator_options(c->separator)->rank;
    return bd_bench_floor(bench, 2 * m + 4 * rank * m + 2 * pixels, 4 * rank * m);
}

/* A line of /proc/self/status in MiB; -1 where there is none. */
static double memory_of(const char *name)
{
    char line[256];
    double value = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtod(line + strlen(name) + 1, NULL) / 1024;
    if (file)
        fclose(file);
    return value;
}

/* Lets VmHWM, the peak, start again from here: what other suites used does not count. */
static void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file)
        return;
    fputs("5", file);
    fclose(file);
}

static enum bd_status time_case(struct bd_bench *bench, int channels)
{
    struct separate_case c;
    bool quick = bench->options->quick;
    enum bd_status status =
        open_case(&c, bench->backend, quick ? 320 : 640, quick ? 240 : 480, channels);
    struct bd_bench_task task = { NULL, run_block, &c, 0 };
    if (!status)
        status = bd_bench_time(bench, &task, 1, quick ? 3 : 11);
    if (!status) {
        struct bd_bench_row row =
            bd_bench_row_begin("separate", (int64_t)c.width * c.height * c.channels, 50);
        snprintf(row.name, sizeof row.name, "a frame, %dx%d %s", c.width, c.height,
                 channels == 1 ? "gray" : "rgb");
        snprintf(row.method, sizeof row.method, "live separator");
        row.ms = task.ms / block;
        row.floor_ms = floor_of(bench, &c);
        status = bd_bench_add(bench, &row);
    }
    close_case(&c);
    return status;
}

/* 10,000 frames: the memory at the end against that after the first hundred. */
static enum bd_status time_long(struct bd_bench *bench)
{
    struct separate_case c;
    int64_t frames = bench->options->quick ? 1000 : 10000;
    forget_peak();
    enum bd_status status = open_case(&c, bench->backend, 640, 480, 1);
    double first = 0;
    struct bd_bench_task task = { NULL, run_block, &c, 0 };
    double sum = 0;
    int64_t blocks = 0;
    while (!status && c.pushed < frames) {
        /* one repeat after one warm-up: two blocks a call */
        status = bd_bench_time(bench, &task, 1, 1);
        sum += task.ms;
        blocks++;
        if (c.pushed == 2 * block)
            first = memory_of("VmRSS:");
    }
    if (!status) {
        struct bd_bench_row row = bd_bench_row_begin("separate", (int64_t)640 * 480, 50);
        snprintf(row.name, sizeof row.name, "separate-long, %lld frames", (long long)c.pushed);
        snprintf(row.method, sizeof row.method, "live separator");
        row.ms = sum / (double)blocks / block;
        row.floor_ms = floor_of(bench, &c);
        row.peak_rss = memory_of("VmHWM:");
        row.rss_growth = memory_of("VmRSS:") - first;
        status = bd_bench_add(bench, &row);
    }
    close_case(&c);
    return status;
}

enum bd_status bd_bench_separate(struct bd_bench *bench)
{
    enum bd_status status = time_case(bench, 1);
    if (!status)
        status = time_case(bench, 3);
    if (!status)
        status = time_long(bench);
    return status;
}
