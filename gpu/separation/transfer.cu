/* The live separator on the GPU: the transfers of frames and results. A frame is uploaded on a
 * stream of its own while the one before is separated; results are downloaded on another. Of what
 * an ordinary frame calls, only bd_cuda_sep_collect waits, and both ways to load: for the
 * page-locked buffer of three frames before, and for a copy by the GPU (fetch_picture). A frame is
 * uploaded when the first kernel that reads it is enqueued (bd_sep_upload): by then its rates are
 * known, if they go with it. With frames of other separators, which keep the GPU busy meanwhile, an
 * ordinary frame's transfers are part of its graph: the host then makes six calls in place of
 * sixteen. */
#include <string.h>

#include "gpu/separation/state.cuh"

static const char *const what = "the separator";
static const char *const uploading = "uploading a frame";

/* A copy of a picture in items: item i is `rows` rows from row i `rows` on. */
struct copying {
    uint8_t *to; /* tight */
    const uint8_t *from;
    int64_t row, stride; /* bytes of a row, and from one to the next in `from` */
    int height, rows;
};

/* `event` completes when the work enqueued on `stream` so far is done. */
static enum bd_status record(cudaEvent_t event, cudaStream_t stream)
{
    return bd_cuda_check(cudaEventRecord(event, stream), what);
}

/* The work enqueued on `stream` from here on comes after `event`. */
static enum bd_status join(cudaStream_t stream, cudaEvent_t event)
{
    return bd_cuda_check(cudaStreamWaitEvent(stream, event, 0), what);
}

static void copy_rows(void *arg, int64_t item, int thread)
{
    const struct copying *c = (const struct copying *)arg;
    const int64_t first = item * c->rows, left = c->height - first;
    const int64_t count = left < c->rows ? left : c->rows;
    (void)thread;
    if (c->stride == c->row)
        memcpy(c->to + first * c->row, c->from + first * c->row, (size_t)(count * c->row));
    else
        for (int64_t y = first; y < first + count; y++)
            memcpy(c->to + y * c->row, c->from + y * c->stride, (size_t)c->row);
}

/* Waits for the page-locked buffer of the next frame. *copying: the copy of its picture to there,
 * in one item. */
static enum bd_status begin_load(struct bd_cuda_separator *s, const uint8_t *picture,
                                 int64_t stride, struct copying *copying)
{
    const int64_t row = (int64_t)s->shape.width * s->shape.channels;
    const int height = s->shape.height;
    if (!s->pending) /* else the frame loaded before was never read, and its buffer is free */
        s->buffer = (s->buffer + 1) % bd_sep_buffers;
    *copying = { s->staging[s->buffer], picture, row, stride, height, height };
    return bd_cuda_check(cudaEventSynchronize(s->uploaded[s->buffer]), uploading);
}

/* The picture has been copied. */
static void end_load(struct bd_cuda_separator *s, int together)
{
    s->f = s->frames[s->buffer];
    s->moving.recalled = -1;
    s->pending = 1;
    s->fetched = 0;
    s->together = together;
}

/* Where a picture is: page-locked memory, or that of another GPU, needs a transfer. */
enum reach { reach_host, reach_transfer, reach_here };

static enum reach reach_of(const struct bd_cuda_separator *s, const uint8_t *picture)
{
    struct cudaPointerAttributes at;
    if (cudaPointerGetAttributes(&at, picture) != cudaSuccess) {
        cudaGetLastError(); /* later checks must not see it */
        return reach_host;
    }
    if (at.type == cudaMemoryTypeUnregistered)
        return reach_host;
    return at.type == cudaMemoryTypeDevice && at.device == s->cuda->device ? reach_here
                                                                           : reach_transfer;
}

/* Uploads after this go to the buffer in hand, which no kernel reads any more. */
static enum bd_status begin_upload(struct bd_cuda_separator *s)
{
    const int b = s->buffer, before = (b + bd_sep_buffers - 1) % bd_sep_buffers;
    /* The kernels enqueued so far may read the buffer of the frame before. */
    enum bd_status status = record(s->released[before], s->cuda->stream);
    for (int i = 0; status == BD_OK && s->unreleased && i < bd_sep_buffers; i++)
        status = record(s->released[i], s->cuda->stream);
    if (status == BD_OK)
        s->unreleased = 0;
    return status == BD_OK ? join(s->upload, s->released[b]) : status;
}

/* Four bytes a thread of the `bytes` of a picture whose rows have `row` bytes, `stride` apart.
 * Beside the transfers of other frames this is much faster than a copy engine. */
