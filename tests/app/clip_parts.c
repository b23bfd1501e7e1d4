/* Parts of app/export/clips: names, thumbnails, and films that are encoded from the last frames. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/export/clips/encode.h"
#include "app/export/clips/names.h"
#include "app/export/clips/thumbnail.h"
#include "tests/support/scratch.h"
#include "video/input/reader.h"

static void stems_of_inputs(void **state)
{
    static const char *const rows[][2] = {
        { "film.mp4", "film" },
        { "/a/b.c/film.part.mp4", "film.part" },
        { "folder/.hidden", "hidden" },
        { "-", "stdin" },
        { "/dev/video0", "video0" },
        { "rtsp://name:secret@host:554/live/stream1?token=5", "stream1" },
        { "http://host/", "host" },
        { "rtsp://name:secret@10.0.0.7:554", "10.0.0.7_554" },
        { "synth:easy?frames=60", "easy" },
        { "frames/in%06d.jpg", "in" },
        { "frames/%d.png", "input" },
        { "a%b.mp4", "a_b" },
        { ":0.0", "_0" },
        { "..", "input" },
        { "testsrc=size=64x64:rate=5", "testsrc=size=64x64_rate=5" },
        { "", "input" },
        { "...", "input" },
    };
    char stem[bd_clip_stem_size], input[1024];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bd_clip_stem(stem, rows[i][0]);
        assert_string_equal(stem, rows[i][1]);
    }
    /* long names are cut, but no letter of UTF-8 is */
    memset(input, 'n', sizeof input);
    input[1000] = 0;
    bd_clip_stem(stem, input);
    assert_int_equal(strlen(stem), bd_clip_stem_size - 1);
    for (int lead = 0; lead < 3; lead++) {
        memset(input, 'n', (size_t)lead);
        for (int i = 0; i < 100; i++)
            memcpy(input + lead + 3 * i, "\xe2\x82\xac", 4);
        bd_clip_stem(stem, input);
        assert_int_equal((strlen(stem) - (size_t)lead) % 3, 0);
        assert_true(strlen(stem) >= bd_clip_stem_size - 4);
    }
}

static void names_of_files(void **state)
{
    char path[PATH_MAX];
    (void)state;
    bd_clip_path(path, "folder", "film", 7, "mp4");
    assert_string_equal(path, "folder/film.0007.mp4");
    bd_clip_path(path, "folder/", "film", 12345, "jpg");
    assert_string_equal(path, "folder/film.12345.jpg");
    assert_false(bd_clip_exists(path, in_scratch("none"), "film"));
    assert_int_equal(shell("mkdir names && cd names && touch film.mp4 film.1.mp4 film.0001 "
                           "film.0001. film.0001.mp4.part other.0001.mp4 film.x0001.mp4"),
                     0);
    assert_false(bd_clip_exists(path, in_scratch("names"), "film"));
    assert_int_equal(shell("touch names/film.0123.mkv"), 0);
    assert_true(bd_clip_exists(path, in_scratch("names"), "film"));
    assert_string_equal(strrchr(path, '/'), "/film.0123.mkv");
}

/* A thumbnail has the box and something around it, wherever that is in the picture. */
static void thumbnails_have_the_box(void **state)
{
    static const struct bd_box boxes[] = {
        { 0, 0, 30, 40 },   { 600, 440, 40, 40 }, { 300, 200, 12, 30 }, { 100, 50, 200, 300 },
        { 0, 0, 640, 480 }, { 0, 470, 640, 10 },  { 320, 240, 0, 0 },   { 639, 479, 1, 1 },
    };
    struct bd_frame frame = { 0 }, picture = { 0 };
    (void)state;
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
        struct bd_box box = boxes[i];
        assert_int_equal(bd_frame_ensure(&frame, 640, 480, BD_GRAY8), BD_OK);
        memset(frame.data, 0, (size_t)(frame.stride * frame.height));
        for (int y = box.y; y < box.y + box.height; y++)
            memset(frame.data + y * frame.stride + box.x, 255, (size_t)box.width);
        assert_int_equal(bd_thumbnail_cut(&picture, &frame, box), BD_OK);
        int white = 0;
        for (int y = 0; y < picture.height; y++)
            for (int x = 0; x < picture.width; x++)
                white += picture.data[y * picture.stride + x];
        assert_int_equal(white, 255 * box.width * box.height);
        assert_in_range(picture.width, box.width > 160 ? box.width : 160, 640);
        assert_in_range(picture.height, box.height > 160 ? box.height : 160, 480);
    }
    bd_frame_destroy(&frame);
    bd_frame_destroy(&picture);
}

/* A small film whose frames are told apart by their gray. */
enum { width = 64, height = 48, bytes = width * height };
static const int64_t tick = 40000000; /* nanoseconds from frame to frame */

struct session {
    struct bd_clip_encoder *encoder;
    struct bd_frame frame;
};

