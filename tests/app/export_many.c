/* backdrop export of many inputs: pieces of one film, and films each by itself. */
#include "tests/app/cli_fixture.h"
#include "tests/support/quick.h"

#include <limits.h>

static void assert_line(const char *folder, int exit_status, const char *command, const char *words)
{
    char text[4096];
    int status = cli_run(folder, command);
    cli_slurp(folder, "err", text, sizeof text);
    if (status != exit_status || cli_lines(text) != 1 || !strstr(text, words))
        fail_msg("%s: exit %d, '%s' lacks '%s'", command, status, text, words);
}

/* film.mkv, of `frames` frames of the street, and its pieces a, b and c. */
static void make_pieces(const char *folder, int frames)
{
    char command[1024], path[PATH_MAX];
    if (system("ffmpeg -version >/dev/null 2>&1") != 0) {
        print_message("skipped: no ffmpeg command to make clips with\n");
        skip();
    }
    assert_non_null(getcwd(path, sizeof path));
    snprintf(command, sizeof command,
             "F='ffmpeg -nostdin -v error -y' && $F -i '%.400s/assets/street.mp4' -an -vf "
             "scale=160:90 -frames:v %d -c:v ffv1 film.mkv && "
             "cut() { $F -i film.mkv -vf \"select=between(n\\,$2\\,$3),setpts=PTS-STARTPTS\" "
             "-c:v ffv1 $1.mkv; } && cut a 0 46 && cut b 47 47 && cut c 48 %d",
             path, frames, frames);
    assert_int_equal(cli_run(folder, command), 0);
}

/* Masks, their numbers, and events are those of the film before it was cut. */
static void joined_pieces_are_the_film(void **state)
{
    static const char *const rows[] = { "", "--start 1.9 --duration 1.2",
                                        "--solver batch --window 10 --frames 60" };
    make_pieces(*state, 100);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char command[1024];
        snprintf(command, sizeof command,
                 "rm -rf w j && mkdir w j && "
                 "$B export film.mkv %s --mask w/%%04d.png --events w/e.csv --plate w/p.png -q && "
                 "$B export a.mkv b.mkv c.mkv --join %s --mask j/%%04d.png --events j/e.csv "
                 "--plate j/p.png -q && ls w | wc -l && diff -r w j",
                 rows[i], rows[i]);
        assert_int_equal(cli_run(*state, command), 0);
        char text[256];
        cli_slurp(*state, "out", text, sizeof text);
        assert_true(strtol(text, NULL, 10) >= 20);
    }
}

/* A pattern in quotes stands for the files that match it, by name. */
static void patterns_are_expanded(void **state)
{
    make_pieces(*state, 60);
    assert_int_equal(cli_run(*state, "mkdir 'in [1]' && cp a.mkv 'in [1]/p-1.mkv' && "
                                     "cp b.mkv 'in [1]/p-2.mkv' && cp c.mkv 'in [1]/p-3.mkv' && "
                                     "$B export film.mkv --events w.csv --json w.json -q && "
                                     "$B export 'in*/p-?.mkv' --join --events j.csv -q && "
                                     "cmp w.csv j.csv && "
                                     "$B export 'in [1]/p-1.mkv' --events p.csv -q"),
                     0);
    assert_line(*state, 2, "$B export 'q-*.mkv' --join --events e.csv",
                "backdrop: no file matches 'q-*.mkv'\n");
}

