/* Private to the mask clean-up: which component a pixel is of. */
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

#endif
