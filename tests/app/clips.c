/* backdrop export --clips: each event has a film and a picture, which show what they should. */
#include "tests/app/cli_fixture.h"

#include <dirent.h>

#include "tests/support/quick.h"
#include "video/input/reader.h"
#include "video/output/writer.h"

enum { width = 192, height = 144, rate = 25, frames = 340, group = 50, most_events = 16 };

/* A block crosses the picture twice, from the left and from the right. */
static const struct {
    int first, count, y, step;
} crossings[] = { { 110, 76, 20, 3 }, { 230, 56, 90, -4 } };
enum { crossing_count = sizeof crossings / sizeof *crossings, block = 32 };

static void draw_block(struct bd_frame *frame, int left, int top)
{
    for (int y = top; y < top + block; y++)
        for (int x = left < 0 ? 0 : left; x < left + block && x < width; x++)
            memset(frame->data + y * frame->stride + (int64_t)x * 3, 225 + (x + y) % 3, 3);
}

/* Frame `number` of the film: a still pattern, and the block. */
static void draw(struct bd_frame *frame, int number)
{
    assert_int_equal(bd_frame_ensure(frame, width, height, BD_RGB24), BD_OK);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int k = 0; k < 3; k++)
                frame->data[y * frame->stride + 3 * x + k] =
                    (uint8_t)(60 + (x / 20 + y / 20) % 2 * 30 + 10 * k);
    for (int i = 0; i < crossing_count; i++) {
        int passed = number - crossings[i].first, step = crossings[i].step;
        if (passed >= 0 && passed < crossings[i].count)
            draw_block(frame, step > 0 ? step * passed - block : width + step * passed,
                       crossings[i].y);
    }
    frame->index = frame->pts = number;
    frame->duration = 1;
}

/* The films, with a key frame each two seconds, by the option of the command ffmpeg. They are in a
 * folder whose name is in $F. */
static const struct {
    const char *name, *encoding;
} films[] = {
    { "film.mp4", "-c:v libx264 -crf 16 -bf 3 -sc_threshold 0 -pix_fmt yuv420p" },
    { "film.mkv", "-c copy" },
    { "film.ts", "-c copy" },
    { "old.avi", "-c:v msmpeg4 -q:v 3" },
    { "raw.avi", "-c:v rawvideo -pix_fmt bgr24" },
};

static char folder_of_films[] = "/tmp/bd-clips-XXXXXX";

static int remove_films(void **state)
{
    char text[128];
    (void)state;
    snprintf(text, sizeof text, "rm -rf %s", folder_of_films);
    return system(text);
}

static int make_films(void **state)
{
    char text[512];
    struct bd_writer *writer = NULL;
    struct bd_frame frame = { 0 };
    struct bd_writer_options options = { .width = width,
                                         .height = height,
                                         .format = BD_RGB24,
                                         .time_base = { 1, rate },
                                         .frame_rate = { rate, 1 },
                                         .pixel_aspect = { 1, 1 } };
    (void)state;
    if (!mkdtemp(folder_of_films) || setenv("F", folder_of_films, 1) != 0)
        return -1;
    snprintf(text, sizeof text, "%s/source.mkv", folder_of_films);
    if (bd_writer_open(&writer, text, &options))
        return -1;
    for (int i = 0; i < frames; i++) {
        draw(&frame, i);
        bd_writer_write(writer, &frame);
    }
    bd_frame_destroy(&frame);
    if (bd_writer_close(&writer))
        return -1;
    for (size_t i = 0; i < sizeof films / sizeof *films; i++) {
        snprintf(text, sizeof text, "cd $F && ffmpeg -v error -i %s -g %d %s %s >said 2>&1",
                 films[i].encoding[2] == ':' ? "source.mkv" : "film.mp4", group, films[i].encoding,
                 films[i].name);
        if (system(text) != 0)
            return 0; /* there is no such command: the tests of films skip */
    }
    return 0;
}

static void need_films(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder_of_films,
             films[sizeof films / sizeof *films - 1].name);
    if (access(path, R_OK) != 0)
        skip();
}

