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

/* Whether the component of a root is the object's, and where: objects that touch have a part each,
 * their boxes. */
static bool is_part(const struct bd_cutter *cutter, const struct bd_result *result, int object,
                    int32_t root, struct area *within)
{
    const struct bd_object *o = &result->objects[object];
    const struct bd_run *run = &cutter->components.runs[root];
    int owner = cutter->owners[root];
    if (owner < 0)
        return false;
    if (o->group != 0 && result->objects[owner].group == o->group) {
        *within = (struct area){ o->x, o->y, o->x + o->width, o->y + o->height };
        return true;
    }
    *within = (struct area){ run->left, run->y, run->right + 1, run->bottom + 1 };
    return owner == object;
}

/* The box of the object and of all its components, with the margin, within the frame. */
static struct area window_of(const struct bd_cutter *cutter, const struct bd_result *result,
                             int object)
{
    const struct bd_object *o = &result->objects[object];
    const struct bd_components *components = &cutter->components;
    struct area part, window = { o->x, o->y, o->x + o->width, o->y + o->height };
    for (int32_t i = 0; i < components->count; i++) {
        if (components->runs[i].parent != i || !is_part(cutter, result, object, i, &part))
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

/* Sets the pixels of the object in the mask, and counts them. */
static void mark(struct bd_cutter *cutter, const struct bd_result *result, int object,
                 const struct area *window)
{
    struct bd_components *components = &cutter->components;
    struct bd_cut *cut = &cutter->cut;
    struct area part;
    cut->area = 0;
    for (int32_t i = 0; i < components->count; i++) {
        const struct bd_run *run = &components->runs[i];
        if (run->y < window->top || run->y >= window->bottom || run->from >= window->right ||
            run->to <= window->left ||
            !is_part(cutter, result, object, bd_components_root(components, i), &part) ||
            run->y < part.top || run->y >= part.bottom)
            continue;
        int from = larger(larger(run->from, part.left), window->left);
        int to = smaller(smaller(run->to, part.right), window->right);
        if (from >= to)
            continue;
        memset(cut->mask + (int64_t)(run->y - window->top) * cut->picture.width +
                   (from - window->left),
               255, (size_t)(to - from));
        cut->area += to - from;
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
