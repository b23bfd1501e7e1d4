/* Moves what was found in a frame back to where the frame was, makes its full-size pictures and
 * hands them on, in a thread of its own, while the next two are separated. */
#ifndef BD_APP_PIPELINE_FINISHER_H
#define BD_APP_PIPELINE_FINISHER_H

#include "app/pipeline/pictures.h"
#include "app/pipeline/stabilise.h"

struct bd_finisher;

/* A separated frame whose pictures are still to be made. */
struct bd_separated {
    struct bd_result result;         /* all but the pictures */
    struct bd_separation separation; /* at the processing size, off by `motion` */
    struct bd_similarity motion;
    struct bd_separator_options settings; /* with the threshold of this frame */
};

/* Moves back what was found, makes the pictures of frame->result and, if `objects`, finds the
 * wanted ones. BD_ERROR_MEMORY. */
enum bd_status bd_finish(struct bd_separated *frame, struct bd_pictures *pictures,
                         struct bd_stabiliser *stabiliser, bool objects);

/* Starts the thread. It alone uses `pictures`, and what `stabiliser` (may be NULL) restores, until
 * the finisher is closed. It hands each frame to the sinks, in order; if `later`, objects by a
 * follower (app/pipeline/follower.h). */
enum bd_status bd_finisher_open(struct bd_finisher **finisher, struct bd_pictures *pictures,
                                struct bd_stabiliser *stabiliser, const struct bd_sinks *sinks,
                                bool later);

/* Frames that may be in hand: one is finished while the next one waits. With the one that is
 * separated meanwhile, so many need results of their own. */
enum { bd_finisher_frames = 2, bd_finisher_results = bd_finisher_frames + 1 };

/* Waits until at most `most` frames are in hand: the pictures of all others are handed on. Returns
 * a failure of a frame so far, with its detail: of the pictures, or of a sink. */
enum bd_status bd_finisher_wait(struct bd_finisher *finisher, int most);

/* Hands over the next frame; fewer than bd_finisher_frames must be in hand. Its pictures must stay
 * until it is finished. */
void bd_finisher_give(struct bd_finisher *finisher, const struct bd_separated *frame);

/* Finishes the frames in hand, ends the threads, frees and nulls. Returns the failure of the first
 * frame that failed, with its detail. */
enum bd_status bd_finisher_close(struct bd_finisher **finisher);

#endif
