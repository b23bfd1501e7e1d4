/* The live separator on the GPU: the fit of a frame's coefficients, and sudden changes of light.
 * The first round counts the elements that differ from the background of the frame before, so that
 * the search costs a usual frame one small kernel that ends at once. The plain version is
 * separation/cpu/project.c. */
#include "gpu/separation/state.cuh"
#include "separation/shared/rounding.h"

/* The operands of a round. partial: a sum for each chunk and column of B that RANK provides for. A
 * chunk is what a thread block of a round takes. */
struct fit {
    double *partial;
    struct bd_sep_numbers *numbers;
    const uint8_t *f;
    const float *basis;
    int64_t ld;
    int rank;
};

/* sum[k] += B(:, k)^T clip(f - B w, +-lambda) of the thread's elements of a chunk; returns how many
 * of them differ from B w by more than `far` (COUNT). RANK is 1, or 8 for any rank up to that. A
 * warp has a block of groups (separation/shared/rounding.h), and each of its threads four of them:
 * those of the four elements of a word. */
template <int RANK, bool COUNT>
__device__ __forceinline__ uint32_t sum_chunk(double sum[RANK], const fit &on, const float w[RANK],
                                              int64_t chunk, float lambda, float far)
{
    static_assert(bd_sep_project_words * 4 * 32 == bd_sep_group_block, "a block a warp");
    uint32_t outliers = 0;
    float groups[RANK][4] = {};
    const int64_t first = chunk * bd_sep_project_words * bd_sep_threads +
                          threadIdx.x / 32 * bd_sep_project_words * 32 + threadIdx.x % 32;
#pragma unroll
    for (int u = 0; u < bd_sep_project_words; u++) {
        const int64_t i = 4 * (first + u * 32);
        if (i >= on.ld)
            break;
        float v[4], b[RANK][4], l[4] = {};
        bd_sep_floats(bd_sep_load_word(on.f + i), v);
#pragma unroll
        for (int k = 0; k < RANK; k++) {
            if (k >= on.rank)
                break;
            bd_sep_load_floats(on.basis + k * on.ld + i, b[k]);
#pragma unroll
            for (int e = 0; e < 4; e++)
                l[e] = __fadd_rn(l[e], __fmul_rn(b[k][e], w[k]));
        }
#pragma unroll
        for (int e = 0; e < 4; e++) {
            v[e] = __fsub_rn(v[e], l[e]);
            if (COUNT)
                outliers += fabsf(v[e]) > far;
            v[e] = bd_sep_clip(v[e], lambda);
        }
#pragma unroll
        for (int k = 0; k < RANK; k++) {
            if (k >= on.rank)
                break;
#pragma unroll
            for (int e = 0; e < 4; e++)
                groups[k][e] = __fadd_rn(groups[k][e], __fmul_rn(b[k][e], v[e]));
        }
    }
#pragma unroll
    for (int k = 0; k < RANK; k++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            sum[k] += (double)groups[k][e];
    return outliers;
}

/* The block's sums of a chunk to its place. */
template <int RANK>
__device__ __forceinline__ void leave_sums(const fit &on, const double sum[RANK], int64_t chunk)
{
    for (int k = 0; k < RANK; k++) {
        double total = bd_sep_block_sum(sum[k]);
        if (threadIdx.x == 0)
            on.partial[chunk * RANK + k] = total;
    }
}

/* The sum over a thread block, in thread 0. */
__device__ __forceinline__ uint32_t block_count(uint32_t count)
{
    __shared__ uint32_t warps[bd_sep_threads / 32];
    count = __reduce_add_sync(0xffffffffu, count);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = count;
    __syncthreads();
    count = 0;
    if (threadIdx.x == 0)
        for (int i = 0; i < bd_sep_threads / 32; i++)
            count += warps[i];
    return count;
}

/* Whether this block is the last of the grid to come here: it sees what all have left, all have
 * read w, and thread 0 has in *all the sum of `count`, of the threads 0 of all blocks. */
__device__ __forceinline__ bool is_last_block(struct bd_sep_numbers *numbers, uint32_t count,
                                              uint32_t *all)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        __threadfence();
        const unsigned long long before =
            atomicAdd(&numbers->arrived, (unsigned long long)count << 32 | 1);
        last = (uint32_t)before == gridDim.x - 1;
        *all = (uint32_t)(before >> 32) + count;
    }
    __syncthreads();
    if (!last)
        return false;
    __threadfence();
    if (threadIdx.x == 0)
        numbers->arrived = 0;
    return true;
}

