/* Private to the CUDA backend: how the tiles of a Gram matrix (gram.cuh) are shared out to the
 * warps of a thread block. */
#ifndef BD_GPU_GRAM_PART_CUH
#define BD_GPU_GRAM_PART_CUH

#include <cuda_runtime.h>

/* What the warps of a set accumulate: tiles of 16 x 8 of G, in one or two segments a warp. A
 * segment is a row group (16 columns of X, on the left) by `length` column groups (8, on the right)
 * from number `first` on. Lengths are known at compile time for each kind of warp, since sums are
 * in registers; `share` is the largest number of tiles of a warp, and the others have as many or
 * one fewer. On the diagonal the first two column groups are those of the row group.
 *
 * The upper triangle of 8 C columns, folded: warp w has row groups w and 2 warps - 1 - w. */
template <int C, int SETS> struct bd_gram_folded {
    static constexpr int sets = SETS, rows = (C + 1) / 2, columns = 16 * rows;
    static constexpr int warps = (rows + 1) / 2, kinds = warps, share = C % 4 ? C : C + 2;
    static constexpr bool pair = false;

    static __host__ __device__ constexpr int kind(int warp)
    {
        return warp;
    }
    static __host__ __device__ constexpr int row(int warp, int segment)
    {
        return segment ? 2 * warps - 1 - warp : warp;
    }
    static __host__ __device__ constexpr int first(int warp, int segment)
    {
        return 2 * row(warp, segment);
    }
    static __host__ __device__ constexpr int length(int kind, int segment)
    {
        return row(kind, segment) < rows ? C - 2 * row(kind, segment) : 0;
    }
    static __host__ __device__ constexpr bool diagonal(int, int)
    {
        return true;
    }
};

/* The triangle of 16 T columns, cyclically, T even: warp w has row group w by the T + 2 column
 * groups from its own on, modulo 2 T. So each two row groups meet (those farthest apart twice: 7%
 * more work than needed for T = 12), and all warps have the same code, which fits in fewer
 * registers than a folded triangle's. */
template <int T, int SETS> struct bd_gram_cyclic {
    static constexpr int sets = SETS, columns = 16 * T, warps = T, kinds = 1, share = T + 2;
    static constexpr bool pair = false;

    static __host__ __device__ constexpr int kind(int)
    {
        return 0;
    }
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
    static __host__ __device__ constexpr bool diagonal(int, int)
    {
        return true;
    }
};

/* Matrices of more columns than a triangle holds also need the products of columns of different
 * triangles: two panels of 96 columns, one on each side. */
struct bd_gram_pair {
    static constexpr int sets = 1, columns = 192, warps = 12, kinds = 1, share = 6;
    static constexpr bool pair = true;

    static __host__ __device__ constexpr int kind(int)
    {
        return 0;
    }
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
    static __host__ __device__ constexpr bool diagonal(int, int)
    {
        return false;
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

/* The sums of one thread block: `share` tiles for each warp of a set, each tile as two halves of 8
 * x 8 in the order of the lanes. */
template <class Part> struct bd_gram_slots {
    static constexpr int count = Part::warps * Part::share * 128;

    /* Row and column of G in slot number `slot`; false if it is not to be written. */
    static __device__ __forceinline__ bool place(int slot, int unit, int n, int *row, int *col)
    {
        const int tile = slot / 128, half = slot / 64 % 2, lane = slot / 2 % 32;
        const int warp = tile / Part::share, kind = Part::kind(warp), half_cols = Part::columns / 2;
        const int length = Part::length(kind, 0), segment = tile % Part::share >= length;
        const int t = tile % Part::share - (segment ? length : 0);
        const int r = 16 * Part::row(warp, segment) + 8 * half + lane / 4;
        const int group = (Part::first(warp, segment) + t) % (Part::columns / 8);
        const int c = 8 * group + 2 * (lane % 4) + slot % 2;
        /* The other triangle's tiles are this one's mirrored, but the last two of each cycle have
         * been counted by the first warps already. */
        const bool twice = c < r && (t < 2 || t >= Part::columns / 16);
        int first, middle;
        bd_gram_columns<Part>(unit, &first, &middle);
        *row = r < half_cols ? first + r : middle + r - half_cols;
        *col = c < half_cols ? first + c : middle + c - half_cols;
        return t < Part::length(kind, segment) && !twice && *row < n && *col < n;
    }
};

#endif
