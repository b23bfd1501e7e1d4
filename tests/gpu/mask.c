/* The mask clean-up of the GPU against that of the CPU, bit for bit, on pictures that are hard for
 * it: noise of many densities, spirals, combs, rings, pictures of one pixel or one row. Then its
 * times. An argument chooses tests by name. */
#include <limits.h>

#include "base/clock.h"
#include "tests/gpu/mask_pair.h"
#include "tests/support/quick.h"

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

/* Frames of a film, whose small components must last: shapes that stay, and dots that jump. */
static void test_lasting(void **state)
{
    (void)state;
    struct pair p;
    pair_open(&p, 700, 200);
    for (int frame = 0; frame < 16; frame++) {
        struct bd_detect_params params = { .median = 1,
                                           .min_area = 9,
                                           .lasting = frame % 8 == 5 ? 0 : 2 + frame % 3,
                                           .max_hole = frame % 2 ? 40 : 0,
                                           .plain = -1 };
        uint32_t seed = (uint32_t)frame / 6;
        memset(p.raw, 0, p.count);
        for (int k = 0; k < 300; k++) {
            if (k == 150)
                seed = (uint32_t)frame + 100;
            int side = 1 + (int)(random_bits(&seed) % 12);
            int x = (int)(random_bits(&seed) % (unsigned)(p.width - side));
            int y = (int)(random_bits(&seed) % (unsigned)(p.height - side));
            for (int row = y; row < y + side; row++)
                memset(p.raw + row * p.width + x, 1, (size_t)side);
        }
        check(&p, "frames", &params);
    }
    pair_close(&p);
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
                                                    .shadow_mask = p.d_shown,
                                                    .foreground = p.d_foreground,
                                                    .raw = p.d_raw,
                                                    .shadow = p.d_shadow };
    assert_int_equal(clean_pictures(&p, &in_place, &params), BD_OK);
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

/* Failures in each allocation, set-up call and launch: reported, and nothing left behind. */
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
    bd_cuda_inject(cudaErrorMemoryAllocation, 0);
    assert_int_equal(bd_cuda_mask_create(p.cuda, 640, 360, &mask), BD_ERROR_MEMORY);
    assert_null(mask);
    bd_cuda_inject(cudaErrorUnknown, 0);
    assert_int_equal(bd_cuda_mask_create(p.cuda, 640, 360, &mask), BD_ERROR_BACKEND);
    assert_null(mask);
    check_faults(&p, "scene", &params, 9);
    pair_close(&p);
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
            struct bd_detect_params params = default_params(&p);
            float ms[3];
            pictures[n].draw(p.raw, p.width, p.height, pictures[n].argument);
            load_gpu(&p);
            ms[0] = time_on_gpu(&p, &params);
            params.median = 1;
            ms[1] = time_on_gpu(&p, &params);
            params.median = 5;
            params.plain = -1;
            ms[2] = time_on_gpu(&p, &params);
            double begin = bd_clock_seconds();
            compare(&p, pictures[n].name, &params);
            double seconds = bd_clock_seconds() - begin;
            print_message(
                "%4d x %4d %-16s %.4f ms, without median %.4f, without trimming %.4f; CPU "
                "%.0f ms\n",
                p.width, p.height, pictures[n].name, (double)ms[0], (double)ms[1], (double)ms[2],
                1e3 * seconds);
        }
        pair_close(&p);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),  cmocka_unit_test(test_large), cmocka_unit_test(test_lasting),
        cmocka_unit_test(test_guards), cmocka_unit_test(test_graph), cmocka_unit_test(test_faults),
        cmocka_unit_test(test_time),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_group, close_group);
}
