/* A reader of JSON, which stops the fuzzer where a text is none. */
#ifndef BD_TESTS_FUZZ_JSON_H
#define BD_TESTS_FUZZ_JSON_H

#include <ctype.h>
#include <locale.h>
#include <wchar.h>

#include "tests/fuzz/fuzz.h"

static inline const char *skip_space(const char *p)
{
    while (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')
        p++;
    return p;
}

/* The bytes that follow the first one of a UTF-8 character. */
static inline int continuation(const char *p)
{
    wchar_t wide;
    mbstate_t state = { 0 };
    size_t length = mbrtowc(&wide, p, 4, &state);
    REQUIRE(length >= 1 && length <= 4);
    return (int)length - 1;
}

static inline const char *read_text(const char *p)
{
    REQUIRE(*p++ == '"');
    for (; *p != '"'; p++) {
        REQUIRE((unsigned char)*p >= 0x20);
        p += continuation(p);
        if (*p != '\\')
            continue;
        p++;
        REQUIRE(strchr("\"\\/bfnrtu", *p) && *p);
        for (int i = 0; *p == 'u' && i < 4; i++)
            REQUIRE(isxdigit((unsigned char)p[i + 1]));
    }
    return p + 1;
}

static inline const char *read_number(const char *p)
{
    char *end;
    REQUIRE(*p == '-' || isdigit((unsigned char)*p));
    double value = strtod(p, &end);
    REQUIRE(end > p && value - value == 0);
    REQUIRE(!memchr(p, 'x', (size_t)(end - p)));
    return end;
}

static inline const char *read_value(const char *p);

static inline const char *read_members(const char *p, char end)
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

static inline const char *read_value(const char *p)
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

static inline void require_json(const char *text)
{
    REQUIRE(setlocale(LC_CTYPE, "C.UTF-8"));
    REQUIRE(*skip_space(read_value(text)) == 0);
    setlocale(LC_CTYPE, "C");
}

#endif
