/* Rates of an NVIDIA H100 (linalg/shared/update_cost.h), found as those of the CPU
 * (linalg/cpu/update/costs.c), with the 154 measured cells of docs/measurements/updates-cuda.json
 * beside the cases of the model.
 *
 * Over 3,892 cases (150 x 40 to 2,000,000 x 100), the choice of these rates is by the model they
 * replace more than a tenth slower than the other in 136 cases, 1.1 % in the mean and 2.6 times at
 * most. Always updating is more than a tenth slower in 1,366 cases and 34 % in the mean. Updating
 * is faster, and chosen, in all of the 154 cells. */
#include "linalg/shared/update_cost.h"

const struct bd_qr_update_costs bd_cuda_update_costs = {
    .update = {
        [BD_QR_INSERT_COLUMNS] = {
            [bd_cost_thin] = { 3.18e-05, 6.21e-08, 7.24e-07, 1.40e-05, 2.06e-13, 7.16e-14 },
            [bd_cost_full] = { 1.07e-04, 2.24e-06, 1.09e-07, 1.86e-06, 1.96e-12, 2.80e-15 },
        },
        [BD_QR_REMOVE_COLUMNS] = {
            [bd_cost_thin] = { 2.10e-06, 0, 1.18e-06, 0, 7.60e-14, 1.25e-13 },
            [bd_cost_full] = { 1.95e-06, 4.82e-07, 1.50e-06, 0, 0, 3.54e-14 },
            [bd_cost_no_q] = { 2.10e-06, 3.55e-08, 9.23e-07, 0, 8.09e-12, 0 },
        },
        [BD_QR_INSERT_ROWS] = {
            [bd_cost_thin] = { 1.29e-04, 1.13e-07, 1.25e-06, 8.80e-07, 2.39e-12, 3.26e-14 },
            [bd_cost_full] = { 1.44e-04, 3.07e-07, 1.30e-06, 4.20e-07, 1.07e-12, 1.13e-13 },
            [bd_cost_no_q] = { 1.02e-05, 4.41e-08, 1.16e-06, 1.33e-07, 0, 1.17e-13 },
        },
        [BD_QR_REMOVE_ROWS] = {
            [bd_cost_thin] = { 3.92e-04, 2.23e-07, 4.16e-08, 1.21e-05, 2.84e-12, 2.05e-14 },
            [bd_cost_full] = { 1.78e-04, 1.55e-06, 2.30e-08, 3.96e-06, 2.49e-12, 1.53e-14 },
        },
    },
    .factor = {
        [bd_cost_thin] = { 2.19e-05, 8.72e-07, 0, 1.96e-14 },
        [bd_cost_full] = { 3.18e-05, 1.79e-06, 2.12e-13, 1.72e-14 },
        [bd_cost_no_q] = { 0, 4.30e-07, 0, 5.46e-14 },
        [bd_cost_no_q_d] = { 0, 2.52e-06, 7.57e-12, 3.39e-14 },
    },
};
