#include "app/view/shrink.h"

/* Points *part to the frame, or to a smaller one where it exceeds width or height. */
static enum bd_status shrink(struct bd_view_small *small, const struct bd_frame **part,
                             const struct bd_frame *frame, int64_t serial, int width, int height)
{
    width = width < frame->width ? width : frame->width;
    height = height < frame->height ? height : frame->height;
    *part = frame;
    if (width == frame->width && height == frame->height)
        return BD_OK;
    *part = &small->frame;
    if (small->frame.data && small->serial == serial && small->frame.width == width &&
        small->frame.height == height)
        return BD_OK;
    enum bd_status status = bd_frame_ensure(&small->frame, width, height, frame->format);
    if (status == BD_OK)
        status = bd_scale(&small->scaler, &small->frame, frame, BD_SCALE_AREA);
    if (status == BD_OK)
        small->serial = serial;
    return status;
}

enum bd_status bd_view_shrink(struct bd_view_shrinker *shrinker, struct bd_view_parts *parts,
                              const struct bd_view_result *result, int64_t serial,
                              enum bd_pane pane, int width, int height)
{
    *parts = (struct bd_view_parts){ 0 };
    if (pane == BD_PANE_BACKGROUND)
        return shrink(&shrinker->background, &parts->background, &result->background, serial, width,
                      height);
    enum bd_status status = BD_OK;
    if (pane != BD_PANE_MASK)
        status = shrink(&shrinker->input, &parts->input, &result->input, serial, width, height);
    if (status == BD_OK && pane != BD_PANE_INPUT)
        status = shrink(&shrinker->mask, &parts->mask, &result->mask, serial, width, height);
    return status;
}

static void destroy(struct bd_view_small *small)
{
    bd_frame_destroy(&small->frame);
    bd_scaler_destroy(&small->scaler);
}

void bd_view_shrinker_destroy(struct bd_view_shrinker *shrinker)
{
    destroy(&shrinker->input);
    destroy(&shrinker->mask);
    destroy(&shrinker->background);
}
