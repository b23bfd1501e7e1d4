/* The assignment problem: rows and columns in pairs, so that the sum of the costs is smallest. */
#ifndef BD_BASE_ASSIGNMENT_H
#define BD_BASE_ASSIGNMENT_H

#include <stdbool.h>

#include <backdrop/status.h>

/* Scratch memory for up to `most` rows and columns. */
struct bd_assignment {
    int most;
    double *row_price, *column_price, *least;
    int *row_of, *before;
    bool *done;
};

/* BD_ERROR_MEMORY: then it is all 0. */
enum bd_status bd_assignment_create(struct bd_assignment *assignment, int most);
void bd_assignment_destroy(struct bd_assignment *assignment);

/* column_of[i] (of `rows`): the column of row i, or -1. Row i and column j cost
 * costs[i * stride + j], finite. The smaller of the two numbers is paired as a whole. Takes about
 * smaller^2 x larger steps, and no memory. */
void bd_assignment_solve(struct bd_assignment *assignment, int *column_of, const double *costs,
                         int rows, int columns, int stride);

#endif
