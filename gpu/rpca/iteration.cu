/* The second sweep of a batch Robust PCA iteration: L = X W, T := E + (X - L) and the residuals, X
 * formed on the fly and never stored. M is read once, T read and written once: 9 bytes an element
 * from bytes. Here for narrow matrices, n <= 104; wider and relaxed ones: iteration_wide.cu.
 *
 * W is in shared memory, in the order in which the lanes want it. The rest of shared memory is a
 * ring of tiles of 16 rows, more than there are warps: a warp multiplies a tile, reads it again for
 * the new T, and starts the copy of a later one into its place. So tiles are always on their way
 * while all warps multiply, and no warp waits for another one, only for copies.
 *
 * Tiles are taken from the last to the first, since the first sweep goes the other way: what it
 * read last is still in the L2 cache, and what is written last here is there for the next one. */
#include <type_traits>

#include "gpu/core/dependent_launch.cuh"
#include "gpu/rpca/tile.cuh"
#include "gpu/rpca/warpgroup.cuh"

namespace
{

enum {
    warp_size = 32,
    narrow_most = 104,
    rows = bd_rpca_rows,
    ring_most = 32, /* tiles */
};

/* W in shared memory as a warp multiplies by it, and the product. */
template <int NT, class Element> struct by_warp {
    /* Right operand (k, j) of a lane is number (k NT + j) 32 + lane. */
    static __device__ __forceinline__ void put(bd_rpca_right *weights, int k, int j, int lane,
                                               const bd_rpca_right &w)
    {
        weights[(k * NT + j) * warp_size + lane] = w;
    }
    static __device__ __forceinline__ void done(void)
    {
    }
    /* sum (16 x 8 NT) += X W of a tile. */
    static __device__ __forceinline__ void multiply(float (&sum)[NT][4],
                                                    const bd_rpca_job<Element> &job,
                                                    const bd_rpca_view<NT, Element> &view,
                                                    const bd_rpca_right *weights, int lane)
    {
        const bd_rpca_right *w = weights + lane;
#pragma unroll 1
        for (int k = 0; 16 * k < job.x.n; k++, w += NT * warp_size) {
            const bd_rpca_left x = view.left(job, k);
#pragma unroll
            for (int j = 0; j < NT; j++)
                bd_rpca_multiply(sum[j], x, w[j * warp_size]);
        }
    }
};

#ifdef BD_RPCA_WARPGROUP
template <int NT, class Element>
using way = std::conditional_t<NT == bd_rpca_group_columns, bd_rpca_by_group<NT, Element>,
                               by_warp<NT, Element>>;
#else
template <int NT, class Element> using way = by_warp<NT, Element>;
#endif

/* W to shared memory. Several loads are under way at a time: all that is waited for is one trip to
 * the L2 cache. Number i is right operand (k, j) = (i / 32 / NT, i / 32 % NT) of lane i % 32. */
template <int NT, class Way>
__device__ __forceinline__ void fill_weights(bd_rpca_right *to, const float *w, int64_t ldw, int n)
{
    constexpr int count = (NT + 1) / 2 * NT * warp_size, batch = 8;
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
                Way::put(to, i / warp_size / NT, i / warp_size % NT, i % warp_size,
                         bd_rpca_split_right(v[u]));
        }
    }
    Way::done();
}

/* The new T of a tile; returns its sums. */
template <int NT, class Element>
__device__ __forceinline__ bd_rpca_sums<float>
renew(const bd_rpca_job<Element> &job, int64_t tile, int g, int c,
      const bd_rpca_view<NT, Element> &view, const float (&sum)[NT][4])
{
    const int n = job.x.n;
    float *to = job.s.t + (tile * n + 2 * c) * rows + 2 * g;
    bd_rpca_sums<float> sums = { 0, 0 };
#pragma unroll
    for (int j = 0; j < NT; j++)
#pragma unroll
        for (int odd = 0; odd < 2; odd++) {
            const float2 t = view.t(j, odd), m = view.m(j, odd);
            const float first = job.renew(t.x, m.x, sum[j][odd], &sums);
            const float second = job.renew(t.y, m.y, sum[j][2 + odd], &sums);
            if (8 * j + 2 * c + odd < n)
                bd_rpca_store(to + (8 * j + odd) * rows, first, second);
        }
    return sums;
}

/* n <= 8 NT. Block b has tiles last - b, last - b - blocks, ..: number i of these is for warp
 * i % warps, in place i % ring. */
