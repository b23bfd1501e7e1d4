/* The small matrices of a QR update. One block makes R triangular again, a thread a column, in
 * float64; the rotations are rounded to float32 first, so that Q gets the same ones. R goes through
 * shared memory in panels of neighbouring rows: a column is contiguous in memory, but a thread's
 * steps go along rows. The CPU's version is linalg/cpu/update/r.c. */
#include <cfloat>

#include "gpu/update/update.cuh"

namespace
{

enum {
    least_shift = 4,
    most_shift = 7,       /* a panel has 16 to 128 rows: 2^shift */
    most_tile = 88 << 10, /* bytes of a panel: what every GPU has */
    least_threads = 256,  /* to fetch panels with */
    chain_threads = 32    /* a warp finds the rotations of a new column */
};

/* Floats of a column of a panel: no two threads in a bank. */
__host__ __device__ inline int panel_room(int shift)
{
    return (1 << shift) + 1;
}

/* 1 / sqrt(x) to 40 bits, x > 0 a normal number. */
__device__ __forceinline__ double inverse_root(double x)
{
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    return fma(y, fma(-0.5 * x * y, y, 0.5), y);
}

/* Columns of R that go through a chain of rotations: they are read at `from` and written at `to`,
 * which is p columns away. Position i of a column is its row first + sign i; step i of the chain
 * works on positions begin + i .. begin + i + p. Column c has entries down to row diagonal + c. */
struct moving_rows {
    const float *from;
    float *to;
    int64_t ld;
    int cols, diagonal;
    int first, sign;
    int count;      /* positions of a column as written */
    int begin, end; /* positions in which steps begin */
    int p, shift;
};

/* The rotations that take x[1 .. p] to zero, from the last pair to the first; x is overwritten. */
template <int P>
__device__ __forceinline__ void make_rotations(double (&x)[P + 1], int p, float2 *g, float2 *cs)
{
    double below = x[P], square = below * below; /* what the next rotation takes to zero */
#pragma unroll
    for (int s = P - 1; s >= 0; s--) {
        float2 made = make_float2(1, 0);
        double here = x[s];
        square = s < p ? square + here * here : here * here;
        double inverse = inverse_root(square);
        bool zero = !(square >= DBL_MIN); /* below it inverse_root gives no number */
        if (s < p && !zero)
            made = make_float2((float)(here * inverse), (float)(below * inverse));
        below = s >= p ? here : zero ? 0 : square * inverse;
        g[s] = made;
        cs[s] = made;
    }
    x[0] = below;
#pragma unroll
    for (int s = 1; s <= P; s++)
        x[s] = 0; /* beyond p lie rows below the diagonal */
}

/* Rows of a panel, positions base .. base + 2^shift - 1 of its columns, to shared memory; zeros
 * below the columns' ends. Several loads of a thread are under way together. */
__device__ void load_panel(float *tile, const moving_rows &rows, int base)
{
    enum { batch = 8 };
    int mask = (1 << rows.shift) - 1, room = panel_room(rows.shift);
    int total = rows.cols << rows.shift;
    for (int i = threadIdx.x; i < total; i += batch * blockDim.x) {
        float value[batch];
#pragma unroll
        for (int d = 0; d < batch; d++) {
            int at = i + d * blockDim.x, column = at >> rows.shift;
            int row = rows.first + rows.sign * (base + (at & mask));
            bool there = at < total && row >= 0 && row <= rows.diagonal + column;
            value[d] = there ? rows.from[row + column * rows.ld] : 0;
        }
#pragma unroll
        for (int d = 0; d < batch; d++) {
            int at = i + d * blockDim.x;
            if (at < total)
                tile[(at >> rows.shift) * room + (at & mask)] = value[d];
        }
    }
}

/* Thread c moves column c through the chain: a window of P + 1 positions goes along the column, the
 * rotations (cs, in the order of their use) turn it, its first element is done. */
template <int P> struct window {
    double x[P + 1];

    __device__ __forceinline__ void turn(const float2 *cs)
    {
#pragma unroll
        for (int s = P - 1; s >= 0; s--)
            bd_rotate(x[s], x[s + 1], (double)cs[s].x, (double)cs[s].y);
    }

    __device__ __forceinline__ float shift()
    {
        float done = (float)x[0];
#pragma unroll
        for (int s = 0; s < P; s++)
            x[s] = x[s + 1];
        return done;
    }

    /* `count` positions, in own; rotated if cs. */
    __device__ __forceinline__ void go(float *own, int count, const float2 *cs)
    {
        for (int i = 0; i < count; i++) {
            x[P] = own[i];
            if (cs)
                turn(cs + i * P);
            own[i] = shift();
        }
    }
};

/* Make: the rotations are made on the way, those of a step by the thread whose column they shorten.
 * Up to 32 steps are made by one warp, whose lanes exchange rotations in `made`; then the warps
 * after it follow. (All warps step by step: 54 us instead of 43 for n = 100.) made: 2 x 32 P. */
template <int P, bool Make>
__device__ void move_columns(const moving_rows &rows, float2 *cs, float *tile, float2 *made)
{
    int c = threadIdx.x, warp = c / 32, last = rows.count + P, half = 0;
    bool mine = c < rows.cols;
    window<P> w = {};
    for (int base = 0; base < last; base += 1 << rows.shift) {
        int panel = last - base < 1 << rows.shift ? last - base : 1 << rows.shift;
        load_panel(tile, rows, base);
        __syncthreads();
        float *own = tile + c * panel_room(rows.shift);
        for (int i = 0, run = 0; i < panel; i += run) {
            int position = base + i - P, step = position - rows.begin; /* of x[0] */
            bool turns = position >= rows.begin && position < rows.end;
            int until = position < rows.begin ? rows.begin : turns ? rows.end : last;
            run = panel - i < until - position ? panel - i : until - position;
            if (!turns || !Make) {
                if (mine)
                    w.go(own + i, run, turns ? cs + step * P : nullptr);
                continue;
            }
            int turn = step / 32;
            float2 *g = made + half * 32 * P;
            run = run < 32 - step % 32 ? run : 32 - step % 32;
            float ahead = mine ? own[i] : 0;
            for (int d = 0; warp == turn && d < run; d++) {
                w.x[P] = ahead; /* fetched before the wait for the step before */
                if (mine && d + 1 < run)
                    ahead = own[i + d + 1];
                if (c == step + d)
                    make_rotations<P>(w.x, rows.p, g + d * P, cs + (step + d) * P);
                __syncwarp();
                if (c > step + d)
                    w.turn(g + d * P);
                float done = w.shift();
                if (mine)
                    own[i + d] = done;
            }
            __syncthreads();
            if (mine && warp != turn)
                w.go(own + i, run, warp > turn ? g : nullptr);
            half = !half; /* the others may still read */
        }
        __syncthreads();
        int mask = (1 << rows.shift) - 1;
        for (int i = threadIdx.x; i < rows.cols << rows.shift; i += blockDim.x) {
            int column = i >> rows.shift, position = base + (i & mask) - P;
            if (position >= 0 && position < rows.count)
                rows.to[rows.first + rows.sign * position + column * rows.ld] =
                    tile[column * panel_room(rows.shift) + (i & mask)];
        }
        __syncthreads();
    }
}

/* Column j of the new R, j >= k, is column j + p of the old one and has entries down to row j + p:
 * step j - k takes rows j + 1 .. j + p of it to zero. */
template <int P>
__global__ void __launch_bounds__(bd_update_most_cols) remove_kernel(bd_update_job job, int shift)
{
    extern __shared__ float tile[];
    __shared__ float2 made[2 * 32 * P];
    if (bd_update_refused(job))
        return;
    int n = job.n_in - job.b, k = job.k;
    const float *from = job.r + (k + job.b) * job.ldr;
    float *to = job.r + k * job.ldr;
    moving_rows rows = { from, to, job.ldr, n - k, k + job.b, 0, 1, n, k, n, job.b, shift };
    move_columns<P, true>(rows, job.cs, tile, made);
}

/* Chain s of an insertion takes column s of W, x, to zero from row n + s up to row k + s + 1: its
 * cosines and sines from the norms of the column's ends, which are sums of squares from below.
 * A warp; lane l has the pieces of the column that are l pieces from its end. Rotations are kept
 * as those of mirrored rows: see bd_update_r_insert. */
template <int P>
__device__ void make_chain(double *x, int64_t stride, int steps, int s, int p, float2 *cs)
{
    /* x[-i stride]: rows from n + s upwards, i = 0 .. steps */
    int lane = threadIdx.x, piece = (steps + 32) / 32, from = lane * piece;
    int to = from + piece < steps + 1 ? from + piece : steps + 1;
    double own = 0, below = 0;
    for (int i = from; i < to; i++)
        own += x[-i * stride] * x[-i * stride];
    double sum = own;
    for (int distance = 1; distance < 32; distance *= 2) {
        double other = __shfl_up_sync(~0u, sum, distance);
        sum += lane >= distance ? other : 0;
    }
    sum = __shfl_up_sync(~0u, sum, 1); /* of the lanes before this one: what lies below its piece */
    sum = lane ? sum : 0;
    below = lane == 0 || from > steps ? 0 : sqrt(sum);
    if (lane && from == 1) /* a piece of one row: the first row keeps its sign */
        below = x[0];
    __syncwarp();
    for (int i = from; i < to; i++) {
        double value = x[-i * stride];
        sum += value * value;
        if (i == 0) {
            below = value;
            continue;
        }
        float2 g = make_float2(1, 0);
        double norm = sqrt(sum);
        if (sum > 0)
            g = make_float2((float)(value / norm), (float)(below / norm));
        cs[(i - 1) * P + p - 1 - s] = make_float2(g.x, -g.y);
        below = norm;
    }
    __syncwarp();
    for (int i = from; i < to; i++)
        x[-i * stride] = i == steps ? below : 0;
}

/* One column of W through chain s: x as above. */
template <int P>
__device__ void follow_chain(double *x, int64_t stride, int steps, int s, int p, const float2 *cs)
{
    double carried = x[0];
    for (int i = 1; i <= steps; i++) {
        float2 g = cs[(i - 1) * P + p - 1 - s];
        double upper = x[-i * stride], c = g.x, sine = -(double)g.y;
        x[-(i - 1) * stride] = c * carried - sine * upper;
        carried = c * upper + sine * carried;
    }
    x[-steps * stride] = carried;
}

/* The chains as one of groups of p rotations, step i of which works on rows n - 1 - i .. n - 1 - i
 * + p, rotation 0 of it first. Seen from the bottom, in positions n + p - 1 - row, these are the
 * rotations of a removal, last to first, but for the sign of the sine. */
template <int P>
__global__ void __launch_bounds__(bd_update_most_cols) insert_kernel(bd_update_job job, int shift)
{
    extern __shared__ float tile[];
    if (bd_update_refused(job))
        return;
    int n = job.n, k = job.k, p = job.b, steps = n - k;
    for (int i = threadIdx.x; i < steps * P; i += blockDim.x)
        job.cs[i] = make_float2(1, 0);
    __syncthreads();
    for (int s = 0; steps && s < p; s++) {
        double *bottom = job.w + n + s;
        if (threadIdx.x < chain_threads)
            make_chain<P>(bottom + s * job.ldw, 1, steps, s, p, job.cs);
        __syncthreads();
        if ((int)threadIdx.x > s && (int)threadIdx.x < p)
            follow_chain<P>(bottom + threadIdx.x * job.ldw, 1, steps, s, p, job.cs);
        __syncthreads();
    }
    const float *from = job.r + k * job.ldr;
    float *to = job.r + (k + p) * job.ldr;
    moving_rows rows = { from, to, job.ldr, steps, k, n + p - 1, -1, n + p, 0, steps, p, shift };
    if (steps)
        move_columns<P, false>(rows, job.cs, tile, nullptr);
    for (int i = threadIdx.x; i < (n + p) * p; i += blockDim.x) {
        int row = i % (n + p), column = i / (n + p);
        job.r[row + (k + column) * job.ldr] =
            row <= k + column ? (float)job.w[row + column * job.ldw] : 0;
    }
    for (int i = threadIdx.x; i < k * p; i += blockDim.x)
        job.r[n + i % p + i / p * job.ldr] = 0;
}

unsigned block_size(int cols)
{
    int threads = cols > least_threads ? cols : least_threads;
    return (unsigned)(threads + 31) / 32 * 32;
}

size_t tile_bytes(int cols, int shift)
{
    return (size_t)cols * (size_t)panel_room(shift) * sizeof(float);
}

/* Panels of these columns that hold `rows` rows, or as many as there is room for. */
int panel_shift(int cols, int rows)
{
    int shift = least_shift;
    while (shift < most_shift && 1 << shift < rows && tile_bytes(cols, shift + 1) <= most_tile)
        shift++;
    return shift;
}

} // namespace

void bd_update_r_remove(const bd_update_launch *launch, const bd_update_job *job)
{
    int cols = job->n_in - job->b - job->k, shift = panel_shift(cols, job->n_in);
    if (cols > 0)
        (job->width == 1 ? remove_kernel<1> : remove_kernel<bd_update_group>)<<<
            1, block_size(cols), tile_bytes(cols, shift), launch->stream>>>(*job, shift);
}

void bd_update_r_insert(const bd_update_launch *launch, const bd_update_job *job)
{
    int cols = job->n - job->k, shift = panel_shift(cols, job->n + job->b);
    (job->width == 1
         ? insert_kernel<1>
         : insert_kernel<
               bd_update_group>)<<<1, block_size(cols), tile_bytes(cols, shift), launch->stream>>>(
        *job, shift);
}

enum bd_status bd_update_r_prepare(const struct bd_cuda *cuda)
{
    return bd_cuda_allow_shared(
        cuda,
        { (const void *)remove_kernel<1>, (const void *)remove_kernel<bd_update_group>,
          (const void *)insert_kernel<1>, (const void *)insert_kernel<bd_update_group> },
        "preparing QR updating");
}
