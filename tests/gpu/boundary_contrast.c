/* Boundary contrast on the GPU against that on the CPU, bit for bit, on random pictures of one and
 * of many tiles; then its time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/separation/mask/mask.h"
#include "separation/cpu/mask.h"
#include "tests/gpu/open_gpu.h"
#include "tests/support/quick.h"
#include "tests/support/random.h"

/* Both tests, and their pictures: in the host's memory and in the GPU's. */
enum { outside, inside, region, apart, pictures };

struct pair {
    struct bd_cuda *cuda;
    int width, height;
    size_t pixels;
    struct bd_cuda_mask *gpu;
    struct bd_pool *pool;
    struct bd_mask_work *cpu;
    uint8_t *host[pictures], *device[pictures];
    uint8_t *want, *got, *d_got, *filtered;
};

static size_t bytes_of(const struct pair *p, int picture)
{
    return p->pixels * (picture == outside || picture == inside ? 3 : 1);
}

static void open_pair(struct pair *p, struct bd_backend *backend, int width, int height)
{
    *p = (struct pair){ .cuda = bd_cuda_of(backend), .width = width, .height = height };
    p->pixels = (size_t)width * (size_t)height;
    assert_int_equal(bd_cuda_mask_create(p->cuda, width, height, &p->gpu), BD_OK);
    assert_int_equal(bd_pool_create(&p->pool, 1), BD_OK);
    assert_int_equal(bd_mask_work_create(&p->cpu, p->pool, width, height), BD_OK);
    for (int i = 0; i < pictures; i++) {
        p->host[i] = test_malloc(bytes_of(p, i));
        assert_int_equal(cudaMalloc((void **)&p->device[i], bytes_of(p, i)), cudaSuccess);
    }
    p->want = test_malloc(p->pixels);
    p->got = test_malloc(p->pixels);
    p->filtered = test_malloc(p->pixels);
    assert_int_equal(cudaMalloc((void **)&p->d_got, p->pixels), cudaSuccess);
}

static void close_pair(struct pair *p)
{
    bd_cuda_mask_destroy(p->gpu);
    bd_mask_work_destroy(&p->cpu);
    bd_pool_destroy(&p->pool);
    for (int i = 0; i < pictures; i++) {
        test_free(p->host[i]);
        cudaFree(p->device[i]);
    }
    test_free(p->want);
    test_free(p->got);
    test_free(p->filtered);
    cudaFree(p->d_got);
}

/* Blocks of `block` pixels, so that there are components of all sizes; `percent` of them in the
 * region. The picture inside is calmer, so that some components have the lower contrast. */
static void draw(struct pair *p, int block, uint32_t percent, uint32_t seed)
{
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++) {
            size_t i = (size_t)y * (size_t)p->width + (size_t)x;
            uint32_t here = (uint32_t)(y / block * 9973 + x / block) + seed * 1000;
            p->host[region][i] = random_bits(&here) % 100 < percent;
            here += 50000;
            p->host[apart][i] = !p->host[region][i] && random_bits(&here) % 100 < 20 ? 255 : 0;
        }
    for (size_t i = 0; i < 3 * p->pixels; i++) {
        p->host[outside][i] = (uint8_t)random_bits(&seed);
        p->host[inside][i] = (uint8_t)(100 + random_bits(&seed) % 60);
    }
    for (int i = 0; i < pictures; i++)
        assert_int_equal(
            cudaMemcpy(p->device[i], p->host[i], bytes_of(p, i), cudaMemcpyHostToDevice),
            cudaSuccess);
}

struct setting {
    int channels, median, least, times;
    bool apart;
};

static struct bd_cuda_boundary on_gpu(const struct pair *p, const struct setting *set)
{
    return (struct bd_cuda_boundary){ .outside = p->device[outside],
                                      .inside = p->device[inside],
                                      .channels = set->channels,
                                      .region = p->device[region],
                                      .median = set->median,
                                      .apart = set->apart ? p->device[apart] : NULL,
                                      .least = set->least,
                                      .times = set->times };
}

