#include "video/output/recipe.h"

#include <libavutil/avstring.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <string.h>

#include "video/libav.h"

/* Settings. Lossy ones aim at no visible difference at a speed that keeps up with the separation;
 * B-frames are off everywhere, so that pictures leave an encoder in the order they entered it. */
#define X264 "crf=20;preset=veryfast"
#define X264_EXACT "qp=0;preset=veryfast"
/* Masks are flat: the quickest search finds as much as the others, and almost nothing is taken from
 * the picture before. Key frames alone are a third larger, take half the time, and no thread waits
 * for another one's picture. */
#define X264_MASK "qp=0;preset=ultrafast;coder=cabac;g=1"
#define VP9 "crf=24;b=0;deadline=realtime;cpu-used=7;row-mt=1;auto-alt-ref=0"
#define VP9_EXACT "lossless=1;deadline=good;cpu-used=5;row-mt=1;auto-alt-ref=0"
#define QUALITY(q) "flags=+qscale;global_quality=" q /* 118 a step, as ffmpeg's -q:v */

/* Lists of recipes in order of preference; each ends with an empty one. */
typedef const struct bd_writer_recipe recipes[];

/* An entry, then: any size; even sides only; YUV or gray of full range. */
#define ENTRY(name, format, options, needs_even, smallest, full)                                 \
    {                                                                                            \
        .encoder = name, .pixels = AV_PIX_FMT_##format, .settings = options, .even = needs_even, \
        .least = smallest, .full_range = full                                                    \
    }
#define PLAIN(name, format, options) ENTRY(name, format, options, false, 0, false)
#define EVEN(name, format, options) ENTRY(name, format, options, true, 0, false)
#define FULL(name, format, options) ENTRY(name, format, options, false, 0, true)

static recipes h264 = { EVEN("libx264", YUV420P, X264),
                        PLAIN("libx264", YUV444P, X264),
                        EVEN("libopenh264", YUV420P, "b=8000000"),
                        PLAIN("mpeg4", YUV420P, QUALITY("354")),
                        { 0 } };
static recipes h264_gray = { FULL("libx264", GRAY8, X264_MASK), PLAIN("png", GRAY8, NULL), { 0 } };
static recipes h264_rgb = { PLAIN("libx264rgb", RGB24, X264_EXACT),
                            PLAIN("png", RGB24, NULL),
                            { 0 } };
/* FFV1 cuts pictures into slices from level 3 on, and FFmpeg's breaks pictures smaller than these.
 */
#define FFV1(format, full)                             \
    ENTRY("ffv1", format, "level=3", false, 16, full), \
        ENTRY("ffv1", format, "level=1", false, 0, full)
static recipes ffv1_gray = { FFV1(GRAY8, true), { 0 } };
/* Flat runs cost JPEG-LS almost nothing: a mask of 1920 x 1080 takes 2.4 ms of a core and 2.9 KB
 * (X264_MASK 6.1 ms and 4.0 KB, PNG 5.2 ms and 15 KB, FFV1 19 ms and 1.7 KB; 300 masks of vtest.avi
 * enlarged), and half of H.264's time to decode. */
static recipes mask_gray = {
    FULL("jpegls", GRAY8, NULL), FULL("libx264", GRAY8, X264_MASK), FFV1(GRAY8, true), { 0 }
};
static recipes ffv1_rgb = { FFV1(BGR0, false), { 0 } };
static recipes ffv1_rgba = { FFV1(BGRA, false), { 0 } };
static recipes vp9 = { PLAIN("libvpx-vp9", YUV420P, VP9),
                       PLAIN("libvpx", YUV420P, "crf=8;b=20000000;cpu-used=5"),
                       { 0 } };
static recipes vp9_alpha = { PLAIN("libvpx-vp9", YUVA420P, VP9),
                             PLAIN("libvpx", YUVA420P,
                                   "crf=8;b=20000000;cpu-used=5;auto-alt-ref=0"),
                             { 0 } };
static recipes vp9_gray = { FULL("libvpx-vp9", YUV420P, VP9_EXACT), { 0 } };
static recipes vp9_rgb = { PLAIN("libvpx-vp9", GBRP, VP9_EXACT), { 0 } };
static recipes mov_alpha = { PLAIN("prores_aw", YUVA444P10, "profile=4"),
                             PLAIN("prores_ks", YUVA444P10, "profile=4444"),
                             PLAIN("qtrle", ARGB, NULL),
                             { 0 } };
