#include "app/eval/tracking.h"

#include <stdlib.h>
#include <string.h>

#include "app/eval/crossings.h"
#include "base/assignment.h"

static const double least_overlap = 0.5;

/* Frames in which a true object and a found one overlap enough. */
struct meeting {
    int found; /* place in bd_tracking.found */
    int64_t frames;
};

/* A true object. */
struct object {
    int64_t id;
    int64_t frames, paired; /* in which it counts; in which it has a pair */
    int last;               /* place of the found object that it had last; -1: none yet */
    bool gap;               /* it has had no pair since then */
    struct meeting *meetings;
    int meeting_count;
};

struct found {
    int64_t id;
    int64_t frames; /* in which it counts */
};

struct bd_tracking {
    struct bd_track_scores sums; /* all that does not need the whole film */
    struct object *objects;
    int object_count;
    struct found *found;
    int found_count;
    struct bd_crossings *crossings;
};

/* A frame while it is scored. */
struct frame {
    const struct bd_track_box *truth, *found;
    int truth_count, found_count;
    int *object_of; /* truth_count: place in bd_tracking.objects */
    int *track_of;  /* found_count: place in bd_tracking.found */
    int *pair_of;   /* truth_count: place in `found`; -1: none */
    bool *settled;  /* found_count: it has a pair, or does not count */
    double *gain;   /* truth_count x found_count */
};

static enum bd_status no_memory(void)
{
    return bd_fail(BD_ERROR_MEMORY, "out of memory for the scores of objects");
}

enum bd_status bd_tracking_create(struct bd_tracking **tracking)
{
    *tracking = calloc(1, sizeof **tracking);
    if (!*tracking)
        return no_memory();
    enum bd_status status = bd_crossings_create(&(*tracking)->crossings);
    if (status)
        bd_tracking_destroy(tracking);
    return status;
}

void bd_tracking_destroy(struct bd_tracking **tracking)
{
    if (!*tracking)
        return;
    for (int i = 0; i < (*tracking)->object_count; i++)
        free((*tracking)->objects[i].meetings);
    free((*tracking)->objects);
    free((*tracking)->found);
    bd_crossings_destroy(&(*tracking)->crossings);
    free(*tracking);
    *tracking = NULL;
}

double bd_track_overlap(const struct bd_track_box *a, const struct bd_track_box *b)
{
    double left = a->x > b->x ? a->x : b->x;
    double right = a->x + a->width < b->x + b->width ? a->x + a->width : b->x + b->width;
    double top = a->y > b->y ? a->y : b->y;
    double bottom = a->y + a->height < b->y + b->height ? a->y + a->height : b->y + b->height;
    if (right <= left || bottom <= top)
        return 0;
    double both = (right - left) * (bottom - top);
    return both / (a->width * a->height + b->width * b->height - both);
}

/* The place of the true object of that number, a new one at its first sight; -1: out of memory. */
static int find_object(struct bd_tracking *tracking, int64_t id)
{
    for (int i = 0; i < tracking->object_count; i++)
        if (tracking->objects[i].id == id)
            return i;
    struct object *more =
        realloc(tracking->objects, ((size_t)tracking->object_count + 1) * sizeof *more);
    if (!more)
        return -1;
    tracking->objects = more;
    more[tracking->object_count] = (struct object){ .id = id, .last = -1 };
    return tracking->object_count++;
}

static int find_found(struct bd_tracking *tracking, int64_t id)
{
    for (int i = 0; i < tracking->found_count; i++)
        if (tracking->found[i].id == id)
            return i;
    struct found *more =
        realloc(tracking->found, ((size_t)tracking->found_count + 1) * sizeof *more);
    if (!more)
        return -1;
    tracking->found = more;
    more[tracking->found_count] = (struct found){ .id = id };
    return tracking->found_count++;
}

/* Whether a number occurs twice among `count`. */
static bool repeats(const int *places, int count)
{
    for (int i = 1; i < count; i++)
        for (int j = 0; j < i; j++)
            if (places[i] == places[j])
                return true;
    return false;
}

static void close_frame(struct frame *frame)
{
    free(frame->object_of);
    free(frame->track_of);
    free(frame->pair_of);
    free(frame->settled);
    free(frame->gain);
}

