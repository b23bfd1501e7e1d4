/* The writer on good inputs: what is written comes back, pixels and times, from every format. */
#include "tests/video/writer_fixture.h"
#include "video/synth/synth.h"

/* A file, what goes into it, and how near it must come back. */
struct sample {
    const char *name;
    enum bd_pixel_format format;
    bool lossless;
    double psnr; /* dB at least; 0: every byte the same */
};

/* BMP holds gray as a palette, which libswscale turns back to gray with an error of 1. */
static const struct sample samples[] = {
    { "a.mkv", BD_GRAY8, true, 0 },
    { "b.mkv", BD_RGB24, true, 0 },
    { "c.mkv", BD_GRAY8, false, 32 },
    { "d.mkv", BD_RGB24, false, 28 },
    { "a.mp4", BD_GRAY8, true, 0 },
    { "b.mp4", BD_RGB24, true, 0 },
    { "c.mp4", BD_GRAY8, false, 32 },
    { "d.mp4", BD_RGB24, false, 28 },
    { "a.m4v", BD_GRAY8, true, 0 },
    { "a.mov", BD_GRAY8, true, 0 },
    { "b.mov", BD_RGB24, true, 0 },
    { "d.mov", BD_RGB24, false, 28 },
    { "a.webm", BD_GRAY8, true, 0 },
    { "b.webm", BD_RGB24, true, 0 },
    { "c.webm", BD_GRAY8, false, 32 },
    { "d.webm", BD_RGB24, false, 28 },
    { "a.nut", BD_GRAY8, true, 0 },
    { "b.nut", BD_RGB24, true, 0 },
    { "a.avi", BD_GRAY8, true, 0 },
    { "b.avi", BD_RGB24, true, 0 },
    { "d.avi", BD_RGB24, false, 28 },
    { "a.y4m", BD_GRAY8, true, 0 },
    { "d.y4m", BD_RGB24, false, 28 },
    { "a.gif", BD_GRAY8, true, 0 },
    { "d.gif", BD_RGB24, false, 15 },
    { "a%03d.png", BD_GRAY8, true, 0 },
    { "b%d.png", BD_RGB24, true, 0 },
    { "a%06d.bmp", BD_GRAY8, true, 48 },
    { "b%03d.bmp", BD_RGB24, true, 0 },
    { "a%03d.tiff", BD_GRAY8, true, 0 },
    { "b%03d.tif", BD_RGB24, true, 0 },
    { "a%03d.pgm", BD_GRAY8, true, 0 },
    { "b%03d.ppm", BD_RGB24, true, 0 },
    { "c%03d.jpg", BD_GRAY8, false, 32 },
    { "d%03d.jpeg", BD_RGB24, false, 28 },
    { "b%03d.webp", BD_RGB24, true, 0 },
    { "d%03d.webp", BD_RGB24, false, 28 },
    { "d.ts", BD_RGB24, false, 28 }, /* not in our table: libavformat's own choice */
};

enum { SAMPLES = sizeof samples / sizeof *samples, FRAMES = 14 };

/* Frame `i` of the source: a part of the street, gray or colour. */
static void source(struct bd_frame *frame, enum bd_pixel_format format, int width, int height,
                   int i)
{
    struct bd_frame picture = { 0 }, truth = { 0 };
    assert_int_equal(
        bd_synth_render(bd_synth_find("street"), width, height, 3, 40 + 3 * i, &picture, &truth),
        BD_OK);
    assert_int_equal(bd_frame_ensure(frame, width, height, format), BD_OK);
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            const uint8_t *in = picture.data + y * picture.stride + 3 * (int64_t)x;
            uint8_t *out = frame->data + y * frame->stride + (int64_t)x * format;
            memcpy(out, in, format == BD_GRAY8 ? 1 : 3);
            if (format == BD_RGBA32) /* clear, half and opaque */
                out[3] = truth.data[y * truth.stride + x] == 255 ? 255 : x < width / 4 ? 128 : 0;
        }
    }
    frame->index = i;
    bd_frame_destroy(&picture);
    bd_frame_destroy(&truth);
}

