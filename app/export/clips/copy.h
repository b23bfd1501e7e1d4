/* Clips that are cut out of the input's file, in a thread of its own. That thread also decodes the
 * picture for each thumbnail.
 *
 *   bd_clip_copier_add -> bounded queue (FFmpeg's) -> thread -> bd_cutter_cut, one frame decoded */
#ifndef BD_APP_EXPORT_CLIPS_COPY_H
#define BD_APP_EXPORT_CLIPS_COPY_H

#include "app/activity/activity.h"
#include "video/output/cut.h"

struct bd_clip_copier;

struct bd_clip_copier_options {
    const char *folder, *stem, *input; /* all stay */
    struct bd_reader_options reader;   /* for thumbnails */
    struct bd_cutter *cutter;          /* the caller's; the thread's while the copier is open */
    bool overwrite;
};

/* Times are nanoseconds of the input's clock. */
struct bd_clip_stretch {
    int64_t number; /* of the event */
    int64_t from, to;
    int64_t peak;      /* when its largest object is seen, */
    struct bd_box box; /* and where */
};

/* Starts the thread. BD_ERROR_MEMORY. */
enum bd_status bd_clip_copier_open(struct bd_clip_copier **copier,
                                   const struct bd_clip_copier_options *options);

/* Puts a stretch into the queue; waits while that is full. Returns the failure of an earlier one,
 * once; nothing is written after it. */
enum bd_status bd_clip_copier_add(struct bd_clip_copier *copier,
                                  const struct bd_clip_stretch *stretch);

/* Copies what waits, ends the thread and nulls. `*early` is how many nanoseconds before what was
 * wanted a clip began at most. Returns a failure that was not returned yet, and BD_ERROR_FORMAT
 * where a thumbnail is missing. Safe on NULL. */
enum bd_status bd_clip_copier_close(struct bd_clip_copier **copier, int64_t *early);

#endif
