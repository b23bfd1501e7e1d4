/* The linear algebra's kernels by instruction set. */
#include "linalg/shared/kernels.h"
#include "linalg/cpu/kernels/tall_kernels.h"

#define DECLARE(isa)                                       \
    extern const struct bd_block_kernels bd_block_##isa;   \
    extern const struct bd_column_kernels bd_column_##isa; \
    extern const struct bd_tall_kernels bd_tall_##isa;
#define KERNELS(isa)                                      \
    {                                                     \
        &bd_block_##isa, &bd_column_##isa, &bd_tall_##isa \
    }

DECLARE(baseline)
#ifdef BD_KERNELS_X86
DECLARE(avx2)
DECLARE(avx512)
#endif

static const struct bd_kernels kernels[] = {
    [BD_ISA_BASELINE] = KERNELS(baseline),
#ifdef BD_KERNELS_X86
    [BD_ISA_AVX2] = KERNELS(avx2),
    [BD_ISA_AVX512] = KERNELS(avx512),
#endif
};

const struct bd_kernels *bd_kernels_of(enum bd_isa isa)
{
    return &kernels[isa];
}

const struct bd_kernels *bd_kernels(void)
{
    return bd_kernels_of(bd_isa_best());
}
