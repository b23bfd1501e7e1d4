/* How the files of --clips are called: FOLDER/INPUT.0001.mp4 and FOLDER/INPUT.0001.jpg. */
#ifndef BD_APP_EXPORT_CLIPS_NAMES_H
#define BD_APP_EXPORT_CLIPS_NAMES_H

#include <limits.h>

#include "app/options.h"

enum { bd_clip_stem_size = 128 };

/* INPUT without folders and extension: of a file its name, of a camera that of its device, of a
 * stream the last part of its address; "stdin", the name of a scene. What is left is never empty
 * and has nothing that a folder or a pattern of pictures could be read from. */
void bd_clip_stem(char stem[bd_clip_stem_size], const char *input);

/* The stem of the clips of an export: options->name, or that of its input. */
void bd_clip_own_stem(char stem[bd_clip_stem_size], const struct bd_options *options);

/* The file of an event. `extension` has no dot. */
void bd_clip_path(char path[PATH_MAX], const char *folder, const char *stem, int64_t number,
                  const char *extension);

/* Whether the folder has a file with the name of a clip of this input, of any number and extension,
 * that `wants` accepts. `path` is then one of them. */
bool bd_clip_find(char path[PATH_MAX], const char *folder, const char *stem,
                  bool (*wants)(const void *user, const char *path), const void *user);

/* Whether it has any. */
bool bd_clip_exists(char path[PATH_MAX], const char *folder, const char *stem);

#endif
