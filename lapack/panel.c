#include "lapack/panel.h"

#include <math.h>
#include <string.h>

enum { B = bd_kernel_inner };

/* An inner block may start in any row and is padded to whole vectors. */
static int64_t leading(int64_t m)
{
    return bd_round_up(m + bd_kernel_rows, 32) + 16;
}

int64_t bd_panel_work(int64_t m, int64_t n)
{
    return leading(m) * (n + B) + bd_kernel_work(leading(m), n > B ? n : B) + 16;
}

/* What an inner block becomes: V below its top B rows is multiplied by `turn` from the right, T is
 * the new one, R's rows change sign where sign < 0. */
struct inner {
    double top[B][B]; /* the new V's unit lower triangle, row-major */
    float turn[B * B], t[B * B], sign[B];
    float tau[B];
};

/* The first columns of Q = I - V T V^T of a block: q = I - V_top X, and x = T V_top^T. v: B x B of
 * a (its upper triangle is R), columns q at least `cols` are not there. Loops end where V_top and T
 * do, so that a NaN in a column stays in the columns from there on. */
static inline void form_top(const int cols, const float *v, int64_t ldv, const float *t,
                            double (*x)[B], double (*q)[B])
{
    for (int j = 0; j < cols; j++) {
        for (int i = 0; i < cols; i++) {
            double sum = 0;
            for (int p = i; p <= j; p++)
                sum += t[i + p * B] * (p == j ? 1.0 : v[j + p * ldv]);
            x[i][j] = i <= j ? sum : 0;
        }
        for (int i = 0; i < cols; i++) {
            double sum = i == j;
            for (int p = 0; p <= i && p <= j; p++)
                sum -= (p == i ? 1.0 : v[i + p * ldv]) * x[p][j];
            q[i][j] = sum;
        }
    }
}

/* Whether column j needs no reflector: there was none in the old set, and either none before it
 * moved e_j, or there are no rows below. (In general an identity does not stay one: sets of
 * reflectors that differ in signs leave different bases of what is orthogonal to Q's columns.) */
static inline int is_identity(int64_t m, int j, const float *old_t, double (*x)[B])
{
    int moved = 0;
    for (int i = 0; i < j; i++)
        moved = moved || x[i][j] != 0;
    return old_t[j + j * B] == 0 && (!moved || j == m - 1);
}

/* The modified LU factorisation Q - S = V U of the top of a block of m rows, S the signs; V's
 * columns, tau and the new T = -U S V_top^-T. */
static inline void reconstruct_top(int64_t m, const int cols, double (*q)[B], const float *old_t,
                                   double (*x)[B], struct inner *inner)
{
    double t[B][B] = { { 0 } };
    for (int j = 0; j < cols; j++) {
        const int identity = is_identity(m, j, old_t, x);
        const double sign = (q[j][j] < 0) == identity ? -1 : 1;
        inner->sign[j] = (float)sign;
        q[j][j] = identity ? 0 : q[j][j] - sign;
        for (int i = j + 1; i < cols; i++) {
            q[i][j] = identity ? 0 : q[i][j] / q[j][j];
            for (int p = j + 1; p < cols; p++)
                q[i][p] -= q[i][j] * q[j][p];
        }
        for (int p = j + 1; p < cols && identity; p++)
            q[j][p] = 0;
    }
    for (int i = 0; i < cols; i++)
        for (int j = 0; j < cols; j++)
            inner->top[i][j] = j < i ? q[i][j] : j == i;
    /* T V_top^T = -U S by columns: V_top^T is unit upper triangular. */
    memset(inner->t, 0, sizeof inner->t);
    for (int j = 0; j < cols; j++) {
        for (int i = 0; i <= j; i++) {
            t[i][j] = -q[i][j] * inner->sign[j];
            for (int p = i; p < j; p++)
                t[i][j] -= t[i][p] * inner->top[j][p];
        }
        inner->tau[j] = (float)t[j][j];
        for (int i = 0; i <= j && t[j][j] != 0; i++)
            inner->t[i + j * B] = (float)t[i][j];
    }
}

