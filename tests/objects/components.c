/* The component finder, against a flood fill of every pixel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <backdrop/components.h>

#include "tests/support/random.h"

enum { most_side = 24, none = -1 };

struct picture {
    int width, height, stride;
    uint8_t value, other;
    bool corners;
    uint8_t pixel[most_side * (most_side + 3)];
    int label[most_side * most_side];
};

/* Gives the component of a pixel its number, and returns its area. */
static int fill(struct picture *p, int x, int y, int number)
{
    if (x < 0 || y < 0 || x >= p->width || y >= p->height || p->label[y * p->width + x] != none ||
        p->pixel[y * p->stride + x] != p->value)
        return 0;
    int area = 1;
    p->label[y * p->width + x] = number;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (p->corners || dx == 0 || dy == 0)
                area += fill(p, x + dx, y + dy, number);
    return area;
}

static void check_runs(const struct picture *p, struct bd_components *found)
{
    int root_of[most_side * most_side], pixels = 0;
    memset(root_of, none, sizeof root_of);
    for (int32_t i = 0; i < found->count; i++) {
        const struct bd_run *run = &found->runs[i];
        const int32_t root = bd_components_root(found, i);
        const struct bd_run *whole = &found->runs[root];
        assert_true(root <= i && whole->parent == root);
        for (int x = run->from; x < run->to; x++, pixels++) {
            const int label = p->label[run->y * p->width + x];
            assert_int_not_equal(label, none);
            if (root_of[label] == none)
                root_of[label] = root;
            assert_int_equal(root_of[label], root);
        }
        assert_true(run->from >= whole->left && run->to <= whole->right + 1);
        assert_true(run->y >= whole->y && run->y <= whole->bottom);
    }
    for (int i = 0; i < p->width * p->height; i++)
        pixels -= p->label[i] != none;
    assert_int_equal(pixels, 0);
}

static void components_are_those_of_a_flood_fill(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < 500; round++) {
        struct picture p = { .width = between(&seed, 1, most_side),
                             .height = between(&seed, 1, most_side),
                             .value = (uint8_t)between(&seed, 0, 1),
                             .corners = round % 2 };
        struct bd_components found = { 0 };
        const int share = between(&seed, 1, 9);
        int areas[most_side * most_side], number = 0, roots = 0;
        p.other = !p.value;
        p.stride = p.width + between(&seed, 0, 3);
        memset(p.label, none, sizeof p.label);
        for (int i = 0; i < p.height * p.stride; i++)
            p.pixel[i] = between(&seed, 0, 9) < share;
        for (int y = 0; y < p.height; y++)
            for (int x = 0; x < p.width; x++) {
                areas[number] = fill(&p, x, y, number);
                number += areas[number] > 0;
            }
        assert_int_equal(bd_components_create(&found, p.width, p.height), BD_OK);
        bd_components_find(&found, p.pixel, p.stride, p.value, p.other, p.corners);
        check_runs(&p, &found);
        for (int32_t i = 0; i < found.count; i++) {
            const struct bd_run *run = &found.runs[i];
            if (run->parent != i)
                continue;
            /* numbers and roots are in the order of the first pixels */
            assert_int_equal(run->area, areas[roots++]);
        }
        assert_int_equal(roots, number);
        bd_components_destroy(&found);
    }
}

/* A chequered picture has as many runs as there is room for. */
static void the_most_runs_fit(void **state)
{
    (void)state;
    uint8_t picture[15 * 9];
    struct bd_components found = { 0 };
    for (int i = 0; i < 15 * 9; i++)
        picture[i] = i % 15 % 2 ? 0 : 255;
    assert_int_equal(bd_components_create(&found, 15, 9), BD_OK);
    bd_components_find(&found, picture, 15, 255, 0, true);
    assert_int_equal(found.count, bd_components_most(15, 9));
    bd_components_destroy(&found);
}

/* Pixels of a third value belong to the run that they follow, or to none. */
static void other_values_stay_inside(void **state)
{
    (void)state;
    uint8_t picture[40 * 30];
    struct bd_components found = { 0 };
    uint32_t seed = 3;
    assert_int_equal(bd_components_create(&found, 40, 30), BD_OK);
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 40 * 30; i++)
            picture[i] = (uint8_t)between(&seed, 0, 3);
        bd_components_find(&found, picture, 40, 1, 2, round % 2);
        assert_true((size_t)found.count <= bd_components_most(40, 30));
    }
    bd_components_find(&found, picture, 40, 1, 1, true);
    assert_int_equal(found.count, 0);
    bd_components_destroy(&found);
    bd_components_find(&found, picture, 40, 1, 0, true);
    assert_int_equal(found.count, 0);
}

static void sizes_are_checked(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 0, 5 },  { 5, 0 },     { -1, 5 },
                                    { 5, -1 }, { 32769, 5 }, { 5, INT32_MAX } };
    struct bd_components found = { .count = 7 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(bd_components_create(&found, sizes[i][0], sizes[i][1]), BD_ERROR_ARGUMENT);
        assert_non_null(strstr(bd_error_detail(), "must be 1 x 1 to 32768 x 32768"));
        assert_null(found.runs);
        assert_int_equal(found.count, 0);
    }
    assert_int_equal(bd_components_create(NULL, 5, 5), BD_ERROR_ARGUMENT);
    assert_string_equal(bd_error_detail(), "components is NULL");
    bd_components_destroy(&found);
    bd_components_destroy(NULL);
    bd_components_find(NULL, NULL, 0, 1, 0, true);
    assert_int_equal(bd_components_root(NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(components_are_those_of_a_flood_fill),
        cmocka_unit_test(the_most_runs_fit),
        cmocka_unit_test(other_values_stay_inside),
        cmocka_unit_test(sizes_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
