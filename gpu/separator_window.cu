/* The live separator on the GPU: the window of frames and the basis learned from it.
 *
 * A sweep over the window reads its bytes once. A warp takes a piece of the rows, 32 times 16 (or
 * 32 times 4, where the basis has more than one column and a thread could not hold more of it), and
 * goes through the columns, four at a time so that the loads of four are on their way together. */
#include "gpu/cholesky.h"
#include "gpu/gram.cuh"
#include "gpu/separator_state.cuh"
#include "gpu/slots.h"

enum { sweep_threads = 128, sweep_warps = sweep_threads / 32, together = 4 };

/* A direction b of norm 1 takes part in 1 / (m sum b^4) of the elements; directions after the first
 * one that take part in less than this share are people (as linalg/cpu/separator_window.c). */
static const double least_participation = 0.2;

struct slots {
    uint16_t slot[bd_max_window];
};

__global__ void set_order(int *order, const __grid_constant__ slots from, int count)
{
    for (int j = threadIdx.x; j < count; j += blockDim.x)
        order[j] = from.slot[j];
}

enum bd_status bd_sep_set_order(struct bd_cuda_separator *s, const int *order, int count)
{
    bool same = count == s->host_count;
    for (int j = 0; same && j < count; j++)
        same = order[j] == s->host_order[j];
    if (same)
        return BD_OK;
    struct slots slots;
    for (int j = 0; j < count; j++) {
        s->host_order[j] = order[j];
        slots.slot[j] = (uint16_t)order[j];
    }
    s->host_count = count;
    set_order<<<1, 256, 0, s->cuda->stream>>>(s->order, slots, count);
    return bd_cuda_launched("ordering the window");
}

/* Four pixels a thread, CHANNELS words: column := f, but l where the guard is set (GUARDED); C of
 * the column := w. f may be the column. */
template <int CHANNELS, bool GUARDED>
__global__ __launch_bounds__(bd_sep_threads) void insert(
    uint8_t *column, float *coefficients, const uint8_t *f, const uint8_t *background,
    const uint8_t *guard, const struct bd_sep_numbers *numbers, int64_t words)
{
    const int64_t p = (int64_t)blockIdx.x * bd_sep_threads + threadIdx.x;
    if (p < bd_max_rank)
        coefficients[p] = numbers->w[p];
    if (p >= words)
        return;
    const uint32_t inside = GUARDED ? bd_sep_load_word(guard + 4 * p) : 0;
#pragma unroll
    for (int c = 0; c < CHANNELS; c++) {
        const int64_t i = 4 * (CHANNELS * p + c);
        uint32_t word = bd_sep_load_word(f + i);
        if (inside) {
            const uint32_t l = bd_sep_load_word(background + i);
            uint32_t select = 0; /* byte e of this word is of pixel (4 c + e) / CHANNELS */
#pragma unroll
            for (int e = 0; e < 4; e++)
                select |= inside >> 8 * ((4 * c + e) / CHANNELS) & 1 ? 0xffu << 8 * e : 0u;
            word = (word & ~select) | (l & select);
        }
        *reinterpret_cast<uint32_t *>(column + i) = word;
    }
}

extern "C" enum bd_status bd_cuda_sep_insert(void *arg, int slot, int guarded)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    auto *kernel = s->shape.channels == 1 ? guarded ? insert<1, true> : insert<1, false>
                   : guarded ? insert<3, true>
                                          : insert<3, false>;
    const int64_t words = s->pitch / 4;
    kernel<<<bd_sep_blocks(words, bd_sep_threads), bd_sep_threads, 0, s->cuda->stream>>>(
        bd_sep_column(s, slot), s->coefficients + slot * bd_max_rank, s->f,
        s->sets[s->set].background, s->guard, s->numbers, words);
    return bd_cuda_launched("a frame that enters the window");
}

extern "C" enum bd_status bd_cuda_sep_recall(void *arg, int slot)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    s->f = bd_sep_column(s, slot);
    return BD_OK;
}

