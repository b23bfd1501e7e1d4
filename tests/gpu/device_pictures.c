/* Decoded pictures that stay on the GPU (gpu/video/) against the CPU's versions, byte for byte:
 * random and drawn pictures of all kinds of chroma, several threads at once, addresses that cannot
 * be used, a failure of each call. Then times. An argument chooses tests by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gpu/cuda.h"
#include "gpu/video/device.h"
#include "tests/gpu/group.h"
#include "tests/support/quick.h"
#include "tests/support/random.h"
#include "video/area.h"

/* BT.709 and BT.601, video and full range. */
static const struct bd_yuv_matrix matrices[] = { { 16, 19077, 14686, 1747, 4366, 17305 },
                                                 { 0, 16384, 11485, 2819, 5850, 14516 } };

static const struct kind {
    const char *name;
    int shift_x, shift_y, step;
} kinds[] = {
    { "NV12", 1, 1, 2 },  { "4:2:0", 1, 1, 1 }, { "4:2:2", 1, 0, 1 },
    { "4:4:4", 0, 0, 1 }, { "4:4:0", 0, 1, 1 }, { "4:1:1", 2, 0, 1 },
};

/* Width and height of a picture and of its small one. */
static const int sizes[][4] = {
    { 64, 48, 40, 30 },   { 77, 53, 77, 53 },  { 33, 21, 32, 20 },  { 200, 120, 50, 30 },
    { 97, 101, 9, 7 },    { 641, 37, 17, 16 }, { 5, 3, 1, 1 },      { 1, 1, 1, 1 },
    { 600, 400, 16, 16 }, { 131, 67, 130, 2 }, { 18, 300, 3, 299 },
};

enum {
    kind_count = sizeof kinds / sizeof *kinds,
    size_count = sizeof sizes / sizeof *sizes,
    drawing_count = 4
};

/* ---- pictures ----------------------------------------------------------------------------------
 */

/* A picture on the host, and the same on the GPU as a decoder has it. */
struct source {
    struct bd_yuv host, surface;
    uint8_t *samples, *d_samples;
    int64_t rows[3], bytes[3]; /* of each plane */
    int planes;
    const char *name; /* of its kind */
};

/* Sample i of row y of a plane: noise, black and white, a slope with an edge, or one value. */
static uint8_t draw(int drawing, int plane, int64_t y, int64_t i, uint32_t *seed)
{
    switch (drawing) {
    case 0:
        return (uint8_t)random_bits(seed);
    case 1:
        return (i / 3 + y / 2 + plane) % 2 ? 255 : 0;
    case 2:
        return (uint8_t)(3 * i + 2 * y > 150 ? 40 * plane + i : 255 - y);
    default:
        return (uint8_t)(235 - 40 * plane);
    }
}

/* `pad` more bytes follow each row on the GPU than on the host. */
static void make_source(struct source *s, int width, int height, int kind, int drawing, int pad)
{
    const struct kind *k = &kinds[kind];
    uint32_t seed = (uint32_t)(width * 31 + height * 7 + kind * 5 + drawing);
    int64_t total = 0, d_total = 0;
    memset(s, 0, sizeof *s);
    s->name = k->name;
    s->planes = k->step == 2 ? 2 : 3;
    for (int i = 0; i < s->planes; i++) {
        const int shift_x = i ? k->shift_x : 0, shift_y = i ? k->shift_y : 0;
        s->bytes[i] = (int64_t)((width + (1 << shift_x) - 1) >> shift_x) * (i ? k->step : 1);
        s->rows[i] = (height + (1 << shift_y) - 1) >> shift_y;
        total += s->bytes[i] * s->rows[i];
        d_total += (s->bytes[i] + pad) * s->rows[i];
    }
    assert_non_null(s->samples = malloc((size_t)total));
    assert_int_equal(cudaMalloc((void **)&s->d_samples, (size_t)d_total), cudaSuccess);
    s->host = (struct bd_yuv){ .width = width,
                               .height = height,
                               .shift_x = k->shift_x,
                               .shift_y = k->shift_y,
                               .step = k->step };
    s->host.matrix = matrices[(kind + drawing) % 2];
    s->surface = s->host;
    uint8_t *to = s->samples, *d_to = s->d_samples;
    for (int i = 0; i < s->planes; i++) {
        const int64_t row = s->bytes[i], pitch = row + pad;
        for (int64_t y = 0; y < s->rows[i]; y++)
            for (int64_t x = 0; x < row; x++)
                to[y * row + x] = draw(drawing, i, y, x, &seed);
        s->host.data[i] = to;
        s->host.stride[i] = row;
        s->surface.data[i] = d_to;
        s->surface.stride[i] = pitch;
        assert_int_equal(cudaMemcpy2D(d_to, (size_t)pitch, to, (size_t)row, (size_t)row,
                                      (size_t)s->rows[i], cudaMemcpyHostToDevice),
                         cudaSuccess);
        to += row * s->rows[i];
        d_to += pitch * s->rows[i];
    }
    if (s->planes == 2) {
        s->host.data[2] = s->host.data[1] + 1;
        s->host.stride[2] = s->host.stride[1];
        s->surface.data[2] = s->surface.data[1] + 1;
        s->surface.stride[2] = s->surface.stride[1];
    }
}

