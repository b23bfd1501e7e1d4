/* The queue of decoded frames: order, what is prepared by several threads, failures, seeking,
 * dropping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include <stdatomic.h>

#include "app/pipeline/queue.h"

enum { frames = 40, most = bd_queue_most_threads };

struct maker {
    atomic_int inside[most]; /* calls of that thread number that go on */
    atomic_int wrong, calls;
    atomic_llong fails; /* at the frame of this index; -1: never */
};

/* The picture is one row with the number of the frame. The later of two frames is often done first.
 */
static enum bd_status make(void *user, int thread, struct bd_frame *picture,
                           const struct bd_frame *frame)
{
    struct maker *maker = user;
    if (thread < 0 || thread >= most || atomic_fetch_add(&maker->inside[thread], 1))
        atomic_fetch_add(&maker->wrong, 1);
    atomic_fetch_add(&maker->calls, 1);
    long wait = frame->index % 3 == 0 ? 2000000 : 100000;
    nanosleep(&(struct timespec){ .tv_nsec = wait }, NULL);
    enum bd_status status = bd_frame_ensure(picture, 8, 1, BD_GRAY8);
    if (!status) {
        picture->index = frame->index;
        picture->data[0] = frame->data[0];
    }
    atomic_fetch_sub(&maker->inside[thread], 1);
    if (frame->index == maker->fails)
        return bd_fail(BD_ERROR_UNSUPPORTED, "frame %d has no picture", (int)frame->index);
    return status;
}

struct fixture {
    struct bd_reader *reader;
    struct bd_queue *queue;
    struct maker maker;
};

static void open_queue_of(struct fixture *f, const char *input, struct bd_queue_options options)
{
    struct bd_reader_options reader = { .format = BD_RGB24 };
    *f = (struct fixture){ .maker = { .fails = -1 } };
    assert_int_equal(bd_reader_open(&f->reader, input, &reader), BD_OK);
    options.prepare = options.threads ? make : NULL;
    options.user = &f->maker;
    assert_int_equal(bd_queue_open(&f->queue, f->reader, &options), BD_OK);
}

static void open_queue_with(struct fixture *f, struct bd_queue_options options)
{
    open_queue_of(f, "synth:easy?size=64x48&frames=40", options);
}

static void open_queue(struct fixture *f, int capacity, int threads, bool drop)
{
    open_queue_with(
        f, (struct bd_queue_options){ .capacity = capacity, .threads = threads, .drop = drop });
}

static void close_queue(struct fixture *f)
{
    bd_queue_close(&f->queue);
    assert_null(f->queue);
    bd_reader_close(&f->reader);
    assert_int_equal(f->maker.wrong, 0);
}

/* The next frame is number `index`, and its picture its own. */
static void expect(struct fixture *f, int64_t index)
{
    const struct bd_frame *frame = NULL, *picture = NULL;
    assert_int_equal(bd_queue_next(f->queue, &frame, &picture), BD_OK);
    assert_int_equal(frame->index, index);
    assert_int_equal(picture->index, index);
    assert_int_equal(picture->data[0], frame->data[0]);
    assert_int_equal(picture->width, picture == frame ? 64 : 8);
}

static void frames_come_in_order(void **state)
{
    static const int threads[] = { 0, 1, 2, most };
    (void)state;
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        struct fixture f;
        const struct bd_frame *frame;
        open_queue(&f, 6, threads[t], false);
        for (int64_t i = 0; i < frames; i++) {
            expect(&f, i);
            if (i >= 2) /* two are held */
                bd_queue_release(f.queue);
        }
        for (int twice = 0; twice < 2; twice++)
            assert_int_equal(bd_queue_next(f.queue, &frame, NULL), BD_END);
        assert_int_equal(f.maker.calls, threads[t] ? frames : 0);
        assert_int_equal(bd_queue_dropped(f.queue), 0);
        close_queue(&f);
    }
}

static void held_frames_stay(void **state)
{
    (void)state;
    struct fixture f;
    const struct bd_frame *held[bd_queue_most_held], *frame;
    open_queue(&f, 4, 2, false);
    for (int i = 0; i < bd_queue_most_held; i++)
        assert_int_equal(bd_queue_next(f.queue, &held[i], NULL), BD_OK);
    assert_int_equal(bd_queue_next(f.queue, &frame, NULL), BD_ERROR_ARGUMENT);
    for (int i = 0; i < bd_queue_most_held; i++)
        assert_int_equal(held[i]->index, i);
    bd_queue_release(f.queue);
    expect(&f, bd_queue_most_held);
    close_queue(&f);
}

