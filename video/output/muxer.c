#include "video/output/muxer.h"

#include <errno.h>
#include <inttypes.h>
#include <libavutil/avstring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "video/libav.h"

struct bd_muxer {
    struct bd_part *part;
    const char *path; /* for messages */
    AVFormatContext *format;
    AVStream *stream;
    enum bd_writer_clock clock;
    AVRational time_base; /* of the moments; seconds a unit */
    int64_t frame;        /* usual duration of a frame in stream units, 0 where unknown */
    int64_t origin;       /* in moments: what is time 0 in the file */
    int64_t last;         /* decoding time of the last packet, stream units */
    bool fragments;
    bool started;
    bool moved; /* a time did not fit, and this was logged */
};

/* The text of an operating system's error says more than that of libavformat. */
static enum bd_status fail_libav(const char *path, int error)
{
    if (error == AVERROR(ENOMEM))
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory to write it", path);
    if (error == AVERROR(ENOSPC) || error == AVERROR(EDQUOT) || error == AVERROR(EACCES) ||
        error == AVERROR(EROFS) || error == AVERROR(EISDIR))
        return bd_output_fail(path, -error);
    return bd_fail(BD_ERROR_IO, "%s: cannot be written: %s", path, bd_libav_reason(error));
}

static AVRational rational(struct bd_rational value, AVRational otherwise)
{
    AVRational r = otherwise;
    if (value.num > 0 && value.den > 0)
        av_reduce(&r.num, &r.den, value.num, value.den, INT32_MAX);
    return r.num > 0 && r.den > 0 ? r : otherwise;
}

/* Frames per second, for containers with a constant rate. */
static AVRational fixed_rate(const struct bd_writer_options *options, AVRational time_base)
{
    AVRational tick = av_inv_q(time_base);
    return rational(options->frame_rate, av_q2d(tick) <= 240 ? tick : (AVRational){ 25, 1 });
}

static void set_time_scale(int scale, AVDictionary **settings)
{
    av_dict_set_int(settings, "video_track_timescale", scale, 0);
    /* The file's own clock times a late start; libraries before FFmpeg 5 fix it at 1/1000 s. */
    av_dict_set_int(settings, "movie_timescale", scale, 0);
}

/* The muxer's options that make the container keep the time base. */
static void set_clock(struct bd_muxer *m, const struct bd_writer_options *options,
                      AVDictionary **settings)
{
    m->stream->time_base = m->time_base;
    if (m->clock == BD_CLOCK_FIXED) {
        m->stream->time_base = av_inv_q(fixed_rate(options, m->time_base));
    } else if (m->clock == BD_CLOCK_SCALE) {
        set_time_scale(m->time_base.den, settings);
    }
    m->stream->avg_frame_rate = rational(options->frame_rate, (AVRational){ 0, 1 });
}

/* A file that ends before its index does not play. */
static void use_fragments(struct bd_muxer *m, AVDictionary **settings)
{
    m->fragments = av_match_name(m->format->oformat->name, "mp4,mov,3gp,3g2,ipod,psp,f4v");
    if (!m->fragments)
        return;
    av_dict_set(settings, "frag_duration", "1000000", 0); /* microseconds */
    /* The header waits for the first fragment, to tell when the film begins. */
    av_dict_set(settings, "movflags", "+delay_moov", 0);
}

enum bd_status bd_muxer_open(struct bd_muxer **muxer, struct bd_part *part,
                             const struct bd_writer_plan *plan,
                             const struct bd_writer_options *options, const AVCodecContext *codec)
{
    struct bd_muxer *m = *muxer = calloc(1, sizeof *m);
    const char *path = bd_part_path(part);
    char *url = NULL;
    AVDictionary *settings = NULL;
    /* "file:" keeps libavformat from taking a name with a colon for a protocol. */
    if (!m || asprintf(&url, "file:%s", bd_part_name(part)) < 0) {
        free(m);
        *muxer = NULL;
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory to write it", path);
    }
    m->part = part;
    m->path = path;
    m->clock = plan->clock;
    m->time_base = rational(options->time_base, (AVRational){ 1, 1000 });
    bd_libav_forget();
    int error = avformat_alloc_output_context2(&m->format, plan->muxer, NULL, url);
    if (error < 0)
        goto error;
    error = AVERROR(ENOMEM);
    m->stream = avformat_new_stream(m->format, NULL);
    if (!m->stream || avcodec_parameters_from_context(m->stream->codecpar, codec) < 0)
        goto error;
    m->stream->sample_aspect_ratio = codec->sample_aspect_ratio;
    set_clock(m, options, &settings);
    use_fragments(m, &settings);
    m->format->flags |= AVFMT_FLAG_FLUSH_PACKETS; /* a program that is killed loses little */
    if ((error = avio_open(&m->format->pb, url, AVIO_FLAG_WRITE)) < 0)
        goto error;
    error = AVERROR(ESPIPE); /* indexes would be lost, and libavformat says nothing */
    if (!bd_part_is_direct(part) && !(m->format->pb->seekable & AVIO_SEEKABLE_NORMAL))
        goto error;
    if ((error = avformat_write_header(m->format, &settings)) < 0)
        goto error;
    avio_flush(m->format->pb); /* reports a full disk now */
    if ((error = m->format->pb->error) < 0)
        goto error;
    AVRational rate = rational(options->frame_rate, (AVRational){ 0, 1 });
    if (rate.num)
        m->frame = av_rescale_q(1, av_inv_q(rate), m->stream->time_base);
    av_dict_free(&settings);
    free(url);
    return BD_OK;

error:
    fail_libav(path, error);
    if (m->format && m->format->pb)
        avio_closep(&m->format->pb);
    avformat_free_context(m->format);
    av_dict_free(&settings);
    free(url);
    free(m);
    *muxer = NULL;
    return error == AVERROR(ENOMEM) ? BD_ERROR_MEMORY : BD_ERROR_IO;
}

