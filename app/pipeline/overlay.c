#include "app/pipeline/overlay.h"

#include <stdbool.h>
#include <string.h>

/* Orange-red differs from asphalt, grass and skin; chosen on street clips. */
static const uint8_t tint[3] = { 255, 64, 32 };
static const uint8_t line[3] = { 255, 224, 64 };
enum { tint_share = 96 }; /* of 256 */

void bd_foreground_draw(struct bd_frame *foreground, const struct bd_frame *input,
                        const struct bd_frame *mask)
{
    int samples = (int)input->format;
    for (int y = 0; y < input->height; y++) {
        const uint8_t *in = input->data + (int64_t)y * input->stride;
        const uint8_t *m = mask->data + (int64_t)y * mask->stride;
        uint8_t *out = foreground->data + (int64_t)y * foreground->stride;
        memset(out, 0, (size_t)input->width * 4);
        for (int x = 0; x < input->width; x++, in += samples, out += 4) {
            if (!m[x])
                continue;
            out[0] = in[0];
            out[1] = in[samples > 1 ? 1 : 0];
            out[2] = in[samples > 1 ? 2 : 0];
            out[3] = 255;
        }
    }
    bd_frame_copy_times(foreground, input);
}

/* Is the foreground pixel (x, y) next to background? Not at the rim of the picture. `width` is the
 * thickness of the line: larger pictures are looked at from farther away. */
static bool on_border(const struct bd_frame *mask, int x, int y, int width)
{
    int left = x - width, right = x + width, up = y - width, down = y + width;
    if (left < 0 || up < 0 || right >= mask->width || down >= mask->height)
        return false;
    const uint8_t *row = mask->data + (int64_t)y * mask->stride;
    return row[left] < 128 || row[right] < 128 ||
           mask->data[(int64_t)up * mask->stride + x] < 128 ||
           mask->data[(int64_t)down * mask->stride + x] < 128;
}

void bd_overlay_tint(uint8_t *pixel, const struct bd_frame *mask, int x, int y)
{
    bool border = on_border(mask, x, y, 1 + mask->height / 500);
    for (int c = 0; c < 3; c++)
        pixel[c] = border ? line[c]
                          : (uint8_t)((pixel[c] * (256 - tint_share) + tint[c] * tint_share) >> 8);
}

void bd_overlay_draw(struct bd_frame *overlay, const struct bd_frame *input,
                     const struct bd_frame *mask)
{
    int samples = (int)input->format;
    for (int y = 0; y < input->height; y++) {
        const uint8_t *in = input->data + (int64_t)y * input->stride;
        const uint8_t *m = mask->data + (int64_t)y * mask->stride;
        uint8_t *out = overlay->data + (int64_t)y * overlay->stride;
        if (samples == 3)
            memcpy(out, in, (size_t)input->width * 3);
        for (int x = 0; x < input->width; x++) {
            if (samples == 1)
                memset(out + 3 * x, in[x], 3);
            if (m[x])
                bd_overlay_tint(out + 3 * x, mask, x, y);
        }
    }
    bd_frame_copy_times(overlay, input);
}
