/* What the tests of the writer share: a scratch folder and a count of warnings. */
#ifndef BD_TESTS_WRITER_FIXTURE_H
#define BD_TESTS_WRITER_FIXTURE_H

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

#include "video/reader.h"
#include "video/writer.h"

#define UNUSED __attribute__((unused))

static char scratch[] = "/tmp/bd-writer-XXXXXX";
static int warning_count;

/* NAME in the scratch folder. Four results are alive at a time. */
UNUSED static const char *in_scratch(const char *name)
{
    static char paths[4][512];
    static int turn;
    turn = (turn + 1) % 4;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", scratch, name);
    return paths[turn];
}

/* Runs a shell command in the scratch folder and returns its status. */
__attribute__((unused, format(printf, 1, 2))) static int shell(const char *format, ...)
{
    char command[2048];
    int length = snprintf(command, sizeof command, "cd %s && ", scratch);
    va_list args;
    va_start(args, format);
    vsnprintf(command + length, sizeof command - (size_t)length, format, args);
    va_end(args);
    return system(command);
}

UNUSED static void empty_scratch(void)
{
    assert_int_equal(shell("rm -rf ./*"), 0);
}

UNUSED static void need_ffmpeg(void)
{
    if (system("ffmpeg -version >/dev/null 2>&1") != 0) {
        print_message("skipped: no ffmpeg command to decode with\n");
        skip();
    }
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

UNUSED static int create_scratch(void **state)
{
    (void)state;
    bd_log_set(on_log, &warning_count);
    return mkdtemp(scratch) ? 0 : -1;
}

UNUSED static int remove_scratch(void **state)
{
    (void)state;
    return shell("rm -rf %s", scratch);
}

#endif
