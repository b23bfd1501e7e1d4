#include "app/bench/gpu/gpu.h"

enum { threads = 256, most_blocks = 132 * 16 };

static int blocks_for(int64_t count)
{
    int64_t blocks = (count + threads - 1) / threads;
    return blocks < most_blocks ? (int)blocks : (int)most_blocks;
}

/* Every kernel but those of R: thread t of all T takes the elements t, t + T, t + 2 T, ... */
#define FOR_EACH(i, count)                                                        \
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < (count); \
         i += gridDim.x * (int64_t)blockDim.x)

__global__ void widen(double *out, const float *a, int64_t ld, int64_t m)
{
    int64_t j = blockIdx.y;
    FOR_EACH(i, m)
    out[i + j * m] = a[i + j * ld];
}

void bd_bench_kernel_widen(double *out, const float *a, int64_t ld, int64_t m, int64_t n,
                           cudaStream_t stream)
{
    dim3 grid((unsigned)blocks_for(m), (unsigned)n);
    widen<<<grid, threads, 0, stream>>>(out, a, ld, m);
}

/* Thread (i, j) of the triangle: element i of column j. */
template <class T> __global__ void take_r(float *r, int64_t ldr, const T *a, int64_t ld, int64_t n)
{
    int64_t j = blockIdx.x;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
        r[i + j * ldr] = i <= j ? (float)a[i + j * ld] : 0;
}

void bd_bench_kernel_take_r(float *r, int64_t ldr, const float *a, int64_t ld, int64_t n,
                            cudaStream_t stream)
{
    take_r<<<(unsigned)n, 128, 0, stream>>>(r, ldr, a, ld, n);
}

void bd_bench_kernel_narrow_r(float *r, const double *a, int64_t n, cudaStream_t stream)
{
    take_r<<<(unsigned)n, 128, 0, stream>>>(r, n, a, n, n);
}

/* The diagonal of n^2 elements is every (n + 1)-th. */
__global__ void identity(double *a, int64_t n)
{
    FOR_EACH(i, n * n)
    a[i] = i % (n + 1) == 0;
}

void bd_bench_kernel_identity(double *a, int64_t n, cudaStream_t stream)
{
    identity<<<blocks_for(n * n), threads, 0, stream>>>(a, n);
}

template <bd_bench_formula which>
__global__ void apply(float *out, const float *a, const float *b, const float *y, float mu,
                      float threshold, int64_t count)
{
    FOR_EACH(i, count)
    out[i] = BD_BENCH_FORMULA(which, out[i], a[i], b[i], y[i], mu, threshold);
}

void bd_bench_kernel_formula(enum bd_bench_formula which, float *out, const float *a,
                             const float *b, const float *y, float mu, float threshold,
                             int64_t count, cudaStream_t stream)
{
    auto kernel = which == BD_BENCH_FORM     ? apply<BD_BENCH_FORM>
                  : which == BD_BENCH_SHRINK ? apply<BD_BENCH_SHRINK>
                                             : apply<BD_BENCH_DUAL>;
    kernel<<<blocks_for(count), threads, 0, stream>>>(out, a, b, y, mu, threshold, count);
}

/* Element i of the n^2 lies in column i / n. */
__global__ void scale_columns(float *p, const float *u, const float *sigma, float threshold,
                              int64_t n)
{
    FOR_EACH(i, n * n)
    p[i] = u[i] * fmaxf(0, sigma[i / n] - threshold);
}

void bd_bench_kernel_scale_columns(float *p, const float *u, const float *sigma, float threshold,
                                   int64_t n, cudaStream_t stream)
{
    scale_columns<<<blocks_for(n * n), threads, 0, stream>>>(p, u, sigma, threshold, n);
}
