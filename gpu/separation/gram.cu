/* The live separator on the GPU: G = X^T X of its window (gram.cuh).
 *
 * Columns come in pairs of groups of 8. A thread block of PAIRS warps takes tiles of 64 rows; warp
 * w forms pair w of E in shared memory and multiplies it with the pairs w, w + 1, .. w + PAIRS / 2
 * modulo PAIRS, so that each two pairs meet and all warps do the same work. The instruction is
 * 16 x 8 with a depth of 16; the order of the rows does not matter as long as it is the same for
 * both operands: lane 4 g + t takes rows 16 t .. 16 t + 15 of column g of each group, which is one
 * load of 16 bytes, and step q of 4 multiplies rows 16 t + 4 q .. 16 t + 4 q + 3. */
#include <cuda_fp16.h>

#include "gpu/separation/gram.cuh"

enum { tile_rows = 64, steps = 4, tiles_a_sum = 32 };

/* What one warp multiplies its pair with. */
template <int PAIRS> struct pairing {
    enum { count = PAIRS / 2 + 1, slots = PAIRS * count * 256, columns = 16 * PAIRS };
};

struct window_parts {
    struct bd_sep_window x;
    int count;
};

__device__ __forceinline__ uint32_t pack(float a, float b)
{
    const __half2 h = __floats2half2_rn(a, b);
    return *reinterpret_cast<const uint32_t *>(&h);
}

/* Four rows of a column of E as two words of two float16; *product += E^T b of them. */
__device__ __forceinline__ uint2 form_four(uint32_t word, const float b[4], float c, float inverse,
                                           float *product)
{
    float e[4];
    bd_sep_floats(word, e);
#pragma unroll
    for (int r = 0; r < 4; r++) {
        e[r] = bd_sep_clip((e[r] - b[r] * c) * inverse, 1);
        *product += e[r] * b[r];
    }
    return make_uint2(pack(e[0], e[1]), pack(e[2], e[3]));
}

/* c (16 x 8, float32) += the pair a (16 columns) times 8 columns of a pair, over 16 rows. A pair is
 * two words of the first group, then two of the second. */
__device__ __forceinline__ void multiply(float c[4], const uint4 &a, uint32_t b0, uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a.x), "r"(a.z), "r"(a.y), "r"(a.w), "r"(b0), "r"(b1));
}

/* part[block][warp][d][half][lane][4] := the block's sums of pair `warp` times half `half` of pair
 * warp + d, and errors[j gridDim.x + block] := its part of lambda E_j^T b. Tiles blockIdx.x,
 * blockIdx.x + gridDim.x, .. of 64 rows; x.ld is a multiple of 64, and past the end all is 0. */
template <int PAIRS>
__global__ __launch_bounds__(32 * PAIRS,
                             2) void gram_tiles(float *part, double *errors,
                                                const __grid_constant__ window_parts from)
{
    constexpr int COUNT = pairing<PAIRS>::count;
    __shared__ uint4 stages[2][PAIRS][steps][32];
    const struct bd_sep_window &x = from.x;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const float inverse = 1 / x.lambda;
    const uint8_t *column[2];
    float c[2], product[2] = {};
    double products[2] = {};
    bool inside[2];
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int j = 16 * warp + 8 * h + g, slot = x.order[min(j, from.count - 1)];
        inside[h] = j < from.count;
        column[h] = x.bytes + slot * x.ld + 16 * t;
        c[h] = x.coefficients[slot * bd_max_rank];
    }
    const int64_t tiles = x.ld / tile_rows;

    float sum[COUNT][2][4] = {};
    float4 *out = reinterpret_cast<float4 *>(part) +
                  (int64_t)blockIdx.x * (pairing<PAIRS>::slots / 4) + warp * COUNT * 64 + lane;
    uint4 bytes[2];
    float b[16];
    auto load = [&](int64_t tile) {
        const int64_t i = tile * tile_rows;
#pragma unroll
        for (int h = 0; h < 2; h++)
            bytes[h] = *reinterpret_cast<const uint4 *>(column[h] + i);
#pragma unroll
        for (int q = 0; q < steps; q++)
            bd_sep_load_floats(x.basis + i + 16 * t + 4 * q, b + 4 * q);
    };
    int64_t tile = blockIdx.x;
    if (tile < tiles)
        load(tile);
    for (int now = 0, done = 1; tile < tiles; tile += gridDim.x, now ^= 1, done++) {
#pragma unroll
        for (int q = 0; q < steps; q++) {
            uint2 e[2];
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const uint32_t word = q == 0   ? bytes[h].x
                                      : q == 1 ? bytes[h].y
                                      : q == 2 ? bytes[h].z
                                               : bytes[h].w;
                e[h] = form_four(word, b + 4 * q, c[h], inverse, &product[h]);
                if (!inside[h])
                    e[h] = make_uint2(0, 0);
            }
            stages[now][warp][q][lane] = make_uint4(e[0].x, e[0].y, e[1].x, e[1].y);
        }
        if (tile + gridDim.x < tiles)
            load(tile + gridDim.x);
        __syncthreads(); /* once a tile: who writes a stage again has passed the next one */
#pragma unroll
        for (int q = 0; q < steps; q++) {
            const uint4 a = stages[now][warp][q][lane];
#pragma unroll
            for (int d = 0; d < COUNT; d++) {
                const int other = warp + d < PAIRS ? warp + d : warp + d - PAIRS;
                const uint4 v = d ? stages[now][other][q][lane] : a;
                multiply(sum[d][0], a, v.x, v.y);
                multiply(sum[d][1], a, v.z, v.w);
            }
        }
        if (done % tiles_a_sum && tile + gridDim.x < tiles)
            continue;
        const bool first = done <= tiles_a_sum;
