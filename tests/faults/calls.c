/* The functions of the C library that the program calls and that can fail (wrap.h). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/faults/wrap.h"

/* --- memory and threads --- */

/* clang-format off */
CALL(void *, malloc, (size_t size), (size), ENOMEM, NULL)
CALL(void *, calloc, (size_t count, size_t size), (count, size), ENOMEM, NULL)
CALL(void *, realloc, (void *old, size_t size), (old, size), ENOMEM, NULL)
CALL(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size), ENOMEM, NULL)
CALL(void *, mmap, (void *at, size_t size, int access, int flags, int file, off_t offset),
     (at, size, access, flags, file, offset), ENOMEM, MAP_FAILED)
CALL(char *, strdup, (const char *text), (text), ENOMEM, NULL)
CALL(char *, strndup, (const char *text, size_t size), (text, size), ENOMEM, NULL)
CALL(FILE *, open_memstream, (char **text, size_t *size), (text, size), ENOMEM, NULL)
CALL(int, pthread_create,
     (pthread_t *thread, const pthread_attr_t *about, void *(*run)(void *), void *user),
     (thread, about, run, user), EAGAIN, EAGAIN)
/* clang-format on */

#define PRINTED(name, parameters)                   \
    WRAP(int, name, parameters)                     \
    {                                               \
        va_list list;                               \
        if (inject(#name, CALLER, ENOMEM, false))   \
            return -1;                              \
        va_start(list, format);                     \
        int length = vasprintf(text, format, list); \
        va_end(list);                               \
        return length;                              \
    }

/* The second is its name where the C library checks the arguments. */
PRINTED(asprintf, (char **text, const char *format, ...))
PRINTED(__asprintf_chk, (char **text, __attribute__((unused)) int flag, const char *format, ...))

/* --- files --- */

/* clang-format off */
CALL(int, access, (const char *path, int mode), (path, mode), EIO, -1)
CALL(int, stat, (const char *path, struct stat *about), (path, about), EIO, -1)
CALL(int, fstat, (int file, struct stat *about), (file, about), EIO, -1)
CALL(int, fchmod, (int file, mode_t mode), (file, mode), EIO, -1)
CALL(int, ftruncate, (int file, off_t size), (file, size), EIO, -1)
CALL(int, rename, (const char *from, const char *to), (from, to), EIO, -1)
CALL(int, unlink, (const char *path), (path), EIO, -1)
CALL(int, mkdir, (const char *path, mode_t mode), (path, mode), ENOSPC, -1)
CALL(int, flock, (int file, int how), (file, how), EIO, -1)
CALL(int, poll, (struct pollfd *files, nfds_t count, int wait), (files, count, wait), ENOMEM, -1)
CALL(char *, realpath, (const char *path, char *real), (path, real), EIO, NULL)
CALL(FILE *, fopen, (const char *path, const char *mode), (path, mode), EIO, NULL)
CALL(DIR *, opendir, (const char *path), (path), EIO, NULL)
CALL(struct dirent *, readdir, (DIR *folder), (folder), EIO, NULL)
CALL(int, scandir,
     (const char *path, struct dirent ***entries, int (*choose)(const struct dirent *),
      int (*order)(const struct dirent **, const struct dirent **)),
     (path, entries, choose, order), EIO, -1)
LATE(int, close, (int file), (file), EIO, -1)
LATE(int, fclose, (FILE *file), (file), ENOSPC, EOF)
/* clang-format on */

WRAP(int, open, (const char *path, int flags, ...))
{
    va_list list;
    va_start(list, flags);
    mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    va_end(list);
    return inject("open", CALLER, EIO, false) ? -1 : __real_open(path, flags, mode);
}

/* These three serve libavformat too: it finds them in the program before the C library. */
ssize_t read(int file, void *data, size_t size)
{
    return inject("read", CALLER, EIO, true) ? -1 : syscall(SYS_read, file, data, size);
}

ssize_t write(int file, const void *data, size_t size)
{
    return inject("write", CALLER, ENOSPC, true) ? -1 : syscall(SYS_write, file, data, size);
}

/* Of a file that is written, only the seek at its opening fails: libavformat does not look at the
 * others, and on an ordinary file Linux refuses none. */
off64_t lseek64(int file, off64_t offset, int from)
{
    bool opening = offset == 0 && from == SEEK_SET;
    bool counts = opening || (fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY;
    return counts && inject("lseek", CALLER, EIO, true) ? -1
                                                        : syscall(SYS_lseek, file, offset, from);
}

/* --- streams: their error stays with them, as in the C library --- */

#define STREAM(name, type, parameters, arguments, failure) \
    WRAP(type, name, parameters)                           \
    {                                                      \
        if (spoil(#name, CALLER, stream))                  \
            return failure;                                \
        return __real_##name arguments;                    \
    }

/* To read from what is written, and the reverse, is an error that the C library keeps. Messages are
 * left alone. */
int __real_fputc(int byte, FILE *stream);
static bool spoil(const char *name, const void *caller, FILE *stream)
{
    if (stream == stderr || !inject(name, caller, 0, true))
        return false;
    if (__fwritable(stream))
        fgetc(stream);
    else
        __real_fputc(0, stream);
    errno = __fwritable(stream) ? ENOSPC : EIO;
    return true;
}

/* clang-format off */
STREAM(fgets, char *, (char *text, int size, FILE *stream), (text, size, stream), NULL)
STREAM(__fgets_chk, char *, (char *text, size_t room, int size, FILE *stream),
       (text, room, size, stream), NULL)
STREAM(fputs, int, (const char *text, FILE *stream), (text, stream), EOF)
STREAM(fputc, int, (int byte, FILE *stream), (byte, stream), EOF)
STREAM(putc, int, (int byte, FILE *stream), (byte, stream), EOF)
STREAM(fwrite, size_t, (const void *data, size_t size, size_t count, FILE *stream),
       (data, size, count, stream), 0)
STREAM(fflush, int, (FILE *stream), (stream), EOF)
/* clang-format on */

/* The names of printf and its like where the C library checks their arguments, and where not. */
#define FORMATTED(name, to, parameters)          \
    WRAP(int, name, parameters)                  \
    {                                            \
        va_list list;                            \
        if (spoil(#name, CALLER, to))            \
            return -1;                           \
        va_start(list, format);                  \
        int result = vfprintf(to, format, list); \
        va_end(list);                            \
        return result;                           \
    }

/* clang-format off */
FORMATTED(printf, stdout, (const char *format, ...))
FORMATTED(__printf_chk, stdout, (__attribute__((unused)) int flag, const char *format, ...))
FORMATTED(fprintf, stream, (FILE *stream, const char *format, ...))
FORMATTED(__fprintf_chk, stream, (FILE *stream, __attribute__((unused)) int flag, const char *format, ...))
/* clang-format on */

WRAP(int, puts, (const char *text))
{
    return spoil("puts", CALLER, stdout) ? EOF : __real_puts(text);
}
