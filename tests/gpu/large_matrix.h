/* Matrices that are not stored: every element is a function of the numbers of its row and column in
 * an endless matrix, of which a matrix has some columns and runs of rows. Include <cmocka.h> and
 * what it needs first. */
#ifndef BD_TESTS_GPU_LARGE_MATRIX_H
#define BD_TESTS_GPU_LARGE_MATRIX_H

#include <stdint.h>
#include <string.h>

enum { large_most_cols = 256, large_most_runs = 24 };

/* Rows `id` .. of the endless matrix that all are cut from. */
struct large_run {
    int64_t count, id;
};

/* A: which rows and columns of the endless matrix it has. */
struct large_matrix {
    int64_t m, n;
    int64_t column[large_most_cols];
    int runs;
    struct large_run run[large_most_runs];
};

static inline int64_t large_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* -0.75 .. 1.25, exact in float32. Steele, Lea, Flood: Fast splittable pseudorandom number
 * generators (2014), the finaliser of SplitMix64. */
static inline float large_element(int64_t row, int64_t column)
{
    uint64_t z = (uint64_t)row * 0x9e3779b97f4a7c15 + (uint64_t)column * 0xd1342543de82ef95 + 1;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (float)(int32_t)(z >> 41) * 0x1p-22F - 0.75F;
}

static inline struct large_matrix large_make(int64_t m, int64_t n)
{
    struct large_matrix a = { .m = m, .n = n, .runs = 1, .run = { { m, 0 } } };
    for (int64_t j = 0; j < n; j++)
        a.column[j] = j;
    return a;
}

/* A run begins at row k; returns its number. */
static inline int large_split(struct large_matrix *a, int64_t k)
{
    int r = 0;
    for (; r < a->runs && k >= a->run[r].count; r++)
        k -= a->run[r].count;
    if (k == 0)
        return r;
    assert_true(a->runs + 1 < large_most_runs);
    memmove(a->run + r + 1, a->run + r, (size_t)(a->runs++ - r) * sizeof *a->run);
    a->run[r].count = k;
    a->run[r + 1].count -= k;
    a->run[r + 1].id += k;
    return r + 1;
}

static inline void large_insert_rows(struct large_matrix *a, int64_t k, int64_t p, int64_t id)
{
    int r = large_split(a, k);
    assert_true(a->runs + 1 < large_most_runs);
    memmove(a->run + r + 1, a->run + r, (size_t)(a->runs++ - r) * sizeof *a->run);
    a->run[r] = (struct large_run){ p, id };
    a->m += p;
}

static inline void large_remove_rows(struct large_matrix *a, int64_t k, int64_t p)
{
    int first = large_split(a, k), end = large_split(a, k + p);
    memmove(a->run + first, a->run + end, (size_t)(a->runs - end) * sizeof *a->run);
    a->runs -= end - first;
    a->m -= p;
}

static inline void large_insert_columns(struct large_matrix *a, int64_t k, int64_t p, int64_t id)
{
    memmove(a->column + k + p, a->column + k, (size_t)(a->n - k) * sizeof *a->column);
    for (int64_t j = 0; j < p; j++)
        a->column[k + j] = id + j;
    a->n += p;
}

static inline void large_remove_columns(struct large_matrix *a, int64_t k, int64_t p)
{
    a->n -= p;
    memmove(a->column + k, a->column + k + p, (size_t)(a->n - k) * sizeof *a->column);
}

/* x := rows first .. first + count - 1 of column j. */
static inline void large_fill(float *x, const struct large_matrix *a, int64_t first, int64_t count,
                              int64_t j)
{
    for (int r = 0; r < a->runs && count > 0; first -= a->run[r].count, r++) {
        if (first >= a->run[r].count)
            continue;
        const int64_t rows = large_min(count, a->run[r].count - first);
        const int64_t id = a->run[r].id + first;
        for (int64_t i = 0; i < rows; i++)
            x[i] = large_element(id + i, a->column[j]);
        x += rows;
        count -= rows;
        first += rows;
    }
}

#endif
