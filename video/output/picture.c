/* Single pictures. */
#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avstring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "video/input/convert.h"
#include "video/libav.h"
#include "video/output/writer.h"

enum bd_status bd_picture_write(const char *path, const struct bd_frame *frame)
{
    struct bd_writer_options options = { .width = frame->width,
                                         .height = frame->height,
                                         .format = frame->format,
                                         .time_base = { 1, 25 },
                                         .overwrite = true };
    struct bd_writer *writer = NULL;
    enum bd_status status = bd_writer_open(&writer, path, &options);
    if (status != BD_OK)
        return status;
    status = bd_writer_write(writer, frame);
    enum bd_status closed = bd_writer_close(&writer);
    return status != BD_OK ? status : closed;
}

struct picture {
    const char *path;
    AVIOContext *io;
    AVFormatContext *format;
    AVCodecContext *codec;
    AVPacket *packet;
    AVFrame *frame;
};

static enum bd_status fail_reading(const char *path, int error)
{
    return bd_fail(error == AVERROR(ENOMEM) ? BD_ERROR_MEMORY : BD_ERROR_FORMAT,
                   "%s: is not a picture that can be read: %s", path, bd_libav_reason(error));
}

static enum bd_status check_readable(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return bd_fail(BD_ERROR_IO, "%s: cannot be read: %s", path, strerror(errno));
    if (S_ISDIR(about.st_mode))
        return bd_fail(BD_ERROR_IO, "%s: is a folder; a picture is wanted", path);
    if (S_ISREG(about.st_mode) && about.st_size == 0)
        return bd_fail(BD_ERROR_FORMAT, "%s: is empty; a picture is wanted", path);
    return BD_OK;
}

/* The file is opened by us and recognised by its content: a '%' in its name means nothing. */
static enum bd_status open_picture(struct picture *p)
{
    char *url = NULL;
    if (asprintf(&url, "file:%s", p->path) < 0)
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory to read it", p->path);
    int error = avio_open(&p->io, url, AVIO_FLAG_READ);
    free(url);
    if (error < 0)
        return bd_fail(BD_ERROR_IO, "%s: cannot be read: %s", p->path, bd_libav_reason(error));
    const AVInputFormat *guess = NULL;
    if (av_probe_input_buffer2(p->io, &guess, "", NULL, 0, 0) >= 0 &&
        av_match_name(guess->name, "hls,dash,concat,sdp,imf"))
        return bd_fail(BD_ERROR_FORMAT, "%s: is a list of other files (%s); a picture is wanted",
                       p->path, guess->name);
    p->format = avformat_alloc_context();
    if (!p->format)
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory to read it", p->path);
    p->format->pb = p->io;
    p->format->flags |= AVFMT_FLAG_CUSTOM_IO;          /* or what closes the format closes it too */
    p->format->protocol_whitelist = av_strdup("data"); /* a picture refers to nothing else */
    if (!p->format->protocol_whitelist)
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory to read it", p->path);
    if ((error = avformat_open_input(&p->format, "", NULL, NULL)) < 0 ||
        (error = avformat_find_stream_info(p->format, NULL)) < 0)
        return fail_reading(p->path, error);
    error = av_find_best_stream(p->format, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
    if (error < 0)
        return fail_reading(p->path, error);
    const AVCodecParameters *about = p->format->streams[error]->codecpar;
    for (int i = 0; i < (int)p->format->nb_streams; i++)
        p->format->streams[i]->discard = i == error ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
    const AVCodec *codec = avcodec_find_decoder(about->codec_id);
    p->codec = avcodec_alloc_context3(codec);
    if (!p->codec || avcodec_parameters_to_context(p->codec, about) < 0)
        return fail_reading(p->path, AVERROR(ENOMEM));
    p->codec->thread_count = 1;
    error = avcodec_open2(p->codec, codec, NULL);
    return error < 0 ? fail_reading(p->path, error) : BD_OK;
}

static enum bd_status decode_picture(struct picture *p)
{
    p->packet = av_packet_alloc();
    p->frame = av_frame_alloc();
    if (!p->packet || !p->frame)
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory to read it", p->path);
    int error = av_read_frame(p->format, p->packet);
    if (error >= 0)
        error = avcodec_send_packet(p->codec, p->packet);
    if (error >= 0)
        error = avcodec_send_packet(p->codec, NULL);
    if (error >= 0)
        error = avcodec_receive_frame(p->codec, p->frame);
    return error < 0 ? fail_reading(p->path, error) : BD_OK;
}

static enum bd_status convert(const struct picture *p, enum bd_pixel_format format,
                              struct bd_frame *frame)
{
    struct bd_converter *converter = NULL;
    enum bd_status status = bd_converter_create(&converter, p->frame->width, p->frame->height,
                                                format, (struct bd_turn){ false, false, false });
    if (status == BD_OK)
        status = bd_converter_run(converter, frame, p->frame);
    bd_converter_destroy(&converter);
    return status;
}

enum bd_status bd_picture_read(const char *path, enum bd_pixel_format format,
                               struct bd_frame *frame)
{
    struct picture p = { .path = path };
    bd_libav_init();
    bd_libav_forget();
    enum bd_status status = check_readable(path);
    if (status == BD_OK)
        status = open_picture(&p);
    if (status == BD_OK)
        status = decode_picture(&p);
    if (status == BD_OK)
        status = convert(&p, format, frame);
    if (status == BD_OK)
        frame->index = frame->pts = frame->duration = 0;
    av_frame_free(&p.frame);
    av_packet_free(&p.packet);
    avcodec_free_context(&p.codec);
    avformat_close_input(&p.format);
    avio_closep(&p.io);
    return status;
}
