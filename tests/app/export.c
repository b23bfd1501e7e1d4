/* backdrop export: what is written is read again, with the same frames and times. */
#include "tests/app/cli_fixture.h"

#include "tests/support/quick.h"
#include "video/input/reader.h"
#include "video/synth/synth.h"

/* Times and count of a video. */
struct stream {
    int64_t count;
    double times[512];
    int width, height;
};

static void read_stream(const char *folder, const char *name, struct stream *stream)
{
    char path[512];
    struct bd_reader *reader = NULL;
    struct bd_frame frame = { 0 };
    struct bd_reader_options options = { .format = BD_GRAY8 };
    const char *input = name;
    if (*name != '/' && strncmp(name, "synth:", 6) != 0) {
        snprintf(path, sizeof path, "%s/%s", folder, name);
        input = path;
    }
    memset(stream, 0, sizeof *stream);
    assert_int_equal(bd_reader_open(&reader, input, &options), BD_OK);
    const struct bd_reader_info *info = bd_reader_get_info(reader);
    stream->width = info->width;
    stream->height = info->height;
    while (bd_reader_read(reader, &frame) == BD_OK) {
        assert_true(stream->count < 512);
        stream->times[stream->count++] =
            (double)frame.pts * (double)info->time_base.num / (double)info->time_base.den;
    }
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
}

static void assert_same_times(const char *folder, const char *a, const char *b, double tolerance)
{
    static struct stream first, second;
    read_stream(folder, a, &first);
    read_stream(folder, b, &second);
    assert_int_equal(first.count, second.count);
    assert_int_equal(first.width, second.width);
    assert_int_equal(first.height, second.height);
    for (int64_t i = 0; i < first.count; i++) {
        double d = first.times[i] - second.times[i];
        if (d > tolerance || d < -tolerance)
            print_error("%s, %s: frame %d at %.6f and %.6f\n", a, b, (int)i, first.times[i],
                        second.times[i]);
        assert_true(d <= tolerance && d >= -tolerance);
    }
}

static void all_outputs_of_a_scene(void **state)
{
    char text[8192];
    assert_int_equal(cli_run(*state,
                             "$B export 'synth:easy?frames=60' --mask m.mkv --foreground f.mov "
                             "--background b.mp4 --overlay o.webm --plate p.png --events e.csv "
                             "--contact-sheet c.png --progress none"),
                     0);
    static const char *const videos[] = { "m.mkv", "f.mov", "b.mp4", "o.webm" };
    for (size_t i = 0; i < sizeof videos / sizeof *videos; i++)
        assert_same_times(*state, "synth:easy?frames=60", videos[i], 0.0011);
    static struct stream picture;
    read_stream(*state, "p.png", &picture);
    assert_int_equal(picture.width, 320);
    assert_int_equal(picture.height, 240);
    read_stream(*state, "c.png", &picture);
    assert_true(picture.width > 4 * 320 && picture.height > 5 * 240);
    cli_slurp(*state, "e.csv", text, sizeof text);
    assert_memory_equal(text, "event,start,end,first_frame,last_frame,peak_time,", 49);
    assert_true(cli_lines(text) >= 2);
    double start, end, peak, fraction, mean;
    int number, first, last, x, y, width, height;
    assert_int_equal(sscanf(strchr(text, '\n') + 1, "%d,%lf,%lf,%d,%d,%lf,%lf,%lf,%d,%d,%d,%d",
                            &number, &start, &end, &first, &last, &peak, &fraction, &mean, &x, &y,
                            &width, &height),
                     12);
    assert_int_equal(number, 1);
    assert_true(start <= peak && peak <= end && end <= 60 / 25.0);
    assert_true(first <= last && last < 60);
    assert_true(mean > 0 && mean <= fraction && fraction < 1);
    assert_true(x >= 0 && y >= 0 && x + width <= 320 && y + height <= 240 && width > 0);
}

/* Shares of the true moving pixels and of the true shadows of the scene "shadows" that have
 * `moving` and `shadow` in the masks of film `name`; nothing else but 0 is in there. Shadows
 * against objects are thin: they are judged over all frames. */
