#include "video/input/sections.h"

#include <stdlib.h>

#include "base/thread.h"
#include "video/input/section_start.h"

/* Packets of a decoder that may wait: a section with more is not decoded ahead whole. */
enum { most_packets = 1024 };

/* Packets of the sections after a lane's own which it may get, to bring out the frames that its
 * decoder holds back: no codec here reorders more frames. */
enum { most_after = 16 };

/* Frames of the section that is being received which may wait in any case. */
enum { least_frames = 4 };

/* Failures of a decoder that is asked for its last frames, until it is left alone. */
enum { most_failures = 1000 };

/* A frame, or why there is none. */
struct decoded {
    AVFrame *frame;
    int error;
};

/* A decoder with its thread. It is free, or it has a section, until that is received. */
struct lane {
    struct bd_sections *sections;
    AVCodecContext *decoder;
    pthread_t thread;
    bool started;

    /* Guarded by the mutex: */
    bool taken;    /* it has a section */
    bool complete; /* whose packets are all here */
    bool done;     /* and decoded */
    bool busy;     /* its thread is decoding, without the mutex */
    AVPacket *packets[most_packets];
    int first_packet, packet_count;
    AVPacket *after[most_after]; /* without times, by which their frames are known */
    int after_count, after_used;
    struct decoded *frames; /* a ring of `room` */
    int first_frame, frame_count;
};

struct bd_sections {
    struct bd_sections_options options;
    struct lane *lanes;
    int room; /* frames that one lane can hold */
    pthread_mutex_t mutex;
    pthread_cond_t work;  /* something that a lane may wait for */
    pthread_cond_t ready; /* something that the caller may wait for */

    /* Guarded by the mutex: */
    int in, out;      /* the lanes that are sent to and received from */
    int waiting;      /* frames in all lanes */
    bool start_waits; /* the packet that was refused last starts a section: no lane was free */
    bool timed;       /* all packets so far have times */
    bool ended;       /* there are no more packets */
    bool stop, flush;
};

/* ---- a lane -------------------------------------------------------------------------------------
 */

static bool is_halted(const struct bd_sections *s)
{
    return s->stop || s->flush;
}

static bool has_room(const struct lane *lane)
{
    const struct bd_sections *s = lane->sections;
    const bool received = lane == &s->lanes[s->out];
    return lane->frame_count < s->room &&
           (s->waiting < s->options.most_frames || (received && lane->frame_count < least_frames));
}

/* Adds what was decoded, when there is room. Returns false where the lane has to stop. */
static bool add(struct lane *lane, struct decoded decoded)
{
    struct bd_sections *s = lane->sections;
    pthread_mutex_lock(&s->mutex);
    while (!has_room(lane) && !is_halted(s))
        pthread_cond_wait(&s->work, &s->mutex);
    const bool goes_on = !is_halted(s);
    if (goes_on) {
        lane->frames[(lane->first_frame + lane->frame_count) % s->room] = decoded;
        lane->frame_count++;
        s->waiting++;
        pthread_cond_signal(&s->ready);
    }
    pthread_mutex_unlock(&s->mutex);
    if (!goes_on)
        av_frame_free(&decoded.frame);
    return goes_on;
}

/* The next frame of the lane's decoder, without its surface. NULL in *frame, though there is no
 * error: one of a later section, which another lane decodes. */
static int receive(struct lane *lane, AVFrame **frame, bool timed)
{
    const struct bd_sections_options *options = &lane->sections->options;
    *frame = av_frame_alloc();
    int error = *frame ? avcodec_receive_frame(lane->decoder, *frame) : AVERROR(ENOMEM);
    const bool later = !error && timed && (*frame)->pts == AV_NOPTS_VALUE;
    if (!error && !later && options->keep(options->user, *frame))
        error = AVERROR_EXTERNAL;
    if (error || later)
        av_frame_free(frame);
    return error;
}

