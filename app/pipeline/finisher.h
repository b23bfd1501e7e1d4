/* Moves what was found in a frame back to where the frame was, makes its full-size pictures and
 * hands them on, in a thread of its own, while the next frame is separated. */
#ifndef BD_APP_PIPELINE_FINISHER_H
#define BD_APP_PIPELINE_FINISHER_H

#include "app/pipeline/pictures.h"
#include "app/pipeline/stabilise.h"
#include "video/device.h"

struct bd_finisher;

/* A separated frame whose pictures are still to be made. */
struct bd_separated {
    struct bd_result result;         /* all but the pictures */
    struct bd_separation separation; /* at the processing size, off by `motion` */
    struct bd_similarity motion;
    struct bd_separator_options settings; /* with the threshold of this frame */
};

/* Moves back what was found, and makes the pictures of frame->result. BD_ERROR_MEMORY. */
enum bd_status bd_finish(struct bd_separated *frame, struct bd_pictures *pictures,
                         struct bd_stabiliser *stabiliser);

/* Starts the thread, for pictures that go to `device` (may be NULL). It alone uses `pictures`, and
 * what `stabiliser` (may be NULL) restores, until the finisher is closed. It calls sink(user,
 * result) for each frame, in order. */
enum bd_status bd_finisher_open(struct bd_finisher **finisher, struct bd_device *device,
                                struct bd_pictures *pictures, struct bd_stabiliser *stabiliser,
                                bd_result_sink *sink, void *user);

/* Waits until the frame given last is finished. Returns the first failure of a frame so far, with
 * its detail: of the pictures, or of the sink. */
enum bd_status bd_finisher_wait(struct bd_finisher *finisher);

/* Hands over the next frame, of the same size as all others; the one before must be finished. The
 * picture frame->result.input must stay until this one is finished; those of the separation are
 * copied. BD_ERROR_MEMORY. */
enum bd_status bd_finisher_give(struct bd_finisher *finisher, const struct bd_separated *frame);

/* Finishes the frame in hand, ends the thread, frees and nulls. Safe on NULL. */
void bd_finisher_close(struct bd_finisher **finisher);

#endif
