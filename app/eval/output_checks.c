#include "app/eval/output_checks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "app/eval/compare.h"
#include "app/reads.h"

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

/* Whether `path` is one of the masks of a peer for a sequence. */
static bool is_mask(const struct bd_eval_plan *plan, int peer, const char *sequence,
                    const char *path)
{
    char folder[PATH_MAX];
    struct bd_numbered masks;
    const struct bd_eval_setup *setup = &plan->setup;
    return !bd_eval_masks_find(folder, setup->peers[peer].folder, sequence, setup->alone) &&
           !bd_numbered_find(&masks, folder) && bd_paths_meet(path, masks.pattern);
}

static enum bd_status check_reads(const struct bd_eval_plan *plan, const char *option,
                                  const char *path)
{
    const char *roi = plan->setup.options->roi;
    if (path && roi && bd_paths_meet(path, roi))
        return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: is the region", option, path);
    for (int i = 0; path && i < plan->count; i++) {
        const char *folder = plan->jobs[i].folder;
        if (bd_sequence_has(folder, path))
            return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: is a file of the sequence %s", option, path,
                           folder);
        for (int k = 0; k < plan->setup.peer_count; k++)
            if (is_mask(plan, k, folder, path))
                return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: is a mask of --compare %s", option,
                               path, plan->setup.peers[k].folder);
    }
    return BD_OK;
}

/* The folder that the masks of a job go to has none that is compared with them, and nothing else
 * that is read. */
static enum bd_status check_masks(const struct bd_eval_plan *plan, const struct bd_eval_job *job)
{
    char own[PATH_MAX], folder[PATH_MAX], masks[PATH_MAX];
    const struct bd_eval_setup *setup = &plan->setup;
    const char *roi = setup->options->roi;
    if (snprintf(own, sizeof own, "%s/%s", setup->options->masks, job->name) >= (int)sizeof own ||
        snprintf(masks, sizeof masks, "%s/bin%%06d.png", own) >= (int)sizeof masks)
        return BD_OK; /* the job will say so */
    if (roi && bd_paths_meet(masks, roi))
        return bd_fail(BD_ERROR_ARGUMENT, "--masks %s: one of them would be the region",
                       setup->options->masks);
    for (int i = 0; i < plan->count; i++)
        if (bd_sequence_has(plan->jobs[i].folder, masks))
            return bd_fail(BD_ERROR_ARGUMENT, "--masks %s: they would be files of the sequence %s",
                           setup->options->masks, plan->jobs[i].folder);
    for (int k = 0; k < setup->peer_count; k++) {
        const char *peer = setup->peers[k].folder;
        if (!bd_eval_masks_find(folder, peer, job->folder, setup->alone) &&
            bd_same_folder(own, folder))
            return bd_fail(BD_ERROR_ARGUMENT, "--compare %s: is the folder of --masks too", peer);
    }
    return BD_OK;
}

enum bd_status bd_eval_reads_check(const struct bd_eval_plan *plan)
{
    const struct bd_options *options = plan->setup.options;
    enum bd_status status = check_reads(plan, "json", options->json);
    if (!status)
        status = check_reads(plan, "contact-sheet", options->contact_sheet);
    for (int i = 0; options->masks && i < plan->count && !status; i++)
        status = check_masks(plan, &plan->jobs[i]);
    return status;
}
