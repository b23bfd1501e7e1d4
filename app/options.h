/* The command line: one const table drives parsing, ranges and --help. */
#ifndef BD_APP_OPTIONS_H
#define BD_APP_OPTIONS_H

#include <stdbool.h>

#include "linalg/separator.h"
#include "video/reader.h"

enum bd_command {
    BD_COMMAND_VIEW,
    BD_COMMAND_EXPORT,
    BD_COMMAND_EVAL,
    BD_COMMAND_BENCH,
    BD_COMMAND_INFO,
    BD_COMMAND_HELP,
    BD_COMMAND_VERSION
};

enum bd_solver {
    BD_SOLVER_LIVE, /* each frame answered at once */
    BD_SOLVER_BATCH /* exact principal component pursuit, window by window */
};

enum bd_progress { BD_PROGRESS_AUTO, BD_PROGRESS_PLAIN, BD_PROGRESS_NONE };
enum bd_overwrite { BD_OVERWRITE_ASK, BD_OVERWRITE_YES, BD_OVERWRITE_NO };

enum { bd_max_arguments = 256, bd_max_input_options = 64 };

struct bd_options {
    enum bd_command command;
    const char *arguments[bd_max_arguments]; /* INPUT, DIR..., SUITE... */
    int argument_count;

    /* input */
    const char *input_format;
    struct bd_key_value input_options[bd_max_input_options];
    int input_option_count;
    const char *hwaccel; /* none, auto or a device type of FFmpeg */
    double start, duration;

    /* separation; 0 or negative = default, as in struct bd_separator_options */
    const char *backend;
    int threads;
    enum bd_solver solver;
    bool color;                    /* false: gray */
    int scale_width, scale_height; /* processing size; 0: automatic */
    const char *roi;               /* picture: where black, nothing is foreground */
    struct bd_separator_options separator;

    /* outputs of export (NULL: not wanted) */
    const char *mask, *foreground, *background, *overlay, *plate, *events, *contact_sheet;
    const char *codec;
    const char *json; /* eval, bench */

    /* view */
    const char *pane; /* pane to start with */
    bool loop;

    enum bd_progress progress;
    enum bd_overwrite overwrite;
    bool quiet, verbose;
};

#endif
