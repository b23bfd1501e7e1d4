/* Films of which single frames are wanted (video/input/packets_ahead.h), against the same films
 * read frame by frame. */
#include "tests/support/quick.h"
#include "tests/support/random.h"
#include "tests/video/reader_fixture.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

/* Pixels of a clip are too many to keep. */
struct seen {
    int count;
    int64_t *pts;
    uint64_t *sum;
};

static void free_seen(struct seen *seen)
{
    free(seen->pts);
    free(seen->sum);
    *seen = (struct seen){ 0 };
}

static uint64_t sum_of(const struct bd_frame *frame)
{
    uint64_t sum = 0;
    for (int y = 0; y < frame->height; y++)
        for (int x = 0; x < frame->width * (int)frame->format; x++)
            sum = sum * UINT64_C(6364136223846793005) + frame->data[y * frame->stride + x] + 1;
    return sum;
}

static struct bd_reader *open_gray(const char *path, int threads)
{
    return open_input(path, (struct bd_reader_options){ .format = BD_GRAY8, .threads = threads });
}

/* Reads every frame. */
static struct seen see_all(const char *path, int threads)
{
    struct seen all = { 0 };
    struct bd_reader *reader = open_gray(path, threads);
    struct bd_frame frame = { 0 };
    enum bd_status status;
    while ((status = bd_reader_read(reader, &frame)) == BD_OK) {
        const size_t used = (size_t)all.count++;
        all.pts = grow(all.pts, used * sizeof *all.pts, sizeof *all.pts);
        all.sum = grow(all.sum, used * sizeof *all.sum, sizeof *all.sum);
        all.pts[used] = frame.pts;
        all.sum[used] = sum_of(&frame);
    }
    assert_int_equal(status, BD_END);
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
    return all;
}

/* Reads the frame at or after `wanted`, which is the first such one from number *next on.
 * INT64_MIN: the next frame. */
static void check_wanted(const char *path, struct bd_reader *reader, struct bd_frame *frame,
                         const struct seen *all, int64_t wanted, int *next)
{
    int expected = *next;
    while (expected < all->count && all->pts[expected] < wanted)
        expected++;
    enum bd_status status = wanted == INT64_MIN ? bd_reader_read(reader, frame)
                                                : bd_reader_read_from(reader, wanted, frame);
    if (status != (expected < all->count ? BD_OK : BD_END))
        fail_msg("%s: frame %d: status %d: %s", path, expected, (int)status, bd_error_detail());
    if (!status && (frame->pts != all->pts[expected] || sum_of(frame) != all->sum[expected]))
        fail_msg("%s: frame %d, from %d: another picture, or time %lld in place of %lld", path,
                 expected, *next, (long long)frame->pts, (long long)all->pts[expected]);
    *next = expected + (status == BD_OK);
}

static void check_next(const char *path, struct bd_reader *reader, struct bd_frame *frame,
                       const struct seen *all, int *next)
{
    check_wanted(path, reader, frame, all, INT64_MIN, next);
}

/* Goes through a film in steps around those between its key frames, and in random ones. */
static void check_film(const char *path, int threads, int rounds)
{
    struct seen all = see_all(path, 1);
    struct bd_reader *reader = open_gray(path, threads);
    struct bd_frame frame = { 0 };
    uint32_t seed = 11;
    assert_true(all.count > 20);
    if (!all.pts)
        abort();
    for (int round = 0; round < rounds; round++) {
        int next = 0;
        if (round % 3)
            check_next(path, reader, &frame, &all, &next);
        while (next < all.count) {
            const int step = round < 4 ? 29 + round : between(&seed, 0, 20 * round);
            const int number = next + step < all.count ? next + step : all.count - 1;
            const int64_t wanted = all.pts[number] - (round % 2); /* just before, or at it */
            check_wanted(path, reader, &frame, &all, wanted, &next);
            if (round % 2)
                check_wanted(path, reader, &frame, &all, frame.pts + 1, &next);
            if (step % 5 == 0)
                check_wanted(path, reader, &frame, &all, wanted, &next); /* again */
            if (step % 5 == 1)
                check_wanted(path, reader, &frame, &all, wanted / 2, &next); /* behind */
            if (step % 5 == 2)
                check_next(path, reader, &frame, &all, &next);
        }
        if (round % 2)
            assert_int_equal(bd_reader_read_from(reader, INT64_MAX, &frame), BD_END);
        assert_int_equal(bd_reader_seek(reader, 0), BD_OK);
    }
    /* The last frame from the first one, and behind the last one. */
    int next = 0;
    check_next(path, reader, &frame, &all, &next);
    check_wanted(path, reader, &frame, &all, all.pts[all.count - 1], &next);
    assert_int_equal(bd_reader_seek(reader, 0), BD_OK);
    assert_int_equal(bd_reader_read_from(reader, all.pts[all.count - 1] + 1, &frame), BD_END);
    assert_int_equal(bd_reader_read(reader, &frame), BD_END);
    assert_int_equal(bd_reader_damaged(reader), 0);
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
    free_seen(&all);
}

