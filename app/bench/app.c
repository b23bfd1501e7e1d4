/* The whole program: films are rendered and encoded, and `backdrop export` separates each in a
 * process of its own, from its start to the closed files. Subtractors of OpenCV get the same film
 * in turn. */
#include <math.h>
#include <spawn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/bench/bench.h"
#include "video/output/writer.h"

enum {
    rate = 30,
    batch = 32,
    repeats = 3,
    most_arguments = 40,
    path_size = 96,
    most_drift = 24,
    many_films = 8
};

/* Two minutes long, or of a camera that drifts: for runs that want such a film, and no others. */
enum kind { USUAL, MINUTES, DRIFTS };

struct film {
    int width, height, frames;
    enum kind kind;
};

/* What is done with a film. */
struct run {
    bool full_size;         /* processed as it is; else the size is the program's choice */
    const char *outputs[8]; /* options and names of files in the suite's folder, NULL behind them */
    const char *options[4];
    bool peers; /* OpenCV's subtractors too */
    bool gpu;   /* on a GPU alone */
    enum kind kind;
    bool many; /* many_films copies of the film at once; outputs are the ends of their names */
};

static const struct run runs[] = {
    { .outputs = { "--mask", "mask.mkv" }, .peers = true },
    { .full_size = true, .outputs = { "--mask", "mask.mkv" }, .peers = true },
    { .outputs = { "--mask", "mask.mkv" }, .options = { "--color", "gray" } },
    { .outputs = { "--mask", "mask.mkv" }, .options = { "--hwaccel", "cuda" }, .gpu = true },
    { .outputs = { "--mask", "mask.mkv", "--foreground", "foreground.mov", "--background",
                   "background.mp4", "--overlay", "overlay.mp4" } },
    { .full_size = true, .outputs = { "--mask", "mask.mkv" }, .kind = DRIFTS },
    { .outputs = { "--mask", "mask.mkv" }, .gpu = true, .kind = MINUTES },
    { .outputs = { "--mask", "mask.mkv" },
      .options = { "--hwaccel", "none" },
      .gpu = true,
      .kind = MINUTES },
    { .outputs = { "--events", "events.csv" }, .gpu = true, .kind = MINUTES },
    { .outputs = { "--mask", "mask.mkv" }, .gpu = true, .kind = MINUTES, .many = true },
};

/* What `backdrop export --json` says of a run. */
struct finding {
    double seconds, first_frame_seconds, frame_ms_median, frame_ms_p99, frame_ms_second_half,
        cpu_seconds, peak_rss_mib;
};

struct folder {
    char name[40];
    char film[path_size], json[path_size];
};

/* Where the camera looks in picture `number`, whose sides are 2 * most pixels longer than those of
 * the film. */
static int drift(int number, int most, double seconds)
{
    const double pi = 3.14159265358979;
    return most + (int)lrint(most * sin(2 * pi * number / (seconds * rate)));
}

/* Rendered in batches: on all threads, and in little memory. */
static enum bd_status make_video(struct bd_bench *bench, const char *path, const struct film *film)
{
    struct bd_writer_options options = { .width = film->width,
                                         .height = film->height,
                                         .format = BD_RGB24,
                                         .time_base = { 1, rate },
                                         .frame_rate = { rate, 1 },
                                         .pixel_aspect = { 1, 1 },
                                         .overwrite = true };
    struct bd_writer *writer = NULL;
    const int margin = film->kind == DRIFTS ? most_drift : 0;
    const int width = film->width + 2 * margin, height = film->height + 2 * margin;
    enum bd_status status = bd_writer_open(&writer, path, &options);
    for (int first = 0; first < film->frames && !status; first += batch) {
        int left = film->frames - first, count = left < batch ? left : batch;
        struct bd_bench_scene scene = { width, height, 3, first, count };
        uint8_t *pictures = NULL;
        status = bd_bench_check_interrupt();
        BD_TRY(bd_bench_render(bench, &pictures, &scene));
        for (int i = 0; i < count && !status; i++) {
            struct bd_frame frame = { .width = film->width,
                                      .height = film->height,
                                      .stride = (int64_t)width * 3,
                                      .format = BD_RGB24,
                                      .pts = first + i };
            const int x = drift(first + i, margin, 11), y = drift(first + i, margin, 17);
            frame.data = pictures + ((int64_t)i * height + y) * frame.stride + (int64_t)3 * x;
            status = bd_writer_write(writer, &frame);
        }
        bd_bench_release(bench, NULL);
    }
    enum bd_status closed = bd_writer_close(&writer);
    return status ? status : closed;
}

