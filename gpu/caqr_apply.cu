/* CAQR on the GPU: apply_qt_h and apply_qt_tree (Anderson et al. 2011, section IV.D), their
 * inverses, and the same on an identity (form_q). One thread block applies a leaf of a panel, or a
 * node of its tree, to the columns of its warps, 16 each. */
#include "gpu/caqr_block.cuh"

enum { staged = 4 }; /* tiles of a block of reflectors that a warp fetches */
static const int least_warps = caqr_tiles / staged;

struct apply_args {
    struct caqr_level level;
    int padded, cols, transposed;
    int column_warps; /* warps of a block that have columns; the others only fetch reflectors */
    int v_pairs, c_pairs;
    float *c;
    int64_t ldc, k;
    struct caqr_row_map map;
    const float *tops;
    int64_t ld_tops;
};

/* Two blocks of reflectors, one in use and one arriving, and the top D of the leaf for each warp's
 * columns: d[(w * blocks + i) * 64 + 32 h + lane] are rows 16 i + 8 h + 2 t + {0, 1} of columns g,
 * g + 8. */
struct apply_shared {
    struct caqr_reflectors v[2];
    float4 d[1];
};

/* Reflectors on their way: a warp's tiles, and a thread's part of T. */
struct staging {
    float v[staged][4];
    float4 t;
};

/* Rows 8 k + 2 t, + 1 of a leaf from `row` on (a multiple of 8; the leaf has `end` rows), for the
 * columns g, g + 8 of c, the leaf's first row: those are together that the map puts together,
 * because groups are multiples of 16. */
static __device__ __forceinline__ void load_tile(const struct apply_args &p, float x[4],
                                                 const float *c, int row, int64_t end, int columns,
                                                 int lane)
{
    int g = lane >> 2, t = lane & 3, room = caqr_room(end - row) - 2 * t;
    if (p.map.group) {
        int group = row / p.map.group, within = row - group * p.map.group;
        c += group * p.map.stride + within;
        if (room > 0)
            room = p.map.live - within - 2 * t;
    } else {
        c += row;
    }
    c += 2 * t + g * p.ldc;
    float2 a = caqr_load2(c, g < columns ? room : 0, p.c_pairs);
    float2 b = caqr_load2(c + 8 * p.ldc, g + 8 < columns ? room : 0, p.c_pairs);
    x[0] = a.x;
    x[1] = a.y;
    x[2] = b.x;
    x[3] = b.y;
}

static __device__ __forceinline__ void store_tile(const struct apply_args &p, const float x[4],
                                                  float *c, int row, int64_t end, int columns,
                                                  int lane)
{
    int g = lane >> 2, t = lane & 3, room = caqr_room(end - row) - 2 * t;
    if (p.map.group) {
        int group = row / p.map.group, within = row - group * p.map.group;
        c += group * p.map.stride + within;
        if (room > 0)
            room = p.map.live - within - 2 * t;
    } else {
        c += row;
    }
    c += 2 * t + g * p.ldc;
    caqr_store2(c, g < columns ? room : 0, p.c_pairs, x[0], x[1]);
    caqr_store2(c + 8 * p.ldc, g + 8 < columns ? room : 0, p.c_pairs, x[2], x[3]);
}

/* Fetches inner block i of the sub-block at v, `rows` rows, with T at t. Warp w takes tiles w, w +
 * warps, ... */
static __device__ __forceinline__ void fetch(const struct apply_args &p, struct staging *s,
                                             const float *v, int rows, const float *t_in, int i,
                                             int w, int warps, int lane)
{
    int g = lane >> 2, t = lane & 3, columns = (p.level.tree ? p.padded : p.cols) - caqr_inner * i;
    v += 2 * t + (caqr_inner * i + g) * p.level.ldv;
#pragma unroll
    for (int q = 0; q < staged; q++) {
        int k = w + q * warps, room = k < caqr_tiles ? rows - (8 * k + 2 * t) : 0;
        float2 a = caqr_load2(v + 8 * k, g < columns ? room : 0, p.v_pairs);
        float2 b = caqr_load2(v + 8 * k + 8 * p.level.ldv, g + 8 < columns ? room : 0, p.v_pairs);
        s->v[q][0] = a.x;
        s->v[q][1] = a.y;
        s->v[q][2] = b.x;
        s->v[q][3] = b.y;
    }
    if (32 * w + lane < caqr_t_size / 4)
        s->t = ((const float4 *)(t_in + i * caqr_t_size))[32 * w + lane];
}

