/* Private to gpu/rpca: what the kernels of the second sweep share. */
#ifndef BD_GPU_RPCA_ITERATION_CUH
#define BD_GPU_RPCA_ITERATION_CUH

#include "gpu/rpca/iteration.h"
#include "gpu/rpca/multiply.cuh"
#include "gpu/rpca/state.cuh"

enum { bd_rpca_warps = 12 /* of a thread block, at most */ };

/* What a kernel gets. */
template <class Element> struct bd_rpca_job {
    bd_rpca_sweep s;
    bd_rpca_loader<Element> x;
    int64_t tiles; /* of 16 rows */
    float scale;   /* 1 / clip_write; see renew */
    float inverse; /* what takes sums of products back to grey levels */
    int groups;    /* wide: tiles of a thread block */
    int ring;      /* narrow: tiles that have room in shared memory */

    bd_rpca_job(const bd_rpca_sweep &s)
        : s(s), x{ bd_rpca_frames<Element>(s.m, s.ldm, s.rows), s.t, s.n, s.step.clip_read,
                   s.step.dual_scale },
          tiles((s.rows + bd_rpca_rows - 1) / bd_rpca_rows), scale(1 / s.step.clip_write),
          inverse(1 / ((sizeof(Element) == 1 ? 1 : s.unit) * BD_RPCA_W_UNIT)), groups(0), ring(0)
    {
    }

    /* X as it is multiplied. Bytes are used as they are: they are below 2^8. */
    __device__ __forceinline__ float form(float m, float t) const
    {
        const float v = x.form(m, t);
        return sizeof(Element) == 1 ? v : s.unit * v;
    }

    /* The new T of an element, from T, M and the sum of products that is L; adds the square of
     * M - L - S. Of floats in units of clip_write, which neither tiny nor huge pictures take out of
     * the range of float. */
    __device__ __forceinline__ float renew(float t, float m, float sum, float *square) const
    {
        float c = bd_rpca_clip(t, x.clip_read), sparse = t - c;
        float now = sparse + (m - sparse + x.dual_scale * c - inverse * sum);
        float r = bd_rpca_clip(now, s.step.clip_write) - x.dual_scale * c;
        if (sizeof(Element) > 1)
            r *= scale;
        *square += r * r;
        return now;
    }

    /* A sum of these squares in grey levels. */
    __device__ __forceinline__ double squared(double square) const
    {
        const double unit = sizeof(Element) == 1 ? 1 : (double)s.step.clip_write;
        return square * unit * unit;
    }
};

/* Two floats in one store: the compiler would make two. */
__device__ __forceinline__ void bd_rpca_store(float *to, float first, float second)
{
    asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(first), "f"(second) : "memory");
}

__device__ __forceinline__ double bd_rpca_warp_sum(double x)
{
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        x += __shfl_xor_sync(0xffffffffU, x, step);
    return x;
}

/* The sum of a value over the threads of a block, for thread 0. */
__device__ __forceinline__ double bd_rpca_block_sum(double x)
{
    __shared__ double sums[bd_rpca_warps];
    x = bd_rpca_warp_sum(x);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = x;
    __syncthreads();
    for (unsigned i = 1; threadIdx.x == 0 && i < blockDim.x / 32; i++)
        x += sums[i];
    return x;
}

/* The end of a sweep: `square` is a thread's sum of squares from renew. The last block adds
 * those of all blocks in a fixed order and writes the outcome. */
template <class Element>
__device__ __forceinline__ void bd_rpca_finish(const bd_rpca_job<Element> &job, double square)
{
    const bd_rpca_sweep &s = job.s;
    __shared__ bool last;
    square = bd_rpca_block_sum(square);
    if (threadIdx.x == 0) {
        s.partial[blockIdx.x] = job.squared(square);
        __threadfence();
        last = atomicAdd(s.blocks, 1U) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last)
        return;
    __threadfence();
    double sum = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x)
        sum += __ldcg(s.partial + i);
    sum = bd_rpca_block_sum(sum);
    if (threadIdx.x > 0)
        return;
    double residual = sqrt(sum);
    s.outcome->residual = residual;
    s.outcome->rank = s.ranks[0];
    *s.blocks = 0;
    *s.stop = !(residual >= s.stop_below);
    __threadfence_system();
}

#endif
