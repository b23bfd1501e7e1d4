/* Private to the CPU backend: all kernels, for the instruction set of this machine. */
#ifndef BD_LINALG_CPU_KERNELS_KERNELS_H
#define BD_LINALG_CPU_KERNELS_KERNELS_H

#include "linalg/cpu/kernels/block_kernels.h"
#include "linalg/cpu/kernels/column_kernels.h"
#include "linalg/cpu/kernels/exact_kernels.h"
#include "linalg/cpu/kernels/pixel_kernels.h"
#include "linalg/cpu/kernels/tall_kernels.h"

struct bd_kernels {
    const char *isa; /* for people: "AVX-512", "AVX2", "baseline" */
    const struct bd_block_kernels *block;
    const struct bd_column_kernels *column;
    const struct bd_exact_kernels *exact;
    const struct bd_pixel_kernels *pixel;
    const struct bd_tall_kernels *tall;
};

/* The best kernels for this machine. */
const struct bd_kernels *bd_kernels(void);

/* All kernels in this build that run on this machine, the best first: fills in `list` (room for
 * bd_kernel_variants_max) and returns their number. For tests. */
enum { bd_kernel_variants_max = 3 };
int bd_kernels_variants(const struct bd_kernels **list);

#endif
