#include "video/input/pipe_input.h"

#include <errno.h>
#include <fcntl.h>
#include <libavutil/error.h>
#include <libavutil/mem.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16, POLL_MS = 100 };

struct pipe_input {
    int fd;
    const AVIOInterruptCB *interrupt;
};

static int read_some(void *opaque, uint8_t *data, int size)
{
    struct pipe_input *in = opaque;
    for (;;) {
        if (in->interrupt->callback && in->interrupt->callback(in->interrupt->opaque))
            return AVERROR_EXIT;
        struct pollfd waiting = { .fd = in->fd, .events = POLLIN };
        int ready = poll(&waiting, 1, POLL_MS);
        if (ready == 0 || (ready < 0 && errno == EINTR))
            continue;
        if (ready < 0)
            return AVERROR(errno);
        ssize_t got = read(in->fd, data, (size_t)size);
        if (got > 0)
            return (int)got;
        if (got == 0)
            return AVERROR_EOF;
        if (errno != EINTR && errno != EAGAIN)
            return AVERROR(errno);
    }
}

enum bd_status bd_pipe_input_open(AVIOContext **io, const char *path,
                                  const AVIOInterruptCB *interrupt)
{
    *io = NULL;
    /* Without O_NONBLOCK opening a named pipe would wait for its writer and could not be
     * interrupted. */
    int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return bd_fail(BD_ERROR_IO, "cannot open '%s': %s", path, strerror(errno));
    struct pipe_input *in = malloc(sizeof *in);
    uint8_t *buffer = av_malloc(BUFFER_BYTES);
    if (in && buffer) {
        *in = (struct pipe_input){ fd, interrupt };
        *io = avio_alloc_context(buffer, BUFFER_BYTES, 0, in, read_some, NULL, NULL);
    }
    if (!*io) {
        av_free(buffer);
        free(in);
        if (fd != STDIN_FILENO)
            close(fd);
        return bd_fail(BD_ERROR_MEMORY, "no memory to read '%s'", path);
    }
    return BD_OK;
}

void bd_pipe_input_close(AVIOContext **io)
{
    if (!*io)
        return;
    struct pipe_input *in = (*io)->opaque;
    if (in->fd != STDIN_FILENO)
        close(in->fd);
    free(in);
    av_freep(&(*io)->buffer);
    avio_context_free(io);
}
