/* The assignment problem: pairs of rows and columns with the largest sum. */
#ifndef BD_APP_EVAL_ASSIGNMENT_H
#define BD_APP_EVAL_ASSIGNMENT_H

#include <backdrop/status.h>

/* Pairs rows and columns so that the sum of their gains is largest; none is in two pairs. `gain` is
 * rows x columns, row by row, each value >= 0. column_of[row] becomes the column of the row's pair;
 * -1: it has none, or one of no gain. The Hungarian method (Kuhn 1955), by shortest augmenting
 * paths (Jonker and Volgenant 1987): rows^2 max(rows, columns) steps. BD_ERROR_MEMORY. */
enum bd_status bd_assign(const double *gain, int rows, int columns, int *column_of);

#endif
