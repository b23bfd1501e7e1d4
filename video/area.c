#include "video/area.h"

#include <stdlib.h>
#include <string.h>

#include "base/shuffle.h"
#include "video/axis.h"
#include "video/yuv.h"
#include "video/yuv_convert.h"

/* Rows of the result that are made together: vectors hold one value of each, and registers (GCC's
 * and clang's vector extension) as many bytes or half as many samples. */
enum { ROWS = 16, HALF = ROWS / 2 };

/* Samples of a row that are averaged downwards at a time, for ROWS rows of them to stay in the
 * level-1 cache. */
enum { BLOCK = 256 };

typedef uint8_t bytes __attribute__((vector_size(ROWS)));
typedef uint16_t samples __attribute__((vector_size(ROWS)));

/* GCC makes vectors of loops that it has not unrolled before. */
#define KEEP_LOOP _Pragma("GCC unroll 1")

/* What decides how pictures are averaged. */
struct plan {
    int width, height, small_width, small_height;
    int channels; /* of the result */
    int samples;  /* a pixel of interleaved sources; 0: of YUV */
    int shift_x, shift_y, step;
};

/* A plane of samples, or of interleaved ones, averaged downwards for ROWS rows of the result. */
struct plane {
    int length;        /* samples in a row, all interleaved ones */
    uint16_t *columns; /* length x ROWS, and HALF x ROWS behind them: registers are stored whole */
};

struct bd_area {
    struct plan plan;
    struct bd_axis axes[bd_axis_kinds];
    struct plane planes[3]; /* Y, U, V; NV12: Y, UV; else pixels alone */
    int plane_count;
    /* ROWS values for each pixel of a row of the result: of Y, U and V, or of channels, and then
     * the bytes of its channels, and of ROWS pixels behind the last. */
    int16_t *averages[3];
    int average_count;
    uint8_t *made[3];
};

/* ---- a scaler ----------------------------------------------------------------------------------
 */

static struct plan plan_for(const struct bd_frame *dst, const struct bd_frame *src)
{
    struct plan plan = { .width = src->width,
                         .height = src->height,
                         .small_width = dst->width,
                         .small_height = dst->height,
                         .channels = (int)dst->format,
                         .samples = (int)src->format };
    if (src->yuv) {
        plan.samples = 0;
        plan.shift_x = src->yuv->shift_x;
        plan.shift_y = src->yuv->shift_y;
        plan.step = src->yuv->step;
    }
    return plan;
}

static bool is_possible(const struct plan *plan)
{
    bool from = plan->samples == 0 || plan->samples == BD_GRAY8 || plan->samples == BD_RGB24;
    bool to = plan->channels == BD_GRAY8 || plan->channels == BD_RGB24;
    bool colours = plan->samples != BD_GRAY8 || plan->channels == BD_GRAY8;
    return from && to && colours && plan->small_width <= plan->width &&
           plan->small_height <= plan->height;
}

static int samples_along(int pixels, int shift)
{
    return (pixels + (1 << shift) - 1) >> shift;
}

static bool make_plane(struct bd_area *area, int length)
{
    struct plane *plane = &area->planes[area->plane_count++];
    plane->length = length;
    plane->columns = calloc((size_t)(length + HALF) * ROWS, sizeof *plane->columns);
    return plane->columns;
}

static bool make_planes(struct bd_area *area)
{
    const struct plan *plan = &area->plan;
    int chroma = samples_along(plan->width, plan->shift_x);
    size_t row = (size_t)plan->small_width * ROWS;
    bool enough = true;
    area->average_count = plan->samples ? plan->samples : plan->channels;
    for (int c = 0; c < area->average_count; c++) {
        area->averages[c] = calloc(row, sizeof *area->averages[c]);
        area->made[c] = calloc(row + ROWS * ROWS, 1);
        enough = enough && area->averages[c] && area->made[c];
    }
    if (plan->samples)
        return enough && make_plane(area, plan->width * plan->samples);
    enough = enough && make_plane(area, plan->width);
    if (plan->channels == 1)
        return enough;
    if (plan->step == 2)
        return enough && make_plane(area, 2 * chroma);
    return enough && make_plane(area, chroma) && make_plane(area, chroma);
}

enum bd_status bd_area_create(struct bd_area **area, const struct bd_frame *dst,
                              const struct bd_frame *src)
{
    struct plan plan = plan_for(dst, src);
    *area = NULL;
    if (!is_possible(&plan))
        return BD_OK;
    struct bd_area *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "no memory for scaling");
    self->plan = plan;
    const struct bd_axis_plan axes = { plan.width,        plan.height,  plan.small_width,
                                       plan.small_height, plan.shift_x, plan.shift_y };
    if (!bd_axes_create(self->axes, &axes) || !make_planes(self)) {
        bd_area_destroy(&self);
        return bd_fail(BD_ERROR_MEMORY, "no memory to scale pictures of %d x %d", plan.width,
                       plan.height);
    }
    *area = self;
    return BD_OK;
}

