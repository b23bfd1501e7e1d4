#include "objects/history.h"

#include <stdlib.h>
#include <string.h>

#include "objects/state.h"

/* A person has a hundred runs; of a thousand a mask, all are kept. */
enum { most_masks = bd_past_frames + 1, most_runs = 1024 * most_masks };

/* Runs lie in the order of the masks, and begin anew where the next ones have no room. */
struct bd_history {
    struct bd_run *runs;                   /* most_runs */
    int32_t next;                          /* place of the next mask's runs */
    int64_t count, oldest;                 /* numbers of the next mask and of the oldest one kept */
    struct bd_kept_mask masks[most_masks]; /* a ring */
};

enum bd_status bd_history_create(struct bd_history **history)
{
    struct bd_history *self = calloc(1, sizeof *self);
    *history = self;
    if (self)
        self->runs = malloc(most_runs * sizeof *self->runs);
    if (self && self->runs)
        return BD_OK;
    bd_history_destroy(history);
    return bd_fail(BD_ERROR_MEMORY, "no memory for a tracker");
}

void bd_history_destroy(struct bd_history **history)
{
    if (!*history)
        return;
    free((*history)->runs);
    free(*history);
    *history = NULL;
}

void bd_history_forget(struct bd_history *history)
{
    history->oldest = history->count;
}

/* Forgets the masks up to the last one whose runs are among the `count` from `first` on. */
static void make_room(struct bd_history *history, int32_t first, int32_t count)
{
    if (history->count - history->oldest == most_masks)
        history->oldest++;
    for (int64_t i = history->oldest; i < history->count; i++) {
        const struct bd_kept_mask *mask = &history->masks[i % most_masks];
        if (mask->first < first + count && first < mask->first + mask->count)
            history->oldest = i + 1;
    }
}

void bd_history_keep(struct bd_history *history, const struct bd_tracker *tracker)
{
    const int32_t count = tracker->components.count;
    if (count > most_runs) {
        bd_history_forget(history);
        return;
    }
    if (count > most_runs - history->next)
        history->next = 0;
    make_room(history, history->next, count);
    struct bd_kept_mask *mask = &history->masks[history->count++ % most_masks];
    mask->time = tracker->time;
    mask->first = history->next;
    mask->count = count;
    for (int i = 0; i < tracker->piece_count; i++)
        mask->holder[i] = tracker->holder[i] < 0 ? 0 : tracker->tracks[tracker->holder[i]].serial;
    mask->box_count = 0;
    for (int t = 0; t < tracker->count; t++)
        if (tracker->tracks[t].object.group)
            mask->boxes[mask->box_count++] =
                (struct bd_kept_box){ tracker->tracks[t].serial, tracker->tracks[t].box };
    memcpy(&history->runs[mask->first], tracker->components.runs,
           (size_t)count * sizeof *history->runs);
    history->next += count;
}

const struct bd_kept_mask *bd_history_load(struct bd_history *history, int ago,
                                           struct bd_components *components)
{
    const int64_t number = history->count - 1 - ago;
    if (number < history->oldest)
        return NULL;
    const struct bd_kept_mask *mask = &history->masks[number % most_masks];
    components->runs = &history->runs[mask->first];
    components->count = mask->count;
    return mask;
}
