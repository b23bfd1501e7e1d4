/* The source for pieces that are read as one film. Each piece is a source of its own; one is open
 * at a time, two while the next takes over. A piece begins where the one before ended: when that
 * was read through, after its last frame, else as its container states. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "video/input/pieces.h"
#include "video/input/source.h"

/* What reading has shown of a piece. */
struct part {
    double seconds; /* its length; 0: it is left out */
    bool faulty;    /* it is not there, or not all of it */
};

struct joined_source {
    struct bd_source base;
    const struct bd_pieces *pieces;
    struct bd_reader_options options; /* of each piece */
    struct part *parts;               /* one for each piece */
    int at;                           /* the piece in turn; pieces->count: the end */
    double begin;                     /* seconds from the first frame of all to that of the piece */
    struct bd_source *source;         /* opened last; NULL: none yet */
    int opened;                       /* its piece, which is `at` or one that was before it */
    struct {
        int64_t first, last, duration; /* of its frames since it was opened or sought in */
        int64_t count;
    } seen;
    int64_t damaged; /* in sources that are closed, and pieces that are faulty */
};

static double tick_of(struct bd_rational time_base)
{
    return (double)time_base.num / (double)time_base.den;
}

static struct bd_piece *piece_at(const struct joined_source *s)
{
    return &s->pieces->items[s->at];
}

/* pts of the first frame of all, in the unit of the film. */
static int64_t origin_of(const struct joined_source *s)
{
    const struct bd_piece *first = s->pieces->items;
    while (first->fault)
        first++;
    return llround((double)first->first * tick_of(first->time_base) /
                   tick_of(s->pieces->info.time_base));
}

/* A duration in the unit of a piece, in that of the film. */
static int64_t to_film(const struct joined_source *s, int64_t units)
{
    return llround((double)units * tick_of(piece_at(s)->time_base) /
                   tick_of(s->pieces->info.time_base));
}

/* The time of the film at which the piece begins. */
static int64_t begin_of(const struct joined_source *s)
{
    return origin_of(s) + llround(s->begin / tick_of(s->pieces->info.time_base));
}

/* The last pts of the piece that is not behind `pts` of the film. */
static int64_t to_piece(const struct joined_source *s, int64_t pts)
{
    const double most = 4e18; /* so that sums stay numbers */
    double units = ((double)pts - (double)begin_of(s)) * tick_of(s->pieces->info.time_base) /
                   tick_of(piece_at(s)->time_base);
    return piece_at(s)->first + (int64_t)fmin(floor(units + 1e-6), most);
}

static int64_t joined_damaged(const struct bd_source *base)
{
    const struct joined_source *s = (const struct joined_source *)base;
    int64_t here = s->source && s->source->ops->damaged ? s->source->ops->damaged(s->source) : 0;
    return s->damaged + here;
}

static void close_piece(struct joined_source *s)
{
    s->damaged = joined_damaged(&s->base);
    if (s->source)
        s->source->ops->close(&s->source);
}

static void mark_faulty(struct joined_source *s, int number)
{
    s->damaged += !s->parts[number].faulty;
    s->parts[number].faulty = true;
}

/* Notes that the piece in turn is faulty, and says why (NULL: that was said). */
static void note_fault(struct joined_source *s, const char *why, const char *what)
{
    if (why)
        bd_log(s->options.faults, "%s; %s", why, what);
    mark_faulty(s, s->at);
}

/* Opens the piece in turn. The source before it hands its tone curve on, and is closed. */
static enum bd_status open_piece(struct joined_source *s)
{
    const char *name = piece_at(s)->name;
    struct bd_source *opened = NULL;
    struct bd_reader_info info;
    enum bd_status status =
        bd_source_for(name, &s->options)->open(&opened, name, &s->options, &info);
    if (status)
        return status;
    s->options.tone_curve = false; /* that of the first one is for all */
    if (s->source && opened->ops == s->source->ops && opened->ops->inherit)
        opened->ops->inherit(opened, s->source);
    close_piece(s);
    s->source = opened;
    s->opened = s->at;
    s->seen.count = 0;
    bd_log(BD_LOG_INFO, "piece %d of %d, '%s', begins at %.2f s", s->at + 1, s->pieces->count, name,
           s->begin);
    if (info.lost_start > 0 && !s->parts[s->at].faulty) {
        char why[bd_detail_size];
        snprintf(why, sizeof why, "'%.400s' is cut off: its beginning is missing", name);
        note_fault(s, why, "the rest of it follows at once");
    }
    return BD_OK;
}

