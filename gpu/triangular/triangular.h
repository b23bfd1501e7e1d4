/* Private to gpu/gram_qr, gpu/triangular and gpu/qr: products of rows of V with T
 * (gpu/gram_qr/plan.h). */
#ifndef BD_GPU_TRIANGULAR_TRIANGULAR_H
#define BD_GPU_TRIANGULAR_TRIANGULAR_H

#include "gpu/gram_qr/plan.h"

/* V := V T as data.decision says; V stays as it is where that is the identity. Up to
 * gram_narrow_most columns. mixed = 0 promises that data.decision->single is 0. form: G of the
 * new V, too, and the new V may then be left in plan->copy. overflow becomes 1 where an element
 * is not finite; it may be NULL, and is NULL with form. */
enum bd_status bd_cuda_triangular_narrow(const struct gram_plan *plan, void *v, int64_t ldv,
                                         int mixed, int form, int *overflow);
/* Whether shared memory has room for rows of so many columns. */
int bd_cuda_triangular_fits(const struct bd_cuda *cuda, int64_t n);
/* Bytes of plan->parts that `form` needs. */
size_t bd_cuda_triangular_form_workspace(const struct bd_cuda *cuda, int64_t m, int n);

/* The same of more columns, always in float64. */
enum bd_status bd_cuda_triangular_wide(const struct gram_plan *plan, void *v, int64_t ldv,
                                       int *overflow);

/* Called by bd_cuda_triangular_wide: pipelined.cu takes any T if bd_cuda_triangular_is_pipelined;
 * panels.cu does nothing unless bd_cuda_triangular_is_product. */
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
