/* V := V T (gram_qr_plan.h) of up to gram_narrow_most columns: a thread a row, which is in
 * registers with all its sums, so that V is read and written once. The code is made for every
 * fourth (from 24 on every eighth) number of columns N; what is between has columns of 0.
 * (Yamazaki, Tomov, Dongarra, section 4, which has code for each N.) */
#include "gpu/gram.cuh"
#include "gpu/triangular.h"

enum {
    threads = 128,
    warps = threads / 32,
    stage_stride = 34 /* doubles between staged columns: fragments without bank conflicts */
};

/* Thread blocks of a multiprocessor, for the registers that a thread may have. */
static __host__ __device__ constexpr int blocks_of(int n, bool form)
{
    return form ? (n <= 8    ? 4
                   : n <= 20 ? 3
                             : 2)
                : (n <= 8    ? 8
                   : n <= 12 ? 5
                   : n <= 20 ? 4
                   : n <= 24 ? 3
                             : 2);
}

/* Groups of 8 columns of the Gram matrix (gram_narrow.cuh). */
static __host__ __device__ constexpr int groups_of(int n)
{
    return n <= 24 ? 3 : 4;
}

/* Four elements of a column of T at once. */
static __device__ __forceinline__ void load_t(double t[4], const double *from)
{
    const double2 low = *reinterpret_cast<const double2 *>(from),
                  high = *reinterpret_cast<const double2 *>(from + 2);
    t[0] = low.x, t[1] = low.y, t[2] = high.x, t[3] = high.y;
}

static __device__ __forceinline__ void load_t(float t[4], const float *from)
{
    const float4 x = *reinterpret_cast<const float4 *>(from);
    t[0] = x.x, t[1] = x.y, t[2] = x.z, t[3] = x.w;
}

/* Row `q` of Q of row w of V. Where a block of columns begins, what is before it is multiplied as
 * columns of Q from then on. t: column j of T at j N. */
template <int N, class Real>
static __device__ __forceinline__ void product(Real q[N], Real w[N], const Real *t, uint64_t starts)
{
#pragma unroll
    for (int j = 0; j < N; j++) {
        Real sum[2] = {};
        asm volatile("" : : : "memory"); /* T is not to be kept in registers from row to row */
        if (starts >> j & 1)
#pragma unroll
            for (int k = 0; k < j; k++)
                w[k] = q[k];
#pragma unroll
        for (int k = 0; k <= j; k += 4) {
            Real x[4];
            load_t(x, t + j * N + k);
#pragma unroll
            for (int s = 0; s < 4; s++)
                if (k + s <= j)
                    sum[s % 2] = fma(x[s], w[k + s], sum[s % 2]);
        }
        q[j] = sum[0] + sum[1];
    }
}

/* Scaled rows from `x`, their products back to it, in Real. */
template <int N, class Real, class Element>
static __device__ __forceinline__ void row(Element x[N], const double *scale, const Real *t,
                                           uint64_t starts)
{
    Real w[N], q[N];
#pragma unroll
    for (int j = 0; j < N; j++)
        w[j] = (Real)((double)x[j] * scale[j]);
    product<N, Real>(q, w, t, starts);
#pragma unroll
    for (int j = 0; j < N; j++)
        x[j] = (Element)q[j];
}

/* sum += the products of the 32 staged rows of a warp. */
template <int GROUPS>
static __device__ __forceinline__ void form(double sum[][4], const double *stage)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        double x[4][4] = {};
#pragma unroll
        for (int group = 0; group < GROUPS; group++) {
            const double2 *from = reinterpret_cast<const double2 *>(
                stage + (8 * group + lane / 4) * stage_stride + 16 * half + 4 * (lane % 4));
            const double2 low = from[0], high = from[1];
            x[group][0] = low.x, x[group][1] = low.y, x[group][2] = high.x, x[group][3] = high.y;
        }
        bd_gram_narrow_multiply<GROUPS>(sum, x);
    }
}

