/* The live separator on the GPU: ghost removal (bd_separation_ops.remove_ghosts). All of it is
 * enqueued; where nothing was uncovered the last kernels end at once. The plain version is
 * separation/cpu/ghost.c. */
#include "gpu/separation/state.cuh"

struct looks {
    uint8_t *earlier, *still, *region;
    const uint8_t *f, *mask;
    int64_t words; /* of pixels, four in each */
};

/* Four pixels a thread: how long they have been still, and whether they are in the mask and have
 * been so for `least` looks (region, 0 or 1). `reach` and `least` are in each byte. */
template <int CHANNELS>
__global__ __launch_bounds__(bd_sep_threads) void look(const __grid_constant__ looks now,
                                                       struct bd_sep_numbers *numbers,
                                                       uint32_t reach, uint32_t least)
{
    const int64_t p = (int64_t)blockIdx.x * bd_sep_threads + threadIdx.x;
    if (p == 0)
        numbers->voted = 0;
    if (p >= now.words)
        return;
    uint32_t f[CHANNELS], earlier[CHANNELS], far[CHANNELS];
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        f[c] = bd_sep_load_word(now.f + 4 * (CHANNELS * p + c));
        earlier[c] = bd_sep_load_word(now.earlier + 4 * (CHANNELS * p + c));
        far[c] = __vabsdiffu4(f[c], earlier[c]);
    }
    const uint32_t moved = __vcmpgtu4(CHANNELS == 1 ? far[0] : bd_sep_most_of_channels(far), reach);
    const uint32_t still = __vaddus4(bd_sep_load_word(now.still + 4 * p), 0x01010101u) & ~moved;
    *reinterpret_cast<uint32_t *>(now.still + 4 * p) = still;
    *reinterpret_cast<uint32_t *>(now.region + 4 * p) =
        __vcmpgeu4(still, least) & bd_sep_load_word(now.mask + 4 * p) >> 7 & 0x01010101u;
    if (!moved)
        return;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        const uint32_t select = bd_sep_bytes_of_pixels<CHANNELS>(moved, c);
        *reinterpret_cast<uint32_t *>(now.earlier + 4 * (CHANNELS * p + c)) =
            (f[c] & select) | (earlier[c] & ~select);
    }
}

/* Four pixels a thread: one vote more where `lower` is set, else none; lower := whether the pixel
 * has `enough` (in each byte) votes. */
__global__ __launch_bounds__(bd_sep_threads) void vote(uint8_t *votes, uint8_t *lower,
                                                       struct bd_sep_numbers *numbers,
                                                       uint32_t enough, int64_t words)
{
    const int64_t p = (int64_t)blockIdx.x * bd_sep_threads + threadIdx.x;
    if (p >= words)
        return;
    uint32_t *votes_word = reinterpret_cast<uint32_t *>(votes + 4 * p);
    uint32_t *lower_word = reinterpret_cast<uint32_t *>(lower + 4 * p);
    const uint32_t before = *votes_word, now = *lower_word;
    if (!(before | now))
        return;
    const uint32_t after = __vadd4(before, now) & 0xff * now;
    const uint32_t voted = __vcmpgeu4(after, enough) & 0x01010101u;
    *votes_word = after;
    *lower_word = voted;
    if (voted)
        atomicOr(&numbers->voted, 1);
}

/* The state of the pixels that become background, and what selects them. */
struct taking {
    uint8_t *window;
    float *basis, *noise[bd_sep_turns], *age;
    uint8_t *still, *votes;
    const uint8_t *f, *mask, *voted;
    const int *order;
    int64_t ld;
    int count, rank, width, height;
};

/* Whether one of the pixels within `margin` rows and columns of (x, y) is set. */
__device__ bool any_around(const uint8_t *picture, int width, int height, int x, int y, int margin)
{
    bool any = false;
    for (int v = max(y - margin, 0); v <= min(y + margin, height - 1); v++)
        for (int u = max(x - margin, 0); u <= min(x + margin, width - 1); u++)
            any |= picture[(int64_t)v * width + u] != 0;
    return any;
}

