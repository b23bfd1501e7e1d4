#include "video/input/libav_input.h"

#include <errno.h>
#include <fcntl.h>
#include <libavutil/avstring.h>
#include <libavutil/mem.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "video/input/image_pattern.h"
#include "video/libav.h"

#if LIBAVFORMAT_VERSION_MAJOR < 59 /* FFmpeg 4.4 hands demuxers around without const */
typedef AVInputFormat input_format;
#else
typedef const AVInputFormat input_format;
#endif

/* After so many failures in a row a file counts as ended. */
enum { most_failures = 1000 };

/* What INPUT names. */
enum kind { KIND_URL, KIND_FILE, KIND_PATTERN, KIND_PIPE, KIND_CAMERA, KIND_DEVICE };

bool bd_libav_input_interrupted(struct bd_libav_input *in)
{
    if (!in->was_interrupted && in->interrupted && in->interrupted(in->user))
        in->was_interrupted = true;
    return in->was_interrupted;
}

static int on_interrupt(void *opaque)
{
    return bd_libav_input_interrupted(opaque);
}

static bool is_device(const AVInputFormat *format)
{
    return format && format->priv_class && AV_IS_INPUT_DEVICE(format->priv_class->category);
}

/* A device that delivers frames in real time. lavfi is a device that does not: it computes frames
 * on request. */
static bool is_live_device(const AVInputFormat *format)
{
    return is_device(format) && strcmp(format->name, "lavfi") != 0;
}

/* A source that sends in real time, whether we read or not: a device, or an endless stream. */
static bool is_live(const struct bd_libav_input *in)
{
    char scheme[16];
    if (is_device(in->format->iformat))
        return is_live_device(in->format->iformat);
    const char *end = strstr(in->name, "://");
    if (!end || in->format->duration > 0)
        return false;
    snprintf(scheme, sizeof scheme, "%.*s", (int)(end - in->name), in->name);
    if (av_match_name(scheme, "rtsp,rtsps,rtp,udp,srt,rist,rtmp,rtmps"))
        return true;
    return strncmp(scheme, "http", 4) == 0 &&
           av_match_name(in->format->iformat->name, "hls,mpjpeg");
}

static bool is_seekable(const struct bd_libav_input *in)
{
    const AVFormatContext *format = in->format;
    if (is_device(format->iformat) || in->live || (format->ctx_flags & AVFMTCTX_UNSEEKABLE))
        return false;
    return format->pb ? (format->pb->seekable & AVIO_SEEKABLE_NORMAL) != 0 : format->duration > 0;
}

/* Finds the kind of INPUT, and checks paths: our error lines are clearer than those of FFmpeg. */
static enum bd_status classify(const char *input, const AVInputFormat *format, enum kind *kind)
{
    struct stat info;
    *kind = KIND_URL;
    if (is_device(format) && strncmp(input, "/dev/video", 10) != 0) {
        *kind = KIND_DEVICE;
        return BD_OK;
    }
    if (strcmp(input, "-") == 0) {
        *kind = KIND_PIPE;
        return BD_OK;
    }
    if (stat(input, &info) != 0) {
        int error = errno;
        const char *protocol = avio_find_protocol_name(input);
        if (strstr(input, "://") || (protocol && strcmp(protocol, "file") != 0) ||
            strncmp(input, "file:", 5) == 0)
            return BD_OK;
        if (strncmp(input, "/dev/video", 10) == 0)
            return bd_fail(BD_ERROR_IO,
                           "no camera at '%s': plug one in, or name another (ls /dev/video*)",
                           input);
        if (error == ENOENT && bd_image_pattern_is(input)) {
            *kind = KIND_PATTERN;
            return BD_OK;
        }
        return bd_fail(BD_ERROR_IO, "cannot open '%s': %s", input, strerror(error));
    }
    if (S_ISDIR(info.st_mode))
        return bd_fail(BD_ERROR_IO,
                       "'%s' is a folder: name a video file, or a pattern as '%s/in%%06d.jpg'",
                       input, input);
    if (access(input, R_OK) != 0)
        return bd_fail(BD_ERROR_IO, "cannot read '%s': %s", input, strerror(errno));
    if (S_ISREG(info.st_mode) && info.st_size == 0)
        return bd_fail(BD_ERROR_FORMAT, "'%s' is empty (0 bytes), not a video", input);
    if (S_ISFIFO(info.st_mode))
        *kind = KIND_PIPE;
    else if (strncmp(input, "/dev/video", 10) == 0)
        *kind = KIND_CAMERA;
    else
        *kind = KIND_FILE;
    return BD_OK;
}

