#include "video/output/writer.h"

#include <inttypes.h>
#include <libavutil/cpu.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "video/input/image_pattern.h"
#include "video/libav.h"
#include "video/output/encoder.h"
#include "video/output/muxer.h"
#include "video/output_file.h"

/* Frames that an encoder may hold back (look-ahead and threads: 60 to 100 in practice). */
enum { HELD_MAX = 1024 };

struct bd_writer {
    char *path;
    /* The film or the picture, or an empty file that keeps others from writing a sequence. */
    struct bd_part *part;
    struct bd_writer_options options; /* without the codecs */
    struct bd_writer_plan plan;
    struct bd_encoder *encoder;
    struct bd_muxer *muxer; /* NULL: pictures */
    AVPacket *packet;
    bool sequence; /* a picture file a frame, by a numbered name */
    int64_t sent, written;
    /* Of frame number i of this writer, at i % HELD_MAX. */
    struct {
        struct bd_moment moment;
        int64_t index;
    } held[HELD_MAX];
    bool failed; /* and the error was returned */
    bool keeps_old;
};

static enum bd_status check_options(const char *path, const struct bd_writer_options *o)
{
    if (o->width < 1 || o->height < 1)
        return bd_fail(BD_ERROR_ARGUMENT, "%s: size %d x %d: both sides must be at least 1", path,
                       o->width, o->height);
    if (o->format != BD_GRAY8 && o->format != BD_RGB24 && o->format != BD_RGBA32)
        return bd_fail(BD_ERROR_ARGUMENT, "%s: pixel format %d is none of gray, rgb, rgba", path,
                       (int)o->format);
    return BD_OK;
}

/* The name of pictures may hold a number; that of a film never does, even with a '%' in it. */
static enum bd_status open_part(struct bd_writer *w)
{
    w->sequence = w->plan.pictures && bd_image_pattern_is(w->path);
    if (!w->sequence)
        return bd_part_open(&w->part, w->path, w->options.overwrite);
    char name[PATH_MAX];
    int first, beyond;
    if (av_get_frame_filename2(name, sizeof name, w->path, 1, 0) < 0)
        return bd_fail(BD_ERROR_ARGUMENT, "%s: a numbered name has one %%d, as in mask%%06d.png",
                       w->path);
    enum bd_status status = bd_output_check(name, true);
    if (status == BD_OK && !w->options.overwrite &&
        bd_image_pattern_find(w->path, &first, &beyond) == BD_OK)
        status = bd_fail(BD_ERROR_IO,
                         "%s: files of this name exist already (number %d); -y "
                         "replaces them",
                         w->path, first);
    return status == BD_OK ? bd_part_open(&w->part, w->path, true) : status;
}

static enum bd_status fail_single(const struct bd_writer *w)
{
    return bd_fail(BD_ERROR_ARGUMENT,
                   "%s: this name holds one picture; a name as mask%%06d.png holds many", w->path);
}

/* Threads of the encoder; 0: as many as libavcodec takes. */
static int threads_of(const struct bd_writer *w)
{
    int most = w->plan.most_threads, wanted = w->options.threads;
    /* A single picture must be out when its write returns: no thread may hold it back. */
    if (w->plan.pictures && !w->sequence)
        return 1;
    if (!most)
        return 0;
    if (!wanted)
        wanted = av_cpu_count();
    return wanted < most ? wanted : most;
}

enum bd_status bd_writer_open(struct bd_writer **writer, const char *path,
                              const struct bd_writer_options *options)
{
    *writer = NULL;
    enum bd_status status = check_options(path, options);
    if (status != BD_OK)
        return status;
    bd_libav_init();
    struct bd_writer *w = *writer = calloc(1, sizeof *w);
    if (w) {
        w->path = strdup(path);
        w->packet = av_packet_alloc();
    }
    if (!w || !w->path || !w->packet) {
        status = bd_fail(BD_ERROR_MEMORY, "%s: no memory for the writer", path);
        goto error;
    }
    w->options = *options;
    w->options.codec = w->options.film_codec = NULL;
    if ((status = bd_writer_plan_make(&w->plan, w->path, options)) != BD_OK ||
        (status = open_part(w)) != BD_OK)
        goto error;
    if (options->many && w->plan.pictures && !w->sequence) {
        status = fail_single(w);
        goto error;
    }
    status = bd_encoder_open(&w->encoder, w->path, &w->plan, options, threads_of(w));
    if (status == BD_OK && !w->plan.pictures)
        status =
            bd_muxer_open(&w->muxer, w->part, &w->plan, options, bd_encoder_context(w->encoder));
    if (status == BD_OK)
        return BD_OK;

error:
    if (w)
        bd_part_close(&w->part, BD_PART_NONE);
    bd_writer_close(writer);
    return status;
}

static enum bd_status write_picture(struct bd_writer *w, int64_t index)
{
    char name[PATH_MAX];
    const AVPacket *p = w->packet;
    if (!w->sequence)
        return bd_part_write(w->part, p->data, (size_t)p->size);
    if (index < 0 || index >= INT_MAX ||
        av_get_frame_filename2(name, sizeof name, w->path, (int)index + 1, 0) < 0)
        return bd_fail(BD_ERROR_IO, "%s: no name for frame %" PRId64, w->path, index);
    return bd_output_write(name, p->data, (size_t)p->size, w->options.overwrite);
}

/* The decoding time of packet i. Encoders that reorder start at negative numbers: those times lie
 * before the first one, as far apart as the first two. */
