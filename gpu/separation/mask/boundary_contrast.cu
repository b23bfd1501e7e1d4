/* Boundary contrast on the GPU: the components of the region as the mask clean-up finds them, the
 * contrast along each component's boundary summed by atomics, a verdict for each. The sums are of
 * integers, so that they equal the CPU's in any order of threads. The plain version is
 * separation/cpu/boundary_contrast.c. */
#include "gpu/separation/mask/bytes.cuh"
#include "gpu/separation/mask/component.cuh"
#include "gpu/separation/mask/work.cuh"
#include "separation/shared/boundary_contrast.h"

enum { boundary_threads = 128 };

/* 0 for all components that there are. A block a tile. */
static __global__ void __launch_bounds__(boundary_threads)
    clear_sums(struct boundary_sums sums, struct mask_forest forest)
{
    int count = forest.count[blockIdx.x], first = blockIdx.x * tile_nodes;
    for (int k = threadIdx.x; k < count; k += boundary_threads) {
        sums.balance[first + k] = 0;
        sums.judged[first + k] = 0;
    }
}

/* Word k of the region, row by row, as a thread sees it. */
struct boundary_word {
    int y, i;      /* row, and word in it */
    bool inside;   /* there is such a word */
    uint32_t bits; /* of the region */
    int head;      /* see run_head */
};

/* For whole warps: rows are of whole tiles' words, so that eight lanes hold a row of a tile. */
static __device__ inline struct boundary_word word_of_thread(struct mask_size size,
                                                             const uint32_t *region)
{
    int k = blockIdx.x * boundary_threads + threadIdx.x;
    struct boundary_word word;
    word.y = k / size.pitch;
    word.i = k % size.pitch;
    word.inside = word.y < size.height;
    word.bits = word.inside ? region[k] : 0;
    word.head = run_head(word.bits);
    return word;
}

static __device__ inline bool in_region(struct mask_size size, const uint32_t *region, int x, int y)
{
    return x >= 0 && y >= 0 && x < size.width && y < size.height &&
           region[(int64_t)y * size.pitch + x / 32] >> x % 32 & 1;
}

enum { side_left, side_right, side_up, side_down, boundary_sides };

/* side[d]: the pixels of the word at whose side d the boundary runs, with two pixels of the picture
 * beyond it. */
static __device__ inline void boundary_of(uint32_t side[boundary_sides], struct mask_size size,
                                          const uint32_t *region, const struct boundary_word *word)
{
    uint32_t w = word->bits;
    const uint32_t *at = region + (int64_t)word->y * size.pitch + word->i;
    uint32_t before = word->i ? at[-1] : 0, after = word->i + 1 < size.pitch ? at[1] : 0;
    struct mask_size narrower = size;
    narrower.width -= 2;
    side[side_left] = w & ~(w << 1 | before >> 31) & (word->i ? ~0u : ~3u);
    side[side_right] = w & ~(w >> 1 | after << 31) & valid_bits(narrower, word->i);
    side[side_up] = word->y >= 2 ? w & ~at[-size.pitch] : 0;
    side[side_down] = word->y + 2 < size.height ? w & ~at[size.pitch] : 0;
}

/* Of one root. */
struct boundary_tally {
    int root; /* -1: none yet */
    int balance, judged;
};

static __device__ inline void add_tally(struct boundary_sums sums,
                                        const struct boundary_tally *tally)
{
    if (tally->root < 0)
        return;
    atomicAdd(&sums.balance[tally->root], (unsigned long long)(long long)tally->balance);
    atomicAdd(&sums.judged[tally->root], tally->judged);
}

/* Adds the place of the boundary at the side of pixel (x, y) in direction (dx, dy). */
template <int CHANNELS>
static __device__ inline void
add_place(struct boundary_tally *tally, struct mask_size size, const uint32_t *region,
          const struct bd_cuda_boundary &boundary, int x, int y, int dx, int dy)
{
    int64_t next = (int64_t)(y + dy) * size.width + x + dx;
    int64_t far = (int64_t)(y + 2 * dy) * size.width + x + 2 * dx;
    if (in_region(size, region, x + 2 * dx, y + 2 * dy) ||
        (boundary.apart && (boundary.apart[next] | boundary.apart[far]) & 128)) {
        tally->judged--;
        return;
    }
    bool wide = in_region(size, region, x - dx, y - dy);
    int64_t near = (int64_t)(wide ? y - dy : y) * size.width + (wide ? x - dx : x);
    const uint8_t *there = boundary.outside + far * CHANNELS;
    tally->balance +=
        bd_boundary_difference(boundary.outside + near * CHANNELS, there, CHANNELS) -
        boundary.times * bd_boundary_difference(boundary.inside + near * CHANNELS, there, CHANNELS);
    tally->judged++;
}