/* What is there of a film with bad pieces is written; each has its line, and so has the end. */
static void bad_pieces_lose_no_others(void **state)
{
    char text[4096];
    make_pieces(*state, 70);
    assert_int_equal(cli_run(*state, "$B export a.mkv gone.mkv b.mkv c.mkv --join --events e.csv "
                                     "--progress none"),
                     3);
    cli_slurp(*state, "err", text, sizeof text);
    assert_int_equal(cli_lines(text), 2);
    assert_non_null(strstr(text, "cannot open 'gone.mkv': No such file or directory; this piece"));
    assert_non_null(strstr(text, "1 of 4 pieces is missing or cut off, the first of them "
                                 "'gone.mkv' (after 70 frames)\n"));
    assert_int_equal(cli_run(*state, "$B export film.mkv --events w.csv -q && cmp e.csv w.csv"), 0);
    /* also where the end is not reached */
    assert_int_equal(cli_run(*state, "$B export a.mkv gone.mkv c.mkv --join --events f.csv -q "
                                     "--frames 60"),
                     3);
    cli_slurp(*state, "err", text, sizeof text);
    assert_non_null(strstr(text, "film of 3 pieces: finished, but 1 damaged pictures or pieces "));
    /* and where it is before the start, whose time it changes */
    assert_int_equal(cli_run(*state, "$B export a.mkv gone.mkv c.mkv --join --events g.csv -q "
                                     "--start 2"),
                     3);
    cli_slurp(*state, "err", text, sizeof text);
    assert_non_null(strstr(text, "1 of 3 pieces is missing or cut off"));
    assert_line(*state, 2, "$B export gone.mkv lost.mkv --join --mask m.mkv",
                "none of 2 pieces can be read: cannot open 'gone.mkv'");
    assert_line(*state, 2, "$B export a.mkv 'synth:easy?size=64x48' --join --mask m.mkv",
                "'synth:easy?size=64x48' is 64x48, the pieces before it are 160x90");
    assert_line(*state, 2, "$B export a.mkv /dev/video97 --join --mask m.mkv",
                "'/dev/video97' is a camera or a pipe");
    assert_line(*state, 2, "$B export a.mkv - --join --mask m.mkv", "'-' is a camera or a pipe");
    assert_int_equal(cli_run(*state, "test ! -e m.mkv && $B export a.mkv --join --mask m.mkv -q"),
                     0);
}

/* Each input gets the outputs that it gets alone, whatever runs at the same time. */
static void several_are_as_one_by_one(void **state)
{
    if (test_quick())
        skip();
    char text[4096];
    /* the bytes of a film depend on the number of threads of its encoder */
    assert_int_equal(
        cli_run(*state,
                "mkdir one && for s in easy sway noise; do N=one/${s} && "
                "$B export synth:$s?frames=20 --mask $N.mask.mp4 --events $N.csv --overlay "
                "${N}_%03d.png --contact-sheet $N.sheet.png --threads 1 -q || exit; done; "
                "S='synth:easy?frames=20 synth:sway?frames=20 synth:noise?frames=20' && "
                "E='--mask mask.mp4 --events .csv --overlay _%03d.png --contact-sheet sheet.png "
                "--threads 1' && "
                "$B export $S -o some/where $E -j 2 --progress plain && diff -r one some/where && "
                "$B export $S --output-dir again/ $E --jobs 1 -q && diff -r one again"),
        0);
    cli_slurp(*state, "err", text, sizeof text);
    assert_non_null(strstr(text, "3 inputs, 60 frames in "));
    assert_non_null(strstr(text, ", 2 at once, "));
    /* one input, too */
    assert_int_equal(cli_run(*state, "$B export synth:easy?frames=20 -o solo --events .csv -q && "
                                     "cmp solo/easy.csv "
                                     "one/easy.csv"),
                     0);
}

/* Inputs of one name get different outputs. */
static void names_differ(void **state)
{
    char text[4096];
    make_pieces(*state, 60);
    assert_int_equal(cli_run(*state, "mkdir x y && cp b.mkv x/v.mkv && cp b.mkv y/v.mkv && "
                                     "cp b.mkv y/v.1.mkv && mkdir y/n && "
                                     "ffmpeg -v error -i a.mkv y/n/in%03d.png && "
                                     "$B export x/v.mkv y/v.mkv y/v.mkv y/v.1.mkv 'y/n/in%03d.png' "
                                     "-o o --events e.csv -q && ls o"),
                     0);
    cli_slurp(*state, "out", text, sizeof text);
    assert_string_equal(text, "in.e.csv\nv.1.e.csv\nx-v.e.csv\ny-v-2.e.csv\ny-v.e.csv\n");
    assert_line(*state, 1, "$B export y/v.mkv y/v.1.mkv -o o --events .1.csv --plate .csv",
                "o/v.1.csv: would be an output of two inputs\n");
}

