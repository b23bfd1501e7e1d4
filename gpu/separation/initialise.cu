/* The live separator on the GPU: the first background, from the window itself, one value a pixel.
 * Bytes are compared four in a word, each in its own lane of eight bits. */
#include "gpu/separation/initialise.cuh"
#include "gpu/separation/state.cuh"

enum {
    median_threads = 64,
    staged_bytes = 40 << 10 /* of the window that a block of `median` keeps at hand, at most */
};

/* The columns of the window at one word: word (from the start of a column) of column j. */
struct word_column {
    const uint32_t *staged; /* at this thread's place, median_threads words a column; or NULL */
    const uint8_t *bytes;
    const int *order;
    int64_t ld;

    __device__ __forceinline__ uint32_t at(int j) const
    {
        return staged ? staged[j * median_threads] : bd_sep_load_word(bytes + order[j] * ld);
    }
};

/* The lower median of count values in each byte: of the columns, or (CENTER) of their distances
 * from `center`. Bit by bit from the top: a bit is set if not more than (count - 1) / 2 values lie
 * below. */
template <bool CENTER>
__device__ uint32_t median_word(const struct word_column &column, int count, uint32_t center)
{
    uint32_t value = 0;
    for (uint32_t bit = 0x80; bit > 0; bit /= 2) {
        const uint32_t candidate = value | bit * 0x01010101u, low = candidate & 0x7f7f7f7fu;
        uint32_t even = 0, odd = 0; /* how many are below: bytes 0 and 2, 1 and 3 */
        for (int j = 0; j < count;) {
            const int end = min(j + 255, count);
            uint32_t counts = 0;
#pragma unroll 8
            for (; j < end; j++) {
                uint32_t v = column.at(j);
                if (CENTER)
                    v = __vabsdiffu4(v, center);
                counts += bd_sep_below(v, candidate, low) >> 7;
            }
            even += counts & 0x00ff00ffu;
            odd += counts >> 8 & 0x00ff00ffu;
        }
        const uint32_t rank = (uint32_t)(count - 1) / 2;
        value |= (even & 0xffffu) <= rank ? bit : 0u;
        value |= (odd & 0xffffu) <= rank ? bit << 8 : 0u;
        value |= even >> 16 <= rank ? bit << 16 : 0u;
        value |= odd >> 16 <= rank ? bit << 24 : 0u;
    }
    return value;
}

/* Four pixels a thread, CHANNELS words: basis := median of the columns, noise := their spread
 * (median distance from it, maximum over channels, bounded). staged: the block's part of a word of
 * all columns is brought to shared memory first (count x median_threads words). */
template <int CHANNELS>
__global__ __launch_bounds__(median_threads) void take_median(
    float *basis, float *noise, struct bd_sep_numbers *numbers,
    const __grid_constant__ bd_sep_window x, int count, int64_t words, bool staged)
{
    extern __shared__ uint32_t stage[];
    const int64_t p = (int64_t)blockIdx.x * median_threads + threadIdx.x;
    const bool inside = p < words;
    uint32_t spread[CHANNELS], square = 0;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        const int64_t i = inside ? 4 * (CHANNELS * p + c) : 0;
        struct word_column column = { NULL, x.bytes + i, x.order, x.ld };
        if (staged) { /* each thread reads only its own words: no barrier */
#pragma unroll 8
            for (int j = 0; j < count; j++)
                stage[j * median_threads + threadIdx.x] =
                    bd_sep_load_word(column.bytes + x.order[j] * x.ld);
            column.staged = stage + threadIdx.x;
        }
        const uint32_t median = median_word<false>(column, count, 0);
        spread[c] = median_word<true>(column, count, median);
        if (inside)
            square += bd_sep_take_background(basis + i, median);
    }
    bd_sep_add_square(numbers, square);
    if (!inside)
        return;
    float out[4];
#pragma unroll
    for (int e = 0; e < 4; e++) {
        uint32_t most = 0;
#pragma unroll
        for (int c = 0; c < CHANNELS; c++) {
            const int at = CHANNELS * e + c;
            most = max(most, spread[at / 4] >> at % 4 * 8 & 0xff);
        }
        out[e] = fminf((float)most, bd_sep_most_start_noise);
    }
    bd_sep_store_floats(noise + 4 * p, out);
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

enum bd_status bd_cuda_sep_median(void *arg, const int *order, int count, float lambda)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    enum bd_status status = bd_sep_set_order(s, order, count);
    if (status == BD_OK)
        status = bd_sep_clear_square(s);
    if (status != BD_OK)
        return status;
    const struct bd_sep_window x = bd_sep_view(s, lambda);
    const int64_t words = s->pitch / 4;
    const unsigned blocks = bd_sep_blocks(words, median_threads);
    const size_t stage = (size_t)count * median_threads * sizeof(uint32_t);
    const bool staged = stage <= staged_bytes;
    auto *kernel = s->shape.channels == 1 ? take_median<1> : take_median<3>;
    kernel<<<blocks, median_threads, staged ? stage : 0, s->cuda->stream>>>(
        s->basis, s->noise, s->numbers, x, count, words, staged);
    status = bd_cuda_launched("the median of the window");
    return status == BD_OK ? bd_sep_start_basis(s, count, lambda) : status;
}
