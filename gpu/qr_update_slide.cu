/* The joined pass of a QR update: rotations of Q, the projection of the new columns and the inner
 * products of what is left of them, with Q read once and written once.
 *
 * A warp takes 128 rows at a time, 4 a lane, of all columns into its part of shared memory. A lane
 * meets only its own rows there, so warps need no barriers. In the first half of its work on these
 * rows a warp rotates, writes Q and subtracts; the second half needs the rows of Q again, for inner
 * products with what the first has left, and asks for the warp's next 128 rows of a column as soon
 * as it has done with it (asynchronous copies), so that memory is busy all the time. */
#include "gpu/qr_update.cuh"

namespace
{

enum {
    tile_rows = bd_update_tile_rows,
    most_warps = 8,
    parts = 4 /* groups of columns that are waited for one by one */
};

/* Where things lie in shared memory, in bytes: the warps' rows (columns x 32 lanes x 16 bytes), the
 * warps' sums (double), rotations, coefficients. */
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

/* 16 bytes to shared memory behind the thread's back; zeros if they are not there. */
__device__ __forceinline__ void copy_ahead(float *shared, const float *global, bool there)
{
    unsigned to = (unsigned)__cvta_generic_to_shared(shared);
    int bytes = there ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void wait_for_copies()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

__device__ __forceinline__ void close_part()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits for all parts but the last `but` of those closed. */
template <int but> __device__ __forceinline__ void wait_for_parts()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(but) : "memory");
}

/* Before columns [j, j + part) are used, j a multiple of `part`, and at most `part` beyond them. */
__device__ __forceinline__ void wait_for_part(int j, int part)
{
    if (j == 0)
        wait_for_parts<parts - 2>();
    else if (j == part)
        wait_for_parts<parts - 3>();
    else if (j == 2 * part)
        wait_for_parts<0>();
}

/* The rows of a lane that it works on next. */
struct next_rows {
    int64_t row;
    bool there;
};

/* Asks for rows of columns [j, end) of Q. */
__device__ __forceinline__ void copy_columns(float *slot, const bd_update_job &job, next_rows next,
                                             int j, int end)
{
    for (; j < end; j++)
        copy_ahead(slot + j * tile_rows, job.q + next.row + j * job.ldq, next.there);
}

/* Tiles go from the last rows to the first: the pass before has left the last in the cache, and the
 * pass after begins with the first. */
__device__ __forceinline__ next_rows place_rows(int64_t first, int64_t end, int64_t tiles,
                                                int64_t tile)
{
    int64_t row = first + (tiles - 1 - tile) * tile_rows + threadIdx.x % 32 * 4;
    bool there = tile < tiles && row < end;
    return { there ? row : first, there };
}

/* Adds to acc the sums over the warp of Q^T V, column by column, and fetches the next rows, in
 * parts of so many columns; returns the number of parts closed. `slot`: the lane's rows of column
 * 0; columns are tile_rows floats apart. */
__device__ __forceinline__ int dot_tile(double *acc, float *slot, const bd_update_job &job,
                                        const bd_rows<4> (&v)[1], next_rows next, int part)
{
    int lane = threadIdx.x % 32, closed = 0;
    for (int j = 0; j < job.n; j += 8) {
        bd_rows<4> x[8];
        float value[8];
        bd_load_ahead<8, 4>(x, slot + j * tile_rows, tile_rows, job.n - j);
#pragma unroll
        for (int i = 0; i < 8; i++)
            value[i] = bd_dot_rows<4>(x[i], v[0]);
#pragma unroll
        for (int i = 0; i < 8; i++)
            if (j + i < job.n)
                copy_ahead(slot + (j + i) * tile_rows, job.q + next.row + (j + i) * job.ldq,
                           next.there);
        if ((j + 8) % part == 0 && closed < parts - 1) {
            close_part();
            closed++;
        }
        float sum = bd_sum_eight(value);
        if (lane % 4 == 0 && j + lane / 4 < job.n)
            acc[j + lane / 4] += sum;
    }
    return closed;
}

