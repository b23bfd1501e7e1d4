/* The live separator of every backend against that of the cpu: slot by slot, and on clips. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "linalg/backend_ops.h"
#include "linalg/separator.h"
#include "linalg/separator_ops.h"

static double seconds_now(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint32_t hash(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

/* A smooth background with noise, and a few things of other colours that move over it. */
static void draw(uint8_t *picture, int width, int height, int channels, int frame, double light)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < channels; c++) {
                uint32_t i = (uint32_t)((y * width + x) * channels + c);
                double v = light * (70 + 60 * sin(0.03 * x + c) + 50 * sin(0.05 * y)) + 10 * c;
                for (int k = 0; k < 3; k++) {
                    int side = height / (5 + k), at = (frame * (2 + k) + 97 * k) % (width + side);
                    int top = height / 8 + k * height / 4;
                    if (x >= at - side && x < at && y >= top && y < top + side)
                        v = 230 - 90 * ((k + c) % 3);
                }
                v += (double)(hash(i * 7919u + (uint32_t)frame * 104729u) % 9) - 4;
                picture[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
            }
}

/* The backends besides the reference that this machine has, NULL at the end. */
static const char *const *others(void)
{
    static const char *usable[8];
    int found = 0;
    if (usable[0])
        return usable;
    for (const char *const *name = bd_backend_names(); *name; name++) {
        struct bd_backend *backend = NULL;
        enum bd_status status = BD_ERROR_UNSUPPORTED;
        if (strcmp(*name, "cpu") != 0 &&
            (status = bd_backend_open(&backend, *name, 1)) == BD_ERROR_UNSUPPORTED)
            print_message("skipped: %s\n", bd_error_detail());
        if (status == BD_OK)
            usable[found++] = *name;
        else
            assert_int_equal(status, BD_ERROR_UNSUPPORTED);
        bd_backend_close(&backend);
    }
    return usable;
}

#define FOR_EACH_OTHER(name) \
    for (const char *const *each = others(), *name = *each; name; name = *++each)

/* A state of each of two backends, which are given the same. */
struct pair {
    struct bd_backend *backend[2];
    void *state[2];
    struct bd_separation_shape shape;
    int64_t pixels, m;
    uint8_t *picture;
    int order[1000], count;
};

static void open_pair(struct pair *p, const char *name, const struct bd_separation_shape *shape)
{
    *p = (struct pair){ .shape = *shape };
    p->pixels = (int64_t)shape->width * shape->height;
    p->m = p->pixels * shape->channels;
    p->picture = test_malloc((size_t)p->m);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bd_backend_open(&p->backend[i], i ? name : "cpu", 0), BD_OK);
        assert_int_equal(p->backend[i]->ops->sep_create(p->backend[i], shape, &p->state[i]), BD_OK);
        assert_int_equal(p->backend[i]->ops->sep_reset(p->state[i]), BD_OK);
    }
}

static void close_pair(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        p->backend[i]->ops->sep_destroy(p->state[i]);
        bd_backend_close(&p->backend[i]);
    }
    test_free(p->picture);
}

/* With BD_TIMED in the environment: prints how long the other backend takes for each call. */
static int timed;

