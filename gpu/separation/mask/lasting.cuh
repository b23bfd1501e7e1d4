/* Private to the mask clean-up: how long components have lasted, and those that pass
 * (separation/shared/mask.h). */
#ifndef BD_GPU_SEPARATION_MASK_LASTING_CUH
#define BD_GPU_SEPARATION_MASK_LASTING_CUH

#include "gpu/separation/mask/component.cuh"
#include "gpu/separation/mask/flash.cuh"
#include "separation/shared/mask.h"

struct mask_lasting {
    uint32_t *frames[bd_mask_lasting - 1]; /* height x pitch words: pixels whose component had
                                              lasted for 1, 2, ... frames or more */
    int *lasted;                           /* one a node: the most of these for its tree */
};

/* Shared memory of a block that removes components. */
struct remove_shared {
    struct tile_memory tile;
    /* A bit a component of the tile: it is removed; it has lasted for 1, 2, ... frames before. */
    uint32_t chosen[tile_nodes / 32], lasted[bd_mask_lasting - 1][tile_nodes / 32];
};

/* frames[k] := the most that the pixels of component k of the tile had lasted, in the frames
 * before. bits: height x pitch words. For whole blocks; ends with a barrier. */
static __device__ inline void find_lasted(int *frames, struct mask_size size, const uint32_t *bits,
                                          struct mask_lasting lasting, struct mask_forest forest,
                                          int tile)
{
    const int y = tile_row(), i = tile_column();
    const int64_t at = (int64_t)y * size.pitch + i;
    const uint32_t w = y < size.height ? bits[at] : 0;
    const int first = tile * tile_nodes, head = run_head(w);
    for (int k = threadIdx.x; k < forest.count[tile]; k += tile_threads)
        frames[k] = 0;
    __syncthreads();
    for (uint32_t s = run_starts(w); s; s &= s - 1) {
        const int b = __ffs(s) - 1;
        int most = bd_mask_lasting - 1;
        while (most && !(run_bits(w, b) & lasting.frames[most - 1][at]))
            most--;
        if (most)
            atomicMax(&frames[component_of_run(size, forest, y, i, w, head, b) - first], most);
    }
    __syncthreads();
}

/* m->chosen and, unless `wanted` is 0, m->lasted of the components of a tile: removed are those of
 * fewer than `least` pixels, those that have not lasted for the frames that are wanted, and those
 * that flash (`flash`: there may be such). For whole blocks; ends with a barrier. */
static __device__ inline void judge_components(struct remove_shared *m, struct mask_forest set,
                                               struct mask_lasting lasting,
                                               struct mask_flashes flashes, bool flash, int tile,
                                               int least, int wanted)
{
    const int first = tile * tile_nodes, count = set.count[tile], lane = threadIdx.x % 32;
    for (int k = threadIdx.x; k - lane < count; k += tile_threads) {
        const int root = k < count ? set.parent[first + k] : first;
        const uint32_t area = set.area[root];
        const int lasted = wanted ? lasting.lasted[root] : 0;
        const bool large = k < count && area >= (uint32_t)least;
        const bool passes = wanted && bd_mask_passes(area, least, lasted + 1, wanted);
        const bool removed = !large || passes || (flash && is_flash(flashes, root, area));
        const uint32_t chosen = __ballot_sync(~0u, removed);
        if (lane == 0)
            m->chosen[k / 32] = chosen;
        for (int before = 0; wanted && before < bd_mask_lasting - 1; before++) {
            const uint32_t so_many = __ballot_sync(~0u, large && lasted >= before);
            if (lane == 0)
                m->lasted[before][k / 32] = so_many;
        }
    }
    __syncthreads();
}

#endif
