/* The search for background in other light on the GPU, in one kernel. Where each row has too few
 * pairs for a pixel to have enough in its fifteen rows, as in most thread blocks of a usual frame,
 * the block ends without reading frame and background. The plain version is
 * separation/cpu/illumination.c. */
#include "gpu/separation/mask/illumination.cuh"

#include "gpu/core/dependent_launch.cuh"
#include "gpu/separation/mask/neighbourhood.cuh"

enum {
    illumination_reach = bd_illumination_reach,
    illumination_halo = illumination_reach + 1 /* a pair's other pixel may be one further */
};

/* A bit a pixel: candidates; pixels to which a pair belongs with the one to the right, and with the
 * one below; and what is found. */
struct illumination_memory {
    uint64_t candidates[neighbourhood_rows];
    uint64_t right[neighbourhood_rows], below[neighbourhood_rows];
    uint64_t found[neighbourhood_rows];
    struct neighbourhood_sums<> sums;
};

struct illumination_pictures {
    uint8_t *shadow;
    const uint8_t *flags;
    const uint8_t *known; /* shadows; NULL: none */
    const uint8_t *f, *l;
};

static __device__ __forceinline__ bool is_known(const struct illumination_pictures &pictures,
                                                int64_t at)
{
    return pictures.known && pictures.known[at];
}

static __device__ __forceinline__ bool is_candidate(const struct illumination_pictures &pictures,
                                                    const struct neighbourhood_tile &tile, int row,
                                                    int column)
{
    if (!is_inside(tile, row, column))
        return false;
    const int64_t at = place_of(tile, row, column);
    /* Both are read at once: neither waits for the other. */
    return (pictures.flags[at] & bd_cuda_mask_set) != 0 & !is_known(pictures, at);
}

/* Sets m->right and m->below. Returns whether a pixel of the block may have enough pairs. For whole
 * blocks; ends with a barrier. */
static __device__ __forceinline__ bool find_pairs(struct illumination_memory *m)
{
    const int row = threadIdx.x;
    int pairs = 0;
    if (row < neighbourhood_rows) {
        const uint64_t here = m->candidates[row];
        m->right[row] = here & here >> 1;
        m->below[row] = row + 1 < neighbourhood_rows ? here & m->candidates[row + 1] : 0;
        pairs = __popcll(m->right[row]) + __popcll(m->below[row]);
    }
    return __syncthreads_or(may_have<illumination_reach>(pairs, bd_illumination_least_pairs));
}

/* The luminance of a pixel of f, and of l in the upper half; 0 where it is no candidate. */
template <int CHANNELS>
static __device__ __forceinline__ uint32_t luminances(const struct illumination_memory *m,
                                                      const struct illumination_pictures &pictures,
                                                      const struct neighbourhood_tile &tile,
                                                      int row, int column)
{
    uint32_t sum = 0;
    if (row < neighbourhood_rows && m->candidates[row] >> column & 1) {
        const int64_t at = CHANNELS * place_of(tile, row, column);
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            sum += pictures.f[at + c] + ((uint32_t)pictures.l[at + c] << 16);
    }
    return sum;
}

/* bd_illumination_difference of f and of l between two pixels, both at once, as two numbers modulo
 * 2^8 in bytes 0 and 2; 0 if they are no pair. A bias of 2^10 keeps the halves apart. */
template <int CHANNELS>
static __device__ __forceinline__ uint32_t differences(bool is_pair, uint32_t from, uint32_t to)
{
    enum { bias = 1 << 10, most = bd_illumination_most * CHANNELS };
    static_assert(most < 128 && CHANNELS * 255 < bias, "a signed byte; luminance");
    const uint32_t biased = to + (bias << 16 | bias) - from;
    const uint32_t held = __vminu2(__vmaxu2(biased, (bias - most) << 16 | (bias - most)),
                                   (bias + most) << 16 | (bias + most));
    return is_pair ? held : 0;
}

/* The products of the pairs that belong to a pixel, with those at its right and below it. */
template <int CHANNELS>
static __device__ __forceinline__ struct neighbourhood_products
products_of(bool has_right, bool has_below, uint32_t here, uint32_t right, uint32_t below)
{
    const uint32_t in_row = differences<CHANNELS>(has_right, here, right);
    const uint32_t in_column = differences<CHANNELS>(has_below, here, below);
    const int f = (int)__byte_perm(in_row, in_column, 0x40) & 0xffff;
    const int l = (int)__byte_perm(in_row, in_column, 0x62) & 0xffff;
    return { (uint32_t)__dp4a(f, f, 0), (uint32_t)__dp4a(f, l, 0), (uint32_t)__dp4a(l, l, 0),
             (uint32_t)has_right + has_below };
}

