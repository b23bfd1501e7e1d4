/* Private to the mask clean-up: components that flash (separation/shared/flash.h). */
#ifndef BD_GPU_SEPARATION_MASK_FLASH_CUH
#define BD_GPU_SEPARATION_MASK_FLASH_CUH

#include "gpu/separation/mask/component.cuh"
#include "gpu/separation/mask/mask.h"
#include "separation/shared/flash.h"

struct mask_flashes {
    struct bd_cuda_flashes map;
    /* Of a component, at its root (flash_sums_of), what bd_flash_takes asks: its pixels in places,
     * and from bit 32 on the balance. NULL: there is no search. */
    unsigned long long *sums;
};

/* Whether there is anything to look for. The first kernel of the clean-up waits for the map: those
 * after it may ask before they wait. */
static __device__ inline bool has_places(struct mask_flashes flashes)
{
    return flashes.sums && *flashes.map.any;
}

/* Half of a tile's numbers are those of components at most. */
static __device__ inline unsigned long long *flash_sums_of(struct mask_flashes flashes, int root)
{
    return &flashes.sums[root / tile_nodes * (tile_nodes / 2) + root % tile_nodes];
}

/* The pixels of word (y, i) in places, and those of them that are lit and crossed. */
struct place_bits {
    uint32_t all, lit, crossed;
};

static __device__ inline struct place_bits load_places(const struct bd_cuda_flashes &map, int y,
                                                       int i)
{
    const int side = 1 << map.power;
    struct place_bits bits = {};
    for (int b = 0; b < 32; b += side) {
        const int x = (32 * i + b) >> map.power;
        const int place = x < map.across
                              ? bd_flash_place_at(map.own, map.across, map.down, x, y >> map.power)
                              : 0;
        const uint32_t pixels = (uint32_t)(((uint64_t)1 << side) - 1) << b;
        bits.all |= place ? pixels : 0;
        bits.lit |= place & bd_flash_is_lit ? pixels : 0;
        bits.crossed |= place & bd_flash_is_crossed ? pixels : 0;
    }
    return bits;
}

/* sums[k] := of component k of a tile, its pixels in places, and from bit 16 on the balance, in
 * two's complement. bits: height x pitch words. For whole blocks; ends with a barrier. */
static __device__ inline void sum_places(uint32_t *sums, struct mask_size size,
                                         const uint32_t *bits, struct mask_flashes flashes,
                                         struct mask_forest forest, int tile)
{
    static_assert(tile_rows * tile_words * 32 < 1 << 15, "a tile's pixels fit");
    const int y = tile_row(), i = tile_column();
    const uint32_t w = y < size.height ? bits[(int64_t)y * size.pitch + i] : 0;
    const int first = tile * tile_nodes, head = run_head(w);
    struct place_bits places = {};
    for (int k = threadIdx.x; k < forest.count[tile]; k += tile_threads)
        sums[k] = 0;
    __syncthreads();
    if (w)
        places = load_places(flashes.map, y, i);
    for (uint32_t s = run_starts(w); s; s &= s - 1) {
        const int b = __ffs(s) - 1;
        const uint32_t run = run_bits(w, b);
        const int balance = __popc(run & places.lit) - __popc(run & places.crossed);
        if (run & places.all)
            atomicAdd(&sums[component_of_run(size, forest, y, i, w, head, b) - first],
                      ((uint32_t)balance << 16) + __popc(run & places.all));
    }
    __syncthreads();
}

/* Adds sums[k] of component k of the tile to those of its root, which is not forest_large: the
 * foreground has none. */
static __device__ inline void add_places(struct mask_flashes flashes, int root, uint32_t sum)
{
    const unsigned long long balance = (int16_t)(sum >> 16), in_places = sum & 0xffff;
    if (sum)
        atomicAdd(flash_sums_of(flashes, root), (balance << 32) + in_places);
}

/* Whether the component of `area` pixels with this root is background. */
static __device__ inline bool is_flash(struct mask_flashes flashes, int root, uint32_t area)
{
    const unsigned long long sum = *flash_sums_of(flashes, root);
    return bd_flash_takes(area, (uint32_t)sum, (int32_t)(sum >> 32));
}

#endif
