/* What moves in place, on the CPU (separation/shared/recurrence.h). */
#ifndef BD_SEPARATION_CPU_RECURRENCE_H
#define BD_SEPARATION_CPU_RECURRENCE_H

#include "separation/cpu/state.h"
#include "separation/shared/recurrence.h"

/* state->recurrence. BD_ERROR_MEMORY; what was taken is freed by destroy, which accepts NULL. */
enum bd_status bd_recurrence_create(struct bd_cpu_separator *state);
void bd_recurrence_destroy(struct bd_recurrence **recurrence);
void bd_recurrence_reset(struct bd_cpu_separator *state);

/* Between the search for shadows and the median filter: takes what moves in place out of
 * state->raw. Unless learn is 0, visits and evidence are learned before. */
void bd_recurrence_find(struct bd_cpu_separator *state, const struct bd_detect_params *params,
                        int learn);

/* The frame in hand is the one that entered at the slot, as it came; slot < 0: a new one. */
void bd_recurrence_recall(struct bd_cpu_separator *state, int slot);

/* `count` pixels of the frame in hand, from `from` on, enter the window, with their visits. Several
 * threads may call it at the same time, for different pixels. */
void bd_recurrence_enter_pixels(struct bd_cpu_separator *state, int slot, int64_t from,
                                int64_t count);

/* All of them have entered. */
void bd_recurrence_enter(struct bd_cpu_separator *state, int slot);

#endif
