/* The writer on bad inputs: each has its line and its status, and leaves no rubbish behind. */
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/support/random.h"
#include "tests/video/writer_fixture.h"

static struct bd_writer_options gray(int width, int height)
{
    return (struct bd_writer_options){ .width = width,
                                       .height = height,
                                       .format = BD_GRAY8,
                                       .time_base = { 1, 25 },
                                       .frame_rate = { 25, 1 },
                                       .pixel_aspect = { 1, 1 },
                                       .lossless = true };
}

/* Random pixels: they fill a disk soon. */
static void make_frame(struct bd_frame *frame, int width, int height, int64_t index)
{
    ok(bd_frame_ensure(frame, width, height, BD_GRAY8));
    uint32_t seed = (uint32_t)index * 2654435761u + 1;
    for (int64_t i = 0; i < frame->stride * height; i++)
        frame->data[i] = (uint8_t)(random_bits(&seed) >> 16);
    frame->index = frame->pts = index;
    frame->duration = 1;
}

/* Opening fails with this status, one line that holds these words, and nothing new in the folder.
 */
static void refuse(const char *path, const struct bd_writer_options *options, enum bd_status status,
                   const char *words)
{
    struct bd_writer *writer = NULL;
    struct stat before, after;
    bool existed = stat(path, &before) == 0;
    enum bd_status got = bd_writer_open(&writer, path, options);
    if (got != status || !strstr(bd_error_detail(), words) || strchr(bd_error_detail(), '\n'))
        fail_msg("%s: got %d (%s), expected %d with '%s'", path, got, bd_error_detail(), status,
                 words);
    assert_null(writer);
    assert_int_equal(stat(path, &after) == 0, existed);
    if (existed)
        assert_int_equal(before.st_size, after.st_size);
}

static void test_paths(void **state)
{
    (void)state;
    struct bd_writer_options options = gray(64, 48);
    assert_int_equal(shell("mkdir folder folder.mkv && touch file"), 0);
    refuse(in_scratch("missing/x.mkv"), &options, BD_ERROR_IO, "missing/x.mkv: its folder");
    refuse(in_scratch("missing/x%d.png"), &options, BD_ERROR_IO, "its folder");
    refuse(in_scratch("file/x.mkv"), &options, BD_ERROR_IO, "x.mkv");
    refuse(in_scratch("folder.mkv"), &options, BD_ERROR_IO, "is a folder");
    refuse(in_scratch("x%d_%d.png"), &options, BD_ERROR_ARGUMENT, "one %d");
    refuse("", &options, BD_ERROR_UNSUPPORTED, "extension");
    refuse(in_scratch("noextension"), &options, BD_ERROR_UNSUPPORTED, "mkv,mp4,m4v");
    refuse(in_scratch("x.nonsense"), &options, BD_ERROR_UNSUPPORTED, "known are");
    refuse(in_scratch("x.txt"), &options, BD_ERROR_UNSUPPORTED, "known are");
    refuse(in_scratch("x.mp3"), &options, BD_ERROR_UNSUPPORTED, "known are");
    refuse(in_scratch("x."), &options, BD_ERROR_UNSUPPORTED, "known are");
    refuse(in_scratch("folder.mkv/x"), &options, BD_ERROR_UNSUPPORTED, "known are");
    if (geteuid() != 0) { /* nothing is forbidden to root */
        assert_int_equal(shell("chmod 500 folder"), 0);
        refuse(in_scratch("folder/x.mkv"), &options, BD_ERROR_IO, "no permission");
        refuse(in_scratch("folder/x.png"), &options, BD_ERROR_IO, "no permission");
    }
    empty_scratch();
}

static void test_overwrite(void **state)
{
    static const char *const names[] = { "x.mkv", "x.png", "x%03d.png" };
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct bd_writer_options options = gray(64, 48);
        struct bd_writer *writer = NULL;
        struct bd_frame frame = { 0 };
        assert_int_equal(shell("printf old > x.mkv; printf old > x.png; printf old > x002.png"), 0);
        refuse(in_scratch(names[i]), &options, BD_ERROR_IO, "-y replaces");
        assert_int_equal(shell("grep -q old x.mkv && grep -q old x.png && grep -q old x002.png"),
                         0);
        options.overwrite = true;
        make_frame(&frame, 64, 48, 1);
        ok(bd_writer_open(&writer, in_scratch(names[i]), &options));
        ok(bd_writer_write(writer, &frame));
        ok(bd_writer_close(&writer));
        assert_int_equal(shell("test $(cat x.mkv x.png x002.png | wc -c) -gt 500"), 0);
        bd_frame_destroy(&frame);
        empty_scratch();
    }
}

