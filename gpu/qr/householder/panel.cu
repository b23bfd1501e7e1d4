/* Blocked Householder QR on the GPU: a panel of 16 columns. */
#include "gpu/core/dependent_launch.cuh"
#include "gpu/qr/householder/join.cuh"
#include "gpu/qr/householder/plan.h"

struct panel_args {
    float *a; /* rows x cols */
    int64_t lda, rows;
    int cols, pairs;
    float *t;
    uint64_t *words;
    uint32_t turn;
};

/* The first 16 rows of the first tile are the panel's top; they leave the body. */
static __device__ __forceinline__ void take_top(float (&c)[caqr_tiles][4], caqr_top &top)
{
#pragma unroll
    for (int k = 0; k < 2; k++)
#pragma unroll
        for (int q = 0; q < 4; q++) {
            top.x[q / 2][k][q % 2] = c[k][q];
            c[k][q] = 0;
        }
}

/* The panel's top, for the tile that it belongs to. */
static __device__ __forceinline__ caqr_top top_of(const caqr_top &top, int64_t tile)
{
    caqr_top x;
#pragma unroll
    for (int i = 0; i < 8; i++)
        x.x[i / 4][i / 2 % 2][i % 2] = tile == 0 ? top.x[i / 4][i / 2 % 2][i % 2] : 0;
    return x;
}

static __device__ __forceinline__ void drop_top(float (&c)[caqr_tiles][4])
{
#pragma unroll
    for (int k = 0; k < 2; k++)
        c[k][0] = c[k][1] = c[k][2] = c[k][3] = 0;
}

/* A tile of reflectors, still without their factors, to A; the first has R in it. */
static __device__ __forceinline__ void put_tile(const struct panel_args &p,
                                                float (&c)[caqr_tiles][4], const caqr_top &top,
                                                const float (&factor)[2], int64_t tile, int lane)
{
    const int g = lane >> 2, t = lane & 3;
    caqr_scale_columns(c, factor);
    if (tile == 0)
#pragma unroll
        for (int k = 0; k < 2; k++)
#pragma unroll
            for (int q = 0; q < 4; q++) {
                float x = top.x[q / 2][k][q % 2];
                c[k][q] = 8 * k + 2 * t + q % 2 <= g + q / 2 * 8 ? x : factor[q / 2] * x;
            }
    caqr_store(p.a + tile * caqr_rows, p.lda, c, p.rows - tile * caqr_rows, p.cols, p.pairs, lane);
}

/* T, by the warp that has the top. */
static __device__ __forceinline__ void put_t(float *t, const caqr_panel_shared *s, int lane)
{
    float row[caqr_inner];
    caqr_form_t(s, row, lane);
    if (lane < caqr_inner)
#pragma unroll
        for (int i = 0; i < caqr_inner; i += 4)
            *(float4 *)(t + caqr_inner * lane + i) =
                make_float4(row[i], row[i + 1], row[i + 2], row[i + 3]);
}

/* Warp w of block b: tile b * warps + w, in registers from beginning to end. */
static __global__ void __launch_bounds__(house_threads, 1)
    factor(const __grid_constant__ struct panel_args p)
{
    __shared__ struct house_shared shared;
    __shared__ struct caqr_panel_shared panels[house_warps];
    const int w = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int64_t tile = (int64_t)blockIdx.x * (blockDim.x / 32) + w;
    struct house_join join = { &shared, p.words, p.turn, w, lane, tile == 0, 0 };
    float c[caqr_tiles][4], factor[2];
    caqr_top top = {};
    join.begin();
    bd_cuda_await();
    bd_cuda_let_follow();
    caqr_load(c, p.a + tile * caqr_rows, p.lda, p.rows - tile * caqr_rows, p.cols, p.pairs, lane);
    if (tile == 0)
        take_top(c, top);
    caqr_factor_panel(c, top, factor, &panels[w], p.cols, lane, join);
    join.end();
    put_tile(p, c, top, factor, tile, lane);
    if (tile == 0)
        put_t(p.t, &panels[w], lane);
}

