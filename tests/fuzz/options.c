/* The command line: one argument a line. */
#include "app/options.h"
#include "tests/fuzz/fuzz.h"

enum { most = 60 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = text_of(data, size), *rest = text, *line;
    char program[] = "backdrop", *argv[most + 2] = { program };
    int argc = 1;
    while (argc <= most && (line = strsep(&rest, "\n")))
        argv[argc++] = line;
    struct bd_options options;
    enum bd_status status = bd_options_parse(&options, argc, argv);
    REQUIRE(status == BD_OK || status == BD_ERROR_ARGUMENT);
    require_line(status);
    if (status == BD_OK && !options.help) {
        REQUIRE(options.argument_count >= 0);
        REQUIRE(options.start >= 0 && options.duration >= 0 && options.threads >= 0);
        REQUIRE(options.input_option_count >= 0 &&
                options.input_option_count <= bd_max_input_options);
    }
    bd_options_release(&options);
    free(text);
    return 0;
}
