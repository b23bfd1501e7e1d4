#include <errno.h>
#include <string.h>

#include "app/option_table.h"

/* The default of a member of options.separator, as the library has it. */
static void print_separator_default(char *text, size_t size, const struct bd_option *option)
{
    size_t begin = offsetof(struct bd_options, separator);
    struct bd_separator_options given = { .width = 640, .height = 480, .channels = 3 };
    struct bd_separator_options defaults = bd_separator_defaults(&given);
    if (option->offset < begin || option->offset >= begin + sizeof defaults)
        return;
    const void *value = (const char *)&defaults + (option->offset - begin);
    double number = 0;
    int whole = 0;
    if (option->kind == BD_OPTION_NUMBER)
        memcpy(&number, value, sizeof number);
    else
        memcpy(&whole, value, sizeof whole);
    snprintf(text, size, "%g", option->kind == BD_OPTION_NUMBER ? number : whole);
}

void bd_option_limits(char *text, size_t size, const struct bd_option *option)
{
    char fallback[64] = "";
    size_t used = 0;
    *text = 0;
    if (option->fallback)
        snprintf(fallback, sizeof fallback, "%s", option->fallback);
    else if (option->argument)
        print_separator_default(fallback, sizeof fallback, option);
    for (int i = 0; option->choices && option->choices[i]; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s", i ? "|" : "", option->choices[i]);
    if (option->argument && option->max > 0 && option->kind != BD_OPTION_TIME &&
        option->kind != BD_OPTION_TEXTS)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%s%.10g..%.10g", used ? "|" : "",
                             option->kind == BD_OPTION_ODD ? "odd " : "", option->min, option->max);
    if (*fallback)
        used +=
            (size_t)snprintf(text + used, size - used, "%sdefault %s", used ? "; " : "", fallback);
    if (option->commands & BD_LIVE_SOLVER)
        snprintf(text + used, size - used, "%slive solver only", used ? "; " : "");
}

static void print_options(FILE *file, enum bd_command command)
{
    enum { column = 30 };
    for (const struct bd_option *option = bd_option_table; option->name; option++) {
        if (!(option->commands & 1u << command))
            continue;
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", option->name, option->argument ? " " : "",
                 option->argument ? option->argument : "");
        if (option->letter)
            fprintf(file, "  -%c, %-*s", option->letter, column - 6, left);
        else
            fprintf(file, "  %-*s", column - 2, left);
        char limits[160];
        bd_option_limits(limits, sizeof limits, option);
        fprintf(file, *limits ? "%s (%s)\n" : "%s\n", option->help, limits);
    }
}

const char bd_about_inputs[] =
    "INPUT is a file, a URL, an image pattern (in%06d.jpg), a camera (/dev/video0),\n"
    "- for stdin, or synth:NAME for a rendered scene. A file named like a command is\n"
    "given as ./export, one whose name begins with a dash as -- -file.mp4.\n";

const char bd_about_many[] =
    "Of several inputs, each is exported by itself to --output-dir DIR, or all are joined to\n"
    "one film by --join. 'rec-*.mp4', in quotes, stands for all files that match, by name.\n"
    "With --output-dir, the value of an output is the end of a name: of the input in/yard.mp4,\n"
    "--mask mask.mkv is DIR/yard.mask.mkv, --events .csv DIR/yard.csv, and\n"
    "--overlay _%04d.png DIR/yard_0001.png and so on. --clips FOLDER is DIR/FOLDER, for all\n"
    "inputs. Inputs with the same name are told apart by their folder, else by a number.\n"
    "An input that fails leaves the others, and a piece that cannot be read is left out; the\n"
    "exit status is then 3. If no input can be read, it is that of the first.\n";

const char bd_about_outputs[] =
    "A name's extension says the format of an output. A name with a number such as\n"
    "mask%06d.png is one picture a frame. Its number is that of the frame in the input,\n"
    "counted from 1: with --start 2 the first of 25 frames/s is 51. With --start it follows from\n"
    "the time and the mean rate: in a film of an uneven rate it is near the true one. --codec\n"
    "applies to films without a codec of their own. Pictures are encoded as their extension\n"
    "says, unless --mask-codec or its like names another encoder of that format.\n";

const char bd_about_folders[] =
    "DIR is a folder in the layout of changedetection.net: input/, groundtruth/, and\n"
    "ROI.bmp and temporalROI.txt where it has them; or one that holds such folders; or\n"
    "synth:NAME, a rendered scene. Scores pool the pixels of all frames of a sequence;\n"
    "shadows are no foreground. A sequence is separated as a film is, with a look-ahead;\n"
    "--live shows what a camera would get. With several sequences, fps is what one got\n"
    "beside the others; -j 1 gives each all cores.\n";

const char bd_about_program[] =
    "Backdrop separates what moves from what stays in the picture of a stationary camera.\n";

const char bd_about_status[] =
    "Exit status: 0 done, 1 bad usage or start-up, 2 input cannot be read, 3 finished with\n"
    "errors, 4 interrupted, files finalised.\n";

static void print_overview(FILE *file)
{
    fprintf(file, "%s\n  backdrop INPUT\n", bd_about_program);
    for (const struct bd_command_row *row = bd_command_table; row->name; row++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", row->name, row->usage);
        fprintf(file, "  backdrop %-44s %s\n", left, row->help);
    }
    fprintf(file, "\n%s\nbackdrop COMMAND --help lists the options of a command.\n%s",
            bd_about_inputs, bd_about_status);
}

void bd_options_help(FILE *file, enum bd_command command)
{
    const struct bd_command_row *row = bd_command_get(command);
    if (command == BD_COMMAND_HELP || command == BD_COMMAND_VERSION) {
        print_overview(file);
        return;
    }
    fprintf(file, "backdrop %s %s\n  %s\n\n", row->name, row->usage, row->help);
    print_options(file, command);
    if (command == BD_COMMAND_VIEW || command == BD_COMMAND_EXPORT)
        fprintf(file, "\n%s", bd_about_inputs);
    if (command == BD_COMMAND_EXPORT)
        fprintf(file, "\n%s\n%s", bd_about_many, bd_about_outputs);
    if (command == BD_COMMAND_EVAL)
        fprintf(file, "\n%s", bd_about_folders);
}

/* One line is enough after a failure, and who closes a pipe wants no more. */
int bd_options_end(const char *program, int exit_status)
{
    errno = 0;
    bool lost = fflush(stdout) || ferror(stdout);
    if (!lost || errno == EPIPE || exit_status)
        return exit_status;
    fprintf(stderr, "%s: stdout cannot be written: what it should hold is lost\n", program);
    return 3;
}
