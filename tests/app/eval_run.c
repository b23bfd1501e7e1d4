/* Runs of `backdrop eval` over several sequences: side by side or one after another, against masks
 * of others, into JSON and a contact sheet; and what it does where something is wrong. */
#include <fcntl.h>
#include <poll.h>

#include "tests/app/cli_fixture.h"
#include "tests/app/eval_fixture.h"
#include "tests/support/quick.h"

/* The options with which the masks of the fixture's sequences are exact. */
#define EXACT "--median 1 --min-area 0 --max-hole 0"

static void make_sequence(const char *folder, const char *name, int first_number)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0777), 0);
    write_sequence(path, first_number);
}

/* The text of a file of the folder; the caller frees. */
static char *slurp(const char *folder, const char *name)
{
    enum { size = 1 << 16 };
    char *text = malloc(size);
    assert_non_null(text);
    cli_slurp(folder, name, text, size);
    return text;
}

static bool has(const char *folder, const char *name, const char *part)
{
    char *text = slurp(folder, name);
    bool found = strstr(text, part) != NULL;
    if (!found)
        print_error("%s: no \"%s\" in\n%s\n", name, part, text);
    free(text);
    return found;
}

/* The number of KEY in FILE, in the object that begins with "name": NAME; without NAME the first.
 */
static double number_of(const char *folder, const char *file, const char *name, const char *key)
{
    char want[300], *text = slurp(folder, file);
    snprintf(want, sizeof want, "\"name\": \"%s\"", name ? name : "");
    const char *at = name ? strstr(text, want) : text;
    assert_non_null(at);
    snprintf(want, sizeof want, "\"%s\": ", key);
    at = strstr(at, want);
    assert_non_null(at);
    double number = strtod(at + strlen(want), NULL);
    free(text);
    return number;
}

