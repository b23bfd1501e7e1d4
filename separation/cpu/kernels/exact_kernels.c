/* Plain loops, in the form that GCC 12 vectorises for all instruction sets: one thing at a time,
 * no branches, and values chosen by ?: between variables. */
#include "separation/cpu/kernels/exact_kernels.h"

#include <math.h>
#include <string.h>

#include <backdrop/separator.h>

#include "linalg/shared/isa.h"
#include "separation/shared/mask.h"
#include "separation/shared/rounding.h"
#include "separation/shared/shadow.h"
#include "separation/shared/shadow_colour.h"

enum { TILE = bd_sep_tile };

BD_INLINE uint8_t distance(uint8_t a, uint8_t b)
{
    return (uint8_t)(a > b ? a - b : b - a);
}

BD_INLINE uint8_t larger(uint8_t a, uint8_t b)
{
    return a > b ? a : b;
}

BD_INLINE int64_t count_set(int64_t count, const uint8_t *restrict picture)
{
    int64_t total = 0;
    while (count > 0) {
        int64_t here = count < TILE ? count : TILE;
        uint16_t sum = 0;
        for (int64_t i = 0; i < here; i++)
            sum = (uint16_t)(sum + picture[i]);
        total += sum;
        picture += here;
        count -= here;
    }
    return total;
}

/* Every value takes the maximum of its own distance and the next two, and every third of these is a
 * result: twice as fast as separating the three channels first. */
BD_INLINE void distances3(int64_t count, const uint8_t *restrict f, const uint8_t *restrict l,
                          uint8_t *restrict out)
{
    uint8_t one[3 * TILE + 2], most[3 * TILE] = { 0 };
    for (int64_t i = 0; i < 3 * count; i++)
        one[i] = distance(f[i], l[i]);
    one[3 * count] = one[3 * count + 1] = 0;
    for (int64_t i = 0; i < 3 * count; i++) {
        uint8_t two = larger(one[i], one[i + 1]);
        most[i] = larger(two, one[i + 2]);
    }
    for (int64_t i = 0; i < count; i++)
        out[i] = most[3 * i];
}

BD_INLINE void distances1(int64_t count, const uint8_t *restrict f, const uint8_t *restrict l,
                          uint8_t *restrict out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = distance(f[i], l[i]);
}

BD_INLINE void limit(int64_t count, const uint8_t *restrict difference, const float *restrict noise,
                     const struct bd_limits *limits, uint8_t *restrict raw, uint8_t *restrict plain)
{
    float gain = limits->gain, least = limits->least, most = limits->most, part = limits->plain;
    for (int64_t i = 0; i < count; i++) {
        float bound = gain * noise[i];
        bound = bound > most ? most : bound;
        bound = bound < least ? least : bound;
        raw[i] = (float)difference[i] > bound;
        plain[i] = (float)difference[i] <= part * bound;
    }
}

static int64_t compare(int64_t count, int channels, const uint8_t *f, const uint8_t *l,
                       const float *noise, const struct bd_limits *limits, uint8_t *difference,
                       uint8_t *raw, uint8_t *plain)
{
    for (int64_t i = 0; i < count; i += TILE) {
        int64_t here = count - i < TILE ? count - i : TILE;
        if (channels == 1)
            distances1(here, f + i, l + i, difference + i);
        else
            distances3(here, f + 3 * i, l + 3 * i, difference + i);
    }
    limit(count, difference, noise, limits, raw, plain);
    return count_set(count, raw);
}

BD_INLINE void learn_noise(int64_t count, float rate, const uint8_t *restrict difference,
                           const uint8_t *restrict guard, const float *restrict noise,
                           float *restrict learned)
{
    for (int64_t i = 0; i < count; i++) {
        float share = guard[i] ? 0.0f : rate;
        learned[i] = noise[i] + share * ((float)difference[i] - noise[i]);
    }
}

/* A pixel that is no longer occupied loses its age four times as fast as it gained it: a flicker
 * does not reset it. Returns whether any has an age. */
BD_INLINE bool grow_older(int64_t count, float seconds, const uint8_t *restrict occupied,
                          float *restrict age)
{
    float back = -4.0f * seconds;
    int32_t aged = 0;
    for (int64_t i = 0; i < count; i++) {
        float step = occupied[i] ? seconds : back;
        float older = age[i] + step;
        age[i] = older > 0.0f ? older : 0.0f;
        aged |= older > 0.0f;
    }
    return aged;
}

