/* The search for shadows. Two passes over the rows of a strip, for grey shadows and for colours,
 * leave flags: which pixels may be shadow, and which are near one that is certain. */
#include "separation/cpu/shadow.h"

#include <stdlib.h>
#include <string.h>

#include "separation/cpu/neighbourhood.h"

/* Flags of a pixel while shadows are looked for. In `shadow`: it may be one, of either sort. In
 * work->picture: it is within reach, along its row, of one that is certain of this sort. */
enum flag {
    grey = 1,
    coloured = 2,
    /* In `shadow` only: it is certain, by grey or by its colour. */
    certain_bit = 2,
    certain_grey = grey << certain_bit,
    certain_coloured = coloured << certain_bit,
    dark = 16 /* it has a colour of its own */
};

struct search {
    struct bd_mask_work *work;
    uint8_t *shadow;
    const uint8_t *mask, *f, *l;
    int channels;
    struct bd_shadow_colours *colours; /* NULL: none is known, and none is learned */
    bool evidence;
    struct bd_shadow_evidence *added; /* by the thread in hand; NULL: the frame is no evidence */
};

static bool knows(const struct search *search, enum bd_shadow_kind kind)
{
    return search->colours->scene.any >> kind & 1;
}

/* The texture of the background, with colour, at the pixels of a block. */
static void find_texture(const struct search *search, struct bd_block block, uint32_t *texture)
{
    const struct bd_mask_work *work = search->work;
    const uint8_t *l = search->l + 3 * block.first;
    const size_t below = block.y + 1 < work->height ? 3 * (size_t)work->width : 0;
    work->kernels->texture(block.count, block.x + block.count < work->width, l, l + below, texture);
}

/* Sums for the colours of neighbourhoods: those of dark pixels. shadow gets `dark` there, and
 * `coloured` where a pixel's own colour is one of shadows. */
static void take_colours(const void *arg, struct bd_block block, struct bd_sums *sums)
{
    const struct search *search = arg;
    const size_t at = (size_t)search->channels * block.first;
    const bool objects = search->channels == 3 && knows(search, bd_shadow_of_objects);
    uint8_t *flags = search->shadow + block.first;
    uint32_t texture[bd_block_pixels] = { 0 };
    int32_t colours[bd_block_pixels];
    search->work->kernels->own_colours(block.count, search->channels, search->f + at,
                                       search->l + at, search->mask + block.first, sums, colours);
    if (objects)
        find_texture(search, block, texture);
    for (int i = 0; i < block.count; i++) {
        if (colours[i] < 0)
            continue;
        const bool shadow = search->colours->scene.kinds[colours[i]] == bd_shadow_of_shadows;
        if (block.own)
            flags[i] |= shadow ? dark | coloured : dark;
        sums->count[i] +=
            ((uint32_t)shadow << bd_sums_shadows_bit) + (texture[i] << bd_sums_texture_bit);
    }
}

