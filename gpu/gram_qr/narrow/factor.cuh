/* Private to persistent_lead.cuh: R and T from G (gpu/gram_qr/plan.h) of up to 32 columns: what
 * gpu/gram_qr/factor.cu does, by warps in which every lane has a column. Each step waits for the
 * one before, and a warp that shares its scheduler waits for other warps too: so there are few
 * warps, few instructions and few barriers. */
#ifndef BD_GPU_GRAM_QR_NARROW_FACTOR_CUH
#define BD_GPU_GRAM_QR_NARROW_FACTOR_CUH

#include <math.h>

#include "gpu/gram_qr/clamp.cuh"
#include "gpu/gram_qr/narrow/narrow.cuh"

/* What a lane knows of its column and row of R^: R(i, j), i < j, is a[i * ld + j] times `by` of
 * i. */
struct column {
    double norm, inverse;            /* D and 1 / D */
    double by, diagonal, reciprocal; /* of the row; R(i, i) and 1 / R(i, i) */
};

/* R becomes I from row `end` on, with norms that are powers of 2, so that the product is exact. */
static __device__ __forceinline__ void break_off(double *a, int n, int end, struct column *own)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const double power = gram_power(own->norm), inverse = gram_power_inverse(own->norm);
#pragma unroll 1
    for (int i = warp; i < n; i += all_warps)
        if (lane >= end)
            a[i * ld + lane] = i < end ? a[i * ld + lane] * (own->norm * inverse) : 0.0;
    if (lane >= end) {
        own->norm = own->reciprocal = power;
        own->inverse = own->diagonal = inverse;
        own->by = 1;
    }
    __syncthreads();
}

/* T in blocks to m.b, COLUMNS columns a warp at the same time: back substitution as in
 * gram_invert_column. */
template <int COLUMNS>
static __device__ __forceinline__ void invert(struct gram_memory &m, const struct column &own,
                                              int n, unsigned starts)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double x[COLUMNS];
    int first[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        const int j = warp + warps * c;
        x[c] = lane == j ? 1.0 : 0.0;
        first[c] = 31 - __clz((int)(starts & ((2u << j) - 1)));
    }
#pragma unroll 1
    for (int i = n - 1; i >= 0; i--) {
        const double above = lane < i ? m.a[lane * ld + i] * own.by : 0.0;
        const double reciprocal = __shfl_sync(~0u, own.reciprocal, i);
        double known[COLUMNS];
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            known[c] = __shfl_sync(~0u, x[c], i);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            const bool now = i <= warp + warps * c && i >= first[c];
            known[c] *= now ? reciprocal : 0.0;
            x[c] = now && lane == i ? known[c] : fma(-above, known[c], x[c]);
        }
    }
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        const int j = warp + warps * c;
        if (j < n && lane <= j)
            m.b[j * n + lane] = x[c];
    }
}

/* The same if T is one block: gram_eliminate has left the inverse. */
static __device__ __forceinline__ void take_inverse(struct gram_memory &m, const struct column &own,
                                                    int n)
{
    const int lane = threadIdx.x % 32;
#pragma unroll 2
    for (int j = threadIdx.x / 32; j < n; j += warps) {
        const double by = __shfl_sync(~0u, own.by, j), left = m.a[j * ld + lane] * by;
        if (lane <= j)
            m.b[j * n + lane] = lane < j ? left : by;
    }
}

/* R_total := R in pass 0. This is number `warp` of the warps that do it. */
static __device__ __forceinline__ void take_total(const struct gram_data &d, const double *a,
                                                  const struct column &own, int warp)
{
    const int lane = threadIdx.x % 32, n = d.n;
#pragma unroll 2
    for (int j = warp; j < n; j += warps) {
        const double norm = __shfl_sync(~0u, own.norm, j), side = a[lane * ld + j] * own.by;
        if (lane < n)
            d.other[lane + j * n] = (lane < j ? side : lane == j ? own.diagonal : 0.0) * norm;
    }
}

/* R_total := R R_total. total: R_total before, column by column, ld apart. */
static __device__ __forceinline__ void join_total(const struct gram_data &d, const double *a,
                                                  const double *total, const struct column &own,
                                                  int warp)
{
    const int lane = threadIdx.x % 32, n = d.n;
    double sum[shares] = {};
#pragma unroll 1
    for (int k = 0; k < n; k++) {
        const double side = (lane < k ? a[lane * ld + k] : 0.0) * own.by;
        const double r = (lane == k ? own.diagonal : side) * __shfl_sync(~0u, own.norm, k);
#pragma unroll
        for (int c = 0; c < shares; c++)
            sum[c] = fma(r, total[(warp + warps * c) * ld + k], sum[c]);
    }
#pragma unroll
    for (int c = 0; c < shares; c++) {
        const int j = warp + warps * c;
        if (j < n && lane < n)
            d.other[lane + j * n] = sum[c];
    }
}