/* Adds the contrast at the region's pixels to the sums of their components. A word a thread. */
template <int CHANNELS>
static __global__ void __launch_bounds__(boundary_threads)
    add_contrast(struct mask_size size, struct boundary_sums sums, struct mask_forest forest,
                 const uint32_t *region, const __grid_constant__ struct bd_cuda_boundary boundary)
{
    struct boundary_word word = word_of_thread(size, region);
    struct boundary_tally tally = { -1, 0, 0 };
    uint32_t side[boundary_sides] = { 0, 0, 0, 0 };
    if (word.bits)
        boundary_of(side, size, region, &word);
    uint32_t border = side[side_left] | side[side_right] | side[side_up] | side[side_down];
    for (uint32_t s = run_starts(word.bits); s; s &= s - 1) {
        int b = __ffs(s) - 1;
        uint32_t pixels = run_bits(word.bits, b) & border;
        int root = pixels ? root_of_run(size, forest, word.y, word.i, word.bits, word.head, b) : -1;
        if (root < 0 || forest.area[root] < (uint32_t)boundary.least)
            continue;
        if (root != tally.root) {
            add_tally(sums, &tally);
            tally = { root, 0, 0 };
        }
        for (; pixels; pixels &= pixels - 1) {
            int at = __ffs(pixels) - 1, x = 32 * word.i + at;
            if (side[side_left] >> at & 1)
                add_place<CHANNELS>(&tally, size, region, boundary, x, word.y, -1, 0);
            if (side[side_right] >> at & 1)
                add_place<CHANNELS>(&tally, size, region, boundary, x, word.y, 1, 0);
            if (side[side_up] >> at & 1)
                add_place<CHANNELS>(&tally, size, region, boundary, x, word.y, 0, -1);
            if (side[side_down] >> at & 1)
                add_place<CHANNELS>(&tally, size, region, boundary, x, word.y, 0, 1);
        }
    }
    /* Large components: one addition for the threads of a warp that share a root. Their 32 x 32
     * pixels have at most 4 differences of 765 (times) each, which an int holds. */
    uint32_t sharing = __match_any_sync(~0u, tally.root);
    tally.balance = __reduce_add_sync(sharing, tally.balance);
    tally.judged = __reduce_add_sync(sharing, tally.judged);
    if (threadIdx.x % 32 == __ffs(sharing) - 1)
        add_tally(sums, &tally);
}

/* lower: 1 in the components that have the lower contrast in `inside`. A word a thread. */
static __global__ void __launch_bounds__(boundary_threads)
    choose_lower(struct mask_size size, uint8_t *lower, struct boundary_sums sums,
                 struct mask_forest forest, const uint32_t *region, int least, bool wide)
{
    struct boundary_word word = word_of_thread(size, region);
    uint32_t chosen = 0;
    for (uint32_t s = run_starts(word.bits); s; s &= s - 1) {
        int b = __ffs(s) - 1;
        int root = root_of_run(size, forest, word.y, word.i, word.bits, word.head, b);
        if (forest.area[root] >= (uint32_t)least &&
            bd_boundary_is_lower((int64_t)sums.balance[root], sums.judged[root]))
            chosen |= run_bits(word.bits, b);
    }
    store_bytes(lower + (int64_t)word.y * size.width + 32 * word.i, chosen,
                word.inside ? size.width - 32 * word.i : 0, 1, wide);
}

enum bd_status bd_cuda_boundary_find(struct bd_cuda_mask *work, uint8_t *lower,
                                     const struct bd_cuda_boundary *boundary)
{
    struct mask_size size = work->size;
    cudaStream_t stream = work->cuda->stream;
    enum bd_status status = bd_cuda_mask_components(work, boundary->region, boundary->median);
    const struct mask_turn *found = &work->turns[0];
    if (status != BD_OK)
        return status;
    clear_sums<<<size.across * size.down, boundary_threads, 0, stream>>>(work->sums, found->set);
    status = bd_cuda_launched("clearing the sums of boundary contrast");
    if (status != BD_OK)
        return status;
    /* Less than 2^31 / tile_nodes tiles: neither does this overflow. */
    int blocks = (size.pitch * size.height + boundary_threads - 1) / boundary_threads;
    auto *kernel = boundary->channels == 1 ? add_contrast<1> : add_contrast<3>;
    kernel<<<blocks, boundary_threads, 0, stream>>>(size, work->sums, found->set, found->median,
                                                    *boundary);
    status = bd_cuda_launched("summing boundary contrast");
    if (status != BD_OK)
        return status;
    choose_lower<<<blocks, boundary_threads, 0, stream>>>(
        size, lower, work->sums, found->set, found->median, boundary->least, is_wide(size, lower));
    return bd_cuda_launched("comparing boundary contrast");
}
