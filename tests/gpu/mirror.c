/* Mirror images, in the mask clean-up of the GPU, against that of the CPU, bit for bit: drawn
 * pictures, pictures that are hard for components. Then its times. An argument chooses tests by
 * name. */
#include "tests/gpu/mask_pair.h"
#include "tests/support/mirror_picture.h"
#include "tests/support/quick.h"

static void take(struct pair *p, const struct mirror_picture *from)
{
    assert_int_equal(p->width, from->width);
    assert_int_equal(p->height, from->height);
    p->channels = 3;
    p->mirrors = true;
    memcpy(p->raw, from->mask, p->count);
    memcpy(p->frame, from->f, 3 * p->count);
    memcpy(p->background, from->l, 3 * p->count);
}

/* Where images are cut, by chance. */
static void draw_map(struct pair *p, uint32_t *seed, int percent)
{
    p->places.any = false;
    for (size_t i = 0; i < pair_cells(p); i++) {
        p->places.map[i] = between(seed, 0, 99) < percent;
        p->places.any |= p->places.map[i];
    }
}

/* Things with and without images, on maps that are empty, full and neither, in frames that are
 * evidence and others. */
static void test_random_things(void **state)
{
    (void)state;
    static struct mirror_picture random;
    uint32_t seed = 17;
    const int least = test_quick() ? 1 : 6;
    int with = 0, without = 0;
    for (int size = 0; size < (test_quick() ? 3 : 24); size++) {
        const int width = between(&seed, 60, mirror_width);
        const int height = between(&seed, 60, mirror_height);
        struct pair p;
        pair_open(&p, width, height);
        for (int trial = 0; trial < (test_quick() ? 10 : 40); trial++) {
            struct bd_detect_params params = { .median = 1 + 2 * (trial % 5 / 2),
                                               .min_area = trial % 7 == 0 ? 60 : 0,
                                               .max_hole = trial % 3 ? 700 : 0,
                                               .guard = trial % 3,
                                               .plain = trial % 4 ? -1 : 0.3F,
                                               .shadows = trial % 8 == 5 ? 2 : 0 };
            clear_mirror_picture(&random, width, height);
            put_things(&random, &seed);
            draw_map(&p, &seed, trial % 5 == 0 ? 0 : 25 * (trial % 5));
            p.look = (unsigned)trial;
            take(&p, &random);
            check(&p, "random things", &params);
            if (p.cut)
                with++;
            else
                without++;
        }
        pair_close(&p);
    }
    assert_true(with >= least && without >= least);
}

/* Frame and background of all that is in p->raw: everything is an image of all above it. */
static void paint_alike(struct pair *p)
{
    uint32_t seed = (uint32_t)p->width;
    p->channels = 3;
    p->mirrors = true;
    for (int y = 0; y < p->height; y++)
        for (size_t e = 3 * (size_t)y * (size_t)p->width;
             e < 3 * (size_t)(y + 1) * (size_t)p->width; e++) {
            p->background[e] = 40;
            p->frame[e] = (uint8_t)(40 + 200 * (p->height - y) / p->height + between(&seed, 0, 9));
        }
}

static const int sizes[][2] = {
    { 1, 1 },     { 1, 90 },    { 90, 1 },   { 33, 65 },   { 256, 64 },
    { 257, 129 }, { 290, 140 }, { 40, 300 }, { 2100, 40 }, { 8300, 24 },
};

/* Spirals, rings, noise: a root or none in a tile, and more components than a block has threads. */
static void test_hard_pictures(void **state)
{
    (void)state;
    uint32_t seed = 23;
    int k = 0;
    int64_t cut = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct pair p;
        pair_open(&p, sizes[s][0], sizes[s][1]);
        for (int n = test_quick() ? 2 : 0; n < picture_count; n += test_quick() ? 3 : 1, k++) {
            struct bd_detect_params params = { .median = 1 + 2 * (k % 4 / 3),
                                               .min_area = k % 3 * 20,
                                               .max_hole = k % 5 * 100,
                                               .guard = k % 7,
                                               .plain = k % 3 ? 0.3F : -1 };
            pictures[n].draw(p.raw, p.width, p.height, pictures[n].argument);
            paint_alike(&p);
            draw_map(&p, &seed, 60);
            p.look = (unsigned)k * 4;
            check(&p, pictures[n].name, &params);
            cut += p.cut;
        }
        pair_close(&p);
    }
    assert_true(cut > 2000);
}

