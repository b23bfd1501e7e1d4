/* What the reader makes of pictures: colour matrices and ranges, awkward widths, rotation, a size
 * that changes. */
#include "tests/video/reader_fixture.h"

#include <math.h>

#define X264 "-c:v libx264 -preset ultrafast -bf 2 -g 12 "

static const struct bd_reader_options plain;

/* A picture of one colour, stored by each matrix and range, comes out as that colour. */
static void test_colours(void **state)
{
    (void)state;
    static const struct {
        const char *size, *matrix, *tags, *pix_fmt;
    } cases[] = {
        { "320x240", "out_color_matrix=bt601:out_range=tv", "-colorspace smpte170m -color_range tv",
          "yuv444p" },
        { "320x240", "out_color_matrix=bt709:out_range=tv", "-colorspace bt709 -color_range tv",
          "yuv420p" },
        { "320x240", "out_color_matrix=bt709:out_range=pc", "-colorspace bt709 -color_range pc",
          "yuv422p10le" },
        { "320x240", "out_color_matrix=bt601:out_range=tv", "", "yuv420p" },  /* small: BT.601 */
        { "1280x720", "out_color_matrix=bt709:out_range=tv", "", "yuv420p" }, /* large: BT.709 */
    };
    static const int colour[3] = { 200, 40, 90 };
    need_ffmpeg();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(shell(FFMPEG "-f lavfi -i color=0xC8285A:size=%s:rate=25:duration=0.2 "
                                      "-vf scale=%s:flags=accurate_rnd+full_chroma_inp,format=%s "
                                      "%s -c:v ffv1 colour.mkv",
                               cases[i].size, cases[i].matrix, cases[i].pix_fmt, cases[i].tags),
                         0);
        struct clip clip = read_input(in_scratch("colour.mkv"), plain);
        assert_int_equal(clip.count, 5);
        const uint8_t *pixel = clip_frame(&clip, 2) + 3 * (clip.width * 100 + 100);
        for (int k = 0; k < 3; k++)
            if (abs(pixel[k] - colour[k]) > 4)
                fail_msg("case %zu: channel %d is %d, not %d", i, k, pixel[k], colour[k]);
        free_clip(&clip);
    }
}

/* Widths at which libswscale's block of 8 pixels does not end with the row: the last column counts,
 * and the address sanitizer watches what is behind the picture. */
static void test_widths(void **state)
{
    (void)state;
    struct bd_reader_options options = { .format = BD_RGB24, .input_format = "lavfi" };
    for (int width = 18; width <= 44; width += 2) {
        char graph[100];
        snprintf(graph, sizeof graph,
                 "color=0xC8285A:size=%dx16:rate=25:duration=0.2,format=yuv420p", width);
        struct clip clip = read_input(graph, options);
        assert_int_equal(clip.count, 5);
        assert_int_equal(clip.width, width);
        for (int i = 0; i < clip.count * width * 16; i++)
            assert_memory_equal(clip.data, clip.data + 3 * (size_t)i, 3);
        free_clip(&clip);
    }
}

/* Gray is the luma that is stored, at 8 bits and at 10, whatever matrix the colours have: of a red,
 * BT.709 stores less than BT.601. */
static void test_gray_matrix(void **state)
{
    (void)state;
    static const char *const formats[] = { "yuv420p", "yuv422p10le" };
    const double luma = 0.2126 * 200 + 0.7152 * 40 + 0.0722 * 90;
    need_ffmpeg();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(shell(FFMPEG "-f lavfi -i color=0xC8285A:size=64x48:rate=25:duration=0.2 "
                                      "-vf scale=out_color_matrix=bt709:out_range=tv,format=%s "
                                      "-colorspace bt709 -color_range tv -c:v ffv1 gray.mkv",
                               formats[i]),
                         0);
        struct clip clip =
            read_input(in_scratch("gray.mkv"), (struct bd_reader_options){ .format = BD_GRAY8 });
        const int pixel = clip_frame(&clip, 0)[1000];
        if (fabs(pixel - luma) > 2)
            fail_msg("%s: gray is %d, not %.1f", formats[i], pixel, luma);
        free_clip(&clip);
    }
}

