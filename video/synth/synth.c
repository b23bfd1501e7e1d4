#include "video/synth/synth.h"

#include <string.h>

#include "video/synth/paint.h"
#include "video/synth/world.h"

/* clang-format off */
const struct bd_synth_scene bd_synth_scenes[] = {
    { .name = "easy", .description = "people and cars in constant light",
      .width = 320, .height = 240, .frame_count = 400, .fps = 25, .noise = 2.0, .objects = 5 },
    { .name = "shadows", .description = "moving objects with soft shadows",
      .width = 320, .height = 240, .frame_count = 400, .fps = 25, .noise = 2.0, .objects = 5,
      .shadows = true },
    { .name = "drift", .description = "the light changes slowly by a fifth",
      .width = 320, .height = 240, .frame_count = 600, .fps = 25, .noise = 2.0, .objects = 4,
      .light_drift = 0.20 },
    { .name = "sway", .description = "a tree sways in the wind",
      .width = 320, .height = 240, .frame_count = 400, .fps = 25, .noise = 2.0, .objects = 4,
      .sway = true },
    { .name = "noise", .description = "a noisy sensor",
      .width = 320, .height = 240, .frame_count = 400, .fps = 25, .noise = 9.0, .objects = 4 },
    { .name = "stop", .description = "a walker stands still for eight seconds, then goes on",
      .width = 320, .height = 240, .frame_count = 500, .fps = 25, .noise = 2.0, .objects = 4,
      .stop_from = 160, .stop_to = 360 },
    { .name = "switch", .description = "the light changes suddenly",
      .width = 320, .height = 240, .frame_count = 400, .fps = 25, .noise = 2.0, .objects = 4,
      .light_switch = 200 },
    { .name = "street", .description = "a bit of everything: shadows, drift, wind, a stop, noise",
      .width = 480, .height = 270, .frame_count = 300, .fps = 25, .noise = 2.0, .objects = 6,
      .shadows = true, .light_drift = 0.05, .sway = true, .stop_from = 120, .stop_to = 200 },
    { .name = "shake", .description = "the wind shakes the camera by up to six pixels",
      .width = 320, .height = 240, .frame_count = 400, .fps = 25, .noise = 2.0, .objects = 5,
      .shake = 6 },
    { .name = "tree", .description = "a crown in gusts of wind before the camera, rare objects",
      .width = 320, .height = 240, .frame_count = 600, .fps = 25, .noise = 2.0, .objects = 3,
      .place = BD_SYNTH_PARK },
    { .name = "water", .description = "a river with waves and glints, boats and people",
      .width = 320, .height = 240, .frame_count = 600, .fps = 25, .noise = 2.0, .objects = 3,
      .place = BD_SYNTH_RIVER },
    { .name = "rain", .description = "heavy rain on a wet street that mirrors",
      .width = 320, .height = 240, .frame_count = 600, .fps = 25, .noise = 2.0, .objects = 3,
      .sway = true, .rain = true },
    { .name = "night", .description = "head lights on a wet road, a screen, a lamp that flickers",
      .width = 320, .height = 240, .frame_count = 600, .fps = 25, .noise = 5.0, .objects = 4,
      .night = true },
    { .name = "jitter", .description = "a hand-held camera: shifts, rotation and motion blur",
      .width = 320, .height = 240, .frame_count = 600, .fps = 25, .noise = 2.0, .objects = 2,
      .shake = 12, .roll = 1.2, .exposure = 0.5 },
    { .name = "crossing", .description = "people cross each other's ways, near and far",
      .width = 480, .height = 270, .frame_count = 600, .fps = 25, .noise = 2.0, .objects = 6,
      .shadows = true, .crowd = true },
    { .name = "sun", .description = "dark, bluish shadows of the sun",
      .width = 320, .height = 240, .frame_count = 400, .fps = 25, .noise = 2.0, .objects = 5,
      .shadows = true, .sun = true },
    { .name = NULL },
};
/* clang-format on */

const struct bd_synth_scene *bd_synth_find(const char *name)
{
    for (const struct bd_synth_scene *scene = bd_synth_scenes; name && scene->name; scene++)
        if (strcmp(scene->name, name) == 0)
            return scene;
    return NULL;
}

/* Brightness of red, green and blue at a frame, 4096 is unchanged. */
static void light_at(const struct bd_synth_scene *scene, int64_t index, int gain[3])
{
    /* After the switch it is darker and warmer, as when a lamp is left of sun and lamp. */
    static const int switched[3] = { 76, 71, 63 }; /* percent */
    static const int tint[3] = { 100, 100, 70 };   /* percent of the drift that a channel follows */
    int64_t time = index * 65536 / scene->fps;
    int64_t wave = (bd_synth_sin(time / 24) * 3 + bd_synth_sin(time / 9)) / 4; /* 16384 is 1 */
    int64_t drift = (int64_t)(scene->light_drift * 4096 + 0.5) * wave / 16384;
    for (int c = 0; c < 3; c++) {
        int64_t value = 4096 + drift * tint[c] / 100;
        if (scene->light_switch > 0 && index >= scene->light_switch)
            value = value * switched[c] / 100;
        gain[c] = (int)value;
    }
}

/* Applies light and sensor noise. A sample of noise is the sum of four hashed bytes, near enough to
 * a Gaussian: four channels at a time in the 16-bit lanes of one sum. */
