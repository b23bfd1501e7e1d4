/* Summaries of a film: what is counted, which frames are kept, and the files that export writes. */
#include "tests/app/cli_fixture.h"

#include <math.h>

#include "app/activity/activity.h"
#include "app/export/output.h"
#include "app/summary/frame_times.h"
#include "app/summary/heat.h"
#include "app/summary/heat_numbers.h"
#include "app/summary/heat_picture.h"
#include "app/summary/pace.h"
#include "tests/support/random.h"
#include "video/input/reader.h"
#include "video/output/writer.h"

static void near(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance))
        print_error("%.9g, not %.9g\n", value, wanted);
    assert_true(fabs(value - wanted) <= tolerance);
}

static void a_frame_lasts_until_the_next_one(void **state)
{
    (void)state;
    static const struct {
        int64_t pts;
        double seconds;
    } rows[] = {
        { 1000, 0 },                                 /* the first */
        { 1040, .04 }, { 1100, .06 },   { 6100, 5 }, /* no gap yet */
        { 11101, .1 },                               /* a gap of more than 5 s */
        { 11000, .1 },                               /* time goes back */
        { 11000, .1 }, { 11001, .001 },
    };
    struct bd_reader_info info = { .time_base = { 1, 1000 }, .frame_rate = { 10, 1 } };
    struct bd_frame_times times;
    bd_frame_times_begin(&times, &info);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        near(bd_frame_times_next(&times, rows[i].pts), rows[i].seconds, 1e-12);
    /* A picture a minute is no film with gaps. */
    info.frame_rate = (struct bd_rational){ 1, 60 };
    bd_frame_times_begin(&times, &info);
    near(bd_frame_times_next(&times, 0), 0, 0);
    near(bd_frame_times_next(&times, 119000), 119, 1e-9);
    near(bd_frame_times_next(&times, 119000 + 121000), 60, 1e-9);
    info.frame_rate = (struct bd_rational){ 0, 1 };
    bd_frame_times_begin(&times, &info);
    near(times.usual, .04, 1e-12);
    info.frame_rate = (struct bd_rational){ 1, INT32_MAX }; /* a damaged header */
    bd_frame_times_begin(&times, &info);
    near(times.usual, 86400, 0);
}

enum { width = 37, height = 11 };

/* Masks of uneven times and of rows that are empty, partly set and full. */
static void the_heat_is_the_time_of_foreground(void **state)
{
    (void)state;
    static double wanted[height][width];
    static uint8_t pixels[height * (width + 3)];
    const struct bd_frame mask = {
        .width = width, .height = height, .format = BD_GRAY8, .stride = width + 3, .data = pixels
    };
    struct bd_heat *heat = NULL;
    float row[width];
    uint64_t seed = 5;
    memset(wanted, 0, sizeof wanted);
    assert_int_equal(bd_heat_create(&heat, width, height), BD_OK);
    for (int i = 0; i < 300; i++) {
        double shown = 0.001 * (1 + i % 7) + 1e-5 * i;
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                bool set = y % 3 && (y == 4 || uniform(&seed) < 0.3);
                pixels[y * mask.stride + x] = set ? 255 : 0;
                wanted[y][x] += set ? shown : 0;
            }
        bd_heat_add(heat, &mask, i ? 0.001 * (1 + (i - 1) % 7) + 1e-5 * (i - 1) : 99);
        if (i == 299)
            bd_heat_end(heat, shown);
    }
    for (int y = 0; y < height; y++) {
        bd_heat_row(row, heat, y);
        for (int x = 0; x < width; x++)
            near(row[x], wanted[y][x], 0.006); /* 300 times, rounded to 0.1 ms without a bias */
        assert_true(y % 3 || row[0] == 0);
    }
    bd_heat_row(row, heat, 4);
    near(row[0], wanted[4][0], 1e-4);
    bd_heat_destroy(&heat);
    assert_null(heat);
}

/* Sums that a float cannot hold to the frame, and a pixel that is full. */
static void long_times_stay_exact(void **state)
{
    (void)state;
    uint8_t pixel = 255;
    const struct bd_frame mask = {
        .width = 1, .height = 1, .format = BD_GRAY8, .stride = 1, .data = &pixel
    };
    struct bd_heat *heat = NULL;
    float seconds;
    assert_int_equal(bd_heat_create(&heat, 1, 1), BD_OK);
    for (int i = 0; i < 3000000; i++)
        bd_heat_add(heat, &mask, 1 / 30.0);
    bd_heat_row(&seconds, heat, 0);
    near(seconds, 2999999 / 30.0, .01);
    for (int i = 0; i < 100; i++)
        bd_heat_add(heat, &mask, 5000);
    bd_heat_row(&seconds, heat, 0);
    near(seconds, 429496.7295, .05);
    bd_heat_destroy(&heat);
}

