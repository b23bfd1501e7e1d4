#include "app/pipeline/boxes.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct rect {
    int64_t left, top, right, bottom; /* pixels; right and bottom are the first beyond it */
};

/* The digits, 5 x 7 pixels, a row a byte, the leftmost pixel in bit 4. */
enum { digit_width = 5, digit_height = 7 };
static const uint8_t digits[10][digit_height] = {
    { 0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e }, { 0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e },
    { 0x0e, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1f }, { 0x1f, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0e },
    { 0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02 }, { 0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e },
    { 0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e }, { 0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08 },
    { 0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e }, { 0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c },
};

/* Bright, so that digits can be read on the dark ground, and such that numbers that follow one
 * another differ most. */
static const uint8_t colors[][3] = {
    { 64, 224, 255 },  { 255, 240, 96 },  { 255, 112, 255 }, { 112, 255, 96 }, { 255, 176, 64 },
    { 128, 176, 255 }, { 255, 255, 255 }, { 255, 136, 152 }, { 64, 255, 192 }, { 200, 152, 255 },
};
static const uint8_t ground[3] = { 16, 16, 16 };

/* Sizes in pixels of the canvas: larger pictures are looked at from farther away. */
static int line_width(const struct bd_canvas *canvas)
{
    return 1 + canvas->height / 400;
}

