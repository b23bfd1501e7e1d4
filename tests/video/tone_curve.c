/* The tone curve of deep gray films: what gets one, what it does to levels, and when it changes. */
#include <math.h>

#include "tests/support/random.h"
#include "tests/video/reader_fixture.h"
#include "video/input/tone_curve.h"

enum { width = 64, height = 48, pixels = width * height, frames = 12 };

static uint16_t film[frames + 2 * bd_tone_curve_patience][pixels];

/* A slope of 300 levels around `base` with noise of 3, the same in all frames. */
static void draw(int base, int count)
{
    uint64_t seed = 5;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            double sum = -6;
            for (int i = 0; i < 12; i++)
                sum += uniform(&seed);
            film[0][y * width + x] =
                (uint16_t)(base - 150 + 300 * x / (width - 1) + lround(3 * sum));
        }
    for (int t = 1; t < count; t++)
        memcpy(film[t], film[0], sizeof film[0]);
}

static struct bd_reader_options raw_options(const char *format, bool tone_curve)
{
    static struct bd_key_value how[3];
    how[0] = (struct bd_key_value){ "pixel_format", format };
    how[1] = (struct bd_key_value){ "video_size", "64x48" };
    how[2] = (struct bd_key_value){ "framerate", "25" };
    return (struct bd_reader_options){ .format = BD_GRAY8,
                                       .input_format = "rawvideo",
                                       .input_options = how,
                                       .input_option_count = 3,
                                       .tone_curve = tone_curve };
}

