/* V := V T (gpu/gram_qr/plan.h) of more columns than pipelined.cu has room for, where T has more
 * than one block of columns or the product is in float32 (panels.cu has the other cases), on the
 * FP64 tensor cores. A thread block has a tile of rows in shared memory: columns of V and, from the
 * left, more and more of Q. T is read in blocks of 16 x 16 in the order of the fragments
 * (gram_packed).
 *
 * A block of columns that consists of whole blocks of 16 is a product, taken from the right so
 * that V is not overwritten while it is needed; as many blocks of 16 columns at a time as there
 * are warps for them. Where a block of columns begins within 16, its part of T above them is a
 * product too, and then a thread solves for one row of these 16. If the product is in float32,
 * all factors and Q are rounded to float32; the sums are float64, which costs nothing here. */
#include "gpu/core/dependent_launch.cuh"
#include "gpu/core/gram_multiply.cuh"
#include "gpu/triangular/triangular.h"

enum { warps = 8, threads = 32 * warps };

/* sum += rows of the tile by rows 0 .. 16 count - 1 of T; `left` at the lane's row in its column,
 * `right` at the lane's place in the first block of 16 columns of T. */
template <int STRIDE>
static __device__ __forceinline__ void multiply_block(double sum[2][4], const double *left,
                                                      const double2 *right, int count)
{
#pragma unroll 2
    for (int k = 0; k < count; k++) {
        double low[4], high[4], b[2][4];
#pragma unroll
        for (int s = 0; s < 4; s++) {
            const double2 both = right[32 * s];
            b[0][s] = both.x, b[1][s] = both.y;
            low[s] = left[4 * s * STRIDE];
            high[s] = left[4 * s * STRIDE + 8];
        }
        bd_gram_multiply(sum[0], low, high, b[0]);
        bd_gram_multiply(sum[1], low, high, b[1]);
        right += 128;
        left += 16 * STRIDE;
    }
}

/* Rows of Q of the 16 columns at `stage`, which hold V, a lane a row; y has the products with what
 * is left of them. t: the block of T on its diagonal; cuts: bit j: a block begins with column j. */
template <int STRIDE>
static __device__ __forceinline__ void solve_block(double *stage, const double *y, const double *t,
                                                   unsigned cuts, bool single)
{
    double w[16], q[16];
#pragma unroll
    for (int k = 0; k < 16; k++)
        w[k] = stage[k * STRIDE];
#pragma unroll
    for (int j = 0; j < 16; j++) {
        double sum = y[j * STRIDE];
        if (cuts >> j & 1)
#pragma unroll
            for (int k = 0; k < j; k++)
                w[k] = q[k];
#pragma unroll
        for (int k = 0; k <= j; k++) /* gram_packed(k, j) of a diagonal block */
            sum = fma(w[k], t[(k / 4 * 32 + 4 * (j % 8) + k % 4) * 2 + j / 8], sum);
        q[j] = single ? (double)(float)sum : sum;
    }
#pragma unroll
    for (int k = 0; k < 16; k++)
        stage[k * STRIDE] = q[k];
}

