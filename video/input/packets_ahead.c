#include "video/input/packets_ahead.h"

#include "video/input/section_start.h"

static bool is_intra(enum AVCodecID id)
{
    const AVCodecDescriptor *codec = avcodec_descriptor_get(id);
    return id == AV_CODEC_ID_PNG || /* FFmpeg's descriptor of PNG lacks the property */
           (codec && codec->props & AV_CODEC_PROP_INTRA_ONLY);
}

static const AVPacket *packet_at(const struct bd_packets_ahead *ahead, int number)
{
    return ahead->packets[(ahead->first + number) % bd_packets_most];
}

/* Drops the first `count` packets. */
static void drop(struct bd_packets_ahead *ahead, int count)
{
    for (; count > 0; count--, ahead->count--) {
        AVPacket **packet = &ahead->packets[ahead->first];
        ahead->bytes -= (*packet)->size;
        av_packet_free(packet);
        ahead->first = (ahead->first + 1) % bd_packets_most;
    }
}

/* As bd_libav_input_read; notes sections that start, and when times go back, as where a sender was
 * started again. Which pictures come after which is then known to the reader alone. */
static enum bd_status read_one(struct bd_packets_ahead *ahead, AVPacket *packet,
                               struct bd_libav_input *input, const AVCodecContext *decoder,
                               struct bd_libav_damage *damage)
{
    enum bd_status status = bd_libav_input_read(input, packet, damage);
    if (status || input->end.reached)
        return status;
    ahead->untimed |= packet->pts == AV_NOPTS_VALUE;
    ahead->latest = FFMAX(ahead->latest, packet->pts);
    if (packet->pts != AV_NOPTS_VALUE && bd_sections_known(decoder->codec_id) &&
        bd_sections_start(decoder, packet))
        ahead->starts[ahead->start_count++ % bd_packets_starts] = packet->pts;
    if (packet->dts == AV_NOPTS_VALUE)
        return BD_OK;
    ahead->uneven |= packet->dts < ahead->last_dts;
    ahead->last_dts = packet->dts;
    return BD_OK;
}

/* Reads one more packet, which waits behind the others. At the end there is none. */
static enum bd_status append(struct bd_packets_ahead *ahead, struct bd_libav_input *input,
                             const AVCodecContext *decoder, struct bd_libav_damage *damage)
{
    AVPacket *packet = av_packet_alloc();
    if (!packet)
        return bd_fail(BD_ERROR_MEMORY, "no memory to read '%s' ahead", input->name);
    enum bd_status status = read_one(ahead, packet, input, decoder, damage);
    if (status || input->end.reached) {
        av_packet_free(&packet);
        return status;
    }
    ahead->packets[(ahead->first + ahead->count++) % bd_packets_most] = packet;
    ahead->bytes += packet->size;
    return BD_OK;
}

static bool may_append(const struct bd_packets_ahead *ahead, const struct bd_libav_input *input)
{
    return !input->end.reached && ahead->count < bd_packets_most &&
           ahead->bytes < bd_packets_most_bytes;
}

/* Whether what the packets say of their times is all there and in order. */
static bool is_orderly(const struct bd_packets_ahead *ahead, const struct bd_libav_damage *damage)
{
    return !ahead->uneven && !ahead->untimed && !damage->count;
}

/* Reads up to the first packet with a pts of at least `wanted`, and drops those before the last
 * section that starts on the way. All of them are before `wanted`, and decoding goes on from that
 * start as if they had never been there. The search ends early, and all that waits is decoded,
 * where a time is missing: the decoder counts it from the picture before. It ends at damage too,
 * which is to be told while its cause is known. */
static enum bd_status search(struct bd_packets_ahead *ahead, struct bd_libav_input *input,
                             const AVCodecContext *decoder, int64_t wanted,
                             struct bd_libav_damage *damage)
{
    const bool intra = is_intra(decoder->codec_id);
    bool parameters = false; /* are in the packets before packet i */
    if (!intra && !bd_sections_known(decoder->codec_id))
        return BD_OK;
    for (int i = 0; !ahead->uneven; i++) {
        if (i == ahead->count && may_append(ahead, input)) {
            enum bd_status status = append(ahead, input, decoder, damage);
            if (status)
                return status;
        }
        if (i == ahead->count || ahead->uneven || damage->count)
            break;
        const AVPacket *packet = packet_at(ahead, i);
        if (packet->pts == AV_NOPTS_VALUE)
            break;
        const enum bd_parameters own = bd_sections_parameters(decoder, packet);
        if ((intra || bd_sections_start(decoder, packet)) &&
            (own == BD_PARAMETERS_ALL || !parameters)) {
            drop(ahead, i);
            i = 0;
            parameters = false;
        }
        parameters |= own != BD_PARAMETERS_NONE;
        if (packet->pts >= wanted)
            break;
    }
    return BD_OK;
}

enum bd_status bd_packets_ahead_read(struct bd_packets_ahead *ahead, AVPacket *packet,
                                     struct bd_libav_input *input, const AVCodecContext *decoder,
                                     int64_t wanted, struct bd_libav_damage *damage)
{
    if (wanted != INT64_MIN && wanted != ahead->wanted) {
        enum bd_status status = search(ahead, input, decoder, wanted, damage);
        if (status)
            return status;
        if (!damage->count) /* else the search goes on with the next packet */
            ahead->wanted = wanted;
    }
    if (ahead->count == 0)
        return read_one(ahead, packet, input, decoder, damage);
    AVPacket *first = ahead->packets[ahead->first];
    ahead->bytes -= first->size;
    av_packet_move_ref(packet, first);
    drop(ahead, 1);
    return BD_OK;
}

enum bd_status bd_packets_ahead_start(struct bd_packets_ahead *ahead, struct bd_libav_input *input,
                                      const AVCodecContext *decoder, int64_t earliest,
                                      int64_t *wanted, struct bd_libav_damage *damage)
{
    const int64_t latest = *wanted;
    if (is_intra(decoder->codec_id) || !bd_sections_known(decoder->codec_id))
        return BD_OK;
    while (ahead->latest < latest && may_append(ahead, input) && is_orderly(ahead, damage)) {
        enum bd_status status = append(ahead, input, decoder, damage);
        if (status)
            return status;
    }
    if (ahead->latest < latest || !is_orderly(ahead, damage))
        return BD_OK;
    for (int i = 0; i < ahead->start_count && i < bd_packets_starts; i++)
        if (ahead->starts[i] >= earliest && ahead->starts[i] <= latest)
            *wanted = earliest = ahead->starts[i]; /* none before it any more */
    return BD_OK;
}

void bd_packets_ahead_clear(struct bd_packets_ahead *ahead)
{
    drop(ahead, ahead->count);
    *ahead = (struct bd_packets_ahead){ .wanted = INT64_MIN,
                                        .last_dts = INT64_MIN,
                                        .latest = INT64_MIN };
}
