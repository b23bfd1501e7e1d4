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

/* What NAL units hold. */
enum {
    PICTURE = 1,
    IDR = 2,
    SEQUENCE_PARAMETERS = 4,
    PICTURE_PARAMETERS = 8,
    OTHER_PARAMETERS = 16,
    PARAMETERS = SEQUENCE_PARAMETERS | PICTURE_PARAMETERS | OTHER_PARAMETERS
};

static int content_of_h264(const uint8_t *unit)
{
    enum { idr = 5, sps = 7, pps = 8, extension = 13, subset = 15 };
    const int type = *unit & 31;
    if (type == extension || type == subset)
        return OTHER_PARAMETERS;
    return type == sps              ? SEQUENCE_PARAMETERS
           : type == pps            ? PICTURE_PARAMETERS
           : type == idr            ? IDR
           : type > 0 && type < idr ? PICTURE
                                    : 0;
}

static int content_of_hevc(const uint8_t *unit)
{
    enum { idr_w_radl = 19, idr_n_lp = 20, vps = 32, sps = 33, pps = 34 };
    const int type = *unit >> 1 & 63;
    if (type == idr_w_radl || type == idr_n_lp)
        return IDR;
    return type < vps    ? PICTURE
           : type == vps ? OTHER_PARAMETERS
           : type == sps ? SEQUENCE_PARAMETERS
           : type == pps ? PICTURE_PARAMETERS
                         : 0;
}

/* What the packet holds up to the first unit of its picture. */
static int contents(const AVCodecContext *decoder, const AVPacket *packet)
{
    const int size = length_size(decoder);
    const uint8_t *unit;
    int found = 0;
    for (int64_t at = 0; !(found & (PICTURE | IDR)) && (unit = next_unit(packet, size, &at));)
        found |=
            decoder->codec_id == AV_CODEC_ID_H264 ? content_of_h264(unit) : content_of_hevc(unit);
    return found;
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
           (!has_nal_units(decoder->codec_id) || contents(decoder, packet) & IDR);
}

enum bd_parameters bd_sections_parameters(const AVCodecContext *decoder, const AVPacket *packet)
{
    const int both = SEQUENCE_PARAMETERS | PICTURE_PARAMETERS;
    if (av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, NULL))
        return BD_PARAMETERS_ALL;
    const int found = has_nal_units(decoder->codec_id) ? contents(decoder, packet) & PARAMETERS : 0;
    if ((found & both) == both)
        return BD_PARAMETERS_ALL;
    return found ? BD_PARAMETERS_SOME : BD_PARAMETERS_NONE;
}
