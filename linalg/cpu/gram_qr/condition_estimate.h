/* Private to the CPU backend: the condition number of a triangle that grows by columns. Bischof:
 * Incremental condition estimation (1990). */
#ifndef BD_LINALG_CPU_GRAM_QR_CONDITION_ESTIMATE_H
#define BD_LINALG_CPU_GRAM_QR_CONDITION_ESTIMATE_H

#include <stdint.h>

/* For R (count x count, upper triangular): unit vectors x for which ||R^T x|| is about the largest
 * and about the least singular value, and those norms. */
struct bd_condition_estimate {
    double *largest_x, *least_x; /* room for the columns to come; the caller's */
    double largest, least;
    int64_t count;
};

/* An empty triangle. */
void bd_condition_start(struct bd_condition_estimate *estimate, double *largest_x, double *least_x);

/* R with one more column, `scale` times the count + 1 elements at `column` of which the last is the
 * diagonal's; in O(count). Returns the estimate of the condition number in the 2-norm: never above
 * it, but for roundings, and seldom less than a fifth; HUGE_VAL for a 0 on the diagonal. */
double bd_condition_add(struct bd_condition_estimate *estimate, const double *column, double scale);

#endif
