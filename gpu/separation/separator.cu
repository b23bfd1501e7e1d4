/* The live separator on the GPU: its memory. */
#include <stdlib.h>

#include "gpu/core/gram.cuh"
#include "gpu/qr/cholesky.h"
#include "gpu/separation/flash.cuh"
#include "gpu/separation/gram.cuh"
#include "gpu/separation/mask/light.cuh"
#include "gpu/separation/state.cuh"

static const char *const what = "the separator";

static enum bd_status make_event(cudaEvent_t *event)
{
    return bd_cuda_check(cudaEventCreateWithFlags(event, cudaEventDisableTiming), what);
}

static void drop_event(cudaEvent_t event)
{
    if (event)
        cudaEventDestroy(event);
}

static void destroy_set(struct bd_sep_set *set)
{
    bd_cuda_free(set->background);
    bd_cuda_free(set->difference);
    bd_cuda_free(set->mask);
    bd_cuda_free(set->shadow);
    bd_cuda_free_host(set->host_background);
    bd_cuda_free_host(set->host_difference);
    bd_cuda_free_host(set->host_mask);
    bd_cuda_free_host(set->host_shadow);
    bd_cuda_free_host(set->record);
    drop_event(set->downloaded);
}

static void destroy_turn(struct bd_sep_turn *turn)
{
    bd_cuda_free(turn->noise);
    bd_cuda_free(turn->raw);
    bd_cuda_free(turn->shadow);
    drop_event(turn->cleaned);
}

static void sep_destroy(void *arg)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    if (!s)
        return;
    cudaStreamSynchronize(s->cuda->stream);
    cudaStream_t const streams[] = { s->upload, s->find, s->download, s->side, s->flashes.stream };
    for (cudaStream_t stream : streams)
        if (stream)
            cudaStreamSynchronize(stream);
    bd_sep_drop_graphs(s);
    bd_pool_destroy(&s->copiers);
    for (int i = 0; i < bd_sep_buffers; i++) {
        bd_cuda_free(s->frames[i]);
        bd_cuda_free_host(s->staging[i]);
        drop_event(s->uploaded[i]);
        drop_event(s->released[i]);
    }
    for (int i = 0; i < bd_sep_most_sets; i++)
        destroy_set(&s->sets[i]);
    for (struct bd_sep_turn &turn : s->turns)
        destroy_turn(&turn);
    void *const arrays[] = { s->window,
                             s->basis,
                             s->coefficients,
                             s->g,
                             s->k,
                             s->order,
                             s->numbers,
                             s->partial,
                             s->frame_partial,
                             s->gram,
                             s->gram_work,
                             s->age,
                             s->shadow_scene,
                             s->guard,
                             s->aged,
                             s->still,
                             s->votes,
                             s->earlier,
                             s->picture,
                             s->lower,
                             s->errors,
                             s->moving.samples,
                             s->moving.visits,
                             s->moving.visit,
                             s->moving.counts,
                             s->moving.seeds,
                             s->moving.moves,
                             s->moving.mirrored,
                             s->moving.places,
                             s->moving.any,
                             s->moving.list,
                             s->moving.listed,
                             s->flashes.earlier,
                             s->flashes.sights,
                             s->flashes.parts,
                             s->flashes.cells,
                             s->flashes.own,
                             s->flashes.known,
                             s->flashes.any };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        bd_cuda_free(arrays[i]);
    bd_cuda_mask_destroy(s->mask_work);
    drop_event(s->computed);
    drop_event(s->settled);
    drop_event(s->found);
    drop_event(s->flashes.begins);
    drop_event(s->flashes.learned);
    for (cudaEvent_t event : s->slid)
        drop_event(event);
    for (cudaStream_t stream : streams)
        if (stream)
            cudaStreamDestroy(stream);
    free(s);
}

/* A series of allocations: after the first failure the rest are not tried. */
struct allocation {
    struct bd_cuda *cuda;
    enum bd_status status;
};

