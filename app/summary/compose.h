/* Puts what was cut out of one frame into another. */
#ifndef BD_APP_SUMMARY_COMPOSE_H
#define BD_APP_SUMMARY_COMPOSE_H

#include "app/summary/tubes.h"

struct bd_composer {
    uint8_t *alpha; /* of a patch, height x width; and as much for its sums along rows */
    size_t room;    /* bytes */
};

/* Draws a patch where it was. Its edge is soft, a pixel or two to either side. `plate`, as large as
 * `canvas`, both BD_RGB24, is the canvas without objects: where it is brighter around the object
 * than the film was, the object becomes brighter too, in each colour. BD_ERROR_MEMORY. */
enum bd_status bd_compose(struct bd_composer *composer, struct bd_frame *canvas,
                          const struct bd_frame *plate, const struct bd_patch *patch);

void bd_composer_release(struct bd_composer *composer);

#endif
