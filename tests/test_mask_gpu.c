/* The mask clean-up of the GPU against that of the CPU, bit for bit, on pictures that are hard for
 * it: noise of many densities, spirals, combs, rings, pictures of one pixel or one row. Then its
 * times. An argument chooses tests by name. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "gpu/mask.h"
#include "linalg/backend.h"
#include "linalg/cpu/mask.h"
#include "tests/quick.h"

static uint32_t random_bits(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Pictures are drawn with 1 and 0. */
typedef void draw_fn(uint8_t *mask, int width, int height, int argument);

static void draw_noise(uint8_t *mask, int width, int height, int percent)
{
    uint32_t seed = (uint32_t)(percent + 101 * width + 10007 * height);
    for (int i = 0; i < width * height; i++)
        mask[i] = random_bits(&seed) % 100 < (uint32_t)percent;
}

/* Discs and boxes, with one pixel in a hundred flipped: what a camera sees. */
static void draw_scene(uint8_t *mask, int width, int height, int shapes)
{
    uint32_t seed = (uint32_t)(shapes + 31 * width);
    memset(mask, 0, (size_t)width * (size_t)height);
    for (int s = 0; s < shapes; s++) {
        int cx = (int)(random_bits(&seed) % (uint32_t)width);
        int cy = (int)(random_bits(&seed) % (uint32_t)height);
        int r = 1 + (int)(random_bits(&seed) % (uint32_t)(1 + height / 8));
        for (int y = cy < r ? 0 : cy - r; y <= cy + r && y < height; y++)
            for (int x = cx < r ? 0 : cx - r; x <= cx + r && x < width; x++)
                if (s % 2 || (x - cx) * (x - cx) + (y - cy) * (y - cy) <= r * r)
                    mask[y * width + x] = s % 5 != 4;
    }
    for (int i = 0; i < width * height; i++)
        mask[i] ^= random_bits(&seed) % 100 == 0;
}

/* A path of one pixel that winds inwards, `gap` pixels between its turns. */
static void draw_spiral(uint8_t *mask, int width, int height, int gap)
{
    static const int dx[4] = { 1, 0, -1, 0 }, dy[4] = { 0, 1, 0, -1 };
    int x0 = 0, y0 = 0, x1 = width - 1, y1 = height - 1, x = 0, y = 0;
    memset(mask, 0, (size_t)width * (size_t)height);
    mask[0] = 1;
    for (int side = 0; x0 <= x1 && y0 <= y1; side++) {
        int k = side % 4;
        int steps = k == 0 ? x1 - x : k == 1 ? y1 - y : k == 2 ? x - x0 : y - y0;
        for (int s = 0; s < steps; s++) {
            x += dx[k];
            y += dy[k];
            mask[y * width + x] = 1;
        }
        /* The side just drawn is the border of what is left, a gap further in. */
        if (k == 0)
            y0 = y + gap + 1;
        else if (k == 1)
            x1 = x - gap - 1;
        else if (k == 2)
            y1 = y - gap - 1;
        else
            x0 = x + gap + 1;
    }
}

/* Vertical teeth, joined by the last row only. */
static void draw_comb(uint8_t *mask, int width, int height, int period)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            mask[y * width + x] = x % period == 0 || y == height - 1;
}

/* A path that goes to and fro. */
static void draw_winding(uint8_t *mask, int width, int height, int period)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int turn = y / period % 2 ? 0 : width - 1;
            mask[y * width + x] = y % period == 0 || x == turn;
        }
}

/* Diagonals: joined at corners, their complement parted there. */
static void draw_diagonals(uint8_t *mask, int width, int height, int period)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            mask[y * width + x] = (period > 0 ? x + y : x + 64 * 4096 - y) % abs(period) == 0;
}

/* Wide columns, whose edges are those of words of 32 pixels: 64 of them are set on one side alone.
 */
static void draw_columns(uint8_t *mask, int width, int height, int across)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            mask[y * width + x] = x / across % 2;
}

