/* Writes JSON to a stream, two spaces a level, and a new line after each value at the top. Names
 * and strings are escaped, and bytes that are no UTF-8 become U+FFFD; numbers that are not finite
 * become null. */
#ifndef BD_APP_JSON_H
#define BD_APP_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct bd_json {
    FILE *file;
    int depth;
    int filled;   /* bit d: depth d has a value already */
    bool compact; /* what is written now has neither spaces nor new lines; may change at any time */
};

/* `name` is the key inside an object and NULL inside an array or at the top. */
void bd_json_open(struct bd_json *json, const char *name, char bracket);      /* '{' or '[' */
void bd_json_close(struct bd_json *json, char bracket);                       /* '}' or ']' */
void bd_json_text(struct bd_json *json, const char *name, const char *value); /* NULL: null */
void bd_json_integer(struct bd_json *json, const char *name, int64_t value);
void bd_json_number(struct bd_json *json, const char *name, double value, int digits);
/* Seconds, exactly: with as many decimals as it takes, and no exponent. */
void bd_json_time(struct bd_json *json, const char *name, int64_t nanoseconds);

#endif