/* The times of a film's packets that are marked as key frames. */
static struct seen key_frames(const char *path)
{
    struct seen keys = { 0 };
    AVFormatContext *format = NULL;
    AVPacket *packet = av_packet_alloc();
    assert_int_equal(avformat_open_input(&format, path, NULL, NULL), 0);
    assert_true(avformat_find_stream_info(format, NULL) >= 0);
    while (av_read_frame(format, packet) == 0) {
        if (packet->flags & AV_PKT_FLAG_KEY) {
            keys.pts = grow(keys.pts, (size_t)keys.count * sizeof *keys.pts, sizeof *keys.pts);
            keys.pts[keys.count++] = packet->pts;
        }
        av_packet_unref(packet);
    }
    av_packet_free(&packet);
    avformat_close_input(&format);
    return keys;
}

/* Goes through a film in steps; in place of each wanted frame, the last key frame is taken that
 * comes not too long before it. */
static void check_near(const char *path, int threads, const struct seen *keys)
{
    struct seen all = see_all(path, 1);
    struct bd_reader *reader = open_gray(path, threads);
    struct bd_frame frame = { 0 };
    assert_true(all.count > 20);
    if (!all.pts)
        abort();
    int taken = 0;
    for (int step = 2; step < 100; step += 1 + step / (test_quick() ? 1 : 3)) {
        int next = 0;
        assert_int_equal(bd_reader_seek(reader, 0), BD_OK);
        check_next(path, reader, &frame, &all, &next);
        for (int number = step; number < all.count; number += step) {
            int64_t earliest = all.pts[number - step * 3 / 4], expected = all.pts[number];
            if (earliest <= frame.pts)
                earliest = frame.pts + 1;
            for (int i = 0; i < keys->count; i++)
                if (keys->pts[i] >= earliest && keys->pts[i] <= all.pts[number])
                    expected = keys->pts[i];
            taken += expected != all.pts[number];
            while (all.pts[next] < expected)
                next++;
            assert_int_equal(bd_reader_read_near(reader, earliest, all.pts[number], &frame), BD_OK);
            if (frame.pts != expected || sum_of(&frame) != all.sum[next])
                fail_msg("%s: step %d, frame %d: time %lld in place of %lld, or another picture",
                         path, step, number, (long long)frame.pts, (long long)expected);
            next++;
            if (number % 2)
                check_next(path, reader, &frame, &all, &next);
        }
    }
    if (taken == 0 && keys->count > 2 && keys->count < all.count)
        fail_msg("%s: none of %d key frames was taken", path, keys->count);
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
    free_seen(&all);
}

#define X264 "-c:v libx264 -preset veryfast -threads 1 "
#define X265 "-c:v libx265 -preset ultrafast -x265-params log-level=none:bframes=3:"

/* Films of 240 frames. `keys`: their key frames are known to start anew, and when they are shown;
 * not all frames of picture codecs. */
