/* Calls of the live separator. */
#include "tests/public/calls/calls_handles.h"

/* Its options, of which one may be anything. */
static enum bd_status create(struct bd_call *call)
{
    struct bd_separator *made = NULL;
    struct bd_separator_options options = bd_call_options();
    struct bd_separator **out = bd_call_pointer(call, &made);
    struct bd_backend *backend = bd_call_pointer(call, call->backend);
    const struct bd_separator_options *given = bd_call_pointer(call, &options);
    int *whole[] = { &options.width,    &options.height,  &options.channels, &options.window,
                     &options.refine,   &options.rank,    &options.median,   &options.min_area,
                     &options.max_hole, &options.shadows, &options.outputs };
    double *real[] = { &options.frame_rate, &options.memory, &options.lambda, &options.threshold,
                       &options.noise_gain };
    const int i = bd_call_choice(call, 12), j = bd_call_choice(call, 6);
    if (i > 0) /* negative ones: some are BD_NONE */
        *whole[i - 1] = bd_call_choice(call, 10) - 2;
    else if (bd_call_choice(call, 2)) {
        options.width = INT32_MAX;
        call->refused = true;
    }
    if (j > 0)
        *real[j - 1] = bd_call_number(call, 1);
    const struct bd_separator_options shown = bd_separator_defaults(given);
    const enum bd_status status = bd_separator_create(out, backend, given);
    bd_separator_destroy(&made);
    return shown.window ? status : BD_ERROR_ARGUMENT;
}

/* Functions that return no status. */
static enum bd_status questions(struct bd_call *call)
{
    struct bd_separator *s = bd_call_optional(call, call->handles->separator);
    bd_separator_destroy(NULL);
    bd_separator_freeze(s, bd_call_choice(call, 2));
    const bool frozen = bd_separator_frozen(s);
    const bool answered = bd_separator_depth(s) >= bd_separator_in_flight(s) &&
                          !bd_separator_options(s) == !s && (s || !frozen);
    bd_separator_freeze(s, false);
    return answered ? BD_OK : 1;
}

static const uint8_t *picture(struct bd_call *call)
{
    static uint8_t bytes[3 * call_width * call_height];
    for (int i = 0; i < call_width * call_height; i++)
        bytes[i] = (uint8_t)(i * 7 + bd_separator_in_flight(call->handles->separator));
    return bd_call_pointer(call, bytes);
}

/* Bytes from row to row. */
static int64_t stride(struct bd_call *call)
{
    const int64_t size = bd_call_size(call, call_width);
    call->refused = call->refused || size < call_width;
    return size > call_width * 3 ? INT64_MAX : size;
}

static void receive_all(struct bd_separator *s)
{
    struct bd_separation out;
    while (bd_separator_in_flight(s))
        if (bd_separator_receive(s, &out) != BD_OK)
            return;
}

static enum bd_status look_ahead(struct bd_call *call)
{
    struct bd_separator *s = bd_call_pointer(call, call->handles->separator);
    if (!bd_call_choice(call, 2)) {
        receive_all(s);
        bd_separator_reset(s);
    }
    const uint8_t *bytes = picture(call);
    const int64_t step = stride(call);
    return bd_separator_look_ahead(s, bytes, step);
}

static enum bd_status look_after(struct bd_call *call)
{
    struct bd_separator *s = bd_call_pointer(call, call->handles->separator);
    const int number = bd_call_choice(call, 8) - 1;
    const uint8_t *bytes = picture(call);
    const int64_t step = stride(call);
    return bd_separator_look_after(s, number, bytes, step);
}

static enum bd_status initialise(struct bd_call *call)
{
    struct bd_separator *s = bd_call_pointer(call, call->handles->separator);
    if (!bd_call_choice(call, 2)) {
        static const uint8_t black[call_width * call_height];
        const int frames = 1 + bd_call_choice(call, 6);
        receive_all(s);
        bd_separator_reset(s);
        for (int i = 0; i < frames; i++)
            bd_separator_look_ahead(s, black, call_width);
    }
    return bd_call_choice(call, 2) ? bd_separator_initialise_start(s, bd_call_number(call, 1))
                                   : bd_separator_initialise(s);
}

static enum bd_status submit(struct bd_call *call)
{
    struct bd_separator *s = bd_call_pointer(call, call->handles->separator);
    if (!bd_call_choice(call, 2))
        receive_all(s);
    const uint8_t *bytes = picture(call);
    const int64_t step = stride(call);
    return bd_separator_submit(s, bytes, step, bd_call_number(call, 1));
}

/* A frame to the separator and one to another. */
static enum bd_status submit_all(struct bd_call *call)
{
    static const int counts[] = { 2, 1, 2, 0, -1 };
    static const uint8_t black[call_width * call_height];
    const struct bd_separator_options options = bd_call_options();
    struct bd_separator *other = NULL;
    enum bd_status status = bd_separator_create(&other, call->backend, &options);
    if (status != BD_OK)
        return status;
    if (!bd_call_choice(call, 2))
        receive_all(call->handles->separator);
    struct bd_separator *both[2] = { bd_call_pointer(call, call->handles->separator), other };
    const uint8_t *pictures[2] = { picture(call), black };
    const int64_t strides[2] = { stride(call), call_width };
    const double times[2] = { bd_call_number(call, 1), 0 };
    const int count = counts[bd_call_choice(call, 5)];
    call->refused = call->refused || count < 1;
    status = bd_separator_submit_all(
        bd_call_pointer(call, both), count, bd_call_pointer(call, pictures),
        bd_call_pointer(call, (void *)strides), bd_call_pointer(call, (void *)times));
    bd_separator_destroy(&other);
    return status;
}

static enum bd_status receive(struct bd_call *call)
{
    struct bd_separation out;
    struct bd_separator *s = bd_call_pointer(call, call->handles->separator);
    static const uint8_t black[call_width * call_height];
    if (!bd_call_choice(call, 2))
        bd_separator_submit(s, black, call_width, 1);
    return bd_separator_receive(s, bd_call_pointer(call, &out));
}

static enum bd_status push(struct bd_call *call)
{
    struct bd_separation out;
    struct bd_separator *s = bd_call_pointer(call, call->handles->separator);
    if (!bd_call_choice(call, 2))
        receive_all(s);
    const uint8_t *bytes = picture(call);
    const int64_t step = stride(call);
    const double time = bd_call_number(call, 1);
    return bd_separator_push(s, bytes, step, time, bd_call_pointer(call, &out));
}

static enum bd_status push_known(struct bd_call *call)
{
    struct bd_separation out;
    struct bd_separator *s = bd_call_pointer(call, call->handles->separator);
    if (!bd_call_choice(call, 2))
        receive_all(s);
    const uint8_t *bytes = picture(call), *background = picture(call);
    const int64_t step = stride(call);
    const double time = bd_call_number(call, 1);
    return bd_separator_push_known(s, bytes, step, background, time, bd_call_pointer(call, &out));
}

static enum bd_status settings(struct bd_call *call)
{
    struct bd_separator *s = bd_call_pointer(call, call->handles->separator);
    switch (bd_call_choice(call, 3)) {
    case 0:
        return bd_separator_set_lambda(s, bd_call_number(call, 10));
    case 1:
        return bd_separator_set_threshold(s, bd_call_number(call, 20));
    default:
        return bd_separator_reset(s);
    }
}

bd_call_fn *const bd_separator_calls[] = { create,     questions, look_ahead, look_after,
                                           initialise, submit,    receive,    push,
                                           push_known, settings,  submit_all, NULL };
