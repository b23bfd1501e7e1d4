/* The program as a user meets it: exit statuses, one line for each mistake, stdout against stderr.
 */
#include "tests/app/cli_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <time.h>

#include "video/synth/synth.h"

static void help_and_version_go_to_stdout(void **state)
{
    static const char *const commands[] = {
        "$B --help",    "$B help",        "$B help export",  "$B view --help",
        "$B export -h", "$B eval --help", "$B bench --help", "$B info --help",
        "$B --version", "$B version",     "$B info",
    };
    char text[16384];
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        assert_int_equal(cli_run(*state, commands[i]), 0);
        cli_slurp(*state, "out", text, sizeof text);
        assert_true(strlen(text) > 10);
        cli_slurp(*state, "err", text, sizeof text);
        assert_string_equal(text, "");
    }
}

static void info_names_what_there_is(void **state)
{
    char text[16384];
    assert_int_equal(cli_run(*state, "$B info"), 0);
    cli_slurp(*state, "out", text, sizeof text);
    static const char *const wanted[] = { "backdrop ", "cpu",     "libavcodec", "SDL",
                                          "BLAS",      "Cameras", "synth:NAME", ".mkv" };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_non_null(strstr(text, wanted[i]));
    for (const struct bd_synth_scene *scene = bd_synth_scenes; scene->name; scene++)
        assert_non_null(strstr(text, scene->description));
}

