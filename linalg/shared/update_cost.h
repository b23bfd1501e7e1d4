/* Private: estimates of the time of a QR update and of factoring the matrix again.
 *
 * A time is a sum of counts (calls, steps, bytes, operations), each times a rate of the backend.
 * The counts are those of the blocked algorithms; how a backend does a change does not enter. */
#ifndef BD_LINALG_SHARED_UPDATE_COST_H
#define BD_LINALG_SHARED_UPDATE_COST_H

#include <backdrop/qr_update.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is kept. Factoring again without Q needs reflectors where there are right-hand sides; they
 * cost next to nothing in an update. */
enum bd_cost_form {
    bd_cost_thin,
    bd_cost_full,
    bd_cost_no_q,
    bd_cost_update_forms,
    bd_cost_no_q_d = bd_cost_update_forms, /* factoring alone */
    bd_cost_factor_forms
};

/* Seconds of an update. A block is 64 columns or rows. */
struct bd_update_rates {
    double call;
    double start;  /* for each block, each of the first 128 rows of R that its sweep passes */
    double step;   /* each row of R that a sweep passes */
    double vector; /* each new column, and each row that comes or goes */
    double byte, operation;
};

/* Seconds of a factorisation. */
struct bd_factor_rates {
    double call, column, byte, operation;
};

struct bd_qr_update_costs {
    struct bd_update_rates update[BD_QR_REMOVE_ROWS + 1][bd_cost_update_forms];
    struct bd_factor_rates factor[bd_cost_factor_forms];
};

/* Of the backends (linalg/cpu/update/costs.c, gpu/update/costs.c). */
extern const struct bd_qr_update_costs bd_cpu_update_costs, bd_cuda_update_costs;

#ifdef __cplusplus
}
#endif
#endif
