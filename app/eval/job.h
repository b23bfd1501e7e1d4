/* One sequence of `backdrop eval`: separated, and scored frame by frame. */
#ifndef BD_APP_EVAL_JOB_H
#define BD_APP_EVAL_JOB_H

#include <stdatomic.h>

#include "app/eval/tracking.h"
#include "app/eval/worst.h"
#include "app/options.h"

/* Masks of another program. */
struct bd_eval_peer {
    const char *folder; /* as given */
    char name[NAME_MAX + 1];
};

/* What all jobs of a run share. Constant while they run, except the numbers of frames. */
struct bd_eval_setup {
    const struct bd_options *options;
    struct bd_eval_peer peers[bd_max_compare];
    int peer_count;
    int at_once;                     /* jobs that run at a time */
    int threads;                     /* of each */
    int worst_rows;                  /* worst frames to keep of each sequence; 0: none */
    bool alone;                      /* there is one sequence only */
    atomic_int_fast64_t done, total; /* frames of all jobs */
};

/* How good the masks of one program are. */
struct bd_eval_result {
    enum bd_status status; /* BD_OK: scored in full; else why not, in `detail` */
    char detail[bd_detail_size];
    struct bd_score score;
};

struct bd_eval_job {
    char name[NAME_MAX + 1]; /* of the sequence; CATEGORY/NAME where others have the same */
    char folder[PATH_MAX];
    int64_t inputs; /* its pictures; 0 where they cannot be read */

    /* The results; the thread that runs the job writes them. */
    struct bd_eval_result ours, peers[bd_max_compare];
    bool has_objects; /* they were wanted, and the true ones are known */
    struct bd_track_scores objects;
    int64_t frames;  /* separated, scored or not */
    double seconds;  /* spent on separating them, without reading the ground truth */
    int64_t damaged; /* pictures that could not be read */
    struct bd_separator_options settings;
    char backend[256];
    struct bd_worst *worst; /* NULL: not wanted, or nothing was scored */
};

/* Runs the job to its end, a failure or an interruption, and stores its results, with the scores
 * until then. Any thread; one thread a job. */
void bd_eval_job_run(struct bd_eval_job *job, struct bd_eval_setup *setup);

#endif