static void test_options(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 0, 48 }, { 64, 0 }, { -1, -1 } };
    for (size_t i = 0; i < 3; i++) {
        struct bd_writer_options options = gray(sizes[i][0], sizes[i][1]);
        refuse(in_scratch("x.mkv"), &options, BD_ERROR_ARGUMENT, "at least 1");
    }
    struct bd_writer_options options = gray(64, 48);
    options.format = 2;
    refuse(in_scratch("x.mkv"), &options, BD_ERROR_ARGUMENT, "pixel format 2");
    options = gray(200000, 200000);
    refuse(in_scratch("x.mkv"), &options, BD_ERROR_UNSUPPORTED, "too large");
    options = gray(20000, 30);
    options.lossless = false;
    refuse(in_scratch("x.mp4"), &options, BD_ERROR_UNSUPPORTED, "20000 x 30");
    assert_int_equal(shell("test -z \"$(ls)\""), 0);
}

static void test_codecs(void **state)
{
    static const struct {
        const char *name, *codec;
        bool lossless, rgb;
        enum bd_status status;
        const char *words;
    } cases[] = {
        { "x.mkv", "nosuchcodec", false, false, BD_ERROR_UNSUPPORTED, "codec 'nosuchcodec'" },
        { "x.mkv", "", false, false, BD_ERROR_UNSUPPORTED, "codec ''" },
        { "x.mkv", "aac", false, false, BD_ERROR_UNSUPPORTED, "no such video encoder" },
        { "x.mkv", "mpeg4", true, false, BD_ERROR_UNSUPPORTED, "cannot keep every pixel" },
        { "x.png", "mjpeg", false, false, BD_ERROR_UNSUPPORTED, "cannot hold a picture" },
        { "x.webm", "ffv1", true, false, BD_ERROR_IO, "WebM" },
        { "x.avi", "qtrle", true, false, BD_ERROR_UNSUPPORTED, "cannot hold a film" },
        { "x.mkv", "qtrle", true, false, BD_ERROR_UNSUPPORTED, "cannot hold a film" },
        { "x.mov", "qtrle", true, false, BD_ERROR_UNSUPPORTED, "cannot keep every pixel" },
        { "x.mov", "rawvideo", true, false, BD_ERROR_UNSUPPORTED, "cannot hold a film" },
        { "x.avi", "pgm", true, false, BD_ERROR_UNSUPPORTED, "cannot hold a film" },
        { "x.jpg", NULL, true, false, BD_ERROR_UNSUPPORTED, "cannot keep every pixel" },
        { "x.gif", NULL, true, true, BD_ERROR_UNSUPPORTED, "colour" },
        { "x.pgm", NULL, true, true, BD_ERROR_UNSUPPORTED, "colour" },
        { "x.ts", NULL, true, true, BD_ERROR_UNSUPPORTED, "cannot keep every pixel" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bd_writer_options options = gray(64, 48);
        options.codec = cases[i].codec;
        options.lossless = cases[i].lossless;
        options.format = cases[i].rgb ? BD_RGB24 : BD_GRAY8;
        refuse(in_scratch(cases[i].name), &options, cases[i].status, cases[i].words);
    }
    assert_int_equal(shell("test -z \"$(ls)\""), 0);
}

/* An encoder that waits for ever where it never had a picture, and a container that refuses it. */
static void test_refused_after_the_encoder(void **state)
{
    (void)state;
    struct bd_writer_options options = gray(64, 64);
    options.codec = "libsvtav1";
    options.lossless = false;
    if (bd_writer_check_codec(options.codec)) {
        print_message("skipped: no libsvtav1\n");
        skip();
    }
    refuse(in_scratch("x.mov"), &options, BD_ERROR_IO, "av1");
    assert_int_equal(shell("test -z \"$(ls)\""), 0);
}

static void test_frames(void **state)
{
    (void)state;
    struct bd_writer_options options = gray(64, 48);
    struct bd_writer *writer = NULL;
    struct bd_frame frame = { 0 }, other = { 0 };
    make_frame(&frame, 64, 48, 5);
    make_frame(&other, 64, 47, 6);
    ok(bd_writer_open(&writer, in_scratch("x.mkv"), &options));
    ok(bd_writer_write(writer, &frame));
    assert_int_equal(bd_writer_write(writer, &other), BD_ERROR_ARGUMENT);
    assert_non_null(strstr(bd_error_detail(), "64 x 47"));
    assert_int_equal(bd_writer_write(writer, &frame), BD_ERROR_ARGUMENT); /* the same time again */
    assert_non_null(strstr(bd_error_detail(), "not after"));
    frame.pts = 4;
    assert_int_equal(bd_writer_write(writer, &frame), BD_ERROR_ARGUMENT);
    frame.pts = 6;
    ok(bd_writer_write(writer, &frame)); /* a refused frame does no harm */
    ok(bd_writer_close(&writer));
    assert_null(writer);
    ok(bd_writer_close(&writer));

    ok(bd_writer_open(&writer, in_scratch("x.png"), &options));
    ok(bd_writer_write(writer, &frame));
    assert_int_equal(bd_writer_write(writer, &frame), BD_ERROR_ARGUMENT);
    assert_non_null(strstr(bd_error_detail(), "one picture"));
    ok(bd_writer_close(&writer));

    ok(bd_writer_open(&writer, in_scratch("x%d.png"), &options));
    frame.index = INT64_MAX - 1;
    enum bd_status status = bd_writer_write(writer, &frame);
    enum bd_status closed = bd_writer_close(&writer); /* threads may hold the picture until here */
    assert_int_equal(status != BD_OK ? status : closed, BD_ERROR_IO);
    bd_frame_destroy(&frame);
    bd_frame_destroy(&other);
    empty_scratch();
}

static void test_no_frames(void **state)
{
    static const char *const names[] = { "x.mkv",  "x.mp4", "x.mov", "x.avi",
                                         "x.webm", "x.gif", "x.png", "x%d.png" };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct bd_writer_options options = gray(64, 48);
        struct bd_writer *writer = NULL;
        ok(bd_writer_open(&writer, in_scratch(names[i]), &options));
        ok(bd_writer_close(&writer));
    }
    empty_scratch();
}

