#include "video/output/cut_file.h"

#include <errno.h>
#include <libavutil/avstring.h>
#include <stdio.h>
#include <stdlib.h>

#include "video/libav.h"
#include "video/output_file.h"

struct bd_cut_file {
    struct bd_part *part;
    AVFormatContext *format;
    struct track {
        AVRational time_base; /* of the input's packets */
        int64_t origin;       /* the input's time of the file's time 0 */
        int64_t usual;        /* duration of a packet, in the input's units; at least 1 */
        int64_t decoded;      /* when the last packet was decoded, in units of the file */
        bool started;
    } tracks[bd_cut_most_streams];
};

static enum bd_status fail(const struct bd_cut_file *file, int error)
{
    const char *path = bd_part_path(file->part);
    if (error == AVERROR(ENOMEM))
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory to write it", path);
    if (error == AVERROR(ENOSPC) || error == AVERROR(EDQUOT) || error == AVERROR(EFBIG))
        return bd_output_fail(path, -error);
    return bd_fail(BD_ERROR_IO, "%s: cannot be written: %s", path, bd_libav_reason(error));
}

/* The rotation of the pictures and the like. Since FFmpeg 6.1 the parameters have it with them. */
static int copy_side_data(AVStream *to, const AVStream *from)
{
#if LIBAVCODEC_VERSION_INT < AV_VERSION_INT(60, 31, 102)
    for (int i = 0; i < from->nb_side_data; i++) {
        const AVPacketSideData *data = &from->side_data[i];
        uint8_t *copy = av_stream_new_side_data(to, data->type, data->size);
        if (!copy)
            return AVERROR(ENOMEM);
        memcpy(copy, data->data, data->size);
    }
#else
    (void)to;
    (void)from;
#endif
    return 0;
}

/* The container's own tag for the codec, or that of the input where the container knows it. */
static uint32_t tag_of(const AVOutputFormat *muxer, const AVCodecParameters *about)
{
    bool known =
        muxer->codec_tag && av_codec_get_id(muxer->codec_tag, about->codec_tag) == about->codec_id;
    return known ? about->codec_tag : 0;
}

static int add_stream(struct bd_cut_file *file, const AVStream *from)
{
    AVStream *to = avformat_new_stream(file->format, NULL);
    if (!to)
        return AVERROR(ENOMEM);
    int error = avcodec_parameters_copy(to->codecpar, from->codecpar);
    if (error >= 0)
        error = copy_side_data(to, from);
    if (error < 0)
        return error;
    to->codecpar->codec_tag = tag_of(file->format->oformat, from->codecpar);
    to->time_base = from->time_base;
    to->avg_frame_rate = from->avg_frame_rate;
    to->sample_aspect_ratio = from->sample_aspect_ratio;
    to->disposition = from->disposition;
    return av_dict_copy(&to->metadata, from->metadata, 0);
}

static void begin_track(struct track *track, const AVStream *from, const AVStream *first,
                        int64_t origin)
{
    AVRational rate = from->avg_frame_rate;
    bool known = rate.num > 0 && rate.den > 0;
    *track =
        (struct track){ .time_base = from->time_base,
                        .origin = av_rescale_q(origin, first->time_base, from->time_base),
                        .usual = known ? av_rescale_q(1, av_inv_q(rate), from->time_base) : 1 };
    track->usual = track->usual > 0 ? track->usual : 1;
}

/* Lets a film with any time scale keep the times as they are. */
static int write_header(struct bd_cut_file *file)
{
    AVDictionary *settings = NULL;
    AVRational time_base = file->format->streams[0]->time_base;
    if (time_base.num == 1 && av_match_name(file->format->oformat->name, "mp4,mov")) {
        av_dict_set_int(&settings, "video_track_timescale", time_base.den, 0);
        av_dict_set_int(&settings, "movie_timescale", time_base.den, 0);
    }
    int error = avformat_write_header(file->format, &settings);
    av_dict_free(&settings);
    return error;
}

