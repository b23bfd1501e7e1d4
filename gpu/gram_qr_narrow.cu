/* R and T from G (gram_qr_plan.h) of up to 32 columns: what gram_qr_factor.cu does for more, by
 * five warps of which every lane has a column. All of it waits for what came before, and a warp
 * that shares its scheduler waits for others too: so few warps, few instructions, few barriers. */
#include <math.h>

#include "gpu/dependent_launch.cuh"
#include "gpu/gram_qr_factor.h"
#include "gpu/gram_qr_small.cuh"

enum {
    ld = gram_narrow_most + 1, /* of the matrices: neither rows nor columns share banks */
    warps = 4,                 /* that have rows; one more estimates condition numbers */
    all_warps = warps + 1,
    threads = 32 * all_warps,
    shares = gram_narrow_most / warps,                  /* rows or columns of a warp */
    all_shares = (gram_narrow_most + warps) / all_warps /* if all warps have some */
};

/* The columns in blocks by incremental condition estimation, as gram_take_columns does it, while R
 * is being made. A lane has what is kept for its column; float32 is good enough for conditions that
 * are raised from. */
struct blocks {
    float most;            /* squares of the condition numbers */
    float greatest, least; /* singular values of the block, squared, estimated */
    float large, small, norm;
    unsigned starts;
};

static __device__ __forceinline__ struct blocks no_blocks(float most)
{
    const struct blocks none = { most, 1, 1, 0, 0, 0, 0 };
    return none;
}

/* The larger root of x^2 - (a + c) x + a c - b^2, and its unit vector of [a b; b c]. */
static __device__ __forceinline__ float largest(float a, float b, float c, float *cosine,
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

/* Column j joins the block or begins another; r: the lane's element of row j. By one warp. */
static __device__ __forceinline__ void take_column(struct blocks *b, int j, float r)
{
    const float diagonal = __shfl_sync(~0u, r, j), norm = __shfl_sync(~0u, b->norm, j);
    const float by = gram_inverse_root(fmaf(diagonal, diagonal, norm));
    const float gamma = diagonal * by, own = gamma * gamma;
    const float high = __shfl_sync(~0u, b->large, j) * by;
    const float low = __shfl_sync(~0u, b->small, j) * by;
    float cosine, sine, low_cosine, low_sine;
    const float top = largest(fmaf(high, high, b->greatest), high * gamma, own, &cosine, &sine);
    const float other = largest(fmaf(low, low, b->least), low * gamma, own, &low_cosine, &low_sine);
    const bool joins = b->starts && top * other <= b->most * (b->least * own);
    b->starts |= joins ? 0 : 1u << j;
    b->large = joins ? fmaf(b->large, cosine, r * sine) : r;
    b->small = joins ? fmaf(r, low_cosine, -b->small * low_sine) : r; /* orthogonal to the larger */
    b->norm = joins ? fmaf(r, r, b->norm) : r * r;
    b->greatest = joins ? top : 1.0f;
    b->least = joins ? __fdividef(b->least * own, other) : 1.0f;
}

/* Cholesky of the upper triangle of a, R^T R = a: row k of R is that of a right of the diagonal by
 * the root of pivots[k]. Left of it is what takes the rows before from row k: a row of the inverse
 * of R^T but for the same root. Returns the first k whose pivot is not positive, or n; pivots below
 * `floor` count as that. The last warp has the blocks. A step has two rows, and the second of them
 * as it is to become is put in place by the next step, when nobody reads it as it was. */
static __device__ __forceinline__ int eliminate(double *a, double *pivots, int n, double floor,
                                                struct blocks *blocks)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double held = 0;
    int end = n, holding = -1;
    for (int k = 0; k < n; k += 2) {
        __syncthreads();
        if (warp == 0 && holding >= 0)
            a[holding * ld + lane] = held;
        holding = -1;
        const struct gram_pivots p = gram_two_pivots(a, ld, n, k, floor);
        const bool two = k + 1 < n;
        if (threadIdx.x == 0) {
            pivots[k] = p.first;
            if (two)
                pivots[k + 1] = p.second;
        }
        if (k + p.positive < min(k + 2, n)) {
            end = k + p.positive;
            break;
        }
        const double first = a[k * ld + lane], second = two ? a[(k + 1) * ld + lane] : 0.0;
        /* The unit matrix, of which the inverse comes, has its 1 on the diagonal. */
        const double top = lane == k ? 1.0 : lane == k + 1 ? 0.0 : first;
        const double low = lane == k       ? -p.share
                           : lane == k + 1 ? 1.0
                                           : fma(-p.share, first, second);
        if (warp == warps) {
            const float r = (float)(lane == k ? p.first : first);
            const float s = (float)(lane == k + 1 ? p.second : low);
            take_column(blocks, k, lane >= k ? r * gram_inverse_root((float)p.first) : 0.0f);
            if (two)
                take_column(blocks, k + 1,
                            lane > k ? s * gram_inverse_root((float)p.second) : 0.0f);
        } else {
            const double x = top * p.by_first, y = low * p.by_second;
            double row[shares];
#pragma unroll
            for (int e = 0; e < shares; e++) {
                const int i = k + 2 + warp + warps * e;
                row[e] = i < n && lane != k && lane != k + 1 ? a[i * ld + lane] : 0.0;
            }
#pragma unroll
            for (int e = 0; e < shares; e++) {
                const int i = k + 2 + warp + warps * e;
                if (i >= n)
                    break;
                row[e] =
                    fma(-__shfl_sync(~0u, y, i), low, fma(-__shfl_sync(~0u, x, i), top, row[e]));
                if (lane <= k + 1 || lane >= i)
                    a[i * ld + lane] = row[e];
            }
        }
        held = low;
        holding = two ? k + 1 : -1;
    }
    __syncthreads();
    if (warp == 0 && holding >= 0)
        a[holding * ld + lane] = held;
    __syncthreads();
    return end;
}

