/* Contact shadows on the CPU, as separation/shared/contact_shadow.h defines them. */
#ifndef BD_SEPARATION_CPU_CONTACT_SHADOW_H
#define BD_SEPARATION_CPU_CONTACT_SHADOW_H

#include <stdint.h>

#include <backdrop/status.h>

struct bd_contact_shadow_work; /* scratch memory for one size of picture */

enum bd_status bd_contact_shadow_work_create(struct bd_contact_shadow_work **work, int width,
                                             int height);
void bd_contact_shadow_work_destroy(struct bd_contact_shadow_work **work);

/* Takes the contact shadows of the mask's components out of it. mask and shadow are height x width
 * bytes of 0 and 1 with tight rows; what is taken out becomes 1 in shadow, which is left alone
 * elsewhere. f and l are frame and background. */
void bd_contact_shadow_cut(struct bd_contact_shadow_work *work, uint8_t *mask, uint8_t *shadow,
                           const uint8_t *f, const uint8_t *l, int channels);

#endif
