#include "video/output/cut.h"

#include <libavutil/avstring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "video/input/libav_input.h"
#include "video/libav.h"
#include "video/output/cut_file.h"

/* Packets that are looked at when the film is opened, and at most held back for those before. */
enum { looked_at = 100, most_held = 32 };

struct bd_cutter {
    struct bd_libav_input input;
    const AVOutputFormat *muxer;
    const AVStream *sound; /* NULL: none that is copied */
    const char *lost_sound;
    char extension[16];
    AVPacket *packet;
};

/* A stretch that is copied. Times are in units of the pictures' stream. */
struct run {
    struct bd_cutter *cutter;
    struct bd_cut_file *file;
    int64_t start, to;
    int64_t last;     /* the latest picture that was written */
    int64_t pictures; /* that were written */
    bool begun;       /* the first key frame was met */
    bool pictures_end, sound_ends;
    AVPacket *held[most_held]; /* pictures behind the end; those before may need them */
    int held_count;
};

enum { picture_stream, sound_stream };

/* When a packet is shown: where nothing is reordered, when it is decoded. */
static int64_t shown_at(const AVPacket *packet)
{
    return packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
}

static enum bd_status fail_reading(const struct bd_cutter *cutter, int error)
{
    enum bd_status status = bd_libav_status(error);
    return bd_fail(status, "cannot copy from '%s': %s", cutter->input.name, bd_libav_reason(error));
}

/* Goes to the packets before `time`; to the first packet if `time` is AV_NOPTS_VALUE. */
static int go_to(struct bd_cutter *cutter, int64_t time)
{
    AVFormatContext *format = cutter->input.format;
    int stream = cutter->input.stream->index;
    if (time != AV_NOPTS_VALUE)
        return avformat_seek_file(format, stream, INT64_MIN, time, time, 0);
    int error = avformat_seek_file(format, stream, INT64_MIN, INT64_MIN / 2, INT64_MAX, 0);
    int64_t first = cutter->input.stream->start_time;
    if (error < 0 && first != AV_NOPTS_VALUE)
        error = avformat_seek_file(format, stream, INT64_MIN, first, first, 0);
    return error < 0 ? av_seek_frame(format, -1, 0, AVSEEK_FLAG_BYTE) : error;
}

/* The next packet of the pictures or of the sound. AVERROR_EOF at the end, also of a film that was
 * cut off: the reader has said so. */
static int next_packet(struct bd_cutter *cutter)
{
    for (int failures = 0; failures < looked_at;) {
        av_packet_unref(cutter->packet);
        int error = av_read_frame(cutter->input.format, cutter->packet);
        if (error == AVERROR_INVALIDDATA)
            failures++;
        else if (error < 0)
            return error;
        else if (cutter->packet->stream_index == cutter->input.stream->index ||
                 (cutter->sound && cutter->packet->stream_index == cutter->sound->index))
            return 0;
    }
    return AVERROR_EOF;
}

static bool is_picture(const struct bd_cutter *cutter)
{
    return cutter->packet->stream_index == cutter->input.stream->index;
}

/* Looks through the packets here for the last key frame at or before `from`; `first`: for the first
 * key frame, if there is none. */
static int look_for_key(struct bd_cutter *cutter, int64_t from, bool first, int64_t *key,
                        bool *beyond)
{
    const AVPacket *packet = cutter->packet;
    int error;
    *key = AV_NOPTS_VALUE;
    *beyond = false; /* a picture is shown at or after `from` */
    while ((error = next_packet(cutter)) == 0) {
        if (!is_picture(cutter))
            continue;
        bool is_key = packet->flags & AV_PKT_FLAG_KEY;
        *beyond = *beyond || shown_at(packet) >= from;
        if (is_key && (shown_at(packet) <= from || (first && *key == AV_NOPTS_VALUE)))
            *key = shown_at(packet);
        if (*key != AV_NOPTS_VALUE && packet->dts != AV_NOPTS_VALUE && packet->dts > from)
            return 0;
        if (*key == AV_NOPTS_VALUE && is_key)
            return 0;
    }
    return error == AVERROR_EOF ? 0 : error;
}

