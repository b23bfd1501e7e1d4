/* The picture of an event: its largest object, and some of what is around it. */
#ifndef BD_APP_EXPORT_CLIPS_THUMBNAIL_H
#define BD_APP_EXPORT_CLIPS_THUMBNAIL_H

#include "app/activity/activity.h"
#include "video/frame.h"

/* Copies the part of `frame` around `box` to `picture`, which is all zero or from an earlier call.
 * BD_ERROR_MEMORY. */
enum bd_status bd_thumbnail_cut(struct bd_frame *picture, const struct bd_frame *frame,
                                struct bd_box box);

/* Writes it to `path`, as its extension says; `aspect` is that of the input's pixels. Errors name
 * the path. */
enum bd_status bd_thumbnail_write(const char *path, bool overwrite, const struct bd_frame *picture,
                                  struct bd_rational aspect);

#endif
