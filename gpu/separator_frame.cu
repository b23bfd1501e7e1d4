/* The live separator on the GPU: a frame against the basis, and its mask. */
#include "gpu/separator_state.cuh"
#include "gpu/slots.h"

/* partial (blocks x RANK; the ticket tells which block leaves last) and then w[k] += B(:, k)^T
 * clip(f - B w, +-lambda). f is m bytes, B m x rank; RANK is 1, or 8 for any rank up to that.
 * Word q of block b's thread t, u = 0 .. bd_sep_project_words - 1: (b bd_sep_project_words + u)
 * threads + t. */
template <int RANK>
__global__ __launch_bounds__(bd_sep_threads) void project(double *partial,
                                                          struct bd_sep_numbers *numbers,
                                                          const uint8_t *__restrict__ f,
                                                          const float *__restrict__ basis,
                                                          int64_t ld, int rank, float lambda)
{
    float w[RANK], sum[RANK] = {};
#pragma unroll
    for (int k = 0; k < RANK; k++)
        w[k] = numbers->w[k];
    const int64_t first = (int64_t)blockIdx.x * bd_sep_project_words * bd_sep_threads + threadIdx.x;
#pragma unroll
    for (int u = 0; u < bd_sep_project_words; u++) {
        const int64_t i = 4 * (first + u * bd_sep_threads);
        if (i >= ld)
            break;
        float v[4], b[RANK][4], l[4] = {};
        bd_sep_floats(bd_sep_load_word(f + i), v);
#pragma unroll
        for (int k = 0; k < RANK; k++) {
            if (k >= rank)
                break;
            bd_sep_load_floats(basis + k * ld + i, b[k]);
#pragma unroll
            for (int e = 0; e < 4; e++)
                l[e] += b[k][e] * w[k];
        }
#pragma unroll
        for (int e = 0; e < 4; e++)
            v[e] = bd_sep_clip(v[e] - l[e], lambda);
#pragma unroll
        for (int k = 0; k < RANK; k++) {
            if (k >= rank)
                break;
#pragma unroll
            for (int e = 0; e < 4; e++)
                sum[k] += b[k][e] * v[e];
        }
    }
    for (int k = 0; k < RANK; k++) {
        double total = bd_sep_block_sum((double)sum[k]);
        if (threadIdx.x == 0)
            partial[blockIdx.x * RANK + k] = total;
    }
    /* The block that leaves last adds up what all have left; by then all have read w. */
    __shared__ bool last;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(&numbers->ticket, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last)
        return;
    __threadfence();
    for (int k = 0; k < RANK; k++) {
        double total = 0;
        for (unsigned block = threadIdx.x; block < gridDim.x; block += bd_sep_threads)
            total += __ldcg(&partial[block * RANK + k]);
        total = bd_sep_block_sum(total);
        if (threadIdx.x == 0 && k < numbers->rank)
            numbers->w[k] += (float)total;
    }
    if (threadIdx.x == 0)
        numbers->ticket = 0;
}

/* Four elements of l = B w, rounded, as a word. */
template <int RANK>
__device__ __forceinline__ uint32_t form_background(const float w[RANK], const float *basis,
                                                    int64_t ld, int rank, int64_t i)
{
    float l[4] = { 0.5f, 0.5f, 0.5f, 0.5f }, b[4];
#pragma unroll
    for (int k = 0; k < RANK; k++) {
        if (k >= rank)
            break;
        bd_sep_load_floats(basis + k * ld + i, b);
#pragma unroll
        for (int e = 0; e < 4; e++)
            l[e] += b[e] * w[k];
    }
    uint32_t word = 0;
#pragma unroll
    for (int e = 0; e < 4; e++)
        word |= (uint32_t)fminf(fmaxf(l[e], 0.0f), 255.0f) << 8 * e;
    return word;
}

struct pictures {
    uint8_t *background, *difference, *raw; /* outputs; background is an input of KNOWN */
    const uint8_t *f;
    const float *basis, *noise;
    int64_t ld, words; /* of pixels, four in each */
    int rank;
};