static void free_source(struct source *s)
{
    free(s->samples);
    cudaFree(s->d_samples);
}

/* Bytes of the planes that differ from those of the source. */
static int64_t wrong_samples(const struct source *s, const struct bd_yuv *yuv)
{
    int64_t wrong = yuv->data[2] - yuv->data[1] != 1 && s->planes == 2;
    for (int i = 0; i < s->planes; i++)
        for (int64_t y = 0; y < s->rows[i]; y++)
            wrong += memcmp(yuv->data[i] + y * yuv->stride[i],
                            s->host.data[i] + y * s->host.stride[i], (size_t)s->bytes[i]) != 0;
    return wrong;
}

/* A frame whose bytes, and those behind its rows, are told from results. */
static void make_frame(struct bd_frame *frame, int width, int height, int channels)
{
    assert_int_equal(bd_frame_create(frame, width, height, (enum bd_pixel_format)channels), BD_OK);
    memset(frame->data, 0x5a, (size_t)(frame->stride * frame->height));
}

static bool same_frames(const struct bd_frame *a, const struct bd_frame *b)
{
    return memcmp(a->data, b->data, (size_t)(a->stride * a->height)) == 0;
}

static void average_on_cpu(struct bd_frame *small, struct source *s)
{
    const struct bd_frame from = {
        .width = s->host.width, .height = s->host.height, .format = BD_RGB24, .yuv = &s->host
    };
    struct bd_area *area = NULL;
    assert_int_equal(bd_area_create(&area, small, &from), BD_OK);
    assert_non_null(area);
    bd_area_average(area, small, &from);
    bd_area_destroy(&area);
}

/* ---- small results -----------------------------------------------------------------------------
 */

/* A small result. `drawing`: the mask is noise, rectangles, all set, or all clear. */
static struct bd_small_result make_small(int width, int height, int channels, int drawing)
{
    uint32_t seed = (uint32_t)(width * 3 + height * 5 + channels * 7 + drawing);
    const size_t cells = (size_t)width * (size_t)height;
    uint8_t *background = malloc(cells * (size_t)channels), *difference = malloc(cells);
    uint8_t *mask = malloc(cells);
    assert_true(background && difference && mask);
    for (size_t i = 0; i < cells * (size_t)channels; i++)
        background[i] = (uint8_t)random_bits(&seed);
    for (size_t i = 0; i < cells; i++) {
        const int x = (int)(i % (size_t)width), y = (int)(i / (size_t)width);
        const bool set = drawing == 0   ? random_bits(&seed) % 2
                         : drawing == 1 ? x / 5 % 3 == 1 && y / 4 % 2 == 1
                                        : drawing == 2;
        mask[i] = set ? 255 : 0;
        difference[i] = (uint8_t)random_bits(&seed);
    }
    return (struct bd_small_result){ .width = width,
                                     .height = height,
                                     .channels = channels,
                                     .background = background,
                                     .difference = difference,
                                     .mask = mask,
                                     .threshold = (double)between(&seed, -20, 280) + 0.5 };
}

