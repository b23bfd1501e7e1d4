/* The whole way: decoding, separation, and encoding the masks, on a video made for the purpose. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/bench.h"
#include "app/interrupt.h"
#include "app/pipeline.h"
#include "base/clock.h"
#include "video/synth.h"
#include "video/writer.h"

enum { frames = 400, quick_frames = 100, width = 640, height = 480, rate = 25 };

static enum bd_status make_video(const char *path, int count)
{
    const struct bd_synth_scene *scene = bd_synth_find("street");
    struct bd_writer_options options = { .width = width,
                                         .height = height,
                                         .format = BD_RGB24,
                                         .time_base = { 1, rate },
                                         .frame_rate = { rate, 1 },
                                         .pixel_aspect = { 1, 1 },
                                         .overwrite = true };
    struct bd_writer *writer = NULL;
    struct bd_frame frame = { 0 };
    enum bd_status status = bd_writer_open(&writer, path, &options);
    for (int i = 0; i < count && !status; i++) {
        status = bd_synth_render(scene, width, height, 1, i, &frame, NULL);
        if (!status)
            status = bd_writer_write(writer, &frame);
    }
    enum bd_status closed = bd_writer_close(&writer);
    bd_frame_destroy(&frame);
    return status ? status : closed;
}

/* From the first frame to the closed file; the look ahead at the start counts too. */
static enum bd_status run_export(const struct bd_options *options, double *seconds, int64_t *count)
{
    struct bd_pipeline *pipeline = NULL;
    struct bd_writer *writer = NULL;
    struct bd_result result;
    double begin = bd_clock_seconds();
    *count = 0;
    enum bd_status status = bd_pipeline_open(&pipeline, options, false, 0, bd_interrupted, NULL);
    if (!status) {
        const struct bd_reader_info *info = bd_pipeline_info(pipeline);
        struct bd_writer_options mask = { .width = info->width,
                                          .height = info->height,
                                          .format = BD_GRAY8,
                                          .time_base = info->time_base,
                                          .frame_rate = info->frame_rate,
                                          .pixel_aspect = info->pixel_aspect,
                                          .lossless = true,
                                          .overwrite = true };
        status = bd_writer_open(&writer, options->mask, &mask);
    }
    while (!status && (status = bd_pipeline_next(pipeline, &result)) == BD_OK) {
        status = bd_writer_write(writer, result.mask);
        (*count)++;
    }
    enum bd_status closed = bd_writer_close(&writer);
    bd_pipeline_close(&pipeline);
    *seconds = bd_clock_seconds() - begin;
    return status == BD_END ? closed : status;
}

static double middle(const double t[3])
{
    double low = t[0] < t[1] ? t[0] : t[1], high = t[0] < t[1] ? t[1] : t[0];
    return t[2] < low ? low : t[2] > high ? high : t[2];
}

enum bd_status bd_bench_export(struct bd_bench *bench)
{
    char folder[] = "/tmp/backdrop-bench-XXXXXX", video[64], mask[64];
    bool quick = bench->options->quick;
    double times[3] = { 0 };
    int64_t count = 0;
    if (!mkdtemp(folder))
        return bd_fail(BD_ERROR_IO, "/tmp: cannot make a folder for the export suite");
    snprintf(video, sizeof video, "%s/in.mp4", folder);
    snprintf(mask, sizeof mask, "%s/mask.mkv", folder);
    struct bd_options options = *bench->options;
    options.arguments[0] = video;
    options.argument_count = 1;
    options.gray = true;
    options.mask = mask;
    enum bd_status status = make_video(video, quick ? quick_frames : frames);
    for (int i = 0; i < 3 && !status; i++)
        status = run_export(&options, &times[i], &count);
    if (!status && count > 0) {
        struct bd_bench_row row = bd_bench_row_begin("export", (int64_t)width * height, 50);
        snprintf(row.name, sizeof row.name, "a frame, %dx%d gray, decoded", width, height);
        snprintf(row.method, sizeof row.method, "export --mask");
        row.ms = middle(times) * 1e3 / (double)count;
        status = bd_bench_add(bench, &row);
    }
    unlink(video);
    unlink(mask);
    rmdir(folder);
    return status;
}
