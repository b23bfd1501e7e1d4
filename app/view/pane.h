/* The panes of the live window: which picture is shown, or all of them side by side. */
#ifndef BD_APP_VIEW_PANE_H
#define BD_APP_VIEW_PANE_H

#include <stdbool.h>

/* The first BD_PICTURES of them are pictures; BD_PANE_ALL shows them in a grid. */
enum bd_pane {
    BD_PANE_INPUT,
    BD_PANE_BACKGROUND,
    BD_PANE_FOREGROUND,
    BD_PANE_MASK,
    BD_PANE_OVERLAY,
    BD_PANE_ALL,
    BD_PANES
};

enum { BD_PICTURES = BD_PANE_ALL };

/* "input" ... "all". */
const char *bd_pane_name(enum bd_pane pane);

/* Finds a pane by its name; false if there is none of that name. */
bool bd_pane_find(enum bd_pane *pane, const char *name);

#endif
