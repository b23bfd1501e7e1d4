/* Scores of objects that were found and followed, against true ones, by the measures that are
 * standard for trackers. A box is found where it and a true box overlap by half or more: the
 * overlap is the area that they share over the area that they cover together.
 *
 * CLEAR MOT (Bernardin and Stiefelhagen, "Evaluating Multiple Object Tracking Performance: The
 * CLEAR MOT Metrics", 2008). In each frame a true object keeps the found one that it had last, if
 * they still overlap enough; the others are paired so that most are, and of these choices the one
 * with the largest sum of overlaps. Pairs are true positives (TP); true boxes without a pair are
 * misses (FN), found ones false positives (FP). A switch is a pair with another found object than
 * the true object's last one.
 *
 *   precision = TP / (TP + FP), recall = TP / (TP + FN), F = 2 TP / (2 TP + FP + FN)
 *   MOTA = 1 - (FN + FP + switches) / (TP + FN)
 *   MOTP = mean overlap of the pairs
 *
 * IDF1 (Ristani, Solera, Zou, Cucchiara and Tomasi, "Performance Measures and a Data Set for
 * Multi-Target, Multi-Camera Tracking", 2016). True objects and found ones are paired once for the
 * whole film, so that IDTP, the number of frames in which a pair overlaps enough, is largest.
 *
 *   IDP = IDTP / found boxes, IDR = IDTP / true boxes, IDF1 = 2 IDTP / (found + true boxes)
 *
 * A true object is mostly tracked if it has a pair in 80 % or more of its frames, and mostly lost
 * below 20 % (Li, Huang and Nevatia 2009). A fragmentation is a gap between two pairs of it.
 *
 * A true box that does not count (`ignore`) is neither found nor missed. As the MOT Challenge does,
 * a found box without a pair that overlaps it by half or more does not count either. */
#ifndef BD_APP_EVAL_TRACKING_H
#define BD_APP_EVAL_TRACKING_H

#include <stdbool.h>
#include <stdint.h>

#include <backdrop/status.h>

/* An object in a frame. */
struct bd_track_box {
    int64_t id;
    double x, y, width, height; /* pixels */
    bool ignore;                /* of true boxes: does not count */
};

struct bd_track_scores {
    int64_t frames;
    int64_t tp, fp, fn; /* boxes */
    int64_t switches, fragmentations;
    int64_t idtp;
    double overlap;                               /* sum over the pairs */
    int64_t crossings;                            /* two true objects overlap and swap sides */
    int64_t objects, mostly_tracked, mostly_lost; /* true ones that count in some frame */
    int64_t found_objects;
};

struct bd_tracking;

/* Memory grows with the number of objects, not with that of frames. BD_ERROR_MEMORY. */
enum bd_status bd_tracking_create(struct bd_tracking **tracking);
void bd_tracking_destroy(struct bd_tracking **tracking);

/* Scores the next frame: what was found against what is true; in each list a number occurs once.
 * BD_ERROR_ARGUMENT if one occurs twice; BD_ERROR_MEMORY. */
enum bd_status bd_tracking_add(struct bd_tracking *tracking, const struct bd_track_box *truth,
                               int truth_count, const struct bd_track_box *found, int found_count);

/* The scores of the frames so far. BD_ERROR_MEMORY. */
enum bd_status bd_tracking_scores(struct bd_track_scores *scores,
                                  const struct bd_tracking *tracking);

/* 0 where the divisor is 0. */
double bd_track_overlap(const struct bd_track_box *a, const struct bd_track_box *b);
double bd_track_precision(const struct bd_track_scores *scores);
double bd_track_recall(const struct bd_track_scores *scores);
double bd_track_f_measure(const struct bd_track_scores *scores);
double bd_track_mota(const struct bd_track_scores *scores);
double bd_track_motp(const struct bd_track_scores *scores);
double bd_track_idp(const struct bd_track_scores *scores);
double bd_track_idr(const struct bd_track_scores *scores);
double bd_track_idf1(const struct bd_track_scores *scores);

#endif
