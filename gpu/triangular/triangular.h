/* Private to gpu/gram_qr, gpu/triangular and gpu/qr: products of rows of V with T
 * (gpu/gram_qr/plan.h). */
#ifndef BD_GPU_TRIANGULAR_TRIANGULAR_H
#define BD_GPU_TRIANGULAR_TRIANGULAR_H

#include "gpu/gram_qr/plan.h"

/* V := V T as data.decision says; V stays as it is where that is the identity. overflow becomes 1
 * where an element is not finite; it may be NULL. */
enum bd_status bd_cuda_triangular_product(const struct gram_plan *plan, void *v, int64_t ldv,
                                          int *overflow);
/* Whether shared memory has room for rows of so many columns. */
int bd_cuda_triangular_fits(const struct bd_cuda *cuda, int64_t n);

/* Called by bd_cuda_triangular_product: pipelined.cu takes any T if
 * bd_cuda_triangular_is_pipelined; panels.cu does nothing unless bd_cuda_triangular_is_product. */
int bd_cuda_triangular_is_pipelined(const struct gram_plan *plan);
enum bd_status bd_cuda_triangular_pipelined(const struct gram_plan *plan, void *v, int64_t ldv,
                                            int *overflow);
enum bd_status bd_cuda_triangular_panels(const struct gram_plan *plan, void *v, int64_t ldv,
                                         int *overflow);

/* Whether T is one block of columns; whether V T is one product in float64. */
static __device__ __forceinline__ bool bd_cuda_triangular_is_whole(const struct gram_data &d)
{
    unsigned others = d.decision->starts[0] ^ 1;
    for (int k = 1; k < (d.n + 31) / 32; k++)
        others |= d.decision->starts[k];
    return !others;
}

static __device__ __forceinline__ bool bd_cuda_triangular_is_product(const struct gram_data &d)
{
    return !d.decision->single && bd_cuda_triangular_is_whole(d);
}

#endif
