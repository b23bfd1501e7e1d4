/* The specification of recurrence: what moves in place is background, although it differs from l.
 *
 * Leaves, water and the edges of a picture that trembles come back to values that they have had
 * before; a car or a person does so by chance only. The window therefore keeps its frames a second
 * time, as they came ("samples"), with the number of the visit that each pixel was in. A visit
 * begins when a pixel becomes foreground and ends when it is plain background again: a person who
 * stands still is one visit, a leaf one with each gust.
 *
 * 1. Visits. The number of a pixel is odd during a visit. Foreground means over the limit, and not
 *    in the shadow of something; d <= threshold / 2 ends the visit.
 * 2. A value is like a sample if no channel differs by more than the threshold (at most
 *    bd_recurrence_reach: plain background must not be like what differs from it), after the
 *    light has been taken out: what is compared is f - l with v - l_j, where l_j = l c_j / w is the
 *    background of the sample's frame. The value recurs if it is like samples of at least
 *    bd_recurrence_visits separate visits, none of them the one in hand.
 * 3. Evidence. Each frame looks at two pixels of each cell, in turn; a frame of a window that is
 *    cleaned at bd_recurrence_looks times as many. Cells are squares, 45 to 90 in a column of the
 *    picture (at least 8 pixels high), so that large pictures cost no more. What counts is
 *    foreground that a median filter of 5 x 5 keeps (rain and noise do no harm). Each cell counts
 *    how many such pixels were seen, how many recur at the very same pixel, and how many of their
 *    four neighbours are not foreground. Whenever half of a window has entered, all counts are
 *    halved.
 * 4. The map, made again after a frame has entered the window. Of the counts of the 5 x 5 cells
 *    around a cell, the share that recurs times the edges of a pixel decides whether it moves in
 *    place (bd_recurrence_is_seed): leaves are in pieces, objects are whole. A pixel needs a
 *    quarter of an edge at least, as in pieces of 16 x 16 pixels. Of a crown in the wind 97 pixels
 *    in 100 have .15 or more (fall-half); 97 of objects have less than .10 (highway,
 *    HallAndMonitor), .06 (CAVIAR2), .14 (Board, nine seconds). Cells near one that moves are taken
 *    too if what is seen there is in pieces.
 * 5. The way. Leaves go to and fro; dense traffic far away is in pieces and its colours recur, but
 *    it goes one way. Of the pixels that a frame looks at, those that begin or end a visit at an
 *    edge count which way the edge went. The length of the mean way is .04 in crowns, .10 at most;
 *    .30 to .70 in lanes (traffic_camera_vfr, highway), up to .60 in waves. A cell whose pixels go
 *    one way (bd_recurrence_travels) is no seed. Half of the cells of waves go to and fro, though,
 *    and lanes have none of these among them: near several seeds, a cell that goes one way belongs
 *    to the map too. After a look-ahead the ways come from the frames that follow its pictures
 *    (`follows` of struct bd_detect_params), at all pixels.
 * 6. In these cells a foreground pixel is background after all if its value recurs at the pixel or
 *    at one of its 24 neighbours. That is done before the median filter.
 *
 * Background that is kept as samples of each pixel: Barnich and Van Droogenbroeck, ViBe, 2011;
 * flicker that decides where a model is lenient: St-Charles et al., SuBSENSE, 2015. */
#ifndef BD_SEPARATION_SHARED_RECURRENCE_H
#define BD_SEPARATION_SHARED_RECURRENCE_H

#include "separation/shared/mask.h"

enum {
    bd_recurrence_reach = 20, /* grey levels */
    /* Grey levels: with a lower threshold (thermal films) all that is found is alike, and there is
     * no search for what moves in place. */
    bd_recurrence_least_threshold = 10,
    bd_recurrence_visits = 3,
    bd_recurrence_near = 2,    /* pixels around: of step 6 */
    bd_recurrence_looks = 8,   /* at a frame of a window that is cleaned */
    bd_recurrence_around = 2,  /* cells: of a sum in step 4 */
    bd_recurrence_grow = 6,    /* cells: a cell near one that moves */
    bd_recurrence_several = 4, /* of these, where it goes one way */
    bd_recurrence_pair = 16    /* frames that one after a picture of a look-ahead stands for */
};

/* The counts of a cell. */
struct bd_recurrence_counts {
    uint32_t seen, recurring, edges;
    uint32_t changes;    /* pixels at an edge that began or ended a visit */
    int32_t right, down; /* the sum of the ways that these edges went, pixels */
};

/* The window as the samples have it. */
struct bd_recurrence_window {
    const uint8_t *samples; /* frames as they came, `ld` bytes from one slot to the next */
    const uint8_t *visits;  /* height x width, `pitch` bytes from one slot to the next */
    const int *lights;      /* bd_recurrence_light of each slot's frame, to the frame in hand */
    int64_t ld, pitch;
    int width, height, channels;
    int slots, newest, columns; /* slots are filled in turn; `columns` of them count */
    int reach;                  /* bd_recurrence_reach_of(threshold) */
};

