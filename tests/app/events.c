/* --events, --line, --zone and polygons of --roi: files, lines on stdout, and what they say. */
#include "tests/app/cli_fixture.h"

#include "tests/app/activity_fixture.h"

#include <time.h>

#include "app/export/events.h"
#include "tests/support/quick.h"
#include "video/input/reader.h"

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        print_error("%s is not in\n%s\n", part, text);
    assert_non_null(strstr(text, part));
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part))
        print_error("%s is in\n%s\n", part, text);
    assert_null(strstr(text, part));
}

static void events_as_json(void **state)
{
    char text[8192];
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=60' --events e.json -q"), 0);
    cli_slurp(*state, "e.json", text, sizeof text);
    static const char *const keys[] = { "events", "start", "end",       "peak_fraction",
                                        "x",      "width", "frames",    "objects",
                                        "tracks", "path",  "crossings", "zones" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char key[32];
        snprintf(key, sizeof key, "\"%s\": ", keys[i]);
        assert_has(text, key);
    }
    assert_has(text, "\"frames\": 60");
    assert_lacks(text, "\"lines\"");
    assert_int_equal(cli_run(*state, "python3 -m json.tool e.json >/dev/null"), 0);
    /* nothing moves: no event, but a complete file */
    assert_int_equal(
        cli_run(*state, "ffmpeg -v error -f lavfi -i color=gray:s=64x48:d=2 still.mkv"), 0);
    assert_int_equal(cli_run(*state, "$B export still.mkv --events s.json"), 0);
    cli_slurp(*state, "s.json", text, sizeof text);
    assert_has(text, "\"events\": []");
    assert_has(text, "\"frames\": 50");
    cli_slurp(*state, "err", text, sizeof text);
    assert_has(text, ", 0 events\n");
}

static void open_events(const char *folder, const char *name, struct field *field,
                        struct bd_events **events, int64_t den)
{
    char path[512];
    open_field(field, den);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(bd_events_open(events, path, &field->info), BD_OK);
}

/* The next frame shows the object; NULL: none. */
static void add(struct field *field, struct bd_events *events, int64_t pts,
                const struct bd_object *object)
{
    add_frame(field, pts, object, object != NULL);
    assert_int_equal(bd_events_add(events, field->activity), BD_OK);
}

static void close_events(struct field *field, struct bd_events **events)
{
    assert_int_equal(bd_activity_finish(field->activity), BD_OK);
    assert_int_equal(bd_events_close(events, field->activity), BD_OK);
    assert_null(*events);
    close_field(field);
}

/* Writes the events of an object that is seen at these times, in units of 1/den seconds. */
static void write_events(const char *folder, const char *name, bool live, int64_t den,
                         const int64_t *pts, int count, char *text, size_t size)
{
    struct field field = { .options = { .min_event_length = BD_NONE }, .info = { .live = live } };
    struct bd_events *events = NULL;
    open_events(folder, name, &field, &events, den);
    for (int i = 0; i < count; i++) {
        struct bd_object object = object_at(1, 100, 200, (double)pts[0] / (double)den);
        add(&field, events, pts[i], &object);
    }
    close_events(&field, &events);
    cli_slurp(folder, name, text, size);
}

