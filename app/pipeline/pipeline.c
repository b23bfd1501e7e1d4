#include "app/pipeline/pipeline.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/pipeline/batch.h"
#include "app/pipeline/device.h"
#include "app/pipeline/finisher.h"
#include "app/pipeline/in_flight.h"
#include "app/pipeline/initialise.h"
#include "app/pipeline/pictures.h"
#include "app/pipeline/queue.h"
#include "app/pipeline/settings.h"
#include "app/pipeline/stabilise.h"
#include "base/clock.h"
#include "video/input/pieces.h"
#include "video/scale.h"

/* Decoded frames that may wait: enough to even out key frames, few enough for 4K pictures. */
enum { queue_frames = 8, live_queue_frames = 2 };

/* Threads that scale frames: a colour frame of 1920x1080 takes one thread 2 ms. */
enum { scaling_threads = 4 };

/* Cores from which on frames are registered in threads of their own. */
enum { least_for_registration = 4 };

/* Seconds of look-ahead from which on it is read in several parts. */
enum { least_for_parts = 10 };

/* Most memory of frames that are held back at the start, for masks alone: 233 of 1280x720, 133 of
 * 1920x1080, 40 of 3840x2160. */
enum { most_start_bytes = 512 << 20 };

struct bd_pipeline {
    const struct bd_options *options;
    unsigned wants;
    bool (*interrupted)(void *);
    void *user;
    atomic_bool closing; /* read by the decoder thread */

    struct bd_backend *backend;
    struct bd_device *device; /* in whose memory pictures stay; NULL: they come to the host */
    struct bd_pieces *pieces; /* that are joined to one film; NULL: the input is one file */
    struct bd_reader *reader;
    const struct bd_reader_info *info;
    struct bd_reader_options reader_options;
    struct bd_queue *queue;
    struct bd_separator *separator; /* live solver */
    struct bd_batch *batch;         /* batch solver */
    struct bd_separator_options settings;
    struct bd_initialiser
        *initialiser;   /* live solver: the look-ahead, until the first frame is wanted */
    double start_delay; /* seconds of frames to hold back and to learn from; 0: none, or done */

    enum bd_pixel_format small_format;               /* of what is separated */
    struct bd_scaler *shrink[bd_queue_most_threads]; /* one a thread of the queue */

    struct bd_stabiliser *stabiliser; /* registers frames; NULL: not wanted */
    struct bd_in_flight flight;       /* live solver: between the queue and the separator */
    bool registers_ahead;             /* frames are registered in threads of their own */
    struct bd_pictures *pictures;
};

static bool asked_to_stop(void *user)
{
    struct bd_pipeline *pipeline = user;
    return atomic_load(&pipeline->closing) ||
           (pipeline->interrupted && pipeline->interrupted(pipeline->user));
}

static enum bd_status open_reader(struct bd_pipeline *pipeline)
{
    const struct bd_options *options = pipeline->options;
    struct bd_reader_options *reading = &pipeline->reader_options;
    enum bd_status status = BD_OK;
    *reading = bd_choose_reading(options, pipeline->wants);
    reading->device = pipeline->device;
    reading->interrupted = asked_to_stop;
    reading->user = pipeline;
    if (options->piece_count > 1)
        status = bd_pieces_open(&pipeline->pieces, options->pieces, options->piece_count, reading);
    reading->pieces = pipeline->pieces;
    if (!status)
        status = bd_reader_open(&pipeline->reader, options->arguments[0], reading);
    if (status == BD_ERROR_INTERRUPTED || status == BD_ERROR_MEMORY)
        return status;
    if (status)
        return bd_fail(status == BD_ERROR_IO ? status : BD_ERROR_FORMAT, "%s", bd_error_detail());
    pipeline->info = bd_reader_get_info(pipeline->reader);
    return BD_OK;
}

/* Each part has to decode from the key frame before it. Several parts pay for films of ten seconds
 * and more, on machines with enough cores. */
static int parts_to_look_through(const struct bd_pipeline *pipeline)
{
    const struct bd_separator_options *settings = &pipeline->settings;
    int cores = bd_cores_of(pipeline->options);
    double length = (double)bd_pipeline_frame_count(pipeline) / settings->frame_rate;
    double span = fmin(length, fmin(settings->memory, bd_initialiser_most_seconds));
    bool apart = span * settings->frame_rate >= 2.0 * settings->window;
    return apart && span >= least_for_parts && cores >= 4 * bd_initialiser_most_parts
               ? bd_initialiser_most_parts
               : 1;
}