/* ROWS consecutive bytes. */
template <int ROWS> struct bytes {
    uint32_t word[ROWS / 4];

    __device__ __forceinline__ void load(const uint8_t *p)
    {
        if constexpr (ROWS == 16) {
            uint4 q = *reinterpret_cast<const uint4 *>(p);
            word[0] = q.x, word[1] = q.y, word[2] = q.z, word[3] = q.w;
        } else {
            word[0] = bd_sep_load_word(p);
        }
    }
};

/* ROWS rows of the basis from row i on. */
template <int RANK, int ROWS>
__device__ __forceinline__ void load_basis(float b[RANK][ROWS], const struct bd_sep_window &x,
                                           int64_t i)
{
#pragma unroll
    for (int k = 0; k < RANK; k++)
#pragma unroll
        for (int q = 0; q < ROWS; q += 4)
            if (k < x.rank)
                bd_sep_load_floats(x.basis + k * x.ld + i + q, b[k] + q);
            else
                b[k][q] = b[k][q + 1] = b[k][q + 2] = b[k][q + 3] = 0.0f;
}

/* e := clip(W - l, +-lambda) and l := B c of ROWS rows of a column. */
template <int RANK, int ROWS>
__device__ __forceinline__ void form(float l[ROWS], float e[ROWS], const struct bytes<ROWS> &bytes,
                                     const float b[RANK][ROWS], const float c[RANK], float lambda)
{
#pragma unroll
    for (int q = 0; q < ROWS; q += 4)
        bd_sep_floats(bytes.word[q / 4], e + q);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        l[r] = b[0][r] * c[0];
#pragma unroll
        for (int k = 1; k < RANK; k++)
            l[r] += b[k][r] * c[k];
        e[r] = bd_sep_clip(e[r] - l[r], lambda);
    }
}

/* x^T y, in float64 but for each four products. */
template <int ROWS> __device__ __forceinline__ double dot(const float x[ROWS], const float y[ROWS])
{
    double sum = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r += 4)
        sum += (double)((x[r] * y[r] + x[r + 1] * y[r + 1]) +
                        (x[r + 2] * y[r + 2] + x[r + 3] * y[r + 3]));
    return sum;
}

