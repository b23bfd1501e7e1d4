/* The output that shows where and how long something moved: a picture, or the numbers. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "app/export/output.h"
#include "app/summary/frame_times.h"
#include "app/summary/heat.h"
#include "app/summary/heat_numbers.h"
#include "app/summary/heat_picture.h"
#include "video/output_file.h"
#include "video/scale.h"

struct heatmap {
    int width, height; /* of the input */
    struct bd_heat *heat;
    struct bd_frame_times times;
    const struct bd_frame *background; /* the last one, the pipeline's; NULL for numbers */
    int64_t frames;
    double last; /* seconds for which the last frame is shown */
    bool keeps_old;
    struct bd_writer *writer; /* of the picture; NULL: numbers are asked for */
    struct bd_part *part;     /* of the numbers */
};

static bool is_numbers(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && strcasecmp(dot, ".npy") == 0;
}

/* One picture, as its name ends. */
static enum bd_status open_picture(struct heatmap *self, const char *path,
                                   const struct bd_output_setup *setup)
{
    struct bd_writer_options options = bd_output_writer(setup, BD_RGB24);
    return bd_writer_open(&self->writer, path, &options);
}

static enum bd_status open_heatmap(void **output, const char *path,
                                   const struct bd_output_setup *setup)
{
    struct heatmap *self = calloc(1, sizeof *self);
    *output = NULL;
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the heat map");
    self->width = setup->info->width;
    self->height = setup->info->height;
    bd_frame_times_begin(&self->times, setup->info);
    enum bd_status status = bd_heat_create(&self->heat, self->width, self->height);
    if (!status)
        status = is_numbers(path) ? bd_part_open(&self->part, path, true)
                                  : open_picture(self, path, setup);
    if (status) {
        bd_heat_destroy(&self->heat);
        free(self);
        return status;
    }
    *output = self;
    return BD_OK;
}

static enum bd_status add(void *output, const struct bd_result *result,
                          const struct bd_activity *activity)
{
    (void)activity;
    struct heatmap *self = output;
    const struct bd_frame *mask = result->mask;
    const struct bd_rational base = self->times.time_base;
    double own = (double)mask->duration * (double)base.num / (double)base.den;
    bd_heat_add(self->heat, mask, bd_frame_times_next(&self->times, mask->pts));
    self->last = own > 0 && own <= self->times.most ? own : self->times.usual;
    self->background = result->background;
    self->frames++;
    return BD_OK;
}

static void keep_old(void *output)
{
    struct heatmap *self = output;
    self->keeps_old = true;
    if (self->writer)
        bd_writer_keep_old(self->writer);
}

static enum bd_status write_picture(struct heatmap *self)
{
    struct bd_frame picture = { 0 };
    struct bd_scaler *scaler = NULL;
    enum bd_status status = bd_frame_create(&picture, self->width, self->height, BD_RGB24);
    if (!status)
        status = bd_scale(&scaler, &picture, self->background, BD_SCALE_BILINEAR);
    if (!status)
        status = bd_heat_picture_draw(&picture, self->heat);
    if (!status)
        status = bd_writer_write(self->writer, &picture);
    bd_scaler_destroy(&scaler);
    bd_frame_destroy(&picture);
    return status;
}

static enum bd_status write_numbers(const struct heatmap *self)
{
    char *data;
    size_t size;
    enum bd_status status =
        bd_heat_numbers_make(&data, &size, self->heat, self->width, self->height);
    if (!status)
        status = bd_part_write(self->part, data, size);
    free(data);
    return status;
}

/* Ends the file of numbers, whose writing returned `status`. A part of them is of no use. */
static enum bd_status end_numbers(struct heatmap *self, enum bd_status status)
{
    enum bd_part_end end = status || self->frames == 0 ? BD_PART_NONE
                           : self->keeps_old           ? BD_PART_BROKEN
                                                       : BD_PART_WHOLE;
    enum bd_status named = bd_part_close(&self->part, end);
    return status ? status : named;
}

static enum bd_status close_heatmap(void **output, const struct bd_activity *activity)
{
    (void)activity;
    struct heatmap *self = *output;
    enum bd_status status = BD_OK;
    if (!self)
        return BD_OK;
    if (self->frames > 0) {
        bd_heat_end(self->heat, self->last);
        status = self->writer ? write_picture(self) : write_numbers(self);
    }
    status =
        self->writer ? bd_output_end_picture(&self->writer, status) : end_numbers(self, status);
    bd_heat_destroy(&self->heat);
    free(self);
    *output = NULL;
    return status;
}

/* A picture is drawn over the last background alone, which it enlarges itself. */
static unsigned wants_background(const char *path, const struct bd_options *options,
                                 const struct bd_clip_plan *clips)
{
    (void)options, (void)clips;
    return is_numbers(path) ? 0 : BD_WANT_BACKGROUND | BD_WANT_SMALL;
}

/* The option is given twice for a picture and the numbers. */
#define HEATMAP(number)                                                                           \
    {                                                                                             \
        .name = "heatmap", .option = offsetof(struct bd_options, heatmap.items[number]),          \
        .wants_more = wants_background, .open = open_heatmap, .write = add, .keep_old = keep_old, \
        .close = close_heatmap                                                                    \
    }

const struct bd_output_kind bd_heatmap_output = HEATMAP(0);
const struct bd_output_kind bd_second_heatmap_output = HEATMAP(1);
