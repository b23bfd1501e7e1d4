#include "video/motion/block.h"

#include <math.h>
#include <string.h>

enum { side = bd_block_side, area = side * side, half = bd_block_half, half_area = half * half };

/* Rows of cells in a picture, about. */
enum { cell_rows = 240 };

/* Mean square slope along the direction with the least of it, (grey levels a cell)^2, from which on
 * a block can be found: sensor noise of 2 levels makes 2 of it. Blocks of more noise than texture
 * are not found again, and do no harm; the specks of asphalt have 4. */
static const float least_texture = 3;

/* The least correlation of a match. */
static const float least_likeness = 0.5F;

struct bd_cells bd_cells_of(int width, int height)
{
    int rows = height < width ? height : width;
    struct bd_cells cells = { .scale = rows < cell_rows ? 1 : (rows + cell_rows / 2) / cell_rows };
    cells.samples = cells.scale < bd_block_most_samples ? cells.scale : (int)bd_block_most_samples;
    for (int i = 0; i < cells.samples; i++)
        cells.sample[i] = (2 * i + 1) * cells.scale / (2 * cells.samples);
    return cells;
}

static int clamp(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

/* Four times the brightness. */
static inline int brightness(const uint8_t *pixel, int channels)
{
    return channels == 1 ? 4 * pixel[0] : pixel[0] + 2 * pixel[1] + pixel[2];
}

/* Adds one pixel of each of n cells inside the picture. */
static inline void add_row(float *restrict out, const uint8_t *restrict row, int step, int n,
                           int channels)
{
    for (int i = 0; i < n; i++)
        out[i] += (float)brightness(row + i * step, channels);
}

/* Frames come from another thread, and rows of a block are too short for the hardware prefetcher:
 * most of the time went into cache misses. (Always inlined, since GCC drops calls of a function
 * that only prefetches.) */
static inline __attribute__((always_inline)) void
prefetch(const struct bd_cells *cells, const struct bd_frame *frame, int x, int y, int n)
{
    enum { line = 64 };
    int channels = (int)frame->format, scale = cells->scale;
    int64_t from = (int64_t)clamp(x, 0, frame->width - 1) * channels;
    int64_t to = (int64_t)clamp(x + n * scale, 0, frame->width - 1) * channels;
    for (int j = 0; j < n; j++)
        for (int sy = 0; sy < cells->samples; sy++) {
            int row = clamp(y + j * scale + cells->sample[sy], 0, frame->height - 1);
            for (int64_t i = from; i < to + line; i += line)
                __builtin_prefetch(frame->data + row * frame->stride + i);
        }
}

void bd_cells_read(const struct bd_cells *cells, const struct bd_frame *frame, int x, int y, int n,
                   float *out)
{
    int channels = (int)frame->format, scale = cells->scale, step = scale * channels;
    bool inside = x >= 0 && x + n * scale <= frame->width;
    float weight = 0.25F / (float)(cells->samples * cells->samples);
    prefetch(cells, frame, x, y, n);
    for (int j = 0; j < n; j++) {
        float *to = out + j * n;
        for (int i = 0; i < n; i++)
            to[i] = 0;
        for (int sy = 0; sy < cells->samples; sy++) {
            int line = clamp(y + j * scale + cells->sample[sy], 0, frame->height - 1);
            const uint8_t *row = frame->data + line * frame->stride;
            for (int sx = 0; sx < cells->samples; sx++) {
                int first = x + cells->sample[sx];
                if (inside && channels == 3)
                    add_row(to, row + (int64_t)first * 3, step, n, 3);
                else if (inside && channels == 1)
                    add_row(to, row + first, step, n, 1);
                else
                    for (int i = 0; i < n; i++)
                        to[i] += (float)brightness(
                            row + (int64_t)channels * clamp(first + i * scale, 0, frame->width - 1),
                            channels);
            }
        }
        for (int i = 0; i < n; i++)
            to[i] *= weight;
    }
}

float bd_block_texture(float a, float b, float c)
{
    float mean = (a + c) / 2, difference = (a - c) / 2;
    return mean - sqrtf(difference * difference + b * b);
}

static float sum_of(const float *values, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += values[i];
    return sum;
}

static float product(const float *a, const float *b, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void remove_mean(float *values, int n)
{
    float mean = sum_of(values, n) / (float)n;
    for (int i = 0; i < n; i++)
        values[i] -= mean;
}

/* Removes the part of a slope that a change of brightness or contrast explains. */
static void remove_light(float *slope, const struct bd_block *block)
{
    remove_mean(slope, area);
    float share = block->norm > 0 ? product(slope, block->grey, area) / block->norm : 0;
    for (int i = 0; i < area; i++)
        slope[i] -= share * block->grey[i];
}

static void make_coarse(struct bd_block *block)
{
    for (int y = 0; y < half; y++)
        for (int x = 0; x < half; x++) {
            const float *at = block->grey + 2 * y * side + 2 * x;
            block->coarse[y * half + x] = (at[0] + at[1] + at[side] + at[side + 1]) / 4;
        }
    remove_mean(block->coarse, half_area);
    block->coarse_norm = product(block->coarse, block->coarse, half_area);
}

/* A match says where the texture is, which need not be in the middle of the block: under a rotation
 * that makes a difference. */
static void find_centre(struct bd_block *block, int scale)
{
    double sum = 0, x = 0, y = 0;
    for (int j = 0; j < side; j++)
        for (int i = 0; i < side; i++) {
            double across = block->across[j * side + i], down = block->down[j * side + i];
            double slope = across * across + down * down;
            sum += slope;
            x += slope * (i + 0.5);
            y += slope * (j + 0.5);
        }
    block->centre = (struct bd_point){ scale * x / sum, scale * y / sum };
}

bool bd_block_create(struct bd_block *block, const struct bd_cells *cells,
                     const struct bd_frame *frame, int x, int y, struct bd_similarity at)
{
    enum { wide = side + 2 };
    float cell[wide * wide];
    bd_cells_read(cells, frame, x - cells->scale, y - cells->scale, wide, cell);
    for (int j = 0; j < side; j++)
        for (int i = 0; i < side; i++) {
            const float *c = cell + (j + 1) * wide + i + 1;
            block->grey[j * side + i] = *c;
            block->across[j * side + i] = (c[1] - c[-1]) / 2;
            block->down[j * side + i] = (c[wide] - c[-wide]) / 2;
        }
    remove_mean(block->grey, area);
    block->norm = product(block->grey, block->grey, area);
    remove_light(block->across, block);
    remove_light(block->down, block);
    float a = product(block->across, block->across, area);
    float b = product(block->across, block->down, area);
    float c = product(block->down, block->down, area);
    if (!(bd_block_texture(a, b, c) >= least_texture * area))
        return false;
    float determinant = a * c - b * b;
    memcpy(block->slopes, (float[3]){ a, b, c }, sizeof block->slopes);
    memcpy(block->inverse, (float[3]){ c / determinant, -b / determinant, a / determinant },
           sizeof block->inverse);
    make_coarse(block);
    find_centre(block, cells->scale);
    block->home = bd_similarity_apply(
        bd_similarity_inverse(at), (struct bd_point){ x + block->centre.x - frame->width / 2.0,
                                                      y + block->centre.y - frame->height / 2.0 });
    return true;
}

/* Sums over the pixels at the position of a block. */
struct sums {
    float value, square, grey, across, down;
};

/* `seen` is the upper left of the four cells that surround the block's first cell, at the fraction
 * (fx, fy) of their distance. The sums of the columns are separate, so that the loop vectorises. */
static struct sums look(const struct bd_block *block, const float *seen, int ld, float fx, float fy)
{
    float parts[5][side] = { { 0 } };
    float w00 = (1 - fx) * (1 - fy), w10 = fx * (1 - fy), w01 = (1 - fx) * fy, w11 = fx * fy;
    for (int y = 0; y < side; y++) {
        const float *a = seen + y * ld, *b = a + ld;
        const float *grey = block->grey + y * side;
        const float *across = block->across + y * side, *down = block->down + y * side;
        for (int x = 0; x < side; x++) {
            float v = w00 * a[x] + w10 * a[x + 1] + w01 * b[x] + w11 * b[x + 1];
            parts[0][x] += v;
            parts[1][x] += v * v;
            parts[2][x] += v * grey[x];
            parts[3][x] += v * across[x];
            parts[4][x] += v * down[x];
        }
    }
    return (struct sums){ sum_of(parts[0], side), sum_of(parts[1], side), sum_of(parts[2], side),
                          sum_of(parts[3], side), sum_of(parts[4], side) };
}

bool bd_block_find(const struct bd_block *block, const struct bd_cells *cells,
                   const struct bd_frame *frame, struct bd_point *seen)
{
    enum { wide = side + 2 * bd_block_margin, most_steps = 6 };
    const float most = 1.5F, enough = 0.02F; /* cells */
    float cell[wide * wide];
    double scale = cells->scale;
    struct bd_point corner = { frame->width / 2.0 - block->centre.x,
                               frame->height / 2.0 - block->centre.y };
    double x = seen->x + corner.x, y = seen->y + corner.y;
    int left = (int)floor(x + 0.5), top = (int)floor(y + 0.5);
    if (left < -wide * cells->scale || left > frame->width || top < -wide * cells->scale ||
        top > frame->height)
        return false;
    bd_cells_read(cells, frame, left - bd_block_margin * cells->scale,
                  top - bd_block_margin * cells->scale, wide, cell);
    float dx = (float)((x - left) / scale), dy = (float)((y - top) / scale), likeness = 0;
    for (int step = 0; step < most_steps; step++) {
        float u = dx + bd_block_margin, v = dy + bd_block_margin;
        int iu = (int)u, iv = (int)v;
        struct sums s = look(block, cell + iv * wide + iu, wide, u - (float)iu, v - (float)iv);
        float power = s.square - s.value * s.value / (float)area;
        float gain = s.grey / block->norm;
        if (!(s.grey > 0) || !(power > 0))
            return false;
        likeness = s.grey / sqrtf(power * block->norm);
        float ex = -(block->inverse[0] * s.across + block->inverse[1] * s.down) / gain;
        float ey = -(block->inverse[1] * s.across + block->inverse[2] * s.down) / gain;
        ex = fminf(fmaxf(ex, -1), 1);
        ey = fminf(fmaxf(ey, -1), 1);
        dx += ex;
        dy += ey;
        if (!(fabsf(dx) <= most && fabsf(dy) <= most))
            return false;
        if (fabsf(ex) < enough && fabsf(ey) < enough)
            break;
    }
    seen->x = left + (double)dx * scale - corner.x;
    seen->y = top + (double)dy * scale - corner.y;
    return likeness >= least_likeness;
}

/* The part of a picture to which a block may have moved, in coarse cells. */
enum { field = half + 2 * bd_block_reach, fine_field = 2 * field };

static void read_field(const struct bd_block *block, const struct bd_cells *cells,
                       const struct bd_frame *frame, float *out)
{
    float cell[fine_field * fine_field];
    int reach = bd_block_reach * bd_block_coarse * cells->scale;
    double left = frame->width / 2.0 + block->home.x - block->centre.x;
    double top = frame->height / 2.0 + block->home.y - block->centre.y;
    bd_cells_read(cells, frame, (int)floor(left + 0.5) - reach, (int)floor(top + 0.5) - reach,
                  fine_field, cell);
    for (int y = 0; y < field; y++)
        for (int x = 0; x < field; x++) {
            const float *at = cell + 2 * y * fine_field + 2 * x;
            out[y * field + x] = (at[0] + at[1] + at[fine_field] + at[fine_field + 1]) / 4;
        }
}

/* How much the brightness varies within each place for a block along the first rows of a field: the
 * sum of squared differences from its mean. */
static void variations(const float *seen, float *power)
{
    float value[field] = { 0 }, square[field] = { 0 };
    for (int y = 0; y < half; y++)
        for (int x = 0; x < field; x++) {
            float v = seen[y * field + x];
            value[x] += v;
            square[x] += v * v;
        }
    for (int x = 0; x < bd_block_shifts; x++) {
        float sum = sum_of(value + x, half);
        power[x] = sum_of(square + x, half) - sum * sum / (float)half_area;
    }
}

void bd_block_vote(const struct bd_block *block, const struct bd_cells *cells,
                   const struct bd_frame *frame, float *votes)
{
    enum { lanes = 16 }; /* bd_block_shifts, and some to fill registers with */
    float seen[field * field + lanes] = { 0 };
    read_field(block, cells, frame, seen);
    for (int dy = 0; dy < bd_block_shifts; dy++) {
        float power[bd_block_shifts], match[lanes] = { 0 };
        variations(seen + dy * field, power);
        for (int y = 0; y < half; y++)
            for (int x = 0; x < half; x++) {
                const float *row = seen + (dy + y) * field + x;
                float grey = block->coarse[y * half + x];
                for (int dx = 0; dx < lanes; dx++)
                    match[dx] += row[dx] * grey;
            }
        for (int dx = 0; dx < bd_block_shifts; dx++) {
            float likeness = 0;
            if (match[dx] > 0 && power[dx] > 0)
                likeness = match[dx] / sqrtf(power[dx] * block->coarse_norm);
            votes[dy * bd_block_shifts + dx] = fmaxf(0, likeness - least_likeness);
        }
    }
}