/* ---- a run of the program ----------------------------------------------------------------------
 */

/* Arguments of a process, NULL behind them, and room for those that are made here. */
struct arguments {
    const char *list[most_arguments];
    int count;
    char made[2 * many_films][path_size];
    int made_count;
};

static void add(struct arguments *arguments, const char *argument)
{
    if (arguments->count < most_arguments - 1)
        arguments->list[arguments->count++] = argument;
}

static void add_path(struct arguments *arguments, const struct folder *folder, const char *name)
{
    char *path = arguments->made[arguments->made_count++];
    snprintf(path, path_size, "%s/%s", folder->name, name);
    add(arguments, path);
}

/* Runs a program to its end. */
static enum bd_status run_process(const char *program, const struct arguments *arguments)
{
    pid_t child;
    int status = 0;
    char *list[most_arguments] = { NULL };
    for (int i = 0; i < arguments->count; i++)
        list[i] = (char *)(uintptr_t)arguments->list[i]; /* posix_spawn leaves them alone */
    if (posix_spawnp(&child, program, NULL, NULL, list, environ))
        return bd_fail(BD_ERROR_IO, "cannot start %s", arguments->list[0]);
    while (waitpid(child, &status, 0) < 0)
        if (bd_bench_check_interrupt())
            return BD_ERROR_INTERRUPTED;
    enum bd_status interrupted = bd_bench_check_interrupt();
    if (interrupted)
        return interrupted;
    return status ? bd_fail(BD_ERROR_IO, "%s %s failed", arguments->list[0], arguments->list[1])
                  : BD_OK;
}

/* The number of that name; -1: there is none. */
static double number_of(const char *json, const char *name)
{
    char key[40];
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *at = strstr(json, key);
    char *end;
    double value = at ? strtod(at + strlen(key), &end) : -1;
    return at && end > at + strlen(key) ? value : -1;
}

static enum bd_status read_finding(struct finding *finding, const char *path)
{
    char json[1024] = "";
    FILE *file = fopen(path, "r");
    if (!file)
        return bd_fail(BD_ERROR_IO, "%s: the run left no figures", path);
    size_t size = fread(json, 1, sizeof json - 1, file);
    fclose(file);
    json[size] = 0;
    *finding = (struct finding){ .seconds = number_of(json, "seconds"),
                                 .first_frame_seconds = number_of(json, "first_frame_seconds"),
                                 .frame_ms_median = number_of(json, "frame_ms_median"),
                                 .frame_ms_p99 = number_of(json, "frame_ms_p99"),
                                 .frame_ms_second_half = number_of(json, "frame_ms_second_half"),
                                 .cpu_seconds = number_of(json, "cpu_seconds"),
                                 .peak_rss_mib = number_of(json, "peak_rss_mib") };
    return BD_OK;
}

/* A file of one of many films. */
static void many_path(char *path, const struct folder *folder, int number, const char *end)
{
    snprintf(path, path_size, "%s/%d.%s", folder->name, number, end);
}

/* The slowest of the films says how long all took; the processor's time is that of the process. */
static enum bd_status read_many(struct finding *slowest, const struct folder *folder)
{
    enum bd_status status = BD_OK;
    *slowest = (struct finding){ 0 };
    for (int i = 0; i < many_films && !status; i++) {
        char path[path_size];
        struct finding finding;
        many_path(path, folder, i, "run.json");
        status = read_finding(&finding, path);
        if (!status && finding.seconds > slowest->seconds)
            *slowest = finding;
    }
    return status;
}

static enum bd_status add_many(struct arguments *arguments, const struct folder *folder)
{
    for (int i = 0; i < many_films; i++) {
        char *link = arguments->made[arguments->made_count++];
        many_path(link, folder, i, "mp4");
        unlink(link);
        if (symlink(folder->film, link))
            return bd_fail(BD_ERROR_IO, "%s: cannot make a link to the film", link);
        add(arguments, link);
    }
    add(arguments, "-o");
    add(arguments, folder->name);
    add(arguments, "-j");
    char *count = arguments->made[arguments->made_count++];
    snprintf(count, path_size, "%d", many_films);
    add(arguments, count);
    return BD_OK;
}

