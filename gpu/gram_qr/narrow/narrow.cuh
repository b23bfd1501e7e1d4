/* Private to factor.cuh: Cholesky of up to 32 columns with the inverse of the factor and blocks
 * of it, by a few warps of one thread block. The plain version is gram_cholesky_blocked
 * (gpu/gram_qr/blocked.cuh). */
#ifndef BD_GPU_GRAM_QR_NARROW_NARROW_CUH
#define BD_GPU_GRAM_QR_NARROW_NARROW_CUH

#include "gpu/gram_qr/small.cuh"

enum {
    ld =
        gram_narrow_most + 3, /* of the matrices: neither rows, columns nor diagonals share banks */
    warps = 4,                /* that have rows and columns; one more warp looks for blocks */
    all_warps = 12,           /* the others rotate */
    threads = 32 * all_warps,
    shares = gram_narrow_most / warps /* rows or columns of a warp */
};

/* In shared memory. */
struct gram_memory {
    double a[gram_narrow_most * ld], b[gram_narrow_most * ld], c[gram_narrow_most * ld];
    double x[4 * gram_narrow_most], pivots[gram_narrow_most], sums[2 * warps];
    float rows[2][2][gram_narrow_most]; /* of R^: of this step, or the one before */
    double estimate;
    unsigned starts;
    int end, over[2]; /* what this step, or the one before, finds */
};

/* The columns in blocks by incremental condition estimation, one by one, by one warp, as
 * gram_take_columns (gpu/gram_qr/estimate.cuh, the plain version) makes them, while R is being
 * made. A lane holds what is kept for its column. float32 is precise enough to decide what is to be
 * clamped. */
struct gram_blocks {
    float most;            /* squares of the condition numbers */
    float greatest, least; /* singular values of the block, squared, estimated */
    float large, small, norm;
    unsigned starts;
};

static __device__ __forceinline__ struct gram_blocks gram_no_blocks(float most)
{
    const struct gram_blocks none = { most, 1, 1, 0, 0, 0, 0 };
    return none;
}

/* The larger root of x^2 - (a + c) x + a c - b^2, and its unit vector of [a b; b c]. */
static __device__ __forceinline__ float gram_largest(float a, float b, float c, float *cosine,
                                                     float *sine)
{
    const float half = 0.5f * (a - c), square = fmaf(half, half, b * b);
    const float root = square > 1e-36f ? square * gram_inverse_root(square) : 0.0f;
    const float x = half >= 0 ? half + root : b, y = half >= 0 ? b : root - half;
    const float length = fmaf(x, x, y * y);
    const float by = length > 1e-36f ? gram_inverse_root(length) : 0.0f;
    *cosine = by > 0 ? x * by : 1.0f;
    *sine = y * by;
    return fmaf(0.5f, a + c, root);
}

/* Column j joins the block or begins another. r: the lane's element of row j. By one warp. */
static __device__ __forceinline__ void gram_take_column(struct gram_blocks *b, int j, float r)
{
    const float diagonal = __shfl_sync(~0u, r, j), norm = __shfl_sync(~0u, b->norm, j);
    const float by = gram_inverse_root(fmaf(diagonal, diagonal, norm));
    const float gamma = diagonal * by, own = gamma * gamma;
    const float high = __shfl_sync(~0u, b->large, j) * by;
    const float low = __shfl_sync(~0u, b->small, j) * by;
    float cosine, sine, low_cosine, low_sine;
    const float top =
        gram_largest(fmaf(high, high, b->greatest), high * gamma, own, &cosine, &sine);
    const float other =
        gram_largest(fmaf(low, low, b->least), low * gamma, own, &low_cosine, &low_sine);
    const bool joins = b->starts && top * other <= b->most * (b->least * own);
    b->starts |= joins ? 0 : 1u << j;
    b->large = joins ? fmaf(b->large, cosine, r * sine) : r;
    b->small = joins ? fmaf(r, low_cosine, -b->small * low_sine)
                     : r; /* the vector is orthogonal to the larger one */
    b->norm = joins ? fmaf(r, r, b->norm) : r * r;
    b->greatest = joins ? top : 1.0f;
    b->least = joins ? __fdividef(b->least * own, other) : 1.0f;
}

/* A barrier for all warps, which come to it from different code. */
static __device__ __forceinline__ void gram_step_barrier(void)
{
    asm volatile("bar.sync 1, %0;" : : "n"((int)threads) : "memory");
}