/* Writes until it fails; the fault must be told once, by a write or by close. */
static void fill(const char *name, const char *words)
{
    struct bd_writer_options options = gray(320, 240);
    struct bd_writer *writer = NULL;
    struct bd_frame frame = { 0 };
    options.overwrite = true;
    enum bd_status status = bd_writer_open(&writer, in_scratch(name), &options);
    for (int i = 0; i < 60 && status == BD_OK; i++) {
        make_frame(&frame, 320, 240, i);
        status = bd_writer_write(writer, &frame);
    }
    char told[512] = "";
    if (status != BD_OK)
        snprintf(told, sizeof told, "%s", bd_error_detail());
    if (writer && status != BD_OK) {
        make_frame(&frame, 320, 240, 60);
        assert_int_equal(bd_writer_write(writer, &frame), BD_ERROR_IO);
        assert_int_equal(bd_writer_close(&writer), BD_OK); /* it was told already */
    } else if (writer) {
        status = bd_writer_close(&writer);
        snprintf(told, sizeof told, "%s", bd_error_detail());
    }
    assert_int_equal(status, BD_ERROR_IO);
    if (!strstr(told, words) || strncmp(told, scratch, strlen(scratch)) != 0)
        fail_msg("%s: '%s' does not say '%s'", name, told, words);
    bd_frame_destroy(&frame);
}

static void test_full_device(void **state)
{
    static const char *const names[] = { "f.mkv", "f.mp4", "f.avi", "f.png", "f.nut", "f.gif" };
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(shell("ln -s /dev/full %s", names[i]), 0);
        fill(names[i], "no space left");
        assert_int_equal(shell("test -L %s", names[i]), 0); /* a device is not deleted */
    }
    empty_scratch();
}

/* The file holds at least so many frames of make_frame() from the first on, exactly. */
static void check_begins(const char *name, int least)
{
    struct bd_reader_options want = { .format = BD_GRAY8 };
    struct bd_reader *reader = NULL;
    struct bd_frame back = { 0 }, frame = { 0 };
    ok(bd_reader_open(&reader, in_scratch(name), &want));
    int frames = 0;
    while (frames < least && bd_reader_read(reader, &back) == BD_OK) {
        make_frame(&frame, 320, 240, frames++);
        for (int y = 0; y < 240; y++)
            assert_memory_equal(back.data + y * back.stride, frame.data + y * frame.stride, 320);
    }
    if (frames < least)
        fail_msg("%s: %d frames", name, frames);
    bd_reader_close(&reader);
    bd_frame_destroy(&back);
    bd_frame_destroy(&frame);
}

