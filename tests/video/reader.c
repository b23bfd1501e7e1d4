/* The reader on good inputs: codecs, pixel formats, times, seeking, patterns, scenes. */
#include "tests/support/random.h"
#include "tests/video/reader_fixture.h"
#include "video/input/image_pattern.h"
#include "video/synth/synth.h"

#define X264 "-c:v libx264 -preset ultrafast -bf 2 -g 12 "

/* Clips of 50 frames at 25 a second. */
static const struct {
    const char *name, *size, *codec, *numbers, *codec_name, *container;
    int width, height;
} clips[] = {
    { "h264.mp4", "320x240", X264 "-pix_fmt yuv420p", "", "h264", "mp4", 320, 240 },
    { "mpeg4.avi", "320x240", "-c:v mpeg4 -q:v 3 -g 12", "", "mpeg4", "avi", 320, 240 },
    { "vp9.webm", "322x242", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 12", "", "vp9",
      "webm", 322, 242 },
    { "ffv1.mkv", "321x241", "-c:v ffv1 -pix_fmt yuv420p", "", "ffv1", "matroska", 321, 241 },
    { "mjpeg.avi", "320x240", "-c:v mjpeg -q:v 2 -pix_fmt yuvj420p", "", "mjpeg", "avi", 320, 240 },
    { "ten.mkv", "320x240", X264 "-pix_fmt yuv420p10le -color_range pc", "", "h264", "matroska",
      320, 240 },
    { "hevc.ts", "321x241",
      "-c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=12 -pix_fmt yuv444p", "",
      "hevc", "mpegts", 321, 241 },
    { "p%03d.png", "323x241", "-c:v png", "-start_number 7", "png", "image2", 323, 241 },
    { "g%d.png", "320x240", "-c:v png -pix_fmt gray16be", "-start_number 98", "png", "image2", 320,
      240 },
};

enum { CLIPS = sizeof clips / sizeof *clips, FRAMES = 50 };

static const struct bd_reader_options plain;

static void make_clips(void)
{
    static bool made;
    need_ffmpeg();
    for (int i = 0; i < CLIPS && !made; i++)
        assert_int_equal(shell(FFMPEG MOVING("328x248", "2") "-vf scale=%s,setsar=1 %s %s %s",
                               clips[i].size, clips[i].codec, clips[i].numbers, clips[i].name),
                         0);
    made = true;
}

static void check_info(const struct bd_reader_info *info, int i)
{
    assert_int_equal(info->width, clips[i].width);
    assert_int_equal(info->height, clips[i].height);
    assert_string_equal(info->codec, clips[i].codec_name);
    assert_non_null(strstr(info->container, clips[i].container));
    assert_false(info->live);
    assert_true(info->seekable);
    assert_int_equal(info->frame_rate.num, 25 * info->frame_rate.den);
    assert_in_range(info->frame_count, FRAMES - 1, FRAMES + 1);
    assert_true(info->duration > 1.9 && info->duration < 2.1);
    assert_int_equal(info->pixel_aspect.num, info->pixel_aspect.den);
}

static void test_codecs(void **state)
{
    (void)state;
    make_clips();
    for (int i = 0; i < CLIPS; i++) {
        char input[128];
        /* ffmpeg 4.4 takes ten bits of full range for the narrow one unless it is told. */
        snprintf(input, sizeof input, "%s -i %s%s", clips[i].numbers, clips[i].name,
                 strstr(clips[i].codec, "range pc") ? " -vf scale=in_range=full:out_range=full"
                                                    : "");
        for (int gray = 0; gray < 2; gray++) {
            enum bd_pixel_format format = gray ? BD_GRAY8 : BD_RGB24;
            struct bd_reader *reader =
                open_input(in_scratch(clips[i].name),
                           (struct bd_reader_options){ .format = format, .threads = 3 });
            struct clip clip;
            check_info(bd_reader_get_info(reader), i);
            assert_int_equal(read_all(reader, &clip), BD_END);
            assert_int_equal(bd_reader_damaged(reader), 0);
            struct bd_frame none = { 0 };
            assert_int_equal(bd_reader_read(reader, &none), BD_END); /* and stays so */
            bd_reader_close(&reader);
            assert_int_equal(clip.count, FRAMES);
            assert_int_equal(clip.index[0], 0);
            struct clip reference = read_reference(input, clips[i].width, clips[i].height, format);
            /* Luma is exact but for rounding; chroma may be interpolated another way. */
            assert_same_frames(clips[i].name, &clip, &reference, gray ? 0.6 : 1.5, gray ? 2 : 60);
            free_clip(&clip);
            free_clip(&reference);
        }
    }
}

