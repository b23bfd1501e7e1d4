/* Our FFV1 (video/ffv1.h), read back by libavcodec's decoder with checksums. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tests/scratch.h"
#include "video/ffv1.h"
#include "video/reader.h"
#include "video/writer.h"

/* A linear congruential generator: the same pictures everywhere. */
static unsigned state_of_noise;

static int noise(int below)
{
    state_of_noise = state_of_noise * 1664525U + 1013904223U;
    return (int)((state_of_noise >> 8) % (unsigned)below);
}

enum { FLAT, WHITE, SPECKS, NOISY_MASK, NOISE, GRADIENT, RECTANGLES, KINDS };

static uint8_t value_of(int kind, int x, int y)
{
    switch (kind) {
    case WHITE:
        return 255;
    case SPECKS:
        return noise(50) ? 0 : 255;
    case NOISY_MASK:
        return noise(2) ? 0 : 255;
    case NOISE:
        return (uint8_t)noise(256);
    case GRADIENT:
        return (uint8_t)(3 * x + y);
    default:
        return 0;
    }
}

static void draw(struct bd_frame *frame, int kind)
{
    for (int y = 0; y < frame->height; y++)
        for (int x = 0; x < frame->width; x++)
            frame->data[y * frame->stride + x] = value_of(kind, x, y);
    for (int i = 0; i < 6 && kind == RECTANGLES; i++) {
        int x0 = noise(frame->width), y0 = noise(frame->height);
        int x1 = x0 + 1 + noise(frame->width / 3 + 1), y1 = y0 + 1 + noise(frame->height / 3 + 1);
        for (int y = y0; y < y1 && y < frame->height; y++)
            for (int x = x0; x < x1 && x < frame->width; x++)
                frame->data[y * frame->stride + x] = i % 3 ? 255 : 0;
    }
}

/* The frames of a film come back as they were, whatever is in them. */
static void check_film(const char *path, int width, int height, int frames)
{
    struct bd_writer_options options = { .width = width,
                                         .height = height,
                                         .format = BD_GRAY8,
                                         .time_base = { 1, 25 },
                                         .frame_rate = { 25, 1 },
                                         .pixel_aspect = { 1, 1 },
                                         .lossless = true,
                                         .overwrite = true };
    const struct bd_key_value strict = { "err_detect", "crccheck+explode" };
    struct bd_reader_options reading = { .format = BD_GRAY8,
                                         .input_options = &strict,
                                         .input_option_count = 1 };
    struct bd_frame written = { 0 }, read = { 0 };
    struct bd_writer *writer;
    struct bd_reader *reader;
    unsigned seed = state_of_noise;
    assert_int_equal(bd_frame_create(&written, width, height, BD_GRAY8), BD_OK);
    assert_int_equal(bd_writer_open(&writer, path, &options), BD_OK);
    for (written.pts = 0; written.pts < frames; written.pts++) {
        draw(&written, (int)written.pts % KINDS);
        assert_int_equal(bd_writer_write(writer, &written), BD_OK);
    }
    assert_int_equal(bd_writer_close(&writer), BD_OK);
    state_of_noise = seed;
    assert_int_equal(bd_reader_open(&reader, path, &reading), BD_OK);
    assert_string_equal(bd_reader_get_info(reader)->codec, "ffv1");
    for (int i = 0; i < frames; i++) {
        assert_int_equal(bd_reader_read(reader, &read), BD_OK);
        assert_int_equal(read.width, width);
        assert_int_equal(read.height, height);
        draw(&written, i % KINDS);
        for (int y = 0; y < height; y++)
            if (memcmp(read.data + y * read.stride, written.data + y * written.stride,
                       (size_t)width) != 0)
                fail_msg("%d x %d, picture %d, row %d", width, height, i, y);
    }
    assert_int_equal(bd_reader_read(reader, &read), BD_END);
    assert_int_equal(bd_reader_damaged(reader), 0);
    bd_reader_close(&reader);
    bd_frame_destroy(&read);
    bd_frame_destroy(&written);
}

static void all_pictures_come_back(void **state)
{
    static const int sizes[][2] = { { 1, 1 },   { 1, 9 },   { 9, 1 },    { 2, 2 },   { 7, 5 },
                                    { 8, 8 },   { 15, 16 }, { 17, 31 },  { 64, 48 }, { 101, 67 },
                                    { 320, 1 }, { 3, 333 }, { 641, 479 } };
    (void)state;
    state_of_noise = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_film(in_scratch("film.mkv"), sizes[i][0], sizes[i][1], 2 * KINDS);
    check_film(in_scratch("film.avi"), 320, 240, KINDS);
    check_film(in_scratch("film.nut"), 320, 240, KINDS);
}

/* A mask without objects takes no more than its headers and a bit for each long run. */
static void flat_pictures_are_small(void **state)
{
    (void)state;
    struct bd_ffv1 *ffv1;
    struct bd_frame frame = { 0 };
    size_t record, size;
    assert_int_equal(bd_frame_create(&frame, 1920, 1080, BD_GRAY8), BD_OK);
    assert_int_equal(bd_ffv1_create(&ffv1, 1920, 1080, (struct bd_rational){ 1, 1 }), BD_OK);
    assert_non_null(bd_ffv1_record(ffv1, &record));
    assert_in_range(record, 10, 100);
    for (int i = 0; i < 2; i++) {
        assert_non_null(bd_ffv1_encode(ffv1, &frame, &size));
        assert_in_range(size, 10, 1000);
        draw(&frame, WHITE);
    }
    bd_ffv1_destroy(&ffv1);
    assert_null(ffv1);
    bd_ffv1_destroy(&ffv1);
    bd_frame_destroy(&frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pictures_come_back),
        cmocka_unit_test(flat_pictures_are_small),
    };
    return cmocka_run_group_tests(tests, create_scratch, remove_scratch);
}