/* A pixel a thread, for whole warps. */
template <int CHANNELS>
__global__ __launch_bounds__(bd_sep_threads) void take_uncovered(
    const __grid_constant__ taking to, struct bd_sep_numbers *numbers,
    const __grid_constant__ bd_ghost_params params)
{
    const float w = numbers->w[0];
    if (!numbers->voted || !(w >= 1)) /* nothing, or a black picture: B is at most 1 */
        return;
    const int64_t p = (int64_t)blockIdx.x * bd_sep_threads + threadIdx.x;
    bool take = false;
    if (p < (int64_t)to.width * to.height) {
        take = to.voted[p];
        if (!take && to.mask[p] < 128 && to.still[p] >= params.still)
            take = any_around(to.voted, to.width, to.height, (int)(p % to.width),
                              (int)(p / to.width), params.margin);
    }
    const uint32_t taken = __ballot_sync(0xffffffffu, take);
    if (threadIdx.x % 32 == 0 && taken)
        atomicAdd(&numbers->ghost_pixels, __popc(taken));
    if (!take)
        return;
    uint8_t value[CHANNELS];
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) { /* f may be a column of the window */
        value[c] = to.f[CHANNELS * p + c];
        to.basis[CHANNELS * p + c] = (float)value[c] / w;
        for (int k = 1; k < to.rank; k++)
            to.basis[k * to.ld + CHANNELS * p + c] = 0;
    }
    for (int j = 0; j < to.count; j++)
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            to.window[to.order[j] * to.ld + CHANNELS * p + c] = value[c];
    for (float *noise : to.noise)
        noise[p] = params.noise;
    to.age[p] = 0;
    to.still[p] = to.votes[p] = 0;
}

/* numbers->measured := the squared norm of the first column of B, if pixels of it were changed.
 * partial: a sum a block, added up in order by the block that leaves last. */
__global__ __launch_bounds__(bd_sep_threads) void measure(double *partial,
                                                          struct bd_sep_numbers *numbers,
                                                          const float *__restrict__ basis,
                                                          int64_t ld)
{
    if (!numbers->ghost_pixels)
        return;
    const int64_t step = (int64_t)gridDim.x * bd_sep_threads * 4;
    double sum = 0;
    for (int64_t i = ((int64_t)blockIdx.x * bd_sep_threads + threadIdx.x) * 4; i < ld; i += step) {
        float b[4];
        bd_sep_load_floats(basis + i, b);
#pragma unroll
        for (int e = 0; e < 4; e++)
            sum += (double)b[e] * b[e];
    }
    sum = bd_sep_block_sum(sum);
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(&numbers->ticket, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last)
        return;
    __threadfence();
    sum = 0;
    for (unsigned block = threadIdx.x; block < gridDim.x; block += bd_sep_threads)
        sum += __ldcg(&partial[block]);
    sum = bd_sep_block_sum(sum);
    if (threadIdx.x == 0) {
        numbers->measured = sum;
        numbers->ticket = 0;
    }
}

/* Scales the first column of B to norm 1 again, and w and C so that l stays the same: otherwise,
 * where a large and bright area was uncovered, the rounds of the next frames would not converge.
 * Four rows a thread, and the coefficient of a column of the window. */
__global__ __launch_bounds__(bd_sep_threads) void scale_basis(float *basis, float *coefficients,
                                                              struct bd_sep_numbers *numbers,
                                                              const int *order, int count,
                                                              int64_t ld)
{
    const int64_t at = (int64_t)blockIdx.x * bd_sep_threads + threadIdx.x;
    const float norm = (float)sqrt(numbers->measured);
    if (!numbers->ghost_pixels || norm <= 0)
        return;
    if (4 * at < ld) {
        float b[4];
        bd_sep_load_floats(basis + 4 * at, b);
#pragma unroll
        for (int e = 0; e < 4; e++)
            b[e] /= norm;
        bd_sep_store_floats(basis + 4 * at, b);
    }
    for (int64_t j = at; j < count; j += (int64_t)gridDim.x * bd_sep_threads)
        coefficients[order[j] * bd_max_rank] *= norm;
    if (at == 0) {
        numbers->w[0] *= norm;
        numbers->norm = 1;
    }
}

