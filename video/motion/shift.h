/* Subpixel shifts of pictures and masks. */
#ifndef BD_VIDEO_MOTION_SHIFT_H
#define BD_VIDEO_MOTION_SHIFT_H

#include <math.h>
#include <stdint.h>

#include <backdrop/status.h>

/* Pixels to the right and down by which the scene has moved in the picture. */
struct bd_shift {
    double x, y;
};

static inline struct bd_shift bd_shift_minus(struct bd_shift a, struct bd_shift b)
{
    struct bd_shift difference = { a.x - b.x, a.y - b.y };
    return difference;
}

/* The larger of both directions. */
static inline double bd_shift_size(struct bd_shift shift)
{
    return fmax(fabs(shift.x), fabs(shift.y));
}

/* Values outside of the input picture. */
enum bd_shift_border {
    BD_SHIFT_REPLICATE, /* the nearest row or column of the input */
    BD_SHIFT_KEEP       /* the output keeps its old values there */
};

struct bd_shifter;

/* For pictures of width x height with 1 to 4 interleaved channels. BD_ERROR_ARGUMENT for sizes
 * below 1 and other channels, BD_ERROR_MEMORY. */
enum bd_status bd_shifter_create(struct bd_shifter **shifter, int width, int height, int channels);
void bd_shifter_destroy(struct bd_shifter **shifter);

/* Undoes a shift: out(x, y) = in(x + shift.x, y + shift.y), by a cubic through four pixels in each
 * direction (Catmull-Rom; Keys 1981), to 1/16 of a pixel's place. `in` and `out`: height rows,
 * `stride` bytes apart, of width x channels bytes, at most as many channels as at the creation; not
 * the same memory. A shift by more than the picture's sides is one by the sides. Integer
 * arithmetic: the same everywhere. */
void bd_shift_picture(struct bd_shifter *shifter, uint8_t *out, int64_t out_stride,
                      const uint8_t *in, int64_t in_stride, int channels, struct bd_shift shift,
                      enum bd_shift_border border);

/* The same for masks (one channel, 0 or 255): 255 where half of what is interpolated between the
 * four nearest is set. Replicates. */
void bd_shift_mask(struct bd_shifter *shifter, uint8_t *out, int64_t out_stride, const uint8_t *in,
                   int64_t in_stride, struct bd_shift shift);

#endif
