/* `backdrop eval --objects`: true objects of scenes and of files, and what is printed of them. */
#include "app/eval/object_truth.h"
#include "tests/app/cli_fixture.h"
#include "tests/app/eval_fixture.h"

/* A folder with the sequence of the fixture, whose masks are exact with these options. */
#define EXACT "--median 1 --min-area 0 --max-hole 0"

static void make_folder(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0777), 0);
}

/* Opens the truth of a folder whose gt.txt is `text`. */
static enum bd_status open_text(const char *folder, const char *text, struct bd_sequence *sequence,
                                struct bd_object_truth **truth)
{
    snprintf(sequence->folder, sizeof sequence->folder, "%s", folder);
    write_text(folder, "gt/gt.txt", text);
    return bd_object_truth_open(truth, sequence);
}

static void lines_become_boxes(void **state)
{
    const char *folder = *state;
    struct bd_sequence sequence = { 0 };
    struct bd_object_truth *truth;
    const struct bd_track_box *boxes;
    int count;
    snprintf(sequence.folder, sizeof sequence.folder, "%s", folder);
    assert_int_equal(bd_object_truth_open(&truth, &sequence), BD_END);
    assert_null(truth);
    make_folder(folder, "gt");
    assert_int_equal(open_text(folder,
                               "3,7,11,21.5,4,5.25,1,1,0.8\r\n"
                               "\n"
                               "1,2,1,1,10,20\n"
                               "  3, 5, 1, 2, 3, 4, 0, 8, 1\n"
                               "9,-1,0,0,1,1,-1,-1,-1,-1",
                               &sequence, &truth),
                     BD_OK);
    assert_int_equal(bd_object_truth_get(truth, 2, &boxes, &count), BD_OK);
    assert_int_equal(count, 2);
    assert_int_equal(boxes[0].id, 5);
    assert_true(boxes[0].ignore);
    assert_int_equal(boxes[1].id, 7);
    assert_false(boxes[1].ignore);
    assert_true(boxes[1].x == 10 && boxes[1].y == 20.5);
    assert_true(boxes[1].width == 4 && boxes[1].height == 5.25);
    assert_int_equal(bd_object_truth_get(truth, 0, &boxes, &count), BD_OK);
    assert_int_equal(count, 1);
    assert_false(boxes[0].ignore);
    assert_int_equal(bd_object_truth_get(truth, 8, &boxes, &count), BD_OK);
    assert_int_equal(count, 1);
    for (int index = 1; index < 12; index += 6) {
        assert_int_equal(bd_object_truth_get(truth, index, &boxes, &count), BD_OK);
        assert_int_equal(count, 0);
    }
    bd_object_truth_close(&truth);
    assert_null(truth);
    assert_int_equal(open_text(folder, "", &sequence, &truth), BD_OK); /* nothing moves */
    assert_int_equal(bd_object_truth_get(truth, 0, &boxes, &count), BD_OK);
    assert_int_equal(count, 0);
    bd_object_truth_close(&truth);
}

static void bad_lines_are_named(void **state)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        { "1,2,3,4,5,6\n1,2,3,4,5\n", "line 2: must be frame,id,left" },
        { "frame,id,left,top,width,height\n", "line 1: must be" },
        { "1,2,3,4,5,6\n\n0,2,3,4,5,6\n", "line 3: must be" },
        { "1.5,2,3,4,5,6\n", "line 1: must be" },
        { "1,2.5,3,4,5,6\n", "line 1: must be" },
        { "1,2,3,4,nan,6\n", "line 1: must be" },
        { "1,2,3,4,5,1e300\n", "line 1: must be" },
        { "1,2,3,4,5,6x\n", "line 1: must be" },
        { "1,2,3,4,5,6,1,person\n", "line 1: must be" },
        { "1,2,3,4,0,6\n", "line 1: width and height must be above 0" },
        { "1,2,3,4,5,-6\n", "line 1: width and height must be above 0" },
        { "4,2,3,4,5,6\n1,2,3,4,5,6\n4,2,30,4,5,6\n", "frame 4 has number 2 twice" },
    };
    struct bd_sequence sequence = { 0 };
    struct bd_object_truth *truth;
    make_folder(*state, "gt");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(open_text(*state, rows[i].text, &sequence, &truth), BD_ERROR_FORMAT);
        assert_null(truth);
        if (!strstr(bd_error_detail(), rows[i].words) || !strstr(bd_error_detail(), "gt/gt.txt"))
            fail_msg("%s: %s", rows[i].words, bd_error_detail());
    }
}

