#include "app/blas_threads.h"

/* Present when the BLAS is OpenBLAS. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern int openblas_get_num_threads(void) __attribute__((weak));

void bd_blas_set_threads(int threads)
{
    if (openblas_set_num_threads)
        openblas_set_num_threads(threads);
}

int bd_blas_threads(void)
{
    return openblas_get_num_threads ? openblas_get_num_threads() : 0;
}