/* The events that --scan-only has listed in the file "out". */
static int read_list(const char *folder, double start[most_events], double end[most_events])
{
    char text[4096];
    int count = 0, number, hours[2], minutes[2];
    double seconds[2];
    cli_slurp(folder, "out", text, sizeof text);
    assert_memory_equal(text, "event  start         end           duration      objects", 56);
    for (const char *line = strchr(text, '\n'); line && line[1]; line = strchr(line + 1, '\n')) {
        assert_int_equal(sscanf(line + 1, "%d %d:%d:%lf %d:%d:%lf", &number, &hours[0], &minutes[0],
                                &seconds[0], &hours[1], &minutes[1], &seconds[1]),
                         7);
        assert_in_range(number, 1, most_events);
        start[number - 1] = 3600 * hours[0] + 60 * minutes[0] + seconds[0];
        end[number - 1] = 3600 * hours[1] + 60 * minutes[1] + seconds[1];
        count++;
    }
    return count;
}

/* Files of a folder whose names end so. */
static int count_files(const char *folder, const char *name, const char *ending)
{
    char path[512];
    int count = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    DIR *entries = opendir(path);
    for (const struct dirent *entry; entries && (entry = readdir(entries));) {
        size_t length = strlen(entry->d_name), tail = strlen(ending);
        count += length > tail && strcmp(entry->d_name + length - tail, ending) == 0;
    }
    if (entries)
        closedir(entries);
    return count;
}

/* Pixels that are clearly different: a block that is a frame late has 190 and more. */
static int count_different(const struct bd_frame *a, const struct bd_frame *b)
{
    int count = 0;
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->height, b->height);
    for (int y = 0; y < a->height; y++)
        for (int x = 0; x < a->width; x++)
            count +=
                abs(a->data[y * a->stride + 3 * x + 1] - b->data[y * b->stride + 3 * x + 1]) > 60;
    return count;
}

/* Asserts that the film NAME shows frames `first` to `last` of the rendered one, and up to `more`
 * after these. */
static void assert_shows(const char *folder, const char *name, int first, int last, int more)
{
    char path[512];
    struct bd_reader *reader = NULL;
    struct bd_frame frame = { 0 }, drawn = { 0 };
    struct bd_reader_options options = { .format = BD_RGB24 };
    int count = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(bd_reader_open(&reader, path, &options), BD_OK);
    struct bd_rational unit = bd_reader_get_info(reader)->time_base;
    while (bd_reader_read(reader, &frame) == BD_OK) {
        draw(&drawn, first + count);
        assert_true(count_different(&frame, &drawn) < 40);
        double time = (double)frame.pts * (double)unit.num / (double)unit.den;
        assert_true(time > count / 25. - .002 && time < count / 25. + .002);
        count++;
    }
    assert_in_range(count, last - first + 1, last - first + 1 + more);
    assert_int_equal(bd_reader_damaged(reader), 0);
    bd_frame_destroy(&frame);
    bd_frame_destroy(&drawn);
    bd_reader_close(&reader);
    snprintf(path, sizeof path, "ffmpeg -v warning -i %s -f null -", name);
    assert_int_equal(cli_run(folder, path), 0);
    cli_slurp(folder, "err", path, sizeof path);
    assert_string_equal(path, "");
}

/* Asserts that a thumbnail shows most of a block, and not all of the picture. */
static void assert_thumbnail(const char *folder, const char *name)
{
    char path[512];
    struct bd_frame picture = { 0 };
    int bright = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(bd_picture_read(path, BD_GRAY8, &picture), BD_OK);
    for (int y = 0; y < picture.height; y++)
        for (int x = 0; x < picture.width; x++)
            bright += picture.data[y * picture.stride + x] > 200;
    assert_true(bright > block * block * 3 / 4);
    assert_true(picture.width < width);
    bd_frame_destroy(&picture);
}

static int frame_at(double time)
{
    int number = (int)(time * rate + 0.5);
    return number < 0 ? 0 : number >= frames ? frames - 1 : number;
}

