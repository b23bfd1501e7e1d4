/* The live separator on frames that are in memory already, and its memory over a long run. On a GPU
 * too the host's time is taken: frames are copied there, and results waited for. */
#include <stdlib.h>
#include <string.h>

#include "app/bench/platform.h"
#include "app/bench/separate.h"
#include "app/process_memory.h"
#include <backdrop/matrix.h>
#include <backdrop/separator.h>

static const struct bd_bench_film shapes[] = {
    { 320, 240, 1, 50, 0, .quick = true },
    { 320, 240, 3, 50, 0, .quick = true },
    { 640, 480, 1, 50, 0, .gpu = false },
    { 640, 480, 3, 50, 0, .gpu = false },
    { 320, 240, 1, 100, BD_SEPARATOR_MASK, .gpu = true, .quick = true },
    { 320, 240, 1, 100, BD_SEPARATOR_MASK, .gpu = true, .quick = true, .resident = true },
    { 640, 480, 1, 50, BD_SEPARATOR_MASK, .gpu = true, .resident = true },
    { 1920, 1080, 1, 100, BD_SEPARATOR_MASK, .gpu = true },
    { 1920, 1080, 1, 100, BD_SEPARATOR_MASK, .gpu = true, .resident = true },
    { 1920, 1080, 1, 100, 0, .gpu = true },
    { 3840, 2160, 1, 100, BD_SEPARATOR_MASK, .gpu = true },
    { 3840, 2160, 1, 100, BD_SEPARATOR_MASK, .gpu = true, .resident = true },
    { 1920, 1080, 3, 100, BD_SEPARATOR_MASK, .gpu = true },
};
static const struct bd_bench_film long_shape = { 640, 480, 1, 50, 0, .gpu = false };
static const struct bd_bench_film agreement_shape = { 640, 480, 1, 50, 0, .gpu = false };

struct separate_case {
    struct bd_bench *bench;
    const struct bd_bench_film *shape;
    uint8_t *pictures;         /* of a block */
    struct bd_matrix resident; /* the same in the backend's memory, a row a column */
    struct bd_separator *separator;
    int block; /* frames a run: a whole number of slides */
    int64_t pushed;
    uint8_t *masks; /* where not NULL, those of all frames, block by block */
    int64_t received;
};

/* The next block's frames, which are not those of any block before. */
static enum bd_status render_block(void *user)
{
    struct separate_case *c = user;
    struct bd_bench_scene scene = { .width = c->shape->width,
                                    .height = c->shape->height,
                                    .channels = c->shape->channels,
                                    .first = (int)c->pushed,
                                    .count = c->block };
    enum bd_status status = bd_bench_render(c->bench, &c->pictures, &scene);
    if (!status && c->shape->resident)
        status = bd_matrix_upload(c->bench->backend, &c->resident, c->pictures, c->resident.rows);
    return status;
}

static int64_t stride_of(const struct separate_case *c)
{
    const struct bd_bench_film *s = c->shape;
    return s->resident ? c->resident.ld : (int64_t)s->width * s->channels;
}

static const uint8_t *picture_at(const struct separate_case *c, int index)
{
    const uint8_t *first = c->shape->resident ? c->resident.data : c->pictures;
    return first + (int64_t)index * c->shape->height * stride_of(c);
}

static enum bd_status receive(struct separate_case *c)
{
    struct bd_separation out;
    size_t pixels = (size_t)c->shape->width * (size_t)c->shape->height;
    enum bd_status status = bd_separator_receive(c->separator, &out);
    if (!status && c->masks)
        memcpy(c->masks + (size_t)c->received * pixels, out.mask, pixels);
    c->received++;
    return status;
}

/* As many frames in flight as may be, in one run and from one to the next. */
static enum bd_status run_block(void *user)
{
    struct separate_case *c = user;
    enum bd_status status = BD_OK;
    for (int i = 0; i < c->block && !status; i++) {
        if (bd_separator_in_flight(c->separator) == bd_separator_depth(c->separator))
            status = receive(c);
        BD_TRY(bd_separator_submit(c->separator, picture_at(c, i), stride_of(c),
                                   (double)c->pushed / bd_bench_fps));
        c->pushed++;
    }
    return status;
}