static void begin(struct session *session, int frames_kept, int64_t reach)
{
    struct bd_clip_encoder_options options = { .folder = scratch,
                                               .stem = "film",
                                               .extension = "mkv",
                                               .writer = { .width = width,
                                                           .height = height,
                                                           .format = BD_GRAY8,
                                                           .time_base = { 1, 25 },
                                                           .frame_rate = { 25, 1 },
                                                           .pixel_aspect = { 1, 1 },
                                                           .overwrite = true,
                                                           .lossless = true,
                                                           .whole_only = true,
                                                           .threads = 1 },
                                               .writers = 8,
                                               .reach = reach * tick,
                                               .bytes = (int64_t)frames_kept * bytes };
    *session = (struct session){ 0 };
    assert_int_equal(shell("rm -f *.mkv *.jpg *.part"), 0);
    assert_int_equal(bd_clip_encoder_open(&session->encoder, &options), BD_OK);
}

static int gray_of(int number)
{
    return 20 + number % 200;
}

static enum bd_status add(struct session *session, int number)
{
    struct bd_frame *frame = &session->frame;
    assert_int_equal(bd_frame_ensure(frame, width, height, BD_GRAY8), BD_OK);
    for (int y = 0; y < height; y++)
        memset(frame->data + y * frame->stride, gray_of(number), width);
    frame->index = frame->pts = number;
    return bd_clip_encoder_add(session->encoder, frame, number * tick, NULL, 0);
}

/* Tells of event `number` from frame `start` to `end`, one second before and half a one behind. */
static void tell(struct session *session, int number, int start, int end, bool ended)
{
    struct bd_event event = { .number = number,
                              .start = start * tick,
                              .end = end * tick,
                              .peak_frame = start,
                              .box = { 10, 10, 20, 20 },
                              .ended = ended };
    assert_int_equal(
        bd_clip_encoder_update(session->encoder, &event, (start - 25) * tick, (end + 12) * tick),
        BD_OK);
}

static void end(struct session *session)
{
    assert_int_equal(bd_clip_encoder_close(&session->encoder), BD_OK);
    assert_null(session->encoder);
    bd_frame_destroy(&session->frame);
}

/* Asserts that clip `number` has exactly these frames. */
static void assert_frames(int number, int first, int last)
{
    char name[64];
    struct bd_reader *reader = NULL;
    struct bd_frame frame = { 0 };
    struct bd_reader_options options = { .format = BD_GRAY8 };
    int count = 0;
    snprintf(name, sizeof name, "film.%04d.mkv", number);
    assert_int_equal(bd_reader_open(&reader, in_scratch(name), &options), BD_OK);
    while (bd_reader_read(reader, &frame) == BD_OK)
        assert_int_equal(frame.data[0], gray_of(first + count++));
    assert_int_equal(count, last - first + 1);
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
    snprintf(name, sizeof name, "film.%04d.jpg", number);
    assert_int_equal(bd_picture_read(in_scratch(name), BD_GRAY8, &frame), BD_OK);
    bd_frame_destroy(&frame);
}

/* Events that are known late, that overlap, and that end late. */
static void films_begin_and_end_exactly(void **state)
{
    struct session session;
    (void)state;
    begin(&session, 1000, 100);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(add(&session, i), BD_OK);
        if (i >= 60 && i <= 150)
            tell(&session, 1, 40, i < 100 ? i : 100, i == 150);
        if (i >= 70 && i <= 200)
            tell(&session, 2, 65, i < 160 ? i : 160, i == 200);
        if (i >= 290)
            tell(&session, 3, 285, i, false);
    }
    tell(&session, 3, 285, 299, true);
    end(&session);
    assert_frames(1, 15, 112);
    assert_frames(2, 40, 172);
    assert_frames(3, 260, 299);
}

/* More events at a time than films are written at a time. */
static void many_events_at_once(void **state)
{
    enum { events = 30 };
    struct session session;
    (void)state;
    begin(&session, 1000, 100);
    for (int i = 0; i < 400; i++) {
        assert_int_equal(add(&session, i), BD_OK);
        for (int e = 0; e < events; e++)
            if (i >= 50 + e && i <= 150 + 3 * e)
                tell(&session, e + 1, 40 + e, i < 120 + 3 * e ? i : 120 + 3 * e, i == 150 + 3 * e);
    }
    end(&session);
    for (int e = 0; e < events; e++)
        assert_frames(e + 1, 15 + e, 132 + 3 * e);
}

/* How often which warning came. */
struct warnings {
    int late, longer, lacks;
};

static void count_warning(void *user, enum bd_log_level level, const char *message)
{
    struct warnings *warnings = user;
    warnings->late += level == BD_LOG_WARNING && strstr(message, "begins") != NULL;
    warnings->longer += level == BD_LOG_WARNING && strstr(message, "may end late") != NULL;
    warnings->lacks += level == BD_LOG_WARNING && strstr(message, "lacks") != NULL;
}

