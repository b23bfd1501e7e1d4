#include "app/export/clips/encode.h"

#include <inttypes.h>
#include <stdlib.h>

#include "app/export/clips/names.h"
#include "app/export/clips/ring.h"
#include "app/export/clips/thumbnail.h"
#include "app/pipeline/boxes.h"
#include "base/thread.h"

/* Films that are known at a time: more than events can go on, and films be written. */
enum { most_films = 192 };

/* The film of an event. The encoding thread alone uses `writer`, `origin` and `written`. */
struct film {
    int64_t number;     /* of the event */
    int64_t next;       /* the frame that it waits for, of those in the ring */
    int64_t to;         /* nanoseconds: later frames are not wanted yet */
    int64_t missed;     /* frames that were gone from the ring */
    bool ended, opened; /* `to` is final; it has a writer, or will have one at once */
    bool keeps_old;     /* as bd_writer_keep_old */
    int64_t peak_frame; /* that the thumbnail shows; -1: none */
    struct bd_frame thumbnail;
    struct bd_writer *writer;
    int64_t origin, written; /* pts of its first frame; frames so far */
};

struct bd_clip_encoder {
    struct bd_clip_encoder_options options;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows, but for what is said above */
    pthread_cond_t work, room;
    struct bd_ring ring;
    struct film *films[most_films];
    int film_count;
    bool closing, extended;
    enum bd_status failure;
    char detail[bd_detail_size];
    char lost[bd_detail_size]; /* which film is missing, where others are not; "": none */
    bool reported;
};

/* Whether the frame that a film waits for is there and belongs to it. */
static bool can_write(const struct bd_clip_encoder *self, const struct film *film)
{
    return film->next < self->ring.next && bd_ring_at(&self->ring, film->next)->time <= film->to;
}

/* Whether no frame comes any more that belongs to it. */
static bool can_finish(const struct bd_clip_encoder *self, const struct film *film)
{
    return !can_write(self, film) &&
           (self->closing || (film->ended && film->next < self->ring.next));
}

static int count_opened(const struct bd_clip_encoder *self)
{
    int count = 0;
    for (int i = 0; i < self->film_count; i++)
        count += self->films[i]->opened;
    return count;
}

/* The film with most to catch up among those that something can be done for; NULL: none. */
static struct film *choose(struct bd_clip_encoder *self)
{
    struct film *chosen = NULL;
    int opened = count_opened(self);
    for (int i = 0; i < self->film_count; i++) {
        struct film *film = self->films[i];
        bool ready = can_finish(self, film) ||
                     (can_write(self, film) && (film->opened || opened < self->options.writers));
        if (ready && (!chosen || film->next < chosen->next))
            chosen = film;
    }
    return chosen;
}

static enum bd_status write_frame(const struct bd_clip_encoder *self, struct film *film,
                                  const struct bd_frame *picture)
{
    const struct bd_clip_encoder_options *options = &self->options;
    struct bd_frame frame = *picture;
    char path[PATH_MAX];
    enum bd_status status = BD_OK;
    if (!film->writer) {
        film->origin = frame.pts;
        bd_clip_path(path, options->folder, options->stem, film->number, options->extension);
        struct bd_writer_options writer = options->writer;
        writer.format = frame.format;
        status = bd_writer_open(&film->writer, path, &writer);
    }
    frame.pts -= film->origin;
    frame.index = film->written++;
    return status ? status : bd_writer_write(film->writer, &frame);
}

static void destroy_film(struct film *film)
{
    bd_frame_destroy(&film->thumbnail);
    free(film);
}

/* Closes a film that is no longer in the list, and frees it. */
static enum bd_status finish(const struct bd_clip_encoder *self, struct film *film)
{
    const struct bd_clip_encoder_options *options = &self->options;
    char path[PATH_MAX];
    bd_clip_path(path, options->folder, options->stem, film->number, "jpg");
    if (film->writer && film->keeps_old)
        bd_writer_keep_old(film->writer);
    if (film->writer && film->missed > 0)
        bd_log(BD_LOG_WARNING,
               "clip %" PRId64 " lacks its first %" PRId64 " frames: %d films are written at a "
               "time, and %" PRId64 " MiB of frames wait",
               film->number, film->missed, options->writers, options->bytes >> 20);
    bool any = film->writer != NULL;
    enum bd_status status = bd_writer_close(&film->writer);
    if (!status && any && film->thumbnail.data && !film->keeps_old)
        status = bd_thumbnail_write(path, options->writer.overwrite, &film->thumbnail,
                                    options->writer.pixel_aspect);
    destroy_film(film);
    return status;
}

static void take_out(struct bd_clip_encoder *self, const struct film *film)
{
    int kept = 0;
    for (int i = 0; i < self->film_count; i++)
        if (self->films[i] != film)
            self->films[kept++] = self->films[i];
    self->film_count = kept;
}

/* No frame of a film was left when it could have been written. */
static void note_missing(struct bd_clip_encoder *self, const struct film *film)
{
    snprintf(self->lost, sizeof self->lost,
             "%s: clip %" PRId64 " is missing: %d films are written at a time",
             self->options.folder, film->number, self->options.writers);
}