/* `call` on the `state` of both backends, by `ops`; `both` is 0 for the reference. */
#define BOTH(p, call)                                                                   \
    for (int both = 0; both < 2; both++) {                                              \
        const struct bd_backend_ops *ops = (p)->backend[both]->ops;                     \
        void *state = (p)->state[both];                                                 \
        ops->sync((p)->backend[both]);                                                  \
        double begin = seconds_now();                                                   \
        enum bd_status result = call;                                                   \
        ops->sync((p)->backend[both]);                                                  \
        if (result != BD_OK)                                                            \
            fail_msg("%s: %s", #call, bd_error_detail());                               \
        if (both && timed)                                                              \
            print_message("%.20s %.3f ms\n", #call + 8, 1e3 * (seconds_now() - begin)); \
    }

static struct bd_detect_params params(const struct pair *p)
{
    return (struct bd_detect_params){ .threshold = 20,
                                      .noise_gain = 4,
                                      .most = 60,
                                      .median = 5,
                                      .min_area = (int)(p->pixels / 3000),
                                      .max_hole = (int)(p->pixels / 150),
                                      .guard = p->shape.height / 16,
                                      .noise_rate = 0.02f,
                                      .seconds = 0.04f,
                                      .memory = 0.3f };
}

static int64_t differing(const uint8_t *a, const uint8_t *b, int64_t count, int by)
{
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++)
        found += abs(a[i] - b[i]) > by;
    return found;
}

static void compare_results(struct pair *p, const char *when)
{
    struct bd_separation out[2] = { { 0 } };
    BOTH(p, ops->sep_finish(state));
    BOTH(p, ops->sep_collect(state, &out[both]));
    int64_t l = differing(out[0].background, out[1].background, p->m, 1);
    int64_t l0 = differing(out[0].background, out[1].background, p->m, 0);
    int64_t mask = differing(out[0].mask, out[1].mask, p->pixels, 0);
    if (timed || l * 1000 > p->m || mask * 1000 > p->pixels)
        print_message(
            "%s: rank %d %d foreground %lld %lld; background off by one %lld, more %lld of "
            "%lld; mask %lld\n",
            when, out[0].rank, out[1].rank, (long long)out[0].foreground,
            (long long)out[1].foreground, (long long)l0, (long long)l, (long long)p->m,
            (long long)mask);
    assert_int_equal(out[0].rank, out[1].rank);
    assert_true(l * 1000 <= p->m);
    assert_true(l0 * 100 <= p->m);
    assert_true(mask * 1000 <= p->pixels);
}

static void load(struct pair *p, int frame, double light)
{
    draw(p->picture, p->shape.width, p->shape.height, p->shape.channels, frame, light);
    BOTH(p, ops->sep_load(state, p->picture, (int64_t)p->shape.width * p->shape.channels));
}

static void separate(struct pair *p, int rounds, int learn, const char *when)
{
    struct bd_detect_params detect = params(p);
    BOTH(p, ops->sep_project(state, rounds, 10));
    BOTH(p, ops->sep_detect(state, &detect, learn));
    compare_results(p, when);
}

/* g and R^T R of the two, and then the basis of the first one's SVD in both. */
static void learn(struct pair *p)
{
    int n = p->shape.window;
    double *g[2] = { test_malloc((size_t)n * sizeof(double)),
                     test_malloc((size_t)n * sizeof(double)) };
    void *memory[2];
    struct bd_matrix r[2], v[2], s[2];
    for (int i = 0; i < 2; i++) {
        struct bd_backend *b = p->backend[i];
        assert_int_equal(b->ops->alloc(b, (size_t)n * sizeof(double), &memory[i]), BD_OK);
        assert_int_equal(bd_matrix_create(b, &r[i], n, n, BD_F32), BD_OK);
        assert_int_equal(bd_matrix_create(b, &v[i], n, n, BD_F32), BD_OK);
        assert_int_equal(bd_matrix_create(b, &s[i], n, 1, BD_F32), BD_OK);
    }
    BOTH(p, ops->sep_gram(state, p->order, p->count, 10, memory[both]));
    BOTH(p, ops->sep_reduce(state, p->order, p->count, 10, r[both].data, r[both].ld));
    float *host[2];
    for (int i = 0; i < 2; i++) {
        struct bd_backend *b = p->backend[i];
        size_t bytes = (size_t)n * sizeof(double);
        assert_int_equal(b->ops->download(b, g[i], bytes, memory[i], bytes, bytes, 1), BD_OK);
        host[i] = test_malloc((size_t)n * (size_t)n * sizeof(float));
        assert_int_equal(bd_matrix_download(b, host[i], n, &r[i]), BD_OK);
    }
    double worst = 0, largest = 0, worst_r = 0;
    for (int j = 0; j < p->count; j++) {
        worst = fmax(worst, fabs(g[0][j] - g[1][j]));
        largest = fmax(largest, fabs(g[0][j]));
    }
    for (int j = 0; j < n; j++)
        for (int k = 0; k < n; k++) {
            double sum[2] = { 0 };
            for (int i = 0; i < 2; i++)
                for (int l = 0; l < n; l++)
                    sum[i] += (double)host[i][l + j * n] * (double)host[i][l + k * n];
            worst_r = fmax(worst_r, fabs(sum[0] - sum[1]));
        }
    if (timed)
        print_message("gram off by %.2e, R^T R by %.2e\n", worst / largest, worst_r / largest);
    assert_true(worst <= 1e-6 * largest);
    assert_true(worst_r <= 3e-6 * largest);
    void *svd;
    const struct bd_backend_ops *cpu = p->backend[0]->ops;
    assert_int_equal(cpu->svd_create(p->backend[0], n, &svd), BD_OK);
    assert_int_equal(cpu->svd_compute(svd, r[0].data, r[0].ld, NULL, NULL, 0), BD_OK);
    int64_t ldv;
    const float *v_host = cpu->svd_v(svd, &ldv);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bd_matrix_upload(p->backend[i], &v[i], v_host, ldv), BD_OK);
        assert_int_equal(bd_matrix_upload(p->backend[i], &s[i], cpu->svd_sigma(svd), n), BD_OK);
    }
    double tau = 10 * sqrt((double)p->m);
    BOTH(p, ops->sep_basis(state, p->order, p->count, 10, tau, s[both].data, v[both].data,
                           v[both].ld));
    cpu->svd_destroy(svd);
    for (int i = 0; i < 2; i++) {
        p->backend[i]->ops->free(p->backend[i], memory[i]);
        bd_matrix_destroy(p->backend[i], &r[i]);
        bd_matrix_destroy(p->backend[i], &v[i]);
        bd_matrix_destroy(p->backend[i], &s[i]);
        test_free(host[i]);
        test_free(g[i]);
    }
}

