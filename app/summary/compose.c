#include "app/summary/compose.h"

#include <stdlib.h>

/* reach: pixels of the soft edge to either side. What is fainter than `faint` is left out: farther
 * from the object, it is the old background, and a halo before another object. A difference of
 * light is trusted up to `lit_most` levels; pixels that differ by more than `other` show something
 * else; fewer than `enough` pixels say nothing. */
enum {
    reach = 2,
    taps = 2 * reach + 1,
    faint = 64,
    lit_most = 48,
    other = 64,
    enough = 32,
    channels = 3
};

void bd_composer_release(struct bd_composer *composer)
{
    free(composer->alpha);
    *composer = (struct bd_composer){ 0 };
}

/* Sums of `taps` values along a line, as a mean; beyond its ends lie copies of these. */
static void soften_line(uint8_t *out, const uint8_t *in, int count, int64_t step)
{
    int sum = 0;
    for (int i = -reach; i <= reach; i++)
        sum += in[step * (i < 0 ? 0 : i < count ? i : count - 1)];
    for (int i = 0; i < count; i++) {
        out[i * step] = (uint8_t)((sum + taps / 2) / taps);
        int leaves = i - reach, enters = i + reach + 1;
        sum += in[step * (enters < count ? enters : count - 1)];
        sum -= in[step * (leaves > 0 ? leaves : 0)];
    }
}

/* composer->alpha: from the mean of the mask over taps x taps pixels. */
static enum bd_status soften(struct bd_composer *composer, const struct bd_patch *patch)
{
    int width = patch->picture.width, height = patch->picture.height;
    size_t pixels = (size_t)width * (size_t)height;
    if (2 * pixels > composer->room) {
        uint8_t *alpha = realloc(composer->alpha, 2 * pixels);
        if (!alpha)
            return bd_fail(BD_ERROR_MEMORY, "out of memory to draw an object of %d x %d", width,
                           height);
        composer->alpha = alpha;
        composer->room = 2 * pixels;
    }
    uint8_t *rows = composer->alpha + pixels;
    for (int y = 0; y < height; y++)
        soften_line(rows + (int64_t)y * width, patch->mask + (int64_t)y * width, width, 1);
    for (int x = 0; x < width; x++)
        soften_line(composer->alpha + x, rows + x, height, width);
    for (size_t i = 0; i < pixels; i++) {
        int alpha = (composer->alpha[i] - faint) * 255 / (255 - faint);
        composer->alpha[i] = (uint8_t)(alpha > 0 ? alpha : 0);
    }
    return BD_OK;
}

/* How much brighter the plate is than the film was around the object, in each colour. */
static void measure_light(int light[channels], const struct bd_composer *composer,
                          const struct bd_frame *plate, const struct bd_patch *patch)
{
    for (int c = 0; c < channels; c++) {
        int64_t sum = 0, count = 0;
        for (int y = 0; y < patch->picture.height; y++) {
            const uint8_t *here = plate->data + (patch->y + y) * plate->stride + 3L * patch->x;
            const uint8_t *there = patch->picture.data + y * patch->picture.stride;
            const uint8_t *alpha = composer->alpha + (int64_t)y * patch->picture.width;
            for (int x = 0; x < patch->picture.width; x++) {
                int difference = here[3 * x + c] - there[3 * x + c];
                if (alpha[x] != 0 || difference > other || difference < -other)
                    continue;
                sum += difference;
                count++;
            }
        }
        int64_t mean = count < enough ? 0 : sum / count;
        light[c] = (int)(mean > lit_most ? lit_most : mean < -lit_most ? -lit_most : mean);
    }
}

static void draw(const struct bd_composer *composer, struct bd_frame *canvas,
                 const struct bd_patch *patch, const int light[channels])
{
    for (int y = 0; y < patch->picture.height; y++) {
        uint8_t *out = canvas->data + (patch->y + y) * canvas->stride + 3L * patch->x;
        const uint8_t *in = patch->picture.data + y * patch->picture.stride;
        const uint8_t *alpha = composer->alpha + (int64_t)y * patch->picture.width;
        for (int x = 0; x < patch->picture.width; x++)
            for (int c = 0; alpha[x] != 0 && c < channels; c++) {
                int value = in[3 * x + c] + light[c];
                value = value < 0 ? 0 : value > 255 ? 255 : value;
                value = value * alpha[x] + out[3 * x + c] * (255 - alpha[x]);
                out[3 * x + c] = (uint8_t)((value + 127) / 255);
            }
    }
}

enum bd_status bd_compose(struct bd_composer *composer, struct bd_frame *canvas,
                          const struct bd_frame *plate, const struct bd_patch *patch)
{
    int light[channels];
    enum bd_status status = soften(composer, patch);
    if (status)
        return status;
    measure_light(light, composer, plate, patch);
    draw(composer, canvas, patch, light);
    return BD_OK;
}
