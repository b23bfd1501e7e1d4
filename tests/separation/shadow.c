/* The search for shadows against its definition on random pictures, and on drawn cases; what is
 * learned of their colours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "separation/cpu/shadow.h"
#include "separation/shared/shadow.h"
#include "tests/support/random.h"

enum { most_pixels = 80 * 100 };

/* (f, f), (f, l), (l, l) of a pixel. */
struct products {
    int64_t ff, fl, ll;
};

static struct products products_at(const uint8_t *f, const uint8_t *l, int p)
{
    struct products sums = { 0 };
    for (int c = 0; c < 3; c++) {
        sums.ff += f[3 * p + c] * f[3 * p + c];
        sums.fl += f[3 * p + c] * l[3 * p + c];
        sums.ll += l[3 * p + c] * l[3 * p + c];
    }
    return sums;
}

static bool meets(struct products sums, int count, int most)
{
    return 2 * sums.fl > sums.ll && sums.fl < sums.ll &&
           sums.ff * sums.ll - sums.fl * sums.fl < 3 * (int64_t)most * most * count * sums.ll;
}

/* Whether a plausible pixel is certain. */
static bool plain_certain(const uint8_t *plausible, const uint8_t *f, const uint8_t *l, int width,
                          int height, int x, int y)
{
    struct products sums = { 0 };
    int count = 0;
    for (int v = y - bd_shadow_reach; v <= y + bd_shadow_reach; v++)
        for (int u = x - bd_shadow_reach; u <= x + bd_shadow_reach; u++) {
            if (u < 0 || v < 0 || u >= width || v >= height || !plausible[v * width + u])
                continue;
            struct products one = products_at(f, l, v * width + u);
            sums.ff += one.ff;
            sums.fl += one.fl;
            sums.ll += one.ll;
            count++;
        }
    return count >= bd_shadow_least_count && meets(sums, count, bd_shadow_most_mean);
}

/* Of the neighbourhood of a pixel, by its dark pixels. */
struct around {
    int colour, count, coloured;
    int64_t texture;
};

struct scene {
    const uint8_t *mask, *f, *l, *kinds;
    int width, height, channels;
};

/* The value of pixel p in a channel; without colour all are the same. */
static int value(const struct scene *s, const uint8_t *picture, int p, int c)
{
    return picture[s->channels * p + (s->channels == 1 ? 0 : c)];
}

/* The difference of a pair, 32 a channel at most. */
static int pair_of(const struct scene *s, const uint8_t *picture, int p, int q)
{
    const int most = 32 * s->channels;
    int difference = 0;
    for (int c = 0; c < s->channels; c++)
        difference += value(s, picture, q, c) - value(s, picture, p, c);
    return difference > most ? most : difference < -most ? -most : difference;
}

static bool is_inside(const struct scene *s, int x, int y)
{
    return x >= 0 && y >= 0 && x < s->width && y < s->height;
}

static int plain_own_colour(const struct scene *s, int p)
{
    uint32_t f[3], l[3];
    for (int c = 0; c < 3; c++) {
        f[c] = (uint32_t)value(s, s->f, p, c);
        l[c] = (uint32_t)value(s, s->l, p, c);
    }
    return bd_shadow_colour(f, l, 1);
}

static struct around plain_around(const struct scene *s, int x, int y)
{
    struct around around = { .colour = -1 };
    uint32_t f[3] = { 0 }, l[3] = { 0 };
    for (int v = y - bd_shadow_reach; v <= y + bd_shadow_reach; v++)
        for (int u = x - bd_shadow_reach; u <= x + bd_shadow_reach; u++) {
            const int p = v * s->width + u;
            if (!is_inside(s, u, v) || !s->mask[p])
                continue;
            const int own = plain_own_colour(s, p);
            if (own < 0)
                continue;
            for (int c = 0; c < 3; c++) {
                f[c] += (uint32_t)value(s, s->f, p, c);
                l[c] += (uint32_t)value(s, s->l, p, c);
            }
            around.coloured += s->kinds[own] == bd_shadow_of_shadows;
            around.count++;
            for (int down = 0; down < 2; down++) {
                if (!is_inside(s, u + !down, v + down))
                    continue;
                const int q = (v + down) * s->width + u + !down;
                const int green = value(s, s->l, q, 1) - value(s, s->l, p, 1);
                const int d = green > 32 ? 32 : green < -32 ? -32 : green;
                around.texture += (int64_t)d * d;
            }
        }
    if (around.count >= 9)
        around.colour = bd_shadow_colour(f, l, (uint32_t)around.count);
    return around;
}