BD_INLINE void leave_guard(int64_t count, float memory, const float *restrict age,
                           uint8_t *restrict guard)
{
    for (int64_t i = 0; i < count; i++) {
        int young = age[i] < memory;
        guard[i] = (uint8_t)(guard[i] & young);
    }
}

BD_INLINE void show(int64_t count, const uint8_t *restrict raw, uint8_t *restrict mask)
{
    for (int64_t i = 0; i < count; i++)
        mask[i] = (uint8_t)-raw[i];
}

static int64_t learn(int64_t count, const struct bd_learning *learning, const uint8_t *difference,
                     const uint8_t *occupied, const uint8_t *raw, const float *noise,
                     float *learned, float *age, uint8_t *aged, uint8_t *guard, uint8_t *mask)
{
    for (int64_t i = 0; i < count; i += TILE, aged++) {
        const int64_t here = count - i < TILE ? count - i : TILE;
        if (learned)
            learn_noise(here, learning->rate, difference + i, guard + i, noise + i, learned + i);
        if (!*aged && !memchr(occupied + i, 1, (size_t)here))
            continue;
        *aged = grow_older(here, learning->seconds, occupied + i, age + i);
        leave_guard(here, learning->memory, age + i, guard + i);
    }
    show(count, raw, mask);
    return count_set(count, raw);
}

/* sums += row */
BD_INLINE void add_bytes(int64_t count, const uint8_t *restrict row, uint8_t *restrict sums)
{
    for (int64_t i = 0; i < count; i++)
        sums[i] = (uint8_t)(sums[i] + row[i]);
}

static void changes(int64_t count, int channels, int reach, const uint8_t *f, uint8_t *earlier,
                    uint8_t *restrict changed)
{
    const uint8_t most = (uint8_t)reach;
    for (int64_t i = 0; i < count; i += TILE) {
        const int64_t here = count - i < TILE ? count - i : TILE;
        uint8_t difference[TILE];
        if (channels == 1)
            distances1(here, f + i, earlier + i, difference);
        else
            distances3(here, f + 3 * i, earlier + 3 * i, difference);
        for (int64_t k = 0; k < here; k++)
            changed[i + k] = difference[k] > most;
    }
    memcpy(earlier, f, (size_t)(count * channels));
}

/* Sums of 15 x 15 pixels are 225 at most: bytes hold them. */
static void median(int64_t width, const uint8_t *const *rows, int side, uint8_t *sums, uint8_t *out)
{
    size_t half = (unsigned)side / 2;
    uint8_t *middle = sums + half, least = (uint8_t)(side * side / 2 + 1);
    memcpy(middle, rows[0], (size_t)width);
    for (int k = 1; k < side; k++)
        add_bytes(width, rows[k], middle);
    memset(sums, middle[0], half);
    memset(middle + width, middle[width - 1], half);
    memcpy(out, sums, (size_t)width);
    for (int k = 1; k < side; k++)
        add_bytes(width, sums + k, out);
    for (int64_t x = 0; x < width; x++)
        out[x] = out[x] >= least;
}

/* After each round line[x] is the union of in[x - radius .. x - radius + have - 1]. */
static void spread(int64_t width, const uint8_t *in, int64_t radius, uint8_t *line, uint8_t *out)
{
    int64_t all = 2 * radius + 1;
    memset(line, 0, (size_t)radius);
    memcpy(line + radius, in, (size_t)width);
    memset(line + radius + width, 0, (size_t)radius);
    for (int64_t have = 1; have < all;) {
        int64_t step = 2 * have <= all ? have : all - have;
        for (int64_t x = 0; x < width + 2 * radius - step; x++)
            line[x] |= line[x + step];
        have += step;
    }
    memcpy(out, line, (size_t)width);
}

/* largest := of three rows; touches := 1 where plain background outside the mask is in one. */
BD_INLINE void join_rows(int64_t width, const uint8_t *const mask[3], const uint8_t *const plain[3],
                         const uint8_t *const difference[3], uint8_t *restrict touches,
                         uint8_t *restrict largest)
{
    const uint8_t *restrict m0 = mask[0], *restrict m1 = mask[1], *restrict m2 = mask[2];
    const uint8_t *restrict p0 = plain[0], *restrict p1 = plain[1], *restrict p2 = plain[2];
    const uint8_t *restrict d0 = difference[0], *restrict d1 = difference[1];
    const uint8_t *restrict d2 = difference[2];
    for (int64_t x = 0; x < width; x++)
        touches[x] = (uint8_t)((p0[x] & ~m0[x]) | (p1[x] & ~m1[x]) | (p2[x] & ~m2[x]));
    for (int64_t x = 0; x < width; x++) {
        uint8_t two = larger(d0[x], d1[x]);
        largest[x] = larger(two, d2[x]);
    }
}

