/* The passes of a QR update over the tall Q, each of which reads it once: inner products, a
 * projection, a chain of rotations. A thread holds 4 neighbouring rows (16-byte accesses; 1 where
 * columns are not aligned, and for the last m % 4 rows) and goes along the columns, so that a warp
 * reads 512 neighbouring bytes of each. Sums over rows are float32 within the 128 rows of a warp
 * and float64 beyond, always added in the same order.
 *
 * Andrew, Dingle: Implementing QR factorization updating algorithms on GPUs (2014), where a launch
 * per stage of rotations is the bottleneck: here a launch does all of them. */
#include "gpu/update/update.cuh"

namespace
{

enum {
    dot_threads = 256,
    dot_warps = dot_threads / 32,
    dot_values = 512, /* inner products that a warp has sums for at a time: 4 KiB */
    rotate_threads = 128
};

__global__ void check_kernel(const float *x, int64_t ldx, int64_t m, int64_t cols, int call,
                             int *device_bad, int *host_bad)
{
    bool bad = false;
    for (int64_t j = blockIdx.y; j < cols; j += gridDim.y)
#pragma unroll 8 /* loads under way together, as below */
        for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < m;
             i += gridDim.x * (int64_t)blockDim.x)
            bad |= !isfinite(x[i + j * ldx]);
    if (__syncthreads_or(bad) && threadIdx.x == 0)
        *device_bad = *host_bad = call; /* whichever block comes last says the same */
}

/* The b columns of X (and zeros up to B) in the V rows from `row` on; zeros if there are none. */
template <int B, int V>
__device__ __forceinline__ void load_columns(bd_rows<V> (&x)[B], const float *from, int64_t ld,
                                             int b, bool active)
{
#pragma unroll
    for (int c = 0; c < B; c++)
        x[c] = active && c < b ? bd_load_rows<V>(from + c * ld) : bd_rows<V>{};
}

/* acc (this warp's) += the inner products of `count` columns of Q with the B of X, over its rows.
 * Of eight products at a time a lane gets the sum of number lane / 4. */
template <int B, int V>
__device__ __forceinline__ void dot_columns(double *acc, const float *q, int64_t ldq, int count,
                                            const bd_rows<V> (&x)[B])
{
    enum { ahead = B == 1 ? 8 : 4, together = 8 / B /* columns of Q that have eight products */ };
    int lane = threadIdx.x % 32;
    for (int j = 0; j < count; j += ahead) {
        bd_rows<V> y[ahead];
        bd_load_ahead<ahead, V>(y, q + j * ldq, ldq, count - j);
#pragma unroll
        for (int i = 0; i < ahead; i += together) {
            float value[8];
#pragma unroll
            for (int c = 0; c < 8; c++)
                value[c] = bd_dot_rows<V>(y[i + c / B], x[c % B]);
            float sum = bd_sum_eight(value);
            if (lane % 4 == 0 && j + i + lane / 4 / B < count)
                acc[(j + i) * B + lane / 4] += sum;
        }
    }
}

/* Block i: rows [first + i item_rows, + item_rows), thread t of it rows t V, t V + 256 V, ... of
 * these; columns of Q in runs for whose sums there is shared memory. */
template <int B, int V>
__global__ void __launch_bounds__(dot_threads)
    dots_kernel(bd_update_job job, int n, const float *from, int64_t ldx, int64_t first_row,
                int64_t end_row, int64_t item_rows, int item)
{
    __shared__ double sums[dot_warps][dot_values + 8];
    if (bd_update_refused(job))
        return;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int64_t first = first_row + blockIdx.x * item_rows;
    int64_t end = first + item_rows < end_row ? first + item_rows : end_row;
    double square[B] = {};
    double *acc = sums[warp], *partial = job.partials + (item + blockIdx.x) * (int64_t)(n + 1) * B;
    for (int j = 0; j == 0 || j < n; j += dot_values / B) {
        int count = n - j < dot_values / B ? n - j : dot_values / B;
        for (int i = lane; i < dot_values + 8; i += 32)
            acc[i] = 0;
        __syncwarp();
        for (int64_t base = first; base < end; base += dot_threads * V) {
            int64_t row = base + threadIdx.x * V;
            bool active = row < end;
            row = active ? row : end - V; /* rows that are there, times a zero X */
            bd_rows<V> x[B];
            load_columns<B, V>(x, from + row, ldx, job.b, active);
            dot_columns<B, V>(acc, job.q + row + j * job.ldq, job.ldq, count, x);
#pragma unroll
            for (int c = 0; c < B; c++)
                square[c] += j ? 0 : bd_square_rows<V>(x[c]);
        }
        if (j == 0)
            bd_sum_columns<B>(acc + dot_values, square);
        __syncthreads();
        for (int i = threadIdx.x; i < count * B + (j == 0 ? B : 0); i += dot_threads) {
            int at = i < count * B ? i : i - count * B + dot_values;
            double sum = 0;
            for (int w = 0; w < dot_warps; w++)
                sum += sums[w][at];
            partial[at < dot_values ? j * B + i : n * B + at - dot_values] = sum;
        }
        __syncthreads();
    }
}

