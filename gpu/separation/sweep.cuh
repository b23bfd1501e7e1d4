/* How the live separator's kernels sweep over the window.
 *
 * A sweep reads the bytes of the window once. A warp takes a piece of the rows, 32 times 16 (or
 * 32 times 4, where the basis has more than one column and a thread could not hold more of it), and
 * goes through the columns, four at a time so that the loads of four are on their way together. */
#ifndef BD_GPU_SEPARATION_SWEEP_CUH
#define BD_GPU_SEPARATION_SWEEP_CUH

#include "gpu/separation/state.cuh"

enum { bd_sweep_threads = 128, bd_sweep_warps = bd_sweep_threads / 32, bd_sweep_together = 4 };

/* ROWS consecutive bytes. */
template <int ROWS> struct bd_sweep_bytes {
    uint32_t word[ROWS / 4];

    __device__ __forceinline__ void load(const uint8_t *p)
    {
        if constexpr (ROWS == 16) {
            uint4 q = *reinterpret_cast<const uint4 *>(p);
            word[0] = q.x, word[1] = q.y, word[2] = q.z, word[3] = q.w;
        } else {
            word[0] = bd_sep_load_word(p);
        }
    }
};

/* ROWS rows of the basis from row i on. */
template <int RANK, int ROWS>
__device__ __forceinline__ void bd_sweep_load_basis(float b[RANK][ROWS],
                                                    const struct bd_sep_window &x, int64_t i)
{
#pragma unroll
    for (int k = 0; k < RANK; k++)
#pragma unroll
        for (int q = 0; q < ROWS; q += 4)
            if (k < x.rank)
                bd_sep_load_floats(x.basis + k * x.ld + i + q, b[k] + q);
            else
                b[k][q] = b[k][q + 1] = b[k][q + 2] = b[k][q + 3] = 0.0f;
}

/* e := clip(W - l, +-lambda) and l := B c of ROWS rows of a column; X is l + e. Products and sums
 * are rounded one by one, as on the CPU. */
template <int RANK, int ROWS>
__device__ __forceinline__ void
bd_sweep_form(float l[ROWS], float e[ROWS], const struct bd_sweep_bytes<ROWS> &bytes,
              const float b[RANK][ROWS], const float c[RANK], float lambda)
{
#pragma unroll
    for (int q = 0; q < ROWS; q += 4)
        bd_sep_floats(bytes.word[q / 4], e + q);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        l[r] = __fmul_rn(b[0][r], c[0]);
#pragma unroll
        for (int k = 1; k < RANK; k++)
            l[r] = __fadd_rn(l[r], __fmul_rn(b[k][r], c[k]));
        e[r] = bd_sep_clip(__fsub_rn(e[r], l[r]), lambda);
    }
}

/* Calls take(j, t, l, e) for each of the `count` columns in order, j their number, t = j modulo
 * bd_sweep_together, l and e ROWS rows of it from row i on (0 unless inside), and after(j) behind
 * each bd_sweep_together columns, j the first of them. */
template <int RANK, int ROWS, typename TAKE, typename AFTER>
__device__ __forceinline__ void bd_sweep_columns(const struct bd_sep_window &x,
                                                 const float b[RANK][ROWS], int64_t i, bool inside,
                                                 int count, TAKE take, AFTER after)
{
    struct bd_sweep_bytes<ROWS> now[bd_sweep_together] = {
    };
    for (int j = 0; j < count; j += bd_sweep_together) {
#pragma unroll
        for (int t = 0; t < bd_sweep_together; t++)
            if (inside && j + t < count)
                now[t].load(x.bytes + x.order[j + t] * x.ld + i);
#pragma unroll
        for (int t = 0; t < bd_sweep_together; t++) {
            if (j + t >= count)
                break;
            float l[ROWS], e[ROWS], c[RANK];
            const int slot = x.order[j + t];
#pragma unroll
            for (int k = 0; k < RANK; k++)
                c[k] = x.coefficients[slot * bd_max_rank + k];
            bd_sweep_form<RANK, ROWS>(l, e, now[t], b, c, x.lambda);
            take(j + t, t, l, e);
        }
        after(j);
    }
}

/* y += a x, x = l + e. */
template <int ROWS>
__device__ __forceinline__ void bd_sweep_add(float y[ROWS], float a, const float l[ROWS],
                                             const float e[ROWS])
{
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        y[r] = __fadd_rn(y[r], __fmul_rn(a, __fadd_rn(l[r], e[r])));
}

/* x^T y, in float64 but for each four products. */
template <int ROWS>
__device__ __forceinline__ double bd_sweep_dot(const float x[ROWS], const float y[ROWS])
{
    double sum = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r += 4)
        sum += (double)((x[r] * y[r] + x[r + 1] * y[r + 1]) +
                        (x[r + 2] * y[r + 2] + x[r + 3] * y[r + 3]));
    return sum;
}

/* Thread blocks of a sweep: the whole device a few times, or one for each piece. */
static inline unsigned bd_sweep_blocks(const struct bd_cuda_separator *s, int rows)
{
    int64_t pieces = (s->ld + bd_sweep_threads * rows - 1) / (bd_sweep_threads * rows);
    int64_t most = (int64_t)s->cuda->sms * 6;
    if (most > bd_sep_parts)
        most = bd_sep_parts;
    return (unsigned)(pieces < most ? pieces : most);
}

#endif
