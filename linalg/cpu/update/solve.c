/* The least-squares side of QR updating on the CPU: right-hand sides, and the triangular solve. */
#include <cblas.h>
#include <stdint.h>
#include <string.h>

#include "linalg/cpu/kernels/tall_kernels.h"
#include "linalg/cpu/update/update.h"
#include "linalg/shared/kernels.h"

enum bd_status bd_cpu_update_check(void *work, const float *x, int64_t ldx, int64_t rows,
                                   int64_t cols)
{
    (void)work;
    const struct bd_tall_kernels *kernels = bd_kernels()->tall;
    for (int64_t j = 0; j < cols; j++)
        if (!kernels->finite_single(rows, x + j * ldx))
            return bd_fail(BD_ERROR_NUMERIC,
                           "QR update: column %lld of what comes in holds NaN or Inf",
                           (long long)j);
    return BD_OK;
}

enum bd_status bd_update_check_ld(const struct bd_qr_parts *f, int64_t ldu)
{
    if (f->ldq > INT32_MAX || f->ldd > INT32_MAX || ldu > INT32_MAX)
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "cpu: QR updating with ld = %lld: BLAS takes at most %d",
                       (long long)(ldu > f->ldq ? ldu : f->ldq), INT32_MAX);
    return BD_OK;
}

/* Sums in float64, for thin Q: full ones keep d themselves. */
enum bd_status bd_cpu_update_project(void *plan, const struct bd_qr_parts *f, const float *b,
                                     int64_t ldb)
{
    struct bd_cpu_update *work = plan;
    bd_update_set_rows(work, f->m);
    for (int64_t j = 0; j < f->rhs; j += bd_update_group) {
        int64_t cols = f->rhs - j < bd_update_group ? f->rhs - j : bd_update_group;
        struct bd_update_pass pass = { .q = f->q,
                                       .ldq = f->ldq,
                                       .n_in = f->q_cols,
                                       .n = f->q_cols,
                                       .u = b + j * ldb,
                                       .ldu = ldb,
                                       .b = cols,
                                       .dots = 1 };
        bd_update_run(work, &pass);
        for (int64_t c = 0; c < cols; c++)
            for (int64_t i = 0; i < f->q_cols; i++)
                f->d[i + (j + c) * f->ldd] = (float)work->sums[i + c * f->q_cols];
    }
    return BD_OK;
}

enum bd_status bd_cpu_update_solve(void *work, const float *r, int64_t ldr, int64_t n,
                                   const float *d, int64_t ldd, int64_t rhs, float *x, int64_t ldx)
{
    (void)work;
    if (ldr > INT32_MAX || ldx > INT32_MAX)
        return bd_fail(BD_ERROR_UNSUPPORTED, "cpu: R x = d with ld = %lld: BLAS takes at most %d",
                       (long long)(ldr > ldx ? ldr : ldx), INT32_MAX);
    for (int64_t j = 0; j < n; j++)
        if (r[j + j * ldr] == 0)
            return bd_fail(BD_ERROR_NUMERIC, "R x = d: element %lld of the diagonal of R is 0",
                           (long long)j);
    if (x != d)
        for (int64_t j = 0; j < rhs; j++)
            memcpy(x + j * ldx, d + j * ldd, (size_t)n * sizeof *x);
    cblas_strsm(CblasColMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, (int)n, (int)rhs,
                1, r, (int)ldr, x, (int)ldx);
    return BD_OK;
}
