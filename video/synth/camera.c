/* The shaking camera. */
#include "video/synth/world.h"

#include <stdlib.h>
#include <string.h>

/* Pixels of the world to one of the camera, in each direction. */
enum { fine = 2 };

/* The weights of a pixel are a tent function that is one pixel wide to either side. It covers at
 * most so many pixels of the world. */
enum { most_taps = 2 * fine + 1 };

struct bd_synth_point bd_synth_shake(const struct bd_synth_scene *scene, int height, int64_t index)
{
    int64_t time = index * 65536 / scene->fps;             /* 65536 is a second */
    int64_t gust = 5 * 16384 + 3 * bd_synth_sin(time / 5); /* 8 * 16384 is full strength */
    int64_t x = 9 * bd_synth_sin(time * 7 / 8) + 5 * bd_synth_sin(time * 19 / 8 + 9000) +
                2 * bd_synth_sin(time * 5 + 30000);
    int64_t y = 9 * bd_synth_sin(time * 5 / 7 + 20000) + 5 * bd_synth_sin(time * 16 / 7) +
                2 * bd_synth_sin(time * 6 + 50000);
    /* In units of the height: 16 * 16384 * 8 * 16384 is all of the shake. */
    int64_t reach = (int64_t)(scene->shake * 256 + 0.5) * height / BD_SYNTH_UNITS;
    return (struct bd_synth_point){ (int32_t)(x * (gust >> 6) * reach >> 29),
                                    (int32_t)(y * (gust >> 6) * reach >> 29) };
}

/* Pixels around the camera's view that it may come to see. */
static int margin_of(const struct bd_synth_scene *scene, int width, int height)
{
    return (int)(scene->shake * height / BD_SYNTH_UNITS) + 2 +
           bd_synth_roll_margin(scene, width, height);
}

int64_t bd_synth_painted_width(const struct bd_synth_scene *scene, int width, int height)
{
    int margin = scene->shake > 0 ? margin_of(scene, width, height) : 0;
    const struct bd_synth_canvas canvas = { .width = width + 2 * margin,
                                            .height = height + 2 * margin };
    return bd_synth_width(&canvas);
}

enum bd_status bd_synth_camera_open(struct bd_synth_camera *camera,
                                    const struct bd_synth_scene *scene, int width, int height,
                                    int64_t index, bool picture, bool truth)
{
    int margin = margin_of(scene, width, height);
    int scale = scene->exposure > 0 ? 1 : fine;
    int world_width = scale * (width + 2 * margin), world_height = scale * (height + 2 * margin);
    *camera = (struct bd_synth_camera){ 0 };
    enum bd_status status = BD_OK;
    if (picture)
        status = bd_frame_create(&camera->picture, world_width, world_height, BD_RGB24);
    if (!status && truth)
        status = bd_frame_create(&camera->truth, world_width, world_height, BD_GRAY8);
    if (!status) {
        camera->row = malloc((size_t)world_width * 3 * sizeof *camera->row);
        if (!camera->row)
            status = bd_fail(BD_ERROR_MEMORY, "out of memory for a row of %d pixels", world_width);
    }
    if (status) {
        bd_synth_camera_close(camera);
        return status;
    }
    if (truth)
        memset(camera->truth.data, 0, (size_t)(camera->truth.stride * world_height));
    camera->canvas = (struct bd_synth_canvas){ .picture = picture ? &camera->picture : NULL,
                                               .truth = truth ? &camera->truth : NULL,
                                               .width = world_width,
                                               .height = world_height };
    struct bd_synth_point moved = bd_synth_shake(scene, height, index);
    camera->at.x = fine * (256 * margin - moved.x);
    camera->at.y = fine * (256 * margin - moved.y);
    return BD_OK;
}

void bd_synth_camera_close(struct bd_synth_camera *camera)
{
    bd_frame_destroy(&camera->picture);
    bd_frame_destroy(&camera->truth);
    free(camera->row);
    camera->row = NULL;
}

