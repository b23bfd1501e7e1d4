/* Blocked Householder QR on the GPU: C := op(Q) C with the Q of up to four panels, in
 * error-compensated TF32 on the tensor cores. There are two large products, each split over
 * rows: first W_b = V_b^T C of all panels b; then small products of 16 x 16 turn W into what the
 * panels would have found one after the other; then C -= V_b W_b. So C is read twice and written
 * once for 64 reflectors, where panel by panel (the plain way) it would be four times that. */
#include "gpu/core/dependent_launch.cuh"
#include "gpu/qr/householder/solve.cuh"

enum {
    update_warps = 4,       /* of a thread block: 16 columns of C each, the same rows */
    update_blocks = 3,      /* of a multiprocessor */
    join_slices = 4,        /* of the splits, in a thread block of join */
    most_split_at_once = 16 /* more are joined by a kernel of their own */
};

struct update_args {
    struct house_reflectors x;
    int blocks; /* panels */
    int v_fours, c_pairs;
    float *c; /* rows x k */
    int64_t ldc, k;
    float *parts; /* W_b of split s and columns 16 i ..: at ((s * groups + i) * blocks + b) * 256 */
    int64_t groups;
    int splits, transposed;
    int self;  /* C is V, with its ones and zeros understood */
    int early; /* the kernel before project does not write C */
};

/* Shared memory for BLOCKS panels: a tile of V in use, and one arriving. */
template <int BLOCKS> struct tiles_shared {
    struct caqr_tile v[2][BLOCKS]; /* update: v[1] is a house_small until it is fetched */
};

/* Begins to fetch rows 128 tile .. of V: a column a warp. */
static __device__ __forceinline__ void fetch_v(const struct update_args &p, struct caqr_tile *v,
                                               int64_t tile)
{
    const int w = (int)threadIdx.x / 32, warps = (int)blockDim.x / 32;
    const int lane = (int)threadIdx.x % 32;
    const int room = caqr_room(p.x.rows - tile * caqr_rows, lane);
#pragma unroll 1
    for (int b = 0; b < p.blocks; b++)
        caqr_fetch(&v[b], p.x.v + tile * caqr_rows + 4 * lane + caqr_inner * b * p.x.ldv, p.x.ldv,
                   room, p.x.cols - caqr_inner * b, p.v_fours, w, warps, lane);
}

/* A tile of 16 columns at c. */
static __device__ __forceinline__ void load_c(const struct update_args &p,
                                              float (&x)[caqr_tiles][4], const float *c,
                                              int64_t tile, int columns, int lane)
{
    caqr_load<true>(x, c + tile * caqr_rows, p.ldc, p.x.rows - tile * caqr_rows, columns, p.c_pairs,
                    lane);
}

/* Waits for a tile of V. Above its diagonal V shares its memory with R. */
static __device__ __forceinline__ void await_v(const struct update_args &p, struct caqr_tile *v,
                                               int64_t tile)
{
    caqr_copies_done();
    __syncthreads();
    if (tile > 0 || p.x.whole)
        return;
    const int rows = caqr_inner * p.blocks;
    for (int e = (int)threadIdx.x; e < rows * rows; e += (int)blockDim.x) {
        const int row = e % rows, column = e / rows;
        if (row <= column)
            v[column / caqr_inner].x[caqr_at(row, column % caqr_inner)] =
                row == column && column < p.x.cols ? 1 : 0;
    }
    __syncthreads();
}

/* The first tile of V as a C. */
static __device__ __forceinline__ void mask_self(float (&c)[caqr_tiles][4], int64_t column,
                                                 int cols, int lane)
{
    const int g = lane >> 2, t = lane & 3;
#pragma unroll
    for (int k = 0; k < house_most_cols / 8; k++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const int row = 8 * k + 2 * t + i % 2, j = (int)column + g + i / 2 * 8;
            if (row <= j)
                c[k][i] = row == j && j < cols ? 1 : 0;
        }
}

