/* The step of an ordinary frame, which the CUDA backend launches as a graph, without its transfers
 * or with them: bit for bit what the functions give one by one, whatever comes between; and what it
 * reports and leaves behind when a call fails. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "gpu/cuda.h"
#include "separation/shared/ops.h"
#include "tests/gpu/open_gpu.h"
#include "tests/support/quick.h"
#include "tests/support/random.h"

enum { window = 6, depth = 3 };

enum { leaves = 70 };            /* the frame from which on what stayed there is gone */
enum { dark = 83, bright = 90 }; /* frames between which the light is another one */

/* In the upper right corner a sign blinks, but not in the window's first frames. */
static bool sign_is_on(int frame)
{
    return frame >= 50 && frame % 6 >= 3;
}

/* A gradient with noise, a square that moves and has a shadow, one that stays above it, and the
 * sign; rows `stride` bytes apart. */
static void draw(uint8_t *picture, int64_t stride, const struct bd_separation_shape *shape,
                 int frame)
{
    uint32_t random = 12345u + (uint32_t)frame;
    for (int y = 0; y < shape->height; y++)
        for (int x = 0; x < shape->width * shape->channels; x++) {
            int column = x / shape->channels - frame % shape->width;
            uint32_t bits = random_bits(&random);
            bool square = column >= 0 && column < shape->width / 4 && y > shape->height / 2;
            int place = x / shape->channels - shape->width / 3;
            square |= frame < leaves && place >= 0 && place < shape->width / 4 &&
                      y >= shape->height / 8 && y < shape->height * 3 / 8;
            square |= sign_is_on(frame) && x / shape->channels >= shape->width * 3 / 4 &&
                      y < shape->height * 3 / 8;
            int value = square ? 220 : 60 + (x + 2 * y) % 64 + (int)(bits >> 21);
            bool shadow = column >= shape->width / 4 && column < shape->width / 2 &&
                          y > shape->height / 2 && !square;
            value = shadow ? value * 5 / 8 : value;
            picture[y * stride + x] =
                (uint8_t)(frame >= dark && frame < bright ? value * 5 / 8 : value);
        }
}

static struct bd_detect_params params_of(const struct bd_separation_shape *shape, int frame)
{
    int pixels = shape->width * shape->height;
    return (struct bd_detect_params){ .threshold = frame < 20 ? 20 : 35,
                                      .noise_gain = 4,
                                      .most = 60,
                                      .plain = 0.3F,
                                      .shadows = frame < 45,
                                      .illumination = frame < 40,
                                      .median = 5,
                                      .min_area = pixels / 3000,
                                      .max_hole = pixels / 150,
                                      .flash_quiet = frame == 50 ? 0 : 2,
                                      .guard = shape->height / 16,
                                      .noise_rate = 0.02F + 0.001F * (float)(frame % 7),
                                      .seconds = 0.03F + 0.002F * (float)(frame % 7),
                                      .memory = 0.3F,
                                      .look = (unsigned)frame,
                                      .looks = 1,
                                      .newest = frame % window,
                                      .columns = window };
}

/* How a frame is loaded and separated. RESIDENT: as GRAPH, from the GPU's memory. MIXED: as
 * TOGETHER or as GRAPH, in runs of some frames, from page-locked memory. */
enum way { ONE_BY_ONE, GRAPH, TOGETHER, RESIDENT, MIXED, ways };

/* The picture where the GPU reads it, for the ways that want it there: in its own memory, one byte
 * after a word begins, and page-locked. */
struct places {
    uint8_t *memory, *locked;
    size_t bytes;
};

static struct places make_places(struct bd_backend *backend, size_t bytes)
{
    struct places places = { .bytes = bytes };
    void *memory = NULL, *locked = NULL;
    assert_int_equal(backend->ops->device->alloc(backend, bytes + 1, &memory), BD_OK);
    assert_int_equal(bd_cuda_alloc_host(&locked, bytes, "a picture"), BD_OK);
    places.memory = memory;
    places.locked = locked;
    return places;
}

static const uint8_t *place(struct bd_backend *backend, const struct places *places,
                            const uint8_t *picture, enum way way, int frame)
{
    if (way == MIXED) {
        memcpy(places->locked, picture, places->bytes);
        return places->locked;
    }
    if (way != RESIDENT)
        return picture;
    uint8_t *to = places->memory + frame % 2;
    assert_int_equal(backend->ops->device->upload(backend, to, places->bytes, picture,
                                                  places->bytes, places->bytes, 1),
                     BD_OK);
    return to;
}

