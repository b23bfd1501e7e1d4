#include "separation/cpu/contact_shadow.h"

#include <stdlib.h>
#include <string.h>

#include "separation/shared/components.h"
#include "separation/shared/contact_shadow.h"

/* Of a component, at its root. */
struct object {
    int32_t left, right, top, bottom; /* right and bottom inclusive */
    int32_t longest;                  /* black run along a row of its foot */
    int32_t tops, dark_tops; /* of black runs in columns of its foot; nothing brighter above */
    bool possible, has_shadow;
};

struct bd_contact_shadow_work {
    struct bd_components components;
    struct object *objects; /* one a run */
    uint8_t *black;         /* height x width: black pixels of feet, then what is cut */
    int32_t *down;          /* width: pixels of the mask from here downwards */
};

enum bd_status bd_contact_shadow_work_create(struct bd_contact_shadow_work **out, int width,
                                             int height)
{
    *out = NULL;
    struct bd_contact_shadow_work *work = calloc(1, sizeof *work);
    if (!work)
        return bd_fail(BD_ERROR_MEMORY, "no memory for shadows of %d x %d", width, height);
    enum bd_status status = bd_components_create(&work->components, width, height);
    size_t most = ((size_t)width + 1) / 2 * (size_t)height;
    work->objects = malloc(most * sizeof *work->objects);
    work->black = malloc((size_t)width * (size_t)height);
    work->down = malloc((size_t)width * sizeof *work->down);
    if (status == BD_OK && (!work->objects || !work->black || !work->down))
        status = bd_fail(BD_ERROR_MEMORY, "no memory for shadows of %d x %d", width, height);
    if (status != BD_OK)
        bd_contact_shadow_work_destroy(&work);
    *out = work;
    return status;
}

void bd_contact_shadow_work_destroy(struct bd_contact_shadow_work **work)
{
    if (!*work)
        return;
    bd_components_destroy(&(*work)->components);
    free((*work)->objects);
    free((*work)->black);
    free((*work)->down);
    free(*work);
    *work = NULL;
}

struct scene {
    struct bd_contact_shadow_work *work;
    const uint8_t *mask, *f, *l;
    int channels;
};

/* The root's part of run i. */
static struct object *object_of(struct bd_contact_shadow_work *work, int32_t i)
{
    return &work->objects[bd_components_root(&work->components, i)];
}

/* The bounding boxes of all components. */
static void bound(struct bd_contact_shadow_work *work)
{
    const struct bd_components *found = &work->components;
    for (int32_t i = 0; i < found->row_first[found->height]; i++)
        work->objects[i] = (struct object){ .left = found->width, .top = found->height };
    for (int y = 0; y < found->height; y++)
        for (int32_t i = found->row_first[y]; i < found->row_first[y + 1]; i++) {
            struct object *object = object_of(work, i);
            const struct bd_run *run = &found->runs[i];
            object->left = run->from < object->left ? run->from : object->left;
            object->right = run->to - 1 > object->right ? run->to - 1 : object->right;
            object->top = y < object->top ? y : object->top;
            object->bottom = y;
        }
}

static int32_t width_of(const struct object *object)
{
    return object->right - object->left + 1;
}

static int32_t height_of(const struct object *object)
{
    return object->bottom - object->top + 1;
}

/* Whether any component may have a contact shadow, by its shape. */
static bool any_possible(struct bd_contact_shadow_work *work)
{
    const struct bd_components *found = &work->components;
    bool any = false;
    for (int32_t i = 0; i < found->row_first[found->height]; i++) {
        struct object *object = &work->objects[i];
        object->possible = found->runs[i].parent == i &&
                           bd_contact_shadow_possible(width_of(object), height_of(object),
                                                      object->bottom, found->height);
        any |= object->possible;
    }
    return any;
}

static int brightness(const struct scene *scene, int x, int y)
{
    const uint8_t *f =
        scene->f + ((int64_t)y * scene->work->components.width + x) * scene->channels;
    int sum = 0;
    for (int c = 0; c < scene->channels; c++)
        sum += f[c];
    return sum;
}

static bool is_black(const struct scene *scene, int x, int y)
{
    int width = scene->work->components.width, height = scene->work->components.height;
    int channels = scene->channels;
    int64_t at = ((int64_t)y * width + x) * channels;
    int32_t fl = 0, ll = 0;
    for (int c = 0; c < channels; c++) {
        fl += scene->f[at + c] * scene->l[at + c];
        ll += scene->l[at + c] * scene->l[at + c];
    }
    if (!bd_contact_shadow_dark(fl, ll))
        return false;
    int least = 255 * channels, most = 0;
    for (int v = y > 0 ? y - 1 : 0; v <= y + 1 && v < height; v++)
        for (int u = x > 0 ? x - 1 : 0; u <= x + 1 && u < width; u++) {
            int sum = brightness(scene, u, v);
            least = sum < least ? sum : least;
            most = sum > most ? sum : most;
        }
    return bd_contact_shadow_even(least, most, channels);
}

