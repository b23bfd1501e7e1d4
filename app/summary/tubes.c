#include "app/summary/tubes.h"

#include <stdlib.h>
#include <string.h>

static enum bd_status no_memory(void)
{
    return bd_fail(BD_ERROR_MEMORY, "out of memory for the objects of the synopsis");
}

/* Where the tube of an object is, or would be. */
static int place_of(const struct bd_tubes *tubes, int64_t id)
{
    int from = 0, to = tubes->count;
    while (from < to) {
        int middle = from + (to - from) / 2;
        if (tubes->items[middle].id < id)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

struct bd_tube *bd_tubes_find(const struct bd_tubes *tubes, int64_t id)
{
    int i = place_of(tubes, id);
    return i < tubes->count && tubes->items[i].id == id ? &tubes->items[i] : NULL;
}

/* Drops those that are too short and have not been seen for `ended` seconds: the tracker has given
 * their objects up long before. */
static void forget_short(struct bd_tubes *tubes, double now)
{
    const double ended = 60;
    int kept = 0;
    for (int i = 0; i < tubes->count; i++) {
        const struct bd_tube *tube = &tubes->items[i];
        if (tube->last - tube->first >= tubes->least || now - tube->last < ended)
            tubes->items[kept++] = *tube;
    }
    tubes->forgotten += tubes->count - kept;
    tubes->count = kept;
}

/* Makes room for one more. At least half of the room is free then, so that this is rare. */
static enum bd_status make_place(struct bd_tubes *tubes, double now)
{
    if (tubes->count < tubes->room)
        return BD_OK;
    forget_short(tubes, now);
    if (tubes->room > 0 && tubes->count <= tubes->room / 2)
        return BD_OK;
    int room = tubes->room ? 2 * tubes->room : 64;
    struct bd_tube *items = realloc(tubes->items, (size_t)room * sizeof *items);
    if (!items)
        return no_memory();
    tubes->items = items;
    tubes->room = room;
    return BD_OK;
}

enum bd_status bd_tubes_see(struct bd_tubes *tubes, struct bd_tube **tube, int64_t id, double time)
{
    *tube = bd_tubes_find(tubes, id);
    if (*tube) {
        (*tube)->last = time;
        return BD_OK;
    }
    enum bd_status status = make_place(tubes, time);
    if (status)
        return status;
    int i = place_of(tubes, id);
    *tube = &tubes->items[i];
    memmove(*tube + 1, *tube, (size_t)(tubes->count - i) * sizeof **tube);
    tubes->count++;
    **tube = (struct bd_tube){ .id = id, .first = time, .last = time, .begin = -1, .end = -1 };
    return BD_OK;
}

void bd_tube_meets(struct bd_tube *tube, int64_t id)
{
    for (int i = 0; i < bd_tube_partners; i++) {
        if (tube->partners[i].id != id && tube->partners[i].id != 0)
            continue;
        tube->partners[i].id = id;
        tube->partners[i].frames++;
        return;
    }
}

static enum bd_status make_room(struct bd_tubes *tubes, size_t size)
{
    if (size <= tubes->bytes_room)
        return BD_OK;
    uint8_t *bytes = realloc(tubes->bytes, size);
    if (!bytes)
        return no_memory();
    tubes->bytes = bytes;
    tubes->bytes_room = size;
    return BD_OK;
}

/* Packs a mask as lengths of runs, 0 and 255 in turn, row after row. A run above 255 goes on after
 * a run of no pixels of the other kind. Never more than two bytes a pixel. */
static size_t pack_mask(uint8_t *bytes, const uint8_t *mask, size_t pixels)
{
    size_t used = 0;
    uint8_t value = 0;
    for (size_t i = 0; i < pixels; value = (uint8_t)~value) {
        size_t run = 0;
        while (run < 255 && i < pixels && mask[i] == value) {
            run++;
            i++;
        }
        bytes[used++] = (uint8_t)run;
    }
    return used;
}

/* False if the runs do not make `pixels`. */
static bool unpack_mask(uint8_t *mask, size_t pixels, const uint8_t *bytes, size_t size)
{
    size_t done = 0;
    uint8_t value = 0;
    for (size_t i = 0; i < size; i++, value = (uint8_t)~value) {
        if (bytes[i] > pixels - done)
            return false;
        memset(mask + done, value, bytes[i]);
        done += bytes[i];
    }
    return done == pixels;
}

enum bd_status bd_tubes_add(struct bd_tubes *tubes, struct bd_tube *tube,
                            const struct bd_patch *patch)
{
    const struct bd_frame *picture = &patch->picture;
    const uint8_t *packed = NULL;
    size_t packed_size = 0;
    size_t pixels = (size_t)picture->width * (size_t)picture->height;
    int64_t offset = -1;
    enum bd_status status = make_room(tubes, 2 * pixels + 1);
    if (!status)
        status = bd_jpeg_pack(tubes->jpeg, picture, &packed, &packed_size);
    if (status)
        return status;
    size_t mask_size = pack_mask(tubes->bytes, patch->mask, pixels);
    struct bd_patch_head head = { .next = -1,
                                  .time = patch->time,
                                  .box = patch->box,
                                  .x = patch->x,
                                  .y = patch->y,
                                  .width = picture->width,
                                  .height = picture->height,
                                  .area = patch->area,
                                  .mask_size = (int64_t)mask_size,
                                  .picture_size = (int64_t)packed_size };
    status = bd_scratch_append(tubes->file, &head, sizeof head, &offset);
    if (!status)
        status = bd_scratch_append(tubes->file, tubes->bytes, mask_size, NULL);
    if (!status)
        status = bd_scratch_append(tubes->file, packed, packed_size, NULL);
    if (!status && tube->end >= 0) /* `next` is the first member */
        status = bd_scratch_replace(tubes->file, tube->end, &offset, sizeof offset);
    if (status)
        return status;
    tube->begin = tube->begin < 0 ? offset : tube->begin;
    tube->end = offset;
    tube->patches++;
    return BD_OK;
}

enum bd_status bd_tubes_head(const struct bd_tubes *tubes, struct bd_patch_head *head,
                             int64_t offset)
{
    return bd_scratch_read(tubes->file, offset, head, sizeof *head);
}

enum bd_status bd_tubes_load(struct bd_tubes *tubes, struct bd_patch *patch,
                             const struct bd_patch_head *head, int64_t offset)
{
    size_t pixels = (size_t)head->width * (size_t)head->height;
    size_t mask_size = (size_t)head->mask_size, picture_size = (size_t)head->picture_size;
    enum bd_status status = bd_frame_ensure(&patch->picture, head->width, head->height, BD_RGB24);
    uint8_t *mask = realloc(patch->mask, pixels);
    if (mask)
        patch->mask = mask;
    if (!status && !mask)
        status = no_memory();
    if (!status)
        status = make_room(tubes, mask_size + picture_size);
    if (!status)
        status = bd_scratch_read(tubes->file, offset + (int64_t)sizeof *head, tubes->bytes,
                                 mask_size + picture_size);
    if (!status && !unpack_mask(patch->mask, pixels, tubes->bytes, mask_size))
        status = bd_fail(BD_ERROR_FORMAT, "the temporary file of the synopsis is damaged");
    if (!status)
        status =
            bd_jpeg_unpack(tubes->jpeg, &patch->picture, tubes->bytes + mask_size, picture_size);
    patch->time = head->time;
    patch->box = head->box;
    patch->x = head->x;
    patch->y = head->y;
    patch->area = head->area;
    return status;
}

void bd_patch_release(struct bd_patch *patch)
{
    bd_frame_destroy(&patch->picture);
    free(patch->mask);
    *patch = (struct bd_patch){ 0 };
}

void bd_tubes_release(struct bd_tubes *tubes)
{
    free(tubes->items);
    free(tubes->bytes);
    *tubes = (struct bd_tubes){ 0 };
}