/* turn = -X U^-1: rows below the top of Q - S are -V X = V_new U. */
static inline void make_turn(const int cols, double (*x)[B], double (*u)[B], struct inner *inner)
{
    double turn[B][B] = { { 0 } };
    for (int j = 0; j < cols; j++)
        for (int i = 0; i <= j && u[j][j] != 0; i++) {
            double sum = -x[i][j];
            for (int p = i; p < j; p++)
                sum -= turn[i][p] * u[p][j];
            turn[i][j] = sum / u[j][j];
        }
    for (int j = 0; j < B; j++)
        for (int i = 0; i < B; i++)
            inner->turn[i + j * B] = (float)turn[i][j];
}

static inline void turn_top(int64_t m, const int cols, float *a, int64_t lda, const float *t,
                            struct inner *inner)
{
    double x[B][B] = { { 0 } }, q[B][B] = { { 0 } };
    form_top(cols, a, lda, t, x, q);
    reconstruct_top(m, cols, q, t, x, inner);
    make_turn(cols, x, q, inner);
    for (int j = 0; j < cols; j++) {
        for (int i = 0; i <= j; i++)
            a[i + j * lda] *= inner->sign[i];
        for (int i = j + 1; i < cols; i++)
            a[i + j * lda] = (float)inner->top[i][j];
    }
}

/* Turns the reflectors that geqrt has left in a (m x cols, cols <= B, padded) and t into LAPACK's.
 */
static void turn_block(const struct bd_lapack *context, int64_t m, int cols, float *a, int64_t lda,
                       const float *t, struct inner *inner, float *spare)
{
    /* With the constant the compiler unrolls nearly all of it. */
    if (cols == B)
        turn_top(m, B, a, lda, t, inner);
    else
        turn_top(m, cols, a, lda, t, inner);
    if (m <= cols)
        return;
    /* With NaN in the block each column is made from those up to it alone, since 0 * NaN is NaN. */
    int clean = 1;
    for (int j = 0; j < cols; j++)
        clean = clean && isfinite(inner->tau[j]);
    for (int j = 0, next; j < cols; j = next) {
        next = clean ? cols : j + 1;
        context->block->gemm(bd_round_up(m - cols, bd_kernel_rows), next - j, next, a + cols, lda,
                             inner->turn + j * B, B, spare + j * lda, lda);
    }
    for (int j = 0; j < cols; j++)
        memcpy(a + cols + j * lda, spare + j * lda, (size_t)(m - cols) * sizeof *a);
}

void bd_panel_factor(const struct bd_lapack *context, int64_t m, int64_t n, float *a, int64_t lda,
                     float *tau, float *work)
{
    const struct bd_block_kernels *kernels = context->block;
    const int64_t ld = leading(m), reflectors = m < n ? m : n;
    float *copy = work, *spare = copy + ld * n, *rest = spare + ld * B;
    float t[B * B] __attribute__((aligned(64)));
    struct inner inner;
    for (int64_t j = 0; j < n; j++) {
        memcpy(copy + j * ld, a + j * lda, (size_t)m * sizeof *a);
        memset(copy + j * ld + m, 0, (size_t)(ld - m) * sizeof *a);
    }
    for (int64_t j = 0; j < reflectors; j += B) {
        const int cols = reflectors - j < B ? (int)(reflectors - j) : B;
        const int64_t rows = m - j, next = j + cols;
        float *block = copy + j + j * ld;
        kernels->geqrt(rows, cols, block, ld, t, rest);
        turn_block(context, rows, cols, block, ld, t, &inner, spare);
        memcpy(tau + j, inner.tau, (size_t)cols * sizeof *tau);
        if (next < n)
            kernels->gemqrt(1, rows, cols, n - next, block, ld, inner.t, copy + j + next * ld, ld,
                            rest);
    }
    for (int64_t j = 0; j < n; j++)
        memcpy(a + j * lda, copy + j * ld, (size_t)m * sizeof *a);
}