/* What a lane knows of its column and row of R^: R(i, j), i < j, is a[i * ld + j] times by of i. */
struct column {
    double norm, inverse;            /* D and 1 / D */
    double by, diagonal, reciprocal; /* of the row; R(i, i) and 1 / R(i, i) */
};

/* R is I from row `end` on: with norms that are powers of 2, so that 1 it is. */
static __device__ __forceinline__ void break_off(double *a, int n, int end, struct column *own)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const double power = gram_power(own->norm), inverse = gram_power_inverse(own->norm);
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

/* T in blocks, COLUMNS columns a warp, all at once: back substitution as gram_invert_column. */
template <int COLUMNS>
static __device__ __forceinline__ void invert(const struct gram_data &d, const double *a,
                                              const struct column &own, unsigned starts)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, n = d.n;
    double x[COLUMNS];
    int first[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        const int j = min(warp + all_warps * c, 31);
        x[c] = lane == j ? 1.0 : 0.0;
        first[c] = 31 - __clz((int)(starts & ((2u << j) - 1)));
    }
    for (int i = n - 1; i >= 0; i--) {
        const double above = lane < i ? a[lane * ld + i] * own.by : 0.0;
        const double reciprocal = __shfl_sync(~0u, own.reciprocal, i);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            const bool now = i <= warp + all_warps * c && i >= first[c];
            const double known = __shfl_sync(~0u, x[c], i) * reciprocal;
            const double next = lane == i ? known : fma(-above, known, x[c]);
            x[c] = now ? next : x[c];
        }
    }
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        const int j = warp + all_warps * c;
        if (j < n && lane < n)
            d.t[j * n + lane] = lane <= j ? x[c] : 0.0;
    }
}

/* The same of one block, which `eliminate` has left. */
static __device__ __forceinline__ void take_inverse(const struct gram_data &d, const double *a,
                                                    const struct column &own)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, n = d.n;
#pragma unroll
    for (int c = 0; c < all_shares; c++) {
        const int j = warp + all_warps * c;
        if (j >= n)
            break;
        const double by = __shfl_sync(~0u, own.by, j);
        if (lane < n)
            d.t[j * n + lane] = lane < j ? a[j * ld + lane] * by : lane == j ? by : 0.0;
    }
}

/* R_total := R R_total, or R in pass 0. total: R_total before, column by column, ld apart. */
static __device__ __forceinline__ void join_total(const struct gram_data &d, const double *a,
                                                  const double *total, const struct column &own,
                                                  int pass)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, n = d.n;
    double sum[all_shares] = {};
    for (int k = 0; k < n; k++) {
        const double norm = __shfl_sync(~0u, own.norm, k);
        const double r = (lane < k    ? a[lane * ld + k] * own.by
                          : lane == k ? own.diagonal
                                      : 0.0) *
                         norm;
#pragma unroll
        for (int c = 0; c < all_shares; c++) {
            const int j = warp + all_warps * c;
            if (pass > 0)
                sum[c] = fma(r, j < n ? total[j * ld + k] : 0.0, sum[c]);
            else
                sum[c] = j == k ? r : sum[c];
        }
    }
