/* Writes a rendered scene as a sequence in the layout of CDnet: scene_folder NAME FOLDER makes
 * FOLDER/input/in000001.png and FOLDER/groundtruth/gt000001.png and so on. FOLDER must be there. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/scene_film.h"

enum { longest = 4096 };

/* path := FOLDER/ROOM/PREFIX%06d.png; makes the room. */
static enum bd_status make_room(char path[longest], const char *folder, const char *room,
                                const char *prefix)
{
    snprintf(path, longest, "%s/%s", folder, room);
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return bd_fail(BD_ERROR_IO, "cannot make the folder %s: %s", path, strerror(errno));
    snprintf(path, longest, "%s/%s/%s%%06d.png", folder, room, prefix);
    return BD_OK;
}

static enum bd_status make(const struct bd_synth_scene *scene, const char *folder)
{
    char pictures[longest], truths[longest];
    enum bd_status status = make_room(pictures, folder, "input", "in");
    if (status == BD_OK)
        status = make_room(truths, folder, "groundtruth", "gt");
    return status == BD_OK ? scene_film_write(scene, pictures, true, truths) : status;
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
