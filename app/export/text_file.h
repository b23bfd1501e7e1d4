/* A file of text that takes its name when it is whole (video/output_file.h); or stdout, named "-".
 */
#ifndef BD_APP_EXPORT_TEXT_FILE_H
#define BD_APP_EXPORT_TEXT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "video/output_file.h"

struct bd_text_file {
    FILE *file;
    const char *path;     /* for messages */
    struct bd_part *part; /* NULL: stdout */
    bool keeps_old;       /* see bd_part_close; the owner sets it */
    int error;            /* errno of the first write that failed; 0: none has */
};

/* BD_ERROR_IO, as bd_part_open; BD_ERROR_MEMORY. */
enum bd_status bd_text_file_open(struct bd_text_file *text, const char *path);

/* Hands over what was printed. BD_ERROR_IO where something could not be written, now or before. */
enum bd_status bd_text_file_flush(struct bd_text_file *text);

/* Flushes and closes. `status`: that of what was printed last, which is returned where it is a
 * failure; a failed or `keeps_old` file keeps the name of a part. Of an `empty` one nothing is
 * left.
 */
enum bd_status bd_text_file_close(struct bd_text_file *text, enum bd_status status, bool empty);

#endif