static void write_clip(const char *path, const struct bd_writer_options *options,
                       const int64_t *pts)
{
    struct bd_writer *writer = NULL;
    struct bd_frame frame = { 0 };
    ok(bd_writer_open(&writer, path, options));
    for (int i = 0; i < FRAMES; i++) {
        source(&frame, options->format, options->width, options->height, i);
        frame.pts = pts ? pts[i] : i;
        frame.duration = pts && i + 1 < FRAMES ? pts[i + 1] - pts[i] : 1;
        ok(bd_writer_write(writer, &frame));
    }
    ok(bd_writer_close(&writer));
    assert_null(writer);
    bd_frame_destroy(&frame);
}

static double psnr(const struct bd_frame *a, const struct bd_frame *b)
{
    double sum = 0;
    int row = a->width * (int)a->format;
    for (int y = 0; y < a->height; y++)
        for (int x = 0; x < row; x++) {
            int d = a->data[y * a->stride + x] - b->data[y * b->stride + x];
            sum += d * d;
        }
    return sum > 0 ? 10 * log10(65025.0 * row * a->height / sum) : 999;
}

/* Reads `path` back and compares pixels, order and count; the times too where `pts` is given. */
static void compare_clip(const char *path, const struct bd_writer_options *options,
                         const int64_t *pts, double least)
{
    struct bd_reader_options want = { .format = options->format };
    struct bd_reader *reader = NULL;
    struct bd_frame back = { 0 }, frame = { 0 };
    enum bd_status status;
    ok(bd_reader_open(&reader, path, &want));
    const struct bd_reader_info *info = bd_reader_get_info(reader);
    assert_int_equal(info->width, options->width);
    assert_int_equal(info->height, options->height);
    int i = 0;
    while ((status = bd_reader_read(reader, &back)) == BD_OK) {
        assert_true(i < FRAMES);
        source(&frame, options->format, options->width, options->height, i);
        double got = psnr(&frame, &back);
        if (got < (least > 0 ? least : 900))
            fail_msg("%s: frame %d comes back with %.1f dB", path, i, got);
        if (pts && back.pts * info->time_base.num * options->time_base.den !=
                       pts[i] * options->time_base.num * info->time_base.den)
            fail_msg("%s: frame %d comes back at %lld of %lld/%lld, went in at %lld of %lld/%lld",
                     path, i, (long long)back.pts, (long long)info->time_base.num,
                     (long long)info->time_base.den, (long long)pts[i],
                     (long long)options->time_base.num, (long long)options->time_base.den);
        i++;
    }
    assert_int_equal(status, BD_END);
    assert_int_equal(i, FRAMES);
    bd_frame_destroy(&back);
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
}

static struct bd_writer_options options_of(const struct sample *sample, int width, int height)
{
    return (struct bd_writer_options){ .width = width,
                                       .height = height,
                                       .format = sample->format,
                                       .time_base = { 1, 25 },
                                       .frame_rate = { 25, 1 },
                                       .pixel_aspect = { 1, 1 },
                                       .lossless = sample->lossless };
}

static void test_formats(void **state)
{
    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        struct bd_writer_options options = options_of(&samples[i], 160, 96);
        const char *path = in_scratch(samples[i].name);
        write_clip(path, &options, NULL);
        compare_clip(path, &options, NULL, samples[i].psnr);
        empty_scratch();
    }
}

/* Any number of threads writes the same pictures. */
static void test_threads(void **state)
{
    static const struct sample films[] = { { "x.mkv", BD_GRAY8, true, 0 },
                                           { "x.mp4", BD_RGB24, false, 28 },
                                           { "x.mov", BD_RGB24, true, 0 } };
    (void)state;
    for (size_t i = 0; i < sizeof films / sizeof *films; i++)
        for (int threads = 1; threads < 20; threads = 3 * threads + 1) {
            struct bd_writer_options options = options_of(&films[i], 160, 96);
            const char *path = in_scratch(films[i].name);
            options.overwrite = true;
            options.threads = threads;
            write_clip(path, &options, NULL);
            compare_clip(path, &options, NULL, films[i].psnr);
        }
    empty_scratch();
}

/* A frame that has been taken is the caller's again, before it is encoded. */
static void test_taken_frames(void **state)
{
    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        struct bd_writer_options options = options_of(&samples[i], 160, 96);
        const char *path = in_scratch(samples[i].name);
        struct bd_writer *writer = NULL;
        struct bd_frame frame = { 0 };
        ok(bd_writer_open(&writer, path, &options));
        for (int number = 0; number < FRAMES; number++) {
            source(&frame, options.format, options.width, options.height, number);
            frame.pts = number;
            ok(bd_writer_take(writer, &frame));
            memset(frame.data, 77, (size_t)(frame.stride * frame.height));
            ok(bd_writer_encode(writer));
        }
        ok(bd_writer_close(&writer));
        bd_frame_destroy(&frame);
        compare_clip(path, &options, NULL, samples[i].psnr);
        empty_scratch();
    }
}