/* Rectangles within each other, holes within parts within holes. */
static void draw_rings(uint8_t *mask, int width, int height, int step)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int d = x < y ? x : y;
            d = d < width - 1 - x ? d : width - 1 - x;
            d = d < height - 1 - y ? d : height - 1 - y;
            mask[y * width + x] = d / step % 2 == 1;
        }
}

struct picture {
    const char *name;
    draw_fn *draw;
    int argument;
};
static const struct picture pictures[] = {
    { "empty", draw_noise, 0 },         { "noise 1 %", draw_noise, 1 },
    { "noise 20 %", draw_noise, 20 },   { "noise 41 %", draw_noise, 41 },
    { "noise 50 %", draw_noise, 50 },   { "noise 59 %", draw_noise, 59 },
    { "noise 95 %", draw_noise, 95 },   { "full", draw_noise, 100 },
    { "scene", draw_scene, 30 },        { "spiral", draw_spiral, 1 },
    { "wide spiral", draw_spiral, 5 },  { "comb", draw_comb, 2 },
    { "comb of 3", draw_comb, 3 },      { "winding", draw_winding, 2 },
    { "diagonals", draw_diagonals, 3 }, { "other diagonals", draw_diagonals, -2 },
    { "rings", draw_rings, 1 },         { "thick rings", draw_rings, 7 },
    { "columns", draw_columns, 64 },    { "narrow columns", draw_columns, 32 },
};
enum { picture_count = sizeof pictures / sizeof pictures[0] };

/* Both clean-ups for one size of picture. */
struct pair {
    int width, height;
    size_t count;
    struct bd_cuda *cuda;
    struct bd_cuda_mask *gpu;
    struct bd_mask_work *cpu;
    uint8_t *d_raw, *d_mask, *d_guard, *d_shadow, *d_difference, *d_told;
    int *d_foreground;
    uint8_t *raw, *mask, *guard, *got, *shadow, *plain, *difference, *told; /* host */
};

static struct bd_backend *backend;

static int open_gpu(void **state)
{
    (void)state;
    if (bd_backend_open(&backend, "cuda", 1) != BD_OK)
        print_message("skipped: %s\n", bd_error_detail());
    return 0;
}

static int close_gpu(void **state)
{
    (void)state;
    bd_backend_close(&backend);
    return 0;
}

static void pair_open(struct pair *p, int width, int height)
{
    if (!backend)
        skip();
    memset(p, 0, sizeof *p);
    p->width = width;
    p->height = height;
    p->count = (size_t)width * (size_t)height;
    p->cuda = bd_cuda_of(backend);
    assert_int_equal(bd_cuda_mask_create(p->cuda, width, height, &p->gpu), BD_OK);
    assert_int_equal(bd_mask_work_create(&p->cpu, width, height), BD_OK);
    assert_int_equal(cudaMalloc((void **)&p->d_raw, p->count), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&p->d_mask, p->count), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&p->d_guard, p->count), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&p->d_shadow, p->count), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&p->d_difference, p->count), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&p->d_told, p->count), cudaSuccess);
    assert_int_equal(cudaMalloc((void **)&p->d_foreground, sizeof(int)), cudaSuccess);
    uint8_t **const arrays[] = { &p->raw,    &p->mask,  &p->guard,      &p->got,
                                 &p->shadow, &p->plain, &p->difference, &p->told };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        assert_non_null(*arrays[i] = malloc(p->count));
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
    cudaFree(p->d_raw);
    cudaFree(p->d_mask);
    cudaFree(p->d_guard);
    cudaFree(p->d_shadow);
    cudaFree(p->d_difference);
    cudaFree(p->d_told);
    cudaFree(p->d_foreground);
    free(p->raw);
    free(p->mask);
    free(p->guard);
    free(p->got);
    free(p->shadow);
    free(p->plain);
    free(p->difference);
    free(p->told);
}

