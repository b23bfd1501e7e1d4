/* Reading of CDnet folders, pooling of scores, and `backdrop eval` as a whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/app/eval_fixture.h"

/* A folder of its own for each test; removed at its end. */
static int make_folder(void **state)
{
    char *folder = strdup("/tmp/bd-eval-XXXXXX");
    assert_non_null(folder);
    assert_non_null(mkdtemp(folder));
    *state = folder;
    return 0;
}

static int remove_folder(void **state)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
    int failed = system(command);
    free(*state);
    return failed;
}

/* Runs the program; returns its exit status. `output` gets stdout and stderr. */
static int run(const char *arguments, char *output, size_t size)
{
    char command[2048];
    const char *program = getenv("BACKDROP");
    if (!program || !*program)
        return -1;
    snprintf(command, sizeof command, "'%s' %s 2>&1", program, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t used = fread(output, 1, size - 1, pipe);
    output[used] = 0;
    int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void numbering_and_range_follow_the_file_names(void **state)
{
    const char *folder = *state;
    for (int first = 0; first < 2; first++) {
        char sub[512];
        struct bd_sequence sequence;
        struct bd_frame truth = { 0 };
        snprintf(sub, sizeof sub, "%s/from%d", folder, first);
        assert_int_equal(mkdir(sub, 0777), 0);
        write_sequence(sub, first);
        assert_int_equal(bd_sequence_open(&sequence, sub), BD_OK);
        assert_int_equal(sequence.input.first, first);
        assert_int_equal(sequence.input.count, frames);
        assert_int_equal(sequence.score_from, first);
        assert_int_equal(sequence.score_to, first + frames - 1);
        assert_null(sequence.roi.data);
        bd_sequence_close(&sequence);

        write_text(sub, "temporalROI.txt", "22 30\n");
        assert_int_equal(bd_sequence_open(&sequence, sub), BD_OK);
        assert_int_equal(bd_sequence_truth(&sequence, 21, &truth), BD_END);
        assert_int_equal(bd_sequence_truth(&sequence, 31, &truth), BD_END);
        assert_int_equal(bd_sequence_truth(&sequence, 22, &truth), BD_OK);
        /* file 22 is frame 22 - first of the sequence */
        int x = left_of(22 - first);
        assert_int_equal(truth.data[16 * truth.stride + x], BD_TRUTH_MOVING);
        assert_int_not_equal(truth.data[16 * truth.stride + x - 1], BD_TRUTH_MOVING);
        bd_frame_destroy(&truth);
        bd_sequence_close(&sequence);
    }
}

static void scores_follow_the_codes(void **state)
{
    (void)state;
    struct bd_sequence sequence = { .folder = "memory" };
    struct bd_score score = { 0 };
    struct bd_frame mask = { 0 }, truth = { 0 };
    static const uint8_t codes[8] = { 255, 255, 0, 0, 50, 50, 85, 170 };
    assert_int_equal(bd_frame_create(&mask, 8, 1, BD_GRAY8), BD_OK);
    assert_int_equal(bd_frame_create(&truth, 8, 1, BD_GRAY8), BD_OK);
    memcpy(truth.data, codes, sizeof codes);
    for (int x = 0; x < 8; x++)
        mask.data[x] = x % 2 ? 0 : 255;
    assert_int_equal(bd_score_add(&score, &sequence, &mask, &truth), BD_OK);
    assert_int_equal(score.tp, 1);
    assert_int_equal(score.fn, 1);
    assert_int_equal(score.fp, 2); /* one static, one shadow */
    assert_int_equal(score.tn, 2);
    assert_int_equal(score.frames, 1);
    assert_true(bd_score_precision(&score) == 1.0 / 3);
    assert_true(bd_score_recall(&score) == 0.5);
    assert_true(bd_score_f_measure(&score) == 2.0 / 5);

    assert_int_equal(bd_frame_create(&sequence.roi, 8, 1, BD_GRAY8), BD_OK);
    memset(sequence.roi.data, 0, 8);
    sequence.roi.data[0] = 255;
    assert_int_equal(bd_score_add(&score, &sequence, &mask, &truth), BD_OK);
    assert_int_equal(score.tp, 2);
    assert_int_equal(score.fp + score.fn + score.tn, 5);

    struct bd_score none = { 0 };
    assert_true(bd_score_f_measure(&none) == 0);
    assert_int_equal(bd_frame_ensure(&truth, 9, 1, BD_GRAY8), BD_OK);
    assert_int_equal(bd_score_add(&score, &sequence, &mask, &truth), BD_ERROR_FORMAT);
    bd_frame_destroy(&mask);
    bd_frame_destroy(&truth);
    bd_sequence_close(&sequence);
}

/* Without clean-up the mask of the square is exact, so all counts are known. */
static void known_scores(void **state)
{
    const char *folder = *state;
    for (int first = 0; first < 2; first++) {
        char sub[512], json[600], arguments[1600], output[4096];
        snprintf(sub, sizeof sub, "%s/from%d", folder, first);
        assert_int_equal(mkdir(sub, 0777), 0);
        write_sequence(sub, first);
        write_text(sub, "temporalROI.txt", "25 34\n");
        write_roi(sub);
        snprintf(json, sizeof json, "%s/out.json", sub);
        snprintf(arguments, sizeof arguments,
                 "eval '%s' --json '%s' --median 1 --min-area 0 --max-hole 0 --progress none", sub,
                 json);
        int status = run(arguments, output, sizeof output);
        if (status == -1)
            skip();
        assert_int_equal(status, 0);
        int64_t moving = 0, still = 0;
        for (int number = 25; number <= 34; number++)
            for (int y = 0; y < height; y++)
                for (int x = 0; x < width / 2; x++) {
                    bool inside = in_square(number - first, x, y);
                    moving += inside;
                    still += !inside && (x != 0 || y >= 40);
                }
        assert_true(json_number(json, "frames") == 10);
        assert_true(json_number(json, "tp") == (double)moving);
        assert_true(json_number(json, "fn") == 0);
        assert_true(json_number(json, "fp") == 0);
        assert_true(json_number(json, "tn") == (double)still);
        assert_true(json_number(json, "f_measure") == 1);
        assert_true(json_number(json, "mean_f_measure") == 1);
        assert_true(json_number(json, "window") == 50);
        assert_non_null(strstr(output, "from"));
    }
    /* the folder above holds both */
    char arguments[1024], output[4096];
    snprintf(arguments, sizeof arguments, "eval '%s' --progress none", folder);
    assert_int_equal(run(arguments, output, sizeof output), 0);
    assert_non_null(strstr(output, "from0"));
    assert_non_null(strstr(output, "from1"));
    assert_non_null(strstr(output, "mean"));
}

static void masks_are_saved(void **state)
{
    char sub[512], arguments[1600], output[4096];
    const char *folder = *state;
    snprintf(sub, sizeof sub, "%s/seq", folder);
    assert_int_equal(mkdir(sub, 0777), 0);
    write_sequence(sub, 1);
    snprintf(arguments, sizeof arguments, "eval '%s' --masks '%s/masks' --progress none", sub,
             folder);
    int status = run(arguments, output, sizeof output);
    if (status == -1)
        skip();
    assert_int_equal(status, 0);
    for (int number = 1; number <= frames; number++) {
        char path[600];
        snprintf(path, sizeof path, "%s/masks/seq/bin%06d.png", folder, number);
        assert_int_equal(access(path, R_OK), 0);
    }
    /* -n keeps them */
    write_text(folder, "masks/seq/bin000001.png", "precious");
    snprintf(arguments, sizeof arguments, "eval '%s' --masks '%s/masks' --progress none -n", sub,
             folder);
    assert_int_equal(run(arguments, output, sizeof output), 1);
    assert_non_null(strstr(output, "bin000001.png exists"));
    /* a report that cannot be written is an error before the work begins */
    snprintf(arguments, sizeof arguments, "eval '%s' --json /nonexistent/r.json", sub);
    assert_int_equal(run(arguments, output, sizeof output), 1);
    assert_non_null(strstr(output, "--json /nonexistent/r.json: "));
    assert_null(strstr(output, "precision"));
}

static void bad_folders_are_named(void **state)
{
    const char *folder = *state;
    struct bd_sequence sequence;
    char sub[512], arguments[1024], output[4096], path[600];
    assert_int_equal(bd_sequence_open(&sequence, "/nonexistent"), BD_ERROR_IO);
    assert_non_null(strstr(bd_error_detail(), "/nonexistent"));

    snprintf(sub, sizeof sub, "%s/seq", folder);
    assert_int_equal(mkdir(sub, 0777), 0);
    snprintf(path, sizeof path, "%s/input", sub);
    assert_int_equal(mkdir(path, 0777), 0);
    write_text(sub, "input/readme.txt", "no pictures");
    assert_int_equal(bd_sequence_open(&sequence, sub), BD_ERROR_FORMAT);

    snprintf(arguments, sizeof arguments, "eval '%s'", sub);
    int status = run(arguments, output, sizeof output);
    if (status == -1)
        skip();
    assert_int_equal(status, 2);
    assert_int_equal(run("eval /nonexistent -q", output, sizeof output), 2);
    assert_non_null(strstr(output, "/nonexistent"));

    snprintf(sub, sizeof sub, "%s/good", folder);
    assert_int_equal(mkdir(sub, 0777), 0);
    write_sequence(sub, 1);
    write_text(sub, "temporalROI.txt", "first to last\n");
    assert_int_equal(bd_sequence_open(&sequence, sub), BD_ERROR_FORMAT);
    assert_non_null(strstr(bd_error_detail(), "temporalROI.txt"));
    write_text(sub, "temporalROI.txt", "1000 2000\n");
    snprintf(arguments, sizeof arguments, "eval '%s' --progress none", sub);
    assert_int_equal(run(arguments, output, sizeof output), 2);
    assert_non_null(strstr(output, "no frame has ground truth"));
    /* a bad folder leaves the results of a good one, but the exit status shows it */
    write_text(sub, "temporalROI.txt", "1 40\n");
    snprintf(arguments, sizeof arguments, "eval /nonexistent '%s' --progress none", sub);
    assert_int_equal(run(arguments, output, sizeof output), 3);
    assert_non_null(strstr(output, "good"));
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(numbering_and_range_follow_the_file_names),
        cmocka_unit_test(scores_follow_the_codes),
        IN_FOLDER(known_scores),
        IN_FOLDER(masks_are_saved),
        IN_FOLDER(bad_folders_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
