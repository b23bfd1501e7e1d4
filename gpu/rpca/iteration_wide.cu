/* The second sweep of a batch Robust PCA iteration for wide matrices (n > 104), and of any n for
 * L and S themselves and for relaxed problems: the X of up to 128 rows is in shared memory as left
 * operands, W is packed as right operands in device memory and comes from the caches. M is read
 * twice, T read twice and written once, the second time from the caches. */
#include "gpu/rpca/iteration.cuh"

namespace
{

enum { rows = bd_rpca_rows, warps = 8, NT = 4 /* groups of 8 columns that a warp has at a time */ };

using of_bytes = bd_rpca_job<uint8_t>;
using of_floats = bd_rpca_job<float>;
using relaxed = bd_rpca_job<float, true>;

/* Right operand (k, j) of a lane becomes number (k columns + j) 32 + lane, columns = (n + 7) / 8.
 */
__global__ void pack(bd_rpca_right *packed, const float *w, int64_t ldw, int n, const int *stop)
{
    const int columns = (n + 7) / 8, k = blockIdx.x, j = (int)blockIdx.y * 8 + threadIdx.y;
    if ((stop && *stop) || j >= columns)
        return;
    packed[(k * columns + j) * 32 + threadIdx.x] =
        bd_rpca_split_right(bd_rpca_take(w, ldw, columns * 8, k, j, threadIdx.x));
}

/* The left operand of rows `row`, row + 1 and columns 16 k + 2 c, .. + 1, .. + 8, .. + 9. */
template <class Job> __device__ bd_rpca_left form_left(const Job &job, int64_t row, int k, int c)
{
    bd_rpca_left a;
    float x[4][2];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int col = 16 * k + 2 * c + i / 2 * 8 + i % 2;
        x[i][0] = x[i][1] = 0;
        if (col < job.x.n) {
            float2 m = job.x.frames.load2(row, col);
            float2 t = *reinterpret_cast<const float2 *>(job.x.t + bd_rpca_at(row, col, job.x.n));
            x[i][0] = job.form(m.x, t.x);
            x[i][1] = job.form(m.y, t.y);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        bd_rpca_split(x[i / 2 * 2][i % 2], x[i / 2 * 2 + 1][i % 2], &a.high[i], &a.low[i]);
    return a;
}

/* Two rows of a column of an output, as far as there are so many. */
__device__ __forceinline__ void put(float *out, int64_t ld, int64_t rows_of_m, int64_t row, int col,
                                    float first, float second)
{
    if (out && row < rows_of_m)
        out[row + col * ld] = first;
    if (out && row + 1 < rows_of_m)
        out[row + 1 + col * ld] = second;
}

/* A warp's share of a tile, columns base .. base + 8 NT - 1: from the sums of products the new T,
 * or L and S. Several columns are read before any is written: the loads are under way together.
 * Returns their sums. */
template <class Job>
__device__ __forceinline__ bd_rpca_sums<float> finish_tile(const Job &job, int64_t row, int base,
                                                           int c, const float sum[NT][4])
{
    const int n = job.x.n;
    const bool get = job.s.l || job.s.s;
    float *at = job.s.t + bd_rpca_at(row, base + 2 * c, n);
    bd_rpca_sums<float> part = { 0, 0 };
#pragma unroll
    for (int odd = 0; odd < 2; odd++) {
        float2 t[NT], m[NT];
#pragma unroll
        for (int j = 0; j < NT; j++) {
            const int col = base + 8 * j + 2 * c + odd;
            t[j] = m[j] = make_float2(0, 0);
            if (col < n) {
                t[j] = *reinterpret_cast<float2 *>(at + (8 * j + odd) * rows);
                m[j] = job.x.frames.load2(row, col);
            }
        }
#pragma unroll
        for (int j = 0; j < NT; j++) {
            const int col = base + 8 * j + 2 * c + odd;
            const float first = sum[j][odd], second = sum[j][2 + odd];
            const float top = job.renew(t[j].x, m[j].x, first, &part);
            const float below = job.renew(t[j].y, m[j].y, second, &part);
            if (col < n && !get)
                bd_rpca_store(at + (8 * j + odd) * rows, top, below);
            if (col < n && get) {
                put(job.s.l, job.s.ldl, job.s.rows, row, col, job.inverse * first,
                    job.inverse * second);
                put(job.s.s, job.s.lds, job.s.rows, row, col, job.sparse(m[j].x, top),
                    job.sparse(m[j].y, below));
            }
        }
    }
    return part;
}

/* A block takes job.groups (2, 4, 8) tiles; warp w multiplies two of them, number w % (groups / 2),
 * by sets of NT groups of columns, number w / (groups / 2) and every (2 warps / groups)-th after.
 */
template <class Job>
__global__ __launch_bounds__(warps * 32, 2) void sweep_wide(const __grid_constant__ Job job)
{
    extern __shared__ uint4 shared[];
    const bool get = job.s.l || job.s.s;
    if (!get && *job.s.stop)
        return;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, c = lane % 4;
    const int n = job.x.n, steps = (n + 15) / 16, columns = (n + 7) / 8;
    const int64_t first = (int64_t)blockIdx.x * job.groups;

    /* Tile i, k-step k: high parts, then low ones, 32 lanes each. */
#pragma unroll 1
    for (int i = warp; i < job.groups * steps; i += warps) {
        bd_rpca_left a = {};
        if (first + i / steps < job.tiles)
            a = form_left(job, (first + i / steps) * rows + 2 * g, i % steps, c);
        shared[i * 64 + lane] = make_uint4(a.high[0], a.high[1], a.high[2], a.high[3]);
        shared[i * 64 + 32 + lane] = make_uint4(a.low[0], a.low[1], a.low[2], a.low[3]);
    }
    __syncthreads();

    const int pairs = job.groups / 2, mine = warp % pairs * 2;
    const uint4 *xs = shared + mine * steps * 64 + lane;
    bd_rpca_sums<double> sums = { 0, 0 };
    for (int base = warp / pairs * NT; base < columns; base += warps / pairs * NT) {
        const uint4 *w = reinterpret_cast<const uint4 *>(job.s.packed) + base * 32 + lane;
        auto load = [&](int k, uint4 v[NT]) {
#pragma unroll
            for (int j = 0; j < NT; j++)
                v[j] = base + j < columns && k < steps ? __ldg(w + (k * columns + j) * 32)
                                                       : make_uint4(0, 0, 0, 0);
        };
        float sum[2][NT][4] = {};
        uint4 ahead[NT];
        load(0, ahead);
#pragma unroll 1
        for (int k = 0; k < steps; k++) {
            bd_rpca_right right[NT];
#pragma unroll
            for (int j = 0; j < NT; j++)
                right[j] = { { ahead[j].x, ahead[j].y }, { ahead[j].z, ahead[j].w } };
            load(k + 1, ahead);
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const uint4 high = xs[(i * steps + k) * 64], low = xs[(i * steps + k) * 64 + 32];
                const bd_rpca_left left = { { high.x, high.y, high.z, high.w },
                                            { low.x, low.y, low.z, low.w } };
#pragma unroll
                for (int j = 0; j < NT; j++)
                    bd_rpca_multiply(sum[i][j], left, right[j]);
            }
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int64_t tile = first + mine + i;
            if (tile >= job.tiles)
                continue;
            const bd_rpca_sums<float> part =
                finish_tile(job, tile * rows + 2 * g, 8 * base, c, sum[i]);
            sums.residual += (double)part.residual;
            sums.change += (double)part.change;
        }
    }
    if (!get)
        bd_rpca_finish(job, sums);
}

/* Bytes of shared memory for a tile of X. */
int tile_bytes(int n)
{
    return (n + 15) / 16 * 1024;
}

int room(const bd_cuda *cuda)
{
    return cuda->shared_most - 1024;
}

template <class Job> void run(const bd_cuda *cuda, const bd_rpca_sweep *s)
{
    Job job(*s);
    job.groups = 8; /* with room for two blocks, if possible */
    while (job.groups > 2 && job.groups * tile_bytes(s->n) > room(cuda) / 2)
        job.groups /= 2;
    int64_t blocks = (job.tiles + job.groups - 1) / job.groups;
    sweep_wide<Job>
        <<<(unsigned)blocks, warps * 32, (size_t)job.groups * tile_bytes(s->n), cuda->stream>>>(
            job);
}

} // namespace

