/* Blocked QR updating: the workspace, and functions for right-hand sides. */
#include "gpu/update/blocked/blocked.h"

#include <stdlib.h>

namespace
{

enum { solve_rows = 64, solve_threads = 256, most_grid_y = 65535 };

int64_t rounded(int64_t x, int64_t to)
{
    return (x + to - 1) / to * to;
}

__global__ void find_zero(const float *r, int64_t ldr, int64_t n, int *bad)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * blockDim.x)
        if (r[i + i * ldr] == 0)
            *bad = 1;
}

/* y, elements lane and lane + 32 of a column in a lane, := R^-1 y for the triangle in shared
 * memory, by a warp. */
__device__ __forceinline__ void solve_triangle(float (&y)[2],
                                               const float (&triangle)[solve_rows][solve_rows + 1],
                                               int rows, int lane)
{
    for (int j = rows - 1; j >= 0; j--) {
        float found = __shfl_sync(~0U, j < 32 ? y[0] : y[1], j % 32);
        found /= triangle[j][j];
        if (lane == j % 32)
            (j < 32 ? y[0] : y[1]) = found;
        if (lane < j)
            y[0] -= triangle[j][lane] * found;
        if (lane + 32 < j)
            y[1] -= triangle[j][lane + 32] * found;
    }
}

/* A step of X := R^-1 X from the bottom, 64 rows at a time. solved: rows j .. j + rows - 1 of X are
 * final, and each thread block subtracts their part from 64 rows above; the last block then solves
 * for its rows, the next from the bottom. Not solved: the only block solves for rows j .. . Block
 * y: a column of X. */
__global__ void __launch_bounds__(solve_threads)
    solve_step(const float *r, int64_t ldr, int64_t j, int rows, float *x, int64_t ldx, int solved)
{
    constexpr int shares = solve_threads / solve_rows;
    __shared__ float triangle[solve_rows][solve_rows + 1], sums[shares][solve_rows];
    const int i = (int)threadIdx.x % solve_rows, share = (int)threadIdx.x / solve_rows;
    const int64_t first = solved ? (int64_t)blockIdx.x * solve_rows : j;
    const int mine = solved ? solve_rows : rows;
    float *const column = x + blockIdx.y * ldx;
    const bool last = blockIdx.x + 1 == gridDim.x;
    if (last)
        for (int c = share; c < mine; c += shares)
            triangle[c][i] = i < mine ? r[first + i + (first + c) * ldr] : 0;
    float sum = 0;
    if (solved)
        for (int c = share; c < rows; c += shares)
            sum += r[first + i + (j + c) * ldr] * column[j + c];
    sums[share][i] = sum;
    __syncthreads();
    if (threadIdx.x >= 32)
        return;
    float y[2];
    for (int h = 0; h < 2; h++) {
        const int row = (int)threadIdx.x + 32 * h;
        y[h] = row < mine ? column[first + row] : 0;
        for (int c = 0; c < shares; c++)
            y[h] -= sums[c][row];
    }
    if (last)
        solve_triangle(y, triangle, mine, (int)threadIdx.x);
    for (int h = 0; h < 2; h++)
        if ((int)threadIdx.x + 32 * h < mine)
            column[first + threadIdx.x + 32 * h] = y[h];
}

/* Passes over Q have the least priority: only the end of an update waits for them. */
bd_status make_streams(struct bd_cuda_blocked *work)
{
    cudaError_t error = bd_cuda_make_stream(&work->side_r, bd_cuda_soon);
    if (error == cudaSuccess)
        error = bd_cuda_make_stream(&work->side_q, bd_cuda_late);
    cudaEvent_t *const events[] = { &work->formed,     &work->swept_r[0], &work->swept_r[1],
                                    &work->swept_q[0], &work->swept_q[1], &work->factored,
                                    &work->applied };
    for (cudaEvent_t *event : events)
        if (error == cudaSuccess)
            error = cudaEventCreateWithFlags(event, cudaEventDisableTiming);
    return bd_cuda_check(error, "preparing QR updating");
}

} // namespace

void bd_cuda_blocked_destroy(struct bd_cuda_blocked *work)
{
    if (!work)
        return;
    void *const all[] = { work->sweep.v,     work->sweep.triangle,
                          work->parts,       work->d,
                          work->extra,       work->v,
                          work->vt,          work->y,
                          work->s,           work->t,
                          work->small,       work->h,
                          work->house_t,     work->house_cross,
                          work->house_parts, work->box.words,
                          work->g[0],        work->g[1] };
    cudaStreamSynchronize(work->cuda->stream);
    for (cudaEvent_t event : { work->formed, work->swept_r[0], work->swept_r[1], work->swept_q[0],
                               work->swept_q[1], work->factored, work->applied })
        if (event)
            cudaEventDestroy(event);
    for (cudaStream_t stream : { work->side_r, work->side_q })
        if (stream)
            cudaStreamDestroy(stream);
    for (void *data : all)
        bd_cuda_free(data);
    free(work);
}

