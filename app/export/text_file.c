#include "app/export/text_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A descriptor of its own, so that what fails here is told once, not by stdout too. */
static enum bd_status open_stdout(struct bd_text_file *text)
{
    int copy = dup(STDOUT_FILENO);
    text->path = "stdout";
    text->file = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (text->file)
        return BD_OK;
    enum bd_status status = bd_output_fail(text->path, errno);
    if (copy >= 0)
        close(copy);
    return status;
}

enum bd_status bd_text_file_open(struct bd_text_file *text, const char *path)
{
    *text = (struct bd_text_file){ 0 };
    if (strcmp(path, "-") == 0)
        return open_stdout(text);
    enum bd_status status = bd_part_open(&text->part, path, true);
    if (status)
        return status;
    text->path = bd_part_path(text->part);
    text->file = fopen(bd_part_name(text->part), "w");
    if (text->file)
        return BD_OK;
    status = bd_output_fail(path, errno);
    bd_part_close(&text->part, BD_PART_NONE);
    return status;
}

enum bd_status bd_text_file_flush(struct bd_text_file *text)
{
    errno = 0;
    if ((fflush(text->file) || ferror(text->file)) && !text->error)
        text->error = errno ? errno : EIO;
    return text->error ? bd_output_fail(text->path, text->error) : BD_OK;
}

enum bd_status bd_text_file_close(struct bd_text_file *text, enum bd_status status, bool empty)
{
    const enum bd_status flushed = status ? status : bd_text_file_flush(text);
    if (fclose(text->file) && !text->error)
        text->error = errno;
    if (!status)
        status = flushed || !text->error ? flushed : bd_output_fail(text->path, text->error);
    enum bd_part_end end = empty                       ? BD_PART_NONE
                           : status || text->keeps_old ? BD_PART_BROKEN
                                                       : BD_PART_WHOLE;
    enum bd_status named = bd_part_close(&text->part, end);
    return status ? status : named;
}