/* SETS of 16 rows; 8 / SETS warps for each. */
template <int SETS, class Element>
__global__ __launch_bounds__(threads, 2) void wide(const __grid_constant__ struct gram_data d,
                                                   Element *v, int64_t ldv, int64_t m,
                                                   int *overflow)
{
    constexpr int ROWS = 16 * SETS, STRIDE = ROWS + 4, WORKERS = warps / SETS;
    extern __shared__ double stage[];
    const int n = d.n, blocks = (n + 15) / 16;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, t = lane % 4;
    const int set = warp % SETS, worker = warp / SETS;
    double *y = stage + 16 * blocks * STRIDE; /* 16 x ROWS */
    const double *left = stage + 16 * set + group + t * STRIDE;
    const double2 *right = reinterpret_cast<const double2 *>(d.packed) + lane;
    int bad = 0;
    bd_cuda_await();
    if (d.decision->identity || bd_cuda_triangular_is_product(d))
        return;
    const unsigned *starts = d.decision->starts;
    const bool single = d.decision->single;
    auto rounded = [&](double x) { return single ? (double)(float)x : x; };
    auto cuts = [&](int c) { return gram_cuts(starts, c); };
    /* A lane's 16 x 16 of a product, at columns 16 c, to the stage (or y). */
    auto keep = [&](double *to, const double sum[2][4]) {
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                to[(8 * h + 2 * t + e % 2) * STRIDE + 16 * set + group + e / 2 * 8] =
                    rounded(sum[h][e]);
    };

    for (int64_t tile = (m - 1) / ROWS - blockIdx.x; tile >= 0; tile -= gridDim.x) {
        const int64_t first = tile * ROWS;
        for (int e = threadIdx.x; e < 16 * blocks * ROWS; e += threads) {
            const int i = e % ROWS, j = e / ROWS;
            const bool in = j < n && first + i < m;
            stage[j * STRIDE + i] =
                in ? rounded((double)v[first + i + j * ldv] * d.inverse[j]) : 0.0;
        }
        __syncthreads();
        for (int c = 0; c < blocks;) {
            if (cuts(c) & 0xfffeu) {
                if (worker == 0) {
                    double sum[2][4] = {};
                    multiply_block<STRIDE>(sum, left, right + c * (c + 1) / 2 * 128, c);
                    keep(y, sum);
                    __syncwarp();
                    if (lane < 16)
                        solve_block<STRIDE>(
                            stage + 16 * c * STRIDE + 16 * set + lane, y + 16 * set + lane,
                            d.packed + (c * (c + 1) / 2 + c) * 256, cuts(c), single);
                }
                __syncthreads();
                c++;
                continue;
            }
            int end = c + 1;
            while (end < blocks && cuts(end) == 0)
                end++;
            for (int top = end - 1; top >= c; top -= WORKERS) {
                const int own = top - worker;
                double sum[2][4] = {};
                if (own >= c)
                    multiply_block<STRIDE>(sum, left, right + own * (own + 1) / 2 * 128, own + 1);
                __syncthreads();
                if (own >= c)
                    keep(stage + 16 * own * STRIDE, sum);
                __syncthreads();
            }
            c = end;
        }
        for (int e = threadIdx.x; e < n * ROWS; e += threads) {
            const int i = e % ROWS, j = e / ROWS;
            const Element x = (Element)stage[j * STRIDE + i];
            if (first + i < m) {
                v[first + i + j * ldv] = x;
                bad |= !isfinite(x);
            }
        }
        __syncthreads();
    }
    if (overflow && bad)
        *overflow = 1;
}

static size_t wide_bytes(int n, int sets)
{
    return (size_t)(16 * ((n + 15) / 16) + 16) * (16 * (size_t)sets + 4) * sizeof(double);
}

template <int SETS, class Element>
static enum bd_status launch(const struct gram_plan *plan, Element *v, int64_t ldv, int *overflow)
{
    struct bd_cuda *cuda = plan->cuda;
    const int64_t tiles = (plan->m + 16 * SETS - 1) / (16 * SETS);
    const size_t bytes = wide_bytes(plan->data.n, SETS);
    const int64_t most =
        (int64_t)cuda->sms * (bytes <= (size_t)cuda->shared_most / 2 - 1024 ? 2 : 1);
    enum bd_status status = bd_cuda_allow_shared(cuda, (const void *)wide<SETS, Element>,
                                                 "shared memory for rows of V");
    if (status != BD_OK)
        return status;
    bd_cuda_follow(cuda, wide<SETS, Element>, dim3((unsigned)(tiles < most ? tiles : most)),
                   dim3(threads), bytes, plan->data, v, ldv, plan->m, overflow);
    return bd_cuda_launched("the product with a triangle");
}

template <class Element>
static enum bd_status choose(const struct gram_plan *plan, Element *v, int64_t ldv, int *overflow)
{
    const size_t most = (size_t)plan->cuda->shared_most, half = most / 2 - 1024;
    const int n = plan->data.n;
    /* As many rows as two thread blocks of a multiprocessor have room for, so that one can load
     * while the other multiplies. */
    if (wide_bytes(n, 4) <= half)
        return launch<4, Element>(plan, v, ldv, overflow);
    if (wide_bytes(n, 2) <= half || (wide_bytes(n, 1) > half && wide_bytes(n, 2) <= most))
        return launch<2, Element>(plan, v, ldv, overflow);
    return launch<1, Element>(plan, v, ldv, overflow);
}

int bd_cuda_triangular_fits(const struct bd_cuda *cuda, int64_t n)
{
    return n <= gram_most && wide_bytes((int)n, 1) <= (size_t)cuda->shared_most;
}

enum bd_status bd_cuda_triangular_product(const struct gram_plan *plan, void *v, int64_t ldv,
                                          int *overflow)
{
    if (bd_cuda_triangular_is_pipelined(plan))
        return bd_cuda_triangular_pipelined(plan, v, ldv, overflow);
    const enum bd_status status = bd_cuda_triangular_panels(plan, v, ldv, overflow);
    if (status != BD_OK)
        return status;
    return plan->type == BD_F32 ? choose(plan, static_cast<float *>(v), ldv, overflow)
                                : choose(plan, static_cast<double *>(v), ldv, overflow);
}
