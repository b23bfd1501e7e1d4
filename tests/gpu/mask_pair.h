/* The mask clean-up of the GPU beside that of the CPU. */
#ifndef BD_TESTS_GPU_MASK_PAIR_H
#define BD_TESTS_GPU_MASK_PAIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/separation/mask/mask.h"
#include "separation/cpu/mask.h"
#include "separation/cpu/mirror.h"
#include "separation/shared/contact_shadow.h"
#include "tests/gpu/group.h"
#include "tests/support/mask_pictures.h"

/* Both clean-ups for one size of picture. */
struct pair {
    int width, height;
    size_t count;
    struct bd_cuda *cuda;
    struct bd_cuda_mask *gpu;
    struct bd_pool *pool;
    struct bd_mask_work *cpu;
    uint8_t *d_raw, *d_mask, *d_guard, *d_shadow, *d_difference, *d_shown;
    int *d_foreground;
    uint8_t *raw, *mask, *guard, *got, *shadow, *plain, *difference, *shown; /* host */
    /* For contact shadows: */
    int channels; /* of frame and background; 0: they are not looked for */
    uint8_t *frame, *background, *all, *d_frame, *d_background, *d_all;
    int64_t cut;      /* pixels, by the CPU */
    uint8_t *lasting; /* of the CPU; the GPU has its own */
    /* For mirror images; they are looked for if `mirrors`, with three channels only. */
    bool mirrors;
    unsigned look;                  /* number of the frame */
    struct bd_mirror_places places; /* those of the CPU; the GPU gets them with each picture */
    uint8_t *image;
    struct bd_mirror_counts *d_counts;
    uint8_t *d_map;
    int *d_any;
};

static size_t pair_cells(const struct pair *p)
{
    return (size_t)p->places.across * (size_t)p->places.down;
}

static void pair_open(struct pair *p, int width, int height)
{
    need_gpu();
    memset(p, 0, sizeof *p);
    p->width = width;
    p->height = height;
    p->count = (size_t)width * (size_t)height;
    p->cuda = bd_cuda_of(backend);
    assert_int_equal(bd_cuda_mask_create(p->cuda, width, height, &p->gpu), BD_OK);
    assert_int_equal(bd_pool_create(&p->pool, 1), BD_OK);
    assert_int_equal(bd_mask_work_create(&p->cpu, p->pool, width, height), BD_OK);
    uint8_t **const on_gpu[] = { &p->d_raw,        &p->d_mask,  &p->d_guard, &p->d_shadow,
                                 &p->d_difference, &p->d_shown, &p->d_all };
    for (size_t i = 0; i < sizeof on_gpu / sizeof *on_gpu; i++)
        assert_int_equal(cudaMalloc((void **)on_gpu[i], p->count), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&p->d_frame, 3 * p->count), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&p->d_background, 3 * p->count), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&p->d_foreground, sizeof(int)), cudaSuccess);
    assert_int_equal(bd_mirror_create(&p->places, width, height), BD_OK);
    size_t counts = pair_cells(p) * sizeof *p->d_counts;
    assert_int_equal(cudaMalloc((void **)&p->d_counts, counts), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&p->d_map, pair_cells(p)), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&p->d_any, sizeof(int)), cudaSuccess);
    uint8_t **const arrays[] = { &p->raw,    &p->mask,  &p->guard,      &p->got,
                                 &p->shadow, &p->plain, &p->difference, &p->shown,
                                 &p->all,    &p->image, &p->lasting };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        assert_non_null(*arrays[i] = malloc(p->count));
    memset(p->lasting, bd_mask_lasting, p->count);
    assert_int_equal(bd_cuda_mask_forget(p->gpu), BD_OK);
    assert_non_null(p->frame = malloc(3 * p->count));
    assert_non_null(p->background = malloc(3 * p->count));
    /* Blocks of shadows, and differences that nothing in the pictures explains. */
    uint32_t seed = (uint32_t)(7 * width + height);
    for (size_t i = 0; i < p->count; i++) {
        uint32_t block = (uint32_t)(i / (size_t)width / 7 * 977 + i % (size_t)width / 5);
        p->shadow[i] = random_bits(&block) % 6 == 0 && random_bits(&seed) % 8;
        p->plain[i] = random_bits(&seed) % 2;
        p->difference[i] = (uint8_t)random_bits(&seed);
    }
}

static void pair_close(struct pair *p)
{
    bd_cuda_mask_destroy(p->gpu);
    bd_mask_work_destroy(&p->cpu);
    bd_pool_destroy(&p->pool);
    bd_mirror_destroy(&p->places);
    void *const on_gpu[] = { p->d_raw,    p->d_mask, p->d_guard, p->d_shadow,     p->d_difference,
                             p->d_shown,  p->d_all,  p->d_frame, p->d_background, p->d_foreground,
                             p->d_counts, p->d_map,  p->d_any };
    for (size_t i = 0; i < sizeof on_gpu / sizeof *on_gpu; i++)
        cudaFree(on_gpu[i]);
    void *const arrays[] = { p->raw,        p->mask,       p->guard,  p->got, p->shadow,
                             p->plain,      p->difference, p->shown,  p->all, p->frame,
                             p->background, p->image,      p->lasting };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
}

