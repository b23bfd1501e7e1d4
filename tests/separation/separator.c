/* The live separator on small drawn scenes, on every backend: what is learned, and when. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "separation/shared/ops.h"
#include "tests/support/quick.h"
#include "tests/support/random.h"
#include <backdrop/separator.h>

enum { width = 96, height = 64, side = 14 };
/* Linked with --wrap: counts what our own code allocates. */
static atomic_long allocations;
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __real_calloc(count, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __real_aligned_alloc(alignment, size);
}

static uint8_t byte(double v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* A smooth background with a little noise, `light` times as bright; a square of another colour with
 * its corner at (x, y), also where that is left of the picture, unless y < 0. */
static void draw(uint8_t *picture, int channels, int frame, double light, int x, int y)
{
    for (int v = 0; v < height; v++)
        for (int u = 0; u < width; u++)
            for (int c = 0; c < channels; c++) {
                uint32_t i = (uint32_t)((v * width + u) * channels + c);
                double value = light * (60 + u + 0.5 * v + 10 * c);
                if (y >= 0 && u >= x && u < x + side && v >= y && v < y + side)
                    value = c == 1 ? 30 : 220;
                value += (double)(hash(i * 7919u + (uint32_t)frame) % 7) - 3;
                picture[i] = byte(value);
            }
}

/* Pixels of the mask inside the square at (x, y), and outside a margin of 3 around it. */
static void count(const uint8_t *mask, int x, int y, int *inside, int *outside)
{
    *inside = *outside = 0;
    for (int v = 0; v < height; v++)
        for (int u = 0; u < width; u++) {
            if (!mask[v * width + u])
                continue;
            if (u >= x && u < x + side && v >= y && v < y + side)
                ++*inside;
            else if (u < x - 3 || u >= x + side + 3 || v < y - 3 || v >= y + side + 3)
                ++*outside;
        }
}

struct scene {
    struct bd_backend *backend;
    struct bd_separator *separator;
    struct bd_separation out;
    int channels, frame;
    uint8_t picture[width * height * 3];
};

static struct bd_separator_options defaults(int channels)
{
    return (struct bd_separator_options){
        .width = width, .height = height, .channels = channels, .window = 20, .memory = 8
    };
}

static void open_scene(struct scene *scene, const char *name, int threads,
                       const struct bd_separator_options *options)
{
    memset(scene, 0, sizeof *scene);
    scene->channels = options->channels;
    assert_int_equal(bd_backend_open(&scene->backend, name, threads), BD_OK);
    assert_int_equal(bd_separator_create(&scene->separator, scene->backend, options), BD_OK);
}

/* Another table for the backend, and so another separator: it keeps the table that it found. */
static void use_table(struct scene *scene, const struct bd_backend_ops *ops,
                      const struct bd_separator_options *options)
{
    bd_separator_destroy(&scene->separator);
    scene->backend->ops = ops;
    assert_int_equal(bd_separator_create(&scene->separator, scene->backend, options), BD_OK);
}

static void close_scene(struct scene *scene)
{
    bd_separator_destroy(&scene->separator);
    assert_null(scene->separator);
    bd_backend_close(&scene->backend);
    assert_null(scene->backend);
}

/* One more frame, at 25 a second. */
static void push(struct scene *scene, double light, int x, int y)
{
    draw(scene->picture, scene->channels, scene->frame, light, x, y);
    assert_int_equal(bd_separator_push(scene->separator, scene->picture,
                                       (int64_t)width * scene->channels, scene->frame / 25.0,
                                       &scene->out),
                     BD_OK);
    scene->frame++;
}

static void push_empty(struct scene *scene, int frames)
{
    for (int i = 0; i < frames; i++)
        push(scene, 1, -1, -1);
}

/* Shows the square crossing the picture and checks every mask. */
static void check_crossing(struct scene *scene)
{
    for (int x = 4; x + side < width - 4; x += 2) {
        int inside, outside;
        push(scene, 1, x, 20);
        count(scene->out.mask, x, 20, &inside, &outside);
        assert_in_range(inside, side * side * 8 / 10, side * side);
        assert_int_equal(outside, 0);
    }
}

/* The backends that this machine has, NULL at the end. */
static const char *const *usable_backends(void)
{
    static const char *usable[8];
    int found = 0;
    if (usable[0])
        return usable;
    for (const char *const *name = bd_backend_names(); *name; name++) {
        struct bd_backend *backend = NULL;
        enum bd_status status = bd_backend_open(&backend, *name, 1);
        if (status == BD_ERROR_UNSUPPORTED)
            print_message("skipped: %s\n", bd_error_detail());
        else
            assert_int_equal(status, BD_OK);
        bd_backend_close(&backend);
        if (status == BD_OK)
            usable[found++] = *name;
    }
    return usable;
}

#define FOR_EACH_BACKEND(name) \
    for (const char *const *each = usable_backends(), *name = *each; name; name = *++each)

static void test_moving_square(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    for (int channels = 1; channels <= 3; channels += 2)
        for (int refine = 0; refine <= 2; refine++) {
            struct bd_separator_options options = defaults(channels);
            options.refine = refine ? refine : BD_NONE;
            struct scene scene;
            open_scene(&scene, name, 0, &options);
            push_empty(&scene, 100);
            for (int lap = 0; lap < 10; lap++)
                check_crossing(&scene);
            push_empty(&scene, 2);
            assert_int_equal(scene.out.foreground, 0);
            assert_int_equal(scene.out.columns, 20);
            assert_in_range(scene.out.rank, 1, 3);
            close_scene(&scene);
        }
}

/* Every frame enters the window, and R is only updated, never made again: after ten thousand slides
 * the masks are what they were after few. */
static void test_many_slides(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        struct bd_separator_options options = defaults(1);
        options.memory = options.window / 25.0;
        options.refine = BD_NONE;
        struct scene scene;
        open_scene(&scene, name, 0, &options);
        push_empty(&scene, 100);
        check_crossing(&scene);
        int learned = 0, slides = test_quick() ? 2000 : 10000;
        for (int i = 0; i < slides; i++) {
            push(&scene, 1, i % 200 - side, i % 200 < width + side ? 20 : -1);
            learned += scene.out.learned;
        }
        assert_in_range(learned, slides - 10, slides);
        check_crossing(&scene);
        push_empty(&scene, 20);
        assert_int_equal(scene.out.foreground, 0);
        int64_t off = 0;
        draw(scene.picture, 1, 0, 1, -1, -1);
        for (int i = 0; i < width * height; i++)
            off += abs(scene.out.background[i] - scene.picture[i]) > 5;
        assert_true(off <= width * height / 100);
        close_scene(&scene);
    }
}

