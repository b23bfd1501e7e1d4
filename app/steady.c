#include "app/steady.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "video/shake.h"

/* Shake is a shift of at least this many pixels of a picture of 240 rows, in so many frames of the
 * last second or so; a little, as cameras and their signals have it, is in the pixels' noise. */
static const double noticed = 0.5;
enum { several = 5 };
static const double forgotten = 1; /* seconds after which a frame counts a third */

/* Seconds for which frames are registered after the last shake. */
static const double calm = 10;

/* Less than this, in pixels, is not worth moving a picture for: the rounding of one that is. */
static const double nothing = 1.0 / 16;

/* The place that counts as none follows the camera by this much, in pixels of a picture of 240
 * rows, within the memory time: the background follows as well then. */
static const double creep = 0.25;

/* Another place is taken for good after so many seconds in which the old one is lost, */
static const double lost_for_good = 5;
/* and may be lost itself for so long until then. */
static const double lost_for_now = 1;

/* Pictures of a new place that the separator learns from, and bytes they take at most. */
enum { most_kept = 12, least_kept = 2, most_bytes = 64 << 20 };

/* A place that the camera may have been moved to. */
struct candidate {
    struct bd_shake *shake;
    bool begun;
    bool resting;        /* the old place is still in sight */
    double since, found; /* times of its first and its last frame */
    struct bd_frame *kept;
    int most, count; /* pictures */
    double next;     /* when one more is kept */
};

struct bd_steady {
    enum bd_steady_mode mode;
    int width, height, channels;
    double scale, memory;
    struct bd_shake *shake;
    struct bd_shifter *shifter;
    struct bd_shift origin, held; /* the place that counts as none; where the camera was last */
    double time;                  /* of the last frame; bd_steady_ahead before */
    double found;                 /* of the last frame whose shift was found */
    double seen;                  /* frames that shook, forgotten with time */
    double shaken;                /* when that was last enough */
    bool active, filled;          /* frames are registered; `picture` holds what was seen */
    struct bd_frame picture;      /* registered */
    struct candidate candidate;
    bool moved;
    uint8_t *background, *difference, *mask, *shadow;
};

static void forget_candidate(struct candidate *candidate)
{
    candidate->begun = false;
    candidate->count = 0;
}

static void forget_times(struct bd_steady *steady)
{
    steady->time = steady->found = bd_steady_ahead;
    steady->shaken = -2 * calm;
    forget_candidate(&steady->candidate);
}

static enum bd_status take_memory(struct bd_steady *self, enum bd_pixel_format format, int outputs)
{
    size_t pixels = (size_t)self->width * (size_t)self->height;
    size_t bytes = pixels * (size_t)self->channels;
    size_t most = most_bytes / bytes;
    struct candidate *candidate = &self->candidate;
    candidate->most = most > most_kept    ? (int)most_kept
                      : most < least_kept ? (int)least_kept
                                          : (int)most;
    candidate->kept = calloc((size_t)candidate->most, sizeof *candidate->kept);
    self->mask = malloc(pixels);
    self->background = outputs & BD_SEPARATOR_BACKGROUND ? malloc(bytes) : NULL;
    self->difference = outputs & BD_SEPARATOR_DIFFERENCE ? malloc(pixels) : NULL;
    self->shadow = outputs & BD_SEPARATOR_SHADOW ? malloc(pixels) : NULL;
    if (!candidate->kept || !self->mask ||
        (!self->background && (outputs & BD_SEPARATOR_BACKGROUND)) ||
        (!self->difference && (outputs & BD_SEPARATOR_DIFFERENCE)) ||
        (!self->shadow && (outputs & BD_SEPARATOR_SHADOW)))
        return bd_fail(BD_ERROR_MEMORY, "out of memory for a camera that shakes");
    enum bd_status status = bd_frame_create(&self->picture, self->width, self->height, format);
    for (int i = 0; i < candidate->most && !status; i++)
        status = bd_frame_create(&candidate->kept[i], self->width, self->height, format);
    return status;
}

enum bd_status bd_steady_create(struct bd_steady **steady, enum bd_steady_mode mode,
                                const struct bd_separator_options *settings,
                                enum bd_pixel_format format)
{
    *steady = NULL;
    if (mode == BD_STEADY_OFF)
        return BD_OK;
    struct bd_steady *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for a camera that shakes");
    self->mode = mode;
    self->width = settings->width;
    self->height = settings->height;
    self->channels = settings->channels;
    self->memory = settings->memory;
    forget_times(self);
    enum bd_status status = bd_shake_create(&self->shake, self->width, self->height, format);
    if (!status)
        status = bd_shake_create(&self->candidate.shake, self->width, self->height, format);
    if (!status)
        status = bd_shifter_create(&self->shifter, self->width, self->height, self->channels);
    if (!status)
        status = take_memory(self, format, settings->outputs);
    if (status)
        bd_steady_destroy(&self);
    else
        self->scale = bd_shake_scale(self->shake);
    *steady = self;
    return status;
}

