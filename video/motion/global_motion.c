#include "video/motion/global_motion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "video/motion/block.h"
#include "video/motion/consensus.h"

/* The picture is divided into at most so many fields; each has one block where there is texture. */
enum { most_across = 8, most_down = 6, most_blocks = most_across * most_down };

/* Cells: the side of a field is at least least_field, and it is searched in tiles of 4 x 4. */
enum { least_field = 24, tile = 4, most_tiles = 24, block_tiles = bd_block_side / tile };

/* Blocks agree if their places differ by at most this, cells. Motion blur scatters them: after a
 * motion by `fast` from one picture to the next the second value will do. A picture blurred over
 * six pixels was seen to have half of its blocks within half a pixel, and 85 % within one. */
static const double agreement = 0.5, blurred_agreement = 1;
static const double fast = 1.5;

/* Rotation and zoom are taken for errors until they move the corners by so much, cells. That, and
 * fast motion, is remembered for so many pictures. Scenes of cameras at rest were seen to reach
 * .55, most by people and trees between few blocks. */
static const double clear_bend = 0.75;
enum { remembered = 250 };

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
    bool used;
    int misses;
};

struct bd_global_motion {
    int width, height;
    enum bd_pixel_format format;
    struct bd_cells cells;
    int across, down; /* fields */
    bool begun;
    struct tracked blocks[most_blocks];
    struct bd_match matches[most_blocks]; /* in the last picture */
    struct bd_similarity last,
        velocity; /* of the last picture, and its difference from the one before */
    int used, agreeing;
    int pictures, failures, turn;
    int bends, blurs; /* pictures in which rotation and zoom, and blur, are still expected */
    float field[(most_tiles * tile + 2) * (most_tiles * tile + 2)]; /* scratch */
    float votes[most_blocks][bd_block_shifts * bd_block_shifts];
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

/* Chooses a new block in field `number`, from a picture that has moved by `at`. */
static void choose_block(struct bd_global_motion *motion, const struct bd_frame *frame, int number,
                         struct bd_similarity at)
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
    struct bd_point middle = { left + (width - motion->width) / 2.0,
                               top + (height - motion->height) / 2.0 };
    struct bd_point seen = bd_similarity_apply(at, middle);
    left += (width - wide * scale) / 2 + (int)lround(seen.x - middle.x);
    top += (height - wide * scale) / 2 + (int)lround(seen.y - middle.y);
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
    motion->matches[number].found = motion->matches[number].agrees = false;
    tracked->misses = 0;
}

void bd_global_motion_begin(struct bd_global_motion *motion, const struct bd_frame *frame)
{
    motion->begun = true;
    motion->last = motion->velocity = (struct bd_similarity){ 0 };
    motion->agreeing = motion->pictures = motion->failures = motion->turn = 0;
    motion->bends = motion->blurs = 0;
    for (int i = 0; i < motion->across * motion->down; i++)
        choose_block(motion, frame, i, motion->last);
}

/* Searches for all blocks near where they would be after a motion or, if there are `starts`, after
 * a shift of each. */
static void match_all(struct bd_global_motion *motion, const struct bd_frame *frame,
                      struct bd_similarity near, const struct bd_point *starts)
{
    for (int i = 0; i < motion->across * motion->down; i++) {
        const struct bd_block *block = &motion->blocks[i].block;
        struct bd_match *match = &motion->matches[i];
        match->found = match->agrees = false;
        if (!motion->blocks[i].used)
            continue;
        match->home = block->home;
        match->seen =
            starts ? (struct bd_point){ block->home.x + starts[i].x, block->home.y + starts[i].y }
                   : bd_similarity_apply(near, block->home);
        memcpy(match->weight, block->slopes, sizeof match->weight);
        match->found = bd_block_find(block, &motion->cells, frame, &match->seen);
    }
}

/* The share of the picture that the agreeing blocks cover: that of their bounding box, or, if they
 * do not fill it, that of a uniform distribution with the same covariance. */