/* Cuts out what depends on time and on the number of threads. */
static void cut_times(char *text)
{
    static const char *const keys[] = { "\"seconds\"", "\"frames_per_second\"", "\"run_seconds\"",
                                        "\"at_once\"", "\"backend\"" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (char *at = text; (at = strstr(at, keys[i]));)
            memmove(at, at + strcspn(at, "\n"), strlen(at + strcspn(at, "\n")) + 1);
}

/* Side by side the results are those of one after another, in the order asked for. */
static void results_do_not_depend_on_jobs(void **state)
{
    const char *folder = *state;
    char command[512];
    make_sequence(folder, "short", 1);
    int runs = test_quick() ? 2 : 3;
    for (int i = 0; i < runs; i++) {
        static const int jobs[] = { 1, 2, 8 };
        snprintf(
            command, sizeof command,
            "$B eval short 'synth:stop?frames=90&size=96x64' 'synth:easy?frames=40&size=80x64' "
            "-j %d --json %d.json --contact-sheet %d.png --masks m%d --progress none",
            jobs[i], i, i, i);
        assert_int_equal(cli_run(folder, command), 0);
        char *out = slurp(folder, "out"), *json[2];
        const char *first = strstr(out, "short"), *second = strstr(out, "synth:stop");
        const char *third = strstr(out, "synth:easy"), *mean = strstr(out, "mean");
        assert_true(first && first < second && second < third && third < mean);
        assert_int_equal(cli_lines(out), 5);
        free(out);
        if (i == 0)
            continue;
        snprintf(command, sizeof command, "cmp 0.png %d.png && diff -r m0 m%d", i, i);
        assert_int_equal(cli_run(folder, command), 0);
        json[0] = slurp(folder, "0.json");
        json[1] = slurp(folder, i == 1 ? "1.json" : "2.json");
        cut_times(json[0]);
        cut_times(json[1]);
        assert_string_equal(json[0], json[1]);
        free(json[0]);
        free(json[1]);
    }
    assert_true(number_of(folder, "1.json", NULL, "at_once") == 2);
    if (runs == 3)
        assert_true(number_of(folder, "2.json", NULL, "at_once") == 3);
}

/* Means are over sequences, each with the same weight, of P, R and F alike. */
static void means_are_of_sequences(void **state)
{
    const char *folder = *state;
    assert_int_equal(cli_run(folder, "$B eval 'synth:stop?frames=60&size=96x64' "
                                     "'synth:noise?frames=90&size=96x64' --json r.json"),
                     0);
    static const char *const keys[] = { "precision", "recall", "f_measure" };
    for (int i = 0; i < 3; i++) {
        char mean[64];
        snprintf(mean, sizeof mean, "mean_%s", keys[i]);
        double a = number_of(folder, "r.json", "synth:stop?frames=60&size=96x64", keys[i]);
        double b = number_of(folder, "r.json", "synth:noise?frames=90&size=96x64", keys[i]);
        double got = number_of(folder, "r.json", NULL, mean);
        assert_true(a > 0.5 && b > 0.5 && a != b);
        assert_true(got > (a + b) / 2 - 1e-7 && got < (a + b) / 2 + 1e-7);
    }
}

/* With --live only the frames that are held back are known, without them not even those: the people
 * of the first frame are background until they have left. */
static void a_live_start_scores_less(void **state)
{
    const char *folder = *state, *scene = "synth:easy?frames=90&size=160x120";
    static const char *const options[] = { "", "--live", "--live --start-delay 0" };
    double f[3];
    for (int i = 0; i < 3; i++) {
        char command[256];
        snprintf(command, sizeof command, "$B eval '%s' %s --json r.json -y", scene, options[i]);
        assert_int_equal(cli_run(folder, command), 0);
        f[i] = number_of(folder, "r.json", scene, "f_measure");
        assert_true(has(folder, "r.json", i ? "\"start\": \"live\"" : "\"start\": \"look-ahead\""));
        assert_true(has(folder, "r.json",
                        i == 0   ? "\"start_delay\": null"
                        : i == 1 ? "\"start_delay\": 10"
                                 : "\"start_delay\": 0"));
    }
    print_message("F %.4f with a look-ahead, %.4f live, %.4f without a delay\n", f[0], f[1], f[2]);
    assert_true(f[1] > f[0] - 0.01);
    assert_true(f[2] > 0.3 && f[2] < f[1] - 0.01);
    assert_int_equal(cli_run(folder, "$B eval synth:easy --start-delay 2"), 1);
}

/* The masks that were saved score as when they were made: in a folder for each sequence, as
 * changedetection.net has them, and, of one sequence, in the folder itself. */
static void own_masks_score_the_same(void **state)
{
    const char *folder = *state;
    assert_int_equal(cli_run(folder, "mkdir baseline"), 0);
    make_sequence(folder, "baseline/a", 0);
    make_sequence(folder, "baseline/b", 1);
    write_text(folder, "baseline/b/temporalROI.txt", "22 38\n");
    assert_int_equal(cli_run(folder, "$B eval baseline --masks ours --progress none"), 0);
    assert_int_equal(cli_run(folder, "mkdir results && cp -r ours results/baseline"), 0);
    assert_int_equal(cli_run(folder, "$B eval baseline --compare ours --compare results "
                                     "--json r.json --progress none"),
                     0);
    assert_true(has(folder, "out", "\n  ours "));
    assert_true(has(folder, "out", "\n  results "));
    static const char *const keys[] = { "tp", "fp", "fn", "tn", "frames" };
    for (int i = 0; i < 5; i++) {
        assert_true(number_of(folder, "r.json", "a", keys[i]) ==
                    number_of(folder, "r.json", "ours", keys[i]));
        assert_true(number_of(folder, "r.json", "a", keys[i]) ==
                    number_of(folder, "r.json", "results", keys[i]));
    }
    assert_true(number_of(folder, "r.json", "b", "frames") == 17);
    assert_int_equal(
        cli_run(folder, "$B eval baseline/b --compare ours/b --json b.json --progress none"), 0);
    assert_true(number_of(folder, "b.json", "b", "tp") > 0);
    for (int i = 0; i < 5; i++) {
        char *text = slurp(folder, "b.json"), *against = strstr(text, "\"against\"");
        char key[32];
        snprintf(key, sizeof key, "\"%s\": ", keys[i]);
        assert_true(strtod(strstr(text, key) + strlen(key), NULL) ==
                    strtod(strstr(against, key) + strlen(key), NULL));
        free(text);
    }
}

/* Masks that are known to be wrong: all black, and all white but for MOG2's gray. */
static void others_are_scored_by_the_same_rules(void **state)
{
    const char *folder = *state;
    struct bd_frame mask = { 0 };
    char name[64];
    make_sequence(folder, "s", 0);
    assert_int_equal(cli_run(folder, "mkdir -p black/s white/s"), 0);
    assert_int_equal(bd_frame_create(&mask, width, height, BD_GRAY8), BD_OK);
    for (int f = 0; f < frames; f++) {
        memset(mask.data, 0, (size_t)mask.stride * height);
        snprintf(name, sizeof name, "black/s/bin%06d.png", f);
        write_picture(folder, name, &mask);
        memset(mask.data, 255, (size_t)mask.stride * height / 2);
        memset(mask.data + mask.stride * height / 2, 127, (size_t)mask.stride * height / 2);
        snprintf(name, sizeof name, "white/s/bin%06d.png", f);
        write_picture(folder, name, &mask);
    }
    bd_frame_destroy(&mask);
    assert_int_equal(cli_run(folder, "$B eval s --compare black --compare white " EXACT
                                     " --json r.json --contact-sheet s.png --progress none"),
                     0);
    int64_t moving = 0, moving_above = 0, scored_above = 0, still = 0;
    for (int f = 0; f < frames; f++)
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                bool inside = in_square(f, x, y);
                bool scored = inside || y >= 40 || (x != 0 && x != width - 1);
                moving += inside;
                still += scored && !inside;
                moving_above += inside && y < height / 2;
                scored_above += scored && y < height / 2;
            }
    assert_true(number_of(folder, "r.json", "s", "tp") == (double)moving);
    assert_true(number_of(folder, "r.json", "black", "tp") == 0);
    assert_true(number_of(folder, "r.json", "black", "fn") == (double)moving);
    assert_true(number_of(folder, "r.json", "black", "tn") == (double)still);
    assert_true(number_of(folder, "r.json", "black", "f_measure") == 0);
    assert_true(number_of(folder, "r.json", "white", "tp") == (double)moving_above);
    assert_true(number_of(folder, "r.json", "white", "fp") ==
                (double)(scored_above - moving_above));
}

