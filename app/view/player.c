#include "app/view/player.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Longest wait, after a start or a seek, until the queue is half full; seconds. */
static const double buffer_time = 0.3;

/* A result that is due within this time is shown at once: waiting is not more exact. Seconds. */
static const double soon = 0.0015;

/* Seeks go to this time before a frame, so that rounding cannot lead to the next one. Seconds. */
static const double before = 0.0005;

void bd_view_player_init(struct bd_view_player *player, struct bd_view_worker *worker)
{
    memset(player, 0, sizeof *player);
    player->worker = worker;
    player->live = bd_view_worker_source(worker)->info.live;
    player->show_next = true;
    player->target = -1;
}

void bd_view_player_close(struct bd_view_player *player)
{
    if (!player->worker)
        return;
    bd_view_worker_release(player->worker, &player->current);
    bd_log(BD_LOG_DEBUG, "%" PRId64 " frames were shown, %" PRId64 " missed", player->shown,
           player->missed);
}

/* Shows the next result, or for live sources the latest. */
static bool show(struct bd_view_player *player, double now)
{
    struct bd_view_result *next = bd_view_worker_take(player->worker, player->live);
    if (!next)
        return false;
    bd_view_worker_release(player->worker, &player->current);
    player->current = next;
    player->shown++;
    player->target = -1;
    bd_view_pacer_show(&player->pacer, next->position, next->jump, now);
    return true;
}

static bool no_more(const struct bd_view_progress *worker)
{
    return worker->state == BD_VIEW_ENDED || worker->state == BD_VIEW_BROKEN_OFF;
}

/* Whether the queue is filled enough for the media clock to run. */
static bool buffered(struct bd_view_player *player, double now, double *wait)
{
    struct bd_view_progress worker = bd_view_worker_progress(player->worker);
    int half = (worker.capacity + 1) / 2;
    double left = player->buffer_since + buffer_time - now;
    if (left <= 0 || worker.ready >= half || no_more(&worker))
        return true;
    *wait = left;
    return false;
}

/* Drops results whose successor is due too: drawing is slower than the film. */
static void skip_missed(struct bd_view_player *player, double now)
{
    for (;;) {
        const struct bd_view_result *next = bd_view_worker_peek(player->worker, 1);
        if (!next || next->jump || bd_view_worker_peek(player->worker, 0)->jump ||
            bd_view_pacer_due(&player->pacer, next->position, false) > now)
            return;
        struct bd_view_result *missed = bd_view_worker_take(player->worker, false);
        bd_view_worker_release(player->worker, &missed);
        player->missed++;
    }
}

bool bd_view_player_advance(struct bd_view_player *player, double now, double *wait)
{
    *wait = INFINITY;
    if (player->show_next || (player->live && !player->paused)) {
        if (!show(player, now))
            return false;
        player->show_next = false;
        player->buffer_since = now;
        *wait = 0;
        return true;
    }
    if (player->paused || player->live)
        return false;
    if (!player->pacer.running) {
        if (!buffered(player, now, wait))
            return false;
        bd_view_pacer_start(&player->pacer, now);
    }
    skip_missed(player, now);
    const struct bd_view_result *head = bd_view_worker_peek(player->worker, 0);
    if (!head)
        return false;
    *wait = bd_view_pacer_due(&player->pacer, head->position, head->jump) - now;
    if (*wait > soon)
        return false;
    *wait = 0;
    return show(player, now);
}

void bd_view_player_pause(struct bd_view_player *player, bool paused)
{
    player->paused = paused;
    bd_view_pacer_stop(&player->pacer);
}

void bd_view_player_step(struct bd_view_player *player)
{
    if (!player->paused)
        bd_view_player_pause(player, true);
    if (!bd_view_player_finished(player))
        player->show_next = true;
}

static void go_to(struct bd_view_player *player, double seconds, bool repeat)
{
    bd_view_worker_seek(player->worker, seconds, repeat);
    bd_view_pacer_stop(&player->pacer);
    player->show_next = true;
}

void bd_view_player_seek(struct bd_view_player *player, double seconds, double first, double last)
{
    double from = player->target >= 0 ? player->target
                  : player->current   ? player->current->position
                                      : first;
    double target = from + seconds;
    target = target > last ? last : target;
    target = target < first ? first : target;
    go_to(player, target, false);
    player->target = target;
}

void bd_view_player_refresh(struct bd_view_player *player)
{
    if (!player->current || (!player->paused && !bd_view_player_finished(player)))
        return;
    double position = player->target >= 0 ? player->target : player->current->position;
    double target = position > before ? position - before : 0;
    go_to(player, target, player->target < 0);
}

bool bd_view_player_finished(const struct bd_view_player *player)
{
    struct bd_view_progress worker = bd_view_worker_progress(player->worker);
    return no_more(&worker) && worker.ready == 0;
}
