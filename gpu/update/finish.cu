/* The end of Gram-Schmidt for a group of new columns, after two projections from the columns before
 * the group: they are made orthogonal to each other and of norm 1. Rarely a column lies nearly, or
 * entirely, in the span of the others and needs more. The GPU decides that, in one launch whose
 * blocks synchronise between passes; all blocks add the same sums in the same order, and so decide
 * alike. A thread has the same rows in every pass. Products are in float64. The CPU's version is
 * finish_column in linalg/cpu/update/append.c.
 *
 * Giraud, Langou, Rozloznik, van den Eshof: Rounding error analysis of the classical Gram-Schmidt
 * orthogonalization process (2005). */
#include <cfloat>
#include <cooperative_groups.h>

#include "gpu/update/update.cuh"

namespace
{

enum {
    finish_threads = 512,
    finish_warps = finish_threads / 32,
    ahead = 8, /* columns of Q that a thread reads at a time */
    products = bd_update_group * (bd_update_group + 1) / 2 /* of the columns of a group */
};

struct finish {
    const bd_update_job &job;
    double *coef;        /* most_cols + group, in shared memory */
    double *room;        /* 33, in shared memory */
    double *warps;       /* finish_warps x products, in shared memory */
    int turn;            /* which half of job.gathered is used next */
    int64_t row, stride; /* the thread's rows */
};

/* bd_update_negligible of the CPU (linalg/cpu/update/update.h). */
__device__ double negligible(int n)
{
    return 4 * FLT_EPSILON * (1 + sqrt((double)n));
}

__device__ double *gathering(const finish &f, int count)
{
    return f.job.gathered + (int64_t)f.turn * gridDim.x * bd_update_gathered(f.job.ldw) +
           blockIdx.x * (int64_t)count;
}

/* coef[0 .. count-1] := the sums over the blocks of what each wrote to gathering(). */
__device__ void gather(finish &f, int count)
{
    cooperative_groups::this_grid().sync();
    const double *from = gathering(f, count) - blockIdx.x * (int64_t)count;
    for (int j = threadIdx.x; j < count; j += blockDim.x) {
        double sum = 0;
        for (unsigned i = 0; i < gridDim.x; i++)
            sum += from[i * (int64_t)count + j];
        f.coef[j] = sum;
    }
    __syncthreads();
    f.turn = !f.turn; /* a block may still read this half when another is at its next sums */
}

__device__ double gather_one(finish &f, double value)
{
    value = bd_sum_block(value, f.room);
    if (threadIdx.x == 0)
        *gathering(f, 1) = value;
    gather(f, 1);
    value = f.coef[0];
    __syncthreads();
    return value;
}

/* One more projection of the column v of Q away from columns first .. first + count - 1. w (NULL:
 * not wanted) gains the coefficients; returns the new norm of v. */
__device__ double project(finish &f, int first, int count, float *v, double *w)
{
    const bd_update_job &job = f.job;
    const float *q = job.q + first * job.ldq;
    double *own = gathering(f, count);
    for (int j = 0; j < count; j += ahead) {
        double sum[ahead] = {};
        for (int64_t i = f.row; i < job.m; i += f.stride) {
            bd_rows<1> x[ahead];
            double y = v[i];
            bd_load_ahead<ahead, 1>(x, q + i + j * job.ldq, job.ldq, count - j);
#pragma unroll
            for (int d = 0; d < ahead; d++)
                sum[d] += (double)x[d].x[0] * y;
        }
        bd_sum_columns<ahead>(f.warps + threadIdx.x / 32 * ahead, sum);
        __syncthreads();
        if (threadIdx.x < ahead && j + (int)threadIdx.x < count) {
            double total = 0;
            for (int w = 0; w < finish_warps; w++)
                total += f.warps[w * ahead + threadIdx.x];
            own[j + threadIdx.x] = total;
        }
        __syncthreads();
    }
    gather(f, count);
    for (int j = threadIdx.x; j < count; j += blockDim.x) {
        f.coef[j] = (double)(float)f.coef[j];
        if (w && blockIdx.x == 0)
            w[j] += f.coef[j];
    }
    __syncthreads();
    double square = 0;
    for (int64_t i = f.row; i < job.m; i += f.stride) {
        double x = v[i];
        for (int j = 0; j < count; j += ahead) {
            bd_rows<1> y[ahead];
            bd_load_ahead<ahead, 1>(y, q + i + j * job.ldq, job.ldq, count - j);
#pragma unroll
            for (int d = 0; d < ahead; d++)
                x -= (j + d < count ? f.coef[j + d] : 0) * (double)y[d].x[0];
        }
        v[i] = (float)x;
        square += (double)(float)x * (double)(float)x;
    }
    __syncthreads(); /* coef is read no more */
    return sqrt(gather_one(f, square));
}

__device__ void scale(const finish &f, float *v, double by)
{
    for (int64_t i = f.row; i < f.job.m; i += ahead * f.stride) {
        float x[ahead];
#pragma unroll
        for (int d = 0; d < ahead; d++)
            x[d] = i + d * f.stride < f.job.m ? v[i + d * f.stride] : 0;
#pragma unroll
        for (int d = 0; d < ahead; d++)
            if (i + d * f.stride < f.job.m)
                v[i + d * f.stride] = (float)(by * (double)x[d]);
    }
}

/* Uniform in -1 .. 1, from a fixed seed, as on the CPU (splitmix64). */
__device__ float noise(uint64_t seed, int64_t i)
{
    uint64_t x = (seed << 40) + (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (float)((double)(x >> 32) * 0x1p-31 - 1);
}

/* A unit vector orthogonal to the first n columns of Q, n < m, in v. */
__device__ void fresh_direction(finish &f, int n, float *v)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        double norm = sqrt((double)f.job.m / 3);
        for (int64_t i = f.row; i < f.job.m; i += f.stride)
            v[i] = noise(seed, i);
        for (int round = 0; round < 5; round++) {
            double before = norm;
            norm = project(f, 0, n, v, nullptr);
            if (!(norm > 0))
                break;
            scale(f, v, 1 / norm);
            if (norm > 0.5 * before)
                return;
            norm = 1;
        }
    }
}

