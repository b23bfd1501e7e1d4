/* The source for everything that FFmpeg reads. It decodes packets to frames and counts damage. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "video/input/libav_clock.h"
#include "video/input/libav_decoder.h"
#include "video/input/libav_parallel.h"
#include "video/input/packets_ahead.h"
#include "video/input/source.h"
#include "video/libav.h"
#include "video/yuv.h"

/* After so many failures in a row at the end of a file its last frames are given up. */
enum { MAX_FAILURES = 1000 };

/* Frames that may wait to be fetched from the hardware: as many as a queue of the program holds
 * unprepared, and one that is decoded ahead. */
enum { waiting_frames = 10 };

/* After a seek, packets that are skipped until a key frame; a stream with more has none. */
enum { MAX_PASSED = 600 };

struct libav_source {
    struct bd_source base;
    struct bd_libav_input input;
    struct bd_packets_ahead ahead; /* of the decoder */
    bool ended;                    /* neither has packets any more */
    AVCodecContext *decoder;
    struct bd_device *device;           /* of the GPU that may decode; NULL: none */
    bool emptied;                       /* see bd_libav_decoder_send */
    AVDictionary *options;              /* that it was opened with */
    struct bd_libav_parallel *parallel; /* decoders of a GPU that help it; NULL: none */
    enum AVDiscard discard;             /* what the decoder skips by default */
    AVPacket *packet;
    AVFrame *frame;    /* decoded last */
    AVFrame *download; /* copy in system memory of a frame of the hardware */
    struct bd_converter *converter;
    enum bd_reader_pictures pictures;
    enum bd_pixel_format format;
    bool pending;          /* `frame` was decoded ahead: the next `next` delivers it */
    int64_t pts, duration; /* of `frame` */
    int64_t origin;        /* pts of the first frame of all */
    int64_t interval;      /* time from a frame to the next where it is not given, >= 1 */
    bool started;          /* a frame was decoded since opening or seeking */
    bool timed;            /* frames have timestamps */
    int64_t wanted;        /* frames before this pts may be left out */
    int passing; /* after a seek: packets that may still be passed over before a key frame */
    int64_t damaged;
};

static void count_damage(struct libav_source *s, const char *what, int error)
{
    /* Frames after a seek may refer to earlier ones: that is no damage of the file. */
    if (!s->started && s->converter)
        return;
    if (s->damaged++ > 0)
        return;
    bd_log(s->input.faults, "'%s': damaged %s skipped: %s (logged once)", s->input.name, what,
           error ? bd_libav_reason(error) : "a picture that is partly concealed");
}

/* What was passed over on the way to packets. */
static void count_passed(struct libav_source *s, struct bd_libav_damage damage)
{
    for (; damage.count; damage.count--)
        count_damage(s, "data", damage.error);
}

/* Concealed pictures are dropped: they would be learned as background. */
static bool is_damaged(const AVFrame *frame)
{
    return (frame->flags & AV_FRAME_FLAG_CORRUPT) || frame->decode_error_flags;
}

static void set_times(struct libav_source *s)
{
    int64_t previous_end = s->pts + (s->duration > 0 ? s->duration : s->interval);
    s->duration = bd_libav_duration(s->frame);
    if (s->frame->best_effort_timestamp != AV_NOPTS_VALUE) {
        s->pts = s->frame->best_effort_timestamp;
        s->timed = true;
    } else if (s->started) {
        s->pts = previous_end;
    } else {
        s->pts = s->origin;
    }
    s->started = true;
}

/* Gets the next packet into s->packet, unless one waits there. Sections have packets of their own,
 * and decode all. */
static enum bd_status read_packet(struct libav_source *s)
{
    struct bd_libav_damage damage = { 0 };
    if (s->packet->data)
        return BD_OK;
    int64_t wanted = bd_libav_parallel_sections(s->parallel) ? INT64_MIN : s->wanted;
    enum bd_status status =
        bd_packets_ahead_read(&s->ahead, s->packet, &s->input, s->decoder, wanted, &damage);
    count_passed(s, damage);
    s->ended = !status && s->input.end.reached && !s->packet->data;
    return status;
}

static int receive(struct libav_source *s)
{
    struct bd_sections *sections = bd_libav_parallel_sections(s->parallel);
    return sections ? bd_sections_receive(sections, s->frame)
                    : avcodec_receive_frame(s->decoder, s->frame);
}

