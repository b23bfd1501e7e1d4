/* Private to the mask clean-up: pictures of one bit a pixel, their tiles, and the connected
 * components of a tile.
 *
 * A component is found in four steps, on runs (horizontal stretches of set pixels) rather than
 * pixels: union-find within each tile in shared memory (here), union-find of the tiles' components
 * across the edges of tiles with the sum of their areas (join.cuh), and a look-up for each run.
 * Union-find on a GPU with atomic minima and a pass over the edges is that of Oliveira and Lotufo
 * (2010) as refined by Komura (2015) and by Playne and Hawick (2018); runs of packed words in place
 * of pixels are ours. Sums are of integers, so nothing depends on the order of threads. */
#ifndef BD_GPU_SEPARATION_MASK_TILE_CUH
#define BD_GPU_SEPARATION_MASK_TILE_CUH

#include <stdint.h>

#include "gpu/core/dependent_launch.cuh"

/* A tile is 256 x 16 pixels, a thread for each word; a warp holds four rows. 640 x 480 has 90
 * tiles, for the 132 multiprocessors of an H200. With tiles of 32 rows a frame takes 4 % longer,
 * with tiles of 8 rows as long: then tiles take more time to be joined. */
enum {
    tile_words = 8,
    tile_rows = 16,
    tile_threads = tile_words * tile_rows,
    /* Runs of a row start at least two pixels apart: (row, x / 2) names a run, its "node". */
    row_nodes = tile_words * 16,
    tile_nodes = tile_rows * row_nodes
};

/* Pictures are height x pitch words, bit b of word i being pixel 32 i + b; bits beyond the width
 * are 0. pitch is a multiple of tile_words. */
struct mask_size {
    int width, height;
    int pitch;        /* words of a row */
    int across, down; /* tiles */
};

/* Where components are only asked whether they are small, those of a tile that are not have this
 * root from the start. Else the background's tree would grow across the picture, a tile at a time.
 */
enum { forest_large = -1, forest_margin = 64 /* numbers before 0, for forest_large */ };

/* The components of a picture. Those of tile t are numbered t * tile_nodes + k, k = 0 .. count[t] -
 * 1; after joining, a component of the picture is a tree of them. */
struct mask_forest {
    uint16_t *label; /* tiles x tile_nodes: the k of each run, by its node */
    int *count;      /* tiles */
    int *parent;     /* tiles x tile_nodes; its own number at a root */
    uint32_t *area;  /* tiles x tile_nodes: pixels, and at_border; of the whole tree at a root */
};

static const uint32_t at_border = 1u << 31;

/* The bits of word i that lie in the picture. */
static __device__ inline uint32_t valid_bits(struct mask_size size, int i)
{
    int n = size.width - 32 * i;
    return n >= 32 ? ~0u : n <= 0 ? 0u : (1u << n) - 1;
}

/* The words of a thread of a block of tile_threads: word (row, column) of the picture. */
static __device__ inline int tile_row(void)
{
    return blockIdx.y * tile_rows + threadIdx.x / tile_words;
}

static __device__ inline int tile_column(void)
{
    return blockIdx.x * tile_words + threadIdx.x % tile_words;
}

/* First bits of the runs of a word, as if nothing came before it. */
static __device__ inline uint32_t run_starts(uint32_t w)
{
    return w & ~(w << 1);
}

/* Column, within the tile's row, where the run that bit 0 of this thread's word belongs to starts
 * (the word's own first column if none reaches it from the left). For whole warps, whose lanes hold
 * the words of four rows in order. */
static __device__ inline int run_head(uint32_t w)
{
    int lane = threadIdx.x % 32, i = lane % tile_words, first = lane - i;
    uint32_t full = __ballot_sync(~0u, w == ~0u) >> first;
    /* Full words next to the left, then word j, which is not full and may end with set bits. */
    int passed = i ? __clz(~(full << (32 - i))) : 0;
    int j = i - 1 - passed;
    int lead = __shfl_sync(~0u, __clz(~w), first + (j < 0 ? 0 : j));
    return 32 * (j + 1) - (j < 0 ? 0 : lead);
}

/* Column, within the tile's row, where the run of bit b of word i starts. */
static __device__ inline int run_start(uint32_t w, int head, int i, int b)
{
    uint32_t clear = ~w & ((1u << b) - 1);
    return clear ? 32 * i + 32 - __clz(clear) : head;
}

/* How many bits from b on are set; bit b is. */
static __device__ inline int run_length(uint32_t w, int b)
{
    return __clz(__brev(~(w >> b)));
}

