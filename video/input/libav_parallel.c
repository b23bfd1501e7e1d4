#include "video/input/libav_parallel.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/thread.h"
#include "video/input/libav_decoder.h"
#include "video/input/section_start.h"
#include "video/yuv.h"

/* Most memory of decoded frames that wait: 345 of 1920x1080. Three decoders make about as many
 * while a section of 250 frames is separated. */
enum { most_bytes = 1 << 30 };

/* Surfaces that a decoder needs besides those of its codec: its frames leave it at once. */
enum { spare_surfaces = 2 };

/* Threads of a decoder that takes the place of one of the GPU. */
enum { threads_instead = 4 };

/* Pixels of a film for which more decoders pay, a thousand frames of 1920x1080: while they are
 * opened, a third of a second, other work on the GPU stands still. */
static const double long_film = 2e9;

/* Frames that are decoded before they are opened: fewer than a queue of the program holds, so that
 * they are opened while the program looks ahead. */
enum { first_frames = 4 };

enum state { IDLE, OPENING, READY, IN_USE, FAILED };

struct bd_libav_parallel {
    const struct bd_libav_input *input;
    const AVDictionary *options;
    struct bd_device *device;
    struct bd_converter *converter; /* NULL: none was given, or the film is short */
    AVPacket *start; /* the first packet that starts a section, to try decoders with */
    int wanted;      /* decoders */
    int frames;      /* decoded so far, before the thread starts */
    bool started;
    pthread_t thread;
    _Atomic enum state state;
    atomic_bool closing;
    /* The thread's while it opens them; the first is the caller's. */
    AVCodecContext *decoders[bd_sections_most_decoders];
    int count;
    pthread_mutex_t mutex;                             /* of what follows */
    AVCodecContext *others[bd_sections_most_decoders]; /* in the place of those that failed */
    int other_count;
    struct bd_sections *sections;
};

static void release(void *opaque, uint8_t *data)
{
    (void)opaque;
    bd_yuv_release((struct bd_yuv *)(void *)data);
}

struct bd_yuv *bd_libav_parallel_picture(const AVFrame *frame)
{
    return frame->opaque_ref ? bd_yuv_reference((struct bd_yuv *)(void *)frame->opaque_ref->data)
                             : NULL;
}

/* Moves the times and properties of a frame to `own`, which gets the picture `yuv` and its
 * reference, or without that its samples in the host's memory. */
static enum bd_status copy(AVFrame *own, const AVFrame *frame, struct bd_yuv *yuv, const char *name)
{
    enum bd_status status = yuv ? BD_OK : bd_libav_fetch(own, frame, name);
    if (!status && av_frame_copy_props(own, frame) < 0)
        status = bd_fail(BD_ERROR_MEMORY, "no memory to keep a decoded picture");
    if (!yuv || status)
        return status;
    own->width = frame->width;
    own->height = frame->height;
    own->opaque_ref = av_buffer_create((uint8_t *)yuv, sizeof *yuv, release, NULL, 0);
    return own->opaque_ref ? BD_OK : bd_fail(BD_ERROR_MEMORY, "no memory to keep a picture");
}

/* See struct bd_sections_options. */
static enum bd_status keep(void *user, AVFrame *frame)
{
    const struct bd_libav_parallel *p = user;
    struct bd_yuv *yuv = NULL;
    if (!frame->hw_frames_ctx)
        return BD_OK;
    enum bd_status status = bd_converter_take(p->converter, &yuv, frame);
    if (status && status != BD_ERROR_UNSUPPORTED && status != BD_ERROR_MEMORY)
        return status; /* else it comes to the host */
    AVFrame *own = av_frame_alloc();
    status = own ? copy(own, frame, yuv, p->input->name)
                 : bd_fail(BD_ERROR_MEMORY, "no memory to keep a decoded picture");
    if (status && (!own || !own->opaque_ref))
        bd_yuv_release(yuv);
    if (!status) {
        av_frame_unref(frame);
        av_frame_move_ref(frame, own);
    }
    av_frame_free(&own);
    return status;
}

/* Whether the GPU decodes a picture of the stream, and it can be kept there. */
static bool decodes(struct bd_libav_parallel *p, AVCodecContext *decoder)
{
    struct bd_yuv *yuv = NULL;
    AVFrame *frame = av_frame_alloc();
    bool does = frame && avcodec_send_packet(decoder, p->start) >= 0 &&
                avcodec_send_packet(decoder, NULL) >= 0 &&
                avcodec_receive_frame(decoder, frame) >= 0 && frame->hw_frames_ctx &&
                bd_converter_take(p->converter, &yuv, frame) == BD_OK && yuv;
    avcodec_flush_buffers(decoder);
    bd_yuv_release(yuv);
    av_frame_free(&frame);
    return does;
}

/* Opens one more decoder for the stream. */
static bool open_decoder(const struct bd_libav_parallel *p, AVCodecContext **decoder, int threads,
                         const char *hwaccel)
{
    /* What the reader's thread does not change. */
    struct bd_libav_input in = { .name = p->input->name,
                                 .format = p->input->format,
                                 .stream = p->input->stream,
                                 .live = p->input->live };
    bool open = av_dict_copy(&in.options, p->options, 0) >= 0 &&
                bd_libav_decoder_open(decoder, &in, threads, hwaccel, spare_surfaces) == BD_OK;
    av_dict_free(&in.options);
    return open;
}