static void assert_same(struct pair *p, const uint8_t *d_got, const uint8_t *expected, int value,
                        const char *what, const char *name, const struct bd_detect_params *params)
{
    assert_int_equal(cudaMemcpy(p->got, d_got, p->count, cudaMemcpyDeviceToHost), cudaSuccess);
    for (size_t i = 0; i < p->count; i++)
        if (p->got[i] != expected[i] * value)
            fail_msg("%s of %s, %d x %d, median %d, area %d, hole %d, guard %d, plain %g, shadows "
                     "%d: (%zu, %zu) is %d and should be %d",
                     what, name, p->width, p->height, params->median, params->min_area,
                     params->max_hole, params->guard, (double)params->plain, params->shadows,
                     i % (size_t)p->width, i / (size_t)p->width, p->got[i], expected[i] * value);
}

/* p->mask, p->guard and p->told: those of the CPU for p->raw, 0 and 1; returns the set pixels.
 * Edges are trimmed unless params->plain < 0, and there are shadows with params->shadows. */
static int clean_on_cpu(struct pair *p, const struct bd_detect_params *params)
{
    int foreground = 0;
    for (size_t i = 0; i < p->count; i++)
        p->told[i] = params->shadows && p->shadow[i];
    for (size_t i = 0; i < p->count; i++)
        p->mask[i] = p->raw[i] && !p->told[i];
    bd_mask_median(p->cpu, p->mask, p->mask, params->median);
    bd_mask_remove_small(p->cpu, p->mask, params->min_area);
    bd_mask_fill_holes(p->cpu, p->mask, params->max_hole);
    if (params->plain >= 0)
        bd_mask_trim(p->cpu, p->mask, p->plain, p->difference);
    for (size_t i = 0; i < p->count; i++)
        p->got[i] = p->mask[i] | p->told[i];
    bd_mask_dilate(p->cpu, p->guard, p->got, params->guard);
    bd_mask_median(p->cpu, p->told, p->told, params->median);
    for (size_t i = 0; i < p->count; i++) {
        p->told[i] &= !p->mask[i];
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
    cudaMemset(p->d_told, 0x5a, p->count);
    cudaMemset(p->d_mask, 0x5a, p->count);
    cudaMemset(p->d_guard, 0x5a, p->count);
    cudaMemset(p->d_foreground, 0x5a, sizeof(int));
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
}

static void compare(struct pair *p, const char *name, const struct bd_detect_params *params)
{
    int expected = clean_on_cpu(p, params), foreground = -1;
    assert_int_equal(cudaStreamSynchronize(p->cuda->stream), cudaSuccess);
    assert_same(p, p->d_mask, p->mask, 255, "mask", name, params);
    assert_same(p, p->d_guard, p->guard, 1, "guard", name, params);
    assert_same(p, p->d_told, p->told, 255, "shadows", name, params);
    cudaMemcpy(&foreground, p->d_foreground, sizeof foreground, cudaMemcpyDeviceToHost);
    assert_int_equal(foreground, expected);
}

static enum bd_status clean_on_gpu(struct pair *p, const struct bd_detect_params *params)
{
    const struct bd_cuda_mask_pictures all = {
        .mask = p->d_mask,
        .guard = p->d_guard,
        .shadow_mask = p->d_told,
        .foreground = p->d_foreground,
        .raw = p->d_raw,
        .shadow = params->shadows ? p->d_shadow : NULL,
        .difference = params->plain >= 0 ? p->d_difference : NULL,
    };
    return bd_cuda_mask_clean(p->gpu, &all, params);
}

static void check(struct pair *p, const char *name, const struct bd_detect_params *params)
{
    load_gpu(p);
    assert_int_equal(clean_on_gpu(p, params), BD_OK);
    compare(p, name, params);
}

/* Case number k of the settings: each value of each of them turns up. */
static struct bd_detect_params settings(int k, int count)
{
    const int areas[] = { 0, 1, 2, 5, 40, count, INT_MAX };
    const int holes[] = { 0, 1, 2, 30, INT_MAX };
    const int guards[] = { 0, 1, 4, 31, 32, 33, 67, 200, 100000 };
    return (struct bd_detect_params){ .median = 1 + 2 * (k % 8),
                                      .min_area = areas[k % 7],
                                      .max_hole = holes[k % 5],
                                      .guard = guards[k % 9],
                                      .plain = k % 3 ? 0.3F : -1,
                                      .shadows = k / 2 % 2 };
}

static const struct {
    int width, height;
} sizes[] = {
    { 1, 1 },   { 1, 9 },    { 17, 1 },   { 300, 1 },  { 1, 300 },  { 2, 2 },    { 31, 7 },
    { 33, 65 }, { 256, 64 }, { 257, 65 }, { 255, 63 }, { 512, 40 }, { 64, 200 }, { 290, 140 },
};

/* Small pictures, few settings. */
static void test_small(void **state)
{
    (void)state;
    int k = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        struct pair p;
        pair_open(&p, sizes[s].width, sizes[s].height);
        for (int n = 0; n < picture_count; n += test_quick() ? 4 : 1, k++) {
            struct bd_detect_params params = settings(k, (int)p.count / 3);
            pictures[n].draw(p.raw, p.width, p.height, pictures[n].argument);
            check(&p, pictures[n].name, &params);
            /* Components of the picture as it is drawn. */
            params =
                (struct bd_detect_params){ .median = 1, .min_area = 4, .max_hole = 9, .plain = -1 };
            check(&p, pictures[n].name, &params);
        }
        pair_close(&p);
    }
}