/* Loads columns `warp`, `warp` + 4, .. of a matrix, rows down to the diagonal. */
static __device__ __forceinline__ void load_upper(double x[shares], const double *from, int n)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int e = 0; e < shares; e++) {
        const int j = warp + warps * e;
        x[e] = warp < warps && lane <= j && j < n ? from[lane + j * n] : 0.0;
    }
}

/* g := the scaled G, and so the upper triangle of a, its diagonal 1 + shift. Returns ||G - I||_F^2;
 * *apart: the same of the scaled G. */
static __device__ __forceinline__ double take_scaled(struct gram_memory &m, double g[shares],
                                                     double inverse, int n, double shift,
                                                     double *apart)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double sum = 0, scaled = 0;
#pragma unroll
    for (int e = 0; e < shares; e++) {
        const int j = warp + warps * e;
        if (warp >= warps || j >= n)
            break;
        const double other = __shfl_sync(~0u, inverse, j);
        if (lane > j)
            continue;
        const double rest = g[e] - (lane == j);
        g[e] = lane == j ? 1.0 : g[e] * inverse * other;
        sum = fma(lane == j ? rest : 2 * rest, rest, sum);
        scaled = fma(lane == j ? 0 : 2 * g[e], g[e], scaled);
        m.a[lane * ld + j] = lane == j ? 1 + shift : g[e];
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(~0u, sum, step);
        scaled += __shfl_xor_sync(~0u, scaled, step);
    }
    if (lane == 0 && warp < warps) {
        m.sums[warp] = sum;
        m.sums[warps + warp] = scaled;
    }
    __syncthreads();
    *apart = (m.sums[4] + m.sums[5]) + (m.sums[6] + m.sums[7]);
    return (m.sums[0] + m.sums[1]) + (m.sums[2] + m.sums[3]);
}

/* A pass with R = I. What gram_repair did is undone, unless the pass was bad. */
static __device__ __forceinline__ void
stay(const struct gram_data &d, const struct gram_factor_step &s, double undone, bool bad)
{
    const int lane = threadIdx.x % 32, n = d.n;
#pragma unroll 1
    for (int j = threadIdx.x / 32; j < n; j += all_warps)
        if (lane < n) {
            const int e = lane + j * n;
            const double old = s.pass == 0 ? (lane == j ? 1.0 : 0.0) : lane <= j ? d.total[e] : 0.0;
            d.other[e] = bad ? old : old * undone;
        }
    if (threadIdx.x < n && !bad)
        d.exponents[threadIdx.x] = 0;
    if (threadIdx.x == 0)
        d.decision->identity = 1;
}

/* R^ of the scaled G in m.a and g, `apart` from I: leaves m.a and m.pivots as gram_eliminate
 * does, and returns the number of rows made. If eigenvalues are clamped, the record says so; it
 * gets the condition number. *most: the condition number that blocks of R^ may have, HUGE_VAL
 * where R^ is one block; warp number `warps` has other blocks in *blocks where eigenvalues were
 * clamped. */
static __device__ __forceinline__ int factor(struct gram_memory &m, double g[shares], int n,
                                             const struct gram_factor_step &s, double apart,
                                             struct gram_blocks *blocks, struct gram_record *record,
                                             double *most, bool *clamped)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bool near = gram_is_near(apart);
    double floor = 0;
    *clamped = false;
    *most = HUGE_VAL;
    for (;;) {
        *blocks = gram_no_blocks((float)(*most * *most));
        const int end = gram_eliminate(m, n, floor, !near, blocks);
        if (*clamped)
            return n;
        record->failed = !s.svd && end < n;
        if (near && end == n) {
            record->condition = gram_near_condition(apart);
            return n;
        }
        if (warp == warps && lane == 0)
            m.estimate = end == n && blocks->starts == 1
                             ? (double)(blocks->greatest / blocks->least)
                             : HUGE_VAL;
        __syncthreads();
        record->condition = m.estimate;
        *clamped = s.svd && gram_needs_clamp(record->condition, n);
        if (*clamped) {
#pragma unroll
            for (int e = 0; e < shares; e++) {
                const int j = warp + warps * e;
                if (warp < warps && lane <= j && j < n)
                    m.b[lane * ld + j] = m.b[j * ld + lane] = g[e];
            }
            record->bad = !gram_clamp(m.c, m.b, m.a, ld, n, n + apart, m.x, &floor, record);
            floor /= 2;
        }
        record->single = gram_is_single(record->condition, s.mixed);
        const double kappa = gram_kappa(record->condition, n);
        *most = kappa <= 32 ? HUGE_VAL : fmax(gram_tau(record->single) * kappa, 32.0);
        if (!*clamped || record->bad)
            return end;
    }
}