/* Writes the next frame of a film, or finishes it. Called with the mutex, which it gives away
 * meanwhile: the frame stays, because the film is not past it. */
static enum bd_status step(struct bd_clip_encoder *self, struct film *film)
{
    enum bd_status status;
    if (can_write(self, film)) {
        const struct bd_frame *picture = &bd_ring_at(&self->ring, film->next)->picture;
        film->opened = true;
        pthread_mutex_unlock(&self->mutex);
        status = write_frame(self, film, picture);
        pthread_mutex_lock(&self->mutex);
        film->next++;
    } else {
        take_out(self, film);
        if (film->missed > 0 && !film->opened)
            note_missing(self, film);
        pthread_mutex_unlock(&self->mutex);
        status = finish(self, film);
        pthread_mutex_lock(&self->mutex);
    }
    pthread_cond_signal(&self->room);
    return status;
}

static void *encode(void *user)
{
    struct bd_clip_encoder *self = user;
    pthread_mutex_lock(&self->mutex);
    while (!self->failure) {
        struct film *film = choose(self);
        if (film) {
            enum bd_status status = step(self, film);
            if (status) {
                snprintf(self->detail, sizeof self->detail, "%s", bd_error_detail());
                self->failure = status;
            }
        } else if (self->closing) {
            break;
        } else {
            pthread_cond_wait(&self->work, &self->mutex);
        }
    }
    pthread_cond_signal(&self->room);
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

enum bd_status bd_clip_encoder_open(struct bd_clip_encoder **encoder,
                                    const struct bd_clip_encoder_options *options)
{
    struct bd_clip_encoder *self = calloc(1, sizeof *self);
    *encoder = NULL;
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory for the clips", options->folder);
    self->options = *options;
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->work, NULL);
    pthread_cond_init(&self->room, NULL);
    if (!bd_thread_start(&self->thread, "clips", encode, self)) {
        free(self);
        return bd_fail(BD_ERROR_MEMORY, "%s: cannot start the thread of the clips",
                       options->folder);
    }
    *encoder = self;
    return BD_OK;
}

/* Returns the failure of an earlier frame, once. */
static enum bd_status report_failure(struct bd_clip_encoder *self)
{
    if (!self->failure || self->reported)
        return BD_OK;
    self->reported = true;
    return bd_fail(self->failure, "%s", self->detail);
}

/* Makes the oldest frame dispensable, or waits until it is. A film that waits for its event to go
 * on or to end takes it; one that waits for a writer loses it. */
static void release_oldest(struct bd_clip_encoder *self)
{
    int64_t oldest = self->ring.first;
    bool all_taken = count_opened(self) == self->options.writers;
    for (int i = 0; i < self->film_count; i++) {
        struct film *film = self->films[i];
        if (film->next > oldest)
            continue;
        if (!film->opened && all_taken) {
            film->next++;
            film->missed++;
            continue;
        }
        if (!film->ended && !can_write(self, film)) {
            film->to = bd_ring_at(&self->ring, oldest)->time;
            if (!self->extended)
                bd_log(BD_LOG_WARNING,
                       "clips may end late: %" PRId64 " MiB hold too few frames to wait for the "
                       "end of an event",
                       self->options.bytes >> 20);
            self->extended = true;
        }
        pthread_cond_signal(&self->work);
        pthread_cond_wait(&self->room, &self->mutex);
        return;
    }
    bd_ring_drop(&self->ring);
}

/* Whether a film wants the oldest frame. */
static bool is_wanted(const struct bd_clip_encoder *self)
{
    for (int i = 0; i < self->film_count; i++)
        if (self->films[i]->next <= self->ring.first)
            return true;
    return false;
}

/* Forgets frames that no event can want any more, and makes room for one. */
static void make_room(struct bd_clip_encoder *self, int64_t time)
{
    struct bd_ring *ring = &self->ring;
    while (!self->failure && bd_ring_is_full(ring))
        release_oldest(self);
    while (ring->first < ring->next &&
           time - bd_ring_at(ring, ring->first)->time > self->options.reach && !is_wanted(self))
        bd_ring_drop(ring);
}

enum bd_status bd_clip_encoder_add(struct bd_clip_encoder *self, const struct bd_frame *frame,
                                   int64_t time, const struct bd_object *objects, int count)
{
    struct bd_ring *ring = &self->ring;
    pthread_mutex_lock(&self->mutex);
    enum bd_status status = report_failure(self);
    if (!status && !ring->frames)
        status = bd_ring_create(ring, frame, self->options.bytes);
    if (!status)
        make_room(self, time);
    bool failed = self->failure != BD_OK;
    pthread_mutex_unlock(&self->mutex);
    if (status || failed)
        return status;
    /* The thread does not look at this place yet. */
    status = bd_ring_fill(ring, frame, time);
    if (status)
        return status;
    if (objects)
        bd_boxes_draw_frame(&bd_ring_at(ring, ring->next)->picture, objects, count);
    pthread_mutex_lock(&self->mutex);
    ring->next++;
    pthread_cond_signal(&self->work);
    pthread_mutex_unlock(&self->mutex);
    return BD_OK;
}

