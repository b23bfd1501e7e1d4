#include "video/input/libav_info.h"

#include <libavutil/display.h>
#include <stdio.h>

struct bd_turn bd_libav_turn(const struct bd_libav_input *in, const AVFrame *first)
{
    const AVFrameSideData *of_frame = av_frame_get_side_data(first, AV_FRAME_DATA_DISPLAYMATRIX);
    const int32_t *matrix = NULL;
    struct bd_turn turn;
    if (of_frame) {
        matrix = (const int32_t *)(const void *)of_frame->data;
    } else {
#if LIBAVCODEC_VERSION_INT >= AV_VERSION_INT(60, 31, 102) /* FFmpeg 6.1 */
        const AVCodecParameters *p = in->stream->codecpar;
        const AVPacketSideData *of_stream = av_packet_side_data_get(
            p->coded_side_data, p->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
        if (of_stream)
            matrix = (const int32_t *)(const void *)of_stream->data;
#else
        matrix = (const int32_t *)(const void *)av_stream_get_side_data(
            in->stream, AV_PKT_DATA_DISPLAYMATRIX, NULL);
#endif
    }
    if (!bd_turn_from_matrix(&turn, matrix))
        bd_log(BD_LOG_WARNING,
               "'%s': a rotation of %.0f degrees is ignored: only quarter turns are done", in->name,
               -av_display_rotation_get(matrix));
    return turn;
}

static struct bd_rational rational(AVRational q)
{
    return q.num > 0 && q.den > 0 ? (struct bd_rational){ q.num, q.den }
                                  : (struct bd_rational){ 0, 1 };
}

void bd_libav_describe(struct bd_reader_info *info, const struct bd_libav_input *in, AVFrame *first,
                       struct bd_turn turn)
{
    const AVFormatContext *format = in->format;
    AVStream *stream = in->stream;
    AVRational rate = stream->avg_frame_rate.num ? stream->avg_frame_rate : stream->r_frame_rate;
    struct bd_rational aspect = rational(av_guess_sample_aspect_ratio(in->format, stream, first));
    if (aspect.num == 0)
        aspect = (struct bd_rational){ 1, 1 };
    if (turn.transpose)
        aspect = (struct bd_rational){ aspect.den, aspect.num };
    *info = (struct bd_reader_info){
        .width = turn.transpose ? first->height : first->width,
        .height = turn.transpose ? first->width : first->height,
        .time_base = rational(stream->time_base),
        .frame_rate = rational(rate),
        .pixel_aspect = aspect,
        .live = in->live,
        .seekable = in->seekable,
    };
    if (!info->live && stream->duration > 0)
        info->duration = (double)stream->duration * av_q2d(stream->time_base);
    else if (!info->live && format->duration > 0)
        info->duration = (double)format->duration / AV_TIME_BASE;
    info->frame_count = stream->nb_frames;
    if (info->frame_count <= 0 && info->frame_rate.num)
        info->frame_count = (int64_t)(info->duration * av_q2d(rate) + 0.5);
    snprintf(info->codec, sizeof info->codec, "%s", avcodec_get_name(stream->codecpar->codec_id));
    snprintf(info->container, sizeof info->container, "%s", format->iformat->name);
}
