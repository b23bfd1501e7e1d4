/* Chooses among the builds of kernels.inc. */
#include "linalg/cpu/kernels.h"

extern const struct bd_kernels bd_kernels_baseline;
#ifdef BD_KERNELS_X86
extern const struct bd_kernels bd_kernels_avx2, bd_kernels_avx512;

/* What -march=x86-64-v3 and -v4 may use, as far as the compiler can ask. */
static int has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

static int has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

int bd_kernels_variants(const struct bd_kernels **list)
{
    int count = 0;
#ifdef BD_KERNELS_X86
    if (has_avx512())
        list[count++] = &bd_kernels_avx512;
    if (has_avx2())
        list[count++] = &bd_kernels_avx2;
#endif
    list[count++] = &bd_kernels_baseline;
    return count;
}

const struct bd_kernels *bd_kernels(void)
{
    const struct bd_kernels *list[bd_kernel_variants_max];
    bd_kernels_variants(list);
    return list[0];
}

int64_t bd_kernel_work(int64_t m, int64_t n)
{
    int64_t rows = (m + bd_kernel_rows - 1) / bd_kernel_rows * bd_kernel_rows;
    return rows * bd_kernel_inner + (n + 15) / 16 * 16;
}

/* On a Zen 4 with 1 MiB of L2 a core, one thread, busy machine: at 110592 x 100, R only, 768 rows
 * took 28.1 ms of CPU time, 512 28.4, 1024 28.9, which is within noise; 768 rounds less than 512.
 * At 100000 x 192, 112 Ki floats were no different from 80 Ki: the bound is there for L2's sake. */
int64_t bd_kernel_block_rows(int64_t n)
{
    enum { FLOATS = 80 * 1024, MOST = 768, LEAST = 256 };
    int64_t rows = FLOATS / n / bd_kernel_rows * bd_kernel_rows;
    return rows > MOST ? MOST : rows < LEAST ? LEAST : rows;
}