static enum bd_status open_frame(struct frame *frame, struct bd_tracking *tracking)
{
    size_t rows = (size_t)frame->truth_count, columns = (size_t)frame->found_count;
    frame->object_of = calloc(rows + 1, sizeof *frame->object_of);
    frame->track_of = calloc(columns + 1, sizeof *frame->track_of);
    frame->pair_of = calloc(rows + 1, sizeof *frame->pair_of);
    frame->settled = calloc(columns + 1, sizeof *frame->settled);
    frame->gain = calloc(rows * columns + 1, sizeof *frame->gain);
    if (!frame->object_of || !frame->track_of || !frame->pair_of || !frame->settled || !frame->gain)
        return no_memory();
    for (int i = 0; i < frame->truth_count; i++) {
        frame->object_of[i] = find_object(tracking, frame->truth[i].id);
        frame->pair_of[i] = -1;
        if (frame->object_of[i] < 0)
            return no_memory();
    }
    for (int j = 0; j < frame->found_count; j++) {
        frame->track_of[j] = find_found(tracking, frame->found[j].id);
        if (frame->track_of[j] < 0)
            return no_memory();
    }
    if (repeats(frame->object_of, frame->truth_count) ||
        repeats(frame->track_of, frame->found_count))
        return bd_fail(BD_ERROR_ARGUMENT, "two objects of a frame have the same number");
    return BD_OK;
}

static void make_pair(struct frame *frame, int i, int j)
{
    frame->pair_of[i] = j;
    frame->settled[j] = true;
}

static bool overlaps(const struct frame *frame, int i, int j)
{
    return bd_track_overlap(&frame->truth[i], &frame->found[j]) >= least_overlap;
}

/* Pairs true objects with the found ones that they had last. */
static void keep_pairs(struct frame *frame, const struct bd_tracking *tracking)
{
    for (int i = 0; i < frame->truth_count; i++)
        for (int j = 0; j < frame->found_count; j++)
            if (!frame->truth[i].ignore && !frame->settled[j] && frame->pair_of[i] < 0 &&
                tracking->objects[frame->object_of[i]].last == frame->track_of[j] &&
                overlaps(frame, i, j))
                make_pair(frame, i, j);
}

/* Pairs rows and columns so that the sum of their gains, none below 0, is largest. column_of[row]
 * is -1 for a row without a pair, or with one of no gain. The gains become costs. */
static enum bd_status pair_best(double *gain, int rows, int columns, int *column_of)
{
    struct bd_assignment work;
    enum bd_status status = bd_assignment_create(&work, rows > columns ? rows : columns);
    if (status)
        return status;
    for (int64_t i = 0; i < (int64_t)rows * columns; i++)
        gain[i] = -gain[i];
    bd_assignment_solve(&work, column_of, gain, rows, columns, columns);
    for (int i = 0; i < rows; i++)
        if (column_of[i] >= 0 && gain[(int64_t)i * columns + column_of[i]] >= 0)
            column_of[i] = -1;
    bd_assignment_destroy(&work);
    return BD_OK;
}

/* Pairs the others. A pair gains more than all overlaps together. */
static enum bd_status pair_others(struct frame *frame)
{
    int *best = calloc((size_t)frame->truth_count + 1, sizeof *best);
    if (!best)
        return no_memory();
    for (int i = 0; i < frame->truth_count; i++)
        for (int j = 0; j < frame->found_count; j++)
            if (!frame->truth[i].ignore && !frame->settled[j] && frame->pair_of[i] < 0 &&
                overlaps(frame, i, j))
                frame->gain[(int64_t)i * frame->found_count + j] =
                    1.0 + frame->truth_count + bd_track_overlap(&frame->truth[i], &frame->found[j]);
    enum bd_status status = pair_best(frame->gain, frame->truth_count, frame->found_count, best);
    for (int i = 0; i < frame->truth_count && !status; i++)
        if (best[i] >= 0)
            make_pair(frame, i, best[i]);
    free(best);
    return status;
}

/* Counts that the true object i and the found one j overlap. */
static enum bd_status note_meeting(struct object *object, int found)
{
    for (int k = 0; k < object->meeting_count; k++)
        if (object->meetings[k].found == found) {
            object->meetings[k].frames++;
            return BD_OK;
        }
    struct meeting *more =
        realloc(object->meetings, ((size_t)object->meeting_count + 1) * sizeof *more);
    if (!more)
        return no_memory();
    object->meetings = more;
    more[object->meeting_count++] = (struct meeting){ .found = found, .frames = 1 };
    return BD_OK;
}

static void count_object(struct bd_track_scores *sums, struct object *object,
                         const struct frame *frame, int i)
{
    int pair = frame->pair_of[i];
    object->frames++;
    if (pair < 0) {
        object->gap = object->last >= 0;
        sums->fn++;
        return;
    }
    object->paired++;
    sums->tp++;
    sums->overlap += bd_track_overlap(&frame->truth[i], &frame->found[pair]);
    sums->switches += object->last >= 0 && object->last != frame->track_of[pair];
    sums->fragmentations += object->gap;
    object->gap = false;
    object->last = frame->track_of[pair];
}