static __device__ __forceinline__ void put(const struct staging *s, struct caqr_reflectors *to,
                                           int w, int warps, int lane)
{
    int thread = 32 * w + lane;
#pragma unroll
    for (int q = 0; q < staged; q++)
        if (w + q * warps < caqr_tiles)
            caqr_put_tile(to, w + q * warps, lane, s->v[q]);
    if (thread < caqr_t_size / 4)
        *(float4 *)&to->t[thread / 4][thread % 4 * 4] = s->t;
}

/* D := the top of the leaf at c, and back. With tops (form_q) it comes from there. */
static __device__ __forceinline__ void load_top(const struct apply_args &p, float4 *d,
                                                const float *c, const float *tops, int64_t end,
                                                int columns, int lane)
{
    int g = lane >> 2, t = lane & 3;
    for (int i = 0; i < p.padded / 8; i++) {
        float x[4] = { 0, 0, 0, 0 };
        if (tops) {
            const float *from = tops + 8 * i + 2 * t + g * p.ld_tops;
            for (int q = 0; q < 2; q++) {
                x[q] = g < columns ? from[q] : 0;
                x[q + 2] = g + 8 < columns ? from[q + 8 * p.ld_tops] : 0;
            }
        } else {
            load_tile(p, x, c, 8 * i, end, columns, lane);
        }
        d[32 * i + lane] = make_float4(x[0], x[1], x[2], x[3]);
    }
}

static __device__ __forceinline__ void store_top(const struct apply_args &p, const float4 *d,
                                                 float *c, int64_t end, int columns, int lane)
{
    for (int i = 0; i < p.padded / 8; i++) {
        float4 y = d[32 * i + lane];
        float x[4] = { y.x, y.y, y.z, y.w };
        store_tile(p, x, c, 8 * i, end, columns, lane);
    }
}

/* The warp's columns of the sub-block that starts at `row` of the leaf at `from`; with form_q they
 * are 0 on entry. with_top: the leaf's first sub-block for Q, whose top is in D. */
static __device__ __forceinline__ void load_block(const struct apply_args &p,
                                                  float (&c)[caqr_tiles][4], const float *from,
                                                  const float4 *d, int row, int64_t end,
                                                  int columns, int with_top, int lane)
{
    if (p.tops) {
#pragma unroll
        for (int k = 0; k < caqr_tiles; k++)
            c[k][0] = c[k][1] = c[k][2] = c[k][3] = 0;
    } else if (!p.map.group) {
        caqr_load_block(c, from + row, p.ldc, caqr_room(end - row), columns, p.c_pairs, lane);
    } else {
#pragma unroll
        for (int k = 0; k < caqr_tiles; k++)
            load_tile(p, c[k], from, row + 8 * k, end, columns, lane);
    }
    if (!with_top)
        return;
#pragma unroll
    for (int k = 0; k < caqr_tiles; k++)
        if (k < p.padded / 8) {
            float4 x = d[32 * k + lane];
            c[k][0] = x.x;
            c[k][1] = x.y;
            c[k][2] = x.z;
            c[k][3] = x.w;
        }
}

/* The inverse. with_top: the first sub-block for Q^T, whose top is D of those that follow. */
static __device__ __forceinline__ void store_block(const struct apply_args &p,
                                                   const float (&c)[caqr_tiles][4], float *to,
                                                   float4 *d, int row, int64_t end, int columns,
                                                   int with_top, int lane)
{
    if (with_top)
#pragma unroll
        for (int k = 0; k < caqr_tiles; k++)
            if (k < p.padded / 8)
                d[32 * k + lane] = make_float4(c[k][0], c[k][1], c[k][2], c[k][3]);
    if (!p.map.group) {
        caqr_store_block(to + row, p.ldc, c, caqr_room(end - row), columns, p.c_pairs, lane);
        return;
    }
#pragma unroll
    for (int k = 0; k < caqr_tiles; k++)
        store_tile(p, c[k], to, row + 8 * k, end, columns, lane);
}

/* Block (x, y): leaf x, columns from 16 column_warps y on. A step is an inner block of reflectors
 * of a sub-block; both are taken in rising order for Q^T, in falling order for Q. */