/* The tiles of a warp where there are more than registers hold: w0, w0 + step, .., w0 + step *
 * (count - 1). */
struct tiles {
    int64_t first, step, end;
};

static __device__ __forceinline__ void load_tile(const struct panel_args &p,
                                                 float (&c)[caqr_tiles][4], int64_t tile, int lane)
{
    caqr_load(c, p.a + tile * caqr_rows, p.lda, p.rows - tile * caqr_rows, p.cols, p.pairs, lane);
}

static __device__ __forceinline__ void
store_tile(const struct panel_args &p, const float (&c)[caqr_tiles][4], int64_t tile, int lane)
{
    caqr_store(p.a + tile * caqr_rows, p.lda, c, p.rows - tile * caqr_rows, p.cols, p.pairs, lane);
}

/* Reflector 8 H + i, made and applied to the columns after it: caqr_step in two passes over the
 * tiles, which are in A between them (a lane reads what it wrote itself). */
template <int H>
static __device__ __forceinline__ void
step_in_memory(const struct panel_args &p, const struct tiles &mine, caqr_top &top,
               float (&factor)[2], caqr_panel_shared *s, int i, int lane, house_join &join)
{
    const int j = 8 * H + i;
    float4 v[caqr_tiles / 2], vt;
    float c[caqr_tiles][4], row[2], dots[2] = { 0, 0 }, w[2];
#pragma unroll 1
    for (int64_t tile = mine.first; tile < mine.end; tile += mine.step) {
        float more[2];
        const caqr_top here = top_of(top, tile);
        load_tile(p, c, tile, lane);
        caqr_publish<H>(c, here, s->column[0], i, lane);
        __syncwarp();
        caqr_read(v, vt, s->column[0], j, lane);
        caqr_dots(more, c, here, v, vt);
        dots[0] += more[0];
        dots[1] += more[1];
        __syncwarp();
    }
    caqr_row<H>(row, top, i, lane);
    join.sum(row, dots);
    caqr_reflector r = caqr_make<H>(w, factor, row, dots, s, i, lane);
#pragma unroll 1
    for (int64_t tile = mine.first; tile < mine.end; tile += mine.step) {
        load_tile(p, c, tile, lane);
        caqr_publish<H>(c, top_of(top, tile), s->column[0], i, lane);
        __syncwarp();
        caqr_read(v, vt, s->column[0], j, lane);
#pragma unroll
        for (int k = H; k < 2; k++) {
            caqr_add(c, v, -r.scale * w[k], k);
            if (tile == 0)
                caqr_add_top<H>(top, vt, w[k], r, i, k, lane);
        }
        store_tile(p, c, tile, lane);
        __syncwarp();
    }
}

