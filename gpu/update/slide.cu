/* The joined pass of a slide by one column: rotations of Q, the projection of the new column, and
 * the inner products of what is left of it, with Q read once and written once. The plain way is the
 * three passes of q.cu (rotate, subtract, dots).
 *
 * A warp takes 128 rows of all columns at a time, 4 rows a lane, into its part of shared memory. A
 * lane reads only its own rows there, so warps need no barriers. First a warp rotates, writes Q and
 * subtracts. Then it needs the rows of Q again, for inner products with what is left. As soon as it
 * is done with a column, it starts an asynchronous copy of the column's next 128 rows, so that
 * memory is always busy. The pass has 90 % of the speed of a copy on an H100. Waiting for the rows
 * of a tile in four parts, streaming stores, and warps of a block in step made no difference. For 8
 * columns at a time the joined pass was slower than one pass that rotates and subtracts and one of
 * inner products: there is shared memory for only 3 warps, which is too few for the work. */
#include "gpu/core/pipeline.cuh"
#include "gpu/update/update.cuh"

namespace
{

enum { tile_rows = 128 /* of a warp: 4 a lane */, most_warps = 8 };

/* Where things lie in shared memory: the warps' rows (columns x 32 lanes x 16 bytes), the warps'
 * sums (double), rotations and coefficients (steps + slack of each). */
struct tile_layout {
    int warps, columns, values, steps;
};

__host__ __device__ inline size_t rows_bytes(const tile_layout &layout)
{
    return (size_t)layout.warps * layout.columns * tile_rows * sizeof(float);
}

__host__ __device__ inline size_t sums_bytes(const tile_layout &layout)
{
    return (size_t)layout.warps * layout.values * sizeof(double);
}

/* Starts an asynchronous copy of 16 bytes to shared memory; zeros if they do not exist. */
__device__ __forceinline__ void copy_ahead(float *shared, const float *global, bool there)
{
    pipeline_copy<16>(shared, global, there ? 16 : 0);
}

__device__ __forceinline__ void wait_for_copies()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

/* The next rows of a lane. */
struct next_rows {
    int64_t row;
    bool there;
};

/* Tiles go from the last rows to the first: the pass before leaves the last rows in the cache, and
 * the pass after begins with the first. */
__device__ __forceinline__ next_rows place_rows(int64_t first, int64_t end, int64_t tiles,
                                                int64_t tile)
{
    int64_t row = first + (tiles - 1 - tile) * tile_rows + threadIdx.x % 32 * 4;
    bool there = tile < tiles && row < end;
    return { there ? row : first, there };
}

/* Rotates the columns of Q, writes them to Q and to shared memory, and subtracts `small` times each
 * from v. slot: the lane's rows of column 0; columns are tile_rows floats apart. */
__device__ __forceinline__ void rotate_tile(bd_rows<4> &v, float *slot, float *q,
                                            const bd_update_job &job, const float2 *cs,
                                            const float *small, bool active)
{
    enum { ahead = 8 };
    bd_rows<4> x[2] = { bd_load_rows<4>(slot) };
    for (int j = 0; j < job.n; j += ahead) {
        bd_rows<4> next[ahead];
        bd_load_ahead<ahead, 4>(next, slot + (j + 1) * tile_rows, tile_rows, job.n_in - 1 - j);
#pragma unroll
        for (int d = 0; d < ahead; d++) {
            if (j + d >= job.n)
                break;
            x[1] = next[d];
            bd_rotate_rows<1, 4>(x, cs + j + d);
            bd_store_rows<4>(slot + (j + d) * tile_rows, x[0]);
            if (active)
                bd_store_rows<4>(q + (j + d) * job.ldq, x[0]);
            bd_subtract_rows<4>(v, small[j + d], x[0]);
            x[0] = x[1];
        }
    }
}

/* The same without rotations. */
__device__ __forceinline__ void subtract_tile(bd_rows<4> &v, const float *slot, int n,
                                              const float *small)
{
    enum { ahead = 8 };
    for (int j = 0; j < n; j += ahead) {
        bd_rows<4> x[ahead];
        bd_load_ahead<ahead, 4>(x, slot + j * tile_rows, tile_rows, n - j);
#pragma unroll
        for (int d = 0; d < ahead; d++)
            if (j + d < n)
                bd_subtract_rows<4>(v, small[j + d], x[d]);
    }
}

/* Adds to acc the sums over the warp of Q^T V, and starts the copies of the next rows. */
__device__ __forceinline__ void dot_tile(double *acc, float *slot, const bd_update_job &job,
                                         const bd_rows<4> &v, next_rows next)
{
    int lane = threadIdx.x % 32;
    for (int j = 0; j < job.n; j += 8) {
        bd_rows<4> x[8];
        float value[8];
        bd_load_ahead<8, 4>(x, slot + j * tile_rows, tile_rows, job.n - j);
#pragma unroll
        for (int i = 0; i < 8; i++)
            value[i] = bd_dot_rows<4>(x[i], v);
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (j + i < job.n)
                copy_ahead(slot + (j + i) * tile_rows, job.q + next.row + (j + i) * job.ldq,
                           next.there);
        float sum = bd_sum_eight(value);
        if (lane % 4 == 0 && j + lane / 4 < job.n)
            acc[j + lane / 4] += sum;
    }
}

/* Warp w of block i: tiles i warps + w, and so on by all warps of the grid; lane l: rows 4 l .. 4 l
 * + 3 of a tile. */
template <bool Rotate>
__global__ void __launch_bounds__(32 * most_warps, 1)
    slide_kernel(bd_update_job job, tile_layout layout, int64_t first_row, int64_t end_row)
{
    extern __shared__ float4 room[];
    if (bd_update_refused(job))
        return;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, values = layout.values;
    char *bytes = (char *)room;
    float *slot = (float *)bytes + (warp * layout.columns * 32 + lane) * 4;
    double *sums = (double *)(bytes + rows_bytes(layout)), *acc = sums + warp * values;
    float2 *cs = (float2 *)(bytes + rows_bytes(layout) + sums_bytes(layout));
    float *small = (float *)(cs + layout.steps + bd_update_slack);
    for (int i = threadIdx.x; i < layout.warps * values; i += blockDim.x)
        sums[i] = 0;
    for (int i = threadIdx.x; i < job.n; i += blockDim.x) {
        if (Rotate)
            cs[i] = job.cs[i];
        small[i] = job.small[i];
    }
    __syncthreads();

    double square[1] = {};
    float *news = slot + job.n_in * tile_rows; /* the rows of U, after those of Q */
    int64_t tiles = (end_row - first_row + tile_rows - 1) / tile_rows;
    int64_t tile = blockIdx.x * layout.warps + warp, stride = (int64_t)gridDim.x * layout.warps;
    next_rows next = place_rows(first_row, end_row, tiles, tile);
    for (int j = 0; j < job.n_in; j++)
        copy_ahead(slot + j * tile_rows, job.q + next.row + j * job.ldq, next.there);
    copy_ahead(news, job.u + next.row, next.there);
    for (; tile < tiles; tile += stride) {
        bool active = next.there;
        float *q = job.q + next.row;
        wait_for_copies();
        bd_rows<4> v = bd_load_rows<4>(news);
        if (Rotate)
            rotate_tile(v, slot, q, job, cs, small, active);
        else
            subtract_tile(v, slot, job.n, small);
        if (active)
            bd_store_rows<4>(q + job.n * job.ldq, v);
        next = place_rows(first_row, end_row, tiles, tile + stride);
        copy_ahead(news, job.u + next.row, next.there);
        dot_tile(acc, slot, job, v, next);
        if (Rotate)
            copy_ahead(slot + job.n * tile_rows, job.q + next.row + job.n * job.ldq, next.there);
        square[0] += bd_square_rows<4>(v);
    }
    bd_sum_columns<1>(acc + job.n, square);
    wait_for_copies();
    __syncthreads();
    for (int i = threadIdx.x; i < values; i += blockDim.x) {
        double sum = 0;
        for (int w = 0; w < layout.warps; w++)
            sum += sums[w * values + i];
        job.partials[blockIdx.x * (int64_t)values + i] = sum;
    }
}

} // namespace

