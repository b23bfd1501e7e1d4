#include "video/motion/global_motion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "video/motion/block.h"

/* The picture is divided into as many fields, with a block in each where there is texture. */
enum { most_across = 8, most_down = 6, most_blocks = most_across * most_down };

/* Cells: a field has at least so many on a side, and is looked through in tiles of four. */
enum { least_field = 24, tile = 4, most_tiles = 24, block_tiles = bd_block_side / tile };

/* Blocks agree that are at most this far from each other, cells. */
static const double agreement = 0.5;

/* Blocks that have to agree. */
enum { least_blocks = 8 };

/* Pictures after which a block that differs from the others is replaced, and between two
 * replacements of old ones. */
enum { most_strikes = 50, renewal = 25 };

/* A search from afar that finds nothing is repeated in one of so many pictures. */
enum { patience = 12, idle_pace = 8 };

struct place {
    struct bd_block block;
    bool used, matched, agrees;
    struct bd_shift shift; /* in the last picture, if matched */
    int strikes;
};

struct bd_global_motion {
    int width, height;
    enum bd_pixel_format format;
    struct bd_cells cells;
    int across, down; /* fields */
    bool begun;
    struct place places[most_blocks];
    struct bd_shift last, pace; /* of the last picture, and its difference from the one before */
    int used, agreeing;
    int pictures, failures, turn;
    float field[(most_tiles * tile + 2) * (most_tiles * tile + 2)]; /* scratch */
};

enum bd_status bd_global_motion_create(struct bd_global_motion **shake, int width, int height,
                                       enum bd_pixel_format format)
{
    *shake = NULL;
    if (width < 1 || height < 1 || (format != BD_GRAY8 && format != BD_RGB24))
        return bd_fail(BD_ERROR_ARGUMENT,
                       "shake: %d x %d, %d bytes a pixel: sides start at 1, and pixels have 1 or 3 "
                       "bytes",
                       width, height, (int)format);
    struct bd_global_motion *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for finding the camera's shake");
    self->width = width;
    self->height = height;
    self->format = format;
    self->cells = bd_cells_of(width, height);
    self->across = width / (least_field * self->cells.scale);
    self->down = height / (least_field * self->cells.scale);
    self->across = self->across < most_across ? self->across : (int)most_across;
    self->down = self->down < most_down ? self->down : (int)most_down;
    *shake = self;
    return BD_OK;
}

void bd_global_motion_destroy(struct bd_global_motion **shake)
{
    free(*shake);
    *shake = NULL;
}

int bd_global_motion_scale(const struct bd_global_motion *shake)
{
    return shake->cells.scale;
}

double bd_global_motion_reach(const struct bd_global_motion *shake)
{
    return (double)bd_block_reach * bd_block_coarse * shake->cells.scale;
}

int bd_global_motion_blocks(const struct bd_global_motion *shake)
{
    return shake->used;
}

