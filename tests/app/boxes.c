/* Boxes around objects: where pixels change and where none may, and that numbers can be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/pipeline/boxes.h"

enum { WIDTH = 160, HEIGHT = 120, MARGIN = 8, UNTOUCHED = 77 };

/* A canvas with a margin around it that nobody may draw on. */
struct picture {
    uint8_t pixels[(HEIGHT + 2 * MARGIN) * (WIDTH + 2 * MARGIN) * 4];
    struct bd_canvas canvas;
};

static void clear(struct picture *picture, int width, int height, int bytes)
{
    int64_t stride = (int64_t)(width + 2 * MARGIN) * bytes;
    memset(picture->pixels, UNTOUCHED, sizeof picture->pixels);
    picture->canvas = (struct bd_canvas){ picture->pixels + MARGIN * (stride + bytes), stride,
                                          width, height, bytes };
}

static const uint8_t *pixel(const struct picture *picture, int x, int y)
{
    const struct bd_canvas *canvas = &picture->canvas;
    return canvas->data + y * canvas->stride + (int64_t)x * canvas->bytes;
}

static bool changed(const struct picture *picture, int x, int y)
{
    static const uint8_t untouched[4] = { UNTOUCHED, UNTOUCHED, UNTOUCHED, UNTOUCHED };
    return memcmp(pixel(picture, x, y), untouched, (size_t)picture->canvas.bytes) != 0;
}

/* How many pixels of the rectangle are changed; its right and bottom sides are beyond it. */
static int count(const struct picture *picture, int left, int top, int right, int bottom)
{
    int sum = 0;
    for (int y = top; y < bottom; y++)
        for (int x = left; x < right; x++)
            sum += changed(picture, x, y);
    return sum;
}

static int count_all(const struct picture *picture)
{
    return count(picture, 0, 0, picture->canvas.width, picture->canvas.height);
}

static void assert_margin(const struct picture *picture)
{
    int width = picture->canvas.width, height = picture->canvas.height;
    for (int y = -MARGIN; y < height + MARGIN; y++)
        for (int x = -MARGIN; x < width + MARGIN; x++)
            if (x < 0 || y < 0 || x >= width || y >= height)
                assert_false(changed(picture, x, y));
}

static struct bd_object object(int64_t id, int x, int y, int width, int height)
{
    return (struct bd_object){
        .id = id, .x = x, .y = y, .width = width, .height = height, .seen = true
    };
}

static void draw(struct picture *picture, struct bd_object one)
{
    clear(picture, WIDTH, HEIGHT, 3);
    bd_boxes_draw(&picture->canvas, &one, 1, WIDTH, HEIGHT);
    assert_margin(picture);
}

/* A line of one pixel around the box, the number above it, and nothing else. */
static void only_the_line_and_the_number_change(void **state)
{
    (void)state;
    static struct picture picture;
    draw(&picture, object(7, 40, 50, 30, 20));
    assert_int_equal(count(&picture, 40, 50, 70, 70), 0); /* the object itself */
    assert_int_equal(count(&picture, 39, 49, 71, 71), 32 * 22 - 30 * 20);
    const int number = 7 * 9; /* a digit of 5 x 7 on a ground with a rim of one pixel */
    assert_int_equal(count(&picture, 39, 40, 46, 49), number);
    assert_int_equal(count_all(&picture), 32 * 22 - 30 * 20 + number);
}

/* At the border the line is inside of the picture, and so is the number. */
static void boxes_at_the_border_are_closed(void **state)
{
    (void)state;
    static struct picture picture;
    draw(&picture, object(3, 0, 0, 30, 20));
    assert_int_equal(count(&picture, 0, 0, 31, 1), 31);
    assert_int_equal(count(&picture, 0, 0, 1, 21), 21);
    assert_int_equal(count(&picture, 0, 1, 7, 10), 63); /* below the upper line */
    draw(&picture, object(123, WIDTH - 2, HEIGHT - 12, 2, 12));
    assert_int_equal(count(&picture, WIDTH - 1, HEIGHT - 13, WIDTH, HEIGHT), 13);
    assert_int_equal(count(&picture, WIDTH - 3, HEIGHT - 1, WIDTH, HEIGHT), 3);
    assert_int_equal(count(&picture, WIDTH - 19, HEIGHT - 22, WIDTH, HEIGHT - 13), 19 * 9);
    draw(&picture, object(1, -5, -5, WIDTH + 10, HEIGHT + 10)); /* larger than the picture */
    assert_int_equal(count(&picture, 0, 0, WIDTH, 1), WIDTH);
    assert_int_equal(count(&picture, 0, HEIGHT - 1, WIDTH, HEIGHT), WIDTH);
}