static void numbers_are_a_file_of_numpy(void **state)
{
    (void)state;
    static uint8_t pixels[2 * 3] = { 0, 255, 0, 255, 0, 0 };
    const struct bd_frame mask = {
        .width = 3, .height = 2, .format = BD_GRAY8, .stride = 3, .data = pixels
    };
    static const float wanted[] = { 0, .25f, 0, .25f, 0, 0 };
    struct bd_heat *heat = NULL;
    char *data;
    size_t size;
    assert_int_equal(bd_heat_create(&heat, 3, 2), BD_OK);
    bd_heat_add(heat, &mask, 0);
    bd_heat_end(heat, .25);
    assert_int_equal(bd_heat_numbers_make(&data, &size, heat, 3, 2), BD_OK);
    assert_int_equal(size, 128 + sizeof wanted);
    assert_memory_equal(data, "\x93NUMPY\x01\x00\x76\x00", 10);
    assert_memory_equal(data + 10, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  ",
                        61);
    assert_int_equal(data[126], ' ');
    assert_int_equal(data[127], '\n');
    assert_memory_equal(data + 128, wanted, sizeof wanted);
    free(data);
    bd_heat_destroy(&heat);
}

/* More time is lighter; what nothing touched is the background, dimmed. */
static void colours_tell_more_from_less(void **state)
{
    (void)state;
    enum { side = 100 };
    struct bd_heat *heat = NULL;
    struct bd_frame mask = { 0 }, picture = { 0 };
    int last = 0;
    assert_int_equal(bd_frame_create(&mask, side, side, BD_GRAY8), BD_OK);
    assert_int_equal(bd_frame_create(&picture, side, side, BD_RGB24), BD_OK);
    assert_int_equal(bd_heat_create(&heat, side, side), BD_OK);
    memset(picture.data, 100, (size_t)(picture.stride * side));
    /* column x for x times 0.1 s */
    for (int i = 0; i < side; i++) {
        for (int y = 0; y < side; y++)
            for (int x = 0; x < side; x++)
                mask.data[y * mask.stride + x] = x > i ? 255 : 0;
        bd_heat_add(heat, &mask, .1);
    }
    bd_heat_end(heat, .1);
    assert_int_equal(bd_heat_picture_draw(&picture, heat), BD_OK);
    const uint8_t *row = picture.data + picture.stride * (side - 1);
    for (int c = 0; c < 3; c++)
        assert_int_equal(row[c], 50);
    for (int x = 1; x < side; x++) {
        int light = 299 * row[3 * x] + 587 * row[3 * x + 1] + 114 * row[3 * x + 2];
        assert_true(light >= last);
        last = light;
    }
    assert_true(last > 200000);
    bd_heat_destroy(&heat);
    bd_frame_destroy(&mask);
    bd_frame_destroy(&picture);
}

/* A legend lies on dark ground in the corner where least moved, or nowhere in a small picture. */
static void the_legend_hides_little(void **state)
{
    (void)state;
    static const struct {
        int width, height;
        bool legend;
    } rows[] = {
        { 320, 240, true }, { 1280, 720, true }, { 320, 200, false }, { 120, 240, false }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int right = rows[i].width - 1, low = rows[i].height - 1;
        struct bd_heat *heat = NULL;
        struct bd_frame mask = { 0 }, picture = { 0 };
        assert_int_equal(bd_frame_create(&mask, right + 1, low + 1, BD_GRAY8), BD_OK);
        assert_int_equal(bd_frame_create(&picture, right + 1, low + 1, BD_RGB24), BD_OK);
        assert_int_equal(bd_heat_create(&heat, right + 1, low + 1), BD_OK);
        memset(picture.data, 200, (size_t)(picture.stride * picture.height));
        memset(mask.data, 255, (size_t)(mask.stride * mask.height));
        mask.data[low * mask.stride + right] = 0;
        bd_heat_add(heat, &mask, 0);
        bd_heat_end(heat, 7);
        assert_int_equal(bd_heat_picture_draw(&picture, heat), BD_OK);
        const uint8_t *corner = picture.data + low * picture.stride + (int64_t)3 * right;
        for (int c = 0; c < 3; c++)
            assert_int_equal(corner[c], rows[i].legend ? 24 : 100);
        assert_true(picture.data[0] > 200 && picture.data[3 * right] > 200);
        bd_heat_destroy(&heat);
        bd_frame_destroy(&mask);
        bd_frame_destroy(&picture);
    }
}