/* The number of a pixel's visit after a frame; foreground and plain are 0 or 1. In bytes, without
 * choices: compilers make wide vectors of that. */
BD_RULE uint8_t bd_recurrence_visit(uint8_t visit, uint8_t foreground, uint8_t plain)
{
    const uint8_t odd = visit & 1, begins = foreground & ~odd, ends = odd & plain & ~foreground;
    return (uint8_t)(visit + (begins | ends));
}

/* Whether pixel p is foreground: set (1) in raw, whatever its other flags, and not in shadow (1;
 * NULL: none is). */
BD_RULE bool bd_recurrence_is_foreground(const uint8_t *raw, const uint8_t *shadow, int64_t p)
{
    return (raw[p] & 1) && !(shadow && shadow[p]);
}

/* Whether most of the 5 x 5 pixels around (x, y) are foreground: the median filter would keep it.
 * Never at the border. */
BD_RULE bool bd_recurrence_is_solid(const uint8_t *raw, const uint8_t *shadow, int width,
                                    int height, int x, int y)
{
    const int near = bd_recurrence_near, side = 2 * near + 1;
    int count = 0;
    if (x < near || y < near || x + near >= width || y + near >= height)
        return false;
    for (int row = y - near; row <= y + near; row++)
        for (int column = x - near; column <= x + near; column++)
            count += bd_recurrence_is_foreground(raw, shadow, (int64_t)row * width + column);
    return 2 * count > side * side;
}

/* The edges of pixel p, which is not at the border: its neighbours that are not foreground. */
BD_RULE uint32_t bd_recurrence_edges(const uint8_t *raw, const uint8_t *shadow, int64_t width,
                                     int64_t p)
{
    return 4U - bd_recurrence_is_foreground(raw, shadow, p - 1) -
           bd_recurrence_is_foreground(raw, shadow, p + 1) -
           bd_recurrence_is_foreground(raw, shadow, p - width) -
           bd_recurrence_is_foreground(raw, shadow, p + width);
}

/* The way that the edge at pixel p, which is not at the border, has gone where the pixel begins a
 * visit; where it ends one, the edge has gone the other way. 0, 0: there is no edge. */
BD_RULE void bd_recurrence_way(int *right, int *down, const uint8_t *raw, const uint8_t *shadow,
                               int64_t width, int64_t p)
{
    *right = bd_recurrence_is_foreground(raw, shadow, p - 1) -
             bd_recurrence_is_foreground(raw, shadow, p + 1);
    *down = bd_recurrence_is_foreground(raw, shadow, p - width) -
            bd_recurrence_is_foreground(raw, shadow, p + width);
}

/* The side of a cell is 2 to this power, in pixels: 8, 16 or 32. */
BD_RULE int bd_recurrence_cell_power(int height)
{
    return height < 720 ? 3 : height < 1440 ? 4 : 5;
}

/* One pixel in so many is looked at. */
BD_RULE int bd_recurrence_every(int cell_power)
{
    return 1 << (2 * cell_power - 1);
}

/* Whether the frame numbered `look` looks at pixel (x, y). */
BD_RULE bool bd_recurrence_looks_at(int x, int y, unsigned look, int cell_power)
{
    unsigned every = (unsigned)bd_recurrence_every(cell_power);
    return (((unsigned)x + 11 * (unsigned)y + 5 * look) & (every - 1)) == 0;
}

/* c_j / w in units of 1 / 4096; 1 where the light is not known. */
BD_RULE int bd_recurrence_light(float c, float w)
{
    float ratio = 4096.0f * c / w;
    return ratio > 0.0f && ratio < 65536.0f ? (int)ratio : 4096;
}

/* Grey levels by which a value may differ from a sample that is like it. */
BD_RULE int bd_recurrence_reach_of(float threshold)
{
    return threshold < (float)bd_recurrence_reach ? (int)threshold : bd_recurrence_reach;
}

/* Whether the pixel f, of background l, is like the sample v. */
BD_RULE bool bd_recurrence_is_like(const uint8_t *f, const uint8_t *l, const uint8_t *v, int light,
                                   int channels, int reach)
{
    for (int k = 0; k < channels; k++) {
        int difference = f[k] - l[k] - v[k] + ((l[k] * light + 2048) >> 12);
        if (difference > reach || difference < -reach)
            return false;
    }
    return true;
}

/* The same for a sample and its neighbours as far as `near`. (x, y) is the pixel. */
BD_RULE bool bd_recurrence_is_near(const struct bd_recurrence_window *window, const uint8_t *f,
                                   const uint8_t *l, const uint8_t *samples, int light, int x,
                                   int y, int near)
{
    int left = x < near ? 0 : x - near, top = y < near ? 0 : y - near;
    int right = x + near < window->width ? x + near : window->width - 1;
    int bottom = y + near < window->height ? y + near : window->height - 1;
    for (int row = top; row <= bottom; row++)
        for (int column = left; column <= right; column++) {
            int64_t at = ((int64_t)row * window->width + column) * window->channels;
            if (bd_recurrence_is_like(f, l, samples + at, light, window->channels, window->reach))
                return true;
        }
    return false;
}

