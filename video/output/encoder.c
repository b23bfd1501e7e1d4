#include "video/output/encoder.h"

#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
#include <stdlib.h>
#include <string.h>

#include "video/frame_pool.h"
#include "video/libav.h"

struct bd_encoder {
    const char *path;
    AVCodecContext *context;
    struct SwsContext *sws;   /* NULL: pixels are shared, or rows are copied */
    AVBufferPool *pool;       /* of converted pictures: encoders keep some for a while */
    AVFrame *picture;         /* what is sent */
    struct bd_frame on_black; /* for alpha that the codec does not hold */
    enum AVPixelFormat source;
    bool flatten;
    bool used; /* a picture was sent */
};

enum { ALIGN = 64, large_picture = 1000000 /* pixels */ };

static bool is_yuv(enum AVPixelFormat format)
{
    const AVPixFmtDescriptor *about = av_pix_fmt_desc_get(format);
    return !(about->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL)) &&
           about->nb_components >= 3;
}

/* What players assume without tags: the tags only confirm it. */
static enum AVColorSpace matrix_for(const AVCodecContext *c)
{
    switch (c->codec_id) {
    case AV_CODEC_ID_MJPEG: /* these know no other */
    case AV_CODEC_ID_VP8:
    case AV_CODEC_ID_WEBP:
        return AVCOL_SPC_BT470BG;
    default:
        return c->height >= 720 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
    }
}

static enum bd_status make_conversion(struct bd_encoder *e, const struct bd_writer_plan *plan)
{
    AVCodecContext *c = e->context;
    int full = plan->recipe.full_range || !is_yuv(c->pix_fmt);
    if (e->source == c->pix_fmt)
        return BD_OK;
    struct SwsContext *sws = sws_alloc_context();
    if (!sws)
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory for the colour conversion", e->path);
    av_opt_set_int(sws, "srcw", c->width, 0);
    av_opt_set_int(sws, "srch", c->height, 0);
    av_opt_set_int(sws, "src_format", e->source, 0);
    av_opt_set_int(sws, "src_range", 1, 0);
    av_opt_set_int(sws, "dstw", c->width, 0);
    av_opt_set_int(sws, "dsth", c->height, 0);
    av_opt_set_int(sws, "dst_format", c->pix_fmt, 0);
    av_opt_set_int(sws, "dst_range", full, 0);
    av_opt_set_int(sws, "sws_flags",
                   SWS_BICUBIC | SWS_ACCURATE_RND | SWS_BITEXACT | SWS_FULL_CHR_H_INP, 0);
    const int *matrix = sws_getCoefficients(matrix_for(c));
    /* Before the initialisation, which picks its routines by the ranges. */
    sws_setColorspaceDetails(sws, matrix, 1, matrix, full, 0, 1 << 16, 1 << 16);
    e->sws = sws;
    int error = sws_init_context(sws, NULL, NULL);
    if (error == AVERROR(ENOMEM))
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory to convert pictures of %d x %d", e->path,
                       c->width, c->height);
    if (error < 0)
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "%s: libswscale cannot convert pictures of %d x %d to %s for encoder %s",
                       e->path, c->width, c->height, av_get_pix_fmt_name(c->pix_fmt),
                       c->codec->name);
    return BD_OK;
}

static void describe(AVCodecContext *c, const struct bd_writer_plan *plan,
                     const struct bd_writer_options *options)
{
    c->width = options->width;
    c->height = options->height;
    c->pix_fmt = plan->recipe.pixels;
    /* The encoder counts frames, since not every codec accepts any time base; packets get their
     * true times afterwards. The rate only guides encoders with a target in bits per second. */
    struct bd_rational rate = options->frame_rate;
    bool known = rate.num > 0 && rate.den > 0 && rate.num <= 60000 && rate.den <= 60000;
    c->time_base = known ? (AVRational){ (int)rate.den, (int)rate.num } : (AVRational){ 1, 25 };
    c->framerate = av_inv_q(c->time_base);
    if (options->pixel_aspect.num > 0 && options->pixel_aspect.den > 0)
        av_reduce(&c->sample_aspect_ratio.num, &c->sample_aspect_ratio.den,
                  options->pixel_aspect.num, options->pixel_aspect.den, 255);
    c->max_b_frames = 0;
    /* FFV1 encodes slices in parallel, 4 by default. A mask of 1920x1080 takes 10 to 19 ms on one
     * core; 16 slices add 0.4 KB to it. */
    if (plan->codec->id == AV_CODEC_ID_FFV1 &&
        (int64_t)options->width * options->height >= large_picture)
        c->slices = 16;
    c->color_range =
        plan->recipe.full_range || !is_yuv(c->pix_fmt) ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
    if (is_yuv(c->pix_fmt))
        c->colorspace = matrix_for(c);
}

