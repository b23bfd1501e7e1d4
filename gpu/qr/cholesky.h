/* Private to the CUDA backend: R from a Gram matrix. */
#ifndef BD_GPU_QR_CHOLESKY_H
#define BD_GPU_QR_CHOLESKY_H

#include "gpu/cuda.h"

/* Doubles of g: n x n, and room behind it for the norms of columns and their inverses. */
static inline size_t bd_cuda_cholesky_size(int64_t n)
{
    return (size_t)n * (size_t)n + 2 * (size_t)n;
}

/* R (float, n x n, zeros below the diagonal, ld = ldr) with R^T R = G, for the Gram matrix G
 * (bd_cuda_cholesky_size doubles, ld n, both triangles; gpu/core/gram.cuh) of any matrix; n <=
 * 1024. G is overwritten.
 *
 * G is scaled to a unit diagonal first. If a pivot is then below 8 n 2^-53, the rounding error
 * that G has anyway, that much is added to the diagonal, which makes every pivot positive (n
 * above about 200: always). So dependent, repeated and zero columns give small or zero rows of R,
 * never a failure, and R^T R differs from G by less than what rounding R to float does: backward
 * stable, as Householder QR is (Higham: Accuracy and Stability of Numerical Algorithms, section
 * 10.3; clamping single pivots is not backward stable). NaN and Inf spread to R. `stop`: if not
 * NULL and *stop != 0 on the device, nothing is done.
 *
 * `report` (1 + n doubles in device memory), if not NULL: report[0] becomes what was added to the
 * scaled diagonal, report[1 + j] the norm of column j; and R in float64 stays in the upper triangle
 * of g, what is below it has no meaning. */
enum bd_status bd_cuda_cholesky(struct bd_cuda *cuda, float *r, int64_t ldr, double *g, int n,
                                const int *stop, double *report = NULL);

#endif
