/* The live separator on the GPU: the transfers of frames and results. A frame is uploaded on a
 * stream of its own while the one before is separated; results are downloaded on another. Only
 * bd_cuda_sep_collect waits, and bd_cuda_sep_load for the page-locked buffer of two frames before.
 * A frame is uploaded when the first kernel that reads it is enqueued (bd_sep_upload): by then its
 * rates are known, if they go with it. */
#include <string.h>

#include "gpu/separation/state.cuh"

static const char *const what = "the separator";

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

/* A copy of a picture in items: item i is `rows` rows from row i `rows` on. */
struct copying {
    uint8_t *to; /* tight */
    const uint8_t *from;
    int64_t row, stride; /* bytes of a row, and from one to the next in `from` */
    int height, rows;
};

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

enum bd_status bd_cuda_sep_load(void *arg, const uint8_t *picture, int64_t stride)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    const int64_t row = (int64_t)s->shape.width * s->shape.channels;
    const int height = s->shape.height;
    if (!s->pending) /* else the frame loaded before was never read, and its buffer is free */
        s->buffer = (s->buffer + 1) % bd_sep_buffers;
    const int b = s->buffer;
    enum bd_status status =
        bd_cuda_check(cudaEventSynchronize(s->uploaded[b]), "uploading a frame");
    if (status != BD_OK)
        return status;
    struct copying copying = { s->staging[b], picture, row, stride, height, height };
    if (s->copiers) {
        copying.rows = (int)((bd_sep_copy_bytes + row - 1) / row);
        bd_pool_run(s->copiers, copy_rows, &copying, bd_sep_blocks(height, copying.rows));
    } else {
        copy_rows(&copying, 0, 0);
    }
    s->f = s->frames[b];
    s->moving.recalled = -1;
    s->pending = 1;
    return BD_OK;
}

enum bd_status bd_sep_upload(struct bd_cuda_separator *s)
{
    const int b = s->buffer, before = (b + bd_sep_buffers - 1) % bd_sep_buffers;
    if (!s->pending)
        return BD_OK;
    s->pending = 0;
    /* The kernels enqueued so far may read the buffer of the frame before, which is the next to be
     * written. */
    enum bd_status status = record(s->released[before], s->cuda->stream);
    if (status == BD_OK)
        status = join(s->upload, s->released[b]);
    if (status == BD_OK)
        status = bd_cuda_check(cudaMemcpyAsync(s->frames[b], s->staging[b],
                                               (size_t)bd_sep_buffer_bytes(s),
                                               cudaMemcpyHostToDevice, s->upload),
                               "uploading a frame");
    if (status == BD_OK)
        status = record(s->uploaded[b], s->upload);
    if (status == BD_OK)
        status = join(s->cuda->stream, s->uploaded[b]);
    return status;
}

enum bd_status bd_sep_take_set(struct bd_cuda_separator *s)
{
    if (!s->finished)
        return BD_OK;
    s->finished = 0;
    s->set = (s->set + 1) % bd_sep_depth;
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

static enum bd_status fetch(const struct bd_cuda_separator *s, void *host, const void *data,
                            int64_t bytes)
{
    if (!host)
        return BD_OK;
    return bd_cuda_check(
        cudaMemcpyAsync(host, data, (size_t)bytes, cudaMemcpyDeviceToHost, s->download),
        "downloading results");
}

enum bd_status bd_cuda_sep_finish(void *arg)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    struct bd_sep_set *set = &s->sets[s->set];
    enum bd_status status = record(s->computed, s->cuda->stream);
    if (status == BD_OK)
        status = join(s->download, s->computed);
    if (status == BD_OK)
        status = fetch(s, set->host_mask, set->mask, s->pixels);
    if (status == BD_OK)
        status = fetch(s, set->host_background, set->background, s->m);
    if (status == BD_OK)
        status = fetch(s, set->host_difference, set->difference, s->pixels);
    if (status == BD_OK)
        status = fetch(s, set->host_shadow, set->shadow, s->pixels);
    if (status == BD_OK)
        status = record(set->downloaded, s->download);
    if (status == BD_OK && s->ghosts_pending) { /* reported with this frame, and not again */
        status = bd_cuda_check(cudaMemsetAsync(&s->numbers->ghost_pixels, 0,
                                               sizeof s->numbers->ghost_pixels, s->cuda->stream),
                               "reporting ghost removal");
        s->ghosts_pending = 0;
    }
    s->finished = status == BD_OK; /* else the caller counts no frame, and the set stays */
    return status;
}

enum bd_status bd_cuda_sep_collect(void *arg, struct bd_separation *results)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    const struct bd_sep_set *set = &s->sets[s->oldest];
    s->oldest = (s->oldest + 1) % bd_sep_depth;
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
