#include "app/bench/platform.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/blas_threads.h"
#include "app/cpu_name.h"
#include "app/json.h"
#include "app/version.h"
#include "base/pool.h"
#include "video/output_file.h"

struct suite {
    const char *name;
    enum bd_status (*run)(struct bd_bench *bench);
    bool has_parts;       /* NAME:PART asks for some of it */
    const char *old_name; /* that it may be asked for by, too */
};

static const struct suite suites[] = {
    { "qr", bd_bench_qr, false, NULL },
    { "update", bd_bench_update, false, NULL },
    { "updates", bd_bench_updates, true, NULL },
    { "wy", bd_bench_wy, true, NULL },
    { "svd", bd_bench_svd, false, NULL },
    { "svqr", bd_bench_svqr, true, NULL },
    { "rpca", bd_bench_rpca, false, NULL },
    { "separate", bd_bench_separate, false, NULL },
    { "accuracy", bd_bench_accuracy, true, NULL },
#ifdef BD_BENCH_VIDEO
    { "app", bd_bench_app, false, "export" },
#endif
    { NULL, NULL, false, NULL },
};

struct bd_bench_row bd_bench_row_begin(const char *suite, int64_t m, int64_t n, const char *method,
                                       const char *peer)
{
    struct bd_bench_row row = { .suite = suite, .m = m, .n = n };
    snprintf(row.method, sizeof row.method, "%s", method);
    snprintf(row.peer, sizeof row.peer, "%s", peer ? peer : "");
    row.ms = row.floor_ms = row.peer_ms = row.residual = row.orthogonality = -1;
    row.peak_rss = row.rss_growth = -1;
    return row;
}

void bd_bench_extra(struct bd_bench_row *row, const char *name, double value)
{
    if (row->extra_count < bd_bench_extras)
        row->extra[row->extra_count++] = (struct bd_bench_extra){ name, value };
}

static void print_header(void)
{
    printf("%-9s %-38s %-26s %9s %9s %6s %9s %7s %9s %9s  %s\n", "suite", "case", "method", "ms",
           "floor ms", "floor", "peer ms", "ratio", "residual", "orthog.", "peer");
}

static void print_value(const char *format, int width, double value)
{
    if (value < 0)
        printf(" %*s", width, "-");
    else
        printf(format, value);
}

/* Microseconds matter on a GPU. */
static void print_time(double ms)
{
    print_value(ms < 1e-3 ? " %9.1e" : ms < 1 ? " %9.4f" : " %9.3f", 9, ms);
}

static void print_row(const struct bd_bench_row *row)
{
    printf("%-9s %-38s %-26s", row->suite, row->name, row->method);
    print_time(row->ms);
    print_time(row->floor_ms);
    print_value(" %5.0f%%", 6, row->floor_ms < 0 ? -1 : 100 * row->floor_ms / row->ms);
    print_time(row->peer_ms);
    print_value(" %7.2f", 7, row->peer_ms < 0 ? -1 : row->peer_ms / row->ms);
    print_value(" %9.1e", 9, row->residual);
    print_value(" %9.1e", 9, row->orthogonality);
    printf("  %s", row->peer);
    if (row->peak_rss >= 0)
        printf("peak RSS %.0f MiB, %+.1f MiB over the run", row->peak_rss, row->rss_growth);
    const char *separator = *row->peer ? "; " : "";
    for (int i = 0; i < row->extra_count; i++, separator = ", ")
        printf("%s%s %.5g", separator, row->extra[i].name, row->extra[i].value);
    putchar('\n');
    fflush(stdout);
}

enum bd_status bd_bench_add(struct bd_bench *bench, const struct bd_bench_row *row)
{
    struct bd_bench_row *rows =
        realloc(bench->rows, ((size_t)bench->count + 1) * sizeof *bench->rows);
    if (!rows)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the results");
    bench->rows = rows;
    rows[bench->count++] = *row;
    if (!bench->options->quiet)
        print_row(row);
    return BD_OK;
}

/* Measured values; what was not measured becomes null. */
static void write_value(struct bd_json *json, const char *name, double value)
{
    if (value < 0)
        bd_json_text(json, name, NULL);
    else
        bd_json_number(json, name, value, 6);
}

static void print_json(FILE *file, const void *user)
{
    const struct bd_bench *bench = user;
    struct bd_json json = { .file = file };
    bd_json_open(&json, NULL, '[');
    for (int i = 0; i < bench->count; i++) {
        const struct bd_bench_row *row = &bench->rows[i];
        bd_json_open(&json, NULL, '{');
        bd_json_text(&json, "suite", row->suite);
        bd_json_text(&json, "case", row->name);
        bd_json_text(&json, "backend", bd_backend_name(bench->backend));
        bd_json_text(&json, "method", row->method);
        bd_json_text(&json, "peer", *row->peer ? row->peer : NULL);
        bd_json_integer(&json, "m", row->m);
        bd_json_integer(&json, "n", row->n);
        write_value(&json, "ms", row->ms);
        write_value(&json, "floor_ms", row->floor_ms);
        write_value(&json, "peer_ms", row->peer_ms);
        write_value(&json, "ratio", row->peer_ms < 0 ? -1 : row->peer_ms / row->ms);
        write_value(&json, "residual", row->residual);
        write_value(&json, "orthogonality", row->orthogonality);
        if (row->peak_rss >= 0) {
            bd_json_number(&json, "peak_rss_mib", row->peak_rss, 6);
            bd_json_number(&json, "rss_growth_mib", row->rss_growth, 6);
        }
        for (int e = 0; e < row->extra_count; e++)
            bd_json_number(&json, row->extra[e].name, row->extra[e].value, 6);
        bd_json_text(&json, "date", bench->date);
        bd_json_text(&json, "device", bd_backend_description(bench->backend));
        bd_json_text(&json, "cpu", bench->cpu);
        bd_json_text(&json, "commit", bd_commit);
        bd_json_integer(&json, "threads", bench->threads);
        bd_json_integer(&json, "blas_threads", bd_blas_threads());
        bd_json_close(&json, '}');
    }
    bd_json_close(&json, ']');
}