/* Keeps the compiler from holding x both split for the tensor cores and unsplit, for all panels:
 * registers are too few for that. */
template <int COUNT> static __device__ __forceinline__ void keep_whole(float (&x)[COUNT][4])
{
#pragma unroll
    for (int e = 0; e < 4 * COUNT; e++)
        asm volatile("" : "+f"(x[e / 4][e % 4]));
}

/* Block (x, y): columns 16 warps x .., tiles y, y + splits, .. */
template <int BLOCKS>
__global__ void __launch_bounds__(32 * update_warps, update_blocks)
    project(const __grid_constant__ struct update_args p)
{
    extern __shared__ float4 shared[];
    struct tiles_shared<BLOCKS> *s = reinterpret_cast<struct tiles_shared<BLOCKS> *>(shared);
    const int w = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int64_t group = (int64_t)blockIdx.x * (blockDim.x / 32) + w, column = caqr_inner * group;
    const int64_t tiles = (p.x.rows + caqr_rows - 1) / caqr_rows;
    const int columns = (int)(p.k - column < caqr_inner ? p.k - column : caqr_inner);
    const float *c = p.c + column * p.ldc;
    float sum[BLOCKS][2][4] = {}, x[caqr_tiles][4], y[2][4];
    int slot = 0;
    bool loaded = p.early;
    if (loaded && columns > 0)
        load_c(p, x, c, blockIdx.y, columns, lane);
    bd_cuda_await();
    bd_cuda_let_follow();
    fetch_v(p, s->v[0], blockIdx.y);
#pragma unroll 1
    for (int64_t tile = blockIdx.y; tile < tiles; tile += p.splits, slot ^= 1) {
        if (!loaded && columns > 0)
            load_c(p, x, c, tile, columns, lane);
        loaded = false;
        await_v(p, s->v[slot], tile); /* the other slot is free then */
        if (tile + p.splits < tiles)
            fetch_v(p, s->v[slot ^ 1], tile + p.splits);
        if (columns <= 0)
            continue;
        if (p.self && tile == 0)
            mask_self(x, column, p.x.cols, lane);
            /* The tensor cores truncate: sums of a tile are added by the ordinary units. */
#pragma unroll
        for (int b = 0; b < BLOCKS; b++)
            if (b < p.blocks) {
                keep_whole(x);
                caqr_project(y, x, &s->v[slot][b], lane);
#pragma unroll
                for (int i = 0; i < 8; i++)
                    sum[b][i / 4][i % 4] += y[i / 4][i % 4];
            }
    }
    if (columns <= 0)
        return;
    float4 *to =
        (float4 *)(p.parts + (blockIdx.y * p.groups + group) * p.blocks * house_part_floats) + lane;
#pragma unroll
    for (int b = 0; b < BLOCKS; b++)
        if (b < p.blocks) {
            to[64 * b] = make_float4(sum[b][0][0], sum[b][0][1], sum[b][0][2], sum[b][0][3]);
            to[64 * b + 32] = make_float4(sum[b][1][0], sum[b][1][1], sum[b][1][2], sum[b][1][3]);
        }
}

/* out := the sum of all splits' parts, each `count` * 256 floats; out may be the first. Block: 256
 * of them; a thread an element in every join_slices-th split. */
static __global__ void __launch_bounds__(house_part_floats *join_slices)
    join(float *out, const float *parts, int64_t count, int splits)
{
    __shared__ float sums[join_slices][house_part_floats];
    const int e = (int)threadIdx.x % house_part_floats,
              slice = (int)threadIdx.x / house_part_floats;
    const int64_t at = (int64_t)blockIdx.x * house_part_floats + e;
    float sum = 0;
    bd_cuda_await();
    bd_cuda_let_follow();
#pragma unroll 8
    for (int s = slice; s < splits; s += join_slices)
        sum += parts[at + s * count * house_part_floats];
    sums[slice][e] = sum;
    __syncthreads();
    if (slice > 0)
        return;
    for (int i = 1; i < join_slices; i++)
        sum += sums[i][e];
    out[at] = sum;
}

