/* Private to the CPU backend: the black shadow under what stands on the ground.
 *
 * Where no light comes, a shadow is as black as tyres and windscreens, and neither colour nor
 * texture tells it from an object. Its place does: under a vehicle the ground is darker than all of
 * the road (as Tzomakas and von Seelen 1998 find vehicles by it), and it is a flat strip along the
 * foot of a thing that is about as wide as high, with something else above it. Whoever wears black
 * is black further up; whatever is black all over is its own. Everything is computed in integers.
 */
#ifndef BD_SEPARATION_CPU_CONTACT_SHADOW_H
#define BD_SEPARATION_CPU_CONTACT_SHADOW_H

#include <stdint.h>

#include <backdrop/status.h>

/* A pixel of the mask is black if (f, l) < 3/10 (l, l), sums over channels, and if the brightness
 * (mean of the channels) of the pixels around it, 3 x 3 inside the picture, spans at most 10 grey
 * levels: what noise may span, and less than the parts of a car do. */
enum { bd_contact_shadow_tenths = 3, bd_contact_shadow_range = 10 };

/* Of a component of width w and height h: its foot is those of its pixels below which, itself
 * counted, its column goes on for at most h / 7. The component stands on a shadow if
 * - the picture does not cut it off below, and w >= 3/4 h: one who stands is narrower;
 * - black runs along rows of its foot are at least w / 3 long: legs are not;
 * - the black runs in columns of its foot have at least w / 2 tops;
 * - from half of these tops on or more, within h / 5 upwards and without leaving the mask, there is
 *   a pixel brighter by more than 30 grey levels: else the whole thing may be black.
 * On highway (F .973, .960 without) every one of these numbers can be moved by a third alone, for
 * .968 to .977. Without w / 3, walkers beside each other lose their legs and black cars of the
 * rendered scenes their sills (synth:drift .977 instead of .984); without the first condition,
 * people in front of the camera (Board) lose something. */
enum { bd_contact_shadow_foot = 7, bd_contact_shadow_above = 5, bd_contact_shadow_rise = 30 };

struct bd_contact_shadow_work; /* scratch memory for one size of picture */

enum bd_status bd_contact_shadow_work_create(struct bd_contact_shadow_work **work, int width,
                                             int height);
void bd_contact_shadow_work_destroy(struct bd_contact_shadow_work **work);

/* Takes the shadow that components of the mask stand on out of it: what is black in the foot of
 * such a component, and what is below that in its columns (the shadow's blurred edge). mask and
 * shadow are height x width bytes of 0 and 1 with tight rows; what is taken out becomes 1 in
 * shadow, which is left alone elsewhere. f and l are frame and background. */
void bd_contact_shadow_cut(struct bd_contact_shadow_work *work, uint8_t *mask, uint8_t *shadow,
                           const uint8_t *f, const uint8_t *l, int channels);

#endif
