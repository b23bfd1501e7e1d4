#include "app/commands.h"

#include <math.h>
#include <stdio.h>

#include "app/interrupt.h"
#include "app/pipeline/pipeline.h"
#include "app/pipeline/settings.h"
#include "app/reads.h"
#include "app/view/actions.h"
#include "app/view/session.h"
#include "base/clock.h"
#include "base/thread.h"

/* Seconds to wait for the input before the window opens, so that a failure shows no window. */
static const double patience = 0.4;

static void handle(struct bd_view_session *view, const SDL_Event *event)
{
    int value = 0;
    enum bd_view_action action;
    switch (event->type) {
    case SDL_QUIT:
        bd_view_session_leave(view, BD_VIEW_DONE);
        break;
    case SDL_WINDOWEVENT:
        view->dirty = true;
        break;
    case SDL_RENDER_TARGETS_RESET:
    case SDL_RENDER_DEVICE_RESET:
        bd_view_window_invalidate(view->window);
        view->dirty = true;
        break;
    default:
        action = bd_view_key_action(event, &value);
        bd_view_act(view, action, value);
        break;
    }
}

/* Called by other threads: wakes the main thread. */
static void notify(void *user)
{
    (void)user;
    SDL_Event event = { .type = SDL_USEREVENT };
    SDL_PushEvent(&event);
}

/* A thread of its own, because SDL does not wake for a signal, whose handler may not call SDL. */
static void *watch_signals(void *user)
{
    bd_interrupt_wait();
    notify(user);
    return NULL;
}

/* Waits for events, `seconds` at most; without a next picture or message that may be for ever, so
 * that a window in which nothing happens takes no processor time. */
static void wait_for_events(struct bd_view_session *view, double seconds)
{
    SDL_Event event;
    if (view->dirty)
        seconds = 0;
    if (view->message[0])
        seconds = fmin(seconds, view->message_until - bd_clock_seconds());
    bool came = isinf(seconds) ? SDL_WaitEvent(&event)
                               : SDL_WaitEventTimeout(&event, (int)(fmax(seconds, 0) * 1000));
    if (came)
        do
            handle(view, &event);
        while (!view->quit && SDL_PollEvent(&event));
}

/* Handles notices, failures and the end of the separator thread. */
static void check_worker(struct bd_view_session *view)
{
    char notice[sizeof view->message];
    struct bd_view_progress worker = bd_view_worker_progress(view->worker);
    enum bd_view_state state = worker.state;
    if (bd_view_worker_notice(view->worker, notice, sizeof notice))
        bd_view_session_say(view, notice);
    if (state == BD_VIEW_RUNNING || state == BD_VIEW_OPENING)
        view->broken_off = false;
    if (state == BD_VIEW_OPEN_FAILED || (state == BD_VIEW_BROKEN_OFF && !view->broken_off)) {
        view->broken_off = true;
        view->dirty = true;
        bool started = view->player.shown > 0 || worker.ready > 0;
        if (!started && !bd_interrupted(NULL))
            bd_view_session_fail(view, bd_open_exit_status(worker.status), worker.detail);
        else if (started && !bd_interrupted(NULL))
            fprintf(stderr, "backdrop: %s\n", worker.detail);
        view->exit_status = view->exit_status ? view->exit_status : BD_VIEW_FAILED;
    }
    if (state == BD_VIEW_ENDED && view->player.shown == 0 && worker.ready == 0 && !view->quit) {
        char line[512];
        snprintf(line, sizeof line, "%s: there is no frame in it", view->options->arguments[0]);
        bd_view_session_fail(view, BD_VIEW_NO_INPUT, line);
    }
}

/* Says how much of the background is learned, until there is a result. */
static void follow_look_ahead(struct bd_view_session *view)
{
    int percent = (int)(100 * bd_view_worker_progress(view->worker).learned);
    if (percent == view->learned_percent || view->player.current)
        return;
    view->learned_percent = percent;
    snprintf(view->waiting, sizeof view->waiting, "learning the background: %d %%", percent);
    view->dirty = true;
}

static double pixel_aspect(const struct bd_reader_info *info)
{
    bool known = info->pixel_aspect.num > 0 && info->pixel_aspect.den > 0;
    return known ? (double)info->pixel_aspect.num / (double)info->pixel_aspect.den : 1;
}

/* The input is open: fits the window to it and starts the player. */
static void start_playing(struct bd_view_session *view)
{
    const struct bd_reader_info *info = &view->source->info;
    view->threshold = view->source->threshold;
    view->lambda = view->source->lambda;
    bd_view_player_init(&view->player, view->worker);
    snprintf(view->waiting, sizeof view->waiting, "learning the background");
    bd_view_window_fit(view->window, info->width, info->height, pixel_aspect(info),
                       view->pane == BD_PANE_ALL);
    bd_log(BD_LOG_INFO, "input %dx%d, %s in %s; %s", info->width, info->height, info->codec,
           info->container, view->source->backend);
    view->dirty = true;
}

/* Whether --frames have been shown. */
static bool counted_out(const struct bd_view_session *view)
{
    int frames = view->options->frames;
    return frames > 0 && view->source &&
           (view->player.shown >= frames ||
            (view->player.shown > 0 && bd_view_player_finished(&view->player)));
}