__device__ __forceinline__ int dot_tile(double *acc, float *slot, const bd_update_job &job,
                                        const bd_rows<4> (&v)[bd_update_group], next_rows next,
                                        int part)
{
    int lane = threadIdx.x % 32, closed = 0;
#pragma unroll 2
    for (int j = 0; j < job.n; j++) {
        bd_rows<4> x = bd_load_rows<4>(slot + j * tile_rows);
        float value[8];
#pragma unroll
        for (int c = 0; c < 8; c++)
            value[c] = bd_dot_rows<4>(x, v[c]);
        copy_ahead(slot + j * tile_rows, job.q + next.row + j * job.ldq, next.there);
        if ((j + 1) % part == 0 && closed < parts - 1) {
            close_part();
            closed++;
        }
        float sum = bd_sum_eight(value);
        if (lane % 4 == 0)
            acc[j * 8 + lane / 4] += sum;
    }
    return closed;
}

/* v -= small x' for all columns x' that x becomes; they are written to Q and to their slots. */
template <int P, int B>
__device__ __forceinline__ void rotate_tile(bd_rows<4> (&v)[B], float *slot, float *q,
                                            const bd_update_job &job, const float2 *cs,
                                            const float *small, bool active, int part)
{
    enum { ahead = P == 1 ? 8 : 2 };
    bd_rows<4> x[P + 1];
#pragma unroll
    for (int i = 0; i < P; i++)
        x[i] = i < job.n_in ? bd_load_rows<4>(slot + i * tile_rows) : bd_zero_rows<4>();
    for (int j = 0; j < job.n; j += ahead) {
        bd_rows<4> next[ahead];
        if (j % part == 0)
            wait_for_part(j, part);
        bd_load_ahead<ahead, 4>(next, slot + (j + P) * tile_rows, tile_rows, job.n_in - P - j);
#pragma unroll
        for (int d = 0; d < ahead; d++) {
            if (j + d >= job.n)
                break;
            x[P] = next[d];
            bd_rotate_rows<P, 4>(x, cs + (j + d) * P);
            bd_store_rows<4>(slot + (j + d) * tile_rows, x[0]);
            if (active)
                bd_store_rows<4>(q + (j + d) * job.ldq, x[0]);
#pragma unroll
            for (int c = 0; c < B; c++)
                bd_subtract_rows<4>(v[c], small[(j + d) * B + c], x[0]);
#pragma unroll
            for (int s = 0; s < P; s++)
                x[s] = x[s + 1];
        }
    }
}

template <int B>
__device__ __forceinline__ void subtract_tile(bd_rows<4> (&v)[B], const float *slot, int n,
                                              const float *small, int part)
{
    enum { ahead = 4 };
    for (int j = 0; j < n; j += ahead) {
        bd_rows<4> x[ahead];
        if (j % part == 0)
            wait_for_part(j, part);
        bd_load_ahead<ahead, 4>(x, slot + j * tile_rows, tile_rows, n - j);
#pragma unroll
        for (int d = 0; d < ahead; d++)
            if (j + d < n)
#pragma unroll
                for (int c = 0; c < B; c++)
                    bd_subtract_rows<4>(v[c], small[(j + d) * B + c], x[d]);
    }
}

/* Warp w of block i: tiles i warps + w, and so on by all warps of the grid; lane l: rows 4 l .. 4 l
 * + 3 of a tile. P = 0: no rotations. */