enum bd_status bd_cuda_blocked_create(struct bd_cuda *cuda, const struct bd_qr_update_shape *shape,
                                      struct bd_cuda_blocked **out)
{
    static const char what[] = "QR updating";
    struct bd_cuda_blocked *work = (struct bd_cuda_blocked *)calloc(1, sizeof *work);
    *out = NULL;
    if (cuda->shared_most < givens_shared_bytes) {
        free(work);
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "cuda: QR updating beyond a few columns of a thin Q takes %d KB of shared "
                       "memory: this GPU has %d",
                       givens_shared_bytes >> 10, cuda->shared_most >> 10);
    }
    if (!work)
        return bd_fail(BD_ERROR_MEMORY, "no memory for QR updating");
    const int64_t cols = shape->max_cols, rhs = shape->max_rhs;
    work->cuda = cuda;
    work->shape = *shape;
    work->group = smaller(shape->max_block, blocked_group);
    work->row_group = smaller(shape->max_block, blocked_row_group);
    /* Rows that come are appended to Q, and a spike has `group` rows more than R. */
    work->ld = rounded(shape->max_rows + work->group, 32);
    work->ldd = shape->full_q ? work->ld : rounded(cols + work->group, 32);
    work->ldh = rounded(cols + work->row_group + 32, 32);
    work->ldy = smaller(work->ld, blocked_rows);
    work->ldy = rounded(work->ldy > cols ? work->ldy : cols, 32);
    work->box.turn = 1;
    const int64_t dense = smaller(cols, blocked_dense);
    const int64_t windows = (cols + givens_rows - 1) / givens_rows, group = work->group;
    const int64_t most = cols > group + dense ? cols : group + dense, ld = work->ld,
                  block = house_most_cols;
    /* New directions have as many reflectors as columns, in all rows; bands have up to 64, in as
     * many rows as R and what comes in. */
    const int64_t tall = ld * (shape->full_q ? block : smaller(block, group)),
                  banded = (rounded(cols + group, 32) + 64) * block;
    const int64_t reflectors = tall > banded ? tall : banded;
    const struct {
        float **data;
        int64_t floats;
    } parts[] = {
        { &work->sweep.v, windows * givens_v_floats },
        { &work->g[0], windows * givens_g_floats },
        { &work->g[1], windows * givens_g_floats },
        { &work->sweep.triangle, givens_most * givens_most },
        { &work->parts, givens_parts_floats },
        { &work->d, work->ldd * (group + dense + rhs) },
        { &work->extra, ld * group },
        { &work->v, reflectors },
        { &work->vt, reflectors },
        { &work->y, work->ldy * block },
        { &work->s, block * block },
        { &work->t, block * block },
        { &work->small, 2 * group * group },
        { &work->h, work->ldh * (cols + rhs) },
        { &work->house_t, rounded(most, caqr_inner) / caqr_inner * caqr_t_size },
        { &work->house_cross, rounded(most, block) / block * house_cross_floats },
        { &work->house_parts, house_parts_floats(cuda, most + rhs) },
    };
    enum bd_status status = BD_OK;
    bd_cuda_take(&status, cuda, &work->box.words, house_box_words(cuda), what);
    for (const auto &part : parts)
        bd_cuda_take(&status, cuda, part.data, (size_t)part.floats, what);
    if (status == BD_OK)
        status = make_streams(work);
    if (status != BD_OK) {
        bd_cuda_blocked_destroy(work);
        return status;
    }
    *out = work;
    return BD_OK;
}

enum bd_status bd_cuda_blocked_begin(struct bd_cuda_blocked *work)
{
    work->status = BD_OK;
    if (work->ready)
        return BD_OK;
    enum bd_status status = house_prepare(work->cuda, &work->box.most_cluster);
    if (status == BD_OK)
        status = house_prepare_update(work->cuda);
    if (status == BD_OK)
        status = givens_factor_prepare(work->cuda);
    if (status == BD_OK)
        status = givens_apply_prepare(work->cuda);
    if (status == BD_OK)
        status = givens_multiply_prepare(work->cuda);
    work->ready = status == BD_OK;
    return status;
}

enum bd_status bd_cuda_blocked_check_diagonal(struct bd_cuda_blocked *work, const float *r,
                                              int64_t ldr, int64_t n, int *bad)
{
    const cudaStream_t stream = work->cuda->stream;
    enum bd_status status =
        bd_cuda_check(cudaMemsetAsync(bad, 0, sizeof *bad, stream), "QR update: solving");
    if (status != BD_OK || n == 0)
        return status;
    find_zero<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(r, ldr, n, bad);
    return bd_cuda_launched("QR update: solving");
}

enum bd_status bd_cuda_blocked_solve(struct bd_cuda_blocked *work, const float *r, int64_t ldr,
                                     int64_t n, const float *d, int64_t ldd, int64_t rhs, float *x,
                                     int64_t ldx)
{
    const cudaStream_t stream = work->cuda->stream;
    if (x != d)
        blocked_copy(work, x, ldx, d, ldd, n, rhs);
    if (work->status != BD_OK || n == 0 || rhs == 0)
        return work->status;
    for (int64_t c = 0; c < rhs; c += most_grid_y) {
        const unsigned columns = (unsigned)smaller(rhs - c, most_grid_y);
        float *const some = x + c * ldx;
        int64_t j = (n - 1) / solve_rows * solve_rows;
        int rows = (int)(n - j);
        solve_step<<<dim3(1, columns), solve_threads, 0, stream>>>(r, ldr, j, rows, some, ldx, 0);
        for (; j > 0; j -= solve_rows, rows = solve_rows)
            solve_step<<<dim3((unsigned)(j / solve_rows), columns), solve_threads, 0, stream>>>(
                r, ldr, j, rows, some, ldx, 1);
    }
    return bd_cuda_launched("QR update: solving");
}
