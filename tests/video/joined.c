/* Pieces that are read as one film: frames and times of the film that they were cut from. */
#include <math.h>
#include <sys/stat.h>

#include "tests/video/reader_fixture.h"
#include "video/input/pieces.h"

/* A film of 50 frames is cut into pieces of so many. */
enum { FRAMES = 50, PIECES = 3 };
static const int lengths[PIECES] = { 17, 1, 32 };

/* Lossless codecs; `exact`: the unit of time holds every frame's time. */
static const struct {
    const char *extension, *codec, *rate;
    bool exact;
} forms[] = {
    { "mkv", "-c:v ffv1", "25", true },
    { "mp4", "-c:v libx264 -qp 0 -preset ultrafast -bf 2 -g 9", "25", true },
    { "y4m", "-pix_fmt yuv420p", "25", true },
    { "avi", "-c:v ffv1", "30000/1001", true },
    { "mkv", "-c:v ffv1", "30000/1001", false },
};

enum { FORMS = sizeof forms / sizeof *forms };

/* Of form I, wI.EXT and the pieces I0.EXT, I1.EXT, I2.EXT. */
static void make_form(int i)
{
    static bool made[FORMS];
    const char *extension = forms[i].extension, *rate = forms[i].rate, *codec = forms[i].codec;
    need_ffmpeg();
    if (made[i])
        return;
    assert_int_equal(shell(FFMPEG "-f lavfi -i testsrc2=size=160x112:rate=%s -frames:v %d %s "
                                  "w%d.%s",
                           rate, FRAMES, codec, i, extension),
                     0);
    for (int k = 0, first = 0; k < PIECES; first += lengths[k++])
        assert_int_equal(shell(FFMPEG "-i w%d.%s -vf 'select=between(n\\,%d\\,%d),"
                                      "setpts=N/(%s)/TB' -r %s %s %d%d.%s",
                               i, extension, first, first + lengths[k] - 1, rate, rate, codec, i, k,
                               extension),
                         0);
    made[i] = true;
}

static struct clip read_whole(int i)
{
    char name[64];
    snprintf(name, sizeof name, "w%d.%s", i, forms[i].extension);
    return read_input(in_scratch(name), (struct bd_reader_options){ .threads = 1 });
}

/* Names in the scratch folder, and the pieces that they are. */
struct film {
    char names[8][256];
    const char *list[8];
    int count;
    struct bd_pieces *pieces;
};

static struct film name_film(int count, const char *const *names)
{
    struct film film = { .count = count };
    for (int i = 0; i < count; i++)
        snprintf(film.names[i], sizeof film.names[i], "%s",
                 *names[i] == '/' || strstr(names[i], "synth:") ? names[i] : in_scratch(names[i]));
    return film;
}

static enum bd_status open_pieces(struct film *film, struct bd_reader_options options)
{
    for (int i = 0; i < film->count; i++)
        film->list[i] = film->names[i];
    options.format = options.format ? options.format : BD_RGB24;
    return bd_pieces_open(&film->pieces, film->list, film->count, &options);
}

static struct bd_reader *open_film(struct film *film, struct bd_reader_options options)
{
    enum bd_status status = open_pieces(film, options);
    if (status != BD_OK)
        fail_msg("%s", bd_error_detail());
    options.pieces = film->pieces;
    return open_input(film->list[0], options);
}

static struct film film_of_form(int i)
{
    struct film film = { .count = PIECES };
    for (int k = 0; k < PIECES; k++)
        snprintf(film.names[k], sizeof film.names[k], "%s/%d%d.%s", scratch, i, k,
                 forms[i].extension);
    return film;
}

static void assert_frame(const char *name, const struct clip *whole, int number,
                         const struct bd_frame *frame)
{
    size_t row = (size_t)frame->width * frame->format;
    for (int y = 0; y < frame->height; y++)
        if (memcmp(frame->data + y * frame->stride, clip_frame(whole, number) + row * (size_t)y,
                   row) != 0)
            fail_msg("%s: frame %d is another one", name, number);
}

