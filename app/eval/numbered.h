/* Folders of pictures whose names are numbered: in000001.jpg, in000002.jpg, … */
#ifndef BD_APP_EVAL_NUMBERED_H
#define BD_APP_EVAL_NUMBERED_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <backdrop/status.h>

struct bd_numbered {
    char pattern[PATH_MAX]; /* as FFmpeg takes it: FOLDER/in%06d.jpg; a literal % is doubled */
    int64_t first, last;    /* numbers in the names */
    int64_t count;          /* pictures, last - first + 1 unless some are missing */
};

/* Whether FOLDER/NAME is a folder; `path`, of PATH_MAX bytes, becomes as much of it as fits. */
bool bd_subfolder(char *path, const char *folder, const char *name);

/* Finds the numbered pictures in FOLDER, with any prefix, number of digits and extension of a
 * picture. Of several kinds (in000001.jpg, thumb000001.png) it takes the one with most files;
 * hidden files and other files are ignored. BD_ERROR_IO, BD_ERROR_FORMAT if there are none,
 * BD_ERROR_MEMORY. */
enum bd_status bd_numbered_find(struct bd_numbered *numbered, const char *folder);

/* The path of picture `number`; `path` has PATH_MAX bytes. */
void bd_numbered_path(const struct bd_numbered *numbered, int64_t number, char *path);

/* The first number after `first` for which there is no picture. */
int64_t bd_numbered_gap(const struct bd_numbered *numbered);

#endif
