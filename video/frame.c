#include "video/frame.h"

#include <stdlib.h>
#include <string.h>

#include "video/frame_pool.h"
#include "video/yuv.h"

int64_t bd_frame_stride(int width, enum bd_pixel_format format)
{
    return ((int64_t)width * format + 63) / 64 * 64;
}

enum bd_status bd_frame_create(struct bd_frame *frame, int width, int height,
                               enum bd_pixel_format format)
{
    memset(frame, 0, sizeof *frame);
    if (width < 1 || height < 1)
        return bd_fail(BD_ERROR_ARGUMENT, "frame size %d x %d: both sides must be at least 1",
                       width, height);
    int64_t stride = bd_frame_stride(width, format);
    uint8_t *data = aligned_alloc(64, (size_t)(stride * height + bd_frame_padding));
    if (!data)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a frame of %d x %d", width, height);
    *frame = (struct bd_frame){
        .width = width, .height = height, .format = format, .stride = stride, .data = data
    };
    return BD_OK;
}

void bd_frame_destroy(struct bd_frame *frame)
{
    if (frame->shared)
        bd_pixels_release(frame->shared);
    else
        free(frame->data);
    bd_yuv_release(frame->yuv);
    memset(frame, 0, sizeof *frame);
}

enum bd_status bd_frame_ensure(struct bd_frame *frame, int width, int height,
                               enum bd_pixel_format format)
{
    bd_frame_set_yuv(frame, NULL);
    if (frame->data && !frame->shared && frame->width == width && frame->height == height &&
        frame->format == format)
        return BD_OK;
    bd_frame_destroy(frame);
    return bd_frame_create(frame, width, height, format);
}

void bd_frame_set_yuv(struct bd_frame *frame, struct bd_yuv *yuv)
{
    bd_yuv_release(frame->yuv);
    frame->yuv = yuv;
}

void bd_frame_copy_times(struct bd_frame *dst, const struct bd_frame *src)
{
    dst->index = src->index;
    dst->pts = src->pts;
    dst->duration = src->duration;
}

enum bd_status bd_frame_copy(struct bd_frame *dst, const struct bd_frame *src)
{
    enum bd_status status = BD_OK;
    if (src->data)
        status = bd_frame_ensure(dst, src->width, src->height, src->format);
    else
        bd_frame_destroy(dst);
    if (status != BD_OK)
        return status;
    for (int y = 0; src->data && y < src->height; y++)
        memcpy(dst->data + y * dst->stride, src->data + y * src->stride,
               (size_t)src->width * src->format);
    dst->width = src->width;
    dst->height = src->height;
    dst->format = src->format;
    bd_frame_set_yuv(dst, bd_yuv_reference(src->yuv));
    bd_frame_copy_times(dst, src);
    return BD_OK;
}

enum bd_status bd_frame_share(struct bd_frame *dst, const struct bd_frame *src)
{
    if (!src->shared)
        return bd_frame_copy(dst, src);
    bd_frame_destroy(dst);
    *dst = *src;
    bd_pixels_reference(dst->shared);
    bd_yuv_reference(dst->yuv);
    return BD_OK;
}

int64_t bd_frame_bytes(const struct bd_frame *frame)
{
    return (frame->data ? frame->stride * frame->height : 0) +
           (frame->yuv ? bd_yuv_bytes(frame->yuv) : 0);
}

int64_t bd_mask_pixels(const struct bd_frame *mask)
{
    int64_t count = 0;
    for (int y = 0; y < mask->height; y++) {
        const uint8_t *row = mask->data + (int64_t)y * mask->stride;
        unsigned in_row = 0;
        for (int x = 0; x < mask->width; x++)
            in_row += row[x] & 1;
        count += in_row;
    }
    return count;
}