static void assert_same(struct pair *p, const uint8_t *d_got, const uint8_t *expected, int value,
                        const char *what, const char *name, const struct bd_detect_params *params)
{
    assert_int_equal(cudaMemcpy(p->got, d_got, p->count, cudaMemcpyDeviceToHost), cudaSuccess);
    for (size_t i = 0; i < p->count; i++)
        if (p->got[i] != expected[i] * value)
            fail_msg("%s of %s, %d x %d, median %d, area %d, hole %d, guard %d, plain %g, shadows "
                     "%d, channels %d: (%zu, %zu) is %d and should be %d",
                     what, name, p->width, p->height, params->median, params->min_area,
                     params->max_hole, params->guard, (double)params->plain, params->shadows,
                     p->channels, i % (size_t)p->width, i / (size_t)p->width, p->got[i],
                     expected[i] * value);
}

/* p->mask, p->guard, p->all and p->shown: those of the CPU for p->raw, 0 and 1; returns the set
 * pixels. Edges are trimmed unless params->plain < 0, and there are shadows with params->shadows.
 */
static int clean_on_cpu(struct pair *p, const struct bd_detect_params *params)
{
    int foreground = 0;
    for (size_t i = 0; i < p->count; i++)
        p->all[i] = params->shadows && p->shadow[i];
    for (size_t i = 0; i < p->count; i++)
        p->mask[i] = p->raw[i] && !p->all[i];
    bd_mask_median(p->cpu, p->mask, p->mask, params->median);
    bd_mask_remove_small(p->cpu, p->mask, p->lasting, params->lasting, params->min_area);
    bd_mask_fill_holes(p->cpu, p->mask, params->max_hole);
    p->cut = 0;
    if (p->channels) {
        for (size_t i = 0; i < p->count; i++)
            p->cut += p->mask[i];
        bool mirrored =
            p->mirrors && bd_mirror_find(p->cpu, p->image, &p->places, p->mask, p->frame,
                                         p->background, bd_mirror_is_evidence(p->look));
        bd_contact_shadow_cut(p->cpu, p->mask, p->all, p->frame, p->background, p->channels);
        for (size_t i = 0; mirrored && i < p->count; i++) {
            p->mask[i] &= !p->image[i];
            p->all[i] |= p->image[i];
        }
        for (size_t i = 0; i < p->count; i++)
            p->cut -= p->mask[i];
    }
    if (params->plain >= 0)
        bd_mask_trim(p->cpu, p->mask, p->plain, p->difference);
    for (size_t i = 0; i < p->count; i++)
        p->got[i] = p->mask[i] | p->all[i];
    bd_mask_dilate(p->cpu, p->guard, p->got, params->guard);
    bd_mask_median(p->cpu, p->shown, p->all, params->median);
    for (size_t i = 0; i < p->count; i++) {
        p->shown[i] &= !p->mask[i];
        foreground += p->mask[i];
    }
    return foreground;
}

/* p->raw to the GPU, with flags that do not count here, and results of before poisoned. */
static void load_gpu(struct pair *p)
{
    for (size_t i = 0; i < p->count; i++)
        p->got[i] = (uint8_t)((p->raw[i] ? bd_cuda_mask_set : 0) |
                              (p->plain[i] ? bd_cuda_mask_plain : 0) | (i % 3 ? 0xfc : 0));
    assert_int_equal(cudaMemcpy(p->d_raw, p->got, p->count, cudaMemcpyHostToDevice), cudaSuccess);
    cudaMemcpy(p->d_shadow, p->shadow, p->count, cudaMemcpyHostToDevice);
    cudaMemcpy(p->d_difference, p->difference, p->count, cudaMemcpyHostToDevice);
    if (p->channels) {
        size_t bytes = p->count * (size_t)p->channels;
        cudaMemcpy(p->d_frame, p->frame, bytes, cudaMemcpyHostToDevice);
        cudaMemcpy(p->d_background, p->background, bytes, cudaMemcpyHostToDevice);
    }
    int any = p->places.any;
    cudaMemcpy(p->d_counts, p->places.counts, pair_cells(p) * sizeof *p->d_counts,
               cudaMemcpyHostToDevice);
    cudaMemcpy(p->d_map, p->places.map, pair_cells(p), cudaMemcpyHostToDevice);
    cudaMemcpy(p->d_any, &any, sizeof any, cudaMemcpyHostToDevice);
    cudaMemset(p->d_shown, 0x5a, p->count);
    cudaMemset(p->d_all, 0x5a, p->count);
    cudaMemset(p->d_mask, 0x5a, p->count);
    cudaMemset(p->d_guard, 0x5a, p->count);
    cudaMemset(p->d_foreground, 0x5a, sizeof(int));
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
}

/* Where all shadows are: in the place of those that are given, with params->shadows 2. */
static uint8_t *all_shadow_of(const struct pair *p, const struct bd_detect_params *params)
{
    return !p->channels ? NULL : params->shadows == 2 ? p->d_shadow : p->d_all;
}

