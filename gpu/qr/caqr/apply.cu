/* CAQR on the GPU: apply_qt_h and apply_qt_tree (Anderson et al. 2011, section IV.D), their
 * inverses, and the same on an identity (form_q). One thread block applies a leaf of a panel, or a
 * node of its tree, to the columns of its warps, 16 each. */
#include "gpu/qr/caqr/block.cuh"

static const int64_t most_grid = INT32_MAX;
static const int usual_warps = 4;

struct apply_args {
    struct caqr_level level;
    int padded, cols, transposed;
    int column_blocks;
    int v_fours, from_fours, c_fours, c_pairs;
    const float *from;
    int64_t ldf;
    float *c;
    int64_t ldc, k;
    struct caqr_row_map map;
    const float *tops;
    int64_t ld_tops;
};

/* Shared memory of a block: two inner blocks of reflectors, one in use and one arriving; for each
 * warp a tile, where the next sub-block's columns arrive, and D, the top of the leaf: block i of 16
 * rows at d[(w * blocks + i) * 64 + 32 h + lane] = rows 8 h + 2 t + {0, 1} of columns g, g + 8. */
struct apply_shared {
    struct caqr_tile v[2];
    struct caqr_t t[2];
};

size_t caqr_apply_bytes(int warps, int padded)
{
    return sizeof(struct apply_shared) +
           (size_t)warps * (sizeof(struct caqr_tile) + (size_t)padded / 8 * 32 * sizeof(float4));
}

/* Where row `row` of a leaf is in a column that starts at the leaf's first row. *room: how many
 * of the `end` rows of the leaf exist from there on, at most `most`. Groups are multiples of 16
 * rows. */
static __device__ __forceinline__ int64_t locate(const struct caqr_row_map &map, int64_t row,
                                                 int64_t end, int most, int *room)
{
    int64_t left = end - row;
    if (map.group) {
        int group = (int)row / map.group, within = (int)row - group * map.group;
        left = left > 0 ? map.live - within : 0;
        row = group * map.stride + within;
    }
    *room = left < 0 ? 0 : left > most ? most : (int)left;
    return row;
}

/* D := the top of the leaf at c, and back. With tops (form_q) it comes from there. */
static __device__ __forceinline__ void load_top(const struct apply_args &p, float4 *d,
                                                const float *c, const float *tops, int64_t end,
                                                int columns, int lane)
{
    int g = lane >> 2, t = lane & 3;
    for (int i = 0; i < p.padded / 8; i++) {
        int room = 2;
        const float *x = tops + 8 * i + 2 * t + g * p.ld_tops, *y = x + 8 * p.ld_tops;
        if (!tops) {
            x = c + locate(p.map, 8 * i + 2 * t, end, 2, &room) + g * p.ldc;
            y = x + 8 * p.ldc;
        }
        int left = g < columns ? room : 0, right = g + 8 < columns ? room : 0;
        d[32 * i + lane] = make_float4(left > 0 ? x[0] : 0, left > 1 ? x[1] : 0,
                                       right > 0 ? y[0] : 0, right > 1 ? y[1] : 0);
    }
}

static __device__ __forceinline__ void store_top(const struct apply_args &p, const float4 *d,
                                                 float *c, int64_t end, int columns, int lane)
{
    int g = lane >> 2, t = lane & 3;
    for (int i = 0; i < p.padded / 8; i++) {
        int room;
        float *x = c + locate(p.map, 8 * i + 2 * t, end, 2, &room) + g * p.ldc, *y = x + 8 * p.ldc;
        float4 z = d[32 * i + lane];
        int left = g < columns ? room : 0, right = g + 8 < columns ? room : 0;
        if (left > 0)
            x[0] = z.x;
        if (left > 1)
            x[1] = z.y;
        if (right > 0)
            y[0] = z.z;
        if (right > 1)
            y[1] = z.w;
    }
}

/* Begins to fetch inner block i of the sub-block at v, `rows` rows, and its T at t: a column a
 * warp. */
static __device__ __forceinline__ void
fetch_reflectors(const struct apply_args &p, struct apply_shared *s, int slot, const float *v,
                 int64_t rows, const float *t, int i, int w, int warps, int lane)
{
    int cols = (p.level.tree ? p.padded : p.cols) - caqr_inner * i, thread = 32 * w + lane;
    caqr_fetch(&s->v[slot], v + caqr_inner * i * p.level.ldv + 4 * lane, p.level.ldv,
               caqr_room(rows, lane), cols, p.v_fours, w, warps, lane);
    for (int j = thread; j < caqr_t_size / 4; j += 32 * warps)
        pipeline_copy<16>(&s->t[slot].x[j / 4][j % 4 * 4], t + i * caqr_t_size + 4 * j, 16);
}

