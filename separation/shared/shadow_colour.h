/* The specification of the colours that shadows have in a scene: how dark they are, and of which
 * tint. shadow.h finds grey shadows that leave more than half of the light. Those of the sun are
 * often darker, and bluish, since the sky lights them.
 *
 * The scene itself shows them. Where the background has texture, a shadow keeps it: the difference
 * f between two neighbours is r times what it is in the background, l. An object hides it: f has
 * nothing to do with l. So, of all pairs in foreground of one colour, the slope (f, l) / (l, l) of
 * a regression is r times the share that is shadow. What is learned where there is texture holds
 * for plain ground too. (That all shadows of a scene have much the same colour is used as in Huang
 * and Chen, "Moving cast shadow detection using physics-based features", 2009; the share from a
 * slope is ours.)
 *
 * 1. Colours. Add up the values of some pixels, channel by channel, in the frame and in the
 *    background: the ratio u of a channel is 256 times the one sum divided by the other, rounded
 *    down. The level is the sum of the three ratios / 24, one of 32. The tint is
 *    (u_red - u_blue + 72) / 16, one of 9; grey is the middle one. Pixels that are brighter than
 *    the background, or of another tint, have no colour. Neither have those on a background below
 *    10 grey levels in some channel. A dark pixel is one of the foreground that has a colour of its
 *    own. The colour of a neighbourhood (shadow.h) is that of its dark pixels, if they are 9 or
 *    more. Without colour, red, green and blue are the one channel: all tints are grey.
 * 2. Pairs are those of illumination.h, in foreground of any kind. A pair belongs to its left or
 *    upper pixel.
 * 3. Evidence. One frame in eight is evidence (mirror.h), and so is each frame of a window that is
 *    cleaned. Of each dark pixel with 20 dark pixels in its neighbourhood, the pairs are added to
 *    the colour of this neighbourhood. If all colours together have more than 2^24 pairs then, all
 *    sums are divided by the least power of two that leaves no more, and rounded towards 0.
 * 4. Judgement, after each such frame. The sums of a colour count twice, and those of the eight
 *    around it (level and tint, +-1) once. At level v the ratio r is (2 v + 1) / 64: there (f, l)
 *    is multiplied by r, and (l, l) by r^2, before they are added up. The share is
 *    (f, l) / (l, l), in 256ths, rounded towards 0. Its variance is 4 (f, f) / ((l, l) pairs): four
 *    pairs tell as much as one that is independent. A colour with 500 pairs or more, so counted, is
 *    one of shadows if the share is above 7/10, by more than three standard deviations. It is one
 *    of objects if the share is below 3/10, by as much.
 * 5. Shadows. A dark pixel whose own colour is one of shadows may be shadow. It is certain if the
 *    colour of its neighbourhood is one of shadows too, and nine pixels there may be shadow. Shadow
 *    is every pixel that may be and has a certain one in its neighbourhood.
 *    Without colour no other shadows are found (but for those of illumination.h and
 *    contact_shadow.h): any dark thing on plain ground would pass for a grey one.
 * 6. Objects. A dark pixel is not certain as a grey one (shadow.h) if the colour of its
 *    neighbourhood is one of objects, and the background there has texture: 11 in the mean of its
 *    dark pixels. A pixel's texture is the sum of squares of the differences of green to the right
 *    and down, each held as those of pairs are. On plain ground nothing speaks against a shadow:
 *    the evidence comes from elsewhere.
 *
 * Everything but the last comparisons of 4 is computed in integers, and these are products of
 * doubles. */
#ifndef BD_SEPARATION_SHARED_SHADOW_COLOUR_H
#define BD_SEPARATION_SHARED_SHADOW_COLOUR_H

#include "separation/shared/illumination.h"

enum {
    bd_shadow_levels = 32,
    bd_shadow_tints = 9,
    bd_shadow_colour_count = bd_shadow_levels * bd_shadow_tints,
    bd_shadow_least_light = 10,     /* grey levels of the background, in each channel */
    bd_shadow_least_around = 20,    /* dark pixels in a neighbourhood that is evidence */
    bd_shadow_least_pairs = 500,    /* of a colour that is judged */
    bd_shadow_most_pairs = 1 << 24, /* of all colours */
    bd_shadow_least_texture = 11    /* a pixel */
};