/* Ends column c of the group. Its projections from the first n columns left `norm` of `whole`;
 * unsafe: so little that it needs another. */
__device__ void finish_column(finish &f, int c, double whole, double norm, bool unsafe)
{
    const bd_update_job &job = f.job;
    int n = job.n;
    float *v = job.q + (n + c) * job.ldq;
    double *w = job.w + c * job.ldw, least = negligible(n + c) * whole, start = norm;
    for (int round = 0; round < 2 && c && norm > least; round++)
        norm = project(f, n, c, v, w + n);
    /* What the later projections took away has left the errors of the first behind. */
    unsafe = unsafe || norm < 0.25 * start;
    for (int round = 0; round < 4 && unsafe && norm > least; round++) {
        double before = norm;
        norm = project(f, 0, n + c, v, w);
        unsafe = norm < 0.5 * before;
    }
    bool left = norm > least;
    if (left)
        scale(f, v, 1 / norm);
    else
        fresh_direction(f, n + c, v);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        w[n + c] = left ? norm : 0;
}

/* An upper triangle, column c from number c (c + 1) / 2 on. */
__device__ __forceinline__ int at(int row, int column)
{
    return column * (column + 1) / 2 + row;
}

/* One sweep over the group's columns V: V := V S, S upper triangular (NULL: left alone); coef :=
 * the upper triangle of V^T V. Columns that are not there count as zero. */
__device__ void multiply(finish &f, const double *s)
{
    const bd_update_job &job = f.job;
    float *v = job.q + job.n * job.ldq;
    double sum[products] = {};
    for (int64_t i = f.row; i < job.m; i += f.stride) {
        bd_rows<1> x[bd_update_group];
        bd_load_ahead<bd_update_group, 1>(x, v + i, job.ldq, job.b);
        if (s) {
#pragma unroll
            for (int c = bd_update_group - 1; c >= 0; c--) {
                double y = 0;
#pragma unroll
                for (int a = 0; a <= c; a++)
                    y += (double)x[a].x[0] * s[at(a, c)];
                x[c].x[0] = (float)y;
                if (c < job.b)
                    v[i + c * job.ldq] = (float)y;
            }
        }
#pragma unroll
        for (int c = 0; c < bd_update_group; c++)
#pragma unroll
            for (int a = 0; a <= c; a++)
                sum[at(a, c)] += (double)x[a].x[0] * (double)x[c].x[0];
    }
    bd_sum_columns<products>(f.warps + threadIdx.x / 32 * products, sum);
    __syncthreads();
    for (int j = threadIdx.x; j < products; j += blockDim.x) {
        double total = 0;
        for (int w = 0; w < finish_warps; w++)
            total += f.warps[w * products + j];
        gathering(f, products)[j] = total;
    }
    gather(f, products);
}

