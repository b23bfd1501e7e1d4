/* From luma and chroma to RGB, in integers, so that it gives the same bytes on every machine and on
 * GPUs, whether a pixel is converted alone, in a row, or after averaging (area.h). */
#ifndef BD_VIDEO_YUV_RGB_H
#define BD_VIDEO_YUV_RGB_H

#include <stdint.h>

#ifdef __CUDACC__
#define BD_YUV_INLINE static inline __host__ __device__
#else
#define BD_YUV_INLINE static inline
#endif

/* What makes RGB of full range from Y, U and V. Factors of luma are in units of 2^-14, those of
 * chroma of 2^-13. */
struct bd_yuv_matrix {
    int16_t black; /* the luma of black: 0 or 16 */
    int16_t luma;
    int16_t red_v, green_u, green_v, blue_u;
};

/* Luma and chroma are in units of 1/128 here, as averages have them: bd_yuv_unit times a sample. */
enum { bd_yuv_unit = 128, bd_yuv_bits = 5 };

/* The upper half of a product of 32 bits. */
BD_YUV_INLINE int16_t bd_yuv_high(int16_t a, int16_t b)
{
    return (int16_t)((int32_t)a * b >> 16);
}

/* The part of luma in each colour, and chroma as the other factors want it. Both, times a factor,
 * are in units of 2^-bd_yuv_bits of a level. */
BD_YUV_INLINE int16_t bd_yuv_luma(const struct bd_yuv_matrix *m, int16_t y)
{
    return bd_yuv_high((int16_t)(y - bd_yuv_unit * m->black), m->luma);
}

BD_YUV_INLINE int16_t bd_yuv_chroma(int16_t u)
{
    return (int16_t)(2 * (u - bd_yuv_unit * 128));
}

/* Rounded and clipped to a byte, in 16 bits throughout, so that compilers make vectors of it. */
BD_YUV_INLINE uint8_t bd_yuv_level(int16_t sum)
{
    const int16_t most = 255 << bd_yuv_bits, half = 1 << (bd_yuv_bits - 1);
    int16_t low = sum < most ? sum : most, both = low > 0 ? low : 0;
    return (uint8_t)((uint16_t)(both + half) >> bd_yuv_bits);
}

/* From bd_yuv_luma, and bd_yuv_chroma of U and V. */
BD_YUV_INLINE uint8_t bd_yuv_red(const struct bd_yuv_matrix *m, int16_t luma, int16_t v)
{
    return bd_yuv_level((int16_t)(luma + bd_yuv_high(v, m->red_v)));
}

BD_YUV_INLINE uint8_t bd_yuv_green(const struct bd_yuv_matrix *m, int16_t luma, int16_t u,
                                   int16_t v)
{
    return bd_yuv_level((int16_t)(luma - bd_yuv_high(u, m->green_u) - bd_yuv_high(v, m->green_v)));
}

BD_YUV_INLINE uint8_t bd_yuv_blue(const struct bd_yuv_matrix *m, int16_t luma, int16_t u)
{
    return bd_yuv_level((int16_t)(luma + bd_yuv_high(u, m->blue_u)));
}

#endif
