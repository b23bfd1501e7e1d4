/* backdrop-bench: `backdrop bench` on its own, for builds without video/ (BD_APP=OFF). */
#include <stdlib.h>
#include <string.h>

#include "app/bench/bench.h"
#include "app/interrupt.h"
#include "app/version.h"

int main(int argc, char **argv)
{
    struct bd_options options;
    char name[] = "bench";
    int exit_status = 1;
    char **arguments = calloc((size_t)argc + 2, sizeof *arguments);
    if (!arguments)
        return 1;
    arguments[0] = argv[0];
    arguments[1] = name;
    memcpy(arguments + 2, argv + 1, (size_t)(argc - 1) * sizeof *arguments);
    enum bd_status status = bd_options_parse(&options, argc + 1, arguments);
    if (status) {
        fprintf(stderr, "backdrop-bench: %s\n", bd_error_detail());
    } else if (options.help) {
        bd_options_help(stdout, BD_COMMAND_BENCH);
        exit_status = 0;
    } else if (options.command == BD_COMMAND_VERSION) {
        printf("backdrop-bench %s (%s)\n", bd_version, bd_commit);
        exit_status = 0;
    } else {
        bd_interrupt_install();
        exit_status = bd_bench_run(&options);
    }
    bd_options_release(&options);
    free(arguments);
    return bd_options_end("backdrop-bench", exit_status);
}
