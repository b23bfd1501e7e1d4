/* Private to gpu/gram_qr*: R and T from a G of more columns than shared memory has room for.
 *
 * One thread block would take milliseconds, so that what there is to do is spread over the device
 * in a sequence of launches: whether there is anything to do (large.cu), the rows of R^
 * (cholesky.cu), what follows from them (large.cu), and T and R_total
 * (inverse.cu). Each lets the next one begin when it need not wait itself any more
 * (gpu/core/dependent_launch.cuh), so that it is there when this one ends. */
#ifndef BD_GPU_GRAM_QR_LARGE_LARGE_H
#define BD_GPU_GRAM_QR_LARGE_LARGE_H

#include "gpu/gram_qr/factor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As bd_cuda_gram_factor_enqueue. */
enum bd_status bd_cuda_gram_large_enqueue(const struct gram_plan *plan,
                                          const struct gram_factor_step *step,
                                          struct gram_record *record);

/* Rows of R^ to data.r, decision->end of them, of the Gram matrix scaled by data.inverse, its
 * diagonal times 1 + shift; all of them but those of the last launch in the estimate. */
enum bd_status bd_cuda_gram_cholesky_enqueue(const struct gram_plan *plan, double shift);

/* T of the R^ in data.r with the blocks of data.decision. overflow (may be NULL): where T is not
 * finite it becomes 1, and the decision to leave V as it is. */
enum bd_status bd_cuda_gram_inverse_enqueue(const struct gram_plan *plan, int *overflow);

/* data.other := R^ times the diagonal of data.norms, times data.total but in pass 0; what
 * gram_repair did is forgotten. */
enum bd_status bd_cuda_gram_join_enqueue(const struct gram_plan *plan, int pass);

#ifdef __cplusplus
}
#endif
#endif