/* Nothing is cropped or padded: all sides odd, and very small. */
static void test_odd_sizes(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 67, 45 }, { 33, 20 }, { 20, 33 } };
    for (int i = 0; i < SAMPLES; i++) {
        const int *size = sizes[i % 3];
        struct bd_writer_options options = options_of(&samples[i], size[0], size[1]);
        const char *path = in_scratch(samples[i].name);
        write_clip(path, &options, NULL);
        compare_clip(path, &options, NULL, samples[i].psnr > 0 ? samples[i].psnr - 8 : 0);
        empty_scratch();
    }
}

static void test_one_pixel(void **state)
{
    static const char *const names[] = {
        "x.mkv", "x.mp4", "x.mov", "x.nut", "x%d.png", "x%d.tiff"
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct sample sample = { names[i], BD_GRAY8, true, 0 };
        struct bd_writer_options options = options_of(&sample, 1, 1);
        if (strstr(names[i], ".m") && !strstr(names[i], ".mkv"))
            options.codec = "png"; /* H.264 has no such small pictures */
        write_clip(in_scratch(names[i]), &options, NULL);
        compare_clip(in_scratch(names[i]), &options, NULL, 0);
    }
    empty_scratch();
}

static void test_times(void **state)
{
    /* Uneven, some very near each other, none at a multiple of anything. */
    static const int64_t ninety[FRAMES] = { 0,     3003,  6006,  6007,  12012, 15017, 15019,
                                            31000, 34003, 37007, 90001, 90100, 95001, 180003 };
    static const int64_t milli[FRAMES] = { 0,   33,  67,  68,  133,  166,  200,
                                           340, 377, 411, 999, 1001, 1050, 2000 };
    static const int64_t late[FRAMES] = { 500, 533, 567, 568,  633,  666,  700,
                                          840, 877, 911, 1499, 1501, 1550, 2500 };
    static const int64_t even[FRAMES] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 };
    static const struct {
        const char *name;
        struct bd_rational time_base, frame_rate;
        const int64_t *pts;
        bool lossless;
    } cases[] = {
        { "a.mp4", { 1, 90000 }, { 25, 1 }, ninety, true },
        { "b.mp4", { 1, 90000 }, { 0, 1 }, ninety, false },
        { "c.mp4", { 1001, 30000 }, { 30000, 1001 }, even, false },
        { "d.mp4", { 1, 1000 }, { 25, 1 }, late, false },
        { "a.mov", { 1, 90000 }, { 25, 1 }, ninety, true },
        { "a.nut", { 1, 90000 }, { 25, 1 }, ninety, true },
        { "a.ivf", { 1, 90000 }, { 25, 1 }, ninety, false },
        { "a.mkv", { 1, 1000 }, { 25, 1 }, milli, true },
        { "b.mkv", { 1, 1000 }, { 0, 1 }, milli, false },
        { "c.mkv", { 1, 1000 }, { 25, 1 }, late, false },
        { "d.mkv", { 1, 1000 }, { 25, 1 }, late, true },
        { "a.webm", { 1, 1000 }, { 25, 1 }, milli, false },
        { "a.avi", { 1, 30 }, { 30, 1 }, even, true },
        { "b.avi", { 1001, 30000 }, { 30000, 1001 }, even, false },
        { "c.avi", { 1001, 30000 }, { 0, 1 }, even, false },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample sample = { cases[i].name, BD_GRAY8, cases[i].lossless, 0 };
        struct bd_writer_options options = options_of(&sample, 64, 48);
        options.time_base = cases[i].time_base;
        options.frame_rate = cases[i].frame_rate;
        write_clip(in_scratch(cases[i].name), &options, cases[i].pts);
        compare_clip(in_scratch(cases[i].name), &options, cases[i].pts, 25);
        assert_int_equal(warnings(), 0);
    }
    empty_scratch();
}

