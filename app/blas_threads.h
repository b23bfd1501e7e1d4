/* Threads of the BLAS. */
#ifndef BD_APP_BLAS_THREADS_H
#define BD_APP_BLAS_THREADS_H

/* Keeps an OpenBLAS to the thread that calls it. The backend shares out its work to threads of its
 * own; OpenBLAS's, which wait busily, then only take cores from them, and from the sequences that
 * `eval` separates beside each other: five of them on two cores took 9.8 s with OpenBLAS's threads
 * and 6.9 s without. Masks are the same. Any other BLAS stays as it is. */
void bd_blas_threads_none(void);

#endif