/* As factor, with A for the registers: for panels of more tiles than warps can be there at once. */
static __global__ void __launch_bounds__(house_threads, 1)
    factor_in_memory(const __grid_constant__ struct panel_args p)
{
    __shared__ struct house_shared shared;
    __shared__ struct caqr_panel_shared panels[house_warps];
    const int w = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const struct tiles mine = { (int64_t)blockIdx.x * house_warps + w,
                                (int64_t)gridDim.x * house_warps,
                                (p.rows + caqr_rows - 1) / caqr_rows };
    struct caqr_panel_shared *s = &panels[w];
    struct house_join join = { &shared, p.words, p.turn, w, lane, mine.first == 0, 0 };
    const caqr_top none = {};
    caqr_top top = {};
    float c[caqr_tiles][4], most[2] = { 0, 0 }, factor[2] = { 0, 0 };
    join.begin();
#pragma unroll 1
    for (int64_t tile = mine.first; tile < mine.end; tile += mine.step) {
        load_tile(p, c, tile, lane);
        most[0] = fmaxf(most[0], caqr_largest(c, none, 0));
        most[1] = fmaxf(most[1], caqr_largest(c, none, 1));
        if (tile == 0)
            take_top(c, top);
    }
    join.most(most);
    const float scale[2] = { caqr_scale(most[0]), caqr_scale(most[1]) };
#pragma unroll 1
    for (int64_t tile = mine.first; tile < mine.end; tile += mine.step) {
        load_tile(p, c, tile, lane);
        if (tile == 0)
            drop_top(c);
        caqr_scale_columns(c, scale);
        store_tile(p, c, tile, lane);
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        top.x[i / 4][i / 2 % 2][i % 2] *= scale[i / 4];
#pragma unroll 1
    for (int i = 0; i < 8 && i < p.cols; i++)
        step_in_memory<0>(p, mine, top, factor, s, i, lane, join);
#pragma unroll 1
    for (int i = 0; i < p.cols - 8; i++)
        step_in_memory<1>(p, mine, top, factor, s, i, lane, join);
    caqr_pad_reflectors(s, p.cols, lane);
    caqr_unscale_r(top, scale, lane);
#pragma unroll 1
    for (int64_t tile = mine.first; tile < mine.end; tile += mine.step) {
        load_tile(p, c, tile, lane);
        put_tile(p, c, top, factor, tile, lane);
    }
    if (mine.first == 0)
        put_t(p.t, s, lane);
}

size_t house_box_words(const struct bd_cuda *cuda)
{
    return 2 * ((size_t)cuda->sms + 1) * caqr_inner;
}

enum bd_status house_prepare(const struct bd_cuda *cuda, int *most_cluster)
{
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
    *most_cluster = 1;
    if (cuda->capability < 90)
        return BD_OK;
    /* where it fails, and where so many blocks are too many, fewer do */
    cudaFuncSetAttribute(factor, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    config.blockDim = dim3(house_threads);
    config.attrs = &attribute;
    config.numAttrs = 1;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    for (int blocks = house_most_cluster; blocks > 1 && *most_cluster == 1; blocks /= 2) {
        int count = 0;
        config.gridDim = dim3((unsigned)blocks);
        attribute.val.clusterDim.x = (unsigned)blocks;
        if (cudaOccupancyMaxActiveClusters(&count, factor, &config) == cudaSuccess && count > 0)
            *most_cluster = blocks;
    }
    cudaGetLastError(); /* no failure: later checks must not see it */
    return BD_OK;
}

enum bd_status house_factor_panel(const struct bd_cuda *cuda, float *a, int64_t lda, int64_t rows,
                                  int cols, float *t, struct house_box *box)
{
    static const char what[] = "Householder QR: a panel";
    struct panel_args args = { a, lda, rows, cols, caqr_aligned(a, lda, 2), t, box->words, 0 };
    const int64_t tiles = (rows + caqr_rows - 1) / caqr_rows;
    /* Four warps, one for each part of a multiprocessor, are faster than eight while there are at
     * most eight blocks of them. */
    int64_t warps = tiles <= 32 && box->most_cluster >= 8 ? 4 : (int64_t)house_warps;
    warps = tiles < warps ? tiles : warps;
    int64_t blocks = (tiles + warps - 1) / warps;
    unsigned together = 1; /* cluster sizes are powers of two; blocks without rows add zeros */
    while (together < blocks)
        together *= 2;
    if (box->turn > UINT32_MAX - 2 * caqr_inner) { /* turns begin again, and none may look done */
        box->turn = 1;
        cudaMemsetAsync(box->words, 0, house_box_words(cuda) * sizeof *box->words, cuda->stream);
    }
    args.turn = box->turn;
    box->turn += (uint32_t)cols + 1;
    if (together <= (unsigned)box->most_cluster) {
        args.words = NULL;
        bd_cuda_follow_in_clusters(cuda, together, factor, dim3(together),
                                   dim3((unsigned)(32 * warps)), 0, args);
        return bd_cuda_launched(what);
    }
    const void *kernel = (const void *)factor;
    void *values[] = { &args };
    if (blocks > cuda->sms) {
        kernel = (const void *)factor_in_memory;
        blocks = cuda->sms;
    }
    /* Cooperative: the blocks wait for each other, so all must be there. */
    return bd_cuda_check(cudaLaunchCooperativeKernel(kernel, dim3((unsigned)blocks),
                                                     dim3((unsigned)(32 * warps)), values, 0,
                                                     cuda->stream),
                         what);
}