static void trim(int64_t width, const uint8_t *const mask[3], const uint8_t *const plain[3],
                 const uint8_t *const difference[3], uint8_t *lines, uint8_t *out)
{
    uint8_t *restrict touches = lines + 1, *restrict largest = lines + width + 3;
    const uint8_t *restrict middle = difference[1], *restrict set = mask[1];
    memset(lines, 0, (size_t)(2 * width + 4));
    join_rows(width, mask, plain, difference, touches, largest);
    for (int64_t x = 0; x < width; x++) {
        uint8_t two = larger(largest[x - 1], largest[x]);
        uint8_t most = larger(two, largest[x + 1]);
        uint8_t near = touches[x - 1] | touches[x] | touches[x + 1];
        uint16_t own = (uint16_t)(bd_mask_trim_of * middle[x]);
        uint16_t part = (uint16_t)(bd_mask_trim_part * most);
        uint8_t mostly = own < part;
        out[x] = (uint8_t)(set[x] & ~(near & mostly));
    }
}

static void add_multiple(int64_t count, float a, const float *restrict x, float *restrict y)
{
    for (int64_t i = 0; i < count; i++)
        y[i] += a * x[i];
}

BD_INLINE float clip(float e, float bound)
{
    float low = e > bound ? bound : e;
    return low < -bound ? -bound : low;
}

BD_INLINE float formed(uint8_t f, float l, float lambda)
{
    float e = clip((float)f - l, lambda);
    return l + e;
}

/* out := B c */
BD_INLINE void multiply(int64_t count, const float *restrict b, int64_t ldb, int rank,
                        const float *c, float *restrict out)
{
    float first = c[0];
    for (int64_t i = 0; i < count; i++)
        out[i] = b[i] * first;
    for (int k = 1; k < rank; k++)
        add_multiple(count, c[k], b + k * ldb, out);
}

/* Volatile: GCC would move constants into the conversion that follows, and make no minimum and no
 * maximum of the choices. 0.15 ns for a value instead of 0.4. */
static const volatile float least_byte = 0, largest_byte = 255;

BD_INLINE uint8_t rounded(float v, float least, float most)
{
    float up = v + 0.5f;
    float low = up > most ? most : up;
    low = low < least ? least : low;
    return (uint8_t)(int32_t)low;
}

static void background(int64_t count, const float *restrict b, int64_t ldb, int rank,
                       const float *w, uint8_t *restrict l)
{
    const float least = least_byte, most = largest_byte;
    if (rank == 1) {
        float only = w[0];
        for (int64_t i = 0; i < count; i++)
            l[i] = rounded(b[i] * only, least, most);
        return;
    }
    float v[TILE];
    for (int64_t i = 0; i < count; i += TILE) {
        int64_t here = count - i < TILE ? count - i : TILE;
        multiply(here, b + i, ldb, rank, w, v);
        for (int64_t j = 0; j < here; j++)
            l[i + j] = rounded(v[j], least, most);
    }
}

/* e := clip(f - B w, +-bound) */
static void residual(int64_t count, const uint8_t *restrict f, const float *restrict b, int64_t ldb,
                     int rank, const float *w, float bound, float *restrict e)
{
    if (rank == 1) {
        float only = w[0];
        for (int64_t i = 0; i < count; i++)
            e[i] = clip((float)f[i] - b[i] * only, bound);
        return;
    }
    multiply(count, b, ldb, rank, w, e);
    for (int64_t i = 0; i < count; i++)
        e[i] = clip((float)f[i] - e[i], bound);
}

enum { STRIDE = bd_sep_group_stride, BLOCK = bd_sep_group_block };

/* The sum of the groups of a block. */
BD_INLINE double add_groups(const float *groups)
{
    enum { lanes = 16 };
    double sums[lanes] = { 0 }, total = 0;
    for (int from = 0; from < STRIDE; from += lanes)
        for (int i = 0; i < lanes; i++)
            sums[i] += (double)groups[from + i];
    for (int i = 0; i < lanes; i++)
        total += sums[i];
    return total;
}

/* b^T e of a block. */
BD_INLINE double multiply_block(const float *restrict b, const float *restrict e)
{
    float groups[STRIDE];
    for (int i = 0; i < STRIDE; i++)
        groups[i] = b[i] * e[i] + b[i + STRIDE] * e[i + STRIDE] +
                    b[i + 2 * STRIDE] * e[i + 2 * STRIDE] + b[i + 3 * STRIDE] * e[i + 3 * STRIDE];
    return add_groups(groups);
}