/* Finds the key frame that a stretch begins with, and goes to packets before it. */
static enum bd_status find_start(struct run *run, int64_t from)
{
    /* Seconds before: some demuxers land behind the given time, or between key frames. */
    static const double retreats[] = { 0, 1, 4, 16, 64, -1 };
    struct bd_cutter *cutter = run->cutter;
    for (size_t i = 0; i < sizeof retreats / sizeof *retreats; i++) {
        bool first = retreats[i] < 0, beyond;
        int64_t back = (int64_t)(retreats[i] / av_q2d(cutter->input.stream->time_base));
        int64_t aim = first ? AV_NOPTS_VALUE : from - back;
        bd_libav_forget();
        int error = go_to(cutter, aim);
        if (error >= 0)
            error = look_for_key(cutter, from, first, &run->start, &beyond);
        if (error < 0 && first)
            return fail_reading(cutter, error);
        if (error < 0 || run->start == AV_NOPTS_VALUE)
            continue;
        if (!beyond || run->start > run->to)
            break;
        error = go_to(cutter, aim);
        return error < 0 ? fail_reading(cutter, error) : BD_OK;
    }
    return BD_END;
}

static enum bd_status write_picture(struct run *run, AVPacket *packet)
{
    run->last = shown_at(packet) > run->last ? shown_at(packet) : run->last;
    run->pictures++;
    return bd_cut_file_write(run->file, packet, picture_stream);
}

static enum bd_status write_held(struct run *run)
{
    enum bd_status status = BD_OK;
    for (int i = 0; i < run->held_count; i++) {
        if (!status)
            status = write_picture(run, run->held[i]);
        av_packet_free(&run->held[i]);
    }
    run->held_count = 0;
    return status;
}

static enum bd_status hold(struct run *run, const AVPacket *packet)
{
    enum bd_status status = run->held_count == most_held ? write_held(run) : BD_OK;
    if (status)
        return status;
    run->held[run->held_count] = av_packet_clone(packet);
    if (!run->held[run->held_count])
        return bd_fail(BD_ERROR_MEMORY, "out of memory for a clip");
    run->held_count++;
    return BD_OK;
}

/* Pictures come in the order of decoding. One behind the end is written where one before the end
 * follows it, which may be made from it; then those that are shown between the two are too. */
static enum bd_status take_picture(struct run *run, AVPacket *packet)
{
    int64_t shown = shown_at(packet);
    bool past = packet->dts != AV_NOPTS_VALUE && packet->dts > run->to;
    if (!run->begun && (!(packet->flags & AV_PKT_FLAG_KEY) || shown != run->start))
        return BD_OK;
    run->begun = true;
    if (shown < run->start) /* made from pictures before the key frame */
        return BD_OK;
    if (past && packet->dts >= run->last)
        run->pictures_end = true;
    if (shown > run->to && shown > run->last)
        return past ? BD_OK : hold(run, packet);
    enum bd_status status = write_held(run);
    return status ? status : write_picture(run, packet);
}

static enum bd_status take_sound(struct run *run, AVPacket *packet)
{
    AVRational of_pictures = run->cutter->input.stream->time_base;
    AVRational of_sound = run->cutter->sound->time_base;
    int64_t shown = shown_at(packet);
    if (shown == AV_NOPTS_VALUE || av_compare_ts(shown, of_sound, run->start, of_pictures) < 0)
        return BD_OK;
    if (av_compare_ts(shown, of_sound, run->to, of_pictures) > 0) {
        run->sound_ends = true;
        return BD_OK;
    }
    return bd_cut_file_write(run->file, packet, sound_stream);
}