static void test_frames_and_times(void **state)
{
    (void)state;
    for (int i = 0; i < FORMS; i++) {
        make_form(i);
        struct clip whole = read_whole(i);
        struct film film = film_of_form(i);
        struct bd_reader *reader = open_film(&film, (struct bd_reader_options){ .threads = 2 });
        const struct bd_reader_info *info = bd_reader_get_info(reader);
        struct clip clip;
        assert_int_equal(whole.count, FRAMES);
        assert_int_equal(info->frame_count, FRAMES);
        double rate = (double)info->frame_rate.num / (double)info->frame_rate.den;
        double tick = (double)info->time_base.num / (double)info->time_base.den;
        assert_true(fabs(info->duration - FRAMES / rate) < 0.002);
        assert_true(info->seekable && !info->live);
        assert_int_equal(read_all(reader, &clip), BD_END);
        assert_int_equal(bd_reader_damaged(reader), 0);
        assert_same_frames(forms[i].extension, &clip, &whole, 0, 0);
        for (int k = 0; k < FRAMES; k++) {
            assert_int_equal(clip.index[k], k);
            if (forms[i].exact)
                assert_int_equal(clip.pts[k] - clip.pts[0], whole.pts[k] - whole.pts[0]);
            assert_true(fabs((double)(clip.pts[k] - clip.pts[0]) * tick - k / rate) < 0.0011);
        }
        bd_reader_close(&reader);
        bd_pieces_close(&film.pieces);
        free_clip(&clip);
        free_clip(&whole);
    }
}

static void test_seek(void **state)
{
    (void)state;
    static const int targets[] = { 0, 16, 17, 18, 40, 17, 3, 49, 18, 16, 30, 0 };
    for (int i = 0; i < FORMS; i++) {
        make_form(i);
        struct clip whole = read_whole(i);
        struct film film = film_of_form(i);
        struct bd_reader *reader = open_film(&film, (struct bd_reader_options){ .threads = 1 });
        const struct bd_reader_info *info = bd_reader_get_info(reader);
        double rate = (double)info->frame_rate.num / (double)info->frame_rate.den;
        struct bd_frame frame = { 0 };
        for (size_t k = 0; k < sizeof targets / sizeof *targets; k++) {
            assert_int_equal(bd_reader_seek(reader, (targets[k] - 0.4) / rate > 0
                                                        ? (targets[k] - 0.4) / rate
                                                        : 0),
                             BD_OK);
            for (int n = 0; n < 3 && targets[k] + n < FRAMES; n++) {
                assert_int_equal(bd_reader_read(reader, &frame), BD_OK);
                assert_int_equal(frame.index, targets[k] + n);
                assert_frame(forms[i].extension, &whole, targets[k] + n, &frame);
            }
        }
        assert_int_equal(bd_reader_seek(reader, 100), BD_OK);
        assert_int_equal(bd_reader_read(reader, &frame), BD_END);
        assert_int_equal(bd_reader_seek(reader, 0), BD_OK);
        assert_int_equal(bd_reader_read(reader, &frame), BD_OK);
        int64_t first = frame.pts;
        double tick = (double)info->time_base.num / (double)info->time_base.den;
        for (int k = 5; k < FRAMES; k += 6) {
            int64_t wanted = first + (int64_t)ceil((k - 0.4) / rate / tick);
            assert_int_equal(bd_reader_read_from(reader, wanted, &frame), BD_OK);
            assert_int_equal(frame.index, k);
            assert_frame(forms[i].extension, &whole, k, &frame);
        }
        bd_frame_destroy(&frame);
        bd_reader_close(&reader);
        bd_pieces_close(&film.pieces);
        free_clip(&whole);
    }
}

