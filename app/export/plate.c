/* The output that is one picture: the background at the end. */
#include <stdlib.h>

#include "app/export/output.h"
#include "video/scale.h"

struct plate {
    struct bd_writer *writer;
    int width, height;           /* of the input */
    const struct bd_frame *last; /* background, the pipeline's; NULL before the first frame */
};

static enum bd_status open_plate(void **output, const char *path,
                                 const struct bd_output_setup *setup)
{
    struct bd_writer_options options =
        bd_output_writer(setup, (enum bd_pixel_format)setup->settings.channels);
    struct plate *plate = calloc(1, sizeof *plate);
    *output = NULL;
    if (!plate)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the plate");
    plate->width = options.width;
    plate->height = options.height;
    enum bd_status status = bd_writer_open(&plate->writer, path, &options);
    if (status) {
        free(plate);
        return status;
    }
    *output = plate;
    return BD_OK;
}

static enum bd_status remember(void *output, const struct bd_result *result,
                               const struct bd_activity *activity)
{
    (void)activity;
    struct plate *plate = output;
    plate->last = result->background;
    return BD_OK;
}

static void keep_old(void *output)
{
    struct plate *plate = output;
    bd_writer_keep_old(plate->writer);
}

static enum bd_status write_plate(const struct plate *plate)
{
    const struct bd_frame *background = plate->last;
    struct bd_frame large = { 0 };
    struct bd_scaler *scaler = NULL;
    if (background->width == plate->width && background->height == plate->height)
        return bd_writer_write(plate->writer, background);
    enum bd_status status =
        bd_frame_create(&large, plate->width, plate->height, background->format);
    if (!status)
        status = bd_scale(&scaler, &large, background, BD_SCALE_BILINEAR);
    if (!status)
        status = bd_writer_write(plate->writer, &large);
    bd_scaler_destroy(&scaler);
    bd_frame_destroy(&large);
    return status;
}

static enum bd_status close_plate(void **output, const struct bd_activity *activity)
{
    (void)activity;
    struct plate *plate = *output;
    if (!plate)
        return BD_OK;
    enum bd_status status = plate->last ? write_plate(plate) : BD_OK;
    status = bd_output_end_picture(&plate->writer, status);
    free(plate);
    *output = NULL;
    return status;
}

const struct bd_output_kind bd_plate_output = { .name = "plate",
                                                .option = offsetof(struct bd_options, plate),
                                                .wants = BD_WANT_BACKGROUND | BD_WANT_SMALL,
                                                .open = open_plate,
                                                .write = remember,
                                                .keep_old = keep_old,
                                                .close = close_plate };