/* W of all splits. */
template <int BLOCKS>
static __device__ __forceinline__ void gather(const struct update_args &p, float (&w)[BLOCKS][2][4],
                                              int64_t group, int lane)
{
    constexpr int at_once = 8 / BLOCKS;
#pragma unroll at_once
    for (int split = 0; split < p.splits; split++) {
        const float4 *from =
            (const float4 *)(p.parts + (split * p.groups + group) * p.blocks * house_part_floats) +
            lane;
#pragma unroll
        for (int b = 0; b < BLOCKS; b++)
            if (b < p.blocks) {
                const float4 low = from[64 * b], high = from[64 * b + 32];
                w[b][0][0] += low.x, w[b][0][1] += low.y;
                w[b][0][2] += low.z, w[b][0][3] += low.w;
                w[b][1][0] += high.x, w[b][1][1] += high.y;
                w[b][1][2] += high.z, w[b][1][3] += high.w;
            }
    }
}

/* The second product: thread blocks as in project. p.splits: the parts that project left;
 * gridDim.y: thread blocks over rows. */
template <int BLOCKS>
__global__ void __launch_bounds__(32 * update_warps, update_blocks)
    update(const __grid_constant__ struct update_args p)
{
    extern __shared__ float4 shared[];
    struct tiles_shared<BLOCKS> *s = reinterpret_cast<struct tiles_shared<BLOCKS> *>(shared);
    struct house_small<BLOCKS> *small = reinterpret_cast<struct house_small<BLOCKS> *>(s->v[1]);
    static_assert(sizeof *small <= sizeof s->v[1], "they share memory");
    const int w = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int64_t group = (int64_t)blockIdx.x * (blockDim.x / 32) + w, column = caqr_inner * group;
    const int64_t tiles = (p.x.rows + caqr_rows - 1) / caqr_rows;
    const int columns = (int)(p.k - column < caqr_inner ? p.k - column : caqr_inner);
    float *c = p.c + column * p.ldc;
    float y[BLOCKS][2][4] = {}, x[caqr_tiles][4];
    int slot = 0;
    bool loaded = true;
    /* project and join write none of this */
    fetch_v(p, s->v[0], blockIdx.y);
    house_load_small<BLOCKS>(small, p.x, p.blocks);
    if (columns > 0)
        load_c(p, x, c, blockIdx.y, columns, lane);
    bd_cuda_await();
    bd_cuda_let_follow();
    if (columns > 0)
        gather<BLOCKS>(p, y, group, lane);
    __syncthreads();
    house_solve<BLOCKS>(y, small, p.blocks, p.transposed, lane);
#pragma unroll 1
    for (int64_t tile = blockIdx.y; tile < tiles; tile += gridDim.y, slot ^= 1) {
        if (!loaded && columns > 0)
            load_c(p, x, c, tile, columns, lane);
        loaded = false;
        await_v(p, s->v[slot], tile);
        if (tile + gridDim.y < tiles)
            fetch_v(p, s->v[slot ^ 1], tile + gridDim.y);
        if (columns <= 0)
            continue;
#pragma unroll
        for (int b = 0; b < BLOCKS; b++)
            if (b < p.blocks) {
                keep_whole(y[b]);
                caqr_subtract(x, y[b], &s->v[slot][b], lane);
            }
        caqr_store(c + tile * caqr_rows, p.ldc, x, p.x.rows - tile * caqr_rows, columns, p.c_pairs,
                   lane);
    }
}

/* Thread blocks over rows: as many as fit on the device at once, with even shares of the tiles. */
static int64_t rows_split(const struct bd_cuda *cuda, int64_t tiles, int64_t column_blocks)
{
    int64_t most = update_blocks * cuda->sms / column_blocks;
    most = most < 1 ? 1 : most;
    const int64_t share = (tiles + most - 1) / most;
    return (tiles + share - 1) / share;
}

