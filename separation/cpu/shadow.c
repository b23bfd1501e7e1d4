/* The search for shadows. Two passes over the rows of a strip, for grey shadows and for colours,
 * leave flags: which pixels may be shadow, and which are near one that is certain. */
#include "separation/cpu/shadow.h"

#include <stdlib.h>
#include <string.h>

#include "separation/cpu/neighbourhood.h"

enum { reach = bd_shadow_reach };

/* Flags of a pixel while shadows are looked for. In `shadow`: it may be one. In work->picture: it
 * is within reach, along its row, of one that is certain. */
enum flag {
    grey = 1,
    coloured = 2,
    /* In `shadow` only: */
    certain = 4, /* as a grey one */
    dark = 8     /* it has a colour of its own */
};

/* Of the sums of a neighbourhood, in place of f f, f l and l l: f, and above it l, of a channel. In
 * place of the count: that, how many have colours of shadows, and the texture. */
enum { l_bit = 16, coloured_bit = 5, texture_bit = 10 };

struct search {
    struct bd_mask_work *work;
    uint8_t *shadow;
    const uint8_t *mask, *f, *l;
    int channels;
    struct bd_shadow_colours *colours; /* NULL: none is known, and none is learned */
    bool evidence;
    struct bd_shadow_evidence *added; /* by the thread in hand; NULL: the frame is no evidence */
};

/* The texture of the background, with colour, at pixel p, of column x and row y. */
static uint32_t texture(const struct search *search, size_t p, int x, int y)
{
    const struct bd_mask_work *work = search->work;
    const uint8_t *green = search->l + 3 * p + 1;
    const int right = x + 1 < work->width ? green[3] : *green;
    const int down = y + 1 < work->height ? green[3 * (size_t)work->width] : *green;
    return bd_shadow_texture(*green, right, down);
}

/* bd_shadow_colour of one pixel. The inverse is too large by less than 1, which changes no
 * quotient: 256 f l is below 2^24. */
static int own_colour(const uint32_t *inverse, const uint8_t *f, const uint8_t *l, int channels)
{
    int ratios[3] = { 0 };
    for (int c = 0; c < channels; c++) {
        if (l[c] < bd_shadow_least_light)
            return -1;
        ratios[c] = (int)((uint64_t)(256u * f[c]) * inverse[l[c]] >> 24);
    }
    if (channels == 1)
        ratios[1] = ratios[2] = ratios[0];
    return bd_shadow_colour_of(ratios);
}

/* Sums of a row, for the colours of neighbourhoods: those of dark pixels. shadow gets `dark` there,
 * and `coloured` where a pixel's own colour is one of shadows. */
static void take_colours(const void *arg, struct bd_sums sums, int y, bool own)
{
    const struct search *search = arg;
    const int width = search->work->width;
    const size_t first = (size_t)y * (size_t)width;
    const uint8_t *row = search->mask + first, *end = row + width;
    const size_t channels = (size_t)search->channels, green = channels / 2;
    const bool objects =
        search->channels == 3 && search->colours->scene.any >> bd_shadow_of_objects & 1;
    for (const uint8_t *at = row; (at = bd_mask_next(at, end)); at++) {
        const int x = (int)(at - row);
        const size_t p = first + (size_t)x;
        const uint8_t *f = search->f + channels * p, *l = search->l + channels * p;
        const int colour = own_colour(search->colours->inverse, f, l, search->channels);
        if (colour < 0)
            continue;
        const bool shadow = search->colours->scene.kinds[colour] == bd_shadow_of_shadows;
        if (own)
            search->shadow[p] |= shadow ? dark | coloured : dark;
        sums.ff[x + reach] = f[0] + ((uint32_t)l[0] << l_bit);
        sums.fl[x + reach] = f[green] + ((uint32_t)l[green] << l_bit);
        sums.ll[x + reach] = f[2 * green] + ((uint32_t)l[2 * green] << l_bit);
        sums.count[x + reach] = 1 + ((uint32_t)shadow << coloured_bit) +
                                (objects ? texture(search, p, x, y) << texture_bit : 0);
        bd_sums_use(sums, x + reach, x + reach + 1);
    }
}

/* The pairs of pixel p become evidence of a colour. */
static void add_pairs(const struct search *search, struct bd_shadow_evidence *colour, size_t p,
                      int x, int y)
{
    const size_t width = (size_t)search->work->width, channels = (size_t)search->channels;
    const size_t steps[] = { 1, width };
    const bool inside[] = { x + 1 < search->work->width, y + 1 < search->work->height };
    for (int i = 0; i < 2; i++) {
        const size_t q = p + steps[i];
        if (!inside[i] || !search->mask[q])
            continue;
        const int f = bd_illumination_of_pair(search->f + channels * p, search->f + channels * q,
                                              search->channels);
        const int l = bd_illumination_of_pair(search->l + channels * p, search->l + channels * q,
                                              search->channels);
        colour->pairs++;
        colour->ff += f * f;
        colour->fl += f * l;
        colour->ll += l * l;
    }
}

