/* The device: streams and blocks of memory that its pictures share, and its table. */
#include "gpu/video/device.h"

#include <stdlib.h>

#include "gpu/video/state.h"

enum bd_status bd_cuda_make_current(int number)
{
    return bd_cuda_check(cudaSetDevice(number), "making the GPU of pictures current");
}

/* ---- streams -----------------------------------------------------------------------------------
 */

enum bd_status bd_cuda_stream_open(struct bd_cuda_stream *stream, int number)
{
    *stream = (struct bd_cuda_stream){ .cuda.device = number };
    if (bd_cuda_architecture() == 0) {
        cudaGetLastError();
        return bd_fail(BD_ERROR_UNSUPPORTED, "cuda: GPU %d is too old for pictures", number);
    }
    enum bd_status status =
        bd_cuda_check(cudaStreamCreateWithFlags(&stream->cuda.stream, cudaStreamNonBlocking),
                      "making a stream for pictures");
    if (status == BD_OK)
        status = bd_cuda_check(
            cudaEventCreateWithFlags(&stream->done, cudaEventBlockingSync | cudaEventDisableTiming),
            "making an event for pictures");
    if (status != BD_OK)
        bd_cuda_stream_close(stream);
    return status;
}

void bd_cuda_stream_close(struct bd_cuda_stream *stream)
{
    if (stream->done)
        cudaEventDestroy(stream->done);
    if (stream->cuda.stream)
        cudaStreamDestroy(stream->cuda.stream);
    *stream = (struct bd_cuda_stream){ 0 };
}

enum bd_status bd_cuda_stream_finish(struct bd_cuda_stream *stream, cudaStream_t on,
                                     enum bd_status status, const char *what)
{
    if (status == BD_OK)
        status = bd_cuda_check(cudaEventRecord(stream->done, on), what);
    if (status == BD_OK)
        status = bd_cuda_check(cudaEventSynchronize(stream->done), what);
    if (status != BD_OK && cudaStreamSynchronize(on) != cudaSuccess)
        cudaGetLastError(); /* the first failure is the one that is reported */
    return status;
}

