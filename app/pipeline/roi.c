#include "app/pipeline/roi.h"

#include <stddef.h>

#include "video/output/writer.h"
#include "video/scale.h"

enum { black_below = 128 };

enum bd_status bd_roi_load(struct bd_frame *roi, const char *path, int width, int height)
{
    struct bd_frame picture = { 0 };
    struct bd_scaler *scaler = NULL;
    enum bd_status status = bd_picture_read(path, BD_GRAY8, &picture);
    if (status && status != BD_ERROR_MEMORY)
        return bd_fail(BD_ERROR_ARGUMENT, "--roi %s", bd_error_detail());
    if (!status)
        status = bd_frame_create(roi, width, height, BD_GRAY8);
    if (!status)
        status = bd_scale(&scaler, roi, &picture, BD_SCALE_NEAREST);
    bd_scaler_destroy(&scaler);
    bd_frame_destroy(&picture);
    return status;
}

int64_t bd_roi_apply(struct bd_frame *mask, const struct bd_frame *roi)
{
    int64_t count = 0;
    for (int y = 0; y < mask->height; y++) {
        uint8_t *row = mask->data + (int64_t)y * mask->stride;
        const uint8_t *keep = roi->data ? roi->data + (int64_t)y * roi->stride : NULL;
        for (int x = 0; keep && x < mask->width; x++)
            row[x] &= (uint8_t)(keep[x] < black_below ? 0 : 255);
        unsigned in_row = 0;
        for (int x = 0; x < mask->width; x++)
            in_row += row[x] & 1;
        count += in_row;
    }
    return count;
}