static void loop(struct bd_view_session *view)
{
    double wait = 0;
    bool finished = false;
    while (!view->quit) {
        wait_for_events(view, wait);
        check_worker(view);
        double now = bd_clock_seconds();
        if (!view->source && (view->source = bd_view_worker_source(view->worker)) != NULL)
            start_playing(view);
        if (view->source)
            follow_look_ahead(view);
        wait = INFINITY;
        if (view->source && bd_view_player_advance(&view->player, now, &wait))
            view->dirty = true;
        if (view->source && finished != bd_view_player_finished(&view->player)) {
            finished = !finished;
            view->dirty = true;
        }
        if (view->message[0] && now >= view->message_until) {
            view->message[0] = '\0';
            view->dirty = true;
        }
        if (view->dirty && !view->quit)
            bd_view_session_draw(view);
        if (bd_interrupted(NULL))
            bd_view_session_leave(view, BD_VIEW_INTERRUPTED);
        else if (counted_out(view))
            bd_view_session_leave(view, BD_VIEW_DONE);
    }
}

static enum bd_status open_window(struct bd_view_session *view)
{
    char title[256];
    snprintf(title, sizeof title, "Backdrop - %s", view->options->arguments[0]);
    snprintf(view->waiting, sizeof view->waiting, "opening %s", view->options->arguments[0]);
    const struct bd_view_source *source = bd_view_worker_source(view->worker);
    enum bd_status status =
        bd_view_window_create(&view->window, title, bd_picture_threads(view->options, true),
                              source ? source->info.width : 16, source ? source->info.height : 9,
                              source ? pixel_aspect(&source->info) : 1, view->pane == BD_PANE_ALL);
    if (status != BD_OK)
        return status;
    view->panel.window = view->window;
    bd_view_window_set_boxes(view->window, view->options->boxes);
    if (bd_view_text_create(&view->text, bd_view_window_renderer(view->window)) != BD_OK)
        bd_log(BD_LOG_WARNING, "%s", bd_error_detail());
    view->panel.text = view->text;
    view->dirty = true;
    return BD_OK;
}

/* Waits a little for the input, so that the window opens with the right size, or not at all. */
static void wait_for_input(struct bd_view_session *view)
{
    double end = bd_clock_seconds() + patience;
    while (bd_view_worker_progress(view->worker).state == BD_VIEW_OPENING &&
           bd_clock_seconds() < end)
        SDL_Delay(5);
    check_worker(view);
}

static void save_last(struct bd_view_session *view)
{
    struct bd_view_scene scene = bd_view_session_scene(view);
    scene.message = NULL;
    if (bd_view_scene_save(&view->panel, &scene, view->options->screenshot) != BD_OK)
        bd_view_session_fail(view, BD_VIEW_FAILED, bd_error_detail());
}

static void fail_display(struct bd_view_session *view)
{
    char line[512];
    snprintf(line, sizeof line,
             "no window can be opened (%s); without a display use: "
             "backdrop export INPUT --overlay FILE",
             bd_error_detail());
    bd_view_session_fail(view, BD_VIEW_NO_START, line);
}

/* The worker is there, and its input may be open. */
static void show(struct bd_view_session *view)
{
    wait_for_input(view);
    if (view->quit)
        return;
    if (open_window(view) != BD_OK) {
        fail_display(view);
        return;
    }
    loop(view);
    if (view->options->screenshot && view->player.current)
        save_last(view);
}

static void run_session(struct bd_view_session *view)
{
    pthread_t watcher;
    struct bd_view_worker_options options = { .options = view->options,
                                              .notify = notify,
                                              .interrupted = bd_interrupted };
    if (bd_view_worker_create(&view->worker, &options) != BD_OK) {
        bd_view_session_fail(view, BD_VIEW_NO_START, bd_error_detail());
        return;
    }
    if (!bd_thread_start(&watcher, "signals", watch_signals, NULL)) {
        bd_view_session_fail(view, BD_VIEW_NO_START,
                             "cannot start a thread that waits for signals");
        return;
    }
    show(view);
    bd_interrupt_release();
    pthread_join(watcher, NULL);
}

/* The screenshot replaces nothing that is read. */
static enum bd_status check_screenshot(const struct bd_options *options)
{
    const struct bd_reads reads = { .inputs = options->arguments, .count = 1, .roi = options->roi };
    return options->screenshot ? bd_reads_check(&reads, "screenshot", options->screenshot) : BD_OK;
}

int bd_view_run(const struct bd_options *options)
{
    struct bd_view_session view = { .options = options,
                                    .pane = (enum bd_pane)options->pane,
                                    .overlay = true };
    if (check_screenshot(options) != BD_OK) {
        fprintf(stderr, "backdrop: %s\n", bd_error_detail());
        return BD_VIEW_NO_START;
    }
    if (bd_view_display_open() == BD_OK)
        run_session(&view);
    else
        fail_display(&view);
    bd_view_player_close(&view.player);
    bd_view_worker_destroy(&view.worker);
    bd_view_text_destroy(&view.text);
    bd_view_window_destroy(&view.window);
    bd_view_display_close();
    return view.exit_status;
}
