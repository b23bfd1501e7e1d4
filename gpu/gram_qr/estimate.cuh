/* Private to gpu/gram_qr and gpu/triangular/triangular.cu: incremental condition estimation
 * (Bischof: Incremental condition estimation, 1990) of R^ (plan.h) by a thread block, and where
 * blocks of columns begin because of it. R^(i, j) is a[i * ld + j].
 *
 * Let x have norm 1 and let x^T R have about the largest (or smallest) norm, sigma. With the
 * next column (v; gamma) x becomes (s x; c), whose norm squared is [s c] [sigma^2 + alpha^2,
 * alpha gamma; ., gamma^2] [s c]^T, alpha = x^T v. Columns count as scaled to norm 1. The
 * products of the vectors x with all columns to come are kept, and their squares, so that no
 * column has to wait for sums. The plain version is linalg/cpu/gram_qr (test
 * condition_estimate). */
#ifndef BD_GPU_GRAM_QR_ESTIMATE_CUH
#define BD_GPU_GRAM_QR_ESTIMATE_CUH

#include "gpu/gram_qr/small.cuh"

/* The larger eigenvalue of a 2 x 2 matrix, and its unit vector: `by` times (keep, take). */
struct gram_turn {
    double largest, keep, take, by;
};

/* Of [before + along^2, along gamma; along gamma, gamma^2]. The square of the cosine follows
 * from half the angle between an axis and the vector without another root, and products with the
 * vector need not wait for the cosine's root. */
static __device__ __forceinline__ struct gram_turn gram_widen(double before, double along,
                                                              double gamma)
{
    const double own = gamma * gamma, apart = fma(along, along, before - own);
    const double side = along * gamma, square = fma(apart, apart, 4 * side * side);
    const bool turns = square > 1e-280; /* otherwise any vector will do */
    const double by_root = turns ? gram_rough_inverse_root(square) : 0.0;
    const double near = fma(0.5 * fabs(apart), by_root, turns ? 0.5 : 1.0);
    const double far = side * by_root;
    struct gram_turn t;
    t.largest = 0.5 * (fma(along, along, before + own) + square * by_root);
    t.keep = apart >= 0 ? near : far;
    t.take = apart >= 0 ? far : near;
    t.by = gram_rough_inverse_root(near);
    return t;
}

/* The products with a vector x that has one more row, v. */
static __device__ __forceinline__ double gram_turn_large(const struct gram_turn &t, double x,
                                                         double v)
{
    return fma(x, t.keep, v * t.take) * t.by;
}

/* The same for the smaller eigenvalue, whose vector is orthogonal to the other. */
static __device__ __forceinline__ double gram_turn_small(const struct gram_turn &t, double x,
                                                         double v)
{
    return fma(v, t.keep, -x * t.take) * t.by;
}

/* The estimate of a block of columns of which some have been taken: the singular values squared,
 * and what thread x keeps of columns x, THREADS + x, .. */
template <int THREADS, int PARTS> struct gram_estimate {
    double greatest, least;
    double large[PARTS], small[PARTS]; /* products with the vectors x */
    double norm[PARTS];                /* of the rows taken, squared */

    /* Writes what is kept of columns j0 .. last - 1, which are next, to shared memory. */
    __device__ __forceinline__ void publish(double (*published)[3], int j0, int last) const
    {
#pragma unroll
        for (int part = 0; part < PARTS; part++) {
            const int k = part * THREADS + (int)threadIdx.x;
            if (k >= j0 && k < last) {
                published[k - j0][0] = large[part];
                published[k - j0][1] = small[part];
                published[k - j0][2] = norm[part];
            }
        }
    }

    /* Takes row j of R^, of the first column of a block. */
    __device__ __forceinline__ void begin(const double row[PARTS + 1])
    {
        greatest = least = 1;
#pragma unroll
        for (int part = 0; part < PARTS; part++) {
            large[part] = small[part] = row[part];
            norm[part] = row[part] * row[part];
        }
    }

    /* Takes row j of R^, after the vectors have turned to take column j. */
    __device__ __forceinline__ void turn(const struct gram_turn &up, const struct gram_turn &down,
                                         const double row[PARTS + 1])
    {
#pragma unroll
        for (int part = 0; part < PARTS; part++) {
            large[part] = gram_turn_large(up, large[part], row[part]);
            small[part] = gram_turn_small(down, small[part], row[part]);
            norm[part] = fma(row[part], row[part], norm[part]);
        }
    }
};

/* What each lane of a warp keeps once more of column j0 + lane, of 32 columns, so that a shuffle
 * gives the next column. */
struct gram_next {
    double diagonal, large, small, norm;
    double by; /* 1 / the norm of the column with its diagonal */

    __device__ __forceinline__ void scale(void)
    {
        by = gram_rough_inverse_root(fma(diagonal, diagonal, norm));
    }

    /* Takes a row into what does not wait for the vectors. Returns the scaled diagonal element
     * of the column of lane `next`. */
    __device__ __forceinline__ double take(double v, int next)
    {
        norm = fma(v, v, norm);
        scale();
        return __shfl_sync(~0u, diagonal * by, next);
    }
};

