/* Files of tracks: each form is parsed back and compared with the objects that were written. */
#include "tests/app/cli_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>

#include "app/export/output.h"
#include "app/option_table.h"

enum { most_objects = 8, most_frames = 60, most_past = 20, off = 100 };

/* What a film shows. */
struct story {
    struct bd_rational time_base;
    int count;
    struct moment {
        int64_t index, pts;
        int count;
        struct bd_object objects[most_objects];
        int past_count;
        struct bd_past past[most_past];
    } moments[most_frames];
};

static enum bd_status open_output(void **output, const char *path, struct bd_rational time_base)
{
    static const struct bd_options options;
    const struct bd_reader_info info = { .width = 640, .height = 480, .time_base = time_base };
    const struct bd_output_setup setup = { &bd_tracks_output, &options, &info, { 0 }, NULL };
    return bd_tracks_output.open(output, path, &setup);
}

static enum bd_status write_moment(void *output, const struct moment *moment,
                                   struct bd_rational time_base)
{
    const struct bd_frame mask = {
        .width = 640, .height = 480, .format = BD_GRAY8, .index = moment->index, .pts = moment->pts
    };
    const struct bd_result result = { .mask = &mask,
                                      .objects = moment->objects,
                                      .object_count = moment->count,
                                      .past = moment->past,
                                      .past_count = moment->past_count,
                                      .time = (double)moment->pts * (double)time_base.num /
                                              (double)time_base.den };
    return bd_tracks_output.write(output, &result, NULL);
}

/* Writes the story to NAME in the folder and opens that for reading. */
static FILE *write_story(const char *folder, const char *name, const struct story *story)
{
    char path[512];
    void *output;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(open_output(&output, path, story->time_base), BD_OK);
    for (int i = 0; i < story->count; i++)
        assert_int_equal(write_moment(output, &story->moments[i], story->time_base), BD_OK);
    assert_int_equal(bd_tracks_output.close(&output, NULL), BD_OK);
    assert_null(output);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    return file;
}

/* Objects that come, hide, go and never come back, with numbers in order. */
static void make_story(struct story *story)
{
    srand(11);
    *story = (struct story){ .time_base = { 1, 25 }, .count = most_frames };
    int64_t first = 1;
    for (int i = 0; i < most_frames; i++) {
        struct moment *moment = &story->moments[i];
        *moment = (struct moment){ .index = i, .pts = i };
        first += rand() % 5 == 0;
        moment->count = rand() % 9 == 0 ? 0 : 1 + rand() % most_objects;
        first += moment->count == 0 ? most_objects : 0; /* all have gone */
        for (int j = 0; j < moment->count; j++) {
            double vx = (rand() % 20001 - 10000) / 100.0, vy = (rand() % 20001 - 10000) / 100.0;
            moment->objects[j] = (struct bd_object){ .id = first + j,
                                                     .x = rand() % 700 - 60,
                                                     .y = rand() % 500 - 20,
                                                     .width = 1 + rand() % 100,
                                                     .height = 1 + rand() % 100,
                                                     .area = rand() % 5000,
                                                     .confidence = rand() % 10001 / 10000.0,
                                                     .vx = vx,
                                                     .vy = vy,
                                                     .since = i / 25.0 - .2,
                                                     .parent = rand() % 3,
                                                     .group = rand() % 3,
                                                     .seen = rand() % 4 != 0 };
        }
    }
}

