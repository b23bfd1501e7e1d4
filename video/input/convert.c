#include "video/input/convert.h"

#include <libavutil/hwcontext.h>
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "video/input/tone_curve.h"
#include "video/libav.h"
#include "video/yuv.h"

/* What a plan of libswscale depends on; ints alone, to be compared as bytes. */
struct plan {
    int width, height, format; /* AVPixelFormat, without the yuvj ones */
    int range;                 /* 1: full */
    int matrix;                /* AVColorSpace */
};

enum { BLOCK = 32 }; /* pixels; see needs_room */

enum { row_alignment = 64 }; /* bytes, of pictures that are fetched from the hardware */

struct bd_converter {
    int width, height; /* stored, before the turn */
    enum bd_pixel_format format;
    struct bd_turn turn;
    struct plan plan;
    struct SwsContext *sws;
    struct bd_tone_curve *curve; /* NULL: none */
    struct bd_device *device;    /* NULL: none */
    bool warned;                 /* of a changed size */
    enum bd_log_level faults;    /* level of that */
    AVBufferPool *pool; /* for pictures that are fetched from the hardware; NULL: none was */
    int pool_size;      /* bytes of its buffers */
    struct bd_frame
        intermediate; /* the converted picture, where it cannot be written to its frame */
};

enum bd_status bd_converter_create(struct bd_converter **converter, int width, int height,
                                   enum bd_pixel_format format, struct bd_turn turn)
{
    *converter = calloc(1, sizeof **converter);
    if (!*converter)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the colour conversion");
    **converter =
        (struct bd_converter){ .width = width, .height = height, .format = format, .turn = turn };
    return BD_OK;
}

enum bd_status bd_converter_use_tone_curve(struct bd_converter *converter, const AVFrame *first,
                                           bool *used)
{
    enum bd_status status = bd_tone_curve_create(&converter->curve, first);
    *used = converter->curve;
    return status;
}

void bd_converter_inherit_tone_curve(struct bd_converter *converter, struct bd_converter *before)
{
    bd_tone_curve_destroy(&converter->curve);
    converter->curve = before->curve;
    before->curve = NULL;
}

void bd_converter_destroy(struct bd_converter **converter)
{
    if (!*converter)
        return;
    sws_freeContext((*converter)->sws);
    bd_tone_curve_destroy(&(*converter)->curve);
    bd_frame_destroy(&(*converter)->intermediate);
    av_buffer_pool_uninit(&(*converter)->pool); /* it goes when its last picture does */
    free(*converter);
    *converter = NULL;
}

/* The yuvj formats mean "full range"; libswscale has an option for the range instead. */
static int without_j(int format, int *range)
{
    static const struct {
        enum AVPixelFormat j, plain;
    } table[] = {
        { AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUV420P }, { AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUV422P },
        { AV_PIX_FMT_YUVJ444P, AV_PIX_FMT_YUV444P }, { AV_PIX_FMT_YUVJ440P, AV_PIX_FMT_YUV440P },
        { AV_PIX_FMT_YUVJ411P, AV_PIX_FMT_YUV411P },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].j == (enum AVPixelFormat)format) {
            *range = 1;
            return table[i].plain;
        }
    return format;
}

static struct plan plan_for(const AVFrame *src)
{
    struct plan plan = { .width = src->width, .height = src->height };
    plan.range = src->color_range == AVCOL_RANGE_JPEG;
    plan.format = without_j(src->format, &plan.range);
    switch (src->colorspace) {
    case AVCOL_SPC_BT709:
    case AVCOL_SPC_FCC:
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
    case AVCOL_SPC_SMPTE240M:
    case AVCOL_SPC_BT2020_NCL:
    case AVCOL_SPC_BT2020_CL:
        plan.matrix = src->colorspace;
        break;
    default: /* not said: what players assume */
        plan.matrix = src->height >= 720 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
    }
    return plan;
}

