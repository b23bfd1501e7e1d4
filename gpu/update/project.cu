/* Turns the inner products of new columns with those of Q into coefficients of the next
 * projection, entries of R, and the decision whether a second projection is needed. One block. */
#include <cfloat>

#include "gpu/update/update.cuh"

namespace
{

/* Thread c applies the rotations to column c of the inner products; then all threads store them. */
template <int P> __global__ void first_kernel(bd_update_job job)
{
    if (bd_update_refused(job))
        return;
    enum { piece = 64 }; /* steps whose numbers are in shared memory at a time */
    __shared__ double from[piece * P], to[piece * P];
    __shared__ float2 cs[piece * P];
    int c = threadIdx.x, steps = job.n_in > job.n ? job.n : 0;
    double x[P + 1];
#pragma unroll
    for (int s = 0; s < P; s++)
        x[s] = c < P && s < job.n_in ? job.sums[s * P + c] : 0;
    for (int base = 0; base < steps; base += piece) {
        int count = steps - base < piece ? steps - base : piece;
        for (int i = threadIdx.x; i < count * P; i += blockDim.x) {
            from[i] = base + P + i / P < job.n_in ? job.sums[(base + P) * P + i] : 0;
            cs[i] = job.cs[base * P + i];
        }
        __syncthreads();
        for (int i = 0; c < P && i < count; i++) {
            x[P] = from[i * P + c];
#pragma unroll
            for (int s = P - 1; s >= 0; s--)
                bd_rotate(x[s], x[s + 1], (double)cs[i * P + s].x, (double)cs[i * P + s].y);
            to[i * P + c] = x[0];
#pragma unroll
            for (int s = 0; s < P; s++)
                x[s] = x[s + 1];
        }
        __syncthreads();
        for (int i = threadIdx.x; i < count * P; i += blockDim.x)
            job.sums[base * P + i] = to[i];
    }
    if (c < P)
        job.state->whole[c] = sqrt(job.sums[job.n_in * P + c]);
    __syncthreads();
    for (int i = threadIdx.x; i < (job.n + job.b) * P; i += blockDim.x) {
        int row = i / P, column = i % P;
        float value = row < job.n ? (float)job.sums[i] : 0;
        if (row < job.n)
            job.small[i] = value;
        if (column < job.b)
            job.w[row + column * job.ldw] = value;
    }
}

/* Q^T v / ||v|| of a v orthogonal to working accuracy, as on the CPU: rounding of the inner
 * products alone leaves about half of this (uniform random Q, n = 10 .. 200). */
__device__ double orthogonal(int n)
{
    return 0.5 * FLT_EPSILON * sqrt((double)n);
}

/* Warp c: column c. */
template <int P> __global__ void second_kernel(bd_update_job job)
{
    if (bd_update_refused(job))
        return;
    int c = threadIdx.x / 32, again = 0;
    if (c < job.b) {
        double square = 0;
        for (int i = threadIdx.x % 32; i < job.n; i += 32)
            square += job.sums[i * P + c] * job.sums[i * P + c];
        double norm = sqrt(job.sums[job.n * P + c]);
        again = sqrt(bd_sum_warp(square)) > orthogonal(job.n) * norm;
        if (threadIdx.x % 32 == 0)
            job.state->norm[c] = norm;
    }
    again = __syncthreads_or(again);
    if (threadIdx.x == 0)
        job.state->again = again;
    for (int i = threadIdx.x; again && i < job.n * P; i += blockDim.x) {
        float value = (float)job.sums[i];
        job.small[i] = value;
        if (i % P < job.b)
            job.w[i / P + i % P * job.ldw] += (double)value;
    }
}

} // namespace

void bd_update_first(const bd_update_launch *launch, const bd_update_job *job)
{
    (job->width == 1 ? first_kernel<1>
                     : first_kernel<bd_update_group>)<<<1, 256, 0, launch->stream>>>(*job);
}

void bd_update_second(const bd_update_launch *launch, const bd_update_job *job)
{
    (job->width == 1 ? second_kernel<1>
                     : second_kernel<bd_update_group>)<<<1, 256, 0, launch->stream>>>(*job);
}
