#include "video/output/jpeg.h"

#include <libavcodec/avcodec.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "video/libav.h"

/* quality: of 1 (best) to 31. A frame of vtest.avi takes 1.7 bits a pixel, and differs by 2.5
 * levels in the root mean square. */
enum { encoders = 16, quality = 3, planes = 3 };

/* An encoder takes pictures of one size: smaller ones are filled up with copies of their edges. */
struct encoder {
    AVCodecContext *context; /* NULL: not open */
    AVFrame *picture;
    int64_t used; /* the number of the last call that used it */
};

struct bd_jpeg {
    struct encoder encoders[encoders];
    AVCodecContext *decoder;
    AVFrame *decoded;
    AVPacket *packet;
    int64_t calls;
};

static enum bd_status no_memory(void)
{
    return bd_fail(BD_ERROR_MEMORY, "no memory for JPEG pictures");
}

static enum bd_status fail(int error, const char *what)
{
    if (error == AVERROR(ENOMEM))
        return no_memory();
    return bd_fail(BD_ERROR_FORMAT, "a JPEG picture cannot be %s: %s", what,
                   bd_libav_reason(error));
}

enum bd_status bd_jpeg_create(struct bd_jpeg **jpeg)
{
    *jpeg = NULL;
    bd_libav_init();
    const AVCodec *decoder = avcodec_find_decoder(AV_CODEC_ID_MJPEG);
    if (!decoder || !avcodec_find_encoder(AV_CODEC_ID_MJPEG))
        return bd_fail(BD_ERROR_UNSUPPORTED, "this FFmpeg has no JPEG");
    struct bd_jpeg *self = calloc(1, sizeof *self);
    if (!self)
        return no_memory();
    self->packet = av_packet_alloc();
    self->decoded = av_frame_alloc();
    self->decoder = avcodec_alloc_context3(decoder);
    int error = AVERROR(ENOMEM);
    if (self->packet && self->decoded && self->decoder) {
        self->decoder->thread_count = 1;
        bd_libav_forget();
        error = avcodec_open2(self->decoder, decoder, NULL);
    }
    if (error < 0) {
        bd_jpeg_destroy(&self);
        return fail(error, "read");
    }
    *jpeg = self;
    return BD_OK;
}

static void close_encoder(struct encoder *encoder)
{
    avcodec_free_context(&encoder->context);
    av_frame_free(&encoder->picture);
}

void bd_jpeg_destroy(struct bd_jpeg **jpeg)
{
    struct bd_jpeg *self = *jpeg;
    if (!self)
        return;
    for (int i = 0; i < encoders; i++)
        close_encoder(&self->encoders[i]);
    avcodec_free_context(&self->decoder);
    av_frame_free(&self->decoded);
    av_packet_free(&self->packet);
    free(self);
    *jpeg = NULL;
}

/* Four classes of sizes from one power of two to the next, the least of them 32. */
static int class_of(int size)
{
    int step = 8;
    while (size > 8 * step)
        step *= 2;
    return size <= 32 ? 32 : (size + step - 1) / step * step;
}

static enum bd_status open_encoder(struct encoder *encoder, int width, int height)
{
    const AVCodec *codec = avcodec_find_encoder(AV_CODEC_ID_MJPEG);
    AVCodecContext *c = encoder->context = avcodec_alloc_context3(codec);
    AVFrame *picture = encoder->picture = av_frame_alloc();
    if (!c || !picture)
        return no_memory();
    picture->width = c->width = width;
    picture->height = c->height = height;
    picture->format = c->pix_fmt = AV_PIX_FMT_YUVJ444P;
    picture->color_range = c->color_range = AVCOL_RANGE_JPEG;
    picture->quality = c->global_quality = quality * FF_QP2LAMBDA;
    c->flags |= AV_CODEC_FLAG_QSCALE;
    c->time_base = (AVRational){ 1, 25 };
    c->thread_count = 1;
    bd_libav_forget();
    int error = av_frame_get_buffer(picture, 0);
    if (error >= 0)
        error = avcodec_open2(c, codec, NULL);
    return error < 0 ? fail(error, "made") : BD_OK;
}

/* The encoder for pictures of a class: one that is open, or in place of the one that was used
 * longest ago. */
static enum bd_status find_encoder(struct bd_jpeg *self, int width, int height,
                                   struct encoder **found)
{
    struct encoder *oldest = self->encoders;
    for (int i = 0; i < encoders; i++) {
        struct encoder *encoder = *found = &self->encoders[i];
        if (encoder->context && encoder->context->width == width &&
            encoder->context->height == height)
            return BD_OK;
        if (encoder->used < oldest->used)
            oldest = encoder;
    }
    *found = oldest;
    close_encoder(oldest);
    enum bd_status status = open_encoder(oldest, width, height);
    if (status)
        close_encoder(oldest);
    return status;
}

