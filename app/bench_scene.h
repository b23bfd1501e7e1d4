/* Frames of a rendered scene, for the suites that need video without a decoder. */
#ifndef BD_APP_BENCH_SCENE_H
#define BD_APP_BENCH_SCENE_H

#include "base/status.h"

#include <stdint.h>

/* Renders frames 0..count-1 of the scene "street" as `count` tight pictures, one after the other:
 * width x height x channels bytes each (1: brightness, 3: RGB). The caller frees *pictures. */
enum bd_status bd_bench_render(uint8_t **pictures, int width, int height, int channels, int count);

#endif
