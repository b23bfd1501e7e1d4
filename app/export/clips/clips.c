/* The output --clips: a film and a picture for each event. */
#include <libavformat/avformat.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/activity/activity.h"
#include "app/export/clips/copy.h"
#include "app/export/clips/encode.h"
#include "app/export/clips/names.h"
#include "app/export/clips/plan.h"
#include "app/export/output.h"
#include "app/pipeline/settings.h"
#include "app/reads.h"
#include "video/output_file.h"

static const double second = 1e9; /* nanoseconds */

/* Frames that are kept for events to come: as many as those of the start of a camera. */
static const int64_t most_bytes = 512 << 20;

/* Films that are encoded at a time. An encoder of 1920x1080 holds some 100 MB, one of a smaller
 * picture less: as many as hold no more than 8 of those. */
static int count_writers(int width, int height)
{
    enum { least = 8, most = 32 };
    int64_t fit = (int64_t)least * 1920 * 1080 / ((int64_t)width * height);
    return fit < least ? least : fit > most ? most : (int)fit;
}

/* Seconds that an object may take to be taken for one, beside --min-event-length. */
static const double recognition = 2;

struct clips {
    const char *folder;
    char stem[bd_clip_stem_size];
    struct bd_clip_plan *plan;
    struct bd_clip_copier *copier;   /* where clips are copied */
    struct bd_clip_encoder *encoder; /* where they are encoded */
    int64_t before, post;            /* nanoseconds around an event */
    int64_t first, last;             /* times of the first frame, and of the last one so far */
    int64_t frames;
    bool boxes, made_folder;
};

static enum bd_status open_copier(struct clips *clips, const struct bd_options *options,
                                  bool overwrite)
{
    const char *lost = bd_cutter_lost_sound(clips->plan->cutter);
    if (lost)
        bd_log(BD_LOG_WARNING, "clips have no sound: a .%s file does not hold %s",
               clips->plan->extension, lost);
    if (strcmp(clips->plan->extension, "mp4") != 0)
        bd_log(BD_LOG_WARNING, "clips are .%s files: .mp4 does not hold %s", clips->plan->extension,
               bd_cutter_codec(clips->plan->cutter));
    if (options->boxes)
        bd_log(BD_LOG_WARNING, "clips have no boxes: they are copied (--clip-mode copy)");
    struct bd_clip_copier_options copier = { .folder = clips->folder,
                                             .stem = clips->stem,
                                             .input = options->arguments[0],
                                             .reader = bd_clip_reader(options),
                                             .cutter = clips->plan->cutter,
                                             .overwrite = overwrite };
    return bd_clip_copier_open(&clips->copier, &copier);
}

/* Whether a film with this extension can be written; it is not. */
static enum bd_status try_writer(struct clips *clips, const struct bd_writer_options *options,
                                 const char *extension)
{
    char path[PATH_MAX];
    struct bd_writer *writer = NULL;
    snprintf(clips->plan->extension, sizeof clips->plan->extension, "%s", extension);
    bd_clip_path(path, clips->folder, clips->stem, 1, extension);
    enum bd_status status = bd_writer_open(&writer, path, options);
    bd_writer_close(&writer);
    return status;
}

static enum bd_status open_encoder(struct clips *clips, const struct bd_output_setup *setup,
                                   bool overwrite)
{
    const struct bd_options *options = setup->options;
    struct bd_writer_options writer = bd_output_writer(setup, BD_RGB24);
    if (*clips->plan->reason)
        bd_log(BD_LOG_INFO, "clips are encoded: %s", clips->plan->reason);
    int cores = bd_cores_of(options);
    writer.overwrite = overwrite;
    writer.whole_only = true;
    writer.threads = cores > 1 ? cores / 2 : 1; /* several films are written side by side */
    /* Encoders that are named may be none for .mp4. */
    enum bd_status status = try_writer(clips, &writer, "mp4");
    if (status && options->codec && try_writer(clips, &writer, "mkv") == BD_OK)
        status = BD_OK;
    if (status)
        return status;
    double reach = bd_time_before_event(options) + bd_min_event_length(options) + recognition;
    struct bd_clip_encoder_options encoder = { .folder = clips->folder,
                                               .stem = clips->stem,
                                               .extension = clips->plan->extension,
                                               .writer = writer,
                                               .writers =
                                                   count_writers(writer.width, writer.height),
                                               .reach = (int64_t)(reach * second),
                                               .bytes = most_bytes };
    clips->boxes = options->boxes;
    return bd_clip_encoder_open(&clips->encoder, &encoder);
}

static void destroy(struct clips *clips)
{
    if (clips->made_folder && clips->frames == 0)
        rmdir(clips->folder);
    free(clips);
}

static enum bd_status open_files(struct clips *clips, const struct bd_output_setup *setup)
{
    char path[PATH_MAX];
    struct stat about;
    clips->made_folder = stat(clips->folder, &about) != 0;
    enum bd_status status = bd_output_folder(clips->folder);
    if (status) {
        clips->made_folder = false;
        return status;
    }
    /* bd_outputs_check has asked whether the files that are there may be replaced. */
    bool overwrite = bd_clip_exists(path, clips->folder, clips->stem);
    return clips->plan->copies ? open_copier(clips, setup->options, overwrite)
                               : open_encoder(clips, setup, overwrite);
}

