/* A turn of V (small_svd.cuh). */
#ifndef BD_GPU_SVD_TURN_CUH
#define BD_GPU_SVD_TURN_CUH

#include "gpu/svd/block.cuh"

/* A thread block has NT tiles of columns of V, and each warp of it one tile of their rows. Element
 * [t][c] of a thread is in row svd_row(c), column svd_column(t, c) of the block's columns. */
template <int NT> struct svd_part {
    double x[NT][4];
};

__device__ inline int svd_row(int c)
{
    return (int)(threadIdx.x / 32 * svd_rows + threadIdx.x % 32 / 4) + 8 * (c / 2);
}

__device__ inline int svd_column(int t, int c)
{
    return svd_columns * t + 2 * (int)(threadIdx.x % 4) + c % 2;
}

/* Calls put(t, c, i, j) for a thread's elements of n x n; i, j are row and column. */
template <int NT, class Put> __device__ inline void svd_each(const struct svd_block &b, Put put)
{
#pragma unroll
    for (int t = 0; t < NT; t++)
#pragma unroll
        for (int c = 0; c < 4; c++) {
            int i = svd_row(c), j = b.first + svd_column(t, c);
            if (i < b.n && j < b.n)
                put(t, c, i, j);
        }
}

/* Z := G V of the block's columns. */
template <int NT> __device__ inline void svd_form_z(const struct svd_block &b)
{
    const int row = svd_row(0);
    const float *own = b.own + threadIdx.x % 32 / 4 * b.ld;
    const double *g = b.g + row * b.ld; /* G is symmetric */
    double sum[NT][4];
    if (row >= b.padded)
        return;
    svd_multiply<NT>(
        sum, b.padded, [&](int half, int k) { return svd_pair(g + 8 * half * b.ld + k); },
        [&](int t, int k) { return svd_pair(own + svd_columns * t * b.ld + k); });
#pragma unroll
    for (int t = 0; t < NT; t++)
#pragma unroll
        for (int c = 0; c < 4; c++)
            b.z[svd_row(c) + svd_column(t, c) * b.ld] = sum[t][c];
}

/* The block's columns of S = V^T G V and Q = V^T V. */
template <int NT>
__device__ inline void svd_form(const struct svd_block &b, struct svd_part<NT> &s,
                                struct svd_part<NT> &q)
{
    const int line = threadIdx.x % 32 / 4, row = svd_row(0);
    const double *z = b.z + line * b.ld;
    const float *own = b.own + line * b.ld, *v = b.v + row * b.ld;
    double both[2 * NT][4];
    if (row >= b.padded)
        return;
    svd_multiply<2 * NT>(
        both, b.padded, [&](int half, int k) { return svd_pair(v + 8 * half * b.ld + k); },
        [&](int t, int k) {
            return t < NT ? svd_pair(z + svd_columns * t * b.ld + k)
                          : svd_pair(own + svd_columns * (t - NT) * b.ld + k);
        });
#pragma unroll
    for (int t = 0; t < NT; t++)
#pragma unroll
        for (int c = 0; c < 4; c++) {
            s.x[t][c] = both[t][c];
            q.x[t][c] = both[NT + t][c];
        }
}

/* 1 / x to about 2^-40, far more accurate than lambda in float32. */
__device__ inline double svd_reciprocal(double x)
{
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    return fma(y, fma(-x, y, 1.0), y);
}

/* Sends lambda of the block's columns: the diagonal of S over that of Q. Element (i, i) of eight
 * rows and columns is with lane 4 i + i / 2. */
template <int NT>
__device__ inline void svd_send_lambda(const struct svd_data &d, const struct svd_block &b,
                                       const struct svd_part<NT> &s, const struct svd_part<NT> &q)
{
    const int lane = threadIdx.x % 32, odd = lane / 4 % 2;
#pragma unroll
    for (int t = 0; t < NT; t++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int column = b.first + svd_columns * t;
            if (svd_row(2 * half) - lane / 4 != column)
                continue; /* these eight rows are not on the diagonal */
            const double over = odd ? s.x[t][2 * half + 1] : s.x[t][2 * half];
            const double under = odd ? q.x[t][2 * half + 1] : q.x[t][2 * half];
            const double lambda = over * svd_reciprocal(under);
#pragma unroll
            for (int i = 0; i < svd_columns; i++) {
                const double of_i = __shfl_sync(~0u, lambda, 4 * i + i / 2);
                if (column + i < b.n)
                    svd_send(d, b, b.exchange->lambda + column + i, of_i, svd_post_lambda);
            }
        }
}

