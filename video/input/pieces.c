#include "video/input/pieces.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "video/input/source.h"

struct bd_reader_options bd_piece_options(const struct bd_reader_options *options)
{
    struct bd_reader_options own = *options;
    own.pieces = NULL;
    own.start = own.duration = 0;
    own.hwaccel = NULL;
    own.decoders = 0;
    return own;
}

/* What sends as it likes has no place on a timeline of files, and cannot be opened twice. */
static enum bd_status check_kind(const char *name)
{
    struct stat info;
    bool there = stat(name, &info) == 0;
    if (strcmp(name, "-") == 0 || strncmp(name, "/dev/video", 10) == 0 ||
        (there && (S_ISCHR(info.st_mode) || S_ISFIFO(info.st_mode))))
        return bd_fail(BD_ERROR_ARGUMENT,
                       "'%s' is a camera or a pipe: only files can be joined to one film", name);
    return BD_OK;
}

double bd_whole_frames(double seconds, double interval, double tick)
{
    double frames = interval > 0 ? round(seconds / interval) : 0;
    return frames > 0 && fabs(frames * interval - seconds) <= 1.5 * tick ? frames * interval
                                                                         : seconds;
}

static bool same(struct bd_rational a, struct bd_rational b)
{
    return a.num * b.den == b.num * a.den;
}

/* Adds a piece to what is known of the film. Times that differ in their unit get a fine one. */
static void add(struct bd_pieces *pieces, const struct bd_reader_info *info, double seconds)
{
    struct bd_reader_info *film = &pieces->info;
    if (film->width == 0) {
        *film = *info;
        film->duration = seconds;
        film->stated_duration = film->lost_start = 0; /* each piece has its own */
        film->helped = false;
        return;
    }
    if (!same(film->time_base, info->time_base))
        film->time_base = (struct bd_rational){ 1, 1000000 };
    film->frame_count =
        film->frame_count && info->frame_count ? film->frame_count + info->frame_count : 0;
    film->duration += seconds;
    film->seekable &= info->seekable;
    if (!same(film->frame_rate, info->frame_rate))
        film->frame_rate =
            film->frame_count && film->duration > 0
                ? (struct bd_rational){ llround((double)film->frame_count * 1000 / film->duration),
                                        1000 }
                : (struct bd_rational){ 0, 1 };
}

/* Opens a piece, and learns when its first frame comes. */
static enum bd_status look_at(struct bd_piece *piece, struct bd_reader_info *info,
                              const struct bd_reader_options *options)
{
    struct bd_source *source = NULL;
    int64_t duration;
    enum bd_status status =
        bd_source_for(piece->name, options)->open(&source, piece->name, options, info);
    if (!status)
        status = source->ops->next(source, INT64_MIN, &piece->first, &duration);
    if (source)
        source->ops->close(&source);
    if (status)
        return status;
    const struct bd_rational unit = info->time_base, rate = info->frame_rate;
    piece->time_base = unit;
    piece->interval = rate.num > 0 ? (double)rate.den / (double)rate.num : 0;
    piece->stated = info->stated_duration;
    piece->seconds = bd_whole_frames(piece->stated > 0 ? piece->stated : info->duration,
                                     piece->interval, (double)unit.num / (double)unit.den);
    return BD_OK;
}

static enum bd_status check_fit(const struct bd_pieces *pieces, const struct bd_piece *piece,
                                const struct bd_reader_info *info)
{
    const struct bd_reader_info *film = &pieces->info;
    if (info->live)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "'%s' is a live source: only files can be joined to one film", piece->name);
    if (film->width && (info->width != film->width || info->height != film->height))
        return bd_fail(BD_ERROR_FORMAT,
                       "'%s' is %dx%d, the pieces before it are %dx%d: pieces that are joined must "
                       "have one size",
                       piece->name, info->width, info->height, film->width, film->height);
    return BD_OK;
}

/* Looks at one piece. That it cannot be read is no failure, but kept in `fault`. */
static enum bd_status look_and_add(struct bd_pieces *pieces, struct bd_piece *piece,
                                   const struct bd_reader_options *options, enum bd_status *first)
{
    struct bd_reader_info info;
    enum bd_status status = check_kind(piece->name);
    if (status)
        return status;
    status = look_at(piece, &info, options);
    if (status == BD_ERROR_INTERRUPTED || status == BD_ERROR_MEMORY)
        return status;
    if (status) {
        *first = *first ? *first : status;
        piece->fault = strdup(bd_error_detail());
        return piece->fault ? BD_OK : bd_fail(BD_ERROR_MEMORY, "no memory for a piece of a film");
    }
    status = check_fit(pieces, piece, &info);
    if (!status)
        add(pieces, &info, piece->seconds);
    return status;
}

static enum bd_status look_at_all(struct bd_pieces *pieces, const struct bd_reader_options *options)
{
    struct bd_reader_options own = bd_piece_options(options);
    enum bd_status first = BD_OK;
    own.threads = 1;           /* for one frame */
    own.faults = BD_LOG_DEBUG; /* the readers to come tell them */
    own.device = NULL;
    for (int i = 0; i < pieces->count; i++) {
        if (options->interrupted && options->interrupted(options->user))
            return bd_fail(BD_ERROR_INTERRUPTED, "opening the pieces was interrupted");
        enum bd_status status = look_and_add(pieces, &pieces->items[i], &own, &first);
        if (status)
            return status;
        own.tone_curve = own.tone_curve && !pieces->info.width; /* the first one decides */
    }
    if (pieces->info.width == 0)
        return bd_fail(first, "none of %d pieces can be read: %s", pieces->count,
                       pieces->items[0].fault);
    for (int i = 0; i < pieces->count; i++)
        if (pieces->items[i].fault)
            bd_log(BD_LOG_WARNING, "%s; this piece is left out", pieces->items[i].fault);
    return BD_OK;
}

enum bd_status bd_pieces_open(struct bd_pieces **pieces, const char *const *names, int count,
                              const struct bd_reader_options *options)
{
    *pieces = NULL;
    struct bd_pieces *self = calloc(1, sizeof *self);
    if (self)
        self->items = calloc((size_t)count + 1, sizeof *self->items);
    if (!self || !self->items) {
        free(self);
        return bd_fail(BD_ERROR_MEMORY, "no memory for %d pieces of a film", count);
    }
    self->count = count;
    for (int i = 0; i < count; i++)
        self->items[i].name = names[i];
    enum bd_status status = look_at_all(self, options);
    if (status)
        bd_pieces_close(&self);
    *pieces = self;
    return status;
}

void bd_pieces_close(struct bd_pieces **pieces)
{
    if (!*pieces)
        return;
    for (int i = 0; i < (*pieces)->count; i++)
        free((*pieces)->items[i].fault);
    free((*pieces)->items);
    free(*pieces);
    *pieces = NULL;
}
