/* Private to the bench: kernels that no library has, launched on a stream. Shapes m x n,
 * column-major. */
#ifndef BD_APP_BENCH_GPU_KERNELS_H
#define BD_APP_BENCH_GPU_KERNELS_H

#include <cuda_runtime.h>
#include <stdint.h>

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

/* r (n x n, tight) := the upper triangle of a (ld), zeros below. */
void bd_bench_kernel_take_r(float *r, const float *a, int64_t ld, int64_t n, cudaStream_t stream);
void bd_bench_kernel_narrow_r(float *r, const double *a, int64_t n, cudaStream_t stream);

/* a (n x n, tight) := the identity. */
void bd_bench_kernel_identity(double *a, int64_t n, cudaStream_t stream);

/* out (m x n, tight) := bytes (ld). */
void bd_bench_kernel_from_bytes(float *out, const uint8_t *bytes, int64_t ld, int64_t m, int64_t n,
                                cudaStream_t stream);

/* The textbook's steps on count elements each. t := m - s + y / mu. */
void bd_bench_kernel_form(float *t, const float *m, const float *s, const float *y, float mu,
                          int64_t count, cudaStream_t stream);
/* s := shrink(m - l + y / mu, threshold). */
void bd_bench_kernel_shrink(float *s, const float *m, const float *l, const float *y, float mu,
                            float threshold, int64_t count, cudaStream_t stream);
/* y += mu (m - l - s). */
void bd_bench_kernel_dual(float *y, const float *m, const float *l, const float *s, float mu,
                          int64_t count, cudaStream_t stream);
/* out := m - l - s. */
void bd_bench_kernel_rest(float *out, const float *m, const float *l, const float *s, int64_t count,
                          cudaStream_t stream);

/* p (n x n) := u diag(max(0, sigma - threshold)). */
void bd_bench_kernel_scale_columns(float *p, const float *u, const float *sigma, float threshold,
                                   int64_t n, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
