/* The two sides of the separator thread, private to view_worker*.c. */
#ifndef BD_APP_VIEW_WORKER_THREAD_H
#define BD_APP_VIEW_WORKER_THREAD_H

#include <pthread.h>
#include <stdatomic.h>

#include "app/pipeline/pipeline.h"
#include "app/view/queue.h"
#include "app/view/worker.h"

/* The latest wish of each kind; written by the main thread, emptied by the separator thread. */
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
    pthread_cond_t wake; /* of the separator thread: room in the queue, mail, stop */
    struct bd_view_mailbox mailbox;
    enum bd_view_state state;
    enum bd_status status;
    char detail[bd_detail_size], notice[160];
    struct bd_view_queue queue;
    int64_t generation; /* of results: a seek makes those before it worthless */

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