/* Whether the value f of pixel (x, y), of background l, recurs. visit: the pixel's in hand. */
BD_RULE bool bd_recurrence_recurs(const struct bd_recurrence_window *window, const uint8_t *f,
                                  const uint8_t *l, uint8_t visit, int x, int y, int near)
{
    int found = 0, slot = window->newest;
    uint8_t last = visit; /* of the samples that are like it, the one before */
    for (int j = 0; j < window->columns; j++) {
        uint8_t then = window->visits[slot * window->pitch + (int64_t)y * window->width + x];
        if (then != visit && then != last &&
            bd_recurrence_is_near(window, f, l, window->samples + slot * window->ld,
                                  window->lights[slot], x, y, near)) {
            last = then;
            if (++found == bd_recurrence_visits)
                return true;
        }
        slot = slot ? slot - 1 : window->slots - 1;
    }
    return false;
}

/* Whether what is seen around a cell is in pieces: a pixel has `hundredths` of an edge or more, in
 * a picture of 240 rows. Objects are the larger the larger the picture is, and have the fewer. */
BD_RULE bool bd_recurrence_in_pieces(struct bd_recurrence_counts sum, int hundredths, int height)
{
    return (int64_t)sum.edges * height * 100 > (int64_t)hundredths * 240 * ((int64_t)sum.seen + 1);
}

/* Whether what is seen around a cell goes one way: the mean way of its edges is a quarter of a
 * pixel or more. followed: frames in which ways have been counted; within few, a bough goes one way
 * too, and the mean must be longer (twice as long in 100 frames). Squares of sums of ways by chance
 * are below 8 times their number. Sums are of whole numbers, so all backends decide alike. */
BD_RULE bool bd_recurrence_travels(struct bd_recurrence_counts sum, int followed)
{
    double right = sum.right, down = sum.down, changes = sum.changes;
    double least = 0.25 * changes * (followed + 100) / followed;
    return right * right + down * down - 8 * changes > least * least;
}

/* Whether a cell moves in place, whatever is near it, by the sums around it. looks: how often
 * pixels have been looked at; one that is foreground in less than a twentieth of the time moves
 * little, and 250 looks, ten seconds, are too few to tell. What has few edges is whole, however
 * often it recurs: somebody who paces up and down is no leaf. What goes one way is none either. */
BD_RULE bool bd_recurrence_is_seed(struct bd_recurrence_counts sum, int looks, int followed,
                                   int height)
{
    double all = (double)sum.seen + 2.5 * (looks + 250);
    return bd_recurrence_in_pieces(sum, 25, height) &&
           (double)sum.recurring * (double)sum.edges * height > 0.11 * 240 * (all * all) &&
           !bd_recurrence_travels(sum, followed);
}

/* The sum of the counts as far as `reach` cells from (x, y), of across x down. */
BD_RULE struct bd_recurrence_counts
bd_recurrence_sum_around(const struct bd_recurrence_counts *counts, int across, int down, int x,
                         int y, int reach)
{
    struct bd_recurrence_counts sum = { 0, 0, 0, 0, 0, 0 };
    int left = x < reach ? 0 : x - reach, top = y < reach ? 0 : y - reach;
    for (int row = top; row <= y + reach && row < down; row++)
        for (int column = left; column <= x + reach && column < across; column++) {
            const struct bd_recurrence_counts *cell = &counts[row * across + column];
            sum.seen += cell->seen;
            sum.recurring += cell->recurring;
            sum.edges += cell->edges;
            sum.changes += cell->changes;
            sum.right += cell->right;
            sum.down += cell->down;
        }
    return sum;
}

/* Whether a cell belongs to the map: a seed, or near one and in pieces. One that goes one way must
 * be near several, as a wave is among waves, or else in smaller pieces. */
BD_RULE bool bd_recurrence_moves(const uint8_t *seeds, const struct bd_recurrence_counts *counts,
                                 int across, int down, int x, int y, int followed, int height)
{
    const int reach = bd_recurrence_grow;
    int left = x < reach ? 0 : x - reach, top = y < reach ? 0 : y - reach, near = 0;
    if (seeds[y * across + x])
        return true;
    for (int row = top; row <= y + reach && row < down; row++)
        for (int column = left; column <= x + reach && column < across; column++)
            near += seeds[row * across + column];
    if (!near)
        return false;
    bool travels = bd_recurrence_travels(
        bd_recurrence_sum_around(counts, across, down, x, y, bd_recurrence_around), followed);
    int hundredths = travels && near < bd_recurrence_several ? 60 : 40;
    return bd_recurrence_in_pieces(bd_recurrence_sum_around(counts, across, down, x, y, 1),
                                   hundredths, height);
}

/* Half of the evidence is forgotten. */
BD_RULE void bd_recurrence_halve(struct bd_recurrence_counts *cell)
{
    cell->seen /= 2;
    cell->recurring /= 2;
    cell->edges /= 2;
    cell->changes /= 2;
    cell->right /= 2;
    cell->down /= 2;
}

#endif