/* m->sums := the products of the pairs that belong to each pixel. A warp has rows that follow each
 * other, and a lane two columns. For whole blocks; ends with a barrier. */
template <int CHANNELS>
static __device__ __forceinline__ void multiply_pairs(struct illumination_memory *m,
                                                      const struct illumination_pictures &pictures,
                                                      const struct neighbourhood_tile &tile)
{
    enum { rows = neighbourhood_rows / neighbourhood_warps };
    const int lane = threadIdx.x % 32, first = (int)threadIdx.x / 32 * rows;
    uint32_t both[rows + 1][2]; /* luminances */
#pragma unroll
    for (int r = 0; r <= rows; r++) {
        both[r][0] = luminances<CHANNELS>(m, pictures, tile, first + r, lane);
        both[r][1] = luminances<CHANNELS>(m, pictures, tile, first + r, lane + 32);
    }
#pragma unroll
    for (int r = 0; r < rows; r++) {
        /* What is right of column 31; column 63 has no pair with the one to its right. */
        const uint32_t after = __shfl_sync(~0u, both[r][1], 0);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int row = first + r, column = lane + 32 * half;
            const uint32_t here = both[r][half], next = __shfl_down_sync(~0u, here, 1);
            put_products(&m->sums, row, column,
                         products_of<CHANNELS>(m->right[row] >> column & 1,
                                               m->below[row] >> column & 1, here,
                                               lane == 31 ? after : next, both[r + 1][half]));
        }
    }
    __syncthreads();
}

/* m->found := the candidates that are background in other light. */
template <int CHANNELS>
static __device__ __forceinline__ void find_lit(struct illumination_memory *m,
                                                const struct illumination_pictures &pictures,
                                                const struct neighbourhood_tile &tile)
{
    multiply_pairs<CHANNELS>(m, pictures, tile);
    add_up_columns<illumination_reach, illumination_halo>(&m->sums);
    keep_by_sums<illumination_reach, illumination_halo>(
        m->found, m->candidates, &m->sums, [](const struct neighbourhood_products &sums) {
            return bd_illumination_fits(sums.ff, (int32_t)sums.fl, sums.ll, sums.count);
        });
}

template <int CHANNELS>
static __global__ void __launch_bounds__(neighbourhood_threads)
    find_illumination(struct illumination_pictures pictures, int width, int height)
{
    __shared__ struct illumination_memory m;
    bd_cuda_await();
    bd_cuda_let_follow();
    const struct neighbourhood_tile tile = neighbourhood_tile_at<illumination_halo>(width, height);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    find_bits(m.candidates,
              [&](int row, int column) { return is_candidate(pictures, tile, row, column); });
    const bool any = find_pairs(&m);
    if (any)
        find_lit<CHANNELS>(&m, pictures, tile);
    for (int row = illumination_halo + warp; row < neighbourhood_rows - illumination_halo;
         row += neighbourhood_warps) {
        const uint64_t found = any ? m.found[row] : 0;
        for (int column = lane; column < neighbourhood_columns; column += 32) {
            if (!is_within<illumination_halo>(column) || !is_inside(tile, row, column))
                continue;
            const int64_t at = place_of(tile, row, column);
            pictures.shadow[at] = (found >> column & 1) || is_known(pictures, at);
        }
    }
}

enum bd_status bd_cuda_illumination_find(struct bd_cuda *cuda, uint8_t *shadow,
                                         const uint8_t *flags, const uint8_t *known,
                                         const uint8_t *f, const uint8_t *l, int width, int height,
                                         int channels)
{
    const struct illumination_pictures pictures = { shadow, flags, known, f, l };
    auto *kernel = channels == 1 ? find_illumination<1> : find_illumination<3>;
    bd_cuda_follow(cuda, kernel, neighbourhood_tiles<illumination_halo>(width, height),
                   neighbourhood_threads, 0, pictures, width, height);
    return bd_cuda_launched("looking for background in other light");
}
