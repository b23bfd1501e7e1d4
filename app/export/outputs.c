#include "app/export/outputs.h"

#include <libavformat/avformat.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/export/async_writer.h"
#include "app/export/contact_sheet.h"
#include "app/export/events.h"
#include "app/interrupt.h"
#include "app/pipeline/settings.h"
#include "video/input/image_pattern.h"
#include "video/output/writer.h"
#include "video/scale.h"

/* The kinds of output. Films get one picture of bd_result a frame; the others have code of their
 * own below. */
struct kind {
    const char *name;
    size_t option; /* offset in struct bd_options */
    unsigned wants;
    bool video, lossless;
    size_t picture; /* offset in struct bd_result */
    size_t codec;   /* offset in struct bd_options of its own codec, if `video` */
};

#define OPTION(member) offsetof(struct bd_options, member)
#define PICTURE(member) offsetof(struct bd_result, member)

enum { videos = 4, plate = 4, contact_sheet = 5, events = 6, statistics = 7, kind_count = 8 };

/* clang-format off */
static const struct kind kinds[kind_count] = {
    { "mask", OPTION(mask), 0, true, true, PICTURE(labels), OPTION(mask_codec) },
    { "foreground", OPTION(foreground), BD_WANT_FOREGROUND, true, false, PICTURE(foreground),
      OPTION(foreground_codec) },
    { "background", OPTION(background), BD_WANT_BACKGROUND, true, false, PICTURE(background),
      OPTION(background_codec) },
    { "overlay", OPTION(overlay), BD_WANT_OVERLAY, true, false, PICTURE(overlay),
      OPTION(overlay_codec) },
    { "plate", OPTION(plate), BD_WANT_BACKGROUND, false, false, PICTURE(background), 0 },
    { "contact-sheet", OPTION(contact_sheet), BD_WANT_BACKGROUND | BD_WANT_OVERLAY, false, false,
      0, 0 },
    { "events", OPTION(events), 0, false, false, 0, 0 },
    { "json", OPTION(json), 0, false, false, 0, 0 }, /* of the run: written by export.c */
};
/* clang-format on */

struct bd_outputs {
    struct bd_async_writer *films[videos];
    struct bd_writer *pictures[kind_count]; /* plate and contact sheet */
    struct bd_events *events;
    struct bd_contact_sheet *sheet;
    struct bd_frame sheet_picture;
    int width, height;                      /* of the input */
    const struct bd_frame *last_background; /* the pipeline's; NULL before the first frame */
};

static const char *text_at(const struct bd_options *options, size_t offset)
{
    return *(const char *const *)((const char *)options + offset);
}

static const char *path_of(const struct bd_options *options, int i)
{
    return text_at(options, kinds[i].option);
}

/* The codec that is given for this output alone; NULL: none is. */
static const char *codec_of(const struct bd_options *options, int i)
{
    return kinds[i].video ? text_at(options, kinds[i].codec) : NULL;
}

unsigned bd_outputs_wants(const struct bd_options *options, int *count)
{
    unsigned wants = 0;
    *count = 0;
    for (int i = 0; i < kind_count; i++) {
        if (!path_of(options, i))
            continue;
        wants |= kinds[i].wants;
        *count += i != statistics;
    }
    if (options->shadows && options->mask)
        wants |= BD_WANT_SHADOWS;
    /* Of the plate's backgrounds only the last one is enlarged. */
    if (options->plate && !options->background && !options->contact_sheet)
        wants |= BD_WANT_SMALL;
    return wants;
}

/* The first file of a path: %06d becomes 000001. */
static void first_file(char *file, const char *path)
{
    if (av_get_frame_filename(file, PATH_MAX, path, 1))
        snprintf(file, PATH_MAX, "%s", path);
}