/* Thread (x, y): value 32 blockIdx.x + x of the partials y, y + 32, ... */
__global__ void reduce_kernel(bd_update_job job, int items, int count)
{
    __shared__ double room[32][33];
    if (bd_update_refused(job))
        return;
    int value = blockIdx.x * 32 + threadIdx.x;
    double sum = 0;
    if (value < count)
#pragma unroll 8
        for (int i = threadIdx.y; i < items; i += 32)
            sum += job.partials[(int64_t)i * count + value];
    room[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y || value >= count)
        return;
    for (int i = 1; i < 32; i++)
        sum += room[i][threadIdx.x];
    job.sums[value] = sum;
}

/* Rows as in dots_kernel. */
template <int B, int V>
__global__ void __launch_bounds__(dot_threads)
    subtract_kernel(bd_update_job job, const float *from, int64_t ldx, int64_t first_row,
                    int64_t end_row, int64_t item_rows, int item, int second)
{
    enum { ahead = B == 1 ? 8 : 4 };
    extern __shared__ float small[]; /* (n + slack) x B */
    __shared__ double squares[dot_warps][B];
    if (bd_update_refused(job) || (second && !job.state->again))
        return;
    int warp = threadIdx.x / 32;
    double square[B] = {};
    for (int i = threadIdx.x; i < job.n * B; i += dot_threads)
        small[i] = job.small[i];
    __syncthreads();
    float *to = job.q + job.n * job.ldq;
    int64_t first = first_row + blockIdx.x * item_rows;
    int64_t end = first + item_rows < end_row ? first + item_rows : end_row;
    for (int64_t base = first; base < end; base += dot_threads * V) {
        int64_t row = base + threadIdx.x * V;
        bool active = row < end;
        row = active ? row : end - V;
        const float *q = job.q + row;
        bd_rows<V> x[B];
        load_columns<B, V>(x, from + row, ldx, job.b, active);
        for (int j = 0; j < job.n; j += ahead) {
            bd_rows<V> y[ahead];
            bd_load_ahead<ahead, V>(y, q + j * job.ldq, job.ldq, job.n - j);
#pragma unroll
            for (int i = 0; i < ahead; i++)
                if (j + i < job.n)
#pragma unroll
                    for (int c = 0; c < B; c++)
                        bd_subtract_rows<V>(x[c], small[(j + i) * B + c], y[i]);
        }
        if (!active)
            load_columns<B, V>(x, from, ldx, 0, false);
#pragma unroll
        for (int c = 0; c < B; c++)
            if (active && c < job.b)
                bd_store_rows<V>(to + c * job.ldq + row, x[c]);
#pragma unroll
        for (int c = 0; c < B; c++)
            square[c] += bd_square_rows<V>(x[c]);
    }
    bd_sum_columns<B>(squares[warp], square);
    __syncthreads();
    if (threadIdx.x >= B || item < 0)
        return;
    double sum = 0;
    for (int w = 0; w < dot_warps; w++)
        sum += squares[w][threadIdx.x];
    job.partials[(item + blockIdx.x) * (int64_t)B + threadIdx.x] = sum;
}

/* Thread t of block i: rows first + (i 128 + t) V on. Columns are fetched a few ahead. Subtract:
 * the P new columns are projected away from what comes out, on the way. */
