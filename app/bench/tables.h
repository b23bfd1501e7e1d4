/* What papers published, for printing beside what is measured here. */
#ifndef BD_APP_BENCH_TABLES_H
#define BD_APP_BENCH_TABLES_H

#include <stdbool.h>

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

#endif
