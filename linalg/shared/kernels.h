/* The linear algebra's kernels on the CPU, for the instruction set of this machine: for linalg/cpu
 * and lapack/. */
#ifndef BD_LINALG_SHARED_KERNELS_H
#define BD_LINALG_SHARED_KERNELS_H

#include "linalg/shared/block_kernels.h"
#include "linalg/shared/column_kernels.h"
#include "linalg/shared/dispatch.h"

struct bd_tall_kernels; /* linalg/cpu/kernels/tall_kernels.h */

struct bd_kernels {
    const struct bd_block_kernels *block;
    const struct bd_column_kernels *column;
    const struct bd_tall_kernels *tall;
};

/* The kernels for an instruction set that this machine has. */
const struct bd_kernels *bd_kernels_of(enum bd_isa isa);

/* The best kernels for this machine. */
const struct bd_kernels *bd_kernels(void);

#endif
