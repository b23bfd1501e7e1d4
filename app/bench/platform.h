/* What a suite needs of the place where its data live, and its peers there: the host's memory, the
 * clock and LAPACK (cpu.c), or a GPU's memory, events, cuSOLVER and cuBLAS (gpu/platform.c). The
 * suites are written once above this table. Pointers are into the backend's memory unless they are
 * said to be on the host; matrices are column-major, float32 and tight (ld = rows) unless a leading
 * dimension is passed. On a GPU everything is enqueued on the stream of the backend. */
#ifndef BD_APP_BENCH_PLATFORM_H
#define BD_APP_BENCH_PLATFORM_H

#include "app/bench/bench.h"

/* The elementwise steps of Robust PCA with L, S and Y stored. */
enum bd_bench_formula {
    BD_BENCH_FORM,   /* out := a - b + y / mu */
    BD_BENCH_SHRINK, /* out := shrink(a - b + y / mu, threshold) */
    BD_BENCH_DUAL    /* out := out + mu (a - b - y) */
};

/* The workspace of a peer's factorisations. */
struct bd_bench_peer_qr {
    struct bd_bench *bench;
    int lwork;
    void *tau, *work, *info; /* n floats, lwork floats, an int */
};

/* Where R of a Gram matrix comes from in a peer of the suite svqr. */
enum bd_bench_svqr_way {
    BD_PEER_CHOLQR,      /* cuSOLVER dpotrf */
    BD_PEER_CHOLQR_HOST, /* LAPACK dpotrf on the host */
    BD_PEER_SVQR         /* LAPACK dsyevd and dgeqrf on the host, of the scaled Gram matrix */
};

/* The peers' ways to the SVD of a small R. */
enum bd_bench_svd_way { BD_PEER_SVD_JACOBI, BD_PEER_SVD_TALL };

struct bd_bench_platform {
    /* Measures what the machine can do; print_machine says so. close = NULL: nothing to close. */
    enum bd_status (*open)(struct bd_bench *bench);
    void (*close)(struct bd_bench *bench);
    void (*print_machine)(const struct bd_bench *bench);

    enum bd_status (*copy)(struct bd_bench *bench, void *to, const void *from, size_t bytes);

    /* Times tasks: medians over `repeats` rounds in turn, after a warm-up, so that all see the same
     * state of the machine. Tasks whose run is NULL are left at ms = -1. On a GPU a round of a task
     * without `prepare` is as many runs in a row as take 20 ms, so that launches overlap as they do
     * in use; with `prepare` (enqueued, not timed) each run is timed by itself. */
    enum bd_status (*time)(struct bd_bench *bench, struct bd_bench_task *tasks, int count,
                           int repeats);
    /* One run of a task, its preparation before it, without a warm-up. */
    enum bd_status (*time_once)(struct bd_bench *bench, const struct bd_bench_task *task,
                                double *ms);
    /* As bd_bench_check, of arrays with leading dimension ld. */
    enum bd_status (*check)(struct bd_bench *bench, double *residual, double *orthogonality,
                            const float *a, const float *q, const float *r, int64_t m, int64_t n,
                            int64_t ld);

    /* The peers by LAPACK's names, with a workspace of bd_bench_peer_qr_create. `qr_work` asks for
     * the largest lwork of all three. orgqr: k columns of Q in place of n reflectors. ormqr: Q^T b
     * in place of b, of one column. solve: x of R x = b in place of b. take_r: r (n x n) := the
     * upper triangle of a, zeros below. */
    enum bd_status (*qr_work)(struct bd_bench *bench, int64_t m, int64_t n, int64_t q_cols,
                              int *lwork);
    enum bd_status (*geqrf)(struct bd_bench_peer_qr *qr, int64_t m, int64_t n, float *a,
                            int64_t lda);
    enum bd_status (*orgqr)(struct bd_bench_peer_qr *qr, int64_t m, int64_t k, int64_t n, float *a,
                            int64_t lda);
    enum bd_status (*ormqr)(struct bd_bench_peer_qr *qr, int64_t m, int64_t n, const float *a,
                            int64_t lda, float *b, int64_t ldb);
    enum bd_status (*solve)(struct bd_bench *bench, int64_t n, const float *a, int64_t lda,
                            float *b);
    enum bd_status (*take_r)(struct bd_bench *bench, int64_t n, float *r, int64_t ldr,
                             const float *a, int64_t lda);

