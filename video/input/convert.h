/* Private: converts decoded AVFrames of any pixel format, range and colour space to bd_frames,
 * which are upright and all of one size. */
#ifndef BD_VIDEO_INPUT_CONVERT_H
#define BD_VIDEO_INPUT_CONVERT_H

#include <libavutil/frame.h>
#include <stdbool.h>

#include "video/device.h"
#include "video/frame.h"
#include "video/input/turn.h"

struct bd_converter;

/* Makes a converter to pictures of `format` (BD_GRAY8: luma at full range) for stored pictures of
 * width x height pixels, which come out with sides exchanged if turn.transpose. */
enum bd_status bd_converter_create(struct bd_converter **converter, int width, int height,
                                   enum bd_pixel_format format, struct bd_turn turn);

/* Uses a tone curve (tone_curve.h) from now on, if one suits films that start with `first`. */
enum bd_status bd_converter_use_tone_curve(struct bd_converter *converter, const AVFrame *first,
                                           bool *used);

/* Takes over the tone curve of `before`, which then has none. */
void bd_converter_inherit_tone_curve(struct bd_converter *converter, struct bd_converter *before);

/* Sets the level at which a change of the size is logged; BD_LOG_WARNING before. */
void bd_converter_set_faults(struct bd_converter *converter, enum bd_log_level level);

/* Converts `src` (in system memory). A picture of another size than agreed is scaled to it. `dst`
 * is made to fit; its times are left alone. BD_ERROR_UNSUPPORTED if libswscale cannot read the
 * format. */
enum bd_status bd_converter_run(struct bd_converter *converter, struct bd_frame *dst,
                                const AVFrame *src);

/* From now on decoded pictures in the memory of this GPU are copied there (bd_picture_ops.take)
 * where that is possible. NULL: none are. */
void bd_converter_use_device(struct bd_converter *converter, struct bd_device *device);

/* A copy, on the GPU, of a picture that is in the memory of a hardware decoder, which may then have
 * its surface back. NULL where there is no device to copy it or where bd_converter_share would not
 * share it. By several threads at once. Fails as bd_picture_ops.take. */
enum bd_status bd_converter_take(struct bd_converter *converter, struct bd_yuv **yuv,
                                 const AVFrame *src);

/* A reference to `src` as it is, for *yuv, where its pixels are made from it alone: YUV of 8 bits,
 * of the agreed size, upright, without a tone curve. Else NULL. It may be in the memory of a
 * hardware decoder; bd_yuv_fetch is then possible as long as the converter is there. Pictures that
 * bd_converter_take can copy are. BD_ERROR_MEMORY. */
enum bd_status bd_converter_share(struct bd_converter *converter, struct bd_yuv **yuv,
                                  const AVFrame *src);

/* Frees and nulls. Safe on NULL. */
void bd_converter_destroy(struct bd_converter **converter);

#endif
