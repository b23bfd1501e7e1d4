#include "app/pipeline/stabilise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/pipeline/relocation.h"
#include "video/motion/global_motion.h"
#include "video/motion/warp.h"

/* Lengths are in pixels of a picture of 240 rows; those of a motion are of the pixel that it moves
 * most. A motion counts as camera shake from `noticed` on. Registration starts when the counted
 * motions of about the last second add up to `enough`. Cameras
 * at rest, with the transmission of their signals, were seen to reach 1.7 within three frames. */
static const double noticed = 0.5;
static const double enough = 2.5;
static const double decay = 1; /* seconds after which the weight of a motion is 1/e */

/* Seconds for which frames are still registered after the last shake. */
static const double calm = 10;

/* Pixels. Smaller motions are ignored. */
static const double nothing = 1.0 / 16;

/* The origin follows the camera by at most this much, in pixels of a picture of 240 rows, within
 * the memory time. The background model follows at this rate too. */
static const double creep = 0.25;

struct bd_stabiliser {
    enum bd_stabilise_mode mode;
    int width, height, channels;
    double scale, memory;
    struct bd_global_motion *motion;
    struct bd_warper *warper, *restorer; /* of frames, and of what comes back */
    struct bd_similarity origin, last;   /* what counts as no motion; the camera's last known one */
    double time;                         /* of the last frame; bd_stabiliser_ahead before */
    double seen;                         /* the sum of motions, with exponential decay */
    double until;                        /* once active, frames are registered until this time */
    bool active, filled;     /* frames are registered; `picture` holds earlier content */
    struct bd_frame picture; /* registered */
    struct bd_relocation *relocation;
    bool moved, frozen;
    uint8_t *background, *difference, *mask, *shadow;
};

static void forget_times(struct bd_stabiliser *stabiliser)
{
    stabiliser->time = bd_stabiliser_ahead;
    stabiliser->moved = false;
    bd_relocation_forget(stabiliser->relocation);
}

static enum bd_status allocate(struct bd_stabiliser *self, enum bd_pixel_format format)
{
    size_t pixels = (size_t)self->width * (size_t)self->height;
    self->background = malloc(pixels * (size_t)self->channels);
    self->difference = malloc(pixels);
    self->mask = malloc(pixels);
    self->shadow = malloc(pixels);
    if (!self->background || !self->difference || !self->mask || !self->shadow)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for stabilisation");
    return bd_frame_create(&self->picture, self->width, self->height, format);
}

enum bd_status bd_stabiliser_create(struct bd_stabiliser **stabiliser, enum bd_stabilise_mode mode,
                                    const struct bd_separator_options *settings,
                                    enum bd_pixel_format format, int threads)
{
    *stabiliser = NULL;
    if (mode == BD_STABILISE_OFF)
        return BD_OK;
    struct bd_stabiliser *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for stabilisation");
    self->mode = mode;
    self->width = settings->width;
    self->height = settings->height;
    self->channels = settings->channels;
    self->memory = settings->memory;
    self->active = mode == BD_STABILISE_ON;
    enum bd_status status =
        bd_global_motion_create(&self->motion, self->width, self->height, format);
    if (!status)
        status = bd_relocation_create(&self->relocation, self->width, self->height, format,
                                      self->memory);
    if (!status)
        status =
            bd_warper_create(&self->warper, self->width, self->height, self->channels, threads);
    if (!status)
        status =
            bd_warper_create(&self->restorer, self->width, self->height, self->channels, threads);
    if (!status)
        status = allocate(self, format);
    if (status) {
        bd_stabiliser_destroy(&self);
        return status;
    }
    self->scale = bd_global_motion_scale(self->motion);
    forget_times(self);
    *stabiliser = self;
    return BD_OK;
}

void bd_stabiliser_destroy(struct bd_stabiliser **stabiliser)
{
    struct bd_stabiliser *self = *stabiliser;
    if (!self)
        return;
    bd_relocation_destroy(&self->relocation);
    bd_global_motion_destroy(&self->motion);
    bd_warper_destroy(&self->warper);
    bd_warper_destroy(&self->restorer);
    bd_frame_destroy(&self->picture);
    free(self->background);
    free(self->difference);
    free(self->mask);
    free(self->shadow);
    free(self);
    *stabiliser = NULL;
}

