#include "app/progress.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

static const double bar_interval = 0.1, plain_interval = 5; /* seconds */
enum { bar_cells = 24 };

void bd_meter_begin(struct bd_meter *meter, const struct bd_options *options, const char *label,
                    int64_t total)
{
    bool terminal = isatty(STDERR_FILENO);
    *meter = (struct bd_meter){ .mode = options->quiet ? BD_PROGRESS_NONE
                                                       : (enum bd_progress)options->progress,
                                .label = label,
                                .total = total,
                                .start = bd_clock_seconds() };
    meter->bar = meter->mode == BD_PROGRESS_AUTO && terminal;
    meter->last = meter->start;
}

double bd_meter_seconds(const struct bd_meter *meter)
{
    return bd_clock_seconds() - meter->start;
}

/* Prints `separator` and, for example, "1:05 left"; nothing where that is unknown. */
static void print_rest(const struct bd_meter *meter, int64_t frames, double rate,
                       const char *separator)
{
    if (meter->total <= frames || rate <= 0)
        return;
    int64_t seconds = (int64_t)((double)(meter->total - frames) / rate + 0.5);
    fputs(separator, stderr);
    if (seconds >= 3600)
        fprintf(stderr, "%" PRId64 ":%02d", seconds / 3600, (int)(seconds / 60 % 60));
    else
        fprintf(stderr, "%d", (int)(seconds / 60));
    fprintf(stderr, ":%02d left", (int)(seconds % 60));
}

static void draw_bar(struct bd_meter *meter, int64_t frames, double rate)
{
    char cells[bar_cells + 1];
    fputs("\r", stderr);
    if (*meter->label)
        fprintf(stderr, "%s ", meter->label);
    if (meter->total > 0) {
        int64_t done = frames < meter->total ? frames : meter->total;
        memset(cells, ' ', bar_cells);
        memset(cells, '#', (size_t)(done * bar_cells / meter->total));
        cells[bar_cells] = 0;
        fprintf(stderr, "[%s] %3d%%  ", cells, (int)(done * 100 / meter->total));
    }
    fprintf(stderr, "%" PRId64 " frames  %.1f frames/s", frames, rate);
    print_rest(meter, frames, rate, "  ");
    fputs("\033[K", stderr);
    fflush(stderr);
    meter->shown = true;
}

static void print_line(const struct bd_meter *meter, int64_t frames, double rate)
{
    if (*meter->label)
        fprintf(stderr, "%s: ", meter->label);
    fprintf(stderr, "%" PRId64, frames);
    if (meter->total > 0)
        fprintf(stderr, " of %" PRId64, meter->total);
    fprintf(stderr, " frames, %.1f frames/s", rate);
    print_rest(meter, frames, rate, ", ");
    fputc('\n', stderr);
}

void bd_meter_update(struct bd_meter *meter, int64_t frames)
{
    double now = bd_clock_seconds();
    if (meter->mode == BD_PROGRESS_NONE)
        return;
    if (now - meter->last < (meter->bar ? bar_interval : plain_interval))
        return;
    meter->last = now;
    double rate = (double)frames / (now - meter->start);
    if (meter->bar)
        draw_bar(meter, frames, rate);
    else
        print_line(meter, frames, rate);
}

void bd_meter_end(struct bd_meter *meter)
{
    if (meter->shown)
        fputs("\r\033[K", stderr);
    meter->shown = false;
}
