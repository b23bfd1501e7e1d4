/* CAQR on the GPU: factor and factor_tree (Anderson et al. 2011, section IV.D), one thread block a
 * leaf of a panel, and the updates of the panel's own columns inside it. */
#include "gpu/qr/caqr/panel.cuh"

struct factor_args {
    struct caqr_level level;
    int cols, real, padded, keep, pairs, fours; /* cols: that the level's matrix has */
    float *r; /* where the leaves' Rs go: leaf l's from row l * padded */
    int64_t ldr;
    int r_rows; /* rows and columns of an R that exist there: padded, or cols at the end */
};

/* Shared memory of a warp: its reflectors of a sub-block and their T for the warps on its right,
 * and a barrier each way. R by warp follows: blocks 0 .. w of 16 rows for warp w, block i at d[(w *
 * (w + 1) / 2 + i) * 64 + 32 h + lane] = rows 8 h + 2 t + {0, 1} of columns 16 w + g + {0, 8}. */
struct warp_shared {
    struct caqr_tile tile;
    struct caqr_t t;
    struct caqr_panel_shared panel;
    uint64_t full, empty;
};

static __host__ __device__ __forceinline__ int r_blocks(int warps)
{
    return warps * (warps + 1) / 2;
}

size_t caqr_factor_bytes(int warps)
{
    return (size_t)warps * sizeof(struct warp_shared) +
           (size_t)r_blocks(warps) * 64 * sizeof(float4);
}

/* The R that a node of the tree starts from, for the warp's columns. */
static __device__ void load_r(float4 *d, const float *a, int64_t lda, int blocks, int lane)
{
    int g = lane >> 2, t = lane & 3;
    for (int i = 0; i < 2 * blocks; i++) {
        const float *x = a + 8 * i + 2 * t + g * lda, *y = x + 8 * lda;
        d[32 * i + lane] = make_float4(x[0], x[1], y[0], y[1]);
    }
}

/* Stores the warp's columns of the leaf's R; warp w has row blocks 0 .. w, all other rows are 0. */
static __device__ void store_r(const struct factor_args &p, const float4 *d, int64_t leaf, int w,
                               int lane)
{
    int g = lane >> 2, t = lane & 3;
    for (int i = 0; i < p.padded / 8; i++) {
        float4 x = i / 2 <= w ? d[32 * i + lane] : make_float4(0, 0, 0, 0);
        int row = 8 * i + 2 * t, column = 16 * w + g;
        float *r = p.r + leaf * p.padded + row + column * p.ldr;
        float values[4] = { x.x, x.y, x.z, x.w };
        for (int q = 0; q < 4; q++)
            if (row + q % 2 < p.r_rows && column + q / 2 * 8 < p.r_rows)
                r[q % 2 + q / 2 * 8 * p.ldr] = row + q % 2 <= column + q / 2 * 8 ? values[q] : 0;
    }
}

/* In the first sub-block of a leaf, warp w's rows above its diagonal block are R, and the
 * diagonal block is the panel's top. Both are taken out of the body before the warp factors its
 * panel. */
static __device__ __forceinline__ void take_top(float (&c)[caqr_tiles][4], float4 *d, caqr_top &top,
                                                int w, int lane)
{
#pragma unroll
    for (int k = 0; k < caqr_tiles; k++)
        if (k / 2 <= w) {
            if (k / 2 < w)
                d[32 * k + lane] = make_float4(c[k][0], c[k][1], c[k][2], c[k][3]);
            else
#pragma unroll
                for (int q = 0; q < 4; q++)
                    top.x[q / 2][k % 2][q % 2] = c[k][q];
#pragma unroll
            for (int q = 0; q < 4; q++)
                c[k][q] = 0;
        }
}

/* The panel's results: R's diagonal block to d, reflectors and T to shared memory. square: the
 * first sub-block of a leaf, where top has reflectors too. */
