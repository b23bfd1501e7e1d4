/* Makes the pictures of panes in the format of textures: 32 bits a pixel, 0xAARRGGBB in machine
 * order. They are made row by row in the texture's memory: there is no other copy of them. */
#ifndef BD_APP_VIEW_CONVERT_H
#define BD_APP_VIEW_CONVERT_H

#include "app/options.h"
#include "base/pool.h"
#include "video/frame.h"

/* What panes are made from. */
struct bd_view_parts {
    const struct bd_frame *input;      /* BD_RGB24, BD_GRAY8, or as it was decoded */
    const struct bd_frame *mask;       /* BD_GRAY8, as large as the input; shares of foreground:
                                          128 and more are foreground */
    const struct bd_frame *background; /* BD_RGB24 or BD_GRAY8, of any size */
};

/* The part that decides the size of the pane's picture. */
const struct bd_frame *bd_view_base(const struct bd_view_parts *parts, enum bd_pane pane);

/* Fills `dst`, whose rows are `pitch` bytes apart, with the picture of `pane`, one of the first
 * BD_PICTURES. Parts that it does not show may be NULL. Alpha is 255; in the foreground pane it is
 * that of foreground, and 0 elsewhere. The threads of `pool` share large pictures; for others it
 * may be NULL. */
void bd_view_convert(struct bd_pool *pool, void *dst, int pitch, const struct bd_view_parts *parts,
                     enum bd_pane pane);

#endif
