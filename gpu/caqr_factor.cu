/* CAQR on the GPU: factor and factor_tree (Anderson et al. 2011, section IV.D), one thread block a
 * leaf of a panel, and the updates of the panel's own columns inside it. */
#include "gpu/caqr_panel.cuh"

struct factor_args {
    struct caqr_level level;
    int cols, padded, keep, pairs;
    float *r; /* where the leaves' Rs go: leaf l's from row l * padded */
    int64_t ldr;
    int r_size; /* rows and columns of an R that exist there: padded, or cols at the end */
};

/* Shared memory of a block of `warps` warps: two blocks of reflectors (one is read while the next
 * is written), the panel's, and R by warp: d[(w * warps + i) * 64 + 32 h + lane] are rows 16 i + 8
 * h + 2 t + {0, 1} of columns 16 w + g + {0, 8}. */
struct factor_shared {
    struct caqr_reflectors v[2];
    struct caqr_panel_shared panel;
    float4 d[1];
};

static size_t shared_bytes(int warps)
{
    return offsetof(struct factor_shared, d) + (size_t)(warps * warps) * 64 * sizeof(float4);
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

/* The warp's columns of the leaf's R; warp w has row blocks 0 .. w, the rest is 0. */
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
            if (row + q % 2 < p.r_size && column + q / 2 * 8 < p.r_size)
                r[q % 2 + q / 2 * 8 * p.ldr] = row + q % 2 <= column + q / 2 * 8 ? values[q] : 0;
    }
}

/* Before its own panel, warp w's rows of the first sub-block of a leaf above its diagonal block are
 * R and the block itself is the panel's top: both leave the body. */
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

/* The panel's results: R's diagonal block to d, reflectors to shared memory and over the elements
 * of A, T likewise. square: the first sub-block of a leaf, where top has reflectors too. */
static __device__ __forceinline__ void finish_panel(const struct factor_args &p,
                                                    float (&c)[caqr_tiles][4], float4 *d,
                                                    const caqr_top &top, const float (&factor)[2],
                                                    struct factor_shared *s, float *a, int64_t rows,
                                                    float *t_out, int square, int w, int lane)
{
    int g = lane >> 2, t = lane & 3;
    struct caqr_reflectors *v = &s->v[w % 2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float x[4];
#pragma unroll
        for (int q = 0; q < 4; q++)
            x[q] = 8 * h + 2 * t + q % 2 <= g + q / 2 * 8 ? top.x[q / 2][h][q % 2] : 0;
        d[64 * w + 32 * h + lane] = make_float4(x[0], x[1], x[2], x[3]);
    }
#pragma unroll
    for (int k = 0; k < caqr_tiles; k++) {
#pragma unroll
        for (int q = 0; q < 4; q++) {
            c[k][q] *= factor[q / 2];
            if (square && k / 2 == w) {
                int row = 8 * (k % 2) + 2 * t + q % 2, column = g + q / 2 * 8;
                float below = factor[q / 2] * top.x[q / 2][k % 2][q % 2];
                c[k][q] = row > column ? below : row == column ? 1.0f : 0.0f;
            }
        }
        caqr_put_tile(v, k, lane, c[k]);
    }
    if (p.keep) /* with its ones and zeros: c is 0 above the top */
        caqr_store_block(a, p.level.ldv, c, caqr_room(rows), p.cols - caqr_inner * w, p.pairs,
                         lane);
    float row[caqr_inner];
    caqr_form_t(&s->panel, row, lane);
    if (lane < caqr_inner)
#pragma unroll
        for (int i = 0; i < caqr_inner; i += 4) {
            float4 x = make_float4(row[i], row[i + 1], row[i + 2], row[i + 3]);
            *(float4 *)&v->t[lane][i] = x;
            if (p.keep)
                *(float4 *)(t_out + caqr_inner * lane + i) = x;
        }
}

/* One sub-block of the leaf, rows x cols at a, in c already: panel after panel, by the warp whose
 * columns they are; the warps on its right apply each. The next sub-block is loaded by a warp as
 * soon as its panel is done. */
