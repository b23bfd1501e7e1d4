/* Private to the CUDA backend: how rows of X are staged in shared memory for the sums of a Gram
 * matrix (gram.cuh) of more than 32 columns: each of their elements is wanted by many warps. */
#ifndef BD_GPU_CORE_GRAM_STAGE_CUH
#define BD_GPU_CORE_GRAM_STAGE_CUH

#include <type_traits>

#include <cstdint>

#include "gpu/core/gram_multiply.cuh"

/* Staged rows: in blocks of 16, in each of these the columns one after the other, a column's four
 * quads (of 4 floats) together. The 8 columns of a group are so 32 adjacent quads, number l for
 * lane l; in odd blocks neighbouring columns are exchanged, which takes what a column's threads
 * store in two blocks to different banks. */
template <int COLS> __device__ __forceinline__ int bd_gram_quad(int block, int col, int quad)
{
    return (block * COLS + (col ^ (block & 1))) * 4 + quad;
}

/* The fragment of column group `group` (of 8); `rows` are the quads of a row block, moved on by the
 * lane's own. */
__device__ __forceinline__ void bd_gram_fragment(double wide[4], const float4 *rows, int group)
{
    float4 v = rows[32 * group];
    float x[4] = { v.x, v.y, v.z, v.w };
    bd_gram_widen(wide, x);
}

/* Four rows of a column on their way from the loader. A loader may have, beside load4,
 *     struct raw { .. };
 *     __device__ raw fetch(int64_t i, int j) const;          the loads of load4 and no more
 *     __device__ void form(const raw &r, float x[4]) const;  what load4 makes of them
 * so that nothing waits for the loads before X is wanted. */
template <class Loader, class = void> struct bd_gram_rows {
    float4 r;

    __device__ __forceinline__ void fetch(const Loader &loader, bool in, int64_t i, int j)
    {
        float x[4] = { 0.0f, 0.0f, 0.0f, 0.0f };
        if (in)
            loader.load4(i, j, x);
        r = make_float4(x[0], x[1], x[2], x[3]);
    }
    __device__ __forceinline__ float4 form(const Loader &, bool) const
    {
        return r;
    }
};

template <class Loader> struct bd_gram_rows<Loader, std::void_t<typename Loader::raw>> {
    typename Loader::raw r;

    __device__ __forceinline__ void fetch(const Loader &loader, bool in, int64_t i, int j)
    {
        if (in)
            r = loader.fetch(i, j);
    }
    __device__ __forceinline__ float4 form(const Loader &loader, bool in) const
    {
        float x[4] = { 0.0f, 0.0f, 0.0f, 0.0f };
        if (in)
            loader.form(r, x);
        return make_float4(x[0], x[1], x[2], x[3]);
    }
};

/* A loader may also have
 *     struct strip { .. };
 *     __device__ bool whole(int64_t i) const;             may rows i .. i + 3 be read so?
 *     __device__ strip at(int64_t i, int j) const;        where rows i .. i + 3 of column j are
 *     __device__ raw take(const strip &s) const;          what fetch gives; without it, four floats
 *     __device__ void move(strip &s, int columns) const;  to the column `columns` further
 * which is less arithmetic for every load. */
template <class Loader, class = void> struct bd_gram_has_strips : std::false_type {
};
template <class Loader>
struct bd_gram_has_strips<Loader, std::void_t<typename Loader::strip>> : std::true_type {
};

#endif