/* The sums of v[0 .. 3] over the warp: that of v[lane / 8] in lanes 0, 8, 16, 24. */
__device__ __forceinline__ double sum_four(const double v[together], int lane)
{
    const bool high = lane & 16, odd = lane & 8;
    double a = high ? v[2] : v[0], b = high ? v[3] : v[1];
    a += __shfl_xor_sync(0xffffffffu, high ? v[0] : v[2], 16);
    b += __shfl_xor_sync(0xffffffffu, high ? v[1] : v[3], 16);
    double sum = odd ? b : a;
    sum += __shfl_xor_sync(0xffffffffu, odd ? a : b, 8);
#pragma unroll
    for (int d = 4; d > 0; d /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    return sum;
}

/* partial[j gridDim.x + block] := the block's part of a sum for each of the `count` columns:
 * X_j^T X_(count - 1), or (FIT) B^T clip(W_j - B c_j, +-lambda) of the first column of B. A warp's
 * pieces are 32 ROWS rows each, its number in the grid and every gridDim.x sweep_warps on. Dynamic
 * shared memory: count x sweep_warps doubles, the sums so far. */
template <int RANK, int ROWS, bool FIT>
__global__ __launch_bounds__(sweep_threads) void sum_columns(
    double *partial, const __grid_constant__ bd_sep_window x, int count)
{
    extern __shared__ double sums[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int j = threadIdx.x; j < count * sweep_warps; j += sweep_threads)
        sums[j] = 0;
    __syncthreads();
    const int64_t step = (int64_t)gridDim.x * sweep_threads * ROWS;
    for (int64_t i = ((int64_t)blockIdx.x * sweep_threads + threadIdx.x) * ROWS;
         i - lane * ROWS < x.ld; i += step) {
        const bool inside = i < x.ld;
        float b[RANK][ROWS] = {}, newest[ROWS], l[ROWS], e[ROWS], c[RANK];
        struct bytes<ROWS> now[together] = {
        };
        if (inside)
            load_basis<RANK, ROWS>(b, x, i);
        if (!FIT) {
            const int slot = x.order[count - 1];
            if (inside)
                now[0].load(x.bytes + slot * x.ld + i);
#pragma unroll
            for (int k = 0; k < RANK; k++)
                c[k] = x.coefficients[slot * bd_max_rank + k];
            form<RANK, ROWS>(l, e, now[0], b, c, x.lambda);
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                newest[r] = l[r] + e[r];
        }
        for (int j = 0; j < count; j += together) {
            double v[together] = {};
#pragma unroll
            for (int t = 0; t < together; t++)
                if (inside && j + t < count)
                    now[t].load(x.bytes + x.order[j + t] * x.ld + i);
#pragma unroll
            for (int t = 0; t < together; t++) {
                if (j + t >= count)
                    break;
                const int slot = x.order[j + t];
#pragma unroll
                for (int k = 0; k < RANK; k++)
                    c[k] = x.coefficients[slot * bd_max_rank + k];
                form<RANK, ROWS>(l, e, now[t], b, c, x.lambda);
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    l[r] += e[r];
                v[t] = FIT ? dot<ROWS>(b[0], e) : dot<ROWS>(newest, l);
            }
            const double sum = sum_four(v, lane);
            if (lane % 8 == 0 && j + lane / 8 < count)
                sums[(j + lane / 8) * sweep_warps + warp] += sum;
        }
    }
    __syncthreads();
    for (int j = threadIdx.x; j < count; j += sweep_threads) {
        double sum = 0;
        for (int k = 0; k < sweep_warps; k++)
            sum += sums[j * sweep_warps + k];
        partial[(int64_t)j * gridDim.x + blockIdx.x] = sum;
    }
}

/* Thread blocks of a sweep: the whole device a few times, or one for each piece. */
static unsigned sweep_blocks(const struct bd_cuda_separator *s, int rows)
{
    int64_t pieces = (s->ld + sweep_threads * rows - 1) / (sweep_threads * rows);
    int64_t most = (int64_t)s->cuda->sms * 4;
    if (most > bd_sep_parts)
        most = bd_sep_parts;
    return (unsigned)(pieces < most ? pieces : most);
}

/* The sum of column blockIdx.x's parts in thread 0. */
__device__ __forceinline__ double sum_parts(const double *partial, int parts)
{
    double sum = 0;
    for (int i = threadIdx.x; i < parts; i += bd_sep_threads)
        sum += partial[(int64_t)blockIdx.x * parts + i];
    return bd_sep_block_sum(sum);
}

__global__ __launch_bounds__(bd_sep_threads) void finish_gram(double *g, const double *partial,
                                                              int parts)
{
    double sum = sum_parts(partial, parts);
    if (threadIdx.x == 0)
        g[blockIdx.x] = sum;
}

/* C(0, order[blockIdx.x]) += its sum; the last block's becomes w. */
__global__ __launch_bounds__(bd_sep_threads) void finish_fit(float *coefficients,
                                                             struct bd_sep_numbers *numbers,
                                                             const int *order,
                                                             const double *partial, int parts)
{
    double sum = sum_parts(partial, parts);
    if (threadIdx.x > 0)
        return;
    float *c = coefficients + order[blockIdx.x] * bd_max_rank;
    c[0] += (float)sum;
    if (blockIdx.x == gridDim.x - 1)
        for (int k = 0; k < bd_max_rank; k++)
            numbers->w[k] = c[k];
}

extern "C" enum bd_status bd_cuda_sep_gram(void *arg, const int *order, int count, float lambda,
                                           double *g)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    cudaStream_t stream = s->cuda->stream;
    enum bd_status status = bd_sep_set_order(s, order, count);
    if (status != BD_OK)
        return status;
    const struct bd_sep_window x = bd_sep_view(s, lambda);
    const size_t shared = (size_t)count * sweep_warps * sizeof(double);
    const unsigned blocks = sweep_blocks(s, x.rank == 1 ? 16 : 4);
    if (x.rank == 1)
        sum_columns<1, 16, false><<<blocks, sweep_threads, shared, stream>>>(s->partial, x, count);
    else
        sum_columns<bd_max_rank, 4, false>
            <<<blocks, sweep_threads, shared, stream>>>(s->partial, x, count);
    finish_gram<<<(unsigned)count, bd_sep_threads, 0, stream>>>(g, s->partial, (int)blocks);
    return bd_cuda_launched("products with the newest frame of the window");
}

