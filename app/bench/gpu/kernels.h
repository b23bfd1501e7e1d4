/* Private to the bench: kernels that no library has, launched on a stream. Shapes m x n,
 * column-major. */
#ifndef BD_APP_BENCH_GPU_KERNELS_H
#define BD_APP_BENCH_GPU_KERNELS_H

#include <cuda_runtime.h>

#include "app/bench/platform.h"

#ifdef __cplusplus
extern "C" {
#endif

/* data[i] := uniform in -1..1, of seed and i. */
void bd_bench_kernel_fill(float *data, int64_t count, uint64_t seed, cudaStream_t stream);

/* data(i, j) := picture(i) + noise * uniform, tight; the picture is uniform in -1..1 too. */
void bd_bench_kernel_fill_collinear(float *data, int64_t m, int64_t n, float noise, uint64_t seed,
                                    cudaStream_t stream);

/* out (m x n, tight, float64) := a (m x n, ld). */
void bd_bench_kernel_widen(double *out, const float *a, int64_t ld, int64_t m, int64_t n,
                           cudaStream_t stream);

/* r (n x n, ldr or tight) := the upper triangle of a (ld or tight), zeros below. */
void bd_bench_kernel_take_r(float *r, int64_t ldr, const float *a, int64_t ld, int64_t n,
                            cudaStream_t stream);
void bd_bench_kernel_narrow_r(float *r, const double *a, int64_t n, cudaStream_t stream);

/* a (n x n, tight) := the identity. */
void bd_bench_kernel_identity(double *a, int64_t n, cudaStream_t stream);

/* out (m x n, tight) := bytes (ld). */
void bd_bench_kernel_from_bytes(float *out, const uint8_t *bytes, int64_t ld, int64_t m, int64_t n,
                                cudaStream_t stream);

/* A formula on count elements each (app/bench/platform.h). */
void bd_bench_kernel_formula(enum bd_bench_formula which, float *out, const float *a,
                             const float *b, const float *y, float mu, float threshold,
                             int64_t count, cudaStream_t stream);

/* p (n x n) := u diag(max(0, sigma - threshold)). */
void bd_bench_kernel_scale_columns(float *p, const float *u, const float *sigma, float threshold,
                                   int64_t n, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
