#include "video/frame_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "video/device.h"

struct bd_pixels {
    struct bd_frame_pool *pool;
    uint8_t *data;
    atomic_int references;
    struct bd_pixels *next; /* of those that are free */
};

struct bd_frame_pool {
    struct bd_frame shape; /* of all pictures; without pixels */
    struct bd_device *device;
    pthread_mutex_t mutex; /* for what follows */
    struct bd_pixels *free;
    int users; /* the owner of the pool, and each picture that is not free */
};

enum bd_status bd_frame_pool_create(struct bd_frame_pool **pool, int width, int height,
                                    enum bd_pixel_format format, struct bd_device *device)
{
    *pool = NULL;
    if (width < 1 || height < 1)
        return bd_fail(BD_ERROR_ARGUMENT, "frame size %d x %d: both sides must be at least 1",
                       width, height);
    struct bd_frame_pool *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the pictures that threads share");
    self->shape = (struct bd_frame){
        .width = width, .height = height, .format = format, .stride = bd_frame_stride(width, format)
    };
    self->device = device;
    self->users = 1;
    pthread_mutex_init(&self->mutex, NULL);
    *pool = self;
    return BD_OK;
}

static void free_pixels(struct bd_frame_pool *pool, struct bd_pixels *pixels)
{
    if (pool->device)
        pool->device->ops->deallocate(pixels->data);
    else
        free(pixels->data);
    free(pixels);
}

static enum bd_status make_pixels(struct bd_pixels **pixels, struct bd_frame_pool *pool)
{
    struct bd_frame frame = { 0 };
    const struct bd_frame *shape = &pool->shape;
    struct bd_pixels *made = *pixels = calloc(1, sizeof *made);
    if (!made)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a picture that threads share");
    made->pool = pool;
    enum bd_status status = BD_OK;
    if (pool->device) {
        void *memory = NULL;
        status = pool->device->ops->allocate(
            pool->device, &memory, (size_t)(shape->stride * shape->height + bd_frame_padding));
        made->data = memory;
    } else {
        status = bd_frame_create(&frame, shape->width, shape->height, shape->format);
        made->data = frame.data;
    }
    if (status) {
        free(made);
        *pixels = NULL;
    }
    return status;
}

/* One user less, whose picture is free now (NULL: it had none). */
static void leave(struct bd_frame_pool *pool, struct bd_pixels *pixels)
{
    pthread_mutex_lock(&pool->mutex);
    if (pixels) {
        pixels->next = pool->free;
        pool->free = pixels;
    }
    bool last = --pool->users == 0;
    pthread_mutex_unlock(&pool->mutex);
    if (!last)
        return;
    while (pool->free) {
        struct bd_pixels *next = pool->free->next;
        free_pixels(pool, pool->free);
        pool->free = next;
    }
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

enum bd_status bd_frame_pool_take(struct bd_frame *frame, struct bd_frame_pool *pool)
{
    enum bd_status status = BD_OK;
    bd_frame_destroy(frame); /* its memory may be what is taken */
    pthread_mutex_lock(&pool->mutex);
    struct bd_pixels *pixels = pool->free;
    if (pixels)
        pool->free = pixels->next;
    pool->users++;
    pthread_mutex_unlock(&pool->mutex);
    if (!pixels)
        status = make_pixels(&pixels, pool);
    if (status) {
        leave(pool, NULL);
        return status;
    }
    atomic_store(&pixels->references, 1);
    *frame = pool->shape;
    frame->data = pixels->data;
    frame->shared = pixels;
    return BD_OK;
}

void bd_frame_pool_close(struct bd_frame_pool **pool)
{
    if (*pool)
        leave(*pool, NULL);
    *pool = NULL;
}

struct bd_pixels *bd_pixels_reference(struct bd_pixels *pixels)
{
    if (pixels)
        atomic_fetch_add(&pixels->references, 1);
    return pixels;
}

void bd_pixels_release(struct bd_pixels *pixels)
{
    if (pixels && atomic_fetch_sub(&pixels->references, 1) == 1)
        leave(pixels->pool, pixels);
}