/* A look-ahead shows the square everywhere but never long at one place: the first frame is right.
 */
static void test_look_ahead(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        struct bd_separator_options options = defaults(3);
        struct scene scene;
        open_scene(&scene, name, 0, &options);
        assert_int_equal(bd_separator_initialise(scene.separator), BD_ERROR_ARGUMENT);
        for (int i = 0; i < 30; i++) {
            draw(scene.picture, 3, 1000 + i, 1, i * 2, 20);
            assert_int_equal(bd_separator_look_ahead(scene.separator, scene.picture, width * 3),
                             BD_OK);
        }
        assert_int_equal(bd_separator_initialise(scene.separator), BD_OK);
        check_crossing(&scene);
        close_scene(&scene);
    }
}

/* Of 8 seconds in which the window fills 2 are known: half of it is filled at once. Or all are. */
static void test_known_start(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        const struct bd_separator_options options = defaults(3);
        struct scene scene;
        open_scene(&scene, name, 0, &options);
        static const int seconds[] = { 2, 6, 8 };
        for (int k = 0; k < 3; k++) {
            const int known = seconds[k];
            assert_int_equal(bd_separator_initialise_start(scene.separator, known),
                             BD_ERROR_ARGUMENT);
            for (int i = 0; i < 30; i++) {
                draw(scene.picture, 3, 1000 + i, 1, i * 2, 20);
                assert_int_equal(bd_separator_look_ahead(scene.separator, scene.picture, width * 3),
                                 BD_OK);
            }
            assert_int_equal(bd_separator_initialise_start(scene.separator, known), BD_OK);
            for (scene.frame = 0; scene.frame < 7 * 25;) {
                push_empty(&scene, 1);
                assert_int_equal(scene.out.foreground, 0);
                assert_true(scene.frame > 50 || scene.out.columns == (known == 2 ? 10 : 20));
            }
            assert_int_equal(scene.out.columns, known == 2 ? 19 : 20);
            assert_int_equal(bd_separator_reset(scene.separator), BD_OK);
        }
        close_scene(&scene);
    }
}