template <int P, int V, bool Subtract>
__global__ void __launch_bounds__(rotate_threads)
    rotate_kernel(bd_update_job job, bd_update_chain chain, int64_t first_row, int64_t end_row)
{
    enum { ahead = P == 1 ? 8 : 4 };
    extern __shared__ float2 cs[]; /* (steps + slack) x P; then the coefficients, as many */
    if (bd_update_refused(job))
        return;
    float *small = (float *)(cs + (chain.steps + bd_update_slack) * P);
    for (int i = threadIdx.x; i < chain.steps * P; i += rotate_threads) {
        cs[i] = job.cs[i];
        if (Subtract)
            small[i] = job.small[i];
    }
    __syncthreads();
    int64_t row = first_row + (blockIdx.x * (int64_t)rotate_threads + threadIdx.x) * V;
    if (row >= end_row)
        return;
    float *q = chain.base + row;
    bd_rows<V> x[P + 1], v[P];
    if (Subtract)
        load_columns<P, V>(v, job.u + row, job.ldu, job.b, true);
#pragma unroll
    for (int i = 0; i < P; i++)
        x[i] = i < chain.columns ? bd_load_rows<V>(q + i * chain.stride) : bd_rows<V>{};
    for (int i = 0; i < chain.steps; i += ahead) {
        bd_rows<V> next[ahead];
        bd_load_ahead<ahead, V>(next, q + (i + P) * chain.stride, chain.stride,
                                chain.columns - P - i);
#pragma unroll
        for (int d = 0; d < ahead; d++) {
            if (i + d >= chain.steps)
                break;
            x[P] = next[d];
            bd_rotate_rows<P, V>(x, cs + (i + d) * P);
            bd_store_rows<V>(q + (i + d) * chain.stride, x[0]);
#pragma unroll
            for (int c = 0; c < P && Subtract; c++)
                bd_subtract_rows<V>(v[c], small[(i + d) * P + c], x[0]);
#pragma unroll
            for (int s = 0; s < P; s++)
                x[s] = x[s + 1];
        }
    }
#pragma unroll
    for (int c = 0; c < P && Subtract; c++)
        if (c < job.b)
            bd_store_rows<V>(job.q + row + (job.n + c) * job.ldq, v[c]);
    if (!chain.rest)
        return;
#pragma unroll
    for (int i = 0; i < P; i++)
        if (i < chain.count)
            bd_store_rows<V>(q + (chain.steps + i) * chain.stride, x[i]);
}

template <int B, int V>
void launch_dots(const bd_update_launch *launch, const bd_update_job *job, int n, const float *x,
                 int64_t ldx, int64_t first, int64_t end, int item)
{
    unsigned blocks = (unsigned)((end - first + launch->item_rows - 1) / launch->item_rows);
    dots_kernel<B, V><<<blocks, dot_threads, 0, launch->stream>>>(*job, n, x, ldx, first, end,
                                                                  launch->item_rows, item);
}

template <int B, int V>
void launch_subtract(const bd_update_launch *launch, const bd_update_job *job, const float *x,
                     int64_t ldx, int64_t first, int64_t end, int item, int second)
{
    unsigned blocks = (unsigned)((end - first + launch->item_rows - 1) / launch->item_rows);
    subtract_kernel<B, V>
        <<<blocks, dot_threads, (size_t)(job->n + bd_update_slack) * B * sizeof(float),
           launch->stream>>>(*job, x, ldx, first, end, launch->item_rows, item, second);
}

template <int P, int V, bool Subtract>
void launch_rotate(const bd_update_launch *launch, const bd_update_job *job,
                   const bd_update_chain *chain, int64_t first, int64_t end)
{
    unsigned blocks = (unsigned)((end - first + rotate_threads * V - 1) / (rotate_threads * V));
    /* for a rotation, and a coefficient */
    size_t each = sizeof(float2) + (Subtract ? sizeof(float) : 0);
    size_t bytes = (size_t)(chain->steps + bd_update_slack) * P * each;
    rotate_kernel<P, V, Subtract>
        <<<blocks, rotate_threads, bytes, launch->stream>>>(*job, *chain, first, end);
}

/* Where the rows that are taken 4 at a time end. */
int64_t split(bd_update_rows rows)
{
    return rows.vector ? rows.first + (rows.end - rows.first) / 4 * 4 : rows.first;
}