/* Of a part of a sequence, only the masks of that part are needed. Pictures come 25 a second. */
static void a_part_needs_the_masks_of_that_part(void **state)
{
    const char *folder = *state;
    make_sequence(folder, "s", 1);
    assert_int_equal(cli_run(folder, "mkdir m && for i in $(seq 11 35); do "
                                     "cp s/groundtruth/gt0000$i.png m/bin0000$i.png; done"),
                     0);
    assert_int_equal(cli_run(folder, "$B eval s --compare m --start 0.4 --duration 1 --json r.json "
                                     "--progress none"),
                     0);
    assert_true(number_of(folder, "r.json", "s", "frames") == 25);
    assert_true(number_of(folder, "r.json", "m", "frames") == 25);
    assert_true(number_of(folder, "r.json", "m", "f_measure") == 1);
    /* of which none may be missing */
    assert_int_equal(cli_run(folder, "$B eval s --compare m --start 0.4 --progress none"), 3);
    assert_true(has(folder, "err", "m/bin000036.png"));
    assert_int_equal(cli_run(folder, "$B eval s --compare m --duration 1 --progress none"), 3);
    assert_true(has(folder, "err", "m/bin000001.png"));
    assert_int_equal(cli_run(folder, "$B eval s --compare m --progress none"), 3);
    assert_true(has(folder, "err", "m/bin000001.png and 14 more are missing"));
}