static enum bd_status make_plan(struct bd_converter *c, const struct plan *plan)
{
    sws_freeContext(c->sws);
    c->sws = NULL;
    if (!sws_isSupportedInput(plan->format)) {
        const char *name = av_get_pix_fmt_name(plan->format);
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "pixel format %s cannot be converted by this build of libswscale",
                       name ? name : "unknown");
    }
    /* Accurate rounding avoids libswscale's fast YUV to RGB code, which needs even sides. */
    int flags = SWS_BICUBIC;
    if ((plan->width | plan->height) & 1)
        flags |= SWS_ACCURATE_RND;
    struct SwsContext *sws = sws_alloc_context();
    if (!sws)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the colour conversion");
    av_opt_set_int(sws, "srcw", plan->width, 0);
    av_opt_set_int(sws, "srch", plan->height, 0);
    av_opt_set_int(sws, "src_format", plan->format, 0);
    av_opt_set_int(sws, "src_range", plan->range, 0);
    av_opt_set_int(sws, "dstw", c->width, 0);
    av_opt_set_int(sws, "dsth", c->height, 0);
    av_opt_set_int(sws, "dst_format", bd_libav_format(c->format), 0);
    av_opt_set_int(sws, "dst_range", 1, 0);
    av_opt_set_int(sws, "sws_flags", flags, 0);
    /* Gray is the luma that is there: with another matrix libswscale would make RGB of it first. */
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(plan->format);
    bool luma = c->format == BD_GRAY8 && !(d->flags & AV_PIX_FMT_FLAG_RGB);
    /* Before the initialisation, which chooses its routines by the ranges. */
    sws_setColorspaceDetails(sws, sws_getCoefficients(plan->matrix), plan->range,
                             sws_getCoefficients(luma ? plan->matrix : SWS_CS_DEFAULT), 1, 0,
                             1 << 16, 1 << 16);
    int error = sws_init_context(sws, NULL, NULL);
    if (error < 0) {
        sws_freeContext(sws);
        if (error == AVERROR(ENOMEM))
            return bd_fail(BD_ERROR_MEMORY, "no memory to convert pictures of %d x %d", plan->width,
                           plan->height);
        return bd_fail(
            BD_ERROR_UNSUPPORTED, "no conversion from %s %d x %d to %d x %d in libswscale",
            av_get_pix_fmt_name(plan->format), plan->width, plan->height, c->width, c->height);
    }
    c->sws = sws;
    c->plan = *plan;
    return BD_OK;
}

/* Whether `src` has a luma plane of bytes, which can be copied to gray without libswscale. */
static bool has_luma_bytes(int format)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(format);
    const uint64_t other = AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM |
                           AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BAYER;
    return d && !(d->flags & other) && d->nb_components >= 3 && d->comp[0].plane == 0 &&
           d->comp[0].step == 1 && d->comp[0].offset == 0 && d->comp[0].depth == 8 &&
           d->comp[0].shift == 0;
}

/* One row of `count` pixels, 16..235 stretched to 0..255. `restrict`
 * lets the compiler vectorise the loop. */
static void stretch_row(uint8_t *restrict to, const uint8_t *restrict from, int count)
{
    for (int x = 0; x < count; x++) {
        uint8_t v = from[x] < 16 ? 16 : from[x];
        v = v > 235 ? 235 : v;
        /* x 255 / 219, rounded, in 16 bits: compilers know the high half of a product */
        uint16_t fixed = (uint16_t)((v - 16) * 16 + 7);
        to[x] = (uint8_t)((uint32_t)fixed * 4769 >> 16);
    }
}

/* Luma to gray without libswscale, which takes a slower way over 15 bits a pixel. */
static void copy_luma(struct bd_frame *dst, const AVFrame *src, bool full_range)
{
    for (int y = 0; y < src->height; y++) {
        uint8_t *to = dst->data + y * dst->stride;
        const uint8_t *from = src->data[0] + (int64_t)y * src->linesize[0];
        if (full_range)
            memcpy(to, from, (size_t)src->width);
        else
            stretch_row(to, from, src->width);
    }
}

/* libswscale's fast YUV to RGB code works in blocks of 8 to 32 pixels. If the padding of a row is
 * shorter, it writes behind the picture or omits the last columns (FFmpeg 5.1 with widths such as
 * 18 and 40). */
static bool needs_room(const struct bd_converter *c)
{
    return c->format == BD_RGB24 && c->width % BLOCK != 0;
}

