/* The live separator on the GPU: the first background, from the window itself, one value a pixel.
 * Bytes are compared four in a word, each in its own lane of eight bits. */
#include "gpu/separator_state.cuh"
#include "gpu/slots.h"

enum {
    median_threads = 64,
    staged_bytes = 40 << 10, /* of the window that a block of `median` keeps at hand, at most */
    lasting_threads = 32,
    most_lasting = 100, /* columns looked at, as bd_max_lasting of the CPU's pixel kernels */
    reach = 20          /* grey levels within which two values are the same thing seen twice */
};

/* Grey levels: bound of the noise that the spread of the first window gives (as
 * linalg/cpu/separator_window.c). */
static const float most_start_noise = 5;

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

/* 0x80 in each byte in which a < b; `low` is b & 0x7f7f7f7f. */
__device__ __forceinline__ uint32_t below(uint32_t a, uint32_t b, uint32_t low)
{
    /* Bit 7 of each byte of the difference: not (a's lower bits < b's). */
    const uint32_t difference = (a | 0x80808080u) - low;
    return ((~a & b) | (~(a ^ b) & ~difference)) & 0x80808080u;
}

/* Bit 7 of each byte to the whole byte. (__byte_perm has no such selection.) */
__device__ __forceinline__ uint32_t spread_top(uint32_t v)
{
    uint32_t spread;
    asm("prmt.b32 %0, %1, 0, 0xba98;" : "=r"(spread) : "r"(v));
    return spread;
}

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
                counts += below(v, candidate, low) >> 7;
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

/* A word of the background to the basis, not scaled yet; returns its sum of squares. */
__device__ __forceinline__ uint32_t take_background(float *basis, uint32_t word)
{
    float v[4];
    bd_sep_floats(word, v);
    bd_sep_store_floats(basis, v);
    return __dp4a(word, word, 0u);
}

/* numbers->square += the sums of the threads of a warp. Integers: any order gives the same. */
__device__ __forceinline__ void add_square(struct bd_sep_numbers *numbers, uint32_t square)
{
    const uint32_t sum = __reduce_add_sync(0xffffffffu, square);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&numbers->square, (unsigned long long)sum);
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
        if (staged) { /* each thread its own words: nobody waits for another */
#pragma unroll 8
            for (int j = 0; j < count; j++)
                stage[j * median_threads + threadIdx.x] =
                    bd_sep_load_word(column.bytes + x.order[j] * x.ld);
            column.staged = stage + threadIdx.x;
        }
        const uint32_t median = median_word<false>(column, count, 0);
        spread[c] = median_word<true>(column, count, median);
        if (inside)
            square += take_background(basis + i, median);
    }
    add_square(numbers, square);
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
        out[e] = fminf((float)most, most_start_noise);
    }
    bd_sep_store_floats(noise + 4 * p, out);
}

/* Four pixels of up to most_lasting pictures, a plane a channel: [j][c][thread]. */
template <int CHANNELS> struct planes {
    const uint32_t *at;

    __device__ __forceinline__ uint32_t word(int j, int c) const
    {
        return at[(j * CHANNELS + c) * lasting_threads];
    }
    __device__ __forceinline__ int value(int j, int c, int e) const
    {
        return (int)(word(j, c) >> 8 * e & 0xff);
    }
};

/* 0xff in the bytes in which picture k differs from `candidate` by more than `reach`. */
template <int CHANNELS>
__device__ __forceinline__ uint32_t far_bytes(const struct planes<CHANNELS> &planes, int k,
                                              const uint32_t candidate[CHANNELS])
{
    uint32_t top = 0; /* bit 7 of each byte */
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        const uint32_t d = __vabsdiffu4(planes.word(k, c), candidate[c]);
        top |= ((d & 0x7f7f7f7fu) + (127 - reach) * 0x01010101u) | d;
    }
    return spread_top(top);
}

/* In each byte: the number of the picture that wins (bd_pixel_kernels.lasting), the earliest of
 * equals. */
template <int CHANNELS>
__device__ uint32_t winners(const struct planes<CHANNELS> &planes, int count)
{
    uint32_t best = 0, best_score = 0;
    for (int j = 0; j < count; j++) {
        uint32_t candidate[CHANNELS], members = 0, first = 0, last = 0, seen = 0;
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            candidate[c] = planes.word(j, c);
#pragma unroll 4
        for (int k = 0; k < count; k++) {
            const uint32_t far = far_bytes<CHANNELS>(planes, k, candidate), all = k * 0x01010101u;
            members += ~far & 0x01010101u;
            first |= all & ~far & ~seen;
            seen |= ~far;
            last = (last & far) | (all & ~far);
        }
        /* At most 2 most_lasting: no byte carries into the next. */
        const uint32_t score = last - first + members + 0x01010101u;
        const uint32_t better = spread_top(below(best_score, score, score & 0x7f7f7f7fu));
        best = (best & ~better) | ((uint32_t)j * 0x01010101u & better);
        best_score = (best_score & ~better) | (score & better);
    }
    return best;
}

template <int CHANNELS>
__device__ __forceinline__ int channel_distance(const struct planes<CHANNELS> &planes, int k, int e,
                                                const int value[CHANNELS])
{
    int most = 0;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        most = max(most, abs(planes.value(k, c, e) - value[c]));
    return most;
}

