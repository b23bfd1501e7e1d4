/* Private to gpu/rpca: what the kernels of the second sweep share. */
#ifndef BD_GPU_RPCA_ITERATION_CUH
#define BD_GPU_RPCA_ITERATION_CUH

#include "gpu/rpca/iteration.h"
#include "gpu/rpca/multiply.cuh"
#include "gpu/rpca/state.cuh"

enum { bd_rpca_warps = 12 /* of a thread block, at most */ };

/* Sums of squares of an iteration: of M - L - E, and of the new E - the old E. */
template <class Number> struct bd_rpca_sums {
    Number residual, change;
};

/* What a kernel gets. */
template <class Element, bool RELAXED = false> struct bd_rpca_job {
    using loader = bd_rpca_loader<Element, RELAXED>;
    bd_rpca_sweep s;
    loader x;
    int64_t tiles; /* of 16 rows */
    float scale;   /* 1 / clip_write; see renew */
    float inverse; /* what takes sums of products back to grey levels */
    int groups;    /* wide: tiles of a thread block */
    int ring;      /* narrow: tiles that have room in shared memory */

    bd_rpca_job(const bd_rpca_sweep &s)
        : s(s), x(bd_rpca_frames<Element>(s.m, s.ldm, s.rows), s.t, s.n, s.step),
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

    /* The new T of an element, from T, M and the sum of products that is L; adds the squares to
     * `sums`. Of floats in units of clip_write, which neither tiny nor huge pictures take out of
     * the range of float. */
    __device__ __forceinline__ float renew(float t, float m, float sum,
                                           bd_rpca_sums<float> *sums) const
    {
        const float c = loader::clip(m, t, x.scale_read, x.clip_read), old = t - c;
        const float moved = loader::seen(m) - old + x.dual_scale * c - inverse * sum; /* X - L */
        const float now = old + moved;
        const float next = loader::clip(m, now, s.step.scale_write, s.step.clip_write);
        float r = next - x.dual_scale * c, e = moved - next;
        if (sizeof(Element) > 1)
            r *= scale, e *= scale;
        sums->residual += r * r;
        sums->change += e * e;
        return now;
    }

    /* S of an element, from its new T. */
    __device__ __forceinline__ float sparse(float m, float now) const
    {
        return RELAXED && isnan(m) ? 0 : now - bd_rpca_clip(now, s.step.clip_sparse);
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

/* The sums of a block's threads, for thread 0. */
__device__ __forceinline__ bd_rpca_sums<double> bd_rpca_block_sum(bd_rpca_sums<double> x)
{
    __shared__ bd_rpca_sums<double> sums[bd_rpca_warps];
    x = { bd_rpca_warp_sum(x.residual), bd_rpca_warp_sum(x.change) };
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = x;
    __syncthreads();
    for (unsigned i = 1; threadIdx.x == 0 && i < blockDim.x / 32; i++)
        x.residual += sums[i].residual, x.change += sums[i].change;
    return x;
}

/* ||X - L||_F from the singular values of X: what the thresholding takes from each. By a warp. */
__device__ __forceinline__ double bd_rpca_norm_taken(const bd_rpca_sweep &s)
{
    double sum = 0;
    for (int i = threadIdx.x % 32; i < s.n; i += 32) {
        const double taken = fmin((double)s.sigma[i], s.step.tau);
        sum += taken * taken;
    }
    const double unit = s.step.keep_svd ? 1 + (double)s.step.dual_scale : 1;
    return unit * sqrt(bd_rpca_warp_sum(sum));
}

/* The end of a sweep: `sums` are a thread's, from renew. The last block adds those of all blocks in
 * a fixed order and writes the outcome. */
template <class Job>
__device__ __forceinline__ void bd_rpca_finish(const Job &job, bd_rpca_sums<double> sums)
{
    const bd_rpca_sweep &s = job.s;
    __shared__ bool last;
    sums = bd_rpca_block_sum(sums);
    if (threadIdx.x == 0) {
        s.partial[2 * blockIdx.x] = job.squared(sums.residual);
        s.partial[2 * blockIdx.x + 1] = job.squared(sums.change);
        __threadfence();
        last = atomicAdd(s.blocks, 1U) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last)
        return;
    __threadfence();
    sums = { 0, 0 };
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) {
        sums.residual += __ldcg(s.partial + 2 * i);
        sums.change += __ldcg(s.partial + 2 * i + 1);
    }
    sums = bd_rpca_block_sum(sums);
    const double dual = bd_rpca_norm_taken(s);
    if (threadIdx.x > 0)
        return;
    const double residual = sqrt(sums.residual), change = sqrt(sums.change);
    s.outcome->residual = residual;
    s.outcome->change = change;
    s.outcome->dual = dual;
    s.outcome->rank = s.ranks[0];
    *s.blocks = 0;
    *s.stop = s.outcome->stopped =
        !(residual >= s.stop_at.residual) && !(change >= s.stop_at.change * dual);
    __threadfence_system();
}

#endif
