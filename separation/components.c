#include "separation/shared/components.h"

#include <stdlib.h>
#include <string.h>

enum bd_status bd_components_create(struct bd_components *components, int width, int height)
{
    *components = (struct bd_components){ .width = width, .height = height };
    size_t most = ((size_t)width + 1) / 2 * (size_t)height;
    components->runs = malloc(most * sizeof *components->runs);
    components->row_first = malloc(((size_t)height + 1) * sizeof *components->row_first);
    if (components->runs && components->row_first)
        return BD_OK;
    bd_components_destroy(components);
    return bd_fail(BD_ERROR_MEMORY, "no memory for masks of %d x %d", width, height);
}

void bd_components_destroy(struct bd_components *components)
{
    free(components->runs);
    free(components->row_first);
    *components = (struct bd_components){ 0 };
}

int32_t bd_components_root(struct bd_components *components, int32_t i)
{
    struct bd_run *runs = components->runs;
    while (runs[i].parent != i) {
        runs[i].parent = runs[runs[i].parent].parent;
        i = runs[i].parent;
    }
    return i;
}

static void join(struct bd_components *components, int32_t a, int32_t b)
{
    struct bd_run *runs = components->runs;
    a = bd_components_root(components, a);
    b = bd_components_root(components, b);
    if (a == b)
        return;
    int32_t first = a < b ? a : b, second = a < b ? b : a;
    runs[second].parent = first;
    runs[first].area += runs[second].area;
    runs[first].border |= runs[second].border;
}

/* Joins the runs of row y with those of the row above that touch them. */
static void join_rows(struct bd_components *components, int y, bool corners)
{
    const struct bd_run *runs = components->runs;
    int32_t a = components->row_first[y - 1], a_end = components->row_first[y];
    int32_t b = a_end, b_end = components->row_first[y + 1];
    while (a < a_end && b < b_end) {
        if (runs[a].from < runs[b].to + corners && runs[b].from < runs[a].to + corners)
            join(components, a, b);
        if (runs[a].to < runs[b].to)
            a++;
        else
            b++;
    }
}

void bd_components_find(struct bd_components *components, const uint8_t *picture, int64_t stride,
                        uint8_t value, uint8_t other, bool corners)
{
    int width = components->width, height = components->height;
    int32_t count = 0;
    for (int y = 0; y < height; y++) {
        const uint8_t *row = picture + y * stride;
        components->row_first[y] = count;
        for (int x = 0; x < width;) {
            const uint8_t *start = memchr(row + x, value, (size_t)(width - x));
            if (!start)
                break;
            int from = (int)(start - row);
            const uint8_t *stop = memchr(start, other, (size_t)(width - from));
            int to = stop ? (int)(stop - row) : width;
            components->runs[count] = (struct bd_run){
                .from = from,
                .to = to,
                .parent = count,
                .area = to - from,
                .border = y == 0 || y == height - 1 || from == 0 || to == width,
            };
            count++;
            x = to;
        }
        components->row_first[y + 1] = count;
        if (y)
            join_rows(components, y, corners);
    }
}