#pragma unroll
        for (int h = 0; h < 2; h++) {
            products[h] += (double)product[h];
            product[h] = 0;
        }
#pragma unroll
        for (int d = 0; d < COUNT; d++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                float4 &to = out[(2 * d + h) * 32], all = first ? make_float4(0, 0, 0, 0) : to;
                to = make_float4(all.x + sum[d][h][0], all.y + sum[d][h][1], all.z + sum[d][h][2],
                                 all.w + sum[d][h][3]);
#pragma unroll
                for (int e = 0; e < 4; e++)
                    sum[d][h][e] = 0;
            }
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        products[h] += __shfl_xor_sync(0xffffffffu, products[h], 1);
        products[h] += __shfl_xor_sync(0xffffffffu, products[h], 2);
        if (t == 0 && inside[h])
            errors[(int64_t)(16 * warp + 8 * h + g) * gridDim.x + blockIdx.x] =
                (double)x.lambda * products[h];
    }
}

/* sums (columns x columns, both triangles) := the sums over the thread blocks. Thread (x, y) adds
 * blocks y, y + 8, .. of slot 32 blockIdx.x + x, then y = 0 adds the eight sums. */
template <int PAIRS>
__global__ __launch_bounds__(256) void sum_blocks(double *sums, const float *part, int blocks)
{
    constexpr int COUNT = pairing<PAIRS>::count, COLUMNS = pairing<PAIRS>::columns;
    __shared__ double eight[8][32];
    const int slot = blockIdx.x * 32 + threadIdx.x;
    double sum = 0;
#pragma unroll 4
    for (int block = threadIdx.y; block < blocks; block += 8)
        sum += (double)part[(int64_t)block * pairing<PAIRS>::slots + slot];
    eight[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0)
        return;
    for (int y = 1; y < 8; y++)
        sum += eight[y][threadIdx.x];
    const int element = slot % 4, lane = slot / 4 % 32, half = slot / 128 % 2;
    const int d = slot / 256 % COUNT, warp = slot / 256 / COUNT, other = (warp + d) % PAIRS;
    const int i = 16 * warp + lane / 4 + 8 * (element / 2);
    const int j = 16 * other + 8 * half + 2 * (lane % 4) + element % 2;
    if (2 * d == PAIRS && warp >= PAIRS / 2)
        return; /* these two pairs have met the other way round */
    sums[i + j * COLUMNS] = sum;
    if (d)
        sums[j + i * COLUMNS] = sum;
}

/* G from the sums: a thread an element. */
__global__ __launch_bounds__(256) void put_together(double *g, const double *sums, int columns,
                                                    const double *errors,
                                                    const __grid_constant__ window_parts from,
                                                    const struct bd_sep_numbers *numbers)
{
    const int n = from.count, at = blockIdx.x * 256 + threadIdx.x, i = at % n, j = at / n;
    if (j >= n)
        return;
    const double lambda = from.x.lambda;
    const double ci = from.x.coefficients[from.x.order[i] * bd_max_rank];
    const double cj = from.x.coefficients[from.x.order[j] * bd_max_rank];
    g[at] = numbers->norm * ci * cj + ci * errors[j] + cj * errors[i] +
            lambda * lambda * sums[i + j * columns];
}

static unsigned blocks_of(const struct bd_cuda_separator *s)
{
    const int64_t tiles = s->ld / tile_rows, most = (int64_t)s->cuda->sms * 2;
    return (unsigned)(tiles < most ? tiles : most);
}

template <int PAIRS> static size_t bytes_of(const struct bd_cuda_separator *s)
{
    const size_t columns = pairing<PAIRS>::columns;
    return columns * columns * sizeof(double) +
           (size_t)blocks_of(s) * pairing<PAIRS>::slots * sizeof(float);
}

size_t bd_sep_gram_workspace(const struct bd_cuda_separator *s)
{
    if (s->shape.rank > 1 || s->m < bd_sep_gram_least)
        return 0;
    return bytes_of<8>(s);
}

template <int PAIRS>
static enum bd_status run(struct bd_cuda_separator *s, const struct window_parts &from)
{
    constexpr int COLUMNS = pairing<PAIRS>::columns;
    cudaStream_t stream = s->cuda->stream;
    double *sums = static_cast<double *>(s->gram_work);
    float *part = reinterpret_cast<float *>(sums + COLUMNS * COLUMNS);
    const unsigned blocks = blocks_of(s), elements = (unsigned)(from.count * from.count);
    gram_tiles<PAIRS><<<blocks, 32 * PAIRS, 0, stream>>>(part, s->partial, from);
    sum_blocks<PAIRS>
        <<<pairing<PAIRS>::slots / 32, dim3(32, 8), 0, stream>>>(sums, part, (int)blocks);
    enum bd_status status = bd_sep_finish_sums(s, s->partial, from.count, blocks, s->errors);
    put_together<<<(elements + 255) / 256, 256, 0, stream>>>(s->gram, sums, COLUMNS, s->errors,
                                                             from, s->numbers);
    return status == BD_OK ? bd_cuda_launched("the Gram matrix of the window") : status;
}

enum bd_status bd_sep_gram_one(struct bd_cuda_separator *s, int count, float lambda)
{
    const struct window_parts from = { bd_sep_view(s, lambda), count };
    enum bd_status status;
    if (count <= 64)
        status = run<4>(s, from);
    else if (count <= 112)
        status = run<7>(s, from);
    else
        status = run<8>(s, from);
    s->errors_lambda = status == BD_OK ? lambda : 0;
    return status;
}
