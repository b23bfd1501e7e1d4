/* QR updating by windows: the transformations of all windows, formed at once. */
#include "gpu/qr_chase_column.cuh"

namespace
{

struct form_args {
    const float *v, *r;
    float *g;
    int64_t ldr, rows;
    int width, padded;
};

/* V, T (row-major), V T^T, and the first factor's rows and columns of fresh rows, all by columns;
 * the products V^T V are where the latter comes. */
struct form_shared {
    float v[chase_most * chase_rows], w[chase_most * chase_rows], first[chase_rows * chase_rows];
    float t[chase_most * ld_t];
    float4 reflectors[2][chase_rows / 4];
    float taus[2];
};

static_assert(sizeof(form_shared) <= chase_shared_bytes, "form's shared memory");

/* T of I - Y T Y^T, Y = [I; V] (Schreiber, Van Loan 1989): row by row, because a row of T follows
 * from itself. */
__device__ void make_t(form_shared *s, const float *tau, int width)
{
    float *products = s->first;
    const int lane = (int)threadIdx.x % 32;
    for (int e = (int)threadIdx.x; e < chase_most * chase_most; e += threads) {
        const int i = e / chase_most, j = e % chase_most;
        float a = 0, b = 0;
        if (i < j)
            for (int r = 0; r < chase_rows; r += 2) { /* every lane in its own bank */
                const int x = (r + lane) % chase_rows, y = (r + 1 + lane) % chase_rows;
                a += s->v[i * chase_rows + x] * s->v[j * chase_rows + x];
                b += s->v[i * chase_rows + y] * s->v[j * chase_rows + y];
            }
        products[i * chase_most + j] = a + b;
    }
    __syncthreads();
    const int row = (int)threadIdx.x;
    if (row < chase_most) {
        float *t = s->t + row * ld_t;
        for (int i = 0; i < chase_most; i++) {
            float sum = 0;
            for (int k = row; k < i; k++)
                sum += t[k] * products[k * chase_most + i];
            const float mine = i < width ? tau[i] : 0;
            t[i] = i < row ? 0 : i == row ? mine : -mine * sum;
        }
    }
    __syncthreads();
}

/* What a group of eight lanes has in the second factor: columns group, group + 64 of the diagonal
 * block of R after the first factor; of the first factor's fresh rows, columns group, group + 64 of
 * the fresh ones, and a carried one. */
enum { slots = 5 };

/* Makes the reflector of column i, in slot S of its group. */
__device__ __forceinline__ void make_second(form_shared *s, const float (&x)[own], int i, bool mine,
                                            int l)
{
    float squares = 0, alpha = 0;
#pragma unroll
    for (int r = 0; r < own; r++) {
        const int row = row_of(r, l);
        squares += row > i ? x[r] * x[r] : 0;
        alpha += row == i ? x[r] : 0;
    }
    squares = sum_lanes(squares);
    alpha = sum_lanes(alpha);
    const bool fits = squares_fit(squares, alpha);
    double exact = 0;
    if (!__all_sync(0xffffffffu, fits || !mine)) {
#pragma unroll
        for (int r = 0; r < own; r++)
            exact += row_of(r, l) > i ? (double)x[r] * x[r] : 0;
        exact = sum_lanes(exact);
    }
    if (!mine)
        return;
    const reflector h =
        fits ? make_reflector(squares, alpha) : make_reflector(exact, (double)alpha);
    float v[own];
    scale_by(v, x, h, fits);
#pragma unroll
    for (int r = 0; r < own; r++) {
        const int row = row_of(r, l);
        v[r] = row > i ? v[r] : row == i ? 1 : 0;
    }
    write_column(reinterpret_cast<float *>(s->reflectors[i & 1]), v, l);
    if (l == 0)
        s->taus[i & 1] = h.tau;
}

template <int FIRST>
__device__ __forceinline__ void reflect(float (&x)[own], const float (&v)[own], float tau)
{
    const float w = tau * dot<FIRST>(x, v);
#pragma unroll
    for (int i = 4 * FIRST; i < own; i++)
        x[i] -= w * v[i];
}

/* Columns 32 PHASE .. + 31: rows above 32 PHASE are done. */
template <int PHASE>
__device__ __forceinline__ void second_phase(form_shared *s, float (&x)[slots][own], int padded,
                                             int group, int l)
{
    constexpr int slot = PHASE / 2;
#pragma unroll 1
    for (int i = 32 * PHASE; i < 32 * PHASE + 32; i++) {
        const int column = i - 64 * slot;
        if (column == 0 && group / 4 == 0)
            make_second(s, x[slot], i, group == 0, l);
        __syncthreads();
        const float *reflector = reinterpret_cast<const float *>(s->reflectors[i & 1]);
        const float tau = s->taus[i & 1];
        float v[own];
        if (group / 4 >=
            (column + 1) / 4) { /* columns that are done may change: nobody reads them */
            read_column<PHASE>(v, reflector, l);
            reflect<PHASE>(x[slot], v, tau);
            if (group / 4 == (column + 1) / 4)
                make_second(s, x[slot], i + 1, group == column + 1, l);
        }
        read_column<PHASE>(v, reflector, l); /* again: there are not registers to keep it */
        if (slot == 0)
            reflect<PHASE>(x[1], v, tau);
        reflect<PHASE>(x[2], v, tau);
        reflect<PHASE>(x[3], v, tau);
        if (group < padded)
            reflect<PHASE>(x[4], v, tau);
    }
}

/* Block: a window. */
__global__ void __launch_bounds__(threads, 1) form(const __grid_constant__ form_args p)
{
    extern __shared__ float4 shared[];
    form_shared *s = reinterpret_cast<form_shared *>(shared);
    const int group = (int)threadIdx.x / lanes, l = (int)threadIdx.x % lanes;
    const int size = chase_rows + p.padded;
    const int64_t first = (int64_t)blockIdx.x * chase_rows;
    const int there = (int)(p.rows - first < chase_rows ? p.rows - first : chase_rows);
    const float *from = p.v + blockIdx.x * (int64_t)chase_v_floats;
    float *g = p.g + blockIdx.x * (int64_t)size * size;
    for (int e = (int)threadIdx.x; e < chase_most * chase_rows; e += threads)
        s->v[e] = e / chase_rows < p.width ? from[e] : 0;
    __syncthreads();
    make_t(s, from + chase_most * chase_rows, p.width);
    float x[slots][own], y[own] = {}, v[own];
    /* Column `group` of V T^T; of V T, which goes to G as it is. */
#pragma unroll
    for (int i = 0; i < own; i++)
        x[4][i] = 0;
    for (int k = 0; k < chase_most; k++) {
        const float right = s->t[group * ld_t + k], left = s->t[k * ld_t + group];
        read_column<0>(v, s->v + k * chase_rows, l);
#pragma unroll
        for (int i = 0; i < own; i++) {
            x[4][i] -= v[i] * right;
            y[i] -= v[i] * left;
        }
    }
    write_column(s->w + group * chase_rows, x[4], l); /* - V T^T */
    if (group < p.padded) {
#pragma unroll
        for (int i = 0; i < own; i++)
            g[(int64_t)row_of(i, l) * size + chase_rows + group] = y[i];
        for (int i = l; i < p.padded; i += lanes)
            g[(int64_t)(chase_rows + i) * size + chase_rows + group] =
                (i == group) - s->t[i * ld_t + group];
    }
    __syncthreads();
    /* I - V T^T V^T. */
#pragma unroll
    for (int slot = 2; slot < 4; slot++) {
        const int column = group + 64 * (slot - 2);
#pragma unroll
        for (int i = 0; i < own; i++)
            x[slot][i] = row_of(i, l) == column;
        for (int k = 0; k < p.padded; k++) {
            const float with = s->v[k * chase_rows + column];
            read_column<0>(v, s->w + k * chase_rows, l);
#pragma unroll
            for (int i = 0; i < own; i++)
                x[slot][i] += v[i] * with;
        }
        write_column(s->first + column * chase_rows, x[slot], l);
    }
    __syncthreads();
    /* That times the diagonal block of R; an identity where there is none. */
#pragma unroll
    for (int slot = 0; slot < 2; slot++) {
        const int column = group + 64 * slot, end = 4 * (group / 4) + 64 * slot + 4;
        const float *r = p.r + first + (first + (column < there ? column : 0)) * p.ldr;
#pragma unroll
        for (int i = 0; i < own; i++)
            x[slot][i] = 0;
#pragma unroll 4
        for (int k = 0; k < end; k++) {
            const float with = column >= there ? k == column : k <= column ? r[k] : 0;
            read_column<0>(v, s->first + k * chase_rows, l);
#pragma unroll
            for (int i = 0; i < own; i++)
                x[slot][i] += v[i] * with;
        }
    }
    second_phase<0>(s, x, p.padded, group, l);
    second_phase<1>(s, x, p.padded, group, l);
    second_phase<2>(s, x, p.padded, group, l);
    second_phase<3>(s, x, p.padded, group, l);
    write_column(g + (int64_t)group * size, x[2], l);
    write_column(g + (int64_t)(group + 64) * size, x[3], l);
    if (group < p.padded)
        write_column(g + (int64_t)(chase_rows + group) * size, x[4], l);
}

} // namespace

enum bd_status chase_factor_prepare(void)
{
    return bd_cuda_check(cudaFuncSetAttribute(form, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              (int)sizeof(form_shared)),
                         "preparing QR updating");
}

enum bd_status chase_form(cudaStream_t stream, const struct chase *x, const float *r, int64_t ldr)
{
    const form_args args = { x->v, r, x->g, ldr, x->rows, x->width, chase_padded(x) };
    if (x->rows > 0)
        form<<<(unsigned)chase_windows(x), threads, sizeof(form_shared), stream>>>(args);
    return bd_cuda_launched("QR update: the transformations of windows");
}
