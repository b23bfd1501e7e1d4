#include "app/view/actions.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* Finds the first free name backdrop-0001.png, -0002.png ... in the current folder. */
static enum bd_status find_name(char *name, size_t size)
{
    for (int i = 1; i <= 9999; i++) {
        snprintf(name, size, "backdrop-%04d.png", i);
        if (access(name, F_OK) != 0)
            return BD_OK;
    }
    return bd_fail(BD_ERROR_IO, "backdrop-0001.png to backdrop-9999.png are all taken");
}

static void save_screenshot(struct bd_view_session *view)
{
    char name[32], message[sizeof view->message];
    struct bd_view_scene scene = bd_view_session_scene(view);
    scene.message = NULL; /* it would be in the way */
    enum bd_status status = find_name(name, sizeof name);
    if (status == BD_OK)
        status = bd_view_scene_save(&view->panel, &scene, name);
    if (status == BD_OK)
        snprintf(message, sizeof message, "saved %s", name);
    else
        snprintf(message, sizeof message, "not saved: %s", bd_error_detail());
    bd_view_session_say(view, message);
}

static void set_pane(struct bd_view_session *view, enum bd_pane pane)
{
    view->pane = pane;
    bd_view_session_say(view, bd_pane_names[pane]);
}

static void seek(struct bd_view_session *view, int seconds)
{
    const struct bd_reader_info *info = &view->source->info;
    double frame = info->frame_rate.num > 0
                       ? (double)info->frame_rate.den / (double)info->frame_rate.num
                       : 0.04;
    double last =
        bd_view_session_duration(view) > 0 ? bd_view_session_duration(view) - frame : HUGE_VAL;
    char message[64];
    if (info->live || !info->seekable) {
        bd_view_session_say(view, info->live ? "live: no going back or on"
                                             : "this input is not seekable");
        return;
    }
    bd_view_player_seek(&view->player, seconds, view->options->start, last);
    snprintf(message, sizeof message, "%+d seconds", seconds);
    bd_view_session_say(view, message);
}

/* Changes one of the two settings. The picture on the screen is separated again where the input is
 * seekable. */
static void adjust(struct bd_view_session *view, const char *name, double *setting, int step,
                   void (*set)(struct bd_view_worker *, double))
{
    char message[64];
    *setting += step;
    *setting = *setting < 1 ? 1 : *setting > 255 ? 255 : *setting;
    set(view->worker, *setting);
    snprintf(message, sizeof message, "%s %g", name, *setting);
    bd_view_session_say(view, message);
    if (view->source->info.seekable && !view->source->info.live)
        bd_view_player_refresh(&view->player);
}

static void change_separation(struct bd_view_session *view, enum bd_view_action action, int value)
{
    if (!view->source->adjustable) {
        bd_view_session_say(view, "the batch solver has nothing to adjust: use --solver live");
        return;
    }
    if (action == BD_VIEW_THRESHOLD) {
        adjust(view, "threshold", &view->threshold, value, bd_view_worker_set_threshold);
    } else if (action == BD_VIEW_LAMBDA) {
        adjust(view, "lambda", &view->lambda, value, bd_view_worker_set_lambda);
    } else if (action == BD_VIEW_FREEZE) {
        view->frozen = !view->frozen;
        bd_view_worker_freeze(view->worker, view->frozen);
        bd_view_session_say(view, view->frozen ? "background frozen" : "background learning again");
    } else {
        bd_view_worker_reset(view->worker);
        bd_view_session_say(view, "background forgotten");
    }
}

static void leave_full_screen(struct bd_view_session *view)
{
    if (bd_view_window_full_screen(view->window))
        bd_view_window_set_full_screen(view->window, false);
    else
        bd_view_session_leave(view, BD_VIEW_DONE);
}

/* Actions that need no picture. Returns whether it was one of them. */
static bool act_on_window(struct bd_view_session *view, enum bd_view_action action)
{
    switch (action) {
    case BD_VIEW_FULL_SCREEN:
        bd_view_window_set_full_screen(view->window, !bd_view_window_full_screen(view->window));
        return true;
    case BD_VIEW_SCREENSHOT:
        save_screenshot(view);
        return true;
    case BD_VIEW_OVERLAY:
        view->overlay = !view->overlay;
        return true;
    case BD_VIEW_BOXES:
        bd_view_window_set_boxes(view->window, !bd_view_window_boxes(view->window));
        return true;
    case BD_VIEW_HELP:
        view->help = !view->help;
        return true;
    case BD_VIEW_QUIT:
        bd_view_session_leave(view, BD_VIEW_DONE);
        return true;
    case BD_VIEW_LEAVE:
        leave_full_screen(view);
        return true;
    default:
        return false;
    }
}

void bd_view_act(struct bd_view_session *view, enum bd_view_action action, int value)
{
    if (action == BD_VIEW_NOTHING)
        return;
    view->dirty = true;
    if (act_on_window(view, action) || !view->source)
        return;
    switch (action) {
    case BD_VIEW_PAUSE:
        bd_view_player_pause(&view->player, !view->player.paused);
        break;
    case BD_VIEW_STEP:
        bd_view_player_step(&view->player);
        break;
    case BD_VIEW_SEEK:
        seek(view, value);
        break;
    case BD_VIEW_NEXT_PANE:
        set_pane(view, (enum bd_pane)((view->pane + 1) % BD_PANES));
        break;
    case BD_VIEW_PANE:
        set_pane(view, (enum bd_pane)value);
        break;
    default:
        change_separation(view, action, value);
        break;
    }
}
