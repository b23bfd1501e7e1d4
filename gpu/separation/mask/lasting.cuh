/* Private to the mask clean-up: small components that have not lasted (separation/shared/mask.h).
 */
#ifndef BD_GPU_SEPARATION_MASK_LASTING_CUH
#define BD_GPU_SEPARATION_MASK_LASTING_CUH

#include "gpu/separation/mask/component.cuh"
#include "gpu/separation/mask/work.cuh"

/* lasting.lasted of the components of a tile, word i of row y of which is w: of the frames before.
 * For whole blocks, after find_components. */
static __device__ inline void find_lasted(struct mask_size size, struct mask_lasting lasting,
                                          struct mask_forest forest, int tile, int y, int i,
                                          uint32_t w)
{
    const int first = tile * tile_nodes, head = run_head(w);
    for (int k = threadIdx.x; k < forest.count[tile]; k += tile_threads)
        lasting.lasted[first + k] = 0;
    __syncthreads(); /* the labels are there too */
    for (uint32_t s = run_starts(w); s; s &= s - 1) {
        const int b = __ffs(s) - 1;
        int frames = bd_mask_lasting - 1;
        while (frames &&
               !(run_bits(w, b) & lasting.frames[frames - 1][(int64_t)y * size.pitch + i]))
            frames--;
        if (frames)
            atomicMax(&lasting.lasted[component_of_run(size, forest, y, i, w, head, b)], frames);
    }
}

/* Takes components that pass for removed: their area becomes 0. lasting.frames := those with this
 * frame, whose components are in `median` and `set`. A block a tile. */
static __global__ void __launch_bounds__(tile_threads)
    judge_lasting(struct mask_size size, struct mask_lasting lasting, const uint32_t *median,
                  struct mask_forest set, int least, int wanted)
{
    bd_cuda_await();
    bd_cuda_let_follow();
    int y = tile_row(), i = tile_column(), tile = blockIdx.y * size.across + blockIdx.x;
    int first = tile * tile_nodes, count = set.count[tile];
    uint32_t w = y < size.height ? median[(int64_t)y * size.pitch + i] : 0;
    uint32_t frames[bd_mask_lasting - 1] = { 0 };
    int head = run_head(w);
    for (uint32_t s = run_starts(w); s; s &= s - 1) {
        const int b = __ffs(s) - 1, root = root_of_run(size, set, y, i, w, head, b);
        /* 0: it passes, and another block has been faster. */
        const uint32_t area = *(volatile uint32_t *)&set.area[root];
        const int lasted = area && area < (uint32_t)least ? -1 : lasting.lasted[root];
#pragma unroll
        for (int k = 0; k < bd_mask_lasting - 1; k++)
            frames[k] |= k <= lasted ? run_bits(w, b) : 0;
    }
#pragma unroll
    for (int k = 0; k < bd_mask_lasting - 1; k++)
        if (y < size.height)
            lasting.frames[k][(int64_t)y * size.pitch + i] = frames[k];
    for (int k = first + threadIdx.x; k < first + count; k += tile_threads)
        if (set.parent[k] == k && set.area[k] >= (uint32_t)least &&
            bd_mask_passes(set.area[k], least, lasting.lasted[k] + 1, wanted))
            set.area[k] = 0;
}

#endif