/* The bits of the run that starts at bit b: the carry clears it and sets the bit after it. */
static __device__ inline uint32_t run_bits(uint32_t w, int b)
{
    return w & ~(w + (1u << b));
}

/* The union-find forest is read while other threads link it: every number ever seen leads to an
 * ancestor, which is smaller. */
static __device__ inline int find_root(int *parent, int a)
{
    volatile int *p = parent;
    for (int next = p[a]; next != a; next = p[a])
        a = next;
    return a;
}

/* The same, halving the path for those that come after: a node on it is linked to the parent of its
 * parent. If another thread links that node elsewhere meanwhile, it has seen that the node is no
 * root and joins what it found there in its place, so that nothing is lost. */
static __device__ inline int find_and_halve(int *parent, int a)
{
    volatile int *p = parent;
    int at = p[a];
    for (int next; at != a && (next = p[at]) != at; at = next) {
        p[a] = next;
        a = at;
    }
    return at;
}

/* Links the larger root below the smaller; if another thread linked it first, what it was linked to
 * is joined in its place. */
template <bool halve> static __device__ inline void unite(int *parent, int a, int b)
{
    for (;;) {
        a = halve ? find_and_halve(parent, a) : find_root(parent, a);
        b = halve ? find_and_halve(parent, b) : find_root(parent, b);
        if (a == b)
            return;
        int from = a > b ? a : b, to = a > b ? b : a;
        int old = atomicMin(&parent[from], to);
        if (old == from)
            return;
        a = old;
        b = to;
    }
}

struct tile_memory {
    int label[tile_nodes];         /* parent of each run; in the end, at roots, ~k */
    uint32_t area[tile_nodes / 2]; /* two 16-bit counts a word: 15 bits of area, one of border */
    uint32_t words[tile_rows][tile_words];
    uint16_t heads[tile_rows][tile_words];
    int warp_roots[tile_threads / 32];
};

/* Joins runs of word i of `row` with those of the row above, where they meet at a bit of `part`. */
template <int reach>
static __device__ inline void join_row_above(struct tile_memory *m, int row, int i, uint32_t part)
{
    const uint32_t *here = m->words[row], *above = m->words[row - 1];
    int here_node = row * row_nodes, above_node = here_node - row_nodes;
    uint32_t w = here[i], up = above[i];
    int head = m->heads[row][i], up_head = m->heads[row - 1][i];
    /* Where two runs overlap they do so in one stretch: joined where it starts. */
    uint32_t pairs = run_starts(w & up);
    if (i && (here[i - 1] & above[i - 1]) >> 31)
        pairs &= ~1u;
    for (pairs &= part; pairs; pairs &= pairs - 1) {
        int b = __ffs(pairs) - 1;
        unite<false>(m->label, here_node + run_start(w, head, i, b) / 2,
                     above_node + run_start(up, up_head, i, b) / 2);
    }
    if (!reach)
        return;
    /* Runs that meet at a corner only: the upper one ends left of where this one starts ... */
    uint32_t before = i ? here[i - 1] : 0, up_before = i ? above[i - 1] : 0;
    uint32_t corner = w & ~up & (up << 1 | up_before >> 31) & ~(w << 1 | before >> 31);
    for (corner &= part; corner; corner &= corner - 1) {
        int b = __ffs(corner) - 1;
        int start = b ? run_start(up, up_head, i, b - 1)
                      : run_start(up_before, m->heads[row - 1][i - 1], i - 1, 31);
        unite<false>(m->label, here_node + (32 * i + b) / 2, above_node + start / 2);
    }
    /* ... or starts right of where this one ends. */
    uint32_t after = i + 1 < tile_words ? here[i + 1] : 0;
    uint32_t up_after = i + 1 < tile_words ? above[i + 1] : 0;
    corner = w & ~up & (up >> 1 | up_after << 31) & ~(w >> 1 | after << 31);
    for (corner &= part; corner; corner &= corner - 1) {
        int b = __ffs(corner) - 1;
        unite<false>(m->label, here_node + run_start(w, head, i, b) / 2,
                     above_node + (32 * i + b + 1) / 2);
    }
}

/* Joins all rows of the tile: neighbours in pairs, then pairs in fours and so on, so that a path to
 * a root grows by about one link a step however the picture winds (all rows at once made 1 x 64
 * combs into paths of 64, three times slower). In step `height`, thread t has word t % tile_words
 * of row (2 j + 1) height and one of `parts` parts of its bits. Ends with a barrier. */