template <class T> static void take(struct allocation *a, T **data, int64_t count)
{
    void *memory = NULL;
    if (a->status == BD_OK)
        a->status = bd_cuda_alloc(a->cuda, &memory, (size_t)count * sizeof(T), what);
    *data = static_cast<T *>(memory);
}

template <class T> static void take_host(struct allocation *a, T **data, int64_t count)
{
    void *memory = NULL;
    if (a->status == BD_OK)
        a->status = bd_cuda_alloc_host(&memory, (size_t)count * sizeof(T), what);
    *data = static_cast<T *>(memory);
}

static void take_set(struct allocation *a, const struct bd_cuda_separator *s,
                     struct bd_sep_set *set)
{
    int outputs = s->shape.outputs;
    take(a, &set->background, s->ld);
    take(a, &set->difference, s->pitch);
    take(a, &set->mask, s->pitch);
    take_host(a, &set->record, 1);
    if (outputs & BD_SEPARATOR_BACKGROUND)
        take_host(a, &set->host_background, s->m);
    if (outputs & BD_SEPARATOR_DIFFERENCE)
        take_host(a, &set->host_difference, s->pixels);
    if (outputs & BD_SEPARATOR_MASK)
        take_host(a, &set->host_mask, s->pixels);
    if (outputs & BD_SEPARATOR_SHADOW) {
        take(a, &set->shadow, s->pitch);
        take_host(a, &set->host_shadow, s->pixels);
    }
    if (a->status == BD_OK)
        a->status = make_event(&set->downloaded);
}

static void take_turn(struct allocation *a, const struct bd_cuda_separator *s,
                      struct bd_sep_turn *turn)
{
    take(a, &turn->noise, s->pitch);
    take(a, &turn->raw, s->pitch);
    take(a, &turn->shadow, s->pitch);
    if (a->status == BD_OK)
        a->status = make_event(&turn->cleaned);
}

static void take_moving(struct allocation *a, struct bd_cuda_separator *s)
{
    struct bd_sep_moving *moving = &s->moving;
    const int64_t n = s->shape.window, cell = 1 << bd_recurrence_cell_power(s->shape.height);
    moving->across = (int)((s->shape.width + cell - 1) / cell);
    moving->down = (int)((s->shape.height + cell - 1) / cell);
    const int64_t cells = (int64_t)moving->across * moving->down;
    take(a, &moving->samples, s->ld * n);
    take(a, &moving->visits, s->pitch * n);
    take(a, &moving->visit, s->pitch);
    take(a, &moving->counts, cells);
    take(a, &moving->seeds, cells);
    take(a, &moving->moves, cells);
    take(a, &moving->mirrored, cells);
    take(a, &moving->places, cells);
    take(a, &moving->any, 2);
    take(a, &moving->listed, 2);
    take(a, &moving->list, 2 * s->pixels);
}

/* After take_moving. */
static void take_flashes(struct allocation *a, struct bd_cuda_separator *s)
{
    struct bd_sep_flashes *flashes = &s->flashes;
    const int64_t cells = (int64_t)s->moving.across * s->moving.down;
    const int power = bd_recurrence_cell_power(s->shape.height);
    take(a, &flashes->earlier, cells * bd_flash_rows * ((int64_t)s->shape.channels << power));
    take(a, &flashes->sights, cells);
    take(a, &flashes->parts, cells);
    take(a, &flashes->cells, cells);
    take(a, &flashes->own, cells);
    take(a, &flashes->known, 1);
    take(a, &flashes->any, 1);
    flashes->paused = 1;
    if (a->status == BD_OK)
        a->status = make_event(&flashes->begins);
    if (a->status == BD_OK)
        a->status = make_event(&flashes->learned);
}