int bd_rpca_sweep_most(const struct bd_cuda *cuda)
{
    int n = room(cuda) / 2 / tile_bytes(16) * 16;
    return n < bd_rpca_most ? n : bd_rpca_most;
}

size_t bd_rpca_packed(int n)
{
    return (size_t)((n + 15) / 16 * ((n + 7) / 8) * 32) * sizeof(bd_rpca_right);
}

enum bd_status bd_rpca_wide_prepare(const struct bd_cuda *cuda)
{
    return bd_cuda_allow_shared(cuda,
                                { (const void *)sweep_wide<of_bytes>,
                                  (const void *)sweep_wide<of_floats>,
                                  (const void *)sweep_wide<relaxed> },
                                "shared memory for Robust PCA");
}

enum bd_status bd_rpca_wide_run(const struct bd_cuda *cuda, const struct bd_rpca_sweep *s)
{
    const dim3 blocks((unsigned)(s->n + 15) / 16, (unsigned)(s->n + 63) / 64);
    pack<<<blocks, dim3(32, 8), 0, cuda->stream>>>(reinterpret_cast<bd_rpca_right *>(s->packed),
                                                   s->w, s->ldw, s->n,
                                                   s->l || s->s ? nullptr : s->stop);
    if (s->relaxed)
        run<relaxed>(cuda, s);
    else if (s->type == BD_U8)
        run<of_bytes>(cuda, s);
    else
        run<of_floats>(cuda, s);
    return bd_cuda_launched("a Robust PCA sweep");
}
