/* The host side of the two kernels: memory and tables for one size, uploads, downloads. */
#include <stdlib.h>
#include <string.h>

#include "gpu/video/picture.h"
#include "video/axis.h"

/* Memory for one size of pictures. */
struct memory {
    uint8_t *gpu, *host; /* host: page-locked, for what goes up or comes down */
};

/* What decides about memory and tables: ints alone, to be compared as bytes. */
struct plan {
    int width, height, small_width, small_height;
    int channels;
    int shift_x, shift_y; /* 0 for masks */
};

struct bd_device_work {
    int number; /* of the GPU */
    struct bd_cuda_stream stream;
    struct plan shrinking_plan, enlargement_plan; /* all zero: nothing is made yet */
    struct memory shrinking_memory, enlargement_memory;
    struct bd_cuda_shrinking shrinking;
    struct bd_cuda_enlargement enlargement;
};

static const char *const shrinking_what = "making a picture smaller";
static const char *const enlargement_what = "enlarging a mask";

static size_t round_up(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* ---- memory ------------------------------------------------------------------------------------
 */

static enum bd_status take_work(struct bd_device *device, struct bd_device_work **work)
{
    const int number = ((struct bd_cuda_device *)device)->number;
    enum bd_status status = bd_cuda_make_current(number);
    if (status != BD_OK || *work)
        return status;
    struct bd_device_work *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "no memory for scaling on the GPU");
    self->number = number;
    status = bd_cuda_stream_open(&self->stream, number);
    if (status == BD_OK)
        *work = self;
    else
        free(self);
    return status;
}

static void free_memory(struct memory *memory)
{
    bd_cuda_free(memory->gpu);
    bd_cuda_free_host(memory->host);
    *memory = (struct memory){ 0 };
}

void bd_cuda_work_free(struct bd_device_work **work)
{
    struct bd_device_work *self = *work;
    if (!self)
        return;
    *work = NULL;
    cudaSetDevice(self->number);
    free_memory(&self->shrinking_memory);
    free_memory(&self->enlargement_memory);
    bd_cuda_stream_close(&self->stream);
    free(self);
}

/* *memory is all zero on failure. */
static enum bd_status make_memory(struct bd_device_work *work, struct memory *memory,
                                  size_t gpu_bytes, size_t host_bytes, const char *what)
{
    void *gpu = NULL, *host = NULL;
    enum bd_status status = bd_cuda_alloc(&work->stream.cuda, &gpu, gpu_bytes, what);
    if (status == BD_OK)
        status = bd_cuda_alloc_host(&host, host_bytes, what);
    *memory = (struct memory){ gpu, host };
    if (status != BD_OK)
        free_memory(memory);
    return status;
}

/* The first bytes of the host's memory to the GPU's: done on return. */
static enum bd_status upload_tables(struct bd_device_work *work, const struct memory *memory,
                                    size_t bytes, const char *what)
{
    const cudaStream_t on = work->stream.cuda.stream;
    enum bd_status status = bd_cuda_check(
        cudaMemcpyAsync(memory->gpu, memory->host, bytes, cudaMemcpyHostToDevice, on), what);
    return bd_cuda_stream_finish(&work->stream, on, status, what);
}

/* Whether the GPU reaches the memory without a copy between. */
static bool is_locked(const void *memory)
{
    struct cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, memory) == cudaSuccess)
        return attributes.type == cudaMemoryTypeHost;
    cudaGetLastError();
    return false;
}

/* Enqueues the download of a result, if it was enqueued itself, waits, and copies its rows, `pitch`
 * bytes apart, to the frame. */
static enum bd_status bring(struct bd_device_work *work, struct bd_frame *frame,
                            const struct memory *memory, const uint8_t *result, size_t pitch,
                            enum bd_status status, const char *what)
{
    const cudaStream_t on = work->stream.cuda.stream;
    const size_t row = (size_t)frame->width * (size_t)frame->format;
    const size_t rows = (size_t)frame->height;
    const bool direct = is_locked(frame->data);
    if (status == BD_OK && direct)
        status = bd_cuda_check(cudaMemcpy2DAsync(frame->data, (size_t)frame->stride, result, pitch,
                                                 row, rows, cudaMemcpyDeviceToHost, on),
                               what);
    else if (status == BD_OK)
        status = bd_cuda_check(
            cudaMemcpyAsync(memory->host, result, pitch * rows, cudaMemcpyDeviceToHost, on), what);
    status = bd_cuda_stream_finish(&work->stream, on, status, what);
    for (int y = 0; y < frame->height && status == BD_OK && !direct; y++)
        memcpy(frame->data + y * frame->stride, memory->host + (size_t)y * pitch, row);
    return status;
}

/* ---- smaller pictures --------------------------------------------------------------------------
 */

static size_t axis_bytes(const struct bd_axis *axis)
{
    const size_t results = (size_t)axis->results, most = (size_t)axis->most;
    return round_up(results * (3 * sizeof(int) + most * sizeof(uint16_t)));
}

