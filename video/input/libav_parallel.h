/* Private: decoders of a GPU that come to the help of the one that an input has: they decode
 * several sections of it at the same time (sections.h) and keep their frames in memory of the GPU
 * (video/device.h). A thread opens them, which takes a third of a second; the input is decoded as
 * before meanwhile. Where the GPU has no decoder for the stream, the input is decoded so to its
 * end. Where one fails in the middle of a film, threads decode its section again. */
#ifndef BD_VIDEO_INPUT_LIBAV_PARALLEL_H
#define BD_VIDEO_INPUT_LIBAV_PARALLEL_H

#include "video/input/convert.h"
#include "video/input/libav_input.h"
#include "video/input/sections.h"

struct bd_libav_parallel;

/* For an input that was just opened, its decoder, which stays the caller's, and the options that it
 * was opened with, and the device of the GPU; all stay where they are until the close. `decoders`:
 * wanted on the GPU. NULL in *parallel where fewer than one is, where it is not known where
 * sections of the codec start, and where there is no memory. All functions accept that NULL. */
void bd_libav_parallel_create(struct bd_libav_parallel **parallel,
                              const struct bd_libav_input *input, AVCodecContext *first,
                              const AVDictionary *options, int decoders, struct bd_device *device);

/* To be shown each packet before it is sent. */
void bd_libav_parallel_see(struct bd_libav_parallel *parallel, const AVPacket *packet);

/* The decoders are opened soon, for frames that the converter's device can take, if the film is
 * long enough, of which `duration` seconds (0: all) are read. Returns whether they are. */
bool bd_libav_parallel_watch(struct bd_libav_parallel *parallel, struct bd_converter *converter,
                             const struct bd_reader_info *info, double duration);

/* To be called before each frame, while there are packets: starts the thread after the first
 * frames, and joins the decoders once they are there. */
void bd_libav_parallel_join(struct bd_libav_parallel *parallel);

/* NULL until the decoders have joined, and for ever where the GPU does not decode this stream.
 * After that, packets and frames pass through it, no more through the first decoder. */
struct bd_sections *bd_libav_parallel_sections(struct bd_libav_parallel *parallel);

/* The picture of a received frame, with a reference for the caller; NULL: it is one of the decoder.
 */
struct bd_yuv *bd_libav_parallel_picture(const AVFrame *frame);

/* Safe on NULL; nulls. */
void bd_libav_parallel_close(struct bd_libav_parallel **parallel);

#endif