static void judge_labels(const char *folder, const char *name, double *moving, double *shadow)
{
    char path[512];
    int64_t tally[2][2] = { { 0 } };
    struct bd_reader *reader = NULL;
    struct bd_frame frame = { 0 }, truth = { 0 };
    struct bd_reader_options options = { .format = BD_GRAY8 };
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(bd_reader_open(&reader, path, &options), BD_OK);
    for (int64_t i = 0; bd_reader_read(reader, &frame) == BD_OK; i++) {
        assert_int_equal(bd_synth_render(bd_synth_find("shadows"), 0, 0, 1, i, NULL, &truth),
                         BD_OK);
        for (int y = 0; y < frame.height; y++)
            for (int x = 0; x < frame.width; x++) {
                int label = frame.data[y * frame.stride + x];
                int wanted = truth.data[y * truth.stride + x];
                assert_true(label == 0 || label == 127 || label == 255);
                if (wanted)
                    tally[wanted == 50][label == (wanted == 50 ? 127 : 255)]++;
            }
    }
    *moving = (double)tally[0][1] / (double)(tally[0][0] + tally[0][1]);
    *shadow = (double)tally[1][1] / (double)(tally[1][0] + tally[1][1]);
    bd_frame_destroy(&frame);
    bd_frame_destroy(&truth);
    bd_reader_close(&reader);
}

static void shadows_are_marked_on_request(void **state)
{
    double moving, shadow;
    assert_int_equal(cli_run(*state, "$B export 'synth:shadows?frames=60' --shadows --mask s.mkv "
                                     "--progress none"),
                     0);
    judge_labels(*state, "s.mkv", &moving, &shadow);
    print_message("%.3f of what moves, %.3f of the shadows\n", moving, shadow);
    assert_true(moving > 0.95);
    assert_true(shadow > 0.7);
    assert_int_equal(cli_run(*state, "$B export 'synth:shadows?frames=60' --shadows --mask t.mkv "
                                     "--scale 280x210 --progress none"),
                     0);
    judge_labels(*state, "t.mkv", &moving, &shadow);
    print_message("%.3f of what moves, %.3f of the shadows\n", moving, shadow);
    assert_true(moving > 0.9);
    assert_true(shadow > 0.5);
    assert_int_equal(cli_run(*state, "$B export 'synth:shadows?frames=60' --mask u.mkv "
                                     "--progress none"),
                     0);
    judge_labels(*state, "u.mkv", &moving, &shadow);
    assert_true(shadow == 0);
}

static void masks_are_exact_and_binary(void **state)
{
    char path[512];
    struct bd_reader *reader = NULL;
    struct bd_frame frame = { 0 };
    struct bd_reader_options options = { .format = BD_GRAY8 };
    static const char *const names[] = { "m.mkv", "m.mp4", "m.avi", "m%03d.png" };
    char command[512];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int64_t white = 0, count = 0;
        snprintf(command, sizeof command, "$B export 'synth:easy?frames=30' --mask %s -q",
                 names[i]);
        assert_int_equal(cli_run(*state, command), 0);
        snprintf(path, sizeof path, "%s/%s", (char *)*state, names[i]);
        assert_int_equal(bd_reader_open(&reader, path, &options), BD_OK);
        while (bd_reader_read(reader, &frame) == BD_OK) {
            count++;
            for (int y = 0; y < frame.height; y++)
                for (int x = 0; x < frame.width; x++) {
                    uint8_t value = frame.data[y * frame.stride + x];
                    assert_true(value == 0 || value == 255);
                    white += value == 255;
                }
        }
        assert_int_equal(count, 30);
        assert_true(white > 0);
        bd_reader_close(&reader);
    }
    bd_frame_destroy(&frame);
}

/* The encoder of a film, as its file names it; "" where there is no such file. */
static void read_codec(const char *folder, const char *name, char *codec, size_t size)
{
    char path[512];
    struct bd_reader *reader = NULL;
    struct bd_reader_options options = { .format = BD_GRAY8 };
    snprintf(path, sizeof path, "%s/%s", folder, name);
    *codec = 0;
    if (bd_reader_open(&reader, path, &options))
        return;
    snprintf(codec, size, "%s", bd_reader_get_info(reader)->codec);
    bd_reader_close(&reader);
}

