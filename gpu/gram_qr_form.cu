/* G = V^T V in float64 (gram_qr_plan.h): of float32 by gram.cuh, of float64 by the kernels here, on
 * the FP64 tensor cores too. Of 16 rows lane 4 g + t holds rows 2 t, 2 t + 1, 8 + 2 t and 9 + 2 t
 * of column g of a group of 8 (gram_multiply.cuh: any order will do): two loads of 16 bytes, each
 * of which is 64 adjacent bytes of a column for the four lanes of it. */
#include "gpu/gram.cuh"
#include "gpu/gram_qr_plan.h"

enum {
    pair_columns = 64, /* of a panel: a thread block has the products of two panels */
    narrow_most = 32
};

/* Rows i, i + 1, i + 8, i + 9 of column j, 0 where there are none. `aligned`: columns begin at
 * multiples of 16 bytes. */
static __device__ __forceinline__ void load4(double x[4], const double *v, int64_t ldv, int64_t i,
                                             int j, int64_t m, int n, bool aligned)
{
    const double *p = v + i + j * ldv;
    if (j < n && aligned && i + 10 <= m) {
        const double2 low = *reinterpret_cast<const double2 *>(p),
                      high = *reinterpret_cast<const double2 *>(p + 8);
        x[0] = low.x, x[1] = low.y, x[2] = high.x, x[3] = high.y;
    } else {
#pragma unroll
        for (int k = 0; k < 4; k++)
            x[k] = j < n && i + k % 2 + k / 2 * 8 < m ? p[k % 2 + k / 2 * 8] : 0.0;
    }
}

static __device__ __forceinline__ bool is_aligned(const double *v, int64_t ldv)
{
    return ((reinterpret_cast<uintptr_t>(v) | (uintptr_t)ldv * sizeof *v) & 15) == 0;
}

/* Up to 8 GROUPS columns, as bd_gram_narrow: bound by memory, a warp takes 16 rows at a time
 * straight from V, the next ones on their way. part: blocks x tiles x 128. */