/* b clip(f - b w, +-lambda); *outliers counts it if it differs from b w by more than 2 lambda. */
BD_INLINE float project_value(uint8_t f, float b, float w, float lambda, int32_t *outliers)
{
    float e = (float)f - b * w;
    *outliers += fabsf(e) > 2 * lambda;
    return b * clip(e, lambda);
}

/* b^T clip(f - b w, +-lambda) of a block; *far (NULL: not wanted) counts what differs from b w by
 * more than 2 lambda. Rows are read in order, which memory serves fastest. */
BD_INLINE double project_block(const uint8_t *restrict f, const float *restrict b, float w,
                               float lambda, int64_t *far)
{
    float groups[STRIDE];
    int32_t outliers = 0;
    for (int i = 0; i < STRIDE; i++)
        groups[i] = project_value(f[i], b[i], w, lambda, &outliers);
    for (int from = STRIDE; from < BLOCK; from += STRIDE)
        for (int i = 0; i < STRIDE; i++)
            groups[i] += project_value(f[from + i], b[from + i], w, lambda, &outliers);
    if (far)
        *far += outliers;
    return add_groups(groups);
}

/* As project_block, for any rank. */
BD_INLINE void project_block_on(const uint8_t *f, const float *b, int64_t ldb, int rank,
                                const float *w, float lambda, double *dw, int64_t *far)
{
    float e[BLOCK];
    int32_t outliers = 0;
    multiply(BLOCK, b, ldb, rank, w, e);
    for (int i = 0; i < BLOCK; i++) {
        float difference = (float)f[i] - e[i];
        outliers += fabsf(difference) > 2 * lambda;
        e[i] = clip(difference, lambda);
    }
    if (far)
        *far += outliers;
    for (int k = 0; k < rank; k++)
        dw[k] += multiply_block(b + k * ldb, e);
}

static void project(int64_t count, const uint8_t *f, const float *b, int64_t ldb, int rank,
                    const float *w, float lambda, double *dw, int64_t *far)
{
    int64_t i = 0;
    if (far)
        *far = 0;
    for (; rank == 1 && i + BLOCK <= count; i += BLOCK)
        dw[0] += project_block(f + i, b + i, w[0], lambda, far);
    for (; i + BLOCK <= count; i += BLOCK)
        project_block_on(f + i, b + i, ldb, rank, w, lambda, dw, far);
    if (i == count)
        return;
    uint8_t end[BLOCK] = { 0 };
    float columns[bd_max_rank * BLOCK] = { 0 };
    memcpy(end, f + i, (size_t)(count - i));
    for (int k = 0; k < rank; k++)
        memcpy(columns + k * BLOCK, b + k * ldb + i, (size_t)(count - i) * sizeof *columns);
    project_block_on(end, columns, BLOCK, rank, w, lambda, dw, far);
}

static void form(int64_t count, const uint8_t *restrict f, const float *restrict b, int64_t ldb,
                 int rank, const float *c, float lambda, float *restrict x)
{
    if (rank == 1) {
        float only = c[0];
        for (int64_t i = 0; i < count; i++)
            x[i] = formed(f[i], b[i] * only, lambda);
        return;
    }
    multiply(count, b, ldb, rank, c, x);
    for (int64_t i = 0; i < count; i++)
        x[i] = formed(f[i], x[i], lambda);
}

static void add_formed(int64_t count, const uint8_t *restrict f, const float *restrict b, float c,
                       float lambda, float a, float *restrict y)
{
    for (int64_t i = 0; i < count; i++)
        y[i] += a * formed(f[i], b[i] * c, lambda);
}

#include "separation/cpu/kernels/blocks.inc"
#include "separation/cpu/kernels/recurs_near.inc"

#define TABLE BD_ISA_SYMBOL(bd_exact)
extern const struct bd_exact_kernels TABLE;
const struct bd_exact_kernels TABLE = {
    .compare = compare,
    .learn = learn,
    .changes = changes,
    .median = median,
    .spread = spread,
    .trim = trim,
    .recurs_near = recurs_near,
    .find_blocks = find_blocks,
    .has = has,
    .add_sums = add_sums,
    .take_sums = take_sums,
    .sum_around = sum_around,
    .plausible = plausible,
    .certain = certain,
    .own_colours = own_colours,
    .colours_around = colours_around,
    .texture = texture,
    .pairs = pairs,
    .other_light = other_light,
    .add_multiple = add_multiple,
    .background = background,
    .project = project,
    .residual = residual,
    .form = form,
    .add_formed = add_formed,
};
