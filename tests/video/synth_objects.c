/* The objects of rendered scenes: they share the pixels of the truth out among them, and keep their
 * numbers from where they enter the picture to where they leave it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "video/synth/synth.h"

enum { MOST = BD_SYNTH_MOST_OBJECTS };

static int find(const struct bd_synth_scene *scene, int64_t index, struct bd_synth_object *objects,
                struct bd_frame *owners)
{
    int count = 0;
    assert_int_equal(bd_synth_find_objects(scene, 0, 0, 1, index, objects, &count, owners), BD_OK);
    assert_in_range(count, 0, MOST);
    return count;
}

/* Box and number of the pixels of `owners` that are `label`, found the plain way. */
static struct bd_synth_object measure(const struct bd_frame *owners, int label)
{
    struct bd_synth_object box = { .x = owners->width, .y = owners->height };
    int right = -1, bottom = -1;
    for (int y = 0; y < owners->height; y++)
        for (int x = 0; x < owners->width; x++)
            if (owners->data[y * owners->stride + x] == label) {
                box.visible++;
                box.x = x < box.x ? x : box.x;
                box.y = y < box.y ? y : box.y;
                right = x > right ? x : right;
                bottom = y > bottom ? y : bottom;
            }
    box.width = right - box.x + 1;
    box.height = bottom - box.y + 1;
    return box;
}

/* In every scene each pixel that is 255 in the truth has one owner, and no other pixel has one. */
static void test_objects_share_the_truth_out(void **state)
{
    (void)state;
    struct bd_frame truth = { 0 }, owners = { 0 };
    for (const struct bd_synth_scene *scene = bd_synth_scenes; scene->name; scene++) {
        int64_t seen = 0;
        for (int f = 10; f < scene->frame_count; f += 130) {
            struct bd_synth_object objects[MOST];
            int64_t moving = 0, visible = 0;
            int count = find(scene, f, objects, &owners);
            assert_int_equal(bd_synth_render(scene, 0, 0, 1, f, NULL, &truth), BD_OK);
            for (int y = 0; y < truth.height; y++)
                for (int x = 0; x < truth.width; x++) {
                    bool owned = owners.data[y * owners.stride + x] > 0;
                    assert_int_equal(owned, truth.data[y * truth.stride + x] == 255);
                    moving += owned;
                }
            for (int i = 0; i < count; i++) {
                struct bd_synth_object box = measure(&owners, i + 1);
                assert_int_equal(box.x, objects[i].x);
                assert_int_equal(box.y, objects[i].y);
                assert_int_equal(box.width, objects[i].width);
                assert_int_equal(box.height, objects[i].height);
                assert_int_equal(box.visible, objects[i].visible);
                assert_true(box.visible > 0);
                visible += box.visible;
            }
            assert_int_equal(visible, moving);
            seen += count;
        }
        assert_true(seen > 0);
    }
    bd_frame_destroy(&truth);
    bd_frame_destroy(&owners);
}

static bool overlap(const struct bd_synth_object *a, const struct bd_synth_object *b)
{
    return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height &&
           b->y < a->y + a->height;
}

/* On a street nothing but a nearer object hides one, and the nearest one is whole. A pixel of two
 * rims may belong to either. */
static void test_nearer_objects_hide(void **state)
{
    (void)state;
    const struct bd_synth_scene *scene = bd_synth_find("crossing");
    int hidden = 0;
    for (int f = 0; f < scene->frame_count; f += 3) {
        struct bd_synth_object objects[MOST];
        int count = find(scene, f, objects, NULL);
        for (int i = 0; i < count; i++) {
            bool covered = false;
            for (int j = i + 1; j < count; j++)
                covered = covered || overlap(&objects[i], &objects[j]);
            if (!covered && i == count - 1)
                assert_in_range(objects[i].visible, objects[i].whole, objects[i].whole + 20);
            hidden += objects[i].visible < objects[i].whole * 3 / 4;
            assert_true(objects[i].visible <= objects[i].whole + 20);
        }
    }
    assert_true(hidden > 20);
}

/* An actor has one number while it is in the picture, and a new one when it comes back; the camera
 * may shake. */