/* `dst` may be wider than the picture. */
static enum bd_status convert(struct bd_converter *c, struct bd_frame *dst, const AVFrame *src)
{
    if (c->curve && bd_tone_curve_fits(c->curve, src)) {
        bd_tone_curve_run(c->curve, dst, src);
        return BD_OK;
    }
    struct plan plan = plan_for(src);
    if (c->format == BD_GRAY8 && src->width == c->width && src->height == c->height &&
        has_luma_bytes(src->format)) {
        copy_luma(dst, src, plan.range);
        return BD_OK;
    }
    if (!c->sws || memcmp(&plan, &c->plan, sizeof plan) != 0) {
        enum bd_status status = make_plan(c, &plan);
        if (status != BD_OK)
            return status;
    }
    uint8_t *planes[4] = { dst->data };
    int strides[4] = { (int)dst->stride };
    int error = sws_scale(c->sws, (const uint8_t *const *)src->data, src->linesize, 0, src->height,
                          planes, strides);
    if (error == AVERROR(ENOMEM))
        return bd_fail(BD_ERROR_MEMORY, "no memory to convert a picture");
    if (error < 0)
        return bd_fail(BD_ERROR_FORMAT, "libswscale could not convert a picture");
    return BD_OK;
}

void bd_converter_set_faults(struct bd_converter *c, enum bd_log_level level)
{
    c->faults = level;
}

enum bd_status bd_converter_run(struct bd_converter *c, struct bd_frame *dst, const AVFrame *src)
{
    if ((src->width != c->width || src->height != c->height) && !c->warned) {
        bd_log(c->faults, "the picture size changes to %d x %d: scaled to %d x %d", src->width,
               src->height, c->width, c->height);
        c->warned = true;
    }
    bool turned = c->turn.transpose || c->turn.flip_x || c->turn.flip_y;
    bool indirect = turned || needs_room(c);
    int width = c->turn.transpose ? c->height : c->width;
    int height = c->turn.transpose ? c->width : c->height;
    enum bd_status status = bd_frame_ensure(dst, width, height, c->format);
    if (status == BD_OK && indirect)
        status =
            bd_frame_ensure(&c->intermediate, (c->width / BLOCK + 2) * BLOCK, c->height, c->format);
    if (status == BD_OK)
        status = convert(c, indirect ? &c->intermediate : dst, src);
    if (status != BD_OK || !indirect)
        return status;
    if (turned) {
        bd_turn_picture(dst, &c->intermediate, c->turn);
        return BD_OK;
    }
    for (int y = 0; y < height; y++)
        memcpy(dst->data + y * dst->stride, c->intermediate.data + y * c->intermediate.stride,
               (size_t)width * c->format);
    return BD_OK;
}

/* ---- decoded pictures, shared ------------------------------------------------------------------
 */

struct shared {
    struct bd_yuv yuv;  /* first */
    AVFrame *frame;     /* of the decoder, or where its samples were brought to */
    AVBufferPool *pool; /* the converter's, for that */
};

static void release(struct bd_yuv *yuv)
{
    struct shared *shared = (struct shared *)yuv;
    av_frame_free(&shared->frame);
    free(shared);
}

/* The format of the samples, wherever they are. */
static int format_of(const AVFrame *frame)
{
    return frame->hw_frames_ctx ? (int)((AVHWFramesContext *)frame->hw_frames_ctx->data)->sw_format
                                : frame->format;
}

/* Whether there is chroma of bytes beside the luma: planes of its own, or interleaved as in NV12.
 */
static bool has_chroma_bytes(int format)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(format);
    for (int i = 1; i <= 2; i++)
        if (d->comp[i].depth != 8 || d->comp[i].shift != 0 || d->comp[i].plane == 0 ||
            d->comp[i].step != d->comp[1].step)
            return false;
    return d->comp[1].step == 1 || (d->comp[1].step == 2 && d->comp[2].offset == 1);
}

/* libswscale's factors are those of video range, in units of 2^-16. */
static struct bd_yuv_matrix matrix_of(const struct plan *plan)
{
    const int *factors = sws_getCoefficients(plan->matrix);
    double chroma = (plan->range ? 224.0 / 255 : 1) * 0x1p-3;
    return (struct bd_yuv_matrix){ .black = (int16_t)(plan->range ? 0 : 16),
                                   .luma =
                                       (int16_t)lround((plan->range ? 1 : 255.0 / 219) * 0x1p14),
                                   .red_v = (int16_t)lround(factors[0] * chroma),
                                   .blue_u = (int16_t)lround(factors[1] * chroma),
                                   .green_u = (int16_t)lround(factors[2] * chroma),
                                   .green_v = (int16_t)lround(factors[3] * chroma) };
}

/* Where the samples of the frame are: addresses of the host, or of the hardware. */
static void find_samples(struct bd_yuv *yuv, const AVFrame *frame)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(format_of(frame));
    for (int i = 0; i < 3; i++) {
        yuv->data[i] = frame->data[d->comp[i].plane] + d->comp[i].offset;
        yuv->stride[i] = frame->linesize[d->comp[i].plane];
    }
}

