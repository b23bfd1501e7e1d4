#include "app/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* The length of the UTF-8 character that `c` begins with, 0 where there is none. */
static int character(const unsigned char *c)
{
    int length = *c < 0x80 ? 1 : *c >> 5 == 6 ? 2 : *c >> 4 == 14 ? 3 : *c >> 3 == 30 ? 4 : 0;
    uint32_t code = length == 1 ? *c : length ? *c & (0x7fu >> length) : 0;
    for (int i = 1; i < length; i++) {
        if (c[i] >> 6 != 2)
            return 0;
        code = code << 6 | (c[i] & 0x3f);
    }
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    bool surrogate = code >= 0xd800 && code < 0xe000;
    return code < least[length] || surrogate || code > 0x10ffff ? 0 : length;
}

static void print_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        int length = character(c);
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(file, "\\u%04x", *c);
        else if (length)
            fwrite(c, 1, (size_t)length, file);
        else
            fputs("\\ufffd", file); /* a name in another encoding */
        c += length ? length : 1;
    }
    fputc('"', file);
}

/* Comma, new line, indentation and key of the next value. */
static void begin(struct bd_json *json, const char *name)
{
    if (json->depth > 0 && (json->filled & 1 << json->depth))
        fputc(',', json->file);
    json->filled |= 1 << json->depth;
    if (json->depth > 0 && !json->compact)
        fprintf(json->file, "\n%*s", 2 * json->depth, "");
    if (name) {
        print_text(json->file, name);
        fputs(json->compact ? ":" : ": ", json->file);
    }
}

void bd_json_open(struct bd_json *json, const char *name, char bracket)
{
    begin(json, name);
    fputc(bracket, json->file);
    json->depth++;
    json->filled &= ~(1 << json->depth);
}

void bd_json_close(struct bd_json *json, char bracket)
{
    int filled = json->filled & 1 << json->depth;
    json->depth--;
    if (filled && !json->compact)
        fprintf(json->file, "\n%*s", 2 * json->depth, "");
    fputc(bracket, json->file);
    if (json->depth == 0)
        fputc('\n', json->file);
}

void bd_json_text(struct bd_json *json, const char *name, const char *value)
{
    begin(json, name);
    if (value)
        print_text(json->file, value);
    else
        fputs("null", json->file);
}

void bd_json_integer(struct bd_json *json, const char *name, int64_t value)
{
    begin(json, name);
    fprintf(json->file, "%" PRId64, value);
}

void bd_json_number(struct bd_json *json, const char *name, double value, int digits)
{
    begin(json, name);
    char text[40];
    /* The largest numbers rounded to few digits are beyond what a reader holds. */
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (isfinite(value) && !isfinite(strtod(text, NULL)))
        snprintf(text, sizeof text, "%.17g", value);
    fputs(isfinite(value) ? text : "null", json->file);
}

void bd_json_time(struct bd_json *json, const char *name, int64_t nanoseconds)
{
    char text[32];
    uint64_t size = nanoseconds < 0 ? -(uint64_t)nanoseconds : (uint64_t)nanoseconds;
    int end = snprintf(text, sizeof text, "%s%" PRIu64 ".%09" PRIu64, nanoseconds < 0 ? "-" : "",
                       size / 1000000000, size % 1000000000);
    while (text[end - 1] == '0')
        text[--end] = 0;
    if (text[end - 1] == '.')
        text[--end] = 0;
    begin(json, name);
    fputs(text, json->file);
}
