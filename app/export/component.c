#include "app/export/component.h"

/* The root of the largest component; -1 if there is none. */
static int32_t largest_root(const struct bd_components *components)
{
    int32_t best = -1, count = components->row_first[components->height];
    for (int32_t i = 0; i < count; i++) {
        const struct bd_run *run = &components->runs[i];
        if (run->parent == i && (best < 0 || run->area > components->runs[best].area))
            best = i;
    }
    return best;
}

enum bd_status bd_component_largest(struct bd_components *components, struct bd_box *box,
                                    const struct bd_frame *mask)
{
    *box = (struct bd_box){ 0 };
    if (components->width != mask->width || components->height != mask->height) {
        bd_components_destroy(components);
        enum bd_status status = bd_components_create(components, mask->width, mask->height);
        if (status)
            return status;
    }
    bd_components_find(components, mask->data, mask->stride, 255, 0, true);
    int32_t root = largest_root(components);
    if (root < 0)
        return BD_OK;
    int left = mask->width, right = 0, top = mask->height, bottom = 0;
    for (int y = 0; y < mask->height; y++)
        for (int32_t i = components->row_first[y]; i < components->row_first[y + 1]; i++) {
            const struct bd_run *run = &components->runs[i];
            if (bd_components_root(components, i) != root)
                continue;
            left = run->from < left ? run->from : left;
            right = run->to > right ? run->to : right;
            top = y < top ? y : top;
            bottom = y + 1;
        }
    *box = (struct bd_box){ left, top, right - left, bottom - top, components->runs[root].area };
    return BD_OK;
}
