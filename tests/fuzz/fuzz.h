/* What fuzzers share. */
#ifndef BD_TESTS_FUZZ_FUZZ_H
#define BD_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <backdrop/status.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Stops the fuzzer, which then writes its input to a file. */
#define REQUIRE(condition)                                                          \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                \
        }                                                                           \
    } while (0)

/* A failure has one line that says what is wrong. */
static inline void require_line(enum bd_status status)
{
    if (status == BD_OK || status == BD_END)
        return;
    const char *line = bd_error_detail();
    REQUIRE(line[0] && !strchr(line, '\n'));
}

/* The bytes as a string; the caller frees. */
static inline char *text_of(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    REQUIRE(text);
    memcpy(text, data, size);
    text[size] = 0;
    return text;
}

/* What is left of an input. */
struct bytes {
    const uint8_t *data;
    size_t size;
};

/* Takes `count` bytes of it, zeros behind its end. */
static inline void take_bytes(struct bytes *in, void *to, size_t count)
{
    size_t here = in->size < count ? in->size : count;
    memset(to, 0, count);
    memcpy(to, in->data, here);
    in->data += here;
    in->size -= here;
}

static inline uint8_t take_byte(struct bytes *in)
{
    uint8_t byte;
    take_bytes(in, &byte, 1);
    return byte;
}

#endif
