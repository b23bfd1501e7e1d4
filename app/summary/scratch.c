#include "app/summary/scratch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *folder_of(const char *path)
{
    const char *given = getenv("TMPDIR");
    const char *slash = strrchr(path, '/');
    if (given && *given)
        return strdup(given);
    return !slash          ? strdup(".")
           : slash == path ? strdup("/")
                           : strndup(path, (size_t)(slash - path));
}

/* Records why the temporary file cannot be used, and returns BD_ERROR_IO. */
static enum bd_status fail(const struct bd_scratch *scratch, int error)
{
    if (error == ENOSPC || error == EDQUOT || error == EFBIG)
        return bd_fail(
            BD_ERROR_IO,
            "%s: no space left for its temporary file in %s; TMPDIR names another folder",
            scratch->path, scratch->folder);
    return bd_fail(BD_ERROR_IO, "%s: its temporary file in %s: %s; TMPDIR names another folder",
                   scratch->path, scratch->folder, strerror(error));
}

enum bd_status bd_scratch_open(struct bd_scratch *scratch, const char *path)
{
    char *name = NULL;
    enum bd_status status = BD_OK;
    *scratch = (struct bd_scratch){ .file = -1, .folder = folder_of(path), .path = path };
    if (!scratch->folder || asprintf(&name, "%s/.backdrop-XXXXXX", scratch->folder) < 0) {
        bd_scratch_close(scratch);
        return bd_fail(BD_ERROR_MEMORY, "out of memory for a temporary file");
    }
    scratch->file = mkstemp(name);
    if (scratch->file < 0 || unlink(name) != 0) {
        status = fail(scratch, errno);
        bd_scratch_close(scratch);
    }
    free(name);
    return status;
}

static enum bd_status write_at(const struct bd_scratch *scratch, int64_t offset, const void *data,
                               size_t size)
{
    const char *bytes = data;
    while (size > 0) {
        ssize_t done = pwrite(scratch->file, bytes, size, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return fail(scratch, done < 0 ? errno : ENOSPC);
        bytes += done;
        offset += done;
        size -= (size_t)done;
    }
    return BD_OK;
}

enum bd_status bd_scratch_append(struct bd_scratch *scratch, const void *data, size_t size,
                                 int64_t *offset)
{
    enum bd_status status = write_at(scratch, scratch->size, data, size);
    if (status)
        return status;
    if (offset)
        *offset = scratch->size;
    scratch->size += (int64_t)size;
    return BD_OK;
}

enum bd_status bd_scratch_replace(struct bd_scratch *scratch, int64_t offset, const void *data,
                                  size_t size)
{
    return write_at(scratch, offset, data, size);
}

enum bd_status bd_scratch_read(const struct bd_scratch *scratch, int64_t offset, void *data,
                               size_t size)
{
    char *bytes = data;
    while (size > 0) {
        ssize_t done = pread(scratch->file, bytes, size, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return fail(scratch, done < 0 ? errno : EIO);
        bytes += done;
        offset += done;
        size -= (size_t)done;
    }
    return BD_OK;
}

void bd_scratch_close(struct bd_scratch *scratch)
{
    if (scratch->folder && scratch->file >= 0)
        close(scratch->file);
    free(scratch->folder);
    *scratch = (struct bd_scratch){ .file = -1 };
}