/* The largest lambda to 20 bits, by a warp; *scale is a power of two, 1 / lambda within a factor of
 * two. Positive doubles are in the order of their high words. */
__device__ inline double svd_top(const struct svd_block &b, double *scale)
{
    int high = 0;
    for (int j = threadIdx.x % 32; j < b.n; j += 32)
        high = max(high, __double2hiint(b.exchange->lambda[j]));
    high = __reduce_max_sync(~0u, high);
    *scale = __hiloint2double(0x7fd00000 - (high & 0x7ff00000), 0);
    return __hiloint2double(high, 0);
}

/* The tangent, within +-1, of the rotation that makes two columns orthogonal: tan(2 angle) = 2 off
 * / gap, |off|, |gap| <= 1. A gap of 0 takes the sign of `order`. Accurate to all but a few bits of
 * float32: the next turn corrects the rest. */
__device__ inline float svd_tangent(float off, float gap, float order)
{
    const float square = fmaf(gap, gap, 4 * off * off);
    const float under = fabsf(gap) + square * rsqrtf(fmaxf(square, FLT_MIN));
    const float t = __fdividef(2 * off, fmaxf(under, FLT_MIN));
    return (gap != 0 ? gap : order) < 0 ? -t : t;
}

/* The sum of x over `count` lanes, neighbours `apart` from each other, in each of them. */
template <class T> __device__ inline T svd_sum(T x, int apart, int count)
{
    for (int offset = apart; offset < apart * count; offset *= 2)
        x += __shfl_xor_sync(~0u, x, offset);
    return x;
}

/* From S and Q, the tangents `a` of the block's columns and `p` = (I - Q) / 2; sends their sums.
 * A(i, j) comes from off = S(i, j) - (lambda_i + lambda_j) / 2 Q(i, j), which is S(i, j) once V has
 * been made orthonormal. Pairs that are orthogonal already are turned only where their tangent is
 * tiny and their gap is more than rounding, that is, where their eigenvalues are no cluster. `top`:
 * the largest lambda, of this turn or the one before, and `scale` about 1 / top. */
template <int WARPS, int NT>
__device__ inline void svd_tangents(const struct svd_data &d, const struct svd_block &b, double top,
                                    double scale, const struct svd_part<NT> &s,
                                    const struct svd_part<NT> &q, float (&a)[NT][4],
                                    float (&p)[NT][4])
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, columns = NT * svd_columns;
    const double *lambda = b.exchange->lambda;
    const double tiny = (double)SVD_TOLERANCE * SVD_TOLERANCE * top, limit = 4 * tiny;
    const double gap_least = 0x1p-26 * top;
    float open = 0, skew = 0, turn[NT][2] = {}, square[NT][2] = {};
#pragma unroll
    for (int t = 0; t < NT; t++)
#pragma unroll
        for (int c = 0; c < 4; c++)
            a[t][c] = p[t][c] = 0;
    svd_each<NT>(b, [&](int t, int c, int i, int j) {
        const double x = s.x[t][c], y = q.x[t][c], li = lambda[i], lj = lambda[j];
        const float part = (float)((i == j) - y);
        p[t][c] = 0.5f * part;
        skew += part * part;
        if (i == j)
            return;
        const double off = x - 0.5 * (li + lj) * y, gap = lj - li;
        const bool done = off * off <= limit * fmax(fmax(li, lj), tiny);
        float tangent = svd_tangent((float)(off * scale), (float)(gap * scale), (float)(j - i));
        if (done && (fabsf(tangent) > 3e-5f || fabs(gap) < gap_least))
            tangent = 0;
        a[t][c] = tangent;
        turn[t][c % 2] += fabsf(tangent);
        square[t][c % 2] += tangent * tangent;
        open += done ? 0 : tangent * tangent;
    });
