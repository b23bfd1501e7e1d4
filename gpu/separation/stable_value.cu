/* The live separator on the GPU: the first background from the stable values of a window
 * (bd_separation_ops.stable). Bytes are compared four in a word, each in its own lane of eight
 * bits. The plain version is separation/cpu/kernels/stable_value.inc. */
#include "gpu/separation/initialise.cuh"
#include "gpu/separation/state.cuh"

enum { stable_threads = 32, reach = bd_sep_stable_reach };

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

/* Four pixels of up to bd_max_stable pictures, a plane a channel: [j][c][thread]; and, with
 * BESIDES, 0xff in the bytes in which picture j takes part: [j][thread]. */
template <int CHANNELS, bool BESIDES> struct planes {
    const uint32_t *at, *part;

    __device__ __forceinline__ uint32_t word(int j, int c) const
    {
        return at[(j * CHANNELS + c) * stable_threads];
    }
    __device__ __forceinline__ int value(int j, int c, int e) const
    {
        return (int)(word(j, c) >> 8 * e & 0xff);
    }
    __device__ __forceinline__ uint32_t takes_part(int j) const
    {
        return BESIDES ? part[j * stable_threads] : ~0u;
    }
};

/* 0xff in the bytes in which picture k differs from `candidate` by more than `reach`. */
template <int CHANNELS, bool BESIDES>
__device__ __forceinline__ uint32_t far_bytes(const struct planes<CHANNELS, BESIDES> &planes, int k,
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

/* In each byte: the number of the picture that wins (bd_pixel_kernels.stable), the earliest of
 * equals; 0 where none takes part. */
template <int CHANNELS, bool BESIDES>
__device__ uint32_t winners(const struct planes<CHANNELS, BESIDES> &planes, int count)
{
    uint32_t best = 0, best_score = 0;
    for (int j = 0; j < count; j++) {
        uint32_t candidate[CHANNELS], members = 0, first = 0, last = 0, seen = 0;
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            candidate[c] = planes.word(j, c);
#pragma unroll 4
        for (int k = 0; k < count; k++) {
            const uint32_t far = far_bytes(planes, k, candidate) | ~planes.takes_part(k);
            const uint32_t all = k * 0x01010101u;
            members += ~far & 0x01010101u;
            first |= all & ~far & ~seen;
            seen |= ~far;
            last = (last & far) | (all & ~far);
        }
        /* At most 2 bd_max_stable: no byte carries into the next. */
        const uint32_t score = (last - first + members + 0x01010101u) & planes.takes_part(j);
        const uint32_t better = spread_top(below(best_score, score, score & 0x7f7f7f7fu));
        best = (best & ~better) | ((uint32_t)j * 0x01010101u & better);
        best_score = (best_score & ~better) | (score & better);
    }
    return best;
}

/* The largest distance over channels of picture k from `value` at byte e; more than any reach where
 * it takes no part. */
template <int CHANNELS, bool BESIDES>
__device__ __forceinline__ int channel_distance(const struct planes<CHANNELS, BESIDES> &planes,
                                                int k, int e, const int value[CHANNELS])
{
    int most = planes.takes_part(k) >> 8 * e & 0xff ? 0 : 256;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        most = max(most, abs(planes.value(k, c, e) - value[c]));
    return most;
}

/* Mean of the members of candidate j at byte e, their mean distance from it in sixteenths of a grey
 * level, and their number. */
template <int CHANNELS, bool BESIDES>
__device__ int mean_of_members(const struct planes<CHANNELS, BESIDES> &planes, int count, int j,
                               int e, int value[CHANNELS], int *number)
{
    int candidate[CHANNELS], sums[CHANNELS] = {}, members = 0, distance = 0;
    for (int c = 0; c < CHANNELS; c++)
        candidate[c] = planes.value(j, c, e);
    for (int k = 0; k < count; k++) {
        if (channel_distance(planes, k, e, candidate) > reach)
            continue;
        members++;
        for (int c = 0; c < CHANNELS; c++)
            sums[c] += planes.value(k, c, e);
    }
    for (int c = 0; c < CHANNELS; c++)
        value[c] = (sums[c] + members / 2) / members;
    for (int k = 0; k < count; k++)
        if (channel_distance(planes, k, e, candidate) <= reach)
            distance += channel_distance(planes, k, e, value);
    *number = members;
    return min(16 * distance / members, 255);
}

/* The stable value of four pixels, as it is stored. */
template <int CHANNELS> struct stable_value {
    uint32_t value[CHANNELS]; /* channels interleaved */
    uint32_t noise, number;
};

/* *found := the stable value. With BESIDES, where no picture takes part: that of `first`, with
 * noise 0 and no members. */
template <int CHANNELS, bool BESIDES>
__device__ void find_stable_value(struct stable_value<CHANNELS> *found,
                                  const struct planes<CHANNELS, BESIDES> &planes, int count,
                                  const struct stable_value<CHANNELS> *first)
{
    const uint32_t winner = winners(planes, count);
#pragma unroll
    for (int e = 0; e < 4; e++) {
        const int j = (int)(winner >> 8 * e & 0xff);
        int value[CHANNELS], noise = 0, number = 0;
        if (!BESIDES || planes.takes_part(j) >> 8 * e & 0xff)
            noise = mean_of_members(planes, count, j, e, value, &number);
        else
            for (int c = 0; c < CHANNELS; c++)
                value[c] =
                    (int)(first->value[(CHANNELS * e + c) / 4] >> (CHANNELS * e + c) % 4 * 8 &
                          0xff);
#pragma unroll
        for (int c = 0; c < CHANNELS; c++) {
            const int at = CHANNELS * e + c;
            found->value[at / 4] |= (uint32_t)value[c] << at % 4 * 8;
        }
        found->noise |= (uint32_t)noise << 8 * e;
        found->number |= (uint32_t)number << 8 * e;
    }
}

/* r0 g0 b0 r1 | g1 b1 r2 g2 | b2 r3 g3 b3 to a word a channel. */
template <int CHANNELS>
__device__ __forceinline__ void split_channels(uint32_t planes[CHANNELS],
                                               const uint32_t words[CHANNELS])
{
    if (CHANNELS == 1) {
        planes[0] = words[0];
        return;
    }
    const uint32_t a = words[0], b = words[CHANNELS / 2], c = words[CHANNELS - 1];
    planes[0] = __byte_perm(__byte_perm(a, b, 0x0630), c, 0x5210);
    planes[CHANNELS / 2] = __byte_perm(__byte_perm(a, b, 0x0741), c, 0x6210);
    planes[CHANNELS - 1] = __byte_perm(__byte_perm(a, b, 0x0052), c, 0x7410);
}

/* Both stable values of each pixel: in the region what was there first and what came, elsewhere
 * twice the first stable value. */
struct two_values {
    uint8_t *value[2]; /* ld */
    uint8_t *noise[2]; /* pitch: sixteenths of a grey level */
    uint8_t *region;   /* pitch: 0; in_region, and `came` where the stable value is what came */
};

enum { in_region = 1, came = 2 };

/* 0xff in the bytes of the first stable value that is seen before the second one, and after it.
 * others: the pictures that do not show the first one take part. */
template <int CHANNELS>
__device__ __forceinline__ void when_seen(uint32_t *before, uint32_t *after,
                                          const struct planes<CHANNELS, true> &others, int count,
                                          const uint32_t second[CHANNELS])
{
    uint32_t begun = 0;
    *before = *after = 0;
    for (int j = 0; j < count; j++) {
        const uint32_t shows_first = ~others.takes_part(j);
        const uint32_t shows_second = ~far_bytes(others, j, second) & ~shows_first;
        *before |= shows_first & ~begun;
        *after = (*after | shows_first) & ~shows_second;
        begun |= shows_second;
    }
}

/* Stores both values. region: 0xff in its bytes; older: in those of them in which the second value
 * was there first. */
template <int CHANNELS>
__device__ __forceinline__ void
store_stable(const struct two_values &to, int64_t p, const struct stable_value<CHANNELS> &first,
             const struct stable_value<CHANNELS> &second, uint32_t region, uint32_t older)
{
    const uint32_t newer = region & ~older;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        const uint32_t old = bd_sep_bytes_of_pixels<CHANNELS>(older, c);
        const uint32_t young = bd_sep_bytes_of_pixels<CHANNELS>(newer, c);
        const int64_t i = 4 * (CHANNELS * p + c);
        *reinterpret_cast<uint32_t *>(to.value[0] + i) =
            (first.value[c] & ~old) | (second.value[c] & old);
        *reinterpret_cast<uint32_t *>(to.value[1] + i) =
            (first.value[c] & ~young) | (second.value[c] & young);
    }
    *reinterpret_cast<uint32_t *>(to.noise[0] + 4 * p) =
        (first.noise & ~older) | (second.noise & older);
    *reinterpret_cast<uint32_t *>(to.noise[1] + 4 * p) =
        (first.noise & ~newer) | (second.noise & newer);
    *reinterpret_cast<uint32_t *>(to.region + 4 * p) =
        (region & in_region * 0x01010101u) | (older & came * 0x01010101u);
}