/* Runs `count` frames through the pace; returns how many are shown. */
static int pass(struct bd_pace *pace, int count, double seconds, bool event)
{
    int shown = 0;
    for (int i = 0; i < count; i++)
        shown += bd_pace_next(pace, seconds, event);
    return shown;
}

static void still_frames_pass_fast_and_events_do_not(void **state)
{
    (void)state;
    struct bd_pace pace;
    bd_pace_begin(&pace, 30, .1);
    assert_int_equal(pass(&pace, 301, .1, false), 11); /* the first, then every 30th */
    near(pace.time, 1, 1e-9);
    assert_int_equal(pass(&pace, 17, .1, false), 0);
    assert_int_equal(pass(&pace, 50, .1, true), 50);
    near(pace.time, 6, 1e-9);
    /* uneven times within an event are kept */
    assert_true(bd_pace_next(&pace, .37, true));
    near(pace.time, 6.37, 1e-9);
    assert_true(bd_pace_next(&pace, .002, true));
    near(pace.time, 6.372, 1e-9);
    /* The speed doubles each second: the integral of 2^-t is 1.443 (1 - 1/30), until it is 30. */
    double before = pace.time;
    pass(&pace, 5000, .001 * 4.9069, false);
    double faded = pace.time - before, whole = 1.4427 * (1 - 1 / 30.0);
    near(faded, whole + (5000 * .0049069 - 4.9069) / 30, .11);
    bd_pace_begin(&pace, 1, .1);
    assert_int_equal(pass(&pace, 100, .1, false), 100);
    near(pace.time, 9.9, 1e-9);
    /* A speed that is no whole number holds on average. */
    bd_pace_begin(&pace, 2.5, .04);
    assert_int_equal(pass(&pace, 1001, .04, false), 401);
}

/* A gap does not make frames bunch. */
static void a_gap_is_one_step(void **state)
{
    (void)state;
    struct bd_pace pace;
    bd_pace_begin(&pace, 10, .1);
    pass(&pace, 1, 0, false);
    assert_true(bd_pace_next(&pace, 5, false));
    near(pace.time, .1, 1e-9);
    assert_true(bd_pace_next(&pace, .1, false));
    near(pace.time, .2, 1e-9);
    assert_int_equal(pass(&pace, 8, .1, false), 0);
    assert_int_equal(pass(&pace, 1, .1, false), 1);
}

/* The numbers of file `name`, of a picture of columns x rows; the caller frees them. */
static float *read_numbers(const char *folder, const char *name, int columns, int rows)
{
    char path[512], header[129] = "", shape[64];
    size_t count = (size_t)columns * (size_t)rows;
    float *numbers = malloc(count * sizeof *numbers);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(shape, sizeof shape, "'shape': (%d, %d)", rows, columns);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(header, 1, 128, file), 128);
    assert_memory_equal(header, "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4'", 25);
    assert_non_null(strstr(header + 10, shape));
    assert_int_equal(fread(numbers, sizeof *numbers, count, file), count);
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
    return numbers;
}

/* What the masks of film `name` say: seconds up to the last frame, and the last mask. */
static void sum_masks(const char *folder, const char *name, double *seconds, struct bd_frame *last)
{
    char path[512];
    struct bd_reader *reader = NULL;
    struct bd_frame frame = { 0 };
    struct bd_reader_options options = { .format = BD_GRAY8 };
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(bd_reader_open(&reader, path, &options), BD_OK);
    const struct bd_reader_info *info = bd_reader_get_info(reader);
    while (bd_reader_read(reader, &frame) == BD_OK) {
        double shown = (double)(frame.pts - last->pts) * (double)info->time_base.num /
                       (double)info->time_base.den;
        for (int y = 0; y < last->height; y++)
            for (int x = 0; x < last->width; x++)
                if (last->data[y * last->stride + x])
                    seconds[y * last->width + x] += shown;
        assert_int_equal(bd_frame_copy(last, &frame), BD_OK);
    }
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
}

