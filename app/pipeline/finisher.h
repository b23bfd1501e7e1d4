/* Makes the full-size pictures of a separated frame in a thread of its own, and hands them on,
 * while the next frame is separated. */
#ifndef BD_APP_PIPELINE_FINISHER_H
#define BD_APP_PIPELINE_FINISHER_H

#include "app/pipeline/pictures.h"

struct bd_finisher;

/* Starts the thread, which alone uses `pictures` until the finisher is closed. It calls
 * sink(user, result) for each frame, in order. */
enum bd_status bd_finisher_open(struct bd_finisher **finisher, struct bd_pictures *pictures,
                                bd_result_sink *sink, void *user);

/* Waits until the frame given last is finished. Returns the first failure of a frame so far, with
 * its detail: of the pictures, or of the sink. */
enum bd_status bd_finisher_wait(struct bd_finisher *finisher);

/* Hands over the next frame; the one before must be finished. `result` has all fields but those of
 * pictures. The frame result->input must stay until this one is finished; the pictures of
 * `separation`, of the size in `settings`, are copied. BD_ERROR_MEMORY. */
enum bd_status bd_finisher_give(struct bd_finisher *finisher, const struct bd_result *result,
                                const struct bd_separation *separation,
                                const struct bd_separator_options *settings);

/* Finishes the frame in hand, ends the thread, frees and nulls. Safe on NULL. */
void bd_finisher_close(struct bd_finisher **finisher);

#endif
