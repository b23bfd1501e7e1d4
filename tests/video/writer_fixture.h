/* What the tests of the writer share: a scratch folder and a count of warnings. */
#ifndef BD_TESTS_VIDEO_WRITER_FIXTURE_H
#define BD_TESTS_VIDEO_WRITER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/scratch.h"
#include "video/input/reader.h"
#include "video/output/writer.h"

#define UNUSED __attribute__((unused))

static int warning_count;

UNUSED static void empty_scratch(void)
{
    assert_int_equal(shell("rm -rf ./*"), 0);
}

static void on_log(void *user, enum bd_log_level level, const char *message)
{
    if (level == BD_LOG_WARNING) {
        ++*(int *)user;
        print_message("warning: %s\n", message);
    }
}

/* Warnings logged since the last call. */
UNUSED static int warnings(void)
{
    int count = warning_count;
    warning_count = 0;
    return count;
}

/* Fails with the detail unless all went well. */
UNUSED static void ok(enum bd_status status)
{
    if (status != BD_OK)
        fail_msg("%s: %s", bd_status_text(status), bd_error_detail());
}

UNUSED static int create_logged_scratch(void **state)
{
    bd_log_set(on_log, &warning_count);
    return create_scratch(state);
}

#endif
