/* One kind of output of `backdrop export`: a row of the table in outputs.c. */
#ifndef BD_APP_EXPORT_OUTPUT_H
#define BD_APP_EXPORT_OUTPUT_H

#include <limits.h>
#include <stddef.h>

#include "app/pipeline/pipeline.h"
#include "video/output/writer.h"

struct bd_activity;
struct bd_clip_plan;
struct bd_output_kind;
struct bd_reads;

/* What an output is opened with; all of it stays until the output is closed. */
struct bd_output_setup {
    const struct bd_output_kind *kind;
    const struct bd_options *options;
    const struct bd_reader_info *info;    /* of the input */
    struct bd_separator_options settings; /* of the separator */
    struct bd_clip_plan *clips;           /* of --clips */
};

/* An option whose value is the path of the output. The output itself is what `open` makes, of any
 * type. Without `open`, it is written elsewhere, and has none of the functions below. */
struct bd_output_kind {
    const char *name; /* of the option */
    size_t option;    /* offset in struct bd_options of the path */
    unsigned wants;   /* BD_WANT_ bits; BD_WANT_SMALL: a small background is enough */
    bool streams;     /* the path "-" is stdout */
    bool folder;      /* the path is a folder, which several inputs may share */

    /* Further BD_WANT_ bits, by the path and the options; NULL: there are none. */
    unsigned (*wants_more)(const char *path, const struct bd_options *options,
                           const struct bd_clip_plan *clips);
    /* Of outputs of several files: whether one would be replaced, whose name `path` then is. NULL:
     * the path that is given is that of the file. */
    bool (*replaces)(char path[PATH_MAX], const struct bd_options *options);
    /* Likewise whether one may take the name of something that is read; NULL as above. */
    bool (*takes_read)(char path[PATH_MAX], const struct bd_options *options,
                       const struct bd_reads *reads);
    /* On failure nothing stays open. */
    enum bd_status (*open)(void **output, const char *path, const struct bd_output_setup *setup);
    /* The next frame; `activity` (app/activity/activity.h) has seen it. It is NULL where the output
     * wants no objects. Of one that wants nothing else, `result` has the mask alone. */
    enum bd_status (*write)(void *output, const struct bd_result *result,
                            const struct bd_activity *activity);
    /* What was written is not all that was asked for: see bd_outputs_keep_old. */
    void (*keep_old)(void *output);
    /* Finalises, frees and nulls; `activity` has ended. Safe on NULL. */
    enum bd_status (*close)(void **output, const struct bd_activity *activity);

    /* Of films, one picture a frame. */
    size_t picture; /* offset in struct bd_result of its const struct bd_frame * */
    size_t codec;   /* offset in struct bd_options of its own codec; 0: it is no film */
    bool lossless;
};

/* The path that is given for a kind; NULL: none is. */
static inline const char *bd_output_path(const struct bd_options *options,
                                         const struct bd_output_kind *kind)
{
    return *(const char *const *)((const char *)options + kind->option);
}

/* What the output needs; 0 where it is not given. `clips` as in bd_outputs_wants. */
static inline unsigned bd_output_wants(const struct bd_options *options,
                                       const struct bd_output_kind *kind,
                                       const struct bd_clip_plan *clips)
{
    const char *path = bd_output_path(options, kind);
    unsigned more = path && kind->wants_more ? kind->wants_more(path, options, clips) : 0;
    return path ? kind->wants | more : 0;
}

/* The codec that is given for this kind of film alone; NULL: none is, or it is no film. */
static inline const char *bd_output_codec(const struct bd_options *options,
                                          const struct bd_output_kind *kind)
{
    return kind->codec ? *(const char *const *)((const char *)options + kind->codec) : NULL;
}

/* How a writer is opened for pictures of the input's size. */
static inline struct bd_writer_options bd_output_writer(const struct bd_output_setup *setup,
                                                        enum bd_pixel_format format)
{
    return (struct bd_writer_options){ .width = setup->info->width,
                                       .height = setup->info->height,
                                       .format = format,
                                       .time_base = setup->info->time_base,
                                       .frame_rate = setup->info->frame_rate,
                                       .pixel_aspect = setup->info->pixel_aspect,
                                       .overwrite = true, /* bd_outputs_check has asked */
                                       .film_codec = setup->options->codec };
}

/* Closes the writer of one picture, whose writing returned `status`; the first failure. */
enum bd_status bd_output_end_picture(struct bd_writer **writer, enum bd_status status);

/* Whether a path of this kind is stdout. */
static inline bool bd_output_is_stdout(const struct bd_output_kind *kind, const char *path)
{
    return kind->streams && path[0] == '-' && !path[1];
}

/* All kinds, in the order in which they are opened and written. */
enum { bd_output_kind_count = 14 };
extern const struct bd_output_kind *const bd_output_kinds[bd_output_kind_count];

extern const struct bd_output_kind bd_mask_output, bd_foreground_output, bd_background_output,
    bd_overlay_output, bd_plate_output, bd_contact_sheet_output, bd_events_output, bd_tracks_output,
    bd_clips_output, bd_heatmap_output, bd_second_heatmap_output, bd_timelapse_output,
    bd_synopsis_output;

#endif
