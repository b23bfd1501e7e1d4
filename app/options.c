#include "app/options.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/option_table.h"

/* The state of parsing. */
struct parser {
    struct bd_options *options;
    const struct bd_command_row *command;
    char **argv;
    int argc, next;
    int command_at;               /* where the command is in argv; 0: it is not named */
    const struct bd_option *live; /* the first given that only the live solver has; NULL: none */
};

/* Number of single-character edits that turn a into b; long names are cut. */
static int edit_distance(const char *a, const char *b)
{
    enum { longest = 31 };
    int row[longest + 1];
    int length_a = (int)strnlen(a, longest), length_b = (int)strnlen(b, longest);
    for (int j = 0; j <= length_b; j++)
        row[j] = j;
    for (int i = 1; i <= length_a; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= length_b; j++) {
            int change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            int other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = change < other ? change : other;
        }
    }
    return row[length_b];
}

static void fail_unknown(const struct parser *parser, const char *text)
{
    char name[32];
    const char *bare = text + strspn(text, "-");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(bare, "="), bare);
    const struct bd_option *best = NULL;
    int least = 4;
    for (const struct bd_option *option = bd_option_table; option->name; option++) {
        bool begins = strlen(name) >= 3 && strncmp(option->name, name, strlen(name)) == 0;
        int distance = begins ? 0 : edit_distance(name, option->name);
        if ((option->commands & 1u << parser->command->command) && distance < least) {
            least = distance;
            best = option;
        }
    }
    if (access(text, F_OK) == 0)
        (void)bd_fail(BD_ERROR_ARGUMENT, "%s: unknown option; the file is given as -- %s", text,
                      text);
    else if (best && strlen(name) > (size_t)least)
        (void)bd_fail(BD_ERROR_ARGUMENT, "%s: unknown option; did you mean --%s?", text,
                      best->name);
    else
        (void)bd_fail(BD_ERROR_ARGUMENT, "%s: unknown option; see backdrop %s --help", text,
                      parser->command->name);
}

/* The command that `text` was meant to be; NULL: none. */
static const char *similar_command(const char *text)
{
    const char *best = NULL;
    int least = 3;
    for (const struct bd_command_row *row = bd_command_table; row->name; row++) {
        int distance = edit_distance(text, row->name);
        if (distance < least && strlen(text) > (size_t)distance) {
            least = distance;
            best = row->name;
        }
    }
    return best;
}

static enum bd_status fail_command(const char *text)
{
    const char *meant = similar_command(text);
    return meant ? bd_fail(BD_ERROR_ARGUMENT, "%s: no such command; did you mean %s?", text, meant)
                 : bd_fail(BD_ERROR_ARGUMENT, "%s: no such command; see backdrop --help", text);
}

/* Whether `text`, as in "--window=50", gives the option of this long name. */
static bool gives(const char *text, const char *name)
{
    size_t length = strlen(name);
    return strncmp(text, "--", 2) == 0 && strncmp(text + 2, name, length) == 0 &&
           (!text[2 + length] || text[2 + length] == '=');
}

/* Whether `text` gives the option, by its name, its letter or an alias. */
static bool is_option(const char *text, const struct bd_option *option)
{
    for (const struct bd_option_alias *other = bd_option_aliases; other->alias; other++)
        if (gives(text, other->alias) && strcmp(option->name, other->name) == 0)
            return true;
    return gives(text, option->name) || (option->letter && text[1] == option->letter && !text[2]);
}

/* NULL with a detail if the command has no such option. */
static const struct bd_option *find_option(const struct parser *parser, const char *text)
{
    for (const struct bd_option *option = bd_option_table; option->name; option++) {
        if (!is_option(text, option))
            continue;
        if (option->commands & 1u << parser->command->command)
            return option;
        const struct bd_command_row *row = bd_command_table;
        while (row->name && !(option->commands & 1u << row->command))
            row++;
        (void)bd_fail(BD_ERROR_ARGUMENT, "--%s: not an option of %s; it belongs to %s",
                      option->name, parser->command->name, row->name ? row->name : "no command");
        return NULL;
    }
    fail_unknown(parser, text);
    return NULL;
}

