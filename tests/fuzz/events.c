/* The events file, as CSV and as JSON: the bytes are settings, then frames with a mask each. */
#include <unistd.h>

#include "app/export/events.h"
#include "tests/fuzz/json.h"

enum { most_side = 40 };

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
static void require_csv(const char *text, int count)
{
    int rows = 0, first = 0;
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

/* A mask of a few runs of bytes; the time may be anything. */
static void add(struct bd_events *events, struct bytes *in, struct bd_frame *mask,
                struct bd_rational base)
{
    struct bd_result result = { .mask = mask };
    const uint8_t what = take_byte(in);
    for (int i = 0; i < mask->width * mask->height;) {
        const uint8_t run = take_byte(in);
        for (int p = 0; p <= run >> 1 && i < mask->width * mask->height; p++, i++)
            mask->data[i / mask->width * mask->stride + i % mask->width] = run & 1 ? 255 : 0;
    }
    for (int y = 0; y < mask->height; y++)
        for (int x = 0; x < mask->width; x++)
            result.foreground_pixels += mask->data[y * mask->stride + x] != 0;
    if (what & 1)
        take_bytes(in, &mask->pts, sizeof mask->pts);
    else
        mask->pts = (int64_t)((uint64_t)mask->pts + take_byte(in));
    mask->index++;
    result.time = (double)mask->pts * (double)base.num / (double)base.den;
    require_line(bd_events_add(events, &result));
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
    const struct bd_reader_info info = { .time_base = bases[base], .live = settings & 2 };
    const bool json = settings & 1;
    snprintf(path, sizeof path, "%s/events.%s", folder, json ? "json" : "csv");
    struct bd_events *events = NULL;
    struct bd_frame mask = { 0 };
    int frames = 0, count = -1;
    REQUIRE(bd_events_open(&events, path, &info) == BD_OK);
    REQUIRE(bd_frame_create(&mask, 1 + take_byte(&in) % most_side, 1 + take_byte(&in) % most_side,
                            BD_GRAY8) == BD_OK);
    for (; in.size > 0; frames++)
        add(events, &in, &mask, info.time_base);
    REQUIRE(bd_events_close(&events, &count) == BD_OK && count <= frames);
    if (frames > 0) {
        char *text = read_all();
        if (json)
            require_json(text);
        else
            require_csv(text, count);
        free(text);
    }
    unlink(path);
    bd_frame_destroy(&mask);
    return 0;
}
