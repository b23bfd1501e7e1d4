#include "lapack/block_reflector.h"

#include <cblas.h>
#include <string.h>

/* Columns (on the right: rows) of C at a time, which bounds the memory. */
enum { CHUNK = 1024 };

/* blasint is as wide as Fortran's integers, and our sizes come from those. */
static blasint narrow(int64_t size)
{
    return (blasint)size;
}

int64_t bd_block_reflector_work(int64_t k, int64_t n)
{
    return k * k + k * bd_least(n, CHUNK);
}

/* C (m x n) := alpha op(A) op(B) + beta C, of k terms. */
static void product(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int64_t m, int64_t n, int64_t k,
                    float alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                    float beta, float *c, int64_t ldc)
{
    if (n == 1 && tb == CblasNoTrans)
        cblas_sgemv(CblasColMajor, ta, narrow(ta == CblasNoTrans ? m : k),
                    narrow(ta == CblasNoTrans ? k : m), alpha, a, narrow(lda), b, 1, beta, c, 1);
    else
        cblas_sgemm(CblasColMajor, ta, tb, narrow(m), narrow(n), narrow(k), alpha, a, narrow(lda),
                    b, narrow(ldb), beta, c, narrow(ldc));
}

/* The top of V with the ones on its diagonal and the zeros above, which are not stored. */
static void copy_top(int64_t k, const float *v, int64_t ldv, float *top)
{
    for (int64_t j = 0; j < k; j++) {
        memset(top + j * k, 0, (size_t)j * sizeof *top);
        top[j + j * k] = 1;
        memcpy(top + j * k + j + 1, v + j * ldv + j + 1, (size_t)(k - j - 1) * sizeof *top);
    }
}

/* T from the inner products g (k x k, ldg, the upper triangle) of the columns of V: halves are
 * joined by -T1 (V1^T V2) T2. */
static void join(int64_t k, const float *g, int64_t ldg, const float *tau, float *t, int64_t ldt)
{
    enum { DIRECT = 16 };
    if (k <= DIRECT) {
        for (int64_t j = 0; j < k; j++) {
            for (int64_t i = 0; i < j; i++) {
                float sum = 0;
                for (int64_t q = i; q < j; q++)
                    sum += t[i + q * ldt] * g[q + j * ldg];
                t[i + j * ldt] = tau[j] == 0 ? 0 : -tau[j] * sum;
            }
            t[j + j * ldt] = tau[j];
            memset(t + j * ldt + j + 1, 0, (size_t)(k - j - 1) * sizeof *t);
        }
        return;
    }
    const int64_t half = k / 2, rest = k - half;
    float *corner = t + half * ldt, *second = corner + half;
    join(half, g, ldg, tau, t, ldt);
    join(rest, g + half + half * ldg, ldg, tau + half, second, ldt);
    for (int64_t j = 0; j < rest; j++)
        memcpy(corner + j * ldt, g + (half + j) * ldg, (size_t)half * sizeof *t);
    for (int64_t j = 0; j < half; j++)
        memset(t + half + j * ldt, 0, (size_t)rest * sizeof *t);
    cblas_strmm(CblasColMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, narrow(half),
                narrow(rest), -1, t, narrow(ldt), corner, narrow(ldt));
    cblas_strmm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, narrow(half),
                narrow(rest), 1, second, narrow(ldt), corner, narrow(ldt));
}

/* ---- inner products of tall columns ---------------------------------------------------------- */

enum {
    GRAM_ROWS = 256,  /* rows of V that stay in cache while all products of them are computed */
    GRAM_COLS = 16,   /* columns of the result at a time */
    GRAM_SHARES = 4,  /* parts of V for each thread */
    GRAM_LEAST = 1024 /* rows below which a matrix product is as fast */
};

struct gram_job {
    const struct bd_lapack *context;
    int64_t m, k, step;
    const float *v;
    int64_t ldv;
    double *sums; /* `size` for each part: blocks of columns one after the other */
    int64_t size;
};

static int64_t gram_size(int64_t k)
{
    int64_t size = 0;
    for (int64_t j = 0; j < k; j += GRAM_COLS)
        size += bd_least(j + GRAM_COLS, k) * GRAM_COLS;
    return size;
}

