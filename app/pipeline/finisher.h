/* Moves what was found in a frame back to where the frame was, makes its full-size pictures and
 * hands them on, in a thread of its own, while the next frame is separated. */
#ifndef BD_APP_PIPELINE_FINISHER_H
#define BD_APP_PIPELINE_FINISHER_H

#include "app/pipeline/pictures.h"
#include "app/pipeline/stabilise.h"

struct bd_finisher;

/* Starts the thread, which alone uses `pictures`, and what `stabiliser` (may be NULL) restores,
 * until the finisher is closed. It calls sink(user, result) for each frame, in order. */
enum bd_status bd_finisher_open(struct bd_finisher **finisher, struct bd_pictures *pictures,
                                struct bd_stabiliser *stabiliser, bd_result_sink *sink, void *user);

/* Waits until the frame given last is finished. Returns the first failure of a frame so far, with
 * its detail: of the pictures, or of the sink. */
enum bd_status bd_finisher_wait(struct bd_finisher *finisher);

/* Hands over the next frame; the one before must be finished. `result` has all fields but those of
 * pictures. The frame result->input must stay until this one is finished; the pictures of
 * `separation`, of the size in `settings` and off by `motion`, are copied. BD_ERROR_MEMORY. */
enum bd_status bd_finisher_give(struct bd_finisher *finisher, const struct bd_result *result,
                                const struct bd_separation *separation, struct bd_similarity motion,
                                const struct bd_separator_options *settings);

/* Finishes the frame in hand, ends the thread, frees and nulls. Safe on NULL. */
void bd_finisher_close(struct bd_finisher **finisher);

#endif
