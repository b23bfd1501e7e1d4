/* Relocation: notices that a camera has been moved for good, and keeps pictures of the new view.
 *
 * There are two cases. Either the old scene has been out of sight for some seconds, and the frames
 * of those seconds agree with each other. Or the old scene is still in sight but has moved, and has
 * stayed there for as long as the separator's memory. */
#ifndef BD_APP_PIPELINE_RELOCATION_H
#define BD_APP_PIPELINE_RELOCATION_H

#include <stdbool.h>

#include "video/motion/global_motion.h"
#include <backdrop/separator.h>

struct bd_relocation;

/* For pictures of this size; `memory` in seconds. All memory is allocated here. */
enum bd_status bd_relocation_create(struct bd_relocation **relocation, int width, int height,
                                    enum bd_pixel_format format, double memory);
void bd_relocation_destroy(struct bd_relocation **relocation);

/* Adds the next frame: its time in seconds, the verdict of the motion estimate about it, the last
 * known motion of the camera, and the motion at which the camera is expected (`origin`). Returns
 * true once the camera has been relocated, and as long as it stays there. */
bool bd_relocation_watch(struct bd_relocation *relocation, const struct bd_frame *picture,
                         double time, enum bd_global_motion_verdict verdict,
                         struct bd_similarity last, struct bd_similarity origin);

/* Starts again: the next frame does not follow the last one in time, or the new scene is learned.
 */
void bd_relocation_forget(struct bd_relocation *relocation);

/* Lets the separator learn the new scene; from now on `motion` measures from there. Only
 * after bd_relocation_watch has returned true for the last frame. Errors: the separator's. */
enum bd_status bd_relocation_learn(struct bd_relocation *relocation, struct bd_separator *separator,
                                   struct bd_global_motion *motion);

#endif