static __global__ void copy_picture(uint8_t *to, const uint8_t *from, int64_t row, int64_t stride,
                                    int64_t bytes, bool words)
{
    const int64_t i = 4 * ((int64_t)blockIdx.x * bd_sep_threads + threadIdx.x);
    if (i >= bytes)
        return;
    if (words) {
        *reinterpret_cast<uint32_t *>(to + i) = bd_sep_load_word(from + i / row * stride + i % row);
        return;
    }
    for (int64_t k = i; k < i + 4 && k < bytes; k++)
        to[k] = from[k / row * stride + k % row];
}

static enum bd_status enqueue_copy(struct bd_cuda_separator *s, const struct copying *c,
                                   enum reach reach)
{
    uint8_t *to = s->frames[s->buffer];
    if (reach == reach_transfer)
        return bd_cuda_check(cudaMemcpy2DAsync(to, (size_t)c->row, c->from, (size_t)c->stride,
                                               (size_t)c->row, (size_t)c->height, cudaMemcpyDefault,
                                               s->upload),
                             uploading);
    const bool words = ((uintptr_t)c->from | (uintptr_t)c->stride | (uintptr_t)c->row) % 4 == 0;
    copy_picture<<<bd_sep_blocks(s->m, 4 * bd_sep_threads), bd_sep_threads, 0, s->upload>>>(
        to, c->from, c->row, c->stride, s->m, words);
    return bd_cuda_launched(uploading);
}

/* Copies a picture that the GPU can read into the buffer in hand, and waits for that: the host has
 * nothing to copy. */
static enum bd_status fetch_picture(struct bd_cuda_separator *s, const struct copying *copying,
                                    enum reach reach)
{
    enum bd_status status = begin_upload(s);
    if (status == BD_OK)
        status = enqueue_copy(s, copying, reach);
    if (status == BD_OK)
        status = record(s->uploaded[s->buffer], s->upload);
    if (status == BD_OK)
        status = bd_cuda_check(cudaEventSynchronize(s->uploaded[s->buffer]), uploading);
    if (status == BD_OK)
        end_load(s, 0);
    s->fetched = status == BD_OK;
    return status;
}

/* `together`: with frames of other separators, which other threads load meanwhile. */
static enum bd_status load(struct bd_cuda_separator *s, const uint8_t *picture, int64_t stride,
                           int together)
{
    struct copying copying;
    enum bd_status status = begin_load(s, picture, stride, &copying);
    if (status != BD_OK)
        return status;
    const enum reach reach = reach_of(s, picture);
    if (reach != reach_host)
        return fetch_picture(s, &copying, reach);
    if (s->copiers && !together) {
        copying.rows = (int)((bd_sep_copy_bytes + copying.row - 1) / copying.row);
        bd_pool_run(s->copiers, copy_rows, &copying, bd_sep_blocks(copying.height, copying.rows));
    } else {
        copy_rows(&copying, 0, 0);
    }
    end_load(s, together);
    return BD_OK;
}

enum bd_status bd_cuda_sep_load(void *arg, const uint8_t *picture, int64_t stride)
{
    return load((struct bd_cuda_separator *)arg, picture, stride, 0);
}

struct several {
    const struct bd_separation_load *loads;
    void (*loaded)(void *arg, int i, enum bd_status status);
    void *arg;
};

/* Loads and separates a frame: launches take longer than copies. Thread 0 is the caller of the
 * library, for which the GPU is current. */
static void load_one(void *arg, int64_t i, int thread)
{
    const struct several *all = (const struct several *)arg;
    const struct bd_separation_load *one = &all->loads[i];
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)one->state;
    enum bd_status status = BD_OK;
    if (thread)
        status = bd_cuda_check(cudaSetDevice(s->cuda->device), "making the GPU current");
    if (status == BD_OK)
        status = load(s, one->picture, one->stride, 1);
    all->loaded(all->arg, (int)i, status);
}

void bd_cuda_sep_load_several(const struct bd_separation_load *loads, int count,
                              void (*loaded)(void *arg, int i, enum bd_status status), void *arg)
{
    struct several all = { loads, loaded, arg };
    const struct bd_cuda *of = ((const struct bd_cuda_separator *)loads[0].state)->cuda->of;
    if (of && of->pool)
        bd_pool_run(of->pool, load_one, &all, count);
    for (int i = 0; !(of && of->pool) && i < count; i++)
        load_one(&all, i, 0);
}

/* The buffer in hand, from its byte number `from` on. */
static enum bd_status send_up(struct bd_cuda_separator *s, int64_t from, cudaStream_t stream)
{
    return bd_cuda_check(cudaMemcpyAsync(s->frames[s->buffer] + from, s->staging[s->buffer] + from,
                                         (size_t)(bd_sep_buffer_bytes(s) - from),
                                         cudaMemcpyHostToDevice, stream),
                         uploading);
}

