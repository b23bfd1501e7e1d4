/* Private to gpu/rpca: 64 rows of X times W (up to 104 x 104) by the warpgroup instruction
 * of sm_90a: what multiply.cuh does by warps, with W read once for four tiles of 16 rows
 * and at the full rate of the tensor cores. Elsewhere this file is empty. */
#ifndef BD_GPU_RPCA_WARPGROUP_CUH
#define BD_GPU_RPCA_WARPGROUP_CUH

#include "gpu/rpca/tile.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define BD_RPCA_WARPGROUP 1

enum {
    bd_rpca_group_columns = 13,                /* of L, in groups of 8 */
    bd_rpca_part = bd_rpca_group_columns * 256 /* bytes of 16 rows of W in halves */
};

/* Operand in shared memory: 128 bytes from one block to the next one down, 256 to the right. */
__device__ __forceinline__ uint64_t bd_rpca_descriptor(const void *weights)
{
    unsigned at = (unsigned)__cvta_generic_to_shared(weights);
    return (uint64_t)(at >> 4) | (uint64_t)(128 >> 4) << 16 | (uint64_t)(256 >> 4) << 32;
}

#define BD_RPCA_FOUR(j) "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])

/* d (64 x 104, 16 rows a warp, laid out as bd_rpca_mma has it) := a w, or += if `add`. */
__device__ __forceinline__ void bd_rpca_wgmma(float (&d)[13][4], const uint32_t a[4], uint64_t w,
                                              int add)
{
    asm volatile(
        "{ .reg .pred add; setp.ne.b32 add, %57, 0; "
        "wgmma.mma_async.sync.aligned.m64n104k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, "
        "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, "
        "%36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51}, "
        "{%52, %53, %54, %55}, %56, add, 1, 1, 0; }"
        : BD_RPCA_FOUR(0), BD_RPCA_FOUR(1), BD_RPCA_FOUR(2), BD_RPCA_FOUR(3), BD_RPCA_FOUR(4),
          BD_RPCA_FOUR(5), BD_RPCA_FOUR(6), BD_RPCA_FOUR(7), BD_RPCA_FOUR(8), BD_RPCA_FOUR(9),
          BD_RPCA_FOUR(10), BD_RPCA_FOUR(11), BD_RPCA_FOUR(12)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(w), "r"(add));
}

#undef BD_RPCA_FOUR

/* The compiler is to leave d where it is until here. */
__device__ __forceinline__ void bd_rpca_hold(float (&d)[13][4])
{
#pragma unroll
    for (int j = 0; j < 13; j++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            asm volatile("" : "+f"(d[j][e])::"memory");
}

/* sum += X W over STEPS times 16 columns of X, from k on; left(k) gives the left operand. The small
 * products come first, those of a step while the next left operand is formed. By all warps of a
 * warpgroup. */
template <int STEPS, class Left>
__device__ __forceinline__ void bd_rpca_multiply_group(float (&sum)[13][4], uint64_t weights, int k,
                                                       Left left)
{
    uint32_t high[STEPS][4];
    float d[13][4] = {};
    const uint64_t w = weights + k * (2 * bd_rpca_part / 16);
#pragma unroll
    for (int s = 0; s < STEPS; s++) {
        const bd_rpca_left x = left(k + s);
#pragma unroll
        for (int e = 0; e < 4; e++)
            high[s][e] = x.high[e];
        if (s == 0)
            bd_rpca_hold(d);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        bd_rpca_wgmma(d, x.low, w + 2 * s * bd_rpca_part / 16, s > 0);
        bd_rpca_wgmma(d, high[s], w + (2 * s + 1) * bd_rpca_part / 16, 1);
    }
#pragma unroll
    for (int s = 0; s < STEPS; s++)
        bd_rpca_wgmma(d, high[s], w + 2 * s * bd_rpca_part / 16, 1);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    bd_rpca_hold(d);
#pragma unroll
    for (int j = 0; j < 13; j++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            sum[j][e] += d[j][e];
}

/* W in shared memory as a warpgroup multiplies by it, and the product. */
template <int NT, class Element> struct bd_rpca_by_group {
    /* Right operand (k, j) of a lane. Blocks of 8 columns x 8 rows, a column's 8 rows together; a
     * block of rows 0 .. 7 of 16, then that of rows 8 .. 15, then the next 8 columns. High parts of
     * 16 rows, then low ones. */
    static __device__ __forceinline__ void put(bd_rpca_right *weights, int k, int j, int lane,
                                               const bd_rpca_right &w)
    {
        uint32_t *to =
            reinterpret_cast<uint32_t *>(weights) + k * (bd_rpca_part / 2) + j * 64 + lane;
        to[0] = w.high[0];
        to[32] = w.high[1];
        to[bd_rpca_part / 4] = w.low[0];
        to[bd_rpca_part / 4 + 32] = w.low[1];
    }
    /* The instruction sees ordinary stores to shared memory after this and a barrier. */
    static __device__ __forceinline__ void done(void)
    {
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    /* sum += X W of four tiles, a warp its own. All rows of W: those from n on are 0, and so are
     * the columns of X. Four additions to sum instead of two are 2 us slower at 110592 x 100, and
     * leave 0.6 of the rounding error, which is that of one float here. */
    static __device__ __forceinline__ void multiply(float (&sum)[NT][4],
                                                    const bd_rpca_job<Element> &job,
                                                    const bd_rpca_view<NT, Element> &view,
                                                    const bd_rpca_right *weights, int)
    {
        const uint64_t w = bd_rpca_descriptor(weights);
        auto left = [&](int k) { return view.left(job, k); };
        bd_rpca_multiply_group<4>(sum, w, 0, left);
        bd_rpca_multiply_group<3>(sum, w, 4, left);
    }
};

#endif
#endif
