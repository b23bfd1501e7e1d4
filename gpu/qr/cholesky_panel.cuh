/* Private to cholesky.cu: the parts of a panel of 32 columns of a Cholesky factorisation. */
#ifndef BD_GPU_QR_CHOLESKY_PANEL_CUH
#define BD_GPU_QR_CHOLESKY_PANEL_CUH

#include "gpu/core/gram_multiply.cuh"
#include "gpu/gram_qr/small.cuh"

enum {
    width = 32, /* columns of a panel: the lanes of a warp */
    stride = 36 /* doubles between rows of a panel's copy: no bank conflicts in fragments */
};

/* A diagonal block while it is factored, for the rows below it. Column k of L is column k of the
 * remaining matrix at that step, divided by the root of the pivot. */
struct diagonal {
    double column[width][width]; /* [k][i], i >= k: not divided */
    double inverse[width];       /* of the pivots */
    double root[width];          /* of the inverse of the pivots */
    double least[2];             /* the smallest pivot of even and odd panels */
};

struct packed_rows {
    double *data;

    __device__ __forceinline__ double *operator()(int i) const
    {
        return data + i * (i + 1) / 2;
    }
};

struct panel_copy {
    const double *data;
    int first; /* the row of the matrix that comes first */

    __device__ __forceinline__ const double *operator()(int i) const
    {
        return data + (i - first) * stride;
    }
};

/* A bound of the rounding errors of G and of its factorisation, for a unit diagonal: pivots
 * below it mean nothing, and with it added to the diagonal all pivots are positive. */
static __device__ __forceinline__ double noise(int n)
{
    return 8.0 * n * 0x1p-53;
}

/* a(m) -= part c(m), m = 0 .. 7; c is 16-byte aligned in shared memory, the same for all lanes. */
static __device__ __forceinline__ void take_column(double a[8], double part, const double *c,
                                                   int first = 0)
{
#pragma unroll
    for (int m = first / 2 * 2; m < 8; m += 2) {
        const double2 two = *reinterpret_cast<const double2 *>(c + m);
        if (m >= first)
            a[m] -= part * two.x;
        a[m + 1] -= part * two.y;
    }
}

/* Subtracts eight columns of the block, k0 .. k0 + 7, from elements 8 .. 31 of a row, whose
 * element 0 is that of column k0; `part` is its elements 0 .. 7 divided by the pivots. The row
 * then moves left by 8, so that loops over k0 have the same code for every k0. */
static __device__ __forceinline__ void take_eight(double a[width], const double part[8],
                                                  const struct diagonal *d, int k0)
{
#pragma unroll
    for (int chunk = 8; chunk < width; chunk += 8)
        if (k0 + chunk < width)
#pragma unroll
            for (int s = 0; s < 8; s++)
                take_column(a + chunk, part[s], &d->column[k0 + s][k0 + chunk]);
#pragma unroll
    for (int m = 0; m + 8 < width; m++)
        a[m] = a[m + 8];
}

/* L of the `cols` x `cols` block at row and column j0, in place and in `d`, by one warp: lane i has
 * row i. Pivots below `lowest`, and NaN, become `lowest` (the norm of the column brings NaN back).
 * signal(k0) reports that columns k0 .. k0 + 7 are in `d`.
 *
 * The time is that from pivot to pivot. So a lane keeps its own diagonal element (rest) apart:
 * with x its element of the column, y a rough inverse of the pivot p and e = 1 - p y, the
 * element loses x^2 / p = x^2 y (1 + e + e^2 ..), three operations after y. Roots are computed
 * later, eight at once. */
