/* What the files of the suite separate share. */
#ifndef BD_APP_BENCH_SEPARATE_H
#define BD_APP_BENCH_SEPARATE_H

#include "app/bench/bench.h"
#include <backdrop/separator.h>

/* What is separated. Frames come 30 a second and the window spans a minute, so that it slides as
 * often as in use: once in 18 frames with n = 100. */
struct bd_bench_film {
    int width, height, channels;
    int window;
    int outputs; /* enum bd_separator_output; 0: all */
    bool gpu, quick;
    bool resident; /* the frames are in the backend's memory */
};

enum { bd_bench_fps = 30, bd_bench_memory_seconds = 60 };

/* Frames of five slides. */
static inline int bd_bench_slides(const struct bd_bench_film *film)
{
    return 5 * bd_bench_fps * bd_bench_memory_seconds / film->window;
}

/* A separator for the film, which has not started. */
enum bd_status bd_bench_separator(struct bd_separator **separator, struct bd_backend *backend,
                                  const struct bd_bench_film *film);

/* A row without times. what: of the case, before the film's size. */
struct bd_bench_row bd_bench_separate_row(const struct bd_bench *bench,
                                          const struct bd_bench_film *film, const char *what);

/* Rows of several separators at once. */
enum bd_status bd_bench_several(struct bd_bench *bench);

#endif
