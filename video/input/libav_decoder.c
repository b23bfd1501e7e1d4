#include "video/input/libav_decoder.h"

#include <libavutil/display.h>
#include <libavutil/hwcontext.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "video/libav.h"

/* What "auto" tries, in this order. */
static const enum AVHWDeviceType auto_devices[] = { AV_HWDEVICE_TYPE_CUDA, AV_HWDEVICE_TYPE_VAAPI };

static bool supports(const AVCodec *codec, enum AVHWDeviceType type)
{
    const AVCodecHWConfig *config;
    for (int i = 0; (config = avcodec_get_hw_config(codec, i)); i++)
        if (config->device_type == type &&
            (config->methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX))
            return true;
    return false;
}

/* libavcodec's own decoder for a codec whose first choice is an outside library (av1): only that
 * one can use the hardware. */
static const AVCodec *decoder_with_hardware(enum AVCodecID id, enum AVHWDeviceType type)
{
    void *state = NULL;
    const AVCodec *codec;
    while ((codec = av_codec_iterate(&state)))
        if (codec->id == id && av_codec_is_decoder(codec) && supports(codec, type))
            return codec;
    return NULL;
}

/* Opens a device. That of a GPU of NVIDIA uses the context that Backdrop's own backend has too
 * (AV_CUDA_USE_PRIMARY_CONTEXT of libavutil/hwcontext_cuda.h, which needs CUDA's headers): work of
 * two contexts would take turns. It takes a third of a second, so all readers of a process share
 * one, which stays. */
static int open_device(AVBufferRef **device, enum AVHWDeviceType type)
{
    enum { primary_context = 1 };
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static AVBufferRef *cuda;
    if (type != AV_HWDEVICE_TYPE_CUDA)
        return av_hwdevice_ctx_create(device, type, NULL, NULL, 0);
    pthread_mutex_lock(&mutex);
    int error = cuda ? 0 : av_hwdevice_ctx_create(&cuda, type, NULL, NULL, primary_context);
    *device = error < 0 ? NULL : av_buffer_ref(cuda);
    pthread_mutex_unlock(&mutex);
    if (error < 0) /* the context may be in use in a way that FFmpeg does not want, for now */
        return av_hwdevice_ctx_create(device, type, NULL, NULL, 0);
    return *device ? 0 : AVERROR(ENOMEM);
}

/* Opens the hardware and sets *codec to a decoder that can use it. With "auto" nothing found is
 * fine: *device stays NULL. */
static enum bd_status open_hardware(const char *hwaccel, const AVCodec **codec,
                                    AVBufferRef **device)
{
    const AVCodec *able;
    if (strcmp(hwaccel, "auto") == 0) {
        for (size_t i = 0; i < sizeof auto_devices / sizeof *auto_devices; i++) {
            able = decoder_with_hardware((*codec)->id, auto_devices[i]);
            if (able && open_device(device, auto_devices[i]) == 0) {
                *codec = able;
                return BD_OK;
            }
        }
        bd_log(BD_LOG_DEBUG, "no hardware decoder for %s: decoding with threads", (*codec)->name);
        return BD_OK;
    }
    enum AVHWDeviceType type = av_hwdevice_find_type_by_name(hwaccel);
    if (type == AV_HWDEVICE_TYPE_NONE)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "unknown hardware decoding '%s': auto, cuda, vaapi, or another of "
                       "'ffmpeg -hwaccels'",
                       hwaccel);
    able = decoder_with_hardware((*codec)->id, type);
    if (!able)
        return bd_fail(BD_ERROR_UNSUPPORTED, "%s cannot decode %s", hwaccel,
                       avcodec_get_name((*codec)->id));
    bd_libav_forget();
    int error = open_device(device, type);
    if (error < 0)
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "cannot open the hardware decoder %s: %s; leave the option out to decode on "
                       "the CPU",
                       hwaccel, bd_libav_reason(error));
    *codec = able;
    return BD_OK;
}

enum bd_status bd_libav_fetch(AVFrame *to, const AVFrame *picture, const char *name)
{
    /* The buffers of the last picture are used again as long as they fit and nobody holds them. */
    const AVHWFramesContext *there = (const AVHWFramesContext *)picture->hw_frames_ctx->data;
    if (to->width != picture->width || to->height != picture->height ||
        to->format != (int)there->sw_format || !av_frame_is_writable(to))
        av_frame_unref(to);
    if (av_hwframe_transfer_data(to, picture, 0) < 0)
        return bd_fail(BD_ERROR_BACKEND, "'%s': cannot fetch a frame from the hardware decoder",
                       name);
    to->color_range = picture->color_range;
    to->colorspace = picture->colorspace;
    return BD_OK;
}

