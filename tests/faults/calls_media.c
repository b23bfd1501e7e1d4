/* The functions of FFmpeg, SDL and fontconfig that the program calls and that can fail (wrap.h). */
#include <SDL.h>
#include <SDL_ttf.h>
#include <fontconfig/fontconfig.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/mem.h>
#include <libavutil/threadmessage.h>
#include <libswscale/swscale.h>

#include "tests/faults/wrap.h"

#define NO_MEMORY AVERROR(ENOMEM)
#define BROKEN AVERROR(EIO)
#define FULL AVERROR(ENOSPC)

/* --- FFmpeg: memory --- */

/* clang-format off */
CALL(void *, av_malloc, (size_t size), (size), ENOMEM, NULL)
CALL(void *, av_mallocz, (size_t size), (size), ENOMEM, NULL)
CALL(char *, av_strdup, (const char *text), (text), ENOMEM, NULL)
CALL(AVFrame *, av_frame_alloc, (void), (), ENOMEM, NULL)
CALL(AVPacket *, av_packet_alloc, (void), (), ENOMEM, NULL)
CALL(AVBufferRef *, av_buffer_create,
     (uint8_t *data, size_t size, void (*release)(void *, uint8_t *), void *user, int flags),
     (data, size, release, user, flags), ENOMEM, NULL)
CALL(AVBufferPool *, av_buffer_pool_init, (size_t size, AVBufferRef *(*make)(size_t)), (size, make),
     ENOMEM, NULL)
CALL(AVBufferRef *, av_buffer_pool_get, (AVBufferPool *pool), (pool), ENOMEM, NULL)
CALL(AVCodecContext *, avcodec_alloc_context3, (const AVCodec *codec), (codec), ENOMEM, NULL)
CALL(AVFormatContext *, avformat_alloc_context, (void), (), ENOMEM, NULL)
CALL(AVStream *, avformat_new_stream, (AVFormatContext *format, const AVCodec *codec),
     (format, codec), ENOMEM, NULL)
CALL(AVIOContext *, avio_alloc_context,
     (unsigned char *buffer, int size, int writes, void *user, int (*in)(void *, uint8_t *, int),
      int (*out)(void *, uint8_t *, int), int64_t (*seek)(void *, int64_t, int)),
     (buffer, size, writes, user, in, out, seek), ENOMEM, NULL)
CALL(struct SwsContext *, sws_alloc_context, (void), (), ENOMEM, NULL)
CALL(int, av_dict_set, (AVDictionary **set, const char *key, const char *value, int flags),
     (set, key, value, flags), ENOMEM, NO_MEMORY)
CALL(int, av_dict_set_int, (AVDictionary **set, const char *key, int64_t value, int flags),
     (set, key, value, flags), ENOMEM, NO_MEMORY)
CALL(int, av_dict_parse_string,
     (AVDictionary **set, const char *text, const char *equals, const char *between, int flags),
     (set, text, equals, between, flags), ENOMEM, NO_MEMORY)
CALL(int, av_thread_message_queue_alloc,
     (AVThreadMessageQueue **queue, unsigned count, unsigned size), (queue, count, size), ENOMEM,
     NO_MEMORY)
CALL(int, avcodec_open2, (AVCodecContext *context, const AVCodec *codec, AVDictionary **set),
     (context, codec, set), ENOMEM, NO_MEMORY)
CALL(int, avcodec_parameters_copy, (AVCodecParameters *to, const AVCodecParameters *from),
     (to, from), ENOMEM, NO_MEMORY)
CALL(int, avcodec_parameters_from_context, (AVCodecParameters *to, const AVCodecContext *from),
     (to, from), ENOMEM, NO_MEMORY)
CALL(int, avcodec_parameters_to_context, (AVCodecContext *to, const AVCodecParameters *from),
     (to, from), ENOMEM, NO_MEMORY)
CALL(int, avcodec_send_packet, (AVCodecContext *context, const AVPacket *packet),
     (context, packet), ENOMEM, NO_MEMORY)
CALL(int, avcodec_receive_frame, (AVCodecContext *context, AVFrame *frame), (context, frame),
     ENOMEM, NO_MEMORY)
CALL(int, avcodec_send_frame, (AVCodecContext *context, const AVFrame *frame), (context, frame),
     ENOMEM, NO_MEMORY)
CALL(int, avcodec_receive_packet, (AVCodecContext *context, AVPacket *packet), (context, packet),
     ENOMEM, NO_MEMORY)
CALL(int, avformat_alloc_output_context2,
     (AVFormatContext **format, const AVOutputFormat *muxer, const char *name, const char *url),
     (format, muxer, name, url), ENOMEM, NO_MEMORY)
CALL(int, sws_init_context, (struct SwsContext *sws, SwsFilter *from, SwsFilter *to),
     (sws, from, to), ENOMEM, NO_MEMORY)
CALL(int, sws_scale,
     (struct SwsContext *sws, const uint8_t *const from[], const int strides[], int first, int rows,
      uint8_t *const to[], const int to_strides[]),
     (sws, from, strides, first, rows, to, to_strides), ENOMEM, NO_MEMORY)
#if LIBSWSCALE_VERSION_MAJOR >= 6 /* FFmpeg 5.0 */
CALL(int, sws_scale_frame, (struct SwsContext *sws, AVFrame *to, const AVFrame *from),
     (sws, to, from), ENOMEM, NO_MEMORY)
