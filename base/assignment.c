/* The Hungarian method (Kuhn 1955, Munkres 1957), by shortest augmenting paths: rows enter one
 * after another. For each, Dijkstra's method finds the cheapest chain of pairs that change, in
 * costs that are reduced by the prices of rows and columns. Row and column 0 stand for "none". */
#include "base/assignment.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum bd_status bd_assignment_create(struct bd_assignment *assignment, int most)
{
    const size_t places = (size_t)most + 1;
    *assignment = (struct bd_assignment){ .most = most };
    assignment->row_price = calloc(3 * places, sizeof *assignment->row_price);
    assignment->row_of = calloc(2 * places, sizeof *assignment->row_of);
    assignment->done = calloc(places, sizeof *assignment->done);
    if (!assignment->row_price || !assignment->row_of || !assignment->done) {
        bd_assignment_destroy(assignment);
        return bd_fail(BD_ERROR_MEMORY, "out of memory for %d pairs", most);
    }
    assignment->column_price = assignment->row_price + places;
    assignment->least = assignment->column_price + places;
    assignment->before = assignment->row_of + places;
    return BD_OK;
}

void bd_assignment_destroy(struct bd_assignment *assignment)
{
    free(assignment->row_price);
    free(assignment->row_of);
    free(assignment->done);
    *assignment = (struct bd_assignment){ 0 };
}

/* A problem in which rows are no more than columns. */
struct problem {
    struct bd_assignment *work;
    const double *costs;
    int rows, columns;
    int64_t row_stride, column_stride;
};

static double reduced(const struct problem *p, int row, int column)
{
    return p->costs[(row - 1) * p->row_stride + (column - 1) * p->column_stride] -
           p->work->row_price[row] - p->work->column_price[column];
}

/* Reaches further columns from `column`, the last that was done; returns the nearest of all. */
static int nearest(const struct problem *p, int column, double *distance)
{
    struct bd_assignment *work = p->work;
    int best = 0;
    *distance = INFINITY;
    for (int j = 1; j <= p->columns; j++) {
        if (work->done[j])
            continue;
        const double cost = reduced(p, work->row_of[column], j);
        if (cost < work->least[j]) {
            work->least[j] = cost;
            work->before[j] = column;
        }
        if (work->least[j] < *distance) {
            *distance = work->least[j];
            best = j;
        }
    }
    return best;
}

static void change_prices(const struct problem *p, double distance)
{
    struct bd_assignment *work = p->work;
    for (int j = 0; j <= p->columns; j++)
        if (work->done[j]) {
            work->row_price[work->row_of[j]] += distance;
            work->column_price[j] -= distance;
        } else {
            work->least[j] -= distance;
        }
}

static void enter_row(const struct problem *p, int row)
{
    struct bd_assignment *work = p->work;
    int column = 0;
    for (int j = 0; j <= p->columns; j++) {
        work->least[j] = INFINITY;
        work->done[j] = false;
    }
    work->row_of[0] = row;
    do {
        double distance = 0;
        work->done[column] = true;
        const int next = nearest(p, column, &distance);
        change_prices(p, distance);
        column = next;
    } while (work->row_of[column]);
    while (column) {
        work->row_of[column] = work->row_of[work->before[column]];
        column = work->before[column];
    }
}

void bd_assignment_solve(struct bd_assignment *work, int *column_of, const double *costs, int rows,
                         int columns, int stride)
{
    const bool turned = rows > columns;
    const struct problem p = { work,
                               costs,
                               turned ? columns : rows,
                               turned ? rows : columns,
                               turned ? 1 : stride,
                               turned ? stride : 1 };
    for (int j = 0; j <= p.columns; j++) {
        work->row_price[j] = work->column_price[j] = 0;
        work->row_of[j] = 0;
    }
    for (int i = 1; i <= p.rows; i++)
        enter_row(&p, i);
    for (int i = 0; i < rows; i++)
        column_of[i] = -1;
    for (int j = 1; j <= p.columns; j++)
        if (work->row_of[j] && turned)
            column_of[j - 1] = work->row_of[j] - 1;
        else if (work->row_of[j])
            column_of[work->row_of[j] - 1] = j - 1;
}