template <int GROUPS>
__global__ __launch_bounds__(256, GROUPS == 3 ? 2 : 1) void narrow(double *part, const double *v,
                                                                   int64_t ldv, int64_t m, int n)
{
    constexpr int TILES = bd_gram_narrow_slots<GROUPS>::tiles;
    __shared__ double2 others[4][TILES * 2][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t tiles = (m + 15) / 16, step = (int64_t)gridDim.x * 8;
    const bool aligned = is_aligned(v, ldv);
    double sum[TILES][4] = {}, x[4][4] = {}, next[GROUPS][4];
    bd_cuda_await();

    auto load = [&](int64_t tile, double to[][4]) {
#pragma unroll
        for (int group = 0; group < GROUPS; group++)
            load4(to[group], v, ldv, tile * 16 + 2 * (lane % 4), 8 * group + lane / 4,
                  tile < tiles ? m : 0, n, aligned);
    };
    int64_t tile = (int64_t)blockIdx.x * 8 + warp;
    load(tile, x);
    for (; tile < tiles; tile += step) {
        load(tile + step, next);
        bd_gram_narrow_multiply<GROUPS>(sum, x);
#pragma unroll
        for (int group = 0; group < GROUPS; group++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                x[group][k] = next[group][k];
    }
    bd_cuda_let_follow();

    bd_gram_narrow_join<8, TILES>(part, sum, others);
}

/* Panels p <= q of pair number q (q + 1) / 2 + p. */
static __device__ __forceinline__ void pair_of(int unit, int *p, int *q)
{
    int j = 0;
    while (unit > j)
        unit -= ++j;
    *p = unit;
    *q = j;
}

/* What `pairs` leaves for bd_gram_sum. */
struct pair_slots {
    static constexpr int count = pair_columns * pair_columns;

    static __device__ __forceinline__ bool place(int slot, int unit, int n, int *row, int *col)
    {
        const int lane = slot / 2 % 32, e = slot / 64 % 8, warp = slot / 512;
        int p, q;
        pair_of(unit, &p, &q);
        *row = p * pair_columns + 16 * (warp % 4) + 8 * (e % 2) + lane / 4;
        *col = q * pair_columns + 32 * (warp / 4) + 8 * (e / 2) + 2 * (lane % 4) + slot % 2;
        return *row <= *col && *col < n;
    }
};

/* The products of two panels over `share` blocks of 16 rows: warp w has 16 columns of the left one,
 * from 16 (w % 4) on, by 32 of the right one, from 32 (w / 4) on. The warps find what others have
 * loaded in the cache of the multiprocessor, and thread blocks of the same rows, which are
 * neighbours in the grid, in that of the device. part: pairs x splits x 64 x 64. */
__global__ __launch_bounds__(256, 1) void pairs(double *part, const double *v, int64_t ldv,
                                                int64_t m, int n, int64_t share)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, unit = blockIdx.x;
    const int64_t first = blockIdx.y * share;
    const int64_t last = min(first + share, (m + 15) / 16);
    const bool aligned = is_aligned(v, ldv);
    int p, q;
    pair_of(unit, &p, &q);
    p = p * pair_columns + 16 * (warp % 4) + lane / 4;
    q = q * pair_columns + 32 * (warp / 4) + lane / 4;
    double sum[4][4] = {}, x[6][4], next[6][4];
    bd_cuda_await();
    auto load = [&](int64_t block, double to[6][4]) {
        const int64_t i = block * 16 + 2 * (lane % 4), rows = block < last ? m : 0;
#pragma unroll
        for (int e = 0; e < 6; e++)
            load4(to[e], v, ldv, i, e < 2 ? p + 8 * e : q + 8 * (e - 2), rows, n, aligned);
    };
    load(first, x);
    for (int64_t block = first; block < last; block++) {
        load(block + 1, next);
#pragma unroll
        for (int t = 0; t < 4; t++)
            bd_gram_multiply(sum[t], x[0], x[1], x[2 + t]);
#pragma unroll
        for (int e = 0; e < 6; e++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                x[e][k] = next[e][k];
    }
    bd_cuda_let_follow();
    double2 *out = reinterpret_cast<double2 *>(part) +
                   ((int64_t)unit * gridDim.y + blockIdx.y) * pair_slots::count / 2;
#pragma unroll
    for (int e = 0; e < 8; e++)
        out[(warp * 8 + e) * 32 + lane] =
            make_double2(sum[e / 2][e % 2 * 2], sum[e / 2][e % 2 * 2 + 1]);
}

/* How `pairs` is cut: pairs of panels, and splits of the rows so that the device is filled twice.
 */
static int pair_count(int n)
{
    const int panels = (n + pair_columns - 1) / pair_columns;
    return panels * (panels + 1) / 2;
}

static int64_t pair_splits(const struct bd_cuda *cuda, int64_t m, int n, int64_t *share)
{
    const int64_t blocks = (m + 15) / 16, units = pair_count(n);
    const int64_t wanted = (2 * cuda->sms + units - 1) / units;
    const int64_t splits = blocks < wanted ? blocks : wanted;
    *share = (blocks + splits - 1) / splits;
    return (blocks + *share - 1) / *share;
}

static int narrow_blocks(const struct bd_cuda *cuda, int64_t m, int n)
{
    return bd_gram_blocks(cuda, n <= 24 ? 2 : 1, 1, (m + 127) / 128);
}

extern "C" {

size_t bd_cuda_gram_form_workspace(const struct bd_cuda *cuda, int64_t m, int n, enum bd_type type)
{
    int64_t share;
    if (m == 0)
        return 0;
    if (type == BD_F32)
        return bd_gram_workspace(cuda, m, n);
    if (n <= narrow_most)
        return (size_t)narrow_blocks(cuda, m, n) * 6 * 128 * sizeof(double);
    return (size_t)pair_count(n) * (size_t)pair_splits(cuda, m, n, &share) * pair_slots::count *
           sizeof(double);
}

enum bd_status bd_cuda_gram_form_enqueue(const struct gram_plan *plan, const void *v, int64_t ldv)
{
    struct bd_cuda *cuda = plan->cuda;
    const int n = plan->data.n;
    double *part = static_cast<double *>(plan->parts), *g = plan->data.g;
    if (plan->m == 0)
        return bd_cuda_check(cudaMemsetAsync(g, 0, (size_t)n * n * sizeof *g, cuda->stream),
                             "the Gram matrix");
    if (plan->type == BD_F32) {
        const struct bd_gram_matrix x = { static_cast<const float *>(v), ldv, plan->m };
        return bd_gram(cuda, g, x, plan->m, n, part, NULL);
    }
    const double *wide = static_cast<const double *>(v);
    cudaLaunchAttribute early = {};
    cudaLaunchConfig_t launch = {};
    launch.blockDim = dim3(256);
    launch.stream = cuda->stream;
    launch.attrs = &early;
    bd_cuda_overlap(cuda, &launch);
    if (n <= narrow_most) {
        const int blocks = narrow_blocks(cuda, plan->m, n);
        launch.gridDim = dim3((unsigned)blocks);
        if (n <= 24) {
            cudaLaunchKernelEx(&launch, narrow<3>, part, wide, ldv, plan->m, n);
            bd_gram_add_up<bd_gram_narrow_slots<3>>(cuda, g, part, n, blocks, 1, NULL);
        } else {
            cudaLaunchKernelEx(&launch, narrow<4>, part, wide, ldv, plan->m, n);
            bd_gram_add_up<bd_gram_narrow_slots<4>>(cuda, g, part, n, blocks, 1, NULL);
        }
        return bd_cuda_launched("the Gram matrix");
    }
    int64_t share;
    const int64_t splits = pair_splits(cuda, plan->m, n, &share);
    launch.gridDim = dim3((unsigned)pair_count(n), (unsigned)splits);
    cudaLaunchKernelEx(&launch, pairs, part, wide, ldv, plan->m, n, share);
    bd_gram_add_up<pair_slots>(cuda, g, part, n, (int)splits, pair_count(n), NULL);
    return bd_cuda_launched("the Gram matrix");
}

} /* extern "C" */