static double limited(double value, double most)
{
    return value > most ? most : value < -most ? -most : value;
}

/* The camera's motion since the origin. */
static struct bd_similarity since_origin(const struct bd_stabiliser *stabiliser)
{
    return bd_similarity_between(stabiliser->origin, stabiliser->last);
}

/* Moves the origin towards the camera, by no more than its rate allows. */
static void follow(struct bd_stabiliser *stabiliser, double passed)
{
    double most = creep * stabiliser->scale * passed / stabiliser->memory;
    double most_bend =
        most / (stabiliser->width > stabiliser->height ? stabiliser->width : stabiliser->height);
    struct bd_similarity *origin = &stabiliser->origin, last = stabiliser->last;
    origin->x += limited(last.x - origin->x, most);
    origin->y += limited(last.y - origin->y, most);
    origin->turn += limited(last.turn - origin->turn, most_bend);
    origin->grow += limited(last.grow - origin->grow, most_bend);
}

/* Decides whether frames are registered from now on. The frames of the look-ahead are far apart in
 * time, so one shifted frame among them is enough. */
static void decide(struct bd_stabiliser *stabiliser, bool found, double passed)
{
    double size =
        bd_similarity_size(since_origin(stabiliser), stabiliser->width, stabiliser->height) /
        stabiliser->scale;
    bool ahead = stabiliser->time < 0;
    stabiliser->seen *= exp(-passed / decay);
    if (found && size >= noticed) {
        stabiliser->seen += size;
        if (!stabiliser->active && (ahead || stabiliser->seen >= enough)) {
            stabiliser->active = true;
            bd_log(BD_LOG_INFO, "the camera shakes: frames are registered");
        }
        stabiliser->until = stabiliser->time + calm;
    }
    if (stabiliser->mode == BD_STABILISE_AUTO && !ahead && stabiliser->time >= stabiliser->until &&
        size * stabiliser->scale < nothing)
        stabiliser->active = false; /* there is no motion now, so nothing jumps */
}

/* Estimates the motion of a frame of the look-ahead, which may be far from the previous frame. */
static void locate_ahead(struct bd_stabiliser *stabiliser, const struct bd_frame *picture)
{
    struct bd_similarity motion;
    bool found = bd_global_motion_find(stabiliser->motion, picture, &motion) == BD_MOTION_FOUND;
    stabiliser->last = found ? motion : stabiliser->origin;
    decide(stabiliser, found, 0);
}

/* Estimates the motion of a frame; where that fails the last known motion stays. */
static void locate(struct bd_stabiliser *stabiliser, const struct bd_frame *picture, double time)
{
    struct bd_similarity motion;
    enum bd_global_motion_verdict verdict =
        bd_global_motion_find(stabiliser->motion, picture, &motion);
    bool first = stabiliser->time < 0;
    double passed = !first && time > stabiliser->time ? time - stabiliser->time : 0;
    stabiliser->time = time;
    if (verdict == BD_MOTION_FOUND)
        stabiliser->last = motion;
    if (first)
        stabiliser->until = time + calm;
    if (!stabiliser->frozen)
        follow(stabiliser, passed);
    decide(stabiliser, verdict == BD_MOTION_FOUND, passed);
    stabiliser->moved = bd_relocation_watch(stabiliser->relocation, picture, time, verdict,
                                            stabiliser->last, stabiliser->origin);
}

/* The motion that is to be undone. */
static struct bd_camera describe(const struct bd_stabiliser *stabiliser)
{
    struct bd_camera camera = { .shakes = stabiliser->active };
    const struct bd_similarity motion = since_origin(stabiliser);
    if (camera.shakes &&
        bd_similarity_size(motion, stabiliser->width, stabiliser->height) >= nothing)
        camera.motion = motion;
    return camera;
}

void bd_stabiliser_measure(struct bd_stabiliser *stabiliser, const struct bd_frame *picture,
                           double time, struct bd_camera *camera)
{
    *camera = (struct bd_camera){ 0 };
    if (!stabiliser)
        return;
    if (time < 0)
        locate_ahead(stabiliser, picture);
    else
        locate(stabiliser, picture, time);
    *camera = describe(stabiliser);
}