/* Writes the tables of an axis to `host`. Returns where they are on the GPU, from `gpu` on. */
static struct bd_cuda_axis pack_axis(uint8_t *host, const uint8_t *gpu, const struct bd_axis *axis)
{
    const size_t results = (size_t)axis->results, ints = results * sizeof(int);
    memcpy(host, axis->first, ints);
    memcpy(host + ints, axis->count, ints);
    memcpy(host + 2 * ints, axis->at, ints);
    memcpy(host + 3 * ints, axis->weights, results * (size_t)axis->most * sizeof(uint16_t));
    return (struct bd_cuda_axis){ .first = (const void *)gpu,
                                  .count = (const void *)(gpu + ints),
                                  .at = (const void *)(gpu + 2 * ints),
                                  .weights = (const void *)(gpu + 3 * ints) };
}

/* On the GPU there are the tables of the axes and then the result. */
static enum bd_status make_shrinking(struct bd_device_work *work, const struct plan *plan,
                                     const struct bd_axis axes[bd_axis_kinds])
{
    struct memory *memory = &work->shrinking_memory;
    struct bd_cuda_axis packed[bd_axis_kinds];
    size_t tables = 0, at = 0;
    const size_t result =
        (size_t)plan->small_width * (size_t)plan->small_height * (size_t)plan->channels;
    for (int i = 0; i < bd_axis_kinds; i++)
        tables += axis_bytes(&axes[i]);
    enum bd_status status =
        make_memory(work, memory, tables + result, larger(tables, result), shrinking_what);
    if (status != BD_OK)
        return status;
    for (int i = 0; i < bd_axis_kinds; i++) {
        packed[i] = pack_axis(memory->host + at, memory->gpu + at, &axes[i]);
        at += axis_bytes(&axes[i]);
    }
    work->shrinking = (struct bd_cuda_shrinking){ .out = memory->gpu + tables,
                                                  .width = plan->small_width,
                                                  .height = plan->small_height,
                                                  .channels = plan->channels,
                                                  .columns = packed[bd_axis_columns],
                                                  .rows = packed[bd_axis_rows],
                                                  .chroma_columns = packed[bd_axis_chroma_columns],
                                                  .chroma_rows = packed[bd_axis_chroma_rows] };
    status = upload_tables(work, memory, tables, shrinking_what);
    if (status != BD_OK)
        free_memory(memory);
    return status;
}

static enum bd_status plan_shrinking(struct bd_device_work *work, const struct plan *plan)
{
    struct bd_axis axes[bd_axis_kinds] = { { 0 } };
    enum bd_status status = BD_OK;
    if (memcmp(plan, &work->shrinking_plan, sizeof *plan) == 0)
        return BD_OK;
    work->shrinking_plan = (struct plan){ 0 };
    free_memory(&work->shrinking_memory);
    const struct bd_axis_plan sizes = { plan->width,        plan->height,  plan->small_width,
                                        plan->small_height, plan->shift_x, plan->shift_y };
    if (!bd_axes_create(axes, &sizes))
        status = bd_fail(BD_ERROR_MEMORY, "no memory to scale pictures of %d x %d", plan->width,
                         plan->height);
    if (status == BD_OK)
        status = make_shrinking(work, plan, axes);
    if (status == BD_OK)
        work->shrinking_plan = *plan;
    bd_axes_destroy(axes);
    return status;
}

enum bd_status bd_cuda_work_shrink(struct bd_device *device, struct bd_device_work **work,
                                   struct bd_frame *small, const struct bd_yuv *yuv)
{
    const struct plan plan = { .width = yuv->width,
                               .height = yuv->height,
                               .small_width = small->width,
                               .small_height = small->height,
                               .channels = (int)small->format,
                               .shift_x = yuv->shift_x,
                               .shift_y = yuv->shift_y };
    enum bd_status status = take_work(device, work);
    if (status == BD_OK)
        status = plan_shrinking(*work, &plan);
    if (status != BD_OK)
        return status;
    struct bd_device_work *self = *work;
    self->shrinking.planes = ((const struct bd_cuda_picture *)yuv)->planes;
    status = bd_cuda_shrink(&self->shrinking, self->stream.cuda.stream);
    return bring(self, small, &self->shrinking_memory, self->shrinking.out,
                 (size_t)plan.small_width * (size_t)plan.channels, status, shrinking_what);
}

/* ---- enlarged masks ----------------------------------------------------------------------------
 */

/* The tables of `count` full-size columns or rows among `small` ones. */
static void place_all(int *cells, struct bd_cuda_place *places, int count, int small)
{
    for (int i = 0; i < count; i++) {
        const struct bd_place place = bd_upscale_place(i, count, small);
        cells[i] = place.cell;
        places[i] = (struct bd_cuda_place){ .first = place.first,
                                            .second = place.second,
                                            .fraction = place.fraction };
    }
}

/* On the GPU there are the tables (of columns, then of rows), the small pictures in the order in
 * which they are uploaded, the thresholds and the mask. */