/* Times are those of the file, unshifted and irregular. */
static void test_variable_rate(void **state)
{
    (void)state;
    static const char *const names[] = { "vfr.mkv", "vfr.mp4" };
    need_ffmpeg();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(shell(FFMPEG MOVING("160x120", "4") "-vf \"select='lt(n,20)+not(mod(n,7))'"
                                                             ",setpts=PTS+3/TB\" -vsync 0 " X264
                                                             "%s",
                               names[i]),
                         0);
        char command[400];
        snprintf(command, sizeof command,
                 "ffprobe -v error -select_streams v -show_entries frame=best_effort_timestamp "
                 "-of csv=p=0 %s",
                 in_scratch(names[i]));
        struct clip clip = read_input(in_scratch(names[i]), plain);
        FILE *probe = popen(command, "r");
        assert_non_null(probe);
        char line[64];
        int count = 0;
        while (fgets(line, sizeof line, probe)) {
            char *end;
            long long pts = strtoll(line, &end, 10);
            if (end == line)
                continue;
            assert_true(count < clip.count);
            assert_int_equal(clip.pts[count], pts);
            count++;
        }
        assert_int_equal(pclose(probe), 0);
        assert_int_equal(clip.count, count);
        assert_int_equal(count, 32);
        assert_true(clip.pts[31] - clip.pts[30] > 6 * (clip.pts[1] - clip.pts[0]));
        free_clip(&clip);
    }
}

static double seconds_of(const struct bd_reader_info *info, const struct clip *all, int n)
{
    return (double)(all->pts[n] - all->pts[0]) * (double)info->time_base.num /
           (double)info->time_base.den;
}

static void check_same(const struct bd_frame *frame, const struct clip *all, int n)
{
    if (frame->pts != all->pts[n])
        fail_msg("frame %d (pts %lld): got pts %lld", n, (long long)all->pts[n],
                 (long long)frame->pts);
    assert_int_equal(frame->index, n);
    size_t row = (size_t)all->width * all->bytes;
    for (int y = 0; y < all->height; y++)
        assert_memory_equal(frame->data + y * frame->stride, clip_frame(all, n) + y * row, row);
}

static void check_frame(struct bd_reader *reader, struct bd_frame *frame, const struct clip *all,
                        int n)
{
    assert_int_equal(bd_reader_read(reader, frame), BD_OK);
    check_same(frame, all, n);
}

/* After any seek the frames are those of a reading from the start, bit by bit. */
static void check_seeks(const char *input)
{
    struct clip all = read_input(input, plain);
    struct bd_reader *reader = open_input(input, plain);
    const struct bd_reader_info *info = bd_reader_get_info(reader);
    struct bd_frame frame = { 0 };
    uint32_t seed = 7;
    assert_int_equal(all.count, FRAMES);
    for (int i = 0; i < 12; i++) {
        int n = i == 0 ? 0 : i == 1 ? FRAMES - 1 : between(&seed, 1, FRAMES - 2);
        double at = seconds_of(info, &all, n), before = seconds_of(info, &all, n ? n - 1 : 0);
        /* Exactly the time of frame n, or any time after frame n - 1. */
        if (bd_reader_seek(reader, i % 2 ? at : 0.6 * before + 0.4 * at) != BD_OK)
            fail_msg("%s: %s", input, bd_error_detail());
        check_frame(reader, &frame, &all, n);
        if (n + 1 < FRAMES)
            check_frame(reader, &frame, &all, n + 1);
    }
    assert_int_equal(bd_reader_seek(reader, 1000), BD_OK);
    assert_int_equal(bd_reader_read(reader, &frame), BD_END);
    assert_int_equal(bd_reader_seek(reader, 0), BD_OK);
    check_frame(reader, &frame, &all, 0);
    assert_int_equal(bd_reader_damaged(reader), 0);
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
    free_clip(&all);
}

static void test_seek(void **state)
{
    (void)state;
    make_clips();
    for (int i = 0; i < CLIPS; i++)
        check_seeks(in_scratch(clips[i].name));
    /* No timestamps at all: decoded again from the start. */
    assert_int_equal(shell(FFMPEG MOVING("160x120", "2") X264 "-bf 0 bare.h264"), 0);
    check_seeks(in_scratch("bare.h264"));
    check_seeks("synth:easy?size=96x64&frames=50");
}

