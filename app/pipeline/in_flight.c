#include "app/pipeline/in_flight.h"

#include <stdio.h>

#include "base/clock.h"

double bd_in_flight_time(const struct bd_in_flight *flight, const struct bd_frame *frame)
{
    struct bd_rational base = flight->info->time_base;
    return (double)frame->pts * (double)base.num / (double)base.den;
}

/* Gives the frame held for longest back to the queue. */
static void release(struct bd_in_flight *flight)
{
    bd_queue_release(flight->queue);
    flight->held--;
}

/* The next frame of the queue goes to the separator. */
static enum bd_status submit_next(struct bd_in_flight *flight)
{
    const struct bd_frame *frame, *picture;
    enum bd_status status = bd_queue_next(flight->queue, &frame, &picture);
    if (status)
        return status;
    flight->held++;
    double begin = bd_clock_seconds(), time = bd_in_flight_time(flight, frame);
    struct bd_shift *shift = &flight->shifts[flight->flying_count];
    bd_stabiliser_take(flight->steady, picture, time, &picture, shift);
    status = bd_separator_submit(flight->separator, picture->data, picture->stride, time);
    if (!status)
        flight->flying[flight->flying_count++] = frame;
    flight->seconds = bd_clock_seconds() - begin;
    return status;
}

/* The frame that the separator has had for longest is done. */
static enum bd_status receive_oldest(struct bd_in_flight *flight, const struct bd_frame **frame,
                                     struct bd_separation *separation)
{
    struct bd_shift shift = flight->shifts[0];
    *frame = flight->flying[0];
    flight->flying_count--;
    for (int i = 0; i < flight->flying_count; i++) {
        flight->flying[i] = flight->flying[i + 1];
        flight->shifts[i] = flight->shifts[i + 1];
    }
    enum bd_status status = bd_separator_receive(flight->separator, separation);
    if (!status)
        bd_stabiliser_give(flight->steady, shift, separation);
    return status;
}

/* Whether one more frame is to go to the separator. None goes ahead of a camera's new place, which
 * is learned when no frame is in flight. */
static bool wants_more(const struct bd_in_flight *flight, int depth)
{
    if (flight->ended)
        return false;
    return !flight->flying_count ||
           (flight->flying_count < depth && !bd_stabiliser_moved(flight->steady));
}

/* Before each frame: what is frozen learns no new place either. */
static enum bd_status learn_place(struct bd_in_flight *flight)
{
    bd_stabiliser_freeze(flight->steady, bd_separator_frozen(flight->separator));
    if (flight->flying_count || !bd_stabiliser_moved(flight->steady))
        return BD_OK;
    return bd_stabiliser_learn(flight->steady, flight->separator);
}

/* Frames of a camera are not kept waiting for the next, and while the separator is frozen none goes
 * ahead, since that may be meant for one frame alone. */
enum bd_status bd_in_flight_next(struct bd_in_flight *flight, const struct bd_frame **frame,
                                 struct bd_separation *separation)
{
    bool alone = flight->info->live || bd_separator_frozen(flight->separator);
    int depth = alone ? 1 : bd_separator_depth(flight->separator);
    if (depth > bd_queue_most_held - 1)
        depth = bd_queue_most_held - 1;
    flight->seconds = 0;
    if (flight->held > flight->flying_count)
        release(flight);
    while (wants_more(flight, depth)) {
        flight->ended = learn_place(flight);
        if (!flight->ended)
            flight->ended = submit_next(flight);
        if (flight->ended)
            snprintf(flight->detail, sizeof flight->detail, "%s", bd_error_detail());
    }
    enum bd_status ended = flight->ended;
    if (!flight->flying_count)
        return ended == BD_END ? BD_END : bd_fail(ended, "%s", flight->detail);
    return receive_oldest(flight, frame, separation);
}

enum bd_status bd_in_flight_seek(struct bd_in_flight *flight, double seconds)
{
    enum bd_status status = BD_OK;
    /* A frame of which submit failed may be in flight too. */
    while (!status && bd_separator_in_flight(flight->separator)) {
        struct bd_separation separation;
        status = bd_separator_receive(flight->separator, &separation);
    }
    flight->flying_count = 0;
    while (flight->held)
        release(flight);
    if (!status)
        status = bd_queue_seek(flight->queue, seconds);
    bd_stabiliser_seek(flight->steady);
    if (!status)
        flight->ended = BD_OK;
    return status;
}
