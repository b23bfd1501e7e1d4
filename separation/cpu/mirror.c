/* The search for mirror images. */
#include "separation/cpu/mirror.h"

#include <stdlib.h>
#include <string.h>

#include "separation/cpu/mask_work.h"
#include "separation/shared/recurrence.h"

enum bd_status bd_mirror_create(struct bd_mirror_places *places, int width, int height)
{
    const int power = bd_recurrence_cell_power(height);
    *places = (struct bd_mirror_places){ .across = (width + (1 << power) - 1) >> power,
                                         .down = (height + (1 << power) - 1) >> power,
                                         .power = power };
    size_t cells = (size_t)places->across * (size_t)places->down;
    places->counts = calloc(cells, sizeof *places->counts);
    places->map = calloc(cells, 1);
    if (places->counts && places->map)
        return BD_OK;
    return bd_fail(BD_ERROR_MEMORY, "no memory for the places of mirror images");
}

void bd_mirror_destroy(struct bd_mirror_places *places)
{
    free(places->counts);
    free(places->map);
    *places = (struct bd_mirror_places){ 0 };
}

void bd_mirror_reset(struct bd_mirror_places *places)
{
    size_t cells = (size_t)places->across * (size_t)places->down;
    memset(places->counts, 0, cells * sizeof *places->counts);
    memset(places->map, 0, cells);
    places->any = false;
}

void bd_mirror_forget(struct bd_mirror_places *places)
{
    for (int i = 0; i < places->across * places->down; i++)
        bd_mirror_halve(&places->counts[i]);
}

void bd_mirror_make_map(struct bd_mirror_places *places)
{
    const int across = places->across, down = places->down;
    places->any = false;
    for (int y = 0; y < down; y++)
        for (int x = 0; x < across; x++) {
            bool place = bd_mirror_is_place(places->counts, across, down, x, y);
            places->map[y * across + x] = place;
            places->any |= place;
        }
}

struct scene {
    int width, height;
    const uint8_t *mask, *f, *l;
    uint8_t *image;
};

/* Whether pixel (x, y) explains pixel (u, v). */
static bool explains(const struct scene *scene, int x, int y, int u, int v)
{
    int64_t above = 3 * ((int64_t)y * scene->width + x),
            below = 3 * ((int64_t)v * scene->width + u);
    return bd_mirror_explains(scene->f + above, scene->f + below, scene->l + below);
}

static struct bd_mirror_votes ask(const struct scene *scene, struct bd_mirror_box box, int axis)
{
    const int across = bd_mirror_column_step(box), down = bd_mirror_row_step(box);
    struct bd_mirror_votes sum = { 0, 0 };
    for (int y = box.top; y <= box.bottom && 2 * y < axis; y += down)
        for (int x = box.left; x <= box.right; x += across) {
            if (!scene->mask[(int64_t)y * scene->width + x])
                continue;
            sum.all++;
            sum.votes += axis - y < scene->height && explains(scene, x, y, x, axis - y);
        }
    return sum;
}

/* Whether a pixel above the axis that is mapped to (u, v) or near it explains it. */
static bool is_image(const struct scene *scene, struct bd_mirror_box box, int axis, int u, int v)
{
    const int reach = bd_mirror_reach(box), step = bd_mirror_reach_step(box);
    for (int y = axis - v - reach; y <= axis - v + reach && y <= box.bottom && 2 * y < axis;
         y += step)
        for (int x = u > box.left ? u - 1 : box.left; y >= box.top && x <= u + 1 && x <= box.right;
             x++)
            if (scene->mask[(int64_t)y * scene->width + x] && explains(scene, x, y, u, v))
                return true;
    return false;
}

/* Adds the image of an object to scene->image. */
static void mark_image(const struct scene *scene, struct bd_mirror_box box, int axis)
{
    const int last = axis - box.top + bd_mirror_reach(box);
    for (int v = axis / 2 + 1; v <= last && v < scene->height; v++)
        for (int u = box.left > 0 ? box.left - 1 : 0; u <= box.right + 1 && u < scene->width; u++) {
            int64_t at = (int64_t)v * scene->width + u;
            if (scene->mask[at] && !scene->image[at])
                scene->image[at] = is_image(scene, box, axis, u, v);
        }
}

/* inside: axes inside the box are asked too. */
static struct bd_mirror_finding look_at(const struct scene *scene, struct bd_mirror_box box,
                                        bool inside)
{
    struct bd_mirror_finding finding = { false, -1, { 0, 1 } };
    for (int k = 0, axes = bd_mirror_axes(box); k < axes; k++) {
        const int axis = bd_mirror_axis(box, k);
        if (inside || bd_mirror_is_below(box, axis))
            bd_mirror_take(&finding, box, axis, ask(scene, box, axis));
    }
    return finding;
}

bool bd_mirror_find(struct bd_mask_work *work, uint8_t *image, struct bd_mirror_places *places,
                    const uint8_t *mask, const uint8_t *f, const uint8_t *l, bool evidence)
{
    const struct scene scene = { work->width, work->height, mask, f, l, image };
    bool any = false;
    if (!evidence && !places->any)
        return false;
    bd_components_find(&work->components, mask, work->width, 1, 0, true);
    for (int32_t i = 0; i < work->components.count; i++) {
        const struct bd_run *root = &work->components.runs[i];
        const struct bd_mirror_box box = { root->left, root->right, root->y, root->bottom };
        if (root->parent != i || !bd_mirror_is_object(box))
            continue;
        const int cell = bd_mirror_cell(box, places->across, places->power);
        const bool place = places->map[cell];
        if (!evidence && !place)
            continue;
        const struct bd_mirror_finding finding = look_at(&scene, box, place);
        if (evidence) {
            places->counts[cell].seen++;
            places->counts[cell].found += finding.below;
        }
        if (!place || finding.axis < 0)
            continue;
        if (!any)
            memset(image, 0, (size_t)work->width * (size_t)work->height);
        any = true;
        mark_image(&scene, box, finding.axis);
    }
    return any;
}