/* Limits what the content of an input may make FFmpeg open (docs/security.md). FFmpeg has such
 * lists for files and for http; they are lost where we read a pipe for it, and other protocols have
 * none. A user's own list stays. */
static enum bd_status limit_protocols(struct bd_libav_input *in, enum kind kind)
{
    /* Of streams that are sent to us: what they may refer to is elsewhere on the network. */
    static const char remote[] = "http,https,httpproxy,tls,tcp,udp,rtp,srtp,ffrtmphttp,ffrtmpcrypt";
    char scheme[32] = "", list[200] = "crypto,data";
    if (kind == KIND_URL)
        snprintf(scheme, sizeof scheme, "%.*s", (int)strcspn(in->name, ":,"), in->name);
    if (kind != KIND_PIPE &&
        (kind != KIND_URL || av_match_name(scheme, "file,http,https,pipe,fd,concat,concatf")))
        return BD_OK;
    if (kind == KIND_URL) /* some read what is named behind them */
        snprintf(list, sizeof list, "%s,%s,crypto,data%s", scheme, remote,
                 av_match_name(scheme, "subfile,cache,async,crypto") ? ",file" : "");
    if (av_dict_set(&in->options, "protocol_whitelist", list, AV_DICT_DONT_OVERWRITE) < 0)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the input options");
    return BD_OK;
}

static enum bd_status find_format(const char *name, input_format **format)
{
    *format = av_find_input_format(name);
    if (!*format)
        return bd_fail(
            BD_ERROR_UNSUPPORTED,
            "unknown input format '%s': 'ffmpeg -formats' and 'ffmpeg -devices' list them", name);
    return BD_OK;
}

/* Puts the given options, and the number a pattern begins with, into in->options. */
static enum bd_status collect_options(struct bd_libav_input *in, enum kind kind,
                                      const struct bd_reader_options *options)
{
    for (int i = 0; i < options->input_option_count; i++) {
        const struct bd_key_value *o = &options->input_options[i];
        if (av_dict_set(&in->options, o->key, o->value, 0) < 0)
            return bd_fail(BD_ERROR_MEMORY, "no memory for the input options");
    }
    if (kind != KIND_PATTERN || av_dict_get(in->options, "start_number", NULL, 0))
        return BD_OK;
    int first = 0, beyond_gap = 0;
    enum bd_status status = bd_image_pattern_find(in->name, &first, &beyond_gap);
    if (status != BD_OK)
        return status;
    if (beyond_gap > 0) {
        in->gap = true;
        bd_log(in->faults, "'%s': a number is missing; %d pictures behind the gap are not read",
               in->name, beyond_gap);
    }
    av_dict_set_int(&in->options, "start_number", first, 0);
    return BD_OK;
}

static enum bd_status open_failed(const struct bd_libav_input *in, const AVInputFormat *format,
                                  int error)
{
    if (in->was_interrupted)
        return bd_fail(BD_ERROR_INTERRUPTED, "opening '%s' was interrupted", in->name);
    if (strstr(bd_libav_logged(), "not on whitelist"))
        return bd_fail(BD_ERROR_FORMAT,
                       "'%s' refers to what it may not open (%s); if you trust it, allow that with "
                       "--input-option protocol_whitelist=LIST",
                       in->name, bd_libav_reason(error));
    if (error == AVERROR_INVALIDDATA && !format)
        return bd_fail(BD_ERROR_FORMAT, "'%s' is not a video that FFmpeg can read: %s", in->name,
                       bd_libav_reason(error));
    return bd_fail(bd_libav_status(error), "cannot open '%s'%s%s: %s", in->name,
                   format ? " as " : "", format ? format->name : "", bd_libav_reason(error));
}

enum { BUFFER_BYTES = 1 << 16, POLL_MS = 100 };

/* Stdin and named pipes, where waiting for data can be interrupted. */
struct pipe_input {
    int fd;
    const AVIOInterruptCB *interrupt;
};

static int read_some(void *opaque, uint8_t *data, int size)
{
    struct pipe_input *in = opaque;
    for (;;) {
        if (in->interrupt->callback && in->interrupt->callback(in->interrupt->opaque))
            return AVERROR_EXIT;
        struct pollfd waiting = { .fd = in->fd, .events = POLLIN };
        int ready = poll(&waiting, 1, POLL_MS);
        if (ready == 0 || (ready < 0 && errno == EINTR))
            continue;
        if (ready < 0)
            return AVERROR(errno);
        ssize_t got = read(in->fd, data, (size_t)size);
        if (got > 0)
            return (int)got;
        if (got == 0)
            return AVERROR_EOF;
        if (errno != EINTR && errno != EAGAIN)
            return AVERROR(errno);
    }
}

