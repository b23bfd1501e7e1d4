/* G = X^T X of the live separator's window where the basis is one
 * column b, in one pass over the bytes of the window on the float16 tensor cores.
 *
 * X = b c^T + lambda E with E = clip((W - b c^T) / lambda, +-1). So
 *     G = |b|^2 c c^T + lambda (c t^T + t c^T) + lambda^2 E^T E,   t = E^T b,
 * where the first term, by far the largest, is known exactly. E is rounded to float16, that is, X
 * is changed by at most lambda 2^-12, two thousandths of a grey level where the bytes themselves
 * are known to half a level; in G this averages out over the rows. Those sums are float32 over 2048
 * rows, then float32 of those, then float64. t comes from E before it is rounded, float32 over 512
 * rows, then float64: the next basis needs it to ten digits.
 *
 * The bound is memory: a byte an element, against two tensor-core products of a float64 Gram matrix
 * (gpu/core/gram.cuh) that would take several times as long. */
#ifndef BD_GPU_SEPARATION_GRAM_CUH
#define BD_GPU_SEPARATION_GRAM_CUH

#include "gpu/separation/state.cuh"

enum {
    bd_sep_gram_most = 128,      /* columns that there is room for */
    bd_sep_gram_least = 1 << 16, /* rows from which on rounding averages out */
};

/* Bytes of workspace for the windows of this separator; 0 where it is not for them. */
size_t bd_sep_gram_workspace(const struct bd_cuda_separator *s);

/* s->gram (count x count, both triangles) := G of the `count` columns in order, and s->errors. */
enum bd_status bd_sep_gram_one(struct bd_cuda_separator *s, int count, float lambda);

#endif