/* A graph reads the number of the frame where it is loaded: evidence is counted by that. */
static void test_frame_number_of_a_graph(void **state)
{
    (void)state;
    static struct mirror_picture walker;
    struct pair p;
    const struct bd_detect_params params = { .median = 1, .guard = 2, .plain = -1 };
    unsigned *d_look = NULL;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    pair_open(&p, mirror_width, mirror_height);
    clear_mirror_picture(&walker, mirror_width, mirror_height);
    put(&walker, 100, 60, 16, 40, 3, 5, 1);
    take(&p, &walker);
    load_gpu(&p);
    assert_int_equal(cudaMalloc((void **)&d_look, sizeof *d_look), cudaSuccess);
    struct bd_cuda_mask_pictures all = gpu_pictures(&p, &params);
    all.mirrors.loaded = d_look;
    assert_int_equal(cudaStreamBeginCapture(p.cuda->stream, cudaStreamCaptureModeThreadLocal),
                     cudaSuccess);
    assert_int_equal(clean_pictures(&p, &all, &params), BD_OK);
    assert_int_equal(cudaStreamEndCapture(p.cuda->stream, &graph), cudaSuccess);
    assert_int_equal(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    for (p.look = 0; p.look < 20; p.look++) {
        if (p.look == 10)
            bd_mirror_make_map(&p.places);
        load_gpu(&p);
        cudaMemcpy(d_look, &p.look, sizeof p.look, cudaMemcpyHostToDevice);
        assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
        assert_int_equal(cudaGraphLaunch(exec, p.cuda->stream), cudaSuccess);
        compare(&p, "walker", &params);
        assert_int_equal(p.cut > 0, p.look >= 10);
    }
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaFree(d_look);
    pair_close(&p);
}

/* There is no launch more than for contact shadows; a failure in each is reported. */
static void test_faults(void **state)
{
    (void)state;
    static struct mirror_picture walker;
    struct pair p;
    uint32_t seed = 1;
    struct bd_detect_params params = {
        .median = 5, .min_area = 60, .max_hole = 900, .guard = 30, .plain = -1
    };
    pair_open(&p, mirror_width, mirror_height);
    clear_mirror_picture(&walker, mirror_width, mirror_height);
    put(&walker, 100, 60, 16, 40, 3, 5, 1);
    take(&p, &walker);
    draw_map(&p, &seed, 100);
    check_faults(&p, "walker", &params, 11);
    assert_true(p.cut > 0);
    pair_close(&p);
}

/* What the search takes of a clean-up with the separator's default settings: in a scene without
 * mirrors, in a frame that is evidence, and where everything is mirrored. */
static void test_time(void **state)
{
    (void)state;
    if (test_quick())
        skip();
    static const int large[][2] = { { 640, 480 }, { 1920, 1080 }, { 3840, 2160 } };
    for (size_t s = 0; s < sizeof large / sizeof large[0]; s++) {
        struct pair p;
        uint32_t seed = 1;
        pair_open(&p, large[s][0], large[s][1]);
        for (int n = 0; n < picture_count; n++) {
            struct bd_detect_params params = default_params(&p);
            float ms[4];
            pictures[n].draw(p.raw, p.width, p.height, pictures[n].argument);
            paint_alike(&p);
            for (int which = 0; which < 4; which++) {
                p.mirrors = which > 0;
                p.look = which == 2 ? 0 : 1;
                draw_map(&p, &seed, which == 3 ? 100 : 0);
                load_gpu(&p);
                ms[which] = time_on_gpu(&p, &params);
            }
            print_message("%4d x %4d %-16s %.4f ms, with mirror images %.4f, evidence %.4f, "
                          "everything mirrored %.4f\n",
                          p.width, p.height, pictures[n].name, (double)ms[0], (double)ms[1],
                          (double)ms[2], (double)ms[3]);
        }
        pair_close(&p);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_things),
        cmocka_unit_test(test_hard_pictures),
        cmocka_unit_test(test_frame_number_of_a_graph),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_time),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_group, close_group);
}
