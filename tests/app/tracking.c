/* The scores of objects, on small films whose values are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "app/eval/tracking.h"
#include "tests/support/random.h"

/* A box of 10 x 20 pixels. */
static struct bd_track_box at(int64_t id, double x)
{
    return (struct bd_track_box){ .id = id, .x = x, .y = 30, .width = 10, .height = 20 };
}

static void add(struct bd_tracking *tracking, const struct bd_track_box *truth, int truth_count,
                const struct bd_track_box *found, int found_count)
{
    assert_int_equal(bd_tracking_add(tracking, truth, truth_count, found, found_count), BD_OK);
}

static struct bd_track_scores end(struct bd_tracking *tracking)
{
    struct bd_track_scores scores;
    assert_int_equal(bd_tracking_scores(&scores, tracking), BD_OK);
    bd_tracking_destroy(&tracking);
    assert_null(tracking);
    return scores;
}

static struct bd_tracking *begin(void)
{
    struct bd_tracking *tracking;
    assert_int_equal(bd_tracking_create(&tracking), BD_OK);
    return tracking;
}

#define NEAR(value, wanted) assert_true((value) > (wanted)-1e-12 && (value) < (wanted) + 1e-12)

static void perfect(void **state)
{
    (void)state;
    struct bd_tracking *tracking = begin();
    for (int f = 0; f < 10; f++) {
        struct bd_track_box truth[2] = { at(1, 3 * f), at(2, 100 - 3 * f) };
        struct bd_track_box found[2] = { at(8, 100 - 3 * f), at(9, 3 * f) };
        add(tracking, truth, 2, found, 2);
    }
    struct bd_track_scores scores = end(tracking);
    assert_int_equal(scores.frames, 10);
    assert_int_equal(scores.tp, 20);
    assert_int_equal(scores.fp + scores.fn + scores.switches + scores.fragmentations, 0);
    assert_int_equal(scores.objects, 2);
    assert_int_equal(scores.found_objects, 2);
    assert_int_equal(scores.mostly_tracked, 2);
    assert_int_equal(scores.mostly_lost, 0);
    NEAR(bd_track_f_measure(&scores), 1);
    NEAR(bd_track_mota(&scores), 1);
    NEAR(bd_track_motp(&scores), 1);
    NEAR(bd_track_idf1(&scores), 1);
}

/* The number changes after 6 of 10 frames: one switch, and 6 frames of the better number. */
static void one_switch(void **state)
{
    (void)state;
    struct bd_tracking *tracking = begin();
    for (int f = 0; f < 10; f++) {
        struct bd_track_box truth = at(1, 3 * f), found = at(f < 6 ? 4 : 5, 3 * f);
        add(tracking, &truth, 1, &found, 1);
    }
    struct bd_track_scores scores = end(tracking);
    assert_int_equal(scores.switches, 1);
    assert_int_equal(scores.fragmentations, 0);
    assert_int_equal(scores.idtp, 6);
    assert_int_equal(scores.found_objects, 2);
    NEAR(bd_track_mota(&scores), 0.9);
    NEAR(bd_track_f_measure(&scores), 1);
    NEAR(bd_track_idp(&scores), 0.6);
    NEAR(bd_track_idr(&scores), 0.6);
    NEAR(bd_track_idf1(&scores), 0.6);
}

/* Two people swap their numbers half way: each box is found, but each number is right half of the
 * time. They cross once. */
static void swapped_half_way(void **state)
{
    (void)state;
    struct bd_tracking *tracking = begin();
    for (int f = 0; f < 20; f++) {
        double a = 10 * f, b = 190 - 10 * f;
        struct bd_track_box truth[2] = { at(1, a), at(2, b) };
        struct bd_track_box found[2] = { at(1, f < 10 ? a : b), at(2, f < 10 ? b : a) };
        add(tracking, truth, 2, found, 2);
    }
    struct bd_track_scores scores = end(tracking);
    assert_int_equal(scores.switches, 2);
    assert_int_equal(scores.crossings, 0); /* they jump over each other: they never overlap */
    NEAR(bd_track_f_measure(&scores), 1);
    NEAR(bd_track_mota(&scores), 38 / 40.0);
    NEAR(bd_track_idf1(&scores), 0.5);
}

static void one_miss_and_one_false_box(void **state)
{
    (void)state;
    struct bd_tracking *tracking = begin();
    for (int f = 0; f < 10; f++) {
        struct bd_track_box truth = at(1, 3 * f), found[2] = { at(1, 3 * f), at(2, 200) };
        add(tracking, &truth, 1, found, f == 4 ? 0 : f == 7 ? 2 : 1);
    }
    struct bd_track_scores scores = end(tracking);
    assert_int_equal(scores.tp, 9);
    assert_int_equal(scores.fn, 1);
    assert_int_equal(scores.fp, 1);
    assert_int_equal(scores.switches, 0);
    assert_int_equal(scores.fragmentations, 1);
    assert_int_equal(scores.mostly_tracked, 1);
    NEAR(bd_track_precision(&scores), 0.9);
    NEAR(bd_track_recall(&scores), 0.9);
    NEAR(bd_track_f_measure(&scores), 0.9);
    NEAR(bd_track_mota(&scores), 0.8);
    NEAR(bd_track_idf1(&scores), 0.9);
}

