/* A heat map as colours over the background. */
#ifndef BD_APP_SUMMARY_HEAT_PICTURE_H
#define BD_APP_SUMMARY_HEAT_PICTURE_H

#include "app/summary/heat.h"

/* Draws into `picture` (BD_RGB24), whose size is that of the heat map. It holds the background,
 * which becomes dark and nearly gray, so that the colours are read. A pixel that was never
 * foreground shows the background. The colour of another is that of
 *
 *   log(1 + 99 s / top) / log(100)   for s seconds, 0..1
 *
 * where `top` is the time that 0.1 % of these pixels exceed. A legend tells the seconds.
 * BD_ERROR_MEMORY. */
enum bd_status bd_heat_picture_draw(struct bd_frame *picture, const struct bd_heat *heat);

/* The colour of a place on the scale, 0..1: rgb[3] and its opacity, all 0..255. */
void bd_heat_colour(uint8_t rgb[3], int *opacity, double place);

#endif
