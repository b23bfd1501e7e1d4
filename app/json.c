#include "app/json.h"

#include <inttypes.h>
#include <math.h>

static void print_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(file, "\\u%04x", *c);
        else
            fputc(*c, file);
    }
    fputc('"', file);
}

/* Comma, new line, indentation and key of the next value. */
static void begin(struct bd_json *json, const char *name)
{
    if (json->filled & 1 << json->depth)
        fputc(',', json->file);
    json->filled |= 1 << json->depth;
    if (json->depth > 0)
        fprintf(json->file, "\n%*s", 2 * json->depth, "");
    if (name) {
        print_text(json->file, name);
        fputs(": ", json->file);
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
    if (filled)
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
    if (isfinite(value))
        fprintf(json->file, "%.*g", digits, value);
    else
        fputs("null", json->file);
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
