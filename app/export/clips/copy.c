#include "app/export/clips/copy.h"

#include <libavutil/common.h> /* before FFmpeg 5.1, AVERROR_EOF needs it */
#include <libavutil/error.h>
#include <libavutil/mathematics.h>
#include <libavutil/threadmessage.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "app/export/clips/names.h"
#include "app/export/clips/thumbnail.h"
#include "base/thread.h"

/* Stretches that wait. */
enum { capacity = 64 };

static const int64_t second = 1000000000;

struct bd_clip_copier {
    struct bd_clip_copier_options options;
    pthread_t thread;
    AVThreadMessageQueue *waiting; /* of struct bd_clip_stretch */
    struct bd_reader *reader;      /* of thumbnails; NULL: not opened yet */
    int64_t origin;                /* pts of the input's first frame */
    struct bd_frame frame, thumbnail;
    int64_t early;
    atomic_int failure; /* enum bd_status, stored after `detail` */
    char detail[bd_detail_size];
    char lost[bd_detail_size]; /* what is missing, where the rest is not; "": nothing */
    bool reported;
};

static enum bd_status open_reader(struct bd_clip_copier *self)
{
    if (self->reader)
        return BD_OK;
    enum bd_status status =
        bd_reader_open(&self->reader, self->options.input, &self->options.reader);
    if (!status)
        status = bd_reader_read(self->reader, &self->frame);
    self->origin = self->frame.pts;
    return status;
}

/* Decodes the frame at `time`, or the next one that can be had. */
static enum bd_status find_frame(struct bd_clip_copier *self, int64_t time)
{
    enum bd_status status = open_reader(self);
    if (status)
        return status;
    const struct bd_reader_info *info = bd_reader_get_info(self->reader);
    double unit = (double)info->time_base.num / (double)info->time_base.den;
    int64_t pts = av_rescale(time, info->time_base.den, info->time_base.num * second);
    double after = (double)(pts - self->origin) * unit - 1e-3;
    status = bd_reader_seek(self->reader, after > 0 ? after : 0);
    return status ? status : bd_reader_read_from(self->reader, pts, &self->frame);
}

static enum bd_status write_thumbnail(struct bd_clip_copier *self,
                                      const struct bd_clip_stretch *stretch)
{
    const struct bd_clip_copier_options *options = &self->options;
    char path[PATH_MAX];
    bd_clip_path(path, options->folder, options->stem, stretch->number, "jpg");
    enum bd_status status = find_frame(self, stretch->peak);
    if (status == BD_END || status == BD_ERROR_FORMAT) {
        snprintf(self->lost, sizeof self->lost, "%.400s: its frame cannot be decoded again", path);
        return BD_OK;
    }
    if (!status)
        status = bd_thumbnail_cut(&self->thumbnail, &self->frame, stretch->box);
    return status ? status
                  : bd_thumbnail_write(path, options->overwrite, &self->thumbnail,
                                       bd_reader_get_info(self->reader)->pixel_aspect);
}

static enum bd_status write_clip(struct bd_clip_copier *self, const struct bd_clip_stretch *stretch)
{
    const struct bd_clip_copier_options *options = &self->options;
    char path[PATH_MAX];
    struct bd_cut cut;
    bd_clip_path(path, options->folder, options->stem, stretch->number,
                 bd_cutter_extension(options->cutter));
    enum bd_status status =
        bd_cutter_cut(options->cutter, path, options->overwrite, stretch->from, stretch->to, &cut);
    if (status == BD_END)
        return bd_fail(BD_ERROR_FORMAT, "%s: its stretch is not found in the input", path);
    if (!status && stretch->from - cut.start > self->early)
        self->early = stretch->from - cut.start;
    return status ? status : write_thumbnail(self, stretch);
}

static void *copy(void *user)
{
    struct bd_clip_copier *self = user;
    struct bd_clip_stretch stretch;
    enum bd_status status = BD_OK;
    while (av_thread_message_queue_recv(self->waiting, &stretch, 0) >= 0) {
        if (status)
            continue;
        status = write_clip(self, &stretch);
        if (status) {
            snprintf(self->detail, sizeof self->detail, "%s", bd_error_detail());
            atomic_store(&self->failure, status);
        }
    }
    return NULL;
}

static void destroy(struct bd_clip_copier *self)
{
    av_thread_message_queue_free(&self->waiting);
    bd_reader_close(&self->reader);
    bd_frame_destroy(&self->frame);
    bd_frame_destroy(&self->thumbnail);
    free(self);
}

enum bd_status bd_clip_copier_open(struct bd_clip_copier **copier,
                                   const struct bd_clip_copier_options *options)
{
    struct bd_clip_copier *self = calloc(1, sizeof *self);
    *copier = NULL;
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory for the clips", options->folder);
    self->options = *options;
    if (av_thread_message_queue_alloc(&self->waiting, capacity, sizeof(struct bd_clip_stretch)) <
            0 ||
        !bd_thread_start(&self->thread, "clips", copy, self)) {
        destroy(self);
        return bd_fail(BD_ERROR_MEMORY, "%s: cannot start the thread of the clips",
                       options->folder);
    }
    *copier = self;
    return BD_OK;
}

/* Returns the failure of an earlier stretch, once. */
static enum bd_status report_failure(struct bd_clip_copier *self)
{
    enum bd_status failure = (enum bd_status)atomic_load(&self->failure);
    if (!failure || self->reported)
        return BD_OK;
    self->reported = true;
    return bd_fail(failure, "%s", self->detail);
}

enum bd_status bd_clip_copier_add(struct bd_clip_copier *copier,
                                  const struct bd_clip_stretch *stretch)
{
    enum bd_status status = report_failure(copier);
    if (!status)
        av_thread_message_queue_send(copier->waiting, (void *)(uintptr_t)stretch, 0);
    return status;
}

enum bd_status bd_clip_copier_close(struct bd_clip_copier **copier, int64_t *early)
{
    struct bd_clip_copier *self = *copier;
    *early = 0;
    if (!self)
        return BD_OK;
    av_thread_message_queue_set_err_recv(self->waiting, AVERROR_EOF); /* after the last one */
    pthread_join(self->thread, NULL);
    *early = self->early;
    enum bd_status status = report_failure(self);
    if (!status && *self->lost)
        status = bd_fail(BD_ERROR_FORMAT, "%s", self->lost);
    destroy(self);
    *copier = NULL;
    return status;
}
