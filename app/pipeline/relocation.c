#include "app/pipeline/relocation.h"

#include <math.h>
#include <stdlib.h>

/* Seconds for which the old place is lost until the new one counts, and those for which either may
 * be out of sight without being lost. */
static const double for_good = 5, for_now = 1;

/* The camera rests while it stays within this, and somewhere else if it is further away: pixels of
 * a picture of 240 rows. */
static const double near = 0.5;

/* Pictures that are kept, and bytes they take at most. */
enum { most_kept = 12, least_kept = 5, most_bytes = 64 << 20 };

struct bd_relocation {
    struct bd_global_motion *shake; /* of the new place, where the old one is lost */
    struct bd_shifter *shifter;
    double memory, scale;

    double found;       /* when the old place was seen last; < 0: at no time */
    bool lost;          /* the new place has been begun, at `since` */
    bool missed;        /* and was not in the last frame */
    double since, seen; /* when it was seen last */

    bool resting;         /* at `rest`, since `since` */
    struct bd_shift rest; /* in the old place's pixels */

    struct bd_shift now; /* of the last frame, from the new place */
    struct bd_frame kept[most_kept];
    int most, count;
    double next; /* when one more is kept */
};

enum bd_status bd_relocation_create(struct bd_relocation **place, int width, int height,
                                    enum bd_pixel_format format, double memory)
{
    *place = NULL;
    struct bd_relocation *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for a camera that is moved");
    size_t most = most_bytes / ((size_t)width * (size_t)height * (size_t)format);
    self->most = most > most_kept ? most_kept : most < least_kept ? least_kept : (int)most;
    self->memory = memory;
    enum bd_status status = bd_global_motion_create(&self->shake, width, height, format);
    if (!status)
        status = bd_shifter_create(&self->shifter, width, height, (int)format);
    for (int i = 0; i < self->most && !status; i++)
        status = bd_frame_create(&self->kept[i], width, height, format);
    if (status) {
        bd_relocation_destroy(&self);
        return status;
    }
    self->scale = bd_global_motion_scale(self->shake);
    bd_relocation_forget(self);
    *place = self;
    return BD_OK;
}

void bd_relocation_destroy(struct bd_relocation **place)
{
    struct bd_relocation *self = *place;
    if (!self)
        return;
    for (int i = 0; i < self->most; i++)
        bd_frame_destroy(&self->kept[i]);
    bd_shifter_destroy(&self->shifter);
    bd_global_motion_destroy(&self->shake);
    free(self);
    *place = NULL;
}

void bd_relocation_forget(struct bd_relocation *place)
{
    place->lost = place->resting = false;
    place->count = 0;
    place->found = -1;
}

/* Keeps a picture now and then, so that `most` of them show all of the time. */
static void keep(struct bd_relocation *place, const struct bd_frame *picture, double time,
                 double span)
{
    if (time < place->next)
        return;
    struct bd_frame *to = &place->kept[place->count % place->most];
    bd_shift_picture(place->shifter, to->data, to->stride, picture->data, picture->stride,
                     (int)picture->format, place->now, BD_SHIFT_REPLICATE);
    place->count++;
    place->next = time + span / place->most;
}

/* The old place is out of sight. */
static bool watch_lost(struct bd_relocation *place, const struct bd_frame *picture, double time)
{
    if (!place->lost || (place->missed && time - place->seen >= for_now)) {
        bd_global_motion_begin(place->shake, picture);
        place->lost = true;
        place->resting = false;
        place->since = place->seen = place->next = time;
        place->count = 0;
    }
    place->missed = bd_global_motion_find(place->shake, picture, &place->now) != BD_SHAKE_FOUND;
    if (!place->missed) {
        place->seen = time;
        keep(place, picture, time, for_good);
    }
    return time - place->since >= for_good && place->count >= least_kept;
}

/* The old place is in sight, where it is not expected. */
static bool watch_resting(struct bd_relocation *place, const struct bd_frame *picture, double time,
                          struct bd_shift held)
{
    if (!place->resting ||
        bd_shift_size(bd_shift_minus(held, place->rest)) >= near * place->scale) {
        place->resting = true;
        place->rest = held;
        place->since = time;
        place->next = time + for_now;
        place->count = 0;
    }
    place->now = bd_shift_minus(held, place->rest);
    keep(place, picture, time, place->memory);
    return time - place->since >= place->memory && place->count >= least_kept;
}

bool bd_relocation_watch(struct bd_relocation *place, const struct bd_frame *picture, double time,
                         enum bd_global_motion_verdict verdict, struct bd_shift held,
                         struct bd_shift origin)
{
    if (verdict == BD_SHAKE_FOUND || place->found < 0)
        place->found = time;
    if (verdict == BD_SHAKE_FOUND) {
        place->lost = false;
        if (bd_shift_size(bd_shift_minus(held, origin)) >= near * place->scale)
            return watch_resting(place, picture, time, held);
        place->resting = false;
        return false;
    }
    return verdict == BD_SHAKE_LOST && time - place->found >= for_now &&
           watch_lost(place, picture, time);
}

enum bd_status bd_relocation_learn(struct bd_relocation *place, struct bd_separator *separator,
                                   struct bd_global_motion *shake)
{
    int first = place->count > place->most ? place->count - place->most : 0;
    enum bd_status status = bd_separator_reset(separator);
    for (int i = first; i < place->count && !status; i++) {
        const struct bd_frame *kept = &place->kept[i % place->most];
        status = bd_separator_look_ahead(separator, kept->data, kept->stride);
    }
    if (!status)
        status = bd_separator_initialise(separator);
    bd_global_motion_begin(shake, &place->kept[(place->count - 1) % place->most]);
    bd_relocation_forget(place);
    return status;
}
