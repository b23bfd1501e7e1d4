#include "app/pipeline/stabilise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/pipeline/relocation.h"
#include "video/motion/global_motion.h"

/* Shake is a shift of at least so many pixels of a picture of 240 rows, */
static const double noticed = 0.5;
/* and there is some when those of the frames of about the last second add up to this. Still
 * cameras, and what transmits their signals, have been seen to make 1.7 of it in three frames. */
static const double enough = 2.5;
static const double forgotten = 1; /* seconds after which a frame counts a third */

/* Seconds for which frames are registered after the last shake. */
static const double calm = 10;

/* Less than this, in pixels, is not worth moving a picture for: the rounding of one that is. */
static const double nothing = 1.0 / 16;

/* The place that counts as none follows the camera by this much, in pixels of a picture of 240
 * rows, within the memory time: the background follows as well then. */
static const double creep = 0.25;

struct bd_stabiliser {
    enum bd_stabilise_mode mode;
    int width, height, channels;
    double scale, memory;
    struct bd_global_motion *shake;
    struct bd_shifter *shifter;
    struct bd_shift origin, held; /* the place that counts as none; where the camera was last */
    double time;                  /* of the last frame; bd_stabiliser_ahead before */
    double seen;                  /* the sum of shifts, forgotten with time */
    double until;                 /* frames are registered, once they are */
    bool active, filled;          /* they are; `picture` holds what was seen */
    struct bd_frame picture;      /* registered */
    struct bd_relocation *place;
    bool moved, frozen;
    uint8_t *background, *difference, *mask, *shadow;
};

static void forget_times(struct bd_stabiliser *steady)
{
    steady->time = bd_stabiliser_ahead;
    steady->moved = false;
    bd_relocation_forget(steady->place);
}

static enum bd_status take_memory(struct bd_stabiliser *self, enum bd_pixel_format format,
                                  int outputs)
{
    size_t pixels = (size_t)self->width * (size_t)self->height;
    size_t bytes = pixels * (size_t)self->channels;
    self->mask = malloc(pixels);
    self->background = outputs & BD_SEPARATOR_BACKGROUND ? malloc(bytes) : NULL;
    self->difference = outputs & BD_SEPARATOR_DIFFERENCE ? malloc(pixels) : NULL;
    self->shadow = outputs & BD_SEPARATOR_SHADOW ? malloc(pixels) : NULL;
    if (!self->mask || (!self->background && (outputs & BD_SEPARATOR_BACKGROUND)) ||
        (!self->difference && (outputs & BD_SEPARATOR_DIFFERENCE)) ||
        (!self->shadow && (outputs & BD_SEPARATOR_SHADOW)))
        return bd_fail(BD_ERROR_MEMORY, "out of memory for a camera that shakes");
    return bd_frame_create(&self->picture, self->width, self->height, format);
}

enum bd_status bd_stabiliser_create(struct bd_stabiliser **steady, enum bd_stabilise_mode mode,
                                    const struct bd_separator_options *settings,
                                    enum bd_pixel_format format)
{
    *steady = NULL;
    if (mode == BD_STABILISE_OFF)
        return BD_OK;
    struct bd_stabiliser *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for a camera that shakes");
    self->mode = mode;
    self->width = settings->width;
    self->height = settings->height;
    self->channels = settings->channels;
    self->memory = settings->memory;
    self->active = mode == BD_STABILISE_ON;
    enum bd_status status =
        bd_global_motion_create(&self->shake, self->width, self->height, format);
    if (!status)
        status =
            bd_relocation_create(&self->place, self->width, self->height, format, self->memory);
    if (!status)
        status = bd_shifter_create(&self->shifter, self->width, self->height, self->channels);
    if (!status)
        status = take_memory(self, format, settings->outputs);
    if (status) {
        bd_stabiliser_destroy(&self);
        return status;
    }
    self->scale = bd_global_motion_scale(self->shake);
    forget_times(self);
    *steady = self;
    return BD_OK;
}

void bd_stabiliser_destroy(struct bd_stabiliser **steady)
{
    struct bd_stabiliser *self = *steady;
    if (!self)
        return;
    bd_relocation_destroy(&self->place);
    bd_global_motion_destroy(&self->shake);
    bd_shifter_destroy(&self->shifter);
    bd_frame_destroy(&self->picture);
    free(self->background);
    free(self->difference);
    free(self->mask);
    free(self->shadow);
    free(self);
    *steady = NULL;
}

static double limited(double value, double most)
{
    return value > most ? most : value < -most ? -most : value;
}