/* See struct bd_sections_options. */
static AVCodecContext *replace(void *user)
{
    struct bd_libav_parallel *p = user;
    AVCodecContext *other = NULL;
    pthread_mutex_lock(&p->mutex);
    if (p->other_count < bd_sections_most_decoders &&
        open_decoder(p, &other, threads_instead, NULL)) {
        if (p->other_count++ == 0)
            bd_log(BD_LOG_WARNING, "'%s': a decoder of the GPU failed: threads decode in its place",
                   p->input->name);
        p->others[p->other_count - 1] = other;
    }
    pthread_mutex_unlock(&p->mutex);
    return other;
}

/* Adds a decoder of the GPU, if it decodes the stream. */
static bool add_decoder(struct bd_libav_parallel *p)
{
    AVCodecContext **decoder = &p->decoders[p->count];
    bd_device_waits(p->device, true);
    bool good = open_decoder(p, decoder, 1, "cuda") && decodes(p, *decoder);
    if (good)
        p->count++;
    else
        avcodec_free_context(decoder);
    bd_device_waits(p->device, false);
    return good;
}

static void *open_decoders(void *user)
{
    struct bd_libav_parallel *p = user;
    while (p->count <= p->wanted && !atomic_load(&p->closing) && add_decoder(p))
        ;
    atomic_store(&p->state, p->count > 1 ? READY : FAILED);
    return NULL;
}

void bd_libav_parallel_create(struct bd_libav_parallel **parallel,
                              const struct bd_libav_input *input, AVCodecContext *first,
                              const AVDictionary *options, int decoders, struct bd_device *device)
{
    *parallel = NULL;
    if (decoders < 1 || !bd_sections_known(first->codec_id))
        return;
    struct bd_libav_parallel *p = calloc(1, sizeof *p);
    if (p)
        p->start = av_packet_alloc();
    if (!p || !p->start) {
        free(p);
        return;
    }
    pthread_mutex_init(&p->mutex, NULL);
    p->input = input;
    p->options = options;
    p->device = device;
    p->wanted = decoders < bd_sections_most_decoders ? decoders : bd_sections_most_decoders - 1;
    p->decoders[p->count++] = first;
    *parallel = p;
}

void bd_libav_parallel_see(struct bd_libav_parallel *p, const AVPacket *packet)
{
    if (p && atomic_load(&p->state) == IDLE && !p->start->data &&
        bd_sections_start(p->decoders[0], packet) && av_packet_ref(p->start, packet) < 0)
        atomic_store(&p->state, FAILED);
}

bool bd_libav_parallel_watch(struct bd_libav_parallel *p, struct bd_converter *converter,
                             const struct bd_reader_info *info, double duration)
{
    double frames = (double)info->frame_count;
    if (duration > 0 && info->frame_rate.num > 0)
        frames =
            fmin(frames, duration * (double)info->frame_rate.num / (double)info->frame_rate.den);
    if (!p || frames * info->width * info->height < long_film)
        return false;
    p->converter = converter;
    return true;
}

/* Frames of the sections leave the GPU's decoders; those of the first one may be the host's. */
static void use(struct bd_libav_parallel *p)
{
    const AVCodecContext *first = p->decoders[0];
    const int64_t bytes = (int64_t)first->width * first->height * 3 / 2;
    const int64_t most = bytes > 0 ? most_bytes / bytes : 1;
    const struct bd_sections_options all = { .decoders = p->decoders,
                                             .count = p->count,
                                             .first_once = !first->hw_device_ctx,
                                             .most_frames = (int)(most < 1 ? 1 : most),
                                             .keep = keep,
                                             .replace = replace,
                                             .user = p,
                                             .device = p->device };
    bool good = bd_sections_open(&p->sections, &all) == BD_OK;
    atomic_store(&p->state, good ? IN_USE : FAILED);
    if (good)
        bd_log(BD_LOG_DEBUG, "'%s': the GPU decodes %d sections at a time", p->input->name,
               p->count - 1);
}

void bd_libav_parallel_join(struct bd_libav_parallel *p)
{
    const enum state state = p ? atomic_load(&p->state) : FAILED;
    if (state == READY)
        use(p);
    if (state != IDLE || !p->converter || !p->start->data || p->frames++ < first_frames)
        return;
    atomic_store(&p->state, OPENING);
    p->started = bd_thread_start(&p->thread, "open decoders", open_decoders, p);
    if (!p->started)
        atomic_store(&p->state, FAILED);
}

struct bd_sections *bd_libav_parallel_sections(struct bd_libav_parallel *p)
{
    return p ? p->sections : NULL;
}

void bd_libav_parallel_close(struct bd_libav_parallel **parallel)
{
    struct bd_libav_parallel *p = *parallel;
    if (!p)
        return;
    atomic_store(&p->closing, true);
    if (p->started)
        pthread_join(p->thread, NULL);
    bd_sections_close(&p->sections);
    for (int i = 1; i < p->count; i++)
        bd_libav_decoder_close(&p->decoders[i], p->device);
    for (int i = 0; i < p->other_count; i++)
        avcodec_free_context(&p->others[i]);
    pthread_mutex_destroy(&p->mutex);
    av_packet_free(&p->start);
    free(p);
    *parallel = NULL;
}
