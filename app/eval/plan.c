#include "app/eval/plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/blas_threads.h"
#include "base/pool.h"
#include "base/same_file.h"

/* Most sequences at the same time unless --jobs says more: each takes 100 to 200 MB. */
enum { most_at_once = 16 };

/* The longest jobs are started first if there are at most so many per thread. */
enum { few_jobs = 4 };

/* Frames of a contact sheet, over all its sequences, and of one sequence. */
enum { sheet_rows = 24, most_rows = 6 };

static struct bd_eval_job *new_job(struct bd_eval_plan *plan, const char *folder)
{
    struct bd_eval_job *jobs = realloc(plan->jobs, ((size_t)plan->count + 1) * sizeof *jobs);
    if (!jobs)
        return NULL;
    plan->jobs = jobs;
    struct bd_eval_job *job = &jobs[plan->count++];
    *job = (struct bd_eval_job){ 0 };
    snprintf(job->folder, sizeof job->folder, "%s", folder);
    bd_sequence_name(folder, 1, job->name);
    return job;
}

/* For bd_sequence_find. The job itself reports what is wrong with its sequence. */
static enum bd_status add_sequence(void *user, const char *folder)
{
    struct bd_eval_plan *plan = user;
    for (int i = 0; i < plan->count; i++)
        if (bd_same_file(plan->jobs[i].folder, folder)) {
            bd_log(BD_LOG_WARNING, "%s: asked for twice, scored once", folder);
            return BD_OK;
        }
    struct bd_eval_job *job = new_job(plan, folder);
    if (!job)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the sequences");
    job->inputs = bd_sequence_length(folder);
    return BD_OK;
}

static enum bd_status find_sequences(struct bd_eval_plan *plan)
{
    const struct bd_options *options = plan->setup.options;
    for (int i = 0; i < options->argument_count; i++) {
        enum bd_status status = bd_sequence_find(options->arguments[i], add_sequence, plan);
        if (!status)
            continue;
        struct bd_eval_job *job =
            status == BD_ERROR_MEMORY ? NULL : new_job(plan, options->arguments[i]);
        if (!job)
            return bd_fail(BD_ERROR_MEMORY, "out of memory for the sequences");
        job->ours.status = status;
        snprintf(job->ours.detail, sizeof job->ours.detail, "%s", bd_error_detail());
    }
    return BD_OK;
}

/* How many of the first `end` jobs have this name. */
static int namesakes(const struct bd_eval_plan *plan, int end, const char *name)
{
    int count = 0;
    for (int i = 0; i < end; i++)
        count += strcmp(plan->jobs[i].name, name) == 0;
    return count;
}

/* The results and the folders of --masks need different names. */
static enum bd_status make_names_differ(struct bd_eval_plan *plan)
{
    bool *twice = calloc((size_t)plan->count + 1, sizeof *twice);
    if (!twice)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the sequences");
    for (int i = 0; i < plan->count; i++)
        twice[i] = namesakes(plan, plan->count, plan->jobs[i].name) > 1;
    for (int i = 0; i < plan->count; i++)
        if (twice[i])
            bd_sequence_name(plan->jobs[i].folder, 2, plan->jobs[i].name);
    free(twice);
    for (int i = 1; i < plan->count; i++) {
        struct bd_eval_job *job = &plan->jobs[i];
        size_t length = strnlen(job->name, sizeof job->name - 8);
        for (int n = 2; namesakes(plan, i, job->name) > 0; n++)
            snprintf(job->name + length, sizeof job->name - length, "-%d", n);
    }
    return BD_OK;
}

static enum bd_status find_peers(struct bd_eval_plan *plan)
{
    struct bd_eval_setup *setup = &plan->setup;
    const struct bd_texts *peers = &setup->options->compare;
    for (int i = 0; i < peers->count; i++) {
        struct bd_eval_peer *peer = &setup->peers[i];
        struct stat info;
        peer->folder = peers->items[i];
        if (stat(peer->folder, &info) == 0 && !S_ISDIR(info.st_mode))
            errno = ENOTDIR;
        if (stat(peer->folder, &info) || !S_ISDIR(info.st_mode))
            return bd_fail(BD_ERROR_IO, "--compare %s: %s", peer->folder, strerror(errno));
        if (setup->options->masks && bd_same_file(peer->folder, setup->options->masks))
            return bd_fail(BD_ERROR_ARGUMENT, "--compare %s: is the folder of --masks too",
                           peer->folder);
        bd_sequence_name(peer->folder, 1, peer->name);
        for (int j = 0; j < i; j++)
            if (strcmp(setup->peers[j].name, peer->name) == 0)
                bd_sequence_name(peer->folder, 2, peer->name);
    }
    setup->peer_count = peers->count;
    return BD_OK;
}

/* With few jobs a thread, the longest start first, so that none runs alone at the end. With many,
 * that gains little, and the order of the command line shows results sooner. */
static void choose_order(struct bd_eval_plan *plan)
{
    int at_once = plan->setup.at_once;
    bool longest_first = at_once > 1 && plan->count <= few_jobs * at_once;
    for (int i = 0; i < plan->count; i++) {
        int at = i;
        for (; longest_first && at > 0 &&
               plan->jobs[plan->order[at - 1]].inputs < plan->jobs[i].inputs;
             at--)
            plan->order[at] = plan->order[at - 1];
        plan->order[at] = i;
    }
}

static enum bd_status share_out(struct bd_eval_plan *plan)
{
    struct bd_eval_setup *setup = &plan->setup;
    const struct bd_options *options = setup->options;
    int count = 0, threads = options->threads ? options->threads : bd_pool_cores();
    plan->order = malloc(((size_t)plan->count + 1) * sizeof *plan->order);
    if (!plan->order)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the sequences");
    for (int i = 0; i < plan->count; i++) {
        count += plan->jobs[i].ours.status == BD_OK;
        atomic_fetch_add(&setup->total, plan->jobs[i].inputs);
    }
    int most = threads < most_at_once ? threads : most_at_once;
    most = options->jobs ? options->jobs : most;
    setup->at_once = count < most ? count : most;
    setup->threads = options->threads;
    if (setup->at_once > 1)
        setup->threads = threads > setup->at_once ? threads / setup->at_once : 1;
    setup->alone = count == 1;
    choose_order(plan);
    if (options->contact_sheet && count) {
        int rows = sheet_rows / count;
        setup->worst_rows = rows < 1 ? 1 : rows > most_rows ? most_rows : rows;
    }
    return bd_blas_reserve(setup->at_once);
}

enum bd_status bd_eval_plan_make(struct bd_eval_plan *plan, const struct bd_options *options)
{
    *plan = (struct bd_eval_plan){ .setup.options = options };
    enum bd_status status = find_peers(plan);
    if (!status)
        status = find_sequences(plan);
    if (!status)
        status = make_names_differ(plan);
    if (!status)
        status = share_out(plan);
    if (status)
        bd_eval_plan_free(plan);
    return status;
}

void bd_eval_plan_free(struct bd_eval_plan *plan)
{
    for (int i = 0; i < plan->count; i++)
        bd_worst_destroy(&plan->jobs[i].worst);
    free(plan->jobs);
    free(plan->order);
    *plan = (struct bd_eval_plan){ 0 };
}
