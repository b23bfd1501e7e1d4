/* Chooses among the builds of column_kernels.inc, by the choice made for kernels.inc. */
#include "linalg/cpu/column_kernels.h"

#include <string.h>

#include "linalg/cpu/kernels.h"

extern const struct bd_column_kernels bd_column_kernels_baseline;
#ifdef BD_KERNELS_X86
extern const struct bd_column_kernels bd_column_kernels_avx2, bd_column_kernels_avx512;
#endif

const struct bd_column_kernels *bd_column_kernels(void)
{
#ifdef BD_KERNELS_X86
    if (!strcmp(bd_kernels()->isa, "AVX-512"))
        return &bd_column_kernels_avx512;
    if (!strcmp(bd_kernels()->isa, "AVX2"))
        return &bd_column_kernels_avx2;
#endif
    return &bd_column_kernels_baseline;
}
