/* The output that is a film in which still stretches pass fast, and events at their own pace. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/activity/activity.h"
#include "app/export/async_writer.h"
#include "app/export/output.h"
#include "app/pipeline/boxes.h"
#include "app/stroke_text.h"
#include "app/summary/frame_times.h"
#include "app/summary/label.h"
#include "app/summary/pace.h"

struct timelapse {
    struct bd_async_writer *writer;
    struct bd_frame_times times;
    struct bd_pace pace;
    struct bd_frame picture; /* BD_RGB24: the input, with what is drawn on it */
    bool boxes;              /* are drawn */
    bool live;
    double zero;  /* seconds: what the clock counts from */
    int64_t last; /* pts of the last frame written */
};

static enum bd_status open_timelapse(void **output, const char *path,
                                     const struct bd_output_setup *setup)
{
    const double fallback = 30;
    struct bd_writer_options options = bd_output_writer(setup, BD_RGB24);
    double speed = setup->options->timelapse_speed;
    struct timelapse *self = calloc(1, sizeof *self);
    *output = NULL;
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the time-lapse film");
    options.many = true;
    bd_frame_times_begin(&self->times, setup->info);
    bd_pace_begin(&self->pace, speed > 0 ? speed : fallback, self->times.usual);
    self->boxes = setup->options->boxes;
    self->live = setup->info->live;
    self->last = -1;
    enum bd_status status =
        bd_frame_create(&self->picture, options.width, options.height, BD_RGB24);
    if (!status)
        status = bd_async_writer_open(&self->writer, path, &options);
    if (status) {
        bd_frame_destroy(&self->picture);
        free(self);
        return status;
    }
    *output = self;
    return BD_OK;
}

/* Whether an event goes on. It is known to be one a moment after it has begun; an object that is
 * seen is known earlier. */
static bool is_event(const struct bd_result *result, const struct bd_activity *activity)
{
    int count;
    bd_activity_events(activity, &count);
    for (int i = 0; i < result->object_count && !count; i++)
        count += result->objects[i].seen;
    return count > 0;
}

/* The time of the input, and an arrow while it passes fast. */
static void draw_clock(struct bd_frame *picture, double time, bool fast)
{
    const struct bd_stroke_color ink = { 255, 255, 255 };
    const double size = fmax(8, picture->height / 32.0), gap = size / 2;
    char clock[64], text[80];
    bd_label_format(clock, sizeof clock, time);
    snprintf(text, sizeof text, "%s%s", clock, fast ? " >>" : "");
    int width = (int)fmin(2 * gap + bd_stroke_text_width(size, text), picture->width);
    int height = (int)fmin(2 * gap + size, picture->height);
    for (int y = 0; y < height; y++) {
        uint8_t *row = picture->data + (int64_t)y * picture->stride;
        for (int i = 0; i < width * BD_RGB24; i++)
            row[i] /= 4;
    }
    bd_stroke_text_draw(picture, gap, gap, size, ink, text);
}

static void draw(struct timelapse *self, const struct bd_result *result, bool event)
{
    struct bd_frame *picture = &self->picture;
    const struct bd_frame *input = result->input;
    for (int y = 0; y < picture->height; y++)
        memcpy(picture->data + (int64_t)y * picture->stride,
               input->data + (int64_t)y * input->stride, (size_t)picture->width * BD_RGB24);
    if (self->boxes)
        bd_boxes_draw_frame(picture, result->objects, result->object_count);
    draw_clock(picture, result->time - self->zero, !event);
}

static enum bd_status write_frame(void *output, const struct bd_result *result,
                                  const struct bd_activity *activity)
{
    struct timelapse *self = output;
    const struct bd_rational base = self->times.time_base;
    const struct bd_frame *mask = result->mask;
    if (!self->times.begun && self->live && !bd_label_is_of_day(result->time))
        self->zero = result->time; /* a camera that counts from the start of the machine */
    double seconds = bd_frame_times_next(&self->times, mask->pts);
    bool event = is_event(result, activity);
    if (!bd_pace_next(&self->pace, seconds, event))
        return BD_OK;
    int64_t time = llround(self->pace.time * (double)base.den / (double)base.num);
    draw(self, result, event);
    self->picture.index = mask->index;
    self->picture.pts = self->last = time > self->last ? time : self->last + 1;
    return bd_async_writer_write(self->writer, &self->picture);
}

static void keep_old(void *output)
{
    struct timelapse *self = output;
    bd_async_writer_keep_old(self->writer);
}

static enum bd_status close_timelapse(void **output, const struct bd_activity *activity)
{
    (void)activity;
    struct timelapse *self = *output;
    if (!self)
        return BD_OK;
    enum bd_status status = bd_async_writer_close(&self->writer);
    bd_frame_destroy(&self->picture);
    free(self);
    *output = NULL;
    return status;
}

const struct bd_output_kind bd_timelapse_output = {
    .name = "timelapse",
    .option = offsetof(struct bd_options, timelapse),
    .wants = BD_WANT_INPUT | BD_WANT_COLOR | BD_WANT_OBJECTS,
    .open = open_timelapse,
    .write = write_frame,
    .keep_old = keep_old,
    .close = close_timelapse
};
