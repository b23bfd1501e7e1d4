/* The specification of illumination: which foreground pixels are background in other light.
 *
 * A headlight on a road, a lamp that is switched on, or the sun between clouds changes how bright
 * the background is, but not its texture: what was brighter than its neighbour stays brighter than
 * it. An object hides that texture. (Gradients of frame and background are compared as in Li and
 * Leung, "Integrating intensity and texture differences for robust change detection", 2002.)
 *
 * The luminance of a pixel is the sum of its channels. A pair is a pixel of the foreground and the
 * one to its right or below it, which must be foreground, too; it belongs to the left or upper one.
 * (Pixels that are shadow count. Without them no scene gains more than .0005, and the search would
 * wait for that of shadows.) Of a pair, f and l are the differences of luminance in frame and
 * background, each held within bd_illumination_most grey levels a channel, so that no single edge
 * decides. Sums such as (f, l) are those over the pairs that belong to the pixels of a
 * neighbourhood. A pixel of the foreground is background in other light if at least
 * bd_illumination_least_pairs pairs belong to its neighbourhood, inside the picture, and their
 * correlation (f, l) / (|f| |l|) is more than 3/5. Everything is computed in integers. */
#ifndef BD_SEPARATION_SHARED_ILLUMINATION_H
#define BD_SEPARATION_SHARED_ILLUMINATION_H

#include "separation/shared/mask.h"

enum {
    bd_illumination_reach = 7,        /* the neighbourhood of a pixel is 15 x 15 */
    bd_illumination_least_pairs = 90, /* of 450 */
    bd_illumination_most = 32         /* grey levels a channel; without it synth:tree loses .0004 */
};

/* A pair's difference of luminance. */
BD_RULE int bd_illumination_difference(int from, int to, int channels)
{
    const int difference = to - from, most = bd_illumination_most * channels;
    return difference > most ? most : difference < -most ? -most : difference;
}

/* The same, of two pixels of 1 or 3 channels. */
BD_RULE int bd_illumination_of_pair(const uint8_t *from, const uint8_t *to, int channels)
{
    if (channels == 1)
        return bd_illumination_difference(*from, *to, 1);
    return bd_illumination_difference(from[0] + from[1] + from[2], to[0] + to[1] + to[2], 3);
}

/* The condition on (f, f), (f, l), (l, l) and the number of pairs. Sums of 450 pairs stay below
 * 2^23, and products below 2^50. */
BD_RULE bool bd_illumination_fits(uint32_t ff, int32_t fl, uint32_t ll, uint32_t pairs)
{
    return pairs >= bd_illumination_least_pairs && fl > 0 &&
           (uint64_t)(5 * (uint32_t)fl) * (5 * (uint32_t)fl) > (uint64_t)(3 * ff) * (3 * ll);
}

#endif