/* The boxes of a scene are those of bd_synth_find_objects; slivers do not count. */
static void scenes_know_their_objects(void **state)
{
    (void)state;
    struct bd_sequence sequence;
    struct bd_object_truth *truth;
    const struct bd_track_box *boxes;
    int count, same, ignored = 0, all = 0;
    assert_int_equal(bd_sequence_open(&sequence, "synth:crossing?size=160x120&seed=3"), BD_OK);
    assert_int_equal(bd_object_truth_open(&truth, &sequence), BD_OK);
    for (int index = 0; index < 200; index += 2) {
        struct bd_synth_object objects[BD_SYNTH_MOST_OBJECTS];
        assert_int_equal(bd_object_truth_get(truth, index, &boxes, &count), BD_OK);
        assert_int_equal(
            bd_synth_find_objects(sequence.scene, 160, 120, 3, index, objects, &same, NULL), BD_OK);
        assert_int_equal(count, same);
        for (int i = 0; i < count; i++) {
            bool sliver = objects[i].visible < 10 || 4 * objects[i].visible < objects[i].whole;
            assert_int_equal(boxes[i].id, objects[i].number);
            assert_true(boxes[i].x == objects[i].x && boxes[i].height == objects[i].height);
            assert_int_equal(boxes[i].ignore, sliver);
            ignored += boxes[i].ignore;
            all++;
        }
    }
    assert_true(ignored > 0 && ignored < all / 20);
    bd_object_truth_close(&truth);
    bd_sequence_close(&sequence);
}

/* The number of KEY in the object "objects" of FILE. */
static double object_number(const char *folder, const char *file, const char *key)
{
    char text[1 << 14], want[64];
    cli_slurp(folder, file, text, sizeof text);
    const char *at = strstr(text, "\"objects\": {");
    assert_non_null(at);
    snprintf(want, sizeof want, "\"%s\": ", key);
    at = strstr(strchr(at, '{'), want);
    assert_non_null(at);
    return strtod(at + strlen(want), NULL);
}

/* The square's boxes are known, so that each box that is found fits exactly. */
static void a_folder_with_boxes_is_scored(void **state)
{
    const char *folder = *state;
    char text[4096] = "", path[512];
    size_t used = 0;
    make_folder(folder, "seq");
    snprintf(path, sizeof path, "%s/seq", folder);
    write_sequence(path, 0);
    for (int f = first_moving; f < frames; f++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%d,1,%d,17,%d,%d,1,1,1\n", f + 1,
                                 left_of(f) + 1, side, side);
    make_folder(folder, "seq/gt");
    write_text(path, "gt/gt.txt", text);
    assert_int_equal(cli_run(folder, "$B eval seq --objects " EXACT " --json r.json -q"), 0);
    double tp = object_number(folder, "r.json", "tp"), fn = object_number(folder, "r.json", "fn");
    print_message("%.0f boxes found, %.0f not\n", tp, fn);
    assert_true(tp + fn == frames - first_moving && tp >= 5);
    assert_true(object_number(folder, "r.json", "fp") == 0);
    assert_true(object_number(folder, "r.json", "motp") == 1);
    assert_true(object_number(folder, "r.json", "objects") == 1);
    assert_true(object_number(folder, "r.json", "frames") == frames);

    write_text(path, "gt/gt.txt", "21,1,5,17\n");
    assert_int_equal(cli_run(folder, "$B eval seq --objects --progress none"), 2);
    cli_slurp(folder, "err", text, sizeof text);
    assert_int_equal(cli_lines(text), 1);
    assert_non_null(strstr(text, "seq/gt/gt.txt, line 1: must be frame,id"));
}

