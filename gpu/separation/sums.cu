/* The live separator on the GPU: sums over the rows for each frame of its window. */
#include "gpu/separation/state.cuh"
#include "gpu/separation/sweep.cuh"
#include "separation/shared/rounding.h"

/* The sums of v[0 .. 3] over the warp: that of v[lane / 8] in lanes 0, 8, 16, 24. */
__device__ __forceinline__ double sum_four(const double v[bd_sweep_together], int lane)
{
    const bool high = lane & 16, odd = lane & 8;
    double a = high ? v[2] : v[0], b = high ? v[3] : v[1];
    a += __shfl_xor_sync(0xffffffffu, high ? v[0] : v[2], 16);
    b += __shfl_xor_sync(0xffffffffu, high ? v[1] : v[3], 16);
    double sum = odd ? b : a;
    sum += __shfl_xor_sync(0xffffffffu, odd ? a : b, 8);
#pragma unroll
    for (int d = 4; d > 0; d /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    return sum;
}

/* partial[j gridDim.x + block] := the block's part of a sum for each of the `count` columns:
 * X_j^T X_(count - 1), or (ERRORS) E_j^T b, E = clip(W - L, +-lambda), of the first column b of B.
 * A warp's pieces are 32 ROWS rows each, its number in the grid and every gridDim.x bd_sweep_warps
 * on. Dynamic shared memory: count x bd_sweep_warps doubles, the sums so far. */
template <int RANK, int ROWS, bool ERRORS>
__global__ __launch_bounds__(bd_sweep_threads) void sum_columns(
    double *partial, const __grid_constant__ bd_sep_window x, int count)
{
    extern __shared__ double sums[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int j = threadIdx.x; j < count * bd_sweep_warps; j += bd_sweep_threads)
        sums[j] = 0;
    __syncthreads();
    const int64_t step = (int64_t)gridDim.x * bd_sweep_threads * ROWS;
    for (int64_t i = ((int64_t)blockIdx.x * bd_sweep_threads + threadIdx.x) * ROWS;
         i - lane * ROWS < x.ld; i += step) {
        const bool inside = i < x.ld;
        float b[RANK][ROWS] = {}, other[ROWS] = {};
        double parts[bd_sweep_together] = {};
        if (inside)
            bd_sweep_load_basis<RANK, ROWS>(b, x, i);
        const auto copy = [&](int, int, const float *l, const float *e) {
            bd_sweep_add<ROWS>(other, 1, l, e);
        };
        bd_sep_window newest = x;
        newest.order += count - 1;
        if (!ERRORS)
            bd_sweep_columns<RANK, ROWS>(newest, b, i, inside, 1, copy, [](int) {});
        const auto multiply = [&](int, int t, float *l, const float *e) {
            if (!ERRORS)
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    l[r] = __fadd_rn(l[r], e[r]);
            parts[t] = ERRORS ? bd_sweep_dot<ROWS>(b[0], e) : bd_sweep_dot<ROWS>(other, l);
        };
        const auto keep = [&](int j) {
            const double sum = sum_four(parts, lane);
            if (lane % 8 == 0 && j + lane / 8 < count)
                sums[(j + lane / 8) * bd_sweep_warps + warp] += sum;
        };
        bd_sweep_columns<RANK, ROWS>(x, b, i, inside, count, multiply, keep);
    }
    __syncthreads();
    for (int j = threadIdx.x; j < count; j += bd_sweep_threads) {
        double sum = 0;
        for (int k = 0; k < bd_sweep_warps; k++)
            sum += sums[j * bd_sweep_warps + k];
        partial[(int64_t)j * gridDim.x + blockIdx.x] = sum;
    }
}

/* The sum of column blockIdx.x's parts in thread 0. */
__device__ __forceinline__ double sum_parts(const double *partial, int parts)
{
    double sum = 0;
    for (int i = threadIdx.x; i < parts; i += bd_sep_threads)
        sum += partial[(int64_t)blockIdx.x * parts + i];
    return bd_sep_block_sum(sum);
}

__global__ __launch_bounds__(bd_sep_threads) void finish_sums(double *g, const double *partial,
                                                              int parts)
{
    double sum = sum_parts(partial, parts);
    if (threadIdx.x == 0)
        g[blockIdx.x] = sum;
}

/* C(0, order[blockIdx.x]) += its sum; the last block's becomes w. */
__global__ __launch_bounds__(bd_sep_threads) void finish_fit(float *coefficients,
                                                             struct bd_sep_numbers *numbers,
                                                             const int *order,
                                                             const double *partial, int parts)
{
    double sum = sum_parts(partial, parts);
    if (threadIdx.x > 0)
        return;
    float *c = coefficients + order[blockIdx.x] * bd_max_rank;
    c[0] = bd_sep_round_coefficient((double)c[0] + sum);
    if (blockIdx.x == gridDim.x - 1)
        for (int k = 0; k < bd_max_rank; k++)
            numbers->w[k] = c[k];
}

/* Leaves the sums of the columns in s->partial; returns how many parts each has. */
template <bool ERRORS>
static unsigned form_sums(struct bd_cuda_separator *s, int count, float lambda)
{
    const struct bd_sep_window x = bd_sep_view(s, lambda);
    const size_t shared = (size_t)count * bd_sweep_warps * sizeof(double);
    const unsigned blocks = bd_sweep_blocks(s, x.rank == 1 ? 16 : 4);
    auto *kernel = x.rank == 1 ? sum_columns<1, 16, ERRORS> : sum_columns<bd_max_rank, 4, ERRORS>;
    kernel<<<blocks, bd_sweep_threads, shared, s->cuda->stream>>>(s->partial, x, count);
    return blocks;
}

enum bd_status bd_sep_finish_sums(struct bd_cuda_separator *s, int count, unsigned parts, double *g)
{
    finish_sums<<<(unsigned)count, bd_sep_threads, 0, s->cuda->stream>>>(g, s->partial, (int)parts);
    return bd_cuda_launched("sums over the frames of the window");
}

enum bd_status bd_cuda_sep_gram(void *arg, const int *order, int count, float lambda, double *g)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    enum bd_status status = bd_sep_set_order(s, order, count);
    if (status != BD_OK)
        return status;
    return bd_sep_finish_sums(s, count, form_sums<false>(s, count, lambda), g);
}

enum bd_status bd_sep_need_errors(struct bd_cuda_separator *s, int count, float lambda)
{
    if (s->errors_lambda == lambda)
        return BD_OK;
    return bd_sep_finish_sums(s, count, form_sums<true>(s, count, lambda), s->errors);
}

enum bd_status bd_sep_fit_columns(struct bd_cuda_separator *s, int count, float lambda)
{
    const int parts = (int)form_sums<true>(s, count, lambda);
    finish_fit<<<(unsigned)count, bd_sep_threads, 0, s->cuda->stream>>>(
        s->coefficients, s->numbers, s->order, s->partial, parts);
    return bd_cuda_launched("coefficients of the window");
}
