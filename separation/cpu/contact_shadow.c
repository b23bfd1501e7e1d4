/* The search for contact shadows. */
#include <string.h>

#include "separation/cpu/mask_work.h"
#include "separation/shared/contact_shadow.h"

struct scene {
    struct bd_mask_work *work; /* picture: black pixels of feet, then what is cut */
    const uint8_t *mask, *f, *l;
    int channels;
};

static int32_t width_of(const struct bd_run *root)
{
    return root->right - root->left + 1;
}

static int32_t height_of(const struct bd_run *root)
{
    return root->bottom - root->y + 1;
}

/* Whether any component may have a contact shadow, by its shape. */
static bool any_possible(struct bd_mask_work *work)
{
    bool any = false;
    for (int32_t i = 0; i < work->components.count; i++) {
        const struct bd_run *run = &work->components.runs[i];
        bool possible =
            run->parent == i &&
            bd_contact_shadow_possible(width_of(run), height_of(run), run->bottom, work->height);
        work->objects[i] = (struct bd_contact_object){ .possible = possible };
        any |= possible;
    }
    return any;
}

static int brightness(const struct scene *scene, int x, int y)
{
    const uint8_t *f = scene->f + ((int64_t)y * scene->work->width + x) * scene->channels;
    int sum = 0;
    for (int c = 0; c < scene->channels; c++)
        sum += f[c];
    return sum;
}

static bool is_black(const struct scene *scene, int x, int y)
{
    int width = scene->work->width, height = scene->work->height;
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

/* work->picture := the black pixels of the feet of the objects that may have a shadow. */
static void find_black(const struct scene *scene)
{
    struct bd_mask_work *work = scene->work;
    int width = work->width;
    uint16_t *down = work->down; /* pixels of the mask from here downwards */
    memset(work->picture, 0, (size_t)width * (size_t)work->height);
    for (int32_t i = work->components.count - 1; i >= 0; i--) {
        const struct bd_run run = work->components.runs[i];
        int32_t root = bd_components_root(&work->components, i);
        int32_t height = height_of(&work->components.runs[root]);
        for (int x = run.from; x < run.to; x++) {
            int64_t at = (int64_t)run.y * width + x;
            bool goes_on = run.y + 1 < work->height && scene->mask[at + width];
            down[x] = (uint16_t)(goes_on ? down[x] + 1 : 1);
            if (work->objects[root].possible && bd_contact_shadow_foot * down[x] <= height)
                work->picture[at] = is_black(scene, x, run.y);
        }
    }
}

/* Whether nothing brighter is above the top (x, y) of a black run. */
static bool is_dark_top(const struct scene *scene, int x, int y, int32_t height)
{
    int width = scene->work->width;
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

/* Adds the black pixels of a run to the object of its component. */
static void count_black(const struct scene *scene, const struct bd_run *run, int32_t height,
                        struct bd_contact_object *object)
{
    int width = scene->work->width;
    const uint8_t *row = scene->work->picture + (int64_t)run->y * width;
    int32_t length = 0;
    for (int32_t x = run->from; x < run->to; x++) {
        length = row[x] ? length + 1 : 0;
        object->longest = length > object->longest ? length : object->longest;
        if (!row[x] || (run->y > 0 && row[x - width]))
            continue;
        object->tops++;
        object->dark_tops += is_dark_top(scene, x, run->y, height);
    }
}

static void judge(const struct scene *scene)
{
    struct bd_components *found = &scene->work->components;
    struct bd_contact_object *objects = scene->work->objects;
    for (int32_t i = 0; i < found->count; i++) {
        int32_t root = bd_components_root(found, i);
        if (objects[root].possible)
            count_black(scene, &found->runs[i], height_of(&found->runs[root]), &objects[root]);
    }
    for (int32_t i = 0; i < found->count; i++)
        objects[i].has_shadow =
            objects[i].possible &&
            bd_contact_shadow_found(width_of(&found->runs[i]), objects[i].longest, objects[i].tops,
                                    objects[i].dark_tops);
}

static void cut(struct bd_mask_work *work, uint8_t *mask, uint8_t *shadow)
{
    struct bd_components *found = &work->components;
    int width = work->width;
    for (int32_t i = 0; i < found->count; i++) {
        const struct bd_run *run = &found->runs[i];
        if (!work->objects[bd_components_root(found, i)].has_shadow)
            continue;
        int64_t first = (int64_t)run->y * width;
        uint8_t *row = work->picture + first;
        for (int x = run->from; x < run->to; x++) {
            row[x] |= run->y > 0 && row[x - width];
            mask[first + x] &= (uint8_t)(1 - row[x]);
            shadow[first + x] |= row[x];
        }
    }
}

void bd_contact_shadow_cut(struct bd_mask_work *work, uint8_t *mask, uint8_t *shadow,
                           const uint8_t *f, const uint8_t *l, int channels)
{
    struct scene scene = { work, mask, f, l, channels };
    bd_components_find(&work->components, mask, work->width, 1, 0, true);
    if (!any_possible(work))
        return;
    find_black(&scene);
    judge(&scene);
    cut(work, mask, shadow);
}
