#include "app/view/convert.h"

#include <stddef.h>
#include <string.h>

#include "app/pipeline/overlay.h"
#include "video/yuv.h"

/* Pixels that are converted together, so that their chroma is in the cache. */
enum { BLOCK = 512 };

/* Rows that a thread makes at a time. */
enum { BAND = 32 };

/* Pixels from which on threads share a picture: one thread makes 1920x1080 in 2 ms. */
enum { large_picture = 1 << 20 };

static uint32_t pack(uint32_t a, uint32_t r, uint32_t g, uint32_t b)
{
    return a << 24 | r << 16 | g << 8 | b;
}

static void gray_row(uint32_t *restrict dst, const uint8_t *restrict p, int width)
{
    for (int x = 0; x < width; x++)
        dst[x] = 0xff000000u | p[x] * 0x010101u;
}

static void rgb_row(uint32_t *restrict dst, const uint8_t *restrict p, int width)
{
    for (int x = 0; x < width; x++)
        dst[x] = pack(255, p[3 * x], p[3 * x + 1], p[3 * x + 2]);
}

/* Every sample of a row of chroma for the pixels that it covers. */
static void spread(uint8_t *restrict out, const uint8_t *restrict in, int step, int shift,
                   int count)
{
    int x = 0;
    /* Most films. Compilers make vectors of a loop whose step they know. */
    if (shift == 1 && step == 1)
        for (; x + 1 < count; x += 2)
            out[x] = out[x + 1] = in[x / 2];
    else if (shift == 1 && step == 2)
        for (; x + 1 < count; x += 2)
            out[x] = out[x + 1] = in[x];
    for (; x < count; x++)
        out[x] = in[(ptrdiff_t)(x >> shift) * step];
}

static void yuv_block(uint32_t *restrict dst, const uint8_t *restrict y, const uint8_t *restrict u,
                      const uint8_t *restrict v, int count, struct bd_yuv_matrix m)
{
    for (int x = 0; x < count; x++) {
        int16_t luma = bd_yuv_luma(&m, (int16_t)(bd_yuv_unit * y[x]));
        int16_t b = bd_yuv_chroma((int16_t)(bd_yuv_unit * u[x]));
        int16_t r = bd_yuv_chroma((int16_t)(bd_yuv_unit * v[x]));
        dst[x] = pack(255, bd_yuv_red(&m, luma, r), bd_yuv_green(&m, luma, b, r),
                      bd_yuv_blue(&m, luma, b));
    }
}

static void yuv_row(uint32_t *dst, const struct bd_yuv *yuv, int y, int width)
{
    uint8_t u[BLOCK], v[BLOCK];
    const uint8_t *luma = yuv->data[0] + y * yuv->stride[0];
    const int64_t row = y >> yuv->shift_y;
    for (int x = 0; x < width; x += BLOCK) {
        int count = width - x < BLOCK ? width - x : BLOCK;
        int64_t at = (int64_t)(x >> yuv->shift_x) * yuv->step;
        spread(u, yuv->data[1] + row * yuv->stride[1] + at, yuv->step, yuv->shift_x, count);
        spread(v, yuv->data[2] + row * yuv->stride[2] + at, yuv->step, yuv->shift_x, count);
        yuv_block(dst + x, luma + x, u, v, count, yuv->matrix);
    }
}

static void frame_row(uint32_t *dst, const struct bd_frame *frame, int y)
{
    const uint8_t *row = frame->data ? frame->data + y * frame->stride : NULL;
    if (!row)
        yuv_row(dst, frame->yuv, y, frame->width);
    else if (frame->format == BD_GRAY8)
        gray_row(dst, row, frame->width);
    else
        rgb_row(dst, row, frame->width);
}

static void mask_row(uint32_t *restrict dst, const uint8_t *restrict mask, int width)
{
    for (int x = 0; x < width; x++)
        dst[x] = mask[x] >= 128 ? 0xffffffffu : 0xff000000u;
}

/* Alpha rises from 1 at a share of a half: below, most of the colour is the background's. What is
 * clear is black. */
static void cut_row(uint32_t *restrict dst, const uint8_t *restrict mask, int width)
{
    for (int x = 0; x < width; x++)
        dst[x] = mask[x] < 128 ? 0 : (dst[x] & 0xffffffu) | (uint32_t)(2 * mask[x] - 255) << 24;
}

/* The first pixel from x on whose share is not 0, or `width`. Most are 0: eight at a time. */
static int next_set(const uint8_t *mask, int x, int width)
{
    uint64_t eight = 0;
    for (; x + 8 <= width; x += 8) {
        memcpy(&eight, mask + x, 8);
        if (eight)
            break;
    }
    while (x < width && !mask[x])
        x++;
    return x;
}

static void tint_row(uint32_t *dst, const struct bd_frame *mask, int y)
{
    const uint8_t *row = mask->data + y * mask->stride;
    int width = mask->width;
    for (int x = next_set(row, 0, width); x < width; x = next_set(row, x + 1, width)) {
        if (row[x] < 128)
            continue;
        uint8_t rgb[3] = { (uint8_t)(dst[x] >> 16), (uint8_t)(dst[x] >> 8), (uint8_t)dst[x] };
        bd_overlay_tint(rgb, mask, x, y);
        dst[x] = pack(255, rgb[0], rgb[1], rgb[2]);
    }
}

const struct bd_frame *bd_view_base(const struct bd_view_parts *parts, enum bd_pane pane)
{
    return pane == BD_PANE_BACKGROUND ? parts->background
           : pane == BD_PANE_MASK     ? parts->mask
                                      : parts->input;
}

static void make_row(uint32_t *row, const struct bd_view_parts *parts, enum bd_pane pane, int y)
{
    const struct bd_frame *base = bd_view_base(parts, pane), *mask = parts->mask;
    if (pane == BD_PANE_MASK)
        mask_row(row, base->data + y * base->stride, base->width);
    else
        frame_row(row, base, y);
    if (pane == BD_PANE_FOREGROUND)
        cut_row(row, mask->data + y * mask->stride, base->width);
    if (pane == BD_PANE_OVERLAY)
        tint_row(row, mask, y);
}

struct job {
    uint8_t *dst;
    int pitch, height;
    const struct bd_view_parts *parts;
    enum bd_pane pane;
};

static void make_band(void *user, int64_t band, int thread)
{
    const struct job *job = user;
    int first = (int)band * BAND;
    (void)thread;
    for (int y = first; y < first + BAND && y < job->height; y++)
        make_row((uint32_t *)(job->dst + (ptrdiff_t)y * job->pitch), job->parts, job->pane, y);
}

void bd_view_convert(struct bd_pool *pool, void *dst, int pitch, const struct bd_view_parts *parts,
                     enum bd_pane pane)
{
    const struct bd_frame *base = bd_view_base(parts, pane);
    struct job job = { dst, pitch, base->height, parts, pane };
    int bands = (base->height + BAND - 1) / BAND;
    if ((int64_t)base->width * base->height >= large_picture) {
        bd_pool_run(pool, make_band, &job, bands);
        return;
    }
    for (int band = 0; band < bands; band++)
        make_band(&job, band, 0);
}