#pragma unroll
    for (int t = 0; t < NT; t++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const float turns = svd_sum(turn[t][h], 4, 8), squares = svd_sum(square[t][h], 4, 8);
            if (lane < 4)
                b.turn[warp * columns + svd_column(t, h)] = make_float2(turns, squares);
        }
    open = svd_sum(open, 1, 32);
    skew = svd_sum(skew, 1, 32);
    if (lane == 0)
        b.left[warp] = make_float2(open, skew);
    __syncthreads();
    /* a warp a column, or the sums of all: a lane for each warp's part */
    for (int own = warp; own <= columns; own += WARPS) {
        const int j = b.first + own, from = lane % WARPS;
        float2 all = own < columns ? b.turn[from * columns + own] : b.left[from];
        all.x = svd_sum(all.x, 1, WARPS);
        all.y = svd_sum(all.y, 1, WARPS);
        if (own == columns)
            svd_send(d, b, b.exchange->left + blockIdx.x, all, svd_post_turn);
        else if (j < b.n)
            svd_send(d, b, b.exchange->turn + j, all, svd_post_turn);
    }
}

/* Sends the eigenvalues to second order: lambda and what the last turn adds. */
template <int WARPS, int NT>
__device__ inline void svd_refine(const struct svd_data &d, const struct svd_block &b,
                                  const struct svd_part<NT> &s, const struct svd_part<NT> &q,
                                  const float (&a)[NT][4], const float (&p)[NT][4])
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, columns = NT * svd_columns;
    const double *lambda = b.exchange->lambda;
    double shift[NT][2] = {};
    svd_each<NT>(b, [&](int t, int c, int i, int j) {
        if (i != j)
            shift[t][c % 2] += (s.x[t][c] - lambda[j] * q.x[t][c]) * (double)(p[t][c] + a[t][c]);
    });
#pragma unroll
    for (int t = 0; t < NT; t++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const double all = svd_sum(shift[t][h], 4, 8);
            if (lane < 4)
                b.shift[warp * columns + svd_column(t, h)] = all;
        }
    __syncthreads();
    for (int own = warp; own < columns && b.first + own < b.n; own += WARPS) {
        const int j = b.first + own;
        const double all = svd_sum(b.shift[lane % WARPS * columns + own], 1, WARPS);
        svd_send(d, b, b.exchange->refined + j, lambda[j] + all, svd_at_barrier);
    }
}

/* Sums of `left` over the blocks. */
__device__ inline float2 svd_sum_blocks(const struct svd_block &b)
{
    const int from = threadIdx.x % svd_blocks_most;
    float2 all = from < b.used ? b.exchange->left[from] : make_float2(0, 0);
    all.x = svd_sum(all.x, 1, svd_blocks_most);
    all.y = svd_sum(all.y, 1, svd_blocks_most);
    return all;
}

/* The block's columns of V (I + E), to store(i, j, value). E is the tangents, those of a column
 * scaled down where their sum is above `most`, plus (I - Q) / 2. Columns of I + the tangents are
 * scaled to norm 1, so that a pair that turns alone turns exactly. */
template <int NT, class Store>
__device__ inline void svd_turn(const struct svd_block &b, const float (&a)[NT][4],
                                const float (&p)[NT][4], float most, Store store)
{
    const float2 *turn = b.exchange->turn;
    const float *e = b.e + threadIdx.x % 32 / 4 * b.ld;
    svd_each<NT>(b, [&](int t, int c, int i, int j) {
        const float scale = __fdividef(most, fmaxf(most, fmaxf(turn[i].x, turn[j].x)));
        b.e[i + svd_column(t, c) * b.ld] = a[t][c] * scale + p[t][c];
    });
    double less[NT][2]; /* 1 - 1 / norm */
#pragma unroll
    for (int t = 0; t < NT; t++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const float2 of_j = turn[min(b.first + svd_column(t, h), b.n - 1)];
            const float scale = __fdividef(most, fmaxf(most, of_j.x));
            const float square = scale * scale * of_j.y, root = (1 + square) * rsqrtf(1 + square);
            less[t][h] = (double)__fdividef(square, root + root * root);
        }
    __syncthreads();
    double turned[NT][4];
    const int row = svd_row(0);
    const float *v = b.v + row;
    if (row < b.padded)
        svd_multiply<NT>(
            turned, b.padded,
            [&](int half, int k) {
                const float *x = v + 8 * half + k * b.ld;
                return make_double2((double)x[0], (double)x[b.ld]);
            },
            [&](int t, int k) { return svd_pair(e + svd_columns * t * b.ld + k); });
    svd_each<NT>(b, [&](int t, int c, int i, int j) {
        const double x = (double)b.own[i + svd_column(t, c) * b.ld] + turned[t][c];
        store(i, j, (float)(x - less[t][c % 2] * x));
    });
}

#endif
