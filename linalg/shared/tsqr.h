/* Private to the CPU backend: R of a matrix that comes as a stream of row blocks, one accumulator
 * a thread (TSQR with a sequential tree in a thread and one more node that joins the threads). */
#ifndef BD_LINALG_SHARED_TSQR_H
#define BD_LINALG_SHARED_TSQR_H

#include <stdint.h>

#include <backdrop/status.h>

struct bd_tsqr;

/* For n columns, `threads` accumulators and blocks of at most `block_rows` rows (0: the tuned
 * default, which bd_tsqr_block_rows then tells). */
enum bd_status bd_tsqr_create(struct bd_tsqr **tsqr, int64_t n, int64_t block_rows, int threads);
void bd_tsqr_destroy(struct bd_tsqr **tsqr);
int64_t bd_tsqr_block_rows(const struct bd_tsqr *tsqr);

/* Forgets all rows. */
void bd_tsqr_reset(struct bd_tsqr *tsqr);

/* Memory for the next block of thread `thread`: column j is at *ld apart; the caller writes up to
 * block_rows rows x n columns there and calls bd_tsqr_push, which factors them into the thread's R.
 */
float *bd_tsqr_block(struct bd_tsqr *tsqr, int thread, int64_t *ld);
void bd_tsqr_push(struct bd_tsqr *tsqr, int thread, int64_t rows);

/* Joins the threads' accumulators: R (n x n, zeros below the diagonal) of all rows pushed since the
 * reset (zero rows where fewer than n came), and leaves one accumulator with that R and the others
 * empty, so that more may be pushed. Called by one thread. */
void bd_tsqr_finish(struct bd_tsqr *tsqr, float *r, int64_t ldr);

#endif