/* Four pixels a thread: the stable value, and the second one, of the pictures that do not show the
 * first. Takes `count` evenly spread columns of the window. Dynamic shared memory: CHANNELS + 1
 * words a column and thread. */
template <int CHANNELS>
__global__
__launch_bounds__(stable_threads) void find_two_stable(const __grid_constant__ two_values to,
                                                       const __grid_constant__ bd_sep_window x,
                                                       int columns, int count, int64_t words)
{
    extern __shared__ uint32_t stage[];
    const int64_t p = (int64_t)blockIdx.x * stable_threads + threadIdx.x;
    if (p >= words) /* each thread reads only its own words: no barrier */
        return;
    uint32_t *at = stage + threadIdx.x, *part = at + count * CHANNELS * stable_threads;
    for (int j = 0; j < count; j++) {
        const uint8_t *from =
            x.bytes + x.order[(int64_t)j * columns / count] * x.ld + 4 * CHANNELS * p;
        uint32_t packed[CHANNELS], split[CHANNELS];
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            packed[c] = bd_sep_load_word(from + 4 * c);
        split_channels<CHANNELS>(split, packed);
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            at[(j * CHANNELS + c) * stable_threads] = split[c];
    }
    struct stable_value<CHANNELS> first = { {}, 0, 0 }, second = first;
    const struct planes<CHANNELS, false> all = {
        at, NULL
    };
    find_stable_value(&first, all, count, &first);
    uint32_t value[CHANNELS];
    split_channels<CHANNELS>(value, first.value);
    for (int j = 0; j < count; j++)
        part[j * stable_threads] = far_bytes(all, j, value);
    const struct planes<CHANNELS, true> others = {
        at, part
    };
    find_stable_value(&second, others, count, &first);
    uint32_t region = 0, before, after;
#pragma unroll
    for (int e = 0; e < 4; e++)
        if ((int)(second.number >> 8 * e & 0xff) * bd_sep_second_share >= count)
            region |= 0xffu << 8 * e;
    split_channels<CHANNELS>(value, second.value);
    when_seen(&before, &after, others, count, value);
    region &= ~(before & after);
    store_stable(to, p, first, second, region, region & ~before);
}

