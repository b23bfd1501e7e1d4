#include "video/input/section_lane.h"

#include "video/input/libav_decoder.h"

/* Failures of a decoder that is asked for its last frames, until it is left alone. */
enum { most_failures = 1000 };

/* ---- packets ------------------------------------------------------------------------------------
 */

void bd_lane_take(struct bd_lane *lane)
{
    lane->taken = lane->whole = true;
}

static bool is_full(const struct bd_lane *lane)
{
    return lane->packet_count == bd_lane_packets ||
           (lane->packet_count > 1 && lane->packet_bytes >= bd_lane_bytes);
}

/* One that is decoded makes room, but not the last one, which its decoder may have in hand. */
bool bd_lane_has_room(const struct bd_lane *lane)
{
    return !is_full(lane) || lane->decoded_count > 1;
}

static void drop_packet(struct bd_lane *lane)
{
    lane->packet_bytes -= lane->packets[lane->first_packet]->size;
    av_packet_free(&lane->packets[lane->first_packet]);
    lane->first_packet = (lane->first_packet + 1) % bd_lane_packets;
    lane->packet_count--;
    lane->decoded_count--;
    lane->whole = false;
}

int bd_lane_add(struct bd_lane *lane, AVPacket *packet)
{
    AVPacket *own = av_packet_alloc();
    if (!own)
        return AVERROR(ENOMEM);
    while (is_full(lane) && lane->decoded_count > 1)
        drop_packet(lane);
    av_packet_move_ref(own, packet);
    lane->packet_bytes += own->size;
    lane->packets[(lane->first_packet + lane->packet_count++) % bd_lane_packets] = own;
    return 0;
}

void bd_lane_empty(struct bd_lane *lane)
{
    while (lane->packet_count)
        drop_packet(lane);
    while (lane->after_count)
        av_packet_free(&lane->after[--lane->after_count]);
    for (; lane->frame_count; lane->frame_count--) {
        av_frame_free(&lane->frames[lane->first_frame].frame);
        lane->first_frame = (lane->first_frame + 1) % lane->sections->room;
    }
    lane->after_used = lane->decoded_count = lane->frames_made = lane->frames_known = 0;
    lane->after_seen = false;
    lane->mark = bd_lane_first_mark + (lane->mark - bd_lane_first_mark + 1) % bd_lane_marks;
    lane->taken = lane->complete = lane->done = lane->whole = false;
}

/* ---- frames -------------------------------------------------------------------------------------
 */

static bool is_halted(const struct bd_sections *s)
{
    return s->stop || s->flush;
}

static bool has_room(const struct bd_lane *lane)
{
    const struct bd_sections *s = lane->sections;
    const bool received = lane == &s->lanes[s->out];
    return lane->frame_count < s->room && (s->waiting < s->options.most_frames ||
                                           (received && lane->frame_count < bd_lane_frames));
}

/* With the mutex, where there is room. */
static void push(struct bd_lane *lane, struct bd_decoded decoded)
{
    struct bd_sections *s = lane->sections;
    lane->frames[(lane->first_frame + lane->frame_count++) % s->room] = decoded;
    s->waiting++;
    pthread_cond_signal(&s->ready);
}

/* Adds what was decoded, when there is room. Returns false where the lane has to stop. */
static bool add(struct bd_lane *lane, struct bd_decoded decoded)
{
    struct bd_sections *s = lane->sections;
    pthread_mutex_lock(&s->mutex);
    while (!has_room(lane) && !is_halted(s))
        pthread_cond_wait(&s->work, &s->mutex);
    const bool goes_on = !is_halted(s);
    if (goes_on)
        push(lane, decoded);
    pthread_mutex_unlock(&s->mutex);
    if (!goes_on)
        av_frame_free(&decoded.frame);
    return goes_on;
}

/* The next frame of the lane's decoder, without its surface. NULL in *frame, though there is no
 * error: one of a later section, which another lane decodes, or one that was there before. */
static int receive(struct bd_lane *lane, AVFrame **frame)
{
    const struct bd_sections_options *options = &lane->sections->options;
    *frame = av_frame_alloc();
    int error = *frame ? avcodec_receive_frame(lane->decoder, *frame) : AVERROR(ENOMEM);
    bool left_out = !error && bd_lane_is_mark((*frame)->pts);
    if (!error && (*frame)->pts == lane->mark)
        lane->after_seen = true;
    if (!error && (*frame)->pts != AV_NOPTS_VALUE) /* the decoder's guess knows the marks too */
        (*frame)->best_effort_timestamp = (*frame)->pts;
    if (!error && !left_out && lane->frames_known > 0) {
        lane->frames_known--;
        left_out = true;
    }
    if (!error && !left_out && options->keep(options->user, *frame))
        error = AVERROR_EXTERNAL;
    if (!error && !left_out)
        lane->frames_made++;
    if (error || left_out)
        av_frame_free(frame);
    return error;
}

/* Whether it is the decoder that failed, not the data that are damaged. */
static bool is_failure(int error)
{
    return error < 0 && error != AVERROR(EAGAIN) && error != AVERROR_EOF &&
           error != AVERROR_INVALIDDATA;
}

