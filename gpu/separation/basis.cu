/* The live separator on the GPU: the basis that is learned from the window. */
#include "gpu/separation/state.cuh"
#include "gpu/separation/sweep.cuh"
#include "separation/shared/drift.h"
#include "separation/shared/rounding.h"

/* The rank of the new basis, the drift of R, and G and K (rank x count each, 0 from the new rank
 * on). The first column of V and its sigma come from t = X^T b = |b|^2 c + E^T b (`errors`), if b
 * is near. One thread block; dynamic shared memory: count doubles. */
__global__ void begin_basis(struct bd_sep_numbers *numbers, float *g, float *k, int rank, int count,
                            double tau, const float *sigma, const float *v, int64_t ldv,
                            const double *errors, const float *coefficients, const int *order)
{
    int found = 0;
    while (found < rank && found < count && sigma[found] > tau)
        found++;
    extern __shared__ double t[];
    for (int j = threadIdx.x; j < count; j += blockDim.x)
        t[j] = numbers->norm * (double)coefficients[order[j] * bd_max_rank] + errors[j];
    __syncthreads();
    double t_t = 0, t_v = 0, v_v = 0;
    for (int j = 0; j < count; j++) {
        t_t += t[j] * t[j];
        t_v += t[j] * (double)v[j];
        v_v += (double)v[j] * (double)v[j];
    }
    const float largest = bd_sep_round_coefficient(sqrt(t_t / numbers->norm));
    for (int at = threadIdx.x; at < rank * count; at += blockDim.x) {
        const int a = at % rank, j = at / rank;
        const bool iterated = a == 0 && largest >= bd_sep_near_share * sigma[0];
        const float element = iterated ? bd_sep_round_element(t[j] / sqrt(t_t)) : v[a * ldv + j];
        const float value = iterated ? largest : sigma[a];
        g[at] = a < found ? element / value : 0.0f;
        k[at] = a < found ? (float)(value - tau) * element : 0.0f;
    }
    if (threadIdx.x > 0)
        return;
    numbers->new_rank = found;
    numbers->drift = found ? bd_sep_drift(t_t, t_v, v_v, numbers->norm, (double)sigma[0]) : 0;
}

/* B := X G in place (a thread reads and writes the rows that are its own), and partial[which
 * gridDim.x + block] := the block's parts of w_next = B_next^T B w (which = k), of the sums of b^4
 * of the columns of B_next (which = RANK + k), and of b^2 of the first (which = 2 RANK). Rows as in
 * sum_columns. */
template <int RANK, int ROWS>
__global__ __launch_bounds__(bd_sep_threads) void form_basis(
    double *partial, float *basis, const __grid_constant__ bd_sep_window x,
    const struct bd_sep_numbers *numbers, const float *__restrict__ g, int count)
{
    const int rank = numbers->new_rank;
    if (!rank)
        return;
    double products[RANK] = {}, fourths[RANK] = {}, square = 0;
    const int64_t step = (int64_t)gridDim.x * bd_sep_threads * ROWS;
    for (int64_t i = ((int64_t)blockIdx.x * bd_sep_threads + threadIdx.x) * ROWS; i < x.ld;
         i += step) {
        float b[RANK][ROWS], next[RANK][ROWS] = {}, l[ROWS];
        bd_sweep_load_basis<RANK, ROWS>(b, x, i);
        const auto add = [&](int j, int, const float *low, const float *e) {
#pragma unroll
            for (int k = 0; k < RANK; k++) {
                if (k >= rank)
                    break;
                bd_sweep_add<ROWS>(next[k], g[j * x.rank + k], low, e);
            }
        };
        bd_sweep_columns<RANK, ROWS>(x, b, i, true, count, add, [](int) {});
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
            products[k] += bd_sweep_dot<ROWS>(next[k], l);
            if (k == 0)
                square += bd_sweep_dot<ROWS>(next[0], next[0]);
            if (RANK > 1) {
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    next[k][r] *= next[k][r];
                fourths[k] += bd_sweep_dot<ROWS>(next[k], next[k]);
            }
        }
    }
    for (int k = 0; k < RANK; k++) {
        const double product = bd_sep_block_sum(products[k]), fourth = bd_sep_block_sum(fourths[k]);
        if (threadIdx.x > 0)
            continue;
        partial[k * gridDim.x + blockIdx.x] = product;
        partial[(RANK + k) * gridDim.x + blockIdx.x] = fourth;
    }
    square = bd_sep_block_sum(square);
    if (threadIdx.x == 0)
        partial[2 * RANK * gridDim.x + blockIdx.x] = square;
}

/* The first column of B, and those after it up to the first that few elements take part in; w, and
 * C := K. One thread block; partial is (2 RANK + 1) x parts. */
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
    double square = 0;
    for (int i = threadIdx.x; i < parts; i += bd_sep_threads)
        square += partial[2 * RANK * parts + i];
    square = bd_sep_block_sum(square);
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
        if (k > 0 && !(fourth * bd_sep_least_participation * m < 1) && k < kept)
            kept = k;
        numbers->w[k] = k < kept ? bd_sep_round_coefficient(product) : 0.0f;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = kept; k < bd_max_rank; k++)
            numbers->w[k] = 0;
        numbers->rank = kept;
        numbers->norm = square;
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
    const unsigned blocks = bd_sweep_blocks(s, 2 * ROWS);
    form_basis<RANK, ROWS>
        <<<blocks, bd_sep_threads, 0, stream>>>(s->partial, s->basis, x, s->numbers, s->g, count);
    end_basis<RANK><<<1, bd_sep_threads, 0, stream>>>(s->numbers, s->coefficients, s->partial,
                                                      (int)blocks, s->order, count, s->k, x.rank,
                                                      (double)s->m);
}

enum bd_status bd_cuda_sep_basis(void *arg, const int *order, int count, float lambda, double tau,
                                 const float *sigma, const float *v, int64_t ldv)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    enum bd_status status = bd_sep_settle(s, bd_sep_share_all);
    if (status == BD_OK)
        status = bd_sep_set_order(s, order, count);
    if (status == BD_OK)
        status = bd_sep_need_errors(s, count, lambda);
    if (status != BD_OK)
        return status;
    begin_basis<<<1, 256, (size_t)count * sizeof(double), s->cuda->stream>>>(
        s->numbers, s->g, s->k, s->shape.rank, count, tau, sigma, v, ldv, s->errors,
        s->coefficients, s->order);
    s->errors_lambda = 0;
    if (s->shape.rank == 1)
        learn_basis<1, 16>(s, count, lambda);
    else
        learn_basis<bd_max_rank, 4>(s, count, lambda);
    return bd_cuda_launched("learning the basis");
}
