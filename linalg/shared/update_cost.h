/* Private: the model of what QR updates cost, fitted to measurements by tools/calibrate_updates.c.
 *
 * A time is a sum of terms in m, n, p and k, counts of operations, of passes over memory and of
 * steps that wait for each other, each times a coefficient >= 0 of the backend. */
#ifndef BD_LINALG_SHARED_UPDATE_COST_H
#define BD_LINALG_SHARED_UPDATE_COST_H

#include <backdrop/qr_update.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is kept. Without Q, right-hand sides need reflectors when A is factored anew, and cost next
 * to nothing in an update. */
enum bd_cost_form {
    bd_cost_thin,
    bd_cost_full,
    bd_cost_no_q,
    bd_cost_forms,
    bd_cost_no_q_d = bd_cost_forms, /* of factoring alone */
    bd_cost_factor_forms
};

enum {
    bd_cost_kinds = 4,   /* those of bd_qr_change_kind */
    bd_cost_regimes = 2, /* few columns or rows; many */
    bd_cost_group = 8,   /* columns or rows that pass Q together, of few ... */
    bd_cost_block = 64,  /* ... and of many */
    bd_cost_update_terms = 13,
    bd_cost_factor_terms = 8
};

struct bd_qr_update_costs {
    const char *machine; /* what it was measured on */
    /* Whether a change is done as one of few columns or rows: two fits, as a backend may have other
     * kernels for few than for many. What the backend's code asks as well. */
    bool (*few)(const struct bd_qr_change *change, enum bd_cost_form form);
    double update[bd_cost_kinds][bd_cost_forms][bd_cost_regimes][bd_cost_update_terms];
    double factor[bd_cost_factor_forms][bd_cost_factor_terms];
};

/* The terms of a change (m, n before it) that is done as one of few (regime 0) or of many (1), and
 * of factoring an m x n matrix. */
void bd_cost_update(const struct bd_qr_change *change, enum bd_cost_form form, int regime,
                    double terms[bd_cost_update_terms]);
void bd_cost_factor(int64_t m, int64_t n, enum bd_cost_form form,
                    double terms[bd_cost_factor_terms]);

/* What the model says of a change, by either regime. */
double bd_cost_update_seconds(const struct bd_qr_update_costs *costs,
                              const struct bd_qr_change *change, enum bd_cost_form form,
                              int regime);

#ifdef __cplusplus
}
#endif
#endif
