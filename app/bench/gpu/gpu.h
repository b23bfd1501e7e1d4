/* The suites on the cuda backend, and what they need of CUDA beyond the library's own interface:
 * events, ceilings, and the peers in cuSOLVER and cuBLAS. Both libraries are looked for at run
 * time, so that the program does not need them: without them the peers' columns stay empty and the
 * checks are made on the host. Everything is enqueued on the stream of the backend. Pointers are to
 * GPU memory unless they are said to be on the host; matrices are column-major and tight (ld = m)
 * where no leading dimension is passed. */
#ifndef BD_APP_BENCH_GPU_GPU_H
#define BD_APP_BENCH_GPU_GPU_H

#include "app/bench/bench.h"

struct bd_bench_gpu;

enum bd_status bd_bench_gpu_open(struct bd_bench_gpu **gpu, struct bd_backend *backend);
void bd_bench_gpu_close(struct bd_bench_gpu **gpu);

/* One line: the versions of the libraries, or "peer not found" and what is missing. */
const char *bd_bench_gpu_description(const struct bd_bench_gpu *gpu);
bool bd_bench_gpu_has_peers(const struct bd_bench_gpu *gpu);

/* Bytes of the cache that inputs should not fit. */
int64_t bd_bench_gpu_cache(const struct bd_bench_gpu *gpu);

/* Measured in this run; 0: not measured. */
struct bd_bench_ceilings {
    double copy;             /* device to device: bytes read and written a second */
    double upload, download; /* page-locked memory: bytes a second */
    double fp32, tf32, fp64; /* matrix products of 8192: floating-point operations a second */
};
enum bd_status bd_bench_gpu_measure(struct bd_bench_gpu *gpu, struct bd_bench_ceilings *ceilings,
                                    bool quick);
const struct bd_bench_ceilings *bd_bench_gpu_ceilings(const struct bd_bench_gpu *gpu);

/* What a factorisation cannot do without. Its symmetric products and triangular ones are counted
 * as half of the full ones. */
struct bd_bench_work {
    double bytes;
    double gram;    /* operations of R: m n^2 by a float64 Gram matrix on tensor cores (or twice
                       that by reflectors in fp32 or three TF32 products, whichever is the fastest) */
    double product; /* operations of float32 products: three TF32 products, or fp32 */
};
double bd_bench_gpu_floor(const struct bd_bench_gpu *gpu, struct bd_bench_work work);

/* Times tasks by events: medians over `repeats` rounds, in turn, after a warm-up. A round of a task
 * without `prepare` is as many runs in a row as take 20 ms, so that launches overlap as they do in
 * use; with `prepare` (enqueued, not timed) each run is timed by itself. Tasks whose run is NULL
 * are left at ms = -1. */
enum bd_status bd_bench_gpu_time(struct bd_bench *bench, struct bd_bench_task *tasks, int count,
                                 int repeats);

/* Events 0 .. bd_bench_events - 1 on the stream, and the time between two of them in milliseconds;
 * waits for the second. */
enum { bd_bench_events = 512 };
enum bd_status bd_bench_gpu_mark(struct bd_bench_gpu *gpu, int event);
enum bd_status bd_bench_gpu_elapsed(struct bd_bench_gpu *gpu, int first, int second, double *ms);

/* From one place on the GPU to another. */
enum bd_status bd_bench_gpu_copy(struct bd_bench_gpu *gpu, void *to, const void *from,
                                 size_t bytes);
/* `count` floats in -1..1, seeded. */
enum bd_status bd_bench_gpu_fill(struct bd_bench_gpu *gpu, float *data, int64_t count,
                                 uint64_t seed);
/* Columns that are one picture but for noise of relative size `noise`: condition about 1 / noise.
 */
enum bd_status bd_bench_gpu_fill_collinear(struct bd_bench_gpu *gpu, float *data, int64_t m,
                                           int64_t n, double noise, uint64_t seed);

/* As bd_bench_check, of arrays on the GPU with leading dimension ld (r: n): by float64 products
 * there, which are not the library's; on the host where cuBLAS is not found. q may be NULL. */
enum bd_status bd_bench_gpu_check(struct bd_bench *bench, double *residual, double *orthogonality,
                                  const float *a, const float *q, const float *r, int64_t m,
                                  int64_t n, int64_t ld);

