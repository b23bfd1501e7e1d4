/* The batch solver on a stream: exact Robust PCA (backdrop/rpca.h) separates windows of n
 * consecutive frames. Every frame is delivered once. If the last frames do not fill a window, it is
 * completed with frames of the window before. Belongs to one thread. */
#ifndef BD_APP_PIPELINE_BATCH_H
#define BD_APP_PIPELINE_BATCH_H

#include "app/pipeline/queue.h"
#include "app/pipeline/stabilise.h"
#include <backdrop/separator.h>

struct bd_batch;

/* `settings` are complete, as bd_separator_defaults returns them; memory, lambda, refine and rank
 * are not used. `stabiliser` registers the frames and stays the caller's (NULL: no registration).
 * Allocates all memory but that of the frames. */
enum bd_status bd_batch_create(struct bd_batch **batch, struct bd_backend *backend,
                               const struct bd_separator_options *settings,
                               struct bd_stabiliser *stabiliser, bool (*interrupted)(void *user),
                               void *user);
void bd_batch_destroy(struct bd_batch **batch);

/* The next frame at full size and its separation at the processing size, both valid until the next
 * call; reads and solves the next window when all frames of one are delivered. The pictures of the
 * queue have the processing size. Errors: as bd_queue_next. */
enum bd_status bd_batch_next(struct bd_batch *batch, struct bd_queue *queue,
                             const struct bd_frame **frame, struct bd_separation *separation);

/* Drops the window, after a seek. */
void bd_batch_restart(struct bd_batch *batch);

#endif
