/* Frames of a rendered scene, for the suites that need video without a decoder. */
#include "app/bench/bench.h"

#include <string.h>

#include "base/pool.h"
#include "video/synth/synth.h"

struct work {
    const struct bd_bench_scene *scene;
    uint8_t *pictures;
    struct bd_frame *frames; /* of the threads */
    enum bd_status *status;  /* of the pictures */
};

static void convert(uint8_t *to, const struct bd_frame *frame, const struct bd_bench_scene *scene)
{
    for (int y = 0; y < scene->height; y++) {
        const uint8_t *from = frame->data + (int64_t)y * frame->stride;
        uint8_t *row = to + (size_t)y * (size_t)(scene->width * scene->channels);
        if (scene->channels == 3)
            memcpy(row, from, (size_t)scene->width * 3);
        for (int x = 0; x < scene->width && scene->channels == 1; x++)
            row[x] =
                (uint8_t)((from[3 * x] * 77 + from[3 * x + 1] * 150 + from[3 * x + 2] * 29) >> 8);
    }
}

static void render(void *user, int64_t i, int thread)
{
    struct work *w = user;
    const struct bd_bench_scene *scene = w->scene;
    struct bd_frame *frame = &w->frames[thread];
    size_t bytes = (size_t)scene->width * (size_t)scene->height * (size_t)scene->channels;
    w->status[i] = bd_synth_render(bd_synth_find("street"), scene->width, scene->height, 1,
                                   scene->first + (int)i, frame, NULL);
    if (!w->status[i])
        convert(w->pictures + bytes * (size_t)i, frame, scene);
}

enum bd_status bd_bench_render(struct bd_bench *bench, uint8_t **pictures,
                               const struct bd_bench_scene *scene)
{
    struct bd_pool *pool = NULL;
    enum bd_status status = bd_pool_create(&pool, bench->threads);
    const int64_t pixels = (int64_t)scene->width * scene->height;
    if (!*pictures)
        *pictures = bd_bench_memory(bench, pixels * scene->channels * scene->count, 1);
    struct bd_bench_held *const held = bench->held;
    struct work work = { .scene = scene, .pictures = *pictures };
    work.frames = bd_bench_memory(bench, bench->threads, sizeof *work.frames);
    work.status = bd_bench_memory(bench, scene->count, sizeof *work.status);
    if (!status && (!work.pictures || !work.frames || !work.status))
        status = bd_fail(BD_ERROR_MEMORY, "out of memory for %d pictures", scene->count);
    if (!status)
        bd_pool_run(pool, render, &work, scene->count);
    for (int i = 0; i < scene->count && !status; i++)
        if (work.status[i])
            status = bd_fail(work.status[i], "cannot render picture %d of the scene", i);
    for (int i = 0; i < bench->threads && work.frames; i++)
        bd_frame_destroy(&work.frames[i]);
    bd_pool_destroy(&pool);
    bd_bench_release(bench, held);
    return status;
}
