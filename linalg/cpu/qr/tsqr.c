#include "linalg/shared/tsqr.h"

#include <stdlib.h>
#include <string.h>

#include "linalg/shared/cpu.h"
#include "linalg/shared/kernels.h"

/* Columns eliminated before the rest is updated, and columns of the rest updated at a time: the
 * block's part in use then stays in L2. */
enum { OUTER = 192, CHUNK = 48 };

/* A thread's R of the rows so far, and the block it folds in next. */
struct accumulator {
    float *r; /* n x n, ld as the block's */
    float *block;
    float *t; /* NULL where one outer panel takes all columns */
    float *work;
};

struct bd_tsqr {
    const struct bd_block_kernels *kernels;
    int64_t n, block_rows, ldr, ldb;
    int threads;
    struct accumulator *accumulators;
};

static int64_t round_up(int64_t x, int64_t step)
{
    return (x + step - 1) / step * step;
}

enum bd_status bd_tsqr_create(struct bd_tsqr **out, int64_t n, int64_t block_rows, int threads)
{
    *out = NULL;
    struct bd_tsqr *tsqr = calloc(1, sizeof *tsqr);
    if (!tsqr)
        goto error;
    tsqr->kernels = bd_kernels()->block;
    tsqr->n = n;
    tsqr->block_rows = round_up(block_rows ? block_rows : bd_kernel_block_rows(n), bd_kernel_rows);
    /* An odd number of cache lines, so that columns do not share L1 sets. */
    tsqr->ldb = round_up(tsqr->block_rows, 32) + 16;
    tsqr->ldr = round_up(n, 32) + 16;
    tsqr->threads = threads;
    tsqr->accumulators = calloc((size_t)threads, sizeof *tsqr->accumulators);
    if (!tsqr->accumulators)
        goto error;
    for (int i = 0; i < threads; i++) {
        struct accumulator *acc = &tsqr->accumulators[i];
        int64_t work = bd_kernel_work(tsqr->block_rows, n);
        acc->r = bd_cpu_alloc((size_t)(tsqr->ldr * n) * sizeof(float));
        acc->block = bd_cpu_alloc((size_t)(tsqr->ldb * n) * sizeof(float));
        acc->work = bd_cpu_alloc((size_t)work * sizeof(float));
        if (!acc->r || !acc->block || !acc->work)
            goto error;
        if (n > OUTER) {
            acc->t = bd_cpu_alloc((size_t)(bd_kernel_inner * OUTER) * sizeof(float));
            if (!acc->t)
                goto error;
        }
    }
    *out = tsqr;
    return BD_OK;

error:
    bd_tsqr_destroy(&tsqr);
    return bd_fail(BD_ERROR_MEMORY, "no memory for the QR of %lld columns in %d threads",
                   (long long)n, threads);
}

void bd_tsqr_destroy(struct bd_tsqr **tsqr)
{
    if (!*tsqr)
        return;
    for (int i = 0; (*tsqr)->accumulators && i < (*tsqr)->threads; i++) {
        struct accumulator *acc = &(*tsqr)->accumulators[i];
        free(acc->r);
        free(acc->block);
        free(acc->t);
        free(acc->work);
    }
    free((*tsqr)->accumulators);
    free(*tsqr);
    *tsqr = NULL;
}

int64_t bd_tsqr_block_rows(const struct bd_tsqr *tsqr)
{
    return tsqr->block_rows;
}

void bd_tsqr_reset(struct bd_tsqr *tsqr)
{
    for (int i = 0; i < tsqr->threads; i++)
        memset(tsqr->accumulators[i].r, 0, (size_t)(tsqr->ldr * tsqr->n) * sizeof(float));
}

float *bd_tsqr_block(struct bd_tsqr *tsqr, int thread, int64_t *ld)
{
    *ld = tsqr->ldb;
    return tsqr->accumulators[thread].block;
}

void bd_tsqr_push(struct bd_tsqr *tsqr, int thread, int64_t rows)
{
    const struct bd_block_kernels *kernels = tsqr->kernels;
    struct accumulator *acc = &tsqr->accumulators[thread];
    int64_t n = tsqr->n, ldr = tsqr->ldr, ldb = tsqr->ldb;
    int64_t padded = round_up(rows, bd_kernel_rows);
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

/* Folds the R of thread `from` into that of thread 0, a block of its rows at a time. */
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
    for (int i = 1; i < tsqr->threads; i++) {
        join(tsqr, i);
        memset(tsqr->accumulators[i].r, 0, (size_t)(tsqr->ldr * tsqr->n) * sizeof(float));
    }
    const float *from = tsqr->accumulators[0].r;
    for (int64_t j = 0; j < tsqr->n; j++) {
        memcpy(r + j * ldr, from + j * tsqr->ldr, (size_t)(j + 1) * sizeof *r);
        memset(r + j * ldr + j + 1, 0, (size_t)(tsqr->n - j - 1) * sizeof *r);
    }
}