static enum bd_status finish(struct separate_case *c)
{
    enum bd_status status = BD_OK;
    while (!status && bd_separator_in_flight(c->separator))
        status = receive(c);
    return status;
}

enum bd_status bd_bench_separator(struct bd_separator **separator, struct bd_backend *backend,
                                  const struct bd_bench_film *film)
{
    const struct bd_separator_options options = { .width = film->width,
                                                  .height = film->height,
                                                  .channels = film->channels,
                                                  .frame_rate = bd_bench_fps,
                                                  .window = film->window,
                                                  .memory = bd_bench_memory_seconds,
                                                  .outputs = film->outputs };
    return bd_separator_create(separator, backend, &options);
}

static enum bd_status start_separator(struct separate_case *c, struct bd_backend *backend)
{
    const struct bd_bench_film *s = c->shape;
    enum bd_status status = bd_bench_separator(&c->separator, backend, s);
    for (int i = 0; i < s->window && !status; i++)
        status = bd_separator_look_ahead(c->separator, picture_at(c, i * c->block / s->window),
                                         stride_of(c));
    return status ? status : bd_separator_initialise(c->separator);
}

static enum bd_status open_case(struct separate_case *c, struct bd_bench *bench,
                                const struct bd_bench_film *shape)
{
    *c = (struct separate_case){ .bench = bench, .shape = shape, .block = bd_bench_slides(shape) };
    enum bd_status status = shape->resident
                                ? bd_matrix_create(bench->backend, &c->resident,
                                                   (int64_t)shape->width * shape->channels,
                                                   (int64_t)shape->height * c->block, BD_U8)
                                : BD_OK;
    BD_TRY(render_block(c));
    return status ? status : start_separator(c, bench->backend);
}

static void close_case(struct bd_bench *bench, struct separate_case *c)
{
    bd_separator_destroy(&c->separator);
    bd_matrix_destroy(bench->backend, &c->resident);
    bd_bench_release(bench, NULL);
}

/* A frame is read, its background formed from the basis (a column of floats) and written, the
 * difference and the mask written; a slide reads the window's bytes twice, for products and for the
 * new basis. A GPU's frames come and its pictures go over the bus at the same time. */
