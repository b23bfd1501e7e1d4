/* The batch solver on a stream: windows of n consecutive frames, each split by exact Robust PCA
 * (backdrop/rpca.h). Every frame is delivered once; where the last frames do not fill a window, it
 * begins with frames of the one before. Belongs to one thread. */
#ifndef BD_APP_PIPELINE_BATCH_H
#define BD_APP_PIPELINE_BATCH_H

#include "app/pipeline/queue.h"
#include "app/pipeline/stabilise.h"
#include <backdrop/separator.h>

struct bd_batch;

/* `settings` complete, as bd_separator_defaults returns them; all but memory, lambda, refine and
 * rank count, which are the live solver's. Frames are registered by `steady`, which stays the
 * caller's (NULL: they are not). Takes all memory but that of the frames. */
enum bd_status bd_batch_create(struct bd_batch **batch, struct bd_backend *backend,
                               const struct bd_separator_options *settings,
                               struct bd_stabiliser *steady, bool (*interrupted)(void *user),
                               void *user);
void bd_batch_destroy(struct bd_batch **batch);

/* The next frame at full size and its separation at the processing size, both valid until the next
 * call; reads and solves a window when the last is used up. The queue prepares pictures of the
 * processing size, where that is another. As bd_queue_next. */
enum bd_status bd_batch_next(struct bd_batch *batch, struct bd_queue *queue,
                             const struct bd_frame **frame, struct bd_separation *separation);

/* Forgets the window, after a seek. */
void bd_batch_restart(struct bd_batch *batch);

#endif
