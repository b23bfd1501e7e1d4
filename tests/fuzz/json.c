/* The JSON writer: the bytes are texts, numbers and brackets; what comes out must be JSON. */
#include "app/json.h"
#include "tests/fuzz/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { deepest = 20 };
    struct bytes in = { data, size };
    char *out = NULL, open[deepest + 1] = { '{' };
    size_t length;
    struct bd_json json = { .file = open_memstream(&out, &length) };
    int depth = 1;
    REQUIRE(json.file);
    bd_json_open(&json, NULL, '{');
    while (in.size > 0) {
        const uint8_t what = take_byte(&in), count = take_byte(&in);
        char word[17] = "";
        take_bytes(&in, word, count % sizeof word);
        const char *name = open[depth - 1] == '{' ? word : NULL;
        int64_t integer;
        double number;
        switch (what % 6) {
        case 0:
            if (depth < deepest) {
                open[depth] = what & 16 ? '{' : '[';
                bd_json_open(&json, name, open[depth++]);
            }
            break;
        case 1:
            if (depth > 1)
                bd_json_close(&json, open[--depth] == '{' ? '}' : ']');
            break;
        case 2:
            bd_json_text(&json, name, what & 16 ? NULL : word);
            break;
        case 3:
            take_bytes(&in, &integer, sizeof integer);
            bd_json_integer(&json, name, integer);
            break;
        case 4:
            take_bytes(&in, &integer, sizeof integer);
            bd_json_time(&json, name, integer);
            break;
        default:
            take_bytes(&in, &number, sizeof number);
            bd_json_number(&json, name, number, 1 + count % 17);
        }
    }
    while (depth > 0)
        bd_json_close(&json, open[--depth] == '{' ? '}' : ']');
    REQUIRE(fclose(json.file) == 0);
    require_json(out);
    free(out);
    return 0;
}
