#include "video/output/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum bd_status bd_output_fail(const char *path, int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return bd_fail(BD_ERROR_IO, "%s: no space left on the device", path);
    case EEXIST:
        return bd_fail(BD_ERROR_IO, "%s: the file exists already; -y replaces it", path);
    case EISDIR:
        return bd_fail(BD_ERROR_IO, "%s: is a folder; a file name is wanted", path);
    case EACCES:
    case EPERM:
    case EROFS:
        return bd_fail(BD_ERROR_IO, "%s: no permission to write it", path);
    default:
        return bd_fail(BD_ERROR_IO, "%s: cannot be written: %s", path, strerror(error));
    }
}

static enum bd_status check_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = !slash          ? strdup(".")
                   : slash == path ? strdup("/")
                                   : strndup(path, (size_t)(slash - path));
    if (!folder)
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory", path);
    struct stat about;
    enum bd_status status = BD_OK;
    if (stat(folder, &about) != 0)
        status = bd_fail(BD_ERROR_IO, "%s: its folder cannot be used: %s", path, strerror(errno));
    else if (!S_ISDIR(about.st_mode))
        status = bd_fail(BD_ERROR_IO, "%s: %s is not a folder", path, folder);
    else if (access(folder, W_OK | X_OK) != 0)
        status = bd_output_fail(path, errno);
    free(folder);
    return status;
}

enum bd_status bd_output_check(const char *path, bool overwrite)
{
    struct stat about;
    if (!path[0])
        return bd_fail(BD_ERROR_IO, "the name of an output is empty");
    if (stat(path, &about) != 0)
        return errno == ENOENT ? check_folder(path) : bd_output_fail(path, errno);
    if (S_ISDIR(about.st_mode))
        return bd_output_fail(path, EISDIR);
    if (S_ISREG(about.st_mode) && !overwrite)
        return bd_output_fail(path, EEXIST);
    return access(path, W_OK) == 0 ? BD_OK : bd_output_fail(path, errno);
}

static int write_all(int file, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t done = write(file, data, size);
        if (done < 0 && errno != EINTR)
            return errno;
        if (done > 0) {
            data += done;
            size -= (size_t)done;
        }
    }
    return 0;
}

enum bd_status bd_output_write(const char *path, const void *data, size_t size, bool overwrite)
{
    enum bd_status status = bd_output_check(path, overwrite);
    if (status != BD_OK)
        return status;
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return bd_output_fail(path, errno);
    int error = write_all(file, data, size);
    if (close(file) != 0 && !error)
        error = errno;
    if (!error)
        return BD_OK;
    bd_output_discard(path);
    return bd_output_fail(path, error);
}

void bd_output_discard(const char *path)
{
    struct stat about;
    if (lstat(path, &about) == 0 && S_ISREG(about.st_mode))
        unlink(path);
}