static recipes mov_rgba = { PLAIN("qtrle", ARGB, NULL), PLAIN("png", RGBA, NULL), { 0 } };
static recipes gif_gray = { FULL("gif", GRAY8, NULL), { 0 } };
static recipes gif_rgb = { PLAIN("gif", RGB8, NULL), { 0 } };
static recipes raw_gray = { FULL("rawvideo", GRAY8, NULL), { 0 } };
static recipes y4m_gray = { FULL("wrapped_avframe", GRAY8, NULL), { 0 } };
static recipes y4m_yuv = { PLAIN("wrapped_avframe", YUV420P, NULL), { 0 } };
static recipes raw_yuv = { PLAIN("rawvideo", YUV420P, NULL), { 0 } };
static recipes png_gray = { PLAIN("png", GRAY8, NULL), { 0 } };
static recipes png_rgb = { PLAIN("png", RGB24, NULL), { 0 } };
static recipes png_rgba = { PLAIN("png", RGBA, NULL), { 0 } };
static recipes jpeg = { FULL("mjpeg", YUVJ444P, QUALITY("236")), { 0 } };
static recipes bmp_gray = { PLAIN("bmp", GRAY8, NULL), { 0 } };
static recipes bmp_rgb = { PLAIN("bmp", BGR24, NULL), { 0 } };
static recipes bmp_rgba = { PLAIN("bmp", BGRA, NULL), { 0 } };
static recipes tiff_gray = { PLAIN("tiff", GRAY8, NULL), { 0 } };
static recipes tiff_rgb = { PLAIN("tiff", RGB24, NULL), { 0 } };
static recipes tiff_rgba = { PLAIN("tiff", RGBA, NULL), { 0 } };
static recipes pgm_gray = { PLAIN("pgm", GRAY8, NULL), { 0 } };
static recipes ppm_rgb = { PLAIN("ppm", RGB24, NULL), { 0 } };
static recipes webp = { PLAIN("libwebp", YUV420P, "quality=92"), { 0 } };
static recipes webp_alpha = { PLAIN("libwebp", YUVA420P, "quality=92"), { 0 } };
/* Of pixels that are wholly transparent libwebp keeps no colour. */
static recipes webp_exact = { PLAIN("libwebp", BGRA, "lossless=1"), { 0 } };
/* Not by any extension, but better settings than an encoder's own when it is named by the user. */
static recipes named = {
    EVEN("libx265", YUV420P, "crf=22;preset=fast;x265-params=bframes=0:log-level=error"),
    PLAIN("libx265", YUV444P, "crf=22;preset=fast;x265-params=bframes=0:log-level=error"),
    PLAIN("mpeg4", YUV420P, QUALITY("354")),
    PLAIN("mpeg2video", YUV420P, QUALITY("354")),
    FULL("mjpeg", YUVJ444P, QUALITY("236")),
    PLAIN("libaom-av1", YUV420P, "crf=28;b=0;cpu-used=8;row-mt=1"),
    EVEN("libsvtav1", YUV420P, "crf=30;preset=10"),
    { 0 }
};

enum { GRAY, RGB, RGBA, FORMATS };

/* Lists of formats that keep every pixel, as lossy and as lossless ones. */
#define BOTH(gray, rgb, rgba) \
    { gray, rgb, rgba },      \
    {                         \
        gray, rgb, rgba       \
    }

/* A missing list means that the container holds no such thing: without alpha the RGB list is used,
 * without a lossless list the request fails. */
