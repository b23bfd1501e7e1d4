/* The search for background in other light on the GPU, in one kernel. Where no pixel has enough
 * pairs around it, as in most thread blocks of a usual frame, the block ends without reading frame
 * and background. The plain version is separation/cpu/illumination.c. */
#include "gpu/separation/mask/illumination.cuh"

#include "gpu/core/dependent_launch.cuh"
#include "gpu/separation/mask/neighbourhood.cuh"

enum {
    illumination_reach = bd_illumination_reach,
    illumination_halo = illumination_reach + 1 /* a pair's other pixel may be one further */
};

/* A bit a pixel: candidates; pixels to which a pair belongs with the one to the right, and with the
 * one below; what is looked at, and what is found of it. */
struct illumination_memory {
    uint64_t candidates[neighbourhood_rows];
    uint64_t right[neighbourhood_rows], below[neighbourhood_rows];
    uint64_t found[neighbourhood_rows];
    struct neighbourhood_sums sums;
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
    return pictures.flags[at] & bd_cuda_mask_set && !is_known(pictures, at);
}

/* m->right, m->below, and m->found := the candidates with enough pairs, of the rows that are the
 * tile's own. Returns whether the block has any. */
static __device__ __forceinline__ bool find_paired(struct illumination_memory *m)
{
    for (int row = threadIdx.x; row < neighbourhood_rows; row += neighbourhood_threads) {
        const uint64_t here = m->candidates[row];
        m->right[row] = here & here >> 1;
        m->below[row] = row + 1 < neighbourhood_rows ? here & m->candidates[row + 1] : 0;
    }
    __syncthreads();
    return keep_bits<illumination_halo>(m->found, m->candidates, [&](int row, int column) {
        return count_around<illumination_reach>(m->right, row, column) +
                   count_around<illumination_reach>(m->below, row, column) >=
               bd_illumination_least_pairs;
    });
}

template <int CHANNELS>
static __device__ __forceinline__ int luminance(const uint8_t *picture, int64_t at)
{
    int sum = 0;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        sum += picture[CHANNELS * at + c];
    return sum;
}

/* Of the pairs that belong to a pixel. */
template <int CHANNELS>
static __device__ __forceinline__ struct neighbourhood_products
products_of(const struct illumination_memory *m, const struct illumination_pictures &pictures,
            const struct neighbourhood_tile &tile, int row, int column)
{
    const bool pairs[2] = { (m->right[row] >> column & 1) != 0,
                            (m->below[row] >> column & 1) != 0 };
    struct neighbourhood_products sum = { 0, 0, 0 };
    if (!pairs[0] && !pairs[1])
        return sum;
    const int64_t at = place_of(tile, row, column);
    const int here_f = luminance<CHANNELS>(pictures.f, at);
    const int here_l = luminance<CHANNELS>(pictures.l, at);
#pragma unroll
    for (int way = 0; way < 2; way++)
        if (pairs[way]) {
            const int64_t other = at + (way == 0 ? 1 : tile.width);
            const int f = bd_illumination_difference(here_f, luminance<CHANNELS>(pictures.f, other),
                                                     CHANNELS);
            const int l = bd_illumination_difference(here_l, luminance<CHANNELS>(pictures.l, other),
                                                     CHANNELS);
            sum.ff += (uint32_t)(f * f);
            sum.fl += (uint32_t)(f * l);
            sum.ll += (uint32_t)(l * l);
        }
    return sum;
}

/* m->found: those of the candidates with enough pairs that are background in other light. */
template <int CHANNELS>
static __device__ __forceinline__ void find_lit(struct illumination_memory *m,
                                                const struct illumination_pictures &pictures,
                                                const struct neighbourhood_tile &tile)
{
    add_up_rows<illumination_reach>(&m->sums, [&](int row, int column) {
        return products_of<CHANNELS>(m, pictures, tile, row, column);
    });
    keep_bits<illumination_halo>(m->found, m->found, [&](int row, int column) {
        return bd_illumination_fits(
            sum_around<illumination_reach>(&m->sums, 0, row, column),
            (int32_t)sum_around<illumination_reach>(&m->sums, 1, row, column),
            sum_around<illumination_reach>(&m->sums, 2, row, column),
            bd_illumination_least_pairs); /* it has as many, or more */
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
    const bool any = find_paired(&m);
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