static __device__ __forceinline__ void finish_panel(float (&c)[caqr_tiles][4], float4 *d,
                                                    const caqr_top &top, const float (&factor)[2],
                                                    struct warp_shared *s, int square, int w,
                                                    int lane)
{
    int g = lane >> 2, t = lane & 3;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float x[4];
#pragma unroll
        for (int q = 0; q < 4; q++)
            x[q] = 8 * h + 2 * t + q % 2 <= g + q / 2 * 8 ? top.x[q / 2][h][q % 2] : 0;
        d[64 * w + 32 * h + lane] = make_float4(x[0], x[1], x[2], x[3]);
    }
#pragma unroll
    for (int k = 0; k < caqr_tiles; k++)
#pragma unroll
        for (int q = 0; q < 4; q++) {
            c[k][q] *= factor[q / 2];
            if (square && k / 2 == w) { /* c is 0 above */
                int row = 8 * (k % 2) + 2 * t + q % 2, column = g + q / 2 * 8;
                float below = factor[q / 2] * top.x[q / 2][k % 2][q % 2];
                c[k][q] = row > column ? below : row == column ? 1.0f : 0.0f;
            }
        }
    caqr_pack(&s->tile, c, lane);
    float row[caqr_inner];
    caqr_form_t(&s->panel, row, lane);
    if (lane < caqr_inner)
#pragma unroll
        for (int i = 0; i < caqr_inner; i += 4)
            *(float4 *)&s->t.x[lane][i] = make_float4(row[i], row[i + 1], row[i + 2], row[i + 3]);
}

/* Writes the warp's reflectors over the elements of A, with their ones and zeros, and T. */
static __device__ __forceinline__ void keep_panel(const struct factor_args &p,
                                                  const struct warp_shared *s, float *a,
                                                  int64_t rows, float *t, int w, int lane)
{
    caqr_flush(a + 4 * lane, p.level.ldv, &s->tile, caqr_room(rows, lane), p.cols - caqr_inner * w,
               p.fours, lane);
    for (int i = lane; i < caqr_t_size / 4; i += 32)
        ((float4 *)t)[i] = *(const float4 *)&s->t.x[i / 4][i % 4 * 4];
}

/* Factors the warp's own panel: its columns are in c, and the R above them in d; the reflectors
 * replace the columns, unscaled. */
static __device__ __forceinline__ void factor_columns(float (&c)[caqr_tiles][4], float4 *d,
                                                      caqr_top &top, float (&factor)[2],
                                                      struct caqr_panel_shared *panel, int square,
                                                      int count, int w, int lane)
{
    if (square) {
        take_top(c, d, top, w, lane);
    } else {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float4 x = d[64 * w + 32 * h + lane];
            top.x[0][h][0] = x.x;
            top.x[0][h][1] = x.y;
            top.x[1][h][0] = x.z;
            top.x[1][h][1] = x.w;
        }
    }
    struct caqr_alone alone;
    caqr_factor_panel(c, top, factor, panel, count, lane, alone);
}

/* Thread block: leaf blockIdx.x, a warp for every 16 columns. The warps are a pipeline for the
 * sub-blocks: a warp applies the reflectors of the warps on its left to its columns, factors
 * them, and passes its own reflectors to the warps on its right. Meanwhile the warps on its left
 * work on the next sub-block. */
