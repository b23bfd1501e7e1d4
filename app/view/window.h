/* The window, its renderer, and the pictures drawn into it. Main thread only; all coordinates are
 * output pixels, which on high-density screens are finer than the desktop's. */
#ifndef BD_APP_VIEW_WINDOW_H
#define BD_APP_VIEW_WINDOW_H

#include <SDL.h>
#include <stdbool.h>

#include "app/options.h"
#include "app/view/worker.h"

struct bd_view_window;

/* Connects to the display. BD_ERROR_UNSUPPORTED if there is none; closed by
 * bd_view_display_close in any case. */
enum bd_status bd_view_display_open(void);
void bd_view_display_close(void);

/* Opens a window of about the size at which pictures of width x height (of pixels `pixel_aspect`
 * times as wide as high) fit well, one of them or, with `grid`, all. `threads` threads share
 * large pictures. */
enum bd_status bd_view_window_create(struct bd_view_window **window, const char *title, int threads,
                                     int width, int height, double pixel_aspect, bool grid);

/* Safe on NULL; nulls. */
void bd_view_window_destroy(struct bd_view_window **window);

/* Chooses the size again, for a window that was opened before the size of the pictures was known.
 */
void bd_view_window_fit(struct bd_view_window *window, int width, int height, double pixel_aspect,
                        bool grid);

SDL_Renderer *bd_view_window_renderer(const struct bd_view_window *window);

/* Size in output pixels, and output pixels a desktop unit. */
void bd_view_window_size(const struct bd_view_window *window, int *width, int *height);
double bd_view_window_density(const struct bd_view_window *window);

bool bd_view_window_full_screen(const struct bd_view_window *window);
void bd_view_window_set_full_screen(struct bd_view_window *window, bool full_screen);

/* False while the window is minimised or hidden: nothing needs to be drawn. */
bool bd_view_window_visible(const struct bd_view_window *window);

/* Width over height of a frame as it is shown, with the aspect of its pixels. */
double bd_view_window_shape(const struct bd_view_window *window, const struct bd_frame *frame);

/* Whether input and overlay are drawn with boxes around the objects; at first they are not. */
bool bd_view_window_boxes(const struct bd_view_window *window);
void bd_view_window_set_boxes(struct bd_view_window *window, bool boxes);

/* Begins a new picture of the window: all dark. */
void bd_view_window_clear(struct bd_view_window *window);

/* Draws a pane of the result as large as it fits into `area`, centred. Its picture is made and
 * uploaded here, unless it was drawn in this size before, of a result with the same `serial`.
 * *where becomes its rectangle. */
enum bd_status bd_view_window_draw(struct bd_view_window *window, enum bd_pane pane,
                                   const struct bd_view_result *result, int64_t serial,
                                   const SDL_Rect *area, SDL_Rect *where);

/* Drops the uploaded pictures, which SDL_RENDER_TARGETS_RESET and the like make invalid. */
void bd_view_window_invalidate(struct bd_view_window *window);

/* Fills a rectangle, translucent where alpha < 255. */
void bd_view_window_fill(struct bd_view_window *window, const SDL_Rect *rect, SDL_Color color);

/* Reads what was drawn since clear, before present, into `frame` (BD_RGB24, made to fit). */
enum bd_status bd_view_window_capture(struct bd_view_window *window, struct bd_frame *frame);

/* Shows what was drawn; waits for the refresh of the screen where SDL supports it. */
void bd_view_window_present(struct bd_view_window *window);

#endif