/* Copies to the end of the stretch, or of the film. */
static enum bd_status copy(struct run *run)
{
    struct bd_cutter *cutter = run->cutter;
    AVPacket *packet = cutter->packet;
    /* Sound comes at most so long after its pictures. */
    int64_t second = (int64_t)(1 / av_q2d(cutter->input.stream->time_base));
    enum bd_status status = BD_OK;
    run->sound_ends = !cutter->sound;
    while (!status && !(run->pictures_end && run->sound_ends)) {
        bd_libav_forget();
        int error = next_packet(cutter);
        if (error == AVERROR_EOF)
            break;
        if (error < 0)
            return fail_reading(cutter, error);
        bool picture = is_picture(cutter);
        if (picture && packet->dts != AV_NOPTS_VALUE && packet->dts - second > run->to)
            run->sound_ends = true;
        status = picture ? take_picture(run, packet) : take_sound(run, packet);
    }
    return status;
}

/* A time of the pictures' stream in nanoseconds, and back: the last one at or before it. */
static const AVRational nanosecond = { 1, 1000000000 };

static int64_t to_units(const struct bd_cutter *cutter, int64_t time, enum AVRounding rounding)
{
    return av_rescale_q_rnd(time, nanosecond, cutter->input.stream->time_base, rounding);
}

static int64_t to_nanoseconds(const struct bd_cutter *cutter, int64_t time)
{
    return av_rescale_q(time, cutter->input.stream->time_base, nanosecond);
}

enum bd_status bd_cutter_cut(struct bd_cutter *cutter, const char *path, bool overwrite,
                             int64_t from, int64_t to, struct bd_cut *cut)
{
    const AVStream *streams[] = { cutter->input.stream, cutter->sound };
    struct run run = { .cutter = cutter,
                       .to = to_units(cutter, to, AV_ROUND_NEAR_INF),
                       .last = INT64_MIN };
    *cut = (struct bd_cut){ 0 };
    enum bd_status status = find_start(&run, to_units(cutter, from, AV_ROUND_NEAR_INF));
    if (!status)
        status = bd_cut_file_open(&run.file, path, overwrite, cutter->muxer, streams,
                                  cutter->sound ? 2 : 1, run.start);
    if (!status)
        status = copy(&run);
    for (int i = 0; i < run.held_count; i++)
        av_packet_free(&run.held[i]);
    av_packet_unref(cutter->packet);
    enum bd_status closed = bd_cut_file_close(&run.file, !status);
    status = status ? status : closed;
    if (!status)
        *cut = (struct bd_cut){ to_nanoseconds(cutter, run.start), to_nanoseconds(cutter, run.last),
                                run.pictures };
    return status;
}

static bool holds(const AVOutputFormat *muxer, const AVStream *stream)
{
    return muxer && avformat_query_codec(muxer, stream->codecpar->codec_id, 0) == 1;
}

/* Chooses the container by the codec of the pictures. Raw ones, which differ from container to
 * container, stay in theirs; NUT says how those without a header are to be read. */
static enum bd_status choose_container(struct bd_cutter *cutter)
{
    const AVStream *pictures = cutter->input.stream;
    char own[64];
    const char *demuxer = cutter->input.format->iformat->name;
    snprintf(own, sizeof own, "%.*s", (int)strcspn(demuxer, ","), demuxer);
    const char *const names[] = { "mp4", "matroska", strcmp(own, "rawvideo") == 0 ? "nut" : own };
    const size_t first = pictures->codecpar->codec_id == AV_CODEC_ID_RAWVIDEO ? 2 : 0;
    for (size_t i = first; i < sizeof names / sizeof *names && !cutter->muxer; i++) {
        const AVOutputFormat *muxer = av_guess_format(names[i], NULL, NULL);
        if (holds(muxer, pictures) && muxer->extensions)
            cutter->muxer = muxer;
    }
    if (!cutter->muxer)
        return bd_fail(BD_ERROR_UNSUPPORTED, "'%s': %s is in no container that can be written",
                       cutter->input.name, bd_cutter_codec(cutter));
    const char *extensions = cutter->muxer->extensions;
    snprintf(cutter->extension, sizeof cutter->extension, "%.*s", (int)strcspn(extensions, ","),
             extensions);
    return BD_OK;
}

