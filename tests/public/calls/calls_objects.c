/* Calls of the component finder and of the tracker of objects. */
#include "tests/public/calls/calls_handles.h"

/* Options of the tracker, of which one may be anything. */
static enum bd_status create(struct bd_call *call)
{
    static const int sides[] = { call_width, 1, 0, -1, 32769, INT32_MAX, INT32_MIN };
    struct bd_tracker *made = NULL;
    struct bd_tracker_options options = { .width = call_width, .height = call_height };
    struct bd_tracker **out = bd_call_pointer(call, &made);
    const struct bd_tracker_options *given = bd_call_pointer(call, &options);
    int *const side = bd_call_choice(call, 2) ? &options.height : &options.width;
    const int i = bd_call_choice(call, sizeof sides / sizeof *sides);
    *side = sides[i];
    options.min_area = bd_call_choice(call, 4) - 1;
    if (options.min_area == -1) /* the good choice is the default */
        options.min_area = 0;
    options.confirm = bd_call_number(call, 0);
    options.patience = bd_call_number(call, 0);
    call->refused = call->refused || i > 1 || !(options.confirm >= 0 && options.patience >= 0);
    const enum bd_status status = bd_tracker_create(out, given);
    bd_tracker_destroy(&made);
    bd_tracker_destroy(NULL);
    return status;
}

/* A mask with some components. */
static const uint8_t *mask(struct bd_call *call)
{
    static uint8_t bytes[3 * call_width * call_height];
    const int step = 2 + bd_call_choice(call, 20);
    for (int i = 0; i < 3 * call_width * call_height; i++)
        bytes[i] = i % step ? 255 : 0;
    return bd_call_pointer(call, bytes);
}

/* Bytes from row to row. */
static int64_t stride(struct bd_call *call)
{
    const int64_t size = bd_call_size(call, call_width);
    call->refused = call->refused || size < call_width;
    return size > 3 * call_width ? INT64_MAX : size;
}

static enum bd_status add(struct bd_call *call)
{
    const struct bd_object *objects = NULL;
    int count = 0;
    struct bd_tracker *tracker = bd_call_pointer(call, call->handles->tracker);
    const uint8_t *bytes = mask(call);
    const int64_t step = stride(call);
    const double time = bd_call_number(call, 1);
    call->refused = call->refused || !(time - time == 0);
    const struct bd_object **list = bd_call_pointer(call, &objects);
    return bd_tracker_add(tracker, bytes, step, time, list, bd_call_pointer(call, &count));
}

static enum bd_status past(struct bd_call *call)
{
    const struct bd_past *boxes = NULL;
    int count = 0;
    struct bd_tracker *tracker = bd_call_pointer(call, call->handles->tracker);
    const struct bd_past **list = bd_call_pointer(call, &boxes);
    return bd_tracker_past(tracker, list, bd_call_pointer(call, &count));
}

static enum bd_status reset(struct bd_call *call)
{
    bd_tracker_reset(bd_call_optional(call, call->handles->tracker));
    return BD_OK;
}

/* The component finder: its values may be the same, its components empty. */
static enum bd_status components(struct bd_call *call)
{
    struct bd_components found = { 0 };
    static const int sides[] = { call_height, 1, 0, -1, 32769, INT32_MAX };
    struct bd_components *given = bd_call_pointer(call, &found);
    const int i = bd_call_choice(call, sizeof sides / sizeof *sides);
    call->refused = call->refused || i > 1;
    const enum bd_status status = bd_components_create(given, call_width, sides[i]);
    const uint8_t value = bd_call_choice(call, 3) ? 0 : 255,
                  other = bd_call_choice(call, 3) ? 3 : 0;
    const bool corners = bd_call_choice(call, 2);
    static uint8_t bytes[call_width * call_height];
    for (int j = 0; j < call_width * call_height; j++)
        bytes[j] = j % 3 ? 255 : 0;
    bd_components_find(bd_call_optional(call, &found), bd_call_optional(call, bytes), call_width,
                       value, other, corners);
    const int32_t root =
        bd_components_root(bd_call_optional(call, &found), (int32_t)bd_call_choice(call, 50) - 10);
    bd_components_destroy(bd_call_optional(call, &found));
    bd_components_destroy(&found);
    return root < 0 ? 1 : status;
}

bd_call_fn *const bd_objects_calls[] = { create, add, past, reset, components, NULL };