/* --codec is for films without one of their own, and leaves pictures alone. */
static void codecs_are_chosen_for_each_output(void **state)
{
    static const struct {
        const char *options;
        struct {
            const char *name, *codec;
        } outputs[4];
    } rows[] = {
        { "--codec ffv1 --background b.mkv --mask m%06d.pgm",
          { { "b.mkv", "ffv1" }, { "m%06d.pgm", "pgm" } } },
        { "--codec ffv1 --mask m.mkv --foreground f.mkv --background b.mkv --overlay o.mkv "
          "--background-codec mpeg4 --overlay-codec mjpeg --foreground-codec png",
          { { "m.mkv", "ffv1" }, { "f.mkv", "png" }, { "b.mkv", "mpeg4" }, { "o.mkv", "mjpeg" } } },
        { "--mask m.mkv --mask-codec png --overlay o%03d.png --overlay-codec png "
          "--background b.mkv --codec mpeg4 --plate p.png --contact-sheet s.jpg",
          { { "m.mkv", "png" },
            { "o%03d.png", "png" },
            { "b.mkv", "mpeg4" },
            { "p.png", "png" } } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char command[512], codec[64];
        snprintf(command, sizeof command, "$B export 'synth:easy?frames=12' %s -q",
                 rows[i].options);
        assert_int_equal(cli_run(*state, command), 0);
        for (size_t j = 0; j < 4 && rows[i].outputs[j].name; j++) {
            read_codec(*state, rows[i].outputs[j].name, codec, sizeof codec);
            assert_string_equal(codec, rows[i].outputs[j].codec);
        }
        assert_int_equal(cli_run(*state, "rm -f *.mkv *.p?m *.png *.jpg"), 0);
    }
}

/* True times of a variable frame rate come through. */
static void variable_frame_rate_is_kept(void **state)
{
    assert_int_equal(cli_run(*state, "ffmpeg -v error -f lavfi -i testsrc=s=160x120:r=25:d=4 "
                                     "-vf \"select='not(mod(n,3))+gt(mod(n,10),7)'\" -vsync vfr "
                                     "-c:v ffv1 in.mkv"),
                     0);
    assert_int_equal(cli_run(*state, "$B export in.mkv --mask m.mkv --overlay o.mp4 -q"), 0);
    assert_same_times(*state, "in.mkv", "m.mkv", 0.0006);
    assert_same_times(*state, "in.mkv", "o.mp4", 0.0011);
    const char *data = getenv("BACKDROP_DATA");
    char command[1024], path[512];
    snprintf(path, sizeof path, "%s/videos/traffic_camera_vfr.mp4", data ? data : "");
    if (!data || access(path, R_OK)) {
        print_message("no traffic_camera_vfr.mp4 in BACKDROP_DATA\n");
        return;
    }
    snprintf(command, sizeof command,
             "$B export '%s' --mask real.mp4 --frames 60 --scale 320x180 -q", path);
    assert_int_equal(cli_run(*state, command), 0);
    static struct stream in, out;
    read_stream(*state, "real.mp4", &out);
    assert_int_equal(out.count, 60);
    snprintf(command, sizeof command, "ffmpeg -v error -i '%s' -frames:v 60 -c copy cut.mp4", path);
    assert_int_equal(cli_run(*state, command), 0);
    read_stream(*state, "cut.mp4", &in);
    double shift = in.times[0] - out.times[0];
    for (int i = 0; i < 60 && i < in.count; i++)
        assert_true(in.times[i] - out.times[i] - shift < 0.0011 &&
                    in.times[i] - out.times[i] - shift > -0.0011);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        print_error("%s is not in\n%s\n", part, text);
    assert_non_null(strstr(text, part));
}

static void existing_files_are_guarded(void **state)
{
    char text[256];
    assert_int_equal(cli_run(*state, "echo precious > e.csv"), 0);
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=10' --events e.csv -q"), 1);
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=10' --events e.csv -q -n"), 1);
    cli_slurp(*state, "e.csv", text, sizeof text);
    assert_string_equal(text, "precious\n");
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=10' --events e.csv -q -y"), 0);
    cli_slurp(*state, "e.csv", text, sizeof text);
    assert_string_not_equal(text, "precious\n");
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=3' --mask m%02d.png -q"), 0);
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=3' --mask m%02d.png -q"), 1);
    /* any picture that the names match counts, not the first alone */
    assert_int_equal(cli_run(*state, "rm m01.png m03.png && echo precious > m02.png"), 0);
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=3' --mask m%02d.png -q -n"), 1);
    cli_slurp(*state, "m02.png", text, sizeof text);
    assert_string_equal(text, "precious\n");
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=3' --mask m%02d.png -q -y"), 0);
    assert_int_equal(cli_run(*state, "test $(echo m*.png | wc -w) = 3"), 0);
}

/* The number of that name in the JSON of a run. */
static double figure(const char *json, const char *name)
{
    char key[64];
    double value = -1;
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *at = strstr(json, key);
    assert_non_null(at);
    assert_int_equal(sscanf(at + strlen(key), "%lf", &value), 1);
    return value;
}

/* Nothing between --start and the end of --duration is no success. */
static void no_frame_is_a_failure(void **state)
{
    char text[1024];
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=3' --mask old.mkv -q && "
                                     "cp old.mkv kept.mkv"),
                     0);
    assert_int_equal(cli_run(*state,
                             "$B export 'synth:easy?frames=3' --start 0.05 --duration 0.001 "
                             "--mask old.mkv --events new.csv -q -y"),
                     2);
    cli_slurp(*state, "err", text, sizeof text);
    assert_has(text, "there is no frame between --start and the end of --duration");
    assert_int_equal(cli_run(*state, "cmp old.mkv kept.mkv && test ! -e new.csv"), 0);
}