/* Sends the packet; at the end NULL. Sections may refuse it for now (EAGAIN), and it stays. */
static int send(struct libav_source *s)
{
    AVPacket *packet = s->ended ? NULL : s->packet;
    struct bd_sections *sections = bd_libav_parallel_sections(s->parallel);
    if (packet)
        bd_libav_parallel_see(s->parallel, packet);
    int error = sections ? bd_sections_send(sections, packet)
                         : bd_libav_decoder_send(s->decoder, packet, s->device, &s->emptied);
    if (!sections || error != AVERROR(EAGAIN))
        av_packet_unref(s->packet);
    return error;
}

/* Decodes the next good frame into s->frame. */
static enum bd_status decode(struct libav_source *s)
{
    for (int failures = 0;;) {
        int error = receive(s);
        if (error == 0 && !is_damaged(s->frame)) {
            set_times(s);
            return BD_OK;
        }
        /* EAGAIN: the decoder was not told of the end (below). */
        if (error == AVERROR_EOF ||
            (s->ended && (error == AVERROR(EAGAIN) || failures >= MAX_FAILURES))) {
            if (s->input.end.status != BD_END)
                return bd_fail(s->input.end.status, "%s", s->input.end.detail);
            return BD_END;
        }
        if (error == 0 || error != AVERROR(EAGAIN)) {
            count_damage(s, "frame", error);
            failures++;
        }
        if (error == 0 || s->ended)
            continue;
        enum bd_status status = read_packet(s);
        if (status != BD_OK)
            return status;
        if (!s->ended && s->passing > 0) {
            /* Not every decoder marks frames with missing references as damaged. */
            s->passing = (s->packet->flags & AV_PKT_FLAG_KEY) ? 0 : s->passing - 1;
            if (s->passing > 0) {
                av_packet_unref(s->packet);
                continue;
            }
        }
        bd_libav_forget();
        if (!bd_libav_parallel_sections(s->parallel))
            bd_libav_decoder_leave_out(s->decoder, s->ended ? NULL : s->packet, s->wanted,
                                       s->discard);
        error = send(s);
        if (s->packet->data)
            continue; /* it waits */
        if (s->ended && error < 0 && error != AVERROR_EOF) {
            s->input.end.status = bd_libav_status(error);
            snprintf(s->input.end.detail, sizeof s->input.end.detail,
                     "the end of '%.150s' is not decoded: %s", s->input.name,
                     bd_libav_reason(error));
            continue;
        }
        /* EAGAIN: after a failed receive the decoder may still hold frames; only then this packet
         * is lost. */
        if (error < 0 && error != AVERROR_EOF) {
            count_damage(s, "packet", error);
            failures++;
        }
    }
}

static enum bd_status libav_next(struct bd_source *base, int64_t wanted, int64_t *pts,
                                 int64_t *duration)
{
    struct libav_source *s = (struct libav_source *)base;
    s->wanted = wanted;
    if (!s->pending) {
        if (!s->ended && wanted == INT64_MIN) {
            if (!bd_libav_parallel_sections(s->parallel))
                s->decoder->skip_frame = s->discard; /* a seek may have left another one */
            bd_libav_parallel_join(s->parallel);
        }
        enum bd_status status = decode(s);
        if (status != BD_OK)
            return status;
    }
    s->pending = false;
    *pts = s->pts;
    *duration = s->duration;
    return BD_OK;
}

/* Decoders of sections read packets of their own. */
static enum bd_status libav_start(struct bd_source *base, int64_t earliest, int64_t *wanted)
{
    struct libav_source *s = (struct libav_source *)base;
    struct bd_libav_damage damage = { 0 };
    enum bd_status status = BD_OK;
    if (!bd_libav_parallel_sections(s->parallel))
        status =
            bd_packets_ahead_start(&s->ahead, &s->input, s->decoder, earliest, wanted, &damage);
    count_passed(s, damage);
    return status;
}

/* A picture that nobody wants in pixels stays with the hardware, or is copied there, until a thread
 * that needs its samples fetches them: the decoder goes on. */
static enum bd_status libav_picture(struct bd_source *base, struct bd_frame *frame)
{
    struct libav_source *s = (struct libav_source *)base;
    const AVFrame *picture = s->frame;
    struct bd_yuv *yuv = NULL;
    enum bd_status status = BD_OK;
    if (s->pictures == BD_PICTURES_DECODED && !(yuv = bd_libav_parallel_picture(picture)))
        status = bd_converter_share(s->converter, &yuv, picture);
    if (!status && yuv) {
        bd_frame_destroy(frame);
        *frame =
            (struct bd_frame){ .width = yuv->width, .height = yuv->height, .format = s->format };
        bd_frame_set_yuv(frame, yuv);
        return BD_OK;
    }
    if (!status && picture->hw_frames_ctx) {
        status = bd_libav_fetch(s->download, picture, s->input.name);
        picture = s->download;
    }
    if (!status && s->pictures == BD_PICTURES_BOTH)
        status = bd_converter_share(s->converter, &yuv, picture);
    if (!status)
        status = bd_converter_run(s->converter, frame, picture);
    if (status)
        bd_yuv_release(yuv);
    else
        bd_frame_set_yuv(frame, yuv);
    return status;
}