/* Brings the samples from the hardware, whose surface it gives back. */
static enum bd_status fetch(struct bd_yuv *yuv)
{
    struct shared *shared = (struct shared *)yuv;
    AVFrame *here = av_frame_alloc();
    if (here)
        here->buf[0] = av_buffer_pool_get(shared->pool);
    if (!here || !here->buf[0]) {
        av_frame_free(&here);
        return bd_fail(BD_ERROR_MEMORY, "no memory to fetch a decoded picture");
    }
    here->format = format_of(shared->frame);
    here->width = yuv->width;
    here->height = yuv->height;
    av_image_fill_arrays(here->data, here->linesize, here->buf[0]->data, here->format, yuv->width,
                         yuv->height, row_alignment);
    if (av_hwframe_transfer_data(here, shared->frame, 0) < 0) {
        av_frame_free(&here);
        return bd_fail(BD_ERROR_BACKEND, "cannot fetch a frame from the hardware decoder");
    }
    av_frame_free(&shared->frame);
    shared->frame = here;
    find_samples(yuv, here);
    yuv->fetch = NULL;
    return BD_OK;
}

/* Whether pictures of the format can be fetched later: into memory of a pool, which holds that of
 * pictures that are not needed any more. Its size is that of the first picture; another format in
 * the middle of a film may need more. */
static bool has_pool(struct bd_converter *c, int format)
{
    int size = av_image_get_buffer_size(format, c->width, c->height, row_alignment);
    if (!c->pool && size > 0) {
        c->pool = av_buffer_pool_init((size_t)size, NULL);
        c->pool_size = size;
    }
    return c->pool && size > 0 && size <= c->pool_size;
}

/* What the samples of a decoded picture are; *yuv has no references yet. */
static void describe(struct bd_yuv *yuv, const AVFrame *src)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(format_of(src));
    const struct plan plan = plan_for(src);
    *yuv = (struct bd_yuv){ .width = src->width,
                            .height = src->height,
                            .shift_x = d->log2_chroma_w,
                            .shift_y = d->log2_chroma_h,
                            .step = d->comp[1].step,
                            .matrix = matrix_of(&plan) };
}

/* Whether all pixels can be made from the decoded picture alone. */
static bool is_enough(const struct bd_converter *c, const AVFrame *src)
{
    const bool turned = c->turn.transpose || c->turn.flip_x || c->turn.flip_y;
    const int format = format_of(src);
    return !turned && !c->curve && src->width == c->width && src->height == c->height &&
           has_luma_bytes(format) && has_chroma_bytes(format);
}

void bd_converter_use_device(struct bd_converter *converter, struct bd_device *device)
{
    converter->device = device;
}

enum bd_status bd_converter_take(struct bd_converter *c, struct bd_yuv **yuv, const AVFrame *src)
{
    struct bd_yuv surface;
    *yuv = NULL;
    if (!c->device || src->format != AV_PIX_FMT_CUDA || !is_enough(c, src))
        return BD_OK;
    describe(&surface, src);
    find_samples(&surface, src);
    return c->device->ops->take(c->device, yuv, &surface);
}

enum bd_status bd_converter_share(struct bd_converter *c, struct bd_yuv **yuv, const AVFrame *src)
{
    enum bd_status status = bd_converter_take(c, yuv, src);
    if (*yuv || (status && status != BD_ERROR_UNSUPPORTED && status != BD_ERROR_MEMORY))
        return status; /* else its samples come to the host */
    if (!is_enough(c, src) || (src->hw_frames_ctx && !has_pool(c, format_of(src))))
        return BD_OK;
    struct shared *shared = calloc(1, sizeof *shared);
    if (shared)
        shared->frame = av_frame_clone(src);
    if (!shared || !shared->frame) {
        free(shared);
        return bd_fail(BD_ERROR_MEMORY, "no memory to keep a decoded picture");
    }
    describe(&shared->yuv, src);
    shared->pool = c->pool;
    shared->yuv.fetch = src->hw_frames_ctx ? fetch : NULL;
    shared->yuv.release = release;
    atomic_init(&shared->yuv.references, 1);
    if (!src->hw_frames_ctx)
        find_samples(&shared->yuv, shared->frame);
    *yuv = &shared->yuv;
    return BD_OK;
}
