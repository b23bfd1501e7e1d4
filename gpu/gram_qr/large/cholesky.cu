/* R^ by Cholesky of more columns than shared memory holds (large.h, gpu/qr/cholesky_rows.cuh).
 * While rows are made, one thread block takes the rows of the launch before into the condition
 * estimate. */
#include "gpu/core/dependent_launch.cuh"
#include "gpu/gram_qr/large/estimate.cuh"
#include "gpu/gram_qr/large/large.h"
#include "gpu/qr/cholesky_rows.cuh"

static_assert(gram_most % rows_threads == 0, "whole parts");

/* Takes rows j0 - 32 .. j0 - 1 into the estimate that is kept in d.scratch. */
template <int PARTS>
static __device__ __forceinline__ void estimate(const struct gram_data &d, int j0)
{
    struct gram_estimate<rows_threads, PARTS> e;
    const int from = j0 - rows_side, n = d.n;
    if (from > 0)
        gram_move_estimate<false>(&e, d);
    if (gram_take_columns(&e, d.r, n, n, from, j0, from == 0, gram_most_squared) < j0)
        e.greatest = HUGE_VAL; /* and stays that */
    gram_move_estimate<true>(&e, d);
}

/* Rows j0 .. j0 + 31 of up to PARTS times rows_threads columns; diagonal: that of the scaled G. */
template <int PARTS>
__global__ __launch_bounds__(rows_threads,
                             1) void make_rows(const __grid_constant__ struct gram_data d,
                                               double diagonal, int j0)
{
    __shared__ struct rows_memory memory;
    const struct rows_job job = { d.n, d.g, d.inverse, d.r, diagonal, 0 };
    double sum[rows_tiles][4];
    rows_take_g(sum, job, j0); /* G was written by kernels before the one before */
    bd_cuda_await();
    bd_cuda_let_follow();
    /* Stop if a pivot of earlier rows was not positive. What a block of this launch finds among
     * its own rows, and records, does not stop the other blocks. */
    if (d.decision->identity || d.decision->end < j0)
        return;
    if (j0 > 0 && blockIdx.x == gridDim.x - 1) {
        if (!gram_is_near(d.decision->apart))
            estimate<PARTS>(d, j0);
        return;
    }
    const int made = rows_make(sum, job, memory, j0);
    if (blockIdx.x == 0 && threadIdx.x == 0 && made < min(d.n - j0, (int)rows_side))
        d.decision->end = j0 + made;
}

enum bd_status bd_cuda_gram_cholesky_enqueue(const struct gram_plan *plan, double shift)
{
    const int n = plan->data.n;
    const auto kernel = n <= rows_threads       ? make_rows<1>
                        : n <= 2 * rows_threads ? make_rows<2>
                                                : make_rows<gram_most / rows_threads>;
    for (int j0 = 0; j0 < n; j0 += rows_side)
        bd_cuda_follow(plan->cuda, kernel, dim3(rows_blocks(n, j0) + (j0 > 0)), dim3(rows_threads),
                       0, plan->data, 1 + shift, j0);
    return bd_cuda_launched("R of the Gram matrix");
}