static void copies_begin_at_the_key_frame_before(void **state)
{
    char name[64], text[1024];
    double start[most_events], end[most_events];
    need_films();
    for (size_t i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "$B export $F/%s --scan-only -q", films[i].name);
        assert_int_equal(cli_run(*state, text), 0);
        assert_int_equal(read_list(*state, start, end), crossing_count);
        double origin = films[i].name[5] == 't' ? start[0] - crossings[0].first / (double)rate : 0;
        snprintf(text, sizeof text, "rm -rf c; $B export $F/%s --clips c --progress none",
                 films[i].name);
        assert_int_equal(cli_run(*state, text), 0);
        cli_slurp(*state, "err", text, sizeof text);
        assert_non_null(strstr(text, "begin at the key frame before: up to "));
        assert_int_equal(count_files(*state, "c", ".mp4"), crossing_count);
        assert_int_equal(count_files(*state, "c", ".jpg"), crossing_count);
        assert_int_equal(count_files(*state, "c", ".part"), 0);
        for (int k = 0; k < crossing_count; k++) {
            /* the time of the first frame of a .ts file is known to a few frames only */
            int slack = origin > 0 ? 5 : 0;
            int from = frame_at(start[k] - origin - 1.5) / group * group;
            snprintf(name, sizeof name, "c/film.%04d.mp4", k + 1);
            assert_shows(*state, name, from, frame_at(end[k] - origin + 2) - slack, 3 + 2 * slack);
            snprintf(name, sizeof name, "c/film.%04d.jpg", k + 1);
            assert_thumbnail(*state, name);
        }
    }
}

/* What .mp4 does not hold goes to Matroska; raw pictures, which differ from container to container,
 * stay in theirs. */
static void other_codecs_go_to_other_containers(void **state)
{
    static const struct {
        const char *film, *extension, *words;
    } rows[] = {
        { "old.avi", ".mkv", "clips are .mkv files: .mp4 does not hold msmpeg4v3" },
        { "raw.avi", ".avi", "clips are .avi files: .mp4 does not hold rawvideo" },
    };
    char line[128], text[1024];
    need_films();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(line, sizeof line, "rm -rf c; $B export $F/%s --clips c --progress none",
                 rows[i].film);
        assert_int_equal(cli_run(*state, line), 0);
        cli_slurp(*state, "err", text, sizeof text);
        assert_non_null(strstr(text, rows[i].words));
        assert_int_equal(count_files(*state, "c", rows[i].extension), crossing_count);
        assert_int_equal(count_files(*state, "c", ".jpg"), crossing_count);
    }
}

/* Encoded clips begin and end at the frame, with any padding, from a file and from a pipe. */
static void encoded_clips_are_exact(void **state)
{
    if (test_quick())
        skip();
    char name[64], text[1024];
    double start[most_events], end[most_events];
    static const struct {
        const char *options, *stem;
        double before, post;
    } rows[] = {
        { "$F/film.mp4 --clip-mode encode", "film", 1.5, 2 },
        { "$F/film.mp4 --clip-mode encode --time-before-event 0 --time-post-event 0", "film", 0,
          0 },
        { "$F/film.mp4 --clip-mode encode --time-before-event 20 --time-post-event 30", "film", 20,
          30 },
        { "- <$F/film.mkv", "stdin", 1.5, 2 },
    };
    need_films();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text, "$B export --scan-only --clips c -q %s", rows[i].options);
        assert_int_equal(cli_run(*state, text), 0);
        int count = read_list(*state, start, end);
        snprintf(text, sizeof text, "rm -rf c; $B export --clips c -q %s", rows[i].options);
        assert_int_equal(cli_run(*state, text), 0);
        assert_int_equal(count_files(*state, "c", ".mp4"), count);
        assert_int_equal(count_files(*state, "c", ".jpg"), count);
        for (int k = 0; k < count; k++) {
            int first = frame_at(start[k] - rows[i].before);
            int last = frame_at(end[k] + rows[i].post);
            snprintf(name, sizeof name, "c/%s.%04d.mp4", rows[i].stem, k + 1);
            assert_shows(*state, name, first, last, 0);
            snprintf(name, sizeof name, "c/%s.%04d.jpg", rows[i].stem, k + 1);
            assert_thumbnail(*state, name);
        }
    }
}