/* `export --mask bin%06d.png` counts from 1 as ffmpeg does, whatever the inputs count from; those
 * masks are scored with the right inputs. */
static void exported_masks_have_cdnet_names(void **state)
{
    const char *folder = *state;
    char name[64], text[64];
    make_sequence(folder, "s", 0);
    assert_int_equal(cli_run(folder, "mkdir out1 && $B export s/input/in%06d.png " EXACT
                                     " --mask out1/bin%06d.png -q"),
                     0);
    assert_int_equal(cli_run(folder, "ls out1"), 0);
    char *list = slurp(folder, "out"), *at = list;
    for (int i = 1; i <= frames; i++) {
        snprintf(name, sizeof name, "bin%06d.png\n", i);
        assert_int_equal(strncmp(at, name, strlen(name)), 0);
        at += strlen(name);
    }
    assert_string_equal(at, "");
    free(list);
    assert_int_equal(
        cli_run(folder, "$B eval s " EXACT " --compare out1 --json r.json --progress none"), 0);
    assert_true(number_of(folder, "r.json", "s", "f_measure") == 1);
    char *json = slurp(folder, "r.json");
    assert_non_null(strstr(strstr(json, "\"against\""), "\"f_measure\": 1,"));
    free(json);
    /* %d is not padded, %% is a percent sign */
    assert_int_equal(cli_run(folder, "$B export 'synth:easy?frames=11&size=32x32' "
                                     "--mask 5%%m%d.png -q && ls 5*"),
                     0);
    cli_slurp(folder, "out", text, sizeof text);
    assert_non_null(strstr(text, "5%m1.png\n"));
    assert_non_null(strstr(text, "5%m11.png\n"));
}

static void same_names_are_told_apart(void **state)
{
    const char *folder = *state;
    assert_int_equal(cli_run(folder, "mkdir x y"), 0);
    make_sequence(folder, "x/s", 1);
    make_sequence(folder, "y/s", 1);
    assert_int_equal(cli_run(folder, "$B eval x y/s y --masks m --progress none"), 0);
    assert_true(has(folder, "out", "\nx/s "));
    assert_true(has(folder, "out", "\ny/s "));
    assert_true(has(folder, "err", "asked for twice"));
    char *out = slurp(folder, "out");
    assert_int_equal(cli_lines(out), 4);
    free(out);
    assert_int_equal(cli_run(folder, "test -e m/x/s/bin000040.png -a -e m/y/s/bin000040.png"), 0);
}

