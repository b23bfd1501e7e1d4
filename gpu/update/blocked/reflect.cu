/* Blocked QR updating: banded Householder QR, and its reflectors from the right.
 *
 * Schreiber, Van Loan: A storage-efficient WY representation for products of Householder
 * transformations (1989). */
#include "gpu/update/blocked/blocked.h"
#include "gpu/update/update.cuh"

namespace
{

enum { block = house_most_cols };

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

/* Noise between -1 and 1 for an element. */
__device__ float noise_of(int64_t row, int64_t column)
{
    uint32_t h = (uint32_t)(row * 2654435761U + (column + 1) * 40503U);
    h = (h ^ h >> 15) * 2246822519U;
    h = (h ^ h >> 13) * 3266489917U;
    return (float)(int32_t)(h ^ h >> 16) * 0x1p-31F;
}

/* Columns j0 .. of what the reflectors are applied to: R again, or noise where s(j, j) is 0; with
 * s = NULL an identity. Block y: a column. */
__global__ void put_columns(float *a, int64_t lda, int64_t rows, int64_t j0, const float *s,
                            int64_t lds, const float *add)
{
    const int64_t j = j0 + blockIdx.y;
    float *const mine = a + blockIdx.y * lda;
    const bool dependent = s && s[j + j * lds] == 0;
    /* Noise has a norm of sqrt(rows / 3). */
    const float some = s ? add[j] * sqrtf(3 / (float)rows) : 0;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows;
         i += (int64_t)gridDim.x * blockDim.x) {
        const float old = !s ? (float)(i == j) : i <= j ? mine[i] : 0;
        if (dependent)
            mine[i] = noise_of(i, j);
        else
            mine[i] = some != 0 ? old + some * noise_of(i, j) : old;
    }
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
void multiply_on(struct bd_cuda_blocked *work, cudaStream_t stream, int64_t m, int64_t n, int64_t k,
                 const float *a, int64_t lda, int a_transposed, const float *b, int64_t ldb,
                 int b_transposed, float alpha, float beta, float *c, int64_t ldc)
{
    const struct givens_product x = {
        m, n, k, a, lda, a_transposed, b, ldb, b_transposed, alpha, beta, c, ldc, work->parts
    };
    if (work->status == BD_OK)
        work->status = givens_multiply(work->cuda, stream, &x);
}

/* Q(:, window) := Q(:, window) (I - V T V^T) for the reflectors of `x`, whose first row is column
 * j0. It runs beside what is enqueued next, which must not change the reflectors, nor work->v, vt,
 * s, t, y and parts, before work->applied. */
void apply_right(struct bd_cuda_blocked *work, const struct house_reflectors *x, int64_t j0,
                 const struct blocked_right *q)
{
    const int64_t w = x->rows, ld = (w + 31) / 32 * 32, cols = x->cols;
    const cudaStream_t stream = work->side_q;
    cudaEventRecord(work->factored, work->cuda->stream);
    cudaStreamWaitEvent(stream, work->factored, 0);
    take_reflectors<<<dim3(blocks_for(w), (unsigned)cols), 256, 0, stream>>>(work->v, ld, x->v,
                                                                             x->ldv, w);
    multiply_on(work, stream, cols, cols, w, work->v, ld, 1, work->v, ld, 0, 1, 0, work->s, block);
    if (work->status != BD_OK)
        return;
    norm_reflectors<<<(unsigned)cols, 256, 0, stream>>>(work->s, work->v, ld, w);
    make_t<<<1, block, 0, stream>>>(work->t, work->s, x->t, (int)cols);
    multiply_on(work, stream, w, cols, cols, work->v, ld, 0, work->t, block, 0, 1, 0, work->vt, ld);
    /* The part of the window in q0, then that in q. */
    const int64_t in_first = j0 < q->first ? smaller(q->first - j0, w) : 0;
    const struct {
        float *x;
        int64_t ld, first, count;
    } parts[] = { { q->q0 + j0 * q->ldq0, q->ldq0, 0, in_first },
                  { q->q + (j0 + in_first - q->first) * q->ldq, q->ldq, in_first, w - in_first } };
    for (int64_t row = 0; row < q->rows; row += work->ldy) {
        const int64_t rows = smaller(q->rows - row, work->ldy);
        bool begun = false;
        for (const auto &part : parts)
            if (part.count > 0) {
                multiply_on(work, stream, rows, cols, part.count, part.x + row, part.ld, 0,
                            work->vt + part.first, ld, 0, 1, begun ? 1.0F : 0.0F, work->y,
                            work->ldy);
                begun = true;
            }
        for (const auto &part : parts)
            if (part.count > 0)
                multiply_on(work, stream, rows, part.count, cols, work->y, work->ldy, 0,
                            work->v + part.first, ld, 1, -1, 1, part.x + row, part.ld);
    }
    cudaEventRecord(work->applied, stream);
}

} // namespace

