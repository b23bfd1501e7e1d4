/* A camera held by hand: it shifts and rotates while its shutter is open. A picture is the mean of
 * PARTS pictures that are taken one after the other. */
#include "video/synth/world.h"

#include <string.h>

enum { PARTS = 6 };

/* A smooth walk between -16384 and 16384 that changes within 2^shift of time. */
static int wander(int64_t time, int shift, uint32_t seed)
{
    int level = (bd_synth_noise(time, 0, shift, seed) - 128) * 192;
    return level < -16384 ? -16384 : level > 16384 ? 16384 : level;
}

/* Two slow walks, and a tremor that comes and goes; -2^20 to 2^20. */
static int64_t motion(int64_t time, int64_t beat, uint32_t seed)
{
    int64_t strength = bd_synth_noise(time, 0, 16, seed + 2) - 40;
    int64_t tremor = strength > 0 ? bd_synth_sin(beat) * strength / 215 : 0;
    return 24 * wander(time, 15, seed) + 14 * wander(time, 14, seed + 1) + 26 * tremor;
}

struct bd_synth_pose bd_synth_pose(const struct bd_synth_scene *scene, int height, int64_t time)
{
    int64_t reach = (int64_t)(scene->shake * 256 + 0.5) * height / BD_SYNTH_UNITS;
    int64_t roll = (int64_t)(scene->roll * 65536 * 3.14159265 / 180);
    struct bd_synth_pose pose;
    pose.shift.x = (int32_t)(motion(time, time * 11 / 2, 50) * reach >> 20);
    pose.shift.y = (int32_t)(motion(time, time * 13 / 2 + 9000, 53) * reach >> 20);
    pose.roll = (int32_t)(motion(time, time * 5, 56) * roll >> 20);
    return pose;
}

int bd_synth_roll_margin(const struct bd_synth_scene *scene, int width, int height)
{
    return (int)(scene->roll * 3.14159265 / 180 * (width > height ? width : height) / 2);
}

/* Where the camera's pixels lie in the world, pixels/65536: that of pixel (0, 0), and the way from
 * one pixel to the next in its row; that to the next row is at a right angle. */
struct view {
    int64_t x, y, step_x, step_y;
};

static struct view view_of(const struct bd_synth_camera *camera, const struct bd_synth_pose *pose,
                           int part, int width, int height)
{
    /* Places within a pixel, 1/256, so that the parts also soften its edges. */
    static const int inside[PARTS][2] = { { -80, -16 }, { 48, 80 },  { -16, 48 },
                                          { 80, -48 },  { 16, -80 }, { -48, 16 } };
    struct view view;
    int64_t roll = pose->roll;
    view.step_x = 65536 - roll * roll / 131072;
    view.step_y = roll;
    /* The middles of both pictures coincide, but for the shift; a sample is a pixel's middle. */
    int64_t left = -width * INT64_C(128) + 128 + inside[part][0];
    int64_t up = -height * INT64_C(128) + 128 + inside[part][1];
    view.x = ((int64_t)camera->canvas.width * 128 - 128 - pose->shift.x) * 256 +
             (left * view.step_x - up * view.step_y) / 256;
    view.y = ((int64_t)camera->canvas.height * 128 - 128 - pose->shift.y) * 256 +
             (left * view.step_y + up * view.step_x) / 256;
    return view;
}

/* Bilinear sample of `channels` values at a place of the world, added to `sum` with 16 more bits.
 * Of each byte the bits of `mask`, shifted down by `shift`, count. */
static inline void add_sample(int32_t *sum, const struct bd_frame *world, int64_t x, int64_t y,
                              int channels, int shift, int mask)
{
    const uint8_t *p = world->data + (y >> 16) * world->stride + (x >> 16) * channels;
    const uint8_t *q = p + world->stride;
    /* Most of a truth is empty: a frame of it takes 1.2 ms in place of 2.9. */
    if (channels == 1 && !(p[0] | p[1] | q[0] | q[1]))
        return;
    int fx = (int)(x >> 8 & 255), fy = (int)(y >> 8 & 255);
    int right = fx * (256 - fy), below = (256 - fx) * fy, both = fx * fy;
    int here = 65536 - right - below - both;
    for (int c = 0; c < channels; c++)
        sum[c] += (p[c] >> shift & mask) * here + (p[c + channels] >> shift & mask) * right +
                  (q[c] >> shift & mask) * below + (q[c + channels] >> shift & mask) * both;
}

static void take_picture(const struct bd_synth_camera *camera, const struct view *views,
                         struct bd_frame *picture)
{
    for (int y = 0; y < picture->height; y++) {
        uint8_t *out = picture->data + y * picture->stride;
        int64_t samples = 3 * (int64_t)picture->width;
        memset(camera->row, 0, (size_t)samples * sizeof *camera->row);
        for (int k = 0; k < PARTS; k++) {
            int64_t wx = views[k].x - y * views[k].step_y, wy = views[k].y + y * views[k].step_x;
            for (int x = 0; x < picture->width; x++) {
                add_sample(camera->row + 3 * (int64_t)x, &camera->picture, wx, wy, 3, 0, 255);
                wx += views[k].step_x;
                wy += views[k].step_y;
            }
        }
        for (int64_t i = 0; i < samples; i++)
            out[i] = (uint8_t)((camera->row[i] + PARTS * 32768) / (PARTS * 65536));
    }
}

/* Coverage by objects is averaged like light; a pixel is shadow if at least half of it is. */
static void take_truth(const struct bd_synth_camera *camera, const struct view *views,
                       struct bd_frame *truth)
{
    for (int y = 0; y < truth->height; y++) {
        uint8_t *out = truth->data + y * truth->stride;
        for (int x = 0; x < truth->width; x++) {
            int32_t covered = 0, shadow = 0;
            for (int k = 0; k < PARTS; k++) {
                int64_t wx = views[k].x - y * views[k].step_y + x * views[k].step_x;
                int64_t wy = views[k].y + y * views[k].step_x + x * views[k].step_y;
                add_sample(&covered, &camera->truth, wx, wy, 1, 1, 127);
                add_sample(&shadow, &camera->truth, wx, wy, 1, 0, 1);
            }
            out[x] = (uint8_t)((covered + PARTS * 32768) / (PARTS * 65536) << 1 |
                               (shadow >= PARTS * 32768));
        }
    }
}

void bd_synth_handheld_expose(const struct bd_synth_camera *camera,
                              const struct bd_synth_scene *scene, int64_t index,
                              struct bd_frame *picture, struct bd_frame *truth)
{
    const struct bd_frame *any = picture ? picture : truth;
    if (!any)
        return;
    struct view views[PARTS];
    int64_t open = (int64_t)(scene->exposure * 65536 + 0.5) / scene->fps;
    for (int k = 0; k < PARTS; k++) {
        int64_t time = index * 65536 / scene->fps + open * k / PARTS;
        struct bd_synth_pose pose = bd_synth_pose(scene, any->height, time);
        views[k] = view_of(camera, &pose, k, any->width, any->height);
    }
    if (picture)
        take_picture(camera, views, picture);
    if (truth)
        take_truth(camera, views, truth);
}
