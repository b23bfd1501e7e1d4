/* The live separator of every backend against that of the cpu: function by function, and on clips.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <backdrop/matrix.h>

#include "base/clock.h"
#include "linalg/shared/svd_ops.h"
#include "separation/shared/ops.h"
#include "tests/support/quick.h"
#include "tests/support/random.h"
#include <backdrop/separator.h>

/* A smooth background with noise, and a few things of other colours that move over it, each with a
 * shadow behind it and a contact shadow. */
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
                    else if (x >= at - 2 * side && x < at - side && y >= top && y < top + side)
                        v *= 0.65;
                    if (x >= at - 3 * side / 2 && x < at && y < top + side &&
                        y >= top + side - side / 6)
                        v = 6;
                }
                v += (double)(hash(i * 7919u + (uint32_t)frame * 104729u) % 9) - 4;
                picture[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
            }
}

/* Before a wall a patterned object stays at the left, or has left and another one stays at
 * the right. */
static void draw_staying(uint8_t *picture, int width, int height, int channels, bool left,
                         int frame)
{
    int side = height / 3, from = left ? width / 8 : width / 2, top = height / 3;
    for (int y = top - 8; y < top + side + 8; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < channels; c++) {
                uint32_t i = (uint32_t)((y * width + x) * channels + c);
                int v = 120 + 5 * c;
                if (x >= from && x < from + side && y >= top && y < top + side)
                    v = (left ? 200 : 15) + 20 * ((x / 3 + y / 4 + c) % 3);
                picture[i] = (uint8_t)(v + (int)(hash(i + (uint32_t)frame * 7919u) % 4));
            }
}

/* On a wet road: walkers of bright stripes, each with a weaker image below it. */
static void draw_mirrored(uint8_t *picture, int width, int height, int channels, int frame)
{
    const int high = height / 4, wide = high / 2 < 8 ? 8 : high / 2, gap = 5;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < channels; c++) {
                uint32_t i = (uint32_t)((y * width + x) * channels + c);
                int v = 80 + 10 * c + (int)(hash(i * 7919u + (uint32_t)frame * 104729u) % 5);
                for (int k = 0; k < 2; k++) {
                    const int from = (frame * (2 + k) + 60 * k) % (width + wide) - wide;
                    const int top = height / 8 + k * height / 4;
                    const bool image = y >= top + high + gap;
                    const int row = image ? 2 * (top + high) + gap - 1 - y : y;
                    if (x < from || x >= from + wide || row < top || row >= top + high)
                        continue;
                    const int differs = 60 + 30 * ((row - top) / 5 % 3 == c);
                    v += image ? differs / 2 : differs;
                }
                picture[i] = (uint8_t)v;
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
    int64_t ghost_pixels, in_shadow; /* pixels, by the reference */
};

static void open_pair(struct pair *p, const char *name, const struct bd_separation_shape *shape)
{
    *p = (struct pair){ .shape = *shape };
    p->pixels = (int64_t)shape->width * shape->height;
    p->m = p->pixels * shape->channels;
    p->picture = test_malloc((size_t)p->m);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bd_backend_open(&p->backend[i], i ? name : "cpu", 0), BD_OK);
        assert_int_equal(p->backend[i]->ops->separation->create(p->backend[i], shape, &p->state[i]),
                         BD_OK);
        assert_int_equal(p->backend[i]->ops->separation->reset(p->state[i]), BD_OK);
    }
}

static void close_pair(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        p->backend[i]->ops->separation->destroy(p->state[i]);
        bd_backend_close(&p->backend[i]);
    }
    test_free(p->picture);
}

/* With BD_TIMED in the environment: prints how long the other backend takes for each call. */
static int timed;

