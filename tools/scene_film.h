/* A rendered scene and its truth, written as two films or numbered pictures: for programs that make
 * them from the command line. */
#ifndef BD_TOOLS_SCENE_FILM_H
#define BD_TOOLS_SCENE_FILM_H

#include <stdbool.h>

#include "video/synth/synth.h"
#include <backdrop/status.h>

/* All frames of the scene go to `pictures`, their truth to `truths` (lossless): paths that a writer
 * takes, replaced if they are there. The errors are those of rendering and of the writer. */
enum bd_status scene_film_write(const struct bd_synth_scene *scene, const char *pictures,
                                bool lossless, const char *truths);

#endif
