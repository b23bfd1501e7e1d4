/* Whether clips are copied or encoded, and what they are written as. */
#ifndef BD_APP_EXPORT_CLIPS_PLAN_H
#define BD_APP_EXPORT_CLIPS_PLAN_H

#include "app/options.h"
#include "video/output/cut.h"

/* --clip-mode */
enum bd_clip_mode { BD_CLIPS_DEFAULT = -1, BD_CLIPS_AUTO, BD_CLIPS_COPY, BD_CLIPS_ENCODE };

struct bd_clip_plan {
    enum bd_status status; /* BD_ERROR_UNSUPPORTED: copies are asked for and cannot be had */
    bool copies;
    char extension[16];          /* without its dot */
    struct bd_cutter *cutter;    /* where clips are copied; owned */
    char reason[bd_detail_size]; /* of a failure, or why they are not copied; "": none */
};

/* Chooses by the options: copies where the input is a file whose packets can be copied and no boxes
 * are drawn, and not pieces that are joined. The extension of clips that are encoded is .mp4.
 * The plan keeps its failure, which is told when the clips are opened. It opens the input; without
 * --clips it does nothing. */
void bd_clip_plan_make(struct bd_clip_plan *plan, const struct bd_options *options);

void bd_clip_plan_release(struct bd_clip_plan *plan);

/* What of the options describes the input, for a further reader of it. */
struct bd_reader_options bd_clip_reader(const struct bd_options *options);

#endif