static void export_writes_the_seconds_of_the_masks(void **state)
{
    enum { columns = 320, rows = 240 };
    static double wanted[rows * columns];
    struct bd_frame last = { 0 };
    double total = 0;
    /* Without a third of its frames the film has gaps of one and of two frames. */
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=60' --overlay o.mkv "
                                     "--overlay-codec ffv1 -q && ffmpeg -v error -i o.mkv -vf "
                                     "\"select='not(mod(n,3))+gt(mod(n,10),6)'\" -vsync vfr "
                                     "-c:v ffv1 in.mkv"),
                     0);
    assert_int_equal(cli_run(*state, "$B export in.mkv --mask m.mkv --heatmap h.npy "
                                     "--heatmap h.png -q"),
                     0);
    float *numbers = read_numbers(*state, "h.npy", columns, rows);
    memset(wanted, 0, sizeof wanted);
    sum_masks(*state, "m.mkv", wanted, &last);
    for (int i = 0; i < rows * columns; i++) {
        bool set = last.data && last.data[i / columns * last.stride + i % columns];
        near(numbers[i], wanted[i] + (set ? .06 : 0), set ? .05 : .0011);
        total += numbers[i];
    }
    assert_true(total > 100);
    free(numbers);
    bd_frame_destroy(&last);
    char path[512];
    snprintf(path, sizeof path, "%s/h.png", (char *)*state);
    assert_int_equal(bd_picture_read(path, BD_RGB24, &last), BD_OK);
    assert_int_equal(last.width, columns);
    assert_int_equal(last.height, rows);
    bd_frame_destroy(&last);
}

/* A film of three parts, each second frame of which comes late: nothing moves in 300 frames, an
 * object is there in 50, nothing moves in 300. */
enum { before = 300, during = 50, after = 300, columns = 64, rows = 48 };

static int64_t time_of(int frame)
{
    return 40 * (int64_t)frame + (frame % 2 ? 10 : 0); /* milliseconds */
}

/* Writes the time-lapse film of it to `path`. */
static void write_timelapse(const char *path, double speed)
{
    const struct bd_options options = { .timelapse = path, .timelapse_speed = speed };
    const struct bd_reader_info info = { .width = columns,
                                         .height = rows,
                                         .time_base = { 1, 1000 },
                                         .frame_rate = { 25, 1 },
                                         .pixel_aspect = { 1, 1 } };
    const struct bd_output_setup setup = { &bd_timelapse_output, &options, &info, { 0 }, NULL };
    struct bd_object object = { .id = 1, .x = 8, .y = 8, .width = 9, .height = 9, .area = 81 };
    struct bd_frame input = { 0 }, mask = { 0 };
    struct bd_result result = { .input = &input, .mask = &mask, .objects = &object };
    struct bd_activity *activity = NULL;
    void *output = NULL;
    assert_int_equal(bd_frame_create(&input, columns, rows, BD_RGB24), BD_OK);
    assert_int_equal(bd_frame_create(&mask, columns, rows, BD_GRAY8), BD_OK);
    memset(input.data, 90, (size_t)(input.stride * rows));
    memset(mask.data, 0, (size_t)(mask.stride * rows));
    assert_int_equal(bd_activity_create(&activity, &options, &info), BD_OK);
    assert_int_equal(bd_timelapse_output.open(&output, path, &setup), BD_OK);
    for (int i = 0; i < before + during + after; i++) {
        mask.index = input.index = i;
        mask.pts = input.pts = time_of(i);
        result.time = (double)time_of(i) / 1000;
        object.seen = i >= before && i < before + during;
        result.object_count = object.seen;
        assert_int_equal(bd_activity_add(activity, &result), BD_OK);
        assert_int_equal(bd_timelapse_output.write(output, &result, activity), BD_OK);
    }
    assert_int_equal(bd_activity_finish(activity), BD_OK);
    assert_int_equal(bd_timelapse_output.close(&output, activity), BD_OK);
    assert_null(output);
    bd_activity_destroy(&activity);
    bd_frame_destroy(&input);
    bd_frame_destroy(&mask);
}

/* Times of a film in milliseconds, and their number. */
static int read_times(int64_t *times, int most, const char *path)
{
    struct bd_reader *reader = NULL;
    struct bd_frame frame = { 0 };
    struct bd_reader_options options = { .format = BD_RGB24 };
    int count = 0;
    assert_int_equal(bd_reader_open(&reader, path, &options), BD_OK);
    const struct bd_reader_info *info = bd_reader_get_info(reader);
    assert_int_equal(info->width, columns);
    assert_int_equal(info->height, rows);
    while (bd_reader_read(reader, &frame) == BD_OK) {
        assert_true(count < most);
        times[count++] = llround(1000.0 * (double)frame.pts * (double)info->time_base.num /
                                 (double)info->time_base.den);
    }
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
    return count;
}