static void free_small(const struct bd_small_result *small)
{
    free((void *)small->background);
    free((void *)small->difference);
    free((void *)small->mask);
}

static void enlarge_on_cpu(struct bd_frame *mask, struct source *s,
                           const struct bd_small_result *small)
{
    const struct bd_frame input = {
        .width = s->host.width, .height = s->host.height, .format = BD_RGB24, .yuv = &s->host
    };
    struct bd_pool *pool = NULL;
    struct bd_upscaler *upscaler = NULL;
    assert_int_equal(bd_pool_create(&pool, 2), BD_OK);
    assert_int_equal(bd_upscaler_create(&upscaler, pool, s->host.width, s->host.height,
                                        small->width, small->height),
                     BD_OK);
    bd_upscale_mask(upscaler, mask, &input, small);
    bd_upscaler_destroy(&upscaler);
    bd_pool_destroy(&pool);
}

/* ---- one thread --------------------------------------------------------------------------------
 */

static struct bd_device *open_device(void)
{
    struct bd_device *device = NULL;
    need_gpu(); /* the test is skipped before it holds anything */
    assert_int_equal(bd_cuda_device_open(&device, bd_cuda_of(backend)->device), BD_OK);
    assert_non_null(device);
    return device;
}

static struct bd_yuv *take(struct bd_device *device, const struct source *s)
{
    struct bd_yuv *yuv = NULL;
    assert_int_equal(device->ops->take(device, &yuv, &s->surface), BD_OK);
    assert_non_null(yuv);
    assert_ptr_equal(yuv->device, device);
    assert_non_null(yuv->fetch);
    assert_int_equal(yuv->width, s->host.width);
    assert_int_equal(yuv->height, s->host.height);
    assert_memory_equal(&yuv->matrix, &s->host.matrix, sizeof yuv->matrix);
    return yuv;
}

/* The decoder writes something else: a copy has what was there before. */
static void overwrite(struct source *s)
{
    for (int i = 0; i < s->planes; i++)
        cudaMemset((void *)s->surface.data[i], 0xa5, (size_t)(s->surface.stride[i] * s->rows[i]));
}

static void check_shrink(struct bd_device *device, struct bd_device_work **work, struct source *s,
                         const struct bd_yuv *yuv, int width, int height, int channels)
{
    struct bd_frame want, got;
    make_frame(&want, width, height, channels);
    make_frame(&got, width, height, channels);
    average_on_cpu(&want, s);
    assert_int_equal(device->ops->shrink(device, work, &got, yuv), BD_OK);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < got.stride; x++)
            if (got.data[y * got.stride + x] != want.data[y * want.stride + x])
                fail_msg("%s, %d x %d to %d x %d of %d: byte %d of row %d is %d, not %d", s->name,
                         yuv->width, yuv->height, width, height, channels, x, y,
                         got.data[y * got.stride + x], want.data[y * want.stride + x]);
    bd_frame_destroy(&want);
    bd_frame_destroy(&got);
}

static void check_enlarge(struct bd_device *device, struct bd_device_work **work, struct source *s,
                          const struct bd_yuv *yuv, const struct bd_small_result *small)
{
    struct bd_frame want, got;
    make_frame(&want, yuv->width, yuv->height, 1);
    make_frame(&got, yuv->width, yuv->height, 1);
    enlarge_on_cpu(&want, s, small);
    assert_int_equal(device->ops->enlarge(device, work, &got, yuv, small), BD_OK);
    for (int y = 0; y < got.height; y++)
        for (int x = 0; x < got.stride; x++)
            if (got.data[y * got.stride + x] != want.data[y * want.stride + x])
                fail_msg("%d x %d from %d x %d of %d: (%d, %d) is %d, not %d", yuv->width,
                         yuv->height, small->width, small->height, small->channels, x, y,
                         got.data[y * got.stride + x], want.data[y * want.stride + x]);
    bd_frame_destroy(&want);
    bd_frame_destroy(&got);
}

