/* When each visit is shown in a synopsis.
 *
 * The energy is that of Pritch, Rav-Acha and Peleg 2008 ("Nonchronological video synopsis and
 * indexing", IEEE PAMI 30, section 4): pixels that hide one another, and pairs in the wrong order.
 * Visits are never left out, so that their term for lost activity is 0. They minimise by simulated
 * annealing. Here visits are placed one by one, in the order of their coming, each where it costs
 * least; then each is placed anew, a few times, while the energy falls. That is deterministic. */
#ifndef BD_APP_SUMMARY_PLACEMENT_H
#define BD_APP_SUMMARY_PLACEMENT_H

#include "app/activity/activity.h"

/* Where a visitor is for a time. */
struct bd_visit_box {
    double time; /* seconds from the visit's start, as it is shown; they go up for a visitor */
    double seconds;
    struct bd_box box; /* pixels of the frame */
    double share;      /* of the box that the visitor fills, 0..1 */
};

struct bd_visit {
    double start;   /* seconds: when it was */
    double seconds; /* how long it is shown, at most the length of the synopsis */
    const struct bd_visit_box *boxes;
    int count;
    double at; /* out: seconds from the start of the synopsis */
};

/* Sets `at` of all visits, which are sorted by their starts, so that each lies within 0..length.
 * The frame has width x height pixels. Needs at most 12 MB for any length, and 28 bytes for each
 * box of the visit that has most; returns BD_ERROR_MEMORY without them. *end is when the last visit
 * ends. 3000 visits of 10 s take some 7 s of one core to be placed in 60 s. */
enum bd_status bd_place_visits(struct bd_visit *visits, int count, double length, int width,
                               int height, double *end);

/* Seconds of a step of the placement: visits start at multiples of it. */
double bd_place_step(double length);

#endif