static const struct bd_container {
    const char *extensions; /* separated by commas */
    const char *muxer;      /* NULL: pictures */
    enum bd_writer_clock clock;
    const struct bd_writer_recipe *lossy[FORMATS], *lossless[FORMATS];
} containers[] = {
    { "mkv",
      "matroska",
      BD_CLOCK_ANY,
      { h264, h264, ffv1_rgba },
      { mask_gray, ffv1_rgb, ffv1_rgba } },
    { "mp4,m4v", "mp4", BD_CLOCK_SCALE, { h264, h264, NULL }, { h264_gray, h264_rgb, NULL } },
    { "mov", "mov", BD_CLOCK_SCALE, { h264, h264, mov_alpha }, { h264_gray, h264_rgb, mov_rgba } },
    { "webm", "webm", BD_CLOCK_ANY, { vp9, vp9, vp9_alpha }, { vp9_gray, vp9_rgb, NULL } },
    { "avi", "avi", BD_CLOCK_FIXED, { h264, h264, ffv1_rgba }, { ffv1_gray, ffv1_rgb, ffv1_rgba } },
    { "nut", "nut", BD_CLOCK_ANY, BOTH(ffv1_gray, ffv1_rgb, ffv1_rgba) },
    { "gif", "gif", BD_CLOCK_ANY, { gif_gray, gif_rgb, NULL }, { gif_gray, NULL, NULL } },
    { "y4m",
      "yuv4mpegpipe",
      BD_CLOCK_FIXED,
      { y4m_gray, y4m_yuv, NULL },
      { y4m_gray, NULL, NULL } },
    { "yuv", "rawvideo", BD_CLOCK_FIXED, { raw_gray, raw_yuv, NULL }, { raw_gray, NULL, NULL } },
    { "png", NULL, BD_CLOCK_ANY, BOTH(png_gray, png_rgb, png_rgba) },
    { "jpg,jpeg", NULL, BD_CLOCK_ANY, { jpeg, jpeg, NULL }, { NULL, NULL, NULL } },
    { "bmp", NULL, BD_CLOCK_ANY, BOTH(bmp_gray, bmp_rgb, bmp_rgba) },
    { "tif,tiff", NULL, BD_CLOCK_ANY, BOTH(tiff_gray, tiff_rgb, tiff_rgba) },
    { "pgm", NULL, BD_CLOCK_ANY, { pgm_gray, pgm_gray, NULL }, { pgm_gray, NULL, NULL } },
    { "ppm", NULL, BD_CLOCK_ANY, BOTH(ppm_rgb, ppm_rgb, NULL) },
    { "webp",
      NULL,
      BD_CLOCK_ANY,
      { webp, webp, webp_alpha },
      { webp_exact, webp_exact, webp_exact } },
};

/* Encoders that hold pictures for each of their threads, and how many threads are of use. At
 * 1920 x 1080 a thread of x264 holds 24 MB, one of ProRes 52 MB; left to itself x264 starts three
 * threads for two cores. One thread of ours converts the pictures, in a third of the processor time
 * that X264 takes, and a quarter of that of ProRes: beyond four, threads wait for it. Masks need no
 * conversion: on 16 cores beside a GPU that separates, a frame took 1.40 ms with six threads, 1.21
 * with eight and 1.19 with twelve; as JPEG-LS .49 to .52 with eight, where other threads decide. */
static const struct {
    const char *encoder;
    int most;
} threads[] = {
    { "libx264", 8 }, { "libx264rgb", 8 }, { "jpegls", 8 }, { "prores_aw", 6 }, { "prores_ks", 6 }
};

static int most_threads(const char *encoder)
{
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        if (strcmp(threads[i].encoder, encoder) == 0)
            return threads[i].most;
    return 0;
}

enum { CONTAINER_COUNT = sizeof containers / sizeof *containers };

static const char *extension_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    return dot ? dot + 1 : "";
}

static const struct bd_container *find_container(const char *extension)
{
    for (int i = 0; i < CONTAINER_COUNT; i++)
        if (extension[0] && av_match_name(extension, containers[i].extensions))
            return &containers[i];
    return NULL;
}

static enum bd_status fail_extension(const char *path)
{
    char known[300] = "";
    for (int i = 0; i < CONTAINER_COUNT; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? "," : "", containers[i].extensions);
    }
    return bd_fail(BD_ERROR_UNSUPPORTED,
                   "%s: the extension says no format that can be written; known are %s", path,
                   known);
}

static int row_of(enum bd_pixel_format format)
{
    return format == BD_GRAY8 ? GRAY : format == BD_RGB24 ? RGB : RGBA;
}

static bool fits(const struct bd_writer_recipe *recipe, const struct bd_writer_options *options)
{
    bool even = options->width % 2 == 0 && options->height % 2 == 0;
    return (even || !recipe->even) && options->width >= recipe->least &&
           options->height >= recipe->least;
}

/* The first recipe of a list whose encoder this build has and that accepts the size; if `encoder`
 * is not NULL, only recipes of that encoder count. */
static const struct bd_writer_recipe *pick(const struct bd_writer_recipe *list, const char *encoder,
                                           const struct bd_writer_options *options)
{
    for (; list && list->encoder; list++)
        if (fits(list, options) && (!encoder || strcmp(list->encoder, encoder) == 0) &&
            avcodec_find_encoder_by_name(list->encoder))
            return list;
    return NULL;
}

