/* One export: an input, or pieces that are one film, separated, and written to its outputs. */
#ifndef BD_APP_EXPORT_JOB_H
#define BD_APP_EXPORT_JOB_H

#include <stdatomic.h>

#include "app/export/inputs.h"
#include "app/progress.h"

/* What all exports of a run share. Constant while they run, except the numbers of frames. */
struct bd_export_setup {
    const struct bd_options *options; /* of the command line */
    const struct bd_inputs *inputs;
    int count;                /* exports */
    int at_once;              /* exports that run at a time */
    int threads;              /* of each */
    struct bd_meter *meter;   /* of the only export, which draws it; NULL: there are several */
    atomic_int_fast64_t done; /* frames of all exports */
    /* Exports that were opened, or could not be, and the frames that they have. */
    atomic_int_fast64_t opened, total;
};

struct bd_export_job {
    int number; /* as in bd_own_options_make */

    /* The results; the thread that runs the job writes them. */
    int exit_status; /* of the program, if it were alone */
    int64_t frames;  /* written */
    int outputs;     /* given */
    int64_t events;  /* -1: no output tells of any */
    char *marks;     /* lines of text about the lines and zones of the options; NULL: none. Owned */
    char line[bd_detail_size + 64]; /* what went wrong; "": nothing did, but an interruption */

    bool is_told; /* the main thread has reported it */
};

/* Runs the job to its end, a failure or an interruption; what was written is finalised. Any thread;
 * one thread a job. */
void bd_export_job_run(struct bd_export_job *job, struct bd_export_setup *setup);

#endif
