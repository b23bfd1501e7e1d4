/* Private to the mask clean-up: which component a pixel is of, and components that change sides. */
#ifndef BD_GPU_SEPARATION_MASK_COMPONENT_CUH
#define BD_GPU_SEPARATION_MASK_COMPONENT_CUH

#include "gpu/separation/mask/tile.cuh"

/* Word i of row y of the picture (reach 1) or of its complement (reach 0); 0 outside. */
template <int reach>
static __device__ inline uint32_t word_at(struct mask_size size, const uint32_t *bits, int y, int i)
{
    if (i < 0 || i >= size.pitch)
        return 0;
    uint32_t w = bits[(int64_t)y * size.pitch + i];
    return reach ? w : ~w & valid_bits(size, i);
}

/* The number of the component, of its tile, that the set pixel (y, 32 i + b) belongs to. */
template <int reach>
static __device__ int component_at(struct mask_size size, const uint32_t *bits,
                                   struct mask_forest forest, int y, int i, int b)
{
    int tile = y / tile_rows * size.across + i / tile_words;
    uint32_t clear = ~word_at<reach>(size, bits, y, i) & ((1u << b) - 1);
    while (!clear && i % tile_words)
        clear = ~word_at<reach>(size, bits, y, --i);
    int column = i % tile_words * 32 + (clear ? 32 - __clz(clear) : 0);
    int first = tile * tile_nodes;
    return first + forest.label[first + y % tile_rows * row_nodes + column / 2];
}

/* The number of the component that the run of word i of row y, w, belongs to which starts at bit b;
 * head: run_head of w. */
static __device__ inline int component_of_run(struct mask_size size, struct mask_forest forest,
                                              int y, int i, uint32_t w, int head, int b)
{
    int first = (y / tile_rows * size.across + i / tile_words) * tile_nodes;
    int node = y % tile_rows * row_nodes + run_start(w, head, i % tile_words, b) / 2;
    return first + forest.label[first + node];
}

/* The same for the root, once each component of a tile is linked straight to it. Its area is at
 * least at_border if the component touches the border and is marked. */
static __device__ inline int root_of_run(struct mask_size size, struct mask_forest forest, int y,
                                         int i, uint32_t w, int head, int b)
{
    return forest.parent[component_of_run(size, forest, y, i, w, head, b)];
}

enum change_step { change_nothing, change_remove, change_fill };

/* Components of `bits` (change_remove) or of its complement (change_fill) whose area is below
 * `limit` change sides. */
struct mask_change {
    const uint32_t *bits;
    struct mask_forest forest; /* of those components */
    enum change_step step;
    uint32_t limit;
};

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
        if (to.forest.area[root_of_run(size, to.forest, y, i, runs, head, b)] < to.limit)
            change |= 1u << b;
    }
    return w ^ (runs & ~(runs + change));
}

#endif