/* Frames of two films of the folder that are clearly different. */
static int count_changed(const char *folder, const char *const names[2])
{
    char path[512];
    struct bd_reader *readers[2] = { NULL };
    struct bd_frame pictures[2] = { { 0 } };
    struct bd_reader_options options = { .format = BD_RGB24 };
    int count = 0;
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(bd_reader_open(&readers[i], path, &options), BD_OK);
    }
    while (bd_reader_read(readers[0], &pictures[0]) == BD_OK) {
        assert_int_equal(bd_reader_read(readers[1], &pictures[1]), BD_OK);
        count += count_different(&pictures[0], &pictures[1]) > 30;
    }
    assert_int_equal(bd_reader_read(readers[1], &pictures[1]), BD_END);
    for (int i = 0; i < 2; i++) {
        bd_frame_destroy(&pictures[i]);
        bd_reader_close(&readers[i]);
    }
    return count;
}

/* With --boxes clips are encoded, and the frames in which the block is seen have a box. */
static void boxes_are_drawn_on_clips(void **state)
{
    static const char *const both[] = { "c/film.0001.mp4", "d/film.0001.mp4" };
    need_films();
    assert_int_equal(cli_run(*state, "$B export $F/film.mp4 --clips c --boxes -q"), 0);
    assert_int_equal(cli_run(*state, "$B export $F/film.mp4 --clips d --clip-mode encode -q"), 0);
    assert_in_range(count_changed(*state, both), 50, 76);
}

static void no_file_is_replaced_unasked(void **state)
{
    char text[1024];
    need_films();
    assert_int_equal(cli_run(*state, "mkdir c && echo old >c/film.0007.mp4"), 0);
    assert_int_equal(cli_run(*state, "$B export $F/film.mp4 --clips c"), 1);
    cli_slurp(*state, "err", text, sizeof text);
    assert_string_equal(text, "backdrop: --clips c/film.0007.mp4: exists; give -y to replace it\n");
    assert_int_equal(cli_run(*state, "$B export $F/film.mp4 --clips c/ -n"), 1);
    assert_int_equal(cli_run(*state, "mv c/film.0007.mp4 c/film.0001.jpg"), 0);
    assert_int_equal(cli_run(*state, "$B export $F/film.mp4 --clips c"), 1);
    assert_int_equal(cli_run(*state, "grep old c/film.0001.jpg"), 0);
    /* what is called otherwise is no clip of this film */
    assert_int_equal(cli_run(*state, "cd c && mv film.0001.jpg film.1.mp4 && cp film.1.mp4 "
                                     "film.0001.x.mp4 && cp film.1.mp4 other.0001.mp4"),
                     0);
    assert_int_equal(cli_run(*state, "$B export $F/film.mp4 --clips c -q"), 0);
    assert_int_equal(cli_run(*state, "grep old c/film.1.mp4 c/film.0001.x.mp4 c/other.0001.mp4"),
                     0);
    assert_int_equal(cli_run(*state,
                             "echo old >c/film.0001.mp4; $B export $F/film.mp4 --clips c -y "
                             "-q"),
                     0);
    assert_int_equal(cli_run(*state, "grep -q '^old$' c/film.0001.mp4"), 1);
}

/* Not even asked for: another input, an input by a second name, the region, a sequence's picture.
 */
static void nothing_that_is_read_is_replaced(void **state)
{
    static const struct {
        const char *make, *arguments, *line;
    } rows[] = {
        { "cp c/a.mp4 c/a.0001.mp4", "c/a.mp4 c/a.0001.mp4 -o c --clips .",
          "--clips c/.: one of its files may be c/./a.0001.mp4, which is " },
        { "cp c/a.mp4 c/a.0001.mp4", "c/a.mp4 c/a.0001.mp4 --join --clips c",
          "--clips c: one of its files may be c/a.0001.mp4, which is " },
        { "ln -s a.mp4 c/a.0002.mp4", "c/a.mp4 --clips c/",
          "--clips c/: one of its files may be c/a.0002.mp4, which is " },
        { "ffmpeg -v error -i c/a.mp4 -frames:v 1 c/a.0003.jpg",
          "c/a.mp4 --roi c/a.0003.jpg --clips c",
          "--clips c: one of its files may be c/a.0003.jpg, which is " },
        { "ffmpeg -v error -i c/a.mp4 -frames:v 9 c/in.%04d.jpg",
          "c/in.%04d.jpg --clip-mode encode --clips c",
          "--clips c: one of its files may be c/in.0001.jpg, which is " },
    };
    char command[512], text[1024];
    need_films();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(command, sizeof command,
                 "rm -rf c && mkdir c && cp $F/film.mp4 c/a.mp4 && %s && sum c/* >before",
                 rows[i].make);
        assert_int_equal(cli_run(*state, command), 0);
        snprintf(command, sizeof command, "$B export %s -y -q", rows[i].arguments);
        assert_int_equal(cli_run(*state, command), 1);
        cli_slurp(*state, "err", text, sizeof text);
        assert_int_equal(cli_lines(text), 1);
        assert_non_null(strstr(text, rows[i].line));
        assert_int_equal(cli_run(*state, "sum c/* | cmp - before"), 0);
    }
    /* a picture of another kind is no clip's */
    assert_int_equal(cli_run(*state, "mkdir d && $B export synth:easy?frames=9 --background "
                                     "d/in.%04d.png -q && sum d/* >before && "
                                     "$B export d/in.%04d.png --clips d -y -q && "
                                     "sum d/*.png | cmp - before"),
                     0);
}