/* Takes columns from .. to - 1 as long as the condition number squared stays below `most`.
 * Returns the first column that is not taken, or `to`. By THREADS threads, all of the block.
 * begins: column `from` is the first of its block. Warps without columns get the result in the
 * end. Rows are read a few at a time and ahead of their use, because they may be in global
 * memory. */
template <int THREADS, int PARTS>
static __device__ __forceinline__ int gram_take_columns(struct gram_estimate<THREADS, PARTS> *e,
                                                        const double *a, int ld, int n, int from,
                                                        int to, bool begins, double most)
{
    constexpr int ONCE = 4;
    __shared__ double published[32][3], values[2];
    __shared__ int reached;
    const int lane = threadIdx.x % 32;
    int end = to;
#pragma unroll 1
    for (int j0 = from; j0 < to && end == to; j0 += 32) {
        const int last = min(j0 + 32, to), own = j0 + lane;
        const bool starts = begins && j0 == from;
        double rows[ONCE][PARTS + 1]; /* the last: of column `own` */
        auto load = [&](int first) {
#pragma unroll
            for (int s = 0; s < ONCE; s++)
#pragma unroll
                for (int part = 0; part <= PARTS; part++) {
                    const int j = first + s;
                    const int k = part < PARTS ? part * THREADS + (int)threadIdx.x : own;
                    const bool in = j < last && k > j && k < n;
                    rows[s][part] = in ? a[(int64_t)j * ld + k] : 0.0;
                }
        };
        if (!starts)
            e->publish(published, j0, last);
        __syncthreads();
        if ((int)threadIdx.x - lane < n) {
            const bool in = own < last;
            struct gram_next next;
            next.diagonal = in ? a[(int64_t)own * ld + own] : 1.0;
            next.large = in && !starts ? published[lane][0] : 0.0;
            next.small = in && !starts ? published[lane][1] : 0.0;
            next.norm = in && !starts ? published[lane][2] : 0.0;
            next.scale();
            double gamma = __shfl_sync(~0u, next.diagonal * next.by, 0);
            load(j0);
#pragma unroll 1
            for (int first = j0; first < last && end == to; first += ONCE) {
                double row[ONCE][PARTS + 1];
#pragma unroll
                for (int i = 0; i < ONCE * (PARTS + 1); i++)
                    row[i / (PARTS + 1)][i % (PARTS + 1)] = rows[i / (PARTS + 1)][i % (PARTS + 1)];
                load(first + ONCE);
#pragma unroll
                for (int s = 0; s < ONCE && first + s < last; s++) {
                    const int j = first + s, c = j - j0;
                    const double v = row[s][PARTS];
                    const double along = __shfl_sync(~0u, next.large * next.by, c);
                    const double other = __shfl_sync(~0u, next.small * next.by, c);
                    const double following = next.take(v, (c + 1) % 32);
                    if (starts && c == 0) {
                        e->begin(row[s]);
                        next.large = next.small = v;
                    } else {
                        const double product = e->least * (gamma * gamma);
                        const struct gram_turn up = gram_widen(e->greatest, along, gamma);
                        const struct gram_turn down = gram_widen(e->least, other, gamma);
                        if (!(up.largest * down.largest <= most * product)) { /* NaN comes from 0 */
                            end = j;
                            break;
                        }
                        e->greatest = up.largest;
                        e->least = product * gram_inverse(down.largest);
                        next.large = gram_turn_large(up, next.large, v);
                        next.small = gram_turn_small(down, next.small, v);
                        e->turn(up, down, row[s]);
                    }
                    gamma = following;
                }
            }
        }
        if (threadIdx.x == 0) {
            values[0] = e->greatest;
            values[1] = e->least;
            reached = end;
        }
        __syncthreads();
        e->greatest = values[0];
        e->least = values[1];
        end = reached;
    }
    return end;
}

/* Condition numbers above this, squared, count as infinite. */
static constexpr double gram_most_squared = 1e60;

/* Decides where blocks begin (gram_decision), by a thread block; kappa: the condition number of
 * R^. A block that begins within 16 columns makes blocks begin at the first of these and after
 * the last, too (gpu/triangular/wide.cu). starts: gram_most / 32, in shared
 * memory. */
template <int THREADS, int PARTS>
static __device__ __forceinline__ void gram_cut(unsigned *starts, const double *a, int ld, int n,
                                                int solve, double kappa, double tau)
{
    for (int w = threadIdx.x; w < gram_most / 32; w += THREADS)
        starts[w] = solve == BD_TRIANGULAR_SUBSTITUTION ? ~0u : w == 0;
    __syncthreads();
    const double limit = fmax(tau * fmin(kappa, 1e30), 32.0);
    if (solve != BD_TRIANGULAR_ADAPTIVE || kappa <= limit)
        return;
    struct gram_estimate<THREADS, PARTS> block;
    auto begin_at = [&](int j) {
        if (threadIdx.x == 0 && j < n)
            starts[j / 32] |= 1u << j % 32;
    };
    for (int j = 0, to = n; j < n;) {
        j = gram_take_columns(&block, a, ld, to, j, to, true, limit * limit);
        begin_at(j);
        if (j % 16 && j < n) { /* further blocks begin only within these 16 columns */
            begin_at(j & ~15);
            to = min(n, (j & ~15) + 16);
            begin_at(to);
        } else if (j >= to) {
            to = n;
        }
    }
    __syncthreads();
}

#endif