/* As pick(), over everything that the table knows about this encoder and kind of picture. */
static const struct bd_writer_recipe *pick_anywhere(const char *encoder, int row,
                                                    const struct bd_writer_options *options)
{
    const struct bd_writer_recipe *found = NULL;
    for (int i = 0; i < CONTAINER_COUNT && !found; i++)
        found = pick((options->lossless ? containers[i].lossless : containers[i].lossy)[row],
                     encoder, options);
    if (!found && !options->lossless)
        found = pick(named, encoder, options);
    return found;
}

/* A recipe for an encoder that is not in the table: with the pixel format of the encoder that loses
 * least. */
static enum bd_status improvise(struct bd_writer_recipe *recipe, const char *path,
                                const AVCodec *codec, const struct bd_writer_options *options)
{
    const AVCodecDescriptor *about = avcodec_descriptor_get(codec->id);
    /* Gray pictures of QuickTime Animation are read through a palette, some of them a level off. */
    bool palette = codec->id == AV_CODEC_ID_QTRLE && options->format == BD_GRAY8;
    bool exact_codec = about && !palette && (about->props & AV_CODEC_PROP_LOSSLESS) &&
                       !(about->props & AV_CODEC_PROP_LOSSY);
    enum AVPixelFormat source = bd_libav_format(options->format);
    int loss = 0;
    if (!codec->pix_fmts)
        return bd_fail(BD_ERROR_UNSUPPORTED, "%s: encoder %s takes no pictures in memory", path,
                       codec->name);
    *recipe = (struct bd_writer_recipe){ .encoder = codec->name,
                                         .pixels = avcodec_find_best_pix_fmt_of_list(
                                             codec->pix_fmts, source, options->format == BD_RGBA32,
                                             &loss) };
    recipe->full_range = options->format == BD_GRAY8 && recipe->pixels == AV_PIX_FMT_GRAY8;
    const AVPixFmtDescriptor *pixels = av_pix_fmt_desc_get(recipe->pixels);
    if (!pixels || (pixels->flags & AV_PIX_FMT_FLAG_HWACCEL))
        return bd_fail(BD_ERROR_UNSUPPORTED, "%s: encoder %s takes no pictures in memory", path,
                       codec->name);
    if (options->lossless && (!exact_codec || (loss & ~FF_LOSS_ALPHA)))
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "%s: encoder %s cannot keep every pixel as it is; ffv1 in .mkv and .png can",
                       path, codec->name);
    return BD_OK;
}

enum bd_status bd_writer_check_codec(const char *codec)
{
    const AVCodec *found = avcodec_find_encoder_by_name(codec);
    if (found && found->type == AVMEDIA_TYPE_VIDEO)
        return BD_OK;
    return bd_fail(BD_ERROR_UNSUPPORTED,
                   "'%s': no such video encoder in this FFmpeg (`ffmpeg -encoders` lists them)",
                   codec);
}

/* libavformat writes these films all the same, and reads other pictures from them, or none. */
static const struct {
    const char *muxer;
    enum AVCodecID codec;
} unreadable[] = {
    { "avi", AV_CODEC_ID_BMP },      { "avi", AV_CODEC_ID_GIF },
    { "avi", AV_CODEC_ID_HEVC },     { "avi", AV_CODEC_ID_PAM },
    { "avi", AV_CODEC_ID_PGM },      { "avi", AV_CODEC_ID_PPM },
    { "avi", AV_CODEC_ID_QTRLE },    { "matroska", AV_CODEC_ID_QTRLE },
    { "mov", AV_CODEC_ID_RAWVIDEO },
};

static bool holds(const AVOutputFormat *muxer, enum AVCodecID codec)
{
    for (size_t i = 0; i < sizeof unreadable / sizeof *unreadable; i++)
        if (unreadable[i].codec == codec && strcmp(unreadable[i].muxer, muxer->name) == 0)
            return false;
    return true;
}

/* The user named an encoder. */
static enum bd_status plan_named(struct bd_writer_plan *plan, const char *path, const char *codec,
                                 const struct bd_container *container,
                                 const struct bd_writer_options *options)
{
    if (bd_writer_check_codec(codec))
        return bd_fail(BD_ERROR_UNSUPPORTED, "%s: codec %s", path, bd_error_detail());
    plan->codec = avcodec_find_encoder_by_name(codec);
    if (!plan->pictures && !holds(plan->muxer, plan->codec->id))
        return bd_fail(BD_ERROR_UNSUPPORTED, "%s: this format cannot hold a film encoded by %s",
                       path, codec);
    int row = row_of(options->format);
    const struct bd_writer_recipe *recipe = NULL;
    if (container)
        recipe =
            pick((options->lossless ? container->lossless : container->lossy)[row], codec, options);
    if (!recipe)
        recipe = pick_anywhere(codec, row, options);
    if (!recipe && row == RGBA)
        recipe = pick_anywhere(codec, RGB, options);
    if (recipe) {
        plan->recipe = *recipe;
        return BD_OK;
    }
    return improvise(&plan->recipe, path, plan->codec, options);
}

