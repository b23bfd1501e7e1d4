#include "app/export/component.h"

/* The root of the largest component; -1 if there is none. */
static int32_t largest_root(const struct bd_components *components)
{
    int32_t best = -1;
    for (int32_t i = 0; i < components->count; i++) {
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
    const struct bd_run *run = &components->runs[root];
    *box = (struct bd_box){ run->left, run->y, run->right - run->left + 1, run->bottom - run->y + 1,
                            run->area };
    return BD_OK;
}
