#include <backdrop/components.h>

#include <stdlib.h>
#include <string.h>

enum { most_side = 32768 };

enum bd_status bd_components_create(struct bd_components *components, int width, int height)
{
    if (!components)
        return bd_fail(BD_ERROR_ARGUMENT, "components is NULL");
    *components = (struct bd_components){ 0 };
    if (width < 1 || height < 1 || width > most_side || height > most_side)
        return bd_fail(BD_ERROR_ARGUMENT, "masks of %d x %d: must be 1 x 1 to %d x %d", width,
                       height, most_side, most_side);
    *components = (struct bd_components){ .width = width, .height = height };
    components->runs = malloc(bd_components_most(width, height) * sizeof *components->runs);
    if (components->runs)
        return BD_OK;
    bd_components_destroy(components);
    return bd_fail(BD_ERROR_MEMORY, "no memory for masks of %d x %d", width, height);
}

void bd_components_destroy(struct bd_components *components)
{
    if (!components)
        return;
    free(components->runs);
    *components = (struct bd_components){ 0 };
}

int32_t bd_components_root(struct bd_components *components, int32_t i)
{
    if (!components || i < 0 || i >= components->count)
        return 0;
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
    struct bd_run *root = &runs[a < b ? a : b], *branch = &runs[a < b ? b : a];
    branch->parent = root->parent;
    root->area += branch->area;
    root->left = branch->left < root->left ? branch->left : root->left;
    root->right = branch->right > root->right ? branch->right : root->right;
    root->bottom = branch->bottom > root->bottom ? branch->bottom : root->bottom;
}

/* Joins the runs from b on, of the last row, with those from a on, of the row above. */
static void join_rows(struct bd_components *components, int32_t a, int32_t b, bool corners)
{
    const struct bd_run *runs = components->runs;
    int32_t a_end = b, b_end = components->count;
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
    if (!components)
        return;
    components->count = 0;
    if (!components->runs || !picture || value == other)
        return;
    int width = components->width;
    int32_t above = 0;
    for (int y = 0; y < components->height; y++) {
        const uint8_t *row = picture + y * stride;
        int32_t first = components->count;
        for (int x = 0; x < width;) {
            const uint8_t *start = memchr(row + x, value, (size_t)(width - x));
            if (!start)
                break;
            int from = (int)(start - row);
            const uint8_t *stop = memchr(start, other, (size_t)(width - from));
            int to = stop ? (int)(stop - row) : width;
            components->runs[components->count] = (struct bd_run){
                .y = y,
                .from = from,
                .to = to,
                .parent = components->count,
                .area = to - from,
                .left = from,
                .right = to - 1,
                .bottom = y,
            };
            components->count++;
            x = to;
        }
        join_rows(components, above, first, corners);
        above = first;
    }
}
