/* Notices that a camera has been moved for good, and has pictures of what it sees since.
 *
 * Nothing is where it was, for some seconds, and among themselves the frames of those seconds
 * agree: or what was seen is still in sight, but elsewhere, and stays there for as long as a
 * background is remembered. */
#ifndef BD_APP_PIPELINE_RELOCATION_H
#define BD_APP_PIPELINE_RELOCATION_H

#include <stdbool.h>

#include "video/motion/global_motion.h"
#include <backdrop/separator.h>

struct bd_relocation;

/* For pictures of this size; `memory` in seconds. Takes all memory. */
enum bd_status bd_relocation_create(struct bd_relocation **place, int width, int height,
                                    enum bd_pixel_format format, double memory);
void bd_relocation_destroy(struct bd_relocation **place);

/* Shows it a frame, in their order: its time in seconds, what has been found of it, where the
 * camera was last (`held`), and where it is expected (`origin`). True once it has a new place, and
 * as long as it stays there. */
bool bd_relocation_watch(struct bd_relocation *place, const struct bd_frame *picture, double time,
                         enum bd_global_motion_verdict verdict, struct bd_shift held,
                         struct bd_shift origin);

/* The next frame is from another time, or all is well. */
void bd_relocation_forget(struct bd_relocation *place);

/* Lets the separator learn the new place, from which `shake` counts shifts from now on. For when
 * bd_relocation_watch has said true of the last frame. Errors: the separator's. */
enum bd_status bd_relocation_learn(struct bd_relocation *place, struct bd_separator *separator,
                                   struct bd_global_motion *shake);

#endif