/* The pixels of a row within reach of pixel x get a flag. */
static void mark_near(uint8_t *near, int width, int x, enum flag flag)
{
    for (int u = x < reach ? 0 : x - reach; u <= x + reach && u < width; u++)
        near[u] |= (uint8_t)flag;
}

/* work->picture gets `coloured` within reach of a pixel that is certain by its colour, and the
 * pixels of objects are no longer certain as grey ones. */
static void judge_colours(const void *arg, struct bd_sums sum, int y)
{
    const struct search *search = arg;
    const struct bd_mask_work *work = search->work;
    const size_t first = (size_t)y * (size_t)work->width;
    const uint8_t *row = search->mask + first, *end = row + work->width;
    uint8_t *flags = search->shadow + first, *near = work->picture + first;
    struct bd_total total = BD_TOTAL_NONE;
    for (const uint8_t *at = row; (at = bd_mask_next(at, end)); at++) {
        const int x = (int)(at - row);
        if (!(flags[x] & dark) || !(search->added || flags[x] & (certain | coloured)))
            continue;
        bd_total_move(&total, sum, reach, x);
        const uint32_t low = (1u << l_bit) - 1, few = (1u << coloured_bit) - 1;
        const uint32_t f[] = { total.ff & low, total.fl & low, total.ll & low };
        const uint32_t l[] = { total.ff >> l_bit, total.fl >> l_bit, total.ll >> l_bit };
        const uint32_t count = total.count & few;
        const int colour = count < bd_shadow_least_count ? -1 : bd_shadow_colour(f, l, count);
        if (colour < 0)
            continue;
        if (search->added && count >= bd_shadow_least_around)
            add_pairs(search, &search->added[colour], first + (size_t)x, x, y);
        const uint8_t kind = search->colours->scene.kinds[colour];
        if (kind == bd_shadow_of_objects &&
            total.count >> texture_bit >= bd_shadow_least_texture * count)
            flags[x] &= (uint8_t)~certain;
        if (kind == bd_shadow_of_shadows && flags[x] & coloured &&
            (total.count >> coloured_bit & few) >= bd_shadow_least_count)
            mark_near(near, work->width, x, coloured);
    }
}

/* The plausible pixels of a row, with colour only; shadow gets `grey` there, where the row is the
 * strip's own. */
static void take_plausible(const void *arg, struct bd_sums sums, int y, bool own)
{
    const struct search *search = arg;
    const int width = search->work->width;
    const size_t first = (size_t)y * (size_t)width;
    const uint8_t *row = search->mask + first, *end = row + width;
    uint8_t *shadow = search->shadow + first;
    for (const uint8_t *at = row; (at = bd_mask_next(at, end)); at++) {
        const int x = (int)(at - row);
        const uint8_t *f = search->f + 3 * (first + (size_t)x);
        const uint8_t *l = search->l + 3 * (first + (size_t)x);
        uint32_t ff = 0, fl = 0, ll = 0;
        for (int c = 0; c < 3; c++) {
            uint32_t a = f[c], b = l[c];
            ff += a * a;
            fl += a * b;
            ll += b * b;
        }
        if (!bd_shadow_fits(ff, fl, ll, 1, bd_shadow_most))
            continue;
        if (own)
            shadow[x] |= grey;
        sums.ff[x + reach] = ff;
        sums.fl[x + reach] = fl;
        sums.ll[x + reach] = ll;
        sums.count[x + reach] = 1;
        bd_sums_use(sums, x + reach, x + reach + 1);
    }
}

/* shadow gets `certain` where a plausible pixel is. */
static void find_certain(const void *arg, struct bd_sums sum, int y)
{
    const struct search *search = arg;
    const struct bd_mask_work *work = search->work;
    const size_t first = (size_t)y * (size_t)work->width;
    const uint8_t *row = search->mask + first, *end = row + work->width;
    uint8_t *flags = search->shadow + first;
    struct bd_total total = BD_TOTAL_NONE;
    for (const uint8_t *at = row; (at = bd_mask_next(at, end)); at++) {
        const int x = (int)(at - row);
        if (!(flags[x] & grey))
            continue;
        bd_total_move(&total, sum, reach, x);
        if (total.count >= bd_shadow_least_count &&
            bd_shadow_fits(total.ff, total.fl, total.ll, total.count, bd_shadow_most_mean))
            flags[x] |= certain;
    }
}

/* work->picture gets `grey` within reach of a certain pixel of its row. */
static void find_near(const struct search *search, int y)
{
    const int width = search->work->width;
    const size_t first = (size_t)y * (size_t)width;
    const uint8_t *row = search->mask + first, *end = row + width;
    for (const uint8_t *at = row; (at = bd_mask_next(at, end)); at++)
        if (search->shadow[first + (size_t)(at - row)] & certain)
            mark_near(search->work->picture + first, width, (int)(at - row), grey);
}