/* The tent over one pixel of the camera along one direction: from the world's pixel `first` on. The
 * weights are those of the whole row, since a picture is a whole number of pixels fine. */
struct tent {
    int first;
    int weights[most_taps]; /* their sum is 256 */
};

/* `corner`: where the camera's pixel 0 begins, px8 of the world. */
static struct tent make_tent(int32_t corner)
{
    struct tent tent = { 0 };
    int32_t middle = corner + 128 * fine; /* of pixel 0 */
    int total = 0, largest = 0;
    tent.first = (middle - 256 * fine) >> 8;
    for (int i = 0; i < most_taps; i++) {
        int distance = 256 * (tent.first + i) + 128 - middle;
        distance = distance < 0 ? -distance : distance;
        int height = 256 * fine - distance;
        tent.weights[i] = height > 0 ? height / (fine * fine) : 0;
        total += tent.weights[i];
        if (tent.weights[i] > tent.weights[largest])
            largest = i;
    }
    tent.weights[largest] += 256 - total;
    return tent;
}

/* Row y of the camera at the horizontal resolution of the world: each value is the weighted mean of
 * a column, with 8 more bits. `shift` and `mask` select bits of a byte. */
static void mix_rows(int32_t *out, const struct bd_frame *world, int y, const struct tent *down,
                     int shift, int mask)
{
    int64_t samples = (int64_t)world->width * world->format;
    memset(out, 0, (size_t)samples * sizeof *out);
    for (int j = 0; j < most_taps; j++) {
        const uint8_t *in = world->data + (fine * y + down->first + j) * world->stride;
        int weight = down->weights[j];
        for (int64_t i = 0; i < samples; i++)
            out[i] += weight * (in[i] >> shift & mask);
    }
}

/* The weighted mean of neighbours `step` apart in such a row, with 16 more bits. */
static inline int mix_neighbours(const int32_t *first, int step, const struct tent *across)
{
    int sum = 0;
    for (int i = 0; i < most_taps; i++)
        sum += across->weights[i] * first[i * step];
    return sum;
}

static void take_picture(const struct bd_synth_camera *camera, const struct tent *across,
                         const struct tent *down, struct bd_frame *picture)
{
    enum { half = 32768 };
    for (int y = 0; y < picture->height; y++) {
        uint8_t *out = picture->data + y * picture->stride;
        const int32_t *row = camera->row + 3 * (int64_t)across->first;
        mix_rows(camera->row, &camera->picture, y, down, 0, 255);
        for (int x = 0; x < picture->width; x++)
            for (int c = 0; c < 3; c++)
                out[3 * x + c] =
                    (uint8_t)((mix_neighbours(row + 3 * (int64_t)fine * x + c, 3, across) + half) >>
                              16);
    }
}

/* Coverage by objects is averaged like light; a pixel is shadow if at least half of it is. */
static void take_truth(const struct bd_synth_camera *camera, const struct tent *across,
                       const struct tent *down, struct bd_frame *truth)
{
    enum { half = 32768 };
    const int32_t *row = camera->row + across->first;
    for (int y = 0; y < truth->height; y++) {
        uint8_t *out = truth->data + y * truth->stride;
        mix_rows(camera->row, &camera->truth, y, down, 1, 127);
        for (int x = 0; x < truth->width; x++)
            out[x] =
                (uint8_t)((mix_neighbours(row + (int64_t)fine * x, 1, across) + half) >> 16 << 1);
        mix_rows(camera->row, &camera->truth, y, down, 0, 1);
        for (int x = 0; x < truth->width; x++)
            out[x] |= mix_neighbours(row + (int64_t)fine * x, 1, across) >= half;
    }
}

void bd_synth_camera_expose(const struct bd_synth_camera *camera, struct bd_frame *picture,
                            struct bd_frame *truth)
{
    struct tent across = make_tent(camera->at.x), down = make_tent(camera->at.y);
    if (picture)
        take_picture(camera, &across, &down, picture);
    if (truth)
        take_truth(camera, &across, &down, truth);
}
