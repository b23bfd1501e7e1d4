/* One sweep of one-sided Jacobi rotations on the columns of Y and V (small_svd.cuh). */
#ifndef BD_GPU_SMALL_SVD_SWEEP_CUH
#define BD_GPU_SMALL_SVD_SWEEP_CUH

#include "gpu/small_svd.cuh"

/* A column of Y and of V spread over svd_lanes threads: element 4 q + c of thread l is row
 * 64 q + 4 l + c. ROWS = ld / svd_lanes. */
template <int ROWS> struct svd_column {
    float y[ROWS], v[ROWS];
    float norm2; /* |y|^2 */
};

template <int ROWS> __device__ void svd_load(float (&x)[ROWS], const float *column)
{
#pragma unroll
    for (int q = 0; q < ROWS / 4; q++) {
        float4 f = *(const float4 *)(column + 64 * q + 4 * (threadIdx.x % svd_lanes));
        x[4 * q] = f.x;
        x[4 * q + 1] = f.y;
        x[4 * q + 2] = f.z;
        x[4 * q + 3] = f.w;
    }
}

template <int ROWS> __device__ void svd_store(float *column, const float (&x)[ROWS])
{
#pragma unroll
    for (int q = 0; q < ROWS / 4; q++)
        *(float4 *)(column + 64 * q + 4 * (threadIdx.x % svd_lanes)) =
            make_float4(x[4 * q], x[4 * q + 1], x[4 * q + 2], x[4 * q + 3]);
}

/* a . b, the same bits in all svd_lanes threads. All threads of a warp must come. */
template <int ROWS> __device__ float svd_dot(const float (&a)[ROWS], const float (&b)[ROWS])
{
    float part[4] = { 0, 0, 0, 0 };
#pragma unroll
    for (int i = 0; i < ROWS; i++)
        part[i % 4] = fmaf(a[i], b[i], part[i % 4]);
    float sum = (part[0] + part[1]) + (part[2] + part[3]);
#pragma unroll
    for (int offset = svd_lanes / 2; offset; offset /= 2)
        sum += __shfl_xor_sync(~0u, sum, offset);
    return sum;
}

