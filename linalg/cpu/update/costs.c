/* Rates of one thread of a CPU with AVX-512 (linalg/shared/update_cost.h).
 *
 * They are a least-squares fit to a model of 292 coefficients, which they replace and which was
 * fitted to measured times; cases weigh more the closer both times are. Over the 1,130 cases that
 * were measured (150 x 40 to 400,000 x 20), the choice of these rates, updating or factoring again,
 * is by that model more than a tenth slower than the other in 6 cases, 0.1 % in the mean and 38 %
 * at most. Always updating is more than a tenth slower in 78 cases and 4.5 % in the mean. */
#include "linalg/shared/update_cost.h"

const struct bd_qr_update_costs bd_cpu_update_costs = {
    .update = {
        [BD_QR_INSERT_COLUMNS] = {
            [bd_cost_thin] = { 0, 0, 9.78e-08, 8.34e-07, 2.07e-11, 1.63e-11 },
            [bd_cost_full] = { 0, 0, 9.26e-07, 1.55e-06, 4.90e-11, 1.66e-11 },
        },
        [BD_QR_REMOVE_COLUMNS] = {
            [bd_cost_thin] = { 0, 0, 2.98e-07, 0, 6.24e-12, 2.56e-11 },
            [bd_cost_full] = { 5.61e-07, 0, 5.62e-07, 0, 1.09e-11, 2.84e-11 },
            [bd_cost_no_q] = { 2.21e-06, 2.30e-07, 0, 0, 0, 5.68e-11 },
        },
        [BD_QR_INSERT_ROWS] = {
            [bd_cost_thin] = { 0, 0, 6.97e-07, 0, 3.20e-11, 2.16e-11 },
            [bd_cost_full] = { 0, 0, 8.73e-07, 9.32e-07, 5.19e-12, 2.93e-11 },
            [bd_cost_no_q] = { 0, 5.06e-07, 0, 1.41e-06, 6.16e-10, 1.78e-11 },
        },
        [BD_QR_REMOVE_ROWS] = {
            [bd_cost_thin] = { 0, 0, 3.98e-07, 6.01e-06, 7.79e-11, 1.28e-11 },
            [bd_cost_full] = { 0, 0, 7.84e-07, 3.27e-06, 5.64e-11, 1.30e-11 },
        },
    },
    .factor = {
        [bd_cost_thin] = { 3.50e-06, 0, 1.72e-10, 9.68e-12 },
        [bd_cost_full] = { 0, 1.13e-07, 5.68e-10, 7.91e-12 },
        [bd_cost_no_q] = { 0, 7.34e-09, 4.64e-11, 9.39e-12 },
        [bd_cost_no_q_d] = { 0, 0, 3.38e-10, 8.98e-12 },
    },
};