/* Empties the decoder and decodes one frame ahead, after the demuxer has moved. */
static enum bd_status restart(struct libav_source *s)
{
    struct bd_sections *sections = bd_libav_parallel_sections(s->parallel);
    if (sections)
        bd_sections_flush(sections);
    else
        bd_libav_decoder_flush(s->decoder, s->device, &s->emptied);
    s->started = false;
    s->pending = false;
    s->wanted = INT64_MIN;
    s->ended = false;
    bd_libav_input_moved(&s->input);
    bd_packets_ahead_clear(&s->ahead);
    av_packet_unref(s->packet);
    enum bd_status status = decode(s);
    s->pending = status == BD_OK;
    return status;
}

/* Goes to a first frame at or before `target`; *there says whether there is one. */
static enum bd_status try_from_here(struct libav_source *s, int64_t target, bool *there)
{
    s->passing = MAX_PASSED;
    enum bd_status status = restart(s);
    s->passing = 0;
    *there = status == BD_OK && s->pts <= target;
    return status == BD_END ? BD_OK : status;
}

/* Goes to the first frame, by its time, if that is `sure`, or by the first byte, whichever works.
 */
static enum bd_status rewind_input(struct libav_source *s, bool sure)
{
    AVFormatContext *format = s->input.format;
    int stream = s->input.stream->index;
    bool there = false;
    enum bd_status status = BD_OK;
    if (sure && s->timed &&
        avformat_seek_file(format, stream, INT64_MIN, s->origin, s->origin, 0) >= 0)
        status = try_from_here(s, s->origin, &there);
    if (status != BD_OK || there)
        return status;
    if (av_seek_frame(format, -1, 0, AVSEEK_FLAG_BYTE) >= 0 ||
        av_seek_frame(format, stream, s->origin, AVSEEK_FLAG_BACKWARD) >= 0) {
        status = restart(s);
        return status == BD_END ? BD_OK : status;
    }
    return bd_fail(BD_ERROR_IO, "cannot seek in '%s' (%s)", s->input.name, format->iformat->name);
}

static enum bd_status libav_seek(struct bd_source *base, int64_t target)
{
    /* Seconds before the target to seek to: some demuxers land behind the given time, or between
     * key frames. */
    static const double retreats[] = { 0, 1, 4, 16, 64 };
    struct libav_source *s = (struct libav_source *)base;
    bool there = false;
    for (size_t i = 0; s->timed && i < sizeof retreats / sizeof *retreats; i++) {
        int64_t aim = target - (int64_t)(retreats[i] / av_q2d(s->input.stream->time_base));
        if (aim <= s->origin)
            break;
        if (avformat_seek_file(s->input.format, s->input.stream->index, INT64_MIN, aim, aim, 0) < 0)
            continue;
        enum bd_status status = try_from_here(s, target, &there);
        if (status != BD_OK || there)
            return status;
    }
    return rewind_input(s, target != INT64_MIN || !bd_libav_clock_may_restart(&s->input));
}

static bool libav_restarts(struct bd_source *base)
{
    return bd_libav_clock_restarts(&((struct libav_source *)base)->input);
}

static int64_t libav_damaged(const struct bd_source *base)
{
    return ((const struct libav_source *)base)->damaged;
}

static bool libav_cut(const struct bd_source *base)
{
    return ((const struct libav_source *)base)->input.end.cut;
}

static void libav_inherit(struct bd_source *base, struct bd_source *before)
{
    bd_converter_inherit_tone_curve(((struct libav_source *)base)->converter,
                                    ((struct libav_source *)before)->converter);
}

static void libav_close(struct bd_source **base)
{
    struct libav_source *s = (struct libav_source *)*base;
    bd_libav_parallel_close(&s->parallel);
    bd_converter_destroy(&s->converter);
    av_frame_free(&s->download);
    av_frame_free(&s->frame);
    av_packet_free(&s->packet);
    bd_packets_ahead_clear(&s->ahead);
    bd_libav_decoder_close(&s->decoder, s->device);
    av_dict_free(&s->options);
    bd_libav_input_close(&s->input);
    free(s);
    *base = NULL;
}