/* The top of a leaf's first sub-block between registers and D. */
static __device__ __forceinline__ void take_top(float (&c)[caqr_tiles][4], const float4 *d,
                                                int padded, int lane)
{
#pragma unroll
    for (int k = 0; k < caqr_tiles; k++)
        if (k < padded / 8) {
            float4 x = d[32 * k + lane];
            c[k][0] = x.x;
            c[k][1] = x.y;
            c[k][2] = x.z;
            c[k][3] = x.w;
        }
}

static __device__ __forceinline__ void put_top(float4 *d, const float (&c)[caqr_tiles][4],
                                               int padded, int lane)
{
#pragma unroll
    for (int k = 0; k < caqr_tiles; k++)
        if (k < padded / 8)
            d[32 * k + lane] = make_float4(c[k][0], c[k][1], c[k][2], c[k][3]);
}

/* Begins to fetch columns first, first + step, ... of the warp's from the sub-block at `row` of the
 * leaf. */
static __device__ __forceinline__ void fetch_columns(const struct apply_args &p,
                                                     struct caqr_tile *tile, const float *from,
                                                     int64_t row, int64_t end, int columns,
                                                     int first, int step, int lane)
{
    int room;
    int64_t at = locate(p.map, row + 4 * lane, end, 4, &room);
    caqr_fetch(tile, from + at, p.ldf, room, columns, p.from_fours, first, step, lane);
}

/* Thread block: leaf blockIdx.x / column_blocks, a warp for every 16 columns. A step is an inner
 * block of reflectors of a sub-block; both are taken in rising order for Q^T, in falling order
 * for Q. During a step the next step's reflectors and a part of the next sub-block's columns are
 * being copied. */
static __global__ void __launch_bounds__(384, 1) apply(const __grid_constant__ struct apply_args p)
{
    extern __shared__ float4 shared[];
    struct apply_shared *s = (struct apply_shared *)shared;
    int w = (int)threadIdx.x / 32, warps = (int)blockDim.x / 32, lane = (int)threadIdx.x % 32;
    int blocks = p.padded / caqr_inner, transposed = p.transposed;
    struct caqr_tile *tile = (struct caqr_tile *)(s + 1) + w;
    float4 *d = (float4 *)((struct caqr_tile *)(s + 1) + warps) + (size_t)(w * blocks) * 64;
    int64_t leaf = blockIdx.x / (unsigned)p.column_blocks, rows = caqr_leaf_rows(&p.level, leaf);
    int folds = p.level.tree ? p.padded : 0; /* where the leaf's sub-blocks start */
    int subs = (int)((rows - folds + caqr_rows - 1) / caqr_rows);
    if (subs <= 0) /* a node with one child */
        return;
    const float *v = p.level.v + leaf * p.level.leaf_rows + folds;
    const float *t = p.level.t + leaf * p.level.subs * blocks * caqr_t_size;
    int64_t column = ((int64_t)(blockIdx.x % (unsigned)p.column_blocks) * warps + w) * caqr_inner;
    int columns = (int)(p.k - column < caqr_inner ? p.k - column : caqr_inner);
    int64_t first = leaf * p.level.leaf_rows;
    if (p.map.group)
        first = first / p.map.group * p.map.stride;
    const float *from = p.from + first + column * p.ldf;
    float *mine = p.c + first + column * p.ldc;
    bool fetching = columns > 0 && !p.tops;
    int sub = transposed ? 0 : subs - 1, onward = transposed ? 1 : -1;
    float c[caqr_tiles][4];
    fetch_reflectors(p, s, 0, v + (int64_t)sub * caqr_rows, rows - folds - (int64_t)sub * caqr_rows,
                     t + (int64_t)sub * blocks * caqr_t_size, transposed ? 0 : blocks - 1, w, warps,
                     lane);
    if (fetching)
        fetch_columns(p, tile, from, folds + (int64_t)sub * caqr_rows, rows, columns, 0, 1, lane);
    if (columns > 0 && (p.level.tree || !transposed))
        load_top(p, d, mine, p.tops ? p.tops + leaf * p.padded + column * p.ld_tops : NULL, rows,
                 columns, lane);
    int slot = 0;
#pragma unroll 1
    for (int round = 0; round < subs; round++, sub += onward) {
        int64_t row = folds + (int64_t)sub * caqr_rows;
        bool square = !p.level.tree && sub == 0, ahead = round + 1 < subs;
        caqr_copies_done();
        __syncthreads();
        if (p.tops) {
#pragma unroll
            for (int k = 0; k < caqr_tiles; k++)
                c[k][0] = c[k][1] = c[k][2] = c[k][3] = 0;
        } else {
            caqr_unpack(c, tile, lane);
            __syncwarp();
        }
        if (square && !transposed)
            take_top(c, d, p.padded, lane);
#pragma unroll 1
        for (int q = 0; q < blocks; q++, slot ^= 1) {
            int i = transposed ? q : blocks - 1 - q;
            bool last = q + 1 == blocks;
            if (q > 0) {
                caqr_copies_done();
                __syncthreads(); /* the step's reflectors have arrived; the other slot is free */
            }
            if (!last || ahead) {
                int to = last ? sub + onward : sub;
                int next = last ? (transposed ? 0 : blocks - 1) : i + onward;
                int64_t below = (int64_t)to * caqr_rows;
                fetch_reflectors(p, s, slot ^ 1, v + below, rows - folds - below,
                                 t + (int64_t)to * blocks * caqr_t_size, next, w, warps, lane);
            }
            if (columns <= 0)
                continue;
            if (ahead && fetching && !p.map.group)
                fetch_columns(p, tile, from, row + onward * caqr_rows, rows, columns, q, blocks,
                              lane);
            caqr_apply_block(c, square ? NULL : d + 64 * i, &s->v[slot], &s->t[slot], transposed,
                             lane);
        }
        if (columns <= 0)
            continue;
        if (square && transposed)
            put_top(d, c, p.padded, lane);
        if (!p.map.group) {
            caqr_store(mine + row, p.ldc, c, rows - row, columns, p.c_pairs, lane);
            continue;
        }
        int room;
        int64_t at = locate(p.map, row + 4 * lane, rows, 4, &room);
        caqr_pack(tile, c, lane);
        __syncwarp();
        caqr_flush(mine + at, p.ldc, tile, room, columns, p.c_fours, lane);
        __syncwarp();
        if (round + 1 < subs)
            fetch_columns(p, tile, from, row + onward * caqr_rows, rows, columns, 0, 1, lane);
    }
    if (columns > 0 && (p.level.tree || transposed)) {
        __syncwarp();
        store_top(p, d, mine, rows, columns, lane);
    }
}

