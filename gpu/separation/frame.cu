/* The live separator on the GPU: a frame against its background, and its mask. */
#include "gpu/separation/flash.cuh"
#include "gpu/separation/mask/light.cuh"
#include "gpu/separation/recurrence.cuh"
#include "gpu/separation/state.cuh"
#include "separation/shared/recurrence.h"

/* Four elements of l = B w, rounded, as a word. Products and sums are rounded one by one: l equals
 * the CPU's to the bit. */
template <int RANK>
__device__ __forceinline__ uint32_t form_background(const float w[RANK], const float *basis,
                                                    int64_t ld, int rank, int64_t i)
{
    float l[4] = {}, b[4];
#pragma unroll
    for (int k = 0; k < RANK; k++) {
        if (k >= rank)
            break;
        bd_sep_load_floats(basis + k * ld + i, b);
#pragma unroll
        for (int e = 0; e < 4; e++)
            l[e] = __fadd_rn(l[e], __fmul_rn(b[e], w[k]));
    }
    uint32_t word = 0;
#pragma unroll
    for (int e = 0; e < 4; e++)
        word |= (uint32_t)fminf(fmaxf(__fadd_rn(l[e], 0.5f), 0.0f), 255.0f) << 8 * e;
    return word;
}

struct pictures {
    uint8_t *background, *difference, *raw; /* outputs; background is an input of KNOWN */
    int *listed, *changed;                  /* 2 lengths; a number */
    const uint8_t *f;
    const float *basis, *noise;
    const float *w;
    int64_t ld, words; /* of pixels, four in each */
    int rank;
};

/* Of struct bd_detect_params. */
struct limits {
    float least, gain, most, plain;
    int shadows;
};

/* Pixel p of four rgb ones, in the three lower bytes. */
__device__ __forceinline__ uint32_t rgb_pixel(const uint32_t rgb[3], int p)
{
    const uint32_t above = p < 2 ? rgb[1] : rgb[2];
    return p == 0   ? rgb[0] & 0xffffff
           : p == 3 ? rgb[2] >> 8
                    : __funnelshift_r(rgb[p - 1], above, 32 - 8 * p) & 0xffffff;
}

/* Four pixels a thread: l (unless it is KNOWN), |f - l| (maximum over channels), and the flags of
 * each pixel (raw, enum bd_cuda_mask_flag). *changed counts the pixels over their limit.
 * The lists of what may move in place are emptied. Word p of the pixels is words C p .. of the
 * elements. */
template <int RANK, int CHANNELS, bool KNOWN>
__global__ __launch_bounds__(bd_sep_threads) void compare(const __grid_constant__ pictures now,
                                                          const __grid_constant__ limits limits)
{
    const int64_t p = (int64_t)blockIdx.x * bd_sep_threads + threadIdx.x;
    uint32_t raw = 0;
    bd_cuda_await();
    bd_cuda_let_follow();
    if (p < 2)
        now.listed[p] = 0;
    if (p < now.words) {
        float w[RANK];
#pragma unroll
        for (int k = 0; k < RANK; k++)
            w[k] = now.w[k];
        uint32_t f[CHANNELS], l[CHANNELS], far[CHANNELS];
#pragma unroll
        for (int c = 0; c < CHANNELS; c++) {
            const int64_t i = 4 * (CHANNELS * p + c);
            if (KNOWN) {
                l[c] = bd_sep_load_word(now.background + i);
            } else {
                l[c] = form_background<RANK>(w, now.basis, now.ld, now.rank, i);
                *reinterpret_cast<uint32_t *>(now.background + i) = l[c];
            }
            f[c] = bd_sep_load_word(now.f + i);
            far[c] = __vabsdiffu4(f[c], l[c]);
        }
        const uint32_t difference = CHANNELS == 1 ? far[0] : bd_sep_most_of_channels(far);
        *reinterpret_cast<uint32_t *>(now.difference + 4 * p) = difference;
        float d[4], noise[4];
        bd_sep_floats(difference, d);
        bd_sep_load_floats(now.noise + 4 * p, noise);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const float limit = fmaxf(fminf(limits.gain * noise[e], limits.most), limits.least);
            uint32_t flags = d[e] <= limits.plain * limit ? bd_cuda_mask_plain : 0;
            if (d[e] > limit) {
                flags |= bd_cuda_mask_set;
                if (CHANNELS == 3 && limits.shadows &&
                    bd_shadow_pixel(rgb_pixel(f, e), rgb_pixel(l, e)))
                    flags |= bd_cuda_mask_plausible;
            }
            raw |= flags << 8 * e;
        }
        *reinterpret_cast<uint32_t *>(now.raw + 4 * p) = raw;
    }
    /* One addition a block, where there is something to add. */
    __shared__ int changed[bd_sep_threads / 32];
    const int set = __reduce_add_sync(0xffffffffu, __popc(raw & bd_cuda_mask_set * 0x01010101u));
    if (threadIdx.x % 32 == 0)
        changed[threadIdx.x / 32] = set;
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < bd_sep_threads / 32; i++)
            sum += changed[i];
        if (sum)
            atomicAdd(now.changed, sum);
    }
}

