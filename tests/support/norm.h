/* Norms in float64 of float32 matrices. */
#ifndef BD_TESTS_SUPPORT_NORM_H
#define BD_TESTS_SUPPORT_NORM_H

#include <math.h>
#include <stdint.h>

/* ||X||_F of X (m x n, column-major, leading dimension ld), safe at any scale of float32. */
__attribute__((unused)) static double norm64(int64_t m, int64_t n, const float *x, int64_t ld)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            sum += (double)x[i + j * ld] * x[i + j * ld];
    return sqrt(sum);
}

#endif