static void write_raw(const void *data, size_t bytes)
{
    FILE *file = fopen(in_scratch("film.raw"), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* The frames of the film, as gray16le. */
static struct clip read_film(int count)
{
    write_raw(film, (size_t)count * sizeof film[0]);
    return read_input(in_scratch("film.raw"), raw_options("gray16le", true));
}

static bool has_curve(const char *input, struct bd_reader_options options)
{
    struct bd_reader *reader = open_input(input, options);
    bool used = bd_reader_get_info(reader)->tone_curve;
    bd_reader_close(&reader);
    return used;
}

/* The same bytes with the option and without. */
static void check_plain(const char *format, const void *data, size_t bytes)
{
    write_raw(data, bytes);
    assert_false(has_curve(in_scratch("film.raw"), raw_options(format, true)));
    struct clip with = read_input(in_scratch("film.raw"), raw_options(format, true));
    struct clip without = read_input(in_scratch("film.raw"), raw_options(format, false));
    assert_int_equal(with.count, without.count);
    assert_true(with.count > 0);
    assert_memory_equal(with.data, without.data, (size_t)with.count * pixels);
    free_clip(&with);
    free_clip(&without);
}

static void other_films_stay_as_they_are(void **state)
{
    (void)state;
    draw(29000, 6);
    check_plain("gray", film, 6 * sizeof film[0]);
    check_plain("yuv420p", film, 6 * sizeof film[0]);
    check_plain("yuv420p10le", film, 6 * sizeof film[0]);
    check_plain("rgb48le", film, 6 * sizeof film[0]);
    draw(500, 2); /* a third of 10 bits */
    check_plain("gray10le", film, 2 * sizeof film[0]);
    for (int i = 0; i < pixels; i++)
        film[0][i] = (uint16_t)(i * 21); /* all levels */
    check_plain("gray16le", film, sizeof film[0]);
    struct bd_reader_options tiny = raw_options("gray16le", true);
    struct bd_key_value how[] = { { "pixel_format", "gray16le" }, { "video_size", "2x2" } };
    tiny.input_options = how;
    tiny.input_option_count = 2;
    assert_false(has_curve(in_scratch("film.raw"), tiny));
    assert_false(has_curve("synth:easy", (struct bd_reader_options){ .tone_curve = true }));
}

static void the_curve_increases_everywhere(void **state)
{
    (void)state;
    draw(29000, 2);
    for (int x = 0; x < width; x++)
        film[1][7 * width + x] = (uint16_t)(1040 * x);
    film[1][8 * width + 0] = 29150 + 200;
    film[1][8 * width + 1] = 29150 + 4000;
    film[1][8 * width + 2] = 29150 + 12000;
    film[1][9 * width + 0] = 0;
    film[1][9 * width + 1] = 65535;
    struct clip clip = read_film(2);
    const uint8_t *first = clip_frame(&clip, 0), *second = clip_frame(&clip, 1);
    int cold = first[20 * width], warm = first[20 * width + width - 1];
    assert_in_range(warm - cold, 85, 115); /* a byte for the noise: 100 */
    for (int x = 1; x < width; x++)
        assert_true(second[7 * width + x] >= second[7 * width + x - 1]);
    assert_true(second[8 * width] > warm + 15);
    assert_true(second[8 * width + 1] > second[8 * width]);
    assert_true(second[8 * width + 2] > second[8 * width + 1]);
    assert_in_range(second[9 * width], 0, 5);
    assert_in_range(second[9 * width + 1], 250, 255);
    free_clip(&clip);
}

static void a_common_offset_is_taken_out(void **state)
{
    (void)state;
    draw(29000, 3);
    for (int i = 0; i < pixels; i++) {
        film[1][i] = (uint16_t)(film[1][i] + 700);
        film[2][i] = (uint16_t)(film[2][i] - 333 + (i % 5 < 2 ? 90 : 0)); /* and things */
    }
    struct clip clip = read_film(3);
    assert_memory_equal(clip_frame(&clip, 1), clip_frame(&clip, 0), pixels);
    for (int i = 0; i < pixels; i++)
        if (i % 5 < 2)
            assert_true(clip_frame(&clip, 2)[i] > clip_frame(&clip, 0)[i] + 20);
        else /* the median moves by half the noise */
            assert_in_range(clip_frame(&clip, 2)[i] + 1 - clip_frame(&clip, 0)[i], 0, 2);
    free_clip(&clip);
}

/* A look-ahead reads a film in parts: their bytes are those of the film. */
static void a_later_start_gives_the_same_bytes(void **state)
{
    (void)state;
    draw(29000, frames);
    for (int t = 1; t < frames; t++)
        for (int i = 0; i < pixels; i++)
            film[t][i] = (uint16_t)(film[t][i] + 40 * t + (i / width == t ? 100 : 0));
    struct clip whole = read_film(frames);
    struct bd_reader_options options = raw_options("gray16le", true);
    options.start = 5 / 25.0;
    options.format = BD_RGB24;
    struct clip part = read_input(in_scratch("film.raw"), options);
    assert_int_equal(part.count, frames - 5);
    for (int t = 0; t < part.count; t++)
        for (int i = 0; i < 3 * pixels; i++)
            assert_int_equal(clip_frame(&part, t)[i], clip_frame(&whole, t + 5)[i / 3]);
    free_clip(&whole);
    free_clip(&part);
}

static void formats_and_codecs_give_the_same_bytes(void **state)
{
    (void)state;
    static uint8_t other[frames][pixels][4];
    need_ffmpeg();
    draw(29000, frames);
    struct clip want = read_film(frames);
    for (int t = 0; t < frames; t++)
        for (int i = 0; i < pixels; i++) {
            other[t][i][0] = (uint8_t)(film[t][i] & 255);
            other[t][i][1] = (uint8_t)(film[t][i] >> 8);
            other[t][i][2] = other[t][i][3] = (uint8_t)i; /* alpha */
        }
    write_raw(other, sizeof other);
    struct clip got = read_input(in_scratch("film.raw"), raw_options("ya16le", true));
    assert_memory_equal(got.data, want.data, (size_t)frames * pixels);
    free_clip(&got);
    write_raw(film, frames * sizeof film[0]);
    static const char *const names[] = { "f.mkv", "f%02d.png", "f%02d.tiff", "f.nut" };
    static const char *const codecs[] = { "ffv1", "png", "tiff -pix_fmt gray16le", "rawvideo" };
    for (int i = 0; i < 4; i++) {
        assert_int_equal(shell(FFMPEG "-f rawvideo -pixel_format gray16le -video_size 64x48 "
                                      "-framerate 25 -i film.raw -c:v %s %s",
                               codecs[i], names[i]),
                         0);
        got = read_input(in_scratch(names[i]),
                         (struct bd_reader_options){ .format = BD_GRAY8, .tone_curve = true });
        assert_int_equal(got.count, frames);
        assert_memory_equal(got.data, want.data, (size_t)frames * pixels);
        free_clip(&got);
    }
    free_clip(&want);
}

/* Another scene fills the picture from the third frame on. The curve waits, then follows, once. */
static void a_new_range_is_followed(void **state)
{
    (void)state;
    enum { change = 2, count = change + bd_tone_curve_patience + 20 };
    draw(29000, count);
    for (int t = change; t < count; t++)
        for (int i = 0; i < pixels; i++)
            film[t][i] = (uint16_t)(20000 + 4 * (film[0][i] - 29000) + 3000 * (i / width % 3));
    struct clip clip = read_film(count);
    int anew = change + bd_tone_curve_patience - 1; /* the frame that is the last straw */
    assert_memory_equal(clip_frame(&clip, change), clip_frame(&clip, anew - 1), pixels);
    assert_memory_not_equal(clip_frame(&clip, anew), clip_frame(&clip, anew - 1), pixels);
    assert_memory_equal(clip_frame(&clip, anew), clip_frame(&clip, count - 1), pixels);
    /* A row of each third spans more now. */
    for (int y = 0; y < 3; y++) {
        const uint8_t *after = clip_frame(&clip, anew) + y * width;
        assert_in_range(after[width - 1] - after[0], 35, 255);
    }
    free_clip(&clip);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_films_stay_as_they_are),
        cmocka_unit_test(the_curve_increases_everywhere),
        cmocka_unit_test(a_common_offset_is_taken_out),
        cmocka_unit_test(a_later_start_gives_the_same_bytes),
        cmocka_unit_test(formats_and_codecs_give_the_same_bytes),
        cmocka_unit_test(a_new_range_is_followed),
    };
    return cmocka_run_group_tests(tests, create_scratch, remove_scratch);
}
