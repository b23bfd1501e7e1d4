/* What each part of the making of masks contributes: the tables of docs/accuracy.md, as Markdown.
 *
 *     ablation [--without PART] FOLDER...
 *
 * Every FOLDER in the layout of changedetection.net, and every rendered scene, is separated with
 * the default options and then without one part after another: F-measure by CDnet's rules, and
 * processor time a frame of one thread. A first table has a look-ahead of up to a minute, as
 * the program gives a film; in a second one the first seconds are held back, as those of a camera
 * are (backdrop eval --live). With --without (contrast, ghosts, shadows, illumination, recurrence,
 * mirrors, flashes, lasting, trimming, registration or all) there are two columns only: with all
 * parts, and without that one.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/eval/cdnet.h"
#include "app/pipeline/stabilise.h"
#include "separation/shared/ablation.h"
#include "video/output/writer.h"
#include "video/synth/synth.h"
#include <backdrop/separator.h>

enum { most_sources = 64, files_rate = 25, look_seconds = 60, held_seconds = 10 };

/* The part that a column leaves out. */
static const struct column {
    const char *name;
    enum bd_ablation without;
    enum bd_stabilise_mode stabilise;
} columns[] = { { "all parts", BD_WITHOUT_NOTHING, BD_STABILISE_AUTO },
                { "without contrast", BD_WITHOUT_BOUNDARY_CONTRAST, BD_STABILISE_AUTO },
                { "without ghosts", BD_WITHOUT_GHOST_REMOVAL, BD_STABILISE_AUTO },
                { "without shadows", BD_WITHOUT_SHADOWS, BD_STABILISE_AUTO },
                { "without illumination", BD_WITHOUT_ILLUMINATION, BD_STABILISE_AUTO },
                { "without recurrence", BD_WITHOUT_RECURRENCE, BD_STABILISE_AUTO },
                { "without mirrors", BD_WITHOUT_MIRROR_IMAGES, BD_STABILISE_AUTO },
                { "without flashes", BD_WITHOUT_FLASHES, BD_STABILISE_AUTO },
                { "without lasting", BD_WITHOUT_LASTING, BD_STABILISE_AUTO },
                { "without trimming", BD_WITHOUT_TRIMMING, BD_STABILISE_AUTO },
                { "without registration", BD_WITHOUT_NOTHING, BD_STABILISE_OFF },
                { "without all", BD_WITHOUT_ANY, BD_STABILISE_OFF } };

enum { column_count = sizeof columns / sizeof *columns };

/* The columns to show, in order. */
static int shown[column_count], shown_count;

/* The first column and that without `part`, or all (NULL). BD_ERROR_ARGUMENT: no such part. */
static enum bd_status choose_columns(const char *part)
{
    for (int column = 0; column < column_count; column++)
        if (!part || column == 0 || strcmp(columns[column].name + strlen("without "), part) == 0)
            shown[shown_count++] = column;
    return shown_count > 1 ? BD_OK : bd_fail(BD_ERROR_ARGUMENT, "--without %s: no such part", part);
}

struct source {
    struct bd_sequence sequence;
    int64_t frames;
    double rate;
};

struct outcome {
    double f, milliseconds;
};

struct run {
    const struct source *source;
    struct bd_separator *separator;
    struct bd_stabiliser *stabiliser;
    struct bd_frame picture, truth, mask;
    struct bd_score score;
    double seconds;
};

static enum bd_status read_picture(const struct source *source, int64_t index,
                                   struct bd_frame *picture)
{
    const struct bd_sequence *sequence = &source->sequence;
    char path[PATH_MAX];
    if (sequence->scene)
        return bd_synth_render(sequence->scene, sequence->width, sequence->height, sequence->seed,
                               index, picture, NULL);
    bd_numbered_path(&sequence->input, sequence->input.first + index, path);
    return bd_picture_read(path, BD_RGB24, picture);
}

/* Reads a picture of the look-ahead and registers it. */
static enum bd_status read_ahead(struct run *run, int64_t index, const struct bd_frame **shown)
{
    struct bd_similarity motion;
    enum bd_status status = read_picture(run->source, index, &run->picture);
    if (!status)
        bd_stabiliser_register(run->stabiliser, &run->picture, bd_stabiliser_ahead, shown, &motion);
    return status;
}

static enum bd_status look_ahead(struct run *run, int window, int seconds)
{
    const struct source *source = run->source;
    const struct bd_frame *shown;
    double span = (double)source->frames;
    if (span > seconds * source->rate)
        span = seconds * source->rate;
    enum bd_status status = BD_OK;
    for (int j = 0; j < window && !status; j++) {
        status = read_ahead(run, (int64_t)(j * span / window), &shown);
        if (!status)
            status = bd_separator_look_ahead(run->separator, shown->data, shown->stride);
    }
    if (!status)
        status = bd_separator_initialise(run->separator);
    for (int j = 0; j < window && !status && span >= 2 * window; j++) {
        status = read_ahead(run, (int64_t)(j * span / window) + 1, &shown);
        if (!status)
            status = bd_separator_look_after(run->separator, j, shown->data, shown->stride);
    }
    return status;
}

