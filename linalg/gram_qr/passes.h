/* Private to linalg/gram_qr: the passes of QR by the Gram matrix (backdrop/gram_qr.h) over the
 * blocks of V: the order in which the backends' functions are called, when to stop, and what is
 * done with a V that a pass cannot work with. */
#ifndef BD_LINALG_GRAM_QR_PASSES_H
#define BD_LINALG_GRAM_QR_PASSES_H

#include <backdrop/gram_qr.h>

/* A block of rows of V. */
struct bd_gram_block {
    struct bd_backend *backend;
    const struct bd_backend_ops *ops;
    void *work;
    int64_t rows, first_row;
};

struct bd_gram_qr {
    struct bd_gram_block *blocks;
    int count;
    int64_t m, n;
    enum bd_type type;
    struct bd_gram_qr_options options;
    double wanted;               /* ||Q^T Q - I||_F */
    double *sum, *g;             /* n x n: G of all blocks; with several, G of one */
    double *magnitude, *largest; /* n each: of a block, of V */
    int *exponent;               /* n */
};

/* The rounding unit that orthogonality is measured in. */
double bd_gram_qr_epsilon(enum bd_type type);

/* All passes; waits. The blocks of V become Q, and R is written (NULL: not wanted).
 * BD_ERROR_NUMERIC where V holds NaN or Inf. Fills in all of the report but its bound of
 * orthogonality. */
enum bd_status bd_gram_qr_run_passes(struct bd_gram_qr *qr, struct bd_matrix *v,
                                     struct bd_matrix *r, struct bd_gram_qr_report *report);

#endif
