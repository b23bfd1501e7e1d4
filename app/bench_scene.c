#include "app/bench_scene.h"

#include <stdlib.h>
#include <string.h>

#include "video/synth.h"

enum bd_status bd_bench_render(uint8_t **pictures, int width, int height, int channels, int count)
{
    const struct bd_synth_scene *scene = bd_synth_find("street");
    size_t pixels = (size_t)width * (size_t)height, bytes = pixels * (size_t)channels;
    struct bd_frame frame = { 0 };
    enum bd_status status = BD_OK;
    *pictures = malloc(bytes * (size_t)count);
    if (!*pictures)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for %d pictures", count);
    for (int i = 0; i < count && !status; i++) {
        uint8_t *to = *pictures + bytes * (size_t)i;
        status = bd_synth_render(scene, width, height, 1, i, &frame, NULL);
        for (int y = 0; y < height && !status; y++) {
            const uint8_t *from = frame.data + (int64_t)y * frame.stride;
            uint8_t *row = to + (size_t)(y * width * channels);
            if (channels == 3)
                memcpy(row, from, (size_t)width * 3);
            for (int x = 0; x < width && channels == 1; x++)
                row[x] =
                    (uint8_t)((from[3 * x] * 77 + from[3 * x + 1] * 150 + from[3 * x + 2] * 29) >>
                              8);
        }
    }
    bd_frame_destroy(&frame);
    if (status) {
        free(*pictures);
        *pictures = NULL;
    }
    return status;
}
