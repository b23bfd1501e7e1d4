/* Private to the CPU implementation: the separation's kernels, for the instruction set of this
 * machine. */
#ifndef BD_SEPARATION_CPU_KERNELS_KERNELS_H
#define BD_SEPARATION_CPU_KERNELS_KERNELS_H

#include "linalg/shared/dispatch.h"
#include "separation/cpu/kernels/exact_kernels.h"
#include "separation/cpu/kernels/pixel_kernels.h"

struct bd_separation_kernels {
    const struct bd_exact_kernels *exact;
    const struct bd_pixel_kernels *pixel;
};

/* The kernels for an instruction set that this machine has. */
const struct bd_separation_kernels *bd_separation_kernels_of(enum bd_isa isa);

/* The best kernels for this machine. */
const struct bd_separation_kernels *bd_separation_kernels(void);

#endif