/* The evidence of the GPU is that of the CPU. */
static void compare_places(struct pair *p)
{
    size_t bytes = pair_cells(p) * sizeof *p->d_counts;
    struct bd_mirror_counts *counts = malloc(bytes);
    assert_non_null(counts);
    assert_int_equal(cudaMemcpy(counts, p->d_counts, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    assert_memory_equal(counts, p->places.counts, bytes);
    free(counts);
}

static void compare(struct pair *p, const char *name, const struct bd_detect_params *params)
{
    int expected = clean_on_cpu(p, params), foreground = -1;
    assert_int_equal(cudaStreamSynchronize(p->cuda->stream), cudaSuccess);
    assert_same(p, p->d_mask, p->mask, 255, "mask", name, params);
    if (p->channels)
        assert_same(p, all_shadow_of(p, params), p->all, 1, "all shadows", name, params);
    assert_same(p, p->d_guard, p->guard, 1, "guard", name, params);
    assert_same(p, p->d_shown, p->shown, 255, "shadows", name, params);
    cudaMemcpy(&foreground, p->d_foreground, sizeof foreground, cudaMemcpyDeviceToHost);
    assert_int_equal(foreground, expected);
    if (p->mirrors)
        compare_places(p);
}

static struct bd_cuda_mask_pictures gpu_pictures(const struct pair *p,
                                                 const struct bd_detect_params *params)
{
    return (struct bd_cuda_mask_pictures){
        .mask = p->d_mask,
        .guard = p->d_guard,
        .shadow_mask = p->d_shown,
        .all_shadow = all_shadow_of(p, params),
        .foreground = p->d_foreground,
        .raw = p->d_raw,
        .shadow = params->shadows ? p->d_shadow : NULL,
        .difference = params->plain >= 0 ? p->d_difference : NULL,
        .frame = p->d_frame,
        .background = p->d_background,
        .channels = p->channels,
        .mirrors = { .counts = p->mirrors ? p->d_counts : NULL,
                     .map = p->d_map,
                     .any = p->d_any,
                     .look = p->look,
                     .learn = 1,
                     .across = p->places.across,
                     .power = p->places.power },
    };
}

/* Both parts; one call takes one turn, the next the other. */
static enum bd_status clean_pictures(struct pair *p, const struct bd_cuda_mask_pictures *all,
                                     const struct bd_detect_params *params)
{
    static int turn;
    turn = (turn + 1) % bd_cuda_mask_turns;
    const enum bd_status status = bd_cuda_mask_filter(p->gpu, turn, all, params);
    return status == BD_OK ? bd_cuda_mask_clean(p->gpu, turn, all, params) : status;
}

static enum bd_status clean_on_gpu(struct pair *p, const struct bd_detect_params *params)
{
    const struct bd_cuda_mask_pictures all = gpu_pictures(p, params);
    return clean_pictures(p, &all, params);
}

static void check(struct pair *p, const char *name, const struct bd_detect_params *params)
{
    load_gpu(p);
    assert_int_equal(clean_on_gpu(p, params), BD_OK);
    compare(p, name, params);
}

/* A failure in each of the launches of a clean-up is reported, and leaves nothing behind: the next
 * is right. */
static void check_faults(struct pair *p, const char *name, const struct bd_detect_params *params,
                         int launches)
{
    load_gpu(p);
    for (int launch = 0; launch < launches; launch++) {
        bd_cuda_inject(cudaErrorUnknown, launch);
        assert_int_equal(clean_on_gpu(p, params), BD_ERROR_BACKEND);
    }
    bd_cuda_inject(cudaSuccess, 0);
    /* What was launched before the failures still counts evidence. */
    assert_int_equal(cudaStreamSynchronize(p->cuda->stream), cudaSuccess);
    check(p, name, params);
}

/* The separator's default settings for pictures of this size. */
static struct bd_detect_params default_params(const struct pair *p)
{
    return (struct bd_detect_params){ .median = 5,
                                      .min_area = (int)p->count / 3000,
                                      .max_hole = (int)p->count / 150,
                                      .guard = p->height / 16 };
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Median time in ms of a clean-up, of 21 replays of a graph (what the separator does). */
static float time_on_gpu(struct pair *p, const struct bd_detect_params *params)
{
    enum { times = 21 };
    float ms[times];
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaStreamBeginCapture(p->cuda->stream, cudaStreamCaptureModeThreadLocal);
    clean_on_gpu(p, params);
    cudaStreamEndCapture(p->cuda->stream, &graph);
    assert_int_equal(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    for (int i = -3; i < times; i++) {
        cudaEventRecord(start, p->cuda->stream);
        cudaGraphLaunch(exec, p->cuda->stream);
        cudaEventRecord(stop, p->cuda->stream);
        assert_int_equal(cudaEventSynchronize(stop), cudaSuccess);
        if (i >= 0)
            cudaEventElapsedTime(&ms[i], start, stop);
    }
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    qsort(ms, times, sizeof *ms, by_value);
    return ms[times / 2];
}

#endif
