/* Frames of a rendered scene, for the suites that need video without a decoder. */
#ifndef BD_APP_BENCH_SCENE_H
#define BD_APP_BENCH_SCENE_H

#include <stdint.h>

#include <backdrop/status.h>

struct bd_bench_scene {
    int width, height;
    int channels; /* 1: brightness, 3: RGB */
    int first;    /* frame of the scene */
    int count;
    int threads; /* that render */
};

/* Renders frames first .. first + count - 1 of the scene "street" as tight pictures, one after the
 * other: width x height x channels bytes each. The caller frees *pictures. */
enum bd_status bd_bench_render(uint8_t **pictures, const struct bd_bench_scene *scene);

#endif
