/* The assignment of rows to columns, against all assignments of small matrices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>

#include "base/assignment.h"
#include "tests/support/random.h"

enum { most = 6, large = 256 };

/* The least sum over all ways to pair the rows from `row` on with unused columns; `spare` rows stay
 * without one. */
static double least_sum(const double *costs, int rows, int columns, int stride, int row, int spare,
                        unsigned used)
{
    if (row == rows)
        return 0;
    double least =
        spare > 0 ? least_sum(costs, rows, columns, stride, row + 1, spare - 1, used) : INFINITY;
    for (int j = 0; j < columns; j++) {
        if (used >> j & 1)
            continue;
        const double rest = least_sum(costs, rows, columns, stride, row + 1, spare, used | 1u << j);
        least = fmin(least, costs[row * stride + j] + rest);
    }
    return least;
}

/* The sum of what was paired, after checks that no column has two rows. */
static double sum_of(const int *column_of, const double *costs, int rows, int columns, int stride)
{
    bool used[large] = { false };
    int paired = 0;
    double sum = 0;
    for (int i = 0; i < rows; i++) {
        if (column_of[i] < 0)
            continue;
        assert_true(column_of[i] < columns);
        assert_false(used[column_of[i]]);
        used[column_of[i]] = true;
        paired++;
        sum += costs[i * stride + column_of[i]];
    }
    assert_int_equal(paired, rows < columns ? rows : columns);
    return sum;
}

static void all_assignments_of_small_matrices_are_tried(void **state)
{
    (void)state;
    struct bd_assignment work;
    uint32_t seed = 1;
    assert_int_equal(bd_assignment_create(&work, most), BD_OK);
    for (int round = 0; round < 2000; round++) {
        double costs[most * (most + 2)];
        int column_of[most];
        const int rows = between(&seed, 0, most), columns = between(&seed, 0, most);
        const int stride = columns + between(&seed, 0, 2), kinds = between(&seed, 1, 50);
        for (int i = 0; i < rows * stride; i++)
            costs[i] = between(&seed, -kinds, kinds); /* few kinds: many ties */
        bd_assignment_solve(&work, column_of, costs, rows, columns, stride);
        const int spare = rows > columns ? rows - columns : 0;
        assert_true(sum_of(column_of, costs, rows, columns, stride) ==
                    least_sum(costs, rows, columns, stride, 0, spare, 0));
    }
    bd_assignment_destroy(&work);
    assert_null(work.row_price);
}

/* Costs of which the best assignment is known: i x j grows fastest where both grow. */
static void a_large_matrix_is_reversed(void **state)
{
    (void)state;
    static double costs[large * large];
    int column_of[large];
    struct bd_assignment work;
    assert_int_equal(bd_assignment_create(&work, large), BD_OK);
    for (int i = 0; i < large; i++)
        for (int j = 0; j < large; j++)
            costs[i * large + j] = (double)i * j;
    bd_assignment_solve(&work, column_of, costs, large, large, large);
    for (int i = 0; i < large; i++)
        assert_int_equal(column_of[i], large - 1 - i);
    bd_assignment_destroy(&work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_assignments_of_small_matrices_are_tried),
        cmocka_unit_test(a_large_matrix_is_reversed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
