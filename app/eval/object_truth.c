#include "app/eval/object_truth.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Columns of gt.txt. */
enum { FRAME, ID, LEFT, TOP, WIDTH, HEIGHT, CONF, COLUMNS, NEEDED = CONF };

static const double largest = 1e9; /* number in gt.txt */

struct row {
    int64_t index; /* of the picture, from 0 */
    struct bd_track_box box;
};

struct bd_object_truth {
    const struct bd_sequence *sequence;
    struct row *rows; /* of gt.txt, by pictures */
    int64_t row_count, room;
    struct bd_track_box *boxes; /* of the picture asked for last */
    int64_t box_room;
};

static enum bd_status no_memory(void)
{
    return bd_fail(BD_ERROR_MEMORY, "out of memory for the true objects");
}

/* Reads the numbers of a line, with commas or blanks between them; -1: something else is there. */
static int read_numbers(const char *line, double numbers[COLUMNS])
{
    int count = 0;
    const char *at = line + strspn(line, " \t\r\n");
    while (*at) {
        char *end;
        double number = strtod(at, &end);
        if (end == at || !(number >= -largest && number <= largest))
            return -1;
        if (count < COLUMNS)
            numbers[count++] = number;
        at = end + strspn(end, " \t\r\n");
        if (*at == ',')
            at += 1 + strspn(at + 1, " \t");
        else if (*at && at == end)
            return -1;
    }
    return count;
}

static bool is_whole(double number)
{
    return number == (double)(int64_t)number;
}

/* Adds a line; empty ones add nothing. */
static enum bd_status add_line(struct bd_object_truth *truth, const char *line, const char *path,
                               int64_t number)
{
    double values[COLUMNS] = { [CONF] = 1 };
    int count = read_numbers(line, values);
    if (count == 0)
        return BD_OK;
    if (count < NEEDED || !is_whole(values[FRAME]) || values[FRAME] < 1 || !is_whole(values[ID]))
        return bd_fail(BD_ERROR_FORMAT,
                       "%s, line %" PRId64
                       ": must be frame,id,left,top,width,height,..., frames from 1",
                       path, number);
    if (values[WIDTH] <= 0 || values[HEIGHT] <= 0)
        return bd_fail(BD_ERROR_FORMAT, "%s, line %" PRId64 ": width and height must be above 0",
                       path, number);
    if (truth->row_count == truth->room) {
        int64_t room = truth->room ? 2 * truth->room : 256;
        struct row *more = realloc(truth->rows, (size_t)room * sizeof *more);
        if (!more)
            return no_memory();
        truth->rows = more;
        truth->room = room;
    }
    truth->rows[truth->row_count++] = (struct row){ .index = (int64_t)values[FRAME] - 1,
                                                    .box = { .id = (int64_t)values[ID],
                                                             .x = values[LEFT] - 1,
                                                             .y = values[TOP] - 1,
                                                             .width = values[WIDTH],
                                                             .height = values[HEIGHT],
                                                             .ignore = values[CONF] == 0 } };
    return BD_OK;
}

/* By pictures, and within one by numbers. */
static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->index != b->index)
        return a->index < b->index ? -1 : 1;
    return (a->box.id > b->box.id) - (a->box.id < b->box.id);
}

static enum bd_status sort_rows(struct bd_object_truth *truth, const char *path)
{
    if (truth->row_count)
        qsort(truth->rows, (size_t)truth->row_count, sizeof *truth->rows, compare_rows);
    for (int64_t i = 1; i < truth->row_count; i++)
        if (compare_rows(&truth->rows[i - 1], &truth->rows[i]) == 0)
            return bd_fail(BD_ERROR_FORMAT, "%s: frame %" PRId64 " has number %" PRId64 " twice",
                           path, truth->rows[i].index + 1, truth->rows[i].box.id);
    return BD_OK;
}