/* Times as large as a camera's keep their microseconds, and what a time base holds is written. */
static void event_times_are_exact(void **state)
{
    char text[4096];
    static const int64_t camera[] = { 1795398360123456, 1795398360623457, 1795398361123458 };
    write_events(*state, "a.json", false, 1000000, camera, 3, text, sizeof text);
    assert_has(text, "\"start\": 1795398360.123456,");
    assert_has(text, "\"end\": 1795398361.123458,");
    assert_has(text, "\"peak_time\": 1795398360.123456,");
    assert_has(text, "\"start_utc\": null");
    assert_has(text, "\"path\": [[1795398360.123456,100,200],[1795398360.623457,");
    write_events(*state, "a.csv", false, 1000000, camera, 3, text, sizeof text);
    assert_has(text, "\n1,1795398360.123456,1795398361.123458,0,2,1795398360.123456,");
    assert_has(text, ",,,,1,1,1795398360.123456 100 200;1795398360.623457 100 200;");
    assert_has(text, ",,\n");
    static const int64_t thirds[] = { -1, 1, 2 }, absurd[] = { INT64_MIN, 0, INT64_MAX },
                         back[] = { INT64_MAX, 0, INT64_MIN };
    write_events(*state, "b.json", false, 3, thirds, 3, text, sizeof text);
    assert_has(text, "\"start\": -0.333333333,");
    assert_has(text, "\"end\": 0.666666667,");
    write_events(*state, "c.json", true, 1, absurd, 3, text, sizeof text);
    assert_has(text, "\"start\": -3000000000,");
    assert_has(text, "\"end\": 3000000000,");
    assert_lacks(text, "\"event\": 2,");
    write_events(*state, "d.json", true, 1, back, 3, text, sizeof text);
    assert_has(text, "\"event\": 3,");
    static const int64_t before_1970[] = { -86400000, -86398000 };
    write_events(*state, "e.csv", false, 1000, before_1970, 2, text, sizeof text);
    assert_has(text, "\n1,-86400.000000,-86398.000000,0,1,-86400.000000,");
}

/* An event that has ended is in the file, should the program be killed; what the file held before
 * is there until the end. */
static void events_are_written_at_once(void **state)
{
    char text[4096];
    struct bd_events *events = NULL;
    struct field field = { .options = { .min_event_length = BD_NONE } };
    struct bd_object object = object_at(1, 100, 200, 1);
    assert_int_equal(cli_run(*state, "printf old > e.csv"), 0);
    open_events(*state, "e.csv", &field, &events, 1);
    for (int i = 0; i < 6; i++)
        add(&field, events, i, i == 1 ? &object : NULL);
    cli_slurp(*state, "e.csv.part", text, sizeof text);
    assert_has(text, "\n1,1.000000,1.000000,1,1,");
    cli_slurp(*state, "e.csv", text, sizeof text);
    assert_string_equal(text, "old");
    close_events(&field, &events);
    cli_slurp(*state, "e.csv", text, sizeof text);
    assert_has(text, "\n1,1.000000,1.000000,1,1,");
    /* no frame: nothing is replaced */
    open_events(*state, "e.csv", &field, &events, 1);
    close_events(&field, &events);
    assert_int_equal(cli_run(*state, "grep -q '^1,1' e.csv && ! test -e e.csv.part"), 0);
}

/* How often `part` is in the text. */
static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

/* An event in progress is in the file after a second, once, and what comes later replaces it: also
 * where that is shorter. */
static void an_event_in_progress_is_in_the_file(void **state)
{
    static const char *const names[] = { "p.csv", "p.json" };
    for (size_t n = 0; n < 2; n++) {
        const char *first = n ? "\"first_frame\": " : "\n1,";
        char part[32], text[4096];
        struct bd_events *events = NULL;
        struct field field = { 0 };
        snprintf(part, sizeof part, "%s.part", names[n]);
        open_events(*state, names[n], &field, &events, 2);
        for (int i = 0; i < 8; i++) {
            /* the box of the peak gets shorter numbers */
            const int at = i < 6 ? 120 : 12;
            struct bd_object object = object_at(1, at, at + 40, 0);
            object.area = i < 6 ? 400 : 500;
            add(&field, events, i, &object);
            cli_slurp(*state, part, text, sizeof text);
            if (i < 2)
                continue;
            assert_int_equal(count_of(text, first), 1);
            const int told = i / 2 * 2;
            char last[64];
            snprintf(last, sizeof last, n ? "\"last_frame\": %d," : ",0,%d,", told);
            assert_has(text, last);
            assert_has(text, told < 6 ? (n ? "\"x\": 110," : ",110,121,20,40,,,,1,1,0.0")
                                      : (n ? "\"x\": 2," : ",2,13,20,40,,,,1,1,0.0"));
            assert_lacks(text, told < 6 ? "\"x\": 2," : "\"x\": 110,");
        }
        close_events(&field, &events);
        cli_slurp(*state, names[n], text, sizeof text);
        assert_int_equal(count_of(text, first), 1);
        assert_has(text, n ? "\"last_frame\": 7," : ",0,7,");
        assert_has(text, n ? "\"frames\": 8\n}" : ";3.500000 12 52,,\n");
        assert_int_equal(cli_run(*state, n ? "python3 -m json.tool p.json >/dev/null"
                                           : "test $(wc -l <p.csv) = 2"),
                         0);
    }
}