int bd_global_motion_agreeing(const struct bd_global_motion *shake)
{
    return shake->agreeing;
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

/* The place in a field of tiles x tiles where a block has most texture along its weakest
 * direction. */
static void best_place(const struct tile *field, int tiles, int *best_x, int *best_y)
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

/* Takes a new block somewhere in field `number`, from a picture that is at `at`. */
static void choose_block(struct bd_global_motion *shake, const struct bd_frame *frame, int number,
                         struct bd_shift at)
{
    struct tile tiles[most_tiles * most_tiles];
    struct place *place = &shake->places[number];
    int scale = shake->cells.scale, column = number % shake->across, row = number / shake->across;
    int left = column * shake->width / shake->across, top = row * shake->height / shake->down;
    int width = (column + 1) * shake->width / shake->across - left;
    int height = (row + 1) * shake->height / shake->down - top;
    int count = ((width < height ? width : height) / scale - 2) / tile;
    count = count < most_tiles ? count : (int)most_tiles;
    int wide = count * tile + 2, best_x = 0, best_y = 0;
    left += (width - wide * scale) / 2 + (int)lround(at.x);
    top += (height - wide * scale) / 2 + (int)lround(at.y);
    bd_cells_read(&shake->cells, frame, left, top, wide, shake->field);
    for (int y = 0; y < count; y++)
        for (int x = 0; x < count; x++)
            tiles[y * count + x] =
                tile_at(shake->field + (int64_t)(1 + tile * y) * wide + 1 + tile * x, wide);
    best_place(tiles, count, &best_x, &best_y);
    shake->used -= place->used;
    place->used =
        bd_block_take(&place->block, &shake->cells, frame, left + (1 + tile * best_x) * scale,
                      top + (1 + tile * best_y) * scale, at);
    shake->used += place->used;
    place->matched = place->agrees = false;
    place->strikes = 0;
}

void bd_global_motion_begin(struct bd_global_motion *shake, const struct bd_frame *frame)
{
    shake->begun = true;
    shake->last = shake->pace = (struct bd_shift){ 0, 0 };
    shake->agreeing = shake->pictures = shake->failures = shake->turn = 0;
    for (int i = 0; i < shake->across * shake->down; i++)
        choose_block(shake, frame, i, shake->last);
}

/* Looks for all blocks near a shift; returns how many are there. */
static int match_all(struct bd_global_motion *shake, const struct bd_frame *frame,
                     struct bd_shift near)
{
    int matched = 0;
    for (int i = 0; i < shake->across * shake->down; i++) {
        struct place *place = &shake->places[i];
        place->shift = near;
        place->matched =
            place->used && bd_block_find(&place->block, &shake->cells, frame, &place->shift);
        matched += place->matched;
    }
    return matched;
}

/* Marks the blocks that agree with `middle`; returns how many. */
static int mark_agreeing(struct bd_global_motion *shake, struct bd_shift middle)
{
    double most = agreement * shake->cells.scale;
    int count = 0;
    for (int i = 0; i < shake->across * shake->down; i++) {
        struct place *place = &shake->places[i];
        place->agrees = place->matched && fabs(place->shift.x - middle.x) <= most &&
                        fabs(place->shift.y - middle.y) <= most;
        count += place->agrees;
    }
    return count;
}

/* The shift that explains best what the agreeing blocks saw: the mean of theirs, weighted by their
 * slopes. */
static struct bd_shift weighted_mean(const struct bd_global_motion *shake, struct bd_shift middle)
{
    double a = 0, b = 0, c = 0, u = 0, v = 0;
    for (int i = 0; i < shake->across * shake->down; i++) {
        const struct place *place = &shake->places[i];
        const float *slopes = place->block.slopes;
        if (!place->agrees)
            continue;
        double x = place->shift.x - middle.x, y = place->shift.y - middle.y;
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

/* The part of the picture that the agreeing blocks stand for: that of the rectangle around them, or
 * less where they do not fill it; then, what an even spread with their covariance would cover. */
static double spread(const struct bd_global_motion *shake)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    double left = shake->width, right = 0, top = shake->height, bottom = 0;
    double side = (double)bd_block_side * shake->cells.scale;
    double area = (double)shake->width * shake->height;
    for (int i = 0; i < shake->across * shake->down; i++) {
        const struct bd_block *block = &shake->places[i].block;
        if (!shake->places[i].agrees)
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

/* What the blocks that are matched say. An object of a third of the picture may have a third of the
 * blocks, or all of them where nothing else has texture. */
static enum bd_global_motion_verdict judge(struct bd_global_motion *shake, int matched,
                                           struct bd_shift *shift)
{
    const double of_matched = 0.6, of_all = 0.2, lost_below = 0.1, least_spread = 0.42;
    int most = 0;
    struct bd_shift middle = { 0, 0 };
    for (int i = 0; i < shake->across * shake->down; i++) {
        int count = shake->places[i].matched ? mark_agreeing(shake, shake->places[i].shift) : 0;
        if (count > most) {
            most = count;
            middle = shake->places[i].shift;
        }
    }
    shake->agreeing = mark_agreeing(shake, middle);
    for (int round = 0; round < 2 && most; round++) {
        middle = weighted_mean(shake, middle);
        shake->agreeing = mark_agreeing(shake, middle);
    }
    *shift = middle;
    int agreeing = shake->agreeing;
    double reach = bd_global_motion_reach(shake);
    if (shake->used < least_blocks)
        return BD_SHAKE_UNSURE;
    if (agreeing >= least_blocks && agreeing >= of_matched * matched &&
        agreeing >= of_all * shake->used && spread(shake) >= least_spread &&
        fabs(middle.x) <= reach && fabs(middle.y) <= reach)
        return BD_SHAKE_FOUND;
    return agreeing < lost_below * shake->used ? BD_SHAKE_LOST : BD_SHAKE_UNSURE;
}

/* The shift, to a cell or so, at which all blocks together match best. False if none does. */
static bool search(const struct bd_global_motion *shake, const struct bd_frame *frame,
                   struct bd_shift *shift)
{
    float votes[bd_block_places * bd_block_places] = { 0 };
    int best = 0;
    for (int i = 0; i < shake->across * shake->down; i++)
        if (shake->places[i].used)
            bd_block_vote(&shake->places[i].block, &shake->cells, frame, votes);
    for (int i = 1; i < bd_block_places * bd_block_places; i++)
        best = votes[i] > votes[best] ? i : best;
    int step = bd_block_coarse * shake->cells.scale, row = best / bd_block_places;
    shift->x = (best % bd_block_places - bd_block_reach) * step;
    shift->y = (row - bd_block_reach) * step;
    return votes[best] > 0;
}

/* While the shift is known, blocks that have long been somewhere else are chosen anew, and now and
 * then one that agrees is taken again, since light and things change. Each is tied to where the
 * others say that it is, so that errors do not add up: a renewal moves the mean of all by a
 * fraction of a hundredth of a pixel. */
static void renew(struct bd_global_motion *shake, const struct bd_frame *frame,
                  struct bd_shift shift)
{
    int count = shake->across * shake->down, replaced = 0;
    for (int i = 0; i < count; i++) {
        struct place *place = &shake->places[i];
        if (!place->used)
            continue;
        place->strikes = place->agrees ? 0 : place->strikes + 1;
        if (place->strikes >= most_strikes && !replaced++)
            choose_block(shake, frame, i, shift);
    }
    if (++shake->pictures % renewal)
        return;
    shake->turn = (shake->turn + 1) % count;
    struct place *place = &shake->places[shake->turn];
    if (!place->used) {
        choose_block(shake, frame, shake->turn, shift);
    } else if (place->agrees) {
        struct bd_block taken;
        int x = place->block.x + (int)lround(shift.x - place->block.at.x);
        int y = place->block.y + (int)lround(shift.y - place->block.at.y);
        if (bd_block_take(&taken, &shake->cells, frame, x, y, shift))
            place->block = taken;
    }
}

enum bd_global_motion_verdict bd_global_motion_find(struct bd_global_motion *shake,
                                                    const struct bd_frame *frame,
                                                    struct bd_shift *shift)
{
    if (!shake->begun || (shake->used < least_blocks && ++shake->failures % idle_pace == 0))
        bd_global_motion_begin(shake, frame);
    struct bd_shift near = { shake->last.x + shake->pace.x, shake->last.y + shake->pace.y };
    struct bd_shift far, found;
    enum bd_global_motion_verdict verdict = judge(shake, match_all(shake, frame, near), &found);
    bool worth =
        shake->used > 0 && (shake->failures < patience || shake->failures % idle_pace == 0);
    if (verdict != BD_SHAKE_FOUND && worth && search(shake, frame, &far))
        verdict = judge(shake, match_all(shake, frame, far), &found);
    *shift = (struct bd_shift){ 0, 0 };
    if (verdict != BD_SHAKE_FOUND) {
        shake->failures++;
        shake->pace = (struct bd_shift){ 0, 0 };
        return verdict;
    }
    shake->failures = 0;
    shake->pace = (struct bd_shift){ found.x - shake->last.x, found.y - shake->last.y };
    shake->last = *shift = found;
    renew(shake, frame, found);
    return BD_SHAKE_FOUND;
}
