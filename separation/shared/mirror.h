/* The specification of mirror images: what a wet road, water or a polished floor shows of the
 * objects on it.
 *
 * More than half of all objects are alike above and below by chance, so that likeness alone decides
 * nothing. A place does: where objects have a mirror image below their foot again and again, there
 * is a mirror, and only there images are cut. Everything is computed in integers.
 *
 * 1. Pixels. f is the frame, l the background; u = f above - l below, d = f below - l below. The
 *    pixel above explains the one below if u and d have a cosine of 3/5 or more over the channels,
 *    (u, d) > 0, and (u, d) <= 9/10 (u, u): an image has the object's colour, and is weaker.
 * 2. Objects are the components of the mask after its holes are filled, whose bounding boxes are at
 *    least 8 columns wide and 16 rows high. Of an object of width w and height h, the pixels of the
 *    mask in its box are looked at, in every (h / 24 + 1)-th row and every (w / 16 + 1)-th column.
 * 3. Axes. Rows are mirrored at axes from 3/5 of the box's height to h / 2 below it, h / 24 + 1
 * half rows apart. An axis maps row y to row `axis` - y. Of the pixels above it, those that explain
 *    the pixel that they are mapped to vote for it. An object has an image at an axis if 3/5 of
 *    them do; a pixel that is mapped out of the picture does not. The axis with the largest share
 *    is the object's, the highest one of equals.
 * 4. Evidence. One frame in eight counts objects in the cell (recurrence.h) that has the middle of
 *    the box's lowest row, and those that have an image at an axis below the box: there the whole
 *    object is above. Whenever half of a window has entered, the counts are halved.
 * 5. Places. The map is made again when that of what moves in place is. A cell is a place of
 *    images if, of the objects counted in the 11 x 11 cells around it and ten more, over 5 % had
 *    one.
 * 6. The cut. An object that stands in such a place, and has an image at its axis, is mirrored: the
 *    pixels of the mask below the axis are cut that a pixel of the mask in the box above it
 *    explains which is mapped to them, or to within a column and h / 16 + 1 rows of them. Of these
 *    rows at most nine are tried, so that an object ten times as high does not take a hundred times
 *    as long for each pixel.
 *
 * Without colour all cosines are 1, and nothing is looked for.
 *
 * synth:water gains .022 (F .763), synth:rain .029, CAVIAR2 .012. Numbers can be moved by a third
 * alone for gains of this order, but three: images as strong as their objects (9/10), or shares of
 * votes and axes of 2/5 in place of 3/5, cut people who are alike above and below
 * (HallAndMonitor); 3/5 in place of 9/10 leaves strong images. */
#ifndef BD_SEPARATION_SHARED_MIRROR_H
#define BD_SEPARATION_SHARED_MIRROR_H

#include "separation/shared/mask.h"

enum {
    bd_mirror_every = 8,    /* frames: one of them is evidence */
    bd_mirror_around = 5,   /* cells */
    bd_mirror_wide = 8,     /* pixels: an object's box at least */
    bd_mirror_high = 16,    /* the same */
    bd_mirror_columns = 16, /* of an object that are looked at, at most */
    bd_mirror_rows = 24,    /* the same */
    bd_mirror_most_axes = 2 * bd_mirror_rows
};

/* Of a cell: how many objects stood there, and how many had an image. */
struct bd_mirror_counts {
    uint32_t seen, found;
};

/* The bounding box of an object, all four inclusive. */
struct bd_mirror_box {
    int left, right, top, bottom;
};

/* The pixels of an axis that vote, and those that are asked. */
struct bd_mirror_votes {
    int votes, all;
};

BD_RULE bool bd_mirror_is_object(struct bd_mirror_box box)
{
    return box.right - box.left + 1 >= bd_mirror_wide && box.bottom - box.top + 1 >= bd_mirror_high;
}

/* Columns from one that is looked at to the next. */
BD_RULE int bd_mirror_column_step(struct bd_mirror_box box)
{
    return (box.right - box.left + 1) / bd_mirror_columns + 1;
}

/* Rows from one that is looked at to the next, and half rows from one axis to the next. */
BD_RULE int bd_mirror_row_step(struct bd_mirror_box box)
{
    return (box.bottom - box.top + 1) / bd_mirror_rows + 1;
}