/* Whatever is left out on the way, the frames are those of a reading from the start, bit by bit. */
static void check_read_from(const char *input, int threads)
{
    static const int targets[] = { 0, 1, 7, 8, 20, 33, 47 };
    struct clip all = read_input(input, plain);
    struct bd_reader *reader = open_input(input, (struct bd_reader_options){ .threads = threads });
    struct bd_frame frame = { 0 };
    assert_int_equal(all.count, FRAMES);
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
            int n = targets[i];
            int64_t from = n ? all.pts[n - 1] + 1 : INT64_MIN;
            assert_int_equal(bd_reader_read_from(reader, from, &frame), BD_OK);
            check_same(&frame, &all, n);
            if (i % 2)
                check_frame(reader, &frame, &all, n + 1);
        }
        check_frame(reader, &frame, &all, 48);
        assert_int_equal(bd_reader_read_from(reader, all.pts[49] + 1, &frame), BD_END);
        assert_int_equal(bd_reader_seek(reader, 0), BD_OK);
    }
    for (int n = 0; n < FRAMES; n++)
        check_frame(reader, &frame, &all, n);
    assert_int_equal(bd_reader_damaged(reader), 0);
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
    free_clip(&all);
}

static void test_read_from(void **state)
{
    (void)state;
    make_clips();
    for (int i = 0; i < CLIPS; i++)
        for (int threads = 1; threads <= 3; threads += 2)
            check_read_from(in_scratch(clips[i].name), threads);
    assert_int_equal(shell(FFMPEG MOVING("160x120", "2") "-c:v libx264 -bf 4 -g 30 deep.mkv"), 0);
    check_read_from(in_scratch("deep.mkv"), 3);
    check_read_from("synth:easy?size=96x64&frames=50", 1);
}

static void test_start_and_duration(void **state)
{
    (void)state;
    make_clips();
    for (int i = 0; i < CLIPS; i++) {
        const char *name = in_scratch(clips[i].name);
        struct clip all = read_input(name, plain);
        struct clip part =
            read_input(name, (struct bd_reader_options){ .start = 0.61, .duration = 0.79 });
        /* 0.61 to 1.40: frames 16 to 34, and 35 at 1.4 is out */
        assert_int_equal(part.count, 19);
        assert_int_equal(part.index[0], 16);
        for (int k = 0; k < part.count; k++)
            assert_int_equal(part.pts[k], all.pts[16 + k]);
        assert_memory_equal(clip_frame(&part, 18), clip_frame(&all, 34),
                            (size_t)all.width * all.height * all.bytes);
        free_clip(&part);
        free_clip(&all);
    }
}

static void test_single_picture(void **state)
{
    (void)state;
    need_ffmpeg();
    assert_int_equal(shell(FFMPEG "-f lavfi -i testsrc=size=65x43:rate=25 "
                                  "-frames:v 1 one.png && mv one.png one:x.png"),
                     0);
    struct clip clip = read_input(in_scratch("one:x.png"), plain);
    assert_int_equal(clip.count, 1);
    assert_int_equal(clip.width, 65);
    free_clip(&clip);
}

static void test_pattern_with_gap(void **state)
{
    (void)state;
    need_ffmpeg();
    assert_int_equal(shell("mkdir -p gap && " FFMPEG MOVING("64x48", "1") "gap/a%%04d.png"), 0);
    assert_int_equal(shell("rm gap/a0001.png gap/a0002.png gap/a0013.png"), 0);
    struct clip clip = read_input(in_scratch("gap/a%04d.png"), plain);
    assert_int_equal(clip.count, 10); /* 3 to 12 */
    free_clip(&clip);
    struct bd_key_value options[] = { { "start_number", "20" }, { "framerate", "5" } };
    struct bd_reader *reader =
        open_input(in_scratch("gap/a%04d.png"),
                   (struct bd_reader_options){ .input_options = options, .input_option_count = 2 });
    assert_int_equal(bd_reader_get_info(reader)->frame_rate.num, 5);
    assert_int_equal(read_all(reader, &clip), BD_END);
    assert_int_equal(clip.count, 6); /* 20 to 25 */
    bd_reader_close(&reader);
    free_clip(&clip);
}

