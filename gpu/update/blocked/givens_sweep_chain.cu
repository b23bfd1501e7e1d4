/* A blocked Givens sweep: the chain of overlap triangles, one window after another. */
#include "gpu/update/blocked/givens_sweep_column.cuh"

namespace
{

struct chain_args {
    const float *d, *overlap;
    int64_t ldd, rows;
    int width;
    float *v, *triangle;
};

/* Loads the fresh rows of a window of the group's column. */
__device__ __forceinline__ void load_fresh(column &c, const chain_args &p, int64_t window,
                                           int group, int l)
{
    const int64_t first = window * givens_rows, left = p.rows - first;
    const float *from = p.d + first + group * p.ldd;
#pragma unroll
    for (int i = 0; i < own; i++)
        c.x[i] = window >= 0 && group < p.width && row_of(i, l) < left ? from[row_of(i, l)] : 0;
}

/* Makes the reflector of the group's column x and the diagonal element of the triangle; x := v. */
__device__ __forceinline__ void make_first(float (&x)[own], float *v, float *diagonal, float *tau,
                                           float *kept_tau, int l)
{
    const float alpha = *diagonal;
    float squares[2] = { 0, 0 };
#pragma unroll
    for (int r = 0; r < own; r++)
        squares[r % 2] += x[r] * x[r];
    const float all = sum_lanes(squares[0] + squares[1], group_lanes());
    reflector h;
    if (squares_fit(all, alpha)) {
        h = make_reflector(all, alpha);
#pragma unroll
        for (int r = 0; r < own; r++)
            x[r] *= h.scale;
    } else {
        float most = fabsf(alpha), squares = 0;
#pragma unroll
        for (int r = 0; r < own; r++)
            most = fmaxf(most, fabsf(x[r]));
        const safe_scale scale(most_of_lanes(most, group_lanes()));
#pragma unroll
        for (int r = 0; r < own; r++) {
            x[r] *= scale.there;
            squares += x[r] * x[r];
        }
        h = make_reflector(sum_lanes(squares, group_lanes()), alpha * scale.there);
        h.beta *= scale.back;
#pragma unroll
        for (int r = 0; r < own; r++)
            x[r] *= h.scale;
    }
    write_column(v, x, l);
    __syncwarp(group_lanes()); /* all lanes have read the diagonal element */
    if (l == 0) {
        *diagonal = h.beta;
        *tau = h.tau;
        *kept_tau = h.tau;
    }
}

/* One block. Eight lanes hold a column of the spike, the fresh rows of a window of it; the overlap
 * triangle is in shared memory. Every step is one reflector. The lanes of the next column make the
 * next reflector while the others still apply this one: there are two reflectors in shared memory,
 * and one barrier a step. */
__global__ void __launch_bounds__(threads, 1) chain(const __grid_constant__ chain_args p)
{
    __shared__ float triangle[givens_most * ld_t]; /* row-major */
    __shared__ float4 reflectors[2][givens_rows / 4];
    __shared__ float taus[2];
    const int group = (int)threadIdx.x / lanes, l = (int)threadIdx.x % lanes;
    const int64_t windows = (p.rows + givens_rows - 1) / givens_rows;
    for (int i = 0; i < givens_most; i++)
        if (l == i % lanes)
            triangle[i * ld_t + group] =
                i <= group && group < p.width ? p.overlap[i + group * p.ldd] : 0;
    column c, next;
    load_fresh(next, p, windows - 1, group, l);
    __syncthreads();
#pragma unroll 1
    for (int64_t window = windows - 1; window >= 0; window--) {
        float *out = p.v + window * givens_v_floats;
        c = next;
        load_fresh(next, p, window - 1, group, l);
#pragma unroll 1
        for (int i = 0; i < p.width; i++) {
            float *shared = reinterpret_cast<float *>(reflectors[i & 1]);
            if (group == i)
                make_first(c.x, shared, triangle + i * ld_t + i, taus + (i & 1),
                           out + givens_rows * givens_most + i, l);
            __syncthreads();
            if (group / 4 < i / 4) /* a warp whose columns are done */
                continue;
            float v[own];
            read_column<0>(v, shared, l);
            const float tau = taus[i & 1];
            const float above = triangle[i * ld_t + group];
            const float w = tau * (above + dot<0>(c.x, v));
            __syncwarp(); /* all lanes have read `above` */
            if (group <= i)
                continue;
#pragma unroll
            for (int r = 0; r < own; r++)
                c.x[r] -= w * v[r];
            if (l == 0)
                triangle[i * ld_t + group] = above - w;
        }
        if (group < p.width)
            write_column(out + group * givens_rows, c.x, l);
        __syncthreads();
    }
    for (int i = l; i < givens_most; i += lanes)
        p.triangle[group * givens_most + i] = triangle[i * ld_t + group];
}

} // namespace

enum bd_status givens_chain(cudaStream_t stream, const struct givens_sweep *x, const float *d,
                            int64_t ldd, const float *overlap)
{
    const chain_args args = { d, overlap, ldd, x->rows, x->width, x->v, x->triangle };
    chain<<<1, threads, 0, stream>>>(args);
    return bd_cuda_launched("QR update: the chain of triangles");
}
