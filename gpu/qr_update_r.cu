/* The small matrices of a QR update. R is brought back to triangular form by one block, a thread a
 * column, in float64 in between; the rotations are rounded to float32 first, so that Q sees the
 * same ones. R goes through shared memory in panels of neighbouring rows, as a column is contiguous
 * in memory and a thread's steps go along rows. */
#include "gpu/qr_update.cuh"

namespace
{

enum {
    least_shift = 4,
    most_shift = 7,       /* a panel has 16 to 128 rows: 2^shift */
    most_tile = 96 << 10, /* bytes of a panel: what every GPU has */
    least_threads = 256,  /* to fetch panels with */
    chain_threads = 32    /* a warp finds the rotations of a new column */
};

/* Floats of a column of a panel: no two threads in a bank. */
__host__ __device__ inline int panel_room(int shift)
{
    return (1 << shift) + 1;
}

/* The rotation that takes (upper, lower) to (h, 0): cosine and sine to the last bit or nearly, so
 * that they keep norms. In float32, whose operations take a third of the time of float64 ones: the
 * steps wait for each other here. What float32 loses is carried along. */
__device__ __forceinline__ float2 make_rotation(float upper, float lower)
{
    float most = fmaxf(fabsf(upper), fabsf(lower));
    /* a power of 2 that brings the larger one to 1 .. 4 */
    unsigned scale = max(0x7f000000u - (__float_as_uint(most) & 0x7f800000u), 0x00800000u);
    float a = upper * __uint_as_float(scale), b = lower * __uint_as_float(scale);
    float aa = a * a, bb = b * b, q = aa + bb, larger = fmaxf(aa, bb), smaller = fminf(aa, bb);
    float q_rest = (smaller - (q - larger)) + (fmaf(a, a, -aa) + fmaf(b, b, -bb));
    float y = rsqrtf(q), yy = y * y, yy_rest = fmaf(y, y, -yy);
    /* 1 - (q + q_rest) y^2, half of which is the relative error of y */
    float error = fmaf(-q_rest, yy, fmaf(-q, yy_rest, fmaf(-q, yy, 1.0f)));
    float c = a * y, s = b * y;
    c += fmaf(0.5f * error, c, fmaf(a, y, -c));
    s += fmaf(0.5f * error, s, fmaf(b, y, -s));
    return most > 0 ? make_float2(c, s) : make_float2(1, 0);
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
    double below = x[P]; /* what the next rotation takes to zero */
    float below_short = (float)below;
#pragma unroll
    for (int s = P - 1; s >= 0; s--) {
        float2 made = make_float2(1, 0);
        float here = (float)x[s];
        if (s < p) {
            made = make_rotation(here, below_short);
            below = (double)made.x * x[s] + (double)made.y * below;
            below_short = made.x * here + made.y * below_short;
        } else {
            below = x[s];
            below_short = here;
        }
        g[s] = made;
        cs[s] = made;
    }
    x[0] = below;
#pragma unroll
    for (int s = 1; s <= P; s++)
        x[s] = 0; /* beyond p lie rows below the diagonal */
}

/* Thread c moves column c through the chain: a window of P + 1 positions goes along the column, the
 * rotations turn it, its first element is done. Make: the rotations are made on the way, those of a
 * step by the thread whose column they bring to its length, and told to the others in `g`, two
 * sets of which are in turn. */
template <int P, bool Make>
__device__ void move_columns(const moving_rows &rows, float2 *cs, float *tile, float2 (*g)[P])
{
    int c = threadIdx.x;
    double x[P + 1];
#pragma unroll
    for (int s = 0; s <= P; s++)
        x[s] = 0;
    int panel = 1 << rows.shift, room = panel_room(rows.shift), last = rows.count + P;
    for (int base = 0; base < last; base += panel) {
        for (int i = threadIdx.x; i < rows.cols * panel; i += blockDim.x) {
            int column = i >> rows.shift, at = i & (panel - 1);
            int row = rows.first + rows.sign * (base + at);
            bool there = row >= 0 && row <= rows.diagonal + column;
            tile[column * room + at] = there ? rows.from[row + column * rows.ld] : 0;
        }
        __syncthreads();
        float *own = tile + c * room, ahead = c < rows.cols ? own[0] : 0;
        for (int i = 0; i < panel && base + i < last; i++) {
            int position = base + i - P; /* of x[0] */
            x[P] = ahead;                /* fetched before the wait for this step's rotations */
            if (c < rows.cols && i + 1 < panel)
                ahead = own[i + 1];
            if (position >= rows.begin && position < rows.end) {
                int step = position - rows.begin;
                const float2 *turn = cs + step * P;
                if (Make) {
                    if (c == step)
                        make_rotations<P>(x, rows.p, g[step % 2], cs + step * P);
                    __syncthreads();
                    turn = g[step % 2];
                }
                if (!Make || c > step) {
#pragma unroll
                    for (int s = P - 1; s >= 0; s--)
                        bd_rotate(x[s], x[s + 1], (double)turn[s].x, (double)turn[s].y);
                }
            }
            if (c < rows.cols)
                own[i] = (float)x[0];
#pragma unroll
            for (int s = 0; s < P; s++)
                x[s] = x[s + 1];
        }
        __syncthreads();
        for (int i = threadIdx.x; i < rows.cols * panel; i += blockDim.x) {
            int column = i >> rows.shift, at = i & (panel - 1), position = base + at - P;
            if (position >= 0 && position < rows.count)
                rows.to[rows.first + rows.sign * position + column * rows.ld] =
                    tile[column * room + at];
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
    __shared__ float2 g[2][P];
    if (bd_update_refused(job))
        return;
    int n = job.n_in - job.b;
    moving_rows rows = { job.r + (job.k + job.b) * job.ldr,
                         job.r + job.k * job.ldr,
                         job.ldr,
                         n - job.k,
                         job.k + job.b,
                         0,
                         1,
                         n,
                         job.k,
                         n,
                         job.b,
                         shift };
    move_columns<P, true>(rows, job.cs, tile, g);
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
    double carry = x[0];
    for (int i = 1; i <= steps; i++) {
        float2 g = cs[(i - 1) * P + p - 1 - s];
        double upper = x[-i * stride], c = g.x, sine = -(double)g.y;
        x[-(i - 1) * stride] = c * carry - sine * upper;
        carry = c * upper + sine * carry;
    }
    x[-steps * stride] = carry;
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
    moving_rows rows = { job.r + k * job.ldr,
                         job.r + (k + p) * job.ldr,
                         job.ldr,
                         steps,
                         k,
                         n + p - 1,
                         -1,
                         n + p,
                         0,
                         steps,
                         p,
                         shift };
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

/* Thread j has what is left of g[j]; in step i thread i makes z[i] of it and tells the others. */
__global__ void __launch_bounds__(bd_update_most_cols)
    append_kernel(float *r, int64_t ldr, int n, const double *g, int shift)
{
    extern __shared__ float tile[];
    __shared__ double told[2];
    int j = threadIdx.x;
    int panel = 1 << shift, room = panel_room(shift);
    double pivot = j < n ? (double)r[j + j * ldr] : 0, inverse = pivot != 0 ? 1 / pivot : 0;
    double own = 0, left = 0;
    /* ||z|| <= ||u||: what goes beyond is rounding over a small pivot. That is rare, and looked for
     * only when it has been seen to happen. */
    for (int careful = 0; careful < 2; careful++) {
        double rest = j < n ? g[j] : 0;
        bool beyond = false;
        left = g[n] > 0 ? g[n] : 0;
        for (int base = 0; base < n; base += panel) {
            for (int i = threadIdx.x; i < n * panel; i += blockDim.x) {
                int column = i >> shift, at = i & (panel - 1);
                if (base + at < column)
                    tile[column * room + at] = r[base + at + column * ldr];
            }
            __syncthreads();
            const float *row = tile + (j < n ? j : 0) * room;
            for (int i = 0; i < panel && base + i < n; i++) {
                double next = j > base + i && j < n ? (double)row[i] : 0;
                if (j == base + i) {
                    own = rest * inverse;
                    if (careful && own * own > left)
                        own = copysign(sqrt(left), own);
                    told[i % 2] = own;
                }
                __syncthreads();
                double z = told[i % 2];
                rest -= next * z;
                left -= z * z;
                beyond = beyond || left < 0;
                left = left > 0 ? left : 0;
            }
            __syncthreads();
        }
        if (!beyond) /* the same in all threads */
            break;
    }
    if (j < n) {
        r[j + n * ldr] = (float)own;
        r[n + j * ldr] = 0;
    }
    if (j == 0)
        r[n + n * ldr] = (float)sqrt(left);
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

void bd_update_append(const bd_update_launch *launch, float *r, int64_t ldr, int n, const double *g)
{
    int shift = panel_shift(n, n);
    append_kernel<<<1, block_size(n), tile_bytes(n, shift), launch->stream>>>(r, ldr, n, g, shift);
}

enum bd_status bd_update_r_prepare(void)
{
    const void *kernels[] = { (const void *)remove_kernel<1>,
                              (const void *)remove_kernel<bd_update_group>,
                              (const void *)insert_kernel<1>,
                              (const void *)insert_kernel<bd_update_group>,
                              (const void *)append_kernel };
    for (const void *kernel : kernels) {
        enum bd_status status = bd_cuda_check(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_tile),
            "preparing QR updating");
        if (status != BD_OK)
            return status;
    }
    return BD_OK;
}