static void a_scan_writes_nothing(void **state)
{
    char text[2048];
    need_films();
    assert_int_equal(
        cli_run(*state, "$B export $F/film.mp4 --scan-only --clips c --events e.csv -q"), 0);
    cli_slurp(*state, "out", text, sizeof text);
    assert_int_equal(cli_lines(text), 1 + crossing_count);
    assert_non_null(strstr(text, "  c/film.0001.mp4\n"));
    assert_int_equal(cli_run(*state, "test ! -e c && test -s e.csv"), 0);
    /* not even where clips are there */
    assert_int_equal(cli_run(*state, "mkdir c && echo old >c/film.0001.mp4 && "
                                     "$B export $F/film.mp4 --scan-only --clips c -q && "
                                     "grep -q old c/film.0001.mp4 && test $(ls c | wc -l) = 1"),
                     0);
    assert_int_equal(cli_run(*state, "$B export $F/film.mp4 --frames 100 --scan-only -q"), 0);
    cli_slurp(*state, "out", text, sizeof text);
    assert_int_equal(cli_lines(text), 1); /* no event */
}

/* One line each, and nothing is left. */
static void bad_use_is_refused(void **state)
{
    static const struct {
        const char *options, *line;
    } rows[] = {
        { "--clips file", "--clips file: is a file; a folder is wanted" },
        { "--clips no/such", "--clips no/such: the folder that it is in is missing" },
        { "--clips /dev/null", "--clips /dev/null: is a file; a folder is wanted" },
        { "--clips c --clip-mode copy",
          "--clips c: cannot be copied: 'synth:easy?frames=9' is no file, which can be read twice; "
          "give --clip-mode encode" },
        { "--clips c --clip-mode fast", "--clip-mode fast: must be one of auto, copy, encode" },
        { "--mask m.mkv --clip-mode copy", "--clip-mode: does nothing without --clips" },
        { "--mask m.mkv --clip-mode auto", "--clip-mode: does nothing without --clips" },
        { "--clips c --clip-mode copy --boxes",
          "--boxes: does nothing without --overlay, --timelapse, or --clips that are encoded" },
        { "--mask m.mkv --boxes",
          "--boxes: does nothing without --overlay, --timelapse, or --clips that are encoded" },
        { "--scan-only --mask m.mkv", "--mask m.mkv: --scan-only writes no film and no picture" },
        { "--scan-only --plate m.png", "--plate m.png: --scan-only writes no film and no picture" },
        { "--scan-only --tracks -", "--tracks -: --scan-only has stdout; give --tracks a file" },
    };
    char text[1024], line[1024];
    assert_int_equal(cli_run(*state, "touch file"), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text, "$B export 'synth:easy?frames=9' %s", rows[i].options);
        assert_int_equal(cli_run(*state, text), 1);
        cli_slurp(*state, "err", text, sizeof text);
        snprintf(line, sizeof line, "backdrop: %s\n", rows[i].line);
        assert_string_equal(text, line);
    }
    assert_int_equal(cli_run(*state, "test ! -e c && test ! -e m.mkv"), 0);
    if (geteuid() != 0) {
        assert_int_equal(cli_run(*state, "mkdir r && chmod a-w r && "
                                         "$B export 'synth:easy?frames=9' --clips r"),
                         1);
        cli_slurp(*state, "err", text, sizeof text);
        assert_string_equal(text, "backdrop: --clips r: no permission to write it\n");
    }
    assert_int_equal(cli_run(*state, "$B export nothing.mp4 --clips c; test $? = 2 && test ! -e c"),
                     0);
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=60' --scan-only >/dev/full"), 1);
}

