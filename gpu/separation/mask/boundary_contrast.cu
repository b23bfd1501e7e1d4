/* The test for seams on the GPU: the components of the region as the mask clean-up finds them, sums
 * of the jumps along each component's border by atomics, a verdict for each. The sums are of
 * integers, so that they are the CPU's whatever the order of threads. */
#include "gpu/separation/mask/boundary_contrast.h"

#include <stdlib.h>

#include "gpu/separation/mask/bytes.cuh"
#include "gpu/separation/mask/component.cuh"
#include "gpu/separation/mask/work.cuh"

/* Of a component, at its root: `outside` minus `times` times `inside` (two's complement, so that
 * sums of either sign can be added), and by how much more of its border can be judged than not. */
struct seam_sums {
    unsigned long long *balance; /* one a node */
    int *seen;                   /* the same */
};

struct bd_cuda_boundary_work {
    struct bd_cuda_mask *mask;
    struct seam_sums sums;
    void *memory;
};

enum { seam_threads = 128 };

/* 0 for all components that there are. A block a tile. */
static __global__ void __launch_bounds__(seam_threads)
    clear_sums(struct seam_sums sums, struct mask_forest forest)
{
    int count = forest.count[blockIdx.x], first = blockIdx.x * tile_nodes;
    for (int k = threadIdx.x; k < count; k += seam_threads) {
        sums.balance[first + k] = 0;
        sums.seen[first + k] = 0;
    }
}

/* Word k of the region, row by row, as a thread sees it. */
struct seam_word {
    int y, i;      /* row, and word in it */
    bool inside;   /* there is such a word */
    uint32_t bits; /* of the region */
    int head;      /* see run_head */
};

/* For whole warps: rows are of whole tiles' words, so that eight lanes hold a row of a tile. */
static __device__ inline struct seam_word word_of_thread(struct mask_size size,
                                                         const uint32_t *region)
{
    int k = blockIdx.x * seam_threads + threadIdx.x;
    struct seam_word word;
    word.y = k / size.pitch;
    word.i = k % size.pitch;
    word.inside = word.y < size.height;
    word.bits = word.inside ? region[k] : 0;
    word.head = run_head(word.bits);
    return word;
}

/* The root of the component of the run that starts at bit b of the word. */
static __device__ inline int root_of_run(struct mask_size size, struct mask_forest forest,
                                         const struct seam_word *word, int b)
{
    return forest
        .parent[component_of_run(size, forest, word->y, word->i, word->bits, word->head, b)];
}

static __device__ inline bool in_region(struct mask_size size, const uint32_t *region, int x, int y)
{
    return x >= 0 && y >= 0 && x < size.width && y < size.height &&
           region[(int64_t)y * size.pitch + x / 32] >> x % 32 & 1;
}

template <int CHANNELS> static __device__ inline int jump(const uint8_t *a, const uint8_t *b)
{
    int sum = 0;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++)
        sum += abs(a[c] - b[c]);
    return sum;
}

enum { seam_left, seam_right, seam_up, seam_down, seam_sides };

/* side[d]: the pixels of the word at whose side d the border runs, with two pixels of the picture
 * beyond it. */
static __device__ inline void border_of(uint32_t side[seam_sides], struct mask_size size,
                                        const uint32_t *region, const struct seam_word *word)
{
    uint32_t w = word->bits;
    const uint32_t *at = region + (int64_t)word->y * size.pitch + word->i;
    uint32_t before = word->i ? at[-1] : 0, after = word->i + 1 < size.pitch ? at[1] : 0;
    struct mask_size narrower = size;
    narrower.width -= 2;
    side[seam_left] = w & ~(w << 1 | before >> 31) & (word->i ? ~0u : ~3u);
    side[seam_right] = w & ~(w >> 1 | after << 31) & valid_bits(narrower, word->i);
    side[seam_up] = word->y >= 2 ? w & ~at[-size.pitch] : 0;
    side[seam_down] = word->y + 2 < size.height ? w & ~at[size.pitch] : 0;
}

/* Of one root. */
struct seam_tally {
    int root; /* -1: none yet */
    int balance, seen;
};

static __device__ inline void add_tally(struct seam_sums sums, const struct seam_tally *tally)
{
    if (tally->root < 0)
        return;
    atomicAdd(&sums.balance[tally->root], (unsigned long long)(long long)tally->balance);
    atomicAdd(&sums.seen[tally->root], tally->seen);
}

/* Adds the jump from pixel (x, y) in direction (dx, dy), across the border. */
template <int CHANNELS>
static __device__ inline void add_jump(struct seam_tally *tally, struct mask_size size,
                                       const uint32_t *region, const struct bd_cuda_boundary &seam,
                                       int x, int y, int dx, int dy)
{
    int64_t next = (int64_t)(y + dy) * size.width + x + dx;
    int64_t far = (int64_t)(y + 2 * dy) * size.width + x + 2 * dx;
    if (in_region(size, region, x + 2 * dx, y + 2 * dy) ||
        (seam.apart && (seam.apart[next] | seam.apart[far]) & 128)) {
        tally->seen--;
        return;
    }
    bool wide = in_region(size, region, x - dx, y - dy);
    int64_t near = (int64_t)(wide ? y - dy : y) * size.width + (wide ? x - dx : x);
    const uint8_t *there = seam.outside + far * CHANNELS;
    tally->balance += jump<CHANNELS>(seam.outside + near * CHANNELS, there) -
                      seam.times * jump<CHANNELS>(seam.inside + near * CHANNELS, there);
    tally->seen++;
}