/* Opens the codec. Settings that it does not know are an error in our table; they are logged. */
static enum bd_status open_codec(struct bd_encoder *e, const struct bd_writer_plan *plan)
{
    AVDictionary *settings = NULL;
    enum bd_status status = BD_OK;
    if (plan->recipe.settings &&
        av_dict_parse_string(&settings, plan->recipe.settings, "=", ";", 0) < 0) {
        av_dict_free(&settings);
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory for the encoder's settings", e->path);
    }
    bd_libav_forget();
    int error = avcodec_open2(e->context, plan->codec, &settings);
    const AVDictionaryEntry *unused = av_dict_get(settings, "", NULL, AV_DICT_IGNORE_SUFFIX);
    if (error < 0) {
        status =
            bd_fail(error == AVERROR(ENOMEM) ? BD_ERROR_MEMORY : BD_ERROR_UNSUPPORTED,
                    "%s: encoder %s refuses pictures of %d x %d: %s", e->path, plan->codec->name,
                    e->context->width, e->context->height, bd_libav_reason(error));
    } else if (unused) {
        bd_log(BD_LOG_WARNING, "%s: encoder %s has no setting '%s'", e->path, plan->codec->name,
               unused->key);
    }
    av_dict_free(&settings);
    return status;
}

enum bd_status bd_encoder_open(struct bd_encoder **encoder, const char *path,
                               const struct bd_writer_plan *plan,
                               const struct bd_writer_options *options, int threads)
{
    struct bd_encoder *e = *encoder = calloc(1, sizeof *e);
    enum bd_status status = BD_ERROR_MEMORY;
    if (!e)
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory for the encoder", path);
    e->path = path;
    e->flatten = options->format == BD_RGBA32 && !plan->alpha;
    e->source = bd_libav_format(e->flatten ? BD_RGB24 : options->format);
    e->context = avcodec_alloc_context3(plan->codec);
    e->picture = av_frame_alloc();
    int size =
        av_image_get_buffer_size(plan->recipe.pixels, options->width, options->height, ALIGN);
    if (size < 0) {
        status = bd_fail(BD_ERROR_UNSUPPORTED, "%s: pictures of %d x %d are too large to encode",
                         path, options->width, options->height);
        goto error;
    }
    /* libswscale and encoders may touch a little more than the picture. */
    e->pool = av_buffer_pool_init((size_t)size + ALIGN + AV_INPUT_BUFFER_PADDING_SIZE, NULL);
    if (!e->context || !e->picture || !e->pool) {
        bd_fail(BD_ERROR_MEMORY, "%s: no memory for the encoder", path);
        goto error;
    }
    describe(e->context, plan, options);
    e->context->thread_count = threads;
    if (plan->muxer && (plan->muxer->flags & AVFMT_GLOBALHEADER))
        e->context->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    if ((status = open_codec(e, plan)) != BD_OK || (status = make_conversion(e, plan)) != BD_OK)
        goto error;
    if (e->flatten) {
        status = bd_frame_create(&e->on_black, options->width, options->height, BD_RGB24);
        if (status != BD_OK)
            goto error;
        bd_log(BD_LOG_WARNING,
               "%s: this format holds no transparency: the picture is put on black (.mov, .mkv, "
               ".webm and .png hold it)",
               path);
    }
    return BD_OK;

error:
    bd_encoder_close(encoder);
    return status;
}

const AVCodecContext *bd_encoder_context(const struct bd_encoder *encoder)
{
    return encoder->context;
}

static void put_on_black(struct bd_frame *dst, const struct bd_frame *src)
{
    for (int y = 0; y < src->height; y++) {
        const uint8_t *in = src->data + y * src->stride;
        uint8_t *out = dst->data + y * dst->stride;
        for (int x = 0; x < src->width; x++, in += 4, out += 3)
            for (int c = 0; c < 3; c++)
                out[c] = (uint8_t)((in[c] * in[3] + 127) / 255);
    }
}

static void release_pixels(void *pixels, uint8_t *data)
{
    (void)data;
    bd_pixels_release(pixels);
}

/* A reference to the pixels of `frame`, which the encoder gives back with the picture. */
static AVBufferRef *refer_to(const struct bd_frame *frame)
{
    const size_t size = (size_t)(frame->stride * frame->height + bd_frame_padding);
    struct bd_pixels *pixels = bd_pixels_reference(frame->shared);
    AVBufferRef *buffer =
        av_buffer_create(frame->data, size, release_pixels, pixels, AV_BUFFER_FLAG_READONLY);
    if (!buffer)
        bd_pixels_release(pixels);
    return buffer;
}

/* A picture with the pixels of `frame`, or (NULL) with memory of the pool, which returns there when
 * the encoder has released the picture. */
