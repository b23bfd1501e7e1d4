/* Blocked Householder QR on the CPU (householder.h): LAPACK's, which is what Schreiber
 * and Van Loan 1989 describe. The cpu backend's own reflectors (caqr.h) are faster for tall
 * matrices; this serves where LAPACK's method is wanted. */
#include "linalg/cpu/qr/householder.h"

#include <lapacke.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/shared/cpu.h"

enum { chunk_cols = 256 }; /* columns that apply takes at a time: the workspace is for as many */

struct bd_householder {
    struct bd_cpu_memory memory;
    int64_t m, n;
    float *tau; /* n */
    float *r;   /* n x n, tight */
    float *work;
    lapack_int work_size;
    float *copy, *copy_tau; /* for reduce: m x n, n */
    const float *a;         /* the matrix factored last */
    int64_t lda;
};

/* Floats that all calls can do with; < 0 on failure. */
static int64_t ask_workspace(const struct bd_householder *plan)
{
    const lapack_int m = (lapack_int)plan->m, n = (lapack_int)plan->n;
    float sizes[5] = { 0 }, none = 0;
    lapack_int fail = LAPACKE_sgeqrf_work(LAPACK_COL_MAJOR, m, n, &none, m, &none, &sizes[0], -1);
    fail |= LAPACKE_sorgqr_work(LAPACK_COL_MAJOR, m, n, n, &none, m, &none, &sizes[1], -1);
    for (int i = 0; i < 2; i++)
        fail |= LAPACKE_sormqr_work(LAPACK_COL_MAJOR, 'L', i ? 'T' : 'N', m, chunk_cols, n, &none,
                                    m, &none, &none, m, &sizes[2 + i], -1);
    float most = 1;
    fail |= LAPACKE_sorgqr_work(LAPACK_COL_MAJOR, m, m, n, &none, m, &none, &sizes[4], -1);
    for (int i = 0; i < 5; i++)
        most = sizes[i] > most ? sizes[i] : most;
    return fail ? -1 : (int64_t)most;
}

enum bd_status bd_householder_create(struct bd_householder **out, int64_t m, int64_t n)
{
    *out = NULL;
    if (m > INT32_MAX)
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "Householder QR of %lld rows: LAPACK takes at most %d; use BD_QR_CAQR",
                       (long long)m, INT32_MAX);
    struct bd_householder *plan = calloc(1, sizeof *plan);
    if (!plan)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a QR plan");
    plan->m = m;
    plan->n = n;
    int64_t size = ask_workspace(plan);
    plan->work_size = (lapack_int)size;
    plan->work = size > 0 ? bd_cpu_floats(&plan->memory, size) : NULL;
    plan->tau = bd_cpu_floats(&plan->memory, n);
    plan->copy_tau = bd_cpu_floats(&plan->memory, n);
    plan->r = bd_cpu_floats(&plan->memory, n * n);
    plan->copy = bd_cpu_floats(&plan->memory, m * n);
    if (!plan->work || plan->memory.missing) {
        bd_householder_destroy(&plan);
        return bd_fail(BD_ERROR_MEMORY, "no memory for the QR of a %lld x %lld matrix",
                       (long long)m, (long long)n);
    }
    *out = plan;
    return BD_OK;
}

void bd_householder_destroy(struct bd_householder **out)
{
    struct bd_householder *plan = *out;
    if (!plan)
        return;
    bd_cpu_free_memory(&plan->memory);
    free(plan);
    *out = NULL;
}

static enum bd_status check(lapack_int info, const char *routine)
{
    if (info == 0)
        return BD_OK;
    return bd_fail(BD_ERROR_BACKEND, "LAPACK: %s says %d", routine, (int)info);
}

/* LAPACK's integers may be 32 bits wide. */
static enum bd_status check_ld(int64_t ld)
{
    if (ld <= INT32_MAX)
        return BD_OK;
    return bd_fail(BD_ERROR_UNSUPPORTED,
                   "Householder QR: columns %lld elements apart; the cpu backend takes up to %d",
                   (long long)ld, INT32_MAX);
}

static void take_r(float *r, int64_t ldr, const float *a, int64_t lda, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        memcpy(r + j * ldr, a + j * lda, (size_t)(j + 1) * sizeof *r);
        memset(r + j * ldr + j + 1, 0, (size_t)(n - j - 1) * sizeof *r);
    }
}

static enum bd_status factor(const struct bd_householder *plan, float *a, int64_t lda, float *tau)
{
    return check(LAPACKE_sgeqrf_work(LAPACK_COL_MAJOR, (lapack_int)plan->m, (lapack_int)plan->n, a,
                                     (lapack_int)lda, tau, plan->work, plan->work_size),
                 "sgeqrf");
}

enum bd_status bd_householder_factor(struct bd_householder *plan, float *a, int64_t lda)
{
    plan->a = a;
    plan->lda = lda;
    enum bd_status status = check_ld(lda);
    if (status == BD_OK)
        status = factor(plan, a, lda, plan->tau);
    if (status == BD_OK)
        take_r(plan->r, plan->n, a, lda, plan->n);
    return status;
}

void bd_householder_get_r(const struct bd_householder *plan, float *r, int64_t ldr)
{
    bd_cpu_copy(r, ldr, plan->r, plan->n, plan->n, plan->n);
}

enum bd_status bd_householder_form_q(struct bd_householder *plan, float *q, int64_t ldq,
                                     int64_t cols)
{
    enum bd_status status = check_ld(ldq);
    if (status != BD_OK)
        return status;
    if (q != plan->a)
        bd_cpu_copy(q, ldq, plan->a, plan->lda, plan->m, plan->n);
    return check(LAPACKE_sorgqr_work(LAPACK_COL_MAJOR, (lapack_int)plan->m, (lapack_int)cols,
                                     (lapack_int)plan->n, q, (lapack_int)ldq, plan->tau, plan->work,
                                     plan->work_size),
                 "sorgqr");
}

enum bd_status bd_householder_apply(struct bd_householder *plan, enum bd_qr_op op, float *c,
                                    int64_t ldc, int64_t k)
{
    const lapack_int m = (lapack_int)plan->m, n = (lapack_int)plan->n;
    enum bd_status status = check_ld(ldc);
    for (int64_t j = 0; j < k && status == BD_OK; j += chunk_cols) {
        const lapack_int cols = (lapack_int)(k - j < chunk_cols ? k - j : chunk_cols);
        status =
            check(LAPACKE_sormqr_work(LAPACK_COL_MAJOR, 'L', op == BD_QR_Q_TRANSPOSED ? 'T' : 'N',
                                      m, cols, n, plan->a, (lapack_int)plan->lda, plan->tau,
                                      c + j * ldc, (lapack_int)ldc, plan->work, plan->work_size),
                  "sormqr");
    }
    return status;
}

enum bd_status bd_householder_reduce(struct bd_householder *plan, const float *a, int64_t lda,
                                     float *r, int64_t ldr)
{
    bd_cpu_copy(plan->copy, plan->m, a, lda, plan->m, plan->n);
    enum bd_status status = factor(plan, plan->copy, plan->m, plan->copy_tau);
    if (status == BD_OK)
        take_r(r, ldr, plan->copy, plan->m, plan->n);
    return status;
}
