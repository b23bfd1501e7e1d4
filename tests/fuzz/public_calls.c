/* The whole public interface, on the CPU: each record of bytes is a call. */
#include "tests/fuzz/fuzz.h"
#include "tests/public/calls/calls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *wrong = bd_calls_run("cpu", data, size, NULL);
    if (wrong)
        fprintf(stderr, "%s: %s\n", wrong, bd_error_detail());
    REQUIRE(!wrong);
    return 0;
}