static enum bd_status set_up(AVCodecContext *context, const struct bd_libav_input *in, int threads)
{
    int error = avcodec_parameters_to_context(context, in->stream->codecpar);
    if (error < 0)
        return bd_fail(BD_ERROR_MEMORY, "no memory to decode '%s'", in->name);
    context->pkt_timebase = in->stream->time_base;
    context->thread_count = threads;
    context->thread_type = in->live ? FF_THREAD_SLICE : FF_THREAD_FRAME | FF_THREAD_SLICE;
    if (in->live)
        context->flags |= AV_CODEC_FLAG_LOW_DELAY;
    return BD_OK;
}

/* An option that is left is unknown to the demuxer and the decoder. */
static enum bd_status check_options(const struct bd_libav_input *in)
{
    const AVDictionaryEntry *left = av_dict_get(in->options, "", NULL, AV_DICT_IGNORE_SUFFIX);
    if (left)
        return bd_fail(BD_ERROR_ARGUMENT, "unknown input option '%s' (=%s) for %s input of '%s'",
                       left->key, left->value, in->format->iformat->name, in->name);
    return BD_OK;
}

enum bd_status bd_libav_decoder_open(AVCodecContext **decoder, struct bd_libav_input *in,
                                     int threads, const char *hwaccel, int surfaces)
{
    const AVCodecParameters *parameters = in->stream->codecpar;
    const AVCodec *codec = avcodec_find_decoder(parameters->codec_id);
    AVBufferRef *device = NULL;
    enum bd_status status = BD_OK;
    char tag[AV_FOURCC_MAX_STRING_SIZE];
    *decoder = NULL;
    if (!codec)
        return bd_fail(
            BD_ERROR_UNSUPPORTED,
            "'%s': this build of FFmpeg has no decoder for its video (codec %s, tag %s)", in->name,
            parameters->codec_id == AV_CODEC_ID_NONE ? "unknown"
                                                     : avcodec_get_name(parameters->codec_id),
            av_fourcc_make_string(tag, parameters->codec_tag));
    if (hwaccel)
        status = open_hardware(hwaccel, &codec, &device);
    if (status != BD_OK)
        return status;
    *decoder = avcodec_alloc_context3(codec);
    if (!*decoder) {
        status = bd_fail(BD_ERROR_MEMORY, "no memory to decode '%s'", in->name);
        goto done;
    }
    status = set_up(*decoder, in, threads);
    if (status != BD_OK)
        goto done;
    (*decoder)->hw_device_ctx = device;
    if (device) {
        /* The hardware works in parallel; threads would only hold surfaces. */
        (*decoder)->thread_count = 1;
        (*decoder)->extra_hw_frames = surfaces;
    }
    device = NULL;
    bd_libav_forget();
    int error = avcodec_open2(*decoder, codec, &in->options);
    if (error < 0)
        status = bd_fail(bd_libav_status(error), "cannot decode '%s' with %s: %s", in->name,
                         codec->name, bd_libav_reason(error));
    else
        status = check_options(in);
done:
    av_buffer_unref(&device);
    if (status != BD_OK)
        avcodec_free_context(decoder);
    return status;
}

void bd_libav_decoder_flush(AVCodecContext *decoder, struct bd_device *device, bool *emptied)
{
    bd_device_waits(device, true);
    avcodec_flush_buffers(decoder);
    bd_device_waits(device, false);
    *emptied = true;
}

int bd_libav_decoder_send(AVCodecContext *decoder, const AVPacket *packet, struct bd_device *device,
                          bool *emptied)
{
    struct bd_device *waited = *emptied ? device : NULL;
    bd_device_waits(waited, true);
    const int error = avcodec_send_packet(decoder, packet);
    bd_device_waits(waited, false);
    *emptied = false;
    return error;
}

void bd_libav_decoder_leave_out(AVCodecContext *decoder, const AVPacket *packet, int64_t wanted,
                                enum AVDiscard otherwise)
{
    bool able = decoder->codec_id == AV_CODEC_ID_H264 && !decoder->hw_device_ctx;
    bool early = packet && packet->pts != AV_NOPTS_VALUE && packet->pts < wanted;
    if (able && otherwise < AVDISCARD_NONREF)
        decoder->skip_frame = early ? AVDISCARD_NONREF : otherwise;
}