/* Which names a pattern has, and which patterns have a name in common. */
static void test_pattern_names(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *other;
        bool meet; /* the other is one of its names, or a pattern that has one of them */
    } cases[] = {
        { "q%04d.png", "q0012.png", true },     { "q%04d.png", "./q12345.png", true },
        { "q%04d.png", "q012.png", false },     { "q%04d.png", "q00012.png", false },
        { "q%04d.png", "/q0012.png", false },   { "q%d5.png", "q125.png", true },
        { "q%d5.png", "q5.png", false },        { "q%d5.png", "q126.png", false },
        { "q%d.png", "q2147483647.png", true }, { "q%d.png", "q2147483648.png", false },
        { "q%04d.png", "q%d.png", true },       { "q%d.png", "./q%d.png", true },
        { "q%d.png", "q1%04d.png", true },      { "q%d.png", "q%04d2.png", true },
        { "q1%d.png", "q%d2.png", true },       { "q%d.png", "q%d.jpg", false },
        { "q%d.png", "p%d.png", false },        { "q1%d.png", "q2%d.png", false },
        { "q%d.png", "q_%d.png", false },       { "q%d.png", "q%d_.png", false },
        { "q%d.png", "/q%d.png", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *a = cases[i].pattern, *b = cases[i].other;
        bool both = bd_image_pattern_is(b);
        bool meet = both ? bd_image_patterns_meet(a, b) : bd_image_pattern_holds(a, b);
        if (meet != cases[i].meet || (both && bd_image_patterns_meet(b, a) != meet))
            fail_msg("%s and %s", a, b);
    }
}

static void test_synth(void **state)
{
    (void)state;
    const struct bd_synth_scene *scene = bd_synth_find("easy");
    struct bd_frame expected = { 0 };
    assert_non_null(scene);
    struct clip clip = read_input("synth:easy?size=96x64&seed=3&frames=12", plain);
    struct clip gray = read_input("synth:easy?frames=12&seed=3&size=96x64",
                                  (struct bd_reader_options){ .format = BD_GRAY8 });
    assert_int_equal(clip.count, 12);
    assert_int_equal(gray.count, 12);
    for (int i = 0; i < clip.count; i++) {
        assert_int_equal(bd_synth_render(scene, 96, 64, 3, i, &expected, NULL), BD_OK);
        assert_int_equal(clip.pts[i], i);
        for (int y = 0; y < 64; y++)
            assert_memory_equal(clip_frame(&clip, i) + y * 96 * 3,
                                expected.data + y * expected.stride, 96 * 3);
        for (int k = 0; k < 96 * 64; k++) {
            const uint8_t *p = clip_frame(&clip, i) + 3 * k;
            double luma = 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2];
            assert_true(luma - clip_frame(&gray, i)[k] < 2 && clip_frame(&gray, i)[k] - luma < 2);
        }
    }
    bd_frame_destroy(&expected);
    free_clip(&clip);
    free_clip(&gray);
    struct bd_reader *reader = open_input("synth:easy", plain);
    assert_int_equal(bd_reader_get_info(reader)->width, scene->width);
    assert_int_equal(bd_reader_get_info(reader)->frame_count, scene->frame_count);
    assert_true(bd_reader_get_info(reader)->seekable);
    assert_false(bd_reader_get_info(reader)->live);
    bd_reader_close(&reader);
}

static void test_real_clips(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int width, height, frames;
    } real[] = { { "vtest.avi", 768, 576, 795 }, { "traffic_camera_vfr.mp4", 1280, 720, 576 } };
    const char *data = getenv("BACKDROP_DATA");
    char path[512];
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        snprintf(path, sizeof path, "%s/videos/%s", data ? data : "", real[i].name);
        if (!data || access(path, R_OK) != 0) {
            print_message("skipped: no %s in BACKDROP_DATA/videos\n", real[i].name);
            skip();
        }
        struct bd_reader *reader =
            open_input(path, (struct bd_reader_options){ .format = BD_GRAY8 });
        struct bd_frame frame = { 0 };
        enum bd_status status;
        int count = 0;
        int64_t last = INT64_MIN;
        while ((status = bd_reader_read(reader, &frame)) == BD_OK) {
            assert_true(frame.pts > last);
            last = frame.pts;
            count++;
        }
        assert_int_equal(status, BD_END);
        assert_int_equal(count, real[i].frames);
        assert_int_equal(frame.width, real[i].width);
        assert_int_equal(frame.height, real[i].height);
        assert_int_equal(bd_reader_damaged(reader), 0);
        bd_frame_destroy(&frame);
        bd_reader_close(&reader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codecs),
        cmocka_unit_test(test_variable_rate),
        cmocka_unit_test(test_seek),
        cmocka_unit_test(test_start_and_duration),
        cmocka_unit_test(test_read_from),
        cmocka_unit_test(test_single_picture),
        cmocka_unit_test(test_pattern_with_gap),
        cmocka_unit_test(test_pattern_names),
        cmocka_unit_test(test_synth),
        cmocka_unit_test(test_real_clips),
    };
    return cmocka_run_group_tests(tests, create_scratch, remove_scratch);
}
