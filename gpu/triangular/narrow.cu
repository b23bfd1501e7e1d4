/* V := V T (gpu/gram_qr/plan.h) of up to gram_narrow_most columns: a thread computes a row
 * (rows.cuh), so that V is read and written once. */
#include "gpu/core/gram.cuh"
#include "gpu/triangular/rows.cuh"
#include "gpu/triangular/triangular.h"

enum { threads = 128, warps = threads / 32 };

/* Thread blocks of a multiprocessor; it limits the registers of a thread. */
static __host__ __device__ constexpr int blocks_of(int n, bool form)
{
    return form ? (n <= 8 ? 4 : n <= 24 ? 3 : 2) : (n <= 8 ? 8 : n <= 12 ? 5 : n <= 20 ? 4 : 3);
}

/* What a sweep over V does beside the product. part: where the sums of G of the new V go, blocks
 * x tiles x 128, or NULL. overflow (may be NULL) becomes 1 where an element is not finite. down:
 * rows are taken from the last to the first, so that the rows that the sweep before took last,
 * which may still be in the cache, come first. copy (m x n, tight, may be NULL): a Q of a
 * float32 product that will be read again is written there, and read from there, because it has
 * no more digits. */
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
    constexpr int GROUPS = bd_rows_groups(N), TILES = bd_gram_narrow_slots<GROUPS>::tiles;
    /* bd_gram_narrow_join needs half of the warps' sums here, too */
    constexpr int JOINED = warps / 2 * TILES * 128, STAGED = warps * bd_rows_stage(N);
    constexpr int STAGE = !FORM ? 2 : JOINED > STAGED ? JOINED : STAGED;
    __shared__ __align__(16) double t[N * N], stages[STAGE];
    __shared__ double scale[N];
    const int n = d.n;
    double *stage = stages + (FORM ? threadIdx.x / 32 * bd_rows_stage(N) : 0);
    bd_cuda_await();
    const bool identity = d.decision->identity, single = MIXED && d.decision->single;
    const bool from_copy = MIXED && d.decision->in_copy;
    const bool to_copy = MIXED && FORM && s.copy && (identity ? from_copy : single);
    if (identity && !FORM && !from_copy)
        return;
    const unsigned starts = d.decision->starts[0];
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
            ; /* V is only moved, or used to form G */
        else if (single)
            bd_rows_solve<N, float>(x, scale, reinterpret_cast<const float *>(t), starts);
        else
            bd_rows_solve<N, double>(x, scale, t, starts);
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
        if (FORM)
            bd_rows_form<N>(sum, stage, x);
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
    bd_cuda_follow(cuda, narrow<N, Element, MIXED, FORM>, dim3((unsigned)blocks), dim3(threads), 0,
                   plan->data, v, ldv, s);
    if (FORM)
        bd_gram_add_up<bd_gram_narrow_slots<bd_rows_groups(N)>>(cuda, plan->data.g, s.part, n,
                                                                blocks, 1, NULL);
}

template <class Element, bool MIXED, bool FORM>
static void choose(const struct gram_plan *plan, Element *v, int64_t ldv, const struct sweep &s)
{
#define LAUNCH(N) launch<N, Element, MIXED, FORM>(plan, v, ldv, s)
    BD_ROWS_CHOOSE(plan->data.n, LAUNCH);
#undef LAUNCH
}

size_t bd_cuda_triangular_form_workspace(const struct bd_cuda *cuda, int64_t m, int n)
{
    const int rounded = bd_rows_columns(n);
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