__device__ inline float svd_rsqrt(float x)
{
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ inline float svd_reciprocal(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* Makes y of p and q orthogonal; 0 if they are as far as is wanted: (p . q)^2 <= limit times the
 * larger |y|^2, or times limit where that is larger: such small columns are all rounding. With tau
 * the tangent of half the angle, the rotation is p + s (q - tau p), q - s (p + tau q) (Rutishauser
 * 1966), which is orthogonal to rounding for any tau as long as s = 2 tau / (1 + tau^2). So tau may
 * be rough: tan(angle / 2) is taken as t / (2 + 0.414 t^2), t = tan(angle), within 1%, which saves
 * a root in this chain of dependent operations that the sweep takes most of its time for. *large:
 * rotations are far from converging. */
template <int ROWS>
__device__ int svd_rotate(svd_column<ROWS> &p, svd_column<ROWS> &q, float limit, int *large)
{
    float dot = svd_dot<ROWS>(p.y, q.y);
    __syncwarp(); /* all have read |y|^2 of q before one of them writes it */
    if (!(dot * dot > limit * fmaxf(fmaxf(p.norm2, q.norm2), limit)))
        return 0;
    /* tan(2 angle) = 2 dot / gap; dot is above limit, so nothing underflows here */
    float gap = p.norm2 - q.norm2;
    float scale = svd_rsqrt(fmaf(gap, gap, 4 * dot * dot));
    float sin2 = 2 * copysignf(dot, gap < 0 ? -dot : dot) * scale, k = fmaf(fabsf(gap), scale, 1.f);
    float over = sin2 * k, under = fmaf(0.41421356f * sin2, sin2, 2 * k * k);
    float tau = over * svd_reciprocal(under);
    float s = 2 * over * under * svd_reciprocal(fmaf(over, over, under * under));
    if (fabsf(s) > 0.6f && dot * dot > 2.5e-5f * p.norm2 * q.norm2)
        *large = 1;
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        float a = p.y[i], b = q.y[i];
        p.y[i] = fmaf(s, fmaf(-tau, a, b), a);
        q.y[i] = fmaf(-s, fmaf(tau, b, a), b);
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
        float a = p.v[i], b = q.v[i];
        p.v[i] = fmaf(s, fmaf(-tau, a, b), a);
        q.v[i] = fmaf(-s, fmaf(tau, b, a), b);
    }
    float shift = s * fmaf(2 * fmaf(-s, tau, 1.f), dot, -s * gap);
    p.norm2 += shift;
    q.norm2 -= shift;
    return 1;
}

/* A slot holds a block of columns: of Y, then of V (d.block_columns columns of ld each), then
 * |y|^2. There are two for the block of columns that stays with a thread block and two for the one
 * that visits it, so that the next can be sent while this one is at work. In a cluster they are in
 * shared memory and are written by the sender; without, they are in global memory, from where the
 * receiver copies them to its shared memory, which then has one of each kind. */
enum { svd_resident = 0, svd_visitor = 2, svd_slots = 4 }; /* svd_visitor + 0 or 1 */

struct svd_slot {
    float *y, *v, *norm2;
};

__device__ inline int svd_slot_size(const struct svd_data &d)
{
    return 2 * d.block_columns * d.ld + svd_pairs;
}

__device__ inline struct svd_slot svd_slot_at(const struct svd_data &d, float *base, int slot)
{
    float *y = base + slot * svd_slot_size(d);
    return { y, y + d.block_columns * d.ld, y + 2 * d.block_columns * d.ld };
}

/* Slot `slot` of this thread block in its shared memory. */
__device__ inline struct svd_slot svd_own_slot(const struct svd_data &d, float *shared, int slot)
{
    return svd_slot_at(d, shared, d.cluster ? slot : slot / 2);
}

/* Slot `slot` of thread block `rank`: where to send to. */
__device__ inline struct svd_slot svd_mail_slot(const struct svd_data &d, float *shared, int rank,
                                                int slot)
{
    float *base = d.mail + rank * svd_slots * svd_slot_size(d);
#if __CUDA_ARCH__ >= 900
    if (d.cluster)
        base = (float *)__cluster_map_shared_rank(shared, (unsigned)rank);
#endif
    return svd_slot_at(d, base, slot);
}

/* After the barrier: what was sent to `slot` of this thread block is there. */
__device__ inline void svd_receive(const struct svd_data &d, float *shared, int slot)
{
#if __CUDA_ARCH__ >= 900
    if (d.cluster)
        return;
#endif
    int size = svd_slot_size(d);
    const float4 *from = (const float4 *)(d.mail + (blockIdx.x * svd_slots + slot) * size);
    float4 *to = (float4 *)svd_own_slot(d, shared, slot).y;
    for (int k = threadIdx.x; k < size / 4; k += svd_threads)
        to[k] = from[k];
    __syncthreads();
}

/* Columns of Y and V from one place to another, by all threads. */
__device__ inline void svd_copy(const struct svd_data &d, float *y, float *v, const float *from_y,
                                const float *from_v)
{
    for (int k = threadIdx.x; k < d.block_columns * d.ld / 4; k += svd_threads) {
        ((float4 *)y)[k] = ((const float4 *)from_y)[k];
        ((float4 *)v)[k] = ((const float4 *)from_v)[k];
    }
}

/* The threads that rotate: svd_lanes for each pair, a multiple of a warp. */
__device__ inline int svd_rotating(const struct svd_data &d)
{
    return (d.block_columns + 1) / 2 * 2 * svd_lanes;
}

__device__ inline void svd_sync_rotating(int threads)
{
    asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
}

template <int ROWS>
__device__ void svd_load_column(svd_column<ROWS> &c, const struct svd_slot &s, int column, int ld)
{
    svd_load<ROWS>(c.y, s.y + column * ld);
    svd_load<ROWS>(c.v, s.v + column * ld);
    c.norm2 = s.norm2[column];
}

template <int ROWS>
__device__ void svd_store_column(const svd_column<ROWS> &c, const struct svd_slot &s, int column,
                                 int ld)
{
    svd_store<ROWS>(s.y + column * ld, c.y);
    svd_store<ROWS>(s.v + column * ld, c.v);
    if (threadIdx.x % svd_lanes == 0)
        s.norm2[column] = c.norm2;
}

/* |y|^2 of the columns of a slot; column `pair` by the threads of pair `pair`. */
template <int ROWS> __device__ void svd_norms(const struct svd_data &d, const struct svd_slot &s)
{
    int pair = threadIdx.x / svd_lanes, column = min(pair, d.block_columns - 1);
    float y[ROWS];
    svd_load<ROWS>(y, s.y + column * d.ld);
    float norm2 = svd_dot<ROWS>(y, y);
    if (pair < d.block_columns && threadIdx.x % svd_lanes == 0)
        s.norm2[pair] = norm2;
}

/* All pairs inside the block of columns a, and at the same time inside b: a round-robin tournament
 * of `even` players, of which the last has no column where their number is odd. In round t player
 * even - 1 meets t, and (t + k) meets (t - k) modulo even - 1. */
template <int ROWS>
__device__ void svd_inside(const struct svd_data &d, const struct svd_slot &a,
                           const struct svd_slot &b, float limit, int *large)
{
    int threads = svd_rotating(d), even = threads / svd_lanes;
    int pair = threadIdx.x / svd_lanes, second = pair >= even / 2, k = pair - second * (even / 2);
    const struct svd_slot s = { second ? b.y : a.y, second ? b.v : a.v,
                                second ? b.norm2 : a.norm2 };
    for (int t = 0; t < even - 1; t++) {
        int left = k ? (t + k) % (even - 1) : even - 1, right = (t - k + even - 1) % (even - 1);
        int low = min(left, right), high = max(left, right);
        svd_column<ROWS> p = {}, q = {};
        if (high < d.block_columns) {
            svd_load_column<ROWS>(p, s, low, d.ld);
            svd_load_column<ROWS>(q, s, high, d.ld);
        }
        if (svd_rotate<ROWS>(p, q, limit, large)) {
            svd_store_column<ROWS>(p, s, low, d.ld);
            svd_store_column<ROWS>(q, s, high, d.ld);
        }
        svd_sync_rotating(threads);
    }
}

/* Column p of each pair of threads against all columns of s, which each pair begins at another of.
 */
template <int ROWS>
__device__ void svd_across(const struct svd_data &d, const struct svd_slot &s, svd_column<ROWS> &p,
                           float limit, int *large)
{
    int columns = d.block_columns, pair = threadIdx.x / svd_lanes, threads = svd_rotating(d);
    for (int t = 0, column = pair; t < columns; t++) {
        svd_column<ROWS> q = {};
        if (pair < columns)
            svd_load_column<ROWS>(q, s, column, d.ld);
        if (svd_rotate<ROWS>(p, q, limit, large))
            svd_store_column<ROWS>(q, s, column, d.ld);
        column = column + 1 < columns ? column + 1 : 0;
        svd_sync_rotating(threads);
    }
}

/* Where block of columns `block` begins the next level, of groups of 2 half blocks: the first half
 * of a group are residents, the others visitors. */
__device__ inline struct svd_slot svd_next_place(const struct svd_data &d, float *shared, int block,
                                                 int half, int resident, int visitor)
{
    int index = block % (2 * half), visits = index >= half;
    int rank = block / (2 * half) * half + index - visits * half;
    return svd_mail_slot(d, shared, rank, visits ? svd_visitor + visitor : svd_resident + resident);
}

/* All pairs of columns once. The 2 C blocks of columns meet in levels of half = 1, 2, .. C: of each
 * group of 2 half blocks, those of the first half stay in registers of one thread block each, those
 * of the second half visit them in turn: thread block `me` has visitor (me + turn) % half and then
 * sends it to the one before it. `shared` holds four slots. Returns, in all threads, whether
 * another sweep is surely needed. */
template <int ROWS> __device__ int svd_sweep(const struct svd_data &d, float *shared, float limit)
{
    int blocks = gridDim.x, me = blockIdx.x, pair = threadIdx.x / svd_lanes, large = 0;
    int size = d.block_columns * d.ld, rotating = (int)threadIdx.x < svd_rotating(d);
    int resident = 0, visitor = 0; /* the slots in use: svd_resident + resident, .. */
    struct svd_slot a = svd_own_slot(d, shared, svd_resident);
    struct svd_slot b = svd_own_slot(d, shared, svd_visitor);
    svd_copy(d, a.y, a.v, d.y + 2 * me * size, d.v + 2 * me * size);
    svd_copy(d, b.y, b.v, d.y + (2 * me + 1) * size, d.v + (2 * me + 1) * size);
    __syncthreads();
    if (rotating) {
        svd_norms<ROWS>(d, a);
        svd_norms<ROWS>(d, b);
        svd_sync_rotating(svd_rotating(d));
        svd_inside<ROWS>(d, a, b, limit, &large);
    }
    for (int half = 1; half <= blocks; half *= 2) {
        int group = me / half * 2 * half, here = me / half * half, k = me % half;
        svd_column<ROWS> p = {};
        a = svd_own_slot(d, shared, svd_resident + resident);
        if (pair < d.block_columns)
            svd_load_column<ROWS>(p, a, pair, d.ld);
        for (int turn = 0; turn < half; turn++) {
            b = svd_own_slot(d, shared, svd_visitor + visitor);
            if (rotating)
                svd_across<ROWS>(d, b, p, limit, &large);
            __syncthreads();
            int last = turn == half - 1, end = last && half == blocks;
            int block = group + half + (k + turn) % half, stays = group + k;
            visitor ^= 1;
            resident ^= last;
            if (end) {
                svd_copy(d, d.y + block * size, d.v + block * size, b.y, b.v);
                if (pair < d.block_columns) {
                    svd_store<ROWS>(d.y + stays * size + pair * d.ld, p.y);
                    svd_store<ROWS>(d.v + stays * size + pair * d.ld, p.v);
                }
            } else {
                struct svd_slot to =
                    last ? svd_next_place(d, shared, block, 2 * half, resident, visitor)
                         : svd_mail_slot(d, shared, here + (k + half - 1) % half,
                                         svd_visitor + visitor);
                svd_copy(d, to.y, to.v, b.y, b.v);
                if ((int)threadIdx.x < d.block_columns)
                    to.norm2[threadIdx.x] = b.norm2[threadIdx.x];
                if (last && pair < d.block_columns) {
                    to = svd_next_place(d, shared, stays, 2 * half, resident, visitor);
                    svd_store_column<ROWS>(p, to, pair, d.ld);
                }
            }
            if (end) {
                large = __syncthreads_or(large);
                if (threadIdx.x == 0)
                    d.partial[me].large_rotation = large;
            }
            svd_barrier(d);
            if (!end) {
                svd_receive(d, shared, svd_visitor + visitor);
                if (last)
                    svd_receive(d, shared, svd_resident + resident);
            }
        }
    }
    for (int i = 0; i < blocks; i++)
        large |= d.partial[i].large_rotation;
    return large;
}

#endif
