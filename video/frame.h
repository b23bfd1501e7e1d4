/* One picture in memory. */
#ifndef BD_VIDEO_FRAME_H
#define BD_VIDEO_FRAME_H

#include <stdint.h>

#include <backdrop/status.h>

/* The value is the number of bytes of a pixel; samples are interleaved, 8 bits each. */
enum bd_pixel_format { BD_GRAY8 = 1, BD_RGB24 = 3, BD_RGBA32 = 4 };

struct bd_rational {
    int64_t num, den;
};

struct bd_yuv;
struct bd_pixels;

/* Bytes behind the last row: libswscale and encoders read beyond it. */
enum { bd_frame_padding = 64 };

struct bd_frame {
    int width, height; /* pixels */
    enum bd_pixel_format format;
    int64_t stride;     /* bytes from one row to the next, >= width * format */
    uint8_t *data;      /* height * stride bytes; NULL where `yuv` is enough */
    int64_t index;      /* 0-based number of the frame in its stream */
    int64_t pts;        /* presentation time in units of the stream's time_base */
    int64_t duration;   /* same units; 0 where unknown */
    struct bd_yuv *yuv; /* the picture as it was decoded (yuv.h: bd_yuv_fetch before its samples are
                           used), a reference of the frame's own; NULL: none */
    struct bd_pixels *shared; /* what has `data` (frame_pool.h), a reference of the frame's own;
                                 NULL: the frame owns `data` */
};

/* Allocates the pixels (not cleared). On failure *frame is all zero. Rows are 64-byte aligned. */
enum bd_status bd_frame_create(struct bd_frame *frame, int width, int height,
                               enum bd_pixel_format format);

/* Bytes from one row to the next, of frames that are created. */
int64_t bd_frame_stride(int width, enum bd_pixel_format format);

/* Frees the pixels or gives them back, gives the decoded picture back and zeroes the struct. Safe
 * on an all-zero frame. */
void bd_frame_destroy(struct bd_frame *frame);

/* Makes `dst` hold the pixels, size, format and times of `src`, reallocating only if the size or
 * the format differs or its pixels are shared, and a reference to its decoded picture. `dst` must
 * be all zero or created. */
enum bd_status bd_frame_copy(struct bd_frame *dst, const struct bd_frame *src);

/* The same without a copy where the pixels of `src` are shared: `dst` gets a reference. From then
 * on nobody writes to them. */
enum bd_status bd_frame_share(struct bd_frame *dst, const struct bd_frame *src);

/* Memory of its pixels and of its decoded picture. */
int64_t bd_frame_bytes(const struct bd_frame *frame);

/* The frame's time in seconds; `base` is its stream's. */
static inline double bd_frame_time(const struct bd_frame *frame, struct bd_rational base)
{
    return (double)frame->pts * (double)base.num / (double)base.den;
}

/* Copies index, pts and duration. */
void bd_frame_copy_times(struct bd_frame *dst, const struct bd_frame *src);

/* How many pixels of a mask (BD_GRAY8, 0 or 255) are 255. */
int64_t bd_mask_pixels(const struct bd_frame *mask);

/* Makes sure that `frame` has pixels of its own of this size and format, undefined when it had not,
 * and no decoded picture. */
enum bd_status bd_frame_ensure(struct bd_frame *frame, int width, int height,
                               enum bd_pixel_format format);

/* Gives the frame a decoded picture, whose reference it takes over, in place of the one that it
 * had.
 */
void bd_frame_set_yuv(struct bd_frame *frame, struct bd_yuv *yuv);

#endif
