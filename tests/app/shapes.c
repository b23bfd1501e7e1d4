/* Lines and polygons of the command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "app/shapes.h"

static void shapes_are_told_from_names(void **state)
{
    (void)state;
    assert_true(bd_shapes_are("1,2,3"));
    assert_true(bd_shapes_are("10,20.5,30,40;1,2,3,4"));
    assert_true(bd_shapes_are(","));
    assert_true(bd_shapes_are("-5,0,10,0, 10,+10"));
    assert_false(bd_shapes_are("5"));
    assert_false(bd_shapes_are("./1,2,3,4,5,6"));
    assert_false(bd_shapes_are("1,2.png"));
    assert_false(bd_shapes_are("roi 1,2"));
    assert_false(bd_shapes_are(""));
}

static void numbers_are_read(void **state)
{
    (void)state;
    struct bd_polygon shape;
    const char *end, *text = "1,2.5,-3,+4;5,6";
    assert_int_equal(bd_shape_read(&shape, text, 4, &end), BD_OK);
    assert_int_equal(shape.count, 2);
    assert_true(shape.points[0].x == 1 && shape.points[0].y == 2.5);
    assert_true(shape.points[1].x == -3 && shape.points[1].y == 4);
    assert_string_equal(end, ";5,6");
    static const char *const bad[] = {
        "",    ",",     "1",     "1,2,",  "1,,2", "1,2,3", "1;2",  "1 ,2",  "1,2 ",  "1.2.3",
        "a,b", "inf,1", "1,nan", "0x1,2", "1,2:", "1e3,2", ";1,2", "1,2,;", "--1,2", "9999999,1"
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (bd_shape_read(&shape, bad[i], 4, &end) != BD_ERROR_ARGUMENT)
            print_error("%s was taken\n", bad[i]);
        assert_int_equal(bd_shape_read(&shape, bad[i], 4, &end), BD_ERROR_ARGUMENT);
    }
    assert_int_equal(bd_shape_read(&shape, "1,2,3,4,5,6,7,8", 4, &end), BD_OK);
    assert_int_equal(bd_shape_read(&shape, "1,2,3,4,5,6,7,8,9,10", 4, &end), BD_ERROR_ARGUMENT);
    assert_non_null(strstr(bd_error_detail(), "more than 4 points"));
}

static void points_must_be_in_the_picture(void **state)
{
    (void)state;
    static const struct {
        struct bd_point point;
        bool good;
    } rows[] = { { { 0, 0 }, true },      { { 40, 30 }, true },  { { 40.5, 30 }, false },
                 { { 40, 30.1 }, false }, { { -.5, 3 }, false }, { { 3, -1 }, false } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bd_polygon shape = { { { 1, 1 }, rows[i].point }, 2 };
        assert_int_equal(bd_shape_check(&shape, 40, 30), rows[i].good ? BD_OK : BD_ERROR_ARGUMENT);
    }
}

static void polygons_have_an_area(void **state)
{
    (void)state;
    static const struct {
        struct bd_polygon polygon;
        bool good;
    } rows[] = { { { { { 1, 1 }, { 9, 1 }, { 1, 9 } }, 3 }, true },
                 { { { { 0, 0 }, { 9, 9 }, { 9, 0 }, { 0, 9 } }, 4 }, true }, /* crosses itself */
                 { { { { 1, 1 }, { 1, 1 }, { 9, 1 }, { 1, 9 } }, 4 }, true },
                 { { { { 1, 1 }, { 9, 9 }, { 4, 4 } }, 3 }, false },
                 { { { { 3, 3 }, { 3, 3 }, { 3, 3 } }, 3 }, false },
                 { { { { 1, 1 }, { 9, 1 }, { 9, 1 }, { 1, 1 } }, 4 }, false } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(bd_shape_check(&rows[i].polygon, 40, 30),
                         rows[i].good ? BD_OK : BD_ERROR_ARGUMENT);
}

/* A U: its middle is outside. */
static const struct bd_polygon u = {
    { { 2, 2 }, { 6, 2 }, { 6, 8 }, { 10, 8 }, { 10, 2 }, { 14, 2 }, { 14, 12 }, { 2, 12 } }, 8
};