/* Counts a found box; one without a pair on a true box that does not count is left out. */
static enum bd_status count_found(struct bd_tracking *tracking, const struct frame *frame, int j)
{
    for (int i = 0; i < frame->truth_count && !frame->settled[j]; i++)
        if (frame->truth[i].ignore && overlaps(frame, i, j))
            return BD_OK;
    enum bd_status status = BD_OK;
    tracking->found[frame->track_of[j]].frames++;
    tracking->sums.fp += !frame->settled[j];
    for (int i = 0; i < frame->truth_count && !status; i++)
        if (!frame->truth[i].ignore && overlaps(frame, i, j))
            status = note_meeting(&tracking->objects[frame->object_of[i]], frame->track_of[j]);
    return status;
}

enum bd_status bd_tracking_add(struct bd_tracking *tracking, const struct bd_track_box *truth,
                               int truth_count, const struct bd_track_box *found, int found_count)
{
    struct frame frame = {
        .truth = truth, .found = found, .truth_count = truth_count, .found_count = found_count
    };
    enum bd_status status = open_frame(&frame, tracking);
    if (!status) {
        keep_pairs(&frame, tracking);
        status = pair_others(&frame);
    }
    if (!status)
        status = bd_crossings_add(tracking->crossings, truth, truth_count);
    for (int i = 0; i < truth_count && !status; i++)
        if (!truth[i].ignore)
            count_object(&tracking->sums, &tracking->objects[frame.object_of[i]], &frame, i);
    for (int j = 0; j < found_count && !status; j++)
        status = count_found(tracking, &frame, j);
    tracking->sums.frames += !status;
    close_frame(&frame);
    return status;
}

/* The most frames in which true objects overlap the found ones that they are paired with. */
static enum bd_status count_idtp(int64_t *idtp, const struct bd_tracking *tracking)
{
    int rows = tracking->object_count, columns = tracking->found_count;
    double *gain = calloc((size_t)rows * (size_t)columns + 1, sizeof *gain);
    int *pair_of = calloc((size_t)rows + 1, sizeof *pair_of);
    enum bd_status status = gain && pair_of ? BD_OK : no_memory();
    for (int i = 0; i < rows && !status; i++)
        for (int k = 0; k < tracking->objects[i].meeting_count; k++)
            gain[(int64_t)i * columns + tracking->objects[i].meetings[k].found] =
                (double)tracking->objects[i].meetings[k].frames;
    if (!status)
        status = pair_best(gain, rows, columns, pair_of);
    *idtp = 0;
    for (int i = 0; i < rows && !status; i++)
        if (pair_of[i] >= 0)
            *idtp -= (int64_t)gain[(int64_t)i * columns + pair_of[i]];
    free(gain);
    free(pair_of);
    return status;
}

enum bd_status bd_tracking_scores(struct bd_track_scores *scores,
                                  const struct bd_tracking *tracking)
{
    *scores = tracking->sums;
    scores->crossings = bd_crossings_count(tracking->crossings);
    for (int i = 0; i < tracking->object_count; i++) {
        const struct object *object = &tracking->objects[i];
        scores->objects += object->frames > 0;
        scores->mostly_tracked += object->frames && 5 * object->paired >= 4 * object->frames;
        scores->mostly_lost += 5 * object->paired < object->frames;
    }
    for (int i = 0; i < tracking->found_count; i++)
        scores->found_objects += tracking->found[i].frames > 0;
    return count_idtp(&scores->idtp, tracking);
}

static double ratio(double part, int64_t whole)
{
    return whole ? part / (double)whole : 0;
}

double bd_track_precision(const struct bd_track_scores *scores)
{
    return ratio((double)scores->tp, scores->tp + scores->fp);
}

double bd_track_recall(const struct bd_track_scores *scores)
{
    return ratio((double)scores->tp, scores->tp + scores->fn);
}

double bd_track_f_measure(const struct bd_track_scores *scores)
{
    return ratio(2 * (double)scores->tp, 2 * scores->tp + scores->fp + scores->fn);
}

double bd_track_mota(const struct bd_track_scores *scores)
{
    int64_t truth = scores->tp + scores->fn;
    return ratio((double)(truth - scores->fn - scores->fp - scores->switches), truth);
}

double bd_track_motp(const struct bd_track_scores *scores)
{
    return ratio(scores->overlap, scores->tp);
}

double bd_track_idp(const struct bd_track_scores *scores)
{
    return ratio((double)scores->idtp, scores->tp + scores->fp);
}

double bd_track_idr(const struct bd_track_scores *scores)
{
    return ratio((double)scores->idtp, scores->tp + scores->fn);
}

double bd_track_idf1(const struct bd_track_scores *scores)
{
    return ratio(2 * (double)scores->idtp, 2 * scores->tp + scores->fp + scores->fn);
}
