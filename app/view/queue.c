#include "app/view/queue.h"

#include <string.h>

/* Eight frames bridge a delay of a third of a second at 25 frames/s. Of pictures larger than
 * about 6 megapixels there are fewer, at least two, so that results take at most 256 MiB. */
static const int64_t memory_budget = (int64_t)256 << 20;

void bd_view_queue_create(struct bd_view_queue *queue, int64_t bytes, bool live)
{
    int64_t slots = memory_budget / bytes;
    if (live || slots < 4)
        slots = 4;
    queue->capacity = slots > BD_VIEW_SLOTS_MAX ? BD_VIEW_QUEUE_MAX : (int)slots - 2;
    queue->live = live;
    for (int i = 0; i < queue->capacity + 2; i++)
        queue->unused[queue->unused_count++] = &queue->slots[i];
}

void bd_view_queue_destroy(struct bd_view_queue *queue)
{
    for (int i = 0; i < BD_VIEW_SLOTS_MAX; i++)
        bd_view_result_destroy(&queue->slots[i]);
    memset(queue, 0, sizeof *queue);
}

/* Removes the oldest waiting result. */
static struct bd_view_result *shift(struct bd_view_queue *queue)
{
    struct bd_view_result *result = queue->ready[0];
    queue->ready_count--;
    for (int i = 0; i < queue->ready_count; i++)
        queue->ready[i] = queue->ready[i + 1];
    return result;
}

struct bd_view_result *bd_view_queue_free_slot(struct bd_view_queue *queue)
{
    if (queue->ready_count == queue->capacity) {
        if (!queue->live)
            return NULL;
        queue->dropped++;
        return shift(queue);
    }
    return queue->unused_count > 0 ? queue->unused[--queue->unused_count] : NULL;
}

void bd_view_queue_push(struct bd_view_queue *queue, struct bd_view_result *result)
{
    queue->ready[queue->ready_count++] = result;
}

void bd_view_queue_release(struct bd_view_queue *queue, struct bd_view_result *result)
{
    queue->unused[queue->unused_count++] = result;
}

const struct bd_view_result *bd_view_queue_peek(const struct bd_view_queue *queue, int i)
{
    return i < queue->ready_count ? queue->ready[i] : NULL;
}

struct bd_view_result *bd_view_queue_take(struct bd_view_queue *queue, bool latest)
{
    while (latest && queue->ready_count > 1) {
        queue->dropped++;
        bd_view_queue_release(queue, shift(queue));
    }
    return queue->ready_count > 0 ? shift(queue) : NULL;
}

void bd_view_queue_clear(struct bd_view_queue *queue)
{
    while (queue->ready_count > 0)
        bd_view_queue_release(queue, shift(queue));
}