/* Starts the look-ahead, where it is possible. */
static enum bd_status look_ahead(struct bd_pipeline *pipeline)
{
    const char *input = pipeline->options->arguments[0];
    bool possible = pipeline->options->solver != BD_SOLVER_BATCH && pipeline->info->seekable &&
                    !pipeline->info->live && !pipeline->options->live && strcmp(input, "-") != 0;
    if (!possible)
        return BD_OK;
    return bd_initialiser_start(&pipeline->initialiser, input, &pipeline->reader_options,
                                &pipeline->settings, pipeline->small_format,
                                parts_to_look_through(pipeline));
}

/* Opening a GPU takes most of a second. The input is opened first, so that the look-ahead runs
 * meanwhile. If both fail, the failure of the backend is reported. */
static enum bd_status open_input_and_backend(struct bd_pipeline *pipeline)
{
    const struct bd_options *options = pipeline->options;
    char detail[bd_detail_size] = "";
    enum bd_status input = bd_open_device(&pipeline->device, options, pipeline->wants);
    if (!input)
        input = open_reader(pipeline);
    if (!input)
        input = bd_choose_settings(&pipeline->settings, options, pipeline->info, pipeline->wants);
    pipeline->small_format = (enum bd_pixel_format)pipeline->settings.channels;
    if (!input)
        input = look_ahead(pipeline);
    if (input)
        snprintf(detail, sizeof detail, "%s", bd_error_detail());
    if (!input && pipeline->device && pipeline->info->helped)
        pipeline->device->ops->prepare(pipeline->device);
    enum bd_status status =
        bd_backend_open(&pipeline->backend, options->backend, bd_separating_threads(options));
    return status || !input ? status : bd_fail(input, "%s", detail);
}

/* The GPU that may have pictures in its memory; NULL where there is none, or another backend. */
static struct bd_device *device_in_use(const struct bd_pipeline *pipeline)
{
    return strcmp(bd_backend_name(pipeline->backend), "cuda") == 0 ? pipeline->device : NULL;
}

/* Says which options would need less, where memory was short. */
static enum bd_status with_memory_hint(const struct bd_pipeline *pipeline, enum bd_status status)
{
    if (status != BD_ERROR_MEMORY)
        return status;
    bool gpu = strcmp(bd_backend_name(pipeline->backend), "cpu") != 0;
    return bd_fail(status, "%s; a smaller --window or --scale needs less%s", bd_error_detail(),
                   gpu ? ", and --backend cpu no GPU" : "");
}

static enum bd_status open_solver(struct bd_pipeline *pipeline, bool drop)
{
    const struct bd_options *options = pipeline->options;
    const struct bd_reader_info *info = pipeline->info;
    struct bd_separator_options *settings = &pipeline->settings;
    settings->results = drop ? 1 : bd_finisher_results; /* a window finishes each frame at once */
    enum bd_status status =
        bd_stabiliser_create(&pipeline->stabiliser, (enum bd_stabilise_mode)options->stabilise,
                             settings, pipeline->small_format, bd_moving_threads(options));
    if (!status && options->solver == BD_SOLVER_BATCH)
        status = bd_batch_create(&pipeline->batch, pipeline->backend, settings,
                                 pipeline->stabiliser, asked_to_stop, pipeline);
    else if (!status)
        status = bd_separator_create(&pipeline->separator, pipeline->backend, settings);
    status = with_memory_hint(pipeline, status);
    if (!status)
        status = bd_pictures_create(&pipeline->pictures, info->width, info->height, settings,
                                    pipeline->wants, options->roi,
                                    bd_picture_threads(options, drop), device_in_use(pipeline));
    return status;
}

/* Scales a frame to the processing size and format. Called by the threads of the queue. */
static enum bd_status shrink(void *user, int thread, struct bd_frame *picture,
                             const struct bd_frame *frame)
{
    struct bd_pipeline *pipeline = user;
    enum bd_status status = bd_frame_ensure(picture, pipeline->settings.width,
                                            pipeline->settings.height, pipeline->small_format);
    if (status)
        return status;
    return bd_scale(&pipeline->shrink[thread], picture, frame, BD_SCALE_AREA);
}

/* Decides how long the first frames are held back: only without a look-ahead, and not in a window,
 * which must show a picture at once. Returns how many frames that is. */
static int hold_start(struct bd_pipeline *pipeline, bool drop)
{
    const struct bd_separator_options *settings = &pipeline->settings;
    if (!pipeline->separator || pipeline->initialiser || drop)
        return 0;
    pipeline->start_delay = fmin(bd_start_delay(pipeline->options), settings->memory);
    if (pipeline->start_delay <= 0)
        return 0;
    double frames = ceil(pipeline->start_delay * settings->frame_rate) + 1;
    return (int)fmin(frames, bd_queue_most_frames);
}

/* Frames of a film are scaled by one thread each, several at a time: threads that share a frame
 * would wait for each other. Frames of a camera come one by one, so all threads scale the same one.
 */