static enum bd_status read_file(struct bd_object_truth *truth, const char *path)
{
    char *line = NULL;
    size_t size = 0;
    enum bd_status status = BD_OK;
    FILE *file = fopen(path, "r");
    if (!file)
        return bd_fail(BD_ERROR_IO, "%s: %s", path, strerror(errno));
    errno = 0;
    for (int64_t number = 1; !status && getline(&line, &size, file) >= 0; number++)
        status = add_line(truth, line, path, number);
    if (!status && (ferror(file) || errno == ENOMEM))
        status = bd_fail(BD_ERROR_IO, "%s: cannot be read: %s", path, strerror(errno));
    free(line);
    fclose(file);
    return status ? status : sort_rows(truth, path);
}

enum bd_status bd_object_truth_open(struct bd_object_truth **truth,
                                    const struct bd_sequence *sequence)
{
    char path[PATH_MAX];
    *truth = NULL;
    bool fits = snprintf(path, sizeof path, "%s/gt/gt.txt", sequence->folder) < PATH_MAX;
    if (!sequence->scene && (!fits || access(path, F_OK)))
        return BD_END;
    struct bd_object_truth *self = calloc(1, sizeof *self);
    if (!self)
        return no_memory();
    self->sequence = sequence;
    enum bd_status status = sequence->scene ? BD_OK : read_file(self, path);
    if (status)
        bd_object_truth_close(&self);
    *truth = self;
    return status;
}

void bd_object_truth_close(struct bd_object_truth **truth)
{
    if (!*truth)
        return;
    free((*truth)->rows);
    free((*truth)->boxes);
    free(*truth);
    *truth = NULL;
}

static enum bd_status reserve(struct bd_object_truth *truth, int64_t count)
{
    if (count == 0 || count <= truth->box_room)
        return BD_OK;
    struct bd_track_box *more = realloc(truth->boxes, (size_t)count * sizeof *more);
    if (!more)
        return no_memory();
    truth->boxes = more;
    truth->box_room = count;
    return BD_OK;
}

static enum bd_status ask_scene(struct bd_object_truth *truth, int64_t index, int *count)
{
    enum { SMALLEST = 2000, HIDDEN = 4 };
    const struct bd_sequence *sequence = truth->sequence;
    struct bd_synth_object objects[BD_SYNTH_MOST_OBJECTS];
    enum bd_status status =
        bd_synth_find_objects(sequence->scene, sequence->width, sequence->height, sequence->seed,
                              index, objects, count, NULL);
    if (!status)
        status = reserve(truth, *count);
    int64_t pixels = (int64_t)sequence->width * sequence->height;
    for (int i = 0; i < *count && !status; i++) {
        const struct bd_synth_object *object = &objects[i];
        truth->boxes[i] =
            (struct bd_track_box){ .id = object->number,
                                   .x = object->x,
                                   .y = object->y,
                                   .width = object->width,
                                   .height = object->height,
                                   .ignore = object->visible * SMALLEST < pixels ||
                                             object->visible * HIDDEN < object->whole };
    }
    return status;
}

/* The first row of the picture, or where it would be. */
static int64_t find_row(const struct bd_object_truth *truth, int64_t index)
{
    int64_t low = 0, high = truth->row_count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (truth->rows[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum bd_status look_up(struct bd_object_truth *truth, int64_t index, int *count)
{
    int64_t first = find_row(truth, index), rows = find_row(truth, index + 1) - first;
    enum bd_status status = reserve(truth, rows);
    for (int64_t i = 0; i < rows && !status; i++)
        truth->boxes[i] = truth->rows[first + i].box;
    *count = status ? 0 : (int)rows;
    return status;
}

enum bd_status bd_object_truth_get(struct bd_object_truth *truth, int64_t index,
                                   const struct bd_track_box **boxes, int *count)
{
    enum bd_status status =
        truth->sequence->scene ? ask_scene(truth, index, count) : look_up(truth, index, count);
    *boxes = truth->boxes;
    return status;
}