static enum bd_status (*real_reduce)(void *state, const int *order, int count, float lambda,
                                     float *r, int64_t ldr);

/* The window never holds a slot twice. */
static enum bd_status watched_reduce(void *state, const int *order, int count, float lambda,
                                     float *r, int64_t ldr)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            assert_int_not_equal(order[i], order[j]);
    return real_reduce(state, order, count, lambda, r, ldr);
}

/* A look-ahead longer than the window, in which the light changes: what is kept of it lies anywhere
 * in the window, and what comes later fills the rest. */
static void test_look_ahead_light(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        struct bd_separator_options options = defaults(3);
        struct scene scene;
        open_scene(&scene, name, 0, &options);
        struct bd_separation_ops separation = *scene.backend->ops->separation;
        struct bd_backend_ops watched = *scene.backend->ops;
        real_reduce = separation.reduce;
        separation.reduce = watched_reduce;
        watched.separation = &separation;
        use_table(&scene, &watched, &options);
        for (int i = 0; i < 27; i++) {
            draw(scene.picture, 3, 1000 + i, i < 12 ? 1 : 0.4, i * 16 % 80, 20);
            assert_int_equal(bd_separator_look_ahead(scene.separator, scene.picture, width * 3),
                             BD_OK);
        }
        assert_int_equal(bd_separator_initialise(scene.separator), BD_OK);
        push(&scene, 1, -1, -1);
        assert_int_equal(scene.out.columns, 5);
        assert_int_equal(scene.out.foreground, 0);
        for (int lap = 0; lap < 6; lap++)
            check_crossing(&scene);
        push_empty(&scene, 8 * 25);
        assert_int_equal(scene.out.columns, 20);
        assert_int_equal(scene.out.foreground, 0);
        assert_int_equal(bd_separator_look_ahead(scene.separator, scene.picture, width * 3),
                         BD_ERROR_ARGUMENT);
        assert_int_equal(bd_separator_initialise(scene.separator), BD_ERROR_ARGUMENT);
        assert_non_null(strstr(bd_error_detail(), "reset"));
        close_scene(&scene);
    }
}

static int reduces;
static float reduce_lambda;

static enum bd_status counted_reduce(void *state, const int *order, int count, float lambda,
                                     float *r, int64_t ldr)
{
    reduces++;
    reduce_lambda = lambda;
    return real_reduce(state, order, count, lambda, r, ldr);
}

/* Pushes frames until one has entered the window; returns how often R was made from the frames. */
static int slide(struct scene *scene)
{
    reduces = 0;
    do
        push_empty(scene, 1);
    while (!scene->out.learned);
    return reduces;
}

/* Without refinements R is only updated; but R depends on lambda, and is made from the frames again
 * after that has changed. */
static void test_set_lambda(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        struct bd_separator_options options = defaults(1);
        options.refine = BD_NONE;
        struct scene scene;
        open_scene(&scene, name, 0, &options);
        struct bd_separation_ops separation = *scene.backend->ops->separation;
        struct bd_backend_ops counted = *scene.backend->ops;
        real_reduce = separation.reduce;
        separation.reduce = counted_reduce;
        counted.separation = &separation;
        use_table(&scene, &counted, &options);
        push_empty(&scene, 12 * 25);
        assert_int_equal(scene.out.columns, 20);
        assert_int_equal(slide(&scene), 0);
        assert_int_equal(bd_separator_set_lambda(scene.separator, 10), BD_OK);
        assert_int_equal(slide(&scene), 0); /* that is what it was */
        assert_int_equal(bd_separator_set_lambda(scene.separator, 5), BD_OK);
        assert_int_equal(slide(&scene), 1);
        assert_float_equal(reduce_lambda, 5, 0);
        assert_int_equal(slide(&scene), 0);
        assert_int_equal(scene.out.foreground, 0);
        close_scene(&scene);
    }
}