/* What a sweep does beside the product: with `part` the sums of G of the new V, blocks x tiles x
 * 128; overflow (may be NULL) becomes 1 where an element is not finite. Rows are taken from the
 * last to the first (down) or from the first, so that those which the sweep before touched last,
 * which may still be in the cache, come first. copy (m x n, tight, may be NULL): where Q of a
 * float32 product goes if it will be read again, and where it is then read from: it has no more
 * digits. */
struct sweep {
    float *copy;
    double *part;
    int *overflow;
    int64_t m;
    int down;
};

template <int N, class Element, bool MIXED, bool FORM>
__global__ __launch_bounds__(threads, blocks_of(N, FORM)) void narrow(
    const __grid_constant__ struct gram_data d, Element *v, int64_t ldv,
    const __grid_constant__ struct sweep s)
{
    constexpr int GROUPS = groups_of(N), TILES = FORM ? bd_gram_narrow_slots<GROUPS>::tiles : 1;
    constexpr int STAGE = FORM ? warps * 8 * GROUPS * stage_stride : 2;
    __shared__ __align__(16) double t[N * N], stages[STAGE];
    __shared__ double scale[N];
    const int n = d.n, lane = threadIdx.x % 32;
    double *stage = stages + (FORM ? threadIdx.x / 32 * 8 * GROUPS * stage_stride : 0);
    bd_cuda_await();
    const bool identity = d.decision->identity, single = MIXED && d.decision->single;
    const bool from_copy = MIXED && d.decision->in_copy;
    const bool to_copy = MIXED && FORM && s.copy && (identity ? from_copy : single);
    if (identity && !FORM && !from_copy)
        return;
    const uint64_t starts = d.decision->starts[0] | (uint64_t)d.decision->starts[1] << 32;
    for (int e = threadIdx.x; e < N * N; e += threads) {
        const int j = e / N, k = e % N;
        const double x = k <= j && j < n ? d.t[j * n + k] : 0.0;
        if (single)
            reinterpret_cast<float *>(t)[e] = (float)x;
        else
            t[e] = x;
        if (k == 0)
            scale[j] = j < n ? d.inverse[j] : 0.0;
    }
    for (int e = threadIdx.x; FORM && e < STAGE; e += threads)
        stages[e] = 0; /* columns from N on stay so */
    __syncthreads();
    double sum[TILES][4] = {};
    int bad = 0;
    const int64_t tiles = (s.m + threads - 1) / threads;
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int64_t i = (s.down ? tiles - 1 - tile : tile) * threads + threadIdx.x;
        const bool in = i < s.m;
        Element x[N];
        if (from_copy)
#pragma unroll
            for (int j = 0; j < N; j++)
                x[j] = in && (j + 8 < N || j < n) ? (Element)s.copy[i + j * s.m] : (Element)0;
        else
#pragma unroll
            for (int j = 0; j < N; j++)
                x[j] = in && (j + 8 < N || j < n) ? v[i + j * ldv] : (Element)0;
        if (identity)
            ; /* only to be moved, or looked at */
        else if (single)
            row<N, float>(x, scale, reinterpret_cast<const float *>(t), starts);
        else
            row<N, double>(x, scale, t, starts);
        if (to_copy) {
#pragma unroll
            for (int j = 0; j < N; j++)
                if (in && (j + 8 < N || j < n))
                    s.copy[i + j * s.m] = (float)x[j];
        } else if (!identity || from_copy) {
#pragma unroll
            for (int j = 0; j < N; j++) {
                if (in && (j + 8 < N || j < n))
                    v[i + j * ldv] = x[j];
                bad |= !isfinite(x[j]);
            }
        }
        if (FORM) {
            __syncwarp();
#pragma unroll
            for (int j = 0; j < N; j++)
                stage[j * stage_stride + lane] = (double)x[j];
            __syncwarp();
            form<GROUPS>(sum, stage);
        }
    }
    bd_cuda_let_follow();
    if (FORM) {
        __syncthreads();
        bd_gram_narrow_join<warps, TILES>(s.part, sum,
                                          reinterpret_cast<double2(*)[TILES * 2][32]>(stages));
    } else if (s.overflow && bad) {
        *s.overflow = 1;
    }
}