struct pixels {
    const float *noise;
    float *learned, *age;
    int *changed; /* a number, as is foreground */
    const int *foreground;
    uint8_t *guard, *aged;
    const uint8_t *difference, *mask;
    const uint8_t *shadow; /* 0 or 1; NULL: none */
    int64_t words;
};

/* Four pixels a thread: `learned` gets the noise levels after this frame, which outside the guard
 * follow it, and ages grow in mask and shadows (LEARN). Then it takes pixels older than `memory`
 * out of the guard. Few pixels have an age that is not 0: those of others are not read. The rates
 * are those at `loaded` unless that is NULL. The record lies in the host's memory; *changed is
 * written to it and becomes 0. Products and sums are rounded one by one, so that noise levels and
 * ages equal the CPU's to the last bit (separation/cpu/kernels/exact_kernels.c is the plain
 * version). */
template <bool LEARN>
__global__ __launch_bounds__(bd_sep_threads) void learn_pixels(const __grid_constant__ pixels now,
                                                               struct bd_sep_record *record,
                                                               const struct bd_sep_numbers *numbers,
                                                               const struct bd_sep_rates *loaded,
                                                               struct bd_sep_rates rates,
                                                               float memory)
{
    const int64_t p = (int64_t)blockIdx.x * bd_sep_threads + threadIdx.x;
    bd_cuda_await();
    bd_cuda_let_follow();
    if (p == 0) {
        *record = { *now.foreground, numbers->rank, numbers->ghost_pixels, *now.changed,
                    numbers->drift };
        *now.changed = 0;
    }
    if (p >= now.words)
        return;
    uint32_t *guard_word = reinterpret_cast<uint32_t *>(now.guard + 4 * p);
    const uint32_t guard = *guard_word;
    const bool aged = now.aged[p];
    float age[4] = {};
    if (aged && (LEARN || guard))
        bd_sep_load_floats(now.age + 4 * p, age);
    if (LEARN) {
        if (loaded)
            rates = *loaded;
        const float rate = rates.rate, seconds = rates.seconds;
        uint32_t occupied = bd_sep_load_word(now.mask + 4 * p);
        if (now.shadow)
            occupied |= bd_sep_load_word(now.shadow + 4 * p);
        float noise[4], d[4];
        bd_sep_load_floats(now.noise + 4 * p, noise);
        bd_sep_floats(bd_sep_load_word(now.difference + 4 * p), d);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            float share = guard >> 8 * e & 1 ? 0.0f : rate;
            noise[e] = __fadd_rn(noise[e], __fmul_rn(share, __fsub_rn(d[e], noise[e])));
            age[e] = __fadd_rn(age[e], occupied >> 8 * e & 1 ? seconds : __fmul_rn(-4.0f, seconds));
            age[e] = age[e] > 0.0f ? age[e] : 0.0f;
        }
        bd_sep_store_floats(now.learned + 4 * p, noise);
        const bool older = age[0] > 0 || age[1] > 0 || age[2] > 0 || age[3] > 0;
        if (aged || older)
            bd_sep_store_floats(now.age + 4 * p, age);
        if (aged != older)
            now.aged[p] = older;
    }
    uint32_t kept = 0;