static void mot_files_hold_what_is_seen(void **state)
{
    static struct story story;
    make_story(&story);
    FILE *file = write_story(*state, "t.txt", &story);
    char line[512], conf[16];
    int rows = 0;
    for (int i = 0; i < story.count; i++)
        for (int j = 0; j < story.moments[i].count; j++) {
            const struct bd_object *object = &story.moments[i].objects[j];
            int64_t frame, id;
            int left, top, width, height, end = 0;
            if (!object->seen)
                continue;
            assert_non_null(fgets(line, sizeof line, file));
            assert_int_equal(sscanf(line,
                                    "%" SCNd64 ",%" SCNd64 ",%d,%d,%d,%d,%15[0-9.],-1,-1,-1%n",
                                    &frame, &id, &left, &top, &width, &height, conf, &end),
                             7);
            assert_string_equal(line + end, "\n");
            assert_int_equal(frame, i + 1); /* frames and pixels from 1 */
            assert_int_equal(id, object->id);
            assert_int_equal(left, object->x + 1);
            assert_int_equal(top, object->y + 1);
            assert_int_equal(width, object->width);
            assert_int_equal(height, object->height);
            assert_true(fabs(atof(conf) - object->confidence) < 1e-9);
            rows++;
        }
    assert_null(fgets(line, sizeof line, file));
    assert_true(rows > 100);
    fclose(file);
}

/* The columns of one object in one frame, as they are read. */
struct row {
    int64_t frame, id, area, parent;
    int missing, left, top, width, height, group;
    double time, x, y, vx, vy, speed, confidence, since;
};

static void assert_row(const struct row *row, const struct moment *moment,
                       const struct bd_object *object)
{
    assert_int_equal(row->frame, moment->index);
    assert_true(fabs(row->time - (double)moment->pts / 25) < 1e-9);
    assert_int_equal(row->id, object->id);
    assert_int_equal(row->missing, !object->seen);
    assert_true(fabs(row->x - (object->x + object->width / 2.0)) < 1e-9);
    assert_true(fabs(row->y - (object->y + object->height / 2.0)) < 1e-9);
    assert_true(fabs(row->vx - object->vx) < 1e-9);
    assert_true(fabs(row->vy - object->vy) < 1e-9);
    assert_true(fabs(row->speed - hypot(object->vx, object->vy)) < .0051);
    assert_int_equal(row->area, object->area);
    assert_int_equal(row->left, object->x);
    assert_int_equal(row->top, object->y);
    assert_int_equal(row->width, object->width);
    assert_int_equal(row->height, object->height);
    assert_true(fabs(row->confidence - object->confidence) < 1e-9);
    assert_true(fabs(row->since - object->since) < 1e-9);
    assert_int_equal(row->parent, object->parent);
    assert_int_equal(row->group, object->group);
}

static const char header[] = "frame,time,id,missing,X,Y,VX,VY,SPEED,num_pixels,left,top,width,"
                             "height,confidence,since,parent,group\n";

/* Makes CSV of a line of JSON, whose names must be those of the header. */
static void unwrap(char *line, char type[8])
{
    assert_int_equal(sscanf(line, "{\"type\":\"%7[a-z]\",", type), 1);
    char *out = line, *in = strchr(line, ',');
    for (const char *name = header; *name; name += strcspn(name, ",\n") + 1) {
        size_t length = strcspn(name, ",\n");
        assert_memory_equal(in, ",\"", 2);
        assert_memory_equal(in + 2, name, length);
        assert_memory_equal(in + 2 + length, "\":", 2);
        in += length + 4;
        size_t digits = strcspn(in, ",}");
        memmove(out, in, digits);
        in += digits;
        out += digits;
        *out++ = name[length];
    }
    assert_string_equal(in, "}\n");
    *out = 0;
}

/* Reads a line of CSV, or of JSON with its type. */
static void read_row(struct row *row, char type[8], char *line)
{
    if (type)
        unwrap(line, type);
    int end = 0;
    assert_int_equal(sscanf(line,
                            "%" SCNd64 ",%lf,%" SCNd64 ",%d,%lf,%lf,%lf,%lf,%lf,%" SCNd64
                            ",%d,%d,%d,%d,%lf,%lf,%" SCNd64 ",%d%n",
                            &row->frame, &row->time, &row->id, &row->missing, &row->x, &row->y,
                            &row->vx, &row->vy, &row->speed, &row->area, &row->left, &row->top,
                            &row->width, &row->height, &row->confidence, &row->since, &row->parent,
                            &row->group, &end),
                     18);
    assert_string_equal(line + end, "\n");
}

