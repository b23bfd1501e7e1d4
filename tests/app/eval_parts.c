/* The parts of `backdrop eval`: names of numbered pictures, rendered scenes as sequences, masks of
 * others, the worst frames and how they are drawn, lettering. */
#include "app/eval/compare.h"
#include "app/eval/numbered.h"
#include "app/eval/sheet.h"
#include "app/eval/worst.h"
#include "app/stroke_text.h"
#include "tests/app/cli_fixture.h"
#include "tests/app/eval_fixture.h"

static void touch(const char *folder, const char *name)
{
    write_text(folder, name, "");
}

static void the_kind_with_most_pictures_counts(void **state)
{
    struct bd_numbered numbered;
    char sub[256], path[PATH_MAX], expected[512];
    const char *folder = *state;
    assert_int_equal(bd_numbered_find(&numbered, "/nonexistent"), BD_ERROR_IO);
    assert_int_equal(bd_numbered_find(&numbered, folder), BD_ERROR_FORMAT);
    snprintf(sub, sizeof sub, "%s/100%%d", folder); /* a folder named like a pattern */
    assert_int_equal(mkdir(sub, 0777), 0);
    static const char *const others[] = {
        ".in000000.png", "in.png",       "readme1.txt", "Thumbs.db",
        "in000001.jpg",  "gt000007.png", "7",           "0in.png"
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        touch(sub, others[i]);
    assert_int_equal(bd_numbered_find(&numbered, folder), BD_ERROR_FORMAT);
    for (int i = 98; i <= 102; i++) {
        char name[32];
        snprintf(name, sizeof name, "in%d.PNG", i);
        touch(sub, name);
    }
    assert_int_equal(bd_numbered_find(&numbered, sub), BD_OK);
    assert_int_equal(numbered.first, 98);
    assert_int_equal(numbered.last, 102);
    assert_int_equal(numbered.count, 5);
    snprintf(expected, sizeof expected, "%s/100%%%%d/in%%02d.PNG", folder);
    assert_string_equal(numbered.pattern, expected);
    for (int i = 98; i <= 102; i++) {
        bd_numbered_path(&numbered, i, path);
        assert_int_equal(access(path, F_OK), 0);
    }
    assert_int_equal(bd_numbered_gap(&numbered), 103);
    bd_numbered_path(&numbered, 100, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(bd_numbered_find(&numbered, sub), BD_OK);
    assert_int_equal(numbered.count, 4);
    assert_int_equal(bd_numbered_gap(&numbered), 100);
}

static void a_gap_in_the_inputs_is_named(void **state)
{
    struct bd_sequence sequence;
    char path[512];
    const char *folder = *state;
    write_sequence(folder, 1);
    snprintf(path, sizeof path, "%s/input/in000033.png", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(bd_sequence_open(&sequence, folder), BD_ERROR_FORMAT);
    assert_non_null(strstr(bd_error_detail(), "input/in000033.png is missing"));
}

static void names_are_the_last_parts_of_the_path(void **state)
{
    char name[NAME_MAX + 1], sub[512];
    const char *folder = *state;
    snprintf(sub, sizeof sub, "%s/baseline", folder);
    assert_int_equal(mkdir(sub, 0777), 0);
    snprintf(sub, sizeof sub, "%s/baseline/highway", folder);
    assert_int_equal(mkdir(sub, 0777), 0);
    bd_sequence_name(sub, 1, name);
    assert_string_equal(name, "highway");
    snprintf(sub, sizeof sub, "%s/baseline/highway/../highway/.//", folder);
    bd_sequence_name(sub, 2, name);
    assert_string_equal(name, "baseline/highway");
    bd_sequence_name("/", 1, name);
    assert_string_equal(name, "/");
    bd_sequence_name("synth:easy", 2, name);
    assert_string_equal(name, "synth:easy");
}

/* The truth is that of the pictures that a reader of the same name gives. */
static void scenes_are_sequences(void **state)
{
    (void)state;
    struct bd_sequence sequence;
    struct bd_frame truth = { 0 }, expected = { 0 };
    const struct bd_synth_scene *scene = bd_synth_find("shadows");
    assert_int_equal(
        bd_sequence_open(&sequence, "synth:shadows?seed=9&frames=70&size=64x48&seed=3"), BD_OK);
    assert_int_equal(sequence.input.first, 1);
    assert_int_equal(sequence.input.count, 70);
    assert_false(bd_sequence_counts(&sequence, 0));
    assert_false(bd_sequence_counts(&sequence, 71));
    assert_int_equal(bd_sequence_truth(&sequence, 71, &truth), BD_END);
    int64_t moving = 0;
    for (int number = 1; number <= 70; number += 23) {
        assert_int_equal(bd_sequence_truth(&sequence, number, &truth), BD_OK);
        assert_int_equal(bd_synth_render(scene, 64, 48, 3, number - 1, NULL, &expected), BD_OK);
        for (int y = 0; y < 48; y++) {
            assert_memory_equal(truth.data + y * truth.stride, expected.data + y * expected.stride,
                                64);
            for (int x = 0; x < 64; x++)
                moving += truth.data[y * truth.stride + x] == BD_TRUTH_MOVING;
        }
    }
    assert_true(moving > 0);
    bd_frame_destroy(&truth);
    bd_frame_destroy(&expected);
    bd_sequence_close(&sequence);
    assert_int_equal(bd_sequence_length("synth:street"), 300);
    assert_int_equal(bd_sequence_length("synth:nosuch"), 0);
    assert_int_equal(bd_sequence_open(&sequence, "synth:nosuch"), BD_ERROR_IO);
    assert_int_equal(bd_sequence_open(&sequence, "synth:easy?side=3"), BD_ERROR_ARGUMENT);
}

/* A frame of `width` x 4 in which the first pixels move and the last are outside. */
static void make_frame(struct bd_frame *frame, int columns, uint8_t value)
{
    assert_int_equal(bd_frame_ensure(frame, columns, 4, BD_GRAY8), BD_OK);
    memset(frame->data, value, (size_t)frame->stride * 4);
}

static void shadow_in_a_mask_is_not_foreground(void **state)
{
    (void)state;
    struct bd_sequence sequence = { .folder = "memory" };
    struct bd_score score = { 0 };
    struct bd_frame mask = { 0 }, truth = { 0 };
    make_frame(&mask, 2, 127); /* MOG2's shadow */
    make_frame(&truth, 2, BD_TRUTH_MOVING);
    assert_int_equal(bd_score_add(&score, &sequence, &mask, &truth), BD_OK);
    assert_int_equal(score.fn, 8);
    make_frame(&mask, 2, 128);
    assert_int_equal(bd_score_add(&score, &sequence, &mask, &truth), BD_OK);
    assert_int_equal(score.tp, 8);
    bd_frame_destroy(&mask);
    bd_frame_destroy(&truth);
}

static void assert_color(const struct bd_frame *picture, int x, struct bd_stroke_color color)
{
    const uint8_t *pixel = picture->data + picture->stride + (int64_t)3 * x;
    assert_int_equal(pixel[0], color.red);
    assert_int_equal(pixel[1], color.green);
    assert_int_equal(pixel[2], color.blue);
}

/* All combinations of truth, mask and region of interest, a pixel column each. */
static void colors_tell_what_is_wrong(void **state)
{
    (void)state;
    static const uint8_t codes[] = { 255, 255, 0, 0, 50, 50, 85, 170, 255, 0 };
    enum { count = sizeof codes };
    const struct bd_stroke_color expected[count] = {
        bd_worst_missed, bd_worst_found,    bd_worst_nothing,  bd_worst_wrong,    bd_worst_nothing,
        bd_worst_wrong,  bd_worst_unscored, bd_worst_unscored, bd_worst_unscored, bd_worst_unscored
    };
    struct bd_frame truth = { 0 }, mask = { 0 }, roi = { 0 }, input = { 0 };
    make_frame(&truth, bd_worst_side, 0);
    make_frame(&mask, bd_worst_side, 0);
    make_frame(&roi, bd_worst_side, 255);
    make_frame(&input, bd_worst_side, 99);
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < count; x++) {
            truth.data[y * truth.stride + x] = codes[x];
            mask.data[y * mask.stride + x] = x % 2 ? 255 : 0;
            roi.data[y * roi.stride + x] = x >= 8 ? 0 : 255;
        }
    struct bd_worst *worst;
    struct bd_worst_offer offer = { .number = 5,
                                    .input = &input,
                                    .truth = &truth,
                                    .roi = &roi,
                                    .masks = { &mask, NULL, &truth },
                                    .scores = { { .fp = 1 } } };
    assert_int_equal(bd_worst_create(&worst, 1, 5, 5), BD_OK);
    assert_int_equal(bd_worst_offer(worst, &offer), BD_OK);
    bd_worst_finish(worst);
    assert_int_equal(bd_worst_count(worst), 1);
    const struct bd_worst_frame *frame = bd_worst_get(worst, 0);
    assert_int_equal(frame->pictures[BD_WORST_MASK].width, bd_worst_side);
    for (int x = 0; x < count; x++) {
        uint8_t shown = x >= 8 ? BD_TRUTH_OUTSIDE : codes[x];
        assert_color(&frame->pictures[BD_WORST_MASK], x, expected[x]);
        assert_color(&frame->pictures[BD_WORST_TRUTH], x,
                     (struct bd_stroke_color){ shown, shown, shown });
    }
    assert_color(&frame->pictures[BD_WORST_INPUT], 0, (struct bd_stroke_color){ 99, 99, 99 });
    assert_null(frame->pictures[BD_WORST_BACKGROUND].data);
    assert_null(frame->pictures[BD_WORST_PEERS].data);
    assert_non_null(frame->pictures[BD_WORST_PEERS + 1].data);
    bd_worst_destroy(&worst);
    bd_frame_destroy(&truth);
    bd_frame_destroy(&mask);
    bd_frame_destroy(&roi);
    bd_frame_destroy(&input);
}

/* Wrong pixels of frame `number` of 1..1200: two hills, one twice as high. */
static int wrong_in(int number)
{
    int first = 200 - abs(number - 300), second = 400 - 2 * abs(number - 905);
    int more = first > second ? first : second;
    return more > 0 ? more : 0;
}

static void the_worst_are_found_and_differ(void **state)
{
    (void)state;
    enum { rows = 4, numbers = 1200 };
    struct bd_frame picture = { 0 }, empty = { 0 };
    struct bd_worst *worst;
    make_frame(&picture, 8, 0);
    assert_int_equal(bd_worst_create(&worst, rows, 1, numbers), BD_OK);
    for (int number = 0; number <= numbers + 1; number++) { /* two are outside */
        struct bd_worst_offer offer = { .number = number,
                                        .input = &picture,
                                        .truth = &picture,
                                        .roi = &empty,
                                        .masks = { &picture },
                                        .scores = {
                                            { .fp = wrong_in(number) / 2,
                                              .fn = wrong_in(number) - wrong_in(number) / 2 } } };
        assert_int_equal(bd_worst_offer(worst, &offer), BD_OK);
    }
    bd_worst_finish(worst);
    assert_int_equal(bd_worst_count(worst), rows);
    assert_int_equal(bd_worst_get(worst, 0)->number, 905);
    for (int i = 0; i < rows; i++) {
        const struct bd_worst_frame *frame = bd_worst_get(worst, i);
        assert_int_equal(frame->scores[0].fp + frame->scores[0].fn, wrong_in((int)frame->number));
        for (int j = 0; j < i; j++) {
            const struct bd_worst_frame *before = bd_worst_get(worst, j);
            assert_true(wrong_in((int)before->number) >= wrong_in((int)frame->number));
            assert_true(labs((long)(before->number - frame->number)) >= numbers / (4 * rows) / 2);
        }
    }
    bd_worst_destroy(&worst);
    assert_null(worst);

    assert_int_equal(bd_worst_create(&worst, rows, 1, 3), BD_OK); /* fewer frames than rows */
    struct bd_worst_offer perfect = {
        .number = 2, .input = &picture, .truth = &picture, .roi = &empty, .masks = { &picture }
    };
    assert_int_equal(bd_worst_offer(worst, &perfect), BD_OK);
    bd_worst_finish(worst);
    assert_int_equal(bd_worst_count(worst), 0);
    bd_worst_destroy(&worst);
    bd_frame_destroy(&picture);
}

static int64_t ink(const struct bd_frame *picture)
{
    int64_t sum = 0;
    for (int y = 0; y < picture->height; y++)
        for (int x = 0; x < 3 * picture->width; x++)
            sum += picture->data[y * picture->stride + x];
    return sum;
}

/* Each character has a shape of its own, inside of its width, at any size; what does
 * not fit into the picture is left out. */
static void every_character_is_drawn(void **state)
{
    (void)state;
    const struct bd_stroke_color white = { 255, 255, 255 };
    struct bd_frame picture = { 0 }, other = { 0 };
    assert_int_equal(bd_frame_create(&picture, 60, 60, BD_RGB24), BD_OK);
    assert_int_equal(bd_frame_create(&other, 60, 60, BD_RGB24), BD_OK);
    for (int c = ' '; c <= '~'; c++) {
        char text[2] = { (char)c, 0 };
        memset(picture.data, 0, (size_t)picture.stride * 60);
        bd_stroke_text_draw(&picture, 10, 10, 24, white, text);
        assert_int_equal(ink(&picture) > 0, c != ' ');
        double right = 10 + bd_stroke_text_width(24, text) + 3;
        assert_true(right > 12 && right < 60);
        for (int y = 0; y < 60; y++)
            for (int x = 0; x < 60; x++)
                if (x < 7 || x > right || y < 7 || y > 10 + 24 * 4 / 3 + 3)
                    assert_int_equal(picture.data[y * picture.stride + 3 * x], 0);
        for (int d = ' '; d < c; d++) {
            char before[2] = { (char)d, 0 };
            memset(other.data, 0, (size_t)other.stride * 60);
            bd_stroke_text_draw(&other, 10, 10, 24, white, before);
            assert_memory_not_equal(picture.data, other.data, (size_t)picture.stride * 60);
        }
    }
    assert_true(bd_stroke_text_width(20, "F 0.962") == 2 * bd_stroke_text_width(10, "F 0.962"));
    assert_true(bd_stroke_text_width(20, "") == 0);
    /* digits have one width, so that numbers align */
    assert_true(bd_stroke_text_width(20, "111") == bd_stroke_text_width(20, "808"));
    /* a letter of two bytes is one box */
    assert_true(bd_stroke_text_width(20, "\xc3\xa9") == bd_stroke_text_width(20, "\xe2\x82\xac"));
    bd_stroke_text_draw(&picture, -30, -5, 24, white, "outside on all sides, \xff and wide");
    bd_stroke_text_draw(&picture, 50, 55, 500, white, "W");
    bd_stroke_text_draw(&picture, 1e6, 1e6, 10, white, "far");
    bd_frame_destroy(&picture);
    bd_frame_destroy(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(the_kind_with_most_pictures_counts),
        CLI_TEST(a_gap_in_the_inputs_is_named),
        CLI_TEST(names_are_the_last_parts_of_the_path),
        cmocka_unit_test(scenes_are_sequences),
        cmocka_unit_test(shadow_in_a_mask_is_not_foreground),
        cmocka_unit_test(colors_tell_what_is_wrong),
        cmocka_unit_test(the_worst_are_found_and_differ),
        cmocka_unit_test(every_character_is_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