/* The window is the largest piece by far. It comes first, so that a failure reports its size. */
static enum bd_status take_memory(struct bd_cuda_separator *s)
{
    struct allocation a = { s->cuda, BD_OK };
    int64_t n = s->shape.window, rank = s->shape.rank;
    size_t work = bd_sep_gram_workspace(s);
    for (int count = 1; count <= n; count++) {
        size_t bytes = bd_gram_workspace(s->cuda, s->m, count);
        work = bytes > work ? bytes : work;
    }
    take(&a, &s->window, s->ld * n);
    take(&a, &s->basis, s->ld * rank);
    take(&a, &s->coefficients, n * bd_max_rank);
    take(&a, &s->g, n * rank);
    take(&a, &s->k, n * rank);
    take(&a, &s->order, n);
    take(&a, &s->numbers, 1);
    take(&a, &s->frame_partial, (int64_t)bd_sep_project_blocks(s) * (rank == 1 ? 1 : bd_max_rank));
    take(&a, &s->partial, (n > bd_max_rank ? 2 * n : 2 * bd_max_rank + 1) * bd_sep_parts);
    take(&a, &s->gram, (int64_t)bd_cuda_cholesky_size(n));
    take(&a, &s->errors, n);
    take(&a, (uint8_t **)&s->gram_work, (int64_t)work);
    take(&a, &s->age, s->pitch);
    take(&a, &s->shadow_scene, 1);
    take(&a, &s->guard, s->pitch);
    take(&a, &s->aged, s->pitch / 4);
    take(&a, &s->still, s->pitch);
    take(&a, &s->votes, s->pitch);
    take(&a, &s->earlier, s->ld);
    take(&a, &s->picture, s->ld);
    take(&a, &s->lower, s->pitch);
    take_moving(&a, s);
    take_flashes(&a, s);
    for (struct bd_sep_turn &turn : s->turns)
        take_turn(&a, s, &turn);
    for (int i = 0; i < bd_sep_buffers; i++) {
        take(&a, &s->frames[i], bd_sep_buffer_bytes(s));
        take_host(&a, &s->staging[i], bd_sep_buffer_bytes(s));
        if (a.status == BD_OK)
            a.status = make_event(&s->uploaded[i]);
        if (a.status == BD_OK)
            a.status = make_event(&s->released[i]);
    }
    s->set_count = s->shape.results > 1 ? bd_sep_most_sets : bd_sep_depth;
    for (int i = 0; i < s->set_count; i++)
        take_set(&a, s, &s->sets[i]);
    return a.status;
}

static enum bd_status take_copiers(struct bd_cuda_separator *s)
{
    const int most = s->cuda->threads, wanted = bd_sep_copy_threads;
    const int threads = most && most < wanted ? most : wanted;
    if (threads == 1 || s->m < (int64_t)bd_sep_copy_least * bd_sep_copy_bytes)
        return BD_OK;
    return bd_pool_create(&s->copiers, threads);
}

/* What a frame waits for comes before the frame before it, and a slide after both. */
static enum bd_status make_streams(struct bd_cuda_separator *s)
{
    cudaError_t error = bd_cuda_make_stream(&s->side, bd_cuda_late);
    cudaStream_t *const soon[] = { &s->upload, &s->find, &s->download, &s->flashes.stream };
    for (cudaStream_t *stream : soon)
        if (error == cudaSuccess)
            error = bd_cuda_make_stream(stream, bd_cuda_soon);
    return bd_cuda_check(error, what);
}

