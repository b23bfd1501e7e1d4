/* Blocked QR updating: copies, and moves in place. A move in place reads everything before its
 * place is written: a thread block goes along a column, or a thread along a row, in
 * order. */
#include "gpu/core/columns.h"
#include "gpu/update/blocked/blocked.h"

namespace
{

enum { move_threads = 256, move_ahead = 8, turn = 32 };

__global__ void copy_upper(float *to, int64_t ld_to, const float *from, int64_t ld_from,
                           int64_t rows, int64_t cols, int64_t diagonal)
{
    for (int64_t j = blockIdx.y; j < cols; j += gridDim.y)
        for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows;
             i += (int64_t)gridDim.x * blockDim.x)
            to[i + j * ld_to] = i <= j + diagonal ? from[i + j * ld_from] : 0;
}

/* Block: 32 x 32 elements, read by columns and written by rows. */
__global__ void transpose(float *to, int64_t ld_to, const float *from, int64_t ld_from,
                          int64_t rows, int64_t cols)
{
    __shared__ float tile[turn][turn + 1];
    const int x = (int)threadIdx.x % turn, y = (int)threadIdx.x / turn;
    const int step = (int)blockDim.x / turn;
    const int64_t i0 = (int64_t)blockIdx.x * turn, j0 = (int64_t)blockIdx.y * turn;
    for (int j = y; j < turn; j += step)
        if (i0 + x < rows && j0 + j < cols)
            tile[j][x] = from[i0 + x + (j0 + j) * ld_from];
    __syncthreads();
    for (int i = y; i < turn; i += step)
        if (i0 + i < rows && j0 + x < cols)
            to[j0 + x + (i0 + i) * ld_to] = tile[x][i];
}

__global__ void ones(float *x, int64_t ld, int64_t i0, int64_t p)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p)
        x[i0 + i + i * ld] = 1;
}

/* Block: one column after another, in pieces. `count` rows from `first` on, upwards where they move
 * down (by > 0) and downwards where they move up. */
__global__ void move_rows(float *x, int64_t ld, int64_t first, int64_t count, int64_t cols,
                          int64_t by)
{
    constexpr int64_t piece = move_threads * move_ahead;
    const int64_t step = by < 0 ? 1 : -1;
    for (int64_t j = blockIdx.x; j < cols; j += gridDim.x) {
        float *from = x + first + j * ld;
        for (int64_t done = 0; done < count; done += piece) {
            float y[move_ahead];
#pragma unroll
            for (int a = 0; a < move_ahead; a++) {
                const int64_t i = done + threadIdx.x + a * move_threads;
                y[a] = i < count ? from[step * i] : 0;
            }
            __syncthreads();
#pragma unroll
            for (int a = 0; a < move_ahead; a++) {
                const int64_t i = done + threadIdx.x + a * move_threads;
                if (i < count)
                    from[step * i + by] = y[a];
            }
            __syncthreads();
        }
    }
}

/* Thread: a row, of which it reads 16 columns before it writes them; by < 0: to the left. */
__global__ void move_columns(float *x, int64_t ld, int64_t rows, int64_t first, int64_t count,
                             int64_t by)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t step = by < 0 ? 1 : -1;
    if (i >= rows)
        return;
    for (int64_t j = 0; j < count; j += 2 * move_ahead) {
        float y[2 * move_ahead];
#pragma unroll
        for (int a = 0; a < 2 * move_ahead; a++)
            y[a] = j + a < count ? x[i + (first + step * (j + a)) * ld] : 0;
#pragma unroll
        for (int a = 0; a < 2 * move_ahead; a++)
            if (j + a < count)
                x[i + (first + step * (j + a) + by) * ld] = y[a];
    }
}

unsigned up_to(int64_t x, int64_t most)
{
    return (unsigned)(x < 1 ? 1 : x < most ? x : most);
}

} // namespace

void blocked_copy(struct bd_cuda_blocked *work, float *to, int64_t ld_to, const float *from,
                  int64_t ld_from, int64_t rows, int64_t cols)
{
    if (work->status != BD_OK || rows <= 0 || cols <= 0)
        return;
    work->status = bd_cuda_check(bd_cuda_copy_columns(to, (size_t)ld_to * sizeof *to, from,
                                                      (size_t)ld_from * sizeof *from,
                                                      (size_t)rows * sizeof *to, (size_t)cols,
                                                      cudaMemcpyDeviceToDevice, work->cuda->stream),
                                 "QR update: copying a matrix");
}

void blocked_copy_upper(struct bd_cuda_blocked *work, float *to, int64_t ld_to, const float *from,
                        int64_t ld_from, int64_t rows, int64_t cols, int64_t diagonal)
{
    if (work->status != BD_OK || rows <= 0 || cols <= 0)
        return;
    const dim3 grid(up_to((rows + move_threads - 1) / move_threads, 64), up_to(cols, 32768));
    copy_upper<<<grid, move_threads, 0, work->cuda->stream>>>(to, ld_to, from, ld_from, rows, cols,
                                                              diagonal);
    work->status = bd_cuda_launched("QR update: copying a triangle");
}

void blocked_clear(struct bd_cuda_blocked *work, float *x, int64_t ld, int64_t rows, int64_t cols)
{
    if (work->status != BD_OK || rows <= 0 || cols <= 0)
        return;
    work->status =
        bd_cuda_check(bd_cuda_clear_columns(x, (size_t)ld * sizeof *x, (size_t)rows * sizeof *x,
                                            (size_t)cols, work->cuda->stream),
                      "QR update: clearing a matrix");
}

void blocked_transpose(struct bd_cuda_blocked *work, float *to, int64_t ld_to, const float *from,
                       int64_t ld_from, int64_t rows, int64_t cols)
{
    if (work->status != BD_OK || rows <= 0 || cols <= 0)
        return;
    const dim3 grid((unsigned)((rows + turn - 1) / turn), (unsigned)((cols + turn - 1) / turn));
    transpose<<<grid, move_threads, 0, work->cuda->stream>>>(to, ld_to, from, ld_from, rows, cols);
    work->status = bd_cuda_launched("QR update: transposing rows");
}

void blocked_ones(struct bd_cuda_blocked *work, float *x, int64_t ld, int64_t i0, int64_t p)
{
    if (work->status != BD_OK)
        return;
    ones<<<(unsigned)((p + 255) / 256), 256, 0, work->cuda->stream>>>(x, ld, i0, p);
    work->status = bd_cuda_launched("QR update: an identity");
}

void blocked_move_rows(struct bd_cuda_blocked *work, float *x, int64_t ld, int64_t k, int64_t rows,
                       int64_t cols, int64_t by)
{
    if (work->status != BD_OK || rows <= 0 || cols <= 0)
        return;
    const int64_t first = by < 0 ? k : k + rows - 1;
    move_rows<<<up_to(cols, 8 * work->cuda->sms), move_threads, 0, work->cuda->stream>>>(
        x, ld, first, rows, cols, by);
    work->status = bd_cuda_launched("QR update: moving rows");
}

void blocked_move_columns(struct bd_cuda_blocked *work, float *x, int64_t ld, int64_t rows,
                          int64_t k, int64_t cols, int64_t by)
{
    if (work->status != BD_OK || rows <= 0 || cols <= 0)
        return;
    const int64_t first = by < 0 ? k : k + cols - 1;
    move_columns<<<(unsigned)((rows + 63) / 64), 64, 0, work->cuda->stream>>>(x, ld, rows, first,
                                                                              cols, by);
    work->status = bd_cuda_launched("QR update: moving columns");
}