void bd_steady_destroy(struct bd_steady **steady)
{
    struct bd_steady *self = *steady;
    if (!self)
        return;
    for (int i = 0; self->candidate.kept && i < self->candidate.most; i++)
        bd_frame_destroy(&self->candidate.kept[i]);
    free(self->candidate.kept);
    bd_shake_destroy(&self->candidate.shake);
    bd_shake_destroy(&self->shake);
    bd_shifter_destroy(&self->shifter);
    bd_frame_destroy(&self->picture);
    free(self->background);
    free(self->difference);
    free(self->mask);
    free(self->shadow);
    free(self);
    *steady = NULL;
}

static double size_of(struct bd_shift shift)
{
    return fmax(fabs(shift.x), fabs(shift.y));
}

static struct bd_shift difference(struct bd_shift a, struct bd_shift b)
{
    return (struct bd_shift){ a.x - b.x, a.y - b.y };
}

static double limited(double value, double most)
{
    return value > most ? most : value < -most ? -most : value;
}

/* Where nothing is registered, and what that is, follow the camera slowly. */
static void follow(struct bd_steady *steady, double passed)
{
    double most = creep * steady->scale * passed / steady->memory;
    struct bd_shift way = difference(steady->held, steady->origin);
    steady->origin.x += limited(way.x, most);
    steady->origin.y += limited(way.y, most);
}

/* Whether frames are registered now. */
static void decide(struct bd_steady *steady, bool found, double passed)
{
    double enough = steady->time < 0 ? 1 : several; /* of a look ahead each shows another moment */
    double size = size_of(difference(steady->held, steady->origin));
    steady->seen *= exp(-passed / forgotten);
    if (found && size >= noticed * steady->scale) {
        steady->seen++;
        if (steady->active || steady->seen >= enough)
            steady->shaken = steady->time;
    }
    bool lately = steady->time - steady->shaken < calm;
    if (steady->mode == BD_STEADY_ON || lately)
        steady->active = true;
    else if (size < nothing)
        steady->active = false; /* without a jump */
}

static void keep(struct candidate *candidate, struct bd_shifter *shifter,
                 const struct bd_frame *picture, struct bd_shift shift)
{
    struct bd_frame *to = &candidate->kept[candidate->count % candidate->most];
    bd_shift_picture(shifter, to->data, to->stride, picture->data, picture->stride,
                     (int)picture->format, shift, BD_SHIFT_REPLICATE);
    candidate->count++;
}

/* The time for which a place has to be seen until it is taken for good. While the old one is in
 * sight there is no hurry: all is right but the borders. */
static double time_to_prove(const struct bd_steady *steady)
{
    return steady->candidate.resting ? steady->memory : lost_for_good;
}

/* Sees whether the camera has a new place: there since some time, while the old one is lost, or
 * seen from there without moving. */
static void consider(struct bd_steady *steady, const struct bd_frame *picture,
                     enum bd_shake_verdict verdict)
{
    struct candidate *candidate = &steady->candidate;
    struct bd_shift shift;
    double size = size_of(difference(steady->held, steady->origin));
    bool resting = verdict == BD_SHAKE_FOUND && size >= noticed * steady->scale;
    bool lost = verdict == BD_SHAKE_LOST && steady->time - steady->found >= lost_for_now;
    if (!resting && !lost) {
        if (verdict == BD_SHAKE_FOUND)
            forget_candidate(candidate);
        return;
    }
    if (candidate->begun && candidate->resting != resting)
        forget_candidate(candidate);
    if (!candidate->begun) {
        bd_shake_begin(candidate->shake, picture);
        candidate->begun = true;
        candidate->resting = resting;
        candidate->since = candidate->found = candidate->next = steady->time;
    }
    bool there = bd_shake_find(candidate->shake, picture, &shift) == BD_SHAKE_FOUND;
    if (there && resting && size_of(shift) >= noticed * steady->scale)
        forget_candidate(candidate); /* it shakes */
    else if (there)
        candidate->found = steady->time;
    else if (steady->time - candidate->found >= lost_for_now)
        forget_candidate(candidate);
    if (!there || !candidate->begun)
        return;
    if (steady->time >= candidate->next) {
        keep(candidate, steady->shifter, picture, shift);
        candidate->next += time_to_prove(steady) / candidate->most;
    }
    steady->moved = steady->time - candidate->since >= time_to_prove(steady);
}