/* Opens PATH ("-": stdin, which stays open afterwards). `interrupt` is called ten times a second
 * while waiting for data; it must outlive the context. */
static enum bd_status open_pipe(AVIOContext **io, const char *path,
                                const AVIOInterruptCB *interrupt)
{
    *io = NULL;
    /* Without O_NONBLOCK opening a named pipe would wait for its writer and could not be
     * interrupted. */
    int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return bd_fail(BD_ERROR_IO, "cannot open '%s': %s", path, strerror(errno));
    struct pipe_input *in = malloc(sizeof *in);
    uint8_t *buffer = av_malloc(BUFFER_BYTES);
    if (in && buffer) {
        *in = (struct pipe_input){ fd, interrupt };
        *io = avio_alloc_context(buffer, BUFFER_BYTES, 0, in, read_some, NULL, NULL);
    }
    if (!*io) {
        av_free(buffer);
        free(in);
        if (fd != STDIN_FILENO)
            close(fd);
        return bd_fail(BD_ERROR_MEMORY, "no memory to read '%s'", path);
    }
    return BD_OK;
}

static void close_pipe(AVIOContext **io)
{
    if (!*io)
        return;
    struct pipe_input *in = (*io)->opaque;
    if (in->fd != STDIN_FILENO)
        close(in->fd);
    free(in);
    av_freep(&(*io)->buffer);
    avio_context_free(io);
}

/* Opens the container. */
static enum bd_status open_format(struct bd_libav_input *in, enum kind kind, input_format *format)
{
    char prefixed[4096];
    const char *url = in->name;
    in->format = avformat_alloc_context();
    if (!in->format)
        return bd_fail(BD_ERROR_MEMORY, "no memory to open '%s'", in->name);
    in->format->interrupt_callback = (AVIOInterruptCB){ on_interrupt, in };
    /* Devices then return EAGAIN instead of waiting where they cannot be interrupted. */
    in->format->flags |= AVFMT_FLAG_NONBLOCK;
    if (is_live_device(format)) /* frames read while opening are old: not delivered */
        in->format->flags |= AVFMT_FLAG_NOBUFFER;
    if (kind == KIND_PIPE) {
        enum bd_status status = open_pipe(&in->pipe, in->name, &in->format->interrupt_callback);
        if (status != BD_OK)
            return status;
        in->format->pb = in->pipe;
        url = "pipe:";
    } else if (kind == KIND_FILE && strchr(in->name, ':')) {
        /* Without the prefix, a file named "a:b" would be an address of protocol a. */
        snprintf(prefixed, sizeof prefixed, "file:%s", in->name);
        url = prefixed;
    }
    bd_libav_forget();
    int error = avformat_open_input(&in->format, url, format, &in->options);
    return error < 0 ? open_failed(in, format, error) : BD_OK;
}

/* What an input without video holds instead. */
static const char *describe_streams(const AVFormatContext *format)
{
    for (unsigned i = 0; i < format->nb_streams; i++)
        if (format->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_AUDIO)
            return "only sound";
    return format->nb_streams ? "no moving picture in it" : "nothing in it";
}

