/* Renders the demo clip and its truth: make_assets FOLDER writes FOLDER/street.mp4 and
 * FOLDER/street-truth.mkv. The committed ones were made by `make_assets assets`. */
#include <stdio.h>

#include "video/output/writer.h"
#include "video/synth/synth.h"
#include <backdrop/status.h>

enum { SEED = 1 };

static enum bd_status open_output(struct bd_writer **writer, const char *folder, const char *name,
                                  const struct bd_synth_scene *scene, enum bd_pixel_format format)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    struct bd_writer_options options = { .width = scene->width,
                                         .height = scene->height,
                                         .format = format,
                                         .time_base = { 1, scene->fps },
                                         .frame_rate = { scene->fps, 1 },
                                         .pixel_aspect = { 1, 1 },
                                         .lossless = format == BD_GRAY8,
                                         .overwrite = true };
    return bd_writer_open(writer, path, &options);
}

static enum bd_status make(const char *folder)
{
    const struct bd_synth_scene *scene = bd_synth_find("street");
    struct bd_writer *film = NULL, *truth_film = NULL;
    struct bd_frame picture = { 0 }, truth = { 0 };
    enum bd_status status = open_output(&film, folder, "street.mp4", scene, BD_RGB24);
    if (status == BD_OK)
        status = open_output(&truth_film, folder, "street-truth.mkv", scene, BD_GRAY8);
    for (int i = 0; status == BD_OK && i < scene->frame_count; i++) {
        status = bd_synth_render(scene, 0, 0, SEED, i, &picture, &truth);
        if (status == BD_OK)
            status = bd_writer_write(film, &picture);
        if (status == BD_OK)
            status = bd_writer_write(truth_film, &truth);
    }
    enum bd_status closed = bd_writer_close(&film), truth_closed = bd_writer_close(&truth_film);
    bd_frame_destroy(&picture);
    bd_frame_destroy(&truth);
    return status != BD_OK ? status : closed != BD_OK ? closed : truth_closed;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_assets FOLDER\n");
        return 1;
    }
    if (make(argv[1]) != BD_OK) {
        fprintf(stderr, "make_assets: %s\n", bd_error_detail());
        return 1;
    }
    return 0;
}
