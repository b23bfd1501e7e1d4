/* Private to the files app/bench_peer_*.c, the only ones here that know CUDA headers. */
#ifndef BD_APP_BENCH_GPU_PEER_CUDA_H
#define BD_APP_BENCH_GPU_PEER_CUDA_H

#include "app/bench/gpu/gpu.h"
#include "gpu/cuda.h"

/* The few calls that are made of cuBLAS and cuSOLVER, by their documented C interfaces; declared
 * here because a machine that builds the program need not have the libraries' headers. Sizes are
 * int, enumerations ints, handles pointers; 0 is success. */
enum { bd_blas_n = 0, bd_blas_t = 1, bd_blas_lower = 0, bd_blas_upper = 1, bd_blas_left = 0 };
enum { bd_blas_non_unit = 0, bd_blas_real_32 = 0, bd_blas_tf32 = 77 }; /* ..._FAST_TF32 */
enum { bd_solver_vectors = 1 };

struct bd_libraries {
    void *blas_library, *solver_library; /* NULL: not found */
    int (*cublasCreate_v2)(void **handle);
    int (*cublasDestroy_v2)(void *handle);
    int (*cublasSetStream_v2)(void *handle, cudaStream_t stream);
    int (*cublasGetVersion_v2)(void *handle, int *version);
    int (*cublasSgemm_v2)(void *handle, int transa, int transb, int m, int n, int k,
                          const float *alpha, const float *a, int lda, const float *b, int ldb,
                          const float *beta, float *c, int ldc);
    int (*cublasDgemm_v2)(void *handle, int transa, int transb, int m, int n, int k,
                          const double *alpha, const double *a, int lda, const double *b, int ldb,
                          const double *beta, double *c, int ldc);
    int (*cublasGemmEx)(void *handle, int transa, int transb, int m, int n, int k,
                        const void *alpha, const void *a, int type_a, int lda, const void *b,
                        int type_b, int ldb, const void *beta, void *c, int type_c, int ldc,
                        int compute, int algorithm);
    int (*cublasDsyrk_v2)(void *handle, int uplo, int trans, int n, int k, const double *alpha,
                          const double *a, int lda, const double *beta, double *c, int ldc);
    int (*cublasDtrsm_v2)(void *handle, int side, int uplo, int trans, int diag, int m, int n,
                          const double *alpha, const double *a, int lda, double *b, int ldb);
    int (*cublasStrsm_v2)(void *handle, int side, int uplo, int trans, int diag, int m, int n,
                          const float *alpha, const float *a, int lda, float *b, int ldb);
    int (*cublasSnrm2_v2)(void *handle, int n, const float *x, int incx, float *result);
    int (*cublasDnrm2_v2)(void *handle, int n, const double *x, int incx, double *result);
    int (*cusolverDnCreate)(void **handle);
    int (*cusolverDnDestroy)(void *handle);
    int (*cusolverDnSetStream)(void *handle, cudaStream_t stream);
    int (*cusolverGetProperty)(int type, int *value);
    int (*cusolverDnSgeqrf_bufferSize)(void *handle, int m, int n, float *a, int lda, int *lwork);
    int (*cusolverDnSgeqrf)(void *handle, int m, int n, float *a, int lda, float *tau, float *work,
                            int lwork, int *info);
    int (*cusolverDnSorgqr_bufferSize)(void *handle, int m, int n, int k, const float *a, int lda,
                                       const float *tau, int *lwork);
    int (*cusolverDnSorgqr)(void *handle, int m, int n, int k, float *a, int lda, const float *tau,
                            float *work, int lwork, int *info);
    int (*cusolverDnSormqr_bufferSize)(void *handle, int side, int trans, int m, int n, int k,
                                       const float *a, int lda, const float *tau, const float *c,
                                       int ldc, int *lwork);
    int (*cusolverDnSormqr)(void *handle, int side, int trans, int m, int n, int k, const float *a,
                            int lda, const float *tau, float *c, int ldc, float *work, int lwork,
                            int *info);
    int (*cusolverDnDpotrf_bufferSize)(void *handle, int uplo, int n, double *a, int lda,
                                       int *lwork);
    int (*cusolverDnDpotrf)(void *handle, int uplo, int n, double *a, int lda, double *work,
                            int lwork, int *info);
    int (*cusolverDnCreateGesvdjInfo)(void **info);
    int (*cusolverDnDestroyGesvdjInfo)(void *info);
    int (*cusolverDnSgesvdj_bufferSize)(void *handle, int jobz, int econ, int m, int n,
                                        const float *a, int lda, const float *s, const float *u,
                                        int ldu, const float *v, int ldv, int *lwork, void *params);
    int (*cusolverDnSgesvdj)(void *handle, int jobz, int econ, int m, int n, float *a, int lda,
                             float *s, float *u, int ldu, float *v, int ldv, float *work, int lwork,
                             int *info, void *params);
    int (*cusolverDnSgesvdaStridedBatched_bufferSize)(
        void *handle, int jobz, int rank, int m, int n, const float *a, int lda,
        long long int stride_a, const float *s, long long int stride_s, const float *u, int ldu,
        long long int stride_u, const float *v, int ldv, long long int stride_v, int *lwork,
        int batch);
    int (*cusolverDnSgesvdaStridedBatched)(void *handle, int jobz, int rank, int m, int n,
                                           const float *a, int lda, long long int stride_a,
                                           float *s, long long int stride_s, float *u, int ldu,
                                           long long int stride_u, float *v, int ldv,
                                           long long int stride_v, float *work, int lwork,
                                           int *info, double *residuals, int batch);
};

struct bd_bench_gpu {
    struct bd_backend *backend;
    struct bd_cuda *cuda;
    struct bd_libraries lib;
    void *blas, *solver; /* handles; NULL where the libraries are not found */
    struct bd_bench_ceilings ceilings;
    cudaEvent_t events[bd_bench_events];
    char description[256];
};

/* BD_OK, or BD_ERROR_BACKEND for a library call that did not return 0. */
enum bd_status bd_bench_library(int code, const char *call);

/* An `info` of cuSOLVER's, once the stream has come here: > 0 is a result that did not converge. */
enum bd_status bd_bench_library_info(struct bd_bench_gpu *gpu, const int *info, int *value);

#endif
