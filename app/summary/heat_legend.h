/* Says which colour of a heat map means how long. */
#ifndef BD_APP_SUMMARY_HEAT_LEGEND_H
#define BD_APP_SUMMARY_HEAT_LEGEND_H

#include "app/summary/heat.h"

/* Draws the legend of a scale up to `top` seconds into the corner of `picture` (BD_RGB24, of the
 * size of the heat map) where least is hidden; nothing where the picture is too small for it. `row`
 * has memory for a row of seconds. */
void bd_heat_legend_draw(struct bd_frame *picture, const struct bd_heat *heat, double top,
                         float *row);

#endif
