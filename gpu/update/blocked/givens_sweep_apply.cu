/* A blocked Givens sweep: the transformations G of all windows, applied to R or Q in one pass.
 *
 * A thread block has 64 lines (columns of R, or rows of Q), or 32 where there are few, and goes
 * through the windows from the bottom up. Shared memory holds the fresh elements of a window and
 * the overlap; their product with G is the final elements and the next overlap. G comes from L2 in
 * pieces of 32 rows. As soon as a piece is done, the elements that it was multiplied by are no
 * longer needed: the same elements of the next window are fetched in their place. */
#include "gpu/update/blocked/givens_sweep.h"
#include "gpu/update/blocked/givens_sweep_tile.cuh"

namespace
{

enum {
    piece = 32,
    sweep_threads = 256, /* 2 x 4 warps over lines and results */
    line_warps = 2,
    result_warps = 4
};

struct sweep_args {
    givens_lines to;
    const float *g;
    int64_t rows;
    int width, fours, overlap_fours;
};

/* Element (i, line) in shared memory: lines together as they are in memory. */
template <int PADDED, bool COLUMNS, int LINES> struct place {
    static constexpr int size = givens_rows + PADDED;
    static constexpr int ld_lines = LINES + 8; /* operands 8, or 4, banks apart do not conflict */
    static constexpr int element = COLUMNS ? 1 : ld_lines, line = COLUMNS ? size + 4 : 1;
    static constexpr int floats = COLUMNS ? LINES * (size + 4) : size * ld_lines;
    static constexpr int ld_g = size + 8;
    static constexpr size_t bytes = (floats + 2 * piece * ld_g) * sizeof(float);
};

static_assert(place<64, false, 64>::bytes <= givens_shared_bytes, "sweep's shared memory");

/* Begins to fetch elements first .. first + count - 1, of which `there` exist, from `from`. */
template <int PADDED, bool COLUMNS, int LINES>
__device__ __forceinline__ void fetch_lines(float *x, int first, int count, const float *from,
                                            int64_t ld, int there, int lines, int fours)
{
    using at = place<PADDED, COLUMNS, LINES>;
    there = there < 0 ? 0 : there > count ? count : there;
    if (COLUMNS)
        givens_fetch(x + first, at::line, from, ld, LINES, count, lines, there, fours);
    else
        givens_fetch(x + first * at::ld_lines, at::ld_lines, from, ld, count, LINES, there, lines,
                     fours);
}

template <int PADDED, bool COLUMNS, int LINES>
__global__ void __launch_bounds__(sweep_threads, 2) sweep(const __grid_constant__ sweep_args p)
{
    using at = place<PADDED, COLUMNS, LINES>;
    constexpr int I = LINES / line_warps / 16, J = at::size / result_warps / 8,
                  pieces = at::size / piece;
    constexpr int fresh_pieces = givens_rows / piece;
    extern __shared__ float4 shared[];
    float *const x = reinterpret_cast<float *>(shared), *const g = x + at::floats;
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int q = lane >> 2, t = lane & 3;
    /* The lines with the most windows first. */
    const int64_t first_line = (int64_t)(COLUMNS ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * LINES;
    const int lines = (int)(p.to.count - first_line < LINES ? p.to.count - first_line : LINES);
    const int64_t of_line = COLUMNS ? p.to.ldx : 1, of_element = COLUMNS ? 1 : p.to.ldx;
    float *const mine = p.to.x + first_line * of_line;
    const int64_t last = (p.rows - 1) / givens_rows;
    /* The lowest window in which a line has anything. */
    const int64_t bottom = p.to.first_diagonal + first_line + lines - 1;
    const int64_t start = bottom / givens_rows < last ? bottom / givens_rows : last;
    if (bottom < 0)
        return;
    auto fresh = [&](int64_t window, int i) {
        const int64_t row = window * givens_rows + piece * i, left = p.rows - row;
        fetch_lines<PADDED, COLUMNS, LINES>(x, piece * i, piece, mine + row * of_element, p.to.ldx,
                                            left < piece ? (int)left : (int)piece, lines, p.fours);
    };
    auto matrix = [&](int64_t window, int i, int slot) {
        givens_fetch(g + slot * piece * at::ld_g, at::ld_g,
                     p.g + (window * at::size + piece * i) * at::size, at::size, piece, at::size,
                     piece, at::size, 1);
    };
    matrix(start, 0, 0);
    for (int i = 0; i < fresh_pieces; i++)
        fresh(start, i);
    const bool overlapped = p.to.overlap && start == last;
    fetch_lines<PADDED, COLUMNS, LINES>(
        x, givens_rows, PADDED,
        overlapped ? p.to.overlap + first_line * (COLUMNS ? p.to.overlap_ld : 1) : mine,
        overlapped ? p.to.overlap_ld : p.to.ldx, overlapped ? p.width : 0, lines,
        overlapped ? p.overlap_fours : p.fours);
    const int row0 = warp / result_warps * (LINES / line_warps);
    const int column0 = warp % result_warps * 8 * J;
    int slot = 0;
#pragma unroll 1
    for (int64_t window = start; window >= 0; window--) {
        float acc[I][J][4] = {};
#pragma unroll 1
        for (int i = 0; i < pieces; i++, slot ^= 1) {
            caqr_copies_done();
            __syncthreads(); /* this piece has arrived, and all threads are done with the one before
                              */
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
                givens_step<I, J>(acc, a + k * at::element, at::line, at::element, b + k * at::ld_g,
                                  at::ld_g, 1);
        }
        const int64_t row = window * givens_rows;
        const int there = (int)(p.rows - row < givens_rows ? p.rows - row : givens_rows);
        __syncthreads(); /* the overlap has been read */
#pragma unroll
        for (int m = 0; m < I; m++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int line = row0 + 16 * m + q + e / 2 * 8;
                const int64_t diagonal = p.to.first_diagonal + first_line + line;
#pragma unroll
                for (int j = 0; j < J; j++) {
                    const int c = column0 + 8 * j + 2 * t + e % 2;
                    if (c >= givens_rows)
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
    for (int e = (int)threadIdx.x; e < LINES * PADDED; e += sweep_threads) {
        const int i = COLUMNS ? e % PADDED : e / LINES;
        const int line = COLUMNS ? e / PADDED : e % LINES;
        if (i < p.width && line < lines)
            p.to.out[COLUMNS ? i + (first_line + line) * p.to.ldx
                             : first_line + line + i * p.to.ldx] =
                x[(givens_rows + i) * at::element + line * at::line];
    }
}

/* The kernel and its shared memory for a padded width. */
struct choice {
    const void *kernel;
    size_t bytes;
};

template <int PADDED> choice choose_lines(int by_columns, int lines)
{
    if (by_columns)
        return { (const void *)sweep<PADDED, true, 32>, place<PADDED, true, 32>::bytes };
    if (lines == 32)
        return { (const void *)sweep<PADDED, false, 32>, place<PADDED, false, 32>::bytes };
    return { (const void *)sweep<PADDED, false, 64>, place<PADDED, false, 64>::bytes };
}

choice choose(int padded, int by_columns, int lines)
{
    return padded == 32 ? choose_lines<32>(by_columns, lines) : choose_lines<64>(by_columns, lines);
}

} // namespace

enum bd_status givens_apply_prepare(const struct bd_cuda *cuda)
{
    enum bd_status status = BD_OK;
    for (int i = 0; i < 6 && status == BD_OK; i++) {
        const choice by = choose(i < 3 ? 32 : 64, i % 3 == 0, i % 3 == 1 ? 32 : 64);
        status = bd_cuda_allow_shared(cuda, by.kernel, "preparing QR updating");
    }
    return status;
}

enum bd_status givens_apply(const struct bd_cuda *cuda, cudaStream_t stream,
                            const struct givens_sweep *x, const struct givens_lines *lines)
{
    if (x->rows <= 0 || lines->count <= 0)
        return BD_OK;
    sweep_args args = { *lines, x->g, x->rows, x->width, 0, 0 };
    args.fours = caqr_aligned(lines->x, lines->ldx, 4);
    args.overlap_fours = caqr_aligned(lines->overlap, lines->overlap_ld, 4);
    /* With 32 lines a block, G passes through L2 more often. That pays where all blocks run at
     * once, and for R, where some blocks have far more windows than others. */
    const int few = lines->by_columns || (lines->count + 31) / 32 <= 2 * cuda->sms ? 32 : 64;
    const choice by = choose(givens_padded(x), lines->by_columns, few);
    void *values[] = { &args };
    return bd_cuda_check(cudaLaunchKernel(by.kernel,
                                          dim3((unsigned)((lines->count + few - 1) / few)),
                                          dim3(sweep_threads), values, by.bytes, stream),
                         "QR update: a pass of transformations");
}
