/* Private to gpu/rpca: a tile of M and T in shared memory, for the second sweep of batch
 * Robust PCA, and the barriers that are passed when its copy is done. */
#ifndef BD_GPU_RPCA_TILE_CUH
#define BD_GPU_RPCA_TILE_CUH

#include "gpu/rpca/iteration.cuh"
#include "gpu/rpca/multiply.cuh"

__device__ __forceinline__ unsigned bd_rpca_shared(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void bd_rpca_copy16(unsigned shared, const void *global)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
}

/* A barrier in shared memory for a tile that the 32 lanes of a warp copy: a lane arrives twice,
 * when its asynchronous copies are done, and for its ordinary stores. */
__device__ __forceinline__ void bd_rpca_barrier_init(unsigned barrier)
{
    asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void bd_rpca_barrier_arrive(unsigned barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(barrier)
                 : "memory");
}

/* Publishes the number of the tile that is being copied to a place, for bd_rpca_await_copy. */
__device__ __forceinline__ void bd_rpca_announce_copy(unsigned number, int i)
{
    asm volatile("st.release.cta.shared.b32 [%0], %1;" ::"r"(number), "r"(i) : "memory");
}

/* Waits until the copy of i has begun. */
__device__ __forceinline__ void bd_rpca_await_copy(unsigned number, int i)
{
    int now;
    do
        asm volatile("ld.acquire.cta.shared.b32 %0, [%1];" : "=r"(now) : "r"(number) : "memory");
    while (now != i);
}

/* Waits for the end of the phase of this parity: 0 the first copy, 1 the second, 0 the third.. That
 * copy must have begun: before, the parity is that of the copy before last, which has long ended.
 */
__device__ __forceinline__ void bd_rpca_barrier_wait(unsigned barrier, int parity)
{
    unsigned done;
    do {
#if __CUDA_ARCH__ >= 900 /* sleeps a while, if need be */
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; "
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
#else
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; "
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
#endif
    } while (!done);
}

/* M and T of a tile of 16 rows, 8 NT columns, those from n on 0. A lane (4 g + c) reads rows 2 g
 * and 2 g + 1 of a column 2 c, or one after it. Even columns come first, then odd ones; of floats,
 * quads 2 and 3 change places with 0 and 1 in every second pair of columns: so what a half of a
 * warp reads covers all banks. */
template <int NT, class Element> struct bd_rpca_tile {
    enum { rows = bd_rpca_rows, lanes = 32 };
    float t[NT * 8 * rows];
    Element m[NT * 8 * rows];

    static __device__ __forceinline__ int place(int col)
    {
        return (col / 2 + col % 2 * (NT * 4)) * rows;
    }
    /* Where row `row` is. */
    static __device__ __forceinline__ int at(const float *, int col, int row)
    {
        return place(col) + (row ^ (col & 4) * 2);
    }
    static __device__ __forceinline__ int at(const uint8_t *, int col, int row)
    {
        return place(col) + row;
    }
    __device__ __forceinline__ void clear(int n, int lane)
    {
#pragma unroll 1
        for (int i = rows * n + lane; i < rows * 8 * NT; i += lanes) {
            t[at(t, i / rows, i % rows)] = 0;
            m[at(m, i / rows, i % rows)] = 0;
        }
    }

    /* Starts the copies of a tile by a warp. A lane copies pieces of 16 bytes, of columns that are
     * 8 apart, or 32 / pieces: a multiple of 8, so that all its places follow from its first. */
    __device__ __forceinline__ void fetch(const bd_rpca_job<Element> &job, int64_t tile, int lane)
    {
        constexpr int pieces = (int)sizeof(Element); /* of a column of M */
        const int n = job.x.n, left = 4 * n - lane;
        const int64_t row = tile * rows;
        const float *from = job.x.t + row * n + 4 * lane;
        unsigned to = bd_rpca_shared(t + at(t, lane / 4, lane % 4 * 4));
#pragma unroll
        for (int u = 0; u < NT; u++)
            if (lanes * u < left)
                bd_rpca_copy16(to + 4 * rows * (int)sizeof(float) * u, from + 4 * lanes * u);
        const bd_rpca_frames<Element> &frames = job.x.frames;
        if (frames.lines && row + rows <= frames.rows) {
            const int col = lane / pieces, first = lane % pieces * (rows / pieces);
            const Element *seen = frames.m + row + first + col * frames.ld;
            const int64_t step = lanes / pieces * frames.ld;
            to = bd_rpca_shared(m + at(m, col, first));
#pragma unroll
            for (int u = 0; u < (NT * pieces + 3) / 4; u++, seen += step)
                if (lanes / pieces * u < n - col)
                    bd_rpca_copy16(to + lanes / 2 * rows * u, seen);
            return;
        }
#pragma unroll 1
        for (int i = lane; i < 4 * n; i += lanes) {
            float x[4];
            frames.load4(row + i % 4 * 4, i / 4, x);
            for (int k = 0; k < 4; k++)
                m[at(m, i / 4, i % 4 * 4 + k)] = (Element)x[k];
        }
    }
};

/* What lane 4 g + c reads of a tile: rows 2 g and 2 g + 1 of columns 8 j + 2 c + odd, which lie at
 * a distance that does not depend on the lane. */
template <int NT, class Element> struct bd_rpca_view {
    using store = bd_rpca_tile<NT, Element>;
    const float *t0;
    const Element *m0;

    __device__ __forceinline__ bd_rpca_view(const store &tile, int g, int c)
        : t0(tile.t + store::at(tile.t, 2 * c, 2 * g)), m0(tile.m + store::at(tile.m, 2 * c, 2 * g))
    {
    }
    static __device__ __forceinline__ int step(int j, int odd)
    {
        return (4 * j + odd * NT * 4) * store::rows;
    }
    __device__ __forceinline__ float2 t(int j, int odd) const
    {
        return bd_rpca_frames<float>::pair(t0 + step(j, odd));
    }
    __device__ __forceinline__ float2 m(int j, int odd) const
    {
        return bd_rpca_frames<Element>::pair(m0 + step(j, odd));
    }

    /* The left operand of columns 16 k .. 16 k + 15. */
    __device__ __forceinline__ bd_rpca_left left(const bd_rpca_job<Element> &job, int k) const
    {
        bd_rpca_left a = {};
#pragma unroll
        for (int half = 0; half < 2; half++) {
            if (NT % 2 && half && k == NT / 2)
                break;
            float x[2][2];
#pragma unroll
            for (int odd = 0; odd < 2; odd++) {
                const float2 old = t(2 * k + half, odd), seen = m(2 * k + half, odd);
                x[0][odd] = job.form(seen.x, old.x);
                x[1][odd] = job.form(seen.y, old.y);
            }
#pragma unroll
            for (int row = 0; row < 2; row++)
                bd_rpca_split(x[row][0], x[row][1], &a.high[2 * half + row],
                              &a.low[2 * half + row]);
        }
        return a;
    }
};

#endif
