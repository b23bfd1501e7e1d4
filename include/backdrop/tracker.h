/* Objects: the components of a mask, followed from one frame to the next. Each keeps a number as
 * long as it can be told from the others.
 *
 * The method is SORT (Bewley et al., "Simple online and realtime tracking", ICIP 2016): a Kalman
 * filter of constant velocity predicts each box, and the Hungarian method assigns components to
 * boxes by overlap. A component of several objects is a group, as with McKenna et al. ("Tracking
 * groups of people", 2000): its members keep their numbers and sizes, move on by their filters, and
 * the mean silhouettes that they had alone are placed where they explain it best, as in W4
 * (Haritaoglu et al. 2000). When it splits, each piece goes to the member that it fits best.
 * Several components close together are one object. A part that moves away becomes an object of its
 * own, whose parent is the first. What came as one component and has parted is looked for in the
 * masks before by the same method, backwards in time (bd_tracker_past): fixed-lag smoothing. Two of
 * about the same size who have parted exchange their numbers, and boxes of the past, if the way in
 * which they moved before they met says so.
 *
 * All rules are in seconds and in sizes of the object: the frame rate may vary, and matters little
 * from 5 to 60 frames a second. There is no appearance: two of the same size who stand still as one
 * component may be mistaken when they part. The same masks and times give the same
 * objects. */
#ifndef BACKDROP_TRACKER_H
#define BACKDROP_TRACKER_H

#include <stdbool.h>
#include <stdint.h>

#include <backdrop/api.h>
#include <backdrop/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fields that are 0 have their defaults. */
struct bd_tracker_options {
    int width, height; /* pixels of every mask */
    int min_area;      /* pixels of the smallest component that may become an object;
                          0: 0.05 % of the mask */
    double confirm; /* seconds that a component must be followed before it is an object; in these it
                       is seen in most frames, and in three at least; 0: 0.2 */
    double patience; /* seconds that an object which is not seen is waited for; 0: 1 */
};

/* An object in a frame. */
struct bd_object {
    int64_t id;              /* number, from 1, in the order in which objects are confirmed */
    int x, y, width, height; /* its box, pixels from the upper left corner */
    int64_t area;      /* pixels of the mask that it covers; in a group, its share; hidden: 0 */
    double confidence; /* 0..1: how sure it is that this is the object of that number */
    double vx, vy;     /* how its box moves, pixels a second */
    double since;      /* time of the frame in which it was a component of its own first */
    int64_t parent;    /* the object that it came out of; 0: none */
    int group;         /* objects of one component have the same number, from 1; 0: alone */
    bool seen;         /* false: hidden in this frame, and the box is where it should be */
};

enum { bd_past_frames = 64 }; /* so many frames the past of an object reaches back */

/* An object in a frame before the last one. */
struct bd_past {
    int ago;     /* masks between the two, and one: 1 to bd_past_frames */
    double time; /* of the frame */
    struct bd_object object;
};

struct bd_tracker;

/* Masks have sides of 1 to 32768. BD_ERROR_ARGUMENT for options out of range, BD_ERROR_MEMORY. All
 * memory is taken here. */
BD_API enum bd_status bd_tracker_create(struct bd_tracker **tracker,
                                        const struct bd_tracker_options *options);
BD_API void bd_tracker_destroy(struct bd_tracker **tracker);

/* Follows the objects into the next mask (height rows of width bytes, 255 where an object is, else
 * 0, `stride` bytes apart) of the time `time`, in seconds. *objects (*count of them, by their
 * numbers) are the confirmed ones, valid until the next call. An object that has gone is listed,
 * not seen, as long as it may come back; after that its number is not used again. What leaves at
 * the border is waited for only briefly. A step back in time, or of more than 5 seconds ahead, ends
 * all objects. A component of more than 80 % of the mask is a change of light: then nothing is
 * seen. Of a mask the 256 largest components count, and up to 256 objects and candidates are
 * followed, so that noise takes bounded time. Allocates nothing. BD_ERROR_ARGUMENT: a NULL, a
 * stride shorter than a row, a time that is not finite; *objects is NULL then and *count 0. */
BD_API enum bd_status bd_tracker_add(struct bd_tracker *tracker, const uint8_t *mask,
                                     int64_t stride, double time, const struct bd_object **objects,
                                     int *count);

/* What the last mask has shown of earlier ones: *count boxes, by numbers, each object's by times,
 * valid until the next bd_tracker_add. An object that it confirmed was there from the time on at
 * which it was seen first, and before that in the component out of which it has come. A box of an
 * object that had one in that frame replaces it: that of the other part of such a component, or of
 * a member of a group that has parted. Among very many candidates, or after very ragged masks,
 * early boxes may be missing. BD_ERROR_ARGUMENT for a NULL. */
BD_API enum bd_status bd_tracker_past(const struct bd_tracker *tracker, const struct bd_past **past,
                                      int *count);

/* Ends all objects, as after a seek. Numbers are not used again. */
BD_API void bd_tracker_reset(struct bd_tracker *tracker);

#ifdef __cplusplus
}
#endif

#endif