/* Receives what the decoder has ready, or at its end (`drained`) all that it holds back. Returns
 * false where the decoder failed and `may_fail`: then nothing was added of the failure. */
static bool receive_all(struct bd_lane *lane, bool drained, bool may_fail)
{
    for (int failures = 0; failures < (drained ? most_failures : 1);) {
        struct bd_decoded decoded = { 0 };
        decoded.error = receive(lane, &decoded.frame);
        if (decoded.error == AVERROR(EAGAIN) || decoded.error == AVERROR_EOF)
            return true;
        if (may_fail && is_failure(decoded.error))
            return false;
        failures += decoded.error != 0;
        if ((decoded.frame || decoded.error) && !add(lane, decoded))
            return true;
    }
    return true;
}

void bd_lane_flush(struct bd_lane *lane)
{
    bd_libav_decoder_flush(lane->decoder, lane->sections->options.device, &lane->emptied);
}

/* Decodes a packet; NULL: there are no more. As receive_all. */
static bool decode(struct bd_lane *lane, const AVPacket *packet, bool may_fail)
{
    int error = bd_libav_decoder_send(lane->decoder, packet, lane->sections->options.device,
                                      &lane->emptied);
    if (may_fail && is_failure(error))
        return false;
    if (error == AVERROR(EAGAIN)) /* the packet is lost; to the caller this means another thing */
        error = AVERROR_INVALIDDATA;
    if (error < 0 && error != AVERROR_EOF && !add(lane, (struct bd_decoded){ .error = error }))
        return true;
    return receive_all(lane, !packet, may_fail);
}

/* ---- the thread ---------------------------------------------------------------------------------
 */

/* What a lane does next. */
enum step { WAIT, DECODE, DECODE_AFTER, DRAIN, END };

/* A decoder that is drained must be flushed, and one of a GPU is then made anew, which takes a
 * fifth of a second. So the frames that it holds back are brought out by packets that come later,
 * if there are any. */
static enum step next_step(const struct bd_lane *lane)
{
    const struct bd_sections *s = lane->sections;
    const bool threads = lane->replaced || (lane == s->lanes && s->options.first_once);
    /* While a start waits for this lane to be received, no packet can come after. */
    const bool last = s->start_waits && lane == &s->lanes[s->out];
    if (s->flush)
        return WAIT;
    if (lane->decoded_count < lane->packet_count)
        return DECODE;
    if (!lane->complete || lane->done)
        return WAIT;
    if (threads) /* they hold back frames of their own */
        return DRAIN;
    if (lane->decoder->has_b_frames == 0 || lane->after_seen)
        return END;
    if (lane->after_used < lane->after_count)
        return DECODE_AFTER;
    return s->ended || last || lane->after_count == bd_lane_after ? DRAIN : WAIT;
}

static const AVPacket *packet_for(struct bd_lane *lane, enum step step)
{
    if (step == DECODE_AFTER)
        return lane->after[lane->after_used++];
    if (step == DECODE)
        return lane->packets[(lane->first_packet + lane->decoded_count++) % bd_lane_packets];
    return NULL;
}

/* Decodes a packet. Returns the decoder that takes the place of one that failed; NULL: none does.
 */
static AVCodecContext *decode_or_replace(struct bd_lane *lane, const AVPacket *packet,
                                         bool may_fail)
{
    const struct bd_sections_options *options = &lane->sections->options;
    if (decode(lane, packet, may_fail))
        return NULL;
    AVCodecContext *decoder = options->replace(options->user);
    if (!decoder && add(lane, (struct bd_decoded){ .error = AVERROR_EXTERNAL }))
        receive_all(lane, !packet, false);
    return decoder;
}

/* The section is decoded again from its start, but for the frames that are there. Where packets of
 * it have gone meanwhile, it goes on after the one that is lost. With the mutex. */
static void go_on(struct bd_lane *lane, AVCodecContext *decoder)
{
    lane->decoder = decoder;
    lane->replaced = true;
    lane->done = false;
    if (lane->whole) {
        lane->frames_known = lane->frames_made;
        lane->decoded_count = lane->after_used = 0;
        lane->after_seen = false;
    } else if (lane->frame_count < lane->sections->room) {
        push(lane, (struct bd_decoded){ .error = AVERROR_EXTERNAL });
    }
}

/* The mutex is held, but not meanwhile. */
static void make(struct bd_lane *lane, enum step step)
{
    struct bd_sections *s = lane->sections;
    AVCodecContext *other = NULL;
    const AVPacket *packet = packet_for(lane, step);
    const bool may_fail = s->options.replace && lane->whole && !lane->replaced;
    lane->busy = true;
    pthread_mutex_unlock(&s->mutex);
    if (step != END)
        other = decode_or_replace(lane, packet, may_fail);
    if (step == DRAIN && !other)
        bd_lane_flush(lane);
    pthread_mutex_lock(&s->mutex);
    lane->busy = false;
    lane->done = step == DRAIN || step == END;
    if (other)
        go_on(lane, other);
    pthread_cond_signal(&s->ready);
}

void *bd_lane_run(void *user)
{
    struct bd_lane *lane = user;
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