/* One part of V's rows: parts do not depend on the threads. */
static void gram_part(void *arg, int64_t part, int thread)
{
    const struct gram_job *job = arg;
    const int64_t end = bd_least((part + 1) * job->step, job->m);
    (void)thread;
    memset(job->sums + part * job->size, 0, (size_t)job->size * sizeof(double));
    for (int64_t row = part * job->step; row < end; row += GRAM_ROWS) {
        const int64_t rows = bd_least(GRAM_ROWS, end - row);
        double *sums = job->sums + part * job->size;
        for (int64_t j = 0; j < job->k; j += GRAM_COLS) {
            const int64_t next = bd_least(j + GRAM_COLS, job->k);
            job->context->column->dots(rows, next, next - j, job->v + row, job->ldv,
                                       job->v + row + j * job->ldv, job->ldv, sums);
            sums += next * GRAM_COLS;
        }
    }
}

/* The upper triangle of g (k x k) += V^T V, V m x k without a triangle on top. */
static void add_gram(struct bd_lapack *context, int64_t m, int64_t k, const float *v, int64_t ldv,
                     float *g)
{
    if (m < GRAM_LEAST) {
        product(CblasTrans, CblasNoTrans, k, k, m, 1, v, ldv, v, ldv, 1, g, k);
        return;
    }
    const int64_t mark = context->used, parts = bd_pool_threads(context->pool) * GRAM_SHARES;
    struct gram_job job = { .context = context, .m = m, .k = k, .v = v, .ldv = ldv };
    job.step = ((m + parts - 1) / parts + GRAM_ROWS - 1) / GRAM_ROWS * GRAM_ROWS;
    job.size = gram_size(k);
    job.sums = (double *)(void *)bd_lapack_borrow(context, 2 * parts * job.size);
    bd_pool_run(context->pool, gram_part, &job, parts);
    for (int64_t part = 0; part < parts; part++) {
        const double *sums = job.sums + part * job.size;
        for (int64_t j = 0; j < k; j += GRAM_COLS) {
            const int64_t next = bd_least(j + GRAM_COLS, k);
            for (int64_t p = j; p < next; p++)
                for (int64_t i = 0; i <= p; i++)
                    g[i + p * k] += (float)sums[i + (p - j) * next];
            sums += next * GRAM_COLS;
        }
    }
    bd_lapack_release(context, mark);
}

int64_t bd_block_reflector_floats(int64_t k)
{
    return 2 * GRAM_SHARES * gram_size(k);
}

void bd_block_reflector_t(struct bd_lapack *context, int64_t m, int64_t k, const float *v,
                          int64_t ldv, const float *tau, float *t, int64_t ldt, float *work)
{
    copy_top(k, v, ldv, t);
    cblas_ssyrk(CblasColMajor, CblasUpper, CblasTrans, narrow(k), narrow(k), 1, t, narrow(k), 0,
                work, narrow(k));
    if (m > k)
        add_gram(context, m - k, k, v + k, ldv, work);
    join(k, work, k, tau, t, ldt);
}

/* ---- applied --------------------------------------------------------------------------------- */

void bd_block_reflector_left(int transposed, int64_t m, int64_t n, int64_t k, const float *v,
                             int64_t ldv, const float *t, int64_t ldt, float *c, int64_t ldc,
                             float *work)
{
    float *top = work, *w = work + k * k;
    copy_top(k, v, ldv, top);
    for (int64_t j = 0; j < n; j += CHUNK, c += CHUNK * ldc) {
        const int64_t cols = bd_least(CHUNK, n - j);
        product(CblasTrans, CblasNoTrans, k, cols, k, 1, top, k, c, ldc, 0, w, k);
        if (m > k)
            product(CblasTrans, CblasNoTrans, k, cols, m - k, 1, v + k, ldv, c + k, ldc, 1, w, k);
        cblas_strmm(CblasColMajor, CblasLeft, CblasUpper, transposed ? CblasTrans : CblasNoTrans,
                    CblasNonUnit, narrow(k), narrow(cols), 1, t, narrow(ldt), w, narrow(k));
        product(CblasNoTrans, CblasNoTrans, k, cols, k, -1, top, k, w, k, 1, c, ldc);
        if (m > k)
            product(CblasNoTrans, CblasNoTrans, m - k, cols, k, -1, v + k, ldv, w, k, 1, c + k,
                    ldc);
    }
}

