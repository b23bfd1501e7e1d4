#include "app/eval/assignment.h"

#include <float.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Rows and columns from 1 on; column 0 is where a path begins. Costs are -gain. Columns above
 * `columns` gain nothing; they are there so that each row finds one. row_price + column_price is at
 * most the cost, and equal to it in pairs. */
struct problem {
    const double *gain;
    int columns, size;                /* given, and with those that gain nothing */
    double *row_price, *column_price; /* dual variables */
    double *distance;                 /* least reduced cost from the path's tree to a column */
    int *row_of;                      /* of a column's pair; 0: none */
    int *before;                      /* the column before this one on the path */
    bool *reached;
};

static double cost(const struct problem *problem, int row, int column)
{
    return column > problem->columns
               ? 0
               : -problem->gain[(int64_t)(row - 1) * problem->columns + (column - 1)];
}

/* Adds the nearest column to the tree, whose last one is `from`; returns it. */
static int grow(struct problem *problem, int from)
{
    int row = problem->row_of[from], nearest = 0;
    double least = DBL_MAX;
    problem->reached[from] = true;
    for (int j = 1; j <= problem->size; j++) {
        if (problem->reached[j])
            continue;
        double reduced = cost(problem, row, j) - problem->row_price[row] - problem->column_price[j];
        if (reduced < problem->distance[j]) {
            problem->distance[j] = reduced;
            problem->before[j] = from;
        }
        if (problem->distance[j] < least) {
            least = problem->distance[j];
            nearest = j;
        }
    }
    for (int j = 0; j <= problem->size; j++) {
        if (problem->reached[j]) {
            problem->row_price[problem->row_of[j]] += least;
            problem->column_price[j] -= least;
        } else {
            problem->distance[j] -= least;
        }
    }
    return nearest;
}

/* Gives the row a pair; rows before it may change theirs. */
static void add_row(struct problem *problem, int row)
{
    int column = 0;
    for (int j = 0; j <= problem->size; j++) {
        problem->distance[j] = DBL_MAX;
        problem->reached[j] = false;
    }
    problem->row_of[0] = row;
    do
        column = grow(problem, column);
    while (problem->row_of[column]);
    for (; column; column = problem->before[column])
        problem->row_of[column] = problem->row_of[problem->before[column]];
}

enum bd_status bd_assign(const double *gain, int rows, int columns, int *column_of)
{
    int size = rows > columns ? rows : columns;
    size_t places = (size_t)size + 1;
    struct problem problem = { .gain = gain, .columns = columns, .size = size };
    problem.row_price = calloc(places * 3, sizeof *problem.row_price);
    problem.row_of = calloc(places * 2, sizeof *problem.row_of);
    problem.reached = calloc(places, sizeof *problem.reached);
    bool enough = problem.row_price && problem.row_of && problem.reached;
    for (int i = 0; i < rows; i++)
        column_of[i] = -1;
    if (enough) {
        problem.column_price = problem.row_price + places;
        problem.distance = problem.column_price + places;
        problem.before = problem.row_of + places;
        for (int row = 1; row <= rows; row++)
            add_row(&problem, row);
        for (int j = 1; j <= columns; j++)
            if (problem.row_of[j] && cost(&problem, problem.row_of[j], j) < 0)
                column_of[problem.row_of[j] - 1] = j - 1;
    }
    free(problem.row_price);
    free(problem.row_of);
    free(problem.reached);
    return enough ? BD_OK : bd_fail(BD_ERROR_MEMORY, "out of memory for %d pairs", size);
}
