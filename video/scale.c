#include "video/scale.h"

#include <libavutil/frame.h>
#include <libavutil/opt.h>
#include <libavutil/pixfmt.h>
#include <libswscale/swscale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "video/area.h"
#include "video/device.h"
#include "video/libav.h"
#include "video/yuv.h"
#include "video/yuv_convert.h"

/* Ints alone, to be compared as bytes. */
struct plan {
    int src_width, src_height, dst_width, dst_height;
    enum bd_pixel_format src_format, dst_format;
    enum bd_scale_filter filter;
};

struct bd_scaler {
    int threads; /* as created */
    struct plan plan;
    struct SwsContext *sws;
    AVFrame *from, *to;        /* the form of pictures that libswscale's threads need */
    struct bd_area *area;      /* NULL: not needed so far */
    struct bd_device_user gpu; /* for pictures that are in the memory of one */
};

/* Threads are faster from this many pixels on; libswscale has them since FFmpeg 5.0. */
enum { large_picture = 500000 };
#if LIBSWSCALE_VERSION_MAJOR >= 6
#define HAVE_SWS_THREADS 1
#else
#define HAVE_SWS_THREADS 0
#endif

static enum bd_status make_plan(struct bd_scaler *scaler, const struct plan *plan)
{
    static const int flags[] = { [BD_SCALE_AREA] = SWS_AREA,
                                 [BD_SCALE_BILINEAR] = SWS_BILINEAR,
                                 [BD_SCALE_NEAREST] = SWS_POINT };
    bd_libav_init();
    sws_freeContext(scaler->sws);
    scaler->sws = sws_alloc_context();
    if (!scaler->sws)
        return bd_fail(BD_ERROR_MEMORY, "no memory for scaling");
    av_opt_set_int(scaler->sws, "srcw", plan->src_width, 0);
    av_opt_set_int(scaler->sws, "srch", plan->src_height, 0);
    av_opt_set_int(scaler->sws, "src_format", bd_libav_format(plan->src_format), 0);
    av_opt_set_int(scaler->sws, "dstw", plan->dst_width, 0);
    av_opt_set_int(scaler->sws, "dsth", plan->dst_height, 0);
    av_opt_set_int(scaler->sws, "dst_format", bd_libav_format(plan->dst_format), 0);
    /* libswscale scales RGB as YUV. With chroma at full resolution and accurate rounding the error
     * is at most two grey levels; without, colours smear over two pixels. */
    av_opt_set_int(scaler->sws, "sws_flags",
                   flags[plan->filter] | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP,
                   0);
    bool large = (int64_t)plan->src_width * plan->src_height >= large_picture;
    if (HAVE_SWS_THREADS && large)
        av_opt_set_int(scaler->sws, "threads", scaler->threads, 0); /* 0: one a core */
    int error = sws_init_context(scaler->sws, NULL, NULL);
    if (error < 0) {
        sws_freeContext(scaler->sws);
        scaler->sws = NULL;
        if (error == AVERROR(ENOMEM))
            return bd_fail(BD_ERROR_MEMORY, "no memory to scale pictures of %d x %d",
                           plan->src_width, plan->src_height);
        return bd_fail(BD_ERROR_UNSUPPORTED, "libswscale cannot scale %d x %d to %d x %d",
                       plan->src_width, plan->src_height, plan->dst_width, plan->dst_height);
    }
    scaler->plan = *plan;
    return BD_OK;
}

/* Same format, nearest pixel: every value of `dst` is a value of `src`, which libswscale's
 * conversion over YUV would not keep. */
static void pick_nearest(struct bd_frame *dst, const struct bd_frame *src)
{
    int bytes = src->format;
    int64_t step = ((int64_t)src->width << 32) / dst->width; /* 32.32 fixed point */
    for (int y = 0; y < dst->height; y++) {
        int64_t row = (2 * (int64_t)y + 1) * src->height / (2 * (int64_t)dst->height);
        const uint8_t *from = src->data + row * src->stride;
        uint8_t *to = dst->data + y * dst->stride;
        int64_t at = step / 2;
        for (int x = 0; x < dst->width; x++, at += step)
            for (int k = 0; k < bytes; k++)
                *to++ = from[(at >> 32) * bytes + k];
    }
}

#if HAVE_SWS_THREADS
static void keep(void *opaque, uint8_t *data)
{
    (void)opaque;
    (void)data;
}

/* Makes `out` refer to the pixels of `frame`, which keeps them. */
static int wrap(AVFrame **out, const struct bd_frame *frame)
{
    if (!*out)
        *out = av_frame_alloc();
    if (!*out)
        return AVERROR(ENOMEM);
    av_frame_unref(*out);
    (*out)->buf[0] =
        av_buffer_create(frame->data, (size_t)(frame->stride * frame->height), keep, NULL, 0);
    (*out)->data[0] = frame->data;
    (*out)->linesize[0] = (int)frame->stride;
    (*out)->width = frame->width;
    (*out)->height = frame->height;
    (*out)->format = bd_libav_format(frame->format);
    return (*out)->buf[0] ? 0 : AVERROR(ENOMEM);
}

