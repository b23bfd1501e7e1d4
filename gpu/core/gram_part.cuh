/* Private to the CUDA backend: how the tiles of a Gram matrix (gram.cuh) are shared out to the
 * warps of a thread block. */
#ifndef BD_GPU_CORE_GRAM_PART_CUH
#define BD_GPU_CORE_GRAM_PART_CUH

#include <cuda_runtime.h>

/* What the warps accumulate: tiles of 16 x 8 of G, in one or two segments a warp. A segment is a
 * row group (16 columns of X, on the left) by `length` column groups (8, on the right) from number
 * `first` on. Lengths are known at compile time for each kind of warp, since sums are in registers;
 * `share` is the largest number of tiles of a warp. On the diagonal the first two column groups are
 * those of the row group.
 *
 * bd_gram_cut: the upper triangle of 8 C columns, folded and cut. Row groups p and 2 pairs - 1 -
 * p together are about as long for every p < pairs. Each such pair is cut into pieces for a warp
 * each, which differ by at most a tile, so that 8 warps have the same work, two on each quarter
 * of a multiprocessor. PRODUCERS more warps load (gram_producer.cuh): 8 where there are
 * registers enough, since a loader that waits within load4, as the live separator's does, takes
 * 77 us with 4 and 52 with 8 (110592 x 100, H100; other loaders differ by 2%). */
template <int C, int PRODUCERS> struct bd_gram_cut {
    static constexpr int rows = (C + 1) / 2, columns = 16 * rows, pairs = (rows + 1) / 2;
    static constexpr int warps = 8, producers = PRODUCERS, pieces = warps / pairs;
    static constexpr int share = (C + (2 * pairs > rows ? 0 : 2) + pieces - 1) / pieces;
    static constexpr bool pair = false;

    static __host__ __device__ constexpr int row(int warp, int segment)
    {
        return segment ? 2 * pairs - 1 - warp % pairs : warp % pairs;
    }
    /* Tiles of the row group of a segment, all of them. */
    static __host__ __device__ constexpr int whole(int warp, int segment)
    {
        return row(warp, segment) < rows ? C - 2 * row(warp, segment) : 0;
    }
    /* Where piece `piece` of a pair begins, counted through both row groups. */
    static __host__ __device__ constexpr int begin(int warp, int piece)
    {
        const int total = whole(warp, 0) + whole(warp, 1), more = total % pieces;
        return total / pieces * piece + (piece < more ? piece : more);
    }
    /* The tile of its row group that a segment begins with. */
    static __host__ __device__ constexpr int start(int warp, int segment)
    {
        const int at = begin(warp, warp / pairs) - (segment ? whole(warp, 0) : 0);
        return at > 0 ? at : 0;
    }
    static __host__ __device__ constexpr int length(int warp, int segment)
    {
        const int end = begin(warp, warp / pairs + 1) - (segment ? whole(warp, 0) : 0);
        const int most = whole(warp, segment), last = end < most ? end : most;
        return last > start(warp, segment) ? last - start(warp, segment) : 0;
    }
    static __host__ __device__ constexpr int first(int warp, int segment)
    {
        return 2 * row(warp, segment) + start(warp, segment);
    }
    /* Tiles of all warps before a warp. */
    static __host__ __device__ constexpr int tiles(int warp)
    {
        int sum = 0;
        for (int w = 0; w < warp; w++)
            sum += length(w, 0) + length(w, 1);
        return sum;
    }
};

/* The triangle of 16 T columns, cyclically, T even: warp w has row group w by the T + 2 column
 * groups from its own on, modulo 2 T. So any two row groups meet (those farthest apart meet
 * twice: 7% more work than needed for T = 12), and all warps have the same code, which needs
 * fewer registers than a folded triangle's. */
template <int T> struct bd_gram_cyclic {
    static constexpr int columns = 16 * T, warps = T, share = T + 2;
    static constexpr bool pair = false;

    static __host__ __device__ constexpr int row(int warp, int)
    {
        return warp;
    }
    static __host__ __device__ constexpr int first(int warp, int)
    {
        return 2 * warp;
    }
    static __host__ __device__ constexpr int length(int, int segment)
    {
        return segment ? 0 : T + 2;
    }
    static __host__ __device__ constexpr int tiles(int warp)
    {
        return warp * share;
    }
};

/* Matrices of more columns than a triangle holds also need the products of columns of different
 * triangles: two panels of 96 columns, one on each side. */
struct bd_gram_pair {
    static constexpr int columns = 192, warps = 12, share = 6;
    static constexpr bool pair = true;

    static __host__ __device__ constexpr int row(int warp, int)
    {
        return warp % 6;
    }
    static __host__ __device__ constexpr int first(int warp, int)
    {
        return 12 + 6 * (warp / 6);
    }
    static __host__ __device__ constexpr int length(int, int segment)
    {
        return segment ? 0 : 6;
    }
    static __host__ __device__ constexpr int tiles(int warp)
    {
        return warp * share;
    }
};

/* Columns of the matrix that come first and at the middle of what unit `unit` stages: for triangles
 * one after the other; for pairs units are the four panel pairs of each two triangles p < q,
 * numbered q (q - 1) / 2 + p. */
template <class Part>
static __device__ __forceinline__ void bd_gram_columns(int unit, int *first, int *middle)
{
    const int half = Part::columns / 2;
    *first = unit * Part::columns;
    *middle = *first + half;
    if (Part::pair) {
        int q = 1, p = unit / 4;
        while (p >= q)
            p -= q++;
        *first = (2 * p + unit % 2) * half;
        *middle = (2 * q + unit / 2 % 2) * half;
    }
}

/* The sums of one thread block: the tiles of one warp after the other, each as two halves of 8 x 8
 * in the order of the lanes. */
template <class Part> struct bd_gram_slots {
    static constexpr int count = Part::tiles(Part::warps) * 128;

    /* Row and column of G in slot number `slot`; false if it is not to be written. */
    static __device__ __forceinline__ bool place(int slot, int unit, int n, int *row, int *col)
    {
        const int tile = slot / 128, half = slot / 64 % 2, lane = slot / 2 % 32;
        const int half_cols = Part::columns / 2;
        int warp = 0, before = 0, length = Part::length(0, 0);
        for (int w = 1; w < Part::warps; w++)
            if (tile >= Part::tiles(w))
                warp = w, before = Part::tiles(w), length = Part::length(w, 0);
        const int segment = tile - before >= length;
        const int t = tile - before - (segment ? length : 0);
        const int r = 16 * Part::row(warp, segment) + 8 * half + lane / 4;
        const int group = (Part::first(warp, segment) + t) % (Part::columns / 8);
        const int c = 8 * group + 2 * (lane % 4) + slot % 2;
        /* The other triangle's tiles are this one's mirrored, but the last two of each cycle have
         * been counted by the first warps already. */
        const int from_diagonal = Part::first(warp, segment) - 2 * Part::row(warp, segment) + t;
        const bool twice = c < r && (from_diagonal < 2 || from_diagonal >= Part::columns / 16);
        int first, middle;
        bd_gram_columns<Part>(unit, &first, &middle);
        *row = r < half_cols ? first + r : middle + r - half_cols;
        *col = c < half_cols ? first + c : middle + c - half_cols;
        return !twice && *row < n && *col < n;
    }
};

#endif
