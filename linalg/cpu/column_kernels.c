/* Chooses among the builds of column_kernels.inc, by the choice made for kernels.inc. */
#include "linalg/cpu/column_kernels.h"

#include <string.h>

#include "linalg/cpu/kernels.h"

extern const struct bd_column_kernels bd_column_kernels_baseline;
#ifdef BD_KERNELS_X86
extern const struct bd_column_kernels bd_column_kernels_avx2, bd_column_kernels_avx512;
#endif

static const struct bd_column_kernels *const builds[] = {
#ifdef BD_KERNELS_X86
    &bd_column_kernels_avx512, &bd_column_kernels_avx2,
#endif
    &bd_column_kernels_baseline
};
enum { build_count = sizeof builds / sizeof builds[0] };

static const struct bd_column_kernels *build_for(const char *isa)
{
    for (int i = 0; i < build_count; i++)
        if (!strcmp(builds[i]->isa, isa))
            return builds[i];
    return builds[build_count - 1];
}

int bd_column_kernels_variants(const struct bd_column_kernels **list)
{
    const struct bd_kernels *able[bd_kernel_variants_max];
    int count = bd_kernels_variants(able);
    for (int i = 0; i < count; i++)
        list[i] = build_for(able[i]->isa);
    return count;
}

const struct bd_column_kernels *bd_column_kernels(void)
{
    return build_for(bd_kernels()->isa);
}