/* QR of m x n matrices, with q_cols columns of Q (n to m), by the libraries. */
struct bd_bench_peer_qr;
enum bd_status bd_bench_peer_qr_create(struct bd_bench_peer_qr **peer, struct bd_bench_gpu *gpu,
                                       int64_t m, int64_t n, int64_t q_cols);
void bd_bench_peer_qr_destroy(struct bd_bench_peer_qr **peer);
/* sgeqrf: R and reflectors in place of a. */
enum bd_status bd_bench_peer_geqrf(struct bd_bench_peer_qr *peer, float *a);
/* sorgqr: Q in place of the reflectors, which has room for q_cols columns. */
enum bd_status bd_bench_peer_orgqr(struct bd_bench_peer_qr *peer, float *a);
/* r (n x n) := the upper triangle of a, zeros below. */
enum bd_status bd_bench_peer_take_r(struct bd_bench_peer_qr *peer, float *r, const float *a);
/* Cholesky QR with its Gram matrix in float64: widened copy, dgemm, dpotrf; where q is not NULL its
 * inverse by dtrsm, and q := a R^-1 by sgemm. a is not changed. For q_cols = n. */
enum bd_status bd_bench_peer_cholqr(struct bd_bench_peer_qr *peer, float *q, float *r,
                                    const float *a);

/* Least squares by cuSOLVER, as app/bench/change.h has it: geqrf, ormqr of b, trsm; orgqr. */
struct bd_bench_peer_solver;
enum bd_status bd_bench_peer_solver_create(struct bd_bench_peer_solver **solver,
                                           struct bd_bench_gpu *gpu, int64_t most_m, int64_t most_n,
                                           bool full_q);
void bd_bench_peer_solver_destroy(struct bd_bench_peer_solver **solver);
enum bd_status bd_bench_peer_solver_run(struct bd_bench_peer_solver *solver, struct bd_matrix *a,
                                        struct bd_matrix *r, struct bd_matrix *b, bool full_q);

/* SVD of n x n matrices by cuSOLVER: sigma (n), u and v (n x n). */
struct bd_bench_peer_svd;
enum bd_status bd_bench_peer_svd_create(struct bd_bench_peer_svd **peer, struct bd_bench_gpu *gpu,
                                        int64_t n);
void bd_bench_peer_svd_destroy(struct bd_bench_peer_svd **peer);
/* One-sided Jacobi with its default tolerance, of r, which is overwritten. */
enum bd_status bd_bench_peer_gesvdj(struct bd_bench_peer_svd *peer, float *r);
/* The approximate SVD for tall matrices, a batch of one. */
enum bd_status bd_bench_peer_gesvda(struct bd_bench_peer_svd *peer, const float *r);
/* The results of the last one, to the host: sigma n, v n x n, and cuSOLVER's info. */
enum bd_status bd_bench_peer_svd_get(struct bd_bench_peer_svd *peer, float *sigma, float *v,
                                     int *info);

/* The same where they are: sigma n, u and v n x n. */
void bd_bench_peer_svd_results(const struct bd_bench_peer_svd *peer, const float **sigma,
                               const float **u, const float **v);

/* Robust PCA with L, S, Y and M stored as floats, as the papers have it: geqrf, orgqr, gesvda,
 * sgemm n n n and m n n, and three elementwise kernels of our own. */
struct bd_bench_textbook;
enum bd_status bd_bench_textbook_create(struct bd_bench_textbook **textbook,
                                        struct bd_bench_gpu *gpu, int64_t m, int64_t n,
                                        const uint8_t *pictures, int64_t ld);
void bd_bench_textbook_destroy(struct bd_bench_textbook **textbook);
enum bd_status bd_bench_textbook_start(struct bd_bench_textbook *textbook);
enum bd_status bd_bench_textbook_iterate(struct bd_bench_textbook *textbook);
/* ||M - L - S||_F / ||M||_F of the last iteration. */
enum bd_status bd_bench_textbook_residual(struct bd_bench_textbook *textbook, double *residual);

/* The suites. */
enum bd_status bd_bench_gpu_qr(struct bd_bench *bench);
enum bd_status bd_bench_gpu_update(struct bd_bench *bench);
enum bd_status bd_bench_gpu_svd(struct bd_bench *bench);
enum bd_status bd_bench_gpu_rpca(struct bd_bench *bench);

#endif
