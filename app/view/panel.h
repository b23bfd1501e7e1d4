/* The text over the pictures: figures, names of panes, help, and short messages. Main thread only;
 * coordinates are output pixels. Without a font nothing is drawn. */
#ifndef BD_APP_VIEW_PANEL_H
#define BD_APP_VIEW_PANEL_H

#include "app/view/text.h"
#include "app/view/window.h"

/* The figures. */
struct bd_view_figures {
    double position, duration; /* seconds; duration 0: unknown */
    double rate, speed;        /* frames a second, and against real time; 0: unknown */
    int rank, columns, window;
    double foreground; /* share, 0..1 */
    bool adjustable;   /* threshold, lambda and frozen are meaningful */
    double threshold, lambda;
    bool frozen;
    bool paused, ended, live;
    const char *error; /* why the input ended early; NULL: it did not */
    int64_t dropped;   /* frames that were not shown: there was no time */
    const char *backend;
};

struct bd_view_panel {
    struct bd_view_window *window; /* not owned */
    struct bd_view_text *text;     /* not owned; NULL without a font */
};

/* The figures: translucent in the upper left corner of `area` under the name of the pane, or with
 * pane == BD_PANE_ALL filling `area`, a cell of the grid. */
void bd_view_panel_figures(struct bd_view_panel *panel, const SDL_Rect *area, enum bd_pane pane,
                           const struct bd_view_figures *figures);

/* The name of a picture in the grid, in its upper left corner. */
void bd_view_panel_label(struct bd_view_panel *panel, const SDL_Rect *area, const char *name);

/* A thin line at the lower edge of `area` that shows how far `share` (0..1) of the input is. */
void bd_view_panel_progress(struct bd_view_panel *panel, const SDL_Rect *area, double share);

/* A line at the bottom of `area`, or in its middle. */
void bd_view_panel_message(struct bd_view_panel *panel, const SDL_Rect *area, const char *message,
                           bool middle);

/* All keys, from the table of keys, in the middle of `area`. */
void bd_view_panel_help(struct bd_view_panel *panel, const SDL_Rect *area);

#endif
