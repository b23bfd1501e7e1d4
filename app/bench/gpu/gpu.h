/* Private to the files of this folder: CUDA for the bench. cuSOLVER and cuBLAS are looked for at
 * run time, so that the program does not need them: without them the peers' columns stay empty and
 * the checks are made on the host. */
#ifndef BD_APP_BENCH_GPU_GPU_H
#define BD_APP_BENCH_GPU_GPU_H

#include "app/bench/platform.h"
#include "gpu/cuda.h"

/* The few calls that are made of cuBLAS and cuSOLVER, by their documented C interfaces; declared
 * here because a machine that builds the program need not have the libraries' headers. Sizes are
 * int, enumerations ints, handles pointers; 0 is success. */
enum { bd_blas_n = 0, bd_blas_t = 1, bd_blas_upper = 1, bd_blas_left = 0, bd_blas_right = 1 };
enum { bd_blas_non_unit = 0, bd_blas_real_32 = 0, bd_blas_tf32 = 77 }; /* ..._FAST_TF32 */
enum { bd_solver_vectors = 1 };

/* clang-format off */
#define BD_BLAS_CALLS(CALL) \
    CALL(cublasCreate_v2, (void **handle)) \
    CALL(cublasDestroy_v2, (void *handle)) \
    CALL(cublasSetStream_v2, (void *handle, cudaStream_t stream)) \
    CALL(cublasGetVersion_v2, (void *handle, int *version)) \
    CALL(cublasSgemm_v2, (void *handle, int transa, int transb, int m, int n, int k, \
         const float *alpha, const float *a, int lda, const float *b, int ldb, \
         const float *beta, float *c, int ldc)) \
    CALL(cublasDgemm_v2, (void *handle, int transa, int transb, int m, int n, int k, \
         const double *alpha, const double *a, int lda, const double *b, int ldb, \
         const double *beta, double *c, int ldc)) \
    CALL(cublasGemmEx, (void *handle, int transa, int transb, int m, int n, int k, \
         const void *alpha, const void *a, int type_a, int lda, const void *b, int type_b, \
         int ldb, const void *beta, void *c, int type_c, int ldc, int compute, int algorithm)) \
    CALL(cublasDsyrk_v2, (void *handle, int uplo, int trans, int n, int k, const double *alpha, \
         const double *a, int lda, const double *beta, double *c, int ldc)) \
    CALL(cublasDtrsm_v2, (void *handle, int side, int uplo, int trans, int diag, int m, int n, \
         const double *alpha, const double *a, int lda, double *b, int ldb)) \
    CALL(cublasStrsm_v2, (void *handle, int side, int uplo, int trans, int diag, int m, int n, \
         const float *alpha, const float *a, int lda, float *b, int ldb)) \
    CALL(cublasDnrm2_v2, (void *handle, int n, const double *x, int incx, double *result))
#define BD_SOLVER_CALLS(CALL) \
    CALL(cusolverDnCreate, (void **handle)) \
    CALL(cusolverDnDestroy, (void *handle)) \
    CALL(cusolverDnSetStream, (void *handle, cudaStream_t stream)) \
    CALL(cusolverGetProperty, (int type, int *value)) \
    CALL(cusolverDnSgeqrf_bufferSize, (void *handle, int m, int n, float *a, int lda, \
         int *lwork)) \
    CALL(cusolverDnSgeqrf, (void *handle, int m, int n, float *a, int lda, float *tau, \
         float *work, int lwork, int *info)) \
    CALL(cusolverDnSorgqr_bufferSize, (void *handle, int m, int n, int k, const float *a, \
         int lda, const float *tau, int *lwork)) \
    CALL(cusolverDnSorgqr, (void *handle, int m, int n, int k, float *a, int lda, \
         const float *tau, float *work, int lwork, int *info)) \
    CALL(cusolverDnSormqr_bufferSize, (void *handle, int side, int trans, int m, int n, int k, \
         const float *a, int lda, const float *tau, const float *c, int ldc, int *lwork)) \
    CALL(cusolverDnSormqr, (void *handle, int side, int trans, int m, int n, int k, \
         const float *a, int lda, const float *tau, float *c, int ldc, float *work, int lwork, \
         int *info)) \
    CALL(cusolverDnDpotrf_bufferSize, (void *handle, int uplo, int n, double *a, int lda, \
         int *lwork)) \
    CALL(cusolverDnDpotrf, (void *handle, int uplo, int n, double *a, int lda, double *work, \
         int lwork, int *info)) \
    CALL(cusolverDnCreateGesvdjInfo, (void **info)) \
    CALL(cusolverDnDestroyGesvdjInfo, (void *info)) \
    CALL(cusolverDnSgesvdj_bufferSize, (void *handle, int jobz, int econ, int m, int n, \
         const float *a, int lda, const float *s, const float *u, int ldu, const float *v, \
         int ldv, int *lwork, void *params)) \
    CALL(cusolverDnSgesvdj, (void *handle, int jobz, int econ, int m, int n, float *a, int lda, \
         float *s, float *u, int ldu, float *v, int ldv, float *work, int lwork, int *info, \
         void *params)) \
    CALL(cusolverDnSgesvdaStridedBatched_bufferSize, ( void *handle, int jobz, int rank, int m, \
         int n, const float *a, int lda, long long stride_a, const float *s, long long stride_s, \
         const float *u, int ldu, long long stride_u, const float *v, int ldv, \
         long long stride_v, int *lwork, int batch)) \
    CALL(cusolverDnSgesvdaStridedBatched, (void *handle, int jobz, int rank, int m, int n, \
         const float *a, int lda, long long stride_a, float *s, long long stride_s, float *u, \
         int ldu, long long stride_u, float *v, int ldv, long long stride_v, float *work, \
         int lwork, int *info, double *residuals, int batch))
