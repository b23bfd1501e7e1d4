#include "separation/cpu/boundary_contrast.h"

#include <stdlib.h>
#include <string.h>

/* Of a component, at its root: the sums of its jumps, how many there are, and along how much of its
 * border they could not be taken. */
struct jumps {
    int64_t outside, inside;
    int32_t counted, apart;
};

struct bd_boundary_work {
    struct bd_components components;
    struct jumps *jumps; /* one a run */
};

enum bd_status bd_boundary_work_create(struct bd_boundary_work **out, int width, int height)
{
    *out = NULL;
    struct bd_boundary_work *work = calloc(1, sizeof *work);
    if (!work)
        return bd_fail(BD_ERROR_MEMORY, "no memory for masks of %d x %d", width, height);
    enum bd_status status = bd_components_create(&work->components, width, height);
    size_t most = ((size_t)width + 1) / 2 * (size_t)height;
    if (status == BD_OK && !(work->jumps = malloc(most * sizeof *work->jumps)))
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
    free((*work)->jumps);
    free(*work);
    *work = NULL;
}

static int64_t jump(const uint8_t *a, const uint8_t *b, int channels)
{
    int sum = 0;
    for (int c = 0; c < channels; c++)
        sum += abs(a[c] - b[c]);
    return sum;
}

/* Adds the jump from pixel (x, y) of the region across its side in direction (dx, dy), if the
 * border runs there. */
static void add_jump(const struct bd_components *size, const struct bd_boundary *seam, int x, int y,
                     int dx, int dy, struct jumps *jumps)
{
    int64_t width = size->width;
    int far_x = x + 2 * dx, far_y = y + 2 * dy, near_x = x - dx, near_y = y - dy;
    if (far_x < 0 || far_x >= size->width || far_y < 0 || far_y >= size->height)
        return;
    int64_t next = (y + dy) * width + x + dx, far = far_y * width + far_x;
    int64_t near = y * width + x;
    if (seam->region[next])
        return;
    if (seam->region[far] || (seam->apart && (seam->apart[next] || seam->apart[far]))) {
        jumps->apart++;
        return;
    }
    if (near_x >= 0 && near_x < size->width && near_y >= 0 && near_y < size->height &&
        seam->region[near_y * width + near_x])
        near = near_y * width + near_x;
    const uint8_t *there = seam->outside + far * seam->channels;
    jumps->outside += jump(seam->outside + near * seam->channels, there, seam->channels);
    jumps->inside += jump(seam->inside + near * seam->channels, there, seam->channels);
    jumps->counted++;
}

/* Adds the jumps of the pixels of a run in row y. */
static void add_jumps(const struct bd_components *size, const struct bd_boundary *seam, int y,
                      const struct bd_run *run, struct jumps *jumps)
{
    add_jump(size, seam, run->from, y, -1, 0, jumps);
    add_jump(size, seam, run->to - 1, y, 1, 0, jumps);
    for (int x = run->from; x < run->to; x++) {
        add_jump(size, seam, x, y, 0, -1, jumps);
        add_jump(size, seam, x, y, 0, 1, jumps);
    }
}

/* A border of which less than half can be judged proves nothing. */
static bool is_smoother(const struct jumps *jumps, int times)
{
    return jumps->counted >= jumps->apart && times * jumps->inside < jumps->outside;
}

void bd_boundary_find(struct bd_boundary_work *work, uint8_t *smoother,
                      const struct bd_boundary *seam)
{
    struct bd_components *components = &work->components;
    int width = components->width, height = components->height;
    bd_components_find(components, seam->region, 1, true);
    int32_t count = components->row_first[height];
    memset(work->jumps, 0, (size_t)count * sizeof *work->jumps);
    memset(smoother, 0, (size_t)width * (size_t)height);
    for (int y = 0; y < height; y++)
        for (int32_t i = components->row_first[y]; i < components->row_first[y + 1]; i++)
            add_jumps(components, seam, y, &components->runs[i],
                      &work->jumps[bd_components_root(components, i)]);
    for (int y = 0; y < height; y++)
        for (int32_t i = components->row_first[y]; i < components->row_first[y + 1]; i++) {
            int32_t root = bd_components_root(components, i);
            const struct bd_run *run = &components->runs[i];
            if (components->runs[root].area >= seam->least &&
                is_smoother(&work->jumps[root], seam->times))
                memset(smoother + (size_t)y * (size_t)width + run->from, 1,
                       (size_t)(run->to - run->from));
        }
}