static void push_at(struct scene *scene, double time)
{
    draw(scene->picture, scene->channels, scene->frame++, 1, -1, -1);
    assert_int_equal(bd_separator_push(scene->separator, scene->picture,
                                       (int64_t)width * scene->channels, time, &scene->out),
                     BD_OK);
}

/* A source with long times between its frames fills its window and goes on learning, whether or not
 * its rate is known. */
static void test_slow_source(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    for (int known = 0; known <= 1; known++) {
        struct bd_separator_options options = defaults(1);
        options.frame_rate = known ? 0.1 : 25;
        struct scene scene;
        open_scene(&scene, name, 0, &options);
        for (int i = 0; i < (known ? 25 : 250); i++)
            push_at(&scene, 10.0 * i);
        assert_int_equal(scene.out.columns, 20);
        for (int i = 0; i < 10; i++) {
            push_at(&scene, 10000 + 10.0 * i);
            assert_true(scene.out.learned);
            assert_int_equal(scene.out.foreground, 0);
        }
        close_scene(&scene);
    }
}

/* A seek, in either direction, keeps what was learned; backwards, the next frame to enter the
 * window is counted from there. A window that is being filled goes on being filled. */
static void test_seek(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        struct bd_separator_options options = defaults(1);
        struct scene scene;
        open_scene(&scene, name, 0, &options);
        for (int i = 0; i < 100; i++)
            push_at(&scene, 1000 + i / 25.0);
        int before = scene.out.columns;
        assert_in_range(before, 5, 19);
        for (int i = 0; i < 400; i++)
            push_at(&scene, i / 25.0);
        assert_int_equal(scene.out.columns, 20);
        push_at(&scene, 1);
        assert_false(scene.out.learned);
        int learned = 0;
        for (int i = 1; i <= 200; i++) {
            push_at(&scene, 1 + i / 25.0);
            learned += scene.out.learned;
            assert_int_equal(scene.out.foreground, 0);
        }
        assert_in_range(learned, 18, 21); /* 8 seconds, a window */
        close_scene(&scene);
    }
}

/* A square that comes and stays is foreground for the memory time, then soon background. */
static void test_memory(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        struct bd_separator_options options = defaults(3);
        struct scene scene;
        int inside, outside;
        open_scene(&scene, name, 0, &options);
        push_empty(&scene, 250);
        for (int i = 0; i < 8 * 25; i++) {
            push(&scene, 1, 40, 20);
            count(scene.out.mask, 40, 20, &inside, &outside);
            assert_in_range(inside, side * side * 8 / 10, side * side);
            assert_int_equal(outside, 0);
        }
        for (int i = 0; i < 8 * 25 * 3 / 2; i++)
            push(&scene, 1, 40, 20);
        assert_int_equal(scene.out.foreground, 0);
        close_scene(&scene);
    }
}

static void test_freeze(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        struct bd_separator_options options = defaults(3);
        struct scene scene;
        int inside, outside;
        open_scene(&scene, name, 0, &options);
        push_empty(&scene, 250);
        bd_separator_freeze(scene.separator, true);
        assert_true(bd_separator_frozen(scene.separator));
        for (int i = 0; i < 3 * 8 * 25; i++) {
            push(&scene, 1, 40, 20);
            assert_false(scene.out.learned);
        }
        count(scene.out.mask, 40, 20, &inside, &outside);
        assert_in_range(inside, side * side * 8 / 10, side * side);
        bd_separator_freeze(scene.separator, false);
        for (int i = 0; i < 3 * 8 * 25; i++)
            push(&scene, 1, 40, 20);
        assert_int_equal(scene.out.foreground, 0);
        close_scene(&scene);
    }
}