static enum bd_status open_decoder(struct libav_source *s, const char *input,
                                   const struct bd_reader_options *options, const char *hwaccel)
{
    enum bd_status status = bd_libav_input_open(&s->input, input, options);
    if (status != BD_OK)
        return status;
    av_dict_free(&s->options);
    if (av_dict_copy(&s->options, s->input.options, 0) < 0) {
        bd_libav_input_close(&s->input);
        return bd_fail(BD_ERROR_MEMORY, "no memory to open '%s'", input);
    }
    status =
        bd_libav_decoder_open(&s->decoder, &s->input, options->threads, hwaccel, waiting_frames);
    if (status != BD_OK)
        return status;
    s->discard = s->decoder->skip_frame;
    if (options->device && s->pictures == BD_PICTURES_DECODED && !s->input.live) {
        bd_libav_parallel_close(&s->parallel);
        bd_libav_parallel_create(&s->parallel, &s->input, s->decoder, s->options, options->decoders,
                                 options->device);
    }
    AVStream *stream = s->input.stream;
    AVRational rate = bd_libav_rate(stream);
    bool known = rate.num > 0 && rate.den > 0;
    s->interval = known ? FFMAX(av_rescale_q(1, av_inv_q(rate), stream->time_base), 1) : 1;
    s->origin = stream->start_time != AV_NOPTS_VALUE ? stream->start_time : 0;
    return BD_OK;
}

/* Opens and decodes the first frame. */
static enum bd_status open_first(struct libav_source *s, const char *input,
                                 const struct bd_reader_options *options, const char *hwaccel)
{
    enum bd_status status = open_decoder(s, input, options, hwaccel);
    if (status != BD_OK)
        return status;
    status = restart(s);
    return bd_libav_check_first(status, s->frame, s->decoder, &s->input, hwaccel, s->damaged);
}

static enum bd_status libav_open(struct bd_source **source, const char *input,
                                 const struct bd_reader_options *options,
                                 struct bd_reader_info *info)
{
    struct libav_source *s = calloc(1, sizeof *s);
    enum bd_status status = BD_ERROR_MEMORY;
    *source = NULL;
    if (!s)
        return bd_fail(BD_ERROR_MEMORY, "no memory to open '%s'", input);
    s->base.ops = &bd_source_libav;
    s->pictures = options->pictures;
    s->format = options->format;
    s->device = options->device;
    struct bd_source *base = &s->base;
    s->packet = av_packet_alloc();
    s->frame = av_frame_alloc();
    s->download = av_frame_alloc();
    if (!s->packet || !s->frame || !s->download) {
        bd_fail(BD_ERROR_MEMORY, "no memory to open '%s'", input);
        goto error;
    }
    status = open_first(s, input, options, options->hwaccel);
    if (status == BD_OK && s->decoder->hw_device_ctx && !s->frame->hw_frames_ctx &&
        s->input.seekable) {
        /* "auto" found hardware that does not decode this stream: start again with threads. */
        av_frame_unref(s->frame);
        bd_libav_decoder_close(&s->decoder, s->device);
        bd_libav_input_close(&s->input);
        status = open_first(s, input, options, NULL);
    }
    if (status != BD_OK)
        goto error;
    s->origin = s->pts;
    struct bd_turn turn = bd_libav_turn(&s->input, s->frame);
    bd_libav_describe(info, &s->input, s->frame, turn);
    status = bd_converter_create(&s->converter, s->frame->width, s->frame->height, options->format,
                                 turn);
    if (status == BD_OK && options->tone_curve)
        status = bd_converter_use_tone_curve(s->converter, s->frame, &info->tone_curve);
    if (status != BD_OK)
        goto error;
    if (s->pictures == BD_PICTURES_DECODED)
        bd_converter_use_device(s->converter, options->device);
    bd_converter_set_faults(s->converter, options->faults);
    info->helped = bd_libav_parallel_watch(s->parallel, s->converter, info, options->duration);
    *source = base;
    return BD_OK;
error:
    libav_close(&base);
    return status;
}

const struct bd_source_ops bd_source_libav = {
    .open = libav_open,
    .next = libav_next,
    .start = libav_start,
    .picture = libav_picture,
    .seek = libav_seek,
    .restarts = libav_restarts,
    .damaged = libav_damaged,
    .cut = libav_cut,
    .inherit = libav_inherit,
    .close = libav_close,
};
