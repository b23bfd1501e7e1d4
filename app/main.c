#include <stdio.h>
#include <unistd.h>

#include "app/bench/bench.h"
#include "app/blas_threads.h"
#include "app/commands.h"
#include "app/interrupt.h"
#include "app/option_table.h"
#include "app/options.h"
#include "app/version.h"

/* Messages of the libraries. Called from any thread; one fprintf is one line. */
static void print_message(void *user, enum bd_log_level level, const char *message)
{
    const struct bd_options *options = user;
    bool wanted = level == BD_LOG_WARNING ? !options->quiet : options->verbose;
    if (wanted)
        fprintf(stderr, "%sbackdrop: %s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", message);
}

static int run(const struct bd_options *options)
{
    switch (options->command) {
    case BD_COMMAND_VIEW:
        if (bd_blas_reserve(1)) {
            fprintf(stderr, "backdrop: %s\n", bd_error_detail());
            return 1;
        }
        return bd_view_run(options);
    case BD_COMMAND_EXPORT:
        return bd_export_run(options);
    case BD_COMMAND_EVAL:
        return bd_eval_run(options);
    case BD_COMMAND_BENCH:
        return bd_bench_run(options);
    case BD_COMMAND_INFO:
        return bd_info_run(options);
    case BD_COMMAND_HELP:
        bd_options_help(stdout, options->argument_count
                                    ? bd_command_find(options->arguments[0])->command
                                    : BD_COMMAND_HELP);
        return 0;
    case BD_COMMAND_VERSION:
        printf("backdrop %s (%s)\n", bd_version, bd_commit);
        return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    struct bd_options options;
    int exit_status = 0;
    enum bd_status status = bd_options_parse(&options, argc, argv);
    if (status) {
        fprintf(stderr, "backdrop: %s\n", bd_error_detail());
        exit_status = 1;
    } else if (options.help) {
        bd_options_help(stdout, options.command);
    } else {
        bd_log_set(print_message, &options);
        bd_interrupt_install();
        exit_status = run(&options);
        bd_log_set(NULL, NULL);
    }
    bd_options_release(&options);
    return bd_options_end("backdrop", exit_status);
}