/* Sound goes with the pictures where the container holds it. */
static void choose_sound(struct bd_cutter *cutter)
{
    AVFormatContext *format = cutter->input.format;
    int best =
        av_find_best_stream(format, AVMEDIA_TYPE_AUDIO, -1, cutter->input.stream->index, NULL, 0);
    if (best < 0)
        return;
    AVStream *stream = format->streams[best];
    if (holds(cutter->muxer, stream)) {
        stream->discard = AVDISCARD_DEFAULT;
        cutter->sound = stream;
    } else {
        cutter->lost_sound = avcodec_get_name(stream->codecpar->codec_id);
    }
}

/* Whether the packets say when they are shown: the first ones, or all where the container allows a
 * clock that starts anew. A moment in such a film is more than one place. */
static enum bd_status check_times(struct bd_cutter *cutter)
{
    const AVCodecParameters *about = cutter->input.stream->codecpar;
    const AVPacket *packet = cutter->packet;
    int flags = cutter->input.format->iformat->flags, error = 0;
    bool good = !(flags & AVFMT_NOTIMESTAMPS), anew = false;
    double quarter = 0.25 / av_q2d(cutter->input.stream->time_base); /* second, as the reader */
    int64_t last = INT64_MIN;
    for (int i = 0; (flags & AVFMT_TS_DISCONT || i < looked_at) && good && !anew; i++) {
        error = next_packet(cutter);
        if (error < 0)
            break;
        if (!is_picture(cutter))
            continue;
        good = i >= looked_at || packet->pts != AV_NOPTS_VALUE ||
               (about->video_delay == 0 && packet->dts != AV_NOPTS_VALUE);
        if (packet->dts == AV_NOPTS_VALUE)
            continue;
        anew = last != INT64_MIN && (double)last - (double)packet->dts > quarter;
        last = packet->dts;
    }
    if (error < 0 && error != AVERROR_EOF)
        return fail_reading(cutter, error);
    if (anew)
        return bd_fail(BD_ERROR_UNSUPPORTED, "the clock of '%s' starts anew within it",
                       cutter->input.name);
    return good ? BD_OK
                : bd_fail(BD_ERROR_UNSUPPORTED, "'%s': its packets do not say when they are shown",
                          cutter->input.name);
}

enum bd_status bd_cutter_open(struct bd_cutter **cutter, const char *input,
                              const struct bd_reader_options *options)
{
    struct stat about;
    const char *path = strncmp(input, "file:", 5) == 0 ? input + 5 : input;
    *cutter = NULL;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return bd_fail(BD_ERROR_UNSUPPORTED, "'%s' is no file, which can be read twice", input);
    struct bd_cutter *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the clips");
    enum bd_status status = bd_libav_input_open(&self->input, input, options);
    if (status) {
        free(self);
        return status;
    }
    self->packet = av_packet_alloc();
    if (!self->packet)
        status = bd_fail(BD_ERROR_MEMORY, "out of memory for the clips");
    else if (!self->input.seekable)
        status = bd_fail(BD_ERROR_UNSUPPORTED, "'%s' cannot be read from its middle", input);
    if (!status)
        status = choose_container(self);
    if (!status)
        status = check_times(self);
    if (status) {
        bd_cutter_close(&self);
        return status;
    }
    choose_sound(self);
    *cutter = self;
    return BD_OK;
}

const char *bd_cutter_extension(const struct bd_cutter *cutter)
{
    return cutter->extension;
}

const char *bd_cutter_codec(const struct bd_cutter *cutter)
{
    return avcodec_get_name(cutter->input.stream->codecpar->codec_id);
}

const char *bd_cutter_lost_sound(const struct bd_cutter *cutter)
{
    return cutter->lost_sound;
}

void bd_cutter_close(struct bd_cutter **cutter)
{
    struct bd_cutter *self = *cutter;
    if (!self)
        return;
    av_packet_free(&self->packet);
    bd_libav_input_close(&self->input);
    free(self);
    *cutter = NULL;
}