static __global__ void __launch_bounds__(384, 1) apply(const __grid_constant__ struct apply_args p)
{
    extern __shared__ float4 shared[];
    struct apply_shared *s = (struct apply_shared *)shared;
    int w = (int)threadIdx.x / 32, warps = (int)blockDim.x / 32, lane = (int)threadIdx.x % 32;
    int blocks = p.padded / caqr_inner;
    int64_t leaf = blockIdx.x, rows = caqr_leaf_rows(&p.level, leaf);
    int folds = p.level.tree ? p.padded : 0; /* where the leaf's sub-blocks start */
    int subs = (int)((rows - folds + caqr_rows - 1) / caqr_rows), steps = subs * blocks;
    if (subs <= 0) /* a node with one child */
        return;
    const float *v = p.level.v + leaf * p.level.leaf_rows + folds;
    const float *t = p.level.t + leaf * p.level.subs * blocks * caqr_t_size;
    int64_t column = ((int64_t)blockIdx.y * p.column_warps + w) * caqr_inner;
    int columns = p.k - column < caqr_inner ? (int)(p.k - column) : caqr_inner;
    bool active = w < p.column_warps && columns > 0;
    int64_t first = leaf * p.level.leaf_rows;
    if (p.map.group)
        first = first / p.map.group * p.map.stride;
    float *mine = p.c + first + column * p.ldc;
    float4 *d = s->d + (size_t)(w * blocks) * 64;
    float c[caqr_tiles][4];
    struct staging arriving;
    if (active && (p.level.tree || !p.transposed))
        load_top(p, d, mine, p.tops ? p.tops + leaf * p.padded + column * p.ld_tops : NULL, rows,
                 columns, lane);
#pragma unroll 1
    for (int step = -1; step < steps; step++) {
        if (step >= 0) {
            put(&arriving, &s->v[step % 2], w, warps, lane);
            __syncthreads();
        }
        if (step + 1 < steps) {
            int next = p.transposed ? step + 1 : steps - 2 - step, sub = next / blocks;
            int64_t row = (int64_t)sub * caqr_rows;
            fetch(p, &arriving, v + row, caqr_room(rows - folds - row),
                  t + (int64_t)sub * blocks * caqr_t_size, next - sub * blocks, w, warps, lane);
        }
        if (step < 0 || !active)
            continue;
        int now = p.transposed ? step : steps - 1 - step, sub = now / blocks,
            i = now - sub * blocks;
        int square = !p.level.tree && sub == 0, row = folds + sub * caqr_rows;
        if (i == (p.transposed ? 0 : blocks - 1))
            load_block(p, c, mine, d, row, rows, columns, square && !p.transposed, lane);
        if (square)
            caqr_apply_block<0>(c, NULL, &s->v[step % 2], p.transposed, lane);
        else
            caqr_apply_block<1>(c, d + 64 * i, &s->v[step % 2], p.transposed, lane);
        if (i == (p.transposed ? blocks - 1 : 0))
            store_block(p, c, mine, d, row, rows, columns, square && p.transposed, lane);
    }
    if (active && (p.level.tree || p.transposed))
        store_top(p, d, mine, rows, columns, lane);
}

/* Blocks of columns, and warps of each that have columns. */
static int64_t column_blocks(int64_t k, int *warps)
{
    int64_t tiles = (k + caqr_inner - 1) / caqr_inner,
            blocks = (tiles + least_warps - 1) / least_warps;
    *warps = (int)((tiles + blocks - 1) / blocks);
    return (tiles + *warps - 1) / *warps;
}

enum bd_status caqr_apply_level(struct bd_cuda *cuda, const struct caqr_panel *panel, int index,
                                int transposed, float *c, int64_t ldc, int64_t k,
                                struct caqr_row_map map, const float *tops, int64_t ld_tops)
{
    enum { most_blocks = 32768 };
    const struct caqr_level *level = &panel->level[index];
    struct apply_args args;
    args.level = *level;
    args.padded = panel->padded;
    args.cols = panel->cols;
    args.transposed = transposed;
    args.v_pairs = caqr_pairs(level->v, level->ldv);
    args.c_pairs = caqr_pairs(c, ldc);
    args.ldc = ldc;
    args.map = map;
    args.tops = tops;
    args.ld_tops = ld_tops;
    for (int64_t start = 0; start < k;) {
        int64_t columns = column_blocks(k - start, &args.column_warps);
        if (tops) { /* in place: a block must have all columns */
            args.column_warps = panel->padded / caqr_inner;
            columns = 1;
        }
        columns = columns < most_blocks ? columns : (int64_t)most_blocks;
        args.c = c + start * ldc;
        args.k = k - start;
        int warps = args.column_warps < least_warps ? (int)least_warps : args.column_warps;
        size_t bytes = offsetof(struct apply_shared, d) +
                       (size_t)args.column_warps * panel->padded / 8 * 32 * sizeof(float4);
        enum bd_status status = bd_cuda_check(
            cudaFuncSetAttribute(apply, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
            "CAQR: shared memory of apply");
        if (status != BD_OK)
            return status;
        dim3 grid((unsigned)level->leaves, (unsigned)columns);
        apply<<<grid, (unsigned)(32 * warps), bytes, cuda->stream>>>(args);
        start += columns * args.column_warps * caqr_inner;
    }
    return bd_cuda_launched(level->tree ? "CAQR: apply_qt_tree" : "CAQR: apply_qt_h");
}
