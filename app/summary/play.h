/* The pictures of a synopsis, one after another. */
#ifndef BD_APP_SUMMARY_PLAY_H
#define BD_APP_SUMMARY_PLAY_H

#include "app/summary/plates.h"
#include "app/summary/schedule.h"

struct bd_play_options {
    struct bd_rational rate; /* pictures a second, above 0 */
    double gap;  /* seconds of the film without a patch, after which an object is hidden */
    double zero; /* the time that labels count from */
};

/* Receives a picture, BD_RGB24 of the film's size; its pts counts pictures from 0. */
typedef enum bd_status bd_picture_sink(void *user, const struct bd_frame *picture);

/* How many pictures a schedule makes: at least one. */
int64_t bd_play_count(const struct bd_schedule *schedule, const struct bd_play_options *options);

/* Makes the pictures of a schedule and hands each to sink(user, picture). At any moment it shows
 * the plate of the time from which most of the objects are, the objects from the back to the front
 * (the lower foot is in front), and beside each the time of the film. Needs pictures in memory for
 * one patch and one frame, however long the synopsis is. Returns the first failure. */
enum bd_status bd_play(struct bd_tubes *tubes, struct bd_plates *plates,
                       const struct bd_schedule *schedule, const struct bd_play_options *options,
                       bd_picture_sink *sink, void *user);

#endif
