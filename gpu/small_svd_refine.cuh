/* Products of the small matrices on the FP64 tensor cores, and the refinement of V from them
 * (small_svd.cuh). */
#ifndef BD_GPU_SMALL_SVD_REFINE_CUH
#define BD_GPU_SMALL_SVD_REFINE_CUH

#include "gpu/small_svd.cuh"

/* 16 x 8 elements of a product, of a warp: element [i][h] of lane is row 8 i + lane / 4, column
 * 2 (lane % 4) + h. */
struct svd_tile {
    double x[2][2];
};

enum { svd_tile_rows = 16, svd_tile_columns = 8 };

/* Four elements k .. k + 3 of a column; of a row, `ld` apart. */
__device__ inline void svd_load_down(float (&x)[4], const float *at)
{
    float4 f = *(const float4 *)at;
    x[0] = f.x, x[1] = f.y, x[2] = f.z, x[3] = f.w;
}

__device__ inline void svd_load_along(float (&x)[4], const float *at, int ld)
{
#pragma unroll
    for (int i = 0; i < 4; i++)
        x[i] = at[i * ld];
}

__device__ inline void svd_multiply_add(double (&c)[2], double a, double b)
{
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a), "d"(b));
}

/* The tile at (row, column) of A B, summed over k = begin .. end - 1, both multiples of 16. ALONG:
 * A as it is; else a is A^T. In step t of 16 of them lane takes k = 4 (lane % 4) + t, so that it
 * reads 16 bytes at once; which k goes with which step does not matter to the sum. */
template <int ALONG>
__device__ struct svd_tile svd_product(const float *a, const float *b, int ld, int row, int column,
                                       int begin, int end)
{
    int lane = threadIdx.x % 32, line = lane / 4, first = 4 * (lane % 4);
    double sum[2][2][2] = {}; /* even and odd steps: a shorter chain of additions */
#pragma unroll 4
    for (int k = begin + first; k < end; k += 16) {
        float x[2][4], z[4];
#pragma unroll
        for (int i = 0; i < 2; i++)
            if (ALONG)
                svd_load_along(x[i], a + row + 8 * i + line + k * ld, ld);
            else
                svd_load_down(x[i], a + k + (row + 8 * i + line) * ld);
        svd_load_down(z, b + k + (column + line) * ld);
#pragma unroll
        for (int t = 0; t < 4; t++)
#pragma unroll
            for (int i = 0; i < 2; i++)
                svd_multiply_add(sum[t % 2][i], x[i][t], z[t]);
    }
    struct svd_tile tile;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int h = 0; h < 2; h++)
            tile.x[i][h] = sum[0][i][h] + sum[1][i][h];
    return tile;
}

/* Calls put(row, column, value) for the elements of a tile that lie in n x n. */
template <class Put>
__device__ void svd_for_each(const struct svd_tile &tile, int row, int column, int n, Put put)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int r = row + 8 * i + lane / 4, c = column + 2 * (lane % 4) + h;
            if (r < n && c < n)
                put(r, c, tile.x[i][h]);
        }
}

/* Tiles down a column of an n x n matrix, and along a row. */
__device__ inline int svd_tiles_down(int n)
{
    return (n + svd_tile_rows - 1) / svd_tile_rows;
}

__device__ inline int svd_tiles_along(int n)
{
    return (n + svd_tile_columns - 1) / svd_tile_columns;
}

/* This warp among all, and their number. */
__device__ inline int svd_warp()
{
    return blockIdx.x * (svd_threads / 32) + threadIdx.x / 32;
}

__device__ inline int svd_warps()
{
    return gridDim.x * (svd_threads / 32);
}

/* Y := R V. Row i of R starts at the diagonal. */
__device__ inline void svd_form_y(const struct svd_data &d)
{
    int down = svd_tiles_down(d.n), along = svd_tiles_along(d.n);
    for (int job = svd_warp(); job < down * along; job += svd_warps()) {
        int row = job / along * svd_tile_rows, column = job % along * svd_tile_columns;
        struct svd_tile tile =
            svd_product<0>(d.rt, d.v, d.ld, row, column, row, down * svd_tile_rows);
        svd_for_each(tile, row, column, d.n,
                     [&](int i, int j, double x) { d.y[i + j * d.ld] = (float)x; });
    }
}

/* S := Y^T Y and Q := V^T V, whole, from the tiles that reach above the diagonal: of column c of
 * tiles those are rows 0 .. c / 2. */
__device__ inline void svd_form_gram(const struct svd_data &d)
{
    int along = svd_tiles_along(d.n), odd = along % 2, jobs = (along + odd) / 2 * (along / 2 + 1);
    for (int job = svd_warp(); job < 2 * jobs; job += svd_warps()) {
        int c = 0, r = job % jobs;
        for (; r > c / 2; c++)
            r -= c / 2 + 1;
        const float *x = job < jobs ? d.y : d.v;
        double *out = job < jobs ? d.s : d.q;
        int row = r * svd_tile_rows, column = c * svd_tile_columns;
        struct svd_tile tile =
            svd_product<0>(x, x, d.ld, row, column, 0, svd_tiles_down(d.n) * svd_tile_rows);
        svd_for_each(tile, row, column, d.n, [&](int i, int j, double sum) {
            if (i <= j)
                out[i + j * d.ld] = out[j + i * d.ld] = sum;
        });
    }
}