template <int P, int B>
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
    float *small = (float *)(cs + (layout.steps + bd_update_slack) * P);
    for (int i = threadIdx.x; i < layout.warps * values; i += blockDim.x)
        sums[i] = 0;
    for (int i = threadIdx.x; i < layout.steps * P; i += blockDim.x)
        cs[i] = job.cs[i];
    for (int i = threadIdx.x; i < job.n * B; i += blockDim.x)
        small[i] = job.small[i];
    __syncthreads();

    double square[B] = {};
    float *news = slot + job.n_in * tile_rows; /* the slots of U, after those of Q */
    int64_t tiles = (end_row - first_row + tile_rows - 1) / tile_rows;
    int64_t tile = blockIdx.x * layout.warps + warp, stride = (int64_t)gridDim.x * layout.warps;
    next_rows next = place_rows(first_row, end_row, tiles, tile);
    int part = (job.n_in + parts * 8 - 1) / (parts * 8) * 8, closed = 0;
    part = part ? part : 8;
    for (int c = 0; c < job.b; c++)
        copy_ahead(news + c * tile_rows, job.u + next.row + c * job.ldu, next.there);
    copy_columns(slot, job, next, 0, job.n_in);
    for (; tile < tiles; tile += stride) {
        bool active = next.there;
        float *q = job.q + next.row;
        bd_rows<4> v[B];
        for (; closed < parts; closed++)
            close_part();
        wait_for_part(0, part);
#pragma unroll
        for (int c = 0; c < B; c++)
            v[c] = c < job.b ? bd_load_rows<4>(news + c * tile_rows) : bd_zero_rows<4>();
        if constexpr (P > 0)
            rotate_tile<P, B>(v, slot, q, job, cs, small, active, part);
        else
            subtract_tile<B>(v, slot, job.n, small, part);
        wait_for_copies(); /* also of columns that nobody has read: theirs are asked for again */
#pragma unroll
        for (int c = 0; c < B; c++)
            if (active && c < job.b)
                bd_store_rows<4>(q + (job.n + c) * job.ldq, v[c]);
        next = place_rows(first_row, end_row, tiles, tile + stride);
        for (int c = 0; c < job.b; c++)
            copy_ahead(news + c * tile_rows, job.u + next.row + c * job.ldu, next.there);
        closed = dot_tile(acc, slot, job, v, next, part);
        copy_columns(slot, job, next, job.n, job.n_in);
#pragma unroll
        for (int c = 0; c < B; c++)
            square[c] += bd_square_rows<4>(v[c]);
    }
    bd_sum_columns<B>(acc + job.n * B, square);
    wait_for_copies();
    __syncthreads();
    for (int i = threadIdx.x; i < values; i += blockDim.x) {
        double sum = 0;
        for (int w = 0; w < layout.warps; w++)
            sum += sums[w * values + i];
        job.partials[blockIdx.x * (int64_t)values + i] = sum;
    }
}

template <int P, int B>
int launch_slide(const bd_update_launch *launch, const bd_update_job *job, bd_update_rows rows)
{
    tile_layout layout = { 1, job->n_in + job->b, (job->n + 1) * B, P ? job->n : 0 };
    size_t common = (size_t)(layout.steps + bd_update_slack) * P * sizeof(float2) +
                    (size_t)(job->n + bd_update_slack) * B * sizeof(float);
    size_t most = (size_t)launch->shared_most, each = rows_bytes(layout) + sums_bytes(layout);
    if (common + 2 * each > most)
        return 0;
    layout.warps = (int)((most - common) / each);
    layout.warps = layout.warps < most_warps ? layout.warps : most_warps;
    int64_t tiles = (rows.end - rows.first + tile_rows - 1) / tile_rows;
    int64_t blocks = (tiles + layout.warps - 1) / layout.warps;
    blocks = blocks < launch->sms ? blocks : launch->sms;
    slide_kernel<P, B>
        <<<(unsigned)blocks, 32 * layout.warps, common + layout.warps * each, launch->stream>>>(
            *job, layout, rows.first, rows.end);
    return (int)blocks;
}

} // namespace

int bd_update_slide_pass(const bd_update_launch *launch, const bd_update_job *job,
                         bd_update_rows rows)
{
    bool rotate = job->n_in > job->n;
    if (job->width == 1)
        return (rotate ? launch_slide<1, 1> : launch_slide<0, 1>)(launch, job, rows);
    return (rotate ? launch_slide<bd_update_group, bd_update_group>
                   : launch_slide<0, bd_update_group>)(launch, job, rows);
}

enum bd_status bd_update_slide_prepare(const bd_update_launch *launch)
{
    const void *kernels[] = { (const void *)slide_kernel<0, 1>, (const void *)slide_kernel<1, 1>,
                              (const void *)slide_kernel<0, bd_update_group>,
                              (const void *)slide_kernel<bd_update_group, bd_update_group> };
    for (const void *kernel : kernels) {
        enum bd_status status =
            bd_cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               launch->shared_most),
                          "preparing QR updating");
        if (status != BD_OK)
            return status;
    }
    return BD_OK;
}
