/* For the fuzzers of the LAPACK drop-in: what XERBLA was told, and arguments of calls as bytes
 * decide. Arrays have exactly the documented sizes, so that the address sanitizer sees what is
 * behind them. */
#ifndef BD_TESTS_FUZZ_LAPACK_H
#define BD_TESTS_FUZZ_LAPACK_H

#include <limits.h>
#include <math.h>

#include "lapack/names.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/norm.h"
#include "tests/support/random.h"

enum { most_floats = 1 << 17 }; /* of an array */

static struct told {
    char name[16];
    int32_t argument;
    int times;
} told;

void xerbla_(const char *name, const int32_t *argument, size_t length);
void xerbla_(const char *name, const int32_t *argument, size_t length)
{
    snprintf(told.name, sizeof told.name, "%.*s", (int)length, name);
    told.argument = *argument;
    told.times++;
}

/* Starts an input: what the call gets is decided by its bytes. */
static struct bytes in;
static uint64_t random_state;
static float scale; /* of numbers */
static bool huge;   /* a size is: LAPACK's own sums of sizes may overflow */
static inline void begin(const uint8_t *data, size_t size)
{
    static const float scales[] = { 1, 1, 1, 1e-30F, 1e30F, 0, NAN, 1 };
    in = (struct bytes){ data, size };
    scale = scales[take_byte(&in) % 8];
    random_state = take_byte(&in);
    huge = false;
    told = (struct told){ .times = 0 };
}

static inline int32_t take_size(void)
{
    static const int32_t odd[] = { -1, INT_MIN, INT_MAX, 1 << 16 };
    const uint8_t kind = take_byte(&in), size = take_byte(&in);
    huge |= kind >= 244 && odd[size % 4] == INT_MAX;
    return kind < 200 ? size % 20 : kind < 232 ? size : kind < 244 ? size * 16 : odd[size % 4];
}

/* 0 .. most, or any size. */
static inline int32_t take_up_to(int64_t most)
{
    const uint8_t kind = take_byte(&in);
    return kind < 224 && most > 0 ? (int32_t)(kind % (most + 1)) : kind < 224 ? 0 : take_size();
}

/* `least` or a little more, or too little. */
static inline int32_t take_least(int64_t least)
{
    static const int32_t odd[] = { 0, -1, INT_MIN, -2 };
    const uint8_t byte = take_byte(&in);
    const int64_t size = byte < 240 ? least + byte % 4 : byte < 248 ? least - 1 : odd[byte % 4];
    return size > INT_MAX ? INT_MAX : (int32_t)size;
}

static inline float *new_floats(int64_t count)
{
    float *x = malloc((size_t)count * sizeof *x);
    REQUIRE(x);
    return x;
}

static inline float *new_copy(const float *from, int64_t count)
{
    return memcpy(new_floats(count), from, (size_t)count * sizeof *from);
}

/* `count` numbers, -0.5 .. 0.5 times the scale. A call with an array that is too large is refused
 * for another reason: there are fewer then. */
static inline float *new_random(int64_t count)
{
    float *x = new_floats(count);
    for (int64_t i = 0; i < count; i++)
        x[i] = 0.5F * scale * (float)noise(&random_state);
    return x;
}

/* An array before a call, and for each of the sides that are called. */
struct array {
    int32_t rows, cols, ld;
    int64_t count;
    float *before, *after[2];
};

static inline struct array make_vector(int64_t count)
{
    struct array x = { .count = count < 1 || count > most_floats ? 1 : count };
    x.before = new_random(x.count);
    return x;
}

/* A matrix with a diagonal that makes its condition good. With `touched` it gets a wrong leading
 * dimension where it would be too large. It ends with its last element. */
static inline struct array make_matrix(int32_t rows, int32_t cols, bool touched)
{
    int32_t ld = take_least(rows > 1 ? rows : 1);
    const bool empty = rows <= 0 || cols <= 0 || ld < rows;
    const double size = empty ? 1 : (double)ld * (cols - 1) + rows;
    if (touched && size > most_floats)
        ld = 0;
    struct array x = make_vector(touched && !empty && size <= most_floats ? (int64_t)size : 1);
    const float longest = (float)(rows > cols ? rows : cols);
    for (int64_t i = 0; touched && !empty && size <= most_floats && i < rows && i < cols; i++)
        x.before[i + i * ld] += scale * sqrtf(longest);
    x.rows = rows;
    x.cols = cols;
    x.ld = ld;
    return x;
}

/* Makes the copies, when the numbers are complete. */
static inline void share(struct array *x)
{
    for (int side = 0; side < 2; side++)
        x->after[side] = new_copy(x->before, x->count);
}

static inline void release(struct array *x)
{
    free(x->before);
    for (int side = 0; side < 2; side++)
        free(x->after[side]);
}

/* NaN is the same as itself. */
static inline bool same_bits(const float *x, const float *y, int64_t count)
{
    return memcmp(x, y, (size_t)count * sizeof *x) == 0;
}

/* Nothing was written there by us. */
static inline void require_same(const struct array *x)
{
    REQUIRE(same_bits(x->after[0], x->before, x->count));
}

/* Nor between the columns of a matrix. */
static inline void require_gaps(const struct array *x)
{
    for (int64_t i = 0; i < x->count && x->ld > 0; i++)
        if (i % x->ld >= x->rows)
            REQUIRE(same_bits(x->after[0] + i, x->before + i, 1));
}

#endif