template <class Signal>
static __device__ __forceinline__ void diagonal_block(const struct packed_rows &row,
                                                      struct diagonal *d, int j0, int cols,
                                                      double lowest, const Signal &signal)
{
    const int lane = threadIdx.x % 32;
    double a[width], rest = 1, smallest = 1, *mine = row(j0 + (lane < cols ? lane : 0)) + j0;
#pragma unroll
    for (int k = 0; k < width; k++)
        a[k] = lane < cols && k <= lane ? mine[k] : 0.0;
    if (lane < cols)
        rest = mine[lane];
#pragma unroll 1
    for (int k0 = 0; k0 < cols; k0 += 8) {
        double part[8], own = 1;
#pragma unroll
        for (int s = 0; s < 8; s++) {
            const int k = k0 + s;
            d->column[k][lane] = a[s];
            const double found = __shfl_sync(0xffffffffu, rest, k), x = a[s];
            const double pivot = __hiloint2double(
                max(__double2hiint(found), __double2hiint(lowest)), __double2loint(found));
            double y;
            asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(pivot));
            const double loss = x * x * y, e = fma(-pivot, y, 1.0), more = fma(e, e, e);
            rest = fma(-loss, more, rest - loss);
            const double inverse = fma(y, more, y);
            part[s] = x * inverse;
            own = lane == s ? pivot : own;
            smallest = found < smallest ? found : smallest;
            if (lane == s)
                d->inverse[k] = inverse;
            __syncwarp();
            take_column(a, part[s], &d->column[k][k0], s + 1);
        }
        const double root = gram_inverse_root(own);
        if (lane < 8)
            d->root[k0 + lane] = root;
        __syncwarp();
        signal(k0);
#pragma unroll
        for (int s = 0; s < 8; s++) {
            const int k = k0 + s;
            const double pivot = __shfl_sync(0xffffffffu, own, s);
            if (lane >= k && lane < cols)
                mine[k] = (lane == k ? pivot : a[s]) * d->root[k];
        }
        take_eight(a, part, d, k0);
    }
    if (lane == 0)
        d->least[j0 / width % 2] = smallest;
}

/* Row i below the diagonal block, if i < n: x L11^T = a(i, j0 ..), in place and to `copy`.
 * wait(k0) returns when columns k0 .. k0 + 7 are in `d`, and the row itself is up to date. */
template <class Wait>
static __device__ __forceinline__ void solve_row(const struct packed_rows &row,
                                                 const struct diagonal *d, int i, int n, int j0,
                                                 double *copy, const Wait &wait)
{
    double x[width], *a = row(i < n ? i : n - 1) + j0;
    wait(0);
#pragma unroll
    for (int k = 0; k < width; k++)
        x[k] = i < n ? a[k] : 0.0;
#pragma unroll 1
    for (int k0 = 0; k0 < width; k0 += 8) {
        double part[8];
        if (k0 > 0)
            wait(k0);
#pragma unroll
        for (int s = 0; s < 8; s++) {
            part[s] = x[s] * d->inverse[k0 + s];
            const double l = x[s] * d->root[k0 + s];
            if (i < n)
                a[k0 + s] = l;
            if (i < n)
                copy[k0 + s] = l;
            take_column(x, part[s], &d->column[k0 + s][k0], s + 1);
        }
        take_eight(x, part, d, k0);
    }
}

/* Tile number t of a lower triangle of tiles, row by row: (0, 0), (1, 0), (1, 1), (2, 0), .. */
static __device__ __forceinline__ void tile_place(int t, int *ti, int *tj)
{
    int i = 0;
    while (t > i)
        t -= ++i;
    *ti = i;
    *tj = t;
}

/* Rows i0 .. i0 + 15 and columns c0 .. c0 + 15 of the trailing matrix lose the products of the
 * rows of the panel, by one warp. panel(i) points to the 32 elements of row i of the panel, i <
 * n. Fragments (gpu/core/gram_multiply.cuh): lane 4 g + t has elements t, 4 + t, 8 + t, 12 + t
 * of row g. */
static __device__ __forceinline__ void
update_tile(const struct packed_rows &row, const struct panel_copy &panel, int i0, int c0, int n)
{
    const int lane = threadIdx.x % 32, group = lane / 4, t = lane % 4;
    double sum[2][4] = {};
#pragma unroll
    for (int half = 0; half < width; half += 16) {
        double f[4][4]; /* rows i0 + group, i0 + 8 + group, c0 + group, c0 + 8 + group */
#pragma unroll
        for (int part = 0; part < 4; part++) {
            int i = (part < 2 ? i0 : c0) + part % 2 * 8 + group;
            const double *p = panel(i < n ? i : n - 1) + half + t;
#pragma unroll
            for (int k = 0; k < 4; k++)
                f[part][k] = p[4 * k];
        }
        bd_gram_multiply(sum[0], f[0], f[1], f[2]);
        bd_gram_multiply(sum[1], f[0], f[1], f[3]);
    }
#pragma unroll
    for (int e = 0; e < 8; e++) {
        int i = i0 + e / 2 % 2 * 8 + group, j = c0 + e / 4 * 8 + 2 * t + e % 2;
        if (i < n && j <= i)
            row(i)[j] -= sum[e / 4][e % 4];
    }
}

#endif
