#include "linalg/shared/tsqr.h"

#include <stdlib.h>
#include <string.h>

#include "linalg/shared/cpu.h"
#include "linalg/shared/kernels.h"

/* Columns eliminated before the rest is updated, and columns of the rest updated at a time: the
 * block's part in use then stays in L2. */
enum { OUTER = 192, CHUNK = 48 };

/* The R of the rows so far, and the block that is factored into it next. */
struct accumulator {
    float *r; /* n x n, ld as the block's */
    float *block;
    float *t; /* NULL where one outer panel takes all columns */
    float *work;
};

struct bd_tsqr {
    struct bd_cpu_memory memory;
    const struct bd_block_kernels *kernels;
    int64_t n, block_rows, ldr, ldb;
    int count;
    struct accumulator *accumulators;
};

enum bd_status bd_tsqr_create(struct bd_tsqr **out, int64_t n, int64_t block_rows, int accumulators)
{
    *out = NULL;
    struct bd_tsqr *tsqr = calloc(1, sizeof *tsqr);
    if (!tsqr)
        goto error;
    tsqr->kernels = bd_kernels()->block;
    tsqr->n = n;
    tsqr->block_rows =
        bd_round_up(block_rows ? block_rows : bd_kernel_block_rows(n), bd_kernel_rows);
    /* An odd number of cache lines, so that columns do not share L1 sets. */
    tsqr->ldb = bd_round_up(tsqr->block_rows, 32) + 16;
    tsqr->ldr = bd_round_up(n, 32) + 16;
    tsqr->count = accumulators;
    tsqr->accumulators =
        bd_cpu_take(&tsqr->memory, (size_t)accumulators * sizeof *tsqr->accumulators);
    if (!tsqr->accumulators)
        goto error;
    for (int i = 0; i < accumulators; i++) {
        struct accumulator *acc = &tsqr->accumulators[i];
        int64_t work = bd_kernel_work(tsqr->block_rows, n);
        acc->r = bd_cpu_floats(&tsqr->memory, tsqr->ldr * n);
        acc->block = bd_cpu_floats(&tsqr->memory, tsqr->ldb * n);
        acc->work = bd_cpu_floats(&tsqr->memory, work);
        if (n > OUTER)
            acc->t = bd_cpu_floats(&tsqr->memory, bd_kernel_inner * OUTER);
    }
    if (tsqr->memory.missing)
        goto error;
    *out = tsqr;
    return BD_OK;

error:
    bd_tsqr_destroy(&tsqr);
    return bd_fail(BD_ERROR_MEMORY, "no memory for the QR of %lld columns in %d parts",
                   (long long)n, accumulators);
}

void bd_tsqr_destroy(struct bd_tsqr **tsqr)
{
    if (!*tsqr)
        return;
    bd_cpu_free_memory(&(*tsqr)->memory);
    free(*tsqr);
    *tsqr = NULL;
}

int64_t bd_tsqr_block_rows(const struct bd_tsqr *tsqr)
{
    return tsqr->block_rows;
}

void bd_tsqr_reset(struct bd_tsqr *tsqr)
{
    for (int i = 0; i < tsqr->count; i++)
        memset(tsqr->accumulators[i].r, 0, (size_t)(tsqr->ldr * tsqr->n) * sizeof(float));
}

float *bd_tsqr_block(struct bd_tsqr *tsqr, int accumulator, int64_t *ld)
{
    *ld = tsqr->ldb;
    return tsqr->accumulators[accumulator].block;
}

void bd_tsqr_push(struct bd_tsqr *tsqr, int accumulator, int64_t rows)
{
    const struct bd_block_kernels *kernels = tsqr->kernels;
    struct accumulator *acc = &tsqr->accumulators[accumulator];
    int64_t n = tsqr->n, ldr = tsqr->ldr, ldb = tsqr->ldb;
    int64_t padded = bd_round_up(rows, bd_kernel_rows);
    for (int64_t j = 0; j < n && padded > rows; j++)
        memset(acc->block + j * ldb + rows, 0, (size_t)(padded - rows) * sizeof(float));
    for (int64_t j = 0; j < n; j += OUTER) {
        int64_t next = j + OUTER < n ? j + OUTER : n;
        kernels->tpqrt(rows, next - j, acc->r + j + j * ldr, ldr, acc->block + j * ldb, ldb,
                       next < n ? acc->t : NULL, acc->work);
        for (int64_t c = next; c < n; c += CHUNK)
            kernels->tpmqrt(1, rows, next - j, c + CHUNK < n ? CHUNK : n - c, acc->block + j * ldb,
                            ldb, acc->t, acc->r + j + c * ldr, ldr, acc->block + c * ldb, ldb,
                            acc->work);
    }
}

