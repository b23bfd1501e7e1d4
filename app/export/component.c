#include "app/export/component.h"

#include <stdlib.h>

#include "separation/shared/components.h"

struct bd_component_finder {
    struct bd_components components; /* of the size of the last mask */
};

enum bd_status bd_component_finder_create(struct bd_component_finder **finder)
{
    *finder = calloc(1, sizeof **finder);
    return *finder ? BD_OK : bd_fail(BD_ERROR_MEMORY, "out of memory for finding components");
}

void bd_component_finder_destroy(struct bd_component_finder **finder)
{
    if (*finder)
        bd_components_destroy(&(*finder)->components);
    free(*finder);
    *finder = NULL;
}

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

enum bd_status bd_component_largest(struct bd_component_finder *finder, struct bd_box *box,
                                    const struct bd_frame *mask)
{
    struct bd_components *components = &finder->components;
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
