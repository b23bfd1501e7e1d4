/* The command line: one const table drives parsing, ranges and --help. */
#ifndef BD_APP_OPTIONS_H
#define BD_APP_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "video/input/reader.h"
#include <backdrop/separator.h>

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

/* The panes of the live window: the first BD_PICTURES of them show a picture, BD_PANE_ALL shows
 * them side by side. */
enum bd_pane {
    BD_PANE_INPUT,
    BD_PANE_BACKGROUND,
    BD_PANE_FOREGROUND,
    BD_PANE_MASK,
    BD_PANE_OVERLAY,
    BD_PANE_ALL,
    BD_PANES,
    BD_PICTURES = BD_PANE_ALL
};

extern const char *const bd_pane_names[BD_PANES + 1]; /* "input" ... "all", NULL */

enum { bd_max_arguments = 4096, bd_max_input_options = 64, bd_max_texts = 32 };
enum { bd_max_compare = 8 }; /* folders of --compare */

/* The values of an option that may be repeated. */
struct bd_texts {
    const char *items[bd_max_texts];
    int count;
};

struct bd_options {
    enum bd_command command;
    bool help;                               /* --help: show `command`'s help instead */
    const char *arguments[bd_max_arguments]; /* INPUT, DIR..., SUITE... */
    int argument_count;

    /* input */
    const char *name;          /* export: INPUT's in names of outputs; NULL: INPUT says it */
    const char *const *pieces; /* export: pieces of the film that begins with INPUT, itself too */
    int piece_count;           /* fewer than 2: INPUT is the film */
    const char *input_format;
    struct bd_key_value input_options[bd_max_input_options];
    int input_option_count;
    const char *hwaccel; /* none, auto or a device type of FFmpeg */
    double start, duration;

    /* separation; 0 = default, as in struct bd_separator_options */
    const char *backend; /* for bd_backend_open: bd_options_parse has put --device into it */
    int device;          /* --device; negative: not given */
    int threads;
    int solver;                    /* enum bd_solver */
    int stabilise;                 /* enum bd_stabilise_mode */
    double start_delay;            /* --start-delay; read it by bd_start_delay */
    bool shadows;                  /* masks that are written hold 127 in shadows */
    bool gray;                     /* separate the brightness alone */
    int scale_width, scale_height; /* processing size; 0: automatic */
    const char *roi;               /* picture: where black, nothing is foreground; or polygons */
    struct bd_separator_options separator;

    /* outputs of export (NULL: not wanted) */
    const char *mask, *foreground, *background, *overlay, *plate, *events, *tracks, *contact_sheet;
    struct bd_texts heatmap; /* at most two */
    const char *timelapse;
    double timelapse_speed; /* of still stretches; 0 = default */
    const char *synopsis;
    double length; /* seconds: the longest synopsis; 0 = default */
    /* --min-event-length, --time-before-event, --time-post-event, --merge-window: seconds; read
     * them by bd_min_event_length and so on */
    double min_event_length, time_before_event, time_post_event, merge_window;
    const char *clips; /* folder of a film an event */
    int clip_mode;     /* enum bd_clip_mode; negative: not given */
    bool scan_only;    /* events are listed on stdout, and nothing that shows is written */
    struct bd_texts lines, zones; /* NAME=x,y,x,y and NAME=x,y,x,y,x,y,... in pixels */
    const char *codec;            /* of films whose own codec is NULL */
    const char *mask_codec, *foreground_codec, *background_codec, *overlay_codec;
    bool boxes;             /* export, view: objects are drawn with a box and their number */
    const char *output_dir; /* folder of the outputs, whose values are then ends of names */
    bool join;              /* export: the inputs are pieces of one film */
    const char *json;       /* export, eval, bench */
    bool quick;             /* bench: smaller sizes */

    /* eval; contact_sheet too */
    const char *masks;       /* folder for the masks as bin%06d.png */
    struct bd_texts compare; /* folders of other programs' masks */
    bool objects;            /* score the objects too */
    bool live;               /* without look-ahead, as for a camera */
    int jobs;                /* export too: sequences or inputs at once; 0: by the cores */

    /* view */
    int pane; /* enum bd_pane: to start with */
    bool loop;
    int frames;             /* view, export: stop after so many; 0: not */
    const char *screenshot; /* the window as a picture, written at quit; NULL: not */

    int progress;  /* enum bd_progress */
    int overwrite; /* enum bd_overwrite */
    bool quiet, verbose;

    char *storage; /* owned; `input_options` and `backend` point into it */
};

/* Reads the command line. The strings of `options` point into argv (and `storage`), which must
 * stay. BD_ERROR_ARGUMENT with a one-line detail: unknown command option, value missing or out of
 * range, an option of another command, INPUT missing, too many arguments; BD_ERROR_MEMORY. */
enum bd_status bd_options_parse(struct bd_options *options, int argc, char **argv);

/* A number of struct bd_separator_options, as the command line has it. */
static inline int bd_none_is_zero(int value)
{
    return value == BD_NONE ? 0 : value;
}

/* A time in seconds whose default, which is stored as 0, is `fallback`. */
static inline double bd_seconds_or(double seconds, double fallback)
{
    return seconds == BD_NONE ? 0 : seconds > 0 ? seconds : fallback;
}

/* Seconds of frames that are held back where there is no look-ahead. */
static inline double bd_start_delay(const struct bd_options *options)
{
    return bd_seconds_or(options->start_delay, 10);
}

/* The times of events, defaults filled in: DVR-Scan's, but for the last. */
static inline double bd_min_event_length(const struct bd_options *options)
{
    return bd_seconds_or(options->min_event_length, .1);
}

static inline double bd_time_before_event(const struct bd_options *options)
{
    return bd_seconds_or(options->time_before_event, 1.5);
}

static inline double bd_time_post_event(const struct bd_options *options)
{
    return bd_seconds_or(options->time_post_event, 2);
}

static inline double bd_merge_window(const struct bd_options *options)
{
    return bd_seconds_or(options->merge_window, 1);
}

/* What decides that R is made from the frames again, by `refine` of struct bd_separator_options. */
static inline const char *bd_renewal_name(int refine)
{
    return refine > 0 ? "slide" : refine == BD_NONE ? "none" : "drift";
}

/* Frees what bd_options_parse allocated and zeroes the struct. */
void bd_options_release(struct bd_options *options);

/* The help of one command, or of the program for BD_COMMAND_HELP. */
void bd_options_help(FILE *file, enum bd_command command);

/* Flushes stdout at the end of the program. What is printed there may be all that was asked for: if
 * it is lost, prints a line that begins with `program`. Returns the exit status to end with. */
int bd_options_end(const char *program, int exit_status);

#endif