template <int reach> static __device__ inline void join_rows(struct tile_memory *m)
{
    int t = threadIdx.x / tile_words, i = threadIdx.x % tile_words;
    for (int height = 1; height < tile_rows; height *= 2) {
        int parts = min(2 * height, 32), j = t / parts, bits = 32 / parts;
        int row = (2 * j + 1) * height;
        uint32_t part = ((1u << bits) - 1) << t % parts * bits;
        if (row < tile_rows)
            join_row_above<reach>(m, row, i, part);
        __syncthreads();
    }
}

static __device__ inline void add_area(struct tile_memory *m, int root, uint32_t area,
                                       uint32_t marked)
{
    if (root < 0)
        return;
    atomicAdd(&m->area[root / 2], area << (root % 2 * 16));
    if (marked)
        atomicOr(&m->area[root / 2], 0x8000u << (root % 2 * 16));
}

/* Adds the pixels of each run of word i to the area of its root. `edge`: bits that lie in the
 * border of the picture; a component that has one is marked. For whole warps. */
static __device__ inline void add_areas(struct tile_memory *m, int row, int i, uint32_t w, int head,
                                        uint32_t edge)
{
    /* What is not yet added, of a root that successive runs share. */
    int root = -1;
    uint32_t area = 0, marked = 0;
    for (uint32_t s = run_starts(w); s; s &= s - 1) {
        int b = __ffs(s) - 1;
        int next = find_root(m->label, row * row_nodes + run_start(w, head, i, b) / 2);
        if (next != root) {
            add_area(m, root, area, marked);
            root = next;
            area = marked = 0;
        }
        area += run_length(w, b);
        /* w + (1 << b) carries through the run that starts at b. */
        marked |= w & ~(w + (1u << b)) & edge;
    }
    /* Large components: one addition for the threads of a warp that share a root. */
    uint32_t sharing = __match_any_sync(~0u, root);
    area = __reduce_add_sync(sharing, area);
    marked = __reduce_or_sync(sharing, marked);
    if (threadIdx.x % 32 == __ffs(sharing) - 1)
        add_area(m, root, area, marked);
}

/* The components of a tile, whose word this thread holds: 8-connected (reach 1) or 4-connected
 * (reach 0). `edge` as in add_areas. Fills label, count, parent and area of tile number `tile`.
 * Components of `large` pixels, or at the border, belong to forest_large. For blocks of
 * tile_threads; `m` is free for use on entry after a barrier. */
template <int reach>
static __device__ inline void find_components(struct tile_memory *m, struct mask_forest forest,
                                              int tile, uint32_t w, uint32_t edge, uint32_t large)
{
    int t = threadIdx.x, row = t / tile_words, i = t % tile_words;
    int first_node = row * row_nodes + i * 16, first = tile * tile_nodes;
    int head = run_head(w);
    m->words[row][i] = w;
    m->heads[row][i] = (uint16_t)head;
    /* The runs that start in this word: this thread's own. */
    uint32_t own = head == 32 * i ? run_starts(w) : run_starts(w) & ~1u;
    for (uint32_t s = own; s; s &= s - 1) {
        int node = first_node + (__ffs(s) - 1) / 2;
        m->label[node] = node;
    }
    for (int k = t; k < tile_nodes / 2; k += tile_threads)
        m->area[k] = 0;
    __syncthreads();
    join_rows<reach>(m);

    int roots = 0;
    for (uint32_t s = own; s; s &= s - 1) {
        int node = first_node + (__ffs(s) - 1) / 2;
        roots += m->label[node] == node;
    }
    /* The roots are numbered in the order of threads. */
    int before = roots;
    for (int d = 1; d < 32; d *= 2) {
        int other = __shfl_up_sync(~0u, before, d);
        before += t % 32 >= d ? other : 0;
    }
    if (t % 32 == 31)
        m->warp_roots[t / 32] = before;
    add_areas(m, row, i, w, head, edge);
    __syncthreads();

    int k = before - roots;
    for (int warp = 0; warp < t / 32; warp++)
        k += m->warp_roots[warp];
    for (uint32_t s = own; s; s &= s - 1) {
        int node = first_node + (__ffs(s) - 1) / 2;
        if (m->label[node] != node)
            continue;
        uint32_t area = m->area[node / 2] >> (node % 2 * 16);
        area = (area & 0x7fff) | (area & 0x8000 ? at_border : 0);
        forest.area[first + k] = area;
        forest.parent[first + k] = area < large ? first + k : forest_large;
        m->label[node] = ~k;
        k++;
    }
    if (t == tile_threads - 1)
        forest.count[tile] = k;
    __syncthreads();
    for (uint32_t s = own; s; s &= s - 1) {
        int node = first_node + (__ffs(s) - 1) / 2, label = m->label[node];
        while (label >= 0)
            label = m->label[label];
        forest.label[first + node] = (uint16_t)~label;
    }
}

#endif
