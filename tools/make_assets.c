/* Renders the demo clip and its truth: make_assets FOLDER writes FOLDER/street.mp4 and
 * FOLDER/street-truth.mkv. The committed ones were made by `make_assets assets`. */
#include <stdio.h>

#include "tools/scene_film.h"

int main(int argc, char **argv)
{
    char film[4096], truth[4096];
    if (argc != 2) {
        fprintf(stderr, "usage: make_assets FOLDER\n");
        return 1;
    }
    snprintf(film, sizeof film, "%s/street.mp4", argv[1]);
    snprintf(truth, sizeof truth, "%s/street-truth.mkv", argv[1]);
    if (scene_film_write(bd_synth_find("street"), film, false, truth) != BD_OK) {
        fprintf(stderr, "make_assets: %s\n", bd_error_detail());
        return 1;
    }
    return 0;
}
