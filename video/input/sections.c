#include "video/input/sections.h"

#include <stdlib.h>

#include "base/thread.h"
#include "video/input/section_lane.h"
#include "video/input/section_start.h"

enum bd_status bd_sections_open(struct bd_sections **sections,
                                const struct bd_sections_options *options)
{
    struct bd_sections *s = *sections = calloc(1, sizeof *s);
    if (!s)
        return bd_fail(BD_ERROR_MEMORY, "no memory to decode in sections");
    s->options = *options;
    s->room = options->most_frames + bd_lane_frames;
    s->splits = true;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->work, NULL);
    pthread_cond_init(&s->ready, NULL);
    s->lanes = calloc((size_t)options->count, sizeof *s->lanes);
    bool enough = s->lanes;
    for (int i = 0; enough && i < options->count; i++) {
        struct bd_lane *lane = &s->lanes[i];
        lane->sections = s;
        lane->decoder = options->decoders[i];
        lane->emptied = true;
        lane->frames = calloc((size_t)s->room, sizeof *lane->frames);
        lane->taken = i == 0;
        lane->mark = bd_lane_first_mark;
        enough =
            lane->frames && bd_thread_start(&lane->thread, "decode section", bd_lane_run, lane);
        lane->started = enough;
    }
    if (enough)
        return BD_OK;
    bd_sections_close(sections);
    return bd_fail(BD_ERROR_MEMORY, "no memory to decode in %d sections", options->count);
}

/* The lane that is used first, and after the last one. */
static int first_of(const struct bd_sections *s)
{
    return s->options.first_once ? 1 : 0;
}

static struct bd_lane *lane_after(const struct bd_sections *s, int i)
{
    return &s->lanes[i + 1 < s->options.count ? i + 1 : first_of(s)];
}

/* Gives a packet to lanes whose sections are complete, too: it may bring out their last frames. */
static int add_after(struct bd_sections *s, const AVPacket *packet)
{
    for (int i = 0; i < s->options.count; i++) {
        struct bd_lane *lane = &s->lanes[i];
        if (!lane->complete || lane->done || lane->after_count == bd_lane_after)
            continue;
        AVPacket *own = av_packet_clone(packet);
        if (!own)
            return AVERROR(ENOMEM);
        own->pts = lane->mark;
        own->dts = AV_NOPTS_VALUE;
        lane->after[lane->after_count++] = own;
    }
    return 0;
}

/* Adds a packet, or refuses it. With the mutex. */
static int add_packet(struct bd_sections *s, AVPacket *packet)
{
    struct bd_lane *lane = &s->lanes[s->in];
    /* New parameters come with one packet: the decoder that gets it decodes all that follow. */
    s->splits = s->splits && packet->pts != AV_NOPTS_VALUE &&
                !av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, NULL);
    if (s->splits && lane->taken && bd_sections_start(lane->decoder, packet)) {
        lane->complete = true;
        s->start_waits = lane_after(s, s->in)->taken;
        if (s->start_waits)
            return AVERROR(EAGAIN);
        lane = lane_after(s, s->in);
        s->in = (int)(lane - s->lanes);
    }
    if (!bd_lane_has_room(lane))
        return AVERROR(EAGAIN);
    s->start_waits = false;
    const int error = add_after(s, packet);
    if (error)
        return error;
    if (!lane->taken)
        bd_lane_take(lane);
    return bd_lane_add(lane, packet);
}

int bd_sections_send(struct bd_sections *s, AVPacket *packet)
{
    int error = 0;
    pthread_mutex_lock(&s->mutex);
    if (packet) {
        error = add_packet(s, packet);
    } else {
        s->ended = true;
        s->lanes[s->in].complete = s->lanes[s->in].taken;
    }
    pthread_cond_broadcast(&s->work);
    pthread_mutex_unlock(&s->mutex);
    return error;
}

static bool can_send(const struct bd_sections *s)
{
    if (s->ended)
        return false;
    return s->start_waits ? !lane_after(s, s->in)->taken : bd_lane_has_room(&s->lanes[s->in]);
}

static int take_frame(struct bd_sections *s, struct bd_lane *lane, AVFrame *frame)
{
    struct bd_decoded *decoded = &lane->frames[lane->first_frame];
    lane->first_frame = (lane->first_frame + 1) % s->room;
    lane->frame_count--;
    s->waiting--;
    av_frame_unref(frame);
    if (decoded->frame)
        av_frame_move_ref(frame, decoded->frame);
    av_frame_free(&decoded->frame);
    return decoded->error;
}

/* Ends the section that is received and goes to the next lane, if that has one. */
static void leave(struct bd_sections *s, struct bd_lane *lane)
{
    bd_lane_empty(lane);
    if (s->out != s->in)
        s->out = (int)(lane_after(s, s->out) - s->lanes);
    pthread_cond_broadcast(&s->work); /* which may have waited for its turn */
}

int bd_sections_receive(struct bd_sections *s, AVFrame *frame)
{
    int error = AVERROR(EAGAIN);
    bool waits = true;
    pthread_mutex_lock(&s->mutex);
    while (waits && !can_send(s)) {
        struct bd_lane *lane = &s->lanes[s->out];
        waits = lane->taken && !lane->frame_count;
        if (!lane->taken)
            error = AVERROR_EOF;
        else if (lane->frame_count)
            error = take_frame(s, lane, frame);
        else if (lane->done)
            leave(s, lane);
        else
            pthread_cond_wait(&s->ready, &s->mutex);
    }
    if (error != AVERROR(EAGAIN))
        pthread_cond_broadcast(&s->work);
    pthread_mutex_unlock(&s->mutex);
    return error;
}

void bd_sections_flush(struct bd_sections *s)
{
    pthread_mutex_lock(&s->mutex);
    s->flush = true;
    pthread_cond_broadcast(&s->work);
    for (int i = 0; i < s->options.count; i++) {
        while (s->lanes[i].busy)
            pthread_cond_wait(&s->ready, &s->mutex);
        bd_lane_empty(&s->lanes[i]);
        bd_lane_flush(&s->lanes[i]);
    }
    s->in = s->out = first_of(s);
    s->waiting = 0;
    s->start_waits = s->ended = s->flush = false;
    pthread_mutex_unlock(&s->mutex);
}

void bd_sections_close(struct bd_sections **sections)
{
    struct bd_sections *s = *sections;
    if (!s)
        return;
    pthread_mutex_lock(&s->mutex);
    s->stop = true;
    pthread_cond_broadcast(&s->work);
    pthread_mutex_unlock(&s->mutex);
    for (int i = 0; s->lanes && i < s->options.count; i++) {
        if (s->lanes[i].started)
            pthread_join(s->lanes[i].thread, NULL);
        if (s->lanes[i].frames)
            bd_lane_empty(&s->lanes[i]);
        free(s->lanes[i].frames);
    }
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->ready);
    pthread_mutex_destroy(&s->mutex);
    free(s->lanes);
    free(s);
    *sections = NULL;
}