/* Of several events the file has those that have ended, then those in progress, each once. */
static void events_side_by_side_are_in_the_file(void **state)
{
    char text[8192];
    struct bd_events *events = NULL;
    struct field field = { 0 };
    open_events(*state, "s.csv", &field, &events, 2);
    for (int i = 0; i < 30; i++) {
        struct bd_object objects[3];
        int count = 0;
        for (int id = 1; id <= 3; id++)
            if (i >= id && (i < 12 - 2 * id || id == 3))
                objects[count++] = object_at(id, 100 * id, 200, id / 2.);
        add_frame(&field, i, objects, count);
        assert_int_equal(bd_events_add(events, field.activity), BD_OK);
        cli_slurp(*state, "s.csv.part", text, sizeof text);
        for (int id = 1; id <= 3 && i >= 6; id++) {
            char begin[16];
            snprintf(begin, sizeof begin, "\n%d,", id);
            assert_int_equal(count_of(text, begin), 1);
        }
    }
    close_events(&field, &events);
    assert_int_equal(cli_run(*state, "cut -d, -f1,16,17 s.csv | tr '\\n' ' '"), 0);
    cli_slurp(*state, "out", text, sizeof text);
    assert_string_equal(text, "event,objects,tracks 2,1,2 1,1,1 3,1,3 ");
}

/* A camera's clock counts from 1970 or from the start of the machine; other clocks have no UTC. */
static void events_of_a_camera_have_utc(void **state)
{
    static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC };
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        char text[4096], wanted[64];
        struct timespec begun, real;
        clock_gettime(clocks[i], &begun);
        clock_gettime(CLOCK_REALTIME, &real);
        int64_t pts[] = { begun.tv_sec * 1000000 + begun.tv_nsec / 1000, 0 };
        pts[1] = pts[0] + 900000;
        write_events(*state, "a.json", true, 1000000, pts, 2, text, sizeof text);
        const char *start = strstr(text, "\"start_utc\": \""),
                   *end = strstr(text, "\"end_utc\": \"");
        assert_non_null(start);
        assert_non_null(end);
        int year, month, day, hour, minute;
        double seconds;
        assert_int_equal(sscanf(start + 14, "%4d-%2d-%2dT%2d:%2d:%9lfZ\"", &year, &month, &day,
                                &hour, &minute, &seconds),
                         6);
        struct tm parts = { .tm_year = year - 1900,
                            .tm_mon = month - 1,
                            .tm_mday = day,
                            .tm_hour = hour,
                            .tm_min = minute };
        double off = (double)(timegm(&parts) - real.tv_sec) + seconds - (double)real.tv_nsec / 1e9;
        print_message("UTC is off by %.6f s\n", off);
        assert_true(off > -0.1 && off < 0.1);
        write_events(*state, "a.csv", true, 1000000, pts, 2, text, sizeof text);
        snprintf(wanted, sizeof wanted, ",%04d-%02d-%02dT", year, month, day);
        assert_has(text, wanted);
        assert_has(text, "Z,1,1,");
        pts[0] -= 1000000000000; /* twelve days ago */
        write_events(*state, "b.csv", true, 1000000, pts, 2, text, sizeof text);
        assert_has(text, ",,,,1,1,");
    }
}