/* Gray is the luma, stretched: black to 0 and white to 255 whatever the stored range. */
static void test_gray_range(void **state)
{
    (void)state;
    need_ffmpeg();
    for (int full = 0; full < 2; full++)
        for (int white = 0; white < 2; white++) {
            assert_int_equal(
                shell(FFMPEG "-f lavfi -i color=%s:size=64x48:rate=25:duration=0.2 -vf "
                             "scale=out_range=%s,format=yuv420p -color_range %s -c:v ffv1 gray.mkv",
                      white ? "white" : "black", full ? "pc" : "tv", full ? "pc" : "tv"),
                0);
            struct clip clip = read_input(in_scratch("gray.mkv"),
                                          (struct bd_reader_options){ .format = BD_GRAY8 });
            assert_int_equal(clip.count, 5);
            assert_int_equal(clip_frame(&clip, 0)[1000], white ? 255 : 0);
            free_clip(&clip);
        }
}

static void test_rotation(void **state)
{
    (void)state;
    need_ffmpeg();
    assert_int_equal(shell(FFMPEG MOVING("322x242", "0.4") X264 "-pix_fmt yuv420p flat.mp4"), 0);
    for (int angle = 90; angle < 360; angle += 90) {
        /* FFmpeg 6 has an option for it; before, the muxer took it from the metadata. */
        if (shell(FFMPEG "-display_rotation %d -i flat.mp4 -c copy turned.mp4 2>log", angle) != 0)
            assert_int_equal(
                shell(FFMPEG "-i flat.mp4 -c copy -metadata:s:v rotate=%d turned.mp4", angle), 0);
        int width = angle == 180 ? 322 : 242, height = angle == 180 ? 242 : 322;
        struct clip clip = read_input(in_scratch("turned.mp4"), plain);
        struct clip reference = read_reference("-i turned.mp4", width, height, BD_RGB24);
        struct clip flat = read_input(in_scratch("flat.mp4"), plain);
        assert_int_equal(clip.count, 10);
        assert_same_frames("turned.mp4", &clip, &reference, 1.5, 60);
        int largest; /* and it did turn */
        assert_true(
            difference(clip_frame(&clip, 0), clip_frame(&flat, 0), 322 * 242 * 3, &largest) > 20);
        free_clip(&clip);
        free_clip(&reference);
        free_clip(&flat);
    }
}

/* A picture size that changes in mid-stream is scaled to the first. */
static void test_size_change(void **state)
{
    (void)state;
    need_ffmpeg();
    assert_int_equal(shell(FFMPEG MOVING("320x240", "0.4") "-c:v mpeg2video -q:v 2 a.m2v"), 0);
    assert_int_equal(shell(FFMPEG MOVING("160x120", "0.4") "-c:v mpeg2video -q:v 2 b.m2v"), 0);
    assert_int_equal(shell("cat a.m2v b.m2v > two.m2v"), 0);
    struct clip clip = read_input(in_scratch("two.m2v"), plain);
    struct clip small = read_input(in_scratch("b.m2v"), plain);
    assert_int_equal(clip.width, 320);
    assert_in_range(clip.count, 19, 20);
    const uint8_t *large = clip_frame(&clip, clip.count - 1);
    const uint8_t *last = clip_frame(&small, small.count - 1);
    double sum = 0;
    for (int y = 0; y < 120; y++)
        for (int x = 0; x < 160 * 3; x++)
            sum += abs(large[2 * y * 320 * 3 + x / 3 * 6 + x % 3] - last[y * 160 * 3 + x]);
    assert_true(sum / (120 * 160 * 3) < 12);
    free_clip(&clip);
    free_clip(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_colours),     cmocka_unit_test(test_widths),
        cmocka_unit_test(test_gray_matrix), cmocka_unit_test(test_gray_range),
        cmocka_unit_test(test_rotation),    cmocka_unit_test(test_size_change),
    };
    return cmocka_run_group_tests(tests, create_scratch, remove_scratch);
}