static double spread(const struct bd_global_motion *motion)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    double left = motion->width, right = -left, top = motion->height, bottom = -top;
    double side = (double)bd_block_side * motion->cells.scale;
    double area = (double)motion->width * motion->height;
    for (int i = 0; i < motion->across * motion->down; i++) {
        if (!motion->matches[i].agrees)
            continue;
        double u = motion->matches[i].home.x, v = motion->matches[i].home.y;
        left = fmin(left, u);
        right = fmax(right, u);
        top = fmin(top, v);
        bottom = fmax(bottom, v);
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
    return fmin(even, (right - left + side) * (bottom - top + side)) / area;
}

/* The verdict of the matched blocks. An object on a third of the picture may have a third of the
 * blocks, or all of them if nothing else has texture. */
static enum bd_global_motion_verdict judge(struct bd_global_motion *motion, double within,
                                           struct bd_similarity *found)
{
    const double of_matched = 0.6, of_all = 0.2, lost_below = 0.1, least_spread = 0.42;
    int matched = 0, count = motion->across * motion->down;
    for (int i = 0; i < count; i++)
        matched += motion->matches[i].found;
    double enough = fmax(least_blocks, fmax(of_matched * matched, of_all * motion->used));
    struct bd_consensus consensus = { .width = motion->width,
                                      .height = motion->height,
                                      .agreement = within * motion->cells.scale,
                                      .clear = clear_bend * motion->cells.scale,
                                      .bends = motion->bends > 0,
                                      .enough = (int)ceil(enough) };
    motion->agreeing = bd_consensus_find(&consensus, motion->matches, count, found);
    if (motion->used < least_blocks)
        return BD_MOTION_UNSURE;
    if (motion->agreeing >= enough && spread(motion) >= least_spread &&
        bd_similarity_shift(*found) <= bd_global_motion_reach(motion))
        return BD_MOTION_FOUND;
    return motion->agreeing < lost_below * motion->used ? BD_MOTION_LOST : BD_MOTION_UNSURE;
}

/* The shift with most votes; none without votes. */
static struct bd_point best_shift(const struct bd_global_motion *motion, const float *votes)
{
    int step = bd_block_coarse * motion->cells.scale;
    int best = bd_block_reach * bd_block_shifts + bd_block_reach;
    for (int k = 0; k < bd_block_shifts * bd_block_shifts; k++)
        best = votes[k] > votes[best] ? k : best;
    int row = best / bd_block_shifts;
    return (struct bd_point){ (best % bd_block_shifts - bd_block_reach) * step,
                              (row - bd_block_reach) * step };
}

/* Adds the votes of blocks whose fields are within `range` of those of block `number`. */
static void add_votes(const struct bd_global_motion *motion, int number, int range, float *votes)
{
    int column = number % motion->across, row = number / motion->across;
    memset(votes, 0, sizeof motion->votes[0]);
    for (int i = 0; i < motion->across * motion->down; i++)
        if (abs(i % motion->across - column) <= range && abs(i / motion->across - row) <= range)
            for (int k = 0; k < bd_block_shifts * bd_block_shifts; k++)
                votes[k] += motion->votes[i][k];
}

/* Matches near a motion; blocks that disagree with the answer are searched for once more, where it
 * would have them. */
static enum bd_global_motion_verdict
try_near(struct bd_global_motion *motion, const struct bd_frame *frame, struct bd_similarity near,
         const struct bd_point *starts, struct bd_similarity *found)
{
    match_all(motion, frame, near, starts);
    enum bd_global_motion_verdict verdict = judge(motion, agreement, found);
    if (found->turn == 0 && found->grow == 0)
        return verdict;
    match_all(motion, frame, *found, NULL);
    return judge(motion, agreement, found);
}

/* Matches after a search over the full range: first for the shift, to a cell or so, that all blocks
 * vote for, then for those that neighbours vote for, since rotation moves the sides of a picture
 * further than a block is searched for. */