static enum bd_status open_queue(struct bd_pipeline *pipeline, bool drop)
{
    bool live = pipeline->info->live, dropping = live && drop;
    const struct bd_separator_options *settings = &pipeline->settings;
    struct bd_queue_options options = { .capacity = dropping ? live_queue_frames : queue_frames,
                                        .start = hold_start(pipeline, drop),
                                        .start_bytes = most_start_bytes,
                                        .picture_bytes = (int64_t)settings->width *
                                                         settings->height * pipeline->small_format,
                                        .drop = dropping,
                                        .prepare = shrink,
                                        .threads = live ? 1 : scaling_threads,
                                        .user = pipeline };
    int most = pipeline->options->threads;
    if (most && options.threads > most)
        options.threads = most;
    enum bd_status status = BD_OK;
    for (int i = 0; i < options.threads && !live && !status; i++)
        status = bd_scaler_create(&pipeline->shrink[i], 1);
    return status ? status : bd_queue_open(&pipeline->queue, pipeline->reader, &options);
}

enum bd_status bd_pipeline_open(struct bd_pipeline **pipeline, const struct bd_options *options,
                                bool drop, unsigned wants, bool (*interrupted)(void *), void *user)
{
    *pipeline = NULL;
    struct bd_pipeline *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the pipeline");
    self->options = options;
    self->wants = wants;
    self->interrupted = interrupted;
    self->user = user;
    enum bd_status status = open_input_and_backend(self);
    if (status == BD_OK)
        status = open_solver(self, drop);
    if (status == BD_OK)
        status = open_queue(self, drop);
    self->flight = (struct bd_in_flight){ .queue = self->queue,
                                          .separator = self->separator,
                                          .info = self->info,
                                          .stabiliser = self->stabiliser };
    if (status) {
        bd_pipeline_close(&self);
        return status;
    }
    *pipeline = self;
    return BD_OK;
}

int bd_open_exit_status(enum bd_status status)
{
    if (status == BD_ERROR_INTERRUPTED)
        return 4;
    return status == BD_ERROR_IO || status == BD_ERROR_FORMAT ? 2 : 1;
}

/* Before the first frame: the background from the look-ahead, or from frames that were held back.
 */
static enum bd_status initialise(struct bd_pipeline *pipeline)
{
    enum bd_status status = BD_OK;
    if (pipeline->initialiser)
        status = bd_initialiser_finish(&pipeline->initialiser, pipeline->separator,
                                       pipeline->stabiliser);
    if (!status && pipeline->start_delay > 0)
        status = bd_initialise_from_queue(pipeline->queue, pipeline->info->time_base,
                                          pipeline->start_delay, pipeline->separator,
                                          pipeline->stabiliser);
    pipeline->start_delay = 0;
    return status;
}

/* The next frame, whose separation is valid as long as settings.results says. */
static enum bd_status separate(struct bd_pipeline *pipeline, struct bd_separated *separated)
{
    const struct bd_frame *frame = NULL;
    struct bd_separation *separation = &separated->separation;
    *separated = (struct bd_separated){ 0 };
    enum bd_status status = initialise(pipeline);
    if (!status && pipeline->registers_ahead && pipeline->separator)
        status = bd_in_flight_register_ahead(&pipeline->flight);
    if (!status && pipeline->batch)
        status = bd_batch_next(pipeline->batch, pipeline->queue, &frame, separation);
    else if (!status)
        status = bd_in_flight_next(&pipeline->flight, &frame, separation, &separated->motion);
    if (status)
        return status;
    separated->settings =
        pipeline->separator ? *bd_separator_options(pipeline->separator) : pipeline->settings;
    separated->result = (struct bd_result){ .input = frame,
                                            .time = bd_frame_time(frame, pipeline->info->time_base),
                                            .rank = separation->rank,
                                            .columns = separation->columns,
                                            .learned = separation->learned,
                                            .dropped = bd_queue_dropped(pipeline->queue),
                                            .seconds = pipeline->flight.seconds };
    return BD_OK;
}

enum bd_status bd_pipeline_next(struct bd_pipeline *pipeline, struct bd_result *result)
{
    struct bd_separated frame;
    bd_in_flight_release(&pipeline->flight, 0);
    enum bd_status status = separate(pipeline, &frame);
    if (!status)
        status = bd_finish(&frame, pipeline->pictures, pipeline->stabiliser, true);
    *result = frame.result;
    return status;
}

enum bd_status bd_pipeline_first_frame(struct bd_pipeline *pipeline, const struct bd_frame **frame)
{
    const struct bd_frame *picture;
    bool waits = pipeline->initialiser || (pipeline->batch && !pipeline->info->live);
    return waits ? bd_queue_peek(pipeline->queue, 0, frame, &picture) : BD_END;
}