int64_t house_parts_floats(const struct bd_cuda *cuda, int64_t k)
{
    const int64_t groups = (k + caqr_inner - 1) / caqr_inner;
    return (update_blocks * cuda->sms * update_warps + most_split_at_once * groups) *
           house_most_blocks * house_part_floats;
}

enum bd_status house_prepare_update(struct bd_cuda *cuda)
{
    const void *kernels[] = { (const void *)project<house_most_blocks>,
                              (const void *)update<house_most_blocks> };
    enum bd_status status = BD_OK;
    for (int i = 0; i < 2 && status == BD_OK; i++)
        status = bd_cuda_allow_shared(cuda, kernels[i], "Householder QR: shared memory");
    return status;
}

static struct update_args arguments(const struct house_reflectors *x, float *c, int64_t ldc,
                                    int64_t k, float *parts)
{
    struct update_args args = {};
    args.x = *x;
    args.blocks = (x->cols + caqr_inner - 1) / caqr_inner;
    args.v_fours = caqr_aligned(x->v, x->ldv, 4);
    args.c = c;
    args.ldc = ldc;
    args.k = k;
    args.c_pairs = caqr_aligned(c, ldc, 2);
    args.parts = parts;
    args.groups = (k + caqr_inner - 1) / caqr_inner;
    return args;
}

/* How the threads are laid out. */
struct layout {
    dim3 grid, block;
    size_t bytes; /* of shared memory */
};

/* Launches project; its parts are args->splits. */
static struct layout start(const struct bd_cuda *cuda, struct update_args *args)
{
    const int64_t tiles = (args->x.rows + caqr_rows - 1) / caqr_rows;
    const int64_t column_blocks = (args->groups + update_warps - 1) / update_warps;
    const bool one = args->blocks == 1;
    struct layout layout;
    args->splits = (int)rows_split(cuda, tiles, column_blocks);
    layout.grid = dim3((unsigned)column_blocks, (unsigned)args->splits);
    /* Even shares of columns. */
    layout.block = dim3(32 * (unsigned)((args->groups + column_blocks - 1) / column_blocks));
    layout.bytes =
        one ? sizeof(struct tiles_shared<1>) : sizeof(struct tiles_shared<house_most_blocks>);
    bd_cuda_follow(cuda, one ? project<1> : project<house_most_blocks>, layout.grid, layout.block,
                   layout.bytes, *args);
    return layout;
}

/* Adds up what project left, to `out`. */
static void add_up(const struct bd_cuda *cuda, const struct update_args *args, float *out)
{
    const int64_t count = args->groups * args->blocks;
    bd_cuda_follow(cuda, join, dim3((unsigned)count), dim3(house_part_floats * join_slices), 0, out,
                   args->parts, count, args->splits);
}

enum bd_status house_cross(const struct bd_cuda *cuda, const struct house_reflectors *x,
                           float *cross, float *parts)
{
    /* C is read only. */
    struct update_args args = arguments(x, const_cast<float *>(x->v), x->ldv, x->cols, parts);
    if (args.blocks == 1)
        return BD_OK;
    args.self = !x->whole;
    start(cuda, &args);
    add_up(cuda, &args, cross);
    return bd_cuda_launched("Householder QR: products of reflectors");
}

enum bd_status house_apply(const struct bd_cuda *cuda, const struct house_reflectors *x,
                           int transposed, int early, float *c, int64_t ldc, int64_t k,
                           float *parts)
{
    struct update_args args = arguments(x, c, ldc, k, parts);
    if (k <= 0)
        return BD_OK;
    args.transposed = transposed;
    args.early = early;
    const struct layout layout = start(cuda, &args);
    if (args.splits > most_split_at_once) {
        add_up(cuda, &args, parts);
        args.splits = 1;
    }
    bd_cuda_follow(cuda, args.blocks == 1 ? update<1> : update<house_most_blocks>, layout.grid,
                   layout.block, layout.bytes, args);
    return bd_cuda_launched("Householder QR: an update");
}
