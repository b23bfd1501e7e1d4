#include "app/eval/worst.h"

#include <stdlib.h>
#include <string.h>

#include "video/scale.h"

/* Stretches per chosen frame: with more of them the chosen frames are worse, with fewer they differ
 * more. */
enum { stretches = 4 };

/* This red and blue can be distinguished by the colour-blind too. */
const struct bd_stroke_color bd_worst_found = { 255, 255, 255 };
const struct bd_stroke_color bd_worst_missed = { 40, 130, 255 };
const struct bd_stroke_color bd_worst_wrong = { 255, 90, 40 };
const struct bd_stroke_color bd_worst_unscored = { 85, 85, 85 };
const struct bd_stroke_color bd_worst_nothing = { 0, 0, 0 };

struct bd_worst {
    int64_t from, to;
    int rows, slots, count;        /* count: chosen, once finished */
    struct bd_worst_frame *frames; /* slots: the worst of each stretch; then the chosen ones */
    struct bd_frame drawing;       /* full size, BD_RGB24 */
    struct bd_scaler *scalers[bd_worst_pictures];
};

static int64_t wrong_pixels(const struct bd_worst_frame *frame)
{
    return frame->scores[0].fp + frame->scores[0].fn;
}

enum bd_status bd_worst_create(struct bd_worst **worst, int rows, int64_t from, int64_t to)
{
    struct bd_worst *self = calloc(1, sizeof *self);
    *worst = NULL;
    if (self)
        self->frames = calloc((size_t)rows * stretches, sizeof *self->frames);
    if (!self || !self->frames) {
        free(self);
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the worst frames");
    }
    self->from = from;
    self->to = to;
    self->rows = rows;
    self->slots = rows * stretches;
    *worst = self;
    return BD_OK;
}

static void clear(struct bd_worst_frame *frame)
{
    for (int i = 0; i < bd_worst_pictures; i++)
        bd_frame_destroy(&frame->pictures[i]);
    *frame = (struct bd_worst_frame){ 0 };
}

void bd_worst_destroy(struct bd_worst **worst)
{
    struct bd_worst *self = *worst;
    if (!self)
        return;
    for (int i = 0; i < self->slots; i++)
        clear(&self->frames[i]);
    free(self->frames);
    bd_frame_destroy(&self->drawing);
    for (int i = 0; i < bd_worst_pictures; i++)
        bd_scaler_destroy(&self->scalers[i]);
    free(self);
    *worst = NULL;
}

/* Scales `picture` to its place in `frame`; small ones are enlarged. */
static enum bd_status keep(struct bd_worst *worst, struct bd_worst_frame *frame, int i,
                           const struct bd_frame *picture)
{
    int longer = picture->width > picture->height ? picture->width : picture->height;
    int width = (int)((int64_t)picture->width * bd_worst_side / longer);
    int height = (int)((int64_t)picture->height * bd_worst_side / longer);
    enum bd_status status = bd_frame_ensure(&frame->pictures[i], width > 0 ? width : 1,
                                            height > 0 ? height : 1, BD_RGB24);
    if (!status && !worst->scalers[i])
        status = bd_scaler_create(&worst->scalers[i], 1);
    if (!status)
        status = bd_scale(&worst->scalers[i], &frame->pictures[i], picture,
                          longer > bd_worst_side ? BD_SCALE_AREA : BD_SCALE_BILINEAR);
    return status;
}

static struct bd_stroke_color color_of(int code, bool moving)
{
    if (code == BD_TRUTH_OUTSIDE || code == BD_TRUTH_UNKNOWN)
        return bd_worst_unscored;
    if (code == BD_TRUTH_MOVING)
        return moving ? bd_worst_found : bd_worst_missed;
    return moving ? bd_worst_wrong : bd_worst_nothing;
}

