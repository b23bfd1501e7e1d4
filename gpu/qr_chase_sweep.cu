/* QR updating by windows: the transformations of all windows applied to R or Q in one pass.
 *
 * A thread block has 64 lines (columns of R, or rows of Q) and goes through the windows from the
 * bottom up: in shared memory are the fresh elements of a window and those carried from the one
 * below, times G they become the final elements and the carried ones. G comes from L2 in pieces of
 * 32 rows; as soon as such a piece is done, the same elements of the next window are fetched in the
 * place of those that it was multiplied by. */
#include "gpu/qr_chase.h"
#include "gpu/qr_chase_tile.cuh"

namespace
{

enum {
    lines_of_block = 64,
    piece = 32,
    sweep_threads = 256, /* 2 x 4 warps over lines and results */
    line_warps = 2,
    result_warps = 4,
    ld_lines = lines_of_block + 8 /* 8, or 4, banks apart: operands meet no conflicts */
};

struct sweep_args {
    chase_lines to;
    const float *g;
    int64_t rows;
    int width, fours, carry_fours;
};

/* Element (i, line) in shared memory: lines together as they are in memory. */
template <int PADDED, bool COLUMNS> struct place {
    static constexpr int size = chase_rows + PADDED;
    static constexpr int element = COLUMNS ? 1 : ld_lines, line = COLUMNS ? size + 4 : 1;
    static constexpr int floats = COLUMNS ? lines_of_block * (size + 4) : size * ld_lines;
    static constexpr int ld_g = size + 8;
    static constexpr size_t bytes = (floats + 2 * piece * ld_g) * sizeof(float);
};

static_assert(place<64, false>::bytes <= chase_shared_bytes, "sweep's shared memory");

/* Begins to fetch `count` elements from `first` on, of which `there` exist, from `from`. */
template <int PADDED, bool COLUMNS>
__device__ __forceinline__ void fetch_lines(float *x, int first, int count, const float *from,
                                            int64_t ld, int there, int lines, int fours)
{
    using at = place<PADDED, COLUMNS>;
    there = there < 0 ? 0 : there > count ? count : there;
    if (COLUMNS)
        chase_fetch(x + first, at::line, from, ld, lines_of_block, count, lines, there, fours);
    else
        chase_fetch(x + first * ld_lines, ld_lines, from, ld, count, lines_of_block, there, lines,
                    fours);
}

template <int PADDED, bool COLUMNS>
__global__ void __launch_bounds__(sweep_threads, 2) sweep(const __grid_constant__ sweep_args p)
{
    using at = place<PADDED, COLUMNS>;
    constexpr int J = at::size / result_warps / 8, pieces = at::size / piece;
    constexpr int fresh_pieces = chase_rows / piece;
    extern __shared__ float4 shared[];
    float *const x = reinterpret_cast<float *>(shared), *const g = x + at::floats;
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int q = lane >> 2, t = lane & 3;
    const int64_t first_line = (int64_t)blockIdx.x * lines_of_block;
    const int lines =
        (int)(p.to.count - first_line < lines_of_block ? p.to.count - first_line : lines_of_block);
    const int64_t of_line = COLUMNS ? p.to.ldx : 1, of_element = COLUMNS ? 1 : p.to.ldx;
    float *const mine = p.to.x + first_line * of_line;
    const int64_t last = (p.rows - 1) / chase_rows;
    /* The lowest window in which a line has anything. */
    const int64_t bottom = p.to.first_diagonal + first_line + lines - 1;
    const int64_t start = bottom / chase_rows < last ? bottom / chase_rows : last;
    if (bottom < 0)
        return;
    auto fresh = [&](int64_t window, int i) {
        const int64_t row = window * chase_rows + piece * i, left = p.rows - row;
        fetch_lines<PADDED, COLUMNS>(x, piece * i, piece, mine + row * of_element, p.to.ldx,
                                     left < piece ? (int)left : (int)piece, lines, p.fours);
    };
    auto matrix = [&](int64_t window, int i, int slot) {
        chase_fetch(g + slot * piece * at::ld_g, at::ld_g,
                    p.g + (window * at::size + piece * i) * at::size, at::size, piece, at::size,
                    piece, at::size, 1);
    };
    matrix(start, 0, 0);
    for (int i = 0; i < fresh_pieces; i++)
        fresh(start, i);
    const bool carried = p.to.carry && start == last;
    fetch_lines<PADDED, COLUMNS>(x, chase_rows, PADDED,
                                 carried ? p.to.carry + first_line * (COLUMNS ? p.to.carry_ld : 1)
                                         : mine,
                                 carried ? p.to.carry_ld : p.to.ldx, carried ? p.width : 0, lines,
                                 carried ? p.carry_fours : p.fours);
    const int row0 = warp / result_warps * (lines_of_block / line_warps);
    const int column0 = warp % result_warps * 8 * J;
    int slot = 0;
#pragma unroll 1
    for (int64_t window = start; window >= 0; window--) {
        float acc[2][J][4] = {};
#pragma unroll 1
        for (int i = 0; i < pieces; i++, slot ^= 1) {
            caqr_copies_done();
            __syncthreads(); /* this piece is there, and all are done with the one before */
            if (i + 1 < pieces)
                matrix(window, i + 1, slot ^ 1);
            else if (window > 0)
                matrix(window - 1, 0, slot ^ 1);
            if (window > 0 && i > 0 && i <= fresh_pieces)
                fresh(window - 1, i - 1);
            const float *a = x + (row0 + q) * at::line + (piece * i + t) * at::element;
            const float *b = g + slot * piece * at::ld_g + t * at::ld_g + column0 + q;
#pragma unroll
            for (int k = 0; k < piece; k += 8)
                chase_step<2, J>(acc, a + k * at::element, at::line, at::element, b + k * at::ld_g,
                                 at::ld_g, 1);
        }
        const int64_t row = window * chase_rows;
        const int there = (int)(p.rows - row < chase_rows ? p.rows - row : chase_rows);
        __syncthreads(); /* the carried elements have been read */
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int line = row0 + 16 * m + q + e / 2 * 8;
                const int64_t diagonal = p.to.first_diagonal + first_line + line;
#pragma unroll
                for (int j = 0; j < J; j++) {
                    const int c = column0 + 8 * j + 2 * t + e % 2;
                    if (c >= chase_rows)
                        x[c * at::element + line * at::line] = acc[m][j][e];
                    else if (c < there && line < lines)
                        mine[(row + c + p.to.shift) * of_element + line * of_line] =
                            row + c <= diagonal ? acc[m][j][e] : 0;
                }
            }
    }
    caqr_copies_done();
    __syncthreads();
    if (!p.to.out)
        return;
    for (int e = (int)threadIdx.x; e < lines_of_block * PADDED; e += sweep_threads) {
        const int i = COLUMNS ? e % PADDED : e / lines_of_block;
        const int line = COLUMNS ? e / PADDED : e % lines_of_block;
        if (i < p.width && line < lines)
            p.to.out[COLUMNS ? i + (first_line + line) * p.to.out_ld
                             : first_line + line + i * p.to.out_ld] =
                x[(chase_rows + i) * at::element + line * at::line];
    }
}

