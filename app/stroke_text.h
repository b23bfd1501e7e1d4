/* Text on pictures, drawn from a built-in stroke font: films are often read on servers where no
 * font is installed, which SDL_ttf and FFmpeg's drawtext need. */
#ifndef BD_APP_STROKE_TEXT_H
#define BD_APP_STROKE_TEXT_H

#include "video/frame.h"

struct bd_stroke_color {
    uint8_t red, green, blue;
};

/* Draws a line of text into `picture` (BD_RGB24): `left` is its left edge, `top` that of the
 * capitals, `size` their height, in pixels; what is outside the picture is left out. ASCII; another
 * character becomes a box. */
void bd_stroke_text_draw(struct bd_frame *picture, double left, double top, double size,
                         struct bd_stroke_color color, const char *text);

/* Width of the line in pixels. */
double bd_stroke_text_width(double size, const char *text);

#endif
