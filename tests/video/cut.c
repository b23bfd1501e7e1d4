/* Stretches that are copied: they begin at the key frame before, hold each picture of the film in
 * order with its pixels and times, and play without a complaint. */
#include "tests/support/scratch.h"

#include <string.h>
#include <sys/stat.h>

#include "video/output/cut.h"

enum { most_frames = 400, rate = 25 };
static const int64_t second = 1000000000;

/* The frames of a film: their times in nanoseconds and a checksum of their pixels. */
struct film {
    int count, width, height;
    int64_t times[most_frames];
    uint64_t sums[most_frames];
};

static uint64_t sum_of(const struct bd_frame *frame)
{
    uint64_t sum = 1469598103934665603u;
    for (int y = 0; y < frame->height; y++)
        for (int x = 0; x < frame->width; x++)
            sum = (sum ^ frame->data[y * frame->stride + x]) * 1099511628211u;
    return sum;
}

static void read_film(const char *path, struct film *film)
{
    struct bd_reader *reader = NULL;
    struct bd_frame frame = { 0 };
    struct bd_reader_options options = { .format = BD_GRAY8 };
    *film = (struct film){ 0 };
    assert_int_equal(bd_reader_open(&reader, path, &options), BD_OK);
    struct bd_rational unit = bd_reader_get_info(reader)->time_base;
    while (bd_reader_read(reader, &frame) == BD_OK) {
        assert_true(film->count < most_frames);
        film->times[film->count] = frame.pts * unit.num * second / unit.den;
        film->sums[film->count++] = sum_of(&frame);
        film->width = frame.width;
        film->height = frame.height;
    }
    assert_int_equal(bd_reader_damaged(reader), 0);
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
}

/* What plays says nothing. */
static void assert_plays(const char *path)
{
    assert_int_equal(
        shell("ffmpeg -v warning -i '%s' -f null - >said 2>&1 && test ! -s said", path), 0);
}

/* Makes NAME: 8 s of a moving picture with key frames each 2 s. */
static void make(const char *name, const char *encoding)
{
    need_ffmpeg();
    assert_int_equal(
        shell("ffmpeg -v error -y -f lavfi -i testsrc2=size=160x120:rate=%d:duration=8 "
              "-f lavfi -i sine=duration=8 -g 50 %s '%s' >said 2>&1",
              rate, encoding, name),
        0);
}

/* Cuts from `from` to `to` seconds after the first frame, and compares with the film itself, whose
 * key frames but the first are `shift` behind each multiple of `gop`. */
static void check_stretch(struct bd_cutter *cutter, const struct film *film, int gop, int shift,
                          double from, double to)
{
    static struct film clip;
    struct bd_cut cut;
    char path[300];
    int first = 0, last = 0, tick = (int)(second / rate);
    snprintf(path, sizeof path, "%s/clip.%s", scratch, bd_cutter_extension(cutter));
    int64_t begin = film->times[0] + (int64_t)(from * (double)second);
    int64_t end = film->times[0] + (int64_t)(to * (double)second);
    for (int i = 0; i < film->count; i++) {
        bool key = i == 0 || (i >= gop && i % gop == shift);
        first = key && film->times[i] <= begin + tick / 2 ? i : first;
        last = film->times[i] <= end + tick / 2 ? i : last;
    }
    assert_int_equal(bd_cutter_cut(cutter, path, true, begin, end, &cut), BD_OK);
    read_film(path, &clip);
    assert_int_equal(clip.count, cut.pictures);
    assert_true(llabs(cut.start - film->times[first]) < 1000);
    /* a picture behind the end is there where one before the end is made from it */
    assert_in_range(clip.count, last - first + 1, last - first + 1 + 3);
    assert_true(llabs(cut.end - film->times[first + clip.count - 1]) < 1000);
    assert_int_equal(clip.times[0], 0);
    for (int i = 0; i < clip.count; i++) {
        assert_true(clip.sums[i] == film->sums[first + i]);
        int64_t off = clip.times[i] - (film->times[first + i] - film->times[first]);
        assert_true(llabs(off) <= second / 1000);
    }
    if (from == 3)
        assert_plays(path);
}

