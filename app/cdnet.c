#include "app/cdnet.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "video/writer.h"

enum { levels = 3 };

/* A file name taken apart: prefix, digits, extension. */
struct numbered {
    int prefix, digits; /* lengths */
    int64_t number;
};

/* Returns false unless the name is like in000001.jpg. */
static bool take_apart(const char *name, struct numbered *parts)
{
    const char *dot = strrchr(name, '.');
    if (!dot || dot == name || !isdigit((unsigned char)dot[-1]))
        return false;
    const char *digits = dot;
    while (digits > name && isdigit((unsigned char)digits[-1]))
        digits--;
    parts->prefix = (int)(digits - name);
    parts->digits = (int)(dot - digits);
    parts->number = strtoll(digits, NULL, 10);
    return parts->digits < 18;
}

/* A literal % in a path is written twice in an image pattern. */
static bool append_literal(char *pattern, size_t size, const char *text, int length)
{
    size_t used = strlen(pattern);
    for (int i = 0; i < length; i++) {
        if (used + 3 > size)
            return false;
        if (text[i] == '%')
            pattern[used++] = '%';
        pattern[used++] = text[i];
    }
    pattern[used] = 0;
    return true;
}

/* The pattern of the numbered pictures in FOLDER/SUB, and their first and last number. */
static enum bd_status find_pattern(char *pattern, const char *folder, const char *sub,
                                   int64_t *first, int64_t *last)
{
    char path[PATH_MAX], model[NAME_MAX + 1] = "", number[16];
    struct numbered parts = { 0 }, lowest = { 0 };
    bool same_digits = true;
    if (snprintf(path, sizeof path, "%s/%s", folder, sub) >= (int)sizeof path)
        return bd_fail(BD_ERROR_IO, "%s: the path is too long", folder);
    DIR *dir = opendir(path);
    if (!dir)
        return bd_fail(BD_ERROR_IO, "%s: %s", path, strerror(errno));
    *first = INT64_MAX;
    *last = -1;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!take_apart(entry->d_name, &parts))
            continue;
        if (*last >= 0 && parts.digits != lowest.digits)
            same_digits = false;
        if (parts.number < *first) {
            *first = parts.number;
            lowest = parts;
            snprintf(model, sizeof model, "%s", entry->d_name);
        }
        *last = parts.number > *last ? parts.number : *last;
    }
    closedir(dir);
    if (*last < 0)
        return bd_fail(BD_ERROR_FORMAT, "%s: no numbered pictures such as in000001.jpg", path);
    if (same_digits && lowest.digits > 1)
        snprintf(number, sizeof number, "%%0%dd", lowest.digits);
    else
        snprintf(number, sizeof number, "%%d");
    *pattern = 0;
    const char *extension = strrchr(model, '.');
    if (!append_literal(pattern, PATH_MAX - sizeof number, path, (int)strlen(path)) ||
        !append_literal(pattern, PATH_MAX - sizeof number, "/", 1) ||
        !append_literal(pattern, PATH_MAX - sizeof number, model, lowest.prefix))
        return bd_fail(BD_ERROR_IO, "%s: the path is too long", path);
    size_t used = strlen(pattern);
    snprintf(pattern + used, PATH_MAX - used, "%s", number);
    if (!append_literal(pattern, PATH_MAX, extension, (int)strlen(extension)))
        return bd_fail(BD_ERROR_IO, "%s: the path is too long", path);
    return BD_OK;
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
    sequence->score_from = sequence->first_number;
    sequence->score_to = sequence->first_number + sequence->input_count - 1;
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

/* The last part of the path, even where it is "." or ends in a slash. */
static void name_sequence(struct bd_sequence *sequence, const char *folder)
{
    char real[PATH_MAX];
    const char *path = realpath(folder, real) ? real : folder;
    const char *slash = strrchr(path, '/');
    snprintf(sequence->name, sizeof sequence->name, "%.*s", NAME_MAX, slash ? slash + 1 : path);
}

enum bd_status bd_sequence_open(struct bd_sequence *sequence, const char *folder)
{
    char path[PATH_MAX];
    int64_t last, truth_first, truth_last;
    memset(sequence, 0, sizeof *sequence);
    if (snprintf(sequence->folder, sizeof sequence->folder, "%s", folder) >= PATH_MAX)
        return bd_fail(BD_ERROR_IO, "%s: the path is too long", folder);
    name_sequence(sequence, folder);
    enum bd_status status =
        find_pattern(sequence->input, folder, "input", &sequence->first_number, &last);
    if (!status)
        status = find_pattern(sequence->truth, folder, "groundtruth", &truth_first, &truth_last);
    if (status)
        return status;
    sequence->input_count = last - sequence->first_number + 1;
    status = read_range(sequence);
    join_existing(path, folder, "ROI.bmp");
    if (!status && *path)
        status = bd_picture_read(path, BD_GRAY8, &sequence->roi);
    if (status)
        bd_sequence_close(sequence);
    return status;
}

void bd_sequence_close(struct bd_sequence *sequence)
{
    bd_frame_destroy(&sequence->roi);
}

/* The pattern was made by find_pattern and holds one %d or %0Nd. */
static void expand(char *path, const char *pattern, int64_t number)
{
    size_t used = 0;
    for (const char *c = pattern; *c && used + 24 < PATH_MAX; c++) {
        if (*c != '%') {
            path[used++] = *c;
        } else if (c[1] == '%') {
            path[used++] = *c++;
        } else {
            int digits = (int)strtol(c + 1, (char **)&c, 10);
            used += (size_t)snprintf(path + used, PATH_MAX - used, "%0*" PRId64, digits, number);
        }
    }
    path[used] = 0;
}

void bd_sequence_input(const struct bd_sequence *sequence, int64_t number, char *path)
{
    expand(path, sequence->input, number);
}

enum bd_status bd_sequence_truth(const struct bd_sequence *sequence, int64_t number,
                                 struct bd_frame *truth)
{
    char path[PATH_MAX];
    if (number < sequence->score_from || number > sequence->score_to)
        return BD_END;
    expand(path, sequence->truth, number);
    if (access(path, F_OK))
        return BD_END;
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
            if ((inside && inside[x] < 128) || t[x] == BD_TRUTH_OUTSIDE || t[x] == BD_TRUTH_UNKNOWN)
                continue;
            if (t[x] == BD_TRUTH_MOVING)
                *(m[x] ? &score->tp : &score->fn) += 1;
            else
                *(m[x] ? &score->fp : &score->tn) += 1;
        }
    }
    score->frames++;
    return BD_OK;
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

static bool is_folder(const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct stat info;
    join_existing(path, folder, name);
    return *path && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* `*count` sequences were found so far. */
static enum bd_status search(const char *folder, int level,
                             enum bd_status (*found)(void *user, const char *folder), void *user,
                             int *count)
{
    struct dirent **entries = NULL;
    char path[PATH_MAX];
    enum bd_status status = BD_OK;
    if (is_folder(folder, "input")) {
        (*count)++;
        return found(user, folder);
    }
    int entry_count = scandir(folder, &entries, NULL, alphasort);
    if (entry_count < 0)
        return bd_fail(BD_ERROR_IO, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < entry_count; i++) {
        const char *name = entries[i]->d_name;
        if (!status && level < levels && name[0] != '.' && is_folder(folder, name)) {
            join_existing(path, folder, name);
            status = search(path, level + 1, found, user, count);
        }
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
                       "%s: no sequence here: it must hold the folders input and "
                       "groundtruth",
                       folder);
    return status;
}
