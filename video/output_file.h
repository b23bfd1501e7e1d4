/* Output files: checks with error lines for users, and files that take their name when they are
 * whole. */
#ifndef BD_VIDEO_OUTPUT_FILE_H
#define BD_VIDEO_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <backdrop/status.h>

/* Whether `path` could be written: BD_ERROR_IO if its folder is missing or refuses, if it is a
 * folder, or if it exists and `overwrite` is false (devices and pipes may exist). */
enum bd_status bd_output_check(const char *path, bool overwrite);

/* Makes the folder `path` if it is missing. BD_ERROR_IO if it is a file, if its own folder is
 * missing, or if no file can be made in it. */
enum bd_status bd_output_folder(const char *path);

/* Records why writing `path` failed with this errno, and returns BD_ERROR_IO. */
enum bd_status bd_output_fail(const char *path, int error);

/* Writes a whole file, or nothing. Errors as bd_part_open, and a full disk. */
enum bd_status bd_output_write(const char *path, const void *data, size_t size, bool overwrite);

/* The same for what `print` writes to the stream; `user` is handed on to it. */
enum bd_status bd_output_print(const char *path, void (*print)(FILE *file, const void *user),
                               const void *user, bool overwrite);

/* A file that is written under another name (PATH.part) and takes its own when it is whole: what
 * was there before stays until then, and what a program that was killed has written is found there.
 * Devices, and files in folders that take no new ones, are written directly. */
struct bd_part;

enum bd_part_end {
    BD_PART_WHOLE,  /* takes the place of what was there */
    BD_PART_BROKEN, /* writing failed: keeps what was written, and what was there before */
    BD_PART_KEPT,   /* the same, but it never takes the place: it stays PATH.part */
    BD_PART_NONE    /* nothing is left of it */
};

/* Creates the file, empty. Errors as bd_output_check, and BD_ERROR_IO if another program is writing
 * to the same path. */
enum bd_status bd_part_open(struct bd_part **part, const char *path, bool overwrite);

/* The path that was asked for, for messages; it lives as long as the part. */
const char *bd_part_path(const struct bd_part *part);

/* The name to write to. */
const char *bd_part_name(const struct bd_part *part);

/* Whether that is the file itself. */
bool bd_part_is_direct(const struct bd_part *part);

/* Writes the whole content. */
enum bd_status bd_part_write(const struct bd_part *part, const void *data, size_t size);

/* Takes the file `name` in place of what was written so far; not if the part is direct. */
enum bd_status bd_part_substitute(struct bd_part *part, const char *name);

/* Ends it and nulls. BD_ERROR_IO if the file cannot take its name. Safe on NULL. */
enum bd_status bd_part_close(struct bd_part **part, enum bd_part_end end);

#endif