static enum bd_global_motion_verdict
try_far(struct bd_global_motion *motion, const struct bd_frame *frame, struct bd_similarity *found)
{
    float votes[bd_block_shifts * bd_block_shifts];
    struct bd_point starts[most_blocks];
    int count = motion->across * motion->down;
    for (int i = 0; i < count; i++) {
        memset(motion->votes[i], 0, sizeof motion->votes[i]);
        if (motion->blocks[i].used)
            bd_block_vote(&motion->blocks[i].block, &motion->cells, frame, motion->votes[i]);
    }
    add_votes(motion, 0, most_across, votes);
    struct bd_point shift = best_shift(motion, votes);
    struct bd_similarity far = { .x = shift.x, .y = shift.y };
    enum bd_global_motion_verdict verdict = try_near(motion, frame, far, NULL, found);
    if (verdict == BD_MOTION_FOUND)
        return verdict;
    for (int i = 0; i < count; i++) {
        add_votes(motion, i, 1, votes);
        starts[i] = best_shift(motion, votes);
    }
    return try_near(motion, frame, far, starts, found);
}

/* While the motion is known, blocks that have disagreed for long are chosen again. From time to
 * time one that agrees is copied from the present picture, since light and scenes change. New
 * blocks are positioned by the motion of all others, so that errors do not add up: a renewal moves
 * the mean of all by a fraction of a hundredth of a pixel. */
static void renew(struct bd_global_motion *motion, const struct bd_frame *frame,
                  struct bd_similarity at)
{
    int count = motion->across * motion->down, replaced = 0;
    for (int i = 0; i < count; i++) {
        struct tracked *tracked = &motion->blocks[i];
        if (!tracked->used)
            continue;
        tracked->misses = motion->matches[i].agrees ? 0 : tracked->misses + 1;
        if (tracked->misses >= most_misses && !replaced++)
            choose_block(motion, frame, i, at);
    }
    if (++motion->pictures % renewal)
        return;
    motion->turn = (motion->turn + 1) % count;
    struct tracked *tracked = &motion->blocks[motion->turn];
    if (!tracked->used) {
        choose_block(motion, frame, motion->turn, at);
    } else if (motion->matches[motion->turn].agrees) {
        struct bd_block renewed;
        struct bd_point seen = bd_similarity_apply(at, tracked->block.home);
        double x = seen.x - tracked->block.centre.x + motion->width / 2.0;
        double y = seen.y - tracked->block.centre.y + motion->height / 2.0;
        if (bd_block_create(&renewed, &motion->cells, frame, (int)lround(x), (int)lround(y), at))
            tracked->block = renewed;
    }
}

/* Remembers a motion and what it says about the next ones. */
static void accept(struct bd_global_motion *motion, struct bd_similarity found)
{
    int width = motion->width, height = motion->height, scale = motion->cells.scale;
    struct bd_similarity last = motion->last;
    motion->velocity = (struct bd_similarity){ found.x - last.x, found.y - last.y,
                                               found.turn - last.turn, found.grow - last.grow };
    motion->last = found;
    motion->failures = 0;
    motion->bends -= motion->bends > 0;
    motion->blurs -= motion->blurs > 0;
    if (bd_similarity_bend(found, width, height) >= clear_bend * scale)
        motion->bends = remembered;
    if (bd_similarity_size(motion->velocity, width, height) >= fast * scale)
        motion->blurs = remembered;
}

enum bd_global_motion_verdict bd_global_motion_find(struct bd_global_motion *motion,
                                                    const struct bd_frame *frame,
                                                    struct bd_similarity *found)
{
    if (!motion->begun || (motion->used < least_blocks && ++motion->failures % retry_interval == 0))
        bd_global_motion_begin(motion, frame);
    struct bd_similarity near = { motion->last.x + motion->velocity.x,
                                  motion->last.y + motion->velocity.y,
                                  motion->last.turn + motion->velocity.turn,
                                  motion->last.grow + motion->velocity.grow };
    enum bd_global_motion_verdict verdict = try_near(motion, frame, near, NULL, found);
    bool worth =
        motion->used > 0 && (motion->failures < patience || motion->failures % retry_interval == 0);
    if (verdict != BD_MOTION_FOUND && worth)
        verdict = try_far(motion, frame, found);
    if (verdict != BD_MOTION_FOUND && motion->blurs > 0)
        verdict = judge(motion, blurred_agreement, found);
    if (verdict != BD_MOTION_FOUND) {
        *found = motion->velocity = (struct bd_similarity){ 0 };
        motion->failures++;
        return verdict;
    }
    accept(motion, *found);
    renew(motion, frame, *found);
    return BD_MOTION_FOUND;
}
