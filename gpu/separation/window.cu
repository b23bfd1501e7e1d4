/* The live separator on the GPU: the window of frames, and R of what is kept of it. */
#include "gpu/core/gram.cuh"
#include "gpu/qr/cholesky.h"
#include "gpu/separation/gram.cuh"
#include "gpu/separation/recurrence.cuh"
#include "gpu/separation/state.cuh"

struct slots {
    uint16_t slot[bd_max_window];
};

__global__ void set_order(int *order, const __grid_constant__ slots from, int count)
{
    for (int j = threadIdx.x; j < count; j += blockDim.x)
        order[j] = from.slot[j];
}

enum bd_status bd_sep_set_order(struct bd_cuda_separator *s, const int *order, int count)
{
    bool same = count == s->host_count;
    for (int j = 0; same && j < count; j++)
        same = order[j] == s->host_order[j];
    if (same)
        return BD_OK;
    s->errors_lambda = 0;
    struct slots slots;
    for (int j = 0; j < count; j++) {
        s->host_order[j] = order[j];
        slots.slot[j] = (uint16_t)order[j];
    }
    set_order<<<1, 256, 0, s->cuda->stream>>>(s->order, slots, count);
    enum bd_status status = bd_cuda_launched("ordering the window");
    s->host_count = status == BD_OK ? count : -1; /* an order that failed is not kept */
    return status;
}

/* A frame that enters the window, and where it goes. f may be the sample. */
struct entry {
    uint8_t *column, *sample, *visits; /* ld, ld, pitch */
    float *coefficients;
    const uint8_t *f, *background, *guard, *visit;
    const struct bd_sep_numbers *numbers;
    int64_t words; /* of pixels, four in each */
};

/* Four pixels a thread, CHANNELS words: column := f, but l where the guard is set (GUARDED);
 * sample := f; visits := visit; C of the column := w. */
template <int CHANNELS, bool GUARDED>
__global__ __launch_bounds__(bd_sep_threads) void insert(const __grid_constant__ entry entry)
{
    const int64_t p = (int64_t)blockIdx.x * bd_sep_threads + threadIdx.x;
    if (p < bd_max_rank)
        entry.coefficients[p] = entry.numbers->w[p];
    if (p >= entry.words)
        return;
    *reinterpret_cast<uint32_t *>(entry.visits + 4 * p) = bd_sep_load_word(entry.visit + 4 * p);
    const uint32_t inside = GUARDED ? 0xff * bd_sep_load_word(entry.guard + 4 * p) : 0;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        const int64_t i = 4 * (CHANNELS * p + c);
        uint32_t word = bd_sep_load_word(entry.f + i);
        *reinterpret_cast<uint32_t *>(entry.sample + i) = word;
        if (inside) {
            const uint32_t l = bd_sep_load_word(entry.background + i);
            const uint32_t select = bd_sep_bytes_of_pixels<CHANNELS>(inside, c);
            word = (word & ~select) | (l & select);
        }
        *reinterpret_cast<uint32_t *>(entry.column + i) = word;
    }
}

enum bd_status bd_cuda_sep_insert(void *arg, int slot, int guarded)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    auto *kernel = s->shape.channels == 1 ? guarded ? insert<1, true> : insert<1, false>
                   : guarded ? insert<3, true>
                                          : insert<3, false>;
    const struct bd_sep_moving *moving = &s->moving;
    const struct entry entry = { bd_sep_column(s, slot),
                                 moving->samples + slot * s->ld,
                                 moving->visits + slot * s->pitch,
                                 s->coefficients + slot * bd_max_rank,
                                 s->f,
                                 s->sets[s->set].background,
                                 s->guard,
                                 moving->visit,
                                 s->numbers,
                                 s->pitch / 4 };
    enum bd_status status = bd_sep_upload(s);
    if (status == BD_OK)
        status = bd_sep_settle(s, bd_sep_share_all);
    if (status != BD_OK)
        return status;
    s->errors_lambda = 0;
    kernel<<<bd_sep_blocks(entry.words, bd_sep_threads), bd_sep_threads, 0, s->cuda->stream>>>(
        entry);
    status = bd_cuda_launched("a frame that enters the window");
    return status == BD_OK ? bd_sep_enter_moving(s, slot) : status;
}

enum bd_status bd_cuda_sep_recall(void *arg, int slot)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    s->f = s->moving.samples + slot * s->ld;
    s->moving.recalled = slot;
    return BD_OK;
}

/* X for bd_gram: rows i .. i + 3 of column j, 0 from row m on. */
struct columns_of_x {
    struct bd_sep_window x;

    __device__ __forceinline__ void load4(int64_t i, int j, float v[4]) const
    {
        const bool inside = i < x.m;
        const int slot = x.order[j];
        const float *c = x.coefficients + slot * bd_max_rank;
        const uint32_t word = inside ? bd_sep_load_word(x.bytes + slot * x.ld + i) : 0;
        float4 b =
            inside ? *reinterpret_cast<const float4 *>(x.basis + i) : make_float4(0, 0, 0, 0);
        float l[4] = { b.x * c[0], b.y * c[0], b.z * c[0], b.w * c[0] };
#pragma unroll 1
        for (int k = 1; inside && k < x.rank; k++) {
            b = *reinterpret_cast<const float4 *>(x.basis + k * x.ld + i);
            l[0] += b.x * c[k], l[1] += b.y * c[k], l[2] += b.z * c[k], l[3] += b.w * c[k];
        }
        bd_sep_floats(word, v);
#pragma unroll
        for (int e = 0; e < 4; e++)
            v[e] = l[e] + bd_sep_clip(v[e] - l[e], x.lambda);
    }
};

enum bd_status bd_cuda_sep_reduce(void *arg, const int *order, int count, float lambda, float *r,
                                  int64_t ldr)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    const size_t width = (size_t)s->shape.window * sizeof *r;
    enum bd_status status = bd_sep_settle(s, bd_sep_share_all);
    if (status == BD_OK)
        status = bd_sep_set_order(s, order, count);
    if (status != BD_OK)
        return status;
    const struct bd_sep_window x = bd_sep_view(s, lambda);
    if (x.rank == 1 && x.m >= bd_sep_gram_least && count <= bd_sep_gram_most)
        status = bd_sep_gram_one(s, count, lambda);
    else
        status = bd_gram(s->cuda, s->gram, columns_of_x{ x }, x.m, count, s->gram_work, NULL);
    if (status == BD_OK && count < s->shape.window)
        status = bd_cuda_check(cudaMemset2DAsync(r, (size_t)ldr * sizeof *r, 0, width,
                                                 (size_t)s->shape.window, s->cuda->stream),
                               "clearing R");
    if (status == BD_OK)
        status = bd_cuda_cholesky(s->cuda, r, ldr, s->gram, count, NULL);
    return status;
}