/* Draws the truth, or, with a mask, its right and wrong pixels. */
static enum bd_status draw(struct bd_worst *worst, const struct bd_worst_offer *offer,
                           const struct bd_frame *mask)
{
    const struct bd_frame *truth = offer->truth, *roi = offer->roi;
    enum bd_status status = bd_frame_ensure(&worst->drawing, truth->width, truth->height, BD_RGB24);
    if (status)
        return status;
    for (int y = 0; y < truth->height; y++) {
        uint8_t *out = worst->drawing.data + y * worst->drawing.stride;
        const uint8_t *t = truth->data + y * truth->stride;
        const uint8_t *m = mask ? mask->data + y * mask->stride : NULL;
        const uint8_t *inside = roi->data ? roi->data + y * roi->stride : NULL;
        for (int x = 0; x < truth->width; x++) {
            int code = bd_truth_code(t[x], inside ? inside[x] : 255);
            uint8_t gray = (uint8_t)code;
            struct bd_stroke_color color = { gray, gray, gray };
            if (m)
                color = color_of(code, bd_mask_moving(m[x]));
            memcpy(out + (size_t)3 * (size_t)x, &color, 3);
        }
    }
    return BD_OK;
}

enum bd_status bd_worst_offer(struct bd_worst *worst, const struct bd_worst_offer *offer)
{
    int64_t span = worst->to - worst->from + 1;
    int64_t slot = (offer->number - worst->from) * worst->slots / span;
    if (slot < 0 || slot >= worst->slots)
        return BD_OK;
    struct bd_worst_frame *frame = &worst->frames[slot];
    if (offer->scores[0].fp + offer->scores[0].fn <= wrong_pixels(frame))
        return BD_OK;
    frame->number = offer->number;
    memcpy(frame->scores, offer->scores, sizeof frame->scores);
    enum bd_status status = keep(worst, frame, BD_WORST_INPUT, offer->input);
    if (!status && offer->background)
        status = keep(worst, frame, BD_WORST_BACKGROUND, offer->background);
    if (!status)
        status = draw(worst, offer, NULL);
    if (!status)
        status = keep(worst, frame, BD_WORST_TRUTH, &worst->drawing);
    for (int i = 0; i < 1 + bd_max_compare && !status; i++) {
        if (!offer->masks[i]) {
            bd_frame_destroy(&frame->pictures[BD_WORST_MASK + i]);
            continue;
        }
        status = draw(worst, offer, offer->masks[i]);
        if (!status)
            status = keep(worst, frame, BD_WORST_MASK + i, &worst->drawing);
    }
    return status;
}

/* Worst first; of equals the earlier. */
static int compare(const void *a, const void *b)
{
    const struct bd_worst_frame *x = a, *y = b;
    int64_t more = wrong_pixels(y) - wrong_pixels(x);
    if (more == 0)
        more = x->number - y->number;
    return (more > 0) - (more < 0);
}

static bool is_apart(const struct bd_worst *worst, const struct bd_worst_frame *frame)
{
    int64_t least = (worst->to - worst->from + 1) / worst->slots / 2;
    for (int i = 0; i < worst->count; i++)
        if (llabs(frame->number - worst->frames[i].number) < least)
            return false;
    return true;
}

void bd_worst_finish(struct bd_worst *worst)
{
    qsort(worst->frames, (size_t)worst->slots, sizeof *worst->frames, compare);
    for (int i = 0; i < worst->slots; i++) {
        struct bd_worst_frame frame = worst->frames[i];
        bool chosen =
            worst->count < worst->rows && wrong_pixels(&frame) > 0 && is_apart(worst, &frame);
        if (!chosen) {
            clear(&worst->frames[i]);
        } else if (i == worst->count) {
            worst->count++;
        } else {
            worst->frames[i] = (struct bd_worst_frame){ 0 };
            worst->frames[worst->count++] = frame;
        }
    }
    bd_frame_destroy(&worst->drawing);
    for (int i = 0; i < bd_worst_pictures; i++)
        bd_scaler_destroy(&worst->scalers[i]);
}

int bd_worst_count(const struct bd_worst *worst)
{
    return worst->count;
}

const struct bd_worst_frame *bd_worst_get(const struct bd_worst *worst, int i)
{
    return &worst->frames[i];
}