/* Finds the blocks of R^, if wanted, from the columns of the step before; by the other warps. */
static __device__ __forceinline__ void gram_follow(const struct gram_memory &m, int n, bool wanted,
                                                   struct gram_blocks *blocks)
{
    const int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int k = 0; k < n + 2; k += 2) {
        gram_step_barrier();
        if (m.over[(k / 2 + 1) % 2]) /* set in the step before */
            return;
        if (k == 0 || !wanted)
            continue;
        const float *rows = m.rows[(k - 2) / 2 % 2][0];
        const float first = rows[lane], second = rows[gram_narrow_most + lane];
        gram_take_column(blocks, k - 2, first);
        if (k - 1 < n)
            gram_take_column(blocks, k - 1, second);
    }
}

/* The steps of Cholesky, by the first `warps` warps. A step makes two rows. The next step puts
 * the second of them in place, when no warp reads its old elements any more. */
static __device__ __forceinline__ void gram_lead(struct gram_memory &m, int n, double floor,
                                                 bool wanted)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double *a = m.a, held = 0;
    int holding = -1;
#pragma unroll 1
    for (int k = 0; k < n; k += 2) {
        gram_step_barrier();
        if (warp == 0 && holding >= 0)
            a[holding * ld + lane] = held;
        holding = -1;
        /* Loads rows while the pivots are made. No load depends on a condition, since each
         * condition would be waited for. What is left of the diagonal, right of what has been
         * eliminated, means nothing. */
        const int i0 = k + 2 + warp;
        double rows[2][4];
#pragma unroll
        for (int e = 0; e < 8; e++)
            rows[e / 4][e % 4] = a[min(i0 + warps * e, gram_narrow_most - 1) * ld + lane];
        const bool gone = lane == k || lane == k + 1;
        const struct gram_pivots p = gram_two_pivots(a, ld, n, k, floor);
        const bool two = k + 1 < n;
        if (threadIdx.x == 0) {
            m.pivots[k] = p.first;
            if (two)
                m.pivots[k + 1] = p.second;
        }
        if (k + p.positive < min(k + 2, n)) {
            if (threadIdx.x == 0) {
                m.over[k / 2 % 2] = 1;
                m.end = k + p.positive;
            }
            break;
        }
        const double first = a[k * ld + lane], second = two ? a[(k + 1) * ld + lane] : 0.0;
        /* The unit matrix, which becomes the inverse, has its 1 on the diagonal. */
        const double top = lane == k ? 1.0 : lane == k + 1 ? 0.0 : first;
        const double low = lane == k       ? -p.share
                           : lane == k + 1 ? 1.0
                                           : fma(-p.share, first, second);
        const double x = top * p.by_first, y = low * p.by_second;
#pragma unroll
        for (int half = 0; half < 2; half++) {
            double left[4], right[4];
            if (i0 + 4 * warps * half >= n)
                break;
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int i = i0 + warps * (4 * half + e);
                left[e] = __shfl_sync(~0u, x, i);
                right[e] = __shfl_sync(~0u, y, i);
            }
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int i = i0 + warps * (4 * half + e);
                const double old = gone ? 0.0 : rows[half][e];
                const double row = fma(-right[e], low, fma(-left[e], top, old));
                if (i < n)
                    a[i * ld + lane] = row;
            }
        }
        if (wanted && warp == warps - 1) { /* which has the fewest rows */
            float *kept = m.rows[k / 2 % 2][0];
            const float r = (float)(lane == k ? p.first : first);
            const float s = (float)(lane == k + 1 ? p.second : low);
            kept[lane] = lane >= k ? r * gram_inverse_root((float)p.first) : 0.0f;
            kept[gram_narrow_most + lane] =
                lane > k ? s * gram_inverse_root((float)p.second) : 0.0f;
        }
        held = low;
        holding = two ? k + 1 : -1;
    }
    gram_step_barrier();
    if (warp == 0 && holding >= 0)
        a[holding * ld + lane] = held;
}

/* Cholesky of the upper triangle of m.a, R^T R = it: row k of R is that of m.a, right of the
 * diagonal, divided by the root of m.pivots[k]. Left of the diagonal is what subtracts the rows
 * before from row k: a row of the inverse of R^T but for the same root. Returns the first k
 * whose pivot is not positive, or n; pivots below `floor` count as `floor`. Warp number `warps`
 * finds the blocks, if wanted. */
static __device__ __forceinline__ int gram_eliminate(struct gram_memory &m, int n, double floor,
                                                     bool wanted, struct gram_blocks *blocks)
{
    if (threadIdx.x == 0) {
        m.end = n;
        m.over[0] = m.over[1] = 0;
    }
    if (threadIdx.x / 32 < warps)
        gram_lead(m, n, floor, wanted);
    else
        gram_follow(m, n, wanted && threadIdx.x / 32 == warps, blocks);
    __syncthreads();
    return m.end;
}

#endif
