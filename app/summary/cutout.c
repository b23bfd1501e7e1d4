#include "app/summary/cutout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum bd_status bd_cutout_create(struct bd_cutout *cutout, int width, int height)
{
    *cutout = (struct bd_cutout){ 0 };
    enum bd_status status = bd_components_create(&cutout->components, width, height);
    if (status)
        return status;
    cutout->owners = malloc(bd_components_most(width, height) * sizeof *cutout->owners);
    if (cutout->owners)
        return BD_OK;
    bd_cutout_destroy(cutout);
    return bd_fail(BD_ERROR_MEMORY, "no memory for masks of %d x %d", width, height);
}

void bd_cutout_destroy(struct bd_cutout *cutout)
{
    bd_components_destroy(&cutout->components);
    free(cutout->owners);
    bd_patch_release(&cutout->patch);
    *cutout = (struct bd_cutout){ 0 };
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

void bd_cutout_begin(struct bd_cutout *cutout, const struct bd_result *result)
{
    struct bd_components *components = &cutout->components;
    bd_components_find(components, result->mask->data, result->mask->stride, 255, 0, true);
    for (int32_t i = 0; i < components->count; i++)
        if (components->runs[i].parent == i)
            cutout->owners[i] =
                owner_of(&components->runs[i], result->objects, result->object_count);
}

/* An area of the frame; right and bottom are exclusive. */
struct area {
    int left, top, right, bottom;
};

/* Whether the component of a root is the object's. Objects that touch share theirs. */
static bool is_part(const struct bd_cutout *cutout, const struct bd_result *result, int object,
                    int32_t root)
{
    int owner = cutout->owners[root], group = result->objects[object].group;
    return owner == object || (owner >= 0 && group != 0 && result->objects[owner].group == group);
}

/* What two areas share. */
static struct area meet(struct area a, struct area b)
{
    return (struct area){ larger(a.left, b.left), larger(a.top, b.top), smaller(a.right, b.right),
                          smaller(a.bottom, b.bottom) };
}

/* Of a component that objects share, the part that is looked at: the object's box, a quarter larger
 * to each side. All of another component. */
static struct area part_of(const struct bd_object *o, const struct bd_run *root)
{
    struct area part = { root->left, root->y, root->right + 1, root->bottom + 1 };
    if (o->group == 0)
        return part;
    return meet(part,
                (struct area){ o->x - o->width / 4, o->y - o->height / 4,
                               o->x + o->width + o->width / 4, o->y + o->height + o->height / 4 });
}

static struct area join(struct area a, struct area b)
{
    if (b.left >= b.right || b.top >= b.bottom)
        return a;
    return (struct area){ smaller(a.left, b.left), smaller(a.top, b.top), larger(a.right, b.right),
                          larger(a.bottom, b.bottom) };
}

/* Within the frame. */
static struct area clip(const struct bd_cutout *cutout, struct area a)
{
    return meet(a, (struct area){ 0, 0, cutout->components.width, cutout->components.height });
}

static struct area grow(struct area a)
{
    return (struct area){ a.left - bd_patch_margin, a.top - bd_patch_margin,
                          a.right + bd_patch_margin, a.bottom + bd_patch_margin };
}

/* Where shadows and fragments of an object are looked for: legs and shadows are below and beside.
 */
static struct area reach_of(const struct bd_object *o)
{
    return (struct area){ o->x - o->width, o->y - o->height / 4, o->x + 2 * o->width,
                          o->y + 2 * o->height };
}

/* The object's reach, and what is looked at of its components, within the frame. */
static struct area window_of(const struct bd_cutout *cutout, const struct bd_result *result,
                             int object)
{
    const struct bd_object *o = &result->objects[object];
    const struct bd_components *components = &cutout->components;
    struct area window = reach_of(o);
    for (int32_t i = 0; i < components->count; i++)
        if (components->runs[i].parent == i && is_part(cutout, result, object, i))
            window = join(window, part_of(o, &components->runs[i]));
    return clip(cutout, grow(window));
}

static enum bd_status make_room(struct bd_cutout *cutout, size_t pixels)
{
    if (pixels > cutout->mask_room) {
        uint8_t *mask = realloc(cutout->patch.mask, pixels);
        if (!mask)
            return bd_fail(BD_ERROR_MEMORY, "no memory for an object of %zu pixels", pixels);
        cutout->patch.mask = mask;
        cutout->mask_room = pixels;
    }
    memset(cutout->patch.mask, 0, pixels);
    return BD_OK;
}

/* A pixel's distance to the middle of a box, in sizes of the box, across or down, the larger of the
 * two. So a pixel in one box alone is nearest to that. */
static double distance(const struct bd_object *o, int x, int y)
{
    double across = fabs(x + .5 - o->x - o->width / 2.0) / o->width;
    double down = fabs(y + .5 - o->y - o->height / 2.0) / o->height;
    return across > down ? across : down;
}

/* Whether no other object, of its group or of all, is nearer to a pixel: so each pixel is
 * somebody's. */
static bool is_nearest(const struct bd_result *result, int object, int x, int y, bool of_group)
{
    double own = distance(&result->objects[object], x, y);
    for (int i = 0; i < result->object_count; i++) {
        const struct bd_object *other = &result->objects[i];
        if (i == object || !other->seen ||
            (of_group && other->group != result->objects[object].group))
            continue;
        double away = distance(other, x, y);
        if (away < own || (away == own && i < object))
            return false;
    }
    return true;
}

/* What is being cut out: pixels of `window` in patch.mask, of which those in `used` are the
 * object's.
 */
struct work {
    const struct bd_result *result;
    int object;
    struct area window, used;
};

static void set(struct bd_cutout *cutout, struct work *work, int x, int y)
{
    const struct area *window = &work->window, here = { x, y, x + 1, y + 1 };
    cutout->patch
        .mask[(int64_t)(y - window->top) * (window->right - window->left) + (x - window->left)] =
        255;
    work->used = cutout->patch.area ? join(work->used, here) : here;
    cutout->patch.area++;
}

/* Whether a component that is no object's is a fragment of this one. */
static bool is_fragment(const struct bd_cutout *cutout, const struct work *work, int32_t root)
{
    enum { times = 8 }; /* as large is the object's box at least */
    const struct bd_object *o = &work->result->objects[work->object];
    return cutout->owners[root] < 0 &&
           (int64_t)cutout->components.runs[root].area * times < (int64_t)o->width * o->height;
}

/* Sets the pixels of the object's components and fragments. */
static void mark_components(struct bd_cutout *cutout, struct work *work)
{
    struct bd_components *components = &cutout->components;
    const struct area *window = &work->window;
    for (int32_t i = 0; i < components->count; i++) {
        const struct bd_run *run = &components->runs[i];
        int from = larger(run->from, window->left), to = smaller(run->to, window->right);
        if (run->y < window->top || run->y >= window->bottom || from >= to)
            continue;
        int32_t root = bd_components_root(components, i);
        bool part = is_part(cutout, work->result, work->object, root);
        bool alone = part && work->result->objects[work->object].group == 0;
        if (!part && !is_fragment(cutout, work, root))
            continue;
        for (int x = from; x < to; x++)
            if (alone || is_nearest(work->result, work->object, x, run->y, part))
                set(cutout, work, x, run->y);
    }
}

/* Sets the pixels of the shadows in the object's reach: its own, and what is taken for a shadow, as
 * blue trousers on a gray road are. */
static void mark_shadows(struct bd_cutout *cutout, struct work *work)
{
    const struct bd_frame *labels = work->result->labels;
    struct area reach = clip(cutout, reach_of(&work->result->objects[work->object]));
    for (int y = reach.top; labels != work->result->mask && y < reach.bottom; y++)
        for (int x = reach.left; x < reach.right; x++) {
            uint8_t label = labels->data[y * labels->stride + x];
            if (label != 0 && label != 255 && is_nearest(work->result, work->object, x, y, false))
                set(cutout, work, x, y);
        }
}

/* Leaves of patch.mask what is used, with the margin. */
static enum bd_status trim(struct bd_cutout *cutout, const struct work *work)
{
    struct bd_patch *patch = &cutout->patch;
    const struct area *old = &work->window, now = meet(*old, grow(work->used));
    int width = now.right - now.left, height = now.bottom - now.top;
    for (int y = 0; y < height; y++)
        memmove(patch->mask + (int64_t)y * width,
                patch->mask + (int64_t)(now.top - old->top + y) * (old->right - old->left) +
                    (now.left - old->left),
                (size_t)width);
    patch->x = now.left;
    patch->y = now.top;
    return bd_frame_ensure(&patch->picture, width, height, BD_RGB24);
}

static void copy_picture(struct bd_patch *patch, const struct bd_frame *input)
{
    for (int y = 0; y < patch->picture.height; y++) {
        const uint8_t *in =
            input->data + (patch->y + y) * input->stride + (int64_t)patch->x * input->format;
        uint8_t *out = patch->picture.data + y * patch->picture.stride;
        if (input->format == BD_RGB24)
            memcpy(out, in, (size_t)patch->picture.width * 3);
        for (int x = 0; input->format == BD_GRAY8 && x < patch->picture.width; x++)
            memset(out + 3L * x, in[x], 3);
    }
}

enum bd_status bd_cutout_cut(struct bd_cutout *cutout, const struct bd_result *result, int object,
                             const struct bd_patch **patch)
{
    const struct bd_object *o = &result->objects[object];
    struct work work = { .result = result, .object = object };
    work.window = window_of(cutout, result, object);
    int64_t width = work.window.right - work.window.left;
    int64_t height = work.window.bottom - work.window.top;
    *patch = &cutout->patch;
    cutout->patch.time = result->time;
    cutout->patch.box = (struct bd_box){ o->x, o->y, o->width, o->height };
    cutout->patch.area = 0;
    if (width <= 0 || height <= 0)
        return BD_OK;
    enum bd_status status = make_room(cutout, (size_t)width * (size_t)height);
    if (status)
        return status;
    mark_components(cutout, &work);
    mark_shadows(cutout, &work);
    if (cutout->patch.area == 0)
        return BD_OK;
    status = trim(cutout, &work);
    if (!status)
        copy_picture(&cutout->patch, result->input);
    return status;
}
