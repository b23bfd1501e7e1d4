/* What a thread block of the SVD works on, and how the blocks exchange values (small_svd.cuh).
 *
 * All blocks wait for each other three times a turn: at the barrier after V has been turned, since
 * its columns are then sent around; until the Rayleigh quotients of all columns have arrived; and
 * until the sums of the tangents have; in a step of orthogonal iteration, once a panel too. In a
 * cluster a value is stored straight into the shared memory of all blocks and counted there by a
 * post, an mbarrier, whose phase is the number of the turn. That needs no fence and no barrier of
 * the cluster. Every block, with columns or without, waits at each post once a turn, so that no
 * block is two phases ahead. Without clusters values go through global memory, and the blocks wait
 * at a barrier of tickets. */
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
    struct svd_exchange *exchange;
    unsigned far;  /* cluster address of `exchange` in the block that this lane stores to */
    unsigned pass; /* number of the turn: selects the phase of the posts */
};

/* Blocks without a cluster draw tickets: the number of tickets from which svd_wait counts, a
 * multiple of the number of blocks, which is a power of two. No block is in the second round before
 * this block is in the first. */
__device__ inline unsigned svd_first_round(const struct svd_data &d)
{
    return d.cluster ? 0 : *(volatile unsigned *)d.tickets & ~(gridDim.x - 1);
}

/* Of this block. */
__device__ inline int svd_warps()
{
    return (int)blockDim.x / 32;
}

/* svd_arrive and svd_wait are a barrier of all threads of all blocks: what was written before
 * svd_arrive, to global memory or to the shared memory of another block, can be read after
 * svd_wait. Work between the two overlaps with the arrival of other blocks. */
__device__ inline void svd_arrive(const struct svd_data &d)
{
#if __CUDA_ARCH__ >= 900
    if (d.cluster) {
        /* one fence a block, after its barrier, covers the writes of all its threads; a release by
         * each warp costs more */
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
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n"
                     "fence.mbarrier_init.release.cluster;" ::"r"(
                         svd_address(b.exchange->posts + threadIdx.x))
                     : "memory");
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(b.far)
        : "r"(svd_address(b.exchange)), "r"(threadIdx.x % gridDim.x));
#endif
}

/* Sends `value`, 8 bytes, to `element` of b.exchange in all blocks: one lane stores it for each
 * block. Called by a whole warp. */
template <class T>
__device__ inline void svd_send(const struct svd_data &d, const struct svd_block &b, T *element,
                                T value, enum svd_post post)
{
    const int lane = threadIdx.x % 32;
    static_assert(sizeof value == 8, "values are counted in eights of bytes");
#if __CUDA_ARCH__ >= 900
    if (d.cluster) {
        const unsigned to = b.far + (unsigned)((char *)element - (char *)b.exchange);
        const unsigned bar = b.far + (unsigned)offsetof(struct svd_exchange, posts) + 8 * post;
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
        *(T *)((char *)d.exchange + ((char *)element - (char *)b.exchange)) = value;
}

/* Without clusters, after the barrier: copies `count` values from `element` on to b.exchange. */
template <class T>
__device__ inline void svd_receive(const struct svd_data &d, const struct svd_block &b, T *element,
                                   int count)
{
    if (d.cluster)
        return;
    const T *from = (const T *)((char *)d.exchange + ((char *)element - (char *)b.exchange));
    for (int i = threadIdx.x; i < count; i += (int)blockDim.x)
        element[i] = __ldcg(from + i);
    __syncthreads();
}

/* With clusters: this block expects `bytes` at a post in this turn. Called by one thread. */
__device__ inline void svd_expect(const struct svd_block &b, enum svd_post post, int bytes)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     svd_address(b.exchange->posts + post)),
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
                     : "r"(svd_address(b.exchange->posts + post)), "r"(b.pass % 2)
                     : "memory");
#endif
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/* Copies `bytes` of global memory to `to` in the shared memory of all blocks at once, which takes
 * little more than half the time for all of V; a post counts them. Called by one thread, after a
 * barrier behind which others have written the source and read the destination, and after
 * svd_before_cast. Addresses and bytes are multiples of 16. Plain sm_90 does not have it. */
__device__ inline void svd_cast(const struct svd_block &b, enum svd_post post, void *to,
                                const void *from, int bytes)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(svd_address(to)),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes),
                 "r"(svd_address(b.exchange->posts + post)), "h"((uint16_t)((1 << gridDim.x) - 1))
                 : "memory");
}

__device__ inline void svd_before_cast()
{
    asm volatile("fence.proxy.async;" ::: "memory");
}
#endif

/* Waits until all `count` values have arrived. This is no barrier of the block's own threads. */
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
