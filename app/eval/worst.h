/* The frames of a sequence whose masks are worst, as small pictures, found while frames go by. One
 * thread at a time. */
#ifndef BD_APP_EVAL_WORST_H
#define BD_APP_EVAL_WORST_H

#include "app/eval/cdnet.h"
#include "app/eval/text.h"
#include "app/options.h"

enum { bd_worst_side = 320 }; /* pixels: the pictures fit into a square of this */

/* Pictures of a frame. */
enum {
    BD_WORST_INPUT,
    BD_WORST_BACKGROUND,
    BD_WORST_TRUTH, /* its codes, 85 outside of the region of interest too */
    BD_WORST_MASK,  /* found white, missed blue, wrongly found red, not scored gray */
    BD_WORST_AGAINST,
    bd_worst_pictures = BD_WORST_AGAINST + bd_max_texts /* the last ones: masks of others */
};

extern const struct bd_eval_color bd_worst_found, bd_worst_missed, bd_worst_wrong,
    bd_worst_unscored, bd_worst_nothing;

struct bd_worst_frame {
    int64_t number;
    struct bd_score scores[1 + bd_max_texts];    /* of this frame: ours, those of others */
    struct bd_frame pictures[bd_worst_pictures]; /* BD_RGB24; empty where there is none */
};

/* What there is of a frame, full size. */
struct bd_worst_offer {
    int64_t number;
    const struct bd_frame *input, *background, *truth;
    const struct bd_frame *roi;                     /* empty: everywhere */
    const struct bd_frame *masks[1 + bd_max_texts]; /* ours, those of others; NULL: none */
    struct bd_score scores[1 + bd_max_texts];
};

struct bd_worst;

/* To find at most `rows` frames among the numbers from..to. What is wrong in a frame are the pixels
 * that ours has wrong, as they count in the score of the sequence; frames near each other look
 * alike, so the worst of each stretch of the sequence stands for it, and no two come from less than
 * half a stretch apart. Memory does not grow with the number of frames. */
enum bd_status bd_worst_create(struct bd_worst **worst, int rows, int64_t from, int64_t to);
void bd_worst_destroy(struct bd_worst **worst);

/* Shows it a scored frame. */
enum bd_status bd_worst_offer(struct bd_worst *worst, const struct bd_worst_offer *offer);

/* Chooses, once all are shown; what was not chosen is freed. Frames without a wrong pixel are not
 * among them. */
void bd_worst_finish(struct bd_worst *worst);

/* The chosen frames, worst first. bd_worst_get: `i` in 0 .. count - 1. */
int bd_worst_count(const struct bd_worst *worst);
const struct bd_worst_frame *bd_worst_get(const struct bd_worst *worst, int i);

#endif