/* In place of a frame, a key frame is taken that comes up to six before it, in the same piece. */
static void test_key_frames(void **state)
{
    (void)state;
    enum { form = 1 };
    static const struct {
        int wanted, taken;
    } rows[] = { { 4, 4 }, { 15, 9 }, { 17, 17 }, { 18, 18 }, { 30, 27 }, { 35, 35 }, { 49, 45 } };
    make_form(form);
    struct clip whole = read_whole(form);
    struct film film = film_of_form(form);
    struct bd_reader *reader = open_film(&film, (struct bd_reader_options){ .threads = 3 });
    struct bd_frame frame = { 0 };
    assert_int_equal(bd_reader_read(reader, &frame), BD_OK);
    const int64_t first = frame.pts, interval = whole.pts[1] - whole.pts[0];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int64_t wanted = first + rows[i].wanted * interval;
        const int64_t earliest = wanted - 6 * interval;
        assert_int_equal(bd_reader_read_near(reader,
                                             earliest > frame.pts ? earliest : frame.pts + 1,
                                             wanted, &frame),
                         BD_OK);
        assert_int_equal(frame.index, rows[i].taken);
        assert_frame("mp4", &whole, rows[i].taken, &frame);
    }
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
    bd_pieces_close(&film.pieces);
    free_clip(&whole);
}

static void test_start_and_duration(void **state)
{
    (void)state;
    make_form(0);
    struct clip whole = read_whole(0), clip;
    struct film film = film_of_form(0);
    /* 0.61 to 1.40: frames 16 to 34, of all three pieces */
    struct bd_reader *reader =
        open_film(&film, (struct bd_reader_options){ .start = 0.61, .duration = 0.79 });
    assert_int_equal(read_all(reader, &clip), BD_END);
    assert_int_equal(clip.count, 19);
    assert_int_equal(clip.index[0], 16);
    assert_int_equal(clip.pts[18], whole.pts[34]);
    assert_memory_equal(clip_frame(&clip, 18), clip_frame(&whole, 34), (size_t)160 * 112 * 3);
    bd_reader_close(&reader);
    bd_pieces_close(&film.pieces);
    free_clip(&clip);
    struct bd_reader_options late = { .format = BD_RGB24, .start = 2.1 };
    film = film_of_form(0);
    assert_int_equal(open_pieces(&film, late), BD_OK);
    late.pieces = film.pieces;
    assert_int_equal(bd_reader_open(&reader, film.list[0], &late), BD_ERROR_ARGUMENT);
    assert_non_null(strstr(bd_error_detail(), "film of 3 pieces: start 2.1 s is behind its"));
    bd_pieces_close(&film.pieces);
    free_clip(&whole);
}

/* Containers, codecs and units of time may differ. */
static void test_mixed_forms(void **state)
{
    (void)state;
    need_ffmpeg();
    assert_int_equal(shell("mkdir -p n && " FFMPEG MOVING("160x112", "0.4") "n/%%03d.png"), 0);
    assert_int_equal(shell(FFMPEG MOVING("160x112", "0.4") "-c:v ffv1 m0.mkv"), 0);
    assert_int_equal(shell(FFMPEG MOVING("160x112", "0.4") "-c:v libx264 -bf 2 m1.mp4"), 0);
    assert_int_equal(shell(FFMPEG MOVING("160x112", "0.4") "-c:v mpeg2video m2.ts"), 0);
    struct film film =
        name_film(5, (const char *const[]){ "m0.mkv", "m1.mp4", "n/%03d.png", "m2.ts",
                                            "synth:easy?size=160x112&frames=10" });
    struct bd_reader *reader = open_film(&film, (struct bd_reader_options){ 0 });
    const struct bd_reader_info *info = bd_reader_get_info(reader);
    double tick = (double)info->time_base.num / (double)info->time_base.den;
    struct clip clip;
    assert_int_equal(read_all(reader, &clip), BD_END);
    assert_int_equal(clip.count, 50);
    for (int k = 0; k < clip.count; k++)
        assert_true(fabs((double)(clip.pts[k] - clip.pts[0]) * tick - k / 25.0) < 0.0015);
    bd_reader_close(&reader);
    bd_pieces_close(&film.pieces);
    free_clip(&clip);
}