/* Whether a failure is not the piece's own. */
static bool is_fatal(enum bd_status status)
{
    return status == BD_ERROR_INTERRUPTED || status == BD_ERROR_MEMORY;
}

/* Goes to the piece after this one, which is `seconds` long. */
static void pass(struct joined_source *s, double seconds)
{
    s->parts[s->at].seconds = seconds;
    s->begin += seconds;
    s->at++;
}

/* Opens the piece in turn, or the first behind it that can be opened. BD_END: there is none. */
static enum bd_status open_next(struct joined_source *s)
{
    while (s->at < s->pieces->count) {
        const struct bd_piece *piece = piece_at(s);
        if (s->source && s->opened == s->at)
            return BD_OK;
        enum bd_status status = piece->fault ? BD_ERROR_IO : open_piece(s);
        if (!status || is_fatal(status))
            return status;
        note_fault(s, piece->fault ? NULL : bd_error_detail(), "this piece is left out");
        pass(s, 0);
    }
    return BD_END;
}

/* Seconds from the first frame of the piece to the end of the last one that was seen. */
static double length_seen(const struct joined_source *s)
{
    const struct bd_piece *piece = piece_at(s);
    double tick = tick_of(piece->time_base), step = piece->interval;
    if (s->seen.duration > 0)
        step = (double)s->seen.duration * tick;
    else if (step <= 0 && s->seen.count > 1)
        step = (double)(s->seen.last - s->seen.first) * tick / (double)(s->seen.count - 1);
    return bd_whole_frames((double)(s->seen.last - piece->first) * tick + step, piece->interval,
                           tick);
}

/* At the end of the piece, of which all frames were wanted: whether it lacks some. */
static bool lacks_frames(const struct joined_source *s)
{
    double tick = tick_of(piece_at(s)->time_base);
    double seen = (double)(s->seen.last - s->seen.first) * tick;
    return bd_source_ends_early(s->source, piece_at(s)->stated, length_seen(s),
                                s->seen.count > 1 ? seen / (double)(s->seen.count - 1) : 0);
}

/* The piece has no more frames, `status` says why; those before `wanted` may have been left out. */
static void end_piece(struct joined_source *s, enum bd_status status, int64_t wanted)
{
    char why[bd_detail_size];
    bool known = s->seen.count > 0 && wanted == INT64_MIN;
    if (status != BD_END)
        note_fault(s, bd_error_detail(), "the rest of this piece is left out");
    else if (known && lacks_frames(s)) {
        snprintf(why, sizeof why, "'%.400s' is cut off: its end is missing", piece_at(s)->name);
        note_fault(s, why, "the next piece follows at once");
    }
    pass(s, known ? length_seen(s) : s->parts[s->at].seconds);
}

/* What `next` returns behind the last piece. */
static enum bd_status at_end(const struct joined_source *s, int64_t wanted)
{
    int faulty = 0, first = 0;
    for (int i = s->pieces->count - 1; i >= 0; i--)
        if (s->parts[i].faulty) {
            faulty++;
            first = i;
        }
    if (faulty == 0 || wanted != INT64_MIN)
        return BD_END;
    return bd_fail(BD_ERROR_IO, "%d of %d pieces %s missing or cut off, the first of them '%s'",
                   faulty, s->pieces->count, faulty == 1 ? "is" : "are",
                   s->pieces->items[first].name);
}

static enum bd_status joined_next(struct bd_source *base, int64_t wanted, int64_t *pts,
                                  int64_t *duration)
{
    struct joined_source *s = (struct joined_source *)base;
    for (;;) {
        enum bd_status status = open_next(s);
        if (status)
            return status == BD_END ? at_end(s, wanted) : status;
        int64_t own, lasts;
        status = s->source->ops->next(
            s->source, wanted == INT64_MIN ? wanted : to_piece(s, wanted) - 1, &own, &lasts);
        if (is_fatal(status))
            return status;
        if (status) {
            end_piece(s, status, wanted);
            continue;
        }
        if (s->seen.count++ == 0)
            s->seen.first = own;
        s->seen.last = own;
        s->seen.duration = lasts;
        *pts = begin_of(s) + to_film(s, own - piece_at(s)->first);
        *duration = to_film(s, lasts);
        return BD_OK;
    }
}

