#include "app/pipeline/pictures.h"

#include <stdlib.h>
#include <string.h>

#include "app/pipeline/boxes.h"
#include "app/pipeline/overlay.h"
#include "app/shapes.h"
#include "base/pool.h"
#include "video/frame_pool.h"
#include "video/output/writer.h"
#include "video/scale.h"
#include "video/upscale.h"

struct bd_pictures {
    unsigned wants;
    struct bd_scaler *enlarge;
    struct bd_upscaler *upscaler; /* NULL: processed at full size */
    struct bd_pool *pool;         /* the upscaler's */
    struct bd_frame small_background;
    struct bd_frame_pool *masks; /* whose pictures are masks and labels */
    int64_t mask_bytes;
    struct bd_frame mask, labels; /* of the last frame */
    struct bd_frame background, foreground, overlay;
    struct bd_tracker *tracker; /* of the objects of the masks; NULL: not wanted */
    struct bd_frame roi; /* full size, BD_GRAY8: where black, nothing is foreground; empty: none */
};

/* Whether the background is wanted in another size than that of processing. */
static bool enlarges_background(const struct bd_pictures *self)
{
    return self->upscaler && !(self->wants & BD_WANT_SMALL);
}

/* Memory for the first masks: where there is none, nothing is begun. */
static enum bd_status reserve_masks(struct bd_pictures *self)
{
    enum { first = 3 };
    struct bd_frame masks[first] = { { 0 } };
    enum bd_status status = BD_OK;
    for (int i = 0; i < first && !status; i++)
        status = bd_frame_pool_take(&masks[i], self->masks);
    for (int i = 0; i < first; i++)
        bd_frame_destroy(&masks[i]);
    return status;
}

static enum bd_status open_frames(struct bd_pictures *self, int width, int height,
                                  const struct bd_separator_options *settings,
                                  struct bd_device *device)
{
    enum bd_pixel_format format = (enum bd_pixel_format)settings->channels;
    bool small = self->wants & BD_WANT_SMALL;
    self->mask_bytes = bd_frame_stride(width, BD_GRAY8) * height;
    enum bd_status status = bd_frame_pool_create(&self->masks, width, height, BD_GRAY8, device);
    if (!status)
        status = reserve_masks(self);
    if (!status && (self->wants & BD_WANT_BACKGROUND))
        status = bd_frame_create(&self->background, small ? settings->width : width,
                                 small ? settings->height : height, format);
    if (!status && (self->wants & BD_WANT_FOREGROUND))
        status = bd_frame_create(&self->foreground, width, height, BD_RGBA32);
    if (!status && (self->wants & BD_WANT_OVERLAY))
        status = bd_frame_create(&self->overlay, width, height, BD_RGB24);
    return status;
}

int64_t bd_pictures_mask_bytes(const struct bd_pictures *self)
{
    return self->mask_bytes;
}

/* Fills the polygons of the text, which ';' separates. */
static enum bd_status draw_roi(struct bd_pictures *self, const char *text)
{
    struct bd_frame *roi = &self->roi;
    enum bd_status status = BD_OK;
    for (int y = 0; y < roi->height; y++)
        memset(roi->data + (int64_t)y * roi->stride, 0, (size_t)roi->width);
    for (const char *end = text; !status; text = end + 1) {
        struct bd_polygon polygon;
        status = bd_shape_read(&polygon, text, bd_polygon_points, &end);
        if (!status && polygon.count < 3)
            status = bd_fail(BD_ERROR_ARGUMENT, "%.*s: a polygon has 3 points at least, not %d",
                             (int)(end - text), text, polygon.count);
        if (!status && bd_shape_check(&polygon, roi->width, roi->height))
            status =
                bd_fail(BD_ERROR_ARGUMENT, "%.*s: %s", (int)(end - text), text, bd_error_detail());
        if (!status)
            bd_polygon_fill(roi->data, roi->stride, roi->width, roi->height, &polygon);
        if (status || !*end)
            break;
    }
    return status ? bd_fail(status, "--roi %s", bd_error_detail()) : BD_OK;
}

static enum bd_status load_roi(struct bd_pictures *self, const char *path)
{
    struct bd_frame picture = { 0 };
    struct bd_scaler *scaler = NULL;
    enum bd_status status = bd_picture_read(path, BD_GRAY8, &picture);
    if (status && status != BD_ERROR_MEMORY)
        status = bd_fail(BD_ERROR_ARGUMENT, "--roi %s", bd_error_detail());
    if (!status)
        status = bd_scale(&scaler, &self->roi, &picture, BD_SCALE_NEAREST);
    bd_scaler_destroy(&scaler);
    bd_frame_destroy(&picture);
    return status;
}

/* The region of interest. Its errors are not the input's: bd_open_exit_status. */
static enum bd_status make_roi(struct bd_pictures *self, const char *roi, int width, int height)
{
    enum bd_status status = bd_frame_create(&self->roi, width, height, BD_GRAY8);
    if (status)
        return status;
    return bd_shapes_are(roi) ? draw_roi(self, roi) : load_roi(self, roi);
}