/* work->black := the black pixels of the feet of the objects that may have a shadow. */
static void find_black(const struct scene *scene)
{
    struct bd_contact_shadow_work *work = scene->work;
    struct bd_components *found = &work->components;
    int width = found->width;
    memset(work->black, 0, (size_t)width * (size_t)found->height);
    memset(work->down, 0, (size_t)width * sizeof *work->down);
    for (int y = found->height - 1; y >= 0; y--) {
        int32_t *down = work->down;
        int x = 0;
        for (int32_t i = found->row_first[y]; i < found->row_first[y + 1]; i++) {
            const struct bd_run run = found->runs[i];
            const struct object *object = object_of(work, i);
            memset(down + x, 0, (size_t)(run.from - x) * sizeof *down);
            for (x = run.from; x < run.to; x++) {
                down[x]++;
                if (object->possible && bd_contact_shadow_foot * down[x] <= height_of(object))
                    work->black[(int64_t)y * width + x] = is_black(scene, x, y);
            }
        }
        memset(down + x, 0, (size_t)(width - x) * sizeof *down);
    }
}

/* Whether nothing brighter is above the top (x, y) of a black run. */
static bool is_dark_top(const struct scene *scene, int x, int y, int32_t height)
{
    int width = scene->work->components.width;
    int most = brightness(scene, x, y) + bd_contact_shadow_rise * scene->channels;
    for (int up = 1; bd_contact_shadow_above * up <= height; up++) {
        int v = y - up;
        if (v < 0 || !scene->mask[(int64_t)v * width + x])
            return true;
        if (brightness(scene, x, v) > most)
            return false;
    }
    return true;
}

/* Adds the black pixels from `from` to before `to` of row y. */
static void count_black(const struct scene *scene, int y, int32_t from, int32_t to,
                        struct object *object)
{
    int width = scene->work->components.width;
    const uint8_t *row = scene->work->black + (int64_t)y * width;
    int32_t length = 0;
    for (int32_t x = from; x < to; x++) {
        length = row[x] ? length + 1 : 0;
        object->longest = length > object->longest ? length : object->longest;
        if (!row[x] || (y > 0 && row[x - width]))
            continue;
        object->tops++;
        object->dark_tops += is_dark_top(scene, x, y, height_of(object));
    }
}

static void judge(const struct scene *scene)
{
    struct bd_contact_shadow_work *work = scene->work;
    const struct bd_components *found = &work->components;
    for (int y = 0; y < found->height; y++)
        for (int32_t i = found->row_first[y]; i < found->row_first[y + 1]; i++) {
            struct object *object = object_of(work, i);
            if (object->possible)
                count_black(scene, y, found->runs[i].from, found->runs[i].to, object);
        }
    for (int32_t i = 0; i < found->row_first[found->height]; i++) {
        struct object *object = &work->objects[i];
        object->has_shadow =
            object->possible && bd_contact_shadow_found(width_of(object), object->longest,
                                                        object->tops, object->dark_tops);
    }
}

static void cut(struct bd_contact_shadow_work *work, uint8_t *mask, uint8_t *shadow)
{
    struct bd_components *found = &work->components;
    int width = found->width;
    for (int y = 0; y < found->height; y++)
        for (int32_t i = found->row_first[y]; i < found->row_first[y + 1]; i++) {
            if (!object_of(work, i)->has_shadow)
                continue;
            uint8_t *row = work->black + (int64_t)y * width;
            for (int x = found->runs[i].from; x < found->runs[i].to; x++) {
                row[x] |= y > 0 && row[x - width];
                mask[(int64_t)y * width + x] &= (uint8_t)(1 - row[x]);
                shadow[(int64_t)y * width + x] |= row[x];
            }
        }
}

void bd_contact_shadow_cut(struct bd_contact_shadow_work *work, uint8_t *mask, uint8_t *shadow,
                           const uint8_t *f, const uint8_t *l, int channels)
{
    struct scene scene = { work, mask, f, l, channels };
    bd_components_find(&work->components, mask, work->components.width, 1, 0, true);
    bound(work);
    if (!any_possible(work))
        return;
    find_black(&scene);
    judge(&scene);
    cut(work, mask, shadow);
}