static void a_run_says_how_it_went(void **state)
{
    char json[1024];
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=60' --mask m.mkv --json r.json "
                                     "--backend cpu -q"),
                     0);
    cli_slurp(*state, "r.json", json, sizeof json);
    assert_has(json, "\"backend\": \"cpu: ");
    assert_true(figure(json, "frames") == 60);
    double seconds = figure(json, "seconds"), first = figure(json, "first_frame_seconds");
    double median = figure(json, "frame_ms_median"), longest = figure(json, "frame_ms_longest");
    assert_true(first > 0 && first < seconds && seconds < 100);
    assert_true(median > 0 && median <= figure(json, "frame_ms_p99"));
    assert_true(figure(json, "frame_ms_p99") <= longest && longest <= 1e3 * seconds);
    assert_true(figure(json, "frame_ms_second_half") <= longest);
    assert_true(figure(json, "cpu_seconds") > 0);
    assert_in_range((int)figure(json, "peak_rss_mib"), 20, 2000);
    assert_null(strstr(json, "events"));
    /* one frame has no time between frames */
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=1' --mask m.mkv --json r.json "
                                     "-y -q"),
                     0);
    cli_slurp(*state, "r.json", json, sizeof json);
    assert_has(json, "\"frame_ms_median\": null");
    /* it is no output by itself, and takes no other's file */
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=1' --json s.json -q"), 1);
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=1' --mask m.mkv --json m.mkv "
                                     "-y -q"),
                     1);
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=1' --mask n.mkv --json r.json "
                                     "-q"),
                     1);
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=1' --mask n.mkv "
                                     "--json nowhere/r.json -q"),
                     3);
}

/* Encoders, queues and the window hold pictures of 6 to 17 MB each at this size. Counts of threads
 * are given, so that the memory is that of two cores everywhere: 620 MiB. With as many threads and
 * waiting pictures as there once were it is 832. */
static void four_large_films_take_little_memory(void **state)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    print_message("skipped: sanitizers take memory themselves\n");
    (void)state;
#else
    char json[1024];
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?size=1920x1080&frames=40' --threads 2 "
                                     "--backend cpu --mask m.mkv --background b.mkv "
                                     "--overlay o.mp4 --foreground f.mov --json r.json -q"),
                     0);
    cli_slurp(*state, "r.json", json, sizeof json);
    assert_in_range((int)figure(json, "peak_rss_mib"), 100, 700);
#endif
}

/* Frames are scaled from what was decoded, whether or not they become RGB too. */
static void masks_do_not_depend_on_other_outputs(void **state)
{
    if (test_quick())
        skip();
    const char *data = getenv("BACKDROP_DATA");
    char path[512];
    snprintf(path, sizeof path, "%s/videos/vtest.avi", data ? data : "");
    if (access(path, R_OK))
        skip();
    static const char *const options[] = { "", "--scale 768x576", "--color gray" };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        char command[1024];
        snprintf(command, sizeof command,
                 "rm -f a*.pgm b*.pgm; V=$BACKDROP_DATA/videos/vtest.avi; "
                 "$B export $V --frames 20 --mask a%%02d.pgm %s -q && "
                 "$B export $V --frames 20 --mask b%%02d.pgm --overlay o.mkv %s -q -y && "
                 "for i in a*.pgm; do cmp $i b${i#a} || exit 9; done; test -s a20.pgm",
                 options[i], options[i]);
        assert_int_equal(cli_run(*state, command), 0);
    }
}

static void the_batch_solver_exports_every_frame(void **state)
{
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?size=96x72&frames=33' --solver batch "
                                     "--window 10 --mask m.mkv --background b.mkv -q"),
                     0);
    assert_same_times(*state, "synth:easy?size=96x72&frames=33", "m.mkv", 0.0006);
    assert_same_times(*state, "m.mkv", "b.mkv", 0.0006);
}

/* A live source through the whole program: an Xvfb screen on which the pointer moves. It stays at
 * each place for long enough to be an object there, and covers enough of a small screen. */