static void check_film(const char *name, int gop, int shift, const char *extension)
{
    static struct film film;
    static const double stretches[][2] = { { 3, 5 },    { 0, 8 },      { -5, 1 },
                                           { 6.5, 20 }, { 4, 4 },      { 3.96, 4.0 },
                                           { 1.9, 2 },  { 7.9, 7.96 }, { 0.04, 0.12 } };
    struct bd_cutter *cutter = NULL;
    struct bd_reader_options options = { .format = BD_GRAY8 };
    read_film(in_scratch(name), &film);
    assert_int_equal(film.count, 8 * rate);
    assert_int_equal(bd_cutter_open(&cutter, in_scratch(name), &options), BD_OK);
    assert_string_equal(bd_cutter_extension(cutter), extension);
    for (size_t i = 0; i < sizeof stretches / sizeof *stretches; i++)
        check_stretch(cutter, &film, gop, shift, stretches[i][0], stretches[i][1]);
    bd_cutter_close(&cutter);
    assert_null(cutter);
}

static void films_with_reordered_pictures(void **state)
{
    (void)state;
    static const char *const names[] = { "b.mp4", "b.mkv", "b.ts" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        make(names[i], "-c:v libx264 -bf 3 -preset fast -sc_threshold 0 -flags +cgop -shortest");
        check_film(names[i], 50, 0, "mp4");
    }
}

/* Pictures that come after a key frame, but are shown before it, need those that are left out. */
static void films_with_open_groups(void **state)
{
    (void)state;
    make("open.mp4", "-c:v mpeg2video -bf 2 -sc_threshold 1000000000 -b:v 1M");
    check_film("open.mp4", 48, 3, "mp4");
}

static void old_codecs_go_to_matroska(void **state)
{
    (void)state;
    make("p.avi", "-c:v mpeg4 -q:v 5");
    check_film("p.avi", 50, 0, "mp4");
    make("m.avi", "-c:v msmpeg4 -q:v 5 -c:a mp3");
    check_film("m.avi", 50, 0, "mkv");
}

static void sound_comes_along(void **state)
{
    struct bd_cutter *cutter = NULL;
    struct bd_reader_options options = { .format = BD_GRAY8 };
    struct bd_cut cut;
    (void)state;
    make("s.mp4", "-c:v libx264 -bf 2 -c:a aac");
    assert_int_equal(bd_cutter_open(&cutter, in_scratch("s.mp4"), &options), BD_OK);
    assert_null(bd_cutter_lost_sound(cutter));
    assert_int_equal(
        bd_cutter_cut(cutter, in_scratch("c.mp4"), false, 3 * second, 5 * second, &cut), BD_OK);
    bd_cutter_close(&cutter);
    /* 3 s of each, by what the file holds */
    assert_int_equal(shell("for s in v a; do ffprobe -v error -select_streams $s -show_entries "
                           "packet=duration_time -of csv=p=0 c.mp4 | "
                           "awk '{ t += $1 } END { exit !(t > 2.9 && t < 3.2) }' || exit 1; done"),
                     0);
    assert_plays("c.mp4");
    make("v.mkv", "-c:v libx264 -c:a pcm_alaw");
    assert_int_equal(bd_cutter_open(&cutter, in_scratch("v.mkv"), &options), BD_OK);
    assert_string_equal(bd_cutter_lost_sound(cutter), "pcm_alaw");
    bd_cutter_close(&cutter);
}

/* A film that stands on its side stays so. */
static void rotation_stays(void **state)
{
    static struct film film, clip;
    struct bd_cutter *cutter = NULL;
    struct bd_reader_options options = { .format = BD_GRAY8 };
    struct bd_cut cut;
    (void)state;
    make("flat.mp4", "-c:v libx264 -an");
    assert_int_equal(
        shell("ffmpeg -v error -i flat.mp4 -c copy -metadata:s:v rotate=90 turned.mp4"), 0);
    read_film(in_scratch("turned.mp4"), &film);
    if (film.width != 120)
        skip(); /* this ffmpeg has another option */
    assert_int_equal(bd_cutter_open(&cutter, in_scratch("turned.mp4"), &options), BD_OK);
    assert_int_equal(bd_cutter_cut(cutter, in_scratch("t.mp4"), false, 0, second, &cut), BD_OK);
    bd_cutter_close(&cutter);
    read_film(in_scratch("t.mp4"), &clip);
    assert_int_equal(clip.width, 120);
    assert_int_equal(clip.height, 160);
    assert_true(clip.sums[0] == film.sums[0]);
}

