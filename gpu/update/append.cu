/* Appends a column to R from inner products: one block solves R^T z = g, 64 rows at a time, in
 * float64. R is read once. */
#include "gpu/update/update.cuh"

namespace
{

enum { append_threads = 1024, append_rows = 64 };

/* y := z with triangle^T z = y, by a warp; a lane has elements lane and lane + 32, and triangle[c]
 * is column c. *left is what is left of ||u||^2: only rounding, divided by a small pivot, makes z
 * exceed it. */
__device__ __forceinline__ void
append_triangle(double (&y)[2], const float (&triangle)[append_rows][append_rows + 1], int cols,
                int lane, double *left)
{
    double inverse[2]; /* of the lane's pivots; 0: no number */
    for (int h = 0; h < 2; h++) {
        const double pivot = (double)triangle[lane + 32 * h][lane + 32 * h];
        inverse[h] = lane + 32 * h < cols && pivot != 0 ? 1 / pivot : 0;
    }
    for (int i = 0; i < cols; i++) {
        double z = i < 32 ? y[0] * inverse[0] : y[1] * inverse[1];
        z = __shfl_sync(~0U, z, i % 32);
        if (z * z > *left)
            z = copysign(sqrt(*left), z);
        *left = z * z < *left ? *left - z * z : 0;
        if (lane == i % 32)
            (i < 32 ? y[0] : y[1]) = z;
        if (lane > i && lane < cols)
            y[0] -= (double)triangle[lane][i] * z;
        if (lane + 32 > i && lane + 32 < cols)
            y[1] -= (double)triangle[lane + 32][i] * z;
    }
}

/* z: n values. One block; a warp has a column at a time. */
__global__ void __launch_bounds__(append_threads)
    append(float *r, int64_t ldr, int64_t n, const double *g, double *z)
{
    __shared__ float triangle[append_rows][append_rows + 1];
    __shared__ double rest[append_rows];
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    double left = g[n] > 0 ? g[n] : 0; /* kept by the first warp */
    for (int64_t first = 0; first < n; first += append_rows) {
        const int cols = (int)(n - first < append_rows ? n - first : append_rows);
        for (int c = warp; c < cols; c += append_threads / 32) {
            const float *const column = r + (first + c) * ldr;
            double sum = 0;
#pragma unroll 8
            for (int64_t i = lane; i < first; i += 32)
                sum += (double)column[i] * z[i];
            sum = bd_sum_warp(sum);
            if (lane == 0)
                rest[c] = g[first + c] - sum;
            for (int i = lane; i < append_rows; i += 32)
                triangle[c][i] = i <= c ? column[first + i] : 0;
        }
        __syncthreads();
        if (warp == 0) {
            double y[2] = { lane < cols ? rest[lane] : 0, lane + 32 < cols ? rest[lane + 32] : 0 };
            append_triangle(y, triangle, cols, lane, &left);
            for (int h = 0; h < 2; h++)
                if (lane + 32 * h < cols) {
                    const int64_t j = first + lane + 32 * h;
                    z[j] = y[h];
                    r[j + n * ldr] = (float)y[h];
                    r[n + j * ldr] = 0;
                }
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        r[n + n * ldr] = (float)sqrt(left);
}

} // namespace

void bd_update_append(const bd_update_launch *launch, float *r, int64_t ldr, int64_t n,
                      const double *g, double *z)
{
    append<<<1, append_threads, 0, launch->stream>>>(r, ldr, n, g, z);
}