static __global__ void __launch_bounds__(384, 1)
    factor(const __grid_constant__ struct factor_args p)
{
    extern __shared__ float4 shared[];
    int w = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, warps = p.padded / caqr_inner;
    struct warp_shared *all = (struct warp_shared *)shared, *s = all + w;
    float4 *d = (float4 *)(all + warps) + r_blocks(w) * 64;
    int64_t leaf = blockIdx.x, rows = caqr_leaf_rows(&p.level, leaf);
    float *a = p.level.v + leaf * p.level.leaf_rows + (int64_t)caqr_inner * w * p.level.ldv;
    const float *from = p.level.from + leaf * p.level.leaf_rows + caqr_inner * w * p.level.ldf;
    float *t = p.level.t + (leaf * p.level.subs * warps + w) * caqr_t_size;
    if (lane == 0) {
        caqr_barrier_init(&s->full, 32);
        caqr_barrier_init(&s->empty, w + 1 < warps ? 32 * (warps - 1 - w) : 32);
    }
    __syncthreads();
    if (p.level.tree) {
        load_r(d, from, p.level.ldf, w + 1, lane);
        a += p.padded;
        from += p.padded;
        rows -= p.padded;
    }
    /* Columns of the panel, not of its padding. */
    int count = p.real - caqr_inner * w < caqr_inner ? p.real - caqr_inner * w : caqr_inner;
    float c[caqr_tiles][4];
    caqr_load(c, from, p.level.ldf, rows, p.cols - caqr_inner * w, p.pairs, lane);
#pragma unroll 1
    for (int sub = 0; rows > 0; sub++) {
        int square = !p.level.tree && sub == 0;
        caqr_top top;
        float factor[2];
        caqr_prefetch(from + caqr_rows, p.level.ldf, rows - caqr_rows, p.cols - caqr_inner * w,
                      lane);
#pragma unroll 1
        for (int i = 0; i < w; i++) {
            caqr_wait(&all[i].full, sub);
            caqr_apply_block(c, square ? NULL : d + 64 * i, &all[i].tile, &all[i].t, 1, lane);
            caqr_arrive(&all[i].empty);
        }
        factor_columns(c, d, top, factor, &s->panel, square, count, w, lane);
        if (sub > 0 && w + 1 < warps)
            caqr_wait(&s->empty, sub - 1);
        finish_panel(c, d, top, factor, s, square, w, lane);
        __syncwarp();
        caqr_arrive(&s->full);
        if (rows > caqr_rows)
            caqr_load(c, from + caqr_rows, p.level.ldf, rows - caqr_rows, p.cols - caqr_inner * w,
                      p.pairs, lane);
        if (p.keep)
            keep_panel(p, s, a, rows, t, w, lane);
        __syncwarp();
        rows -= caqr_rows;
        a += caqr_rows;
        from += caqr_rows;
        t += warps * caqr_t_size;
    }
    store_r(p, d, leaf, w, lane);
}

enum bd_status caqr_factor_prepare(const struct bd_cuda *cuda)
{
    return bd_cuda_check(cudaFuncSetAttribute(factor, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              cuda->shared_most),
                         "CAQR: shared memory of factor");
}

enum bd_status caqr_factor_level(struct bd_cuda *cuda, const struct caqr_panel *panel, int index,
                                 int keep, float *r, int64_t ldr)
{
    const struct caqr_level *level = &panel->level[index];
    struct factor_args args;
    args.level = *level;
    if (level->tree) {
        args.level.from = level->v;
        args.level.ldf = level->ldv;
    }
    args.cols = level->tree ? panel->padded : panel->cols;
    args.real = panel->cols;
    args.padded = panel->padded;
    args.keep = keep;
    args.pairs = caqr_aligned(args.level.from, args.level.ldf, 2);
    args.fours = caqr_aligned(level->v, level->ldv, 4);
    if (index + 1 < panel->levels) {
        args.r = level[1].v;
        args.ldr = level[1].ldv;
        args.r_rows = panel->padded;
    } else {
        args.r = r;
        args.ldr = ldr;
        args.r_rows = panel->cols;
    }
    int warps = panel->padded / caqr_inner;
    size_t bytes = caqr_factor_bytes(warps);
    factor<<<(unsigned)level->leaves, (unsigned)(32 * warps), bytes, cuda->stream>>>(args);
    return bd_cuda_launched(level->tree ? "CAQR: factor_tree" : "CAQR: factor");
}
