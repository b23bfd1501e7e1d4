/* Films that are decoded in sections, several at the same time (video/input/sections.h), against
 * one decoder that decodes them from the first packet to the last. */
#include "tests/video/reader_fixture.h"

#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <stdatomic.h>

#include "video/input/section_start.h"
#include "video/input/sections.h"

enum { most_decoders = 4, most_seen = 2000 };

struct film {
    AVFormatContext *format;
    AVPacket *packet;
    AVFrame *frame;
    AVCodecContext *decoders[most_decoders];
};

struct seen {
    int count, errors;
    int64_t pts[most_seen];
    uint64_t sum[most_seen]; /* of the picture's bytes and their places */
};

/* Room for what is seen of `count` films, empty. */
static struct seen *make_seen(size_t count)
{
    struct seen *seen = calloc(count, sizeof *seen);
    if (!seen)
        abort();
    return seen;
}

static void open_film(struct film *film, const char *name)
{
    *film = (struct film){ .packet = av_packet_alloc(), .frame = av_frame_alloc() };
    if (!film->packet || !film->frame)
        abort();
    assert_int_equal(avformat_open_input(&film->format, in_scratch(name), NULL, NULL), 0);
    assert_true(avformat_find_stream_info(film->format, NULL) >= 0);
    const AVStream *stream = film->format->streams[0];
    for (int i = 0; i < most_decoders; i++) {
        film->decoders[i] =
            avcodec_alloc_context3(avcodec_find_decoder(stream->codecpar->codec_id));
        assert_non_null(film->decoders[i]);
        assert_true(avcodec_parameters_to_context(film->decoders[i], stream->codecpar) >= 0);
        film->decoders[i]->pkt_timebase = stream->time_base;
        film->decoders[i]->thread_count = 1;
        assert_int_equal(avcodec_open2(film->decoders[i], NULL, NULL), 0);
    }
}

static void close_film(struct film *film)
{
    for (int i = 0; i < most_decoders; i++)
        avcodec_free_context(&film->decoders[i]);
    av_frame_free(&film->frame);
    av_packet_free(&film->packet);
    avformat_close_input(&film->format);
}

static void rewind_film(struct film *film)
{
    assert_true(avformat_seek_file(film->format, -1, INT64_MIN, 0, 0, 0) >= 0);
}

static void see(struct seen *seen, const AVFrame *frame)
{
    int size = av_image_get_buffer_size(frame->format, frame->width, frame->height, 1);
    assert_true(size > 0 && seen->count < most_seen);
    uint8_t *bytes = test_malloc((size_t)size);
    av_image_copy_to_buffer(bytes, size, (const uint8_t *const *)frame->data, frame->linesize,
                            frame->format, frame->width, frame->height, 1);
    uint64_t sum = 0;
    for (int i = 0; i < size; i++)
        sum = sum * UINT64_C(6364136223846793005) + bytes[i] + 1;
    test_free(bytes);
    seen->pts[seen->count] = frame->best_effort_timestamp;
    seen->sum[seen->count++] = sum;
}

/* The next packet of the film, NULL at its end. */
static AVPacket *read_packet(struct film *film)
{
    av_packet_unref(film->packet);
    return av_read_frame(film->format, film->packet) == 0 ? film->packet : NULL;
}

/* Decodes at most `most` frames by the first decoder alone. */
static void decode_alone(struct film *film, struct seen *seen, int most)
{
    for (bool ended = false; seen->count < most;) {
        int error = avcodec_receive_frame(film->decoders[0], film->frame);
        if (error == AVERROR_EOF)
            return;
        if (error == 0)
            see(seen, film->frame);
        if (error != AVERROR(EAGAIN))
            continue;
        AVPacket *packet = ended ? NULL : read_packet(film);
        ended = !packet;
        assert_int_equal(avcodec_send_packet(film->decoders[0], packet), 0);
    }
}

/* Decodes at most `most` frames. Packet number `broken` loses its contents. */
static void decode_sections(struct film *film, struct bd_sections *sections, struct seen *seen,
                            int most, int broken)
{
    AVPacket *packet = NULL;
    bool ended = false;
    for (int number = 0; seen->count < most;) {
        int error = bd_sections_receive(sections, film->frame);
        if (error == AVERROR_EOF)
            return;
        if (error == 0)
            see(seen, film->frame);
        if (error != AVERROR(EAGAIN)) {
            seen->errors += error != 0;
            continue;
        }
        assert_false(ended);
        if (!packet && (packet = read_packet(film)) && number++ == broken) {
            assert_int_equal(av_packet_make_writable(packet), 0);
            memset(packet->data, 0xff, (size_t)packet->size);
        }
        error = bd_sections_send(sections, packet);
        if (error == AVERROR(EAGAIN))
            continue; /* the packet waits */
        assert_int_equal(error, 0);
        ended = !packet;
        packet = NULL;
    }
}

