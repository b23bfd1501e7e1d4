/* Private to gpu/gram_qr and gpu/triangular/triangular.cu: R and T from a G of more columns than
 * shared memory has room for.
 *
 * One thread block would take milliseconds, so the work is spread over the device in a sequence
 * of launches: whether there is anything to do (large.cu), the rows of R^ (cholesky.cu), what
 * follows from them (large.cu), and T and R_total (inverse.cu). Each kernel lets the next one
 * begin as soon as it need not wait itself any more (gpu/core/dependent_launch.cuh). The plain
 * version, one thread block, is gpu/gram_qr/factor.cu. */
#ifndef BD_GPU_GRAM_QR_LARGE_LARGE_H
#define BD_GPU_GRAM_QR_LARGE_LARGE_H

#include "gpu/gram_qr/plan.h"

/* As bd_cuda_gram_factor_enqueue. */
enum bd_status bd_cuda_gram_large_enqueue(const struct gram_plan *plan,
                                          const struct gram_factor_step *step,
                                          struct gram_record *record);

/* Writes rows of R^ to data.r, decision->end of them, of the Gram matrix scaled by data.inverse,
 * its diagonal times 1 + shift; takes all of them but those of the last launch into the
 * estimate. */
enum bd_status bd_cuda_gram_cholesky_enqueue(const struct gram_plan *plan, double shift);

/* T of the R^ in data.r with the blocks of data.decision. Where T is not finite, overflow (may
 * be NULL) becomes 1 and the decision becomes to leave V as it is. */
enum bd_status bd_cuda_gram_inverse_enqueue(const struct gram_plan *plan, int *overflow);

/* data.other := R^ times the diagonal of data.norms, and in all passes but 0 times data.total.
 * Clears what gram_repair did. */
enum bd_status bd_cuda_gram_join_enqueue(const struct gram_plan *plan, int pass);

#endif
