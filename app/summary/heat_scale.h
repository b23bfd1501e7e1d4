/* The colours of a heat map. */
#ifndef BD_APP_SUMMARY_HEAT_SCALE_H
#define BD_APP_SUMMARY_HEAT_SCALE_H

#include <stdint.h>

/* The place of a time on the scale, 0..1; `top` (seconds) and more are at 1:
 *
 *   log(1 + 99 seconds / top) / log(100)
 *
 * A film has paths that were taken once and places where somebody stayed: a linear scale would show
 * the latter alone. */
double bd_heat_place(double seconds, double top);

/* Puts the colour of a place on a pixel, so that what is there can still be seen a little. */
void bd_heat_tint(uint8_t rgb[3], double place);

#endif
