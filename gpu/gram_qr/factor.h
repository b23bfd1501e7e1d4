/* Private to gpu/gram_qr*: R and T from G. */
#ifndef BD_GPU_GRAM_QR_FACTOR_H
#define BD_GPU_GRAM_QR_FACTOR_H

#include "gpu/gram_qr/plan.h"

/* By value to the kernels. */
struct gram_factor_step {
    int svd, solve, mixed, pass;
    int number; /* gram_record */
    double shift, enough;
    int apart; /* shared memory has no room beside R^ for the matrices that clamping needs */
};

/* gram_factor of the table: plan->data.total is R_total before the pass, other after it. The GPU
 * writes the record. */
enum bd_status bd_cuda_gram_factor_enqueue(const struct gram_plan *plan,
                                           const struct bd_gram_step *step,
                                           struct gram_record *record);

/* The same of up to gram_narrow_most columns (gpu/gram_qr/narrow/narrow.cu). */
enum bd_status bd_cuda_gram_narrow_enqueue(const struct gram_plan *plan,
                                           const struct gram_factor_step *step,
                                           struct gram_record *record);

#endif
