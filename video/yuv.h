/* A picture as it was decoded: luma and chroma, in the decoder's memory. Threads share it by
 * counted references. */
#ifndef BD_VIDEO_YUV_H
#define BD_VIDEO_YUV_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "video/yuv_rgb.h"
#include <backdrop/status.h>

struct bd_device;

struct bd_yuv {
    int width, height;    /* of luma */
    int shift_x, shift_y; /* a chroma sample covers 2^shift_x x 2^shift_y pixels */
    int step;             /* bytes from a chroma sample to the next in its row: 2 in NV12, else 1 */
    const uint8_t *data[3]; /* Y, U, V */
    int64_t stride[3];      /* bytes from one row of samples to the next */
    struct bd_yuv_matrix matrix;
    /* NULL: the samples are there. Else they are in the memory of a hardware decoder, whose reader
     * is open, or of `device`, until bd_yuv_fetch. */
    enum bd_status (*fetch)(struct bd_yuv *yuv);
    struct bd_device *device; /* in whose memory the samples are, fetched or not (device.h); NULL:
                                 in none */
    atomic_int references;
    void (*release)(struct bd_yuv *yuv); /* called when the last reference goes */
};

/* Bytes of the samples, fetched or not. */
static inline int64_t bd_yuv_bytes(const struct bd_yuv *yuv)
{
    const int64_t across = (yuv->width + (1 << yuv->shift_x) - 1) >> yuv->shift_x;
    const int64_t down = (yuv->height + (1 << yuv->shift_y) - 1) >> yuv->shift_y;
    return (int64_t)yuv->width * yuv->height + 2 * across * down;
}

static inline struct bd_yuv *bd_yuv_reference(struct bd_yuv *yuv)
{
    if (yuv)
        atomic_fetch_add(&yuv->references, 1);
    return yuv;
}

/* Fetches the samples, if that is still to be done. Not by two threads at the same time. Safe on
 * NULL. BD_ERROR_BACKEND if the decoder does not give them, BD_ERROR_MEMORY. */
static inline enum bd_status bd_yuv_fetch(struct bd_yuv *yuv)
{
    return yuv && yuv->fetch ? yuv->fetch(yuv) : BD_OK;
}

/* Gives one reference back. Safe on NULL. */
static inline void bd_yuv_release(struct bd_yuv *yuv)
{
    if (yuv && atomic_fetch_sub(&yuv->references, 1) == 1)
        yuv->release(yuv);
}

/* Pixel (x, y) in `channels` bytes: 1 gray, 3 RGB. */
static inline void bd_yuv_pixel(const struct bd_yuv *yuv, int x, int y, int channels,
                                uint8_t *pixel)
{
    const struct bd_yuv_matrix *m = &yuv->matrix;
    int16_t luma =
        bd_yuv_luma(m, (int16_t)(bd_yuv_unit * yuv->data[0][(int64_t)y * yuv->stride[0] + x]));
    if (channels == 1) {
        pixel[0] = bd_yuv_level(luma);
        return;
    }
    int64_t row = y >> yuv->shift_y, at = (int64_t)(x >> yuv->shift_x) * yuv->step;
    int16_t u = bd_yuv_chroma((int16_t)(bd_yuv_unit * yuv->data[1][row * yuv->stride[1] + at]));
    int16_t v = bd_yuv_chroma((int16_t)(bd_yuv_unit * yuv->data[2][row * yuv->stride[2] + at]));
    pixel[0] = bd_yuv_red(m, luma, v);
    pixel[1] = bd_yuv_green(m, luma, u, v);
    pixel[2] = bd_yuv_blue(m, luma, u);
}

#endif
