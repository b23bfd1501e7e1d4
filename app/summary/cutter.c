#include "app/summary/cutter.h"

#include <stdlib.h>
#include <string.h>

enum bd_status bd_cutter_create(struct bd_cutter *cutter, int width, int height)
{
    *cutter = (struct bd_cutter){ 0 };
    enum bd_status status = bd_components_create(&cutter->components, width, height);
    if (status)
        return status;
    cutter->owners = malloc(bd_components_most(width, height) * sizeof *cutter->owners);
    if (cutter->owners)
        return BD_OK;
    bd_cutter_destroy(cutter);
    return bd_fail(BD_ERROR_MEMORY, "no memory for masks of %d x %d", width, height);
}

void bd_cutter_destroy(struct bd_cutter *cutter)
{
    bd_components_destroy(&cutter->components);
    free(cutter->owners);
    bd_cut_release(&cutter->cut);
    *cutter = (struct bd_cutter){ 0 };
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* Pixels of a component's box that are in that of an object. */
static int64_t shared(const struct bd_run *root, const struct bd_object *object)
{
    int width = smaller(root->right + 1, object->x + object->width) - larger(root->left, object->x);
    int height = smaller(root->bottom + 1, object->y + object->height) - larger(root->y, object->y);
    return width > 0 && height > 0 ? (int64_t)width * height : 0;
}

/* The object whose box holds most of a component, the smallest of several; -1: none holds half of
 * it. Of objects that touch, each holds a part of their component. */
static int owner_of(const struct bd_run *root, const struct bd_object *objects, int count)
{
    int64_t whole = (int64_t)(root->right - root->left + 1) * (root->bottom - root->y + 1);
    int64_t most = 0, least = 0;
    int owner = -1;
    for (int i = 0; i < count; i++) {
        int64_t part = objects[i].seen ? shared(root, &objects[i]) : 0;
        int64_t size = (int64_t)objects[i].width * objects[i].height;
        if (part == 0 || (2 * part < whole && objects[i].group == 0) || part < most ||
            (part == most && size >= least))
            continue;
        most = part;
        least = size;
        owner = i;
    }
    return owner;
}

void bd_cutter_begin(struct bd_cutter *cutter, const struct bd_result *result)
{
    struct bd_components *components = &cutter->components;
    bd_components_find(components, result->mask->data, result->mask->stride, 255, 0, true);
    for (int32_t i = 0; i < components->count; i++)
        if (components->runs[i].parent == i)
            cutter->owners[i] =
                owner_of(&components->runs[i], result->objects, result->object_count);
}

/* An area of the frame; right and bottom are exclusive. */
struct area {
    int left, top, right, bottom;
};

/* Whether the component of a root is the object's. Objects that touch share theirs. */
static bool is_part(const struct bd_cutter *cutter, const struct bd_result *result, int object,
                    int32_t root)
{
    int owner = cutter->owners[root], group = result->objects[object].group;
    return owner == object || (owner >= 0 && group != 0 && result->objects[owner].group == group);
}

/* Of a component that objects share, the part that is looked at: the object's box, a quarter larger
 * to each side. All of another component. */
static struct area part_of(const struct bd_object *o, const struct bd_run *root)
{
    struct area part = { root->left, root->y, root->right + 1, root->bottom + 1 };
    if (o->group == 0)
        return part;
    part.left = larger(part.left, o->x - o->width / 4);
    part.top = larger(part.top, o->y - o->height / 4);
    part.right = smaller(part.right, o->x + o->width + o->width / 4);
    part.bottom = smaller(part.bottom, o->y + o->height + o->height / 4);
    return part;
}

/* The box of the object and of all its components, with the margin, within the frame. */
static struct area window_of(const struct bd_cutter *cutter, const struct bd_result *result,
                             int object)
{
    const struct bd_object *o = &result->objects[object];
    const struct bd_components *components = &cutter->components;
    struct area window = { o->x, o->y, o->x + o->width, o->y + o->height };
    for (int32_t i = 0; i < components->count; i++) {
        if (components->runs[i].parent != i || !is_part(cutter, result, object, i))
            continue;
        struct area part = part_of(o, &components->runs[i]);
        if (part.left >= part.right || part.top >= part.bottom)
            continue;
        window.left = smaller(window.left, part.left);
        window.top = smaller(window.top, part.top);
        window.right = larger(window.right, part.right);
        window.bottom = larger(window.bottom, part.bottom);
    }
    window.left = larger(window.left - bd_cut_margin, 0);
    window.top = larger(window.top - bd_cut_margin, 0);
    window.right = smaller(window.right + bd_cut_margin, components->width);
    window.bottom = smaller(window.bottom + bd_cut_margin, components->height);
    return window;
}

static enum bd_status make_room(struct bd_cutter *cutter, int width, int height)
{
    struct bd_cut *cut = &cutter->cut;
    size_t pixels = (size_t)width * (size_t)height;
    if (pixels > cutter->mask_room) {
        uint8_t *mask = realloc(cut->mask, pixels);
        if (!mask)
            return bd_fail(BD_ERROR_MEMORY, "no memory for an object of %d x %d", width, height);
        cut->mask = mask;
        cutter->mask_room = pixels;
    }
    memset(cut->mask, 0, pixels);
    return bd_frame_ensure(&cut->picture, width, height, BD_RGB24);
}

/* The square of a pixel's distance to the middle of a box, in sizes of the box. */
static double distance(const struct bd_object *o, int x, int y)
{
    double across = (x + .5 - o->x - o->width / 2.0) / o->width;
    double down = (y + .5 - o->y - o->height / 2.0) / o->height;
    return across * across + down * down;
}

/* Whether no other object of the group is nearer to a pixel: so each pixel is somebody's. */
static bool is_nearest(const struct bd_result *result, int object, int x, int y)
{
    double own = distance(&result->objects[object], x, y);
    for (int i = 0; i < result->object_count; i++) {
        const struct bd_object *other = &result->objects[i];
        if (i == object || other->group != result->objects[object].group || !other->seen)
            continue;
        double away = distance(other, x, y);
        if (away < own || (away == own && i < object))
            return false;
    }
    return true;
}

/* Sets the pixels of the object in the mask, and counts them. */
static void mark(struct bd_cutter *cutter, const struct bd_result *result, int object,
                 const struct area *window)
{
    struct bd_components *components = &cutter->components;
    struct bd_cut *cut = &cutter->cut;
    bool shares = result->objects[object].group != 0;
    cut->area = 0;
    for (int32_t i = 0; i < components->count; i++) {
        const struct bd_run *run = &components->runs[i];
        int from = larger(run->from, window->left), to = smaller(run->to, window->right);
        if (run->y < window->top || run->y >= window->bottom || from >= to ||
            !is_part(cutter, result, object, bd_components_root(components, i)))
            continue;
        uint8_t *row = cut->mask + (int64_t)(run->y - window->top) * cut->picture.width;
        for (int x = from; x < to; x++) {
            uint8_t value = !shares || is_nearest(result, object, x, run->y) ? 255 : 0;
            row[x - window->left] = value;
            cut->area += value & 1;
        }
    }
}

static void copy_picture(struct bd_cut *cut, const struct bd_frame *input)
{
    for (int y = 0; y < cut->picture.height; y++) {
        const uint8_t *in =
            input->data + (cut->y + y) * input->stride + (int64_t)cut->x * input->format;
        uint8_t *out = cut->picture.data + y * cut->picture.stride;
        if (input->format == BD_RGB24)
            memcpy(out, in, (size_t)cut->picture.width * 3);
        for (int x = 0; input->format == BD_GRAY8 && x < cut->picture.width; x++)
            memset(out + 3L * x, in[x], 3);
    }
}

enum bd_status bd_cutter_cut(struct bd_cutter *cutter, const struct bd_result *result, int object,
                             const struct bd_cut **cut)
{
    const struct bd_object *o = &result->objects[object];
    struct area window = window_of(cutter, result, object);
    *cut = &cutter->cut;
    cutter->cut.area = 0;
    if (window.left >= window.right || window.top >= window.bottom)
        return BD_OK;
    enum bd_status status =
        make_room(cutter, window.right - window.left, window.bottom - window.top);
    if (status)
        return status;
    cutter->cut.time = result->time;
    cutter->cut.box = (struct bd_box){ o->x, o->y, o->width, o->height };
    cutter->cut.x = window.left;
    cutter->cut.y = window.top;
    mark(cutter, result, object, &window);
    copy_picture(&cutter->cut, result->input);
    return BD_OK;
}