static int run(struct bd_scaler *scaler, struct bd_frame *dst, const struct bd_frame *src)
{
    if (wrap(&scaler->from, src) < 0 || wrap(&scaler->to, dst) < 0)
        return AVERROR(ENOMEM);
    int result = sws_scale_frame(scaler->sws, scaler->to, scaler->from);
    av_frame_unref(scaler->from);
    av_frame_unref(scaler->to);
    return result;
}
#else
static int run(struct bd_scaler *scaler, struct bd_frame *dst, const struct bd_frame *src)
{
    const uint8_t *from[4] = { src->data };
    uint8_t *to[4] = { dst->data };
    int from_strides[4] = { (int)src->stride }, to_strides[4] = { (int)dst->stride };
    return sws_scale(scaler->sws, from, from_strides, 0, src->height, to, to_strides);
}
#endif

enum bd_status bd_scaler_create(struct bd_scaler **scaler, int threads)
{
    *scaler = NULL;
    if (threads < 0 || threads > 1024)
        return bd_fail(BD_ERROR_ARGUMENT, "scaling threads %d: must be 0 (one a core) to 1024",
                       threads);
    *scaler = calloc(1, sizeof **scaler);
    if (!*scaler)
        return bd_fail(BD_ERROR_MEMORY, "no memory for scaling");
    (*scaler)->threads = threads;
    return BD_OK;
}

/* As average, on the GPU in whose memory the picture is. */
static enum bd_status average_there(struct bd_scaler *scaler, struct bd_frame *dst,
                                    const struct bd_yuv *yuv, bool *done)
{
    *done = dst->format != BD_RGBA32 && dst->width <= yuv->width && dst->height <= yuv->height;
    if (!*done)
        return BD_OK;
    enum bd_status status =
        yuv->device->ops->shrink(yuv->device, bd_device_enter(&scaler->gpu, yuv->device), dst, yuv);
    *done = status != BD_ERROR_MEMORY; /* else it comes to the host */
    return *done ? status : BD_OK;
}

/* Averages areas, if that is possible for these pictures; *done says so. Areas of one pixel are
 * converted. */
static enum bd_status average(struct bd_scaler *scaler, struct bd_frame *dst,
                              const struct bd_frame *src, bool *done)
{
    enum bd_status status = bd_yuv_fetch(src->yuv);
    if (status)
        return status;
    *done = bd_yuv_convert_suits(dst, src);
    if (*done) {
        bd_yuv_convert(dst, src);
        return BD_OK;
    }
    if (!scaler->area || !bd_area_suits(scaler->area, dst, src)) {
        bd_area_destroy(&scaler->area);
        status = bd_area_create(&scaler->area, dst, src);
    }
    *done = scaler->area;
    if (*done)
        bd_area_average(scaler->area, dst, src);
    return status;
}

enum bd_status bd_scale(struct bd_scaler **scaler, struct bd_frame *dst, const struct bd_frame *src,
                        enum bd_scale_filter filter)
{
    bool decoded = filter == BD_SCALE_AREA && src->yuv, done = false;
    if ((!src->data && !decoded) || !dst->data)
        return bd_fail(BD_ERROR_ARGUMENT, "scaling needs two frames with pixels");
    if ((int)filter < BD_SCALE_AREA || filter > BD_SCALE_NEAREST)
        return bd_fail(BD_ERROR_ARGUMENT, "unknown scaling filter %d", (int)filter);
    struct plan plan = { src->width,  src->height, dst->width, dst->height,
                         src->format, dst->format, filter };
    bool same = plan.src_width == plan.dst_width && plan.src_height == plan.dst_height &&
                plan.src_format == plan.dst_format;
    if (same && !decoded)
        return bd_frame_copy(dst, src);
    if (filter == BD_SCALE_NEAREST && plan.src_format == plan.dst_format) {
        pick_nearest(dst, src);
        bd_frame_copy_times(dst, src);
        return BD_OK;
    }
    enum bd_status status = *scaler ? BD_OK : bd_scaler_create(scaler, 0);
    if (status == BD_OK && decoded && src->yuv->device)
        status = average_there(*scaler, dst, src->yuv, &done);
    if (status == BD_OK && filter == BD_SCALE_AREA && !done)
        status = average(*scaler, dst, src, &done);
    if (status != BD_OK)
        return status;
    if (done) {
        bd_frame_copy_times(dst, src);
        return BD_OK;
    }
    if (!src->data)
        return bd_fail(BD_ERROR_UNSUPPORTED, "a decoded picture is only made smaller");
    if (!(*scaler)->sws || memcmp(&plan, &(*scaler)->plan, sizeof plan) != 0) {
        status = make_plan(*scaler, &plan);
        if (status != BD_OK)
            return status;
    }
    int error = run(*scaler, dst, src);
    if (error == AVERROR(ENOMEM))
        return bd_fail(BD_ERROR_MEMORY, "no memory to scale a picture");
    if (error < 0)
        return bd_fail(BD_ERROR_FORMAT, "libswscale could not scale a picture");
    bd_frame_copy_times(dst, src);
    return BD_OK;
}

void bd_scaler_destroy(struct bd_scaler **scaler)
{
    if (!*scaler)
        return;
    sws_freeContext((*scaler)->sws);
    av_frame_free(&(*scaler)->from);
    av_frame_free(&(*scaler)->to);
    bd_area_destroy(&(*scaler)->area);
    bd_device_leave(&(*scaler)->gpu);
    free(*scaler);
    *scaler = NULL;
}