enum bd_status bd_cuda_stream_take(struct bd_cuda_device *device, struct bd_cuda_stream **stream)
{
    pthread_mutex_lock(&device->mutex);
    struct bd_cuda_stream *self = device->streams;
    if (self)
        device->streams = self->next;
    pthread_mutex_unlock(&device->mutex);
    *stream = self;
    if (self)
        return BD_OK;
    self = malloc(sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a stream of pictures");
    enum bd_status status = bd_cuda_stream_open(self, device->number);
    if (status == BD_OK)
        *stream = self;
    else
        free(self);
    return status;
}

void bd_cuda_stream_give(struct bd_cuda_device *device, struct bd_cuda_stream *stream)
{
    if (!stream)
        return;
    pthread_mutex_lock(&device->mutex);
    stream->next = device->streams;
    device->streams = stream;
    pthread_mutex_unlock(&device->mutex);
}

/* ---- blocks ------------------------------------------------------------------------------------
 */

static void free_blocks(const struct bd_cuda_reserve *reserve, struct bd_cuda_block *block)
{
    while (block) {
        struct bd_cuda_block *next = block->next;
        if (reserve->on_host)
            bd_cuda_free_host(block->data);
        else
            bd_cuda_free(block->data);
        free(block);
        block = next;
    }
}

static enum bd_status add_block(const struct bd_cuda_reserve *reserve, struct bd_cuda_block **block,
                                size_t bytes, struct bd_cuda_stream *stream)
{
    static const char *const what = "a decoded picture";
    struct bd_cuda_block *self = malloc(sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a decoded picture");
    *self = (struct bd_cuda_block){ .bytes = bytes };
    enum bd_status status;
    if (reserve->on_host)
        status = bd_cuda_alloc_host(&self->data, bytes, what);
    else
        status = bd_cuda_alloc(&stream->cuda, &self->data, bytes, what);
    /* The memory is being zeroed, and its samples may come on another stream. */
    if (status == BD_OK && !reserve->on_host)
        status = bd_cuda_stream_finish(stream, stream->cuda.stream, BD_OK, what);
    if (status == BD_OK)
        *block = self;
    else
        free_blocks(reserve, self);
    return status;
}

enum bd_status bd_cuda_block_take(struct bd_cuda_device *device, struct bd_cuda_reserve *reserve,
                                  struct bd_cuda_block **block, size_t bytes,
                                  struct bd_cuda_stream *stream)
{
    struct bd_cuda_block *found = NULL, *unfit = NULL;
    pthread_mutex_lock(&device->mutex);
    if (reserve->first && reserve->first->bytes == bytes) {
        found = reserve->first;
        reserve->first = found->next;
        found->next = NULL;
    } else {
        unfit = reserve->first;
        reserve->first = NULL;
    }
    pthread_mutex_unlock(&device->mutex);
    free_blocks(reserve, unfit);
    *block = found;
    return found ? BD_OK : add_block(reserve, block, bytes, stream);
}

void bd_cuda_block_give(struct bd_cuda_device *device, struct bd_cuda_reserve *reserve,
                        struct bd_cuda_block *block)
{
    if (!block)
        return;
    pthread_mutex_lock(&device->mutex);
    if (!reserve->first || reserve->first->bytes == block->bytes) {
        block->next = reserve->first;
        reserve->first = block;
        block = NULL;
    }
    pthread_mutex_unlock(&device->mutex);
    free_blocks(reserve, block);
}

/* ---- the table ---------------------------------------------------------------------------------
 */

static void close_device(struct bd_device **device)
{
    struct bd_cuda_device *self = (struct bd_cuda_device *)*device;
    if (!self)
        return;
    *device = NULL;
    if (self->streams) /* else nothing was taken, and CUDA may not have been started */
        cudaSetDevice(self->number);
    free_blocks(&self->samples, self->samples.first);
    free_blocks(&self->fetched, self->fetched.first);
    while (self->streams) {
        struct bd_cuda_stream *next = self->streams->next;
        bd_cuda_stream_close(self->streams);
        free(self->streams);
        self->streams = next;
    }
    pthread_mutex_destroy(&self->mutex);
    free(self);
}

static enum bd_status allocate(struct bd_device *device, void **memory, size_t bytes)
{
    /* The calling thread may be one that works on another GPU. */
    int current = ((struct bd_cuda_device *)device)->number;
    *memory = NULL;
    cudaGetDevice(&current);
    enum bd_status status = bd_cuda_make_current(((struct bd_cuda_device *)device)->number);
    bd_cuda_begin_waiting(); /* a capture is not to be disturbed */
    if (status == BD_OK)
        status = bd_cuda_alloc_host(memory, bytes, "pictures");
    bd_cuda_end_waiting();
    cudaSetDevice(current);
    return status;
}

/* FFmpeg shares a context only if threads sleep while they wait for it. The call makes none yet;
 * where there is one, or no GPU, it does not matter. */
static void prepare(struct bd_device *device)
{
    if (((struct bd_cuda_device *)device)->number == 0 &&
        cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync) != cudaSuccess)
        cudaGetLastError();
}

static const struct bd_picture_ops ops = {
    .take = bd_cuda_picture_take,
    .shrink = bd_cuda_work_shrink,
    .enlarge = bd_cuda_work_enlarge,
    .free_work = bd_cuda_work_free,
    .prepare = prepare,
    .allocate = allocate,
    .deallocate = bd_cuda_free_host,
    .begin_waiting = bd_cuda_begin_waiting,
    .end_waiting = bd_cuda_end_waiting,
    .close = close_device,
};

enum bd_status bd_cuda_device_open(struct bd_device **device, int number)
{
    struct bd_cuda_device *self = calloc(1, sizeof *self);
    *device = NULL;
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "no memory for pictures on the GPU");
    self->device.ops = &ops;
    self->number = number;
    self->fetched.on_host = true;
    pthread_mutex_init(&self->mutex, NULL);
    *device = &self->device;
    return BD_OK;
}