enum bd_status bd_pipeline_look_ahead(struct bd_pipeline *pipeline, double *share)
{
    if (!pipeline->initialiser)
        return BD_END;
    return bd_initialiser_next(pipeline->initialiser, pipeline->separator, pipeline->stabiliser,
                               share);
}

_Static_assert((int)bd_finisher_frames <= (int)bd_in_flight_most_returned,
               "frames in hand are unreleased");

/* Separates the next frame and hands it over. The solver of batches gives its frames back when the
 * next one is asked for: nothing may overlap there. */
static enum bd_status separate_beside(struct bd_pipeline *pipeline, struct bd_finisher *finisher)
{
    struct bd_separated frame;
    enum bd_status status = pipeline->batch ? bd_finisher_wait(finisher, 0) : BD_OK;
    if (!status)
        status = separate(pipeline, &frame);
    if (!status)
        status = bd_finisher_wait(finisher, bd_finisher_frames - 1);
    if (status)
        return status;
    bd_in_flight_release(&pipeline->flight, bd_finisher_frames);
    bd_finisher_give(finisher, &frame);
    return BD_OK;
}

bool bd_pipeline_starting(const struct bd_pipeline *pipeline)
{
    return pipeline->start_delay > 0 || bd_queue_starting(pipeline->queue);
}

enum bd_status bd_pipeline_run(struct bd_pipeline *pipeline, int64_t limit,
                               const struct bd_sinks *sinks)
{
    struct bd_finisher *finisher;
    bool starting = false;
    bd_in_flight_release(&pipeline->flight, 0);
    pipeline->registers_ahead = bd_cores_of(pipeline->options) >= least_for_registration;
    enum bd_status status = bd_finisher_open(&finisher, pipeline->pictures, pipeline->stabiliser,
                                             sinks, pipeline->wants & BD_WANT_LATER);
    if (status)
        return status;
    for (int64_t count = 0; !status && (limit == 0 || count < limit); count++) {
        bool interrupted = pipeline->interrupted && pipeline->interrupted(pipeline->user);
        if (!interrupted)
            starting = bd_pipeline_starting(pipeline);
        else if (!starting)
            break;
        status = separate_beside(pipeline, finisher);
    }
    enum bd_status finished = bd_finisher_close(&finisher); /* of a frame before one that failed */
    return finished ? finished : status;
}

const struct bd_reader_info *bd_pipeline_info(const struct bd_pipeline *pipeline)
{
    return pipeline->info;
}

int64_t bd_pipeline_frame_count(const struct bd_pipeline *pipeline)
{
    const struct bd_options *options = pipeline->options;
    const struct bd_reader_info *info = pipeline->info;
    if (options->start <= 0 && options->duration <= 0)
        return info->frame_count;
    double rate = pipeline->settings.frame_rate;
    double left = info->duration > 0 ? fmax(0, info->duration - options->start) : 0;
    double length = options->duration > 0 ? options->duration : left;
    if (left > 0 && left < length)
        length = left;
    return (int64_t)llround(length * rate);
}

const char *bd_pipeline_backend(const struct bd_pipeline *pipeline)
{
    return bd_backend_description(pipeline->backend);
}

int64_t bd_pipeline_damaged(const struct bd_pipeline *pipeline)
{
    return bd_queue_damaged(pipeline->queue);
}

struct bd_separator_options bd_pipeline_settings(const struct bd_pipeline *pipeline)
{
    return pipeline->settings;
}

struct bd_separator *bd_pipeline_separator(struct bd_pipeline *pipeline)
{
    return pipeline->separator;
}

enum bd_status bd_pipeline_seek(struct bd_pipeline *pipeline, double seconds)
{
    if (!pipeline->batch)
        return bd_in_flight_seek(&pipeline->flight, seconds);
    bd_batch_restart(pipeline->batch);
    return bd_queue_seek(pipeline->queue, seconds);
}

void bd_pipeline_close(struct bd_pipeline **pipeline)
{
    struct bd_pipeline *self = *pipeline;
    if (!self)
        return;
    atomic_store(&self->closing, true); /* ends a blocking read */
    bd_in_flight_close(&self->flight);
    bd_initialiser_close(&self->initialiser);
    bd_queue_close(&self->queue);
    bd_reader_close(&self->reader);
    bd_pieces_close(&self->pieces);
    bd_separator_destroy(&self->separator);
    bd_stabiliser_destroy(&self->stabiliser);
    bd_batch_destroy(&self->batch);
    bd_backend_close(&self->backend);
    for (int i = 0; i < bd_queue_most_threads; i++)
        bd_scaler_destroy(&self->shrink[i]);
    bd_pictures_destroy(&self->pictures); /* which gives memory of the device back */
    if (self->device)
        self->device->ops->close(&self->device);
    free(self);
    *pipeline = NULL;
}
