/* Pictures: copies out of the decoder, and downloads. */
#include "gpu/video/picture.h"

#include <stdlib.h>

/* Rows begin on cache lines of the GPU. */
enum { row_alignment = 128 };

static int samples_along(int pixels, int shift)
{
    return (pixels + (1 << shift) - 1) >> shift;
}

/* Planes of memory: Y, U, V, or Y and interleaved chroma. */
static int plane_count(const struct bd_yuv *yuv)
{
    return yuv->step == 2 ? 2 : 3;
}

static size_t row_bytes(const struct bd_yuv *yuv, int plane)
{
    return plane ? (size_t)samples_along(yuv->width, yuv->shift_x) * (size_t)yuv->step
                 : (size_t)yuv->width;
}

static size_t row_count(const struct bd_yuv *yuv, int plane)
{
    return plane ? (size_t)samples_along(yuv->height, yuv->shift_y) : (size_t)yuv->height;
}

static size_t pitch_of(const struct bd_yuv *yuv, int plane)
{
    return (row_bytes(yuv, plane) + row_alignment - 1) / row_alignment * row_alignment;
}

static size_t picture_bytes(const struct bd_yuv *yuv)
{
    size_t bytes = 0;
    for (int i = 0; i < plane_count(yuv); i++)
        bytes += pitch_of(yuv, i) * row_count(yuv, i);
    return bytes;
}

/* The addresses of Y, U and V in a block, which is `data`. */
static void lay_out(const uint8_t *planes[3], int64_t pitch[3], const struct bd_yuv *yuv,
                    const uint8_t *data)
{
    for (int i = 0; i < plane_count(yuv); i++) {
        planes[i] = data;
        pitch[i] = (int64_t)pitch_of(yuv, i);
        data += pitch_of(yuv, i) * row_count(yuv, i);
    }
    if (plane_count(yuv) == 2) {
        planes[2] = planes[1] + 1;
        pitch[2] = pitch[1];
    }
}

/* ---- fetching ----------------------------------------------------------------------------------
 */

/* The memory is page-locked: the copy runs at the full speed of the bus, and the thread sleeps
 * meanwhile; with plain memory, CUDA would copy each piece a second time in this thread. Blocks are
 * used again, so that the slow locking is done for as many as are needed at the same time. */
static enum bd_status fetch(struct bd_yuv *yuv)
{
    static const char *const what = "fetching a decoded picture";
    struct bd_cuda_picture *self = (struct bd_cuda_picture *)yuv;
    struct bd_cuda_device *device = (struct bd_cuda_device *)yuv->device;
    struct bd_cuda_stream *stream = NULL;
    struct bd_cuda_block *block = NULL;
    const size_t bytes = picture_bytes(yuv);
    enum bd_status status = bd_cuda_make_current(device->number);
    if (status == BD_OK)
        status = bd_cuda_stream_take(device, &stream);
    if (status == BD_OK)
        status = bd_cuda_block_take(device, &device->fetched, &block, bytes, stream);
    if (status == BD_OK) {
        const cudaStream_t on = stream->cuda.stream;
        status = bd_cuda_check(
            cudaMemcpyAsync(block->data, self->samples->data, bytes, cudaMemcpyDeviceToHost, on),
            what);
        status = bd_cuda_stream_finish(stream, on, status, what);
    }
    bd_cuda_stream_give(device, stream);
    if (status != BD_OK) {
        bd_cuda_block_give(device, &device->fetched, block);
        return status;
    }
    self->fetched = block;
    lay_out(yuv->data, yuv->stride, yuv, block->data);
    yuv->fetch = NULL;
    return BD_OK;
}

static void release(struct bd_yuv *yuv)
{
    struct bd_cuda_picture *self = (struct bd_cuda_picture *)yuv;
    struct bd_cuda_device *device = (struct bd_cuda_device *)yuv->device;
    /* Blocks may be freed. The calling thread may be one that works on another GPU. */
    int current = device->number;
    cudaGetDevice(&current);
    cudaSetDevice(device->number);
    bd_cuda_block_give(device, &device->samples, self->samples);
    bd_cuda_block_give(device, &device->fetched, self->fetched);
    cudaSetDevice(current);
    free(self);
}