/* A moment's time in the stream's units. Matroska counts milliseconds, AVI frames: where a time
 * does not fit, the nearest that does. */
static int64_t stream_time(struct bd_muxer *m, int64_t time)
{
    int64_t units = av_rescale_q(time - m->origin, m->time_base, m->stream->time_base);
    if (m->clock == BD_CLOCK_FIXED && !m->moved &&
        av_compare_ts(units, m->stream->time_base, time - m->origin, m->time_base) != 0) {
        m->moved = true;
        bd_log(BD_LOG_WARNING,
               "%s: a .%s file has one constant frame rate (here %.4g/s): frames are moved to the "
               "nearest tick; .mp4 and .nut keep exact times, .mkv milliseconds",
               m->path, m->format->oformat->name, av_q2d(av_inv_q(m->stream->time_base)));
    }
    return units;
}

enum bd_status bd_muxer_write(struct bd_muxer *m, AVPacket *packet, struct bd_moment shown,
                              int64_t decoded)
{
    /* A file of a constant rate cannot start late. What .mp4 and .mov show before time 0 is not
     * played: a film of such times starts there. (Matroska moves it so by itself.) */
    if (!m->started &&
        (m->clock == BD_CLOCK_FIXED || (m->clock == BD_CLOCK_SCALE && shown.pts < 0)))
        m->origin = shown.pts;
    packet->pts = stream_time(m, shown.pts);
    packet->dts = decoded == shown.pts ? packet->pts : stream_time(m, decoded);
    if (m->started && packet->dts <= m->last)
        packet->dts = m->last + 1; /* two frames within a tick of the container */
    packet->pts = packet->pts < packet->dts ? packet->dts : packet->pts;
    packet->duration = shown.duration > 0
                           ? av_rescale_q(shown.duration, m->time_base, m->stream->time_base)
                           : m->frame;
    packet->stream_index = m->stream->index;
    m->last = packet->dts;
    m->started = true;
    bd_libav_forget();
    int error = av_write_frame(m->format, packet);
    if (error >= 0)
        error = m->format->pb->error;
    return error < 0 ? fail_libav(m->path, error) : BD_OK;
}

/* What the encoder said of the stream, with the codec's header as the container holds it. */
static int describe_stream(AVStream *stream, const struct bd_muxer *m, const AVStream *from)
{
    AVCodecParameters *about = stream->codecpar;
    const AVCodecParameters *held = from->codecpar;
    int error = avcodec_parameters_copy(about, m->stream->codecpar);
    if (error < 0)
        return error;
    av_freep(&about->extradata);
    about->extradata_size = 0;
    if (held->extradata_size > 0) {
        about->extradata = av_mallocz((size_t)held->extradata_size + AV_INPUT_BUFFER_PADDING_SIZE);
        if (!about->extradata)
            return AVERROR(ENOMEM);
        memcpy(about->extradata, held->extradata, (size_t)held->extradata_size);
        about->extradata_size = held->extradata_size;
    }
    stream->time_base = m->stream->time_base;
    stream->avg_frame_rate = m->stream->avg_frame_rate;
    stream->sample_aspect_ratio = m->stream->sample_aspect_ratio;
    return 0;
}

