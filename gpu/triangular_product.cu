/* V := V T (gram_qr_plan.h) where all columns of T are one block, as they usually are, and T has
 * room in shared memory beside tiles of rows of V: a product on the FP64 tensor cores, which waits
 * for nothing but memory. What has more blocks is left to triangular_wide.cu.
 *
 * A warp has 16 rows of a tile, and its share of the blocks of 16 columns of Q, so that all shares
 * are about as much work. It multiplies T^T by V^T: so a lane has two rows of a column of Q next to
 * each other. */
#include "gpu/dependent_launch.cuh"
#include "gpu/gram_multiply.cuh"
#include "gpu/staged_rows.cuh"
#include "gpu/triangular.h"

enum {
    warps = 16,
    threads = 32 * warps,
    most_stages = 3,
    few_columns = 64, /* up to here tiles have twice as many rows */
    few_rows = 64,
    many_rows = 2 * few_rows,
    block_size = 256 /* doubles of a block of T */
};

/* Elements between staged columns: those of four, of which a fragment has eight, are in different
 * banks. */
template <int ROWS, class Element> static __host__ __device__ constexpr int stride_of(void)
{
    return ROWS + (sizeof(Element) == 8 ? 4 : 8);
}

static __host__ __device__ int blocks_of(int n)
{
    return (n + 15) / 16;
}

/* 16 rows and columns of V, scaled, as the lane has them. */
template <int STRIDE, bool SINGLE, class Element>
static __device__ __forceinline__ void load_rows(double x[2][4], const Element *rows,
                                                 const double *scale)
{
#pragma unroll
    for (int s = 0; s < 4; s++) {
        const double by = scale[4 * s];
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const double y = (double)rows[4 * s * STRIDE + 8 * h] * by;
            x[h][s] = SINGLE ? (double)(float)y : y;
        }
    }
}

/* sum := 16 columns of Q, `blocks` blocks of T deep. `left` at the lane's place in the first. */
template <int STRIDE, bool SINGLE, class Element>
static __device__ __forceinline__ void multiply(double sum[2][4], const double2 *left,
                                                const Element *rows, const double *scale,
                                                int blocks)
{
#pragma unroll
    for (int e = 0; e < 4; e++)
        sum[0][e] = sum[1][e] = 0;
#pragma unroll 2
    for (int k = 0; k < blocks; k++) {
        double x[2][4], y[2][4];
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const double2 low = left[h * 64], high = left[h * 64 + 32];
            y[h][0] = low.x, y[h][1] = low.y, y[h][2] = high.x, y[h][3] = high.y;
        }
        load_rows<STRIDE, SINGLE>(x, rows + 16 * k * STRIDE, scale + 16 * k);
        bd_gram_multiply(sum[0], y[0], y[1], x[0]);
        bd_gram_multiply(sum[1], y[0], y[1], x[1]);
        left += block_size / 2;
    }
    if (SINGLE)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            sum[0][e] = (double)(float)sum[0][e];
            sum[1][e] = (double)(float)sum[1][e];
        }
}

/* Rows `row` and row + 1 of a column of Q, and whether one of them is not finite. */
template <class Element>
static __device__ __forceinline__ int put_rows(Element *to, double x, double y, int64_t rows,
                                               bool aligned)
{
    const Element low = (Element)x, high = (Element)y;
    if (rows >= 2 && aligned) {
        if constexpr (sizeof(Element) == 8)
            *reinterpret_cast<double2 *>(to) = make_double2(low, high);
        else
            *reinterpret_cast<float2 *>(to) = make_float2(low, high);
    } else {
        if (rows > 0)
            to[0] = low;
        if (rows > 1)
            to[1] = high;
    }
    return (rows > 0 && !isfinite(low)) || (rows > 1 && !isfinite(high));
}

