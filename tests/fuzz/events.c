/* What happens, and the events file, as CSV and as JSON: the bytes are settings, then frames with
 * objects. */
#include <unistd.h>

#include "app/export/events.h"
#include "tests/fuzz/json.h"

enum { most_objects = 12 };

static char folder[] = "/tmp/bd-fuzz-XXXXXX", path[sizeof folder + 20];

static void remove_folder(void)
{
    rmdir(folder);
}

static char *read_all(void)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t length = 0;
    REQUIRE(file && (getdelim(&text, &length, 0, file) > 0));
    fclose(file);
    return text;
}

/* As many commas in a row as in the first one, and `count` rows after that. */
static void require_csv(const char *text, int64_t count)
{
    int64_t rows = 0, first = 0;
    for (const char *end; *text; text = end + 1, rows++) {
        int commas = 0;
        end = strchr(text, '\n');
        REQUIRE(end);
        for (const char *p = text; p < end; p++)
            commas += *p == ',';
        first = rows == 0 ? commas : first;
        REQUIRE(commas == first && end[-1] >= ' ');
    }
    REQUIRE(rows == count + 1);
}

/* A few objects, whose numbers are new or not; sizes, times and parents may be anything. */
static int take_objects(struct bytes *in, struct bd_object objects[most_objects], double now)
{
    const int count = take_byte(in) % (most_objects + 1);
    int64_t id = 0;
    for (int i = 0; i < count; i++) {
        const uint8_t what = take_byte(in);
        id += 1 + what % 8;
        objects[i] = (struct bd_object){ .id = id,
                                         .x = (int8_t)take_byte(in),
                                         .y = take_byte(in),
                                         .width = 1 + take_byte(in),
                                         .height = 1 + take_byte(in),
                                         .area = 1 + take_byte(in),
                                         .parent = what & 16 ? take_byte(in) : 0,
                                         .since = now - (what & 32 ? take_byte(in) : 0),
                                         .seen = what & 64 };
        if (what & 128)
            take_bytes(in, &objects[i].since, sizeof objects[i].since);
    }
    return count;
}

/* Each event begins once, goes on and ends. Returns how many are open. */
static int64_t require_order(const struct bd_activity *activity, int64_t open)
{
    int count, listed;
    const struct bd_happening *happenings = bd_activity_happenings(activity, &count);
    for (int i = 0; i < count; i++) {
        const struct bd_event *event = happenings[i].event;
        REQUIRE(event->number > 0 && event->number <= bd_activity_event_count(activity));
        REQUIRE(event->start <= event->end && event->track_count > 0 && event->path_count > 0);
        open += (happenings[i].kind == BD_EVENT_BEGAN) - (happenings[i].kind == BD_EVENT_ENDED);
    }
    bd_activity_events(activity, &listed);
    REQUIRE(open == listed);
    return open;
}

/* The next frame; its time may be anything. */
static void add(struct bd_activity *activity, struct bd_events *events, struct bytes *in,
                struct bd_frame *mask, struct bd_rational base)
{
    struct bd_object objects[most_objects];
    if (take_byte(in) & 1)
        take_bytes(in, &mask->pts, sizeof mask->pts);
    else
        mask->pts = (int64_t)((uint64_t)mask->pts + take_byte(in));
    mask->index++;
    struct bd_result result = { .mask = mask, .objects = objects };
    result.time = (double)mask->pts * (double)base.num / (double)base.den;
    result.object_count = take_objects(in, objects, result.time);
    REQUIRE(bd_activity_add(activity, &result) == BD_OK);
    require_line(bd_events_add(events, activity));
}

/* The times of events, lines and zones from a byte. */
static void choose_options(struct bd_options *options, uint8_t byte)
{
    options->min_event_length = byte & 1 ? BD_NONE : byte & 2 ? 2 : 0;
    options->merge_window = byte & 4 ? BD_NONE : byte & 8 ? 60 : 0;
    options->time_post_event = byte & 16 ? BD_NONE : byte & 32 ? 60 : 0;
    if (byte & 64)
        options->lines = (struct bd_texts){ { "a=100,0,100,200", "b=0,100,200,110" }, 2 };
    if (byte & 128)
        options->zones = (struct bd_texts){ { "z=20,20,150,20,150,150,80,90,20,150" }, 1 };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct bd_rational bases[] = { { 1, 1000 },       { 1, 1 },
                                                { 1001, 30000 },   { 1, 90000 },
                                                { 1, 1000000000 }, { INT32_MAX, 1 },
                                                { 1, INT32_MAX },  { 1, 25 } };
    struct bytes in = { data, size };
    if (!path[0])
        REQUIRE(mkdtemp(folder) && atexit(remove_folder) == 0);
    const uint8_t settings = take_byte(&in), base = take_byte(&in) % 8;
    const struct bd_reader_info info = {
        .width = 200, .height = 200, .time_base = bases[base], .live = settings & 2
    };
    const bool json = settings & 1;
    snprintf(path, sizeof path, "%s/events.%s", folder, json ? "json" : "csv");
    struct bd_events *events = NULL;
    struct bd_activity *activity = NULL;
    struct bd_options options = { 0 };
    struct bd_frame mask = { .width = 200, .height = 200 };
    int64_t frames = 0, open = 0;
    choose_options(&options, take_byte(&in));
    REQUIRE(bd_activity_create(&activity, &options, &info) == BD_OK);
    REQUIRE(bd_events_open(&events, path, &info) == BD_OK);
    for (; in.size > 0; frames++) {
        add(activity, events, &in, &mask, info.time_base);
        open = require_order(activity, open);
    }
    REQUIRE(bd_activity_finish(activity) == BD_OK && require_order(activity, open) == 0);
    REQUIRE(bd_events_close(&events, activity) == BD_OK);
    if (frames > 0) {
        char *text = read_all();
        if (json)
            require_json(text);
        else
            require_csv(text, bd_activity_event_count(activity));
        free(text);
    }
    unlink(path);
    bd_activity_destroy(&activity);
    return 0;
}