/* Times before 0 are no reason to leave frames out: the film starts at 0 then. */
static void test_times_before_zero(void **state)
{
    static const char *const names[] = { "n.mp4", "n.mov", "n.mkv" };
    static const int64_t before[FRAMES] = { -900, -867, -833, -800, -500, -300, -200,
                                            -100, -33,  0,    33,   67,   100,  133 };
    int64_t moved[FRAMES];
    (void)state;
    for (int i = 0; i < FRAMES; i++)
        moved[i] = before[i] - before[0];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct sample sample = { names[i], BD_GRAY8, true, 0 };
        struct bd_writer_options options = options_of(&sample, 64, 48);
        options.time_base = (struct bd_rational){ 1, 1000 };
        options.frame_rate = (struct bd_rational){ 30, 1 };
        write_clip(in_scratch(names[i]), &options, before);
        compare_clip(in_scratch(names[i]), &options, moved, 25);
    }
    empty_scratch();
}

/* A container of one constant rate says so once, and keeps every frame in order. */
static void test_uneven_times_in_avi(void **state)
{
    static const int64_t milli[FRAMES] = { 700, 733, 767,  768,  833,  866,  900,
                                           940, 977, 1011, 1099, 1101, 1150, 1300 };
    (void)state;
    struct sample sample = { "u.avi", BD_GRAY8, true, 0 };
    struct bd_writer_options options = options_of(&sample, 64, 48);
    options.time_base = (struct bd_rational){ 1, 1000 };
    options.frame_rate = (struct bd_rational){ 30, 1 };
    write_clip(in_scratch("u.avi"), &options, milli);
    assert_int_equal(warnings(), 1);
    compare_clip(in_scratch("u.avi"), &options, NULL, 0);
    empty_scratch();
}

/* A container that is not in the table has the rate of the film, whatever the unit of time. */
static void test_constant_rate_by_its_muxer(void **state)
{
    int64_t times[FRAMES];
    (void)state;
    for (int i = 0; i < FRAMES; i++)
        times[i] = i * INT64_C(512);
    struct sample sample = { "c.mxf", BD_RGB24, false, 0 };
    struct bd_writer_options options = options_of(&sample, 160, 96);
    options.time_base = (struct bd_rational){ 1, 12800 };
    options.frame_rate = (struct bd_rational){ 25, 1 };
    write_clip(in_scratch("c.mxf"), &options, times);
    assert_int_equal(warnings(), 0);
    for (int i = 0; i < FRAMES; i++)
        times[i] = i;
    options.time_base = (struct bd_rational){ 1, 25 };
    compare_clip(in_scratch("c.mxf"), &options, times, 25);
    empty_scratch();
}

/* Alpha: what the ffmpeg command decodes, as rgba, against what went in. */
static void test_alpha(void **state)
{
    static const struct {
        const char *name, *decoder;
        bool lossless;
        int near; /* greatest difference of alpha */
    } cases[] = {
        { "a.mkv", "", true, 0 },
        { "b.mkv", "", false, 0 },
        { "a.mov", "", true, 0 },
        { "b.mov", "", false, 8 },
        { "b.webm", "-c:v libvpx-vp9", false, 40 },
        { "a.avi", "", true, 0 },
        { "a.nut", "", true, 0 },
        { "a%02d.png", "", true, 0 },
        { "a%02d.webp", "", true, 0 },
        { "a%02d.tif", "", true, 0 },
    };
    (void)state;
    need_ffmpeg();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample sample = { cases[i].name, BD_RGBA32, cases[i].lossless, 0 };
        struct bd_writer_options options = options_of(&sample, 160, 96);
        write_clip(in_scratch(cases[i].name), &options, NULL);
        assert_int_equal(warnings(), 0);
        assert_int_equal(
            shell("ffmpeg -nostdin -v error -y %s -i '%s' -f rawvideo -pix_fmt rgba raw",
                  cases[i].decoder, cases[i].name),
            0);
        FILE *raw = fopen(in_scratch("raw"), "rb");
        struct bd_frame frame = { 0 };
        assert_non_null(raw);
        for (int f = 0; f < FRAMES; f++) {
            source(&frame, BD_RGBA32, 160, 96, f);
            for (int y = 0; y < 96; y++) {
                uint8_t row[160 * 4];
                assert_int_equal(fread(row, 1, sizeof row, raw), sizeof row);
                const uint8_t *in = frame.data + y * frame.stride;
                for (int x = 0; cases[i].near == 0 && x < 160; x++)
                    if (in[4 * x + 3]) /* colour that cannot be seen may be lost */
                        assert_memory_equal(row + 4 * x, in + 4 * x, 4);
                int far = 0; /* single pixels on an edge may be blurred by a lossy codec */
                for (int x = 0; x < 160; x++)
                    far += abs(row[4 * x + 3] - in[4 * x + 3]) > cases[i].near;
                assert_true(far <= 8);
            }
        }
        assert_int_equal(fgetc(raw), EOF);
        fclose(raw);
        bd_frame_destroy(&frame);
        empty_scratch();
    }
}

