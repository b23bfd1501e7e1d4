/* The region of interest: a picture that is black where nothing counts as foreground. */
#ifndef BD_APP_PIPELINE_ROI_H
#define BD_APP_PIPELINE_ROI_H

#include "video/frame.h"

/* Reads the picture PATH of any size and makes `roi` (all zero on entry) a BD_GRAY8 of width x
 * height, by nearest neighbours. BD_ERROR_ARGUMENT, after "--roi ", if it cannot be read. */
enum bd_status bd_roi_load(struct bd_frame *roi, const char *path, int width, int height);

/* Clears `mask` (BD_GRAY8, 0 or 255) where `roi`, of the same size, is black; an empty roi clears
 * nothing. Returns how many pixels of the mask are set after that. */
int64_t bd_roi_apply(struct bd_frame *mask, const struct bd_frame *roi);

#endif