const struct bd_frame *bd_stabiliser_move(struct bd_stabiliser *stabiliser,
                                          const struct bd_frame *picture,
                                          const struct bd_camera *camera)
{
    if (!stabiliser)
        return picture;
    if (!camera->shakes) {
        stabiliser->filled = false;
        return picture;
    }
    struct bd_frame *out = &stabiliser->picture;
    bd_warp_picture(stabiliser->warper, out->data, out->stride, picture->data, picture->stride,
                    stabiliser->channels, camera->motion,
                    stabiliser->filled ? BD_WARP_KEEP : BD_WARP_REPLICATE);
    stabiliser->filled = true;
    if (bd_similarity_is_none(camera->motion))
        return picture;
    bd_frame_copy_times(out, picture);
    return out;
}

void bd_stabiliser_register(struct bd_stabiliser *stabiliser, const struct bd_frame *picture,
                            double time, const struct bd_frame **registered,
                            struct bd_similarity *motion)
{
    struct bd_camera camera;
    bd_stabiliser_measure(stabiliser, picture, time, &camera);
    *registered = bd_stabiliser_move(stabiliser, picture, &camera);
    *motion = camera.motion;
}

/* Moves a picture of `channels` back, if there is one. */
static void restore_picture(struct bd_stabiliser *stabiliser, const uint8_t **picture, uint8_t *out,
                            int channels, struct bd_similarity back)
{
    int64_t stride = (int64_t)stabiliser->width * channels;
    if (!*picture)
        return;
    bd_warp_picture(stabiliser->restorer, out, stride, *picture, stride, channels, back,
                    BD_WARP_REPLICATE);
    *picture = out;
}

static void restore_mask(struct bd_stabiliser *stabiliser, const uint8_t **mask, uint8_t *out,
                         struct bd_similarity back)
{
    if (!*mask)
        return;
    bd_warp_mask(stabiliser->restorer, out, stabiliser->width, *mask, stabiliser->width, back);
    *mask = out;
}

void bd_stabiliser_restore(struct bd_stabiliser *stabiliser, struct bd_similarity motion,
                           struct bd_separation *separation)
{
    if (!stabiliser || bd_similarity_is_none(motion))
        return;
    struct bd_similarity back = bd_similarity_inverse(motion);
    restore_picture(stabiliser, &separation->background, stabiliser->background,
                    stabiliser->channels, back);
    restore_picture(stabiliser, &separation->difference, stabiliser->difference, 1, back);
    restore_mask(stabiliser, &separation->mask, stabiliser->mask, back);
    restore_mask(stabiliser, &separation->shadow, stabiliser->shadow, back);
    if (!separation->mask)
        return;
    const struct bd_frame mask = { .width = stabiliser->width,
                                   .height = stabiliser->height,
                                   .stride = stabiliser->width,
                                   .data = stabiliser->mask };
    separation->foreground = bd_mask_pixels(&mask);
    size_t pixels = (size_t)stabiliser->width * (size_t)stabiliser->height;
    for (size_t i = 0; i < pixels && separation->shadow; i++)
        stabiliser->shadow[i] &= (uint8_t)~stabiliser->mask[i];
}

void bd_stabiliser_freeze(struct bd_stabiliser *stabiliser, bool frozen)
{
    if (stabiliser)
        stabiliser->frozen = frozen;
}

bool bd_stabiliser_moved(const struct bd_stabiliser *stabiliser)
{
    return stabiliser && stabiliser->moved && !stabiliser->frozen;
}

enum bd_status bd_stabiliser_learn(struct bd_stabiliser *stabiliser, struct bd_separator *separator)
{
    stabiliser->origin = stabiliser->last = (struct bd_similarity){ 0 };
    stabiliser->moved = stabiliser->filled = false;
    bd_log(BD_LOG_INFO, "the camera has been moved: a new background is learned");
    return bd_relocation_learn(stabiliser->relocation, separator, stabiliser->motion);
}

void bd_stabiliser_seek(struct bd_stabiliser *stabiliser)
{
    if (stabiliser)
        forget_times(stabiliser);
}
