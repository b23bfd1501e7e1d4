/* Each call of the program that can fail does so once, in a run of its own: memory, threads, files,
 * FFmpeg, the window. The run ends with one line on stderr and a status that is documented; what it
 * has written plays. The program is backdrop_faults, whose wrappers do it (README.md).
 *   BD_FAULTS=N     N calls of each place in the code instead of two, and a line for each run
 *   BD_FAULTS=all   every call of every command */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pool.h"
#include "tests/app/eval_fixture.h"
#include "tests/support/quick.h"
#include "tests/support/scratch.h"
#include "video/input/reader.h"

enum {
    outputs_most = 8,
    sites_most = 500,
    slots_most = 8,
    patience = 120, /* seconds; a healthy run under a sanitizer on a busy machine takes some */
    absent = -1,
    broken = -2
};

/* A run of the program in an empty folder beside `in`, which holds what it reads. */
struct scenario {
    const char *arguments; /* of the shell, behind the program */
    const char *outputs[outputs_most];
    bool replaces; /* the outputs are there before, as pictures of another film */
    bool half;     /* outputs may be there after a failure to start */
    bool several;  /* each thing that fails has a line, and is listed in the JSON */
};

static const struct scenario scenarios[] = {
    { "export ../in/film.mp4 -q --threads 2 --roi ../in/seq/ROI.bmp --mask m.mkv --foreground "
      "f.mov "
      "--background b.mp4 --overlay o.avi --plate p.png --events e.csv --contact-sheet c.jpg",
      { "m.mkv", "f.mov", "b.mp4", "o.avi", "p.png", "e.csv", "c.jpg" },
      false,
      false,
      false },
    { "export - -q --threads 2 --start-delay 0.2 --mask m%02d.png --events e.json "
      "--tracks t.csv --line g=30,20,30,0 --boxes --overlay o.avi <../in/film.mkv",
      { "m%02d.png", "e.json", "t.csv", "o.avi" },
      false,
      false,
      false },
    { "export ../in/seq/input/in%06d.png -q -y --threads 2 --frames 12 --solver batch --window 4 "
      "--foreground f.mp4 --plate p.png",
      { "f.mp4", "p.png" },
      true,
      false,
      false },
    { "export ../in/film.mp4 -q --threads 2 --start 0.2 --stabilise on --mask m.mkv",
      { "m.mkv" },
      false,
      false,
      false },
    { "export ../in/moving.mp4 -q --threads 2 --min-event-length 0 --clips .",
      { "moving.0001.mp4", "moving.0001.jpg" },
      false,
      false,
      false },
    { "export - -q --threads 2 --min-event-length 0 --clips . --boxes <../in/moving.mkv",
      { "stdin.0001.mp4", "stdin.0001.jpg" },
      false,
      false,
      false },
    { "export ../in/moving.mp4 -q --threads 2 --min-event-length 0 --scan-only",
      { NULL },
      false,
      false,
      false },
    { "export ../in/moving.mp4 ../in/moving.mkv --join -q --threads 2 --frames 30 --heatmap h.png "
      "--tracks t.csv",
      { "h.png", "t.csv" },
      false,
      false,
      false },
    { "export ../in/moving.mp4 ../in/film.mkv -o . -q --threads 2 --jobs 2 --mask m.mkv",
      { "moving.m.mkv", "film.m.mkv" },
      false,
      false,
      true },
    { "export ../in/moving.mp4 -q --threads 2 --min-event-length 0 --synopsis s.mkv",
      { "s.mkv" },
      false,
      false,
      false },
    { "export synth:shake -q --threads 2 --frames 2 --scale 64x48 --plate p.png",
      { "p.png" },
      false,
      false,
      false },
    { "eval ../in/seq -q --threads 2 --compare ../in/peer --json j.json --contact-sheet c.png "
      "--masks masks",
      { "j.json", "c.png", "masks/seq/bin%06d.png" },
      false,
      true,
      true },
    { "info", { NULL }, false, false, false },
    { "view ../in/film.mp4 -q --threads 2 --frames 4 --screenshot s.png",
      { "s.png" },
      false,
      true,
      false },
};

