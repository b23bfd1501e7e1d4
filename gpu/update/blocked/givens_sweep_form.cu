/* A blocked Givens sweep: the transformations G of all windows, formed at once. */
#include "gpu/update/blocked/givens_sweep_column.cuh"

namespace
{

struct form_args {
    const float *v, *r;
    float *g;
    int64_t ldr, rows;
    int width, padded;
};

/* V, T (row-major), V T^T, and the fresh rows and columns of the first factor, all by columns. The
 * products V^T V share the memory of the latter. */
struct form_shared {
    float v[givens_most * givens_rows], w[givens_most * givens_rows],
        first[givens_rows * givens_rows];
    float t[givens_most * ld_t];
    float4 reflectors[2][givens_rows / 4];
    float taus[2];
};

static_assert(sizeof(form_shared) <= givens_shared_bytes, "form's shared memory");

/* T of I - Y T Y^T, Y = [I; V] (Schreiber, Van Loan 1989): row by row, because a row of T follows
 * from itself. */
__device__ void make_t(form_shared *s, const float *tau, int width)
{
    float *products = s->first;
    const int lane = (int)threadIdx.x % 32;
    for (int e = (int)threadIdx.x; e < givens_most * givens_most; e += threads) {
        const int i = e / givens_most, j = e % givens_most;
        float a = 0, b = 0;
        if (i < j)
            for (int r = 0; r < givens_rows; r += 2) { /* every lane in its own bank */
                const int x = (r + lane) % givens_rows, y = (r + 1 + lane) % givens_rows;
                a += s->v[i * givens_rows + x] * s->v[j * givens_rows + x];
                b += s->v[i * givens_rows + y] * s->v[j * givens_rows + y];
            }
        products[i * givens_most + j] = a + b;
    }
    __syncthreads();
    const int row = (int)threadIdx.x;
    if (row < givens_most) {
        float *t = s->t + row * ld_t;
        for (int i = 0; i < givens_most; i++) {
            float sum = 0;
            for (int k = row; k < i; k++)
                sum += t[k] * products[k * givens_most + i];
            const float mine = i < width ? tau[i] : 0;
            t[i] = i < row ? 0 : i == row ? mine : -mine * sum;
        }
    }
    __syncthreads();
}

/* The columns of a group of eight lanes in the second factor: columns group and group + 64 of the
 * diagonal block of R after the first factor; of the fresh rows of the first factor, fresh columns
 * group and group + 64, and column `group` of the overlap. */
enum { slots = 5 };

/* Makes the reflector of column i of the diagonal block, which is the calling group's. Rows above
 * 32 FIRST are final. */
template <int FIRST>
__device__ __forceinline__ void make_second(form_shared *s, const float (&x)[own], int i, int l)
{
    float *to = reinterpret_cast<float *>(s->reflectors[i & 1]);
    float squares[2] = { 0, 0 }, alpha = 0;
#pragma unroll
    for (int r = 4 * FIRST; r < own; r++) {
        const int row = row_of(r, l);
        squares[r % 2] += row > i ? x[r] * x[r] : 0;
        alpha = row == i ? x[r] : alpha;
    }
    float all = sum_lanes(squares[0] + squares[1], group_lanes());
    alpha = __shfl_sync(group_lanes(), alpha, (int)threadIdx.x % 32 / lanes * lanes + i % 32 / 4);
    float there = 1;
    if (!squares_fit(all, alpha)) {
        float most = fabsf(alpha), sum = 0;
#pragma unroll
        for (int r = 4 * FIRST; r < own; r++)
            most = row_of(r, l) > i ? fmaxf(most, fabsf(x[r])) : most;
        there = safe_scale(most_of_lanes(most, group_lanes())).there;
#pragma unroll
        for (int r = 4 * FIRST; r < own; r++)
            sum += row_of(r, l) > i ? x[r] * there * (x[r] * there) : 0;
        all = sum_lanes(sum, group_lanes());
    }
    const reflector h = make_reflector(all, alpha * there);
#pragma unroll
    for (int q = FIRST; q < quads; q++) {
        float v[4];
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int row = row_of(4 * q + e, l);
            v[e] = row > i ? x[4 * q + e] * there * h.scale : row == i ? 1 : 0;
        }
        *reinterpret_cast<float4 *>(to + 32 * q + 4 * l) = make_float4(v[0], v[1], v[2], v[3]);
    }
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

/* Columns 32 PHASE .. 32 PHASE + 31: rows above 32 PHASE are final. */
template <int PHASE>
__device__ __forceinline__ void second_phase(form_shared *s, float (&x)[slots][own], int padded,
                                             int group, int l)
{
    constexpr int slot = PHASE / 2;
#pragma unroll 1
    for (int i = 32 * PHASE; i < 32 * PHASE + 32; i++) {
        const int column = i - 64 * slot;
        if (column == 0 && group == 0)
            make_second<PHASE>(s, x[slot], i, l);
        __syncthreads();
        const float *reflector = reinterpret_cast<const float *>(s->reflectors[i & 1]);
        const float tau = s->taus[i & 1];
        float v[own];
        if (group / 4 >=
            (column + 1) / 4) { /* columns that are final may change: they are not read again */
            read_column<PHASE>(v, reflector, l);
            reflect<PHASE>(x[slot], v, tau);
            if (group == column + 1)
                make_second<PHASE>(s, x[slot], i + 1, l);
        }
        read_column<PHASE>(v, reflector, l); /* again: there are too few registers to keep it */
        if (slot == 0)
            reflect<PHASE>(x[1], v, tau);
        reflect<PHASE>(x[2], v, tau);
        reflect<PHASE>(x[3], v, tau);
        if (group < padded)
            reflect<PHASE>(x[4], v, tau);
    }
}

/* The first factor I - Y T^T Y^T. Its rows of the overlap are final rows of G. Its fresh rows go to
 * shared memory: - V T^T in columns of the overlap, and I - V T^T V^T in fresh columns. */
__device__ __forceinline__ void form_first(form_shared *s, float *g, const form_args &p, int group,
                                           int l)
{
    const int size = givens_rows + p.padded;
    float x[own] = {}, y[own] = {}, v[own];
    for (int k = 0; k < givens_most; k++) {
        const float right = s->t[group * ld_t + k], left = s->t[k * ld_t + group];
        read_column<0>(v, s->v + k * givens_rows, l);
#pragma unroll
        for (int i = 0; i < own; i++) {
            x[i] -= v[i] * right;
            y[i] -= v[i] * left;
        }
    }
    write_column(s->w + group * givens_rows, x, l);
    if (group < p.padded) { /* - V T, I - T */
#pragma unroll
        for (int i = 0; i < own; i++)
            g[(int64_t)row_of(i, l) * size + givens_rows + group] = y[i];
        for (int i = l; i < p.padded; i += lanes)
            g[(int64_t)(givens_rows + i) * size + givens_rows + group] =
                (i == group) - s->t[i * ld_t + group];
    }
    __syncthreads();
    const int columns[2] = { group, group + 64 };
#pragma unroll
    for (int i = 0; i < own; i++) {
        x[i] = row_of(i, l) == columns[0];
        y[i] = row_of(i, l) == columns[1];
    }
    for (int k = 0; k < p.padded; k++) {
        const float with = s->v[k * givens_rows + columns[0]];
        const float with_other = s->v[k * givens_rows + columns[1]];
        read_column<0>(v, s->w + k * givens_rows, l);
#pragma unroll
        for (int i = 0; i < own; i++) {
            x[i] += v[i] * with;
            y[i] += v[i] * with_other;
        }
    }
    write_column(s->first + columns[0] * givens_rows, x, l);
    write_column(s->first + columns[1] * givens_rows, y, l);
    __syncthreads();
}

/* x := the first factor's fresh rows times column group + 64 SLOT of the diagonal block of R, or of
 * an identity beyond it. The lanes of the group have that column, and exchange its elements. */
template <int SLOT>
__device__ __forceinline__ void times_diagonal(float (&x)[own], const form_shared *s,
                                               const form_args &p, int64_t first, int there,
                                               int group, int l)
{
    const int column = group + 64 * SLOT, base = (int)threadIdx.x % 32 / lanes * lanes;
    const float *r = p.r + first + (first + (column < there ? column : 0)) * p.ldr;
    float y[own], v[own];
#pragma unroll
    for (int i = 0; i < own; i++) {
        const int row = row_of(i, l);
        x[i] = 0;
        y[i] = column >= there ? row == column : row <= column ? r[row] : 0;
    }
#pragma unroll
    for (int i = 0; i < (SLOT == 0 ? own / 2 : own); i++) /* rows below the diagonal are 0 */
#pragma unroll 2
        for (int k = 0; k < lanes; k++) {
            const float with = __shfl_sync(~0U, y[i], base + k);
            read_column<0>(v, s->first + row_of(i, k) * givens_rows, l);
#pragma unroll
            for (int j = 0; j < own; j++)
                x[j] += v[j] * with;
        }
}

/* Block: a window. */
__global__ void __launch_bounds__(threads, 1) form(const __grid_constant__ form_args p)
{
    extern __shared__ float4 shared[];
    form_shared *s = reinterpret_cast<form_shared *>(shared);
    const int group = (int)threadIdx.x / lanes, l = (int)threadIdx.x % lanes;
    const int size = givens_rows + p.padded;
    const int64_t first = (int64_t)blockIdx.x * givens_rows;
    const int there = (int)(p.rows - first < givens_rows ? p.rows - first : givens_rows);
    const float *from = p.v + blockIdx.x * (int64_t)givens_v_floats;
    float *g = p.g + blockIdx.x * (int64_t)size * size;
    for (int e = (int)threadIdx.x; e < givens_most * givens_rows; e += threads)
        s->v[e] = e / givens_rows < p.width ? from[e] : 0;
    __syncthreads();
    make_t(s, from + givens_most * givens_rows, p.width);
    form_first(s, g, p, group, l);
    float x[slots][own];
    times_diagonal<0>(x[0], s, p, first, there, group, l);
    times_diagonal<1>(x[1], s, p, first, there, group, l);
    read_column<0>(x[2], s->first + group * givens_rows, l);
    read_column<0>(x[3], s->first + (group + 64) * givens_rows, l);
    read_column<0>(x[4], s->w + group * givens_rows, l);
    second_phase<0>(s, x, p.padded, group, l);
    second_phase<1>(s, x, p.padded, group, l);
    second_phase<2>(s, x, p.padded, group, l);
    second_phase<3>(s, x, p.padded, group, l);
    write_column(g + (int64_t)group * size, x[2], l);
    write_column(g + (int64_t)(group + 64) * size, x[3], l);
    if (group < p.padded)
        write_column(g + (int64_t)(givens_rows + group) * size, x[4], l);
}

} // namespace

enum bd_status givens_factor_prepare(const struct bd_cuda *cuda)
{
    return bd_cuda_allow_shared(cuda, (const void *)form, "preparing QR updating");
}

enum bd_status givens_form(cudaStream_t stream, const struct givens_sweep *x, const float *r,
                           int64_t ldr)
{
    const form_args args = { x->v, r, x->g, ldr, x->rows, x->width, givens_padded(x) };
    if (x->rows > 0)
        form<<<(unsigned)givens_windows(x), threads, sizeof(form_shared), stream>>>(args);
    return bd_cuda_launched("QR update: the transformations of windows");
}
