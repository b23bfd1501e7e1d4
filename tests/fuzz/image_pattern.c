/* Names of picture sequences: a pattern and, behind a line feed, a path. */
#include "video/input/image_pattern.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = text_of(data, size), *path = text;
    char *pattern = strsep(&path, "\n");
    bool is = bd_image_pattern_is(pattern);
    REQUIRE(is || !bd_image_pattern_holds(pattern, path ? path : pattern));
    /* A pattern never holds its own name: a conversion is no digit. */
    REQUIRE(!bd_image_pattern_holds(pattern, pattern));
    int first = -1, beyond = -1;
    enum bd_status status = bd_image_pattern_find(pattern, &first, &beyond);
    require_line(status);
    REQUIRE(status != BD_OK || (is && first >= 0 && beyond >= 0));
    free(text);
    return 0;
}
