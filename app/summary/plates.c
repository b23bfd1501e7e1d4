#include "app/summary/plates.h"

#include <stdlib.h>
#include <string.h>

/* A frame a second counts an eighth: what is new is half learned in five seconds, and a shadow that
 * passes leaves little. */
static const double between_frames = 1, between_plates = 60; /* seconds */
enum { share = 8 };

enum bd_status bd_plates_create(struct bd_plates *plates, int width, int height,
                                struct bd_scratch *file, struct bd_jpeg *jpeg)
{
    *plates = (struct bd_plates){ .file = file, .jpeg = jpeg, .numbers = { -1, -1 } };
    enum bd_status status = bd_frame_create(&plates->plate, width, height, BD_RGBA32);
    if (!status)
        status = bd_frame_create(&plates->colour, width, height, BD_RGB24);
    if (status)
        bd_plates_destroy(plates);
    return status;
}

void bd_plates_destroy(struct bd_plates *plates)
{
    bd_frame_destroy(&plates->plate);
    bd_frame_destroy(&plates->colour);
    bd_frame_destroy(&plates->shown[0]);
    bd_frame_destroy(&plates->shown[1]);
    bd_scaler_destroy(&plates->scaler);
    free(plates->items);
    free(plates->packed);
    *plates = (struct bd_plates){ 0 };
}

/* A step of an eighth of the way, but of one level at least. */
static uint8_t approach(uint8_t value, uint8_t to)
{
    int way = to - value, step = way / share;
    return (uint8_t)(value + (step != 0 ? step : (way > 0) - (way < 0)));
}

/* Takes a frame into a row of the plate, but for objects and shadows. `colour`: of the separator's
 * background. */
static void take_row(uint8_t *plate, const uint8_t *input, enum bd_pixel_format format,
                     const uint8_t *labels, const uint8_t *colour, int width)
{
    for (int x = 0; x < width; x++, plate += 4, input += format, colour += 3) {
        const uint8_t rgb[3] = { input[0], input[format == BD_RGB24 ? 1 : 0],
                                 input[format == BD_RGB24 ? 2 : 0] };
        if (labels[x] && !plate[3])
            memcpy(plate, colour, 3);
        else if (!labels[x] && !plate[3])
            memcpy(plate, rgb, 3);
        else if (!labels[x])
            for (int c = 0; c < 3; c++)
                plate[c] = approach(plate[c], rgb[c]);
        plate[3] |= labels[x] ? 0 : 255;
    }
}

static enum bd_status take(struct bd_plates *plates, const struct bd_result *result)
{
    const struct bd_frame *input = result->input, *labels = result->labels;
    enum bd_status status =
        bd_scale(&plates->scaler, &plates->colour, result->background, BD_SCALE_BILINEAR);
    for (int y = 0; !status && y < input->height; y++)
        take_row(plates->plate.data + y * plates->plate.stride, input->data + y * input->stride,
                 input->format, labels->data + y * labels->stride,
                 plates->colour.data + y * plates->colour.stride, input->width);
    return status;
}

/* plates->colour: the plate as it is now. */
static void copy_colour(struct bd_plates *plates)
{
    struct bd_frame *colour = &plates->colour;
    for (int y = 0; y < colour->height; y++)
        for (int x = 0; x < colour->width; x++)
            memcpy(colour->data + y * colour->stride + 3L * x,
                   plates->plate.data + y * plates->plate.stride + 4L * x, 3);
}

/* Appends to the list, which grows. */
static enum bd_status append(struct bd_plates *plates, struct bd_plate_at item)
{
    if (plates->count == plates->room) {
        int room = plates->room ? 2 * plates->room : 16;
        struct bd_plate_at *items = realloc(plates->items, (size_t)room * sizeof *items);
        if (!items)
            return bd_fail(BD_ERROR_MEMORY, "out of memory for the plates of the synopsis");
        plates->items = items;
        plates->room = room;
    }
    plates->items[plates->count++] = item;
    return BD_OK;
}

