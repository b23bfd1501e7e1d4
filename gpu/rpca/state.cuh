/* Private to gpu/rpca: the state of the batch Robust PCA (backdrop/rpca.h) and how its
 * elements are formed.
 *
 * T (m x n) is kept in tiles of 16 rows: tile k holds rows 16 k .. 16 k + 15, column by column, so
 * that it lies in one piece. Rows from m on are 0 in T, and taken as 0 in M. */
#ifndef BD_GPU_RPCA_STATE_CUH
#define BD_GPU_RPCA_STATE_CUH

#include "gpu/cuda.h"
#include "linalg/shared/rpca_ops.h"

enum { bd_rpca_rows = 16 };

/* Where row i (of the matrix) of column j of T is. */
__device__ __forceinline__ int64_t bd_rpca_at(int64_t i, int j, int n)
{
    return (i / bd_rpca_rows * n + j) * bd_rpca_rows + i % bd_rpca_rows;
}

/* Within +-bound; NaN stays NaN, so that it is seen in the residual. */
__device__ __forceinline__ float bd_rpca_clip(float t, float bound)
{
    float c;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(t), "f"(bound));
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(c), "f"(-bound));
    return c;
}

/* Four rows of a column, as one word: to be taken apart no sooner than they are wanted. */
template <class Element> struct bd_rpca_quad;
template <> struct bd_rpca_quad<uint8_t> {
    uint32_t v;

    __device__ __forceinline__ void put(int k, uint8_t x)
    {
        v |= (uint32_t)x << 8 * k;
    }
    __device__ __forceinline__ void widen(float x[4]) const
    {
#pragma unroll
        for (int k = 0; k < 4; k++)
            x[k] = (float)(v >> 8 * k & 255);
    }
};
template <> struct bd_rpca_quad<float> {
    float4 v;

    __device__ __forceinline__ void put(int k, float x)
    {
        (k == 0 ? v.x : k == 1 ? v.y : k == 2 ? v.z : v.w) = x;
    }
    __device__ __forceinline__ void widen(float x[4]) const
    {
        x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
    }
};

/* M as the caller has it: rows x n of bytes or floats, columns ld apart. `quads`: four rows (a
 * multiple of four on) may be read as one word. `lines`: 16 bytes on from a multiple of 16 rows may
 * be. */
template <class Element> struct bd_rpca_frames {
    using quad = bd_rpca_quad<Element>;
    const Element *m;
    int64_t ld, rows;
    bool quads, lines;

    bd_rpca_frames(const void *data, int64_t ld, int64_t rows)
        : m(static_cast<const Element *>(data)), ld(ld), rows(rows)
    {
        uintptr_t any = reinterpret_cast<uintptr_t>(data) | (uintptr_t)ld * sizeof(Element);
        quads = any % (4 * sizeof(Element)) == 0;
        lines = any % 16 == 0;
    }

    /* Rows i .. i + 3 of column j, i a multiple of 4, as they are. */
    __device__ __forceinline__ quad fetch(int64_t i, int j) const
    {
        const Element *p = m + i + j * ld;
        if (quads && i + 4 <= rows)
            return *reinterpret_cast<const quad *>(p);
        quad q = {};
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (i + k < rows)
                q.put(k, p[k]);
        return q;
    }

    /* Rows i .. i + 3 of column j, i a multiple of 4. */
    __device__ __forceinline__ void load4(int64_t i, int j, float x[4]) const
    {
        fetch(i, j).widen(x);
    }

    static __device__ __forceinline__ float2 pair(const uint8_t *p)
    {
        uchar2 v = *reinterpret_cast<const uchar2 *>(p);
        return make_float2(v.x, v.y);
    }
    static __device__ __forceinline__ float2 pair(const float *p)
    {
        return *reinterpret_cast<const float2 *>(p);
    }

    /* Rows i and i + 1 of column j, i even. */
    __device__ __forceinline__ float2 load2(int64_t i, int j) const
    {
        const Element *p = m + i + j * ld;
        if (quads && i + 2 <= rows)
            return pair(p);
        return make_float2(i < rows ? (float)p[0] : 0.0f, i + 1 < rows ? (float)p[1] : 0.0f);
    }
};

/* X = M - E + Y/mu of a step (struct bd_rpca_step): a Loader for bd_gram (gpu/core/gram.cuh).
 * RELAXED: entries are missing, where M is NaN, or noisy. */
template <class Element, bool RELAXED = false> struct bd_rpca_loader {
    bd_rpca_frames<Element> frames;
    const float *t;
    int n;
    float clip_read, dual_scale, scale_read;

    bd_rpca_loader(const bd_rpca_frames<Element> &frames, const float *t, int n,
                   const bd_rpca_step &step)
        : frames(frames), t(t), n(n), clip_read(step.clip_read), dual_scale(step.dual_scale),
          scale_read(step.scale_read)
    {
    }

    /* M, 0 where it is missing. */
    static __device__ __forceinline__ float seen(float m)
    {
        return RELAXED && isnan(m) ? 0 : m;
    }
    /* c of a state t. */
    static __device__ __forceinline__ float clip(float m, float t, float scale, float bound)
    {
        if (RELAXED)
            t = isnan(m) ? 0 : scale * t;
        return bd_rpca_clip(t, bound);
    }
    __device__ __forceinline__ float form(float m, float t) const
    {
        float c = clip(m, t, scale_read, clip_read);
        return seen(m) - (t - c) + dual_scale * c;
    }
    /* The loads of load4, and what it makes of them. */
    struct raw {
        float4 t;
        bd_rpca_quad<Element> m;
    };
    __device__ __forceinline__ raw fetch(int64_t i, int j) const
    {
        raw r = { make_float4(0, 0, 0, 0), {} };
        if (i < frames.rows) { /* T ends with the tile of the last row */
            r.t = *reinterpret_cast<const float4 *>(t + bd_rpca_at(i, j, n));
            r.m = frames.fetch(i, j);
        }
        return r;
    }
    /* Where four rows of every column may be read as one word: those of a column, and on to the one
     * `columns` further. */
    struct strip {
        const Element *m;
        const float *t;
    };
    __device__ __forceinline__ bool whole(int64_t i) const
    {
        return frames.quads && i + 4 <= frames.rows;
    }
    __device__ __forceinline__ strip at(int64_t i, int j) const
    {
        return { frames.m + i + j * frames.ld, t + bd_rpca_at(i, j, n) };
    }
    __device__ __forceinline__ raw take(const strip &s) const
    {
        return { *reinterpret_cast<const float4 *>(s.t),
                 *reinterpret_cast<const bd_rpca_quad<Element> *>(s.m) };
    }
    __device__ __forceinline__ void move(strip &s, int columns) const
    {
        s.m += columns * frames.ld;
        s.t += columns * bd_rpca_rows;
    }
    __device__ __forceinline__ void form(const raw &r, float x[4]) const
    {
        r.m.widen(x);
        x[0] = form(x[0], r.t.x), x[1] = form(x[1], r.t.y);
        x[2] = form(x[2], r.t.z), x[3] = form(x[3], r.t.w);
    }
    __device__ __forceinline__ void load4(int64_t i, int j, float x[4]) const
    {
        form(fetch(i, j), x);
    }
};

#endif
