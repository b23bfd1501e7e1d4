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

struct bd_frame {
    int width, height; /* pixels */
    enum bd_pixel_format format;
    int64_t stride;   /* bytes from one row to the next, >= width * format */
    uint8_t *data;    /* height * stride bytes, owned by the frame */
    int64_t index;    /* 0-based number of the frame in its stream */
    int64_t pts;      /* presentation time in units of the stream's time_base */
    int64_t duration; /* same units; 0 where unknown */
};

/* Allocates the pixels (not cleared). On failure *frame is all zero. Rows are 64-byte aligned. */
enum bd_status bd_frame_create(struct bd_frame *frame, int width, int height,
                               enum bd_pixel_format format);

/* Frees the pixels and zeroes the struct. Safe on an all-zero frame. */
void bd_frame_destroy(struct bd_frame *frame);

/* Makes `dst` hold the pixels, size, format and times of `src`, reallocating only if the size or
 * the format differs. `dst` must be all zero or created. */
enum bd_status bd_frame_copy(struct bd_frame *dst, const struct bd_frame *src);

/* Copies index, pts and duration. */
void bd_frame_copy_times(struct bd_frame *dst, const struct bd_frame *src);

/* Makes sure that `frame` has this size and format; its pixels are undefined when it had not. */
enum bd_status bd_frame_ensure(struct bd_frame *frame, int width, int height,
                               enum bd_pixel_format format);

#endif