/* A full disk: what is whole stays, and the rest has no name that a whole one would have. */
static void full_disks_leave_whole_clips(void **state)
{
    char text[2048];
    need_films();
    assert_int_equal(cli_run(*state, "(ulimit -f 20; exec $B export $F/film.mp4 --clips c -q)"), 3);
    cli_slurp(*state, "err", text, sizeof text);
    assert_int_equal(cli_lines(text), 1);
    assert_non_null(strstr(text, "c/film.0001.mp4: cannot be written: "));
    assert_int_equal(cli_run(*state, "test $(ls c | wc -l) = 0"), 0);
    assert_int_equal(cli_run(*state, "(ulimit -f 8; exec $B export $F/film.mp4 --clip-mode encode "
                                     "--clips d -q)"),
                     3);
    cli_slurp(*state, "err", text, sizeof text);
    assert_int_equal(cli_lines(text), 1);
    assert_int_equal(count_files(*state, "d", ".mp4"), 0);
}

/* Once the first clip has pictures of more than a moment: however slow the program is, its event is
 * long enough. */
static void interruptions_end_the_clips(void **state)
{
    assert_int_equal(cli_run(*state,
                             "$B export 'synth:easy?frames=100000' --clips c -q & "
                             "for i in $(seq 900); do "
                             "test -n \"$(find c -name 'easy.0001.mp4*' -size +60k)\" && break; "
                             "sleep .1; done; kill -INT $!; wait $!"),
                     4);
    assert_int_equal(count_files(*state, "c", ".part"), 0);
    assert_true(count_files(*state, "c", ".mp4") >= 1);
    assert_int_equal(count_files(*state, "c", ".mp4"), count_files(*state, "c", ".jpg"));
    assert_int_equal(cli_run(*state, "ffmpeg -v error -i c/easy.0001.mp4 -f null - && "
                                     "test ! -s err"),
                     0);
}

static void real_films(void **state)
{
    char text[2048];
    double start[most_events], end[most_events];
    const char *data = getenv("BACKDROP_DATA");
    snprintf(text, sizeof text, "%s/videos/car-detection.mp4", data ? data : "");
    if (!data || access(text, R_OK) != 0 || test_quick())
        skip();
    assert_int_equal(cli_run(*state, "V=$BACKDROP_DATA/videos/car-detection.mp4; "
                                     "$B export $V --scan-only --duration 12 --scale 256x144 -q"),
                     0);
    int count = read_list(*state, start, end);
    assert_true(count >= 1);
    assert_int_equal(cli_run(*state, "V=$BACKDROP_DATA/videos/car-detection.mp4; "
                                     "$B export $V --clips c --duration 12 --scale 256x144 -q"),
                     0);
    assert_int_equal(count_files(*state, "c", ".mp4"), count);
    assert_int_equal(count_files(*state, "c", ".jpg"), count);
    assert_int_equal(cli_run(*state,
                             "for f in c/*; do ffmpeg -v warning -i $f -f null - || exit 1; "
                             "done"),
                     0);
    cli_slurp(*state, "err", text, sizeof text);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(copies_begin_at_the_key_frame_before),
        CLI_TEST(other_codecs_go_to_other_containers),
        CLI_TEST(encoded_clips_are_exact),
        CLI_TEST(boxes_are_drawn_on_clips),
        CLI_TEST(no_file_is_replaced_unasked),
        CLI_TEST(nothing_that_is_read_is_replaced),
        CLI_TEST(a_scan_writes_nothing),
        CLI_TEST(bad_use_is_refused),
        CLI_TEST(full_disks_leave_whole_clips),
        CLI_TEST(interruptions_end_the_clips),
        CLI_TEST(real_films),
    };
    return cmocka_run_group_tests(tests, make_films, remove_films);
}