enum bd_status bd_sep_fit_columns(struct bd_cuda_separator *s, int count, float lambda)
{
    cudaStream_t stream = s->cuda->stream;
    const struct bd_sep_window x = bd_sep_view(s, lambda);
    const unsigned blocks = sweep_blocks(s, 16);
    sum_columns<1, 16, true>
        <<<blocks, sweep_threads, (size_t)count * sweep_warps * sizeof(double), stream>>>(
            s->partial, x, count);
    finish_fit<<<(unsigned)count, bd_sep_threads, 0, stream>>>(s->coefficients, s->numbers,
                                                               s->order, s->partial, (int)blocks);
    return bd_cuda_launched("coefficients of the window");
}

extern "C" enum bd_status bd_cuda_sep_reduce(void *arg, const int *order, int count, float lambda,
                                             float *r, int64_t ldr)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    const size_t width = (size_t)s->shape.window * sizeof *r;
    enum bd_status status = bd_sep_set_order(s, order, count);
    if (status == BD_OK)
        status = bd_gram(s->cuda, s->gram, bd_sep_view(s, lambda), s->m, count, s->gram_work, NULL);
    if (status == BD_OK && count < s->shape.window)
        status = bd_cuda_check(cudaMemset2DAsync(r, (size_t)ldr * sizeof *r, 0, width,
                                                 (size_t)s->shape.window, s->cuda->stream),
                               "clearing R");
    if (status == BD_OK)
        status = bd_cuda_cholesky(s->cuda, r, ldr, s->gram, count, NULL);
    return status;
}

/* The rank of the new basis, and G and K (rank x count each, 0 from the new rank on). */
__global__ void begin_basis(struct bd_sep_numbers *numbers, float *g, float *k, int rank, int count,
                            double tau, const float *sigma, const float *v, int64_t ldv)
{
    int found = 0;
    while (found < rank && found < count && sigma[found] > tau)
        found++;
    for (int at = threadIdx.x; at < rank * count; at += blockDim.x) {
        const int a = at % rank, j = at / rank;
        g[at] = a < found ? v[a * ldv + j] / sigma[a] : 0.0f;
        k[at] = a < found ? (float)(sigma[a] - tau) * v[a * ldv + j] : 0.0f;
    }
    if (threadIdx.x == 0)
        numbers->new_rank = found;
}

/* B := X G in place (a thread reads and writes the rows that are its own), and partial[which
 * gridDim.x + block] := the block's parts of w_next = B_next^T B w (which = k) and of the sums of
 * b^4 of the columns of B_next (which = RANK + k). Rows as in sum_columns. */
template <int RANK, int ROWS>
__global__ __launch_bounds__(bd_sep_threads) void form_basis(
    double *partial, float *basis, const __grid_constant__ bd_sep_window x,
    const struct bd_sep_numbers *numbers, const float *__restrict__ g, int count)
{
    const int rank = numbers->new_rank;
    if (!rank)
        return;
    double products[RANK] = {}, fourths[RANK] = {};
    const int64_t step = (int64_t)gridDim.x * bd_sep_threads * ROWS;
    for (int64_t i = ((int64_t)blockIdx.x * bd_sep_threads + threadIdx.x) * ROWS; i < x.ld;
         i += step) {
        float b[RANK][ROWS], next[RANK][ROWS] = {}, l[ROWS], e[ROWS], c[RANK];
        struct bytes<ROWS> now[together];
        load_basis<RANK, ROWS>(b, x, i);
        for (int j = 0; j < count; j += together) {
#pragma unroll
            for (int t = 0; t < together; t++)
                if (j + t < count)
                    now[t].load(x.bytes + x.order[j + t] * x.ld + i);
#pragma unroll
            for (int t = 0; t < together; t++) {
                if (j + t >= count)
                    break;
                const int slot = x.order[j + t];
#pragma unroll
                for (int k = 0; k < RANK; k++)
                    c[k] = x.coefficients[slot * bd_max_rank + k];
                form<RANK, ROWS>(l, e, now[t], b, c, x.lambda);
#pragma unroll
                for (int k = 0; k < RANK; k++) {
                    if (k >= rank)
                        break;
                    const float factor = g[(j + t) * x.rank + k];
#pragma unroll
                    for (int r = 0; r < ROWS; r++)
                        next[k][r] += factor * (l[r] + e[r]);
                }
            }
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            l[r] = 0;
#pragma unroll
            for (int k = 0; k < RANK; k++)
                l[r] += numbers->w[k] * b[k][r];
        }
#pragma unroll
        for (int k = 0; k < RANK; k++) {
            if (k >= rank)
                break;
#pragma unroll
            for (int q = 0; q < ROWS; q += 4)
                bd_sep_store_floats(basis + k * x.ld + i + q, next[k] + q);
            products[k] += dot<ROWS>(next[k], l);
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                next[k][r] *= next[k][r];
            fourths[k] += dot<ROWS>(next[k], next[k]);
        }
    }
    for (int k = 0; k < RANK; k++) {
        const double product = bd_sep_block_sum(products[k]), fourth = bd_sep_block_sum(fourths[k]);
        if (threadIdx.x > 0)
            continue;
        partial[k * gridDim.x + blockIdx.x] = product;
        partial[(RANK + k) * gridDim.x + blockIdx.x] = fourth;
    }
}

