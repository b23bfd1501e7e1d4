#include "video/input/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "video/input/pieces.h"
#include "video/input/source.h"
#include "video/yuv.h"

/* The first one that claims an input opens it; the last one, if none does. */
enum { source_count = 3 };
static const struct bd_source_ops *const sources[source_count] = { &bd_source_joined,
                                                                   &bd_source_synth,
                                                                   &bd_source_libav };

struct bd_reader {
    char *name;
    struct bd_source *source;
    struct bd_reader_info info;
    bool (*interrupted)(void *user);
    void *user;
    enum bd_log_level faults; /* as in bd_reader_options */
    bool pending;             /* the source is at a frame that was not delivered yet */
    bool ended;               /* the source has returned BD_END */
    bool early;               /* before the length that the input states */
    bool headless;            /* its beginning was wanted, and is missing */
    bool follows;             /* the next frame comes after the one before, without a seek */
    bool bumped;              /* a timestamp was moved: logged */
    bool restarted;           /* the sender's clock started anew: logged */
    bool anew;       /* it is known that it does, somewhere: a time is no place to seek to */
    bool asked;      /* the source was asked for that */
    bool from_start; /* no other start was asked for */
    bool jumping;    /* the source may be elsewhere than at the time that it says */
    bool counted;    /* all frames were read from the first one on: index and shift are exact */
    int64_t step;    /* from the frame before to this one; 0 where none came before */
    int64_t shift;   /* what is added to the source's times since then */
    struct {
        bool enough; /* a tenth of them is used, or it was said that it is not */
        int pictures;
        uint8_t lowest[3], highest[3];
    } levels;              /* of the channels */
    int64_t pts, duration; /* of the frame at which the source is */
    int64_t index;         /* its number */
    int64_t origin;        /* pts of the first frame of the input */
    int64_t stop;          /* pts at which delivery ends */
    int64_t last_pts;      /* delivered last; INT64_MIN: none since opening or seeking */
};

/* The smallest pts at or after `seconds` from the first frame. */
static int64_t pts_at(const struct bd_reader *r, double seconds)
{
    double units = seconds * (double)r->info.time_base.den / (double)r->info.time_base.num;
    /* A time computed from a pts must lead to that pts again, in spite of rounding. */
    units = ceil(units - 1e-6 * fmax(1, fabs(units) * 1e-6));
    if (units > 9e18 - fabs((double)r->origin))
        return INT64_MAX;
    return r->origin + (int64_t)units;
}

/* The number of the frame at `pts` by the average rate; -1 where there is none. */
static int64_t index_at(const struct bd_reader *r, int64_t pts)
{
    const struct bd_rational rate = r->info.frame_rate, unit = r->info.time_base;
    if (rate.num <= 0 || rate.den <= 0)
        return -1;
    return llround((double)(pts - r->origin) * (double)unit.num / (double)unit.den *
                   (double)rate.num / (double)rate.den);
}

/* Says once that the pictures so far use less than a tenth of the levels. */
static void tell_narrow(struct bd_reader *r)
{
    if (r->levels.enough || r->levels.pictures == 0)
        return;
    r->levels.enough = true;
    int most = 0;
    for (int c = 0; c < 3; c++)
        most = r->levels.highest[c] - r->levels.lowest[c] > most
                   ? r->levels.highest[c] - r->levels.lowest[c]
                   : most;
    bd_log(r->faults,
           "'%s': its pictures use %d of 256 levels; what moves is found only where it differs by "
           "more than --threshold",
           r->name, most + 1);
}

/* Notes the levels of a picture, or of its luma where it has no pixels, until a tenth of them is
 * used. */
static void watch_levels(struct bd_reader *r, const struct bd_frame *frame)
{
    if (r->levels.enough || (!frame->data && bd_yuv_fetch(frame->yuv)))
        return; /* who uses the frame learns of the failure */
    int channels = frame->data ? (int)frame->format : 1;
    int64_t stride = frame->data ? frame->stride : frame->yuv->stride[0];
    const uint8_t *data = frame->data ? frame->data : frame->yuv->data[0];
    for (int y = 0; y < frame->height; y++) {
        const uint8_t *row = data + y * stride;
        for (int i = 0; i < frame->width * channels; i++) {
            uint8_t *low = &r->levels.lowest[i % channels],
                    *high = &r->levels.highest[i % channels];
            *low = row[i] < *low ? row[i] : *low;
            *high = row[i] > *high ? row[i] : *high;
        }
        for (int c = 0; c < channels; c++)
            r->levels.enough |= r->levels.highest[c] - r->levels.lowest[c] >= 26;
        if (r->levels.enough)
            return;
    }
    if (++r->levels.pictures == 1000)
        tell_narrow(r);
}