/* The kernel and its shared memory for a padded width. */
struct choice {
    const void *kernel;
    size_t bytes;
};

choice choose(int padded, int by_columns)
{
    if (padded == 32)
        return by_columns ? choice{ (const void *)sweep<32, true>, place<32, true>::bytes }
                          : choice{ (const void *)sweep<32, false>, place<32, false>::bytes };
    return by_columns ? choice{ (const void *)sweep<64, true>, place<64, true>::bytes }
                      : choice{ (const void *)sweep<64, false>, place<64, false>::bytes };
}

} // namespace

enum bd_status chase_sweep_prepare(void)
{
    enum bd_status status = BD_OK;
    for (int i = 0; i < 4 && status == BD_OK; i++) {
        const choice by = choose(i < 2 ? 32 : 64, i % 2);
        status = bd_cuda_check(cudaFuncSetAttribute(by.kernel,
                                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                    (int)by.bytes),
                               "preparing QR updating");
    }
    return status;
}

enum bd_status chase_sweep(cudaStream_t stream, const struct chase *x,
                           const struct chase_lines *lines)
{
    if (x->rows <= 0 || lines->count <= 0)
        return BD_OK;
    sweep_args args = { *lines, x->g, x->rows, x->width, 0, 0 };
    args.fours = caqr_aligned(lines->x, lines->ldx, 4);
    args.carry_fours = caqr_aligned(lines->carry, lines->carry_ld, 4);
    const choice by = choose(chase_padded(x), lines->by_columns);
    void *values[] = { &args };
    return bd_cuda_check(
        cudaLaunchKernel(by.kernel,
                         dim3((unsigned)((lines->count + lines_of_block - 1) / lines_of_block)),
                         dim3(sweep_threads), values, by.bytes, stream),
        "QR update: a pass of transformations");
}
