/* What a GPU does with pictures that its decoder left in its memory, so that only what is small, or
 * is written, comes to the host. Such a picture is a bd_yuv (yuv.h) whose `device` is set. Results
 * equal those of area.h and upscale.h to the bit. Functions may be called by any thread. */
#ifndef BD_VIDEO_DEVICE_H
#define BD_VIDEO_DEVICE_H

#include <stdbool.h>

#include "video/upscale.h"
#include "video/yuv.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bd_device;

/* Memory and tables for pictures of one size, made at the first use and again for another size; one
 * thread at a time. */
struct bd_device_work;

struct bd_picture_ops {
    /* Copies a picture out of the decoder, which may have its surface back when this returns.
     * surface->data are addresses on the GPU, written by work that was enqueued on the legacy
     * default stream. *yuv has one reference, its samples are on the GPU until bd_yuv_fetch, and it
     * must be gone before the device is closed. BD_ERROR_UNSUPPORTED where these addresses cannot
     * be used by this device, BD_ERROR_MEMORY, BD_ERROR_BACKEND. */
    enum bd_status (*take)(struct bd_device *device, struct bd_yuv **yuv,
                           const struct bd_yuv *surface);

    /* Fills the pixels of `small` (gray or RGB, at most as large as the picture) with averages of
     * areas, as bd_area_average. BD_ERROR_MEMORY, BD_ERROR_BACKEND. */
    enum bd_status (*shrink)(struct bd_device *device, struct bd_device_work **work,
                             struct bd_frame *small, const struct bd_yuv *yuv);

    /* As bd_upscale_mask. BD_ERROR_MEMORY, BD_ERROR_BACKEND. */
    enum bd_status (*enlarge)(struct bd_device *device, struct bd_device_work **work,
                              struct bd_frame *mask, const struct bd_yuv *input,
                              const struct bd_small_result *small);

    void (*free_work)(struct bd_device_work **work); /* safe on NULL in *work */

    /* To be called before anything else makes the GPU's context, where its decoders will be used:
     * it shall be one that FFmpeg shares. */
    void (*prepare)(struct bd_device *device);

    /* Memory of the host that the GPU reads and writes: pictures in it are not copied on the way up
     * or down. BD_ERROR_MEMORY, BD_ERROR_BACKEND. */
    enum bd_status (*allocate)(struct bd_device *device, void **memory, size_t bytes);
    void (*deallocate)(void *memory); /* safe on NULL */

    /* Around what opens, empties and closes decoders of the GPU: they wait for all of it then,
     * which others must know. By several threads, and more than once by one of them. */
    void (*begin_waiting)(void);
    void (*end_waiting)(void);

    void (*close)(struct bd_device **device); /* nulls */
};

/* The first member of every device. */
struct bd_device {
    const struct bd_picture_ops *ops;
};

/* As these two functions; `device` may be NULL. */
static inline void bd_device_waits(struct bd_device *device, bool begins)
{
    if (device && begins)
        device->ops->begin_waiting();
    else if (device)
        device->ops->end_waiting();
}

/* The work of a caller whose pictures may come from one device, then from another. All zero at
 * first. */
struct bd_device_user {
    struct bd_device *device; /* that `work` is of; NULL: none so far */
    struct bd_device_work *work;
};

static inline void bd_device_leave(struct bd_device_user *user)
{
    if (user->device)
        user->device->ops->free_work(&user->work);
    user->device = NULL;
}

/* The work for pictures of that device. */
static inline struct bd_device_work **bd_device_enter(struct bd_device_user *user,
                                                      struct bd_device *device)
{
    if (user->device != device)
        bd_device_leave(user);
    user->device = device;
    return &user->work;
}

#ifdef __cplusplus
}
#endif
#endif