static enum bd_status separate(struct run *run, int64_t index)
{
    struct timespec begin, end;
    struct bd_separation out;
    const struct bd_frame *picture = &run->picture, *shown;
    struct bd_similarity motion;
    double time = (double)index / run->source->rate;
    enum bd_status status = read_picture(run->source, index, &run->picture);
    if (status)
        return status;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    if (bd_stabiliser_moved(run->stabiliser))
        status = bd_stabiliser_learn(run->stabiliser, run->separator);
    bd_stabiliser_register(run->stabiliser, picture, time, &shown, &motion);
    if (!status)
        status = bd_separator_push(run->separator, shown->data, shown->stride, time, &out);
    if (!status)
        bd_stabiliser_restore(run->stabiliser, motion, &out);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    run->seconds +=
        (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    if (!status)
        status = bd_sequence_truth(&run->source->sequence,
                                   run->source->sequence.input.first + index, &run->truth);
    if (status)
        return status == BD_END ? BD_OK : status; /* the frame does not count */
    for (int y = 0; y < picture->height; y++)
        memcpy(run->mask.data + y * run->mask.stride, out.mask + (size_t)y * (size_t)picture->width,
               (size_t)picture->width);
    return bd_score_add(&run->score, &run->source->sequence, &run->mask, &run->truth);
}

static enum bd_status measure(const struct source *source, struct bd_backend *backend, int column,
                              int ahead, struct outcome *outcome)
{
    struct run run = { .source = source };
    enum bd_status status = read_picture(source, 0, &run.picture);
    if (status)
        return status;
    struct bd_separator_options options = { .width = run.picture.width,
                                            .height = run.picture.height,
                                            .channels = 3,
                                            .frame_rate = source->rate };
    options = bd_separator_defaults(&options);
    status = bd_frame_ensure(&run.mask, options.width, options.height, BD_GRAY8);
    if (!status)
        status = bd_separator_create(&run.separator, backend, &options);
    if (!status)
        bd_separator_ablate(run.separator, columns[column].without);
    if (!status)
        status =
            bd_stabiliser_create(&run.stabiliser, columns[column].stabilise, &options, BD_RGB24, 1);
    if (!status)
        status = look_ahead(&run, options.window, ahead ? look_seconds : held_seconds);
    for (int64_t i = 0; i < source->frames && !status; i++)
        status = separate(&run, i);
    outcome->f = bd_score_f_measure(&run.score);
    outcome->milliseconds = 1e3 * run.seconds / (double)source->frames;
    bd_separator_destroy(&run.separator);
    bd_stabiliser_destroy(&run.stabiliser);
    bd_frame_destroy(&run.picture);
    bd_frame_destroy(&run.truth);
    bd_frame_destroy(&run.mask);
    return status;
}

static void print_header(int ahead)
{
    printf("%s\n\n| |", ahead ? "With a look-ahead:" : "Without a look-ahead:");
    for (int i = 0; i < shown_count; i++)
        printf(" %s |", columns[shown[i]].name);
    printf("\n|---|");
    for (int i = 0; i < shown_count; i++)
        printf("---|");
    printf("\n");
}

static enum bd_status print_table(const struct source *sources, int count,
                                  struct bd_backend *backend, int ahead)
{
    double f[column_count] = { 0 }, milliseconds[column_count] = { 0 };
    print_header(ahead);
    for (int i = 0; i < count; i++) {
        printf("| %s |", sources[i].sequence.name);
        for (int j = 0; j < shown_count; j++) {
            struct outcome outcome;
            enum bd_status status = measure(&sources[i], backend, shown[j], ahead, &outcome);
            if (status)
                return status;
            printf(" %.3f |", outcome.f);
            fflush(stdout);
            f[j] += outcome.f / count;
            milliseconds[j] += outcome.milliseconds / count;
        }
        printf("\n");
    }
    printf("| **mean** |");
    for (int j = 0; j < shown_count; j++)
        printf(" **%.3f** |", f[j]);
    printf("\n| ms a frame |");
    for (int j = 0; j < shown_count; j++)
        printf(" %.2f |", milliseconds[j]);
    printf("\n\n");
    return BD_OK;
}

static enum bd_status open_source(struct source *source, const char *folder)
{
    enum bd_status status = bd_sequence_open(&source->sequence, folder);
    source->frames = source->sequence.input.count;
    source->rate = source->sequence.scene ? source->sequence.scene->fps : files_rate;
    return status;
}

int main(int argc, char **argv)
{
    static struct source sources[most_sources];
    struct bd_backend *backend = NULL;
    const bool without = argc > 2 && strcmp(argv[1], "--without") == 0;
    int count = 0;
    enum bd_status status = choose_columns(without ? argv[2] : NULL);
    for (int i = without ? 3 : 1; i < argc && count < most_sources && !status; i++)
        status = open_source(&sources[count++], argv[i]);
    for (const struct bd_synth_scene *scene = bd_synth_scenes;
         scene->name && count < most_sources && !status; scene++) {
        char name[NAME_MAX + 1];
        snprintf(name, sizeof name, "synth:%s", scene->name);
        status = open_source(&sources[count++], name);
    }
    if (!status)
        status = bd_backend_open(&backend, "cpu", 1);
    for (int ahead = 1; ahead >= 0 && !status; ahead--)
        status = print_table(sources, count, backend, ahead);
    if (status)
        fprintf(stderr, "ablation: %s\n", bd_error_detail());
    bd_backend_close(&backend);
    for (int i = 0; i < count; i++)
        bd_sequence_close(&sources[i].sequence);
    return status ? 1 : 0;
}
