/* Where the picture flashes, on the GPU (separation/shared/flash.h). */
#ifndef BD_GPU_SEPARATION_FLASH_CUH
#define BD_GPU_SEPARATION_FLASH_CUH

#include "gpu/separation/state.cuh"

/* The cells take a step with the frame in hand, on a stream of their own; nothing without a search.
 * Can be captured. */
enum bd_status bd_sep_follow_flashes(struct bd_cuda_separator *s,
                                     const struct bd_detect_params *params, int learn);

/* What is enqueued after this comes after that step, if there is one. Can be captured. To be called
 * after a failure too. */
enum bd_status bd_sep_join_flashes(struct bd_cuda_separator *s);

/* The frame in hand has no search for flashes. */
enum bd_status bd_sep_pause_flashes(struct bd_cuda_separator *s);

/* Forgets all flashes. */
enum bd_status bd_sep_forget_flashes(struct bd_cuda_separator *s);

#endif
