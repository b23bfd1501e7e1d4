/* The live separator on the GPU: the first basis, from a background of one value a pixel. */
#include "gpu/separation/initialise.cuh"
#include "gpu/separation/state.cuh"

/* Four pixels a thread, CHANNELS words: *changed += those that differ by more than `reach`. */
template <int CHANNELS>
__global__ __launch_bounds__(bd_sep_threads) void compare_columns(int *changed, const uint8_t *a,
                                                                  const uint8_t *b, uint32_t reach,
                                                                  int64_t words)
{
    const int64_t p = (int64_t)blockIdx.x * bd_sep_threads + threadIdx.x;
    uint32_t far[CHANNELS], count = 0;
    if (p < words) {
#pragma unroll
        for (int c = 0; c < CHANNELS; c++) {
            const int64_t i = 4 * (CHANNELS * p + c);
            far[c] = __vabsdiffu4(bd_sep_load_word(a + i), bd_sep_load_word(b + i));
        }
        const uint32_t most = CHANNELS == 1 ? far[0] : bd_sep_most_of_channels(far);
        count = __popc(__vcmpgtu4(most, reach * 0x01010101u)) / 8;
    }
    const uint32_t sum = __reduce_add_sync(0xffffffffu, count);
    if (threadIdx.x % 32 == 0 && sum)
        atomicAdd(changed, (int)sum);
}

/* B := B / its norm, or the constant picture where B is black and has no direction. Past row m it
 * stays 0. Four rows a thread. Then rank 1, and C of the columns in order := the
 * norm. */
__global__ __launch_bounds__(bd_sep_threads) void scale(float *basis, float *coefficients,
                                                        struct bd_sep_numbers *numbers,
                                                        const int *order, int count, int64_t m)
{
    const int64_t at = (int64_t)blockIdx.x * bd_sep_threads + threadIdx.x;
    const float norm = (float)sqrt((double)numbers->square);
    const float constant = 1 / sqrtf((float)m);
    if (4 * at < m) {
        float b[4];
        bd_sep_load_floats(basis + 4 * at, b);
#pragma unroll
        for (int e = 0; e < 4; e++)
            b[e] = 4 * at + e >= m ? 0.0f : norm > 0 ? b[e] / norm : constant;
        bd_sep_store_floats(basis + 4 * at, b);
    }
    for (int64_t i = at; i < count * bd_max_rank; i += (int64_t)gridDim.x * bd_sep_threads)
        coefficients[order[i / bd_max_rank] * bd_max_rank + i % bd_max_rank] =
            i % bd_max_rank ? 0.0f : norm;
    if (at == 0) {
        numbers->rank = 1;
        numbers->norm = 1;
    }
}

enum bd_status bd_sep_clear_square(struct bd_cuda_separator *s)
{
    return bd_cuda_check(
        cudaMemsetAsync(&s->numbers->square, 0, sizeof s->numbers->square, s->cuda->stream),
        "the first background");
}

enum bd_status bd_sep_start_basis(struct bd_cuda_separator *s, int count, float lambda)
{
    enum { rounds = 3 };
    s->errors_lambda = 0;
    scale<<<bd_sep_blocks(s->ld / 4, bd_sep_threads), bd_sep_threads, 0, s->cuda->stream>>>(
        s->basis, s->coefficients, s->numbers, s->order, count, s->m);
    enum bd_status status = bd_cuda_launched("the first background");
    for (int i = 0; status == BD_OK && i < rounds; i++)
        status = bd_sep_fit_columns(s, count, lambda);
    return status == BD_OK ? bd_cuda_sep_recall(s, s->host_order[count - 1]) : status;
}

enum bd_status bd_cuda_sep_compare(void *arg, int slot, int other, int reach, int64_t *count)
{
    static const char what[] = "comparing two frames of the window";
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    cudaStream_t stream = s->cuda->stream;
    const int64_t words = s->pitch / 4;
    auto *kernel = s->shape.channels == 1 ? compare_columns<1> : compare_columns<3>;
    int changed = 0, *const d_changed = &s->numbers->changed[s->turn];
    *count = 0;
    kernel<<<bd_sep_blocks(words, bd_sep_threads), bd_sep_threads, 0, stream>>>(
        d_changed, bd_sep_column(s, slot), bd_sep_column(s, other), (uint32_t)reach, words);
    enum bd_status status = bd_cuda_launched(what);
    if (status != BD_OK)
        return status;
    cudaError_t error =
        cudaMemcpyAsync(&changed, d_changed, sizeof changed, cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess) /* the next frame counts from 0 */
        error = cudaMemsetAsync(d_changed, 0, sizeof changed, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    *count = changed;
    return bd_cuda_check(error, what);
}
