/* Threads of the BLAS. */
#ifndef BD_APP_BLAS_THREADS_H
#define BD_APP_BLAS_THREADS_H

/* Of an OpenBLAS; any other BLAS stays as it is. */
void bd_blas_set_threads(int threads);
/* 0: not an OpenBLAS. */
int bd_blas_threads(void);

#endif
