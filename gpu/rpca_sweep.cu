/* The second sweep of a batch Robust PCA iteration: L = X W, T := S + (X - L) and the residual, X
 * formed on the fly and never stored. M is read once, T read and written once: 9 bytes an element
 * from bytes. Here for narrow matrices, n <= 104; wider ones: rpca_wide.cu.
 *
 * W is in shared memory, in the order in which the lanes want it, and a warp has tiles of 16 rows
 * for itself: it copies M and T of a tile to its part of shared memory, multiplies, and reads both
 * again for the new T. Nothing is shared between warps, so some wait for memory while others
 * multiply. (Fetching a warp's next tile to the L2 cache meanwhile made 921600 x 100 a sixth
 * slower; two tiles at a time in half the warps, to read W half as often, changed nothing.) */
#include "gpu/rpca_sweep.cuh"

namespace
{

enum { warp_size = 32, narrow_most = 104, rows = bd_rpca_rows };

__device__ __forceinline__ void copy16(void *shared, const void *global)
{
    unsigned to = (unsigned)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
}

/* M and T of a tile in shared memory, 8 NT columns, those from n on 0. A lane (4 g + c) reads rows
 * 2 g and 2 g + 1 of a column 2 c, or one after it. Even columns come first, then odd ones; of
 * floats, quads 2 and 3 change places with 0 and 1 in every second pair of columns: so what a half
 * of a warp reads covers all banks. */
template <int NT, class Element> struct tile_store {
    float t[NT * 8 * rows];
    Element m[NT * 8 * rows];

    static __device__ __forceinline__ int place(int col)
    {
        return (col / 2 + col % 2 * (NT * 4)) * rows;
    }
    /* Where row `row` is. */
    static __device__ __forceinline__ int at(const float *, int col, int row)
    {
        return place(col) + (row ^ (col & 4) * 2);
    }
    static __device__ __forceinline__ int at(const uint8_t *, int col, int row)
    {
        return place(col) + row;
    }
    __device__ __forceinline__ void clear(int n, int lane)
    {
#pragma unroll 1
        for (int i = rows * n + lane; i < rows * 8 * NT; i += warp_size) {
            t[at(t, i / rows, i % rows)] = 0;
            m[at(m, i / rows, i % rows)] = 0;
        }
    }

    /* Starts the copies of a tile; done after cp.async.wait_all. */
    __device__ __forceinline__ void fetch(const bd_rpca_job<Element> &job, int64_t tile, int lane)
    {
        const int n = job.x.n, pieces = (int)sizeof(Element); /* of 16 bytes, of a column of M */
        const int64_t row = tile * rows;
        const float *from = job.x.t + row * n;
#pragma unroll 4
        for (int i = lane; i < 4 * n; i += warp_size)
            copy16(t + at(t, i / 4, i % 4 * 4), from + 4 * i);
        const bd_rpca_frames<Element> &frames = job.x.frames;
        if (frames.lines && row + rows <= frames.rows) {
#pragma unroll 4
            for (int i = lane; i < pieces * n; i += warp_size) {
                int col = i / pieces, first = i % pieces * (rows / pieces);
                copy16(m + at(m, col, first), frames.m + row + first + col * frames.ld);
            }
            return;
        }
#pragma unroll 1
        for (int i = lane; i < 4 * n; i += warp_size) {
            float x[4];
            frames.load4(row + i % 4 * 4, i / 4, x);
            for (int k = 0; k < 4; k++)
                m[at(m, i / 4, i % 4 * 4 + k)] = (Element)x[k];
        }
    }
};

/* What lane 4 g + c reads of a stored tile: rows 2 g and 2 g + 1 of columns 8 j + 2 c + odd, which
 * lie at a distance that does not depend on the lane. */
template <int NT, class Element> struct lane_view {
    using store = tile_store<NT, Element>;
    const float *t0;
    const Element *m0;

    __device__ __forceinline__ lane_view(const store &tile, int g, int c)
        : t0(tile.t + store::at(tile.t, 2 * c, 2 * g)), m0(tile.m + store::at(tile.m, 2 * c, 2 * g))
    {
    }
    static __device__ __forceinline__ int step(int j, int odd)
    {
        return (4 * j + odd * NT * 4) * rows;
    }
    __device__ __forceinline__ float2 t(int j, int odd) const
    {
        return bd_rpca_frames<float>::pair(t0 + step(j, odd));
    }
    __device__ __forceinline__ float2 m(int j, int odd) const
    {
        return bd_rpca_frames<Element>::pair(m0 + step(j, odd));
    }

    /* The left operand of columns 16 k .. 16 k + 15: X in `unit`. */
    __device__ __forceinline__ bd_rpca_left left(const bd_rpca_job<Element> &job, int k) const
    {
        bd_rpca_left a = {};
#pragma unroll
        for (int half = 0; half < 2; half++) {
            if (NT % 2 && half && k == NT / 2)
                break;
            float x[2][2];
#pragma unroll
            for (int odd = 0; odd < 2; odd++) {
                const float2 old = t(2 * k + half, odd), seen = m(2 * k + half, odd);
                x[0][odd] = job.s.unit * job.x.form(seen.x, old.x);
                x[1][odd] = job.s.unit * job.x.form(seen.y, old.y);
            }
#pragma unroll
            for (int row = 0; row < 2; row++)
                bd_rpca_split(x[row][0], x[row][1], &a.high[2 * half + row],
                              &a.low[2 * half + row]);
        }
        return a;
    }
};

/* Right operand (k, j) of a lane becomes number (k NT + j) 32 + lane. Several loads are under way
 * at a time: all that is waited for is one trip to the L2 cache. */
template <int NT>
__device__ __forceinline__ void fill_weights(bd_rpca_right *to, const float *w, int64_t ldw, int n)
{
    constexpr int count = (NT + 1) / 2 * NT * warp_size, batch = 6;
    for (int base = threadIdx.x; base < count; base += batch * blockDim.x) {
        float4 v[batch];
#pragma unroll
        for (int u = 0; u < batch; u++) {
            const int i = base + u * (int)blockDim.x;
            v[u] = bd_rpca_take(w, ldw, (n + 7) / 8 * 8, i / warp_size / NT, i / warp_size % NT,
                                i % warp_size);
        }
#pragma unroll
        for (int u = 0; u < batch; u++) {
            const int i = base + u * (int)blockDim.x;
            if (i < count)
                to[i] = bd_rpca_split_right(v[u]);
        }
    }
}

/* n <= 8 NT. The tiles of a block lie in a row; its warps take them in turn. */
template <int NT, class Element>
__global__ __launch_bounds__(bd_rpca_warps *warp_size,
                             1) void sweep_narrow(const __grid_constant__ bd_rpca_job<Element> job)
{
    constexpr int KT = (NT + 1) / 2;
    extern __shared__ uint4 shared[];
    if (*job.s.stop)
        return;
    using store = tile_store<NT, Element>;
    bd_rpca_right *weights = reinterpret_cast<bd_rpca_right *>(shared);
    const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    const int warps = (int)blockDim.x / warp_size, g = lane / 4, c = lane % 4;
    const int n = job.x.n, steps = (n + 15) / 16;
    const unsigned b = blockIdx.x, before = b < job.extra ? b : job.extra;
    const int64_t start = job.share * b + before, end = start + job.share + (b < job.extra);
    int64_t tile = start + warp;
    store &tile_of = reinterpret_cast<store *>(weights + KT * NT * warp_size)[warp];

    if (tile < end)
        tile_of.fetch(job, tile, lane);
    tile_of.clear(n, lane);
    fill_weights<NT>(weights, job.s.w, job.s.ldw, n);
    __syncthreads();
    const lane_view<NT, Element> view(tile_of, g, c);
    double square = 0;
    for (; tile < end; tile += warps) {
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncwarp();

        float sum[NT][4] = {};
#pragma unroll 1
        for (int k = 0; k < steps; k++) {
            const bd_rpca_left x = view.left(job, k);
            const bd_rpca_right *w = weights + k * NT * warp_size + lane;
#pragma unroll
            for (int j = 0; j < NT; j++)
                bd_rpca_multiply(sum[j], x, w[j * warp_size]);
        }

        float *to = job.s.t + (tile * n + 2 * c) * rows + 2 * g;
#pragma unroll
        for (int j = 0; j < NT; j++) {
            float part = 0;
#pragma unroll
            for (int odd = 0; odd < 2; odd++) {
                const float2 t = view.t(j, odd), m = view.m(j, odd);
                const float first = job.renew(t.x, m.x, sum[j][odd], &part);
                const float second = job.renew(t.y, m.y, sum[j][2 + odd], &part);
                if (8 * j + 2 * c + odd < n)
                    bd_rpca_store(to + (8 * j + odd) * rows, first, second);
            }
            square += (double)part;
        }
        __syncwarp();
        if (tile + warps < end)
            tile_of.fetch(job, tile + warps, lane);
    }
    bd_rpca_finish(job.s, square);
}

/* How many warps of a block find room, and the shared memory of these. */
template <int NT, class Element> int narrow_warps(const bd_cuda *cuda, size_t *bytes)
{
    const size_t weights = (NT + 1) / 2 * NT * warp_size * sizeof(bd_rpca_right);
    const size_t tile = sizeof(tile_store<NT, Element>), room = cuda->shared_most - 1024;
    int warps = room < weights ? 0 : (int)((room - weights) / tile);
    warps = warps < bd_rpca_warps ? warps / 4 * 4 : bd_rpca_warps;
    *bytes = weights + warps * tile;
    return warps;
}

/* false: there is no room. */
template <int NT, class Element> bool run_narrow(const bd_cuda *cuda, const bd_rpca_sweep *s)
{
    size_t bytes;
    int warps = narrow_warps<NT, Element>(cuda, &bytes);
    if (warps == 0 || s->n > 8 * NT)
        return false;
    bd_rpca_job<Element> job(*s);
    int64_t blocks = job.tiles < cuda->sms ? job.tiles : cuda->sms;
    job.share = job.tiles / blocks;
    job.extra = (unsigned)(job.tiles % blocks);
    sweep_narrow<NT, Element><<<(unsigned)blocks, warps * warp_size, bytes, cuda->stream>>>(job);
    return true;
}

template <class Element> bool run(const bd_cuda *cuda, const bd_rpca_sweep *s)
{
    return run_narrow<4, Element>(cuda, s) || run_narrow<8, Element>(cuda, s) ||
           run_narrow<narrow_most / 8, Element>(cuda, s);
}

template <class Kernel> cudaError_t allow(const bd_cuda *cuda, Kernel kernel)
{
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                cuda->shared_most - 1024);
}

template <class Element> cudaError_t prepare(const bd_cuda *cuda)
{
    cudaError_t error = allow(cuda, sweep_narrow<4, Element>);
    if (error == cudaSuccess)
        error = allow(cuda, sweep_narrow<8, Element>);
    if (error == cudaSuccess)
        error = allow(cuda, sweep_narrow<narrow_most / 8, Element>);
    return error;
}

} // namespace

enum bd_status bd_rpca_sweep_prepare(const struct bd_cuda *cuda)
{
    cudaError_t error = prepare<uint8_t>(cuda);
    if (error == cudaSuccess)
        error = prepare<float>(cuda);
    enum bd_status status = bd_cuda_check(error, "shared memory for Robust PCA");
    return status == BD_OK ? bd_rpca_wide_prepare(cuda) : status;
}

enum bd_status bd_rpca_sweep_run(const struct bd_cuda *cuda, const struct bd_rpca_sweep *sweep)
{
    if (!sweep->l && !sweep->s &&
        (sweep->type == BD_U8 ? run<uint8_t>(cuda, sweep) : run<float>(cuda, sweep)))
        return bd_cuda_launched("a Robust PCA sweep");
    return bd_rpca_wide_run(cuda, sweep);
}
