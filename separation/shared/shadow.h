/* The specification of shadows: which foreground pixels are background in the shadow of something.
 *
 * A shadow multiplies the background l by about the same factor r in all channels and in all pixels
 * of a small neighbourhood: f = r l. Sums over channels are written (f, l) below; everything is
 * computed in integers. (Chromaticity of a shadowed pixel as in Horprasert, Harwood, Davis 1999;
 * that texture stays under a shadow as in Rosin and Ellis 1995; one least-squares factor for both
 * is ours.)
 *
 * A pixel of the mask is plausible if (l, l) / 2 < (f, l) < (l, l), and its distance from the
 * nearest multiple of l is less than bd_shadow_most in the root mean square of its channels:
 * (f, f) (l, l) - (f, l)^2 < 3 bd_shadow_most^2 (l, l). It is certain if at least
 * bd_shadow_least_count pixels of its neighbourhood, inside the picture, are plausible, and if
 * their sums (f, f), (f, l), (l, l), over all of them, meet the same condition with
 * bd_shadow_most_mean and 3 times their number. Shadow is every plausible pixel that has a certain
 * pixel in its neighbourhood. What the scene shows of the colours of its shadows adds to them, and
 * takes certain pixels away (shadow_colour.h). */
#ifndef BD_SEPARATION_SHARED_SHADOW_H
#define BD_SEPARATION_SHARED_SHADOW_H

#include "separation/shared/mask.h"

enum {
    bd_shadow_reach = 2,      /* the neighbourhood of a pixel is 5 x 5 */
    bd_shadow_most = 16,      /* grey levels: distance of a pixel from r l */
    bd_shadow_most_mean = 6,  /* grey levels: root mean square of it in a neighbourhood */
    bd_shadow_least_count = 9 /* plausible pixels of a certain pixel's neighbourhood */
};

/* The condition on (f, f), (f, l), (l, l) and the number of pixels they are sums over, at most 25:
 * products stay below 2^45. */
BD_RULE bool bd_shadow_fits(uint32_t ff, uint32_t fl, uint32_t ll, uint32_t count, uint32_t most)
{
    return 2 * fl > ll && fl < ll &&
           (uint64_t)ff * ll - (uint64_t)fl * fl < (uint64_t)(3 * most * most * count) * ll;
}

#endif