template <int STAGES, int ROWS, class Element>
__global__ __launch_bounds__(threads, 1) void product(const __grid_constant__ struct gram_data d,
                                                      Element *v, int64_t ldv, int64_t m,
                                                      int *overflow)
{
    constexpr int STRIDE = stride_of<ROWS, Element>(), STRIPS = ROWS / 16, SHARES = warps / STRIPS;
    extern __shared__ __align__(16) double shared[];
    const int n = d.n, blocks = blocks_of(n), size = 16 * blocks * STRIDE;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, t = lane % 4;
    const int strip = warp % STRIPS, share = warp / STRIPS;
    const int64_t tiles = (m + ROWS - 1) / ROWS, step = gridDim.x;
    const bool aligned = staged_aligned(v, ldv);
    double *packed = shared, *scale = packed + blocks * (blocks + 1) / 2 * block_size;
    Element *stages = reinterpret_cast<Element *>(scale + 16 * blocks);
    int bad = 0;
    bd_cuda_await();
    if (d.decision->identity || !bd_triangular_is_product(*d.decision, n))
        return;
    const bool single = d.decision->single;
    auto fetch = [&](int64_t tile, int stage) {
        if (tile < tiles)
            staged_fetch<ROWS, STRIDE, threads>(stages + stage * size, v, ldv, tile * ROWS, m, n,
                                                aligned);
        staged_commit();
    };
    int64_t tile = blockIdx.x;
    for (int stage = 0; stage < STAGES - 1; stage++)
        fetch(tile + stage * step, stage);
    for (int e = threadIdx.x; e < blocks * (blocks + 1) / 2 * block_size; e += threads)
        packed[e] = d.packed[e];
    for (int j = threadIdx.x; j < 16 * blocks; j += threads)
        scale[j] = j < n ? d.inverse[j] : 0.0;
    for (int e = n * STRIDE + threadIdx.x; e < size; e += threads)
        for (int stage = 0; stage < STAGES; stage++)
            stages[stage * size + e] = 0; /* and stays so */
    for (int stage = 0; tile < tiles; tile += step, stage = (stage + 1) % STAGES) {
        staged_wait<STAGES - 2>();
        __syncthreads();
        fetch(tile + (STAGES - 1) * step, (stage + STAGES - 1) % STAGES);
        const Element *rows = stages + stage * size + 16 * strip + group + t * STRIDE;
        const int64_t row = tile * ROWS + 16 * strip + 2 * t;
        /* There and back again from the last block of columns, which is the most work. */
        for (int turn = 0; turn < blocks; turn += SHARES) {
            const int c = blocks - 1 - turn - (turn / SHARES % 2 ? SHARES - 1 - share : share);
            double sum[2][4];
            if (c < 0)
                continue;
            const double2 *left =
                reinterpret_cast<const double2 *>(packed + c * (c + 1) / 2 * block_size) + lane;
            if (single)
                multiply<STRIDE, true>(sum, left, rows, scale + t, c + 1);
            else
                multiply<STRIDE, false>(sum, left, rows, scale + t, c + 1);
#pragma unroll
            for (int h = 0; h < 2; h++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    const int j = 16 * c + 8 * e + group;
                    const int64_t i = row + 8 * h;
                    if (j < n)
                        bad |= put_rows(v + i + j * ldv, sum[h][2 * e], sum[h][2 * e + 1], m - i,
                                        aligned);
                }
        }
    }
    if (overflow && bad)
        *overflow = 1;
}

/* Bytes of shared memory with so many stages. */
template <int ROWS, class Element> static size_t product_bytes(int n, int stages)
{
    const size_t blocks = (size_t)blocks_of(n), stride = (size_t)stride_of<ROWS, Element>();
    return (blocks * (blocks + 1) / 2 * block_size + 16 * blocks) * sizeof(double) +
           (size_t)stages * 16 * blocks * stride * sizeof(Element);
}

template <int STAGES, int ROWS, class Element>
static enum bd_status launch(const struct gram_plan *plan, Element *v, int64_t ldv, int *overflow)
{
    struct bd_cuda *cuda = plan->cuda;
    const int64_t tiles = (plan->m + ROWS - 1) / ROWS;
    const auto kernel = product<STAGES, ROWS, Element>;
    enum bd_status status =
        bd_cuda_allow_shared(cuda, (const void *)kernel, "shared memory for rows of V");
    if (status != BD_OK)
        return status;
    cudaLaunchAttribute early = {};
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(tiles < cuda->sms ? tiles : cuda->sms));
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = product_bytes<ROWS, Element>(plan->data.n, STAGES);
    config.stream = cuda->stream;
    config.attrs = &early;
    bd_cuda_overlap(cuda, &config);
    cudaLaunchKernelEx(&config, kernel, plan->data, v, ldv, plan->m, overflow);
    return bd_cuda_launched("the product with a triangle");
}

/* As many stages as there is room for. */
template <int STAGES, int ROWS, class Element>
static enum bd_status choose(const struct gram_plan *plan, Element *v, int64_t ldv, int *overflow)
{
    if constexpr (STAGES > 2)
        if (product_bytes<ROWS, Element>(plan->data.n, STAGES) > (size_t)plan->cuda->shared_most)
            return choose<STAGES - 1, ROWS>(plan, v, ldv, overflow);
    return launch<STAGES, ROWS>(plan, v, ldv, overflow);
}

template <class Element>
static enum bd_status choose_rows(const struct gram_plan *plan, Element *v, int64_t ldv,
                                  int *overflow)
{
    return plan->data.n <= few_columns && plan->m > many_rows
               ? choose<most_stages, many_rows>(plan, v, ldv, overflow)
               : choose<most_stages, few_rows>(plan, v, ldv, overflow);
}

extern "C" int bd_cuda_triangular_has_product(const struct gram_plan *plan)
{
    const int n = plan->data.n;
    const size_t bytes = plan->type == BD_F32 ? product_bytes<few_rows, float>(n, 2)
                                              : product_bytes<few_rows, double>(n, 2);
    return bytes <= (size_t)plan->cuda->shared_most;
}

extern "C" enum bd_status bd_cuda_triangular_product(const struct gram_plan *plan, void *v,
                                                     int64_t ldv, int *overflow)
{
    return plan->type == BD_F32 ? choose_rows(plan, static_cast<float *>(v), ldv, overflow)
                                : choose_rows(plan, static_cast<double *>(v), ldv, overflow);
}
