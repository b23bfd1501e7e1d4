/* The specification of flashes: which components are a sign that blinks, or a screen.
 *
 * Such a thing changes all at once, and nothing moves there before or after: an object comes from
 * somewhere and goes on. The picture is in cells (those of recurrence.h), of which four rows are
 * looked at (bd_flash_row_step). A cell counts the pixels there that differ from those of the frame
 * before by more than bd_flash_reach grey levels in some channel.
 *
 * 1. A cell moves if a quarter of these pixels or more have changed, and changes as a whole if 2/5
 *    have. It is quiet as long as neither it nor one of the cells around it (eight, inside the
 *    picture) moves.
 * 2. A cell flashes if it changes as a whole after it was quiet for `quiet` frames, unless more
 *    than a quarter of all cells change as a whole: that is the light. The flash counts once the
 *    cell has been quiet for `quiet` frames again, and never if it is not. The cell is lit until it
 *    moves without a flash; then it is crossed, until it flashes again.
 * 3. A cell that moves without a flash, after it was quiet for a frame or more, has seen something
 *    pass. That takes back one flash that counted: fast traffic seems to flash at times.
 * 4. A place is a cell with two flashes that count or more (bd_flash_most at most), and each of the
 *    cells around it.
 * 5. A component of the mask is background if 2/3 of its pixels or more are in places, and those in
 *    places that are lit are more than those in places that are crossed by 1/3 of all or more. So
 *    somebody who goes past a sign stays, and the sign with him if the two are one component.
 *
 * In a picture of three cells or fewer nothing flashes: one of them is more than a quarter.
 *
 * A frame that equals the one before, in all pixels that are looked at, is no frame here: films
 * repeat pictures, and an object that moves in every fifth frame only would flash.
 *
 * `quiet` is .16 seconds (options.c). In a frame in which it is 0 there is no search, and the next
 * frame has none before it: no cell is lit or crossed then, all cells begin to be quiet again, and
 * a flash that does not count yet never will. Cells are learned before the components of the same
 * frame are judged; in a frame that is not learned from, no flash begins to count, and none is
 * taken back. */
#ifndef BD_SEPARATION_SHARED_FLASH_H
#define BD_SEPARATION_SHARED_FLASH_H

#include "separation/shared/mask.h"
#include "separation/shared/recurrence.h"

enum {
    bd_flash_reach = 20,      /* grey levels */
    bd_flash_rows = 4,        /* of a cell that are looked at */
    bd_flash_place = 2,       /* flashes that make a place */
    bd_flash_most = 8,        /* flashes that count */
    bd_flash_most_quiet = 250 /* frames */
};

/* Flags of a cell: its own, and in the map of places, which has lit and crossed in places only. */
enum bd_flash_flag { bd_flash_is_place = 1, bd_flash_is_lit = 2, bd_flash_is_crossed = 4 };

/* What is known of a cell. */
struct bd_flash_cell {
    uint8_t quiet;   /* frames, bd_flash_most_quiet at most */
    uint8_t flashes; /* that count, bd_flash_most at most */
    uint8_t waits;   /* 1: the last flash does not count yet */
    uint8_t last;    /* what the last change made it: bd_flash_is_lit, bd_flash_is_crossed, or 0 */
};

/* From one row that is looked at to the next. The first one is the cell's first. */
BD_RULE int bd_flash_row_step(int cell_power)
{
    return (1 << cell_power) / bd_flash_rows;
}

/* How many pixels of cell (x, y) of a picture are looked at. */
BD_RULE int bd_flash_pixels(int width, int height, int cell_power, int x, int y)
{
    const int side = 1 << cell_power, step = bd_flash_row_step(cell_power);
    const int columns = width - x * side < side ? width - x * side : side;
    const int rows = height - y * side < side ? height - y * side : side;
    return (rows + step - 1) / step * columns;
}

/* What a frame shows of a cell: a sum. */
enum bd_flash_sight {
    bd_flash_moves = 1,
    bd_flash_whole = 2,  /* it changes as a whole */
    bd_flash_differs = 4 /* some pixel differs, by however little */
};

/* changed: of the `pixels` that are looked at. */
BD_RULE uint8_t bd_flash_see(int changed, int pixels, bool differs)
{
    return (uint8_t)((4 * changed >= pixels ? bd_flash_moves : 0) |
                     (5 * changed >= 2 * pixels ? bd_flash_whole : 0) |
                     (differs ? bd_flash_differs : 0));
}

/* Whether so many cells that change as a whole may be flashes, not the light. */
BD_RULE bool bd_flash_is_local(int whole, int cells)
{
    return 4 * whole <= cells;
}

/* A cell after a frame. sight: of it; around: of it and those around it, all flags that one of them
 * has; local: it is not the light that changes; learn: flashes may count. */
BD_RULE struct bd_flash_cell bd_flash_step(struct bd_flash_cell cell, int sight, int around,
                                           bool local, int quiet, bool learn)
{
    const bool moves = sight & bd_flash_moves;
    const bool flash = (sight & bd_flash_whole) && local && cell.quiet >= quiet;
    if (moves && !flash && learn && cell.quiet && cell.flashes)
        cell.flashes--;
    if (moves)
        cell.last = flash ? bd_flash_is_lit : bd_flash_is_crossed;
    if (around & bd_flash_moves) {
        cell.waits = flash;
        cell.quiet = 0;
        return cell;
    }
    cell.quiet += cell.quiet < bd_flash_most_quiet;
    if (cell.waits && cell.quiet >= quiet) {
        cell.waits = 0;
        cell.flashes += learn && cell.flashes < bd_flash_most;
    }
    return cell;
}

/* A cell after a frame without a search. */
BD_RULE struct bd_flash_cell bd_flash_pause(struct bd_flash_cell cell)
{
    cell.quiet = cell.waits = cell.last = 0;
    return cell;
}

/* A cell's own flags: bd_flash_is_place if its flashes make a place of it and those around it. */
BD_RULE uint8_t bd_flash_own(struct bd_flash_cell cell)
{
    return (uint8_t)((cell.flashes >= bd_flash_place ? bd_flash_is_place : 0) | cell.last);
}

/* All flags that cell (x, y) or one of those around it has; flags: across x down cells. */
BD_RULE int bd_flash_around(const uint8_t *flags, int across, int down, int x, int y)
{
    const int left = x > 0 ? x - 1 : 0, top = y > 0 ? y - 1 : 0;
    int all = 0;
    for (int row = top; row <= y + 1 && row < down; row++)
        for (int column = left; column <= x + 1 && column < across; column++)
            all |= flags[row * across + column];
    return all;
}

/* The flags of cell (x, y) in the map of places, by the cells' own. */
BD_RULE uint8_t bd_flash_place_at(const uint8_t *own, int across, int down, int x, int y)
{
    const bool place = bd_flash_around(own, across, down, x, y) & bd_flash_is_place;
    return place ? (uint8_t)(own[y * across + x] | bd_flash_is_place) : 0;
}

/* Whether a component of `area` pixels is background. balance: its pixels in places that are lit,
 * less those in places that are crossed. */
BD_RULE bool bd_flash_takes(int64_t area, int64_t in_places, int64_t balance)
{
    return 3 * in_places >= 2 * area && 3 * balance >= area;
}

#endif
