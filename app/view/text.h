/* Text in the window: a font found by fontconfig, drawn by SDL2_ttf. Main thread only. */
#ifndef BD_APP_VIEW_TEXT_H
#define BD_APP_VIEW_TEXT_H

#include <SDL.h>
#include <stdbool.h>

#include <backdrop/status.h>

struct bd_view_text;

/* Finds a font. BD_ERROR_UNSUPPORTED if there is none that can be opened: *text is NULL then, and
 * all functions below accept that and do nothing. */
enum bd_status bd_view_text_create(struct bd_view_text **text, SDL_Renderer *renderer);
void bd_view_text_destroy(struct bd_view_text **text);

/* Sets the size of what follows: height of the letters' box in output pixels. Cheap if unchanged
 * since the last frame: a few sizes are kept open. */
void bd_view_text_set_size(struct bd_view_text *text, int pixels);

/* Distance of lines, and width of a line, in output pixels; 0 without a font. */
int bd_view_text_line_height(const struct bd_view_text *text);
int bd_view_text_width(struct bd_view_text *text, const char *line);

/* Draws a line of UTF-8 with its upper left corner at (x, y). */
void bd_view_text_draw(struct bd_view_text *text, int x, int y, SDL_Color color, const char *line);

#endif
