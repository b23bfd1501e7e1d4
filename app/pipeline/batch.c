#include "app/pipeline/batch.h"

#include <stdlib.h>
#include <string.h>

#include <backdrop/rpca.h>

struct bd_batch {
    struct bd_backend *backend;
    struct bd_separator_options settings;
    struct bd_stabiliser *stabiliser;
    size_t rows;     /* of a small frame: pixels x channels */
    int window;      /* frames a full window has */
    int count, next; /* frames in the current window; the next one to deliver */
    int solved;      /* columns of `rpca`; 0: there is none */
    bool started;    /* a full window has been delivered */
    int64_t rank;

    struct bd_frame *frames;       /* window, full size */
    struct bd_similarity *motions; /* window: of the camera, a frame each */
    int64_t registered;            /* frames */
    uint8_t *columns;              /* rows x window: the small frames, tight */
    struct bd_matrix m, l;
    struct bd_rpca_options solver;
    struct bd_rpca *rpca;
    struct bd_separator *masker; /* makes masks from our backgrounds and learns the noise */
    int64_t masked;              /* frames given to it */

    float *column;       /* rows: one of L */
    uint8_t *background; /* rows: the same as bytes */
};

/* A live separator of which only the mask stage is used. No frame enters its window, which is
 * therefore the smallest possible. Its memory is endless: objects that stop stay foreground, as
 * they do in L. */
static enum bd_status open_masker(struct bd_batch *batch)
{
    struct bd_separator_options settings = batch->settings;
    settings.window = 2;
    settings.rank = 1;
    settings.memory = 1e9;
    settings.results = 1;
    return bd_separator_create(&batch->masker, batch->backend, &settings);
}

enum bd_status bd_batch_create(struct bd_batch **batch, struct bd_backend *backend,
                               const struct bd_separator_options *settings,
                               struct bd_stabiliser *stabiliser, bool (*interrupted)(void *user),
                               void *user)
{
    *batch = NULL;
    struct bd_batch *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the batch solver");
    self->backend = backend;
    /* Masks ask for no more: the residual is a hundredth of a grey level. The default tolerances
     * take films more than 500 iterations; these take highway 32 a window. Its F-measure is .887;
     * mu growing by 1.5 an iteration to a residual of 1e-6 takes 31, with .886. */
    self->solver = (struct bd_rpca_options){
        .tolerance = 1e-4, .optimality = 1e-2, .interrupted = interrupted, .user = user
    };
    self->settings = *settings;
    self->stabiliser = stabiliser;
    self->window = settings->window;
    self->rows = (size_t)settings->width * (size_t)settings->height * (size_t)settings->channels;
    self->frames = calloc((size_t)self->window, sizeof *self->frames);
    self->motions = calloc((size_t)self->window, sizeof *self->motions);
    self->columns = malloc(self->rows * (size_t)self->window);
    self->column = malloc(self->rows * sizeof *self->column);
    self->background = malloc(self->rows);
    enum bd_status status = BD_OK;
    if (!self->frames || !self->motions || !self->columns || !self->column || !self->background)
        status = bd_fail(BD_ERROR_MEMORY,
                         "out of memory for a window of %d frames; --window or --scale smaller",
                         self->window);
    if (!status)
        status = open_masker(self);
    if (!status)
        status = bd_matrix_create(backend, &self->m, (int64_t)self->rows, self->window, BD_U8);
    if (!status)
        status = bd_matrix_create(backend, &self->l, (int64_t)self->rows, self->window, BD_F32);
    if (status)
        bd_batch_destroy(&self);
    *batch = self;
    return status;
}

void bd_batch_destroy(struct bd_batch **batch)
{
    struct bd_batch *self = *batch;
    if (!self)
        return;
    bd_rpca_destroy(&self->rpca);
    bd_matrix_destroy(self->backend, &self->m);
    bd_matrix_destroy(self->backend, &self->l);
    bd_separator_destroy(&self->masker);
    for (int j = 0; self->frames && j < self->window; j++)
        bd_frame_destroy(&self->frames[j]);
    free(self->frames);
    free(self->motions);
    free(self->columns);
    free(self->column);
    free(self->background);
    free(self);
    *batch = NULL;
}

void bd_batch_restart(struct bd_batch *batch)
{
    batch->count = batch->next = 0;
    batch->started = false;
    bd_stabiliser_seek(batch->stabiliser);
}

static enum bd_status store(struct bd_batch *batch, int j, const struct bd_frame *frame,
                            const struct bd_frame *picture)
{
    size_t tight = (size_t)batch->settings.width * (size_t)batch->settings.channels;
    enum bd_status status = bd_frame_copy(&batch->frames[j], frame);
    if (status)
        return status;
    uint8_t *column = batch->columns + (size_t)j * batch->rows;
    double time = (double)batch->registered++ / batch->settings.frame_rate;
    bd_stabiliser_register(batch->stabiliser, picture, time, &picture, &batch->motions[j]);
    for (int y = 0; y < batch->settings.height; y++)
        memcpy(column + (size_t)y * tight, picture->data + (int64_t)y * picture->stride, tight);
    return BD_OK;
}

/* Reorders the window: first the last `keep` frames of the previous window, then the `fresh` new
 * ones. */