static enum bd_status put_aside(struct bd_plates *plates, double time)
{
    const uint8_t *data;
    size_t size;
    int64_t offset;
    copy_colour(plates);
    enum bd_status status = bd_jpeg_pack(plates->jpeg, &plates->colour, &data, &size);
    if (!status)
        status = bd_scratch_append(plates->file, data, size, &offset);
    if (!status)
        status = append(plates, (struct bd_plate_at){ time, offset, (int64_t)size });
    plates->kept = time;
    return status;
}

/* Times go back, or jump, where a camera starts anew. */
static bool is_due(double time, double last, double period)
{
    return time >= last + period || time < last;
}

enum bd_status bd_plates_add(struct bd_plates *plates, const struct bd_result *result)
{
    double time = result->time;
    bool first = plates->plate.index == 0;
    if (!first && !is_due(time, plates->taken, between_frames))
        return BD_OK;
    if (first) {
        for (int y = 0; y < plates->plate.height; y++)
            memset(plates->plate.data + y * plates->plate.stride, 0,
                   (size_t)plates->plate.width * 4);
        plates->kept = time;
    }
    plates->plate.index++; /* frames that it has taken */
    plates->taken = time;
    enum bd_status status = take(plates, result);
    if (!status && is_due(time, plates->kept, between_plates))
        status = put_aside(plates, time);
    return status;
}

enum bd_status bd_plates_finish(struct bd_plates *plates)
{
    copy_colour(plates);
    return append(plates, (struct bd_plate_at){ .time = plates->taken });
}

/* Unpacks plate `number` into one of the two shown. */
static enum bd_status fetch(struct bd_plates *plates, int place, int number)
{
    const struct bd_plate_at *item = &plates->items[number];
    size_t size = (size_t)item->size;
    if (plates->numbers[place] == number)
        return BD_OK;
    if (size > plates->packed_room) {
        uint8_t *packed = realloc(plates->packed, size);
        if (!packed)
            return bd_fail(BD_ERROR_MEMORY, "out of memory for the plates of the synopsis");
        plates->packed = packed;
        plates->packed_room = size;
    }
    enum bd_status status =
        bd_frame_ensure(&plates->shown[place], plates->plate.width, plates->plate.height, BD_RGB24);
    if (!status && size == 0)
        status = bd_frame_copy(&plates->shown[place], &plates->colour);
    if (!status && size > 0)
        status = bd_scratch_read(plates->file, item->offset, plates->packed, size);
    if (!status && size > 0)
        status = bd_jpeg_unpack(plates->jpeg, &plates->shown[place], plates->packed, size);
    plates->numbers[place] = status ? -1 : number;
    return status;
}

/* a + (b - a) weight / 256. */
static void mix(struct bd_frame *frame, const struct bd_frame *a, const struct bd_frame *b,
                int weight)
{
    for (int y = 0; y < frame->height; y++) {
        uint8_t *out = frame->data + y * frame->stride;
        const uint8_t *from = a->data + y * a->stride, *to = b->data + y * b->stride;
        for (int i = 0; i < 3 * frame->width; i++)
            out[i] = (uint8_t)((from[i] * (256 - weight) + to[i] * weight + 128) / 256);
    }
}

enum bd_status bd_plates_show(struct bd_plates *plates, struct bd_frame *frame, double time)
{
    int after = 0;
    while (after + 1 < plates->count && plates->items[after].time < time)
        after++;
    int before = after > 0 ? after - 1 : 0;
    double from = plates->items[before].time, to = plates->items[after].time;
    double part = to > from ? (time - from) / (to - from) : 0;
    /* an even plate in one place, an odd one in the other: each is unpacked once */
    enum bd_status status = fetch(plates, before % 2, before);
    if (!status)
        status = fetch(plates, after % 2, after);
    if (!status)
        mix(frame, &plates->shown[before % 2], &plates->shown[after % 2],
            part < 0   ? 0
            : part > 1 ? 256
                       : (int)(part * 256));
    return status;
}