/* What the refinement of a column needs, and what it tells. */
struct svd_refinement {
    float largest, square; /* of the elements of E */
};

/* The largest of `largest`, and the sum of `square`, over all threads of all blocks, in all of
 * them. `reduce` (2 a warp) is shared memory. */
__device__ inline struct svd_refinement svd_reduce(const struct svd_data &d,
                                                   struct svd_refinement mine, float *reduce)
{
    for (int offset = 16; offset; offset /= 2) {
        mine.largest = fmaxf(mine.largest, __shfl_xor_sync(~0u, mine.largest, offset));
        mine.square += __shfl_xor_sync(~0u, mine.square, offset);
    }
    if (threadIdx.x % 32 == 0) {
        reduce[2 * (threadIdx.x / 32)] = mine.largest;
        reduce[2 * (threadIdx.x / 32) + 1] = mine.square;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < svd_threads / 32; i++) {
            mine.largest = fmaxf(mine.largest, reduce[2 * i]);
            mine.square += reduce[2 * i + 1];
        }
        d.partial[blockIdx.x].largest = mine.largest;
        d.partial[blockIdx.x].square = mine.square;
    }
    svd_barrier(d);
    mine = { 0, 0 };
    for (int i = 0; i < (int)gridDim.x; i++) {
        mine.largest = fmaxf(mine.largest, d.partial[i].largest);
        mine.square += d.partial[i].square;
    }
    return mine;
}

/* E(i, j) = P(i, j) / 2 + A(i, j), with P = I - V^T V and A(i, j) = off / (lambda_j - lambda_i),
 * off = S(i, j) + (lambda_i + lambda_j) / 2 P(i, j): what of S is left off the diagonal once V has
 * been made orthonormal. Pairs that are orthogonal already take part only where A is tiny, which
 * is where they are no cluster. d.lambda: the eigenvalues of S to second order. A warp a column.
 * `lambda` (n) and `reduce` are shared memory. *most: the largest lambda. */
__device__ inline struct svd_refinement svd_form_e(const struct svd_data &d, double *lambda,
                                                   float *reduce, double *most)
{
    int lane = threadIdx.x % 32, n = d.n;
    double largest = 0;
    for (int j = threadIdx.x; j < n; j += svd_threads)
        lambda[j] = d.s[j + j * d.ld] / d.q[j + j * d.ld];
    __syncthreads();
    for (int j = lane; j < n; j += 32)
        largest = fmax(largest, lambda[j]);
    for (int offset = 16; offset; offset /= 2)
        largest = fmax(largest, __shfl_xor_sync(~0u, largest, offset));
    *most = largest;
    const double limit = 4 * (double)SVD_TOLERANCE * SVD_TOLERANCE * largest;
    struct svd_refinement all = { 0, 0 };
    for (int j = svd_warp(); j < n; j += svd_warps()) {
        double shift = 0;
#pragma unroll 4
        for (int i = lane; i < n; i += 32) {
            double s = d.s[i + j * d.ld], q = d.q[i + j * d.ld];
            float p = (float)((i == j) - q), a = 0;
            if (i != j) {
                double off = s - 0.5 * (lambda[i] + lambda[j]) * q;
                int done = off * off <= limit * fmax(lambda[i], lambda[j]);
                a = (float)off / (float)(lambda[j] - lambda[i]);
                if (done && !(fabsf(a) < 3e-5f))
                    a = 0;
                if (!done && !(fabsf(a) < 1e3f))
                    a = 1e3f;
                shift += (s - lambda[j] * q) * (0.5 * (double)p + (double)a);
                if (!done) {
                    all.largest = fmaxf(all.largest, fabsf(a));
                    all.square += a * a;
                }
            }
            all.square += p * p;
            d.e[i + j * d.ld] = 0.5f * p + a;
        }
        for (int offset = 16; offset; offset /= 2)
            shift += __shfl_xor_sync(~0u, shift, offset);
        if (lane == 0)
            d.lambda[j] = lambda[j] + shift;
    }
    return svd_reduce(d, all, reduce);
}

/* out, whose column place[j] is `ldo` * place[j] on (place NULL: j), := V + V E; V if not `refine`.
 */
__device__ inline void svd_apply_e(const struct svd_data &d, float *out, int ldo, const int *place,
                                   int refine)
{
    int down = svd_tiles_down(d.n), along = svd_tiles_along(d.n);
    for (int job = svd_warp(); job < down * along; job += svd_warps()) {
        int row = job / along * svd_tile_rows, column = job % along * svd_tile_columns;
        struct svd_tile tile = svd_product<1>(d.v, d.e, d.ld, row, column, 0, down * svd_tile_rows);
        svd_for_each(tile, row, column, d.n, [&](int i, int j, double x) {
            out[i + (place ? place[j] : j) * ldo] = (float)(d.v[i + j * d.ld] + (refine ? x : 0));
        });
    }
}

#endif