/* Each bad start gives exactly one line on stderr, with these words in it, and its exit status. */
static void bad_input_is_one_line(void **state)
{
    static const struct {
        const char *command;
        int exit_status;
        const char *word;
    } rows[] = {
        { "$B", 1, "INPUT missing" },
        { "$B export", 1, "INPUT missing" },
        { "$B export in.mkv", 1, "no output asked for" },
        { "$B export in.mkv --mask m.mkv --windw 3", 1, "did you mean --window?" },
        { "$B export in.mkv --mask m.mkv --window 1", 1, "must be 2..1000" },
        { "$B export in.mkv --mask m.mkv --scale 99999x99999", 1, "16..16384" },
        { "$B export in.mkv --mask m.mkv --backend abacus", 1, "auto, cpu, cuda" },
        { "$B export nosuch.mp4 --mask m.mkv", 2, "nosuch.mp4" },
        { "$B export . --mask m.mkv", 2, "folder" },
        { "$B export text.mp4 --mask m.mkv", 2, "text.mp4" },
        { "$B export empty.mp4 --mask m.mkv", 2, "empty.mp4" },
        { "$B export stub.mp4 --mask m.mkv", 2, "stub.mp4" },
        { "$B export /dev/video97 --mask m.mkv", 2, "/dev/video97" },
        { "$B export synth:nosuch --mask m.mkv", 2,
          "'synth:nosuch': no such scene; there are easy, shadows, drift, sway, noise, stop, "
          "switch, street, shake, tree, water, rain, night, jitter, crossing, sun\n" },
        { "$B export in.mkv --input-format nosuch --mask m.mkv", 2, "nosuch" },
        { "$B export in.mkv --mask nosuch/m.mkv", 1, "nosuch/m.mkv" },
        { "$B export in.mkv --mask m.nosuch", 1, "m.nosuch" },
        { "$B export in.mkv --mask m.mkv --codec nosuch", 1, "--codec 'nosuch': no such video" },
        { "$B export in.mkv --mask m%03d.png --codec nosuch", 1, "--codec 'nosuch': no such" },
        { "$B export in.mkv --events e.csv --codec ffv1", 1,
          "--codec: does nothing without a film" },
        { "$B export in.mkv --events e.csv --shadows", 1,
          "--shadows: does nothing without --mask" },
        { "$B export in.mkv --mask m.mkv --mask-codec aac", 1, "--mask-codec 'aac': no such" },
        { "$B export in.mkv --mask m.mkv --overlay o.mkv --overlay-codec nosuch", 1,
          "--overlay-codec 'nosuch': no such video encoder" },
        { "$B export in.mkv --mask m.mkv --overlay-codec ffv1", 1,
          "--overlay-codec: does nothing without --overlay" },
        { "$B export in.mkv --mask m%03d.pgm --mask-codec ffv1", 1,
          "--mask m%03d.pgm: a .pgm file cannot hold a picture encoded by ffv1" },
        { "$B export in.mkv --mask m.mkv --mask-codec mpeg4", 1,
          "--mask m.mkv: encoder mpeg4 cannot keep every pixel" },
        { "$B export in.mkv --mask m.mkv --device 0 --backend cpu", 1, "--device: chooses a GPU" },
        { "$B export in.mkv --events e.txt", 1, ".csv or .json" },
        { "$B export in.mkv --events nosuch/e.csv", 1, "nosuch/e.csv" },
        { "$B export in.mkv --tracks t.xml", 1,
          "--tracks t.xml: must end in .txt, .csv or .json, or be - for stdout\n" },
        { "$B export in.mkv --tracks nosuch/t.csv", 1, "nosuch/t.csv" },
        { "$B export in.mkv --tracks in.mkv -y", 1, "is the input itself" },
        { "$B export in.mkv --tracks - --json -", 1,
          "--json -: --tracks has stdout; give one of them a file\n" },
        { "$B export in.mkv --mask m.mkv --boxes", 1,
          "--boxes: does nothing without --overlay, --timelapse, or --clips that" },
        { "$B export in.mkv --mask in.mkv -y", 1, "is the input itself" },
        { "$B export in.mkv --mask link.mkv -y", 1, "is the input itself" },
        { "$B export p%04d.png --plate p0002.png -y", 1, "one of its pictures" },
        { "$B export p%04d.png --plate ./p0002.png -y", 1, "one of its pictures" },
        { "$B export p%04d.png --plate p9999.png -y", 1, "one of its pictures" },
        { "$B export p%04d.png --background p%d.png -y", 1, "one of its pictures" },
        { "$B export p%04d.png --plate plink.png -y", 1, "one of its pictures" },
        { "$B export in.mkv --roi p0001.png --plate p0001.png -y", 1, "or the region" },
        { "$B export in.mkv --mask m.mkv --overlay m.mkv", 1, "is the file of --mask too" },
        { "$B export p%04d.png --roi plink.png --mask p%04d.png -y", 1, "one of its pictures" },
        { "$B export in.mkv --roi p0002.png --mask p%04d.png -y", 1, "or the region" },
        { "$B export rest.mkv.part --mask rest.mkv", 1,
          "--mask rest.mkv: rest.mkv.part, as which it is written, is the input itself" },
        { "$B export in.mkv --mask q%04d.png --overlay q%d.png", 1,
          "--overlay q%d.png: has a name of --mask too\n" },
        { "$B export in.mkv --mask q%04d.png --plate q1000.png", 1,
          "--plate q1000.png: has a name of --mask too\n" },
        { "$B export in.mkv --mask text.mp4", 1, "exists; give -y" },
        { "$B export in.mkv --mask text.mp4 -n", 1, "exists; give -y" },
        { "$B export in.mkv --mask m.mkv --roi nosuch.png", 1, "nosuch.png" },
        { "$B export in.mkv --mask m.mkv --scale 640x480", 1, "larger than the input" },
        { "$B eval", 1, "DIR missing" },
        /* FFmpeg 6.1 takes no playlist without a name: it is not a picture, then. */
        { "$B export in.mkv --mask m.mkv --roi list.m3u8", 1, "--roi list.m3u8: is " },
        { "$B export in.mkv --mask m.mkv --roi list.txt", 1, "is a list of other files (concat)" },
        { "$B export -dash.mkv --mask m.mkv", 1,
          "-dash.mkv: unknown option; the file is given as -- -dash.mkv\n" },
        { "$B exprot in.mkv --mask m.mkv", 1, "exprot: no such command; did you mean export?\n" },
        { "$B eval -q nosuch", 2, "nosuch" },
        { "$B eval nosuch", 2, "nosuch: No such file" },
        { "$B bench nosuch", 1, "no such suite" },
        { "$B info now", 1, "too many" },
    };
    char text[4096];
    assert_int_equal(
        cli_run(*state,
                "echo hello > text.mp4; : > empty.mp4; "
                "$B export 'synth:easy?frames=30' --overlay in.mkv && "
                "$B export in.mkv --overlay whole.mp4 && "
                "head -c 500 whole.mp4 > stub.mp4; ln -s in.mkv link.mkv; "
                "cp in.mkv ./-dash.mkv; cp in.mkv rest.mkv.part; printf 'ffconcat version 1.0\\n"
                "file in.mkv' >list.txt; printf '#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n"
                "in.mkv\n#EXT-X-ENDLIST\n' >list.m3u8; "
                "$B export 'synth:easy?frames=3' --background p%04d.png && "
                "ln -s p0003.png plink.png"),
        0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int exit_status = cli_run(*state, rows[i].command);
        cli_slurp(*state, "err", text, sizeof text);
        if (exit_status != rows[i].exit_status || cli_lines(text) != 1 ||
            !strstr(text, rows[i].word))
            print_error("%s: status %d, stderr: %s", rows[i].command, exit_status, text);
        assert_int_equal(exit_status, rows[i].exit_status);
        assert_int_equal(cli_lines(text), 1);
        assert_non_null(strstr(text, rows[i].word));
        assert_memory_equal(text, "backdrop: ", 10);
        cli_slurp(*state, "out", text, sizeof text);
        assert_string_equal(text, "");
    }
    cli_slurp(*state, "text.mp4", text, sizeof text);
    assert_string_equal(text, "hello\n"); /* refused, so not touched */
}

