/* Blocked QR updating: banded Householder QR, its reflectors from the right, and new columns of a
 * thin Q.
 *
 * Schreiber, Van Loan: A storage-efficient WY representation for products of Householder
 * transformations (1989); Giraud, Langou, Rozloznik, van den Eshof: Rounding error analysis of the
 * classical Gram-Schmidt orthogonalization process (2005). */
#include <cfloat>

#include "gpu/update/blocked/blocked.h"
#include "gpu/update/update.cuh"

namespace
{

enum { block = house_most_cols, find_threads = 512 };

/* Columns of which less than so many times what is negligible is left get some noise. */
const float hardly = 32;

/* As in gpu/qr/householder/householder.cu: a smaller matrix on the right stays in L2, and then 16
 * reflectors at a time cost less than the launches that 64 together save. */
const int64_t together_elements = 6 << 20;

/* v := the reflectors of cols columns of a, with their ones and zeros. Block y: a column. */
__global__ void take_reflectors(float *v, int64_t ldv, const float *a, int64_t lda, int64_t rows)
{
    const int64_t j = blockIdx.y;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows;
         i += (int64_t)gridDim.x * blockDim.x)
        v[i + j * ldv] = i > j ? a[i + j * lda] : i == j ? 1 : 0;
}

__global__ void put_identity(float *a, int64_t lda, int64_t rows, int64_t j0)
{
    const int64_t j = blockIdx.y;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows;
         i += (int64_t)gridDim.x * blockDim.x)
        a[i + j * lda] = i == j + j0 ? 1 : 0;
}

/* The diagonal of s (block x block, by columns) := the squared norms of the reflectors v, rounded
 * to float32. The sums of the tensor cores are too small, and would make all taus too large. Block:
 * a reflector. */
__global__ void norm_reflectors(float *s, const float *v, int64_t ldv, int64_t rows)
{
    __shared__ double room[33];
    const float *const mine = v + blockIdx.x * ldv;
    double sum = 0;
    for (int64_t i = threadIdx.x; i < rows; i += blockDim.x)
        sum += (double)mine[i] * (double)mine[i];
    sum = bd_sum_block(sum, room);
    if (threadIdx.x == 0)
        s[blockIdx.x * (block + 1)] = (float)sum;
}

/* t (block x block, by columns) := T of all `cols` reflectors, from their products s (block x
 * block, by columns). With this T, I - V T V^T is orthogonal for V as it was rounded: its taus are
 * 2 / v^T v. inner: T of every 16 reflectors (row-major); a 0 on its diagonal is no reflector. A
 * thread makes a row, which follows from itself. */
__global__ void __launch_bounds__(block)
    make_t(float *t, const float *s, const float *inner, int cols)
{
    __shared__ float products[block][block + 1], rows[block][block + 1], taus[block];
    const int row = (int)threadIdx.x;
    for (int j = 0; j < block; j++)
        products[row][j] = row < cols && j < cols ? s[row + j * block] : 0;
    const bool any =
        row < cols &&
        inner[row / caqr_inner * caqr_t_size + row % caqr_inner * (caqr_inner + 1)] != 0;
    taus[row] = any ? 2 / s[row * (block + 1)] : 0;
    __syncthreads();
    for (int i = 0; i < block; i++) {
        float sum = 0;
        for (int k = row; k < i; k++)
            sum += rows[row][k] * products[k][i];
        rows[row][i] = i < row ? 0 : i == row ? taus[i] : -taus[i] * sum;
    }
    for (int i = 0; i < block; i++)
        t[row + i * block] = rows[row][i];
}

/* bd_update_negligible of the CPU (linalg/cpu/update/update.h). */
__device__ float negligible(int64_t n)
{
    return 4 * FLT_EPSILON * (1 + sqrtf((float)n));
}

