/* A picture that summarises an export. Each row shows a moment: input, background, mask and overlay
 * side by side. The moments are spread over all frames and have most foreground. */
#ifndef BD_APP_EXPORT_CONTACT_SHEET_H
#define BD_APP_EXPORT_CONTACT_SHEET_H

#include "app/pipeline/pipeline.h"

struct bd_contact_sheet;

/* For pictures of width x height. Memory does not grow with the number of frames. */
enum bd_status bd_contact_sheet_create(struct bd_contact_sheet **sheet, int width, int height);
void bd_contact_sheet_destroy(struct bd_contact_sheet **sheet);

/* `result` must hold background and overlay. */
enum bd_status bd_contact_sheet_add(struct bd_contact_sheet *sheet, const struct bd_result *result);

/* Size of the picture that bd_contact_sheet_draw makes when there were enough frames. */
void bd_contact_sheet_size(const struct bd_contact_sheet *sheet, int *width, int *height);

/* Draws into `picture` (BD_RGB24 of the size above; rows for which there was no frame are dark). */
enum bd_status bd_contact_sheet_draw(struct bd_contact_sheet *sheet, struct bd_frame *picture);

#endif
