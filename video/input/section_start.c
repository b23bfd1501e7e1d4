#include "video/input/section_start.h"

/* The length of the numbers before the units of a packet; 0: start codes are between them. */
static int length_size(const AVCodecContext *decoder)
{
    const uint8_t *extra = decoder->extradata;
    const int at = decoder->codec_id == AV_CODEC_ID_H264 ? 4 : 21;
    if (!extra || decoder->extradata_size <= at || extra[0] != 1)
        return 0;
    return (extra[at] & 3) + 1;
}

/* The first byte of the next unit at or after *at, which moves behind it; NULL: none. */
static const uint8_t *next_unit(const AVPacket *packet, int size, int64_t *at)
{
    const uint8_t *data = packet->data;
    int64_t from = *at, length = 0;
    if (size) {
        if (from + size >= packet->size)
            return NULL;
        for (int i = 0; i < size; i++)
            length = length << 8 | data[from + i];
        *at = from + size + length;
        return data + from + size;
    }
    while (from + 3 < packet->size && (data[from] || data[from + 1] || data[from + 2] != 1))
        from++;
    *at = from + 3;
    return from + 3 < packet->size ? data + from + 3 : NULL;
}

/* Whether the packet holds a picture after which none refers to one before: IDR. Other key frames
 * of these codecs may be followed by pictures that do. */
static bool has_idr(const AVCodecContext *decoder, const AVPacket *packet)
{
    enum { h264_idr = 5, hevc_idr_w_radl = 19, hevc_idr_n_lp = 20 };
    const int size = length_size(decoder);
    const uint8_t *unit;
    for (int64_t at = 0; (unit = next_unit(packet, size, &at));) {
        const int type = decoder->codec_id == AV_CODEC_ID_H264 ? *unit & 31 : *unit >> 1 & 63;
        if (decoder->codec_id == AV_CODEC_ID_H264
                ? type == h264_idr
                : type == hevc_idr_w_radl || type == hevc_idr_n_lp)
            return true;
    }
    return false;
}

static bool has_nal_units(enum AVCodecID codec)
{
    return codec == AV_CODEC_ID_H264 || codec == AV_CODEC_ID_HEVC;
}

bool bd_sections_known(enum AVCodecID codec)
{
    return has_nal_units(codec) || codec == AV_CODEC_ID_VP8 || codec == AV_CODEC_ID_VP9;
}

bool bd_sections_start(const AVCodecContext *decoder, const AVPacket *packet)
{
    return (packet->flags & AV_PKT_FLAG_KEY) &&
           (!has_nal_units(decoder->codec_id) || has_idr(decoder, packet));
}
