/* Private to gpu/gram_qr, gpu/triangular and gpu/qr: the workspace of QR by the Gram matrix (the
 * functions of linalg/shared/gram_qr_ops.h).
 *
 * R of a pass is kept as R^ D, D the norms of V's columns and R^ of about unit columns, row by
 * row: element (i, j) is r[i * n + j]. V R^-1 is computed as one product with T, n x n, upper
 * triangular, as follows. The diagonal blocks of R^ are inverted; in a block [j0, j1) of columns
 * T = W, the inverse of the diagonal block, and above it T = -R^(0 .. j0, j0 .. j1) W. Column j
 * of Q is the sum over k < j0 of Q(:, k) T(k, j), and over k = j0 .. j of V(:, k) / D(k) T(k,
 * j). Blocks of one column are substitution; one block is the product with the inverse. */
#ifndef BD_GPU_GRAM_QR_PLAN_H
#define BD_GPU_GRAM_QR_PLAN_H

#include "gpu/cuda.h"
#include "linalg/shared/gram_qr_bound.h"
#include "linalg/shared/gram_qr_ops.h"

enum {
    gram_most = 1024,     /* columns */
    gram_most_svd = 256,  /* by the SVD */
    gram_narrow_most = 32 /* up to here the first passes are one launch */
};

/* What a pass did; in page-locked memory. The GPU writes it, `number` last. */
struct gram_record {
    double orthogonality, condition;
    int truncated, failed, single, skipped, bad;
    int number; /* of the call of gram_factor that wrote it */
};

/* How V is to be multiplied. */
struct gram_decision {
    int identity; /* leave V as it is */
    int single;   /* in float32 */
    /* Of gpu/gram_qr/large/large.cu: */
    int end;              /* rows of R^ before the first pivot that was not positive */
    double orthogonality; /* of V before the pass */
    double apart;         /* ||scaled G - I||_F^2 */
    /* Of all: */
    unsigned starts[gram_most / 32]; /* bit j: a block begins with column j */
};

/* By value to the kernels; device memory, float64. */
struct gram_data {
    int n;
    double *g;       /* n x n, ld n: G */
    double *r;       /* n x n, row by row: R^; upper */
    double *norms;   /* n: D */
    double *inverse; /* n: what columns of V are multiplied by first, 1 / D */
    double *packed;  /* T in blocks (gram_packed) */
    double *total;   /* n x n, ld n: R_total, upper */
    double *other;   /* n x n, ld n: R_total after the pass */
    /* gram_matrices n x n, for when shared memory is too small. Of gpu/gram_qr/large: first 2 n
     * sums of columns, then the condition estimate, 2 + 3 n; in the end the diagonal blocks of
     * T. */
    double *scratch;
    int *exponents; /* n: of gram_repair; 0: nothing to undo */
    struct gram_decision *decision;
};

/* For 16 columns, number `number` of such: bit j: a block begins with column j of these. */
static __device__ __forceinline__ unsigned gram_cuts(const unsigned *starts, int number)
{
    return starts[number / 2] >> number % 2 * 16 & 0xffffu;
}

/* A call of gram_factor; by value to the kernels. */
struct gram_factor_step {
    int svd, solve, mixed, pass;
    int number; /* gram_record */
    double shift, enough;
    int apart; /* shared memory has no room beside R^ for the matrices that clamping needs */
};

/* The first passes in one launch (gpu/gram_qr/narrow/persistent.cu). */
struct gram_persistent_outcome {
    int passes; /* that were made */
    int more;   /* whether more are to follow; then G is there */
};

struct gram_persistent {
    const void *kernel; /* NULL: there is no such kernel */
    int blocks, kept;   /* thread blocks; tiles of rows that each keeps in shared memory */
    size_t shared;      /* bytes of its shared memory */
    void *words;        /* from block to block */
    struct gram_persistent_outcome *outcome; /* page-locked, written by the GPU */
};

struct gram_plan {
    struct bd_cuda *cuda;
    int64_t m;
    enum bd_type type;
    int svd;
    struct gram_data data;
    void *memory;                /* of data */
    void *parts;                 /* sums of thread blocks */
    double *largest;             /* n: magnitudes; device */
    double *host;                /* n: page-locked */
    int *host_exponents;         /* n, page-locked */
    struct gram_record *records; /* bd_gram_qr_max_passes, page-locked, written by the GPU */
    int *status; /* 1, page-locked, written by the GPU: of gpu/triangular/triangular.cu */
    int number;  /* of the last gram_factor */
    int numbers[bd_gram_qr_max_passes]; /* of the last of each pass */
    int solved;                         /* the last kernels are those of gram_solve */
    struct gram_persistent persistent;
};

/* Matrices of n x n that R is made in: one; for the SVD one more, and a third where products of
 * up to 64 rows are rotated from one to the other (gram_jacobi). */
static inline __host__ __device__ size_t gram_matrices(int n, int svd)
{
    return !svd ? 1 : n <= 64 ? 3 : 2;
}

/* form.cu: bytes of `parts`; G := V^T V. */
size_t bd_cuda_gram_form_workspace(const struct bd_cuda *cuda, int64_t m, int n, enum bd_type type);
enum bd_status bd_cuda_gram_form_enqueue(const struct gram_plan *plan, const void *v, int64_t ldv);

/* factor.cu: plan->data.total is R_total before the pass, other after it. The GPU writes the
 * record. */
enum bd_status bd_cuda_gram_factor_enqueue(const struct gram_plan *plan,
                                           const struct bd_gram_step *step,
                                           struct gram_record *record);

/* narrow/persistent.cu: fills plan->persistent, or leaves it where there is no such kernel. */
enum bd_status bd_cuda_gram_persistent_create(struct gram_plan *plan);
void bd_cuda_gram_persistent_destroy(struct gram_plan *plan);

/* Functions of bd_cuda_gram_qr_ops (linalg/shared/gram_qr_ops.h) outside gram_qr.cu. */
enum bd_status bd_cuda_gram_begin(void *work, void *v, int64_t ldv, void *r, int64_t ldr,
                                  const struct bd_gram_step *step, int passes, int *made,
                                  int *more);
enum bd_status bd_cuda_triangular_solve(void *work, const void *r, int64_t ldr, void *v,
                                        int64_t ldv, enum bd_triangular_solve solve, int mixed);
enum bd_status bd_cuda_triangular_multiply(void *work, const void *r, int64_t ldr, void *v,
                                           int64_t ldv, int mixed);

#endif