/* What crossed lines and zones, by event and in all. */
static void crossings_and_stays_are_written(void **state)
{
    char text[8192];
    static const char *const names[] = { "c.csv", "c.json" };
    for (int n = 0; n < 2; n++) {
        struct bd_events *events = NULL;
        struct field field = {
            .options = { .lines = { { "in gate=200,300,200,0", "\xc3\xa4=300,0,300,300" }, 2 },
                         .zones = { { "yard=115,100,245,100,245,250,115,250" }, 1 } }
        };
        open_events(*state, names[n], &field, &events, 10);
        for (int i = 0; i < 30; i++) {
            struct bd_object object = object_at(1, 100 + 10 * i, 200, 0);
            add(&field, events, i, &object);
        }
        close_events(&field, &events);
        cli_slurp(*state, names[n], text, sizeof text);
        if (n == 0) {
            assert_has(text, ",in gate:right;\xc3\xa4:left,yard:1.300000\n");
            continue;
        }
        assert_int_equal(cli_run(*state, "python3 -m json.tool c.json >/dev/null"), 0);
        assert_has(text,
                   "\"crossings\": [{\"line\":\"in gate\",\"direction\":\"right\",\"time\":1.1,"
                   "\"object\":1},{\"line\":\"\xc3\xa4\",\"direction\":\"left\",");
        assert_has(text, "\"zones\": [{\"zone\":\"yard\",\"time\":0.2,\"stay\":1.3,\"object\":1}]");
        assert_has(text, "\"lines\": [\n    {\n      \"name\": \"in gate\",\n      \"right\": 1,\n"
                         "      \"left\": 0\n    },");
        assert_has(text, "\"entered\": 1,\n      \"left\": 1,\n      \"stay\": 1.3\n");
    }
}

/* Each line of stdout is an object of JSON, and comes at once. */
static void happenings_go_to_stdout(void **state)
{
    char text[65536];
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=100' --events - "
                                     "--line 'a=160,240,160,0' --zone 'z=0,0,320,0,320,240,0,240' "
                                     "--json r.json >lines"),
                     0);
    assert_int_equal(
        cli_run(*state,
                "python3 -c '\nimport json,collections\nc=collections.Counter()\n"
                "for l in open(\"lines\"):\n j=json.loads(l)\n c[j[\"type\"]]+=1\n"
                " assert j[\"time\"]>=0 and j[\"frame\"]<100 and j[\"event\"]>0\n"
                " if j[\"type\"]==\"end\": assert j[\"path\"] and j[\"tracks\"]\n"
                " if j[\"type\"]==\"cross\": assert j[\"line\"]==\"a\" and j[\"direction\"] in "
                "(\"left\",\"right\")\n"
                " if j[\"type\"]==\"leave\": assert j[\"zone\"]==\"z\" and j[\"stay\"]>0\n"
                "assert c[\"begin\"]==c[\"end\"]>0 and c[\"enter\"]==c[\"leave\"]>0, c\n"
                "r=json.load(open(\"r.json\"))\nassert r[\"events\"]==c[\"end\"], c\n"
                "assert r[\"lines\"][0][\"right\"]+r[\"lines\"][0][\"left\"]==c[\"cross\"], c\n"
                "assert r[\"zones\"][0][\"entered\"]==c[\"enter\"], c\n'"),
        0);
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=100' --events - "
                                     "--line 'a=160,240,160,0' --progress none >/dev/null"),
                     0);
    cli_slurp(*state, "err", text, sizeof text);
    assert_has(text, " output, ");
    assert_has(text, "\nline a: ");
    assert_int_equal(cli_lines(text), 2);
    /* the first line is there long before the end of the film, which it does not wait for */
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=100000' --events - -q | "
                                     "head -n 1"),
                     0);
    cli_slurp(*state, "out", text, sizeof text);
    assert_memory_equal(text, "{\"type\":\"begin\",", 16);
}

/* Who listens has gone: one line, and status 3. */
static void a_closed_pipe_is_one_line(void **state)
{
    char text[4096];
    assert_int_equal(cli_run(*state, "{ $B export 'synth:easy?frames=100' --events - -q; "
                                     "echo $? >status; } | true"),
                     0);
    cli_slurp(*state, "status", text, sizeof text);
    assert_string_equal(text, "3\n");
    cli_slurp(*state, "err", text, sizeof text);
    assert_int_equal(cli_lines(text), 1);
    assert_has(text, "backdrop: stdout: ");
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=100' --events - -q >/dev/full"),
                     3);
    cli_slurp(*state, "err", text, sizeof text);
    assert_int_equal(cli_lines(text), 1);
}