static bool same_file(const char *a, const char *b)
{
    struct stat info_a, info_b;
    if (strcmp(a, b) == 0)
        return true;
    return stat(a, &info_a) == 0 && stat(b, &info_b) == 0 && S_ISREG(info_a.st_mode) &&
           info_a.st_dev == info_b.st_dev && info_a.st_ino == info_b.st_ino;
}

/* Whether an output would replace what is read: the input, one of its pictures, or the region. */
static bool is_read(const struct bd_options *options, const char *path)
{
    char file[PATH_MAX], input[PATH_MAX];
    const char *pattern = options->arguments[0];
    first_file(file, path);
    first_file(input, pattern);
    if (same_file(file, input) || same_file(path, pattern) ||
        (options->roi && (same_file(file, options->roi) || same_file(path, options->roi))))
        return true;
    if (!bd_image_pattern_is(pattern))
        return false;
    /* Of a pattern, names with any count of digits. */
    for (int number = 1; number < 1000000000; number *= 10) {
        if (av_get_frame_filename(file, sizeof file, path, number))
            return bd_image_pattern_holds(pattern, path);
        if (bd_image_pattern_holds(pattern, file))
            return true;
    }
    return false;
}

/* Whether writing to `path` would replace something: for a pattern, any picture of its names. */
static bool would_replace(const char *path)
{
    struct stat info;
    int first, beyond_gap;
    if (bd_image_pattern_is(path))
        return bd_image_pattern_find(path, &first, &beyond_gap) == BD_OK;
    /* devices such as /dev/null are written to, not replaced */
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static enum bd_status ask(const struct bd_options *options, int i)
{
    const char *path = path_of(options, i);
    if (options->overwrite == BD_OVERWRITE_YES || !would_replace(path))
        return BD_OK;
    if (options->overwrite == BD_OVERWRITE_NO || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: exists; give -y to replace it", kinds[i].name,
                       path);
    char answer[16] = "";
    fprintf(stderr, "%s exists. Replace it? [y/N] ", path);
    if (!fgets(answer, sizeof answer, stdin)) /* the terminal has not ended the line */
        fputc('\n', stderr);
    if (bd_interrupted(NULL))
        return bd_fail(BD_ERROR_INTERRUPTED, "interrupted; nothing was written");
    if (answer[0] == 'y' || answer[0] == 'Y')
        return BD_OK;
    return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: not replaced", kinds[i].name, path_of(options, i));
}

/* Codecs must exist, and an output with a codec of its own must be asked for. */
static enum bd_status check_codecs(const struct bd_options *options)
{
    if (options->codec && bd_writer_check_codec(options->codec))
        return bd_fail(BD_ERROR_ARGUMENT, "--codec %s", bd_error_detail());
    for (int i = 0; i < videos; i++) {
        const char *codec = codec_of(options, i), *name = kinds[i].name;
        if (codec && !path_of(options, i))
            return bd_fail(BD_ERROR_ARGUMENT, "--%s-codec %s: --%s is not given", name, codec,
                           name);
        if (codec && bd_writer_check_codec(codec))
            return bd_fail(BD_ERROR_ARGUMENT, "--%s-codec %s", name, bd_error_detail());
    }
    return BD_OK;
}

enum bd_status bd_outputs_check(const struct bd_options *options)
{
    char file[PATH_MAX], other[PATH_MAX];
    enum bd_status codecs = check_codecs(options);
    if (codecs)
        return codecs;
    for (int i = 0; i < kind_count; i++) {
        const char *path = path_of(options, i);
        if (!path)
            continue;
        first_file(file, path);
        if (is_read(options, path))
            return bd_fail(BD_ERROR_ARGUMENT,
                           "--%s %s: is the input itself, one of its pictures, or the region",
                           kinds[i].name, path);
        for (int j = 0; j < i; j++) {
            if (!path_of(options, j))
                continue;
            first_file(other, path_of(options, j));
            if (same_file(file, other) && strncmp(file, "/dev/", 5) != 0)
                return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: is the file of --%s too", kinds[i].name,
                               path, kinds[j].name);
        }
        enum bd_status status = ask(options, i);
        if (status)
            return status;
    }
    return BD_OK;
}

