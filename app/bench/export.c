/* The whole way: decoding, separation, and encoding the masks, on a video made for the purpose. */
#include <stdlib.h>
#include <unistd.h>

#include "app/bench/bench.h"
#include "app/commands.h"
#include "base/clock.h"
#include "video/output/writer.h"

enum { rate = 30, batch = 32 };

struct film {
    int width, height, frames;
};

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
    enum bd_status status = bd_writer_open(&writer, path, &options);
    for (int first = 0; first < film->frames && !status; first += batch) {
        int left = film->frames - first, count = left < batch ? left : batch;
        struct bd_bench_scene scene = { film->width, film->height, 3, first, count };
        uint8_t *pictures = NULL;
        status = bd_bench_check_interrupt();
        BD_TRY(bd_bench_render(bench, &pictures, &scene));
        for (int i = 0; i < count && !status; i++) {
            struct bd_frame frame = { .width = film->width,
                                      .height = film->height,
                                      .stride = (int64_t)film->width * 3,
                                      .format = BD_RGB24,
                                      .pts = first + i };
            frame.data = pictures + (size_t)i * (size_t)frame.stride * (size_t)film->height;
            status = bd_writer_write(writer, &frame);
        }
        bd_bench_release(bench, NULL);
    }
    enum bd_status closed = bd_writer_close(&writer);
    return status ? status : closed;
}

/* What `backdrop export` does, from opening the input to the closed file. */
static enum bd_status run_export(const struct bd_options *options, double *seconds)
{
    double begin = bd_clock_seconds();
    int exit_status = bd_export_run(options);
    *seconds = bd_clock_seconds() - begin;
    enum bd_status status = bd_bench_check_interrupt();
    if (status)
        return status;
    return exit_status ? bd_fail(BD_ERROR_IO, "the export suite failed") : BD_OK;
}

enum { repeats = 3 };

/* The whole film and its first half, in turn: what the second half takes is free of what comes
 * before the first frame, opening a GPU and the look ahead. */
static enum bd_status time_export(struct bd_bench *bench, const struct film *film,
                                  const char *video, const char *mask, const char *what)
{
    double whole[repeats] = { 0 }, half[repeats] = { 0 };
    int second_half = film->frames - film->frames / 2;
    struct bd_options options = *bench->options;
    options.arguments[0] = video;
    options.argument_count = 1;
    options.gray = true;
    options.mask = mask;
    options.quiet = true;
    options.overwrite = BD_OVERWRITE_YES;
    enum bd_status status = BD_OK;
    for (int i = 0; i < repeats && !status; i++) {
        options.frames = 0;
        status = run_export(&options, &whole[i]);
        options.frames = film->frames / 2;
        BD_TRY(run_export(&options, &half[i]));
    }
    unlink(mask);
    if (status)
        return status;
    double seconds = bd_bench_median(whole, repeats);
    struct bd_bench_row row =
        bd_bench_row_begin("export", (int64_t)film->width * film->height, 50, "", NULL);
    snprintf(row.name, sizeof row.name, "a frame, %dx%d gray, H.264", film->width, film->height);
    snprintf(row.method, sizeof row.method, "export --mask %s", what);
    row.ms = seconds * 1e3 / film->frames;
    bd_bench_extra(&row, "second_half_ms",
                   (seconds - bd_bench_median(half, repeats)) * 1e3 / second_half);
    return bd_bench_add(bench, &row);
}

enum bd_status bd_bench_export(struct bd_bench *bench)
{
    static const char *const masks[] = { "mask.mkv", "mask.mp4" };
    char folder[] = "/tmp/backdrop-bench-XXXXXX", video[64], mask[64];
    bool quick = bench->options->quick;
    struct film film = { 640, 480, quick ? 100 : 400 };
    if (bench->gpu && !quick)
        film = (struct film){ 1920, 1080, 400 };
    if (!mkdtemp(folder))
        return bd_fail(BD_ERROR_IO, "/tmp: cannot make a folder for the export suite");
    snprintf(video, sizeof video, "%s/in.mp4", folder);
    enum bd_status status = make_video(bench, video, &film);
    for (size_t i = 0; i < sizeof masks / sizeof *masks && !status; i++) {
        snprintf(mask, sizeof mask, "%s/%s", folder, masks[i]);
        status = time_export(bench, &film, video, mask, masks[i]);
    }
    unlink(video);
    rmdir(folder);
    return status;
}