/* Each bad start gives exactly one line on stderr and leaves no file. */
static void bad_input_is_one_line(void **state)
{
    static const struct {
        const char *options, *word;
    } rows[] = {
        { "--events e.csv --line gate=900,10,3,4",
          "--line gate: point 900,10 is outside of the 320x240 picture\n" },
        { "--events e.csv --line gate", "--line gate: must be NAME=x,y,x,y,..." },
        { "--events e.csv --zone z=1,2,3,4", "--zone z: 1,2,3,4: a zone has 3 points at least" },
        { "--events e.csv --zone z=1,2,3,4,5,7 --zone z=1,2,3,4,5,7", "has this name" },
        { "--events e.csv --line", "its value NAME=X,Y,X,Y is missing" },
        { "--mask m.mkv --line gate=1,2,3,4", "--line: does nothing without an output of objects" },
        { "--mask m.mkv --zone z=1,2,3,4,5,6", "--zone: does nothing without an output" },
        { "--mask m.mkv --merge-window 3", "--merge-window: does nothing without an output" },
        { "--tracks t.csv --merge-window 3",
          "--merge-window: does nothing without an output of events" },
        { "--tracks t.csv --min-event-length 3",
          "--min-event-length: does nothing without an output of events" },
        { "--synopsis s.mkv --time-post-event 3",
          "--time-post-event: does nothing without an output of events" },
        { "--events e.csv --min-event-length -1", "must be 0..3600" },
        { "--events e.csv --time-post-event x", "must be a number, 0..3600" },
        { "--events - --tracks -", "--events has stdout" },
        { "--events e.csv --roi 1,2,3", "--roi 1,2,3: has 3 numbers; a point is two, x,y\n" },
        { "--events e.csv --roi 1,2,3,4", "a polygon has 3 points at least, not 2\n" },
        { "--events e.csv --roi '1,2,3,4,5,7;'", "--roi is empty" },
        { "--events e.csv --roi 1,2,3,4,999,6", "point 999,6 is outside of the 320x240 pic" },
        { "--events e.csv --roi=-1,2,3,4,5,7", "--roi -1,2,3,4,5,7: point -1,2 is outside of the" },
        { "--events e.csv --roi 1,2,3,4,5,6",
          "--roi 1,2,3,4,5,6: its points are all on one line\n" },
        { "--events e.csv --zone z=1,2,3,4,5,6", "--zone z: its points are all on one line\n" },
        { "--events e.csv --roi ./1,2,3,4,5,6", "--roi ./1,2,3,4,5,6: cannot be read" },
    };
    char command[512], text[4096];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(command, sizeof command, "$B export 'synth:easy?frames=9' %s", rows[i].options);
        int exit_status = cli_run(*state, command);
        cli_slurp(*state, "err", text, sizeof text);
        if (exit_status != 1 || cli_lines(text) != 1 || !strstr(text, rows[i].word))
            print_error("%s: status %d, stderr: %s", rows[i].options, exit_status, text);
        assert_int_equal(exit_status, 1);
        assert_int_equal(cli_lines(text), 1);
        assert_has(text, rows[i].word);
    }
    assert_int_equal(cli_run(*state, "ls | grep -e csv -e mkv"), 1);
    char many[2048] = "$B export 'synth:easy?frames=9' --events e.csv -q";
    for (int i = 0; i < 32; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), " --line l%d=1,2,3,4", i);
    assert_int_equal(cli_run(*state, many), 0);
    snprintf(many + strlen(many), sizeof many - strlen(many), " --line a=1,2,3,4 -y");
    assert_int_equal(cli_run(*state, many), 1);
    cli_slurp(*state, "err", text, sizeof text);
    assert_has(text, "--line a=1,2,3,4: more than 32 of them");
}