static __device__ __forceinline__ void factor_block(const struct factor_args &p,
                                                    float (&c)[caqr_tiles][4], float4 *d,
                                                    struct factor_shared *s, float *a, int64_t rows,
                                                    float *t_out, int square, int w, int lane)
{
    int blocks = p.padded / caqr_inner;
    float *mine = a + 16 * w * p.level.ldv;
    for (int i = 0; i < blocks; i++) {
        if (w == i) {
            caqr_top top;
            float factor[2];
            if (!square) {
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    float4 x = d[64 * w + 32 * h + lane];
                    top.x[0][h][0] = x.x;
                    top.x[0][h][1] = x.y;
                    top.x[1][h][0] = x.z;
                    top.x[1][h][1] = x.w;
                }
            } else {
                take_top(c, d, top, w, lane);
            }
            caqr_factor_panel(c, top, factor, &s->panel, lane);
            finish_panel(p, c, d, top, factor, s, mine, rows, t_out + i * caqr_t_size, square, w,
                         lane);
            if (rows > caqr_rows)
                caqr_load_block(c, mine + caqr_rows, p.level.ldv, caqr_room(rows - caqr_rows),
                                p.cols - 16 * w, p.pairs, lane);
        }
        __syncthreads();
        if (w > i && square)
            caqr_apply_block<0>(c, NULL, &s->v[i % 2], 1, lane);
        else if (w > i)
            caqr_apply_block<1>(c, d + 64 * i, &s->v[i % 2], 1, lane);
    }
}

/* Block: leaf blockIdx.x, a warp for every 16 columns. */
static __global__ void __launch_bounds__(256, 2)
    factor(const __grid_constant__ struct factor_args p)
{
    extern __shared__ float4 shared[];
    struct factor_shared *s = (struct factor_shared *)shared;
    int w = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, blocks = p.padded / caqr_inner;
    int64_t leaf = blockIdx.x, rows = caqr_leaf_rows(&p.level, leaf);
    float *a = p.level.v + leaf * p.level.leaf_rows;
    float *t = p.level.t + leaf * p.level.subs * blocks * caqr_t_size;
    float4 *d = s->d + (size_t)(w * blocks) * 64;
    float c[caqr_tiles][4];
    int square = !p.level.tree;
    if (p.level.tree) {
        load_r(d, a + 16 * w * p.level.ldv, p.level.ldv, w + 1, lane);
        a += p.padded;
        rows -= p.padded;
    }
    caqr_load_block(c, a + 16 * w * p.level.ldv, p.level.ldv, caqr_room(rows), p.cols - 16 * w,
                    p.pairs, lane);
    for (; rows > 0; rows -= caqr_rows, a += caqr_rows, t += blocks * caqr_t_size) {
        factor_block(p, c, d, s, a, rows, t, square, w, lane);
        square = 0;
    }
    store_r(p, d, leaf, w, lane);
}

enum bd_status caqr_factor_level(struct bd_cuda *cuda, const struct caqr_panel *panel, int index,
                                 int keep, float *r, int64_t ldr)
{
    const struct caqr_level *level = &panel->level[index];
    struct factor_args args;
    args.level = *level;
    args.cols = level->tree ? panel->padded : panel->cols;
    args.padded = panel->padded;
    args.keep = keep;
    args.pairs = caqr_pairs(level->v, level->ldv);
    if (index + 1 < panel->levels) {
        args.r = level[1].v;
        args.ldr = level[1].ldv;
        args.r_size = panel->padded;
    } else {
        args.r = r;
        args.ldr = ldr;
        args.r_size = panel->cols;
    }
    int warps = panel->padded / caqr_inner;
    size_t bytes = shared_bytes(warps);
    enum bd_status status = bd_cuda_check(
        cudaFuncSetAttribute(factor, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
        "CAQR: shared memory of factor");
    if (status != BD_OK)
        return status;
    factor<<<(unsigned)level->leaves, (unsigned)(32 * warps), bytes, cuda->stream>>>(args);
    return bd_cuda_launched(level->tree ? "CAQR: factor_tree" : "CAQR: factor");
}
