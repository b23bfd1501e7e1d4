#include "app/eval/output_checks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "app/eval/compare.h"
#include "app/reads.h"
#include "base/same_file.h"

/* Whether the file can be written. */
static enum bd_status check_output(const struct bd_options *options, const char *name,
                                   const char *path)
{
    char folder[PATH_MAX];
    const char *target = path;
    if (!path)
        return BD_OK;
    bool exists = access(path, F_OK) == 0;
    if (exists && options->overwrite == BD_OVERWRITE_NO)
        return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: exists, and -n was given", name, path);
    if (!exists) {
        const char *slash = strrchr(path, '/');
        snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
                 slash ? path : ".");
        target = folder;
    }
    return access(target, W_OK) ? bd_fail(BD_ERROR_IO, "--%s %s: %s", name, path, strerror(errno))
                                : BD_OK;
}

static enum bd_status check_sheet(const char *path)
{
    const char *dot = path ? strrchr(path, '.') : NULL;
    if (!path || (dot && (strcasecmp(dot, ".png") == 0 || strcasecmp(dot, ".jpg") == 0)))
        return BD_OK;
    return bd_fail(BD_ERROR_ARGUMENT, "--contact-sheet %s: must end in .png or .jpg", path);
}

enum bd_status bd_eval_outputs_check(const struct bd_options *options)
{
    enum bd_status status = check_output(options, "json", options->json);
    if (!status)
        status = check_output(options, "contact-sheet", options->contact_sheet);
    return status ? status : check_sheet(options->contact_sheet);
}

/* What eval writes: a file, or the pattern of the masks of a sequence. */
struct output {
    const char *option;
    char path[PATH_MAX];
};

struct outputs {
    struct output *items;
    int count;
};

static void add(struct outputs *outputs, const char *option, const char *path)
{
    if (!path || strlen(path) >= PATH_MAX)
        return;
    struct output *output = &outputs->items[outputs->count++];
    output->option = option;
    memcpy(output->path, path, strlen(path) + 1);
}

/* None of the outputs replaces `path`, which is `what` of `whose`. */
static enum bd_status check_path(const struct outputs *outputs, const char *path, const char *what,
                                 const char *whose)
{
    for (int i = 0; i < outputs->count; i++)
        if (bd_paths_meet(outputs->items[i].path, path))
            return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: is %s%s", outputs->items[i].option,
                           outputs->items[i].path, what, whose);
    return BD_OK;
}

/* Adds the masks of a job, unless their folder is yet to be made: then nothing in it is read. It is
 * none that they are compared with. */
static enum bd_status add_masks(struct outputs *outputs, const struct bd_eval_plan *plan,
                                const struct bd_eval_job *job)
{
    char own[PATH_MAX], folder[PATH_MAX], masks[PATH_MAX];
    const struct bd_eval_setup *setup = &plan->setup;
    if (!setup->options->masks || !bd_subfolder(own, setup->options->masks, job->name) ||
        snprintf(masks, sizeof masks, "%s/bin%%06d.png", own) >= (int)sizeof masks)
        return BD_OK;
    for (int k = 0; k < setup->peer_count; k++) {
        const char *peer = setup->peers[k].folder;
        if (!bd_eval_masks_find(folder, peer, job->folder, setup->alone) &&
            bd_same_file(own, folder))
            return bd_fail(BD_ERROR_ARGUMENT, "--compare %s: is the folder of --masks too", peer);
    }
    add(outputs, "masks", masks);
    return BD_OK;
}

/* What a job reads: its sequence, and the masks of others for it. */
static enum bd_status check_job(const struct outputs *outputs, const struct bd_eval_plan *plan,
                                const struct bd_eval_job *job)
{
    char files[bd_sequence_most_files][PATH_MAX], folder[PATH_MAX];
    struct bd_numbered masks;
    const struct bd_eval_setup *setup = &plan->setup;
    const int count = bd_sequence_files(job->folder, files);
    enum bd_status status = BD_OK;
    for (int i = 0; i < count && !status; i++)
        status = check_path(outputs, files[i], "a file of the sequence ", job->folder);
    for (int k = 0; k < setup->peer_count && !status; k++) {
        const char *peer = setup->peers[k].folder;
        if (!bd_eval_masks_find(folder, peer, job->folder, setup->alone) &&
            !bd_numbered_find(&masks, folder))
            status = check_path(outputs, masks.pattern, "a mask of --compare ", peer);
    }
    return status;
}

enum bd_status bd_eval_reads_check(const struct bd_eval_plan *plan)
{
    const struct bd_options *options = plan->setup.options;
    struct outputs outputs = { .items = calloc((size_t)plan->count + 2, sizeof *outputs.items) };
    enum bd_status status = BD_OK;
    if (!outputs.items)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the names of the outputs");
    add(&outputs, "json", options->json);
    add(&outputs, "contact-sheet", options->contact_sheet);
    for (int i = 0; i < plan->count && !status; i++)
        status = add_masks(&outputs, plan, &plan->jobs[i]);
    if (!status && options->roi)
        status = check_path(&outputs, options->roi, "the region", "");
    for (int i = 0; i < plan->count && outputs.count > 0 && !status; i++)
        status = check_job(&outputs, plan, &plan->jobs[i]);
    free(outputs.items);
    return status;
}
