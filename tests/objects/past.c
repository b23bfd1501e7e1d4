/* The past of objects: where they were before they were confirmed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include <backdrop/tracker.h>

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

static void draw(int left, int top)
{
    for (int y = top; y < top + side; y++)
        memset(mask + y * width + left, 255, side);
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
    struct bd_tracker *tracker = begin(2);
    for (int frame = 0; frame <= 50; frame++) {
        draw(100, 100);
        assert_int_equal(follow(tracker, .04 * frame, &past, &count), frame == 50);
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
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