/* Writes to m.starts where blocks of R^ begin (gram_decision); by the warp that has `blocks`. */
static __device__ __forceinline__ void cut(struct gram_memory &m, struct gram_blocks *blocks, int n,
                                           int solve, const struct column &own, double most,
                                           bool clamped)
{
    const int lane = threadIdx.x % 32;
    if (!clamped && most < HUGE_VAL) {
        *blocks = gram_no_blocks((float)(most * most));
#pragma unroll 1
        for (int j = 0; j < n; j++) {
            const double right = m.a[j * ld + lane] * __shfl_sync(~0u, own.by, j);
            gram_take_column(blocks, j, (float)(lane == j ? own.diagonal : lane > j ? right : 0.0));
        }
    }
    if (lane == 0)
        m.starts = solve == BD_TRIANGULAR_SUBSTITUTION                    ? ~0u
                   : solve == BD_TRIANGULAR_INVERSION || most == HUGE_VAL ? 1u
                                                                          : blocks->starts;
}

/* gram_factor of the table, by `threads` threads in `m`: T goes to m.b (element (k, j) is
 * m.b[j * n + k]), where G may be, the decision and R_total to d, the record to all threads. The
 * first `warps` warps return when all of T and the decision are written; R_total may still be
 * missing. */
static __device__ __forceinline__ struct gram_record
gram_narrow_factor(struct gram_memory &m, const struct gram_data &d,
                   const struct gram_factor_step &s)
{
    const int n = d.n, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    struct gram_record record = {};
    struct gram_blocks blocks;
    struct column own;
    double g[shares], total[shares], apart, most;
    bool clamped;
    __builtin_assume(n >= 1 && n <= gram_narrow_most);
    __builtin_assume(blockDim.x == threads);
    load_upper(g, d.g, n);
    const double square = lane < n ? d.g[lane * (n + 1)] : 1.0;
    if (s.pass > 0)
        load_upper(total, d.total, n);
    const double undone = lane < n ? gram_undone(d.exponents[lane]) : 1.0;
    own.inverse = gram_inverse_root(square);
    own.norm = square * own.inverse;
    record.bad = __any_sync(~0u, gram_is_bad(square));
    record.orthogonality = gram_root(take_scaled(m, g, own.inverse, n, s.shift, &apart));
    record.skipped = !record.bad && record.orthogonality < s.enough;
    record.condition = 1 + record.orthogonality; /* of a skipped pass: to first order */
    if (record.bad)
        record.orthogonality = record.condition = NAN;
    if (record.bad || record.skipped) {
        stay(d, s, undone, record.bad);
        return record;
    }
    const int end = factor(m, g, n, s, apart, &blocks, &record, &most, &clamped);
    if (record.bad) {
        stay(d, s, undone, record.bad);
        return record;
    }
    own.by = own.reciprocal = lane < end ? gram_inverse_root(m.pivots[lane]) : 1.0;
    own.diagonal = lane < end ? m.pivots[lane] * own.by : 1.0;
    if (end < n)
        break_off(m.a, n, end, &own);
    if (warp == warps)
        cut(m, &blocks, n, s.solve, own, most, clamped);
    own.norm *= undone;
    if (s.pass > 0 && warp < warps)
#pragma unroll
        for (int e = 0; e < shares; e++)
            m.c[(warp + warps * e) * ld + lane] = total[e];
    __syncthreads();
    const unsigned starts = m.starts;
    if (warp == 0) {
        d.decision->starts[lane] = lane == 0 ? starts : 0;
        if (lane < n) {
            d.inverse[lane] = own.inverse;
            d.exponents[lane] = 0;
        }
        if (lane == 0) {
            d.decision->identity = 0;
            d.decision->single = record.single;
        }
    }
    if (warp < warps) {
        if (starts == 1 && end == n)
            take_inverse(m, own, n);
        else if (n <= 5 * warps)
            invert<5>(m, own, n, starts);
        else
            invert<shares>(m, own, n, starts);
    }
    __syncthreads();
    if (warp >= warps && warp < 2 * warps) {
        if (s.pass == 0)
            take_total(d, m.a, own, warp - warps);
        else
            join_total(d, m.a, m.c, own, warp - warps);
    }
    return record;
}

#endif
