#include "app/view/session.h"

#include <stdio.h>

#include "base/clock.h"

/* How long a message stays, seconds. */
static const double message_time = 2.5;

void bd_view_session_leave(struct bd_view_session *view, int exit_status)
{
    view->quit = true;
    if (exit_status != BD_VIEW_DONE)
        view->exit_status = exit_status;
}

void bd_view_session_fail(struct bd_view_session *view, int exit_status, const char *detail)
{
    fprintf(stderr, "backdrop: %s\n", detail);
    bd_view_session_leave(view, exit_status);
}

void bd_view_session_say(struct bd_view_session *view, const char *message)
{
    snprintf(view->message, sizeof view->message, "%s", message);
    view->message_until = bd_clock_seconds() + message_time;
    view->dirty = true;
}

double bd_view_session_duration(const struct bd_view_session *view)
{
    const struct bd_options *options = view->options;
    double end = view->source->info.duration;
    if (options->duration > 0 && (end <= 0 || options->start + options->duration < end))
        end = options->start + options->duration;
    return end;
}

static void fill_figures(const struct bd_view_session *view, struct bd_view_figures *figures)
{
    const struct bd_view_result *result = view->player.current;
    struct bd_view_progress worker = bd_view_worker_progress(view->worker);
    bool finished = bd_view_player_finished(&view->player);
    bool moving = !view->player.paused && !finished;
    *figures = (struct bd_view_figures){
        .position = result->position,
        .duration = bd_view_session_duration(view),
        .rate = moving ? bd_view_pacer_rate(&view->player.pacer) : 0,
        .speed = moving ? bd_view_pacer_speed(&view->player.pacer) : 0,
        .rank = result->rank,
        .columns = result->columns,
        .window = view->source->window,
        .foreground = result->foreground,
        .adjustable = view->source->adjustable,
        .threshold = view->threshold,
        .lambda = view->lambda,
        .frozen = view->frozen,
        .paused = view->player.paused,
        .ended = finished && !view->broken_off,
        .live = view->source->info.live,
        .dropped = result->dropped + worker.dropped + view->player.missed,
        .backend = view->source->backend,
    };
    if (view->broken_off)
        figures->error = worker.detail;
}

struct bd_view_scene bd_view_session_scene(const struct bd_view_session *view)
{
    struct bd_view_scene scene = { .result = view->player.current,
                                   .serial = view->player.shown,
                                   .pane = view->pane,
                                   .overlay = view->overlay,
                                   .help = view->help,
                                   .message = view->message[0] ? view->message : NULL,
                                   .waiting = view->waiting };
    if (scene.result)
        fill_figures(view, &scene.figures);
    else if (view->source)
        scene.first_frame = bd_view_worker_first_frame(view->worker);
    return scene;
}

void bd_view_session_draw(struct bd_view_session *view)
{
    struct bd_view_scene scene = bd_view_session_scene(view);
    view->dirty = false;
    if (!bd_view_window_visible(view->window))
        return;
    if (bd_view_scene_draw(&view->panel, &scene) != BD_OK)
        bd_view_session_fail(view, BD_VIEW_FAILED, bd_error_detail());
    bd_view_window_present(view->window);
}