/* Frames without an answer are taken to be where the last one was. */
static void locate(struct bd_steady *steady, const struct bd_frame *picture, double time)
{
    struct bd_shift shift;
    enum bd_shake_verdict verdict = bd_shake_find(steady->shake, picture, &shift);
    if (verdict == BD_SHAKE_FOUND)
        steady->held = shift;
    if (time < 0) { /* a look ahead: frames are far from each other */
        decide(steady, verdict == BD_SHAKE_FOUND, 0);
        return;
    }
    double passed = steady->time >= 0 && time > steady->time ? time - steady->time : 0;
    steady->time = time;
    if (verdict == BD_SHAKE_FOUND || steady->found < 0)
        steady->found = time;
    follow(steady, passed);
    decide(steady, verdict == BD_SHAKE_FOUND, passed);
    consider(steady, picture, verdict);
}

void bd_steady_take(struct bd_steady *steady, const struct bd_frame *picture, double time,
                    const struct bd_frame **registered, struct bd_shift *shift)
{
    *registered = picture;
    *shift = (struct bd_shift){ 0, 0 };
    if (!steady)
        return;
    locate(steady, picture, time);
    if (!steady->active) {
        steady->filled = false;
        return;
    }
    struct bd_shift by = difference(steady->held, steady->origin);
    if (size_of(by) < nothing)
        by = (struct bd_shift){ 0, 0 };
    struct bd_frame *out = &steady->picture;
    bd_shift_picture(steady->shifter, out->data, out->stride, picture->data, picture->stride,
                     steady->channels, by, steady->filled ? BD_SHIFT_KEEP : BD_SHIFT_REPLICATE);
    steady->filled = true;
    if (by.x == 0 && by.y == 0)
        return;
    out->index = picture->index;
    out->pts = picture->pts;
    out->duration = picture->duration;
    *registered = out;
    *shift = by;
}

/* Moves one picture of `channels` back, if there is one. */
static void give_picture(struct bd_steady *steady, const uint8_t **picture, uint8_t *out,
                         int channels, struct bd_shift back)
{
    int64_t stride = (int64_t)steady->width * channels;
    if (!*picture || !out)
        return;
    bd_shift_picture(steady->shifter, out, stride, *picture, stride, channels, back,
                     BD_SHIFT_REPLICATE);
    *picture = out;
}

static void give_mask(struct bd_steady *steady, const uint8_t **mask, uint8_t *out,
                      struct bd_shift back)
{
    if (!*mask || !out)
        return;
    bd_shift_mask(steady->shifter, out, steady->width, *mask, steady->width, back);
    *mask = out;
}

void bd_steady_give(struct bd_steady *steady, struct bd_shift shift,
                    struct bd_separation *separation)
{
    if (!steady || (shift.x == 0 && shift.y == 0))
        return;
    struct bd_shift back = { -shift.x, -shift.y };
    size_t pixels = (size_t)steady->width * (size_t)steady->height;
    give_picture(steady, &separation->background, steady->background, steady->channels, back);
    give_picture(steady, &separation->difference, steady->difference, 1, back);
    give_mask(steady, &separation->mask, steady->mask, back);
    give_mask(steady, &separation->shadow, steady->shadow, back);
    if (!separation->mask)
        return;
    separation->foreground = 0;
    for (size_t i = 0; i < pixels; i++)
        separation->foreground += separation->mask[i] & 1;
    for (size_t i = 0; i < pixels && separation->shadow; i++)
        steady->shadow[i] &= (uint8_t)~separation->mask[i];
}

bool bd_steady_moved(const struct bd_steady *steady)
{
    return steady && steady->moved;
}

enum bd_status bd_steady_learn(struct bd_steady *steady, struct bd_separator *separator)
{
    struct candidate *candidate = &steady->candidate;
    int count = candidate->count < candidate->most ? candidate->count : candidate->most;
    enum bd_status status = bd_separator_reset(separator);
    for (int i = 0; i < count && !status; i++) {
        const struct bd_frame *kept =
            &candidate->kept[(candidate->count - count + i) % candidate->most];
        status = bd_separator_preview(separator, kept->data, kept->stride);
    }
    if (!status)
        status = bd_separator_prime(separator);
    struct bd_shake *old = steady->shake;
    steady->shake = candidate->shake;
    candidate->shake = old;
    steady->origin = steady->held = (struct bd_shift){ 0, 0 };
    steady->moved = steady->filled = false;
    steady->found = steady->time;
    forget_candidate(candidate);
    return status;
}

void bd_steady_seek(struct bd_steady *steady)
{
    if (steady)
        forget_times(steady);
}