static void assert_nothing_at(const char *name)
{
    struct stat about;
    char part[300];
    assert_int_not_equal(stat(in_scratch(name), &about), 0);
    snprintf(part, sizeof part, "%s.part", in_scratch(name));
    assert_int_not_equal(stat(part, &about), 0);
}

static void bad_stretches_and_files(void **state)
{
    struct bd_cutter *cutter = NULL;
    struct bd_reader_options options = { .format = BD_GRAY8 };
    struct bd_cut cut;
    (void)state;
    make("g.mp4", "-c:v libx264 -an");
    assert_int_equal(bd_cutter_open(&cutter, in_scratch("g.mp4"), &options), BD_OK);
    assert_int_equal(
        bd_cutter_cut(cutter, in_scratch("n.mp4"), false, 20 * second, 30 * second, &cut), BD_END);
    assert_nothing_at("n.mp4");
    assert_int_equal(
        bd_cutter_cut(cutter, in_scratch("n.mp4"), false, -9 * second, -3 * second, &cut), BD_END);
    assert_nothing_at("n.mp4");
    assert_int_equal(bd_cutter_cut(cutter, in_scratch("no/n.mp4"), false, 0, second, &cut),
                     BD_ERROR_IO);
    assert_non_null(strstr(bd_error_detail(), "no/n.mp4: its folder cannot be used"));
    assert_int_equal(bd_cutter_cut(cutter, in_scratch("g.mp4"), false, 0, second, &cut),
                     BD_ERROR_IO);
    assert_non_null(strstr(bd_error_detail(), "g.mp4: the file exists already"));
    /* after failures the next one is whole */
    assert_int_equal(bd_cutter_cut(cutter, in_scratch("y.mp4"), false, 0, second, &cut), BD_OK);
    assert_plays("y.mp4");
    bd_cutter_close(&cutter);
}

static void what_cannot_be_copied(void **state)
{
    struct bd_cutter *cutter = NULL;
    struct bd_reader_options options = { .format = BD_GRAY8 };
    (void)state;
    assert_int_equal(bd_cutter_open(&cutter, "synth:easy", &options), BD_ERROR_UNSUPPORTED);
    assert_int_equal(bd_cutter_open(&cutter, "-", &options), BD_ERROR_UNSUPPORTED);
    assert_int_equal(bd_cutter_open(&cutter, "/dev/null", &options), BD_ERROR_UNSUPPORTED);
    assert_string_equal(bd_error_detail(), "'/dev/null' is no file, which can be read twice");
    make("raw.h264", "-c:v libx264 -bf 2 -an");
    assert_int_equal(bd_cutter_open(&cutter, in_scratch("raw.h264"), &options),
                     BD_ERROR_UNSUPPORTED);
    make("once.ts", "-c:v libx264 -bf 2");
    assert_int_equal(bd_cutter_open(&cutter, in_scratch("once.ts"), &options), BD_OK);
    bd_cutter_close(&cutter);
    assert_int_equal(shell("cat once.ts once.ts >twice.ts"), 0);
    assert_int_equal(bd_cutter_open(&cutter, in_scratch("twice.ts"), &options),
                     BD_ERROR_UNSUPPORTED);
    assert_non_null(strstr(bd_error_detail(), "twice.ts' starts anew within it"));
    assert_int_equal(shell("head -c 3000 /dev/zero >zeros.mp4"), 0);
    assert_int_equal(bd_cutter_open(&cutter, in_scratch("zeros.mp4"), &options), BD_ERROR_FORMAT);
    assert_null(cutter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(films_with_reordered_pictures),
        cmocka_unit_test(films_with_open_groups),
        cmocka_unit_test(old_codecs_go_to_matroska),
        cmocka_unit_test(sound_comes_along),
        cmocka_unit_test(rotation_stays),
        cmocka_unit_test(bad_stretches_and_files),
        cmocka_unit_test(what_cannot_be_copied),
    };
    return cmocka_run_group_tests(tests, create_scratch, remove_scratch);
}