static enum bd_status take_picture(struct bd_encoder *e, const struct bd_frame *frame)
{
    AVFrame *p = e->picture;
    av_frame_unref(p);
    p->buf[0] = frame ? refer_to(frame) : av_buffer_pool_get(e->pool);
    if (!p->buf[0])
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory for a picture to encode", e->path);
    p->format = e->context->pix_fmt;
    p->width = e->context->width;
    p->height = e->context->height;
    p->color_range = e->context->color_range;
    p->colorspace = e->context->colorspace;
    p->sample_aspect_ratio = e->context->sample_aspect_ratio;
    p->extended_data = p->data;
    if (frame) {
        p->data[0] = frame->data;
        p->linesize[0] = (int)frame->stride;
        return BD_OK;
    }
    uint8_t *start = (uint8_t *)(((uintptr_t)p->buf[0]->data + ALIGN - 1) / ALIGN * ALIGN);
    av_image_fill_arrays(p->data, p->linesize, start, e->context->pix_fmt, p->width, p->height,
                         ALIGN);
    return BD_OK;
}

static enum bd_status convert(struct bd_encoder *e, const struct bd_frame *frame)
{
    const bool shares = frame->shared && !e->sws && !e->flatten;
    enum bd_status status = take_picture(e, shares ? frame : NULL);
    if (status != BD_OK || shares)
        return status;
    if (e->flatten)
        put_on_black(&e->on_black, frame);
    const struct bd_frame *from = e->flatten ? &e->on_black : frame;
    if (!e->sws) {
        av_image_copy_plane(e->picture->data[0], e->picture->linesize[0], from->data,
                            (int)from->stride, from->width * (int)from->format, from->height);
        return BD_OK;
    }
    const uint8_t *const data[4] = { from->data };
    const int strides[4] = { (int)from->stride };
    int error =
        sws_scale(e->sws, data, strides, 0, from->height, e->picture->data, e->picture->linesize);
    if (error == AVERROR(ENOMEM))
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory to convert a picture", e->path);
    if (error < 0)
        return bd_fail(BD_ERROR_UNSUPPORTED, "%s: libswscale could not convert a picture", e->path);
    return BD_OK;
}

static enum bd_status fail_encoding(const struct bd_encoder *e, int error)
{
    return bd_fail(error == AVERROR(ENOMEM) ? BD_ERROR_MEMORY : BD_ERROR_IO,
                   "%s: encoder %s failed: %s", e->path, e->context->codec->name,
                   bd_libav_reason(error));
}

enum bd_status bd_encoder_take(struct bd_encoder *e, const struct bd_frame *frame, int64_t number)
{
    enum bd_status status = convert(e, frame);
    e->picture->pts = number;
    return status;
}

/* NULL: no more pictures. */
static enum bd_status send(struct bd_encoder *e, const AVFrame *picture)
{
    bd_libav_forget();
    int error = avcodec_send_frame(e->context, picture);
    return error < 0 ? fail_encoding(e, error) : BD_OK;
}

enum bd_status bd_encoder_send(struct bd_encoder *e)
{
    e->used = true;
    enum bd_status status = send(e, e->picture);
    av_frame_unref(e->picture); /* the encoder has its own reference */
    return status;
}

enum bd_status bd_encoder_end(struct bd_encoder *e)
{
    return send(e, NULL);
}

enum bd_status bd_encoder_receive(struct bd_encoder *e, AVPacket *packet)
{
    bd_libav_forget();
    int error = avcodec_receive_packet(e->context, packet);
    if (error == AVERROR(EAGAIN) || error == AVERROR_EOF)
        return BD_END;
    return error < 0 ? fail_encoding(e, error) : BD_OK;
}

/* SVT-AV1 (1.4) waits for ever where it is freed before its first picture. */
static void encode_nothing(struct bd_encoder *e)
{
    AVPacket *packet = av_packet_alloc();
    if (packet && !take_picture(e, NULL) && !bd_encoder_send(e) && !bd_encoder_end(e))
        while (!bd_encoder_receive(e, packet))
            av_packet_unref(packet);
    av_packet_free(&packet);
}

void bd_encoder_close(struct bd_encoder **encoder)
{
    struct bd_encoder *e = *encoder;
    if (!e)
        return;
    if (!e->used && e->context && avcodec_is_open(e->context) &&
        strcmp(e->context->codec->name, "libsvtav1") == 0)
        encode_nothing(e);
    avcodec_free_context(&e->context);
    av_frame_free(&e->picture);
    sws_freeContext(e->sws);
    av_buffer_pool_uninit(&e->pool);
    bd_frame_destroy(&e->on_black);
    free(e);
    *encoder = NULL;
}
