/* Private to the CUDA backend: pipelines of asynchronous copies to shared memory. Several tiles
 * of rows of a column-major matrix are being copied while one is used, so that warps that have
 * something to compute do not wait for memory. */
#ifndef BD_GPU_CORE_PIPELINE_CUH
#define BD_GPU_CORE_PIPELINE_CUH

#include <cstdint>

#include <cuda_runtime.h>

/* Elements between columns of a stage of ROWS rows, a multiple of 16, so that four columns, of
 * which a fragment has eight rows, are in different banks. */
template <int ROWS, class Element> static __host__ __device__ constexpr int pipeline_stride(void)
{
    return ROWS + (sizeof(Element) == 8 ? 4 : 8);
}

/* Begins to copy BYTES bytes (4, 8 or 16), of which `there` are read; the rest becomes 0. */
template <int BYTES>
static __device__ __forceinline__ void pipeline_copy(void *to, const void *from, int there)
{
    const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     :
                     : "r"(shared), "l"(from), "r"(there)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                     :
                     : "r"(shared), "l"(from), "n"(BYTES), "r"(there)
                     : "memory");
}

/* The copies begun since the last call form a group. */
static __device__ __forceinline__ void pipeline_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until all but the last PENDING groups of this thread have arrived. */
template <int PENDING> static __device__ __forceinline__ void pipeline_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

/* Whether columns begin at multiples of 16 bytes. */
template <class Element>
static __device__ __forceinline__ bool pipeline_aligned(const Element *v, int64_t ldv)
{
    return ((reinterpret_cast<uintptr_t>(v) | (uintptr_t)ldv * sizeof *v) & 15) == 0;
}

/* Begins to copy rows first .. first + ROWS - 1 of the `count` columns at v, by THREADS threads;
 * rows from m on become 0. Column j goes to stage + j STRIDE. `first` is a multiple of ROWS. */
template <int ROWS, int STRIDE, int THREADS, class Element>
static __device__ __forceinline__ void pipeline_fetch(Element *stage, const Element *v, int64_t ldv,
                                                      int64_t first, int64_t m, int count,
                                                      bool aligned)
{
    constexpr int PER = 16 / sizeof(Element), CHUNKS = ROWS / PER, STEP = THREADS / CHUNKS;
    static_assert(STRIDE % PER == 0 && ROWS % PER == 0 && THREADS % CHUNKS == 0,
                  "columns are whole chunks, and shared out evenly");
    const int row = threadIdx.x % CHUNKS * PER, column = threadIdx.x / CHUNKS;
    const int64_t left = m - first - row;
    const int there = left >= PER ? PER : left > 0 ? (int)left : 0;
    const Element *from = v + (there ? first + row : 0) + column * ldv;
    Element *to = stage + row + column * STRIDE;
#pragma unroll 4
    for (int j = column; j < count; j += STEP) {
        if (aligned)
            pipeline_copy<16>(to, from, there * (int)sizeof(Element));
        else
#pragma unroll
            for (int k = 0; k < PER; k++)
                pipeline_copy<sizeof(Element)>(to + k, k < there ? from + k : v,
                                               k < there ? (int)sizeof(Element) : 0);
        from += STEP * ldv;
        to += STEP * STRIDE;
    }
}

/* The same for COUNT columns that all exist, are aligned, and have all ROWS rows from v on. */
template <int ROWS, int STRIDE, int THREADS, int COUNT, class Element>
static __device__ __forceinline__ void pipeline_fetch_whole(Element *stage, const Element *v,
                                                            int64_t ldv)
{
    constexpr int PER = 16 / sizeof(Element), CHUNKS = ROWS / PER, STEP = THREADS / CHUNKS;
    static_assert(THREADS % CHUNKS == 0 && COUNT % STEP == 0, "columns are shared out evenly");
    const int row = threadIdx.x % CHUNKS * PER, column = threadIdx.x / CHUNKS;
    const Element *from = v + row + column * ldv;
    Element *to = stage + row + column * STRIDE;
#pragma unroll
    for (int j = 0; j < COUNT; j += STEP)
        pipeline_copy<16>(to + j * STRIDE, from + j * ldv, 16);
}

/* Calls take(tile, stage) for tiles first, first + step, .. below `tiles`, one after the other.
 * fetch(tile, stage) begins to copy a tile; STAGES - 1 tiles are being copied while one is
 * taken. By all threads of the block; other threads may still read the last tile after the
 * return. */
template <int STAGES, class Fetch, class Take>
static __device__ __forceinline__ void pipeline_tiles(int first, int step, int tiles,
                                                      const Fetch &fetch, const Take &take)
{
    auto set_out = [&](int tile, int stage) {
        if (tile < tiles)
            fetch(tile, stage);
        pipeline_commit();
    };
    int tile = first;
    for (int stage = 0; stage < STAGES - 1; stage++)
        set_out(tile + stage * step, stage);
    for (int stage = 0; tile < tiles; tile += step, stage = stage + 1 < STAGES ? stage + 1 : 0) {
        pipeline_wait<STAGES - 2>();
        __syncthreads();
        set_out(tile + (STAGES - 1) * step, stage ? stage - 1 : STAGES - 1);
        take(tile, stage);
    }
}

#endif