/* Factors the R of accumulator `from` into that of the first, a block of its rows at a time. */
static void join(struct bd_tsqr *tsqr, int from)
{
    const float *r = tsqr->accumulators[from].r;
    for (int64_t i = 0; i < tsqr->n; i += tsqr->block_rows) {
        int64_t ld, rows = tsqr->n - i < tsqr->block_rows ? tsqr->n - i : tsqr->block_rows;
        float *block = bd_tsqr_block(tsqr, 0, &ld);
        for (int64_t j = 0; j < tsqr->n; j++) {
            int64_t filled = j + 1 - i < 0 ? 0 : j + 1 - i < rows ? j + 1 - i : rows;
            memcpy(block + j * ld, r + i + j * tsqr->ldr, (size_t)filled * sizeof *r);
            memset(block + j * ld + filled, 0, (size_t)(rows - filled) * sizeof *r);
        }
        bd_tsqr_push(tsqr, 0, rows);
    }
}

void bd_tsqr_finish(struct bd_tsqr *tsqr, float *r, int64_t ldr)
{
    for (int i = 1; i < tsqr->count; i++) {
        join(tsqr, i);
        memset(tsqr->accumulators[i].r, 0, (size_t)(tsqr->ldr * tsqr->n) * sizeof(float));
    }
    const float *from = tsqr->accumulators[0].r;
    for (int64_t j = 0; j < tsqr->n; j++) {
        memcpy(r + j * ldr, from + j * tsqr->ldr, (size_t)(j + 1) * sizeof *r);
        memset(r + j * ldr + j + 1, 0, (size_t)(tsqr->n - j - 1) * sizeof *r);
    }
}

struct job {
    struct bd_tsqr *tsqr;
    int64_t m, step;
    bd_tsqr_fill *fill;
    const void *matrix;
};

static void take_rows(void *arg, int64_t item, int thread)
{
    const struct job *job = arg;
    const int64_t most = job->tsqr->block_rows, end = bd_least((item + 1) * job->step, job->m);
    (void)thread;
    for (int64_t row = item * job->step; row < end; row += most) {
        int64_t ld, rows = bd_least(most, end - row);
        float *block = bd_tsqr_block(job->tsqr, (int)item, &ld);
        job->fill(job->matrix, row, rows, block, ld);
        bd_tsqr_push(job->tsqr, (int)item, rows);
    }
}

void bd_tsqr_run(struct bd_tsqr *tsqr, struct bd_pool *pool, int64_t m, int64_t step,
                 bd_tsqr_fill *fill, const void *matrix, float *r, int64_t ldr)
{
    struct job job = { .tsqr = tsqr, .m = m, .step = step, .fill = fill, .matrix = matrix };
    if (step == 0)
        job.step = bd_round_up((m + tsqr->count - 1) / tsqr->count, bd_kernel_rows);
    bd_tsqr_reset(tsqr);
    bd_pool_run(pool, take_rows, &job, tsqr->count);
    bd_tsqr_finish(tsqr, r, ldr);
}

struct matrix {
    const float *a;
    int64_t lda, n;
};

static void copy_rows(const void *source, int64_t row, int64_t rows, float *block, int64_t ld)
{
    const struct matrix *matrix = source;
    bd_cpu_copy(block, ld, matrix->a + row, matrix->lda, rows, matrix->n);
}

void bd_tsqr_run_matrix(struct bd_tsqr *tsqr, struct bd_pool *pool, int64_t m, const float *a,
                        int64_t lda, float *r, int64_t ldr)
{
    const struct matrix matrix = { a, lda, tsqr->n };
    bd_tsqr_run(tsqr, pool, m, 0, copy_rows, &matrix, r, ldr);
}
