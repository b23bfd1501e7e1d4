#include "app/export/component.h"

#include <stdlib.h>

/* A run: adjacent set pixels of a row. Runs form a forest by `parent` (union-find); a root holds
 * the sums of its tree. */
struct run {
    int y, from, to; /* from <= x < to */
    int parent;
    int left, right, top, bottom; /* bounding box of the tree */
    int64_t area;
};

struct bd_component_finder {
    struct run *runs;
    int count, capacity;
};

enum bd_status bd_component_finder_create(struct bd_component_finder **finder)
{
    *finder = calloc(1, sizeof **finder);
    return *finder ? BD_OK : bd_fail(BD_ERROR_MEMORY, "out of memory for finding components");
}

void bd_component_finder_destroy(struct bd_component_finder **finder)
{
    if (*finder)
        free((*finder)->runs);
    free(*finder);
    *finder = NULL;
}

static enum bd_status add_run(struct bd_component_finder *finder, int y, int from, int to)
{
    if (finder->count == finder->capacity) {
        int capacity = finder->capacity ? 2 * finder->capacity : 1024;
        struct run *runs = realloc(finder->runs, (size_t)capacity * sizeof *runs);
        if (!runs)
            return bd_fail(BD_ERROR_MEMORY, "out of memory for finding components");
        finder->runs = runs;
        finder->capacity = capacity;
    }
    int index = finder->count++;
    finder->runs[index] = (struct run){ y, from, to, index, from, to, y, y + 1, to - from };
    return BD_OK;
}

static int find_root(struct run *runs, int index)
{
    while (runs[index].parent != index) {
        runs[index].parent = runs[runs[index].parent].parent;
        index = runs[index].parent;
    }
    return index;
}

static void join(struct run *runs, int a, int b)
{
    a = find_root(runs, a);
    b = find_root(runs, b);
    if (a == b)
        return;
    struct run *root = &runs[a], *other = &runs[b];
    other->parent = a;
    root->area += other->area;
    root->left = other->left < root->left ? other->left : root->left;
    root->right = other->right > root->right ? other->right : root->right;
    root->top = other->top < root->top ? other->top : root->top;
    root->bottom = other->bottom > root->bottom ? other->bottom : root->bottom;
}

/* Joins the runs first..last-1 of a row with the runs above..first-1 of the previous row. Both are
 * in order, so that one sweep finds all pairs that touch, also at corners. */
static void join_rows(struct run *runs, int above, int first, int last)
{
    int i = above, j = first;
    while (i < first && j < last) {
        if (runs[i].from <= runs[j].to && runs[j].from <= runs[i].to)
            join(runs, i, j);
        if (runs[i].to < runs[j].to)
            i++;
        else
            j++;
    }
}

enum bd_status bd_component_largest(struct bd_component_finder *finder, struct bd_box *box,
                                    const struct bd_frame *mask)
{
    int above = 0;
    finder->count = 0;
    *box = (struct bd_box){ 0 };
    for (int y = 0; y < mask->height; y++) {
        const uint8_t *row = mask->data + (int64_t)y * mask->stride;
        int first = finder->count;
        for (int x = 0; x < mask->width; x++) {
            if (!row[x])
                continue;
            int from = x;
            while (x < mask->width && row[x])
                x++;
            enum bd_status status = add_run(finder, y, from, x);
            if (status)
                return status;
        }
        join_rows(finder->runs, above, first, finder->count);
        above = first;
    }
    for (int i = 0; i < finder->count; i++) {
        const struct run *run = &finder->runs[i];
        if (run->parent == i && run->area > box->area)
            *box = (struct bd_box){ run->left, run->top, run->right - run->left,
                                    run->bottom - run->top, run->area };
    }
    return BD_OK;
}