#pragma unroll
    for (int c = 0; c < all_shares; c++) {
        const int j = warp + all_warps * c;
        if (j < n && lane < n)
            d.other[lane + j * n] = sum[c];
    }
}

/* In shared memory. */
struct memory {
    double a[gram_narrow_most * ld], b[gram_narrow_most * ld], c[gram_narrow_most * ld];
    double x[4 * gram_narrow_most], pivots[gram_narrow_most], sums[2 * all_warps];
    double estimate;
    unsigned starts;
};

/* Columns `warp`, `warp` + 4, .. of a matrix, rows to the diagonal. */
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
 * *squares: ||scaled G||_F^2. */
static __device__ __forceinline__ double take_scaled(struct memory &m, double g[shares],
                                                     double inverse, int n, double shift,
                                                     double *squares)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    double sum = 0, whole = 0;
#pragma unroll
    for (int e = 0; e < shares; e++) {
        const int j = warp + warps * e;
        const double other = __shfl_sync(~0u, inverse, j & 31);
        if (warp == warps || j >= n || lane > j)
            continue;
        const double rest = g[e] - (lane == j), weight = lane == j ? 1 : 2;
        g[e] = lane == j ? 1.0 : g[e] * inverse * other;
        sum = fma(weight * rest, rest, sum);
        whole = fma(weight * g[e], g[e], whole);
        m.a[lane * ld + j] = lane == j ? 1 + shift : g[e];
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(~0u, sum, step);
        whole += __shfl_xor_sync(~0u, whole, step);
    }
    if (lane == 0) {
        m.sums[warp] = sum;
        m.sums[all_warps + warp] = whole;
    }
    __syncthreads();
    sum = whole = 0;
#pragma unroll
    for (int w = 0; w < warps; w++) {
        sum += m.sums[w];
        whole += m.sums[all_warps + w];
    }
    *squares = whole;
    return sum;
}

/* R_total of a pass with R = I: what gram_repair did is undone, but by a bad pass. */
static __device__ __forceinline__ void keep_total(const struct gram_data &d, int pass, bool bad,
                                                  int exponent)
{
    const int lane = threadIdx.x % 32, n = d.n;
    for (int j = threadIdx.x / 32; j < n; j += all_warps)
        if (lane < n) {
            const int e = lane + j * n;
            const double old = pass == 0 ? (lane == j ? 1.0 : 0.0) : lane <= j ? d.total[e] : 0.0;
            d.other[e] = bad ? old : old * gram_undone(exponent);
        }
    __syncthreads();
    if (!bad && threadIdx.x < n)
        d.exponents[threadIdx.x] = 0;
}