/* What help says of a name that begins with a dash, and of the command. */
static void dashes_and_late_commands(void **state)
{
    assert_int_equal(cli_run(*state, "$B -q export 'synth:easy?frames=3' --overlay -dash.mkv"), 0);
    assert_int_equal(cli_run(*state, "$B export --events e.csv -- -dash.mkv && test -s e.csv"), 0);
    assert_int_equal(cli_run(*state, "$B --help export | grep -q -e '-- -file.mp4'"), 0);
}

/* A picture's number is that of the frame in the input, as masks that are scored and events have
 * it, and help says so. */
static void pictures_have_the_number_of_their_frame(void **state)
{
    char text[4096];
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=60' --start 2 --mask m%03d.png "
                                     "--events e.json -q"),
                     0);
    assert_int_equal(cli_run(*state, "echo m*.png"), 0);
    cli_slurp(*state, "out", text, sizeof text);
    assert_string_equal(text, "m051.png m052.png m053.png m054.png m055.png m056.png m057.png "
                              "m058.png m059.png m060.png\n");
    cli_slurp(*state, "e.json", text, sizeof text);
    assert_non_null(strstr(text, "\"first_frame\": 50,"));
    assert_int_equal(cli_run(*state, "$B export --help | tr '\\n' ' ' | grep -q "
                                     "'number is that of the frame in the input, counted from 1'"),
                     0);
}

/* Faults that show while it runs: what could be written is there, one line, status 3. */
static void faults_in_mid_run(void **state)
{
    char text[4096];
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=80' --overlay in.mkv"), 0);

    assert_int_equal(cli_run(*state, "$B export in.mkv -q --events e.csv --mask /dev/full"), 1);
    assert_int_equal(cli_run(*state, "$B export in.mkv -q --events /dev/full"), 1);
    assert_int_equal(cli_run(*state, "ln -s /dev/full full.csv; ln -s /dev/full full.mkv"), 0);
    assert_int_equal(cli_run(*state, "$B export in.mkv -q --events full.csv"), 3);
    cli_slurp(*state, "err", text, sizeof text);
    assert_int_equal(cli_lines(text), 1);
    assert_non_null(strstr(text, "no space left"));
    int full = cli_run(*state, "$B export in.mkv -q --mask full.mkv --events e.csv");
    cli_slurp(*state, "err", text, sizeof text);
    assert_int_equal(cli_lines(text), 1);
    assert_non_null(strstr(text, "full.mkv"));
    assert_true(full == 1 || full == 3); /* where the container writes its head at once, 1 */

    /* the middle of the video is zeroed */
    assert_int_equal(cli_run(*state, "cp in.mkv bad.mkv; size=$(stat -c %s in.mkv); "
                                     "dd if=/dev/zero of=bad.mkv bs=1 conv=notrunc "
                                     "seek=$((size / 2)) count=$((size / 4)) 2>/dev/null"),
                     0);
    assert_int_equal(cli_run(*state, "$B export bad.mkv -q --mask bad_mask.mkv"), 3);
    cli_slurp(*state, "err", text, sizeof text);
    assert_int_equal(cli_lines(text), 1);
    assert_non_null(strstr(text, "bad.mkv"));
    assert_int_equal(cli_run(*state, "$B export bad_mask.mkv -q --events again.csv"), 0);
}

/* Until the file is there, at most a minute. */
static void wait_for(const char *folder, const char *name)
{
    struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (int i = 0; i < 1200 && access(path, F_OK); i++)
        nanosleep(&pause, NULL);
    assert_int_equal(access(path, F_OK), 0);
}