static const struct {
    const char *name, *coding;
    bool required, keys;
} films[] = {
    { "second.mp4", X264 "-bf 3 -g 30", true, true },
    { "second.ts", X264 "-bf 3 -g 30", true, true },
    { "long.mp4", X264 "-bf 3 -g 250", true, true },
    { "plain.mkv", X264 "-bf 0 -g 30", true, true },
    { "plain.avi", X264 "-bf 0 -g 30", true, false },
    { "pyramid.mkv", X264 "-x264-params keyint=24:bframes=5:b-adapt=0:b-pyramid=normal:ref=4", true,
      true },
    { "open.mp4", X264 "-bf 2 -g 30 -x264-params open-gop=1", true, false },
    { "fields.mp4", X264 "-bf 2 -g 30 -flags +ildct+ilme", true, true },
    { "intra.mp4", X264 "-g 1", true, true },
    { "untimed.h264", X264 "-bf 0 -g 30", true, false },
    { "jpeg.avi", "-c:v mjpeg -q:v 5", true, false },
    { "mpeg4.avi", "-c:v mpeg4 -q:v 5 -g 30", true, false },
    { "second.hevc.mp4", X265 "keyint=30:open-gop=0", false, true },
    { "second.hevc.ts", X265 "keyint=30:open-gop=0", false, true },
    { "open.hevc.mp4", X265 "keyint=30:open-gop=1", false, false },
    { "leading.hevc.mp4", X265 "keyint=30:open-gop=0:radl=2", false, true },
    { "vp9.webm",
      "-c:v libvpx-vp9 -deadline good -cpu-used 5 -lag-in-frames 16 -auto-alt-ref 1 -g 30", false,
      true },
    { "vp8.webm", "-c:v libvpx -deadline good -cpu-used 5 -lag-in-frames 16 -auto-alt-ref 1 -g 30",
      false, true },
};

static bool make(const char *name, const char *size, const char *seconds, const char *coding)
{
    return shell(FFMPEG "-f lavfi -i testsrc2=size=%s:rate=30:duration=%s -pix_fmt yuv420p %s %s",
                 size, seconds, coding, name) == 0;
}

static void test_frames(void **state)
{
    (void)state;
    need_ffmpeg();
    for (size_t i = 0; i < sizeof films / sizeof *films; i++) {
        if (!make(films[i].name, "96x64", "8", films[i].coding)) {
            assert_false(films[i].required);
            print_message("skipped: %s\n", films[i].name);
            continue;
        }
        for (int threads = 1; threads <= 4; threads += 3)
            check_film(in_scratch(films[i].name), threads, test_quick() ? 4 : 9);
        struct seen keys = { 0 };
        if (films[i].keys)
            keys = key_frames(in_scratch(films[i].name));
        for (int threads = 1; threads <= 4; threads += 3)
            check_near(in_scratch(films[i].name), threads, &keys);
        free_seen(&keys);
    }
}

/* A sender that was started again: times go on from where they were. */
static void test_restarted_clock(void **state)
{
    (void)state;
    need_ffmpeg();
    assert_true(make("once.ts", "96x64", "6", X264 "-bf 0 -g 30"));
    assert_int_equal(shell("cat once.ts once.ts >twice.ts"), 0);
    for (int threads = 1; threads <= 4; threads += 3)
        check_film(in_scratch("twice.ts"), threads, 9);
}

/* More packets in a section than may wait. */
static void test_long_section(void **state)
{
    (void)state;
    need_ffmpeg();
    assert_true(make("endless.mp4", "32x32", "50", X264 "-bf 2 -g 5000"));
    check_film(in_scratch("endless.mp4"), 1, 2);
}

static void test_real_films(void **state)
{
    (void)state;
    static const char *const names[] = { "car-detection.mp4", "one-by-one-person-detection.mp4",
                                         "traffic_camera_vfr.mp4" };
    const char *data = getenv("BACKDROP_DATA");
    char path[512];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/videos/%s", data ? data : "", names[i]);
        if (!data || access(path, R_OK) != 0 || test_quick()) {
            print_message("skipped: no %s in BACKDROP_DATA/videos, or little time\n", names[i]);
            skip();
        }
        check_film(path, 4, 2);
    }
}

/* Overwrites the second halves of the packets from number `from` to before `to` of a film in the
 * scratch folder. */
static void spoil(const char *name, int from, int to)
{
    AVFormatContext *format = NULL;
    AVPacket *packet = av_packet_alloc();
    FILE *file = fopen(in_scratch(name), "r+b");
    assert_non_null(file);
    assert_int_equal(avformat_open_input(&format, in_scratch(name), NULL, NULL), 0);
    for (int i = 0; i < to; i++) {
        assert_int_equal(av_read_frame(format, packet), 0);
        if (i >= from) {
            assert_true(packet->pos > 0);
            assert_int_equal(fseek(file, (long)packet->pos + packet->size / 2, SEEK_SET), 0);
            for (int k = packet->size / 2; k < packet->size; k++)
                fputc(0xff, file);
        }
        av_packet_unref(packet);
    }
    assert_int_equal(fclose(file), 0);
    av_packet_free(&packet);
    avformat_close_input(&format);
}

