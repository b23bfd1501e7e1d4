#include "tools/scene_film.h"

#include <stddef.h>

#include "video/output/writer.h"

enum { SEED = 1 };

static enum bd_status open_output(struct bd_writer **writer, const char *path,
                                  const struct bd_synth_scene *scene, enum bd_pixel_format format,
                                  bool lossless)
{
    struct bd_writer_options options = { .width = scene->width,
                                         .height = scene->height,
                                         .format = format,
                                         .time_base = { 1, scene->fps },
                                         .frame_rate = { scene->fps, 1 },
                                         .pixel_aspect = { 1, 1 },
                                         .lossless = lossless,
                                         .overwrite = true };
    return bd_writer_open(writer, path, &options);
}

enum bd_status scene_film_write(const struct bd_synth_scene *scene, const char *pictures,
                                bool lossless, const char *truths)
{
    struct bd_writer *film = NULL, *truth_film = NULL;
    struct bd_frame picture = { 0 }, truth = { 0 };
    enum bd_status status = open_output(&film, pictures, scene, BD_RGB24, lossless);
    if (status == BD_OK)
        status = open_output(&truth_film, truths, scene, BD_GRAY8, true);
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
