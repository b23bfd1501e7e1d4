#include "app/view/result.h"

#include <stdlib.h>
#include <string.h>

static enum bd_status copy_objects(struct bd_view_result *out, const struct bd_result *result)
{
    const size_t bytes = (size_t)result->object_count * sizeof *out->objects;
    out->object_count = 0;
    if (result->object_count > out->object_room) {
        struct bd_object *larger = realloc(out->objects, bytes);
        if (!larger)
            return bd_fail(BD_ERROR_MEMORY, "out of memory for objects");
        out->objects = larger;
        out->object_room = result->object_count;
    }
    if (result->object_count > 0)
        memcpy(out->objects, result->objects, bytes);
    out->object_count = result->object_count;
    return BD_OK;
}

enum bd_status bd_view_result_copy(struct bd_view_result *out, const struct bd_result *result)
{
    enum bd_status status = bd_frame_copy(&out->input, result->input);
    if (status == BD_OK)
        status = bd_frame_copy(&out->mask, result->mask);
    if (status == BD_OK)
        status = bd_frame_copy(&out->background, result->background);
    if (status == BD_OK)
        status = copy_objects(out, result);
    return status;
}

void bd_view_result_destroy(struct bd_view_result *result)
{
    bd_frame_destroy(&result->input);
    bd_frame_destroy(&result->mask);
    bd_frame_destroy(&result->background);
    free(result->objects);
    *result = (struct bd_view_result){ 0 };
}