/* Pictures of many tiles, settings in many combinations; areas just at the limit. */
static void test_large(void **state)
{
    (void)state;
    static const int large[][2] = { { 960, 540 }, { 1366, 768 }, { 700, 1003 } };
    for (size_t s = 0; s < (test_quick() ? 1 : sizeof large / sizeof large[0]); s++) {
        struct pair p;
        pair_open(&p, large[s][0], large[s][1]);
        for (int n = 0; n < picture_count; n += test_quick() ? 5 : 1) {
            int set = 0;
            pictures[n].draw(p.raw, p.width, p.height, pictures[n].argument);
            for (size_t i = 0; i < p.count; i++)
                set += p.raw[i];
            for (int k = 0; k < 8; k += test_quick() ? 3 : 1) {
                struct bd_detect_params params = settings(k + 9 * n, (int)p.count / 3);
                check(&p, pictures[n].name, &params);
            }
            for (int more = 0; more < 2; more++) {
                struct bd_detect_params params = { .median = 1,
                                                   .min_area = set + more,
                                                   .plain = -1 };
                check(&p, pictures[n].name, &params);
                params = (struct bd_detect_params){ .median = 1,
                                                    .max_hole = (int)p.count - set - more,
                                                    .plain = -1 };
                check(&p, pictures[n].name, &params);
            }
        }
        pair_close(&p);
    }
}

/* Guards that need several goes over the columns. */
static void test_guards(void **state)
{
    (void)state;
    struct pair p;
    pair_open(&p, 40, 1500);
    for (int guard = 180; guard < 1600; guard += guard < 200 ? 6 : 190) {
        struct bd_detect_params params = { .median = 1, .guard = guard, .plain = -1 };
        memset(p.raw, 0, p.count);
        p.raw[700 * p.width + 3] = p.raw[1499 * p.width + 39] = 1;
        check(&p, "two pixels", &params);
    }
    pair_close(&p);
}

