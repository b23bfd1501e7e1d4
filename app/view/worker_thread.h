/* What both sides of the separator thread share. Private to worker.c and worker_thread.c. */
#ifndef BD_APP_VIEW_WORKER_THREAD_H
#define BD_APP_VIEW_WORKER_THREAD_H

#include <pthread.h>
#include <stdatomic.h>

#include "app/pipeline/pipeline.h"
#include "app/view/queue.h"
#include "app/view/worker.h"

/* The latest request of each kind; the main thread writes it, the separator thread empties it. */
struct bd_view_mailbox {
    bool any; /* of the following */
    bool seek, repeat, threshold_set, lambda_set, freeze_set, reset;
    double seconds, threshold, lambda;
    bool frozen;
};

struct bd_view_worker {
    struct bd_view_worker_options options; /* constant */
    pthread_t thread;                      /* main thread */
    atomic_bool stop;                      /* set by the main thread */

    /* Under the lock. */
    pthread_mutex_t lock;
    pthread_cond_t wake; /* wakes the separator thread: room in the queue, a request, stop */
    struct bd_view_mailbox mailbox;
    enum bd_view_state state;
    enum bd_status status;
    char detail[bd_detail_size], notice[160];
    struct bd_view_queue queue;
    int64_t
        generation; /* of results: a seek starts a new one and makes the earlier ones obsolete */

    /* Written by the separator thread before the state leaves OPENING, constant afterwards. */
    struct bd_view_source source;

    /* Separator thread only. */
    struct bd_pipeline *pipeline;
    double first_time; /* of the input's first frame, in its own times */
    bool first_time_known, frozen, repeating, jump;
};

/* The separator thread; `user` is the worker. */
void *bd_view_worker_run(void *user);

#endif
