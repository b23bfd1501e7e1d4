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
    places->sums = calloc((size_t)places->across, sizeof *places->sums);
    if (places->counts && places->map && places->sums)
        return BD_OK;
    return bd_fail(BD_ERROR_MEMORY, "no memory for the places of mirror images");
}

void bd_mirror_destroy(struct bd_mirror_places *places)
{
    free(places->counts);
    free(places->map);
    free(places->sums);
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

/* sums (across) := those of the columns of cells from `reach` rows above y to `reach` below. Called
 * for each y from 0 on. */
static void sum_columns(const struct bd_mirror_places *places, int y)
{
    enum { reach = bd_mirror_around };
    const int across = places->across, leaves = y - reach - 1;
    for (int row = y ? y + reach : 0; row <= y + reach && row < places->down; row++)
        for (int x = 0; x < across; x++) {
            places->sums[x].seen += places->counts[row * across + x].seen;
            places->sums[x].found += places->counts[row * across + x].found;
        }
    for (int x = 0; leaves >= 0 && x < across; x++) {
        places->sums[x].seen -= places->counts[leaves * across + x].seen;
        places->sums[x].found -= places->counts[leaves * across + x].found;
    }
}

/* bd_mirror_is_place for all cells, in time that does not depend on how far they reach. */
void bd_mirror_make_map(struct bd_mirror_places *places)
{
    enum { reach = bd_mirror_around };
    const int across = places->across;
    const struct bd_mirror_counts *sums = places->sums;
    places->any = false;
    memset(places->sums, 0, (size_t)across * sizeof *places->sums);
    for (int y = 0; y < places->down; y++) {
        uint32_t seen = 0, found = 0;
        sum_columns(places, y);
        for (int x = -reach; x < across; x++) {
            if (x + reach < across) {
                seen += sums[x + reach].seen;
                found += sums[x + reach].found;
            }
            if (x > reach) {
                seen -= sums[x - reach - 1].seen;
                found -= sums[x - reach - 1].found;
            }
            if (x < 0)
                continue;
            const bool place = bd_mirror_suffices(seen, found);
            places->map[y * across + x] = place;
            places->any |= place;
        }
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

/* A parallel loop over parts of objects. */
struct looking {
    const struct scene *scene;
    struct bd_mirror_object *objects;
};

/* Looks at a part of an object's axes. Those inside its box are asked only in a place of images. */
static void look_at_part(void *arg, int64_t item, int thread)
{
    (void)thread;
    const struct looking *looking = arg;
    struct bd_mirror_object *object = &looking->objects[item / bd_mirror_parts];
    const int part = (int)(item % bd_mirror_parts), axes = bd_mirror_axes(object->box);
    const struct bd_mirror_box box = object->box;
    struct bd_mirror_finding finding = { false, -1, { 0, 1 } };
    for (int k = part * axes / bd_mirror_parts; k < (part + 1) * axes / bd_mirror_parts; k++) {
        const int axis = bd_mirror_axis(box, k);
        if (object->place || bd_mirror_is_below(box, axis))
            bd_mirror_take(&finding, box, axis, ask(looking->scene, box, axis));
    }
    object->findings[part] = finding;
}

/* What was found in all parts, whose axes are in order. */
static struct bd_mirror_finding join_parts(const struct bd_mirror_object *object)
{
    struct bd_mirror_finding joined = object->findings[0];
    for (int i = 1; i < bd_mirror_parts; i++) {
        const struct bd_mirror_finding *part = &object->findings[i];
        const bool below = joined.below || part->below;
        if (part->axis >= 0 && bd_mirror_is_better(part->best, joined.best))
            joined = *part;
        joined.below = below;
    }
    return joined;
}

/* work->mirrored := the objects that are looked at. Returns how many. */
static int64_t choose_objects(struct bd_mask_work *work, const struct bd_mirror_places *places,
                              const uint8_t *mask, bool evidence)
{
    int64_t count = 0;
    bd_components_find(&work->components, mask, work->width, 1, 0, true);
    for (int32_t i = 0; i < work->components.count; i++) {
        const struct bd_run *root = &work->components.runs[i];
        const struct bd_mirror_box box = { root->left, root->right, root->y, root->bottom };
        if (root->parent != i || !bd_mirror_is_object(box))
            continue;
        const int cell = bd_mirror_cell(box, places->across, places->power);
        const bool place = places->map[cell];
        if (evidence || place)
            work->mirrored[count++] =
                (struct bd_mirror_object){ .box = box, .cell = cell, .place = place };
    }
    return count;
}

bool bd_mirror_find(struct bd_mask_work *work, uint8_t *image, struct bd_mirror_places *places,
                    const uint8_t *mask, const uint8_t *f, const uint8_t *l, bool evidence)
{
    const struct scene scene = { work->width, work->height, mask, f, l, image };
    struct looking looking = { .scene = &scene, .objects = work->mirrored };
    bool any = false;
    if (!evidence && !places->any)
        return false;
    const int64_t count = choose_objects(work, places, mask, evidence);
    bd_pool_run(work->pool, look_at_part, &looking, count * bd_mirror_parts);
    for (int64_t i = 0; i < count; i++) {
        const struct bd_mirror_object *object = &work->mirrored[i];
        const struct bd_mirror_finding finding = join_parts(object);
        if (evidence) {
            places->counts[object->cell].seen++;
            places->counts[object->cell].found += finding.below;
        }
        if (!object->place || finding.axis < 0)
            continue;
        if (!any)
            memset(image, 0, (size_t)work->width * (size_t)work->height);
        any = true;
        mark_image(&scene, object->box, finding.axis);
    }
    return any;
}
