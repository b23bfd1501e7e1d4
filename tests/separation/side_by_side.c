/* Plans of different sizes that live at the same time leave each other alone, on every backend:
 * what a large one does is the same before and after a small one of its kind is made. (On a GPU,
 * limits that are set for a kernel hold for all plans that launch it.) Separators whose frames are
 * submitted together, or in turn, give each what it gives alone, to the bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/quick.h"
#include "tests/support/random.h"
#include <backdrop/qr_update.h>
#include <backdrop/separator.h>
#include <backdrop/small_svd.h>

typedef void test_on(struct bd_backend *backend);

static void on_each_backend(test_on *test, int threads)
{
    for (const char *const *name = bd_backend_names(); *name; name++) {
        struct bd_backend *backend;
        enum bd_status status = bd_backend_open(&backend, *name, threads);
        if (status == BD_ERROR_UNSUPPORTED) {
            print_message("%s is left out: %s\n", *name, bd_error_detail());
            continue;
        }
        assert_int_equal(status, BD_OK);
        test(backend);
        bd_backend_close(&backend);
    }
}

static void *array(size_t bytes)
{
    void *data = calloc(bytes, 1);
    assert_non_null(data);
    return data;
}

/* An upper triangle of n columns, uploaded. */
static struct bd_matrix triangle(struct bd_backend *backend, int n)
{
    struct bd_matrix r;
    float *host = array((size_t)n * (size_t)n * sizeof *host);
    for (int j = 0; j < n; j++)
        for (int i = 0; i <= j; i++)
            host[i + j * n] =
                i == j ? 2 + (float)(j % 7) : 0.1F * (float)((3 * i + 5 * j) % 11 - 5);
    assert_int_equal(bd_matrix_create(backend, &r, n, n, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_upload(backend, &r, host, n), BD_OK);
    free(host);
    return r;
}

static void svds(struct bd_backend *backend)
{
    /* in each pair the GPU has one kernel for both */
    static const int sizes[][2] = { { 64, 2 }, { 128, 70 }, { 256, 193 } };
    for (size_t i = 0; i < (test_quick() ? 1 : sizeof sizes / sizeof *sizes); i++) {
        int n = sizes[i][0];
        struct bd_small_svd *large, *small;
        struct bd_matrix r = triangle(backend, n);
        float *before = array((size_t)n * sizeof *before),
              *after = array((size_t)n * sizeof *after);
        assert_int_equal(bd_small_svd_create(&large, backend, n), BD_OK);
        assert_int_equal(bd_small_svd_compute(large, before, NULL, &r), BD_OK);
        assert_int_equal(bd_small_svd_create(&small, backend, sizes[i][1]), BD_OK);
        assert_int_equal(bd_small_svd_compute(large, after, NULL, &r), BD_OK);
        for (int j = 0; j < n; j++)
            assert_float_equal(after[j], before[j], 1e-5F * before[0]);
        bd_small_svd_destroy(&small);
        bd_small_svd_destroy(&large);
        bd_matrix_destroy(backend, &r);
        free(before);
        free(after);
    }
}

/* Q R of `columns` columns, the first of which have been removed, is what is left of A: here A is R
 * with zeros below, and Q the first columns of I. */
static void updates(struct bd_backend *backend)
{
    enum { m = 64, n = 40, removed = 8, left = n - removed };
    struct bd_qr_update *large, *small;
    struct bd_qr_factors f = { .r = triangle(backend, n) };
    const struct bd_qr_update_shape large_shape = { m, n, removed, 0, false };
    const struct bd_qr_update_shape small_shape = { m, 2, 2, 0, false };
    float *a = array(n * n * sizeof *a), *host_q = array(m * n * sizeof *host_q),
          *host_r = array(n * n * sizeof *host_r);
    for (int j = 0; j < n; j++)
        host_q[j + j * m] = 1;
    assert_int_equal(bd_matrix_download(backend, a, n, &f.r), BD_OK);
    assert_int_equal(bd_matrix_create(backend, &f.q, m, n, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_upload(backend, &f.q, host_q, m), BD_OK);
    assert_int_equal(bd_qr_update_create(&large, backend, &large_shape), BD_OK);
    assert_int_equal(bd_qr_update_create(&small, backend, &small_shape), BD_OK);
    assert_int_equal(bd_qr_remove_columns(large, &f, 0, removed, NULL), BD_OK);
    assert_int_equal(bd_matrix_download(backend, host_q, m, &f.q), BD_OK);
    assert_int_equal(bd_matrix_download(backend, host_r, n, &f.r), BD_OK);
    for (int j = 0; j < left; j++)
        for (int i = 0; i < m; i++) {
            double sum = 0;
            for (int k = 0; k <= j; k++)
                sum += (double)host_q[i + k * m] * (double)host_r[k + j * n];
            float wanted = i < n ? a[i + (j + removed) * n] : 0;
            assert_float_equal((float)sum, wanted, 1e-4F);
        }
    bd_qr_update_destroy(&small);
    bd_qr_update_destroy(&large);
    bd_matrix_destroy(backend, &f.q);
    bd_matrix_destroy(backend, &f.r);
    free(a);
    free(host_q);
    free(host_r);
}

enum { height = 32, frames = 4 };

static struct bd_separator *separator_of(struct bd_backend *backend, int width)
{
    struct bd_separator *separator;
    struct bd_separator_options options = {
        .width = width, .height = height, .channels = 1, .window = 4
    };
    assert_int_equal(bd_separator_create(&separator, backend, &options), BD_OK);
    return separator;
}

/* Frame number `index` of a gradient with a bright square that moves; its mask to `mask`. */
static void push(struct bd_separator *separator, int width, int index, uint8_t *mask)
{
    struct bd_separation found;
    uint8_t *picture = array((size_t)width * height);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            bool square = y >= 8 && y < 24 && x / 16 == 2 + 2 * index;
            picture[y * width + x] = (uint8_t)(square ? 240 : 40 + x % 64);
        }
    assert_int_equal(bd_separator_push(separator, picture, width, 0.04 * index, &found), BD_OK);
    memcpy(mask, found.mask, (size_t)width * height);
    free(picture);
}

static void separators(struct bd_backend *backend)
{
    enum { wide = 1920, narrow = 768 };
    static uint8_t alone[frames][wide * height], together[wide * height], other[narrow * height];
    struct bd_separator *large = separator_of(backend, wide);
    for (int i = 0; i < frames; i++)
        push(large, wide, i, alone[i]);
    bd_separator_destroy(&large);
    large = separator_of(backend, wide);
    struct bd_separator *small = separator_of(backend, narrow);
    for (int i = 0; i < frames; i++) {
        push(large, wide, i, together);
        push(small, narrow, i, other);
        assert_memory_equal(together, alone[i], sizeof together);
    }
    assert_non_null(memchr(together, 255, sizeof together));
    bd_separator_destroy(&small);
    bd_separator_destroy(&large);
}

/* Streams of different sizes, each with something of its own: see start_stream and change. */
enum { streams = 4, most_frames = 120, most_pixels = 160 * 120 };

static const struct bd_separator_options stream_options[streams] = {
    { .width = 96, .height = 64, .channels = 1, .window = 6, .memory = 3, .outputs = 15 },
    { .width = 133, .height = 67, .channels = 3, .window = 5, .memory = 2.5, .outputs = 15 },
    { .width = 160, .height = 120, .channels = 1, .window = 8, .memory = 1, .outputs = 1 },
    { .width = 64, .height = 48, .channels = 3, .window = 6, .memory = 3, .rank = 2, .outputs = 7 },
};

/* What a separator gave for a frame; pictures as their FNV-1a digest. Gaps are 0. */
struct given {
    uint64_t background, difference, mask, shadow;
    int64_t foreground, ghost_pixels, changed;
    double drift;
    int rank, columns, learned;
};

static uint64_t digest(const uint8_t *data, size_t bytes)
{
    uint64_t value = 0xcbf29ce484222325;
    for (size_t i = 0; data && i < bytes; i++)
        value = (value ^ data[i]) * 0x100000001b3;
    return value;
}

static void take_given(struct given *to, int stream, struct bd_separator *separator)
{
    const struct bd_separator_options *o = &stream_options[stream];
    const size_t pixels = (size_t)o->width * (size_t)o->height;
    struct bd_separation out;
    assert_int_equal(bd_separator_receive(separator, &out), BD_OK);
    memset(to, 0, sizeof *to);
    to->background = digest(out.background, pixels * (size_t)o->channels);
    to->difference = digest(out.difference, pixels);
    to->mask = digest(out.mask, pixels);
    to->shadow = digest(out.shadow, pixels);
    to->foreground = out.foreground;
    to->ghost_pixels = out.ghost_pixels;
    to->changed = out.changed;
    to->drift = out.drift;
    to->rank = out.rank;
    to->columns = out.columns;
    to->learned = out.learned;
}

/* A frame of a stream: what bd_separator_submit takes. */
struct shown {
    uint8_t picture[3 * most_pixels + 7 * 120];
    int64_t stride;
    double time;
};

/* A gradient with a little noise; a square that moves, one that leaves (stream 2: at once, with the
 * light), and a sign that blinks. */
static void show(struct shown *shown, int stream, int index, int count)
{
    const struct bd_separator_options *o = &stream_options[stream];
    const int side = o->height / 4;
    uint32_t random = 77U + 1000U * (uint32_t)stream + (uint32_t)index;
    shown->stride = o->width * o->channels + 7;
    shown->time = index / 25.0 + (stream == 3 && index >= count * 2 / 3 ? 100 : 0);
    for (int y = 0; y < o->height; y++)
        for (int x = 0; x < o->width; x++)
            for (int c = 0; c < o->channels; c++) {
                const int from = (3 + stream) * index % (o->width + side) - side;
                const bool moving = x >= from && x < from + side && y >= side && y < 2 * side;
                const bool leaving =
                    index < count / 2 && x >= 2 && x < 2 + side && y > 2 * side && y < 3 * side;
                const bool sign =
                    index % 12 >= 6 && 3 * x >= 2 * o->width && 16 * y >= 13 * o->height;
                int value = 50 + (x + 2 * y + 5 * c) % 60 + (int)(random_bits(&random) >> 21);
                value += stream == 2 && index > count / 2 ? 60 : 0;
                shown->picture[y * shown->stride + x * o->channels + c] =
                    (uint8_t)(moving    ? 230 - 20 * c
                              : leaving ? 180
                              : sign    ? 240
                                        : value);
            }
}

static struct bd_separator *start_stream(struct bd_backend *backend, int stream, int count)
{
    static struct shown shown;
    struct bd_separator *separator;
    assert_int_equal(bd_separator_create(&separator, backend, &stream_options[stream]), BD_OK);
    for (int i = 0; stream == 0 && i < stream_options[stream].window; i++) {
        show(&shown, stream, 3 * i, count);
        assert_int_equal(bd_separator_look_ahead(separator, shown.picture, shown.stride), BD_OK);
    }
    if (stream == 0)
        assert_int_equal(bd_separator_initialise(separator), BD_OK);
    return separator;
}

/* What happens to a stream before frame `index`. */
static void change(struct bd_separator *separator, int stream, int index, int count)
{
    if (stream == 0 && index == count / 3)
        assert_int_equal(bd_separator_set_threshold(separator, 30), BD_OK);
    if (stream == 1 && index == count / 2)
        assert_int_equal(bd_separator_reset(separator), BD_OK);
    if (stream == 3 && (index == count / 4 || index == count / 3))
        bd_separator_freeze(separator, index == count / 4);
}

/* The streams that are left, in the order of one round of submissions. */
struct round {
    struct bd_separator *separators[streams];
    const uint8_t *pictures[streams];
    int64_t strides[streams];
    double times[streams];
    int count;
};

static void add(struct round *round, struct bd_separator *separator, const struct shown *shown)
{
    round->separators[round->count] = separator;
    round->pictures[round->count] = shown->picture;
    round->strides[round->count] = shown->stride;
    round->times[round->count++] = shown->time;
}

static enum bd_status submit_all(const struct round *round, int first, int count)
{
    return bd_separator_submit_all(round->separators + first, count, round->pictures + first,
                                   round->strides + first, round->times + first);
}

static void submit_each(const struct round *round, int first, int count)
{
    for (int i = first; i < first + count; i++)
        assert_int_equal(bd_separator_submit(round->separators[i], round->pictures[i],
                                             round->strides[i], round->times[i]),
                         BD_OK);
}

static void refused(const struct round *round, const char *why)
{
    int before[streams] = { 0 };
    for (int i = 0; i < round->count; i++)
        before[i] = bd_separator_in_flight(round->separators[i]);
    assert_int_equal(submit_all(round, 0, round->count), BD_ERROR_ARGUMENT);
    assert_non_null(strstr(bd_error_detail(), why));
    for (int i = 0; i < round->count; i++)
        assert_int_equal(bd_separator_in_flight(round->separators[i]), before[i]);
}

/* Calls that are refused, and leave all as it was. */
static void submit_badly(const struct round *round)
{
    const int last = round->count - 1;
    struct round bad = *round;
    bad.strides[last] = 3;
    refused(&bad, "stride");
    bad = *round;
    bad.times[last] = (double)NAN;
    refused(&bad, "time");
    bad = *round;
    bad.pictures[last] = NULL;
    refused(&bad, "picture");
    bad = *round;
    bad.separators[last] = bad.separators[0];
    bad.strides[last] = bad.strides[0];
    refused(&bad, "the same");
}

/* Round `index`: by one call, by calls in turn, by both, in another order. */
static void submit_round(const struct round *round, int index)
{
    const int half = round->count / 2;
    switch (index / 3 % 5) {
    case 2:
        submit_each(round, 0, round->count);
        break;
    case 3:
        submit_each(round, half, round->count - half);
        assert_int_equal(submit_all(round, 0, half), BD_OK);
        break;
    default:
        assert_int_equal(submit_all(round, 0, round->count), BD_OK);
    }
}

/* Receives until at most `most` frames of a stream are in flight; given[i]: of its frame i. */
static void take_all(struct given *given, int *received, int stream, struct bd_separator *separator,
                     int most)
{
    while (bd_separator_in_flight(separator) > most)
        take_given(&given[(*received)++], stream, separator);
}

/* given: streams x most_frames. Stream 2 ends with two thirds of the frames. */
static void separate_alone(struct given *given, struct bd_backend *backend, int count)
{
    static struct shown shown;
    for (int k = 0; k < streams; k++) {
        struct bd_separator *separator = start_stream(backend, k, count);
        int received = 0;
        for (int i = 0; i < (k == 2 ? count * 2 / 3 : count); i++) {
            change(separator, k, i, count);
            show(&shown, k, i, count);
            assert_int_equal(
                bd_separator_submit(separator, shown.picture, shown.stride, shown.time), BD_OK);
            take_all(given + k * most_frames, &received, k, separator, 0);
        }
        bd_separator_destroy(&separator);
    }
}

static void separate_together(struct given *given, struct bd_backend *backend, int count)
{
    static struct shown shown[streams];
    struct bd_separator *separators[streams];
    int received[streams] = { 0 };
    for (int k = 0; k < streams; k++)
        separators[k] = start_stream(backend, k, count);
    for (int i = 0; i < count; i++) {
        struct round round = { .count = 0 };
        for (int j = 0; j < streams; j++) {
            const int k = i % 7 == 6 ? streams - 1 - j : j;
            if (k == 2 && i == count * 2 / 3)
                take_all(given + k * most_frames, &received[k], k, separators[k], 1);
            if (k == 2 && i >= count * 2 / 3) {
                bd_separator_destroy(&separators[k]); /* with a frame in flight */
                continue;
            }
            const int depth = bd_separator_depth(separators[k]);
            take_all(given + k * most_frames, &received[k], k, separators[k],
                     i % 11 == 5 ? 0 : depth - 1);
            change(separators[k], k, i, count);
            show(&shown[k], k, i, count);
            add(&round, separators[k], &shown[k]);
        }
        if (i % 9 == 4)
            submit_badly(&round);
        submit_round(&round, i);
        memset(shown, 0, sizeof shown); /* pictures have been copied */
        if (i == count / 2)
            assert_int_equal(bd_backend_sync(backend), BD_OK);
    }
    for (int k = 0; k < streams; k++) {
        if (separators[k])
            take_all(given + k * most_frames, &received[k], k, separators[k], 0);
        assert_in_range(received[k], k == 2 ? count * 2 / 3 - 1 : count, count);
        bd_separator_destroy(&separators[k]);
    }
}

static void cameras(struct bd_backend *backend)
{
    const int count = test_quick() ? 60 : most_frames;
    struct given *alone = array(streams * most_frames * sizeof *alone);
    struct given *together = array(streams * most_frames * sizeof *together);
    separate_alone(alone, backend, count);
    separate_together(together, backend, count);
    for (int k = 0; k < streams; k++) {
        int64_t foreground = 0, learned = 0;
        for (int i = 0; i < (k == 2 ? count * 2 / 3 - 1 : count); i++) {
            const struct given *given = &alone[k * most_frames + i];
            assert_memory_equal(&together[k * most_frames + i], given, sizeof *given);
            foreground += given->foreground;
            learned += given->learned;
        }
        assert_true(foreground > 0 && learned > 2);
    }
    free(alone);
    free(together);
}

/* What bd_separator_submit_all refuses besides frames that bd_separator_submit would. */
static void refusals(struct bd_backend *backend)
{
    static const struct bd_separator_options small = {
        .width = 32, .height = 32, .channels = 1, .window = 4
    };
    static const uint8_t picture[32 * 32];
    const uint8_t *const pictures[2] = { picture, picture };
    const int64_t strides[2] = { 32, 32 };
    const double times[2] = { 0, 0 };
    struct bd_backend *other;
    struct bd_separator *s[2];
    struct bd_separation out;
    assert_int_equal(bd_backend_open(&other, "cpu", 1), BD_OK);
    assert_int_equal(bd_separator_create(&s[0], backend, &small), BD_OK);
    assert_int_equal(bd_separator_create(&s[1], other, &small), BD_OK);
    assert_int_equal(bd_separator_submit_all(s, 2, pictures, strides, times), BD_ERROR_ARGUMENT);
    assert_non_null(strstr(bd_error_detail(), "backend"));
    assert_int_equal(bd_separator_submit_all(s, 0, pictures, strides, times), BD_ERROR_ARGUMENT);
    assert_non_null(strstr(bd_error_detail(), "count"));
    assert_int_equal(bd_separator_submit_all(NULL, 1, pictures, strides, times), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_separator_submit_all(s, 1, NULL, strides, times), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_separator_submit_all(s, 1, pictures, NULL, times), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_separator_submit_all(s, 1, pictures, strides, NULL), BD_ERROR_ARGUMENT);
    for (int i = 0; i < bd_separator_depth(s[0]); i++)
        assert_int_equal(bd_separator_submit_all(s, 1, pictures, strides, times), BD_OK);
    assert_int_equal(bd_separator_submit_all(s, 1, pictures, strides, times), BD_ERROR_ARGUMENT);
    assert_non_null(strstr(bd_error_detail(), "in flight"));
    while (bd_separator_in_flight(s[0]))
        assert_int_equal(bd_separator_receive(s[0], &out), BD_OK);
    bd_separator_destroy(&s[0]);
    bd_separator_destroy(&s[1]);
    bd_backend_close(&other);
}

/* More separators than the backend takes at a time. */
static void many(struct bd_backend *backend)
{
    enum { count = 35, side = 32, rounds = 6 };
    static const struct bd_separator_options small = {
        .width = side, .height = side, .channels = 1, .window = 2
    };
    static uint8_t shown[count][side * side];
    struct bd_separator *separators[count];
    const uint8_t *pictures[count];
    int64_t strides[count];
    double times[count];
    for (int k = 0; k < count; k++) {
        assert_int_equal(bd_separator_create(&separators[k], backend, &small), BD_OK);
        memset(shown[k], 5 * k, sizeof shown[k]);
        pictures[k] = shown[k];
        strides[k] = side;
    }
    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < count; k++)
            times[k] = i / 25.0;
        assert_int_equal(bd_separator_submit_all(separators, count, pictures, strides, times),
                         BD_OK);
        for (int k = 0; k < count; k++) {
            struct bd_separation out;
            assert_int_equal(bd_separator_receive(separators[k], &out), BD_OK);
            assert_int_equal(out.foreground, 0);
            assert_in_range(out.background[0], k ? 5 * k - 2 : 0, 5 * k + 2);
        }
    }
    for (int k = 0; k < count; k++)
        bd_separator_destroy(&separators[k]);
}

static void test_svds(void **state)
{
    (void)state;
    on_each_backend(svds, 1);
}

static void test_updates(void **state)
{
    (void)state;
    on_each_backend(updates, 1);
}

static void test_separators(void **state)
{
    (void)state;
    on_each_backend(separators, 1);
}

static void test_cameras(void **state)
{
    (void)state;
    on_each_backend(cameras, 4);
    if (!test_quick())
        on_each_backend(cameras, 1);
}

static void test_refusals(void **state)
{
    (void)state;
    on_each_backend(refusals, 1);
}

static void test_many(void **state)
{
    (void)state;
    on_each_backend(many, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_svds),       cmocka_unit_test(test_updates),
        cmocka_unit_test(test_separators), cmocka_unit_test(test_cameras),
        cmocka_unit_test(test_refusals),   cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
