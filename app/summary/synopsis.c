/* The output that is a short film of a long one: everybody who came, on the clean background,
 * several at the same time, each with the time at which he was there.
 *
 *   frames -> cutout -> tubes, plates (in a temporary file) -> at the end: schedule -> play -> film
 */
#include <math.h>
#include <stdlib.h>

#include "app/export/async_writer.h"
#include "app/export/output.h"
#include "app/progress.h"
#include "app/summary/cutout.h"
#include "app/summary/label.h"
#include "app/summary/play.h"

/* Objects that are seen for less than `default_least` seconds are not shown. Frames are cut
 * `rate` times a second at most: that halves the temporary file of a film of 30. */
static const double default_least = 2, rate = 15, default_length = 60;

struct synopsis {
    struct bd_async_writer *writer;
    struct bd_scratch file;
    struct bd_jpeg *jpeg;
    struct bd_tubes tubes;
    struct bd_plates plates;
    struct bd_cutout cutout;
    struct bd_rational rate; /* of the film that is written */
    const char *path;
    double length, least; /* seconds */
    double zero, next;    /* seconds: what labels count from, and of the next cut */
    bool live;
    int64_t frames;
    const struct bd_options *options;
    struct bd_meter meter; /* of the pictures of the film */
};

static enum bd_status destroy(struct synopsis *s)
{
    enum bd_status status = bd_async_writer_close(&s->writer);
    bd_cutout_destroy(&s->cutout);
    bd_plates_destroy(&s->plates);
    bd_tubes_release(&s->tubes);
    bd_jpeg_destroy(&s->jpeg);
    bd_scratch_close(&s->file);
    free(s);
    return status;
}

static enum bd_status open_parts(struct synopsis *s, const struct bd_output_setup *setup)
{
    struct bd_writer_options options = bd_output_writer(setup, BD_RGB24);
    int width = options.width, height = options.height;
    enum bd_status status = bd_jpeg_create(&s->jpeg);
    s->tubes = (struct bd_tubes){ .file = &s->file, .jpeg = s->jpeg, .least = s->least };
    if (!status)
        status = bd_plates_create(&s->plates, width, height, &s->file, s->jpeg);
    if (!status)
        status = bd_cutout_create(&s->cutout, width, height);
    options.many = true;
    options.frame_rate = s->rate;
    options.time_base = (struct bd_rational){ s->rate.den, s->rate.num };
    if (!status)
        status = bd_async_writer_open(&s->writer, s->path, &options);
    if (!status)
        status = bd_scratch_open(&s->file, s->path);
    return status;
}

/* That of the film that is read, but 60 pictures a second at most: the objects move `rate` times a
 * second, and some recorders tell a rate of thousands. */
static struct bd_rational choose_rate(struct bd_rational known)
{
    const struct bd_rational fallback = { 25, 1 }, most = { 60, 1 };
    if (known.num <= 0 || known.den <= 0)
        return fallback;
    return (double)known.num > (double)most.num * (double)known.den ? most : known;
}

static enum bd_status open_synopsis(void **output, const char *path,
                                    const struct bd_output_setup *setup)
{
    struct synopsis *s = calloc(1, sizeof *s);
    *output = NULL;
    if (!s)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the synopsis");
    s->file.file = -1;
    s->path = path;
    s->options = setup->options;
    s->rate = choose_rate(setup->info->frame_rate);
    s->length = setup->options->length > 0 ? setup->options->length : default_length;
    s->least =
        setup->options->min_event_length != 0 ? bd_min_event_length(setup->options) : default_least;
    s->live = setup->info->live;
    enum bd_status status = open_parts(s, setup);
    if (status) {
        char detail[bd_detail_size];
        snprintf(detail, sizeof detail, "%s", bd_error_detail());
        destroy(s);
        return bd_fail(status, "%s", detail);
    }
    *output = s;
    return BD_OK;
}

/* Those that touch `object` were with it, and the one that it came out of. */
static void note_partners(struct bd_tube *tube, const struct bd_result *result,
                          const struct bd_object *object)
{
    if (tube->patches == 0 && object->parent)
        bd_tube_meets(tube, object->parent);
    for (int i = 0; object->group && i < result->object_count; i++)
        if (result->objects[i].group == object->group && result->objects[i].id != object->id)
            bd_tube_meets(tube, result->objects[i].id);
}