static void a_failure_leaves_the_others(void **state)
{
    char text[4096];
    assert_int_equal(cli_run(*state, "echo text > t.mp4 && $B export synth:easy?frames=20 t.mp4 "
                                     "gone.mp4 synth:sway?frames=20 -o o --events .csv -j 2 "
                                     "--progress none"),
                     3);
    cli_slurp(*state, "err", text, sizeof text);
    assert_int_equal(cli_lines(text), 3);
    assert_non_null(strstr(text, "backdrop: 't.mp4' is "));
    assert_non_null(strstr(text, "backdrop: cannot open 'gone.mp4': No such file"));
    assert_non_null(strstr(text, "4 inputs, 2 failed; 40 frames in "));
    assert_int_equal(cli_run(*state, "cat o/easy.csv o/sway.csv && "
                                     "test $(ls o | wc -l) = 2"),
                     0);
    assert_int_equal(cli_run(*state, "$B export t.mp4 gone.mp4 -o o --events .csv -q"), 2);
    cli_slurp(*state, "err", text, sizeof text);
    assert_int_equal(cli_lines(text), 2);
    /* an output that fails says whose it is */
    assert_int_equal(cli_run(*state, "$B export synth:easy?frames=20 synth:sway?frames=20 -o p "
                                     "--events .csv --mask m.nosuch -q"),
                     1);
    cli_slurp(*state, "err", text, sizeof text);
    assert_int_equal(cli_lines(text), 2);
    assert_non_null(strstr(text, "synth:easy?frames=20: --mask p/easy.m.nosuch"));
}

static void an_interruption_finalises_all(void **state)
{
    char text[4096];
    assert_int_equal(cli_run(*state, "$B export synth:easy?frames=9000 synth:sway?frames=9000 "
                                     "synth:noise?frames=9000 -o o --mask m.mkv -j 2 --progress "
                                     "none & P=$!; N=0; while test $N -lt 300 && "
                                     "test $(find o -size +50k 2>/dev/null | wc -l) -lt 2; do "
                                     "sleep 0.1; N=$((N+1)); done; kill -INT $P; wait $P"),
                     4);
    cli_slurp(*state, "err", text, sizeof text);
    assert_int_equal(cli_lines(text), 1);
    assert_non_null(strstr(text, "backdrop: interrupted; 0 of 3 inputs are done; the files hold "));
    assert_int_equal(cli_run(*state, "for s in easy sway; do $B export "
                                     "o/$s.m.mkv --events $s.csv -q || exit; "
                                     "done; test $(ls o | wc -l) = 2"),
                     0);
}

static void nothing_is_replaced_unasked(void **state)
{
    assert_int_equal(cli_run(*state, "mkdir o && echo old > o/sway.csv"), 0);
    assert_line(*state, 1, "$B export synth:easy?frames=20 synth:sway?frames=20 -o o --events .csv",
                "--events o/sway.csv: exists; give -y to replace it");
    /* asked before anything starts */
    assert_int_equal(cli_run(*state, "test $(ls o | wc -l) = 1 && "
                                     "$B export synth:easy?frames=20 synth:sway?frames=20 -o o "
                                     "--events .csv -q -y && grep -q peak_time "
                                     "o/sway.csv"),
                     0);
    assert_int_equal(cli_run(*state, "echo old > 'e%03d.csv'"), 0);
    assert_line(*state, 1, "$B export synth:easy?frames=20 --events 'e%03d.csv'",
                "--events e%03d.csv: exists; give -y to replace it");
    /* not even an input of another export, which -y allows to replace */
    make_pieces(*state, 60);
    assert_int_equal(cli_run(*state, "cp a.mkv a.mask.mkv"), 0);
    assert_line(*state, 1, "$B export a.mkv a.mask.mkv -o . --mask mask.mkv -y",
                "--mask ./a.mask.mkv: is the input itself");
    assert_line(*state, 1, "$B export a.mkv b.mkv c.mkv --join --mask c.mkv -y",
                "--mask c.mkv: is the input itself");
}