/* Four pixels a thread: l (unless it is KNOWN), |f - l| (maximum over channels), and where it
 * exceeds the pixel's threshold (raw, 0 or 1). Word p of the pixels is words C p .. of the
 * elements. */
template <int RANK, int CHANNELS, bool KNOWN>
__global__ __launch_bounds__(bd_sep_threads) void compare(const __grid_constant__ pictures now,
                                                          const struct bd_sep_numbers *numbers,
                                                          float least, float gain, float most)
{
    const int64_t p = (int64_t)blockIdx.x * bd_sep_threads + threadIdx.x;
    if (p >= now.words)
        return;
    float w[RANK];
#pragma unroll
    for (int k = 0; k < RANK; k++)
        w[k] = numbers->w[k];
    uint32_t far[CHANNELS];
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        const int64_t i = 4 * (CHANNELS * p + c);
        uint32_t l;
        if (KNOWN) {
            l = bd_sep_load_word(now.background + i);
        } else {
            l = form_background<RANK>(w, now.basis, now.ld, now.rank, i);
            *reinterpret_cast<uint32_t *>(now.background + i) = l;
        }
        far[c] = __vabsdiffu4(bd_sep_load_word(now.f + i), l);
    }
    const uint32_t difference = CHANNELS == 1 ? far[0] : bd_sep_most_of_channels(far);
    *reinterpret_cast<uint32_t *>(now.difference + 4 * p) = difference;
    float d[4], noise[4];
    bd_sep_floats(difference, d);
    bd_sep_load_floats(now.noise + 4 * p, noise);
    uint32_t raw = 0;
#pragma unroll
    for (int e = 0; e < 4; e++) {
        float limit = fmaxf(fminf(gain * noise[e], most), least);
        raw |= (uint32_t)(d[e] > limit) << 8 * e;
    }
    *reinterpret_cast<uint32_t *>(now.raw + 4 * p) = raw;
}

struct pixels {
    float *noise, *age;
    uint8_t *guard;
    const uint8_t *difference, *mask;
    int64_t words;
};

/* Four pixels a thread: noise levels outside the guard and ages in the mask (LEARN), and then the
 * guard of what has been in the mask for longer than `memory` goes. The pace is the one at `loaded`
 * unless that is NULL; the record is in the host's memory. Products and sums are rounded
 * one by one, as on the CPU, whose noise levels and ages are these to the last bit. */
template <bool LEARN>
__global__ __launch_bounds__(bd_sep_threads) void learn_pixels(const __grid_constant__ pixels now,
                                                               struct bd_sep_record *record,
                                                               const struct bd_sep_numbers *numbers,
                                                               const struct bd_sep_pace *loaded,
                                                               struct bd_sep_pace pace,
                                                               float memory)
{
    const int64_t p = (int64_t)blockIdx.x * bd_sep_threads + threadIdx.x;
    if (p == 0)
        *record = { numbers->foreground, numbers->rank, numbers->revealed };
    if (p >= now.words)
        return;
    uint32_t *guard_word = reinterpret_cast<uint32_t *>(now.guard + 4 * p);
    const uint32_t guard = *guard_word;
    float age[4];
    bd_sep_load_floats(now.age + 4 * p, age);
    if (LEARN) {
        if (loaded)
            pace = *loaded;
        const float rate = pace.rate, seconds = pace.seconds;
        const uint32_t mask = bd_sep_load_word(now.mask + 4 * p);
        float noise[4], d[4];
        bd_sep_load_floats(now.noise + 4 * p, noise);
        bd_sep_floats(bd_sep_load_word(now.difference + 4 * p), d);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            float share = guard >> 8 * e & 1 ? 0.0f : rate;
            noise[e] = __fadd_rn(noise[e], __fmul_rn(share, __fsub_rn(d[e], noise[e])));
            age[e] = __fadd_rn(age[e], mask >> 8 * e & 1 ? seconds : __fmul_rn(-4.0f, seconds));
            age[e] = age[e] > 0.0f ? age[e] : 0.0f;
        }
        bd_sep_store_floats(now.noise + 4 * p, noise);
        bd_sep_store_floats(now.age + 4 * p, age);
    }
    uint32_t kept = 0;