    /* The other way to R of an m x n matrix: slatsqr, which overwrites `a` by R; float64-Gram
     * Cholesky QR, which leaves `a` as it is and gives Q too where q is not NULL. */
    bool second_overwrites;
    enum bd_status (*second_create)(struct bd_bench *bench, int64_t m, int64_t n, void **second);
    enum bd_status (*second_run)(struct bd_bench *bench, void *second, float *q, float *r,
                                 float *a);

    /* The SVD of n x n matrices; `r` may be overwritten. `fetch` takes sigma (n), V (n x n) and
     * cuSOLVER's info of the last one to the host; `shrink`: w := U max(0, sigma - threshold) V^T
     * of it, which may overwrite U. */
    enum bd_status (*svd_create)(struct bd_bench *bench, int64_t n, void **svd);
    enum bd_status (*svd_run)(struct bd_bench *bench, void *svd, enum bd_bench_svd_way way,
                              float *r);
    enum bd_status (*svd_fetch)(struct bd_bench *bench, void *svd, float *sigma, float *v,
                                int *info);
    enum bd_status (*svd_shrink)(struct bd_bench *bench, void *svd, float threshold, float *w);

    /* For Robust PCA: c (m x n) := a (m x k) b (k x n), and a formula on `count` elements each. */
    enum bd_status (*gemm)(struct bd_bench *bench, int64_t m, int64_t n, int64_t k, const float *a,
                           const float *b, float *c);
    enum bd_status (*formula)(struct bd_bench *bench, enum bd_bench_formula formula, float *out,
                              const float *a, const float *b, const float *y, float mu,
                              float threshold, int64_t count);

    /* QR by the Gram matrix of an m x n matrix of float64 in library calls, as MAGMA and the paper
     * (Yamazaki, Tomov, Dongarra 2016, figure 1) do it. One pass: Q in place of V. R (n x n, on the
     * host) of the last run; what is below its diagonal has no meaning. NULL: none on the host. */
    enum bd_status (*svqr_create)(struct bd_bench *bench, int64_t m, int64_t n, int64_t ld,
                                  void **svqr);
    void (*svqr_destroy)(void *svqr);
    enum bd_status (*svqr_run)(void *svqr, enum bd_bench_svqr_way way, double *v);
    enum bd_status (*svqr_get_r)(void *svqr, double *r);
};

extern const struct bd_bench_platform bd_bench_cpu;
extern const struct bd_bench_platform bd_bench_cuda; /* of builds with CUDA */

/* Makes the workspace for at most m x n and q_cols columns of Q (0: Q is not formed), which
 * bd_bench_release frees. */
enum bd_status bd_bench_peer_qr_create(struct bd_bench_peer_qr *qr, struct bd_bench *bench,
                                       int64_t m, int64_t n, int64_t q_cols);

/* x(i) of a formula, for the host's loop and the GPU's kernel alike. */
#define BD_BENCH_FORMULA(formula, out, a, b, y, mu, threshold)     \
    ((formula) == BD_BENCH_DUAL ? (out) + (mu) * ((a) - (b) - (y)) \
     : (formula) == BD_BENCH_FORM                                  \
         ? (a) - (b) + (y) / (mu)                                  \
         : ((a) - (b) + (y) / (mu)) -                              \
               fmaxf(-(threshold), fminf((threshold), (a) - (b) + (y) / (mu))))

#endif
