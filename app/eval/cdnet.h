/* Sequences with ground truth: folders in the layout of changedetection.net, with input/,
 * groundtruth/, and optionally ROI.bmp and temporalROI.txt; and rendered scenes. */
#ifndef BD_APP_EVAL_CDNET_H
#define BD_APP_EVAL_CDNET_H

#include <stdbool.h>

#include "app/eval/numbered.h"
#include "video/frame.h"
#include "video/synth/synth.h"

struct bd_sequence {
    char name[NAME_MAX + 1];
    char folder[PATH_MAX];        /* as given */
    struct bd_numbered input;     /* input/in%06d.jpg; `pattern` is what a reader opens */
    struct bd_numbered truth;     /* groundtruth/gt%06d.png; of a folder only */
    int64_t score_from, score_to; /* numbers of the first and last frame to score */
    struct bd_frame roi;          /* BD_GRAY8: where black, pixels do not count; empty: all do */

    const struct bd_synth_scene *scene; /* that renders input and truth; NULL: a folder's */
    int width, height;                  /* of the scene */
    uint64_t seed;
};

/* The codes in a ground-truth picture. */
enum {
    BD_TRUTH_STATIC = 0,
    BD_TRUTH_SHADOW = 50,
    BD_TRUTH_OUTSIDE = 85,
    BD_TRUTH_UNKNOWN = 170,
    BD_TRUTH_MOVING = 255
};

/* Pixels of scored frames: true and false positives and negatives. */
struct bd_score {
    int64_t tp, fp, fn, tn;
    int64_t frames;
};

/* Opens FOLDER, or synth:NAME, a scene whose frames are numbered from 1 and all scored. The files
 * in FOLDER determine the names and the numbering (bd_numbered_find). temporalROI.txt refers to the
 * numbers in the file names. This one rule suits the sequences of CDnet, whose files are numbered
 * from 1, and those of SBI2015, numbered from 0 (highway: files 1..1700, "470 1700"; CAVIAR2: files
 * 0..459, "0 459"; Board: files 0..227, "1 227", so that file 0 is not scored). BD_ERROR_IO;
 * BD_ERROR_FORMAT, also if a number is missing: no input after the gap would be read. */
enum bd_status bd_sequence_open(struct bd_sequence *sequence, const char *folder);
void bd_sequence_close(struct bd_sequence *sequence);

/* The last `parts` parts of the folder's path, even where it is "." or ends in a slash: the name of
 * a sequence, or CATEGORY/NAME. `name` has NAME_MAX + 1 bytes. */
void bd_sequence_name(const char *folder, int parts, char *name);

/* Whether frame `number` is to be scored: it is in the range and has ground truth. */
bool bd_sequence_counts(const struct bd_sequence *sequence, int64_t number);

/* Reads the ground truth of file `number`. BD_END if that frame is not to be scored, or has no
 * ground truth; else the reader's errors. `truth` must be all zero or from an earlier call. */
enum bd_status bd_sequence_truth(const struct bd_sequence *sequence, int64_t number,
                                 struct bd_frame *truth);

/* The code by which a pixel is scored: that of the truth, BD_TRUTH_OUTSIDE where the region of
 * interest (`roi`, 255 where there is none) is black. */
static inline int bd_truth_code(uint8_t truth, uint8_t roi)
{
    return roi < 128 ? BD_TRUTH_OUTSIDE : truth;
}

/* Is a pixel of a mask foreground? Some programs (MOG2) write 127 for shadows, which are not. */
static inline bool bd_mask_moving(uint8_t mask)
{
    return mask >= 128;
}

/* Adds a frame: compares `mask` (BD_GRAY8) with `truth`. BD_ERROR_FORMAT if their sizes differ, or
 * that of the region of interest. */
enum bd_status bd_score_add(struct bd_score *score, const struct bd_sequence *sequence,
                            const struct bd_frame *mask, const struct bd_frame *truth);

/* Adds `part` to `score`. */
void bd_score_pool(struct bd_score *score, const struct bd_score *part);

/* 0 where the divisor is 0. */
double bd_score_precision(const struct bd_score *score);
double bd_score_recall(const struct bd_score *score);
double bd_score_f_measure(const struct bd_score *score);

/* The number of its input pictures, as far as the folder shows it; 0: unknown. */
int64_t bd_sequence_length(const char *folder);

enum { bd_sequence_most_files = 5 };

/* What the sequence in FOLDER consists of: the patterns of its pictures and of those of the truth,
 * its region, its range and its objects, as far as they are there. `paths` has room for
 * bd_sequence_most_files. Returns how many there are; of a scene there are none. */
int bd_sequence_files(const char *folder, char (*paths)[PATH_MAX]);

/* Calls `found` for FOLDER if it is a sequence (has a folder input, or is synth:NAME), else for
 * those below it, in the order of their names, at most three levels down. Stops at the first
 * failure, which it returns. BD_ERROR_IO if there is none. */
enum bd_status bd_sequence_find(const char *folder,
                                enum bd_status (*found)(void *user, const char *folder),
                                void *user);

#endif
