/* What a mask has shown of earlier ones: where objects were before they were confirmed, and where
 * those that have parted were as long as they were one component. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include <backdrop/tracker.h>

#include "tests/support/random.h"

enum { width = 320, height = 200, side = 20 };

static uint8_t mask[width * height];

static struct bd_tracker *begin(double confirm)
{
    const struct bd_tracker_options options = { .width = width,
                                                .height = height,
                                                .confirm = confirm };
    struct bd_tracker *tracker = NULL;
    assert_int_equal(bd_tracker_create(&tracker, &options), BD_OK);
    return tracker;
}

/* A square, as far as it is not left of the picture. */
static void draw(int left, int top)
{
    const int from = left < 0 ? 0 : left, to = left + side < 0 ? 0 : left + side;
    for (int y = top; y < top + side && from < to; y++)
        memset(mask + y * width + from, 255, (size_t)(to - from));
}

/* Follows what is in the mask, and clears that; returns how many objects there are. */
static int follow(struct bd_tracker *tracker, double time, const struct bd_past **past, int *count)
{
    const struct bd_object *objects = NULL;
    int found = 0;
    assert_int_equal(bd_tracker_add(tracker, mask, width, time, &objects, &found), BD_OK);
    memset(mask, 0, sizeof mask);
    assert_int_equal(bd_tracker_past(tracker, past, count), BD_OK);
    return found;
}

/* Two come together, of which one is not seen in one frame; a third comes later. */
static void earlier_boxes_are_told_once(void **state)
{
    (void)state;
    const struct bd_past *past = NULL;
    int count = 0, told = 0;
    struct bd_tracker *tracker = begin(.5);
    for (int frame = 0; frame < 20; frame++) {
        draw(10 + 3 * frame, 20);
        if (frame != 2)
            draw(200 - 3 * frame, 100);
        if (frame >= 4)
            draw(40, 150);
        const int found = follow(tracker, 7 + .1 * frame, &past, &count);
        assert_int_equal(found, frame < 5 ? 0 : frame < 9 ? 2 : 3);
        assert_int_equal(count, frame == 5 ? 10 : frame == 9 ? 5 : 0);
        for (int i = 0; i < count; i++) {
            const int64_t id = frame == 9 ? 3 : 1 + i / 5;
            const int at = frame == 9 ? 4 + i : i % 5;
            const struct bd_object *object = &past[i].object;
            assert_int_equal(past[i].ago, frame - at);
            assert_true(past[i].time == 7 + .1 * at);
            assert_true(object->since == 7 + .1 * (frame == 9 ? 4 : 0));
            assert_int_equal(object->id, id);
            assert_int_equal(object->seen, id != 2 || at != 2);
            told++;
            if (!object->seen)
                continue;
            assert_in_range(object->x,
                            (id == 1   ? 10 + 3 * at
                             : id == 2 ? 200 - 3 * at
                                       : 40) -
                                1,
                            (id == 1   ? 10 + 3 * at
                             : id == 2 ? 200 - 3 * at
                                       : 40) +
                                1);
            assert_in_range(object->width, side - 1, side + 1);
            assert_int_equal(object->area, side * side);
        }
    }
    assert_int_equal(told, 15);
    assert_int_equal(follow(tracker, 2, &past, &count), 0); /* a step back */
    assert_int_equal(count, 0);
    bd_tracker_destroy(&tracker);
}

static void the_past_is_bounded(void **state)
{
    (void)state;
    const struct bd_past *past = NULL;
    int count = 0;
    struct bd_tracker *tracker = begin(3);
    for (int frame = 0; frame <= 75; frame++) {
        draw(100, 100);
        assert_int_equal(follow(tracker, .04 * frame, &past, &count), frame == 75);
    }
    assert_int_equal(count, bd_past_frames);
    assert_int_equal(past[0].ago, bd_past_frames);
    assert_int_equal(past[count - 1].ago, 1);
    bd_tracker_reset(tracker);
    assert_int_equal(bd_tracker_past(tracker, &past, &count), BD_OK);
    assert_int_equal(count, 0);
    bd_tracker_destroy(&tracker);
}

/* A hundred and more candidates: the latest boxes are told. */
static void a_crowd_loses_its_earliest_boxes(void **state)
{
    (void)state;
    const struct bd_past *past = NULL;
    int count = 0, found = 0;
    struct bd_tracker *tracker = begin(1.2);
    for (int frame = 0; frame <= 30; frame++) {
        for (int y = 0; y < 5; y++)
            for (int x = 0; x < 10; x++)
                draw(2 + 32 * x, 4 + 39 * y);
        found = follow(tracker, .04 * frame, &past, &count);
    }
    assert_int_equal(found, 50);
    assert_in_range(count, 1024, 2048);
    for (int i = 0; i < count; i++) {
        assert_in_range(past[i].ago, 1, 30);
        assert_true(
            i == 0 || past[i].object.id > past[i - 1].object.id ||
            (past[i].object.id == past[i - 1].object.id && past[i].ago == past[i - 1].ago - 1));
    }
    bd_tracker_destroy(&tracker);
}

