/* Private to gpu/rpca: the second sweep of a batch Robust PCA iteration. */
#ifndef BD_GPU_RPCA_ITERATION_H
#define BD_GPU_RPCA_ITERATION_H

#include "gpu/cuda.h"
#include "linalg/shared/rpca_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* L = X W and T := E + (X - L) (struct bd_rpca_step); or, if `l` or `s` is given, these and no new
 * T. All pointers but `outcome` are device memory. */
struct bd_rpca_sweep {
    const void *m; /* rows x n, columns ldm apart: M */
    int64_t ldm, rows;
    int n;
    enum bd_type type;
    bool relaxed;    /* M is NaN where it is missing, or noisy; floats */
    float *t;        /* T (state.cuh) */
    float *w;        /* W: n rounded up to a multiple of 8 rows and columns, those from n on 0 */
    int64_t ldw;     /* even */
    uint8_t *packed; /* bd_rpca_packed(n) bytes of scratch */
    struct bd_rpca_step step;
    float unit;   /* what |X| times this is below 2^16: a power of two, 2^-120 .. 2^110;
                   * not for bytes, which need none */
    float *l, *s; /* rows x n or NULL */
    int64_t ldl, lds;
    /* For the end of an iteration. */
    struct bd_rpca_stop stop_at;
    const float *sigma;              /* n: of X, of M if step.keep_svd */
    double *partial;                 /* two values for each 16 rows */
    unsigned *blocks;                /* 0: thread blocks that are done */
    int *stop;                       /* *stop != 0: nothing is done; set at the end, or for NaN */
    const int *ranks;                /* ranks[0] is the rank reported */
    struct bd_rpca_outcome *outcome; /* in page-locked host memory; written at the end */
};

/* Columns that the sweep can take on any device, and on this one. */
enum { bd_rpca_most = 1024 };
int bd_rpca_sweep_most(const struct bd_cuda *cuda);

size_t bd_rpca_packed(int n);

/* Once before the first bd_rpca_sweep_run: what a kernel needs set for the device. */
enum bd_status bd_rpca_sweep_prepare(const struct bd_cuda *cuda);

enum bd_status bd_rpca_sweep_run(const struct bd_cuda *cuda, const struct bd_rpca_sweep *sweep);

/* What bd_rpca_sweep_run does for n > 104, with `l` or `s`, or relaxed; its part of prepare. */
enum bd_status bd_rpca_wide_run(const struct bd_cuda *cuda, const struct bd_rpca_sweep *sweep);
enum bd_status bd_rpca_wide_prepare(const struct bd_cuda *cuda);

#ifdef __cplusplus
}
#endif
#endif