/* Little memory: a film begins later and may end later, and the log says so. */
static void little_memory_is_told(void **state)
{
    struct session session;
    struct warnings warnings = { 0 };
    (void)state;
    bd_log_set(count_warning, &warnings);
    begin(&session, 10, 100);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(add(&session, i), BD_OK);
        if (i >= 60 && i <= 150) /* over at 100, but known to be at 150 */
            tell(&session, 1, 55, i < 100 ? i : 100, i == 150);
    }
    end(&session);
    bd_log_set(NULL, NULL);
    assert_int_equal(warnings.late, 1);
    assert_int_equal(warnings.longer, 1);
    assert_int_equal(warnings.lacks, 0);
    assert_frames(1, 51, 140);
}

/* More events than films, and little memory: those that wait lose frames, and are told of. */
static void waiting_films_lose_frames(void **state)
{
    enum { events = 10 };
    struct session session;
    struct warnings warnings = { 0 };
    (void)state;
    bd_log_set(count_warning, &warnings);
    begin(&session, 40, 30);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(add(&session, i), BD_OK);
        for (int e = 0; e < events; e++)
            if (i >= 30 && i <= 200 + e)
                tell(&session, e + 1, 30, i, i == 200 + e);
    }
    end(&session);
    bd_log_set(NULL, NULL);
    for (int e = 0; e < 8; e++)
        assert_frames(e + 1, 5, 212 + e);
    assert_int_equal(warnings.lacks, 2);
}

/* Films whose events end while others have all writers, and whose frames are gone before they could
 * be written, are missing; the others are whole, and the end says so. */
static void missing_films_are_told(void **state)
{
    struct session session;
    (void)state;
    begin(&session, 40, 30);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(add(&session, i), BD_OK);
        for (int e = 0; e < 9; e++)
            if (i >= 30 && i <= (e < 8 ? 250 : 60))
                tell(&session, e + 1, 30, i, i == (e < 8 ? 250 : 60));
    }
    assert_int_equal(bd_clip_encoder_close(&session.encoder), BD_ERROR_MEMORY);
    assert_non_null(strstr(bd_error_detail(), "clip 9 is missing: 8 films are written at a time"));
    bd_frame_destroy(&session.frame);
    for (int e = 0; e < 8; e++)
        assert_frames(e + 1, 5, 262);
    assert_int_equal(shell("test ! -e film.0009.mkv && test ! -e film.0009.jpg"), 0);
}

/* An input that breaks off: the film of an event that is over is whole; that of another has no
 * name, and no thumbnail. */
static void what_breaks_off_keeps_no_name(void **state)
{
    struct session session;
    (void)state;
    begin(&session, 1000, 100);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(add(&session, i), BD_OK);
        if (i >= 30 && i <= 60)
            tell(&session, 1, 30, i < 50 ? i : 50, i == 60);
        if (i >= 40)
            tell(&session, 2, 40, i, false);
    }
    bd_clip_encoder_keep_old(session.encoder);
    tell(&session, 2, 40, 99, true);
    end(&session);
    assert_frames(1, 5, 62);
    assert_int_equal(shell("test $(ls film.0002.* | wc -l) = 1 && test -s film.0002.mkv.part"), 0);
}

/* A folder that goes away: one line, once, and the end of the run is orderly. */
static void a_failure_is_returned_once(void **state)
{
    struct session session;
    int failures = 0;
    (void)state;
    begin(&session, 100, 30);
    assert_int_equal(shell("chmod -w . && mkdir film.0001.mkv.part 2>/dev/null; true"), 0);
    for (int i = 0; i < 200; i++) {
        enum bd_status status = add(&session, i);
        failures += status != BD_OK;
        if (status)
            assert_non_null(strstr(bd_error_detail(), "film.0001.mkv: "));
        if (i >= 30)
            tell(&session, 1, 30, i, false);
    }
    failures += bd_clip_encoder_close(&session.encoder) != BD_OK;
    assert_int_equal(failures, 1);
    bd_frame_destroy(&session.frame);
    assert_int_equal(shell("chmod +w . && rm -rf film.0001.mkv.part"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stems_of_inputs),
        cmocka_unit_test(names_of_files),
        cmocka_unit_test(thumbnails_have_the_box),
        cmocka_unit_test(films_begin_and_end_exactly),
        cmocka_unit_test(many_events_at_once),
        cmocka_unit_test(little_memory_is_told),
        cmocka_unit_test(waiting_films_lose_frames),
        cmocka_unit_test(a_failure_is_returned_once),
        cmocka_unit_test(missing_films_are_told),
        cmocka_unit_test(what_breaks_off_keeps_no_name),
    };
    return cmocka_run_group_tests(tests, create_scratch, remove_scratch);
}