static void note_status(void *arg, int i, enum bd_status status)
{
    assert_int_equal(i, 0);
    *(enum bd_status *)arg = status;
}

static enum bd_status load(struct bd_backend *backend, void *state, const uint8_t *picture,
                           int64_t stride, enum way way, int frame)
{
    const struct bd_separation_ops *ops = backend->ops->separation;
    const struct bd_separation_load one = { state, picture, stride };
    enum bd_status status = BD_ERROR_ARGUMENT; /* it is not called */
    if (way < TOGETHER || way == RESIDENT || (way == MIXED && frame / 4 % 2))
        return ops->load(state, picture, stride);
    ops->load_several(&one, 1, note_status, &status);
    return status;
}

/* Frame `frame` of one of the states, as one step or by one function after the other. */
static enum bd_status separate(struct bd_backend *backend, void *state,
                               const struct bd_separation_shape *shape, int frame, enum way way)
{
    const struct bd_backend_ops *ops = backend->ops;
    const struct bd_detect_params params = params_of(shape, frame);
    int rounds = frame == 30 ? 10 : 3, learn = frame / 5 != 5;
    if (way != ONE_BY_ONE)
        return ops->separation->step(state, rounds, 10, &params, learn);
    enum bd_status status = ops->separation->project(state, rounds, 10);
    if (status == BD_OK)
        status = ops->separation->detect(state, &params, learn);
    return status == BD_OK ? ops->separation->finish(state) : status;
}

/* What comes between two frames now and then: the frame enters the window, which gives another
 * basis. */
static enum bd_status slide(struct bd_backend *backend, void *state, int frame)
{
    static const int order[window] = { 3, 1, 4, 0, 5, 2 };
    enum bd_status status = backend->ops->separation->insert(state, order[frame % window], 1);
    return status == BD_OK ? backend->ops->separation->stable(state, order, window, 10, 0) : status;
}

/* Looks for ghosts, now and then. */
static enum bd_status look(struct bd_backend *backend, void *state)
{
    static const int order[window] = { 3, 1, 4, 0, 5, 2 };
    const struct bd_ghost_params params = {
        .reach = 20, .still = 2, .votes = 2, .least = 9, .times = 3, .margin = 2, .noise = 1
    };
    return backend->ops->separation->remove_ghosts(state, order, window, &params);
}

/* A state whose window is full. */
static enum bd_status start(struct bd_backend *backend, const struct bd_separation_shape *shape,
                            uint8_t *picture, int64_t stride, void **state)
{
    const struct bd_backend_ops *ops = backend->ops;
    enum bd_status status = ops->separation->create(backend, shape, state);
    if (status == BD_OK)
        status = ops->separation->reset(*state);
    for (int j = 0; j < window && status == BD_OK; j++) {
        draw(picture, stride, shape, 9 * j);
        status = ops->separation->load(*state, picture, stride);
        if (status == BD_OK)
            status = ops->separation->insert(*state, j, 0);
    }
    return status == BD_OK ? slide(backend, *state, 0) : status;
}

static void assert_same(const void *a, const void *b, size_t bytes)
{
    assert_true(!a == !b);
    if (a)
        assert_memory_equal(a, b, bytes);
}

/* How many pixels of the sign's middle differ from the background by much, and are (or are not) in
 * the mask. */
static void count_sign(const struct bd_separation_shape *shape, const struct bd_separation *out,
                       int64_t *set, int64_t *clear)
{
    for (int y = shape->height / 8; y < shape->height / 4; y++)
        for (int x = shape->width * 13 / 16; x < shape->width * 15 / 16; x++) {
            const int p = y * shape->width + x;
            *set += out->difference[p] > 60 && out->mask[p];
            *clear += out->difference[p] > 60 && !out->mask[p];
        }
}

