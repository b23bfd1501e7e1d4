#include "app/prime.h"

#include <math.h>
#include <stddef.h>

#include "video/scale.h"

/* A minute of footage shows most of what stands behind moving objects, and decoding it takes a
 * second or so; fewer frames than `handful` make no better background than the first frame alone.
 */
enum { most_seconds = 60, handful = 5 };

enum bd_status bd_prime(struct bd_separator *separator, const char *input,
                        const struct bd_reader_options *options, enum bd_pixel_format format)
{
    const struct bd_separator_options *settings = bd_separator_options(separator);
    struct bd_reader *reader = NULL;
    struct bd_scaler *scaler = NULL;
    struct bd_frame frame = { 0 }, small = { 0 };
    enum bd_status status = bd_reader_open(&reader, input, options);
    if (status)
        return status;
    const struct bd_reader_info *info = bd_reader_get_info(reader);
    double tick = (double)info->time_base.num / (double)info->time_base.den;
    double span = fmin(settings->memory, most_seconds);
    double length = options->duration > 0 ? options->duration : info->duration - options->start;
    if (length > 0)
        span = fmin(span, length);
    double step = span / settings->window;
    int64_t shown = 0, first = 0, next = INT64_MIN;
    status = bd_frame_create(&small, settings->width, settings->height, format);
    while (!status && shown < settings->window &&
           (status = bd_reader_read_from(reader, next, &frame)) == BD_OK) {
        if (shown == 0)
            first = frame.pts;
        if ((double)(frame.pts - first) * tick >= span)
            break;
        status = bd_scale(&scaler, &small, &frame, BD_SCALE_AREA);
        if (!status)
            status = bd_separator_preview(separator, small.data, small.stride);
        shown++;
        next = first + (int64_t)ceil((double)shown * step / tick - 0.5);
    }
    if (status == BD_OK || status == BD_END)
        status = shown >= handful ? bd_separator_prime(separator) : bd_separator_reset(separator);
    else if (status != BD_ERROR_INTERRUPTED && shown > 0)
        status = bd_separator_reset(separator); /* the main reader will meet the same damage */
    bd_scaler_destroy(&scaler);
    bd_frame_destroy(&small);
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
    return status;
}
