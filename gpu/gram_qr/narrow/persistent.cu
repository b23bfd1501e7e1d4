/* The first passes of QR by the Gram matrix (gram_begin of the table) of up to gram_narrow_most
 * columns in one launch of a persistent kernel. Its thread blocks wait for each other, and each
 * keeps as many of its rows as shared memory has room for. Other rows are read from V again in each
 * sweep and multiplied again by all T so far. V is written once, in the end, when it is known how
 * often it is to be multiplied. Two passes move 32 bytes of an element of float64 so, 16 where all
 * rows are kept; the plain way, a kernel for each step (gram_qr.cu), moves 40.
 *
 * A sweep forms G: block g adds up the sums of the g-th twelve blocks, block 0 adds up those,
 * makes R and T and sends the others a command (words.cuh). A word is written again only after
 * all blocks have read it, because they have then sent what depends on it. */
#include "gpu/gram_qr/narrow/persistent_lead.cuh"
#include "gpu/gram_qr/plan.h"

/* Receives the command of pass number `number`, and puts T and the scale of one more product
 * into shared memory. One thread polls for the command: many threads that poll the same words
 * would delay the block that writes them. */
template <int N>
static __device__ __forceinline__ unsigned long long listen(const struct persistent_step &s,
                                                            double *t, double *scale, int number)
{
    struct persistent_control &c = control_of_block();
    const int n = s.data.n, triangle = triangle_of(n);
    const struct persistent_word *words = s.words + command_at(gridDim.x, n);
    __syncthreads();
    for (int e = threadIdx.x; e < N * N; e += threads)
        t[e] = 0;
    for (int j = threadIdx.x; j < N; j += threads)
        scale[j] = 0;
    unsigned long long bits[1];
    if (threadIdx.x == 0) {
        receive<1>(bits, words + triangle + n, 1, 1, number);
        c.command = bits[0];
    }
    __syncthreads();
    for (int e = threadIdx.x; e < triangle + n; e += threads) {
        int row, col;
        receive<1>(bits, words + e, 1, 1, number);
        const double x = __longlong_as_double((long long)bits[0]);
        if (e < triangle) {
            place_of(e, &row, &col);
            t[col * N + row] = x;
        } else {
            scale[e - triangle] = x;
        }
    }
    __syncthreads();
    return c.command;
}

/* Converts T to float in its own place. */
template <int N> static __device__ __forceinline__ void to_float(double *t)
{
    constexpr int PER = (N * N + threads - 1) / threads;
    float x[PER];
#pragma unroll
    for (int k = 0; k < PER; k++)
        if (threadIdx.x + k * threads < N * N)
            x[k] = (float)t[threadIdx.x + k * threads];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < PER; k++)
        if (threadIdx.x + k * threads < N * N)
            reinterpret_cast<float *>(t)[threadIdx.x + k * threads] = x[k];
    __syncthreads();
}

/* Tile l of a block is number l gridDim.x + blockIdx.x of V, and belongs to warp l % all_warps;
 * the first `kept` of them stay in shared memory. Every second sweep goes back from the last
 * rows, which may still be in the cache. */
template <int N, class Element>
__global__ __launch_bounds__(threads,
                             1) void persistent(const __grid_constant__ struct persistent_step s)
{
    constexpr int GROUPS = bd_rows_groups(N), TILES = bd_gram_narrow_slots<GROUPS>::tiles;
    constexpr int left = bd_rows_stage(N) - N * bd_rows_stride, spare = left ? left : 1;
    unsigned char *scratch = persistent_shared + sizeof(struct persistent_control);
    double *stages = reinterpret_cast<double *>(scratch);
    double *t = reinterpret_cast<double *>(scratch + scratch_bytes(N));
    double *scale = t + most_passes * N * N;
    Element *kept_rows = reinterpret_cast<Element *>(scale + most_passes * N);
    Element *v = static_cast<Element *>(s.v);
    const int n = s.data.n, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t tiles = (s.m + tile_rows - 1) / tile_rows;
    const int64_t per_round = (int64_t)gridDim.x * all_warps;
    const int rounds = (int)((tiles + per_round - 1) / per_round);
    unsigned starts[most_passes] = {};
    int what = 0, single = 0;
    make_places(n);
    for (int pass = 0;; pass++) {
        const bool last = what & command_last, form = !last || what & command_form;
        const int products = what & command_products;
        const int before = pass ? pass - 1 : 0; /* products that kept rows have had */
        double sum[TILES][4] = {};
        for (int e = threadIdx.x; form && left && e < all_warps * spare; e += threads)
            stages[e / spare * bd_rows_stage(N) + N * bd_rows_stride + e % spare] =
                0; /* and stay so */
        __syncthreads();
#pragma unroll 1
        for (int round = 0; round < rounds; round++) {
            const int local = (pass % 2 ? rounds - 1 - round : round) * all_warps + warp;
            const int64_t i = ((int64_t)local * gridDim.x + blockIdx.x) * tile_rows + lane;
            const bool kept = local < s.kept, in = i < s.m;
            Element *here = kept_rows + (int64_t)local * N * tile_rows + lane;
            Element x[N];
            if (i - lane >= s.m)
                continue;
            if (kept && pass)
#pragma unroll
                for (int j = 0; j < N; j++)
                    x[j] = here[j * tile_rows];
            else
#pragma unroll
                for (int j = 0; j < N; j++)
                    x[j] = in && (j + 8 < N || j < n) ? v[i + j * s.ldv] : (Element)0;
#pragma unroll 1
            for (int p = kept ? before : 0; p < products; p++) {
                const double *own = t + p * N * N;
                const unsigned begins = p ? starts[1] : starts[0];
                if (sizeof(Element) == 8 && single >> p & 1)
                    bd_rows_solve<N, float>(x, scale + p * N, reinterpret_cast<const float *>(own),
                                            begins);
                else
                    bd_rows_solve<N, double>(x, scale + p * N, own, begins);
            }
            if (last) {
#pragma unroll
                for (int j = 0; j < N; j++)
                    if (in && (j + 8 < N || j < n))
                        v[i + j * s.ldv] = x[j];
            } else if (kept) {
#pragma unroll
                for (int j = 0; j < N; j++)
                    here[j * tile_rows] = x[j];
            }
            if (form)
                bd_rows_form<N>(sum, stages + warp * bd_rows_stage(N), x);
        }
        if (form)
            reduce<TILES, GROUPS>(s, last ? s.data.g : memory_of_block().b, sum, stages,
                                  s.factor.number + pass);
        if (last)
            return;
        if (blockIdx.x == 0)
            factor_pass(s, pass);
        double *own = t + pass * N * N;
        const unsigned long long command =
            listen<N>(s, own, scale + pass * N, s.factor.number + pass);
        what = (int)(unsigned)command;
        if (pass == 0)
            starts[0] = (unsigned)(command >> 32);
        else
            starts[1] = (unsigned)(command >> 32);
        if (what & command_single) {
            single |= 1 << pass;
            to_float<N>(own);
        }
        const bool ends = (what & (command_last | command_form)) == command_last;
        if (ends && s.r && blockIdx.x == 0 && !control_of_block().bad)
            write_r(s, pass + 1);
        if (!(what & command_products)) /* V stays as it is */
            return;
    }
}