/* The first column of B, and those after it up to the first that few elements take part in; w, and
 * C := K. One thread block; partial is 2 RANK x parts. */
template <int RANK>
__global__ __launch_bounds__(bd_sep_threads) void end_basis(
    struct bd_sep_numbers *numbers, float *coefficients, const double *partial, int parts,
    const int *order, int count, const float *k_new, int rank_most, double m)
{
    __shared__ int kept;
    const int rank = numbers->new_rank;
    if (!rank)
        return;
    if (threadIdx.x == 0)
        kept = rank;
    for (int k = 0; k < rank; k++) {
        double product = 0, fourth = 0;
        for (int i = threadIdx.x; i < parts; i += bd_sep_threads) {
            product += partial[k * parts + i];
            fourth += partial[(RANK + k) * parts + i];
        }
        product = bd_sep_block_sum(product);
        fourth = bd_sep_block_sum(fourth);
        if (threadIdx.x > 0)
            continue;
        if (k > 0 && !(fourth * least_participation * m < 1) && k < kept)
            kept = k;
        numbers->w[k] = k < kept ? (float)product : 0.0f;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = kept; k < bd_max_rank; k++)
            numbers->w[k] = 0;
        numbers->rank = kept;
    }
    for (int at = threadIdx.x; at < count * bd_max_rank; at += bd_sep_threads) {
        const int j = at / bd_max_rank, k = at % bd_max_rank;
        coefficients[order[j] * bd_max_rank + k] = k < kept ? k_new[j * rank_most + k] : 0.0f;
    }
}

template <int RANK, int ROWS>
static void learn_basis(struct bd_cuda_separator *s, int count, float lambda)
{
    cudaStream_t stream = s->cuda->stream;
    const struct bd_sep_window x = bd_sep_view(s, lambda);
    const unsigned blocks = sweep_blocks(s, 2 * ROWS);
    form_basis<RANK, ROWS>
        <<<blocks, bd_sep_threads, 0, stream>>>(s->partial, s->basis, x, s->numbers, s->g, count);
    end_basis<RANK><<<1, bd_sep_threads, 0, stream>>>(s->numbers, s->coefficients, s->partial,
                                                      (int)blocks, s->order, count, s->k, x.rank,
                                                      (double)s->m);
}

extern "C" enum bd_status bd_cuda_sep_basis(void *arg, const int *order, int count, float lambda,
                                            double tau, const float *sigma, const float *v,
                                            int64_t ldv)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    enum bd_status status = bd_sep_set_order(s, order, count);
    if (status != BD_OK)
        return status;
    begin_basis<<<1, 256, 0, s->cuda->stream>>>(s->numbers, s->g, s->k, s->shape.rank, count, tau,
                                                sigma, v, ldv);
    if (s->shape.rank == 1)
        learn_basis<1, 16>(s, count, lambda);
    else
        learn_basis<bd_max_rank, 4>(s, count, lambda);
    return bd_cuda_launched("learning the basis");
}
