/* Where the picture flashes, on the GPU (separation/shared/flash.h). */
#ifndef BD_GPU_SEPARATION_FLASH_CUH
#define BD_GPU_SEPARATION_FLASH_CUH

#include "gpu/separation/state.cuh"

/* The cells take a step with the frame in hand, on a stream of their own. What is enqueued after
 * the join comes after that step. Both can be captured; without a search both do nothing. */
enum bd_status bd_sep_follow_flashes(struct bd_cuda_separator *s,
                                     const struct bd_detect_params *params, int learn);
enum bd_status bd_sep_join_flashes(struct bd_cuda_separator *s,
                                   const struct bd_detect_params *params);

/* The frame in hand has no search for flashes. */
enum bd_status bd_sep_pause_flashes(struct bd_cuda_separator *s);

/* Forgets all flashes. */
enum bd_status bd_sep_forget_flashes(struct bd_cuda_separator *s);

#endif