static void check_shape(struct bd_backend *backend, const struct bd_separation_shape *shape)
{
    enum { frames = 60 };
    const struct bd_backend_ops *ops = backend->ops;
    size_t pixels = (size_t)shape->width * (size_t)shape->height;
    int64_t stride = (int64_t)shape->width * shape->channels + 3;
    uint8_t *picture = malloc((size_t)stride * (size_t)shape->height);
    void *states[ways] = { NULL };
    struct places places = make_places(backend, (size_t)stride * (size_t)shape->height);
    int64_t foreground = 0, ghost_pixels = 0, shadows = 0, most = 0;
    int64_t sign = 0, flashed = 0;
    assert_non_null(picture);
    for (int way = 0; way < ways; way++)
        assert_int_equal(start(backend, shape, picture, stride, &states[way]), BD_OK);
    for (int i = 0; i < frames + depth; i++) {
        struct bd_separation out[ways];
        for (int way = 0; i >= depth && way < ways; way++) {
            assert_int_equal(ops->separation->collect(states[way], &out[way]), BD_OK);
            assert_int_equal(out[0].foreground, out[way].foreground);
            assert_int_equal(out[0].rank, out[way].rank);
            assert_same(out[0].mask, out[way].mask, pixels);
            assert_same(out[0].shadow, out[way].shadow, pixels);
            assert_int_equal(out[0].changed, out[way].changed);
            assert_same(out[0].difference, out[way].difference, pixels);
            assert_same(out[0].background, out[way].background, pixels * (size_t)shape->channels);
            assert_int_equal(out[0].ghost_pixels, out[way].ghost_pixels);
        }
        if (i >= depth) {
            for (size_t p = 0; out[0].shadow && p < pixels; p++)
                shadows += out[0].shadow[p] == 255;
            most = out[0].changed > most ? out[0].changed : most;
            foreground += out[0].foreground;
            ghost_pixels += out[0].ghost_pixels;
            if (out[0].difference && sign_is_on(50 + i - depth))
                count_sign(shape, &out[0], &sign, &flashed);
        }
        if (i >= frames)
            continue;
        draw(picture, stride, shape, 50 + i);
        for (int way = 0; way < ways; way++) {
            const uint8_t *from = place(backend, &places, picture, way, i);
            if (i == 40)
                assert_int_equal(load(backend, states[way], from, stride, way, i), BD_OK);
            assert_int_equal(load(backend, states[way], from, stride, way, i), BD_OK);
            assert_int_equal(separate(backend, states[way], shape, i, way), BD_OK);
            if (i % 4 == 3)
                assert_int_equal(look(backend, states[way]), BD_OK);
            if (i % 9 == 5)
                assert_int_equal(slide(backend, states[way], i), BD_OK);
        }
    }
    assert_true(foreground > 0);
    assert_true(ghost_pixels > 0);
    if (shape->outputs & BD_SEPARATOR_DIFFERENCE)
        assert_true(sign > 0 && flashed > 0);
    const bool wanted = (shape->outputs & BD_SEPARATOR_SHADOW) != 0;
    assert_true(shadows == 0 || wanted);
    if (wanted && shape->channels == 3)
        assert_true(shadows > 0); /* in gray there is other light alone, or nothing */
    assert_true(most < (int64_t)pixels * 2 / 3); /* the light was followed */
    for (int way = 0; way < ways; way++)
        ops->separation->destroy(states[way]);
    backend->ops->device->free(backend, places.memory);
    bd_cuda_free_host(places.locked);
    free(picture);
}

static void test_same(void **state)
{
    (void)state;
    static const struct bd_separation_shape shapes[] = {
        { 320, 240, 1, window, 1, 7, 1 }, { 161, 119, 3, window, 1, 15, 3 },
        { 97, 61, 1, window, 3, 9, 1 },   { 131, 67, 3, window, 2, 5, 4 },
        { 640, 360, 1, window, 1, 1, 1 }, { 96, 64, 3, window, 1, 15, 1 },
    };
    struct bd_backend *backend = open_gpu();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (shapes[i].width < 140 || !test_quick())
            check_shape(backend, &shapes[i]);
    bd_backend_close(&backend);
}

static const struct bd_separation_shape small = { 96, 64, 3, window, 1, 15, 1 };

/* Frames [first, last) of `small`, each collected at once. */
static enum bd_status run(struct bd_backend *backend, void *separator, uint8_t *picture, int first,
                          int last, enum way way)
{
    enum bd_status status = BD_OK;
    for (int i = first; i < last && status == BD_OK; i++) {
        struct bd_separation out;
        draw(picture, 3 * small.width, &small, i);
        status = load(backend, separator, picture, 3 * small.width, way, i);
        if (status == BD_OK)
            status = separate(backend, separator, &small, i, way);
        if (status == BD_OK)
            status = backend->ops->separation->collect(separator, &out);
    }
    return status;
}

