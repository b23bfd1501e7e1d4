/* Parts of the making of masks that can be left out, to measure what each contributes: for
 * developers (tools/ablation.c), in builds with BD_DEVELOPER only. */
#ifndef BD_SEPARATION_SHARED_ABLATION_H
#define BD_SEPARATION_SHARED_ABLATION_H

#include <backdrop/separator.h>

enum bd_ablation {
    BD_WITHOUT_NOTHING,
    BD_WITHOUT_BOUNDARY_CONTRAST, /* the first background is the stable value of each pixel */
    BD_WITHOUT_GHOST_REMOVAL,     /* ghosts stay until the memory time has passed */
    BD_WITHOUT_RECURRENCE,        /* what moves in place is foreground */
    BD_WITHOUT_SHADOWS,           /* shadows are foreground, and other light and mirror images */
    BD_WITHOUT_ILLUMINATION,      /* background in other light is foreground */
    BD_WITHOUT_MIRROR_IMAGES,     /* mirror images are foreground */
    BD_WITHOUT_FLASHES,           /* signs that blink are foreground */
    BD_WITHOUT_LASTING,           /* what is small and passes at once is foreground */
    BD_WITHOUT_TRIMMING,          /* edges are where the threshold puts them */
    BD_WITHOUT_ANY                /* all of these */
};

#ifdef BD_DEVELOPER
/* From the next frame on; before the first one, for the look-ahead too. */
void bd_separator_ablate(struct bd_separator *separator, enum bd_ablation part);
#endif

#endif