static enum bd_status export_once(const struct bd_bench *bench, const struct folder *folder,
                                  const struct film *film, const struct run *run,
                                  struct finding *finding)
{
    struct arguments arguments = { .count = 0 };
    char threads[16], size[32];
    enum bd_status status = BD_OK;
    snprintf(threads, sizeof threads, "%d", bench->threads);
    snprintf(size, sizeof size, "%dx%d", film->width, film->height);
    add(&arguments, "backdrop");
    add(&arguments, "export");
    if (run->many)
        status = add_many(&arguments, folder);
    else
        add(&arguments, folder->film);
    for (int i = 0; i < 8 && run->outputs[i]; i += 2) {
        add(&arguments, run->outputs[i]);
        if (run->many)
            add(&arguments, run->outputs[i + 1]);
        else
            add_path(&arguments, folder, run->outputs[i + 1]);
    }
    for (int i = 0; i < 4 && run->options[i]; i++)
        add(&arguments, run->options[i]);
    const char *const others[] = { "--backend", bd_backend_name(bench->backend),
                                   "--threads", threads,
                                   "--json",    run->many ? "run.json" : folder->json,
                                   "-y",        "-q" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        add(&arguments, others[i]);
    if (run->full_size) {
        add(&arguments, "--scale");
        add(&arguments, size);
    }
    if (!status)
        status = run_process("/proc/self/exe", &arguments);
    if (status)
        return status;
    return run->many ? read_many(finding, folder) : read_finding(finding, folder->json);
}

/* ---- OpenCV ------------------------------------------------------------------------------------
 */

/* Decodes the film, subtracts the background at full size and takes a median of the mask, which it
 * does not write. Prints nothing where the subtractor is not there. */
static const char peer_program[] =
    "import sys, time\n"
    "try:\n"
    "    import cv2\n"
    "    film, name, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])\n"
    "    cv2.setNumThreads(threads)\n"
    "    rooms = [cv2, getattr(cv2, 'bgsegm', None)]\n"
    "    make = next(getattr(r, 'createBackgroundSubtractor' + name) for r in rooms\n"
    "                if hasattr(r, 'createBackgroundSubtractor' + name))\n"
    "except (ImportError, StopIteration):\n"
    "    sys.exit(0)\n"
    "begin, frames = time.time(), 0\n"
    "subtractor, video = make(), cv2.VideoCapture(film)\n"
    "while True:\n"
    "    there, picture = video.read()\n"
    "    if not there:\n"
    "        break\n"
    "    cv2.medianBlur(subtractor.apply(picture), 5)\n"
    "    frames += 1\n"
    "print(time.time() - begin if frames else '')\n";

static const char *const peers[] = { "MOG2", "KNN", "CNT", "GSOC" };

enum { peer_count = sizeof peers / sizeof *peers };

/* Seconds for the film; -1: there is no such subtractor here. */
static double time_peer(const struct bd_bench *bench, const struct folder *folder, int peer)
{
    char threads[16], path[path_size], line[64] = "";
    struct arguments arguments = { .count = 0 };
    snprintf(threads, sizeof threads, "%d", bench->threads);
    snprintf(path, sizeof path, "%s/peer.txt", folder->name);
    /* The shell sends what is printed to a file. */
    static const char script[] = "python3 -c \"$1\" \"$2\" $3 $4 >\"$5\" 2>/dev/null";
    const char *const list[] = { "sh",         "-c",        script,  "sh", peer_program,
                                 folder->film, peers[peer], threads, path };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        add(&arguments, list[i]);
    FILE *file = run_process("sh", &arguments) ? NULL : fopen(path, "r");
    bool printed = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    unlink(path);
    double seconds = printed ? strtod(line, NULL) : 0;
    return seconds > 0 ? seconds : -1;
}

/* ---- rows --------------------------------------------------------------------------------------
 */

static double median_of(const struct finding *findings, int count, size_t member)
{
    double values[repeats];
    for (int i = 0; i < count; i++)
        values[i] = *(const double *)((const char *)&findings[i] + member);
    return bd_bench_median(values, count);
}

#define MEDIAN(member) median_of(findings, count, offsetof(struct finding, member))

/* Runs of the program and of each peer. */
static int repeats_of(const struct bd_bench *bench)
{
    return bench->options->quick ? 1 : repeats;
}

/* `times`: of each peer, in seconds; -1: none. */
static enum bd_status add_row(struct bd_bench *bench, const struct film *film,
                              const struct run *run, const struct finding *findings,
                              double (*times)[repeats])
{
    const int count = repeats_of(bench), frames = film->frames * (run->many ? many_films : 1);
    static const char *const names[peer_count] = { "mog2_ms", "knn_ms", "cnt_ms", "gsoc_ms" };
    struct bd_bench_row row =
        bd_bench_row_begin("app", (int64_t)film->width * film->height, 50, "", NULL);
    static const char *const kinds[] = {
        [USUAL] = "", [MINUTES] = ", two minutes", [DRIFTS] = ", the camera drifts"
    };
    const bool all = run->outputs[2];
    const bool gray = run->options[1] && strcmp(run->options[1], "gray") == 0;
    snprintf(row.name, sizeof row.name, "a frame, %dx%d%s, H.264%s", film->width, film->height,
             gray ? " gray" : "", run->many ? ", eight at once" : kinds[film->kind]);
    const bool named = run->options[1] && !gray;
    snprintf(row.method, sizeof row.method, "export %s%s%s%s%s%s",
             all ? "of four films" : run->outputs[0], run->full_size ? ", full size" : "",
             named ? ", " : "", named ? run->options[0] : "", named ? " " : "",
             named ? run->options[1] : "");
    row.ms = MEDIAN(seconds) * 1e3 / frames;
    bd_bench_extra(&row, "frames_per_second", frames / MEDIAN(seconds));
    bd_bench_extra(&row, "first_frame_s", MEDIAN(first_frame_seconds));
    bd_bench_extra(&row, "median_ms", MEDIAN(frame_ms_median));
    bd_bench_extra(&row, "p99_ms", MEDIAN(frame_ms_p99));
    bd_bench_extra(&row, "second_half_ms", MEDIAN(frame_ms_second_half));
    bd_bench_extra(&row, "cpu_ms", MEDIAN(cpu_seconds) * 1e3 / frames);
    bd_bench_extra(&row, "peak_mib", MEDIAN(peak_rss_mib));
    for (int p = 0; p < peer_count && run->peers; p++) {
        double ms = bd_bench_median(times[p], count) * 1e3 / film->frames;
        if (ms < 0)
            continue;
        bd_bench_extra(&row, names[p], ms);
        if (row.peer_ms < 0 || ms < row.peer_ms) {
            row.peer_ms = ms;
            snprintf(row.peer, sizeof row.peer, "OpenCV %s, full size, no files", peers[p]);
        }
    }
    return bd_bench_add(bench, &row);
}

static enum bd_status measure(struct bd_bench *bench, const struct folder *folder,
                              const struct film *film, const struct run *run)
{
    struct finding findings[repeats] = { { 0 } };
    double times[peer_count][repeats] = { { 0 } };
    enum bd_status status = BD_OK;
    for (int i = 0; i < repeats_of(bench) && !status; i++) {
        status = export_once(bench, folder, film, run, &findings[i]);
        for (int p = 0; p < peer_count && run->peers && !status; p++) {
            times[p][i] = i > 0 && times[p][0] < 0 ? -1 : time_peer(bench, folder, p);
            status = bd_bench_check_interrupt();
        }
    }
    return status ? status : add_row(bench, film, run, findings, times);
}

static void remove_files(const struct folder *folder)
{
    static const char *const ends[] = { "mp4", "mask.mkv", "run.json" };
    char path[path_size];
    const size_t count = sizeof runs / sizeof *runs;
    for (size_t i = 0; i < count; i++)
        for (int k = 1; k < 8 && runs[i].outputs[k]; k += 2) {
            snprintf(path, sizeof path, "%s/%s", folder->name, runs[i].outputs[k]);
            unlink(path);
        }
    for (int i = 0; i < many_films; i++)
        for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
            many_path(path, folder, i, ends[k]);
            unlink(path);
        }
    unlink(folder->film);
    unlink(folder->json);
    rmdir(folder->name);
}

