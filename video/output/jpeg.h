/* Pictures in memory as JPEG, for what is put aside and shown again: about two bits a pixel. All
 * samples of chroma are kept, so that edges keep their colours. */
#ifndef BD_VIDEO_OUTPUT_JPEG_H
#define BD_VIDEO_OUTPUT_JPEG_H

#include <stddef.h>

#include "video/frame.h"

/* Packs and unpacks pictures of any size; one thread at a time. It keeps a few encoders open, each
 * for a class of sizes. */
struct bd_jpeg;

/* BD_ERROR_UNSUPPORTED if this FFmpeg has no JPEG. */
enum bd_status bd_jpeg_create(struct bd_jpeg **jpeg);

/* Packs a BD_RGB24 picture. *data, *size bytes, is valid until the next call. */
enum bd_status bd_jpeg_pack(struct bd_jpeg *jpeg, const struct bd_frame *frame,
                            const uint8_t **data, size_t *size);

/* Unpacks into the pixels of `frame`, BD_RGB24, whose size is that of the picture that was packed.
 * BD_ERROR_FORMAT if it is not such a picture. */
enum bd_status bd_jpeg_unpack(struct bd_jpeg *jpeg, struct bd_frame *frame, const uint8_t *data,
                              size_t size);

/* Safe on NULL. */
void bd_jpeg_destroy(struct bd_jpeg **jpeg);

#endif