/* The sum of column k over all chunks, in thread 0. */
template <int RANK> __device__ __forceinline__ double add_up(const fit &on, int64_t chunks, int k)
{
    double total = 0;
    for (int64_t chunk = threadIdx.x; chunk < chunks; chunk += bd_sep_threads)
        total += __ldcg(&on.partial[chunk * RANK + k]);
    return bd_sep_block_sum(total);
}

/* A round: w[k] += B(:, k)^T clip(f - B w, +-lambda); a block a chunk. In the FIRST one, where more
 * than `many` elements differ by more than 2 lambda, w stays as it is, and numbers->fitted gets
 * what it would have become. */
template <int RANK, bool FIRST>
__global__ __launch_bounds__(bd_sep_threads) void project(const __grid_constant__ fit on,
                                                          float lambda, double many)
{
    struct bd_sep_numbers *numbers = on.numbers;
    float w[RANK];
    double sum[RANK] = {};
    bd_cuda_await();
    bd_cuda_let_follow();
#pragma unroll
    for (int k = 0; k < RANK; k++)
        w[k] = numbers->w[k];
    uint32_t outliers = sum_chunk<RANK, FIRST>(sum, on, w, blockIdx.x, lambda, 2 * lambda), all = 0;
    if (FIRST)
        outliers = block_count(outliers);
    leave_sums<RANK>(on, sum, blockIdx.x);
    if (!is_last_block(numbers, outliers, &all))
        return;
    const bool light = FIRST && (double)all > many;
    float *to = light ? numbers->fitted : numbers->w;
    for (int k = 0; k < RANK; k++) {
        const double total = add_up<RANK>(on, gridDim.x, k);
        if (threadIdx.x == 0 && k < numbers->rank)
            to[k] = bd_sep_round_coefficient((double)numbers->w[k] + total);
    }
    if (FIRST && threadIdx.x == 0)
        numbers->light = light ? all : 0;
}

/* Where the first round found that the light has changed: rounds with a wide lambda that bring w
 * near, and the first round once more. If that does not explain what differed, w becomes what the
 * first round made of it. One thread block: this is rare, and a
 * usual frame pays for no more than its launch. */
template <int RANK>
__global__ __launch_bounds__(bd_sep_threads, 1) void follow_light(const __grid_constant__ fit on,
                                                                  int64_t chunks, float lambda)
{
    struct bd_sep_numbers *numbers = on.numbers;
    bd_cuda_await();
    bd_cuda_let_follow();
    const uint32_t before = numbers->light;
    if (!before)
        return;
    for (int times = bd_sep_light_times; times >= 1; times /= 2) {
        uint32_t outliers = 0;
        float w[RANK];
        double sums[RANK] = {};
#pragma unroll
        for (int k = 0; k < RANK; k++)
            w[k] = numbers->w[k];
#pragma unroll 1
        for (int64_t chunk = 0; chunk < chunks; chunk++)
            outliers +=
                sum_chunk<RANK, true>(sums, on, w, chunk, (float)times * lambda, 2 * lambda);
        outliers = block_count(outliers);
        const bool explained = (double)outliers <= bd_sep_explained_share * (double)before;
#pragma unroll
        for (int k = 0; k < RANK; k++) {
            const double total = bd_sep_block_sum(sums[k]);
            if (threadIdx.x == 0 && k < numbers->rank)
                numbers->w[k] = times == 1 && !explained
                                    ? numbers->fitted[k]
                                    : bd_sep_round_coefficient((double)w[k] + total);
        }
        __syncthreads(); /* the new w is there */
    }
}

template <int RANK>
static enum bd_status launch_rounds(const struct bd_cuda_separator *s, int rounds, float lambda)
{
    const struct fit on = { s->frame_partial, s->numbers, s->f, s->basis, s->ld, s->shape.rank };
    const double many = bd_sep_outlier_share * (double)s->m;
    const unsigned blocks = bd_sep_project_blocks(s);
    enum bd_status status = BD_OK;
    for (int i = 0; status == BD_OK && i < rounds; i++) {
        auto *kernel = i ? project<RANK, false> : project<RANK, true>;
        bd_sep_follow(s, kernel, blocks, on, lambda, many);
        status = bd_cuda_launched("projecting a frame");
        if (status != BD_OK || i > 0)
            continue;
        bd_sep_follow(s, follow_light<RANK>, 1, on, (int64_t)blocks, lambda);
        status = bd_cuda_launched("following the light");
    }
    return status;
}

enum bd_status bd_cuda_sep_project(void *arg, int rounds, float lambda)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    enum bd_status status = bd_sep_upload(s);
    if (status == BD_OK)
        status = s->shape.rank == 1 ? launch_rounds<1>(s, rounds, lambda)
                                    : launch_rounds<bd_max_rank>(s, rounds, lambda);
    s->projected = s->behind = 1;
    return status;
}
