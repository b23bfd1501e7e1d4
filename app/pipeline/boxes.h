/* Draws a box around each object, with its number beside it. */
#ifndef BD_APP_PIPELINE_BOXES_H
#define BD_APP_PIPELINE_BOXES_H

#include "video/frame.h"
#include <backdrop/tracker.h>

/* Pixels to draw on, not owned. */
struct bd_canvas {
    uint8_t *data;
    int64_t stride;    /* bytes from one row to the next */
    int width, height; /* pixels */
    int bytes;         /* of a pixel: 3, red, green, blue; or 4, 0xAARRGGBB in machine order */
};

/* Draws the objects (`count` of them), whose boxes are in pixels of a picture of width x height, on
 * a canvas that shows the same picture in any size. The line runs around the box, or along the
 * border of the picture where the box reaches that; it is dashed where the object is hidden.
 * An object keeps its colour. Numbers are above all lines and do not cover one another where there
 * is room. Nothing is drawn outside of the canvas. */
void bd_boxes_draw(const struct bd_canvas *canvas, const struct bd_object *objects, int count,
                   int width, int height);

/* The same on a frame (BD_RGB24) as large as the picture. */
void bd_boxes_draw_frame(const struct bd_frame *frame, const struct bd_object *objects, int count);

#endif
