/* The cells of Andrew and Dingle's tables at the size at which they are measured here. */
#ifndef BD_APP_BENCH_CELLS_H
#define BD_APP_BENCH_CELLS_H

#include "app/bench/bench.h"
#include "app/bench/tables.h"

struct bd_bench_cell {
    struct bd_published_update published;
    int64_t m, n, k, p;
    bool with_q; /* the update keeps the full Q */
};

/* Tables are numbered below this. */
enum { bd_bench_table_count = 12 };

/* Sets wanted[0 .. bd_bench_table_count - 1]: the tables of a list such as "2,7", or all where it
 * is NULL. BD_ERROR_ARGUMENT for what is no such list. */
enum bd_status bd_bench_choose_tables(const char *list, bool *wanted);

/* The least s of a few for which the wanted tables at 1 / s of their size are expected to take no
 * more time than the suite should: 1 on a large GPU. */
int64_t bd_bench_choose_scale(const struct bd_bench *bench, const bool *wanted);

/* A published cell at 1 / scale of its size, with room for a change of at least one column or row.
 */
struct bd_bench_cell bd_bench_cell_scaled(const struct bd_published_update *published,
                                          int64_t scale);

/* Do they change the same problem in the same way? */
bool bd_bench_cell_same_problem(const struct bd_bench_cell *a, const struct bd_bench_cell *b);

/* The least time of the update, in milliseconds. */
double bd_bench_cell_floor(const struct bd_bench *bench, const struct bd_bench_cell *cell);

#endif
