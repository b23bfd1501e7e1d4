#include "app/view/convert.h"

#include <stddef.h>

int bd_view_reduced(int side, int factor)
{
    return (side + factor - 1) / factor;
}

static uint32_t pack(uint32_t a, uint32_t r, uint32_t g, uint32_t b)
{
    return a << 24 | r << 16 | g << 8 | b;
}

static void copy_row(uint32_t *dst, const uint8_t *p, int width, enum bd_pixel_format format)
{
    switch (format) {
    case BD_GRAY8:
        for (int x = 0; x < width; x++)
            dst[x] = pack(255, p[x], p[x], p[x]);
        break;
    case BD_RGB24:
        for (int x = 0; x < width; x++, p += 3)
            dst[x] = pack(255, p[0], p[1], p[2]);
        break;
    case BD_RGBA32:
        for (int x = 0; x < width; x++, p += 4)
            dst[x] = pack(p[3], p[0], p[1], p[2]);
        break;
    }
}

/* The average of a block of width x height pixels at p. */
static uint32_t average(const uint8_t *p, ptrdiff_t stride, int width, int height,
                        enum bd_pixel_format format, bool binary)
{
    uint32_t a = 0, r = 0, g = 0, b = 0, n = (uint32_t)(width * height);
    for (int y = 0; y < height; y++, p += stride) {
        const uint8_t *q = p;
        for (int x = 0; x < width; x++, q += format) {
            uint32_t weight = format == BD_RGBA32 ? q[3] : 1;
            a += weight;
            r += q[0] * weight;
            if (format != BD_GRAY8) {
                g += q[1] * weight;
                b += q[2] * weight;
            }
        }
    }
    if (binary)
        r = 2 * r >= 255 * n ? 255 * a : 0;
    if (format == BD_GRAY8)
        g = b = r;
    if (a == 0)
        return 0;
    return pack(format == BD_RGBA32 ? a / n : 255, r / a, g / a, b / a);
}

static void reduce_row(uint32_t *dst, const struct bd_frame *src, int y, int factor, bool binary)
{
    int height = src->height - y < factor ? src->height - y : factor;
    const uint8_t *p = src->data + y * src->stride;
    for (int x = 0; x < src->width; x += factor) {
        int width = src->width - x < factor ? src->width - x : factor;
        *dst++ = average(p + (ptrdiff_t)x * src->format, (ptrdiff_t)src->stride, width, height,
                         src->format, binary);
    }
}

void bd_view_convert(void *dst, int pitch, const struct bd_frame *src, int factor, bool binary)
{
    for (int y = 0; y < src->height; y += factor) {
        uint32_t *row = (uint32_t *)((uint8_t *)dst + (ptrdiff_t)(y / factor) * pitch);
        if (factor == 1)
            copy_row(row, src->data + y * src->stride, src->width, src->format);
        else
            reduce_row(row, src, y, factor, binary);
    }
}