/* Four pixels a thread: basis and noise := what came where `lower` is set, what was there first
 * where `first_lower` is, the stable value elsewhere. */
template <int CHANNELS>
__global__ __launch_bounds__(bd_sep_threads) void take_stable(
    float *basis, float *noise, float *other_noise, struct bd_sep_numbers *numbers,
    const __grid_constant__ two_values from, const uint8_t *lower, const uint8_t *first_lower,
    int64_t words)
{
    const int64_t p = (int64_t)blockIdx.x * bd_sep_threads + threadIdx.x;
    uint32_t square = 0;
    if (p < words) {
        const uint32_t stable_came = bd_sep_load_word(from.region + 4 * p) / came & 0x01010101u;
        const uint32_t second = 0xff * (bd_sep_load_word(lower + 4 * p) |
                                        (stable_came & ~bd_sep_load_word(first_lower + 4 * p)));
#pragma unroll
        for (int c = 0; c < CHANNELS; c++) {
            const int64_t i = 4 * (CHANNELS * p + c);
            const uint32_t select = bd_sep_bytes_of_pixels<CHANNELS>(second, c);
            square +=
                take_background(basis + i, (bd_sep_load_word(from.value[0] + i) & ~select) |
                                               (bd_sep_load_word(from.value[1] + i) & select));
        }
        float out[4];
        bd_sep_floats((bd_sep_load_word(from.noise[0] + 4 * p) & ~second) |
                          (bd_sep_load_word(from.noise[1] + 4 * p) & second),
                      out);
#pragma unroll
        for (int e = 0; e < 4; e++)
            out[e] /= 16;
        bd_sep_store_floats(noise + 4 * p, out);
        bd_sep_store_floats(other_noise + 4 * p, out);
    }
    add_square(numbers, square);
}