static int open_format(struct bd_cut_file *file, const AVOutputFormat *muxer,
                       const AVStream *const *streams, int count, int64_t origin)
{
    char *url = NULL;
    int error = AVERROR(ENOMEM);
    /* "file:" keeps libavformat from taking a name with a colon for a protocol. */
    if (asprintf(&url, "file:%s", bd_part_name(file->part)) < 0)
        return error;
    bd_libav_forget();
    error = avformat_alloc_output_context2(&file->format, muxer, NULL, url);
    for (int i = 0; i < count && error >= 0; i++) {
        error = add_stream(file, streams[i]);
        begin_track(&file->tracks[i], streams[i], streams[0], origin);
    }
    if (error >= 0)
        error = avio_open(&file->format->pb, url, AVIO_FLAG_WRITE);
    if (error >= 0)
        error = write_header(file);
    free(url);
    return error;
}

/* Closes everything but the part. */
static int close_format(struct bd_cut_file *file)
{
    int error = 0;
    if (file->format && file->format->pb)
        error = avio_closep(&file->format->pb);
    avformat_free_context(file->format);
    file->format = NULL;
    return error;
}

enum bd_status bd_cut_file_open(struct bd_cut_file **file, const char *path, bool overwrite,
                                const AVOutputFormat *muxer, const AVStream *const *streams,
                                int count, int64_t origin)
{
    *file = NULL;
    struct bd_cut_file *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory to write it", path);
    enum bd_status status = bd_part_open(&self->part, path, overwrite);
    int error = status ? 0 : open_format(self, muxer, streams, count, origin);
    if (error < 0) {
        status = fail(self, error);
        close_format(self);
        bd_part_close(&self->part, BD_PART_NONE);
    }
    if (status)
        free(self);
    else
        *file = self;
    return status;
}

/* A packet after a seek may not say when it is decoded: a picture after the one before, and no
 * later than it is shown. Each is decoded after the one before. */
static void complete_times(struct track *track, AVPacket *packet, const AVStream *to)
{
    int64_t usual = av_rescale_q(track->usual, track->time_base, to->time_base);
    if (packet->pts == AV_NOPTS_VALUE)
        packet->pts = packet->dts;
    if (packet->dts == AV_NOPTS_VALUE) {
        int64_t delay = to->codecpar->video_delay * usual;
        packet->dts = track->started ? track->decoded + usual : packet->pts - delay;
        packet->dts = packet->dts > packet->pts ? packet->pts : packet->dts;
    }
    if (track->started && packet->dts <= track->decoded)
        packet->dts = track->decoded + 1;
    if (packet->pts < packet->dts)
        packet->pts = packet->dts;
    if (packet->duration <= 0)
        packet->duration = to->codecpar->codec_type == AVMEDIA_TYPE_VIDEO ? usual : 0;
    track->decoded = packet->dts;
    track->started = true;
}

enum bd_status bd_cut_file_write(struct bd_cut_file *file, AVPacket *packet, int number)
{
    struct track *track = &file->tracks[number];
    const AVStream *to = file->format->streams[number];
    if (packet->pts != AV_NOPTS_VALUE)
        packet->pts -= track->origin;
    if (packet->dts != AV_NOPTS_VALUE)
        packet->dts -= track->origin;
    av_packet_rescale_ts(packet, track->time_base, to->time_base);
    complete_times(track, packet, to);
    packet->stream_index = number;
    packet->pos = -1;
    bd_libav_forget();
    int error = av_interleaved_write_frame(file->format, packet);
    if (error >= 0)
        error = file->format->pb->error;
    return error < 0 ? fail(file, error) : BD_OK;
}

enum bd_status bd_cut_file_close(struct bd_cut_file **file, bool whole)
{
    struct bd_cut_file *self = *file;
    enum bd_status status = BD_OK;
    if (!self)
        return BD_OK;
    bd_libav_forget();
    /* The trailer also frees what the muxer holds; of a broken file its failure says nothing. */
    int error = av_write_trailer(self->format);
    avio_flush(self->format->pb);
    if (error >= 0)
        error = self->format->pb->error;
    int closed = close_format(self);
    if (error >= 0)
        error = closed;
    if (whole && error < 0)
        status = fail(self, error);
    enum bd_status named =
        bd_part_close(&self->part, whole && error >= 0 ? BD_PART_WHOLE : BD_PART_NONE);
    free(self);
    *file = NULL;
    return status ? status : named;
}
