/* Chooses the instruction set whose kernels run on this machine. */
#include "linalg/cpu/kernels/kernels.h"

#include <stdbool.h>

/* The tables that the group_kernels.c define, each compiled for `name`. */
#define BD_DECLARE(name)                                    \
    extern const struct bd_block_kernels bd_block_##name;   \
    extern const struct bd_column_kernels bd_column_##name; \
    extern const struct bd_exact_kernels bd_exact_##name;   \
    extern const struct bd_pixel_kernels bd_pixel_##name;   \
    extern const struct bd_tall_kernels bd_tall_##name;
#define BD_TABLES(name)                                                                \
    .block = &bd_block_##name, .column = &bd_column_##name, .exact = &bd_exact_##name, \
    .pixel = &bd_pixel_##name, .tall = &bd_tall_##name

BD_DECLARE(baseline)

static bool always(void)
{
    return true;
}

#ifdef BD_KERNELS_X86
BD_DECLARE(avx2)
BD_DECLARE(avx512)

/* What -march=x86-64-v3 and -v4 may use, as far as the compiler can ask. */
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

static const struct variant {
    struct bd_kernels kernels;
    bool (*runs_here)(void);
} variants[] = {
#ifdef BD_KERNELS_X86
    { { .isa = "AVX-512", BD_TABLES(avx512) }, has_avx512 },
    { { .isa = "AVX2", BD_TABLES(avx2) }, has_avx2 },
#endif
    { { .isa = "baseline", BD_TABLES(baseline) }, always },
};
enum { variant_count = sizeof variants / sizeof variants[0] };
_Static_assert((int)variant_count <= (int)bd_kernel_variants_max,
               "the list of bd_kernels_variants is longer");

int bd_kernels_variants(const struct bd_kernels **list)
{
    int count = 0;
    for (int i = 0; i < variant_count; i++)
        if (variants[i].runs_here())
            list[count++] = &variants[i].kernels;
    return count;
}

const struct bd_kernels *bd_kernels(void)
{
    const struct variant *best = variants;
    while (!best->runs_here())
        best++;
    return &best->kernels;
}