__global__ __launch_bounds__(threads,
                             1) void narrow(const __grid_constant__ struct gram_data d,
                                            const __grid_constant__ struct gram_factor_step s,
                                            struct gram_record *out)
{
    __shared__ __align__(16) struct memory m;
    const int n = d.n, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    struct gram_record record = {};
    __builtin_assume(n >= 1 && n <= gram_narrow_most);
    __builtin_assume(blockDim.x == threads);
    bd_cuda_await();
    double g[shares], total[shares];
    load_upper(g, d.g, n);
    const double square = lane < n ? d.g[lane * (n + 1)] : 1.0;
    if (s.pass > 0)
        load_upper(total, d.total, n);
    const int exponent = lane < n ? d.exponents[lane] : 0;
    const struct gram_decision *before = d.decision; /* what V is like is of the solve before */
    const int in_copy = s.in_copy && (before->identity ? before->in_copy : before->single);
    struct column own;
    own.inverse = gram_inverse_root(square);
    own.norm = square * own.inverse;
    record.bad = __any_sync(~0u, !(square >= 0x1p-900 && square <= 0x1p1000));
    record.orthogonality = NAN;
    double squares = 0;
    if (!record.bad) {
        record.orthogonality = gram_root(take_scaled(m, g, own.inverse, n, s.shift, &squares));
        record.skipped = record.orthogonality < s.enough;
        record.condition = 1 + record.orthogonality; /* of a skipped one: to first order */
    }
    if (record.bad || record.skipped) {
        __syncthreads(); /* all have read the decision */
        keep_total(d, s.pass, record.bad, exponent);
        if (threadIdx.x == 0) {
            d.decision->identity = 1;
            d.decision->in_copy = in_copy;
            *out = record;
        }
        return;
    }
    /* Where no eigenvalue is raised R of the SVD is that of Cholesky. The estimate is seldom a
     * tenth of the condition number of R^, so its square not a hundredth. */
    struct blocks blocks = no_blocks(HUGE_VALF);
    int end = eliminate(m.a, m.pivots, n, 0, &blocks);
    if (warp == warps && lane == 0)
        m.estimate =
            end == n && blocks.starts == 1 ? (double)(blocks.greatest / blocks.least) : HUGE_VAL;
    __syncthreads();
    record.condition = m.estimate;
    record.failed = !s.svd && end < n;
    const bool raise = s.svd && !(record.condition * 1e4 * n * DBL_EPSILON < 1);
    double bound = 0;
    if (raise) {
#pragma unroll
        for (int e = 0; e < shares; e++) {
            const int j = warp + warps * e;
            if (warp < warps && lane <= j && j < n)
                m.b[lane * ld + j] = m.b[j * ld + lane] = g[e];
        }
        record.bad = !gram_raise(m.c, m.b, m.a, ld, n, squares, m.x, &bound, &record);
    }
    record.single = s.mixed && record.condition >= 1 / DBL_EPSILON;
    /* what was raised, or broken off, has this at most */
    const double kappa = gram_root(fmin(record.condition, gram_inverse(n) / DBL_EPSILON));
    const double tau = record.single ? 0x1.6a09e667f3bcdp-12 : 0x1p-26; /* epsilon^1/2 */
    const double limit = fmax(tau * kappa, 32.0);
    if (raise && !record.bad) {
        blocks = no_blocks((float)(limit * limit));
        eliminate(m.a, m.pivots, n, bound / 2, &blocks);
        end = n;
    }
    if (record.bad) {
        keep_total(d, s.pass, true, exponent);
        if (threadIdx.x == 0) {
            d.decision->identity = 1;
            d.decision->in_copy = in_copy;
            *out = record;
        }
        return;
    }
    own.by = own.reciprocal = lane < end ? gram_inverse_root(m.pivots[lane]) : 1.0;
    own.diagonal = lane < end ? m.pivots[lane] * own.by : 1.0;
    if (end < n)
        break_off(m.a, n, end, &own);
    if (!raise && kappa > limit) {
        blocks = no_blocks((float)(limit * limit));
        for (int j = 0; j < n && warp == warps; j++) {
            const double right = m.a[j * ld + lane] * __shfl_sync(~0u, own.by, j);
            take_column(&blocks, j, (float)(lane == j ? own.diagonal : lane > j ? right : 0.0));
        }
    }
    if (warp == warps && lane == 0)
        m.starts = s.solve == BD_TRIANGULAR_SUBSTITUTION ? ~0u
                   : s.solve == BD_TRIANGULAR_INVERSION || (!raise && kappa <= limit)
                       ? 1u
                       : blocks.starts;
    own.norm *= gram_undone(exponent);
    if (s.pass > 0)
#pragma unroll
        for (int e = 0; e < shares; e++)
            if (warp < warps)
                m.c[(warp + warps * e) * ld + lane] = total[e];
    __syncthreads();
    const unsigned starts = m.starts;
    if (warp == 0) {
        if (lane < n) {
            d.inverse[lane] = own.inverse;
            d.exponents[lane] = 0;
        }
        for (int w = lane; w < gram_most / 32; w += 32)
            d.decision->starts[w] = w == 0 ? starts : 0;
        if (lane == 0) {
            d.decision->identity = 0;
            d.decision->single = record.single;
            d.decision->in_copy = in_copy;
            *out = record;
        }
    }
    if (starts == 1 && end == n)
        take_inverse(d, m.a, own);
    else if (n <= 4 * all_warps)
        invert<4>(d, m.a, own, starts);
    else
        invert<all_shares>(d, m.a, own, starts);
    join_total(d, m.a, m.c, own, s.pass);
}

extern "C" enum bd_status bd_cuda_gram_narrow_enqueue(const struct gram_plan *plan,
                                                      const struct gram_factor_step *step,
                                                      struct gram_record *record)
{
    struct bd_cuda *cuda = plan->cuda;
    cudaLaunchAttribute early = {};
    cudaLaunchConfig_t launch = {};
    launch.gridDim = dim3(1);
    launch.blockDim = dim3(threads);
    launch.stream = cuda->stream;
    launch.attrs = &early;
    bd_cuda_overlap(cuda, &launch);
    cudaLaunchKernelEx(&launch, narrow, plan->data, *step, record);
    return bd_cuda_launched("R of the Gram matrix");
}