/* Rubbish in sections that are passed over does no harm: they are not decoded. */
static void test_passed_sections_are_not_decoded(void **state)
{
    (void)state;
    need_ffmpeg();
    for (int threads = 1; threads <= 4; threads += 3) {
        assert_true(make("spoilt.mp4", "96x64", "8", X264 "-bf 3 -g 30"));
        struct seen all = see_all(in_scratch("spoilt.mp4"), 1);
        spoil("spoilt.mp4", 30, 120);
        struct bd_reader *reader = open_gray(in_scratch("spoilt.mp4"), threads);
        struct bd_frame frame = { 0 };
        int next = 0;
        check_next("spoilt.mp4", reader, &frame, &all, &next);
        check_wanted("spoilt.mp4", reader, &frame, &all, all.pts[121], &next);
        check_wanted("spoilt.mp4", reader, &frame, &all, all.pts[200], &next);
        assert_int_equal(bd_reader_damaged(reader), 0);
        assert_int_equal(bd_reader_seek(reader, 0), BD_OK);
        next = 0;
        check_next("spoilt.mp4", reader, &frame, &all, &next);
        check_wanted("spoilt.mp4", reader, &frame, &all, all.pts[120], &next);
        assert_int_equal(bd_reader_damaged(reader), 0);
        assert_int_equal(bd_reader_seek(reader, 1.5), BD_OK);
        while (bd_reader_read(reader, &frame) == BD_OK)
            ;
        assert_true(bd_reader_damaged(reader) > 0);
        bd_frame_destroy(&frame);
        bd_reader_close(&reader);
        free_seen(&all);
    }
}

/* Appends a film of start codes to a file, without its parameter sets but those before its first
 * picture. */
static void append_bare(FILE *to, const char *name)
{
    static uint8_t data[1 << 20];
    FILE *file = fopen(in_scratch(name), "rb");
    assert_non_null(file);
    const size_t size = fread(data, 1, sizeof data, file);
    assert_true(size > 0 && size < sizeof data);
    fclose(file);
    bool picture = false;
    for (size_t from = 0, end; from < size; from = end) {
        for (end = from + 1; end < size; end++)
            if (end + 3 < size && memcmp(data + end, "\0\0\1", 3) == 0)
                break;
        if (memcmp(data + from, "\0\0\1", 3) != 0)
            continue; /* a zero before the first one */
        const int type = data[from + 3] & 31;
        picture |= type >= 1 && type <= 5;
        if (!picture || (type != 7 && type != 8))
            fwrite(data + from, 1, end - from, to);
    }
}

/* Parameters that a passed section brings, and those after it do not, hold all the same. */
static void test_parameters_hold(void **state)
{
    (void)state;
    need_ffmpeg();
    assert_true(make("cabac.h264", "96x64", "2", X264 "-bf 0 -g 30 -x264-params cabac=1"));
    assert_true(make("cavlc.h264", "96x64", "6", X264 "-bf 0 -g 30 -x264-params cabac=0"));
    FILE *file = fopen(in_scratch("both.h264"), "wb");
    assert_non_null(file);
    append_bare(file, "cabac.h264");
    append_bare(file, "cavlc.h264");
    assert_int_equal(fclose(file), 0);
    assert_int_equal(shell(FFMPEG "-framerate 30 -i both.h264 -c copy both.mp4"), 0);
    struct seen all = see_all(in_scratch("both.mp4"), 1);
    assert_int_equal(all.count, 240);
    free_seen(&all);
    for (int threads = 1; threads <= 4; threads += 3)
        check_film(in_scratch("both.mp4"), threads, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_restarted_clock),
        cmocka_unit_test(test_long_section),
        cmocka_unit_test(test_passed_sections_are_not_decoded),
        cmocka_unit_test(test_parameters_hold),
        cmocka_unit_test(test_real_films),
    };
    return cmocka_run_group_tests(tests, create_scratch, remove_scratch);
}
