#include "app/eval/cdnet.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "video/input/reader.h"
#include "video/output/writer.h"

enum { levels = 3 };

static const char scheme[] = "synth:";

static bool is_scene(const char *folder)
{
    return strncmp(folder, scheme, sizeof scheme - 1) == 0;
}

/* The scene of synth:NAME?...; NULL if there is none. */
static const struct bd_synth_scene *scene_of(const char *folder)
{
    char name[64];
    const char *begin = folder + sizeof scheme - 1;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(begin, "?"), begin);
    return bd_synth_find(name);
}

/* The seed that the reader renders with: the last one given, else 1. */
static uint64_t seed_of(const char *folder)
{
    uint64_t seed = 1;
    for (const char *at = strchr(folder, '?'); at; at = strchr(at + 1, '&'))
        if (strncmp(at + 1, "seed=", 5) == 0)
            seed = strtoull(at + 6, NULL, 10);
    return seed;
}

/* FOLDER/NAME if it exists, else an empty string. */
static void join_existing(char *path, const char *folder, const char *name)
{
    if (snprintf(path, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX || access(path, F_OK))
        *path = 0;
}

static enum bd_status read_range(struct bd_sequence *sequence)
{
    char path[PATH_MAX];
    join_existing(path, sequence->folder, "temporalROI.txt");
    sequence->score_from = sequence->input.first;
    sequence->score_to = sequence->input.last;
    if (!*path)
        return BD_OK;
    FILE *file = fopen(path, "r");
    if (!file)
        return bd_fail(BD_ERROR_IO, "%s: %s", path, strerror(errno));
    int64_t from, to;
    int got = fscanf(file, "%" SCNd64 " %" SCNd64, &from, &to);
    fclose(file);
    if (got != 2 || from < 0 || to < from)
        return bd_fail(BD_ERROR_FORMAT, "%s: must hold the first and last frame to score", path);
    sequence->score_from = from;
    sequence->score_to = to;
    return BD_OK;
}

void bd_sequence_name(const char *folder, int parts, char *name)
{
    char real[PATH_MAX];
    const char *path = realpath(folder, real) ? real : folder;
    const char *begin = path + strlen(path);
    for (; parts > 0 && begin > path; parts--)
        for (begin--; begin > path && begin[-1] != '/';)
            begin--;
    snprintf(name, NAME_MAX + 1, "%.*s", NAME_MAX, begin);
}

static enum bd_status find_numbered(struct bd_numbered *numbered, const char *folder,
                                    const char *sub)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, sub) >= (int)sizeof path)
        return bd_fail(BD_ERROR_IO, "%s: the path is too long", folder);
    return bd_numbered_find(numbered, path);
}

static enum bd_status check_gaps(const struct bd_numbered *input)
{
    char path[PATH_MAX];
    if (input->count > input->last - input->first)
        return BD_OK;
    bd_numbered_path(input, bd_numbered_gap(input), path);
    return bd_fail(BD_ERROR_FORMAT, "%s is missing, and there are pictures after it", path);
}

static enum bd_status open_scene(struct bd_sequence *sequence)
{
    const struct bd_reader_options options = { .format = BD_GRAY8, .threads = 1 };
    struct bd_reader *reader;
    enum bd_status status = bd_reader_open(&reader, sequence->folder, &options);
    if (status)
        return status;
    const struct bd_reader_info *info = bd_reader_get_info(reader);
    sequence->scene = scene_of(sequence->folder);
    sequence->seed = seed_of(sequence->folder);
    sequence->width = info->width;
    sequence->height = info->height;
    memcpy(sequence->input.pattern, sequence->folder, sizeof sequence->folder);
    sequence->input.first = sequence->score_from = 1;
    sequence->input.last = sequence->score_to = sequence->input.count = info->frame_count;
    bd_reader_close(&reader);
    return BD_OK;
}

static enum bd_status open_folder(struct bd_sequence *sequence)
{
    char path[PATH_MAX];
    const char *folder = sequence->folder;
    enum bd_status status = find_numbered(&sequence->input, folder, "input");
    if (!status)
        status = find_numbered(&sequence->truth, folder, "groundtruth");
    if (!status)
        status = check_gaps(&sequence->input);
    if (!status)
        status = read_range(sequence);
    join_existing(path, folder, "ROI.bmp");
    if (!status && *path)
        status = bd_picture_read(path, BD_GRAY8, &sequence->roi);
    return status;
}

enum bd_status bd_sequence_open(struct bd_sequence *sequence, const char *folder)
{
    memset(sequence, 0, sizeof *sequence);
    if (snprintf(sequence->folder, sizeof sequence->folder, "%s", folder) >= PATH_MAX)
        return bd_fail(BD_ERROR_IO, "%s: the path is too long", folder);
    bd_sequence_name(folder, 1, sequence->name);
    enum bd_status status = is_scene(folder) ? open_scene(sequence) : open_folder(sequence);
    if (status)
        bd_sequence_close(sequence);
    return status;
}

int64_t bd_sequence_length(const char *folder)
{
    struct bd_numbered input;
    if (is_scene(folder))
        return scene_of(folder) ? scene_of(folder)->frame_count : 0;
    return find_numbered(&input, folder, "input") ? 0 : input.count;
}