/* ---- out of the decoder ------------------------------------------------------------------------
 */

/* BD_ERROR_UNSUPPORTED unless it is memory of this GPU, in the context that is current: work of a
 * decoder with a context of its own could not be waited for. */
static enum bd_status check_address(const struct bd_cuda_device *device, const void *address)
{
    struct cudaPointerAttributes found = { 0 };
    cudaError_t error = cudaPointerGetAttributes(&found, address);
    enum bd_status status = BD_OK;
    bool own = false;
    if (error == cudaErrorInvalidValue)
        cudaGetLastError(); /* CUDA does not know the address */
    else
        status = bd_cuda_check(error, "looking for a decoded picture");
    if (status == BD_OK && found.type == cudaMemoryTypeDevice && found.device == device->number)
        status = bd_cuda_is_own(address, &own);
    if (status == BD_OK && !own)
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "cuda: the decoder's pictures are not in memory that GPU %d can read here",
                       device->number);
    return status;
}

/* The decoder writes its surfaces in the order of the legacy default stream. */
static enum bd_status copy(const struct bd_cuda_picture *self, const struct bd_yuv *surface,
                           struct bd_cuda_stream *stream)
{
    static const char *const what = "copying a picture out of the decoder";
    enum bd_status status = BD_OK;
    uint8_t *to = self->samples->data;
    for (int i = 0; i < plane_count(surface) && status == BD_OK; i++) {
        const size_t pitch = pitch_of(surface, i);
        status =
            bd_cuda_check(cudaMemcpy2DAsync(to, pitch, surface->data[i], (size_t)surface->stride[i],
                                            row_bytes(surface, i), row_count(surface, i),
                                            cudaMemcpyDeviceToDevice, cudaStreamLegacy),
                          what);
        to += pitch * row_count(surface, i);
    }
    return bd_cuda_stream_finish(stream, cudaStreamLegacy, status, what);
}

static enum bd_status take_samples(struct bd_cuda_device *device, struct bd_cuda_picture *self,
                                   const struct bd_yuv *surface)
{
    struct bd_cuda_stream *stream = NULL;
    enum bd_status status = bd_cuda_make_current(device->number);
    for (int i = 0; i < plane_count(surface) && status == BD_OK; i++)
        status = check_address(device, surface->data[i]);
    if (status == BD_OK)
        status = bd_cuda_stream_take(device, &stream);
    if (status == BD_OK)
        status = bd_cuda_block_take(device, &device->samples, &self->samples,
                                    picture_bytes(surface), stream);
    if (status == BD_OK)
        status = copy(self, surface, stream);
    bd_cuda_stream_give(device, stream);
    return status;
}

enum bd_status bd_cuda_picture_take(struct bd_device *device, struct bd_yuv **yuv,
                                    const struct bd_yuv *surface)
{
    struct bd_cuda_device *on = (struct bd_cuda_device *)device;
    struct bd_cuda_picture *self = calloc(1, sizeof *self);
    *yuv = NULL;
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a decoded picture");
    enum bd_status status = take_samples(on, self, surface);
    if (status != BD_OK) {
        bd_cuda_block_give(on, &on->samples, self->samples);
        free(self);
        return status;
    }
    self->planes = (struct bd_cuda_planes){ .shift_x = surface->shift_x,
                                            .shift_y = surface->shift_y,
                                            .step = surface->step,
                                            .matrix = surface->matrix };
    lay_out(self->planes.data, self->planes.pitch, surface, self->samples->data);
    struct bd_yuv *own = &self->yuv;
    own->width = surface->width;
    own->height = surface->height;
    own->shift_x = surface->shift_x;
    own->shift_y = surface->shift_y;
    own->step = surface->step;
    own->matrix = surface->matrix;
    own->fetch = fetch;
    own->device = device;
    own->release = release;
    atomic_init(&own->references, 1);
    *yuv = own;
    return BD_OK;
}