/* After a reset the picture of the moment is the background. */
static void test_reset(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        struct bd_separator_options options = defaults(1);
        struct scene scene;
        open_scene(&scene, name, 0, &options);
        push_empty(&scene, 250);
        push(&scene, 1, 40, 20);
        assert_true(scene.out.foreground > 0);
        assert_int_equal(bd_separator_reset(scene.separator), BD_OK);
        push(&scene, 1, 40, 20);
        assert_int_equal(scene.out.foreground, 0);
        assert_int_equal(scene.out.columns, 1);
        close_scene(&scene);
    }
}

/* A sudden change of brightness is over in a second, and the square is still found after it. */
static void test_light(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        struct bd_separator_options options = defaults(3);
        struct scene scene;
        open_scene(&scene, name, 0, &options);
        push_empty(&scene, 250);
        for (int i = 0; i < 25; i++)
            push(&scene, 0.5, -1, -1);
        assert_int_equal(scene.out.foreground, 0);
        int inside, outside;
        push(&scene, 0.5, 30, 20);
        count(scene.out.mask, 30, 20, &inside, &outside);
        assert_in_range(inside, side * side * 8 / 10, side * side);
        assert_int_equal(outside, 0);
        close_scene(&scene);
    }
}

/* Neither the number of threads nor an earlier use of the memory changes a bit of the masks. */
/* Light that all of the picture has more or less of is followed in the first frame of it: the mask
 * does not flash, and what moves stays in it. */
static void test_light_at_once(void **state)
{
    (void)state;
    static const double lights[] = { 0.5, 0.7, 1.35 };
    FOR_EACH_BACKEND(name)
    for (size_t i = 0; i < sizeof lights / sizeof lights[0]; i++) {
        struct bd_separator_options options = defaults(3);
        struct scene scene;
        int inside, outside;
        open_scene(&scene, name, 0, &options);
        push_empty(&scene, 250);
        for (int frame = 0; frame < 20; frame++) {
            push(&scene, frame % 10 < 5 ? lights[i] : 1, 30, 20);
            count(scene.out.mask, 30, 20, &inside, &outside);
            assert_in_range(inside, side * side * 8 / 10, side * side);
            assert_int_equal(outside, 0);
        }
        close_scene(&scene);
    }
}

static void test_reproducible(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        enum { frames = 200 };
        static uint8_t masks[frames][width * height];
        struct bd_separator_options options = defaults(3);
        for (int threads = 1; threads <= 5; threads += 2) {
            struct scene scene;
            open_scene(&scene, name, threads, &options);
            for (int i = 0; i < frames; i++) {
                push(&scene, 1, 4 + i % 70, 20);
                if (threads == 1)
                    memcpy(masks[i], scene.out.mask, sizeof masks[i]);
                else
                    assert_memory_equal(masks[i], scene.out.mask, sizeof masks[i]);
            }
            close_scene(&scene);
        }
    }
}

static void test_no_allocation(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        struct bd_separator_options options = defaults(3);
        struct scene scene;
        open_scene(&scene, name, 0, &options);
        assert_true(atomic_load(&allocations) > 0);
        push_empty(&scene, 100);
        long before = atomic_load(&allocations);
        push_empty(&scene, 600);
        assert_int_equal(atomic_load(&allocations), before);
        assert_int_equal(scene.out.columns, 20);
        close_scene(&scene);
    }
}

/* The mask of a background found elsewhere. */
static void test_known_background(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        struct bd_separator_options options = defaults(3);
        struct scene scene;
        static uint8_t background[width * height * 3];
        int inside, outside;
        open_scene(&scene, name, 0, &options);
        draw(background, 3, 5, 1, -1, -1);
        draw(scene.picture, 3, 6, 1, 30, 20);
        assert_int_equal(bd_separator_push_known(scene.separator, scene.picture, width * 3,
                                                 background, 0, &scene.out),
                         BD_OK);
        assert_memory_equal(scene.out.background, background, sizeof background);
        count(scene.out.mask, 30, 20, &inside, &outside);
        assert_in_range(inside, side * side * 8 / 10, side * side);
        assert_int_equal(outside, 0);
        close_scene(&scene);
    }
}