bool bd_area_suits(const struct bd_area *area, const struct bd_frame *dst,
                   const struct bd_frame *src)
{
    struct plan plan = plan_for(dst, src);
    return memcmp(&plan, &area->plan, sizeof plan) == 0;
}

void bd_area_destroy(struct bd_area **area)
{
    struct bd_area *self = *area;
    if (!self)
        return;
    bd_axes_destroy(self->axes);
    for (int i = 0; i < self->plane_count; i++)
        free(self->planes[i].columns);
    for (int c = 0; c < 3; c++) {
        free(self->averages[c]);
        free(self->made[c]);
    }
    free(self);
    *area = NULL;
}

/* ---- loops, in the form that compilers vectorise -----------------------------------------------
 */

static void multiply_row(uint16_t *restrict line, const uint8_t *restrict row, uint16_t weight,
                         int count)
{
    for (int x = 0; x < count; x++)
        line[x] = (uint16_t)(weight * row[x]);
}

static void add_row(uint16_t *restrict line, const uint8_t *restrict row, uint16_t weight,
                    int count)
{
    for (int x = 0; x < count; x++)
        line[x] = (uint16_t)(line[x] + weight * row[x]);
}

/* ---- transposes, in registers ------------------------------------------------------------------
 */

/* a0 b0 a1 b1 ... of the lower halves, or of the upper ones. */
#define ZIP_SAMPLES(a, b, from)                                                                    \
    BD_SHUFFLE(samples, a, b, (from), (from) + 8, (from) + 1, (from) + 9, (from) + 2, (from) + 10, \
               (from) + 3, (from) + 11)
#define ZIP_BYTES(a, b, from)                                                                      \
    BD_SHUFFLE(bytes, a, b, (from), (from) + 16, (from) + 1, (from) + 17, (from) + 2, (from) + 18, \
               (from) + 3, (from) + 19, (from) + 4, (from) + 20, (from) + 5, (from) + 21,          \
               (from) + 6, (from) + 22, (from) + 7, (from) + 23)

/* One round: row i and the one half of them further become rows 2i and 2i + 1. Rows and columns
 * are exchanged after as many rounds as the number of a row has bits. */
static inline void zip_samples(samples out[HALF], const samples in[HALF])
{
    for (int i = 0; i < HALF / 2; i++) {
        out[2 * i] = ZIP_SAMPLES(in[i], in[i + HALF / 2], 0);
        out[2 * i + 1] = ZIP_SAMPLES(in[i], in[i + HALF / 2], 4);
    }
}

static inline void zip_bytes(bytes out[ROWS], const bytes in[ROWS])
{
    for (int i = 0; i < ROWS / 2; i++) {
        out[2 * i] = ZIP_BYTES(in[i], in[i + ROWS / 2], 0);
        out[2 * i + 1] = ZIP_BYTES(in[i], in[i + ROWS / 2], 8);
    }
}

/* ---- averaging ---------------------------------------------------------------------------------
 */

/* The average, downwards, of the samples of row `result` of the axis. */
static void average_column(uint16_t *line, const uint8_t *data, int64_t stride, int length,
                           const struct bd_axis *axis, int result)
{
    const uint8_t *row = data + axis->first[result] * stride;
    const uint16_t *weights = axis->weights + axis->at[result];
    multiply_row(line, row, weights[0], length);
    for (int k = 1; k < axis->count[result]; k++)
        add_row(line, row + k * stride, weights[k], length);
}

/* out, count x ROWS and what is behind them in the last register, := the columns of `lines`. */
static void turn_lines(uint16_t *out, uint16_t lines[ROWS][BLOCK], int count)
{
    samples tile[HALF], turned[HALF];
    for (int x = 0; x < count; x += HALF)
        for (int row = 0; row < ROWS; row += HALF) {
            for (int r = 0; r < HALF; r++)
                memcpy(&tile[r], &lines[row + r][x], sizeof *tile);
            zip_samples(turned, tile);
            zip_samples(tile, turned);
            zip_samples(turned, tile);
            for (int r = 0; r < HALF; r++)
                memcpy(out + (x + r) * ROWS + row, &turned[r], sizeof *turned);
        }
}

/* The plane's columns for ROWS rows of the result from `row` on; the last row stands for those
 * behind it. */
static void average_columns(struct plane *plane, const uint8_t *data, int64_t stride,
                            const struct bd_axis *axis, int row)
{
    uint16_t lines[ROWS][BLOCK] = { 0 };
    for (int x = 0; x < plane->length; x += BLOCK) {
        const int count = plane->length - x < BLOCK ? plane->length - x : BLOCK;
        for (int r = 0; r < ROWS; r++) {
            int result = row + r < axis->results ? row + r : axis->results - 1;
            average_column(lines[r], data + x, stride, count, axis, result);
        }
        turn_lines(plane->columns + (int64_t)x * ROWS, lines, count);
    }
}

/* The average of each column of the result, in units of 1/128 (bd_yuv_unit), for ROWS rows.
 * Products lose half a unit each, which the sum starts with, as far as a white picture stays in
 * range. */