/* `channels`: of what is separated. */
static enum bd_pixel_format format_of(int channels, int i)
{
    switch (kinds[i].wants) {
    case 0:
        return BD_GRAY8;
    case BD_WANT_FOREGROUND:
        return BD_RGBA32;
    case BD_WANT_BACKGROUND:
        return (enum bd_pixel_format)channels;
    default:
        return BD_RGB24;
    }
}

/* Threads of the encoder of a film: 1.5 a core, rounded up, shared by all films, and no more than
 * cores. Each thread holds pictures, and several films keep the cores busy with few. Alone on two
 * cores, an overlay with one thread took 20.2 ms a frame, with two 16.0, as with x264's own three.
 * Foreground does not share: ProRes takes twice as long as the others, which would wait for it
 * (with one thread, four films took 7 to 15 % longer on two cores). */
static int threads_of(const struct bd_options *options, int i)
{
    int cores = bd_cores_of(options), films = 0;
    for (int j = 0; j < videos; j++)
        films += path_of(options, j) != NULL;
    int share = films ? (3 * cores + 2 * films - 1) / (2 * films) : cores;
    return kinds[i].wants == BD_WANT_FOREGROUND || share > cores ? cores : share;
}

static enum bd_status open_writer(struct bd_outputs *outputs, int i,
                                  const struct bd_options *options,
                                  const struct bd_pipeline *pipeline)
{
    const struct bd_reader_info *info = bd_pipeline_info(pipeline);
    struct bd_writer_options writer = { .width = info->width,
                                        .height = info->height,
                                        .format =
                                            format_of(bd_pipeline_settings(pipeline).channels, i),
                                        .time_base = info->time_base,
                                        .frame_rate = info->frame_rate,
                                        .pixel_aspect = info->pixel_aspect,
                                        .lossless = kinds[i].lossless,
                                        .overwrite = true, /* bd_outputs_check has asked */
                                        .threads = threads_of(options, i),
                                        .codec = codec_of(options, i),
                                        .film_codec = options->codec };
    if (i == contact_sheet) {
        writer.width = outputs->sheet_picture.width;
        writer.height = outputs->sheet_picture.height;
        writer.pixel_aspect = (struct bd_rational){ 1, 1 };
    }
    enum bd_status status =
        kinds[i].video ? bd_async_writer_open(&outputs->films[i], path_of(options, i), &writer)
                       : bd_writer_open(&outputs->pictures[i], path_of(options, i), &writer);
    return status ? bd_fail(status, "--%s %s", kinds[i].name, bd_error_detail()) : BD_OK;
}

static enum bd_status open_sheet(struct bd_outputs *outputs, const struct bd_reader_info *info)
{
    int width, height;
    enum bd_status status = bd_contact_sheet_create(&outputs->sheet, info->width, info->height);
    if (status)
        return status;
    bd_contact_sheet_size(outputs->sheet, &width, &height);
    return bd_frame_create(&outputs->sheet_picture, width, height, BD_RGB24);
}

enum bd_status bd_outputs_open(struct bd_outputs **outputs, const struct bd_options *options,
                               const struct bd_pipeline *pipeline)
{
    const struct bd_reader_info *info = bd_pipeline_info(pipeline);
    struct bd_outputs *self = calloc(1, sizeof *self);
    enum bd_status status = BD_OK;
    *outputs = NULL;
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the outputs");
    self->width = info->width;
    self->height = info->height;
    if (options->contact_sheet)
        status = open_sheet(self, info);
    for (int i = 0; i < kind_count && !status; i++) {
        if (!path_of(options, i) || i == statistics)
            continue;
        status = i == events ? bd_events_open(&self->events, path_of(options, i), info)
                             : open_writer(self, i, options, pipeline);
    }
    if (status) {
        char detail[bd_detail_size]; /* closing may fail too */
        snprintf(detail, sizeof detail, "%s", bd_error_detail());
        bd_outputs_close(&self, NULL);
        return bd_fail(status, "%s", detail);
    }
    *outputs = self;
    return BD_OK;
}