#pragma unroll
    for (int e = 0; e < 4; e++)
        kept |= (guard & 1u << 8 * e) && age[e] < memory ? 1u << 8 * e : 0u;
    if (kept != guard)
        *guard_word = kept;
}

template <int RANK, int CHANNELS>
static void launch_compare(struct bd_cuda_separator *s, const struct bd_detect_params *params)
{
    const struct bd_sep_set *set = &s->sets[s->set];
    const struct pictures now = { set->background,
                                  set->difference,
                                  bd_sep_turn_of(s)->raw,
                                  s->moving.listed,
                                  &s->numbers->changed[s->turn],
                                  s->f,
                                  s->basis,
                                  bd_sep_turn_of(s)->noise,
                                  s->numbers->w,
                                  s->ld,
                                  s->pitch / 4,
                                  s->shape.rank };
    const struct limits limits = { params->threshold, params->noise_gain, params->most,
                                   params->plain, params->shadows };
    const unsigned blocks = bd_sep_blocks(now.words, bd_sep_threads);
    if (s->projected)
        bd_sep_follow(s, compare<RANK, CHANNELS, false>, blocks, now, limits);
    else
        bd_sep_follow(s, compare<1, CHANNELS, true>, blocks, now, limits);
}

/* Background, difference, and flags. */
static enum bd_status find_changed(struct bd_cuda_separator *s,
                                   const struct bd_detect_params *params)
{
    if (s->shape.rank == 1 && s->shape.channels == 1)
        launch_compare<1, 1>(s, params);
    else if (s->shape.rank == 1)
        launch_compare<1, 3>(s, params);
    else if (s->shape.channels == 1)
        launch_compare<bd_max_rank, 1>(s, params);
    else
        launch_compare<bd_max_rank, 3>(s, params);
    return bd_cuda_launched("comparing a frame with its background");
}

/* Of the clean-up, for the set and the turn in hand. */
static struct bd_cuda_mask_pictures pictures_of(struct bd_cuda_separator *s,
                                                const struct bd_detect_params *params,
                                                const struct bd_sep_rates *rates)
{
    const struct bd_sep_set *set = &s->sets[s->set];
    struct bd_cuda_mask_pictures pictures = {};
    pictures.shadow = params->shadows || params->illumination ? bd_sep_turn_of(s)->shadow : NULL;
    pictures.mask = set->mask;
    pictures.guard = s->guard;
    pictures.shadow_mask = set->shadow;
    pictures.all_shadow = params->shadows ? bd_sep_turn_of(s)->shadow : NULL;
    pictures.foreground = &s->numbers->foreground[s->turn];
    pictures.raw = bd_sep_turn_of(s)->raw;
    pictures.difference = params->plain >= 0 ? set->difference : NULL;
    pictures.frame = s->f;
    pictures.background = set->background;
    pictures.channels = s->shape.channels;
    if (params->flash_quiet)
        pictures.flashes = { s->flashes.own, s->flashes.any, s->moving.across, s->moving.down,
                             bd_recurrence_cell_power(s->shape.height) };
    if (params->mirrors)
        pictures.mirrors = { s->moving.mirrored, s->moving.places,
                             s->moving.any + 1,  rates ? &rates->look : NULL,
                             params->look,       params->looks > 0,
                             s->moving.across,   bd_recurrence_cell_power(s->shape.height) };
    return pictures;
}

/* Shadows and what is background in other light, to the turn's shadow. */
static enum bd_status find_shadows(struct bd_cuda_separator *s,
                                   const struct bd_detect_params *params, int learn,
                                   const struct bd_sep_rates *rates,
                                   const struct bd_cuda_mask_pictures *pictures)
{
    const struct bd_cuda_shadow_colours colours = { s->shadow_scene, rates ? &rates->look : NULL,
                                                    params->look, learn };
    if (!params->shadows && !params->illumination)
        return BD_OK;
    return bd_cuda_light_find(s->cuda, bd_sep_turn_of(s)->shadow, params->shadows ? &colours : NULL,
                              params->illumination, pictures->raw, s->f, pictures->background,
                              s->shape.width, s->shape.height, s->shape.channels);
}