enum bd_status bd_sep_upload_here(struct bd_cuda_separator *s)
{
    return send_up(s, 0, s->cuda->stream);
}

enum bd_status bd_sep_send(struct bd_cuda_separator *s)
{
    s->pending = 0;
    enum bd_status status = s->fetched ? BD_OK : begin_upload(s);
    if (status == BD_OK)
        status = send_up(s, s->fetched ? s->ld : 0, s->upload);
    return status == BD_OK ? record(s->uploaded[s->buffer], s->upload) : status;
}

enum bd_status bd_sep_upload(struct bd_cuda_separator *s)
{
    if (!s->pending)
        return BD_OK;
    enum bd_status status = bd_sep_send(s);
    return status == BD_OK ? join(s->cuda->stream, s->uploaded[s->buffer]) : status;
}

enum bd_status bd_sep_take_set(struct bd_cuda_separator *s)
{
    if (!s->finished)
        return BD_OK;
    s->finished = 0;
    s->set = (s->set + 1) % s->set_count;
    return join(s->cuda->stream, s->sets[s->set].downloaded);
}

enum bd_status bd_cuda_sep_load_background(void *arg, const uint8_t *background)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    enum bd_status status = bd_sep_take_set(s);
    s->projected = 0;
    if (status != BD_OK)
        return status;
    cudaError_t error = cudaMemcpyAsync(s->sets[s->set].background, background, (size_t)s->m,
                                        cudaMemcpyHostToDevice, s->cuda->stream);
    if (error == cudaSuccess) /* the caller's memory is free on return */
        error = cudaStreamSynchronize(s->cuda->stream);
    return bd_cuda_check(error, "uploading a background");
}

static enum bd_status fetch(void *host, const void *data, int64_t bytes, cudaStream_t stream)
{
    if (!host)
        return BD_OK;
    return bd_cuda_check(cudaMemcpyAsync(host, data, (size_t)bytes, cudaMemcpyDeviceToHost, stream),
                         "downloading results");
}

/* The pictures of the set in hand. */
static enum bd_status send_down(const struct bd_cuda_separator *s, cudaStream_t stream)
{
    const struct bd_sep_set *set = &s->sets[s->set];
    enum bd_status status = fetch(set->host_mask, set->mask, s->pixels, stream);
    if (status == BD_OK)
        status = fetch(set->host_background, set->background, s->m, stream);
    if (status == BD_OK)
        status = fetch(set->host_difference, set->difference, s->pixels, stream);
    if (status == BD_OK)
        status = fetch(set->host_shadow, set->shadow, s->pixels, stream);
    return status;
}

enum bd_status bd_sep_download_here(struct bd_cuda_separator *s)
{
    return send_down(s, s->cuda->stream);
}

/* The results in the set in hand are there when the work on `stream` is done. */
static enum bd_status end_frame(struct bd_cuda_separator *s, cudaStream_t stream)
{
    enum bd_status status = record(s->sets[s->set].downloaded, stream);
    if (status == BD_OK && s->ghosts_pending) { /* reported with this frame, and not again */
        status = bd_cuda_check(cudaMemsetAsync(&s->numbers->ghost_pixels, 0,
                                               sizeof s->numbers->ghost_pixels, s->cuda->stream),
                               "reporting ghost removal");
        s->ghosts_pending = 0;
    }
    s->finished = status == BD_OK; /* else the caller counts no frame, and the set stays */
    return status;
}

enum bd_status bd_cuda_sep_finish(void *arg)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    enum bd_status status = record(s->computed, s->cuda->stream);
    if (status == BD_OK)
        status = join(s->download, s->computed);
    if (status == BD_OK)
        status = send_down(s, s->download);
    return status == BD_OK ? end_frame(s, s->download) : status;
}

enum bd_status bd_sep_finish_together(struct bd_cuda_separator *s)
{
    enum bd_status status = record(s->uploaded[s->buffer], s->cuda->stream);
    return status == BD_OK ? end_frame(s, s->cuda->stream) : status;
}

enum bd_status bd_cuda_sep_collect(void *arg, struct bd_separation *results)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    const struct bd_sep_set *set = &s->sets[s->oldest];
    s->oldest = (s->oldest + 1) % s->set_count;
    enum bd_status status =
        bd_cuda_check(cudaEventSynchronize(set->downloaded), "waiting for results");
    if (status != BD_OK)
        return status;
    results->background = set->host_background;
    results->difference = set->host_difference;
    results->mask = set->host_mask;
    results->shadow = set->host_shadow;
    results->foreground = set->record->foreground;
    results->ghost_pixels = set->record->ghost_pixels;
    results->changed = set->record->changed;
    results->rank = set->record->rank;
    results->drift = set->record->drift;
    return BD_OK;
}
