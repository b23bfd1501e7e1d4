/* The JSON writer: the bytes are texts, numbers and brackets; what comes out must be JSON. */
#include <ctype.h>

#include "app/json.h"
#include "tests/fuzz/fuzz.h"

static const char *skip_space(const char *p)
{
    while (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')
        p++;
    return p;
}

static const char *read_text(const char *p)
{
    REQUIRE(*p++ == '"');
    for (; *p != '"'; p++) {
        REQUIRE((unsigned char)*p >= 0x20);
        if (*p != '\\')
            continue;
        p++;
        REQUIRE(strchr("\"\\/bfnrtu", *p) && *p);
        for (int i = 0; *p == 'u' && i < 4; i++)
            REQUIRE(isxdigit((unsigned char)p[i + 1]));
    }
    return p + 1;
}

static const char *read_number(const char *p)
{
    char *end;
    REQUIRE(*p == '-' || isdigit((unsigned char)*p));
    double value = strtod(p, &end);
    REQUIRE(end > p && value - value == 0);
    REQUIRE(!memchr(p, 'x', (size_t)(end - p)));
    return end;
}

static const char *read_value(const char *p);

static const char *read_members(const char *p, char end)
{
    p = skip_space(p + 1);
    while (*p != end) {
        if (end == '}') {
            p = skip_space(read_text(p));
            REQUIRE(*p == ':');
            p++;
        }
        p = skip_space(read_value(p));
        REQUIRE(*p == ',' || *p == end);
        if (*p == ',') {
            p = skip_space(p + 1);
            REQUIRE(*p != end);
        }
    }
    return p + 1;
}

static const char *read_value(const char *p)
{
    p = skip_space(p);
    if (*p == '{')
        return read_members(p, '}');
    if (*p == '[')
        return read_members(p, ']');
    if (*p == '"')
        return read_text(p);
    if (strncmp(p, "null", 4) == 0)
        return p + 4;
    return read_number(p);
}

/* Takes `count` bytes of the input, zeros behind its end. */
static void take(const uint8_t **data, size_t *size, void *to, size_t count)
{
    size_t here = *size < count ? *size : count;
    memset(to, 0, count);
    memcpy(to, *data, here);
    *data += here;
    *size -= here;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { deepest = 20 };
    char *out = NULL, open[deepest + 1] = { '{' };
    size_t length;
    struct bd_json json = { .file = open_memstream(&out, &length) };
    int depth = 1;
    REQUIRE(json.file);
    bd_json_open(&json, NULL, '{');
    while (size > 0) {
        uint8_t what, count;
        take(&data, &size, &what, 1);
        take(&data, &size, &count, 1);
        char word[17] = "";
        take(&data, &size, word, count % sizeof word);
        const char *name = open[depth - 1] == '{' ? word : NULL;
        int64_t integer;
        double number;
        switch (what % 5) {
        case 0:
            if (depth < deepest) {
                open[depth] = what & 16 ? '{' : '[';
                bd_json_open(&json, name, open[depth++]);
            }
            break;
        case 1:
            if (depth > 1)
                bd_json_close(&json, open[--depth] == '{' ? '}' : ']');
            break;
        case 2:
            bd_json_text(&json, name, what & 16 ? NULL : word);
            break;
        case 3:
            take(&data, &size, &integer, sizeof integer);
            bd_json_integer(&json, name, integer);
            break;
        default:
            take(&data, &size, &number, sizeof number);
            bd_json_number(&json, name, number, 1 + count % 17);
        }
    }
    while (depth > 0)
        bd_json_close(&json, open[--depth] == '{' ? '}' : ']');
    REQUIRE(fclose(json.file) == 0);
    REQUIRE(*skip_space(read_value(out)) == 0);
    free(out);
    return 0;
}