static void average_rows(int16_t *out, const uint16_t *columns, int step,
                         const struct bd_axis *axis)
{
    for (int i = 0; i < axis->results; i++, out += ROWS) {
        const uint16_t *weights = axis->weights + axis->at[i];
        const uint16_t *from = columns + (int64_t)axis->first[i] * step * ROWS;
        const int count = axis->count[i];
        uint16_t sum[ROWS];
        KEEP_LOOP for (int r = 0; r < ROWS; r++) sum[r] =
            (uint16_t)(count < bd_yuv_unit ? count / 2 : bd_yuv_unit / 2 - 1);
        for (int k = 0; k < count; k++, from += (int64_t)step * ROWS) {
            const uint16_t weight = weights[k];
            KEEP_LOOP for (int r = 0; r < ROWS; r++) sum[r] =
                (uint16_t)(sum[r] + (uint16_t)((uint32_t)from[r] * weight >> 16));
        }
        memcpy(out, sum, sizeof sum);
    }
}

static void round_units(uint8_t *restrict out, const int16_t *restrict value, int count)
{
    for (int i = 0; i < count; i++)
        out[i] = (uint8_t)((uint16_t)(value[i] + bd_yuv_unit / 2) / bd_yuv_unit);
}

/* Brightness, as the masks' edges have it (video/upscale.c). */
static void make_gray(uint8_t *restrict out, const int16_t *restrict red,
                      const int16_t *restrict green, const int16_t *restrict blue, int count)
{
    for (int i = 0; i < count; i++) {
        int sum = 77 * red[i] + 150 * green[i] + 29 * blue[i];
        out[i] = (uint8_t)((sum + 128 * bd_yuv_unit) / (256 * bd_yuv_unit));
    }
}

/* The averages become the result's bytes, of each of its channels. */
static void make_channels(struct bd_area *area, const struct bd_yuv *yuv)
{
    const struct plan *plan = &area->plan;
    const int count = plan->small_width * ROWS;
    int16_t *const *in = area->averages;
    uint8_t *const *out = area->made;
    if (yuv && plan->channels == 3)
        bd_yuv_make_colours(out[0], out[1], out[2], in[0], in[1], in[2], count, yuv->matrix);
    else if (yuv)
        bd_yuv_make_gray(out[0], in[0], count, yuv->matrix);
    else if (plan->samples > plan->channels)
        make_gray(out[0], in[0], in[1], in[2], count);
    else
        for (int c = 0; c < plan->channels; c++)
            round_units(out[c], in[c], count);
}

/* ROWS rows of the result from row `row` on. */
static void average_band(struct bd_area *area, const struct bd_frame *src, int row)
{
    const struct plan *plan = &area->plan;
    const struct bd_yuv *yuv = src->yuv;
    average_columns(&area->planes[0], yuv ? yuv->data[0] : src->data,
                    yuv ? yuv->stride[0] : src->stride, &area->axes[bd_axis_rows], row);
    for (int i = 1; yuv && i < area->plane_count; i++)
        average_columns(&area->planes[i], yuv->data[i], yuv->stride[i],
                        &area->axes[bd_axis_chroma_rows], row);
    for (int c = 0; c < area->average_count; c++) {
        const bool chroma = yuv && c > 0;
        const struct plane *plane =
            &area->planes[c < area->plane_count ? c : area->plane_count - 1];
        int step = chroma ? plan->step : yuv ? 1 : plan->samples;
        int offset = !yuv ? c : plan->step == 2 && c == 2 ? 1 : 0;
        average_rows(area->averages[c], plane->columns + offset * ROWS, step,
                     &area->axes[chroma ? bd_axis_chroma_columns : bd_axis_columns]);
    }
    make_channels(area, yuv);
}

/* Rows of `dst` from `row` on, as many as there are. */
static void store(const struct bd_area *area, struct bd_frame *dst, int row)
{
    const int channels = area->plan.channels, length = area->plan.small_width * channels;
    const int rows = dst->height - row < ROWS ? dst->height - row : ROWS;
    bytes tile[ROWS], turned[ROWS];
    int x = 0, c = 0; /* of the next byte */
    for (int at = 0; at < length; at += ROWS) {
        for (int i = 0; i < ROWS; i++) {
            memcpy(&tile[i], area->made[c] + x * ROWS, sizeof *tile);
            c = c + 1 < channels ? c + 1 : 0;
            x += !c;
        }
        zip_bytes(turned, tile);
        zip_bytes(tile, turned);
        zip_bytes(turned, tile);
        zip_bytes(tile, turned);
        const size_t count = (size_t)(length - at < ROWS ? length - at : ROWS);
        for (int r = 0; r < rows; r++) {
            uint8_t *out = dst->data + (row + r) * dst->stride + at;
            if (count == ROWS) /* one instruction */
                memcpy(out, &tile[r], ROWS);
            else
                memcpy(out, &tile[r], count);
        }
    }
}

void bd_area_average(struct bd_area *area, struct bd_frame *dst, const struct bd_frame *src)
{
    for (int row = 0; row < area->plan.small_height; row += ROWS) {
        average_band(area, src, row);
        store(area, dst, row);
    }
}