/* Adds the jumps of the region's pixels, a word a thread, to the sums of their components. */
template <int CHANNELS>
static __global__ void __launch_bounds__(seam_threads)
    add_jumps(struct mask_size size, struct seam_sums sums, struct mask_forest forest,
              const uint32_t *region, const __grid_constant__ struct bd_cuda_boundary seam)
{
    struct seam_word word = word_of_thread(size, region);
    struct seam_tally tally = { -1, 0, 0 };
    uint32_t side[seam_sides] = { 0, 0, 0, 0 };
    if (word.bits)
        border_of(side, size, region, &word);
    uint32_t border = side[seam_left] | side[seam_right] | side[seam_up] | side[seam_down];
    for (uint32_t s = run_starts(word.bits); s; s &= s - 1) {
        int b = __ffs(s) - 1;
        uint32_t pixels = run_bits(word.bits, b) & border;
        int root = pixels ? root_of_run(size, forest, &word, b) : -1;
        if (root < 0 || forest.area[root] < (uint32_t)seam.least)
            continue;
        if (root != tally.root) {
            add_tally(sums, &tally);
            tally = { root, 0, 0 };
        }
        for (; pixels; pixels &= pixels - 1) {
            int at = __ffs(pixels) - 1, x = 32 * word.i + at;
            if (side[seam_left] >> at & 1)
                add_jump<CHANNELS>(&tally, size, region, seam, x, word.y, -1, 0);
            if (side[seam_right] >> at & 1)
                add_jump<CHANNELS>(&tally, size, region, seam, x, word.y, 1, 0);
            if (side[seam_up] >> at & 1)
                add_jump<CHANNELS>(&tally, size, region, seam, x, word.y, 0, -1);
            if (side[seam_down] >> at & 1)
                add_jump<CHANNELS>(&tally, size, region, seam, x, word.y, 0, 1);
        }
    }
    /* Large components: one addition for the threads of a warp that share a root. Their 32 x 32
     * pixels have at most 4 jumps of 765 (times) each, which an int holds. */
    uint32_t sharing = __match_any_sync(~0u, tally.root);
    tally.balance = __reduce_add_sync(sharing, tally.balance);
    tally.seen = __reduce_add_sync(sharing, tally.seen);
    if (threadIdx.x % 32 == __ffs(sharing) - 1)
        add_tally(sums, &tally);
}

/* smoother: 1 in the components that are, a word a thread. */
static __global__ void __launch_bounds__(seam_threads)
    choose_smoother(struct mask_size size, uint8_t *smoother, struct seam_sums sums,
                    struct mask_forest forest, const uint32_t *region, int least, bool wide)
{
    struct seam_word word = word_of_thread(size, region);
    uint32_t chosen = 0;
    for (uint32_t s = run_starts(word.bits); s; s &= s - 1) {
        int b = __ffs(s) - 1, root = root_of_run(size, forest, &word, b);
        /* A border of which less than half can be judged proves nothing. */
        if (forest.area[root] >= (uint32_t)least && sums.seen[root] >= 0 &&
            (long long)sums.balance[root] > 0)
            chosen |= run_bits(word.bits, b);
    }
    store_bytes(smoother + (int64_t)word.y * size.width + 32 * word.i, chosen,
                word.inside ? size.width - 32 * word.i : 0, 1, wide);
}

enum bd_status bd_cuda_boundary_create(struct bd_cuda_mask *mask,
                                       struct bd_cuda_boundary_work **out)
{
    *out = NULL;
    struct bd_cuda_boundary_work *work = (struct bd_cuda_boundary_work *)calloc(1, sizeof *work);
    if (!work)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the test for seams");
    size_t nodes = (size_t)mask->size.across * (size_t)mask->size.down * tile_nodes;
    enum bd_status status = bd_cuda_alloc(
        mask->cuda, &work->memory, nodes * (sizeof *work->sums.balance + sizeof *work->sums.seen),
        "the test for seams");
    if (status != BD_OK) {
        bd_cuda_boundary_destroy(work);
        return status;
    }
    work->mask = mask;
    work->sums.balance = (unsigned long long *)work->memory;
    work->sums.seen = (int *)(work->sums.balance + nodes);
    *out = work;
    return BD_OK;
}

void bd_cuda_boundary_destroy(struct bd_cuda_boundary_work *work)
{
    if (!work)
        return;
    bd_cuda_free(work->memory);
    free(work);
}

enum bd_status bd_cuda_boundary_find(struct bd_cuda_boundary_work *work, uint8_t *smoother,
                                     const struct bd_cuda_boundary *seam)
{
    struct bd_cuda_mask *mask = work->mask;
    struct mask_size size = mask->size;
    cudaStream_t stream = mask->cuda->stream;
    enum bd_status status = bd_cuda_mask_components(mask, seam->region, seam->median);
    if (status != BD_OK)
        return status;
    clear_sums<<<size.across * size.down, seam_threads, 0, stream>>>(work->sums, mask->set);
    status = bd_cuda_launched("clearing the sums of jumps");
    if (status != BD_OK)
        return status;
    /* Less than 2^31 / tile_nodes tiles: neither does this overflow. */
    int blocks = (size.pitch * size.height + seam_threads - 1) / seam_threads;
    auto *kernel = seam->channels == 1 ? add_jumps<1> : add_jumps<3>;
    kernel<<<blocks, seam_threads, 0, stream>>>(size, work->sums, mask->set, mask->median, *seam);
    status = bd_cuda_launched("summing jumps across borders");
    if (status != BD_OK)
        return status;
    choose_smoother<<<blocks, seam_threads, 0, stream>>>(
        size, smoother, work->sums, mask->set, mask->median, seam->least, is_wide(size, smoother));
    return bd_cuda_launched("choosing what is smoother");
}