/* A limit on the size of files stops a film in its middle: what was written before can be read. */
static void test_limit_midway(void **state)
{
    (void)state;
    struct rlimit was, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    limit = was;
    limit.rlim_cur = 1500000; /* about 18 of 60 frames */
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    fill("half.mkv", "cannot be written");
    fill("half.nut", "cannot be written");
    fill("half.mp4", "cannot be written");
    fill("half.mov", "cannot be written");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    signal(SIGXFSZ, handler);
    static const char *const names[] = { "half.mkv", "half.nut", "half.mp4", "half.mov" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_begins(names[i], 10);
    empty_scratch();
}

static void write_frames(struct bd_writer *writer, int from, int to)
{
    struct bd_frame frame = { 0 };
    for (int i = from; i < to; i++) {
        make_frame(&frame, 320, 240, i);
        ok(bd_writer_write(writer, &frame));
    }
    bd_frame_destroy(&frame);
}

/* What was written by a program that is killed plays, but for the last seconds. What was there
 * before is there until the film is whole, and then nothing else is. */
static void test_unfinished(void **state)
{
    static const char *const names[] = { "x.mp4", "x.mov", "x.mkv", "x.avi", "x.nut" };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct bd_writer_options options = gray(320, 240);
        struct bd_writer *writer = NULL;
        options.overwrite = true;
        assert_int_equal(shell("printf old > %s && chmod 640 %s", names[i], names[i]), 0);
        ok(bd_writer_open(&writer, in_scratch(names[i]), &options));
        write_frames(writer, 0, 250);
        assert_int_equal(shell("test $(cat %s) = old && cp %s.part killed", names[i], names[i]), 0);
        write_frames(writer, 250, 260);
        ok(bd_writer_close(&writer));
        assert_int_equal(shell("test \"$(ls)\" = \"$(printf 'killed\n%s')\" && "
                               "test $(stat -c %%a %s) = 640 && ! grep -q moof %s",
                               names[i], names[i], names[i]),
                         0);
        check_begins("killed", 100);
        check_begins(names[i], 260);
        empty_scratch();
    }
}

/* A film that fails does not cost the one that it should replace. */
static void test_old_film_stays(void **state)
{
    (void)state;
    struct rlimit was, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    limit = was;
    limit.rlim_cur = 1500000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(shell("printf old > x.mp4; printf old > real.mkv; ln -s real.mkv x.mkv"), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    fill("x.mp4", "cannot be written");
    fill("x.mkv", "cannot be written");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(shell("test $(cat x.mp4) = old && test $(cat x.mkv) = old && test -L x.mkv"),
                     0);
    check_begins("x.mp4.part", 10);
    check_begins("real.mkv.part", 10);
    empty_scratch();
}

/* Where not one picture fits, nothing takes the name, and a line says so. */
static int removals;

static void count_removals(void *user, enum bd_log_level level, const char *message)
{
    (void)user;
    removals += level == BD_LOG_WARNING && strstr(message, "not one picture fitted");
}

static void test_no_picture_fits(void **state)
{
    static const char *const names[] = { "x.mp4", "x.mov", "x.mkv", "x.avi", "x.nut" };
    (void)state;
    struct rlimit was, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    limit = was;
    limit.rlim_cur = 40000; /* a picture has about 77000 bytes */
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int old = 0; old < 2; old++) {
            assert_int_equal(shell(old ? "printf old > %s" : "true %s", names[i]), 0);
            removals = 0;
            bd_log_set(count_removals, NULL);
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
            fill(names[i], "cannot be written");
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
            bd_log_set(NULL, NULL);
            if (shell(old ? "test \"$(ls)\" = %s && test $(cat *) = old" : "test -z \"$(ls)\"",
                      names[i]) != 0)
                fail_msg("%s: something else is there", names[i]);
            if (removals > 1)
                fail_msg("%s: told %d times", names[i], removals);
            if (strstr(names[i], ".m"))
                assert_true(removals == 1 || strstr(names[i], "mkv"));
            empty_scratch();
        }
    signal(SIGXFSZ, handler);
}

/* Frames that are not all that was asked for replace nothing, whatever the disk holds. They are in
 * one file beside the old one. */
