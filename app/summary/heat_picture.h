/* A heat map as colours over the background. */
#ifndef BD_APP_SUMMARY_HEAT_PICTURE_H
#define BD_APP_SUMMARY_HEAT_PICTURE_H

#include "app/summary/heat.h"

/* Draws into `picture` (BD_RGB24), whose size is that of the heat map. It holds the background,
 * which becomes dark and nearly gray, so that the colours are read. A pixel that was never
 * foreground shows the background. The others have the colours of heat_scale.h, whose `top` is the
 * time that 0.1 % of them exceed. A legend tells the seconds. BD_ERROR_MEMORY. */
enum bd_status bd_heat_picture_draw(struct bd_frame *picture, const struct bd_heat *heat);

#endif
