/* Blocked QR updating: new columns of a thin Q.
 *
 * Giraud, Langou, Rozloznik, van den Eshof: Rounding error analysis of the classical Gram-Schmidt
 * orthogonalization process (2005). */
#include <cfloat>

#include "gpu/update/blocked/blocked.h"
#include "gpu/update/update.cuh"

namespace
{

enum { find_threads = 512 };

/* Columns of which less than so many times what is negligible is left get some noise. */
const float hardly = 32;

/* bd_update_negligible of the CPU (linalg/cpu/update/update.h). */
__device__ float negligible(int64_t n)
{
    return 4 * FLT_EPSILON * (1 + sqrtf((float)n));
}

/* s(j, j) := the norm of column j of U, which is that of column j of W (n rows) and R. Block: a
 * column. */
__global__ void column_norms(float *s, int64_t lds, const float *r, int64_t ldr, const float *w,
                             int64_t ldw, int64_t n)
{
    __shared__ double room[33];
    const int64_t j = blockIdx.x;
    double sum = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
        sum += (double)w[i + j * ldw] * (double)w[i + j * ldw];
    for (int64_t i = threadIdx.x; i <= j; i += blockDim.x)
        sum += (double)r[i + j * ldr] * (double)r[i + j * ldr];
    sum = bd_sum_block(sum, room);
    if (threadIdx.x == 0)
        s[j + j * lds] = (float)sqrt(sum);
}

/* s(j, j), the norm of column j of U, := 0 where column j of R (p x p) depends on those before it
 * and on Q, else 1. add[j] := how much noise to add to a column that is hardly independent of them,
 * so that its direction is not one of rounding. One block. The rows of R that belong to dependent
 * columns have directions of no meaning (loose rows). A column that has anything there takes one of
 * these directions for its own, by a reflector across these rows. R is overwritten if there are
 * dependent columns. */
__global__ void __launch_bounds__(find_threads)
    find_dependent(float *r, int64_t ldr, int p, int64_t n, float *s, int64_t lds, float *add)
{
    __shared__ float limit[blocked_group];
    __shared__ int loose[blocked_group];
    __shared__ double room[33];
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    int count = 0; /* of loose rows; the same in all threads, as all that it follows from */
    int doubtful = 0;
    for (int j = (int)threadIdx.x; j < p; j += find_threads) {
        limit[j] = negligible(n) * s[j + j * lds];
        s[j + j * lds] = 1;
        add[j] = 0;
        if (!(fabsf(r[j + j * ldr]) > hardly * limit[j]))
            doubtful = 1;
    }
    if (!__syncthreads_or(doubtful))
        return;
    for (int j = 0; j < p; j++) {
        const double own = (double)r[j + j * ldr];
        double sum = threadIdx.x == 0 ? own * own : 0;
        for (int t = (int)threadIdx.x; t < count; t += find_threads) {
            const double x = (double)r[loose[t] + j * ldr];
            sum += x * x;
        }
        const double norm = sqrt(bd_sum_block(sum, room));
        if (!(norm > (double)limit[j])) {
            if (threadIdx.x == 0) {
                loose[count] = j;
                s[j + j * lds] = 0;
            }
            count++;
            __syncthreads();
            continue;
        }
        if (threadIdx.x == 0 && norm <= hardly * (double)limit[j])
            add[j] = limit[j];
        if (count == 0)
            continue;
        /* I - v v^T / (norm (norm + |own|)), v = (own + sign(own) norm, loose rows) */
        const double first = own + copysign(norm, own), scale = norm * (norm + fabs(own));
        for (int l = j + 1 + warp; l < p; l += find_threads / 32) {
            double dot = lane == 0 ? first * (double)r[j + l * ldr] : 0;
            for (int t = lane; t < count; t += 32)
                dot += (double)r[loose[t] + j * ldr] * (double)r[loose[t] + l * ldr];
            dot = bd_sum_warp(dot) / scale;
            if (lane == 0)
                r[j + l * ldr] = (float)((double)r[j + l * ldr] - dot * first);
            for (int t = lane; t < count; t += 32)
                r[loose[t] + l * ldr] =
                    (float)((double)r[loose[t] + l * ldr] - dot * (double)r[loose[t] + j * ldr]);
        }
        __syncthreads();
    }
}

/* Makes the columns of S for the dependent columns of U, from their inner products with the columns
 * of X before them. u = NULL: U is the unit vectors from row `unit` on. Block: a column; a warp
 * takes one product at a time. */
__global__ void dependent_columns(float *s, int64_t lds, const float *x, int64_t ldx, int64_t m,
                                  const float *u, int64_t ldu, int64_t unit)
{
    const int64_t j = blockIdx.x;
    if (s[j + j * lds] != 0)
        return;
    const int lane = (int)threadIdx.x % 32;
    for (int64_t i = threadIdx.x / 32; i < j; i += blockDim.x / 32) {
        double sum = 0;
        if (u)
            for (int64_t row = lane; row < m; row += 32)
                sum += (double)x[row + i * ldx] * (double)u[row + j * ldu];
        else if (lane == 0)
            sum = (double)x[unit + j + i * ldx];
        sum = bd_sum_warp(sum);
        if (lane == 0)
            s[i + j * lds] = (float)sum;
    }
}

} // namespace