/* Each row: the pieces, and the one line that says what is wrong. */
static void test_refused(void **state)
{
    (void)state;
    make_form(0);
    assert_int_equal(shell(FFMPEG MOVING("96x64", "0.2") "-c:v ffv1 small.mkv"), 0);
    assert_int_equal(shell("rm -f pipe && mkfifo pipe && : > empty.mkv"), 0);
    static const struct {
        const char *names[3];
        enum bd_status status;
        const char *words;
    } rows[] = {
        { { "00.mkv", "small.mkv", "02.mkv" },
          BD_ERROR_FORMAT,
          "small.mkv' is 96x64, the pieces before it are 160x112" },
        { { "00.mkv", "pipe", "02.mkv" }, BD_ERROR_ARGUMENT, "pipe' is a camera or a pipe" },
        { { "00.mkv", "/dev/video97", "02.mkv" }, BD_ERROR_ARGUMENT, "'/dev/video97' is a camera" },
        { { "gone0.mkv", "empty.mkv", "gone2.mkv" },
          BD_ERROR_IO,
          "none of 3 pieces can be read: cannot open" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct film film = name_film(3, rows[i].names);
        assert_int_equal(open_pieces(&film, (struct bd_reader_options){ 0 }), rows[i].status);
        assert_null(film.pieces);
        if (!strstr(bd_error_detail(), rows[i].words))
            fail_msg("'%s' lacks '%s'", bd_error_detail(), rows[i].words);
    }
}

static int warnings;

static void count_warnings(void *user, enum bd_log_level level, const char *message)
{
    (void)user;
    (void)message;
    warnings += level == BD_LOG_WARNING;
}

/* What is there of a film with bad pieces is read, and its end says that it is not whole. */
static void test_bad_pieces(void **state)
{
    (void)state;
    need_ffmpeg();
    assert_int_equal(shell(FFMPEG MOVING("160x112", "4") "-c:v mjpeg -q:v 3 good.avi"), 0);
    assert_int_equal(shell(": > empty.avi && echo text > text.avi && "
                           "head -c $(($(wc -c <good.avi) / 2)) good.avi > cut.avi"),
                     0);
    struct clip whole = read_input(in_scratch("good.avi"), (struct bd_reader_options){ 0 }), clip;
    struct film film = name_film(6, (const char *const[]){ "gone.avi", "good.avi", "empty.avi",
                                                           "cut.avi", "text.avi", "good.avi" });
    warnings = 0;
    bd_log_set(count_warnings, NULL);
    struct bd_reader *reader = open_film(&film, (struct bd_reader_options){ 0 });
    assert_int_equal(warnings, 3);
    assert_int_equal(read_all(reader, &clip), BD_ERROR_IO);
    bd_log_set(NULL, NULL);
    assert_int_equal(warnings, 4);
    assert_non_null(strstr(bd_error_detail(), "4 of 6 pieces are missing or cut off"));
    assert_non_null(strstr(bd_error_detail(), "gone.avi"));
    assert_true(bd_reader_damaged(reader) >= 4);
    int cut = clip.count - 2 * whole.count;
    assert_in_range(cut, 30, 70);
    for (int k = 0; k < clip.count; k++) {
        int same = k < 100 ? k : k < 100 + cut ? k - 100 : k - 100 - cut;
        if (k != 100 + cut - 1) /* which may be half a picture */
            assert_memory_equal(clip_frame(&clip, k), clip_frame(&whole, same),
                                (size_t)160 * 112 * 3);
        assert_int_equal(clip.pts[k] - clip.pts[0], k * (whole.pts[1] - whole.pts[0]));
    }
    struct bd_frame frame = { 0 };
    assert_int_equal(bd_reader_read(reader, &frame), BD_ERROR_IO); /* and stays so */
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
    bd_pieces_close(&film.pieces);
    free_clip(&clip);
    free_clip(&whole);
}

/* So is one that was cut between key frames; all of it that can be decoded is there. */
static void test_lost_start(void **state)
{
    (void)state;
    struct clip clip;
    need_ffmpeg();
    assert_int_equal(
        shell(FFMPEG MOVING("160x112",
                            "6") "-c:v libx264 -g 60 -bf 0 "
                                 "-x264-params scenecut=0 whole.ts && "
                                 "tail -c +$(($(wc -c <whole.ts) / 188 / 10 * 188 + 1)) whole.ts "
                                 ">headless.ts"),
        0);
    struct film film = name_film(2, (const char *const[]){ "headless.ts", "whole.ts" });
    warnings = 0;
    bd_log_set(count_warnings, NULL);
    struct bd_reader *reader = open_film(&film, (struct bd_reader_options){ 0 });
    assert_int_equal(read_all(reader, &clip), BD_ERROR_IO);
    bd_log_set(NULL, NULL);
    assert_int_equal(warnings, 1);
    assert_int_equal(clip.count, 90 + 150);
    assert_non_null(strstr(bd_error_detail(), "1 of 2 pieces is missing or cut off"));
    for (int k = 0; k < clip.count; k++)
        assert_int_equal(clip.pts[k] - clip.pts[0], k * 3600);
    bd_reader_close(&reader);
    bd_pieces_close(&film.pieces);
    free_clip(&clip);
}

/* A piece that vanishes between two readers is left out as well. */
static void test_piece_vanishes(void **state)
{
    (void)state;
    make_form(0);
    assert_int_equal(shell("cp 01.mkv brief.mkv"), 0);
    struct film film = name_film(3, (const char *const[]){ "00.mkv", "brief.mkv", "02.mkv" });
    struct clip clip;
    struct bd_reader *reader = open_film(&film, (struct bd_reader_options){ 0 });
    assert_int_equal(shell("rm brief.mkv"), 0);
    assert_int_equal(read_all(reader, &clip), BD_ERROR_IO);
    assert_non_null(strstr(bd_error_detail(), "1 of 3 pieces is missing"));
    assert_int_equal(clip.count, 49);
    bd_reader_close(&reader);
    bd_pieces_close(&film.pieces);
    free_clip(&clip);
}

/* A thermal film keeps the tone curve of its first picture over all pieces. */
static void test_tone_curve(void **state)
{
    (void)state;
    need_ffmpeg();
    assert_int_equal(shell(FFMPEG
                           "-f lavfi -i color=c=black:size=96x64:rate=25 -frames:v 20 -vf "
                           "\"format=gray16le,geq=lum='7000+X+2*Y+80*gt(mod(X+9*N,90),70)'\" "
                           "-c:v ffv1 t.mkv"),
                     0);
    assert_int_equal(shell(FFMPEG "-i t.mkv -frames:v 11 -c:v ffv1 t0.mkv"), 0);
    assert_int_equal(shell(FFMPEG "-i t.mkv -vf 'select=gte(n\\,11),setpts=N/25/TB' -c:v ffv1 "
                                  "t1.mkv"),
                     0);
    struct bd_reader_options curve = { .format = BD_GRAY8, .tone_curve = true };
    struct clip whole = read_input(in_scratch("t.mkv"), curve), clip;
    struct film film = name_film(2, (const char *const[]){ "t0.mkv", "t1.mkv" });
    struct bd_reader *reader = open_film(&film, curve);
    assert_true(bd_reader_get_info(reader)->tone_curve);
    assert_int_equal(read_all(reader, &clip), BD_END);
    assert_same_frames("t.mkv", &clip, &whole, 0, 0);
    bd_reader_close(&reader);
    /* also where the second piece is opened without the first being read */
    curve.start = 0.5;
    curve.pieces = film.pieces;
    reader = open_input(film.list[0], curve);
    struct bd_frame frame = { 0 };
    assert_int_equal(bd_reader_read(reader, &frame), BD_OK);
    assert_int_equal(frame.index, 13);
    assert_frame("t.mkv", &whole, 13, &frame);
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
    bd_pieces_close(&film.pieces);
    free_clip(&clip);
    free_clip(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_and_times), cmocka_unit_test(test_seek),
        cmocka_unit_test(test_key_frames),       cmocka_unit_test(test_start_and_duration),
        cmocka_unit_test(test_mixed_forms),      cmocka_unit_test(test_refused),
        cmocka_unit_test(test_bad_pieces),       cmocka_unit_test(test_lost_start),
        cmocka_unit_test(test_piece_vanishes),   cmocka_unit_test(test_tone_curve),
    };
    return cmocka_run_group_tests(tests, create_scratch, remove_scratch);
}