/* What a run left: its exit status, or 1000 + the signal that ended it; its lines; of each output
 * how many pictures or lines it has, or absent or broken. */
struct outcome {
    int status;
    char said[2000];
    int lines_out;
    int sizes[outputs_most];
    char leftover[300]; /* the name of a part that stayed; "": none */
};

/* What is made to fail: call `number` of a site, or writing beyond so many bytes of a file. */
struct fault {
    char site[100]; /* "": the size of files */
    int number;
};

struct slot {
    char folder[100];
    pid_t child;
    int out, err; /* ends of pipes to read from */
    struct fault fault;
};

struct tally {
    int sites, faults, missed, wrong;
};

static char program[PATH_MAX];
static char covered[sites_most][100]; /* sites of the scenarios before */
static int covered_count;

/* How many calls of each site fail, the first and the last among them; at least 2. */
static int calls_wanted(void)
{
    const char *wanted = getenv("BD_FAULTS");
    if (wanted && strcmp(wanted, "all") == 0)
        return INT_MAX;
    return wanted && atoi(wanted) > 1 ? atoi(wanted) : 2;
}

/* --- a run --- */

static void start(struct slot *slot, const struct scenario *scenario, const struct fault *fault)
{
    char command[PATH_MAX + 2000];
    int out[2], err[2];
    slot->fault = *fault;
    snprintf(command, sizeof command, "cd '%s' && exec '%s' %s", slot->folder, program,
             scenario->arguments);
    assert_int_equal(shell("rm -rf '%s' '%s.record' && mkdir '%s' && cd '%s' && %s", slot->folder,
                           slot->folder, slot->folder, slot->folder,
                           scenario->replaces
                               ? "cp ../in/old.mp4 f.mp4 && cp ../in/seq/input/in000001.png p.png"
                               : "true"),
                     0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    slot->child = fork();
    assert_true(slot->child >= 0);
    if (slot->child == 0) {
        char text[200];
        snprintf(text, sizeof text, "%s.record", slot->folder);
        setenv("BD_FAULT_RECORD", text, 1);
        snprintf(text, sizeof text, "%s:%d", fault->site, fault->number);
        setenv("BD_FAULT", text, 1);
        setenv("SDL_VIDEODRIVER", "dummy", 1);
        struct rlimit limit = { (rlim_t)fault->number, (rlim_t)fault->number };
        if (!*fault->site && fault->number)
            setrlimit(RLIMIT_FSIZE, &limit);
        alarm(patience); /* a run that hangs ends with this signal */
        dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    close(err[1]);
    slot->out = out[0];
    slot->err = err[0];
}

/* The number of bytes '\n' in what comes; the beginning of that goes to `text`. */
static int take_lines(int file, char *text, size_t size)
{
    char block[4096];
    size_t used = 0;
    int lines = 0;
    for (ssize_t got; (got = read(file, block, sizeof block)) > 0;)
        for (ssize_t i = 0; i < got; i++) {
            lines += block[i] == '\n';
            if (used + 1 < size)
                text[used++] = block[i];
        }
    text[used] = 0;
    close(file);
    return lines;
}

static int measure_film(const char *path)
{
    const struct bd_reader_options options = { .format = BD_RGB24, .threads = 1 };
    struct bd_reader *reader = NULL;
    struct bd_frame frame = { 0 };
    int count = 0;
    enum bd_status status = bd_reader_open(&reader, path, &options);
    while (!status && !(status = bd_reader_read(reader, &frame)))
        count++;
    bd_frame_destroy(&frame);
    bd_reader_close(&reader);
    return status == BD_END && count > 0 ? count : broken;
}

static int measure_pictures(const char *pattern)
{
    int count = 0;
    for (int number = 1;; number++) {
        char path[300];
        struct bd_frame picture = { 0 };
        snprintf(path, sizeof path, pattern,
                 number); /* NOLINT(clang-diagnostic-format-nonliteral) */
        if (access(path, F_OK) != 0)
            return count ? count : absent;
        enum bd_status status = bd_picture_read(path, BD_RGB24, &picture);
        bd_frame_destroy(&picture);
        if (status)
            return broken;
        count++;
    }
}

static int measure_text(const char *path)
{
    char text[8192];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    return file < 0 ? absent : take_lines(file, text, sizeof text);
}

static int measure(const char *folder, const char *name)
{
    char path[300];
    const char *end = strrchr(name, '.');
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (strcmp(end, ".csv") == 0 || strcmp(end, ".json") == 0)
        return measure_text(path);
    if (strchr(name, '%'))
        return measure_pictures(path);
    if (access(path, F_OK) != 0)
        return absent;
    if (strcmp(end, ".png") != 0 && strcmp(end, ".jpg") != 0)
        return measure_film(path);
    struct bd_frame picture = { 0 };
    enum bd_status status = bd_picture_read(path, BD_RGB24, &picture);
    bd_frame_destroy(&picture);
    return status ? broken : 1;
}

static void look_for_parts(const char *folder, char *name, size_t size)
{
    DIR *files = opendir(folder);
    assert_non_null(files);
    for (const struct dirent *entry; (entry = readdir(files));)
        if (strstr(entry->d_name, ".part"))
            snprintf(name, size, "%s", entry->d_name);
    closedir(files);
}

/* Waits for the run and looks at what it left. */
static struct outcome finish(struct slot *slot, const struct scenario *scenario)
{
    struct outcome outcome = { 0 };
    char text[8];
    int status = 0;
    outcome.lines_out = take_lines(slot->out, text, sizeof text);
    take_lines(slot->err, outcome.said, sizeof outcome.said);
    assert_int_equal(waitpid(slot->child, &status, 0), slot->child);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    for (int i = 0; i < outputs_most && scenario->outputs[i]; i++)
        outcome.sizes[i] = measure(slot->folder, scenario->outputs[i]);
    look_for_parts(slot->folder, outcome.leftover, sizeof outcome.leftover);
    return outcome;
}

/* --- what is right --- */

/* Whether `said` is one line, or `several`, each with the name of the program. */
static bool are_lines(const char *said, bool several)
{
    const char *end = strchr(said, '\n');
    bool begins = strncmp(said, "backdrop: ", 10) == 0 && end;
    return begins && (end[1] == 0 || (several && are_lines(end + 1, true)));
}

/* What is wrong with the outcome; NULL: nothing. */
static const char *judge(const struct scenario *scenario, const struct outcome *good,
                         const struct outcome *got, const struct fault *fault)
{
    const char *part = got->leftover;
    bool cannot_remove = strncmp(fault->site, "unlink", 6) == 0;
    /* A warning, which -q keeps back, names what is not whole. */
    bool keeps_parts = scenario->replaces || strstr(scenario->arguments, "--clips ");
    if (got->status > 3)
        return got->status == 1000 + SIGALRM ? "does not end" : "no documented status";
    if (got->status == 0 && *got->said)
        return "status 0, and a line with -q";
    if (got->status != 0 && !are_lines(got->said, scenario->several))
        return "not one line on stderr";
    if (got->status != 0 && strncmp(fault->site, "sws_", 4) == 0 && !strstr(got->said, "memory"))
        return "not told that memory ran out";
    if (got->status == 0 && got->lines_out != good->lines_out)
        return "status 0, but stdout lacks lines";
    for (int i = 0; i < outputs_most && scenario->outputs[i]; i++) {
        int size = got->sizes[i], whole = good->sizes[i], before = scenario->replaces ? 1 : absent;
        if (size == broken)
            return "an output cannot be played";
        if (got->status == 0 && size != whole)
            return "status 0, but an output is not whole";
        if (got->status < 3 && got->status && size != before && !scenario->half)
            return "it did not start, but there is an output";
        /* An input that breaks off has given all that it has. */
        if (scenario->replaces && size != before && size != whole &&
            !strstr(got->said, "broke off"))
            return "half an output has replaced the old one";
        if (size > whole && !(scenario->several && strstr(scenario->outputs[i], ".json")))
            return "an output has more than there was";
    }
    if (*part && !cannot_remove && !(keeps_parts && got->status == 3) && !strstr(got->said, part))
        return "a part stays that no line names";
    return NULL;
}

/* --- all faults of a scenario --- */

static bool is_covered(const char *site)
{
    for (int i = 0; i < covered_count; i++)
        if (strcmp(covered[i], site) == 0)
            return true;
    return false;
}

/* Whether the record of the run has this call. */
static bool has_happened(const struct slot *slot)
{
    char path[200], site[100];
    int calls;
    snprintf(path, sizeof path, "%s.record", slot->folder);
    FILE *record = fopen(path, "r");
    bool found = !*slot->fault.site;
    while (record && !found && fscanf(record, "%99s %d", site, &calls) == 2)
        found = strcmp(site, slot->fault.site) == 0 && calls >= slot->fault.number;
    if (record)
        fclose(record);
    return found;
}

static void check(struct slot *slot, const struct scenario *scenario, const struct outcome *good,
                  struct tally *tally)
{
    struct outcome got = finish(slot, scenario);
    slot->child = 0;
    const char *wrong = judge(scenario, good, &got, &slot->fault);
    if (!has_happened(slot))
        tally->missed += !wrong; /* threads: this run made fewer calls */
    tally->faults++;
    tally->wrong += wrong != NULL;
    if (!wrong && !getenv("BD_FAULTS"))
        return;
    print_message("%s BD_FAULT=%s:%d %.12s ...: status %d%s%s: %s", wrong ? "WRONG" : "right",
                  *slot->fault.site ? slot->fault.site : "size", slot->fault.number,
                  scenario->arguments, got.status, wrong ? ", " : "", wrong ? wrong : "",
                  *got.said ? got.said : "\n");
}

struct crew {
    struct slot slots[slots_most];
    int count, next;
};

static void make_crew(struct crew *crew)
{
    *crew = (struct crew){ .count = 2 * bd_pool_cores() };
    crew->count = crew->count < slots_most ? crew->count : slots_most;
    for (int i = 0; i < crew->count; i++)
        snprintf(crew->slots[i].folder, sizeof crew->slots[i].folder, "%s/run%d", scratch, i);
}

/* Starts a run; checks the one that had its slot before. `fault` NULL: checks the last ones. */
static void go_on(struct crew *crew, const struct scenario *scenario, const struct outcome *good,
                  const struct fault *fault, struct tally *tally)
{
    for (int i = 0; i < (fault ? 1 : crew->count); i++) {
        struct slot *slot = &crew->slots[crew->next++ % crew->count];
        if (slot->child)
            check(slot, scenario, good, tally);
        if (fault)
            start(slot, scenario, fault);
    }
}

static struct outcome run_well(struct crew *crew, const struct scenario *scenario)
{
    const struct fault none = { .site = "" };
    start(&crew->slots[0], scenario, &none);
    struct outcome good = finish(&crew->slots[0], scenario);
    crew->slots[0].child = 0;
    assert_string_equal(good.said, "");
    assert_int_equal(good.status, 0);
    assert_string_equal(good.leftover, "");
    for (int i = 0; i < outputs_most && scenario->outputs[i]; i++)
        assert_true(good.sizes[i] > 0);
    return good;
}

static void report(const struct scenario *scenario, const struct tally *tally)
{
    print_message("%.40s: %d sites, %d faults, %d did not happen, %d wrong\n", scenario->arguments,
                  tally->sites, tally->faults, tally->missed, tally->wrong);
    assert_true(tally->faults > 0);
    assert_int_equal(tally->wrong, 0);
}

static void test_scenario(void **state)
{
    const struct scenario *scenario = *state;
    struct fault sites[sites_most];
    struct tally tally = { 0 };
    struct crew crew;
    char path[200];
    const int wanted = calls_wanted();
    int turn = 0;
    make_crew(&crew);
    const struct outcome good = run_well(&crew, scenario);
    snprintf(path, sizeof path, "%s.record", crew.slots[0].folder);
    FILE *record = fopen(path, "r");
    assert_non_null(record);
    while (tally.sites < sites_most &&
           fscanf(record, "%99s %d", sites[tally.sites].site, &sites[tally.sites].number) == 2)
        tally.sites++;
    fclose(record);
    for (int i = 0; i < tally.sites; i++) {
        struct fault fault = sites[i];
        if (wanted < INT_MAX && is_covered(fault.site))
            continue;
        int calls = fault.number, step = wanted < calls ? (calls - 1) / (wanted - 1) : 1;
        for (fault.number = 1; fault.number <= calls; fault.number += step)
            if (!test_quick() || turn++ % 8 == 0)
                go_on(&crew, scenario, &good, &fault, &tally);
        if (covered_count < sites_most)
            snprintf(covered[covered_count++], sizeof covered[0], "%s", fault.site);
    }
    go_on(&crew, scenario, &good, NULL, &tally);
    report(scenario, &tally);
}

/* No file can be larger than so many bytes: each output ends at its beginning, in its middle and
 * before its last byte. */
static void test_full_disk(void **state)
{
    (void)state;
    struct tally tally = { 0 };
    struct crew crew;
    make_crew(&crew);
    for (int s = 0; s < 3; s++) {
        const struct scenario *scenario = &scenarios[s];
        const struct outcome good = run_well(&crew, scenario);
        int sizes[outputs_most] = { 0 };
        for (int i = 0; i < outputs_most && scenario->outputs[i]; i++) {
            char name[100], path[300];
            struct stat about;
            snprintf(name, sizeof name, scenario->outputs[i], 1);
            snprintf(path, sizeof path, "%s/%s", crew.slots[0].folder, name);
            assert_int_equal(stat(path, &about), 0);
            sizes[i] = (int)about.st_size;
        }
        for (int i = 0; sizes[i]; i++)
            for (int part = 0; part < 3; part++) {
                struct fault fault = { .number = part == 0   ? 1
                                                 : part == 1 ? sizes[i] / 2
                                                             : sizes[i] - 1 };
                go_on(&crew, scenario, &good, &fault, &tally);
            }
        go_on(&crew, scenario, &good, NULL, &tally);
    }
    report(&(struct scenario){ .arguments = "size of files" }, &tally);
}

static int make_inputs(void **state)
{
    char path[200];
    const char *given = getenv("BACKDROP_FAULTS");
    if (!given || !realpath(given, program) || create_scratch(state))
        return -1;
    snprintf(path, sizeof path, "%s/in/seq", scratch);
    if (shell("mkdir -p in/seq"))
        return -1;
    write_sequence(path, 1);
    write_text(path, "temporalROI.txt", "1 40");
    write_roi(path);
    return shell("cd in && P='%s export "
                 "seq/input/in%%06d.png -q' && "
                 "$P --frames 12 --overlay film.mp4 && $P --frames 12 --overlay film.mkv && "
                 "$P --frames 1 --overlay old.mp4 && %s eval seq -q --masks peer >/dev/null && "
                 "for i in mp4 mkv; do %s export 'synth:easy?size=160x120&frames=20' -q --overlay "
                 "moving.$i || exit 1; done",
                 program, program, program);
}

int main(void)
{
    enum { count = sizeof scenarios / sizeof *scenarios };
    struct CMUnitTest tests[count + 1] = { cmocka_unit_test(test_full_disk) };
    for (int i = 0; i < count; i++)
        tests[1 + i] = (struct CMUnitTest){ scenarios[i].arguments, test_scenario, NULL, NULL,
                                            (void *)(uintptr_t)&scenarios[i] };
    return cmocka_run_group_tests(tests, make_inputs, remove_scratch);
}