/* Decodes a packet, or after the last one (NULL) what the decoder holds back. */
static void decode(struct lane *lane, const AVPacket *packet, bool timed)
{
    int error = avcodec_send_packet(lane->decoder, packet);
    if (error < 0 && error != AVERROR_EOF && !add(lane, (struct decoded){ .error = error }))
        return;
    for (int failures = 0; failures < (packet ? 1 : most_failures);) {
        struct decoded decoded = { 0 };
        decoded.error = receive(lane, &decoded.frame, timed);
        if (decoded.error == AVERROR(EAGAIN) || decoded.error == AVERROR_EOF)
            return;
        failures += decoded.error != 0;
        if ((decoded.frame || decoded.error) && !add(lane, decoded))
            return;
    }
}

/* What a lane does next. */
enum step { WAIT, DECODE, DECODE_AFTER, DRAIN, END };

/* A decoder that is drained must be flushed, and one of a GPU is then made anew, which takes a
 * fifth of a second. So the frames that it holds back are brought out by packets that come later,
 * if there are any. */
static enum step next_step(const struct lane *lane)
{
    const struct bd_sections *s = lane->sections;
    const bool first = lane == s->lanes;
    const bool alone = s->start_waits && s->in == s->out && lane == &s->lanes[s->in];
    if (s->flush)
        return WAIT;
    if (lane->packet_count)
        return DECODE;
    if (!lane->complete || lane->done)
        return WAIT;
    if (first && s->options.first_once)
        return DRAIN;
    if (lane->after_used >= lane->decoder->has_b_frames)
        return END;
    if (lane->after_used < lane->after_count)
        return DECODE_AFTER;
    return s->ended || alone || lane->after_count == most_after ? DRAIN : WAIT;
}

static AVPacket *take_packet(struct lane *lane, enum step step)
{
    AVPacket *packet = NULL;
    if (step == DECODE_AFTER) {
        packet = lane->after[lane->after_used];
        lane->after[lane->after_used++] = NULL;
    } else if (step == DECODE) {
        packet = lane->packets[lane->first_packet];
        lane->first_packet = (lane->first_packet + 1) % most_packets;
        lane->packet_count--;
    }
    return packet;
}

/* The mutex is held, but not meanwhile. */
static void make(struct lane *lane, enum step step)
{
    struct bd_sections *s = lane->sections;
    AVPacket *packet = take_packet(lane, step);
    const bool timed = s->timed;
    lane->busy = true;
    pthread_mutex_unlock(&s->mutex);
    if (step != END)
        decode(lane, packet, timed);
    if (step == DRAIN)
        avcodec_flush_buffers(lane->decoder);
    av_packet_free(&packet);
    pthread_mutex_lock(&s->mutex);
    lane->busy = false;
    lane->done = step == DRAIN || step == END;
    pthread_cond_signal(&s->ready);
}

