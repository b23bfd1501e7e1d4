/* Pictures of one size whose pixels threads share by counted references. When the last reference to
 * a picture has gone, the next picture gets its memory. */
#ifndef BD_VIDEO_FRAME_POOL_H
#define BD_VIDEO_FRAME_POOL_H

#include "video/frame.h"

struct bd_device;
struct bd_frame_pool;
struct bd_pixels; /* memory of one picture */

/* Memory is allocated when a picture is taken and none is free: by `device` (video/device.h), which
 * must then be closed after the last reference has gone, or, where it is NULL, as by
 * bd_frame_create. BD_ERROR_ARGUMENT, BD_ERROR_MEMORY. */
enum bd_status bd_frame_pool_create(struct bd_frame_pool **pool, int width, int height,
                                    enum bd_pixel_format format, struct bd_device *device);

/* Gives `frame`, which must be all zero or created, a picture with undefined pixels in place of
 * what it had. They may be written until the frame is shared (bd_frame_share). By one thread at a
 * time. BD_ERROR_MEMORY, and what the device returns: *frame is all zero then. */
enum bd_status bd_frame_pool_take(struct bd_frame *frame, struct bd_frame_pool *pool);

/* Nulls. Pictures that are in use stay: the memory is freed with the last of them. Safe on NULL. */
void bd_frame_pool_close(struct bd_frame_pool **pool);

/* One more reference to frame->shared, and its return. Any thread. Safe on NULL. */
struct bd_pixels *bd_pixels_reference(struct bd_pixels *pixels);
void bd_pixels_release(struct bd_pixels *pixels);

#endif