static void test_alpha_on_black(void **state)
{
    (void)state;
    struct sample sample = { "a.mp4", BD_RGBA32, true, 0 };
    struct bd_writer_options options = options_of(&sample, 64, 48);
    struct bd_reader_options want = { .format = BD_RGB24 };
    struct bd_reader *reader = NULL;
    struct bd_frame frame = { 0 }, back = { 0 };
    write_clip(in_scratch("a.mp4"), &options, NULL);
    assert_int_equal(warnings(), 1);
    ok(bd_reader_open(&reader, in_scratch("a.mp4"), &want));
    for (int i = 0; i < FRAMES; i++) {
        ok(bd_reader_read(reader, &back));
        source(&frame, BD_RGBA32, 64, 48, i);
        for (int y = 0; y < 48; y++)
            for (int x = 0; x < 64; x++)
                for (int c = 0; c < 3; c++) {
                    const uint8_t *in = frame.data + y * frame.stride + 4 * x;
                    assert_int_equal(back.data[y * back.stride + 3 * x + c],
                                     (in[c] * in[3] + 127) / 255);
                }
    }
    bd_reader_close(&reader);
    bd_frame_destroy(&frame);
    bd_frame_destroy(&back);
    empty_scratch();
}

/* Colour: flat patches come back as they were, so that matrix and range are told right. */
static void test_colour(void **state)
{
    static const uint8_t patches[][3] = { { 255, 0, 0 }, { 0, 255, 0 },     { 0, 0, 255 },
                                          { 0, 0, 0 },   { 255, 255, 255 }, { 200, 120, 40 } };
    static const char *const names[] = { "c.mp4", "c.mkv", "c.webm", "c.avi", "c%d.jpg", "c.mov" };
    static const int heights[] = { 96, 720 }; /* BT.601 and BT.709 */
    (void)state;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        for (int h = 0; h < 2; h++) {
            struct sample sample = { names[n], BD_RGB24, false, 0 };
            struct bd_writer_options options = options_of(&sample, 96, heights[h]);
            struct bd_reader_options want = { .format = BD_RGB24 };
            struct bd_writer *writer = NULL;
            struct bd_reader *reader = NULL;
            struct bd_frame frame = { 0 }, back = { 0 };
            ok(bd_frame_create(&frame, 96, heights[h], BD_RGB24));
            for (int y = 0; y < heights[h]; y++)
                for (int x = 0; x < 96; x++)
                    memcpy(frame.data + y * frame.stride + 3 * x, patches[x / 16], 3);
            options.overwrite = true;
            ok(bd_writer_open(&writer, in_scratch(names[n]), &options));
            ok(bd_writer_write(writer, &frame));
            ok(bd_writer_close(&writer));
            ok(bd_reader_open(&reader, in_scratch(names[n]), &want));
            ok(bd_reader_read(reader, &back));
            for (int p = 0; p < 6; p++)
                for (int c = 0; c < 3; c++) {
                    int got = back.data[40 * back.stride + 3 * (16 * p + 8) + c];
                    if (abs(got - patches[p][c]) > 6)
                        fail_msg("%s, %d high: patch %d channel %d is %d, not %d", names[n],
                                 heights[h], p, c, got, patches[p][c]);
                }
            bd_reader_close(&reader);
            bd_frame_destroy(&frame);
            bd_frame_destroy(&back);
        }
    }
    empty_scratch();
}

