/* What moves in place, on the GPU (separation/shared/recurrence.h). All enqueue on the backend's
 * stream. */
#ifndef BD_GPU_SEPARATION_RECURRENCE_CUH
#define BD_GPU_SEPARATION_RECURRENCE_CUH

#include "gpu/separation/state.cuh"

/* Between the search for shadows and the clean-up: what moves in place is not set in s->raw any
 * more. shadow: 0 or 1; NULL: none. Unless learn is 0, visits are learned before. Can be captured:
 * the rates are those at `loaded` (in the GPU's memory) unless that is NULL. */
enum bd_status bd_sep_find_recurring(struct bd_cuda_separator *s,
                                     const struct bd_detect_params *params, int learn,
                                     const struct bd_sep_rates *loaded, const uint8_t *shadow);

/* Before a new frame is separated: makes the map again if a frame has entered since, and that of
 * the places of mirror images. */
enum bd_status bd_sep_make_map(struct bd_cuda_separator *s);

/* A frame has entered the window at the slot. */
enum bd_status bd_sep_enter_moving(struct bd_cuda_separator *s, int slot);

#endif