static void csv_files_hold_all(void **state)
{
    static struct story story;
    make_story(&story);
    FILE *file = write_story(*state, "t.CSV", &story);
    char line[1024];
    struct row row;
    assert_non_null(fgets(line, sizeof line, file));
    assert_string_equal(line, header);
    for (int i = 0; i < story.count; i++)
        for (int j = 0; j < story.moments[i].count; j++) {
            assert_non_null(fgets(line, sizeof line, file));
            read_row(&row, NULL, line);
            assert_row(&row, &story.moments[i], &story.moments[i].objects[j]);
        }
    assert_null(fgets(line, sizeof line, file));
    fclose(file);
}

/* The moment at which the object is there first or, of `end`, seen last; NULL: never. */
static const struct moment *find(const struct story *story, int64_t id, bool end,
                                 const struct bd_object **object)
{
    const struct moment *found = NULL;
    for (int i = 0; i < story->count; i++)
        for (int j = 0; j < story->moments[i].count; j++) {
            const struct bd_object *here = &story->moments[i].objects[j];
            if (here->id != id || (found && (!end || !here->seen)))
                continue;
            found = &story->moments[i];
            *object = here;
        }
    return found;
}

static void json_lines_begin_and_end(void **state)
{
    static struct story story;
    make_story(&story);
    /* Numbers are not used again, so an object must not be missing in between. */
    for (int i = 1; i < story.count; i++) {
        const struct moment *before = &story.moments[i - 1];
        struct moment *moment = &story.moments[i];
        while (before->count > 0 && moment->count > 0 &&
               moment->objects[moment->count - 1].id < before->objects[before->count - 1].id &&
               moment->count < most_objects) {
            moment->objects[moment->count] = before->objects[before->count - 1];
            moment->objects[moment->count].id = moment->objects[moment->count - 1].id + 1;
            moment->count++;
        }
    }
    FILE *file = write_story(*state, "t.json", &story);
    char line[2048], type[8];
    struct row row;
    const struct bd_object *object = NULL;
    int64_t begun = 0, ended = 0, updates = 0, places = 0;
    bool is_there[512] = { 0 };
    while (fgets(line, sizeof line, file)) {
        read_row(&row, type, line);
        assert_in_range(row.id, 1, 511);
        const bool end = strcmp(type, "end") == 0, begin = strcmp(type, "begin") == 0;
        begun += begin;
        ended += end;
        updates += !begin && !end;
        assert_int_equal(is_there[row.id], !begin);
        is_there[row.id] = !end;
        if (begin || end) {
            const struct moment *moment = find(&story, row.id, end, &object);
            assert_non_null(moment);
            assert_row(&row, moment, object);
        } else {
            const struct moment *moment = &story.moments[row.frame];
            int64_t at = row.id - moment->objects[0].id;
            assert_in_range(at, 0, moment->count - 1);
            assert_row(&row, moment, &moment->objects[at]);
        }
    }
    for (int i = 0; i < story.count; i++)
        places += story.moments[i].count;
    assert_int_equal(begun, ended); /* all have ended */
    assert_int_equal(begun + updates, places);
    assert_true(begun > 20 && updates > 100);
    fclose(file);
}

/* Object 1 is there in all frames, 2 and 3 are confirmed in frame 45, by when they have been there
 * for 10 and for 5 frames, and 4 in frame 3. Frame 45 says as well where 1 was in the four frames
 * before, in which it was taken to be `off` to the right. */