static bool is_object(const struct scene *s, struct around around)
{
    return around.colour >= 0 && s->kinds[around.colour] == bd_shadow_of_objects &&
           around.texture >= (int64_t)11 * around.count;
}

static bool is_sure(const struct scene *s, struct around around)
{
    return around.colour >= 0 && s->kinds[around.colour] == bd_shadow_of_shadows &&
           around.coloured >= 9;
}

static void plain_learn(const struct scene *s, struct bd_shadow_evidence *evidence)
{
    for (int y = 0; y < s->height; y++)
        for (int x = 0; x < s->width; x++) {
            const int p = y * s->width + x;
            const struct around around = plain_around(s, x, y);
            if (!s->mask[p] || plain_own_colour(s, p) < 0 || around.colour < 0 || around.count < 20)
                continue;
            for (int down = 0; down < 2; down++) {
                const int q = (y + down) * s->width + x + !down;
                if (!is_inside(s, x + !down, y + down) || !s->mask[q])
                    continue;
                const int f = pair_of(s, s->f, p, q), l = pair_of(s, s->l, p, q);
                evidence[around.colour].pairs++;
                evidence[around.colour].ff += (int64_t)f * f;
                evidence[around.colour].fl += (int64_t)f * l;
                evidence[around.colour].ll += (int64_t)l * l;
            }
        }
}

/* What a search found. */
struct found {
    int grey, coloured, objects;
};

/* Of all colours. */
static void take_kinds(struct bd_shadow_colours *colours, const uint8_t *kinds)
{
    memcpy(colours->scene.kinds, kinds, bd_shadow_colour_count);
    colours->scene.any = 0;
    for (int i = 0; i < bd_shadow_colour_count; i++)
        colours->scene.any |= kinds[i] ? 1 << kinds[i] : 0;
}

/* Both searches with the same kinds of colours, and what they learn: from two frames as much again,
 * and from one that is no evidence nothing. */
static void check(struct bd_pool *pool, const struct scene *s, struct found *found)
{
    static uint8_t plausible[most_pixels], certain[most_pixels], sure[most_pixels];
    static uint8_t shadow[most_pixels + 1];
    static struct bd_shadow_evidence evidence[bd_shadow_colour_count];
    const int pixels = s->width * s->height;
    struct bd_shadow_colours colours;
    struct bd_mask_work *work;
    assert_int_equal(bd_shadow_create(&colours, bd_pool_threads(pool)), BD_OK);
    assert_int_equal(bd_mask_work_create(&work, pool, s->width, s->height), BD_OK);
    static uint8_t again[most_pixels];
    take_kinds(&colours, s->kinds);
    shadow[pixels] = 77;
    bd_shadow_find(work, shadow, &colours, s->mask, s->f, s->l, s->channels, true);
    assert_int_equal(shadow[pixels], 77);
    memset(evidence, 0, sizeof evidence);
    plain_learn(s, evidence);
    assert_memory_equal(colours.scene.evidence, evidence, sizeof evidence);
    for (int i = 0; i < bd_shadow_colour_count; i++)
        assert_int_equal(colours.scene.kinds[i], bd_shadow_judge(evidence, i));
    for (int frame = 0; frame < 2; frame++) {
        plain_learn(s, evidence);
        for (int evident = 1; evident >= 0; evident--) {
            take_kinds(&colours, s->kinds);
            bd_shadow_find(work, again, &colours, s->mask, s->f, s->l, s->channels, evident);
            assert_memory_equal(again, shadow, (size_t)pixels);
            assert_memory_equal(colours.scene.evidence, evidence, sizeof evidence);
        }
    }
    bd_mask_work_destroy(&work);
    bd_shadow_destroy(&colours);
    for (int p = 0; p < pixels; p++)
        plausible[p] =
            s->channels == 3 && s->mask[p] && meets(products_at(s->f, s->l, p), 1, bd_shadow_most);
    for (int p = 0; p < pixels; p++) {
        const struct around around = plain_around(s, p % s->width, p / s->width);
        certain[p] = plausible[p] && plain_certain(plausible, s->f, s->l, s->width, s->height,
                                                   p % s->width, p / s->width);
        const int own = plain_own_colour(s, p);
        const bool object = own >= 0 && is_object(s, around);
        found->objects += certain[p] && object;
        certain[p] &= !object;
        sure[p] =
            s->mask[p] && own >= 0 && s->kinds[own] == bd_shadow_of_shadows && is_sure(s, around);
    }
    for (int y = 0; y < s->height; y++)
        for (int x = 0; x < s->width; x++) {
            const int p = y * s->width + x, own = plain_own_colour(s, p);
            bool near = false, near_sure = false;
            for (int v = y - bd_shadow_reach; v <= y + bd_shadow_reach; v++)
                for (int u = x - bd_shadow_reach; u <= x + bd_shadow_reach; u++)
                    if (is_inside(s, u, v)) {
                        near |= certain[v * s->width + u];
                        near_sure |= sure[v * s->width + u];
                    }
            const bool grey = plausible[p] && near;
            const bool coloured =
                s->mask[p] && own >= 0 && s->kinds[own] == bd_shadow_of_shadows && near_sure;
            assert_int_equal(shadow[p], grey || coloured);
            found->grey += grey;
            found->coloured += coloured && !grey;
        }
}