/* What is wrong with one sequence, or with one sequence's masks of others, leaves the rest. */
static void failures_leave_the_others(void **state)
{
    const char *folder = *state;
    make_sequence(folder, "a", 1);
    make_sequence(folder, "b", 1);
    make_sequence(folder, "c", 1);
    struct bd_frame small = { 0 };
    assert_int_equal(bd_frame_create(&small, 8, 8, BD_GRAY8), BD_OK);
    memset(small.data, 0, (size_t)small.stride * 8);
    assert_int_equal(cli_run(folder, "$B eval a b c --masks m -q"), 0);
    write_text(folder, "b/groundtruth/gt000030.png", "no picture");
    assert_int_equal(cli_run(folder, "mkdir empty empty/input empty/groundtruth"), 0);
    write_picture(folder, "m/a/bin000030.png", &small);
    assert_int_equal(cli_run(folder, "rm m/c/bin000011.png m/c/bin000012.png"), 0);
    bd_frame_destroy(&small);
    assert_int_equal(cli_run(folder, "$B eval a nosuch b empty c --compare m --json r.json "
                                     "--contact-sheet s.png --progress none -j 2"),
                     3);
    assert_true(has(folder, "out", "\na "));
    assert_true(has(folder, "out", "\nc "));
    assert_true(has(folder, "out", "\nmean "));
    char *out = slurp(folder, "out"), *err = slurp(folder, "err"), *json = slurp(folder, "r.json");
    assert_null(strstr(out, "\nb "));
    assert_null(strstr(out, "\n  m "));
    const char *lines[] = { "m/a/bin000030.png: the mask is 8x8, the ground truth 64x48",
                            "nosuch: No such file", "gt000030.png",
                            "empty/input: no numbered pictures",
                            "m/c/bin000011.png and 1 more are missing" };
    const char *at = err;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!strstr(at, lines[i]))
            print_error("no line \"%s\" after those before in\n%s", lines[i], err);
        assert_non_null(at = strstr(at, lines[i]));
        assert_non_null(strstr(strstr(json, "\"failures\""), lines[i]));
    }
    assert_true(number_of(folder, "r.json", NULL, "mean_f_measure") > 0.8);
    /* what was scored of b before its truth broke is there, but not among the sequences */
    const char *failures = strstr(json, "\"failures\"");
    assert_non_null(strstr(failures, "\"frames\": 29"));
    free(out);
    free(err);
    free(json);
    /* one sequence that is missing there, in a folder of several */
    assert_int_equal(cli_run(folder, "rm -r m/c && $B eval c a --compare m -q --progress none"), 3);
    assert_true(has(folder, "err", "m/c: not there"));
}

/* Bad options are errors before the work begins. */
static void bad_options_end_it_at_once(void **state)
{
    static const struct {
        const char *options, *message;
    } rows[] = {
        { "--json /nonexistent/r.json", "--json /nonexistent/r.json: " },
        { "--contact-sheet /nonexistent/s.png", "--contact-sheet /nonexistent/s.png: " },
        { "--contact-sheet s.mp4", "must end in .png or .jpg" },
        { "--contact-sheet sheet", "must end in .png or .jpg" },
        { "--contact-sheet old.png -n", "--contact-sheet old.png: exists" },
        { "--json old.png -n", "--json old.png: exists" },
        { "--compare nosuch", "--compare nosuch: No such file or directory" },
        { "--compare old.png", "--compare old.png: Not a directory" },
        { "--masks s --compare s/../s", "is the folder of --masks too" },
        { "--compare s --compare s --compare s --compare s --compare s --compare s --compare s "
          "--compare s --compare s",
          "more than 8 of them" },
        { "--jobs 65", "--jobs 65: must be 0..64" },
    };
    const char *folder = *state;
    make_sequence(folder, "s", 1);
    write_text(folder, "old.png", "precious");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char command[512];
        snprintf(command, sizeof command, "$B eval s %s", rows[i].options);
        assert_int_equal(cli_run(folder, command), 1);
        assert_true(has(folder, "err", rows[i].message));
        assert_int_equal(cli_run(folder, "test -s out"), 1);
    }
    assert_true(has(folder, "old.png", "precious"));
    /* what fails only at the end does not take the table with it */
    if (access("/dev/full", W_OK) == 0) {
        assert_int_equal(cli_run(folder, "$B eval s --json /dev/full --progress none"), 3);
        assert_true(has(folder, "err", "--json /dev/full: "));
        assert_true(has(folder, "out", "\ns "));
    }
    /* of nothing there is no mean, but what went wrong */
    assert_int_equal(cli_run(folder, "$B eval nosuch --json r.json -q"), 2);
    assert_true(has(folder, "r.json", "\"mean_f_measure\": null"));
    assert_true(has(folder, "r.json", "\"error\": \"nosuch: No such file or directory\""));
}