int count_items(const bd_update_launch *launch, int64_t rows)
{
    return (int)((rows + launch->item_rows - 1) / launch->item_rows);
}

} // namespace

int bd_update_items(const bd_update_launch *launch, bd_update_rows rows)
{
    int64_t middle = split(rows);
    return count_items(launch, middle - rows.first) + count_items(launch, rows.end - middle);
}

void bd_update_check(const bd_update_launch *launch, const float *x, int64_t ldx, int64_t m,
                     int64_t cols, int call, int *device_bad, int *host_bad)
{
    enum { threads = 256, rows = 8, most_grid_y = 65535 };
    int64_t blocks = (m + threads * rows - 1) / (threads * rows);
    if (blocks > 8 * launch->sms)
        blocks = 8 * launch->sms;
    const int64_t columns = cols < most_grid_y ? cols : (int64_t)most_grid_y;
    check_kernel<<<dim3((unsigned)blocks, (unsigned)columns), threads, 0, launch->stream>>>(
        x, ldx, m, cols, call, device_bad, host_bad);
}

void bd_update_dots(const bd_update_launch *launch, const bd_update_job *job, int n, const float *u,
                    bd_update_rows rows, int item)
{
    const float *x = u ? u : job->q + n * job->ldq;
    int64_t ldx = u ? job->ldu : job->ldq, middle = split(rows);
    if (middle > rows.first)
        (job->width == 1 ? launch_dots<1, 4> : launch_dots<bd_update_group, 4>)(launch, job, n, x,
                                                                                ldx, rows.first,
                                                                                middle, item);
    item += count_items(launch, middle - rows.first);
    if (rows.end > middle)
        (job->width == 1 ? launch_dots<1, 1> : launch_dots<bd_update_group, 1>)(launch, job, n, x,
                                                                                ldx, middle,
                                                                                rows.end, item);
}

void bd_update_reduce(const bd_update_launch *launch, const bd_update_job *job, int items,
                      int count)
{
    reduce_kernel<<<(unsigned)(count + 31) / 32, dim3(32, 32), 0, launch->stream>>>(*job, items,
                                                                                    count);
}

void bd_update_subtract(const bd_update_launch *launch, const bd_update_job *job, const float *u,
                        bd_update_rows rows, int item, int second)
{
    const float *x = u ? u : job->q + job->n * job->ldq;
    int64_t ldx = u ? job->ldu : job->ldq, middle = split(rows);
    if (middle > rows.first)
        (job->width == 1 ? launch_subtract<1, 4>
                         : launch_subtract<bd_update_group, 4>)(launch, job, x, ldx, rows.first,
                                                                middle, item, second);
    item += item < 0 ? 0 : count_items(launch, middle - rows.first);
    if (rows.end > middle)
        (job->width == 1 ? launch_subtract<1, 1>
                         : launch_subtract<bd_update_group, 1>)(launch, job, x, ldx, middle,
                                                                rows.end, item, second);
}

template <int P, bool Subtract>
static void rotate(const bd_update_launch *launch, const bd_update_job *job,
                   const bd_update_chain *chain, bd_update_rows rows)
{
    int64_t middle = split(rows);
    if (middle > rows.first)
        launch_rotate<P, 4, Subtract>(launch, job, chain, rows.first, middle);
    if (rows.end > middle)
        launch_rotate<P, 1, Subtract>(launch, job, chain, middle, rows.end);
}

void bd_update_rotate(const bd_update_launch *launch, const bd_update_job *job,
                      const bd_update_chain *chain, bd_update_rows rows, int subtract)
{
    if (subtract)
        (job->width == 1 ? rotate<1, true> : rotate<bd_update_group, true>)(launch, job, chain,
                                                                            rows);
    else
        (job->width == 1 ? rotate<1, false> : rotate<bd_update_group, false>)(launch, job, chain,
                                                                              rows);
}

enum bd_status bd_update_q_prepare(const struct bd_cuda *cuda)
{
    return bd_cuda_allow_shared(cuda,
                                { (const void *)rotate_kernel<bd_update_group, 4, false>,
                                  (const void *)rotate_kernel<bd_update_group, 1, false>,
                                  (const void *)rotate_kernel<bd_update_group, 4, true>,
                                  (const void *)rotate_kernel<bd_update_group, 1, true> },
                                "preparing QR updating");
}
