#include "app/blas_threads.h"

/* Present when the BLAS is OpenBLAS. */
extern void openblas_set_num_threads(int threads) __attribute__((weak));

void bd_blas_threads_none(void)
{
    if (openblas_set_num_threads)
        openblas_set_num_threads(1);
}