/* The mask may take the place of the raw picture, and a graph may be captured and replayed. */
static void test_graph(void **state)
{
    (void)state;
    struct pair p;
    struct bd_detect_params params = {
        .median = 5, .min_area = 60, .max_hole = 900, .guard = 30, .plain = -1, .shadows = 1
    };
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    pair_open(&p, 640, 360);
    draw_scene(p.raw, p.width, p.height, 20);
    load_gpu(&p);
    assert_int_equal(cudaStreamBeginCapture(p.cuda->stream, cudaStreamCaptureModeThreadLocal),
                     cudaSuccess);
    const struct bd_cuda_mask_pictures in_place = { .mask = p.d_raw,
                                                    .guard = p.d_guard,
                                                    .shadow_mask = p.d_told,
                                                    .foreground = p.d_foreground,
                                                    .raw = p.d_raw,
                                                    .shadow = p.d_shadow };
    assert_int_equal(bd_cuda_mask_clean(p.gpu, &in_place, &params), BD_OK);
    assert_int_equal(cudaStreamEndCapture(p.cuda->stream, &graph), cudaSuccess);
    assert_int_equal(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    for (int shapes = 20; shapes < 24; shapes++) {
        draw_scene(p.raw, p.width, p.height, shapes);
        load_gpu(&p);
        assert_int_equal(cudaGraphLaunch(exec, p.cuda->stream), cudaSuccess);
        assert_int_equal(
            cudaMemcpyAsync(p.d_mask, p.d_raw, p.count, cudaMemcpyDeviceToDevice, p.cuda->stream),
            cudaSuccess);
        compare(&p, "scene", &params);
    }
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    pair_close(&p);
}

/* Failures in each allocation, set-up call and launch: told, and nothing left behind. */
static void test_faults(void **state)
{
    (void)state;
    struct pair p;
    struct bd_cuda_mask *mask = NULL;
    struct bd_detect_params params = {
        .median = 5, .min_area = 60, .max_hole = 900, .guard = 30, .shadows = 1
    };
    pair_open(&p, 640, 360);
    draw_scene(p.raw, p.width, p.height, 20);
    load_gpu(&p);
    bd_cuda_inject(cudaErrorMemoryAllocation, 0);
    assert_int_equal(bd_cuda_mask_create(p.cuda, 640, 360, &mask), BD_ERROR_MEMORY);
    assert_null(mask);
    bd_cuda_inject(cudaErrorUnknown, 0);
    assert_int_equal(bd_cuda_mask_create(p.cuda, 640, 360, &mask), BD_ERROR_BACKEND);
    assert_null(mask);
    for (int launch = 0; launch < 9; launch++) {
        bd_cuda_inject(cudaErrorUnknown, launch);
        assert_int_equal(clean_on_gpu(&p, &params), BD_ERROR_BACKEND);
    }
    bd_cuda_inject(cudaSuccess, 0);
    check(&p, "scene", &params);
    pair_close(&p);
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

/* Times with the default settings of the separator; without the filter, which leaves more
 * components and edges; and with nothing trimmed. The results must be right again. */
static void test_time(void **state)
{
    (void)state;
    if (test_quick())
        skip();
    static const int large[][2] = { { 1920, 1080 }, { 1918, 1080 }, { 3840, 2160 } };
    for (size_t s = 0; s < sizeof large / sizeof large[0]; s++) {
        struct pair p;
        pair_open(&p, large[s][0], large[s][1]);
        for (int n = 0; n < picture_count; n++) {
            struct bd_detect_params params = { .median = 5,
                                               .min_area = (int)p.count / 3000,
                                               .max_hole = (int)p.count / 150,
                                               .guard = p.height / 16 };
            float ms[3];
            pictures[n].draw(p.raw, p.width, p.height, pictures[n].argument);
            load_gpu(&p);
            ms[0] = time_on_gpu(&p, &params);
            params.median = 1;
            ms[1] = time_on_gpu(&p, &params);
            params.median = 5;
            params.plain = -1;
            ms[2] = time_on_gpu(&p, &params);
            struct timespec from, to;
            clock_gettime(CLOCK_MONOTONIC, &from);
            compare(&p, pictures[n].name, &params);
            clock_gettime(CLOCK_MONOTONIC, &to);
            print_message(
                "%4d x %4d %-16s %.4f ms, without median %.4f, without trimming %.4f; CPU "
                "%.0f ms\n",
                p.width, p.height, pictures[n].name, (double)ms[0], (double)ms[1], (double)ms[2],
                1e3 * (double)(to.tv_sec - from.tv_sec) +
                    1e-6 * (double)(to.tv_nsec - from.tv_nsec));
        }
        pair_close(&p);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small), cmocka_unit_test(test_large),  cmocka_unit_test(test_guards),
        cmocka_unit_test(test_graph), cmocka_unit_test(test_faults), cmocka_unit_test(test_time),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