/* What the sections call. */
struct helper {
    atomic_int kept;
    atomic_int fails; /* the frame, counted from 1, that cannot be kept; 0: all can */
    atomic_int asked; /* for other decoders */
    AVCodecContext *other;
};

/* Frames of software need no other place. */
static enum bd_status keep(void *user, AVFrame *frame)
{
    struct helper *helper = user;
    (void)frame;
    return atomic_fetch_add(&helper->kept, 1) + 1 == helper->fails
               ? bd_fail(BD_ERROR_BACKEND, "asked to fail")
               : BD_OK;
}

static AVCodecContext *replace(void *user)
{
    struct helper *helper = user;
    atomic_fetch_add(&helper->asked, 1);
    return helper->other;
}

/* How often decoders were made anew, and how many are. */
static atomic_int renewed, renewing;

static void begin_waiting(void)
{
    atomic_fetch_add(&renewing, 1);
    atomic_fetch_add(&renewed, 1);
}

static void end_waiting(void)
{
    atomic_fetch_sub(&renewing, 1);
}

static const struct bd_picture_ops device_ops = { .begin_waiting = begin_waiting,
                                                  .end_waiting = end_waiting };
static struct bd_device device = { .ops = &device_ops };

static struct bd_sections *open_sections(struct film *film, int count, int most_frames,
                                         bool first_once, struct helper *helper)
{
    struct bd_sections *sections;
    struct bd_sections_options options = { .decoders = film->decoders,
                                           .count = count,
                                           .first_once = first_once,
                                           .most_frames = most_frames,
                                           .keep = keep,
                                           .replace = replace,
                                           .user = helper,
                                           .device = &device };
    assert_true(bd_sections_known(film->decoders[0]->codec_id));
    assert_int_equal(bd_sections_open(&sections, &options), BD_OK);
    return sections;
}

static void assert_same(const struct seen *seen, const struct seen *expected, int from)
{
    for (int i = from; i < expected->count; i++) {
        assert_int_equal(seen->pts[i], expected->pts[i]);
        assert_true(seen->sum[i] == expected->sum[i]);
    }
    assert_int_equal(seen->count, expected->count);
}

static bool make(const char *name, const char *input, const char *coding)
{
    return shell(FFMPEG "%s %s %s", input, coding, name) == 0;
}

