#include "video/input/libav_parallel.h"

#include <stdlib.h>

#include "video/input/libav_decoder.h"
#include "video/yuv.h"

/* Most memory of decoded frames that wait: 172 of 1920x1080, so that sections of two seconds are
 * decoded ahead whole. */
enum { most_bytes = 512 << 20 };

/* Surfaces that a decoder needs besides those of its codec: its frames leave it at once. */
enum { spare_surfaces = 2 };

struct bd_libav_parallel {
    struct bd_sections *sections;
    AVCodecContext *decoders[bd_sections_most_decoders]; /* the first is the caller's */
    int count;
    struct bd_converter *converter;
    const char *name; /* of the input */
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

/* Moves the times and properties of a frame to one whose picture is `yuv`, whose reference goes to
 * it, or without that whose samples are in the host's memory. */
static enum bd_status replace(AVFrame *frame, struct bd_yuv *yuv, const char *name)
{
    AVFrame *own = av_frame_alloc();
    enum bd_status status = own ? BD_OK : BD_ERROR_MEMORY;
    if (own && yuv)
        own->opaque_ref = av_buffer_create((uint8_t *)yuv, sizeof *yuv, release, NULL, 0);
    if (yuv && (!own || !own->opaque_ref)) {
        bd_yuv_release(yuv);
        status = BD_ERROR_MEMORY;
    }
    if (!status && !yuv)
        status = bd_libav_fetch(own, frame, name);
    AVBufferRef *picture = own ? own->opaque_ref : NULL;
    if (!status && av_frame_copy_props(own, frame) < 0)
        status = BD_ERROR_MEMORY;
    if (!status) {
        own->opaque_ref = picture;
        own->width = frame->width;
        own->height = frame->height;
        av_frame_unref(frame);
        av_frame_move_ref(frame, own);
    }
    av_frame_free(&own);
    return status;
}

/* See struct bd_sections_options. */
static enum bd_status keep(void *user, AVFrame *frame)
{
    const struct bd_libav_parallel *p = user;
    struct bd_yuv *yuv = NULL;
    if (!frame->hw_frames_ctx)
        return BD_OK;
    enum bd_status status = bd_converter_take(p->converter, &yuv, frame);
    if (status && status != BD_ERROR_UNSUPPORTED)
        return status;
    return replace(frame, yuv, p->name);
}

/* Whether pictures such as `frame` can be kept. */
static bool can_keep(struct bd_converter *converter, const AVFrame *frame)
{
    struct bd_yuv *yuv = NULL;
    bool can = frame->hw_frames_ctx && bd_converter_take(converter, &yuv, frame) == BD_OK && yuv;
    bd_yuv_release(yuv);
    return can;
}

/* Opens one more decoder. */
static bool open_decoder(struct bd_libav_parallel *p,
                         const struct bd_libav_parallel_options *options)
{
    struct bd_libav_input *in = options->input;
    AVCodecContext **decoder = &p->decoders[p->count];
    bool open = av_dict_copy(&in->options, options->options, 0) >= 0 &&
                bd_libav_decoder_open(decoder, in, 1, options->hwaccel, spare_surfaces) == BD_OK;
    av_dict_free(&in->options);
    p->count += open;
    return open;
}

static bool start(struct bd_libav_parallel *p, const struct bd_libav_parallel_options *options,
                  const AVFrame *frame)
{
    const int64_t bytes = (int64_t)frame->width * frame->height * 3 / 2;
    const int most = (int)(most_bytes / bytes);
    p->converter = options->converter;
    p->name = options->input->name;
    p->decoders[p->count++] = options->first;
    bool open = true;
    while (open && p->count < options->decoders && p->count < bd_sections_most_decoders)
        open = open_decoder(p, options);
    struct bd_sections_options all = { .decoders = p->decoders,
                                       .count = p->count,
                                       .most_frames = most < 1 ? 1 : most,
                                       .keep = keep,
                                       .user = p };
    return p->count > 1 && bd_sections_open(&p->sections, &all) == BD_OK;
}

void bd_libav_parallel_start(struct bd_libav_parallel **parallel,
                             const struct bd_libav_parallel_options *options, const AVFrame *frame)
{
    *parallel = NULL;
    if (options->decoders < 2 || options->input->live ||
        !bd_sections_known(options->first->codec_id) || !can_keep(options->converter, frame))
        return;
    struct bd_libav_parallel *p = calloc(1, sizeof *p);
    if (p && start(p, options, frame)) {
        bd_log(BD_LOG_DEBUG, "'%s': %d decoders side by side", p->name, p->count);
        *parallel = p;
        return;
    }
    bd_log(BD_LOG_DEBUG, "'%s': one decoder alone", options->input->name);
    bd_libav_parallel_close(&p);
}

struct bd_sections *bd_libav_parallel_sections(struct bd_libav_parallel *parallel)
{
    return parallel->sections;
}

void bd_libav_parallel_close(struct bd_libav_parallel **parallel)
{
    struct bd_libav_parallel *p = *parallel;
    if (!p)
        return;
    bd_sections_close(&p->sections);
    for (int i = 1; i < p->count; i++)
        avcodec_free_context(&p->decoders[i]);
    free(p);
    *parallel = NULL;
}