/* Seconds from the first frame to the end of the last. */
static double seconds_seen(const struct bd_reader *r)
{
    return (double)(r->pts + r->duration - r->origin) * (double)r->info.time_base.num /
           (double)r->info.time_base.den;
}

/* A second, or a fiftieth, may be the container's rounding; frames far apart do not tell how long
 * the last one lasts. */
bool bd_source_ends_early(const struct bd_source *source, double stated, double seen,
                          double interval)
{
    if (source->ops->cut && source->ops->cut(source))
        return true;
    return stated - seen > fmax(fmax(1, 0.02 * stated), 3 * interval);
}

/* Whether the input ends before the length that it states. */
static bool ends_early(const struct bd_reader *r)
{
    double seen = seconds_seen(r);
    return bd_source_ends_early(r->source, r->info.stated_duration, seen,
                                seen / (double)(r->index + 1));
}

/* What reading at the end returns. Frames are numbers only where none of them is an estimate. */
static enum bd_status at_end(const struct bd_reader *r)
{
    const struct bd_reader_info *info = &r->info;
    const double seen = seconds_seen(r), tenth = 0.1;
    int64_t there = r->index + 1;
    bool exact = info->frames_stated && r->counted;
    if (r->early && exact && info->frame_count > there)
        return bd_fail(BD_ERROR_IO, "'%s' ends early: %lld of %lld frames are there", r->name,
                       (long long)there, (long long)info->frame_count);
    if (r->early && info->stated_duration > seen + tenth)
        return bd_fail(BD_ERROR_IO, "'%s' ends early: %.1f of %.1f seconds are there", r->name,
                       seen, info->stated_duration);
    if (r->early)
        return bd_fail(BD_ERROR_IO, "'%s' is cut off: its end is missing", r->name);
    if (r->headless)
        return bd_fail(BD_ERROR_IO,
                       "'%s' lacks its beginning: the first %.1f seconds that it states hold no "
                       "picture that can be decoded",
                       r->name, info->lost_start);
    return BD_END;
}

/* A sender that was started again counts its times anew: they go on from the last frame, as far
 * from it as that was from the one before. Small steps back are a matter of bd_reader_read. */
static void join_restart(struct bd_reader *r, int64_t last)
{
    const struct bd_rational unit = r->info.time_base;
    if ((double)(last - r->pts) * (double)unit.num <= 0.25 * (double)unit.den) {
        r->step = r->pts - last;
        return;
    }
    int64_t joined = last + (r->step > 0 ? r->step : 1);
    r->shift += joined - r->pts;
    r->pts = joined;
    r->anew = true;
    if (r->jumping)
        return;
    if (!r->restarted)
        bd_log(r->faults, "'%s': its clock started anew at frame %lld; times go on from there",
               r->name, (long long)r->index + 1);
    r->restarted = true;
}

/* Whether a reading of all that was asked for lacks the beginning of the input. */
static bool lacks_beginning(const struct bd_reader *r)
{
    return r->from_start && r->info.lost_start > 0;
}

/* Goes to the next frame; those before `wanted` may be left out. */
static enum bd_status advance(struct bd_reader *r, int64_t wanted)
{
    if (r->interrupted && r->interrupted(r->user))
        return bd_fail(BD_ERROR_INTERRUPTED, "reading was interrupted");
    int64_t last = r->pts;
    bool all = wanted == INT64_MIN;
    if (r->ended)
        return at_end(r);
    enum bd_status status =
        r->source->ops->next(r->source, all ? wanted : wanted - r->shift, &r->pts, &r->duration);
    r->pending = status == BD_OK;
    if (status == BD_END) {
        r->ended = true;
        if (all)
            tell_narrow(r);
        bool through = all && r->follows && !r->info.live;
        r->early = through && ends_early(r);
        r->headless = through && lacks_beginning(r);
        return at_end(r);
    }
    if (status != BD_OK)
        return status;
    r->pts += r->shift;
    if (r->follows)
        join_restart(r, last);
    r->follows = true;
    r->index++;
    return BD_OK;
}