/* Starts an endless-looking export, waits until frames are written, and sends SIGINT. */
static void interrupts_leave_playable_files(void **state)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    const char *program = getenv("BACKDROP");
    if (!program || !*program) {
        skip();
        return;
    }
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        char text[4096];
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            int err = -1;
            if (chdir(*state) == 0)
                err = open("err", O_WRONLY | O_CREAT | O_TRUNC, 0666);
            dup2(err, STDERR_FILENO);
            execl(program, program, "export", "synth:easy?frames=1000000", "--mask", "m.mkv",
                  "--overlay", "o.mp4", "--background", "b%04d.png", "-q", "-y", "--memory", "1",
                  (char *)NULL);
            _exit(127);
        }
        wait_for(*state, "b0008.png");
        int status;
        assert_int_equal(kill(child, signals[i]), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 4);
        cli_slurp(*state, "err", text, sizeof text);
        assert_int_equal(cli_lines(text), 1);
        assert_non_null(strstr(text, "interrupted"));
        assert_int_equal(cli_run(*state, "rm b*.png; $B export m.mkv -q -y --events m.csv && "
                                         "$B export o.mp4 -q -y --events o.csv"),
                         0);
    }
}

/* nohup; a limit on the size of files; and what is left after kill -9. */
static void nothing_is_lost(void **state)
{
    char text[4096];
    assert_int_equal(cli_run(*state,
                             "rm -f m.mkv; (trap '' HUP; exec $B export 'synth:easy?frames=150' "
                             "--mask m.mkv -q) & P=$!; "
                             "while ! test -e m.mkv.part; do sleep 0.05; done; "
                             "kill -HUP $P; wait $P"),
                     0);
    assert_int_equal(cli_run(*state, "rm -f o.mp4; ulimit -f 100; "
                                     "$B export 'synth:easy?frames=1000' --overlay o.mp4 -q"),
                     3);
    cli_slurp(*state, "err", text, sizeof text);
    assert_int_equal(cli_lines(text), 1);
    assert_non_null(strstr(text, "o.mp4: cannot be written: File too large"));
    assert_int_equal(cli_run(*state, "printf old >e.json; ulimit -f 1; "
                                     "$B eval 'synth:easy?frames=5&size=64x48' --json e.json -q"),
                     3);
    assert_int_equal(cli_run(*state, "test $(cat e.json) = old"), 0);
    assert_int_equal(cli_run(*state, "$B export o.mp4 -q -y --events o.csv; test $? = 3"), 0);
    cli_slurp(*state, "err", text, sizeof text);
    /* FFmpeg 4.4 hands out the pictures that are not there as damaged ones. */
    assert_true(strstr(text, "ends early") || strstr(text, "cut off") || strstr(text, "damaged"));
    assert_int_equal(
        cli_run(*state,
                "rm -f *.png o.m*; printf old >m.mp4; "
                "$B export 'synth:easy?frames=1000000&size=160x120' --mask m.mp4 --overlay o.mov "
                "--background b%04d.png --memory 1 -q -y & P=$!; "
                "while ! test -e b0300.png; do sleep 0.1; done; kill -9 $P; wait $P; "
                "test $(cat m.mp4) = old && for F in m.mp4 o.mov; do "
                "$B export $F.part --background '%03d.png' -q; test -e 200.png || exit 9; "
                "rm ???.png; done"),
        0);
}

/* SIGINT while all frames of a stream are held back, and more might come: what has come is written.
 */
static void an_interrupted_start_is_written(void **state)
{
    char text[4096];
    int status = cli_run(
        *state, "$B export 'synth:easy?frames=300&size=160x120' --overlay film.mkv -q && "
                "mkfifo in || exit 1; { cat film.mkv; : >all; exec sleep 60; } >in & W=$!; "
                "$B export - --mask m.mkv --background b%04d.png --start-delay 60 --progress none "
                "<in & P=$!; while ! test -e all; do sleep 0.1; done; sleep 1; ls >listing; "
                "kill -INT $P; wait $P; R=$?; kill $W; exit $R");
    assert_int_equal(status, 4);
    cli_slurp(*state, "listing", text, sizeof text);
    assert_null(strstr(text, "b0001.png")); /* it did hold them back */
    cli_slurp(*state, "err", text, sizeof text);
    const char *count = strstr(text, "interrupted; the files hold ");
    assert_non_null(count);
    /* the decoder keeps a few */
    assert_in_range(strtol(count + strlen("interrupted; the files hold "), NULL, 10), 250, 300);
    assert_int_equal(cli_run(*state, "test -e b0250.png && $B export m.mkv -q --events e.csv"), 0);
}