/* Thread blocks of a sweep. */
static int grid_of(const struct bd_cuda *cuda, int64_t m, int n, bool form)
{
    const int64_t tiles = (m + threads - 1) / threads, most = blocks_of(n, form) * cuda->sms;
    return (int)(tiles < most ? tiles : most);
}

template <int N, class Element, bool MIXED, bool FORM>
static void launch(const struct gram_plan *plan, Element *v, int64_t ldv, const struct sweep &s)
{
    struct bd_cuda *cuda = plan->cuda;
    const int n = plan->data.n, blocks = grid_of(cuda, s.m, N, FORM);
    cudaLaunchAttribute early = {};
    cudaLaunchConfig_t launch = {};
    launch.gridDim = dim3((unsigned)blocks);
    launch.blockDim = dim3(threads);
    launch.stream = cuda->stream;
    launch.attrs = &early;
    bd_cuda_overlap(cuda, &launch);
    cudaLaunchKernelEx(&launch, narrow<N, Element, MIXED, FORM>, plan->data, v, ldv, s);
    if (FORM)
        bd_gram_add_up<bd_gram_narrow_slots<groups_of(N)>>(cuda, plan->data.g, s.part, n, blocks, 1,
                                                           NULL);
}

template <class Element, bool MIXED, bool FORM>
static void choose(const struct gram_plan *plan, Element *v, int64_t ldv, const struct sweep &s)
{
    const int n = plan->data.n;
    if (n <= 4)
        launch<4, Element, MIXED, FORM>(plan, v, ldv, s);
    else if (n <= 8)
        launch<8, Element, MIXED, FORM>(plan, v, ldv, s);
    else if (n <= 12)
        launch<12, Element, MIXED, FORM>(plan, v, ldv, s);
    else if (n <= 16)
        launch<16, Element, MIXED, FORM>(plan, v, ldv, s);
    else if (n <= 20)
        launch<20, Element, MIXED, FORM>(plan, v, ldv, s);
    else if (n <= 24)
        launch<24, Element, MIXED, FORM>(plan, v, ldv, s);
    else
        launch<32, Element, MIXED, FORM>(plan, v, ldv, s);
}

extern "C" {

size_t bd_cuda_triangular_form_workspace(const struct bd_cuda *cuda, int64_t m, int n)
{
    const int rounded = n <= 24 ? (n + 3) / 4 * 4 : 32;
    if (n > gram_narrow_most)
        return 0;
    return (size_t)grid_of(cuda, m, rounded, true) * (n <= 24 ? 4 : 6) * 128 * sizeof(double);
}

enum bd_status bd_cuda_triangular_narrow(const struct gram_plan *plan, void *v, int64_t ldv,
                                         int mixed, int form, int *overflow)
{
    const struct sweep s = { plan->copy, static_cast<double *>(plan->parts), overflow, plan->m,
                             plan->down };
    if (plan->type == BD_F32 && form)
        choose<float, false, true>(plan, static_cast<float *>(v), ldv, s);
    else if (plan->type == BD_F32)
        choose<float, false, false>(plan, static_cast<float *>(v), ldv, s);
    else if (mixed && form)
        choose<double, true, true>(plan, static_cast<double *>(v), ldv, s);
    else if (mixed)
        choose<double, true, false>(plan, static_cast<double *>(v), ldv, s);
    else if (form)
        choose<double, false, true>(plan, static_cast<double *>(v), ldv, s);
    else
        choose<double, false, false>(plan, static_cast<double *>(v), ldv, s);
    return bd_cuda_launched("the product with a triangle");
}

} /* extern "C" */
