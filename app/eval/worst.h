/* The frames of a sequence with the worst masks, as small pictures, chosen while the sequence is
 * scored. One thread at a time. */
#ifndef BD_APP_EVAL_WORST_H
#define BD_APP_EVAL_WORST_H

#include "app/eval/cdnet.h"
#include "app/options.h"
#include "app/stroke_text.h"

enum { bd_worst_side = 320 }; /* pixels: the pictures fit into a square of this */

/* Pictures of a frame. */
enum {
    BD_WORST_INPUT,
    BD_WORST_BACKGROUND,
    BD_WORST_TRUTH, /* its codes, 85 outside of the region of interest too */
    BD_WORST_MASK,  /* found white, missed blue, wrongly found red, not scored gray */
    BD_WORST_PEERS,
    bd_worst_pictures = BD_WORST_PEERS + bd_max_compare /* the last ones: masks of others */
};

extern const struct bd_stroke_color bd_worst_found, bd_worst_missed, bd_worst_wrong,
    bd_worst_unscored, bd_worst_nothing;

struct bd_worst_frame {
    int64_t number;
    struct bd_score scores[1 + bd_max_compare];  /* of this frame: ours, those of others */
    struct bd_frame pictures[bd_worst_pictures]; /* BD_RGB24; empty where there is none */
};

/* A scored frame, full size. */
struct bd_worst_offer {
    int64_t number;
    const struct bd_frame *input, *background, *truth;
    const struct bd_frame *roi;                       /* empty: everywhere */
    const struct bd_frame *masks[1 + bd_max_compare]; /* ours, those of others; NULL: none */
    struct bd_score scores[1 + bd_max_compare];
};

struct bd_worst;

/* Finds at most `rows` frames among the numbers from..to. A frame is the worse the more pixels of
 * our mask are wrong, as the score counts them. Neighbouring frames look alike: only the worst
 * frame of each stretch of the sequence is considered, and two chosen frames are at least half a
 * stretch apart. Memory does not grow with the number of frames. */
enum bd_status bd_worst_create(struct bd_worst **worst, int rows, int64_t from, int64_t to);
void bd_worst_destroy(struct bd_worst **worst);

/* Considers a scored frame. */
enum bd_status bd_worst_offer(struct bd_worst *worst, const struct bd_worst_offer *offer);

/* Chooses among all considered frames and frees the others. Frames without a wrong pixel are never
 * chosen. */
void bd_worst_finish(struct bd_worst *worst);

/* The chosen frames, worst first. bd_worst_get: `i` in 0 .. count - 1. */
int bd_worst_count(const struct bd_worst *worst);
const struct bd_worst_frame *bd_worst_get(const struct bd_worst *worst, int i);

#endif