/* Objects change nothing of the scores of masks; both tables are printed, and both means. */
static void scenes_are_scored(void **state)
{
    const char *folder = *state;
    const char *scenes =
        "'synth:crossing?frames=60&size=240x135' 'synth:easy?frames=60&size=160x120'";
    char command[512], text[1 << 14], with[1 << 14];
    snprintf(command, sizeof command, "$B eval %s --progress none --json a.json", scenes);
    assert_int_equal(cli_run(folder, command), 0);
    cli_slurp(folder, "out", text, sizeof text);
    assert_int_equal(cli_lines(text), 4);
    assert_null(strstr(text, "MOTA"));
    cli_slurp(folder, "a.json", text, sizeof text);
    assert_null(strstr(text, "objects"));

    snprintf(command, sizeof command, "$B eval %s --progress none --json b.json --objects", scenes);
    assert_int_equal(cli_run(folder, command), 0);
    cli_slurp(folder, "out", with, sizeof with);
    assert_int_equal(cli_lines(with), 9);
    assert_non_null(strstr(with, "MOTA"));
    const char *keys[] = { "precision",
                           "recall",
                           "f_measure",
                           "mota",
                           "motp",
                           "idf1",
                           "idp",
                           "idr",
                           "tp",
                           "fp",
                           "fn",
                           "switches",
                           "crossings",
                           "objects",
                           "found_objects",
                           "idtp",
                           "frames",
                           "mostly_lost",
                           "fragmentations" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_true(object_number(folder, "b.json", keys[i]) >= 0);
    double f = object_number(folder, "b.json", "f_measure");
    double precision = object_number(folder, "b.json", "precision");
    double recall = object_number(folder, "b.json", "recall");
    assert_true(f > 0.5 && f <= 1);
    double harmonic = 2 * precision * recall / (precision + recall);
    assert_true(f > harmonic - 1e-6 && f < harmonic + 1e-6);
    cli_slurp(folder, "b.json", with, sizeof with);
    const char *mean = strstr(with, "\"mean_objects\": {");
    assert_non_null(mean);
    assert_non_null(strstr(mean, "\"sequences\": 2"));
    assert_non_null(strstr(mean, "switches_in_ten_crossings"));
    /* the scores of the masks are the same */
    const char *first = strstr(text, "\"tp\""), *again = strstr(with, "\"tp\"");
    assert_non_null(first);
    assert_non_null(again);
    assert_memory_equal(first, again, (size_t)(strstr(first, "\"seconds\"") - first));
}

/* Five come, three of them as one component: where they were is known from when they part. */
static void boxes_are_good_from_the_first_frame(void **state)
{
    const char *folder = *state;
    assert_int_equal(
        cli_run(folder,
                "$B eval --objects 'synth:noise?frames=120' --progress none -q --json c.json"),
        0);
    const double f = object_number(folder, "c.json", "f_measure");
    print_message("F of the boxes %.4f\n", f);
    assert_true(f > .9);
    assert_true(object_number(folder, "c.json", "switches") == 0);
}

static void a_folder_without_boxes_is_told(void **state)
{
    const char *folder = *state;
    char path[512], text[4096];
    make_folder(folder, "seq");
    snprintf(path, sizeof path, "%s/seq", folder);
    write_sequence(path, 1);
    assert_int_equal(cli_run(folder, "$B eval seq --objects --json r.json --progress none"), 0);
    cli_slurp(folder, "err", text, sizeof text);
    assert_int_equal(cli_lines(text), 1);
    assert_non_null(strstr(text, "seq: its objects are not scored: there is no gt/gt.txt"));
    cli_slurp(folder, "r.json", text, sizeof text);
    assert_null(strstr(text, "objects"));
    assert_int_equal(cli_run(folder, "$B export seq --objects --mask m.mkv"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(lines_become_boxes),
        CLI_TEST(bad_lines_are_named),
        cmocka_unit_test(scenes_know_their_objects),
        CLI_TEST(a_folder_with_boxes_is_scored),
        CLI_TEST(scenes_are_scored),
        CLI_TEST(boxes_are_good_from_the_first_frame),
        CLI_TEST(a_folder_without_boxes_is_told),
    };
    return cmocka_run_group_tests_name("eval_objects", tests, NULL, NULL);
}
