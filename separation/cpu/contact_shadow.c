#include "separation/cpu/contact_shadow.h"

#include <stdlib.h>
#include <string.h>

#include "separation/cpu/components.h"

/* Of a component, at its root. */
struct stand {
    int32_t left, right, top, bottom; /* right and bottom inclusive */
    int32_t longest;                  /* black run along a row of its foot */
    int32_t tops, blacks; /* of black runs in columns of its foot; those below more black */
    bool in_question, on_shadow;
};

struct bd_contact_shadow_work {
    struct bd_components components;
    struct stand *stands; /* one a run */
    uint8_t *black;       /* height x width: black pixels of feet, then what is cut */
    int32_t *down;        /* width: pixels of the mask from here downwards */
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
    work->stands = malloc(most * sizeof *work->stands);
    work->black = malloc((size_t)width * (size_t)height);
    work->down = malloc((size_t)width * sizeof *work->down);
    if (status == BD_OK && (!work->stands || !work->black || !work->down))
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
    free((*work)->stands);
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
static struct stand *stand_of(struct bd_contact_shadow_work *work, int32_t i)
{
    return &work->stands[bd_components_root(&work->components, i)];
}

static void bound(struct bd_contact_shadow_work *work)
{
    const struct bd_components *found = &work->components;
    for (int32_t i = 0; i < found->row_first[found->height]; i++)
        work->stands[i] = (struct stand){ .left = found->width, .top = found->height };
    for (int y = 0; y < found->height; y++)
        for (int32_t i = found->row_first[y]; i < found->row_first[y + 1]; i++) {
            struct stand *stand = stand_of(work, i);
            const struct bd_run *run = &found->runs[i];
            stand->left = run->from < stand->left ? run->from : stand->left;
            stand->right = run->to - 1 > stand->right ? run->to - 1 : stand->right;
            stand->top = y < stand->top ? y : stand->top;
            stand->bottom = y;
        }
}

static int32_t width_of(const struct stand *stand)
{
    return stand->right - stand->left + 1;
}

static int32_t height_of(const struct stand *stand)
{
    return stand->bottom - stand->top + 1;
}

/* Whether any component may stand on a shadow, by its shape. */
static bool question(struct bd_contact_shadow_work *work)
{
    const struct bd_components *found = &work->components;
    bool any = false;
    for (int32_t i = 0; i < found->row_first[found->height]; i++) {
        struct stand *stand = &work->stands[i];
        stand->in_question = found->runs[i].parent == i && stand->bottom < found->height - 1 &&
                             4 * width_of(stand) >= 3 * height_of(stand);
        any |= stand->in_question;
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
    if (10 * fl >= bd_contact_shadow_tenths * ll)
        return false;
    int least = 255 * channels, most = 0;
    for (int v = y > 0 ? y - 1 : 0; v <= y + 1 && v < height; v++)
        for (int u = x > 0 ? x - 1 : 0; u <= x + 1 && u < width; u++) {
            int sum = brightness(scene, u, v);
            least = sum < least ? sum : least;
            most = sum > most ? sum : most;
        }
    return most - least <= bd_contact_shadow_range * channels;
}

/* work->black := the black pixels of the feet of what is in question. */
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
            const struct stand *stand = stand_of(work, i);
            memset(down + x, 0, (size_t)(run.from - x) * sizeof *down);
            for (x = run.from; x < run.to; x++) {
                down[x]++;
                if (stand->in_question && bd_contact_shadow_foot * down[x] <= height_of(stand))
                    work->black[(int64_t)y * width + x] = is_black(scene, x, y);
            }
        }
        memset(down + x, 0, (size_t)(width - x) * sizeof *down);
    }
}

/* Whether nothing brighter stands on the top (x, y) of a black run. */
static bool goes_on(const struct scene *scene, int x, int y, int32_t height)
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
                        struct stand *stand)
{
    int width = scene->work->components.width;
    const uint8_t *row = scene->work->black + (int64_t)y * width;
    int32_t length = 0;
    for (int32_t x = from; x < to; x++) {
        length = row[x] ? length + 1 : 0;
        stand->longest = length > stand->longest ? length : stand->longest;
        if (!row[x] || (y > 0 && row[x - width]))
            continue;
        stand->tops++;
        stand->blacks += goes_on(scene, x, y, height_of(stand));
    }
}

static void judge(const struct scene *scene)
{
    struct bd_contact_shadow_work *work = scene->work;
    const struct bd_components *found = &work->components;
    for (int y = 0; y < found->height; y++)
        for (int32_t i = found->row_first[y]; i < found->row_first[y + 1]; i++) {
            struct stand *stand = stand_of(work, i);
            if (stand->in_question)
                count_black(scene, y, found->runs[i].from, found->runs[i].to, stand);
        }
    for (int32_t i = 0; i < found->row_first[found->height]; i++) {
        struct stand *stand = &work->stands[i];
        int32_t width = width_of(stand);
        stand->on_shadow = stand->in_question && 3 * stand->longest >= width &&
                           2 * stand->tops >= width && 2 * stand->blacks <= stand->tops;
    }
}

static void cut(struct bd_contact_shadow_work *work, uint8_t *mask, uint8_t *shadow)
{
    struct bd_components *found = &work->components;
    int width = found->width;
    for (int y = 0; y < found->height; y++)
        for (int32_t i = found->row_first[y]; i < found->row_first[y + 1]; i++) {
            if (!stand_of(work, i)->on_shadow)
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
    bd_components_find(&work->components, mask, 1, true);
    bound(work);
    if (!question(work))
        return;
    find_black(&scene);
    judge(&scene);
    cut(work, mask, shadow);
}
