/* Private to the suite svqr: QR by the Gram matrix built of library calls, as MAGMA and the paper
 * (Yamazaki, Tomov, Dongarra 2016, figure 1) do it: the Gram matrix by cuBLAS, R of it, and the
 * triangular solve by cuBLAS. */
#ifndef BD_APP_BENCH_SVQR_H
#define BD_APP_BENCH_SVQR_H

#include "app/bench/gpu/gpu.h"

/* Where R of the Gram matrix comes from. */
enum bd_bench_svqr_way {
    BD_PEER_CHOLQR,      /* cuSOLVER dpotrf */
    BD_PEER_CHOLQR_HOST, /* LAPACK dpotrf on the host */
    BD_PEER_SVQR         /* LAPACK dsyevd and dgeqrf on the host, of the scaled Gram matrix */
};

struct bd_bench_peer_svqr;

/* For m x n matrices of float64 with leading dimension ld. */
enum bd_status bd_bench_peer_svqr_create(struct bd_bench_peer_svqr **peer, struct bd_bench_gpu *gpu,
                                         int64_t m, int64_t n, int64_t ld);
void bd_bench_peer_svqr_destroy(struct bd_bench_peer_svqr **peer);

/* One pass: Q in place of V. */
enum bd_status bd_bench_peer_svqr_run(struct bd_bench_peer_svqr *peer, enum bd_bench_svqr_way way,
                                      double *v);

/* R (n x n, ld n, on the host) of the last run; what is below its diagonal has no meaning. */
enum bd_status bd_bench_peer_svqr_get_r(struct bd_bench_peer_svqr *peer, double *r);

#endif
