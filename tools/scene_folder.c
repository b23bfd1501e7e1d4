/* Writes a rendered scene as a sequence in the layout of CDnet: scene_folder NAME FOLDER makes
 * FOLDER/input/in000001.png and FOLDER/groundtruth/gt000001.png and so on. FOLDER must be there. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "video/output/writer.h"
#include "video/synth/synth.h"
#include <backdrop/status.h>

enum { SEED = 1 };

static enum bd_status open_output(struct bd_writer **writer, const char *folder, const char *room,
                                  const char *prefix, const struct bd_synth_scene *scene,
                                  enum bd_pixel_format format)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, room);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return bd_fail(BD_ERROR_IO, "cannot make the folder %s: %s", path, strerror(errno));
    snprintf(path, sizeof path, "%s/%s/%s%%06d.png", folder, room, prefix);
    struct bd_writer_options options = { .width = scene->width,
                                         .height = scene->height,
                                         .format = format,
                                         .time_base = { 1, scene->fps },
                                         .frame_rate = { scene->fps, 1 },
                                         .pixel_aspect = { 1, 1 },
                                         .lossless = true,
                                         .overwrite = true };
    return bd_writer_open(writer, path, &options);
}

static enum bd_status make(const struct bd_synth_scene *scene, const char *folder)
{
    struct bd_writer *pictures = NULL, *truths = NULL;
    struct bd_frame picture = { 0 }, truth = { 0 };
    enum bd_status status = open_output(&pictures, folder, "input", "in", scene, BD_RGB24);
    if (status == BD_OK)
        status = open_output(&truths, folder, "groundtruth", "gt", scene, BD_GRAY8);
    for (int i = 0; status == BD_OK && i < scene->frame_count; i++) {
        status = bd_synth_render(scene, 0, 0, SEED, i, &picture, &truth);
        if (status == BD_OK)
            status = bd_writer_write(pictures, &picture);
        if (status == BD_OK)
            status = bd_writer_write(truths, &truth);
    }
    enum bd_status closed = bd_writer_close(&pictures), truths_closed = bd_writer_close(&truths);
    bd_frame_destroy(&picture);
    bd_frame_destroy(&truth);
    return status != BD_OK ? status : closed != BD_OK ? closed : truths_closed;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: scene_folder NAME FOLDER\n");
        return 1;
    }
    const struct bd_synth_scene *scene = bd_synth_find(argv[1]);
    if (!scene) {
        fprintf(stderr, "scene_folder: no scene '%s'; backdrop info lists them\n", argv[1]);
        return 1;
    }
    if (make(scene, argv[2]) != BD_OK) {
        fprintf(stderr, "scene_folder: %s\n", bd_error_detail());
        return 1;
    }
    return 0;
}