/* Blocks of shadow, of shadow with noise, and of other things. */
static void test_random(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 80, 100 }, { 1, 1 }, { 3, 70 }, { 61, 2 }, { 47, 33 } };
    static uint8_t mask[most_pixels], f[most_pixels * 3], l[most_pixels * 3];
    uint8_t kinds[bd_shadow_colour_count] = { 0 };
    struct bd_pool *pool;
    uint32_t seed = 3;
    struct found found = { 0 };
    assert_int_equal(bd_pool_create(&pool, 2), BD_OK);
    for (int round = 0; round < 60; round++) {
        int width = sizes[round % 5][0], height = sizes[round % 5][1];
        for (int p = 0; p < width * height; p++) {
            uint32_t block = (uint32_t)(p / width / 6 * 31 + p % width / 6 + round * 999);
            uint32_t kind = random_bits(&block) % 4, percent = 40 + random_bits(&block) % 65;
            mask[p] = random_bits(&seed) % 100 < 85;
            for (int c = 0; c < 3; c++) {
                int least = p % 50 < 3 ? 0 : 30; /* black ground, too */
                int there = least + (int)(random_bits(&seed) % (least ? 220 : 12));
                int here = there * (int)percent / 100 + (int)(random_bits(&seed) % 9 * kind) - 4;
                if (kind == 3)
                    here = (int)(random_bits(&seed) % 256);
                l[3 * p + c] = (uint8_t)there;
                f[3 * p + c] = (uint8_t)(here < 0 ? 0 : here > 255 ? 255 : here);
            }
        }
        for (int i = 0; i < bd_shadow_colour_count && round >= 20; i++)
            kinds[i] = (uint8_t)(random_bits(&seed) % 3 * (round < 30) +
                                 (uint32_t)(round >= 30) * random_bits(&seed) % 2 *
                                     (uint32_t)(1 + round % 2));
        const struct scene scene = { mask, f, l, kinds, width, height, round < 40 ? 3 : 1 };
        check(pool, &scene, &found);
    }
    print_message("grey %d, by colour %d, objects %d\n", found.grey, found.coloured, found.objects);
    assert_in_range(found.grey, 3000, 60000);
    assert_in_range(found.coloured, 300, 60000);
    assert_in_range(found.objects, 300, 60000);
    bd_pool_destroy(&pool);
}

enum { width = 40, height = 30 };

/* Shadow pixels among those of a block of ground that becomes `colour`, or `percent` of what it is
 * where colour is NULL. */
static int found_in_block(int percent, const uint8_t *colour)
{
    static uint8_t mask[width * height], shadow[width * height];
    static uint8_t f[width * height * 3], l[width * height * 3];
    struct bd_shadow_colours colours = { .threads = 0 };
    struct bd_mask_work *work;
    struct bd_pool *pool;
    uint32_t seed = 8;
    int found = 0;
    for (int p = 0; p < width * height; p++) {
        int x = p % width, y = p / width, ground = 100 + (int)(random_bits(&seed) % 90);
        mask[p] = x >= 10 && x < 30 && y >= 10 && y < 20;
        for (int c = 0; c < 3; c++) {
            l[3 * p + c] = (uint8_t)(ground + 8 * c);
            f[3 * p + c] = l[3 * p + c];
            if (mask[p])
                f[3 * p + c] = (uint8_t)(colour ? colour[c] : l[3 * p + c] * percent / 100);
        }
    }
    assert_int_equal(bd_pool_create(&pool, 1), BD_OK);
    assert_int_equal(bd_mask_work_create(&work, pool, width, height), BD_OK);
    bd_shadow_find(work, shadow, &colours, mask, f, l, 3, false);
    bd_mask_work_destroy(&work);
    bd_pool_destroy(&pool);
    for (int p = 0; p < width * height; p++)
        found += shadow[p];
    return found;
}