static void a_failure_is_told_at_its_frame(void **state)
{
    (void)state;
    struct fixture f;
    const struct bd_frame *frame, *picture;
    open_queue(&f, 6, 3, false);
    f.maker.fails = 30; /* six wait at most: that one is far ahead */
    for (int64_t i = 0; i < frames; i++) {
        if (i == 30) {
            assert_int_equal(bd_queue_next(f.queue, &frame, &picture), BD_ERROR_UNSUPPORTED);
            assert_string_equal(bd_error_detail(), "frame 30 has no picture");
            continue;
        }
        expect(&f, i);
        bd_queue_release(f.queue);
    }
    assert_int_equal(bd_queue_next(f.queue, &frame, &picture), BD_END);
    close_queue(&f);
}

static void seeking_forgets_what_waits(void **state)
{
    (void)state;
    struct fixture f;
    open_queue(&f, 5, 3, false);
    double rate = (double)bd_reader_get_info(f.reader)->frame_rate.num /
                  (double)bd_reader_get_info(f.reader)->frame_rate.den;
    for (int64_t round = 0; round < 12; round++) {
        int64_t to = round * 17 % frames;
        assert_int_equal(bd_queue_seek(f.queue, (double)to / rate), BD_OK);
        for (int64_t i = to; i < frames && i < to + round % 4; i++) {
            expect(&f, i);
            bd_queue_release(f.queue);
        }
    }
    assert_int_equal(bd_queue_seek(f.queue, -1), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_queue_seek(f.queue, 0), BD_OK);
    expect(&f, 0);
    close_queue(&f);
}

/* A consumer that sleeps gets the newest frames, in order, and every frame is delivered or counted.
 */
static void a_slow_consumer_loses_the_oldest(void **state)
{
    static const int threads[] = { 0, 1 };
    (void)state;
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        struct fixture f;
        const struct bd_frame *frame, *picture;
        int64_t last = -1, count = 0;
        open_queue(&f, 2, threads[t], true);
        while (bd_queue_next(f.queue, &frame, &picture) == BD_OK) {
            assert_true(frame->index > last);
            assert_int_equal(picture->index, frame->index);
            last = frame->index;
            count++;
            nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
            bd_queue_release(f.queue);
        }
        assert_int_equal(last, frames - 1);
        assert_int_equal(count + bd_queue_dropped(f.queue), frames);
        close_queue(&f);
    }
}

/* As many frames as may wait at the start can be looked at, in any order, and then come as always;
 * from when the consumer has caught up, fewer wait. */
static void the_start_can_be_seen_ahead(void **state)
{
    static const int starts[] = { 4, 25, frames, frames + 5 };
    (void)state;
    for (size_t s = 0; s < sizeof starts / sizeof *starts; s++) {
        struct fixture f;
        const struct bd_frame *frame, *picture;
        const int there = starts[s] > frames ? frames : starts[s] < 6 ? 6 : starts[s];
        open_queue_with(
            &f, (struct bd_queue_options){ .capacity = 6, .start = starts[s], .threads = 2 });
        for (int i = 0; i < 2 * there; i++) {
            int number = i * 7 % there;
            assert_int_equal(bd_queue_peek(f.queue, number, &frame, &picture), BD_OK);
            assert_int_equal(frame->index, number);
            assert_int_equal(picture->index, number);
            assert_int_equal(picture->data[0], frame->data[0]);
        }
        assert_int_equal(bd_queue_peek(f.queue, there, &frame, &picture),
                         there < starts[s] ? BD_END : BD_ERROR_MEMORY);
        assert_int_equal(bd_queue_starting(f.queue), there > 6);
        for (int64_t i = 0; i < frames; i++) {
            expect(&f, i);
            bd_queue_release(f.queue);
        }
        assert_false(bd_queue_starting(f.queue));
        assert_int_equal(bd_queue_next(f.queue, &frame, NULL), BD_END);
        assert_int_equal(f.maker.calls, frames);
        close_queue(&f);
    }
}

/* Frames of 9216 bytes whose pictures take 784: so many wait at the start as the memory holds, and
 * never fewer than later. */
static void memory_bounds_the_start(void **state)
{
    static const int wanted[] = { 15, 6 };
    (void)state;
    for (int s = 0; s < 2; s++) {
        struct fixture f;
        const struct bd_frame *frame, *picture;
        open_queue_with(&f, (struct bd_queue_options){ .capacity = 6,
                                                       .start = 36,
                                                       .start_bytes = s ? 20000 : 159999,
                                                       .picture_bytes = 784,
                                                       .threads = 2 });
        assert_int_equal(bd_queue_peek(f.queue, wanted[s] - 1, &frame, &picture), BD_OK);
        assert_int_equal(bd_frame_bytes(frame), 9216);
        assert_int_equal(bd_queue_peek(f.queue, wanted[s], &frame, &picture), BD_ERROR_MEMORY);
        for (int64_t i = 0; i < frames; i++) {
            expect(&f, i);
            bd_queue_release(f.queue);
        }
        close_queue(&f);
    }
}