static enum bd_status open_clips(void **output, const char *path,
                                 const struct bd_output_setup *setup)
{
    *output = NULL;
    if (setup->clips->status)
        return bd_fail(setup->clips->status, "%s", setup->clips->reason);
    struct clips *clips = calloc(1, sizeof *clips);
    if (!clips)
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory for the clips", path);
    clips->folder = path;
    clips->plan = setup->clips;
    clips->before = (int64_t)(bd_time_before_event(setup->options) * second);
    clips->post = (int64_t)(bd_time_post_event(setup->options) * second);
    bd_clip_own_stem(clips->stem, setup->options);
    enum bd_status status = setup->options->scan_only ? BD_OK : open_files(clips, setup);
    if (status)
        destroy(clips);
    else
        *output = clips;
    return status;
}

/* Copying an event: when it has ended, the film has gone on for as long as its clip does. */
static enum bd_status copy_event(struct clips *clips, const struct bd_event *event)
{
    int64_t from = event->start - clips->before, to = event->end + clips->post;
    struct bd_clip_stretch stretch = { .number = event->number,
                                       .from = from > clips->first ? from : clips->first,
                                       .to = to < clips->last ? to : clips->last,
                                       .peak = event->peak_time,
                                       .box = event->box };
    return bd_clip_copier_add(clips->copier, &stretch);
}

static enum bd_status tell(struct clips *clips, const struct bd_event *event)
{
    if (clips->copier)
        return event->ended ? copy_event(clips, event) : BD_OK;
    return bd_clip_encoder_update(clips->encoder, event, event->start - clips->before,
                                  event->end + clips->post);
}

/* Tells of the events that have ended with this frame, and of those that go on. */
static enum bd_status follow(struct clips *clips, const struct bd_activity *activity)
{
    int count;
    enum bd_status status = BD_OK;
    const struct bd_happening *happenings = bd_activity_happenings(activity, &count);
    for (int i = 0; i < count && !status; i++)
        if (happenings[i].kind == BD_EVENT_ENDED)
            status = tell(clips, happenings[i].event);
    const struct bd_event *const *events = bd_activity_events(activity, &count);
    for (int i = 0; i < count && !status; i++)
        status = tell(clips, events[i]);
    return status;
}

static enum bd_status write_clips(void *output, const struct bd_result *result,
                                  const struct bd_activity *activity)
{
    struct clips *clips = output;
    enum bd_status status = BD_OK;
    if (!clips->copier && !clips->encoder)
        return BD_OK; /* --scan-only */
    clips->last = bd_activity_time(activity);
    if (clips->frames++ == 0)
        clips->first = clips->last;
    if (clips->encoder)
        status = bd_clip_encoder_add(clips->encoder, result->input, clips->last,
                                     clips->boxes ? result->objects : NULL, result->object_count);
    return status ? status : follow(clips, activity);
}

static void keep_old(void *output)
{
    struct clips *clips = output;
    if (clips->encoder)
        bd_clip_encoder_keep_old(clips->encoder);
}

static enum bd_status close_clips(void **output, const struct bd_activity *activity)
{
    struct clips *clips = *output;
    int64_t early = 0;
    if (!clips)
        return BD_OK;
    enum bd_status followed = BD_OK;
    if (activity && clips->frames > 0)
        followed = follow(clips, activity);
    char detail[bd_detail_size];
    snprintf(detail, sizeof detail, "%s", followed ? bd_error_detail() : "");
    enum bd_status copied = bd_clip_copier_close(&clips->copier, &early);
    enum bd_status encoded = bd_clip_encoder_close(&clips->encoder);
    if (early > 0)
        bd_log(BD_LOG_WARNING,
               "clips are copies, which begin at the key frame before: up to %.1f s early "
               "(--clip-mode encode is exact)",
               (double)early / second);
    destroy(clips);
    *output = NULL;
    if (followed)
        return bd_fail(followed, "%s", detail);
    return copied ? copied : encoded;
}

static bool clips_replace(char path[PATH_MAX], const struct bd_options *options)
{
    char stem[bd_clip_stem_size];
    bd_clip_own_stem(stem, options);
    return !options->scan_only && bd_clip_exists(path, options->clips, stem);
}

/* Whether a file that has the name of a clip is read, and has a name that one may get: those of
 * films, and .jpg. */
static bool is_read(const void *user, const char *path)
{
    const AVOutputFormat *format = av_guess_format(NULL, path, NULL);
    bool other =
        format && strcmp(format->name, "image2") == 0 && strcmp(strrchr(path, '.'), ".jpg") != 0;
    return !other && bd_reads_hold(user, path);
}

/* Which events there will be is not known yet: any clip's name counts whose file is there, and the
 * first picture's, which may be one of a sequence. */
static bool clips_take_read(char path[PATH_MAX], const struct bd_options *options,
                            const struct bd_reads *reads)
{
    char stem[bd_clip_stem_size];
    if (options->scan_only)
        return false;
    bd_clip_own_stem(stem, options);
    bd_clip_path(path, options->clips, stem, 1, "jpg");
    return bd_reads_hold(reads, path) || bd_clip_find(path, options->clips, stem, is_read, reads);
}

/* Clips that are encoded need the pictures of the input. */
static unsigned wants_pictures(const char *path, const struct bd_options *options,
                               const struct bd_clip_plan *clips)
{
    (void)path;
    return clips->copies || options->scan_only ? 0 : BD_WANT_INPUT | BD_WANT_COLOR;
}

const struct bd_output_kind bd_clips_output = { .name = "clips",
                                                .option = offsetof(struct bd_options, clips),
                                                .wants = BD_WANT_OBJECTS,
                                                .wants_more = wants_pictures,
                                                .folder = true,
                                                .replaces = clips_replace,
                                                .takes_read = clips_take_read,
                                                .open = open_clips,
                                                .write = write_clips,
                                                .keep_old = keep_old,
                                                .close = close_clips };