/* s->lower := 1 in the components of the region where f has the lower boundary contrast. */
static enum bd_status find_lower(struct bd_cuda_separator *s, const struct bd_ghost_params *params)
{
    const struct bd_sep_set *set = &s->sets[s->set];
    uint8_t *const raw = bd_sep_turn_of(s)->raw;
    const struct looks now = { s->earlier, s->still, raw, s->f, set->mask, s->pitch / 4 };
    auto *kernel = s->shape.channels == 1 ? look<1> : look<3>;
    kernel<<<bd_sep_blocks(now.words, bd_sep_threads), bd_sep_threads, 0, s->cuda->stream>>>(
        now, s->numbers, (uint32_t)params->reach * 0x01010101u,
        (uint32_t)params->still * 0x01010101u);
    enum bd_status status = bd_cuda_launched("looking for still pixels");
    if (status != BD_OK)
        return status;
    const struct bd_cuda_boundary boundary = {
        set->background, s->f, s->shape.channels, raw, 3, set->mask, params->least, params->times
    };
    return bd_cuda_boundary_find(s->mask_work, s->lower, &boundary);
}

/* The pixels with enough votes become background. */
static enum bd_status take_voted(struct bd_cuda_separator *s, int count,
                                 const struct bd_ghost_params *params)
{
    const struct bd_sep_set *set = &s->sets[s->set];
    const struct taking to = {
        s->window,     s->basis,       { s->turns[0].noise, s->turns[1].noise },
        s->age,        s->still,       s->votes,
        s->f,          set->mask,      s->lower,
        s->order,      s->ld,          count,
        s->shape.rank, s->shape.width, s->shape.height
    };
    const unsigned blocks = bd_sep_blocks(s->pixels, bd_sep_threads);
    auto *kernel = s->shape.channels == 1 ? take_uncovered<1> : take_uncovered<3>;
    kernel<<<blocks, bd_sep_threads, 0, s->cuda->stream>>>(to, s->numbers, *params);
    enum bd_status status = bd_cuda_launched("ghost removal");
    if (status != BD_OK)
        return status;
    const unsigned words = bd_sep_blocks(s->ld / 4, bd_sep_threads), most = bd_sep_parts;
    const unsigned parts = words > most ? most : words;
    measure<<<parts, bd_sep_threads, 0, s->cuda->stream>>>(s->partial, s->numbers, s->basis, s->ld);
    status = bd_cuda_launched("measuring the background");
    if (status != BD_OK)
        return status;
    scale_basis<<<words, bd_sep_threads, 0, s->cuda->stream>>>(s->basis, s->coefficients,
                                                               s->numbers, s->order, count, s->ld);
    return bd_cuda_launched("scaling the background");
}

enum bd_status bd_cuda_sep_remove_ghosts(void *arg, const int *order, int count,
                                         const struct bd_ghost_params *params)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    const int64_t words = s->pitch / 4;
    enum bd_status status = bd_sep_upload(s);
    if (status == BD_OK)
        status = bd_sep_settle(s, bd_sep_share_products);
    if (status == BD_OK)
        status = bd_sep_set_order(s, order, count);
    if (status == BD_OK)
        status = find_lower(s, params);
    if (status != BD_OK)
        return status;
    vote<<<bd_sep_blocks(words, bd_sep_threads), bd_sep_threads, 0, s->cuda->stream>>>(
        s->votes, s->lower, s->numbers, (uint32_t)params->votes * 0x01010101u, words);
    status = bd_cuda_launched("votes for uncovered background");
    if (status == BD_OK)
        status = take_voted(s, count, params);
    s->ghosts_pending = 1;
    s->errors_lambda = 0;
    return status;
}
