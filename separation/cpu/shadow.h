/* Private to the CPU backend: which foreground pixels are background in the shadow of something.
 *
 * A shadow multiplies the background by about the same factor in all channels and in all pixels of
 * a small neighbourhood: f = r l. Sums over channels are written (f, l) below; everything is
 * computed in integers. (Chromaticity of a shadowed pixel as in Horprasert, Harwood, Davis 1999;
 * that texture stays under a shadow as in Rosin and Ellis 1995; one least-squares factor for both
 * is ours.) */
#ifndef BD_SEPARATION_CPU_SHADOW_H
#define BD_SEPARATION_CPU_SHADOW_H

#include <stdint.h>

#include "base/pool.h"
#include <backdrop/status.h>

enum {
    bd_shadow_reach = 2,      /* the neighbourhood of a pixel is 5 x 5 */
    bd_shadow_most = 16,      /* grey levels: distance of a pixel from r l */
    bd_shadow_most_mean = 6,  /* grey levels: root mean square of it in a neighbourhood */
    bd_shadow_least_count = 9 /* pixels of it that must agree */
};

struct bd_shadow_work; /* scratch memory for one size of picture */

enum bd_status bd_shadow_work_create(struct bd_shadow_work **work, struct bd_pool *pool, int width,
                                     int height);
void bd_shadow_work_destroy(struct bd_shadow_work **work);

/* shadow: 1 where a pixel of `mask` is shadow, else 0; all height x width bytes with tight rows. f
 * and l are frame and background, rgb.
 * A pixel of the mask is plausible if (l, l) / 2 < (f, l) < (l, l), and its distance from the
 * nearest multiple of l is less than bd_shadow_most in the root mean square of its channels:
 * (f, f) (l, l) - (f, l)^2 < 3 bd_shadow_most^2 (l, l). It is certain if at least
 * bd_shadow_least_count pixels of its neighbourhood, inside the picture, are plausible, and if
 * their sums (f, f), (f, l), (l, l), over all of them, meet the same with bd_shadow_most_mean
 * and 3 times their number. Shadow is what is plausible in the neighbourhood of a certain pixel. */
void bd_shadow_find(struct bd_shadow_work *work, uint8_t *shadow, const uint8_t *mask,
                    const uint8_t *f, const uint8_t *l);

#endif