static void test_keep_old(void **state)
{
    static const struct {
        const char *name;
        bool whole_only;
    } rows[] = { { "x.mp4", false }, { "x.mp4", true }, { "x.mkv", false }, { "x.png", false } };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *name = rows[i].name;
        struct bd_writer_options options = gray(320, 240);
        struct bd_writer *writer = NULL;
        options.overwrite = true;
        options.whole_only = rows[i].whole_only;
        assert_int_equal(shell("printf old > %s", name), 0);
        ok(bd_writer_open(&writer, in_scratch(name), &options));
        write_frames(writer, 0, 1);
        bd_writer_keep_old(writer);
        ok(bd_writer_close(&writer));
        assert_int_equal(
            shell("test $(cat %s) = old && test -s %s.part && test $(ls | wc -l) = 2", name, name),
            0);
        empty_scratch();
    }
}

/* Two programs on one output: the second is told. */
static void test_two_writers(void **state)
{
    static const char *const names[] = { "x.mkv", "x.mp4", "x.png", "x%03d.png" };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct bd_writer_options options = gray(320, 240);
        struct bd_writer *writer = NULL, *second = NULL;
        options.overwrite = true;
        ok(bd_writer_open(&writer, in_scratch(names[i]), &options));
        assert_int_equal(bd_writer_open(&second, in_scratch(names[i]), &options), BD_ERROR_IO);
        assert_non_null(strstr(bd_error_detail(), "another program"));
        write_frames(writer, 0, 1);
        ok(bd_writer_close(&writer));
        assert_int_equal(shell("test $(ls | wc -l) = 1 && ! ls | grep -q part"), 0);
        ok(bd_writer_open(&second, in_scratch(names[i]), &options));
        ok(bd_writer_close(&second));
        empty_scratch();
    }
}

/* A picture that does not fit on the disk is not left there in part. */
static void test_full_disk(void **state)
{
    (void)state;
    assert_int_equal(shell("mkdir disk"), 0);
    if (mount("none", in_scratch("disk"), "tmpfs", 0, "size=400k") != 0) {
        print_message("skipped: no right to mount a small disk\n");
        empty_scratch();
        skip();
    }
    fill("disk/x.mkv", "no space left");
    assert_int_equal(shell("rm disk/*"), 0);
    fill("disk/x%d.png", "no space left");
    int left =
        shell("test -s disk/x1.png && for f in disk/*.png; do tail -c 8 $f | grep -q IEND || "
              "exit 1; done");
    umount(in_scratch("disk"));
    assert_int_equal(left, 0);
    empty_scratch();
}

static void test_picture_read(void **state)
{
    static const struct {
        const char *name, *make;
        enum bd_status status;
        const char *words;
    } cases[] = {
        { "none.png", "true", BD_ERROR_IO, "none.png" },
        { "folder.png", "mkdir folder.png", BD_ERROR_IO, "is a folder" },
        { "empty.png", "touch empty.png", BD_ERROR_FORMAT, "is empty" },
        { "text.png", "seq 100 > text.png", BD_ERROR_FORMAT, "text.png" },
        { "cut.png", "head -c 60 good.png > cut.png", BD_ERROR_FORMAT, "cut.png" },
    };
    (void)state;
    struct bd_frame frame = { 0 };
    make_frame(&frame, 64, 48, 0);
    ok(bd_picture_write(in_scratch("good.png"), &frame));
    assert_int_equal(bd_picture_write(in_scratch("none/x.png"), &frame), BD_ERROR_IO);
    assert_int_equal(bd_picture_write(in_scratch("x.doc"), &frame), BD_ERROR_UNSUPPORTED);
    bd_frame_destroy(&frame);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(shell("%s", cases[i].make), 0);
        enum bd_status got = bd_picture_read(in_scratch(cases[i].name), BD_GRAY8, &frame);
        if (got != cases[i].status || !strstr(bd_error_detail(), cases[i].words))
            fail_msg("%s: got %d: %s", cases[i].name, got, bd_error_detail());
        bd_frame_destroy(&frame);
    }
    empty_scratch();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),       cmocka_unit_test(test_overwrite),
        cmocka_unit_test(test_options),     cmocka_unit_test(test_codecs),
        cmocka_unit_test(test_frames),      cmocka_unit_test(test_no_frames),
        cmocka_unit_test(test_full_device), cmocka_unit_test(test_limit_midway),
        cmocka_unit_test(test_full_disk),   cmocka_unit_test(test_picture_read),
        cmocka_unit_test(test_unfinished),  cmocka_unit_test(test_old_film_stays),
        cmocka_unit_test(test_two_writers), cmocka_unit_test(test_no_picture_fits),
        cmocka_unit_test(test_keep_old),    cmocka_unit_test(test_refused_after_the_encoder),
    };
    return cmocka_run_group_tests_name("writer_faults", tests, create_logged_scratch,
                                       remove_scratch);
}