/* Once there are graphs for each buffer with each set of results, what is enqueued for a frame is
 * two launches between the copies and their events, with other separators one launch and two
 * events: with kernels one by one it would be much more. */
static void count_calls(enum way way, int most)
{
    enum { many = 1000, warm = 8, frames = 10 };
    struct bd_backend *backend = open_gpu();
    uint8_t *picture = malloc((size_t)small.width * (size_t)small.height * 3);
    void *separator;
    assert_non_null(picture);
    assert_int_equal(start(backend, &small, picture, 3 * small.width, &separator), BD_OK);
    assert_int_equal(run(backend, separator, picture, 0, warm, way), BD_OK);
    bd_cuda_inject(cudaErrorLaunchFailure, many);
    assert_int_equal(run(backend, separator, picture, warm, warm + frames, way), BD_OK);
    assert_true(many - bd_cuda_inject(cudaSuccess, 0) <= most * frames);
    backend->ops->separation->destroy(separator);
    free(picture);
    bd_backend_close(&backend);
}

static void test_few_calls(void **state)
{
    (void)state;
    count_calls(GRAPH, 19);
    count_calls(TOGETHER, 7);
}

/* Each call of the first frames (some of them under a sanitizer) fails once, those of captures and
 * launches among them: an error in one line, and nothing left behind. */
static void inject(enum way way)
{
    struct bd_backend *backend = open_gpu();
    uint8_t *picture = malloc((size_t)small.width * (size_t)small.height * 3);
    int before = bd_cuda_blocks(), failures = 0;
    assert_non_null(picture);
    for (;; failures += test_quick() ? 9 : 1) {
        void *separator;
        assert_int_equal(start(backend, &small, picture, 3 * small.width, &separator), BD_OK);
        bd_cuda_inject(cudaErrorLaunchFailure, failures);
        enum bd_status status = run(backend, separator, picture, 0, 9, way);
        bd_cuda_inject(cudaSuccess, 0);
        backend->ops->separation->destroy(separator);
        assert_int_equal(bd_cuda_blocks(), before);
        if (status == BD_OK)
            break;
        assert_int_equal(status, BD_ERROR_BACKEND);
        assert_non_null(strstr(bd_error_detail(), "cuda:"));
        assert_null(strchr(bd_error_detail(), '\n'));
    }
    assert_true(failures > 50);
    free(picture);
    bd_backend_close(&backend);
}

static void test_faults(void **state)
{
    (void)state;
    inject(GRAPH);
    inject(TOGETHER);
}

struct waiter {
    atomic_bool stop;
    int failures;
};

/* What a decoder of the GPU does in another thread when it is opened: it waits for all of the GPU,
 * now and then. */
static void *wait_for_device(void *arg)
{
    struct waiter *waiter = arg;
    while (!atomic_load(&waiter->stop)) {
        bd_cuda_begin_waiting();
        for (int i = 0; i < 100; i++)
            waiter->failures += cudaDeviceSynchronize() != cudaSuccess;
        bd_cuda_end_waiting();
        cudaGetLastError();
        nanosleep(&(struct timespec){ .tv_nsec = 300000 }, NULL);
    }
    return NULL;
}

/* Without the exclusion the captures break, or the driver crashes. */
static void test_disturbed(void **state)
{
    (void)state;
    enum { separators = 20, frames = 12 };
    struct bd_backend *backend = open_gpu();
    uint8_t *picture = malloc((size_t)small.width * (size_t)small.height * 3);
    struct waiter waiter = { .failures = 0 };
    pthread_t thread;
    assert_non_null(picture);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_device, &waiter), 0);
    enum bd_status status = BD_OK;
    for (int i = 0; i < separators && status == BD_OK; i++) {
        void *separator;
        assert_int_equal(start(backend, &small, picture, 3 * small.width, &separator), BD_OK);
        status = run(backend, separator, picture, 0, frames, i % 2 ? GRAPH : TOGETHER);
        backend->ops->separation->destroy(separator);
    }
    atomic_store(&waiter.stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(status, BD_OK);
    assert_int_equal(waiter.failures, 0);
    free(picture);
    bd_backend_close(&backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_few_calls),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_disturbed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