static void a_screen_is_separated_live(void **state)
{
    int status = cli_run(
        *state,
        "command -v Xvfb >/dev/null && command -v xdotool >/dev/null || exit 77; "
        "mkfifo number; Xvfb -displayfd 3 -screen 0 160x120x24 -retro -noreset -nolisten tcp "
        "3>number >/dev/null 2>&1 & X=$!; read N <number; export DISPLAY=:$N; "
        "(while :; do for p in '40 40' '100 30' '130 90' '60 80'; do "
        "xdotool mousemove $p || exit; sleep 0.4; done; done) 2>/dev/null & M=$!; "
        "$B export --input-format x11grab $DISPLAY --input-option framerate=20 "
        "--frames 60 --min-area 1 --median 1 --mask m.mkv --events e.csv -q; R=$?; "
        "kill $M $X; wait; exit $R");
    if (status == 77) {
        print_message("skipped: needs Xvfb and xdotool\n");
        skip();
    }
    assert_int_equal(status, 0);
    char path[512];
    struct bd_reader *reader = NULL;
    struct bd_frame frame = { 0 };
    struct bd_reader_options options = { .format = BD_GRAY8 };
    int frames = 0, moving = 0;
    snprintf(path, sizeof path, "%s/m.mkv", (char *)*state);
    assert_int_equal(bd_reader_open(&reader, path, &options), BD_OK);
    while (bd_reader_read(reader, &frame) == BD_OK) {
        int64_t white = 0;
        for (int y = 0; y < frame.height; y++)
            for (int x = 0; x < frame.width; x++)
                white += frame.data[y * frame.stride + x] == 255;
        /* the pointer, here and where the first background had it; never much of the screen */
        assert_true(white < 160 * 120 / 20);
        moving += white > 0;
        frames++;
    }
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
    assert_int_equal(frames, 60);
    assert_true(moving > frames / 2);
    char events[4096];
    cli_slurp(*state, "e.csv", events, sizeof events);
    assert_has(events, "Z,"); /* UTC */
}

/* The look-ahead reads the film too, but its faults come once. */
static void faults_are_told_once(void **state)
{
    static const struct {
        const char *make, *input, *fault;
    } cases[] = {
        { "for i in 1 2; do ffmpeg -v error -y -f lavfi -i testsrc2=size=160x90:rate=25:duration=2 "
          "-g 10 p$i.ts; done && cat p1.ts p2.ts >anew.ts",
          "anew.ts --start 3", "its clock started anew" },
        { "for s in 160x90 80x60; do ffmpeg -v error -y -f lavfi -i "
          "testsrc2=size=$s:rate=25:duration=2 -c:v libx264 -bf 0 -g 10 $s.h264; done && "
          "cat 160x90.h264 80x60.h264 | ffmpeg -v error -y -f h264 -framerate 25 -i - -c copy "
          "sizes.mkv",
          "sizes.mkv", "the picture size changes" },
        { "ffmpeg -v error -y -f lavfi -i testsrc2=size=64x48:rate=25:duration=2 p%02d.png && "
          "rm p40.png",
          "p%02d.png", "a number is missing" },
        { "ffmpeg -v error -y -f lavfi -i testsrc2=size=160x90:rate=25:duration=4 -c:v mjpeg "
          "whole.avi && ffmpeg -v error -y -i whole.avi -c copy -bsf:v noise=amount=300 bad.avi",
          "bad.avi", "(logged once)" },
        { "true", "whole.avi bad.avi --join", "(logged once)" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[1000], text[4096];
        assert_int_equal(cli_run(*state, cases[i].make), 0);
        snprintf(
            command, sizeof command,
            "$B export %s --mask m.mkv -y --progress none --threads 1; test $? -eq 0 -o $? -eq 3",
            cases[i].input);
        assert_int_equal(cli_run(*state, command), 0);
        cli_slurp(*state, "err", text, sizeof text);
        const char *told = strstr(text, cases[i].fault);
        if (!told || strstr(told + 1, cases[i].fault))
            fail_msg("%s: %s", cases[i].input, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(all_outputs_of_a_scene),
        CLI_TEST(masks_are_exact_and_binary),
        CLI_TEST(codecs_are_chosen_for_each_output),
        CLI_TEST(variable_frame_rate_is_kept),
        CLI_TEST(no_frame_is_a_failure),
        CLI_TEST(a_run_says_how_it_went),
        CLI_TEST(four_large_films_take_little_memory),
        CLI_TEST(masks_do_not_depend_on_other_outputs),
        CLI_TEST(existing_files_are_guarded),
        CLI_TEST(the_batch_solver_exports_every_frame),
        CLI_TEST(shadows_are_marked_on_request),
        CLI_TEST(a_screen_is_separated_live),
        CLI_TEST(faults_are_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
