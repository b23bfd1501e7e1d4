/* Encoder teams (video/encoder_team.h): the packets of several contexts beside each other are those
 * of one, byte for byte and in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "video/encoder_team.h"
#include "video/libav.h"

enum { width = 320, height = 200, most_packets = 16 };

static const struct bd_writer_options film = { .width = width,
                                               .height = height,
                                               .format = BD_GRAY8,
                                               .time_base = { 1, 25 },
                                               .frame_rate = { 25, 1 },
                                               .pixel_aspect = { 1, 1 },
                                               .lossless = true };

struct packets {
    int count;
    AVPacket *packet[most_packets];
};

static void take(struct bd_encoder_team *team, struct packets *packets)
{
    for (;;) {
        AVPacket *packet = av_packet_alloc();
        assert_non_null(packet);
        enum bd_status status = bd_encoder_team_receive(team, packet);
        if (status == BD_END) {
            av_packet_free(&packet);
            return;
        }
        assert_int_equal(status, BD_OK);
        assert_in_range(packets->count, 0, most_packets - 1);
        packets->packet[packets->count++] = packet;
    }
}

static void drop(struct packets *packets)
{
    for (int i = 0; i < packets->count; i++)
        av_packet_free(&packets->packet[i]);
    packets->count = 0;
}

/* Frame i: a white square on its way, on noise that differs in every frame. */
static void draw(struct bd_frame *frame, int i)
{
    unsigned seed = 7U + (unsigned)i;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            seed = seed * 1664525U + 1013904223U;
            bool inside = x / 40 == i % 8 && y / 40 == 2;
            frame->data[y * frame->stride + x] = inside ? 255 : (uint8_t)(seed >> 30);
        }
}

/* `frames` frames through a team of `count`; flushed or given up at the end. */
static void encode(int count, int frames, bool flush, struct packets *packets)
{
    struct bd_writer_plan plan;
    struct bd_encoder_team *team = NULL;
    struct bd_frame frame = { 0 };
    bd_libav_init();
    assert_int_equal(bd_writer_plan_make(&plan, "mask.mkv", &film), BD_OK);
    assert_int_equal(plan.codec->id, AV_CODEC_ID_FFV1);
    assert_int_equal(bd_encoder_team_open(&team, "mask.mkv", &plan, &film, true, 1, count), BD_OK);
    assert_int_equal(bd_encoder_team_context(team)->width, width);
    assert_int_equal(bd_frame_create(&frame, width, height, BD_GRAY8), BD_OK);
    for (int i = 0; i < frames; i++) {
        draw(&frame, i);
        assert_int_equal(bd_encoder_team_send(team, &frame, i), BD_OK);
        take(team, packets);
        assert_in_range(i + 1 - packets->count, 0, count - 1);
    }
    if (flush) {
        assert_int_equal(bd_encoder_team_send(team, NULL, 0), BD_OK);
        take(team, packets);
        assert_int_equal(packets->count, frames);
    }
    bd_encoder_team_close(&team);
    assert_null(team);
    bd_frame_destroy(&frame);
}

static void test_same_packets(void **state)
{
    (void)state;
    static const int frames[] = { 0, 1, 2, 3, 11 };
    for (size_t k = 0; k < sizeof frames / sizeof *frames; k++) {
        struct packets alone = { 0 }, team = { 0 };
        encode(1, frames[k], true, &alone);
        for (int count = 2; count <= 5; count++) {
            encode(count, frames[k], true, &team);
            for (int i = 0; i < frames[k]; i++) {
                const AVPacket *a = alone.packet[i], *b = team.packet[i];
                assert_int_equal(b->pts, i);
                assert_true(b->flags & AV_PKT_FLAG_KEY);
                assert_int_equal(a->size, b->size);
                assert_memory_equal(a->data, b->data, (size_t)a->size);
            }
            drop(&team);
        }
        drop(&alone);
    }
}

static void test_given_up(void **state)
{
    (void)state;
    struct packets packets = { 0 };
    encode(4, 7, false, &packets);
    drop(&packets);
    bd_encoder_team_close(&(struct bd_encoder_team *){ NULL });
}

/* What the first context refuses is told, and nothing is left. */
static void test_refused(void **state)
{
    (void)state;
    struct bd_writer_options larger = film;
    struct bd_writer_plan plan;
    struct bd_encoder_team *team = NULL;
    larger.width = 1 << 20;
    larger.height = 1 << 20;
    bd_libav_init();
    assert_int_equal(bd_writer_plan_make(&plan, "mask.mkv", &film), BD_OK);
    assert_int_not_equal(bd_encoder_team_open(&team, "mask.mkv", &plan, &larger, true, 1, 3),
                         BD_OK);
    assert_null(team);
    assert_non_null(strstr(bd_error_detail(), "mask.mkv"));
}

/* Only what gains by it gets more than one. */
static void test_size(void **state)
{
    (void)state;
    struct bd_writer_plan plan;
    struct bd_writer_options large = film;
    bd_libav_init();
    assert_int_equal(bd_writer_plan_make(&plan, "mask.mkv", &film), BD_OK);
    assert_int_equal(bd_encoder_team_size(&plan, &film), 1);
    large.width = 1920;
    large.height = 1080;
    assert_in_range(bd_encoder_team_size(&plan, &large), 1, 6);
    assert_int_equal(bd_writer_plan_make(&plan, "mask%d.png", &large), BD_OK);
    assert_int_equal(bd_encoder_team_size(&plan, &large), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_packets),
        cmocka_unit_test(test_given_up),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
