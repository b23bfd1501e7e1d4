/* Visits are placed in a synopsis: all of them, within its length, in order and apart where there
 * is room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "app/summary/placement.h"

enum { width = 320, height = 240, most = 64 };

/* Visits of objects that stand still, 40 x 60 pixels, for the whole of a visit. */
struct plan {
    struct bd_visit visits[most];
    struct bd_visit_box boxes[most];
    int count;
    double end;
};

static void add_visit(struct plan *plan, double start, double seconds, int x)
{
    struct bd_visit_box *box = &plan->boxes[plan->count];
    *box = (struct bd_visit_box){ 0, seconds, { x, 100, 40, 60 }, 0.7 };
    plan->visits[plan->count++] =
        (struct bd_visit){ .start = start, .seconds = seconds, .boxes = box, .count = 1, .at = -1 };
}

static void place(struct plan *plan, double length)
{
    assert_int_equal(bd_place_visits(plan->visits, plan->count, length, width, height, &plan->end),
                     BD_OK);
    assert_true(plan->end <= length + 1e-9);
    for (int i = 0; i < plan->count; i++) {
        assert_true(plan->visits[i].at >= 0);
        assert_true(plan->visits[i].at + plan->visits[i].seconds <= length + 1e-9);
    }
}

/* Seconds in which two visits at the same place are shown together. */
static double overlap(const struct plan *plan, int i, int j)
{
    const struct bd_visit *a = &plan->visits[i], *b = &plan->visits[j];
    if (a->boxes->box.x != b->boxes->box.x)
        return 0;
    return fmax(fmin(a->at + a->seconds, b->at + b->seconds) - fmax(a->at, b->at), 0);
}

static double all_overlaps(const struct plan *plan)
{
    double sum = 0;
    for (int i = 0; i < plan->count; i++)
        for (int j = 0; j < i; j++)
            sum += overlap(plan, i, j);
    return sum;
}

static void with_room_visits_follow_one_another(void **state)
{
    (void)state;
    struct plan plan = { .count = 0 };
    for (int i = 0; i < 10; i++)
        add_visit(&plan, 100 * i, 3, 100);
    place(&plan, 60);
    assert_true(all_overlaps(&plan) == 0);
    for (int i = 1; i < 10; i++)
        assert_true(plan.visits[i].at > plan.visits[i - 1].at);
    assert_true(plan.end > 29.9 && plan.end < 32.1); /* no longer than needed */
}

static void at_different_places_visits_are_shown_at_once(void **state)
{
    (void)state;
    struct plan plan = { .count = 0 };
    for (int i = 0; i < 6; i++)
        add_visit(&plan, 100 * i, 5, 50 * i);
    place(&plan, 60);
    for (int i = 0; i < 6; i++)
        assert_true(plan.visits[i].at == 0);
    assert_true(plan.end == 5);
}

/* Ten visits at each of two places fill the length: there is one way without overlap. */
static void overlap_that_can_be_avoided_is(void **state)
{
    (void)state;
    struct plan plan = { .count = 0 };
    for (int i = 0; i < 20; i++)
        add_visit(&plan, 10 * i, 2, i % 2 ? 200 : 50);
    place(&plan, 20);
    assert_true(all_overlaps(&plan) < 1e-6);
    assert_true(fabs(plan.end - 20) < 1e-6);
}

/* Twice as many as fit: two at a time, everywhere. */
static void too_many_visits_share_the_picture(void **state)
{
    (void)state;
    struct plan plan = { .count = 0 };
    for (int i = 0; i < 8; i++)
        add_visit(&plan, 10 * i, 5, 100);
    place(&plan, 20);
    print_message("overlaps of %.1f s; the least is 20\n", all_overlaps(&plan));
    assert_true(all_overlaps(&plan) > 19.9 && all_overlaps(&plan) < 26);
    memset(&plan, 0, sizeof plan);
    for (int i = 0; i < most; i++)
        add_visit(&plan, i, 1 + i % 4, i % 3 * 100);
    place(&plan, 5);
}

static void extremes_are_placed(void **state)
{
    (void)state;
    struct plan plan = { .count = 0 };
    place(&plan, 60);
    assert_true(plan.end == 0);
    add_visit(&plan, 7, 1, 0); /* as long as the synopsis */
    add_visit(&plan, 8, 1, 5000);
    plan.boxes[1].box.y = -300; /* outside of the picture */
    place(&plan, 1);
    assert_true(plan.visits[0].at == 0 && plan.visits[1].at == 0);
    memset(&plan, 0, sizeof plan);
    add_visit(&plan, 0, 3600, 0);
    add_visit(&plan, 1, 30, 0);
    place(&plan, 3600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_room_visits_follow_one_another),
        cmocka_unit_test(at_different_places_visits_are_shown_at_once),
        cmocka_unit_test(overlap_that_can_be_avoided_is),
        cmocka_unit_test(too_many_visits_share_the_picture),
        cmocka_unit_test(extremes_are_placed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