/* "--window 1: must be 2..1000" or "--refine x: must be auto, or 0..100" */
static enum bd_status fail_range(const struct bd_option *option, const char *value,
                                 const char *form)
{
    return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: must be %s%s%s%.10g..%.10g", option->name, value,
                   option->choices ? option->choices[0] : "", option->choices ? ", or " : "", form,
                   option->min, option->max);
}

static enum bd_status parse_whole(const struct bd_option *option, const char *value, int64_t *out)
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    const char *form = option->kind == BD_OPTION_ODD ? "odd, " : "";
    if (end == value || *end)
        return fail_range(option, value, "a whole number, ");
    if (errno || (double)number < option->min || (double)number > option->max ||
        (option->kind == BD_OPTION_ODD && number % 2 == 0))
        return fail_range(option, value, form);
    *out = number;
    return BD_OK;
}

static enum bd_status parse_number(const struct bd_option *option, const char *value, double *out)
{
    bool time = option->kind == BD_OPTION_TIME;
    const char *form = time ? "seconds or [HH:]MM:SS, " : "a number, ";
    double number = 0;
    const char *rest = value;
    for (int part = 0;; part++) {
        char *end;
        double piece = strtod(rest, &end);
        if (end == rest || !isfinite(piece) || (part > 0 && (piece < 0 || piece >= 60)))
            return fail_range(option, value, form);
        number = number * 60 + piece;
        rest = end + 1;
        if (!*end)
            break;
        if (!time || *end != ':' || part == 2)
            return fail_range(option, value, form);
    }
    if (number < option->min || number > option->max)
        return fail_range(option, value, "");
    *out = number;
    return BD_OK;
}

static enum bd_status parse_choice(const struct bd_option *option, const char *value, int *index)
{
    char list[128] = "";
    for (int i = 0; option->choices[i]; i++) {
        if (strcmp(option->choices[i], value) == 0) {
            *index = i;
            return BD_OK;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", option->choices[i]);
    }
    return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: must be one of %s", option->name, value, list);
}

static enum bd_status parse_size(const struct bd_option *option, const char *value, int *size)
{
    char *end;
    long width = strtol(value, &end, 10), height = -1;
    bool good = end != value && *end == 'x' && end[1] >= '0' && end[1] <= '9';
    if (good)
        height = strtol(end + 1, &end, 10);
    if (!good || *end)
        return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: must be WxH, as in 640x480", option->name,
                       value);
    if ((double)width < option->min || (double)height < option->min ||
        (double)width > option->max || (double)height > option->max)
        return fail_range(option, value, "width and height ");
    size[0] = (int)width;
    size[1] = (int)height;
    return BD_OK;
}

/* Bytes at the beginning of options->storage for the backend's name with the device. */
enum { backend_size = 16 };

/* The key is copied to options->storage, where all keys lie one after the other. */
static enum bd_status parse_key_value(struct bd_options *options, const struct bd_option *option,
                                      const char *value)
{
    const char *equals = strchr(value, '=');
    if (!equals || equals == value)
        return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: must be KEY=VALUE", option->name, value);
    if (options->input_option_count == bd_max_input_options)
        return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: more than %d of them", option->name, value,
                       bd_max_input_options);
    size_t length = (size_t)(equals - value);
    char *key = options->storage + backend_size;
    for (int i = 0; i < options->input_option_count; i++)
        key += strlen(key) + 1;
    memcpy(key, value, length);
    key[length] = 0;
    options->input_options[options->input_option_count++] =
        (struct bd_key_value){ key, equals + 1 };
    return BD_OK;
}

static enum bd_status parse_text(const struct bd_option *option, const char *value, void *target)
{
    struct bd_texts *texts = target;
    if (!*value)
        return bd_fail(BD_ERROR_ARGUMENT, "--%s: its value is empty", option->name);
    if (option->kind == BD_OPTION_TEXT) {
        *(const char **)target = value;
        return BD_OK;
    }
    if (texts->count == (int)option->max)
        return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: more than %d of them", option->name, value,
                       (int)option->max);
    texts->items[texts->count++] = value;
    return BD_OK;
}