void bd_libav_decoder_close(AVCodecContext **decoder, struct bd_device *device)
{
    bd_device_waits(device, true);
    avcodec_free_context(decoder);
    bd_device_waits(device, false);
}

enum bd_status bd_libav_check_first(enum bd_status status, const AVFrame *first,
                                    const AVCodecContext *decoder, const struct bd_libav_input *in,
                                    const char *hwaccel, int64_t damaged)
{
    const char *codec = avcodec_get_name(decoder->codec_id);
    if (status == BD_END && bd_libav_input_index_is_late(in))
        return bd_fail(BD_ERROR_FORMAT,
                       "'%s': its index (moov) comes after its pictures, and a pipe cannot go back "
                       "to them: name the file itself, or write it with -movflags +faststart",
                       in->name);
    if (status == BD_END)
        return bd_fail(BD_ERROR_FORMAT,
                       "'%s': none of its video (%s) could be decoded; %lld packets or frames are "
                       "damaged",
                       in->name, codec, (long long)damaged);
    if (status == BD_OK && hwaccel && !first->hw_frames_ctx && strcmp(hwaccel, "auto") != 0)
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "%s cannot decode this kind of %s ('%s'); leave the "
                       "option out to decode on the CPU",
                       hwaccel, codec, in->name);
    return status;
}

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
        bd_log(in->faults,
               "'%s': a rotation of %.0f degrees is ignored: only quarter turns are done", in->name,
               -av_display_rotation_get(matrix));
    return turn;
}

static struct bd_rational rational(AVRational q)
{
    return q.num > 0 && q.den > 0 ? (struct bd_rational){ q.num, q.den }
                                  : (struct bd_rational){ 0, 1 };
}

/* See reader.h. The length of a container with other streams may be that of the sound. */
static double stated_duration(const AVFormatContext *format, const AVStream *stream,
                              AVRational rate)
{
    double stated = 0;
    if (stream->duration > 0)
        stated = (double)stream->duration * av_q2d(stream->time_base);
    else if (format->duration > 0 && format->nb_streams == 1 &&
             format->duration_estimation_method != AVFMT_DURATION_FROM_BITRATE)
        /* Matroska counts from zero, where the first frame may be later. */
        stated = (double)(format->duration - (format->start_time > 0 ? format->start_time : 0)) /
                 AV_TIME_BASE;
    /* libavformat shortens the length of an AVI to the size of its file. */
    if (strcmp(format->iformat->name, "avi") == 0 && rate.num > 0)
        stated = fmax(stated, (double)stream->nb_frames * av_q2d(av_inv_q(rate)));
    return stated;
}

/* Seconds from the start that the container states to the first frame. An AVI has decoding times
 * alone: its first frame may come later by as many as the decoder holds back. */
static double start_lost(const AVFormatContext *format, const AVStream *stream,
                         const AVFrame *first)
{
    const int64_t pts = first->best_effort_timestamp;
    bool known = stream->start_time != AV_NOPTS_VALUE && pts != AV_NOPTS_VALUE &&
                 strcmp(format->iformat->name, "avi") != 0;
    return known ? fmax(0, (double)(pts - stream->start_time) * av_q2d(stream->time_base)) : 0;
}

void bd_libav_describe(struct bd_reader_info *info, const struct bd_libav_input *in, AVFrame *first,
                       struct bd_turn turn)
{
    const AVFormatContext *format = in->format;
    AVStream *stream = in->stream;
    AVRational rate = bd_libav_rate(stream);
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
    info->stated_duration = info->live ? 0 : stated_duration(format, stream, rate);
    if (info->stated_duration > 0) {
        const double lost = start_lost(format, stream, first);
        info->stated_duration = fmax(0, info->stated_duration - lost);
        info->lost_start =
            lost > 1 ? lost : 0; /* less may be pictures that belong to those before */
        info->duration = fmax(0, info->duration - info->lost_start);
    }
    info->frame_count = stream->nb_frames;
    info->frames_stated = stream->nb_frames > 0;
    if (info->frame_count <= 0 && info->frame_rate.num)
        info->frame_count = (int64_t)(info->duration * av_q2d(rate) + 0.5);
    snprintf(info->codec, sizeof info->codec, "%s", avcodec_get_name(stream->codecpar->codec_id));
    snprintf(info->container, sizeof info->container, "%s", format->iformat->name);
}