/* Both values, s->lower: where what came is the background, and the turn's shadow: where what was
 * there first is. */
static enum bd_status find_stable(struct bd_cuda_separator *s, const struct two_values *to,
                                  int count, float lambda, int choose)
{
    uint8_t *const first_lower = bd_sep_turn_of(s)->shadow;
    const struct bd_sep_window x = bd_sep_view(s, lambda);
    const int64_t words = s->pitch / 4;
    const unsigned blocks = bd_sep_blocks(words, stable_threads);
    const int looked_at = count < bd_max_stable ? count : bd_max_stable;
    const size_t stage =
        (size_t)looked_at * stable_threads * sizeof(uint32_t) * (size_t)(s->shape.channels + 1);
    auto *kernel = s->shape.channels == 1 ? find_two_stable<1> : find_two_stable<3>;
    enum bd_status status = bd_cuda_check(
        cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             bd_max_stable * stable_threads * (int)sizeof(uint32_t) *
                                 (s->shape.channels + 1)),
        "asking for shared memory");
    if (status != BD_OK)
        return status;
    kernel<<<blocks, stable_threads, stage, s->cuda->stream>>>(*to, x, count, looked_at, words);
    status = bd_cuda_launched("the stable values of each pixel");
    if (status != BD_OK)
        return status;
    if (!choose) {
        status = bd_cuda_check(cudaMemsetAsync(s->lower, 0, (size_t)s->pitch, s->cuda->stream),
                               "the stable value of each pixel");
        if (status != BD_OK)
            return status;
        return bd_cuda_check(cudaMemsetAsync(first_lower, 0, (size_t)s->pitch, s->cuda->stream),
                             "the stable value of each pixel");
    }
    struct bd_cuda_boundary boundary = { to->value[0],
                                         to->value[1],
                                         s->shape.channels,
                                         to->region,
                                         3,
                                         NULL,
                                         (int)(s->pixels / bd_sep_second_least),
                                         bd_sep_second_times };
    status = bd_cuda_boundary_find(s->mask_work, s->lower, &boundary);
    boundary.outside = to->value[1];
    boundary.inside = to->value[0];
    return status == BD_OK ? bd_cuda_boundary_find(s->mask_work, first_lower, &boundary) : status;
}

/* The two values lie in the pictures of the set in hand, which the next detection overwrites. */
enum bd_status bd_cuda_sep_stable(void *arg, const int *order, int count, float lambda, int choose)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    enum bd_status status = bd_sep_settle(s, bd_sep_share_all);
    if (status == BD_OK)
        status = bd_sep_set_order(s, order, count);
    if (status == BD_OK)
        status = bd_sep_take_set(s);
    if (status == BD_OK)
        status = bd_sep_clear_square(s);
    if (status != BD_OK)
        return status;
    const struct bd_sep_set *set = &s->sets[s->set];
    const struct two_values two = { { set->background, s->picture },
                                    { set->difference, set->mask },
                                    bd_sep_turn_of(s)->raw };
    status = find_stable(s, &two, count, lambda, choose);
    if (status != BD_OK)
        return status;
    const int64_t words = s->pitch / 4;
    auto *kernel = s->shape.channels == 1 ? take_stable<1> : take_stable<3>;
    kernel<<<bd_sep_blocks(words, bd_sep_threads), bd_sep_threads, 0, s->cuda->stream>>>(
        s->basis, s->turns[0].noise, s->turns[1].noise, s->numbers, two, s->lower,
        bd_sep_turn_of(s)->shadow, words);
    status = bd_cuda_launched("the stable value of each pixel");
    return status == BD_OK ? bd_sep_start_basis(s, count, lambda) : status;
}
