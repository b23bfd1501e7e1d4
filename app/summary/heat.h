/* How long each pixel was foreground. */
#ifndef BD_APP_SUMMARY_HEAT_H
#define BD_APP_SUMMARY_HEAT_H

#include "video/frame.h"

struct bd_heat;

/* Of masks of this size, with nothing in it. BD_ERROR_MEMORY. */
enum bd_status bd_heat_create(struct bd_heat **heat, int width, int height);
void bd_heat_destroy(struct bd_heat **heat);

/* Adds the last mask, which was shown for `seconds` until this one came, and keeps a copy of this
 * one (BD_GRAY8 of the agreed size, 0 or 255). `seconds` does not matter for the first one. */
void bd_heat_add(struct bd_heat *heat, const struct bd_frame *mask, double seconds);

/* Adds the last mask, which was shown for `seconds`. No other may come. */
void bd_heat_end(struct bd_heat *heat, double seconds);

/* Row `y`: seconds[width] for which each of its pixels was foreground, to the nearest 0.1 ms. After
 * 4.9 days of foreground a pixel stays as it is. */
void bd_heat_row(float *seconds, const struct bd_heat *heat, int y);

#endif
