/* The separator thread of the live window: it owns the pipeline (and so the backend) and puts
 * separated frames into a short queue.
 *
 * Everything here is called by the main thread, which never touches the pipeline. The
 * two threads exchange data in struct bd_view_worker, under its lock: results one way, and the
 * other way a mailbox with the latest request of each kind. A result belongs to the main thread
 * from bd_view_worker_take to bd_view_worker_release. */
#ifndef BD_APP_VIEW_WORKER_H
#define BD_APP_VIEW_WORKER_H

#include <stdbool.h>

#include "app/options.h"
#include "app/view/result.h"
#include "video/input/reader.h"

struct bd_view_worker;

/* What is known once the input is open. */
struct bd_view_source {
    struct bd_reader_info info;
    char backend[160];
    bool adjustable;          /* the live solver: threshold, lambda, freeze and reset have effect */
    double threshold, lambda; /* grey levels, at the start */
    int window;               /* columns */
};

enum bd_view_state {
    BD_VIEW_OPENING,
    BD_VIEW_RUNNING,
    BD_VIEW_ENDED,      /* no more results will come */
    BD_VIEW_BROKEN_OFF, /* ended by an error */
    BD_VIEW_OPEN_FAILED
};

struct bd_view_worker_options {
    const struct bd_options *options; /* outlives the worker */
    void (*notify)(void *user);       /* called by the separator thread when something changed */
    bool (*interrupted)(void *user);  /* called by any thread: true makes blocked reads return */
    void *user;
};

/* Starts the thread, which opens the input. BD_ERROR_MEMORY. */
enum bd_status bd_view_worker_create(struct bd_view_worker **worker,
                                     const struct bd_view_worker_options *options);

/* Stops and joins the thread, frees and nulls. Safe on NULL. */
void bd_view_worker_destroy(struct bd_view_worker **worker);

/* The worker at one moment. */
struct bd_view_progress {
    enum bd_view_state state;
    enum bd_status status; /* why the state is BROKEN_OFF or OPEN_FAILED */
    const char *detail;    /* the same in words; lives as long as the worker */
    double learned;        /* share of the look-ahead that is done, 0..1 */
    int ready, capacity;   /* results that wait in the queue, and the most that it holds */
    int64_t dropped;       /* results of a live source that a later one replaced unseen */
};

struct bd_view_progress bd_view_worker_progress(struct bd_view_worker *worker);

/* Not before the state has left OPENING; NULL if opening failed. Lives as long as the worker. */
const struct bd_view_source *bd_view_worker_source(struct bd_view_worker *worker);

/* The input's first frame, while its background is learned and no result is there; NULL if the
 * first result comes without a wait. Of its members, only `input` is set. Lives as long as the
 * worker.
 */
const struct bd_view_result *bd_view_worker_first_frame(struct bd_view_worker *worker);

/* Files: the i-th result waiting, without taking it; NULL if there are not so many. It stays there
 * until the main thread takes it or seeks. */
const struct bd_view_result *bd_view_worker_peek(struct bd_view_worker *worker, int i);

/* Takes the oldest result, or with `latest` the newest, dropping those before it; NULL if none. */
struct bd_view_result *bd_view_worker_take(struct bd_view_worker *worker, bool latest);

/* Returns a result to the worker and nulls. Safe on NULL. */
void bd_view_worker_release(struct bd_view_worker *worker, struct bd_view_result **result);

/* Requests; they take effect with the next frame that is separated. Seeking drops all results in
 * the queue; `repeat` separates the frame at `seconds` again, without learning from it. */
void bd_view_worker_seek(struct bd_view_worker *worker, double seconds, bool repeat);
void bd_view_worker_set_threshold(struct bd_view_worker *worker, double threshold);
void bd_view_worker_set_lambda(struct bd_view_worker *worker, double lambda);
void bd_view_worker_freeze(struct bd_view_worker *worker, bool frozen);
void bd_view_worker_reset(struct bd_view_worker *worker);

/* Moves the message of the separator thread for the user into `text`. False if there is none. */
bool bd_view_worker_notice(struct bd_view_worker *worker, char *text, int size);

#endif