template <int NT, class Element>
__global__ __launch_bounds__(bd_rpca_warps *warp_size,
                             1) void sweep_narrow(const __grid_constant__ bd_rpca_job<Element> job)
{
    using store = bd_rpca_tile<NT, Element>;
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ uint64_t full[ring_most];
    __shared__ int number[ring_most]; /* of the tile that is in a place, or on its way there */
    bd_rpca_right *weights = reinterpret_cast<bd_rpca_right *>(shared);
    store *tiles = reinterpret_cast<store *>(weights + (NT + 1) / 2 * NT * warp_size);
    const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    const int warps = (int)blockDim.x / warp_size, ring = job.ring;
    const int64_t last = job.tiles - 1 - blockIdx.x;
    const int count = (int)(last / gridDim.x) + 1;

    auto tile_of = [&](int i) { return last - (int64_t)i * gridDim.x; };
    auto fetch = [&](int i, int at) {
        tiles[at].fetch(job, tile_of(i), lane);
        bd_rpca_barrier_arrive(bd_rpca_shared(full + at));
        if (lane == 0)
            bd_rpca_announce_copy(bd_rpca_shared(number + at), i);
    };
#pragma unroll 1
    for (int i = warp; i < ring; i += warps) {
        if (lane == 0)
            bd_rpca_barrier_init(bd_rpca_shared(full + i));
        __syncwarp();
        if (i < count)
            fetch(i, i);
        tiles[i].clear(job.x.n, lane);
    }
    bd_cuda_await(); /* until here this may run beside the kernel before, which makes W */
    if (*job.s.stop) {
        asm volatile("cp.async.wait_all;" ::: "memory");
        return;
    }
    fill_weights<NT, way<NT, Element>>(weights, job.s.w, job.s.ldw, job.x.n);
    __syncthreads();
    bd_rpca_sums<double> sums = { 0, 0 };
    int at = warp, parity = 0;
    /* Four warps go on together; which has no tile left multiplies what is there. */
#pragma unroll 1
    for (int i = warp; i - warp % 4 < count; i += warps) {
        const bd_rpca_view<NT, Element> view(tiles[at], lane / 4, lane % 4);
        float sum[NT][4] = {};
        if (i < count) { /* the tile before this one here is another warp's, which may be late */
            bd_rpca_await_copy(bd_rpca_shared(number + at), i);
            bd_rpca_barrier_wait(bd_rpca_shared(full + at), parity);
        }
        __syncwarp();
        way<NT, Element>::multiply(sum, job, view, weights, lane);
        if (i < count) {
            const bd_rpca_sums<float> part = renew(job, tile_of(i), lane / 4, lane % 4, view, sum);
            sums.residual += (double)part.residual;
            sums.change += (double)part.change;
        }
        __syncwarp();
        if (i + ring < count)
            fetch(i + ring, at);
        at += warps;
        if (at >= ring)
            at -= ring, parity ^= 1;
    }
    bd_rpca_finish(job, sums);
}

/* How many tiles find room, and how many warps go with them: with so many tiles ahead of the warps
 * the copies keep up. 0: there is no room. */
template <int NT, class Element> int narrow_ring(const bd_cuda *cuda, int *warps, size_t *bytes)
{
    const size_t weights = (NT + 1) / 2 * NT * warp_size * sizeof(bd_rpca_right);
    const size_t tile = sizeof(bd_rpca_tile<NT, Element>), room = cuda->shared_most - 1024;
    int ring = room < weights ? 0 : (int)((room - weights) / tile);
    ring = ring < ring_most ? ring : ring_most;
    *warps = ring >= 16 ? bd_rpca_warps : ring >= 12 ? 8 : 4;
    *bytes = weights + ring * tile;
    return ring < *warps ? 0 : ring;
}

/* false: there is no room. */
template <int NT, class Element> bool run_narrow(const bd_cuda *cuda, const bd_rpca_sweep *s)
{
    size_t bytes;
    int warps, ring = narrow_ring<NT, Element>(cuda, &warps, &bytes);
    if (ring == 0 || s->n > 8 * NT)
        return false;
    bd_rpca_job<Element> job(*s);
    int64_t blocks = job.tiles < cuda->sms ? job.tiles : cuda->sms;
    job.ring = ring;
    bd_cuda_follow(cuda, sweep_narrow<NT, Element>, dim3((unsigned)blocks), dim3(warps * warp_size),
                   bytes, job);
    return true;
}

template <class Element> bool run(const bd_cuda *cuda, const bd_rpca_sweep *s)
{
    return run_narrow<4, Element>(cuda, s) || run_narrow<8, Element>(cuda, s) ||
           run_narrow<narrow_most / 8, Element>(cuda, s);
}

} // namespace

enum bd_status bd_rpca_sweep_prepare(const struct bd_cuda *cuda)
{
    enum bd_status status = bd_cuda_allow_shared(
        cuda,
        { (const void *)sweep_narrow<4, uint8_t>, (const void *)sweep_narrow<8, uint8_t>,
          (const void *)sweep_narrow<narrow_most / 8, uint8_t>,
          (const void *)sweep_narrow<4, float>, (const void *)sweep_narrow<8, float>,
          (const void *)sweep_narrow<narrow_most / 8, float> },
        "shared memory for Robust PCA");
    return status == BD_OK ? bd_rpca_wide_prepare(cuda) : status;
}

enum bd_status bd_rpca_sweep_run(const struct bd_cuda *cuda, const struct bd_rpca_sweep *sweep)
{
    if (!sweep->l && !sweep->s && !sweep->relaxed &&
        (sweep->type == BD_U8 ? run<uint8_t>(cuda, sweep) : run<float>(cuda, sweep)))
        return bd_cuda_launched("a Robust PCA sweep");
    return bd_rpca_wide_run(cuda, sweep);
}