static void test_numbers_last_for_a_passage(void **state)
{
    static const char *const names[] = { "crossing", "shake", "tree" };
    (void)state;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        const struct bd_synth_scene *scene = bd_synth_find(names[n]);
        int64_t last[MOST] = { 0 };
        int last_frame[MOST] = { 0 }, passages = 0;
        for (int f = 0; f < scene->frame_count; f += 3) {
            struct bd_synth_object objects[MOST];
            int count = find(scene, f, objects, NULL);
            for (int i = 0; i < count; i++) {
                int actor = (int)((objects[i].number - 1) % MOST);
                assert_true(objects[i].number >= 1 && objects[i].number >= last[actor]);
                if (objects[i].number > last[actor]) {
                    passages++;
                    /* It was away for a while, and enters at a side. */
                    assert_true(f == 0 || last[actor] == 0 || f - last_frame[actor] > 4);
                    assert_true(f == 0 || objects[i].x < 8 ||
                                objects[i].x + objects[i].width > scene->width - 8);
                }
                last[actor] = objects[i].number;
                last_frame[actor] = f;
            }
        }
        print_message("%s: %d passages\n", names[n], passages);
        assert_true(passages >= 3);
    }
}

/* Two people cross where their boxes overlap and each is on the other's side afterwards. */
static void test_people_cross(void **state)
{
    (void)state;
    const struct bd_synth_scene *scene = bd_synth_find("crossing");
    enum { NUMBERS = 128 };
    static int8_t side[NUMBERS][NUMBERS];
    int crossings = 0;
    for (int f = 0; f < scene->frame_count; f++) {
        struct bd_synth_object objects[MOST];
        int count = find(scene, f, objects, NULL);
        for (int i = 0; i < count; i++)
            for (int j = 0; j < i; j++) {
                const struct bd_synth_object *a = &objects[i], *b = &objects[j];
                assert_true(a->number < NUMBERS && b->number < NUMBERS);
                int8_t now = 2 * a->x + a->width < 2 * b->x + b->width ? -1 : 1;
                int8_t *before = &side[a->number][b->number];
                if (overlap(a, b)) {
                    *before = *before ? *before : now;
                } else {
                    crossings += *before && *before != now;
                    *before = 0;
                }
            }
    }
    print_message("%d crossings\n", crossings);
    assert_true(crossings >= 10);
}

static void test_repeats_at_any_size(void **state)
{
    static const int sizes[][2] = { { 1, 1 }, { 17, 300 }, { 640, 360 } };
    (void)state;
    const struct bd_synth_scene *scene = bd_synth_find("crossing");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct bd_synth_object first[MOST], again[MOST];
        int count, same;
        for (int f = 40; f < 50; f += 9) {
            assert_int_equal(
                bd_synth_find_objects(scene, sizes[i][0], sizes[i][1], 5, f, first, &count, NULL),
                BD_OK);
            assert_int_equal(
                bd_synth_find_objects(scene, sizes[i][0], sizes[i][1], 5, 3, again, &same, NULL),
                BD_OK);
            assert_int_equal(
                bd_synth_find_objects(scene, sizes[i][0], sizes[i][1], 5, f, again, &same, NULL),
                BD_OK);
            assert_int_equal(count, same);
            assert_memory_equal(first, again, (size_t)count * sizeof *first);
        }
    }
}

static void test_bad_input(void **state)
{
    (void)state;
    struct bd_synth_object objects[MOST];
    struct bd_frame owners = { 0 };
    const struct bd_synth_scene *easy = bd_synth_find("easy");
    int count = 7;
    assert_int_equal(bd_synth_find_objects(NULL, 0, 0, 1, 0, objects, &count, &owners),
                     BD_ERROR_ARGUMENT);
    assert_int_equal(count, 0);
    assert_int_equal(bd_synth_find_objects(easy, 0, 0, 1, -1, objects, &count, &owners),
                     BD_ERROR_ARGUMENT);
    assert_int_equal(bd_synth_find_objects(easy, 40000, 0, 1, 0, objects, &count, &owners),
                     BD_ERROR_ARGUMENT);
    assert_non_null(strstr(bd_error_detail(), "easy"));
    assert_null(owners.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects_share_the_truth_out),
        cmocka_unit_test(test_nearer_objects_hide),
        cmocka_unit_test(test_numbers_last_for_a_passage),
        cmocka_unit_test(test_people_cross),
        cmocka_unit_test(test_repeats_at_any_size),
        cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests_name("synth_objects", tests, NULL, NULL);
}