enum { bits = 16, half = 1 << (bits - 1), middle = 128 << bits };

/* Rounded and clipped to a byte. */
static uint8_t level(int32_t sum)
{
    int32_t value = (sum + half) >> bits;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* JFIF: Y = .299 R + .587 G + .114 B, Cb = (B - Y) / 1.772 + 128, Cr = (R - Y) / 1.402 + 128. */
static void split(uint8_t yuv[planes], const uint8_t *rgb)
{
    int32_t r = rgb[0], g = rgb[1], b = rgb[2];
    yuv[0] = level(19595 * r + 38470 * g + 7471 * b);
    yuv[1] = level(-11059 * r - 21709 * g + 32768 * b + middle);
    yuv[2] = level(32768 * r - 27439 * g - 5329 * b + middle);
}

static void join(uint8_t *rgb, int32_t y, int32_t u, int32_t v)
{
    y <<= bits;
    u -= 128;
    v -= 128;
    rgb[0] = level(y + 91881 * v);
    rgb[1] = level(y - 22554 * u - 46802 * v);
    rgb[2] = level(y + 116130 * u);
}

/* The planes of an encoder's picture, filled up to the right and below. */
static void fill(AVFrame *picture, const struct bd_frame *frame)
{
    for (int y = 0; y < picture->height; y++) {
        for (int p = 0; y >= frame->height && p < planes; p++)
            memcpy(picture->data[p] + (int64_t)y * picture->linesize[p],
                   picture->data[p] + (int64_t)(y - 1) * picture->linesize[p],
                   (size_t)picture->width);
        if (y >= frame->height)
            continue;
        const uint8_t *row = frame->data + y * frame->stride;
        for (int x = 0; x < picture->width; x++) {
            uint8_t yuv[planes];
            split(yuv, row + 3 * (x < frame->width ? x : frame->width - 1));
            for (int p = 0; p < planes; p++)
                picture->data[p][(int64_t)y * picture->linesize[p] + x] = yuv[p];
        }
    }
}

enum bd_status bd_jpeg_pack(struct bd_jpeg *self, const struct bd_frame *frame,
                            const uint8_t **data, size_t *size)
{
    struct encoder *encoder;
    enum bd_status status =
        find_encoder(self, class_of(frame->width), class_of(frame->height), &encoder);
    if (status)
        return status;
    encoder->used = ++self->calls;
    bd_libav_forget();
    int error = av_frame_make_writable(encoder->picture);
    if (error < 0)
        return fail(error, "made");
    fill(encoder->picture, frame);
    encoder->picture->pts = encoder->used;
    av_packet_unref(self->packet);
    error = avcodec_send_frame(encoder->context, encoder->picture);
    if (error >= 0)
        error = avcodec_receive_packet(encoder->context, self->packet);
    if (error < 0)
        return fail(error, "made");
    *data = self->packet->data;
    *size = (size_t)self->packet->size;
    return BD_OK;
}

/* Decodes `data` into self->decoded. */
static int decode(struct bd_jpeg *self, const uint8_t *data, size_t size)
{
    if (size == 0 || size > INT_MAX - AV_INPUT_BUFFER_PADDING_SIZE)
        return AVERROR_INVALIDDATA;
    av_packet_unref(self->packet);
    int error = av_new_packet(self->packet, (int)size);
    if (error < 0)
        return error;
    memcpy(self->packet->data, data, size);
    error = avcodec_send_packet(self->decoder, self->packet);
    return error < 0 ? error : avcodec_receive_frame(self->decoder, self->decoded);
}

enum bd_status bd_jpeg_unpack(struct bd_jpeg *self, struct bd_frame *frame, const uint8_t *data,
                              size_t size)
{
    bd_libav_forget();
    int error = decode(self, data, size);
    if (error < 0)
        return fail(error, "read");
    const AVFrame *picture = self->decoded;
    if (picture->format != AV_PIX_FMT_YUVJ444P || picture->width < frame->width ||
        picture->height < frame->height)
        return fail(AVERROR_INVALIDDATA, "read");
    for (int y = 0; y < frame->height; y++) {
        uint8_t *row = frame->data + y * frame->stride;
        const uint8_t *in[planes];
        for (int p = 0; p < planes; p++)
            in[p] = picture->data[p] + (int64_t)y * picture->linesize[p];
        for (int x = 0; x < frame->width; x++)
            join(row + 3L * x, in[0][x], in[1][x], in[2][x]);
    }
    return BD_OK;
}