/* Laps of the square; from frame 300 on the other side of the picture is lit. */
static void draw_lap(struct scene *scene, int frame)
{
    int channels = scene->channels;
    draw(scene->picture, channels, frame, 1, frame % 70, frame % 100 < 70 ? 20 : -1);
    for (int y = 0; frame >= 300 && y < height; y++)
        for (int x = 0; x < width / 2; x++)
            for (int c = 0; c < channels; c++) {
                uint8_t *row = scene->picture + (size_t)y * width * (size_t)channels;
                uint8_t *a = row + x * channels + c, *b = row + (width - 1 - x) * channels + c;
                uint8_t swap = *a;
                *a = *b;
                *b = swap;
            }
}

struct kept {
    uint8_t mask[width * height], difference[width * height], background[width * height * 3];
    int64_t foreground;
    int rank, columns;
    bool learned;
};

static void keep(struct kept *kept, const struct scene *scene)
{
    const struct bd_separation *out = &scene->out;
    memset(kept, 0, sizeof *kept);
    memcpy(kept->mask, out->mask, sizeof kept->mask);
    memcpy(kept->difference, out->difference, sizeof kept->difference);
    memcpy(kept->background, out->background, (size_t)width * height * (size_t)scene->channels);
    kept->foreground = out->foreground;
    kept->rank = out->rank;
    kept->columns = out->columns;
    kept->learned = out->learned;
}

enum { lap_frames = 400 };

/* What was received of the newest `count` frames. */
static void check_newest(struct scene *scene, const struct bd_separation *outs, int results,
                         int count, int received, const struct kept *pushed)
{
    struct kept *now = test_malloc(sizeof *now);
    for (int k = 1; k <= count && k <= received; k++) {
        scene->out = outs[(received - k) % results];
        keep(now, scene);
        assert_memory_equal(now, &pushed[received - k], sizeof *now);
    }
    test_free(now);
}

/* Submits as many frames of the laps as may be in flight: what is received is what was pushed, and
 * stays so until `results` more are submitted. */
static void check_flight(const char *name, int channels, int results, const struct kept *pushed)
{
    struct bd_separator_options options = defaults(channels);
    struct scene scene;
    struct bd_separation outs[4];
    int received = 0;
    options.results = results;
    open_scene(&scene, name, 0, &options);
    const int depth = bd_separator_depth(scene.separator);
    assert_in_range(depth, 1, 3);
    for (int i = 0; i < lap_frames + depth; i++) {
        if (i >= depth) {
            assert_int_equal(bd_separator_receive(scene.separator, &scene.out), BD_OK);
            outs[received++ % results] = scene.out;
            check_newest(&scene, outs, results, results, received, pushed);
        }
        if (i >= lap_frames)
            continue;
        draw_lap(&scene, i);
        assert_int_equal(bd_separator_submit(scene.separator, scene.picture,
                                             (int64_t)width * channels, i / 25.0),
                         BD_OK);
        memset(scene.picture, 0, sizeof scene.picture); /* it has been copied */
        check_newest(&scene, outs, results, results - 1, received, pushed);
    }
    assert_int_equal(bd_separator_in_flight(scene.separator), 0);
    close_scene(&scene);
}

/* Submitting as many frames as may be in flight gives what pushing them gives, bit for bit, over
 * the start, slides, and a change of light that makes learning start again. */
static void test_pipelined(void **state)
{
    (void)state;
    struct kept *pushed = test_malloc(lap_frames * sizeof *pushed);
    FOR_EACH_BACKEND(name)
    for (int channels = 1; channels <= 3; channels += 2) {
        struct bd_separator_options options = defaults(channels);
        struct scene scene;
        int restarts = 0;
        open_scene(&scene, name, 0, &options);
        for (int i = 0; i < lap_frames; i++) {
            draw_lap(&scene, i);
            assert_int_equal(bd_separator_push(scene.separator, scene.picture,
                                               (int64_t)width * channels, i / 25.0, &scene.out),
                             BD_OK);
            keep(&pushed[i], &scene);
            restarts += i && pushed[i].columns < pushed[i - 1].columns;
        }
        assert_int_equal(restarts, 1);
        close_scene(&scene);
        for (int results = 1; results <= 4; results++)
            check_flight(name, channels, results, pushed);
    }
    test_free(pushed);
}

