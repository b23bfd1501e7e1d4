/* A picture of the worst frames of all sequences: input, background, truth, and the masks, ours and
 * those of other programs, with their errors in colour. */
#ifndef BD_APP_EVAL_SHEET_H
#define BD_APP_EVAL_SHEET_H

#include "app/eval/plan.h"

/* Draws the sheet into `sheet` (all zero or created), as BD_RGB24 of the size it needs. If not all
 * sequences fit, it shows those with the least F-measure. A sequence that ended early is shown as
 * far as it was scored. BD_ERROR_MEMORY. */
enum bd_status bd_eval_sheet_draw(struct bd_frame *sheet, const struct bd_eval_plan *plan);

/* Draws it and writes it to FILE. */
enum bd_status bd_eval_sheet_write(const struct bd_eval_plan *plan, const char *path);

#endif
