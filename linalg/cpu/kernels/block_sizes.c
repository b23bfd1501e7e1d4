/* Sizes that the block kernels have the same for every instruction set. */
#include "linalg/shared/block_kernels.h"

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
