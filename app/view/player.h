/* Chooses the result on the screen: takes results from the worker at their time. Main thread only.
 */
#ifndef BD_APP_VIEW_PLAYER_H
#define BD_APP_VIEW_PLAYER_H

#include "app/view/pacer.h"
#include "app/view/worker.h"

struct bd_view_player {
    struct bd_view_worker *worker;  /* not owned */
    struct bd_view_result *current; /* on the screen; NULL: none yet */
    int64_t shown;                  /* results shown so far */
    int64_t missed;                 /* not shown: the next one was due too */
    struct bd_view_pacer pacer;
    bool live;
    bool paused;
    bool show_next;      /* show the next result at once: the first, a step, after a seek */
    double buffer_since; /* clock time at which the wait for a filled queue began */
    double target;       /* of the last seek, until its result is on the screen; else < 0 */
};

/* Call once the input is open. */
void bd_view_player_init(struct bd_view_player *player, struct bd_view_worker *worker);

/* Releases the current result. */
void bd_view_player_close(struct bd_view_player *player);

/* Shows the result that is due now. Returns whether `current` changed; *wait is the time until the
 * next is due, in seconds, or INFINITY if the worker or a key has to come first. */
bool bd_view_player_advance(struct bd_view_player *player, double now, double *wait);

void bd_view_player_pause(struct bd_view_player *player, bool paused);

/* Pauses, and shows one more result. */
void bd_view_player_step(struct bd_view_player *player);

/* Seeks by `seconds` from the present position or the target of a seek under way, between `first`
 * and `last`. The input must be seekable. */
void bd_view_player_seek(struct bd_view_player *player, double seconds, double first, double last);

/* Separates the picture on the screen again, with the present settings, if no new result would come
 * otherwise (paused, at the end). */
void bd_view_player_refresh(struct bd_view_player *player);

/* All results were shown, and no more will come. */
bool bd_view_player_finished(const struct bd_view_player *player);

#endif