/* Films whose sections are of about twelve frames, or that are one section. */
static const struct {
    const char *name, *coding;
    bool required;
} films[] = {
    { "avc.mp4", "-c:v libx264 -preset veryfast -bf 2 -g 12 -threads 1", true },
    { "avc.ts", "-c:v libx264 -preset veryfast -bf 2 -g 12 -threads 1", true },
    { "open.mp4", "-c:v libx264 -preset veryfast -bf 2 -g 12 -x264-params open-gop=1", true },
    /* fewer packets in a section than the decoder may hold back */
    { "short.mp4",
      "-c:v libx264 -preset veryfast -x264-params keyint=3:min-keyint=1:bframes=2:b-adapt=0:ref=4",
      true },
    { "intra.mp4", "-c:v libx264 -preset veryfast -g 1", true },
    { "hevc.mp4", "-c:v libx265 -preset ultrafast -x265-params keyint=12:open-gop=0:log-level=1",
      false },
    { "hevc.ts", "-c:v libx265 -preset ultrafast -x265-params keyint=12:open-gop=1:log-level=1",
      false },
    { "vp9.webm", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 12", false },
    { "vp8.webm", "-c:v libvpx -deadline realtime -cpu-used 8 -g 12", false },
};

static void sections_give_the_frames_of_one_decoder(void **state)
{
    (void)state;
    need_ffmpeg();
    for (size_t i = 0; i < sizeof films / sizeof *films; i++) {
        struct film film;
        struct seen *expected = make_seen(1), *seen = make_seen(3);
        struct helper helper = { 0 };
        if (!make(films[i].name, MOVING("98x66", "4"), films[i].coding)) {
            assert_false(films[i].required);
            free(expected);
            free(seen);
            continue;
        }
        open_film(&film, films[i].name);
        decode_alone(&film, expected, most_seen);
        assert_int_equal(expected->count, 100);

        /* From the first packet; again after a flush in the middle; with hardly any room. In the
         * first round one decoder alone goes on after the first section. */
        for (int round = 0; round < 3; round++) {
            avcodec_flush_buffers(film.decoders[0]);
            rewind_film(&film);
            struct bd_sections *sections =
                open_sections(&film, 2 + round, round == 2 ? 1 : 30, round == 0, &helper);
            if (round == 1) {
                struct seen *some = make_seen(1);
                decode_sections(&film, sections, some, 31, -1);
                bd_sections_flush(sections);
                rewind_film(&film);
                free(some);
            }
            atomic_store(&helper.kept, 0);
            atomic_store(&renewed, 0);
            decode_sections(&film, sections, &seen[round], most_seen, -1);
            assert_true(renewed > 0); /* by first packets */
            assert_same(&seen[round], expected, 0);
            assert_int_equal(seen[round].errors, 0);
            assert_int_equal(helper.kept, 100);
            bd_sections_close(&sections);
            assert_null(sections);
            assert_int_equal(renewing, 0);
        }
        close_film(&film);
        free(expected);
        free(seen);
    }
}

/* Makes a film whose sections are short, and has one decoder decode it alone. The film stands at
 * its start again. */
static void expect_short_sections(struct film *film, struct seen *expected)
{
    need_ffmpeg();
    assert_true(make("avc.mp4", MOVING("98x66", "4"), films[0].coding));
    open_film(film, "avc.mp4");
    decode_alone(film, expected, most_seen);
    avcodec_flush_buffers(film->decoders[0]);
    rewind_film(film);
}

/* The first decoder is in the middle of a section when the others come to its help. */
static void sections_go_on_where_a_decoder_is(void **state)
{
    (void)state;
    struct film film;
    struct seen *expected = make_seen(2), *seen = expected + 1;
    struct helper helper = { 0 };
    expect_short_sections(&film, expected);
    decode_alone(&film, seen, 5);
    struct bd_sections *sections = open_sections(&film, 3, 100, true, &helper);
    decode_sections(&film, sections, seen, most_seen, -1);
    assert_same(seen, expected, 0);
    bd_sections_close(&sections);
    close_film(&film);
    free(expected);
}

/* A section of more packets than wait, and a film that is closed while much of it waits. */
static void a_long_section_passes(void **state)
{
    (void)state;
    need_ffmpeg();
    struct film film;
    struct seen *expected = make_seen(2), *seen = expected + 1;
    struct helper helper = { 0 };
    assert_true(make("long.mp4", MOVING("32x32", "60"),
                     "-c:v libx264 -preset ultrafast -g 5000 -threads 1"));
    open_film(&film, "long.mp4");
    decode_alone(&film, expected, most_seen);
    assert_int_equal(expected->count, 1500);
    avcodec_flush_buffers(film.decoders[0]);
    rewind_film(&film);
    struct bd_sections *sections = open_sections(&film, 2, 8, false, &helper);
    decode_sections(&film, sections, seen, most_seen, -1);
    assert_same(seen, expected, 0);
    bd_sections_flush(sections);
    rewind_film(&film);
    seen->count = 0;
    decode_sections(&film, sections, seen, 3, -1);
    assert_int_equal(seen->count, 3);
    bd_sections_close(&sections);
    close_film(&film);
    free(expected);
}

/* Damage stays in its section. */
static void damage_stays_in_its_section(void **state)
{
    (void)state;
    struct film film;
    struct seen *expected = make_seen(2), *seen = expected + 1;
    struct helper helper = { 0 };
    expect_short_sections(&film, expected);
    struct bd_sections *sections = open_sections(&film, 3, 100, false, &helper);
    decode_sections(&film, sections, seen, most_seen, 14); /* in the second section */
    assert_true(seen->errors > 0);
    assert_true(seen->count < expected->count && seen->count >= expected->count - 12);
    const int lost = expected->count - seen->count;
    for (int i = 0; i < 12; i++)
        assert_true(seen->sum[i] == expected->sum[i]);
    for (int i = 24; i < expected->count; i++)
        assert_true(seen->sum[i - lost] == expected->sum[i]);
    bd_sections_close(&sections);
    close_film(&film);
    free(expected);
}

/* A decoder that fails in the middle of a section: another one decodes the section again, and those
 * after it, and no frame is lost or comes twice. Without another one a frame is lost. */
static void a_decoder_that_fails_is_replaced(void **state)
{
    (void)state;
    struct film film;
    struct seen *expected = make_seen(2), *seen = expected + 1;
    expect_short_sections(&film, expected);
    for (int fails = 1; fails <= 100; fails += 7)
        for (int others = 0; others < 2; others++) {
            struct helper helper = { .fails = fails, .other = others ? film.decoders[3] : NULL };
            for (int i = 0; i < most_decoders; i++)
                avcodec_flush_buffers(film.decoders[i]);
            rewind_film(&film);
            *seen = (struct seen){ 0 };
            /* The first lane's first section may have been begun before: it is not repeated. */
            struct bd_sections *sections = open_sections(&film, 3, 100, false, &helper);
            bd_sections_flush(sections);
            decode_sections(&film, sections, seen, most_seen, -1);
            assert_int_equal(helper.asked, 1);
            if (others)
                assert_same(seen, expected, 0);
            else
                assert_int_equal(seen->count, expected->count - 1);
            assert_int_equal(seen->errors, others ? 0 : 1);
            bd_sections_close(&sections);
        }
    close_film(&film);
    free(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_give_the_frames_of_one_decoder),
        cmocka_unit_test(sections_go_on_where_a_decoder_is),
        cmocka_unit_test(a_long_section_passes),
        cmocka_unit_test(damage_stays_in_its_section),
        cmocka_unit_test(a_decoder_that_fails_is_replaced),
    };
    return cmocka_run_group_tests(tests, create_scratch, remove_scratch);
}
