/* While components come, the pieces are a heap with the smallest at its top, so that ten thousand
 * components of noise cost little more than ten do. In the end the heap is sorted. */
#include "objects/pieces.h"

#include <stdbool.h>

static bool smaller(const struct bd_piece *a, const struct bd_piece *b)
{
    return a->area != b->area ? a->area < b->area : a->first > b->first;
}

static void swap(struct bd_piece *a, struct bd_piece *b)
{
    const struct bd_piece kept = *a;
    *a = *b;
    *b = kept;
}

static void sift_up(struct bd_piece *heap, int i)
{
    for (; i > 0 && smaller(&heap[i], &heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&heap[i], &heap[(i - 1) / 2]);
}

static void sift_down(struct bd_piece *heap, int count)
{
    for (int i = 0, child = 1; child < count; i = child, child = 2 * i + 1) {
        if (child + 1 < count && smaller(&heap[child + 1], &heap[child]))
            child++;
        if (!smaller(&heap[child], &heap[i]))
            return;
        swap(&heap[child], &heap[i]);
    }
}

int bd_pieces_take(struct bd_piece *pieces, const struct bd_components *components, int64_t least)
{
    int count = 0;
    for (int32_t i = 0; i < components->count; i++) {
        const struct bd_run *run = &components->runs[i];
        if (run->parent != i || run->area < least)
            continue;
        const struct bd_piece piece = {
            .box = { run->left, run->y, run->right + 1, run->bottom + 1 },
            .area = run->area,
            .first = i,
        };
        if (count < bd_most_pieces) {
            pieces[count] = piece;
            sift_up(pieces, count++);
        } else if (smaller(&pieces[0], &piece)) {
            pieces[0] = piece;
            sift_down(pieces, count);
        }
    }
    for (int left = count - 1; left > 0; left--) {
        swap(&pieces[0], &pieces[left]);
        sift_down(pieces, left);
    }
    return count;
}
