/* Boundary contrast. */
#include <string.h>

#include "separation/cpu/mask_work.h"
#include "separation/shared/boundary_contrast.h"

/* Adds the place of the boundary at the side of pixel (x, y) in direction (dx, dy), if the boundary
 * runs there. */
static void add_place(const struct bd_mask_work *work, const struct bd_boundary *boundary, int x,
                      int y, int dx, int dy, struct bd_boundary_contrast *contrast)
{
    int64_t width = work->width;
    int far_x = x + 2 * dx, far_y = y + 2 * dy, near_x = x - dx, near_y = y - dy;
    if (far_x < 0 || far_x >= work->width || far_y < 0 || far_y >= work->height)
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
    if (near_x >= 0 && near_x < work->width && near_y >= 0 && near_y < work->height &&
        boundary->region[near_y * width + near_x])
        near = near_y * width + near_x;
    const uint8_t *there = boundary->outside + far * channels;
    contrast->balance +=
        bd_boundary_difference(boundary->outside + near * channels, there, channels) -
        boundary->times *
            bd_boundary_difference(boundary->inside + near * channels, there, channels);
    contrast->judged++;
}

/* Adds the boundary along the pixels of a run. */
static void add_run(const struct bd_mask_work *work, const struct bd_boundary *boundary,
                    const struct bd_run *run, struct bd_boundary_contrast *contrast)
{
    add_place(work, boundary, run->from, run->y, -1, 0, contrast);
    add_place(work, boundary, run->to - 1, run->y, 1, 0, contrast);
    for (int x = run->from; x < run->to; x++) {
        add_place(work, boundary, x, run->y, 0, -1, contrast);
        add_place(work, boundary, x, run->y, 0, 1, contrast);
    }
}

void bd_boundary_find(struct bd_mask_work *work, uint8_t *lower, const struct bd_boundary *boundary)
{
    struct bd_components *found = &work->components;
    bd_components_find(found, boundary->region, work->width, 1, 0, true);
    memset(work->contrasts, 0, (size_t)found->count * sizeof *work->contrasts);
    memset(lower, 0, (size_t)work->width * (size_t)work->height);
    for (int32_t i = 0; i < found->count; i++)
        add_run(work, boundary, &found->runs[i], &work->contrasts[bd_components_root(found, i)]);
    for (int32_t i = 0; i < found->count; i++) {
        int32_t root = bd_components_root(found, i);
        const struct bd_boundary_contrast *contrast = &work->contrasts[root];
        if (found->runs[root].area >= boundary->least &&
            bd_boundary_is_lower(contrast->balance, contrast->judged))
            bd_mask_paint_run(work, lower, &found->runs[i], 1);
    }
}