/* Everything with one picture: fetched last, or first. */
static void check_picture(struct bd_device *device, struct bd_device_work **work, const int size[4],
                          int kind, int drawing)
{
    struct source s;
    make_source(&s, size[0], size[1], kind, drawing, kind % 2 ? 37 : 64);
    struct bd_yuv *yuv = take(device, &s);
    overwrite(&s);
    if (drawing % 2)
        assert_int_equal(bd_yuv_fetch(yuv), BD_OK);
    for (int channels = 1; channels <= 3; channels += 2) {
        const struct bd_small_result small = make_small(size[2], size[3], channels, drawing);
        check_shrink(device, work, &s, yuv, size[2], size[3], channels);
        check_enlarge(device, work, &s, yuv, &small);
        free_small(&small);
    }
    assert_int_equal(bd_yuv_fetch(yuv), BD_OK);
    assert_null(yuv->fetch);
    assert_int_equal(wrong_samples(&s, yuv), 0);
    assert_ptr_equal(yuv->device, device);
    bd_yuv_release(yuv);
    free_source(&s);
}

/* One workspace serves all sizes and formats. */
static void test_all_kinds(void **state)
{
    (void)state;
    const int before = bd_cuda_blocks();
    struct bd_device *device = open_device();
    struct bd_device_work *work = NULL;
    for (int kind = 0; kind < kind_count; kind++)
        for (int i = 0; i < (test_quick() ? 4 : size_count); i++)
            for (int drawing = 0; drawing < drawing_count; drawing++)
                check_picture(device, &work, sizes[i], kind, drawing);
    device->ops->free_work(&work);
    assert_null(work);
    device->ops->free_work(&work);
    device->ops->close(&device);
    assert_null(device);
    assert_int_equal(bd_cuda_blocks(), before);
}

/* As films are processed by default, and at full size. */
static void test_large(void **state)
{
    (void)state;
    static const int large[][4] = { { 1920, 1080, 738, 415 },
                                    { 1920, 1080, 1920, 1080 },
                                    { 3839, 2161, 737, 417 } };
    const int before = bd_cuda_blocks();
    struct bd_device *device = open_device();
    struct bd_device_work *work = NULL;
    for (size_t i = 0; i < (test_quick() ? 1 : sizeof large / sizeof *large); i++)
        for (int drawing = 0; drawing < 2; drawing++)
            check_picture(device, &work, large[i], (int)i % 2, drawing);
    device->ops->free_work(&work);
    device->ops->close(&device);
    assert_int_equal(bd_cuda_blocks(), before);
}

/* A device that nobody used, and pictures that use the memory of those before them. */
static void test_memory_is_used_again(void **state)
{
    (void)state;
    const int before = bd_cuda_blocks();
    struct source s;
    struct bd_device *device = open_device();
    device->ops->close(&device);
    device = open_device();
    make_source(&s, 320, 180, 0, 0, 32);
    for (int i = 0; i < 5; i++) {
        struct bd_yuv *first = take(device, &s), *second = take(device, &s);
        assert_int_equal(bd_yuv_fetch(second), BD_OK);
        assert_int_equal(bd_cuda_blocks(), before + 3);
        bd_yuv_release(first);
        assert_ptr_equal(bd_yuv_reference(second), second);
        bd_yuv_release(second);
        assert_int_equal(wrong_samples(&s, second), 0);
        bd_yuv_release(second);
    }
    free_source(&s);
    make_source(&s, 100, 100, 3, 0, 0); /* pictures of another size need other memory */
    struct bd_yuv *yuv = take(device, &s);
    assert_int_equal(bd_cuda_blocks(), before + 2);
    bd_yuv_release(yuv);
    free_source(&s);
    device->ops->close(&device);
    assert_int_equal(bd_cuda_blocks(), before);
}

/* ---- several threads ---------------------------------------------------------------------------
 */