/* Numbers of picture files are frame.index + 1, whatever the order of calls. */
static void test_numbering(void **state)
{
    (void)state;
    struct sample sample = { "n%04d.png", BD_GRAY8, true, 0 };
    struct bd_writer_options options = options_of(&sample, 32, 24);
    struct bd_writer *writer = NULL;
    struct bd_frame frame = { 0 };
    static const int64_t indexes[] = { 0, 1, 6, 7, 99998 };
    ok(bd_writer_open(&writer, in_scratch("n%04d.png"), &options));
    for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++) {
        source(&frame, BD_GRAY8, 32, 24, (int)i);
        frame.index = indexes[i];
        ok(bd_writer_write(writer, &frame));
    }
    ok(bd_writer_close(&writer));
    for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++) {
        char name[32];
        struct bd_frame back = { 0 };
        snprintf(name, sizeof name, "n%04d.png", (int)indexes[i] + 1);
        ok(bd_picture_read(in_scratch(name), BD_GRAY8, &back));
        source(&frame, BD_GRAY8, 32, 24, (int)i);
        assert_true(psnr(&frame, &back) > 900);
        bd_frame_destroy(&back);
    }
    assert_int_equal(shell("test $(ls | wc -l) = 5"), 0);
    bd_frame_destroy(&frame);
    empty_scratch();
}

static void test_pictures(void **state)
{
    static const struct {
        const char *name;
        enum bd_pixel_format format;
        double psnr;
    } cases[] = {
        { "p.png", BD_GRAY8, 0 },   { "p.png", BD_RGB24, 0 },
        { "p.png", BD_RGBA32, 0 },  { "p.jpg", BD_GRAY8, 32 },
        { "p.jpg", BD_RGB24, 28 },  { "p.bmp", BD_RGB24, 0 },
        { "p.tif", BD_RGBA32, 0 },  { "p.webp", BD_RGB24, 28 },
        { "p.PNG", BD_RGB24, 0 },   { "odd name, 100%.png", BD_RGB24, 0 },
        { "a:b.png", BD_GRAY8, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bd_frame frame = { 0 }, back = { 0 };
        source(&frame, cases[i].format, 97, 61, 2);
        ok(bd_picture_write(in_scratch(cases[i].name), &frame)); /* replaces the one before */
        ok(bd_picture_read(in_scratch(cases[i].name), cases[i].format, &back));
        assert_int_equal(back.width, 97);
        assert_int_equal(back.height, 61);
        assert_true(psnr(&frame, &back) >= (cases[i].psnr > 0 ? cases[i].psnr : 900));
        bd_frame_destroy(&frame);
        bd_frame_destroy(&back);
    }
    empty_scratch();
}

static void test_codecs(void **state)
{
    static const struct {
        const char *name, *codec;
        enum bd_pixel_format format;
        bool lossless;
        double psnr;
    } cases[] = {
        { "a.mkv", "libx264", BD_RGB24, false, 28 }, { "b.mkv", "libx264rgb", BD_RGB24, true, 0 },
        { "c.avi", "mjpeg", BD_RGB24, false, 28 },   { "d.mp4", "mpeg4", BD_RGB24, false, 28 },
        { "e.mkv", "huffyuv", BD_RGB24, true, 0 },   { "f.avi", "rawvideo", BD_GRAY8, true, 0 },
        { "g.mkv", "libx265", BD_RGB24, false, 28 }, { "h.mkv", "mpeg2video", BD_RGB24, false, 28 },
        { "i.mkv", "utvideo", BD_RGB24, true, 0 },   { "j.nut", "rawvideo", BD_GRAY8, true, 0 },
        { "k.mov", "qtrle", BD_RGB24, true, 0 },     { "m.mov", "ffv1", BD_GRAY8, true, 0 },
        { "n.mov", "jpegls", BD_GRAY8, true, 0 },    { "o.mkv", "tiff", BD_RGB24, true, 0 },
        { "l.mkv", "jpegls", BD_GRAY8, true, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample sample = { cases[i].name, cases[i].format, cases[i].lossless, 0 };
        struct bd_writer_options options = options_of(&sample, 160, 96);
        options.codec = cases[i].codec;
        write_clip(in_scratch(cases[i].name), &options, NULL);
        compare_clip(in_scratch(cases[i].name), &options, NULL, cases[i].psnr);
    }
    empty_scratch();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_taken_frames),
        cmocka_unit_test(test_odd_sizes),
        cmocka_unit_test(test_one_pixel),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_times_before_zero),
        cmocka_unit_test(test_uneven_times_in_avi),
        cmocka_unit_test(test_constant_rate_by_its_muxer),
        cmocka_unit_test(test_alpha),
        cmocka_unit_test(test_alpha_on_black),
        cmocka_unit_test(test_colour),
        cmocka_unit_test(test_numbering),
        cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_codecs),
    };
    return cmocka_run_group_tests_name("writer", tests, create_logged_scratch, remove_scratch);
}