static int digit_scale(const struct bd_canvas *canvas)
{
    return 1 + canvas->height / 300;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Fills what is on the canvas of the rectangle. */
static void fill(const struct bd_canvas *canvas, struct rect rect, const uint8_t color[3])
{
    uint32_t packed = 0xff000000u | (uint32_t)color[0] << 16 | (uint32_t)color[1] << 8 | color[2];
    rect.left = most(rect.left, 0);
    rect.right = least(rect.right, canvas->width);
    for (int64_t y = most(rect.top, 0); y < least(rect.bottom, canvas->height); y++)
        for (int64_t x = rect.left; x < rect.right; x++)
            memcpy(canvas->data + y * canvas->stride + x * canvas->bytes,
                   canvas->bytes == 4 ? (const void *)&packed : color, (size_t)canvas->bytes);
}

static int64_t floor_ratio(int64_t value, int64_t a, int64_t b)
{
    int64_t product = value * a;
    return product / b - (product % b < 0);
}

/* The outer edge of the line around the object's box, on the canvas. False: the box is outside of
 * the picture. */
static bool outline(struct rect *rect, const struct bd_canvas *canvas,
                    const struct bd_object *object, int width, int height)
{
    const int line = line_width(canvas);
    const int64_t x = object->x, y = object->y;
    if (x >= width || y >= height || x + object->width <= 0 || y + object->height <= 0)
        return false;
    rect->left = most(floor_ratio(x, canvas->width, width) - line, 0);
    rect->top = most(floor_ratio(y, canvas->height, height) - line, 0);
    rect->right =
        least(-floor_ratio(-x - object->width, canvas->width, width) + line, canvas->width);
    rect->bottom =
        least(-floor_ratio(-y - object->height, canvas->height, height) + line, canvas->height);
    return true;
}

/* One side of a box: a bar, or dashes of three times its thickness. */
static void draw_side(const struct bd_canvas *canvas, struct rect bar, int line, bool dashed,
                      const uint8_t color[3])
{
    bool across = bar.right - bar.left > bar.bottom - bar.top;
    int64_t length = across ? bar.right - bar.left : bar.bottom - bar.top;
    int64_t dash = dashed ? 3 * (int64_t)line : length;
    for (int64_t at = 0; at < length; at += 2 * dash) {
        struct rect piece = bar;
        if (across) {
            piece.left = bar.left + at;
            piece.right = least(piece.left + dash, bar.right);
        } else {
            piece.top = bar.top + at;
            piece.bottom = least(piece.top + dash, bar.bottom);
        }
        fill(canvas, piece, color);
    }
}

static void draw_box(const struct bd_canvas *canvas, struct rect rect, bool dashed,
                     const uint8_t color[3])
{
    const int line = line_width(canvas);
    const struct rect sides[] = {
        { rect.left, rect.top, rect.right, least(rect.top + line, rect.bottom) },
        { rect.left, most(rect.bottom - line, rect.top), rect.right, rect.bottom },
        { rect.left, rect.top, least(rect.left + line, rect.right), rect.bottom },
        { most(rect.right - line, rect.left), rect.top, rect.right, rect.bottom },
    };
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        draw_side(canvas, sides[i], line, dashed, color);
}

static void draw_digit(const struct bd_canvas *canvas, const uint8_t rows[digit_height], int64_t x,
                       int64_t y, const uint8_t color[3])
{
    const int scale = digit_scale(canvas);
    for (int row = 0; row < digit_height; row++)
        for (int column = 0; column < digit_width; column++) {
            int64_t left = x + (int64_t)column * scale, top = y + (int64_t)row * scale;
            if (rows[row] >> (digit_width - 1 - column) & 1)
                fill(canvas, (struct rect){ left, top, left + scale, top + scale }, color);
        }
}

/* The numbers that are drawn already: one more does not cover them, if there are not too many. */
struct labels {
    struct rect rects[64];
    int count;
};

/* The place of a number: above the box, or below its upper line where there is no room above. */
static struct rect place_label(const struct bd_canvas *canvas, const struct rect *box, int length)
{
    const int scale = digit_scale(canvas);
    const int64_t width = (int64_t)scale * (length * (digit_width + 1) + 1);
    const int64_t height = (int64_t)scale * (digit_height + 2);
    int64_t left = most(least(box->left, canvas->width - width), 0);
    int64_t top = box->top >= height ? box->top - height : box->top + line_width(canvas);
    top = most(least(top, canvas->height - height), 0);
    return (struct rect){ left, top, left + width, top + height };
}

/* Moves a number up until it covers no other; it stays where the picture ends before. */
static void avoid(struct rect *label, const struct labels *labels)
{
    struct rect moved = *label;
    for (int i = 0; i < labels->count; i++) {
        const struct rect *other = &labels->rects[i];
        if (moved.left >= other->right || moved.right <= other->left ||
            moved.top >= other->bottom || moved.bottom <= other->top)
            continue;
        int64_t height = moved.bottom - moved.top;
        moved.bottom = other->top;
        moved.top = moved.bottom - height;
        if (moved.top < 0)
            return;
        i = -1; /* another one may be there */
    }
    *label = moved;
}

static void draw_number(const struct bd_canvas *canvas, struct labels *labels,
                        const struct rect *box, int64_t number, const uint8_t color[3])
{
    char text[24];
    const int scale = digit_scale(canvas);
    const int length = snprintf(text, sizeof text, "%" PRIu64, (uint64_t)number);
    struct rect label = place_label(canvas, box, length);
    avoid(&label, labels);
    fill(canvas, label, ground);
    for (int i = 0; i < length; i++)
        draw_digit(canvas, digits[text[i] - '0'],
                   label.left + scale * (1 + (int64_t)i * (digit_width + 1)), label.top + scale,
                   color);
    if (labels->count < (int)(sizeof labels->rects / sizeof *labels->rects))
        labels->rects[labels->count++] = label;
}

/* Draws the lines around those objects that are seen, or are not; or their numbers. */
static void draw_pass(const struct bd_canvas *canvas, const struct bd_object *objects, int count,
                      int width, int height, bool seen, struct labels *numbers)
{
    const uint64_t color_count = sizeof colors / sizeof *colors;
    for (int i = 0; i < count; i++) {
        const struct bd_object *object = &objects[i];
        const uint8_t *color = colors[(uint64_t)object->id % color_count];
        struct rect box;
        if (object->seen != seen || !outline(&box, canvas, object, width, height))
            continue;
        if (numbers)
            draw_number(canvas, numbers, &box, object->id, color);
        else
            draw_box(canvas, box, !seen, color);
    }
}

void bd_boxes_draw(const struct bd_canvas *canvas, const struct bd_object *objects, int count,
                   int width, int height)
{
    struct labels numbers = { .count = 0 };
    draw_pass(canvas, objects, count, width, height, false, NULL);
    draw_pass(canvas, objects, count, width, height, true, NULL);
    draw_pass(canvas, objects, count, width, height, true, &numbers);
    draw_pass(canvas, objects, count, width, height, false, &numbers);
}

void bd_boxes_draw_frame(const struct bd_frame *frame, const struct bd_object *objects, int count)
{
    const struct bd_canvas canvas = { frame->data, frame->stride, frame->width, frame->height,
                                      (int)frame->format };
    bd_boxes_draw(&canvas, objects, count, frame->width, frame->height);
}
