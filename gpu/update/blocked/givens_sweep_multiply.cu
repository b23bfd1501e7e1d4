/* QR updating: products of matrices to float32 accuracy on the tensor cores.
 *
 * A thread block makes 128 x 64 of C. It contracts 32 at a time, while the next 32 arrive. Where
 * there are fewer such tiles than multiprocessors, several thread blocks share a contraction, and a
 * second kernel adds up. */
#include "gpu/update/blocked/givens_sweep.h"
#include "gpu/update/blocked/givens_sweep_tile.cuh"

namespace
{

enum {
    tile_m = 128,
    tile_n = 64,
    tile_k = 32,
    most_columns = 65535 * tile_n, /* of a grid */
    product_threads = 256,         /* 4 x 2 warps of 32 x 32 */
    ld_m = tile_m + 8,             /* operands are 8 or 4 banks apart */
    ld_n = tile_n + 8,
    ld_k = tile_k + 4,
    a_floats = tile_m * ld_k > tile_k *ld_m ? tile_m *ld_k : tile_k *ld_m,
    b_floats = tile_n * ld_k > tile_k *ld_n ? tile_n *ld_k : tile_k *ld_n,
    product_bytes = 2 * (a_floats + b_floats) * (int)sizeof(float)
};

struct product_args {
    givens_product x;
    int64_t share; /* of the contraction, for a thread block: a multiple of tile_k */
    int64_t part;  /* floats of a part, 0: there is one, which is C */
    int a_fours, b_fours;
};

__device__ __forceinline__ int room_of(int64_t left, int most)
{
    return left < 0 ? 0 : left < most ? (int)left : most;
}

/* Begins to fetch op(A)(m.., k..) or op(B)(k.., n..). `along`: the contraction is along lines. */
template <bool ALONG, int TILE, int LD>
__device__ __forceinline__ void fetch_operand(float *to, const float *from, int64_t ld,
                                              int64_t first, int64_t k, int have, int have_k,
                                              int fours)
{
    if (ALONG)
        givens_fetch(to, ld_k, from + k + first * ld, ld, TILE, tile_k, have, have_k, fours);
    else
        givens_fetch(to, LD, from + first + k * ld, ld, tile_k, TILE, have_k, have, fours);
}

/* Calls f(element, row, column) for the elements of a warp's 32 x 32 that exist. */
template <class F>
__device__ __forceinline__ void each_element(float (&acc)[2][4][4], int rows, int columns, F f)
{
    const int lane = (int)threadIdx.x % 32, q = lane >> 2, t = lane & 3;
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int row = 16 * i + q + e / 2 * 8, column = 8 * j + 2 * t + e % 2;
                if (row < rows && column < columns)
                    f(acc[i][j][e], row, column);
            }
}

/* Grid: tiles of m, of n, shares of the contraction. */
template <bool A_ALONG, bool B_ALONG>
__global__ void __launch_bounds__(product_threads, 2)
    multiply(const __grid_constant__ product_args p)
{
    constexpr int a_row = A_ALONG ? ld_k : 1, a_col = A_ALONG ? 1 : ld_m;
    constexpr int b_row = B_ALONG ? 1 : ld_n, b_col = B_ALONG ? ld_k : 1;
    extern __shared__ float4 shared[];
    float *const a = reinterpret_cast<float *>(shared), *const b = a + 2 * a_floats;
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int q = lane >> 2, t = lane & 3;
    const int64_t m0 = (int64_t)blockIdx.x * tile_m, n0 = (int64_t)blockIdx.y * tile_n;
    const int64_t k0 = blockIdx.z * p.share;
    const int64_t k1 = k0 + p.share < p.x.k ? k0 + p.share : p.x.k;
    const int have_m = room_of(p.x.m - m0, tile_m), have_n = room_of(p.x.n - n0, tile_n);
    const int row0 = warp / 2 * 32, column0 = warp % 2 * 32;
    float acc[2][4][4] = {};
    auto fetch = [&](int64_t k, int slot) {
        const int have_k = room_of(k1 - k, tile_k);
        fetch_operand<A_ALONG, tile_m, ld_m>(a + slot * a_floats, p.x.a, p.x.lda, m0, k, have_m,
                                             have_k, p.a_fours);
        fetch_operand<B_ALONG, tile_n, ld_n>(b + slot * b_floats, p.x.b, p.x.ldb, n0, k, have_n,
                                             have_k, p.b_fours);
    };
    int slot = 0;
    if (k0 < k1)
        fetch(k0, 0);
#pragma unroll 1
    for (int64_t k = k0; k < k1; k += tile_k, slot ^= 1) {
        caqr_copies_done();
        __syncthreads();
        if (k + tile_k < k1)
            fetch(k + tile_k, slot ^ 1);
        const float *from_a = a + slot * a_floats + (row0 + q) * a_row + t * a_col;
        const float *from_b = b + slot * b_floats + t * b_row + (column0 + q) * b_col;
#pragma unroll
        for (int i = 0; i < tile_k; i += 8)
            givens_step<2, 4>(acc, from_a + i * a_col, a_row, a_col, from_b + i * b_row, b_row,
                              b_col);
    }
    float *const c =
        p.part ? p.x.parts + blockIdx.z * p.part + m0 + n0 * p.x.m : p.x.c + m0 + n0 * p.x.ldc;
    const int64_t ldc = p.part ? p.x.m : p.x.ldc;
    const float alpha = p.part ? 1 : p.x.alpha, beta = p.part ? 0 : p.x.beta;
    /* All of C is read before any of it is written: else each read waits for the write before. */
    each_element(acc, have_m - row0, have_n - column0, [&](float &x, int row, int column) {
        const float old = beta != 0 ? c[row0 + row + (column0 + column) * ldc] : 0;
        x = alpha * x + beta * old;
    });
    each_element(acc, have_m - row0, have_n - column0, [&](float &x, int row, int column) {
        c[row0 + row + (column0 + column) * ldc] = x;
    });
}