/* A frame without a picture ends what can be seen ahead, and is told in its place. */
static void a_failure_is_not_seen_ahead(void **state)
{
    (void)state;
    struct fixture f;
    const struct bd_frame *frame, *picture;
    open_queue_with(&f, (struct bd_queue_options){ .capacity = 6, .start = 36, .threads = 2 });
    f.maker.fails = 30;
    assert_int_equal(bd_queue_peek(f.queue, 29, &frame, &picture), BD_OK);
    assert_int_equal(bd_queue_peek(f.queue, 30, &frame, &picture), BD_END);
    for (int64_t i = 0; i < 30; i++) {
        expect(&f, i);
        bd_queue_release(f.queue);
    }
    assert_int_equal(bd_queue_next(f.queue, &frame, &picture), BD_ERROR_UNSUPPORTED);
    expect(&f, 31);
    close_queue(&f);
}

/* 12 MB each: two wait, and all come. */
static void few_large_frames_wait(void **state)
{
    (void)state;
    for (int threads = 0; threads <= 4; threads += 4) {
        struct fixture f;
        const struct bd_frame *frame, *picture;
        open_queue_of(&f, "synth:easy?size=2400x1600&frames=6",
                      (struct bd_queue_options){ .capacity = 5, .threads = threads });
        for (int number = 0; number < 2; number++)
            assert_int_equal(bd_queue_peek(f.queue, number, &frame, &picture), BD_OK);
        assert_int_equal(bd_queue_peek(f.queue, 2, &frame, &picture), BD_ERROR_MEMORY);
        for (int i = 0; i < 6; i++) {
            assert_int_equal(bd_queue_next(f.queue, &frame, &picture), BD_OK);
            assert_int_equal(frame->index, i);
            if (i >= 2)
                bd_queue_release(f.queue);
        }
        assert_int_equal(bd_queue_next(f.queue, &frame, &picture), BD_END);
        close_queue(&f);
    }
}

/* Nor do large frames shorten a start that is no longer than what usually waits. */
static void a_short_start_of_large_frames(void **state)
{
    (void)state;
    struct fixture f;
    const struct bd_frame *frame, *picture;
    open_queue_of(&f, "synth:easy?size=2400x1600&frames=7",
                  (struct bd_queue_options){ .capacity = 5, .start = 4, .threads = 2 });
    assert_int_equal(bd_queue_peek(f.queue, 4, &frame, &picture), BD_OK);
    assert_int_equal(bd_queue_peek(f.queue, 5, &frame, &picture), BD_ERROR_MEMORY);
    for (int i = 0; i < 7; i++) {
        expect(&f, i);
        bd_queue_release(f.queue);
    }
    close_queue(&f);
}

static void bad_options_are_refused(void **state)
{
    static const struct bd_queue_options bad[] = {
        { .capacity = 1 },
        { .capacity = bd_queue_most_frames + 1 },
        { .capacity = 4, .start = -1 },
        { .capacity = 4, .start = bd_queue_most_frames + 1 },
        { .capacity = 4, .start = 8, .drop = true },
        { .capacity = 4, .prepare = make, .threads = 0 },
        { .capacity = 2, .prepare = make, .threads = 2 },
        { .capacity = 8, .prepare = make, .threads = bd_queue_most_threads + 1 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bd_queue *queue = (struct bd_queue *)&queue;
        assert_int_equal(bd_queue_open(&queue, NULL, &bad[i]), BD_ERROR_ARGUMENT);
        assert_null(queue);
    }
    struct bd_queue *none = NULL;
    bd_queue_close(&none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_in_order),
        cmocka_unit_test(held_frames_stay),
        cmocka_unit_test(a_failure_is_told_at_its_frame),
        cmocka_unit_test(seeking_forgets_what_waits),
        cmocka_unit_test(a_slow_consumer_loses_the_oldest),
        cmocka_unit_test(the_start_can_be_seen_ahead),
        cmocka_unit_test(a_failure_is_not_seen_ahead),
        cmocka_unit_test(memory_bounds_the_start),
        cmocka_unit_test(few_large_frames_wait),
        cmocka_unit_test(a_short_start_of_large_frames),
        cmocka_unit_test(bad_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