/* An extension outside our table that libavformat knows: its own choice of codec. */
static enum bd_status plan_guessed(struct bd_writer_plan *plan, const char *path,
                                   const struct bd_writer_options *options)
{
    enum AVCodecID id = av_guess_codec(plan->muxer, NULL, path, NULL, AVMEDIA_TYPE_VIDEO);
    plan->codec = avcodec_find_encoder(id);
    /* Sound files have a still picture for their cover. */
    bool cover = plan->muxer->audio_codec != AV_CODEC_ID_NONE &&
                 (id == AV_CODEC_ID_PNG || id == AV_CODEC_ID_MJPEG);
    if (id == AV_CODEC_ID_NONE || cover || !plan->codec)
        return fail_extension(path);
    const struct bd_writer_recipe *recipe =
        pick_anywhere(plan->codec->name, row_of(options->format), options);
    if (!recipe)
        return improvise(&plan->recipe, path, plan->codec, options);
    plan->recipe = *recipe;
    return BD_OK;
}

static enum bd_status plan_listed(struct bd_writer_plan *plan, const char *path,
                                  const struct bd_container *container,
                                  const struct bd_writer_options *options)
{
    const struct bd_writer_recipe *const *lists =
        options->lossless ? container->lossless : container->lossy;
    int row = row_of(options->format);
    row = row == RGBA && !lists[RGBA] ? RGB : row;
    if (!lists[row])
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "%s: this format cannot keep every pixel of %s pictures; .mkv and .png can",
                       path, row == GRAY ? "gray" : "colour");
    const struct bd_writer_recipe *recipe = pick(lists[row], NULL, options);
    if (!recipe)
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "%s: this FFmpeg was built without the encoder %s; use .mkv or .png", path,
                       lists[row]->encoder);
    plan->recipe = *recipe;
    plan->codec = avcodec_find_encoder_by_name(recipe->encoder);
    return BD_OK;
}

enum bd_status bd_writer_plan_make(struct bd_writer_plan *plan, const char *path,
                                   const struct bd_writer_options *options)
{
    memset(plan, 0, sizeof *plan);
    const char *extension = extension_of(path);
    const struct bd_container *container = find_container(extension);
    char name[64]; /* libavformat must see no more than the extension: a path may hold a '%' */
    snprintf(name, sizeof name, "x.%.60s", extension);
    plan->muxer = container && container->muxer ? av_guess_format(container->muxer, NULL, NULL)
                                                : av_guess_format(NULL, name, NULL);
    if (!plan->muxer || !extension[0])
        return fail_extension(path);
    plan->clock = container                                 ? container->clock
                  : plan->muxer->flags & AVFMT_NOTIMESTAMPS ? BD_CLOCK_FIXED
                                                            : BD_CLOCK_ANY;
    plan->pictures =
        container ? !container->muxer : strncmp(plan->muxer->name, "image2", strlen("image2")) == 0;
    const char *codec = options->codec || plan->pictures ? options->codec : options->film_codec;
    enum bd_status status;
    if (codec)
        status = plan_named(plan, path, codec, container, options);
    else if (container)
        status = plan_listed(plan, path, container, options);
    else
        status = plan_guessed(plan, name, options);
    if (status != BD_OK)
        return status;

    /* Other codecs that a container cannot hold are reported by libavformat, when the header is
     * written. */
    if (plan->pictures &&
        plan->codec->id != av_guess_codec(plan->muxer, NULL, name, NULL, AVMEDIA_TYPE_VIDEO))
        return bd_fail(BD_ERROR_UNSUPPORTED, "%s: a .%s file cannot hold a picture encoded by %s",
                       path, extension, plan->codec->name);
    if (plan->pictures)
        plan->muxer = NULL;
    const AVPixFmtDescriptor *pixels = av_pix_fmt_desc_get(plan->recipe.pixels);
    plan->recipe.encoder = plan->codec->name;
    plan->most_threads = most_threads(plan->codec->name);
    plan->alpha = options->format == BD_RGBA32 && (pixels->flags & AV_PIX_FMT_FLAG_ALPHA);
    return BD_OK;
}