__global__ void add_parts(const __grid_constant__ product_args p, int parts)
{
    const int64_t all = p.x.m * p.x.n, step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; e < all; e += step) {
        float sum = 0;
        for (int i = 0; i < parts; i++)
            sum += p.x.parts[i * p.part + e];
        float *c = p.x.c + e % p.x.m + e / p.x.m * p.x.ldc;
        *c = p.x.alpha * sum + (p.x.beta != 0 ? p.x.beta * *c : 0);
    }
}

const void *kernel_of(int a_along, int b_along)
{
    if (a_along)
        return b_along ? (const void *)multiply<true, true> : (const void *)multiply<true, false>;
    return b_along ? (const void *)multiply<false, true> : (const void *)multiply<false, false>;
}

} // namespace

enum bd_status givens_multiply_prepare(const struct bd_cuda *cuda)
{
    return bd_cuda_allow_shared(
        cuda, { kernel_of(0, 0), kernel_of(0, 1), kernel_of(1, 0), kernel_of(1, 1) },
        "preparing QR updating");
}

enum bd_status givens_multiply(const struct bd_cuda *cuda, cudaStream_t stream,
                               const struct givens_product *x)
{
    if (x->m <= 0 || x->n <= 0)
        return BD_OK;
    if (x->n > most_columns) { /* there may be as many right-hand sides as memory holds */
        givens_product first = *x, rest = *x;
        first.n = most_columns;
        rest.n -= most_columns;
        rest.b += most_columns * (x->b_transposed ? 1 : x->ldb);
        rest.c += most_columns * x->ldc;
        const enum bd_status status = givens_multiply(cuda, stream, &first);
        return status == BD_OK ? givens_multiply(cuda, stream, &rest) : status;
    }
    const int64_t tiles_m = (x->m + tile_m - 1) / tile_m, tiles_n = (x->n + tile_n - 1) / tile_n;
    const int64_t steps = (x->k + tile_k - 1) / tile_k, tiles = tiles_m * tiles_n;
    int64_t parts = x->parts ? 2 * cuda->sms / tiles : 1;
    if (parts > steps / 4)
        parts = steps / 4;
    if (x->parts && parts > givens_parts_floats / (x->m * x->n))
        parts = givens_parts_floats / (x->m * x->n);
    if (parts < 1)
        parts = 1;
    const int64_t share = (steps + parts - 1) / parts;
    if (share > 0)
        parts = (steps + share - 1) / share;
    product_args args = { *x, share * tile_k, parts > 1 ? x->m * x->n : 0, 0, 0 };
    args.a_fours = caqr_aligned(x->a, x->lda, 4);
    args.b_fours = caqr_aligned(x->b, x->ldb, 4);
    void *values[] = { &args };
    enum bd_status status =
        bd_cuda_check(cudaLaunchKernel(kernel_of(x->a_transposed, !x->b_transposed),
                                       dim3((unsigned)tiles_m, (unsigned)tiles_n, (unsigned)parts),
                                       dim3(product_threads), values, product_bytes, stream),
                      "QR update: a product");
    if (status != BD_OK || parts == 1)
        return status;
    const int64_t blocks = (args.part + 255) / 256;
    add_parts<<<(unsigned)(blocks < 4 * cuda->sms ? blocks : 4 * cuda->sms), 256, 0, stream>>>(
        args, (int)parts);
    return bd_cuda_launched("QR update: sums of products");
}
