/* A picture as it was decoded: luma and chroma, in the decoder's memory. Threads share it by
 * counted references. Its conversion to RGB is in integers, so that it gives the same bytes on
 * every machine, whether a pixel is converted alone, in a row, or after averaging (area.h). */
#ifndef BD_VIDEO_YUV_H
#define BD_VIDEO_YUV_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <backdrop/status.h>

/* What makes RGB of full range from Y, U and V. Factors of luma are in units of 2^-14, those of
 * chroma of 2^-13. */
struct bd_yuv_matrix {
    int16_t black; /* the luma of black: 0 or 16 */
    int16_t luma;
    int16_t red_v, green_u, green_v, blue_u;
};

struct bd_yuv {
    int width, height;    /* of luma */
    int shift_x, shift_y; /* a chroma sample covers 2^shift_x x 2^shift_y pixels */
    int step;             /* bytes from a chroma sample to the next in its row: 2 in NV12, else 1 */
    const uint8_t *data[3]; /* Y, U, V */
    int64_t stride[3];      /* bytes from one row of samples to the next */
    struct bd_yuv_matrix matrix;
    /* NULL: the samples are there. Else they are in the memory of a hardware decoder, whose reader
     * is open, until bd_yuv_fetch. */
    enum bd_status (*fetch)(struct bd_yuv *yuv);
    atomic_int references;
    void (*release)(struct bd_yuv *yuv); /* called when the last reference goes */
};

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

/* Luma and chroma are in units of 1/128 here, as averages have them: bd_yuv_unit times a sample. */
enum { bd_yuv_unit = 128, bd_yuv_bits = 5 };

/* The upper half of a product of 32 bits. */
static inline int16_t bd_yuv_high(int16_t a, int16_t b)
{
    return (int16_t)((int32_t)a * b >> 16);
}

/* The part of luma in each colour, and chroma as the other factors want it. Both, times a factor,
 * are in units of 2^-bd_yuv_bits of a level. */
static inline int16_t bd_yuv_luma(const struct bd_yuv_matrix *m, int16_t y)
{
    return bd_yuv_high((int16_t)(y - bd_yuv_unit * m->black), m->luma);
}

static inline int16_t bd_yuv_chroma(int16_t u)
{
    return (int16_t)(2 * (u - bd_yuv_unit * 128));
}

/* Rounded and clipped to a byte, in 16 bits throughout, so that compilers make vectors of it. */
static inline uint8_t bd_yuv_level(int16_t sum)
{
    const int16_t most = 255 << bd_yuv_bits, half = 1 << (bd_yuv_bits - 1);
    int16_t low = sum < most ? sum : most, both = low > 0 ? low : 0;
    return (uint8_t)((uint16_t)(both + half) >> bd_yuv_bits);
}

/* From bd_yuv_luma, and bd_yuv_chroma of U and V. */
static inline uint8_t bd_yuv_red(const struct bd_yuv_matrix *m, int16_t luma, int16_t v)
{
    return bd_yuv_level((int16_t)(luma + bd_yuv_high(v, m->red_v)));
}

static inline uint8_t bd_yuv_green(const struct bd_yuv_matrix *m, int16_t luma, int16_t u,
                                   int16_t v)
{
    return bd_yuv_level((int16_t)(luma - bd_yuv_high(u, m->green_u) - bd_yuv_high(v, m->green_v)));
}

static inline uint8_t bd_yuv_blue(const struct bd_yuv_matrix *m, int16_t luma, int16_t u)
{
    return bd_yuv_level((int16_t)(luma + bd_yuv_high(u, m->blue_u)));
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
