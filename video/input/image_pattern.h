/* printf-like names of image sequences (in%06d.jpg). */
#ifndef BD_VIDEO_INPUT_IMAGE_PATTERN_H
#define BD_VIDEO_INPUT_IMAGE_PATTERN_H

#include <stdbool.h>

#include <backdrop/status.h>

/* Whether `path` holds a conversion as %d, %6d or %06d. */
bool bd_image_pattern_is(const char *path);

/* Whether `path` is the name of one of its pictures, there or not. */
bool bd_image_pattern_holds(const char *pattern, const char *path);

/* Whether two patterns can give the same name, each with a number of its own: they may count with
 * different widths. It says so too of some that only differ by zeros before the number. */
bool bd_image_patterns_meet(const char *a, const char *b);

/* Finds the smallest number for which a file of that name exists, and how many files of the pattern
 * lie beyond the first gap in the numbers (0: none). BD_ERROR_IO if the folder cannot be read or no
 * file matches, BD_ERROR_ARGUMENT if the folder's part of the path holds the conversion. */
enum bd_status bd_image_pattern_find(const char *path, int *first, int *beyond_gap);

#endif