int bd_update_slide_pass(const bd_update_launch *launch, const bd_update_job *job,
                         bd_update_rows rows)
{
    tile_layout layout = { 1, job->n_in + 1, job->n + 1, job->n };
    size_t common = (size_t)(job->n + bd_update_slack) * (sizeof(float2) + sizeof(float));
    size_t most = (size_t)launch->shared_most, each = rows_bytes(layout) + sums_bytes(layout);
    if (common + 2 * each > most)
        return 0;
    layout.warps = (int)((most - common) / each);
    layout.warps = layout.warps < most_warps ? layout.warps : most_warps;
    int64_t tiles = (rows.end - rows.first + tile_rows - 1) / tile_rows;
    int64_t blocks = (tiles + layout.warps - 1) / layout.warps;
    blocks = blocks < launch->sms ? blocks : launch->sms;
    (job->n_in > job->n
         ? slide_kernel<true>
         : slide_kernel<false>)<<<(unsigned)blocks, 32 * layout.warps, common + layout.warps * each,
                                  launch->stream>>>(*job, layout, rows.first, rows.end);
    return (int)blocks;
}

enum bd_status bd_update_slide_prepare(const struct bd_cuda *cuda)
{
    return bd_cuda_allow_shared(
        cuda, { (const void *)slide_kernel<true>, (const void *)slide_kernel<false> },
        "preparing QR updating");
}
