/* The pictures of a separated frame: mask, background, foreground, overlay. Of full size, but for a
 * background that is wanted small. And the objects of the mask. */
#ifndef BD_APP_PIPELINE_PICTURES_H
#define BD_APP_PIPELINE_PICTURES_H

#include "app/pipeline/pipeline.h"
#include "video/device.h"

struct bd_pictures;

/* For frames of width x height that are processed as `settings` say, at most that large. `wants`:
 * bits of enum bd_want. `roi` (NULL: none) is the path of a picture, of any size: where it is black
 * nothing is foreground. Or it is polygons (app/shapes.h), outside of which nothing is.
 * BD_ERROR_ARGUMENT, after "--roi ", if it cannot be read. `threads` threads
 * enlarge masks, or `device`, for frames that are in its memory (video/device.h; may be NULL). */
enum bd_status bd_pictures_create(struct bd_pictures **pictures, int width, int height,
                                  const struct bd_separator_options *settings, unsigned wants,
                                  const char *roi, int threads, struct bd_device *device);
void bd_pictures_destroy(struct bd_pictures **pictures);

/* Memory of a mask. */
int64_t bd_pictures_mask_bytes(const struct bd_pictures *pictures);

/* Makes the wanted pictures of `frame`, and fills in those fields of *result. They are valid until
 * the next call. To keep mask or labels longer, bd_frame_share takes a reference, to be gone before
 * the device is closed. `settings` as for the creation, with the present threshold. */
enum bd_status bd_pictures_make(struct bd_pictures *pictures, struct bd_result *result,
                                const struct bd_frame *frame,
                                const struct bd_separation *separation,
                                const struct bd_separator_options *settings);

/* Finds the wanted objects of result->mask, fills in those fields of *result, and draws the wanted
 * boxes; objects are valid until the next call. For each frame, in order. With BD_WANT_LATER it may
 * run beside bd_pictures_make of later frames. */
enum bd_status bd_pictures_follow(struct bd_pictures *pictures, struct bd_result *result);

#endif
