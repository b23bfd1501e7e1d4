/* W = R^-1 and R = R2 R1 of the thin Q by Cholesky (cholqr.h). */
#include "gpu/qr/cholqr.h"

#include "gpu/core/triangle.cuh"
#include "gpu/gram_qr/solver.cuh"

enum { narrow_cols = 192 /* up to here R fits in shared memory */ };

/* A warp computes column j of W by back substitution, R w = e_j, from row j upwards. Lane l has
 * elements l, 32 + l, .. of w; w(i) is known when the columns of R right of i have been taken from
 * it. Columns from n on of the last block of 16 become zero. With SHARED, each thread block first
 * copies R to shared memory, column i at i (i + 1) / 2, because each step waits for an element of
 * R. gram_invert_column (gpu/gram_qr/solver.cuh) is the same for the R^ of gram_qr, in blocks of
 * columns and by rows. */
template <int PARTS, bool SHARED>
__global__ __launch_bounds__(SHARED ? 512
                                    : 128) void invert(const __grid_constant__ struct gram_data t,
                                                       double *condition, const double *g,
                                                       const double *norms)
{
    extern __shared__ double2 memory[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int n = t.n, j = blockIdx.x * warps + warp;
    double *packed = reinterpret_cast<double *>(memory);
    if (SHARED) {
        bd_cuda_load_triangle<4>(g, n, [&](int i, int row, double x, bool wanted) {
            if (wanted)
                packed[i * (i + 1) / 2 + row] = x;
        });
        __syncthreads();
    }
    if (j >= (n + 15) / 16 * 16)
        return;
    double x[PARTS], inverse[PARTS];
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        int i = 32 * part + lane;
        x[part] = i == j && j < n ? 1 : 0;
        inverse[part] = i <= j && j < n ? 1 / g[i + (int64_t)i * n] : 0;
    }
#pragma unroll
    for (int top = PARTS - 1; top >= 0; top--) {
        if (32 * top > j)
            continue;
#pragma unroll 4
        for (int s = 31; s >= 0; s--) {
            const int i = 32 * top + s;
            const double *column = SHARED ? packed + i * (i + 1) / 2 : g + (int64_t)i * n;
            double known = __shfl_sync(0xffffffffu, x[top] * inverse[top], s);
#pragma unroll
            for (int part = 0; part <= top; part++) {
                int row = 32 * part + lane;
                double r = row < i && i < n ? column[row] : 0.0;
                x[part] = row == i ? known : x[part] - r * known;
            }
        }
    }
    double sum = 0;
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        int i = 32 * part + lane;
        if (i / 16 <= j / 16)
            t.packed[gram_packed(i, j)] = x[part];
        double scaled = i <= j && j < n ? norms[i] * x[part] : 0.0;
        sum += scaled * scaled;
    }
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (lane > 0 || j >= n)
        return;
    condition[j] = sum;
    t.inverse[j] = 1;
    if (j == 0)
        t.decision->starts[0] = 1;
}

enum bd_status bd_cuda_cholqr_invert(struct bd_cuda *cuda, const struct gram_data *t,
                                     double *condition, const double *g, const double *norms)
{
    const int n = t->n, columns = (n + 15) / 16 * 16;
    const size_t bytes = (size_t)n * (n + 1) / 2 * sizeof(double);
    if (n > narrow_cols || bytes > (size_t)cuda->shared_most) {
        invert<32, false><<<(unsigned)columns / 4, 128, 0, cuda->stream>>>(*t, condition, g, norms);
        return bd_cuda_launched("inverting R");
    }
    enum bd_status status =
        bd_cuda_check(cudaFuncSetAttribute(invert<6, true>,
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
                      "the shared memory for inverting R");
    if (status != BD_OK)
        return status;
    invert<6, true><<<(unsigned)columns / 16, 512, bytes, cuda->stream>>>(*t, condition, g, norms);
    return bd_cuda_launched("inverting R");
}

/* A thread computes one element of R. */
__global__ void join(float *r, int64_t ldr, const double *r2, const double *r1, int n)
{
    const int i = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y;
    if (i >= n || j >= n)
        return;
    double sum = 0;
    for (int k = i; k <= j; k++)
        sum += r2[i + (int64_t)k * n] * r1[k + (int64_t)j * n];
    r[i + j * ldr] = (float)sum;
}

enum bd_status bd_cuda_cholqr_join(struct bd_cuda *cuda, float *r, int64_t ldr, const double *r2,
                                   const double *r1, int n)
{
    dim3 grid((unsigned)(n + 31) / 32, (unsigned)(n + 7) / 8);
    join<<<grid, dim3(32, 8), 0, cuda->stream>>>(r, ldr, r2, r1, n);
    return bd_cuda_launched("R2 R1");
}