/* Every slot in the order in which the separator calls them. */
static void check_slots(const char *name, int width, int height, int channels, int window, int rank)
{
    struct bd_separation_shape shape = { width, height, channels, window, rank, 7 };
    struct pair p;
    open_pair(&p, name, &shape);
    for (int j = 0; j < window; j++) {
        load(&p, 10 * j, j % 3 ? 1 : 0.8);
        p.order[p.count++] = (j * 7) % window;
        BOTH(&p, ops->sep_insert(state, p.order[j], 0));
        if (j == 0 || j == window / 2) {
            BOTH(&p, ops->sep_median(state, p.order, p.count, 10));
            separate(&p, 10, 0, "median");
        }
    }
    BOTH(&p, ops->sep_lasting(state, p.order, p.count, 10));
    for (int j = 0; j < window; j++) {
        struct bd_detect_params detect = params(&p);
        BOTH(&p, ops->sep_recall(state, p.order[j]));
        BOTH(&p, ops->sep_project(state, 3, 10));
        BOTH(&p, ops->sep_detect(state, &detect, 0));
        BOTH(&p, ops->sep_insert(state, p.order[j], 1));
        timed = 0;
    }
    timed = getenv("BD_TIMED") != NULL;
    separate(&p, 3, 1, "lasting");
    for (int i = 0; i < 3; i++)
        learn(&p);
    for (int i = 0; i < 30; i++) {
        load(&p, 10 * window + i, 1);
        separate(&p, 3, i != 10, "separation");
        timed = 0;
        if (i % 10 == 5) {
            BOTH(&p, ops->sep_insert(state, p.order[i % window], 1));
            learn(&p);
        }
    }
    timed = getenv("BD_TIMED") != NULL;
    memset(p.picture, 90, (size_t)p.m);
    BOTH(&p, ops->sep_load_background(state, p.picture));
    struct bd_detect_params detect = params(&p);
    BOTH(&p, ops->sep_detect(state, &detect, 1));
    compare_results(&p, "known background");
    BOTH(&p, ops->sep_reset(state));
    load(&p, 1, 1);
    BOTH(&p, ops->sep_insert(state, 0, 0));
    p.order[0] = 0;
    BOTH(&p, ops->sep_median(state, p.order, 1, 10));
    separate(&p, 10, 1, "after a reset");
    close_pair(&p);
}

static void test_slots(void **state)
{
    (void)state;
    timed = getenv("BD_TIMED") != NULL;
    FOR_EACH_OTHER(name)
    {
        const char *big = getenv("BD_BIG");
        if (big) {
            check_slots(name, 1920, 1080, 1, 100, 1);
            return;
        }
        check_slots(name, 160, 120, 1, 20, 1);
        check_slots(name, 161, 119, 3, 33, 1);
        check_slots(name, 97, 61, 3, 71, 3);
        check_slots(name, 131, 67, 1, 130, 2);
        check_slots(name, 64, 64, 1, 300, 1);
        check_slots(name, 5, 7, 1, 10, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
