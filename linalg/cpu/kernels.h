/* Private to the CPU backend: the arithmetic on blocks that fit in cache, compiled once for each
 * instruction set (linalg/CMakeLists.txt) and chosen at run time. Matrices are float32,
 * column-major; all kernels are single-threaded and touch only their arguments. */
#ifndef BD_LINALG_CPU_KERNELS_H
#define BD_LINALG_CPU_KERNELS_H

#include <stdint.h>

struct bd_kernels {
    const char *isa; /* for people: "AVX-512", "AVX2", "baseline" */

    /* Householder QR of a block A (m x n, m >= 1, n >= 1, any order of the two), blocked inside: R
     * on and above the diagonal, reflectors v (unit first element not stored) below it, scale
     * factors in tau (min(m, n)), and the triangular factors T of the compact WY form of each inner
     * block of bd_kernel_inner columns in t (bd_kernel_inner x min(m, n), column-major). LAPACK's
     * sgeqrt. */
    void (*geqrt)(int64_t m, int64_t n, float *a, int64_t lda, float *t, float *work);

    /* C (m x k) := Q^T C (transposed = 1) or Q C (0) with Q from geqrt of an m x n block. */
    void (*gemqrt)(int transposed, int64_t m, int64_t n, int64_t k, const float *v, int64_t ldv,
                   const float *t, float *c, int64_t ldc, float *work);

    /* C (m x n) := A (m x k) B (k x n). C must not overlap A. */
    void (*gemm)(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                 int64_t ldb, float *c, int64_t ldc);
};

enum { bd_kernel_inner = 8 }; /* columns of an inner block of geqrt */

/* Floats of `work` that geqrt and gemqrt need for n and k columns. */
int64_t bd_kernel_work(int64_t n, int64_t k);

/* The best kernels for this machine. */
const struct bd_kernels *bd_kernels(void);

#endif
