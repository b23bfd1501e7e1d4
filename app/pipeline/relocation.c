#include "app/pipeline/relocation.h"

#include <math.h>
#include <stdlib.h>

#include "video/motion/warp.h"

/* Seconds that the old scene must be out of sight until the new one counts, and seconds that either
 * may be out of sight without being lost. */
static const double for_good = 5, for_now = 1;

/* The camera is at rest while it stays within this distance: pixels of a picture of 240 rows. */
static const double near = 0.5;

/* Limits of the kept pictures: their number, and their bytes together. */
enum { most_kept = 12, least_kept = 5, most_bytes = 64 << 20 };

struct bd_relocation {
    struct bd_global_motion *motion; /* of the new scene, while the old one is lost */
    struct bd_warper *warper;
    double memory, scale;

    double found;       /* when the old scene was seen last; < 0: never */
    bool lost;          /* the new scene counts from `since` */
    bool missed;        /* the new scene was not found in the last frame */
    double since, seen; /* when it was seen last */

    bool resting;              /* at `rest`, since `since` */
    struct bd_similarity rest; /* relative to the old scene */

    struct bd_similarity now; /* of the last frame, relative to the new scene */
    struct bd_frame kept[most_kept];
    int most, count;
    double next; /* when one more is kept */
};

enum bd_status bd_relocation_create(struct bd_relocation **relocation, int width, int height,
                                    enum bd_pixel_format format, double memory)
{
    *relocation = NULL;
    struct bd_relocation *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for relocation");
    size_t most = most_bytes / ((size_t)width * (size_t)height * (size_t)format);
    self->most = most > most_kept ? most_kept : most < least_kept ? least_kept : (int)most;
    self->memory = memory;
    enum bd_status status = bd_global_motion_create(&self->motion, width, height, format);
    if (!status)
        status = bd_warper_create(&self->warper, width, height, (int)format, 1);
    for (int i = 0; i < self->most && !status; i++)
        status = bd_frame_create(&self->kept[i], width, height, format);
    if (status) {
        bd_relocation_destroy(&self);
        return status;
    }
    self->scale = bd_global_motion_scale(self->motion);
    bd_relocation_forget(self);
    *relocation = self;
    return BD_OK;
}

void bd_relocation_destroy(struct bd_relocation **relocation)
{
    struct bd_relocation *self = *relocation;
    if (!self)
        return;
    for (int i = 0; i < self->most; i++)
        bd_frame_destroy(&self->kept[i]);
    bd_warper_destroy(&self->warper);
    bd_global_motion_destroy(&self->motion);
    free(self);
    *relocation = NULL;
}

void bd_relocation_forget(struct bd_relocation *relocation)
{
    relocation->lost = relocation->resting = false;
    relocation->count = 0;
    relocation->found = -1;
}

/* The camera is not at rest. */
static bool moved(const struct bd_relocation *relocation, struct bd_similarity from,
                  struct bd_similarity to)
{
    const struct bd_frame *picture = &relocation->kept[0];
    return bd_similarity_size(bd_similarity_between(from, to), picture->width, picture->height) >=
           near * relocation->scale;
}

/* Keeps a picture now and then, so that `most` of them show all of the time. */
static void keep(struct bd_relocation *relocation, const struct bd_frame *picture, double time,
                 double span)
{
    if (time < relocation->next)
        return;
    struct bd_frame *to = &relocation->kept[relocation->count % relocation->most];
    bd_warp_picture(relocation->warper, to->data, to->stride, picture->data, picture->stride,
                    (int)picture->format, relocation->now, BD_WARP_REPLICATE);
    relocation->count++;
    relocation->next = time + span / relocation->most;
}

/* The old scene is out of sight. */
static bool watch_lost(struct bd_relocation *relocation, const struct bd_frame *picture,
                       double time)
{
    if (!relocation->lost || (relocation->missed && time - relocation->seen >= for_now)) {
        bd_global_motion_begin(relocation->motion, picture);
        relocation->lost = true;
        relocation->resting = false;
        relocation->since = relocation->seen = relocation->next = time;
        relocation->count = 0;
    }
    relocation->missed =
        bd_global_motion_find(relocation->motion, picture, &relocation->now) != BD_MOTION_FOUND;
    if (!relocation->missed) {
        relocation->seen = time;
        keep(relocation, picture, time, for_good);
    }
    return time - relocation->since >= for_good && relocation->count >= least_kept;
}

/* The old scene is in sight, but not where it is expected. */
static bool watch_resting(struct bd_relocation *relocation, const struct bd_frame *picture,
                          double time, struct bd_similarity last)
{
    if (!relocation->resting || moved(relocation, relocation->rest, last)) {
        relocation->resting = true;
        relocation->rest = last;
        relocation->since = time;
        relocation->next = time + for_now;
        relocation->count = 0;
    }
    relocation->now = bd_similarity_between(relocation->rest, last);
    keep(relocation, picture, time, relocation->memory);
    return time - relocation->since >= relocation->memory && relocation->count >= least_kept;
}

bool bd_relocation_watch(struct bd_relocation *relocation, const struct bd_frame *picture,
                         double time, enum bd_global_motion_verdict verdict,
                         struct bd_similarity last, struct bd_similarity origin)
{
    if (verdict == BD_MOTION_FOUND || relocation->found < 0)
        relocation->found = time;
    if (verdict == BD_MOTION_FOUND) {
        relocation->lost = false;
        if (moved(relocation, origin, last))
            return watch_resting(relocation, picture, time, last);
        relocation->resting = false;
        return false;
    }
    return verdict == BD_MOTION_LOST && time - relocation->found >= for_now &&
           watch_lost(relocation, picture, time);
}

enum bd_status bd_relocation_learn(struct bd_relocation *relocation, struct bd_separator *separator,
                                   struct bd_global_motion *motion)
{
    int first = relocation->count > relocation->most ? relocation->count - relocation->most : 0;
    enum bd_status status = bd_separator_reset(separator);
    for (int i = first; i < relocation->count && !status; i++) {
        const struct bd_frame *kept = &relocation->kept[i % relocation->most];
        status = bd_separator_look_ahead(separator, kept->data, kept->stride);
    }
    if (!status)
        status = bd_separator_initialise(separator);
    bd_global_motion_begin(motion, &relocation->kept[(relocation->count - 1) % relocation->most]);
    bd_relocation_forget(relocation);
    return status;
}
