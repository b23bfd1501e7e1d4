/* Which result is on the screen now: takes results from the worker at the right moment. Main thread
 * only. */
#ifndef BD_APP_VIEW_PLAYER_H
#define BD_APP_VIEW_PLAYER_H

#include "app/view/pacer.h"
#include "app/view/worker.h"

struct bd_view_player {
    struct bd_view_worker *worker;  /* not owned */
    struct bd_view_result *current; /* on the screen; NULL: none yet */
    int64_t shown;                  /* how many there were */
    struct bd_view_pacer pacer;
    bool live;
    bool paused;
    bool show_next;      /* show the next result at once: the first, a step, after a seek */
    double buffer_since; /* clock time since when we wait for the queue to fill */
    double target;       /* of the last seek, while it is not on the screen; else < 0 */
};

/* Call once the input is open. */
void bd_view_player_init(struct bd_view_player *player, struct bd_view_worker *worker);

/* Gives the result back. */
void bd_view_player_close(struct bd_view_player *player);

/* Brings the result on that is due now. Returns whether `current` changed; *wait is the time until
 * the next is due, in seconds, or 1 if a message of the worker has to be waited for. */
bool bd_view_player_advance(struct bd_view_player *player, double now, double *wait);

void bd_view_player_pause(struct bd_view_player *player, bool paused);

/* Pauses, and shows one more result. */
void bd_view_player_step(struct bd_view_player *player);

/* Goes by `seconds` from where we are or are going to. The caller has made sure that the input can
 * be searched. */
void bd_view_player_seek(struct bd_view_player *player, double seconds, double first, double last);

/* While nothing else would bring a new result (paused, at the end): separates the picture shown
 * again, with the present settings. */
void bd_view_player_refresh(struct bd_view_player *player);

/* Everything was shown, and no more will come. */
bool bd_view_player_finished(const struct bd_view_player *player);

#endif