/* The pairs of pixel i of a block become evidence of a colour. */
static void add_pairs(const struct search *search, struct bd_shadow_evidence *colour,
                      struct bd_block block, int i)
{
    const size_t width = (size_t)search->work->width, channels = (size_t)search->channels;
    const size_t p = block.first + (size_t)i, steps[] = { 1, width };
    const bool inside[] = { block.x + i + 1 < search->work->width,
                            block.y + 1 < search->work->height };
    for (int way = 0; way < 2; way++) {
        const size_t q = p + steps[way];
        if (!inside[way] || !search->mask[q])
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

/* shadow gets `certain_coloured` where a pixel is certain by its colour, and the pixels of objects
 * are no longer certain as grey ones. */
static void judge_colours(const void *arg, struct bd_block block, const struct bd_sums *totals)
{
    const struct search *search = arg;
    const uint8_t *kinds = search->colours->scene.kinds;
    uint8_t *flags = search->shadow + block.first;
    int32_t colours[bd_block_pixels];
    search->work->kernels->colours_around(totals, colours);
    for (int i = 0; i < block.count; i++) {
        if (!(flags[i] & dark) || colours[i] < 0)
            continue;
        const uint32_t all = totals->count[i], few = (1U << bd_sums_shadows_bit) - 1;
        const uint32_t count = all & few, shadows = all >> bd_sums_shadows_bit & few;
        if (search->added && count >= bd_shadow_least_around)
            add_pairs(search, &search->added[colours[i]], block, i);
        const uint8_t kind = kinds[colours[i]];
        if (kind == bd_shadow_of_objects &&
            all >> bd_sums_texture_bit >= bd_shadow_least_texture * count)
            flags[i] &= (uint8_t)~certain_grey;
        if (kind == bd_shadow_of_shadows && flags[i] & coloured && shadows >= bd_shadow_least_count)
            flags[i] |= certain_coloured;
    }
}

/* Sums of the plausible pixels, with colour only; shadow gets `grey` there. */
static void take_grey(const void *arg, struct bd_block block, struct bd_sums *sums)
{
    const struct search *search = arg;
    const size_t at = 3 * block.first;
    uint8_t plausible[bd_block_pixels];
    bd_block_fetch(search->work, block, search->f, 3);
    bd_block_fetch(search->work, block, search->l, 3);
    search->work->kernels->plausible(block.count, search->f + at, search->l + at,
                                     search->mask + block.first, sums, plausible);
    for (int i = 0; block.own && i < block.count; i++)
        search->shadow[block.first + (size_t)i] = plausible[i] ? grey : 0;
}

/* shadow gets `certain_grey` where a plausible pixel is. */
static void judge_grey(const void *arg, struct bd_block block, const struct bd_sums *totals)
{
    const struct search *search = arg;
    uint8_t *flags = search->shadow + block.first, certain[bd_block_pixels];
    search->work->kernels->certain(totals, certain);
    for (int i = 0; i < block.count; i++)
        flags[i] |= certain[i] && flags[i] & grey ? certain_grey : 0;
}

/* work->picture gets the sorts that are certain within reach, in row y. */
static void find_near(const struct search *search, int y, int thread)
{
    const struct bd_mask_work *work = search->work;
    const size_t width = (size_t)work->width, first = (size_t)y * width;
    const uint8_t *flags = search->shadow + first;
    uint8_t *line = bd_mask_line(work, thread), *certain = line, *near = work->picture + first;
    if (!work->kernels->has(work->width, flags, certain_grey | certain_coloured)) {
        memset(near, 0, width);
        return;
    }
    for (size_t x = 0; x < width; x++)
        certain[x] = flags[x] >> certain_bit & (grey | coloured);
    work->kernels->spread(work->width, certain, bd_shadow_reach, line + width, near);
}

/* The flags of a strip. */
static void judge_strip(void *arg, int64_t item, int thread)
{
    struct search search = *(const struct search *)arg;
    struct bd_mask_work *work = search.work;
    struct bd_neighbourhood neighbourhood = { .reach = bd_shadow_reach,
                                              .taken = search.mask,
                                              .judged = search.shadow,
                                              .bits = grey,
                                              .counted = (1U << bd_sums_shadows_bit) - 1,
                                              .least = bd_shadow_least_count,
                                              .search = &search,
                                              .take = take_grey,
                                              .judge = judge_grey };
    const size_t width = (size_t)work->width;
    int to, from = bd_mask_strip(work, item, &to);
    memset(search.shadow + (size_t)from * width, 0, (size_t)(to - from) * width);
    if (search.channels == 3)
        bd_neighbourhood_strip(work, &neighbourhood, item, thread);
    neighbourhood.bits = search.evidence ? dark : certain_grey | coloured;
    neighbourhood.take = take_colours;
    neighbourhood.judge = judge_colours;
    if (search.colours) {
        if (search.evidence)
            search.added = search.colours->added + (size_t)thread * bd_shadow_colour_count;
        bd_neighbourhood_strip(work, &neighbourhood, item, thread);
    }
    for (int y = from; y < to; y++)
        find_near(&search, y, thread);
}

/* The pixels of a block that have no certain pixel of their sort near them are no shadow. */
static void finish_block(const struct search *search, struct bd_block block)
{
    enum { reach = bd_shadow_reach };
    const struct bd_mask_work *work = search->work;
    uint8_t *shadow = search->shadow + block.first, near[bd_block_pixels] = { 0 };
    for (int y = block.y - reach; y <= block.y + reach; y++) {
        if (y < 0 || y >= work->height)
            continue;
        const uint8_t *row = work->picture + (size_t)y * (size_t)work->width + block.x;
        for (int i = 0; i < block.count; i++)
            near[i] |= row[i];
    }
    for (int i = 0; i < block.count; i++)
        shadow[i] = (shadow[i] & near[i]) != 0;
}

static void finish_strip(void *arg, int64_t item, int thread)
{
    (void)thread;
    const struct search *search = arg;
    const struct bd_mask_work *work = search->work;
    const int blocks = (int)bd_mask_blocks(work->width);
    int to, from = bd_mask_strip(work, item, &to);
    for (int y = from; y < to; y++)
        for (int i = 0; i < blocks; i++) {
            const struct bd_block block = bd_block_at(work, i, y);
            if (work->kernels->has(block.count, search->shadow + block.first, UINT8_MAX))
                finish_block(search, block);
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