/* Where nothing is registered, and what that is, follow the camera slowly. */
static void follow(struct bd_stabiliser *steady, double passed)
{
    double most = creep * steady->scale * passed / steady->memory;
    struct bd_shift way = bd_shift_minus(steady->held, steady->origin);
    steady->origin.x += limited(way.x, most);
    steady->origin.y += limited(way.y, most);
}

/* Whether frames are registered now. Of a look ahead, each frame shows another moment, and one that
 * shook is enough. */
static void decide(struct bd_stabiliser *steady, bool found, double passed)
{
    double size = bd_shift_size(bd_shift_minus(steady->held, steady->origin)) / steady->scale;
    bool ahead = steady->time < 0;
    steady->seen *= exp(-passed / forgotten);
    if (found && size >= noticed) {
        steady->seen += size;
        if (!steady->active && (ahead || steady->seen >= enough)) {
            steady->active = true;
            bd_log(BD_LOG_INFO, "the camera shakes: frames are registered");
        }
        steady->until = steady->time + calm;
    }
    if (steady->mode == BD_STABILISE_AUTO && !ahead && steady->time >= steady->until &&
        size * steady->scale < nothing)
        steady->active = false; /* without a jump */
}

/* Finds where the camera was in a frame of a look ahead: one far from the others. */
static void locate_ahead(struct bd_stabiliser *steady, const struct bd_frame *picture)
{
    struct bd_shift shift;
    bool found = bd_global_motion_find(steady->shake, picture, &shift) == BD_SHAKE_FOUND;
    steady->held = found ? shift : steady->origin;
    decide(steady, found, 0);
}

/* Finds where the camera was in a frame; where there is no answer, where it was before. */
static void locate(struct bd_stabiliser *steady, const struct bd_frame *picture, double time)
{
    struct bd_shift shift;
    enum bd_global_motion_verdict verdict = bd_global_motion_find(steady->shake, picture, &shift);
    bool first = steady->time < 0;
    double passed = !first && time > steady->time ? time - steady->time : 0;
    steady->time = time;
    if (verdict == BD_SHAKE_FOUND)
        steady->held = shift;
    if (first)
        steady->until = time + calm;
    if (!steady->frozen)
        follow(steady, passed);
    decide(steady, verdict == BD_SHAKE_FOUND, passed);
    steady->moved =
        bd_relocation_watch(steady->place, picture, time, verdict, steady->held, steady->origin);
}

void bd_stabiliser_take(struct bd_stabiliser *steady, const struct bd_frame *picture, double time,
                        const struct bd_frame **registered, struct bd_shift *shift)
{
    *registered = picture;
    *shift = (struct bd_shift){ 0, 0 };
    if (!steady)
        return;
    if (time < 0)
        locate_ahead(steady, picture);
    else
        locate(steady, picture, time);
    if (!steady->active) {
        steady->filled = false;
        return;
    }
    struct bd_shift by = bd_shift_minus(steady->held, steady->origin);
    if (bd_shift_size(by) < nothing)
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
static void give_picture(struct bd_stabiliser *steady, const uint8_t **picture, uint8_t *out,
                         int channels, struct bd_shift back)
{
    int64_t stride = (int64_t)steady->width * channels;
    if (!*picture || !out)
        return;
    bd_shift_picture(steady->shifter, out, stride, *picture, stride, channels, back,
                     BD_SHIFT_REPLICATE);
    *picture = out;
}

static void give_mask(struct bd_stabiliser *steady, const uint8_t **mask, uint8_t *out,
                      struct bd_shift back)
{
    if (!*mask || !out)
        return;
    bd_shift_mask(steady->shifter, out, steady->width, *mask, steady->width, back);
    *mask = out;
}

void bd_stabiliser_give(struct bd_stabiliser *steady, struct bd_shift shift,
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

void bd_stabiliser_freeze(struct bd_stabiliser *steady, bool frozen)
{
    if (steady)
        steady->frozen = frozen;
}

bool bd_stabiliser_moved(const struct bd_stabiliser *steady)
{
    return steady && steady->moved && !steady->frozen;
}

enum bd_status bd_stabiliser_learn(struct bd_stabiliser *steady, struct bd_separator *separator)
{
    steady->origin = steady->held = (struct bd_shift){ 0, 0 };
    steady->moved = steady->filled = false;
    bd_log(BD_LOG_INFO, "the camera has been moved: what it sees now is learned");
    return bd_relocation_learn(steady->place, separator, steady->shake);
}

void bd_stabiliser_seek(struct bd_stabiliser *steady)
{
    if (steady)
        forget_times(steady);
}
