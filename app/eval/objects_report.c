#include "app/eval/objects_report.h"

#include <math.h>
#include <stddef.h>

#include "app/eval/report.h"

/* The measures that have a mean over sequences. */
static const struct measure {
    const char *title, *key;
    double (*value)(const struct bd_track_scores *scores);
} measures[] = {
    { "precision", "precision", bd_track_precision },
    { "recall", "recall", bd_track_recall },
    { "F", "f_measure", bd_track_f_measure },
    { "MOTA", "mota", bd_track_mota },
    { "MOTP", "motp", bd_track_motp },
    { "IDF1", "idf1", bd_track_idf1 },
};
enum { measure_count = sizeof measures / sizeof *measures };

/* The numbers that add up over sequences. */
enum { SWITCHES, CROSSINGS, OBJECTS, FOUND, number_count };

static const struct number {
    const char *title, *key;
    size_t offset; /* of an int64_t in struct bd_track_scores */
} numbers[number_count] = {
    [SWITCHES] = { "switches", "switches", offsetof(struct bd_track_scores, switches) },
    [CROSSINGS] = { "crossings", "crossings", offsetof(struct bd_track_scores, crossings) },
    [OBJECTS] = { "objects", "objects", offsetof(struct bd_track_scores, objects) },
    [FOUND] = { "found", "found_objects", offsetof(struct bd_track_scores, found_objects) },
};

static int64_t number_of(const struct bd_track_scores *scores, const struct number *number)
{
    return *(const int64_t *)((const char *)scores + number->offset);
}

/* Whether the job's objects were scored in full. */
static bool is_scored(const struct bd_eval_job *job)
{
    return job->has_objects && bd_eval_scored(job, -1);
}

struct mean {
    int sequences;
    double measures[measure_count];
    int64_t numbers[number_count]; /* sums */
};

static struct mean mean_of(const struct bd_eval_plan *plan)
{
    struct mean mean = { 0 };
    for (int i = 0; i < plan->count; i++) {
        const struct bd_eval_job *job = &plan->jobs[i];
        if (!is_scored(job))
            continue;
        mean.sequences++;
        for (int k = 0; k < measure_count; k++)
            mean.measures[k] += measures[k].value(&job->objects);
        for (int k = 0; k < number_count; k++)
            mean.numbers[k] += number_of(&job->objects, &numbers[k]);
    }
    for (int k = 0; k < measure_count && mean.sequences; k++)
        mean.measures[k] /= mean.sequences;
    return mean;
}

static void print_header(int column)
{
    printf("\n%-*s", column, "objects");
    for (int k = 0; k < measure_count; k++)
        printf(" %9s", measures[k].title);
    for (int k = 0; k < number_count; k++)
        printf(" %9s", numbers[k].title);
    putchar('\n');
}

static void print_row(int column, const char *name, const double *values, const int64_t *counts)
{
    printf("%-*s", column, name);
    for (int k = 0; k < measure_count; k++)
        printf(" %9.4f", values[k]);
    for (int k = 0; k < number_count; k++)
        printf(" %9lld", (long long)counts[k]);
    putchar('\n');
}

void bd_eval_print_objects(const struct bd_eval_plan *plan)
{
    struct mean mean = mean_of(plan);
    int column = bd_eval_name_column(plan);
    if (!mean.sequences)
        return;
    if (!plan->setup.options->quiet)
        print_header(column);
    for (int i = 0; i < plan->count; i++) {
        const struct bd_eval_job *job = &plan->jobs[i];
        double values[measure_count];
        int64_t counts[number_count];
        if (!is_scored(job))
            continue;
        for (int k = 0; k < measure_count; k++)
            values[k] = measures[k].value(&job->objects);
        for (int k = 0; k < number_count; k++)
            counts[k] = number_of(&job->objects, &numbers[k]);
        print_row(column, job->name, values, counts);
    }
    if (mean.sequences > 1)
        print_row(column, "mean; numbers: sum", mean.measures, mean.numbers);
    fflush(stdout);
}

void bd_eval_write_objects(struct bd_json *json, const struct bd_eval_job *job)
{
    const struct bd_track_scores *scores = &job->objects;
    if (!is_scored(job))
        return;
    bd_json_open(json, "objects", '{');
    for (int k = 0; k < measure_count; k++)
        bd_json_number(json, measures[k].key, measures[k].value(scores), 9);
    bd_json_number(json, "idp", bd_track_idp(scores), 9);
    bd_json_number(json, "idr", bd_track_idr(scores), 9);
    bd_json_integer(json, "tp", scores->tp);
    bd_json_integer(json, "fp", scores->fp);
    bd_json_integer(json, "fn", scores->fn);
    bd_json_integer(json, "idtp", scores->idtp);
    for (int k = 0; k < number_count; k++)
        bd_json_integer(json, numbers[k].key, number_of(scores, &numbers[k]));
    bd_json_integer(json, "fragmentations", scores->fragmentations);
    bd_json_integer(json, "mostly_tracked", scores->mostly_tracked);
    bd_json_integer(json, "mostly_lost", scores->mostly_lost);
    bd_json_integer(json, "frames", scores->frames);
    bd_json_close(json, '}');
}

void bd_eval_write_mean_objects(struct bd_json *json, const struct bd_eval_plan *plan)
{
    struct mean mean = mean_of(plan);
    int64_t crossings = mean.numbers[CROSSINGS];
    if (!mean.sequences)
        return;
    bd_json_open(json, "mean_objects", '{');
    bd_json_integer(json, "sequences", mean.sequences);
    for (int k = 0; k < measure_count; k++)
        bd_json_number(json, measures[k].key, mean.measures[k], 9);
    for (int k = 0; k < number_count; k++)
        bd_json_integer(json, numbers[k].key, mean.numbers[k]);
    bd_json_number(json, "switches_in_ten_crossings",
                   crossings ? 10 * (double)mean.numbers[SWITCHES] / (double)crossings : NAN, 9);
    bd_json_close(json, '}');
}
