/* The separation's kernels by instruction set. */
#include "separation/cpu/kernels/kernels.h"

#define DECLARE(isa)                                     \
    extern const struct bd_exact_kernels bd_exact_##isa; \
    extern const struct bd_pixel_kernels bd_pixel_##isa;
#define KERNELS(isa)                     \
    {                                    \
        &bd_exact_##isa, &bd_pixel_##isa \
    }

DECLARE(baseline)
#ifdef BD_KERNELS_X86
DECLARE(avx2)
DECLARE(avx512)
#endif

static const struct bd_separation_kernels kernels[] = {
    [BD_ISA_BASELINE] = KERNELS(baseline),
#ifdef BD_KERNELS_X86
    [BD_ISA_AVX2] = KERNELS(avx2),
    [BD_ISA_AVX512] = KERNELS(avx512),
#endif
};

const struct bd_separation_kernels *bd_separation_kernels_of(enum bd_isa isa)
{
    return &kernels[isa];
}

const struct bd_separation_kernels *bd_separation_kernels(void)
{
    return bd_separation_kernels_of(bd_isa_best());
}