enum bd_status bd_sep_find_at(struct bd_cuda_separator *s, const struct bd_detect_params *params,
                              int learn, const struct bd_sep_rates *rates)
{
    const struct bd_cuda_mask_pictures pictures = pictures_of(s, params, rates);
    enum bd_status status = find_changed(s, params);
    if (status == BD_OK)
        status = find_shadows(s, params, learn, rates, &pictures);
    if (status == BD_OK)
        status = bd_sep_find_recurring(s, params, learn, rates, pictures.shadow);
    const enum bd_status joined = bd_sep_join_flashes(s);
    if (status == BD_OK)
        status = joined;
    return status == BD_OK ? bd_cuda_mask_filter(s->mask_work, s->turn, &pictures, params) : status;
}

static enum bd_status learn_frame(struct bd_cuda_separator *s,
                                  const struct bd_detect_params *params, int learn,
                                  const struct bd_sep_rates *rates, const uint8_t *shadow)
{
    const struct bd_sep_set *set = &s->sets[s->set];
    const struct bd_sep_turn *turn = bd_sep_turn_of(s);
    const struct pixels now = { s->turns[1 - s->turn].noise,
                                turn->noise,
                                s->age,
                                &s->numbers->changed[s->turn],
                                &s->numbers->foreground[s->turn],
                                s->guard,
                                s->aged,
                                set->difference,
                                set->mask,
                                shadow,
                                s->pitch / 4 };
    auto *kernel = learn ? learn_pixels<true> : learn_pixels<false>;
    bd_sep_follow(s, kernel, bd_sep_blocks(now.words, bd_sep_threads), now, set->record, s->numbers,
                  rates, bd_sep_rates_from(params), params->memory);
    return bd_cuda_launched("learning noise levels");
}

enum bd_status bd_sep_clean_at(struct bd_cuda_separator *s, const struct bd_detect_params *params,
                               int learn, const struct bd_sep_rates *rates)
{
    const struct bd_cuda_mask_pictures pictures = pictures_of(s, params, rates);
    enum bd_status status = bd_cuda_mask_clean(s->mask_work, s->turn, &pictures, params);
    if (status != BD_OK)
        return status;
    return learn_frame(s, params, learn, rates, bd_cuda_mask_shadows(&pictures));
}

enum bd_status bd_sep_before_detect(struct bd_cuda_separator *s,
                                    const struct bd_detect_params *params, int learn)
{
    enum bd_status status = BD_OK;
    if (!params->flash_quiet)
        status = bd_sep_pause_flashes(s);
    if (status != BD_OK)
        return status;
    s->flashes.paused = !params->flash_quiet;
    if (params->follows)
        s->moving.followed += bd_recurrence_pair;
    else
        status = bd_sep_make_map(s);
    if (params->columns)
        s->moving.looks += params->looks;
    if (params->columns && learn)
        s->moving.followed++;
    return status;
}

void bd_sep_after_detect(struct bd_cuda_separator *s, enum bd_status status, int learn)
{
    if (status != BD_OK) /* the counts belong to no frame; this may fail as well */
        cudaMemsetAsync(s->numbers->changed, 0, sizeof s->numbers->changed, s->cuda->stream);
    else if (learn)
        s->turn = 1 - s->turn;
}

enum bd_status bd_cuda_sep_detect(void *arg, const struct bd_detect_params *params, int learn)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    enum bd_status status = bd_sep_take_set(s);
    s->behind = 1;
    if (status == BD_OK)
        status = bd_sep_upload(s);
    if (status == BD_OK)
        status = bd_sep_before_detect(s, params, learn);
    if (status != BD_OK)
        return status;
    status = bd_sep_follow_flashes(s, params, learn);
    if (status == BD_OK)
        status = bd_sep_find_at(s, params, learn, NULL);
    if (status == BD_OK)
        status = bd_sep_clean_at(s, params, learn, NULL);
    bd_sep_after_detect(s, status, learn);
    return status;
}
