/* Private to gpu/gram_qr*: R and T from G. */
#ifndef BD_GPU_GRAM_QR_FACTOR_H
#define BD_GPU_GRAM_QR_FACTOR_H

#include "gpu/gram_qr/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* By value to the kernels. */
struct gram_factor_step {
    int svd, solve, mixed, pass;
    int number;  /* gram_record */
    int in_copy; /* V is in gram_plan.copy if the solve before was in float32 */
    double shift, enough;
    int apart; /* what singular values are clamped with has no room in shared memory beside R^ */
};

/* gram_factor of the table. plan->data.total is R_total before, other after; the record is written
 * by the GPU. */
enum bd_status bd_cuda_gram_factor_enqueue(const struct gram_plan *plan,
                                           const struct bd_gram_step *step,
                                           struct gram_record *record);

/* The same of up to gram_narrow_most columns (gpu/gram_qr/narrow/narrow.cu). */
enum bd_status bd_cuda_gram_narrow_enqueue(const struct gram_plan *plan,
                                           const struct gram_factor_step *step,
                                           struct gram_record *record);

/* Doubles of data.packed; 0: there is none. */
size_t bd_cuda_gram_packed_size(int n);

#ifdef __cplusplus
}
#endif
#endif
