/* R of a matrix that comes as blocks of rows, on the CPU: TSQR with a sequential tree in each of
 * several accumulators and one more node that joins them. For linalg/cpu, separation/cpu and
 * lapack.
 */
#ifndef BD_LINALG_SHARED_TSQR_H
#define BD_LINALG_SHARED_TSQR_H

#include <stdint.h>

#include "base/pool.h"
#include <backdrop/status.h>

struct bd_tsqr;

/* For n columns, that many accumulators and blocks of at most `block_rows` rows (0: the tuned
 * default, which bd_tsqr_block_rows returns). */
enum bd_status bd_tsqr_create(struct bd_tsqr **tsqr, int64_t n, int64_t block_rows,
                              int accumulators);
void bd_tsqr_destroy(struct bd_tsqr **tsqr);
int64_t bd_tsqr_block_rows(const struct bd_tsqr *tsqr);

/* Forgets all rows. */
void bd_tsqr_reset(struct bd_tsqr *tsqr);

/* Memory for the next block of an accumulator, which one thread uses at a time: columns are *ld
 * apart. The caller writes up to block_rows rows x n columns there and calls bd_tsqr_push, which
 * factors them into the accumulator's R. */
float *bd_tsqr_block(struct bd_tsqr *tsqr, int accumulator, int64_t *ld);
void bd_tsqr_push(struct bd_tsqr *tsqr, int accumulator, int64_t rows);

/* Joins the accumulators: R (n x n, zeros below the diagonal) of all rows pushed since the reset
 * (zero rows where fewer than n came). One accumulator then has that R and the others are empty, so
 * that more may be pushed. Called by one thread. */
void bd_tsqr_finish(struct bd_tsqr *tsqr, float *r, int64_t ldr);

/* Writes rows row .. row + rows - 1 of the matrix to `block`, columns ld apart. */
typedef void bd_tsqr_fill(const void *matrix, int64_t row, int64_t rows, float *block, int64_t ld);

/* All of it, by the threads of the pool: R of m rows. Accumulator i takes rows i step ..
 * (i + 1) step - 1, whichever thread that is, so that the result does not depend on the threads.
 * step = 0: equal shares. */
void bd_tsqr_run(struct bd_tsqr *tsqr, struct bd_pool *pool, int64_t m, int64_t step,
                 bd_tsqr_fill *fill, const void *matrix, float *r, int64_t ldr);

/* The same for A (m x n) in memory, in equal shares. */
void bd_tsqr_run_matrix(struct bd_tsqr *tsqr, struct bd_pool *pool, int64_t m, const float *a,
                        int64_t lda, float *r, int64_t ldr);

#endif