/* More frames than may be in flight, none to receive, and calls that must not overtake frames. */
static void test_flight(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        struct bd_separator_options options = defaults(1);
        options.outputs = BD_SEPARATOR_MASK;
        struct scene scene;
        open_scene(&scene, name, 0, &options);
        struct bd_separator *s = scene.separator;
        assert_int_equal(bd_separator_receive(s, &scene.out), BD_ERROR_ARGUMENT);
        push_empty(&scene, 10);
        assert_non_null(scene.out.mask);
        assert_null(scene.out.background);
        assert_null(scene.out.difference);
        int depth = bd_separator_depth(s);
        for (int i = 0; i < depth; i++) {
            assert_int_equal(bd_separator_in_flight(s), i);
            assert_int_equal(bd_separator_submit(s, scene.picture, width, 1), BD_OK);
        }
        assert_int_equal(bd_separator_submit(s, scene.picture, width, 1), BD_ERROR_ARGUMENT);
        assert_int_equal(bd_separator_push(s, scene.picture, width, 1, &scene.out),
                         BD_ERROR_ARGUMENT);
        assert_int_equal(
            bd_separator_push_known(s, scene.picture, width, scene.picture, 1, &scene.out),
            BD_ERROR_ARGUMENT);
        assert_int_equal(bd_separator_reset(s), BD_OK);
        assert_int_equal(bd_separator_look_ahead(s, scene.picture, width), BD_ERROR_ARGUMENT);
        assert_int_equal(bd_separator_look_after(s, 0, scene.picture, width), BD_ERROR_ARGUMENT);
        for (int i = 0; i < depth; i++) {
            assert_int_equal(bd_separator_receive(s, &scene.out), BD_OK);
            assert_int_equal(scene.out.foreground, 0);
        }
        assert_int_equal(bd_separator_receive(s, &scene.out), BD_ERROR_ARGUMENT);
        assert_int_equal(bd_separator_look_ahead(s, scene.picture, width), BD_OK);
        close_scene(&scene);
    }
}

/* Pictures without any light, without contrast, and as small as can be. */
static void test_plain_pictures(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    for (int value = 0; value <= 255; value += 51)
        for (int w = 1; w <= 65; w += 32) {
            struct bd_separator_options options = defaults(3);
            options.width = w;
            options.height = 7;
            options.window = 5;
            struct bd_backend *backend;
            struct bd_separator *separator;
            struct bd_separation out = { 0 };
            uint8_t picture[65 * 7 * 3];
            memset(picture, value, sizeof picture);
            assert_int_equal(bd_backend_open(&backend, name, 2), BD_OK);
            assert_int_equal(bd_separator_create(&separator, backend, &options), BD_OK);
            for (int i = 0; i < 500; i++) {
                assert_int_equal(
                    bd_separator_push(separator, picture, (int64_t)w * 3, i / 25.0, &out), BD_OK);
                assert_int_equal(out.foreground, 0);
            }
            for (int i = 0; i < w * 7 * 3; i++)
                assert_in_range(out.background[i], value > 2 ? value - 2 : 0, value + 2);
            bd_separator_destroy(&separator);
            bd_backend_close(&backend);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moving_square),  cmocka_unit_test(test_many_slides),
        cmocka_unit_test(test_look_ahead),     cmocka_unit_test(test_look_ahead_light),
        cmocka_unit_test(test_slow_source),    cmocka_unit_test(test_seek),
        cmocka_unit_test(test_memory),         cmocka_unit_test(test_freeze),
        cmocka_unit_test(test_reset),          cmocka_unit_test(test_light),
        cmocka_unit_test(test_light_at_once),  cmocka_unit_test(test_reproducible),
        cmocka_unit_test(test_no_allocation),  cmocka_unit_test(test_known_background),
        cmocka_unit_test(test_pipelined),      cmocka_unit_test(test_flight),
        cmocka_unit_test(test_plain_pictures), cmocka_unit_test(test_set_lambda),
        cmocka_unit_test(test_known_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