static void a_polygon_contains_what_it_surrounds(void **state)
{
    (void)state;
    static const struct {
        struct bd_point point;
        bool inside;
    } rows[] = { { { 3, 3 }, true },  { { 8, 3 }, false },  { { 12, 3 }, true },
                 { { 8, 10 }, true }, { { 1, 3 }, false },  { { 15, 5 }, false },
                 { { 8, 1 }, false }, { { 8, 13 }, false }, { { 3, 8 }, true },
                 { { 0, 8 }, false }, { { 20, 8 }, false } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(bd_polygon_contains(&u, rows[i].point), rows[i].inside);
    /* a star of five corners: by the rule of even and odd its middle is outside */
    struct bd_polygon star = { .count = 5 };
    for (int i = 0; i < 5; i++)
        star.points[i] = (struct bd_point){ sin(i * 2.5132741), cos(i * 2.5132741) };
    assert_false(bd_polygon_contains(&star, (struct bd_point){ 0, 0 }));
    assert_true(bd_polygon_contains(&star, (struct bd_point){ 0, .7 }));
}

static void distances_are_to_the_nearest_edge(void **state)
{
    (void)state;
    assert_true(fabs(bd_polygon_distance(&u, (struct bd_point){ 3, 5 }) - 1) < 1e-12);
    assert_true(fabs(bd_polygon_distance(&u, (struct bd_point){ 8, 5 }) - 2) < 1e-12);
    assert_true(fabs(bd_polygon_distance(&u, (struct bd_point){ 17, 16 }) - 5) < 1e-12);
    assert_true(fabs(bd_polygon_distance(&u, (struct bd_point){ 2, 5 })) < 1e-12);
}

static void sides_and_crossings_of_a_line(void **state)
{
    (void)state;
    const struct bd_point a = { 10, 50 }, b = { 10, 10 }; /* upward */
    assert_true(fabs(bd_line_side(a, b, (struct bd_point){ 13, 99 }) - 3) < 1e-12);
    assert_true(fabs(bd_line_side(a, b, (struct bd_point){ 6, 20 }) + 4) < 1e-12);
    assert_true(fabs(bd_line_side(b, a, (struct bd_point){ 6, 20 }) - 4) < 1e-12);
    assert_true(bd_line_met(a, b, (struct bd_point){ 0, 30 }, (struct bd_point){ 20, 30 }));
    assert_true(bd_line_met(a, b, (struct bd_point){ 20, 10 }, (struct bd_point){ 0, 10 }));
    assert_false(bd_line_met(a, b, (struct bd_point){ 0, 51 }, (struct bd_point){ 20, 51 }));
    assert_false(bd_line_met(a, b, (struct bd_point){ 0, 9 }, (struct bd_point){ 20, 9 }));
    assert_true(bd_line_met(a, b, (struct bd_point){ 9, 49 }, (struct bd_point){ 12, 52 }));
    assert_false(bd_line_met(a, b, (struct bd_point){ 9, 50 }, (struct bd_point){ 12, 53 }));
}

/* Pixels belong to a polygon by their centres; two that share an edge share no pixel. */
static void polygons_are_filled_by_centres(void **state)
{
    (void)state;
    enum { width = 16, height = 14, stride = 20 };
    uint8_t pixels[height * stride];
    memset(pixels, 7, sizeof pixels);
    bd_polygon_fill(pixels, stride, width, height, &u);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < stride; x++) {
            bool inside = x >= 2 && x < 14 && y >= 2 && y < 12 && !(x >= 6 && x < 10 && y < 8);
            assert_int_equal(pixels[y * stride + x], inside ? 255 : 7);
        }
    int counts[2] = { 0, 0 };
    for (int i = 0; i < 2; i++) {
        struct bd_polygon half = { { { 0, 0 }, { 16, 14 }, { i ? 0 : 16, i ? 14 : 0 } }, 3 };
        memset(pixels, 0, sizeof pixels);
        bd_polygon_fill(pixels, stride, width, height, &half);
        for (int p = 0; p < height * stride; p++)
            counts[i] += pixels[p] == 255;
    }
    assert_int_equal(counts[0] + counts[1], width * height);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_are_told_from_names),
        cmocka_unit_test(numbers_are_read),
        cmocka_unit_test(points_must_be_in_the_picture),
        cmocka_unit_test(polygons_have_an_area),
        cmocka_unit_test(a_polygon_contains_what_it_surrounds),
        cmocka_unit_test(distances_are_to_the_nearest_edge),
        cmocka_unit_test(sides_and_crossings_of_a_line),
        cmocka_unit_test(polygons_are_filled_by_centres),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
