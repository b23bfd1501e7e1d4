/* Times of QR updates and of factoring anew, on a grid of shapes and changes: what the model of
 * linalg/shared/update_cost.h is fitted to. */
#ifndef BD_TOOLS_UPDATE_SAMPLES_H
#define BD_TOOLS_UPDATE_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "linalg/shared/update_cost.h"
#include <backdrop/backend.h>

enum { update_samples_most = 4096, update_factor_kind = bd_cost_kinds };

/* A time, and what it was of. */
struct update_sample {
    int kind; /* bd_qr_change_kind, or update_factor_kind */
    enum bd_cost_form form;
    struct bd_qr_change change;
    int regime;     /* forced: 0 few, 1 many; -1: as the backend does it */
    double seconds; /* the least of a few */
};

struct update_samples {
    struct update_sample list[update_samples_most];
    int count;
};

extern const char *const update_form_names[bd_cost_factor_forms];

/* Adds samples of all shapes, their sizes times `scale`; what it is at goes to stderr.
 * processor_time: of this process, not the clock's. A failure is that of the library. */
enum bd_status update_samples_measure(struct bd_backend *backend, int64_t scale,
                                      bool processor_time, struct update_samples *samples);

#endif
