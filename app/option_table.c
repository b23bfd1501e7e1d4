#include "app/option_table.h"

#include <string.h>

static const char *const backends[] = { "auto", "cpu", "cuda", NULL };
static const char *const solvers[] = { "live", "batch", NULL };
static const char *const stabilise_modes[] = { "auto", "on", "off", NULL };
static const char *const automatic[] = { "auto", NULL };
static const char *const clip_modes[] = { "auto", "copy", "encode", NULL };
static const char *const colors[] = { "gray", "rgb", NULL };
static const char *const progresses[] = { "auto", "plain", "none", NULL };
const char *const bd_pane_names[BD_PANES + 1] = { "input",   "background", "foreground", "mask",
                                                  "overlay", "all",        NULL };

#define AT(member) offsetof(struct bd_options, member)

enum {
    V = BD_FOR_VIEW,
    E = BD_FOR_EXPORT,
    A = BD_FOR_EVAL,
    B = BD_FOR_BENCH,
    I = BD_FOR_INFO,
    VE = V | E,
    VEA = V | E | A,
    L = VEA | BD_LIVE_SOLVER,
    Z = BD_ZERO_IS_NONE
};

/* clang-format off */
const struct bd_option bd_option_table[] = {
    /* outputs */
    { "mask", 0, "FILE", BD_OPTION_TEXT, AT(mask), 0, 0, NULL, E, NULL,
      "white where something moves, black elsewhere; lossless" },
    { "foreground", 0, "FILE", BD_OPTION_TEXT, AT(foreground), 0, 0, NULL, E, NULL,
      "what moves, with alpha where the format holds it, else on black" },
    { "background", 0, "FILE", BD_OPTION_TEXT, AT(background), 0, 0, NULL, E, NULL,
      "the scene without what moves" },
    { "overlay", 0, "FILE", BD_OPTION_TEXT, AT(overlay), 0, 0, NULL, E, NULL,
      "the input with what moves tinted and outlined" },
    { "plate", 0, "FILE.png", BD_OPTION_TEXT, AT(plate), 0, 0, NULL, E, NULL,
      "one picture: the background at the end" },
    { "events", 0, "FILE", BD_OPTION_TEXT, AT(events), 0, 0, NULL, E, NULL,
      "visits of moving objects, .csv or .json, one row each; -: JSON lines to stdout, at once" },
    { "line", 0, "NAME=X,Y,X,Y", BD_OPTION_TEXTS, AT(lines), 0, bd_max_texts, NULL, E, NULL,
      "count who crosses this line of pixels, by direction; may be repeated" },
    { "zone", 0, "NAME=X,Y,...", BD_OPTION_TEXTS, AT(zones), 0, bd_max_texts, NULL, E, NULL,
      "tell who enters and leaves this polygon of pixels; may be repeated" },
    { "min-event-length", 0, "SECONDS", BD_OPTION_NUMBER, AT(min_event_length), 0, 3600, NULL, E | Z,
      "0.1", "shorter visits are no events" },
    { "time-before-event", 0, "SECONDS", BD_OPTION_NUMBER, AT(time_before_event), 0, 3600, NULL,
      E | Z, "1.5", "seconds of the film before an event that belong to its clip" },
    { "time-post-event", 0, "SECONDS", BD_OPTION_NUMBER, AT(time_post_event), 0, 3600, NULL, E | Z,
      "2", "an event is over when nothing of it was seen for so long; its clip ends then" },
    { "merge-window", 0, "SECONDS", BD_OPTION_NUMBER, AT(merge_window), 0, 3600, NULL, E | Z, "1",
      "who appears where another was lost no longer ago than this belongs to its event" },
    { "clips", 0, "FOLDER", BD_OPTION_TEXT, AT(clips), 0, 0, NULL, E, NULL,
      "a film and a picture of each event: FOLDER/INPUT.0001.mp4, FOLDER/INPUT.0001.jpg" },
    { "clip-mode", 0, "HOW", BD_OPTION_INDEX, AT(clip_mode), 0, 0, clip_modes, E, "auto",
      "copy: out of the file, from the key frame before; encode: exact, and with --boxes; "
      "auto: copy what can be, without --boxes" },
    { "scan-only", 0, NULL, BD_OPTION_FLAG, AT(scan_only), 0, 0, NULL, E, NULL,
      "list the events on stdout; write no film and no picture" },
    { "tracks", 0, "FILE", BD_OPTION_TEXT, AT(tracks), 0, 0, NULL, E, NULL,
      "where each object is in each frame, .txt (MOT Challenge), .csv or .json (lines); -: stdout" },
    { "boxes", 0, NULL, BD_OPTION_FLAG, AT(boxes), 0, 0, NULL, VE, NULL,
      "draw a box and a number around each object: on --overlay, --timelapse, --clips, in the window (key x)" },
    { "heatmap", 0, "FILE.png", BD_OPTION_TEXTS, AT(heatmap), 0, 2, NULL, E, NULL,
      "one picture: where and how long something moved; FILE.npy: the seconds as numbers; "
      "may be given twice" },
    { "timelapse", 0, "FILE", BD_OPTION_TEXT, AT(timelapse), 0, 0, NULL, E, NULL,
      "a film in which still stretches pass fast, and events at their own pace" },
    { "timelapse-speed", 0, "N", BD_OPTION_NUMBER, AT(timelapse_speed), 1, 10000, NULL, E, "30",
      "how many times as fast still stretches of --timelapse pass" },
    { "synopsis", 0, "FILE", BD_OPTION_TEXT, AT(synopsis), 0, 0, NULL, E, NULL,
      "a short film: who was there for 2 seconds (or --min-event-length), several at a time" },
    { "length", 0, "T", BD_OPTION_TIME, AT(length), 1, 3600, NULL, E, "60",
      "the synopsis lasts at most so long" },
    { "contact-sheet", 0, "FILE.png", BD_OPTION_TEXT, AT(contact_sheet), 0, 0, NULL, E | A, NULL,
      "one picture: export: what was found, at five moments; eval: the worst frames beside truth" },
    { "codec", 0, "NAME", BD_OPTION_TEXT, AT(codec), 0, 0, NULL, E, "by extension",
      "FFmpeg encoder of films; pictures are encoded as their extension says" },
    { "mask-codec", 0, "NAME", BD_OPTION_TEXT, AT(mask_codec), 0, 0, NULL, E, "as --codec",
      "FFmpeg encoder of --mask; must be able to keep every pixel" },
    { "foreground-codec", 0, "NAME", BD_OPTION_TEXT, AT(foreground_codec), 0, 0, NULL, E,
      "as --codec", "FFmpeg encoder of --foreground" },
    { "background-codec", 0, "NAME", BD_OPTION_TEXT, AT(background_codec), 0, 0, NULL, E,
      "as --codec", "FFmpeg encoder of --background" },
    { "overlay-codec", 0, "NAME", BD_OPTION_TEXT, AT(overlay_codec), 0, 0, NULL, E, "as --codec",
      "FFmpeg encoder of --overlay" },
    { "output-dir", 'o', "DIR", BD_OPTION_TEXT, AT(output_dir), 0, 0, NULL, E, NULL,
      "folder of the outputs; their values are then ends of names: mask.mkv is DIR/INPUT.mask.mkv" },
    { "join", 0, NULL, BD_OPTION_FLAG, AT(join), 0, 0, NULL, E, NULL,
      "the inputs are pieces of one film: times, background and events go on from one to the next" },
    { "shadows", 0, NULL, BD_OPTION_FLAG, AT(shadows), 0, 0, NULL, E | A, NULL,
      "write 127 into masks where only the light differs: shadows, lamps" },
    { "json", 0, "FILE", BD_OPTION_TEXT, AT(json), 0, 0, NULL, E | A | B, NULL,
      "export: how the run went; eval, bench: the results, which replace FILE unless -n is given" },
    { "masks", 0, "FOLDER", BD_OPTION_TEXT, AT(masks), 0, 0, NULL, A, NULL,
      "save the masks as FOLDER/SEQUENCE/bin000001.png" },
    { "compare", 0, "DIR", BD_OPTION_TEXTS, AT(compare), 0, bd_max_compare, NULL, A, NULL,
      "score these masks too: DIR/SEQUENCE/bin000001.png; may be repeated" },
    { "objects", 0, NULL, BD_OPTION_FLAG, AT(objects), 0, 0, NULL, A, NULL,
      "score the objects too, against those of a scene or of DIR/gt/gt.txt (MOT Challenge)" },
    { "live", 0, NULL, BD_OPTION_FLAG, AT(live), 0, 0, NULL, A | BD_LIVE_SOLVER, NULL,
      "separate as frames of a camera are: without a look-ahead into the sequence" },
    { "jobs", 'j', "N", BD_OPTION_INT, AT(jobs), 0, 64, NULL, E | A, "0, by the cores",
      "inputs exported, or sequences scored, at once" },
    { "yes", 'y', NULL, BD_OPTION_SET, AT(overwrite), BD_OVERWRITE_YES, 0, NULL, E | A | B, NULL,
      "replace existing files without asking" },
    { "no", 'n', NULL, BD_OPTION_SET, AT(overwrite), BD_OVERWRITE_NO, 0, NULL, E | A | B, NULL,
      "never replace an existing file" },
    /* input */
    { "input-format", 0, "NAME", BD_OPTION_TEXT, AT(input_format), 0, 0, NULL, VE, "guessed",
      "as ffmpeg -f: v4l2, x11grab, rawvideo, ..." },
    { "input-option", 0, "K=V", BD_OPTION_KEY_VALUE, AT(input_options), 0, 0, NULL, VE, NULL,
      "as ffmpeg -K V before -i; may be repeated" },
    { "hwaccel", 0, "NAME", BD_OPTION_TEXT, AT(hwaccel), 0, 0, NULL, VE,
      "threads, helped by a GPU",
      "hardware decoding: none, auto, or a device type of FFmpeg" },
    { "start", 0, "T", BD_OPTION_TIME, AT(start), 0, 1e7, NULL, VEA, "0",
      "begin at this time: seconds or [HH:]MM:SS" },
    { "duration", 0, "T", BD_OPTION_TIME, AT(duration), 0, 1e7, NULL, VEA, "0, to the end",
      "stop after this time" },
    { "frames", 0, "N", BD_OPTION_INT, AT(frames), 1, 1e9, NULL, VE, "all",
      "stop after so many frames" },
    { "roi", 0, "IMAGE|X,Y,...", BD_OPTION_TEXT, AT(roi), 0, 0, NULL, VEA, NULL,
      "region of interest: where IMAGE is black, or outside the polygons (X,Y,X,Y,X,Y;...), nothing is foreground" },
    { "loop", 0, NULL, BD_OPTION_FLAG, AT(loop), 0, 0, NULL, V, NULL,
      "start again at the end of a file" },
    /* separation */
    { "backend", 0, "NAME", BD_OPTION_CHOICE, AT(backend), 0, 0, backends, VEA | B, "auto",
      "where the linear algebra runs" },
    { "device", 0, "N", BD_OPTION_INT, AT(device), 0, 1023, NULL, VEA | B,
      "$BACKDROP_DEVICE, or the GPU with most multiprocessors",
      "the GPU to use, as CUDA numbers them; implies --backend cuda" },
    { "threads", 0, "N", BD_OPTION_INT, AT(threads), 0, 1024, NULL, VEA | B, "0, one a core",
      "CPU threads" },
    { "solver", 0, "NAME", BD_OPTION_INDEX, AT(solver), 0, 0, solvers, VEA, "live",
      "live: frame by frame; batch: exact Robust PCA, window by window" },
    { "window", 0, "N", BD_OPTION_INT, AT(separator.window), 2, bd_max_window, NULL, VEA, NULL,
      "frames in the window" },
    { "memory", 0, "SECONDS", BD_OPTION_NUMBER, AT(separator.memory), 0.1, 86400, NULL, L, NULL,
      "time the window spans; what stays in place for nearly twice as long becomes background" },
    { "lambda", 0, "GREY", BD_OPTION_NUMBER, AT(separator.lambda), 0.1, 255, NULL, L, NULL,
      "larger differences do not change the background" },
    { "threshold", 0, "GREY", BD_OPTION_NUMBER, AT(separator.threshold), 0.1, 255, NULL, VEA, NULL,
      "least difference from the background that is foreground" },
    { "noise-gain", 0, "K", BD_OPTION_NUMBER, AT(separator.noise_gain), 0, 100, NULL, VEA | Z, NULL,
      "a pixel's threshold is at least K times its own noise" },
    { "refine", 0, "K", BD_OPTION_INT, AT(separator.refine), 0, 100, automatic, L | Z, "auto",
      "times R is made again when a frame enters the window; 0: it is only updated; "
      "auto: updated, and made again when it has drifted" },
    { "rank", 0, "N", BD_OPTION_INT, AT(separator.rank), 1, bd_max_rank, NULL, L, NULL,
      "largest rank of the background" },
    { "start-delay", 0, "SECONDS", BD_OPTION_NUMBER, AT(start_delay), 0, 60, NULL,
      E | A | BD_LIVE_SOLVER | Z, "10",
      "hold back the first frames of a camera or a pipe, and learn the background from them" },
    { "stabilise", 0, "WHEN", BD_OPTION_INDEX, AT(stabilise), 0, 0, stabilise_modes, VEA, "auto",
      "undo the shake of the camera: always, never, or (auto) while it shakes" },
    { "median", 0, "N", BD_OPTION_ODD, AT(separator.median), 1, 15, NULL, VEA, NULL,
      "side of the median filter on the mask, 1: none" },
    { "min-area", 0, "N", BD_OPTION_INT, AT(separator.min_area), 0, 1e9, NULL, VEA | Z, "by size",
      "remove foreground of fewer pixels (of the processing size)" },
    { "max-hole", 0, "N", BD_OPTION_INT, AT(separator.max_hole), 0, 1e9, NULL, VEA | Z, "by size",
      "fill holes of at most this many pixels" },
    { "color", 0, "NAME", BD_OPTION_GRAY, AT(gray), 0, 0, colors, VEA, "rgb",
      "separate the brightness alone, or all colours" },
    { "scale", 0, "WxH", BD_OPTION_SIZE, AT(scale_width), 16, 16384, NULL, VEA,
      "at most 307200 pixels", "size at which frames are processed" },
    /* the window, the bench */
    { "pane", 0, "NAME", BD_OPTION_INDEX, AT(pane), 0, 0, bd_pane_names, V, "all",
      "picture to start with" },
    { "screenshot", 0, "FILE.png", BD_OPTION_TEXT, AT(screenshot), 0, 0, NULL, V, NULL,
      "save the last picture of the window when it closes" },
    { "quick", 0, NULL, BD_OPTION_FLAG, AT(quick), 0, 0, NULL, B, NULL,
      "smaller sizes and fewer repetitions" },
    /* reports */
    { "progress", 0, "NAME", BD_OPTION_INDEX, AT(progress), 0, 0, progresses, VEA | B, "auto",
      "on stderr: a bar on a terminal, plain lines, or nothing" },
    { "quiet", 'q', NULL, BD_OPTION_FLAG, AT(quiet), 0, 0, NULL, VEA | B | I, NULL,
      "errors only" },
    { "verbose", 'v', NULL, BD_OPTION_FLAG, AT(verbose), 0, 0, NULL, VEA | B | I, NULL,
      "also say what is chosen and why" },
    { "help", 'h', NULL, BD_OPTION_FLAG, AT(help), 0, 0, NULL, VEA | B | I, NULL, "this text" },
    { "version", 0, NULL, BD_OPTION_SET, AT(command), BD_COMMAND_VERSION, 0, NULL, VEA | B | I,
      NULL, "the version of the program" },
    { NULL, 0, NULL, BD_OPTION_FLAG, 0, 0, 0, NULL, 0, NULL, NULL }
};