static void *work(void *user)
{
    struct lane *lane = user;
    struct bd_sections *s = lane->sections;
    pthread_mutex_lock(&s->mutex);
    while (!s->stop) {
        const enum step step = next_step(lane);
        if (step == WAIT)
            pthread_cond_wait(&s->work, &s->mutex);
        else
            make(lane, step);
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

/* ---- all lanes ----------------------------------------------------------------------------------
 */

enum bd_status bd_sections_open(struct bd_sections **sections,
                                const struct bd_sections_options *options)
{
    struct bd_sections *s = *sections = calloc(1, sizeof *s);
    if (!s)
        return bd_fail(BD_ERROR_MEMORY, "no memory to decode in sections");
    s->options = *options;
    s->room = options->most_frames + least_frames;
    s->timed = true;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->work, NULL);
    pthread_cond_init(&s->ready, NULL);
    s->lanes = calloc((size_t)options->count, sizeof *s->lanes);
    bool enough = s->lanes;
    for (int i = 0; enough && i < options->count; i++) {
        struct lane *lane = &s->lanes[i];
        lane->sections = s;
        lane->decoder = options->decoders[i];
        lane->frames = calloc((size_t)s->room, sizeof *lane->frames);
        lane->taken = i == 0;
        enough = lane->frames && bd_thread_start(&lane->thread, "decode section", work, lane);
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

static struct lane *lane_after(const struct bd_sections *s, int i)
{
    return &s->lanes[i + 1 < s->options.count ? i + 1 : first_of(s)];
}

/* Gives a packet to lanes whose sections are complete, too: it may bring out their last frames. */
static int add_after(struct bd_sections *s, const AVPacket *packet)
{
    for (int i = 0; i < s->options.count; i++) {
        struct lane *lane = &s->lanes[i];
        if (!lane->complete || lane->done || lane->after_count == most_after)
            continue;
        AVPacket *own = av_packet_clone(packet);
        if (!own)
            return AVERROR(ENOMEM);
        own->pts = own->dts = AV_NOPTS_VALUE;
        lane->after[lane->after_count++] = own;
    }
    return 0;
}

static int add_to(struct lane *lane, AVPacket *packet)
{
    AVPacket *own = av_packet_alloc();
    if (!own)
        return AVERROR(ENOMEM);
    av_packet_move_ref(own, packet);
    lane->packets[(lane->first_packet + lane->packet_count++) % most_packets] = own;
    lane->taken = true;
    return 0;
}

/* Adds a packet, or refuses it. With the mutex. */
static int add_packet(struct bd_sections *s, AVPacket *packet)
{
    struct lane *lane = &s->lanes[s->in];
    s->timed = s->timed && packet->pts != AV_NOPTS_VALUE;
    if (s->timed && lane->taken && bd_sections_start(lane->decoder, packet)) {
        lane->complete = true;
        s->start_waits = lane_after(s, s->in)->taken;
        if (s->start_waits)
            return AVERROR(EAGAIN);
        lane = lane_after(s, s->in);
        s->in = (int)(lane - s->lanes);
    }
    if (lane->packet_count == most_packets)
        return AVERROR(EAGAIN);
    s->start_waits = false;
    const int error = add_after(s, packet);
    return error ? error : add_to(lane, packet);
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
    return s->start_waits ? !lane_after(s, s->in)->taken
                          : s->lanes[s->in].packet_count < most_packets;
}

static int take_frame(struct bd_sections *s, struct lane *lane, AVFrame *frame)
{
    struct decoded *decoded = &lane->frames[lane->first_frame];
    lane->first_frame = (lane->first_frame + 1) % s->room;
    lane->frame_count--;
    s->waiting--;
    if (decoded->frame)
        av_frame_move_ref(frame, decoded->frame);
    av_frame_free(&decoded->frame);
    return decoded->error;
}

static void free_after(struct lane *lane)
{
    while (lane->after_count)
        av_packet_free(&lane->after[--lane->after_count]);
    lane->after_used = 0;
}

/* Ends the section that is received and goes to the next lane, if that has one. */
static void leave(struct bd_sections *s, struct lane *lane)
{
    free_after(lane);
    lane->taken = lane->complete = lane->done = false;
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
        struct lane *lane = &s->lanes[s->out];
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

static void empty(struct bd_sections *s, struct lane *lane)
{
    for (; lane->packet_count; lane->packet_count--) {
        av_packet_free(&lane->packets[lane->first_packet]);
        lane->first_packet = (lane->first_packet + 1) % most_packets;
    }
    for (; lane->frame_count; lane->frame_count--) {
        av_frame_free(&lane->frames[lane->first_frame].frame);
        lane->first_frame = (lane->first_frame + 1) % s->room;
    }
    free_after(lane);
    lane->taken = lane->complete = lane->done = false;
}

void bd_sections_flush(struct bd_sections *s)
{
    pthread_mutex_lock(&s->mutex);
    s->flush = true;
    pthread_cond_broadcast(&s->work);
    for (int i = 0; i < s->options.count; i++) {
        while (s->lanes[i].busy)
            pthread_cond_wait(&s->ready, &s->mutex);
        empty(s, &s->lanes[i]);
        avcodec_flush_buffers(s->lanes[i].decoder);
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
            empty(s, &s->lanes[i]);
        free(s->lanes[i].frames);
    }
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->ready);
    pthread_mutex_destroy(&s->mutex);
    free(s->lanes);
    free(s);
    *sections = NULL;
}