static void boxes_outside_are_not_drawn(void **state)
{
    (void)state;
    static struct picture picture;
    const struct bd_object outside[] = {
        object(1, -10, 20, 10, 10),        object(1, WIDTH, 20, 10, 10),
        object(1, 20, -10, 10, 10),        object(1, 20, HEIGHT, 10, 10),
        object(1, INT_MAX, 5, INT_MAX, 5), object(1, INT_MIN, INT_MIN, 5, 5),
    };
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        draw(&picture, outside[i]);
        assert_int_equal(count_all(&picture), 0);
    }
}

static void tiny_boxes_keep_their_pixel(void **state)
{
    (void)state;
    static struct picture picture;
    draw(&picture, object(5, 80, 60, 1, 1));
    assert_false(changed(&picture, 80, 60));
    assert_int_equal(count(&picture, 79, 59, 82, 62), 8);
    clear(&picture, 1, 1, 3); /* a picture of one pixel */
    const struct bd_object one = object(5, 0, 0, 1, 1);
    bd_boxes_draw(&picture.canvas, &one, 1, 1, 1);
    assert_margin(&picture);
    assert_int_equal(count_all(&picture), 1);
}

static void hidden_objects_are_dashed(void **state)
{
    (void)state;
    static struct picture picture;
    struct bd_object hidden = object(7, 40, 50, 60, 40);
    hidden.seen = false;
    draw(&picture, hidden);
    assert_int_equal(count(&picture, 40, 50, 100, 90), 0);
    int side = count(&picture, 39, 90, 101, 91);
    assert_in_range(side, 62 / 2 - 3, 62 / 2 + 3);
    assert_true(changed(&picture, 39, 90)); /* each side begins with a dash */
}

/* The line of a number is as its digits one by one. */
static void read_digit(bool bits[9 * 6], const struct picture *picture, int left, int top)
{
    for (int y = 0; y < 9; y++)
        for (int x = 0; x < 6; x++) /* the ground is darker than any colour */
            bits[y * 6 + x] = pixel(picture, left + x, top + y)[0] > 40;
}

static void numbers_can_be_read(void **state)
{
    (void)state;
    static struct picture picture;
    bool known[10][9 * 6], bits[9 * 6];
    for (int digit = 0; digit < 10; digit++) {
        draw(&picture, object(10 + digit, 40, 50, 30, 20)); /* "10" .. "19" */
        read_digit(known[digit], &picture, 39 + 6, 40);
        for (int other = 0; other < digit; other++)
            assert_memory_not_equal(known[digit], known[other], sizeof bits);
    }
    static const int64_t numbers[] = { 1, 42, 999, 1234567890, 1000000000, INT64_MAX };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[24];
        int length = snprintf(text, sizeof text, "%lld", (long long)numbers[i]);
        draw(&picture, object(numbers[i], 20, 50, 30, 20));
        for (int at = 0; at < length; at++) {
            read_digit(bits, &picture, 19 + 6 * at, 40);
            assert_memory_equal(bits, known[text[at] - '0'], sizeof bits);
        }
    }
}

/* Two boxes in one place: their numbers are one above the other, the hidden object's last. */
static void numbers_do_not_cover_one_another(void **state)
{
    (void)state;
    static struct picture picture;
    bool one[9 * 6], two[9 * 6], bits[9 * 6];
    draw(&picture, object(1, 40, 50, 30, 20));
    read_digit(one, &picture, 39, 40);
    draw(&picture, object(2, 40, 50, 30, 20));
    read_digit(two, &picture, 39, 40);
    struct bd_object objects[] = { object(1, 40, 50, 30, 20), object(2, 42, 52, 30, 20) };
    objects[0].seen = false;
    clear(&picture, WIDTH, HEIGHT, 3);
    bd_boxes_draw(&picture.canvas, objects, 2, WIDTH, HEIGHT);
    read_digit(bits, &picture, 41, 42);
    assert_memory_equal(bits, two, sizeof bits);
    read_digit(bits, &picture, 39, 33);
    assert_memory_equal(bits, one, sizeof bits);
    static struct bd_object many[100]; /* more than can be told apart, at the upper border */
    for (int i = 0; i < 100; i++)
        many[i] = object(i, 40, 30, 30, 20);
    clear(&picture, WIDTH, HEIGHT, 3);
    bd_boxes_draw(&picture.canvas, many, 100, WIDTH, HEIGHT);
    assert_margin(&picture);
}