void bd_block_reflector_right(int transposed, int64_t m, int64_t n, int64_t k, const float *v,
                              int64_t ldv, const float *t, int64_t ldt, float *c, int64_t ldc,
                              float *work)
{
    float *top = work, *w = work + k * k;
    copy_top(k, v, ldv, top);
    for (int64_t i = 0; i < m; i += CHUNK, c += CHUNK) {
        const int64_t rows = bd_least(CHUNK, m - i);
        product(CblasNoTrans, CblasNoTrans, rows, k, k, 1, c, ldc, top, k, 0, w, rows);
        if (n > k)
            product(CblasNoTrans, CblasNoTrans, rows, k, n - k, 1, c + k * ldc, ldc, v + k, ldv, 1,
                    w, rows);
        cblas_strmm(CblasColMajor, CblasRight, CblasUpper, transposed ? CblasTrans : CblasNoTrans,
                    CblasNonUnit, narrow(rows), narrow(k), 1, t, narrow(ldt), w, narrow(rows));
        product(CblasNoTrans, CblasTrans, rows, k, k, -1, w, rows, top, k, 1, c, ldc);
        if (n > k)
            product(CblasNoTrans, CblasTrans, rows, n - k, k, -1, w, rows, v + k, ldv, 1,
                    c + k * ldc, ldc);
    }
}

/* The first columns of I - V T V^T are [I; 0] - V X with X = T V_top^T, upper triangular. */
void bd_block_reflector_form(struct bd_lapack *context, int64_t m, int64_t k, float *v, int64_t ldv,
                             const float *t, int64_t ldt, float *work)
{
    float *x = work;
    for (int64_t j = 0; j < k; j++) {
        for (int64_t i = 0; i < j; i++)
            x[i + j * k] = -v[j + i * ldv];
        x[j + j * k] = -1;
        memset(x + j * k + j + 1, 0, (size_t)(k - j - 1) * sizeof *x);
    }
    cblas_strmm(CblasColMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, narrow(k),
                narrow(k), 1, t, narrow(ldt), x, narrow(k));
    for (int64_t j = 0; j < k; j++) {
        memset(v + j * ldv, 0, (size_t)j * sizeof *v);
        v[j + j * ldv] = 1;
    }
    bd_rows_times(context, m, k, v, ldv, x, k);
    for (int64_t j = 0; j < k; j++)
        v[j + j * ldv] += 1;
}

/* Rows that a thread copies and multiplies at a time: they stay in L2, and are whole tiles of the
 * kernel (48 rows with AVX-512). */
enum { ROWS = 384, COLS = 32, TILE = 8 };

struct times_job {
    const struct bd_lapack *context;
    int64_t m, k;
    float *a;
    int64_t lda;
    const float *x;
    int64_t ldx;
    float *copies; /* ROWS x k a thread */
};

static void times_rows(void *arg, int64_t item, int thread)
{
    const struct times_job *job = arg;
    const struct bd_block_kernels *kernels = job->context->block;
    const int64_t row = item * ROWS, rows = bd_least(ROWS, job->m - row);
    float *a = job->a + row, *copy = job->copies + thread * ROWS * job->k;
    for (int64_t j = 0; j < job->k; j++)
        memcpy(copy + j * ROWS, a + j * job->lda, (size_t)rows * sizeof *copy);
    for (int64_t j = 0; j < job->k; j += COLS) {
        const int64_t next = bd_least(j + COLS, job->k), whole = (next - j) / TILE * TILE;
        kernels->gemm(rows, whole, next, copy, ROWS, job->x + j * job->ldx, job->ldx,
                      a + j * job->lda, job->lda);
        if (j + whole == next)
            continue;
        /* Columns after the last whole tile are slow one by one: a tile that begins earlier has
         * them. */
        const int64_t first = next < TILE ? 0 : next - TILE;
        kernels->gemm(rows, next - first, next, copy, ROWS, job->x + first * job->ldx, job->ldx,
                      a + first * job->lda, job->lda);
    }
}

void bd_rows_times(struct bd_lapack *context, int64_t m, int64_t k, float *a, int64_t lda,
                   const float *x, int64_t ldx)
{
    const int64_t mark = context->used;
    struct times_job job = { .context = context, .m = m, .k = k, .a = a, .lda = lda, .x = x };
    job.ldx = ldx;
    job.copies = bd_lapack_borrow(context, bd_pool_threads(context->pool) * ROWS * k);
    bd_pool_run(context->pool, times_rows, &job, (m + ROWS - 1) / ROWS);
    bd_lapack_release(context, mark);
}

int64_t bd_rows_times_floats(int64_t k)
{
    return ROWS * k;
}