static enum bd_status sep_create(struct bd_backend *backend,
                                 const struct bd_separation_shape *shape, void **out)
{
    *out = NULL;
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)calloc(1, sizeof *s);
    if (!s)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the separator");
    s->cuda = bd_cuda_of(backend);
    s->shape = *shape;
    s->pixels = (int64_t)shape->width * shape->height;
    s->m = s->pixels * shape->channels;
    s->pitch = (s->pixels + 63) / 64 * 64;
    s->ld = s->pitch * shape->channels;
    enum bd_status status = take_memory(s);
    if (status == BD_OK)
        status = make_event(&s->computed);
    if (status == BD_OK)
        status = make_event(&s->settled);
    if (status == BD_OK)
        status = make_event(&s->found);
    for (cudaEvent_t &event : s->slid)
        if (status == BD_OK)
            status = make_event(&event);
    if (status == BD_OK)
        status = make_streams(s);
    if (status == BD_OK)
        status = bd_cuda_mask_create(s->cuda, shape->width, shape->height, &s->mask_work);
    if (status == BD_OK)
        status = take_copiers(s);
    /* The arrays were zeroed on the separator's stream; uploads come on another. */
    if (status == BD_OK)
        status = bd_cuda_check(cudaStreamSynchronize(s->cuda->stream), what);
    s->f = s->frames[0];
    if (status != BD_OK) {
        sep_destroy(s);
        return status;
    }
    *out = s;
    return BD_OK;
}

static enum bd_status sep_reset(void *arg)
{
    struct bd_cuda_separator *s = (struct bd_cuda_separator *)arg;
    cudaStream_t stream = s->cuda->stream;
    size_t pitch = (size_t)s->pitch;
    enum bd_status status = bd_sep_settle(s, bd_sep_share_all);
    if (status != BD_OK)
        return status;
    cudaError_t error = cudaMemsetAsync(s->numbers, 0, sizeof *s->numbers, stream);
    for (struct bd_sep_turn &turn : s->turns)
        if (error == cudaSuccess)
            error = cudaMemsetAsync(turn.noise, 0, pitch * sizeof *turn.noise, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(s->age, 0, pitch * sizeof *s->age, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(s->guard, 0, pitch, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(s->still, 0, pitch, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(s->votes, 0, pitch, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(s->earlier, 0, (size_t)s->ld, stream);
    struct bd_sep_moving *moving = &s->moving;
    const size_t cells = (size_t)moving->across * (size_t)moving->down;
    if (error == cudaSuccess)
        error = cudaMemsetAsync(moving->visit, 0, pitch, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(moving->counts, 0, cells * sizeof *moving->counts, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(moving->mirrored, 0, cells * sizeof *moving->mirrored, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(moving->places, 0, cells, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(moving->any, 0, 2 * sizeof *moving->any, stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(s->shadow_scene, 0, sizeof *s->shadow_scene, stream);
    moving->looks = moving->followed = moving->stale = 0;
    s->ghosts_pending = 0;
    status = bd_cuda_check(error, "forgetting what the separator learned");
    if (status == BD_OK)
        status = bd_sep_forget_flashes(s);
    return status == BD_OK ? bd_cuda_mask_forget(s->mask_work) : status;
}

const struct bd_separation_ops bd_cuda_separation_ops = {
    .create = sep_create,
    .destroy = sep_destroy,
    .reset = sep_reset,
    .load = bd_cuda_sep_load,
    .load_several = bd_cuda_sep_load_several,
    .load_background = bd_cuda_sep_load_background,
    .project = bd_cuda_sep_project,
    .detect = bd_cuda_sep_detect,
    .step = bd_cuda_sep_step,
    .insert = bd_cuda_sep_insert,
    .recall = bd_cuda_sep_recall,
    .gram = bd_cuda_sep_gram,
    .beside = bd_cuda_sep_beside,
    .reduce = bd_cuda_sep_reduce,
    .basis = bd_cuda_sep_basis,
    .basis_only = NULL,  /* R takes a GPU little time */
    .basis_ahead = NULL, /* all of it takes a GPU less than a frame */
    .compare = bd_cuda_sep_compare,
    .stable = bd_cuda_sep_stable,
    .remove_ghosts = bd_cuda_sep_remove_ghosts,
    .depth = 3,
    .finish = bd_cuda_sep_finish,
    .collect = bd_cuda_sep_collect,
};
