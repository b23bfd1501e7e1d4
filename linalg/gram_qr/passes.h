/* Private: the passes of QR by the Gram matrix (backdrop/gram_qr.h) over the blocks of V: in which
 * order the backends' slots are called, when there have been enough, and what is done about a V
 * that a pass cannot work with. */
#ifndef BD_LINALG_GRAM_QR_PASSES_H
#define BD_LINALG_GRAM_QR_PASSES_H

#include <backdrop/gram_qr.h>

/* Of the rows of V. */
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
    double *sum, *g;             /* n x n: of all blocks, and with several of one */
    double *magnitude, *largest; /* n each: of a block, of V */
    int *exponent;               /* n */
};

/* Of the type: what orthogonality is measured by. */
double bd_gram_qr_epsilon(enum bd_type type);

/* All passes; waits. V (its blocks) becomes Q, and R is written (NULL: not wanted).
 * BD_ERROR_NUMERIC where V holds NaN or Inf; the report is complete but for its bound of
 * orthogonality. */
enum bd_status bd_gram_qr_run_passes(struct bd_gram_qr *qr, struct bd_matrix *v,
                                     struct bd_matrix *r, struct bd_gram_qr_report *report);

#endif