/* W' = Q^T X in pieces of 64 columns; W += W' S; X -= Q W'. */
static void project(struct bd_cuda_blocked *work, const float *q, int64_t ldq, int64_t m, int64_t n,
                    float *x, int64_t ldx, int64_t p, float *w, int64_t ldw, const float *s,
                    int64_t lds)
{
    float *const more = work->y;
    for (int64_t j = 0; j < p; j += house_most_cols) {
        const int64_t c = smaller(p - j, house_most_cols);
        blocked_multiply(work, n, c, m, q, ldq, 1, x + j * ldx, ldx, 0, 1, 0, more, work->ldy);
        /* rows j .. of S, from column j on */
        blocked_multiply(work, n, p - j, c, more, work->ldy, 0, s + j + j * lds, lds, 0, 1, 1,
                         w + j * ldw, ldw);
        blocked_multiply(work, m, c, n, q, ldq, 0, more, work->ldy, 0, -1, 1, x + j * ldx, ldx);
    }
}

/* Replaces the columns of X (projected twice) that depend on others by noise; S := a diagonal of 0
 * for them and 1 for the others. */
static void replace_dependent(struct bd_cuda_blocked *work, int64_t m, int64_t n, float *x,
                              int64_t ldx, int64_t p, const float *w, int64_t ldw, float *s,
                              int64_t lds)
{
    const int64_t g = work->group;
    float *const r = work->small, *const add = r + g * g;
    const cudaStream_t stream = work->cuda->stream;
    blocked_factor(work, x, ldx, m, p, p, m, NULL);
    blocked_copy_upper(work, r, g, x, ldx, p, p, 0);
    blocked_clear(work, s, lds, p, p);
    if (work->status != BD_OK)
        return;
    column_norms<<<(unsigned)p, 256, 0, stream>>>(s, lds, r, g, w, ldw, n);
    find_dependent<<<1, find_threads, 0, stream>>>(r, g, (int)p, n, s, lds, add);
    work->status = bd_cuda_launched("QR update: new directions");
    blocked_apply_reflectors(work, x, ldx, m, p, s, lds, add);
}

void blocked_orthonormalise(struct bd_cuda_blocked *work, const float *q, int64_t ldq, int64_t m,
                            int64_t n, float *x, int64_t ldx, int64_t p, const float *u,
                            int64_t ldu, int64_t unit, float *w, int64_t ldw, float *s, int64_t lds)
{
    const int64_t g = work->group;
    float *const r = work->small, *const next = r + g * g;
    blocked_clear(work, s, lds, p, p);
    blocked_ones(work, s, lds, 0, p);
    /* Only a second projection leaves nothing but rounding of a column that depends on Q. */
    project(work, q, ldq, m, n, x, ldx, p, w, ldw, s, lds);
    replace_dependent(work, m, n, x, ldx, p, w, ldw, s, lds);
    /* Twice more, for the columns that were replaced. */
    for (int i = 0; i < 2; i++) {
        project(work, q, ldq, m, n, x, ldx, p, w, ldw, s, lds);
        blocked_factor(work, x, ldx, m, p, p, m, NULL);
        blocked_copy_upper(work, r, g, x, ldx, p, p, 0);
        blocked_apply_reflectors(work, x, ldx, m, p, NULL, 0, NULL);
        blocked_multiply(work, p, p, p, r, g, 0, s, lds, 0, 1, 0, next, g);
        blocked_copy_upper(work, s, lds, next, g, p, p, 0);
    }
    if (work->status != BD_OK)
        return;
    dependent_columns<<<(unsigned)p, 512, 0, work->cuda->stream>>>(s, lds, x, ldx, m, u, ldu, unit);
    work->status = bd_cuda_launched("QR update: new directions");
}