enum { worker_count = 4 };

struct shared {
    struct bd_device *device;
    struct source *source;
    struct bd_small_result small;
    struct bd_frame shrunk, enlarged; /* by the CPU */
    struct bd_yuv *yuv;               /* of all threads */
    int rounds;
};

struct worker {
    struct shared *all;
    pthread_t thread;
    int number;
    int64_t wrong;
};

/* Takes pictures and does everything with them, and with the one that all share, which worker 0
 * fetches meanwhile. */
static void *run_worker(void *arg)
{
    struct worker *self = arg;
    struct shared *all = self->all;
    const struct bd_picture_ops *ops = all->device->ops;
    struct bd_device_work *work = NULL;
    struct bd_frame shrunk = { 0 }, enlarged = { 0 };
    bd_frame_copy(&shrunk, &all->shrunk);
    bd_frame_copy(&enlarged, &all->enlarged);
    for (int i = 0; i < all->rounds; i++) {
        struct bd_yuv *own = NULL;
        const bool shared = i % 2;
        if (ops->take(all->device, &own, &all->source->surface) != BD_OK) {
            self->wrong++;
            break;
        }
        memset(shrunk.data, 0x5a, (size_t)(shrunk.stride * shrunk.height));
        memset(enlarged.data, 0x5a, (size_t)(enlarged.stride * enlarged.height));
        if (self->number == 0 && bd_yuv_fetch(all->yuv) != BD_OK)
            self->wrong++;
        const struct bd_yuv *yuv = shared ? all->yuv : own;
        self->wrong += ops->shrink(all->device, &work, &shrunk, yuv) != BD_OK;
        self->wrong += ops->enlarge(all->device, &work, &enlarged, yuv, &all->small) != BD_OK;
        self->wrong += !same_frames(&shrunk, &all->shrunk);
        self->wrong += !same_frames(&enlarged, &all->enlarged);
        self->wrong += bd_yuv_fetch(own) != BD_OK || wrong_samples(all->source, own);
        bd_yuv_release(own);
    }
    ops->free_work(&work);
    bd_frame_destroy(&shrunk);
    bd_frame_destroy(&enlarged);
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    need_gpu();
    const int before = bd_cuda_blocks();
    struct source s;
    struct worker workers[worker_count];
    struct shared all = { .device = open_device(),
                          .source = &s,
                          .small = make_small(246, 138, 3, 0),
                          .rounds = test_quick() ? 3 : 60 };
    make_source(&s, 640, 360, 0, 0, 64);
    make_frame(&all.shrunk, 246, 138, 3);
    make_frame(&all.enlarged, 640, 360, 1);
    average_on_cpu(&all.shrunk, &s);
    enlarge_on_cpu(&all.enlarged, &s, &all.small);
    all.yuv = take(all.device, &s);
    for (int i = 0; i < worker_count; i++) {
        workers[i] = (struct worker){ .all = &all, .number = i };
        assert_int_equal(pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]), 0);
    }
    for (int i = 0; i < worker_count; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
    assert_int_equal(wrong_samples(&s, all.yuv), 0);
    bd_yuv_release(all.yuv);
    free_small(&all.small);
    bd_frame_destroy(&all.shrunk);
    bd_frame_destroy(&all.enlarged);
    free_source(&s);
    all.device->ops->close(&all.device);
    assert_int_equal(bd_cuda_blocks(), before);
}

/* ---- what cannot be done -----------------------------------------------------------------------
 */

/* A refused address leaves nothing behind, and no error that a later check would see. */
static void refuse(struct bd_device *device, const struct bd_yuv *surface)
{
    struct bd_yuv *yuv = NULL;
    const int before = bd_cuda_blocks();
    assert_int_equal(device->ops->take(device, &yuv, surface), BD_ERROR_UNSUPPORTED);
    assert_null(yuv);
    assert_non_null(strstr(bd_error_detail(), "GPU"));
    assert_null(strchr(bd_error_detail(), '\n'));
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    assert_int_equal(bd_cuda_blocks(), before);
}