static enum bd_status write_json(const struct bd_bench *bench)
{
    enum bd_status status = bd_output_print(bench->options->json, print_json, bench, true);
    return status ? bd_fail(status, "--json %s", bd_error_detail()) : BD_OK;
}

/* Does an argument, NAME or NAME:PART, name this suite? */
static bool names_suite(const char *argument, const struct suite *suite)
{
    size_t length = strlen(suite->name);
    if (suite->old_name && strcmp(argument, suite->old_name) == 0)
        return true;
    return strncmp(argument, suite->name, length) == 0 &&
           (!argument[length] || (argument[length] == ':' && suite->has_parts));
}

static bool asked_for(struct bd_bench *bench, const struct suite *suite)
{
    const struct bd_options *options = bench->options;
    bench->part = NULL;
    for (int i = 0; i < options->argument_count; i++)
        if (names_suite(options->arguments[i], suite)) {
            const char *colon = strchr(options->arguments[i], ':');
            bench->part = colon ? colon + 1 : NULL;
            return true;
        }
    return options->argument_count == 0;
}

static enum bd_status check_arguments(const struct bd_options *options)
{
    for (int i = 0; i < options->argument_count; i++) {
        char list[160] = "";
        const struct suite *suite = suites;
        for (; suite->name && !names_suite(options->arguments[i], suite); suite++) {
            size_t used = strlen(list);
            snprintf(list + used, sizeof list - used, " %s", suite->name);
        }
        if (!suite->name)
            return bd_fail(BD_ERROR_ARGUMENT, "%s: no such suite; there are%s",
                           options->arguments[i], list);
    }
    if (options->json && options->overwrite == BD_OVERWRITE_NO && access(options->json, F_OK) == 0)
        return bd_fail(BD_ERROR_ARGUMENT, "--json %s: exists, and -n was given", options->json);
    if (options->json && bd_output_check(options->json, true))
        return bd_fail(BD_ERROR_ARGUMENT, "--json %s", bd_error_detail());
    return BD_OK;
}

/* What the row says of the run. */
static void describe_run(struct bd_bench *bench)
{
    time_t now = time(NULL);
    struct tm parts;
    strftime(bench->date, sizeof bench->date, "%Y-%m-%d %H:%M UTC", gmtime_r(&now, &parts));
    bd_cpu_name(bench->cpu, sizeof bench->cpu);
}

static void print_machine(const struct bd_bench *bench)
{
    printf("# cpu %s\n", bench->cpu);
    printf("# backdrop %s (%s), %s; %s\n", bd_version, bd_commit, bench->date,
           bd_backend_description(bench->backend));
    bench->platform->print_machine(bench);
    print_header();
    fflush(stdout);
}

static enum bd_status open_backend(struct bd_bench *bench)
{
    const struct bd_options *options = bench->options;
    enum bd_status status = bd_backend_open(&bench->backend, options->backend, options->threads);
    if (status)
        return status;
    bench->platform = &bd_bench_cpu;
#ifdef BD_HAVE_CUDA
    if (strcmp(bd_backend_name(bench->backend), "cuda") == 0)
        bench->platform = &bd_bench_cuda;
#endif
    return bench->platform->open(bench);
}

int bd_bench_run(const struct bd_options *options)
{
    struct bd_bench bench = { .options = options, .threads = options->threads };
    int exit_status = 1;
    if (bench.threads == 0)
        bench.threads = bd_pool_cores();
    enum bd_status status = check_arguments(options);
    if (!status)
        status = bd_blas_reserve(bench.threads);
    if (!status)
        bd_blas_set_threads(bench.threads); /* the peers have as many as the cpu backend */
    describe_run(&bench);
    BD_TRY(open_backend(&bench));
    if (!status && !options->quiet)
        print_machine(&bench);
    for (const struct suite *suite = suites; suite->name && !status; suite++) {
        exit_status = 3;
        if (asked_for(&bench, suite))
            status = suite->run(&bench);
    }
    if (!status)
        exit_status = 0;
    if (options->json && bench.count) {
        enum bd_status written = status;
        if (!written || written == BD_ERROR_INTERRUPTED)
            written = write_json(&bench);
        if (!status && written) {
            status = written;
            exit_status = 3;
        }
    }
    if (status)
        fprintf(stderr, "backdrop: %s\n", bd_error_detail());
    if (status == BD_ERROR_INTERRUPTED)
        exit_status = 4;
    free(bench.rows);
    bd_bench_release(&bench, NULL);
    if (bench.platform && bench.platform->close)
        bench.platform->close(&bench);
    bd_backend_close(&bench.backend);
    return exit_status;
}