/* No output replaces what is read: a line, and nothing is written. */
static void nothing_that_is_read_is_replaced(void **state)
{
    static const struct {
        const char *options, *line;
    } rows[] = {
        { "--json s/input/in000001.png",
          "--json s/input/in000001.png: is a file of the sequence s\n" },
        { "--json ./s/../link.png", "--json ./s/../link.png: is a file of the sequence s\n" },
        { "--contact-sheet s/groundtruth/gt000002.png", ": is a file of the sequence s\n" },
        { "--contact-sheet s/input/in000099.png", ": is a file of the sequence s\n" },
        { "--json s/temporalROI.txt", ": is a file of the sequence s\n" },
        { "--json s/ROI.bmp", ": is a file of the sequence s\n" },
        { "--roi roi.png --contact-sheet roi.png", "--contact-sheet roi.png: is the region\n" },
        { "--compare m --contact-sheet m/s/bin000003.png",
          "--contact-sheet m/s/bin000003.png: is a mask of --compare m\n" },
        { "--compare m/s --masks m", "--compare m/s: is the folder of --masks too\n" },
        { "--roi m/s/bin000003.png --masks m", "--masks m/s/bin%06d.png: is the region\n" },
    };
    const char *folder = *state;
    make_sequence(folder, "s", 1);
    write_text(folder, "s/temporalROI.txt", "1 40\n");
    write_roi(folder);
    assert_int_equal(cli_run(folder, "mv ROI.bmp s && ln -s s/input/in000002.png link.png && "
                                     "cp s/input/in000001.png roi.png && mkdir -p m/s && "
                                     "for i in s/groundtruth/*; do cp $i "
                                     "m/s/bin${i#s/groundtruth/gt}; done && "
                                     "find s m *.png -type f | xargs sum >before"),
                     0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char command[512];
        snprintf(command, sizeof command, "$B eval s %s -y", rows[i].options);
        assert_int_equal(cli_run(folder, command), 1);
        assert_true(has(folder, "err", rows[i].line));
        char *err = slurp(folder, "err");
        assert_int_equal(cli_lines(err), 1);
        free(err);
    }
    assert_int_equal(cli_run(folder, "find s m *.png -type f | xargs sum | cmp - before"), 0);
    /* a sequence that cannot be scored is not replaced either; what is beside it may be written */
    assert_int_equal(cli_run(folder, "rm s/groundtruth/*; $B eval s --json s/input/in000001.png"),
                     1);
    assert_int_equal(cli_run(folder, "$B eval s --json s/r.json -q; test $? = 2 && test -s "
                                     "s/r.json"),
                     0);
}

/* Ctrl-C after the first sequence: its results are written, and how far the second had come. */
static void interruption_keeps_what_is_scored(void **state)
{
    const char *folder = *state;
    make_sequence(folder, "first", 1);
    assert_int_equal(
        cli_run(
            folder,
            "$B eval first 'synth:drift?frames=100000' -j 1 --json r.json --contact-sheet s.png "
            "--progress none & p=$!; i=0; while ! grep -q '^first' out && [ $i -lt 300 ]; do "
            "sleep 0.1; i=$((i + 1)); done; sleep 1; kill -INT $p; wait $p"),
        4);
    assert_true(has(folder, "out", "\nfirst "));
    assert_true(number_of(folder, "r.json", "first", "frames") == frames);
    char *json = slurp(folder, "r.json");
    assert_non_null(strstr(strstr(json, "\"failures\""), "interrupted"));
    assert_int_equal(json[strlen(json) - 2], '}');
    free(json);
    assert_int_equal(cli_run(folder, "test -s s.png"), 0);
}

