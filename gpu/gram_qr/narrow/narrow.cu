/* R and T from G of up to 32 columns, as a kernel of its own. */
#include "gpu/core/dependent_launch.cuh"
#include "gpu/gram_qr/narrow/factor.cuh"

__global__ __launch_bounds__(threads,
                             1) void narrow(const __grid_constant__ struct gram_data d,
                                            const __grid_constant__ struct gram_factor_step s,
                                            struct gram_record *out)
{
    __shared__ __align__(16) struct gram_memory m;
    bd_cuda_await();
    bd_cuda_let_follow(); /* so that the product with T is launched when R is finished */
    gram_narrow_factor(m, d, s, out);
}

enum bd_status bd_cuda_gram_narrow_enqueue(const struct gram_plan *plan,
                                           const struct gram_factor_step *step,
                                           struct gram_record *record)
{
    bd_cuda_follow(plan->cuda, narrow, dim3(1), dim3(threads), 0, plan->data, *step, record);
    return bd_cuda_launched("R of the Gram matrix");
}