/* Returns how many pixels are in components of lower contrast. */
static int check(struct pair *p, const struct setting *set)
{
    struct bd_cuda_boundary boundary = on_gpu(p, set);
    struct bd_boundary cpu = { .outside = p->host[outside],
                               .inside = p->host[inside],
                               .channels = set->channels,
                               .region = p->filtered,
                               .apart = set->apart ? p->host[apart] : NULL,
                               .least = set->least,
                               .times = set->times };
    int found = 0;
    bd_mask_median(p->cpu, p->filtered, p->host[region], set->median);
    bd_boundary_find(p->cpu, p->want, &cpu);
    assert_int_equal(cudaMemset(p->d_got, 0x5a, p->pixels), cudaSuccess);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    assert_int_equal(bd_cuda_boundary_find(p->gpu, p->d_got, &boundary), BD_OK);
    assert_int_equal(cudaStreamSynchronize(p->cuda->stream), cudaSuccess);
    assert_int_equal(cudaMemcpy(p->got, p->d_got, p->pixels, cudaMemcpyDeviceToHost), cudaSuccess);
    for (size_t i = 0; i < p->pixels; i++) {
        found += p->want[i];
        if (p->got[i] != p->want[i])
            fail_msg("%d x %d x %d, median %d, least %d, times %d: (%zu, %zu) is %d", p->width,
                     p->height, set->channels, set->median, set->least, set->times,
                     i % (size_t)p->width, i / (size_t)p->width, p->got[i]);
    }
    return found;
}

static void test_random(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1, 1 },     { 2, 3 },     { 3, 2 },   { 300, 1 },
                                    { 1, 300 },   { 31, 33 },   { 64, 48 }, { 257, 65 },
                                    { 255, 130 }, { 640, 360 }, { 34, 90 }, { 33, 64 },
                                    { 1000, 201 } };
    struct bd_backend *backend = open_gpu();
    int found = 0, pixels = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s += test_quick() ? 4 : 1) {
        struct pair p;
        open_pair(&p, backend, sizes[s][0], sizes[s][1]);
        for (int round = 0; round < (test_quick() ? 4 : 24); round++) {
            static const uint32_t percents[] = { 35, 10, 55, 90, 40 };
            static const int blocks[] = { 7, 1, 3, 20, 60, 2 };
            struct setting set = { .channels = 1 + round % 2 * 2,
                                   .median = 1 + round / 2 % 3 * 2,
                                   .least = round % 4 * 5,
                                   .times = 1 + round % 3,
                                   .apart = round % 5 < 3 };
            draw(&p, blocks[round % 6], percents[round % 5], (uint32_t)round);
            found += check(&p, &set);
            pixels += (int)p.pixels;
        }
        close_pair(&p);
    }
    print_message("%d of %d pixels have the lower contrast\n", found, pixels);
    assert_in_range(found, pixels / 100, pixels / 2); /* both kinds occur */
    bd_backend_close(&backend);
}

/* Each allocation and launch may fail: it is reported, and the next call is right. */
static void test_faults(void **state)
{
    (void)state;
    struct bd_backend *backend = open_gpu();
    struct setting set = { .channels = 3, .median = 3, .least = 5, .times = 2, .apart = true };
    struct bd_cuda_mask *none = NULL;
    struct pair p;
    open_pair(&p, backend, 300, 140);
    draw(&p, 7, 35, 1);
    struct bd_cuda_boundary boundary = on_gpu(&p, &set);
    bd_cuda_inject(cudaErrorMemoryAllocation, 0);
    assert_int_equal(bd_cuda_mask_create(p.cuda, p.width, p.height, &none), BD_ERROR_MEMORY);
    assert_null(none);
    for (int launch = 0; launch < 6; launch++) {
        bd_cuda_inject(cudaErrorUnknown, launch);
        assert_int_equal(bd_cuda_boundary_find(p.gpu, p.d_got, &boundary), BD_ERROR_BACKEND);
    }
    bd_cuda_inject(cudaSuccess, 0);
    check(&p, &set);
    close_pair(&p);
    bd_backend_close(&backend);
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void test_time(void **state)
{
    (void)state;
    if (test_quick())
        skip();
    enum { times = 21 };
    static const int blocks[] = { 200, 20, 3 };
    struct bd_backend *backend = open_gpu();
    struct pair p;
    cudaEvent_t start, stop;
    open_pair(&p, backend, 1920, 1080);
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
        for (uint32_t percent = 0; percent <= 40; percent += 20) {
            struct setting set = {
                .channels = 1, .median = 3, .least = 691, .times = 3, .apart = true
            };
            struct bd_cuda_boundary boundary = on_gpu(&p, &set);
            float ms[times] = { 0 };
            draw(&p, blocks[b], percent, 3);
            for (int i = -3; i < times; i++) {
                cudaEventRecord(start, p.cuda->stream);
                assert_int_equal(bd_cuda_boundary_find(p.gpu, p.d_got, &boundary), BD_OK);
                cudaEventRecord(stop, p.cuda->stream);
                assert_int_equal(cudaEventSynchronize(stop), cudaSuccess);
                if (i >= 0)
                    cudaEventElapsedTime(&ms[i], start, stop);
            }
            qsort(ms, times, sizeof *ms, by_value);
            print_message("1920 x 1080, blocks of %d, %d %%: %.4f ms\n", blocks[b], (int)percent,
                          (double)ms[times / 2]);
        }
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    close_pair(&p);
    bd_backend_close(&backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
