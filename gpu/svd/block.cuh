/* What a thread block of the SVD works on, and how the blocks tell each other of it
 * (small_svd.cuh).
 *
 * A turn has three meetings of all blocks: at the barrier when V has been turned, for then its
 * columns are sent around; when the Rayleigh quotients of all columns have been told; and when the
 * sums of the tangents have. In a cluster what is told is stored straight into the shared memory of
 * all blocks and counted by a post there, an mbarrier, whose phase is the number of the turn: no
 * fence and no barrier of the cluster. Each post is met once a turn by all blocks, those without
 * columns too, so nobody is two phases ahead. Without clusters it goes through global memory, and
 * the meeting is a barrier of tickets. */
#ifndef BD_GPU_SVD_BLOCK_CUH
#define BD_GPU_SVD_BLOCK_CUH

#include "gpu/svd/small_svd.cuh"

/* What a block works on. G and V are in shared memory where they find room, all else is there. */
struct svd_block {
    int n, ld, padded; /* n to whole tiles */
    int first;         /* of its columns */
    int used;          /* blocks that have columns */
    const double *g;   /* ld x n */
    const float *v;    /* ld x n */
    float *own;        /* ld x its columns: those of V */
    double *z;         /* ld x its columns: G V */
    float *e;          /* ld x its columns: E */
    /* Sums of each warp: of its columns, a row of them a warp, and of all. */
    double *shift;
    float2 *turn, *left;
    struct svd_told *told;
    unsigned far;  /* told of the block that is this lane's, as clusters address it */
    unsigned pass; /* turns begun before: selects the phase of the posts */
};

/* What svd_wait counts from, of the tickets that blocks without a cluster draw: a multiple of their
 * number, which is a power of two. Nobody is in the second round before this block is in the first.
 */
__device__ inline unsigned svd_first_round(const struct svd_data &d)
{
    return d.cluster ? 0 : *(volatile unsigned *)d.tickets & ~(gridDim.x - 1);
}

/* Of this block. */
__device__ inline int svd_warps()
{
    return (int)blockDim.x / 32;
}

/* svd_arrive and svd_wait are a barrier of all threads of all blocks: what was written before the
 * one, to global memory or to the shared memory of another block, is seen after the other. What is
 * done between them is done while others arrive. */
__device__ inline void svd_arrive(const struct svd_data &d)
{
#if __CUDA_ARCH__ >= 900
    if (d.cluster) {
        /* one fence a block, after its barrier, covers the writes of all its threads; a release by
         * each warp is dearer */
        __syncthreads();
        if (threadIdx.x == 0)
            asm volatile("fence.acq_rel.cluster;" ::: "memory");
        __syncwarp();
        asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
        return;
    }
#endif
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(d.tickets, 1u);
}

__device__ inline void svd_wait(const struct svd_data &d, unsigned *round)
{
#if __CUDA_ARCH__ >= 900
    if (d.cluster) {
        asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
        return;
    }
#endif
    *round += gridDim.x;
    if (threadIdx.x == 0) {
        while ((int)(*(volatile unsigned *)d.tickets - *round) < 0) {
        }
        __threadfence();
    }
    __syncthreads();
}

__device__ inline unsigned svd_address(const void *shared)
{
    return (unsigned)__cvta_generic_to_shared(shared);
}

__device__ inline void svd_open_posts(const struct svd_data &d, struct svd_block &b)
{
#if __CUDA_ARCH__ >= 900
    if (!d.cluster)
        return;
    if (threadIdx.x < svd_post_count)
        asm volatile(
            "mbarrier.init.shared::cta.b64 [%0], 1;\n"
            "fence.mbarrier_init.release.cluster;" ::"r"(svd_address(b.told->posts + threadIdx.x))
            : "memory");
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(b.far)
        : "r"(svd_address(b.told)), "r"(threadIdx.x % gridDim.x));
#endif
}

/* All blocks are to know `value`, 8 bytes, which in each of them is `element` of b.told: a lane
 * stores it for each. By a whole warp. */
template <class T>
__device__ inline void svd_tell(const struct svd_data &d, const struct svd_block &b, T *element,
                                T value, enum svd_post post)
{
    const int lane = threadIdx.x % 32;
    static_assert(sizeof value == 8, "what is told is counted in eights of bytes");
#if __CUDA_ARCH__ >= 900
    if (d.cluster) {
        const unsigned to = b.far + (unsigned)((char *)element - (char *)b.told);
        const unsigned bar = b.far + (unsigned)offsetof(struct svd_told, posts) + 8 * post;
        if (lane >= (int)gridDim.x)
            return;
        if (post == svd_at_barrier)
            asm volatile("st.shared::cluster.b64 [%0], %1;" ::"r"(to), "l"(*(uint64_t *)&value)
                         : "memory");
        else
            asm volatile(
                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::
                    "r"(to),
                "l"(*(uint64_t *)&value), "r"(bar)
                : "memory");
        return;
    }
#endif
    (void)post;
    if (lane == 0)
        *(T *)((char *)d.told + ((char *)element - (char *)b.told)) = value;
}

/* Without clusters, after the barrier: `count` of what was told, from `element` on, to b.told. */
template <class T>
__device__ inline void svd_hear(const struct svd_data &d, const struct svd_block &b, T *element,
                                int count)
{
    if (d.cluster)
        return;
    const T *from = (const T *)((char *)d.told + ((char *)element - (char *)b.told));
    for (int i = threadIdx.x; i < count; i += (int)blockDim.x)
        element[i] = __ldcg(from + i);
    __syncthreads();
}

/* With clusters. This block expects `bytes` at a post, of this pass; by one thread. */
__device__ inline void svd_expect(const struct svd_block &b, enum svd_post post, int bytes)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     svd_address(b.told->posts + post)),
                 "r"(bytes)
                 : "memory");
#endif
}

/* Waits until they have arrived. */
__device__ inline void svd_await(const struct svd_block &b, enum svd_post post)
{
#if __CUDA_ARCH__ >= 900
    unsigned done = 0;
    while (!done)
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(svd_address(b.told->posts + post)), "r"(b.pass % 2)
                     : "memory");
#endif
}

/* Copies `bytes` of global memory to `to` in shared memory, from where they arrive at a post: by
 * one thread, which knows by a barrier that others have written the one and read the other, and has
 * called svd_before_fetch. Addresses and bytes are multiples of 16. */
__device__ inline void svd_fetch(const struct svd_block &b, enum svd_post post, void *to,
                                 const void *from, int bytes)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(svd_address(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes),
                 "r"(svd_address(b.told->posts + post))
                 : "memory");
#endif
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/* The same, but to all blocks' shared memory at once, which takes little more than half the time
 * for all of V. This is no part of plain sm_90. */
__device__ inline void svd_cast(const struct svd_block &b, enum svd_post post, void *to,
                                const void *from, int bytes)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(svd_address(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes),
                 "r"(svd_address(b.told->posts + post)), "h"((uint16_t)((1 << gridDim.x) - 1))
                 : "memory");
}
#endif

__device__ inline void svd_before_fetch()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async;" ::: "memory");
#endif
}

/* Waits until all `count` values have been told. No barrier of the block's own threads. */
__device__ inline void svd_meet(const struct svd_data &d, const struct svd_block &b,
                                enum svd_post post, int count, unsigned *round)
{
    if (d.cluster) {
        if (threadIdx.x == 0)
            svd_expect(b, post, 8 * count);
        svd_await(b, post);
        return;
    }
    svd_arrive(d);
    svd_wait(d, round);
}

#endif
