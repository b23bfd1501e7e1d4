#include "video/motion/global_motion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "video/motion/block.h"

/* The picture is divided into at most so many fields; each has one block where there is texture. */
enum { most_across = 8, most_down = 6, most_blocks = most_across * most_down };

/* Cells: the side of a field is at least least_field, and it is searched in tiles of 4 x 4. */
enum { least_field = 24, tile = 4, most_tiles = 24, block_tiles = bd_block_side / tile };

/* Blocks agree if their shifts differ by at most this, cells. */
static const double agreement = 0.5;

/* The least number of blocks that must agree. */
enum { least_blocks = 8 };

/* A block is replaced after it has disagreed in so many pictures; an old block is renewed once in
 * so many pictures. */
enum { most_misses = 50, renewal = 25 };

/* After `patience` failures, the search over the full range is done in one of `retry_interval`
 * pictures only. */
enum { patience = 12, retry_interval = 8 };

struct tracked {
    struct bd_block block;
    bool used, matched, agrees;
    struct bd_shift shift; /* in the last picture, if matched */
    int misses;
};

struct bd_global_motion {
    int width, height;
    enum bd_pixel_format format;
    struct bd_cells cells;
    int across, down; /* fields */
    bool begun;
    struct tracked blocks[most_blocks];
    struct bd_shift last,
        velocity; /* of the last picture, and its difference from the one before */
    int used, agreeing;
    int pictures, failures, turn;
    float field[(most_tiles * tile + 2) * (most_tiles * tile + 2)]; /* scratch */
};

enum bd_status bd_global_motion_create(struct bd_global_motion **motion, int width, int height,
                                       enum bd_pixel_format format)
{
    *motion = NULL;
    if (width < 1 || height < 1 || (format != BD_GRAY8 && format != BD_RGB24))
        return bd_fail(
            BD_ERROR_ARGUMENT,
            "global motion: %d x %d, %d bytes a pixel: sides start at 1, and pixels have 1 or 3 "
            "bytes",
            width, height, (int)format);
    struct bd_global_motion *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the global motion");
    self->width = width;
    self->height = height;
    self->format = format;
    self->cells = bd_cells_of(width, height);
    self->across = width / (least_field * self->cells.scale);
    self->down = height / (least_field * self->cells.scale);
    self->across = self->across < most_across ? self->across : (int)most_across;
    self->down = self->down < most_down ? self->down : (int)most_down;
    *motion = self;
    return BD_OK;
}

void bd_global_motion_destroy(struct bd_global_motion **motion)
{
    free(*motion);
    *motion = NULL;
}

int bd_global_motion_scale(const struct bd_global_motion *motion)
{
    return motion->cells.scale;
}

double bd_global_motion_reach(const struct bd_global_motion *motion)
{
    return (double)bd_block_reach * bd_block_coarse * motion->cells.scale;
}

int bd_global_motion_blocks(const struct bd_global_motion *motion)
{
    return motion->used;
}

int bd_global_motion_agreeing(const struct bd_global_motion *motion)
{
    return motion->agreeing;
}

/* Sums of the products of slopes over a tile of a field. */
struct tile {
    float a, b, c;
};

static struct tile tile_at(const float *cell, int ld)
{
    struct tile sum = { 0 };
    for (int y = 0; y < tile; y++)
        for (int x = 0; x < tile; x++) {
            const float *c = cell + y * ld + x;
            float across = (c[1] - c[-1]) / 2, down = (c[ld] - c[-ld]) / 2;
            sum.a += across * across;
            sum.b += across * down;
            sum.c += down * down;
        }
    return sum;
}

/* The position in a field of tiles x tiles where a block has most texture along its weakest
 * direction. */
static void best_position(const struct tile *field, int tiles, int *best_x, int *best_y)
{
    float best = -1;
    for (int y = 0; y + block_tiles <= tiles; y++)
        for (int x = 0; x + block_tiles <= tiles; x++) {
            struct tile sum = { 0 };
            for (int j = 0; j < block_tiles; j++)
                for (int i = 0; i < block_tiles; i++) {
                    const struct tile *t = &field[(y + j) * tiles + x + i];
                    sum.a += t->a;
                    sum.b += t->b;
                    sum.c += t->c;
                }
            float texture = bd_block_texture(sum.a, sum.b, sum.c);
            if (texture > best) {
                best = texture;
                *best_x = x;
                *best_y = y;
            }
        }
}

