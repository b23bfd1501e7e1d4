/* The outputs that are films: one picture a frame, each encoded in a thread of its own. */
#include <stddef.h>
#include <stdlib.h>

#include "app/export/async_writer.h"
#include "app/export/output.h"
#include "app/pipeline/settings.h"

/* A film, and which picture of a result it shows. */
struct film {
    struct bd_async_writer *writer;
    size_t picture;
};

/* `channels`: of what is separated. */
static enum bd_pixel_format format_of(int channels, const struct bd_output_kind *kind)
{
    switch (kind->wants) {
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
static int threads_of(const struct bd_options *options, const struct bd_output_kind *kind)
{
    int cores = bd_cores_of(options), films = 0;
    for (int j = 0; j < bd_output_kind_count; j++)
        films += bd_output_kinds[j]->codec && bd_output_path(options, bd_output_kinds[j]);
    int share = films ? (3 * cores + 2 * films - 1) / (2 * films) : cores;
    return kind->wants == BD_WANT_FOREGROUND || share > cores ? cores : share;
}

static enum bd_status open_film(void **output, const char *path,
                                const struct bd_output_setup *setup)
{
    struct bd_writer_options options =
        bd_output_writer(setup, format_of(setup->settings.channels, setup->kind));
    struct film *film = calloc(1, sizeof *film);
    *output = NULL;
    if (!film)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for a film");
    film->picture = setup->kind->picture;
    /* Another output may want shadows where this one does not. */
    if (film->picture == offsetof(struct bd_result, labels) && !setup->options->shadows)
        film->picture = offsetof(struct bd_result, mask);
    options.lossless = setup->kind->lossless;
    options.threads = threads_of(setup->options, setup->kind);
    options.codec = bd_output_codec(setup->options, setup->kind);
    enum bd_status status = bd_async_writer_open(&film->writer, path, &options);
    if (status) {
        free(film);
        return status;
    }
    *output = film;
    return BD_OK;
}

static enum bd_status write_film(void *output, const struct bd_result *result,
                                 const struct bd_activity *activity)
{
    (void)activity;
    struct film *film = output;
    const char *pictures = (const char *)result;
    return bd_async_writer_write(film->writer,
                                 *(const struct bd_frame *const *)(pictures + film->picture));
}

static void keep_old(void *output)
{
    struct film *film = output;
    bd_async_writer_keep_old(film->writer);
}

static enum bd_status close_film(void **output, const struct bd_activity *activity)
{
    (void)activity;
    struct film *film = *output;
    if (!film)
        return BD_OK;
    enum bd_status status = bd_async_writer_close(&film->writer);
    free(film);
    *output = NULL;
    return status;
}

#define FILM(member)                                                                   \
    .name = #member, .option = offsetof(struct bd_options, member), .open = open_film, \
    .write = write_film, .keep_old = keep_old, .close = close_film,                    \
    .codec = offsetof(struct bd_options, member##_codec)
#define PICTURE(member) .picture = offsetof(struct bd_result, member)

static unsigned wants_shadows(const char *path, const struct bd_options *options,
                              const struct bd_clip_plan *clips)
{
    (void)path, (void)clips;
    return options->shadows ? BD_WANT_SHADOWS : 0;
}

static unsigned wants_boxes(const char *path, const struct bd_options *options,
                            const struct bd_clip_plan *clips)
{
    (void)path, (void)clips;
    return options->boxes ? BD_WANT_OBJECTS | BD_WANT_BOXES : 0;
}

const struct bd_output_kind bd_mask_output = { FILM(mask), PICTURE(labels), .lossless = true,
                                               .wants_more = wants_shadows };
const struct bd_output_kind bd_foreground_output = { FILM(foreground), PICTURE(foreground),
                                                     .wants = BD_WANT_FOREGROUND };
const struct bd_output_kind bd_background_output = { FILM(background), PICTURE(background),
                                                     .wants = BD_WANT_BACKGROUND };
const struct bd_output_kind bd_overlay_output = { FILM(overlay), PICTURE(overlay),
                                                  .wants = BD_WANT_OVERLAY,
                                                  .wants_more = wants_boxes };