const struct bd_option_alias bd_option_aliases[] = {
    { "against", "compare" },
    { "stabilize", "stabilise" },
    { "steady", "stabilise" },
    { NULL, NULL }
};

const struct bd_command_row bd_command_table[] = {
    { "view", BD_COMMAND_VIEW, "INPUT", "watch it separated, live (the default command)",
      1, 1, "INPUT" },
    { "export", BD_COMMAND_EXPORT, "INPUT... [-o DIR] [--mask F] ...",
      "write masks, foreground, background, overlay, events, clips, summaries", 1, bd_max_arguments, "INPUT" },
    { "eval", BD_COMMAND_EVAL, "DIR... [--json F]",
      "score masks against folders in the CDnet layout", 1, bd_max_arguments, "DIR" },
    { "bench", BD_COMMAND_BENCH, "[SUITE...] [--json F]",
      "time the kernels: qr update updates wy svd svqr rpca separate accuracy app",
      0, bd_max_arguments, "SUITE" },
    { "info", BD_COMMAND_INFO, "", "backends, cameras, scenes, encoders, versions", 0, 0, "" },
    { "help", BD_COMMAND_HELP, "[COMMAND]", "this text, or that of a command", 0, 1, "COMMAND" },
    { "version", BD_COMMAND_VERSION, "", "the version of the program", 0, 0, "" },
    { NULL, BD_COMMAND_HELP, NULL, NULL, 0, 0, NULL }
};
/* clang-format on */

const struct bd_command_row *bd_command_find(const char *name)
{
    for (const struct bd_command_row *row = bd_command_table; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

const struct bd_command_row *bd_command_get(enum bd_command command)
{
    const struct bd_command_row *row = bd_command_table;
    while (row->command != command)
        row++;
    return row;
}