static void rotate(struct bd_batch *batch, int fresh, int keep)
{
    /* the new ones are at 0..fresh-1, the old ones still at fresh..window-1 */
    for (int step = 0; step < fresh; step++) {
        struct bd_frame first = batch->frames[0];
        memmove(batch->frames, batch->frames + 1,
                (size_t)(fresh + keep - 1) * sizeof *batch->frames);
        batch->frames[fresh + keep - 1] = first;
        struct bd_similarity motion = batch->motions[0];
        memmove(batch->motions, batch->motions + 1,
                (size_t)(fresh + keep - 1) * sizeof *batch->motions);
        batch->motions[fresh + keep - 1] = motion;
        memcpy(batch->background, batch->columns, batch->rows);
        memmove(batch->columns, batch->columns + batch->rows,
                (size_t)(fresh + keep - 1) * batch->rows);
        memcpy(batch->columns + (size_t)(fresh + keep - 1) * batch->rows, batch->background,
               batch->rows);
    }
}

/* Fills the window from the queue; BD_END when there is nothing left. */
static enum bd_status fill(struct bd_batch *batch, struct bd_queue *queue)
{
    enum bd_status status = BD_OK;
    int fresh = 0;
    while (fresh < batch->window) {
        const struct bd_frame *frame, *picture;
        if ((status = bd_queue_next(queue, &frame, &picture)))
            break;
        status = store(batch, fresh, frame, picture);
        bd_queue_release(queue);
        if (status)
            break;
        fresh++;
    }
    /* After an interruption the window is not solved. The queue returns any other end of the stream
     * again, once these frames are delivered. */
    if (fresh == 0 || status == BD_ERROR_MEMORY || status == BD_ERROR_INTERRUPTED)
        return status;
    int keep = batch->started ? batch->window - fresh : 0;
    if (keep > 0)
        rotate(batch, fresh, keep);
    batch->count = fresh + keep;
    batch->next = keep;
    batch->started = batch->count == batch->window;
    return BD_OK;
}

static enum bd_status load_background(struct bd_batch *batch, int j)
{
    struct bd_matrix view = batch->l;
    view.data = (float *)batch->l.data + (int64_t)j * batch->l.ld;
    view.cols = 1;
    enum bd_status status =
        bd_matrix_download(batch->backend, batch->column, (int64_t)batch->rows, &view);
    if (status)
        return status;
    for (size_t i = 0; i < batch->rows; i++) {
        float value = batch->column[i];
        batch->background[i] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value + 0.5F);
    }
    return BD_OK;
}

/* The mask of frame j of the window, from its column of L. */
static enum bd_status mask_frame(struct bd_batch *batch, int j, struct bd_separation *separation)
{
    const struct bd_separator_options *settings = &batch->settings;
    enum bd_status status = load_background(batch, j);
    if (status)
        return status;
    double time = (double)batch->masked++ / settings->frame_rate;
    return bd_separator_push_known(batch->masker, batch->columns + (size_t)j * batch->rows,
                                   (int64_t)settings->width * settings->channels, batch->background,
                                   time, separation);
}

/* Gives the masker the whole window before its first frame is delivered. */
static enum bd_status learn_noise(struct bd_batch *batch)
{
    struct bd_separation separation;
    enum bd_status status = BD_OK;
    for (int j = 0; j < batch->count && !status; j++)
        status = mask_frame(batch, j, &separation);
    return status;
}

static enum bd_status solve(struct bd_batch *batch)
{
    enum bd_status status = BD_OK;
    struct bd_rpca_result result = { 0 };
    batch->m.cols = batch->l.cols = batch->count;
    if (batch->solved != batch->count) {
        bd_rpca_destroy(&batch->rpca);
        batch->solved = 0;
        status = bd_rpca_create(&batch->rpca, batch->backend, (int64_t)batch->rows, batch->count,
                                &batch->solver);
        if (!status)
            batch->solved = batch->count;
    }
    if (!status)
        status = bd_matrix_upload(batch->backend, &batch->m, batch->columns, (int64_t)batch->rows);
    if (!status)
        status = bd_rpca_solve(batch->rpca, &batch->m, &result);
    if (status == BD_ERROR_CONVERGENCE) { /* the window's masks are good all the same */
        bd_log(BD_LOG_WARNING, "batch: %s", bd_error_detail());
        status = BD_OK;
    }
    batch->rank = result.rank;
    if (!status)
        status = bd_rpca_get(batch->rpca, &batch->l, NULL);
    if (!status)
        status = learn_noise(batch);
    return status;
}

enum bd_status bd_batch_next(struct bd_batch *batch, struct bd_queue *queue,
                             const struct bd_frame **frame, struct bd_separation *separation)
{
    enum bd_status status = BD_OK;
    if (batch->next == batch->count) {
        status = fill(batch, queue);
        if (!status)
            status = solve(batch);
        if (status)
            batch->next = batch->count; /* this window has no results */
    }
    if (!status)
        status = mask_frame(batch, batch->next, separation);
    if (status)
        return status;
    bd_stabiliser_restore(batch->stabiliser, batch->motions[batch->next], separation);
    *frame = &batch->frames[batch->next++];
    separation->rank = (int)batch->rank;
    separation->columns = batch->count;
    separation->learned = true;
    return BD_OK;
}