#endif

/* --- FFmpeg: files --- */

CALL(int, avformat_find_stream_info, (AVFormatContext *format, AVDictionary **set), (format, set),
     EIO, BROKEN)
CALL(int, av_probe_input_buffer2,
     (AVIOContext *io, const void **format, const char *name, void *log, unsigned offset,
      unsigned most),
     (io, format, name, log, offset, most), EIO, BROKEN)
CALL(int, av_read_frame, (AVFormatContext *format, AVPacket *packet), (format, packet), EIO, BROKEN)
CALL(int, av_seek_frame, (AVFormatContext *format, int stream, int64_t time, int flags),
     (format, stream, time, flags), EIO, BROKEN)
CALL(int, avformat_seek_file,
     (AVFormatContext *format, int stream, int64_t least, int64_t time, int64_t most, int flags),
     (format, stream, least, time, most, flags), EIO, BROKEN)
CALL(int, avio_open, (AVIOContext **io, const char *url, int flags), (io, url, flags), EIO, BROKEN)
CALL(int, avformat_write_header, (AVFormatContext *format, AVDictionary **set), (format, set),
     ENOSPC, FULL)
CALL(int, av_write_frame, (AVFormatContext *format, AVPacket *packet), (format, packet), ENOSPC,
     FULL)
CALL(int, av_interleaved_write_frame, (AVFormatContext *format, AVPacket *packet), (format, packet),
     ENOSPC, FULL)
LATE(int, av_write_trailer, (AVFormatContext *format), (format), ENOSPC, FULL)
LATE(int, avio_closep, (AVIOContext **io), (io), ENOSPC, FULL)
/* clang-format on */

/* Frees what it was given where it fails. */
WRAP(int, avformat_open_input,
     (AVFormatContext * *format, const char *url, const void *kind, AVDictionary **set))
{
    if (!inject("avformat_open_input", CALLER, EIO, false))
        return __real_avformat_open_input(format, url, kind, set);
    avformat_free_context(*format);
    *format = NULL;
    return BROKEN;
}

/* --- the window --- */

/* The library has a word for it. */
#define SDL_CALL(type, name, parameters, arguments, failure) \
    WRAP(type, name, parameters)                             \
    {                                                        \
        if (!inject(#name, CALLER, ENOMEM, false))           \
            return __real_##name arguments;                  \
        SDL_OutOfMemory();                                   \
        return failure;                                      \
    }

/* clang-format off */
SDL_CALL(int, SDL_Init, (Uint32 flags), (flags), -1)
SDL_CALL(SDL_Window *, SDL_CreateWindow,
         (const char *title, int x, int y, int width, int height, Uint32 flags),
         (title, x, y, width, height, flags), NULL)
SDL_CALL(SDL_Renderer *, SDL_CreateRenderer, (SDL_Window *window, int index, Uint32 flags),
         (window, index, flags), NULL)
SDL_CALL(SDL_Texture *, SDL_CreateTexture,
         (SDL_Renderer *renderer, Uint32 format, int access, int width, int height),
         (renderer, format, access, width, height), NULL)
SDL_CALL(SDL_Texture *, SDL_CreateTextureFromSurface,
         (SDL_Renderer *renderer, SDL_Surface *surface), (renderer, surface), NULL)
SDL_CALL(int, SDL_GetRendererInfo, (SDL_Renderer *renderer, SDL_RendererInfo *about),
         (renderer, about), -1)
SDL_CALL(int, SDL_GetRendererOutputSize, (SDL_Renderer *renderer, int *width, int *height),
         (renderer, width, height), -1)
SDL_CALL(int, SDL_LockTexture,
         (SDL_Texture *texture, const SDL_Rect *part, void **pixels, int *stride),
         (texture, part, pixels, stride), -1)
SDL_CALL(int, SDL_RenderCopy,
         (SDL_Renderer *renderer, SDL_Texture *texture, const SDL_Rect *from, const SDL_Rect *to),
         (renderer, texture, from, to), -1)
SDL_CALL(int, SDL_RenderReadPixels,
         (SDL_Renderer *renderer, const SDL_Rect *part, Uint32 format, void *pixels, int stride),
         (renderer, part, format, pixels, stride), -1)
CALL(int, SDL_PushEvent, (SDL_Event *event), (event), ENOMEM, -1)
SDL_CALL(int, TTF_Init, (void), (), -1)
SDL_CALL(TTF_Font *, TTF_OpenFontIndex, (const char *path, int size, long face),
         (path, size, face), NULL)
SDL_CALL(SDL_Surface *, TTF_RenderUTF8_Blended, (TTF_Font *font, const char *text, SDL_Color color),
         (font, text, color), NULL)
CALL(FcConfig *, FcInitLoadConfigAndFonts, (void), (), ENOMEM, NULL)
CALL(FcPattern *, FcNameParse, (const FcChar8 *name), (name), ENOMEM, NULL)
CALL(FcFontSet *, FcFontSort,
     (FcConfig *config, FcPattern *pattern, FcBool trim, FcCharSet **set, FcResult *result),
     (config, pattern, trim, set, result), ENOMEM, NULL)
/* clang-format on */