static enum bd_status store(struct bd_options *options, const struct bd_option *option,
                            const char *value)
{
    char *target = (char *)options + option->offset;
    int index = 0;
    int64_t whole = 0;
    enum bd_status status = BD_OK;
    bool zero_is_none = option->commands & BD_ZERO_IS_NONE;
    switch (option->kind) {
    case BD_OPTION_FLAG:
        *(bool *)target = true;
        break;
    case BD_OPTION_SET:
        *(int *)target = (int)option->min;
        break;
    case BD_OPTION_INT:
    case BD_OPTION_ODD:
        if (option->choices && strcmp(option->choices[0], value) == 0)
            *(int *)target = 0;
        else if ((status = parse_whole(option, value, &whole)) == BD_OK)
            *(int *)target = whole || !zero_is_none ? (int)whole : BD_NONE;
        break;
    case BD_OPTION_NUMBER:
    case BD_OPTION_TIME:
        status = parse_number(option, value, (double *)target);
        if (status == BD_OK && zero_is_none && *(double *)target == 0)
            *(double *)target = BD_NONE;
        break;
    case BD_OPTION_TEXT:
    case BD_OPTION_TEXTS:
        return parse_text(option, value, target);
    case BD_OPTION_CHOICE:
        status = parse_choice(option, value, &index);
        *(const char **)target = option->choices[index];
        break;
    case BD_OPTION_INDEX:
        status = parse_choice(option, value, (int *)target);
        break;
    case BD_OPTION_GRAY:
        status = parse_choice(option, value, &index);
        *(bool *)target = index == 0;
        break;
    case BD_OPTION_SIZE:
        return parse_size(option, value, (int *)target);
    case BD_OPTION_KEY_VALUE:
        return parse_key_value(options, option, value);
    }
    return status;
}

static enum bd_status parse_option(struct parser *parser)
{
    const char *text = parser->argv[parser->next++];
    const struct bd_option *option = find_option(parser, text);
    if (!option)
        return BD_ERROR_ARGUMENT;
    if (!parser->live && (option->commands & BD_LIVE_SOLVER))
        parser->live = option;
    const char *value = text[1] == '-' ? strchr(text, '=') : NULL;
    if (value && !option->argument)
        return bd_fail(BD_ERROR_ARGUMENT, "--%s: takes no value", option->name);
    if (value)
        return store(parser->options, option, value + 1);
    if (!option->argument)
        return store(parser->options, option, "");
    bool missing = parser->next >= parser->argc;
    if (!missing && strncmp(parser->argv[parser->next], "--", 2) == 0)
        missing = !parser->argv[parser->next][2] || find_option(parser, parser->argv[parser->next]);
    if (missing)
        return bd_fail(BD_ERROR_ARGUMENT, "--%s: its value %s is missing", option->name,
                       option->argument);
    return store(parser->options, option, parser->argv[parser->next++]);
}

static enum bd_status check_arguments(const struct parser *parser)
{
    const struct bd_options *options = parser->options;
    const struct bd_command_row *command = parser->command;
    if (options->argument_count < command->min_arguments)
        return bd_fail(BD_ERROR_ARGUMENT, "%s missing: backdrop %s %s; see backdrop --help",
                       command->argument, command->name, command->usage);
    if (options->argument_count > command->max_arguments)
        return bd_fail(BD_ERROR_ARGUMENT, "%s: one argument too many; backdrop %s %s",
                       options->arguments[command->max_arguments], command->name, command->usage);
    if (command->command != BD_COMMAND_HELP || options->argument_count == 0)
        return BD_OK;
    return bd_command_find(options->arguments[0]) ? BD_OK : fail_command(options->arguments[0]);
}

/* An option that would do nothing is an error. */
static enum bd_status check_solver(const struct parser *parser)
{
    if (!parser->live || parser->options->solver != BD_SOLVER_BATCH)
        return BD_OK;
    return bd_fail(BD_ERROR_ARGUMENT, "--%s: belongs to --solver live; the batch solver has none",
                   parser->live->name);
}

