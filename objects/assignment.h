/* The assignment problem: rows and columns in pairs, so that the sum of the costs is smallest. */
#ifndef BD_OBJECTS_ASSIGNMENT_H
#define BD_OBJECTS_ASSIGNMENT_H

enum { bd_assignment_most = 256 }; /* rows, columns */

struct bd_assignment_work {
    double row_price[bd_assignment_most + 1], column_price[bd_assignment_most + 1];
    double least[bd_assignment_most + 1];
    int row_of[bd_assignment_most + 1], before[bd_assignment_most + 1];
    unsigned char done[bd_assignment_most + 1];
};

/* column_of[i] (of `rows`): the column of row i, or -1. Row i and column j cost
 * costs[i * stride + j], finite. The smaller of the two numbers is paired as a whole. Takes about
 * smaller^2 x larger steps. */
void bd_assignment_solve(struct bd_assignment_work *work, int *column_of, const double *costs,
                         int rows, int columns, int stride);

#endif