/* The bar is for terminals: a pseudo terminal as stderr gets it, a file does not. */
static void the_bar_is_for_terminals(void **state)
{
    enum { size = 1 << 16 };
    const char *folder = *state;
    assert_int_equal(cli_run(folder, "$B eval 'synth:easy?frames=30' 'synth:stop?frames=30'"), 0);
    char *err = slurp(folder, "err");
    assert_null(strchr(err, '\r'));
    assert_non_null(strstr(err, "60 frames in "));
    free(err);
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) || unlockpt(terminal)) {
        print_message("no pseudo terminals here\n");
        skip();
    }
    char command[512], *text = calloc(1, size);
    size_t used = 0;
    int slave = open(ptsname(terminal), O_RDWR | O_NOCTTY); /* stays, so that nothing is lost */
    assert_true(slave >= 0 && text);
    snprintf(command, sizeof command,
             "$B eval 'synth:easy?frames=80' 'synth:stop?frames=80' -j 2 2>%s", ptsname(terminal));
    assert_int_equal(cli_run(folder, command), 0);
    struct pollfd waiting = { terminal, POLLIN, 0 };
    while (used < size - 1 && poll(&waiting, 1, 0) > 0 && (waiting.revents & POLLIN)) {
        ssize_t got = read(terminal, text + used, size - 1 - used);
        assert_true(got > 0);
        used += (size_t)got;
    }
    assert_non_null(strstr(text, "of 2 sequences ["));
    assert_non_null(strstr(text, "frames/s"));
    assert_true(has(folder, "out", "\nmean "));
    close(slave);
    close(terminal);
    free(text);
}

/* The sheet: a title, and for each sequence its frames, four pictures wide and one more for each
 * folder of others' masks. */
static void the_sheet_has_all_columns(void **state)
{
    const char *folder = *state;
    struct bd_frame sheet = { 0 };
    int widths[2];
    char path[512];
    assert_int_equal(cli_run(folder, "$B eval 'synth:shadows?frames=30' --masks m "
                                     "--contact-sheet a.png -q --progress none"),
                     0);
    assert_int_equal(cli_run(folder, "$B eval 'synth:shadows?frames=30' --compare m "
                                     "--contact-sheet b.png -q --progress none"),
                     0);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%c.png", folder, 'a' + i);
        assert_int_equal(bd_picture_read(path, BD_RGB24, &sheet), BD_OK);
        widths[i] = sheet.width;
        assert_true(sheet.height > 6 * 240);
    }
    assert_true(widths[0] > 4 * 320 && widths[1] >= widths[0] + 320);
    /* the same masks look the same: the last column is the one before it */
    int step = widths[1] - widths[0], differ = 0;
    for (int y = 150; y < sheet.height - 20; y++)
        for (int x = widths[0] - 330; x < widths[0] - 20; x++)
            differ += memcmp(sheet.data + y * sheet.stride + 3 * x,
                             sheet.data + y * sheet.stride + 3 * (x + step), 3) != 0;
    assert_int_equal(differ, 0);
    bd_frame_destroy(&sheet);
    /* the whole of a perfect sequence fits on a small sheet */
    make_sequence(folder, "s", 1);
    assert_int_equal(cli_run(folder, "$B eval s " EXACT " --contact-sheet c.png -q"), 0);
    snprintf(path, sizeof path, "%s/c.png", folder);
    assert_int_equal(bd_picture_read(path, BD_RGB24, &sheet), BD_OK);
    assert_true(sheet.height < 240);
    bd_frame_destroy(&sheet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(results_do_not_depend_on_jobs),
        CLI_TEST(means_are_of_sequences),
        CLI_TEST(a_live_start_scores_less),
        CLI_TEST(own_masks_score_the_same),
        CLI_TEST(others_are_scored_by_the_same_rules),
        CLI_TEST(a_part_needs_the_masks_of_that_part),
        CLI_TEST(exported_masks_have_cdnet_names),
        CLI_TEST(same_names_are_told_apart),
        CLI_TEST(failures_leave_the_others),
        CLI_TEST(bad_options_end_it_at_once),
        CLI_TEST(nothing_that_is_read_is_replaced),
        CLI_TEST(interruption_keeps_what_is_scored),
        CLI_TEST(the_bar_is_for_terminals),
        CLI_TEST(the_sheet_has_all_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