static void make_late_story(struct story *story)
{
    const int64_t first[] = { 0, 0, 35, 40, 1 }, confirmed[] = { 0, 0, 45, 45, 3 };
    const int order[] = { 1, 4, 2, 3 }; /* numbers are given in the order of confirmation */
    *story = (struct story){ .time_base = { 1, 25 }, .count = most_frames };
    for (int i = 0; i < most_frames; i++) {
        struct moment *moment = &story->moments[i];
        moment->index = moment->pts = i;
        for (int at = 41; i == 45 && at < i; at++)
            moment->past[moment->past_count++] = (struct bd_past){
                i - at, 0, { .id = 1, .x = at, .width = 9, .height = 9, .seen = true }
            };
        for (int j = 0; j < 4; j++) {
            const int k = order[j];
            struct bd_object object = { .id = 1 + j, .width = 9, .height = 9, .seen = true };
            for (int64_t at = first[k]; i == confirmed[k] && at < i; at++) {
                object.x = (int)at;
                moment->past[moment->past_count++] = (struct bd_past){ i - (int)at, 0, object };
            }
            object.x = i + (j == 0 && i > 40 && i < 45 ? off : 0);
            if (i >= confirmed[k])
                moment->objects[moment->count++] = object;
        }
    }
}

/* Checks that the rows of a file are those of the late story, in order. */
static void assert_late_rows(FILE *file, bool json)
{
    const int64_t first[] = { 0, 0, 1, 35, 40 }; /* by numbers */
    char line[1024], type[8] = "";
    struct row row;
    for (int64_t i = 0; i < most_frames; i++)
        for (int64_t id = 1; id <= 4; id++) {
            if (i < first[id])
                continue;
            assert_non_null(fgets(line, sizeof line, file));
            read_row(&row, json ? type : NULL, line);
            assert_int_equal(row.frame, i);
            assert_int_equal(row.id, id);
            assert_int_equal(row.left, i);
            assert_true(fabs(row.time - (double)i / 25) < 1e-9);
            if (json)
                assert_string_equal(type, i == first[id] ? "begin" : "update");
        }
    for (int i = 0; i < 4 && json; i++)
        assert_non_null(fgets(line, sizeof line, file)); /* the ends */
    assert_null(fgets(line, sizeof line, file));
    fclose(file);
}

static void files_have_objects_from_their_first_frames(void **state)
{
    static struct story story;
    char line[1024];
    make_late_story(&story);
    FILE *file = write_story(*state, "t.csv", &story);
    assert_non_null(fgets(line, sizeof line, file));
    assert_late_rows(file, false);
    assert_late_rows(write_story(*state, "t.json", &story), true);
    fclose(write_story(*state, "t.txt", &story));
    assert_int_equal(cli_run(*state, "sort -n -t, -k1,1 -k2,2 t.txt | cmp - t.txt && "
                                     "test $(wc -l <t.txt) = 164 && grep -q ^36,3,36,1,9,9, t.txt"),
                     0);
}

/* Numbers at the ends of their ranges, of a camera's clock and of broken files. */
static void extreme_numbers_are_whole(void **state)
{
    static struct story story;
    char text[4096];
    story = (struct story){ .time_base = { 1, 1000000 }, .count = 3 };
    story.moments[0] = (struct moment){ .pts = -1500000,
                                        .count = 1,
                                        .objects = { { .id = 1, .width = 1, .height = 2 } } };
    story.moments[1] = (struct moment){ .index = INT64_C(99999999999),
                                        .pts = INT64_C(1764091234567891),
                                        .count = 1 };
    story.moments[1].objects[0] = (struct bd_object){ .id = INT64_MAX,
                                                      .x = INT_MAX,
                                                      .y = INT_MIN,
                                                      .width = INT_MAX,
                                                      .height = 1,
                                                      .area = INT64_MAX,
                                                      .confidence = 1,
                                                      .vx = -.004,
                                                      .vy = -12345.678,
                                                      .since = 1764091234.5,
                                                      .seen = true };
    story.moments[2] = (struct moment){
        .index = 3, .pts = INT64_MAX, .count = 1, .objects = { { .id = 2, .since = INFINITY } }
    };
    fclose(write_story(*state, "t.csv", &story));
    cli_slurp(*state, "t.csv", text, sizeof text);
    assert_non_null(strstr(text, "\n0,-1.500000,1,1,0.5,1.0,0.00,0.00,0.00,0,0,0,1,2,0.0000,"));
    assert_non_null(strstr(text, "\n99999999999,1764091234.567891,9223372036854775807,0,"
                                 "3221225470.5,-2147483647.5,0.00,-12345.68,12345.68,"
                                 "9223372036854775807,2147483647,-2147483648,2147483647,1,1.0000,"
                                 "1764091234.500000,0,0\n"));
    assert_non_null(strstr(text, "\n3,3000000000.000000,2,1,")); /* what no clock says */
    assert_non_null(strstr(text, ",9000000000000.000000,0,0\n"));
    fclose(write_story(*state, "t.txt", &story));
    cli_slurp(*state, "t.txt", text, sizeof text);
    assert_string_equal(text, "100000000000,9223372036854775807,2147483648,-2147483647,"
                              "2147483647,1,1.0000,-1,-1,-1\n");
}

