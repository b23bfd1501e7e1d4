#include "video/input/reader.h"

#include <math.h>
#include <stdlib.h>

#include "video/input/source.h"

/* The first one that claims an input opens it. */
static const struct bd_source_ops *const sources[] = { &bd_source_synth, &bd_source_libav };

struct bd_reader {
    struct bd_source *source;
    struct bd_reader_info info;
    bool (*interrupted)(void *user);
    void *user;
    bool pending;          /* the source is at a frame that was not delivered yet */
    bool ended;            /* the source has returned BD_END */
    bool bumped;           /* a timestamp was moved: logged */
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

/* Goes to the next frame; those before `wanted` may be left out. */
static enum bd_status advance(struct bd_reader *r, int64_t wanted)
{
    if (r->interrupted && r->interrupted(r->user))
        return bd_fail(BD_ERROR_INTERRUPTED, "reading was interrupted");
    if (r->ended)
        return BD_END;
    enum bd_status status = r->source->ops->next(r->source, wanted, &r->pts, &r->duration);
    if (status == BD_OK)
        r->index++;
    else if (status == BD_END)
        r->ended = true;
    r->pending = status == BD_OK;
    return status;
}

/* Advances to the first frame at or after `target`; those before `wanted` may be left out. */
static enum bd_status advance_to(struct bd_reader *r, int64_t target, int64_t wanted)
{
    enum bd_status status = BD_OK;
    while (status == BD_OK && (!r->pending || r->pts < target))
        status = advance(r, wanted);
    return status;
}

static enum bd_status go_to(struct bd_reader *r, int64_t target)
{
    enum bd_status status;
    bool jump = r->info.seekable;
    if (!jump && (r->ended || (r->last_pts != INT64_MIN && target <= r->last_pts)))
        return bd_fail(BD_ERROR_UNSUPPORTED, "cannot go back in a %s input: it is not seekable",
                       r->info.container);
    if (jump) {
        r->pending = false;
        r->ended = false;
        status = r->source->ops->seek(r->source, target);
        if (status != BD_OK)
            return status;
    }
    r->last_pts = INT64_MIN;
    status = advance_to(r, target, jump ? target : INT64_MIN); /* else frames are counted */
    if (status != BD_OK)
        return status;
    int64_t index = jump ? index_at(r, r->pts) : -1;
    if (index >= 0)
        r->index = index;
    return BD_OK;
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
    r->stop = options->duration > 0 ? pts_at(r, options->start + options->duration) : INT64_MAX;
    if (options->start <= 0)
        return BD_OK;
    status = go_to(r, pts_at(r, options->start));
    if (status == BD_END)
        return bd_fail(BD_ERROR_ARGUMENT, "'%s': start %g s is behind its last frame", input,
                       options->start);
    return status;
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
    r->interrupted = options->interrupted;
    r->user = options->user;
    r->index = -1;
    r->last_pts = INT64_MIN;
    const struct bd_source_ops *const *ops = sources;
    while ((*ops)->claims && !(*ops)->claims(input, options))
        ops++;
    status = (*ops)->open(&r->source, input, options, &r->info);
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
    if (!r->pending) {
        enum bd_status status = advance(r, INT64_MIN);
        if (status != BD_OK)
            return status;
    }
    if (r->pts >= r->stop)
        return BD_END;
    enum bd_status status = r->source->ops->picture(r->source, frame);
    if (status != BD_OK)
        return status;
    r->pending = false;
    int64_t pts = r->pts;
    if (r->last_pts != INT64_MIN && pts <= r->last_pts) {
        pts = r->last_pts + 1;
        if (!r->bumped)
            bd_log(BD_LOG_WARNING, "frame %lld: its time repeats or goes back; moved forward",
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
    return bd_reader_read(r, frame);
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
    free(*reader);
    *reader = NULL;
}
