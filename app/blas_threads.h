/* The number of threads of the BLAS. */
#ifndef BD_APP_BLAS_THREADS_H
#define BD_APP_BLAS_THREADS_H

/* Has an effect on OpenBLAS only. */
void bd_blas_set_threads(int threads);
/* 0: not an OpenBLAS. */
int bd_blas_threads(void);

#endif