/* The flags of a strip. */
static void judge_strip(void *arg, int64_t item, int thread)
{
    struct search search = *(const struct search *)arg;
    const struct bd_neighbourhood of_colours = { reach, &search, take_colours, judge_colours };
    const struct bd_neighbourhood of_grey = { reach, &search, take_plausible, find_certain };
    const size_t width = (size_t)search.work->width;
    int to, from = bd_mask_strip(search.work, item, &to);
    memset(search.shadow + (size_t)from * width, 0, (size_t)(to - from) * width);
    memset(search.work->picture + (size_t)from * width, 0, (size_t)(to - from) * width);
    if (search.channels == 3)
        bd_neighbourhood_strip(search.work, &of_grey, item, thread);
    if (search.colours) {
        if (search.evidence)
            search.added = search.colours->added + (size_t)thread * bd_shadow_colour_count;
        bd_neighbourhood_strip(search.work, &of_colours, item, thread);
    }
    for (int y = from; y < to && search.channels == 3; y++)
        find_near(&search, y);
}

/* The pixels of a strip that have no certain pixel of their sort near them are no shadow. */
static void finish_strip(void *arg, int64_t item, int thread)
{
    (void)thread;
    const struct search *search = arg;
    const struct bd_mask_work *work = search->work;
    size_t width = (size_t)work->width;
    int to, from = bd_mask_strip(work, item, &to);
    for (int y = from; y < to; y++) {
        const uint8_t *mask = search->mask + (size_t)y * width, *end = mask + width;
        uint8_t *row = search->shadow + (size_t)y * width;
        for (const uint8_t *at = mask; (at = bd_mask_next(at, end)); at++) {
            const size_t x = (size_t)(at - mask);
            const uint8_t flags = row[x] & (grey | coloured);
            uint8_t near = 0;
            for (int v = y - reach; v <= y + reach && flags; v++)
                if (v >= 0 && v < work->height)
                    near |= work->picture[(size_t)v * width + x];
            row[x] = (flags & near) != 0;
        }
    }
}

/* The evidence of a frame joins that of the scene, and the kinds follow. */
static void learn(struct bd_shadow_colours *colours)
{
    struct bd_shadow_scene *scene = &colours->scene;
    int64_t pairs = 0;
    for (int i = 0; i < bd_shadow_colour_count; i++) {
        struct bd_shadow_evidence *all = &scene->evidence[i];
        for (int t = 0; t < colours->threads; t++) {
            struct bd_shadow_evidence *one = &colours->added[t * bd_shadow_colour_count + i];
            all->pairs += one->pairs;
            all->ff += one->ff;
            all->fl += one->fl;
            all->ll += one->ll;
            *one = (struct bd_shadow_evidence){ 0 };
        }
        pairs += all->pairs;
    }
    const int64_t divisor = bd_shadow_divisor(pairs);
    for (int i = 0; i < bd_shadow_colour_count && divisor > 1; i++)
        bd_shadow_divide(&scene->evidence[i], divisor);
    scene->any = 0;
    for (int i = 0; i < bd_shadow_colour_count; i++) {
        scene->kinds[i] = (uint8_t)bd_shadow_judge(scene->evidence, i);
        if (scene->kinds[i] != bd_shadow_unknown)
            scene->any |= 1 << scene->kinds[i];
    }
}

enum bd_status bd_shadow_create(struct bd_shadow_colours *colours, int threads)
{
    *colours = (struct bd_shadow_colours){ .threads = threads };
    for (uint32_t i = 1; i < 256; i++)
        colours->inverse[i] = ((1u << 24) + i - 1) / i;
    colours->added = calloc((size_t)threads * bd_shadow_colour_count, sizeof *colours->added);
    return colours->added ? BD_OK
                          : bd_fail(BD_ERROR_MEMORY, "no memory for the colours of shadows");
}

void bd_shadow_destroy(struct bd_shadow_colours *colours)
{
    free(colours->added);
    colours->added = NULL;
}

void bd_shadow_reset(struct bd_shadow_colours *colours)
{
    memset(&colours->scene, 0, sizeof colours->scene);
}

void bd_shadow_find(struct bd_mask_work *work, uint8_t *shadow, struct bd_shadow_colours *colours,
                    const uint8_t *mask, const uint8_t *f, const uint8_t *l, int channels,
                    bool evidence)
{
    struct search search = { .work = work,
                             .shadow = shadow,
                             .mask = mask,
                             .f = f,
                             .l = l,
                             .channels = channels,
                             .colours = evidence || colours->scene.any ? colours : NULL,
                             .evidence = evidence };
    bd_mask_run(work, judge_strip, &search);
    bd_mask_run(work, finish_strip, &search);
    if (evidence)
        learn(colours);
}