static enum bd_status make_enlargement(struct bd_device_work *work, const struct plan *plan)
{
    struct memory *memory = &work->enlargement_memory;
    const size_t width = (size_t)plan->width, height = (size_t)plan->height;
    const size_t pitch = (width + 3) / 4 * 4;
    const size_t cells = (size_t)plan->small_width * (size_t)plan->small_height;
    const size_t cell_columns = round_up(pitch * sizeof(int));
    const size_t columns = round_up(width * sizeof(struct bd_cuda_place));
    const size_t cell_rows = round_up(height * sizeof(int));
    const size_t rows = round_up(height * sizeof(struct bd_cuda_place));
    const size_t tables = cell_columns + columns + cell_rows + rows;
    const size_t pictures = cells * (size_t)(plan->channels + 2);
    const size_t local = round_up(pictures + cells) - pictures;
    enum bd_status status =
        make_memory(work, memory, tables + pictures + local + pitch * height,
                    larger(tables, larger(pictures, pitch * height)), enlargement_what);
    if (status != BD_OK)
        return status;
    const size_t at[] = { 0, cell_columns, cell_columns + columns,
                          cell_columns + columns + cell_rows };
    place_all((void *)(memory->host + at[0]), (void *)(memory->host + at[1]), plan->width,
              plan->small_width);
    place_all((void *)(memory->host + at[2]), (void *)(memory->host + at[3]), plan->height,
              plan->small_height);
    uint8_t *const small = memory->gpu + tables;
    work->enlargement =
        (struct bd_cuda_enlargement){ .out = small + pictures + local,
                                      .pitch = (int64_t)pitch,
                                      .local = small + pictures,
                                      .width = plan->width,
                                      .height = plan->height,
                                      .small_width = plan->small_width,
                                      .small_height = plan->small_height,
                                      .channels = plan->channels,
                                      .background = small,
                                      .difference = small + cells * (size_t)plan->channels,
                                      .mask = small + cells * (size_t)(plan->channels + 1),
                                      .cell_columns = (const void *)(memory->gpu + at[0]),
                                      .columns = (const void *)(memory->gpu + at[1]),
                                      .cell_rows = (const void *)(memory->gpu + at[2]),
                                      .rows = (const void *)(memory->gpu + at[3]) };
    status = upload_tables(work, memory, tables, enlargement_what);
    if (status != BD_OK)
        free_memory(memory);
    return status;
}

static enum bd_status plan_enlargement(struct bd_device_work *work, const struct plan *plan)
{
    if (memcmp(plan, &work->enlargement_plan, sizeof *plan) == 0)
        return BD_OK;
    work->enlargement_plan = (struct plan){ 0 };
    free_memory(&work->enlargement_memory);
    enum bd_status status = make_enlargement(work, plan);
    if (status == BD_OK)
        work->enlargement_plan = *plan;
    return status;
}

/* Enqueues the upload of a small picture, by way of page-locked memory unless it is in such. */
static enum bd_status send_up(struct bd_device_work *work, const uint8_t *picture,
                              const uint8_t *to, size_t bytes)
{
    uint8_t *between =
        work->enlargement_memory.host + (to - (const uint8_t *)work->enlargement.background);
    if (!is_locked(picture))
        picture = memcpy(between, picture, bytes);
    return bd_cuda_check(cudaMemcpyAsync((void *)to, picture, bytes, cudaMemcpyHostToDevice,
                                         work->stream.cuda.stream),
                         enlargement_what);
}

static enum bd_status send_pictures(struct bd_device_work *work,
                                    const struct bd_small_result *small)
{
    const size_t cells = (size_t)small->width * (size_t)small->height;
    enum bd_status status = send_up(work, small->background, work->enlargement.background,
                                    cells * (size_t)small->channels);
    if (status == BD_OK)
        status = send_up(work, small->difference, work->enlargement.difference, cells);
    if (status == BD_OK)
        status = send_up(work, small->mask, work->enlargement.mask, cells);
    return status;
}

enum bd_status bd_cuda_work_enlarge(struct bd_device *device, struct bd_device_work **work,
                                    struct bd_frame *mask, const struct bd_yuv *input,
                                    const struct bd_small_result *small)
{
    const struct plan plan = { .width = input->width,
                               .height = input->height,
                               .small_width = small->width,
                               .small_height = small->height,
                               .channels = small->channels };
    enum bd_status status = take_work(device, work);
    if (status == BD_OK)
        status = plan_enlargement(*work, &plan);
    if (status != BD_OK)
        return status;
    struct bd_device_work *self = *work;
    const double threshold = small->threshold;
    self->enlargement.least = threshold < 1 ? 1 : threshold > 255 ? 255 : (int)threshold;
    self->enlargement.input = ((const struct bd_cuda_picture *)input)->planes;
    status = send_pictures(self, small);
    if (status == BD_OK)
        status = bd_cuda_enlarge(&self->enlargement, self->stream.cuda.stream);
    return bring(self, mask, &self->enlargement_memory, self->enlargement.out,
                 (size_t)self->enlargement.pitch, status, enlargement_what);
}