static enum bd_status add_patch(struct synopsis *s, const struct bd_result *result, int object)
{
    const struct bd_patch *patch;
    struct bd_tube *tube = bd_tubes_find(&s->tubes, result->objects[object].id);
    enum bd_status status = bd_cutout_cut(&s->cutout, result, object, &patch);
    if (status || patch->area == 0)
        return status;
    note_partners(tube, result, &result->objects[object]);
    return bd_tubes_add(&s->tubes, tube, patch);
}

static enum bd_status add(void *output, const struct bd_result *result,
                          const struct bd_activity *activity)
{
    (void)activity;
    struct synopsis *s = output;
    enum bd_status status = bd_plates_add(&s->plates, result);
    bool seen = false, is_new = false;
    if (s->frames++ == 0 && s->live && !bd_label_is_of_day(result->time))
        s->zero = result->time; /* a camera that counts from the start of the machine */
    for (int i = 0; i < result->object_count && !status; i++) {
        struct bd_tube *tube;
        if (!result->objects[i].seen)
            continue;
        status = bd_tubes_see(&s->tubes, &tube, result->objects[i].id, result->time);
        seen = true;
        is_new |= !status && tube->patches == 0;
    }
    bool due = result->time >= s->next || result->time < s->next - 1;
    if (status || !seen || (!due && !is_new))
        return status;
    s->next = result->time + 1 / rate - 1e-3; /* times are rounded, to milliseconds at worst */
    bd_cutout_begin(&s->cutout, result);
    for (int i = 0; i < result->object_count && !status; i++)
        if (result->objects[i].seen)
            status = add_patch(s, result, i);
    return status;
}

static void keep_old(void *output)
{
    struct synopsis *s = output;
    bd_async_writer_keep_old(s->writer);
}

static enum bd_status write_picture(void *user, const struct bd_frame *picture)
{
    struct synopsis *s = user;
    bd_meter_update(&s->meter, picture->index + 1);
    return bd_async_writer_write(s->writer, picture);
}

/* Shows what was collected. */
static enum bd_status render(struct synopsis *s)
{
    double period = (double)s->rate.den / (double)s->rate.num;
    struct bd_schedule schedule = { 0 };
    struct bd_schedule_options options = { .length = s->length,
                                           .least = s->least,
                                           .period = period,
                                           .width = s->plates.plate.width,
                                           .height = s->plates.plate.height };
    struct bd_play_options play = { .rate = s->rate, .gap = fmax(.5, 3 * period), .zero = s->zero };
    enum bd_status status = bd_schedule_make(&schedule, &s->tubes, &options);
    if (!status && schedule.count == 0)
        bd_log(BD_LOG_WARNING, "--synopsis %s: nothing was seen for %g seconds; no film is written",
               s->path, s->least);
    if (!status && schedule.count > 0) {
        bd_log(BD_LOG_INFO, "synopsis: %d of %d objects, %.1f s, temporary file %.1f MB",
               schedule.count, s->tubes.count + s->tubes.forgotten, schedule.end,
               (double)s->file.size / 1e6);
        status = bd_plates_finish(&s->plates);
        /* What comes after the last frame of the input may take a minute. */
        bd_meter_begin(&s->meter, s->options, "synopsis", bd_play_count(&schedule, &play));
        if (!status)
            status = bd_play(&s->tubes, &s->plates, &schedule, &play, write_picture, s);
        bd_meter_end(&s->meter);
    }
    bd_schedule_release(&schedule);
    return status;
}

static enum bd_status close_synopsis(void **output, const struct bd_activity *activity)
{
    (void)activity;
    struct synopsis *s = *output;
    char detail[bd_detail_size];
    if (!s)
        return BD_OK;
    enum bd_status status = s->frames > 0 ? render(s) : BD_OK;
    snprintf(detail, sizeof detail, "%s", status ? bd_error_detail() : "");
    enum bd_status closed = destroy(s);
    *output = NULL;
    return status ? bd_fail(status, "%s", detail) : closed;
}

const struct bd_output_kind bd_synopsis_output = { .name = "synopsis",
                                                   .option = offsetof(struct bd_options, synopsis),
                                                   .wants = BD_WANT_OBJECTS | BD_WANT_COLOR |
                                                            BD_WANT_BACKGROUND | BD_WANT_SMALL |
                                                            BD_WANT_SHADOWS,
                                                   .open = open_synopsis,
                                                   .write = add,
                                                   .keep_old = keep_old,
                                                   .close = close_synopsis };