/* A pipe holds each frame as soon as it is written, and one that nobody reads is an error. */
static void stdout_streams(void **state)
{
    (void)state;
    static struct story story;
    char text[4096];
    int ends[2], kept = dup(STDOUT_FILENO);
    void *output;
    make_story(&story);
    story.moments[0].count = 2;
    fflush(stdout);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    assert_true(dup2(ends[1], STDOUT_FILENO) >= 0);
    close(ends[1]);
    enum bd_status opened = open_output(&output, "-", story.time_base);
    enum bd_status written = write_moment(output, &story.moments[0], story.time_base);
    ssize_t size = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    signal(SIGPIPE, SIG_IGN);
    enum bd_status refused = write_moment(output, &story.moments[0], story.time_base);
    char detail[bd_detail_size];
    snprintf(detail, sizeof detail, "%s", bd_error_detail());
    enum bd_status closed = bd_tracks_output.close(&output, NULL);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    assert_int_equal(opened, BD_OK);
    assert_int_equal(written, BD_OK);
    assert_true(size > 0);
    text[size] = 0;
    assert_int_equal(cli_lines(text), 2);
    assert_memory_equal(text, "{\"type\":\"begin\",\"frame\":0,", 26);
    assert_int_equal(refused, BD_ERROR_IO);
    assert_string_equal(detail, "stdout: cannot be written: Broken pipe");
    assert_int_equal(closed, BD_ERROR_IO);
}

/* On stdout an object begins when it is confirmed, with its earlier frames. */
static void stdout_tells_the_past_at_once(void **state)
{
    static struct story story;
    char text[1 << 15];
    void *output;
    make_late_story(&story);
    const int kept = dup(STDOUT_FILENO);
    snprintf(text, sizeof text, "%s/s.json", (char *)*state);
    fflush(stdout);
    const int file = open(text, O_WRONLY | O_CREAT, 0666);
    assert_true(file >= 0 && dup2(file, STDOUT_FILENO) >= 0);
    close(file);
    enum bd_status status = open_output(&output, "-", story.time_base);
    for (int i = 0; i < 4 && !status; i++)
        status = write_moment(output, &story.moments[i], story.time_base);
    cli_slurp(*state, "s.json", text, sizeof text);
    enum bd_status closed = bd_tracks_output.close(&output, NULL);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    assert_int_equal(status, BD_OK);
    assert_int_equal(closed, BD_OK);
    static const char *const starts[] = { "begin\",\"frame\":0,",  "update\",\"frame\":1,",
                                          "update\",\"frame\":2,", "update\",\"frame\":3,",
                                          "begin\",\"frame\":1,",  "update\",\"frame\":2,",
                                          "update\",\"frame\":3," };
    char *line = text;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        assert_non_null(line);
        assert_memory_equal(line + strlen("{\"type\":\""), starts[i], strlen(starts[i]));
        assert_non_null(strstr(line, i < 4 ? "\"id\":1," : "\"id\":2,"));
        line = strchr(line, '\n') + 1;
    }
    assert_int_equal(*line, 0);
}

