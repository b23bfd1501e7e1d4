/* What the window shows: pictures, and the text over them. Main thread only. */
#ifndef BD_APP_VIEW_SCENE_H
#define BD_APP_VIEW_SCENE_H

#include "app/view/panel.h"
#include "app/view/window.h"
#include "app/view/worker.h"

struct bd_view_scene {
    const struct bd_view_result *result;      /* NULL: none yet */
    const struct bd_view_result *first_frame; /* shown while there is no result; NULL: none */
    int64_t serial;                           /* differs between results and the first frame */
    enum bd_pane pane;
    bool overlay; /* text */
    bool help;
    const char *message; /* NULL: none */
    const char *waiting; /* what there is no result for yet, in words */
    struct bd_view_figures figures;
};

/* Draws the scene without presenting it. */
enum bd_status bd_view_scene_draw(struct bd_view_panel *panel, const struct bd_view_scene *scene);

/* Draws the scene and writes it to PATH. */
enum bd_status bd_view_scene_save(struct bd_view_panel *panel, const struct bd_view_scene *scene,
                                  const char *path);

#endif
