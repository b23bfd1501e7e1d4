/* Private to the mask clean-up: components that change sides. */
#ifndef BD_GPU_SEPARATION_MASK_CHANGE_CUH
#define BD_GPU_SEPARATION_MASK_CHANGE_CUH

#include "gpu/separation/mask/component.cuh"

enum change_step { change_nothing, change_remove, change_fill };

/* Components of `bits` (change_remove) or of its complement (change_fill) whose area is below
 * `limit` change sides. */
struct mask_change {
    const uint32_t *bits;
    struct mask_forest forest; /* of those components */
    enum change_step step;
    uint32_t limit;
};

/* Whether the component of the run that starts at bit b of word i has an area below `limit`, which
 * no component that touches the border has if it is marked. */
static __device__ inline bool is_small(struct mask_size size, struct mask_forest forest, int y,
                                       int i, uint32_t w, int head, int b, uint32_t limit)
{
    return forest.area[forest.parent[component_of_run(size, forest, y, i, w, head, b)]] < limit;
}

/* Word i of row y of the picture after the change; 0 unless `inside`. For whole warps, eight lanes
 * of which have a row of a tile. */
static __device__ inline uint32_t changed_word(struct mask_size size, const struct mask_change &to,
                                               int y, int i, bool inside)
{
    uint32_t w = inside ? to.bits[(int64_t)y * size.pitch + i] : 0;
    if (to.step == change_nothing)
        return w;
    uint32_t runs = to.step == change_remove ? w : inside ? ~w & valid_bits(size, i) : 0;
    uint32_t change = 0;
    int head = run_head(runs);
    for (uint32_t s = run_starts(runs); s; s &= s - 1) {
        int b = __ffs(s) - 1;
        if (is_small(size, to.forest, y, i, runs, head, b, to.limit))
            change |= 1u << b;
    }
    return w ^ (runs & ~(runs + change));
}

#endif
