#include "app/bench/gpu/kernels.h"

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

/* A hash of (seed, i) to -1..1: the finaliser of splitmix64 (Steele, Lea, Flood 2014). */
__device__ float uniform(uint64_t seed, uint64_t i)
{
    uint64_t z = (seed << 40) + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (float)(int32_t)((z ^ (z >> 31)) >> 32) * 0x1p-31F;
}

__global__ void fill(float *data, int64_t count, uint64_t seed)
{
    FOR_EACH(i, count)
    data[i] = uniform(seed, (uint64_t)i);
}

void bd_bench_kernel_fill(float *data, int64_t count, uint64_t seed, cudaStream_t stream)
{
    fill<<<blocks_for(count), threads, 0, stream>>>(data, count, seed);
}

__global__ void fill_collinear(float *data, int64_t m, int64_t count, float noise, uint64_t seed)
{
    FOR_EACH(i, count)
    data[i] = uniform(seed, (uint64_t)(i % m)) + noise * uniform(seed + 1, (uint64_t)i);
}

void bd_bench_kernel_fill_collinear(float *data, int64_t m, int64_t n, float noise, uint64_t seed,
                                    cudaStream_t stream)
{
    fill_collinear<<<blocks_for(m * n), threads, 0, stream>>>(data, m, m * n, noise, seed);
}

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
template <class T> __global__ void take_r(float *r, const T *a, int64_t ld, int64_t n)
{
    int64_t j = blockIdx.x;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
        r[i + j * n] = i <= j ? (float)a[i + j * ld] : 0;
}

void bd_bench_kernel_take_r(float *r, const float *a, int64_t ld, int64_t n, cudaStream_t stream)
{
    take_r<<<(unsigned)n, 128, 0, stream>>>(r, a, ld, n);
}

void bd_bench_kernel_narrow_r(float *r, const double *a, int64_t n, cudaStream_t stream)
{
    take_r<<<(unsigned)n, 128, 0, stream>>>(r, a, n, n);
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

__global__ void from_bytes(float *out, const uint8_t *bytes, int64_t ld, int64_t m)
{
    int64_t j = blockIdx.y;
    FOR_EACH(i, m)
    out[i + j * m] = bytes[i + j * ld];
}

void bd_bench_kernel_from_bytes(float *out, const uint8_t *bytes, int64_t ld, int64_t m, int64_t n,
                                cudaStream_t stream)
{
    dim3 grid((unsigned)blocks_for(m), (unsigned)n);
    from_bytes<<<grid, threads, 0, stream>>>(out, bytes, ld, m);
}

__global__ void form(float *t, const float *m, const float *s, const float *y, float mu,
                     int64_t count)
{
    FOR_EACH(i, count)
    t[i] = m[i] - s[i] + y[i] / mu;
}

void bd_bench_kernel_form(float *t, const float *m, const float *s, const float *y, float mu,
                          int64_t count, cudaStream_t stream)
{
    form<<<blocks_for(count), threads, 0, stream>>>(t, m, s, y, mu, count);
}

__global__ void shrink(float *s, const float *m, const float *l, const float *y, float mu,
                       float threshold, int64_t count)
{
    FOR_EACH(i, count)
    {
        float rest = m[i] - l[i] + y[i] / mu;
        s[i] = rest - fmaxf(-threshold, fminf(threshold, rest));
    }
}

void bd_bench_kernel_shrink(float *s, const float *m, const float *l, const float *y, float mu,
                            float threshold, int64_t count, cudaStream_t stream)
{
    shrink<<<blocks_for(count), threads, 0, stream>>>(s, m, l, y, mu, threshold, count);
}

__global__ void dual(float *y, const float *m, const float *l, const float *s, float mu,
                     int64_t count)
{
    FOR_EACH(i, count)
    y[i] += mu * (m[i] - l[i] - s[i]);
}

void bd_bench_kernel_dual(float *y, const float *m, const float *l, const float *s, float mu,
                          int64_t count, cudaStream_t stream)
{
    dual<<<blocks_for(count), threads, 0, stream>>>(y, m, l, s, mu, count);
}

__global__ void rest(float *out, const float *m, const float *l, const float *s, int64_t count)
{
    FOR_EACH(i, count)
    out[i] = m[i] - l[i] - s[i];
}

void bd_bench_kernel_rest(float *out, const float *m, const float *l, const float *s, int64_t count,
                          cudaStream_t stream)
{
    rest<<<blocks_for(count), threads, 0, stream>>>(out, m, l, s, count);
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