enum bd_status bd_bench_app(struct bd_bench *bench)
{
    const bool quick = bench->options->quick;
    const struct film films[] = { { 768, 576, quick ? 60 : 600, USUAL },
                                  { 1920, 1080, 400, USUAL },
                                  { 1920, 1080, bench->gpu ? 60 * rate : 200, DRIFTS },
                                  { 1920, 1080, 120 * rate, MINUTES } };
    const int count = quick ? 1 : bench->gpu ? 4 : 3;
    struct folder folder = { .name = "/tmp/backdrop-bench-XXXXXX" };
    enum bd_status status = BD_OK;
    if (!mkdtemp(folder.name))
        return bd_fail(BD_ERROR_IO, "/tmp: cannot make a folder for the suite app");
    snprintf(folder.film, sizeof folder.film, "%s/in.mp4", folder.name);
    snprintf(folder.json, sizeof folder.json, "%s/run.json", folder.name);
    for (int f = 0; f < count && !status; f++) {
        status = make_video(bench, folder.film, &films[f]);
        for (size_t i = 0; i < sizeof runs / sizeof *runs && !status; i++)
            if (runs[i].kind == films[f].kind && (!runs[i].gpu || bench->gpu))
                status = measure(bench, &folder, &films[f], &runs[i]);
    }
    remove_files(&folder);
    return status;
}
