#include "video/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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

enum bd_status bd_output_folder(const char *path)
{
    struct stat about;
    if (mkdir(path, 0777) == 0)
        return BD_OK;
    int error = errno;
    if (stat(path, &about) != 0)
        return error == ENOENT
                   ? bd_fail(BD_ERROR_IO, "%s: the folder that it is in is missing", path)
                   : bd_output_fail(path, error);
    if (!S_ISDIR(about.st_mode))
        return bd_fail(BD_ERROR_IO, "%s: is a file; a folder is wanted", path);
    return access(path, W_OK | X_OK) == 0 ? BD_OK : bd_output_fail(path, errno);
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
    struct bd_part *part;
    enum bd_status status = bd_part_open(&part, path, overwrite);
    if (status != BD_OK)
        return status;
    status = bd_part_write(part, data, size);
    enum bd_status closed = bd_part_close(&part, status == BD_OK ? BD_PART_WHOLE : BD_PART_NONE);
    return status != BD_OK ? status : closed;
}

struct bd_part {
    char *path;   /* as asked for */
    char *target; /* the same without symbolic links */
    char *name;   /* that is written to; `target` itself if it is written directly */
    char *whole;  /* takes the place of `name`; NULL: `name` itself */
    int lock;     /* of `name`; -1: none */
    bool direct, overwrite;
};

static void free_part(struct bd_part *part)
{
    if (part->lock >= 0)
        close(part->lock);
    free(part->path);
    free(part->target);
    free(part->name);
    free(part->whole);
    free(part);
}

/* Whether two programs that open the name at the same time have the same file: another one may have
 * renamed it since. */