static void test_addresses_of_the_host(void **state)
{
    (void)state;
    struct source s;
    struct bd_device *device = open_device();
    void *locked = NULL;
    make_source(&s, 64, 48, 0, 0, 0);
    refuse(device, &s.host);
    struct bd_yuv surface = s.surface;
    surface.data[1] = s.host.data[1]; /* chroma alone */
    refuse(device, &surface);
    assert_int_equal(cudaMallocHost(&locked, 64 * 48 * 2), cudaSuccess);
    surface.data[0] = locked;
    surface.data[1] = (uint8_t *)locked + 64 * 48;
    refuse(device, &surface);
    cudaFreeHost(locked);
    bd_yuv_release(take(device, &s));
    free_source(&s);
    device->ops->close(&device);
}

/* Functions of the driver, which no header of ours declares. */
typedef int driver_context(void **context, unsigned flags, int device);
typedef int driver_allocate(unsigned long long *address, size_t bytes);
typedef int driver_free(unsigned long long address);
typedef int driver_pop(void **context);
typedef int driver_use(void *context);

/* A decoder with a context of its own on the same GPU. */
static void test_another_context(void **state)
{
    (void)state;
    struct source s;
    struct bd_device *device = open_device();
    void *context = NULL, *popped = NULL, *driver = dlopen("libcuda.so.1", RTLD_NOW);
    unsigned long long address = 0;
    assert_non_null(driver);
    driver_context *create = (driver_context *)(uintptr_t)dlsym(driver, "cuCtxCreate_v2");
    driver_allocate *allocate = (driver_allocate *)(uintptr_t)dlsym(driver, "cuMemAlloc_v2");
    driver_free *give = (driver_free *)(uintptr_t)dlsym(driver, "cuMemFree_v2");
    driver_pop *pop = (driver_pop *)(uintptr_t)dlsym(driver, "cuCtxPopCurrent_v2");
    driver_use *push = (driver_use *)(uintptr_t)dlsym(driver, "cuCtxPushCurrent_v2");
    driver_use *destroy = (driver_use *)(uintptr_t)dlsym(driver, "cuCtxDestroy_v2");
    assert_true(create && allocate && give && pop && push && destroy);
    make_source(&s, 64, 48, 0, 0, 0);
    assert_int_equal(create(&context, 0, bd_cuda_of(backend)->device), 0);
    assert_int_equal(allocate(&address, 64 * 48 * 2), 0);
    assert_int_equal(pop(&popped), 0);
    struct bd_yuv surface = s.surface;
    surface.data[0] = (const uint8_t *)(uintptr_t)address;
    surface.data[1] = surface.data[0] + 64 * 48;
    refuse(device, &surface);
    assert_int_equal(push(context), 0);
    assert_int_equal(give(address), 0);
    assert_int_equal(pop(&popped), 0);
    assert_int_equal(destroy(context), 0);
    bd_yuv_release(take(device, &s));
    free_source(&s);
    device->ops->close(&device);
    dlclose(driver);
}

/* All functions once. */
static enum bd_status use_all(struct bd_device *device, const struct source *s,
                              const struct bd_small_result *small)
{
    struct bd_device_work *work = NULL;
    struct bd_yuv *yuv = NULL;
    struct bd_frame shrunk, enlarged;
    make_frame(&shrunk, small->width, small->height, small->channels);
    make_frame(&enlarged, s->host.width, s->host.height, 1);
    enum bd_status status = device->ops->take(device, &yuv, &s->surface);
    if (status == BD_OK)
        status = device->ops->shrink(device, &work, &shrunk, yuv);
    if (status == BD_OK)
        status = device->ops->enlarge(device, &work, &enlarged, yuv, small);
    if (status == BD_OK)
        status = bd_yuv_fetch(yuv);
    bd_yuv_release(yuv);
    device->ops->free_work(&work);
    bd_frame_destroy(&shrunk);
    bd_frame_destroy(&enlarged);
    return status;
}