/* Chooses a new block in field `number`, from a picture that is shifted by `at`. */
static void choose_block(struct bd_global_motion *motion, const struct bd_frame *frame, int number,
                         struct bd_shift at)
{
    struct tile tiles[most_tiles * most_tiles];
    struct tracked *tracked = &motion->blocks[number];
    int scale = motion->cells.scale, column = number % motion->across,
        row = number / motion->across;
    int left = column * motion->width / motion->across, top = row * motion->height / motion->down;
    int width = (column + 1) * motion->width / motion->across - left;
    int height = (row + 1) * motion->height / motion->down - top;
    int count = ((width < height ? width : height) / scale - 2) / tile;
    count = count < most_tiles ? count : (int)most_tiles;
    int wide = count * tile + 2, best_x = 0, best_y = 0;
    left += (width - wide * scale) / 2 + (int)lround(at.x);
    top += (height - wide * scale) / 2 + (int)lround(at.y);
    bd_cells_read(&motion->cells, frame, left, top, wide, motion->field);
    for (int y = 0; y < count; y++)
        for (int x = 0; x < count; x++)
            tiles[y * count + x] =
                tile_at(motion->field + (int64_t)(1 + tile * y) * wide + 1 + tile * x, wide);
    best_position(tiles, count, &best_x, &best_y);
    motion->used -= tracked->used;
    tracked->used =
        bd_block_create(&tracked->block, &motion->cells, frame, left + (1 + tile * best_x) * scale,
                        top + (1 + tile * best_y) * scale, at);
    motion->used += tracked->used;
    tracked->matched = tracked->agrees = false;
    tracked->misses = 0;
}

void bd_global_motion_begin(struct bd_global_motion *motion, const struct bd_frame *frame)
{
    motion->begun = true;
    motion->last = motion->velocity = (struct bd_shift){ 0, 0 };
    motion->agreeing = motion->pictures = motion->failures = motion->turn = 0;
    for (int i = 0; i < motion->across * motion->down; i++)
        choose_block(motion, frame, i, motion->last);
}

/* Searches for all blocks near a shift; returns how many were found. */
static int match_all(struct bd_global_motion *motion, const struct bd_frame *frame,
                     struct bd_shift near)
{
    int matched = 0;
    for (int i = 0; i < motion->across * motion->down; i++) {
        struct tracked *tracked = &motion->blocks[i];
        tracked->shift = near;
        tracked->matched =
            tracked->used && bd_block_find(&tracked->block, &motion->cells, frame, &tracked->shift);
        matched += tracked->matched;
    }
    return matched;
}

/* Marks the blocks that agree with `middle`; returns how many. */
static int mark_agreeing(struct bd_global_motion *motion, struct bd_shift middle)
{
    double most = agreement * motion->cells.scale;
    int count = 0;
    for (int i = 0; i < motion->across * motion->down; i++) {
        struct tracked *tracked = &motion->blocks[i];
        tracked->agrees = tracked->matched && fabs(tracked->shift.x - middle.x) <= most &&
                          fabs(tracked->shift.y - middle.y) <= most;
        count += tracked->agrees;
    }
    return count;
}

/* The least-squares shift of the agreeing blocks: the mean of their shifts, weighted by their
 * slopes. */
static struct bd_shift weighted_mean(const struct bd_global_motion *motion, struct bd_shift middle)
{
    double a = 0, b = 0, c = 0, u = 0, v = 0;
    for (int i = 0; i < motion->across * motion->down; i++) {
        const struct tracked *tracked = &motion->blocks[i];
        const float *slopes = tracked->block.slopes;
        if (!tracked->agrees)
            continue;
        double x = tracked->shift.x - middle.x, y = tracked->shift.y - middle.y;
        a += slopes[0];
        b += slopes[1];
        c += slopes[2];
        u += slopes[0] * x + slopes[1] * y;
        v += slopes[1] * x + slopes[2] * y;
    }
    double determinant = a * c - b * b;
    if (determinant > 0) {
        middle.x += (c * u - b * v) / determinant;
        middle.y += (a * v - b * u) / determinant;
    }
    return middle;
}

/* The share of the picture that the agreeing blocks cover: that of their bounding box, or, if they
 * do not fill it, that of a uniform distribution with the same covariance. */
static double spread(const struct bd_global_motion *motion)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    double left = motion->width, right = 0, top = motion->height, bottom = 0;
    double side = (double)bd_block_side * motion->cells.scale;
    double area = (double)motion->width * motion->height;
    for (int i = 0; i < motion->across * motion->down; i++) {
        const struct bd_block *block = &motion->blocks[i].block;
        if (!motion->blocks[i].agrees)
            continue;
        double u = block->x - block->at.x, v = block->y - block->at.y;
        left = fmin(left, u);
        right = fmax(right, u + side);
        top = fmin(top, v);
        bottom = fmax(bottom, v + side);
        n++;
        x += u;
        y += v;
        xx += u * u;
        xy += u * v;
        yy += v * v;
    }
    if (n == 0)
        return 0;
    xx = xx / n - x / n * x / n;
    xy = xy / n - x / n * y / n;
    yy = yy / n - y / n * y / n;
    double even = 12 * sqrt(fmax(0, xx * yy - xy * xy));
    return fmin(even, (right - left) * (bottom - top)) / area;
}

/* The verdict of the matched blocks. An object on a third of the picture may have a third of the
 * blocks, or all of them if nothing else has texture. */
