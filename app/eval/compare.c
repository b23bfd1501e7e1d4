#include "app/eval/compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "video/output/writer.h"

enum bd_status bd_eval_masks_find(char *path, const char *folder, const char *sequence, bool alone)
{
    char name[NAME_MAX + 1];
    bd_sequence_name(sequence, 2, name);
    if (bd_subfolder(path, folder, name))
        return BD_OK;
    bd_sequence_name(sequence, 1, name);
    if (bd_subfolder(path, folder, name))
        return BD_OK;
    if (!alone)
        return bd_fail(BD_ERROR_IO, "%s: not there, so no masks of %s to score", path, name);
    snprintf(path, PATH_MAX, "%s", folder);
    return BD_OK;
}

static enum bd_status check_all(const struct bd_eval_masks *masks,
                                const struct bd_sequence *sequence)
{
    char path[PATH_MAX], first[PATH_MAX] = "";
    int64_t missing = 0;
    for (int64_t number = sequence->input.first; number <= sequence->input.last; number++) {
        if (!bd_sequence_counts(sequence, number))
            continue;
        bd_numbered_path(&masks->files, number + masks->shift, path);
        if (access(path, R_OK) == 0)
            continue;
        if (missing++ == 0)
            memcpy(first, path, sizeof first);
    }
    if (missing == 0)
        return BD_OK;
    if (missing == 1)
        return bd_fail(BD_ERROR_FORMAT, "%s is missing; these masks are not scored", first);
    return bd_fail(BD_ERROR_FORMAT,
                   "%s and %" PRId64 " more are missing; these masks are not scored", first,
                   missing - 1);
}

enum bd_status bd_eval_masks_open(struct bd_eval_masks *masks, const char *folder,
                                  const struct bd_sequence *sequence, bool alone, bool all)
{
    char path[PATH_MAX];
    *masks = (struct bd_eval_masks){ 0 };
    enum bd_status status = bd_eval_masks_find(path, folder, sequence->folder, alone);
    if (!status)
        status = bd_numbered_find(&masks->files, path);
    if (status)
        return status;
    const struct bd_numbered *input = &sequence->input;
    if (masks->files.first == 1 && input->first == 0 && masks->files.count == input->count &&
        masks->files.last == input->count)
        masks->shift = 1;
    return all ? check_all(masks, sequence) : BD_OK;
}

void bd_eval_masks_close(struct bd_eval_masks *masks)
{
    bd_frame_destroy(&masks->mask);
}

enum bd_status bd_eval_masks_score(struct bd_eval_masks *masks, const struct bd_sequence *sequence,
                                   int64_t number, const struct bd_frame *truth,
                                   struct bd_score *score)
{
    char path[PATH_MAX];
    bd_numbered_path(&masks->files, number + masks->shift, path);
    enum bd_status status = bd_picture_read(path, BD_GRAY8, &masks->mask);
    if (status)
        return status;
    if (masks->mask.width != truth->width || masks->mask.height != truth->height)
        return bd_fail(BD_ERROR_FORMAT, "%s: the mask is %dx%d, the ground truth %dx%d", path,
                       masks->mask.width, masks->mask.height, truth->width, truth->height);
    return bd_score_add(score, sequence, &masks->mask, truth);
}
