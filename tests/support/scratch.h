/* A scratch folder for a test program, and shell commands run in it. */
#ifndef BD_TESTS_SUPPORT_SCRATCH_H
#define BD_TESTS_SUPPORT_SCRATCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char scratch[] = "/tmp/bd-test-XXXXXX";

/* NAME in the scratch folder. Four results are alive at a time. */
__attribute__((unused)) static const char *in_scratch(const char *name)
{
    static char paths[4][256];
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

/* Skips the test where there is no ffmpeg command. */
__attribute__((unused)) static void need_ffmpeg(void)
{
    if (system("ffmpeg -version >/dev/null 2>&1") != 0) {
        print_message("skipped: no ffmpeg command to make clips with\n");
        skip();
    }
}

__attribute__((unused)) static int create_scratch(void **state)
{
    (void)state;
    return mkdtemp(scratch) ? 0 : -1;
}

__attribute__((unused)) static int remove_scratch(void **state)
{
    (void)state;
    return shell("rm -rf %s", scratch);
}

#endif
