#include "app/bench/cells.h"

#include <stdlib.h>
#include <string.h>

/* Seconds that the grid should take. The largest of these fractions of the papers' sizes that is
 * expected to fit is taken: 1 on a large GPU. */
static const double budget = 120, quick_budget = 2;
static const int64_t scales[] = { 1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48 };
enum { scale_count = sizeof scales / sizeof *scales };

static int64_t at_least(int64_t value, int64_t least)
{
    return value < least ? least : value;
}

struct bd_bench_cell bd_bench_cell_scaled(const struct bd_published_update *u, int64_t scale)
{
    struct bd_bench_cell c = { .published = *u };
    c.with_q = u->kind == BD_QR_INSERT_COLUMNS || u->kind == BD_QR_REMOVE_ROWS;
    c.p = at_least((u->p + scale / 2) / scale, 1);
    c.n = at_least(u->n / scale, u->kind == BD_QR_REMOVE_COLUMNS ? c.p + 1 : 1);
    c.m = at_least(u->m / scale, c.n + (c.with_q ? c.p : 0));
    c.k = u->k / scale;
    int64_t most = u->kind == BD_QR_REMOVE_COLUMNS ? c.n - c.p : c.n;
    c.k = c.k > most ? most : c.k;
    return c;
}

/* The problem after the change. */
static void size_after(const struct bd_bench_cell *c, int64_t *m, int64_t *n)
{
    enum bd_qr_change_kind kind = c->published.kind;
    *m = c->m + (kind == BD_QR_INSERT_ROWS ? c->p : kind == BD_QR_REMOVE_ROWS ? -c->p : 0);
    *n = c->n + (kind == BD_QR_INSERT_COLUMNS ? c->p : kind == BD_QR_REMOVE_COLUMNS ? -c->p : 0);
}

/* What an update cannot do without. The part of R that changes is read and written, and so are
 * the columns of Q; all of R is read to solve for x; reflectors of p + 1 elements, a column of R
 * each, cost four operations for each of their elements and each element of a row or column that
 * they are applied to. */
struct work {
    double bytes, operations;
};
static struct work work_of(const struct bd_bench_cell *c)
{
    double m = (double)c->m, n = (double)c->n, k = (double)c->k, p = (double)c->p;
    struct work w = { 0, 0 };
    double columns = n;
    if (c->published.kind == BD_QR_INSERT_COLUMNS)
        columns = n - k;
    if (c->published.kind == BD_QR_REMOVE_COLUMNS)
        columns = n - k - p;
    int64_t m_after = 0, n_after = 0;
    size_after(c, &m_after, &n_after);
    w.bytes = 8 * columns * (columns / 2 + p) + 2.0 * (double)(n_after * n_after);
    w.operations = 2 * (p + 1) * columns * columns;
    /* The new directions: Q^T U, and reflectors for what lies outside of the span of A. */
    if (c->published.kind == BD_QR_INSERT_COLUMNS) {
        w.bytes += 4 * m * k + 8 * m * (m - k);
        w.operations += 2 * m * m * p;
    } else if (c->with_q) {
        w.bytes += 8 * m * m;
    }
    if (c->with_q)
        w.operations += 4 * m * p * (m - n + columns);
    return w;
}

double bd_bench_cell_floor(const struct bd_bench *bench, const struct bd_bench_cell *c)
{
    struct work w = work_of(c);
    return bd_bench_work_floor(bench, (struct bd_bench_work){ w.bytes, 0, 0, w.operations });
}

static bool is_table(long number)
{
    struct bd_published_update u;
    for (int i = 0; bd_published_update(i, &u); i++)
        if (u.table == number)
            return true;
    return false;
}

enum bd_status bd_bench_choose_tables(const char *list, bool *wanted)
{
    memset(wanted, list == NULL, bd_bench_table_count * sizeof *wanted);
    for (const char *at = list; at;) {
        char *end = NULL;
        long table = strtol(at, &end, 10);
        if (!is_table(table) || (*end && *end != ','))
            return bd_fail(BD_ERROR_ARGUMENT,
                           "updates:%s: there are tables 2, 3 and 5 to 11, with commas between",
                           list);
        wanted[table] = true;
        at = *end ? end + 1 : NULL;
    }
    return BD_OK;
}

bool bd_bench_cell_same_problem(const struct bd_bench_cell *a, const struct bd_bench_cell *b)
{
    return a->published.kind == b->published.kind && a->m == b->m && a->n == b->n;
}

/* A rough estimate of what the grid takes at a scale: a quarter of the rate of a large product, and
 * each problem is factored again in two ways. */
static double expected_seconds(const struct bd_bench *bench, const bool *wanted, int64_t scale)
{
    struct bd_published_update published;
    double operations = 0;
    int64_t last_m = 0, last_n = 0;
    for (int i = 0; bd_published_update(i, &published); i++) {
        struct bd_bench_cell c = bd_bench_cell_scaled(&published, scale);
        int64_t m = 0, n = 0;
        if (!wanted[c.published.table])
            continue;
        size_after(&c, &m, &n);
        double rows = (double)m, cols = (double)n;
        if (m != last_m || n != last_n) {
            operations += 8 * cols * cols * (rows - cols / 3);
            if (c.with_q)
                operations +=
                    16 * (rows * rows * cols - rows * cols * cols + cols * cols * cols / 3);
        }
        operations += 8 * work_of(&c).operations;
        last_m = m;
        last_n = n;
    }
    return operations / (bench->sgemm_rate / 4);
}

int64_t bd_bench_choose_scale(const struct bd_bench *bench, const bool *wanted)
{
    double most = bench->options->quick ? quick_budget : budget;
    int i = 0;
    while (i < scale_count - 1 && expected_seconds(bench, wanted, scales[i]) > most)
        i++;
    return scales[i];
}