/* A file takes its name when it is whole, and not for nothing. */
static void files_are_whole_or_parts(void **state)
{
    static struct story story;
    char path[512], text[256];
    void *output;
    make_story(&story);
    snprintf(path, sizeof path, "%s/t.txt", (char *)*state);
    assert_int_equal(cli_run(*state, "echo old >t.txt"), 0);
    assert_int_equal(open_output(&output, path, story.time_base), BD_OK);
    assert_int_equal(bd_tracks_output.close(&output, NULL), BD_OK);
    assert_int_equal(cli_run(*state, "test ! -e t.txt.part"), 0); /* there was no frame */
    assert_int_equal(open_output(&output, path, story.time_base), BD_OK);
    assert_int_equal(write_moment(output, &story.moments[1], story.time_base), BD_OK);
    assert_int_equal(cli_run(*state, "test -e t.txt.part"), 0);
    bd_tracks_output.keep_old(output);
    assert_int_equal(bd_tracks_output.close(&output, NULL), BD_OK);
    assert_int_equal(cli_run(*state, "test -e t.txt.part && rm t.txt.part"), 0);
    cli_slurp(*state, "t.txt", text, sizeof text);
    assert_string_equal(text, "old\n");
    assert_int_equal(bd_tracks_output.close(&output, NULL), BD_OK); /* safe on NULL */
}

/* The program: the masks are the same with and without, a reader that goes is one line. */
static void the_program_writes_tracks(void **state)
{
    char text[4096];
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=30' --mask a%03d.pgm -q"), 0);
    assert_int_equal(cli_run(*state,
                             "$B export 'synth:easy?frames=30' --mask b%03d.pgm --tracks t.txt "
                             "--overlay o.mkv --overlay-codec ffv1 --boxes -q"),
                     0);
    assert_int_equal(cli_run(*state, "for i in a*.pgm; do cmp $i b${i#a} || exit 1; done"), 0);
    assert_int_equal(cli_run(*state, "grep -qE '^[0-9]+,1,[0-9]+,[0-9]+,[0-9]+,[0-9]+,[01]\\."
                                     "[0-9]{4},-1,-1,-1$' t.txt"),
                     0);
    /* Boxes are on the overlay, and nowhere else. */
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=30' --overlay p.mkv "
                                     "--overlay-codec ffv1 -q && ! cmp -s o.mkv p.mkv"),
                     0);
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=30' --tracks - -q"), 0);
    cli_slurp(*state, "out", text, sizeof text);
    assert_memory_equal(text, "{\"type\":\"begin\",\"frame\":", 24);
    assert_int_equal(cli_run(*state,
                             "{ $B export 'synth:easy?frames=100' --tracks - --progress none; "
                             "echo $? >code; } | head -n 1"),
                     0);
    cli_slurp(*state, "code", text, sizeof text);
    assert_string_equal(text, "3\n");
    cli_slurp(*state, "err", text, sizeof text);
    assert_int_equal(cli_lines(text), 1);
    assert_non_null(strstr(text, "backdrop: stdout: cannot be written: Broken pipe (after "));
}

/* A full disk is one line, and what was there before stays. */
static void a_full_disk_keeps_the_old_file(void **state)
{
    char text[4096];
    assert_int_equal(cli_run(*state, "echo old >t.csv; ulimit -f 1; "
                                     "$B export 'synth:easy?frames=100' --tracks t.csv -y -q"),
                     3);
    cli_slurp(*state, "err", text, sizeof text);
    assert_int_equal(cli_lines(text), 1);
    assert_non_null(strstr(text, "t.csv: cannot be written: File too large"));
    cli_slurp(*state, "t.csv", text, sizeof text);
    assert_string_equal(text, "old\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(mot_files_hold_what_is_seen),
        CLI_TEST(csv_files_hold_all),
        CLI_TEST(json_lines_begin_and_end),
        CLI_TEST(extreme_numbers_are_whole),
        cmocka_unit_test(stdout_streams),
        CLI_TEST(files_are_whole_or_parts),
        CLI_TEST(files_have_objects_from_their_first_frames),
        CLI_TEST(stdout_tells_the_past_at_once),
        CLI_TEST(the_program_writes_tracks),
        CLI_TEST(a_full_disk_keeps_the_old_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
