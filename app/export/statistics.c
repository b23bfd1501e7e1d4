#include "app/export/statistics.h"

#include <math.h>
#include <sys/resource.h>

#include "app/export/event_text.h"
#include "app/json.h"
#include "app/process_memory.h"
#include "base/clock.h"
#include "video/output_file.h"

static const double least_time = 1e-6, class_growth = 1.01;

void bd_statistics_begin(struct bd_statistics *statistics)
{
    *statistics = (struct bd_statistics){ .begin = bd_clock_seconds(), .step = 1 };
}

static int class_of(double seconds)
{
    double number = seconds > least_time ? log(seconds / least_time) / log(class_growth) : 0;
    return number < bd_time_classes - 1 ? (int)number : bd_time_classes - 1;
}

/* The time in the middle of a class. */
static double time_of(int number)
{
    return least_time * pow(class_growth, number + 0.5);
}

/* Keeps the moment of every step-th frame. */
static void note_moment(struct bd_statistics *s, double now)
{
    if (s->frames % s->step)
        return;
    if (s->frames / s->step == bd_time_moments) {
        for (int i = 0; i < bd_time_moments / 2; i++)
            s->moments[i] = s->moments[2 * i];
        s->step *= 2;
    }
    s->moments[s->frames / s->step] = now;
}

void bd_statistics_add(struct bd_statistics *s)
{
    double now = bd_clock_seconds(), time = now - s->last;
    note_moment(s, now);
    if (s->frames++ == 0) {
        s->first = now - s->begin;
    } else {
        s->classes[class_of(time)]++;
        s->longest = fmax(s->longest, time);
    }
    s->last = now;
}

/* The time between two frames that this share of the others does not exceed; NAN: none was. */
static double quantile(const struct bd_statistics *s, double share)
{
    int64_t count = 0, wanted = (int64_t)ceil(share * (double)(s->frames - 1));
    for (int i = 0; i < bd_time_classes && s->frames > 1; i++) {
        count += s->classes[i];
        if (count >= wanted)
            return fmin(time_of(i), s->longest);
    }
    return NAN;
}

/* Seconds a frame in the second half of the run, which is free of its start; NAN: too short. */
static double second_half(const struct bd_statistics *s)
{
    int64_t middle = s->frames / 2 / s->step, behind = s->frames - 1 - middle * s->step;
    return behind > 0 ? (s->last - s->moments[middle]) / (double)behind : NAN;
}

struct page {
    const struct bd_statistics *statistics;
    const char *backend;
    const struct bd_activity *activity;
    double seconds;
};

static void print(FILE *file, const void *user)
{
    const struct page *page = user;
    const struct bd_statistics *s = page->statistics;
    struct bd_json json = { .file = file };
    struct rusage usage = { 0 };
    getrusage(RUSAGE_SELF, &usage);
    double processor = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                       1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    bd_json_open(&json, NULL, '{');
    bd_json_text(&json, "backend", page->backend);
    bd_json_integer(&json, "frames", s->frames);
    bd_json_number(&json, "seconds", page->seconds, 6);
    bd_json_number(&json, "first_frame_seconds", s->frames ? s->first : NAN, 6);
    bd_json_number(&json, "frame_ms_median", 1e3 * quantile(s, 0.5), 4);
    bd_json_number(&json, "frame_ms_p99", 1e3 * quantile(s, 0.99), 4);
    bd_json_number(&json, "frame_ms_longest", s->frames > 1 ? 1e3 * s->longest : NAN, 4);
    bd_json_number(&json, "frame_ms_second_half", 1e3 * second_half(s), 4);
    bd_json_number(&json, "cpu_seconds", processor, 6);
    bd_json_number(&json, "peak_rss_mib", bd_process_memory("VmHWM:"), 6);
    if (page->activity) {
        bd_json_integer(&json, "events", bd_activity_event_count(page->activity));
        bd_event_write_totals(&json, page->activity);
    }
    bd_json_close(&json, '}');
}

enum bd_status bd_statistics_write(const struct bd_statistics *statistics, const char *path,
                                   const char *backend, const struct bd_activity *activity)
{
    struct page page = { statistics, backend, activity, bd_clock_seconds() - statistics->begin };
    enum bd_status status = bd_output_print(path, print, &page, true);
    return status ? bd_fail(status, "--json %s", bd_error_detail()) : BD_OK;
}