/* Noise between -1 and 1 for an element. */
__device__ float noise_of(int64_t row, int64_t column)
{
    uint32_t h = (uint32_t)(row * 2654435761U + (column + 1) * 40503U);
    h = (h ^ h >> 15) * 2246822519U;
    h = (h ^ h >> 13) * 3266489917U;
    return (float)(int32_t)(h ^ h >> 16) * 0x1p-31F;
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

/* Columns j0 .. of what the reflectors are applied to: R again, or noise where s(j, j) is 0. Block
 * y: a column. */
__global__ void put_columns(float *a, int64_t lda, int64_t rows, int64_t j0, const float *s,
                            int64_t lds, const float *add)
{
    const int64_t j = j0 + blockIdx.y;
    float *const mine = a + blockIdx.y * lda;
    const bool dependent = s[j + j * lds] == 0;
    const float some = add[j] * sqrtf(3 / (float)rows); /* noise has a norm of sqrt(rows / 3) */
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows;
         i += (int64_t)gridDim.x * blockDim.x) {
        const float old = i <= j ? mine[i] : 0;
        if (dependent)
            mine[i] = noise_of(i, j);
        else
            mine[i] = some != 0 ? old + some * noise_of(i, j) : old;
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

int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

unsigned blocks_for(int64_t rows)
{
    return (unsigned)smaller((rows + 255) / 256, 64);
}

/* Reflectors j0 .. end - 1 of the factored a, in rows of the band. */
struct house_reflectors reflectors_of(const struct bd_cuda_blocked *work, const float *a,
                                      int64_t lda, int64_t rows, int64_t j0, int64_t end)
{
    struct house_reflectors x = {};
    x.v = a + j0 + j0 * lda;
    x.ldv = lda;
    x.rows = rows;
    x.cols = (int)(end - j0);
    x.t = work->house_t + j0 / caqr_inner * caqr_t_size;
    x.cross = work->house_cross + j0 / block * house_cross_floats;
    return x;
}

/* As blocked_multiply, on a stream. */
enum bd_status multiply_on(struct bd_cuda_blocked *work, cudaStream_t stream, int64_t m, int64_t n,
                           int64_t k, const float *a, int64_t lda, int a_transposed, const float *b,
                           int64_t ldb, int b_transposed, float alpha, float beta, float *c,
                           int64_t ldc)
{
    const struct givens_product x = {
        m, n, k, a, lda, a_transposed, b, ldb, b_transposed, alpha, beta, c, ldc, work->parts
    };
    return givens_multiply(work->cuda, stream, &x);
}

/* Q(:, window) := Q(:, window) (I - V T V^T) for the reflectors of `x`, whose first row is column
 * j0. It runs beside what is enqueued next, which must not change the reflectors, nor work->v, vt,
 * s, t, y and parts, before work->applied. */
enum bd_status apply_right(struct bd_cuda_blocked *work, const struct house_reflectors *x,
                           int64_t j0, const struct blocked_right *q)
{
    const int64_t w = x->rows, ld = (w + 31) / 32 * 32, cols = x->cols;
    const cudaStream_t stream = work->side_q;
    cudaEventRecord(work->factored, work->cuda->stream);
    cudaStreamWaitEvent(stream, work->factored, 0);
    take_reflectors<<<dim3(blocks_for(w), (unsigned)cols), 256, 0, stream>>>(work->v, ld, x->v,
                                                                             x->ldv, w);
    enum bd_status status = multiply_on(work, stream, cols, cols, w, work->v, ld, 1, work->v, ld, 0,
                                        1, 0, work->s, block);
    if (status != BD_OK)
        return status;
    norm_reflectors<<<(unsigned)cols, 256, 0, stream>>>(work->s, work->v, ld, w);
    make_t<<<1, block, 0, stream>>>(work->t, work->s, x->t, (int)cols);
    status = multiply_on(work, stream, w, cols, cols, work->v, ld, 0, work->t, block, 0, 1, 0,
                         work->vt, ld);
    /* The part of the window in q0, then that in q. */
    const int64_t in_first = j0 < q->first ? smaller(q->first - j0, w) : 0;
    const struct {
        float *x;
        int64_t ld, first, count;
    } parts[] = { { q->q0 + j0 * q->ldq0, q->ldq0, 0, in_first },
                  { q->q + (j0 + in_first - q->first) * q->ldq, q->ldq, in_first, w - in_first } };
    for (int64_t row = 0; row < q->rows && status == BD_OK; row += work->ldy) {
        const int64_t rows = smaller(q->rows - row, work->ldy);
        bool begun = false;
        for (const auto &part : parts)
            if (part.count > 0 && status == BD_OK) {
                status = multiply_on(work, stream, rows, cols, part.count, part.x + row, part.ld, 0,
                                     work->vt + part.first, ld, 0, 1, begun ? 1.0F : 0.0F, work->y,
                                     work->ldy);
                begun = true;
            }
        for (const auto &part : parts)
            if (part.count > 0 && status == BD_OK)
                status = multiply_on(work, stream, rows, part.count, cols, work->y, work->ldy, 0,
                                     work->v + part.first, ld, 1, -1, 1, part.x + row, part.ld);
    }
    cudaEventRecord(work->applied, stream);
    return status;
}

/* a := Q of the last factorisation times an identity (s = NULL), or times the columns of
 * put_columns. */
enum bd_status apply_reflectors(struct bd_cuda_blocked *work, float *a, int64_t lda, int64_t rows,
                                int64_t cols, const float *s, int64_t lds, const float *add)
{
    const int64_t ldv = (rows + 31) / 32 * 32;
    enum bd_status status = BD_OK;
    for (int64_t end = cols, j0; end > 0 && status == BD_OK; end = j0) {
        j0 = (end - 1) / block * block;
        struct house_reflectors x = reflectors_of(work, a, lda, rows - j0, j0, end);
        const dim3 grid(blocks_for(rows), (unsigned)(end - j0));
        take_reflectors<<<grid, 256, 0, work->cuda->stream>>>(work->v, ldv, a + j0 + j0 * lda, lda,
                                                              rows - j0);
        if (s)
            put_columns<<<grid, 256, 0, work->cuda->stream>>>(a + j0 * lda, lda, rows, j0, s, lds,
                                                              add);
        else
            put_identity<<<grid, 256, 0, work->cuda->stream>>>(a + j0 * lda, lda, rows, j0);
        x.v = work->v;
        x.ldv = ldv;
        x.whole = 1;
        status =
            house_apply(work->cuda, &x, 0, 0, a + j0 + j0 * lda, lda, cols - j0, work->house_parts);
    }
    return status;
}

} // namespace

extern "C" {

enum bd_status blocked_multiply(struct bd_cuda_blocked *work, int64_t m, int64_t n, int64_t k,
                                const float *a, int64_t lda, int a_transposed, const float *b,
                                int64_t ldb, int b_transposed, float alpha, float beta, float *c,
                                int64_t ldc)
{
    return multiply_on(work, work->cuda->stream, m, n, k, a, lda, a_transposed, b, ldb,
                       b_transposed, alpha, beta, c, ldc);
}

enum bd_status blocked_factor(struct bd_cuda_blocked *work, float *a, int64_t lda, int64_t rows,
                              int64_t cols, int64_t all, int64_t band,
                              const struct blocked_right *q)
{
    enum bd_status status = BD_OK;
    for (int64_t j0 = 0; j0 < cols && status == BD_OK; j0 += block) {
        const int64_t end = smaller(j0 + block, cols), w = smaller(rows - j0, band + block);
        /* Without a band, blocked_form needs the products of reflectors. */
        const bool together = band >= rows || w * (all - j0) > together_elements;
        for (int64_t j = j0; j < end && status == BD_OK; j += caqr_inner) {
            const int64_t next = smaller(j + caqr_inner, end), to = together ? end : all;
            const struct house_reflectors x = reflectors_of(work, a, lda, w - (j - j0), j, next);
            status = house_factor_panel(work->cuda, a + j + j * lda, lda, x.rows, x.cols,
                                        work->house_t + j / caqr_inner * caqr_t_size, &work->box);
            if (status == BD_OK && next < to)
                status = house_apply(work->cuda, &x, 1, 1, a + j + next * lda, lda, to - next,
                                     work->house_parts);
        }
        const struct house_reflectors x = reflectors_of(work, a, lda, w, j0, end);
        if (status == BD_OK && together)
            status =
                house_cross(work->cuda, &x, work->house_cross + j0 / block * house_cross_floats,
                            work->house_parts);
        if (status == BD_OK && together)
            status = house_apply(work->cuda, &x, 1, 1, a + j0 + end * lda, lda, all - end,
                                 work->house_parts);
        if (status == BD_OK && q)
            status = apply_right(work, &x, j0, q);
    }
    if (q)
        cudaStreamWaitEvent(work->cuda->stream, work->applied, 0);
    return status;
}

enum bd_status blocked_form(struct bd_cuda_blocked *work, float *a, int64_t lda, int64_t rows,
                            int64_t cols, float *r, int64_t ldr)
{
    enum bd_status status = blocked_copy_upper(work, r, ldr, a, lda, cols, cols, 0);
    return status == BD_OK ? apply_reflectors(work, a, lda, rows, cols, NULL, 0, NULL) : status;
}

/* W' = Q^T X in pieces of 64 columns; W += W' S; X -= Q W'. */
static enum bd_status project(struct bd_cuda_blocked *work, const float *q, int64_t ldq, int64_t m,
                              int64_t n, float *x, int64_t ldx, int64_t p, float *w, int64_t ldw,
                              const float *s, int64_t lds)
{
    float *const more = work->y;
    enum bd_status status = BD_OK;
    for (int64_t j = 0; j < p && status == BD_OK; j += block) {
        const int64_t c = smaller(p - j, block);
        status =
            blocked_multiply(work, n, c, m, q, ldq, 1, x + j * ldx, ldx, 0, 1, 0, more, work->ldy);
        if (status == BD_OK) /* rows j .. of S, from column j on */
            status = blocked_multiply(work, n, p - j, c, more, work->ldy, 0, s + j + j * lds, lds,
                                      0, 1, 1, w + j * ldw, ldw);
        if (status == BD_OK)
            status = blocked_multiply(work, m, c, n, q, ldq, 0, more, work->ldy, 0, -1, 1,
                                      x + j * ldx, ldx);
    }
    return status;
}

/* Replaces the columns of X (projected twice) that depend on others by noise; S := a diagonal of 0
 * for them and 1 for the others. */
static enum bd_status replace_dependent(struct bd_cuda_blocked *work, int64_t m, int64_t n,
                                        float *x, int64_t ldx, int64_t p, const float *w,
                                        int64_t ldw, float *s, int64_t lds)
{
    const int64_t g = work->group;
    float *const r = work->small, *const add = r + g * g;
    const cudaStream_t stream = work->cuda->stream;
    enum bd_status status = blocked_factor(work, x, ldx, m, p, p, m, NULL);
    if (status == BD_OK)
        status = blocked_copy_upper(work, r, g, x, ldx, p, p, 0);
    if (status == BD_OK)
        status = blocked_clear(work, s, lds, p, p);
    if (status != BD_OK)
        return status;
    column_norms<<<(unsigned)p, 256, 0, stream>>>(s, lds, r, g, w, ldw, n);
    find_dependent<<<1, find_threads, 0, stream>>>(r, g, (int)p, n, s, lds, add);
    status = bd_cuda_launched("QR update: new directions");
    return status == BD_OK ? apply_reflectors(work, x, ldx, m, p, s, lds, add) : status;
}

enum bd_status blocked_orthonormalise(struct bd_cuda_blocked *work, const float *q, int64_t ldq,
                                      int64_t m, int64_t n, float *x, int64_t ldx, int64_t p,
                                      const float *u, int64_t ldu, int64_t unit, float *w,
                                      int64_t ldw, float *s, int64_t lds)
{
    const int64_t g = work->group;
    float *const r = work->small, *const next = r + g * g;
    enum bd_status status = blocked_clear(work, s, lds, p, p);
    if (status == BD_OK)
        status = blocked_ones(work, s, lds, 0, p);
    /* Only a second projection leaves nothing but rounding of a column that depends on Q. */
    if (status == BD_OK)
        status = project(work, q, ldq, m, n, x, ldx, p, w, ldw, s, lds);
    if (status == BD_OK)
        status = replace_dependent(work, m, n, x, ldx, p, w, ldw, s, lds);
    /* Twice more, for the columns that were replaced. */
    for (int i = 0; i < 2 && status == BD_OK; i++) {
        status = project(work, q, ldq, m, n, x, ldx, p, w, ldw, s, lds);
        if (status == BD_OK)
            status = blocked_factor(work, x, ldx, m, p, p, m, NULL);
        if (status == BD_OK)
            status = blocked_form(work, x, ldx, m, p, r, g);
        if (status == BD_OK)
            status = blocked_multiply(work, p, p, p, r, g, 0, s, lds, 0, 1, 0, next, g);
        if (status == BD_OK)
            status = blocked_copy_upper(work, s, lds, next, g, p, p, 0);
    }
    if (status != BD_OK)
        return status;
    dependent_columns<<<(unsigned)p, 512, 0, work->cuda->stream>>>(s, lds, x, ldx, m, u, ldu, unit);
    return bd_cuda_launched("QR update: new directions");
}

} // extern "C"