int bd_sequence_files(const char *folder, char (*paths)[PATH_MAX])
{
    static const char *const folders[] = { "input", "groundtruth" };
    static const char *const files[] = { "ROI.bmp", "temporalROI.txt", "gt/gt.txt" };
    struct bd_numbered pictures;
    int count = 0;
    if (is_scene(folder))
        return 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (!find_numbered(&pictures, folder, folders[i]))
            memcpy(paths[count++], pictures.pattern, sizeof pictures.pattern);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        join_existing(paths[count], folder, files[i]);
        count += *paths[count] != 0;
    }
    return count;
}

void bd_sequence_close(struct bd_sequence *sequence)
{
    bd_frame_destroy(&sequence->roi);
}

bool bd_sequence_counts(const struct bd_sequence *sequence, int64_t number)
{
    char path[PATH_MAX];
    if (number < sequence->score_from || number > sequence->score_to)
        return false;
    if (sequence->scene)
        return true;
    bd_numbered_path(&sequence->truth, number, path);
    return access(path, F_OK) == 0;
}

enum bd_status bd_sequence_truth(const struct bd_sequence *sequence, int64_t number,
                                 struct bd_frame *truth)
{
    char path[PATH_MAX];
    if (!bd_sequence_counts(sequence, number))
        return BD_END;
    if (sequence->scene)
        return bd_synth_render(sequence->scene, sequence->width, sequence->height, sequence->seed,
                               number - sequence->input.first, NULL, truth);
    bd_numbered_path(&sequence->truth, number, path);
    return bd_picture_read(path, BD_GRAY8, truth);
}

enum bd_status bd_score_add(struct bd_score *score, const struct bd_sequence *sequence,
                            const struct bd_frame *mask, const struct bd_frame *truth)
{
    const struct bd_frame *roi = &sequence->roi;
    if (mask->width != truth->width || mask->height != truth->height)
        return bd_fail(BD_ERROR_FORMAT, "%s: ground truth is %dx%d, the input %dx%d",
                       sequence->folder, truth->width, truth->height, mask->width, mask->height);
    if (roi->data && (roi->width != mask->width || roi->height != mask->height))
        return bd_fail(BD_ERROR_FORMAT, "%s: ROI.bmp is %dx%d, the input %dx%d", sequence->folder,
                       roi->width, roi->height, mask->width, mask->height);
    for (int y = 0; y < mask->height; y++) {
        const uint8_t *m = mask->data + (int64_t)y * mask->stride;
        const uint8_t *t = truth->data + (int64_t)y * truth->stride;
        const uint8_t *inside = roi->data ? roi->data + (int64_t)y * roi->stride : NULL;
        for (int x = 0; x < mask->width; x++) {
            int code = bd_truth_code(t[x], inside ? inside[x] : 255);
            if (code == BD_TRUTH_OUTSIDE || code == BD_TRUTH_UNKNOWN)
                continue;
            if (code == BD_TRUTH_MOVING)
                *(bd_mask_moving(m[x]) ? &score->tp : &score->fn) += 1;
            else
                *(bd_mask_moving(m[x]) ? &score->fp : &score->tn) += 1;
        }
    }
    score->frames++;
    return BD_OK;
}

void bd_score_pool(struct bd_score *score, const struct bd_score *part)
{
    score->tp += part->tp;
    score->fp += part->fp;
    score->fn += part->fn;
    score->tn += part->tn;
    score->frames += part->frames;
}

static double ratio(int64_t part, int64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

double bd_score_precision(const struct bd_score *score)
{
    return ratio(score->tp, score->tp + score->fp);
}

double bd_score_recall(const struct bd_score *score)
{
    return ratio(score->tp, score->tp + score->fn);
}

double bd_score_f_measure(const struct bd_score *score)
{
    return ratio(2 * score->tp, 2 * score->tp + score->fp + score->fn);
}

/* `*count` sequences were found so far. */
static enum bd_status search(const char *folder, int level,
                             enum bd_status (*found)(void *user, const char *folder), void *user,
                             int *count)
{
    struct dirent **entries = NULL;
    char path[PATH_MAX];
    enum bd_status status = BD_OK;
    if (is_scene(folder) || bd_subfolder(path, folder, "input")) {
        (*count)++;
        return found(user, folder);
    }
    int entry_count = scandir(folder, &entries, NULL, alphasort);
    if (entry_count < 0)
        return bd_fail(BD_ERROR_IO, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < entry_count; i++) {
        const char *name = entries[i]->d_name;
        if (!status && level < levels && name[0] != '.' && bd_subfolder(path, folder, name))
            status = search(path, level + 1, found, user, count);
        free(entries[i]);
    }
    free(entries);
    return status;
}

enum bd_status bd_sequence_find(const char *folder,
                                enum bd_status (*found)(void *user, const char *folder), void *user)
{
    int count = 0;
    enum bd_status status = search(folder, 0, found, user, &count);
    if (!status && count == 0)
        return bd_fail(BD_ERROR_IO,
                       "%s: no sequence here: it must hold the folders input and groundtruth",
                       folder);
    return status;
}
