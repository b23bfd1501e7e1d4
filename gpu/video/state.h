/* Private to the C files of this room: the device, and what its pictures and workspaces take from
 * it. */
#ifndef BD_GPU_VIDEO_STATE_H
#define BD_GPU_VIDEO_STATE_H

#include <pthread.h>
#include <stdbool.h>

#include "gpu/cuda.h"
#include "video/device.h"

/* A non-blocking stream, and the event on which a thread sleeps until its work is done. */
struct bd_cuda_stream {
    struct bd_cuda cuda; /* its device and its stream alone: for bd_cuda_alloc */
    cudaEvent_t done;
    struct bd_cuda_stream *next; /* of those that nobody uses */
};

/* Memory of a picture. */
struct bd_cuda_block {
    void *data;
    size_t bytes;
    struct bd_cuda_block *next; /* of those that nobody uses */
};

/* Blocks that nobody uses, all of one size. Pictures of a film need as many as are in the program
 * at the same time: later ones allocate nothing. */
struct bd_cuda_reserve {
    bool on_host; /* page-locked memory */
    struct bd_cuda_block *first;
};

struct bd_cuda_device {
    struct bd_device device; /* first */
    int number;              /* of the GPU */
    pthread_mutex_t mutex;   /* of what follows */
    struct bd_cuda_stream *streams;
    struct bd_cuda_reserve samples; /* on the GPU */
    struct bd_cuda_reserve fetched; /* on the host */
};

/* Makes GPU `number` the current one of the calling thread, which every function that the program
 * calls does first. */
enum bd_status bd_cuda_make_current(int number);

/* Whether memory on the current GPU is that of the current context: contexts of one GPU are not
 * ordered among each other. */
enum bd_status bd_cuda_is_own(const void *address, bool *own);

/* BD_ERROR_UNSUPPORTED for a GPU that is too old. *stream is all zero on failure. */
enum bd_status bd_cuda_stream_open(struct bd_cuda_stream *stream, int number);
void bd_cuda_stream_close(struct bd_cuda_stream *stream); /* accepts all zero */

/* Waits for the work that was enqueued on `on`, also where `status` says that some of it was not:
 * memory is free afterwards. Returns the first failure; `what` is for its line. */
enum bd_status bd_cuda_stream_finish(struct bd_cuda_stream *stream, cudaStream_t on,
                                     enum bd_status status, const char *what);

/* A stream for the calling thread alone, until it is given back. NULL in *stream on failure, which
 * `give` accepts. */
enum bd_status bd_cuda_stream_take(struct bd_cuda_device *device, struct bd_cuda_stream **stream);
void bd_cuda_stream_give(struct bd_cuda_device *device, struct bd_cuda_stream *stream);

/* A block of `bytes`, whose contents are undefined; `stream` is idle. NULL in *block on failure,
 * which `give` accepts. */
enum bd_status bd_cuda_block_take(struct bd_cuda_device *device, struct bd_cuda_reserve *reserve,
                                  struct bd_cuda_block **block, size_t bytes,
                                  struct bd_cuda_stream *stream);
void bd_cuda_block_give(struct bd_cuda_device *device, struct bd_cuda_reserve *reserve,
                        struct bd_cuda_block *block);

/* The functions of struct bd_picture_ops, in picture.c and work.c. */
enum bd_status bd_cuda_picture_take(struct bd_device *device, struct bd_yuv **yuv,
                                    const struct bd_yuv *surface);
enum bd_status bd_cuda_work_shrink(struct bd_device *device, struct bd_device_work **work,
                                   struct bd_frame *small, const struct bd_yuv *yuv);
enum bd_status bd_cuda_work_enlarge(struct bd_device *device, struct bd_device_work **work,
                                    struct bd_frame *mask, const struct bd_yuv *input,
                                    const struct bd_small_result *small);
void bd_cuda_work_free(struct bd_device_work **work);

#endif