static double floor_of(const struct bd_bench *bench, const struct bd_bench_film *s)
{
    double pixels = (double)s->width * s->height, m = pixels * s->channels;
    double frames_a_slide = (double)bd_bench_fps * bd_bench_memory_seconds / s->window;
    double ms = bd_bench_floor(
        bench, 2 * m + 4 * m + 2 * pixels + 2 * m * s->window / frames_a_slide, 4 * m);
    if (bench->upload_rate > 0) {
        double up = s->resident ? 0 : m / bench->upload_rate * 1e3;
        double down = (s->outputs ? pixels : m + 2 * pixels) / bench->download_rate * 1e3;
        ms = up > ms ? up : ms;
        ms = down > ms ? down : ms;
    }
    return ms;
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

struct bd_bench_row bd_bench_separate_row(const struct bd_bench *bench,
                                          const struct bd_bench_film *s, const char *what)
{
    struct bd_bench_row row = bd_bench_row_begin(
        "separate", (int64_t)s->width * s->height * s->channels, s->window,
        s->outputs == BD_SEPARATOR_MASK ? "live separator, mask" : "live separator", NULL);
    snprintf(row.name, sizeof row.name, "%s, %dx%d %s", what, s->width, s->height,
             s->channels == 1 ? "gray" : "rgb");
    row.floor_ms = floor_of(bench, s);
    return row;
}

static enum bd_status time_case(struct bd_bench *bench, const struct bd_bench_film *shape)
{
    struct separate_case c;
    enum bd_status status = open_case(&c, bench, shape);
    struct bd_bench_task task = { render_block, run_block, &c, 0 };
    BD_TRY(bd_bench_cpu.time(bench, &task, 1, bench->options->quick ? 3 : 7));
    if (!status) {
        struct bd_bench_row row = bd_bench_separate_row(
            bench, c.shape, shape->resident ? "a frame in the GPU's memory" : "a frame");
        row.ms = task.ms / c.block;
        status = bd_bench_add(bench, &row);
    }
    close_case(bench, &c);
    return status;
}

/* 10,000 frames: the memory at the end against that after the first hundred. */
static enum bd_status time_long(struct bd_bench *bench)
{
    struct separate_case c;
    int64_t frames = bench->options->quick ? 1000 : 10000, blocks = 0;
    double first = 0, sum = 0;
    forget_peak();
    enum bd_status status = open_case(&c, bench, &long_shape);
    struct bd_bench_task task = { render_block, run_block, &c, 0 };
    c.block = 50;
    while (!status && c.pushed < frames) {
        /* one repeat after one warm-up: two blocks a call */
        status = bd_bench_cpu.time(bench, &task, 1, 1);
        sum += task.ms;
        blocks++;
        if (c.pushed == 2 * c.block)
            first = bd_process_memory("VmRSS:");
    }
    if (!status) {
        struct bd_bench_row row = bd_bench_separate_row(bench, c.shape, "a frame");
        snprintf(row.name, sizeof row.name, "separate-long, %lld frames", (long long)c.pushed);
        row.ms = sum / (double)blocks / c.block;
        row.peak_rss = bd_process_memory("VmHWM:");
        row.rss_growth = bd_process_memory("VmRSS:") - first;
        status = bd_bench_add(bench, &row);
    }
    close_case(bench, &c);
    return status;
}

/* The masks of both backends on the same frames: the residual is the part of all pixels in which
 * they differ. */
static enum bd_status agree(struct bd_bench *bench)
{
    struct separate_case here, there = { 0 };
    struct bd_backend *cpu = NULL;
    size_t bytes = (size_t)agreement_shape.width * (size_t)agreement_shape.height;
    int64_t different = 0;
    struct bd_bench_task task = { render_block, run_block, &there, 0 };
    enum bd_status status = open_case(&here, bench, &agreement_shape);
    bytes *= (size_t)here.block;
    here.masks = bd_bench_memory(bench, (int64_t)bytes, 1);
    there = here;
    there.separator = NULL;
    there.masks = bd_bench_memory(bench, (int64_t)bytes, 1);
    BD_TRY(here.masks && there.masks ? BD_OK : bd_bench_out_of_memory());
    BD_TRY(bd_backend_open(&cpu, "cpu", bench->threads));
    BD_TRY(start_separator(&there, cpu));
    BD_TRY(run_block(&here));
    BD_TRY(finish(&here));
    BD_TRY(run_block(&there));
    BD_TRY(finish(&there));
    for (size_t i = 0; i < bytes && !status; i++)
        different += here.masks[i] != there.masks[i];
    there.masks = here.masks = NULL; /* from here on the time is taken */
    struct bd_bench_task tasks[] = { { render_block, run_block, &here, 0 }, task };
    BD_TRY(bd_bench_cpu.time(bench, tasks, 2, 3));
    if (!status) {
        struct bd_bench_row row = bd_bench_separate_row(bench, here.shape, "a frame");
        snprintf(row.name, sizeof row.name, "%dx%d; residual: other mask bits",
                 agreement_shape.width, agreement_shape.height);
        snprintf(row.peer, sizeof row.peer, "cpu backend, %d threads", bench->threads);
        row.ms = tasks[0].ms / here.block;
        row.peer_ms = tasks[1].ms / there.block;
        row.residual = (double)different / (double)bytes;
        status = bd_bench_add(bench, &row);
    }
    bd_separator_destroy(&there.separator);
    bd_backend_close(&cpu);
    close_case(bench, &here);
    return status;
}

enum bd_status bd_bench_separate(struct bd_bench *bench)
{
    enum bd_status status = BD_OK;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && !status; i++)
        if (shapes[i].gpu == (bench->gpu != NULL) && shapes[i].quick == bench->options->quick)
            status = time_case(bench, &shapes[i]);
    if (!status && bench->gpu)
        status = agree(bench);
    BD_TRY(time_long(bench));
    return status ? status : bd_bench_several(bench);
}