/* Checks that boxes of one object are `side` large, and at `at` plus `step` a frame from `first`
 * on. */
static void assert_path(const struct bd_past *past, int frame, int at, int step, int top)
{
    const int x = at + step * (frame - past->ago);
    assert_in_range(past->object.x + 4, x, x + 8);
    assert_in_range(past->object.y + 4, top, top + 8);
    assert_in_range(past->object.width, side - 4, side + 4);
    assert_in_range(past->object.height, side - 4, side + 4);
}

/* Two come as one component: one is above the other, and they go apart. They are known as two some
 * frames after they parted, and then where each was from the first frame on. */
static void what_came_as_one_is_told_apart(void **state)
{
    (void)state;
    enum { frames = 40 };
    const struct bd_past *past = NULL;
    int count = 0, boxes[3] = { 0 }, one = 0;
    struct bd_tracker *tracker = begin(0);
    for (int frame = 0; frame < frames; frame++) {
        draw(100 + 2 * frame, 50);
        draw(110 - 2 * frame, 50 + side);
        const int found = follow(tracker, .04 * frame, &past, &count);
        one += found == 1;
        for (int i = 0; i < count && found == 2; i++) {
            const struct bd_past *box = &past[i];
            assert_true(i == 0 || box->object.id > past[i - 1].object.id ||
                        (box->object.id == past[i - 1].object.id && box->ago < past[i - 1].ago));
            boxes[box->object.id]++;
            if (box->object.y < 60)
                assert_path(box, frame, 100, 2, 50);
            else
                assert_path(box, frame, 110, -2, 50 + side);
            if (box->object.group)
                assert_true(box->object.vx * (box->object.y < 60 ? 1 : -1) > 40);
        }
    }
    assert_true(one > 5);
    assert_in_range(boxes[1], one - 2, one + 8);
    assert_in_range(boxes[2], one - 2, one + 8);
    bd_tracker_destroy(&tracker);
}

/* One leaves the picture soon after it parted from another. It is no object, but the other one was
 * never as large as both. */
static void what_left_was_no_part(void **state)
{
    (void)state;
    const struct bd_past *past = NULL;
    int count = 0, told = 0;
    struct bd_tracker *tracker = begin(0);
    for (int frame = 0; frame < 40; frame++) {
        draw(20 + 2 * frame, 50);
        draw(30 - 6 * frame, 50 + side);
        assert_int_equal(follow(tracker, .04 * frame, &past, &count), frame >= 5);
        for (int i = 0; i < count && frame > 5; i++, told++)
            assert_path(&past[i], frame, 20, 2, 50);
    }
    assert_in_range(told, 3, 4);
    bd_tracker_destroy(&tracker);
}

/* Masks of noise have more runs than are kept: nothing is told of them, and nothing breaks. */
static void ragged_masks_are_forgotten(void **state)
{
    (void)state;
    const struct bd_past *past = NULL;
    int count = 0;
    uint32_t seed = 5;
    struct bd_tracker *tracker = begin(0);
    for (int frame = 0; frame < 90; frame++) {
        for (int i = 0; i < width * height && frame % 30 < 10; i++)
            mask[i] = between(&seed, 0, 1) ? 255 : 0;
        draw(100 + 2 * (frame % 30), 50);
        draw(110 - 2 * (frame % 30), 50 + side);
        follow(tracker, .04 * frame, &past, &count);
        for (int i = 0; i < count; i++)
            assert_in_range(past[i].ago, 1, bd_past_frames);
    }
    bd_tracker_destroy(&tracker);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    const struct bd_past *past = (const struct bd_past *)&state;
    int count = 3;
    struct bd_tracker *tracker = begin(0);
    assert_int_equal(bd_tracker_past(NULL, &past, &count), BD_ERROR_ARGUMENT);
    assert_string_equal(bd_error_detail(), "tracker is NULL");
    assert_null(past);
    assert_int_equal(count, 0);
    assert_int_equal(bd_tracker_past(tracker, NULL, &count), BD_ERROR_ARGUMENT);
    assert_string_equal(bd_error_detail(), "past is NULL");
    assert_int_equal(bd_tracker_past(tracker, &past, NULL), BD_ERROR_ARGUMENT);
    assert_string_equal(bd_error_detail(), "count is NULL");
    bd_tracker_destroy(&tracker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(earlier_boxes_are_told_once),
        cmocka_unit_test(the_past_is_bounded),
        cmocka_unit_test(a_crowd_loses_its_earliest_boxes),
        cmocka_unit_test(what_came_as_one_is_told_apart),
        cmocka_unit_test(what_left_was_no_part),
        cmocka_unit_test(ragged_masks_are_forgotten),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
