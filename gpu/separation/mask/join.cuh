/* Private to the mask clean-up: components of tiles to components of the picture. */
#ifndef BD_GPU_SEPARATION_MASK_JOIN_CUH
#define BD_GPU_SEPARATION_MASK_JOIN_CUH

#include "gpu/separation/mask/component.cuh"
#include "gpu/separation/mask/lasting.cuh"

/* Threads 0 .. (down - 1) x pitch x edge_parts - 1: a few bits of a word below a tile's upper edge,
 * with the row above it. Threads wait for memory most of the time: many threads with little work
 * each hide that. */
enum { edge_parts = 16 };

template <int reach>
static __device__ void join_across_row(struct mask_size size, const uint32_t *bits,
                                       struct mask_forest forest, int k)
{
    uint32_t part = ((1u << 32 / edge_parts) - 1) << k % edge_parts * (32 / edge_parts);
    k /= edge_parts;
    int y = (k / size.pitch + 1) * tile_rows, i = k % size.pitch;
    uint32_t w = word_at<reach>(size, bits, y, i), up = word_at<reach>(size, bits, y - 1, i);
    uint32_t before = word_at<reach>(size, bits, y, i - 1);
    uint32_t up_before = word_at<reach>(size, bits, y - 1, i - 1);
    /* As in join_row_above, but here the words on either side may be another tile's. */
    uint32_t pairs = run_starts(w & up);
    if (i % tile_words && (before & up_before) >> 31)
        pairs &= ~1u;
    for (pairs &= part; pairs; pairs &= pairs - 1) {
        int b = __ffs(pairs) - 1;
        unite<true>(forest.parent, component_at<reach>(size, bits, forest, y, i, b),
                    component_at<reach>(size, bits, forest, y - 1, i, b));
    }
    if (!reach)
        return;
    uint32_t corner = w & ~up & (up << 1 | up_before >> 31) & ~(w << 1 | before >> 31);
    for (corner &= part; corner; corner &= corner - 1) {
        int b = __ffs(corner) - 1;
        unite<true>(forest.parent, component_at<reach>(size, bits, forest, y, i, b),
                    component_at<reach>(size, bits, forest, y - 1, b ? i : i - 1, b ? b - 1 : 31));
    }
    uint32_t after = word_at<reach>(size, bits, y, i + 1);
    uint32_t up_after = word_at<reach>(size, bits, y - 1, i + 1);
    corner = w & ~up & (up >> 1 | up_after << 31) & ~(w >> 1 | after << 31);
    for (corner &= part; corner; corner &= corner - 1) {
        int b = __ffs(corner) - 1;
        unite<true>(
            forest.parent, component_at<reach>(size, bits, forest, y, i, b),
            component_at<reach>(size, bits, forest, y - 1, b < 31 ? i : i + 1, (b + 1) % 32));
    }
}

/* Threads 0 .. height x (across - 1) - 1: the two pixels of a row on either side of the edge
 * between two tiles. */
template <int reach>
static __device__ void join_across_column(struct mask_size size, const uint32_t *bits,
                                          struct mask_forest forest, int k)
{
    int y = k / (size.across - 1), i = (k % (size.across - 1) + 1) * tile_words;
    uint32_t left = word_at<reach>(size, bits, y, i - 1) >> 31;
    uint32_t right = word_at<reach>(size, bits, y, i) & 1;
    uint32_t up_left = 0, up_right = 0;
    /* Corners of four tiles belong to join_across_row. */
    if (y % tile_rows) {
        up_left = word_at<reach>(size, bits, y - 1, i - 1) >> 31;
        up_right = word_at<reach>(size, bits, y - 1, i) & 1;
    }
    /* Where the row above joins the same two runs, nothing is left to do here. */
    if (left & right & ~(up_left & up_right))
        unite<true>(forest.parent, component_at<reach>(size, bits, forest, y, i - 1, 31),
                    component_at<reach>(size, bits, forest, y, i, 0));
    if (!reach)
        return;
    if (right & up_left & ~left & ~up_right)
        unite<true>(forest.parent, component_at<reach>(size, bits, forest, y, i, 0),
                    component_at<reach>(size, bits, forest, y - 1, i - 1, 31));
    if (left & up_right & ~right & ~up_left)
        unite<true>(forest.parent, component_at<reach>(size, bits, forest, y, i - 1, 31),
                    component_at<reach>(size, bits, forest, y - 1, i, 0));
}

enum { join_threads = 128 };

/* Joins the components of neighbouring tiles. */
template <int reach>
static __global__ void __launch_bounds__(join_threads)
    join_tiles(struct mask_size size, const uint32_t *bits, struct mask_forest forest)
{
    bd_cuda_await();
    bd_cuda_let_follow();
    int k = blockIdx.x * join_threads + threadIdx.x;
    int below = (size.down - 1) * size.pitch * edge_parts;
    if (k < below)
        join_across_row<reach>(size, bits, forest, k);
    else if (k - below < (size.across - 1) * size.height)
        join_across_column<reach>(size, bits, forest, k - below);
}

/* Links each component of a tile straight to its root, to which its area is added, and which takes
 * the larger of what the two have lasted (unless lasting.lasted is NULL: then bits are not read);
 * not to forest_large. With FLASHES it also adds what the root wants of places (flash.cuh). A block
 * takes a tile. */
template <bool FLASHES>
static __global__ void __launch_bounds__(tile_threads)
    sum_areas(struct mask_size size, const uint32_t *bits, struct mask_forest forest,
              struct mask_lasting lasting, struct mask_flashes flashes)
{
    __shared__ int frames[tile_nodes / 2];
    __shared__ uint32_t places[FLASHES ? tile_nodes / 2 : 1];
    const bool flash = FLASHES && has_places(flashes);
    bd_cuda_await();
    bd_cuda_let_follow();
    int tile = blockIdx.y * size.across + blockIdx.x;
    int count = forest.count[tile], first = tile * tile_nodes;
    if (lasting.lasted)
        find_lasted(frames, size, bits, lasting, forest, tile);
    if (flash)
        sum_places(places, size, bits, flashes, forest, tile);
    for (int k = threadIdx.x; k - threadIdx.x % 32 < count; k += tile_threads) {
        int root = forest_large;
        uint32_t area = 0;
        if (k < count) {
            volatile int *parent = forest.parent;
            int a = first + k, next = parent[a];
            root = next;
            /* Every thread shortens its own path as it goes, which helps those that pass by. */
            for (next = parent[root]; next != root; next = parent[root]) {
                root = next;
                parent[a] = root;
            }
            if (root >= 0 && lasting.lasted && frames[k])
                atomicMax(&lasting.lasted[root], frames[k]);
            if (flash)
                add_places(flashes, root, places[k]);
            if (root == a)
                root = forest_large; /* its area is there */
            else
                area = forest.area[a];
        }
        /* One addition for the threads of a warp that share a root. */
        uint32_t sharing = __match_any_sync(~0u, root);
        uint32_t pixels = __reduce_add_sync(sharing, area & ~at_border);
        uint32_t marked = __reduce_or_sync(sharing, area & at_border);
        if (root == forest_large || threadIdx.x % 32 != __ffs(sharing) - 1)
            continue;
        atomicAdd(&forest.area[root], pixels);
        if (marked)
            atomicOr(&forest.area[root], at_border);
    }
}

#endif