template <class Element> static const void *kernel_of(int n)
{
#define KERNEL(N) (const void *)persistent<N, Element>
    return BD_ROWS_CHOOSE(n, KERNEL);
#undef KERNEL
}

enum bd_status bd_cuda_gram_persistent_create(struct gram_plan *plan)
{
    struct bd_cuda *cuda = plan->cuda;
    struct gram_persistent *own = &plan->persistent;
    const int n = plan->data.n;
    if (n > gram_narrow_most || plan->m == 0)
        return BD_OK;
    const int rounded = bd_rows_columns(n);
    const int64_t tiles = (plan->m + tile_rows - 1) / tile_rows;
    const int64_t tile_bytes = (int64_t)tile_rows * rounded * (plan->type == BD_F64 ? 8 : 4);
    const int64_t wanted =
        (tiles + 3) / 4; /* in blocks: each warp then has loads enough to wait for */
    own->blocks = (int)(wanted < cuda->sms ? wanted : cuda->sms);
    const int64_t needed = (tiles + own->blocks - 1) / own->blocks;
    const int64_t room = (cuda->shared_most - fixed_bytes(rounded)) / tile_bytes;
    if (cuda->shared_most < fixed_bytes(rounded))
        return BD_OK;
    own->kept = (int)(needed < room ? needed : room);
    own->shared = fixed_bytes(rounded) + (size_t)own->kept * (size_t)tile_bytes;
    own->kernel = plan->type == BD_F64 ? kernel_of<double>(n) : kernel_of<float>(n);
    enum bd_status status = bd_cuda_allow_shared(cuda, own->kernel, "rows in shared memory");
    const size_t words = (size_t)command_at(own->blocks, n) + (size_t)command_words(n);
    if (status == BD_OK)
        status = bd_cuda_alloc(cuda, &own->words, words * sizeof(struct persistent_word),
                               "sums of a Gram matrix");
    void *memory = NULL;
    if (status == BD_OK)
        status = bd_cuda_alloc_host(&memory, sizeof *own->outcome, "QR by the Gram matrix");
    own->outcome = static_cast<struct gram_persistent_outcome *>(memory);
    return status;
}

void bd_cuda_gram_persistent_destroy(struct gram_plan *plan)
{
    bd_cuda_free(plan->persistent.words);
    bd_cuda_free_host(plan->persistent.outcome);
}

enum bd_status bd_cuda_gram_begin(void *work, void *v, int64_t ldv, void *r, int64_t ldr,
                                  const struct bd_gram_step *step, int passes, int *made, int *more)
{
    struct gram_plan *plan = static_cast<struct gram_plan *>(work);
    const struct gram_persistent *own = &plan->persistent;
    *made = *more = 0;
    if (!own->kernel)
        return BD_OK;
    const int number = plan->number + 1;
    struct persistent_step s = {};
    s.data = plan->data;
    s.factor.svd = step->method == BD_GRAM_QR_SVD;
    s.factor.solve = step->solve;
    s.factor.mixed = step->mixed;
    s.factor.number = number;
    s.factor.shift = step->shift;
    s.factor.enough = step->enough;
    s.records = plan->records;
    s.v = v;
    s.r = r;
    s.m = plan->m;
    s.ldv = ldv;
    s.ldr = ldr;
    s.type = plan->type;
    s.passes = passes;
    s.kept = own->kept;
    s.words = static_cast<struct persistent_word *>(own->words);
    s.outcome = own->outcome;
    plan->number += most_passes + 1; /* and one for the last G */
    plan->solved = 0;
    void *arguments[] = { &s };
    cudaError_t error =
        cudaLaunchCooperativeKernel(own->kernel, dim3((unsigned)own->blocks), dim3(threads),
                                    arguments, own->shared, plan->cuda->stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(plan->cuda->stream);
    const enum bd_status status = bd_cuda_check(error, "QR by the Gram matrix");
    if (status != BD_OK)
        return status;
    *made = own->outcome->passes;
    *more = own->outcome->more;
    for (int pass = 0; pass < *made; pass++)
        plan->numbers[pass] = number + pass;
    if (*made % 2) {
        double *other = plan->data.other;
        plan->data.other = plan->data.total;
        plan->data.total = other;
    }
    return BD_OK;
}