static bool still_there(int file, const char *name)
{
    struct stat opened, named;
    return fstat(file, &opened) == 0 && stat(name, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

/* Gives a file the permissions of another. Not every file system has them. */
static void keep_mode(int file, const struct stat *of)
{
    if (fchmod(file, of->st_mode & 0777) != 0)
        bd_log(BD_LOG_DEBUG, "the permissions of an output are not kept: %s", strerror(errno));
}

/* Creates and locks `name`; 0 or an errno, EWOULDBLOCK if another program has it. */
static int create_locked(struct bd_part *part)
{
    for (;;) {
        part->lock = open(part->name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (part->lock < 0)
            return errno;
        /* Any other failure is a file system without locks. */
        if (flock(part->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
            return errno;
        if (still_there(part->lock, part->name))
            break;
        close(part->lock);
    }
    struct stat about;
    const off_t rest = fstat(part->lock, &about) == 0 ? about.st_size : -1;
    if (rest > 0)
        bd_log(BD_LOG_WARNING, "%s: the rest of a run that was killed is replaced", part->name);
    if (stat(part->target, &about) == 0)
        keep_mode(part->lock, &about);
    if (ftruncate(part->lock, 0) == 0)
        return 0;
    int error = errno;
    if (rest == 0)
        unlink(part->name);
    return error;
}

enum bd_status bd_part_open(struct bd_part **part, const char *path, bool overwrite)
{
    struct stat about;
    *part = NULL;
    enum bd_status status = bd_output_check(path, overwrite);
    if (status != BD_OK)
        return status;
    bool there = stat(path, &about) == 0;
    struct bd_part *p = calloc(1, sizeof *p);
    if (!p)
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory to write it", path);
    p->lock = -1;
    p->overwrite = overwrite;
    p->direct = there && !S_ISREG(about.st_mode);
    p->path = strdup(path);
    p->target = there && !p->direct ? realpath(path, NULL) : strdup(path);
    if (!p->path || !p->target || asprintf(&p->name, "%s.part", p->target) < 0) {
        free_part(p);
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory to write it", path);
    }
    int error = p->direct ? 0 : create_locked(p);
    if (error == EWOULDBLOCK) {
        status = bd_fail(BD_ERROR_IO, "%s: another program is writing it", path);
    } else if (there && (error == EACCES || error == EROFS || error == ENAMETOOLONG)) {
        p->direct = true;
    } else if (error) {
        status = bd_output_fail(path, error);
    }
    if (status != BD_OK) {
        free_part(p);
        return status;
    }
    if (p->direct)
        p->name[strlen(p->target)] = 0; /* without ".part" */
    *part = p;
    return BD_OK;
}

enum bd_status bd_output_print(const char *path, void (*print)(FILE *file, const void *user),
                               const void *user, bool overwrite)
{
    struct bd_part *part = NULL;
    enum bd_status status = bd_part_open(&part, path, overwrite);
    FILE *file = status ? NULL : fopen(bd_part_name(part), "w");
    if (file) {
        print(file, user);
        bool failed = fflush(file) || ferror(file);
        failed = fclose(file) || failed;
        status = failed ? bd_output_fail(path, errno) : BD_OK;
    } else if (!status) {
        status = bd_output_fail(path, errno);
    }
    enum bd_status closed = bd_part_close(&part, status ? BD_PART_NONE : BD_PART_WHOLE);
    return status ? status : closed;
}

const char *bd_part_path(const struct bd_part *part)
{
    return part->path;
}

const char *bd_part_name(const struct bd_part *part)
{
    return part->name;
}

bool bd_part_is_direct(const struct bd_part *part)
{
    return part->direct;
}

enum bd_status bd_part_write(const struct bd_part *part, const void *data, size_t size)
{
    int file = open(part->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return bd_output_fail(part->path, errno);
    int error = write_all(file, data, size);
    if (close(file) != 0 && !error)
        error = errno;
    return error ? bd_output_fail(part->path, error) : BD_OK;
}

enum bd_status bd_part_substitute(struct bd_part *part, const char *name)
{
    struct stat about;
    int file = open(name, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return bd_output_fail(part->path, errno);
    if (fstat(part->lock, &about) == 0)
        keep_mode(file, &about);
    close(file);
    free(part->whole);
    part->whole = strdup(name);
    return part->whole ? BD_OK : bd_fail(BD_ERROR_MEMORY, "%s: no memory to write it", part->path);
}

/* Leaves what was written under the name that it is written under, and says why. */
static void keep_part(const struct bd_part *part, const char *why)
{
    if (part->whole && rename(part->whole, part->name) != 0)
        unlink(part->whole); /* the same is in `name` */
    bd_log(BD_LOG_WARNING, "%s: %s; what was written is in %s", part->path, why, part->name);
}

/* Gives the file its name. */
static enum bd_status take_name(struct bd_part *part, enum bd_part_end end)
{
    bool there = access(part->target, F_OK) == 0;
    if (end == BD_PART_KEPT || (end == BD_PART_BROKEN && there)) {
        keep_part(part, end == BD_PART_KEPT ? "is not whole" : "the old file stays");
        return BD_OK;
    }
    if (there && !part->overwrite)
        return bd_fail(BD_ERROR_IO, "%s: exists now; what was written is in %s", part->path,
                       part->name);
    if (rename(part->whole ? part->whole : part->name, part->target) != 0)
        return bd_fail(BD_ERROR_IO, "%s: cannot take its name: %s; what was written is in %s",
                       part->path, strerror(errno), part->name);
    if (part->whole)
        unlink(part->name);
    return BD_OK;
}

enum bd_status bd_part_close(struct bd_part **part, enum bd_part_end end)
{
    struct bd_part *p = *part;
    enum bd_status status = BD_OK;
    if (!p)
        return BD_OK;
    if (!p->direct && end == BD_PART_NONE)
        unlink(p->name);
    else if (!p->direct)
        status = take_name(p, end);
    if (status != BD_OK && p->whole)
        unlink(p->whole); /* the same is in `name`, which the line names */
    free_part(p);
    *part = NULL;
    return status;
}
