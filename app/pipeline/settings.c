#include "app/pipeline/settings.h"

#include <math.h>
#include <string.h>

#include "base/pool.h"

/* Larger pictures are scaled down to about this many pixels, the same on every backend, so that all
 * give the same masks. */
enum { most_pixels = 640 * 480 };

/* So many decoders of a GPU help with a film: one of them keeps about four cores busy, but a single
 * one would wait at the end of each section. None are opened for fewer --frames than these. */
enum { least_decoders = 2, most_decoders = 4, frames_for_decoders = 1000 };

/* The processing size: --scale, or that of the frames, or about most_pixels. */
static enum bd_status choose_size(const struct bd_options *options,
                                  const struct bd_reader_info *info, int *width, int *height)
{
    *width = info->width;
    *height = info->height;
    if (options->scale_width) {
        if (options->scale_width > *width || options->scale_height > *height)
            return bd_fail(BD_ERROR_ARGUMENT,
                           "--scale %dx%d: larger than the input, which is %dx%d",
                           options->scale_width, options->scale_height, *width, *height);
        *width = options->scale_width;
        *height = options->scale_height;
        return BD_OK;
    }
    double shrink = sqrt((double)most_pixels / ((double)*width * *height));
    if (shrink < 1) {
        *width = (int)fmax(1, lround(*width * shrink));
        *height = (int)fmax(1, lround(*height * shrink));
    }
    return BD_OK;
}

/* A byte of a tone curve is about the noise of a pixel, and the levels of the picture lie close
 * together. There are no shadows in heat. */
static void suit_tone_curve(struct bd_separator_options *settings)
{
    bd_log(BD_LOG_INFO, "gray that spans few of its levels: a tone curve spreads them");
    if (!settings->threshold)
        settings->threshold = 6;
    if (!settings->lambda)
        settings->lambda = 4;
    settings->shadows = BD_NONE;
}

enum bd_status bd_choose_settings(struct bd_separator_options *settings,
                                  const struct bd_options *options,
                                  const struct bd_reader_info *info, unsigned wants)
{
    struct bd_separator_options chosen = options->separator;
    enum bd_status status = choose_size(options, info, &chosen.width, &chosen.height);
    if (status)
        return status;
    chosen.channels = options->gray || info->tone_curve ? 1 : 3;
    if (info->tone_curve)
        suit_tone_curve(&chosen);
    if (info->frame_rate.num > 0 && info->frame_rate.den > 0)
        chosen.frame_rate = (double)info->frame_rate.num / (double)info->frame_rate.den;
    chosen.outputs = BD_SEPARATOR_MASK;
    if (chosen.width != info->width || chosen.height != info->height)
        chosen.outputs |= BD_SEPARATOR_BACKGROUND | BD_SEPARATOR_DIFFERENCE;
    if (wants & BD_WANT_SHADOWS)
        chosen.outputs |= BD_SEPARATOR_SHADOW;
    if (wants & BD_WANT_BACKGROUND)
        chosen.outputs |= BD_SEPARATOR_BACKGROUND;
    *settings = bd_separator_defaults(&chosen);
    return BD_OK;
}

int bd_cores_of(const struct bd_options *options)
{
    return options->threads ? options->threads : bd_pool_cores();
}

int bd_separating_threads(const struct bd_options *options)
{
    /* Of 16 cores, 10 separate vtest.avi in 1.5 ms a frame, 8 in 1.55, 12 in 1.8, 16 in 1.85. */
    enum { many = 12 };
    const int cores = bd_cores_of(options);
    const bool all = cores < many || options->solver == BD_SOLVER_BATCH;
    return all ? options->threads : 5 * cores / 8;
}

static int between(int least, int value, int most)
{
    return value < least ? least : value < most ? value : most;
}

struct bd_reader_options bd_choose_reading(const struct bd_options *options, unsigned wants)
{
    const unsigned colours = BD_WANT_FOREGROUND | BD_WANT_OVERLAY | BD_WANT_COLOR;
    bool color = !options->gray || (wants & (colours | BD_WANT_DECODED));
    bool few = options->frames > 0 && options->frames < frames_for_decoders;
    bool no_hardware = !options->hwaccel || strcmp(options->hwaccel, "none") == 0;
    return (struct bd_reader_options){
        .input_format = options->input_format,
        .input_options = options->input_options,
        .input_option_count = options->input_option_count,
        .format = color ? BD_RGB24 : BD_GRAY8,
        .pictures = wants & (colours | BD_WANT_INPUT) ? BD_PICTURES_BOTH : BD_PICTURES_DECODED,
        .tone_curve = true,
        .start = options->start,
        .duration = options->duration,
        .threads = options->threads,
        .hwaccel = no_hardware ? NULL : options->hwaccel,
        .decoders = few ? 0 : between(least_decoders, bd_cores_of(options) / 4, most_decoders)
    };
}

int bd_picture_threads(const struct bd_options *options, bool window)
{
    /* One of 1920x1080 takes less than a millisecond; a window's of 3840x2160 come 60 a second. */
    enum { most = 4 };
    return between(1, window ? bd_cores_of(options) : bd_cores_of(options) / 4, most);
}

int bd_moving_threads(const struct bd_options *options)
{
    enum { most = 8 };
    return between(1, bd_cores_of(options) / 2, most);
}
