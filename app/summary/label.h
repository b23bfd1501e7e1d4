/* The time of the film beside each object of a synopsis. */
#ifndef BD_APP_SUMMARY_LABEL_H
#define BD_APP_SUMMARY_LABEL_H

#include "app/activity/activity.h"
#include "video/frame.h"

/* Where labels are in a picture: none covers another while there is room above or below. */
struct bd_labels {
    struct bd_box boxes[64]; /* beyond so many, labels may cover one another */
    int count;
};

/* Draws `time` (seconds, H:MM:SS; above 1e8, as of a camera that counts from 1970, the time of the
 * day, of UTC) above an object's box, or below the box's upper side where there is no room. */
void bd_label_draw(struct bd_labels *labels, struct bd_frame *picture, const struct bd_box *box,
                   double time);

#endif
