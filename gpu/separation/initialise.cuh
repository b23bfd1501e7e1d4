/* The first basis, for the first background (stable_value.cu). */
#ifndef BD_GPU_SEPARATION_INITIALISE_CUH
#define BD_GPU_SEPARATION_INITIALISE_CUH

#include "gpu/separation/state.cuh"

/* numbers->square := 0. */
enum bd_status bd_sep_clear_square(struct bd_cuda_separator *s);

/* The basis, the coefficients of the window and w from the background that lies in B, the square of
 * whose norm is numbers->square. */
enum bd_status bd_sep_start_basis(struct bd_cuda_separator *s, int count, float lambda);

#endif
