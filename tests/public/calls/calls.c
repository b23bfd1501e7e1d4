/* The bytes, and the choices that they make. */
#include "tests/public/calls/calls.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "tests/public/calls/calls_handles.h"

static bd_call_fn *const *const tables[] = {
    bd_linalg_calls,
    bd_update_calls,
#ifdef BD_HAVE_SEPARATION
    bd_separator_calls,
    bd_objects_calls,
#endif
};
enum { table_count = sizeof tables / sizeof *tables };

/* The number of functions; *found, where it is not NULL: function number `wanted`. */
static int count_to(int wanted, bd_call_fn **found)
{
    int count = 0;
    for (int i = 0; i < table_count; i++)
        for (bd_call_fn *const *fn = tables[i]; *fn; fn++)
            if (count++ == wanted && found)
                *found = *fn;
    return count;
}

int bd_calls_count(void)
{
    return count_to(-1, NULL);
}

int bd_call_choice(struct bd_call *call, int count)
{
    return call->taken < bd_call_bytes - 1 ? call->bytes[call->taken++] % count : 0;
}

void *bd_call_pointer(struct bd_call *call, void *pointer)
{
    pointer = bd_call_optional(call, pointer);
    call->refused = call->refused || !pointer;
    return pointer;
}

void *bd_call_optional(struct bd_call *call, void *pointer)
{
    return bd_call_choice(call, 4) == 1 ? NULL : pointer;
}

int64_t bd_call_size(struct bd_call *call, int64_t good)
{
    const int64_t sizes[] = { good, good,      good - 1,  good + 1,         0,        1,
                              -1,   INT64_MIN, INT64_MAX, (int64_t)1 << 50, 3 * good, -64 };
    const int64_t size = sizes[bd_call_choice(call, sizeof sizes / sizeof *sizes)];
    call->refused = call->refused || size < 0;
    call->huge = call->huge || size >= (int64_t)1 << 50;
    return size;
}

int bd_call_kind(struct bd_call *call, int good)
{
    const int kinds[] = { good, good, good, -1, 99, INT_MIN };
    const int choice = bd_call_choice(call, sizeof kinds / sizeof *kinds);
    call->refused = call->refused || choice > 2;
    return kinds[choice];
}

double bd_call_number(struct bd_call *call, double good)
{
    const double numbers[] = {
        good, good, 0, -1, 1e-300, 1e300, 0.5, INFINITY, -INFINITY, NAN, 300
    };
    return numbers[bd_call_choice(call, sizeof numbers / sizeof *numbers)];
}

/* What is wrong with what a call returned, or NULL. */
static const char *judge(const struct bd_call *call, enum bd_status status)
{
    if (status > BD_OK || status < BD_ERROR_CONVERGENCE)
        return "a status that is none";
    if (status != BD_OK && (!*bd_error_detail() || strchr(bd_error_detail(), '\n')))
        return "a failure without a detail of one line";
    if (call->refused && status != BD_ERROR_ARGUMENT && !(call->huge && status == BD_ERROR_MEMORY))
        return "an argument was taken that the rule forbids";
    if (call->huge && status == BD_OK)
        return "a huge size was taken";
    return NULL;
}

const char *bd_calls_run(const char *backend, const uint8_t *data, size_t size,
                         struct bd_calls_end *end)
{
    struct bd_call_handles handles = { 0 };
    struct bd_backend *opened = NULL;
    const char *wrong = NULL;
    const int functions = bd_calls_count();
    if (functions == 0)
        return "there are no functions";
    if (bd_backend_open(&opened, backend, 1) != BD_OK)
        return "the backend cannot be opened";
    if (bd_call_handles_make(opened, &handles) != BD_OK)
        wrong = "the handles cannot be made";
    for (size_t i = 0; i + bd_call_bytes <= size && !wrong; i += bd_call_bytes) {
        struct bd_call call = { .bytes = data + i + 1, .backend = opened, .handles = &handles };
        bd_call_fn *fn = NULL;
        count_to(data[i] % functions, &fn);
        bd_fail(BD_OK, "%s", "");
        const enum bd_status status = fn(&call);
        wrong = judge(&call, status);
        if (end)
            *end = (struct bd_calls_end){ .calls = i / bd_call_bytes + 1, .status = status };
    }
    bd_call_handles_destroy(opened, &handles);
    bd_backend_close(&opened);
    return wrong;
}