static void expose(struct bd_frame *picture, const struct bd_synth_scene *scene, uint64_t seed,
                   int64_t index)
{
    const uint64_t lanes = UINT64_C(0x00ff00ff00ff00ff);
    int gain[3];
    light_at(scene, index, gain);
    /* The sum has mean 510 and standard deviation 147.8; levels have 8 + 8 fractional bits here. */
    int64_t strength = (int64_t)(scene->noise * 65536 / 147.8 + 0.5);
    uint64_t start = bd_synth_mix64(bd_synth_mix64(seed + 1) + (uint64_t)index);
    for (int y = 0; y < picture->height; y++) {
        uint8_t *p = picture->data + y * picture->stride;
        uint64_t counter = start + (uint64_t)y * picture->width * 2;
        for (int x = 0; x < picture->width; x++, p += 3, counter += 2) {
            uint64_t a = bd_synth_mix64(counter * UINT64_C(0x9e3779b97f4a7c15));
            uint64_t b = bd_synth_mix64((counter + 1) * UINT64_C(0x9e3779b97f4a7c15));
            uint64_t sum = (a & lanes) + (a >> 8 & lanes) + (b & lanes) + (b >> 8 & lanes);
            for (int c = 0; c < 3; c++) {
                int64_t noise = ((int64_t)(sum >> 16 * c & 0xffff) - 510) * strength;
                int64_t value = ((int64_t)p[c] * gain[c] * 16 + noise + 32768) >> 16;
                p[c] = bd_synth_byte(value);
            }
        }
    }
}

static enum bd_status prepare(struct bd_frame *frame, int width, int height,
                              enum bd_pixel_format format, int64_t index)
{
    if (!frame)
        return BD_OK;
    enum bd_status status = bd_frame_ensure(frame, width, height, format);
    if (status != BD_OK)
        return status;
    frame->index = index;
    frame->pts = index;
    frame->duration = 1;
    return BD_OK;
}

void bd_synth_paint_scene(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
                          uint32_t seed, int64_t index)
{
    enum { CROWN = 210 /* who stands nearer, units from the top, is before the crown */ };
    bd_synth_paint_world(canvas, scene, seed, index);
    if (scene->place == BD_SYNTH_RIVER)
        bd_synth_paint_river(canvas, scene, seed, index);
    if (scene->rain)
        bd_synth_paint_wet_ground(canvas, scene, seed, index);
    if (scene->place == BD_SYNTH_PARK) {
        bd_synth_paint_actors(canvas, scene, seed, index, 0, CROWN);
        if (!canvas->alone)
            bd_synth_paint_crown(canvas, scene, seed, index);
        bd_synth_paint_actors(canvas, scene, seed, index, CROWN, BD_SYNTH_UNITS);
    } else {
        bd_synth_paint_actors(canvas, scene, seed, index, 0, BD_SYNTH_UNITS);
    }
    if (scene->rain)
        bd_synth_paint_rain(canvas, scene, seed, index);
    if (scene->night)
        bd_synth_paint_night(canvas, scene, seed, index);
}

/* Paints the world and renders it with a shaking camera. */
static enum bd_status render_shaken(const struct bd_synth_canvas *canvas,
                                    const struct bd_synth_scene *scene, uint32_t look,
                                    int64_t index)
{
    struct bd_synth_camera camera;
    enum bd_status status = bd_synth_camera_open(&camera, scene, canvas->width, canvas->height,
                                                 index, canvas->picture, canvas->truth);
    if (status != BD_OK)
        return status;
    camera.canvas.only = canvas->only;
    camera.canvas.alone = canvas->alone;
    bd_synth_paint_scene(&camera.canvas, scene, look, index);
    if (scene->exposure > 0)
        bd_synth_handheld_expose(&camera, scene, index, canvas->picture, canvas->truth);
    else
        bd_synth_camera_expose(&camera, canvas->picture, canvas->truth);
    bd_synth_camera_close(&camera);
    return BD_OK;
}

enum bd_status bd_synth_paint_view(const struct bd_synth_canvas *canvas,
                                   const struct bd_synth_scene *scene, uint32_t seed, int64_t index)
{
    if (scene->shake > 0)
        return render_shaken(canvas, scene, seed, index);
    if (canvas->truth)
        memset(canvas->truth->data, 0, (size_t)(canvas->truth->stride * canvas->height));
    bd_synth_paint_scene(canvas, scene, seed, index);
    return BD_OK;
}

enum bd_status bd_synth_render(const struct bd_synth_scene *scene, int width, int height,
                               uint64_t seed, int64_t index, struct bd_frame *picture,
                               struct bd_frame *truth)
{
    enum { SIDE_MAX = 32768 };
    if (!scene || !scene->name)
        return bd_fail(BD_ERROR_ARGUMENT, "synth: no such scene");
    width = width ? width : scene->width;
    height = height ? height : scene->height;
    if (width < 1 || height < 1 || width > SIDE_MAX || height > SIDE_MAX)
        return bd_fail(BD_ERROR_ARGUMENT, "synth:%s: size %d x %d: sides go from 1 to %d",
                       scene->name, width, height, SIDE_MAX);
    if (index < 0 || index > INT32_MAX)
        return bd_fail(BD_ERROR_ARGUMENT, "synth:%s: frame %lld: frames go from 0 to %d",
                       scene->name, (long long)index, INT32_MAX);
    if (scene->fps < 1 || scene->fps > 1000)
        return bd_fail(BD_ERROR_ARGUMENT, "synth:%s: %d frames/s: it must be 1 to 1000",
                       scene->name, scene->fps);
    enum bd_status status = prepare(picture, width, height, BD_RGB24, index);
    if (status == BD_OK)
        status = prepare(truth, width, height, BD_GRAY8, index);
    if (status != BD_OK)
        return status;

    struct bd_synth_canvas canvas = {
        .picture = picture, .truth = truth, .width = width, .height = height
    };
    status = bd_synth_paint_view(&canvas, scene, bd_synth_look(seed), index);
    if (status != BD_OK)
        return status;
    if (picture)
        expose(picture, scene, seed, index);
    bd_synth_finish_truth(&canvas);
    return BD_OK;
}