#pragma unroll
    for (int e = 0; e < 4; e++)
        kept |= (guard & 1u << 8 * e) && age[e] < memory ? 1u << 8 * e : 0u;
    if (kept != guard)
        *guard_word = kept;
}

extern "C" enum bd_status bd_cuda_sep_project(void *arg, int rounds, float lambda)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    const int rank = s->shape.rank;
    const unsigned blocks = bd_sep_project_blocks(s);
    enum bd_status status = bd_sep_bring(s);
    if (status != BD_OK)
        return status;
    for (int i = 0; i < rounds; i++)
        if (rank == 1)
            project<1><<<blocks, bd_sep_threads, 0, s->cuda->stream>>>(
                s->frame_partial, s->numbers, s->f, s->basis, s->ld, rank, lambda);
        else
            project<bd_max_rank><<<blocks, bd_sep_threads, 0, s->cuda->stream>>>(
                s->frame_partial, s->numbers, s->f, s->basis, s->ld, rank, lambda);
    s->projected = 1;
    return bd_cuda_launched("projecting a frame");
}

template <int RANK, int CHANNELS>
static void launch_compare(struct bd_cuda_separator *s, const struct bd_detect_params *params)
{
    const struct bd_sep_set *set = &s->sets[s->set];
    const struct pictures now = { set->background, set->difference, s->raw, s->f,
                                  s->basis,        s->noise,        s->ld,  s->pitch / 4,
                                  s->shape.rank };
    const unsigned blocks = bd_sep_blocks(now.words, bd_sep_threads);
    if (s->projected)
        compare<RANK, CHANNELS, false><<<blocks, bd_sep_threads, 0, s->cuda->stream>>>(
            now, s->numbers, params->threshold, params->noise_gain, params->most);
    else
        compare<1, CHANNELS, true><<<blocks, bd_sep_threads, 0, s->cuda->stream>>>(
            now, s->numbers, params->threshold, params->noise_gain, params->most);
}

template <bool LEARN>
static void launch_learn(struct bd_cuda_separator *s, const struct bd_detect_params *params,
                         const struct bd_sep_pace *pace)
{
    const struct bd_sep_set *set = &s->sets[s->set];
    const struct pixels now = {
        s->noise, s->age, s->guard, set->difference, set->mask, s->pitch / 4
    };
    learn_pixels<LEARN>
        <<<bd_sep_blocks(now.words, bd_sep_threads), bd_sep_threads, 0, s->cuda->stream>>>(
            now, set->record, s->numbers, pace, { params->noise_rate, params->seconds },
            params->memory);
}

enum bd_status bd_sep_detect_at(struct bd_cuda_separator *s, const struct bd_detect_params *params,
                                int learn, const struct bd_sep_pace *pace)
{
    const struct bd_sep_set *set = &s->sets[s->set];
    enum bd_status status;
    if (s->shape.rank == 1 && s->shape.channels == 1)
        launch_compare<1, 1>(s, params);
    else if (s->shape.rank == 1)
        launch_compare<1, 3>(s, params);
    else if (s->shape.channels == 1)
        launch_compare<bd_max_rank, 1>(s, params);
    else
        launch_compare<bd_max_rank, 3>(s, params);
    status = bd_cuda_launched("comparing a frame with its background");
    if (status == BD_OK)
        status = bd_cuda_mask_clean(s->mask_work, set->mask, s->guard, s->raw, params,
                                    &s->numbers->foreground);
    if (status != BD_OK)
        return status;
    if (learn)
        launch_learn<true>(s, params, pace);
    else
        launch_learn<false>(s, params, pace);
    return bd_cuda_launched("learning noise levels");
}

extern "C" enum bd_status bd_cuda_sep_detect(void *arg, const struct bd_detect_params *params,
                                             int learn)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    enum bd_status status = bd_sep_take_set(s);
    if (status == BD_OK)
        status = bd_sep_bring(s);
    return status == BD_OK ? bd_sep_detect_at(s, params, learn, NULL) : status;
}