static void bad_usage_is_one_line(void **state)
{
    static const struct {
        const char *arguments, *words;
    } rows[] = {
        { "a.mp4 b.mp4 --mask m.mkv", "2 inputs: give --output-dir DIR to export each, or --join" },
        { "a.mp4 b.mp4 -o o", "no output asked for" },
        { "a.mp4 b.mp4 -o o --mask x/m.mkv", "--mask x/m.mkv: with --output-dir it is the end" },
        { "a.mp4 b.mp4 -o o --events -", "--events -: stdout is for one input, and these are 2" },
        { "a.mp4 b.mp4 -o /dev/null/o --mask m.mkv", "--output-dir /dev/null/o: Not a directory" },
        { "a.mp4 b.mp4 -o file --mask m.mkv", "--output-dir file: is no folder" },
        { "a.mp4 b.mp4 -o o%03d --mask m.png", "--output-dir o%03d: only names of pictures have" },
        { "a.mp4 --clips c%03d", "--clips c%03d: only names of pictures have a number" },
        { "a.mp4 b.mp4 -o", "--output-dir: its value DIR is missing" },
        { "a.mp4 b.mp4 --join -j 2 --mask m.mkv", "--jobs: belongs to several inputs" },
        { "a.mp4 b.mp4 --join --hwaccel cuda --mask m.mkv", "--hwaccel cuda: not with --join" },
        { "a.mp4 b.mp4 -o o --scan-only", "--scan-only: lists one input, and these are 2" },
        { "a.mp4 b.mp4 -o o --mask m.mkv --zone a=1,1,9,1,9,9", "--zone: does nothing without" },
        { "a.mp4 b.mp4 -o o -j 65 --mask m.mkv", "--jobs 65: must be 0..64" },
        { "a.mp4 b.mp4 -o o --mask m.mkv --codec nosuch", "--codec 'nosuch': no such" },
        { "a.mp4 b.mp4 -o o --mask m.mkv --overlay .m.mkv", "is the file of --mask too" },
    };
    assert_int_equal(cli_run(*state, ": > file"), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char command[512];
        snprintf(command, sizeof command, "$B export %s", rows[i].arguments);
        assert_line(*state, 1, command, rows[i].words);
    }
    assert_line(*state, 1, "$B a.mp4 b.mp4", "b.mp4: one argument too many");
    assert_line(*state, 1, "$B view a.mp4 --join", "--join: not an option of view");
    assert_int_equal(cli_run(*state, "test ! -e o"), 0);
}

/* Clips of all inputs share a folder; what lines count is told of each input. */
static void clips_and_lines_of_several(void **state)
{
    char text[4096];
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=100' 'synth:drift?frames=100' "
                                     "-o o --clips clips --line middle=160,0,160,239 "
                                     "--progress none && ls o/clips"),
                     0);
    cli_slurp(*state, "out", text, sizeof text);
    assert_non_null(strstr(text, "drift.0001.jpg\ndrift.0001.mp4\n"));
    assert_non_null(strstr(text, "easy.0001.jpg\neasy.0001.mp4\n"));
    cli_slurp(*state, "err", text, sizeof text);
    assert_non_null(strstr(text, "synth:easy?frames=100: line middle: "));
    assert_non_null(strstr(text, "synth:drift?frames=100: line middle: "));
    assert_non_null(strstr(text, "2 inputs, 200 frames in "));
    assert_non_null(strstr(text, " events\n"));
    assert_line(*state, 1,
                "$B export 'synth:easy?frames=100' 'synth:drift?frames=100' -o o "
                "--clips clips",
                "exists; give -y to replace it");
    /* Films that are joined are encoded. */
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=60' 'synth:easy?frames=60' "
                                     "--join -o j --clips /$PWD/k --events .csv -q && ls k j"),
                     0);
    cli_slurp(*state, "out", text, sizeof text);
    assert_non_null(strstr(text, "easy.0001.mp4\n"));
    assert_non_null(strstr(text, "easy.csv\n"));
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=60' 'synth:easy?frames=60' "
                                     "--join --clips l --clip-mode copy -q"),
                     1);
    cli_slurp(*state, "err", text, sizeof text);
    assert_non_null(strstr(text, "pieces that are joined are not copied"));
}

static void help_names_the_options(void **state)
{
    char text[16384];
    assert_int_equal(cli_run(*state, "$B export --help"), 0);
    cli_slurp(*state, "out", text, sizeof text);
    static const char *const wanted[] = { "backdrop export INPUT... ", "-o, --output-dir DIR",
                                          "--join ", "-j, --jobs N", "'rec-*.mp4'" };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(text, wanted[i]))
            fail_msg("the help lacks '%s'", wanted[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(joined_pieces_are_the_film),
        CLI_TEST(patterns_are_expanded),
        CLI_TEST(bad_pieces_lose_no_others),
        CLI_TEST(several_are_as_one_by_one),
        CLI_TEST(names_differ),
        CLI_TEST(a_failure_leaves_the_others),
        CLI_TEST(an_interruption_finalises_all),
        CLI_TEST(nothing_is_replaced_unasked),
        CLI_TEST(bad_usage_is_one_line),
        CLI_TEST(clips_and_lines_of_several),
        CLI_TEST(help_names_the_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