/* clang-format on */

#define BD_LIBRARY_FIELD(name, arguments) int(*name) arguments;
struct bd_libraries {
    void *blas_library, *solver_library; /* NULL: not found */
    BD_BLAS_CALLS(BD_LIBRARY_FIELD)
    BD_SOLVER_CALLS(BD_LIBRARY_FIELD)
};

enum { bd_bench_events = 512 };

struct bd_bench_gpu {
    struct bd_cuda *cuda;
    struct bd_libraries lib;
    void *blas, *solver; /* handles; NULL where the libraries are not found */
    void *jacobi;        /* settings of gesvdj */
    cudaEvent_t events[bd_bench_events];
    char description[256]; /* the versions of the libraries, or what is missing */
};

/* BD_OK, or BD_ERROR_BACKEND for a library call that did not return 0. */
enum bd_status bd_bench_library(int code, const char *call);
#define BD_CALL(gpu, function, ...) bd_bench_library((gpu)->lib.function(__VA_ARGS__), #function)

/* Records an event 0 .. bd_bench_events - 1 on the stream; the time between two of them in
 * milliseconds, which waits for the second. */
enum bd_status bd_bench_gpu_mark(struct bd_bench_gpu *gpu, int event);
enum bd_status bd_bench_gpu_elapsed(struct bd_bench_gpu *gpu, int first, int second, double *ms);

/* Sets the cache and the rates of the bench: copies, and products of 8192 (4096 with --quick). */
enum bd_status bd_bench_gpu_measure(struct bd_bench *bench);

/* For the platform's table, which documents them. */
enum bd_status bd_bench_gpu_open(struct bd_bench *bench);
void bd_bench_gpu_close(struct bd_bench *bench);
enum bd_status bd_bench_gpu_time(struct bd_bench *bench, struct bd_bench_task *tasks, int count,
                                 int repeats);
enum bd_status bd_bench_gpu_time_once(struct bd_bench *bench, const struct bd_bench_task *task,
                                      double *ms);
enum bd_status bd_bench_gpu_check(struct bd_bench *bench, double *residual, double *orthogonality,
                                  const float *a, const float *q, const float *r, int64_t m,
                                  int64_t n, int64_t ld);
enum bd_status bd_bench_cholqr_create(struct bd_bench *bench, int64_t m, int64_t n, void **cholqr);
enum bd_status bd_bench_cholqr_run(struct bd_bench *bench, void *cholqr, float *q, float *r,
                                   float *a);
enum bd_status bd_bench_gpu_svd_create(struct bd_bench *bench, int64_t n, void **svd);
enum bd_status bd_bench_gpu_svd_run(struct bd_bench *bench, void *svd, enum bd_bench_svd_way way,
                                    float *r);
enum bd_status bd_bench_gpu_svd_fetch(struct bd_bench *bench, void *svd, float *sigma, float *v,
                                      int *info);
enum bd_status bd_bench_gpu_svd_shrink(struct bd_bench *bench, void *svd, float threshold,
                                       float *w);
enum bd_status bd_bench_svqr_create(struct bd_bench *bench, int64_t m, int64_t n, int64_t ld,
                                    void **svqr);
void bd_bench_svqr_destroy(void *svqr);
enum bd_status bd_bench_svqr_run(void *svqr, enum bd_bench_svqr_way way, double *v);
enum bd_status bd_bench_svqr_get_r(void *svqr, double *r);

/* Kernels that no library has, launched on a stream. Shapes m x n, column-major. */
#ifdef __cplusplus
extern "C" {
#endif

/* out (m x n, tight, float64) := a (m x n, ld). */
void bd_bench_kernel_widen(double *out, const float *a, int64_t ld, int64_t m, int64_t n,
                           cudaStream_t stream);

/* r (n x n, ldr or tight) := the upper triangle of a (ld or tight), zeros below. */
void bd_bench_kernel_take_r(float *r, int64_t ldr, const float *a, int64_t ld, int64_t n,
                            cudaStream_t stream);
void bd_bench_kernel_narrow_r(float *r, const double *a, int64_t n, cudaStream_t stream);

/* a (n x n, tight) := the identity. */
void bd_bench_kernel_identity(double *a, int64_t n, cudaStream_t stream);

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
