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

/* What a NAL unit holds. */
enum content { OTHER, PICTURE, IDR, PARAMETERS };

static enum content content_of(const AVCodecContext *decoder, const uint8_t *unit)
{
    enum { h264_idr = 5, h264_sps = 7, h264_pps = 8, h264_extension = 13, h264_subset = 15 };
    enum { hevc_idr_w_radl = 19, hevc_idr_n_lp = 20, hevc_vps = 32, hevc_pps = 34 };
    const int h264 = *unit & 31, hevc = *unit >> 1 & 63;
    if (decoder->codec_id == AV_CODEC_ID_H264) {
        if (h264 == h264_sps || h264 == h264_pps || h264 == h264_extension || h264 == h264_subset)
            return PARAMETERS;
        return h264 == h264_idr ? IDR : h264 > 0 && h264 < h264_idr ? PICTURE : OTHER;
    }
    if (hevc >= hevc_vps)
        return hevc <= hevc_pps ? PARAMETERS : OTHER;
    return hevc == hevc_idr_w_radl || hevc == hevc_idr_n_lp ? IDR : PICTURE;
}

/* Whether the packet holds such a unit; parameters come before the pictures that need them. */
static bool holds(const AVCodecContext *decoder, const AVPacket *packet, enum content content)
{
    const int size = length_size(decoder);
    const uint8_t *unit;
    for (int64_t at = 0; (unit = next_unit(packet, size, &at));) {
        const enum content its = content_of(decoder, unit);
        if (its == content)
            return true;
        if (content == PARAMETERS && its != OTHER)
            break;
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

/* No picture from an IDR on refers to one before it. Other key frames of H.264 and HEVC may be
 * followed by pictures that do. */
bool bd_sections_start(const AVCodecContext *decoder, const AVPacket *packet)
{
    return (packet->flags & AV_PKT_FLAG_KEY) &&
           (!has_nal_units(decoder->codec_id) || holds(decoder, packet, IDR));
}

bool bd_sections_parameters(const AVCodecContext *decoder, const AVPacket *packet)
{
    return av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, NULL) ||
           (has_nal_units(decoder->codec_id) && holds(decoder, packet, PARAMETERS));
}