enum bd_status caqr_apply_prepare(const struct bd_cuda *cuda)
{
    return bd_cuda_check(
        cudaFuncSetAttribute(apply, cudaFuncAttributeMaxDynamicSharedMemorySize, cuda->shared_most),
        "CAQR: shared memory of apply");
}

enum bd_status caqr_apply_level(struct bd_cuda *cuda, const struct caqr_panel *panel, int index,
                                int transposed, const float *from, int64_t ldf, float *c,
                                int64_t ldc, int64_t k, struct caqr_row_map map, const float *tops,
                                int64_t ld_tops)
{
    const struct caqr_level *level = &panel->level[index];
    struct apply_args args;
    args.level = *level;
    args.padded = panel->padded;
    args.cols = panel->cols;
    args.transposed = transposed;
    args.v_fours = caqr_aligned(level->v, level->ldv, 4);
    args.c_fours = caqr_aligned(c, ldc, 4);
    args.c_pairs = caqr_aligned(c, ldc, 2);
    args.from_fours = caqr_aligned(from, ldf, 4);
    args.ldf = ldf;
    args.ldc = ldc;
    args.map = map;
    args.tops = tops;
    args.ld_tops = ld_tops;
    for (int64_t start = 0; start < k;) {
        int64_t tiles = (k - start + caqr_inner - 1) / caqr_inner, most = most_grid / level->leaves;
        int warps = usual_warps;
        while (warps > 1 && caqr_apply_bytes(warps, panel->padded) > (size_t)cuda->shared_most)
            warps--;
        int64_t columns = (tiles + warps - 1) / warps;
        warps = (int)((tiles + columns - 1) / columns); /* even shares */
        if (tops) { /* in place: a block must have all columns */
            warps = panel->padded / caqr_inner;
            columns = 1;
        }
        columns = columns < most ? columns : most > 1 ? most : 1;
        args.column_blocks = (int)columns;
        args.from = from + start * ldf;
        args.c = c + start * ldc;
        args.k = k - start;
        size_t bytes = caqr_apply_bytes(warps, panel->padded);
        apply<<<(unsigned)(level->leaves * columns), (unsigned)(32 * warps), bytes, cuda->stream>>>(
            args);
        start += columns * warps * caqr_inner;
    }
    return bd_cuda_launched(level->tree ? "CAQR: apply_qt_tree" : "CAQR: apply_qt_h");
}