/* A shadow keeps colour and texture of the ground; what is dark, of another colour or plain is not
 * one. */
static void test_drawn(void **state)
{
    (void)state;
    static const uint8_t red[3] = { 120, 60, 60 }, plain[3] = { 80, 85, 91 };
    assert_int_equal(found_in_block(60, NULL), 200);
    assert_int_equal(found_in_block(85, NULL), 200);
    assert_int_equal(found_in_block(40, NULL), 0);
    assert_int_equal(found_in_block(120, NULL), 0);
    assert_int_equal(found_in_block(0, red), 0);
    assert_int_equal(found_in_block(0, plain), 0);
}

/* The colour where so many tenths of the light are left in red and in blue, and their mean in
 * green.
 */
static int colour_of(int red_tenths, int blue_tenths)
{
    const uint32_t f[] = { (uint32_t)(10 * red_tenths), (uint32_t)(5 * (red_tenths + blue_tenths)),
                           (uint32_t)(10 * blue_tenths) };
    return bd_shadow_colour(f, (uint32_t[]){ 100, 100, 100 }, 1);
}

static void test_colours(void **state)
{
    (void)state;
    const int middle = bd_shadow_tints / 2;
    assert_int_equal(colour_of(5, 5), 16 * bd_shadow_tints + middle);
    assert_int_equal(colour_of(4, 5), 14 * bd_shadow_tints + middle - 2);
    assert_int_equal(colour_of(5, 4), 14 * bd_shadow_tints + middle + 2);
    assert_int_equal(colour_of(0, 0), middle);
    assert_int_equal(colour_of(10, 10), -1); /* no darker */
    assert_int_equal(colour_of(2, 6), -1);
    assert_int_equal(colour_of(6, 2), -1);
    const uint32_t some[] = { 5, 5, 5 }, dark[] = { 10, 9, 10 }, least[] = { 10, 10, 10 };
    assert_int_equal(bd_shadow_colour(some, dark, 1), -1);
    assert_true(bd_shadow_colour(some, least, 1) >= 0);
    assert_int_equal(bd_shadow_colour(some, least, 2), -1);
}

/* The kind of a colour of which so many per cent is shadow, alone among all. */
static enum bd_shadow_kind kind_of(int percent, int64_t pairs)
{
    static struct bd_shadow_evidence evidence[bd_shadow_colour_count];
    const int level = 15, colour = level * bd_shadow_tints + 3;
    memset(evidence, 0, sizeof evidence);
    /* l differs by 20 in a pair, and f by so much less in shadows, by 12 at random elsewhere. */
    const int64_t ll = 400 * pairs, fl = ll * (2 * level + 1) / 64 * percent / 100;
    evidence[colour] = (struct bd_shadow_evidence){ pairs, 144 * pairs, fl, ll };
    return bd_shadow_judge(evidence, colour);
}

