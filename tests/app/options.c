/* The option table: every error and its line, every kind of value, and the help made from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "app/option_table.h"

enum { most_words = 4100 };

/* Splits `line` at spaces and parses it as the arguments of backdrop. `storage` keeps the words. */
static enum bd_status parse(struct bd_options *options, char *storage, const char *line)
{
    static char program[] = "backdrop";
    char *words[most_words + 1] = { program };
    int count = 1;
    memcpy(storage, line, strlen(line) + 1);
    char *rest = NULL;
    for (char *word = strtok_r(storage, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    return bd_options_parse(options, count, words);
}

static void refuses(const char *line, const char *detail)
{
    struct bd_options options;
    char storage[512];
    enum bd_status status = parse(&options, storage, line);
    if (status != BD_ERROR_ARGUMENT)
        print_error("accepted: %s\n", line);
    assert_int_equal(status, BD_ERROR_ARGUMENT);
    assert_string_equal(bd_error_detail(), detail);
    bd_options_release(&options);
}

static void errors_are_one_clear_line(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        { "", "INPUT missing: backdrop view INPUT; see backdrop --help" },
        { "eval", "DIR missing: backdrop eval DIR... [--json F]; see backdrop --help" },
        { "a.mp4 b.mp4", "b.mp4: one argument too many; backdrop view INPUT" },
        { "info now", "now: one argument too many; backdrop info " },
        { "help me", "me: no such command; see backdrop --help" },
        { "help exprot", "exprot: no such command; did you mean export?" },
        { "exprot a.mp4", "exprot: no such command; did you mean export?" },
        { "exprot --mask m.mkv a.mp4", "exprot: no such command; did you mean export?" },
        { "-q veiw a.mp4", "veiw: no such command; did you mean view?" },
        { "--threads 2 eval", "DIR missing: backdrop eval DIR... [--json F]; see backdrop --help" },
        { "--threads export --mask m.mkv a.mp4",
          "--threads export: must be a whole number, 0..1024" },
        { "a.mp4 --windw 3", "--windw: unknown option; did you mean --window?" },
        { "a.mp4 --thresh=3", "--thresh=3: unknown option; did you mean --threshold?" },
        { "a.mp4 --zzzzzzzzz", "--zzzzzzzzz: unknown option; see backdrop view --help" },
        { "a.mp4 -x", "-x: unknown option; see backdrop view --help" },
        { "a.mp4 --window", "--window: its value N is missing" },
        { "a.mp4 --window --quiet", "--window: its value N is missing" },
        { "a.mp4 --window 1", "--window 1: must be 2..1000" },
        { "a.mp4 --window 1001", "--window 1001: must be 2..1000" },
        { "a.mp4 --window 99999999999999999999", "--window 99999999999999999999: must be 2..1000" },
        { "a.mp4 --window 3.5", "--window 3.5: must be a whole number, 2..1000" },
        { "a.mp4 --window=", "--window : must be a whole number, 2..1000" },
        { "a.mp4 --median 4", "--median 4: must be odd, 1..15" },
        { "a.mp4 --memory 0", "--memory 0: must be 0.1..86400" },
        { "a.mp4 --memory nan", "--memory nan: must be a number, 0.1..86400" },
        { "a.mp4 --lambda ten", "--lambda ten: must be a number, 0.1..255" },
        { "a.mp4 --lambda 1:30", "--lambda 1:30: must be a number, 0.1..255" },
        { "a.mp4 --refine often", "--refine often: must be auto, or a whole number, 0..100" },
        { "a.mp4 --refine 101", "--refine 101: must be auto, or 0..100" },
        { "a.mp4 --window auto", "--window auto: must be a whole number, 2..1000" },
        { "a.mp4 --start -5", "--start -5: must be 0..10000000" },
        { "a.mp4 --start 1:99", "--start 1:99: must be seconds or [HH:]MM:SS, 0..10000000" },
        { "a.mp4 --start 1:1:1:1", "--start 1:1:1:1: must be seconds or [HH:]MM:SS, 0..10000000" },
        { "a.mp4 --backend gpu", "--backend gpu: must be one of auto, cpu, cuda" },
        { "a.mp4 --color blue", "--color blue: must be one of gray, rgb" },
        { "a.mp4 --solver", "--solver: its value NAME is missing" },
        { "a.mp4 --scale 640", "--scale 640: must be WxH, as in 640x480" },
        { "a.mp4 --scale 640x480x3", "--scale 640x480x3: must be WxH, as in 640x480" },
        { "a.mp4 --scale 640x-2", "--scale 640x-2: must be WxH, as in 640x480" },
        { "a.mp4 --scale 8x99999", "--scale 8x99999: must be width and height 16..16384" },
        { "a.mp4 --input-option rate", "--input-option rate: must be KEY=VALUE" },
        { "a.mp4 --input-option =25", "--input-option =25: must be KEY=VALUE" },
        { "a.mp4 --quiet=yes", "--quiet: takes no value" },
        { "export a.mp4 --mask=", "--mask: its value is empty" },
        { "a.mp4 --mask m.mkv", "--mask: not an option of view; it belongs to export" },
        { "a.mp4 --json f", "--json: not an option of view; it belongs to export" },
        { "a.mp4 --solver batch --memory 9",
          "--memory: belongs to --solver live; the batch solver has none" },
        { "export a.mp4 --lambda=9 --solver batch",
          "--lambda: belongs to --solver live; the batch solver has none" },
        { "eval d --rank 2 --solver batch --refine 1",
          "--rank: belongs to --solver live; the batch solver has none" },
        { "eval d --refine 1 --solver batch",
          "--refine: belongs to --solver live; the batch solver has none" },
        { "eval d --live --solver batch",
          "--live: belongs to --solver live; the batch solver has none" },
        { "eval d --live=yes", "--live: takes no value" },
        { "export a.mp4 --live", "--live: not an option of export; it belongs to eval" },
        { "eval d --start-delay 5", "--start-delay: belongs to --live; a look-ahead has none" },
        { "eval d --live --start-delay 61", "--start-delay 61: must be 0..60" },
        { "export a.mp4 --start-delay 5 --solver batch",
          "--start-delay: belongs to --solver live; the batch solver has none" },
        { "export a.mp4 --min-event-length -1", "--min-event-length -1: must be 0..3600" },
        { "export a.mp4 --merge-window x", "--merge-window x: must be a number, 0..3600" },
        { "export a.mp4 --time-post-event 4000", "--time-post-event 4000: must be 0..3600" },
        { "export a.mp4 --line=", "--line: its value is empty" },
        { "a.mp4 --zone z=1,2,3,4,5,6", "--zone: not an option of view; it belongs to export" },
        { "a.mp4 --start-delay 5", "--start-delay: not an option of view; it belongs to export" },
        { "bench --memory 3", "--memory: not an option of bench; it belongs to view" },
        { "a.mp4 --steady maybe", "--stabilise maybe: must be one of auto, on, off" },
        { "a.mp4 --stabilize", "--stabilise: its value WHEN is missing" },
        { "a.mp4 --against d", "--compare: not an option of view; it belongs to eval" },
        { "a.mp4 --device", "--device: its value N is missing" },
        { "a.mp4 --device -1", "--device -1: must be 0..1023" },
        { "a.mp4 --device cuda", "--device cuda: must be a whole number, 0..1023" },
        { "a.mp4 --device 0 --backend cpu",
          "--device: chooses a GPU, and --backend cpu uses none" },
        { "bench --backend cpu --device=1",
          "--device: chooses a GPU, and --backend cpu uses none" },
        { "info --device 1", "--device: not an option of info; it belongs to view" },
        { "a.mp4 --codec h264", "--codec: not an option of view; it belongs to export" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refuses(rows[i][0], rows[i][1]);
}

static void values_arrive(void **state)
{
    (void)state;
    struct bd_options o;
    char storage[1024];
    assert_int_equal(parse(&o, storage,
                           "export in.mp4 --mask m.mkv --window=80 --memory 12.5 --median 7 "
                           "--color gray --scale 320x240 --solver live --start 1:02:03.5 "
                           "--input-option framerate=30 --input-option video_size=640x480 "
                           "--progress none -y -q --roi=r.png --threads 2 --noise-gain 0 "
                           "--start-delay 0"),
                     BD_OK);
    assert_int_equal(o.command, BD_COMMAND_EXPORT);
    assert_int_equal(o.argument_count, 1);
    assert_string_equal(o.arguments[0], "in.mp4");
    assert_string_equal(o.mask, "m.mkv");
    assert_int_equal(o.separator.window, 80);
    assert_true(o.separator.memory == 12.5);
    assert_true(o.separator.noise_gain == BD_NONE);
    assert_true(bd_start_delay(&o) == 0);
    assert_int_equal(o.separator.median, 7);
    assert_int_equal(o.separator.min_area, 0);
    assert_true(o.gray);
    assert_int_equal(o.scale_width, 320);
    assert_int_equal(o.scale_height, 240);
    assert_int_equal(o.solver, BD_SOLVER_LIVE);
    assert_true(o.start == 3723.5);
    assert_int_equal(o.input_option_count, 2);
    assert_string_equal(o.input_options[0].key, "framerate");
    assert_string_equal(o.input_options[0].value, "30");
    assert_string_equal(o.input_options[1].key, "video_size");
    assert_int_equal(o.progress, BD_PROGRESS_NONE);
    assert_int_equal(o.overwrite, BD_OVERWRITE_YES);
    assert_true(o.quiet);
    assert_int_equal(o.threads, 2);
    bd_options_release(&o);
    assert_null(o.storage);
    assert_int_equal(parse(&o, storage,
                           "in.mp4 --solver batch --window 30 --threshold 25 --noise-gain 3 "
                           "--median 3 --min-area 9 --max-hole 9"),
                     BD_OK);
    assert_int_equal(o.solver, BD_SOLVER_BATCH);
    assert_true(bd_start_delay(&o) == 10);
    bd_options_release(&o);
}

/* "auto" is the default, and not the 0 that means none. */
static void refinements_arrive(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int refine;
        const char *renewal;
    } rows[] = {
        { "in.mp4", 0, "drift" },
        { "in.mp4 --refine 3 --refine auto", 0, "drift" },
        { "in.mp4 --refine 0", BD_NONE, "none" },
        { "in.mp4 --refine=2", 2, "slide" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bd_options o;
        char storage[256];
        assert_int_equal(parse(&o, storage, rows[i].line), BD_OK);
        assert_int_equal(o.separator.refine, rows[i].refine);
        assert_string_equal(bd_renewal_name(o.separator.refine), rows[i].renewal);
        bd_options_release(&o);
    }
}

/* Spellings of earlier versions stay, and mean the same. */
static void aliases_are_accepted(void **state)
{
    (void)state;
    struct bd_options o;
    char storage[256];
    static const char *const spellings[] = { "stabilise", "stabilize", "steady" };
    for (size_t i = 0; i < 3; i++) {
        char line[64];
        snprintf(line, sizeof line, i == 1 ? "in.mp4 --%s=off" : "in.mp4 --%s off", spellings[i]);
        assert_int_equal(parse(&o, storage, line), BD_OK);
        assert_int_equal(o.stabilise, 2);
        bd_options_release(&o);
    }
    assert_int_equal(parse(&o, storage, "eval d --compare a --against b --against=c"), BD_OK);
    assert_int_equal(o.compare.count, 3);
    assert_string_equal(o.compare.items[1], "b");
    assert_string_equal(o.compare.items[2], "c");
    bd_options_release(&o);
}

static void events_lines_and_zones_arrive(void **state)
{
    (void)state;
    struct bd_options o;
    char storage[256];
    assert_int_equal(parse(&o, storage,
                           "export a.mp4 --events - --line a=1,2,3,4 --zone=z=1,2,3,4,5,6 "
                           "--line b=1,2,3,4 --merge-window 0 --time-post-event 3"),
                     BD_OK);
    assert_string_equal(o.events, "-");
    assert_int_equal(o.lines.count, 2);
    assert_string_equal(o.lines.items[1], "b=1,2,3,4");
    assert_int_equal(o.zones.count, 1);
    assert_string_equal(o.zones.items[0], "z=1,2,3,4,5,6");
    assert_true(bd_min_event_length(&o) == .1 && bd_time_before_event(&o) == 1.5);
    assert_true(bd_time_post_event(&o) == 3 && bd_merge_window(&o) == 0);
    bd_options_release(&o);
}

/* The name of the backend says the device, for all commands. */
static void the_device_is_part_of_the_backend(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        { "in.mp4 --device 0", "cuda:0" },
        { "export in.mp4 --device 1 --backend auto", "cuda:1" },
        { "eval d --backend cuda --device=1023", "cuda:1023" },
        { "bench --device 2 --backend cuda", "cuda:2" },
        { "bench --backend cuda", "cuda" },
        { "in.mp4 --device 3 --input-option a=b --input-option c=d", "cuda:3" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bd_options o;
        char storage[256];
        assert_int_equal(parse(&o, storage, rows[i][0]), BD_OK);
        assert_string_equal(o.backend, rows[i][1]);
        if (o.input_option_count) {
            assert_string_equal(o.input_options[0].key, "a");
            assert_string_equal(o.input_options[1].key, "c");
        }
        bd_options_release(&o);
    }
}

static void commands_are_recognised(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum bd_command command;
        bool help;
        int arguments;
    } rows[] = {
        { "in.mp4", BD_COMMAND_VIEW, false, 1 },
        { "--quiet in.mp4", BD_COMMAND_VIEW, false, 1 },
        { "view in.mp4", BD_COMMAND_VIEW, false, 1 },
        { "./export", BD_COMMAND_VIEW, false, 1 },
        { "view -- --odd-name.mp4", BD_COMMAND_VIEW, false, 1 },
        { "-", BD_COMMAND_VIEW, false, 1 },
        { "eval a b c", BD_COMMAND_EVAL, false, 3 },
        { "bench", BD_COMMAND_BENCH, false, 0 },
        { "bench qr svd --quick", BD_COMMAND_BENCH, false, 2 },
        { "info", BD_COMMAND_INFO, false, 0 },
        { "-v info", BD_COMMAND_INFO, false, 0 },
        { "-v export in.mp4", BD_COMMAND_EXPORT, false, 1 },
        { "--mask m.mkv --threads=2 export in.mp4", BD_COMMAND_EXPORT, false, 1 },
        { "--pane input view in.mp4", BD_COMMAND_VIEW, false, 1 },
        { "-- export", BD_COMMAND_VIEW, false, 1 },
        { "exprot", BD_COMMAND_VIEW, false, 1 },
        { "--help export", BD_COMMAND_EXPORT, true, 0 },
        { "--help", BD_COMMAND_HELP, true, 0 },
        { "help", BD_COMMAND_HELP, false, 0 },
        { "help export", BD_COMMAND_HELP, false, 1 },
        { "view -h", BD_COMMAND_VIEW, true, 0 },
        { "export --help", BD_COMMAND_EXPORT, true, 0 },
        { "--version", BD_COMMAND_VERSION, false, 0 },
        { "version", BD_COMMAND_VERSION, false, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bd_options options;
        char storage[256];
        assert_int_equal(parse(&options, storage, rows[i].line), BD_OK);
        assert_int_equal(options.command, rows[i].command);
        assert_int_equal(options.help, rows[i].help);
        assert_int_equal(options.argument_count, rows[i].arguments);
        bd_options_release(&options);
    }
}

static void too_many_are_refused(void **state)
{
    (void)state;
    static char program[] = "backdrop", eval[] = "eval", folder[] = "d";
    static char option[] = "--input-option=a=b", input[] = "in.mp4";
    char *words[most_words] = { program, eval };
    struct bd_options options;
    for (int i = 2; i < most_words; i++)
        words[i] = folder;
    assert_int_equal(bd_options_parse(&options, most_words, words), BD_ERROR_ARGUMENT);
    assert_string_equal(bd_error_detail(), "d: more than 4096 arguments");
    bd_options_release(&options);
    words[1] = input;
    for (int i = 2; i < most_words; i++)
        words[i] = option;
    assert_int_equal(bd_options_parse(&options, most_words, words), BD_ERROR_ARGUMENT);
    assert_string_equal(bd_error_detail(), "--input-option a=b: more than 64 of them");
    bd_options_release(&options);
}

/* Names are unique, belong to some command, and ranges make sense. */
static void the_table_is_sound(void **state)
{
    (void)state;
    for (const struct bd_option *a = bd_option_table; a->name; a++) {
        assert_true(a->commands != 0);
        assert_non_null(a->help);
        assert_true(a->offset < sizeof(struct bd_options));
        for (const struct bd_option *b = a + 1; b->name; b++) {
            assert_string_not_equal(a->name, b->name);
            assert_false(a->letter && a->letter == b->letter);
        }
        for (const struct bd_option_alias *other = bd_option_aliases; other->alias; other++)
            assert_string_not_equal(a->name, other->alias);
    }
    for (const struct bd_option_alias *other = bd_option_aliases; other->alias; other++) {
        const struct bd_option *option = bd_option_table;
        while (option->name && strcmp(option->name, other->name) != 0)
            option++;
        assert_non_null(option->name);
        for (const struct bd_option_alias *next = other + 1; next->alias; next++)
            assert_string_not_equal(next->alias, other->alias);
    }
}

static void help_lists_every_option_with_its_range(void **state)
{
    (void)state;
    for (const struct bd_command_row *row = bd_command_table; row->name; row++) {
        char *text = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&text, &size);
        assert_non_null(file);
        bd_options_help(file, row->command);
        fclose(file);
        assert_true(size > 0);
        for (const struct bd_option *option = bd_option_table; option->name; option++) {
            char name[64];
            snprintf(name, sizeof name, "--%s ", option->name);
            bool listed = strstr(text, name) != NULL;
            bool about_options = row->command < BD_COMMAND_HELP;
            if (about_options)
                assert_int_equal(listed, (option->commands >> row->command & 1) != 0);
        }
        if (row->command == BD_COMMAND_EXPORT) {
            assert_non_null(strstr(text, "(2..1000; default 50)"));
            assert_non_null(strstr(text, "(gray|rgb; default rgb)"));
            assert_non_null(strstr(text, "(1..8; default 1; live solver only)"));
        }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_one_clear_line),
        cmocka_unit_test(values_arrive),
        cmocka_unit_test(refinements_arrive),
        cmocka_unit_test(aliases_are_accepted),
        cmocka_unit_test(events_lines_and_zones_arrive),
        cmocka_unit_test(the_device_is_part_of_the_backend),
        cmocka_unit_test(commands_are_recognised),
        cmocka_unit_test(too_many_are_refused),
        cmocka_unit_test(the_table_is_sound),
        cmocka_unit_test(help_lists_every_option_with_its_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
