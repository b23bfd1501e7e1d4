#include "app/summary/play.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/summary/compose.h"
#include "app/summary/label.h"

/* A tube while it is shown. */
struct role {
    const struct bd_showing *showing;
    struct bd_patch_head head; /* of the patch that is shown */
    int64_t offset;            /* of that patch; -1: it has not come */
    int foot;                  /* the row below it */
    double time;               /* seconds of the film that are shown */
};

struct stage {
    struct bd_tubes *tubes;
    struct bd_plates *plates;
    const struct bd_play_options *options;
    struct role *roles; /* one for each showing */
    int count;
    struct role **visible; /* in this picture, from the back to the front */
    int visible_count;
    double plate_time; /* seconds of the film */
    struct bd_frame plate, canvas;
    struct bd_composer composer;
    struct bd_patch patch;
};

static enum bd_status set_up(struct stage *stage, const struct bd_schedule *schedule)
{
    const struct bd_frame *model = &stage->plates->plate;
    stage->count = schedule->count;
    stage->roles = calloc((size_t)stage->count + 1, sizeof *stage->roles);
    stage->visible = calloc((size_t)stage->count + 1, sizeof(struct role *));
    if (!stage->roles || !stage->visible)
        return bd_fail(BD_ERROR_MEMORY, "out of memory to show the synopsis");
    for (int i = 0; i < stage->count; i++)
        stage->roles[i] = (struct role){ .showing = &schedule->items[i], .offset = -1 };
    stage->plate_time = NAN;
    enum bd_status status = bd_frame_create(&stage->plate, model->width, model->height, BD_RGB24);
    if (!status)
        status = bd_frame_create(&stage->canvas, model->width, model->height, BD_RGB24);
    return status;
}

static void clear(struct stage *stage)
{
    free(stage->roles);
    free(stage->visible);
    bd_frame_destroy(&stage->plate);
    bd_frame_destroy(&stage->canvas);
    bd_composer_release(&stage->composer);
    bd_patch_release(&stage->patch);
}

/* Goes on to the last patch that is not after role->time. */
static enum bd_status go_on(const struct stage *stage, struct role *role)
{
    const double tolerance = 1e-6; /* seconds */
    if (role->offset < 0) {
        role->offset = role->showing->tube->begin;
        enum bd_status status = bd_tubes_head(stage->tubes, &role->head, role->offset);
        if (status)
            return status;
    }
    while (role->head.next >= 0) {
        struct bd_patch_head next;
        enum bd_status status = bd_tubes_head(stage->tubes, &next, role->head.next);
        if (status)
            return status;
        if (next.time > role->time + tolerance)
            break;
        role->offset = role->head.next;
        role->head = next;
    }
    return BD_OK;
}

static int by_foot(const void *a, const void *b)
{
    const struct role *first = *(struct role *const *)a, *second = *(struct role *const *)b;
    if (first->foot != second->foot)
        return first->foot - second->foot;
    return first < second ? -1 : 1;
}

/* Finds which objects are seen at `now` seconds of the synopsis. */
static enum bd_status find_visible(struct stage *stage, double now)
{
    stage->visible_count = 0;
    for (int i = 0; i < stage->count; i++) {
        struct role *role = &stage->roles[i];
        const struct bd_showing *showing = role->showing;
        if (now < showing->at || now >= showing->at + showing->seconds)
            continue;
        role->time = showing->tube->first + (now - showing->at) * showing->speed;
        enum bd_status status = go_on(stage, role);
        if (status)
            return status;
        if (role->time - role->head.time > stage->options->gap)
            continue;
        role->foot = role->head.box.y + role->head.box.height;
        stage->visible[stage->visible_count++] = role;
    }
    qsort(stage->visible, (size_t)stage->visible_count, sizeof(struct role *), by_foot);
    return BD_OK;
}

/* The plate of the mean time of what is seen, which it follows within a second or two. */
static enum bd_status show_plate(struct stage *stage, double step)
{
    double sum = 0;
    for (int i = 0; i < stage->visible_count; i++)
        sum += stage->visible[i]->time;
    double mean = stage->visible_count ? sum / stage->visible_count : stage->plate_time;
    if (isnan(stage->plate_time))
        stage->plate_time = isnan(mean) ? 0 : mean;
    stage->plate_time += (mean - stage->plate_time) * fmin(step, 1);
    return bd_plates_show(stage->plates, &stage->plate, stage->plate_time);
}

/* The front ones first, which have their places then. */
static void draw_labels(struct stage *stage)
{
    struct bd_labels labels = { .count = 0 };
    for (int i = stage->visible_count - 1; i >= 0; i--)
        bd_label_draw(&labels, &stage->canvas, &stage->visible[i]->head.box,
                      stage->visible[i]->time - stage->options->zero);
}

static enum bd_status draw(struct stage *stage)
{
    enum bd_status status = bd_frame_copy(&stage->canvas, &stage->plate);
    for (int i = 0; i < stage->visible_count && !status; i++) {
        const struct role *role = stage->visible[i];
        status = bd_tubes_load(stage->tubes, &stage->patch, &role->head, role->offset);
        if (!status)
            status = bd_compose(&stage->composer, &stage->canvas, &stage->plate, &stage->patch);
    }
    draw_labels(stage);
    return status;
}

static double period_of(const struct bd_play_options *options)
{
    return (double)options->rate.den / (double)options->rate.num;
}

int64_t bd_play_count(const struct bd_schedule *schedule, const struct bd_play_options *options)
{
    int64_t count = (int64_t)floor(schedule->end / period_of(options) + 1e-6);
    return count > 0 ? count : 1;
}

enum bd_status bd_play(struct bd_tubes *tubes, struct bd_plates *plates,
                       const struct bd_schedule *schedule, const struct bd_play_options *options,
                       bd_picture_sink *sink, void *user)
{
    struct stage stage = { .tubes = tubes, .plates = plates, .options = options };
    const double period = period_of(options);
    const int64_t count = bd_play_count(schedule, options);
    enum bd_status status = set_up(&stage, schedule);
    for (int64_t i = 0; i < count && !status; i++) {
        status = find_visible(&stage, (double)i * period);
        if (!status)
            status = show_plate(&stage, period);
        if (!status)
            status = draw(&stage);
        stage.canvas.index = stage.canvas.pts = i;
        stage.canvas.duration = 1;
        if (!status)
            status = sink(user, &stage.canvas);
    }
    clear(&stage);
    return status;
}