/* Half of a box is enough, less is not; MOTP is the mean overlap. */
static void overlap_decides(void **state)
{
    (void)state;
    struct bd_track_box box = at(1, 0), other = at(1, 20), apart = at(1, 200);
    other.x = 10.0 / 3; /* 2/3 of the width are shared: 2/3 of 4/3 */
    NEAR(bd_track_overlap(&box, &other), 0.5);
    NEAR(bd_track_overlap(&box, &apart), 0);
    NEAR(bd_track_overlap(&box, &box), 1);
    struct bd_tracking *tracking = begin();
    other.x = 2;
    add(tracking, &box, 1, &other, 1); /* 8 of 12 */
    other.x = 4;
    add(tracking, &box, 1, &other, 1); /* 6 of 14: a miss and a false box */
    struct bd_track_scores scores = end(tracking);
    assert_int_equal(scores.tp, 1);
    assert_int_equal(scores.fn, 1);
    assert_int_equal(scores.fp, 1);
    NEAR(bd_track_motp(&scores), 2.0 / 3);
    NEAR(bd_track_mota(&scores), 0);
}

/* A true object keeps the found one of before though another fits better. Otherwise the choice with
 * most pairs counts: the nearest pair here would leave two boxes alone. */
static void pairs_last_and_are_most(void **state)
{
    (void)state;
    struct bd_tracking *tracking = begin();
    struct bd_track_box truth = at(1, 0), found[2] = { at(7, 0), at(8, 1) };
    add(tracking, &truth, 1, found, 1);
    found[0].x = 2;
    found[1].x = 0;
    add(tracking, &truth, 1, found, 2);
    struct bd_track_scores scores = end(tracking);
    assert_int_equal(scores.switches, 0);
    assert_int_equal(scores.fp, 1);
    NEAR(bd_track_motp(&scores), (1 + 8.0 / 12) / 2);

    tracking = begin();
    struct bd_track_box people[2] = { at(1, 0), at(2, 3) };
    found[0].x = 2.5;
    found[1].x = 6;
    add(tracking, people, 2, found, 2);
    scores = end(tracking);
    assert_int_equal(scores.tp, 2);
    assert_int_equal(scores.fp, 0);
}

/* A true box that does not count is neither missed nor found, and what is found there is not wrong.
 */
static void ignored_boxes_do_not_count(void **state)
{
    (void)state;
    struct bd_tracking *tracking = begin();
    for (int f = 0; f < 10; f++) {
        struct bd_track_box truth[2] = { at(1, 3 * f), at(2, 100) },
                            found[2] = { at(1, 3 * f), at(2, 101) };
        truth[1].ignore = true;
        add(tracking, truth, 2, found, f % 2 ? 2 : 1);
    }
    struct bd_track_scores scores = end(tracking);
    assert_int_equal(scores.tp, 10);
    assert_int_equal(scores.fp + scores.fn, 0);
    assert_int_equal(scores.objects, 1);
    assert_int_equal(scores.found_objects, 1);
    NEAR(bd_track_mota(&scores), 1);
    NEAR(bd_track_idf1(&scores), 1);
}

/* Numbers of the whole film, and a look at what a crossing is. */
static void people_cross_slowly(void **state)
{
    (void)state;
    struct bd_tracking *tracking = begin();
    for (int f = 0; f < 50; f++) {
        double a = 2 * f, b = 98 - 2 * f, back = f < 25 ? 300 + f : 350 - f;
        struct bd_track_box truth[4] = { at(1, a), at(2, b), at(3, back), at(4, 330) };
        add(tracking, truth, 4, NULL, 0);
    }
    struct bd_track_scores scores = end(tracking);
    assert_int_equal(scores.crossings, 1); /* 3 comes to 4, and goes back */
    assert_int_equal(scores.fn, 200);
    assert_int_equal(scores.mostly_lost, 4);
    assert_int_equal(scores.found_objects, 0);
    NEAR(bd_track_f_measure(&scores), 0);
    NEAR(bd_track_idf1(&scores), 0);
}

static void nothing_is_zero(void **state)
{
    (void)state;
    struct bd_tracking *tracking = begin();
    add(tracking, NULL, 0, NULL, 0);
    struct bd_track_scores scores = end(tracking);
    assert_int_equal(scores.frames, 1);
    NEAR(bd_track_f_measure(&scores), 0);
    NEAR(bd_track_mota(&scores), 0);
    NEAR(bd_track_motp(&scores), 0);
    NEAR(bd_track_idf1(&scores), 0);
    tracking = NULL;
    bd_tracking_destroy(&tracking);
}

static void a_number_occurs_once(void **state)
{
    (void)state;
    struct bd_tracking *tracking = begin();
    struct bd_track_box twice[2] = { at(1, 0), at(1, 50) };
    assert_int_equal(bd_tracking_add(tracking, twice, 2, NULL, 0), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_tracking_add(tracking, NULL, 0, twice, 2), BD_ERROR_ARGUMENT);
    assert_int_equal(end(tracking).frames, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perfect),
        cmocka_unit_test(one_switch),
        cmocka_unit_test(swapped_half_way),
        cmocka_unit_test(one_miss_and_one_false_box),
        cmocka_unit_test(overlap_decides),
        cmocka_unit_test(pairs_last_and_are_most),
        cmocka_unit_test(ignored_boxes_do_not_count),
        cmocka_unit_test(people_cross_slowly),
        cmocka_unit_test(nothing_is_zero),
        cmocka_unit_test(a_number_occurs_once),
    };
    return cmocka_run_group_tests_name("tracking", tests, NULL, NULL);
}