/* Masks with polygons are those without, and black outside. */
static void what_is_outside_of_polygons_does_not_count(void **state)
{
    char path[512];
    struct bd_reader *all = NULL, *part = NULL;
    struct bd_frame a = { 0 }, b = { 0 };
    struct bd_reader_options options = { .format = BD_GRAY8 };
    int64_t inside = 0, outside = 0;
    assert_int_equal(cli_run(*state, "$B export 'synth:easy?frames=40' --mask a.mkv -q && "
                                     "$B export 'synth:easy?frames=40' --mask b.mkv -q --roi "
                                     "'0,0,100,0,100,240,0,240;200,0,320,0,320,240,200,240'"),
                     0);
    snprintf(path, sizeof path, "%s/a.mkv", (char *)*state);
    assert_int_equal(bd_reader_open(&all, path, &options), BD_OK);
    snprintf(path, sizeof path, "%s/b.mkv", (char *)*state);
    assert_int_equal(bd_reader_open(&part, path, &options), BD_OK);
    while (bd_reader_read(all, &a) == BD_OK && bd_reader_read(part, &b) == BD_OK)
        for (int y = 0; y < a.height; y++)
            for (int x = 0; x < a.width; x++) {
                const bool in = x < 100 || x >= 200;
                const uint8_t wanted = in ? a.data[y * a.stride + x] : 0;
                assert_int_equal(b.data[y * b.stride + x], wanted);
                *(in ? &inside : &outside) += a.data[y * a.stride + x] != 0;
            }
    assert_true(inside > 100 && outside > 100);
    bd_frame_destroy(&a);
    bd_frame_destroy(&b);
    bd_reader_close(&all);
    bd_reader_close(&part);
}

/* People walk through for 80 seconds. On the line across the path, counted by eye from the film
 * (docs/objects.md): 5 go right, at 29.4, 63.7, 65.5, 69.3 and 74.5 s, and 7 left, at 18.6, 21.1,
 * 26.0, 53.9, 60.6, 68.4 and 71.6 s. On the line across the road, counted in the same way by
 * another reader, 15 go right and 18 left. */
static void a_real_film_has_visits(void **state)
{
    const char *data = getenv("BACKDROP_DATA");
    char path[512], text[8192];
    snprintf(path, sizeof path, "%s/videos/vtest.avi", data ? data : "");
    if (access(path, R_OK) || test_quick())
        skip();
    assert_int_equal(cli_run(*state, "$B export $BACKDROP_DATA/videos/vtest.avi --events e.csv "
                                     "--tracks t.txt --line gate=170,350,170,140 "
                                     "--line road=560,460,560,140 --progress none"),
                     0);
    cli_slurp(*state, "err", text, sizeof text);
    const char *at = strstr(text, "line gate: ");
    int right = -1, left = -1;
    assert_non_null(at);
    assert_int_equal(sscanf(at, "line gate: %d right, %d left", &right, &left), 2);
    print_message("%s", text);
    assert_in_range(right, 4, 6);
    assert_in_range(left, 6, 8);
    at = strstr(text, "line road: ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "line road: %d right, %d left", &right, &left), 2);
    assert_in_range(right, 14, 16);
    assert_in_range(left, 17, 19);
    /* tracks: few, and the longest over 15 s of 10 frames */
    assert_int_equal(cli_run(*state, "awk -F, '{ if (!n[$2]++) ids++; if (n[$2] > most) most = "
                                     "n[$2] } END { exit !(ids >= 8 && ids <= 40 && most > 150) }' "
                                     "t.txt"),
                     0);
    /* an event a visit: many, and none is the film */
    assert_int_equal(cli_run(*state, "awk -F, 'NR > 1 { n++; if ($3 - $2 > 75) long++ } END { exit "
                                     "!(n >= 5 && n <= 40 && !long) }' e.csv"),
                     0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLI_TEST(events_as_json),
        CLI_TEST(event_times_are_exact),
        CLI_TEST(events_are_written_at_once),
        CLI_TEST(an_event_in_progress_is_in_the_file),
        CLI_TEST(events_side_by_side_are_in_the_file),
        CLI_TEST(events_of_a_camera_have_utc),
        CLI_TEST(crossings_and_stays_are_written),
        CLI_TEST(happenings_go_to_stdout),
        CLI_TEST(a_closed_pipe_is_one_line),
        CLI_TEST(bad_input_is_one_line),
        CLI_TEST(what_is_outside_of_polygons_does_not_count),
        CLI_TEST(a_real_film_has_visits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
