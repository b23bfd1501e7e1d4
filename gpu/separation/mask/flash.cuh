/* Private to the mask clean-up: components that flash (separation/shared/flash.h). */
#ifndef BD_GPU_SEPARATION_MASK_FLASH_CUH
#define BD_GPU_SEPARATION_MASK_FLASH_CUH

#include "gpu/separation/mask/component.cuh"
#include "gpu/separation/mask/mask.h"
#include "separation/shared/flash.h"

struct mask_flashes {
    struct bd_cuda_flashes map;
    /* Of a component, at its root (flash_sums_of): its pixels in places, and from bit 32 on those
     * that are lit. NULL: there is no search. */
    unsigned long long *sums;
};

/* Whether there is anything to look for. */
static __device__ inline bool has_places(struct mask_flashes flashes)
{
    return flashes.sums && *flashes.map.any;
}

/* Half of a tile's numbers are those of components at most. */
static __device__ inline unsigned long long *flash_sums_of(struct mask_flashes flashes, int root)
{
    return &flashes.sums[root / tile_nodes * (tile_nodes / 2) + root % tile_nodes];
}

/* The pixels of word (y, i) in places, and those that are lit. */
static __device__ inline void load_places(uint32_t *in_places, uint32_t *lit,
                                          const struct bd_cuda_flashes &map, int y, int i)
{
    const uint8_t *row = map.places + (y >> map.power) * map.across;
    const int side = 1 << map.power;
    *in_places = *lit = 0;
    for (int b = 0; b < 32; b += side) {
        const int x = (32 * i + b) >> map.power;
        const int place = x < map.across ? row[x] : 0;
        const uint32_t pixels = (uint32_t)(((uint64_t)1 << side) - 1) << b;
        *in_places |= place & bd_flash_is_place ? pixels : 0;
        *lit |= place & bd_flash_is_lit ? pixels : 0;
    }
}

/* sums[k] := of component k of a tile, its pixels in places, and from bit 16 on those that are lit.
 * bits: height x pitch words. For whole blocks; ends with a barrier. */
static __device__ inline void sum_places(uint32_t *sums, struct mask_size size,
                                         const uint32_t *bits, struct mask_flashes flashes,
                                         struct mask_forest forest, int tile)
{
    static_assert(tile_rows * tile_words * 32 < 1 << 16, "a tile's pixels fit");
    const int y = tile_row(), i = tile_column();
    const uint32_t w = y < size.height ? bits[(int64_t)y * size.pitch + i] : 0;
    const int first = tile * tile_nodes, head = run_head(w);
    uint32_t in_places = 0, lit = 0;
    for (int k = threadIdx.x; k < forest.count[tile]; k += tile_threads)
        sums[k] = 0;
    __syncthreads();
    if (w)
        load_places(&in_places, &lit, flashes.map, y, i);
    for (uint32_t s = run_starts(w); s; s &= s - 1) {
        const int b = __ffs(s) - 1;
        const uint32_t run = run_bits(w, b);
        const uint32_t pixels = __popc(run & in_places) | __popc(run & lit) << 16;
        if (pixels)
            atomicAdd(&sums[component_of_run(size, forest, y, i, w, head, b) - first], pixels);
    }
    __syncthreads();
}

/* Adds sums[k] of component k of the tile to those of its root. */
static __device__ inline void add_places(struct mask_flashes flashes, int root, uint32_t sum)
{
    const unsigned long long lit = sum >> 16, in_places = sum & 0xffff;
    if (sum)
        atomicAdd(flash_sums_of(flashes, root), lit << 32 | in_places);
}

/* Whether the component of `area` pixels with this root is background. */
static __device__ inline bool is_flash(struct mask_flashes flashes, int root, uint32_t area)
{
    const unsigned long long sum = *flash_sums_of(flashes, root);
    return bd_flash_takes(area, (uint32_t)sum, sum >> 32);
}

#endif
