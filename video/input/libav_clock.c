#include "video/input/libav_clock.h"

#include <libavutil/avstring.h>
#include <string.h>

#include "video/input/libav_input.h"

/* Places to read at, and packets of other streams that are passed over at each of them. */
enum { places = 16, most_passed = 100 };

bool bd_libav_clock_may_restart(const struct bd_libav_input *in)
{
    return av_match_name(in->format->iformat->name, "mpegts,mpeg");
}

/* The dts of the first packet of the film from `position` on; AV_NOPTS_VALUE where there is none.
 */
static int64_t dts_behind(struct bd_libav_input *in, AVPacket *packet, int64_t position)
{
    int64_t dts = AV_NOPTS_VALUE;
    if (av_seek_frame(in->format, -1, position, AVSEEK_FLAG_BYTE) < 0)
        return dts;
    for (int i = 0; dts == AV_NOPTS_VALUE && i < most_passed; i++) {
        if (av_read_frame(in->format, packet) < 0)
            break;
        if (packet->stream_index == in->stream->index)
            dts = packet->dts;
        av_packet_unref(packet);
    }
    return dts;
}

/* The end that the container states: that of the times of its last packets. */
static int64_t stated_end(const AVStream *stream)
{
    if (stream->duration <= 0 || stream->start_time == AV_NOPTS_VALUE)
        return INT64_MAX;
    return stream->start_time + stream->duration;
}

/* Each place is half as far again from the beginning as the one before. If the first film in the
 * file ends at byte L, there is a place from 2/3 L to L, and the next one is by less than L/2
 * behind the beginning of the second film: its time is earlier, if the second film has at least
 * half of the first one's bits a second. If the second film ends before the next place would come,
 * the end that the container states is its end, before the time of the last place. */
bool bd_libav_clock_restarts(struct bd_libav_input *in)
{
    const AVFormatContext *format = in->format;
    const char *protocol = format->url ? avio_find_protocol_name(format->url) : NULL;
    const int64_t size = format->pb ? avio_size(format->pb) : 0;
    if (!bd_libav_clock_may_restart(in) || !in->seekable || size <= 0 || !protocol ||
        strcmp(protocol, "file") != 0)
        return false;
    AVPacket *packet = av_packet_alloc();
    if (!packet)
        return false;
    /* Backwards: a packet is earlier than all that are behind it. */
    int64_t next = stated_end(in->stream);
    bool anew = false;
    double position = (double)size;
    for (int i = 0; i < places && !anew; i++) {
        position /= 1.5;
        const int64_t dts = dts_behind(in, packet, (int64_t)position);
        if (dts == AV_NOPTS_VALUE)
            continue;
        anew = dts > next;
        next = dts;
    }
    av_packet_free(&packet);
    return anew;
}
