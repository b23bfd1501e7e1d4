#include "app/detail.h"

#include <stdio.h>

struct bd_detail bd_detail_save(void)
{
    struct bd_detail detail;
    snprintf(detail.text, sizeof detail.text, "%s", bd_error_detail());
    return detail;
}

enum bd_status bd_fail_again(enum bd_status status, const char *prefix)
{
    /* bd_fail must not be given the buffer that it writes to */
    struct bd_detail detail = bd_detail_save();
    return bd_fail(status, "%s%s", prefix, detail.text);
}
