/* Private: checks of output files, with error lines for users, and writing of whole small files. */
#ifndef BD_VIDEO_OUTPUT_OUTPUT_FILE_H
#define BD_VIDEO_OUTPUT_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include <backdrop/status.h>

/* Whether `path` could be written: BD_ERROR_IO if its folder is missing or refuses, if it is a
 * folder, or if it exists and `overwrite` is false (devices and pipes may exist). */
enum bd_status bd_output_check(const char *path, bool overwrite);

/* Records why writing `path` failed with this errno, and returns BD_ERROR_IO. */
enum bd_status bd_output_fail(const char *path, int error);

/* Writes a whole file. A failure leaves nothing behind. Errors as bd_output_check, and a full disk.
 */
enum bd_status bd_output_write(const char *path, const void *data, size_t size, bool overwrite);

/* Deletes the rest of an output that failed, if it is an ordinary file. */
void bd_output_discard(const char *path);

#endif