static enum bd_status choose_stream(struct bd_libav_input *in, bool format_was_named)
{
    bd_libav_forget();
    int error = avformat_find_stream_info(in->format, NULL);
    if (in->was_interrupted)
        return bd_fail(BD_ERROR_INTERRUPTED, "opening '%s' was interrupted", in->name);
    /* FFmpeg renders text files as video of a terminal. */
    if (!format_was_named && strcmp(in->format->iformat->name, "tty") == 0)
        return bd_fail(BD_ERROR_FORMAT, "'%s' is text, not a video", in->name);
    int best = av_find_best_stream(in->format, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
    if (best < 0 && error < 0)
        return open_failed(in, NULL, error);
    if (best < 0 || (in->format->streams[best]->disposition & AV_DISPOSITION_ATTACHED_PIC))
        return bd_fail(BD_ERROR_FORMAT, "'%s' (%s) has no video: %s", in->name,
                       in->format->iformat->name, describe_streams(in->format));
    for (int i = 0; i < (int)in->format->nb_streams; i++)
        if (i != best)
            in->format->streams[i]->discard = AVDISCARD_ALL;
    in->stream = in->format->streams[best];
    return BD_OK;
}

enum bd_status bd_libav_input_open(struct bd_libav_input *in, const char *input,
                                   const struct bd_reader_options *options)
{
    *in = (struct bd_libav_input){ .name = strdup(input),
                                   .faults = options->faults,
                                   .interrupted = options->interrupted,
                                   .user = options->user };
    if (!in->name)
        return bd_fail(BD_ERROR_MEMORY, "no memory to open '%s'", input);
    bd_libav_init();
    input_format *format = NULL;
    enum kind kind = KIND_URL;
    enum bd_status status = BD_OK;
    if (options->input_format)
        status = find_format(options->input_format, &format);
    if (status == BD_OK)
        status = classify(input, format, &kind);
    if (status == BD_OK && !format && kind == KIND_CAMERA)
        status = find_format("v4l2", &format);
    if (status == BD_OK && !format && kind == KIND_PATTERN)
        status = find_format("image2", &format);
    if (status == BD_OK)
        status = collect_options(in, kind, options);
    if (status == BD_OK)
        status = limit_protocols(in, kind);
    if (status == BD_OK)
        status = open_format(in, kind, format);
    if (status == BD_OK)
        status = choose_stream(in, options->input_format != NULL);
    if (status != BD_OK) {
        bd_libav_input_close(in);
        return status;
    }
    in->live = is_live(in);
    in->seekable = is_seekable(in);
    return BD_OK;
}

/* Whether the packets ended where the demuxer expected more. It says so in its log alone. */
static bool is_cut(const struct bd_libav_input *in)
{
    const AVIOContext *io = in->format->pb;
    const char *said = bd_libav_logged();
    return (io && io->error < 0 && io->error != AVERROR_EOF) || strstr(said, "ended prematurely") ||
           strstr(said, "partial file");
}

/* Whether the demuxer of Matroska has passed over bytes that it cannot read: it goes on with the
 * next cluster that it finds, and says so in its log alone. */
static bool has_passed_over(void)
{
    const char *said = bd_libav_logged();
    return strstr(said, "exceeds containing") || strstr(said, "exceeds max length") ||
           strstr(said, "invalid as first byte");
}

static void end(struct bd_libav_input *in, int error)
{
    in->end = (struct bd_libav_end){ .reached = true, .cut = is_cut(in), .status = BD_END };
    if (error == AVERROR_EOF || error == AVERROR_INVALIDDATA || in->gap)
        return;
    in->end.status = bd_libav_status(error);
    snprintf(in->end.detail, sizeof in->end.detail, "reading '%.150s' broke off: %s", in->name,
             bd_libav_reason(error));
}

/* The demuxer calls each picture partial; of a film that is cut off, it reads the first ones. */
bool bd_libav_input_index_is_late(const struct bd_libav_input *in)
{
    const AVIOContext *io = in->format->pb;
    return !in->began && in->end.cut && io && !(io->seekable & AVIO_SEEKABLE_NORMAL) &&
           av_match_name("mov", in->format->iformat->name);
}

static enum bd_status interrupted(const struct bd_libav_input *in)
{
    return bd_fail(BD_ERROR_INTERRUPTED, "reading '%s' was interrupted", in->name);
}

enum bd_status bd_libav_input_read(struct bd_libav_input *in, AVPacket *packet,
                                   struct bd_libav_damage *damage)
{
    for (int failures = 0; !in->end.reached;) {
        if (bd_libav_input_interrupted(in))
            return interrupted(in);
        bd_libav_forget();
        int error = av_read_frame(in->format, packet);
        if (error == 0 && has_passed_over())
            *damage = (struct bd_libav_damage){ damage->count + 1, AVERROR_INVALIDDATA };
        in->began |= error == 0;
        if (error == 0 && packet->stream_index == in->stream->index)
            return BD_OK;
        if (error == 0) {
            av_packet_unref(packet);
        } else if (error == AVERROR(EAGAIN)) {
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        } else if (in->was_interrupted) {
            return interrupted(in);
        } else if (error == AVERROR_INVALIDDATA && ++failures < most_failures) {
            *damage = (struct bd_libav_damage){ damage->count + 1, error };
        } else {
            end(in, error);
            if (bd_libav_input_index_is_late(in))
                *damage = (struct bd_libav_damage){ 0 };
        }
    }
    return BD_OK;
}

AVRational bd_libav_rate(const AVStream *stream)
{
    return stream->avg_frame_rate.num ? stream->avg_frame_rate : stream->r_frame_rate;
}

void bd_libav_input_moved(struct bd_libav_input *in)
{
    in->end = (struct bd_libav_end){ .status = BD_END };
}

void bd_libav_input_close(struct bd_libav_input *in)
{
    avformat_close_input(&in->format);
    close_pipe(&in->pipe);
    av_dict_free(&in->options);
    free(in->name);
    *in = (struct bd_libav_input){ 0 };
}
