/* The time of the film beside each object of a synopsis. */
#ifndef BD_APP_SUMMARY_LABEL_H
#define BD_APP_SUMMARY_LABEL_H

#include <stdbool.h>
#include <stddef.h>

#include "app/activity/activity.h"
#include "video/frame.h"

/* Whether a time is one of a camera that counts seconds from 1970. */
bool bd_label_is_of_day(double time);

/* Writes a time (seconds) as H:MM:SS; that of such a camera as the time of the day, of UTC. */
void bd_label_format(char *text, size_t size, double time);

/* Where labels are in a picture: none covers another while there is room above or below. */
struct bd_labels {
    struct bd_box boxes[64]; /* beyond so many, labels may cover one another */
    int count;
};

/* Draws `time` above an object's box, or below the box's upper side where there is no room. */
void bd_label_draw(struct bd_labels *labels, struct bd_frame *picture, const struct bd_box *box,
                   double time);

#endif