/* A look-ahead holds nothing back. */
static enum bd_status check_start(const struct bd_options *options)
{
    if (options->command != BD_COMMAND_EVAL || options->live || options->start_delay == 0)
        return BD_OK;
    return bd_fail(BD_ERROR_ARGUMENT, "--start-delay: belongs to --live; a look-ahead has none");
}

/* --device N makes the backend "cuda:N", for which all commands then ask. */
static enum bd_status choose_device(struct bd_options *options)
{
    if (options->device < 0)
        return BD_OK;
    if (options->backend && strcmp(options->backend, "cpu") == 0)
        return bd_fail(BD_ERROR_ARGUMENT, "--device: chooses a GPU, and --backend cpu uses none");
    snprintf(options->storage, backend_size, "cuda:%d", options->device);
    options->backend = options->storage;
    return BD_OK;
}

static enum bd_status prepare(struct bd_options *options, int argc, char **argv)
{
    *options = (struct bd_options){ .command = BD_COMMAND_VIEW, .device = -1, .pane = BD_PANE_ALL };
    options->clip_mode = -1;
    size_t bytes = backend_size + 1;
    for (int i = 0; i < argc; i++)
        bytes += strlen(argv[i]) + 1;
    options->storage = calloc(bytes, 1);
    if (!options->storage)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the command line");
    return BD_OK;
}

/* The index in argv of the first word that is neither an option nor the value of one, if it is a
 * command; else 0. */
static int find_command(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *text = argv[i];
        if (text[0] != '-' || !text[1])
            return bd_command_find(text) ? i : 0;
        const struct bd_option *option = bd_option_table;
        while (option->name && !is_option(text, option))
            option++;
        if (option->name && option->argument && !(text[1] == '-' && strchr(text, '=')))
            i++;
    }
    return 0;
}

static enum bd_status parse_words(struct parser *parser)
{
    struct bd_options *options = parser->options;
    enum bd_status status = BD_OK;
    bool literal = false;
    while (!status && parser->next < parser->argc) {
        const char *text = parser->argv[parser->next];
        bool dashes = !literal && strcmp(text, "--") == 0;
        if (dashes || parser->next == parser->command_at) {
            literal |= dashes;
            parser->next++;
        } else if (!literal && text[0] == '-' && text[1]) {
            status = parse_option(parser);
        } else if (options->argument_count == bd_max_arguments) {
            status =
                bd_fail(BD_ERROR_ARGUMENT, "%s: more than %d arguments", text, bd_max_arguments);
        } else {
            options->arguments[options->argument_count++] = text;
            parser->next++;
        }
    }
    return status;
}

static enum bd_status check(const struct parser *parser)
{
    struct bd_options *options = parser->options;
    if (options->help || options->command == BD_COMMAND_VERSION) {
        /* plain `backdrop --help` is about the program, `backdrop view --help` about view */
        if (options->help && !parser->command_at)
            options->command = BD_COMMAND_HELP;
        return BD_OK;
    }
    enum bd_status status = check_arguments(parser);
    if (!status)
        status = check_solver(parser);
    if (!status)
        status = check_start(options);
    return status ? status : choose_device(options);
}

enum bd_status bd_options_parse(struct bd_options *options, int argc, char **argv)
{
    enum bd_status status = prepare(options, argc, argv);
    if (status)
        return status;
    struct parser parser = { options, bd_command_get(BD_COMMAND_VIEW), argv, argc, 1, 0, NULL };
    parser.command_at = find_command(argc, argv);
    if (parser.command_at)
        parser.command = bd_command_find(argv[parser.command_at]);
    options->command = parser.command->command;
    status = parse_words(&parser);
    if (!status)
        status = check(&parser);
    /* What does not suit view was perhaps not meant for it. */
    const char *first = options->argument_count ? options->arguments[0] : NULL;
    if (status && !parser.command_at && first && access(first, F_OK) && similar_command(first))
        status = fail_command(first);
    return status;
}

void bd_options_release(struct bd_options *options)
{
    free(options->storage);
    *options = (struct bd_options){ 0 };
}
