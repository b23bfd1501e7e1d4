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
};
enum { picture_count = sizeof pictures / sizeof pictures[0] };

/* Both clean-ups for one size of picture. */
struct pair {
    int width, height;
    size_t count;
    struct bd_cuda *cuda;
    struct bd_cuda_mask *gpu;
    struct bd_mask_work *cpu;
    uint8_t *d_raw, *d_mask, *d_guard;
    int *d_foreground;
    uint8_t *raw, *mask, *guard, *got; /* host */
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
    assert_int_equal(cudaMalloc((void **)&p->d_foreground, sizeof(int)), cudaSuccess);
    p->raw = malloc(p->count);
    p->mask = malloc(p->count);
    p->guard = malloc(p->count);
    p->got = malloc(p->count);
}

static void pair_close(struct pair *p)
{
    bd_cuda_mask_destroy(p->gpu);
    bd_mask_work_destroy(&p->cpu);
    cudaFree(p->d_raw);
    cudaFree(p->d_mask);
    cudaFree(p->d_guard);
    cudaFree(p->d_foreground);
    free(p->raw);
    free(p->mask);
    free(p->guard);
    free(p->got);
}

static void assert_same(struct pair *p, const uint8_t *d_got, const uint8_t *expected, int value,
                        const char *what, const char *name, const struct bd_detect_params *params)
{
    assert_int_equal(cudaMemcpy(p->got, d_got, p->count, cudaMemcpyDeviceToHost), cudaSuccess);
    for (size_t i = 0; i < p->count; i++)
        if (p->got[i] != expected[i] * value)
            fail_msg("%s of %s, %d x %d, median %d, area %d, hole %d, guard %d: (%zu, %zu) is %d "
                     "and should be %d",
                     what, name, p->width, p->height, params->median, params->min_area,
                     params->max_hole, params->guard, i % (size_t)p->width, i / (size_t)p->width,
                     p->got[i], expected[i] * value);
}

/* p->mask and p->guard: those of the CPU for p->raw, 0 and 1; returns the set pixels. */
static int clean_on_cpu(struct pair *p, const struct bd_detect_params *params)
{
    int foreground = 0;
    bd_mask_median(p->cpu, p->mask, p->raw, params->median);
    bd_mask_remove_small(p->cpu, p->mask, params->min_area);
    bd_mask_fill_holes(p->cpu, p->mask, params->max_hole);
    bd_mask_dilate(p->cpu, p->guard, p->mask, params->guard);
    for (size_t i = 0; i < p->count; i++)
        foreground += p->mask[i];
    return foreground;
}

/* p->raw to the GPU, whose lowest bit alone counts, and results of before poisoned. */
static void load_gpu(struct pair *p)
{
    for (size_t i = 0; i < p->count; i++)
        p->got[i] = (uint8_t)(i % 3 == 0 ? p->raw[i] : -p->raw[i]);
    assert_int_equal(cudaMemcpy(p->d_raw, p->got, p->count, cudaMemcpyHostToDevice), cudaSuccess);
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
    cudaMemcpy(&foreground, p->d_foreground, sizeof foreground, cudaMemcpyDeviceToHost);
    assert_int_equal(foreground, expected);
}

static void check(struct pair *p, const char *name, const struct bd_detect_params *params)
{
    load_gpu(p);
    assert_int_equal(
        bd_cuda_mask_clean(p->gpu, p->d_mask, p->d_guard, p->d_raw, params, p->d_foreground),
        BD_OK);
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
                                      .guard = guards[k % 9] };
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
            params = (struct bd_detect_params){ .median = 1, .min_area = 4, .max_hole = 9 };
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
                struct bd_detect_params params = { .median = 1, .min_area = set + more };
                check(&p, pictures[n].name, &params);
                params =
                    (struct bd_detect_params){ .median = 1, .max_hole = (int)p.count - set - more };
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
        struct bd_detect_params params = { .median = 1, .guard = guard };
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
    struct bd_detect_params params = { .median = 5, .min_area = 60, .max_hole = 900, .guard = 30 };
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    pair_open(&p, 640, 360);
    draw_scene(p.raw, p.width, p.height, 20);
    load_gpu(&p);
    assert_int_equal(cudaStreamBeginCapture(p.cuda->stream, cudaStreamCaptureModeThreadLocal),
                     cudaSuccess);
    assert_int_equal(
        bd_cuda_mask_clean(p.gpu, p.d_raw, p.d_guard, p.d_raw, &params, p.d_foreground), BD_OK);
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
    struct bd_detect_params params = { .median = 5, .min_area = 60, .max_hole = 900, .guard = 30 };
    pair_open(&p, 640, 360);
    draw_scene(p.raw, p.width, p.height, 20);
    load_gpu(&p);
    bd_cuda_inject(cudaErrorMemoryAllocation, 0);
    assert_int_equal(bd_cuda_mask_create(p.cuda, 640, 360, &mask), BD_ERROR_MEMORY);
    assert_null(mask);
    bd_cuda_inject(cudaErrorUnknown, 0);
    assert_int_equal(bd_cuda_mask_create(p.cuda, 640, 360, &mask), BD_ERROR_BACKEND);
    assert_null(mask);
    for (int launch = 0; launch < 8; launch++) {
        bd_cuda_inject(cudaErrorUnknown, launch);
        assert_int_equal(
            bd_cuda_mask_clean(p.gpu, p.d_mask, p.d_guard, p.d_raw, &params, p.d_foreground),
            BD_ERROR_BACKEND);
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
    bd_cuda_mask_clean(p->gpu, p->d_mask, p->d_guard, p->d_raw, params, p->d_foreground);
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

/* Times with the default settings of the separator and without the filter, which leaves more
 * components; the results must be right again. */
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
            float ms[2];
            pictures[n].draw(p.raw, p.width, p.height, pictures[n].argument);
            load_gpu(&p);
            ms[0] = time_on_gpu(&p, &params);
            params.median = 1;
            ms[1] = time_on_gpu(&p, &params);
            struct timespec from, to;
            clock_gettime(CLOCK_MONOTONIC, &from);
            compare(&p, pictures[n].name, &params);
            clock_gettime(CLOCK_MONOTONIC, &to);
            print_message("%4d x %4d %-16s %.4f ms, without median %.4f ms; CPU %.0f ms\n", p.width,
                          p.height, pictures[n].name, ms[0], ms[1],
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
