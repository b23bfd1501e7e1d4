#include "separation/cpu/boundary_contrast.h"

#include <stdlib.h>
#include <string.h>

#include "separation/shared/boundary_contrast.h"
#include "separation/shared/components.h"

/* Of a component, at its root: see bd_boundary_is_lower. */
struct contrast {
    int64_t balance;
    int32_t judged;
};

struct bd_boundary_work {
    struct bd_components components;
    struct contrast *contrasts; /* one a run */
};

enum bd_status bd_boundary_work_create(struct bd_boundary_work **out, int width, int height)
{
    *out = NULL;
    struct bd_boundary_work *work = calloc(1, sizeof *work);
    if (!work)
        return bd_fail(BD_ERROR_MEMORY, "no memory for masks of %d x %d", width, height);
    enum bd_status status = bd_components_create(&work->components, width, height);
    size_t most = ((size_t)width + 1) / 2 * (size_t)height;
    if (status == BD_OK && !(work->contrasts = malloc(most * sizeof *work->contrasts)))
        status = bd_fail(BD_ERROR_MEMORY, "no memory for masks of %d x %d", width, height);
    if (status != BD_OK)
        bd_boundary_work_destroy(&work);
    *out = work;
    return status;
}

void bd_boundary_work_destroy(struct bd_boundary_work **work)
{
    if (!*work)
        return;
    bd_components_destroy(&(*work)->components);
    free((*work)->contrasts);
    free(*work);
    *work = NULL;
}

/* Adds the place of the boundary at the side of pixel (x, y) in direction (dx, dy), if the boundary
 * runs there. */
static void add_place(const struct bd_components *size, const struct bd_boundary *boundary, int x,
                      int y, int dx, int dy, struct contrast *contrast)
{
    int64_t width = size->width;
    int far_x = x + 2 * dx, far_y = y + 2 * dy, near_x = x - dx, near_y = y - dy;
    if (far_x < 0 || far_x >= size->width || far_y < 0 || far_y >= size->height)
        return;
    int64_t next = (y + dy) * width + x + dx, far = far_y * width + far_x;
    int64_t near = y * width + x;
    int channels = boundary->channels;
    if (boundary->region[next])
        return;
    if (boundary->region[far] ||
        (boundary->apart && (boundary->apart[next] || boundary->apart[far]))) {
        contrast->judged--;
        return;
    }
    if (near_x >= 0 && near_x < size->width && near_y >= 0 && near_y < size->height &&
        boundary->region[near_y * width + near_x])
        near = near_y * width + near_x;
    const uint8_t *there = boundary->outside + far * channels;
    contrast->balance +=
        bd_boundary_difference(boundary->outside + near * channels, there, channels) -
        boundary->times *
            bd_boundary_difference(boundary->inside + near * channels, there, channels);
    contrast->judged++;
}

/* Adds the boundary along the pixels of a run in row y. */
static void add_run(const struct bd_components *size, const struct bd_boundary *boundary, int y,
                    const struct bd_run *run, struct contrast *contrast)
{
    add_place(size, boundary, run->from, y, -1, 0, contrast);
    add_place(size, boundary, run->to - 1, y, 1, 0, contrast);
    for (int x = run->from; x < run->to; x++) {
        add_place(size, boundary, x, y, 0, -1, contrast);
        add_place(size, boundary, x, y, 0, 1, contrast);
    }
}

void bd_boundary_find(struct bd_boundary_work *work, uint8_t *lower,
                      const struct bd_boundary *boundary)
{
    struct bd_components *components = &work->components;
    int width = components->width, height = components->height;
    bd_components_find(components, boundary->region, width, 1, 0, true);
    int32_t count = components->row_first[height];
    memset(work->contrasts, 0, (size_t)count * sizeof *work->contrasts);
    memset(lower, 0, (size_t)width * (size_t)height);
    for (int y = 0; y < height; y++)
        for (int32_t i = components->row_first[y]; i < components->row_first[y + 1]; i++)
            add_run(components, boundary, y, &components->runs[i],
                    &work->contrasts[bd_components_root(components, i)]);
    for (int y = 0; y < height; y++)
        for (int32_t i = components->row_first[y]; i < components->row_first[y + 1]; i++) {
            int32_t root = bd_components_root(components, i);
            const struct bd_run *run = &components->runs[i];
            const struct contrast *contrast = &work->contrasts[root];
            if (components->runs[root].area >= boundary->least &&
                bd_boundary_is_lower(contrast->balance, contrast->judged))
                memset(lower + (size_t)y * (size_t)width + run->from, 1,
                       (size_t)(run->to - run->from));
        }
}