static void test_kinds(void **state)
{
    (void)state;
    assert_int_equal(kind_of(100, 10000), bd_shadow_of_shadows);
    assert_int_equal(kind_of(80, 10000), bd_shadow_of_shadows);
    assert_int_equal(kind_of(72, 10000), bd_shadow_unknown); /* not significant */
    assert_int_equal(kind_of(72, 1000000), bd_shadow_of_shadows);
    assert_int_equal(kind_of(50, 1000000), bd_shadow_unknown);
    assert_int_equal(kind_of(28, 1000000), bd_shadow_of_objects);
    assert_int_equal(kind_of(0, 10000), bd_shadow_of_objects);
    assert_int_equal(kind_of(-30, 10000), bd_shadow_of_objects);
    assert_int_equal(kind_of(100, 240), bd_shadow_unknown); /* twice 240 is less than 500 */
    assert_int_equal(kind_of(0, 0), bd_shadow_unknown);
    static struct bd_shadow_evidence few[bd_shadow_colour_count];
    few[40] = (struct bd_shadow_evidence){ 249, 249, 0, 249 * 400 };
    assert_int_equal(bd_shadow_judge(few, 40), bd_shadow_unknown);
    few[40].pairs++;
    assert_int_equal(bd_shadow_judge(few, 40), bd_shadow_of_objects);
    /* As much as there can be, and of a ground without texture. */
    static struct bd_shadow_evidence much[bd_shadow_colour_count];
    const int last = bd_shadow_colour_count - 1;
    const int64_t most = INT64_C(9216) * bd_shadow_most_pairs;
    much[last] = (struct bd_shadow_evidence){ bd_shadow_most_pairs, most, most, most };
    assert_int_equal(bd_shadow_judge(much, last), bd_shadow_of_shadows);
    much[last].fl = -most;
    assert_int_equal(bd_shadow_judge(much, last), bd_shadow_of_objects);
    much[last] = (struct bd_shadow_evidence){ bd_shadow_most_pairs, most, 0, 0 };
    assert_int_equal(bd_shadow_judge(much, last), bd_shadow_unknown);
    much[0] = (struct bd_shadow_evidence){ 1001, 77, -9, 5 };
    bd_shadow_divide(&much[0], 2);
    assert_memory_equal(&much[0], (&(struct bd_shadow_evidence){ 500, 38, -4, 2 }), sizeof *much);
    assert_int_equal(bd_shadow_divisor(bd_shadow_most_pairs), 1);
    assert_int_equal(bd_shadow_divisor(INT64_C(9) * bd_shadow_most_pairs), 16);
}

/* A colour is judged with those of the levels and tints beside it, and no others. */
static void test_neighbours(void **state)
{
    (void)state;
    for (int tint = 0; tint < bd_shadow_tints; tint += bd_shadow_tints - 1)
        for (int level = 0; level < bd_shadow_levels; level += bd_shadow_levels - 1) {
            static struct bd_shadow_evidence evidence[bd_shadow_colour_count];
            memset(evidence, 0, sizeof evidence);
            evidence[level * bd_shadow_tints + tint] =
                (struct bd_shadow_evidence){ 10000, 14400, 0, 4000000 };
            for (int i = 0; i < bd_shadow_colour_count; i++) {
                const bool beside =
                    abs(i / bd_shadow_tints - level) <= 1 && abs(i % bd_shadow_tints - tint) <= 1;
                assert_int_equal(bd_shadow_judge(evidence, i),
                                 beside ? bd_shadow_of_objects : bd_shadow_unknown);
            }
        }
    /* Each with the light of its own level: the slopes of two levels are different, and right. */
    static struct bd_shadow_evidence both[bd_shadow_colour_count];
    const int here = 4 * bd_shadow_tints + 4, beside = 5 * bd_shadow_tints + 4;
    both[here] = (struct bd_shadow_evidence){ 1000, 400, 90000, 640000 };
    both[beside] = (struct bd_shadow_evidence){ 1000, 400, 110000, 640000 };
    assert_int_equal(bd_shadow_judge(both, here), bd_shadow_of_shadows);
    both[beside].fl = 0;
    assert_int_equal(bd_shadow_judge(both, here), bd_shadow_unknown);
}

/* Once there are too many pairs, all is halved. */
static void test_halving(void **state)
{
    (void)state;
    static uint8_t mask[width * height], shadow[width * height], f[width * height * 3];
    struct bd_shadow_colours colours;
    struct bd_mask_work *work;
    struct bd_pool *pool;
    assert_int_equal(bd_pool_create(&pool, 1), BD_OK);
    assert_int_equal(bd_mask_work_create(&work, pool, width, height), BD_OK);
    assert_int_equal(bd_shadow_create(&colours, 1), BD_OK);
    struct bd_shadow_evidence *some = &colours.scene.evidence[7];
    *some = (struct bd_shadow_evidence){ bd_shadow_most_pairs, 10, -10, 10 };
    bd_shadow_find(work, shadow, &colours, mask, f, f, 3, true);
    assert_true(some->pairs == bd_shadow_most_pairs && some->ff == 10);
    some->pairs++;
    bd_shadow_find(work, shadow, &colours, mask, f, f, 3, true);
    assert_true(some->pairs == bd_shadow_most_pairs / 2 && some->fl == -5);
    bd_shadow_reset(&colours);
    assert_true(some->pairs == 0 && !colours.scene.any);
    bd_shadow_destroy(&colours);
    bd_mask_work_destroy(&work);
    bd_pool_destroy(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),     cmocka_unit_test(test_drawn),
        cmocka_unit_test(test_colours),    cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_neighbours), cmocka_unit_test(test_halving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
