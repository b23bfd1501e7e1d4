#include "video/yuv_convert.h"

#include <string.h>

#include "base/shuffle.h"
#include "video/yuv.h"

/* Pixels that are converted at a time: all that is between stays in the level-1 cache. */
enum { BLOCK = 512 };

bool bd_yuv_convert_suits(const struct bd_frame *dst, const struct bd_frame *src)
{
    const bool to = dst->format == BD_GRAY8 || dst->format == BD_RGB24;
    return src->yuv && to && dst->width == src->yuv->width && dst->height == src->yuv->height;
}

/* ---- loops, in the form that compilers vectorise -----------------------------------------------
 */

void bd_yuv_make_gray(uint8_t *restrict out, const int16_t *restrict y, int count,
                      struct bd_yuv_matrix m)
{
    for (int i = 0; i < count; i++)
        out[i] = bd_yuv_level(bd_yuv_luma(&m, y[i]));
}

void bd_yuv_make_colours(uint8_t *restrict red, uint8_t *restrict green, uint8_t *restrict blue,
                         const int16_t *restrict y, const int16_t *restrict u,
                         const int16_t *restrict v, int count, struct bd_yuv_matrix m)
{
    for (int i = 0; i < count; i++) {
        int16_t luma = bd_yuv_luma(&m, y[i]), b = bd_yuv_chroma(u[i]), r = bd_yuv_chroma(v[i]);
        red[i] = bd_yuv_red(&m, luma, r);
        green[i] = bd_yuv_green(&m, luma, b, r);
        blue[i] = bd_yuv_blue(&m, luma, b);
    }
}

static void take_luma(int16_t *restrict out, const uint8_t *restrict in, int count)
{
    for (int x = 0; x < count; x++)
        out[x] = (int16_t)(bd_yuv_unit * in[x]);
}

/* The chroma of `count` pixels, the first of which has the sample at `in`. Of pixels in pairs, that
 * of the last pair is whole: out has room for an even number. */
static void take_chroma(int16_t *restrict out, const uint8_t *restrict in, int step, int shift,
                        int count)
{
    if (shift != 1)
        for (int x = 0; x < count; x++)
            out[x] = (int16_t)(bd_yuv_unit * in[(x >> shift) * step]);
    else
        for (int i = 0; 2 * i < count; i++)
            out[2 * i] = out[2 * i + 1] = (int16_t)(bd_yuv_unit * in[i * step]);
}

/* GCC's and clang's vector extension. */
enum { LANES = 16, MANY = 2 * LANES };
typedef uint8_t bytes __attribute__((vector_size(LANES)));

/* The even bytes of a and b, or with `from` 1 the odd ones. */
#define UNZIP(a, b, from)                                                                        \
    BD_SHUFFLE(bytes, a, b, (from), (from) + 2, (from) + 4, (from) + 6, (from) + 8, (from) + 10, \
               (from) + 12, (from) + 14, (from) + 16, (from) + 18, (from) + 20, (from) + 22,     \
               (from) + 24, (from) + 26, (from) + 28, (from) + 30)

/* Pixels of three bytes, MANY at a time. A round moves byte i of those of all colours to i / 2, or
 * if i is odd to (i + 95) / 2: that is i / 2 modulo 95. After five it is at i / 32, which is 3 i.
 */
static void interleave(uint8_t *out, const uint8_t *red, const uint8_t *green, const uint8_t *blue,
                       int count)
{
    for (int x = 0; x < count; x += MANY) {
        bytes in[6], turned[6];
        for (int i = 0; i < 2; i++) {
            memcpy(&in[i], red + x + i * LANES, sizeof *in);
            memcpy(&in[i + 2], green + x + i * LANES, sizeof *in);
            memcpy(&in[i + 4], blue + x + i * LANES, sizeof *in);
        }
        for (int round = 0; round < 5; round++) {
            for (int i = 0; i < 3; i++) {
                turned[i] = UNZIP(in[2 * i], in[2 * i + 1], 0);
                turned[i + 3] = UNZIP(in[2 * i], in[2 * i + 1], 1);
            }
            memcpy(in, turned, sizeof in);
        }
        memcpy(out + 3 * x, in, sizeof in);
    }
}

/* ---- rows --------------------------------------------------------------------------------------
 */

/* `count` pixels of a row from pixel (x, y) on. */
static void convert_block(uint8_t *out, int channels, const struct bd_yuv *yuv, int x, int y,
                          int count)
{
    int16_t luma[BLOCK], chroma[2][BLOCK];
    uint8_t colours[3][BLOCK], pixels[3 * BLOCK];
    take_luma(luma, yuv->data[0] + y * yuv->stride[0] + x, count);
    if (channels == 1) {
        bd_yuv_make_gray(out, luma, count, yuv->matrix);
        return;
    }
    for (int c = 0; c < 2; c++) {
        const uint8_t *row = yuv->data[1 + c] + (y >> yuv->shift_y) * yuv->stride[1 + c];
        take_chroma(chroma[c], row + (int64_t)(x >> yuv->shift_x) * yuv->step, yuv->step,
                    yuv->shift_x, count);
    }
    bd_yuv_make_colours(colours[0], colours[1], colours[2], luma, chroma[0], chroma[1], count,
                        yuv->matrix);
    const bool whole = count % MANY == 0;
    interleave(whole ? out : pixels, colours[0], colours[1], colours[2], count);
    if (!whole)
        memcpy(out, pixels, 3 * (size_t)count);
}

void bd_yuv_convert(struct bd_frame *dst, const struct bd_frame *src)
{
    const int channels = (int)dst->format;
    for (int y = 0; y < dst->height; y++)
        for (int x = 0; x < dst->width; x += BLOCK) {
            const int count = dst->width - x < BLOCK ? dst->width - x : BLOCK;
            convert_block(dst->data + y * dst->stride + (int64_t)x * channels, channels, src->yuv,
                          x, y, count);
        }
}