static void a_timelapse_is_slow_only_where_something_moves(void **state)
{
    enum { still = before / 20, most = before + during + after };
    char path[512];
    int64_t times[most] = { 0 };
    snprintf(path, sizeof path, "%s/t.mkv", (char *)*state);
    write_timelapse(path, 20);
    int count = read_times(times, most, path);
    /* of the first part, the first frame, and every 20th, each a usual frame later */
    for (int i = 0; i < still; i++)
        assert_int_equal(times[i], 40 * i);
    /* all frames of the second part, as far apart as they came */
    for (int i = 0; i < during; i++) {
        int64_t shown = times[still + i] - times[still + i - 1];
        assert_int_equal(shown, time_of(before + i) - time_of(before + i - 1));
    }
    /* The event goes on for 2 s more, the speed grows for log2(20) s = 4.32 s, which takes 1.37 s,
     * and the last 5.68 s take 0.28 s. */
    int64_t rest = times[count - 1] - times[still + during - 1];
    print_message("%d frames; %d ms after the object has gone\n", count, (int)rest);
    near((double)rest, 2000 + 1370 + 280, 100);
    near(count, still + during + (double)rest / 40, 2);
    write_timelapse(path, 1);
    near(read_times(times, most, path), most, 1); /* after the event a frame waits for a step */
}

/* A picture is drawn over the background; numbers alone are made of masks. */
static void numbers_need_no_background(void **state)
{
    (void)state;
    const struct bd_options options = { .heatmap = { .items = { "h.npy", "h.png" }, .count = 2 } };
    assert_int_equal(bd_output_wants(&options, &bd_heatmap_output, NULL), 0);
    assert_int_equal(bd_output_wants(&options, &bd_second_heatmap_output, NULL),
                     BD_WANT_BACKGROUND | BD_WANT_SMALL);
}

static void bad_input_is_told_in_one_line(void **state)
{
    static const struct {
        const char *command, *text;
    } rows[] = {
        { "--heatmap h.abc", "--heatmap h.abc: " },
        { "--heatmap none/h.png", "--heatmap none/h.png: " },
        { "--heatmap none/h.npy", "--heatmap none/h.npy: " },
        { "--heatmap .", "--heatmap .: " },
        { "--heatmap h.png --heatmap h.png", "--heatmap h.png: is the file of --heatmap too" },
        { "--heatmap h.png --heatmap h.npy --heatmap h.jpg",
          "--heatmap h.jpg: more than 2 of them" },
        { "--heatmap old.npy -n", "--heatmap old.npy: exists; give -y to replace it" },
        { "--timelapse t.abc", "--timelapse t.abc: " },
        { "--timelapse t.png", "--timelapse t.png: this name holds one picture" },
        { "--timelapse none/t.mp4", "--timelapse none/t.mp4: " },
        { "--timelapse-speed 5 --mask m.mkv",
          "--timelapse-speed: does nothing without --timelapse" },
        { "--timelapse t.mp4 --timelapse-speed 0.5", "--timelapse-speed 0.5: must be 1..10000" },
        { "--timelapse t.mp4 --timelapse-speed fast",
          "--timelapse-speed fast: must be a number, 1..10000" },
    };
    char command[512], text[2048];
    assert_int_equal(cli_run(*state, "touch old.npy"), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(command, sizeof command, "$B export 'synth:easy?frames=5' %s", rows[i].command);
        assert_int_equal(cli_run(*state, command), 1);
        cli_slurp(*state, "err", text, sizeof text);
        if (cli_lines(text) != 1 || !strstr(text, rows[i].text))
            print_error("%s: %s", rows[i].command, text);
        assert_int_equal(cli_lines(text), 1);
        assert_non_null(strstr(text, rows[i].text));
        assert_int_equal(cli_run(*state, "ls | grep -v -e '^out$' -e '^err$' -e '^old.npy$'"), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_lasts_until_the_next_one),
        cmocka_unit_test(the_heat_is_the_time_of_foreground),
        cmocka_unit_test(long_times_stay_exact),
        cmocka_unit_test(numbers_are_a_file_of_numpy),
        cmocka_unit_test(colours_tell_more_from_less),
        cmocka_unit_test(the_legend_hides_little),
        cmocka_unit_test(still_frames_pass_fast_and_events_do_not),
        cmocka_unit_test(a_gap_is_one_step),
        CLI_TEST(export_writes_the_seconds_of_the_masks),
        CLI_TEST(a_timelapse_is_slow_only_where_something_moves),
        cmocka_unit_test(numbers_need_no_background),
        CLI_TEST(bad_input_is_told_in_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
