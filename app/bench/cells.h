/* Andrew and Dingle's tables, for printing beside what is measured here, and their cells at the
 * size at which they are measured. */
#ifndef BD_APP_BENCH_CELLS_H
#define BD_APP_BENCH_CELLS_H

#include "app/bench/bench.h"
#include <backdrop/qr_update.h>

/* A cell of tables 2, 3 and 5 to 11 of Andrew, Dingle: Implementing QR factorization updating
 * algorithms on GPUs (MIMS EPrint 2012.114; the journal has the same as figures): a Tesla M2050
 * against CULA, whose QR solve of the whole new problem is full_ms. m x n is the problem before p
 * columns or rows come or go at k (the report calls rows n and columns m). */
struct bd_published_update {
    int table;
    enum bd_qr_change_kind kind;
    int m, n, k, p;
    int full_ms, update_ms;
};
/* Cell i of all tables, problems of one shape following each other; false: there are no more. */
bool bd_published_update(int i, struct bd_published_update *cell);

/* A row of tables 12 to 15 there: errors on the GPU, then of their serial code, m = 4000, n = 2000,
 * k = 0; 0: not published. */
struct bd_published_accuracy {
    enum bd_qr_change_kind kind;
    int p;
    double forward[2];       /* ||x - x_full||_2 / ||x_full||_2 */
    double orthogonality[2]; /* ||Q^T Q - I||_2 */
    double backward[2];      /* ||Q R - A||_2 / ||A||_2 */
};
extern const struct bd_published_accuracy bd_published_accuracies[];
extern const int bd_published_accuracy_count;

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
