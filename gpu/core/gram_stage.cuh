/* Private to the CUDA backend: the layout in shared memory of rows of X for the sums of a Gram
 * matrix (gram_producer.cuh, gram_tiles.cuh), and how a Loader fills it. */
#ifndef BD_GPU_CORE_GRAM_STAGE_CUH
#define BD_GPU_CORE_GRAM_STAGE_CUH

#include <type_traits>

#include <cstdint>

#include "gpu/core/gram_multiply.cuh"

/* The place of a quad of rows. Rows come in blocks of 16; in each block the columns follow each
 * other, and the four quads (of 4 floats) of a column are together. So the 8 columns of a group
 * are 32 adjacent quads, number l for lane l. In odd blocks neighbouring columns are exchanged,
 * so that what the threads of a column store in two blocks goes to different banks. */
template <int COLS> __device__ __forceinline__ int bd_gram_quad(int block, int col, int quad)
{
    return (block * COLS + (col ^ (block & 1))) * 4 + quad;
}

/* The fragment of column group `group` (of 8); `rows` points to the lane's own quad of the row
 * block. */
__device__ __forceinline__ void bd_gram_fragment(double wide[4], const float4 *rows, int group)
{
    float4 v = rows[32 * group];
    float x[4] = { v.x, v.y, v.z, v.w };
    bd_gram_widen(wide, x);
}

/* Four rows of a column while they are being loaded. A loader may have, beside load4,
 *
 *     struct raw { .. };
 *     __device__ raw fetch(int64_t i, int j) const;          the loads of load4 only
 *     __device__ void form(const raw &r, float x[4]) const;  what load4 computes from them
 *
 * so that nothing waits for the loads before X is needed. */
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