enum bd_status bd_outputs_write(struct bd_outputs *outputs, const struct bd_result *result)
{
    enum bd_status status = BD_OK;
    outputs->last_background = result->background;
    for (int i = 0; i < videos && !status; i++) {
        if (!outputs->films[i])
            continue;
        const struct bd_frame *picture =
            *(const struct bd_frame *const *)((const char *)result + kinds[i].picture);
        status = bd_async_writer_write(outputs->films[i], picture);
    }
    if (!status && outputs->events)
        status = bd_events_add(outputs->events, result);
    if (!status && outputs->sheet)
        status = bd_contact_sheet_add(outputs->sheet, result);
    return status;
}

void bd_outputs_keep_old(struct bd_outputs *outputs)
{
    for (int i = 0; i < videos; i++)
        if (outputs->films[i])
            bd_async_writer_keep_old(outputs->films[i]);
    for (int i = 0; i < kind_count; i++)
        if (outputs->pictures[i])
            bd_writer_keep_old(outputs->pictures[i]);
    if (outputs->events)
        bd_events_keep_old(outputs->events);
}

static enum bd_status write_plate(const struct bd_outputs *outputs)
{
    const struct bd_frame *background = outputs->last_background;
    struct bd_frame large = { 0 };
    struct bd_scaler *scaler = NULL;
    if (background->width == outputs->width && background->height == outputs->height)
        return bd_writer_write(outputs->pictures[plate], background);
    enum bd_status status =
        bd_frame_create(&large, outputs->width, outputs->height, background->format);
    if (!status)
        status = bd_scale(&scaler, &large, background, BD_SCALE_BILINEAR);
    if (!status)
        status = bd_writer_write(outputs->pictures[plate], &large);
    bd_scaler_destroy(&scaler);
    bd_frame_destroy(&large);
    return status;
}

/* The outputs that are one picture are written at the end. */
static enum bd_status write_pictures(struct bd_outputs *outputs)
{
    enum bd_status status = BD_OK;
    if (!outputs->last_background) /* there was no frame */
        return BD_OK;
    if (outputs->pictures[plate])
        status = write_plate(outputs);
    if (!outputs->pictures[contact_sheet] || status)
        return status;
    status = bd_contact_sheet_draw(outputs->sheet, &outputs->sheet_picture);
    if (!status)
        status = bd_writer_write(outputs->pictures[contact_sheet], &outputs->sheet_picture);
    return status;
}

/* Keeps the first failure with its detail, which later failures overwrite. */
static void note(enum bd_status *first, char *detail, enum bd_status status)
{
    if (!status || *first)
        return;
    *first = status;
    snprintf(detail, bd_detail_size, "%s", bd_error_detail());
}

enum bd_status bd_outputs_close(struct bd_outputs **outputs, int *event_count)
{
    struct bd_outputs *self = *outputs;
    enum bd_status first = BD_OK;
    char detail[bd_detail_size] = "";
    if (event_count)
        *event_count = -1;
    if (!self)
        return BD_OK;
    note(&first, detail, write_pictures(self));
    for (int i = 0; i < videos; i++)
        note(&first, detail, bd_async_writer_close(&self->films[i]));
    for (int i = 0; i < kind_count; i++)
        note(&first, detail, bd_writer_close(&self->pictures[i]));
    if (self->events)
        note(&first, detail, bd_events_close(&self->events, event_count));
    bd_contact_sheet_destroy(&self->sheet);
    bd_frame_destroy(&self->sheet_picture);
    free(self);
    *outputs = NULL;
    return first ? bd_fail(first, "%s", detail) : BD_OK;
}
