#include "app/view/pane.h"

#include <string.h>

static const char *const names[BD_PANES] = {
    [BD_PANE_INPUT] = "input", [BD_PANE_BACKGROUND] = "background",
    [BD_PANE_MASK] = "mask",   [BD_PANE_FOREGROUND] = "foreground",
    [BD_PANE_ALL] = "all",     [BD_PANE_OVERLAY] = "overlay",
};

const char *bd_pane_name(enum bd_pane pane)
{
    return names[pane];
}

bool bd_pane_find(enum bd_pane *pane, const char *name)
{
    for (int i = 0; i < BD_PANES; i++)
        if (strcmp(names[i], name) == 0) {
            *pane = (enum bd_pane)i;
            return true;
        }
    return false;
}
