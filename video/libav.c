#include "video/libav.h"

#include <libavdevice/avdevice.h>
#include <libavformat/avformat.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char first_error[200];

/* Messages come from any thread, decoder threads included. */
static void on_log(void *context, int level, const char *format, va_list args)
{
    if (level > av_log_get_level())
        return;
    char line[400];
    int prefix = 0; /* the address of a context means nothing to a reader of the log */
    av_log_format_line2(context, level, format, args, line, sizeof line, &prefix);
    line[strcspn(line, "\r\n")] = 0;
    if (!line[0])
        return;
    if (level <= AV_LOG_ERROR && !first_error[0])
        snprintf(first_error, sizeof first_error, "%.199s", line);
    bd_log(BD_LOG_DEBUG, "ffmpeg: %s", line);
}

static void init(void)
{
    av_log_set_callback(on_log);
    avdevice_register_all();
    avformat_network_init();
}

void bd_libav_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init);
}

void bd_libav_forget(void)
{
    first_error[0] = 0;
}

const char *bd_libav_logged(void)
{
    return first_error;
}

const char *bd_libav_reason(int error)
{
    static _Thread_local char reason[sizeof first_error];
    if (first_error[0])
        snprintf(reason, sizeof reason, "%s", first_error);
    else
        av_strerror(error, reason, sizeof reason);
    size_t length = strlen(reason);
    while (length > 0 && strchr(". ", reason[length - 1]))
        reason[--length] = 0;
    return reason;
}

enum AVPixelFormat bd_libav_format(enum bd_pixel_format format)
{
    return format == BD_GRAY8   ? AV_PIX_FMT_GRAY8
           : format == BD_RGB24 ? AV_PIX_FMT_RGB24
                                : AV_PIX_FMT_RGBA;
}

int64_t bd_libav_duration(const AVFrame *frame)
{
#if LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 30, 100)
    return FFMAX(frame->duration, 0);
#else
    return FFMAX(frame->pkt_duration, 0);
#endif
}

enum bd_status bd_libav_status(int error)
{
    switch (error) {
    case AVERROR_INVALIDDATA:
    case AVERROR_EOF:
    case AVERROR_STREAM_NOT_FOUND:
        return BD_ERROR_FORMAT;
    case AVERROR_DEMUXER_NOT_FOUND:
    case AVERROR_MUXER_NOT_FOUND:
    case AVERROR_DECODER_NOT_FOUND:
    case AVERROR_ENCODER_NOT_FOUND:
    case AVERROR_PROTOCOL_NOT_FOUND:
    case AVERROR_PATCHWELCOME:
    case AVERROR(ENOSYS):
        return BD_ERROR_UNSUPPORTED;
    case AVERROR_OPTION_NOT_FOUND:
    case AVERROR(ERANGE):
        return BD_ERROR_ARGUMENT;
    case AVERROR(ENOMEM):
        return BD_ERROR_MEMORY;
    case AVERROR_EXIT:
        return BD_ERROR_INTERRUPTED;
    default:
        return BD_ERROR_IO;
    }
}