/* Axis number k: the sum of a row and the row that it is mapped to. */
BD_RULE int bd_mirror_axis(struct bd_mirror_box box, int k)
{
    return 2 * box.top + 6 * (box.bottom - box.top + 1) / 5 + k * bd_mirror_row_step(box);
}

/* Axes of an object, at most bd_mirror_most_axes. */
BD_RULE int bd_mirror_axes(struct bd_mirror_box box)
{
    int last = 3 * box.bottom - box.top + 2; /* twice the lowest row, and the height */
    return (last - bd_mirror_axis(box, 0)) / bd_mirror_row_step(box) + 1;
}

/* Whether the whole object is above the axis. */
BD_RULE bool bd_mirror_is_below(struct bd_mirror_box box, int axis)
{
    return axis > 2 * box.bottom;
}

/* How many rows from where it is mapped to a pixel explains others. */
BD_RULE int bd_mirror_reach(struct bd_mirror_box box)
{
    return (box.bottom - box.top + 1) / 16 + 1;
}

/* Rows from one that is tried to the next, from the first of these on. */
BD_RULE int bd_mirror_reach_step(struct bd_mirror_box box)
{
    return bd_mirror_reach(box) / 4 + 1;
}

/* Whether a pixel above explains one below, by the three channels of each in f and those of l
 * below. */
BD_RULE bool bd_mirror_explains(const uint8_t *above, const uint8_t *below, const uint8_t *l)
{
    int uu = 0, ud = 0, dd = 0;
    for (int c = 0; c < 3; c++) {
        int u = above[c] - l[c], d = below[c] - l[c];
        uu += u * u;
        ud += u * d;
        dd += d * d;
    }
    return ud > 0 && 10 * ud <= 9 * uu && 25 * (int64_t)ud * ud >= 9 * (int64_t)uu * dd;
}

/* What an object is found to be. Before any axis: { false, -1, { 0, 1 } }. */
struct bd_mirror_finding {
    bool below;                  /* it has an image below its box */
    int axis;                    /* of its image; -1: it has none */
    struct bd_mirror_votes best; /* those of the axis */
};

/* The cell in which an object stands, of rows of `across` cells; power: bd_recurrence_cell_power.
 */
BD_RULE int bd_mirror_cell(struct bd_mirror_box box, int across, int power)
{
    return (box.bottom >> power) * across + ((box.left + box.right) / 2 >> power);
}

/* Whether an axis has a larger share of votes than another. */
BD_RULE bool bd_mirror_is_better(struct bd_mirror_votes axis, struct bd_mirror_votes other)
{
    return axis.votes * other.all > other.votes * axis.all;
}

/* Whether there is an image at the axis. */
BD_RULE bool bd_mirror_has_image(struct bd_mirror_votes axis)
{
    return axis.all > 0 && 5 * axis.votes >= 3 * axis.all;
}

/* Takes the votes for an axis into the finding, in the order of the axes. */
BD_RULE void bd_mirror_take(struct bd_mirror_finding *finding, struct bd_mirror_box box, int axis,
                            struct bd_mirror_votes votes)
{
    if (!bd_mirror_has_image(votes))
        return;
    finding->below |= bd_mirror_is_below(box, axis);
    if (bd_mirror_is_better(votes, finding->best)) {
        finding->best = votes;
        finding->axis = axis;
    }
}

/* Whether frame number `look` is evidence. */
BD_RULE bool bd_mirror_is_evidence(unsigned look)
{
    return look % bd_mirror_every == 0;
}

/* Whether images are cut in a cell, by the evidence of the cells around it. */
BD_RULE bool bd_mirror_suffices(uint32_t seen, uint32_t found)
{
    return 20 * found > seen + 10;
}

/* The same for cell (x, y) of across x down. */
BD_RULE bool bd_mirror_is_place(const struct bd_mirror_counts *counts, int across, int down, int x,
                                int y)
{
    enum { reach = bd_mirror_around };
    uint32_t seen = 0, found = 0;
    int left = x < reach ? 0 : x - reach, top = y < reach ? 0 : y - reach;
    for (int row = top; row <= y + reach && row < down; row++)
        for (int column = left; column <= x + reach && column < across; column++) {
            seen += counts[row * across + column].seen;
            found += counts[row * across + column].found;
        }
    return bd_mirror_suffices(seen, found);
}

/* Half of the evidence is forgotten. */
BD_RULE void bd_mirror_halve(struct bd_mirror_counts *cell)
{
    cell->seen /= 2;
    cell->found /= 2;
}

#endif
