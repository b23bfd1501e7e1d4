/* Masks of a sequence that another program made (--compare), scored by the same rules as ours. */
#ifndef BD_APP_EVAL_COMPARE_H
#define BD_APP_EVAL_COMPARE_H

#include "app/eval/cdnet.h"

struct bd_eval_masks {
    struct bd_numbered files; /* bin%06d.png */
    int64_t shift;            /* a mask's number less that of its input */
    struct bd_frame mask;     /* the last read, BD_GRAY8 */
};

/* Finds where the results `folder` has the masks of the sequence in the folder `sequence`: in
 * FOLDER/CATEGORY/NAME, the layout of changedetection.net, where CATEGORY is the folder of the
 * sequence; in FOLDER/NAME, as --masks writes them; or, if `alone`, in FOLDER itself. `path` has
 * PATH_MAX bytes. BD_ERROR_IO. */
enum bd_status bd_eval_masks_find(char *path, const char *folder, const char *sequence, bool alone);

/* Finds the masks for `sequence` there. A mask has the number of its input, with one exception: if
 * the masks are numbered from 1 and equally many inputs from 0, as export does for sequences of
 * SBI2015, the first mask belongs to the first input. With `all`, each frame that is scored must
 * have a mask. BD_ERROR_IO, BD_ERROR_FORMAT, BD_ERROR_MEMORY. */
enum bd_status bd_eval_masks_open(struct bd_eval_masks *masks, const char *folder,
                                  const struct bd_sequence *sequence, bool alone, bool all);
void bd_eval_masks_close(struct bd_eval_masks *masks);

/* Reads the mask of input `number`, compares it with `truth` and adds the result to `score`.
 * BD_ERROR_FORMAT if it has another size; the reader's errors. */
enum bd_status bd_eval_masks_score(struct bd_eval_masks *masks, const struct bd_sequence *sequence,
                                   int64_t number, const struct bd_frame *truth,
                                   struct bd_score *score);

#endif