/* `call` on the `state` of both backends, by `ops`; `both` is 0 for the reference. */
#define BOTH(p, call)                                                                        \
    for (int both = 0; both < 2; both++) {                                                   \
        const struct bd_backend_ops *ops = (p)->backend[both]->ops;                          \
        void *state = (p)->state[both];                                                      \
        ops->device->sync((p)->backend[both]);                                               \
        double begin = bd_clock_seconds();                                                   \
        enum bd_status result = call;                                                        \
        ops->device->sync((p)->backend[both]);                                               \
        if (result != BD_OK)                                                                 \
            fail_msg("%s: %s", #call, bd_error_detail());                                    \
        if (both && timed)                                                                   \
            print_message("%.20s %.3f ms\n", #call + 8, 1e3 * (bd_clock_seconds() - begin)); \
    }

static struct bd_detect_params params(const struct pair *p)
{
    return (struct bd_detect_params){ .threshold = 20,
                                      .noise_gain = 4,
                                      .most = 60,
                                      .plain = 0.3F,
                                      .shadows = 1,
                                      .illumination = 1,
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

/* Returns the results of the reference. */
static struct bd_separation compare_results(struct pair *p, const char *when)
{
    struct bd_separation out[2] = { { 0 } };
    BOTH(p, ops->separation->finish(state));
    BOTH(p, ops->separation->collect(state, &out[both]));
    int64_t l = differing(out[0].background, out[1].background, p->m, 1);
    int64_t l0 = differing(out[0].background, out[1].background, p->m, 0);
    int64_t mask = differing(out[0].mask, out[1].mask, p->pixels, 0);
    int64_t shadow = differing(out[0].shadow, out[1].shadow, p->pixels, 0);
    int64_t changed = llabs(out[0].changed - out[1].changed);
    /* A basis of rank 1 is the same to the bit (separation/shared/rounding.h). */
    int64_t one_in = p->shape.rank > 1 ? 1000 : p->m + 1;
    if (timed || l0 || mask || shadow)
        print_message(
            "%s: rank %d %d foreground %lld %lld; background off by one %lld, more %lld of "
            "%lld; mask %lld, shadows %lld, changed %lld and %lld\n",
            when, out[0].rank, out[1].rank, (long long)out[0].foreground,
            (long long)out[1].foreground, (long long)l0, (long long)l, (long long)p->m,
            (long long)mask, (long long)shadow, (long long)out[0].changed,
            (long long)out[1].changed);
    assert_int_equal(out[0].rank, out[1].rank);
    p->ghost_pixels += out[0].ghost_pixels;
    for (int64_t i = 0; i < p->pixels; i++)
        p->in_shadow += out[0].shadow[i] == 255;
    if (out[0].ghost_pixels != out[1].ghost_pixels)
        print_message("%s: %lld pixels ghost_pixels, should be %lld\n", when,
                      (long long)out[1].ghost_pixels, (long long)out[0].ghost_pixels);
    assert_true(llabs(out[0].ghost_pixels - out[1].ghost_pixels) * 100 <= out[0].ghost_pixels);
    assert_true(l * one_in <= p->m);
    assert_true(l0 * one_in <= 10 * p->m);
    assert_true(mask * one_in <= p->pixels);
    assert_true(shadow * one_in <= p->pixels);
    assert_true(changed * one_in <= p->pixels);
    return out[0];
}

static void load(struct pair *p, int frame, double light)
{
    draw(p->picture, p->shape.width, p->shape.height, p->shape.channels, frame, light);
    BOTH(p, ops->separation->load(state, p->picture, (int64_t)p->shape.width * p->shape.channels));
}

static struct bd_separation separate(struct pair *p, int rounds, int learn, const char *when)
{
    struct bd_detect_params detect = params(p);
    BOTH(p, ops->separation->project(state, rounds, 10));
    BOTH(p, ops->separation->detect(state, &detect, learn));
    return compare_results(p, when);
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
        assert_int_equal(b->ops->device->alloc(b, (size_t)n * sizeof(double), &memory[i]), BD_OK);
        assert_int_equal(bd_matrix_create(b, &r[i], n, n, BD_F32), BD_OK);
        assert_int_equal(bd_matrix_create(b, &v[i], n, n, BD_F32), BD_OK);
        assert_int_equal(bd_matrix_create(b, &s[i], n, 1, BD_F32), BD_OK);
    }
    bool whole = false;
    for (int part = 0; part < bd_sep_gram_parts; part++)
        BOTH(p, ops->separation->gram(state, p->order, p->count, 10, part, memory[both], &whole));
    BOTH(p, ops->separation->reduce(state, p->order, p->count, 10, r[both].data, r[both].ld));
    float *host[2];
    for (int i = 0; i < 2; i++) {
        struct bd_backend *b = p->backend[i];
        size_t bytes = (size_t)n * sizeof(double);
        assert_int_equal(b->ops->device->download(b, g[i], bytes, memory[i], bytes, bytes, 1),
                         BD_OK);
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
    assert_int_equal(cpu->svd->create(p->backend[0], n, &svd), BD_OK);
    assert_int_equal(cpu->svd->compute(svd, r[0].data, r[0].ld, NULL, NULL, 0), BD_OK);
    int64_t ldv;
    const float *v_host = cpu->svd->v(svd, &ldv);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bd_matrix_upload(p->backend[i], &v[i], v_host, ldv), BD_OK);
        assert_int_equal(bd_matrix_upload(p->backend[i], &s[i], cpu->svd->sigma(svd), n), BD_OK);
    }
    double tau = 10 * sqrt((double)p->m);
    BOTH(p, ops->separation->basis(state, p->order, p->count, 10, tau, s[both].data, v[both].data,
                                   v[both].ld));
    cpu->svd->destroy(svd);
    for (int i = 0; i < 2; i++) {
        p->backend[i]->ops->device->free(p->backend[i], memory[i]);
        bd_matrix_destroy(p->backend[i], &r[i]);
        bd_matrix_destroy(p->backend[i], &v[i]);
        bd_matrix_destroy(p->backend[i], &s[i]);
        test_free(host[i]);
        test_free(g[i]);
    }
}

/* Every function in the order in which the separator calls them. */
static void check_functions(const char *name, int width, int height, int channels, int window,
                            int rank)
{
    struct bd_separation_shape shape = { width, height, channels, window, rank, 15, 1 };
    struct pair p;
    open_pair(&p, name, &shape);
    for (int j = 0; j < window; j++) {
        timed = timed && (j == 0 || j == window / 2);
        load(&p, 10 * j, j % 3 ? 1 : 0.8);
        p.order[p.count++] = (j * 7) % window;
        BOTH(&p, ops->separation->insert(state, p.order[j], 0));
        if (j == 0 || j == window / 2) {
            BOTH(&p, ops->separation->stable(state, p.order, p.count, 10, 0));
            separate(&p, 10, 0, "median");
        }
    }
    timed = getenv("BD_TIMED") != NULL;
    BOTH(&p, ops->separation->stable(state, p.order, p.count, 10, 1));
    for (int j = 0; j < window; j++) {
        struct bd_detect_params detect = params(&p);
        BOTH(&p, ops->separation->recall(state, p.order[j]));
        BOTH(&p, ops->separation->project(state, 3, 10));
        BOTH(&p, ops->separation->detect(state, &detect, 0));
        BOTH(&p, ops->separation->insert(state, p.order[j], 1));
        timed = 0;
    }
    timed = getenv("BD_TIMED") != NULL;
    load(&p, 10 * window - 5, 1);
    separate(&p, 3, 1, "stable");
    for (int i = 0; i < (test_quick() ? 1 : 3); i++)
        learn(&p);
    for (int i = 0; i < (test_quick() ? 7 : 30); i++) {
        load(&p, 10 * window + i, 1);
        separate(&p, 3, i != 10, "separation");
        timed = 0;
        if (i % 10 == 5) {
            BOTH(&p, ops->separation->insert(state, p.order[i % window], 1));
            learn(&p);
        }
    }
    timed = getenv("BD_TIMED") != NULL;
    uint8_t *known = test_malloc((size_t)p.m);
    memset(known, 90, (size_t)p.m);
    BOTH(&p, ops->separation->load_background(state, known));
    test_free(known);
    struct bd_detect_params detect = params(&p);
    BOTH(&p, ops->separation->detect(state, &detect, 1));
    compare_results(&p, "known background");
    BOTH(&p, ops->separation->reset(state));
    load(&p, 1, 1);
    BOTH(&p, ops->separation->insert(state, 0, 0));
    p.order[0] = 0;
    BOTH(&p, ops->separation->stable(state, p.order, 1, 10, 0));
    separate(&p, 10, 1, "after a reset");
    /* Small black strips are not even enough for shadows, and gray ones are no others. */
    assert_true(p.in_shadow > 0 || height < 100);
    close_pair(&p);
}

/* Ghost removal, while an object that was in all of the window leaves; and the stable values of a
 * window of it and of it gone, by turns for each pixel of some blocks. */
static void check_ghosts(const char *name, int width, int height, int channels, int rank)
{
    enum { window = 12 };
    struct bd_separation_shape shape = { width, height, channels, window, rank, 15, 1 };
    struct pair p;
    const struct bd_ghost_params ghosts = {
        .reach = 20, .still = 2, .votes = 2, .least = 4, .times = 3, .margin = 2, .noise = 1
    };
    int64_t stride = (int64_t)width * channels;
    open_pair(&p, name, &shape);
    for (int kind = 0; kind < 2; kind++) {
        p.count = 0;
        for (int j = 0; j < window; j++) {
            draw(p.picture, width, height, channels, 40 * j, 1);
            draw_staying(p.picture, width, height, channels, kind ? j < window * 2 / 3 : true, j);
            for (int64_t i = 0; kind && i < p.m; i++) /* blocks with values at random */
                if (hash((uint32_t)(i / stride / 9 * 1000 + i % stride / 30)) % 5 == 0)
                    p.picture[i] = (uint8_t)(hash((uint32_t)i * 31 + (uint32_t)j % 5 * 7) % 256);
            BOTH(&p, ops->separation->load(state, p.picture, stride));
            p.order[p.count++] = (j * 5) % window;
            BOTH(&p, ops->separation->insert(state, p.order[j], 0));
        }
        if (kind)
            BOTH(&p, ops->separation->stable(state, p.order, p.count, 10, 1))
        else
            BOTH(&p, ops->separation->stable(state, p.order, p.count, 10, 0))
        for (int i = 0; i < 14; i++) {
            draw(p.picture, width, height, channels, 40 * i, 1);
            draw_staying(p.picture, width, height, channels, i == 0, 100 + i);
            BOTH(&p, ops->separation->load(state, p.picture, stride));
            separate(&p, 3, 1, kind ? "after the values that last" : "ghost_pixels");
            if (i % 2)
                BOTH(&p, ops->separation->remove_ghosts(state, p.order, p.count, &ghosts));
            if (i == 9)
                learn(&p);
        }
        if (kind == 0)
            assert_in_range(p.ghost_pixels, height * height / 18, p.pixels);
        BOTH(&p, ops->separation->reset(state));
    }
    close_pair(&p);
}

/* The light changes at once: for good, for more than the fit follows with narrow steps, by too
 * little to be noticed, and with the picture, which is no change of light. */
static void check_light(const char *name, int width, int height, int channels, int rank)
{
    enum { window = 6 };
    static const double lights[] = { 1, 0.55, 0.57, 1.3, 0.9, 1, 0.6, 0.3 };
    const bool large = height > 40; /* in a few pixels anything explains anything */
    struct bd_separation_shape shape = { width, height, channels, window, rank, 15, 1 };
    struct pair p;
    open_pair(&p, name, &shape);
    for (int j = 0; j < window; j++) {
        load(&p, 15 * j, 1);
        p.order[p.count++] = j;
        BOTH(&p, ops->separation->insert(state, j, 0));
    }
    BOTH(&p, ops->separation->stable(state, p.order, p.count, 10, 0));
    if (rank > 1)
        learn(&p);
    for (size_t i = 0; i < sizeof lights / sizeof *lights; i++) {
        load(&p, 100 + (int)i, lights[i]);
        struct bd_separation out = separate(&p, i == 6 ? 1 : 3, 1, "another light");
        assert_true(!large || out.changed * 5 <= p.pixels * 2); /* it was followed */
    }
    for (int64_t i = 0; i < p.m; i++)
        p.picture[i] = (uint8_t)hash((uint32_t)i);
    for (int rounds = 3; rounds >= 0; rounds--) {
        BOTH(&p, ops->separation->load(state, p.picture, (int64_t)width * channels));
        struct bd_separation out = separate(&p, rounds, 0, "another picture");
        assert_true(!large || out.changed * 5 >= p.pixels * 3); /* nothing to follow */
    }
    /* Without rounds the light is not looked for. */
    load(&p, 130, 1);
    separate(&p, 3, 0, "the first light again");
    load(&p, 131, 0.4);
    struct bd_separation out = separate(&p, 0, 0, "no rounds");
    assert_true(!large || out.changed * 2 >= p.pixels);
    close_pair(&p);
}

static void test_light(void **state)
{
    (void)state;
    timed = 0;
    FOR_EACH_OTHER(name)
    {
        check_light(name, 61, 47, 3, 1);
        check_light(name, 160, 120, 1, 2);
        if (test_quick())
            continue;
        check_light(name, 7, 5, 1, 1);
        check_light(name, 333, 217, 3, 3);
        check_light(name, 640, 480, 1, 1);
        check_light(name, 1280, 720, 3, 1); /* more chunks than a GPU has multiprocessors */
    }
}

static void test_ghosts(void **state)
{
    (void)state;
    timed = 0;
    FOR_EACH_OTHER(name)
    {
        if (test_quick()) {
            check_ghosts(name, 61, 48, 3, 2);
            check_ghosts(name, 270, 70, 1, 1);
            continue;
        }
        check_ghosts(name, 160, 120, 1, 1);
        check_ghosts(name, 161, 119, 3, 1);
        check_ghosts(name, 131, 97, 3, 3);
        check_ghosts(name, 530, 290, 1, 1);
        check_ghosts(name, 320, 240, 3, 2);
    }
}

static void test_functions(void **state)
{
    (void)state;
    timed = getenv("BD_TIMED") != NULL;
    FOR_EACH_OTHER(name)
    {
        const char *big = getenv("BD_BIG");
        if (big) {
            check_functions(name, 1920, 1080, 1, 100, 1);
            return;
        }
        if (test_quick()) {
            check_functions(name, 41, 31, 3, 8, 3);
            check_functions(name, 257, 256, 1, 3, 1); /* a way of its own to R */
            continue;
        }
        check_functions(name, 160, 120, 1, 20, 1);
        check_functions(name, 97, 61, 3, 71, 3);
        check_functions(name, 161, 119, 3, 33, 1);
        check_functions(name, 131, 67, 1, 130, 2);
        check_functions(name, 64, 64, 1, 300, 1);
        check_functions(name, 5, 7, 1, 10, 2);
        /* large enough for a backend to take a way of its own to R */
        check_functions(name, 320, 240, 1, 20, 1);
        check_functions(name, 176, 144, 3, 100, 1);
        check_functions(name, 257, 256, 1, 120, 1);
    }
}

/* A clip for both, with all that can happen to a separator. */
struct clip {
    int width, height, channels, window, rank;
    bool ahead;    /* a look-ahead comes first */
    bool events;   /* a seek, a freeze, another threshold, a reset, backgrounds that are given */
    int restart;   /* the frame from which on the picture is another one; 0: none */
    int leaves;    /* the frame from which on something has left and another thing stays; 0: none */
    bool lights;   /* the light changes at once, time and again */
    bool mirrored; /* walkers on a wet road, and no shadows */
    bool blinks;   /* a sign goes on and off */
};

/* Whether (x, y) is in the sign of a clip in which it blinks. Nothing moves there. */
static bool in_sign(const struct clip *clip, int x, int y)
{
    const int side = clip->height / 8;
    return clip->blinks && x >= clip->width / 4 && x < clip->width / 4 + 3 * side &&
           y >= clip->height - side;
}

enum { blink_frames = 10 }; /* for which it is off, and then on */

static bool sign_is_on(int frame)
{
    return frame / blink_frames % 2 == 1;
}

/* Frame i of a clip; under a sanitizer all happens in fewer frames. */
static int at(int i)
{
    return test_quick() ? i / 10 : i;
}

static int clip_frames(void)
{
    return at(260);
}

struct kept {
    uint8_t *background, *mask, *shadow;
    int columns, rank;
    bool learned;
    int64_t foreground, ghost_pixels, changed;
};

static void keep(struct kept *kept, const struct clip *clip, const struct bd_separation *out)
{
    size_t pixels = (size_t)clip->width * (size_t)clip->height;
    memcpy(kept->background, out->background, pixels * (size_t)clip->channels);
    memcpy(kept->mask, out->mask, pixels);
    memcpy(kept->shadow, out->shadow, pixels);
    kept->columns = out->columns;
    kept->rank = out->rank;
    kept->learned = out->learned;
    kept->foreground = out->foreground;
    kept->ghost_pixels = out->ghost_pixels;
    kept->changed = out->changed;
}

static void draw_clip(uint8_t *picture, const struct clip *clip, int frame)
{
    double light = 1 + 0.1 * sin(0.02 * frame);
    if (clip->lights && frame % 40 >= 25)
        light *= frame % 80 < 40 ? 0.6 : 1.25;
    if (clip->mirrored) {
        draw_mirrored(picture, clip->width, clip->height, clip->channels, frame);
        return;
    }
    draw(picture, clip->width, clip->height, clip->channels, frame, light);
    if (clip->leaves)
        draw_staying(picture, clip->width, clip->height, clip->channels, frame < clip->leaves,
                     frame);
    for (int y = 0; y < clip->height && sign_is_on(frame); y++)
        for (int x = 0; x < clip->width; x++)
            if (in_sign(clip, x, y))
                memset(picture + (y * clip->width + x) * clip->channels, 250,
                       (size_t)clip->channels);
    int64_t m = (int64_t)clip->width * clip->height * clip->channels;
    for (int64_t i = 0; clip->restart && frame >= clip->restart && i < m; i++)
        picture[i] = (uint8_t)(255 - picture[i]);
}

/* What a user does before frame i. */
static void act(struct bd_separator *s, const struct clip *clip, int i)
{
    if (!clip->events)
        return;
    if (i == at(90) || i == at(110))
        bd_separator_freeze(s, i == at(90));
    if (i == at(130))
        assert_int_equal(bd_separator_set_threshold(s, 30), BD_OK);
    if (i == at(140))
        assert_int_equal(bd_separator_set_lambda(s, 7), BD_OK);
    if (i == at(200))
        assert_int_equal(bd_separator_reset(s), BD_OK);
}

static double time_of(const struct clip *clip, int i)
{
    return i / 25.0 + (clip->events && i >= at(160) ? 100 : 0);
}

static bool known(const struct clip *clip, int i)
{
    return clip->events && i >= at(170) && i < at(180);
}

static struct bd_separator *open_clip(struct bd_backend **backend, const char *name,
                                      const struct clip *clip, uint8_t *picture)
{
    struct bd_separator *s;
    struct bd_separator_options options = { .width = clip->width,
                                            .height = clip->height,
                                            .channels = clip->channels,
                                            .window = clip->window,
                                            .rank = clip->rank,
                                            .memory = 4,
                                            .outputs = 15 };
    assert_int_equal(bd_backend_open(backend, name, 0), BD_OK);
    assert_int_equal(bd_separator_create(&s, *backend, &options), BD_OK);
    for (int i = 0; clip->ahead && i < clip->window + 5; i++) {
        draw_clip(picture, clip, 5 * i);
        assert_int_equal(bd_separator_look_ahead(s, picture, (int64_t)clip->width * clip->channels),
                         BD_OK);
    }
    if (clip->ahead)
        assert_int_equal(bd_separator_initialise(s), BD_OK);
    for (int i = 0; clip->ahead && i < clip->window + 5; i++) { /* the first five have gone */
        draw_clip(picture, clip, 5 * i + 1);
        assert_int_equal(
            bd_separator_look_after(s, i, picture, (int64_t)clip->width * clip->channels), BD_OK);
    }
    return s;
}

/* Frame i to a separator; known backgrounds are pushed when all is received. */
static void give(struct bd_separator *s, const struct clip *clip, int i, uint8_t *picture,
                 uint8_t *background, struct bd_separation *out)
{
    int64_t stride = (int64_t)clip->width * clip->channels;
    draw_clip(picture, clip, i);
    if (!known(clip, i)) {
        assert_int_equal(bd_separator_submit(s, picture, stride, time_of(clip, i)), BD_OK);
        return;
    }
    draw_clip(background, clip, i + 50);
    assert_int_equal(bd_separator_push_known(s, picture, stride, background, time_of(clip, i), out),
                     BD_OK);
}

struct tally {
    int64_t pixels, elements, masks, shadows, backgrounds; /* differing ones of the latter three */
    int64_t in_shadow;                                     /* by the reference */
    int64_t want_ghost_pixels, ghost_pixels;
    int64_t sign_before, sign_after; /* pixels of the sign: in the first half, in the second one */
    int ranks; /* frames whose rank differs: none is compared from the first of them on */
};

static void compare_frame(struct tally *tally, const struct clip *clip, int i,
                          const struct kept *want, const struct bd_separation *out)
{
    int64_t pixels = (int64_t)clip->width * clip->height, m = pixels * clip->channels;
    int64_t masks = differing(want->mask, out->mask, pixels, 0);
    int64_t shadows = differing(want->shadow, out->shadow, pixels, 0);
    int64_t backgrounds = differing(want->background, out->background, m, clip->rank > 1 ? 1 : 0);
    assert_int_equal(want->columns, out->columns);
    assert_int_equal(want->learned, out->learned);
    /* A singular value near the threshold; the bases differ from then on. */
    tally->ranks += want->rank != out->rank;
    if (tally->ranks)
        return;
    tally->pixels += pixels;
    tally->elements += m;
    tally->masks += masks;
    tally->shadows += shadows;
    for (int64_t p = 0; p < pixels; p++)
        tally->in_shadow += want->shadow[p] == 255;
    tally->backgrounds += backgrounds;
    tally->want_ghost_pixels += want->ghost_pixels;
    tally->ghost_pixels += out->ghost_pixels;
    int64_t set = 0, sign = 0;
    for (int64_t p = 0; p < pixels; p++)
        set += out->mask[p] == 255;
    for (int64_t p = 0; p < pixels && sign_is_on(i); p++)
        sign += out->mask[p] && in_sign(clip, (int)(p % clip->width), (int)(p / clip->width));
    *(2 * i < clip_frames() ? &tally->sign_before : &tally->sign_after) += sign;
    assert_int_equal(set, out->foreground);
    if (masks * 50 > pixels || shadows * 50 > pixels || backgrounds * 50 > m ||
        llabs(want->changed - out->changed) * 50 > pixels)
        fail_msg("frame %d: %lld of %lld mask pixels, %lld of shadows and %lld background elements "
                 "differ; %lld changed, should be %lld",
                 i, (long long)masks, (long long)pixels, (long long)shadows, (long long)backgrounds,
                 (long long)out->changed, (long long)want->changed);
}

/* The reference receives a frame at once, the other as late as it may. */
static void check_clip(const char *name, const struct clip *clip)
{
    size_t pixels = (size_t)clip->width * (size_t)clip->height, m = pixels * 3;
    uint8_t *picture = test_malloc(m), *background = test_malloc(m);
    struct bd_backend *backend[2];
    struct bd_separator *cpu = open_clip(&backend[0], "cpu", clip, picture);
    struct bd_separator *other = open_clip(&backend[1], name, clip, picture);
    struct kept ring[4] = { { 0 } };
    struct bd_separation out;
    struct tally tally = { 0 };
    int depth = bd_separator_depth(other), received = 0;
    assert_in_range(depth, 1, 3);
    for (int i = 0; i < 4; i++) {
        ring[i].background = test_malloc(m);
        ring[i].mask = test_malloc(pixels);
        ring[i].shadow = test_malloc(pixels);
    }
    for (int i = 0; i < clip_frames() + depth; i++) {
        while (received < i &&
               (i >= clip_frames() || known(clip, i) || bd_separator_in_flight(other) == depth)) {
            if (!known(clip, received)) {
                assert_int_equal(bd_separator_receive(other, &out), BD_OK);
                compare_frame(&tally, clip, received, &ring[received % 4], &out);
            }
            received++;
            if (received == clip_frames())
                break;
        }
        if (i >= clip_frames())
            break;
        act(cpu, clip, i);
        give(cpu, clip, i, picture, background, &out);
        if (!known(clip, i))
            assert_int_equal(bd_separator_receive(cpu, &out), BD_OK);
        keep(&ring[i % 4], clip, &out);
        act(other, clip, i);
        give(other, clip, i, picture, background, &out);
        if (known(clip, i))
            compare_frame(&tally, clip, i, &ring[i % 4], &out);
    }
    assert_int_equal(received, clip_frames());
    print_message("%s, %d x %d x %d, window %d, rank %d: %.5f %% of mask pixels, %.5f %% of "
                  "shadows (of %.2f %%), %.5f %% of background elements differ (by more than 1 "
                  "where rank is not 1); "
                  "ghost_pixels %lld and %lld; %d frames of another rank\n",
                  name, clip->width, clip->height, clip->channels, clip->window, clip->rank,
                  100 * (double)tally.masks / (double)tally.pixels,
                  100 * (double)tally.shadows / (double)tally.pixels,
                  100 * (double)tally.in_shadow / (double)tally.pixels,
                  100 * (double)tally.backgrounds / (double)tally.elements,
                  (long long)tally.want_ghost_pixels, (long long)tally.ghost_pixels, tally.ranks);
    /* A basis of rank 1 is the same to the bit (separation/shared/rounding.h). */
    int64_t one_in = clip->rank > 1 ? 1000 : tally.elements + 1;
    assert_true(tally.ranks * (clip->rank > 1 ? 4 : clip_frames() + 1) <= clip_frames());
    assert_true(tally.masks * one_in <= tally.pixels);
    assert_true(tally.shadows * one_in <= tally.pixels);
    /* Small black strips are not even enough for shadows; where something leaves a gray picture no
     * others are. */
    assert_true(test_quick() || tally.in_shadow > 0 ||
                (clip->channels == 1 && (clip->height < 100 || clip->leaves)));
    assert_true(tally.backgrounds * one_in <= tally.elements);
    assert_true(llabs(tally.want_ghost_pixels - tally.ghost_pixels) * 50 <=
                tally.want_ghost_pixels);
    if (clip->leaves && !clip->ahead && !test_quick())
        assert_in_range(tally.ghost_pixels, clip->height * clip->height / 18, tally.pixels);
    if (clip->blinks && !clip->events && !test_quick()) {
        assert_true(tally.sign_before > clip->height * clip->height / 64);
        assert_int_equal(tally.sign_after, 0);
    }
    bd_separator_destroy(&cpu);
    bd_separator_destroy(&other);
    for (int i = 0; i < 2; i++)
        bd_backend_close(&backend[i]);
    for (int i = 0; i < 4; i++) {
        test_free(ring[i].background);
        test_free(ring[i].mask);
        test_free(ring[i].shadow);
    }
    test_free(picture);
    test_free(background);
}

static void test_clips(void **state)
{
    (void)state;
    static const struct clip clips[] = {
        { .width = 160, .height = 120, .channels = 1, .window = 20, .rank = 1 },
        { 161, 119, 3, 30, 1, .ahead = true, .restart = 150 },
        { 160, 120, 3, 20, 1, .ahead = true, .events = true },
        { 97, 61, 1, 25, 3, .ahead = true },
        { 97, 61, 3, 70, 2, .events = true, .restart = 80 },
        { 320, 240, 1, 40, 1, .ahead = true },
        { 160, 120, 3, 20, 1, .leaves = 130 },
        { 320, 240, 1, 40, 1, .ahead = true, .leaves = 130 },
        { 131, 97, 1, 25, 3, .leaves = 130 },
        { 161, 119, 3, 30, 1, .ahead = true, .leaves = 60 },
        { 160, 120, 3, 20, 1, .ahead = true, .lights = true },
        { 131, 97, 1, 25, 2, .lights = true },
        { 320, 240, 3, 20, 1, .ahead = true, .mirrored = true },
        { 161, 119, 3, 20, 1, .events = true, .mirrored = true },
        { 160, 128, 3, 20, 1, .ahead = true, .blinks = true },
        { 161, 119, 1, 20, 1, .events = true, .blinks = true },
    };
    static const struct clip quick = {
        64, 48, 3, 6, 1, .ahead = true, .events = true, .leaves = 12
    };
    FOR_EACH_OTHER(name)
    for (size_t i = 0; i < (test_quick() ? 1 : sizeof clips / sizeof *clips); i++)
        check_clip(name, test_quick() ? &quick : &clips[i]);
}

/* An argument chooses tests by name. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_light),
        cmocka_unit_test(test_ghosts),
        cmocka_unit_test(test_clips),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
