#include "app/bench/scene.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "video/synth/synth.h"

enum { most_threads = 64 };

/* What one thread renders: every `step`-th picture from `offset` on. */
struct share {
    const struct bd_bench_scene *scene;
    uint8_t *pictures;
    int offset, step;
    enum bd_status status;
    char detail[256]; /* of a failure: details belong to a thread */
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

static void *render_share(void *user)
{
    struct share *share = user;
    const struct bd_bench_scene *scene = share->scene;
    const struct bd_synth_scene *street = bd_synth_find("street");
    size_t bytes = (size_t)scene->width * (size_t)scene->height * (size_t)scene->channels;
    struct bd_frame frame = { 0 };
    for (int i = share->offset; i < scene->count && !share->status; i += share->step) {
        share->status =
            bd_synth_render(street, scene->width, scene->height, 1, scene->first + i, &frame, NULL);
        if (!share->status)
            convert(share->pictures + bytes * (size_t)i, &frame, scene);
    }
    if (share->status)
        snprintf(share->detail, sizeof share->detail, "%s", bd_error_detail());
    bd_frame_destroy(&frame);
    return NULL;
}

enum bd_status bd_bench_render(uint8_t **pictures, const struct bd_bench_scene *scene)
{
    struct share shares[most_threads] = { 0 };
    pthread_t threads[most_threads];
    bool started[most_threads] = { false };
    int count = scene->threads < 1              ? 1
                : scene->threads > most_threads ? most_threads
                                                : scene->threads;
    enum bd_status status = BD_OK;
    *pictures = malloc((size_t)scene->width * (size_t)scene->height * (size_t)scene->channels *
                       (size_t)scene->count);
    if (!*pictures)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for %d pictures", scene->count);
    for (int i = 0; i < count; i++)
        shares[i] =
            (struct share){ .scene = scene, .pictures = *pictures, .offset = i, .step = count };
    for (int i = 1; i < count; i++)
        started[i] = pthread_create(&threads[i], NULL, render_share, &shares[i]) == 0;
    for (int i = 0; i < count; i++) /* this thread's share, and of threads that did not start */
        if (!started[i])
            render_share(&shares[i]);
    for (int i = 0; i < count; i++) {
        if (started[i])
            pthread_join(threads[i], NULL);
        if (shares[i].status && !status)
            status = bd_fail(shares[i].status, "%s", shares[i].detail);
    }
    if (status) {
        free(*pictures);
        *pictures = NULL;
    }
    return status;
}
