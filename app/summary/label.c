#include "app/summary/label.h"

#include <math.h>
#include <stdio.h>

#include "app/stroke_text.h"

bool bd_label_is_of_day(double time)
{
    return time >= 1e8;
}

void bd_label_format(char *text, size_t size, double time)
{
    const double day = 86400;
    time = fmax(floor(bd_label_is_of_day(time) ? fmod(time, day) : time), 0);
    snprintf(text, size, "%.0f:%02.0f:%02.0f", floor(time / 3600), floor(fmod(time, 3600) / 60),
             fmod(time, 60));
}

static bool touch(const struct bd_box *a, const struct bd_box *b)
{
    return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height &&
           b->y < a->y + a->height;
}

/* Moves a label up, or down (`step` -1, 1), until it covers no other. False where it would leave
 * rows `top` to `bottom`. */
static bool move(const struct bd_labels *labels, struct bd_box *label, int step, int top,
                 int bottom)
{
    for (int i = 0; i < labels->count; i++) {
        if (!touch(label, &labels->boxes[i]))
            continue;
        label->y = labels->boxes[i].y + step * label->height;
        i = -1;
    }
    return label->y >= top && label->y + label->height <= bottom;
}

/* Finds a place near the object where a label covers no other, else leaves it where it is. */
static void find_room(struct bd_labels *labels, struct bd_box *label, int rows)
{
    const int most = (int)(sizeof labels->boxes / sizeof *labels->boxes);
    const int far = 4 * label->height, start = label->y;
    if (!move(labels, label, -1, start > far ? start - far : 0, rows)) {
        label->y = start;
        if (!move(labels, label, 1, 0, start + far < rows ? start + far : rows))
            label->y = start;
    }
    if (labels->count < most)
        labels->boxes[labels->count++] = *label;
}

static void darken(struct bd_frame *picture, const struct bd_box *box)
{
    for (int y = box->y; y < box->y + box->height; y++)
        for (int i = 3 * box->x; i < 3 * (box->x + box->width); i++)
            picture->data[y * picture->stride + i] /= 3;
}

void bd_label_draw(struct bd_labels *labels, struct bd_frame *picture, const struct bd_box *box,
                   double time)
{
    const struct bd_stroke_color ink = { 255, 255, 255 };
    const double size = fmax(7, picture->height / 60.0), gap = ceil(size / 3);
    char text[64];
    bd_label_format(text, sizeof text, time);
    struct bd_box label = { .width = (int)ceil(bd_stroke_text_width(size, text) + 2 * gap),
                            .height = (int)ceil(size + 2 * gap) };
    if (label.width > picture->width || label.height > picture->height)
        return;
    label.x = box->x + (box->width - label.width) / 2;
    label.x = label.x < 0 ? 0 : label.x;
    if (label.x > picture->width - label.width)
        label.x = picture->width - label.width;
    label.y = box->y >= label.height ? box->y - label.height : box->y > 0 ? box->y : 0;
    if (label.y > picture->height - label.height)
        label.y = picture->height - label.height;
    find_room(labels, &label, picture->height);
    darken(picture, &label);
    bd_stroke_text_draw(picture, label.x + gap, label.y + gap, size, ink, text);
}