/* Advances to the first frame at or after `target`; those before `wanted` may be left out. */
static enum bd_status advance_to(struct bd_reader *r, int64_t target, int64_t wanted)
{
    enum bd_status status = BD_OK;
    while (status == BD_OK && (!r->pending || r->pts < target))
        status = advance(r, wanted);
    return status;
}

/* Moves the source to `target`, or to the first frame of all. */
static enum bd_status move_source(struct bd_reader *r, int64_t target)
{
    r->pending = r->ended = r->follows = false;
    r->shift = r->step = 0;
    return r->source->ops->seek(r->source, target);
}

/* Goes there by reading. Frames are counted, and times go on where the clock starts anew. In an
 * input that can seek, what is behind begins with the first frame. */
static enum bd_status read_to(struct bd_reader *r, int64_t target)
{
    enum bd_status status = BD_OK;
    bool behind = r->ended || (r->last_pts != INT64_MIN && target <= r->last_pts);
    if (!r->info.seekable && behind)
        return bd_fail(BD_ERROR_UNSUPPORTED, "cannot go back in a %s input: it is not seekable",
                       r->info.container);
    behind |= !r->counted || (r->pending && r->index > 0 && target < r->pts);
    if (r->info.seekable && behind) {
        status = move_source(r, INT64_MIN);
        r->index = -1;
        r->counted = true;
    }
    r->last_pts = INT64_MIN;
    return status ? status : advance_to(r, target, INT64_MIN);
}

/* Goes there by the source's times. */
static enum bd_status jump_to(struct bd_reader *r, int64_t target)
{
    enum bd_status status = move_source(r, target);
    if (status != BD_OK)
        return status;
    r->last_pts = INT64_MIN;
    r->counted = false;
    r->jumping = true;
    status = advance_to(r, target, target);
    r->jumping = false;
    if (status != BD_OK)
        return status;
    int64_t index = index_at(r, r->pts);
    if (index >= 0)
        r->index = index;
    return BD_OK;
}

static enum bd_status go_to(struct bd_reader *r, int64_t target)
{
    if (r->info.seekable && !r->anew && !r->asked && r->source->ops->restarts) {
        r->asked = true;
        r->anew = r->source->ops->restarts(r->source);
        r->counted = false; /* the source has moved */
    }
    if (!r->info.seekable || r->anew)
        return read_to(r, target);
    enum bd_status status = jump_to(r, target);
    bool doubtful = r->anew && (status == BD_OK || status == BD_END);
    return doubtful ? read_to(r, target) : status;
}

static enum bd_status check_options(const char *input, const struct bd_reader_options *o)
{
    if (!input || !input[0])
        return bd_fail(BD_ERROR_ARGUMENT, "no input is named");
    if (o->format != BD_GRAY8 && o->format != BD_RGB24)
        return bd_fail(BD_ERROR_ARGUMENT, "a reader delivers gray or rgb, not pixel format %d",
                       (int)o->format);
    if (!(o->start >= 0 && o->start < 1e9))
        return bd_fail(BD_ERROR_ARGUMENT, "start %g: must be 0 to 1e9 seconds", o->start);
    if (!(o->duration >= 0 && o->duration < 1e9))
        return bd_fail(BD_ERROR_ARGUMENT, "duration %g: must be 0 to 1e9 seconds", o->duration);
    if (o->threads < 0 || o->threads > 1024)
        return bd_fail(BD_ERROR_ARGUMENT, "decoder threads %d: must be 0 (one a core) to 1024",
                       o->threads);
    for (int i = 0; i < o->input_option_count; i++)
        if (!o->input_options[i].key || !o->input_options[i].key[0] || !o->input_options[i].value)
            return bd_fail(BD_ERROR_ARGUMENT, "input option %d has no name or no value", i + 1);
    return BD_OK;
}

/* The first frame, then the one to start with. */
static enum bd_status begin(struct bd_reader *r, const char *input,
                            const struct bd_reader_options *options)
{
    enum bd_status status = advance(r, INT64_MIN);
    if (status != BD_OK)
        return status;
    r->origin = r->pts;
    r->from_start = options->start <= 0;
    r->stop = options->duration > 0 ? pts_at(r, options->start + options->duration) : INT64_MAX;
    if (r->from_start)
        return BD_OK;
    status = go_to(r, pts_at(r, options->start));
    if (status == BD_END && options->pieces)
        return bd_fail(BD_ERROR_ARGUMENT, "film of %d pieces: start %g s is behind its last frame",
                       options->pieces->count, options->start);
    if (status == BD_END)
        return bd_fail(BD_ERROR_ARGUMENT, "'%s': start %g s is behind its last frame", input,
                       options->start);
    return status;
}