/* What a colour is one of. */
enum bd_shadow_kind { bd_shadow_unknown, bd_shadow_of_shadows, bd_shadow_of_objects };

/* Sums over pairs. */
struct bd_shadow_evidence {
    int64_t pairs, ff, fl, ll;
};

/* What is known of the colours of a scene; all 0 before any evidence. */
struct bd_shadow_scene {
    struct bd_shadow_evidence evidence[bd_shadow_colour_count];
    uint8_t kinds[bd_shadow_colour_count]; /* enum bd_shadow_kind */
    int any; /* sum of 1 << kind of the kinds that colours have, but for bd_shadow_unknown */
};

/* The colour with these ratios of red, green and blue; -1: none. */
BD_RULE int bd_shadow_colour_of(const int ratios[3])
{
    const int level = (ratios[0] + ratios[1] + ratios[2]) / 24;
    const int tint = ratios[0] - ratios[2] + 8 * bd_shadow_tints;
    if (level >= bd_shadow_levels || tint < 0 || tint >= 16 * bd_shadow_tints)
        return -1;
    return level * bd_shadow_tints + tint / 16;
}

/* The colour of `count` pixels (25 at most) with these sums over their red, green and blue values;
 * -1: none. */
BD_RULE int bd_shadow_colour(const uint32_t f[3], const uint32_t l[3], uint32_t count)
{
    const uint32_t least = bd_shadow_least_light * count;
    if (l[0] < least || l[1] < least || l[2] < least)
        return -1;
    const int ratios[3] = { (int)(256 * f[0] / l[0]), (int)(256 * f[1] / l[1]),
                            (int)(256 * f[2] / l[2]) };
    return bd_shadow_colour_of(ratios);
}

/* The texture at a pixel of the background, by its green value and those to its right and below it;
 * outside the picture they are as its own. */
BD_RULE uint32_t bd_shadow_texture(int green, int right, int below)
{
    const int across = bd_illumination_difference(green, right, 1);
    const int down = bd_illumination_difference(green, below, 1);
    return (uint32_t)(across * across + down * down);
}

/* The kind of colour number `colour`. */
BD_RULE enum bd_shadow_kind bd_shadow_judge(const struct bd_shadow_evidence *evidence, int colour)
{
    const int64_t unit = 256, shadows = 7 * unit / 10, objects = 3 * unit / 10, far = 16 * unit;
    const int level = colour / bd_shadow_tints, tint = colour % bd_shadow_tints;
    int64_t pairs = 0, ff = 0, fl = 0, ll = 0;
    for (int v = level - 1; v <= level + 1; v++)
        for (int t = tint - 1; t <= tint + 1; t++) {
            if (v < 0 || v >= bd_shadow_levels || t < 0 || t >= bd_shadow_tints)
                continue;
            const struct bd_shadow_evidence *one = &evidence[v * bd_shadow_tints + t];
            const int64_t times = v == level && t == tint ? 2 : 1, ratio = 2 * v + 1; /* 64ths */
            pairs += times * one->pairs;
            ff += times * one->ff;
            fl += times * ratio * one->fl;
            ll += times * ratio * ratio * one->ll;
        }
    if (pairs < bd_shadow_least_pairs || ll == 0)
        return bd_shadow_unknown;
    /* (f, l) in 64ths, (l, l) in 4096ths. */
    const int64_t share = 64 * unit * fl / ll;
    const int64_t above = share < far ? share - shadows : far;
    const int64_t below = share > -far ? objects - share : far;
    const double variance = 4.0 * 4096 * 256 * 256 * (double)ff,
                 weight = (double)ll * (double)pairs;
    if (above > 0 && (double)(above * above) * weight > 9 * variance)
        return bd_shadow_of_shadows;
    if (below > 0 && (double)(below * below) * weight > 9 * variance)
        return bd_shadow_of_objects;
    return bd_shadow_unknown;
}

/* By how much all evidence is divided, so that there is not too much of it. */
BD_RULE int64_t bd_shadow_divisor(int64_t all_pairs)
{
    int64_t divisor = 1;
    while (all_pairs / divisor > bd_shadow_most_pairs)
        divisor *= 2;
    return divisor;
}

BD_RULE void bd_shadow_divide(struct bd_shadow_evidence *colour, int64_t divisor)
{
    colour->pairs /= divisor;
    colour->ff /= divisor;
    colour->fl /= divisor;
    colour->ll /= divisor;
}

#endif