/* The first frame from a time on that is in the ring. */
static int64_t find_frame(const struct bd_ring *ring, int64_t from)
{
    int64_t number = ring->next;
    while (number > ring->first && bd_ring_at(ring, number - 1)->time >= from)
        number--;
    return number;
}

/* Gives up a film whose event is over, and which has no writer yet. Fewer events than films can go
 * on, and few have a writer: there is one. */
static void give_up(struct bd_clip_encoder *self)
{
    int oldest = 0;
    while (oldest < self->film_count - 1 &&
           (self->films[oldest]->opened || !self->films[oldest]->ended))
        oldest++;
    struct film *film = self->films[oldest];
    note_missing(self, film);
    take_out(self, film);
    destroy_film(film);
}

/* NULL: out of memory. */
static struct film *begin(struct bd_clip_encoder *self, int64_t number, int64_t from)
{
    const struct bd_ring *ring = &self->ring;
    struct film *film = calloc(1, sizeof *film);
    if (!film)
        return NULL;
    if (self->film_count == most_films)
        give_up(self);
    film->number = number;
    film->peak_frame = -1;
    film->next = find_frame(ring, from);
    if (film->next == ring->first && ring->first > 0) {
        double late = (double)(bd_ring_at(ring, ring->first)->time - from) / 1e9;
        if (late > 0)
            bd_log(BD_LOG_WARNING,
                   "clip %" PRId64 " begins %.1f s late: %" PRId64 " MiB of frames are kept, and "
                   "no more of them",
                   number, late, self->options.bytes >> 20);
    }
    self->films[self->film_count++] = film;
    return film;
}

/* Takes the picture of the event's peak, if the ring has it: it has the newest frame. */
static enum bd_status take_thumbnail(const struct bd_clip_encoder *self, struct film *film,
                                     const struct bd_event *event)
{
    const struct bd_ring *ring = &self->ring;
    if (film->peak_frame == event->peak_frame)
        return BD_OK;
    for (int64_t number = ring->next; number > ring->first; number--) {
        const struct bd_frame *picture = &bd_ring_at(ring, number - 1)->picture;
        if (picture->index < event->peak_frame)
            break;
        if (picture->index > event->peak_frame)
            continue;
        film->peak_frame = event->peak_frame;
        return bd_thumbnail_cut(&film->thumbnail, picture, event->box);
    }
    return BD_OK;
}

enum bd_status bd_clip_encoder_update(struct bd_clip_encoder *self, const struct bd_event *event,
                                      int64_t from, int64_t to)
{
    struct film *film = NULL;
    enum bd_status status = BD_OK;
    pthread_mutex_lock(&self->mutex);
    for (int i = 0; i < self->film_count && !film; i++)
        if (self->films[i]->number == event->number)
            film = self->films[i];
    if (!film && !self->failure)
        film = begin(self, event->number, from);
    if (film) {
        film->to = to;
        film->ended = event->ended;
        status = take_thumbnail(self, film, event);
        pthread_cond_signal(&self->work);
    } else if (!self->failure) {
        status = bd_fail(BD_ERROR_MEMORY, "%s: no memory for clip %" PRId64, self->options.folder,
                         event->number);
    }
    pthread_mutex_unlock(&self->mutex);
    return status;
}

void bd_clip_encoder_keep_old(struct bd_clip_encoder *encoder)
{
    pthread_mutex_lock(&encoder->mutex);
    for (int i = 0; i < encoder->film_count; i++)
        encoder->films[i]->keeps_old = !encoder->films[i]->ended;
    pthread_mutex_unlock(&encoder->mutex);
}

enum bd_status bd_clip_encoder_close(struct bd_clip_encoder **encoder)
{
    struct bd_clip_encoder *self = *encoder;
    if (!self)
        return BD_OK;
    pthread_mutex_lock(&self->mutex);
    self->closing = true;
    pthread_cond_signal(&self->work);
    pthread_mutex_unlock(&self->mutex);
    pthread_join(self->thread, NULL);
    enum bd_status status = report_failure(self);
    if (!status && *self->lost)
        status = bd_fail(BD_ERROR_MEMORY, "%s", self->lost);
    char detail[bd_detail_size];
    snprintf(detail, sizeof detail, "%s", status ? bd_error_detail() : "");
    for (int i = 0; i < self->film_count; i++) { /* left behind by a failure: what there is plays */
        self->films[i]->keeps_old = true;
        finish(self, self->films[i]);
    }
    bd_ring_destroy(&self->ring);
    pthread_cond_destroy(&self->room);
    pthread_cond_destroy(&self->work);
    pthread_mutex_destroy(&self->mutex);
    free(self);
    *encoder = NULL;
    return status ? bd_fail(status, "%s", detail) : BD_OK;
}
