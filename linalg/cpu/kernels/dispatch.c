#include "linalg/shared/dispatch.h"

#include <stdbool.h>

/* What -march=x86-64-v3 and -v4 may use, as far as the compiler can ask. */
static bool runs_here(enum bd_isa isa)
{
#ifdef BD_KERNELS_X86
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (isa == BD_ISA_AVX2)
        return avx2;
    if (isa == BD_ISA_AVX512)
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
#endif
    return isa == BD_ISA_BASELINE;
}

int bd_isa_list(enum bd_isa list[BD_ISA_COUNT])
{
    int count = 0;
    for (int isa = BD_ISA_COUNT - 1; isa >= 0; isa--)
        if (runs_here((enum bd_isa)isa))
            list[count++] = (enum bd_isa)isa;
    return count;
}

enum bd_isa bd_isa_best(void)
{
    enum bd_isa list[BD_ISA_COUNT];
    bd_isa_list(list);
    return list[0];
}

const char *bd_isa_name(enum bd_isa isa)
{
    static const char *const names[BD_ISA_COUNT] = { "baseline", "AVX2", "AVX-512" };
    return names[isa];
}