/* Copies the packets of `from` to the file `url`, as an ordinary film. 0 or an AVERROR. */
static int copy_packets(const struct bd_muxer *m, AVFormatContext *from, const char *url)
{
    AVFormatContext *to = NULL;
    AVDictionary *settings = NULL;
    AVPacket *packet = av_packet_alloc();
    int error = packet ? avformat_alloc_output_context2(&to, m->format->oformat, NULL, url)
                       : AVERROR(ENOMEM);
    AVStream *stream = error < 0 ? NULL : avformat_new_stream(to, NULL);
    if (error >= 0)
        error = stream ? describe_stream(stream, m, from->streams[0]) : AVERROR(ENOMEM);
    if (error >= 0) {
        set_time_scale(stream->time_base.den, &settings);
        error = avio_open(&to->pb, url, AVIO_FLAG_WRITE);
    }
    if (error >= 0)
        error = avformat_write_header(to, &settings);
    while (error >= 0 && (error = av_read_frame(from, packet)) >= 0) {
        av_packet_rescale_ts(packet, from->streams[0]->time_base, stream->time_base);
        packet->pos = -1;
        error = av_write_frame(to, packet);
        av_packet_unref(packet);
    }
    if (error == AVERROR_EOF)
        error = av_write_trailer(to);
    if (to && to->pb) {
        int closed = avio_closep(&to->pb);
        error = error < 0 ? error : closed;
    }
    avformat_free_context(to);
    av_dict_free(&settings);
    av_packet_free(&packet);
    return error;
}

/* Makes an ordinary film of the fragments. Where that fails they stay: they play as well. */
static void join_fragments(struct bd_muxer *m)
{
    AVFormatContext *from = NULL;
    char *fragments = NULL, *whole = NULL;
    int error = AVERROR(ENOMEM);
    if (asprintf(&fragments, "file:%s", bd_part_name(m->part)) < 0)
        fragments = NULL;
    if (asprintf(&whole, "file:%s.whole", bd_part_name(m->part)) < 0)
        whole = NULL;
    bd_libav_forget();
    if (fragments && whole)
        error = avformat_open_input(&from, fragments, NULL, NULL);
    if (error >= 0)
        error = from->nb_streams == 1 ? copy_packets(m, from, whole) : AVERROR_INVALIDDATA;
    avformat_close_input(&from);
    if (error >= 0 && bd_part_substitute(m->part, whole + strlen("file:")) != BD_OK)
        error = AVERROR(EPERM);
    if (error < 0) {
        bd_log(BD_LOG_WARNING, "%s: stays in fragments, which play, but have no index: %s", m->path,
               bd_libav_reason(error));
        if (whole)
            unlink(whole + strlen("file:"));
    }
    free(fragments);
    free(whole);
}

/* Whether the first picture of the closed file is there. */
static bool has_picture(const struct bd_muxer *m)
{
    /* Pixels without a header play from the first byte on; devices cannot be read again. */
    if (bd_part_is_direct(m->part) || strcmp(m->format->oformat->name, "rawvideo") == 0)
        return true;
    const AVInputFormat *demuxer = av_find_input_format(m->format->oformat->name);
    AVFormatContext *from = NULL;
    AVPacket *packet = av_packet_alloc();
    char *url = NULL;
    int error = AVERROR(ENOMEM);
    if (packet && asprintf(&url, "file:%s", bd_part_name(m->part)) >= 0)
        error = avformat_open_input(&from, url, (AVInputFormat *)(uintptr_t)demuxer, NULL);
    if (error >= 0)
        error = av_read_frame(from, packet);
    /* What cannot be known is kept. */
    bool has = error == AVERROR(ENOMEM) || (error >= 0 && !(packet->flags & AV_PKT_FLAG_CORRUPT));
    avformat_close_input(&from);
    av_packet_free(&packet);
    free(url);
    return has;
}

enum bd_status bd_muxer_close(struct bd_muxer **muxer, bool whole, bool *plays)
{
    struct bd_muxer *m = *muxer;
    *plays = true;
    if (!m)
        return BD_OK;
    bd_libav_forget();
    int error = av_write_trailer(m->format);
    if (!m->started)
        error = 0; /* some muxers object to a film without a picture */
    avio_flush(m->format->pb);
    if (error >= 0)
        error = m->format->pb->error;
    int closed = avio_closep(&m->format->pb);
    if (error >= 0)
        error = closed;
    if (error >= 0 && whole && m->fragments && m->started && !bd_part_is_direct(m->part))
        join_fragments(m);
    enum bd_status status = error < 0 ? fail_libav(m->path, error) : BD_OK;
    if (error < 0 || !whole)
        *plays = has_picture(m);
    avformat_free_context(m->format);
    free(m);
    *muxer = NULL;
    return status;
}