const struct bd_source_ops *bd_source_for(const char *input,
                                          const struct bd_reader_options *options)
{
    int i = 0;
    while (i < source_count - 1 && !sources[i]->claims(input, options))
        i++;
    return sources[i];
}

enum bd_status bd_reader_open(struct bd_reader **reader, const char *input,
                              const struct bd_reader_options *options)
{
    *reader = NULL;
    enum bd_status status = check_options(input, options);
    if (status != BD_OK)
        return status;
    struct bd_reader *r = calloc(1, sizeof *r);
    if (!r)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a reader");
    r->name = strdup(input);
    if (!r->name) {
        free(r);
        return bd_fail(BD_ERROR_MEMORY, "no memory for a reader");
    }
    r->interrupted = options->interrupted;
    r->user = options->user;
    r->faults = options->faults;
    r->index = -1;
    r->counted = true;
    r->last_pts = INT64_MIN;
    memset(r->levels.lowest, 255, sizeof r->levels.lowest);
    status = bd_source_for(input, options)->open(&r->source, input, options, &r->info);
    if (status == BD_OK)
        status = begin(r, input, options);
    if (status != BD_OK)
        bd_reader_close(&r);
    *reader = r;
    return status;
}

const struct bd_reader_info *bd_reader_get_info(const struct bd_reader *reader)
{
    return &reader->info;
}

enum bd_status bd_reader_read(struct bd_reader *r, struct bd_frame *frame)
{
    bool all = !r->pending; /* none was left out on the way */
    if (all) {
        enum bd_status status = advance(r, INT64_MIN);
        if (status != BD_OK)
            return status;
    }
    if (r->pts >= r->stop) {
        r->headless |= all && lacks_beginning(r);
        return at_end(r);
    }
    enum bd_status status = r->source->ops->picture(r->source, frame);
    if (status != BD_OK)
        return status;
    watch_levels(r, frame);
    r->pending = false;
    int64_t pts = r->pts;
    if (r->last_pts != INT64_MIN && pts <= r->last_pts) {
        pts = r->last_pts + 1;
        if (!r->bumped)
            bd_log(r->faults, "frame %lld: its time repeats or goes back; moved forward",
                   (long long)r->index);
        r->bumped = true;
    }
    r->last_pts = pts;
    frame->index = r->index;
    frame->pts = pts;
    frame->duration = r->duration;
    return BD_OK;
}

enum bd_status bd_reader_read_from(struct bd_reader *r, int64_t pts, struct bd_frame *frame)
{
    bool ahead = !r->pending || r->pts < pts;
    enum bd_status status = advance_to(r, pts, pts);
    if (status != BD_OK)
        return status;
    int64_t index = ahead && pts > r->origin ? index_at(r, r->pts) : -1; /* some were left out */
    if (index >= 0)
        r->index = index;
    r->counted &= !ahead;
    return bd_reader_read(r, frame);
}

enum bd_status bd_reader_read_near(struct bd_reader *r, int64_t earliest, int64_t pts,
                                   struct bd_frame *frame)
{
    int64_t near = pts - r->shift;
    enum bd_status status = BD_OK;
    if (!r->ended && r->source->ops->start)
        status = r->source->ops->start(r->source, earliest - r->shift, &near);
    return status ? status : bd_reader_read_from(r, near + r->shift, frame);
}

enum bd_status bd_reader_seek(struct bd_reader *reader, double seconds)
{
    if (!(seconds >= 0 && seconds < 1e9))
        return bd_fail(BD_ERROR_ARGUMENT, "seek to %g: must be 0 to 1e9 seconds", seconds);
    enum bd_status status = go_to(reader, pts_at(reader, seconds));
    return status == BD_END ? BD_OK : status;
}

int64_t bd_reader_damaged(const struct bd_reader *reader)
{
    const struct bd_source *source = reader->source;
    return source->ops->damaged ? source->ops->damaged(source) : 0;
}

void bd_reader_close(struct bd_reader **reader)
{
    if (!*reader)
        return;
    if ((*reader)->source)
        (*reader)->source->ops->close(&(*reader)->source);
    free((*reader)->name);
    free(*reader);
    *reader = NULL;
}
