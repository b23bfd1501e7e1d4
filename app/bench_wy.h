/* Private to bench_wy.c and bench_peer_wy.c: QR with all of Q by cuSOLVER. */
#ifndef BD_APP_BENCH_WY_H
#define BD_APP_BENCH_WY_H

#include "app/bench_gpu.h"

struct bd_bench_peer_wy;
enum bd_status bd_bench_peer_wy_create(struct bd_bench_peer_wy **peer, struct bd_bench_gpu *gpu,
                                       int64_t m, int64_t n);
void bd_bench_peer_wy_destroy(struct bd_bench_peer_wy **peer);

/* geqrf of the first n columns of q (m x m, ld = m). */
enum bd_status bd_bench_peer_wy_factor(struct bd_bench_peer_wy *peer, float *q);

/* After it: R to r (n x n, tight, zeros below its diagonal), and orgqr: Q to all of q. */
enum bd_status bd_bench_peer_wy_form(struct bd_bench_peer_wy *peer, float *q, float *r);

#endif
