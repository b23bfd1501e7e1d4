/* Private to linalg/cpu/gram_qr: QR by the Gram matrix, and products of tall matrices with
 * triangles. A block of V is cut into parts, one for a thread at a time; the Gram matrices of the
 * parts are added in a fixed order, so that results do not depend on the threads. A part is cut
 * into tiles that stay in the L2 cache. */
#ifndef BD_LINALG_CPU_GRAM_QR_PLAN_H
#define BD_LINALG_CPU_GRAM_QR_PLAN_H

#include "linalg/cpu/gram_qr/condition_estimate.h"
#include "linalg/cpu/kernels/tall_kernels.h"
#include "linalg/shared/cpu.h"
#include "linalg/shared/gram_qr_ops.h"
#include "linalg/shared/kernels.h"

/* A triangle as the kernels multiply by it (linalg/cpu/kernels/tall_kernels.h). */
struct bd_cpu_triangle {
    struct bd_tall_group *groups;
    int64_t count, size; /* groups, factors */
    double *t;
    float *single; /* the same, where it is computed in float32 */
    double *scale; /* n: factors for V's columns then */
    int is_single;
    int is_wide; /* BLAS computes V := V R^-1 (-1) or V times `product` (1), which has no factors */
    const double *product; /* n x n */
};

/* Above this many columns of float64, BLAS, which packs, is faster than the kernels: at 6000 x 1500
 * on two cores the Gram matrix takes 208 ms instead of 346, the solve 160 instead of 250. At
 * 20000 x 400 the kernels are faster. */
enum { bd_cpu_wide_columns = 512 };

struct bd_cpu_gram {
    struct bd_backend *backend;
    struct bd_cpu_memory memory;
    int64_t m, n;
    enum bd_type type;
    int64_t tile_rows, part_rows, parts;
    double *part_g; /* parts x n x n */
    double *buffer; /* a tile x n for each thread */
    double *g;      /* n x n */
    double *r, *r_total;
    double *u, *eigenvalue, *tau, *work; /* for LAPACK: n x n, n, n, work_size */
    int *iwork;                          /* iwork_size */
    int work_size, iwork_size;
    double *diagonal, *norm;  /* n each */
    double *condition_vector; /* 2 n */
    double *inverse;          /* n x n */
    struct bd_cpu_triangle triangle;
    int identity;  /* R = I: nothing to solve */
    int *exponent; /* n: what repair did to V and factor has not undone in R_total yet */
    int *finite;   /* parts: whether the last product was finite */
    struct bd_gram_qr_pass record[bd_gram_qr_max_passes];
    int bad[bd_gram_qr_max_passes];
};

/* The factors for V R^-1 from R (n x n in gram->r, which is overwritten) with that condition number
 * (columns scaled to unit norm). single: in float32. 0: they do not fit the range of their type. */
int bd_cpu_triangle_invert(struct bd_cpu_gram *gram, double condition,
                           enum bd_triangular_solve solve, int single);

/* The factors for V R. 0: as above. */
int bd_cpu_triangle_copy(struct bd_cpu_gram *gram, int single);

/* The estimated condition number of R (as above). */
double bd_cpu_triangle_condition(struct bd_cpu_gram *gram);

/* V := V times the triangle. with_gram: G of the result too. check: whether all of the result is
 * finite, which is returned. */
int bd_cpu_gram_sweep(struct bd_cpu_gram *gram, void *v, int64_t ldv, int multiply, int with_gram,
                      int check);

/* `factor` of the table, for a G whose diagonal is in range: R (in gram->r) and the record's
 * condition, truncated and failed. BD_ERROR_NUMERIC: no convergence. */
enum bd_status bd_cpu_gram_cholesky(struct bd_cpu_gram *gram, double shift,
                                    struct bd_gram_qr_pass *record);
enum bd_status bd_cpu_gram_svd(struct bd_cpu_gram *gram, struct bd_gram_qr_pass *record);

/* Functions of bd_cpu_gram_qr_ops (linalg/shared/gram_qr_ops.h) outside plan.c. */
enum bd_status bd_cpu_gram_magnitudes(void *work, const void *v, int64_t ldv, double *largest);
enum bd_status bd_cpu_gram_repair(void *work, void *v, int64_t ldv, const int *exponent,
                                  int64_t first_row);

#endif
