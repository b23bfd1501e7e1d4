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

/* partial[j gridDim.x + block] := the block's part of E_j^T b for each of the `count` columns,
 * E = clip(W - L, +-lambda), b the first column of B; and, with GRAM, partial[(count + j) gridDim.x
 * + block] := its part of X_j^T X_(count - 1). A warp's pieces are 32 ROWS rows each, its number in
 * the grid and every gridDim.x bd_sweep_warps on. Dynamic shared memory: bd_sweep_warps doubles for
 * each of these sums, so far. */
template <int RANK, int ROWS, bool GRAM>
__global__ __launch_bounds__(bd_sweep_threads) void sum_columns(
    double *partial, const __grid_constant__ bd_sep_window x, int count)
{
    extern __shared__ double sums[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, all = GRAM ? 2 * count : count;
    for (int j = threadIdx.x; j < all * bd_sweep_warps; j += bd_sweep_threads)
        sums[j] = 0;
    __syncthreads();
    const int64_t step = (int64_t)gridDim.x * bd_sweep_threads * ROWS;
    for (int64_t i = ((int64_t)blockIdx.x * bd_sweep_threads + threadIdx.x) * ROWS;
         i - lane * ROWS < x.ld; i += step) {
        const bool inside = i < x.ld;
        float b[RANK][ROWS] = {}, other[ROWS] = {};
        double errors[bd_sweep_together] = {}, gram[bd_sweep_together] = {};
        if (inside)
            bd_sweep_load_basis<RANK, ROWS>(b, x, i);
        const auto copy = [&](int, int, const float *l, const float *e) {
            bd_sweep_add<ROWS>(other, 1, l, e);
        };
        bd_sep_window newest = x;
        newest.order += count - 1;
        if (GRAM)
            bd_sweep_columns<RANK, ROWS>(newest, b, i, inside, 1, copy, [](int) {});
        const auto multiply = [&](int, int t, float *l, const float *e) {
            errors[t] = bd_sweep_dot<ROWS>(b[0], e);
            if constexpr (GRAM) {
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    l[r] = __fadd_rn(l[r], e[r]);
                gram[t] = bd_sweep_dot<ROWS>(other, l);
            }
        };
        const auto keep = [&](int j) {
            const bool mine = lane % 8 == 0 && j + lane / 8 < count;
            double *sum = sums + (j + lane / 8) * bd_sweep_warps + warp;
            const double error = sum_four(errors, lane);
            if (mine)
                *sum += error;
            if constexpr (GRAM) {
                const double product = sum_four(gram, lane);
                if (mine)
                    sum[count * bd_sweep_warps] += product;
            }
        };
        bd_sweep_columns<RANK, ROWS>(x, b, i, inside, count, multiply, keep);
    }
    __syncthreads();
    for (int j = threadIdx.x; j < all; j += bd_sweep_threads) {
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

/* Leaves the sums of the columns in s->partial; *parts: how many each has. */
template <bool GRAM>
static enum bd_status form_sums(struct bd_cuda_separator *s, int count, float lambda,
                                unsigned *parts)
{
    const struct bd_sep_window x = bd_sep_view(s, lambda);
    const size_t shared = (size_t)count * bd_sweep_warps * sizeof(double) * (GRAM ? 2 : 1);
    auto *kernel = x.rank == 1 ? sum_columns<1, 16, GRAM> : sum_columns<bd_max_rank, 4, GRAM>;
    enum bd_status status = BD_OK;
    *parts = bd_sweep_blocks(s, x.rank == 1 ? 16 : 4);
    if (shared > 48 << 10) /* as much as a kernel has without asking */
        status = bd_cuda_check(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared),
            "sums over a wide window");
    if (status != BD_OK)
        return status;
    kernel<<<*parts, bd_sweep_threads, shared, s->cuda->stream>>>(s->partial, x, count);
    return bd_cuda_launched("products with the frames of the window");
}

enum bd_status bd_sep_finish_sums(struct bd_cuda_separator *s, const double *partial, int count,
                                  unsigned parts, double *g)
{
    finish_sums<<<(unsigned)count, bd_sep_threads, 0, s->cuda->stream>>>(g, partial, (int)parts);
    return bd_cuda_launched("sums over the frames of the window");
}

/* One pass, with part 0: beside frames it takes as long as several. */
enum bd_status bd_cuda_sep_gram(void *arg, const int *order, int count, float lambda, int part,
                                double *g, bool *whole)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    unsigned parts;
    *whole = part == 0 || (part == bd_sep_gram_parts - 1 && s->errors_lambda != lambda);
    if (!*whole)
        return BD_OK;
    enum bd_status status = bd_sep_set_order(s, order, count);
    if (status == BD_OK)
        status = form_sums<true>(s, count, lambda, &parts);
    if (status == BD_OK)
        status = bd_sep_finish_sums(s, s->partial, count, parts, s->errors);
    if (status == BD_OK)
        status = bd_sep_finish_sums(s, s->partial + (int64_t)count * parts, count, parts, g);
    if (status == BD_OK && s->ahead)
        status = bd_cuda_check(cudaEventRecord(s->slid[bd_sep_share_products], s->cuda->stream),
                               "a slide");
    if (status == BD_OK)
        s->errors_lambda = lambda;
    return status;
}

enum bd_status bd_sep_need_errors(struct bd_cuda_separator *s, int count, float lambda)
{
    if (s->errors_lambda == lambda)
        return BD_OK;
    unsigned parts;
    enum bd_status status = form_sums<false>(s, count, lambda, &parts);
    return status == BD_OK ? bd_sep_finish_sums(s, s->partial, count, parts, s->errors) : status;
}

enum bd_status bd_sep_fit_columns(struct bd_cuda_separator *s, int count, float lambda)
{
    unsigned parts;
    enum bd_status status = form_sums<false>(s, count, lambda, &parts);
    if (status != BD_OK)
        return status;
    finish_fit<<<(unsigned)count, bd_sep_threads, 0, s->cuda->stream>>>(
        s->coefficients, s->numbers, s->order, s->partial, (int)parts);
    return bd_cuda_launched("coefficients of the window");
}