static void progress_goes_to_stderr_only_when_wanted(void **state)
{
    char text[4096];
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=20' --events e.csv"), 0);
    cli_slurp(*state, "err", text, sizeof text);
    assert_non_null(strstr(text, "20 frames in "));
    assert_non_null(strstr(text, "event"));
    cli_slurp(*state, "out", text, sizeof text);
    assert_string_equal(text, "");
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=20' --events e.csv -y -q"), 0);
    cli_slurp(*state, "err", text, sizeof text);
    assert_string_equal(text, "");
    assert_int_equal(cli_run(*state, "$B bench svd --quick --json b.json -q"), 0);
    cli_slurp(*state, "b.json", text, sizeof text);
    static const char *const keys[] = { "suite", "case",     "backend",      "method", "m",
                                        "n",     "ms",       "floor_ms",     "peer",   "peer_ms",
                                        "ratio", "residual", "orthogonality" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char key[32];
        snprintf(key, sizeof key, "\"%s\": ", keys[i]);
        assert_non_null(strstr(text, key));
    }
    assert_int_equal(cli_run(*state, "$B bench svd --quick --json b.json -q -n"), 1);
    assert_int_equal(cli_run(*state, "$B bench svd --quick --json no/b.json -q"), 1);
    cli_slurp(*state, "err", text, sizeof text);
    assert_non_null(strstr(text, "--json no/b.json: its folder"));
    assert_int_equal(cli_run(*state, "printf old >b.json; (trap '' XFSZ; ulimit -f 0; "
                                     "exec $B bench svd --quick --json b.json -q)"),
                     3);
    assert_int_equal(cli_run(*state, "test $(cat b.json) = old && ! test -e b.json.part"), 0);
    assert_int_equal(cli_run(*state, "$B bench svd --quick >/dev/full"), 3);
    cli_slurp(*state, "err", text, sizeof text);
    assert_non_null(strstr(text, "stdout cannot be written"));
}

/* Where there is too little address space, a command ends at once with one line (or a few, of the
 * encoder's), and never waits. SIGKILL because the program handles SIGTERM. */
static void little_memory_is_an_error(void **state)
{
#ifdef __SANITIZE_ADDRESS__
    print_message("skipped: AddressSanitizer needs terabytes of address space\n");
    (void)state;
#else
    static const char *const commands[] = {
        "--version",
        "info",
        "export 'synth:easy?frames=5&size=64x48' --events e.csv -y",
        "eval 'synth:easy?frames=5&size=64x48' 'synth:drift?frames=5&size=64x48' -j 2",
        "bench svd --quick -q",
    };
    char line[256], text[16384];
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        for (int kilobytes = 100000; kilobytes <= 700000; kilobytes += 50000) {
            snprintf(line, sizeof line, "(ulimit -v %d; exec timeout -s KILL 60 $B %s)", kilobytes,
                     commands[i]);
            int status = cli_run(*state, line);
            cli_slurp(*state, "err", text, sizeof text);
            if (status > 128 || (status != 0 && cli_lines(text) == 0))
                print_error("%s: status %d\n%s", line, status, text);
            assert_true(status <= 127); /* not ended by a signal */
            assert_true(status == 0 || cli_lines(text) > 0);
        }
#endif
}

/* OpenBLAS begins with one thread, but the program has all processors, and the bench too. */
static void all_processors_are_used(void **state)
{
    char text[8192], threads[64];
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    assert_int_equal(cli_run(*state, "$B bench svd --quick -q --json b.json"), 0);
    cli_slurp(*state, "b.json", text, sizeof text);
    if (!strstr(text, "\"blas_threads\": 0\n")) { /* 0: not OpenBLAS */
        snprintf(threads, sizeof threads, "\"blas_threads\": %d\n", CPU_COUNT(&set));
        assert_non_null(strstr(text, threads));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(help_and_version_go_to_stdout),
        CLI_TEST(info_names_what_there_is),
        CLI_TEST(bad_input_is_one_line),
        CLI_TEST(dashes_and_late_commands),
        CLI_TEST(pictures_have_the_number_of_their_frame),
        CLI_TEST(faults_in_mid_run),
        CLI_TEST(interrupts_leave_playable_files),
        CLI_TEST(nothing_is_lost),
        CLI_TEST(an_interrupted_start_is_written),
        CLI_TEST(progress_goes_to_stderr_only_when_wanted),
        CLI_TEST(little_memory_is_an_error),
        CLI_TEST(all_processors_are_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
