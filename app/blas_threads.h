/* The threads of the BLAS and their memory. OpenBLAS is started with one thread, before main.
 *
 * Separation uses the BLAS only for the SVD of a small R; the backends have threads of their own
 * for everything else. Threads of OpenBLAS wait busily and take cores away from them: five
 * sequences of eval on two cores took 9.8 s with them and 6.9 s without. */
#ifndef BD_APP_BLAS_THREADS_H
#define BD_APP_BLAS_THREADS_H

#include <backdrop/status.h>

/* Has an effect on OpenBLAS only. */
void bd_blas_set_threads(int threads);
/* 0: not an OpenBLAS. */
int bd_blas_threads(void);

/* Takes the memory with which so many threads can be in the BLAS at the same time. OpenBLAS would
 * take it at their first calls, and try again for ever where there is none. BD_ERROR_MEMORY. */
enum bd_status bd_blas_reserve(int threads);

#endif