void blocked_apply_reflectors(struct bd_cuda_blocked *work, float *a, int64_t lda, int64_t rows,
                              int64_t cols, const float *s, int64_t lds, const float *add)
{
    const int64_t ldv = (rows + 31) / 32 * 32;
    for (int64_t end = cols, j0; end > 0 && work->status == BD_OK; end = j0) {
        j0 = (end - 1) / block * block;
        struct house_reflectors x = reflectors_of(work, a, lda, rows - j0, j0, end);
        const dim3 grid(blocks_for(rows), (unsigned)(end - j0));
        take_reflectors<<<grid, 256, 0, work->cuda->stream>>>(work->v, ldv, a + j0 + j0 * lda, lda,
                                                              rows - j0);
        put_columns<<<grid, 256, 0, work->cuda->stream>>>(a + j0 * lda, lda, rows, j0, s, lds, add);
        x.v = work->v;
        x.ldv = ldv;
        x.whole = 1;
        work->status =
            house_apply(work->cuda, &x, 0, 0, a + j0 + j0 * lda, lda, cols - j0, work->house_parts);
    }
}

void blocked_multiply(struct bd_cuda_blocked *work, int64_t m, int64_t n, int64_t k, const float *a,
                      int64_t lda, int a_transposed, const float *b, int64_t ldb, int b_transposed,
                      float alpha, float beta, float *c, int64_t ldc)
{
    multiply_on(work, work->cuda->stream, m, n, k, a, lda, a_transposed, b, ldb, b_transposed,
                alpha, beta, c, ldc);
}

void blocked_factor(struct bd_cuda_blocked *work, float *a, int64_t lda, int64_t rows, int64_t cols,
                    int64_t all, int64_t band, const struct blocked_right *q)
{
    for (int64_t j0 = 0; j0 < cols && work->status == BD_OK; j0 += block) {
        const int64_t end = smaller(j0 + block, cols), w = smaller(rows - j0, band + block);
        /* Without a band, blocked_apply_reflectors needs the products of reflectors. */
        const bool together = band >= rows || w * (all - j0) > together_elements;
        for (int64_t j = j0; j < end && work->status == BD_OK; j += caqr_inner) {
            const int64_t next = smaller(j + caqr_inner, end), to = together ? end : all;
            const struct house_reflectors x = reflectors_of(work, a, lda, w - (j - j0), j, next);
            work->status =
                house_factor_panel(work->cuda, a + j + j * lda, lda, x.rows, x.cols,
                                   work->house_t + j / caqr_inner * caqr_t_size, &work->box);
            if (work->status == BD_OK && next < to)
                work->status = house_apply(work->cuda, &x, 1, 1, a + j + next * lda, lda, to - next,
                                           work->house_parts);
        }
        const struct house_reflectors x = reflectors_of(work, a, lda, w, j0, end);
        if (work->status == BD_OK && together)
            work->status =
                house_cross(work->cuda, &x, work->house_cross + j0 / block * house_cross_floats,
                            work->house_parts);
        if (work->status == BD_OK && together)
            work->status = house_apply(work->cuda, &x, 1, 1, a + j0 + end * lda, lda, all - end,
                                       work->house_parts);
        if (work->status == BD_OK && q)
            apply_right(work, &x, j0, q);
    }
    if (q)
        cudaStreamWaitEvent(work->cuda->stream, work->applied, 0);
}