enum bd_status bd_pictures_create(struct bd_pictures **pictures, int width, int height,
                                  const struct bd_separator_options *settings, unsigned wants,
                                  const char *roi, int threads, struct bd_device *device)
{
    enum bd_pixel_format format = (enum bd_pixel_format)settings->channels;
    bool small = settings->width != width || settings->height != height;
    *pictures = NULL;
    struct bd_pictures *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the pictures");
    self->wants = wants;
    enum bd_status status = open_frames(self, width, height, settings, device);
    if (!status && small)
        status = bd_pool_create(&self->pool, threads);
    if (!status && small)
        status = bd_upscaler_create(&self->upscaler, self->pool, width, height, settings->width,
                                    settings->height);
    if (!status && enlarges_background(self) && (wants & BD_WANT_BACKGROUND))
        status =
            bd_frame_create(&self->small_background, settings->width, settings->height, format);
    if (!status && (wants & BD_WANT_OBJECTS))
        status = bd_tracker_create(
            &self->tracker, &(struct bd_tracker_options){ .width = width, .height = height });
    if (!status && roi)
        status = make_roi(self, roi, width, height);
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
    bd_frame_pool_close(&self->masks);
    bd_frame_destroy(&self->background);
    bd_frame_destroy(&self->foreground);
    bd_frame_destroy(&self->overlay);
    bd_frame_destroy(&self->roi);
    bd_tracker_destroy(&self->tracker);
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
    if (!enlarges_background(self)) {
        copy_tight(&self->background, background);
        return BD_OK;
    }
    copy_tight(&self->small_background, background); /* libswscale wants aligned rows */
    return bd_scale(&self->enlarge, &self->background, &self->small_background, BD_SCALE_BILINEAR);
}

static enum bd_status make_mask(struct bd_pictures *self, const struct bd_frame *frame,
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
    struct bd_frame *mask = &self->mask;
    enum bd_status status = bd_frame_pool_take(mask, self->masks);
    if (status)
        return status;
    if (self->upscaler)
        status = bd_upscale_mask(self->upscaler, mask, frame, &small);
    else
        copy_tight(mask, separation->mask);
    bd_frame_copy_times(mask, frame);
    return status;
}

/* Clears `mask` where the region of interest is black. */
static void apply_roi(const struct bd_pictures *self, struct bd_frame *mask)
{
    enum { black_below = 128 };
    const struct bd_frame *roi = &self->roi;
    for (int y = 0; y < mask->height && roi->data; y++) {
        uint8_t *row = mask->data + (int64_t)y * mask->stride;
        const uint8_t *keep = roi->data + (int64_t)y * roi->stride;
        for (int x = 0; x < mask->width; x++)
            row[x] &= (uint8_t)(keep[x] < black_below ? 0 : 255);
    }
}

/* The mask, with shadows where it is black and the region of interest is not. */
static enum bd_status make_labels(struct bd_pictures *self, const uint8_t *shadow,
                                  const struct bd_separator_options *settings)
{
    enum { shadow_label = 127 };
    const struct bd_frame *mask = &self->mask;
    enum bd_status status = bd_frame_pool_take(&self->labels, self->masks);
    if (status)
        return status;
    for (int y = 0; y < mask->height; y++) {
        const uint8_t *in = mask->data + (int64_t)y * mask->stride;
        int64_t row = (int64_t)y * settings->height / mask->height;
        uint8_t *out = self->labels.data + (int64_t)y * self->labels.stride;
        for (int x = 0; x < mask->width; x++) {
            int64_t column = (int64_t)x * settings->width / mask->width;
            out[x] = in[x] ? 255 : shadow[row * settings->width + column] ? shadow_label : 0;
        }
    }
    apply_roi(self, &self->labels);
    bd_frame_copy_times(&self->labels, mask);
    return BD_OK;
}

enum bd_status bd_pictures_make(struct bd_pictures *self, struct bd_result *result,
                                const struct bd_frame *frame,
                                const struct bd_separation *separation,
                                const struct bd_separator_options *settings)
{
    enum bd_status status = make_mask(self, frame, separation, settings);
    if (status)
        return status;
    struct bd_frame *mask = &self->mask;
    apply_roi(self, mask);
    result->mask = result->labels = mask;
    if (separation->shadow) {
        status = make_labels(self, separation->shadow, settings);
        if (status)
            return status;
        result->labels = &self->labels;
    }
    if (self->wants & BD_WANT_BACKGROUND) {
        status = make_background(self, separation->background);
        if (status)
            return status;
        bd_frame_copy_times(&self->background, frame);
        result->background = &self->background;
    }
    if (self->wants & BD_WANT_FOREGROUND) {
        bd_foreground_draw(&self->foreground, frame, mask);
        result->foreground = &self->foreground;
    }
    if (self->wants & BD_WANT_OVERLAY) {
        bd_overlay_draw(&self->overlay, frame, mask);
        result->overlay = &self->overlay;
    }
    return BD_OK;
}

enum bd_status bd_pictures_follow(struct bd_pictures *self, struct bd_result *result)
{
    if (!self->tracker)
        return BD_OK;
    const struct bd_frame *mask = result->mask;
    enum bd_status status = bd_tracker_add(self->tracker, mask->data, mask->stride, result->time,
                                           &result->objects, &result->object_count);
    if (!status)
        status = bd_tracker_past(self->tracker, &result->past, &result->past_count);
    if (!status && (self->wants & BD_WANT_BOXES))
        bd_boxes_draw_frame(&self->overlay, result->objects, result->object_count);
    return status;
}
