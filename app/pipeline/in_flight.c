#include "app/pipeline/in_flight.h"

#include <stdio.h>

#include "base/clock.h"

enum { most_submitted = bd_queue_most_held - bd_in_flight_most_returned - bd_registration_frames };
_Static_assert(most_submitted >= 1, "a frame can be submitted");

/* Returns the oldest frame that is held to the queue. */
static void release(struct bd_in_flight *flight)
{
    bd_queue_release(flight->queue);
    flight->held--;
}

/* A frame whose submission failed is held, too, until a seek. */
void bd_in_flight_release(struct bd_in_flight *flight, int keep)
{
    for (; flight->returned > keep; flight->returned--)
        release(flight);
}

static enum bd_status take_next(struct bd_in_flight *flight, struct bd_registered *next)
{
    if (flight->registration)
        return bd_registration_next(flight->registration, next);
    *next = (struct bd_registered){ 0 };
    return bd_queue_next(flight->queue, &next->frame, &next->picture);
}

/* Submits the next frame of the queue. */
static enum bd_status submit_next(struct bd_in_flight *flight)
{
    struct bd_registered next;
    enum bd_status status = take_next(flight, &next);
    if (status)
        return status;
    flight->held++;
    double begin = bd_clock_seconds(), time = bd_frame_time(next.frame, flight->info->time_base);
    if (!flight->registration)
        bd_stabiliser_register(flight->stabiliser, next.picture, time, &next.picture, &next.motion);
    flight->motions[flight->submitted_count] = next.motion;
    flight->moved = next.moved;
    status = bd_separator_submit(flight->separator, next.picture->data, next.picture->stride, time);
    if (flight->registration)
        bd_registration_taken(flight->registration);
    if (!status)
        flight->submitted[flight->submitted_count++] = next.frame;
    flight->seconds = bd_clock_seconds() - begin;
    return status;
}

/* Receives the result of the oldest submitted frame. */
static enum bd_status receive_oldest(struct bd_in_flight *flight, const struct bd_frame **frame,
                                     struct bd_separation *separation, struct bd_similarity *motion)
{
    *motion = flight->motions[0];
    *frame = flight->submitted[0];
    flight->submitted_count--;
    for (int i = 0; i < flight->submitted_count; i++) {
        flight->submitted[i] = flight->submitted[i + 1];
        flight->motions[i] = flight->motions[i + 1];
    }
    flight->returned++;
    return bd_separator_receive(flight->separator, separation);
}

static bool has_moved(const struct bd_in_flight *flight)
{
    return flight->registration ? flight->moved : bd_stabiliser_moved(flight->stabiliser);
}

/* Whether one more frame must be submitted. After a relocation none is, until no frame is in flight
 * and the new scene has been learned. */
static bool wants_more(const struct bd_in_flight *flight, int depth)
{
    if (flight->ended)
        return false;
    return !flight->submitted_count || (flight->submitted_count < depth && !has_moved(flight));
}

/* Before each frame: learns the new scene after a relocation, unless the separator is frozen. */
static enum bd_status learn_relocation(struct bd_in_flight *flight)
{
    if (!flight->registration)
        bd_stabiliser_freeze(flight->stabiliser, bd_separator_frozen(flight->separator));
    if (flight->submitted_count || !has_moved(flight))
        return BD_OK;
    enum bd_status status = bd_stabiliser_learn(flight->stabiliser, flight->separator);
    flight->moved = false;
    if (flight->registration)
        bd_registration_go_on(flight->registration);
    return status;
}

/* Only one frame is in flight for a live camera, so that no frame waits for the next one. The same
 * holds while the separator is frozen, because a freeze may be meant for a single frame. */
enum bd_status bd_in_flight_next(struct bd_in_flight *flight, const struct bd_frame **frame,
                                 struct bd_separation *separation, struct bd_similarity *motion)
{
    bool alone = flight->info->live || bd_separator_frozen(flight->separator);
    int depth = alone ? 1 : bd_separator_depth(flight->separator);
    if (depth > most_submitted)
        depth = most_submitted;
    flight->seconds = 0;
    while (wants_more(flight, depth)) {
        flight->ended = learn_relocation(flight);
        if (!flight->ended)
            flight->ended = submit_next(flight);
        if (flight->ended)
            snprintf(flight->detail, sizeof flight->detail, "%s", bd_error_detail());
    }
    enum bd_status ended = flight->ended;
    if (!flight->submitted_count)
        return ended == BD_END ? BD_END : bd_fail(ended, "%s", flight->detail);
    return receive_oldest(flight, frame, separation, motion);
}

enum bd_status bd_in_flight_seek(struct bd_in_flight *flight, double seconds)
{
    enum bd_status status = BD_OK;
    flight->held += bd_registration_close(&flight->registration);
    /* A frame whose submission failed may be in flight too. */
    while (!status && bd_separator_in_flight(flight->separator)) {
        struct bd_separation separation;
        status = bd_separator_receive(flight->separator, &separation);
    }
    flight->submitted_count = flight->returned = 0;
    flight->moved = false;
    while (flight->held)
        release(flight);
    if (!status)
        status = bd_queue_seek(flight->queue, seconds);
    bd_stabiliser_seek(flight->stabiliser);
    if (!status)
        flight->ended = BD_OK;
    return status;
}

enum bd_status bd_in_flight_register_ahead(struct bd_in_flight *flight)
{
    if (!flight->stabiliser || flight->info->live || flight->registration ||
        bd_stabiliser_moved(flight->stabiliser)) /* the new scene is learned first */
        return BD_OK;
    return bd_registration_open(&flight->registration, flight->queue, flight->stabiliser,
                                flight->info->time_base);
}

void bd_in_flight_close(struct bd_in_flight *flight)
{
    bd_registration_close(&flight->registration);
}