static enum bd_global_motion_verdict judge(struct bd_global_motion *motion, int matched,
                                           struct bd_shift *shift)
{
    const double of_matched = 0.6, of_all = 0.2, lost_below = 0.1, least_spread = 0.42;
    int most = 0;
    struct bd_shift middle = { 0, 0 };
    for (int i = 0; i < motion->across * motion->down; i++) {
        int count = motion->blocks[i].matched ? mark_agreeing(motion, motion->blocks[i].shift) : 0;
        if (count > most) {
            most = count;
            middle = motion->blocks[i].shift;
        }
    }
    motion->agreeing = mark_agreeing(motion, middle);
    for (int round = 0; round < 2 && most; round++) {
        middle = weighted_mean(motion, middle);
        motion->agreeing = mark_agreeing(motion, middle);
    }
    *shift = middle;
    int agreeing = motion->agreeing;
    double reach = bd_global_motion_reach(motion);
    if (motion->used < least_blocks)
        return BD_MOTION_UNSURE;
    if (agreeing >= least_blocks && agreeing >= of_matched * matched &&
        agreeing >= of_all * motion->used && spread(motion) >= least_spread &&
        fabs(middle.x) <= reach && fabs(middle.y) <= reach)
        return BD_MOTION_FOUND;
    return agreeing < lost_below * motion->used ? BD_MOTION_LOST : BD_MOTION_UNSURE;
}

/* The shift, to a cell or so, at which all blocks together match best. False if none does. */
static bool search(const struct bd_global_motion *motion, const struct bd_frame *frame,
                   struct bd_shift *shift)
{
    float votes[bd_block_shifts * bd_block_shifts] = { 0 };
    int best = 0;
    for (int i = 0; i < motion->across * motion->down; i++)
        if (motion->blocks[i].used)
            bd_block_vote(&motion->blocks[i].block, &motion->cells, frame, votes);
    for (int i = 1; i < bd_block_shifts * bd_block_shifts; i++)
        best = votes[i] > votes[best] ? i : best;
    int step = bd_block_coarse * motion->cells.scale, row = best / bd_block_shifts;
    shift->x = (best % bd_block_shifts - bd_block_reach) * step;
    shift->y = (row - bd_block_reach) * step;
    return votes[best] > 0;
}

/* While the shift is known, blocks that have disagreed for long are chosen again. From time to time
 * one that agrees is copied from the present picture, since light and scenes change. New blocks are
 * positioned by the shift of all others, so that errors do not add up: a renewal moves the mean of
 * all by a fraction of a hundredth of a pixel. */
static void renew(struct bd_global_motion *motion, const struct bd_frame *frame,
                  struct bd_shift shift)
{
    int count = motion->across * motion->down, replaced = 0;
    for (int i = 0; i < count; i++) {
        struct tracked *tracked = &motion->blocks[i];
        if (!tracked->used)
            continue;
        tracked->misses = tracked->agrees ? 0 : tracked->misses + 1;
        if (tracked->misses >= most_misses && !replaced++)
            choose_block(motion, frame, i, shift);
    }
    if (++motion->pictures % renewal)
        return;
    motion->turn = (motion->turn + 1) % count;
    struct tracked *tracked = &motion->blocks[motion->turn];
    if (!tracked->used) {
        choose_block(motion, frame, motion->turn, shift);
    } else if (tracked->agrees) {
        struct bd_block renewed;
        int x = tracked->block.x + (int)lround(shift.x - tracked->block.at.x);
        int y = tracked->block.y + (int)lround(shift.y - tracked->block.at.y);
        if (bd_block_create(&renewed, &motion->cells, frame, x, y, shift))
            tracked->block = renewed;
    }
}

enum bd_global_motion_verdict bd_global_motion_find(struct bd_global_motion *motion,
                                                    const struct bd_frame *frame,
                                                    struct bd_shift *shift)
{
    if (!motion->begun || (motion->used < least_blocks && ++motion->failures % retry_interval == 0))
        bd_global_motion_begin(motion, frame);
    struct bd_shift near = { motion->last.x + motion->velocity.x,
                             motion->last.y + motion->velocity.y };
    struct bd_shift far, found;
    enum bd_global_motion_verdict verdict = judge(motion, match_all(motion, frame, near), &found);
    bool worth =
        motion->used > 0 && (motion->failures < patience || motion->failures % retry_interval == 0);
    if (verdict != BD_MOTION_FOUND && worth && search(motion, frame, &far))
        verdict = judge(motion, match_all(motion, frame, far), &found);
    *shift = (struct bd_shift){ 0, 0 };
    if (verdict != BD_MOTION_FOUND) {
        motion->failures++;
        motion->velocity = (struct bd_shift){ 0, 0 };
        return verdict;
    }
    motion->failures = 0;
    motion->velocity = (struct bd_shift){ found.x - motion->last.x, found.y - motion->last.y };
    motion->last = *shift = found;
    renew(motion, frame, found);
    return BD_MOTION_FOUND;
}