static int64_t decoding_time(const struct bd_writer *w, int64_t i)
{
    if (i >= 0)
        return w->held[i % HELD_MAX].moment.pts;
    int64_t gap = w->sent > 1 ? w->held[1].moment.pts - w->held[0].moment.pts : 1;
    return w->held[0].moment.pts + i * gap;
}

/* Writes the packets that the encoder has ready. */
static enum bd_status receive(struct bd_writer *w)
{
    for (;;) {
        enum bd_status status = bd_encoder_receive(w->encoder, w->packet);
        if (status != BD_OK)
            return status == BD_END ? BD_OK : status;
        int64_t i = w->packet->pts, decoded = w->packet->dts;
        if (i < 0 || i >= w->sent || w->sent - i > HELD_MAX || decoded > i ||
            (decoded >= 0 && w->sent - decoded > HELD_MAX))
            status = bd_fail(BD_ERROR_UNSUPPORTED, "%s: encoder %s holds back too many pictures",
                             w->path, w->plan.codec->name);
        else if (w->muxer)
            status = bd_muxer_write(w->muxer, w->packet, w->held[i % HELD_MAX].moment,
                                    decoding_time(w, decoded == AV_NOPTS_VALUE ? i : decoded));
        else
            status = write_picture(w, w->held[i % HELD_MAX].index);
        av_packet_unref(w->packet);
        if (status != BD_OK)
            return status;
        w->written++;
    }
}

static enum bd_status check_frame(const struct bd_writer *w, const struct bd_frame *frame)
{
    const struct bd_writer_options *o = &w->options;
    if (w->failed)
        return bd_fail(BD_ERROR_IO, "%s: writing has failed before", w->path);
    if (frame->width != o->width || frame->height != o->height || frame->format != o->format)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "%s: a frame of %d x %d x %d bytes came where %d x %d x %d was agreed",
                       w->path, frame->width, frame->height, (int)frame->format, o->width,
                       o->height, (int)o->format);
    if (w->plan.pictures && !w->sequence && w->sent > 0)
        return fail_single(w);
    if (w->muxer && w->sent > 0 && frame->pts <= w->held[(w->sent - 1) % HELD_MAX].moment.pts)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "%s: frame %" PRId64 " comes at %" PRId64 ", not after the one before it",
                       w->path, frame->index, frame->pts);
    return BD_OK;
}

enum bd_status bd_writer_take(struct bd_writer *w, const struct bd_frame *frame)
{
    enum bd_status status = check_frame(w, frame);
    if (status != BD_OK)
        return status;
    int64_t number = w->sent++;
    w->held[number % HELD_MAX].moment = (struct bd_moment){ frame->pts, frame->duration };
    w->held[number % HELD_MAX].index = frame->index;
    status = bd_encoder_take(w->encoder, frame, number);
    w->failed = status != BD_OK;
    return status;
}

enum bd_status bd_writer_encode(struct bd_writer *w)
{
    enum bd_status status = bd_encoder_send(w->encoder);
    if (status == BD_OK)
        status = receive(w);
    w->failed = status != BD_OK;
    return status;
}

enum bd_status bd_writer_write(struct bd_writer *w, const struct bd_frame *frame)
{
    enum bd_status status = bd_writer_take(w, frame);
    return status == BD_OK ? bd_writer_encode(w) : status;
}

void bd_writer_keep_old(struct bd_writer *w)
{
    w->keeps_old = true;
}

enum bd_status bd_writer_close(struct bd_writer **writer)
{
    struct bd_writer *w = *writer;
    enum bd_status status = BD_OK;
    if (!w)
        return BD_OK;
    if (w->encoder && w->sent > 0 && !w->failed) {
        status = bd_encoder_end(w->encoder);
        if (status == BD_OK)
            status = receive(w);
        if (status == BD_OK && w->written < w->sent)
            status =
                bd_fail(BD_ERROR_IO, "%s: encoder %s dropped %" PRId64 " of %" PRId64 " pictures",
                        w->path, w->plan.codec->name, w->sent - w->written, w->sent);
    }
    /* The trailer is written after a failure too: the file may become playable. The first error is
     * the one to return. */
    bool told = w->failed || status != BD_OK, plays;
    char *detail = told ? strdup(bd_error_detail()) : NULL;
    enum bd_status closed = bd_muxer_close(&w->muxer, !told, &plays);
    bool whole = !told && closed == BD_OK && !w->keeps_old;
    enum bd_part_end end = whole                   ? BD_PART_WHOLE
                           : w->options.whole_only ? BD_PART_KEPT
                                                   : BD_PART_BROKEN;
    if (w->sequence || w->written == 0 || (w->plan.pictures && told))
        end = BD_PART_NONE; /* a lock, nothing, half a picture */
    if (!plays && end != BD_PART_NONE) {
        end = BD_PART_NONE;
        bd_log(BD_LOG_WARNING, "%s: not one picture fitted: what was written is removed", w->path);
    }
    if (closed == BD_OK)
        closed = bd_part_close(&w->part, end);
    else
        bd_part_close(&w->part, end);
    if (!told)
        status = closed;
    else if (detail && detail[0])
        bd_fail(BD_ERROR_IO, "%s", detail);
    free(detail);
    bd_encoder_close(&w->encoder);
    av_packet_free(&w->packet);
    free(w->path);
    free(w);
    *writer = NULL;
    return status;
}
