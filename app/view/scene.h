/* What the window shows: pictures, and the text over them. Main thread only. */
#ifndef BD_APP_VIEW_SCENE_H
#define BD_APP_VIEW_SCENE_H

#include "app/view/panel.h"
#include "app/view/window.h"
#include "app/view/worker.h"

struct bd_view_scene {
    const struct bd_view_result *result; /* NULL: none yet */
    int64_t serial;                      /* differs between results */
    enum bd_pane pane;
    bool overlay; /* text */
    bool help;
    const char *message; /* NULL: none */
    const char *waiting; /* shown in the middle while there is no result */
    struct bd_view_figures figures;
};

/* Draws the scene without presenting it. */
enum bd_status bd_view_scene_draw(struct bd_view_panel *panel, const struct bd_view_scene *scene);

/* Draws the scene and writes it to PATH. */
enum bd_status bd_view_scene_save(struct bd_view_panel *panel, const struct bd_view_scene *scene,
                                  const char *path);

#endif