/* Each call, or each allocation, fails once on a new device, which then is in order. */
static void fail_each(cudaError_t error, enum bd_status expected)
{
    const int before = bd_cuda_blocks();
    struct source s;
    const struct bd_small_result small = make_small(40, 30, 3, 0);
    enum bd_status status = expected;
    int failures = -1;
    make_source(&s, 64, 48, 0, 0, 0);
    while (status != BD_OK) {
        struct bd_device *device = open_device();
        bd_cuda_inject(error, ++failures);
        status = use_all(device, &s, &small);
        bd_cuda_inject(cudaSuccess, 0);
        if (status != BD_OK) {
            assert_int_equal(status, expected);
            assert_non_null(strstr(bd_error_detail(), "cuda: "));
            assert_null(strchr(bd_error_detail(), '\n'));
            assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
        }
        assert_int_equal(use_all(device, &s, &small), BD_OK);
        device->ops->close(&device);
        assert_int_equal(bd_cuda_blocks(), before);
    }
    print_message("each of %d failed once\n", failures);
    assert_true(failures > 5);
    free_small(&small);
    free_source(&s);
}

static void test_failures(void **state)
{
    (void)state;
    need_gpu();
    fail_each(cudaErrorLaunchFailure, BD_ERROR_BACKEND);
    fail_each(cudaErrorMemoryAllocation, BD_ERROR_MEMORY);
}

/* ---- times -------------------------------------------------------------------------------------
 */

enum { times = 41 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *ms)
{
    qsort(ms, times, sizeof *ms, by_value);
    return ms[times / 2];
}

/* What a thread waits for each function, copies to and from the host included. */
static void print_times(struct bd_device *device, const int size[4], int channels)
{
    double taking[times], shrinking[times], enlarging[times], fetching[times];
    struct source s;
    struct bd_device_work *work = NULL;
    struct bd_frame shrunk, enlarged;
    const struct bd_small_result small = make_small(size[2], size[3], channels, 1);
    make_source(&s, size[0], size[1], 0, 0, 64);
    make_frame(&shrunk, size[2], size[3], channels);
    make_frame(&enlarged, size[0], size[1], 1);
    for (int i = -3; i < times; i++) {
        struct bd_yuv *yuv = NULL;
        const double start = bd_clock_seconds();
        assert_int_equal(device->ops->take(device, &yuv, &s.surface), BD_OK);
        const double taken = bd_clock_seconds();
        assert_int_equal(device->ops->shrink(device, &work, &shrunk, yuv), BD_OK);
        const double small_there = bd_clock_seconds();
        assert_int_equal(device->ops->enlarge(device, &work, &enlarged, yuv, &small), BD_OK);
        const double large_there = bd_clock_seconds();
        assert_int_equal(bd_yuv_fetch(yuv), BD_OK);
        const double fetched = bd_clock_seconds();
        bd_yuv_release(yuv);
        if (i < 0)
            continue;
        taking[i] = 1e3 * (taken - start);
        shrinking[i] = 1e3 * (small_there - taken);
        enlarging[i] = 1e3 * (large_there - small_there);
        fetching[i] = 1e3 * (fetched - large_there);
    }
    print_message("%d x %d and %d x %d x %d: take %.4f ms, shrink %.4f, enlarge %.4f, fetch %.4f\n",
                  size[0], size[1], size[2], size[3], channels, median(taking), median(shrinking),
                  median(enlarging), median(fetching));
    device->ops->free_work(&work);
    bd_frame_destroy(&shrunk);
    bd_frame_destroy(&enlarged);
    free_small(&small);
    free_source(&s);
}

static void test_time(void **state)
{
    (void)state;
    if (test_quick())
        skip();
    static const int large[][4] = { { 1920, 1080, 738, 415 }, { 3840, 2160, 738, 415 } };
    struct bd_device *device = open_device();
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
        for (int channels = 1; channels <= 3; channels += 2)
            print_times(device, large[i], channels);
    device->ops->close(&device);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_kinds),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_memory_is_used_again),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_addresses_of_the_host),
        cmocka_unit_test(test_another_context),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_time),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_group, close_group);
}
