/* The state of the live window, shared by the event loop, the keys and the drawing. Main thread
 * only. */
#ifndef BD_APP_VIEW_SESSION_H
#define BD_APP_VIEW_SESSION_H

#include "app/options.h"
#include "app/view/panel.h"
#include "app/view/player.h"
#include "app/view/scene.h"
#include "app/view/window.h"
#include "app/view/worker.h"

/* Exit statuses of the program. */
enum {
    BD_VIEW_DONE = 0,
    BD_VIEW_NO_START = 1,
    BD_VIEW_NO_INPUT = 2,
    BD_VIEW_FAILED = 3,
    BD_VIEW_INTERRUPTED = 4
};

struct bd_view_session {
    const struct bd_options *options;
    struct bd_view_worker *worker;
    const struct bd_view_source *source; /* NULL until the input is open */
    struct bd_view_window *window;
    struct bd_view_text *text; /* NULL without a font */
    struct bd_view_panel panel;
    struct bd_view_player player;

    enum bd_pane pane;
    bool overlay, help, frozen;
    double threshold, lambda; /* as set by keys */
    char message[160], waiting[160];
    double message_until; /* clock time */
    int learned_percent;  /* of the background, as `waiting` says */

    bool dirty; /* the window has to be drawn */
    bool broken_off;
    bool quit;
    int exit_status;
};

/* Ends the loop. An exit status that is not BD_VIEW_DONE stays. */
void bd_view_session_leave(struct bd_view_session *view, int exit_status);

/* Prints what went wrong on stderr, and ends the loop. */
void bd_view_session_fail(struct bd_view_session *view, int exit_status, const char *detail);

/* Shows a line at the bottom of the window for a while. */
void bd_view_session_say(struct bd_view_session *view, const char *message);

/* Seconds from the beginning of the input to its end, or to that of --duration; 0: unknown. */
double bd_view_session_duration(const struct bd_view_session *view);

/* What the window has to show now; points into `view`. */
struct bd_view_scene bd_view_session_scene(const struct bd_view_session *view);

/* Draws and presents the window. */
void bd_view_session_draw(struct bd_view_session *view);

#endif