/* Within the piece in turn. */
static enum bd_status joined_start(struct bd_source *base, int64_t earliest, int64_t *wanted)
{
    struct joined_source *s = (struct joined_source *)base;
    if (s->at >= s->pieces->count || !s->source || s->opened != s->at || !s->source->ops->start)
        return BD_OK;
    const int64_t last = to_piece(s, *wanted);
    int64_t own = last;
    enum bd_status status = s->source->ops->start(s->source, to_piece(s, earliest - 1) + 1, &own);
    if (!status && own != last)
        *wanted = begin_of(s) + to_film(s, own - piece_at(s)->first);
    return is_fatal(status) ? status : BD_OK;
}

static enum bd_status joined_picture(struct bd_source *base, struct bd_frame *frame)
{
    const struct joined_source *s = (const struct joined_source *)base;
    return s->source->ops->picture(s->source, frame);
}

/* Makes the piece in which `target` lies the one in turn. Pieces before it that were left out are
 * missed all the same: they would make the times of the film others. */
static void choose_piece(struct joined_source *s, int64_t target)
{
    s->at = 0;
    s->begin = 0;
    for (int i = 0; i + 1 < s->pieces->count; i++) {
        double end = s->begin + s->parts[i].seconds;
        if (origin_of(s) + llround(end / tick_of(s->pieces->info.time_base)) > target)
            break;
        if (s->pieces->items[i].fault)
            mark_faulty(s, i);
        s->at = i + 1;
        s->begin = end;
    }
}

static enum bd_status joined_seek(struct bd_source *base, int64_t target)
{
    struct joined_source *s = (struct joined_source *)base;
    choose_piece(s, target);
    enum bd_status status = open_next(s);
    if (status)
        return status == BD_END ? BD_OK : status;
    s->seen.count = 0;
    status = s->source->ops->seek(s->source, target == INT64_MIN ? target : to_piece(s, target));
    if (!status || is_fatal(status))
        return status;
    note_fault(s, bd_error_detail(), "the rest of this piece is left out");
    pass(s, s->parts[s->at].seconds);
    return BD_OK;
}

static void joined_close(struct bd_source **base)
{
    struct joined_source *s = (struct joined_source *)*base;
    close_piece(s);
    free(s->parts);
    free(s);
    *base = NULL;
}

static enum bd_status joined_open(struct bd_source **source, const char *input,
                                  const struct bd_reader_options *options,
                                  struct bd_reader_info *info)
{
    const struct bd_pieces *pieces = options->pieces;
    struct joined_source *s = calloc(1, sizeof *s);
    *source = NULL;
    if (s)
        s->parts = calloc((size_t)pieces->count, sizeof *s->parts);
    if (!s || !s->parts) {
        free(s);
        return bd_fail(BD_ERROR_MEMORY, "no memory to open '%s'", input);
    }
    s->base.ops = &bd_source_joined;
    s->pieces = pieces;
    s->options = bd_piece_options(options);
    for (int i = 0; i < pieces->count; i++)
        s->parts[i].seconds = pieces->items[i].seconds;
    struct bd_source *base = &s->base;
    enum bd_status status = open_next(s);
    if (status) {
        if (status == BD_END)
            status = at_end(s, INT64_MIN);
        joined_close(&base);
        return status;
    }
    *info = pieces->info;
    *source = base;
    return BD_OK;
}

static bool joined_claims(const char *input, const struct bd_reader_options *options)
{
    (void)input;
    return options->pieces;
}

const struct bd_source_ops bd_source_joined = {
    .claims = joined_claims,
    .open = joined_open,
    .next = joined_next,
    .start = joined_start,
    .picture = joined_picture,
    .seek = joined_seek,
    .damaged = joined_damaged,
    .close = joined_close,
};