/* R with R^T R = the matrix in coef, and S = R^-1; false if a column has less than `least` of its
 * norm outside the span of those before it. A thread does it for its block. */
__device__ bool triangle(const double *coef, int b, double least, double *r, double *s)
{
    for (int c = 0; c < b; c++) {
        double left = coef[at(c, c)];
        for (int a = 0; a < c; a++) {
            double x = coef[at(a, c)];
            for (int i = 0; i < a; i++)
                x -= r[at(i, a)] * r[at(i, c)];
            x *= s[at(a, a)];
            r[at(a, c)] = x;
            left -= x * x;
        }
        if (!(left > least * least * coef[at(c, c)]))
            return false;
        r[at(c, c)] = sqrt(left);
        s[at(c, c)] = 1 / r[at(c, c)];
        for (int a = c - 1; a >= 0; a--) {
            double x = 0;
            for (int i = a + 1; i <= c; i++)
                x -= r[at(a, i)] * s[at(i, c)];
            s[at(a, c)] = x * s[at(a, a)];
        }
    }
    return true;
}

/* The group made orthonormal by its Gram matrix, in float64, twice; false, with nothing done, if it
 * is not far enough from dependent for that. */
__device__ bool finish_together(finish &f)
{
    __shared__ double r[2][products], s[products];
    __shared__ int good;
    const bd_update_job &job = f.job;
    for (int round = 0; round < 2; round++) {
        if (round == 0)
            multiply(f, nullptr);
        for (int i = threadIdx.x; i < products; i += blockDim.x)
            s[i] = 0;
        __syncthreads();
        if (threadIdx.x == 0)
            good = triangle(f.coef, job.b, round ? 0 : 0.25, r[round], s);
        __syncthreads();
        if (!good)
            return false;
        multiply(f, s);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0)
        for (int c = 0; c < job.b; c++)
            for (int a = 0; a <= c; a++) {
                double x = 0;
                for (int i = a; i <= c; i++)
                    x += r[1][at(a, i)] * r[0][at(i, c)];
                job.w[job.n + a + c * job.ldw] = x;
            }
    return true;
}

/* Thread t of block i: rows 512 i + t, and so on by all threads of the grid. */
__global__ void __launch_bounds__(finish_threads) finish_kernel(bd_update_job job, int items)
{
    __shared__ double coef[bd_update_most_cols + bd_update_group], room[33];
    __shared__ double warps[finish_warps * products];
    __shared__ double squares[bd_update_group];
    if (bd_update_refused(job))
        return;
    finish f = { job,
                 coef,
                 room,
                 warps,
                 0,
                 blockIdx.x * (int64_t)finish_threads + threadIdx.x,
                 (int64_t)gridDim.x * finish_threads };
    int again = job.state->again;
    for (int c = 0; c < job.b && again; c++) {
        double sum = 0;
        for (int i = threadIdx.x; i < items; i += finish_threads)
            sum += job.partials[(int64_t)i * job.width + c];
        sum = bd_sum_block(sum, room);
        if (threadIdx.x == 0)
            squares[c] = sum;
    }
    __syncthreads();
    bool together = job.b > 1;
    for (int c = 0; c < job.b; c++) {
        double before = job.state->norm[c], norm = again ? sqrt(squares[c]) : before;
        together = together && norm > negligible(job.n + c) * job.state->whole[c] &&
                   !(again && norm < 0.5 * before);
    }
    if (together && finish_together(f))
        return;
    for (int c = 0; c < job.b; c++) {
        double before = job.state->norm[c], norm = again ? sqrt(squares[c]) : before;
        finish_column(f, c, job.state->whole[c], norm, again && norm < 0.5 * before);
    }
}

} // namespace

enum bd_status bd_update_finish(const bd_update_launch *launch, const bd_update_job *job, int items)
{
    bd_update_job copy = *job;
    void *arguments[] = { &copy, &items };
    return bd_cuda_check(
        cudaLaunchCooperativeKernel((const void *)finish_kernel, dim3((unsigned)launch->sms),
                                    dim3(finish_threads), arguments, 0, launch->stream),
        "QR update: finishing columns");
}
