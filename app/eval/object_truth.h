/* The true objects of a sequence: those of a rendered scene, or of the file gt/gt.txt in a folder,
 * in the layout of the MOT Challenge. */
#ifndef BD_APP_EVAL_OBJECT_TRUTH_H
#define BD_APP_EVAL_OBJECT_TRUTH_H

#include "app/eval/cdnet.h"
#include "app/eval/tracking.h"

struct bd_object_truth;

/* `sequence` must stay. A line of gt.txt is `frame,id,left,top,width,height,conf,...`; frames, left
 * and top count from 1, and frame 1 is the first picture. Columns after `height` may be missing,
 * those after `conf` are not looked at. BD_END: nothing is known of this sequence's objects.
 * BD_ERROR_IO; BD_ERROR_FORMAT names the line that is wrong; BD_ERROR_MEMORY. */
enum bd_status bd_object_truth_open(struct bd_object_truth **truth,
                                    const struct bd_sequence *sequence);
void bd_object_truth_close(struct bd_object_truth **truth);

/* The objects of picture `index`, from 0; `boxes` is valid until the next call. In gt.txt those
 * whose `conf` is 0 do not count. Of a scene the boxes are those of the visible pixels; objects of
 * which hardly anything is seen do not count: less than 0.05 % of the picture, or less than a
 * quarter of what would be seen if nothing hid it. BD_ERROR_MEMORY. */
enum bd_status bd_object_truth_get(struct bd_object_truth *truth, int64_t index,
                                   const struct bd_track_box **boxes, int *count);

#endif
