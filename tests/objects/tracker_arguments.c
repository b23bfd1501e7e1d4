/* What the functions of the tracker refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include <backdrop/tracker.h>

enum { width = 40, height = 30 };

static void options_are_checked(void **state)
{
    (void)state;
    static const struct {
        struct bd_tracker_options options;
        const char *detail;
    } cases[] = {
        { { .width = 0, .height = height }, "masks of 0 x 30: must be 1 x 1 to 32768 x 32768" },
        { { .width = width, .height = -1 }, "masks of 40 x -1" },
        { { .width = 32769, .height = height }, "masks of 32769 x 30" },
        { { .width = width, .height = INT32_MAX }, "must be 1 x 1" },
        { { .width = width, .height = height, .min_area = -1 }, "min_area = -1" },
        { { .width = width, .height = height, .confirm = -.1 }, "confirm = -0.1 seconds" },
        { { .width = width, .height = height, .confirm = NAN }, "confirm" },
        { { .width = width, .height = height, .confirm = INFINITY }, "confirm" },
        { { .width = width, .height = height, .patience = -1 }, "patience = -1 seconds" },
        { { .width = width, .height = height, .patience = NAN }, "patience" },
    };
    struct bd_tracker *tracker = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tracker = (struct bd_tracker *)&tracker;
        assert_int_equal(bd_tracker_create(&tracker, &cases[i].options), BD_ERROR_ARGUMENT);
        assert_non_null(strstr(bd_error_detail(), cases[i].detail));
        assert_null(tracker);
    }
    assert_int_equal(bd_tracker_create(&tracker, NULL), BD_ERROR_ARGUMENT);
    assert_string_equal(bd_error_detail(), "options is NULL");
    assert_int_equal(bd_tracker_create(NULL, &cases[0].options), BD_ERROR_ARGUMENT);
    assert_string_equal(bd_error_detail(), "tracker is NULL");
    bd_tracker_destroy(NULL);
    bd_tracker_destroy(&tracker);
    bd_tracker_reset(NULL);
}

static void frames_are_checked(void **state)
{
    (void)state;
    static const uint8_t mask[width * height];
    const struct bd_tracker_options options = { .width = width, .height = height };
    const struct bd_object *objects = NULL;
    struct bd_tracker *tracker = NULL;
    int count = 0;
    assert_int_equal(bd_tracker_create(&tracker, &options), BD_OK);
    assert_int_equal(bd_tracker_add(NULL, mask, width, 0, &objects, &count), BD_ERROR_ARGUMENT);
    assert_string_equal(bd_error_detail(), "tracker is NULL");
    assert_int_equal(bd_tracker_add(tracker, NULL, width, 0, &objects, &count), BD_ERROR_ARGUMENT);
    assert_string_equal(bd_error_detail(), "mask is NULL");
    assert_int_equal(bd_tracker_add(tracker, mask, width, 0, NULL, &count), BD_ERROR_ARGUMENT);
    assert_string_equal(bd_error_detail(), "objects is NULL");
    assert_int_equal(bd_tracker_add(tracker, mask, width, 0, &objects, NULL), BD_ERROR_ARGUMENT);
    assert_string_equal(bd_error_detail(), "count is NULL");
    assert_int_equal(bd_tracker_add(tracker, mask, width - 1, 0, &objects, &count),
                     BD_ERROR_ARGUMENT);
    assert_string_equal(bd_error_detail(), "stride = 39: must be at least the 40 bytes of a row");
    assert_int_equal(bd_tracker_add(tracker, mask, INT64_MAX, 0, &objects, &count),
                     BD_ERROR_ARGUMENT);
    const double times[] = { NAN, INFINITY, -INFINITY };
    for (int i = 0; i < 3; i++) {
        count = 5;
        assert_int_equal(bd_tracker_add(tracker, mask, width, times[i], &objects, &count),
                         BD_ERROR_ARGUMENT);
        assert_non_null(strstr(bd_error_detail(), "must be finite"));
        assert_int_equal(count, 0);
        assert_null(objects);
    }
    bd_tracker_destroy(&tracker);
    assert_null(tracker);
}

/* Masks of one pixel, all white, all black, at times that stand still or are far from zero. */
static void odd_masks_are_followed(void **state)
{
    (void)state;
    static uint8_t mask[width * height];
    static const double times[] = { -1e300, -5, 0, 0, 0, .1, .2, .3, .4, 4, 1e18, 1e300, -1e300 };
    for (int size = 0; size < 2; size++) {
        const struct bd_tracker_options options = { .width = size ? width : 1,
                                                    .height = size ? height : 1,
                                                    .min_area = 1,
                                                    .confirm = 1e-9,
                                                    .patience = 1e300 };
        const struct bd_object *objects = NULL;
        struct bd_tracker *tracker = NULL;
        int count = 0;
        assert_int_equal(bd_tracker_create(&tracker, &options), BD_OK);
        for (int pass = 0; pass < 40; pass++) {
            memset(mask, pass % 3 ? 0 : 255, sizeof mask);
            mask[0] = pass % 4 ? 255 : 0;
            assert_int_equal(bd_tracker_add(tracker, mask, options.width,
                                            times[pass % (sizeof times / sizeof *times)], &objects,
                                            &count),
                             BD_OK);
            for (int i = 0; i < count; i++) {
                assert_true(objects[i].x >= 0 && objects[i].x + objects[i].width <= options.width);
                assert_true(objects[i].y >= 0 &&
                            objects[i].y + objects[i].height <= options.height);
            }
        }
        bd_tracker_destroy(&tracker);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(frames_are_checked),
        cmocka_unit_test(odd_masks_are_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
