#include "app/export/clips/thumbnail.h"

#include <string.h>

#include "app/export/output.h"

/* Pixels at least, so that what is far away is seen in its place. */
enum { least_side = 160 };

/* A stretch of `length` pixels of an axis, with a quarter of the object's larger side around it. */
static void widen(int *start, int *length, int side, int whole)
{
    int wanted = *length + side / 2;
    wanted = wanted < least_side ? least_side : wanted;
    wanted = wanted > whole ? whole : wanted;
    *start -= (wanted - *length) / 2;
    *start = *start < 0 ? 0 : *start > whole - wanted ? whole - wanted : *start;
    *length = wanted;
}

enum bd_status bd_thumbnail_cut(struct bd_frame *picture, const struct bd_frame *frame,
                                struct bd_box box)
{
    int side = box.width > box.height ? box.width : box.height;
    widen(&box.x, &box.width, side, frame->width);
    widen(&box.y, &box.height, side, frame->height);
    enum bd_status status = bd_frame_ensure(picture, box.width, box.height, frame->format);
    if (status)
        return status;
    for (int y = 0; y < box.height; y++)
        memcpy(picture->data + y * picture->stride,
               frame->data + (box.y + y) * frame->stride + (int64_t)box.x * frame->format,
               (size_t)box.width * frame->format);
    return BD_OK;
}

enum bd_status bd_thumbnail_write(const char *path, bool overwrite, const struct bd_frame *picture,
                                  struct bd_rational aspect)
{
    struct bd_writer_options options = { .width = picture->width,
                                         .height = picture->height,
                                         .format = picture->format,
                                         .time_base = { 1, 25 },
                                         .pixel_aspect = aspect,
                                         .overwrite = overwrite };
    struct bd_writer *writer = NULL;
    enum bd_status status = bd_writer_open(&writer, path, &options);
    return status ? status : bd_output_end_picture(&writer, bd_writer_write(writer, picture));
}
