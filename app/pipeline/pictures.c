#include "app/pipeline/pictures.h"

#include <stdlib.h>
#include <string.h>

#include "app/pipeline/overlay.h"
#include "app/pipeline/roi.h"
#include "app/pipeline/upscale.h"
#include "base/pool.h"
#include "video/scale.h"

struct bd_pictures {
    unsigned wants;
    struct bd_scaler *enlarge;
    struct bd_upscaler *upscaler; /* NULL: processed at full size */
    struct bd_pool *pool;         /* the upscaler's */
    struct bd_frame small_background;
    struct bd_frame mask, labels, background, foreground, overlay;
};

static enum bd_status open_frames(struct bd_pictures *self, int width, int height,
                                  enum bd_pixel_format format)
{
    enum bd_status status = bd_frame_create(&self->mask, width, height, BD_GRAY8);
    if (!status && (self->wants & BD_WANT_SHADOWS))
        status = bd_frame_create(&self->labels, width, height, BD_GRAY8);
    if (!status && (self->wants & BD_WANT_BACKGROUND))
        status = bd_frame_create(&self->background, width, height, format);
    if (!status && (self->wants & BD_WANT_FOREGROUND))
        status = bd_frame_create(&self->foreground, width, height, BD_RGBA32);
    if (!status && (self->wants & BD_WANT_OVERLAY))
        status = bd_frame_create(&self->overlay, width, height, BD_RGB24);
    return status;
}

enum bd_status bd_pictures_create(struct bd_pictures **pictures, int width, int height,
                                  const struct bd_separator_options *settings, unsigned wants,
                                  int threads)
{
    enum bd_pixel_format format = (enum bd_pixel_format)settings->channels;
    enum { most = 4 }; /* threads: one frame of 1920x1080 takes less than a millisecond */
    bool small = settings->width != width || settings->height != height;
    *pictures = NULL;
    struct bd_pictures *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the pictures");
    self->wants = wants;
    enum bd_status status = open_frames(self, width, height, format);
    if (!status && small)
        status = bd_pool_create(&self->pool, threads && threads < most ? threads : most);
    if (!status && small)
        status = bd_upscaler_create(&self->upscaler, self->pool, width, height, settings->width,
                                    settings->height);
    if (!status && small && (wants & BD_WANT_BACKGROUND))
        status =
            bd_frame_create(&self->small_background, settings->width, settings->height, format);
    if (status)
        bd_pictures_destroy(&self);
    *pictures = self;
    return status;
}

void bd_pictures_destroy(struct bd_pictures **pictures)
{
    struct bd_pictures *self = *pictures;
    if (!self)
        return;
    bd_scaler_destroy(&self->enlarge);
    bd_upscaler_destroy(&self->upscaler);
    bd_pool_destroy(&self->pool);
    bd_frame_destroy(&self->small_background);
    bd_frame_destroy(&self->mask);
    bd_frame_destroy(&self->labels);
    bd_frame_destroy(&self->background);
    bd_frame_destroy(&self->foreground);
    bd_frame_destroy(&self->overlay);
    free(self);
    *pictures = NULL;
}

static void copy_tight(struct bd_frame *frame, const uint8_t *data)
{
    size_t bytes = (size_t)frame->width * (size_t)frame->format;
    for (int y = 0; y < frame->height; y++)
        memcpy(frame->data + (int64_t)y * frame->stride, data + (size_t)y * bytes, bytes);
}

static enum bd_status make_background(struct bd_pictures *self, const uint8_t *background)
{
    if (!self->upscaler) {
        copy_tight(&self->background, background);
        return BD_OK;
    }
    copy_tight(&self->small_background, background); /* libswscale wants aligned rows */
    return bd_scale(&self->enlarge, &self->background, &self->small_background, BD_SCALE_BILINEAR);
}

static void make_mask(struct bd_pictures *self, const struct bd_frame *frame,
                      const struct bd_separation *separation,
                      const struct bd_separator_options *settings)
{
    struct bd_small_result small = { .width = settings->width,
                                     .height = settings->height,
                                     .channels = settings->channels,
                                     .background = separation->background,
                                     .difference = separation->difference,
                                     .mask = separation->mask,
                                     .threshold = settings->threshold };
    if (self->upscaler)
        bd_upscale_mask(self->upscaler, &self->mask, frame, &small);
    else
        copy_tight(&self->mask, separation->mask);
    bd_frame_copy_times(&self->mask, frame);
}

/* The mask, with shadows where it is black and the region of interest is not. */
static void make_labels(struct bd_pictures *self, const uint8_t *shadow, const struct bd_frame *roi,
                        const struct bd_separator_options *settings)
{
    enum { shadow_label = 127 };
    const struct bd_frame *mask = &self->mask;
    for (int y = 0; y < mask->height; y++) {
        const uint8_t *in = mask->data + (int64_t)y * mask->stride;
        int64_t row = (int64_t)y * settings->height / mask->height;
        uint8_t *out = self->labels.data + (int64_t)y * self->labels.stride;
        for (int x = 0; x < mask->width; x++) {
            int64_t column = (int64_t)x * settings->width / mask->width;
            out[x] = in[x] ? 255 : shadow[row * settings->width + column] ? shadow_label : 0;
        }
    }
    bd_roi_apply(&self->labels, roi);
    bd_frame_copy_times(&self->labels, mask);
}

enum bd_status bd_pictures_make(struct bd_pictures *self, struct bd_result *result,
                                const struct bd_frame *frame, const struct bd_frame *roi,
                                const struct bd_separation *separation,
                                const struct bd_separator_options *settings)
{
    make_mask(self, frame, separation, settings);
    result->foreground_pixels = bd_roi_apply(&self->mask, roi);
    result->mask = result->labels = &self->mask;
    if (separation->shadow) {
        make_labels(self, separation->shadow, roi, settings);
        result->labels = &self->labels;
    }
    if (self->wants & BD_WANT_BACKGROUND) {
        enum bd_status status = make_background(self, separation->background);
        if (status)
            return status;
        bd_frame_copy_times(&self->background, frame);
        result->background = &self->background;
    }
    if (self->wants & BD_WANT_FOREGROUND) {
        bd_foreground_draw(&self->foreground, frame, &self->mask);
        result->foreground = &self->foreground;
    }
    if (self->wants & BD_WANT_OVERLAY) {
        bd_overlay_draw(&self->overlay, frame, &self->mask);
        result->overlay = &self->overlay;
    }
    return BD_OK;
}