/* Mean of the members of candidate j at byte e, and their mean distance from it in grey levels. */
template <int CHANNELS>
__device__ float mean_of_members(const struct planes<CHANNELS> &planes, int count, int j, int e,
                                 int value[CHANNELS])
{
    int candidate[CHANNELS], sums[CHANNELS] = {}, members = 0, distance = 0;
    for (int c = 0; c < CHANNELS; c++)
        candidate[c] = planes.value(j, c, e);
    for (int k = 0; k < count; k++) {
        if (channel_distance<CHANNELS>(planes, k, e, candidate) > reach)
            continue;
        members++;
        for (int c = 0; c < CHANNELS; c++)
            sums[c] += planes.value(k, c, e);
    }
    for (int c = 0; c < CHANNELS; c++)
        value[c] = (sums[c] + members / 2) / members;
    for (int k = 0; k < count; k++)
        if (channel_distance<CHANNELS>(planes, k, e, candidate) <= reach)
            distance += channel_distance<CHANNELS>(planes, k, e, value);
    return (float)min(16 * distance / members, 255) / 16;
}

/* Four pixels a thread: basis := the value that lasts, noise := the distance of its members. Of the
 * window's columns, `count` evenly spread ones are looked at. */
template <int CHANNELS>
__global__ __launch_bounds__(lasting_threads) void take_lasting(
    float *basis, float *noise, struct bd_sep_numbers *numbers,
    const __grid_constant__ bd_sep_window x, int columns, int count, int64_t words)
{
    extern __shared__ uint32_t stage[];
    const int64_t p = (int64_t)blockIdx.x * lasting_threads + threadIdx.x;
    const bool inside = p < words;
    uint32_t square = 0;
    if (inside) {
        for (int j = 0; j < count; j++) {
            const uint8_t *from =
                x.bytes + x.order[(int64_t)j * columns / count] * x.ld + 4 * CHANNELS * p;
            uint32_t *to = stage + j * CHANNELS * lasting_threads + threadIdx.x;
            if (CHANNELS == 1) {
                *to = bd_sep_load_word(from);
                continue;
            }
            /* r0 g0 b0 r1 | g1 b1 r2 g2 | b2 r3 g3 b3 */
            const uint32_t a = bd_sep_load_word(from), b = bd_sep_load_word(from + 4),
                           c = bd_sep_load_word(from + 8);
            to[0] = __byte_perm(__byte_perm(a, b, 0x0630), c, 0x5210);
            to[lasting_threads] = __byte_perm(__byte_perm(a, b, 0x0741), c, 0x6210);
            to[2 * lasting_threads] = __byte_perm(__byte_perm(a, b, 0x0052), c, 0x7410);
        }
        const struct planes<CHANNELS> planes = {
            stage + threadIdx.x
        };
        const uint32_t winner = winners<CHANNELS>(planes, count);
        uint32_t out[CHANNELS] = {};
        float distance[4];
#pragma unroll
        for (int e = 0; e < 4; e++) {
            int value[CHANNELS];
            distance[e] =
                mean_of_members<CHANNELS>(planes, count, winner >> 8 * e & 0xff, e, value);
#pragma unroll
            for (int c = 0; c < CHANNELS; c++) {
                const int at = CHANNELS * e + c;
                out[at / 4] |= (uint32_t)value[c] << at % 4 * 8;
            }
        }
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            square += take_background(basis + 4 * (CHANNELS * p + c), out[c]);
        bd_sep_store_floats(noise + 4 * p, distance);
    }
    add_square(numbers, square);
}

/* B := B / its norm; a black picture has no direction, and the constant picture takes its place.
 * Past row m it stays 0. Four rows a thread. Then rank 1, and C of the columns in order := the
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

static enum bd_status clear_square(struct bd_cuda_separator *s)
{
    return bd_cuda_check(
        cudaMemsetAsync(&s->numbers->square, 0, sizeof s->numbers->square, s->cuda->stream),
        "the first background");
}

/* The basis, the coefficients of the window and w from the background that lies in B. */
static enum bd_status start_basis(struct bd_cuda_separator *s, int count, float lambda)
{
    enum { rounds = 3 };
    scale<<<bd_sep_blocks(s->ld / 4, bd_sep_threads), bd_sep_threads, 0, s->cuda->stream>>>(
        s->basis, s->coefficients, s->numbers, s->order, count, s->m);
    enum bd_status status = bd_cuda_launched("the first background");
    for (int i = 0; status == BD_OK && i < rounds; i++)
        status = bd_sep_fit_columns(s, count, lambda);
    s->f = bd_sep_column(s, s->host_order[count - 1]);
    return status;
}

extern "C" enum bd_status bd_cuda_sep_median(void *arg, const int *order, int count, float lambda)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    enum bd_status status = bd_sep_set_order(s, order, count);
    if (status == BD_OK)
        status = clear_square(s);
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
    return status == BD_OK ? start_basis(s, count, lambda) : status;
}

extern "C" enum bd_status bd_cuda_sep_lasting(void *arg, const int *order, int count, float lambda)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    enum bd_status status = bd_sep_set_order(s, order, count);
    if (status == BD_OK)
        status = clear_square(s);
    if (status != BD_OK)
        return status;
    const struct bd_sep_window x = bd_sep_view(s, lambda);
    const int64_t words = s->pitch / 4;
    const unsigned blocks = bd_sep_blocks(words, lasting_threads);
    const int looked_at = count < most_lasting ? count : most_lasting;
    const size_t stage =
        (size_t)looked_at * lasting_threads * sizeof(uint32_t) * (size_t)s->shape.channels;
    auto *kernel = s->shape.channels == 1 ? take_lasting<1> : take_lasting<3>;
    kernel<<<blocks, lasting_threads, stage, s->cuda->stream>>>(s->basis, s->noise, s->numbers, x,
                                                                count, looked_at, words);
    status = bd_cuda_launched("the value of each pixel that lasts");
    return status == BD_OK ? start_basis(s, count, lambda) : status;
}