static int difference(const uint8_t *a, const uint8_t *b)
{
    return abs(a[0] - b[0]) + abs(a[1] - b[1]) + abs(a[2] - b[2]);
}

static void neighbours_have_other_colours(void **state)
{
    (void)state;
    static struct picture picture;
    uint8_t before[3] = { 0 };
    for (int id = 1; id < 40; id++) {
        draw(&picture, object(id, 40, 50, 30, 20));
        uint8_t color[3], again[3];
        memcpy(color, pixel(&picture, 70, 70), 3);
        assert_true(difference(color, before) > 120);
        memcpy(before, color, 3);
        draw(&picture, object(id, 90, 80, 9, 9));
        memcpy(again, pixel(&picture, 99, 89), 3);
        assert_memory_equal(color, again, 3); /* of the same number, wherever it is */
    }
}

/* A texture of the window has the same pixels as a film, and a small pane the same boxes. */
static void canvases_of_windows_are_drawn(void **state)
{
    (void)state;
    static struct picture film, texture;
    const struct bd_object objects[] = { object(12, 30, 40, 21, 33), object(3, 100, 20, 11, 50) };
    clear(&film, WIDTH, HEIGHT, 3);
    bd_boxes_draw(&film.canvas, objects, 2, WIDTH, HEIGHT);
    clear(&texture, WIDTH, HEIGHT, 4);
    bd_boxes_draw(&texture.canvas, objects, 2, WIDTH, HEIGHT);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            const uint8_t *p = pixel(&film, x, y);
            uint32_t packed;
            memcpy(&packed, pixel(&texture, x, y), 4);
            assert_int_equal(changed(&film, x, y), changed(&texture, x, y));
            if (changed(&film, x, y))
                assert_int_equal(packed, 0xff000000u | (uint32_t)(p[0] << 16 | p[1] << 8 | p[2]));
        }
    clear(&texture, WIDTH / 2, HEIGHT / 2, 4);
    bd_boxes_draw(&texture.canvas, objects, 1, WIDTH, HEIGHT);
    assert_margin(&texture);
    assert_int_equal(count(&texture, 15, 20, 26, 37), 0); /* 21 x 33 pixels, rounded up */
    assert_int_equal(count(&texture, 14, 19, 27, 38), 13 * 19 - 11 * 17);
}

/* Boxes anywhere, of any size, on canvases of any size. */
static void nothing_is_drawn_beyond_the_canvas(void **state)
{
    (void)state;
    static struct picture picture;
    srand(5);
    for (int round = 0; round < 3000; round++) {
        struct bd_object objects[4];
        for (int i = 0; i < 4; i++) {
            objects[i] = object((int64_t)rand() * rand(), rand() % (3 * WIDTH) - WIDTH,
                                rand() % (3 * HEIGHT) - HEIGHT, rand() % WIDTH, rand() % HEIGHT);
            objects[i].seen = rand() % 2;
        }
        if (round % 10 == 0)
            objects[0] = object(INT64_MIN, INT_MIN, INT_MIN, INT_MAX, INT_MAX);
        clear(&picture, 1 + rand() % WIDTH, 1 + rand() % HEIGHT, 3 + rand() % 2);
        bd_boxes_draw(&picture.canvas, objects, 4, WIDTH, HEIGHT);
        assert_margin(&picture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_line_and_the_number_change),
        cmocka_unit_test(boxes_at_the_border_are_closed),
        cmocka_unit_test(boxes_outside_are_not_drawn),
        cmocka_unit_test(tiny_boxes_keep_their_pixel),
        cmocka_unit_test(hidden_objects_are_dashed),
        cmocka_unit_test(numbers_can_be_read),
        cmocka_unit_test(numbers_do_not_cover_one_another),
        cmocka_unit_test(neighbours_have_other_colours),
        cmocka_unit_test(canvases_of_windows_are_drawn),
        cmocka_unit_test(nothing_is_drawn_beyond_the_canvas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
